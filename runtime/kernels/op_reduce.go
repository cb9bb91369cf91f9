package kernels

import (
	"strings"

	"github.com/ptobuild/ptobuild/ir"
)

var reduceOps = func() map[string]func(o *opCtx) evalFn {
	t := map[string]func(o *opCtx) evalFn{}
	for _, kind := range [...]string{"sum", "max", "min", "prod"} {
		t["row_"+kind], t["col_"+kind] = buildRowReduce, buildColReduce
	}
	for _, kind := range [...]string{"argmax", "argmin"} {
		t["row_"+kind], t["col_"+kind] = buildRowArg, buildColArg
	}
	return t
}()

func reduceKind(o *opCtx) string { return o.leaf[strings.IndexByte(o.leaf, '_')+1:] }

// reducedShape gives the packed result region of a reduction over an axis, and how the walk over the operand steps through it.
func (m *machine) reducedShape(o *opCtx, r *region, axis int, keep bool, out *region) (operand, bool) {
	if axis < 0 {
		m.fail(o.site, CodeShape, "a tile of shape %v has no such axis", shapeOf(r))
		return operand{}, false
	}
	if r.valid[axis] == 0 {
		m.fail(o.site, CodeShape, "cannot reduce an empty region: axis %d of %v has no valid elements", axis, shapeOf(r))
		return operand{}, false
	}
	shape, valid := r.shape, r.valid
	shape[axis], valid[axis] = 1, 1
	m.fresh(out, o.dt, r.rank, &shape, &valid)
	p := out.operand
	p.stride[axis] = 0
	if !keep {
		out.dropAxis(axis)
	}
	return p, true
}

func (o *opCtx) keepDim() bool {
	v, ok := o.call.Kwargs.Get("keep_dim")
	return !ok || v != false
}

// buildRowReduce reduces each row over its valid columns, in order. Sums of narrow floats are rounded once.
func buildRowReduce(o *opCtx) evalFn {
	kind, keep := reduceKind(o), o.keepDim()
	x := o.reg(0)
	fold := map[string]func(*machine, ir.DType, []float64) float64{"sum": sumF, "max": maxOf, "min": minOf, "prod": prodF}[kind]
	foldI := map[string]func(int64, int64) int64{
		"sum": func(a, b int64) int64 { return a + b }, "prod": func(a, b int64) int64 { return a * b },
		"max": func(a, b int64) int64 { return max(a, b) }, "min": func(a, b int64) int64 { return min(a, b) },
	}[kind]
	return func(m *machine, out *region) {
		r := &m.regs[x]
		if !m.need(o.site, r) {
			return
		}
		p, ok := m.reducedShape(o, r, r.rank-1, keep, out)
		if !ok {
			return
		}
		var it rows
		it.start(r.rank, &r.valid, false, &p, &r.operand)
		for it.next() {
			if isFloat(o.dt) {
				out.st.f[it.off[0]] = m.round(fold(m, o.dt, m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0])), o.dt)
				continue
			}
			xs := m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0])
			acc := xs[0]
			for _, v := range xs[1:] {
				acc = foldI(acc, v)
			}
			out.st.i[it.off[0]] = wrap(acc, o.dt)
		}
		out.st.define(out)
	}
}

// sumF and prodF round after each step to single precision, in which a device accumulates.
func sumF(m *machine, d ir.DType, x []float64) float64 {
	acc := x[0]
	if m.double || d == ir.FP64 {
		for _, v := range x[1:] {
			acc += v
		}
		return acc
	}
	for _, v := range x[1:] {
		acc = float64(float32(acc + v))
	}
	return acc
}

func prodF(m *machine, d ir.DType, x []float64) float64 {
	acc := x[0]
	if m.double || d == ir.FP64 {
		for _, v := range x[1:] {
			acc *= v
		}
		return acc
	}
	for _, v := range x[1:] {
		acc = float64(float32(acc * v))
	}
	return acc
}

func maxOf(_ *machine, _ ir.DType, x []float64) float64 {
	acc := x[0]
	for _, v := range x[1:] {
		acc = maxF(acc, v)
	}
	return acc
}

func minOf(_ *machine, _ ir.DType, x []float64) float64 {
	acc := x[0]
	for _, v := range x[1:] {
		acc = minF(acc, v)
	}
	return acc
}

// buildColReduce reduces each column over the valid rows, row by row in the dtype.
func buildColReduce(o *opCtx) evalFn {
	keep := o.keepDim()
	b := binaries[map[string]string{"sum": "add", "max": "maximum", "min": "minimum", "prod": "mul"}[reduceKind(o)]]
	x := o.reg(0)
	return func(m *machine, out *region) {
		r := &m.regs[x]
		if !m.need(o.site, r) {
			return
		}
		axis := r.rank - 2
		p, ok := m.reducedShape(o, r, axis, keep, out)
		if !ok {
			return
		}
		var it rows
		it.start(r.rank, &r.valid, false, &p, &r.operand)
		for it.next() {
			if isFloat(o.dt) {
				d, xs := out.st.f[it.off[0]:it.off[0]+it.n], m.fetchF(r, it.off[1], it.n, it.in[1], &m.f[0])
				if it.idx[axis] == 0 {
					copy(d, xs)
				} else {
					b.f(d, d, xs)
					m.roundRow(d, o.dt)
				}
				continue
			}
			d, xs := out.st.i[it.off[0]:it.off[0]+it.n], m.fetchI(r, it.off[1], it.n, it.in[1], &m.i[0])
			if it.idx[axis] == 0 {
				copy(d, xs)
			} else {
				b.i(d, d, xs)
				wrapRow(d, o.dt)
			}
		}
		out.st.define(out)
	}
}

// better reports a new extreme: strictly beyond the one so far.
func better(kind string) func(v, best float64) bool {
	if kind == "argmax" {
		return func(v, best float64) bool { return v > best }
	}
	return func(v, best float64) bool { return v < best }
}

// buildRowArg: the first column of the extreme of each row.
func buildRowArg(o *opCtx) evalFn {
	wins, keep := better(reduceKind(o)), o.keepDim()
	x := o.reg(0)
	return func(m *machine, out *region) {
		r := &m.regs[x]
		if !m.need(o.site, r) {
			return
		}
		p, ok := m.reducedShape(o, r, r.rank-1, keep, out)
		if !ok {
			return
		}
		var it rows
		it.start(r.rank, &r.valid, false, &p, &r.operand)
		for it.next() {
			xs := m.fetchD(r, it.off[1], it.n, it.in[1])
			at := 0
			for j, v := range xs {
				if wins(v, xs[at]) {
					at = j
				}
			}
			out.st.i[it.off[0]] = int64(at)
		}
		out.st.define(out)
	}
}

// buildColArg: the first row of the extreme of each column.
func buildColArg(o *opCtx) evalFn {
	wins, keep := better(reduceKind(o)), o.keepDim()
	x := o.reg(0)
	return func(m *machine, out *region) {
		r := &m.regs[x]
		if !m.need(o.site, r) {
			return
		}
		axis := r.rank - 2
		p, ok := m.reducedShape(o, r, axis, keep, out)
		if !ok {
			return
		}
		var it rows
		it.start(r.rank, &r.valid, false, &p, &r.operand)
		for it.next() {
			xs := m.fetchD(r, it.off[1], it.n, it.in[1])
			best := grow(&m.d[1], it.n)
			d := out.st.i[it.off[0] : it.off[0]+it.n]
			if it.idx[axis] == 0 {
				copy(best, xs)
				clear(d)
				continue
			}
			for j, v := range xs {
				if wins(v, best[j]) {
					best[j], d[j] = v, int64(it.idx[axis])
				}
			}
		}
		out.st.define(out)
	}
}

// fetchD reads a run as doubles, which hold every element value but the largest 64-bit integers exactly.
func (m *machine) fetchD(r *region, off, n, stride int) []float64 {
	d := grow(&m.d[0], n)
	if isFloat(r.dt) {
		copy(d, m.fetchF(r, off, n, stride, &m.f[0]))
		return d
	}
	for j, v := range m.fetchI(r, off, n, stride, &m.i[0]) {
		d[j] = asFloat(v, r.dt)
	}
	return d
}
