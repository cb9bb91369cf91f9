package ir

import "math"

// Floor division and remainder of linear forms by literals.

// quotient is floor(x / c), c not 0: what c divides comes out, a common divisor of the rest cancels.
func (s *simplifier) quotient(x linear, c int64, d DType) (linear, bool) {
	if c == math.MinInt64 {
		return linear{}, false
	}
	if c < 0 { // floor(x / -c) = floor(-x / c)
		n, ok := x.scale(-1)
		if !ok {
			return n, false
		}
		x, c = n, -c
	}
	if c == 1 {
		return x, true
	}
	var whole, rest linear
	for _, t := range x.terms {
		if t.coef%c == 0 {
			t.coef /= c
			whole.terms = append(whole.terms, t)
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	if rest.isConst() {
		whole.konst = floorDiv(x.konst, c)
		return whole, true
	}
	rest.konst = x.konst
	if g := gcd(rest, c); g > 1 {
		rest, c = rest.divided(g), c/g
	}
	if rest.konst%c == 0 {
		whole.konst, rest.konst = rest.konst/c, 0
	}
	if i := rest.interval(s.known); i.Lo >= 0 && i.Hi < c && !rest.hasCalls() {
		return whole, true
	}
	// (y // a) // c is y // (a * c)
	if len(rest.terms) == 1 && rest.konst == 0 && rest.terms[0].coef == 1 && len(rest.terms[0].factors) == 1 {
		if in, ok := rest.terms[0].factors[0].(*Binary); ok && in.Op == FloorDiv {
			if a, ok := IntValue(in.Y); ok && a > 0 {
				ac, ok1 := mulInt(a, c)
				y, ok2 := s.linear(in.X)
				if ok1 && ok2 && fits(ac, d) {
					if q, ok := s.quotient(y, ac, d); ok {
						return whole.addScaled(q, 1)
					}
				}
			}
		}
	}
	e, ok := s.build(rest, d)
	if !ok || !fits(c, d) {
		return linear{}, false
	}
	return whole.addScaled(atom(s.node(FloorDiv, e, s.literal(c, d), d)), 1)
}

// remainder is x - c*floor(x / c), c not 0.
func (s *simplifier) remainder(x linear, c int64, d DType) (linear, bool) {
	if c == math.MinInt64 {
		return linear{}, false
	}
	if c < 0 { // x % -c = -(-x % c)
		n, ok := x.scale(-1)
		if !ok {
			return n, false
		}
		if n, ok = s.remainder(n, -c, d); !ok {
			return n, false
		}
		return n.scale(-1)
	}
	rest := linear{konst: floorMod(x.konst, c)}
	for _, t := range x.terms {
		if t.coef%c != 0 {
			t.coef %= c
			rest.terms = append(rest.terms, t)
		} else if t.calls {
			return linear{}, false
		}
	}
	if rest.isConst() {
		return rest, true
	}
	// (g*a + k) % (g*b) is g*(a % b) + k for 0 <= k < g
	g := gcd(rest, c)
	k := floorMod(rest.konst, g)
	rest, c = rest.divided(g), c/g
	if i := rest.interval(s.known); i.Lo >= 0 && i.Hi < c {
		return scaleAdd(rest, g, k)
	}
	// (y % (b*m)) % b is y % b
	if len(rest.terms) == 1 && rest.konst == 0 && rest.terms[0].coef == 1 && len(rest.terms[0].factors) == 1 {
		if in, ok := rest.terms[0].factors[0].(*Binary); ok && in.Op == FloorMod {
			if m, ok := IntValue(in.Y); ok && m > 0 && m%c == 0 {
				y, ok := s.linear(in.X)
				if !ok {
					return y, false
				}
				if m == c {
					return scaleAdd(rest, g, k)
				}
				r, ok := s.remainder(y, c, d)
				if !ok {
					return r, false
				}
				return scaleAdd(r, g, k)
			}
		}
	}
	e, ok := s.build(rest, d)
	if !ok || !fits(c, d) {
		return linear{}, false
	}
	return scaleAdd(atom(s.node(FloorMod, e, s.literal(c, d), d)), g, k)
}

func scaleAdd(p linear, g, k int64) (linear, bool) {
	out, ok := p.scale(g)
	if !ok {
		return out, false
	}
	out.konst, ok = addInt(out.konst, k)
	return out, ok
}

// gcd is the greatest common divisor of c > 0 and all coefficients.
func gcd(p linear, c int64) int64 {
	g := uint64(c)
	for _, t := range p.terms {
		for b := absUint(t.coef); b != 0; {
			g, b = b, g%b
		}
	}
	return int64(g)
}

// divided divides the coefficients by g, which divides them, and the constant by g rounding down.
func (p linear) divided(g int64) linear {
	out := linear{konst: floorDiv(p.konst, g), terms: make([]term, len(p.terms))}
	for i, t := range p.terms {
		t.coef /= g
		out.terms[i] = t
	}
	return out
}
