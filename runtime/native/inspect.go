package native

import (
	"context"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/artifact"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Inspection says what the child does with the runtime of the first schedule of a job after its end: the runtime cannot leave the process.
type Inspection struct {
	Names  check.Names
	Advise bool

	Dir           string // artefacts go here, "": there are none
	Orchestration string // the name of the entry function in them
	Args          artifact.Level
	Dirs          [][]ir.ParamDir // of kernel parameters, where they are known
}

// Findings are what an inspection gave.
type Findings struct {
	Report *check.Report
	Advice *check.Advice
	Failed string // why the artefacts could not be written
}

// Inspect is Run with a look at the first schedule.
func (e *Engine) Inspect(ctx context.Context, job *exec.Job, what *Inspection) ([]exec.Result, *Findings, error) {
	return e.run(ctx, job, what)
}

// prepare makes a runtime keep what the inspection wants to see. The function looks at it when it has ended.
func (w *Inspection) prepare(job *exec.Job) func(rt *sim.Runtime) *Findings {
	var dump *artifact.ArgsDump
	if w.Args != 0 {
		dump = &artifact.ArgsDump{Level: w.Args, Dirs: w.Dirs}
		job.Machine.Observe = dump.Observe
	}
	job.Inspect = func(exec.Schedule, *sim.Runtime) {} // keeps the graph
	return func(rt *sim.Runtime) *Findings {
		f := &Findings{}
		if w.Dir != "" {
			if err := artifact.Write(w.Dir, w.Orchestration, rt, dump); err != nil {
				f.Failed = err.Error()
			}
			return f
		}
		if f.Report = check.Run(rt, w.Names); w.Advise {
			f.Advice = check.Advise(rt, w.Names)
		}
		return f
	}
}
