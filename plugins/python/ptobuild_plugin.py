"""What a plugin of ptobuild in Python imports. With ptobuild_grpc.py beside it, it needs nothing but Python 3.8 and its standard library.

    import ptobuild_plugin as pto

    class Scale(pto.Op):
        "factor * x"
        name, params, keywords = "scale", [pto.tile("x")], [pto.keyword("factor", float, 2.0)]
        ...
    pto.serve("acme", "0.1.0", ops=[Scale()])

docs/plugins-python.md of ptobuild is the manual. `python3 ptobuild_plugin.py pack src OUT` makes one executable file of a folder with a plugin.
"""
import array, io, json, math, os, re, sys

READ, WRITE, READ_WRITE, UNTOUCHED = range(4)  # effects on the storage of an operand
IN_CORE, ON_HOST = 1, 2  # kernels, orchestration functions; or both: IN_CORE | ON_HOST
ANY_CORE, VECTOR_CORE, CUBE_CORE = range(3)
SCALAR, FRESH, NONE = (0, 0), (1, 0), (4, 0)  # results: a number, new storage, nothing
DTYPES = "BOOL INT4 INT8 INT16 INT32 INT64 INDEX UINT4 UINT8 UINT16 UINT32 UINT64 FP4 FP8E4M3FN FP8E5M2 FP16 FP32 FP64 FP8E8M0 BF16 HF4 HF8 TASK_ID".split()
MEMS = "DDR Vec Mat Left Right Acc Bias LeftScale RightScale ScalarLocal".split()


class Mistake(Exception):
    "What the author of the plugin did wrong, and what to write instead."


class Report(Exception):
    "A report to the user: raise it, or give it to Context.report. The code is of the plugin's choosing: ACME-001. at is a place: node[\"pos\"]."

    def __init__(self, code, message, hint="", at=None, warning=False):
        super().__init__(message)
        self.code, self.hint, self.at, self.warning = code, hint, at, warning
        if not isinstance(code, str) or not re.match(r"[A-Za-z][\w.-]*$", code) or code.startswith("PTO-"):
            raise Mistake("the code of a report is of your own choosing, such as \"ACME-001\" (PTO- is ptobuild's), not %r" % (code,))
        if not isinstance(message, str) or not isinstance(hint, str):
            raise Mistake("the message and the hint of a report are strings, not %r and %r" % (message, hint))

    def message(self, at=None):
        return {"severity": int(self.warning), "code": self.code, "message": str(self), "hint": self.hint, "span": _span(self.at or at)}


def _near(word, words):
    "The end of a message about a word that is none of them."
    near = _close(str(word), words)
    return "; did you mean %r?" % near[0] if near else "; there are %s" % ", ".join(words) if words else ""


def _close(word, words, cutoff=0.6):
    import difflib
    return difflib.get_close_matches(word, words, 1, cutoff)


def _kind(x): return "nothing (None)" if x is None else "%s %.60r" % (type(x).__name__, x)


def view_of(i): return (2, i)  # a window of operand i


def updated(i): return (3, i)  # operand i itself, after the op wrote it


def _param(kind):
    """Makes operands of a kind. mem are the memory spaces that a tile may live in. A tensor or tile may have a window=(at, extents), which is all that the op
    touches: it begins at the list operand of the first name and is as large as the operand of the second, or as the result: "$result"."""
    def param(name, mem=(), optional=False, variadic=False, window=("", "")):
        mem = [mem] if isinstance(mem, str) else list(mem)
        for m in mem:
            if m not in MEMS:
                raise Mistake("operand %r: %r is no memory space%s" % (name, m, _near(m, MEMS)))
        if not isinstance(window, (tuple, list)) or len(window) != 2:
            raise Mistake("operand %r: window is two names, window=(\"at\", \"x\"), not %s" % (name, _kind(window)))
        return {"name": name, "kinds": [kind], "mem": mem, "optional": optional, "variadic": variadic, "window_at": window[0], "window_extents": window[1]}
    return param


tensor, tile, scalar, array_of, list_of, task = map(_param, range(6))


class dtype(str):
    "The name of a dtype, such as FP32."

    def is_float(self): return self[:2] in ("FP", "BF", "HF")

    def ctype(self):
        "The type T by which a template accesses elements, as in set_tensor_data<T>: float for FP32; \"\" when there is none."
        names = {"FP64": "double", "FP32": "float", "FP16": "half", "BF16": "bfloat16_t", "BOOL": "bool", "INDEX": "int64_t", "INT4": "int8_t", "UINT4": "uint8_t"}
        for n in "8", "16", "32", "64":
            names["INT" + n], names["UINT" + n] = "int%s_t" % n, "uint%s_t" % n
        return names.get(str(self), "")


def keyword(name, kind, default=None, required=False, min=0, max=0, names=()):
    """A keyword argument; kind is int, float, bool, str or dtype. One without a default is None when the user leaves it away. min and max bound an int or a float, in whole numbers. names are
    the strings that a str accepts, or the names of the values of an int from 0, for symbols such as pl.SplitMode.UP_DOWN."""
    kinds, what = [int, bool, str, float, dtype], "keyword argument %r: " % (name,)
    if kind not in kinds:
        raise Mistake(what + "its kind is int, float, bool, str or pto.dtype, not %r" % (kind,))
    if names and kind not in (int, str) or isinstance(names, str):
        raise Mistake(what + "names is a list of strings, of a keyword argument of kind str or int")
    if (min or max) and (kind not in (int, float) or min > max or type(min) is not int or type(max) is not int):
        raise Mistake(what + "min and max are the bounds of an int or float, whole numbers, the smaller one first")
    k = {"name": name, "kind": kinds.index(kind), "required": required, "min": min, "max": max, "names": list(names)}
    if default is None:
        return k
    if kind is float and type(default) is int:
        default = float(default)
    if kind is dtype and isinstance(default, str):
        default = dtype(default)
    if required:
        raise Mistake(what + "is required, so its default would never be used: leave one of the two away")
    if type(default) is not kind:
        raise Mistake(what + "the default %r is no %s" % (default, kind.__name__))
    if kind in (int, float) and (names and not 0 <= default < len(names) or min != max and not min <= default <= max):
        raise Mistake(what + "the default %s is not within %d and %d" % ((default, 0, len(names) - 1) if names else (default, min, max)))
    if kind in (str, dtype) and (names or kind is dtype) and default not in (names or DTYPES):
        raise Mistake(what + "the default %r is none that it accepts%s" % (str(default), _near(default, list(names or DTYPES))))
    return dict(k, default=_value(default))


def option(name, kind, doc="", required=False, choices=(), min=0, max=0):
    "An option of Pto.toml; kind is str, int, float, bool or list (of strings). choices are the accepted strings, min and max the bounds of a number."
    kinds = [str, int, float, bool, list]
    if kind not in kinds:
        raise Mistake("option %r: its kind is str, int, float, bool or list, not %r" % (name, kind))
    return {"name": name, "kind": kinds.index(kind), "doc": doc, "required": required, "choices": list(choices), "min": min, "max": max}


# Ops


class Op:
    "An op. Derive from it, set what differs, and define those of infer, verify, emit and evaluate that it has. The docstring is what it says of itself."
    name, params, keywords, where, result, effects, core, pure, mem = "", [], [], IN_CORE, FRESH, [], ANY_CORE, False, ""

    def infer(self, c): "Gives the type of the result, or raises a Report. It must depend on nothing but the Call."

    def verify(self, c): "Raises a Report about a call once all types are known."

    def emit(self, c): "Gives the lines of C++ of a call in an orchestration function."

    def evaluate(self, v): "Computes a call in a kernel: see Values."

    def has(self, what): return getattr(type(self), what) is not getattr(Op, what)

    def spec(self, plugin):
        return {"name": plugin + "." + self.name, "doc": (type(self).__doc__ or "").strip(), "params": self.params, "keywords": self.keywords,
                "in_core": bool(self.where & IN_CORE), "on_host": bool(self.where & ON_HOST), "result": self.result[0], "result_operand": self.result[1],
                "effects": self.effects, "core": self.core, "pure": self.pure, "result_mem": self.mem, "infers": self.has("infer"),
                "verifies": self.has("verify"), "emits": self.has("emit"), "evaluates": self.has("evaluate")}

    def operand(self, i):
        "The number of an operand that is given by number or name."
        if i.__class__ is int and 0 <= i < len(self.params):
            return i
        names = [p["name"] for p in self.params]
        if i in names:
            return names.index(i)
        if isinstance(i, int) and i >= 0 and (i < len(names) or names and self.params[-1]["variadic"]):
            return i
        raise Mistake("op %s has no operand %r%s" % (self.name, i, _near(i, names)))

    def keyword_value(self, values, name):
        if name not in [k["name"] for k in self.keywords]:
            raise Mistake("op %s has no keyword argument %r%s" % (self.name, name, _near(name, [k["name"] for k in self.keywords])))
        return values.get(name)


class Call:
    """One use of an op: args are the expressions of its operands, result_type is the type of its result (in verify and emit), pos its place, bound says that its
    result has a name (in emit). Operands go by their number or their name."""

    def __init__(self, op, node, bound=False):
        self.op, self.node, self.args, self.result_type, self.pos, self.bound = op, node, node.get("args") or [], node.get("type"), node.get("pos"), bound

    def has(self, i):
        "The operand was given."
        i = self.op.operand(i)
        return i < len(self.args) and self.args[i] is not None

    def arg(self, i):
        "The expression of an operand."
        if not self.has(i):
            raise Mistake("operand %r of %s was left away; ask c.has(%r) first" % (i, self.op.name, i))
        return self.args[self.op.operand(i)]

    def type(self, i): return type_of(self.arg(i))

    def dtype(self, i): return dtype(self.type(i).get("dtype", ""))

    def shape(self, i):
        "The extents of a tensor or tile: expressions."
        return self.type(i).get("shape") or []

    def extent(self, i, axis):
        "An extent when it is known, else None. Axes count from the end when negative."
        shape = self.shape(i)
        return known(shape[axis]) if -len(shape) <= axis < len(shape) else None

    def same_shape(self, i, j): return _bare(self.shape(i)) == _bare(self.shape(j))

    def number(self, i):
        "A whole number that the user wrote as such, else None."
        return known(self.arg(i))

    def list(self, i):
        "The elements of a list operand: expressions."
        e = self.arg(i)
        return e.get("elems") or [] if isinstance(e, dict) else []

    def keyword(self, name): return self.op.keyword_value({k["name"]: _keyword(k["value"]) for k in self.node.get("kwargs") or []}, name)

    def error(self, i, code, message, hint=""):
        "A report at operand i, to raise."
        e = self.arg(i) if self.has(i) else None
        at = e.pos if isinstance(e, Var) else e and e.get("pos")
        return Report(code, "%s: %s" % (self.node["op"], message), hint, at or self.pos)


def _bare(e):
    "An expression without its places."
    if isinstance(e, dict):
        return {k: _bare(v) for k, v in e.items() if k != "pos"}
    return [_bare(x) for x in e] if isinstance(e, list) else e


class Numbers(array.array):
    "The elements of a tensor or tile, row by row: an array.array of fixed length. A slice takes any numbers of its length: x[:] = [2 * y for y in x]."

    def __setitem__(self, i, x, put=array.array.__setitem__):
        if i.__class__ is not slice:
            return put(self, i, x)
        try:
            x = array.array(self.typecode, x.ravel() if hasattr(x, "ravel") else x)
        except TypeError as e:
            raise Mistake("numbers are assigned one after the other, row by row (%s)" % e)
        room = len(range(*i.indices(len(self))))
        if len(x) != room:
            raise Mistake("%d numbers for %d elements; the length cannot change" % (len(x), room))
        put(self, i, x)

    def _fixed(self, *_): raise Mistake("elements cannot be added or removed; assign to them: x[i] = 1.0, x[:] = numbers, or take a list(x) of your own")

    append = extend = insert = pop = remove = fromlist = frombytes = fromfile = __delitem__ = __iadd__ = __imul__ = _fixed


class Values:
    """One call of an op in a kernel. Operands go by their number or their name. numbers(i) are the elements of a tensor or tile, row by row: doubles for FP64, floats
    for other floating dtypes, 64-bit integers for the rest. What is written to them goes back when the op writes the operand by its effects. result is room for a
    new result, zeros. An op that gives a number calls give(x), one that gives a window of an operand window(*origin)."""

    def __init__(self, op, r, file):
        self.op, self.operands, self.file, self.scalar_, self.origin, self.arrays = op, r.get("operands", []), file, None, [], {}
        self.keywords = {k["name"]: _plain(k["value"]) for k in r.get("keywords", [])}
        self.room, self._result = r.get("result", {}).get("elements"), None

    def has(self, i):
        "The operand was given."
        return self.op.operand(i) < len(self.operands)

    def _operand(self, i, kind, call):
        if not self.has(i):
            raise Mistake("operand %r of %s was left away; ask v.has(%r) first" % (i, self.op.name, i))
        o = self.operands[self.op.operand(i)]
        if kind not in o and o:
            there = next(c for k, c in (("elements", "numbers"), ("scalar", "scalar"), ("list", "list")) if k in o)
            raise Mistake("v.%s(%r): that operand of %s is read by v.%s(%r)" % (call, i, self.op.name, there, i))
        return o.get(kind)

    def shape(self, i): return self._operand(i, "elements", "shape").get("shape", [])

    def valid(self, i):
        "The extents of the part of a tile that counts; the rest is zero."
        return self._operand(i, "elements", "valid").get("valid", [])

    def dtype(self, i): return dtype(self._operand(i, "elements", "dtype")["dtype"])

    def numbers(self, i): return self._load(self._operand(i, "elements", "numbers"))

    def scalar(self, i): return _plain(self._operand(i, "scalar", "scalar"))

    def list(self, i): return self._operand(i, "list", "list").get("values", [])

    def keyword(self, name): return self.op.keyword_value(self.keywords, name)

    @property
    def result(self):
        if self._result is None:
            if self.room is None:
                raise Mistake("op %s gives no new tensor or tile, so there is no v.result; %s" % (self.op.name, _GIVE[self.op.result[0]] % self.op.result[1:]))
            self._result = self._load(self.room)
        return self._result

    @result.setter
    def result(self, _): raise Mistake("v.result cannot be replaced; write into it: v.result[:] = numbers, or v.result[i] = number")

    def result_shape(self): return self.room.get("shape", [])

    def result_dtype(self): return dtype(self.room["dtype"])

    def give(self, x):
        "The result of an op with result = pto.SCALAR."
        x = x.item() if hasattr(x, "item") else x
        if self.op.result != SCALAR:
            raise Mistake("v.give is for ops with result = pto.SCALAR; %s" % (_GIVE[self.op.result[0]] % self.op.result[1:]))
        if not isinstance(x, (int, float)):
            raise Mistake("v.give takes a number, not %s" % _kind(x))
        self.scalar_ = x

    def window(self, *origin):
        "Where in its operand the result of an op with result = pto.view_of(i) begins: one index per axis."
        if self.op.result[0] != 2:
            raise Mistake("v.window is for ops with result = pto.view_of(i)")
        self.origin = list(origin)

    def _read(self, e):
        size = 8 if e["dtype"] == "FP64" or not dtype(e["dtype"]).is_float() else 4
        for n in e.get("shape", []):
            size *= n
        self.file.seek(e.get("offset", 0))
        return self.file.read(size).ljust(size, b"\0")

    def _load(self, e):
        if id(e) not in self.arrays:
            self.arrays[id(e)] = e, Numbers("d" if e["dtype"] == "FP64" else "f" if dtype(e["dtype"]).is_float() else "q", self._read(e))
        return self.arrays[id(e)][1]

    def compute(self):
        "Lets the op compute, looks whether it did, and stores the numbers."
        got, how = self.op.evaluate(self), _GIVE[self.op.result[0]] % self.op.result[1:]

        def wrong(text, *args): raise Mistake(_where(self.op.evaluate) + " " + text % args)
        if got is not None:
            wrong("returned %s, which nobody reads; %s", _kind(got), how)
        if self.room is not None and self._result is None or self.op.result == SCALAR and self.scalar_ is None:
            wrong("gave no result; %s", how)
        for e, a in self.arrays.values():
            b = a.tobytes()
            if e is self.room or e.get("writable"):
                self.file.seek(e.get("offset", 0))
                self.file.write(b)
            elif b != self._read(e):
                i = next(i for i, o in enumerate(self.operands) if o.get("elements") is e)
                wrong("wrote to operand %r, which the op only reads by its effects; set effects, with pto.READ_WRITE at %d, or work on a copy: list(v.numbers(%d))",
                      self.op.params[min(i, len(self.op.params) - 1)]["name"], i, i)


# How a result is given, by the kind of result.
_GIVE = {0: "call v.give(number)%.0s", 1: "write v.result[:] = numbers%.0s", 2: "it is a window of operand %d: call v.window(*origin)",
         3: "write to the elements of operand %d: v.numbers(i)[:] = numbers", 4: "write to the operands that it changes%.0s"}


def _template(op, lines):
    "Lines with $names as the tokens that travel."
    if isinstance(lines, str):
        lines = lines.strip("\n").split("\n")
    if not isinstance(lines, (list, tuple)) or not lines or not all(isinstance(l, str) for l in lines):
        wrong = lines if not isinstance(lines, (list, tuple)) or not lines else next(l for l in lines if not isinstance(l, str))
        raise Mistake("%s gave %s; it returns a list of lines of C++, such as [\"Tensor $result = $x.view($shape, $offset);\"]" % (_where(op.emit), _kind(wrong)))
    names, locals_, out = [p["name"] for p in op.params], [], []
    slot = re.compile(r"\$([A-Za-z_]\w*)(?:\.dim\((\d+)\)|\[(\d+)\])?")
    for line in lines:
        tokens, at = [], 0
        for m in slot.finditer(line):
            tokens.append({"text": line[at:m.start()]})
            name, dim, element, at = m.group(1), m.group(2), m.group(3), m.end()
            n = names.index(name) if name in names else -1
            if n >= 0 and op.params[n]["kinds"] == [4] and element is None:
                raise Mistake("%s: $%s is a list; write $%s[0]" % (_where(op.emit), name, name))
            if n < 0 or name == "result" or dim is None and (element is None or op.params[n]["kinds"] != [4]):
                at = m.end(1)  # what follows is text
            if name == "result":
                tokens.append({"result": True})
            elif n < 0:
                if name not in locals_:
                    locals_.append(name)
                tokens.append({"local": locals_.index(name)})
            elif at == m.end(1):
                tokens.append({"operand": n})
            else:
                tokens.append({"dim": {"operand": n, "index": int(dim)}} if dim else {"element": {"operand": n, "index": int(element)}})
        out.append({"tokens": [t for t in tokens + [{"text": line[at:]}] if t != {"text": ""}]})
    return {"locals": ["_" + n for n in locals_], "lines": out}


# The IR: a node is a dict with its kind in "node", a variable is a Var, a place is [file, line, column, end line, end column]

# The fields of each kind, NAME:WHAT, with * for a list. Records (from Function on) have no "node". An enumeration is one of its names.
FIELDS = {name: dict(f.split(":") for f in fields.split()) for name, fields in {
    "ConstInt": "value:int dtype:dtype pos:pos", "ConstFloat": "value:float dtype:dtype pos:pos", "ConstBool": "value:bool pos:pos",
    "Binary": "op:BinOp x:expr y:expr dtype:dtype pos:pos", "Unary": "op:UnOp x:expr dtype:dtype pos:pos", "Cast": "x:expr dtype:dtype pos:pos",
    "MakeTuple": "elems:*expr pos:pos", "TupleGet": "x:expr index:int pos:pos",
    "OpCall": "op:str args:*expr kwargs:*Kwarg deps:*expr type:type attrs:*Attr pos:pos",
    "Call": "callee:str args:*expr submit:bool launch:Launch no_dep:*int dirs:*ArgDir compiler_deps:*var device:expr type:type attrs:*Attr pos:pos",
    "ScalarType": "dtype:dtype", "TensorType": "shape:*expr dtype:dtype view:TensorView mem_ref:MemRef distributed:bool",
    "TileType": "shape:*expr dtype:dtype mem:str view:TileView mem_ref:MemRef", "ArrayType": "len:int dtype:dtype", "TupleType": "elems:*type", "UnknownType": "",
    "OpaqueType": "name:str",
    "Assign": "var:var value:expr comments:*str pos:pos", "Eval": "x:expr comments:*str pos:pos",
    "If": "cond:expr then:*stmt else:*stmt results:*var comments:*str pos:pos",
    "For": "var:var start:expr stop:expr step:expr kind:ForKind carries:*Carry body:*stmt stages:int attrs:*Attr comments:*str pos:pos",
    "While": "cond:expr carries:*Carry body:*stmt comments:*str pos:pos", "Yield": "values:*expr pos:pos", "Return": "values:*expr comments:*str pos:pos",
    "Branch": "continue:bool pos:pos",
    "Scope": "kind:ScopeKind body:*stmt name_hint:str manual:bool owner:ScopeOwner level:str role:str split:SplitMode task_id:var launch:Launch no_dep:*expr "
             "attrs:*Attr comments:*str pos:pos",
    "Verbatim": "text:str pos:pos",
    "Function": "name:str type:FuncType params:*Param returns:*type body:*stmt level:str role:str auto_scope:bool external:External split:SplitMode dual_aiv:bool "
                "attrs:*Attr comments:*str pos:pos",
    "Param": "var:var dir:ParamDir", "Carry": "iter:var init:expr result:var class:CarryClass slots:int", "External": "source:str include_dirs:*str",
    "Launch": "deps:*expr core_num:expr sync_start:bool early_resolve:bool predicate:expr timing_slot:int dumps:*expr",
    "TensorView": "valid_shape:*expr stride:*expr layout:str pad:str",
    "TileView": "valid_shape:*expr stride:*expr start_offset:expr b_layout:str s_layout:str fractal:int pad:str compact:str",
    "MemRef": "name:str base:var byte_offset:expr size:int slots:int slot:expr", "Kwarg": "name:str value:value", "Attr": "key:str value:value"}.items()}

ENUMS = {name: names.split() for name, names in {
    "FuncType": "Opaque Orchestration InCore AIC AIV Group Spmd Inline Graph", "ParamDir": "In Out InOut",
    "ArgDir": "input output inout output_existing no_dep scalar", "BinOp": "+ - * // % / min max ** == != < <= > >= and or xor & | ^ << >>", "UnOp": "- not ~ abs",
    "ForKind": "range parallel unroll pipeline", "SplitMode": "NONE UP_DOWN LEFT_RIGHT",
    "ScopeKind": "InCore Hierarchy Cluster Spmd SplitAiv Runtime CommDomain", "ScopeOwner": "User Compiler", "CarryClass": "Unclassified Alias Rebind"}.items()}

_EXPRS = ["ConstInt", "ConstFloat", "ConstBool", "Binary", "Unary", "Cast", "MakeTuple", "TupleGet", "OpCall", "Call"]
_TYPES = ["ScalarType", "TensorType", "TileType", "ArrayType", "TupleType", "UnknownType", "OpaqueType"]


class Var:
    "A variable. The object is its identity; the hint is what printers make its name of. A new Var is a new variable."

    def __init__(self, hint, type, dyn=False, pos=None):
        self.hint, self.type, self.dyn, self.pos, self._id, self._sent = hint, type, dyn, pos, None, None

    def __repr__(self): return "<Var %s: %s>" % (self.hint, show(self.type))


def number(value): return {"node": "ConstInt", "value": value, "dtype": "INDEX"}


def _shape(extents): return [number(e) if isinstance(e, int) else e for e in extents]


def tensor_type(shape, dtype): return {"node": "TensorType", "shape": _shape(shape), "dtype": dtype}  # extents are numbers or expressions


def tile_type(shape, dtype, mem="Vec"): return {"node": "TileType", "shape": _shape(shape), "dtype": dtype, "mem": mem}


def scalar_type(dtype): return {"node": "ScalarType", "dtype": dtype}


def type_of(e):
    "The type of an expression."
    if isinstance(e, Var) or e["node"] in ("OpCall", "Call"):
        return e.type if isinstance(e, Var) else e["type"]
    if e["node"] == "MakeTuple":
        return {"node": "TupleType", "elems": [type_of(x) for x in e["elems"]]}
    if e["node"] == "TupleGet":
        return type_of(e["x"])["elems"][e["index"]]
    return scalar_type(e.get("dtype", "BOOL"))


def known(e):
    "The value of an extent or another whole number when it is a literal, else None."
    return e["value"] if isinstance(e, dict) and e["node"] == "ConstInt" else None


def constant(e):
    "The value of a literal: a number or a bool; None of everything else."
    return e["value"] if isinstance(e, dict) and e["node"] in ("ConstInt", "ConstFloat", "ConstBool") else None


def op_of(e):
    "The name of the op that an expression calls, such as tile.adds; None when it calls none."
    return e["op"] if isinstance(e, dict) and e.get("node") == "OpCall" else None


def walk(node):
    "All nodes within a node or list, the outer ones first, and the variables where they stand."
    if isinstance(node, Var) or isinstance(node, dict) and "node" in node:
        yield node
    for x in node if isinstance(node, (list, tuple)) else node.values() if isinstance(node, dict) else ():
        if isinstance(x, (dict, list, tuple, Var)):
            yield from walk(x)


def rewrite(node, f):
    "Replaces nodes in place, from the leaves up: f gets each dict that is a node and gives what shall stand in its place, the node itself to keep it."
    if isinstance(node, list):
        node[:] = [rewrite(x, f) for x in node]
    elif isinstance(node, dict):
        for k, v in node.items():
            if isinstance(v, (dict, list)) and k != "pos":
                node[k] = rewrite(v, f)
        if "node" in node:
            out = f(node)
            if out is None:
                raise Mistake("%s gave nothing for a node: return the node itself to keep it" % _where(f))
            return out
    return node


def replace(node, old, new):
    "Puts an expression in the place of a variable, everywhere within a node or list, in place."
    for k, v in enumerate(node) if isinstance(node, list) else list(node.items()):
        if v is old:
            node[k] = new
        elif isinstance(v, (dict, list)):
            replace(v, old, new)


def show(x, indent=""):
    "A node, a function or a list of them as text: not the language, but close to what `ptobuild ir` prints."
    if isinstance(x, (list, tuple)):
        return "\n".join(show(y, indent) for y in x)
    if not isinstance(x, dict):
        return x.hint if isinstance(x, Var) else str(x)

    def each(field, sep=", "): return sep.join(show(y) for y in x.get(field) or [])

    def block(field): return "".join("\n" + show(y, indent + "    ") for y in x.get(field) or [])

    def carries(): return "".join(" carry %s = %s -> %s," % (show(c.get("iter")), show(c.get("init")), show(c.get("result"))) for c in x.get("carries") or [])[:-1]
    node, get = x.get("node"), lambda field: show(x.get(field))
    if node in ("ConstInt", "ConstFloat", "ConstBool"):
        return repr(x.get("value"))
    if node == "Binary":
        return ("{1}({0}, {2})" if x["op"] in ("min", "max") else "({0} {1} {2})").format(get("x"), x["op"], get("y"))
    if node in ("OpCall", "Call"):
        args = [show(y) for y in x.get("args") or []] + ["%s=%s" % (k["name"], _show_value(k["value"])) for k in x.get("kwargs") or []]
        deps = (x.get("deps") or []) + ((x.get("launch") or {}).get("deps") or [])
        args += ["deps=[%s]" % ", ".join(map(show, deps))] if deps else []
        return "%s%s(%s)" % ("submit " if x.get("submit") else "", x.get("op") or x.get("callee"), ", ".join(args))
    if node is None and "params" in x or node is None and "body" in x:
        params = ", ".join("%s: %s%s" % (p["var"].hint, "" if p.get("dir") == "In" else p.get("dir", "") + " ", show(p["var"].type)) for p in x.get("params") or [])
        return "%s%s %s(%s) -> (%s):%s" % (indent, x.get("type"), x.get("name"), params, each("returns"), block("body"))
    text = {
        "Unary": lambda: "%s(%s)" % (x["op"], get("x")), "Cast": lambda: "%s(%s)" % (x["dtype"], get("x")), "MakeTuple": lambda: "[%s]" % each("elems"),
        "TupleGet": lambda: "%s[%s]" % (get("x"), x["index"]),
        "ScalarType": lambda: "Scalar[%s]" % x.get("dtype"), "TensorType": lambda: "Tensor[[%s], %s]" % (each("shape"), x.get("dtype")),
        "TileType": lambda: "Tile[[%s], %s%s]" % (each("shape"), x.get("dtype"), ", " + x["mem"] if x.get("mem") else ""),
        "ArrayType": lambda: "Array[%s, %s]" % (x.get("len"), x.get("dtype")), "TupleType": lambda: "Tuple[%s]" % each("elems"),
        "UnknownType": lambda: "Unknown", "OpaqueType": lambda: str(x.get("name")),
        "Assign": lambda: "%s: %s = %s" % (get("var"), show(x["var"].type) if isinstance(x.get("var"), Var) else "?", get("value")), "Eval": lambda: get("x"),
        "If": lambda: "if %s:%s%s%s" % (get("cond"), "" if not x.get("results") else " -> " + each("results"), block("then"),
                                        "\n%selse:%s" % (indent, block("else")) if x.get("else") else ""),
        "For": lambda: "for %s in %s(%s, %s, %s):%s%s" % (get("var"), x.get("kind"), get("start"), get("stop"), get("step"), carries(), block("body")),
        "While": lambda: "while %s:%s%s" % (get("cond"), carries(), block("body")), "Yield": lambda: "yield " + each("values"),
        "Return": lambda: "return " + each("values"), "Branch": lambda: "continue" if x.get("continue") else "break",
        "Scope": lambda: "with %s:%s" % (x.get("kind"), block("body")), "Verbatim": lambda: str(x.get("text")).replace("\n", "\n" + indent),
    }.get(node)
    return indent + (text() if text else repr(x))


def _show_value(v):
    (kind, x), = v.items()
    return "[%s]" % ", ".join(show(y) for y in x) if isinstance(x, list) and kind != "enum" else ".".join(x) if kind == "enum" else repr(x) if kind == "string" else show(x)


def _check(x, what, path):
    "Raises a Mistake when x is not what a field of the IR holds; path says where it stands."
    def fail(text): raise Mistake("%s: %s" % (path, text))
    if what[0] == "*":
        if not isinstance(x, (list, tuple)):
            fail("%s where a list has to be" % _kind(x))
        for i, y in enumerate(x):
            _check(y, what[1:], "%s[%d]" % (path, i))
    elif what in ("expr", "stmt", "type") or what in FIELDS:
        if isinstance(x, Var) and what == "expr":
            return
        if what == "expr" and isinstance(x, int):
            fail("%r where an expression has to be; write pto.number(%r)" % (x, x))
        if not isinstance(x, dict):
            fail("%s where %s has to be" % (_kind(x), {"expr": "an expression", "stmt": "a statement", "type": "a type"}.get(what, what)))
        kinds = {"expr": _EXPRS, "type": _TYPES}.get(what) or [k for k in FIELDS if k not in _EXPRS + _TYPES]
        kind = what if what in FIELDS else x.get("node")
        if kind is None:
            fail("%s has no \"node\", which says its kind, as in {\"node\": \"TileType\", ...}" % _kind(x))
        if kind not in kinds and what not in FIELDS:
            fail("a node of kind %r cannot stand here%s" % (kind, _near(kind, kinds)))
        for k, y in x.items():
            if k != "node" and k not in FIELDS[kind]:
                fail("%s has no field %r%s" % (kind, k, _near(k, list(FIELDS[kind]))))
            if k != "node" and y is not None:
                _check(y, FIELDS[kind][k], path + "." + k)
        if "dtype" in FIELDS[kind] and x.get("dtype") is None:
            fail("%s has no dtype" % kind)
    elif what == "dtype" or what in ENUMS:
        names = ENUMS.get(what, DTYPES)
        if x not in names and (what != "dtype" or x != ""):
            fail("%r is no %s%s" % (x, what, _near(x, names)))
    elif what in ("int", "bool", "str") and (not isinstance(x, {"int": int, "bool": bool, "str": str}[what]) or what == "int" and isinstance(x, bool)):
        fail("%s where %s has to be" % (_kind(x), what))


# Passes


class Pass:
    """A pass. Derive from it, say after or before which pass it stands, and define run, which changes the functions (a list of dicts) in place or gives others, and
    returns them, or None when nothing changed. grant says what it may change: {"functions": ["AIV"], "add": True, "remove": True}; None: everything."""
    name, after, before, requires, produces, invalidates, grant = "", "", "", [], [], [], None

    def run(self, ctx, functions): raise NotImplementedError

    def description(self):
        d = {"name": self.name, "doc": (type(self).__doc__ or "").strip(), "after": self.after, "before": self.before, "requires": self.requires, "produces": self.produces,
             "invalidates": self.invalidates}
        return dict(d, grant=self.grant) if self.grant is not None else d


class Context:
    """What a pass may ask and say. program is the program's name; options has "auto_deps", "no_manual_alloc_deps" and "store_target_in_out" when they are set; explain
    says that notes are wanted."""

    def __init__(self, r, own_ops=()):
        self.program, self.options, self.explain = r.get("program", ""), r.get("options", {}), r.get("explain", False)
        self.ops, self.reports, self.notes, self.fusions = {s["name"]: s for s in list(own_ops) + r.get("foreign_ops", [])}, [], [], []

    def op(self, name):
        "The spec of an op of the program, with the attributes of an Op; None for one that nobody knows. effects has an entry for each operand."
        s = self.ops.get(name)
        if s is None:
            return None
        o = Op()
        o.name, o.params, o.keywords, o.where = name, s.get("params", []), s.get("keywords", []), IN_CORE * s.get("in_core", False) | ON_HOST * s.get("on_host", False)
        o.result, o.core, o.pure, o.mem = (s.get("result", 0), s.get("result_operand", 0)), s.get("core", 0), s.get("pure", False), s.get("result_mem", "")
        o.effects = (s.get("effects", []) + [READ] * len(o.params))[:len(o.params)]
        return o

    def note(self, at, text):
        "Tells a decision to `ptobuild passes --explain`; at is a place, node[\"pos\"], or None."
        if not isinstance(text, str):
            raise Mistake("ctx.note(at, text): the text is a string, not %s" % _kind(text))
        self.notes.append({"span": _span(at), "text": text})

    def report(self, r):
        "Reports about the program; an error ends the build of its targets."
        if not isinstance(r, Report):
            raise Mistake("ctx.report takes a pto.Report, not %s" % _kind(r))
        self.reports.append(r.message())

    def fused(self, kernel, first, second, first_params, second_params):
        """Claims that a new kernel does what calls of two kernels, first and right after it second, did. By parameter of first and second: the number of the parameter
        of the new one that takes its place."""
        self.fusions.append({"kernel": kernel, "first": first, "second": second, "first_params": list(first_params), "second_params": list(second_params)})


# Functions as JSON


def _load(data):
    "The functions of a document, with Vars where variables stand, these, and the functions as they were sent."
    if data[:4] == b"PTIR":
        raise ValueError("this ptobuild is older than the plugin and sends it no JSON; use a newer one")
    doc = json.loads(data)
    by_id = {}
    for v in doc["vars"]:
        x = by_id[v["id"]] = Var(v["hint"], None, v["dyn"], v.get("pos"))
        x._id = v["id"]

    def link(x):
        if isinstance(x, list):
            return [link(y) for y in x]
        if not isinstance(x, dict):
            return x
        if isinstance(x.get("var"), int):
            return by_id[x["var"]]
        if x.get("node") == "ConstFloat":
            return dict(x, value=float(x["value"]))  # JSON has no inf: it is a string
        return {k: link(y) for k, y in x.items()}
    for v in doc["vars"]:
        by_id[v["id"]].type, by_id[v["id"]]._sent = link(v.get("type")), v
    return link(doc["functions"]), by_id, doc["functions"]


def _unload(functions, by_id):
    "A document of functions. A variable that is not what it was sent as is another one to ptobuild: it gets an entry and a new id."
    fresh, seen = [], set()

    def entry(v): return unlink({"hint": v.hint, "dyn": v.dyn, "type": v.type, "pos": v.pos})

    def identify(v):
        if v in seen:
            return
        seen.add(v)
        if by_id.get(v._id) is not v or dict(entry(v), id=v._id) != v._sent:
            v._id = len(by_id)
            by_id[v._id] = v
            fresh.append(v)

    def unlink(x):
        if isinstance(x, (list, tuple)):
            return [unlink(y) for y in x]
        if isinstance(x, dict):
            return {k: unlink(y) for k, y in x.items() if y is not None}
        if isinstance(x, Var):
            identify(x)
            return {"var": x._id}
        return str(x) if x.__class__ is float and x - x != 0 else x  # nan, inf, -inf
    out = unlink(functions)
    return {"vars": [dict(entry(v), id=v._id) for v in fresh], "functions": out}


def _dump(document):
    def other(x):
        if hasattr(x, "item"):
            return x.item()  # a number of numpy
        raise Mistake("%s is no part of the IR, but stands in what the plugin gave back" % _kind(x))
    return json.dumps(document, default=other).encode()


def _keyword(v):
    "The value of a keyword argument in the IR."
    (kind, x), = (v or {"": None}).items()
    return float(x) if kind == "float" else dtype(x) if kind == "dtype" else x


def _value(x):
    "A Python value as a Value."
    for t, kind in ((bool, "bool"), (int, "int"), (dtype, "dtype"), (str, "string")):
        if isinstance(x, t):
            return {kind: x}
    return {"float": float(x)}


def _plain(v):
    (kind, x), = v.items()
    return dtype(x) if kind == "dtype" else x


def _span(at):
    if at and (not isinstance(at, (list, tuple)) or len(at) != 5):
        raise Mistake("a place is [file, line, column, end line, end column], such as node[\"pos\"], not %s" % _kind(at))
    return dict(zip(("file", "line", "column", "end_line", "end_column"), at or []))


# Mistakes of the author

_ROOT = os.path.dirname(os.path.abspath(__file__))  # the folder of the plugin, or its file once it is packed


def _file(name):
    "A source file of the plugin as its author knows it: in a packed plugin, below the folder that was packed."
    name = os.path.relpath(name, _ROOT)
    if os.path.isfile(_ROOT):
        import zipfile
        with zipfile.ZipFile(_ROOT) as z:
            return os.path.join(z.comment.decode(), name)
    return name


def _where(f):
    "A function of the author and its place."
    f = getattr(f, "__func__", f)
    code = getattr(f, "__code__", None)
    return "%s (%s:%d)" % (f.__qualname__, _file(code.co_filename), code.co_firstlineno) if code else repr(f)


def explain(e):
    "An exception in one line, with the place in the author's files, and the way there."
    import traceback
    own = [os.path.join(_ROOT, n) for n in ("ptobuild_plugin.py", "ptobuild_grpc.py")]
    way = [f for f in traceback.extract_tb(e.__traceback__) if f.filename.startswith(_ROOT + os.sep) and f.filename not in own]
    at = [(_file(f.filename), f.lineno) for f in way]
    if isinstance(e, SyntaxError) and e.filename:
        at.append((_file(e.filename), e.lineno))
    what = str(e) if isinstance(e, Mistake) else "%s: %s" % (type(e).__name__, e.msg if isinstance(e, SyntaxError) else e)
    return "".join("%s:%s: " % x for x in at[-1:]) + what, ["%s:%d: in %s: %s" % (_file(f.filename), f.lineno, f.name, f.line) for f in way[-8:]]


def _failed(_, e, __):
    "Ends a plugin that fails before it serves."
    what, way = explain(e)
    sys.stderr.write("\n".join(way + [what, ""]))


_OP_FIELDS = {"name": (str, '"blend"'), "params": (list, '[pto.tile("x")]'), "keywords": (list, '[pto.keyword("n", int, 1)]'),
              "where": (int, "pto.IN_CORE, pto.ON_HOST or pto.IN_CORE | pto.ON_HOST"), "result": (tuple, "pto.FRESH, pto.view_of(0), pto.updated(0), pto.SCALAR or pto.NONE"),
              "effects": (list, "[pto.READ, pto.READ_WRITE]"), "core": (int, "pto.VECTOR_CORE, pto.CUBE_CORE or pto.ANY_CORE"), "pure": (bool, "True"), "mem": (str, '"Vec"')}
_PASS_FIELDS = {"name": (str, '"DropZero"'), "after": (str, '"Simplify"'), "before": (str, '"Simplify"'), "requires": (list, '["SSAForm"]'), "produces": (list, '["SSAForm"]'),
                "invalidates": (list, '["SSAForm"]'), "grant": (dict, '{"functions": ["AIV"]}')}


def _mistakes(x, base, fields, methods):
    "What is wrong with an op or a pass as a class."
    cls, out = type(x), []
    if not isinstance(x, base):
        return ["%s is no pto.%s: derive its class from pto.%s" % (_kind(x), base.__name__, base.__name__)]

    def wrong(text, *args): out.append("class %s (%s): " % (cls.__name__, _file(sys.modules[cls.__module__].__file__)) + text % args)
    for c in cls.__mro__[:cls.__mro__.index(base)]:
        for name, f in vars(c).items():
            near = [] if name[0] == "_" or hasattr(base, name) else _close(name, list(fields) + list(methods), 0.75)
            if near:
                wrong("%s is no part of it; did you mean %s? (a name of your own begins with _)", name, near[0])
            if name in methods and hasattr(f, "__code__"):
                takes, least = f.__code__.co_argcount, f.__code__.co_argcount - len(f.__defaults__ or ())
                if not (least <= len(methods[name]) and (len(methods[name]) <= takes or f.__code__.co_flags & 4)):
                    wrong("write def %s(%s):, line %d", name, ", ".join(methods[name]), f.__code__.co_firstlineno)
    for name, (kind, such) in fields.items():
        v = getattr(x, name)
        if not isinstance(v, kind) and not (name == "grant" and v is None) or kind is int and isinstance(v, bool):
            wrong("%s = %.60r: write %s = %s", name, v, name, such)
    if not out and not x.name:
        wrong("has no name: write name = %s", fields["name"][1])
    return out


_METHODS = {"infer": ("self", "c"), "verify": ("self", "c"), "emit": ("self", "c"), "evaluate": ("self", "v")}


def _op_mistakes(o):
    out = _mistakes(o, Op, _OP_FIELDS, _METHODS)
    if out:
        return out

    def wrong(text, *args): out.append("class %s, op %s: " % (type(o).__name__, o.name) + text % args)
    for field, key, make in (("params", "kinds", 'pto.tile("x")'), ("keywords", "kind", 'pto.keyword("n", int)')):
        for p in getattr(o, field):
            if not isinstance(p, dict) or key not in p:
                wrong("%s holds %s; write %s = [%s]", field, _kind(p), field, make)
    if any(not isinstance(e, int) or not 0 <= e <= 3 for e in o.effects) or len(o.effects) > len(o.params):
        wrong("effects = %r: one of pto.READ, WRITE, READ_WRITE, UNTOUCHED for each of the %d operands", o.effects, len(o.params))
    if len(o.result) != 2 or not isinstance(o.result[1], int):
        wrong("result = %r: write %s", o.result, _OP_FIELDS["result"][1])
    if o.mem and o.mem not in MEMS:
        wrong("%r is no memory space%s", o.mem, _near(o.mem, MEMS))
    if o.result != NONE and not o.has("infer"):
        wrong("has a result, but no infer: define def infer(self, c), which returns its type")
    return out


def _pass_mistakes(p):
    out = _mistakes(p, Pass, _PASS_FIELDS, {"run": ("self", "ctx", "functions")})

    def wrong(text, *args): out.append("class %s, pass %s: " % (type(p).__name__, p.name) + text % args)
    if not out and type(p).run is Pass.run:
        wrong("has no run: define def run(self, ctx, functions)")
    if not out and p.grant is not None:
        for k in p.grant:
            if k not in ("functions", "add", "remove"):
                wrong("grant has no %r%s", k, _near(k, ["functions", "add", "remove"]))
        kinds = p.grant.get("functions", [])
        for k in kinds if isinstance(kinds, (list, tuple)) else [kinds]:
            if k not in ENUMS["FuncType"] or kinds is k:
                wrong("grant holds %s; write {\"functions\": [\"AIV\"]} with kinds of functions%s", _kind(k), _near(k, ENUMS["FuncType"]))
    return out


# Serving


class Plugin:
    "What the three services answer."

    def __init__(self, name, version, ops=(), passes=(), options=(), configure=None, doc=""):
        self.name, self.version, self.doc, self.options, self.configure = name, version, doc, list(options), configure
        ops, passes = [[x() if isinstance(x, type) else x for x in l] for l in (ops, passes)]
        wrong = [m for o in ops for m in _op_mistakes(o)] + [m for p in passes for m in _pass_mistakes(p)]
        for l, what in ((ops, "op"), (passes, "pass")):
            for i, x in enumerate(l):
                wrong += ["classes %s and %s are both %s %s: give one of them another name" % (type(y).__name__, type(x).__name__, what, x.name)
                          for y in l[:i] if not wrong and x.name == y.name]
        if wrong:
            raise Mistake("\n".join(wrong))
        self.ops, self.passes = {name + "." + o.name: o for o in ops}, {p.name: p for p in passes}

    def Configure(self, r):
        out = {"name": self.name, "version": self.version, "doc": self.doc, "ir_version": 1, "minor": 3, "options": self.options,
               "capabilities": ["verify", "emit", "evaluate", "float64", "json", "windows"]}
        if self.configure and r.get("ir_version") == 1:
            try:
                self.configure(json.loads(r.get("options_json") or "{}"))
            except Report as e:
                out["diagnostics"] = [e.message()]
        return out

    def Specs(self, _): return {"ops": [o.spec(self.name) for o in self.ops.values()]}

    def Describe(self, _): return {"passes": [p.description() for p in self.passes.values()]}

    def each(self, data, f):
        "Calls f for every call of a document. Gives the document, what f gave, and the reports that it raised."
        functions, by_id, _ = _load(data)
        results, reports = [], []
        for i, statement in enumerate(functions[0]["body"]):
            node = statement["x"]
            try:
                results.append(f(i, self.ops[node["op"]], node))
            except Report as e:
                results.append(None)
                reports.append({"call": i, "diagnostic": e.message(node.get("pos"))})
        return functions, by_id, results, reports

    def InferTypes(self, r):
        functions, by_id, types, errors = self.each(r["calls"], lambda i, op, node: _infer(op, Call(op, node)))
        for statement, t in zip(functions[0]["body"], types):
            statement["x"]["type"] = t or statement["x"]["type"]
        return {"calls": _dump(_unload(functions, by_id)), "errors": errors}

    def Verify(self, r): return {"reports": self.each(r["calls"], lambda i, op, node: op.verify(Call(op, node)))[3]}

    def Emit(self, r):
        bound = r.get("bound", [])
        _, _, templates, errors = self.each(r["calls"], lambda i, op, node: _template(op, op.emit(Call(op, node, bound[i:i + 1] == [True]))))
        return {"templates": [t or {} for t in templates], "errors": errors}

    def Evaluate(self, r):
        with open(r["file"], "r+b") as file:
            v = Values(self.ops[r["op"]], r, file)
            try:
                v.compute()
            except Report as e:
                return {"error": e.message()}
        return dict({} if v.scalar_ is None else {"scalar": _value(v.scalar_)}, origin=v.origin)

    def Run(self, r):
        functions, by_id, sent = _load(r["functions"])
        ctx, p = Context(r, self.Specs(r)["ops"]), self.passes[r["pass"]]
        before = list(functions)
        try:
            after = p.run(ctx, functions)
        except Report as e:
            ctx.report(e)
            after = before = None
        out = {"diagnostics": ctx.reports, "notes": ctx.notes, "fusions": ctx.fusions}
        if before is None:
            return dict(out, unchanged=True)
        if after is not None and (not isinstance(after, (list, tuple)) or not after or not all(isinstance(f, dict) and "name" in f for f in after)):
            raise Mistake("%s returned %s; it returns the list of functions, or None when nothing changed" % (_where(p.run), _kind(after)))
        doc = _unload(functions if after is None else after, by_id)
        if doc["functions"] == sent:
            return dict(out, unchanged=True)
        if after is None:
            changed = [f["name"] for f, now, was in zip(functions, doc["functions"], sent) if now != was and "name" in f]
            raise Mistake("%s changed %s, but returned None, which says that nothing changed; return functions" % (
                _where(p.run), "function " + changed[0] if changed else "the list of functions"))
        return dict(out, functions=_dump(doc))


def _infer(op, c):
    "The type of a call, looked at."
    t = op.infer(c)
    if t is None and op.result == NONE:
        return t
    if t is None:
        raise Mistake("%s returned nothing; return the type of the result, such as c.type(0) or pto.tile_type([16, 16], \"FP32\")" % _where(op.infer))
    try:
        _check(t, "type", "type")
    except Mistake as e:
        raise Mistake("%s: %s" % (_where(op.infer), e))
    return t


class _Both:
    "Writes to two files."

    def __init__(self, *files): self.files = files

    def write(self, text):
        for f in self.files:
            f.write(text)
            f.flush()

    def flush(self): pass


def serve(name, version, log=None, **what):
    """Answers ptobuild until it ends the process: ops=[...], passes=[...], options=[...], configure=f, doc="...". To the file log, when given, all is appended that the
    plugin prints."""
    import socket, threading, time
    import ptobuild_grpc
    plugin = Plugin(name, version, **what)
    if os.environ.get("PTOBUILD_PLUGIN") != "8d1f6a1c1f0c4a64a2f4c1a8a0d4f0b7":
        sys.exit("%s is a plugin of ptobuild, version %s of %s: name it in Pto.toml, or try `ptobuild plugin info %s`." % (sys.argv[0], version, name, sys.argv[0]))
    if "PLUGIN_CLIENT_CERT" in os.environ:
        sys.exit("plugins in Python speak no TLS: leave mtls away in Pto.toml; the socket is open to the user alone")

    def end_with(parent):
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or os.environ.get("TMPDIR", "/tmp"), "p%d" % os.getpid())
    listener.bind(path)
    listener.listen(1)
    print("1|1|unix|%s|grpc" % path, flush=True)
    sys.stdout = sys.stderr = _Both(sys.stderr, open(log, "a")) if log else sys.stderr
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    ptobuild_grpc.Connection(listener.accept()[0], plugin, explain).serve()


# Tests


class testing:
    """Asks an op in a unit test what ptobuild would ask, without it:

        pto.testing.infer(Blend(), pto.tile_type([16, 16], "FP32"), pto.tile_type([16, 16], "FP32"), weight=0.5)
        pto.testing.evaluate(Blend(), [[1.0, 2.0]], [[3.0, 4.0]], weight=0.5) == [[2.0, 3.0]]

    An operand is what its kind says: for a tensor or tile a type, or numbers (nested lists or an array of numpy; a pair (dtype, numbers) for another dtype than FP32 or
    INT32); for a scalar a number; for a list a list. What an op raises comes out: pto.Report, pto.Mistake."""

    @staticmethod
    def infer(op, *operands, **keywords):
        "The type that the op gives a call."
        return _infer(op, testing.call(op, operands, keywords))

    @staticmethod
    def emit(op, *operands, **keywords):
        "The lines of C++ that the op gives a call whose result has a name."
        c = testing.call(op, operands, keywords)
        c.result_type, c.bound = _infer(op, c), True
        lines = op.emit(c)
        _template(op, lines)
        return lines

    @staticmethod
    def evaluate(op, *operands, **keywords):
        """The numbers that the op computes, as nested lists: of its result, or of the operand that it updates; the number of an op with result = pto.SCALAR; the origin of a
        view. Lists given for operands that the op writes are changed. As in ptobuild, the op gets the window of an operand that has one, zeros for an operand that it does
        not read by its effects, and all numbers are rounded to their dtype, before and after (FP8E8M0, HF4 and HF8 are not)."""
        c, file, at = testing.call(op, operands, keywords), io.BytesIO(), 0
        made = _infer(op, c) if op.result == FRESH or any(p["window_extents"] == "$result" for p in op.params) else None

        def elements(t, shape, valid, numbers, writable):
            nonlocal at
            file.seek(at)
            file.write(testing.rounded(numbers, t["dtype"]).tobytes())
            e = {"dtype": t["dtype"], "shape": shape, "valid": valid, "offset": at, "writable": writable}
            at += math.prod(shape) * 8
            return {"elements": e}
        sent, regions = [], {}
        for i, given in enumerate(operands):
            t = c.type(i)
            if t["node"] in ("TensorType", "TileType"):
                numbers, full, effect = given[1] if isinstance(given, tuple) else given, testing.extents(t)[0], (op.effects + [READ] * (i + 1))[i]
                flat = [0] * math.prod(full) if isinstance(numbers, dict) else testing.flat(numbers)
                if len(flat) != math.prod(full):
                    raise Mistake("operand %r: %d numbers are no tensor or tile of shape %r: the rows differ in length" % (i, len(flat), full))
                shape, valid, places = testing.part(c, i, made)
                whole, part = testing.rounded(flat, t["dtype"]), [0] * math.prod(shape)
                for inner, outer in places if effect in (READ, READ_WRITE) else ():
                    part[inner] = whole[outer]
                sent.append(elements(t, shape, valid, part, effect in (WRITE, READ_WRITE)))
                regions[i] = numbers, whole, full, places
            else:
                sent.append({"list": {"values": [known(x) for x in c.list(i)]}} if t["node"] == "TupleType" else {"scalar": _value(given)})
        r = {"operands": sent, "keywords": [{"name": k["name"], "value": k["value"]} for k in c.node["kwargs"]]}
        if op.result == FRESH:
            r["result"] = elements(made, *testing.extents(made), [], True)
        v = Values(op, r, file)
        v.compute()
        for i, (numbers, whole, full, places) in regions.items():
            e = sent[i]["elements"]
            if not e["writable"]:
                continue
            if isinstance(numbers, list):  # another operand may be the same list
                whole[:] = testing.rounded(testing.flat(numbers), e["dtype"])
            written = testing.rounded(v._load(e), e["dtype"])
            for inner, outer in places:
                whole[outer] = written[inner]
            if isinstance(numbers, list):
                numbers[:] = testing.nested(list(whole), full)
        if op.result == FRESH:
            return testing.nested(list(testing.rounded(v.result, v.result_dtype())), v.result_shape())
        if op.result[0] == 3:
            c.arg(op.result[1])  # it was given
            _, whole, full, _ = regions[op.operand(op.result[1])]
            return testing.nested(list(whole), full)
        return v.scalar_ if op.result == SCALAR else v.origin if op.result[0] == 2 else None

    @staticmethod
    def extents(t):
        "The extents of a type, and those of the part that is valid."
        shape = [known(x) for x in t["shape"]]
        valid = [known(x) for x in (t.get("view") or {}).get("valid_shape") or []] or shape
        if None in shape + valid:
            raise Mistake("the extents of %s must be numbers here" % show(t))
        return shape, valid

    @staticmethod
    def part(c, i, made):
        "What the op gets of an operand: its extents, those of the part that is valid, and pairs: where an element is in the part, and where in the operand."
        full, valid = testing.extents(c.type(i))
        shape, origin, p = full, [0] * len(full), c.op.params[i] if i < len(c.op.params) else {}
        if p.get("window_at"):
            what, origin, like = "operand %r: " % p["name"], [known(x) for x in c.list(p["window_at"])], made if p["window_extents"] == "$result" else c.type(p["window_extents"])
            if like is None or like["node"] not in ("TensorType", "TileType", "TupleType"):
                raise Mistake(what + "its window is as large as %s, which has no extents" % p["window_extents"])
            shape, valid = ([known(x) for x in c.list(p["window_extents"])],) * 2 if like["node"] == "TupleType" else testing.extents(like)
            if None in origin + shape or min(valid, default=0) < 0:
                raise Mistake(what + "a window of %r that begins at %r: these are whole numbers, and no extent is negative" % (shape, origin))
            if len(origin) != len(full) or len(shape) > len(full):
                raise Mistake(what + "a window of %d axes that begins at %r in %d axes" % (len(shape), origin, len(full)))
        size = [1] * (len(full) - len(shape)) + valid
        for axis, (first, n, extent) in enumerate(zip(origin, size, full)):
            if n > 0 and not 0 <= first <= extent - n:
                raise Mistake("operand %r: [%d, %d) of axis %d is outside of extent %d" % (p.get("name", i), first, first + n, axis, extent))
        return shape, valid, list(zip(testing.places(shape, [0] * len(shape), valid), testing.places(full, origin, size)))

    @staticmethod
    def places(shape, origin, size):
        "Where the elements of a window are, row by row."
        out = [0]
        for extent, first, n in zip(shape, origin, size):
            out = [x * extent + first + k for x in out for k in range(n)]
        return out

    # By dtype: the bits of the mantissa, the exponent of the smallest normal number, the largest number, what stands for those beyond.
    NARROW = {"FP16": (10, -14, 65504.0, math.inf), "BF16": (7, -126, (2 - 2.0**-7) * 2.0**127, math.inf), "FP8E4M3FN": (3, -6, 448.0, 448.0),
              "FP8E5M2": (2, -14, 57344.0, math.inf), "FP4": (1, 0, 6.0, 6.0)}

    @staticmethod
    def rounded(numbers, d):
        "Numbers as an array of what dtype d can hold: rounded to nearest even from single precision; whole numbers wrap."
        a = array.array("d" if d == "FP64" else "f" if dtype(d).is_float() else "q", numbers)
        if d in testing.NARROW:
            mantissa, low, most, beyond = testing.NARROW[d]
            for i, x in enumerate(a):
                y = abs(x)
                if y < math.inf:
                    unit = math.ldexp(1.0, max(math.frexp(y)[1] - 1, low) - mantissa)
                    y = round(y / unit) * unit
                a[i] = 0.0 if x != x and d == "FP4" else math.copysign(beyond if y > most else y, x)
        elif d == "BOOL":
            a = array.array("q", [x != 0 for x in a])
        elif d in ("INT4", "INT8", "INT16", "INT32"):
            half = 1 << int(d[3:]) - 1
            a = array.array("q", [(x + half) % (2 * half) - half for x in a])
        elif d in ("UINT4", "UINT8", "UINT16", "UINT32"):
            a = array.array("q", [x % (1 << int(d[4:])) for x in a])
        return a

    @staticmethod
    def call(op, operands, keywords):
        "A Call of an op, its keyword arguments filled in."
        wrong = _op_mistakes(op)
        if wrong:
            raise Mistake("\n".join(wrong))
        args, values = [], []
        for i, x in enumerate(operands):
            p = op.params[min(op.operand(i), len(op.params) - 1)]
            args.append(testing.expression(p["name"], p["kinds"][0], x))
        for name in keywords:
            op.keyword_value({}, name)
        for k in op.keywords:
            if k["name"] in keywords:
                x = keywords[k["name"]]
                x = float(x) if k["kind"] == 3 else dtype(x) if k["kind"] == 4 else k["names"].index(x) if k["kind"] == 0 and x in k["names"] else x
                values.append({"name": k["name"], "value": _value(x)})
            elif "default" in k:
                values.append({"name": k["name"], "value": k["default"]})
            elif k["required"]:
                raise Mistake("op %s requires keyword argument %s" % (op.name, k["name"]))
        return Call(op, {"node": "OpCall", "op": op.name, "args": args, "kwargs": values, "type": {"node": "UnknownType"}})

    @staticmethod
    def expression(name, kind, x):
        "An operand as an expression."
        if kind == 4:
            return {"node": "MakeTuple", "elems": _shape(x)}
        if kind in (2, 5) and isinstance(x, (int, float)):
            return number(x) if isinstance(x, int) else {"node": "ConstFloat", "value": x, "dtype": "FP32"}
        if isinstance(x, dict):
            return Var(name, x)
        kind_of, numbers = x if isinstance(x, tuple) else (None, x)
        shape, numbers = [], numbers.tolist() if hasattr(numbers, "tolist") else numbers
        first = numbers
        while isinstance(first, list) and first:
            shape.append(len(first))
            first = first[0]
        if not shape:
            raise Mistake("operand %s: numbers as nested lists or a type, such as pto.tile_type([16, 16], \"FP32\"), not %s" % (name, _kind(x)))
        make = tensor_type if kind == 0 else tile_type
        return Var(name, make(shape, kind_of or ("INT32" if isinstance(first, int) else "FP32")))

    @staticmethod
    def flat(x):
        x = x.tolist() if hasattr(x, "tolist") else x
        return [z for y in x for z in testing.flat(y)] if isinstance(x, list) else [x]

    @staticmethod
    def nested(numbers, shape):
        if len(shape) < 2:
            return numbers
        n = len(numbers) // shape[0]
        return [testing.nested(numbers[i * n:i * n + n], shape[1:]) for i in range(shape[0])]


# Packing


def pack(src, out):
    """Makes the plugin: one executable file of the folder src, which has a __main__.py, and of this library where src lacks it. The same sources give the same bytes
    everywhere: sorted names, no times, nothing compressed. The comment is the folder's name, for reports."""
    import zipfile
    here, files = os.path.dirname(os.path.abspath(__file__)), {n: os.path.join(os.path.dirname(os.path.abspath(__file__)), n) for n in ("ptobuild_plugin.py", "ptobuild_grpc.py")}
    for folder, folders, names in os.walk(src):
        folders[:] = [f for f in folders if f != "__pycache__" and f[0] != "."]
        for n in names:
            path = os.path.join(folder, n)
            if n[0] != "." and not n.endswith((".pyc", ".pyo")) and os.path.abspath(path) != os.path.abspath(out):
                files[os.path.relpath(path, src).replace(os.sep, "/")] = path
    if "__main__.py" not in files:
        sys.exit("%s: there is no __main__.py, the file that calls pto.serve" % src)
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with open(out + ".new", "wb") as f:
        f.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(f, "w") as z:
            z.comment = (os.path.basename(src) if os.path.isabs(src) else os.path.normpath(src)).replace(os.sep, "/").encode()
            for name in sorted(files):
                with open(files[name], "rb") as source:
                    data = source.read()
                if name.endswith(".py"):
                    try:
                        compile(data, files[name], "exec", dont_inherit=True)
                    except SyntaxError as e:
                        os.remove(out + ".new")
                        sys.exit("%s:%s: SyntaxError: %s\n%s" % (os.path.normpath(files[name]), e.lineno, e.msg, (e.text or "").rstrip()))
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.create_system, info.external_attr = 3, 0o644 << 16
                z.writestr(info, data)
    os.chmod(out + ".new", 0o755)
    os.replace(out + ".new", out)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "pack":
        sys.exit("usage: python3 ptobuild_plugin.py pack FOLDER FILE")
    pack(*sys.argv[2:])
elif "PTOBUILD_PLUGIN" in os.environ:
    sys.excepthook = _failed
