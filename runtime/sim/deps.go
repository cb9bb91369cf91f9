package sim

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim/interval"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// EdgeKind says why a task waits for another. When there are several reasons, the first of this order that applies is kept.
type EdgeKind uint8

const (
	EdgeExplicit EdgeKind = iota // set_dependencies
	EdgeCreator                  // uses a buffer that the other made
	EdgeOverlap                  // touches what the other wrote
)

// String is the name in reports and in dependency dumps.
func (k EdgeKind) String() string { return [...]string{"explicit", "creator", "overlap"}[k] }

// lookup finds the task of an id: in its slot, already retired (nil, true), or never issued (nil, false).
func (r *Runtime) lookup(id TaskID) (t *task, issued bool) {
	if id>>32 >= numRings {
		return nil, false
	}
	g := &r.rings[id>>32]
	local := uint32(id)
	switch {
	case local >= g.head:
		return nil, false
	case local < g.tail:
		return nil, true
	}
	return g.slot(local), true
}

// findProducers collects the tasks that t waits for: explicit dependencies first, then argument by argument (spec runtime.md 2.2, 2.4).
func (r *Runtime) findProducers(a *TaskArgs, t *task, site Site) bool {
	r.epoch++
	t.mark = r.epoch // a task never waits for itself
	clear(r.taken[:len(t.args)])
	for i, id := range a.Deps {
		if id == InvalidTask {
			r.Fail(InvalidArgs, "invalid-id-in-deps", diag.Errorf(CodeDepInvalid, site, "set_dependencies: entry %d of the dependencies of %s is an invalid task id", i, r.kernelsOf(a.Kind, a.Kernels)).
				WithHint("add an id to the list only when its is_valid() holds"))
			return false
		}
		p, issued := r.lookup(id)
		if !issued || p == t {
			r.Fail(InvalidArgs, "unknown-id-in-deps", diag.Errorf(CodeDepUnknown, site, "set_dependencies: entry %d of the dependencies of %s, %s, is no task of this run", i, r.kernelsOf(a.Kind, a.Kernels), id).
				WithHint("take ids from task_id() of an earlier submit; this one was never issued, never assigned, or kept from another run"))
			return false
		}
		if r.graph == nil || i >= 64 || a.OrderOnly>>i&1 == 0 {
			r.produce(t, id, p, EdgeExplicit, -1)
			continue
		}
		n := len(r.graph.preds)
		r.produce(t, id, p, EdgeExplicit, -1)
		r.graph.orderOnly(n)
	}
	manual := r.inManual()
	for i := range t.args {
		x := &t.args[i]
		if x.Tag == Output {
			continue
		}
		h := &x.Tensor
		if h.Owner != InvalidTask && !r.useOwned(t, h, i, manual, site) {
			return false
		}
		if manual || h.ManualDep || x.Tag != Input && x.Tag != InOut {
			continue
		}
		if !r.followWriters(t, h, i, x.Tag == InOut, site) {
			return false
		}
	}
	return r.waitForDeps(&r.rings[t.id>>32], t, len(t.producers), site)
}

// useOwned takes the creator edge of a handle and notices buffers that outlived their scope.
func (r *Runtime) useOwned(t *task, h *Tensor, arg int, manual bool, site Site) bool {
	p, issued := r.lookup(h.Owner)
	if !issued || p == t {
		r.Fail(InvalidArgs, "tensor-never-initialised", diag.Errorf(CodeTensor, site, "argument %d belongs to task %s, which is no task of this run", arg, h.Owner).
			WithHint("use tensors that this run made, or its entry tensors; this handle was kept from another run or never assigned"))
		return false
	}
	if p == nil || !p.inScope {
		r.outlived(h, p, site)
	}
	if !manual {
		r.produce(t, h.Owner, p, EdgeCreator, arg)
	}
	return true
}

// outlived reports the use of a buffer after the scope of its creator ended; p is the creator, nil when it was reclaimed.
func (r *Runtime) outlived(h *Tensor, p *task, site Site) {
	if r.rec != nil {
		r.rec.add(&trace.Note{What: "tensor-outlives-scope", Buf: r.rec.bufferOf(r, h)})
	}
	if p == nil {
		r.warn(diag.Errorf(CodeReclaimed, site, "a buffer is used after its memory was given back: the scope it was made in has ended").
			WithHint("create the buffer in an outer scope"))
		return
	}
	r.warn(diag.Warningf(CodeOutlives, site, "a buffer is used after the scope it was made in has ended; its memory may be given back before this task runs").
		WithHint("create the buffer in an outer scope").WithRelated(p.site, "the buffer is made here"))
}

// followWriters takes an edge to every live writer that the handle overlaps. A task that rewrites all of an entry's box replaces it.
func (r *Runtime) followWriters(t *task, h *Tensor, arg int, rewrites bool, site Site) bool {
	g := &r.scratch
	g.set(h)
	for _, i := range r.omap.Meet(g.lo, g.hi) {
		e := r.omap.At(i)
		if e.task == t.id { // taken over for an earlier argument
			continue
		}
		rel := g.relate(&e.region)
		if rel == disjoint || rel == overlaps && r.cfg.ExactOverlap && !g.meets(&e.region) {
			continue
		}
		if h.Version != e.version {
			if h.Version < e.version {
				r.Fail(InvalidArgs, "tensor-version", diag.Errorf(CodeVersion, site, "argument %d is version %d of a tensor that was written as version %d", arg, h.Version, e.version).
					WithHint("pass the handle that the last task which wrote the tensor gave back"))
				return false
			}
			rel = overlaps
		}
		p, _ := r.lookup(e.task)
		r.produce(t, e.task, p, EdgeOverlap, arg)
		switch {
		case !rewrites || rel != covers:
		case r.taken[arg] == 0 && g.lo == e.lo && g.hi == e.hi:
			r.releaseEntry(p, i)
			e.task, r.taken[arg] = t.id, i
		default:
			r.dropEntry(p, i)
		}
	}
	return true
}

// produce makes p a producer of t unless it is one already. A retired one (nil) is only recorded.
func (r *Runtime) produce(t *task, id TaskID, p *task, kind EdgeKind, arg int) {
	if r.graph != nil {
		r.graph.edge(r, id, kind, arg)
	}
	if p == nil || p.mark == r.epoch {
		return
	}
	p.mark = r.epoch
	p.refs++
	t.producers = append(t.producers, p)
	r.stats.Edges[kind]++
}

// enterWriters makes t a writer for later tasks.
func (r *Runtime) enterWriters(t *task, site Site) bool {
	n, more := 0, 0
	for i := range t.args {
		if writes(&t.args[i]) {
			n++
			if r.taken[i] == 0 {
				more++
			}
		}
	}
	if n == 0 {
		return true
	}
	if !r.waitForMap(more, site) {
		return false
	}
	for i := range t.args {
		x := &t.args[i]
		if !writes(x) {
			continue
		}
		g := &r.scratch
		g.set(&x.Tensor)
		if g.lo == g.hi {
			continue
		}
		w := writer{region: *g, version: x.Tensor.Version, task: t.id, next: t.entries}
		k := r.taken[i]
		if k != 0 {
			*r.omap.At(k) = w
		} else {
			k = r.omap.Insert(g.lo, g.hi, w)
		}
		if t.entries != 0 {
			r.omap.At(t.entries).prev = k
		}
		t.entries = k
	}
	r.stats.PeakMap = max(r.stats.PeakMap, r.omap.Len()-r.kept)
	return true
}

func writes(x *Arg) bool { return (x.Tag == InOut || x.Tag == OutputExisting) && !x.Tensor.ManualDep }

// writer is an entry of the overlap map: a region that a live task writes. It holds no pointers, so the map is nothing for the garbage collector
// to look at.
type writer struct {
	region
	version    int32
	task       TaskID
	prev, next interval.Index // the regions of one task
}

// releaseEntry takes an entry of the map from its writer p (nil: reclaimed; the entry was only kept for the graph).
func (r *Runtime) releaseEntry(p *task, i interval.Index) {
	if p != nil {
		r.unlinkEntry(p, i)
	} else {
		r.kept--
	}
}

func (r *Runtime) dropEntry(p *task, i interval.Index) {
	r.releaseEntry(p, i)
	r.omap.Remove(i)
}

func (r *Runtime) unlinkEntry(p *task, i interval.Index) {
	e := r.omap.At(i)
	if e.prev != 0 {
		r.omap.At(e.prev).next = e.next
	} else {
		p.entries = e.next
	}
	if e.next != 0 {
		r.omap.At(e.next).prev = e.prev
	}
	e.prev, e.next = 0, 0
}

// retireEntries takes the entries of a reclaimed task out of the map. The graph keeps them: an edge to a task that happened to be retired
// in this schedule is an edge in every other.
func (r *Runtime) retireEntries(t *task) {
	for t.entries != 0 {
		if r.graph == nil {
			r.dropEntry(t, t.entries)
			continue
		}
		r.unlinkEntry(t, t.entries)
		r.kept++
	}
}

// forget drops kept entries of memory that is handed out anew.
func (r *Runtime) forget(lo, hi uint64) {
	for _, i := range r.omap.Meet(lo, hi) {
		p, _ := r.lookup(r.omap.At(i).task)
		r.dropEntry(p, i)
	}
}
