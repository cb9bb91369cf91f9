package lower

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// maxPredicateRank is how many indices the runtime's predicate holds.
const maxPredicateRank = 5

var flipped = map[ir.BinOp]ir.BinOp{ir.Eq: ir.Eq, ir.Ne: ir.Ne, ir.Lt: ir.Gt, ir.Gt: ir.Lt, ir.Le: ir.Ge, ir.Ge: ir.Le}

// predicate takes a comparison of an element with a literal apart. The read in it is never executed (mission document 004, "Dispatch predicate").
func (l *lowerer) predicate(e ir.Expr, params *plan.Name, at diag.Span) *plan.Predicate {
	if e.Span().IsValid() {
		at = e.Span()
	}
	fail := func(format string, args ...any) *plan.Predicate {
		l.errorf(CodePredicate, at, format, args...).WithHint("write predicate=(t[i] > 0): one element of a named tensor against an integer literal")
		return nil
	}
	cmp, ok := e.(*ir.Binary)
	if !ok || !cmp.Op.IsCompare() {
		return fail("predicate= must be a single comparison")
	}
	op, x, y := cmp.Op, stripCasts(cmp.X), foldNeg(stripCasts(cmp.Y))
	if c, ok := foldNeg(x).(*ir.ConstInt); ok {
		op, x, y = flipped[op], stripCasts(cmp.Y), c
	}
	target, ok := y.(*ir.ConstInt)
	if !ok {
		return fail("predicate= must compare with an integer literal")
	}
	read, ok := x.(*ir.OpCall)
	if !ok || len(read.Args) < 2 {
		return fail("predicate= must read one element of a tensor: a single comparison of t[i] with an integer literal")
	}
	v, ok := read.Args[0].(*ir.Var)
	if !ok || l.storages[v] == nil || l.storages[v].name == nil {
		return fail("the operand of predicate= must be a named tensor")
	}
	if d := ir.ElemDType(v.Typ); !d.IsInt() || !d.IsSigned() || d == ir.INT4 {
		return fail("the operand of predicate= must be a tensor of signed 8/16/32/64-bit integers, not %s", d)
	}
	list, ok := read.Args[1].(*ir.MakeTuple)
	if !ok {
		return fail("the operand of predicate= must be subscripted to one element")
	}
	if len(list.Elems) > maxPredicateRank {
		return fail("predicate= has %d indices, more than the maximum of 5", len(list.Elems))
	}
	p := &plan.Predicate{Name: l.names.derived(params, "", "_pred"), Tensor: l.storages[v].name, Op: op, Target: target.Value}
	for _, i := range list.Elems {
		i = foldNeg(i)
		if n, ok := ir.IntValue(i); ok && n < 0 {
			return fail("index %d of predicate= is negative", n)
		}
		p.Index = append(p.Index, l.expr(i))
	}
	return p
}

func stripCasts(e ir.Expr) ir.Expr {
	for {
		c, ok := e.(*ir.Cast)
		if !ok {
			return e
		}
		e = c.X
	}
}
