package kernels

import (
	"github.com/ptobuild/ptobuild/ir"
)

var gatherOps = map[string]func(o *opCtx) evalFn{
	"gather": buildGather, "gather_mask": buildGatherMask, "gatherb": buildGatherb, "gather_row": buildGatherRow, "paged_gather": buildPagedGather,
	"scatter": buildScatter, "scatter_mask": buildScatterMask, "scatter_update": buildScatterUpdate,
}

// setElem writes an element of r, converted from one of src.
func (m *machine) setElem(r *region, to int, src *region, from int) {
	if isFloat(r.dt) {
		m.setF(r, to, m.elemF(src, from))
	} else {
		m.setI(r, to, m.elemI(src, from))
	}
}

// buildGather: tensors pick along an axis, as torch.gather; tiles pick by flat row-major index, out of range gives 0.
func buildGather(o *opCtx) evalFn {
	src, idx := o.reg(0), o.reg(1)
	dim := int(o.kwInt("dim", -1))
	return func(m *machine, out *region) {
		x, k := &m.regs[src], &m.regs[idx]
		if !m.need(o.site, k) || !m.need(o.site, x) {
			return
		}
		m.fresh(out, o.dt, k.rank, &k.shape, &k.valid)
		axis := dim
		if axis < 0 {
			axis += x.rank
		}
		if !o.tile && (x.rank != k.rank || axis < 0 || axis >= x.rank) {
			m.fail(o.site, CodeShape, "an index of shape %v along axis %d of %v", shapeOf(k), dim, shapeOf(x))
			return
		}
		if !o.tile && !fitsExcept(k, x, axis) {
			m.fail(o.site, CodeShape, "an index of shape %v does not fit %v", shapeOf(k), shapeOf(x))
			return
		}
		total := x.elems()
		var it rows
		it.start(k.rank, &k.valid, false, &out.operand, &k.operand)
		for it.next() {
			for j := range it.n {
				at := int(m.elemI(k, it.off[1]+j*it.in[1]))
				if o.tile {
					ok := at >= 0 && at < total
					if !ok {
						at = 0
					}
					m.copyElem(out, it.off[0]+j, x, flatOff(x, at), ok)
					continue
				}
				if at < 0 || at >= x.shape[axis] {
					m.fail(o.site, CodeBounds, "index %d is out of range for axis %d of extent %d", at, axis, x.shape[axis])
					return
				}
				m.copyElem(out, it.off[0]+j, x, alongAxis(x, &it, j, axis, at), true)
			}
		}
		out.st.define(out)
	}
}

// alongAxis is the place in r of the walk's current element with its index on one axis replaced.
func alongAxis(r *region, it *rows, j, axis, at int) int {
	off := r.off
	for a := range r.rank {
		i := it.idx[a]
		if a == r.rank-1 {
			i = j
		}
		if a == axis {
			i = at
		}
		off += i * r.stride[a]
	}
	return off
}

// maskColumns gives the first column and the step of a mask pattern: 1, 2: every other; 3 to 6: every fourth; 7: all.
func maskColumns(pattern int64) (first, step int) {
	switch {
	case pattern <= 2:
		return int(pattern) - 1, 2
	case pattern <= 6:
		return int(pattern) - 3, 4
	}
	return 0, 1
}

// buildGatherMask packs the columns of a pattern to the left; output_dtype reads the bits as another dtype.
func buildGatherMask(o *opCtx) evalFn {
	src := o.reg(0)
	first, step := maskColumns(o.kwInt("mask_pattern", 7))
	from := ir.ElemDType(o.call.Args[0].Type())
	return func(m *machine, out *region) {
		x := &m.regs[src]
		if !m.need(o.site, x) {
			return
		}
		if x.rank == 0 {
			m.fail(o.site, CodeShape, "a scalar has no columns")
			return
		}
		n := x.rank - 1
		shape, valid := x.shape, x.valid
		shape[n], valid[n] = shape[n]/step, valid[n]/step
		m.fresh(out, o.dt, x.rank, &shape, &valid)
		p := x.operand
		p.off += first * x.stride[n]
		p.stride[n] *= step
		if from == o.dt {
			m.copyRows(out, x, &p)
		} else {
			var it rows
			it.start(out.rank, &out.valid, false, &out.operand, &p)
			for it.next() {
				m.recode(x, it.off[1], it.n, it.in[1], out, it.off[0])
			}
		}
		out.st.define(out)
	}
}

// buildScatterMask is the inverse: the columns of the pattern take the source, the others become 0. The tensor form makes a new tensor of the
// shape of dst, the tile form works in dst.
func buildScatterMask(o *opCtx) evalFn {
	src, dst := o.reg(0), o.reg(1)
	if o.tile {
		src, dst = dst, src
	}
	first, step := maskColumns(o.kwInt("mask_pattern", 7))
	return func(m *machine, out *region) {
		x, d := &m.regs[src], m.regs[dst]
		if !m.need(o.site, x) {
			return
		}
		n := d.rank - 1
		if x.rank != d.rank || n < 0 || !covers(&d, n, &x.valid) || first+(x.valid[n]-1)*step >= d.shape[n] {
			m.fail(o.site, CodeShape, "%v does not fit into every %d. column of %v", show(x.valid, x.rank), step, shapeOf(&d))
			return
		}
		to := d
		if !o.tile {
			m.fresh(&to, o.dt, d.rank, &d.shape, &d.shape)
		}
		to.valid = to.shape
		for a := range n {
			to.valid[a] = x.valid[a]
		}
		m.zero(&to)
		w := to
		w.off += first * to.stride[n]
		w.stride[n] *= step
		m.copyRegion(&w, x)
		to.valid = d.valid
		*out = to
	}
}

// zero fills the valid region with 0.
func (m *machine) zero(r *region) {
	var it rows
	it.start(r.rank, &r.valid, true, &r.operand)
	for it.next() {
		if isFloat(r.dt) {
			d := grow(&m.f[0], it.n)
			clear(d)
			m.putF(r, it.off[0], it.in[0], d)
		} else {
			d := grow(&m.i[0], it.n)
			clear(d)
			m.putI(r, it.off[0], it.in[0], d)
		}
	}
}

// gatherCompare gives, per row, the columns (plus offset) whose elements satisfy the comparison, and their count.
func (o *opCtx) gatherCompare(to slot) {
	mode := o.kwInt("cmp_mode", 0)
	if to.kind != tupleSlot || len(to.elems) != 2 || mode < 0 || int(mode) >= len(cmpOps) {
		o.c.errorf(CodeExpr, o.call.Pos, "%s: gives two results", o.call.Op)
		return
	}
	op := cmpOps[mode]
	src := o.reg(0)
	from := ir.ElemDType(o.call.Args[0].Type())
	k := o.second2(1, from)
	offset, cols := o.kwInt("offset", 0), int(o.kwInt("out_cols", 1))
	countType := ir.INT32
	if v, ok := o.call.Kwargs.Get("count_dtype"); ok {
		countType, _ = v.(ir.DType)
	}
	index, count := to.elems[0].i, to.elems[1].i
	o.c.emit(func(m *machine) {
		x, y := &m.regs[src], k(m)
		if !m.need(o.site, x) || !m.need(o.site, y) {
			return
		}
		if x.rank != 2 {
			m.fail(o.site, CodeShape, "needs a matrix, got %v", shapeOf(x))
			return
		}
		var ids, n region
		shape, one := dims{x.shape[0], cols}, dims{x.shape[0], 1}
		m.fresh(&ids, ir.INT32, 2, &shape, &shape)
		m.fresh(&n, countType, 2, &one, &one)
		clear(ids.st.i)
		clear(n.st.i)
		ids.st.def, n.st.def = defAll, defAll
		for r := range x.valid[0] {
			off := y.off
			if y.rank > 0 {
				off += min(r, last(&y.shape, y.rank, 1, 1)-1) * last(&y.stride, y.rank, 1, 0)
			}
			limit := m.fetchD(y, off, 1, 1)[0]
			found := 0
			for c, v := range m.fetchD(x, x.off+r*x.stride[0], x.valid[1], x.stride[1]) {
				if found < cols && compare(op, v, limit) {
					ids.st.i[r*cols+found] = int64(c) + offset
					found++
				}
			}
			if isFloat(countType) {
				n.st.f[r] = float64(found)
			} else {
				n.st.i[r] = int64(found)
			}
		}
		m.set(index, &ids)
		m.set(count, &n)
	})
}

// buildGatherb copies 32-byte blocks from byte offsets.
func buildGatherb(o *opCtx) evalFn {
	src, offsets := o.reg(0), o.reg(1)
	from := ir.ElemDType(o.call.Args[0].Type())
	if from.Bytes() != o.dt.Bytes() {
		return o.unsupported(CodeDType, "%s and %s differ in width", from, o.dt)
	}
	per := 32 / o.dt.Bytes()
	return func(m *machine, out *region) {
		x, k := &m.regs[src], &m.regs[offsets]
		if !m.need(o.site, k) {
			return
		}
		shape, valid := k.shape, k.valid
		n := max(k.rank-1, 0)
		shape[n], valid[n] = shape[n]*per, valid[n]*per
		m.fresh(out, o.dt, k.rank, &shape, &valid)
		total := x.elems()
		var it rows
		p := blockOperand(out, per)
		it.start(k.rank, &k.valid, false, &k.operand, &p)
		for it.next() {
			for j := range it.n {
				at := int(m.elemI(k, it.off[0]+j*it.in[0]))
				if at%from.Bytes() != 0 || at < 0 || at/from.Bytes()+per > total {
					m.fail(o.site, CodeBounds, "a block at byte %d is outside of a tile of %d bytes", at, total*from.Bytes())
					return
				}
				for q := range per {
					off := flatOff(x, at/from.Bytes()+q)
					to := it.off[1] + j*it.in[1] + q
					if from == o.dt {
						m.copyElem(out, to, x, off, true)
					} else {
						m.recode(x, off, 1, 1, out, to)
					}
				}
			}
		}
		out.st.define(out)
	}
}

// blockOperand steps through out a block of columns at a time.
func blockOperand(out *region, per int) operand {
	p := out.operand
	if out.rank > 0 {
		p.stride[out.rank-1] *= per
	}
	return p
}

// buildGatherRow copies a window of src into the destination at an offset, transposed when asked for.
func buildGatherRow(o *opCtx) evalFn {
	dst, src, to, from, ext := o.reg(0), o.reg(1), o.list(2), o.list(3), o.list(4)
	var valid []intExpr
	if o.has(5) {
		valid = o.list(5)
	}
	transpose := o.kwBool("transpose")
	return func(m *machine, out *region) {
		d, x := &m.regs[dst], m.regs[src]
		*out = *d
		if len(to) != d.rank || len(from) != x.rank || len(ext) != x.rank {
			m.fail(o.site, CodeShape, "offsets and extents do not fit %v and %v", shapeOf(d), shapeOf(&x))
			return
		}
		off, base, size := evalDims(m, to), evalDims(m, from), evalDims(m, ext)
		want := size
		if len(valid) == x.rank && valid != nil {
			want = evalDims(m, valid)
		}
		if m.err != nil || !m.checkWindow(o.site, &x, &base, &want) {
			return
		}
		for a := range x.rank {
			x.off += base[a] * x.stride[a]
		}
		x.shape, x.valid = size, want
		if transpose && x.rank >= 2 {
			swapAxes(&x, x.rank-2, x.rank-1)
		}
		m.writeInto(o.site, d, &x, &off, false)
	}
}

// buildPagedGather fetches rows whose logical numbers go through a block table: row i of block b is physical row table[b]·block_size + i.
func buildPagedGather(o *opCtx) evalFn {
	src, idx, table := o.reg(0), o.reg(1), o.reg(2)
	block, size, col := int(o.kwInt("block_size", 1)), int(o.kwInt("size", 0)), int(o.kwInt("col_off", 0))
	limit, trans := int(o.kwInt("max_indices", 0)), o.kwBool("is_trans")
	return func(m *machine, out *region) {
		x, k, t := &m.regs[src], &m.regs[idx], &m.regs[table]
		if !m.need(o.site, x) || !m.need(o.site, k) || !m.need(o.site, t) {
			return
		}
		n := limit
		if n == 0 {
			n = k.elems()
		}
		if x.rank < 2 || block <= 0 || col < 0 || col+size > x.shape[x.rank-1] || n > k.elems() {
			m.fail(o.site, CodeShape, "columns [%d, %d) of %v through %d indices of %d", col, col+size, shapeOf(x), n, k.elems())
			return
		}
		shape := dims{n, size}
		if trans {
			shape = dims{size, n}
		}
		m.fresh(out, o.dt, 2, &shape, &shape)
		cols := x.shape[x.rank-1]
		total := x.elems() / max(cols, 1)
		for i := range n {
			id := int(m.elemI(k, flatOff(k, i)))
			if id < 0 || id/block >= t.elems() {
				m.fail(o.site, CodeBounds, "row %d has no entry in a table of %d blocks", id, t.elems())
				return
			}
			row := int(m.elemI(t, flatOff(t, id/block)))*block + id%block
			if row < 0 || row >= total {
				m.fail(o.site, CodeBounds, "physical row %d is outside of %d", row, total)
				return
			}
			for c := range size {
				to := i*size + c
				if trans {
					to = c*n + i
				}
				m.copyElem(out, to, x, flatOff(x, row*cols+col+c), true)
			}
		}
		out.st.define(out)
	}
}

// buildScatter: tensors place along an axis in a copy; tiles place by flat index in the destination. Out of range is ignored, the later of two
// in row-major order wins.
func buildScatter(o *opCtx) evalFn {
	dst, idx, src := o.reg(0), o.reg(1), o.reg(2)
	if o.tile { // tile.scatter(dst, src, indexes)
		idx, src = src, idx
	}
	dim := int(o.kwInt("dim", -1))
	return func(m *machine, out *region) {
		d, k, x := m.regs[dst], &m.regs[idx], &m.regs[src]
		if !m.need(o.site, k) || !m.need(o.site, x) {
			return
		}
		axis := dim
		if axis < 0 {
			axis += d.rank
		}
		if !o.tile {
			from := m.regs[dst]
			if !m.need(o.site, &from) {
				return
			}
			m.fresh(&d, o.dt, from.rank, &from.shape, &from.valid)
			m.copyRows(&d, &from, &from.operand)
			d.st.define(&d)
			if axis < 0 || axis >= d.rank || k.rank != d.rank || !fitsExcept(k, &d, axis) {
				m.fail(o.site, CodeShape, "an index of shape %v along axis %d of %v", shapeOf(k), dim, shapeOf(&d))
				return
			}
		}
		if !m.sameExtents(o.site, x, k) {
			return
		}
		total := d.elems()
		var it rows
		it.start(k.rank, &k.valid, false, &k.operand, &x.operand)
		for it.next() {
			for j := range it.n {
				at := int(m.elemI(k, it.off[0]+j*it.in[0]))
				switch {
				case o.tile && at >= 0 && at < total:
					m.setElem(&d, flatOff(&d, at), x, it.off[1]+j*it.in[1])
				case !o.tile && at >= 0 && at < d.shape[axis]:
					m.setElem(&d, alongAxis(&d, &it, j, axis, at), x, it.off[1]+j*it.in[1])
				}
			}
		}
		*out = d
	}
}

// fitsExcept reports that the index is not larger than the region on all axes but one.
func fitsExcept(k, d *region, axis int) bool {
	for a := range d.rank {
		if a != axis && k.valid[a] > d.shape[a] {
			return false
		}
	}
	return true
}

// buildScatterUpdate replaces rows: row idx[b][s] of the input becomes row b·S+s of src.
func buildScatterUpdate(o *opCtx) evalFn {
	dst, idx, src := o.reg(0), o.reg(1), o.reg(2)
	return func(m *machine, out *region) {
		d, k, x := &m.regs[dst], &m.regs[idx], &m.regs[src]
		*out = *d
		if !m.need(o.site, k) || !m.need(o.site, x) {
			return
		}
		if d.rank == 0 || x.rank == 0 || x.shape[x.rank-1] > d.shape[d.rank-1] {
			m.fail(o.site, CodeShape, "rows of %v do not fit %v", shapeOf(x), shapeOf(d))
			return
		}
		cols, wide := x.shape[x.rank-1], d.shape[d.rank-1]
		n := d.elems() / max(wide, 1)
		have := x.elems() / max(cols, 1)
		for i := range product(k.rank, &k.valid) {
			row := int(m.elemI(k, flatValid(k, i)))
			if i >= have || row < 0 || row >= n {
				m.fail(o.site, CodeBounds, "row %d of the source goes to row %d, but there are %d and %d rows", i, row, have, n)
				return
			}
			for c := range cols {
				m.setElem(d, flatOff(d, row*wide+c), x, flatOff(x, i*cols+c))
			}
		}
	}
}

// flatValid is the place of element k in row-major order of the valid region.
func flatValid(r *region, k int) int {
	off := r.off
	for a := r.rank - 1; a >= 0; a-- {
		off += k % r.valid[a] * r.stride[a]
		k /= r.valid[a]
	}
	return off
}
