package passes_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
)

const unfused = `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def add(self, x: T, y: T, out: pl.Out[T]) -> T:
        a = pl.load(x, [0, 0], [16, 16])
        b = pl.load(y, [0, 0], [16, 16])
        out = pl.store(pl.add(a, b), [0, 0], out)
        return out
    @pl.function(type=pl.FunctionType.AIV)
    def double(self, x: T, out: pl.Out[T]) -> T:
        a = pl.load(x, [0, 0], [16, 16])
        out = pl.store(pl.mul(a, 2.0), [0, 0], out)
        return out
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, out: pl.Out[T]) -> T:
        t = pl.create_tensor([16, 16], dtype=pl.FP32)
        t = self.add(a, b, t)
        out = self.double(t, out)
        return out
`

const fused = `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def both(self, x: T, y: T, t: pl.InOut[T], out: pl.Out[T]) -> tuple[T, T]:
        a = pl.load(x, [0, 0], [16, 16])
        b = pl.load(y, [0, 0], [16, 16])
        w = pl.store(pl.add(a, b), [0, 0], t)
        c = pl.load(t, [0, 0], [16, 16])
        out = pl.store(pl.mul(c, 2.0), [0, 0], out)
        return t, out
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, out: pl.Out[T]) -> T:
        t = pl.create_tensor([16, 16], dtype=pl.FP32)
        t, out = self.both(a, b, t, out)
        return out
`

// canonical is a program before any kernel is fused. Kernels read their parameters by identity, as a pass would write them.
func canonical(t *testing.T, text string) *ir.Program {
	t.Helper()
	u, ds := lang.Load("p.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	ps, err := passes.Until(passes.Default(), "NormalizeReturnOrder")
	if err != nil {
		t.Fatal(err)
	}
	p, ds := passes.Run(&passes.Context{Ops: ops.Builtin()}, u.Programs[0], ps, passes.Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return p
}

// A claim holds when taking the fused calls apart gives the program that was there; every way to break it is found.
func TestCheckFusions(t *testing.T) {
	claim := passes.Fusion{Kernel: "both", First: "add", Second: "double", FirstParams: []int{0, 1, 2}, SecondParams: []int{2, 3}}
	for _, c := range []struct {
		name, old, new string
		change         func(*passes.Fusion)
		want           string
	}{
		{name: "holds"},
		{name: "another factor", old: "2.0", new: "3.0", want: "the body of both is not that of add and then that of double"},
		{name: "operands swapped", old: "self.both(a, b, t, out)", new: "self.both(b, a, t, out)", want: "taken apart is not what it was"},
		{name: "another order", old: "        b = pl.load(y, [0, 0], [16, 16])\n        w =", new: "        b = pl.load(x, [0, 0], [16, 16])\n        w =", want: "the body of both is not that"},
		{name: "wrong direction", old: "t: pl.InOut[T]", new: "t: pl.Out[T]", want: "parameter 2 of both must be InOut"},
		{name: "called twice", old: "        t, out = self.both(a, b, t, out)\n", new: "        t, out = self.both(a, b, t, out)\n        t, out = self.both(a, b, t, out)\n", want: "taken apart is not what it was"},
		{name: "not called", old: "        t, out = self.both(a, b, t, out)\n", new: "", want: "taken apart is not what it was"},
		{name: "another place", change: func(f *passes.Fusion) { f.SecondParams = []int{3, 2} }, want: "parameter"},
		{name: "no such kernel", change: func(f *passes.Fusion) { f.First = "sub" }, want: "does not exist"},
		{name: "too few places", change: func(f *passes.Fusion) { f.FirstParams = f.FirstParams[:2] }, want: "2 parameters for the 3 of add"},
		{name: "out of range", change: func(f *passes.Fusion) { f.FirstParams = []int{0, 1, 9} }, want: "no parameter 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, f := fused, claim
			if c.old != "" {
				if !strings.Contains(text, c.old) {
					t.Fatalf("the program has no %q", c.old)
				}
				text = strings.Replace(text, c.old, c.new, 1)
			}
			if c.change != nil {
				c.change(&f)
			}
			err := passes.CheckFusions(canonical(t, unfused), canonical(t, text), []passes.Fusion{f})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
