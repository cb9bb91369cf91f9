package host

import (
	"github.com/ptobuild/ptobuild/runtime/artifact"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// prepare makes a runtime keep what the inspection wants to see. The function looks at it when it has ended.
func prepare(w *protocol.Inspection, job *exec.Job) func(rt *sim.Runtime) *protocol.Findings {
	var dump *artifact.ArgsDump
	if w.Args != 0 {
		dump = &artifact.ArgsDump{Level: w.Args, Dirs: w.Dirs}
		job.Machine.Observe = dump.Observe
	}
	job.Inspect = func(exec.Schedule, *sim.Runtime) {} // keeps the graph
	return func(rt *sim.Runtime) *protocol.Findings {
		f := &protocol.Findings{}
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
