package ir

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Simplify brings a scalar expression into canonical form (behaviours P-SIM-06): linear terms are collected, literals stand right, comparisons are < and <=,
// floor division and remainder by literals are folded. An expression that is already canonical comes back as the same pointer.
//
// Signed integers count as mathematical integers: the result has the value of the original unless the original overflows. A fold whose literals
// would not fit the dtype is not made. Unsigned integers and floats get only rewrites that hold under wrap-around and rounding. Calls are neither
// dropped nor merged: each one that was evaluated is evaluated.
func Simplify(e Expr) Expr { return SimplifyWithin(e, nil) }

// SimplifyWithin is Simplify with ranges known for some Vars.
func SimplifyWithin(e Expr, known Bounds) Expr {
	s := simplifier{known: known}
	return s.expr(e)
}

// SimplifyType simplifies the extents, strides and offsets inside a type.
func SimplifyType(t Type) Type {
	r := Rewriter{Expr: Simplify}
	return r.Type(t)
}

// ProveEqual reports whether two integer expressions always have the same value. False means "not proven".
func ProveEqual(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	d, ok := ProveDifference(a, b)
	return ok && d == 0
}

// ProveDifference returns a-b where it is the same number for all values of the Vars.
func ProveDifference(a, b Expr) (int64, bool) {
	if va, ok := IntValue(a); ok {
		if vb, ok := IntValue(b); ok {
			if vb == math.MinInt64 {
				return 0, va == vb
			}
			return addInt(va, -vb)
		}
	}
	if EqualExprs(a, b) && !hasCall(a) {
		return 0, true
	}
	if !ElemDType(a.Type()).IsSigned() || !ElemDType(b.Type()).IsSigned() {
		return 0, false
	}
	s := simplifier{expand: true}
	pa, ok1 := s.linear(a)
	pb, ok2 := s.linear(b)
	if !ok1 || !ok2 {
		return 0, false
	}
	d, ok := pa.addScaled(pb, -1)
	return d.konst, ok && len(d.terms) == 0
}

// Substitute replaces Vars by expressions, inside types of calls too.
func Substitute(e Expr, m map[*Var]Expr) Expr {
	if len(m) == 0 {
		return e
	}
	r := Rewriter{Expr: func(e Expr) Expr {
		if v, ok := e.(*Var); ok {
			if n, ok := m[v]; ok {
				return n
			}
		}
		return e
	}}
	return r.Rewrite(e)
}

// SubstituteType replaces Vars by expressions inside a type.
func SubstituteType(t Type, m map[*Var]Expr) Type {
	if len(m) == 0 {
		return t
	}
	r := Rewriter{Expr: func(e Expr) Expr {
		if v, ok := e.(*Var); ok {
			if n, ok := m[v]; ok {
				return n
			}
		}
		return e
	}}
	return r.Type(t)
}

// hasCall reports an expression whose evaluation may have an effect.
func hasCall(e Expr) bool {
	found := false
	Walk(e, func(e Expr) bool {
		switch e.(type) {
		case *OpCall, *Call:
			found = true
		}
		return !found
	})
	return found
}

type simplifier struct {
	known  Bounds
	expand bool // multiply sums out: for proofs, not for text
	pos    diag.Span
}

// expr simplifies any expression.
func (s *simplifier) expr(e Expr) Expr {
	switch e := e.(type) {
	case *Binary:
		outer := s.pos
		s.pos = e.Pos
		out := s.keep(e, s.binary(e))
		s.pos = outer
		return out
	case *Unary:
		outer := s.pos
		s.pos = e.Pos
		out := s.keep(e, s.unary(e))
		s.pos = outer
		return out
	case *Cast:
		return s.cast(e)
	case *MakeTuple:
		if xs, ok := s.list(e.Elems); ok {
			return &MakeTuple{Elems: xs, Pos: e.Pos}
		}
	case *TupleGet:
		x := s.expr(e.X)
		if t, ok := x.(*MakeTuple); ok && e.Index >= 0 && e.Index < len(t.Elems) && !hasCall(t) {
			return t.Elems[e.Index]
		}
		if x != e.X {
			return &TupleGet{X: x, Index: e.Index, Pos: e.Pos}
		}
	case *OpCall:
		args, c1 := s.list(e.Args)
		kwargs, c2 := s.kwargs(e.Kwargs)
		if c1 || c2 {
			c := *e
			c.Args, c.Kwargs = args, kwargs
			return &c
		}
	case *Call:
		// The predicate stays as written: it is decomposed, not evaluated.
		args, c1 := s.list(e.Args)
		core := s.expr(e.Launch.CoreNum)
		if c1 || core != e.Launch.CoreNum {
			c := *e
			c.Args, c.Launch.CoreNum = args, core
			return &c
		}
	}
	return e
}

// keep prefers the original when the result says the same, so that "nothing changed" is visible as pointer equality.
func (s *simplifier) keep(old, out Expr) Expr {
	if out != old && EqualExprs(old, out) {
		return old
	}
	return out
}

func (s *simplifier) list(es []Expr) ([]Expr, bool) {
	out, changed := es, false
	for i, e := range es {
		if n := s.expr(e); n != e {
			if !changed {
				out, changed = append([]Expr(nil), es...), true
			}
			out[i] = n
		}
	}
	return out, changed
}

func (s *simplifier) kwargs(ks Kwargs) (Kwargs, bool) {
	out, changed := ks, false
	for i, k := range ks {
		var v any
		switch x := k.Value.(type) {
		case Expr:
			if n := s.expr(x); n != x {
				v = n
			}
		case []Expr:
			if n, ok := s.list(x); ok {
				v = n
			}
		}
		if v != nil {
			if !changed {
				out, changed = append(Kwargs(nil), ks...), true
			}
			out[i].Value = v
		}
	}
	return out, changed
}

func (s *simplifier) cast(e *Cast) Expr {
	x := s.expr(e.X)
	if ElemDType(x.Type()) == e.DType {
		return x
	}
	if c, ok := x.(*ConstInt); ok && fits(c.Value, e.DType) {
		return &ConstInt{Value: c.Value, DType: e.DType, Pos: e.Pos}
	}
	if x != e.X {
		return &Cast{X: x, DType: e.DType, Pos: e.Pos}
	}
	return e
}

// fits reports that an integer dtype can hold v.
func fits(v int64, d DType) bool {
	switch {
	case !d.IsInt():
		return false
	case isWide(d):
		return true
	case d.IsSigned():
		return v >= -1<<(d.Bits()-1) && v < 1<<(d.Bits()-1)
	case d.Bits() == 64:
		return v >= 0
	}
	return v >= 0 && v < 1<<d.Bits()
}

func (s *simplifier) unary(e *Unary) Expr {
	switch e.Op {
	case Neg:
		if e.DType.IsSigned() {
			return s.fromLinear(e, e.DType)
		}
	case Not:
		x := s.expr(e.X)
		switch x := x.(type) {
		case *ConstBool:
			return &ConstBool{Value: !x.Value, Pos: e.Pos}
		case *Unary:
			if x.Op == Not {
				return x.X
			}
		case *Binary:
			if op, ok := negated[x.Op]; ok && ElemDType(x.X.Type()).IsInt() {
				return s.binary(&Binary{Op: op, X: x.X, Y: x.Y, DType: BOOL, Pos: e.Pos})
			}
		}
		return withOperand(e, x)
	case Abs:
		x := s.expr(e.X)
		if e.DType.IsSigned() {
			switch i := IntervalOf(x, s.known); {
			case i.Lo >= 0:
				return x
			case i.Hi <= 0:
				return s.expr(&Unary{Op: Neg, X: x, DType: e.DType, Pos: e.Pos})
			}
		}
		return withOperand(e, x)
	case BitNot:
		x := s.expr(e.X)
		if c, ok := x.(*ConstInt); ok && e.DType.IsSigned() {
			return &ConstInt{Value: ^c.Value, DType: e.DType, Pos: e.Pos}
		}
		return withOperand(e, x)
	}
	return withOperand(e, s.expr(e.X))
}

func withOperand(e *Unary, x Expr) Expr {
	if x == e.X {
		return e
	}
	return &Unary{Op: e.Op, X: x, DType: e.DType, Pos: e.Pos}
}

// negated holds the opposite of each comparison of integers.
var negated = map[BinOp]BinOp{Eq: Ne, Ne: Eq, Lt: Ge, Ge: Lt, Le: Gt, Gt: Le}

// mirrored holds each comparison with its sides exchanged.
var mirrored = map[BinOp]BinOp{Eq: Eq, Ne: Ne, Lt: Gt, Gt: Lt, Le: Ge, Ge: Le}

func (s *simplifier) binary(e *Binary) Expr {
	switch e.Op {
	case Add, Sub, Mul, FloorDiv, FloorMod:
		if e.DType.IsSigned() {
			return s.fromLinear(e, e.DType)
		}
		if e.DType.IsInt() {
			return s.unsigned(e)
		}
	case Min, Max:
		if e.DType.IsInt() {
			return s.minMax(e)
		}
	case Eq, Ne, Lt, Le, Gt, Ge:
		return s.compare(e)
	case And, Or, Xor:
		return s.logic(e)
	case BitAnd, BitOr, BitXor, Shl, Shr, Pow:
		return s.bits(e)
	}
	return withOperands(e, s.expr(e.X), s.expr(e.Y))
}

func withOperands(e *Binary, x, y Expr) Expr {
	if x == e.X && y == e.Y {
		return e
	}
	return &Binary{Op: e.Op, X: x, Y: y, DType: e.DType, Pos: e.Pos}
}

// unsigned makes the folds that hold modulo a power of two.
func (s *simplifier) unsigned(e *Binary) Expr {
	x, y := s.expr(e.X), s.expr(e.Y)
	vx, okX := IntValue(x)
	vy, okY := IntValue(y)
	if okX && okY {
		if v, ok := foldInt(e.Op, vx, vy); ok && fits(v, e.DType) {
			return &ConstInt{Value: v, DType: e.DType, Pos: e.Pos}
		}
	}
	if okX && !okY && (e.Op == Add || e.Op == Mul) {
		x, y, vy, okY = y, x, vx, true
	}
	if okY {
		switch {
		case vy == 0 && (e.Op == Add || e.Op == Sub), vy == 1 && (e.Op == Mul || e.Op == FloorDiv):
			return x
		case vy == 0 && e.Op == Mul && !hasCall(x), vy == 1 && e.Op == FloorMod && !hasCall(x):
			return &ConstInt{DType: e.DType, Pos: e.Pos}
		}
	}
	return withOperands(e, x, y)
}

// foldInt evaluates an operation on mathematical integers; false when the result does not fit int64 or is undefined.
func foldInt(op BinOp, x, y int64) (int64, bool) {
	switch op {
	case Add:
		return addInt(x, y)
	case Sub:
		if y == math.MinInt64 {
			return 0, false
		}
		return addInt(x, -y)
	case Mul:
		return mulInt(x, y)
	case FloorDiv:
		if y == 0 || x == math.MinInt64 && y == -1 {
			return 0, false
		}
		return floorDiv(x, y), true
	case FloorMod:
		if y == 0 || y == -1 {
			return 0, y == -1
		}
		return floorMod(x, y), true
	case Min:
		return min(x, y), true
	case Max:
		return max(x, y), true
	case BitAnd:
		return x & y, true
	case BitOr:
		return x | y, true
	case BitXor:
		return x ^ y, true
	case Shl:
		if y < 0 || y > 62 {
			return 0, false
		}
		return mulInt(x, 1<<y)
	case Shr:
		if y < 0 {
			return 0, false
		}
		return x >> min(y, 63), true
	case Pow:
		if y < 0 {
			return 0, false
		}
		r, ok := int64(1), true
		for ; y > 0 && ok; y-- {
			if x == 0 || x == 1 {
				return x, true
			}
			r, ok = mulInt(r, x)
			if x == -1 { // no overflow ever ends this loop
				return 1 - 2*(y&1), true
			}
		}
		return r, ok
	}
	return 0, false
}

func (s *simplifier) bits(e *Binary) Expr {
	x, y := s.expr(e.X), s.expr(e.Y)
	vx, okX := IntValue(x)
	vy, okY := IntValue(y)
	if okX && okY && e.DType.IsInt() {
		if v, ok := foldInt(e.Op, vx, vy); ok && fits(v, e.DType) {
			return &ConstInt{Value: v, DType: e.DType, Pos: e.Pos}
		}
	}
	if okX && !okY && (e.Op == BitAnd || e.Op == BitOr || e.Op == BitXor) {
		x, y = y, x
	}
	return withOperands(e, x, y)
}

func (s *simplifier) minMax(e *Binary) Expr {
	x, y := s.expr(e.X), s.expr(e.Y)
	if _, ok := x.(*ConstInt); ok {
		x, y = y, x // a literal stands right
	}
	// min(min(x, 3), 5) is min(x, 3)
	if c, ok := y.(*ConstInt); ok {
		if inner, ok := x.(*Binary); ok && inner.Op == e.Op {
			if d, ok := inner.Y.(*ConstInt); ok {
				v, _ := foldInt(e.Op, c.Value, d.Value)
				x, y = inner.X, &ConstInt{Value: v, DType: e.DType, Pos: c.Pos}
			}
		}
	}
	// One side is never the smaller one.
	if first, ok := s.order(x, y, e.DType); ok {
		if first == (e.Op == Min) && !hasCall(y) {
			return x
		}
		if first != (e.Op == Min) && !hasCall(x) {
			return y
		}
	}
	return withOperands(e, x, y)
}

// order reports whether x <= y always (true) or y <= x always (false); ok is false when neither is known.
func (s *simplifier) order(x, y Expr, d DType) (first, ok bool) {
	vx, okX := IntValue(x)
	vy, okY := IntValue(y)
	if okX && okY {
		return vx <= vy, true
	}
	if !d.IsSigned() {
		return true, EqualExprs(x, y) && !hasCall(x)
	}
	i := s.differenceInterval(x, y)
	return i.Hi <= 0, i.Hi <= 0 || i.Lo >= 0
}

// differenceInterval bounds x-y.
func (s *simplifier) differenceInterval(x, y Expr) Interval {
	px, ok1 := s.linear(x)
	py, ok2 := s.linear(y)
	if ok1 && ok2 {
		if d, ok := px.addScaled(py, -1); ok {
			return d.interval(s.known)
		}
	}
	return AllInts
}

func (s *simplifier) logic(e *Binary) Expr {
	x, y := s.expr(e.X), s.expr(e.Y)
	for _, side := range [2][2]Expr{{x, y}, {y, x}} {
		c, ok := side[0].(*ConstBool)
		if !ok {
			continue
		}
		other := side[1]
		switch {
		case e.Op == Xor:
			if !c.Value {
				return other
			}
			return s.expr(&Unary{Op: Not, X: other, DType: BOOL, Pos: e.Pos})
		case c.Value == (e.Op == And): // True and x, False or x
			return other
		case !hasCall(other): // False and x, True or x
			return &ConstBool{Value: c.Value, Pos: e.Pos}
		}
	}
	if e.Op != Xor && EqualExprs(x, y) && !hasCall(x) {
		return x
	}
	return withOperands(e, x, y)
}
