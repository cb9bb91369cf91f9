package exec

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// deadline ends runs of the plan engine that take too long, and those of a context that is done.
type deadline struct {
	ctx     context.Context
	after   time.Duration
	timer   *time.Timer
	expired atomic.Bool
}

func newDeadline(ctx context.Context, job *Job) *deadline {
	d := &deadline{ctx: ctx, after: job.Timeout}
	if d.after == 0 {
		d.after = DefaultTimeout
	}
	return d
}

// start begins a run, end ends it.
func (d *deadline) start() {
	d.expired.Store(false)
	d.timer = time.AfterFunc(d.after, func() { d.expired.Store(true) })
}

func (d *deadline) end() { d.timer.Stop() }

// check says why the run must stop, nil when it may go on.
func (d *deadline) check() error {
	if d.expired.Load() {
		return diag.Errorf(CodeTimeout, diag.Span{}, "it did not end within %s", d.after).
			WithHint("look for a loop without an end; when the run is only long, raise timeout in [simulator] of Pto.toml")
	}
	return context.Cause(d.ctx)
}
