package exec

import (
	"context"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/interp"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Prepare makes the runtime of one schedule with the job's entry tensors in its memory. The caller closes the runtime.
func Prepare(job *Job, s Schedule, runner sim.KernelRunner, names []string) (*sim.Runtime, []sim.Tensor, error) {
	cfg := job.Machine
	cfg.Policy, cfg.Seed, cfg.Kernels, cfg.Names, cfg.Record = s.Policy, s.Seed, runner, names, true
	cfg.Check = job.Inspect != nil
	if cfg.Check {
		cfg.Dirs = KernelDirs(job)
	}
	rt, err := sim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	if len(job.Scalars) > sim.MaxEntryScalars {
		rt.Close()
		return nil, nil, diag.Errorf(sim.CodeArity, diag.Span{}, "%d entry scalars: an orchestration takes at most %d", len(job.Scalars), sim.MaxEntryScalars).
			WithHint("put the values into a tensor")
	}
	entry := make([]sim.Tensor, len(job.Tensors))
	for i, t := range job.Tensors {
		if entry[i], err = rt.NewTensor(t.DType, t.Shape...); err != nil {
			rt.Close()
			return nil, nil, err
		}
		if uint64(len(t.Data)) != entry[i].Size {
			rt.Close()
			return nil, nil, diag.Errorf(CodeData, diag.Span{}, "entry tensor %d holds %d bytes, but %s of shape %v has %d", i, len(t.Data), t.DType, t.Shape, entry[i].Size)
		}
		copy(rt.Memory().Bytes(entry[i].Addr, entry[i].Size), t.Data)
	}
	if err := rt.Entry(entry); err != nil {
		rt.Close()
		return nil, nil, err
	}
	return rt, entry, nil
}

// KernelDirs are the declared directions of each kernel's tensor parameters.
func KernelDirs(job *Job) [][]ir.ParamDir {
	if job.Program == nil {
		return nil
	}
	return kernelParams(job.Program, job.Plan.Kernels, func(p *ir.Param) ir.ParamDir { return p.Dir })
}

// KernelParams are the names of each kernel's tensor parameters, empty for one without a declaration.
func KernelParams(program *ir.Program, table []plan.Kernel) [][]string {
	return kernelParams(program, table, func(p *ir.Param) string { return ir.BaseName(p.Var.Hint) })
}

func kernelParams[T any](program *ir.Program, table []plan.Kernel, of func(*ir.Param) T) [][]T {
	all := make([][]T, len(table))
	for _, k := range table {
		if f := program.Lookup(k.Func); f != nil && k.ID >= 0 && k.ID < len(all) {
			for i := range f.Params {
				if _, ok := f.Params[i].Var.Typ.(*ir.TensorType); ok {
					all[k.ID] = append(all[k.ID], of(&f.Params[i]))
				}
			}
		}
	}
	return all
}

// Finish runs what is left and takes the results out of the runtime's memory. where is the place of the entry function.
func Finish(rt *sim.Runtime, entry []sim.Tensor, where func() diag.Span) Result {
	_ = rt.Finish() // Diagnostics has its error
	if s := rt.Stats(); s.Tasks == 0 && s.Allocs == 0 && rt.Fatal() == nil {
		rt.Report(diag.Errorf(CodeNoTask, where(), "the orchestration submitted no task").
			WithHint("a device waits for the first task, and so for ever: submit a dummy task when there is nothing to do"))
	}
	res := Result{Trace: rt.Trace(), Diags: rt.Diagnostics(), Tasks: rt.Stats().Tasks, Stats: rt.Stats(), Operands: rt.Operands()}
	for _, t := range entry {
		res.Outputs = append(res.Outputs, append([]byte(nil), rt.Memory().Bytes(t.Addr, t.Size)...))
	}
	return res
}

// Plan is the engine that interprets the plan in this process.
type Plan struct{ Ops *ops.Registry }

// Run implements Engine.
func (e *Plan) Run(ctx context.Context, job *Job) ([]Result, error) {
	limit := newDeadline(ctx, job)
	names := KernelNames(job.Plan.Kernels)
	var kernels sim.KernelRunner
	var results []Result
	for _, s := range job.Schedules {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		limit.start()
		if kernels == nil || job.HasExternal() {
			kernels = runner(job, e.Ops, s, limit.check)
		}
		rt, entry, err := Prepare(job, s, kernels, names)
		if err != nil {
			return nil, err
		}
		runErr := interp.Run(job.Plan, interp.Args{Tensors: entry, Scalars: job.Scalars, Stop: limit.check}, rt)
		limit.end()
		if err := context.Cause(ctx); err != nil {
			rt.Close()
			return nil, err
		}
		res := Finish(rt, entry, func() diag.Span { return job.Plan.Pos })
		if runErr != nil && !res.Failed() {
			res.Diags.Add(diag.AsList(runErr, CodeInternal)...)
		}
		if job.Inspect != nil {
			job.Inspect(s, rt)
		}
		rt.Close()
		results = append(results, res)
	}
	return results, nil
}

const (
	CodeInternal diag.Code = "PTO-R120" // an interpreter error without a code of its own
	CodeData     diag.Code = "PTO-R121" // entry data that does not fit its tensor
	CodeTimeout  diag.Code = "PTO-R122" // a run that did not end in time
	CodeNoTask   diag.Code = "PTO-R124" // an orchestration that submitted nothing
	CodeExternal diag.Code = "PTO-R123" // a kernel written in C++ in a run that is not compiled
)
