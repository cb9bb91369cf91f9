package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Engine runs compiled orchestrations.
type Engine struct {
	Children *Children
	Object   []byte // the shared object
	Source   string // name of the C++ file
	Lines    []LineSpan
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
	prog, err := ir.Marshal(job.Program)
	if err != nil {
		return nil, nil, err
	}
	req := protocol.Request{Source: e.Source, Lines: e.Lines, Program: prog, Kernels: job.Plan.Kernels, Tensors: job.Tensors,
		Scalars: job.Scalars, Schedules: job.Schedules, Machine: job.Machine, Foreign: foreignOps(e.Ops), Inspect: inspect, Forget: e.Forget, Probe: e.Probe}
	dir := ""
	if len(e.Kernels) > 0 {
		if dir, err = os.MkdirTemp("", "ptobuild-run-"); err != nil {
			return nil, nil, err
		}
		defer os.RemoveAll(dir)
	}
	for _, k := range e.Kernels {
		f := protocol.ExternalFile{ID: k.ID, Path: filepath.Join(dir, fmt.Sprintf("kernel%d.so", k.ID)), Source: k.Source}
		if err := os.WriteFile(f.Path, k.Object, 0o700); err != nil {
			return nil, nil, err
		}
		req.External = append(req.External, f)
	}
	answer, err := e.child(ctx, job, &req)
	if err != nil {
		return nil, nil, err
	}
	results := make([]exec.Result, len(answer))
	for i, r := range answer {
		results[i] = exec.Result{Outputs: r.Outputs, Trace: r.trace, Diags: r.Diags, Tasks: r.Tasks, Stats: r.Stats, Effects: r.Effects}
	}
	var found *Findings
	if inspect != nil && len(answer) > 0 {
		found = answer[0].Found
	}
	return results, found, nil
}

// child runs one child process to its end and returns a result for every schedule.
func (e *Engine) child(ctx context.Context, job *exec.Job, req *protocol.Request) ([]result, error) {
	timeout := job.Timeout
	if timeout == 0 {
		timeout = exec.DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errHang)
	defer cancel()
	c, err := e.Children.next()
	if err != nil {
		return nil, err
	}
	defer c.close()
	if len(req.Foreign) > 0 {
		c.evaluate(e.Ops)
	}
	if _, err := c.object.Write(e.Object); err != nil {
		c.kill()
		_ = c.wait()
		return nil, fmt.Errorf("handing over the orchestration: %w", err)
	}
	c.send(req, e.Output)
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	var results []result
	var fatal *diag.Diagnostic
	ours := c.ours()
	if ours {
		results, fatal, err = receive(c.response, len(req.Schedules))
	}
	if !ours || err != nil {
		c.kill() // nobody reads the rest
	}
	waitErr := c.wait()
	switch {
	case err != nil:
		return nil, err
	case !ours && ctx.Err() == nil:
		return nil, otherVersion(c.cmd.Path)
	case len(results) == len(req.Schedules):
		return results, nil
	}
	d := death{engine: e, job: job, progress: c.progress.Progress, output: c.output.last(), err: waitErr, timeout: timeout}
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(cause, errHang) {
			return nil, cause
		}
		d.hang = true
	}
	return nil, d.report(fatal)
}

var errHang = errors.New("timeout")

// result is that of one schedule with the whole trace.
type result struct {
	*protocol.Result
	trace *trace.Log
}

// receive reads the answer up to its end, to the death of the child or to the deadline. fatal is the error that the schedule without a result had
// latched. Traces are checked as they come, while the child goes on.
func receive(r io.Reader, want int) (results []result, fatal *diag.Diagnostic, err error) {
	read := new(trace.Reading) // of the schedule that runs
	for len(results) < want && err == nil {
		var m protocol.Message
		switch damage := protocol.Read(r, &m); {
		case errors.Is(damage, protocol.ErrDamaged):
			return nil, nil, unreadable("answer", damage)
		case damage != nil:
			return results, fatal, nil // Wait knows more
		}
		switch {
		case m.Err != nil:
			return nil, nil, m.Err
		case m.Fatal != nil:
			fatal = m.Fatal
		case m.Result != nil:
			err = read.Add(m.Result.Trace...)
			results, fatal, read = append(results, result{m.Result, read.Log()}), nil, new(trace.Reading)
		default:
			err = read.Add(m.Trace)
		}
	}
	if err != nil {
		return nil, nil, unreadable("trace", err)
	}
	return results, nil, nil
}

func unreadable(what string, err error) *diag.Diagnostic {
	return diag.Errorf(protocol.CodeProtocol, diag.Span{}, "reading the %s of the compiled run: %v", what, err).
		WithHint("the C++ may have written to a file descriptor that it did not open, or over memory of its process; otherwise report it with the source")
}
