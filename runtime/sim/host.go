package sim

import (
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Read waits for the writers of t that the runtime knows and returns the bits of the element at idx, zero-extended; no indices name the first
// element. Writers in MANUAL scopes and through manual_dep or NO_DEP are not known, as in the runtime.
func (r *Runtime) Read(t Tensor, idx []uint32, site Site) uint64 {
	return r.ReadAs(t, idx, AccessType(t.DType), t.DType.Bytes(), site)
}

// ReadAs is Read under a type that need not be that of the elements: size bytes, recorded as typ.
func (r *Runtime) ReadAs(t Tensor, idx []uint32, typ string, size int, site Site) uint64 {
	b, at, ok := r.element(&t, idx, size, site)
	if !ok {
		return 0
	}
	r.waitForWriters(&t, idx, false, site)
	if r.fatal != nil {
		return 0
	}
	r.stats.Reads++
	v := load(b)
	if count, _ := Unwritten(t.DType, b, 0, len(b)/max(t.DType.Bytes(), 1), 1); count > 0 {
		r.warn(diag.Warningf(CodeUnwritten, site, "this reads an element that nothing has written").
			WithHint("write it before: by a task whose result the read sees, or with an initial value"))
	}
	if r.rec != nil {
		e := &trace.Read{Type: typ, Value: v, Site: site}
		e.T = r.rec.tensor(r, &t)
		e.At = e.T.Off + at - t.Start
		r.rec.add(e)
	}
	r.turn()
	return v
}

// Write waits like Read, and for the tasks that read those writers' results, and sets the element at idx.
func (r *Runtime) Write(t Tensor, idx []uint32, bits uint64, site Site) {
	r.WriteAs(t, idx, bits, AccessType(t.DType), t.DType.Bytes(), site)
}

// WriteAs is Write under a type that need not be that of the elements.
func (r *Runtime) WriteAs(t Tensor, idx []uint32, bits uint64, typ string, size int, site Site) {
	b, at, ok := r.element(&t, idx, size, site)
	if !ok {
		return
	}
	r.waitForWriters(&t, idx, true, site)
	if r.fatal != nil {
		return
	}
	r.stats.Writes++
	r.dirty = true
	for i := range b {
		b[i] = byte(bits >> (8 * i))
	}
	if r.rec != nil {
		if size < 8 {
			bits &= 1<<(8*size) - 1
		}
		e := &trace.Write{Type: typ, Value: bits, Site: site}
		e.T = r.rec.tensor(r, &t)
		e.At = e.T.Off + at - t.Start
		r.rec.add(e)
	}
	r.turn()
}

// element checks an access and finds its bytes.
func (r *Runtime) element(t *Tensor, idx []uint32, size int, site Site) (b []byte, at uint64, ok bool) {
	if r.stopped() {
		return nil, 0, false
	}
	d := r.checkHandle(t)
	if d == nil {
		var err error
		if at, err = t.Flat(idx); err != nil {
			d = err.(*diag.Diagnostic)
		} else if b = r.mem.Bytes(t.Addr+at*uint64(t.DType.Bytes()), uint64(size)); b == nil || size > 8 {
			d = diag.Errorf(CodeElement, site, "an access of %d bytes to an element of %s", size, t.DType).
				WithHint("read and write elements with the C++ type of the tensor's dtype")
		}
	}
	if d != nil {
		d.Span = site
		r.Fail(InvalidArgs, "element-access-out-of-bounds", d)
		return nil, 0, false
	}
	return b, at, true
}

// waitForWriters runs tasks until the creator of t and every live writer that overlaps it have finished; before a write also until their consumers
// have.
func (r *Runtime) waitForWriters(t *Tensor, idx []uint32, write bool, site Site) {
	r.found = r.found[:0]
	var ids []TaskID
	if t.Owner != InvalidTask {
		p, issued := r.lookup(t.Owner)
		if !issued {
			r.Fail(InvalidArgs, "tensor-never-initialised", diag.Errorf(CodeTensor, site, "the tensor belongs to task %s, which is no task of this run", t.Owner).
				WithHint("use tensors that this run made, or its entry tensors; this handle was kept from another run or never assigned"))
			return
		}
		if p == nil || !p.inScope {
			r.outlived(t, p, site)
		}
		if p != nil {
			r.found = append(r.found, p)
		}
		ids = append(ids, t.Owner)
	}
	g := &r.scratch
	g.set(t)
	for _, i := range r.omap.Meet(g.lo, g.hi) {
		e := r.omap.At(i)
		if rel := g.relate(&e.region); rel == disjoint || rel == overlaps && r.cfg.ExactOverlap && !g.meets(&e.region) {
			continue
		}
		if p, _ := r.lookup(e.task); p != nil {
			r.found = append(r.found, p)
		}
		ids = append(ids, e.task)
	}
	r.machine.host += r.costs.Access
	if r.graph != nil {
		r.graph.access(r, t, idx, ids, write, site)
	}
	for _, p := range r.found {
		r.waitFor(p)
	}
	if !write {
		return
	}
	for _, p := range r.found {
		for r.isRead(p) && r.step() {
		}
		r.machine.host = max(r.machine.host, p.readBy)
	}
}

// isRead reports a task with consumers that have not finished.
func (r *Runtime) isRead(p *task) bool {
	if p.inScope {
		return p.refs > 1
	}
	return p.refs > 0
}

func itoa(n int) string { return strconv.Itoa(n) }
