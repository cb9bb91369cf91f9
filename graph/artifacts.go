package graph

import (
	"context"
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/artifact"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Artifacts says where files about a run go; the zero value asks for none.
type Artifacts struct {
	Dir  string         // made when it is not there
	Args artifact.Level // of the argument dump; 0: none
}

// write interprets the plan of a job once more, in one order, and writes what it did. The compiled C++ does exactly the same; where something is written in C++,
// it is what runs. A run that fails leaves files about the part before.
func (a *Artifacts) write(ctx context.Context, t *Tester, built *Built, job *exec.Job, s exec.Schedule, dir string) diag.List {
	var dump *artifact.ArgsDump
	var err error
	one := *job
	one.Schedules = []exec.Schedule{s}
	if built.Target.Hand != nil || job.HasExternal() && t.Toolchain != nil {
		engine, err := t.compiled(ctx, built)
		if err != nil {
			return diag.AsList(err, CodeTestSetup)
		}
		_, found, err := engine.Inspect(ctx, &one, &native.Inspection{Dir: dir, Orchestration: job.Plan.Func, Args: a.Args, Dirs: exec.KernelDirs(job)})
		switch {
		case err != nil:
			return diag.AsList(err, CodeTestSetup)
		case found.Failed != "":
			return diag.List{diag.Errorf(CodeOutput, diag.Span{File: dir}, "the artefacts cannot be written: %s", found.Failed)}
		}
		return nil
	}
	if a.Args != 0 {
		dump = &artifact.ArgsDump{Level: a.Args, Dirs: exec.KernelDirs(job)}
		one.Machine.Observe = dump.Observe
	}
	one.Inspect = func(_ exec.Schedule, rt *sim.Runtime) { err = artifact.Write(dir, job.Plan.Func, rt, dump) }
	if _, runErr := (&exec.Plan{Ops: t.Builder.Ops}).Run(ctx, &one); runErr != nil {
		return diag.AsList(runErr, CodeTestSetup)
	}
	if err != nil {
		return diag.List{diag.Errorf(CodeOutput, diag.Span{File: dir}, "the artefacts cannot be written: %v", err)}
	}
	return nil
}

// ArgsLevel reads the value of --dump-args.
func ArgsLevel(n int) (artifact.Level, error) {
	if n < 0 || n > int(artifact.Metadata) {
		return 0, fmt.Errorf("--dump-args %d: give 1 for arguments marked with dump(), 2 for all, 3 for all without contents", n)
	}
	return artifact.Level(n), nil
}
