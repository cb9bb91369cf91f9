package kernels

import (
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func TestGather(t *testing.T) {
	x := seq(ir.FP32, []int{4, 6}, value)
	idx := seq(ir.INT32, []int{4, 3}, func(i int) float64 { return float64(i * 5 % 6) })
	b := kernelOf(t, "k")
	p, k, o := b.in("p", ir.FP32, 4, 6), b.in("k", ir.INT32, 4, 3), b.out("o", ir.FP32, 4, 3)
	b.op("assemble", o, b.op("gather", p, kw("dim", -1), kw("index", k)), list(0, 0))
	want := make([]float64, 12)
	for i := range want {
		want[i] = x.at(i/3, int(idx.x[i]))
	}
	same(t, "dim -1", eval(t, b, x, idx, zeros(ir.FP32, 4, 3)), want)

	rows := seq(ir.INT32, []int{2, 6}, func(i int) float64 { return float64(i * 3 % 4) })
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 4, 6), b.in("k", ir.INT32, 2, 6), b.out("o", ir.FP32, 2, 6)
	b.op("assemble", o, b.op("gather", p, kw("dim", -2), kw("index", k)), list(0, 0))
	want = make([]float64, 12)
	for i := range want {
		want[i] = x.at(int(rows.x[i]), i%6)
	}
	same(t, "dim -2", eval(t, b, x, rows, zeros(ir.FP32, 2, 6)), want)

	flat := fromValues(ir.INT32, []int{1, 4}, 23, 0, 99, -1)
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 4, 6), b.in("k", ir.INT32, 1, 4), b.out("o", ir.FP32, 1, 4)
	b.store(b.op("gather", b.load(p), b.load(k)), o)
	same(t, "tile", eval(t, b, x, flat, zeros(ir.FP32, 1, 4)), []float64{x.x[23], x.x[0], 0, 0})
}

func TestGatherAndScatterMask(t *testing.T) {
	x := seq(ir.FP32, []int{3, 8}, value)
	for pattern, cols := range map[int][]int{1: {0, 2, 4, 6}, 2: {1, 3, 5, 7}, 3: {0, 4}, 4: {1, 5}, 5: {2, 6}, 6: {3, 7}, 7: {0, 1, 2, 3, 4, 5, 6, 7}} {
		n := len(cols)
		b := kernelOf(t, "k")
		p, o, back := b.in("p", ir.FP32, 3, 8), b.out("o", ir.FP32, 3, n), b.out("back", ir.FP32, 3, 8)
		g := b.op("gather", b.load(p), kw("mask_pattern", pattern))
		b.store(g, o)
		b.store(b.op("scatter", g, kw("mask_pattern", pattern), kw("dst", b.op("create_tile", list(3, 8), sym(ir.FP32)))), back)
		s := newBench(t, b.f)
		for _, a := range []*data{x, zeros(ir.FP32, 3, n), zeros(ir.FP32, 3, 8)} {
			s.tensor(a)
		}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		want, wantBack := make([]float64, 3*n), make([]float64, 24)
		for r := range 3 {
			for j, c := range cols {
				want[r*n+j] = x.at(r, c)
				wantBack[r*8+c] = x.at(r, c)
			}
		}
		same(t, "gather_mask", s.read(1), want)
		same(t, "scatter_mask", s.read(2), wantBack)
	}
}

func TestGatherCompare(t *testing.T) {
	x := fromValues(ir.FP32, []int{2, 6}, 1, 5, 2, 7, 7, 0, 0, 0, 0, 9, 0, 0)
	b := kernelOf(t, "k")
	p, o, n := b.in("p", ir.FP32, 2, 6), b.out("o", ir.INT32, 2, 2), b.out("n", ir.INT32, 2, 1)
	r := b.op("gather", b.load(p), kw("kvalue", flt(4)), kw("cmp_mode", 4), kw("out_cols", 2), kw("offset", 100))
	b.store(b.let(&ir.TupleGet{X: r, Index: 0}), o)
	b.store(b.let(&ir.TupleGet{X: r, Index: 1}), n)
	s := newBench(t, b.f)
	for _, a := range []*data{x, zeros(ir.INT32, 2, 2), zeros(ir.INT32, 2, 1)} {
		s.tensor(a)
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	same(t, "indices", s.read(1), []float64{101, 103, 103, 0})
	same(t, "counts", s.read(2), []float64{2, 1})
}

func TestScatter(t *testing.T) {
	x := seq(ir.FP32, []int{2, 5}, func(i int) float64 { return float64(i) })
	idx := fromValues(ir.INT32, []int{2, 3}, 4, 0, 4, 1, 9, 2)
	src := fromValues(ir.FP32, []int{2, 3}, 10, 11, 12, 13, 14, 15)
	b := kernelOf(t, "k")
	p, k, v, o := b.in("p", ir.FP32, 2, 5), b.in("k", ir.INT32, 2, 3), b.in("v", ir.FP32, 2, 3), b.out("o", ir.FP32, 2, 5)
	b.op("assemble", o, b.op("scatter", p, kw("dim", -1), kw("index", k), kw("src", v)), list(0, 0))
	same(t, "scatter", eval(t, b, x, idx, src, zeros(ir.FP32, 2, 5)), []float64{11, 1, 2, 3, 12, 5, 13, 15, 8, 9})

	b = kernelOf(t, "k")
	k, v, o = b.in("k", ir.INT32, 1, 2), b.in("v", ir.FP32, 2, 5), b.out("o", ir.FP32, 4, 5)
	b.op("scatter_update", o, kw("index", k), kw("src", v))
	same(t, "scatter_update", eval(t, b, fromValues(ir.INT32, []int{1, 2}, 3, 1), x, zeros(ir.FP32, 4, 5)), []float64{0, 0, 0, 0, 0, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4})
}

func TestRowsFromMemory(t *testing.T) {
	src := seq(ir.FP32, []int{8, 4}, func(i int) float64 { return float64(i) })
	// gather_row: a window copied into an accumulator.
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 8, 4), b.out("o", ir.FP32, 3, 4)
	acc := b.op("tile.full", list(3, 4), flt(-1), kw("dtype", ir.FP32))
	b.store(b.op("tile.gather_row", acc, p, list(1, 0), list(5, 0), list(1, 4)), o)
	same(t, "gather_row", eval(t, b, src, zeros(ir.FP32, 3, 4)), []float64{-1, -1, -1, -1, 20, 21, 22, 23, -1, -1, -1, -1})
	// paged_gather: logical rows through a block table.
	b = kernelOf(t, "k")
	p, k, tb, o := b.in("p", ir.FP32, 8, 4), b.in("k", ir.INT32, 3), b.in("tb", ir.INT32, 2), b.out("o", ir.FP32, 3, 2)
	b.op("assemble", o, b.op("tensor.paged_gather", p, k, tb, kw("block_size", 2), kw("size", 2), kw("col_off", 1)), list(0, 0))
	got := eval(t, b, src, fromValues(ir.INT32, []int{3}, 0, 3, 2), fromValues(ir.INT32, []int{2}, 3, 1), zeros(ir.FP32, 3, 2))
	same(t, "paged_gather", got, []float64{25, 26, 13, 14, 9, 10}) // rows 6, 3, 2
	// mgather: elements and rows.
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 8, 4), b.in("k", ir.INT32, 1, 3), b.out("o", ir.FP32, 1, 3)
	b.store(b.op("mgather", p, b.load(k), kw("gather_oob", 3)), o)
	same(t, "mgather", eval(t, b, src, fromValues(ir.INT32, []int{1, 3}, 31, 40, 6), zeros(ir.FP32, 1, 3)), []float64{31, 0, 6})
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 8, 4), b.in("k", ir.INT32, 1, 2), b.out("o", ir.FP32, 2, 4)
	b.store(b.op("mgather", p, b.load(k), kw("coalesce", 1)), o)
	same(t, "mgather rows", eval(t, b, src, fromValues(ir.INT32, []int{1, 2}, 7, 0), zeros(ir.FP32, 2, 4)), []float64{28, 29, 30, 31, 0, 1, 2, 3})
	// mscatter.
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 1, 2), b.in("k", ir.INT32, 1, 2), b.out("o", ir.FP32, 2, 2)
	b.op("mscatter", b.load(p), b.load(k), o)
	same(t, "mscatter", eval(t, b, fromValues(ir.FP32, []int{1, 2}, 5, 6), fromValues(ir.INT32, []int{1, 2}, 3, 0), zeros(ir.FP32, 2, 2)), []float64{6, 0, 0, 5})
	// gatherb: blocks of 32 bytes.
	blocks := seq(ir.FP32, []int{1, 32}, func(i int) float64 { return float64(i) })
	b = kernelOf(t, "k")
	p, k, o = b.in("p", ir.FP32, 1, 32), b.in("k", ir.INT32, 1, 2), b.out("o", ir.FP32, 1, 16)
	b.store(b.op("gatherb", b.load(p), b.load(k)), o)
	same(t, "gatherb", eval(t, b, blocks, fromValues(ir.INT32, []int{1, 2}, 64, 4), zeros(ir.FP32, 1, 16)), []float64{16, 17, 18, 19, 20, 21, 22, 23, 1, 2, 3, 4, 5, 6, 7, 8})
}

// sort32 gives (value, index bits) pairs; merging sorted runs keeps the order, ties to the earlier run.
func TestSort(t *testing.T) {
	x := seq(ir.FP32, []int{2, 64}, func(i int) float64 { return float64(i * 29 % 17) })
	ids := seq(ir.UINT32, []int{1, 64}, func(i int) float64 { return float64(i) })
	b := kernelOf(t, "k")
	p, k, o := b.in("p", ir.FP32, 2, 64), b.in("k", ir.UINT32, 1, 64), b.out("o", ir.FP32, 2, 128)
	sorted := b.op("sort32", b.load(p), b.load(k))
	b.store(b.op("mrgsort", sorted, kw("block_len", 64)), o)
	got := eval(t, b, x, ids, zeros(ir.FP32, 2, 128))
	for r := range 2 {
		seen := map[int]bool{}
		for j := range 64 {
			v, id := got[r*128+2*j], int(math.Float32bits(float32(got[r*128+2*j+1])))
			if x.at(r, id) != v || seen[id] {
				t.Fatalf("row %d: pair %d is (%v, %d)", r, j, v, id)
			}
			seen[id] = true
			if j > 0 {
				pv, pid := got[r*128+2*j-2], int(math.Float32bits(float32(got[r*128+2*j-1])))
				if pv < v || pv == v && pid/32 == id/32 && pid > id || pv == v && pid/32 > id/32 {
					t.Fatalf("row %d: (%v, %d) before (%v, %d)", r, pv, pid, v, id)
				}
			}
		}
	}
	// Two lists.
	b = kernelOf(t, "k")
	p, q, o := b.in("p", ir.FP32, 1, 4), b.in("q", ir.FP32, 1, 4), b.out("o", ir.FP32, 1, 8)
	b.store(b.op("mrgsort", b.load(p), b.load(q), b.op("create_tile", list(1, 8), sym(ir.FP32))), o)
	same(t, "mrgsort2", eval(t, b, fromValues(ir.FP32, []int{1, 4}, 9, 1, 3, 2), fromValues(ir.FP32, []int{1, 4}, 9, 5, 4, 6), zeros(ir.FP32, 1, 8)), []float64{9, 1, 9, 5, 4, 6, 3, 2})
}
