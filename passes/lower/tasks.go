package lower

import (
	"fmt"
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// buildTask prints the launch of a kernel: arguments, launch specification, predicate, dependencies (passes-codegen 2.7).
func (l *lowerer) buildTask(c *call, at diag.Span, blk *block) {
	if c == nil || c.launch == nil {
		return
	}
	x, la := c.node, c.launch
	n := l.tasks
	l.tasks++
	params := l.names.fixed("params_t" + strconv.Itoa(n))
	t := &plan.Task{
		At: plan.At{Pos: at}, Ordinal: n, Kind: la.kind, Kernels: [3]int{-1, -1, -1}, Params: params, DepsLast: la.wrapper, Label: la.label,
		SyncStart: x.Launch.SyncStart, EarlyResolve: x.Launch.EarlyResolve, TimingSlot: x.Launch.TimingSlot, Comment: la.comment,
	}
	if !la.wrapper {
		t.Comment = fmt.Sprintf("Task %d: %s", n, la.comment)
	}
	if la.kind == plan.SubmitMixed {
		t.Mixed = l.names.fixed("mixed_" + strconv.Itoa(n))
	}
	if c.bound {
		l.outsOf(c)
	}
	var tensors []*storage
	var signature []plan.ArgTag
	for _, a := range la.args {
		if !ir.IsTensor(a.param.Var.Typ) {
			continue
		}
		arg, s := l.tensorArg(c, a, params, blk)
		if arg.Tensor == nil && arg.Info == nil {
			continue
		}
		t.Args = append(t.Args, arg)
		if s != nil {
			tensors = append(tensors, s)
		}
		signature = append(signature, arg.Tag)
	}
	for _, a := range la.args {
		if !ir.IsTensor(a.param.Var.Typ) {
			t.Scalars = append(t.Scalars, l.scalarArg(c, a, params, blk))
		}
	}
	for i, f := range la.kernels {
		if f != nil {
			t.Kernels[i] = l.kernelID(f, signature)
		}
	}
	l.dumps(c, t, blk)
	if e := x.Launch.CoreNum; e != nil {
		t.BlockNum = l.coreNum(e, at, blk)
	}
	if e := x.Launch.Predicate; e != nil {
		t.Pred = l.predicate(e, params, at)
	}
	t.Deps = l.taskDeps(c, tensors, blk, params)
	if c.outs != nil {
		t.Outs = c.outs
		t.Outs.Hint = "task_" + strconv.Itoa(n) + "_outs"
	}
	blk.out = append(blk.out, t)
}

// outsOf is the variable that takes what a submit returns.
func (l *lowerer) outsOf(c *call) *plan.Name {
	if c.outs == nil {
		c.outs = l.names.fixed("")
	}
	return c.outs
}

// kernelID is the function id of a kernel: ids count kernels by name, in the order of their first launch.
func (l *lowerer) kernelID(f *ir.Function, signature []plan.ArgTag) int {
	if id, ok := l.kernelIDs[f.Name]; ok {
		return id
	}
	id := len(l.file.Kernels)
	l.kernelIDs[f.Name] = id
	k := plan.Kernel{ID: id, Name: f.Name, Func: f.Name, Core: plan.AIV, Signature: signature, External: f.External}
	if f.Type == ir.AIC {
		k.Core = plan.AIC
	}
	l.file.Kernels = append(l.file.Kernels, k)
	return id
}

var argTags = [...]plan.ArgTag{
	ir.DirInput: plan.Input, ir.DirOutput: plan.OutputExisting, ir.DirInOut: plan.InOut, ir.DirOutputExisting: plan.OutputExisting, ir.DirNoDep: plan.NoDep,
	ir.DirScalar: plan.Input,
}

// tensorArg is one tensor argument and its storage. An Out parameter that a submit leaves out gets a create-info of its own.
func (l *lowerer) tensorArg(c *call, a launchArg, params *plan.Name, blk *block) (plan.Arg, *storage) {
	if a.outer < 0 {
		l.internal(c.span, "a literal for tensor parameter "+ir.BaseName(a.param.Var.Hint)+" of "+c.node.Callee)
		return plan.Arg{}, nil
	}
	if a.outer >= len(c.node.Args) {
		return l.newOutput(c, a.outer, params, blk), nil
	}
	s := l.storageOf(c.node.Args[a.outer], blk)
	if s == nil || s.name == nil {
		l.internal(c.span, fmt.Sprintf("argument %d of %s is a tensor without storage", a.outer+1, c.node.Callee))
		return plan.Arg{}, nil
	}
	return plan.Arg{Tag: argTags[c.node.Dirs[a.outer]], Tensor: s.name}, s
}

// newOutput prints the create-info of a tensor that the runtime allocates at the submit.
func (l *lowerer) newOutput(c *call, i int, params *plan.Name, blk *block) plan.Arg {
	t := c.callee.Params[i].Var.Typ.(*ir.TensorType)
	info := l.names.derived(params, "", "_synth_out_"+strconv.Itoa(i))
	cr := &plan.Create{At: plan.At{Pos: c.span}, Info: info, Shapes: l.names.derived(info, "", "_shapes"), DType: t.DType}
	if !runtimeDTypes[t.DType] {
		l.errorf(CodeDType, c.span, "the runtime cannot store tensors of type %s", t.DType)
	}
	for _, e := range t.Shape {
		cr.Dims = append(cr.Dims, uint32Of(l.calleeDim(c, e, blk)))
	}
	blk.out = append(blk.out, cr)
	return plan.Arg{Tag: plan.Output, Info: info}
}

func uint32Of(e plan.Expr) plan.Expr {
	if _, ok := e.(*plan.Int); ok {
		return e
	}
	return &plan.Uint32{X: e}
}

// calleeDim is an extent written in the callee's terms: its dynamic symbols are extents of the arguments, its scalars are arguments.
func (l *lowerer) calleeDim(c *call, e ir.Expr, blk *block) plan.Expr {
	switch e := e.(type) {
	case *ir.Binary:
		return &plan.Binary{Op: e.Op, X: l.calleeDim(c, e.X, blk), Y: l.calleeDim(c, e.Y, blk), DType: e.DType}
	case *ir.Var:
		for i, a := range c.node.Args {
			p := c.callee.Params[i].Var
			if p == e {
				return l.expr(a)
			}
			if t, ok := p.Typ.(*ir.TensorType); ok {
				for axis, d := range t.Shape {
					if d == ir.Expr(e) {
						if s := l.storageOf(a, blk); s != nil && s.name != nil {
							return &plan.Extent{Tensor: s.name, Axis: axis}
						}
					}
				}
			}
		}
	}
	return l.expr(e)
}

// scalarArg is a scalar argument: a variable, or a literal in the type of the parameter. Any other expression gets a variable of its own.
func (l *lowerer) scalarArg(c *call, a launchArg, params *plan.Name, blk *block) plan.Expr {
	e := a.value
	if a.outer >= 0 {
		e = c.node.Args[a.outer]
	}
	switch e.(type) {
	case *ir.OpCall, *ir.Call, *ir.MakeTuple:
		l.errorf(CodeScalarArg, c.span, "scalar argument %q of %s is neither a variable nor a recognized constant literal", ir.BaseName(a.param.Var.Hint), c.node.Callee).
			WithHint("bind the value to a variable first")
		return &plan.Int{DType: ir.INDEX}
	}
	want := ir.ElemDType(a.param.Var.Typ)
	x := l.expr(foldNeg(e))
	switch v := x.(type) {
	case *plan.Int:
		if want.IsFloat() {
			return bitsOf(&plan.Float{Value: float64(v.Value), DType: ir.FP32}, want)
		}
		return v
	case *plan.Float:
		if !want.IsFloat() {
			want = v.DType
		}
		return bitsOf(v, want)
	case *plan.Bool:
		return v
	case *plan.Cast:
		if f, ok := v.X.(*plan.Float); ok {
			return bitsOf(f, v.DType)
		}
	case *plan.Ref:
		d := ir.ElemDType(e.Type())
		switch {
		case want.IsFloat() && d != want && want != ir.NoDType && d != ir.NoDType:
			return &plan.Bits{X: &plan.Cast{X: v, DType: want}}
		case d.IsFloat() && d != ir.NoDType:
			return &plan.Bits{X: v}
		case want.IsInt() && d.IsSigned() && d.Bits() < want.Bits(): // the runtime extends with zeros
			return &plan.Cast{X: v, DType: want}
		}
		return v
	}
	d := ir.ElemDType(e.Type())
	if want != ir.NoDType {
		d = want
	}
	v := l.names.derived(params, "", "_"+identifier(ir.BaseName(a.param.Var.Hint)))
	blk.out = append(blk.out, &plan.Decl{At: plan.At{Pos: c.span}, Name: v, Type: plan.CType{Kind: plan.Number, DType: d}, Init: x})
	if d.IsFloat() {
		return &plan.Bits{X: &plan.Ref{Name: v}}
	}
	return &plan.Ref{Name: v}
}

// bitsOf is a float literal as the 64 bits of the parameter's type.
func bitsOf(f *plan.Float, want ir.DType) plan.Expr {
	if want == ir.FP64 || want == ir.FP32 || want == ir.NoDType {
		if want == ir.NoDType {
			want = f.DType
		}
		return &plan.Bits{X: &plan.Float{Value: f.Value, DType: want}}
	}
	return &plan.Bits{X: &plan.Cast{X: &plan.Float{Value: f.Value, DType: ir.FP32}, DType: want}}
}

// dumps marks the arguments that the user wants dumped; what is no argument of the task is skipped.
func (l *lowerer) dumps(c *call, t *plan.Task, blk *block) {
	for _, e := range c.node.Launch.Dumps {
		s := l.storageOf(e, blk)
		if s == nil || s.name == nil {
			continue
		}
		for _, a := range t.Args {
			if a.Tensor == s.name {
				t.Dump = append(t.Dump, &plan.Ref{Name: s.name})
				break
			}
		}
	}
}

func (l *lowerer) coreNum(e ir.Expr, at diag.Span, blk *block) plan.Expr {
	if x, ok := e.(*ir.OpCall); ok {
		if v := l.inline(x, at, blk); v != nil {
			return v
		}
	}
	if d := ir.ElemDType(e.Type()); !d.IsInt() {
		l.errorf(CodeCoreNum, at, "Unsupported core_num expression kind: core_num must be an integer, not %s", d)
		return nil
	}
	return l.expr(e)
}
