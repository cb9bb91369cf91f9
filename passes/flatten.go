package passes

import (
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// FlattenCallExpr gives every call a statement of its own (spec: passes-codegen 1.4 no. 7; behaviours P-FLT-*).
//
// A call inside call arguments, operands, an if condition, loop bounds, carry inits, returns, yields or a scope header is bound to
// t__tmp_vN directly before the statement, in the same block and in the order of evaluation. The right side of `and` and `or` runs only when
// the left one asks for it. A while condition with calls becomes a carry: it is computed before the loop and again at the end
// of each trip. Deps and predicates of a launch stay as they are: they are never executed in statement position.
var flattenCalls = &Pass{
	Name:     "FlattenCallExpr",
	Doc:      "bind nested calls to variables of their own",
	Requires: []ir.Property{ir.SSAForm, ir.NormalizedStmtStructure},
	Produces: []ir.Property{ir.SSAForm, ir.NoNestedCalls, ir.NormalizedStmtStructure},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			first := nextTemp(f)
			fl := &flattener{next: first}
			body := fl.block(f.Body)
			if sameBlock(body, f.Body) {
				return f
			}
			ctx.Notef(f.Pos, "%d nested call(s) of %s get a variable", fl.next-first, f.Name)
			out := *f
			out.Body = body
			return &out
		}), nil
	},
}

// flattener flattens one function.
type flattener struct {
	next int      // number of the next temporary
	pre  ir.Block // what goes before the statement at hand
}

// nextTemp is the first free number of a temporary in f: dumps may hold some.
func nextTemp(f *ir.Function) int {
	n := 0
	innerDefs(f.Body, func(v *ir.Var) {
		if v != nil && len(v.Hint) > 8 && v.Hint[:8] == "t__tmp_v" {
			if k, err := strconv.Atoi(v.Hint[8:]); err == nil {
				n = max(n, k+1)
			}
		}
	})
	return n
}

func (f *flattener) temp(t ir.Type, at diag.Span) *ir.Var {
	v := &ir.Var{Hint: "t__tmp_v" + strconv.Itoa(f.next), Typ: t, Pos: at}
	f.next++
	return v
}

func (f *flattener) block(b ir.Block) ir.Block {
	outer := f.pre
	b = rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		f.pre = nil
		n := f.stmt(s)
		if len(f.pre) == 0 {
			return []ir.Stmt{n}, n != s
		}
		return append(f.pre, n), true
	})
	f.pre = outer
	return b
}

func (f *flattener) stmt(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.Assign, *ir.Eval:
		return withExprs(s, f.top)
	case *ir.Return, *ir.Yield:
		return withExprs(s, f.expr)
	case *ir.If:
		c := *s
		c.Cond = f.expr(s.Cond)
		n := mapNested(&c, f.block).(*ir.If)
		if n != &c || n.Cond != s.Cond {
			return n
		}
	case *ir.For:
		c := *s
		c.Start, c.Stop, c.Step = f.expr(s.Start), f.expr(s.Stop), f.expr(s.Step)
		carries, changed := f.carries(s.Carries)
		c.Carries = carries
		n := mapNested(&c, f.block).(*ir.For)
		if n != &c || changed || n.Start != s.Start || n.Stop != s.Stop || n.Step != s.Step {
			return n
		}
	case *ir.While:
		return f.while(s)
	case *ir.Scope:
		c := *s
		c.Launch.CoreNum = f.expr(s.Launch.CoreNum)
		n := mapNested(&c, f.block).(*ir.Scope)
		if n != &c || n.Launch.CoreNum != s.Launch.CoreNum {
			return n
		}
	}
	return s
}

func (f *flattener) carries(cs []ir.Carry) ([]ir.Carry, bool) {
	return mapList(cs, func(c ir.Carry) ir.Carry {
		c.Init = f.expr(c.Init)
		return c
	})
}

// top flattens an expression that may itself be a call.
func (f *flattener) top(e ir.Expr) ir.Expr {
	if !nests(e) {
		return e
	}
	switch e.(type) {
	case *ir.OpCall, *ir.Call:
		return withOperands(e, f.expr)
	}
	return f.expr(e)
}

// nests reports a call below e: the cheap test that spares most statements the rebuilding.
func nests(e ir.Expr) bool {
	found := false
	ir.Walk(e, func(x ir.Expr) bool {
		switch x.(type) {
		case *ir.Call, *ir.OpCall:
			found = found || x != e
		}
		return !found
	})
	return found
}

// expr returns e without calls: each one is bound before the statement at hand.
func (f *flattener) expr(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *ir.Binary:
		if e.Op.IsLogic() && e.Op != ir.Xor && hasCall(e.Y) {
			return f.shortCircuit(e, f.expr(e.X))
		}
	case *ir.OpCall, *ir.Call:
		call := withOperands(e, f.expr)
		v := f.temp(call.Type(), e.Span())
		f.pre = append(f.pre, &ir.Assign{Var: v, Value: call, Pos: e.Span()})
		return v
	}
	return withOperands(e, f.expr)
}

// shortCircuit evaluates the right side of `and` or `or` only when the left side does not decide.
func (f *flattener) shortCircuit(e *ir.Binary, x ir.Expr) ir.Expr {
	outer := f.pre
	f.pre = nil
	y := f.expr(e.Y)
	run := append(f.pre, &ir.Yield{Values: []ir.Expr{y}, Pos: e.Pos})
	f.pre = outer
	skip := ir.Block{&ir.Yield{Values: []ir.Expr{&ir.ConstBool{Value: e.Op == ir.Or, Pos: e.Pos}}, Pos: e.Pos}}
	v := f.temp(ir.BoolType, e.Pos)
	s := &ir.If{Cond: x, Then: run, Else: skip, Results: []*ir.Var{v}, Pos: e.Pos}
	if e.Op == ir.Or {
		s.Then, s.Else = s.Else, s.Then
	}
	f.pre = append(f.pre, s)
	return v
}

// while turns a condition with calls into a carried BOOL that is computed before the loop and at the end of each trip.
func (f *flattener) while(s *ir.While) ir.Stmt {
	c := *s
	carries, changed := f.carries(s.Carries)
	c.Carries = carries
	if !hasCall(s.Cond) {
		n := mapNested(&c, f.block).(*ir.While)
		if n != &c || changed {
			return n
		}
		return s
	}
	at := s.Cond.Span()
	// evaluate binds the calls of the condition with the given values for the Iter Vars.
	evaluate := func(values func(i int) ir.Expr) ir.Expr {
		r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
			if v, ok := e.(*ir.Var); ok {
				for i := range s.Carries {
					if s.Carries[i].Iter == v {
						return values(i)
					}
				}
			}
			return copyCall(e)
		}}
		return f.expr(r.Rewrite(s.Cond))
	}
	init := evaluate(func(i int) ir.Expr { return carries[i].Init })
	before := f.pre

	iter, result := f.temp(ir.BoolType, at), f.temp(ir.BoolType, at)
	iter.Hint, result.Hint = "t__iter_v"+iter.Hint[len("t__tmp_v"):], "t__rv_v"+result.Hint[len("t__tmp_v"):]
	c.Cond = iter
	c.Carries = append(carries[:len(carries):len(carries)], ir.Carry{Iter: iter, Init: init, Result: result})
	c.Body = editEnd(f.block(s.Body), func(b ir.Block, y *ir.Yield) ir.Block {
		n := &ir.Yield{Pos: at}
		if y != nil {
			n.Pos, n.Values = y.Pos, y.Values[:len(y.Values):len(y.Values)]
		}
		f.pre = nil
		again := evaluate(func(i int) ir.Expr { return n.Values[i] })
		n.Values = append(n.Values, again)
		return append(append(b[:len(b):len(b)], f.pre...), n)
	})
	f.pre = before
	return &c
}
