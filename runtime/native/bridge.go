package native

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// bridge turns the calls of the C++ side into calls of one simulated runtime after the other.
type bridge struct {
	req      *request
	progress *progress
	runner   sim.KernelRunner
	onFatal  func(*diag.Diagnostic) // called once per run, when an error is latched
	table    *cTable

	rt      *sim.Runtime
	handles handleArena
	task    sim.TaskArgs // scratch of submit: the runtime copies what it keeps of it
	pred    sim.Predicate
	u32s    chunk[uint32] // shapes, strides and indices, which stay with the runtime
	infos   chunk[sim.CreateInfo]

	site     sim.Site // of the last call but scope ends
	file     *byte    // the file name of that call, and what it says
	name     string
	isSource bool

	reading bool // C structs are being read: a fault is a wild pointer of user code
	told    bool // onFatal was called
	broken  *diag.Diagnostic
}

func newBridge(req *request, p *progress, runner sim.KernelRunner) *bridge {
	b := &bridge{req: req, progress: p, runner: watch(runner, p), onFatal: func(*diag.Diagnostic) {}}
	b.table = b.callbacks()
	return b
}

// start points the bridge at the runtime of the next run.
func (b *bridge) start(rt *sim.Runtime) {
	b.rt, b.broken, b.told, b.file = rt, nil, false, nil
	b.site = sim.Site{File: b.req.Source}
	b.handles = handleArena{mem: rt.Memory()}
	b.u32s, b.infos = nil, nil
}

// begin notes a call. Its place is a DSL line when the C++ is ours, else the C++ line.
func (b *bridge) begin(c call, file *byte, line int32) sim.Site {
	b.progress.begin(c, line)
	if file == nil {
		return b.site
	}
	if file != b.file {
		b.file, b.name = file, text(file)
		b.isSource = b.name == b.req.Source
	}
	at := sim.Site{File: b.name, Line: line, Col: 1}
	if b.isSource {
		if s, ok := place(b.req.Lines, line); ok {
			at = s
		}
	}
	if c != callScopeEnd { // scopes also end while an exception leaves them
		b.site = at
	}
	return at
}

// end closes a call. A panic must not unwind through C++ frames: it is a wild pointer of user code or a fault of the tool.
func (b *bridge) end() {
	if p := recover(); p != nil {
		if b.reading {
			b.fail(sim.InvalidArgs, "wild-pointer", diag.Errorf(CodePointer, b.site, "this call was given a pointer to memory that is not there").
				WithHint("tensors, create-infos and dependency arrays must live until the submit; look for a null or dangling pointer"))
		} else if b.broken == nil {
			b.broken = diag.Errorf(CodeProtocol, b.site, "internal error in the simulator: %v", p).WithHint("this is a fault of ptobuild; please report it with the source")
			b.fail(sim.KernelFailed, "internal-error", b.broken)
		}
		b.reading = false
	}
	if f := b.rt.Fatal(); f != nil && !b.told {
		b.told = true
		b.onFatal(f.Diag)
	}
	b.progress.end()
}

func (b *bridge) fail(number int, what string, d *diag.Diagnostic) { b.rt.Fail(number, what, d) }

func (b *bridge) callbacks() *cTable {
	cb := purego.NewCallback
	return &cTable{
		enter: cb(func(stack uintptr) { b.progress.stack.Store(int64(stack)) }),
		scopeBegin: cb(func(manual int32, file *byte, line int32) {
			defer b.end()
			b.rt.ScopeBegin(manual != 0, b.begin(callScopeBegin, file, line))
		}),
		scopeEnd: cb(func(file *byte, line int32) {
			defer b.end()
			b.rt.ScopeEnd(b.begin(callScopeEnd, file, line))
		}),
		alloc: cb(func(infos unsafe.Pointer, n uint32, out *cOutputs, file *byte, line int32) {
			defer b.end()
			at := b.begin(callAlloc, file, line)
			b.output(out, b.rt.Alloc(b.createInfos(infos, n), at))
		}),
		submit: cb(func(task *cTask, out *cOutputs, file *byte, line int32) {
			defer b.end()
			at := b.begin(callOf(task), file, line)
			if b.checkTask(task, at) {
				b.output(out, b.rt.Submit(b.taskArgs(task), at))
			}
		}),
		read: cb(func(t *cTensor, n uint32, idx *uint32, file *byte, line int32) uint64 {
			defer b.end()
			at := b.begin(callRead, file, line)
			x, index := b.element(t, n, idx)
			return b.rt.Read(x, index, at)
		}),
		write: cb(func(t *cTensor, n uint32, idx *uint32, bits uint64, file *byte, line int32) {
			defer b.end()
			at := b.begin(callWrite, file, line)
			x, index := b.element(t, n, idx)
			b.rt.Write(x, index, bits, at)
		}),
		count: cb(func(aiv int32, file *byte, line int32) int32 {
			defer b.end()
			at := b.begin(callCount, file, line)
			if aiv != 0 {
				return b.rt.AvailableAIV(at)
			}
			return b.rt.AvailableClusters(at)
		}),
		fatal: cb(func(code int32, message *byte, file *byte, line int32) {
			defer b.end()
			at := b.begin(callFatal, file, line)
			b.rt.ReportFatal(int(code), text(message), at)
		}),
		misuse: cb(func(fault int32, message, hint *byte, file *byte, line int32) {
			defer b.end()
			at := b.site
			if file != nil {
				at = b.begin(callFatal, file, line)
			}
			b.fail(sim.InvalidArgs, "misuse", diag.Errorf(faultCode(fault), at, "%s", text(message)).WithHint("%s", text(hint)))
		}),
		isFatal: cb(func() int32 {
			if b.rt.Fatal() != nil {
				return 1
			}
			return 0
		}),
		log: cb(func(level int32, message *byte, file *byte, line int32) {
			defer b.end()
			fmt.Fprint(os.Stderr, logText(level, b.begin(callLog, file, line), text(message)))
		}),
	}
}

// faultCode is the report code of the header's Fault.
func faultCode(fault int32) diag.Code { return diag.Code(fmt.Sprintf("PTO-R%03d", fault)) }

func callOf(t *cTask) call {
	if sim.TaskKind(t.kind_) == sim.KindAlloc {
		return callAlloc
	}
	return callAIC + call(t.kind_)
}

// checkTask reports what the header recorded while the arguments were built, and a block count that the runtime would take for "not set".
func (b *bridge) checkTask(t *cTask, at sim.Site) bool {
	if b.rt.Fatal() != nil {
		return false
	}
	if t.err != nil {
		if t.errLine > 0 {
			at = b.begin(callOf(t), b.file, t.errLine)
		}
		b.fail(sim.InvalidArgs, "builder-error", diag.Errorf(faultCode(t.errCode), at, "%s", text(t.err)).WithHint("%s", text(t.hint)))
		return false
	}
	if sim.TaskKind(t.kind_) <= sim.KindMixed && (t.blockNum < 1 || t.blockNum > 32767) {
		b.fail(sim.InvalidArgs, "launch-block-num", diag.Errorf(sim.CodeBlocks, at, "%d blocks: a task runs 1 to 32767", t.blockNum).
			WithHint("see launch_spec.set_block_num; guard the submit when there is nothing to do"))
		return false
	}
	return true
}

// taskArgs reads the arguments of a submit.
func (b *bridge) taskArgs(t *cTask) *sim.TaskArgs {
	b.reading = true
	a := &b.task
	*a = sim.TaskArgs{
		Kind: sim.TaskKind(t.kind_), Kernels: t.kernels, Blocks: t.blockNum, SyncStart: t.syncStart != 0, EarlyResolve: t.earlyResolve != 0,
		TimingSlot: t.timingSlot, DumpAll: t.dumpAll != 0, Args: a.Args[:0], Scalars: a.Scalars[:0], Deps: a.Deps[:0], Dump: a.Dump[:0],
	}
	for i := range min(t.tensorCount, 32) {
		a.Args = append(a.Args, sim.Arg{Tag: sim.ArgTag(t.tags[i])})
		if arg := &a.Args[i]; arg.Tag == sim.Output {
			arg.Create = &b.infos.take(1)[0]
			b.info(arg.Create, (*cCreateInfo)(t.refs[i]))
		} else {
			b.handle(&arg.Tensor, (*cTensor)(t.refs[i]))
		}
		if t.dumpMask&(1<<i) != 0 {
			a.Dump = append(a.Dump, int(i))
		}
	}
	for i := range min(t.scalarCount, 16) {
		a.Scalars = append(a.Scalars, sim.Scalar{Bits: t.scalars[i], Type: scalarTypes[t.scalarTypes[i]&63]})
	}
	for _, id := range unsafe.Slice(t.deps, t.depCount) {
		a.Deps = append(a.Deps, sim.TaskID(id))
	}
	if p := &t.pred; p.op != 0 && p.tensor != nil {
		b.pred = sim.Predicate{Op: [...]ir.BinOp{ir.Eq, ir.Eq, ir.Ne, ir.Gt, ir.Lt, ir.Ge, ir.Le}[min(p.op, 6)], Target: p.target}
		b.handle(&b.pred.Tensor, p.tensor)
		b.pred.Index = b.u32s.copy(p.indices[:min(p.ndims, 5)])
		a.Pred = &b.pred
	}
	b.reading = false
	return a
}

// createInfos reads the array of an allocation; a longer one than the runtime takes is cut to one too many.
func (b *bridge) createInfos(infos unsafe.Pointer, n uint32) []sim.CreateInfo {
	b.reading = true
	n = min(n, sim.MaxAllocInfos+1)
	list := b.infos.take(int(n))
	for i, p := range unsafe.Slice((**cCreateInfo)(infos), min(n, sim.MaxAllocInfos)) {
		b.info(&list[i], p)
	}
	b.reading = false
	return list
}

// element reads the arguments of an element access.
func (b *bridge) element(t *cTensor, n uint32, idx *uint32) (x sim.Tensor, index []uint32) {
	b.reading = true
	b.handle(&x, t)
	index = b.u32s.copy(unsafe.Slice(idx, min(n, 6))) // six are one too many for any tensor
	b.reading = false
	return x, index
}

func (b *bridge) handle(x *sim.Tensor, t *cTensor) {
	n := min(t.ndims, 5)
	dims := b.u32s.take(int(2 * n))
	x.Shape, x.Strides = dims[:n:n], dims[n:]
	copy(x.Shape, t.shapes[:n])
	copy(x.Strides, t.strides[:n])
	x.Addr, x.Size, x.Owner, x.Start = t.addr, t.size, sim.TaskID(t.owner), t.start
	x.DType, x.ManualDep, x.Version = dtypeOf(t.dtype), t.manualDep != 0, t.version
}

func (b *bridge) info(x *sim.CreateInfo, c *cCreateInfo) {
	*x = sim.CreateInfo{Shape: b.u32s.copy(c.shapes[:min(c.ndims, 5)]), DType: dtypeOf(c.dtype), ManualDep: c.manualDep != 0, HasInit: c.hasInit != 0, Init: c.init}
}

// output hands the result of a submit or allocation to the C++ side.
func (b *bridge) output(out *cOutputs, o sim.Outputs) {
	*out = cOutputs{task: uint64(o.Task)}
	if len(o.Tensors) == 0 {
		return
	}
	ts, err := b.handles.take(len(o.Tensors))
	if err != nil {
		b.broken = asDiag(err)
		b.fail(sim.KernelFailed, "internal-error", b.broken)
		return
	}
	for i := range o.Tensors {
		ts[i].set(&o.Tensors[i])
	}
	out.tensors, out.count = &ts[0], uint32(len(ts))
}

// chunk hands out slices of bigger ones.
type chunk[T any] []T

func (c *chunk[T]) take(n int) []T {
	if n > len(*c) {
		*c = make([]T, max(n, 1024))
	}
	s := (*c)[:n:n]
	*c = (*c)[n:]
	return s
}

func (c *chunk[T]) copy(from []T) []T {
	s := c.take(len(from))
	copy(s, from)
	return s
}

// handleArena hands out tensor handles that user code may keep pointers to for the whole run.
type handleArena struct {
	mem  *sim.Memory
	free []cTensor
}

func (h *handleArena) take(n int) ([]cTensor, error) {
	if n > len(h.free) {
		const chunk = 4096
		count := max(n, chunk)
		size := uint64(count) * uint64(unsafe.Sizeof(cTensor{}))
		addr, err := h.mem.Map(size)
		if err != nil {
			return nil, err
		}
		h.free = unsafe.Slice((*cTensor)(unsafe.Pointer(unsafe.SliceData(h.mem.Bytes(addr, size)))), count)
	}
	ts := h.free[:n:n]
	h.free = h.free[n:]
	return ts, nil
}
