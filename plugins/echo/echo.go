// Package echo puts built-in ops behind a plugin that serves them again under names of its own (plugins/testdata/acme): for tests and benchmarks which show
// that nothing is lost on the way.
package echo

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// Registry is the built-in ops with the types and the C++ of a plugin that serves tensor.add as NAME.tensor_add. emitted, when set, is told of each op that is
// asked for its C++.
func Registry(name string, specs []*ops.Spec, emitted func(op string)) *ops.Registry {
	served := ops.NewRegistry(specs...)
	var remote []*ops.Spec
	for _, s := range ops.Builtin().All() {
		far := served.Lookup(name + "." + strings.ReplaceAll(s.Name, ".", "_"))
		if far == nil {
			continue
		}
		n := *s
		if far.Infer != nil {
			n.Infer = func(site *ops.Site) (ir.Type, *diag.Diagnostic) {
				as := *site
				as.Spec = far
				return far.Infer(&as)
			}
		}
		if s.Emit != nil {
			n.Emit = func(e *ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
				if emitted != nil {
					emitted(e.Call.Op)
				}
				as, call := *e, *e.Call
				call.Op = far.Name
				as.Call = &call
				return far.Emit(&as)
			}
		}
		if s.Emit != nil && far.EmitAhead != nil {
			n.EmitAhead = func(c *ir.OpCall, bound bool) {
				call := *c
				call.Op = far.Name
				far.EmitAhead(&call, bound)
			}
		}
		remote = append(remote, &n)
	}
	return ops.Builtin().With(remote...)
}
