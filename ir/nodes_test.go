package ir_test

import (
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	. "github.com/ptobuild/ptobuild/ir/irtest"
)

func TestParseName(t *testing.T) {
	for _, tt := range []struct {
		hint, base, role string
		version          int
	}{
		{"x", "x", "", -1}, {"x__ssa_v0", "x", "ssa", 0}, {"acc__rm__iter_v12", "acc", "iter", 12}, {"ret0__out", "ret0", "out", -1},
		{"x__ssa_v01", "x", "", -1}, {"x__ssa_v+1", "x", "", -1}, {"x_v3", "x_v3", "", -1}, {"x__tmp_v", "x", "", -1},
	} {
		n := ir.ParseName(tt.hint)
		if n.Base != tt.base || n.Role != tt.role || n.Version != tt.version {
			t.Errorf("%s: %+v", tt.hint, n)
		}
		if n.String() != tt.hint {
			t.Errorf("%s prints as %s", tt.hint, n)
		}
	}
}

func TestDTypes(t *testing.T) {
	names := ir.DTypeNames()
	if len(names) != 23 {
		t.Errorf("%d dtypes", len(names))
	}
	for _, name := range names {
		d, ok := ir.DTypeNamed(name)
		if !ok || d.Name() != name || !d.IsValid() || d.Bits() == 0 || ir.Scalar(d).DType != d {
			t.Errorf("%s", name)
		}
	}
	if ir.NoDType.IsValid() || ir.NoDType.String() != "no dtype" {
		t.Error("NoDType is a dtype")
	}
}

// TestWalkFindsEveryVar: expressions in all places are visited, those in types by WalkType.
func TestWalkFindsEveryVar(t *testing.T) {
	var want, got []*ir.Var
	v := func() *ir.Var {
		x := Index("v")
		want = append(want, x)
		return x
	}
	see := func(e ir.Expr) bool {
		if x, ok := e.(*ir.Var); ok {
			got = append(got, x)
		}
		return true
	}
	call := &ir.Call{Callee: "k", Submit: true, Args: []ir.Expr{v()}, Launch: ir.Launch{Deps: []ir.Expr{v()}, CoreNum: v(), Predicate: v(), Dumps: []ir.Expr{v()}},
		CompilerDeps: []*ir.Var{v()}, Device: v(), Attrs: ir.Attrs{{Key: "a", Value: v()}}}
	ir.Walk(call, see)
	op := &ir.OpCall{Args: []ir.Expr{v()}, Kwargs: ir.Kwargs{{Name: "k", Value: []ir.Expr{v()}}}, Deps: []ir.Expr{v()}, Attrs: ir.Attrs{{Key: "a", Value: v()}}}
	ir.Walk(op, see)
	ir.Exprs(&ir.For{Start: v(), Stop: v(), Step: v(), Carries: []ir.Carry{{Init: v()}}, Attrs: ir.Attrs{{Key: "a", Value: v()}}}, see)
	ir.Exprs(&ir.Scope{Launch: ir.Launch{Deps: []ir.Expr{v()}}, NoDep: []ir.Expr{v()}, Attrs: ir.Attrs{{Key: "a", Value: v()}}}, see)
	ir.WalkType(&ir.TupleType{Elems: []ir.Type{
		&ir.TensorType{Shape: []ir.Expr{v()}, View: &ir.TensorView{ValidShape: []ir.Expr{v()}, Stride: []ir.Expr{v()}}, MemRef: &ir.MemRef{Base: v(), ByteOffset: v(), Slot: v()}},
		&ir.TileType{Shape: []ir.Expr{v()}, View: &ir.TileView{ValidShape: []ir.Expr{v()}, Stride: []ir.Expr{v()}, StartOffset: v()}},
	}}, see)
	ir.WalkType(nil, see)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d variables found, or in another order", len(got), len(want))
	}
}

// TestRewriterReachesEveryVar: mapping every Var to a copy leaves none of the old ones, and an Equal program.
func TestRewriterReachesEveryVar(t *testing.T) {
	programs(func(name string, p *ir.Program) {
		copies := map[*ir.Var]*ir.Var{}
		var r ir.Rewriter
		r.Var = func(v *ir.Var) *ir.Var {
			c, ok := copies[v]
			if !ok {
				c = &ir.Var{Hint: v.Hint, Dyn: v.Dyn, Pos: v.Pos}
				copies[v] = c
				c.Typ = r.Type(v.Typ)
			}
			return c
		}
		q := &ir.Program{Name: p.Name}
		for _, f := range p.Funcs {
			g := *f
			g.Params = slices.Clone(f.Params)
			for i := range g.Params {
				g.Params[i].Var = r.NewVar(g.Params[i].Var)
			}
			g.Returns = nil
			for _, t := range f.Returns {
				g.Returns = append(g.Returns, r.Type(t))
			}
			g.Attrs = nil
			for _, a := range f.Attrs {
				switch v := a.Value.(type) {
				case ir.Expr:
					a.Value = r.Rewrite(v)
				case []ir.Expr:
					a.Value, _ = r.List(v)
				}
				g.Attrs = append(g.Attrs, a)
			}
			g.Body = r.Block(f.Body)
			q.Funcs = append(q.Funcs, &g)
		}
		if d := ir.Diff(p, q); d != "" {
			t.Fatalf("%s: %s", name, d)
		}
		left := func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && copies[v] != nil {
				t.Fatalf("%s: a variable was not replaced", name)
			}
			return true
		}
		for _, f := range q.Funcs {
			ir.Inspect(f.Body, func(s ir.Stmt) bool {
				ir.Exprs(s, left)
				for _, v := range ir.Defs(s) {
					left(v)
					ir.WalkType(v.Typ, left)
				}
				return true
			})
		}
	})
}

func TestEffectiveViews(t *testing.T) {
	for _, tt := range []struct {
		t    *ir.TileType
		want string
	}{
		{&ir.TileType{Shape: Dims(16, 1)}, "col_major none_box 512"},
		{&ir.TileType{Shape: Dims(1, 1)}, "row_major none_box 512"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.Vec}, "row_major none_box 512"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.Left}, "col_major row_major 512"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.Right}, "row_major col_major 512"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.Acc}, "col_major row_major 1024"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.LeftScale}, "row_major row_major 32"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.RightScale}, "col_major col_major 32"},
		{&ir.TileType{Shape: Dims(16, 16), Mem: ir.Acc, View: &ir.TileView{Fractal: 512}}, "col_major row_major 512"},
	} {
		v := ir.EffectiveTileView(tt.t)
		if got := v.BLayout + " " + v.SLayout + " " + ir.PrintExpr(ir.Int(v.Fractal)); got != tt.want {
			t.Errorf("%s: %s, want %s", ir.PrintType(tt.t), got, tt.want)
		}
	}
}
