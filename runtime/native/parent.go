package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Engine runs compiled orchestrations. Exe is the binary to re-execute (os.Executable of the tool); its main must call ChildMain when its first
// argument is ChildArg.
type Engine struct {
	Exe    string
	Object []byte // the shared object
	Source string // name of the C++ file
	Lines  []LineSpan
	// Kernels are the kernels of the jobs' tables that are written in C++.
	Kernels []KernelObject
	Output  io.Writer     // what the orchestration prints and logs; nil: dropped
	Ops     *ops.Registry // that kernels use; nil: the built-in ones
	Forget  bool          // what C++ kernels wrote is no part of the results: there is no plan to repeat it
	Probe   bool          // repeat some calls of C++ kernels of the first schedule, to find out what they do with their outputs
}

// Run implements exec.Engine: all schedules of the job in one child process.
func (e *Engine) Run(ctx context.Context, job *exec.Job) ([]exec.Result, error) {
	results, _, err := e.run(ctx, job, nil)
	return results, err
}

func (e *Engine) run(ctx context.Context, job *exec.Job, inspect *Inspection) ([]exec.Result, *Findings, error) {
	dir, err := os.MkdirTemp("", "ptobuild-run-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	object := filepath.Join(dir, "orchestration.so")
	if err := os.WriteFile(object, e.Object, 0o700); err != nil {
		return nil, nil, err
	}
	prog, err := ir.Marshal(job.Program)
	if err != nil {
		return nil, nil, err
	}
	req := request{Object: object, Source: e.Source, Lines: e.Lines, Program: prog, Kernels: job.Plan.Kernels, Tensors: job.Tensors,
		Scalars: job.Scalars, Schedules: job.Schedules, Machine: job.Machine, Foreign: foreignOps(e.Ops), Inspect: inspect, Forget: e.Forget, Probe: e.Probe}
	for _, k := range e.Kernels {
		f := externalFile{ID: k.ID, Path: filepath.Join(dir, fmt.Sprintf("kernel%d.so", k.ID)), Source: k.Source}
		if err := os.WriteFile(f.Path, k.Object, 0o700); err != nil {
			return nil, nil, err
		}
		req.External = append(req.External, f)
	}
	answer, err := e.child(ctx, dir, job, &req)
	if err != nil {
		return nil, nil, err
	}
	results := make([]exec.Result, len(answer))
	for i, r := range answer {
		log, err := trace.ReadLog(r.Trace)
		if err != nil {
			return nil, nil, diag.Errorf(CodeProtocol, diag.Span{}, "reading the trace of the compiled run: %v", err)
		}
		results[i] = exec.Result{Outputs: r.Outputs, Trace: log, Diags: r.Diags, Tasks: r.Tasks, Stats: r.Stats, Effects: r.Effects}
	}
	var found *Findings
	if inspect != nil && len(answer) > 0 {
		found = answer[0].Found
	}
	return results, found, nil
}

// child runs one child process to its end and returns a result for every schedule.
func (e *Engine) child(ctx context.Context, dir string, job *exec.Job, req *request) ([]*result, error) {
	timeout := job.Timeout
	if timeout == 0 {
		timeout = exec.DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errHang)
	defer cancel()
	progress, err := newProgress(filepath.Join(dir, "progress"))
	if err != nil {
		return nil, err
	}
	defer progress.Close()
	reqR, reqW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	respR, respW, err := os.Pipe()
	if err != nil {
		reqR.Close()
		reqW.Close()
		return nil, err
	}
	defer respR.Close()
	output := &printed{to: e.Output}
	cmd := osexec.CommandContext(ctx, e.Exe, ChildArg)
	cmd.ExtraFiles = []*os.File{reqR, respW, progress.file}
	if len(req.Foreign) > 0 {
		done, err := e.answer(cmd)
		if err != nil {
			reqR.Close()
			reqW.Close()
			respW.Close()
			return nil, err
		}
		defer done()
	}
	cmd.Stdout, cmd.Stderr = output, output // user code may print; it must not reach our own output
	cmd.Env = []string{"GOTRACEBACK=none", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second // a process that user code started may keep the pipes open
	err = cmd.Start()
	reqR.Close()
	respW.Close()
	if err != nil {
		reqW.Close()
		return nil, fmt.Errorf("starting the child process: %w", err)
	}
	go func() {
		defer reqW.Close()
		_ = writeMessage(reqW, req) // a child that died reads nothing: Wait tells
	}()
	stop := context.AfterFunc(ctx, func() { respR.SetReadDeadline(time.Now()) })
	defer stop()
	results, fatal, err := receive(respR, len(req.Schedules))
	waitErr := cmd.Wait()
	switch {
	case err != nil:
		return nil, err
	case len(results) == len(req.Schedules):
		return results, nil
	}
	d := death{engine: e, job: job, progress: progress.progress, output: output.last(), err: waitErr, timeout: timeout}
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(cause, errHang) {
			return nil, cause
		}
		d.hang = true
	}
	return nil, d.report(fatal)
}

// answer gives the child the descriptors over which it asks for ops; done ends the answering.
func (e *Engine) answer(cmd *osexec.Cmd) (done func(), err error) {
	askR, askW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answerR, answerW, err := os.Pipe()
	if err != nil {
		askR.Close()
		askW.Close()
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, askW, answerR)
	ended := make(chan struct{})
	go func() {
		answerChild(e.Ops, askR, answerW)
		close(ended)
	}()
	return func() {
		askW.Close() // the child's own copy is gone by now
		answerR.Close()
		<-ended
		askR.Close()
		answerW.Close()
	}, nil
}

var errHang = errors.New("timeout")

// receive reads the answer up to its end, to the death of the child or to the deadline. fatal is the error that the schedule without a result had
// latched.
func receive(r io.Reader, want int) (results []*result, fatal *diag.Diagnostic, err error) {
	for len(results) < want {
		var m message
		if readMessage(r, &m) != nil {
			return results, fatal, nil // Wait knows more
		}
		switch {
		case m.Err != nil:
			return nil, nil, m.Err
		case m.Result != nil:
			results, fatal = append(results, m.Result), nil
		default:
			fatal = m.Fatal
		}
	}
	return results, nil, nil
}

// printed keeps the end of what the child prints.
type printed struct {
	to io.Writer

	mu  sync.Mutex
	end []byte
}

const keepPrinted = 64 << 10

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = append(p.end, b...)
	if len(p.end) > 2*keepPrinted {
		p.end = append(p.end[:0], p.end[len(p.end)-keepPrinted:]...)
	}
	if p.to != nil {
		_, _ = p.to.Write(b) // what the user prints to must not end the run
	}
	return len(b), nil
}

func (p *printed) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.end)
}
