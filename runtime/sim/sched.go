package sim

import (
	"cmp"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// The scheduler. Tasks run when the orchestration waits for something, and at the end: as late as it allows. Under a timed policy they run in the order
// of the virtual clock, which knows nothing of that; under the others one by one, in the policy's order.

// publish arms the task: it becomes ready when its last producer finishes, at once when none is left.
func (r *Runtime) publish(t *task) {
	t.readyAt = r.machine.host
	for _, p := range t.producers {
		if p.done {
			t.readyAt = max(t.readyAt, p.finish)
			t.depth = max(t.depth, p.depth)
			continue
		}
		p.fanout = r.edges.add(t, p.fanout)
		t.pending++
	}
	if t.pending == 0 {
		r.makeReady(t)
		r.retireInline()
	}
}

func (r *Runtime) makeReady(t *task) {
	switch {
	case t.kind == KindDummy:
		r.inline = append(r.inline, t)
	case !r.cfg.Policy.timed():
		r.ready.push(t)
	case t.readyAt > r.machine.now:
		r.arrivals.push(t)
	default:
		r.admit(t)
	}
}

// admit puts a task whose time has come into the queue of its shape. Cohorts that start together go before all others.
func (r *Runtime) admit(t *task) {
	if t.sync && t.blocks > 1 {
		r.cohorts.push(t)
	} else {
		r.shapes[shapeOf(t.kernels)].push(t)
	}
}

// turn lets tasks run between two calls of the orchestration, as the policy has it.
func (r *Runtime) turn() {
	switch r.cfg.Policy {
	case Sequential:
		r.drain()
	case Random:
		for r.ready.len() > 0 && r.fatal == nil && r.rng.IntN(2) == 0 {
			r.step()
		}
	}
}

// drain runs everything that is left.
func (r *Runtime) drain() {
	for r.step() {
	}
}

// step runs a task, or lets virtual time pass up to the next event; false when nothing is left to do.
func (r *Runtime) step() bool {
	if r.fatal != nil {
		return false
	}
	if r.cfg.Policy.timed() {
		return r.startTasks() || r.fatal == nil && r.advance()
	}
	t := r.ready.pop()
	if t == nil {
		return false
	}
	r.runAlone(t)
	r.retireInline()
	return true
}

// waitFor runs tasks until t has finished. It always can: tasks only wait for earlier ones.
func (r *Runtime) waitFor(t *task) {
	for !t.done && r.step() {
	}
	r.machine.host = max(r.machine.host, t.finish)
}

// runAlone runs a task on a machine that is idle otherwise, block after block.
func (r *Runtime) runAlone(t *task) {
	m := &r.machine
	m.now = max(m.now, t.readyAt)
	if r.skip(t) || !r.runKernels(t) {
		return
	}
	t.start = m.now
	lanes := t.lanes()
	for b := range int(t.blocks) {
		longest := uint64(0)
		for lane, i := 0, 0; lane < len(t.kernels); lane++ {
			if t.kernels[lane] < 0 {
				continue
			}
			d := t.times[b*lanes+i]
			i++
			longest = max(longest, d)
			r.ran(t, b, lane, max(lane-1, 0), m.now, m.now+d)
		}
		m.now += longest
	}
	t.finish = m.now
	r.complete(t, false)
}

// startTasks starts all blocks for which there are cores, and runs their kernels; false when there was nothing to start or to skip.
func (r *Runtime) startTasks() bool {
	placed, skipped, again := false, false, true
	for again {
		again = false
		holdAIC, holdAIV := false, false // for a cohort that waits for enough cores
		for t := r.cohorts.first(); t != nil; t = r.cohorts.first() {
			if r.skip(t) {
				r.cohorts.pop()
				again, skipped = true, true
				continue
			}
			if !r.machine.fits(t) {
				s := shapeOf(t.kernels)
				holdAIC, holdAIV = t.kernels[0] >= 0, s != shapeAIC
				break
			}
			r.cohorts.pop()
			r.place(t)
			placed = true
		}
		for s := range r.shapes {
			if s := shape(s); holdAIC && s != shapeAIV || holdAIV && s != shapeAIC {
				continue
			}
			q := &r.shapes[s]
			for t := q.first(); t != nil; t = q.first() {
				if t.placed == 0 && r.skip(t) {
					q.pop()
					again, skipped = true, true
					continue
				}
				before := t.placed
				all := r.place(t)
				placed = placed || t.placed > before
				if !all {
					break
				}
				q.pop()
			}
		}
		r.retireInline()
	}
	return placed && r.runPlaced() || skipped && r.fatal == nil
}

// place gives cores to the blocks of t that have none yet; false when there are not enough.
func (r *Runtime) place(t *task) bool {
	if t.placed == 0 {
		t.start = r.machine.now
	}
	for t.placed < t.blocks {
		core := r.machine.reserve(t)
		if core < 0 {
			return false
		}
		if t.placed == 0 {
			r.started = append(r.started, t)
		}
		r.placedNow = append(r.placedNow, placement{t, t.placed, int32(core)})
		t.placed++
	}
	return true
}

// placement is a block with its core: the number within its kind, or of the cluster for a mixed task.
type placement struct {
	t           *task
	block, core int32
}

// runPlaced runs the kernels of the tasks that have just been started and enters the ends of the blocks that have just been placed.
func (r *Runtime) runPlaced() bool {
	ok := r.runAll(r.started)
	m := &r.machine
	for _, p := range r.placedNow {
		if !ok {
			break
		}
		t, i, lanes := p.t, 0, p.t.lanes()
		for lane, id := range t.kernels {
			if id < 0 {
				continue
			}
			core := int(p.core)
			if lane > 0 && shapeOf(t.kernels) == shapeMix {
				core = 2*core + lane - 1
			}
			end := m.now + t.times[int(p.block)*lanes+i]
			i++
			m.launched++
			t.running++
			m.running.push(event{end, m.launched, t, int32(core), lane == 0})
			r.ran(t, int(p.block), lane, core, m.now, end)
		}
	}
	r.started, r.placedNow = r.started[:0], r.placedNow[:0]
	return ok
}

// advance moves the clock to the next event: the end of a block, or the time at which a task becomes ready.
func (r *Runtime) advance() bool {
	m := &r.machine
	next := r.arrivals.next()
	if len(m.running) == 0 && next == nil {
		return false
	}
	if len(m.running) > 0 && (next == nil || m.running[0].at <= next.readyAt) {
		m.now = m.running[0].at
	} else {
		m.now = next.readyAt
	}
	for len(m.running) > 0 && m.running[0].at == m.now {
		e := m.running.pop()
		m.free(&e)
		if e.t.running--; e.t.running == 0 && e.t.placed == e.t.blocks {
			e.t.finish = m.now
			r.complete(e.t, false)
		}
	}
	for t := r.arrivals.next(); t != nil && t.readyAt <= m.now; t = r.arrivals.next() {
		r.arrivals.drop(t)
		r.admit(t)
	}
	r.retireInline()
	return true
}

// skip retires a task whose predicate is false.
func (r *Runtime) skip(t *task) bool {
	if !t.pred.on {
		return false
	}
	v := r.operand(&t.pred)
	runs := t.pred.holds(v)
	if t.operand == 0 {
		r.operands = append(r.operands, Operand{})
		t.operand = int32(len(r.operands))
	}
	r.operands[t.operand-1] = Operand{int(t.ordinal), t.site, v, runs} // the last time counts
	if runs {
		return false
	}
	t.start, t.finish = r.machine.now, r.machine.now
	r.stats.Skipped++
	if r.graph != nil {
		r.graph.nodeOf(t).Exact = true // it touched nothing
	}
	r.complete(t, true)
	return true
}

// Operand is what the scheduler read for the predicate of a task, at its dispatch.
type Operand struct {
	Task  int
	Site  Site
	Value int64
	Runs  bool
}

// Operands lists what the predicates of a run read, by task.
func (r *Runtime) Operands() []Operand {
	return slices.SortedFunc(slices.Values(r.operands), func(a, b Operand) int { return cmp.Compare(a.Task, b.Task) })
}

// operand reads the element that a predicate is about: its bits are sign-extended whatever its type, as the scheduler does.
func (r *Runtime) operand(p *predicate) int64 {
	b := r.mem.Bytes(p.addr, uint64(p.dtype.Bytes()))
	v := int64(load(b))
	shift := 64 - 8*len(b)
	return v << shift >> shift
}

func (p *predicate) holds(v int64) bool {
	c := cmp.Compare(v, p.target)
	switch p.op {
	case ir.Eq:
		return c == 0
	case ir.Ne:
		return c != 0
	case ir.Lt:
		return c < 0
	case ir.Le:
		return c <= 0
	case ir.Gt:
		return c > 0
	default:
		return c >= 0
	}
}

// load reads a little-endian element of up to 8 bytes, zero-extended.
func load(b []byte) uint64 {
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// complete retires a task: its consumers may become ready and its producers lose a reference.
func (r *Runtime) complete(t *task, skipped bool) {
	t.done = true
	r.stats.finished(t, skipped)
	for i := t.fanout; i != 0; {
		e := r.edges.edges[i]
		c := e.consumer
		c.readyAt = max(c.readyAt, t.finish)
		c.depth = max(c.depth, t.depth)
		if c.pending--; c.pending == 0 {
			r.makeReady(c)
		}
		r.edges.drop(i)
		i = e.next
	}
	t.fanout = 0
	if r.rec != nil {
		r.rec.retire(t, skipped)
	}
	for _, p := range t.producers {
		p.readBy = max(p.readBy, t.finish)
		if p.refs--; p.refs == 0 && p.done {
			r.reclaimIfOldest(p)
		}
	}
	if t.refs == 0 {
		r.reclaimIfOldest(t)
	}
}

func (r *Runtime) reclaimIfOldest(t *task) {
	if g := &r.rings[t.id>>32]; g.tail == uint32(t.id) {
		r.reclaim(g)
	}
}

// retireInline finishes dummies; each may ready others.
func (r *Runtime) retireInline() {
	for len(r.inline) > 0 {
		t := r.inline[len(r.inline)-1]
		r.inline = r.inline[:len(r.inline)-1]
		t.start, t.finish = t.readyAt, t.readyAt
		r.complete(t, false)
	}
}
