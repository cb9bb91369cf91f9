package kernels

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
)

// Floats. Tiles hold float64 whatever their dtype; a value of a narrower dtype is one that the dtype can represent. An operation on such values in
// double, rounded once to FP32 or less, gives what the operation in single precision gives: 53 bits are more than twice 24. Rounding is to nearest,
// ties to even (spec: dsl-ir 4.5).

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

// roundTo rounds one value to what dtype d can hold: narrow dtypes through single precision, in which they are computed.
func roundTo(f float64, d ir.DType) float64 {
	switch d {
	case ir.FP32:
		return float64(float32(f))
	case ir.FP64:
		return f
	case ir.FP16:
		return float64(float16.FromHalf(float16.ToHalf(float32(f))))
	case ir.BF16:
		return float64(float16.FromBF16(float16.ToBF16(float32(f))))
	}
	return decode(code(f, d), d)
}

// roundRow rounds a row of results in place. Without rounding, in the double-precision evaluation of a program, everything stays as it is.
func (m *machine) roundRow(x []float64, d ir.DType) {
	if m.double {
		return
	}
	switch d {
	case ir.FP64:
	case ir.FP32:
		for i, f := range x {
			x[i] = float64(float32(f))
		}
	case ir.FP16:
		for i, f := range x {
			x[i] = float64(float16.FromHalf(float16.ToHalf(float32(f))))
		}
	case ir.BF16:
		for i, f := range x {
			x[i] = float64(float16.FromBF16(float16.ToBF16(float32(f))))
		}
	default:
		for i, f := range x {
			x[i] = roundTo(f, d)
		}
	}
}

// round is roundRow for one value.
func (m *machine) round(f float64, d ir.DType) float64 {
	if m.double {
		return f
	}
	return roundTo(f, d)
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
func (m rounding) narrow(x float64, d ir.DType) float64 {
	near := nearest(x, d)
	if m == rintMode || near == x || near != near || math.IsInf(x, 0) {
		return near
	}
	lo, hi := near, near
	if near > x {
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
	if x-lo != hi-x || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
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

// nearest rounds a double once: to a narrow dtype through a float32 that keeps the inexactness in its last bit.
func nearest(x float64, d ir.DType) float64 {
	f := float32(x)
	if d == ir.FP32 || d == ir.FP64 || float64(f) == x || f != f {
		return roundTo(x, d)
	}
	b := math.Float32bits(f)
	if b&1 == 0 { // round to odd
		if (float64(f) < x) == (f >= 0) {
			b++
		} else {
			b--
		}
	}
	return roundTo(float64(math.Float32frombits(b)), d)
}

// nearest is the function of that name, but for the evaluation in double precision.
func (m *machine) nearest(x float64, d ir.DType) float64 {
	if m.double {
		return x
	}
	return nearest(x, d)
}

// floatLiteral is a constant of dtype d.
func floatLiteral(x float64, d ir.DType) floatExpr {
	if near := nearest(x, d); near != x {
		return floatExpr{f: func(m *machine) float64 {
			if m.double {
				return x
			}
			return near
		}}
	}
	return constFloat(x)
}

// code is the bit pattern of a value of dtype d, which has at most 32 bits.
func code(f float64, d ir.DType) uint32 {
	switch d {
	case ir.FP16:
		return uint32(float16.ToHalf(float32(f)))
	case ir.BF16:
		return uint32(float16.ToBF16(float32(f)))
	case ir.FP8E4M3FN:
		return uint32(e4m3.encode(float32(f)))
	case ir.FP8E5M2:
		return uint32(e5m2.encode(float32(f)))
	case ir.FP8E8M0:
		return uint32(toE8M0(float32(f)))
	case ir.FP4:
		return uint32(toFP4(f))
	case ir.HF8:
		return uint32(toHF8(f))
	}
	return math.Float32bits(float32(f))
}

// decode is the value of a bit pattern of dtype d.
func decode(c uint32, d ir.DType) float64 {
	switch d {
	case ir.FP16:
		return float64(float16.FromHalf(uint16(c)))
	case ir.BF16:
		return float64(float16.FromBF16(uint16(c)))
	case ir.FP8E4M3FN:
		return float64(e4m3.decode()[uint8(c)])
	case ir.FP8E5M2:
		return float64(e5m2.decode()[uint8(c)])
	case ir.FP8E8M0:
		return float64(fromE8M0(uint8(c)))
	case ir.FP4:
		return fp4Values[c&15]
	case ir.HF8:
		return hf8Values()[uint8(c)]
	}
	return float64(math.Float32frombits(c))
}

func isOdd(f float64, d ir.DType) bool {
	c := code(f, d)
	if d == ir.HF8 {
		c = uint32(slices.Index(hf8Order(), uint8(c)&0x7f))
	}
	return c&1 != 0
}

// neighbour is the next value of dtype d above or below f.
func neighbour(f float64, d ir.DType, up bool) float64 {
	sign := uint32(1) << (d.Bits() - 1)
	c := code(f, d)
	switch d {
	case ir.FP64:
		if up {
			return math.Nextafter(f, math.Inf(1))
		}
		return math.Nextafter(f, math.Inf(-1))
	case ir.HF8: // the order of its patterns is not that of its values
		codes := hf8Order()
		k := slices.Index(codes, uint8(c)&0x7f)
		if math.Signbit(f) {
			k = -k
		}
		if up {
			k++
		} else {
			k--
		}
		return math.Copysign(hf8Values()[codes[min(max(k, -k), len(codes)-1)]], float64(k))
	}
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
	case (c&sign == 0) == up && d == ir.FP4 && c&7 == 7: // there is nothing beyond
	case (c&sign == 0) == up:
		c++
	default:
		c--
	}
	return decode(c, d)
}

// fp4Values are the numbers of E2M1 by their pattern.
var fp4Values = [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, math.Copysign(0, -1), -0.5, -1, -1.5, -2, -3, -4, -6}

// toFP4 rounds to nearest, ties to even; there are neither infinities nor NaN, so overflow saturates and NaN becomes zero.
func toFP4(f float64) uint8 {
	sign := uint8(0)
	if math.Signbit(f) {
		sign = 8
	}
	x := math.Abs(f)
	if x != x {
		return 0
	}
	for c := uint8(0); c < 7; c++ {
		middle := (fp4Values[c] + fp4Values[c+1]) / 2
		if x < middle || x == middle && c&1 == 0 {
			return sign | c
		}
	}
	return sign | 7
}

// HiFloat8: a sign, a prefix code that says how many exponent bits follow, the exponent as sign and magnitude whose leading one is left out, and
// the rest of the mantissa. Prefix 11: four bits, exponents ±8…±15; 10: three, ±4…±7; 01: two, ±2 and ±3; 001: one, ±1; 0001: none, 0;
// 0000: numbers below, 2^(mantissa-23). The pattern of minus zero is NaN, the two with the largest exponent and mantissa are the infinities.
var hf8Values = sync.OnceValue(func() *[256]float64 {
	var t [256]float64
	for c := range t {
		t[c] = hf8Value(uint8(c))
	}
	return &t
})

func hf8Value(c uint8) float64 {
	sign := 1.0
	if c&0x80 != 0 {
		sign = -1
	}
	bits := int(c & 0x7f)
	if bits == 0x6f {
		return math.Inf(int(sign))
	}
	exponent, mantissa, width := 0, bits&7, 3
	signed := func(field, n int) int { // of n bits: the sign, then what follows the leading one
		magnitude := 1<<(n-1) | field&(1<<(n-1)-1)
		if field>>(n-1) != 0 {
			return -magnitude
		}
		return magnitude
	}
	switch {
	case bits>>5 == 3:
		exponent, mantissa, width = signed(bits>>1&15, 4), bits&1, 1
	case bits>>5 == 2:
		exponent, mantissa, width = signed(bits>>2&7, 3), bits&3, 2
	case bits>>5 == 1:
		exponent = signed(bits>>3&3, 2)
	case bits>>4 == 1:
		exponent = signed(bits>>3&1, 1)
	case bits>>3 == 1:
	case mantissa == 0:
		if sign < 0 {
			return math.NaN()
		}
		return 0
	default:
		return sign * math.Ldexp(1, mantissa-23)
	}
	return sign * math.Ldexp(float64(1<<width+mantissa), exponent-width)
}

// hf8Order lists the patterns of the positive numbers by value, infinity last.
var hf8Order = sync.OnceValue(func() []uint8 {
	var codes []uint8
	for c := range uint8(0x80) {
		codes = append(codes, c)
	}
	slices.SortFunc(codes, func(a, b uint8) int { return cmp.Compare(hf8Value(a), hf8Value(b)) })
	return codes
})

// toHF8 rounds to nearest, ties away from zero, as that format is defined.
func toHF8(f float64) uint8 {
	if f != f {
		return 0x80
	}
	sign := uint8(0)
	if math.Signbit(f) {
		sign = 0x80
	}
	x, codes := math.Abs(f), hf8Order()
	k := sort.Search(len(codes), func(i int) bool { return hf8Values()[codes[i]] >= x })
	if k > 0 && k < len(codes) {
		lo, hi := hf8Values()[codes[k-1]], hf8Values()[codes[k]]
		if math.IsInf(hi, 1) && !math.IsInf(x, 1) {
			hi = 1.5 * lo // the number that would come next
		}
		if x-lo < hi-x {
			k--
		}
	}
	if codes[min(k, len(codes)-1)] == 0 {
		return 0 // there is no minus zero
	}
	return sign | codes[min(k, len(codes)-1)]
}
