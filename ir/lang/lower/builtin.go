package lower

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// Calls in expressions: ops, the built-in functions of pl, and program functions.

// callExpr reads a call in expression position.
func (b *body) callExpr(x *syntax.Call) (ir.Expr, bool) {
	if a, ok := x.Fun.(*syntax.Attribute); ok && a.Name == "get_byte" && len(x.Args) == 0 {
		if d, ok := b.dtypeOf(a.X); ok {
			return &ir.ConstInt{Value: int64(d.Bytes()), DType: ir.INDEX, Pos: b.at(x)}, true
		}
	}
	call, path := b.dslCall(x)
	if path != "" {
		return b.builtin(call, path)
	}
	if a, ok := x.Fun.(*syntax.Attribute); ok {
		if n, ok := a.X.(*syntax.Name); ok {
			if n.ID == "self" && b.names.lookup("self") == nil {
				return b.call(x)
			}
			if b.names.lookup(n.ID) != nil {
				b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...)", dotted(x.Fun)).WithHint("values of the DSL have no methods; use pl.… functions")
				return nil, false
			}
		}
	}
	if n, ok := x.Fun.(*syntax.Name); ok {
		if b.names.lookup(n.ID) != nil {
			b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...): '%s' is a value", n.ID, n.ID)
			return nil, false
		}
		if _, found := b.env.Lookup(n.ID); !found {
			if e, ok, done := b.pythonCall(n.ID, x); done {
				return e, ok
			}
		}
	}
	if b.closed(x) {
		v, ok := b.eval(x)
		if !ok {
			return nil, false
		}
		return b.fromValue(v, x)
	}
	if v, ok := b.tryEval(x.Fun); ok {
		if dsl, isDSL := v.(*eval.DSL); isDSL {
			if dsl.Kind == eval.Inline && dsl.Func != nil {
				return b.macroValue(x, dsl)
			}
			return b.call(x)
		}
		switch v.(type) {
		case *eval.Builtin, *eval.Class:
			if n, ok := x.Fun.(*syntax.Name); ok {
				if e, ok, done := b.pythonCall(n.ID, x); done {
					return e, ok
				}
			}
		}
		if s, ok := v.(*eval.Symbol); ok {
			if module, at, ok := b.env.Absent(s); ok {
				b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...): there is no module '%s'", dotted(x.Fun), module).
					WithHint(noModule).WithRelated(at, "imported here")
				return nil, false
			}
		}
		b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...)", dotted(x.Fun)).
			WithHint("only functions decorated with @pl.function, @pl.inline or @pl.jit.… can be called with run-time values")
		return nil, false
	}
	if n, isName := x.Fun.(*syntax.Name); isName {
		if _, found := b.env.Lookup(n.ID); !found {
			b.undefinedAs(n, "define the function at module level with @pl.function, @pl.inline or @pl.jit.…, or import it")
			return nil, false
		}
	}
	if _, ok := b.eval(x.Fun); ok {
		b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...)", dotted(x.Fun))
	}
	return nil, false
}

// pythonCall handles Python's own min, max and abs on run-time values.
func (b *body) pythonCall(name string, x *syntax.Call) (e ir.Expr, ok, done bool) {
	if b.closed(x) {
		return nil, false, false
	}
	switch name {
	case "abs":
		if len(x.Args) != 1 {
			return nil, false, false
		}
		v, good := b.expr(x.Args[0])
		if !good {
			return nil, false, true
		}
		if _, isScalar := v.Type().(*ir.ScalarType); !isScalar {
			b.errorf(CodeOperand, x, "abs() needs a scalar, got %s", typeText(v.Type())).WithHint("for tensors and tiles use pl.abs(…)")
			return nil, false, true
		}
		return &ir.Unary{Op: ir.Abs, X: v, DType: ir.ElemDType(v.Type()), Pos: b.at(x)}, true, true
	case "min", "max":
		b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...): Python's %s cannot see run-time values", name, name).WithHint("use pl.%s(a, b)", name)
		return nil, false, true
	case "int", "float", "bool":
		d := map[string]string{"int": "INT64", "float": "FP32", "bool": "BOOL"}[name]
		b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...): Python's %s cannot see run-time values", name, name).WithHint("use pl.cast(x, pl.%s)", d)
		return nil, false, true
	case "range", "len", "print":
		if slices.ContainsFunc(x.Args, b.unbound) {
			return nil, false, true
		}
		b.errorf(CodeUnknownFunc, x.Fun, "Unsupported function call: %s(...) on a run-time value", name)
		return nil, false, true
	}
	return nil, false, false
}

// builtin reads pl.NAME(…), where path is "pl.NAME".
func (b *body) builtin(call *syntax.Call, path string) (ir.Expr, bool) {
	switch path {
	case "pl.submit", "pl.spmd_submit":
		b.errorf(CodeSubmit, call, "the result of %s must be unpacked: it cannot stand inside an expression", path).
			WithHint("write `out, tid = %s(…)` on a line of its own", path)
		return nil, false
	case "pl.yield_":
		b.errorf(CodeYield, call, "pl.yield_ cannot stand inside an expression")
		return nil, false
	case "pl.no_dep":
		b.errorf(CodeArguments, call, "pl.no_dep() may only wrap an argument of a kernel call")
		return nil, false
	case "pl.range", "pl.parallel", "pl.unroll", "pl.pipeline", "pl.while_", "pl.spmd", "pl.split_aiv", "pl.at", "pl.cluster", "pl.scope", "pl.manual_scope":
		b.errorf(CodeStatement, call, "%s() cannot stand inside an expression", path)
		return nil, false
	case "pld.alloc_window_buffer", "pld.tensor.alloc_window_buffer":
		if b.mode != Dump {
			b.errorf(CodeStatement, call, "%s must be the right side of an assignment: the buffer is named after the variable", path)
			return nil, false
		}
	case "pl.const":
		return b.typedConst(call)
	case "pl.min", "pl.max":
		return b.minMax(call, path)
	case "pl.xor":
		if b.mode == Dump && len(call.Args) == 2 {
			return b.logicXor(call)
		}
	case "pl.cast":
		if e, ok, done := b.scalarCast(call); done {
			return e, ok
		}
	case "pl.dynamic":
		b.errorf(CodeStatement, call, "pl.dynamic() belongs at module level, or alone on the right side of an assignment")
		return nil, false
	case "pl.system.task_dummy":
		return b.taskDummy(call)
	case "pl.tensor.dim", "pl.dim":
		return b.tensorDim(call, path)
	}
	return b.opCall(call, path)
}

func (b *body) logicXor(call *syntax.Call) (ir.Expr, bool) {
	l, ok1 := b.expr(call.Args[0])
	r, ok2 := b.expr(call.Args[1])
	if !ok1 || !ok2 {
		return nil, false
	}
	if _, isScalar := l.Type().(*ir.ScalarType); !isScalar {
		return b.opCall(call, "pl.xor")
	}
	return &ir.Binary{Op: ir.Xor, X: l, Y: r, DType: ir.BOOL, Pos: b.at(call)}, true
}

// typedConst reads pl.const(v, pl.DT).
func (b *body) typedConst(call *syntax.Call) (ir.Expr, bool) {
	if len(call.Args) != 2 || len(call.Keywords) > 0 {
		b.errorf(CodeArguments, call, "pl.const() takes a literal and a dtype").WithHint("for example pl.const(5, pl.INT32)")
		return nil, false
	}
	e, ok1 := b.expr(call.Args[0])
	d, ok2 := b.dtype(call.Args[1])
	if !ok1 || !ok2 {
		return nil, false
	}
	at := b.at(call)
	switch c := e.(type) {
	case *ir.ConstInt:
		if d.IsFloat() {
			return &ir.ConstFloat{Value: float64(c.Value), DType: d, Pos: at}, true
		}
		n := &ir.ConstInt{Value: c.Value, DType: d, Pos: at}
		b.markTyped(n)
		return n, true
	case *ir.ConstFloat:
		if d.IsFloat() {
			return &ir.ConstFloat{Value: c.Value, DType: d, Pos: at}, true
		}
	case *ir.ConstBool:
		if d == ir.BOOL {
			return &ir.ConstBool{Value: c.Value, Pos: at}, true
		}
	}
	b.errorf(CodeConstant, call, "pl.const() needs a literal that dtype %s can hold", d)
	return nil, false
}

func (b *body) minMax(call *syntax.Call, path string) (ir.Expr, bool) {
	if len(call.Args) != 2 || len(call.Keywords) > 0 {
		return b.opCall(call, path)
	}
	l, ok1 := b.expr(call.Args[0])
	r, ok2 := b.expr(call.Args[1])
	if !ok1 || !ok2 {
		return nil, false
	}
	_, s1 := l.Type().(*ir.ScalarType)
	_, s2 := r.Type().(*ir.ScalarType)
	if !s1 || !s2 {
		return b.finishOp(call, path, []ir.Expr{l, r}, nil)
	}
	op := ir.Min
	if path == "pl.max" {
		op = ir.Max
	}
	return b.binary(op, l, r, call.Args[0], call.Args[1], call)
}

// scalarCast reads pl.cast on a scalar; done is false when the operand is no scalar.
func (b *body) scalarCast(call *syntax.Call) (e ir.Expr, ok, done bool) {
	if len(call.Args) == 0 {
		return nil, false, false
	}
	v, good := b.expr(call.Args[0])
	if !good {
		return nil, false, true
	}
	t, isScalar := v.Type().(*ir.ScalarType)
	if !isScalar {
		b.ready = ready{call.Args[0], v}
		return nil, false, false
	}
	var to syntax.Expr
	if len(call.Args) == 2 {
		to = call.Args[1]
	}
	for _, k := range call.Keywords {
		switch {
		case (k.Name == "target_type" || k.Name == "dtype") && to == nil:
			to = k.Value
		case k.Name == "mode":
			if s, known := b.staticString(k.Value); !known || s != "round" && s != "none" {
				b.errorf(CodeKeyword, k.Value, "pl.cast: Scalar inputs do not support non-default mode")
				return nil, false, true
			}
		default:
			b.unknownKeyword("pl.cast", k, []string{"target_type", "mode"})
			return nil, false, true
		}
	}
	if to == nil || len(call.Args) > 2 {
		b.errorf(CodeArguments, call, "pl.cast() of a scalar takes the scalar and a dtype")
		return nil, false, true
	}
	d, good := b.dtype(to)
	if !good {
		return nil, false, true
	}
	if t.DType == ir.TASK_ID || d == ir.TASK_ID {
		b.errorf(CodeOperand, call, "a TaskId cannot be cast")
		return nil, false, true
	}
	return &ir.Cast{X: v, DType: d, Pos: b.at(call)}, true, true
}

// taskDummy reads pl.system.task_dummy(deps=[…]).
func (b *body) taskDummy(call *syntax.Call) (ir.Expr, bool) {
	if !b.host && b.mode != Dump {
		b.errorf(CodeMisplaced, call, "pl.system.task_dummy belongs in orchestration code, not inside a kernel")
		return nil, false
	}
	var deps []ir.Expr
	var attrs ir.Attrs
	given, ok := false, true
	for _, k := range call.Keywords {
		switch k.Name {
		case "deps":
			given = true
			d, good := b.deps(k.Value, "pl.system.task_dummy")
			deps, ok = d, ok && good
		case "attrs":
			a, good := b.attrsDict(k.Value)
			attrs, ok = a, ok && good
		default:
			b.unknownKeyword("pl.system.task_dummy", k, []string{"deps"})
			ok = false
		}
	}
	if len(call.Args) > 0 {
		b.errorf(CodeArguments, call.Args[0], "pl.system.task_dummy() takes no positional arguments").WithHint("write pl.system.task_dummy(deps=[…])")
		ok = false
	} else if !given {
		b.errorf(CodeDeps, call, "pl.system.task_dummy requires keyword argument 'deps'").WithHint("write pl.system.task_dummy(deps=[…])")
		ok = false
	}
	if !ok {
		return nil, false
	}
	return &ir.OpCall{Op: "system.task_dummy", Deps: deps, Typ: ir.TaskIDType, Attrs: attrs, Pos: b.at(call)}, true
}

// tensorDim reads pl.tensor.dim(x, i). In an orchestration body a dynamic axis of a parameter is the symbol itself (mission document 000).
func (b *body) tensorDim(call *syntax.Call, path string) (ir.Expr, bool) {
	args, kwargs, ok := b.opArgs(call, path)
	if !ok {
		return nil, false
	}
	if len(args) == 2 && b.mode != Dump && b.fn.decl.typ == ir.Orchestration {
		if e := b.foldDim(args[0], args[1]); e != nil {
			return e, true
		}
	}
	return b.finishOp(call, path, args, kwargs)
}

// foldDim gives the dynamic symbol of an axis of a parameter, nil when the axis has none.
func (b *body) foldDim(x, axis ir.Expr) ir.Expr {
	v, isVar := x.(*ir.Var)
	if !isVar || b.fn.out.Param(v) < 0 {
		return nil
	}
	shape := ir.ShapeOf(v.Typ)
	i, known := ir.IntValue(axis)
	if i < 0 {
		i += int64(len(shape))
	}
	if !known || i < 0 || i >= int64(len(shape)) {
		return nil
	}
	if s, isVar := shape[i].(*ir.Var); isVar && s.Dyn {
		return s
	}
	return nil
}

// opCall reads pl.NAME(args, kwargs).
func (b *body) opCall(call *syntax.Call, path string) (ir.Expr, bool) {
	args, kwargs, ok := b.opArgs(call, path)
	if !ok {
		return nil, false
	}
	return b.finishOp(call, path, args, b.laneSplit(path, args, kwargs))
}

// laneSplit adds the split= that an op inside a pl.split_aiv has from it.
func (b *body) laneSplit(path string, args []ir.Expr, kwargs ir.Kwargs) ir.Kwargs {
	w := b.inside(ir.SplitAivScope)
	if w == nil {
		return kwargs
	}
	if _, given := kwargs.Get("split"); given {
		return kwargs
	}
	spec, _, _, _ := b.u.opt.Ops.Resolve(strings.TrimPrefix(path, "pl."), args, kwargs)
	if spec == nil || !slices.ContainsFunc(spec.Kwargs, func(k ops.Kwarg) bool { return k.Name == "split" }) {
		return kwargs
	}
	return append(slices.Clone(kwargs), ir.Kwarg{Name: "split", Value: int64(w.lanes)})
}

// opArgs reads the operands and keyword arguments of an op.
func (b *body) opArgs(call *syntax.Call, path string) ([]ir.Expr, ir.Kwargs, bool) {
	ok := true
	args := make([]ir.Expr, 0, len(call.Args))
	for _, a := range call.Args {
		e, good := b.operand(a)
		if !good {
			ok = false
			continue
		}
		args = append(args, e)
	}
	var kwargs ir.Kwargs
	for _, k := range call.Keywords {
		if k.Name == "" {
			b.errorf(CodeKeyword, k.Value, "Unsupported expression: **kwargs").WithHint("write the keyword arguments one by one")
			ok = false
			continue
		}
		if k.Name == "attrs" && b.mode == Dump {
			continue
		}
		v, good := b.kwargValue(k.Value)
		if !good {
			ok = false
			continue
		}
		kwargs = append(kwargs, ir.Kwarg{Name: k.Name, Value: v})
	}
	return args, kwargs, ok
}

// operand reads a positional operand: an expression, or a dtype, enum value or string.
func (b *body) operand(x syntax.Expr) (ir.Expr, bool) {
	if v, ok := b.symbolValue(x); ok {
		return ops.NewSymbol(v, b.at(x)), true
	}
	return b.expr(x)
}

// kwargValue reads the value of a keyword argument of an op.
func (b *body) kwargValue(x syntax.Expr) (any, bool) {
	if v, ok := b.symbolValue(x); ok {
		return ops.NewSymbol(v, b.at(x)), true
	}
	if l, ok := x.(*syntax.List); ok {
		e, good := b.tuple(l.Elems, l)
		return e, good
	}
	e, ok := b.expr(x)
	return e, ok
}

// finishOp resolves and checks an op call.
func (b *body) finishOp(call *syntax.Call, path string, args []ir.Expr, kwargs ir.Kwargs) (ir.Expr, bool) {
	places := map[diag.Span]syntax.Node{}
	for i, a := range args {
		if v, ok := a.(*ir.Var); ok {
			places[v.Pos] = call.Args[i]
		}
	}
	name := strings.TrimPrefix(path, "pl.")
	at := b.at(call)
	var e *ir.OpCall
	var d *diag.Diagnostic
	if b.mode == Dump {
		e, d = b.dumpOp(at, name, args, kwargs)
	} else {
		e, d = b.u.opt.Ops.Call(at, name, args, kwargs)
	}
	if d != nil && (d.Code == ops.CodeOperand || d.Code == ops.CodeMixed) && b.host && b.mode != Dump && b.fn.decl.typ != ir.Inline {
		if spec, _, _, unknown := b.u.opt.Ops.Resolve(name, args, kwargs); unknown == nil && spec.Where == ops.InCore {
			b.u.report(ops.Misplaced(spec, at, false)) // that its operands are no tiles follows from the place
			return nil, false
		}
	}
	if d != nil {
		// A variable knows only where it was defined; the mistake is where it is used.
		if n := places[d.Span]; n != nil {
			d.Span = b.at(n)
		} else if d.Code == ops.CodeUnknownOp {
			d.Span = b.at(call.Fun)
		} else if k := slices.IndexFunc(call.Keywords, func(k syntax.Keyword) bool {
			return d.Code == ops.CodeUnknownKw && strings.HasSuffix(d.Message, "'"+k.Name+"'")
		}); k >= 0 {
			d.Span = call.Keywords[k].Span(b.file)
		} else if !d.Span.IsValid() || d.Span.File == at.File && !within(d.Span, at) { // in another file is what makes the op unusable
			d.Span = at
		}
		b.u.report(d)
		return nil, false
	}
	b.u.symbolsToKwargs(e)
	b.readsExtent = b.readsExtent || e.Op == "tensor.dim"
	if b.mode == Dump {
		for _, k := range call.Keywords {
			if k.Name == "attrs" {
				attrs, ok := b.attrsDict(k.Value)
				if !ok {
					return nil, false
				}
				e.Attrs = attrs
			}
		}
	}
	return e, b.placed(e)
}

// within reports whether a place lies inside another.
func within(in, out diag.Span) bool {
	before := func(l1, c1, l2, c2 int32) bool { return l1 < l2 || l1 == l2 && c1 < c2 }
	return in.File == out.File && !before(in.Line, in.Col, out.Line, out.Col) && before(in.Line, in.Col, out.EndLine, out.EndCol)
}

// placed checks that an op stands in a function that can have it.
func (b *body) placed(e *ir.OpCall) bool {
	spec := b.u.opt.Ops.Lookup(e.Op)
	if spec == nil || b.mode == Dump {
		return true
	}
	switch {
	case strings.HasPrefix(e.Op, "pld.") && spec.Where&ops.InCore == 0 && b.fn.decl.level != "HOST" && b.fn.decl.typ != ir.Opaque && b.fn.decl.typ != ir.Inline:
		b.u.errorf(CodeMisplaced, e.Pos, "%s is only available in a HOST function", strings.Replace(e.Op, "pld.system.", "pld.", 1)).
			WithHint("decorate the function with level=pl.Level.HOST, role=pl.Role.Orchestrator")
		return false
	case b.fn.decl.typ.IsKernel() && spec.Where&ops.InCore == 0 && spec.Where != 0:
		b.u.report(ops.Misplaced(spec, e.Pos, true))
		return false
	case b.fn.decl.typ == ir.AIV && spec.Core == ops.CubeCore && spec.Plugin() != "", b.fn.decl.typ == ir.AIC && spec.Core == ops.VectorCore && spec.Plugin() != "":
		kind := "vector"
		if spec.Core == ops.CubeCore {
			kind = "cube"
		}
		b.u.errorf(ops.CodePlace, e.Pos, "%s works on a %s core, and this kernel runs on the other kind (%s)", e.Op, kind, b.fn.decl.typ).
			WithHint("make the kernel a pl.FunctionType.InCore: what belongs to which core is then found out")
		return false
	}
	return true
}
