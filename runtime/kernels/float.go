package kernels

import (
	"math"
	"sync"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
)

// Narrow floats. Tiles hold float32 whatever their dtype; a value of FP16, BF16 or FP8 is a float32 that the dtype can represent. Rounding is to
// nearest, ties to even (spec: dsl-ir 4.5).

// small is an 8-bit float format.
type small struct {
	exp, man, bias int
	finite         bool // no infinities: the top exponent holds numbers, all ones is NaN; overflow saturates
	decode         func() *[256]float32
}

var e4m3 = &small{exp: 4, man: 3, bias: 7, finite: true}
var e5m2 = &small{exp: 5, man: 2, bias: 15}

func init() {
	e4m3.decode = sync.OnceValue(e4m3.table)
	e5m2.decode = sync.OnceValue(e5m2.table)
}

func (s *small) table() *[256]float32 {
	var t [256]float32
	for c := range t {
		t[c] = s.value(uint8(c))
	}
	return &t
}

func (s *small) value(c uint8) float32 {
	sign := float32(1)
	if c&0x80 != 0 {
		sign = -1
	}
	top := 1<<s.exp - 1
	exp, man := int(c&0x7f)>>s.man, int(c)&(1<<s.man-1)
	switch {
	case s.finite && exp == top && man == 1<<s.man-1:
		return float32(math.NaN())
	case !s.finite && exp == top:
		if man == 0 {
			return sign * float32(math.Inf(1))
		}
		return float32(math.NaN())
	case exp == 0:
		return sign * float32(math.Ldexp(float64(man), 1-s.bias-s.man))
	}
	return sign * float32(math.Ldexp(float64(1<<s.man+man), exp-s.bias-s.man))
}

// encode rounds to nearest even.
func (s *small) encode(f float32) uint8 {
	sign := uint8(math.Float32bits(f) >> 24 & 0x80)
	x := math.Abs(float64(f))
	limit := uint8(0x7f)
	if s.finite {
		limit = 0x7e // the largest number
	} else {
		limit = uint8((1<<s.exp - 1) << s.man) // infinity
	}
	switch {
	case x != x:
		return sign | 0x7f
	case x == 0:
		return sign
	case math.IsInf(x, 1):
		return sign | limit
	}
	_, e := math.Frexp(x) // x = m·2^e, m in [0.5, 1)
	e = max(e-1, 1-s.bias)
	units := int(math.RoundToEven(math.Ldexp(x, s.man-e))) // of the last place; a subnormal's units are its pattern
	return sign | uint8(min(units+(e+s.bias-1)<<s.man, int(limit)))
}

// The E8M0 format is a power of two: 2^(code-127).
func fromE8M0(c uint8) float32 {
	if c == 0xff {
		return float32(math.NaN())
	}
	return float32(math.Ldexp(1, int(c)-127))
}

func toE8M0(f float32) uint8 {
	if f != f || f <= 0 {
		return 0xff
	}
	m, e := math.Frexp(float64(f))
	if m > 0.70710678118654752 { // nearest power of two on the logarithmic scale
		e++
	}
	return uint8(min(max(e-1+127, 0), 254))
}

// roundTo rounds one value to what dtype d can hold.
func roundTo(f float32, d ir.DType) float32 {
	switch d {
	case ir.FP16:
		return float16.FromHalf(float16.ToHalf(f))
	case ir.BF16:
		return float16.FromBF16(float16.ToBF16(f))
	case ir.FP8E4M3FN:
		return e4m3.decode()[e4m3.encode(f)]
	case ir.FP8E5M2:
		return e5m2.decode()[e5m2.encode(f)]
	case ir.FP8E8M0:
		return fromE8M0(toE8M0(f))
	}
	return f
}

// roundRow rounds a row in place.
func roundRow(x []float32, d ir.DType) {
	switch d {
	case ir.FP32, ir.FP64:
	case ir.FP16:
		for i, f := range x {
			x[i] = float16.FromHalf(float16.ToHalf(f))
		}
	case ir.BF16:
		for i, f := range x {
			x[i] = float16.FromBF16(float16.ToBF16(f))
		}
	default:
		for i, f := range x {
			x[i] = roundTo(f, d)
		}
	}
}

// rounding is the mode of a cast.
type rounding uint8

const (
	rintMode  rounding = iota // nearest, ties to even; also mode none
	roundMode                 // nearest, ties away from zero
	floorMode
	ceilMode
	truncMode
	oddMode // nearest, ties to odd
)

var roundings = map[string]rounding{"none": rintMode, "rint": rintMode, "round": roundMode, "floor": floorMode, "ceil": ceilMode, "trunc": truncMode, "odd": oddMode}

// integral rounds to an integer value.
func (m rounding) integral(x float64) float64 {
	switch m {
	case roundMode:
		return math.Round(x)
	case floorMode:
		return math.Floor(x)
	case ceilMode:
		return math.Ceil(x)
	case truncMode:
		return math.Trunc(x)
	case oddMode:
		lo := math.Floor(x)
		switch d := x - lo; {
		case d < 0.5:
			return lo
		case d > 0.5:
			return lo + 1
		case math.Mod(lo, 2) != 0:
			return lo
		default:
			return lo + 1
		}
	}
	return math.RoundToEven(x)
}

// narrow rounds a real value to dtype d; the mode acts on the mantissa.
func (m rounding) narrow(x float64, d ir.DType) float32 {
	near := nearest(x, d)
	if m == rintMode || float64(near) == x || near != near || math.IsInf(x, 0) {
		return near
	}
	lo, hi := near, near
	if float64(near) > x {
		lo = neighbour(near, d, false)
	} else {
		hi = neighbour(near, d, true)
	}
	switch m {
	case floorMode:
		return lo
	case ceilMode:
		return hi
	case truncMode:
		if x > 0 {
			return lo
		}
		return hi
	}
	if x-float64(lo) != float64(hi)-x || math.IsInf(float64(lo), 0) || math.IsInf(float64(hi), 0) {
		return near
	}
	away := hi
	if x < 0 {
		away = lo
	}
	if m == roundMode || isOdd(away, d) {
		return away
	}
	if away == hi {
		return lo
	}
	return hi
}

// nearest rounds a double once: through a float32 that keeps the inexactness in its last bit.
func nearest(x float64, d ir.DType) float32 {
	f := float32(x)
	if d == ir.FP32 || float64(f) == x || f != f {
		return roundTo(f, d)
	}
	b := math.Float32bits(f)
	if b&1 == 0 { // round to odd
		if (float64(f) < x) == (f >= 0) {
			b++
		} else {
			b--
		}
	}
	return roundTo(math.Float32frombits(b), d)
}

// code is the bit pattern of a value of dtype d.
func code(f float32, d ir.DType) uint32 {
	switch d {
	case ir.FP16:
		return uint32(float16.ToHalf(f))
	case ir.BF16:
		return uint32(float16.ToBF16(f))
	case ir.FP8E4M3FN:
		return uint32(e4m3.encode(f))
	case ir.FP8E5M2:
		return uint32(e5m2.encode(f))
	case ir.FP8E8M0:
		return uint32(toE8M0(f))
	}
	return math.Float32bits(f)
}

// decode is the value of a bit pattern of dtype d.
func decode(c uint32, d ir.DType) float32 {
	switch d {
	case ir.FP16:
		return float16.FromHalf(uint16(c))
	case ir.BF16:
		return float16.FromBF16(uint16(c))
	case ir.FP8E4M3FN:
		return e4m3.decode()[uint8(c)]
	case ir.FP8E5M2:
		return e5m2.decode()[uint8(c)]
	case ir.FP8E8M0:
		return fromE8M0(uint8(c))
	}
	return math.Float32frombits(c)
}

func isOdd(f float32, d ir.DType) bool { return code(f, d)&1 != 0 }

// neighbour is the next value of dtype d above or below f.
func neighbour(f float32, d ir.DType, up bool) float32 {
	sign := uint32(1) << (d.Bits() - 1)
	c := code(f, d)
	if d == ir.FP8E8M0 { // unsigned
		if up {
			return decode(min(c+1, 254), d)
		}
		return decode(max(c, 1)-1, d)
	}
	switch {
	case c&^sign == 0: // zero
		c = 1
		if !up {
			c |= sign
		}
	case (c&sign == 0) == up:
		c++
	default:
		c--
	}
	return decode(c, d)
}
