package client_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/kernels"
)

// Whatever a plugin's pass makes of a program, nothing panics, and what a later step cannot take is told as the plugin's fault.
func TestSpoiledPrograms(t *testing.T) {
	names, progs := examples(t)
	refused, fine := 0, 0
	ctx := &passes.Context{Ops: ops.Builtin()}
	lowering := func(p *ir.Program) (ds diag.List) {
		for _, f := range p.Funcs {
			if f.Type == ir.Orchestration {
				_, more := lower.Lower(p, f, ops.Builtin(), lower.Options{})
				ds.Add(more...)
			}
		}
		return ds
	}
	for i, p := range progs {
		for seed := range uint64(60) {
			random := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }
			pipeline := passes.Default()
			spoil := &passes.Pass{Name: "acme.Spoil", Plugin: "acme", Run: func(_ *passes.Context, p *ir.Program) (*ir.Program, error) { return spoiled(p, random()), nil }}
			pipeline = slices.Insert(pipeline, random().IntN(len(pipeline)+1), spoil)
			out, ds := passes.Run(ctx, p, pipeline, passes.Hooks{})
			if !ds.HasErrors() {
				ds = passes.Blame(ctx, p, pipeline, passes.Hooks{}, lowering(out), lowering)
				k := kernels.New(out, ops.Builtin())
				for _, f := range out.Funcs {
					if err := k.Check(f.Name); f.Type.IsKernel() && err != nil && strings.Contains(err.Error(), "internal error") {
						t.Errorf("%s %d: %v", names[i], seed, err)
					}
				}
			}
			switch {
			case !ds.HasErrors():
				fine++
			case !strings.HasPrefix(ds[0].Message, "pass acme.Spoil of plugin acme broke "):
				t.Errorf("%s %d: %v", names[i], seed, ds)
			default:
				refused++
			}
		}
	}
	if refused == 0 || fine == 0 {
		t.Errorf("%d were refused, %d not", refused, fine)
	}
}

// spoiled is a program with something of it replaced by something else of it.
func spoiled(p *ir.Program, r *rand.Rand) *ir.Program {
	var exprs []ir.Expr
	var types []ir.Type
	var stmts []ir.Stmt
	for _, f := range p.Funcs {
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			stmts = append(stmts, s)
			ir.Exprs(s, func(e ir.Expr) bool {
				exprs, types = append(exprs, e), append(types, e.Type())
				return true
			})
			return true
		})
	}
	if len(exprs) == 0 {
		return p
	}
	pick := func() ir.Expr { return exprs[r.IntN(len(exprs))] }
	out := &ir.Program{Name: p.Name, Pos: p.Pos}
	chance := len(exprs)/2 + 1
	rw := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		if r.IntN(chance) > 0 {
			return e
		}
		switch c := e.(type) {
		case *ir.OpCall:
			n := *c
			n.Args = append([]ir.Expr{}, c.Args...)
			switch r.IntN(5) {
			case 0:
				n.Args = n.Args[:r.IntN(len(n.Args)+1)]
			case 1:
				n.Args = append(n.Args, pick())
			case 2:
				if len(n.Args) > 0 {
					n.Args[r.IntN(len(n.Args))] = pick()
				}
			case 3:
				n.Typ = types[r.IntN(len(types))]
			case 4:
				if o, ok := pick().(*ir.OpCall); ok {
					n.Op = o.Op
				}
			}
			return &n
		case *ir.Call:
			n := *c
			n.Args = append([]ir.Expr{}, c.Args...)
			switch r.IntN(4) {
			case 0:
				n.Args = n.Args[:r.IntN(len(n.Args)+1)]
			case 1:
				n.Args = append(n.Args, pick())
			case 2:
				n.Typ = types[r.IntN(len(types))]
			case 3:
				n.Callee = p.Funcs[r.IntN(len(p.Funcs))].Name
			}
			return &n
		case *ir.MakeTuple:
			return &ir.MakeTuple{Elems: c.Elems[:r.IntN(len(c.Elems)+1)], Pos: c.Pos}
		}
		return pick()
	}}
	for _, f := range p.Funcs {
		g := *f
		g.Body = rw.Block(f.Body)
		switch r.IntN(30) {
		case 0:
			g.Body = append(g.Body[:len(g.Body):len(g.Body)], stmts[r.IntN(len(stmts))])
		case 1:
			g.Body = append(ir.Block{stmts[r.IntN(len(stmts))]}, g.Body...)
		case 2:
			g.Type = p.Funcs[r.IntN(len(p.Funcs))].Type
		case 3:
			if len(g.Params) > 0 {
				g.Params = g.Params[:len(g.Params)-1]
			}
		case 4:
			g.Returns = nil
		}
		out.Funcs = append(out.Funcs, &g)
	}
	return out
}
