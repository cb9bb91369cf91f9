package lower

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A wrapper function only forwards: a call of it launches what it calls. The rules (passes-codegen 2.7):
//
//   - Spmd: the kernel, or the Group, that it calls; the block count is at the call site.
//   - Group: with cube and vector members one mixed task, where a vector part fills both vector lanes when the group says so; with vector members
//     alone a vector task.
//   - A vector kernel marked for both lanes is a mixed task too, without a cube part, wherever it stands alone.
//   - Arguments follow the inner call: an inner argument that is a parameter of the wrapper is the outer argument at that place (over two hops for
//     Spmd around Group), a literal stays a literal, a value that only exists inside the wrapper (a block index) is left out.

// A launch is what a call submits.
type launch struct {
	kind    plan.TaskKind
	kernels [3]*ir.Function // direct: [0]; mixed: AIC, AIV0, AIV1
	comment string          // after "Task N: " for direct kernels, whole otherwise
	label   string
	wrapper bool
	args    []launchArg // in the order of the kernel's parameters
}

// A launchArg is one argument of the kernel: argument Outer of the call, or a literal.
type launchArg struct {
	outer int // -1: literal
	value ir.Expr
	param ir.Param
}

// resolve says what a call launches, or reports why it cannot; nil then.
func (l *lowerer) resolve(c *call) *launch {
	f := c.callee
	switch f.Type {
	case ir.AIC, ir.AIV:
		return single(f, f.DualAIV, f.Name, false, identity(f))
	case ir.Spmd, ir.Group:
		return l.resolveWrapper(c, f)
	case ir.InCore:
		l.errorf(CodeCallee, c.span, "kernel %q has no core type yet; ExpandMixedKernel must decide between AIC and AIV before codegen", f.Name)
	default:
		l.errorf(CodeCallee, c.span, "%q is a function of type %s; only kernels can be launched", f.Name, f.Type).
			WithHint("call kernels (InCore functions) or inline functions from an orchestration")
	}
	return nil
}

// single launches one kernel, on one core or on both vector lanes.
func single(f *ir.Function, dual bool, comment string, wrapper bool, args []launchArg) *launch {
	la := &launch{kind: plan.SubmitAIV, kernels: [3]*ir.Function{f}, comment: comment, label: f.Name, wrapper: wrapper, args: args}
	switch {
	case f.Type == ir.AIC:
		la.kind = plan.SubmitAIC
	case dual:
		la.kind, la.kernels = plan.SubmitMixed, [3]*ir.Function{nil, f, f}
	}
	return la
}

// identity maps each parameter of a function to itself.
func identity(f *ir.Function) []launchArg {
	args := make([]launchArg, len(f.Params))
	for i, p := range f.Params {
		args[i] = launchArg{outer: i, param: p}
	}
	return args
}

// compose maps the arguments of an inner call, made in f, to what f's own arguments are.
func compose(f *ir.Function, outer []launchArg, inner *ir.Call, callee *ir.Function) []launchArg {
	var args []launchArg
	for i, a := range inner.Args {
		if i >= len(callee.Params) {
			break
		}
		p := callee.Params[i]
		switch a := a.(type) {
		case *ir.Var:
			if k := f.Param(a); k >= 0 {
				args = append(args, launchArg{outer: outer[k].outer, value: outer[k].value, param: p})
			}
		case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool:
			args = append(args, launchArg{outer: -1, value: a, param: p})
		}
	}
	return args
}

func (l *lowerer) resolveWrapper(c *call, f *ir.Function) *launch {
	args, name, group := identity(f), f.Name, f
	if f.Type == ir.Spmd {
		calls := innerCalls(f)
		if len(calls) != 1 {
			l.errorf(CodeWrapper, c.span, "Spmd function %q launches %d kernels; it must launch exactly one", f.Name, len(calls))
			return nil
		}
		inner := l.funcs[calls[0].Callee]
		switch {
		case inner == nil:
			l.errorf(CodeCallee, calls[0].Pos, "function %q is not in the program (property OrchestrationReferencesResolved)", calls[0].Callee)
			return nil
		case inner.Type == ir.Group:
			args = compose(f, args, calls[0], inner)
			if len(args) != len(inner.Params) {
				l.errorf(CodeWrapper, c.span, "Spmd function %q gives Group %q values that are not its own parameters", f.Name, inner.Name)
				return nil
			}
			group = inner
		case inner.Type == ir.AIC || inner.Type == ir.AIV:
			return single(inner, inner.DualAIV, "Spmd "+name+": "+inner.Name, true, compose(f, args, calls[0], inner))
		case inner.Type == ir.InCore:
			l.errorf(CodeCallee, c.span, "kernel %q has no core type yet; ExpandMixedKernel must decide between AIC and AIV before codegen", inner.Name)
			return nil
		default:
			l.errorf(CodeCallee, c.span, "Spmd function %q launches %q, a function of type %s; only kernels can be launched", f.Name, inner.Name, inner.Type)
			return nil
		}
	}
	return l.resolveGroup(c, group, args)
}

func (l *lowerer) resolveGroup(c *call, g *ir.Function, outer []launchArg) *launch {
	var aic, aiv *ir.Function
	var args []launchArg
	external, own := false, false
	for _, x := range innerCalls(g) {
		if x.Submit && !x.Launch.IsZero() {
			l.errorf(CodeWrapper, x.Pos, "the launch of %q inside Group %q has dependencies or a launch specification of its own", x.Callee, g.Name).
				WithHint("write them on the launch of the group")
			return nil
		}
		k := l.funcs[x.Callee]
		switch {
		case k == nil:
			l.errorf(CodeCallee, x.Pos, "function %q is not in the program (property OrchestrationReferencesResolved)", x.Callee)
			return nil
		case k.Type == ir.AIC && aic == nil:
			aic = k
		case k.Type == ir.AIV && aiv == nil:
			aiv = k
		case k == aic || k == aiv:
			continue
		default:
			l.errorf(CodeWrapper, c.span, "Group %q launches %q, which fits no free core of a cluster", g.Name, k.Name).
				WithHint("a cluster has one cube core and its vector cores: one AIC and one AIV kernel")
			return nil
		}
		if k.External != nil {
			external = true
		} else {
			own = true
		}
		inner := compose(g, outer, x, k)
		if args != nil && !sameArgs(args, inner) {
			l.errorf(CodeWrapper, c.span, "the kernels of Group %q take different arguments; all parts of a mixed task share one argument list", g.Name).
				WithHint("give both kernels the same parameters in the same order")
			return nil
		}
		args = inner
	}
	switch {
	case external && own:
		l.errorf(CodeWrapper, c.span, "Group %q mixes external and DSL kernels", g.Name).WithHint("write all kernels of the group in the DSL, or give all as C++")
		return nil
	case aic == nil && aiv == nil:
		l.errorf(CodeWrapper, c.span, "Group %q launches no kernel", g.Name)
		return nil
	case aic == nil:
		return single(aiv, g.DualAIV || aiv.DualAIV, "Group "+g.Name+": AIV-only SPMD", true, args)
	case aiv == nil:
		return single(aic, false, "Group "+g.Name+": AIC-only SPMD", true, args)
	}
	la := &launch{kind: plan.SubmitMixed, kernels: [3]*ir.Function{aic, aiv, nil}, comment: "Group " + g.Name + ": MixedKernels (AIC + AIV lanes)", label: g.Name,
		wrapper: true, args: args}
	if g.DualAIV || aiv.DualAIV {
		la.kernels[2] = aiv
	}
	return la
}

func sameArgs(a, b []launchArg) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].outer != b[i].outer || (a[i].outer < 0 && a[i].value != b[i].value) {
			return false
		}
	}
	return true
}

// innerCalls lists the launches in a wrapper's body.
func innerCalls(f *ir.Function) []*ir.Call {
	var calls []*ir.Call
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			if x, ok := e.(*ir.Call); ok {
				calls = append(calls, x)
			}
			return true
		})
		return true
	})
	return calls
}
