package sim

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Waiting for room. A submit that finds its ring full runs tasks until the oldest ones retire. When the oldest task of the ring belongs to a scope
// that is still open, nothing will ever be given back, and the submit fails at once with the number of the resource (spec runtime.md 2.13).

func (r *Runtime) waitForSlot(g *ring, site Site) bool {
	for g.head-g.tail > g.mask {
		if !r.makeRoom(g) {
			r.Fail(FlowControlDeadlock, "flow-control-deadlock", r.deadlock(g, nil, diag.Errorf(CodeWindow, site, "ring %d is full: all %d slots of its task window are taken", r.number(g), g.mask+1).
				WithHint("end the scope of the oldest task earlier, or raise task_window in [simulator] of Pto.toml (on a device PTO2_RING_TASK_WINDOW)")))
			return false
		}
	}
	return true
}

func (r *Runtime) waitForHeap(g *ring, need uint64, site Site) (start uint64, ok bool) {
	if need == 0 {
		return g.heapHead, true
	}
	if need > g.size {
		r.Fail(HeapRingDeadlock, "heap-ring-deadlock", diag.Errorf(CodeHeap, site, "the task's new buffers take %d bytes: the heap of ring %d has %d", need, r.number(g), g.size).
			WithHint("tile the buffer, or raise heap in [simulator] of Pto.toml (on a device PTO2_RING_HEAP)"))
		return 0, false
	}
	if g.base == 0 {
		addr, err := r.mem.Map(g.size)
		if err != nil {
			r.Fail(HeapRingDeadlock, "heap-ring-deadlock", diag.Errorf(CodeMemory, site, "the heap of ring %d: %s", r.number(g), err).
				WithHint("lower heap in [simulator] of Pto.toml, or give the simulation more memory"))
			return 0, false
		}
		g.base = addr
	}
	for {
		if start, ok := g.reserve(need); ok {
			return start, true
		}
		if !r.makeRoom(g) {
			r.Fail(HeapRingDeadlock, "heap-ring-deadlock", r.deadlock(g, nil, diag.Errorf(CodeHeap, site, "the heap of ring %d is full: %d of %d bytes are in use and the task needs %d more", r.number(g), g.heapHead-g.heapTail, g.size, need).
				WithHint("end the scope of the oldest task earlier, or raise heap in [simulator] of Pto.toml (on a device PTO2_RING_HEAP)")))
			return 0, false
		}
	}
}

// waitForDeps takes n entries of the ring's dependency pool for t, its newest task.
func (r *Runtime) waitForDeps(g *ring, t *task, n int, site Site) bool {
	for g.deps+n > g.depPool {
		if !r.makeRoom(g) {
			r.Fail(DepPoolOverflow, "dep-pool-overflow", r.deadlock(g, t, diag.Errorf(CodeDepPool, site, "ring %d has %d dependency entries in use of %d and the task needs %d more", r.number(g), g.deps, g.depPool, n).
				WithHint("put a dummy task between many producers and many consumers, end scopes earlier, or raise dep_pool in [simulator] of Pto.toml (on a device PTO2_RING_DEP_POOL)")))
			return false
		}
	}
	g.deps += n
	g.allDeps += uint64(n)
	p := &r.stats.Rings[r.number(g)]
	if g.deps > p.Deps {
		p.Deps, p.DepsAt = g.deps, r.scopes[len(r.scopes)-1].site
	}
	return true
}

// waitForMap makes sure that n more writers fit into the overlap map.
func (r *Runtime) waitForMap(n int, site Site) bool {
	for r.omap.Len()-r.kept+n > r.cfg.Limits.MapEntries {
		progress := r.step()
		for i := range r.rings {
			progress = r.reclaim(&r.rings[i]) || progress
		}
		if !progress {
			r.Fail(MapOverflow, "tensormap-overflow", diag.Errorf(CodeMap, site, "%d tensor regions with a live writer: the overlap map holds no more", r.omap.Len()-r.kept).
				WithHint("end scopes earlier, write through fewer and bigger views, or raise map_entries in [simulator] of Pto.toml"))
			return false
		}
	}
	return true
}

// deadlock adds to a report who waits for whom: the submit for the oldest task of the ring, that task for the end of its scope, and that end for the
// submit, which stands inside. self is the task of the submit when it has a place already.
func (r *Runtime) deadlock(g *ring, self *task, d *diag.Diagnostic) *diag.Diagnostic {
	if g.head == g.tail {
		return d
	}
	t := g.oldest()
	if t == self {
		return d
	}
	d.WithRelated(t.site, "it waits for the oldest task of the ring, %s, submitted here", r.describe(t))
	if at := slices.Index(r.scopeTasks, t); at >= 0 {
		k := len(r.scopes) - 1
		for r.scopes[k].first > at {
			k--
		}
		if s := r.scopes[k].site; s.IsValid() {
			d.WithRelated(s, "which keeps its place until this scope ends, and that comes after the submit")
		} else {
			d.WithRelated(t.site, "which keeps its place until the orchestration ends, because it stands outside of all scopes")
		}
	}
	return d
}

// describe names a task in a report.
func (r *Runtime) describe(t *task) string {
	if t.ordinal < 0 {
		return "an allocation"
	}
	if t.kind == KindDummy {
		return "dummy task " + itoa(int(t.ordinal))
	}
	return "task " + itoa(int(t.ordinal)) + " of kernel " + r.kernelsOf(t.kind, t.kernels)
}

// makeRoom runs a task so that the ring's oldest may retire; false when that cannot happen.
func (r *Runtime) makeRoom(g *ring) bool {
	if r.reclaim(g) {
		return true
	}
	if g.head == g.tail || g.oldest().inScope {
		return false
	}
	if !r.step() {
		return false
	}
	r.machine.host = max(r.machine.host, r.machine.now)
	return true
}

// reclaim gives back finished tasks that nothing refers to, oldest first.
func (r *Runtime) reclaim(g *ring) bool {
	any := false
	for g.tail != g.head {
		t := g.slot(g.tail)
		if !t.done || t.refs != 0 {
			break
		}
		r.retireEntries(t)
		if t.heapEnd != t.heapStart && r.dirty && !r.finished {
			Unwrite(r.mem.Bytes(g.base+t.heapStart%g.size, t.heapEnd-t.heapStart))
		}
		g.heapTail = t.heapEnd
		g.deps -= len(t.producers)
		g.tail++
		any = true
	}
	return any
}

func (r *Runtime) number(g *ring) int {
	for i := range r.rings {
		if g == &r.rings[i] {
			return i
		}
	}
	return -1
}
