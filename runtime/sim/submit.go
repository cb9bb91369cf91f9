package sim

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Limits of a program and of one task (spec runtime.md 1.7).
const (
	MaxEntryTensors = 256
	MaxEntryScalars = 128
	maxKernels      = 1024

	MaxTensors     = 32
	MaxScalars     = 16
	MaxAllocInfos  = 32
	MaxTimingSlot  = 15
	outputAlign    = 1024
	maxBlocks      = math.MaxInt16
	noOutputsIndex = "output-index-out-of-range"
)

// stopped reports that calls have no effect any more.
func (r *Runtime) stopped() bool { return r.fatal != nil || r.finished }

// Submit submits one task. The steps are those of spec runtime.md 2.1; the result is empty after a fatal error.
func (r *Runtime) Submit(a *TaskArgs, site Site) Outputs {
	none := Outputs{Task: InvalidTask}
	if r.stopped() || !r.checkArgs(a, site) {
		return none
	}
	if a.Kind == KindAlloc {
		return r.AllocArgs(a, site)
	}
	t := r.newTask(a, site)
	if t == nil {
		return none
	}
	t.ordinal = r.ordinal
	r.ordinal++
	r.stats.Tasks++
	if !r.findProducers(a, t, site) {
		return none
	}
	if !r.inManual() && !r.enterWriters(t, site) {
		return none
	}
	out := r.outputsOf(t)
	if r.rec != nil {
		r.rec.submit(r, a, t, out)
	}
	if r.graph != nil {
		r.graph.add(r, a, t)
	}
	r.publish(t)
	r.turn()
	return Outputs{t.id, out}
}

// Alloc makes buffers: a task of its own that is finished at once.
func (r *Runtime) Alloc(infos []CreateInfo, site Site) Outputs {
	none := Outputs{Task: InvalidTask}
	if r.stopped() {
		return none
	}
	if len(infos) == 0 || len(infos) > MaxAllocInfos {
		r.Fail(InvalidArgs, "alloc-count", diag.Errorf(CodeAlloc, site, "an allocation of %d buffers: give 1 to %d", len(infos), MaxAllocInfos).
			WithHint("split the allocation into several"))
		return none
	}
	a := TaskArgs{Kind: KindAlloc, Kernels: [3]int32{-1, -1, -1}, Args: r.allocArgs[:0], TimingSlot: -1}
	for i := range infos {
		a.Args = append(a.Args, Arg{Tag: Output, Create: &infos[i]})
	}
	r.allocArgs = a.Args
	return r.AllocArgs(&a, site)
}

// AllocArgs is Alloc from an argument builder: it must hold created outputs only.
func (r *Runtime) AllocArgs(a *TaskArgs, site Site) Outputs {
	none := Outputs{Task: InvalidTask}
	if r.stopped() {
		return none
	}
	bad := len(a.Args) == 0 || len(a.Scalars) > 0
	for i := range a.Args {
		bad = bad || a.Args[i].Tag != Output
	}
	if bad && a.BuilderError == "" {
		r.Fail(InvalidArgs, "alloc-args-not-create-info", diag.Errorf(CodeAlloc, site, "an allocation takes create-infos only, and at least one").
			WithHint("remove inputs, existing outputs and scalars from its arguments"))
		return none
	}
	a.Kind = KindAlloc
	if !r.checkArgs(a, site) {
		return none
	}
	t := r.newTask(a, site)
	if t == nil {
		return none
	}
	t.ordinal = -1 - r.nAlloc
	r.nAlloc++
	r.stats.Allocs++
	t.done = true
	t.finish, t.readyAt = r.machine.host, r.machine.host
	out := r.outputsOf(t)
	if r.rec != nil {
		r.rec.alloc(r, t, out)
	}
	if r.graph != nil {
		r.graph.add(r, a, t)
	}
	return Outputs{t.id, out}
}

// Output is output i of a submit or allocation.
func (r *Runtime) Output(o Outputs, i int, site Site) Tensor {
	if i >= 0 && i < len(o.Tensors) {
		return o.Tensors[i]
	}
	if !r.stopped() {
		r.Fail(InvalidArgs, noOutputsIndex, diag.Errorf(CodeOutputIndex, site, "output %d of a task that made %d buffers", i, len(o.Tensors)).
			WithHint("only outputs that the runtime creates are listed, counted from 0 in argument order"))
	}
	return Tensor{Owner: InvalidTask}
}

// checkArgs does all checks that need no slot.
func (r *Runtime) checkArgs(a *TaskArgs, site Site) bool {
	if a.BuilderError != "" {
		r.Fail(InvalidArgs, "builder-error", diag.Errorf(CodeBuilder, site, "%s", a.BuilderError).
			WithHint("add all tensors before the first scalar, and set dependencies once"))
		return false
	}
	switch {
	case a.Kind > KindAlloc:
		r.Fail(InvalidArgs, "task-kind", diag.Errorf(CodeKernel, site, "unknown kind of task %d", a.Kind).
			WithHint("submit with one of the rt_submit_… functions"))
		return false
	case len(a.Args) > MaxTensors:
		r.Fail(InvalidArgs, "too-many-tensors", diag.Errorf(CodeBuilder, site, "%d tensor arguments: a task takes at most %d", len(a.Args), MaxTensors).
			WithHint("pass one bigger buffer and views of it, or split the kernel"))
		return false
	case len(a.Scalars) > MaxScalars:
		r.Fail(InvalidArgs, "too-many-scalars", diag.Errorf(CodeBuilder, site, "%d scalar arguments: a task takes at most %d", len(a.Scalars), MaxScalars).
			WithHint("put the values into a tensor"))
		return false
	case a.TimingSlot < -1 || a.TimingSlot > MaxTimingSlot:
		r.Fail(InvalidArgs, "timing-slot-range", diag.Errorf(CodeTimingSlot, site, "timing slot %d: the slots are 0 to %d", a.TimingSlot, MaxTimingSlot).
			WithHint("use a slot in that range for the tasks that are measured together"))
		return false
	}
	if a.Kind <= KindMixed && !r.checkKernels(a, site) {
		return false
	}
	for i := range a.Args {
		x := &a.Args[i]
		if x.Tag == Output {
			if x.Create == nil {
				r.Fail(InvalidArgs, "tensor-never-initialised", diag.Errorf(CodeTensor, site, "argument %d is an output to create, without a create-info", i).
					WithHint("add outputs that the runtime makes with a TensorCreateInfo"))
				return false
			}
			if err := checkCreate(x.Create); err != nil {
				r.Fail(InvalidArgs, "too-many-dims", r.atArg(err, a, i, site))
				return false
			}
			continue
		}
		if x.Tag > NoDep {
			r.Fail(InvalidArgs, "argument-tag", diag.Errorf(CodeBuilder, site, "argument %d has the unknown tag %d", i, x.Tag).
				WithHint("add arguments with the add_… functions"))
			return false
		}
		if err := r.checkHandle(&x.Tensor); err != nil {
			r.Fail(InvalidArgs, "tensor-never-initialised", r.atArg(err, a, i, site))
			return false
		}
	}
	if a.Pred != nil && !r.checkPredicate(a.Pred, site) {
		return false
	}
	return r.checkScopeTasks(site)
}

// checkCreate reports a buffer that no handle can describe.
func checkCreate(c *CreateInfo) *diag.Diagnostic {
	n := uint64(1)
	for _, s := range c.Shape {
		n = mulSat(n, uint64(s))
	}
	switch {
	case len(c.Shape) > MaxDims:
		return diag.Errorf(CodeTensor, Site{}, "a buffer of %d dimensions: at most %d", len(c.Shape), MaxDims).
			WithHint("merge dimensions")
	case TypeName(c.DType) == "":
		return diag.Errorf(CodeTensor, Site{}, "the runtime has no element type for %s", c.DType).
			WithHint("store the elements in a dtype that the runtime knows, such as INT8 for packed 4-bit values")
	case n > math.MaxUint32:
		return diag.Errorf(CodeTensor, Site{}, "a buffer of shape %v has 2^32 or more elements: the runtime counts elements in 32 bits", c.Shape).
			WithHint("split the buffer")
	}
	return nil
}

func (r *Runtime) atArg(d *diag.Diagnostic, a *TaskArgs, arg int, site Site) *diag.Diagnostic {
	d.Span = site
	d.Message = "argument " + itoa(arg) + " of " + r.kernelsOf(a.Kind, a.Kernels) + ": " + d.Message
	return d
}

// lanes gives the kernels as they run: a lone second vector lane runs as the first.
func lanes(k [3]int32) [3]int32 {
	if k[1] < 0 && k[2] >= 0 {
		k[1], k[2] = k[2], -1
	}
	return k
}

func (r *Runtime) checkKernels(a *TaskArgs, site Site) bool {
	k := lanes(a.Kernels)
	if k[0] < 0 && k[1] < 0 || a.Kind == KindAIC && k[0] < 0 || a.Kind == KindAIV && k[1] < 0 {
		r.Fail(InvalidArgs, "mixed-without-kernels", diag.Errorf(CodeKernel, site, "a task without a kernel in the slot of its core").
			WithHint("give at least one kernel id, or submit a dummy task"))
		return false
	}
	for _, id := range k {
		if id >= 0 && r.cfg.Names != nil && int(id) >= len(r.cfg.Names) {
			r.Fail(InvalidArgs, "kernel-id-unknown", diag.Errorf(CodeKernel, site, "kernel id %d is not registered: there are %d kernels", id, len(r.cfg.Names)).
				WithHint("the id is the kernel's position in the kernel table"))
			return false
		}
	}
	if a.Blocks < 0 || a.Blocks > maxBlocks {
		r.Fail(InvalidArgs, "launch-block-num", diag.Errorf(CodeBlocks, site, "%d blocks: a task runs 1 to %d", a.Blocks, maxBlocks).
			WithHint("launch no task when there is nothing to do; for more blocks, let each do several parts"))
		return false
	}
	if a.SyncStart && a.Blocks > 1 {
		limit, what := int32(r.cfg.Clusters), "clusters"
		if k[0] < 0 && k[2] < 0 {
			limit, what = 2*limit, "vector cores"
		}
		if a.Blocks > limit {
			r.Fail(SyncStartInvalid, "sync-start", diag.Errorf(CodeSyncStart, site, "sync_start with %d blocks: all must be resident at once, and there are %d %s", a.Blocks, limit, what).
				WithHint("launch at most that many blocks (pl.available_* gives the number), or drop sync_start"))
			return false
		}
	}
	return true
}

// checkHandle reports a handle that is not a tensor in memory. The span is the caller's to fill.
func (r *Runtime) checkHandle(t *Tensor) *diag.Diagnostic {
	switch {
	case t.Addr == 0:
		return diag.Errorf(CodeTensor, Site{}, "the tensor was never initialised").WithHint("a tensor variable must be assigned on every path before it is used")
	case len(t.Shape) > MaxDims || len(t.Strides) != len(t.Shape):
		return diag.Errorf(CodeTensor, Site{}, "a tensor of %d dimensions with %d strides: at most %d of both", len(t.Shape), len(t.Strides), MaxDims).
			WithHint("give one stride for each dimension, and merge dimensions with a reshape when there are more")
	case TypeName(t.DType) == "":
		return diag.Errorf(CodeTensor, Site{}, "the runtime has no element type for %s", t.DType).
			WithHint("store the elements in a dtype that the runtime knows, such as INT8 for packed 4-bit values")
	}
	lo, hi := t.Bytes()
	if lo == hi {
		return nil
	}
	if hi < lo || lo < t.Addr || hi-t.Addr > t.Size {
		return diag.Errorf(CodeTensor, Site{}, "the tensor of shape %v ends %d bytes past its buffer of %d bytes", t.Shape, hi-t.Addr-t.Size, t.Size).
			WithHint("make the buffer bigger or the window smaller")
	}
	if !r.mem.has(lo, hi-lo) {
		return diag.Errorf(CodeTensor, Site{}, "the tensor does not lie in device memory").WithHint("wrap only memory that came from an entry tensor or the runtime")
	}
	return nil
}

func (r *Runtime) checkPredicate(p *Predicate, site Site) bool {
	fail := func(d *diag.Diagnostic) bool {
		d.Span, d.Code = site, CodePredicate
		d.Message = "predicate: " + d.Message
		r.Fail(InvalidArgs, "predicate-rank", d)
		return false
	}
	if !p.Op.IsCompare() {
		return fail(diag.Errorf(CodePredicate, site, "%s is not a comparison", p.Op).
			WithHint("compare with ==, !=, <, <=, > or >="))
	}
	if d := r.checkHandle(&p.Tensor); d != nil {
		return fail(d)
	}
	if len(p.Index) != len(p.Tensor.Shape) {
		return fail(diag.Errorf(CodePredicate, site, "%d indices for a tensor of %d dimensions", len(p.Index), len(p.Tensor.Shape)).
			WithHint("give one index per dimension; the shape is %v", p.Tensor.Shape))
	}
	if _, err := p.Tensor.Flat(p.Index); err != nil {
		return fail(err.(*diag.Diagnostic))
	}
	if p.Tensor.Owner != InvalidTask {
		maker, issued := r.lookup(p.Tensor.Owner)
		if !issued {
			return fail(diag.Errorf(CodePredicate, site, "the operand belongs to task %s, which is no task of this run", p.Tensor.Owner).
				WithHint("use tensors that this run made, or its entry tensors"))
		}
		if maker == nil || !maker.inScope {
			r.outlived(&p.Tensor, maker, site)
		}
	}
	if !p.Tensor.DType.IsSigned() || p.Tensor.DType.Bits() < 8 {
		r.warn(diag.Warningf(CodePredicate, site, "a predicate over %s: the scheduler sign-extends the element's bits and compares them as an integer", p.Tensor.DType).
			WithHint("gate on a signed integer tensor; an unsigned 200 compares as -56, a float by its bit pattern"))
	}
	return true
}

func (r *Runtime) checkScopeTasks(site Site) bool {
	s := &r.scopes[len(r.scopes)-1]
	if n := len(r.scopeTasks) - s.first; n >= int(r.rings[r.ringNumber()].mask) {
		d := diag.Errorf(CodeScopeTasks, site, "the scope holds %d tasks: its ring has a window of %d, and none can retire before the scope ends", n, r.rings[r.ringNumber()].mask+1).
			WithHint("split the scope, or raise task_window of ring %d in [simulator] of Pto.toml (on a device PTO2_RING_TASK_WINDOW)", r.ringNumber())
		if s.site.IsValid() {
			d.WithRelated(s.site, "the scope begins here")
		} else {
			d.WithRelated(site, "it stands outside of all scopes, in the one that ends with the orchestration")
		}
		r.Fail(ScopeDeadlock, "scope-deadlock", d)
		return false
	}
	if len(r.scopeTasks) >= r.cfg.Limits.ScopeTasks {
		r.Fail(ScopeTasksOverflow, "scope-tasks-overflow", diag.Errorf(CodeScopeTasks, site, "all open scopes together hold %d tasks, which is the limit", len(r.scopeTasks)).
			WithHint("end scopes earlier"))
		return false
	}
	return true
}

// newTask takes the next slot and heap space of the current ring, waiting for room, and fills in what does not depend on other tasks.
func (r *Runtime) newTask(a *TaskArgs, site Site) *task {
	g := &r.rings[r.ringNumber()]
	var need uint64
	for i := range a.Args {
		if a.Args[i].Tag == Output {
			need += outputBytes(a.Args[i].Create)
		}
	}
	if !r.waitForSlot(g, site) {
		return nil
	}
	start, ok := r.waitForHeap(g, need, site)
	if !ok {
		return nil
	}
	local := g.head
	t := g.slot(local)
	g.head++
	t.reset()
	t.id, t.kind, t.kernels, t.blocks, t.sync = TaskID(r.ringNumber())<<32|TaskID(local), a.Kind, lanes(a.Kernels), max(a.Blocks, 1), a.SyncStart
	t.seq, t.site, t.refs, t.inScope, t.slot = r.seq, site, 1, true, int8(a.TimingSlot)
	t.heapStart, t.heapEnd, t.submitted = start, start+need, r.machine.host
	t.args, t.scalars = append(t.args, a.Args...), append(t.scalars, a.Scalars...)
	r.seq++
	r.machine.host += r.costs.Submit
	g.heapHead = t.heapEnd
	r.scopeTasks = append(r.scopeTasks, t)
	if !g.held {
		g.held, g.oldestHeld = true, local
	}
	if p := a.Pred; p != nil && a.Kind != KindDummy && a.Kind != KindAlloc {
		at, _ := p.Tensor.Flat(p.Index) // checked before
		t.pred = predicate{true, p.Tensor.DType, p.Op, p.Tensor.Addr + at*uint64(p.Tensor.DType.Bytes()), p.Target}
	}
	if need > 0 {
		r.makeOutputs(g, t)
	}
	if r.graph != nil || r.rec != nil {
		g.nodeOf = append(g.nodeOf, int32(t.seq))
	}
	r.stats.ring(t.id).peaks(g, r.scopes[len(r.scopes)-1].site)
	return t
}

// outputBytes is the heap space of one created buffer. Empty ones get space too, so that every buffer has an address of its own.
func outputBytes(c *CreateInfo) uint64 {
	n := uint64(c.DType.Bytes())
	for _, s := range c.Shape {
		n = mulSat(n, uint64(s))
	}
	return max((n+outputAlign-1)/outputAlign*outputAlign, outputAlign)
}

// mulSat multiplies small factors and stops growing where no heap is that big.
func mulSat(a, b uint64) uint64 {
	if b != 0 && a > 1<<40/b {
		return 1 << 40
	}
	return a * b
}

// makeOutputs gives the created outputs of t their place in the heap and their initial contents.
func (r *Runtime) makeOutputs(g *ring, t *task) {
	at := g.base + t.heapStart%g.size
	b := r.mem.Bytes(at, t.heapEnd-t.heapStart)
	if off := t.heapStart % g.size; off+uint64(len(b)) > g.virgin {
		Unwrite(b[max(g.virgin, off)-off:])
		g.virgin = off + uint64(len(b))
	}
	if r.graph != nil {
		r.forget(at, at+uint64(len(b)))
	}
	for i := range t.args {
		x := &t.args[i]
		if x.Tag != Output {
			continue
		}
		c := x.Create
		dims := r.u32s.take(2 * len(c.Shape))
		shape, strides := dims[:len(c.Shape):len(c.Shape)], dims[len(c.Shape):]
		copy(shape, c.Shape)
		n, _ := packedStrides(shape, strides) // rank and size were checked
		size := outputBytes(c)
		x.Tensor = Tensor{Addr: at, Size: size, Owner: t.id, DType: c.DType, Shape: shape, Strides: strides, ManualDep: c.ManualDep}
		if c.HasInit {
			r.dirty = true
			fillElements(r.mem.Bytes(at, n*uint64(c.DType.Bytes())), c.Init, c.DType.Bytes())
		}
		at += size
	}
}

func fillElements(b []byte, bits uint64, size int) {
	if len(b) < size {
		return
	}
	for i := range size {
		b[i] = byte(bits >> (8 * i))
	}
	for n := size; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// outputsOf lists the created outputs of a task.
func (r *Runtime) outputsOf(t *task) []Tensor {
	n := 0
	for i := range t.args {
		if t.args[i].Tag == Output {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := r.tensors.take(n)[:0]
	for i := range t.args {
		if t.args[i].Tag == Output {
			out = append(out, t.args[i].Tensor)
		}
	}
	return out
}

// kernelsOf names a task by its kernels.
func (r *Runtime) kernelsOf(kind TaskKind, kernels [3]int32) string {
	switch kind {
	case KindDummy:
		return "a dummy task"
	case KindAlloc:
		return "an allocation"
	}
	s := ""
	for i, id := range kernels {
		if id >= 0 && (i == 0 || id != kernels[i-1]) {
			if s != "" {
				s += "+"
			}
			s += r.kernelName(id)
		}
	}
	return s
}
