package kernels

import (
	"iter"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// The lanes of a mixed task: one cube core and one or two vector cores that exchange tiles through pipes. Each lane runs until it has to wait for a tile;
// then the next one goes on.

var laneOps = map[string]func(o *opCtx) evalFn{
	"aiv_shard": buildShard, "aic_gather": buildLaneGather,
	"tpush_to_aiv": buildPushToVector, "tpush_to_aic": buildPushToCube, "tpop_from_aic": buildPop, "tpop_from_aiv": buildPop,
}

// pipes are the tiles on their way between the lanes of one block: from the cube core to each vector lane, and back.
type pipes struct {
	toVector, toCube [2][]region
	lanes            int // vector lanes
	moves            int // pushes and pops so far
}

// RunCluster runs the lanes of one block of a mixed task together.
func (r *Runner) RunCluster(mem *sim.Memory, calls []sim.KernelCall) error {
	var lanes []int
	p := &pipes{}
	r.lanes[0].pool = &r.pool
	for i := range calls {
		e, err := r.lookup(&calls[i])
		if err != nil {
			return err
		}
		if calls[i].Lane > 0 && r.hasOtherHalf(e) && calls[0].Lane == 0 {
			calls[i].Track()
			calls[i].Work = sim.Work{Ops: 1}
			continue // the first lane runs the whole body
		}
		if calls[i].Lane > 0 {
			p.lanes++
		}
		lanes = append(lanes, i)
	}
	if len(lanes) == 1 {
		c := &calls[lanes[0]]
		return r.exec(r.table[c.Kernel].k, mem, c, nil)
	}
	type running struct {
		next func() (struct{}, bool)
		stop func()
		done bool
	}
	var failure error
	run := make([]running, len(lanes))
	for i, l := range lanes {
		c := &calls[l]
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			r.lanes[min(max(c.Lane, 0), 2)].waitPipe = func() bool { return yield(struct{}{}) }
			if err := r.exec(r.table[c.Kernel].k, mem, c, p); err != nil && failure == nil {
				failure = err
			}
		})
		run[i] = running{next: next, stop: stop}
	}
	defer func() {
		for _, l := range run {
			l.stop()
		}
		for q := range 2 {
			for _, t := range p.toVector[q] {
				r.lanes[0].release(t.st)
			}
			for _, t := range p.toCube[q] {
				r.lanes[0].release(t.st)
			}
		}
	}()
	for left := len(run); left > 0; {
		before, ended := p.moves, 0
		for i := range run {
			if run[i].done {
				continue
			}
			if _, more := run[i].next(); !more {
				run[i].done = true
				ended++
			}
			if failure != nil {
				return failure
			}
		}
		left -= ended
		if left > 0 && ended == 0 && p.moves == before {
			waiting := lanes[:0]
			for i := range run {
				if !run[i].done {
					waiting = append(waiting, lanes[i])
				}
			}
			return r.deadlock(calls, waiting)
		}
	}
	return nil
}

// deadlock reports lanes that all wait for a tile that nobody sends, and where each of them waits.
func (r *Runner) deadlock(calls []sim.KernelCall, lanes []int) error {
	c := &calls[lanes[0]]
	m := machine{k: r.table[c.Kernel].k, call: c}
	m.fail(&site{pos: m.k.pos}, CodePipe, "all lanes of the task wait for a tile that no lane sends")
	d := m.err.(*diag.Diagnostic) // of fail
	for _, i := range lanes {
		lane := min(max(calls[i].Lane, 0), 2)
		if at := r.lanes[lane].at; at != nil {
			d.WithRelated(at.pos, "the %s waits here, in %s", [...]string{"cube core", "first vector core", "second vector core"}[lane], at.op)
		}
	}
	return d
}

// splitAxis is the axis that a split mode divides: rows for 1 and 3, columns for 2 and 4.
func splitAxis(rank int, split int64) int {
	if split%2 != 0 {
		return rank - 2
	}
	return rank - 1
}

// half is one lane's part of a region, all of it for split 0.
func half(r region, split int64, lane int) (region, bool) {
	if split == 0 {
		return r, true
	}
	axis := splitAxis(r.rank, split)
	if axis < 0 || r.shape[axis]%2 != 0 {
		return r, false
	}
	n := r.shape[axis] / 2
	r.shape[axis] = n
	r.off += lane * n * r.stride[axis]
	r.valid[axis] = min(max(r.valid[axis]-lane*n, 0), n)
	return r, true
}

func buildShard(o *opCtx) evalFn {
	src, split := o.reg(0), o.kwInt("split", 0)
	return func(m *machine, out *region) {
		h, ok := half(m.regs[src], split, m.sub)
		if !ok {
			m.fail(o.site, CodeShape, "%v cannot be halved", shapeOf(&m.regs[src]))
			return
		}
		if !m.need(o.site, &h) {
			return
		}
		m.fresh(out, o.dt, h.rank, &h.shape, &h.valid)
		m.copyRows(out, &h, &h.operand)
		out.st.define(out)
	}
}

// buildLaneGather puts the halves of both lanes together. When one machine runs both lanes in turn, the second adds its half to what the first left.
func buildLaneGather(o *opCtx) evalFn {
	src, split := o.reg(0), o.kwInt("split", 0)
	keep := o.c.newSlot(&ir.TileType{}).i
	return func(m *machine, out *region) {
		r := &m.regs[src]
		if !m.need(o.site, r) {
			return
		}
		if split == 0 {
			m.fresh(out, o.dt, r.rank, &r.shape, &r.valid)
			m.copyRows(out, r, &r.operand)
			out.st.define(out)
			return
		}
		axis := splitAxis(r.rank, split)
		if axis < 0 {
			m.fail(o.site, CodeShape, "%v has no such axis", shapeOf(r))
			return
		}
		if m.sub == 0 || m.regs[keep].st == nil {
			shape, valid := r.shape, r.valid
			shape[axis] *= 2
			valid[axis] = shape[axis]
			m.fresh(out, o.dt, r.rank, &shape, &valid)
			m.set(keep, out)
		}
		whole := m.regs[keep]
		to := whole
		to.off += m.sub * r.shape[axis] * to.stride[axis]
		m.copyRegion(&to, r)
		*out = whole
	}
}

func (m *machine) noPipe(o *opCtx) bool {
	if m.pipes == nil {
		m.fail(o.site, CodePipe, "the other core of the pipe does not run with this kernel: it has to be launched as a mixed task")
		return true
	}
	return false
}

// push puts a copy of a region on a pipe.
func (m *machine) push(o *opCtx, q *[]region, r *region) {
	var t region
	m.fresh(&t, r.dt, r.rank, &r.shape, &r.valid)
	m.copyRows(&t, r, &r.operand)
	t.st.define(&t)
	t.st.refs++
	*q = append(*q, t)
	m.pipes.moves++
}

// buildPushToVector sends each vector lane its part.
func buildPushToVector(o *opCtx) evalFn {
	src, split := o.reg(0), o.kwInt("split", 0)
	return func(m *machine, out *region) {
		*out = region{}
		r := &m.regs[src]
		if m.noPipe(o) || !m.need(o.site, r) {
			return
		}
		for lane := range m.pipes.lanes {
			h, ok := half(*r, split, lane)
			if !ok {
				m.fail(o.site, CodeShape, "%v cannot be halved", shapeOf(r))
				return
			}
			m.push(o, &m.pipes.toVector[lane], &h)
		}
	}
}

func buildPushToCube(o *opCtx) evalFn {
	src := o.reg(0)
	return func(m *machine, out *region) {
		*out = region{}
		r := &m.regs[src]
		if m.noPipe(o) || !m.need(o.site, r) {
			return
		}
		m.push(o, &m.pipes.toCube[m.sub], r)
	}
}

// pop waits for the head of a queue and takes it.
func (m *machine) pop(q *[]region) (region, bool) {
	for len(*q) == 0 {
		if !m.waitPipe() {
			m.stop = stopReturn // the cluster ended, someone else has the reason
			return region{}, false
		}
	}
	t := (*q)[0]
	*q = (*q)[1:]
	m.pipes.moves++
	return t, true
}

// buildPop receives a tile: a vector lane its own, the cube core the parts of the lanes put together.
func buildPop(o *opCtx) evalFn {
	split, toVector := o.kwInt("split", 0), o.leaf == "tpop_from_aic"
	return func(m *machine, out *region) {
		if m.noPipe(o) {
			return
		}
		if toVector {
			t, ok := m.pop(&m.pipes.toVector[m.sub])
			if ok {
				t.st.refs--
				*out = t
			} else {
				m.fresh(out, ir.FP32, 0, &dims{}, &dims{})
			}
			return
		}
		first, ok := m.pop(&m.pipes.toCube[0])
		if !ok {
			m.fresh(out, ir.FP32, 0, &dims{}, &dims{})
			return
		}
		if split == 0 || m.pipes.lanes < 2 {
			first.st.refs--
			*out = first
			return
		}
		second, ok := m.pop(&m.pipes.toCube[1])
		axis := splitAxis(first.rank, split)
		if !ok || axis < 0 {
			m.release(first.st)
			m.fresh(out, ir.FP32, 0, &dims{}, &dims{})
			return
		}
		shape, valid := first.shape, first.valid
		shape[axis] *= 2
		valid[axis] += second.valid[axis]
		m.fresh(out, first.dt, first.rank, &shape, &valid)
		out.st.def = defNone
		to := *out
		m.copyRegion(&to, &first)
		to.off += first.shape[axis] * to.stride[axis]
		m.copyRegion(&to, &second)
		m.release(first.st)
		m.release(second.st)
	}
}
