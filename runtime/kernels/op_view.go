package kernels

import (
	"math"

	"github.com/ptobuild/ptobuild/ir"
)

var viewOps = map[string]func(o *opCtx) evalFn{
	"slice": buildSlice, "reshape": buildReshape, "transpose": buildTranspose, "transpose_view": buildTransposeView, "view": buildView,
	"set_validshape": buildSetValid, "reinterpret_view": buildReinterpret, "concat": buildConcat,
	"fillpad": buildFillpad, "fillpad_expand": buildFillpad, "fillpad_inplace": buildFillpadInplace, "tget_scale_addr": buildScaleAddr,
}

// buildSlice is a window of the same storage.
func buildSlice(o *opCtx) evalFn {
	src, sizes, offsets := o.reg(0), o.list(1), o.list(2)
	var valid []intExpr
	var drop []int64
	if o.has(3) {
		valid = o.list(3)
	}
	if o.has(4) {
		for _, e := range o.list(4) {
			drop = append(drop, e.c)
		}
	}
	clamp := o.kwBool("clamp")
	return func(m *machine, out *region) {
		r := m.regs[src]
		if len(sizes) != r.rank || len(offsets) != r.rank || valid != nil && len(valid) != r.rank {
			m.fail(o.site, CodeShape, "a window of %d axes in %d", len(sizes), r.rank)
			return
		}
		off, shape := evalDims(m, offsets), evalDims(m, sizes)
		want := shape
		if valid != nil {
			want = evalDims(m, valid)
		}
		if m.err != nil {
			return
		}
		for a := range r.rank {
			if clamp || r.valid[a] != r.shape[a] {
				want[a] = min(want[a], r.valid[a]-off[a])
			}
			want[a] = max(want[a], 0)
		}
		if !m.checkWindow(o.site, &r, &off, &want) {
			return
		}
		for a := range r.rank {
			r.off += off[a] * r.stride[a]
		}
		r.shape, r.valid = shape, want
		dropAxes(&r, drop)
		*out = r
	}
}

// dropAxes removes the named axes, which count from the end when negative.
func dropAxes(r *region, drop []int64) {
	rank := r.rank
	for a := rank - 1; a >= 0; a-- {
		for _, d := range drop {
			if int(d) == a || int(d)+rank == a {
				r.dropAxis(a)
				break
			}
		}
	}
}

// buildReshape renumbers elements: in place where the strides allow it, else in a packed copy.
func buildReshape(o *opCtx) evalFn {
	src, list := o.reg(0), o.list(1)
	var explicit []intExpr
	if o.has(2) && !o.isRegion(2) {
		explicit = o.list(2)
	}
	return func(m *machine, out *region) {
		shape := evalDims(m, list)
		var valid *dims
		if explicit != nil {
			v := evalDims(m, explicit)
			valid = &v
		}
		if m.err == nil {
			m.reshape(o, &m.regs[src], len(list), &shape, valid, out)
		}
	}
}

func (m *machine) reshape(o *opCtx, r *region, rank int, shape, explicit *dims, out *region) {
	if product(rank, shape) != r.elems() {
		m.fail(o.site, CodeShape, "%v has %d elements, %v has %d", shapeOf(r), r.elems(), show(*shape, rank), product(rank, shape))
		return
	}
	valid, ok := reshapedValid(r, rank, shape)
	if explicit != nil {
		valid, ok = *explicit, true
	}
	if !ok {
		m.fail(o.site, CodeShape, "the valid region %v of %v cannot be expressed in the shape %v", show(r.valid, r.rank), shapeOf(r), show(*shape, rank))
		return
	}
	v := *r
	v.rank, v.shape, v.valid = rank, *shape, valid
	if strides, ok := restride(r, rank, shape); ok {
		v.stride = strides
		*out = v
		return
	}
	// No strides express it: copy what is valid.
	if !m.need(o.site, r) {
		return
	}
	m.fresh(out, r.dt, r.rank, &r.shape, &r.valid)
	m.copyRows(out, r, &r.operand)
	out.st.define(out)
	if out.st.def == defBox {
		out.st.toBits()
	}
	out.rank, out.shape, out.valid = rank, *shape, valid
	out.pack()
}

// reshapedValid maps a valid region: all of it, the same shape, or a prefix of whole rows.
func reshapedValid(r *region, rank int, shape *dims) (dims, bool) {
	if r.isWhole() {
		return *shape, true
	}
	if rank == r.rank && sameFront(rank, shape, &r.shape) {
		return r.valid, true
	}
	lead := 0
	for lead < r.rank-1 && r.shape[lead] == 1 {
		lead++
	}
	tail := 1
	for a := lead + 1; a < r.rank; a++ {
		if r.valid[a] != r.shape[a] {
			return dims{}, false
		}
		tail *= r.shape[a]
	}
	to := 0
	for to < rank-1 && shape[to] == 1 {
		to++
	}
	row := 1
	for a := to + 1; a < rank; a++ {
		row *= shape[a]
	}
	count := r.valid[lead] * tail
	if row == 0 || count%row != 0 {
		return dims{}, false
	}
	valid := *shape
	valid[to] = count / row
	return valid, true
}

// restride finds strides for another shape of the same elements in the same order, by matching groups of axes whose products agree.
func restride(r *region, rank int, shape *dims) (dims, bool) {
	var out dims
	a, b := 0, 0
	for a < r.rank || b < rank {
		a0, b0 := a, b
		na, nb := 1, 1
		if a < r.rank {
			na = r.shape[a]
			a++
		}
		if b < rank {
			nb = shape[b]
			b++
		}
		for na != nb {
			switch {
			case na < nb && a < r.rank:
				na *= r.shape[a]
				a++
			case nb < na && b < rank:
				nb *= shape[b]
				b++
			default:
				return out, false
			}
		}
		// Axes a0..a of the source are one run of axes b0..b of the result: they must follow each other without a gap.
		step := 1
		for k, inner := a-1, -1; k >= a0; k-- {
			if r.shape[k] == 1 {
				continue
			}
			if inner >= 0 && r.stride[k] != r.stride[inner]*r.shape[inner] {
				return out, false
			}
			if inner < 0 {
				step = r.stride[k]
			}
			inner = k
		}
		for k := b - 1; k >= b0; k-- {
			out[k] = step
			step *= shape[k]
		}
	}
	return out, true
}

func swapAxes(r *region, a, b int) {
	r.shape[a], r.shape[b] = r.shape[b], r.shape[a]
	r.stride[a], r.stride[b] = r.stride[b], r.stride[a]
	r.valid[a], r.valid[b] = r.valid[b], r.valid[a]
}

// buildTranspose swaps two axes: of a tensor as a view, of a tile in a copy.
func buildTranspose(o *opCtx) evalFn {
	src, x, y := o.reg(0), o.intArg(1), o.intArg(2)
	var explicit []intExpr
	if o.has(3) && !o.isRegion(3) {
		explicit = o.list(3)
	}
	return func(m *machine, out *region) {
		r := m.regs[src]
		a, b := int(x.eval(m)), int(y.eval(m))
		if a < 0 {
			a += r.rank
		}
		if b < 0 {
			b += r.rank
		}
		if a < 0 || b < 0 || a >= r.rank || b >= r.rank {
			m.fail(o.site, CodeShape, "axes %d and %d of a tile of rank %d", a, b, r.rank)
			return
		}
		swapAxes(&r, a, b)
		if explicit != nil {
			r.valid = evalDims(m, explicit)
		}
		if !o.tile {
			*out = r
			return
		}
		if !m.need(o.site, &r) {
			return
		}
		m.fresh(out, o.dt, r.rank, &r.shape, &r.valid)
		m.copyRows(out, &r, &r.operand)
		out.st.define(out)
	}
}

func buildTransposeView(o *opCtx) evalFn {
	src := o.reg(0)
	return func(m *machine, out *region) {
		r := m.regs[src]
		if r.rank < 2 {
			m.fail(o.site, CodeShape, "needs 2 axes, got %v", shapeOf(&r))
			return
		}
		swapAxes(&r, r.rank-2, r.rank-1)
		*out = r
	}
}

// buildView is a reshape with a shape, and swaps the last two axes when the layout changes.
func buildView(o *opCtx) evalFn {
	src := o.reg(0)
	if o.has(1) {
		return buildReshape(o)
	}
	t, _ := o.call.Args[0].Type().(*ir.TensorType)
	old := "ND"
	if t != nil {
		old = ir.EffectiveTensorView(t).Layout
	}
	flip := o.kwEnum("layout", old) != old
	return func(m *machine, out *region) {
		r := m.regs[src]
		if flip {
			if r.rank < 2 {
				m.fail(o.site, CodeShape, "a layout change needs 2 axes, got %v", shapeOf(&r))
				return
			}
			swapAxes(&r, r.rank-2, r.rank-1)
		}
		*out = r
	}
}

func buildSetValid(o *opCtx) evalFn {
	src, x, y := o.reg(0), o.intArg(1), o.intArg(2)
	return func(m *machine, out *region) {
		r := m.regs[src]
		valid := dims{int(x.eval(m)), int(y.eval(m))}
		if m.err != nil {
			return
		}
		if r.rank != 2 || valid[0] < 0 || valid[1] < 0 || valid[0] > r.shape[0] || valid[1] > r.shape[1] {
			m.fail(o.site, CodeShape, "valid region %v of %v", show(valid, 2), shapeOf(&r))
			return
		}
		r.valid = valid
		*out = r
	}
}

// buildReinterpret reads the bytes of the valid rows as elements of another dtype, in a copy.
func buildReinterpret(o *opCtx) evalFn {
	src := o.reg(0)
	from, to := ir.ElemDType(o.call.Args[0].Type()), o.dt
	if !computable(from) || from == ir.BOOL || to == ir.BOOL {
		return o.unsupported(CodeDType, "the bytes of %s cannot be read as %s", from, to)
	}
	var list []intExpr
	if o.has(1) {
		list = o.list(1)
	}
	in, on := from.Bits(), to.Bits()
	return func(m *machine, out *region) {
		r := &m.regs[src]
		if !m.need(o.site, r) {
			return
		}
		if r.rank == 0 || r.shape[r.rank-1]*in%on != 0 || r.valid[r.rank-1]*in%on != 0 {
			m.fail(o.site, CodeShape, "rows of %v %s elements are no whole number of %s", shapeOf(r), from, to)
			return
		}
		shape, valid := r.shape, r.valid
		shape[r.rank-1], valid[r.rank-1] = shape[r.rank-1]*in/on, valid[r.rank-1]*in/on
		m.fresh(out, to, r.rank, &shape, &valid)
		po := out.operand
		po.stride[r.rank-1] = 0
		var it rows
		it.start(r.rank, &r.valid, false, &po, &r.operand)
		for it.next() {
			m.recode(r, it.off[1], it.n, it.in[1], out, it.off[0])
		}
		out.st.define(out)
		if list == nil {
			return
		}
		if want := evalDims(m, list); len(list) != out.rank || !sameFront(out.rank, &want, &out.shape) {
			v := *out
			m.reshape(o, &v, len(list), &want, nil, out)
		}
	}
}

// recode writes the bits of n elements of r as elements of out, the first in the low bits.
func (m *machine) recode(r *region, off, n, stride int, out *region, to int) {
	in, on := r.dt.Bits(), out.dt.Bits()
	var word uint64
	have := 0
	for j := range n {
		var w uint64
		switch {
		case r.dt == ir.FP64:
			w = math.Float64bits(m.elemF(r, off+j*stride))
		case isFloat(r.dt):
			w = uint64(code(m.elemF(r, off+j*stride), r.dt))
		default:
			w = uint64(m.elemI(r, off+j*stride)) & (math.MaxUint64 >> (64 - in))
		}
		word |= w << have
		for have += in; have >= on; have -= on {
			w := word & (math.MaxUint64 >> (64 - on))
			switch {
			case out.dt == ir.FP64:
				out.st.f[to] = math.Float64frombits(w)
			case isFloat(out.dt):
				out.st.f[to] = decode(uint32(w), out.dt)
			default:
				out.st.i[to] = wrap(int64(w), out.dt)
			}
			to++
			word >>= on // 0 for 64
		}
	}
}

// buildConcat: the valid columns of both, the second after the first.
func buildConcat(o *opCtx) evalFn {
	x, y := o.reg(0), o.reg(1)
	return func(m *machine, out *region) {
		a, b := &m.regs[x], &m.regs[y]
		if !m.need(o.site, a) || !m.need(o.site, b) {
			return
		}
		if a.rank != 2 || b.rank != 2 || a.valid[0] != b.valid[0] {
			m.fail(o.site, CodeShape, "%v and %v cannot stand side by side", show(a.valid, a.rank), show(b.valid, b.rank))
			return
		}
		shape, valid := a.shape, a.valid
		shape[1] += b.shape[1]
		valid[1] += b.valid[1]
		m.fresh(out, o.dt, 2, &shape, &valid)
		left, right := *out, *out
		right.off += a.valid[1]
		left.valid, right.valid = a.valid, b.valid
		m.copyRows(&left, a, &a.operand)
		m.copyRows(&right, b, &b.operand)
		out.st.define(out)
	}
}

// buildFillpad copies the valid region and fills the rest of the (new) shape.
func buildFillpad(o *opCtx) evalFn {
	src := o.reg(0)
	f, i := extreme(o.kwEnum("pad_value", "zero"), o.dt)
	var list []intExpr
	if o.leaf == "fillpad_expand" {
		list = o.list(1)
	}
	return func(m *machine, out *region) {
		r := &m.regs[src]
		if !m.need(o.site, r) {
			return
		}
		shape := r.shape
		if list != nil {
			shape = evalDims(m, list)
			for a := range r.rank {
				if len(list) != r.rank || shape[a] < r.valid[a] {
					m.fail(o.site, CodeShape, "%v does not fit into %v", show(r.valid, r.rank), show(shape, len(list)))
					return
				}
			}
		}
		m.fresh(out, o.dt, r.rank, &shape, &r.valid)
		fill(out.st, f, i)
		m.copyRows(out, r, &r.operand)
		out.valid, out.st.def = shape, defAll
	}
}

// extreme is the value of a pad: the end of the dtype's range.
func extreme(pad string, d ir.DType) (f float64, i int64) {
	lo, hi := int64(0), int64(0)
	if !isFloat(d) {
		lo, hi = limits(d)
	}
	switch pad {
	case "min":
		return roundTo(math.Inf(-1), d), lo
	case "max":
		return roundTo(math.Inf(1), d), hi
	}
	return 0, 0
}

func fill(s *store, f float64, i int64) {
	for j := range s.f {
		s.f[j] = f
	}
	for j := range s.i {
		s.i[j] = i
	}
}

// buildFillpadInplace fills everything outside the valid region of the tile itself.
func buildFillpadInplace(o *opCtx) evalFn {
	src := o.reg(0)
	f, i := extreme(o.kwEnum("pad_value", "zero"), o.dt)
	return func(m *machine, out *region) {
		r := m.regs[src]
		if !m.need(o.site, &r) {
			return
		}
		var it rows
		it.start(r.rank, &r.shape, false, &r.operand)
		for it.next() {
			from := 0
			inside := true
			for a := range r.rank - 1 {
				inside = inside && it.idx[a] < r.valid[a]
			}
			if inside {
				from = r.valid[r.rank-1]
			}
			for j := from; j < it.n; j++ {
				if isFloat(r.dt) {
					m.setF(&r, it.off[0]+j*it.in[0], f)
				} else {
					m.setI(&r, it.off[0]+j*it.in[0], i)
				}
			}
		}
		r.valid = r.shape
		*out = r
	}
}

// buildScaleAddr ties a scale tile to its tile; for the values that is a no-op.
func buildScaleAddr(o *opCtx) evalFn {
	src := o.reg(0)
	return func(m *machine, out *region) { *out = m.regs[src] }
}
