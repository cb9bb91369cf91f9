package kernels

import (
	"cmp"
	"math"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// Sorting works on pairs (value, index), descending. A pair is two neighbouring FP32 elements; the second holds the bits of the index.

var sortOps = map[string]func(o *opCtx) evalFn{"sort32": buildSort32, "mrgsort_format1": buildMerge1, "mrgsort_format2": buildMerge2}

func (o *opCtx) wantFP32() bool {
	if o.dt != ir.FP32 {
		o.unsupported(CodeDType, "sorts FP32 values only, not %s: a pair needs 8 bytes", o.dt)
		return false
	}
	return true
}

// buildSort32 sorts each 32 columns of each row by value, ties by index.
func buildSort32(o *opCtx) evalFn {
	src, idx := o.reg(0), o.reg(1)
	if !o.wantFP32() {
		return nil
	}
	type pair struct {
		v  float64
		id int64
	}
	return func(m *machine, out *region) {
		x, k := &m.regs[src], &m.regs[idx]
		if !m.need(o.site, x) || !m.need(o.site, k) {
			return
		}
		n := x.rank - 1
		if n < 0 || k.rank != x.rank || k.valid[n] < x.valid[n] {
			m.fail(o.site, CodeShape, "indices %v for values %v", show(k.valid, k.rank), show(x.valid, x.rank))
			return
		}
		shape, valid := x.shape, x.valid
		shape[n], valid[n] = 2*shape[n], 2*valid[n]
		m.fresh(out, o.dt, x.rank, &shape, &valid)
		pk := k.operand
		for a := range n { // one row of indices may serve all rows
			if k.shape[a] == 1 {
				pk.stride[a] = 0
			} else if k.valid[a] < x.valid[a] {
				m.fail(o.site, CodeShape, "indices %v for values %v", show(k.valid, k.rank), show(x.valid, x.rank))
				return
			}
		}
		var it rows
		p := blockOperand(out, 2)
		it.start(x.rank, &x.valid, false, &p, &x.operand, &pk)
		var pairs [32]pair
		for it.next() {
			vs, ids := m.fetchF(x, it.off[1], it.n, it.in[1], &m.f[0]), m.fetchI(k, it.off[2], it.n, it.in[2], &m.i[0])
			for from := 0; from < it.n; from += 32 {
				p := pairs[:min(32, it.n-from)]
				for j := range p {
					p[j] = pair{vs[from+j], ids[from+j]}
				}
				slices.SortStableFunc(p, func(a, b pair) int { return cmp.Or(cmp.Compare(b.v, a.v), cmp.Compare(a.id, b.id)) })
				for j, q := range p {
					at := it.off[0] + 2*(from+j)
					out.st.f[at], out.st.f[at+1] = q.v, float64(math.Float32frombits(uint32(q.id)))
				}
			}
		}
		out.st.define(out)
	}
}

// run is a sorted list of pairs inside of a row.
type run struct{ x []float64 }

// mergeRuns merges runs into d; of equal values the earlier run goes first. With exhausted it stops when one run is empty. It gives the
// number of elements written.
func mergeRuns(d []float64, runs []run, exhausted bool) int {
	n := 0
	for {
		best := -1
		for i := range runs {
			if len(runs[i].x) < 2 {
				if exhausted {
					return n
				}
				continue
			}
			if best < 0 || runs[i].x[0] > runs[best].x[0] {
				best = i
			}
		}
		if best < 0 {
			return n
		}
		d[n], d[n+1] = runs[best].x[0], runs[best].x[1]
		n += 2
		runs[best].x = runs[best].x[2:]
	}
}

// buildMerge1 merges each group of four consecutive runs of block_len elements of a row.
func buildMerge1(o *opCtx) evalFn {
	src, block := o.reg(0), o.intArg(1)
	if !o.wantFP32() {
		return nil
	}
	return func(m *machine, out *region) {
		x, n := &m.regs[src], int(block.eval(m))
		if !m.need(o.site, x) {
			return
		}
		if n < 2 || n%2 != 0 || x.rank == 0 {
			m.fail(o.site, CodeShape, "runs of %d elements are no pairs", n)
			return
		}
		m.fresh(out, o.dt, x.rank, &x.shape, &x.valid)
		var it rows
		it.start(x.rank, &x.valid, false, &out.operand, &x.operand)
		var runs [4]run
		for it.next() {
			vs := m.fetchF(x, it.off[1], it.n, it.in[1], &m.f[0])
			for from := 0; from < it.n; from += 4 * n {
				group := vs[from:min(from+4*n, it.n)]
				k := 0
				for at := 0; at < len(group); at += n {
					runs[k] = run{group[at:min(at+n, len(group))]}
					k++
				}
				mergeRuns(out.st.f[it.off[0]+from:], runs[:k], false)
			}
		}
		out.st.define(out)
	}
}

// buildMerge2 merges the rows of two to four operands. Of a tile op the last operand is scratch.
func buildMerge2(o *opCtx) evalFn {
	n := len(o.call.Args)
	if o.tile {
		n--
	}
	if n < 2 || n > 4 || !o.wantFP32() {
		return o.unsupported(CodeShape, "merges two to four lists, got %d", n)
	}
	srcs := make([]int, n)
	for i := range srcs {
		srcs[i] = o.reg(i)
	}
	exhausted := o.kwBool("exhausted")
	return func(m *machine, out *region) {
		first := &m.regs[srcs[0]]
		if first.rank == 0 {
			m.fail(o.site, CodeShape, "a scalar is no list")
			return
		}
		axis := first.rank - 1
		shape, valid := first.shape, first.valid
		for i, s := range srcs {
			r := &m.regs[s]
			if !m.need(o.site, r) {
				return
			}
			if r.rank != first.rank || product(axis, &r.valid) != product(axis, &first.valid) {
				m.fail(o.site, CodeShape, "lists of shapes %v and %v", shapeOf(first), shapeOf(r))
				return
			}
			if i > 0 {
				shape[axis] += r.shape[axis]
				valid[axis] += r.valid[axis]
			}
		}
		m.fresh(out, o.dt, first.rank, &shape, &valid)
		clear(out.st.f)
		var runs [4]run
		rowsN := product(axis, &valid)
		for q := range rowsN {
			for i, s := range srcs {
				r := &m.regs[s]
				off := r.off
				for a, k := axis-1, q; a >= 0; a-- {
					off += k % r.valid[a] * r.stride[a]
					k /= r.valid[a]
				}
				runs[i] = run{m.fetchF(r, off, r.valid[axis], r.stride[axis], &m.f[i])}
			}
			at := 0
			for a, k := axis-1, q; a >= 0; a-- {
				at += k % valid[a] * out.stride[a]
				k /= valid[a]
			}
			mergeRuns(out.st.f[at:], runs[:n], exhausted)
		}
		out.st.define(out)
	}
}
