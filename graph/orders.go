package graph

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// batch is how many orders are run at once.
const batch = 16

// explore runs the job's orders, whose results must be those of program order, bit for bit. The first order that gives another one is reported; when the checks
// know of races, it goes to them as evidence, together with an order made for each race. repeat gets the results of the others, in batches from a position on.
func (t *Tester) explore(ctx context.Context, engine exec.Engine, test *TestConfig, built *Built, job *exec.Job, first *checkedResult,
	repeat func(from int, results []exec.Result) error) (ds diag.List, err error) {
	e := &expectation{kind: programOrder, outputs: first.Outputs, tolerances: make([]tolerance, len(first.Outputs))}
	for i := range e.tolerances {
		e.tolerances[i].exact = true
		if first.report.Atomics { // sums of floats depend on their order
			e.tolerances[i] = toleranceOf(test, built.Plan.Tensors[i].DType)
		}
	}
	run := func(ss []exec.Schedule) (got []exec.Result, odd *difference, err error) {
		some := *job
		some.Schedules = ss
		if got, err = engine.Run(ctx, &some); err != nil {
			return nil, nil, err
		}
		for i := range got {
			if got[i].Failed() {
				return got, nil, got[i].Diags
			}
			if odd := differs(built, e, &got[i], ss[i]); odd != nil {
				return got, odd, nil
			}
		}
		return got, nil, nil
	}
	hand := built.Target.Hand != nil
	races := exactOnes(first.report)
	shown := func(r *check.Race) bool { return len(r.Diag.Related) > 1 }
	var any *difference // which of several races it comes from is not known
	if hand {           // what its kernels touch is not known, so no race is certain before an order shows it
		races = first.report.Races
	}
	late := func() error {
		for _, r := range races[:min(len(races), maxMended)] {
			for _, p := range r.Pairs {
				if shown(r) {
					break
				}
				_, odd, err := run([]exec.Schedule{{Policy: sim.Late, Seed: uint64(p[0])}})
				if err != nil {
					return err
				}
				if odd != nil {
					odd.shows(r.Diag, built, job, e)
				}
			}
		}
		return nil
	}
	if hand {
		if err := late(); err != nil {
			return nil, err
		}
	}
	for from := 0; from < len(job.Schedules); from += batch {
		got, odd, err := run(job.Schedules[from:min(from+batch, len(job.Schedules))])
		if err != nil {
			return nil, err
		}
		for i := range got {
			if d := stale(first, &got[i], job.Schedules[from+i], built.Target.Label); d != nil && !first.allowed(d) {
				return diag.List{d}, nil
			}
		}
		if odd != nil {
			lives := first.report.Lifetimes
			switch {
			case slices.ContainsFunc(races, shown):
			case len(races) == 1:
				odd.shows(races[0].Diag, built, job, e)
			case len(races) > 0:
				any = odd
			case len(lives) > 0: // it is gone in this order: no mere danger
				lives[0].Diag.Severity = diag.Error
				odd.shows(lives[0].Diag, built, job, e)
			default:
				return diag.List{t.explain(ctx, test, built, job, e, odd.tensor, odd.diffs, odd.result, odd.schedule)}, nil
			}
			break
		}
		if err := repeat(from, got); err != nil {
			return nil, err
		}
	}
	if !job.HasExternal() { // C++ kernels ran in the job's orders only
		if err := late(); err != nil {
			return nil, err
		}
	}
	if any != nil && !slices.ContainsFunc(races, shown) {
		any.shows(races[0].Diag, built, job, e)
	}
	return nil, nil
}

// stale looks for a predicate that read another value than in program order. A race that explains it gets the order as evidence, and else it is reported itself.
func stale(first *checkedResult, r *exec.Result, s exec.Schedule, l Label) *diag.Diagnostic {
	n := min(len(first.Operands), len(r.Operands))
	for i := range n {
		was, is := first.Operands[i], r.Operands[i]
		if was.Task != is.Task { // the orchestration took another way
			return nil
		}
		if was.Value == is.Value {
			continue
		}
		repeat := replay(s, l)
		known := false
		for _, x := range first.report.Races {
			if x.Cause != check.CausePredicate || x.Second.Site != is.Site {
				continue
			}
			if known = true; len(x.Diag.Related) == 1 { // no evidence yet
				x.Diag.WithRelated(x.Diag.Span, "%s shows it: the predicate reads %d, in program order %d; `%s` repeats it", s, is.Value, was.Value, repeat)
			}
		}
		if known || len(exactOnes(first.report)) > 0 { // it follows from another race
			continue
		}
		return diag.Errorf(sim.CodePredicateDep, is.Site, "the predicate of task %d reads %d in %s, and %d in program order; `%s` repeats it", is.Task, is.Value, s, was.Value, repeat).
			WithHint("make the task wait for the one that writes the operand: add its id to deps=")
	}
	return nil
}

// programOrder is the expectation that no order of the tasks changes the result.
const programOrder = "result in program order"

// difference is an order that gives another result: where it first differs.
type difference struct {
	diffs
	tensor   int
	result   *exec.Result
	schedule exec.Schedule
}

// differs compares the result of an order with what it must be; nil when it is that.
func differs(built *Built, e *expectation, r *exec.Result, s exec.Schedule) *difference {
	for i, want := range e.outputs {
		if bytes.Equal(want, r.Outputs[i]) {
			continue
		}
		if m := mismatch(built.Plan.Tensors[i].DType, r.Outputs[i], want, e.tolerances[i]); m.count > 0 {
			return &difference{m, i, r, s}
		}
	}
	return nil
}

// shows adds the order to a report as evidence.
func (d *difference) shows(r *diag.Diagnostic, built *Built, job *exec.Job, e *expectation) {
	r.Severity, r.Message = diag.Error, strings.TrimSuffix(r.Message, check.AsDeclared)
	p := built.Plan.Tensors[d.tensor]
	at, size := d.first[0], p.DType.Bytes()
	r.WithRelated(r.Span, "%s shows it: %s%s = %s, in program order %s; `%s` repeats it", d.schedule, p.Param, position(job.Tensors[d.tensor].Shape, at),
		formatElem(p.DType, d.result.Outputs[d.tensor][at*size:]), formatElem(p.DType, e.outputs[d.tensor][at*size:]), replay(d.schedule, built.Target.Label))
}

// replay is the command that repeats an order.
func replay(s exec.Schedule, l Label) string {
	switch s.Policy {
	case sim.Random:
		return fmt.Sprintf("ptobuild test --seed %d --schedules 1 %s", s.Seed, l)
	case sim.Late:
		return fmt.Sprintf("ptobuild test --policy late --seed %d %s", s.Seed, l)
	}
	return fmt.Sprintf("ptobuild test --policy %s %s", s.Policy, l)
}

// exactOnes are the races that are certain.
func exactOnes(r *check.Report) []*check.Race {
	var out []*check.Race
	for _, x := range r.Races {
		if x.Exact {
			out = append(out, x)
		}
	}
	return out
}
