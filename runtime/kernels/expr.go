package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

// Scalar expressions. Integers and booleans are int64, floats are float64 rounded to their dtype after each operation. An expression that fails sets
// m.err and gives 0; the statement around it stops.

// intExpr is a compiled integer expression: a constant when f is nil.
type intExpr struct {
	c int64
	f func(m *machine) int64
}

func (x intExpr) eval(m *machine) int64 {
	if x.f == nil {
		return x.c
	}
	return x.f(m)
}

// floatExpr is a compiled float expression.
type floatExpr struct {
	c float64
	f func(m *machine) float64
}

func (x floatExpr) eval(m *machine) float64 {
	if x.f == nil {
		return x.c
	}
	return x.f(m)
}

func constInt(v int64) intExpr       { return intExpr{c: v} }
func constFloat(v float64) floatExpr { return floatExpr{c: v} }

func hasFloatType(e ir.Expr) bool { return isFloat(ir.ElemDType(e.Type())) }

// intExpr compiles an integer or boolean expression; a float is truncated.
func (c *compiler) intExpr(e ir.Expr) intExpr {
	if hasFloatType(e) {
		x := c.floatExpr(e)
		return intExpr{f: func(m *machine) int64 { return saturate(math.Trunc(x.eval(m)), ir.INT64) }}
	}
	switch e := e.(type) {
	case *ir.ConstInt:
		return constInt(e.Value)
	case *ir.ConstBool:
		if e.Value {
			return constInt(1)
		}
		return constInt(0)
	case *ir.Var, *ir.TupleGet:
		s := c.lookup(e)
		if s.kind != intSlot {
			c.errorf(CodeExpr, e.Span(), "%s is no integer", ir.PrintExpr(e))
			return constInt(0)
		}
		i := s.i
		return intExpr{f: func(m *machine) int64 { return m.ints[i] }}
	case *ir.Cast:
		if hasFloatType(e.X) {
			x, d := c.floatExpr(e.X), e.DType
			return intExpr{f: func(m *machine) int64 {
				if d == ir.BOOL {
					return truth(x.eval(m) != 0)
				}
				return saturate(math.Trunc(x.eval(m)), d)
			}}
		}
		return wrapped(c.intExpr(e.X), e.DType)
	case *ir.Unary:
		return c.intUnary(e)
	case *ir.Binary:
		return c.intBinary(e)
	case *ir.OpCall:
		return c.intOp(e)
	case *ir.Call:
		s := c.newSlot(e.Typ)
		c.call(e, s)
		if s.kind == intSlot {
			i := s.i
			return intExpr{f: func(m *machine) int64 { return m.ints[i] }}
		}
	}
	c.errorf(CodeExpr, e.Span(), "%s cannot stand in a kernel as an integer", ir.PrintExpr(e))
	return constInt(0)
}

// wrapped narrows to a dtype.
func wrapped(x intExpr, d ir.DType) intExpr {
	switch d {
	case ir.INDEX, ir.INT64, ir.UINT64, ir.NoDType:
		return x
	}
	if x.f == nil {
		return constInt(wrap(x.c, d))
	}
	return intExpr{f: func(m *machine) int64 { return wrap(x.f(m), d) }}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (c *compiler) intUnary(e *ir.Unary) intExpr {
	x := c.intExpr(e.X)
	var f func(int64) int64
	switch e.Op {
	case ir.Neg:
		f = func(v int64) int64 { return -v }
	case ir.Not:
		f = func(v int64) int64 { return truth(v == 0) }
	case ir.BitNot:
		f = func(v int64) int64 { return ^v }
	default:
		f = func(v int64) int64 { return max(v, -v) }
	}
	d := e.DType
	if x.f == nil {
		return constInt(wrap(f(x.c), d))
	}
	return intExpr{f: func(m *machine) int64 { return wrap(f(x.f(m)), d) }}
}

func (c *compiler) intBinary(e *ir.Binary) intExpr {
	if e.Op.IsCompare() && (hasFloatType(e.X) || hasFloatType(e.Y)) {
		x, y := c.floatExpr(e.X), c.floatExpr(e.Y)
		op := e.Op
		return intExpr{f: func(m *machine) int64 { return truth(compare(op, x.eval(m), y.eval(m))) }}
	}
	x, y := c.intExpr(e.X), c.intExpr(e.Y)
	at := c.site("", e.Pos)
	switch e.Op {
	case ir.And:
		return intExpr{f: func(m *machine) int64 { return truth(x.eval(m) != 0 && y.eval(m) != 0) }}
	case ir.Or:
		return intExpr{f: func(m *machine) int64 { return truth(x.eval(m) != 0 || y.eval(m) != 0) }}
	case ir.Xor:
		return intExpr{f: func(m *machine) int64 { return truth((x.eval(m) != 0) != (y.eval(m) != 0)) }}
	case ir.FloorDiv, ir.FloorMod, ir.FloatDiv:
		f := floorDiv
		if e.Op == ir.FloorMod {
			f = floorMod
		} else if e.Op == ir.FloatDiv {
			f = func(x, y int64) int64 { return x / y }
		}
		return intExpr{f: func(m *machine) int64 {
			a, b := x.eval(m), y.eval(m)
			if b == 0 {
				m.fail(at, CodeArithmetic, "division by zero: %d / 0", a)
				return 0
			}
			return f(a, b)
		}}
	}
	f := intOps(e.Op)
	if f == nil {
		c.errorf(CodeExpr, e.Pos, "the operator %s cannot stand in a kernel", e.Op)
		return constInt(0)
	}
	if x.f == nil && y.f == nil {
		return constInt(wrap(f(x.c, y.c), e.DType))
	}
	switch { // the index arithmetic of most kernels
	case y.f == nil && e.Op == ir.Add:
		return wrapped(intExpr{f: func(m *machine) int64 { return x.f(m) + y.c }}, e.DType)
	case y.f == nil && e.Op == ir.Mul:
		return wrapped(intExpr{f: func(m *machine) int64 { return x.f(m) * y.c }}, e.DType)
	}
	return wrapped(intExpr{f: func(m *machine) int64 { return f(x.eval(m), y.eval(m)) }}, e.DType)
}

func compare[T int64 | float64 | float32](op ir.BinOp, x, y T) bool {
	switch op {
	case ir.Eq:
		return x == y
	case ir.Ne:
		return x != y
	case ir.Lt:
		return x < y
	case ir.Le:
		return x <= y
	case ir.Gt:
		return x > y
	}
	return x >= y
}

func intOps(op ir.BinOp) func(x, y int64) int64 {
	switch op {
	case ir.Add:
		return func(x, y int64) int64 { return x + y }
	case ir.Sub:
		return func(x, y int64) int64 { return x - y }
	case ir.Mul:
		return func(x, y int64) int64 { return x * y }
	case ir.Min:
		return func(x, y int64) int64 { return min(x, y) }
	case ir.Max:
		return func(x, y int64) int64 { return max(x, y) }
	case ir.Pow:
		return func(x, y int64) int64 {
			r := int64(1)
			for ; y > 0; y >>= 1 {
				if y&1 != 0 {
					r *= x
				}
				x *= x
			}
			return r
		}
	case ir.BitAnd:
		return func(x, y int64) int64 { return x & y }
	case ir.BitOr:
		return func(x, y int64) int64 { return x | y }
	case ir.BitXor:
		return func(x, y int64) int64 { return x ^ y }
	case ir.Shl:
		return func(x, y int64) int64 { return x << uint64(y) }
	case ir.Shr:
		return func(x, y int64) int64 { return x >> uint64(y) }
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return func(x, y int64) int64 { return truth(compare(op, x, y)) }
	}
	return nil
}

// floatExpr compiles a float expression; integers are converted.
func (c *compiler) floatExpr(e ir.Expr) floatExpr {
	if !hasFloatType(e) {
		x := c.intExpr(e)
		d := ir.ElemDType(e.Type())
		if x.f == nil {
			return constFloat(asFloat(x.c, d))
		}
		return floatExpr{f: func(m *machine) float64 { return asFloat(x.f(m), d) }}
	}
	d := ir.ElemDType(e.Type())
	switch e := e.(type) {
	case *ir.ConstFloat:
		return floatLiteral(e.Value, d)
	case *ir.Var, *ir.TupleGet:
		s := c.lookup(e)
		if s.kind != floatSlot {
			c.errorf(CodeExpr, e.Span(), "%s is no float", ir.PrintExpr(e))
			return constFloat(0)
		}
		i := s.i
		return floatExpr{f: func(m *machine) float64 { return m.floats[i] }}
	case *ir.Cast:
		x := c.floatExpr(e.X)
		return floatExpr{f: func(m *machine) float64 { return m.nearest(x.eval(m), d) }}
	case *ir.Unary:
		x := c.floatExpr(e.X)
		if e.Op == ir.Neg {
			return floatExpr{f: func(m *machine) float64 { return -x.eval(m) }}
		}
		if e.Op == ir.Abs {
			return floatExpr{f: func(m *machine) float64 { return math.Abs(x.eval(m)) }}
		}
	case *ir.Binary:
		x, y := c.floatExpr(e.X), c.floatExpr(e.Y)
		if f := floatOps(e.Op); f != nil {
			return floatExpr{f: func(m *machine) float64 { return m.nearest(f(x.eval(m), y.eval(m)), d) }}
		}
	case *ir.OpCall:
		return c.floatOp(e)
	case *ir.Call:
		s := c.newSlot(e.Typ)
		c.call(e, s)
		if s.kind == floatSlot {
			i := s.i
			return floatExpr{f: func(m *machine) float64 { return m.floats[i] }}
		}
	}
	c.errorf(CodeExpr, e.Span(), "%s cannot stand in a kernel as a float", ir.PrintExpr(e))
	return constFloat(0)
}

func floatOps(op ir.BinOp) func(x, y float64) float64 {
	switch op {
	case ir.Add:
		return func(x, y float64) float64 { return x + y }
	case ir.Sub:
		return func(x, y float64) float64 { return x - y }
	case ir.Mul:
		return func(x, y float64) float64 { return x * y }
	case ir.FloatDiv:
		return func(x, y float64) float64 { return x / y }
	case ir.FloorDiv:
		return func(x, y float64) float64 { return math.Floor(x / y) }
	case ir.FloorMod:
		return func(x, y float64) float64 {
			m := math.Mod(x, y)
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m
		}
	case ir.Min:
		return func(x, y float64) float64 {
			if y < x {
				return y
			}
			return x
		}
	case ir.Max:
		return func(x, y float64) float64 {
			if x < y {
				return y
			}
			return x
		}
	case ir.Pow:
		return math.Pow
	}
	return nil
}
