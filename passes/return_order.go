package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// NormalizeReturnOrder makes the binding of results a lookup (mission document 000, "Design Principle" and "Output Aliasing").
//
//   - In kernels and wrappers every returned tensor that is a parameter with new contents becomes that parameter itself: copies, stores, loops, branches
//     and calls in between are traced here and nowhere else. A wrapper that forwards a tuple returns its elements, when it declares as many results.
//   - Kernels return their outputs in the order of their Out and InOut parameters, when the results are exactly these; every caller's element reads
//     follow, calls and submits alike. The TaskId stays last.
//   - An external kernel has no body: its results are its output parameters, in order.
//
// Afterwards the return map of a function is read off its return statement by pointer comparison.
var returnOrder = &Pass{
	Name:     "NormalizeReturnOrder",
	Doc:      "return output parameters by identity and in parameter order",
	Requires: []ir.Property{ir.SSAForm, ir.SplitIncoreOrch},
	Produces: []ir.Property{ir.ReturnParamsExplicit},
	Run:      runReturnOrder,
}

func runReturnOrder(ctx *Context, p *ir.Program) (*ir.Program, error) {
	r := &returnPass{ctx: ctx, calls: newCallTable(ctx, p), perm: map[string][]int{}}
	for _, f := range calleeFirst(p, r.calls) {
		g := f
		if len(r.perm) > 0 {
			g = r.callers(g)
		}
		if g.Type.IsKernel() || g.Type.IsWrapper() {
			if n := r.canonical(g); n != g {
				g = dropBindings(n)
			}
			if g.Type.IsKernel() {
				g = r.permute(g)
			}
		}
		if g != f {
			r.calls.set(g)
		}
	}
	return mapFuncs(p, func(f *ir.Function) *ir.Function { return r.calls.byName[f.Name] }), nil
}

type returnPass struct {
	ctx   *Context
	calls *callTable
	// perm maps old to new result positions of the kernels whose results were reordered.
	perm map[string][]int
}

// canonical replaces returned values by the parameters that they are.
func (r *returnPass) canonical(f *ir.Function) *ir.Function {
	if f.External != nil {
		return r.external(f)
	}
	ret := trailingReturn(f.Body)
	if ret == nil {
		for _, t := range f.Returns {
			if ir.IsTensor(t) {
				r.ctx.Report(diag.Errorf(codeNoReturn, f.Pos, "function '%s' declares a tensor result but has no ReturnStmt (ReturnParamsExplicit)", f.Name).
					WithHint("end it with `return` of the tensors it writes"))
				break
			}
		}
		return f
	}
	var s *storage
	values := ret.Values
	changed := false
	if len(values) == 1 && isTuple(values[0].Type()) {
		if x, ok := values[0].(*ir.Var); ok {
			s = newStorage(r.calls, f)
			elems := x.Typ.(*ir.TupleType).Elems
			if known := s.tupleElems(x); len(known) == len(elems) && (f.Returns == nil || len(f.Returns) == len(elems)) && !slices.Contains(known, nil) {
				values, changed = slices.Clone(known), true
			}
		}
	}
	out := slices.Clone(values)
	for i, v := range values {
		x, ok := v.(*ir.Var)
		if !ok || !isStorage(x.Typ) || f.Param(x) >= 0 {
			continue
		}
		if s == nil {
			s = newStorage(r.calls, f)
		}
		if h := s.handle(x); s.origins[h].kind == isParam {
			out[i], changed = h, true
		}
	}
	if !changed {
		return f
	}
	n := *ret
	n.Values = out
	g := *f
	g.Body = replaceReturn(f.Body, []ir.Stmt{&n})
	return &g
}

// dropBindings removes names for results of calls that nothing reads since the return names parameters. A parameter that a call was given to write
// is then returned, not read again.
func dropBindings(f *ir.Function) *ir.Function {
	uses := map[*ir.Var]int{}
	count := func(s ir.Stmt, n int) {
		ir.Exprs(s, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok {
				uses[v] += n
			}
			return true
		})
	}
	ir.Inspect(f.Body, func(s ir.Stmt) bool { count(s, 1); return true })
	var block func(b ir.Block) ir.Block
	block = func(b ir.Block) ir.Block {
		out := make(ir.Block, 0, len(b))
		for _, s := range slices.Backward(b) { // readers come after what they read
			s = withBlocks(s, block)
			if a, ok := s.(*ir.Assign); ok && uses[a.Var] == 0 {
				switch x := a.Value.(type) {
				case *ir.Call:
					s = &ir.Eval{X: x, Comments: a.Comments, Pos: a.Pos}
				case *ir.Var, *ir.TupleGet, *ir.MakeTuple:
					count(s, -1)
					continue
				}
			}
			out = append(out, s)
		}
		slices.Reverse(out)
		return out
	}
	g := *f
	g.Body = block(f.Body)
	return &g
}

// external checks a hand-written kernel: it has no return to read, so its results have to be its outputs, one by one.
func (r *returnPass) external(f *ir.Function) *ir.Function {
	outs := 0
	for _, p := range f.Params {
		if p.Dir != ir.In {
			outs++
		}
	}
	if len(f.Returns) > 0 && len(f.Returns) != outs {
		r.ctx.Report(diag.Errorf(codeReturnExternal, f.Pos, "cannot map return of callee '%s': it declares %d result(s) and %d output parameter(s) (ReturnParamsExplicit)", f.Name, len(f.Returns), outs).
			WithHint("declare one result for each pl.Out and pl.InOut parameter, in their order, or none"))
	}
	return f
}

// permute brings the results of a kernel into parameter order. It does nothing unless the results are exactly the output parameters.
func (r *returnPass) permute(f *ir.Function) *ir.Function {
	ret := trailingReturn(f.Body)
	if ret == nil || len(ret.Values) < 2 {
		return f
	}
	at := make([]int, len(ret.Values)) // result → parameter
	for i, v := range ret.Values {
		x, _ := v.(*ir.Var)
		if at[i] = f.Param(x); at[i] < 0 || slices.Contains(at[:i], at[i]) {
			return f
		}
	}
	outs := 0
	for _, p := range f.Params {
		if p.Dir != ir.In {
			outs++
		}
	}
	if outs > len(at) || slices.IsSorted(at) {
		return f
	}
	order := make([]int, len(at)) // new position → old position
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return at[a] - at[b] })
	perm := make([]int, len(at))
	n := *ret
	n.Values = make([]ir.Expr, len(at))
	g := *f
	g.Returns = slices.Clone(f.Returns)
	for to, from := range order {
		perm[from] = to
		n.Values[to] = ret.Values[from]
		if len(f.Returns) == len(at) {
			g.Returns[to] = f.Returns[from]
		}
	}
	g.Body = replaceReturn(f.Body, []ir.Stmt{&n})
	r.perm[f.Name] = perm
	r.ctx.Note(f.Pos, fmt.Sprintf("results of %s reordered to follow its output parameters", f.Name))
	return &g
}

// callers renumbers the element reads of reordered results in one function.
func (r *returnPass) callers(f *ir.Function) *ir.Function {
	moved := map[*ir.Var][]int{} // tuple Var → permutation
	retyped := map[*ir.Var]*ir.Var{}
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok {
			switch e := a.Value.(type) {
			case *ir.Call:
				if p := r.perm[e.Callee]; p != nil && isTuple(e.Typ) {
					moved[a.Var] = p
				}
			case *ir.Var:
				if p := moved[e]; p != nil {
					moved[a.Var] = p
				}
			}
		}
		return true
	})
	if len(moved) == 0 {
		return f
	}
	f = unpackForwarded(f, moved)
	rw := &ir.Rewriter{
		Var: func(v *ir.Var) *ir.Var {
			p := moved[v]
			if p == nil {
				return nil
			}
			n := retyped[v]
			if n == nil {
				n = &ir.Var{Hint: v.Hint, Typ: permuted(v.Typ, p), Pos: v.Pos, Dyn: v.Dyn}
				retyped[v], retyped[n] = n, n
				moved[n] = p
			}
			return n
		},
		Expr: func(e ir.Expr) ir.Expr {
			switch e := e.(type) {
			case *ir.TupleGet:
				if v, ok := e.X.(*ir.Var); ok {
					if p := moved[v]; p != nil && e.Index < len(p) {
						c := *e
						c.Index = p[e.Index]
						return &c
					}
				}
			case *ir.Call:
				if p := r.perm[e.Callee]; p != nil && isTuple(e.Typ) {
					c := *e
					c.Typ = permuted(e.Typ, p)
					return &c
				}
			}
			return e
		},
	}
	g := *f
	g.Body = rw.Block(f.Body)
	return &g
}

// permuted reorders the elements of a tuple type; elements beyond the permutation (a submit's TaskId) stay.
func permuted(t ir.Type, perm []int) ir.Type {
	tt, ok := t.(*ir.TupleType)
	if !ok || len(tt.Elems) < len(perm) {
		return t
	}
	elems := slices.Clone(tt.Elems)
	for from, to := range perm {
		elems[to] = tt.Elems[from]
	}
	return &ir.TupleType{Elems: elems}
}

// unpackForwarded spells out the return of a whole reordered tuple, so that the function's own results keep their order.
func unpackForwarded(f *ir.Function, moved map[*ir.Var][]int) *ir.Function {
	ret := trailingReturn(f.Body)
	if ret == nil || len(ret.Values) != 1 {
		return f
	}
	x, ok := ret.Values[0].(*ir.Var)
	if !ok || moved[x] == nil {
		return f
	}
	elems := x.Typ.(*ir.TupleType).Elems
	if f.Returns != nil && len(f.Returns) != len(elems) {
		return f
	}
	n := *ret
	n.Values = make([]ir.Expr, len(elems))
	var stmts []ir.Stmt
	for i, t := range elems {
		v := &ir.Var{Hint: fmt.Sprintf("ret%d__tmp_v0", i), Typ: t, Pos: ret.Pos}
		stmts = append(stmts, &ir.Assign{Var: v, Value: &ir.TupleGet{X: x, Index: i, Pos: ret.Pos}, Pos: ret.Pos})
		n.Values[i] = v
	}
	g := *f
	g.Body = replaceReturn(f.Body, append(stmts, &n))
	return &g
}
