package ir

import "math"

// compare brings a comparison into the form with < <= == != and the literal of an equation on the right.
func (s *simplifier) compare(e *Binary) Expr {
	if e.Op == Gt || e.Op == Ge {
		e = &Binary{Op: mirrored[e.Op], X: e.Y, Y: e.X, DType: e.DType, Pos: e.Pos}
	}
	if d := commonDType(e); d.IsSigned() {
		if out, ok := s.compareLinear(e, d); ok {
			return out
		}
	}
	x, y := s.expr(e.X), s.expr(e.Y)
	vx, okX := IntValue(x)
	vy, okY := IntValue(y)
	if okX && okY && ElemDType(x.Type()).IsInt() {
		return &ConstBool{Value: holds(e.Op, vx, vy), Pos: e.Pos}
	}
	if bx, ok := x.(*ConstBool); ok {
		if by, ok := y.(*ConstBool); ok && (e.Op == Eq || e.Op == Ne) {
			return &ConstBool{Value: (bx.Value == by.Value) == (e.Op == Eq), Pos: e.Pos}
		}
	}
	if okX && (e.Op == Eq || e.Op == Ne) {
		x, y = y, x
	}
	return withOperands(e, x, y)
}

// commonDType is the dtype in which both sides are compared, NoDType when they differ.
func commonDType(e *Binary) DType {
	x, y := ElemDType(typeOf(e.X)), ElemDType(typeOf(e.Y))
	switch {
	case x == y:
		return x
	case isWide(x) && isWide(y):
		return INDEX
	}
	return NoDType
}

func holds(op BinOp, x, y int64) bool {
	switch op {
	case Eq:
		return x == y
	case Ne:
		return x != y
	case Lt:
		return x < y
	case Le:
		return x <= y
	case Gt:
		return x > y
	}
	return x >= y
}

// compareLinear handles signed integers; false when some literal overflows.
func (s *simplifier) compareLinear(e *Binary, d DType) (Expr, bool) {
	x, ok1 := s.linear(e.X)
	y, ok2 := s.linear(e.Y)
	if !ok1 || !ok2 {
		return nil, false
	}
	if x.isConst() && !y.isConst() && (e.Op == Eq || e.Op == Ne) {
		x, y = y, x
	}
	diff, ok := x.addScaled(y, -1)
	if !ok {
		return nil, false
	}
	if v, ok := decide(e.Op, diff.interval(s.known)); ok && !diff.hasCalls() {
		return &ConstBool{Value: v, Pos: e.Pos}, true
	}
	if diff.isConst() {
		return nil, false // only calls cancelled out
	}
	switch {
	case len(diff.terms) < len(x.terms)+len(y.terms): // something stood on both sides
		if x, y, ok = split(diff); !ok {
			return nil, false
		}
	case !x.isConst() && !y.isConst() && x.konst != 0 && y.konst != 0: // one constant, on the right
		k, ok := addInt(y.konst, -x.konst)
		if !ok || x.konst == math.MinInt64 {
			return nil, false
		}
		x.konst, y.konst = 0, k
	}
	if x.isConst() || y.isConst() {
		return s.compareConst(e, diff, d)
	}
	return s.comparison(e, x, y, d)
}

// split puts the positive terms of a difference left, the negated others right, and the constant right; false on overflow.
func split(diff linear) (x, y linear, ok bool) {
	for _, t := range diff.terms {
		if t.coef > 0 {
			x.terms = append(x.terms, t)
		} else if t.coef, ok = mulInt(t.coef, -1); ok {
			y.terms = append(y.terms, t)
		} else {
			return x, y, false
		}
	}
	y.konst, ok = mulInt(diff.konst, -1)
	return x, y, ok
}

// decide evaluates "difference op 0" where the interval allows it.
func decide(op BinOp, i Interval) (value, ok bool) {
	switch op {
	case Lt:
		return i.Hi < 0, i.Hi < 0 || i.Lo >= 0
	case Le:
		return i.Hi <= 0, i.Hi <= 0 || i.Lo > 0
	case Eq:
		return i == Interval{}, i == Interval{} || !i.Contains(0)
	case Ne:
		return i != Interval{}, i == Interval{} || !i.Contains(0)
	}
	return false, false
}

// compareConst compares the terms of a difference with a literal: terms op -konst, divided by the common divisor of the coefficients.
func (s *simplifier) compareConst(e *Binary, diff linear, d DType) (Expr, bool) {
	k, ok := mulInt(diff.konst, -1)
	if !ok {
		return nil, false
	}
	terms, op := linear{terms: diff.terms}, e.Op
	if terms.allNegative() {
		if terms, ok = terms.scale(-1); !ok {
			return nil, false
		}
		if k, ok = mulInt(k, -1); !ok {
			return nil, false
		}
		op = mirrored[op]
	}
	g := gcd(terms, int64(absUint(terms.terms[0].coef)&(1<<63-1)))
	if g > 1 {
		exact := floorMod(k, g) == 0
		switch {
		case exact:
			k = floorDiv(k, g)
		case op == Eq || op == Ne:
			if terms.hasCalls() {
				return nil, false
			}
			return &ConstBool{Value: op == Ne, Pos: e.Pos}, true
		case op == Lt || op == Ge: // g*t < k is t < ceil(k/g)
			k = floorDiv(k, g) + 1
		default: // g*t <= k is t <= floor(k/g)
			k = floorDiv(k, g)
		}
		terms = terms.divided(g)
	}
	if op == Gt || op == Ge {
		return s.comparison(&Binary{Op: mirrored[op], X: e.X, Y: e.Y, DType: e.DType, Pos: e.Pos}, constant(k), terms, d)
	}
	return s.comparison(&Binary{Op: op, X: e.X, Y: e.Y, DType: e.DType, Pos: e.Pos}, terms, constant(k), d)
}

func (p linear) allNegative() bool {
	for _, t := range p.terms {
		if t.coef > 0 {
			return false
		}
	}
	return true
}

func (s *simplifier) comparison(e *Binary, x, y linear, d DType) (Expr, bool) {
	bx, ok1 := s.build(x, d)
	by, ok2 := s.build(y, d)
	if !ok1 || !ok2 {
		return nil, false
	}
	return withOperands(e, bx, by), true
}
