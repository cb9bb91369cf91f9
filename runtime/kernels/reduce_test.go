package kernels

import (
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// fold is the definition of a reduction over values in order, rounded to d after each step when stepwise.
func fold(kind string, d ir.DType, xs []float64, stepwise bool) float64 {
	acc, at := xs[0], 0
	for i, v := range xs[1:] {
		switch kind {
		case "sum":
			acc = float64(float32(acc + v))
			if !d.IsFloat() {
				acc = acc + 0
			}
		case "prod":
			acc = float64(float32(acc * v))
		case "max":
			acc = math.Max(acc, v)
		case "min":
			acc = math.Min(acc, v)
		case "argmax":
			if v > xs[at] {
				at = i + 1
			}
		case "argmin":
			if v < xs[at] {
				at = i + 1
			}
		}
		if stepwise && !strings.HasPrefix(kind, "arg") {
			acc = rounded(acc, d)
		}
	}
	if strings.HasPrefix(kind, "arg") {
		return float64(at)
	}
	return rounded(acc, d)
}

// Row and column reductions, whole and with a partial valid region.
func TestReductions(t *testing.T) {
	const R, C, VR, VC = 7, 11, 5, 9
	for _, kind := range []string{"sum", "prod", "max", "min", "argmax", "argmin"} {
		for _, d := range []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT32, ir.INT16} {
			x := seq(d, []int{R, C}, func(i int) float64 {
				if kind == "prod" {
					return 1 + float64(i%3)/2
				}
				return value(i)
			})
			od := d
			if strings.HasPrefix(kind, "arg") {
				od = ir.INT32
			}
			// Rows.
			b := kernelOf(t, "k")
			p, o := b.in("p", d, R, C), b.out("o", od, R, 1)
			u := b.op("set_validshape", b.load(p), num(VR), num(VC))
			b.store(b.op("row_"+kind, u, kw("tmp_tile", b.op("create_tile", list(R, C), sym(d)))), o)
			want := make([]float64, R)
			for r := range VR {
				want[r] = fold(kind, d, x.x[r*C:r*C+VC], false)
			}
			same(t, "row_"+kind+" "+d.String(), eval(t, b, x, zeros(od, R, 1)), want)
			// Columns.
			b = kernelOf(t, "k")
			p, o = b.in("p", d, R, C), b.out("o", od, 1, C)
			u = b.op("set_validshape", b.load(p), num(VR), num(VC))
			args := []any{u}
			if strings.HasPrefix(kind, "arg") {
				args = append(args, kw("tmp_tile", b.op("create_tile", list(R, C), sym(d))))
			}
			b.store(b.op("col_"+kind, args...), o)
			want = make([]float64, C)
			for c := range VC {
				col := make([]float64, VR)
				for r := range col {
					col[r] = x.at(r, c)
				}
				want[c] = fold(kind, d, col, true)
			}
			same(t, "col_"+kind+" "+d.String(), eval(t, b, x, zeros(od, 1, C)), want)
		}
	}
}

// Tensor reductions take any leading axes and can drop the reduced one.
func TestTensorReduction(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 2, 3, 4), b.out("o", ir.FP32, 2, 3)
	b.op("assemble", o, b.op("row_sum", p, kw("keep_dim", false)), list(0, 0))
	x := seq(ir.FP32, []int{2, 3, 4}, value)
	want := make([]float64, 6)
	for i := range want {
		want[i] = fold("sum", ir.FP32, x.x[4*i:4*i+4], false)
	}
	same(t, "row_sum", eval(t, b, x, zeros(ir.FP32, 2, 3)), want)
}

func TestExpand(t *testing.T) {
	fs := map[string]func(a, v float64) float64{
		"add": func(a, v float64) float64 { return a + v }, "sub": func(a, v float64) float64 { return a - v }, "mul": func(a, v float64) float64 { return a * v },
		"div": func(a, v float64) float64 { return a / v }, "max": math.Max, "min": math.Min, "expdif": func(a, v float64) float64 { return math.Exp(a - v) },
	}
	for name, f := range fs {
		for _, d := range floats {
			for _, axis := range []string{"row", "col"} {
				shape := []int{6, 1}
				if axis == "col" {
					shape = []int{1, 10}
				}
				b := kernelOf(t, "k")
				p, q, o := b.in("p", d, 6, 10), b.in("q", d, shape[0], shape[1]), b.out("o", d, 6, 10)
				b.store(b.op(axis+"_expand_"+name, b.load(p), b.load(q)), o)
				x, v := seq(d, []int{6, 10}, func(i int) float64 { return value(i) / 8 }), seq(d, shape, func(i int) float64 { return value(i+2) / 8 })
				want := make([]float64, 60)
				for i := range want {
					k := i / 10
					if axis == "col" {
						k = i % 10
					}
					want[i] = rounded(f(x.x[i], v.x[k]), d)
				}
				same(t, axis+"_expand_"+name+" "+d.String(), eval(t, b, x, v, zeros(d, 6, 10)), want)
			}
		}
	}
	// Plain expansion: the target gives the shape, its elements are never read.
	for _, axis := range []string{"row", "col"} {
		shape := []int{4, 1}
		if axis == "col" {
			shape = []int{1, 5}
		}
		b := kernelOf(t, "k")
		q, o := b.in("q", ir.INT32, shape[0], shape[1]), b.out("o", ir.INT32, 4, 5)
		b.store(b.op(axis+"_expand", b.op("create_tile", list(4, 5), sym(ir.INT32)), b.load(q)), o)
		v := seq(ir.INT32, shape, value)
		want := make([]float64, 20)
		for i := range want {
			if want[i] = v.x[i%5%len(v.x)]; axis == "row" {
				want[i] = v.x[i/5]
			}
		}
		same(t, axis+"_expand", eval(t, b, v, zeros(ir.INT32, 4, 5)), want)
	}
	b := kernelOf(t, "k")
	o := b.out("o", ir.FP16, 2, 3)
	b.store(b.op("expands", b.op("create_tile", list(2, 3), sym(ir.FP16)), flt(0.1)), o)
	tenth := float64(roundTo(0.1, ir.FP16))
	same(t, "expands", eval(t, b, zeros(ir.FP16, 2, 3)), []float64{tenth, tenth, tenth, tenth, tenth, tenth})
	b = kernelOf(t, "k")
	q, tgt, o3 := b.in("q", ir.FP32, 1, 3), b.in("t", ir.FP32, 2, 2, 3), b.out("o", ir.FP32, 2, 2, 3)
	b.op("assemble", o3, b.op("expand_clone", q, tgt), list(0, 0, 0))
	same(t, "expand_clone", eval(t, b, fromValues(ir.FP32, []int{1, 3}, 1, 2, 3), zeros(ir.FP32, 2, 2, 3), zeros(ir.FP32, 2, 2, 3)), []float64{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3})
}

// product is the definition: double sums, rounded once.
func matrixProduct(x, y *data, at, bt bool, m, k, n int, d ir.DType, acc, bias []float64) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for q := range k {
				a, b := x.x[i*k+q], y.x[q*n+j]
				if at {
					a = x.x[q*m+i]
				}
				if bt {
					b = y.x[j*k+q]
				}
				sum += a * b
			}
			if acc != nil {
				sum += acc[i*n+j]
			}
			if bias != nil {
				sum += bias[j]
			}
			out[i*n+j] = rounded(float64(float32(sum)), d)
			if !d.IsFloat() {
				out[i*n+j] = float64(wrap(int64(sum), d))
			}
		}
	}
	return out
}

func TestMatmul(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {2, 3, 4}, {5, 7, 9}, {16, 16, 16}, {17, 33, 6}} {
		m, k, n := s[0], s[1], s[2]
		for _, d := range []ir.DType{ir.FP32, ir.FP16, ir.BF16, ir.INT8} {
			od := ir.FP32
			if d == ir.INT8 {
				od = ir.INT32
			}
			x, y := seq(d, []int{m, k}, value), seq(d, []int{k, n}, func(i int) float64 { return value(i + 5) })
			b := kernelOf(t, "k")
			p, q, o := b.in("p", d, m, k), b.in("q", d, k, n), b.out("o", od, m, n)
			l := b.op("move", b.op("load", p, list(0, 0), list(m, k), kw("target_memory", ir.Enum{Kind: "Mem", Name: "Mat"})), mem("Left"))
			r := b.op("move", b.op("load", q, list(0, 0), list(k, n), kw("target_memory", ir.Enum{Kind: "Mem", Name: "Mat"})), mem("Right"))
			c := b.op("matmul", l, r)
			c = b.op("matmul_acc", c, l, r)
			b.store(c, o)
			once := matrixProduct(x, y, false, false, m, k, n, od, nil, nil)
			same(t, "matmul + matmul_acc "+d.String(), eval(t, b, x, y, zeros(od, m, n)), matrixProduct(x, y, false, false, m, k, n, od, once, nil))
		}
	}
}

func TestMatmulForms(t *testing.T) {
	x, y := seq(ir.BF16, []int{6, 8}, value), seq(ir.BF16, []int{8, 10}, func(i int) float64 { return value(i + 1) })
	flip := func(a *data) *data {
		r, c := a.shape[0], a.shape[1]
		return seq(a.d, []int{c, r}, func(i int) float64 { return a.at(i%r, i/r) })
	}
	// Transposed operands and a narrow result, on tensors.
	b := kernelOf(t, "k")
	p, q, o := b.in("p", ir.BF16, 8, 6), b.in("q", ir.BF16, 10, 8), b.out("o", ir.BF16, 6, 10)
	b.op("assemble", o, b.op("matmul", p, q, kw("a_trans", true), kw("b_trans", true)), list(0, 0))
	same(t, "a_trans b_trans", eval(t, b, flip(x), flip(y), zeros(ir.BF16, 6, 10)), matrixProduct(x, y, false, false, 6, 8, 10, ir.BF16, nil, nil))
	// A transposed view as an operand.
	b = kernelOf(t, "k")
	p, q, o = b.in("p", ir.BF16, 8, 6), b.in("q", ir.BF16, 8, 10), b.out("o", ir.FP32, 6, 10)
	b.op("assemble", o, b.op("matmul", b.op("transpose", p, num(0), num(1)), q, kw("out_dtype", ir.FP32)), list(0, 0))
	same(t, "transposed view", eval(t, b, flip(x), y, zeros(ir.FP32, 6, 10)), matrixProduct(x, y, false, false, 6, 8, 10, ir.FP32, nil, nil))
	// Bias.
	bias := seq(ir.FP32, []int{1, 10}, value)
	b = kernelOf(t, "k")
	p, q, r, o := b.in("p", ir.BF16, 6, 8), b.in("q", ir.BF16, 8, 10), b.in("r", ir.FP32, 1, 10), b.out("o", ir.FP32, 6, 10)
	b.store(b.op("matmul_bias", b.op("move", b.load(p), mem("Left")), b.op("move", b.load(q), mem("Right")), b.op("move", b.load(r), mem("Bias"))), o)
	same(t, "matmul_bias", eval(t, b, x, y, bias, zeros(ir.FP32, 6, 10)), matrixProduct(x, y, false, false, 6, 8, 10, ir.FP32, nil, bias.x))
	// A vector times a matrix: one valid row.
	b = kernelOf(t, "k")
	p, q, o = b.in("p", ir.BF16, 1, 8), b.in("q", ir.BF16, 8, 10), b.out("o", ir.FP32, 1, 10)
	b.store(b.op("gemv", b.op("move", b.load(p), mem("Left")), b.op("move", b.load(q), mem("Right"))), o)
	v := seq(ir.BF16, []int{1, 8}, value)
	same(t, "gemv", eval(t, b, v, y, zeros(ir.FP32, 1, 10)), matrixProduct(v, y, false, false, 1, 8, 10, ir.FP32, nil, nil))
	// Batches, the second operand shared.
	xs := seq(ir.FP32, []int{3, 4, 5}, value)
	w := seq(ir.FP32, []int{5, 6}, func(i int) float64 { return value(i + 2) })
	b = kernelOf(t, "k")
	p, q, o = b.in("p", ir.FP32, 3, 4, 5), b.in("q", ir.FP32, 5, 6), b.out("o", ir.FP32, 3, 4, 6)
	b.op("assemble", o, b.op("matmul", p, q), list(0, 0, 0))
	same(t, "batches", eval(t, b, xs, w, zeros(ir.FP32, 3, 4, 6)), matrixProduct(xs, w, false, false, 12, 5, 6, ir.FP32, nil, nil))
	// Only the valid part counts.
	b = kernelOf(t, "k")
	p, q, o = b.in("p", ir.BF16, 6, 8), b.in("q", ir.BF16, 8, 10), b.out("o", ir.FP32, 6, 10)
	l := b.op("set_validshape", b.op("move", b.load(p), mem("Left")), num(4), num(5))
	rr := b.op("set_validshape", b.op("move", b.load(q), mem("Right")), num(5), num(7))
	b.store(b.op("matmul", l, rr), o)
	want := make([]float64, 60)
	for i := range 4 {
		for j := range 7 {
			for k := range 5 {
				want[i*10+j] += x.at(i, k) * y.at(k, j)
			}
		}
	}
	same(t, "valid part", eval(t, b, x, y, zeros(ir.FP32, 6, 10)), want)
}

// Block scales: each product is scaled by both operands' powers of two for its block of 32 along K.
func TestMatmulMX(t *testing.T) {
	x, y := seq(ir.FP8E4M3FN, []int{4, 64}, func(i int) float64 { return value(i) / 4 }), seq(ir.FP8E4M3FN, []int{64, 6}, func(i int) float64 { return value(i+3) / 4 })
	sx, sy := seq(ir.FP8E8M0, []int{4, 2}, func(i int) float64 { return math.Exp2(float64(i%5 - 2)) }), seq(ir.FP8E8M0, []int{2, 6}, func(i int) float64 { return math.Exp2(float64(i%4 - 1)) })
	b := kernelOf(t, "k")
	p, ps, q, qs, o := b.in("p", x.d, 4, 64), b.in("ps", sx.d, 4, 2), b.in("q", y.d, 64, 6), b.in("qs", sy.d, 2, 6), b.out("o", ir.FP32, 4, 6)
	b.store(b.op("matmul_mx", b.op("move", b.load(p), mem("Left")), b.op("move", b.load(ps), mem("LeftScale")), b.op("move", b.load(q), mem("Right")), b.op("move", b.load(qs), mem("RightScale"))), o)
	want := make([]float64, 24)
	for i := range 4 {
		for j := range 6 {
			sum := 0.0
			for k := range 64 {
				sum += x.at(i, k) * sx.at(i, k/32) * y.at(k, j) * sy.at(k/32, j)
			}
			want[i*6+j] = float64(float32(sum))
		}
	}
	same(t, "matmul_mx", eval(t, b, x, sx, y, sy, zeros(ir.FP32, 4, 6)), want)
}
