package graph

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Needs is what a program needs of the runtime's rings: the smallest settings with which it runs at all. A run with them was tried.
type Needs struct {
	Rings []RingNeeds `json:"rings"`
	Map   int         `json:"map_entries"`
	// Dies is the code of the error with which the runtime's default settings end the program, "" when they do.
	Dies   diag.Code `json:"defaults_die,omitempty"`
	Number int       `json:"defaults_die_number,omitempty"`
}

// RingNeeds are the needs of one ring. A scope's place says where the most is in use.
type RingNeeds struct {
	Ring       int       `json:"ring"`
	Tasks      int       `json:"tasks"` // in the window at a time
	TaskWindow int       `json:"task_window"`
	WindowAt   diag.Span `json:"task_window_scope"`
	Heap       uint64    `json:"heap"`
	HeapAt     diag.Span `json:"heap_scope"`
	DepPool    int       `json:"dep_pool"`
	DepsAt     diag.Span `json:"dep_pool_scope"`
}

// ringCodes are the errors of full rings.
var ringCodes = []diag.Code{sim.CodeScopeTasks, sim.CodeWindow, sim.CodeHeap, sim.CodeDepPool, sim.CodeMap}

// unlimited are limits that no program of a test reaches.
func unlimited() sim.Limits {
	return sim.Limits{TaskWindow: 1 << 22, Heap: 1 << 36, DepPool: 1 << 30, MapEntries: 1 << 30, ScopeTasks: 1 << 30}
}

// needs measures a program. In program order, where a task ends before the next one is submitted, only what has to be there at a time is.
func (t *Tester) needs(ctx context.Context, engine exec.Engine, job *exec.Job) (*Needs, error) {
	stats, _, err := t.limited(ctx, engine, job, unlimited())
	if err != nil {
		return nil, err
	}
	n := &Needs{Map: max(stats.PeakMap, 1)}
	l := sim.Limits{TaskWindow: 4, Heap: 1024, DepPool: 1, MapEntries: n.Map, ScopeTasks: 1 << 30}
	for i, r := range stats.Rings {
		if r.Tasks == 0 {
			continue
		}
		window, at := max(r.Tasks, r.ScopeTasks+1, 4), r.TasksAt
		if r.ScopeTasks >= r.Tasks {
			at = r.ScopeTasksAt
		}
		x := RingNeeds{Ring: i, Tasks: r.Tasks, TaskWindow: 1 << bits.Len(uint(window-1)), WindowAt: at, Heap: max(r.Heap, 1024), HeapAt: r.HeapAt, DepPool: max(r.Deps, 1), DepsAt: r.DepsAt}
		n.Rings = append(n.Rings, x)
		l.Rings[i] = sim.Rings{TaskWindow: x.TaskWindow, Heap: x.Heap, DepPool: x.DepPool}
	}
	for range 24 { // a heap in which blocks do not break up may be smaller than one that is used to the last byte
		_, d, err := t.limited(ctx, engine, job, l)
		if err != nil {
			return nil, err
		}
		if d == nil {
			break
		}
		grown := false
		for k := range n.Rings {
			x := &n.Rings[k]
			switch {
			case d.Code == sim.CodeHeap && strings.Contains(d.Message, fmt.Sprintf("ring %d ", x.Ring)):
				x.Heap = (x.Heap + max(x.Heap/8, 1024) + 1023) / 1024 * 1024
			case d.Code == sim.CodeWindow && strings.Contains(d.Message, fmt.Sprintf("ring %d ", x.Ring)), d.Code == sim.CodeScopeTasks && k == len(n.Rings)-1:
				x.TaskWindow *= 2
			case d.Code == sim.CodeDepPool && strings.Contains(d.Message, fmt.Sprintf("ring %d ", x.Ring)):
				x.DepPool += max(x.DepPool/8, 1)
			default:
				continue
			}
			grown = true
			l.Rings[x.Ring] = sim.Rings{TaskWindow: x.TaskWindow, Heap: x.Heap, DepPool: x.DepPool}
		}
		if !grown {
			return nil, d
		}
	}
	_, d, err := t.limited(ctx, engine, job, sim.Limits{})
	if err != nil {
		return nil, err
	}
	if d != nil {
		n.Dies, n.Number = d.Code, runtimeNumber[d.Code]
	}
	return n, nil
}

// runtimeNumber is the number under which the runtime knows an error.
var runtimeNumber = map[diag.Code]int{sim.CodeScopeTasks: sim.ScopeDeadlock, sim.CodeWindow: sim.FlowControlDeadlock, sim.CodeHeap: sim.HeapRingDeadlock,
	sim.CodeDepPool: sim.DepPoolOverflow, sim.CodeMap: sim.MapOverflow}

// limited runs the program in program order under limits; d is the error of a full ring.
func (t *Tester) limited(ctx context.Context, engine exec.Engine, job *exec.Job, l sim.Limits) (stats *sim.Stats, d *diag.Diagnostic, err error) {
	one := *job
	one.Schedules, one.Machine.Limits = []exec.Schedule{{Policy: sim.Sequential}}, l
	results, err := engine.Run(ctx, &one)
	if err != nil {
		return nil, nil, err
	}
	r := &results[0]
	for _, d := range r.Diags {
		if slices.Contains(ringCodes, d.Code) {
			return &r.Stats, d, nil
		}
	}
	if r.Failed() {
		return nil, nil, r.Diags
	}
	return &r.Stats, nil, nil
}

// Lines describes the needs for people.
func (n *Needs) Lines() []string {
	var lines []string
	at := func(s diag.Span) string {
		if s.IsValid() {
			return " (scope at " + s.String() + ")"
		}
		return ""
	}
	for _, r := range n.Rings {
		lines = append(lines, fmt.Sprintf("ring %d: task_window %d%s, heap %d%s, dep_pool %d%s", r.Ring, r.TaskWindow, at(r.WindowAt), r.Heap, at(r.HeapAt), r.DepPool, at(r.DepsAt)))
	}
	lines = append(lines, fmt.Sprintf("overlap map: %d entries", n.Map))
	if n.Dies != "" {
		lines = append(lines, fmt.Sprintf("the default settings end the program with error %d (%s)", n.Number, n.Dies))
	}
	return lines
}

// setting writes what of the needs a machine does not have, as settings of [simulator] and as the variables of a device.
func (n *Needs) setting(m sim.Config) string {
	m, err := sim.Complete(m)
	if err != nil {
		return ""
	}
	var settings, variables []string
	ring := func(name, variable string, has func(*sim.Rings) uint64, needs func(*RingNeeds) uint64) {
		short := false
		v := make([]string, len(m.Limits.Rings))
		for i := range m.Limits.Rings {
			x := has(&m.Limits.Rings[i])
			for k := range n.Rings {
				if r := &n.Rings[k]; r.Ring == i && needs(r) > x {
					x, short = needs(r), true
				}
			}
			v[i] = fmt.Sprint(x)
		}
		if short {
			settings = append(settings, name+" = ["+strings.Join(v, ", ")+"]")
			variables = append(variables, variable+"="+strings.Join(v, ","))
		}
	}
	ring("task_window", "PTO2_RING_TASK_WINDOW", func(r *sim.Rings) uint64 { return uint64(r.TaskWindow) }, func(r *RingNeeds) uint64 { return uint64(r.TaskWindow) })
	ring("heap", "PTO2_RING_HEAP", func(r *sim.Rings) uint64 { return r.Heap }, func(r *RingNeeds) uint64 { return r.Heap })
	ring("dep_pool", "PTO2_RING_DEP_POOL", func(r *sim.Rings) uint64 { return uint64(r.DepPool) }, func(r *RingNeeds) uint64 { return uint64(r.DepPool) })
	if n.Map > m.Limits.MapEntries {
		settings = append(settings, fmt.Sprintf("map_entries = %d", n.Map))
	}
	text := strings.Join(settings, " and ")
	if len(variables) > 0 {
		text += "; on a device: " + strings.Join(variables, " ")
	}
	return text
}

// tellNeeds adds to the error of a full ring what the program needs.
func (t *Tester) tellNeeds(ctx context.Context, engine exec.Engine, job *exec.Job, ds diag.List) {
	i := slices.IndexFunc(ds, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error && slices.Contains(ringCodes, d.Code) })
	if i < 0 {
		return
	}
	if n, err := t.needs(ctx, engine, job); err == nil {
		if s := n.setting(job.Machine); s != "" {
			instead, _, _ := strings.Cut(ds[i].Hint, ", or raise ")
			ds[i].Hint = instead + ", or write in [simulator] of Pto.toml: " + s
		}
	}
}

// Advice is what a test says beyond right or wrong, on demand.
type Advice struct {
	*check.Advice
	Needs *Needs `json:"ring_needs,omitempty"`
}

func (t *Tester) advise(ctx context.Context, engine exec.Engine, built *Built, job *exec.Job, first *checkedResult) (*Advice, error) {
	a := first.advice
	if built.Target.Hand == nil && len(first.report.Races) == 0 {
		t.loosen(ctx, built, job, first)
	}
	n, err := t.needs(ctx, engine, job)
	if err != nil {
		return nil, err
	}
	return &Advice{a, n}, nil
}

// Lines describes the advice for people, but for its notes.
func (a *Advice) Lines() []string {
	lines := []string{fmt.Sprintf("kernels %s, critical path %s: %.1f tasks at a time on endlessly many cores", nanoseconds(a.Work), nanoseconds(a.Path), float64(a.Work)/max(float64(a.Path), 1))}
	for i, s := range a.Steps {
		if i == maxSteps {
			lines = append(lines, fmt.Sprintf("  … and %d more places", len(a.Steps)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("  %-10s %s × %d at %s", nanoseconds(s.Time), s.Kernel, s.Tasks, s.Site))
	}
	if len(a.Width) > 0 {
		w := make([]string, len(a.Width))
		for i, x := range a.Width {
			w[i] = fmt.Sprintf("%.0f", x)
		}
		lines = append(lines, "width over time: "+strings.Join(w, " "))
	}
	if a.WithoutFalse < a.Path {
		lines = append(lines, fmt.Sprintf("critical path without edges between tasks that touch different elements: %s", nanoseconds(a.WithoutFalse)))
	}
	return append(lines, a.Needs.Lines()...)
}

const maxSteps = 12
