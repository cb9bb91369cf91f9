package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// OutlineClusterScopes turns `with pl.cluster():` into a Group function and a standalone `with pl.spmd(n):` into an Spmd function, and launches them.
//
//   - Names: {parent}_cluster_{n} and {parent}_spmd_{n}; with a name_hint, the hint for a cluster and {hint}_spmd for a grid launch, whose
//     kernel takes the hint itself.
//   - The block count and sync_start belong to the launch site, never to the function (mission document 004).
//   - A grid launch inside a cluster is unwrapped: the cluster's launch takes its block count, which therefore has to be computed before
//     the cluster. There is at most one, and it carries no launch options of its own.
var outlineCluster = &Pass{
	Name:     "OutlineClusterScopes",
	Doc:      "turn pl.cluster and pl.spmd scopes into Group and Spmd functions",
	Requires: []ir.Property{ir.SSAForm},
	Produces: []ir.Property{ir.SSAForm, ir.ClusterOutlined},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return runOutline(ctx, p, outlineKind{
			target: func(s *ir.Scope) bool { return s.Kind == ir.ClusterScope || s.Kind == ir.SpmdScope },
			base: func(s *ir.Scope) string {
				if s.Kind == ir.ClusterScope {
					return "cluster"
				}
				return "spmd"
			},
			hint: func(s *ir.Scope) string {
				if s.Kind == ir.SpmdScope && s.NameHint != "" {
					return s.NameHint + "_spmd"
				}
				return s.NameHint
			},
			typ: func(s *ir.Scope) ir.FuncType {
				if s.Kind == ir.ClusterScope {
					return ir.Group
				}
				return ir.Spmd
			},
			what:    "pl.spmd",
			prepare: prepareWrapper,
		})
	},
}

// prepareWrapper checks the body of a wrapper and unwraps a grid launch inside a cluster.
func prepareWrapper(o *outliner, sc *ir.Scope) (ir.Block, ir.Launch, bool) {
	launch := sc.Launch
	if sc.Kind == ir.SpmdScope {
		return sc.Body, launch, checkSpmdBody(o, sc)
	}
	var grid *ir.Scope
	ok := true
	var unwrap func(b ir.Block) ir.Block
	unwrap = func(b ir.Block) ir.Block {
		return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
			in, is := s.(*ir.Scope)
			if !is || in.Kind != ir.SpmdScope {
				n := withBlocks(s, unwrap)
				return []ir.Stmt{n}, n != s
			}
			switch {
			case grid != nil:
				o.ctx.Report(diag.Errorf(codeClusterSpmd, in.Pos, "a pl.cluster holds at most one pl.spmd").
					WithRelated(grid.Pos, "the first pl.spmd of this cluster").
					WithHint("use one pl.cluster for each grid launch"))
				ok = false
			case needsSubmit(in, &in.Launch):
				o.ctx.Report(diag.Errorf(codeClusterLaunch, in.Pos, "a pl.spmd inside pl.cluster cannot carry per-task dispatch metadata (as tid, deps, predicate, allow_early_resolve, timing_slot)").
					WithHint("the cluster is the task: take the pl.spmd out of it, or use pl.spmd_submit on a group kernel"))
				ok = false
			}
			grid = in
			return unwrap(in.Body), true
		})
	}
	body := unwrap(sc.Body)
	if grid == nil || !ok {
		return body, launch, ok
	}
	defined := map[*ir.Var]bool{}
	innerDefs(sc.Body, func(v *ir.Var) { defined[v] = true })
	if grid.Launch.CoreNum != nil {
		ir.Walk(grid.Launch.CoreNum, func(e ir.Expr) bool {
			if v, is := e.(*ir.Var); is && defined[v] && ok {
				o.ctx.Report(diag.Errorf(codeClusterCores, grid.Pos, "the block count of this pl.spmd uses '%s', which is computed inside the pl.cluster", ir.BaseName(v.Hint)).
					WithHint("compute it before `with pl.cluster()`"))
				ok = false
			}
			return ok
		})
	}
	launch.CoreNum, launch.SyncStart = grid.Launch.CoreNum, grid.Launch.SyncStart
	return body, launch, ok
}

// checkSpmdBody: a grid launch runs exactly one kernel.
func checkSpmdBody(o *outliner, sc *ir.Scope) bool {
	n := 0
	eachCall(sc.Body, func(c *ir.Call) { n++ })
	if n == 1 {
		return true
	}
	o.ctx.Report(diag.Errorf(codeSpmdBody, sc.Pos, "a pl.spmd block launches one kernel, this one launches %d", n).
		WithHint("use one pl.spmd for each kernel, or put the work into a pl.at block"))
	return false
}
