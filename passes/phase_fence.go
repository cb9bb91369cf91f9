package passes

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// ExpandManualPhaseFence puts one dependency-only task between two phases of a MANUAL scope where every task of the second waits for all tasks of
// the first (mission document 000, "Phase-fence dummy barriers"): N·M edges become N+M.
//
// It looks at submits whose deps are exactly one TaskId array of N slots, under a loop with M such tasks: the product of the parallel trips
// between the loop and the submit; sequential loops in between only hold them. It applies when N·M − (N+M) ≥ 1, to the outermost loop before which the
// array is complete: the array is no carry of the loop, and neither defined nor updated in its body, under any name. Loops of unknown or zero
// trips, tasks under a condition, AUTO scopes and MANUAL scopes placed by the compiler stay as they are.
var phaseFence = &Pass{
	Name:     "ExpandManualPhaseFence",
	Doc:      "replace all-to-all dependencies of manual scopes by a dummy task",
	Requires: []ir.Property{ir.CallDirectionsResolved},
	Produces: []ir.Property{ir.CallDirectionsResolved},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		calls := newCallTable(ctx, p)
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type != ir.Orchestration || !hasArrayDeps(f.Body) {
				return f
			}
			e := &fencePass{ctx: ctx, s: newStorage(calls, f)}
			body := e.block(f.Body, false)
			if sameBlock(body, f.Body) {
				return f
			}
			g := *f
			g.Body = body
			return &g
		}), nil
	},
}

func hasArrayDeps(b ir.Block) bool {
	found := false
	eachCall(b, func(c *ir.Call) { found = found || soleArrayDep(c) != nil })
	return found
}

// soleArrayDep is the TaskId array that is the only dependency of a submit, or nil.
func soleArrayDep(c *ir.Call) *ir.Var {
	if c == nil || !c.Submit || len(c.Launch.Deps) != 1 {
		return nil
	}
	v, ok := c.Launch.Deps[0].(*ir.Var)
	if !ok || !ir.IsTaskIDArray(v.Typ) {
		return nil
	}
	return v
}

type fencePass struct {
	ctx   *Context
	s     *storage
	count int
}

func (e *fencePass) block(b ir.Block, manual bool) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		switch s := s.(type) {
		case *ir.Scope:
			inner := manual || isUserManual(s) && s.Owner == ir.UserScope
			n := withBlocks(s, func(b ir.Block) ir.Block { return e.block(b, inner) })
			return []ir.Stmt{n}, n != s
		case *ir.For:
			if manual {
				return e.loop(s)
			}
		}
		n := withBlocks(s, func(b ir.Block) ir.Block { return e.block(b, manual) })
		return []ir.Stmt{n}, n != s
	})
}

// fan is one array with the tasks under a loop that wait for it.
type fan struct {
	array *ir.Var
	tasks int64
	used  []*ir.Call
}

// loop compresses what it can at this loop, then looks into its body.
func (e *fencePass) loop(f *ir.For) ([]ir.Stmt, bool) {
	var fans []*fan
	if trips, ok := constTrips(f); ok && trips > 0 {
		updated := e.updated(f)
		m := int64(1)
		if f.Kind == ir.Parallel {
			m = trips
		}
		e.consumers(f.Body, m, func(c *ir.Call, m int64) {
			a := soleArrayDep(c)
			if updated[e.s.handle(a)] {
				return
			}
			for _, x := range fans {
				if x.array == a {
					x.tasks += m
					x.used = append(x.used, c)
					return
				}
			}
			fans = append(fans, &fan{a, m, []*ir.Call{c}})
		})
	}
	var pre []ir.Stmt
	barrier := map[*ir.Call]*ir.Var{}
	for _, x := range fans {
		n := x.array.Typ.(*ir.ArrayType).Len
		if n*x.tasks-(n+x.tasks) < 1 {
			continue
		}
		v := &ir.Var{Hint: fmt.Sprintf("phase_fence_barrier_%d_tid", e.count), Typ: ir.TaskIDType, Pos: f.Pos}
		e.count++
		pre = append(pre, &ir.Assign{Var: v, Value: dummyTask([]ir.Expr{x.array}, f.Pos), Pos: f.Pos})
		for _, c := range x.used {
			barrier[c] = v
		}
		e.ctx.Note(f.Pos, fmt.Sprintf("%d tasks wait for all of '%s' (%d ids): one dummy task in between", x.tasks, ir.BaseName(x.array.Hint), n))
	}
	out := ir.Stmt(f)
	if len(barrier) > 0 {
		out = withBlocks(f, func(b ir.Block) ir.Block {
			return replaceCalls(b, func(c *ir.Call) *ir.Call { return waitFor(c, barrier[c]) })
		})
	}
	n := withBlocks(out, func(b ir.Block) ir.Block { return e.block(b, true) })
	return append(pre, n), n != ir.Stmt(f)
}

// dummyTask is system.task_dummy(deps=…).
func dummyTask(deps []ir.Expr, at diag.Span) *ir.OpCall {
	return &ir.OpCall{Op: "system.task_dummy", Deps: deps, Typ: ir.TaskIDType, Pos: at}
}

func waitFor(c *ir.Call, v *ir.Var) *ir.Call {
	if v == nil {
		return c
	}
	n := *c
	n.Launch.Deps = []ir.Expr{v}
	return &n
}

// replaceCalls maps the launches of a block.
func replaceCalls(b ir.Block, f func(*ir.Call) *ir.Call) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if c := callOf(s); c != nil {
			if n := f(c); n != c {
				return []ir.Stmt{withValue(s, n)}, true
			}
			return nil, false
		}
		n := withBlocks(s, func(b ir.Block) ir.Block { return replaceCalls(b, f) })
		return []ir.Stmt{n}, n != s
	})
}

// consumers visits the candidate submits under a loop; m is the number of parallel trips around.
func (e *fencePass) consumers(b ir.Block, m int64, visit func(*ir.Call, int64)) {
	for _, s := range b {
		switch s := s.(type) {
		case *ir.For:
			trips, ok := constTrips(s)
			if !ok || trips == 0 {
				continue
			}
			if s.Kind != ir.Parallel {
				trips = 1
			}
			e.consumers(s.Body, m*trips, visit)
		case *ir.Scope:
			e.consumers(s.Body, m, visit)
		default:
			if c := callOf(s); soleArrayDep(c) != nil {
				visit(c, m)
			}
		}
	}
}

// updated collects the arrays that a loop carries, defines or writes into, by handle.
func (e *fencePass) updated(f *ir.For) map[*ir.Var]bool {
	m := map[*ir.Var]bool{}
	add := func(v *ir.Var) {
		if v != nil && ir.IsTaskIDArray(v.Typ) {
			m[e.s.handle(v)] = true
		}
	}
	for _, c := range f.Carries {
		add(c.Iter)
	}
	innerDefs(f.Body, func(v *ir.Var) { add(v) })
	return m
}

// isUserManual reports a MANUAL scope that the user wrote. In those that the compiler places the user's code still reads as AUTO code.
func isUserManual(s *ir.Scope) bool {
	return s.Kind == ir.RuntimeScope && s.Manual && s.Owner == ir.UserScope
}
