package protocol

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Progress is memory shared between parent and child through a mapped file: what the child is doing, for the report when it dies or hangs. The C++ side
// writes call and stack.
type Progress struct {
	Call     atomic.Int64 // the last call: C++ line, inside, the call
	Schedule atomic.Int64 // index of the schedule that runs
	Stack    atomic.Int64 // an address in the first frame of the user code, 0 before it starts
	Run      atomic.Int64 // address of pto_run
	Kernels  [MaxWorkers]KernelProgress
}

// MaxWorkers is how many threads can run kernels at the same time.
const MaxWorkers = 32

// KernelProgress is the kernel call of one thread. The rest is written before kernel, and read when the child is dead or hangs.
type KernelProgress struct {
	Kernel atomic.Int64 // 1 + id of the kernel that runs, 0 for none
	Code   atomic.Int64 // address of pto_kernel of the C++ kernel that runs, 0 for none

	Task, Block, Blocks int64
	line, col           int64 // of the submit
	file                [256]byte
	fileLen             int64

	// Of a kernel in C++: where its tensor arguments lie, and whether the call is a repetition with other values in its outputs.
	windows [sim.MaxTensors][2]uint64
	args    int64
	Probe   int64
}

// Arguments notes where the arguments of a call lie for the kernel.
func (p *KernelProgress) Arguments(c *sim.KernelCall, moved *[sim.MaxTensors]uint64) {
	p.args = int64(copyWindows(p.windows[:], c.Args))
	for i := range p.args {
		p.windows[i][0] += moved[i]
		p.windows[i][1] += moved[i]
	}
}

func copyWindows(to [][2]uint64, args []sim.Arg) int {
	n := min(len(to), len(args))
	for i := range n {
		to[i][0], to[i][1] = args[i].Tensor.Bytes()
	}
	return n
}

// Next says which argument an address that cannot be used lies next to: as close as a page, and closer than to others.
func (p *KernelProgress) Next(addr uint64, name func(arg int) string) string {
	text, best := "", uint64(1<<20)
	for i := range p.windows[:min(max(p.args, 0), int64(len(p.windows)))] {
		lo, hi := p.windows[i][0], p.windows[i][1]
		switch {
		case lo == hi:
		case addr >= hi && addr-hi < best:
			text, best = "beyond the end of "+name(i), addr-hi
		case addr < lo && lo-addr < best:
			text, best = "before the start of "+name(i), lo-addr
		}
	}
	return text
}

// Enter notes a kernel call.
func (p *KernelProgress) Enter(c *sim.KernelCall) {
	p.Task, p.Block, p.Blocks = int64(c.Ordinal), int64(c.Block), int64(c.BlockCount)
	p.line, p.col = int64(c.Site.Line), int64(c.Site.Col)
	if f := c.Site.File; p.fileLen != int64(len(f)) || string(p.file[:min(p.fileLen, int64(len(p.file)))]) != f {
		p.fileLen = int64(copy(p.file[:], f))
	}
	p.Kernel.Store(int64(c.Kernel) + 1)
}

// Leave notes its end.
func (p *KernelProgress) Leave() { p.Kernel.Store(0) }

// Site is where the task of the kernel that runs was submitted.
func (p *KernelProgress) Site() diag.Span {
	return diag.Span{File: string(p.file[:min(max(p.fileLen, 0), int64(len(p.file)))]), Line: int32(p.line), Col: int32(p.col)}
}

// Running is the call of a kernel that has not ended; without one, that of a thread that runs none. When a kernel hangs, all others have ended.
func (p *Progress) Running() *KernelProgress {
	for i := range p.Kernels {
		if k := &p.Kernels[i]; k.Kernel.Load() != 0 {
			return k
		}
	}
	return &p.Kernels[0]
}

const inside = 1 << 32 // in Progress.Call: the call has not returned

// Call is a runtime call of the C++ side.
type Call uint8

const (
	NoCall Call = iota
	CallScopeBegin
	CallScopeEnd
	CallAlloc
	CallAIC
	CallAIV
	CallMixed
	CallDummy
	CallRead
	CallWrite
	CallCount
	CallFatal
	CallLog
)

func (c Call) String() string {
	return [...]string{"", "a scope begin", "a scope end", "alloc_tensors", "rt_submit_aic_task", "rt_submit_aiv_task", "rt_submit_task", "rt_submit_dummy_task",
		"get_tensor_data", "set_tensor_data", "rt_available_*_count", "a fatal report", "a log line"}[c]
}

// Last is the last call, whether it has not returned, and its C++ line (0 when there was none).
func (p *Progress) Last() (c Call, in bool, line int32) {
	w := p.Call.Load()
	return Call(w >> 33), w&inside != 0, int32(uint32(w))
}

// MapProgress maps the file of a descriptor; when that fails, private memory: progress is only for reports. It lies between pages that cannot be
// written, so that a kernel that runs past its tensor dies before it reaches what tells of it.
func MapProgress(fd int) (p *Progress, fence []byte) {
	guard := os.Getpagesize()
	size := (int(unsafe.Sizeof(Progress{})) + guard - 1) / guard * guard
	fence, err := syscall.Mmap(-1, 0, size+2*guard, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return new(Progress), nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(fence))) + uintptr(guard)
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, at, uintptr(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_FIXED, uintptr(fd), 0)
	if errno != 0 || got != at {
		return new(Progress), fence
	}
	return (*Progress)(unsafe.Pointer(&fence[guard])), fence
}
