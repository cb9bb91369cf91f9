package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

var floats = []ir.DType{ir.FP32, ir.FP16, ir.BF16}
var ints = []ir.DType{ir.INT8, ir.INT16, ir.INT32, ir.INT64, ir.UINT8, ir.UINT16, ir.UINT32}

// value gives test values of both signs, of different sizes, never 0.
func value(i int) float64 { return float64((i*37+11)%41-20) + 0.375 }

func rounded(v float64, d ir.DType) float64 {
	if d.IsFloat() {
		return roundTo(v, d)
	}
	return float64(wrap(int64(v), d))
}

// Each binary op against its definition, element by element, for every dtype it takes; tile with tile, tile with scalar.
func TestBinaryOps(t *testing.T) {
	f32 := func(f func(x, y float64) float64) func(x, y float64) float64 {
		return func(x, y float64) float64 { return float64(float32(f(x, y))) }
	}
	for _, c := range []struct {
		name   string
		float  func(x, y float64) float64
		int    func(x, y int64) int64
		scalar bool // has a scalar form
	}{
		{"add", f32(func(x, y float64) float64 { return x + y }), func(x, y int64) int64 { return x + y }, true},
		{"sub", f32(func(x, y float64) float64 { return x - y }), func(x, y int64) int64 { return x - y }, true},
		{"mul", f32(func(x, y float64) float64 { return x * y }), func(x, y int64) int64 { return x * y }, true},
		{"div", f32(func(x, y float64) float64 { return x / y }), func(x, y int64) int64 { return x / y }, true},
		{"maximum", math.Max, func(x, y int64) int64 { return max(x, y) }, true},
		{"minimum", math.Min, func(x, y int64) int64 { return min(x, y) }, true},
		{"fmod", f32(math.Mod), func(x, y int64) int64 { return x % y }, true},
		{"rem", f32(func(x, y float64) float64 { return x - y*math.Floor(x/y) }), floorMod, true},
		{"and", nil, func(x, y int64) int64 { return x & y }, true},
		{"or", nil, func(x, y int64) int64 { return x | y }, true},
		{"xor", nil, func(x, y int64) int64 { return x ^ y }, true},
		{"shl", nil, func(x, y int64) int64 { return x << uint64(y) }, true},
		{"shr", nil, func(x, y int64) int64 { return x >> uint64(y) }, true},
	} {
		dtypes := ints
		if c.float != nil {
			dtypes = append(append([]ir.DType(nil), floats...), ints...)
		}
		for _, d := range dtypes {
			x := seq(d, []int{6, 20}, value)
			y := seq(d, []int{6, 20}, func(i int) float64 { return value(i*3 + 5) })
			if c.name == "shl" || c.name == "shr" {
				y = seq(d, []int{6, 20}, func(i int) float64 { return float64(i % 7) })
			}
			for i, v := range y.x {
				if v == 0 {
					y.x[i] = 1
				}
			}
			def := func(a, b float64) float64 {
				if d.IsFloat() {
					return rounded(c.float(a, b), d)
				}
				return float64(wrap(c.int(int64(a), int64(b)), d))
			}
			want := make([]float64, len(x.x))
			for i := range want {
				want[i] = def(x.x[i], y.x[i])
			}
			b := kernelOf(t, "k")
			p, q, o := b.in("p", d, 6, 20), b.in("q", d, 6, 20), b.out("o", d, 6, 20)
			b.store(b.op("tile."+c.name, b.load(p), b.load(q)), o)
			same(t, c.name+" "+d.String(), eval(t, b, x, y, zeros(d, 6, 20)), want)

			if !c.scalar {
				continue
			}
			s := 3.0
			for i := range want {
				want[i] = def(x.x[i], s)
			}
			b = kernelOf(t, "k")
			p, o = b.in("p", d, 6, 20), b.out("o", d, 6, 20)
			lit := num(3)
			if d.IsFloat() {
				lit = flt(3)
			}
			b.store(b.op("tile."+c.name, b.load(p), lit), o)
			same(t, c.name+"s "+d.String(), eval(t, b, x, zeros(d, 6, 20)), want)
		}
	}
}

func TestUnaryOps(t *testing.T) {
	for _, c := range []struct {
		name  string
		float func(x float64) float64
		int   func(x int64) int64
		pos   bool // positive operands only
		only  []ir.DType
	}{
		{"abs", math.Abs, func(x int64) int64 { return max(x, -x) }, false, nil},
		{"neg", func(x float64) float64 { return -x }, func(x int64) int64 { return -x }, false, nil},
		{"relu", func(x float64) float64 { return math.Max(x, 0) }, func(x int64) int64 { return max(x, 0) }, false, nil},
		{"exp", math.Exp, nil, false, nil},
		{"log", math.Log, nil, true, nil},
		{"sqrt", math.Sqrt, nil, true, nil},
		{"rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, nil, true, nil},
		{"recip", func(x float64) float64 { return 1 / x }, nil, false, nil},
		{"sin", math.Sin, nil, false, []ir.DType{ir.FP32}},
		{"cos", math.Cos, nil, false, []ir.DType{ir.FP32}},
		{"not", nil, func(x int64) int64 { return ^x }, false, []ir.DType{ir.INT16, ir.UINT16}},
	} {
		dtypes := c.only
		if dtypes == nil {
			if c.float != nil {
				dtypes = append(dtypes, floats...)
			}
			if c.int != nil {
				dtypes = append(dtypes, ints...)
			}
		}
		for _, d := range dtypes {
			x := seq(d, []int{4, 9}, func(i int) float64 {
				if c.pos {
					return math.Abs(value(i)) + 0.5
				}
				return value(i) / 4
			})
			want := make([]float64, len(x.x))
			for i, v := range x.x {
				if d.IsFloat() {
					want[i] = rounded(c.float(v), d)
				} else {
					want[i] = float64(wrap(c.int(int64(v)), d))
				}
			}
			b := kernelOf(t, "k")
			p, o := b.in("p", d, 4, 9), b.out("o", d, 4, 9)
			b.store(b.op("tile."+c.name, b.load(p)), o)
			same(t, c.name+" "+d.String(), eval(t, b, x, zeros(d, 4, 9)), want)
		}
	}
}

// NaN in the second operand of max and min is ignored, in the first it stays (spec: dsl-ir 4.5).
func TestMaximumAndNaN(t *testing.T) {
	nan := math.NaN()
	b := kernelOf(t, "k")
	p, q, o := b.in("p", ir.FP32, 1, 4), b.in("q", ir.FP32, 1, 4), b.out("o", ir.FP32, 1, 4)
	b.store(b.op("maximum", b.load(p), b.load(q)), o)
	same(t, "maximum", eval(t, b, fromValues(ir.FP32, []int{1, 4}, nan, 1, 2, nan), fromValues(ir.FP32, []int{1, 4}, 1, nan, 3, nan), zeros(ir.FP32, 1, 4)), []float64{nan, 1, 3, nan})
}

// Broadcasting of tensors inside of a kernel, and mixed dtypes: float beats int, the wider float wins.
func TestTensorBroadcast(t *testing.T) {
	b := kernelOf(t, "k")
	p, q, o := b.in("p", ir.BF16, 3, 1, 5), b.in("q", ir.INT32, 4, 1), b.out("o", ir.BF16, 3, 4, 5)
	b.op("assemble", o, b.op("add", p, q), list(0, 0, 0))
	x, y := seq(ir.BF16, []int{3, 1, 5}, value), seq(ir.INT32, []int{4, 1}, value)
	want := make([]float64, 60)
	for i := range want {
		want[i] = rounded(x.x[i/20*5+i%5]+y.x[i/5%4], ir.BF16)
	}
	same(t, "add", eval(t, b, x, y, zeros(ir.BF16, 3, 4, 5)), want)
}

func TestThreeOperandOps(t *testing.T) {
	for name, f := range map[string]func(a, b, c float64) float64{
		"addc": func(a, b, c float64) float64 { return a + b + c }, "subc": func(a, b, c float64) float64 { return a - b + c },
		"addsc": func(a, _, c float64) float64 { return a + 2 + c }, "subsc": func(a, _, c float64) float64 { return a - 2 + c },
	} {
		b := kernelOf(t, "k")
		p, q, r, o := b.in("p", ir.FP32, 4, 8), b.in("q", ir.FP32, 4, 8), b.in("r", ir.FP32, 4, 8), b.out("o", ir.FP32, 4, 8)
		var second ir.Expr = flt(2)
		if name == "addc" || name == "subc" {
			second = b.load(q)
		}
		b.store(b.op(name, b.load(p), second, b.load(r)), o)
		x, y, z := seq(ir.FP32, []int{4, 8}, value), seq(ir.FP32, []int{4, 8}, func(i int) float64 { return value(i + 3) }), seq(ir.FP32, []int{4, 8}, func(i int) float64 { return value(i + 7) })
		want := make([]float64, 32)
		for i := range want {
			want[i] = f(x.x[i], y.x[i], z.x[i])
		}
		same(t, name, eval(t, b, x, y, z, zeros(ir.FP32, 4, 8)), want)
	}
}

func TestCompareAndSelect(t *testing.T) {
	cmp := []func(a, b float64) bool{
		func(a, b float64) bool { return a == b }, func(a, b float64) bool { return a != b }, func(a, b float64) bool { return a < b },
		func(a, b float64) bool { return a <= b }, func(a, b float64) bool { return a > b }, func(a, b float64) bool { return a >= b },
	}
	for mode, holds := range cmp {
		for _, d := range []ir.DType{ir.FP32, ir.INT16, ir.UINT32} {
			x := seq(d, []int{5, 19}, func(i int) float64 { return float64(i*7%5 + 1) })
			y := seq(d, []int{5, 19}, func(i int) float64 { return float64(i*3%5 + 1) })
			b := kernelOf(t, "k")
			p, q, mask, o := b.in("p", d, 5, 19), b.in("q", d, 5, 19), b.out("mask", ir.UINT8, 5, 3), b.out("o", d, 5, 19)
			u, v := b.load(p), b.load(q)
			k := b.op("cmp", u, v, kw("cmp_type", mode))
			b.op("store", k, list(0, 0), mask)
			b.store(b.op("sel", k, u, v), o)
			s := newBench(t, b.f)
			for _, a := range []*data{x, y, zeros(ir.UINT8, 5, 3), zeros(d, 5, 19)} {
				s.tensor(a)
			}
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			wantMask, want := make([]float64, 15), make([]float64, len(x.x))
			for i := range want {
				want[i] = y.x[i]
				if holds(x.x[i], y.x[i]) {
					want[i] = x.x[i]
					wantMask[i/19*3+i%19/8] += math.Exp2(float64(i % 19 % 8))
				}
			}
			same(t, "mask", s.read(2), wantMask)
			same(t, "sel", s.read(3), want)
		}
	}
	// cmps with sels.
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 2, 16), b.out("o", ir.FP32, 2, 16)
	u := b.load(p)
	k := b.op("cmp", u, flt(0), kw("cmp_type", 4))
	b.store(b.op("sels", k, u, b.op("create_tile", list(2, 16), sym(ir.UINT8)), flt(-1)), o)
	x := seq(ir.FP32, []int{2, 16}, value)
	want := make([]float64, 32)
	for i, v := range x.x {
		if want[i] = v; v <= 0 {
			want[i] = -1
		}
	}
	same(t, "sels", eval(t, b, x, zeros(ir.FP32, 2, 16)), want)
}

// part_*: both valid, one valid, none.
func TestPartOps(t *testing.T) {
	for name, f := range map[string]func(a, b float64) float64{
		"part_add": func(a, b float64) float64 { return a + b }, "part_mul": func(a, b float64) float64 { return a * b },
		"part_max": math.Max, "part_min": math.Min,
	} {
		b := kernelOf(t, "k")
		p, q, o := b.in("p", ir.FP32, 8, 8), b.in("q", ir.FP32, 8, 8), b.out("o", ir.FP32, 8, 8)
		u := b.op("set_validshape", b.load(p), num(6), num(3))
		v := b.op("set_validshape", b.load(q), num(2), num(7))
		b.store(b.op(name, u, v), o)
		x, y := seq(ir.FP32, []int{8, 8}, value), seq(ir.FP32, []int{8, 8}, func(i int) float64 { return value(i + 9) })
		want := make([]float64, 64)
		for i := range want {
			r, c := i/8, i%8
			inX, inY := r < 6 && c < 3, r < 2 && c < 7
			switch {
			case inX && inY:
				want[i] = f(x.x[i], y.x[i])
			case inX:
				want[i] = x.x[i]
			case inY:
				want[i] = y.x[i]
			}
		}
		same(t, name, eval(t, b, x, y, zeros(ir.FP32, 8, 8)), want)
	}
}

func TestPrelu(t *testing.T) {
	b := kernelOf(t, "k")
	p, q, o, o2 := b.in("p", ir.FP32, 2, 8), b.in("q", ir.FP32, 2, 8), b.out("o", ir.FP32, 2, 8), b.out("o2", ir.FP32, 2, 8)
	u := b.load(p)
	b.store(b.op("prelu", u, b.load(q)), o)
	b.store(b.op("lrelu", u, flt(0.25)), o2)
	x, y := seq(ir.FP32, []int{2, 8}, value), seq(ir.FP32, []int{2, 8}, func(i int) float64 { return float64(i) })
	s := newBench(t, b.f)
	for _, a := range []*data{x, y, zeros(ir.FP32, 2, 8), zeros(ir.FP32, 2, 8)} {
		s.tensor(a)
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	w1, w2 := make([]float64, 16), make([]float64, 16)
	for i, v := range x.x {
		if w1[i], w2[i] = v, v; v <= 0 {
			w1[i], w2[i] = v*y.x[i], v*0.25
		}
	}
	same(t, "prelu", s.read(2), w1)
	same(t, "lrelu", s.read(3), w2)
}

// Casts: every mode between floats and integers, saturation, and what stays of wide integers.
func TestCast(t *testing.T) {
	run := func(from, to ir.DType, mode string, x ...float64) []float64 {
		t.Helper()
		b := kernelOf(t, "k")
		p, o := b.in("p", from, 1, len(x)), b.out("o", to, 1, len(x))
		b.store(b.op("cast", b.load(p), sym(to), kw("mode", mode)), o)
		return eval(t, b, fromValues(from, []int{1, len(x)}, x...), zeros(to, 1, len(x)))
	}
	halves := []float64{2.5, 3.5, -2.5, -3.5, 2.25, -2.75}
	for mode, want := range map[string][]float64{
		"none": {2, 4, -2, -4, 2, -3}, "rint": {2, 4, -2, -4, 2, -3}, "round": {3, 4, -3, -4, 2, -3}, "floor": {2, 3, -3, -4, 2, -3},
		"ceil": {3, 4, -2, -3, 3, -2}, "trunc": {2, 3, -2, -3, 2, -2}, "odd": {3, 3, -3, -3, 2, -3},
	} {
		same(t, "fp32 to int32 "+mode, run(ir.FP32, ir.INT32, mode, halves...), want)
	}
	same(t, "saturating", run(ir.FP32, ir.INT8, "rint", 300, -300, math.NaN(), math.Inf(1)), []float64{127, -128, 0, 127})
	same(t, "int to int", run(ir.INT32, ir.INT8, "round", 200, -129, 5, 256), []float64{-56, 127, 5, 0})
	same(t, "int to half", run(ir.INT32, ir.FP16, "round", 2049, 70000, -3), []float64{2048, math.Inf(1), -3})
	same(t, "widening", run(ir.BF16, ir.FP32, "round", 1.5, -2), []float64{1.5, -2})
	tie := 1 + 1.0/256 // half a unit above 1 in BF16
	for mode, want := range map[string]float64{"rint": 1, "round": 1 + 1.0/128, "floor": 1, "ceil": 1 + 1.0/128, "trunc": 1, "odd": 1 + 1.0/128} {
		same(t, "fp32 to bf16 "+mode, run(ir.FP32, ir.BF16, mode, tie), []float64{want})
	}
	sub := 1.5 * math.Exp2(-24) // between two subnormal halves
	for mode, want := range map[string]float64{"rint": 2, "round": 2, "floor": 1, "ceil": 2, "trunc": 1, "odd": 1} {
		same(t, "fp32 to fp16 "+mode, run(ir.FP32, ir.FP16, mode, sub), []float64{want * math.Exp2(-24)})
	}
	same(t, "to bool", run(ir.FP32, ir.BOOL, "round", 0, 0.25, -1), []float64{0, 1, 1})
}

// The fast ways of rounding away agree with the general one on many values.
func TestRoundAwayFastPath(t *testing.T) {
	for i := range 1 << 20 {
		v := math.Float32frombits(uint32(i)*4099 + 0x800)
		if v != v {
			continue
		}
		x := []float64{float64(v), float64(v)}
		roundAwayBF16(x[:1])
		roundAwayHalf(x[1:])
		if want := roundMode.narrow(float64(v), ir.BF16); x[0] != want {
			t.Fatalf("%v as BF16 is %v, want %v", v, x[0], want)
		}
		if want := roundMode.narrow(float64(v), ir.FP16); x[1] != want {
			t.Fatalf("%v as FP16 is %v, want %v", v, x[1], want)
		}
	}
}
