package serve

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
)

// Local is what the plugin adds when it runs in the process of the core, with the checks of its results that the core does otherwise: for tests of
// plugins.
func (p *Plugin) Local() ([]*ops.Spec, []plugins.Pass) {
	var specs []*ops.Spec
	for i := range p.Ops {
		o := &p.Ops[i]
		s := *o.Spec
		if o.Template != nil {
			s.Emit = func(site *ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
				t, d := o.Template(site.Call, site.Result != nil)
				if d != nil {
					return nil, d
				}
				stmts, err := t.Plan(o.Spec, site)
				if err != nil {
					return nil, diag.Errorf(plugins.CodeTemplate, site.Call.Pos, "the C++ of %s cannot be accepted: %v", o.Name, err)
				}
				return stmts, nil
			}
		}
		specs = append(specs, &s)
	}
	var ps []plugins.Pass
	for _, x := range p.Passes {
		n := *x.Pass.Pass
		n.Name, n.Plugin = p.Name+"."+x.Name, p.Name
		n.Run = func(ctx *passes.Context, before *ir.Program) (*ir.Program, error) {
			var fusions []passes.Fusion
			var after *ir.Program
			var err error
			if x.Fuse != nil {
				after, fusions, err = x.Fuse(ctx, before)
			} else {
				after, err = x.Run(ctx, before)
			}
			if err != nil || after == before {
				return after, err
			}
			if err := x.CheckGrant(p.Name, before, after); err != nil {
				return nil, err
			}
			if len(fusions) > 0 {
				err = passes.CheckFusions(before, after, fusions)
			}
			return after, err
		}
		ps = append(ps, plugins.Pass{Pass: &n, After: x.After, Before: x.Before, Grant: x.Grant})
	}
	return specs, ps
}
