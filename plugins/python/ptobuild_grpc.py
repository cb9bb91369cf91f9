"""gRPC as far as ptobuild_plugin.py needs it, in the standard library alone: protocol buffers, and a server of HTTP/2 for one connection, which answers one call
after the other."""
import os, struct, sys

# Messages: by name the fields, each NAME:NUMBER:TYPE, with * for a list. Numbers are those of ptobuild.proto. A decoded message is a dict of what was there.

_MESSAGES = {name: [(f[0], int(f[1]), f[2].lstrip("*"), f[2][0] == "*") for f in (f.split(":") for f in fields.split())] for name, fields in {
    "Empty": "", "Health": "status:1:int",
    "ConfigureRequest": "ir_version:1:int options_json:2:str minor:3:int capabilities:4:*str",
    "ConfigureResponse": "name:1:str version:2:str ir_version:3:int diagnostics:4:*Diagnostic minor:5:int capabilities:6:*str options:7:*Option doc:8:str",
    "Option": "name:1:str kind:2:int doc:3:str required:4:bool choices:5:*str min:6:float max:7:float",
    "Span": "file:1:str line:2:int column:3:int end_line:4:int end_column:5:int",
    "Related": "span:1:Span message:2:str",
    "Diagnostic": "severity:1:int code:2:str span:3:Span message:4:str hint:5:str related:6:*Related",
    "Specs": "ops:1:*OpSpec",
    "OpSpec": "name:1:str doc:2:str params:3:*Param keywords:4:*Keyword on_host:5:bool in_core:6:bool result:7:int result_operand:8:int effects:9:*int core:10:int "
              "pure:11:bool result_mem:12:str result_mem_from:13:int infers:14:bool verifies:15:bool emits:16:bool evaluates:17:bool",
    "Param": "name:1:str kinds:2:*int mem:3:*str optional:4:bool variadic:5:bool window_at:6:str window_extents:7:str",
    "Keyword": "name:1:str kind:2:int enum_kind:3:str names:4:*str default:5:Value required:6:bool min:7:int max:8:int",
    "Value": "int:1:int bool:2:bool string:3:str float:4:float dtype:5:str enum:6:Enum",
    "Enum": "kind:1:str name:2:str",
    "Calls": "calls:1:bytes lenient:2:bool", "Types": "calls:1:bytes errors:2:*CallError",
    "CallError": "call:1:int diagnostic:2:Diagnostic",
    "VerifyRequest": "function:1:str calls:2:bytes", "Reports": "reports:1:*CallError",
    "EmitRequest": "calls:1:bytes bound:2:*bool", "Emitted": "templates:1:*Template errors:2:*CallError",
    "Template": "locals:1:*str lines:2:*Line", "Line": "tokens:1:*Token",
    "Token": "text:1:str operand:2:int element:3:Pair dim:4:Pair result:5:bool local:6:int", "Pair": "operand:1:int index:2:int",
    "Evaluate": "op:1:str file:2:str keywords:3:*KeywordValue operands:4:*Operand result:5:Operand",
    "KeywordValue": "name:1:str value:2:Value", "Operand": "elements:1:Elements scalar:2:Value list:3:Ints", "Ints": "values:1:*int",
    "Elements": "dtype:1:str shape:2:*int valid:3:*int offset:4:int writable:5:bool",
    "Evaluated": "error:1:Diagnostic scalar:2:Value origin:3:*int",
    "Passes": "passes:1:*PassDesc", "Grant": "functions:1:*str add:2:bool remove:3:bool",
    "PassDesc": "name:1:str doc:2:str requires:3:*str produces:4:*str invalidates:5:*str after:6:str before:7:str grant:8:Grant",
    "PassOptions": "auto_deps:1:bool no_manual_alloc_deps:2:bool store_target_in_out:3:bool",
    "Run": "pass:1:str program:2:str functions:3:bytes options:4:PassOptions explain:5:bool foreign_ops:6:*OpSpec",
    "Ran": "unchanged:1:bool functions:2:bytes diagnostics:3:*Diagnostic notes:4:*Note order:5:*str fusions:6:*Fusion", "Note": "span:1:Span text:2:str",
    "Fusion": "kernel:1:str first:2:str second:3:str first_params:4:*int second_params:5:*int",
}.items()}


def _varint(n):
    n, out = n & (1 << 64) - 1, bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def _read_varint(b, at):
    n = shift = 0
    while True:
        n |= (b[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if b[at - 1] < 128:
            return n, at


def _encode(name, m):
    out = bytearray()
    for field, tag, kind, many in _MESSAGES[name]:
        for v in (m.get(field) or []) if many else [m[field]] if field in m else []:
            if kind in ("int", "bool"):
                out += _varint(tag << 3) + _varint(int(v))
            elif kind == "float":
                out += _varint(tag << 3 | 1) + struct.pack("<d", v)
            else:
                b = v.encode() if kind == "str" else v if kind == "bytes" else _encode(kind, v)
                out += _varint(tag << 3 | 2) + _varint(len(b)) + b
    return bytes(out)


def _decode(name, b):
    fields, m, at = {f[1]: f for f in _MESSAGES[name]}, {}, 0
    while at < len(b):
        tag, at = _read_varint(b, at)
        if tag & 7 == 0:
            v, at = _read_varint(b, at)
        else:
            n, at = _read_varint(b, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            if at + n > len(b):
                raise ValueError("a message is cut off")
            v, at = b[at:at + n], at + n
        if tag >> 3 not in fields:
            continue  # of a newer ptobuild
        field, _, kind, many = fields[tag >> 3]
        if kind in ("int", "bool") and many and tag & 7 == 2:  # packed
            i = 0
            while i < len(v):
                x, i = _read_varint(v, i)
                m.setdefault(field, []).append(_scalar(kind, x))
            continue
        v = _scalar(kind, v) if kind in _SCALARS else _decode(kind, v)
        if many:
            m.setdefault(field, []).append(v)
        else:
            m[field] = v
    return m


_SCALARS = {"int": lambda v: v - (1 << 64) if v >> 63 else v, "bool": bool, "str": lambda v: v.decode(), "bytes": bytes, "float": lambda v: struct.unpack("<d", v)[0]}


def _scalar(kind, v): return _SCALARS[kind](v)


METHODS = {"/ptobuild.plugin.v1." + path: (path.split("/")[1], request, response) for path, request, response in [
    ("Plugin/Configure", "ConfigureRequest", "ConfigureResponse"), ("Ops/Specs", "Empty", "Specs"), ("Ops/InferTypes", "Calls", "Types"),
    ("Ops/Verify", "VerifyRequest", "Reports"), ("Ops/Emit", "EmitRequest", "Emitted"), ("Ops/Evaluate", "Evaluate", "Evaluated"),
    ("Passes/Describe", "Empty", "Passes"), ("Passes/Run", "Run", "Ran")]}


class Connection:
    "HTTP/2 as far as gRPC needs it (RFC 9113): requests of one message, answered in the order in which they end."
    DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
    LIMIT = 80 << 20  # of a message

    def __init__(self, sock, plugin, explain):
        self.file, self.sock, self.plugin, self.explain = sock.makefile("rb"), sock, plugin, explain
        self.streams, self.queue = {}, []  # by id: path and data so far; answers that wait for room
        self.window, self.initial, self.windows, self.frame_size = 65535, 65535, {}, 16384

    def send(self, kind, flags, stream, payload=b""):
        self.sock.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def serve(self):
        if not self.file.read(24).startswith(b"PRI * HTTP/2.0"):
            return
        # No table of headers, and room for everything: then requests need no bookkeeping.
        self.send(self.SETTINGS, 0, 0, struct.pack(">HIHI", 1, 0, 4, 2 ** 31 - 1))
        self.send(self.WINDOW, 0, 0, struct.pack(">I", 2 ** 31 - 1 - 65535))
        while True:
            head = self.file.read(9)
            if len(head) < 9:
                return
            size, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            self.frame(kind, flags, stream, self.file.read(size))
            self.flush()

    def frame(self, kind, flags, stream, b):
        if kind in (self.DATA, self.HEADERS) and flags & 8:  # padding
            b = b[1:len(b) - b[0]]
        if kind == self.HEADERS or kind == self.CONTINUATION:
            s = self.streams.setdefault(stream, {"head": b"", "data": bytearray()})
            s["head"] += b[5:] if kind == self.HEADERS and flags & 0x20 else b
            if flags & 4:
                s["path"] = _path(s["head"])
                if s["path"] not in METHODS and s["path"] not in ("/grpc.health.v1.Health/Check", "/plugin.GRPCController/Shutdown"):
                    self.answer(stream, b"", 12, "unknown method " + s["path"])
        elif kind == self.DATA:
            self.send(self.WINDOW, 0, 0, struct.pack(">I", len(b))) if b else None
            if stream in self.streams:
                self.streams[stream]["data"] += b
        elif kind == self.SETTINGS and not flags & 1:
            for key, value in struct.iter_unpack(">HI", b):
                if key == 4:
                    self.windows = {k: v + value - self.initial for k, v in self.windows.items()}
                    self.initial = value
                elif key == 5:
                    self.frame_size = value
            self.send(self.SETTINGS, 1, 0)
        elif kind == self.PING and not flags & 1:
            self.send(self.PING, 1, 0, b)
        elif kind == self.WINDOW:
            n = int.from_bytes(b, "big")
            if stream:
                self.windows[stream] = self.windows.get(stream, self.initial) + n
            else:
                self.window += n
        elif kind == self.RST:
            self.streams.pop(stream, None)
            self.queue = [q for q in self.queue if q[0] != stream]
        if kind in (self.DATA, self.HEADERS) and flags & 1 and stream in self.streams and "path" in self.streams[stream]:
            self.call(stream)

    def call(self, stream):
        s = self.streams[stream]
        if s["path"] not in METHODS:
            self.answer(stream, _encode("Health", {"status": 1} if "Health" in s["path"] else {}))
            if "Shutdown" in s["path"]:
                self.flush()
                os._exit(0)
            return
        method, request, response = METHODS[s["path"]]
        try:
            out = _encode(response, getattr(self.plugin, method)(_decode(request, bytes(s["data"][5:]))))
            if len(out) > self.LIMIT:
                return self.answer(stream, b"", 8, "the answer has %d MB" % (len(out) >> 20))
            self.answer(stream, out)
        except MemoryError:
            sys.stderr.write("MemoryError\n")
            os._exit(1)
        except Exception as e:
            what, way = self.explain(e)
            sys.stderr.write("".join(x + "\n" for x in way))
            self.answer(stream, b"", 13, what)

    def answer(self, stream, message, status=0, text=""):
        del self.streams[stream]
        self.send(self.HEADERS, 4, stream, b"\x88" + _header("content-type", "application/grpc"))
        trailers = _header("grpc-status", str(status)) + _header("grpc-message", _percent(text))
        self.queue.append([stream, memoryview(b"\0" + struct.pack(">I", len(message)) + message if status == 0 else b""), trailers])

    def flush(self):
        "Sends what there is room for."
        for q in list(self.queue):
            stream, data, trailers = q
            while data:
                n = min(len(data), self.frame_size, self.window, self.windows.get(stream, self.initial))
                if n <= 0:
                    break
                self.send(self.DATA, 0, stream, bytes(data[:n]))
                self.window -= n
                self.windows[stream] = self.windows.get(stream, self.initial) - n
                q[1] = data = data[n:]
            if not data:
                self.queue.remove(q)
                self.windows.pop(stream, None)
                self.send(self.HEADERS, 5, stream, trailers)


def _percent(text):
    "A message as a header has it; headers must fit into one frame."
    return "".join(chr(x) if 32 <= x < 127 and x != 37 else "%%%02X" % x for x in text.encode(errors="replace")[:4000].decode(errors="ignore").encode())


def _header(name, value): return b"\x00" + _hpack_int(len(name), 127) + name.encode() + _hpack_int(len(value), 127) + value.encode()


def _hpack_int(n, most): return bytes([n]) if n < most else bytes([most]) + _varint(n - most)


def _path(b):
    "The :path of a block of headers (RFC 7541) from one who keeps no table."
    def integer(at, bits):
        n = b[at] & (1 << bits) - 1
        if n < (1 << bits) - 1:
            return n, at + 1
        more, at = _read_varint(b, at + 1)
        return n + more, at

    def string(at):
        huffman = b[at] & 128
        n, at = integer(at, 7)
        return _huffman(b[at:at + n]) if huffman else b[at:at + n].decode(), at + n
    at, path = 0, ""
    while at < len(b):
        c = b[at]
        if c & 128 or c & 0xE0 == 0x20:  # a pair of the static table, or a new size of the other
            _, at = integer(at, 7 if c & 128 else 5)
            continue
        index, at = integer(at, 6 if c & 64 else 4)
        name, at = string(at) if index == 0 else ({4: ":path", 5: ":path"}.get(index, ""), at)
        value, at = string(at)
        path = value if name == ":path" else path
    return path


# The code of RFC 7541, appendix B, is canonical, so the lengths of its words say everything: 256 symbols and the end.
_LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06080b0a0a080b080606060505050606060606060607080f060c0a"
    "0d06070707070707070707070707070707070707070707070807080d130d0e060f05060506050606060507070606060506070605050607070707070f0b0e0d1c"
    "14161414161616171617171717171817181816171817171717151617161717181615141616171715171616181516171715151615171617171416161617161617"
    "1a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b14181415161515171616191918181a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a"
    "1e")


def _huffman(b, codes={}):
    if not codes:
        code = last = 0
        for length, symbol in sorted((n, i) for i, n in enumerate(_LENGTHS)):
            code <<= length - last
            codes[length, code], last = symbol, length
            code += 1
    out, code, length = bytearray(), 0, 0
    for byte in b:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            if (length, code) in codes:
                out.append(codes[length, code])
                code = length = 0
    return out.decode()
