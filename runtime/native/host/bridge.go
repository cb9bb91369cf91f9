package host

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/native/debuginfo"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// bridge carries out the commands of the C++ side on one simulated runtime after the other.
type bridge struct {
	req      *protocol.Request
	progress *protocol.Progress
	runner   sim.KernelRunner
	forks    int                    // of the runner, in this run
	onFatal  func(*diag.Diagnostic) // called once per run, when an error is latched
	onTrace  func(piece []byte)     // called while the trace grows; nil: it is kept
	channel  *cChannel
	buffer   []uint64 // of commands

	rt      *sim.Runtime
	handles handleArena
	task    sim.TaskArgs // scratch of submit: the runtime copies what it keeps of it
	pred    sim.Predicate
	u32s    chunk[uint32] // shapes, strides and indices, which stay with the runtime
	infos   chunk[sim.CreateInfo]

	object uintptr // the loaded orchestration

	site     sim.Site // of the last call but scope ends
	file     *byte    // the file name of that call, and what it says
	name     string
	isSource bool
	places   [64]sim.Site // DSL lines of C++ lines, by a part of the line
	lines    [64]int32    // whose they are

	reading bool // memory of user code is being read: a fault is a wild pointer
	told    bool // onFatal was called
	broken  *diag.Diagnostic
}

func newBridge(req *protocol.Request, p *protocol.Progress, runner sim.KernelRunner) *bridge {
	b := &bridge{req: req, progress: p, onFatal: func(*diag.Diagnostic) {}, buffer: make([]uint64, commandBytes/8)}
	b.runner = watch(runner, p, &b.forks)
	b.channel = &cChannel{serve: purego.NewCallback(b.serve), progress: p, buffer: unsafe.Pointer(&b.buffer[0]), capacity: commandBytes}
	return b
}

// commandBytes is the room for commands: it stays in the cache of the core, and the largest command fits several times.
const commandBytes = 32 << 10

// start points the bridge at the runtime of the next run.
func (b *bridge) start(rt *sim.Runtime) {
	b.rt, b.forks, b.broken, b.told, b.file = rt, 0, nil, false, nil
	b.site = sim.Site{File: b.req.Source}
	b.handles = handleArena{mem: rt.Memory()}
	*b.channel = cChannel{serve: b.channel.serve, progress: b.progress, buffer: b.channel.buffer, capacity: b.channel.capacity}
	b.u32s, b.infos = nil, nil
}

// at is the place of a command: a DSL line when the C++ is ours, else the C++ line.
func (b *bridge) at(c *cCommand) sim.Site {
	if c.file == nil {
		return b.site
	}
	if c.file != b.file {
		b.file, b.name = c.file, text(c.file)
		b.isSource = b.name == b.req.Source
		b.lines = [64]int32{}
	}
	at := sim.Site{File: b.name, Line: c.line, Col: 1}
	if k := c.line & 63; b.lines[k] == c.line && c.line > 0 {
		at = b.places[k]
	} else if b.isSource {
		at = b.place(at)
		b.places[k], b.lines[k] = at, c.line
	}
	if c.op != opScopeEnd { // scopes also end while an exception leaves them
		b.site = at
	}
	return at
}

// place is the DSL place of a C++ line when the C++ is ours.
func (b *bridge) place(at sim.Site) sim.Site {
	if at.File == b.req.Source {
		if s, ok := protocol.Place(b.req.Lines, at.Line); ok {
			return s
		}
	}
	return at
}

// function is the place of a function of the source, without a line when it cannot be told.
func (b *bridge) function(name string) sim.Site {
	at := sim.Site{File: b.req.Source}
	object, err := os.ReadFile(protocol.Object)
	if err != nil {
		return at
	}
	if at.Line = debuginfo.FunctionLine(object, name, b.req.Source); at.Line > 0 {
		at.Col = 1
	}
	return b.place(at)
}

// serve carries out the commands in the buffer.
func (b *bridge) serve() {
	defer b.served()
	p, end := b.channel.buffer, unsafe.Add(b.channel.buffer, b.channel.used)
	for uintptr(p) < uintptr(end) {
		c := (*cCommand)(p)
		b.do(c, reader{unsafe.Add(p, unsafe.Sizeof(*c))})
		p = unsafe.Add(p, c.bytes)
	}
}

// served ends the service. A panic must not unwind through C++ frames: it is a wild pointer of user code or a fault of the tool.
func (b *bridge) served() {
	if p := recover(); p != nil {
		if b.reading {
			b.fail(sim.InvalidArgs, "wild-pointer", diag.Errorf(protocol.CodePointer, b.site, protocol.PointerMessage).WithHint(protocol.PointerHint))
		} else {
			b.internal(fmt.Sprint(p))
		}
		b.reading = false
	}
	c := b.channel
	c.used, c.done = 0, c.seq
	if f := b.rt.Fatal(); f != nil {
		c.dead = 1
		if !b.told {
			b.told = true
			b.onFatal(f.Diag)
		}
		return
	}
	if c.slotCount <= sim.MaxTensors {
		if ts, err := b.handles.take(handleChunk); err != nil {
			b.internal(err.Error())
			c.dead = 1
		} else {
			c.slots, c.slotCount = &ts[0], handleChunk
		}
	}
}

// internal ends the run with a fault of the tool itself.
func (b *bridge) internal(what string) {
	if b.broken == nil {
		b.broken = diag.Errorf(protocol.CodeProtocol, b.site, "internal error in the simulator: %s", what).WithHint("this is a fault of ptobuild; please report it with the source")
		b.fail(sim.KernelFailed, "internal-error", b.broken)
	}
}

func (b *bridge) fail(number int, what string, d *diag.Diagnostic) { b.rt.Fail(number, what, d) }

// do carries out one command.
func (b *bridge) do(c *cCommand, r reader) {
	at := b.at(c)
	switch c.op {
	case opScopeBegin:
		b.rt.ScopeBegin(c.number != 0, at)
	case opScopeEnd:
		b.rt.ScopeEnd(at)
	case opAlloc:
		b.output(c, b.rt.Alloc(b.createInfos(r, int(c.number)), at))
	case opSubmit:
		h := next[cTaskHeader](&r)
		if b.checkTask(h, at) {
			b.output(c, b.rt.Submit(b.taskArgs(h, r, c.flags), at))
		}
	case opRead:
		next[uint64](&r)
		t, index := b.element(r, c.number)
		b.checkType(c, &t, at)
		b.channel.answer = b.rt.Read(t, index, at)
	case opWrite:
		bits := *next[uint64](&r)
		t, index := b.element(r, c.number)
		b.checkType(c, &t, at)
		b.rt.Write(t, index, bits, at)
	case opCount:
		if c.number != 0 {
			b.channel.answer = uint64(b.rt.AvailableAIV(at))
		} else {
			b.channel.answer = uint64(b.rt.AvailableClusters(at))
		}
	default:
		t := next[cTexts](&r)
		b.reading = true
		message, hint := text(t.message), text(t.hint)
		b.reading = false
		switch c.op {
		case opFatal:
			b.rt.ReportFatal(int(c.number), message, at)
		case opMisuse:
			if faultCode(c.number) == protocol.CodeException {
				if here := thrown(b.object, protocol.Object, "pto_run"); here.IsValid() {
					at = b.place(here)
				}
			}
			b.fail(sim.InvalidArgs, "misuse", diag.Errorf(faultCode(c.number), at, "%s", message).WithHint("%s", hint))
		case opLog:
			fmt.Fprint(os.Stderr, logText(c.number, at, message))
		}
	}
}

// checkType reports an access that takes the bits of a number for those of another kind of number. Unsigned types of the same size or more are how bits are meant.
func (b *bridge) checkType(c *cCommand, t *sim.Tensor, at sim.Site) {
	name := "double"
	if c.flags != accessDouble {
		given := dtypeOf(uint8(c.flags))
		bits := given.IsInt() && !given.IsSigned() && given.Bytes() >= t.DType.Bytes()
		if bits || given == t.DType || !given.IsFloat() && !t.DType.IsFloat() {
			return
		}
		name = given.String()
	}
	if t.Addr == 0 { // which is reported
		return
	}
	b.rt.Report(diag.Warningf(protocol.CodeElementType, at, "an element of type %s is accessed as %s", t.DType, name).
		WithHint("the bits are copied as they are: name the type of the tensor, as in get_tensor_data<float> or set_tensor_data<float>"))
}

// reader walks over the payload of a command, whose parts are rounded up to 8 bytes.
type reader struct{ p unsafe.Pointer }

func next[T any](r *reader) *T {
	t := (*T)(r.p)
	r.p = unsafe.Add(r.p, (unsafe.Sizeof(*t)+7)&^7)
	return t
}

func nextN[T any](r *reader, n int) []T {
	s := unsafe.Slice((*T)(r.p), n)
	var t T
	r.p = unsafe.Add(r.p, (uintptr(n)*unsafe.Sizeof(t)+7)&^7)
	return s
}

// faultCode is the report code of the header's Fault.
func faultCode(fault int32) diag.Code { return diag.Code(fmt.Sprintf("PTO-R%03d", fault)) }

// checkTask reports a block count that the runtime would take for "not set".
func (b *bridge) checkTask(h *cTaskHeader, at sim.Site) bool {
	if b.rt.Fatal() != nil {
		return false
	}
	if sim.TaskKind(h.kind_) <= sim.KindMixed && (h.blockNum < 1 || h.blockNum > 32767) {
		b.fail(sim.InvalidArgs, "launch-block-num", diag.Errorf(sim.CodeBlocks, at, "%d blocks: a task runs 1 to 32767", h.blockNum).
			WithHint("see launch_spec.set_block_num; guard the submit when there is nothing to do"))
		return false
	}
	return true
}

// taskArgs reads the arguments of a submit.
func (b *bridge) taskArgs(h *cTaskHeader, r reader, flags uint16) *sim.TaskArgs {
	a := &b.task
	*a = sim.TaskArgs{
		Kind: sim.TaskKind(h.kind_), Kernels: h.kernels, Blocks: h.blockNum, SyncStart: h.syncStart != 0, EarlyResolve: h.earlyResolve != 0,
		TimingSlot: h.timingSlot, OrderOnly: h.orderOnly, DumpAll: h.dumpAll != 0, Args: a.Args[:0], Scalars: a.Scalars[:0], Deps: a.Deps[:0], Dump: a.Dump[:0],
	}
	for i, tag := range nextN[uint8](&r, int(h.tensorCount)) {
		a.Args = append(a.Args, sim.Arg{Tag: sim.ArgTag(tag)})
		if h.dumpMask&(1<<i) != 0 {
			a.Dump = append(a.Dump, i)
		}
	}
	for i := range a.Args {
		if arg := &a.Args[i]; arg.Tag == sim.Output {
			arg.Create = &b.infos.take(1)[0]
			b.info(arg.Create, next[cCreateInfo](&r))
		} else {
			b.handle(&arg.Tensor, next[cTensor](&r))
		}
	}
	bits := nextN[uint64](&r, int(h.scalarCount))
	for i, t := range nextN[uint8](&r, int(h.scalarCount)) {
		a.Scalars = append(a.Scalars, sim.Scalar{Bits: bits[i], Type: scalarTypes[t&63]})
	}
	if flags&depsByPointer != 0 {
		b.reading = true
		a.Deps = append(a.Deps, unsafe.Slice(h.deps, h.depCount)...)
		b.reading = false
	} else {
		a.Deps = append(a.Deps, nextN[sim.TaskID](&r, int(h.depCount))...)
	}
	if h.predicated != 0 {
		p := next[cPredicate](&r)
		b.pred = sim.Predicate{Op: [...]ir.BinOp{ir.Eq, ir.Eq, ir.Ne, ir.Gt, ir.Lt, ir.Ge, ir.Le}[min(p.op, 6)], Target: p.target}
		b.handle(&b.pred.Tensor, next[cTensor](&r))
		b.pred.Index = b.u32s.copy(p.indices[:min(p.ndims, 5)])
		a.Pred = &b.pred
	}
	return a
}

// createInfos reads those of an allocation; of more than the runtime takes, one too many is enough.
func (b *bridge) createInfos(r reader, n int) []sim.CreateInfo {
	list := b.infos.take(min(n, sim.MaxAllocInfos+1))
	for i, c := range nextN[cCreateInfo](&r, min(n, sim.MaxAllocInfos)) {
		b.info(&list[i], &c)
	}
	return list
}

// element reads the arguments of an element access.
func (b *bridge) element(r reader, n int32) (x sim.Tensor, index []uint32) {
	b.handle(&x, next[cTensor](&r))
	return x, b.u32s.copy(nextN[uint32](&r, int(n)))
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

// output hands the result of a submit or allocation to the C++ side, which knows the id.
func (b *bridge) output(c *cCommand, o sim.Outputs) {
	if b.rt.Fatal() != nil {
		return
	}
	if uint64(o.Task) != c.id {
		b.internal(fmt.Sprintf("task %#x was foretold as %#x", uint64(o.Task), c.id))
		return
	}
	slots := unsafe.Slice(c.slots, len(o.Tensors))
	for i := range slots {
		slots[i].set(&o.Tensors[i])
	}
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

// handleChunk is how many handles are made at once.
const handleChunk = 4096

// handleArena hands out tensor handles that user code may keep pointers to for the whole run.
type handleArena struct {
	mem  *sim.Memory
	free []cTensor
}

func (h *handleArena) take(n int) ([]cTensor, error) {
	if n > len(h.free) {
		count := max(n, handleChunk)
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
