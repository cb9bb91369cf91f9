package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// ClassifyIterArgCarry decides for every loop carry of an orchestration, of for and while loops, whether it needs storage of its own, so that code
// generation only looks it up (mission document 000, "Design Principle").
//
//   - Alias: the yielded value is the carried buffer itself, updated in place; iteration Var and result are the initial value. Whether a call
//     returns its argument is read off the callee's return map alone, whatever the directions at the call.
//   - Rebind: anything else, and every TaskId.
//   - Slots: a TaskId carried by a parallel loop in a MANUAL scope is kept as an array with one slot per trip, so that later tasks wait for all of
//     them (mission document 004, "array-carry fence"); the trip count has to be a literal. A sequential loop that yields such an array has as
//     many slots.
//
// Where an array meets a place for one id — a branch that yields it, a slot of an outer parallel carry, a carry of another size — a dummy task
// that waits for all slots takes its place.
var carryClass = &Pass{
	Name:     "ClassifyIterArgCarry",
	Doc:      "decide which loop carries need storage",
	Requires: []ir.Property{ir.CallDirectionsResolved, ir.RuntimeScopesMaterialized},
	Produces: []ir.Property{ir.IterArgCarryClassified, ir.RuntimeScopesMaterialized},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		calls := newCallTable(ctx, p)
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type != ir.Orchestration || !hasCarries(f.Body) {
				return f
			}
			c := &carryPass{ctx: ctx, s: newStorage(calls, f), slots: map[*ir.Var]int64{}, copies: map[*ir.Var]*ir.Var{}, used: map[*ir.Var]bool{}}
			c.size(f.Body, false)
			g := *f
			g.Body = c.block(f.Body, false)
			return &g
		}), nil
	},
}

func hasCarries(b ir.Block) bool {
	found := false
	ir.Inspect(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			found = found || len(s.Carries) > 0
		case *ir.While:
			found = found || len(s.Carries) > 0
		}
		return !found
	})
	return found
}

type carryPass struct {
	ctx    *Context
	s      *storage
	slots  map[*ir.Var]int64   // TaskId Vars that are arrays where they are read
	copies map[*ir.Var]*ir.Var // v = w of TaskIds
	used   map[*ir.Var]bool
	fences int
}

// size finds the slots of every TaskId carry, inner loops first.
func (c *carryPass) size(b ir.Block, manual bool) {
	for _, s := range b {
		ir.Exprs(s, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok {
				c.used[v] = true
			}
			return true
		})
		switch s := s.(type) {
		case *ir.Assign:
			if w, ok := s.Value.(*ir.Var); ok && ir.IsTaskID(s.Var.Typ) {
				c.copies[s.Var] = w
			}
		case *ir.If:
			c.size(s.Then, manual)
			c.size(s.Else, manual)
		case *ir.Scope:
			c.size(s.Body, manual || isUserManual(s))
		case *ir.While:
			c.size(s.Body, manual)
			c.inherit(s.Carries, s.Body)
		case *ir.For:
			c.size(s.Body, manual)
			switch {
			case s.Kind != ir.Parallel:
				c.inherit(s.Carries, s.Body)
			case manual:
				for _, x := range s.Carries {
					if ir.IsTaskID(x.Iter.Typ) {
						c.slots[x.Result], _ = constTrips(s)
					}
				}
			}
		}
	}
}

// inherit gives a sequential carry the slots of the inner carry that it yields.
func (c *carryPass) inherit(cs []ir.Carry, body ir.Block) {
	for i, x := range cs {
		if !ir.IsTaskID(x.Iter.Typ) {
			continue
		}
		if y, ok := yielded(body, i).(*ir.Var); ok {
			if n := c.slotsOf(y); n > 0 {
				c.slots[x.Iter], c.slots[x.Result] = n, n
			}
		}
	}
}

func (c *carryPass) slotsOf(e ir.Expr) int64 {
	v, ok := e.(*ir.Var)
	if !ok {
		return 0
	}
	for w := c.copies[v]; w != nil; w = c.copies[v] {
		v = w
	}
	return c.slots[v]
}

// block classifies the loops of a block and puts dummy tasks where an array has to become one id.
func (c *carryPass) block(b ir.Block, manual bool) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		switch s := s.(type) {
		case *ir.For:
			return c.forLoop(s, manual), true
		case *ir.While:
			n := *s
			var pre []ir.Stmt
			n.Carries, pre = c.carries(s.Carries, s.Body, s.Pos)
			n.Body = c.block(s.Body, manual)
			return append(pre, &n), true
		case *ir.If:
			n := *s
			n.Then = c.single(c.block(s.Then, manual), s.Results)
			n.Else = c.single(c.block(s.Else, manual), s.Results)
			if sameBlock(n.Then, s.Then) && sameBlock(n.Else, s.Else) {
				return nil, false
			}
			return []ir.Stmt{&n}, true
		case *ir.Scope:
			n := withBlocks(s, func(b ir.Block) ir.Block { return c.block(b, manual || isUserManual(s)) })
			return []ir.Stmt{n}, n != ir.Stmt(s)
		}
		return nil, false
	})
}

func (c *carryPass) forLoop(s *ir.For, manual bool) []ir.Stmt {
	n := *s
	if s.Kind == ir.Parallel && manual {
		if _, known := constTrips(s); !known {
			for _, x := range s.Carries {
				if ir.IsTaskID(x.Iter.Typ) && x.Slots != ir.GatherSlots && (c.used[x.Iter] || c.used[x.Result]) {
					c.ctx.Report(diag.Errorf(codeDynamicParallel, s.Pos, "task id '%s' is carried by a pl.parallel loop, which must have a statically-known trip count", ir.BaseName(x.Iter.Hint)).
						WithHint("give the loop literal bounds, or collect the ids in pl.array.create(N, pl.TASK_ID)"))
				}
			}
		}
	}
	var pre []ir.Stmt
	n.Carries, pre = c.carries(s.Carries, s.Body, s.Pos)
	if s.Kind == ir.Parallel {
		// In the body the carry of a parallel loop reads its initial value, the same for all trips.
		for i, x := range n.Carries {
			if ir.IsTaskID(x.Iter.Typ) {
				c.slots[x.Iter] = c.slotsOf(n.Carries[i].Init)
			}
		}
	}
	n.Body = c.block(s.Body, manual)
	if s.Kind == ir.Parallel {
		results := make([]*ir.Var, len(n.Carries))
		for i, x := range n.Carries {
			results[i] = x.Result
		}
		n.Body = c.single(n.Body, results) // each trip writes one slot
	}
	return append(pre, &n)
}

// carries classifies the carries of one loop. It also gives dummy tasks for initial arrays of another size.
func (c *carryPass) carries(cs []ir.Carry, body ir.Block, at diag.Span) ([]ir.Carry, []ir.Stmt) {
	out := slices.Clone(cs)
	var pre []ir.Stmt
	for i := range out {
		x := &out[i]
		gathered := x.Slots == ir.GatherSlots
		x.Class, x.Slots = ir.CarryRebind, 0
		y, _ := yielded(body, i).(*ir.Var)
		init, _ := x.Init.(*ir.Var)
		switch {
		case gathered:
			x.Slots = ir.GatherSlots
		case ir.IsTaskID(x.Iter.Typ):
			x.Slots = c.slots[x.Result]
			if m := c.slotsOf(x.Init); m > 0 && m != x.Slots {
				st, v := c.fence(x.Init, at)
				pre, x.Init = append(pre, st), v
			}
		case y == nil || init == nil:
		case isStorage(x.Iter.Typ):
			if c.s.handle(y) == c.s.handle(x.Iter) {
				x.Class = ir.CarryAlias
			}
		case y == x.Iter || y == init:
			x.Class = ir.CarryAlias
		}
	}
	if c.ctx.Explain != nil {
		for _, x := range out {
			c.ctx.Notef(at, "%s", describeCarry(x))
		}
	}
	return out, pre
}

func describeCarry(x ir.Carry) string {
	name := "'" + ir.BaseName(x.Result.Hint) + "'"
	switch {
	case x.Slots == ir.GatherSlots:
		return name + ": the TaskIds of all trips are gathered"
	case x.Slots > 0:
		return fmt.Sprintf("%s: a TaskId per trip is kept, in %d slots", name, x.Slots)
	case x.Class == ir.CarryAlias:
		return name + " stays where it is: each trip gives back what it was given"
	}
	return name + " gets a variable: a trip may give another value than it was given"
}

func (c *carryPass) fence(array ir.Expr, at diag.Span) (ir.Stmt, *ir.Var) {
	v := &ir.Var{Hint: ir.AutoName{Base: "all", Role: "tmp", Version: c.fences}.String(), Typ: ir.TaskIDType, Pos: at}
	c.fences++
	return &ir.Assign{Var: v, Value: dummyTask([]ir.Expr{array}, at), Pos: at}, v
}

// single makes the ids that a block yields to TaskIds among results single ones.
func (c *carryPass) single(b ir.Block, results []*ir.Var) ir.Block {
	y := trailingYield(b)
	if y == nil {
		return b
	}
	var pre []ir.Stmt
	values := y.Values
	for i, v := range y.Values {
		if i >= len(results) || !ir.IsTaskID(results[i].Typ) || c.slotsOf(v) == 0 {
			continue
		}
		st, n := c.fence(v, y.Pos)
		if len(pre) == 0 {
			values = slices.Clone(values)
		}
		pre = append(pre, st)
		values[i] = n
	}
	if len(pre) == 0 {
		return b
	}
	return editEnd(b, func(stmts ir.Block, y *ir.Yield) ir.Block {
		return append(append(slices.Clone(stmts), pre...), &ir.Yield{Values: values, Pos: y.Pos})
	})
}
