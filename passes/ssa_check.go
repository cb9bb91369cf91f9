package passes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// checkNames reports names that clash with generated ones.
func (s *ssa) checkNames() {
	bad := make([]*variable, 0)
	for _, v := range s.vars {
		if strings.Contains(v.src.Hint, "__") {
			bad = append(bad, v)
		}
	}
	slices.SortFunc(bad, func(a, b *variable) int { return cmp.Compare(a.order, b.order) })
	for _, v := range bad {
		s.ctx.Report(ir.CheckUserName(v.src))
	}
}

// checkHeader reports what the expressions of a statement read without a value.
func (s *ssa) checkHeader(st ir.Stmt) {
	if s.missed {
		s.missed = false
		ir.Exprs(st, s.checkSet)
	}
}

// checkSet reports the Vars of e that have no value.
func (s *ssa) checkSet(e ir.Expr) bool {
	if v, ok := e.(*ir.Var); ok {
		if x := s.vars[v]; x != nil && x.cur == nil {
			s.unset(x)
		}
	}
	return true
}

// unset reports a read of a variable that may have no value.
func (s *ssa) unset(v *variable) {
	if v.told {
		return
	}
	v.told = true
	at := v.src.Pos
	if s.at != nil {
		at = s.at.Span()
	}
	d := diag.Errorf(codeMaybeUnset, at, "'%s' is read here but may have no value", v.src.Hint)
	if v.at != nil {
		d.Message += ": it is set only inside " + v.place + ", so this use is outside its defining scope"
		d.WithRelated(v.at.Span(), "set only inside %s", v.place)
	}
	d.WithHint("give '%s' a value before this point on every path", v.src.Hint)
	if ir.IsTaskID(v.src.Typ) { // behaviour C-DEP-08
		d.Message += "; a dependency on it cannot be honored"
		d.WithHint("write `%s = None` before it, to say that there may be no task", v.src.Hint)
	}
	s.ctx.Report(d)
}

// checkYield reports a body whose trailing yield does not give the want values that the user asked for.
func (s *ssa) checkYield(b ir.Block, want int, st ir.Stmt, what string) {
	y := ir.ClosingYield(b)
	switch {
	case y == nil && want > 0:
		s.ctx.Report(diag.Errorf(codeYieldCount, st.Span(), "%s must end in a yield of %d value(s)", what, want).
			WithHint("end it with pl.yield_ of the values that go on"))
	case y != nil && len(y.Values) != want:
		s.ctx.Report(diag.Errorf(codeYieldCount, y.Pos, "%s yields %d value(s), %d expected", what, len(y.Values), want).
			WithHint("a loop yields one value for each of its init_values, a branch one for each result"))
	}
}

// checkSame reports a variable that meets itself with another shape or dtype.
func (s *ssa) checkSame(v *variable, a, b *ir.Var, whereA, whereB string, st ir.Stmt) {
	if compatible(a.Typ, b.Typ) {
		return
	}
	s.ctx.Report(diag.Errorf(codeCarryType, st.Span(), "'%s' has another type %s (%s) than %s (%s)", v.src.Hint, whereB, typeText(b.Typ), whereA, typeText(a.Typ)).
		WithHint("use a new name for the value of the other type"))
}

// compatible reports types that one variable may have on two paths: of one kind, dtype and rank, with literal extents that agree. Layouts and
// valid regions may differ, and types that are not known fit everything.
func compatible(a, b ir.Type) bool {
	if a == ir.Type(ir.Unknown) || b == ir.Type(ir.Unknown) {
		return true
	}
	da, db := ir.ElemDType(a), ir.ElemDType(b)
	if da != db && !(isWide(da) && isWide(db)) || ir.IsTensor(a) != ir.IsTensor(b) {
		return false
	}
	sa, sb := ir.ShapeOf(a), ir.ShapeOf(b)
	if len(sa) != len(sb) {
		return false
	}
	for i := range sa {
		x, ok1 := ir.IntValue(sa[i])
		y, ok2 := ir.IntValue(sb[i])
		if ok1 && ok2 && x != y {
			return false
		}
	}
	return true
}

// isWide reports the integer dtypes of full width, which the language does not keep apart.
func isWide(d ir.DType) bool { return d == ir.INDEX || d == ir.INT64 }

func typeText(t ir.Type) string {
	var b strings.Builder
	b.WriteString(ir.ElemDType(t).String())
	if shape := ir.ShapeOf(t); shape != nil {
		b.WriteString("[")
		for i, d := range shape {
			if i > 0 {
				b.WriteString(", ")
			}
			switch d := d.(type) {
			case *ir.ConstInt:
				b.WriteString(strconv.FormatInt(d.Value, 10))
			case *ir.Var:
				b.WriteString(ir.BaseName(d.Hint))
			default:
				b.WriteString("?")
			}
		}
		b.WriteString("]")
	}
	return b.String()
}

func isShaped(t ir.Type) bool { return ir.ShapeOf(t) != nil }
