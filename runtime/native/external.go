package native

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// externals runs the kernels of a table that are C++, and gives the others to the evaluator. What a C++ kernel wrote is kept, so that a run of the plan
// can repeat it without running user code.
type externals struct {
	inner   sim.KernelRunner
	funcs   map[int32]uintptr // pto_kernel of each C++ kernel
	names   []string
	p       *kernelProgress // these kernels run on one thread
	effects [][]exec.Write  // of the schedule that runs, call by call

	args    [kernelArgs]int64
	handles [sim.MaxTensors]cTensor
	local   localContext
	global  globalContext
	text    [256]byte
	before  []byte
}

// Positions in the argument block (spec: runtime 3.2), and what the last two point to; the structs are those of kernel/intrinsic.h.
const (
	kernelArgs    = 50
	localArg      = 48
	globalArg     = 49
	kernelSymbol  = "pto_kernel"
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
func loadKernels(req *request, p *progress, inner sim.KernelRunner) (*externals, *diag.Diagnostic) {
	x := &externals{inner: inner, funcs: map[int32]uintptr{}, names: exec.KernelNames(req.Kernels), p: &p.kernels[0]}
	x.args[localArg] = int64(uintptr(unsafe.Pointer(&x.local)))
	x.args[globalArg] = int64(uintptr(unsafe.Pointer(&x.global)))
	for i := range x.handles {
		x.args[i] = int64(uintptr(unsafe.Pointer(&x.handles[i])))
	}
	for _, k := range req.External {
		h, err := purego.Dlopen(k.Path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			return nil, diag.Errorf(CodeLoad, diag.Span{File: k.Source}, "loading kernel '%s': %s", x.name(k.ID), strings.ReplaceAll(err.Error(), k.Path+": ", "")).WithHint(objectHint)
		}
		f, err := purego.Dlsym(h, kernelSymbol)
		if err != nil {
			return nil, diag.Errorf(CodeLoad, diag.Span{File: k.Source}, "the compiled kernel '%s' has no %s", x.name(k.ID), kernelSymbol).WithHint(objectHint)
		}
		x.funcs[int32(k.ID)] = f
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
		x.p.enter(&calls[i])
		if err := x.Run(m, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// call runs one block of one lane of a C++ kernel.
func (x *externals) call(f uintptr, m *sim.Memory, c *sim.KernelCall) error {
	n := len(c.Args)
	for i := range c.Args {
		x.handles[i].set(&c.Args[i].Tensor)
		x.args[i] = int64(uintptr(unsafe.Pointer(&x.handles[i])))
	}
	for i := range c.Scalars {
		x.args[n+i] = int64(c.Scalars[i].Bits)
	}
	clear(x.args[n+len(c.Scalars) : localArg])
	x.local.blockIdx, x.local.blockNum, x.global.subBlock = int32(c.Block), int32(c.BlockCount), int32(c.SubBlock)
	x.remember(m, c)
	x.p.code.Store(int64(f))
	x.text[0] = 0
	how, _, _ := purego.SyscallN(f, uintptr(unsafe.Pointer(&x.args)), uintptr(unsafe.Pointer(&x.text)), unsafe.Sizeof(x.text))
	x.p.code.Store(0)
	x.effects = append(x.effects, x.changes(m, c))
	switch int32(how) {
	case kernelOK:
		return nil
	case kernelThrew:
		return diag.Errorf(CodeException, diag.Span{}, "a C++ exception left it: %s", text(&x.text[0])).WithHint("a kernel must not throw; check its arguments in the orchestration")
	}
	return diag.Errorf(CodeException, diag.Span{}, "a C++ exception left it").WithHint("a kernel must not throw; check its arguments in the orchestration")
}

// windows gives the memory between the first and the last element of each argument.
func windows(m *sim.Memory, c *sim.KernelCall, each func(arg int, b []byte)) {
	for i := range c.Args {
		if lo, hi := c.Args[i].Tensor.Bytes(); hi > lo {
			each(i, m.Bytes(lo, hi-lo))
		}
	}
}

// remember copies what a call may write.
func (x *externals) remember(m *sim.Memory, c *sim.KernelCall) {
	x.before = x.before[:0]
	windows(m, c, func(_ int, b []byte) { x.before = append(x.before, b...) })
}

// changes compares with the copy. Arguments may overlap: then a change is told for each, which does no harm.
func (x *externals) changes(m *sim.Memory, c *sim.KernelCall) []exec.Write {
	var ws []exec.Write
	at := 0
	windows(m, c, func(arg int, b []byte) {
		old := x.before[at : at+len(b)]
		at += len(b)
		found := len(ws)
		for i := 0; i < len(b); {
			if i+8 <= len(b) && *(*uint64)(unsafe.Pointer(&b[i])) == *(*uint64)(unsafe.Pointer(&old[i])) {
				i += 8
				continue
			}
			if b[i] == old[i] {
				i++
				continue
			}
			first, last := i, i
			for ; i < len(b) && i-last <= mergeGap; i++ {
				if b[i] != old[i] {
					last = i
				}
			}
			ws = append(ws, exec.Write{Arg: arg, Offset: first, Data: append([]byte(nil), b[first:last+1]...)})
		}
		if a := &c.Args[arg]; a.Tag == sim.Input && len(ws) > found && c.Block == 0 {
			size := a.Tensor.DType.Bytes()
			c.Warn(diag.Warningf(CodeInputWritten, c.Site, "kernel '%s' writes to argument %d, which the task gives as an input (element %d after its first)",
				x.name(int(c.Kernel)), arg, ws[found].Offset/max(size, 1)).WithHint(inputReadOnly))
		}
	})
	return ws
}

// take gives the effects of a schedule and starts anew.
func (x *externals) take() [][]exec.Write {
	e := x.effects
	x.effects = nil
	return e
}
