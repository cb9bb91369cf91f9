package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// structure replaces break, continue and early returns of a function by ifs and flags, so that control flow is nested. It is the first step of
// ConvertToSSA (spec: passes-codegen 1.1 no. 3, for all kinds of functions).
//
//   - What follows an if whose branch always leaves moves into the other branch. Where a branch leaves only sometimes, a flag guards what
//     follows.
//   - A loop with a break gets a flag that is false before it: a for runs its remaining trips empty, a while tests it first.
//   - Returns in branches assign the results, which are returned once, at the end. A return inside a loop is an error, as are
//     break and continue in a loop or branch that yields values explicitly: it would have to yield there too.
func structure(ctx *Context, f *ir.Function) (*ir.Function, exits) {
	if !leaves(f.Body) {
		return f, exits{}
	}
	out := *f
	r := &region{ctx: ctx, exits: exits{flags: map[*ir.If]exitFlag{}, results: map[*ir.Var]bool{}}}
	out.Body = structureBody(r, f)
	return &out, r.exits
}

// exits is what ConvertToSSA has to know of them.
type exits struct {
	// flags holds, for each if on whose paths a flag may become or is known to be false, that flag: a variable that has no value on a
	// path where the flag is false is not read there.
	flags map[*ir.If]exitFlag
	// results are the variables of the results of early returns.
	results map[*ir.Var]bool
}

// exitFlag is the flag of the region that an if belongs to. With guards set, the if tests it.
type exitFlag struct {
	on     *ir.Var
	guards bool
}

// leaves reports a break, a continue or a return that is not the last statement of the function.
func leaves(b ir.Block) bool {
	last := trailingReturn(b)
	found := false
	ir.Inspect(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Branch:
			found = true
		case *ir.Return:
			found = found || s != last
		}
		return !found
	})
	return found
}

// region is a function body or a loop body: what an exit leaves.
type region struct {
	exits
	ctx  *Context
	loop ir.Stmt   // nil: the function
	brk  *ir.Var   // set by break
	on   *ir.Var   // false once the region was left; made where something sometimes leaves
	rets []*ir.Var // the results of the function
}

// structureBody rewrites the body of f, with its returns if there are early ones.
func structureBody(r *region, f *ir.Function) ir.Block {
	early := 0
	var first *ir.Return
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		if x, ok := s.(*ir.Return); ok {
			early++
			if first == nil {
				first = x
			}
		}
		return true
	})
	if early == 0 || early == 1 && trailingReturn(f.Body) != nil {
		return r.seq(f.Body) // only loops have exits
	}
	for _, v := range first.Values {
		x := &ir.Var{Hint: "result", Typ: v.Type(), Pos: first.Pos}
		r.rets, r.results[x] = append(r.rets, x), true
	}
	if len(r.rets) > 0 && !alwaysLeaves(f.Body) {
		r.ctx.Report(diag.Errorf(codeReturn, first.Pos, "'%s' returns a value here but not on every path", f.Name).
			WithHint("assign the result in the branches and return it once, at the end"))
		return f.Body
	}
	body := r.enter(r.seq(f.Body))
	end := &ir.Return{Pos: first.Pos}
	for _, v := range r.rets {
		end.Values = append(end.Values, v)
	}
	return append(body, end)
}

// enter puts the flag of the region before its statements.
func (r *region) enter(b ir.Block) ir.Block {
	if r.on == nil {
		return b
	}
	return append(ir.Block{r.set(r.on, true, b)}, b...)
}

// set assigns a flag, at the place of the statement near it.
func (r *region) set(v *ir.Var, value bool, near ir.Block) ir.Stmt {
	a := &ir.Assign{Var: v, Value: &ir.ConstBool{Value: value, Pos: v.Pos}, Pos: v.Pos}
	if len(near) > 0 {
		a.Pos = near[0].Span()
	}
	return a
}

// leave is what a break, continue or return becomes.
func (r *region) leave(s ir.Stmt) ir.Block {
	var out ir.Block
	switch s := s.(type) {
	case *ir.Branch:
		if !s.Continue {
			out = append(out, r.set(r.brk, true, ir.Block{s}))
		}
	case *ir.Return:
		if r.loop != nil {
			r.report(codeReturn, s, "a return inside a loop is not supported", "leave the loop with break and return after it")
			return nil
		}
		if len(s.Values) != len(r.rets) {
			r.report(codeReturn, s, "this return gives another number of values than the others of the function", "return as many values everywhere")
			return nil
		}
		for i, v := range s.Values {
			out = append(out, &ir.Assign{Var: r.rets[i], Value: v, Pos: s.Pos})
		}
	}
	if r.on != nil {
		out = append(out, r.set(r.on, false, ir.Block{s}))
	}
	return out
}

func (r *region) report(code diag.Code, s ir.Stmt, what, hint string) {
	r.ctx.Report(diag.Errorf(code, s.Span(), "%s", what).WithHint("%s", hint))
}

// seq rewrites the statements of a block so that nothing leaves it early.
func (r *region) seq(b ir.Block) ir.Block {
	if b = r.statements(b); len(b) == 0 {
		return nil // an else branch is there or not
	}
	return b
}

func (r *region) statements(b ir.Block) ir.Block {
	out := make(ir.Block, 0, len(b))
	for i, s := range b {
		rest := b[i+1:]
		switch s := s.(type) {
		case *ir.Branch:
			return append(out, r.leave(s)...)
		case *ir.Return:
			if r.rets == nil && r.loop == nil && trailingReturn(b) == s {
				return append(out, s)
			}
			return append(out, r.leave(s)...)
		case *ir.For:
			out = append(out, r.forLoop(s)...)
			continue
		case *ir.While:
			out = append(out, r.whileLoop(s)...)
			continue
		case *ir.If:
			if !r.leaves(s) {
				out = append(out, mapNested(s, r.seq))
				continue
			}
			if len(s.Results) > 0 {
				r.report(codeBranch, s, "a branch that yields values cannot leave its loop or function", "leave before or after the if")
				return out
			}
			c := *s
			r.flags[&c] = exitFlag{on: r.on}
			switch {
			case alwaysLeaves(ir.Block{s}): // what follows is never reached
				c.Then, c.Else = r.seq(s.Then), r.seq(s.Else)
				return append(out, &c)
			case alwaysLeaves(s.Then):
				c.Then, c.Else = r.seq(s.Then), r.seq(join(s.Else, rest))
				return append(out, &c)
			case alwaysLeaves(s.Else):
				c.Then, c.Else = r.seq(join(s.Then, rest)), r.seq(s.Else)
				return append(out, &c)
			}
			r.guard(s)
			r.flags[&c] = exitFlag{on: r.on}
			c.Then, c.Else = r.seq(s.Then), r.seq(s.Else)
			return append(append(out, &c), r.guarded(s, rest)...)
		case *ir.Scope:
			if !r.leaves(s) || r.rets == nil && r.loop == nil && trailingReturn(s.Body) != nil && len(rest) == 0 {
				out = append(out, mapNested(s, r.seq))
				continue
			}
			r.guard(s)
			c := *s
			c.Body = r.seq(s.Body)
			if alwaysLeaves(s.Body) {
				return append(out, &c)
			}
			return append(append(out, &c), r.guarded(s, rest)...)
		default:
			out = append(out, s)
		}
	}
	return out
}

// guard makes the flag of the region.
func (r *region) guard(s ir.Stmt) {
	if r.on == nil {
		r.on = &ir.Var{Hint: "on", Typ: ir.BoolType, Pos: s.Span()}
	}
}

// guarded runs rest unless the region was left.
func (r *region) guarded(s ir.Stmt, rest ir.Block) ir.Block {
	if len(rest) == 0 {
		return nil
	}
	c := &ir.If{Cond: r.on, Then: r.seq(rest), Pos: s.Span()}
	r.flags[c] = exitFlag{r.on, true}
	return ir.Block{c}
}

func join(a, b ir.Block) ir.Block { return append(a[:len(a):len(a)], b...) }

// leaves reports that s may leave the region.
func (r *region) leaves(s ir.Stmt) bool {
	found := false
	ir.Inspect(ir.Block{s}, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.Branch, *ir.Return:
			found = true
		case *ir.For, *ir.While:
			return false // has exits of its own; returns are reported there
		}
		return !found
	})
	return found
}

// alwaysLeaves reports that control never reaches the end of b.
func alwaysLeaves(b ir.Block) bool {
	for _, s := range b {
		switch s := s.(type) {
		case *ir.Branch, *ir.Return:
			return true
		case *ir.If:
			if s.Else != nil && alwaysLeaves(s.Then) && alwaysLeaves(s.Else) {
				return true
			}
		case *ir.Scope:
			if alwaysLeaves(s.Body) {
				return true
			}
		}
	}
	return false
}

// loopBody rewrites the body of a loop; brk is nil when nothing breaks.
func (r *region) loopBody(s ir.Stmt, body ir.Block, carries int) (_ ir.Block, brk *ir.Var) {
	in := &region{ctx: r.ctx, loop: s, exits: r.exits}
	branch := false
	ir.Inspect(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Branch:
			branch = true
			if !s.Continue && in.brk == nil {
				in.brk = &ir.Var{Hint: "stop", Typ: ir.BoolType, Pos: s.Pos}
			}
		case *ir.For, *ir.While:
			return false
		}
		return true
	})
	if branch && carries > 0 {
		r.report(codeBranch, s, "break and continue are not supported in a loop with init_values", "guard the rest of the body with an if")
		return body, nil
	}
	return in.enter(in.seq(body)), in.brk
}

func (r *region) forLoop(s *ir.For) ir.Block {
	body, brk := r.loopBody(s, s.Body, len(s.Carries))
	c := *s
	c.Body = body
	if brk == nil {
		return ir.Block{&c}
	}
	c.Body = ir.Block{&ir.If{Cond: not(brk), Then: body, Pos: s.Pos}}
	return ir.Block{r.set(brk, false, ir.Block{s}), &c}
}

func (r *region) whileLoop(s *ir.While) ir.Block {
	body, brk := r.loopBody(s, s.Body, len(s.Carries))
	c := *s
	c.Body = body
	if brk == nil {
		return ir.Block{&c}
	}
	c.Cond = &ir.Binary{Op: ir.And, X: not(brk), Y: s.Cond, DType: ir.BOOL, Pos: s.Cond.Span()}
	return ir.Block{r.set(brk, false, ir.Block{s}), &c}
}

func not(v *ir.Var) ir.Expr { return &ir.Unary{Op: ir.Not, X: v, DType: ir.BOOL, Pos: v.Pos} }
