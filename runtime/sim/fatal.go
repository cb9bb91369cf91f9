package sim

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Numbers of fatal errors, as the runtime defines them (spec runtime.md 2.14). KernelFailed is ours: on a device a kernel error is a crash.
const (
	ScopeDeadlock       = 1
	HeapRingDeadlock    = 2
	FlowControlDeadlock = 3
	DepPoolOverflow     = 4
	InvalidArgs         = 5
	SyncStartInvalid    = 7
	ExplicitFatal       = 9
	ScopeTasksOverflow  = 10
	MapOverflow         = 11
	KernelFailed        = 200
)

// Error is a fatal error of a run: the run's result is -Number. The first one is latched; from then on every call returns an empty result.
type Error struct {
	Number int
	Diag   *diag.Diagnostic
}

func (e *Error) Error() string { return e.Diag.Error() }

// Unwrap gives the report, so that diag.AsList finds it.
func (e *Error) Unwrap() error { return e.Diag }

// Fail latches a fatal error. what is its name in the trace.
func (r *Runtime) Fail(number int, what string, d *diag.Diagnostic) {
	if r.fatal != nil {
		return
	}
	r.fatal = &Error{number, d}
	r.diags.Add(d)
	if r.rec != nil {
		r.rec.add(&trace.Error{What: what, Detail: d.Message})
	}
}

// Fatal returns the latched error, nil when there is none.
func (r *Runtime) Fatal() *Error { return r.fatal }

// ReportFatal is rt_report_fatal: the program gives up with a number of its own.
func (r *Runtime) ReportFatal(number int, message string, site Site) {
	r.Fail(number, "fatal", diag.Errorf(CodeReported, site, "the program reported fatal error %d: %s", number, message).
		WithHint("the orchestration itself decided to stop here"))
}

// Diagnostics returns what was reported so far, the fatal error included, in the order of the calls; a warning comes once per place.
func (r *Runtime) Diagnostics() diag.List { return r.diags }

// Report adds a report of the caller's to those of the run, once per code and place. It does not stop the run.
func (r *Runtime) Report(d *diag.Diagnostic) { r.warn(d) }

// warn reports d unless the same code was reported for the same place; it does not stop the run.
func (r *Runtime) warn(d *diag.Diagnostic) {
	k := warnKey{d.Code, d.Span, ""}
	if !d.Span.IsValid() {
		k.message = d.Message
	}
	if r.warned[k] {
		return
	}
	if r.warned == nil {
		r.warned = map[warnKey]bool{}
	}
	r.warned[k] = true
	r.diags.Add(d)
}

type warnKey struct {
	code    diag.Code
	at      Site
	message string
}

// String names a task in messages.
func (id TaskID) String() string {
	if id == InvalidTask {
		return "invalid"
	}
	return fmt.Sprintf("%d:%d", id>>32, uint32(id))
}
