package native

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// ChildArg as first argument makes the tool a child: it answers one request and exits. It is no command of its own.
const ChildArg = "__orchestration"

// File descriptors of the child besides the standard ones.
const (
	fdRequest  = 3
	fdResponse = 4
	fdAsk      = 5 // see foreign.go
	fdAnswer   = 6
	fdProgress = 7
)

type request struct {
	Object    string // path of the shared object
	Source    string // name of the C++ file, as it stands in call sites
	Lines     []LineSpan
	Program   []byte
	Kernels   []plan.Kernel
	External  []externalFile
	Tensors   []exec.Tensor
	Scalars   []uint64
	Schedules []exec.Schedule
	Machine   sim.Config
	Foreign   []foreignOp // ops that the parent evaluates
	Inspect   *Inspection // of the first schedule; nil: none
	Forget    bool        // what C++ kernels wrote is not asked for
	Probe     bool        // in the first schedule, find out what C++ kernels do with their outputs
}

// externalFile is the shared object of a kernel written in C++.
type externalFile struct {
	ID           int
	Path, Source string
}

// message is one part of the answer. A complete answer has a Result for every schedule, or ends with Err.
type message struct {
	Fatal  *diag.Diagnostic // latched in the schedule that runs; its Result follows unless the child dies
	Trace  []byte           // a piece of the trace of the schedule that runs
	Result *result
	Err    *diag.Diagnostic // the request cannot be served
}

type result struct {
	Outputs [][]byte
	Trace   [][]byte // the pieces that were not sent before
	Diags   diag.List
	Tasks   int
	Stats   sim.Stats
	Effects [][]exec.Write
	Found   *Findings

	trace *trace.Log // of all pieces; the parent's
}

// LineSpan says which DSL place the lines First to Last of the C++ come from. Entries are in line order and do not overlap.
type LineSpan struct {
	First, Last int32
	Span        diag.Span
}

// place finds the DSL place of a C++ line.
func place(lines []LineSpan, line int32) (diag.Span, bool) {
	i, ok := slices.BinarySearchFunc(lines, line, func(l LineSpan, line int32) int {
		switch {
		case l.Last < line:
			return -1
		case l.First > line:
			return 1
		}
		return 0
	})
	if !ok {
		return diag.Span{}, false
	}
	return lines[i].Span, true
}

// ChildMain answers the request on the child's descriptors and exits.
func ChildMain() {
	childMain(func(p *ir.Program, table []plan.Kernel, reg *ops.Registry) sim.KernelRunner {
		if len(p.Funcs) == 0 { // a hand-written orchestration: its kernels are C++, or only its calls are of interest
			return nil
		}
		return kernels.New(p, reg).Runner(table)
	})
}

// runners makes the runner of a kernel table; nil runs no kernels.
type runners func(*ir.Program, []plan.Kernel, *ops.Registry) sim.KernelRunner

func childMain(newRunner runners) {
	runtime.LockOSThread()      // user code may keep thread-local state between calls
	debug.SetPanicOnFault(true) // a wild pointer of user code is a report of the call that it was given to
	lateCollection()            // the process lives for one request
	in, out := os.NewFile(fdRequest, "request"), os.NewFile(fdResponse, "response")
	w := messageWriter{w: out}
	send := func(m *message) {
		if w.write(m) != nil {
			os.Exit(1) // the parent is gone
		}
	}
	var req request
	if err := readMessage(in, &req); err != nil {
		send(&message{Err: diag.Errorf(CodeProtocol, diag.Span{}, "reading the request: %v", err)})
	} else if d := serve(&req, newRunner, send); d != nil {
		send(&message{Err: d})
	}
	os.Exit(0)
}

// lateCollection lets the first garbage collection come at 320 MB, which most runs do not reach, and then at five times of what is in use.
func lateCollection() {
	debug.SetGCPercent(8000) // of 4 MB
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, 400)
}

func serve(req *request, newRunner runners, send func(*message)) *diag.Diagnostic {
	prog, err := ir.Unmarshal(req.Program)
	if err != nil {
		return diag.Errorf(CodeProtocol, diag.Span{}, "reading the program: %v", err)
	}
	p, _ := mapProgress(fdProgress)
	runner := newRunner(prog, req.Kernels, childOps(req.Foreign))
	var ext *externals
	if len(req.External) > 0 {
		var d *diag.Diagnostic
		if ext, d = loadKernels(req, prog, p, runner); d != nil {
			return d
		}
		runner = ext
	}
	b := newBridge(req, p, runner)
	b.onFatal = func(d *diag.Diagnostic) { send(&message{Fatal: d}) }
	b.onTrace = func(piece []byte) { send(&message{Trace: piece}) }
	for i, s := range req.Schedules {
		b.progress.schedule.Store(int64(i))
		// A fresh copy for every schedule: static variables start anew.
		obj, d := load(req.Object)
		if d != nil {
			return d
		}
		if ext != nil {
			ext.first = i == 0
			ext.probing = req.Probe && ext.first
		}
		r, d := b.run(obj, s)
		if d != nil {
			return d
		}
		if ext != nil {
			r.Effects = ext.take()
			r.Diags.Add(ext.reports()...)
		}
		send(&message{Result: r})
		obj.unload()
	}
	return nil
}

// object is a loaded orchestration: addresses of its entry points.
type object struct{ handle, bind, expected, run uintptr }

func load(path string) (*object, *diag.Diagnostic) {
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, diag.Errorf(CodeLoad, diag.Span{}, "loading the compiled orchestration: %s", strings.ReplaceAll(err.Error(), path+": ", "")).
			WithHint(objectHint)
	}
	o := &object{handle: h}
	for _, f := range []struct {
		addr *uintptr
		name string
	}{{&o.bind, "pto_bind"}, {&o.expected, "pto_expected_args"}, {&o.run, "pto_run"}} {
		if *f.addr, err = purego.Dlsym(h, f.name); err != nil {
			return nil, diag.Errorf(CodeLoad, diag.Span{}, "the compiled orchestration has no %s", f.name).
				WithHint("it must include pto_orchestration_api.h and define aicpu_orchestration_config and aicpu_orchestration_entry")
		}
	}
	return o, nil
}

// entry is the name of the entry function.
func (o *object) entry() string {
	addr, err := purego.Dlsym(o.handle, "pto_entry")
	if err != nil {
		return ""
	}
	return text(*(**byte)(unsafe.Pointer(&addr)))
}

const configName = "aicpu_orchestration_config"

func (o *object) unload() { _ = purego.Dlclose(o.handle) } // static destructors run; what stays loaded is only memory

// run executes the orchestration once. What went wrong in it is in the result; an error is a failure of the tool itself.
func (b *bridge) run(obj *object, s exec.Schedule) (*result, *diag.Diagnostic) {
	req := b.req
	job := &exec.Job{Tensors: req.Tensors, Machine: req.Machine}
	job.Machine.Shared = true // user code has pointers to all of the memory
	found := func(*sim.Runtime) *Findings { return nil }
	if req.Inspect != nil && b.progress.schedule.Load() == 0 {
		found = req.Inspect.prepare(job)
	}
	rt, entry, err := exec.Prepare(job, s, b.runner, exec.KernelNames(req.Kernels))
	if err != nil {
		return nil, asDiag(err)
	}
	defer rt.Close()
	if job.Inspect == nil { // which may look at the whole trace
		rt.Trace().Full = b.onTrace
	}
	b.object = obj.handle
	b.start(rt)
	tensors, err := b.handles.take(len(entry))
	if err != nil {
		return nil, asDiag(err)
	}
	b.served() // gives the first handles
	for i := range entry {
		tensors[i].set(&entry[i])
	}
	purego.SyscallN(obj.bind, uintptr(unsafe.Pointer(b.channel)))
	args := []uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(tensors))), uintptr(len(entry)),
		uintptr(unsafe.Pointer(unsafe.SliceData(req.Scalars))), uintptr(len(req.Scalars))}
	want, _, _ := purego.SyscallN(obj.expected, args...)
	b.progress.run.Store(int64(obj.run))
	expected, got, at := int(int32(want)), len(entry)+len(req.Scalars), diag.Span{File: req.Source}
	if expected != 0 && expected != got {
		at = b.function(configName)
	}
	if rt.Fatal() == nil && rt.ExpectArgs(expected, got, at) == nil {
		purego.SyscallN(obj.run, args...)
	}
	b.progress.stack.Store(0)
	runtime.KeepAlive(req)
	if b.broken != nil {
		return nil, b.broken
	}
	res := exec.Finish(rt, entry, func() diag.Span { return b.function(obj.entry()) })
	return &result{Outputs: res.Outputs, Trace: res.Trace.Pieces(), Diags: res.Diags, Tasks: res.Tasks, Stats: res.Stats, Found: found(rt)}, nil
}

// watched notes which kernel runs.
type watched struct {
	sim.KernelRunner
	progress *progress
	mine     *kernelProgress // of the thread
	forks    *int            // of the run, so far
}

func (w *watched) Run(m *sim.Memory, c *sim.KernelCall) error {
	w.mine.enter(c)
	err := w.KernelRunner.Run(m, c)
	w.mine.leave()
	return err
}

// Fork is that of the runner.
func (w *watched) Fork() sim.KernelRunner {
	f, ok := w.KernelRunner.(sim.Forker)
	if !ok || *w.forks+1 == maxWorkers {
		return nil
	}
	r := f.Fork()
	if r == nil {
		return nil
	}
	*w.forks++
	return watch(r, w.progress, w.forks)
}

// watchedClusters keeps the cluster side of a runner that has one.
type watchedClusters struct {
	watched
	cluster sim.ClusterRunner
}

func (w *watchedClusters) RunCluster(m *sim.Memory, calls []sim.KernelCall) error {
	w.mine.enter(&calls[0])
	err := w.cluster.RunCluster(m, calls)
	w.mine.leave()
	return err
}

// watch is the runner of the thread that was forked last, of the orchestration's own without forks.
func watch(r sim.KernelRunner, p *progress, forks *int) sim.KernelRunner {
	if r == nil {
		return nil
	}
	w := watched{r, p, &p.kernels[*forks], forks}
	if c, ok := r.(sim.ClusterRunner); ok {
		return &watchedClusters{w, c}
	}
	return &w
}

func logText(level int32, at sim.Site, message string) string {
	names := [...]string{"error", "warning", "timing", "info", "debug"}
	return fmt.Sprintf("%s: %s: %s\n", at, names[min(max(level, 0), 4)], message)
}

func asDiag(err error) *diag.Diagnostic { return diag.AsList(err, CodeProtocol)[0] }
