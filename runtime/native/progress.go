package native

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// progress is memory shared between parent and child through a mapped file: what the child is doing, for the report when it dies or hangs. The C++ side
// writes call and stack.
type progress struct {
	call     atomic.Int64 // the last call: C++ line, inside, the call
	schedule atomic.Int64 // index of the schedule that runs
	stack    atomic.Int64 // an address in the first frame of the user code, 0 before it starts
	run      atomic.Int64 // address of pto_run
	kernels  [maxWorkers]kernelProgress
}

// maxWorkers is how many threads can run kernels at the same time.
const maxWorkers = 32

// kernelProgress is the kernel call of one thread. The rest is written before kernel, and read when the child is dead or hangs.
type kernelProgress struct {
	kernel atomic.Int64 // 1 + id of the kernel that runs, 0 for none
	code   atomic.Int64 // address of pto_kernel of the C++ kernel that runs, 0 for none

	task, block, blocks int64
	line, col           int64 // of the submit
	file                [256]byte
	fileLen             int64

	// Of a kernel in C++: where its tensor arguments lie, and whether the call is a repetition with other values in its outputs.
	windows [sim.MaxTensors][2]uint64
	args    int64
	probe   int64
}

// arguments notes where the arguments of a call lie for the kernel.
func (p *kernelProgress) arguments(c *sim.KernelCall, moved *[sim.MaxTensors]uint64) {
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

// next says which argument an address that cannot be used lies next to: as close as a page, and closer than to others.
func (p *kernelProgress) next(addr uint64, name func(arg int) string) string {
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

// enter notes a kernel call.
func (p *kernelProgress) enter(c *sim.KernelCall) {
	p.task, p.block, p.blocks = int64(c.Ordinal), int64(c.Block), int64(c.BlockCount)
	p.line, p.col = int64(c.Site.Line), int64(c.Site.Col)
	if f := c.Site.File; p.fileLen != int64(len(f)) || string(p.file[:min(p.fileLen, int64(len(p.file)))]) != f {
		p.fileLen = int64(copy(p.file[:], f))
	}
	p.kernel.Store(int64(c.Kernel) + 1)
}

// leave notes its end.
func (p *kernelProgress) leave() { p.kernel.Store(0) }

// site is where the task of the kernel that runs was submitted.
func (p *kernelProgress) site() diag.Span {
	return diag.Span{File: string(p.file[:min(max(p.fileLen, 0), int64(len(p.file)))]), Line: int32(p.line), Col: int32(p.col)}
}

// running is the call of a kernel that has not ended; without one, that of a thread that runs none. When a kernel hangs, all others have ended.
func (p *progress) running() *kernelProgress {
	for i := range p.kernels {
		if k := &p.kernels[i]; k.kernel.Load() != 0 {
			return k
		}
	}
	return &p.kernels[0]
}

const inside = 1 << 32 // in progress.call: the call has not returned

// call is a runtime call of the C++ side.
type call uint8

const (
	noCall call = iota
	callScopeBegin
	callScopeEnd
	callAlloc
	callAIC
	callAIV
	callMixed
	callDummy
	callRead
	callWrite
	callCount
	callFatal
	callLog
)

func (c call) String() string {
	return [...]string{"", "a scope begin", "a scope end", "alloc_tensors", "rt_submit_aic_task", "rt_submit_aiv_task", "rt_submit_task", "rt_submit_dummy_task",
		"get_tensor_data", "set_tensor_data", "rt_available_*_count", "a fatal report", "a log line"}[c]
}

// last is the last call, whether it has not returned, and its C++ line (0 when there was none).
func (p *progress) last() (c call, in bool, line int32) {
	w := p.call.Load()
	return call(w >> 33), w&inside != 0, int32(uint32(w))
}

// progressFile is the parent's side.
type progressFile struct {
	*progress
	fence []byte // what is mapped
	file  *os.File
}

func newProgress() (*progressFile, error) {
	fd, err := unix.MemfdCreate("ptobuild-progress", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "progress")
	if err := f.Truncate(int64(unsafe.Sizeof(progress{}))); err != nil {
		f.Close()
		return nil, err
	}
	p, fence := mapProgress(fd)
	return &progressFile{p, fence, f}, nil
}

// Close unmaps the page and closes the file.
func (p *progressFile) Close() {
	if p.fence != nil {
		_ = syscall.Munmap(p.fence) // fails only on what is not mapped
	}
	p.file.Close()
}

// mapProgress maps the file of a descriptor; when that fails, private memory: progress is only for reports. It lies between pages that cannot be
// written, so that a kernel that runs past its tensor dies before it reaches what tells of it.
func mapProgress(fd int) (p *progress, fence []byte) {
	guard := os.Getpagesize()
	size := (int(unsafe.Sizeof(progress{})) + guard - 1) / guard * guard
	fence, err := syscall.Mmap(-1, 0, size+2*guard, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return new(progress), nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(fence))) + uintptr(guard)
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, at, uintptr(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_FIXED, uintptr(fd), 0)
	if errno != 0 || got != at {
		return new(progress), fence
	}
	return (*progress)(unsafe.Pointer(&fence[guard])), fence
}
