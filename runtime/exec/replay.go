package exec

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// replay runs kernels on the evaluator, and for those written in C++ repeats what a compiled run of the same schedule recorded.
type replay struct {
	sim.KernelRunner
	external []bool    // by kernel id
	effects  [][]Write // of the calls that are left
}

// runner runs the kernels of a job under a schedule.
func runner(job *Job, reg *ops.Registry, s Schedule, stop func() error) sim.KernelRunner {
	program := kernels.New(job.Program, reg)
	program.Stop = stop
	inner := program.Runner(job.Plan.Kernels)
	if !job.HasExternal() {
		return inner
	}
	r := &replay{KernelRunner: inner, external: make([]bool, len(job.Plan.Kernels)), effects: job.Effects[s]}
	for _, k := range job.Plan.Kernels {
		if k.External != nil && k.ID < len(r.external) {
			r.external[k.ID] = true
		}
	}
	return r
}

// Run implements sim.KernelRunner.
func (r *replay) Run(m *sim.Memory, c *sim.KernelCall) error {
	if int(c.Kernel) >= len(r.external) || !r.external[c.Kernel] {
		return r.KernelRunner.Run(m, c)
	}
	if len(r.effects) == 0 {
		return diag.Errorf(CodeExternal, diag.Span{}, "it is written in C++, which runs only with the compiled orchestration").
			WithHint("run without --no-compile, on a machine with a C++ compiler")
	}
	for _, w := range r.effects[0] {
		if w.Arg < 0 || w.Arg >= len(c.Args) {
			continue // of another call: the traces differ, which is reported
		}
		lo, _ := c.Args[w.Arg].Tensor.Bytes()
		copy(m.Bytes(lo+uint64(w.Offset), uint64(len(w.Data))), w.Data)
	}
	r.effects = r.effects[1:]
	return nil
}

// RunCluster implements sim.ClusterRunner: lanes that the evaluator can run together stay together.
func (r *replay) RunCluster(m *sim.Memory, calls []sim.KernelCall) error {
	cluster, ok := r.KernelRunner.(sim.ClusterRunner)
	for i := range calls {
		ok = ok && !(int(calls[i].Kernel) < len(r.external) && r.external[calls[i].Kernel])
	}
	if ok {
		return cluster.RunCluster(m, calls)
	}
	for i := range calls {
		if err := r.Run(m, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}
