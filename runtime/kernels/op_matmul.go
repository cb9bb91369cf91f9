package kernels

import "github.com/ptobuild/ptobuild/ir"

// Matrix products. Sums are exact as far as doubles go and rounded once to the result (integers wrap once). The right operand is packed into panels of
// four columns, so that the inner loop works on two rows and four columns in registers.

var matmulOps = map[string]func(o *opCtx) evalFn{
	"matmul": matmulOp(false, -1, 0), "batch_matmul": matmulOp(false, -1, 0), "gemv": matmulOp(false, -1, 0),
	"matmul_acc": matmulOp(true, -1, 0), "batch_matmul_acc": matmulOp(true, -1, 0), "gemv_acc": matmulOp(true, -1, 0),
	"matmul_bias": matmulOp(false, 2, 0), "gemv_bias": matmulOp(false, 2, 0),
	"matmul_mx": matmulOp(false, -1, 1), "matmul_mx_acc": matmulOp(true, -1, 1), "matmul_mx_bias": matmulOp(false, 4, 1),
}

const panel = 4

// mat is a matrix inside of a region: its element (i, j) is at off + i·rs + j·cs.
type mat struct {
	r                *region
	off, rs, cs      int
	rows, cols       int // valid
	pRows, pCols     int // physical
	scale            *region
	scaleRs, scaleCs int
}

// matOf is the last two axes of a region, or a vector as a row (a column when column is set).
func matOf(r *region, trans, column bool) mat {
	x := mat{r: r, off: r.off, rows: 1, cols: 1, pRows: 1, pCols: 1}
	switch {
	case r.rank >= 2:
		k := r.rank - 2
		x.rows, x.cols, x.pRows, x.pCols, x.rs, x.cs = r.valid[k], r.valid[k+1], r.shape[k], r.shape[k+1], r.stride[k], r.stride[k+1]
	case r.rank == 1 && column:
		x.rows, x.pRows, x.rs = r.valid[0], r.shape[0], r.stride[0]
	case r.rank == 1:
		x.cols, x.pCols, x.cs = r.valid[0], r.shape[0], r.stride[0]
	}
	if trans {
		x.rows, x.cols, x.pRows, x.pCols, x.rs, x.cs = x.cols, x.rows, x.pCols, x.pRows, x.cs, x.rs
	}
	return x
}

// matmulOp: operands are [acc,] lhs, [lhs scale,] rhs, [rhs scale,] and bias, the index of the bias operand, or -1.
func matmulOp(accumulates bool, bias, mx int) func(o *opCtx) evalFn {
	return func(o *opCtx) evalFn {
		first := 0
		acc, biasReg := -1, -1
		if accumulates {
			acc, first = o.reg(0), 1
		}
		lhs, rhs := o.reg(first), o.reg(first+1+mx)
		ls, rs := -1, -1
		if mx == 1 {
			ls, rs = o.reg(first+1), o.reg(first+3)
		}
		if bias >= 0 {
			biasReg = o.reg(bias)
		}
		at, bt := o.kwBool("a_trans"), o.kwBool("b_trans")
		overwrite := constInt(0)
		if v, ok := o.call.Kwargs.Get("init_cond"); ok {
			if e, ok := v.(ir.Expr); ok {
				overwrite = o.c.intExpr(e)
			}
		}
		gemvRows := 0
		if o.tile && len(o.leaf) >= 4 && o.leaf[:4] == "gemv" && !accumulates {
			gemvRows = 16 // what a vector-matrix product occupies
		}
		return func(m *machine, out *region) {
			a, b := &m.regs[lhs], &m.regs[rhs]
			if !m.need(o.site, a) || !m.need(o.site, b) {
				return
			}
			x, y := matOf(a, at, false), matOf(b, bt, true)
			if mx == 1 {
				s, t := &m.regs[ls], &m.regs[rs]
				if !m.need(o.site, s) || !m.need(o.site, t) || s.rank != 2 || t.rank != 2 {
					m.fail(o.site, CodeShape, "scales must be matrices")
					return
				}
				if (x.cols+31)/32 > s.shape[1] || x.rows > s.shape[0] || (y.rows+31)/32 > t.shape[0] || y.cols > t.shape[1] {
					m.fail(o.site, CodeShape, "scales %v and %v do not cover %v and %v", shapeOf(s), shapeOf(t), shapeOf(a), shapeOf(b))
					return
				}
				x.scale, x.scaleRs, x.scaleCs = s, s.stride[0], s.stride[1]
				y.scale, y.scaleRs, y.scaleCs = t, t.stride[0], t.stride[1]
			}
			if x.cols != y.rows {
				m.fail(o.site, CodeShape, "inner extents differ: %d columns times %d rows", x.cols, y.rows)
				return
			}
			if gemvRows > 0 && x.rows > gemvRows {
				m.fail(o.site, CodeShape, "a vector-matrix product takes one row (at most %d), got %d", gemvRows, x.rows)
				return
			}
			batch, ok := m.batches(o, a, b)
			if !ok {
				return
			}
			shape, valid, rank := batch.shape, batch.shape, batch.rank
			if a.rank >= 2 {
				shape[rank], valid[rank] = x.pRows, x.rows
				if gemvRows > 0 {
					shape[rank] = gemvRows
				}
				rank++
			}
			if b.rank >= 2 {
				shape[rank], valid[rank] = y.pCols, y.cols
				rank++
			}
			dst := &m.dst
			var start *region
			if acc >= 0 {
				*dst = m.regs[acc]
				if dst.rank != rank || !covers(dst, rank, &valid) {
					m.fail(o.site, CodeShape, "the accumulator %v does not fit the product %v", shapeOf(dst), show(shape, rank))
					return
				}
				if overwrite.eval(m) == 0 {
					if !m.need(o.site, dst) {
						return
					}
					start = dst
				}
			} else {
				m.fresh(dst, o.dt, rank, &shape, &valid)
			}
			z := matOf(dst, false, a.rank >= 2)
			var row *mat
			if biasReg >= 0 {
				r := &m.regs[biasReg]
				if !m.need(o.site, r) {
					return
				}
				v := matOf(r, false, false)
				if v.cols < y.cols {
					m.fail(o.site, CodeShape, "a bias of %d columns for %d", v.cols, y.cols)
					return
				}
				row = &v
			}
			var it rows
			p := batchOperand(dst, batch.rank)
			it.start(batch.rank, &batch.shape, false, &p, &batch.a, &batch.b)
			for it.next() { // the innermost batch axis is the run
				m.multiplied(it.n*x.rows*x.cols*y.cols, a.dt.Bytes())
				for q := range it.n {
					z.off, x.off, y.off = it.off[0]+q*it.in[0], it.off[1]+q*it.in[1], it.off[2]+q*it.in[2]
					if isFloat(dst.dt) {
						m.product(x, y, z, start != nil, row)
					} else {
						m.productI(x, y, z, start != nil, row)
					}
				}
			}
			if acc < 0 {
				dst.st.define(dst)
			} else if start == nil && dst.st != nil && dst.st.def != defAll {
				m.markValid(dst, rank, &valid)
			}
			*out = *dst
		}
	}
}

// covers reports that the extents lie inside of a region.
func covers(r *region, rank int, ext *dims) bool { return within(rank, ext, &r.shape) }

// markValid records the extents of r as written.
func (m *machine) markValid(r *region, rank int, ext *dims) {
	var it rows
	it.start(rank, ext, true, &r.operand)
	for it.next() {
		r.st.mark(it.off[0], it.n, it.in[0])
	}
}

// batches are the broadcast leading axes of two operands.
type batchAxes struct {
	rank  int
	shape dims
	a, b  operand
}

func (m *machine) batches(o *opCtx, a, b *region) (batchAxes, bool) {
	na, nb := max(a.rank-2, 0), max(b.rank-2, 0)
	x := batchAxes{rank: max(na, nb), a: operand{off: a.off}, b: operand{off: b.off}}
	for k := range x.rank {
		q := x.rank - 1 - k
		ea, eb := last(&a.shape, na, q, 1), last(&b.shape, nb, q, 1)
		x.a.stride[k], x.b.stride[k] = last(&a.stride, na, q, 0), last(&b.stride, nb, q, 0)
		switch {
		case ea == eb:
		case ea == 1:
			x.a.stride[k] = 0
		case eb == 1:
			x.b.stride[k] = 0
		default:
			m.fail(o.site, CodeShape, "batch axes of %v and %v do not broadcast", shapeOf(a), shapeOf(b))
			return x, false
		}
		x.shape[k] = max(ea, eb)
	}
	return x, true
}

func batchOperand(r *region, n int) operand {
	p := operand{off: r.off}
	copy(p.stride[:n], r.stride[:n])
	return p
}

// packRows converts the left operand to rows of T.
func (m *machine) packRows(x mat, d []float64) {
	for i := range x.rows {
		row := d[i*x.cols : (i+1)*x.cols]
		copy(row, m.fetchF(x.r, x.off+i*x.rs, x.cols, x.cs, &m.f[0]))
		if x.scale != nil {
			for k := range row {
				row[k] *= m.elemF(x.scale, x.scale.off+i*x.scaleRs+k/32*x.scaleCs)
			}
		}
	}
}

// packPanels converts the right operand to panels of four columns, padded with zeros.
func (m *machine) packPanels(y mat, d []float64) {
	for k := range y.rows {
		row := m.fetchF(y.r, y.off+k*y.rs, y.cols, y.cs, &m.f[0])
		for j, w := range row {
			if y.scale != nil {
				w *= m.elemF(y.scale, y.scale.off+k/32*y.scaleRs+j*y.scaleCs)
			}
			d[(j/panel*y.rows+k)*panel+j%panel] = w
		}
		for j := len(row); j%panel != 0; j++ {
			d[(j/panel*y.rows+k)*panel+j%panel] = 0
		}
	}
}

// product is z = [z +] x·y [+ bias] in doubles.
func (m *machine) product(x, y, z mat, accumulate bool, bias *mat) {
	depth, cols := x.cols, (y.cols+panel-1)/panel*panel
	a, b := grow(&m.d[0], x.rows*depth), grow(&m.d[1], depth*cols)
	m.packRows(x, a)
	m.packPanels(y, b)
	sums := grow(&m.d[2], 2*cols)
	for i := 0; i < x.rows; i += 2 {
		n := min(2, x.rows-i)
		multiply(a[i*depth:(i+n)*depth], b, sums, depth, cols, n)
		for q := range n {
			d := grow(&m.f[1], y.cols)
			s := sums[q*cols : q*cols+y.cols]
			if accumulate {
				for j, v := range m.fetchF(z.r, z.off+(i+q)*z.rs, y.cols, z.cs, &m.f[0]) {
					s[j] += v
				}
			}
			if bias != nil {
				for j, v := range m.fetchF(bias.r, bias.off, y.cols, bias.cs, &m.f[0]) {
					s[j] += v
				}
			}
			if m.double || z.r.dt == ir.FP64 {
				copy(d, s)
			} else { // the accumulator of a device is single precision
				for j, v := range s {
					d[j] = float64(float32(v))
				}
			}
			m.writeRow(z, i+q, d)
		}
	}
}

// writeRow stores a row of results; fresh results are marked as a whole afterwards.
func (m *machine) writeRow(z mat, i int, d []float64) {
	off := z.off + i*z.rs
	if z.r.st == nil || z.cs != 1 {
		m.putF(z.r, off, z.cs, d)
		return
	}
	x := z.r.st.f[off : off+len(d)]
	copy(x, d)
	m.roundRow(x, z.r.dt)
}

// multiply computes one or two rows of sums: rows a (depth each) times the panels b.
func multiply[T float64 | int64](a, b, sums []T, depth, cols, n int) {
	a0 := a[:depth]
	a1 := a0
	if n == 2 {
		a1 = a[depth : 2*depth]
	}
	for j := 0; j < cols; j += panel {
		p := b[j*depth : (j+panel)*depth]
		var s00, s01, s02, s03, s10, s11, s12, s13 T
		a1 := a1[:len(a0)]
		for k, x := range a0 {
			y := a1[k]
			q := p[k*panel : k*panel+panel : k*panel+panel]
			b0, b1, b2, b3 := q[0], q[1], q[2], q[3]
			s00 += x * b0
			s01 += x * b1
			s02 += x * b2
			s03 += x * b3
			s10 += y * b0
			s11 += y * b1
			s12 += y * b2
			s13 += y * b3
		}
		d := sums[j : j+panel]
		d[0], d[1], d[2], d[3] = s00, s01, s02, s03
		if n == 2 {
			d = sums[cols+j : cols+j+panel]
			d[0], d[1], d[2], d[3] = s10, s11, s12, s13
		}
	}
}

// productI is product on integers, wrapped once.
func (m *machine) productI(x, y, z mat, accumulate bool, bias *mat) {
	depth, cols := x.cols, (y.cols+panel-1)/panel*panel
	a, b := grow(&m.i[1], x.rows*depth), grow(&m.i[2], depth*cols)
	for i := range x.rows {
		copy(a[i*depth:(i+1)*depth], m.fetchI(x.r, x.off+i*x.rs, depth, x.cs, &m.i[0]))
	}
	clear(b)
	for k := range depth {
		for j, v := range m.fetchI(y.r, y.off+k*y.rs, y.cols, y.cs, &m.i[0]) {
			b[(j/panel*depth+k)*panel+j%panel] = v
		}
	}
	sums := grow(&m.i[3], 2*cols)
	for i := 0; i < x.rows; i += 2 {
		n := min(2, x.rows-i)
		multiply(a[i*depth:(i+n)*depth], b, sums, depth, cols, n)
		for q := range n {
			s := sums[q*cols : q*cols+y.cols]
			if accumulate {
				for j, v := range m.fetchI(z.r, z.off+(i+q)*z.rs, y.cols, z.cs, &m.i[0]) {
					s[j] += v
				}
			}
			if bias != nil {
				for j, v := range m.fetchI(bias.r, bias.off, y.cols, bias.cs, &m.i[0]) {
					s[j] += v
				}
			}
			off := z.off + (i+q)*z.rs
			if z.r.st == nil || z.cs != 1 {
				m.putI(z.r, off, z.cs, s)
				continue
			}
			d := z.r.st.i[off : off+len(s)]
			copy(d, s)
			wrapRow(d, z.r.dt)
		}
	}
}
