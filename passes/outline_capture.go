package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// What an outlined block takes from outside, and what of it a kernel can take.

// bodyUse is what a block defines and what it takes from outside.
type bodyUse struct {
	inner    map[*ir.Var]bool
	defined  []*ir.Var // in order
	captured []*ir.Var // in first-read order, without dimension symbols
	dyns     []*ir.Var // dimension symbols that it computes with
}

// capture walks a block in program order.
func (o *outliner) capture(body ir.Block, sc *ir.Scope) (bodyUse, bool) {
	u := bodyUse{inner: map[*ir.Var]bool{}}
	innerDefs(body, func(v *ir.Var) { u.inner[v] = true })
	ok := true
	seen := map[*ir.Var]bool{} // defined so far, or captured
	define := func(v *ir.Var) {
		seen[v] = true
		u.defined = append(u.defined, v)
	}
	read := func(e ir.Expr) bool {
		v, is := e.(*ir.Var)
		switch {
		case !is || seen[v]:
		case u.inner[v]:
			o.ctx.Report(diag.Errorf(codeRebound, sc.Pos, "internal error: a %s block rebinds the captured value '%s'", o.kind.what, ir.BaseName(v.Hint)))
			seen[v], ok = true, false
		case v.Dyn:
			seen[v] = true
			u.dyns = append(u.dyns, v)
		default:
			seen[v] = true
			u.captured = append(u.captured, v)
			ok = o.checkCapture(v, sc) && ok
		}
		return true
	}
	var walk func(ir.Block)
	walk = func(b ir.Block) {
		for _, s := range b {
			if w, is := s.(*ir.While); is {
				for _, c := range w.Carries {
					define(c.Iter) // the condition reads them
				}
			}
			ir.Exprs(s, read)
			if c := callOf(s); c != nil && c.Submit && o.kind.device {
				o.ctx.Report(diag.Errorf(codeTaskInBlock, s.Span(), "a %s block runs on a core and cannot submit tasks", o.kind.what).
					WithHint("move the pl.submit out of the block"))
				ok = false
			}
			if f, is := s.(*ir.For); is {
				define(f.Var)
				for _, c := range f.Carries {
					define(c.Iter)
				}
			}
			for _, n := range ir.Blocks(s) {
				walk(n)
			}
			for _, v := range ir.Defs(s) {
				define(v)
			}
		}
	}
	walk(body)
	return u, ok
}

// checkCapture reports captured values that no kernel can take.
func (o *outliner) checkCapture(v *ir.Var, sc *ir.Scope) bool {
	what := ""
	switch t := v.Typ.(type) {
	case *ir.TileType:
		o.ctx.Report(diag.Errorf(codeTileEscapes, sc.Pos, "tile '%s' is made outside this %s block but used in it", ir.BaseName(v.Hint), o.kind.what).
			WithRelated(v.Pos, "'%s' is made here", ir.BaseName(v.Hint)).
			WithHint("tiles live on one core: store it to a tensor with pl.store and load it again"))
		return false
	case *ir.ArrayType:
		what = "an array"
	case *ir.TupleType:
		what = "a tuple"
	case *ir.ScalarType:
		if t.DType == ir.TASK_ID {
			what = "a task id"
		}
	}
	if what == "" {
		return true
	}
	o.ctx.Report(diag.Errorf(codeBadCapture, sc.Pos, "this %s block uses '%s', which is %s and cannot be passed to a kernel", o.kind.what, ir.BaseName(v.Hint), what).
		WithHint("read what the block needs into a scalar before it, or use deps= for task ids"))
	return false
}

// typeScalars decides about scalars that stand in types. An axis of a captured tensor that is a plain scalar becomes a dimension symbol of the
// kernel; other scalars in types, and symbols that no captured tensor declares but the body computes with, become parameters.
func (o *outliner) typeScalars(use bodyUse, subst map[*ir.Var]*ir.Var) []*ir.Var {
	have := map[*ir.Var]bool{}
	for _, v := range use.captured {
		have[v] = true
	}
	for _, v := range use.captured {
		for _, d := range ir.ShapeOf(v.Typ) {
			x, ok := d.(*ir.Var)
			if !ok || have[x] {
				continue
			}
			have[x] = true
			if !x.Dyn {
				subst[x] = &ir.Var{Hint: ir.BaseName(x.Hint), Typ: ir.IndexType, Pos: x.Pos, Dyn: true}
			}
		}
	}
	var more []*ir.Var
	for _, d := range use.dyns {
		if !have[d] {
			have[d] = true
			subst[d] = &ir.Var{Hint: d.Hint, Pos: d.Pos}
			more = append(more, d)
		}
	}
	inTypes := func(v *ir.Var) {
		for _, d := range ir.ShapeOf(v.Typ) {
			ir.Walk(d, func(e ir.Expr) bool {
				if x, ok := e.(*ir.Var); ok && !x.Dyn && !have[x] && !use.inner[x] && isScalar(x.Typ) {
					have[x] = true
					more = append(more, x)
				}
				return true
			})
		}
	}
	for _, v := range use.captured {
		inTypes(v)
	}
	for _, v := range use.defined {
		inTypes(v)
	}
	return more
}

// recompute gives the definitions of a scalar that depends on nothing but captured values, so that the orchestration can compute it too. The
// kernel keeps its own copy.
func (o *outliner) recompute(v *ir.Var, inner, done map[*ir.Var]bool) ([]ir.Stmt, bool) {
	if done[v] {
		return nil, true
	}
	a := o.defs[v]
	if a == nil {
		return nil, false
	}
	can := true
	var out []ir.Stmt
	ir.Walk(a.Value, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Var:
			if inner[e] {
				stmts, ok := o.recompute(e, inner, done)
				out, can = append(out, stmts...), can && ok
			}
		case *ir.OpCall:
			spec := o.ctx.Ops.Lookup(e.Op)
			can = can && spec != nil && spec.Pure && spec.IsHost() && spec.Result.Kind == ops.Value
		case *ir.Call:
			can = false
		}
		return can
	})
	if !can {
		return nil, false
	}
	done[v] = true
	return append(out, a), true
}
