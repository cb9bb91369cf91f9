package sim

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// recorder turns runtime calls into trace events. It exists only with Config.Record.
type recorder struct {
	log    trace.Log
	names  map[bufferKey]string
	ext    []string     // names of entry tensors
	made   []madeBuffer // every buffer made so far, in order
	hosts  []uint64     // addresses of unknown origin
	allocs int          // buffers made by allocations
	// The events that there are many of: made again and again in one place, because the log keeps nothing of them.
	submitted  trace.Submit
	news       []trace.NewTensor
	retired    trace.Retire
	scopeBegin trace.ScopeBegin
	scopeEnd   trace.ScopeEnd
	// ordinals gives per submit (allocations included, in order) the task ordinal, or -1 - the number of the allocation call.
	ordinals []int32
}

type bufferKey struct {
	owner TaskID
	addr  uint64
}

type madeBuffer struct {
	lo, hi uint64
	name   string
}

func newRecorder() *recorder { return &recorder{names: map[bufferKey]string{}} }

func (c *recorder) add(e trace.Event) { c.log.Add(e) }

func (c *recorder) made1(t *Tensor, name string) {
	c.names[bufferKey{t.Owner, t.Addr}] = name
	c.made = append(c.made, madeBuffer{t.Addr, t.Addr + t.Size, name})
}

// buffer names the buffer of a handle and says how many bytes after its start the handle's base lies.
func (c *recorder) buffer(r *Runtime, t *Tensor) (name string, off uint64) {
	if t.Owner != InvalidTask {
		if name, ok := c.names[bufferKey{t.Owner, t.Addr}]; ok {
			return name, 0
		}
	}
	for i := range r.entries {
		if e := &r.entries[i]; t.Addr >= e.Addr && t.Addr < e.Addr+max(e.Size, 1) {
			for len(c.ext) <= i {
				c.ext = append(c.ext, "ext:"+itoa(len(c.ext)))
			}
			return c.ext[i], t.Addr - e.Addr
		}
	}
	for _, b := range slices.Backward(c.made) { // a pointer into a buffer: the last one made there is the one that is alive
		if t.Addr >= b.lo && t.Addr < b.hi {
			return b.name, t.Addr - b.lo
		}
	}
	i := slices.Index(c.hosts, t.Addr)
	if i < 0 {
		i = len(c.hosts)
		c.hosts = append(c.hosts, t.Addr)
	}
	return "host:" + itoa(i), 0
}

func (c *recorder) bufferOf(r *Runtime, t *Tensor) string {
	name, _ := c.buffer(r, t)
	return name
}

func (c *recorder) tensor(r *Runtime, t *Tensor) trace.Tensor {
	name, off := c.buffer(r, t)
	return trace.Tensor{
		Buf: name, Off: t.Start + off/uint64(t.DType.Bytes()), Shape: t.Shape, Strides: t.Strides,
		DType: TypeName(t.DType), ManualDep: t.ManualDep, Ops: t.Ops,
	}
}

func created(info *CreateInfo, t *Tensor, name string) trace.NewTensor {
	n := trace.NewTensor{Buf: name, Shape: t.Shape, DType: TypeName(info.DType), ManualDep: info.ManualDep}
	if info.HasInit {
		n.Init = fmt.Sprintf("%d/%d", info.Init, info.DType.Bytes())
	}
	return n
}

func (c *recorder) alloc(r *Runtime, t *task, out []Tensor) {
	c.ordinals = append(c.ordinals, t.ordinal)
	e := &trace.Alloc{Call: int(-1 - t.ordinal), First: c.allocs, Site: t.site}
	for i := range out {
		name := "alloc:" + itoa(c.allocs)
		c.allocs++
		c.made1(&out[i], name)
		e.Tensors = append(e.Tensors, created(t.args[i].Create, &out[i], name))
	}
	c.add(e)
}

var tagNames = [...]string{Input: "in", Output: "out_new", InOut: "inout", OutputExisting: "out", NoDep: "no_dep"}

func (c *recorder) submit(r *Runtime, a *TaskArgs, t *task, out []Tensor) {
	c.ordinals = append(c.ordinals, t.ordinal)
	e := &c.submitted
	*e = trace.Submit{
		Kernels: e.Kernels[:0], Args: e.Args[:0], Scalars: e.Scalars[:0], Deps: e.Deps[:0], AllocDeps: e.AllocDeps[:0],
		N: int(t.ordinal), Kind: [...]string{"aic", "aiv", "mixed", "dummy"}[a.Kind], Blocks: int(a.Blocks), SyncStart: a.SyncStart, Early: a.EarlyResolve,
		TimingSlot: int(a.TimingSlot), DumpAll: a.DumpAll, Site: t.site,
	}
	if len(a.Dump) > 0 {
		e.Dump = slices.Compact(slices.Sorted(slices.Values(a.Dump)))
	}
	switch a.Kind {
	case KindAIC:
		e.Kernels = append(e.Kernels, c.kernel(r, a.Kernels[0]))
	case KindAIV:
		e.Kernels = append(e.Kernels, c.kernel(r, a.Kernels[1]))
	case KindMixed:
		for _, id := range a.Kernels {
			e.Kernels = append(e.Kernels, c.kernel(r, id))
		}
	}
	c.news = slices.Grow(c.news[:0], len(out))
	for i := range t.args {
		x := &t.args[i]
		if x.Tag != Output {
			e.Args = append(e.Args, trace.Arg{Dir: tagNames[x.Tag], T: c.tensor(r, &x.Tensor)})
			continue
		}
		k := len(c.news)
		name := "out:" + itoa(int(t.ordinal)) + "." + itoa(k)
		c.made1(&out[k], name)
		c.news = append(c.news, created(x.Create, &out[k], name))
		e.Args = append(e.Args, trace.Arg{Dir: tagNames[x.Tag], New: &c.news[k]})
	}
	for _, s := range a.Scalars {
		e.Scalars = append(e.Scalars, trace.Scalar{Bits: s.Bits, Type: s.Type})
	}
	for _, id := range a.Deps {
		ord := int(c.ordinals[r.rings[id>>32].nodeOf[uint32(id)]])
		if ord >= 0 {
			e.Deps = append(e.Deps, ord)
		} else {
			e.AllocDeps = append(e.AllocDeps, -1-ord)
		}
	}
	for _, l := range []*[]int{&e.Deps, &e.AllocDeps} {
		slices.Sort(*l)
		n := len(*l)
		*l = slices.Compact(*l)
		e.DupDeps = e.DupDeps || len(*l) != n
	}
	if p := a.Pred; p != nil {
		e.Pred = &trace.Pred{T: c.tensor(r, &p.Tensor), Idx: p.Index, Op: predNames[p.Op], Target: p.Target}
	}
	c.add(e)
}

var predNames = map[ir.BinOp]string{ir.Eq: "EQ", ir.Ne: "NE", ir.Gt: "GT", ir.Lt: "LT", ir.Ge: "GE", ir.Le: "LE"}

// kernel names a lane of a task: "" when it is not used.
func (c *recorder) kernel(r *Runtime, id int32) string {
	if id < 0 {
		return ""
	}
	return r.kernelName(id)
}

// ran notes that a lane of a block ran; core is its number within its kind.
func (r *Runtime) ran(t *task, block, lane, core int, start, finish uint64) {
	if r.rec != nil {
		t.ran = append(t.ran, trace.Block{Core: int32(r.machine.coreNumber(lane == 0, core)), Block: int32(block), Lane: int8(lane), Start: start, Finish: finish})
	}
}

func (c *recorder) beginScope(manual bool, at Site) {
	c.scopeBegin = trace.ScopeBegin{Manual: manual, Site: at}
	c.add(&c.scopeBegin)
}

func (c *recorder) endScope(at Site) {
	c.scopeEnd = trace.ScopeEnd{Site: at}
	c.add(&c.scopeEnd)
}

func (c *recorder) retire(t *task, skipped bool) {
	c.retired = trace.Retire{N: int(t.ordinal), Submitted: t.submitted, Ready: t.readyAt, Start: t.start, Finish: t.finish, Skipped: skipped, Blocks: t.ran}
	c.add(&c.retired)
}
