package host

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// externals runs the kernels of a table that are C++, and gives the others to the evaluator. What a C++ kernel wrote is kept, so that a run of the plan
// can repeat it without running user code.
type externals struct {
	inner   sim.KernelRunner
	funcs   map[int32]uintptr // pto_kernel of each C++ kernel
	loaded  map[int32]loadedKernel
	names   []string
	params  protocol.ArgNames
	p       *protocol.KernelProgress // these kernels run on one thread
	effects [][]exec.Write           // of the schedule that runs, call by call

	args    [kernelArgs]int64
	handles [sim.MaxTensors]cTensor
	local   localContext
	global  globalContext
	text    [256]byte

	foot         footprint
	guard        guarded
	forget       bool // effects are not kept
	first        bool // of the schedules
	probing      bool // calls are repeated, see probe
	habits       map[int32]*kernelHabits
	after, other []byte // scratch of probe
}

type loadedKernel struct {
	handle uintptr
	path   string
}

// Positions in the argument block (spec: runtime 3.2), and what the last two point to; the structs are those of kernel/intrinsic.h.
const (
	kernelArgs    = 50
	localArg      = 48
	globalArg     = 49
	kernelOK      = 0
	kernelThrew   = 1 // with a text
	objectHint    = "it must be a shared object for this machine that needs no symbols of others"
	mergeGap      = 16 // bytes between two changes that are told as one
	inputReadOnly = "an input may be read by other tasks at the same time: give the argument as add_inout or add_output"
)

type localContext struct {
	blockIdx, blockNum int32
	async              unsafe.Pointer
}

type globalContext struct {
	subBlock, _ int32
	workspace   [6]unsafe.Pointer
}

// loadKernels loads the C++ kernels of a request.
func loadKernels(req *protocol.Request, prog *ir.Program, p *protocol.Progress, inner sim.KernelRunner) (*externals, *diag.Diagnostic) {
	x := &externals{inner: inner, funcs: map[int32]uintptr{}, loaded: map[int32]loadedKernel{}, names: exec.KernelNames(req.Kernels), params: exec.KernelParams(prog, req.Kernels), p: &p.Kernels[0], habits: map[int32]*kernelHabits{}, forget: req.Forget}
	x.args[localArg] = int64(uintptr(unsafe.Pointer(&x.local)))
	x.args[globalArg] = int64(uintptr(unsafe.Pointer(&x.global)))
	for i := range x.handles {
		x.args[i] = int64(uintptr(unsafe.Pointer(&x.handles[i])))
	}
	for _, k := range req.External {
		h, err := purego.Dlopen(k.Path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			return nil, diag.Errorf(protocol.CodeLoad, diag.Span{File: k.Source}, "loading kernel '%s': %s", x.name(k.ID), strings.ReplaceAll(err.Error(), k.Path+": ", "")).WithHint(objectHint)
		}
		f, err := purego.Dlsym(h, protocol.KernelSymbol)
		if err != nil {
			return nil, diag.Errorf(protocol.CodeLoad, diag.Span{File: k.Source}, "the compiled kernel '%s' has no %s", x.name(k.ID), protocol.KernelSymbol).WithHint(objectHint)
		}
		x.funcs[int32(k.ID)], x.loaded[int32(k.ID)] = f, loadedKernel{h, k.Path}
	}
	return x, nil
}

func (x *externals) name(id int) string {
	if id < len(x.names) {
		return x.names[id]
	}
	return fmt.Sprint("#", id)
}

// Run implements sim.KernelRunner.
func (x *externals) Run(m *sim.Memory, c *sim.KernelCall) error {
	if f, ok := x.funcs[c.Kernel]; ok {
		return x.call(f, m, c)
	}
	if x.inner == nil {
		return nil
	}
	return x.inner.Run(m, c)
}

// RunCluster implements sim.ClusterRunner: lanes that the evaluator can run together stay together.
func (x *externals) RunCluster(m *sim.Memory, calls []sim.KernelCall) error {
	cluster, ok := x.inner.(sim.ClusterRunner)
	for i := range calls {
		ok = ok && x.funcs[calls[i].Kernel] == 0
	}
	if ok {
		return cluster.RunCluster(m, calls)
	}
	for i := range calls {
		x.p.Enter(&calls[i])
		if err := x.Run(m, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// call runs one block of one lane of a C++ kernel.
func (x *externals) call(f uintptr, m *sim.Memory, c *sim.KernelCall) error {
	n := len(c.Args)
	x.guard.place(m, c)
	for i := range c.Args {
		x.handles[i].set(&c.Args[i].Tensor)
		x.handles[i].addr += x.guard.moved[i]
		x.args[i] = int64(uintptr(unsafe.Pointer(&x.handles[i])))
	}
	for i := range c.Scalars {
		x.args[n+i] = int64(c.Scalars[i].Bits)
	}
	clear(x.args[n+len(c.Scalars) : localArg])
	x.local.blockIdx, x.local.blockNum, x.global.subBlock = int32(c.Block), int32(c.BlockCount), int32(c.SubBlock)
	x.foot.take(m, c)
	if x.first {
		x.unwritten(c)
	}
	x.p.Arguments(c, &x.guard.moved)
	x.text[0] = 0
	how := uintptr(0)
	run := func() {
		x.guard.enter()
		x.p.Code.Store(int64(f))
		how, _, _ = purego.SyscallN(f, uintptr(unsafe.Pointer(&x.args)), uintptr(unsafe.Pointer(&x.text)), unsafe.Sizeof(x.text))
		x.p.Code.Store(0)
		x.guard.leave()
	}
	run()
	var ws []exec.Write
	if !x.forget || x.probing {
		ws = x.foot.writes()
	}
	if !x.forget {
		x.effects = append(x.effects, ws)
	}
	if int32(how) == kernelOK {
		return x.judge(c, ws, run)
	}
	what := "a C++ exception left it"
	if int32(how) == kernelThrew {
		what += ": " + text(&x.text[0])
	}
	return diag.Errorf(protocol.CodeException, thrown(x.loaded[c.Kernel].handle, x.loaded[c.Kernel].path, protocol.KernelSymbol), "%s", what).WithHint("a kernel must not throw; check its arguments in the orchestration")
}

// judge looks at what a call did besides its results.
func (x *externals) judge(c *sim.KernelCall, ws []exec.Write, run func()) error {
	outside, input := x.foot.strays(func(arg int) string { return x.params.Of(int(c.Kernel), arg) })
	if outside != nil {
		return diag.Errorf(protocol.CodeStray, diag.Span{}, "it wrote outside of its arguments, %s", outside.text).
			WithHint("a task may touch the elements of its windows only: look at the kernel's bounds, and at the strides of views")
	}
	if input != nil {
		c.Warn(diag.Warningf(protocol.CodeInputWritten, c.Site, "kernel '%s' writes to %s, which the task gives as an input (%s)", x.name(int(c.Kernel)), x.params.Of(int(c.Kernel), input.arg), input.text).
			WithHint(inputReadOnly))
	}
	if !x.probing {
		return nil
	}
	h := x.note(c, func(arg int) bool { return slices.ContainsFunc(ws, func(w exec.Write) bool { return w.Arg == arg }) })
	if h.probed < probedCalls {
		h.probed++
		x.probe(c, h, run)
	}
	return nil
}

// take gives the effects of a schedule and starts anew.
func (x *externals) take() [][]exec.Write {
	e := x.effects
	x.effects = nil
	return e
}
