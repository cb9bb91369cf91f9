package kernels

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

var memoryOps = map[string]func(o *opCtx) evalFn{
	"load": buildLoad, "store": buildStore, "move": buildCopy, "assemble": buildAssemble, "write": buildWrite,
	"extract": buildExtract, "mgather": buildMgather, "mscatter": buildMscatter,
}

// checkWindow checks that extents ext at offset off lie inside of r.
func (m *machine) checkWindow(s *site, r *region, off, ext *dims) bool {
	for a := range r.rank {
		if ext[a] > 0 && (off[a] < 0 || off[a] > r.shape[a]-ext[a]) {
			m.fail(s, CodeBounds, "[%d, %d) of axis %d is outside of extent %d", off[a], off[a]+ext[a], a, r.shape[a])
			return false
		}
	}
	return true
}

// sameExtents checks that a (an index, say) is valid wherever b is.
func (m *machine) sameExtents(s *site, a, b *region) bool {
	ok := a.rank == b.rank
	for k := range min(a.rank, b.rank) {
		ok = ok && a.valid[k] >= b.valid[k]
	}
	if !ok {
		m.fail(s, CodeShape, "a tile valid in %v does not cover one valid in %v", show(a.valid, a.rank), show(b.valid, b.rank))
	}
	return ok
}

// buildLoad: tile[i] = t[off+i] inside the valid region, the pad value outside.
func buildLoad(o *opCtx) evalFn {
	src, offsets, shapes := o.reg(0), o.list(1), o.list(2)
	extents := shapes
	if o.has(3) {
		extents = o.list(3)
	}
	clamp := o.kwBool("clamp")
	return func(m *machine, out *region) {
		r := &m.regs[src]
		if len(offsets) != r.rank || len(shapes) != r.rank || len(extents) != r.rank {
			m.fail(o.site, CodeShape, "a window of %d axes in a tensor of %d", len(shapes), r.rank)
			return
		}
		var off, shape, want dims
		off.eval(m, offsets)
		shape.eval(m, shapes)
		want.eval(m, extents)
		if m.err != nil {
			return
		}
		for a := range r.rank {
			if want[a] > shape[a] || shape[a] < 0 {
				m.fail(o.site, CodeShape, "valid extent %d of axis %d is more than %d", want[a], a, shape[a])
				return
			}
			partial := r.valid[a] != r.shape[a]
			if clamp || partial {
				want[a] = min(want[a], r.valid[a]-off[a])
			}
			want[a] = max(want[a], 0)
		}
		if !m.checkWindow(o.site, r, &off, &want) {
			return
		}
		m.fresh(out, o.dt, r.rank, &shape, &want)
		if !out.isWhole() {
			clear(out.st.f)
			clear(out.st.i)
		}
		p := r.operand
		for a := range r.rank {
			p.off += off[a] * r.stride[a]
		}
		if r.st != nil {
			w := *r
			w.off, w.valid = p.off, want
			if !m.need(o.site, &w) {
				return
			}
		}
		m.copyRows(out, r, &p)
		out.st.def = defAll
	}
}

// place is the window of dst at an offset that takes src: src's axes are the last of dst, further ones of src must be 1.
func (m *machine) place(s *site, dst, src *region, off *dims) (to, from region, ok bool) {
	from = *src
	for from.rank > dst.rank {
		if from.shape[0] != 1 {
			m.fail(s, CodeShape, "a tile of %d axes does not fit a tensor of %d", src.rank, dst.rank)
			return to, from, false
		}
		from.dropAxis(0)
	}
	var ext dims
	for k := range dst.rank {
		ext[k] = last(&from.valid, from.rank, dst.rank-1-k, 1)
	}
	if !m.checkWindow(s, dst, off, &ext) {
		return to, from, false
	}
	to = *dst
	for k := range dst.rank {
		to.off += off[k] * dst.stride[k]
	}
	lead := dst.rank - from.rank
	copy(to.shape[:from.rank], dst.shape[lead:dst.rank])
	copy(to.stride[:from.rank], dst.stride[lead:dst.rank])
	to.rank = from.rank
	return to, from, true
}

// writeInto copies src into dst at an offset, or adds it.
func (m *machine) writeInto(s *site, dst, src *region, off *dims, add bool) {
	if !m.need(s, src) {
		return
	}
	to, from, ok := m.place(s, dst, src, off)
	if !ok {
		return
	}
	if !add {
		m.copyRegion(&to, &from)
		return
	}
	var it rows
	it.start(from.rank, &from.valid, true, &to.operand, &from.operand)
	for it.next() {
		if isFloat(to.dt) {
			sum := grow(&m.f[2], it.n)
			copy(sum, m.fetchF(&to, it.off[0], it.n, it.in[0], &m.f[0]))
			for j, v := range m.fetchF(&from, it.off[1], it.n, it.in[1], &m.f[1]) {
				sum[j] += v
			}
			m.putF(&to, it.off[0], it.in[0], sum)
			continue
		}
		sum := grow(&m.i[2], it.n)
		copy(sum, m.fetchI(&to, it.off[0], it.n, it.in[0], &m.i[0]))
		for j, v := range m.fetchI(&from, it.off[1], it.n, it.in[1], &m.i[1]) {
			sum[j] += v
		}
		m.putI(&to, it.off[0], it.in[0], sum)
	}
}

// buildStore writes the tile's valid region into the tensor; the result is the tensor.
func buildStore(o *opCtx) evalFn {
	src, offsets, dst := o.reg(0), o.list(1), o.reg(2)
	return o.intoRegion(dst, src, offsets)
}

// buildAssemble writes the source's valid region into the target; the result is the target.
func buildAssemble(o *opCtx) evalFn {
	dst, src, offsets := o.reg(0), o.reg(1), o.list(2)
	return o.intoRegion(dst, src, offsets)
}

func (o *opCtx) intoRegion(dst, src int, offsets []intExpr) evalFn {
	add := o.kwEnum("atomic", "None_") == "Add"
	return func(m *machine, out *region) {
		d := &m.regs[dst]
		if len(offsets) != d.rank {
			m.fail(o.site, CodeShape, "%d offsets for %d axes", len(offsets), d.rank)
			return
		}
		var off dims
		off.eval(m, offsets)
		if m.err == nil {
			m.boxes.atomic = add
			m.writeInto(o.site, d, &m.regs[src], &off, add)
			m.boxes.atomic = false
		}
		*out = *d
	}
}

// buildWrite sets one element.
func buildWrite(o *opCtx) evalFn {
	dst, at := o.reg(0), o.element()
	float := isFloat(ir.ElemDType(o.call.Args[0].Type()))
	var f floatExpr
	var i intExpr
	if float {
		f = o.floatArg(2)
	} else {
		i = o.intArg(2)
	}
	return func(m *machine, out *region) {
		r, off := at(m)
		if m.err != nil {
			return
		}
		if float {
			m.setF(r, off, m.nearest(f.eval(m), r.dt))
		} else {
			m.setI(r, off, i.eval(m))
		}
		*out = m.regs[dst]
	}
}

// buildCopy copies the valid region into a new tile of the same shape, converting to the result's dtype.
func buildCopy(o *opCtx) evalFn {
	src := o.reg(0)
	return func(m *machine, out *region) {
		r := &m.regs[src]
		if !m.need(o.site, r) {
			return
		}
		m.fresh(out, o.dt, r.rank, &r.shape, &r.valid)
		m.copyRows(out, r, &r.operand)
		out.st.define(out)
	}
}

// buildExtract copies a window of a tile.
func buildExtract(o *opCtx) evalFn {
	src, row, col, shape := o.reg(0), o.intArg(1), o.intArg(2), o.list(3)
	return func(m *machine, out *region) {
		r := &m.regs[src]
		off := dims{int(row.eval(m)), int(col.eval(m))}
		ext := evalDims(m, shape)
		if m.err != nil {
			return
		}
		if r.rank != 2 || len(shape) != 2 || !m.checkWindow(o.site, r, &off, &ext) {
			m.fail(o.site, CodeShape, "needs a window of a matrix, got %v of %v", show(ext, len(shape)), shapeOf(r))
			return
		}
		w := *r
		w.shape = ext
		for a := range 2 {
			w.off += off[a] * r.stride[a]
			w.valid[a] = max(min(ext[a], r.valid[a]-off[a]), 0)
		}
		if !m.need(o.site, &w) {
			return
		}
		m.fresh(out, o.dt, 2, &w.shape, &w.valid)
		m.copyRows(out, &w, &w.operand)
		out.st.define(out)
	}
}

// Out-of-range policies of mgather.
const (
	oobUndefined = iota
	oobClamp
	oobWrap
	oobZero
)

// outOfRange applies the policy to a flat index; false means the element is 0.
func (m *machine) outOfRange(s *site, k, n int, policy int64) (int, bool) {
	if k >= 0 && k < n {
		return k, true
	}
	switch {
	case n == 0 || policy == oobZero:
		return 0, false
	case policy == oobClamp:
		return min(max(k, 0), n-1), true
	case policy == oobWrap:
		return int(floorMod(int64(k), int64(n))), true
	}
	m.fail(s, CodeBounds, "index %d is out of range for %d", k, n)
	return 0, false
}

// flatOff is the place of element k in row-major order of r's shape.
func flatOff(r *region, k int) int {
	off := r.off
	for a := r.rank - 1; a >= 0; a-- {
		n := r.shape[a]
		off += k % n * r.stride[a]
		k /= n
	}
	return off
}

// buildMgather picks elements by flat index, or whole rows (coalesce 1), from a tensor.
func buildMgather(o *opCtx) evalFn {
	src, idx := o.reg(0), o.reg(1)
	var asked []intExpr
	if o.has(3) {
		asked = o.list(3)
	}
	rowsOnly, policy := o.kwInt("coalesce", 0) == 1, o.kwInt("gather_oob", oobUndefined)
	return func(m *machine, out *region) {
		t, x := &m.regs[src], &m.regs[idx]
		if !m.need(o.site, x) {
			return
		}
		var it rows
		if !rowsOnly {
			want := x.valid
			if asked != nil {
				want = evalDims(m, asked)
			}
			if m.err != nil || !within(x.rank, &want, &x.valid) {
				m.fail(o.site, CodeShape, "indices valid in %v do not cover %v", show(x.valid, x.rank), show(want, x.rank))
				return
			}
			m.fresh(out, o.dt, x.rank, &x.shape, &want)
			it.start(x.rank, &want, true, &out.operand, &x.operand)
			total := t.elems()
			for it.next() {
				for j, k := range m.fetchI(x, it.off[1], it.n, it.in[1], &m.i[0]) {
					at, ok := m.outOfRange(o.site, int(k), total, policy)
					if m.err != nil {
						return
					}
					m.copyElem(out, it.off[0]+j, t, flatOff(t, at), ok)
				}
			}
			out.st.define(out)
			return
		}
		if t.rank == 0 {
			m.fail(o.site, CodeShape, "a scalar has no rows")
			return
		}
		cols := t.shape[t.rank-1]
		n := t.elems() / max(cols, 1)
		shape := dims{x.elems(), cols}
		valid := dims{product(x.rank, &x.valid), cols}
		m.fresh(out, o.dt, 2, &shape, &valid)
		it.start(x.rank, &x.valid, false, &x.operand)
		row := 0
		for it.next() {
			ids := slices.Clone(m.fetchI(x, it.off[0], it.n, it.in[0], &m.i[0]))
			for _, k := range ids {
				at, ok := m.outOfRange(o.site, int(k), n, policy)
				if m.err != nil {
					return
				}
				for c := range cols {
					m.copyElem(out, row*cols+c, t, flatOff(t, at*cols+c), ok)
				}
				row++
			}
		}
		out.st.define(out)
		if asked != nil {
			want := evalDims(m, asked)
			if m.err != nil || len(asked) != 2 || !within(2, &want, &out.valid) {
				m.fail(o.site, CodeShape, "rows valid in %v do not cover %v", show(out.valid, 2), show(want, len(asked)))
				return
			}
			out.valid = want
		}
	}
}

// copyElem copies one element into a fresh result; not ok means 0.
func (m *machine) copyElem(out *region, to int, r *region, from int, ok bool) {
	switch {
	case isFloat(out.dt):
		out.st.f[to] = 0
		if ok {
			out.st.f[to] = roundTo(m.elemF(r, from), out.dt)
		}
	case ok:
		out.st.i[to] = wrap(m.elemI(r, from), out.dt)
	default:
		out.st.i[to] = 0
	}
}

// buildMscatter writes elements to flat indices of a tensor, in row-major order (the later of two wins).
func buildMscatter(o *opCtx) evalFn {
	src, idx, dst := o.reg(0), o.reg(1), o.reg(2)
	return func(m *machine, out *region) {
		s, x, d := &m.regs[src], &m.regs[idx], &m.regs[dst]
		*out = *d
		if !m.need(o.site, s) || !m.need(o.site, x) || !m.sameExtents(o.site, x, s) {
			return
		}
		total := d.elems()
		var it rows
		it.start(s.rank, &s.valid, false, &s.operand, &x.operand)
		for it.next() {
			for j := range it.n {
				k := int(m.elemI(x, it.off[1]+j*it.in[1]))
				if k < 0 || k >= total {
					m.fail(o.site, CodeBounds, "index %d is out of range for %d elements", k, total)
					return
				}
				if isFloat(d.dt) {
					m.setF(d, flatOff(d, k), m.elemF(s, it.off[0]+j*it.in[0]))
				} else {
					m.setI(d, flatOff(d, k), m.elemI(s, it.off[0]+j*it.in[0]))
				}
			}
		}
	}
}
