package ir

import "math"

// A linear form is sum(coef * product of factors) + konst. Terms keep the order in which they were met; no two have the same factors, none has
// coefficient 0.
type linear struct {
	terms []term
	konst int64
}

type term struct {
	coef    int64
	factors []Expr // not empty; simplified, none of them a sum or literal
	calls   bool   // a factor has a call: never merged, never dropped
}

func constant(v int64) linear { return linear{konst: v} }

func atom(e Expr) linear {
	return linear{terms: []term{{coef: 1, factors: []Expr{e}, calls: hasCall(e)}}}
}

// isConst reports a form without terms.
func (p linear) isConst() bool { return len(p.terms) == 0 }

func (p linear) hasCalls() bool {
	for _, t := range p.terms {
		if t.calls {
			return true
		}
	}
	return false
}

// addScaled returns p + c*q; false on overflow.
func (p linear) addScaled(q linear, c int64) (linear, bool) {
	var sum accumulator
	if !sum.add(p, 1) || !sum.add(q, c) {
		return p, false
	}
	return sum.form(), true
}

// scale returns c*p; false on overflow, and when that would drop a call.
func (p linear) scale(c int64) (linear, bool) {
	if c == 0 && p.hasCalls() {
		return p, false
	}
	var sum accumulator
	ok := sum.add(p, c)
	return sum.form(), ok
}

// accumulator sums linear forms. It finds terms with the same factors by a map where the factor is one Var, by comparison otherwise.
type accumulator struct {
	linear
	vars   map[*Var]int
	others []int
}

// add adds c*q; false on overflow.
func (a *accumulator) add(q linear, c int64) bool {
	if !a.addConst(q.konst, c) {
		return false
	}
	for _, t := range q.terms {
		var ok bool
		if t.coef, ok = mulInt(t.coef, c); !ok {
			return false
		}
		if t.coef != 0 && !a.addTerm(t) {
			return false
		}
	}
	return true
}

func (a *accumulator) addConst(k, c int64) bool {
	k, ok1 := mulInt(k, c)
	k, ok2 := addInt(a.konst, k)
	a.konst = k
	return ok1 && ok2
}

func (a *accumulator) addTerm(t term) bool {
	if i, ok := a.find(t); ok {
		n, ok := addInt(a.terms[i].coef, t.coef)
		a.terms[i].coef = n
		return ok
	}
	if v, ok := t.single(); ok {
		if a.vars == nil {
			a.vars = make(map[*Var]int)
		}
		a.vars[v] = len(a.terms)
	} else {
		a.others = append(a.others, len(a.terms))
	}
	a.terms = append(a.terms, t)
	return true
}

func (a *accumulator) find(t term) (int, bool) {
	if t.calls {
		return 0, false
	}
	if v, ok := t.single(); ok {
		i, ok := a.vars[v]
		return i, ok
	}
	for _, i := range a.others {
		if !a.terms[i].calls && sameFactors(a.terms[i].factors, t.factors) {
			return i, true
		}
	}
	return 0, false
}

// form returns the sum without the terms that cancelled out.
func (a *accumulator) form() linear {
	kept := a.terms[:0]
	for _, t := range a.terms {
		if t.coef != 0 {
			kept = append(kept, t)
		}
	}
	return linear{terms: kept, konst: a.konst}
}

func (t term) single() (*Var, bool) {
	if len(t.factors) != 1 {
		return nil, false
	}
	v, ok := t.factors[0].(*Var)
	return v, ok
}

// sameFactors compares products without regard to order.
func sameFactors(a, b []Expr) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 1 {
		return sameValue(a[0], b[0])
	}
	var used uint64
	if len(a) > 64 {
		return false
	}
next:
	for _, x := range a {
		for j, y := range b {
			if used&(1<<j) == 0 && sameValue(x, y) {
				used |= 1 << j
				continue next
			}
		}
		return false
	}
	return true
}

// sameValue is EqualExprs with the operands of min and max in either order.
func sameValue(a, b Expr) bool {
	if a == b {
		return true
	}
	if x, ok := a.(*Binary); ok && (x.Op == Min || x.Op == Max) {
		y, ok := b.(*Binary)
		return ok && x.Op == y.Op && (sameValue(x.X, y.X) && sameValue(x.Y, y.Y) || sameValue(x.X, y.Y) && sameValue(x.Y, y.X))
	}
	return EqualExprs(a, b)
}

// interval bounds the value of the form.
func (p linear) interval(known Bounds) Interval {
	sum := Interval{p.konst, p.konst}
	for _, t := range p.terms {
		prod := Interval{t.coef, t.coef}
		for _, f := range t.factors {
			prod = prod.mul(IntervalOf(f, known))
		}
		sum = sum.add(prod)
	}
	return sum
}

// linear returns the linear form of a signed integer expression; its atoms are simplified. False on overflow.
func (s *simplifier) linear(e Expr) (linear, bool) {
	var sum accumulator
	ok := s.sum(&sum, e, 1)
	return sum.form(), ok
}

// sum adds c*e; chains of additions of any length take linear time.
func (s *simplifier) sum(to *accumulator, e Expr, c int64) bool {
	switch e := e.(type) {
	case *ConstInt:
		return to.addConst(e.Value, c)
	case *Unary:
		if e.Op == Neg && e.DType.IsSigned() {
			n, ok := mulInt(c, -1)
			return ok && s.sum(to, e.X, n)
		}
	case *Cast:
		// Conversions between 64-bit integers are transparent to proofs.
		if s.expand && isWide(e.DType) && isWide(ElemDType(e.X.Type())) {
			return s.sum(to, e.X, c)
		}
	case *Binary:
		if !e.DType.IsSigned() || !compatible(e) {
			break
		}
		switch e.Op {
		case Add:
			return s.sum(to, e.X, c) && s.sum(to, e.Y, c)
		case Sub:
			n, ok := mulInt(c, -1)
			return ok && s.sum(to, e.X, c) && s.sum(to, e.Y, n)
		case Mul, FloorDiv, FloorMod:
			p, ok := s.multiplicative(e)
			return ok && to.add(p, c)
		}
	}
	out := s.atom(e)
	if out != e && !isArithmetic(e) { // max(s + 1, s) became s + 1
		if _, ok := out.(*ConstInt); ok || isArithmetic(out) {
			return s.sum(to, out, c)
		}
	}
	return to.addTerm(term{coef: c, factors: []Expr{out}, calls: hasCall(out)})
}

// atom simplifies what sum does not take apart.
func (s *simplifier) atom(e Expr) Expr {
	if b, ok := e.(*Binary); ok && isArithmetic(e) {
		return withOperands(b, s.expr(b.X), s.expr(b.Y))
	}
	return s.expr(e)
}

// isArithmetic reports what sum takes apart when the operands fit.
func isArithmetic(e Expr) bool {
	switch e := e.(type) {
	case *Unary:
		return e.Op == Neg && e.DType.IsSigned()
	case *Binary:
		return (e.Op <= FloorMod) && e.DType.IsSigned()
	}
	return false
}

// compatible reports operands of the width of the result: a narrower operand without a cast computes by other rules.
func compatible(e *Binary) bool {
	for _, o := range [2]Expr{e.X, e.Y} {
		if d := ElemDType(o.Type()); d != e.DType && !(isWide(d) && isWide(e.DType)) {
			return false
		}
	}
	return true
}

func (s *simplifier) multiplicative(e *Binary) (linear, bool) {
	x, ok1 := s.linear(e.X)
	y, ok2 := s.linear(e.Y)
	if !ok1 || !ok2 {
		return linear{}, false
	}
	switch {
	case e.Op == Mul:
		return s.product(x, y, e.DType)
	case y.isConst() && y.konst != 0 && e.Op == FloorDiv:
		return s.quotient(x, y.konst, e.DType)
	case y.isConst() && y.konst != 0:
		return s.remainder(x, y.konst, e.DType)
	}
	bx, ok1 := s.build(x, e.DType)
	by, ok2 := s.build(y, e.DType)
	return atom(s.node(e.Op, bx, by, e.DType)), ok1 && ok2
}

// maxExpanded bounds the terms that multiplying out may make.
const maxExpanded = 64

func (s *simplifier) product(x, y linear, d DType) (linear, bool) {
	if x.isConst() {
		x, y = y, x
	}
	if y.isConst() {
		return x.scale(y.konst)
	}
	if s.expand && (len(x.terms)+1)*(len(y.terms)+1) <= maxExpanded && !x.hasCalls() && !y.hasCalls() {
		sum, ok := y.scale(x.konst)
		for i := 0; ok && i < len(x.terms); i++ {
			var part linear
			if part, ok = y.times(x.terms[i]); ok {
				sum, ok = sum.addScaled(part, 1)
			}
		}
		return sum, ok
	}
	fx, ok1 := s.factor(x, d)
	fy, ok2 := s.factor(y, d)
	if !ok1 || !ok2 {
		return linear{}, false
	}
	return (linear{terms: []term{fy}}).times(fx)
}

// factor turns a form into one term.
func (s *simplifier) factor(x linear, d DType) (term, bool) {
	if len(x.terms) == 1 && x.konst == 0 {
		return x.terms[0], true
	}
	e, ok := s.build(x, d)
	return term{coef: 1, factors: []Expr{e}, calls: x.hasCalls()}, ok
}

// times multiplies every part of p by t.
func (p linear) times(t term) (linear, bool) {
	out := linear{}
	if p.konst != 0 {
		c, ok := mulInt(t.coef, p.konst)
		if !ok {
			return p, false
		}
		out.terms = append(out.terms, term{c, t.factors, t.calls})
	}
	for _, u := range p.terms {
		c, ok := mulInt(t.coef, u.coef)
		if !ok {
			return p, false
		}
		fs := append(append(make([]Expr, 0, len(t.factors)+len(u.factors)), t.factors...), u.factors...)
		var sum linear
		sum, ok = out.addScaled(linear{terms: []term{{c, fs, t.calls || u.calls}}}, 1)
		if !ok {
			return p, false
		}
		out = sum
	}
	return out, true
}

// New nodes take the place of the expression that is being simplified.

func (s *simplifier) literal(v int64, d DType) Expr { return &ConstInt{Value: v, DType: d, Pos: s.pos} }

func (s *simplifier) node(op BinOp, x, y Expr, d DType) Expr {
	return &Binary{Op: op, X: x, Y: y, DType: d, Pos: s.pos}
}

// fromLinear simplifies an arithmetic expression through its linear form; when that overflows, only its operands.
func (s *simplifier) fromLinear(e Expr, d DType) Expr {
	if p, ok := s.linear(e); ok {
		if out, ok := s.build(p, d); ok {
			return out
		}
	}
	switch e := e.(type) {
	case *Binary:
		return withOperands(e, s.expr(e.X), s.expr(e.Y))
	case *Unary:
		return withOperand(e, s.expr(e.X))
	}
	return e
}

// build writes a linear form as an expression: positive terms first, the constant last; false when a literal does not fit the dtype.
func (s *simplifier) build(p linear, d DType) (Expr, bool) {
	if p.isConst() {
		return s.literal(p.konst, d), fits(p.konst, d)
	}
	// Start with the first positive term, with a positive constant, or else with a negated term.
	first := 0
	for first < len(p.terms) && p.terms[first].coef < 0 {
		first++
	}
	var sum Expr
	konst := p.konst
	switch {
	case first < len(p.terms):
		t, ok := s.term(p.terms[first], p.terms[first].coef, d)
		if !ok {
			return nil, false
		}
		sum = t
	case konst > 0 && fits(konst, d):
		sum, konst = s.literal(konst, d), 0
	default:
		first = 0
		t, ok := s.term(p.terms[0], p.terms[0].coef, d)
		if !ok {
			return nil, false
		}
		sum = t
	}
	for i, t := range p.terms {
		if i == first {
			continue
		}
		op, coef := Add, t.coef
		if coef < 0 && coef != math.MinInt64 {
			op, coef = Sub, -coef
		}
		b, ok := s.term(t, coef, d)
		if !ok {
			return nil, false
		}
		sum = s.node(op, sum, b, d)
	}
	if konst != 0 {
		op := Add
		if konst < 0 && konst != math.MinInt64 {
			op, konst = Sub, -konst
		}
		if !fits(konst, d) {
			return nil, false
		}
		sum = s.node(op, sum, s.literal(konst, d), d)
	}
	return sum, true
}

// term writes coef * factors, the literal on the right.
func (s *simplifier) term(t term, coef int64, d DType) (Expr, bool) {
	e := t.factors[0]
	for _, f := range t.factors[1:] {
		e = s.node(Mul, e, f, d)
	}
	switch coef {
	case 1:
		return e, true
	case -1:
		return &Unary{Op: Neg, X: e, DType: d, Pos: s.pos}, true
	}
	return s.node(Mul, e, s.literal(coef, d), d), fits(coef, d)
}
