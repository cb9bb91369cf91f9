package lower

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// expr turns a scalar expression into its plan form. The rules (passes-codegen 2.11 and the gaps it lists):
//
//   - Division and remainder of integers round down, as in Python. The plain C++ operators do that only for operands that are provably not negative;
//     all others are marked Floored.
//   - True division converts integer operands to the result's type first.
//   - Half-width floats compute in float and are converted back.
//   - Negated literals are literals.
func (l *lowerer) expr(e ir.Expr) plan.Expr {
	switch e := e.(type) {
	case *ir.Var:
		return l.varExpr(e)
	case *ir.ConstInt:
		if e.DType.IsFloat() && e.DType != ir.NoDType {
			return floatConst(float64(e.Value), e.DType)
		}
		if e.DType == ir.BOOL {
			return &plan.Bool{Value: e.Value != 0}
		}
		return &plan.Int{Value: e.Value, DType: e.DType}
	case *ir.ConstFloat:
		return floatConst(e.Value, e.DType)
	case *ir.ConstBool:
		return &plan.Bool{Value: e.Value}
	case *ir.Binary:
		return l.binary(e)
	case *ir.Unary:
		if f := foldNeg(e); f != ir.Expr(e) {
			return l.expr(f)
		}
		return narrow(&plan.Unary{Op: e.Op, X: l.expr(e.X), DType: computeType(e.DType)}, e.DType)
	case *ir.Cast:
		return &plan.Cast{X: l.expr(e.X), DType: e.DType}
	case *ir.TupleGet:
		if t := l.tupleOf(e.X); t != nil && t.call == nil && e.Index < len(t.elems) && t.elems[e.Index] != nil {
			return t.elems[e.Index].ref()
		}
		if t := l.tupleOf(e.X); t != nil && t.call != nil && e.Index < len(t.call.results) && t.call.results[e.Index] != nil {
			return t.call.results[e.Index].ref()
		}
		l.errorf(CodeExpr, e.Pos, "an element of a tuple cannot be used here").WithHint("bind it to a name first")
	case *ir.OpCall:
		l.errorf(CodeExpr, e.Pos, "the call of %s inside an expression has no C++ form", e.Op).WithHint("bind its result to a variable first")
	case *ir.Call:
		l.errorf(CodeExpr, e.Pos, "the call of %s inside an expression has no C++ form", e.Callee).WithHint("bind its result to a variable first")
	default:
		l.errorf(CodeExpr, e.Span(), "this expression has no C++ form")
	}
	return &plan.Int{DType: ir.INDEX}
}

func (l *lowerer) varExpr(v *ir.Var) plan.Expr {
	if s := l.storages[v]; s != nil {
		return s.ref()
	}
	if v.Dyn {
		if d := l.dim(v); d != nil {
			return d
		}
		l.errorf(CodeDim, v.Pos, "dynamic dimension %q is not the extent of any tensor parameter of %s", ir.BaseName(v.Hint), l.fn.Name).
			WithHint("declare a tensor parameter with %s in its shape", ir.BaseName(v.Hint))
	} else {
		l.errorf(CodeUndefined, v.Pos, "%q is read but nothing defines it", ir.BaseName(v.Hint))
	}
	return &plan.Int{DType: ir.INDEX}
}

func floatConst(v float64, d ir.DType) plan.Expr {
	if d == ir.FP32 || d == ir.FP64 {
		return &plan.Float{Value: v, DType: d}
	}
	return &plan.Cast{X: &plan.Float{Value: v, DType: ir.FP32}, DType: d}
}

// foldNeg turns a negated literal into a literal.
func foldNeg(e ir.Expr) ir.Expr {
	u, ok := e.(*ir.Unary)
	if !ok || u.Op != ir.Neg {
		return e
	}
	switch x := foldNeg(u.X).(type) {
	case *ir.ConstInt:
		return &ir.ConstInt{Value: -x.Value, DType: x.DType, Pos: u.Pos}
	case *ir.ConstFloat:
		return &ir.ConstFloat{Value: -x.Value, DType: x.DType, Pos: u.Pos}
	}
	return e
}

// computeType is the type in which C++ computes values of d: half-width floats have no arithmetic of their own.
func computeType(d ir.DType) ir.DType {
	if d.IsFloat() && d != ir.NoDType && d.Bits() < 32 {
		return ir.FP32
	}
	return d
}

func narrow(e plan.Expr, d ir.DType) plan.Expr {
	if computeType(d) != d {
		return &plan.Cast{X: e, DType: d}
	}
	return e
}

func (l *lowerer) binary(e *ir.Binary) plan.Expr {
	b := &plan.Binary{Op: e.Op, X: l.expr(e.X), Y: l.expr(e.Y), DType: computeType(e.DType)}
	switch e.Op {
	case ir.FloorDiv, ir.FloorMod:
		b.Floored = e.DType.IsFloat() || !l.isNonneg(e.X) || !l.isNonneg(e.Y)
	case ir.FloatDiv:
		if !ir.ElemDType(e.X.Type()).IsFloat() {
			b.X = &plan.Cast{X: b.X, DType: b.DType}
		}
		if !ir.ElemDType(e.Y.Type()).IsFloat() {
			b.Y = &plan.Cast{X: b.Y, DType: b.DType}
		}
	}
	if e.DType == ir.BOOL {
		return b
	}
	return narrow(b, e.DType)
}

// isNonneg reports that a scalar is provably not negative: extents, counters of upward loops, and what is computed of them without subtraction.
func (l *lowerer) isNonneg(e ir.Expr) bool {
	if d := ir.ElemDType(e.Type()); d.IsInt() && !d.IsSigned() {
		return true
	}
	switch e := e.(type) {
	case *ir.ConstInt:
		return e.Value >= 0
	case *ir.ConstBool:
		return true
	case *ir.Var:
		return e.Dyn || l.nonneg[e]
	case *ir.Binary:
		switch e.Op {
		case ir.Add, ir.Mul, ir.FloorDiv, ir.Min, ir.Shl, ir.BitOr, ir.BitXor, ir.Pow:
			return l.isNonneg(e.X) && l.isNonneg(e.Y)
		case ir.Max, ir.BitAnd:
			return l.isNonneg(e.X) || l.isNonneg(e.Y)
		case ir.FloorMod:
			return l.isNonneg(e.Y)
		case ir.Shr:
			return l.isNonneg(e.X)
		}
		return e.DType == ir.BOOL
	case *ir.Unary:
		return e.Op == ir.Abs || e.Op == ir.Not
	case *ir.Cast:
		return ir.ElemDType(e.X.Type()) == ir.BOOL || l.isNonneg(e.X)
	case *ir.TupleGet:
		return false
	}
	return false
}

// loopNonneg reports that a loop's variable is never negative.
func (l *lowerer) loopNonneg(s *ir.For) bool {
	step, ok := ir.IntValue(foldNeg(s.Step))
	if !ok {
		return l.isNonneg(s.Step) && l.isNonneg(s.Start)
	}
	if step >= 0 {
		return l.isNonneg(s.Start)
	}
	stop, ok := ir.IntValue(foldNeg(s.Stop))
	return l.isNonneg(s.Stop) || ok && stop >= -1
}

// helpersOf are the helper functions that the expressions of a plan call.
func helpersOf(body []plan.Stmt) plan.Helper {
	var set plan.Helper
	visit := func(e plan.Expr) {
		switch e := e.(type) {
		case *plan.Unary:
			if e.Op == ir.Abs {
				set |= plan.AbsHelper
			}
		case *plan.Binary:
			switch {
			case (e.Floored || e.Op == ir.Pow) && e.DType.IsFloat():
				set |= plan.MathHelper
			case e.Op == ir.Pow:
				set |= plan.PowHelper
			case e.Floored && e.Op == ir.FloorDiv:
				set |= plan.FloorDivHelper
			case e.Floored:
				set |= plan.FloorModHelper
			}
		}
	}
	plan.Walk(body, func(s plan.Stmt) bool {
		plan.Exprs(s, func(e plan.Expr) { plan.WalkExpr(e, visit) })
		return true
	})
	return set
}
