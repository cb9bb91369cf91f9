package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// A window at an offset, with a partial valid region: outside of it a load gives zeros, and a store leaves the target alone.
func TestLoadStore(t *testing.T) {
	for _, d := range append(append([]ir.DType{ir.BOOL, ir.UINT64, ir.INDEX, ir.FP8E4M3FN, ir.FP8E5M2}, floats...), ints...) {
		x := seq(d, []int{6, 9}, func(i int) float64 { return float64(i%5 + 1) })
		b := kernelOf(t, "k")
		p, whole, part := b.in("p", d, 6, 9), b.out("whole", d, 3, 4), b.out("part", d, 3, 4)
		u := b.op("load", p, list(2, 5), list(3, 4), kw("valid_shape", list(2, 3)))
		b.store(b.op("set_validshape", u, num(3), num(4)), whole)
		b.store(u, part)
		s := newBench(t, b.f)
		ones := seq(d, []int{3, 4}, func(int) float64 { return 1 })
		for _, a := range []*data{x, zeros(d, 3, 4), ones} {
			s.tensor(a)
		}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		w1, w2 := make([]float64, 12), make([]float64, 12)
		for i := range w1 {
			w2[i] = 1
			if i/4 < 2 && i%4 < 3 {
				w1[i] = x.at(2+i/4, 5+i%4)
				w2[i] = w1[i]
			}
		}
		same(t, d.String()+" whole", s.read(1), w1)
		same(t, d.String()+" part", s.read(2), w2)
	}
}

// A handle with strides of its own (a transposed window), read and written through.
func TestStridedHandle(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP16, 3, 2), b.out("o", ir.FP16, 3, 2)
	b.store(b.op("adds", b.load(p), flt(1)), o)
	s := newBench(t, b.f)
	for range 2 {
		h := s.tensor(seq(ir.FP16, []int{4, 5}, func(i int) float64 { return float64(i) }))
		h.Start, h.Shape, h.Strides = 6, []uint32{3, 2}, []uint32{1, 5} // rows are columns 1.. of the buffer
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 20)
	for i := range want {
		want[i] = float64(i)
		if r, c := i/5, i%5; r >= 1 && r < 3 && c >= 1 && c < 4 {
			want[i]++
		}
	}
	same(t, "strided", s.read(1), want)
}

// A window of the orchestration may keep unit axes that the parameter does not have.
func TestUnitAxesOfHandle(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 4), b.out("o", ir.FP32, 4)
	b.op("assemble", o, b.op("adds", p, flt(1)), list(0))
	s := newBench(t, b.f)
	h := s.tensor(seq(ir.FP32, []int{4, 5}, func(i int) float64 { return float64(i) }))
	h.Start, h.Shape, h.Strides = 2, []uint32{4, 1}, []uint32{5, 1}
	s.tensor(zeros(ir.FP32, 4))
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	same(t, "a column", s.read(1), []float64{3, 8, 13, 18})
}

func TestAtomicStore(t *testing.T) {
	add := kw("atomic", ir.Enum{Kind: "AtomicType", Name: "Add"})
	for _, d := range []ir.DType{ir.FP32, ir.BF16, ir.INT32} {
		b := kernelOf(t, "k")
		p, o := b.in("p", d, 2, 4), b.out("o", d, 4, 4)
		b.op("store", b.load(p), list(1, 0), o, add)
		b.op("assemble", o, p, list(2, 0), add)
		x := seq(d, []int{2, 4}, value)
		base := seq(d, []int{4, 4}, func(i int) float64 { return float64(i) })
		want := append([]float64(nil), base.x...)
		for k, v := range x.x {
			want[4+k] = rounded(want[4+k]+v, d)
		}
		for k, v := range x.x {
			want[8+k] = rounded(want[8+k]+v, d)
		}
		same(t, d.String(), eval(t, b, x, base), want)
	}
}

// Slices are windows: of tensors (written through), of tiles; reshapes and transposes renumber.
func TestViews(t *testing.T) {
	x := seq(ir.FP32, []int{6, 8}, func(i int) float64 { return float64(i) })
	// Through a window of a tensor parameter.
	b := kernelOf(t, "k")
	o := b.out("o", ir.FP32, 6, 8)
	w := b.op("slice", o, list(2, 3), list(1, 4))
	b.op("assemble", w, b.op("muls", w, flt(10)), list(0, 0))
	want := append([]float64(nil), x.x...)
	for r := 1; r < 3; r++ {
		for c := 4; c < 7; c++ {
			want[r*8+c] *= 10
		}
	}
	same(t, "tensor window", eval(t, b, x), want)
	// A row without its unit axis.
	b = kernelOf(t, "k")
	p, o1 := b.in("p", ir.FP32, 6, 8), b.out("o", ir.FP32, 8)
	b.op("assemble", o1, b.op("adds", b.op("slice", p, list(1, 8), list(3, 0), list(), list(0)), flt(0)), list(0))
	same(t, "row", eval(t, b, x, zeros(ir.FP32, 8)), x.x[24:32])
	// A tile window, reshaped (not expressible by strides), transposed.
	b = kernelOf(t, "k")
	p, o2 := b.in("p", ir.FP32, 6, 8), b.out("o", ir.FP32, 3, 4)
	u := b.op("slice", b.load(p), list(4, 3), list(1, 2))
	v := b.op("reshape", u, list(2, 6))
	y := b.op("reshape", v, list(4, 3))
	b.store(b.op("transpose", y, num(0), num(1)), o2)
	want = make([]float64, 12)
	for i := range want {
		want[i] = x.at(1+i%4, 2+i/4)
	}
	same(t, "tile window", eval(t, b, x, zeros(ir.FP32, 3, 4)), want)
	// Other axes of a tensor, the layout view, and the tile view.
	y3 := seq(ir.FP32, []int{2, 3, 4}, func(i int) float64 { return float64(i) })
	b = kernelOf(t, "k")
	p3, o3 := b.in("p", ir.FP32, 2, 3, 4), b.out("o", ir.FP32, 4, 3, 2)
	b.op("assemble", o3, b.op("adds", b.op("transpose", p3, num(0), num(-1)), flt(0)), list(0, 0, 0))
	want = make([]float64, 24)
	for i := range want {
		want[i] = y3.x[i%2*12+i/2%3*4+i/6]
	}
	same(t, "transpose", eval(t, b, y3, zeros(ir.FP32, 4, 3, 2)), want)
	b = kernelOf(t, "k")
	p, o2 = b.in("p", ir.FP32, 6, 8), b.out("o", ir.FP32, 8, 6)
	l := b.op("tensor.view", p, kw("layout", ir.Enum{Kind: "TensorLayout", Name: "DN"}))
	b.store(b.op("tile.transpose_view", b.op("tile.transpose_view", b.load(l))), o2)
	want = make([]float64, 48)
	for i := range want {
		want[i] = x.at(i%6, i/6)
	}
	same(t, "layout view", eval(t, b, x, zeros(ir.FP32, 8, 6)), want)
}

// A reshape maps a valid region that is a prefix of whole rows.
func TestReshapeValid(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 4, 6), b.out("o", ir.FP32, 8, 3)
	b.store(b.op("reshape", b.op("set_validshape", b.load(p), num(2), num(6)), list(8, 3)), o)
	x := seq(ir.FP32, []int{4, 6}, func(i int) float64 { return float64(i + 1) })
	want := make([]float64, 24)
	copy(want, x.x[:12])
	same(t, "reshape", eval(t, b, x, zeros(ir.FP32, 8, 3)), want)
}

func TestReinterpret(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 1, 2), b.out("o", ir.UINT16, 1, 4)
	b.store(b.op("reinterpret_view", b.load(p), kw("dtype", ir.UINT16)), o)
	lo, hi := float64(math.Float32bits(1.5)&0xffff), float64(math.Float32bits(1.5)>>16)
	same(t, "fp32 as uint16", eval(t, b, fromValues(ir.FP32, []int{1, 2}, 1.5, 1.5), zeros(ir.UINT16, 1, 4)), []float64{lo, hi, lo, hi})
	b = kernelOf(t, "k")
	p, o = b.in("p", ir.INT16, 1, 4), b.out("o", ir.INT64, 1, 1)
	b.store(b.op("reinterpret_view", b.load(p), kw("dtype", ir.INT64)), o)
	same(t, "int16 as int64", eval(t, b, fromValues(ir.INT16, []int{1, 4}, 5, 0, 1, 0), zeros(ir.INT64, 1, 1)), []float64{5 + 1<<32})
}

func TestFillpadAndConcat(t *testing.T) {
	for _, d := range []ir.DType{ir.FP32, ir.FP16, ir.INT16, ir.UINT8} {
		for _, pad := range []string{"zero", "min", "max"} {
			x := seq(d, []int{3, 4}, func(i int) float64 { return float64(i + 1) })
			f, n := extreme(pad, d)
			fillValue := float64(f)
			if !d.IsFloat() {
				fillValue = float64(n)
			}
			want := make([]float64, 12)
			for i := range want {
				if want[i] = fillValue; i/4 < 2 && i%4 < 3 {
					want[i] = x.x[i]
				}
			}
			for _, op := range []string{"fillpad", "tile.fillpad_inplace"} {
				b := kernelOf(t, "k")
				p, o := b.in("p", d, 3, 4), b.out("o", d, 3, 4)
				b.store(b.op(op, b.op("set_validshape", b.load(p), num(2), num(3)), kw("pad_value", ir.Enum{Kind: "PadValue", Name: pad})), o)
				same(t, op+" "+pad+" "+d.String(), eval(t, b, x, zeros(d, 3, 4)), want)
			}
			b := kernelOf(t, "k")
			p, o := b.in("p", d, 2, 3), b.out("o", d, 3, 4)
			b.store(b.op("fillpad_expand", b.load(p), list(3, 4), kw("pad_value", ir.Enum{Kind: "PadValue", Name: pad})), o)
			y := seq(d, []int{2, 3}, func(i int) float64 { return float64(i/3*4 + i%3 + 1) })
			same(t, "fillpad_expand "+pad+" "+d.String(), eval(t, b, y, zeros(d, 3, 4)), want)
		}
	}
	b := kernelOf(t, "k")
	p, q, o := b.in("p", ir.FP32, 2, 3), b.in("q", ir.FP32, 2, 2), b.out("o", ir.FP32, 2, 5)
	b.store(b.op("concat", b.load(p), b.load(q)), o)
	same(t, "concat", eval(t, b, fromValues(ir.FP32, []int{2, 3}, 1, 2, 3, 4, 5, 6), fromValues(ir.FP32, []int{2, 2}, 7, 8, 9, 10), zeros(ir.FP32, 2, 5)), []float64{1, 2, 3, 7, 8, 4, 5, 6, 9, 10})
}

func TestCreateOps(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(b *builder) *ir.Var
		want func(r, c int) float64
	}{
		{"full", func(b *builder) *ir.Var { return b.op("tile.full", list(4, 6), flt(2.5), kw("dtype", ir.FP32)) }, func(int, int) float64 { return 2.5 }},
		{"ci", func(b *builder) *ir.Var { return b.op("tile.ci", num(3), list(4, 6), kw("dtype", ir.FP32)) }, func(_, c int) float64 { return float64(3 + c) }},
		{"ci descending", func(b *builder) *ir.Var {
			return b.op("tile.ci", num(3), list(4, 6), kw("dtype", ir.FP32), kw("descending", true))
		}, func(_, c int) float64 { return float64(3 - c) }},
		{"tri", func(b *builder) *ir.Var { return b.op("tri", num(1), list(4, 6), kw("dtype", ir.FP32)) }, func(r, c int) float64 { return float64(truth(c <= r+1)) }},
		{"tri upper", func(b *builder) *ir.Var {
			return b.op("tri", num(-1), list(4, 6), kw("dtype", ir.FP32), kw("upper", true))
		}, func(r, c int) float64 { return float64(truth(c >= r-1)) }},
		{"create with init", func(b *builder) *ir.Var {
			return b.op("adds", b.op("create_tensor", list(4, 6), sym(ir.FP32), kw("init_value", 7)), flt(0))
		}, func(int, int) float64 { return 7 }},
	} {
		b := kernelOf(t, "k")
		o := b.out("o", ir.FP32, 4, 6)
		v := c.make(b)
		b.op("assemble", o, v, list(0, 0))
		want := make([]float64, 24)
		for i := range want {
			want[i] = c.want(i/6, i%6)
		}
		same(t, c.name, eval(t, b, zeros(ir.FP32, 4, 6)), want)
	}
}

// The published test vector of Philox 4x32-10 for zero keys and counters.
func TestRandomIsPhilox(t *testing.T) {
	b := kernelOf(t, "k")
	o := b.out("o", ir.UINT32, 1, 8)
	z := num(0)
	b.store(b.op("tile.random", z, z, z, z, z, z, list(1, 8), kw("dtype", ir.UINT32)), o)
	got := eval(t, b, zeros(ir.UINT32, 1, 8))
	for i, want := range []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
		if uint32(got[i]) != want {
			t.Errorf("word %d is %#x, want %#x", i, uint32(got[i]), want)
		}
	}
	if got[4] == got[0] {
		t.Error("the counter does not advance")
	}
}

func TestReadWrite(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.INT32, 2, 3), b.out("o", ir.FP32, 2, 3)
	x := b.op("read", p, list(1, 2))
	u := b.load(o)
	first := b.op("read", u, list(0, 0))
	w := b.op("write", u, list(0, 1), &ir.Binary{Op: ir.Add, X: first, Y: flt(0.5), DType: ir.FP32})
	b.store(w, o)
	b.add(&ir.Eval{X: b.call("write", o, list(1, 1), &ir.Cast{X: x, DType: ir.FP32})})
	same(t, "read/write", eval(t, b, seq(ir.INT32, []int{2, 3}, func(i int) float64 { return float64(i) }), fromValues(ir.FP32, []int{2, 3}, 4, 0, 0, 0, 0, 0)), []float64{4, 4.5, 0, 0, 5, 0})
}

func TestExtractAndMove(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 4, 4), b.out("o", ir.BF16, 2, 2)
	b.store(b.op("tile.extract", b.load(p), num(1), num(2), list(2, 2), kw("target_memory", ir.Enum{Kind: "Mem", Name: "Vec"})), o)
	same(t, "extract", eval(t, b, seq(ir.FP32, []int{4, 4}, func(i int) float64 { return float64(i) + 1.0/512 }), zeros(ir.BF16, 2, 2)), []float64{6, 7, 10, 11})
}
