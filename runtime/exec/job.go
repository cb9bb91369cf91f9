// Package exec describes one execution of one orchestration: entry data in, results out, whichever engine does it. Plan runs the plan in this process;
// runtime/native runs the compiled C++ in a child. Both give the same Result, so they can be compared.
package exec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Tensor is one entry tensor before the run: packed row-major elements.
type Tensor struct {
	DType ir.DType
	Shape []uint32
	Data  []byte
}

// Schedule is one order in which to run the tasks.
type Schedule struct {
	Policy sim.Policy
	Seed   uint64
}

func (s Schedule) String() string {
	if s.Policy == sim.Random {
		return fmt.Sprintf("random order, seed %d", s.Seed)
	}
	if s.Policy == sim.Late {
		return fmt.Sprintf("order with task %d as late as it can", s.Seed)
	}
	return s.Policy.String() + " order"
}

// Job is what to execute. The same entry data is given to every schedule.
type Job struct {
	Plan      *plan.File
	Program   *ir.Program // after the passes: holds the kernel bodies
	Tensors   []Tensor
	Scalars   []uint64 // bit patterns
	Schedules []Schedule
	Machine   sim.Config    // what to simulate; order, kernels and records are set for each run
	Timeout   time.Duration // of the compiled engine; 0: DefaultTimeout
	// Inspect, when set, sees the runtime of every schedule of the plan engine after its end, with the graph of the run (sim.Config.Check).
	Inspect func(s Schedule, rt *sim.Runtime)
	// Effects are what kernels written in C++ do. They run in the child of the compiled engine only, whose results say what each call
	// wrote; a run of the plan repeats that, so that user code cannot harm the tool.
	Effects map[Schedule][][]Write
}

// Write is a change that a call of a kernel made: bytes after the first element of a tensor argument.
type Write struct {
	Arg, Offset int
	Data        []byte
}

// HasExternal reports that kernels of the job are written in C++.
func (j *Job) HasExternal() bool {
	return slices.ContainsFunc(j.Plan.Kernels, func(k plan.Kernel) bool { return k.External != nil })
}

// DefaultTimeout is how long compiled code may run before it counts as hanging.
const DefaultTimeout = 60 * time.Second

// Result is one schedule's outcome.
type Result struct {
	Outputs [][]byte // every entry tensor after the run
	Trace   *trace.Log
	Diags   diag.List // fatal errors and warnings of the run
	Tasks   int
	Stats   sim.Stats
	Effects [][]Write // of kernels written in C++, call by call
	// Operands are what the predicates read; not of the compiled C++.
	Operands []sim.Operand
}

// Failed reports that the run did not end normally.
func (r *Result) Failed() bool { return r.Diags.HasErrors() }

// KernelNames lists kernel names by id, for reports and traces; nil when no kernel is known, so that every id is accepted.
func KernelNames(kernels []plan.Kernel) []string {
	if len(kernels) == 0 {
		return nil
	}
	names := make([]string, len(kernels))
	for _, k := range kernels {
		if k.ID >= 0 && k.ID < len(names) {
			names[k.ID] = k.Name
		}
	}
	return names
}

// Engine executes jobs.
type Engine interface {
	Run(ctx context.Context, job *Job) ([]Result, error)
}
