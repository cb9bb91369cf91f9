// Package host is the process in which compiled C++ runs: it answers one request and ends. Only cmd/ptobuild-orchestration-host links it, and tests whose binary is their
// own host.
//
// host.go serves the request, bridge.go carries out the calls of the C++, external.go runs kernels that are C++, abi.go mirrors the C structs of the header.
package host

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Main answers the request on the process's descriptors and exits.
func Main() {
	if len(os.Args) != 2 || os.Args[1] != protocol.Arg {
		fmt.Fprintln(os.Stderr, "ptobuild starts this program to run compiled C++; there is nothing to do by hand.")
		os.Exit(2)
	}
	go ops.Builtin()            // which takes as long as the request and the object together
	runtime.LockOSThread()      // user code may keep thread-local state between calls
	debug.SetPanicOnFault(true) // a wild pointer of user code is a report of the call that it was given to
	lateCollection()            // the process lives for one request
	in, out := os.NewFile(protocol.RequestFD, "request"), os.NewFile(protocol.ResponseFD, "response")
	w := protocol.Writer{W: out}
	send := func(m any) {
		if w.Write(m) != nil {
			os.Exit(1) // the parent is gone
		}
	}
	send(&protocol.Hello{Build: protocol.Build()})
	var req protocol.Request
	if err := protocol.Read(in, &req); err != nil {
		send(&protocol.Message{Err: diag.Errorf(protocol.CodeProtocol, diag.Span{}, "reading the request: %v", err)})
	} else if d := serve(&req, func(m *protocol.Message) { send(m) }); d != nil {
		send(&protocol.Message{Err: d})
	}
	os.Exit(0)
}

// lateCollection lets the first garbage collection come at 320 MB, which most runs do not reach, and then at five times of what is in use.
func lateCollection() {
	debug.SetGCPercent(8000) // of 4 MB
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, 400)
}

func serve(req *protocol.Request, send func(*protocol.Message)) *diag.Diagnostic {
	prog, err := ir.Unmarshal(req.Program)
	if err != nil {
		return diag.Errorf(protocol.CodeProtocol, diag.Span{}, "reading the program: %v", err)
	}
	p, _ := protocol.MapProgress(protocol.ProgressFD)
	var runner sim.KernelRunner
	if len(prog.Funcs) > 0 { // else a hand-written orchestration: its kernels are C++, or only its calls are of interest
		runner = kernels.New(prog, hostOps(req.Foreign)).Runner(req.Kernels)
	}
	var ext *externals
	if len(req.External) > 0 {
		var d *diag.Diagnostic
		if ext, d = loadKernels(req, prog, p, runner); d != nil {
			return d
		}
		runner = ext
	}
	b := newBridge(req, p, runner)
	b.onFatal = func(d *diag.Diagnostic) { send(&protocol.Message{Fatal: d}) }
	b.onTrace = func(piece []byte) { send(&protocol.Message{Trace: piece}) }
	for i, s := range req.Schedules {
		b.progress.Schedule.Store(int64(i))
		// A fresh copy for every schedule: static variables start anew.
		obj, d := load(protocol.Object)
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
		send(&protocol.Message{Result: r})
		obj.unload()
	}
	return nil
}

// object is a loaded orchestration: addresses of its entry points.
type object struct{ handle, bind, expected, run uintptr }

func load(path string) (*object, *diag.Diagnostic) {
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, diag.Errorf(protocol.CodeLoad, diag.Span{}, "loading the compiled orchestration: %s", strings.ReplaceAll(err.Error(), path+": ", "")).
			WithHint(objectHint)
	}
	o := &object{handle: h}
	for _, f := range []struct {
		addr *uintptr
		name string
	}{{&o.bind, "pto_bind"}, {&o.expected, "pto_expected_args"}, {&o.run, "pto_run"}} {
		if *f.addr, err = purego.Dlsym(h, f.name); err != nil {
			return nil, diag.Errorf(protocol.CodeLoad, diag.Span{}, "the compiled orchestration has no %s", f.name).
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
func (b *bridge) run(obj *object, s exec.Schedule) (*protocol.Result, *diag.Diagnostic) {
	req := b.req
	job := &exec.Job{Tensors: req.Tensors, Machine: req.Machine}
	job.Machine.Shared = true // user code has pointers to all of the memory
	found := func(*sim.Runtime) *protocol.Findings { return nil }
	if req.Inspect != nil && b.progress.Schedule.Load() == 0 {
		found = prepare(req.Inspect, job)
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
	b.progress.Run.Store(int64(obj.run))
	expected, got, at := int(int32(want)), len(entry)+len(req.Scalars), diag.Span{File: req.Source}
	if expected != 0 && expected != got {
		at = b.function(configName)
	}
	if rt.Fatal() == nil && rt.ExpectArgs(expected, got, at) == nil {
		purego.SyscallN(obj.run, args...)
	}
	b.progress.Stack.Store(0)
	runtime.KeepAlive(req)
	if b.broken != nil {
		return nil, b.broken
	}
	res := exec.Finish(rt, entry, func() diag.Span { return b.function(obj.entry()) })
	return &protocol.Result{Outputs: res.Outputs, Trace: res.Trace.Pieces(), Diags: res.Diags, Tasks: res.Tasks, Stats: res.Stats, Found: found(rt)}, nil
}

// watched notes which kernel runs.
type watched struct {
	sim.KernelRunner
	progress *protocol.Progress
	mine     *protocol.KernelProgress // of the thread
	forks    *int                     // of the run, so far
}

func (w *watched) Run(m *sim.Memory, c *sim.KernelCall) error {
	w.mine.Enter(c)
	err := w.KernelRunner.Run(m, c)
	w.mine.Leave()
	return err
}

// Fork is that of the runner.
func (w *watched) Fork() sim.KernelRunner {
	f, ok := w.KernelRunner.(sim.Forker)
	if !ok || *w.forks+1 == protocol.MaxWorkers {
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
	w.mine.Enter(&calls[0])
	err := w.cluster.RunCluster(m, calls)
	w.mine.Leave()
	return err
}

// watch is the runner of the thread that was forked last, of the orchestration's own without forks.
func watch(r sim.KernelRunner, p *protocol.Progress, forks *int) sim.KernelRunner {
	if r == nil {
		return nil
	}
	w := watched{r, p, &p.Kernels[*forks], forks}
	if c, ok := r.(sim.ClusterRunner); ok {
		return &watchedClusters{w, c}
	}
	return &w
}

func logText(level int32, at sim.Site, message string) string {
	names := [...]string{"error", "warning", "timing", "info", "debug"}
	return fmt.Sprintf("%s: %s: %s\n", at, names[min(max(level, 0), 4)], message)
}

func asDiag(err error) *diag.Diagnostic { return diag.AsList(err, protocol.CodeProtocol)[0] }
