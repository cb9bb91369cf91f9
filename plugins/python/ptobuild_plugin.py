"""What a plugin of ptobuild in Python imports. With ptobuild_grpc.py beside it, it needs nothing but Python 3.8 and its standard library.

    import ptobuild_plugin as pto

    class Scale(pto.Op):
        "factor * x"
        name, params, keywords = "scale", [pto.tile("x")], [pto.keyword("factor", float, 2.0)]
        ...
    pto.serve("acme", "0.1.0", ops=[Scale()])

docs/plugins.md of ptobuild walks through it. A node of the IR is a dict: its kind in "node" and the fields of the Go type of that name in package ir, in snake_case:
{"node": "TileType", "shape": [...], "dtype": "FP32", "mem": "Vec"}. A variable is a Var.
"""
import array, json, os, re, socket, sys, threading, time

import ptobuild_grpc

READ, WRITE, READ_WRITE, UNTOUCHED = range(4)  # effects on the storage of an operand
IN_CORE, ON_HOST = 1, 2  # kernels, orchestration functions; or both: IN_CORE | ON_HOST
ANY_CORE, VECTOR_CORE, CUBE_CORE = range(3)
SCALAR, FRESH, NONE = (0, 0), (1, 0), (4, 0)  # results: a number, new storage, nothing


def view_of(i): return (2, i)  # a window of operand i


def updated(i): return (3, i)  # operand i itself, after the op wrote it


def _param(kind):
    """Makes operands of a kind. A tensor or tile may have a window=(at, extents), which is all that the op touches: it begins at the list operand of the
    first name and is as large as the operand of the second, or as the result: "$result"."""
    return lambda name, mem=(), optional=False, variadic=False, window=("", ""): {
        "name": name, "kinds": [kind], "mem": list(mem), "optional": optional, "variadic": variadic, "window_at": window[0], "window_extents": window[1]}


tensor, tile, scalar, array_of, list_of, task = map(_param, range(6))


def keyword(name, kind, default=None, required=False, min=0, max=0, names=()):
    "A keyword argument; kind is int, bool, str, float or dtype."
    k = {"name": name, "kind": {int: 0, bool: 1, str: 2, float: 3, dtype: 4}[kind], "required": required, "min": min, "max": max, "names": list(names)}
    if default is not None:
        k["default"] = _value(default)
    return k


def option(name, kind, doc="", required=False, choices=(), min=0, max=0):
    "An option of Pto.toml; kind is str, int, float, bool or list (of strings)."
    return {"name": name, "kind": [str, int, float, bool, list].index(kind), "doc": doc, "required": required, "choices": list(choices), "min": min, "max": max}


class dtype(str):
    "The name of a dtype, such as FP32."

    def is_float(self): return self[:2] in ("FP", "BF", "HF")


class Report(Exception):
    "A report to the user: raise it, or give it to Context.report."

    def __init__(self, code, message, hint="", at=None, warning=False):
        super().__init__(message)
        self.code, self.hint, self.at, self.warning = code, hint, at, warning

    def message(self, at=None):
        return {"severity": int(self.warning), "code": self.code, "message": str(self), "hint": self.hint, "span": _span(self.at or at)}


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


def type_of(e):
    "The type of an expression."
    if isinstance(e, Var) or e["node"] in ("OpCall", "Call"):
        return e.type if isinstance(e, Var) else e["type"]
    if e["node"] == "MakeTuple":
        return {"node": "TupleType", "elems": [type_of(x) for x in e["elems"]]}
    return {"node": "ScalarType", "dtype": e.get("dtype", "BOOL")}


def number(value): return {"node": "ConstInt", "value": value, "dtype": "INDEX"}


def known(e):
    "The value of an extent or another whole number when it is a literal, else None."
    return e["value"] if not isinstance(e, Var) and e["node"] == "ConstInt" else None


class Call:
    "One use of an op: args are expressions, type is that of the result (None in infer), bound says that the result has a name."

    def __init__(self, op, node, bound=False):
        self.op, self.node, self.args, self.type_, self.pos, self.bound = op, node, node.get("args") or [], node["type"], node.get("pos"), bound

    def has(self, i): return i < len(self.args) and self.args[i] is not None

    def type(self, i): return type_of(self.args[i])

    def dtype(self, i): return dtype(self.type(i).get("dtype", ""))

    def shape(self, i): return self.type(i).get("shape") or []

    def extent(self, i, axis): return known(self.shape(i)[axis])

    def same_shape(self, i, j): return _bare(self.shape(i)) == _bare(self.shape(j))

    def number(self, i): return known(self.args[i])

    def list(self, i): return self.args[i].get("elems") or []

    def keyword(self, name): return _keyword({k["name"]: k["value"] for k in self.node.get("kwargs") or []}.get(name))

    def error(self, i, code, message, hint=""):
        "A report at operand i, to raise."
        e = self.args[i] if self.has(i) else None
        at = e.pos if isinstance(e, Var) else e and e.get("pos")
        return Report(code, self.node["op"] + ": " + message, hint, at or self.pos)


def _bare(e):
    "An expression without its places."
    if isinstance(e, dict):
        return {k: _bare(v) for k, v in e.items() if k != "pos"}
    return [_bare(x) for x in e] if isinstance(e, list) else e


class Values:
    """One call of an op in a kernel. numbers(i) are the elements of operand i, row by row, in an array.array: of doubles for FP64, floats for other floating dtypes,
    64-bit integers for the rest. What is written to them goes back when the op writes the operand by its effects. result is room for the new result, zeros.
    An op that gives a number calls give(x), one that gives a window of an operand window(*origin)."""

    def __init__(self, r, file):
        self.operands, self.file, self.scalar_, self.origin, self.arrays = r.get("operands", []), file, None, [], {}
        self.keywords = {k["name"]: _plain(k["value"]) for k in r.get("keywords", [])}
        self.result_ = r.get("result", {}).get("elements")
        self.result = self._load(self.result_)

    def shape(self, i): return self.operands[i]["elements"].get("shape", [])

    def valid(self, i): return self.operands[i]["elements"].get("valid", [])

    def result_shape(self): return self.result_.get("shape", [])

    def numbers(self, i): return self._load(self.operands[i].get("elements"))

    def scalar(self, i): return _plain(self.operands[i]["scalar"])

    def list(self, i): return self.operands[i]["list"].get("values", [])

    def keyword(self, name): return self.keywords.get(name)

    def give(self, x): self.scalar_ = x

    def window(self, *origin): self.origin = list(origin)

    def _load(self, e):
        if e is None:
            return None
        if id(e) not in self.arrays:
            size = 1
            for n in e.get("shape", []):
                size *= n
            a = array.array("d" if e["dtype"] == "FP64" else "f" if dtype(e["dtype"]).is_float() else "q")
            self.file.seek(e.get("offset", 0))
            a.frombytes(self.file.read(size * a.itemsize).ljust(size * a.itemsize, b"\0"))
            self.arrays[id(e)] = (e, a)
        return self.arrays[id(e)][1]

    def _store(self):
        for e, a in self.arrays.values():
            if e is self.result_ or e.get("writable"):
                self.file.seek(e.get("offset", 0))
                self.file.write(a.tobytes())


def _template(op, lines):
    "Lines with $names as the tokens that travel."
    names, locals_, out = [p["name"] for p in op.params], [], []
    slot = re.compile(r"\$([A-Za-z_]\w*)(?:\.dim\((\d+)\)|\[(\d+)\])?")
    for line in lines:
        tokens, at = [], 0
        for m in slot.finditer(line):
            tokens.append({"text": line[at:m.start()]})
            name, dim, element, at = m.group(1), m.group(2), m.group(3), m.end()
            n = names.index(name) if name in names else -1
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
    "What a pass may ask and say: ops are the specs of ops of other plugins by name; fusions are claims (message Fusion of the protocol)."

    def __init__(self, r):
        self.ops, self.options, self.reports, self.notes, self.fusions = {s["name"]: s for s in r.get("foreign_ops", [])}, r.get("options", {}), [], [], []

    def note(self, at, text): self.notes.append({"span": _span(at), "text": text})

    def report(self, r): self.reports.append(r.message())


def rewrite(node, f):
    "Replaces nodes from the leaves up: f gets each dict that is a node and gives what shall stand in its place."
    if isinstance(node, list):
        node[:] = [rewrite(x, f) for x in node]
    elif isinstance(node, dict):
        for k, v in node.items():
            if isinstance(v, (dict, list)) and k != "pos":
                node[k] = rewrite(v, f)
        if "node" in node:
            return f(node)
    return node


# Variables


class Var:
    "A variable. The object is its identity; the hint is what printers make its name of."

    def __init__(self, hint, type, dyn=False, pos=None, id=None):
        self.hint, self.type, self.dyn, self.pos, self.id, self.sent = hint, type, dyn, pos, id, None


def _load(data):
    "The functions of a document, with Vars where variables stand, and these."
    if data[:4] == b"PTIR":
        raise ValueError("this ptobuild is older than the plugin and sends it no JSON; use a newer one")
    doc = json.loads(data)
    by_id = {v["id"]: Var(v["hint"], None, v["dyn"], v.get("pos"), v["id"]) for v in doc["vars"]}

    def link(x):
        if isinstance(x, list):
            return [link(y) for y in x]
        if not isinstance(x, dict):
            return x
        if isinstance(x.get("var"), int):
            return by_id[x["var"]]
        return {k: link(y) for k, y in x.items()}
    for v in doc["vars"]:
        by_id[v["id"]].type, by_id[v["id"]].sent = link(v.get("type")), v
    return link(doc["functions"]), by_id


def _dump(functions, by_id):
    "A document of functions. A variable that is not what it was sent as is another one to ptobuild: it gets an entry and a new id."
    fresh, seen = [], set()

    def entry(v): return unlink({"hint": v.hint, "dyn": v.dyn, "type": v.type, "pos": v.pos})

    def identify(v):
        if v in seen:
            return
        seen.add(v)
        if v.id is None or dict(entry(v), id=v.id) != v.sent:
            v.id = len(by_id)
            by_id[v.id] = v
            fresh.append(v)

    def unlink(x):
        if isinstance(x, (list, tuple)):
            return [unlink(y) for y in x]
        if isinstance(x, dict):
            return {k: unlink(y) for k, y in x.items() if y is not None}
        if isinstance(x, Var):
            identify(x)
            return {"var": x.id}
        return x
    out = unlink(functions)
    entries = [dict(entry(v), id=v.id) for v in fresh]
    return json.dumps({"vars": entries, "functions": out}).encode()


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


def _span(at): return dict(zip(("file", "line", "column", "end_line", "end_column"), at or []))


# Serving


class Plugin:
    "What the three services answer."

    def __init__(self, name, version, ops=(), passes=(), options=(), configure=None, doc=""):
        self.name, self.version, self.doc, self.options, self.configure = name, version, doc, list(options), configure
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
        functions, by_id = _load(data)
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
        functions, by_id, types, errors = self.each(r["calls"], lambda i, op, node: op.infer(Call(op, node)))
        for statement, t in zip(functions[0]["body"], types):
            statement["x"]["type"] = t or statement["x"]["type"]
        return {"calls": _dump(functions, by_id), "errors": errors}

    def Verify(self, r): return {"reports": self.each(r["calls"], lambda i, op, node: op.verify(Call(op, node)))[3]}

    def Emit(self, r):
        bound = r.get("bound", [])
        _, _, templates, errors = self.each(r["calls"], lambda i, op, node: _template(op, op.emit(Call(op, node, bound[i:i + 1] == [True]))))
        return {"templates": [t or {} for t in templates], "errors": errors}

    def Evaluate(self, r):
        with open(r["file"], "r+b") as file:
            v = Values(r, file)
            try:
                self.ops[r["op"]].evaluate(v)
            except Report as e:
                return {"error": e.message()}
            v._store()
        return dict({} if v.scalar_ is None else {"scalar": _value(v.scalar_)}, origin=v.origin)

    def Run(self, r):
        functions, by_id = _load(r["functions"])
        ctx = Context(r)
        try:
            after = self.passes[r["pass"]].run(ctx, functions)
        except Report as e:
            ctx.report(e)
            after = None
        out = {"diagnostics": ctx.reports, "notes": ctx.notes, "fusions": ctx.fusions}
        return dict(out, unchanged=True) if after is None else dict(out, functions=_dump(after, by_id))


def serve(name, version, **what):
    "Answers ptobuild until it ends the process: ops=[...], passes=[...], options=[...], configure=f, doc=\"...\"."
    plugin = Plugin(name, version, **what)
    if os.environ.get("PTOBUILD_PLUGIN") != "8d1f6a1c1f0c4a64a2f4c1a8a0d4f0b7":
        sys.exit("%s is a plugin of ptobuild, version %s of %s: name it in Pto.toml, or try `ptobuild plugin info %s`." % (sys.argv[0], version, name, sys.argv[0]))
    if "PLUGIN_CLIENT_CERT" in os.environ:
        sys.exit("plugins in Python speak no TLS: leave mtls away in Pto.toml; the socket is open to the user alone")
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or os.environ.get("TMPDIR", "/tmp"), "p%d" % os.getpid())
    listener.bind(path)
    listener.listen(1)
    print("1|1|unix|%s|grpc" % path, flush=True)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    ptobuild_grpc.Connection(listener.accept()[0], plugin).serve()


def _end_with(parent):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
