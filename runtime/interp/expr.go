package interp

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// number is a compiled expression of a C++ number type; exactly one of i and f is set.
type number struct {
	t ctype
	i func(*frame) int64   // integers and bool, extended to 64 bits
	f func(*frame) float64 // floats, in the precision of t
}

func integer(t ctype, f func(*frame) int64) number    { return number{t: t, i: f} }
func floating(t ctype, f func(*frame) float64) number { return number{t: t, f: f} }

// to converts as static_cast does.
func (c *compiler) to(x number, t ctype) number {
	if x.t == t {
		return x
	}
	if x.t == cByte || t == cByte {
		if x.f != nil {
			f := x.f
			return integer(t, func(fr *frame) int64 { return floatToInt(f(fr), cU8) })
		}
		i := x.i
		if t.isFloat() {
			c.bad("arithmetic on a byte-sized float")
		}
		return integer(t, func(fr *frame) int64 { return wrap(i(fr), cU8) })
	}
	switch from := x.t; {
	case x.i != nil && !t.isFloat():
		i := x.i
		if t == cI64 || t == cU64 {
			return integer(t, i)
		}
		return integer(t, func(fr *frame) int64 { return wrap(i(fr), t) })
	case x.i != nil:
		i := x.i
		return floating(t, func(fr *frame) float64 { return intToFloat(i(fr), from, t) })
	case !t.isFloat():
		f := x.f
		return integer(t, func(fr *frame) int64 { return floatToInt(f(fr), t) })
	default:
		f := x.f
		if t == cDouble || t == cFloat && from != cDouble {
			return floating(t, f)
		}
		return floating(t, func(fr *frame) float64 { return round(f(fr), t) })
	}
}

// truth is the value of x as a condition.
func (c *compiler) truth(x number) func(*frame) bool {
	if x.f != nil {
		f := x.f
		return func(fr *frame) bool { return f(fr) != 0 }
	}
	i := x.i
	return func(fr *frame) bool { return i(fr) != 0 }
}

func fromBool(f func(*frame) bool) number {
	return integer(cBool, func(fr *frame) int64 {
		if f(fr) {
			return 1
		}
		return 0
	})
}

// num compiles an expression that is a number.
func (c *compiler) num(e plan.Expr) number {
	switch e := e.(type) {
	case *plan.Int:
		v := e.Value
		return integer(literalType(e), func(*frame) int64 { return v })
	case *plan.Float:
		v, t := e.Value, cFloat
		if e.DType == ir.FP64 {
			t = cDouble
		}
		v = round(v, t)
		return floating(t, func(*frame) float64 { return v })
	case *plan.Bool:
		v := int64(0)
		if e.Value {
			v = 1
		}
		return integer(cI32, func(*frame) int64 { return v })
	case *plan.Ref:
		return c.variable(e.Name)
	case *plan.Elem:
		return c.element(e)
	case *plan.Binary:
		return c.binary(e)
	case *plan.Unary:
		return c.unary(e)
	case *plan.Cast:
		return c.to(c.num(e.X), ctypeOf(e.DType))
	case *plan.Uint32:
		return c.to(c.num(e.X), cU32)
	case *plan.Bits:
		x := c.num(e.X)
		if x.f != nil {
			f, t := x.f, x.t
			return integer(cU64, func(fr *frame) int64 { return int64(bitsOfFloat(f(fr), t)) })
		}
		i, t := x.i, x.t
		return integer(cU64, func(fr *frame) int64 { return int64(bitsOfInt(i(fr), t)) })
	case *plan.Extent:
		t, axis := c.tensorSlot(e.Tensor), e.Axis
		return integer(cI64, func(fr *frame) int64 { return fr.extent(&fr.tensors[t], axis) })
	case *plan.EntryExtent:
		k, axis := e.Ordinal, e.Axis
		if k < 0 || k >= len(c.file.Tensors) {
			c.bad("entry tensor %d of %d", k, len(c.file.Tensors))
		}
		return integer(cI64, func(fr *frame) int64 { return fr.extent(&fr.entries[k], axis) })
	case *plan.IsValid:
		id := c.taskID(e.X)
		return fromBool(func(fr *frame) bool { return id(fr) != sim.InvalidTask })
	case *plan.Clamped:
		return c.clamped(e)
	case *plan.Read:
		return c.read(e)
	case *plan.Query:
		if e.AIV {
			return integer(cI32, func(fr *frame) int64 { return int64(fr.rt.AvailableAIV(fr.site())) })
		}
		return integer(cI32, func(fr *frame) int64 { return int64(fr.rt.AvailableClusters(fr.site())) })
	}
	c.bad("%T is not a number", e)
	return number{}
}

// literalType is the type of an integer literal as it is printed: int when its digits fit. -2147483648 is the negation of a long.
func literalType(e *plan.Int) ctype {
	switch {
	case e.DType == ir.UINT64 && (e.Value < 0 || e.Value > math.MaxInt32):
		return cU64
	case e.Value > math.MaxInt32 || e.Value < -math.MaxInt32:
		return cI64
	}
	return cI32
}

func (c *compiler) clamped(e *plan.Clamped) number {
	size := c.to(c.num(e.Size), cU32).i
	t, offs, axis := c.tensorSlot(e.Tensor), c.uintArray(e.Offsets), e.Axis
	return integer(cU32, func(fr *frame) int64 {
		off, ext := int64(fr.uintAt(offs, axis)), fr.extent(&fr.tensors[t], axis)
		if off >= ext {
			return 0
		}
		return min(size(fr), ext-off)
	})
}

func (c *compiler) read(e *plan.Read) number {
	t, idx := c.tensorSlot(e.Tensor), func(*frame) []uint32 { return nil }
	if e.Indices != nil {
		a, n := c.uintArray(e.Indices), e.N
		idx = func(fr *frame) []uint32 { return fr.uints(a, n) }
	}
	typ, dtype := ctypeOf(e.DType), sim.AccessType(e.DType)
	load := func(fr *frame) uint64 {
		v := fr.rt.ReadAs(fr.tensors[t], idx(fr), dtype, typ.size(), fr.site())
		fr.check()
		return v
	}
	if typ.isFloat() {
		return floating(typ, func(fr *frame) float64 { return floatOfBits(load(fr), typ) })
	}
	return integer(typ, func(fr *frame) int64 { return wrap(int64(load(fr)), typ) })
}

func (c *compiler) unary(e *plan.Unary) number {
	x := c.num(e.X)
	switch e.Op {
	case ir.Not:
		v := c.truth(x)
		return fromBool(func(fr *frame) bool { return !v(fr) })
	case ir.Abs:
		x = c.to(x, ctypeOf(e.DType))
		if x.f != nil {
			f := x.f
			return floating(x.t, func(fr *frame) float64 {
				v := f(fr)
				if v < 0 {
					return -v
				}
				return v
			})
		}
		i, t := x.i, x.t
		return integer(t, func(fr *frame) int64 {
			v := i(fr)
			if v < 0 && t.isSigned() {
				return wrap(-v, t)
			}
			return v
		})
	}
	x = c.to(x, x.t.promoted())
	switch {
	case e.Op == ir.Neg && x.f != nil:
		f := x.f
		return floating(x.t, func(fr *frame) float64 { return -f(fr) })
	case x.f != nil:
		c.bad("%s of a float", e.Op)
	case e.Op == ir.Neg:
		i, t := x.i, x.t
		return integer(t, func(fr *frame) int64 { return wrap(-i(fr), t) })
	}
	i, t := x.i, x.t
	return integer(t, func(fr *frame) int64 { return wrap(^i(fr), t) })
}

func (c *compiler) binary(e *plan.Binary) number {
	x, y := c.num(e.X), c.num(e.Y)
	t := ctypeOf(e.DType)
	switch {
	case e.Op == ir.And:
		a, b := c.truth(x), c.truth(y)
		return fromBool(func(fr *frame) bool { return a(fr) && b(fr) })
	case e.Op == ir.Or:
		a, b := c.truth(x), c.truth(y)
		return fromBool(func(fr *frame) bool { return a(fr) || b(fr) })
	case e.Op.IsCompare() || e.Op == ir.Xor:
		return c.compare(e.Op, x, y)
	case e.Op == ir.Min || e.Op == ir.Max:
		return c.minMax(e.Op, c.to(x, t), c.to(y, t))
	case e.Op == ir.Pow && t.isFloat():
		m := common(x.t, y.t)
		if !m.isFloat() {
			m = cDouble
		}
		a, b := c.to(x, m).f, c.to(y, m).f
		return c.to(floating(m, func(fr *frame) float64 { return round(math.Pow(a(fr), b(fr)), m) }), t)
	case e.Op == ir.Pow:
		a, b := c.to(x, t).i, c.to(y, t).i
		return integer(t, func(fr *frame) int64 { return power(a(fr), b(fr), t) })
	case e.Floored && t.isFloat():
		return c.flooredFloat(e.Op, x, y)
	case e.Floored:
		return c.flooredInt(e.Op, c.to(x, t), c.to(y, t))
	case e.Op == ir.Shl || e.Op == ir.Shr:
		return c.shift(e.Op, x, y)
	}
	m := common(x.t, y.t)
	return c.arith(e.Op, c.to(x, m), c.to(y, m))
}

// arith applies + - * / % & | ^ to two operands of one type.
func (c *compiler) arith(op ir.BinOp, x, y number) number {
	t := x.t
	if t.isFloat() {
		a, b := x.f, y.f
		switch op {
		case ir.Add:
			return floating(t, func(fr *frame) float64 { return round(a(fr)+b(fr), t) })
		case ir.Sub:
			return floating(t, func(fr *frame) float64 { return round(a(fr)-b(fr), t) })
		case ir.Mul:
			return floating(t, func(fr *frame) float64 { return round(a(fr)*b(fr), t) })
		case ir.FloorDiv, ir.FloatDiv:
			return floating(t, func(fr *frame) float64 { return round(a(fr)/b(fr), t) })
		}
		c.bad("%s of floats", op)
	}
	a, b := x.i, y.i
	switch op {
	case ir.Add:
		return integer(t, func(fr *frame) int64 { return wrap(a(fr)+b(fr), t) })
	case ir.Sub:
		return integer(t, func(fr *frame) int64 { return wrap(a(fr)-b(fr), t) })
	case ir.Mul:
		return integer(t, func(fr *frame) int64 { return wrap(a(fr)*b(fr), t) })
	case ir.FloorDiv, ir.FloatDiv:
		return integer(t, func(fr *frame) int64 { q, _ := fr.divide(a(fr), b(fr), t); return q })
	case ir.FloorMod:
		return integer(t, func(fr *frame) int64 { _, r := fr.divide(a(fr), b(fr), t); return r })
	case ir.BitAnd:
		return integer(t, func(fr *frame) int64 { return a(fr) & b(fr) })
	case ir.BitOr:
		return integer(t, func(fr *frame) int64 { return a(fr) | b(fr) })
	case ir.BitXor:
		return integer(t, func(fr *frame) int64 { return a(fr) ^ b(fr) })
	}
	c.bad("no operator %s", op)
	return number{}
}

func (c *compiler) flooredInt(op ir.BinOp, x, y number) number {
	a, b, t := x.i, y.i, x.t
	return integer(t, func(fr *frame) int64 {
		n, d := a(fr), b(fr)
		q, r := fr.divide(n, d, t)
		if r != 0 && t.isSigned() && (n < 0) != (d < 0) {
			q, r = q-1, r+d
		}
		if op == ir.FloorDiv {
			return q
		}
		return r
	})
}

// flooredFloat is floor(x / y), or x - floor(x / y) * y.
func (c *compiler) flooredFloat(op ir.BinOp, x, y number) number {
	m := common(x.t, y.t)
	q := c.arith(ir.FloatDiv, c.to(x, m), c.to(y, m))
	if !m.isFloat() {
		q = c.to(q, cDouble) // floor of an integer is a double
	}
	f := q.f
	floor := floating(q.t, func(fr *frame) float64 { return math.Floor(f(fr)) })
	if op == ir.FloorDiv {
		return floor
	}
	k := common(floor.t, y.t)
	product := c.arith(ir.Mul, c.to(floor, k), c.to(y, k))
	k = common(x.t, k)
	return c.arith(ir.Sub, c.to(x, k), c.to(product, k))
}

func (c *compiler) shift(op ir.BinOp, x, y number) number {
	x, y = c.to(x, x.t.promoted()), c.to(y, y.t.promoted())
	if x.f != nil || y.f != nil {
		c.bad("%s of floats", op)
	}
	a, b, t := x.i, y.i, x.t
	width := int64(8 * t.size())
	return integer(t, func(fr *frame) int64 {
		v, n := a(fr), b(fr)
		if n < 0 || n >= width {
			fr.fail(CodeShift, "a shift by %d of a value of %d bits", n, width)
		}
		switch {
		case op == ir.Shl:
			return wrap(v<<n, t)
		case t.isSigned():
			return v >> n
		}
		return wrap(int64(uint64(v)>>n), t)
	})
}

func (c *compiler) minMax(op ir.BinOp, x, y number) number {
	less := c.compare(ir.Lt, y, x).i
	if op == ir.Max {
		less = c.compare(ir.Lt, x, y).i
	}
	if x.f != nil {
		a, b := x.f, y.f
		return floating(x.t, func(fr *frame) float64 {
			if less(fr) != 0 {
				return b(fr)
			}
			return a(fr)
		})
	}
	a, b := x.i, y.i
	return integer(x.t, func(fr *frame) int64 {
		if less(fr) != 0 {
			return b(fr)
		}
		return a(fr)
	})
}

func (c *compiler) compare(op ir.BinOp, x, y number) number {
	t := common(x.t, y.t)
	x, y = c.to(x, t), c.to(y, t)
	if t.isFloat() {
		a, b := x.f, y.f
		switch op {
		case ir.Eq:
			return fromBool(func(fr *frame) bool { return a(fr) == b(fr) })
		case ir.Lt:
			return fromBool(func(fr *frame) bool { return a(fr) < b(fr) })
		case ir.Le:
			return fromBool(func(fr *frame) bool { return a(fr) <= b(fr) })
		case ir.Gt:
			return fromBool(func(fr *frame) bool { return a(fr) > b(fr) })
		case ir.Ge:
			return fromBool(func(fr *frame) bool { return a(fr) >= b(fr) })
		}
		return fromBool(func(fr *frame) bool { return a(fr) != b(fr) })
	}
	a, b := x.i, y.i
	if t == cU64 { // compare as unsigned: flip the sign bits
		ua, ub := a, b
		a = func(fr *frame) int64 { return ua(fr) ^ math.MinInt64 }
		b = func(fr *frame) int64 { return ub(fr) ^ math.MinInt64 }
	}
	switch op {
	case ir.Eq:
		return fromBool(func(fr *frame) bool { return a(fr) == b(fr) })
	case ir.Lt:
		return fromBool(func(fr *frame) bool { return a(fr) < b(fr) })
	case ir.Le:
		return fromBool(func(fr *frame) bool { return a(fr) <= b(fr) })
	case ir.Gt:
		return fromBool(func(fr *frame) bool { return a(fr) > b(fr) })
	case ir.Ge:
		return fromBool(func(fr *frame) bool { return a(fr) >= b(fr) })
	}
	return fromBool(func(fr *frame) bool { return a(fr) != b(fr) })
}

// power multiplies with wrap-around; an exponent below 1 gives 1.
func power(base, exponent int64, t ctype) int64 {
	n := uint64(exponent)
	if t.isSigned() && exponent < 0 {
		n = 0
	}
	r := int64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r *= base
		}
		base *= base
	}
	return wrap(r, t)
}

// divide is the truncating division of C++, which traps where the result does not exist.
func (fr *frame) divide(a, b int64, t ctype) (q, r int64) {
	if b == 0 {
		fr.fail(CodeDivide, "integer division of %d by zero", a)
	}
	if t == cU64 {
		return int64(uint64(a) / uint64(b)), int64(uint64(a) % uint64(b))
	}
	if b == -1 && (t == cI32 && a == math.MinInt32 || t == cI64 && a == math.MinInt64) {
		fr.fail(CodeDivide, "the quotient of %d and -1 does not fit", a)
	}
	return a / b, a % b
}
