package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// The part of OutlineIncoreScopes about scalar results. A task gives its launcher no scalars: it runs later. But a result that is arithmetic on the kernel's own scalar
// arguments, such as the offset of the next block, is known without running anything: the launcher computes it itself, and the kernel returns only
// tensors (dsl-ir.md, reports 631 and 1625). Anything else is an error.

// scalarPass takes the scalars out of the results of kernels.
type scalarPass struct {
	ctx     *Context
	calls   *callTable
	scalars map[string][]scalarResult
}

// settleScalarResults leaves kernels that return only tensors, and launchers that compute the scalars. It comes before outlining, so that the scalar of a
// launch inside a block is one that the block can hand on.
func settleScalarResults(ctx *Context, p *ir.Program) *ir.Program {
	k := &scalarPass{ctx: ctx, calls: newCallTable(ctx, p), scalars: map[string][]scalarResult{}}
	for _, f := range calleeFirst(p, k.calls) {
		g := k.withoutScalars(f)
		if f.Type.IsKernel() && f.External == nil {
			g = k.scalarResults(g)
		}
		k.calls.set(g)
	}
	return mapFuncs(p, func(f *ir.Function) *ir.Function { return k.calls.byName[f.Name] })
}

// scalarResult is result i of a function as an expression over its parameters.
type scalarResult struct {
	index int
	value ir.Expr
}

// scalarResults takes the scalars out of the results of a function, and notes how to compute them.
func (k *scalarPass) scalarResults(f *ir.Function) *ir.Function {
	ret := trailingReturn(f.Body)
	if ret == nil || len(ret.Values) != len(f.Returns) {
		return f
	}
	var defs map[*ir.Var]ir.Expr
	var found []scalarResult
	r := *ret
	g := *f
	r.Values, g.Returns = nil, nil
	for i, v := range ret.Values {
		if !isScalar(v.Type()) || ir.IsTaskID(v.Type()) {
			r.Values, g.Returns = append(r.Values, v), append(g.Returns, f.Returns[i])
			continue
		}
		if defs == nil {
			defs = scalarDefs(f.Body)
		}
		e := closedForm(v, defs, f)
		if e == nil {
			k.ctx.Report(diag.Errorf(codeScalarReturn, ret.Pos, "kernel '%s' returns a scalar that is known only when it runs, but a task gives its launcher only tensors", f.Name).
				WithHint("store it to a tensor that the kernel takes as pl.Out, and read it with pl.read"))
			e = ir.Int(0)
		}
		found = append(found, scalarResult{i, e})
	}
	if len(found) == 0 {
		return f
	}
	k.scalars[f.Name] = found
	k.ctx.Note(f.Pos, fmt.Sprintf("kernel %s returns %d scalar(s) computed from its arguments: its launchers compute them", f.Name, len(found)))
	if len(r.Values) == 0 {
		g.Body = replaceReturn(f.Body, nil)
	} else {
		g.Body = replaceReturn(f.Body, []ir.Stmt{&r})
	}
	return &g
}

// scalarDefs finds the scalars that a body computes outside of loops and branches.
func scalarDefs(b ir.Block) map[*ir.Var]ir.Expr {
	defs := map[*ir.Var]ir.Expr{}
	ir.Inspect(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			if isScalar(s.Var.Typ) {
				defs[s.Var] = s.Value
			}
		case *ir.If, *ir.For, *ir.While:
			return false
		}
		return true
	})
	return defs
}

// closedForm is e over the parameters of f alone, nil when it needs more than arithmetic.
func closedForm(e ir.Expr, defs map[*ir.Var]ir.Expr, f *ir.Function) ir.Expr {
	ok := true
	depth := 0
	var rw *ir.Rewriter
	rw = &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		switch v := e.(type) {
		case *ir.Var:
			if f.Param(v) >= 0 || v.Dyn {
				return e
			}
			if d := defs[v]; d != nil && depth < 64 {
				depth++
				x := rw.Rewrite(d)
				depth--
				return x
			}
			ok = false
		case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool, *ir.Binary, *ir.Unary, *ir.Cast:
		default:
			ok = false
		}
		return e
	}}
	if x := rw.Rewrite(e); ok {
		return x
	}
	return nil
}

// withoutScalars adapts the launches of functions whose scalar results went.
func (k *scalarPass) withoutScalars(f *ir.Function) *ir.Function {
	if len(k.scalars) == 0 {
		return f
	}
	w := &scalarCaller{scalarPass: k, tuples: map[*ir.Var]*splitTuple{}}
	body := w.block(f.Body)
	if sameBlock(body, f.Body) {
		return f
	}
	g := *f
	g.Body = body
	return &g
}

type scalarCaller struct {
	*scalarPass
	tuples map[*ir.Var]*splitTuple
}

// splitTuple is the result of a launch that had scalars among its results.
type splitTuple struct {
	v       *ir.Var // what is left; nil when nothing is
	scalars map[int]ir.Expr
	index   map[int]int // result before → element of v, -1 when v is that result itself
}

func (w *scalarCaller) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if c := callOf(s); c != nil && len(w.scalars[c.Callee]) > 0 {
			return w.launch(s, c), true
		}
		if a, ok := s.(*ir.Assign); ok {
			if get, ok := a.Value.(*ir.TupleGet); ok {
				if v, ok := get.X.(*ir.Var); ok && w.tuples[v] != nil {
					return []ir.Stmt{withValue(a, w.tuples[v].get(get))}, true
				}
			}
		}
		n := withBlocks(s, w.block)
		return []ir.Stmt{n}, n != s
	})
}

func (t *splitTuple) get(g *ir.TupleGet) ir.Expr {
	if e := t.scalars[g.Index]; e != nil {
		return e
	}
	i := t.index[g.Index]
	if i < 0 {
		return t.v
	}
	c := *g
	c.X, c.Index = t.v, i
	return &c
}

// launch drops the scalars from the type of a launch.
func (w *scalarCaller) launch(s ir.Stmt, c *ir.Call) []ir.Stmt {
	t := &splitTuple{scalars: map[int]ir.Expr{}, index: map[int]int{}}
	callee := w.calls.byName[c.Callee]
	args := callee.Bind(c.Args)
	rw := &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		if v, ok := e.(*ir.Var); ok && args[v] != nil {
			return args[v]
		}
		return e
	}}
	for _, x := range w.scalars[c.Callee] {
		t.scalars[x.index] = rw.Rewrite(x.value)
	}
	n := *c
	tuple, isTuple := c.Typ.(*ir.TupleType)
	a, assigned := s.(*ir.Assign)
	if !isTuple { // the scalar is all there is
		n.Typ = &ir.TupleType{}
		out := []ir.Stmt{&ir.Eval{X: &n, Pos: s.Span()}}
		if assigned {
			out = append(out, &ir.Assign{Var: a.Var, Value: t.scalars[0], Pos: a.Pos})
		}
		return out
	}
	var left []ir.Type
	for i, e := range tuple.Elems {
		if t.scalars[i] == nil {
			t.index[i] = len(left)
			left = append(left, e)
		}
	}
	n.Typ = &ir.TupleType{Elems: left}
	if len(left) == 1 && !c.Submit {
		n.Typ = left[0]
		for i := range t.index {
			t.index[i] = -1
		}
	}
	if !assigned {
		return []ir.Stmt{withValue(s, &n)}
	}
	w.tuples[a.Var] = t
	if len(left) == 0 {
		return []ir.Stmt{&ir.Eval{X: &n, Comments: slices.Clone(a.Comments), Pos: a.Pos}}
	}
	t.v = &ir.Var{Hint: a.Var.Hint, Typ: n.Typ, Pos: a.Var.Pos}
	d := *a
	d.Var, d.Value = t.v, &n
	return []ir.Stmt{&d}
}
