package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// KernelABI gives every kernel the shape that the runtime can launch, and adapts all callers. It is the call-site half of tile conversion and
// mixed-kernel expansion: kernel bodies keep their level (tensor or tile operations).
//
//   - A result that the kernel itself makes becomes an appended Out parameter ret{i}__out, stored to before the return. An orchestration creates the
//     buffer right before each launch and passes it; wrappers take and forward one; a submit that leaves trailing outputs to the runtime
//     leaves this one to it as well.
//   - A parameter declared In that the kernel writes becomes Out (only written) or InOut; wrappers follow. An entry parameter
//     declared In that ends up written is reported, because its new contents never reach the host.
//   - The core: matrix ops and cube memory spaces make a cube kernel (AIC), vector ops and Vec memory a vector kernel (AIV); neither means
//     AIV (mission document 000). A kernel that needs both becomes {f}_aic, {f}_aiv and a Group that keeps the name f, so that callers do not change. {f}_aic
//     holds the whole body and {f}_aiv only returns its outputs: whoever evaluates bodies runs every lane and gets each effect once. Both carry
//     Attrs mixed_of = f. Both vector lanes run (DualAIV).
//   - A mixed kernel that hands tiles from one core to the other needs a pipe buffer in global memory: a last Out parameter __gm_pipe_buffer, made by
//     each launching orchestration (gm_pipe_buffer_{n}, manual_dep), as large as the pipe times the number of blocks.
//   - A Group that only launches another Group takes over its kernels.
var kernelABI = &Pass{
	Name:     "KernelABI",
	Doc:      "settle kernel cores, outputs and directions, and adapt all launches",
	Requires: []ir.Property{ir.SSAForm, ir.SplitIncoreOrch},
	Run:      runKernelABI,
}

// Names that the reference's tools know (spec: passes-codegen 1.3).
const (
	pipeParam  = "__gm_pipe_buffer"
	pipeBuffer = "gm_pipe_buffer_%d"
	mixedOf    = "mixed_of"
)

// pipeSlots is how many tiles a pipe between the cores of a cluster holds when the program does not say: eight one way, four each way.
const pipeSlots = 8

// An addedParam is an output that KernelABI appended to a function.
type addedParam struct {
	hint string
	typ  *ir.TensorType // in the callee's terms
	pipe int64          // > 0: the pipe buffer, so many FP32 elements a block
}

type abiPass struct {
	ctx   *Context
	calls *callTable
	added map[string][]addedParam
	// was is the number of parameters before the pass, for submits that pass only some of them.
	was   map[string]int
	names *funcNames
	// parts are the new functions of a mixed kernel.
	parts map[string][]*ir.Function
}

func runKernelABI(ctx *Context, p *ir.Program) (*ir.Program, error) {
	k := &abiPass{ctx: ctx, calls: newCallTable(ctx, p), added: map[string][]addedParam{}, was: map[string]int{},
		names: &funcNames{taken: map[string]bool{}}, parts: map[string][]*ir.Function{}}
	for _, f := range p.Funcs {
		k.names.taken[f.Name] = true
		k.was[f.Name] = len(f.Params)
	}
	order := calleeFirst(p, k.calls)
	for _, f := range order {
		if f.Type.IsKernel() && f.External == nil {
			k.kernel(f)
		}
	}
	for _, f := range order {
		if !f.Type.IsKernel() {
			k.caller(f)
		}
	}
	for _, f := range order {
		if f.Type == ir.Group {
			k.flattenGroup(f.Name)
		}
	}
	for _, f := range order {
		if f.Type == ir.Orchestration {
			k.checkEntry(k.calls.byName[f.Name])
		}
	}
	return replaceFuncs(p, func(f *ir.Function) []*ir.Function {
		return append(k.parts[f.Name], k.calls.byName[f.Name])
	}), nil
}

// kernel settles one kernel.
func (k *abiPass) kernel(f *ir.Function) {
	g := k.returnedOutputs(f)
	k.calls.set(g)
	g = k.upgrade(g, false)
	k.calls.set(g)
	if g.Type != ir.InCore {
		return
	}
	need := k.need(g)
	switch {
	case g.Level == "AIC": // @pl.jit.incore(level=…) binds a kernel to a core
		k.setCore(g, ir.AIC)
	case g.Level == "AIV":
		k.setCore(g, ir.AIV)
	case need.cube && need.vector:
		k.split(g, need.pipe)
	case need.cube:
		k.setCore(g, ir.AIC)
	default:
		k.setCore(g, ir.AIV)
	}
}

// returnedOutputs appends an Out parameter for every result that is no parameter.
func (k *abiPass) returnedOutputs(f *ir.Function) *ir.Function {
	ret := trailingReturn(f.Body)
	if ret == nil {
		return f
	}
	var s *storage
	g := *f
	var stores []ir.Stmt
	values := slices.Clone(ret.Values)
	returns := slices.Clone(f.Returns)
	for i, v := range ret.Values {
		x, isVar := v.(*ir.Var)
		t := v.Type()
		if !isVar || !isStorage(t) {
			continue
		}
		if f.Param(x) >= 0 {
			continue
		}
		if s == nil {
			s = newStorage(k.calls, f)
		}
		if s.origins[s.handle(x)].kind == isParam {
			continue
		}
		shape := ir.ShapeOf(t)
		out := &ir.TensorType{Shape: shape, DType: ir.ElemDType(t)}
		if tt, ok := t.(*ir.TensorType); ok && tt.View != nil && tt.View.Layout != "" && len(tt.View.Stride) == 0 {
			out.View = &ir.TensorView{Layout: tt.View.Layout}
		}
		hint := fmt.Sprintf("ret%d__out", i)
		p := &ir.Var{Hint: hint, Typ: out, Pos: x.Pos}
		g.Params = append(slices.Clip(g.Params), ir.Param{Var: p, Dir: ir.Out})
		k.added[f.Name] = append(k.added[f.Name], addedParam{hint: hint, typ: out})
		offsets := &ir.MakeTuple{Elems: make([]ir.Expr, len(shape)), Pos: ret.Pos}
		for j := range offsets.Elems {
			offsets.Elems[j] = ir.Int(0)
		}
		st := &ir.Var{Hint: fmt.Sprintf("ret%d__store", i), Typ: out, Pos: x.Pos}
		op := &ir.OpCall{Op: "tensor.assemble", Args: []ir.Expr{p, x, offsets}, Typ: out, Pos: ret.Pos}
		if _, tile := t.(*ir.TileType); tile {
			op.Op, op.Args = "tile.store", []ir.Expr{x, offsets, p}
		}
		stores = append(stores, &ir.Assign{Var: st, Value: op, Pos: ret.Pos})
		values[i] = st
		if i < len(returns) {
			returns[i] = out
		}
	}
	if len(stores) == 0 {
		return f
	}
	k.ctx.Note(f.Pos, fmt.Sprintf("kernel %s returns %d buffer(s) that it makes itself: passed in as output parameters", f.Name, len(stores)))
	r := *ret
	r.Values = values
	g.Returns = returns
	g.Body = replaceReturn(f.Body, append(stores, &r))
	return &g
}

// replaceReturn puts statements in place of the trailing return.
func replaceReturn(b ir.Block, stmts []ir.Stmt) ir.Block {
	out := slices.Clone(b[:len(b)-1])
	if sc, ok := b[len(b)-1].(*ir.Scope); ok {
		c := *sc
		c.Body = replaceReturn(sc.Body, stmts)
		return append(out, &c)
	}
	return append(out, stmts...)
}

// upgrade raises the directions of In parameters that the body writes. For wrappers ordered is true: a buffer that one of their tasks writes before
// another reads it is an output.
func (k *abiPass) upgrade(f *ir.Function, ordered bool) *ir.Function {
	uses := k.calls.paramUses(f)
	g := f
	for i, p := range f.Params {
		if _, tensor := p.Var.Typ.(*ir.TensorType); !tensor || !uses[i].writes {
			continue
		}
		dir := p.Dir
		switch {
		case p.Dir == ir.In && uses[i].reads && (!ordered || uses[i].readFirst):
			dir = ir.InOut
		case p.Dir == ir.In:
			dir = ir.Out
		case p.Dir == ir.Out && ordered && uses[i].reads && uses[i].readFirst:
			dir = ir.InOut
		}
		if dir == p.Dir {
			continue
		}
		if g == f {
			c := *f
			c.Params = slices.Clone(f.Params)
			g = &c
		}
		g.Params[i].Dir = dir
		k.ctx.Note(f.Pos, fmt.Sprintf("parameter '%s' of %s is written: %s becomes %s", ir.BaseName(p.Var.Hint), f.Name, p.Dir, dir))
	}
	return g
}
