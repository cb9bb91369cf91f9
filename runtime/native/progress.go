package native

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// progress is a page shared between parent and child through a mapped file: what the child is doing, for the report when it dies or hangs. The C++ side
// writes call and stack.
type progress struct {
	call     atomic.Int64 // the last call: C++ line, inside, the call
	kernel   atomic.Int64 // 1 + id of the kernel that runs, 0 for none
	schedule atomic.Int64 // index of the schedule that runs
	stack    atomic.Int64 // an address in the first frame of the user code, 0 before it starts
	run      atomic.Int64 // address of pto_run
	code     atomic.Int64 // address of pto_kernel of the C++ kernel that runs, 0 for none

	// The call of the kernel that runs: written by the child before kernel, read by the parent when the child is dead or hangs.
	task, block, blocks int64
	line, col           int64 // of the submit
	file                [256]byte
	fileLen             int64
}

// enterKernel notes a kernel call.
func (p *progress) enterKernel(c *sim.KernelCall) {
	p.task, p.block, p.blocks = int64(c.Ordinal), int64(c.Block), int64(c.BlockCount)
	p.line, p.col = int64(c.Site.Line), int64(c.Site.Col)
	if f := c.Site.File; p.fileLen != int64(len(f)) || string(p.file[:min(p.fileLen, int64(len(p.file)))]) != f {
		p.fileLen = int64(copy(p.file[:], f))
	}
	p.kernel.Store(int64(c.Kernel) + 1)
}

// site is where the task of the kernel that runs was submitted.
func (p *progress) site() diag.Span {
	return diag.Span{File: string(p.file[:min(max(p.fileLen, 0), int64(len(p.file)))]), Line: int32(p.line), Col: int32(p.col)}
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

func newProgress(path string) (*progressFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(unsafe.Sizeof(progress{}))); err != nil {
		f.Close()
		return nil, err
	}
	p, fence := mapProgress(int(f.Fd()))
	return &progressFile{p, fence, f}, nil
}

// Close unmaps the page and closes the file.
func (p *progressFile) Close() {
	if p.fence != nil {
		_ = syscall.Munmap(p.fence) // fails only on what is not mapped
	}
	p.file.Close()
}

// mapProgress maps the page of a descriptor; when that fails, private memory: progress is only for reports. The page lies between pages that cannot be
// written, so that a kernel that runs past its tensor dies before it reaches what tells of it.
func mapProgress(fd int) (p *progress, fence []byte) {
	size, guard := int(unsafe.Sizeof(progress{})), os.Getpagesize()
	fence, err := syscall.Mmap(-1, 0, 3*guard, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil || size > guard {
		return new(progress), nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(fence))) + uintptr(guard)
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, at, uintptr(guard), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_FIXED, uintptr(fd), 0)
	if errno != 0 || got != at {
		return new(progress), fence
	}
	return (*progress)(unsafe.Pointer(&fence[guard])), fence
}
