package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// What is asked of the passes of plugins beyond the verifier's properties. A core pass is tested for all of this; of a pass of a plugin nothing is known. A
// program may hold what these rules do not allow before the pass (a mistake of the user's that is reported later, a function that is not there yet), so
// only what is new counts.

// foreignWork reports what a plugin's pass did to a program that no pass may.
func foreignWork(ctx *Context, before, after *ir.Program) diag.List {
	ds := changedEntries(before, after)
	known := map[string]int{}
	for _, d := range loose(ctx, before) {
		known[d.key]++
	}
	for _, d := range loose(ctx, after) {
		if known[d.key] > 0 {
			known[d.key]--
			continue
		}
		ds.Add(d.Diagnostic)
	}
	return ds
}

// Blame is for errors that come after passes of plugins: in a pass of the core, or in what follows the passes and is then. When there are none without
// what a plugin's pass does, that pass broke the program in a way that no check found; the result is the report about it. Otherwise it is ds: the program
// has errors of its own. Everything is done again for that, but only once there are errors.
func Blame(ctx *Context, p *ir.Program, ps []*Pass, h Hooks, ds diag.List, then func(*ir.Program) diag.List) diag.List {
	if !ds.HasErrors() {
		return ds
	}
	var foreign []*Pass
	for _, pass := range ps {
		if pass.Plugin != "" {
			foreign = append(foreign, pass)
		}
	}
	if len(foreign) == 0 {
		return ds
	}
	for n := 0; ; n++ { // with the first n of them
		var before, now, after *ir.Program
		now = p
		with := slices.DeleteFunc(slices.Clone(ps), func(x *Pass) bool { return slices.Contains(foreign[n:], x) })
		r := newRunner(&Context{Ops: ctx.Ops, Options: ctx.Options}, with, Hooks{After: func(_ int, pass *Pass, made *ir.Program) {
			if n > 0 && pass == foreign[n-1] {
				before, after = now, made
			}
			now = made
		}})
		out, errors := r.run(p)
		if then != nil && !errors.HasErrors() {
			errors = then(out)
		}
		if n == len(foreign) && !errors.HasErrors() {
			errors = ds // a pass that does not do the same twice
		}
		switch {
		case !errors.HasErrors():
		case n == 0 || before == nil:
			return ds
		default:
			return r.blamed(foreign[n-1], before, after, errors, h)
		}
	}
}

// blamed is the report about a plugin's pass that is the cause of errors further on: one for all of them.
func (r *runner) blamed(pass *Pass, before, after *ir.Program, errors diag.List, h Hooks) diag.List {
	var told *diag.Diagnostic
	for _, d := range errors {
		switch {
		case d.Severity != diag.Error:
		case told == nil:
			told = diag.Errorf(CodeInternal, d.Span, "pass %s of plugin %s broke the program, which is sound without it: %s", pass.Name, pass.Plugin, cited(d)).
				WithHint("this is a defect of the plugin; please report it to its author with the program and the dumps before and after the pass")
		default:
			told.WithRelated(d.Span, "%s", cited(d))
		}
	}
	r.hooks = h
	r.broken(pass, before, after, diag.List{told})
	return diag.List{told}
}

// looseEnd is a report with what makes it the same one before and after a pass: the place is none of that.
type looseEnd struct {
	*diag.Diagnostic
	key string
}

// loose finds what the specs of ops and the functions of a program do not allow, in the order of the program.
func loose(ctx *Context, p *ir.Program) []looseEnd {
	l := looseEnds{reg: ctx.Ops}
	for _, f := range p.Funcs {
		l.f = f
		l.function()
	}
	for _, d := range ir.Verify(p, opInfo(ctx), ir.OrchestrationReferencesResolved) {
		l.out = append(l.out, looseEnd{d, d.Message})
	}
	return l.out
}

type looseEnds struct {
	reg *ops.Registry
	f   *ir.Function
	out []looseEnd
}

func (l *looseEnds) add(at diag.Span, d *diag.Diagnostic) {
	if !at.IsValid() {
		at = l.f.Pos
	}
	key := fmt.Sprint(l.f.Name, d.Code, d.Message)
	d.Span = at
	l.out = append(l.out, looseEnd{d, key})
}

func (l *looseEnds) function() {
	f := l.f
	if f.External == nil && len(f.Returns) > 0 && trailingReturn(f.Body) == nil {
		l.add(f.Pos, diag.Errorf(codeNoReturn, f.Pos, "function '%s' declares results but does not end with a return", f.Name))
	}
	l.block(f.Body, f.Type.IsKernel())
}

// block checks statements; inCore says that they run on a core.
func (l *looseEnds) block(b ir.Block, inCore bool) {
	for _, s := range b {
		ir.Exprs(s, func(e ir.Expr) bool {
			if c, ok := e.(*ir.OpCall); ok {
				at := c.Pos
				if !at.IsValid() {
					at = s.Span()
				}
				l.op(at, c, inCore)
			}
			return true
		})
		inside := inCore
		if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.InCoreScope {
			inside = true
		}
		for _, n := range ir.Blocks(s) {
			l.block(n, inside)
		}
	}
}

func (l *looseEnds) op(at diag.Span, c *ir.OpCall, inCore bool) {
	if l.reg == nil {
		return
	}
	spec := l.reg.Lookup(c.Op)
	if spec == nil {
		l.add(at, diag.Errorf(ops.CodeUnknownOp, at, "there is no op '%s'", c.Op))
		return
	}
	if d := spec.Fits(c); d != nil {
		l.add(at, d)
		return
	}
	host := l.f.Type == ir.Orchestration || l.f.Type == ir.Graph
	switch {
	case inCore && spec.Where == ops.OnHost, host && !inCore && spec.Where == ops.InCore:
		l.add(at, ops.Misplaced(spec, at, inCore))
	case l.f.Type == ir.AIC && coreOf(spec, c) == ops.VectorCore:
		l.add(at, diag.Errorf(ops.CodePlace, at, "%s works on a vector core, and '%s' runs on cube cores (AIC)", c.Op, l.f.Name))
	case l.f.Type == ir.AIV && coreOf(spec, c) == ops.CubeCore:
		l.add(at, diag.Errorf(ops.CodePlace, at, "%s works on a cube core, and '%s' runs on vector cores (AIV)", c.Op, l.f.Name))
	}
}

// coreOf is the core that an op needs, by its spec or by where its result lies.
func coreOf(spec *ops.Spec, c *ir.OpCall) ops.Core {
	if spec.Core != ops.AnyCore {
		return spec.Core
	}
	return memCore(c.Typ)
}

// changedEntries reports functions that a caller outside of the program knows: they stay, under their names and with their parameters.
func changedEntries(before, after *ir.Program) diag.List {
	var ds diag.List
	bad := func(f *ir.Function, format string, args ...any) {
		ds.Add(diag.Errorf(CodeInternal, f.Pos, format, args...))
	}
	for _, f := range before.Funcs {
		if !f.IsEntry() {
			continue
		}
		n := after.Lookup(f.Name)
		switch {
		case n == f:
		case n == nil:
			bad(f, "function '%s' is gone: it is called from outside of the program", f.Name)
		case n.Type.IsKernel() || n.Type == ir.Inline:
			bad(f, "function '%s' is called from outside of the program and became %s", f.Name, n.Type)
		case len(n.Params) != len(f.Params):
			bad(f, "function '%s' is called from outside of the program with %s, and has %d now", f.Name, diag.Plural(len(f.Params), "parameter"), len(n.Params))
		default:
			for i, p := range f.Params {
				if was, now := p.Var, n.Params[i].Var; ir.BaseName(was.Hint) != ir.BaseName(now.Hint) || !ir.SameTypes(was.Typ, now.Typ) {
					bad(f, "function '%s' is called from outside of the program, and its parameter '%s' (%s) became '%s' (%s)", f.Name,
						ir.BaseName(was.Hint), ir.PrintType(was.Typ), ir.BaseName(now.Hint), ir.PrintType(now.Typ))
					break
				}
			}
		}
	}
	return ds
}
