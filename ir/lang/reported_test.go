package lang_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
)

// Mistakes that users of the reference compiler reported against its front end, by the numbers of their reports: each program must come out as its author
// meant it, or be refused where the mistake is.

var reported = []struct {
	name  string
	src   string
	want  []string // lines, or parts of lines, of the printed IR
	never []string
	err   string // part of the only report
}{
	{name: "205 460 a list of the closure as shape, one symbol for one name", src: `
M = pl.dynamic("M")
def make(shape, dt):
    @pl.function
    def k(t: pl.Tensor[shape, dt], u: pl.Tensor[[M, 4], dt], v: pl.Tensor[[M, 8], dt]):
        return t
    return k
K = make([2 * 8, M], pl.FP16)
`, want: []string{`M = pl.dynamic("M")`, "t: pl.Tensor[[16, M], pl.FP16], u: pl.Tensor[[M, 4], pl.FP16], v: pl.Tensor[[M, 8], pl.FP16]"}, never: []string{"M_1"}},
	{name: "618 two symbols of one name stay two", src: `
def make():
    A = pl.dynamic("M")
    def inner():
        B = pl.dynamic("M2")
        @pl.function
        def k(t: pl.Tensor[[A, B], pl.FP16]):
            return t
        return k
    return inner()
K = make()
`, want: []string{`M2 = pl.dynamic("M2")`, "t: pl.Tensor[[M, M2], pl.FP16]"}},
	{name: "854 a scalar parameter in a valid shape", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(n: pl.Scalar[pl.INDEX], t: pl.Tensor[[16, 16], pl.FP32, pl.TensorView(valid_shape=[n, 16])]):
    return t
`, want: []string{`n = pl.dynamic("n")`, "n: pl.Scalar[pl.INDEX], t: pl.Tensor[[16, 16], pl.FP32, pl.TensorView(valid_shape=[n, 16]"}},
	{name: "770 branches that differ in padding alone", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    t = pl.load(x, [0, 0], [16, 16], valid_shape=[n, 16])
    if n > 4:
        s = pl.fillpad(t, pad_value=pl.PadValue.zero)
    else:
        s = pl.load(x, [0, 0], [16, 16])
    o = pl.store(s, [0, 0], o)
    return o
`, want: []string{"pl.tile.store(s, [0, 0], o)"}},
	{name: "329 all parameters of a macro are given", src: `
@pl.inline
def put(x, o: pl.Out[T]):
    o = pl.store(x, [0, 0], o)
    return o
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T]):
    o = put(pl.load(x, [0, 0], [16, 16]))
    return o
`, err: "'put' expects 2 argument(s), got 1"},
	{name: "1302 1314 inline functions that call inline functions", src: `
@pl.jit.inline
def inner(x: T, o: T):
    with pl.at(level=pl.Level.CORE_GROUP):
        o = pl.add(x, 1.0)
    return o
@pl.jit.inline
def outer(x: T, o: T):
    o = inner(x, o)
    return o
@pl.jit
def main(x: T, o: pl.Out[T]):
    o = outer(x, o)
    return o
`, want: []string{"self.inner(x, o)", "self.outer(x, o)"}},
	{name: "2672 two dependencies of one name", src: `
def make(s):
    @pl.jit.inline
    def helper(x: T, o: T):
        with pl.at(level=pl.Level.CORE_GROUP):
            o = pl.mul(x, s)
        return o
    return helper
A, B = make(2.0), make(3.0)
@pl.jit
def main(x: T, o: pl.Out[T]):
    o = A(x, o)
    o = B(o, o)
    return o
`, want: []string{"def helper(", "def helper__2(", "pl.tensor.muls(x, 2.0)", "pl.tensor.muls(x, 3.0)", "self.helper__2(o, o)"}},
	{name: "1148 a shape that is assigned again", src: `
@pl.jit
def main(x: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
    m = x.shape[0]
    m = m * 2
    for i in pl.range(m):
        o = pl.assemble(o, x, [i, 0])
    return o
`, want: []string{"for i in pl.range(m):"}, never: []string{"pl.range(16)"}},
	{name: "915 bind_dynamic by keyword", src: `
M = pl.dynamic("M")
@pl.jit
def main(a: pl.Tensor[[64, 16], pl.FP32]):
    a.bind_dynamic(dim=0, var=M)
    return a
`, want: []string{"a: pl.Tensor[[M, 16], pl.FP32]"}, never: []string{"bind_dynamic"}},
	{name: "1508 1515 symbols of annotations", src: `
B = pl.dynamic("B_DYN")
@pl.jit.inline
def dep(x: pl.Tensor, o: pl.Tensor):
    n = pl.tensor.dim(x, 0)
    for i in pl.parallel(0, n, 16):
        with pl.at(level=pl.Level.CORE_GROUP):
            o[i : i + 16, :] = x[i : i + 16, :]
    return o
@pl.jit
def main(x: pl.Tensor[[B, 128], pl.FP32], o: pl.Out[pl.Tensor[[B, 128], pl.FP32]]):
    o = dep(x, o)
    return o
`, want: []string{"def dep(self, x: pl.Tensor[[B_DYN, 128], pl.FP32], o: pl.Tensor[[B_DYN, 128], pl.FP32])"}},
	{name: "1524 1536 locals with dynamic extents passed on", src: `
B = pl.dynamic("B")
@pl.jit.inline
def layer(t: pl.Tensor, o: pl.Tensor):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[0:16, :] = t[0:16, :]
    return o
@pl.jit
def main(x: pl.Tensor[[B, 128], pl.FP32], o: pl.Out[pl.Tensor[[B, 128], pl.FP32]]):
    t = pl.create_tensor([pl.tensor.dim(x, 0), 128], dtype=pl.FP32)
    o = layer(t, o)
    return o
`, want: []string{"def layer(self, t: pl.Tensor[[B, 128], pl.FP32]"}},
	{name: "2449 2450 2539 constants of a factory, locals of run-time size", src: `
def make(rows):
    half = rows // 2
    @pl.jit.inline
    def part(t: pl.Tensor, o: pl.Tensor):
        with pl.at(level=pl.Level.CORE_GROUP):
            o[0:half, :] = t[0:half, :]
        return o
    @pl.jit
    def main(x: pl.Tensor[[rows, 16], pl.FP32], o: pl.Out[pl.Tensor[[rows, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        t = pl.create_tensor([n * half, 16], dtype=pl.FP32)
        o = part(t, o)
        return o
    return main
MAIN = make(64)
`, want: []string{"[32, 16], [0, 0]", "t: pl.Tensor[[n * 32, 16], pl.FP32] = pl.tensor.create([n * 32, 16]"}},
	{name: "1201 1205 windows that are as long as their source", src: `
@pl.jit
def main(x: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    for i in pl.range(0, 64, 16):
        o[i : i + 16, 0:32] = x[i : i + 16, 32:64]
    return o
`, want: []string{"pl.tensor.assemble(o, pl.tensor.slice(x, [16, 32], [i, 32], [], []), [i, 0])"}},
	{name: "436 a condition that is no comparison", src: `
@pl.function(type=pl.FunctionType.Orchestration)
def main(x: T, n: pl.Scalar[pl.INT32]):
    if n:
        pass
    return x
`, err: "if condition must be a Bool-typed scalar expression"},
	{name: "1186 casts from INDEX", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, n: pl.Scalar[pl.INDEX]):
    m = pl.cast(n, pl.UINT32)
    return x
`, want: []string{"m: pl.Scalar[pl.UINT32] = pl.cast(n, pl.UINT32)"}},
	{name: "2363 every keyword of the unified form arrives", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T]):
    t = pl.slice(pl.load(x, [0, 0], [16, 16]), [8, 16], [0, 0], valid_shape=[4, 16], pad_value=pl.PadValue.min)
    o = pl.store(t, [0, 0], o)
    return o
`, want: []string{"[4, 16], pad_value=pl.PadValue.min)"}},
	{name: "1260 expressions in views", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, n: pl.Scalar[pl.INDEX]):
    t: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[pl.max(n - 8, 0), 64])] = pl.tile.create([16, 64], dtype=pl.FP32)
    return x
`, want: []string{"pl.TileView(valid_shape=[pl.max(n - 8, 0), 64])"}},
	{name: "1498 every field of a view is printed", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T):
    t: pl.Tile[[16, 32], pl.UINT8, pl.Mem.Vec, pl.TileView(blayout=pl.TileLayout.col_major)] = pl.tile.create([16, 32], dtype=pl.UINT8)
    return x
`, want: []string{"pl.TileView(blayout=pl.TileLayout.col_major)"}},
	{name: "807 a malformed decorator has a place", src: `
@pl.function(type=pl.FunctionType.Kernel)
def k(x: T):
    return x
`, err: "Unknown pl.FunctionType 'Kernel'"},
	{name: "2705 results that are not used keep their call", src: `
@pl.jit.inline
def inner(x: T, o: T):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[:, :] = x
    return o
@pl.jit.inline
def forward(x: T, o: T):
    return inner(x, o)
@pl.jit
def main(x: T, o: pl.Out[T]):
    forward(x, o)
    return o
`, want: []string{"        self.forward(x, o)\n", "return self.inner(x, o)"}},
	{name: "2802 a computed argument of an inline function", src: `
@pl.jit.inline
def add_into(a: pl.Tensor[[64, 16], pl.FP32], c: pl.Tensor[[64, 16], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[0:64, 0:16] = pl.add(a, c)
    return c
@pl.jit
def main(a: pl.Tensor[[4, 64, 16], pl.FP32], c: pl.Out[pl.Tensor[[4, 64, 16], pl.FP32]]):
    for r in pl.range(4):
        add_into(a[r], c[r])
    return c
`, want: []string{"self.add_into(pl.tensor.slice(a, [1, 64, 16], [r, 0, 0], [], [0]), pl.tensor.slice(c, [1, 64, 16], [r, 0, 0], [], [0]))"}},
	{name: "592 601 596 642 temporaries of sibling loops", src: `
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T]):
        for kb in pl.range(2):
            k0 = kb * 8
            s = pl.slice(x, [16, 1], [0, k0])
        for kb in pl.range(2):
            k0 = kb * 8
            s = pl.slice(x, [4, 1], [0, k0])
        return y
`, want: []string{"s: pl.Tensor[[16, 1], pl.FP32", "s_1: pl.Tensor[[4, 1], pl.FP32"}, never: []string{"init_values", "FREE_VAR"}},
	{name: "1550 a core count computed in the loop around", src: `
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T], c: pl.Tensor[[8], pl.INDEX]):
        for i in pl.parallel(8):
            n = pl.read(c, [i])
            for s in pl.spmd(n * 4):
                y = pl.assemble(y, pl.slice(x, [4, 4], [0, 0]), [s * 4, 0])
        return y
`, want: []string{"n: pl.Scalar[pl.INDEX] = pl.tensor.read(c, [i])", "for s in pl.spmd(n * 4):"}},
	{name: "1583 a core count from an extent", src: `
N = pl.dynamic("N")
@pl.jit
def main(x: pl.Tensor[[N, 16], pl.FP32], o: pl.Out[pl.Tensor[[N, 16], pl.FP32]]):
    n = pl.tensor.dim(x, 0)
    with pl.spmd(n * 2):
        i = pl.get_block_idx()
        o = pl.assemble(o, pl.slice(x, [1, 16], [i, 0]), [i, 0])
    return o
`, want: []string{"with pl.spmd(N * 2):"}},
	{name: "532 448 159 a break in a kernel stays", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    for i in pl.range(n):
        if pl.read(x, [i, 0]) == 0.0:
            break
        o = pl.store(pl.load(x, [i, 0], [1, 16]), [i, 0], o)
    return o
`, want: []string{"if pl.tensor.read(x, [i, 0]) == 0.0:\n                break"}},
	{name: "770 in a loop, the first mistake", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    for i, (a,) in pl.range(4, init_values=(o,)):
        if n > 4:
            s = pl.load(x, [0, 0], [16, 16])
        else:
            s = pl.load(x, [0, 0], [8, 16])
        b = pl.store(s, [0, 0], a)
        r = pl.yield_(b)
    return r
`, err: "'s' is pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] after one branch and pl.Tile[[8, 16], pl.FP32, pl.Mem.Vec] after the other"},
	{name: "1281 1282 2841 2499 an inline function assigns its parameters and calls locals _", src: `
@pl.jit.inline
def step(x: T, o: T, n: pl.Scalar[pl.INDEX]):
    n = n + 1
    x_ = x
    _ = n
    o = pl.assemble(o, x_, [n, 0])
    return o
@pl.jit
def main(x: T, o: pl.Out[T]):
    for k in pl.range(4):
        o = step(x, o, k)
        o = step(x, o, k)
    return o
`, want: []string{"n: pl.Scalar[pl.INDEX] = n + 1", "o: pl.Tensor[[16, 16], pl.FP32] = self.step(x, o, k)"}, never: []string{"__"}},
	{name: "323 438 465 1261 1278 views that state the defaults are no views", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T, o: pl.Out[T], w: pl.Out[pl.Tensor[[16, 16], pl.FP32, pl.TensorView(valid_shape=[16, 16], stride=[16, 1], layout=pl.TensorLayout.ND)]]):
    t = pl.load(x, [0, 0], [16, 16])
    t: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[16, 16], blayout=pl.TileLayout.row_major)] = pl.load(x, [0, 0], [16, 16])
    o = pl.store(t, [0, 0], w)
    o = pl.store(t, [0, 0], o)
    return o
`, want: []string{"o: pl.Tensor[[16, 16], pl.FP32] = pl.tile.store(t, [0, 0], w)"}},
	{name: "2088 a tile of Acc without a view", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T):
    a: pl.Tile[[16, 16], pl.FP32, pl.Mem.Acc] = pl.tile.create([16, 16], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    a: pl.Tile[[16, 16], pl.FP32, pl.Mem.Acc, pl.TileView(blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major, fractal=1024)] = pl.tile.create([16, 16], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    return x
`, never: []string{"none_box"}},
	{name: "2088 a tile of Acc is not none_box", src: `
@pl.function(type=pl.FunctionType.InCore)
def k(x: T):
    a: pl.Tile[[16, 16], pl.FP32, pl.Mem.Acc] = pl.tile.create([16, 16], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    a: pl.Tile[[16, 16], pl.FP32, pl.Mem.Acc, pl.TileView(blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)] = pl.tile.create([16, 16], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    return x
`, err: "Cannot reassign 'a' with a different type"},
}

func TestReported(t *testing.T) {
	for _, c := range reported {
		t.Run(c.name, func(t *testing.T) {
			unit, errs := load("import pypto.language as pl\nT = pl.Tensor[[16, 16], pl.FP32]\n" + c.src)
			if c.err != "" {
				if len(errs) != 1 || !strings.Contains(errs[0].Message, c.err) || !errs[0].Span.IsValid() {
					t.Errorf("reports %v, want %q", errs, c.err)
				}
				return
			}
			if errs.HasErrors() {
				t.Fatal(errs)
			}
			var text strings.Builder
			for _, p := range unit.Programs {
				text.WriteString(ir.Print(p, ir.PrintOptions{}))
				checkRoundTrip(t, p)
			}
			for _, w := range c.want {
				if !strings.Contains(text.String(), w) {
					t.Errorf("no %q in\n%s", w, text.String())
				}
			}
			for _, w := range c.never {
				if strings.Contains(text.String(), w) {
					t.Errorf("%q in\n%s", w, text.String())
				}
			}
		})
	}
}

// 2621: a dependency is what the name is bound to, whatever it was called where it was defined.
func TestReportedAliases(t *testing.T) {
	unit, errs := loadFiles(map[string]string{
		"test.py": "import pypto.language as pl\nfrom k import matmul as mm\nimport k as kk\nT = pl.Tensor[[16, 16], pl.FP32]\nalias = kk.matmul\n@pl.jit\ndef main(x: T, o: pl.Out[T]):\n    o = mm(x, o)\n    o = kk.matmul(x, o)\n    o = alias(o, o)\n    return o\n",
		"k.py":    "import pypto.language as pl\n@pl.jit.inline\ndef matmul(x: pl.Tensor, o: pl.Tensor):\n    with pl.at(level=pl.Level.CORE_GROUP):\n        o = pl.matmul(x, o)\n    return o\n",
	}, lang.Options{})
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(unit), "main(matmul main)"; got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
}
