package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// The half of KernelABI that adapts launches to their kernels.

// caller adapts the launches in a function that is no kernel, and the function itself when it is a wrapper.
func (k *abiPass) caller(f *ir.Function) {
	g := *f
	c := &abiCaller{abiPass: k, f: &g, wrapper: f.Type.IsWrapper(), buffers: 0}
	g.Body = c.block(f.Body)
	if c.wrapper {
		up := k.upgrade(&g, true)
		k.calls.set(up)
		return
	}
	if !sameBlock(g.Body, f.Body) {
		k.calls.set(&g)
	}
}

type abiCaller struct {
	*abiPass
	f       *ir.Function
	wrapper bool
	buffers int // pipe buffers made
}

func (c *abiCaller) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		call := callOf(s)
		if call == nil {
			n := withBlocks(s, c.block)
			return []ir.Stmt{n}, n != s
		}
		added := c.added[call.Callee]
		if len(added) == 0 {
			return nil, false
		}
		pre, n := c.launch(call, added)
		if len(pre) > 0 || n != call {
			return append(pre, withValue(s, n)), true
		}
		return nil, false
	})
}

// launch appends arguments for the outputs that were added to the callee, and gives the statements that make them.
func (c *abiCaller) launch(call *ir.Call, added []addedParam) ([]ir.Stmt, *ir.Call) {
	callee := c.calls.byName[call.Callee]
	var pre []ir.Stmt
	n := *call
	n.Args = slices.Clone(call.Args)
	dims := callee.Bind(call.Args)
	if len(call.Args) < c.was[call.Callee] {
		if !slices.ContainsFunc(added, func(a addedParam) bool { return a.pipe > 0 }) {
			return nil, call // trailing outputs are left to the runtime, so are these
		}
		// The pipe buffer has to be passed, so everything before it has to be as well.
		for i := len(call.Args); i < c.was[call.Callee]; i++ {
			p := callee.Params[i]
			t, ok := p.Var.Typ.(*ir.TensorType)
			if !ok || p.Dir != ir.Out {
				return nil, call // reported where the arguments are checked
			}
			pre, n.Args = c.provide(pre, n.Args, call, addedParam{hint: ir.BaseName(p.Var.Hint), typ: t}, dims)
		}
	}
	if cores := call.Launch.CoreNum; cores != nil && !c.wrapper && hasCall(cores) && slices.ContainsFunc(added, func(a addedParam) bool { return a.pipe > 0 }) {
		// The count is asked once, for the buffer and the launch alike.
		v := &ir.Var{Hint: "cores", Typ: cores.Type(), Pos: cores.Span()}
		pre = append(pre, &ir.Assign{Var: v, Value: cores, Pos: call.Pos})
		n.Launch.CoreNum = v
	}
	for _, a := range added {
		pre, n.Args = c.provide(pre, n.Args, &n, a, dims)
	}
	return pre, &n
}

// provide adds one argument: a forwarded parameter of a wrapper, or a buffer made on the spot.
func (c *abiCaller) provide(pre []ir.Stmt, args []ir.Expr, call *ir.Call, a addedParam, dims map[*ir.Var]ir.Expr) ([]ir.Stmt, []ir.Expr) {
	shape, unknown := substDims(a.typ.Shape, dims, c.calls.byName[call.Callee])
	if unknown != nil {
		c.ctx.Report(diag.Errorf(codeReturnShape, call.Pos, "kernel '%s' returns a tensor whose shape depends on '%s', which its caller does not know", call.Callee, ir.BaseName(unknown.Hint)).
			WithHint("pass an output tensor to the kernel as pl.Out and return that"))
	}
	t := *a.typ
	t.Shape = shape
	if a.pipe > 0 {
		t = *pipeType(call.Pos)
	}
	if c.wrapper {
		p := &ir.Var{Hint: a.hint, Typ: &t, Pos: call.Pos}
		c.f.Params = append(slices.Clip(c.f.Params), ir.Param{Var: p, Dir: ir.Out})
		c.added[c.f.Name] = append(c.added[c.f.Name], addedParam{a.hint, &t, a.pipe})
		return pre, append(args, p)
	}
	kw := ir.Kwargs{{Name: "dtype", Value: t.DType}}
	v := &ir.Var{Hint: a.hint, Typ: &t, Pos: call.Pos}
	if a.pipe > 0 {
		v.Hint = fmt.Sprintf(pipeBuffer, c.buffers)
		c.buffers++
		kw = append(kw, ir.Kwarg{Name: "manual_dep", Value: true})
		t.Shape = []ir.Expr{ir.Int(a.pipe)}
		if n := call.Launch.CoreNum; n != nil {
			t.Shape = []ir.Expr{blocksTimes(n, a.pipe)}
		}
	}
	create := &ir.OpCall{Op: "tensor.create", Args: []ir.Expr{&ir.MakeTuple{Elems: t.Shape, Pos: call.Pos}}, Kwargs: kw, Typ: &t, Pos: call.Pos}
	return append(pre, &ir.Assign{Var: v, Value: create, Pos: call.Pos}), append(args, v)
}

// blocksTimes is n * size.
func blocksTimes(n ir.Expr, size int64) ir.Expr {
	if v, ok := ir.IntValue(n); ok {
		return ir.Int(v * size)
	}
	if ir.ElemDType(n.Type()) != ir.INDEX {
		n = &ir.Cast{X: n, DType: ir.INDEX, Pos: n.Span()}
	}
	return &ir.Binary{Op: ir.Mul, X: n, Y: ir.Int(size), DType: ir.INDEX, Pos: n.Span()}
}

// hasCall reports an op or function call inside an expression.
func hasCall(e ir.Expr) bool {
	found := false
	ir.Walk(e, func(e ir.Expr) bool {
		switch e.(type) {
		case *ir.OpCall, *ir.Call:
			found = true
		}
		return !found
	})
	return found
}

// substDims rewrites extents into the caller's terms; unknown is a Var of the callee that the caller cannot name.
func substDims(shape []ir.Expr, dims map[*ir.Var]ir.Expr, callee *ir.Function) (out []ir.Expr, unknown *ir.Var) {
	rw := &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		v, ok := e.(*ir.Var)
		if !ok {
			return e
		}
		if x := dims[v]; x != nil {
			return x
		}
		if !v.Dyn {
			unknown = v
		}
		return e
	}}
	out, _ = rw.List(shape)
	return out, unknown
}

// checkEntry warns about entry parameters that are written although declared as inputs.
func (k *abiPass) checkEntry(f *ir.Function) {
	uses := k.calls.paramUses(f)
	for i, p := range f.Params {
		if p.Dir == ir.In && uses[i].writes && ir.IsTensor(p.Var.Typ) {
			at := p.Var.Pos
			if !at.IsValid() {
				at = f.Pos
			}
			k.ctx.Report(diag.Warningf(codeWrittenInput, at, "parameter '%s' of '%s' is written but declared as an input: the caller will not see its new contents", ir.BaseName(p.Var.Hint), f.Name).
				WithHint("annotate it pl.Out[...] or pl.InOut[...]"))
		}
	}
}
