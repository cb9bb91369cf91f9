package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
)

// Every half pattern survives the way through float32, NaN payloads included.
func TestHalfRoundTrip(t *testing.T) {
	for c := range 1 << 16 {
		h := uint16(c)
		if got := float16.ToHalf(float16.FromHalf(h)); got != h {
			t.Fatalf("FP16 %#04x comes back as %#04x", h, got)
		}
		if got := float16.ToBF16(float16.FromBF16(h)); got != h {
			t.Fatalf("BF16 %#04x comes back as %#04x", h, got)
		}
	}
}

// halfValue decodes by definition.
func halfValue(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, man := int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return sign * math.Ldexp(man, -24)
	case 31:
		if man == 0 {
			return sign * math.Inf(1)
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+man, exp-25)
}

func TestHalfValues(t *testing.T) {
	for c := range 1 << 16 {
		want, got := halfValue(uint16(c)), float64(float16.FromHalf(uint16(c)))
		if got != want && !(got != got && want != want) {
			t.Fatalf("FP16 %#04x is %v, want %v", c, got, want)
		}
	}
}

// Between any two neighbouring values the midpoint goes to the even one, and anything nearer to one side goes there: for all pairs of
// both formats.
func TestRoundsToNearestEven(t *testing.T) {
	for _, d := range []ir.DType{ir.FP16, ir.BF16, ir.FP8E4M3FN, ir.FP8E5M2, ir.FP4} {
		top := uint32(1)<<(d.Bits()-1) - 1 // positive patterns
		for c := uint32(0); c < top; c++ {
			lo, hi := decode(c, d), decode(c+1, d)
			if hi != hi || math.IsInf(float64(hi), 0) || lo != lo {
				break
			}
			even := c + c&1
			mid := (float64(lo) + float64(hi)) / 2
			for sign := uint32(0); sign < 2; sign++ {
				s := 1 - 2*float64(sign)
				neg := sign << (d.Bits() - 1)
				if got := code(nearest(s*mid, d), d); got != even|neg {
					t.Fatalf("%s: the midpoint of %#x and %#x goes to %#x", d, c, c+1, got)
				}
				if got := code(nearest(s*math.Nextafter(mid, 0), d), d); got != c|neg {
					t.Fatalf("%s: just below the midpoint of %#x goes to %#x", d, c, got)
				}
				if got := code(nearest(s*math.Nextafter(mid, math.Inf(1)), d), d); got != (c+1)|neg {
					t.Fatalf("%s: just above the midpoint of %#x goes to %#x", d, c, got)
				}
				// Cast modes act on the same pair.
				for m, want := range map[rounding]uint32{floorMode: c + sign, ceilMode: c + 1 - sign, truncMode: c, roundMode: c + 1, rintMode: even, oddMode: c + 1 - c&1} {
					if got := code(m.narrow(s*mid, d), d); got != want|neg {
						t.Fatalf("%s mode %d: the midpoint of %#x (sign %d) goes to %#x, want %#x", d, m, c, sign, got, want)
					}
				}
			}
		}
	}
}

func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		x    float64
		want float64
	}{
		{ir.FP16, 65504, 65504}, {ir.FP16, 65519.996, 65504}, {ir.FP16, 65520, math.Inf(1)}, {ir.FP16, -1e30, math.Inf(-1)},
		{ir.BF16, math.MaxFloat32, math.Inf(1)}, {ir.FP8E4M3FN, 1000, 448}, {ir.FP8E4M3FN, -463, -448}, {ir.FP8E5M2, 1e6, math.Inf(1)},
		{ir.FP16, 1e-9, 0}, {ir.FP8E8M0, 3, 4}, {ir.FP8E8M0, 2.5, 2},
		{ir.FP4, 100, 6}, {ir.FP4, math.Inf(-1), -6}, {ir.FP4, 0.2, 0}, {ir.HF8, 32768, 32768}, {ir.HF8, 40000, 32768}, {ir.HF8, 41000, math.Inf(1)},
		{ir.HF8, -1e30, math.Inf(-1)}, {ir.HF8, 1e-9, 0}, {ir.HF8, 1.1e-7, 0}, {ir.HF8, 0x1p-23, 0x1p-22},
	} {
		if got := roundTo(c.x, c.d); float64(got) != c.want {
			t.Errorf("%v as %s is %v, want %v", c.x, c.d, got, c.want)
		}
	}
	for c := range 256 {
		for _, s := range []*small{e4m3, e5m2} {
			if f := s.value(uint8(c)); f == f && s.encode(f) != uint8(c) {
				t.Errorf("8-bit pattern %#02x is %v and comes back as %#02x", c, f, s.encode(f))
			}
		}
	}
}

// Converting float32 to half agrees with the definition: the nearest of all values, on random patterns.
func TestHalfOfRandomFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		f := math.Float32frombits(rng.Uint32())
		if f != f {
			continue
		}
		h := float16.ToHalf(f)
		v := float64(float16.FromHalf(h))
		lo, hi := neighbour(v, ir.FP16, false), neighbour(v, ir.FP16, true)
		if math.IsInf(v, 0) {
			if math.Abs(float64(f)) < 65520 {
				t.Fatalf("%v becomes %v", f, v)
			}
			continue
		}
		if e := math.Abs(v - float64(f)); e > math.Abs(lo-float64(f)) || e > math.Abs(hi-float64(f)) && !math.IsInf(hi, 0) {
			t.Fatalf("%v becomes %v, but %v or %v is nearer", f, v, lo, hi)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		v    int64
		d    ir.DType
		want int64
	}{
		{200, ir.INT8, -56}, {-1, ir.UINT8, 255}, {1 << 31, ir.INT32, -1 << 31}, {-1, ir.UINT32, 1<<32 - 1}, {70000, ir.INT16, 4464}, {7, ir.BOOL, 1}, {9, ir.INT4, -7},
	} {
		if got := wrap(c.v, c.d); got != c.want {
			t.Errorf("%d as %s is %d, want %d", c.v, c.d, got, c.want)
		}
	}
	for _, c := range []struct {
		x    float64
		d    ir.DType
		want int64
	}{
		{300, ir.INT8, 127}, {-300, ir.INT8, -128}, {-5, ir.UINT8, 0}, {math.NaN(), ir.INT32, 0}, {1e30, ir.INT64, math.MaxInt64}, {-1e30, ir.INT64, math.MinInt64},
		{math.Inf(1), ir.UINT32, 1<<32 - 1}, {0x1p63, ir.UINT64, math.MinInt64}, {1e30, ir.UINT64, -1}, {42, ir.INT32, 42},
	} {
		if got := saturate(c.x, c.d); got != c.want {
			t.Errorf("%v as %s is %d, want %d", c.x, c.d, got, c.want)
		}
	}
	for m, want := range map[rounding][4]float64{rintMode: {2, 4, -2, 2}, roundMode: {3, 4, -3, 2}, floorMode: {2, 3, -3, 2}, ceilMode: {3, 4, -2, 3}, truncMode: {2, 3, -2, 2}, oddMode: {3, 3, -3, 2}} {
		for i, x := range [4]float64{2.5, 3.5, -2.5, 2.25} {
			if got := m.integral(x); got != want[i] {
				t.Errorf("mode %d of %v is %v, want %v", m, x, got, want[i])
			}
		}
	}
	if floorDiv(-7, 3) != -3 || floorMod(-7, 3) != 2 || floorDiv(7, -3) != -3 || floorMod(7, -3) != -2 {
		t.Error("// and % do not floor")
	}
	if f := new(machine).intToFloat(1<<24+1, ir.INT32, ir.BF16); f != 1<<24 {
		t.Errorf("BF16 of 2^24+1 is %v", f)
	}
}

// HiFloat8: the patterns of the format's description, all patterns there and back, and rounding between neighbours, ties away from zero.
func TestHiFloat8(t *testing.T) {
	for c, want := range map[uint8]float64{0: 0, 1: 0x1p-22, 7: 0x1p-16, 8: 1, 9: 1.125, 0x10: 2, 0x18: 0.5, 0x20: 4, 0x28: 8, 0x30: 0.25, 0x3f: 1.875 / 8, 0x40: 16,
		0x5f: 1.75 / 128, 0x60: 256, 0x6e: 32768, 0x7e: 0x1p-15, 0x7f: 1.5 * 0x1p-15, 0x88: -1, 0xee: -32768, 0x6f: math.Inf(1), 0xef: math.Inf(-1)} {
		if got := decode(uint32(c), ir.HF8); got != want {
			t.Errorf("%#02x is %v, want %v", c, got, want)
		}
	}
	for c := range uint32(256) {
		v := decode(c, ir.HF8)
		if back := code(v, ir.HF8); back != c {
			t.Errorf("%#02x is %v and comes back as %#02x", c, v, back)
		}
		if v != v || math.IsInf(v, 0) || v == 32768 || v == -32768 {
			continue
		}
		next := neighbour(v, ir.HF8, true)
		if next <= v || neighbour(next, ir.HF8, false) != v {
			t.Errorf("after %v comes %v", v, next)
		}
		mid, away := (v+next)/2, next
		if v < 0 {
			away = v
		}
		if got := nearest(mid, ir.HF8); got != away {
			t.Errorf("%v between %v and %v goes to %v", mid, v, next, got)
		}
		for m, want := range map[rounding]float64{floorMode: v, ceilMode: next} {
			if got := m.narrow(mid, ir.HF8); got != want {
				t.Errorf("mode %d: %v between %v and %v goes to %v", m, mid, v, next, got)
			}
		}
	}
}
