package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// softmaxKernel is a row softmax over blocks of rows of a tensor with a dynamic number of rows; tiles or whole-tensor ops.
func softmaxKernel(t testing.TB, tiles bool, rows, cols int) *builder {
	b := kernelOf(t, "softmax")
	n := &ir.Var{Hint: "N", Typ: ir.IndexType, Dyn: true}
	x, y := b.in("x", ir.FP32, n, cols), b.out("y", ir.FP32, n, cols)
	i := index("i")
	b.add(&ir.For{Var: i, Start: num(0), Stop: n, Step: num(int64(rows)), Body: b.within(func() {
		if !tiles {
			v := b.op("slice", x, list(rows, cols), list(i, 0))
			e := b.op("exp", b.op("row_expand_sub", v, b.op("row_max", v)))
			b.op("assemble", y, b.op("row_expand_div", e, b.op("row_sum", e)), list(i, 0))
			return
		}
		v := b.op("load", x, list(i, 0), list(rows, cols))
		tmp := b.op("create_tile", list(rows, cols), sym(ir.FP32))
		e := b.op("row_expand_expdif", v, b.op("row_max", v, tmp))
		b.op("store", b.op("row_expand_div", e, b.op("row_sum", e, tmp)), list(i, 0), y)
	})})
	return b
}

func TestSoftmax(t *testing.T) {
	x := seq(ir.FP32, []int{12, 16}, func(i int) float64 { return value(i) / 5 })
	for _, tiles := range []bool{false, true} {
		got := eval(t, softmaxKernel(t, tiles, 4, 16), x, zeros(ir.FP32, 12, 16))
		for r := range 12 {
			row := x.x[r*16 : r*16+16]
			m, sum := row[0], 0.0
			for _, v := range row {
				m = math.Max(m, v)
			}
			for _, v := range row {
				sum += math.Exp(v - m)
			}
			for c, v := range row {
				if want := math.Exp(v-m) / sum; math.Abs(got[r*16+c]-want) > 1e-6 {
					t.Fatalf("tiles %v: (%d, %d) is %v, want %v", tiles, r, c, got[r*16+c], want)
				}
			}
		}
	}
}

// matmulKernel is one output tile of a tiled product, its accumulator carried around the loop over K.
func matmulKernel(t testing.TB, M, N, K, tile int) *builder {
	b := kernelOf(t, "matmul_tile")
	p, q, o := b.in("a", ir.FP16, M, K), b.in("b", ir.FP16, K, N), b.out("c", ir.FP32, M, N)
	row, col := b.scalar("row", ir.INDEX), b.scalar("col", ir.INDEX)
	mat := kw("target_memory", ir.Enum{Kind: "Mem", Name: "Mat"})
	operands := func(k ir.Expr) (l, r ir.Expr) {
		return b.op("move", b.op("load", p, list(row, k), list(tile, tile), mat), mem("Left")), b.op("move", b.op("load", q, list(k, col), list(tile, tile), mat), mem("Right"))
	}
	l, r := operands(num(0))
	first := b.op("matmul", l, r)
	k, acc, total := index("k"), &ir.Var{Hint: "acc", Typ: first.Typ}, &ir.Var{Hint: "total", Typ: first.Typ}
	b.add(&ir.For{Var: k, Start: num(1), Stop: num(int64(K / tile)), Step: num(1), Carries: []ir.Carry{{Iter: acc, Init: first, Result: total}}, Body: b.within(func() {
		l, r := operands(bin(ir.Mul, k, num(int64(tile))))
		b.add(&ir.Yield{Values: []ir.Expr{b.op("matmul_acc", acc, l, r)}})
	})})
	b.op("store", total, list(row, col), o)
	return b
}

func TestTiledMatmul(t *testing.T) {
	const M, N, K, T = 32, 48, 64, 16
	x, y := seq(ir.FP16, []int{M, K}, value), seq(ir.FP16, []int{K, N}, func(i int) float64 { return value(i + 3) })
	s := newBench(t, matmulKernel(t, M, N, K, T).f)
	s.tensor(x)
	s.tensor(y)
	s.tensor(zeros(ir.FP32, M, N))
	for i := 0; i < M; i += T {
		for j := 0; j < N; j += T {
			s.c.Scalars = nil
			s.scalar(uint64(i), "i64")
			s.scalar(uint64(j), "i64")
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, want := s.read(2), matrixProduct(x, y, false, false, M, K, N, ir.FP32, nil, nil)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
			t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// Online softmax over blocks of columns: running maximum and sum carried as tiles, each rescaled by the change of the maximum.
func TestOnlineSoftmaxSum(t *testing.T) {
	const R, C, B = 4, 24, 8
	b := kernelOf(t, "online")
	x, o := b.in("x", ir.FP32, R, C), b.out("o", ir.FP32, R, 1)
	tmp := b.op("create_tile", list(R, B), sym(ir.FP32))
	m0 := b.op("tile.full", list(R, 1), flt(math.Inf(-1)), kw("dtype", ir.FP32))
	s0 := b.op("tile.full", list(R, 1), flt(0), kw("dtype", ir.FP32))
	j := index("j")
	m, s := &ir.Var{Hint: "m", Typ: m0.Typ}, &ir.Var{Hint: "s", Typ: s0.Typ}
	mr, sr := &ir.Var{Hint: "mr", Typ: m0.Typ}, &ir.Var{Hint: "sr", Typ: s0.Typ}
	b.add(&ir.For{Var: j, Start: num(0), Stop: num(C), Step: num(B), Carries: []ir.Carry{{Iter: m, Init: m0, Result: mr}, {Iter: s, Init: s0, Result: sr}}, Body: b.within(func() {
		v := b.op("load", x, list(0, j), list(R, B))
		top := b.op("maximum", m, b.op("row_max", v, tmp))
		scale := b.op("exp", b.op("sub", m, top))
		part := b.op("row_sum", b.op("row_expand_expdif", v, top), tmp)
		b.add(&ir.Yield{Values: []ir.Expr{top, b.op("add", b.op("mul", s, scale), part)}})
	})})
	b.store(sr, o)
	data := seq(ir.FP32, []int{R, C}, func(i int) float64 { return value(i*5) / 6 })
	got := eval(t, b, data, zeros(ir.FP32, R, 1))
	for r := range R {
		row := data.x[r*C : r*C+C]
		top, want := row[0], 0.0
		for _, v := range row {
			top = math.Max(top, v)
		}
		for _, v := range row {
			want += math.Exp(v - top)
		}
		if math.Abs(got[r]-want) > 1e-5*want {
			t.Errorf("row %d: %v, want %v", r, got[r], want)
		}
	}
}

// A kernel that has run once allocates nothing more.
func TestNoAllocation(t *testing.T) {
	for name, b := range map[string]*builder{"softmax on tiles": softmaxKernel(t, true, 4, 16), "softmax on tensors": softmaxKernel(t, false, 4, 16)} {
		s := newBench(t, b.f)
		s.tensor(seq(ir.FP32, []int{32, 16}, value))
		s.tensor(zeros(ir.FP32, 32, 16))
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { _ = s.run() }); n > 0 {
			t.Errorf("%s: %v allocations a run", name, n)
		}
	}
	s := newBench(t, matmulKernel(t, 32, 32, 64, 16).f)
	for _, x := range []*data{seq(ir.FP16, []int{32, 64}, value), seq(ir.FP16, []int{64, 32}, value), zeros(ir.FP32, 32, 32)} {
		s.tensor(x)
	}
	s.scalar(0, "i64")
	s.scalar(16, "i64")
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { _ = s.run() }); n > 0 {
		t.Errorf("matmul: %v allocations a run", n)
	}
}

func BenchmarkSoftmax(b *testing.B) {
	s := newBench(b, softmaxKernel(b, true, 16, 128).f)
	s.tensor(seq(ir.FP32, []int{256, 128}, value))
	s.tensor(zeros(ir.FP32, 256, 128))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(256*128*float64(b.N)/float64(b.Elapsed().Microseconds()), "elem/µs")
}

func BenchmarkMatmulTile(b *testing.B) {
	const T, K = 64, 256
	s := newBench(b, matmulKernel(b, T, T, K, T).f)
	for _, x := range []*data{seq(ir.FP16, []int{T, K}, value), seq(ir.FP16, []int{K, T}, value), zeros(ir.FP32, T, T)} {
		s.tensor(x)
	}
	s.scalar(0, "i64")
	s.scalar(0, "i64")
	b.ReportAllocs()
	for b.Loop() {
		if err := s.run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(T*T*K*float64(b.N)/float64(b.Elapsed().Microseconds()), "mac/µs")
}

func BenchmarkSmallKernel(b *testing.B) {
	k := kernelOf(b, "small")
	p, o := k.in("p", ir.FP32, 8, 8), k.out("o", ir.FP32, 8, 8)
	k.store(k.op("muls", k.load(p), flt(2)), o)
	s := newBench(b, k.f)
	s.tensor(seq(ir.FP32, []int{8, 8}, value))
	s.tensor(zeros(ir.FP32, 8, 8))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.run(); err != nil {
			b.Fatal(err)
		}
	}
}
