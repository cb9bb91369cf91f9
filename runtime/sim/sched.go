package sim

import (
	"cmp"
	"math/rand/v2"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// publish arms the task: it becomes ready when its last producer finishes, at once when none is left.
func (r *Runtime) publish(t *task) {
	t.readyAt = r.cores.host
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
	if t.kind == KindDummy {
		r.inline = append(r.inline, t)
		return
	}
	r.ready.push(t)
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
	for r.fatal == nil && r.step() {
	}
}

// step runs one ready task; false when there is none.
func (r *Runtime) step() bool {
	t := r.ready.pop()
	if t == nil || r.fatal != nil {
		return false
	}
	r.dispatch(t)
	r.retireInline()
	return true
}

// waitFor runs tasks until t has finished. It always can: tasks only wait for earlier ones.
func (r *Runtime) waitFor(t *task) {
	for !t.done && r.step() {
	}
	r.cores.host = max(r.cores.host, t.finish)
}

// dispatch runs a task whose producers have all finished, or retires it when its predicate is false.
func (r *Runtime) dispatch(t *task) {
	skipped := t.pred.on && !r.holds(&t.pred)
	if skipped {
		t.start, t.finish = t.readyAt, t.readyAt
		r.stats.Skipped++
		if r.graph != nil {
			r.graph.nodeOf(t).Exact = true // it touched nothing
		}
	} else {
		watch := r.watchOutputs(t)
		if !r.runKernels(t) {
			return
		}
		watch.done(r, t)
	}
	r.complete(t, skipped)
}

// holds evaluates a predicate: the element's bits are sign-extended whatever its type, as the scheduler does.
func (r *Runtime) holds(p *predicate) bool {
	b := r.mem.Bytes(p.addr, uint64(p.dtype.Bytes()))
	v := int64(load(b))
	shift := 64 - 8*len(b)
	v = v << shift >> shift
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

// runKernels runs all blocks of all lanes of a task.
func (r *Runtime) runKernels(t *task) bool {
	r.cores.book(t)
	t.depth += t.finish - t.start
	r.stats.CriticalPath = max(r.stats.CriticalPath, t.depth)
	r.stats.Makespan = max(r.stats.Makespan, t.finish)
	if r.cfg.Kernels == nil {
		return true
	}
	watch := r.watchAccesses()
	mixed := t.kernels[0] >= 0 && t.kernels[1] >= 0 || t.kernels[2] >= 0
	cluster, together := r.cfg.Kernels.(ClusterRunner)
	backwards := t.blocks > 1 && r.backwards()
	for b := range int(t.blocks) {
		if backwards { // blocks do not know each other, so their order must not matter either
			b = int(t.blocks) - 1 - b
		}
		n := 0
		for lane, id := range t.kernels {
			if id < 0 {
				continue
			}
			c := &r.calls[n]
			n++
			*c = KernelCall{
				Task: t.id, Ordinal: int(t.ordinal), Kernel: id, Lane: lane, Mixed: mixed, Args: t.args, Scalars: t.scalars,
				Block: b, BlockCount: int(t.blocks), SubBlock: max(lane-1, 0), Site: t.site, watch: watch, rt: r,
			}
			if watch != nil {
				watch.calls++
			}
			if !together || !mixed {
				if err := r.cfg.Kernels.Run(&r.mem, c); err != nil {
					r.kernelFailed(t, id, b, err)
					return false
				}
				n = 0
			}
		}
		if n > 0 {
			if err := cluster.RunCluster(&r.mem, r.calls[:n]); err != nil {
				r.kernelFailed(t, r.calls[0].Kernel, b, err)
				return false
			}
		}
	}
	watch.keep(r, t)
	return true
}

func (r *Runtime) backwards() bool {
	return r.cfg.Policy == LIFO || r.cfg.Policy == Newest || r.cfg.Policy == Random && r.rng.IntN(2) == 0
}

func (r *Runtime) kernelFailed(t *task, id int32, block int, err error) {
	l := diag.AsList(err, CodeKernelFailed)
	d := diag.Errorf(l[0].Code, t.site, "kernel %s failed in task %d, block %d of %d: %s", r.kernelName(id), t.ordinal, block, t.blocks, l[0].Message).WithHint("%s", l[0].Hint)
	if d.Hint == "" {
		d.WithHint("check the arguments that the task gives to the kernel")
	}
	if l[0].Span.IsValid() {
		d.WithRelated(l[0].Span, "in the kernel")
	}
	d.Related = append(d.Related, l[0].Related...)
	r.Fail(KernelFailed, "kernel-failed", d)
}

// complete retires a task: its consumers may become ready and its producers lose a reference.
func (r *Runtime) complete(t *task, skipped bool) {
	t.done = true
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
		r.rec.add(&trace.Retire{N: int(t.ordinal), Start: t.start, Finish: t.finish, Skipped: skipped})
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

// readyQueue holds the ready tasks and picks the next one by policy.
type readyQueue struct {
	policy Policy
	rng    *rand.Rand
	q      []*task
	head   int
	late   uint64 // the ordinal that Late holds back
}

func (q *readyQueue) len() int { return len(q.q) - q.head }

func (q *readyQueue) push(t *task) {
	if q.policy != Newest {
		q.q = append(q.q, t)
		return
	}
	q.q = append(q.q, t)
	for i := len(q.q) - 1; i > 0; { // sift up: the newest task is the root
		up := (i - 1) / 2
		if q.q[up].seq > q.q[i].seq {
			break
		}
		q.q[up], q.q[i] = q.q[i], q.q[up]
		i = up
	}
}

func (q *readyQueue) pop() *task {
	if q.len() == 0 {
		return nil
	}
	last := len(q.q) - 1
	switch q.policy {
	case LIFO:
		t := q.q[last]
		q.q = q.q[:last]
		return t
	case Random:
		i := q.rng.IntN(len(q.q))
		t := q.q[i]
		q.q[i] = q.q[last]
		q.q = q.q[:last]
		return t
	case Newest:
		t := q.q[0]
		q.q[0] = q.q[last]
		q.q = q.q[:last]
		q.sink()
		return t
	}
	if q.policy == Late && uint64(q.q[q.head].ordinal) == q.late && q.len() > 1 {
		q.q[q.head], q.q[q.head+1] = q.q[q.head+1], q.q[q.head]
	}
	t := q.q[q.head]
	q.head++
	if q.head == len(q.q) {
		q.q, q.head = q.q[:0], 0
	} else if q.head > 4096 && q.head > len(q.q)/2 {
		q.q = q.q[:copy(q.q, q.q[q.head:])]
		q.head = 0
	}
	return t
}

func (q *readyQueue) sink() {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(q.q) {
			return
		}
		if c+1 < len(q.q) && q.q[c+1].seq > q.q[c].seq {
			c++
		}
		if q.q[i].seq > q.q[c].seq {
			return
		}
		q.q[i], q.q[c] = q.q[c], q.q[i]
		i = c
	}
}
