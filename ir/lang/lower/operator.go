package lower

import (
	"math"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Operators on scalars.

var binaryOps = map[string]ir.BinOp{"+": ir.Add, "-": ir.Sub, "*": ir.Mul, "/": ir.FloatDiv, "//": ir.FloorDiv, "%": ir.FloorMod, "<<": ir.Shl, ">>": ir.Shr,
	"**": ir.Pow, "&": ir.BitAnd, "|": ir.BitOr, "^": ir.BitXor}

var compareOps = map[string]ir.BinOp{"==": ir.Eq, "!=": ir.Ne, "<": ir.Lt, "<=": ir.Le, ">": ir.Gt, ">=": ir.Ge}

func (b *body) operation(x syntax.Expr) (ir.Expr, bool) {
	switch x := x.(type) {
	case *syntax.BinOp:
		if x.Op == "xor" && b.mode == Dump {
			l, lok := b.expr(x.X)
			r, rok := b.expr(x.Y)
			return &ir.Binary{Op: ir.Xor, X: l, Y: r, DType: ir.BOOL, Pos: b.at(x)}, lok && rok
		}
		op, known := binaryOps[x.Op]
		if !known || b.mode != Dump && (op == ir.Pow || op >= ir.BitAnd && op <= ir.BitXor) {
			b.errorf(CodeExpression, x, "Unsupported operator '%s': the DSL has + - * / // %% << >>", x.Op)
			return nil, false
		}
		l, lok := b.expr(x.X)
		r, rok := b.expr(x.Y)
		if !lok || !rok {
			return nil, false
		}
		return b.binary(op, l, r, x.X, x.Y, x)
	case *syntax.Compare:
		if len(x.Ops) != 1 && b.mode == Dump {
			return b.comparedAgain(x)
		}
		if len(x.Ops) != 1 {
			b.errorf(CodeExpression, x, "Only simple comparisons supported: a chain such as `a < b < c` is not").WithHint("write `a < b and b < c`")
			return nil, false
		}
		op, known := compareOps[x.Ops[0]]
		if !known {
			d := b.errorf(CodeExpression, x, "Unsupported comparison '%s': the DSL has == != < <= > >=", x.Ops[0])
			if strings.HasPrefix(x.Ops[0], "is") {
				d.WithHint("test a TaskId with pl.system.task_is_valid(tid)")
			}
			return nil, false
		}
		l, lok := b.expr(x.X)
		r, rok := b.expr(x.Ys[0])
		if !lok || !rok {
			return nil, false
		}
		return b.binary(op, l, r, x.X, x.Ys[0], x)
	case *syntax.BoolOp:
		op := ir.And
		if x.Op == "or" {
			op = ir.Or
		}
		var out ir.Expr
		ok := true
		for _, v := range x.Values {
			e, good := b.expr(v)
			if !good {
				ok = false
				continue
			}
			if !ok {
				continue
			}
			if t, isScalar := e.Type().(*ir.ScalarType); (!isScalar || t.DType != ir.BOOL && !t.DType.IsInt()) && !isUnknown(e.Type()) && b.mode != Dump {
				b.errorf(CodeOperand, v, "an operand of '%s' must be a Bool-typed scalar, got %s", x.Op, typeText(e.Type())).
					WithHint("compare it, for example `… != 0`")
				ok = false
				continue
			}
			if out == nil {
				out = e
			} else {
				out = &ir.Binary{Op: op, X: out, Y: e, DType: ir.BOOL, Pos: b.spanOf(x.Values[0], v)}
			}
		}
		return out, ok
	case *syntax.UnaryOp:
		e, ok := b.expr(x.X)
		if !ok {
			return nil, false
		}
		return b.unary(x, e)
	}
	return nil, false
}

// comparedAgain reads `a == b == c` of printed IR, which is a comparison of a comparison.
func (b *body) comparedAgain(x *syntax.Compare) (ir.Expr, bool) {
	e, ok := b.expr(x.X)
	for i, y := range x.Ys {
		r, good := b.expr(y)
		op, known := compareOps[x.Ops[i]]
		if !ok || !good || !known {
			return nil, false
		}
		e = &ir.Binary{Op: op, X: e, Y: r, DType: ir.BOOL, Pos: b.spanOf(x.X, y)}
	}
	return e, ok
}

func (b *body) unary(x *syntax.UnaryOp, e ir.Expr) (ir.Expr, bool) {
	at := b.at(x)
	t, isScalar := e.Type().(*ir.ScalarType)
	if !isScalar && !isUnknown(e.Type()) || isScalar && t.DType == ir.TASK_ID {
		b.errorf(CodeOperand, x.X, "operator '%s' needs a scalar, got %s", x.Op, typeText(e.Type())).WithHint("%s", opHint(x.Op))
		return nil, false
	}
	d := ir.ElemDType(e.Type())
	if d == ir.NoDType {
		d = ir.INDEX
	}
	switch x.Op {
	case "+":
		return e, true
	case "-":
		switch c := e.(type) {
		case *ir.ConstInt:
			if c.Value != math.MinInt64 {
				n := &ir.ConstInt{Value: -c.Value, DType: c.DType, Pos: at}
				if b.typed[c] {
					b.markTyped(n)
				}
				return n, true
			}
		case *ir.ConstFloat:
			return &ir.ConstFloat{Value: -c.Value, DType: c.DType, Pos: at}, true
		}
		if d == ir.BOOL {
			b.errorf(CodeOperand, x, "operator '-' needs a number, got %s", typeText(e.Type()))
			return nil, false
		}
		return &ir.Unary{Op: ir.Neg, X: e, DType: d, Pos: at}, true
	case "not":
		if d != ir.BOOL && !d.IsInt() && isScalar && b.mode != Dump {
			b.errorf(CodeOperand, x.X, "operator 'not' needs a Bool-typed scalar, got %s", typeText(e.Type())).WithHint("compare it: `… == 0`")
			return nil, false
		}
		return &ir.Unary{Op: ir.Not, X: e, DType: ir.BOOL, Pos: at}, true
	case "~":
		if !d.IsInt() && d != ir.BOOL && isScalar {
			b.errorf(CodeOperand, x.X, "operator '~' needs an integer, got %s", typeText(e.Type()))
			return nil, false
		}
		return &ir.Unary{Op: ir.BitNot, X: e, DType: d, Pos: at}, true
	}
	b.errorf(CodeExpression, x, "Unsupported operator '%s'", x.Op)
	return nil, false
}

// opHint names the function that does for tensors and tiles what an operator does for scalars.
func opHint(op string) string {
	if f := map[string]string{"+": "add", "-": "sub", "*": "mul", "/": "div", "&": "and_", "|": "or_", "^": "xor", "<<": "shl", ">>": "shr", "~": "not_",
		"min": "minimum", "max": "maximum"}[op]; f != "" {
		return "for tensors and tiles use pl." + f + "(…)"
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return "for tensors and tiles use pl.cmp(…)"
	}
	return "operators work on scalars only"
}

// isUntyped reports a number that takes the dtype of the other operand: a literal or constant of the module.
func (b *body) isUntyped(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.ConstInt:
		return e.DType == ir.INDEX && !b.typed[e]
	case *ir.ConstFloat:
		return e.DType == ir.FP32
	}
	return false
}

func (b *body) markTyped(c *ir.ConstInt) {
	if b.typed == nil {
		b.typed = map[*ir.ConstInt]bool{}
	}
	b.typed[c] = true
}

// toDType converts a scalar; literals are written in the new dtype. INDEX and INT64 are interchangeable.
func (b *body) toDType(e ir.Expr, d ir.DType, at diag.Span) ir.Expr {
	from := ir.ElemDType(e.Type())
	if from == d || from == ir.NoDType || d == ir.NoDType {
		return e
	}
	if b.isUntyped(e) {
		switch c := e.(type) {
		case *ir.ConstInt:
			if d.IsInt() {
				return &ir.ConstInt{Value: c.Value, DType: d, Pos: c.Pos}
			}
			if d.IsFloat() {
				return &ir.ConstFloat{Value: float64(c.Value), DType: d, Pos: c.Pos}
			}
		case *ir.ConstFloat:
			if d.IsFloat() {
				return &ir.ConstFloat{Value: c.Value, DType: d, Pos: c.Pos}
			}
		}
	}
	if from == ir.INDEX && d == ir.INT64 || from == ir.INT64 && d == ir.INDEX {
		return e
	}
	return &ir.Cast{X: e, DType: d, Pos: at}
}

// toParam gives a literal the dtype of the parameter it is passed to. Everything else is passed as it is.
func (b *body) toParam(e ir.Expr, d ir.DType) ir.Expr {
	if !b.isUntyped(e) || d == ir.INDEX || d == ir.INT64 || d == ir.BOOL || d == ir.TASK_ID {
		return e
	}
	if _, isFloat := e.(*ir.ConstFloat); isFloat && !d.IsFloat() {
		return e
	}
	return b.toDType(e, d, e.Span())
}

// binary builds X op Y: numeric operands are promoted, constants of the module are folded.
func (b *body) binary(op ir.BinOp, l, r ir.Expr, ln, rn, x syntax.Node) (ir.Expr, bool) {
	at := b.at(x)
	name := op.String()
	for i, e := range []ir.Expr{l, r} {
		t, n := e.Type(), ln
		if i == 1 {
			n = rn
		}
		if s, isScalar := t.(*ir.ScalarType); (!isScalar || s.DType == ir.TASK_ID) && !isUnknown(t) {
			b.errorf(CodeOperand, n, "operator '%s' needs scalars, got %s", name, typeText(t)).WithHint("%s", opHint(name))
			return nil, false
		}
	}
	ld, rd := ir.ElemDType(l.Type()), ir.ElemDType(r.Type())
	if ld == ir.NoDType || rd == ir.NoDType {
		d := ld
		switch {
		case op.IsCompare():
			d = ir.BOOL
		case ld == ir.NoDType && rd == ir.NoDType:
			d = ir.INDEX // nothing is known; most scalars are indices
		case ld == ir.NoDType:
			d = rd
		}
		return &ir.Binary{Op: op, X: l, Y: r, DType: d, Pos: at}, true
	}
	result := ld
	switch {
	case ld == ir.BOOL && rd == ir.BOOL && (op == ir.Eq || op == ir.Ne || b.mode == Dump):
	case op.IsCompare() && b.besideLiteral(l, r):
		// In a comparison the literal stays an INDEX and the scalar is widened: `rc[0] > 0` is Gt(Cast(tensor.read), 0). INT64 needs no cast.
		l, r = b.widened(l, b.at(ln)), b.widened(r, b.at(rn))
	case b.isUntyped(l) && !b.isUntyped(r) && fits(l, rd):
		l, result = b.toDType(l, rd, b.at(ln)), rd
	case b.isUntyped(r) && !b.isUntyped(l) && fits(r, ld):
		r = b.toDType(r, ld, b.at(rn))
	case b.isUntyped(l) && b.isUntyped(r) && ld != rd && fits(l, rd):
		l, result = b.toDType(l, rd, b.at(ln)), rd // 2 * 0.5
	case b.isUntyped(l) && b.isUntyped(r) && ld != rd && fits(r, ld):
		r = b.toDType(r, ld, b.at(rn))
	case ld.IsInt() && rd.IsInt(), ld.IsFloat() && rd.IsFloat():
		if rd.Bits() > ld.Bits() {
			result = rd
		}
		if b.mode != Dump {
			l, r = b.toDType(l, result, b.at(ln)), b.toDType(r, result, b.at(rn))
		}
	case b.mode == Dump: // a pass may leave what no user could write
	default:
		b.errorf(CodeOperand, x, "operator '%s' requires same numeric dtype category, got %s and %s", name, ld, rd).
			WithHint("convert one side with pl.cast(x, pl.%s)", ld.Name())
		return nil, false
	}
	if op.IsCompare() {
		result = ir.BOOL
	}
	if b.mode != Dump {
		if e := b.fold(op, l, r, result, at); e != nil {
			return e, true
		}
	}
	if op == ir.FloatDiv && result.IsInt() && b.mode != Dump {
		b.u.warnf(CodeOperand, at, "'/' of two integers (%s) drops the fraction in the generated code", result).WithHint("write // if that is meant, or convert to floats with pl.cast")
	}
	if (op == ir.FloorDiv || op == ir.FloorMod) && b.mode != Dump {
		if n, isLit := ir.IntValue(r); isLit && n == 0 {
			b.errorf(CodeOperand, rn, "division by zero")
			return nil, false
		}
	}
	return &ir.Binary{Op: op, X: l, Y: r, DType: result, Pos: at}, true
}

// besideLiteral reports a signed integer scalar beside an integer literal.
func (b *body) besideLiteral(l, r ir.Expr) bool {
	if b.isUntyped(l) == b.isUntyped(r) {
		return false
	}
	ld, rd := ir.ElemDType(l.Type()), ir.ElemDType(r.Type())
	if b.mode == Dump {
		return ld == ir.INT64 || rd == ir.INT64
	}
	return ld.IsInt() && rd.IsInt() && ld != ir.UINT64 && rd != ir.UINT64
}

// widened is an integer as an INDEX, or as the INT64 that it is.
func (b *body) widened(e ir.Expr, at diag.Span) ir.Expr {
	if ir.ElemDType(e.Type()) == ir.INT64 {
		return e
	}
	return b.toDType(e, ir.INDEX, at)
}

// fits reports whether an untyped number can be written in d.
func fits(e ir.Expr, d ir.DType) bool {
	switch e.(type) {
	case *ir.ConstInt:
		return d.IsInt() || d.IsFloat()
	case *ir.ConstFloat:
		return d.IsFloat()
	}
	return false
}

// fold computes an operation on two integer literals that stand for constants of the module or of an unrolled comprehension.
func (b *body) fold(op ir.BinOp, l, r ir.Expr, d ir.DType, at diag.Span) ir.Expr {
	x, ok1 := l.(*ir.ConstInt)
	y, ok2 := r.(*ir.ConstInt)
	if !ok1 || !ok2 || !b.isUntyped(l) || !b.isUntyped(r) {
		return nil
	}
	e := ir.Simplify(&ir.Binary{Op: op, X: x, Y: y, DType: d, Pos: at})
	switch c := e.(type) {
	case *ir.ConstInt:
		return &ir.ConstInt{Value: c.Value, DType: c.DType, Pos: at}
	case *ir.ConstBool:
		return &ir.ConstBool{Value: c.Value, Pos: at}
	}
	return nil
}
