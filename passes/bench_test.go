package passes

import (
	"fmt"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
)

// front are the passes up to flattening.
func front(tb testing.TB) []*Pass {
	ps, err := Until(Default(), "FlattenCallExpr")
	if err != nil {
		tb.Fatal(err)
	}
	return ps
}

// longProgram has about n statements in its one function: calls, scalars, branches, loops with carries, nested reads.
func longProgram(n int) *ir.Program {
	x, y, s := tvar("x"), tvar("y"), ivar("s")
	var body ir.Block
	for i := 0; len(body)*7 < n; i++ {
		t, v, j := tvar(fmt.Sprint("t", i)), ivar(fmt.Sprint("v", i)), ivar("i")
		body = append(body,
			&ir.If{Cond: bin(ir.Gt, bin(ir.FloorMod, s, ir.Int(int64(i%7+1))), ir.Int(1)),
				Then: ir.Block{set(t, create()), set(t, call("k", x, t))},
				Else: ir.Block{set(t, create())}},
			set(v, bin(ir.Add, bin(ir.Mul, s, ir.Int(4)), ir.Int(int64(i)))),
			forN(j, 4, set(y, call("k", t, y, bin(ir.Add, v, j))), set(v, readElem(y, j, v))),
		)
	}
	return program(fn("main", ir.Orchestration, []ir.Param{in(x), inout(y), in(s)}, append(body, ret(y))...))
}

// smallProgram is of the size of the examples in the mission documents.
func smallProgram() *ir.Program {
	x, y, acc, i, c := tvar("x"), tvar("y"), tvar("acc"), ivar("i"), ivar("c")
	prev, tmp := idvar("prev"), &ir.Var{Hint: "_submit_tmp", Typ: submit("k", nil).Typ}
	return program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y), in(c)},
		set(acc, create()),
		set(prev, none()),
		forN(i, 4,
			set(acc, call("k", x, acc)),
			set(tmp, submit("k", []ir.Expr{prev}, x, acc)),
			set(acc, get(tmp, 0)),
			set(prev, get(tmp, 1)),
			set(acc, call("k", acc, bin(ir.Mul, i, ir.Int(16))))),
		&ir.If{Cond: bin(ir.Gt, readElem(acc, c), ir.Int(1)), Then: ir.Block{set(y, call("k", x, acc))}},
		set(acc, call("k", acc, y)),
		set(acc, call("k", acc, acc)),
		set(y, call("k", acc, y)),
		ret(y)))
}

func benchmarkRun(b *testing.B, p *ir.Program) {
	ps := front(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := Run(&Context{}, p, ps, Hooks{}); ds.HasErrors() {
			b.Fatal(ds)
		}
	}
}

func BenchmarkSmall(b *testing.B)   { benchmarkRun(b, smallProgram()) }
func BenchmarkLong1k(b *testing.B)  { benchmarkRun(b, longProgram(1000)) }
func BenchmarkLong50k(b *testing.B) { benchmarkRun(b, longProgram(50000)) }

func BenchmarkPass(b *testing.B) {
	p := longProgram(1000)
	for _, pass := range front(b) {
		b.Run(pass.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := pass.Run(&Context{}, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		p, _ = pass.Run(&Context{}, p)
	}
	b.Run("Verify", func(b *testing.B) {
		for b.Loop() {
			ir.Verify(p, nil, append(ir.StructuralProperties(), ir.SSAForm)...)
		}
	})
}

// A function of many statements is no problem: anything quadratic would take minutes here, not a fraction of a second.
func TestLongFunction(t *testing.T) {
	start := time.Now()
	if _, ds := Run(&Context{}, longProgram(50000), front(t), Hooks{}); ds.HasErrors() {
		t.Fatal(ds)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("50000 statements take %v", d)
	}
}

// A chain of elif branches is a deep nest of ifs.
func TestDeepNest(t *testing.T) {
	s, v := ivar("s"), ivar("v")
	b := ir.Block{set(v, ir.Int(0))}
	for i := range 2000 {
		b = ir.Block{&ir.If{Cond: bin(ir.Eq, s, ir.Int(int64(i))), Then: ir.Block{set(v, bin(ir.Add, s, ir.Int(int64(i))))}, Else: b}}
	}
	p := program(fn("main", ir.Orchestration, []ir.Param{in(s)}, append(b, ret(v))...))
	if _, ds := Run(&Context{}, p, front(t), Hooks{}); ds.HasErrors() {
		t.Fatal(ds)
	}
}
