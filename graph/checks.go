package graph

import (
	"context"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// checkedResult is a run in program order with what the checks say about its graph. The graph is the same for every order of the tasks.
type checkedResult struct {
	exec.Result
	report *check.Report
	advice *check.Advice // when it was asked for
	// allowed reports what the author allows.
	allowed func(*diag.Diagnostic) bool
}

// checkedRun runs a program in program order, which gives the result that every order must give, and looks for what orders it only by luck.
func (t *Tester) checkedRun(ctx context.Context, engine exec.Engine, built *Built, job *exec.Job) (*checkedResult, error) {
	out := &checkedResult{}
	one := *job
	one.Schedules = []exec.Schedule{{Policy: sim.Sequential}}
	if compiled, ok := engine.(*native.Engine); ok {
		results, found, err := compiled.Inspect(ctx, &one, &native.Inspection{Names: namesOf(built), Advise: t.Advice})
		if err != nil {
			return nil, err
		}
		out.Result, out.report, out.advice = results[0], found.Report, found.Advice
		return out, nil
	}
	one.Inspect = func(_ exec.Schedule, rt *sim.Runtime) {
		names := namesOf(built)
		if out.report = check.Run(rt, names); t.Advice {
			out.advice = check.Advise(rt, names)
		}
	}
	results, err := engine.Run(ctx, &one)
	if err != nil {
		return nil, err
	}
	out.Result = results[0]
	return out, nil
}

// namesOf are the names that reports use.
func namesOf(built *Built) check.Names {
	n := check.Names{Cpp: built.Target.Hand != nil}
	for _, t := range built.Plan.Tensors {
		n.Entries = append(n.Entries, t.Param)
	}
	n.Made = map[sim.Site][]string{}
	plan.Walk(built.Plan.Body, func(s plan.Stmt) bool {
		if a, ok := s.(*plan.Alloc); ok && len(n.Made[a.Pos]) == 0 {
			for _, r := range a.Refs {
				n.Made[a.Pos] = append(n.Made[a.Pos], ir.BaseName(r.Hint))
			}
		}
		return true
	})
	n.Params, n.Barrier = make([][]check.Param, len(built.Plan.Kernels)), make([]bool, len(built.Plan.Kernels))
	for _, k := range built.Plan.Kernels {
		f := built.Program.Lookup(k.Func)
		if f == nil || k.ID < 0 || k.ID >= len(n.Params) {
			continue
		}
		n.Barrier[k.ID] = callsOp(f, "system.syncall")
		declared := built.Target.Program.Lookup(k.Func) // the passes correct directions
		for _, p := range f.Params {
			if _, ok := p.Var.Typ.(*ir.TensorType); !ok {
				continue
			}
			x := check.Param{Name: ir.BaseName(p.Var.Hint), Pos: p.Var.Pos, Dir: p.Dir}
			if declared != nil && declared.Type.IsKernel() {
				for _, q := range declared.Params {
					if ir.BaseName(q.Var.Hint) == x.Name {
						x.Pos, x.Dir, x.Known = q.Var.Pos, q.Dir, true
					}
				}
			}
			n.Params[k.ID] = append(n.Params[k.ID], x)
		}
	}
	return n
}

// callsOp reports that the body of a function has an op.
func callsOp(f *ir.Function, op string) bool {
	found := false
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			c, ok := e.(*ir.OpCall)
			found = found || ok && c.Op == op
			return !found
		})
		return !found
	})
	return found
}
