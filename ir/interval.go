package ir

import (
	"math"
	"math/bits"
)

// Interval is a range of integers, both ends included. An end at the limit of int64 stands for "no bound". Lo > Hi is empty.
type Interval struct{ Lo, Hi int64 }

const (
	noLo = math.MinInt64
	noHi = math.MaxInt64
)

// AllInts is the interval without bounds.
var AllInts = Interval{noLo, noHi}

// Contains reports v in i.
func (i Interval) Contains(v int64) bool { return i.Lo <= v && v <= i.Hi }

// Bounds gives what is known of Vars: loop variables with constant bounds, sizes. Nothing is known of a Var that it does not hold.
type Bounds map[*Var]Interval

// LoopInterval is the range of a loop variable with literal bounds, inside the body. The second result is false when a bound is not literal, the step is
// 0 or the loop has no trip.
func LoopInterval(f *For) (Interval, bool) {
	start, ok1 := IntValue(f.Start)
	stop, ok2 := IntValue(f.Stop)
	step, ok3 := IntValue(f.Step)
	if !ok1 || !ok2 || !ok3 {
		return AllInts, false
	}
	trips, ok := TripCount(start, stop, step)
	if !ok || trips == 0 {
		return AllInts, false
	}
	last := start + (trips-1)*step // between start and stop: cannot overflow
	return Interval{min(start, last), max(start, last)}, true
}

// TripCount is the number of trips of range(start, stop, step); false when step is 0 or the count exceeds int64.
func TripCount(start, stop, step int64) (int64, bool) {
	var dist, stride uint64
	switch {
	case step == 0:
		return 0, false
	case step > 0:
		if start >= stop {
			return 0, true
		}
		dist, stride = uint64(stop)-uint64(start), uint64(step)
	default:
		if start <= stop {
			return 0, true
		}
		dist, stride = uint64(start)-uint64(stop), -uint64(step)
	}
	n := (dist-1)/stride + 1
	return int64(n), n <= math.MaxInt64
}

// IntervalOf bounds the value of an integer expression. Dynamic symbols are extents: never negative.
func IntervalOf(e Expr, known Bounds) Interval {
	switch e := e.(type) {
	case *ConstInt:
		return Interval{e.Value, e.Value}
	case *Var:
		if i, ok := known[e]; ok {
			return i
		}
		if e.Dyn {
			return Interval{0, noHi}
		}
	case *Cast:
		// A conversion between integers of full width keeps the value.
		if d := ElemDType(e.X.Type()); isWide(d) && isWide(e.DType) {
			return IntervalOf(e.X, known)
		}
	case *Unary:
		if e.Op == Neg {
			return IntervalOf(e.X, known).neg()
		}
		if e.Op == Abs {
			x := IntervalOf(e.X, known)
			switch n := x.neg(); {
			case x.Lo >= 0:
				return x
			case x.Hi <= 0:
				return n
			default:
				return Interval{0, max(x.Hi, n.Hi)}
			}
		}
	case *Binary:
		if !e.DType.IsSigned() {
			return AllInts
		}
		return binaryInterval(e, known)
	}
	return AllInts
}

func isWide(d DType) bool { return d == INDEX || d == INT64 }

func binaryInterval(e *Binary, known Bounds) Interval {
	x, y := IntervalOf(e.X, known), IntervalOf(e.Y, known)
	switch e.Op {
	case Add:
		return x.add(y)
	case Sub:
		return x.add(y.neg())
	case Mul:
		return x.mul(y)
	case Min:
		return Interval{min(x.Lo, y.Lo), min(x.Hi, y.Hi)}
	case Max:
		return Interval{max(x.Lo, y.Lo), max(x.Hi, y.Hi)}
	case FloorDiv:
		if y.Lo == y.Hi && y.Lo > 0 {
			return x.floorDiv(y.Lo)
		}
	case FloorMod:
		// The result lies between 0 and the divisor; a small enough dividend is its own remainder.
		if y.Lo > 0 {
			hi := satAdd(y.Hi, -1)
			if y.Hi == noHi {
				hi = noHi
			}
			if x.Lo >= 0 {
				hi = min(hi, x.Hi)
			}
			return Interval{0, hi}
		}
	}
	return AllInts
}

func (i Interval) neg() Interval {
	r := AllInts
	if i.Hi != noHi {
		r.Lo = satNeg(i.Hi)
	}
	if i.Lo != noLo {
		r.Hi = satNeg(i.Lo)
	}
	return r.widen()
}

func (i Interval) add(j Interval) Interval {
	r := AllInts
	if i.Lo != noLo && j.Lo != noLo {
		r.Lo = satAdd(i.Lo, j.Lo)
	}
	if i.Hi != noHi && j.Hi != noHi {
		r.Hi = satAdd(i.Hi, j.Hi)
	}
	return r.widen()
}

func (i Interval) mul(j Interval) Interval {
	a, b, c, d := satMul(i.Lo, j.Lo), satMul(i.Lo, j.Hi), satMul(i.Hi, j.Lo), satMul(i.Hi, j.Hi)
	return Interval{min(a, b, c, d), max(a, b, c, d)}.widen()
}

func (i Interval) floorDiv(c int64) Interval {
	r := i
	if i.Lo != noLo {
		r.Lo = floorDiv(i.Lo, c)
	}
	if i.Hi != noHi {
		r.Hi = floorDiv(i.Hi, c)
	}
	return r
}

// widen drops an end that saturated on the wrong side.
func (i Interval) widen() Interval {
	if i.Lo == noHi {
		i.Lo = noHi - 1
	}
	if i.Hi == noLo {
		i.Hi = noLo + 1
	}
	return i
}

// Saturating arithmetic, for interval ends.

func satNeg(a int64) int64 {
	if a == noLo {
		return noHi
	}
	return -a
}

func satAdd(a, b int64) int64 {
	if s, ok := addInt(a, b); ok {
		return s
	}
	if a < 0 {
		return noLo
	}
	return noHi
}

func satMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if p, ok := mulInt(a, b); ok && a != noLo && a != noHi && b != noLo && b != noHi {
		return p
	}
	if (a < 0) == (b < 0) {
		return noHi
	}
	return noLo
}

// Checked arithmetic: false on overflow.

func addInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func mulInt(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(absUint(a), absUint(b))
	if hi != 0 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return int64(-lo), lo <= 1<<63
	}
	return int64(lo), lo < 1<<63
}

func absUint(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// floorDiv and floorMod are Python's: towards minus infinity, remainder with the sign of the divisor. b is not 0; MinInt64 // -1 is the caller's care.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}
