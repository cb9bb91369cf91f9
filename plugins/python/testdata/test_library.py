"""What an author of a plugin meets: every slip is a Mistake that says what to write instead."""
import json
import os
import struct
import subprocess
import sys
import unittest

import ptobuild_plugin as pto

T = pto.tile_type([16, 16], "FP32")


class Blend(pto.Op):
    "w * x + (1 - w) * y"
    name, params, keywords = "blend", [pto.tile("x"), pto.tile("y", optional=True)], [pto.keyword("w", float, 1), pto.keyword("mode", str, names=["a", "b"])]
    core, mem = pto.VECTOR_CORE, "Vec"

    def infer(self, c):
        if c.has("y") and not c.same_shape("x", 1):
            raise c.error(1, "ACME-001", "x and y differ", "make them equal")
        return c.type(0)

    def evaluate(self, v):
        w, y = v.keyword("w"), v.numbers("y") if v.has("y") else [0.0] * len(v.numbers("x"))
        v.result[:] = [w * a + (1 - w) * b for a, b in zip(v.numbers(0), y)]


class Add(pto.Op):
    "y += x"
    name, params, effects, result = "add", [pto.tile("x"), pto.tile("y")], [pto.READ, pto.READ_WRITE], pto.updated(1)

    def infer(self, c): return c.type(1)

    def evaluate(self, v):
        y = v.numbers(1)
        for i, x in enumerate(v.numbers(0)):
            y[i] += x


class Rows(pto.Op):
    "a window"
    name, params, where, result = "rows", [pto.tensor("x"), pto.scalar("at"), pto.list_of("size")], pto.ON_HOST, pto.view_of(0)

    def infer(self, c): return pto.tensor_type(c.list("size"), c.dtype(0))

    def emit(self, c): return ["uint32_t $offset[] = {$at, 0};", "uint32_t $shape[] = {$size[0], $x.dim(1)};", "Tensor $result = $x.view($shape, $offset);"]


class Total(pto.Op):
    "a sum"
    name, params, result = "total", [pto.tile("x")], pto.SCALAR

    def infer(self, c): return pto.scalar_type("FP32")

    def evaluate(self, v): v.give(sum(v.numbers(0)))


def like(base, **attributes):
    "An op that differs from another one."
    return type("K", (base,), dict(attributes, __module__=__name__))()


class Ops(unittest.TestCase):
    def test_computes(self):
        for got, want in [
            (pto.testing.evaluate(Blend(), [[1.0, 2.0]], [[3.0, 4.0]], w=0.5), [[2.0, 3.0]]),
            (pto.testing.evaluate(Blend(), [[1.0, 2.0]], w=2), [[2.0, 4.0]]),
            (pto.testing.evaluate(Add(), [[1, 2], [3, 4]], [[10, 20], [30, 40]]), [[11, 22], [33, 44]]),
            (pto.testing.evaluate(Add(), ("FP64", [0.1]), ("FP64", [0.2])), [0.1 + 0.2]),
            (pto.testing.evaluate(Total(), [[1.0, 2.0]]), 3.0),
            (pto.show(pto.testing.infer(Rows(), pto.tensor_type([16, 8], "FP16"), 3, [4, 8])), "Tensor[[4, 8], FP16]"),
            (pto.testing.emit(Rows(), pto.tensor_type([16, 8], "FP16"), 3, [4, 8])[0], "uint32_t $offset[] = {$at, 0};"),
        ]:
            self.assertEqual(got, want)
        y = [[1.0]]
        pto.testing.evaluate(Add(), [[2.0]], y)
        self.assertEqual(y, [[3.0]])

    def test_windows(self):
        "An operand with a window is that window: cut out of what was given, and written back into it."
        class Put(pto.Op):
            "into[at] += x"
            name, params = "put", [pto.tile("x"), pto.tensor("into", window=("at", "x")), pto.list_of("at")]
            effects, result = [pto.READ, pto.READ_WRITE], pto.updated(1)

            def infer(self, c): return c.type(1)

            def evaluate(self, v):
                shapes.append((v.shape("into"), v.valid("into")))
                v.numbers("into")[:] = [a + b for a, b in zip(v.numbers("into"), v.numbers("x"))]
        shapes, into = [], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
        got = pto.testing.evaluate(Put(), [[10.0, 20.0], [30.0, 40.0]], into, [1, 1])
        self.assertEqual(got, [[1.0, 2.0, 3.0], [4.0, 15.0, 26.0], [7.0, 38.0, 49.0]])
        self.assertEqual(into, got)
        # Fewer axes than the operand: one element along the first ones.
        self.assertEqual(pto.testing.evaluate(Put(), [1.0, 2.0], [[0.0, 0.0], [0.0, 0.0]], [1, 0]), [[0.0, 0.0], [1.0, 2.0]])
        # Only the valid part lies within the tensor and goes back.
        x = dict(pto.tile_type([2, 2], "FP32"), view={"valid_shape": [pto.number(1), pto.number(2)]})
        add = like(Put, evaluate=lambda s, v: (shapes.append((v.shape("into"), v.valid("into"))), v.numbers("into").__setitem__(slice(None), [9, 9, 9, 9]))[2:] or None)
        self.assertEqual(pto.testing.evaluate(add, x, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [1, 1]), [[0.0, 0.0, 0.0], [0.0, 9.0, 9.0]])
        self.assertEqual(shapes, [([2, 2], [2, 2]), ([2], [2]), ([2, 2], [1, 2])])
        # What the op does not read by its effects is zeros.
        self.assertEqual(pto.testing.evaluate(like(Put, effects=[pto.READ, pto.WRITE]), [[1.0]], [[5.0, 5.0]], [0, 1]), [[5.0, 1.0]])
        for want, x, at in [("operand 'into': [2, 4) of axis 1 is outside of extent 3", [[1.0, 2.0]], [0, 2]), ("[-1, 0) of axis 0 is outside", [[1.0]], [-1, 0]),
                            ("a window of 2 axes that begins at [1] in 2 axes", [[1.0]], [1]), ("a window of 3 axes", [[[1.0]]], [0, 0]), ("these are whole numbers", [[1.0]], [0, pto.Var("i", pto.scalar_type("INDEX"))]),
                            ("the rows differ in length", [[1.0, 2.0], [3.0]], [0, 0])]:
            self.wrong(want, pto.testing.evaluate, Put(), x, into, at)
        self.assertEqual(into, got)

    def test_windows_of_lists_and_results(self):
        class Get(pto.Op):
            "a window"
            name, params = "get", [pto.tensor("x", window=("at", "$result")), pto.list_of("at"), pto.list_of("size")]

            def infer(self, c): return pto.tile_type(c.list("size"), c.dtype(0))

            def evaluate(self, v): v.result[:] = v.numbers("x")
        x = [[i * 4 + j for j in range(4)] for i in range(4)]
        self.assertEqual(pto.testing.evaluate(Get(), x, [1, 2], [3, 2]), [[6, 7], [10, 11], [14, 15]])
        self.assertEqual(pto.testing.evaluate(like(Get, params=[pto.tensor("x", window=("at", "size"))] + Get.params[1:]), x, [3, 1], [2]), [13, 14])

    def test_rounding(self):
        "Operands and results are what their dtype can hold."
        nan, inf = float("nan"), float("inf")
        for d, given, want in [
            ("FP16", [0.1, 2049, 65519, 65520, -65520, 3e-8, 2e-8, -inf], [0.0999755859375, 2048, 65504, inf, -inf, 2.0**-24, 0, -inf]),
            ("BF16", [0.1, 257, 259, -1.00390625, 3.4e38, 1e-40], [0.10009765625, 256, 260, -1, inf, 2.0**-133]), ("FP8E4M3FN", [1000, -463, 17], [448, -448, 16]),
            ("FP8E5M2", [1e6, 61439, 9], [inf, 57344, 8]), ("FP4", [100, -inf, 0.2, 2.5, nan], [6, -6, 0, 2, 0]), ("FP32", [0.1], [0.10000000149011612]), ("FP64", [0.1], [0.1]),
            ("INT8", [127, 128, -129], [127, -128, 127]), ("UINT8", [256, -1], [0, 255]), ("INT4", [8], [-8]), ("BOOL", [7, 0], [1, 0]), ("INT64", [1 << 40], [1 << 40]),
        ]:
            same, seen = like(Blend, evaluate=lambda s, v: (seen.append(list(v.numbers(0))), v.result.__setitem__(slice(None), given))[2:] or None), []
            got = pto.testing.evaluate(same, (d, given))
            self.assertEqual((got, seen[0]), (want, want), d)
        for i in range(20000):
            x, = struct.unpack("f", struct.pack("I", i * 15485863 % (0x477ff000 if i % 2 else 0x38800000)))
            self.assertEqual(list(pto.testing.rounded([-x], "FP16")), list(struct.unpack("e", struct.pack("e", -x))))
            bits, = struct.unpack("I", struct.pack("f", x))
            self.assertEqual(list(pto.testing.rounded([x], "BF16")), list(struct.unpack("f", struct.pack("I", (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16))))
        y = [1.0]
        pto.testing.evaluate(Add(), ("FP16", [0.0001]), ("FP16", y))
        self.assertEqual(y, [1.0])
        self.assertTrue(pto.testing.evaluate(Blend(), ("FP16", [nan]))[0] != 0)

    def test_reports(self):
        with self.assertRaisesRegex(pto.Report, "blend: x and y differ") as e:
            pto.testing.infer(Blend(), T, pto.tile_type([16, 8], "FP32"))
        self.assertEqual((e.exception.code, e.exception.hint), ("ACME-001", "make them equal"))

    def test_places(self):
        "A variable's own place is where it is defined. ptobuild finds that of the operand in the call."
        x = pto.Var("x", T, pos=["a.py", 1, 1, 1, 2])
        node = {"node": "OpCall", "op": "acme.blend", "args": [x], "type": T, "pos": ["a.py", 5, 9, 5, 20]}
        self.assertEqual([pto.Call(Blend(), node, typed).error(0, "ACME-001", "no").at[1] for typed in (False, True)], [1, 1])
        x.pos = ["a.py", 5, 12, 5, 13]
        self.assertEqual(pto.Call(Blend(), node, True).error(0, "ACME-001", "no").at, x.pos)

    def wrong(self, want, f, *args, **keywords):
        with self.assertRaises(pto.Mistake) as e:
            f(*args, **keywords)
        self.assertIn(want, str(e.exception))

    def test_declarations(self):
        self.assertEqual(pto.keyword("w", float, 1)["default"], {"float": 1.0})
        self.assertEqual(pto.tile("x", mem="Vec")["mem"], ["Vec"])
        for want, args, keywords in [
            ("its kind is int, float", ("n", "int"), {}),
            ("the default 'no' is no bool", ("flag", bool, "no"), {}),
            ("the default True is no int", ("n", int, True), {}),
            ("the default 0 is not within 1 and 4", ("n", int, 0), dict(min=1, max=4)),
            ("the default 2 is not within 0 and 1", ("n", int, 2), dict(names=["a", "b"])),
            ("the default 'fsat' is none that it accepts; did you mean 'fast'?", ("m", str, "fsat"), dict(names=["fast", "exact"])),
            ("the default 'FP33' is none that it accepts", ("d", pto.dtype, "FP33"), {}),
            ("is required, so its default", ("n", int, 1), dict(required=True)),
            ("the default 3.0 is not within 1 and 2", ("f", float, 3.0), dict(min=1, max=2)),
            ("bounds of an int or float, whole numbers", ("f", float, 1.0), dict(min=0.5, max=2)),
            ("bounds of an int or float", ("s", str, "a"), dict(min=1, max=2)),
            ("names is a list", ("m", str), dict(names="fast")),
        ]:
            self.wrong(want, pto.keyword, *args, **keywords)
        self.wrong("'vec' is no memory space; did you mean 'Vec'?", pto.tile, "x", mem="vec")
        self.wrong('window=("at", "x")', pto.tensor, "x", window="at")
        self.wrong("its kind is str, int", pto.option, "o", "float")
        self.wrong("of your own choosing", pto.Report, "PTO-D001", "x")
        self.wrong("are strings", pto.Report, "ACME-001", None)

    def test_classes(self):
        for want, op in [
            ("inferr is no part of it; did you mean infer?", like(Blend, inferr=1)),
            ("effect is no part of it; did you mean effects?", like(Blend, effect=[])),
            ("effects = 0: write effects = [pto.READ, pto.READ_WRITE]", like(Blend, effects=pto.READ)),
            ("effects = [0, 0, 0]: one of", like(Blend, effects=[0, 0, 0])),
            ('write params = [pto.tile("x")]', like(Blend, params=pto.tile("x"))),
            ("params holds str 'x'", like(Blend, params=["x"])),
            ("name = ('k',)", like(Blend, name=("k",))),
            ("has no name", like(Blend, name="")),
            ("write def infer(self, c)", like(Blend, infer=lambda self: 1)),
            ("write def evaluate(self, v)", like(Blend, evaluate=lambda self, v, w: 1)),
            ("where = 'x': write where = pto.IN_CORE", like(Blend, where="x")),
            ("result = 0: write result = pto.FRESH", like(Blend, result=0)),
            ("has a result, but no infer", like(pto.Op, name="k")),
            ("is no pto.Op", 3),
        ]:
            self.wrong(want, pto.Plugin, "acme", "1.0", [op])
        pto.Plugin("acme", "1.0", [Blend, like(Add, helper=1, _inferr=2)])
        self.wrong("are both op blend", pto.Plugin, "acme", "1.0", [Blend(), Blend()])

    def test_types(self):
        for want, f in [
            ("returned nothing; return the type of the result", lambda s, c: None),
            ('{} has no "node"', lambda s, c: {}),
            ("type: str 'FP32' where a type has to be", lambda s, c: "FP32"),
            ("TileType has no field 'shap'; did you mean 'shape'?", lambda s, c: {"node": "TileType", "shap": [], "dtype": "FP32"}),
            ("type.shape[0]: 16 where an expression has to be; write pto.number(16)", lambda s, c: dict(c.type(0), shape=[16])),
            ("type.dtype: 'FP33' is no dtype; did you mean 'FP32'?", lambda s, c: dict(c.type(0), dtype="FP33")),
            ("TileType has no dtype", lambda s, c: {"node": "TileType", "shape": []}),
            ("'TileTyp' cannot stand here; did you mean 'TileType'?", lambda s, c: {"node": "TileTyp"}),
            ("op blend has no operand 'z'", lambda s, c: c.type("z")),
            ("ask c.has(1) first", lambda s, c: c.type(1)),
            ("no keyword argument 'v'", lambda s, c: c.keyword("v")),
        ]:
            self.wrong(want, pto.testing.infer, like(Blend, infer=f), T)
        self.wrong("no keyword argument 'v'", pto.testing.infer, Blend(), T, v=1)

    def test_numbers(self):
        def put(s, v): v.result = [1.0]

        def read_only(s, v):
            v.numbers(0)[0], v.result[0] = 7.0, 1.0
        for want, f in [
            ("v.result cannot be replaced; write into it: v.result[:] = numbers", put),
            ("returned list [1.0], which nobody reads; write v.result[:] = numbers", lambda s, v: [1.0]),
            ("gave no result; write v.result[:] = numbers", lambda s, v: None),
            ("gave no result; write v.result[:] = numbers", lambda s, v: v.numbers(0).tolist() and None),
            ("v.give is for ops with result = pto.SCALAR", lambda s, v: v.give(3.0)),
            ("elements cannot be added or removed", lambda s, v: v.result.append(3.0)),
            ("elements cannot be added or removed", lambda s, v: v.numbers(0).__delitem__(0)),
            ("3 numbers for 2 elements", lambda s, v: v.result.__setitem__(slice(None), [1, 2, 3])),
            ("one after the other, row by row", lambda s, v: v.result.__setitem__(slice(None), [[1, 2]])),
            ("wrote to operand 'x', which the op only reads", read_only),
            ("v.scalar(0): that operand of blend is read by v.numbers(0)", lambda s, v: v.scalar(0)),
            ("no operand 'z'", lambda s, v: v.numbers("z")),
        ]:
            self.wrong(want, pto.testing.evaluate, like(Blend, evaluate=f), [[1.0, 2.0]])
        self.wrong("gave no result; call v.give(number)", pto.testing.evaluate, like(Total, evaluate=lambda s, v: None), [[1.0]])
        self.wrong("v.give takes a number, not str 'abc'", pto.testing.evaluate, like(Total, evaluate=lambda s, v: v.give("abc")), [[1.0]])
        self.wrong("there is no v.result; write to the elements of operand 1", pto.testing.evaluate, like(Add, evaluate=lambda s, v: v.result), [[1.0]], [[1.0]])

    def test_lines(self):
        for want, lines in [("gave nothing (None); it returns a list of lines", None), ("gave list []", []), ("gave int 5", ["x", 5]), ("$size is a list; write $size[0]", ["int64_t $a = $size;"]), ("gave int 3", 3)]:
            self.wrong(want, pto.testing.emit, like(Rows, emit=lambda s, c: lines), pto.tensor_type([16, 8], "FP16"), 3, [4, 8])
        self.assertEqual(pto._template(Rows(), "int64_t $a = $at;\n$result = $a;")["locals"], ["_a"])


class Passes(unittest.TestCase):
    x = {"id": 0, "hint": "x", "dyn": False, "type": T}

    def document(self, value=1.0):
        return json.dumps({"vars": [self.x], "functions": [{"name": "k", "type": "AIV", "params": [], "body": [
            {"node": "Assign", "var": {"var": 0}, "value": {"node": "ConstFloat", "value": value, "dtype": "FP32"}}]}]}).encode()

    def run_pass(self, f, data=None, grant=None):
        p = type("P", (pto.Pass,), {"__module__": __name__, "name": "P", "after": "Simplify", "grant": grant, "run": f})
        r = pto.Plugin("acme", "1.0", passes=[p]).Run({"pass": "P", "functions": data or self.document()})
        return None if r.get("unchanged") else json.loads(r["functions"])

    def test_answers(self):
        def hint(s, ctx, fs):
            fs[0]["body"][0]["var"].hint = "y"
            return fs

        def number(s, ctx, fs):
            fs[0]["body"][0]["value"]["value"] = float("-inf")
            return fs
        self.assertIsNone(self.run_pass(lambda s, ctx, fs: None))
        self.assertIsNone(self.run_pass(lambda s, ctx, fs: fs))
        self.assertEqual(self.run_pass(hint)["vars"], [dict(self.x, id=1, hint="y")])
        self.assertEqual(self.run_pass(number)["functions"][0]["body"][0]["value"]["value"], "-inf")
        self.assertIsNone(self.run_pass(lambda s, ctx, fs: fs, self.document("nan")))

    def test_copy_is_another_variable(self):
        def copied(s, ctx, fs):
            import copy
            v = copy.copy(fs[0]["body"][0]["var"])
            v.type = dict(v.type, dtype="FP16")
            fs[0]["body"][0]["var"] = v
            return fs
        self.assertEqual(self.run_pass(copied)["vars"][0]["id"], 1)
        with self.assertRaises(TypeError):
            pto.Var("y", T, id=0)

    def test_slips(self):
        def forgot(s, ctx, fs): fs[0]["body"].clear()

        def thing(s, ctx, fs):
            fs[0]["body"][0]["value"] = object()
            return fs
        for want, f in [
            ("changed function k, but returned None", forgot), ("returned str 'hello'", lambda s, ctx, fs: "hello"), ("returned bool True", lambda s, ctx, fs: True),
            ("returned list []", lambda s, ctx, fs: []), ("returned dict", lambda s, ctx, fs: fs[0]), ("is no part of the IR", thing),
            ("a place is", lambda s, ctx, fs: ctx.note("here", "x")), ("the text is a string", lambda s, ctx, fs: ctx.note(None, 3)),
            ("takes a pto.Report", lambda s, ctx, fs: ctx.report("bad")),
        ]:
            with self.assertRaises(pto.Mistake) as e:
                self.run_pass(f)
            self.assertIn(want, str(e.exception))

    def test_grants(self):
        for want, grant in [("grant has no 'function'; did you mean 'functions'?", {"function": []}), ('write {"functions": ["AIV"]}', {"functions": "AIV"}), ("did you mean 'AIV'?", {"functions": ["AVI"]})]:
            with self.assertRaises(pto.Mistake) as e:
                self.run_pass(lambda s, ctx, fs: fs, grant=grant)
            self.assertIn(want, str(e.exception))

    def test_nodes(self):
        x = pto.Var("x", pto.scalar_type("INDEX"))
        e = {"node": "Binary", "op": "+", "x": x, "y": pto.number(2), "dtype": "INDEX"}
        loop = {"node": "For", "var": pto.Var("i", pto.scalar_type("INDEX")), "start": pto.number(0), "stop": e, "step": pto.number(1), "kind": "range", "body": [
            {"node": "Eval", "x": {"node": "OpCall", "op": "tile.adds", "args": [x, pto.number(0)], "kwargs": [{"name": "mode", "value": {"enum": ["Mode", "FAST"]}}]}}]}
        f = {"name": "k", "type": "AIV", "params": [{"var": x, "dir": "Out"}], "body": [loop, {"node": "Return", "values": [x]}]}
        self.assertEqual(pto.show(f), "AIV k(x: Out Scalar[INDEX]) -> ():\n    for i in range(0, (x + 2), 1):\n        tile.adds(x, 0, mode=Mode.FAST)\n    return x")
        self.assertEqual([pto.op_of(n) for n in pto.walk(f) if pto.op_of(n)], ["tile.adds"])
        self.assertEqual(repr(x), "<Var x: Scalar[INDEX]>")
        pto.replace(f["body"], x, pto.number(7))
        self.assertEqual(pto.show(f["body"][1]), "return 7")
        pto.rewrite(f["body"], lambda n: pto.number(9) if pto.constant(n) == 7 else n)
        self.assertEqual(pto.show(f["body"][1]), "return 9")
        with self.assertRaisesRegex(pto.Mistake, "gave nothing for a node"):
            pto.rewrite(f["body"], lambda n: None)
        pto._check(f, "Function", "f")

    def test_specs_of_others(self):
        ctx = pto.Context({"foreign_ops": [{"name": "tile.add", "in_core": True, "result": 1, "params": [{"name": "x"}, {"name": "y"}], "pure": True}]}, pto.Plugin("acme", "1.0", [Blend]).Specs({})["ops"])
        o = ctx.op("tile.add")
        self.assertEqual((o.where, o.result, o.effects, o.pure), (pto.IN_CORE, pto.FRESH, [pto.READ, pto.READ], True))
        o = ctx.op("acme.blend")
        self.assertEqual((o.name, o.effects, o.mem), ("acme.blend", [pto.READ, pto.READ], "Vec"))
        self.assertIsNone(ctx.op("tile.lode"))


class Packing(unittest.TestCase):
    def test_needs_a_main(self):
        r = subprocess.run([sys.executable, pto.__file__, "pack", os.path.dirname(os.path.abspath(__file__)), os.devnull], stderr=subprocess.PIPE, universal_newlines=True)
        self.assertIn("there is no __main__.py", r.stderr)


if __name__ == "__main__":
    unittest.main()
