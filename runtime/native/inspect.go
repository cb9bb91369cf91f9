package native

import (
	"context"

	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// What the engine is asked and answers with, as the host gets and gives it.
type (
	Inspection = protocol.Inspection
	Findings   = protocol.Findings
	LineSpan   = protocol.LineSpan
)

// Inspect is Run with a look at the first schedule.
func (e *Engine) Inspect(ctx context.Context, job *exec.Job, what *Inspection) ([]exec.Result, *Findings, error) {
	return e.run(ctx, job, what)
}
