package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// The forms of the matrix product that accumulate or add a bias, each against a sum in doubles that is rounded once.
func TestProductsWithAccumulatorAndBias(t *testing.T) {
	const rows, depth, cols = 4, 64, 6
	x := seq(ir.FP8E4M3FN, []int{rows, depth}, func(i int) float64 { return value(i) / 4 })
	y := seq(ir.FP8E4M3FN, []int{depth, cols}, func(i int) float64 { return value(i+3) / 4 })
	sx := seq(ir.FP8E8M0, []int{rows, depth / 32}, func(i int) float64 { return math.Exp2(float64(i%5 - 2)) })
	sy := seq(ir.FP8E8M0, []int{depth / 32, cols}, func(i int) float64 { return math.Exp2(float64(i%4 - 1)) })
	bias := seq(ir.FP32, []int{1, cols}, func(i int) float64 { return value(i + 9) })
	sum := func(start func(i, j int) float64, times float64) []float64 {
		want := make([]float64, rows*cols)
		for i := range rows {
			for j := range cols {
				s := 0.0
				for k := range depth {
					s += x.at(i, k) * sx.at(i, k/32) * y.at(k, j) * sy.at(k/32, j)
				}
				want[i*cols+j] = float64(float32(s*times + start(i, j)))
			}
		}
		return want
	}
	build := func() (*builder, []any, *ir.Var, *ir.Var) {
		b := kernelOf(t, "k")
		p, ps, q, qs := b.in("p", x.d, rows, depth), b.in("ps", sx.d, rows, depth/32), b.in("q", y.d, depth, cols), b.in("qs", sy.d, depth/32, cols)
		v, o := b.in("v", ir.FP32, 1, cols), b.out("o", ir.FP32, rows, cols)
		return b, []any{b.op("move", b.load(p), mem("Left")), b.op("move", b.load(ps), mem("LeftScale")), b.op("move", b.load(q), mem("Right")), b.op("move", b.load(qs), mem("RightScale"))}, v, o
	}
	b, operands, v, o := build()
	b.store(b.op("matmul_mx_bias", append(operands, b.op("move", b.load(v), mem("Bias")))...), o)
	same(t, "matmul_mx_bias", eval(t, b, x, sx, y, sy, bias, zeros(ir.FP32, rows, cols)), sum(func(_, j int) float64 { return bias.x[j] }, 1))

	b, operands, _, o = build()
	acc := b.op("matmul_mx", operands...)
	b.store(b.op("matmul_mx_acc", append([]any{acc}, operands...)...), o)
	same(t, "matmul_mx_acc", eval(t, b, x, sx, y, sy, bias, zeros(ir.FP32, rows, cols)), sum(func(int, int) float64 { return 0 }, 2))

	// A row times a matrix, with a bias, and accumulated.
	row := seq(ir.BF16, []int{1, 8}, value)
	m := seq(ir.BF16, []int{8, cols}, func(i int) float64 { return value(i + 5) })
	want := make([]float64, cols)
	for j := range cols {
		for k := range 8 {
			want[j] += row.x[k] * m.at(k, j)
		}
	}
	for name, f := range map[string]func(j int) float64{
		"gemv_bias": func(j int) float64 { return want[j] + bias.x[j] }, "gemv_acc": func(j int) float64 { return 2 * want[j] },
	} {
		b := kernelOf(t, "k")
		p, q, v, o := b.in("p", ir.BF16, 1, 8), b.in("q", ir.BF16, 8, cols), b.in("v", ir.FP32, 1, cols), b.out("o", ir.FP32, 1, cols)
		l, r := b.op("move", b.load(p), mem("Left")), b.op("move", b.load(q), mem("Right"))
		if name == "gemv_bias" {
			b.store(b.op(name, l, r, b.op("move", b.load(v), mem("Bias"))), o)
		} else {
			b.store(b.op(name, b.op("gemv", l, r), l, r), o)
		}
		got := eval(t, b, row, m, bias, zeros(ir.FP32, 1, cols))
		for j := range got {
			if got[j] != float64(float32(f(j))) {
				t.Errorf("%s: column %d is %v, want %v", name, j, got[j], f(j))
			}
		}
	}

	// Batches of tiles.
	xs, ys := seq(ir.FP16, []int{3, 4, 8}, value), seq(ir.FP16, []int{3, 8, 5}, func(i int) float64 { return value(i + 1) })
	for name, times := range map[string]float64{"batch_matmul": 1, "batch_matmul_acc": 2} {
		b := kernelOf(t, "k")
		p, q, o := b.in("p", ir.FP16, 3, 4, 8), b.in("q", ir.FP16, 3, 8, 5), b.out("o", ir.FP32, 3, 4, 5)
		l, r := b.op("move", b.load(p), mem("Left")), b.op("move", b.load(q), mem("Right"))
		z := b.op("batch_matmul", l, r)
		if times == 2 {
			z = b.op(name, z, l, r)
		}
		b.store(z, o)
		got := eval(t, b, xs, ys, zeros(ir.FP32, 3, 4, 5))
		for i := range got {
			s := 0.0
			for k := range 8 {
				s += xs.x[i/20*32+i/5%4*8+k] * ys.x[i/20*40+k*5+i%5]
			}
			if got[i] != float64(float32(s*times)) {
				t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], s*times)
			}
		}
	}
}

// The narrowest dtypes: what a load, an addition, a cast and a store make of every value.
func TestNarrowDtypes(t *testing.T) {
	for _, d := range []ir.DType{ir.FP8E4M3FN, ir.FP8E5M2, ir.HF8} {
		var values []float64
		for c := range uint32(256) {
			if v := decode(c, d); v == v && !math.IsInf(v, 0) {
				values = append(values, v)
			}
		}
		values = values[:len(values)/16*16]
		n := len(values) / 16
		x := fromValues(d, []int{n, 16}, values...)
		b := kernelOf(t, "k")
		p, wide, narrow := b.in("p", d, n, 16), b.out("wide", ir.FP32, n, 16), b.out("narrow", d, n, 16)
		v := b.op("cast", b.load(p), kw("target_type", ir.FP32))
		b.store(v, wide)
		b.store(b.op("cast", b.op("muls", v, flt(1.3)), kw("target_type", d), kw("mode", 1)), narrow)
		s := newBench(t, b.f)
		s.tensor(x)
		s.tensor(zeros(ir.FP32, n, 16))
		s.tensor(zeros(d, n, 16))
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		same(t, d.String()+" widened", s.read(1), values)
		got := s.read(2)
		for i, v := range values {
			exact := float64(float32(v * float64(float32(1.3))))
			if most := map[ir.DType]float64{ir.FP8E5M2: 61440, ir.HF8: 40960}[d]; math.IsInf(got[i], 0) && most > 0 && math.Abs(exact) >= most {
				continue // half a step beyond the largest number
			}
			if g := got[i]; math.Abs(g-exact) > math.Abs(neighbour(g, d, true)-exact) || math.Abs(g-exact) > math.Abs(neighbour(g, d, false)-exact) {
				t.Fatalf("%s: %v · 1.3 becomes %v", d, v, g)
			}
		}
	}
}

// Elements of four bits lie two in a byte: the runtime's tensor has half as many bytes in a row.
func TestFourBitElements(t *testing.T) {
	for _, c := range []struct {
		d, handle ir.DType
	}{{ir.FP4, ir.FP4}, {ir.INT4, ir.INT8}, {ir.UINT4, ir.UINT8}} {
		b := kernelOf(t, "k")
		p, o, w := b.in("p", c.d, 4, 32), b.out("o", c.d, 4, 32), b.out("w", ir.FP32, 4, 32)
		v := b.load(p)
		b.store(v, o)
		b.store(b.op("cast", v, kw("target_type", ir.FP32)), w)
		s := newBench(t, b.f)
		bytes := make([]float64, 64)
		for i := range bytes {
			bytes[i] = float64(byte(i*37 + 11))
		}
		s.tensor(fromValues(ir.UINT8, []int{4, 16}, bytes...)).DType = c.handle
		s.tensor(zeros(ir.UINT8, 4, 16)).DType = c.handle
		s.tensor(zeros(ir.FP32, 4, 32))
		if err := s.run(); err != nil {
			t.Fatalf("%s: %v", c.d, err)
		}
		s.c.Args[1].Tensor.DType = ir.UINT8
		same(t, c.d.String()+" copied", s.read(1), bytes)
		for i, got := range s.read(2) {
			bits := int(bytes[i/2]) >> (i % 2 * 4) & 15
			want := float64(bits)
			switch {
			case c.d == ir.FP4:
				want = fp4Values[bits]
			case c.d == ir.INT4 && bits > 7:
				want -= 16
			}
			if got != want {
				t.Fatalf("%s: element %d with bits %#x is %v, want %v", c.d, i, bits, got, want)
			}
		}
	}
}

// In double precision nothing is rounded, neither in a tile nor, through the shadow, in memory; what something else wrote to memory counts as it is.
func TestDoublePrecision(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 4, 16), b.out("o", ir.FP32, 4, 16)
	b.store(b.op("muls", b.load(p), flt(0.1)), o)
	s := newBench(t, b.f)
	x := seq(ir.FP32, []int{4, 16}, value)
	s.tensor(x)
	s.tensor(zeros(ir.FP32, 4, 16))
	shadow := NewShadow()
	program := New(&ir.Program{Name: "P", Funcs: []*ir.Function{b.f}}, ops.Builtin())
	s.r = program.DoubleRunner(s.tableOf("k"), shadow).(*Runner)
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	value := func(arg, i int) float64 {
		a := &s.c.Args[arg].Tensor
		return shadow.Value(a.DType, s.mem.Bytes(a.Addr+uint64(4*i), 4))
	}
	for i, v := range x.x {
		if got := value(1, i); got != v*0.1 {
			t.Fatalf("element %d is %v, want %v", i, got, v*0.1)
		}
	}
	s.c.Args[0] = s.c.Args[1]                 // in place: out = 0.1 · out, from the values that were not rounded
	s.region(&s.c.Args[1].Tensor).mem[0] ^= 1 // but this element was changed by someone else
	changed := Load(ir.FP32, s.mem.Bytes(s.c.Args[1].Tensor.Addr, 4))
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	for i, v := range x.x {
		want := v * 0.1 * 0.1
		if i == 0 {
			want = changed * 0.1
		}
		if got := value(1, i); got != want {
			t.Fatalf("element %d is %v, want %v", i, got, want)
		}
	}
}
