package sim

import "github.com/ptobuild/ptobuild/internal/diag"

// Waiting for room. A submit that finds its ring full runs tasks until the oldest ones retire. When the oldest task of the ring belongs to a scope
// that is still open, nothing will ever be given back, and the submit fails at once with the number of the resource (spec runtime.md 2.13).

func (r *Runtime) waitForSlot(g *ring, site Site) bool {
	for g.head-g.tail > g.mask {
		if !r.makeRoom(g) {
			t := g.oldest()
			r.Fail(FlowControlDeadlock, "flow-control-deadlock", diag.Errorf(CodeWindow, site, "ring %d is full: all %d slots of its task window are taken", r.number(g), g.mask+1).
				WithHint("end the scope of the oldest task earlier, or raise PTO2_RING_TASK_WINDOW").
				WithRelated(t.site, "its oldest task was submitted here, in a scope that is still open"))
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
			WithHint("tile the buffer, or raise PTO2_RING_HEAP"))
		return 0, false
	}
	if g.base == 0 {
		addr, err := r.mem.Map(g.size)
		if err != nil {
			r.Fail(HeapRingDeadlock, "heap-ring-deadlock", diag.Errorf(CodeMemory, site, "the heap of ring %d: %s", r.number(g), err).
				WithHint("lower PTO2_RING_HEAP, or give the simulation more memory"))
			return 0, false
		}
		g.base = addr
	}
	for {
		if start, ok := g.reserve(need); ok {
			return start, true
		}
		if !r.makeRoom(g) {
			t := g.oldest()
			r.Fail(HeapRingDeadlock, "heap-ring-deadlock", diag.Errorf(CodeHeap, site, "the heap of ring %d is full: %d of %d bytes are in use and the task needs %d more", r.number(g), g.heapHead-g.heapTail, g.size, need).
				WithHint("end the scope of the oldest task earlier, or raise PTO2_RING_HEAP").
				WithRelated(t.site, "its oldest task was submitted here, in a scope that is still open"))
			return 0, false
		}
	}
}

// waitForDeps takes n entries of the ring's dependency pool for the task at its head.
func (r *Runtime) waitForDeps(g *ring, n int, site Site) bool {
	for g.deps+n > r.cfg.Limits.DepPool {
		if !r.makeRoom(g) {
			r.Fail(DepPoolOverflow, "dep-pool-overflow", diag.Errorf(CodeDepPool, site, "ring %d has %d dependency entries in use of %d and the task needs %d more", r.number(g), g.deps, r.cfg.Limits.DepPool, n).
				WithHint("put a dummy task between many producers and many consumers, end scopes earlier, or raise PTO2_RING_DEP_POOL").
				WithRelated(g.oldest().site, "the oldest task of the ring was submitted here"))
			return false
		}
	}
	g.deps += n
	p := &r.stats.Rings[r.number(g)]
	p.Deps = max(p.Deps, g.deps)
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
				WithHint("end scopes earlier, or write through fewer and bigger views"))
			return false
		}
	}
	return true
}

// makeRoom runs a task so that the ring's oldest may retire; false when that cannot happen.
func (r *Runtime) makeRoom(g *ring) bool {
	if r.reclaim(g) {
		return true
	}
	if g.head == g.tail || g.oldest().inScope {
		return false
	}
	return r.step()
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
		if t.heapEnd != t.heapStart && !r.finished {
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
