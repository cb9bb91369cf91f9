package passes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// generator makes random programs that read only what has a value on every path.
type generator struct {
	*rand.Rand
	scalars, tensors []*ir.Var
	ids              []*ir.Var
	defined          map[*ir.Var]bool
	counters         int
	counting         []*ir.Var // open loop variables
	inline           []*ir.Function
	depth, loops     int
	jumps            bool      // break, continue and early returns
	results          []ir.Expr // of early returns
	unrolled         bool
}

func (g *generator) pick(vs []*ir.Var) *ir.Var {
	var ok []*ir.Var
	for _, v := range vs {
		if g.defined[v] {
			ok = append(ok, v)
		}
	}
	if len(ok) == 0 {
		return nil
	}
	return ok[g.IntN(len(ok))]
}

func (g *generator) scalar(depth int) ir.Expr {
	switch k := g.IntN(8); {
	case k == 0 && len(g.counting) > 0:
		return g.counting[g.IntN(len(g.counting))]
	case k < 3 || depth == 0:
		if v := g.pick(g.scalars); v != nil {
			return v
		}
		return ir.Int(int64(g.IntN(7)))
	case k == 3:
		return ir.Int(int64(g.IntN(9) - 3))
	case k == 4:
		return op("test.f", ir.IndexType, g.scalar(depth-1))
	}
	ops := []ir.BinOp{ir.Add, ir.Sub, ir.Min, ir.Max, ir.Mul, ir.FloorMod, ir.FloorDiv}
	o := ops[g.IntN(len(ops))]
	switch o {
	case ir.Mul, ir.FloorMod, ir.FloorDiv:
		return bin(o, g.scalar(depth-1), ir.Int(int64(g.IntN(4)+1)))
	}
	return bin(o, g.scalar(depth-1), g.scalar(depth-1))
}

func (g *generator) cond() ir.Expr {
	ops := []ir.BinOp{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}
	c := bin(ops[g.IntN(len(ops))], bin(ir.FloorMod, g.scalar(1), ir.Int(5)), ir.Int(int64(g.IntN(5))))
	if g.IntN(4) == 0 {
		o := ir.And
		if g.IntN(2) == 0 {
			o = ir.Or
		}
		return bin(o, c, bin(ops[g.IntN(len(ops))], g.scalar(1), ir.Int(2)))
	}
	return c
}

func (g *generator) branch(f func() ir.Block) (ir.Block, map[*ir.Var]bool) {
	saved := cloneSet(g.defined)
	b := f()
	after := g.defined
	g.defined = saved
	return b, after
}

func cloneSet(m map[*ir.Var]bool) map[*ir.Var]bool {
	n := map[*ir.Var]bool{}
	for k, v := range m {
		n[k] = v
	}
	return n
}

func (g *generator) block(n int) ir.Block {
	var b ir.Block
	for range 1 + g.IntN(n) {
		b = append(b, g.stmt()...)
		if len(b) > 0 {
			switch b[len(b)-1].(type) {
			case *ir.Branch, *ir.Return:
				return b
			}
		}
	}
	return b
}

func (g *generator) stmt() []ir.Stmt {
	k := g.IntN(18)
	if g.depth >= 4 && (k >= 6 && k <= 10 || k >= 15) {
		k = 0
	}
	switch k {
	default: // scalar assignment
		v := g.scalars[g.IntN(len(g.scalars))]
		e := bin(ir.FloorMod, g.scalar(2), ir.Int(11))
		s := set(v, e)
		if g.IntN(4) == 0 {
			if w := g.pick(g.scalars); w != nil {
				s = set(v, w)
			}
		}
		g.defined[v] = true
		return []ir.Stmt{s}
	case 3, 4:
		v := g.tensors[g.IntN(len(g.tensors))]
		a := g.pick(g.tensors)
		e := call("k", a, g.scalar(2))
		g.defined[v] = true
		return []ir.Stmt{set(v, e)}
	case 5:
		return []ir.Stmt{&ir.Eval{X: op("test.emit", ir.Unknown, g.scalar(2))}}
	case 6, 7:
		cond := g.cond()
		g.depth++
		then, a := g.branch(func() ir.Block { return g.block(3) })
		var els ir.Block
		b := g.defined
		if g.IntN(2) == 0 {
			els, b = g.branch(func() ir.Block { return g.block(3) })
			if len(els) == 0 {
				els = nil
			}
		}
		g.depth--
		leftA, leftB := alwaysLeaves(then), els != nil && alwaysLeaves(els)
		for v := range a {
			if (a[v] || leftA) && (b[v] || leftB) {
				g.defined[v] = true
			}
		}
		return []ir.Stmt{&ir.If{Cond: cond, Then: then, Else: els}}
	case 8, 9:
		i := ivar(fmt.Sprint("i", g.counters))
		g.counters++
		g.depth++
		kind := ir.Sequential
		var n ir.Expr = ir.Int(int64(g.IntN(4)))
		switch g.IntN(4) {
		case 0:
			n = bin(ir.FloorMod, g.scalar(1), ir.Int(3))
		case 1:
			kind = ir.Unroll
		}
		body, after := g.branch(func() ir.Block {
			g.counting = append(g.counting, i)
			saved, unrolled := g.loops, g.unrolled
			if g.loops++; kind == ir.Unroll {
				g.loops, g.unrolled = 0, true
			}
			b := g.block(4)
			g.counting = g.counting[:len(g.counting)-1]
			g.loops, g.unrolled = saved, unrolled
			return b
		})
		g.depth--
		if c, ok := n.(*ir.ConstInt); ok && c.Value > 0 && !g.jumps {
			for v := range after {
				if v != i && after[v] {
					g.defined[v] = true
				}
			}
		}
		f := forTo(i, n, body...)
		f.Kind = kind
		return []ir.Stmt{f}
	case 10:
		w := ivar(fmt.Sprint("w", g.counters))
		g.counters++
		g.depth++
		g.loops++
		body, _ := g.branch(func() ir.Block { return append(ir.Block{set(w, bin(ir.Sub, w, ir.Int(1)))}, g.block(3)...) })
		g.loops--
		g.depth--
		cond := ir.Expr(bin(ir.Gt, w, ir.Int(0)))
		if g.IntN(2) == 0 {
			cond = bin(ir.And, cond, bin(ir.Ge, op("test.f", ir.IndexType, w), ir.Int(100)))
		}
		return []ir.Stmt{set(w, ir.Int(int64(g.IntN(4)))), &ir.While{Cond: cond, Body: body}}
	case 11:
		g.depth++
		b := g.block(3)
		g.depth--
		return []ir.Stmt{&ir.Scope{Kind: ir.RuntimeScope, Manual: g.IntN(2) == 0, Body: b}}
	case 12:
		if len(g.inline) == 0 {
			return nil
		}
		f := g.inline[g.IntN(len(g.inline))]
		args := []ir.Expr{g.pick(g.tensors), g.scalar(1)}
		if g.IntN(2) == 0 {
			args[1] = g.scalar(0)
		}
		if len(f.Returns) == 1 {
			v := g.tensors[g.IntN(len(g.tensors))]
			g.defined[v] = true
			return []ir.Stmt{set(v, &ir.Call{Callee: f.Name, Args: args, Typ: tensorT})}
		}
		t := &ir.Var{Hint: "pair", Typ: &ir.TupleType{Elems: []ir.Type{tensorT, ir.IndexType}}}
		v, s := g.tensors[g.IntN(len(g.tensors))], g.scalars[g.IntN(2)]
		g.defined[v], g.defined[s] = true, true
		return []ir.Stmt{set(t, &ir.Call{Callee: f.Name, Args: args, Typ: t.Typ}), set(v, get(t, 0)), set(s, get(t, 1))}
	case 14: // a task that depends on another one
		id := g.ids[g.IntN(len(g.ids))]
		var b []ir.Stmt
		if g.IntN(4) == 0 {
			b = append(b, set(id, none()))
		}
		v := g.tensors[g.IntN(len(g.tensors))]
		c := submit("s", []ir.Expr{g.ids[g.IntN(len(g.ids))]}, g.pick(g.tensors), g.scalar(1))
		tmp := &ir.Var{Hint: "_submit_tmp", Typ: c.Typ}
		g.defined[v] = true
		return append(b, set(tmp, c), set(v, get(tmp, 0)), set(id, get(tmp, 1)))
	case 15: // a loop with an explicit carry
		i, it, res := ivar(fmt.Sprint("i", g.counters)), ivar("it"), ivar("res")
		g.counters++
		init, n := g.scalar(1), ir.Int(int64(g.IntN(4)))
		jumps, loops := g.jumps, g.loops
		g.jumps, g.loops = false, 0
		g.depth++
		b, _ := g.branch(func() ir.Block {
			g.counting = append(g.counting, i, it)
			b := append(g.block(3), yield(g.scalar(2)))
			g.counting = g.counting[:len(g.counting)-2]
			return b
		})
		g.depth--
		g.jumps, g.loops = jumps, loops
		l := forTo(i, n, b...)
		l.Carries = []ir.Carry{{Iter: it, Init: init, Result: res}}
		v := g.scalars[g.IntN(len(g.scalars))]
		g.defined[v] = true
		return []ir.Stmt{l, set(v, res)}
	case 16: // an if with an explicit result
		res, cond := ivar("res"), g.cond()
		jumps := g.jumps
		g.jumps = false
		g.depth++
		then, _ := g.branch(func() ir.Block { return append(g.block(2), yield(g.scalar(1))) })
		els, _ := g.branch(func() ir.Block { return append(g.block(2), yield(g.scalar(1))) })
		g.depth--
		g.jumps = jumps
		v := g.scalars[g.IntN(len(g.scalars))]
		g.defined[v] = true
		return []ir.Stmt{&ir.If{Cond: cond, Then: then, Else: els, Results: []*ir.Var{res}}, set(v, res)}
	case 13:
		if !g.jumps {
			return nil
		}
		if g.loops > 0 {
			return []ir.Stmt{&ir.Branch{Continue: g.IntN(2) == 0}}
		}
		if g.results != nil && g.depth > 0 && !g.unrolled {
			return []ir.Stmt{ret(g.results...)}
		}
		return nil
	}
}

// seeds start all TaskIds off with None.
func (g *generator) seeds() ir.Block {
	var b ir.Block
	for _, v := range g.ids {
		b = append(b, set(v, none()))
	}
	return b
}

func randomProgram(seed uint64, jumps bool) *ir.Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), defined: map[*ir.Var]bool{}, jumps: jumps}
	p := program()
	for i := range 2 {
		a, n := tvar("a"), ivar("n")
		g.scalars, g.tensors = []*ir.Var{n, ivar("m")}, []*ir.Var{a, tvar("t")}
		g.defined = map[*ir.Var]bool{a: true, n: true}
		g.ids = []*ir.Var{idvar("tid")}
		g.depth = 2
		body := append(g.seeds(), g.block(4)...)
		f := fn(fmt.Sprint("f", i), ir.Inline, []ir.Param{in(a), in(n)}, body...)
		if g.IntN(2) == 0 {
			f.Body, f.Returns = append(f.Body, ret(g.pick(g.tensors))), []ir.Type{tensorT}
		} else {
			f.Body, f.Returns = append(f.Body, ret(g.pick(g.tensors), g.pick(g.scalars))), []ir.Type{tensorT, ir.IndexType}
		}
		if slices.ContainsFunc(f.Body[:len(f.Body)-1], func(s ir.Stmt) bool { _, ok := s.(*ir.Return); return ok }) {
			continue
		}
		p.Funcs = append(p.Funcs, f)
		g.inline = append(g.inline, f)
	}
	x, c := tvar("x"), ivar("c")
	g.scalars, g.tensors = []*ir.Var{c, ivar("p"), ivar("q"), ivar("r")}, []*ir.Var{x, tvar("y"), tvar("z")}
	g.defined = map[*ir.Var]bool{x: true, c: true}
	g.ids = []*ir.Var{idvar("tid"), idvar("prev")}
	g.depth = 0
	if jumps {
		g.results = []ir.Expr{x, c}
	}
	body := append(g.seeds(), g.block(8)...)
	if jumps {
		if !alwaysLeaves(body) {
			body = append(body, ret(x, c))
		}
		p.Funcs = append(p.Funcs, fn("main", ir.Orchestration, []ir.Param{in(x), in(c)}, body...))
		return p
	}
	var rs []ir.Expr
	for _, v := range slices.Concat(g.tensors, g.scalars) {
		if g.defined[v] {
			rs = append(rs, v)
		}
	}
	p.Funcs = append(p.Funcs, fn("main", ir.Orchestration, []ir.Param{in(x), in(c)}, append(body, ret(rs...))...))
	return p
}

// The passes up to flattening keep the meaning of a program, and running one again changes nothing.
func TestMeaningKept(t *testing.T) {
	front, err := Until(Default(), "FlattenCallExpr")
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(1500)
	if testing.Short() {
		n = 300
	}
	for seed := range n {
		p := randomProgram(seed, seed%3 == 0)
		check := func(i int, pass *Pass, q *ir.Program) {
			for c := range int64(4) {
				want, err := run(p, "main", 1000, c)
				if err != nil {
					t.Fatalf("seed %d: the program itself: %v\n%s", seed, err, ir.Print(p, ir.PrintOptions{}))
				}
				got, err := run(q, "main", 1000, c)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("seed %d c=%d: after %s: %v\n got %q\nwant %q\n%s\n%s", seed, c, pass.Name, err, got, want,
						ir.Print(p, ir.PrintOptions{}), ir.Print(q, ir.PrintOptions{}))
				}
			}
		}
		q, ds := Run(&Context{}, p, front, Hooks{After: check})
		if ds.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, ds, ir.Print(p, ir.PrintOptions{}))
		}
		for _, pass := range front {
			again, err := pass.Run(&Context{}, q)
			if err != nil {
				t.Fatal(err)
			}
			if again != q && pass != simplify {
				t.Fatalf("seed %d: %s changes its own result\n%s\n%s", seed, pass.Name, ir.Print(q, ir.PrintOptions{}), ir.Print(again, ir.PrintOptions{}))
			}
		}
	}
}
