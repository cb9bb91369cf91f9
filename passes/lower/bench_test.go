package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// longProgram is the canonical form of a function with about n statements: loops with carries, branches, submits with dependencies.
func longProgram(tb testing.TB, n int) *ir.Program {
	var b strings.Builder
	b.WriteString("def main(self, x: T, y: pl.Out[T], s: pl.Scalar[pl.INDEX]) -> T:\n")
	for i := 0; i*12 < n; i++ {
		fmt.Fprintf(&b, `    t%[1]d = pl.create_tensor([16, 16], dtype=pl.FP32)
    t%[1]d, p%[1]d = pl.submit(self.k, x, t%[1]d)
    with pl.manual_scope():
        prev%[1]d = None
        for i%[1]d in pl.parallel(4):
            t%[1]d, prev%[1]d = pl.submit(self.ks, x, t%[1]d, i%[1]d * 16, deps=[p%[1]d])
        t%[1]d, q%[1]d = pl.submit(self.upd, t%[1]d, deps=[prev%[1]d])
    n%[1]d = 0
    if s > %[1]d:
        n%[1]d = s * 2
        y = self.k(t%[1]d, y)
    y = self.ks(t%[1]d, y, n%[1]d)
`, i)
	}
	b.WriteString("    return y\n")
	src := source(tb, b.String())
	reg := ops.Builtin()
	unit, ds := lang.Load("case.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return src, nil }})
	if ds.HasErrors() {
		tb.Fatal(ds)
	}
	p, ds := passes.Run(&passes.Context{Ops: reg}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		tb.Fatal(ds)
	}
	return p
}

func BenchmarkLower(b *testing.B) {
	for _, n := range []int{30, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := longProgram(b, n)
			f := p.Lookup("main")
			b.ReportAllocs()
			for b.Loop() {
				if _, ds := lower.Lower(p, f, ops.Builtin(), lower.Options{}); ds.HasErrors() {
					b.Fatal(ds)
				}
			}
		})
	}
}

// BenchmarkEmit is lowering and printing together.
func BenchmarkEmit(b *testing.B) {
	p := longProgram(b, 1000)
	f := p.Lookup("main")
	b.ReportAllocs()
	for b.Loop() {
		plan, ds := lower.Lower(p, f, ops.Builtin(), lower.Options{})
		if ds.HasErrors() {
			b.Fatal(ds)
		}
		code, _ := orch.Print(plan, orch.Default())
		b.SetBytes(int64(len(code)))
	}
}
