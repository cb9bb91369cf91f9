package serve

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// emit gives the template of one call; bound says whether its result has a name.
func (o *Op) emit(c *ir.OpCall, bound bool) (*template.Template, *diag.Diagnostic) {
	if o.Template != nil {
		return o.Template(c, bound)
	}
	// Plan statements for a site of stand-ins, in which the template then finds its slots.
	locals := map[*plan.Name]string{}
	site := &ops.EmitSite{Call: c, Args: make([]plan.Expr, len(c.Args)), Lists: make([][]plan.Expr, len(c.Args)),
		Local: func(affix string) *plan.Name {
			n := &plan.Name{Hint: affix}
			locals[n] = affix
			return n
		},
		EntryTensor: func(int) (int, bool) { return 0, false }}
	if bound {
		site.Result = &plan.Name{Hint: "result"}
	}
	for i, a := range c.Args {
		if t, ok := a.(*ir.MakeTuple); ok {
			site.Lists[i] = make([]plan.Expr, len(t.Elems))
			for k, e := range t.Elems {
				site.Lists[i][k] = standIn(e)
			}
			continue
		}
		site.Args[i] = standIn(a)
	}
	stmts, d := o.Spec.Emit(site)
	if d != nil {
		return nil, d
	}
	t, err := template.Of(stmts, site, locals)
	if err != nil {
		return nil, diag.Errorf(plugins.CodeTemplate, c.Pos, "%s: %v", c.Op, err)
	}
	return t, nil
}

// standIn is an operand as an emitter sees it: literals as they are, anything else as a variable.
func standIn(e ir.Expr) plan.Expr {
	switch e := e.(type) {
	case *ir.ConstInt:
		if e.DType.IsFloat() && e.DType != ir.NoDType {
			break
		}
		if e.DType == ir.BOOL {
			return &plan.Bool{Value: e.Value != 0}
		}
		return &plan.Int{Value: e.Value, DType: e.DType}
	case *ir.ConstBool:
		return &plan.Bool{Value: e.Value}
	}
	return &plan.Ref{Name: &plan.Name{Hint: "operand"}}
}
