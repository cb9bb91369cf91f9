package graph

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/npy"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// RunRequest is a single run outside a test.
type RunRequest struct {
	Test    string // take the inputs of this test; "": the first test of the target, when there is one
	Scalars map[string]string
	Dims    map[string]string
	Policy  sim.Policy
	Seed    uint64
	Artifacts
	Output io.Writer // what the compiled orchestration prints and logs; nil: dropped
}

// RunOutcome is what a single run did.
type RunOutcome struct {
	Target      string      `json:"target"`
	Engine      string      `json:"engine"`
	Tasks       int         `json:"tasks"`
	Outputs     []RunOutput `json:"outputs"`
	Times       Times       `json:"times"`
	Diagnostics diag.List   `json:"diagnostics"`

	trace   *trace.Log
	skipped int // tasks whose predicate was false
}

// RunOutput is one tensor that the program wrote.
type RunOutput struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Npy     []byte `json:"-"`

	dtype ir.DType
	shape []uint32
	data  []byte
}

// Differs says how what a run computed differs from what another one of the same test did by more than rounding, "" when it does not.
func (o *RunOutcome) Differs(from *RunOutcome) string {
	for _, x := range o.Outputs {
		i := slices.IndexFunc(from.Outputs, func(y RunOutput) bool { return y.Name == x.Name })
		if i < 0 || len(from.Outputs[i].data) != len(x.data) {
			return "it has no output " + x.Name
		}
		m := mismatch(x.dtype, x.data, from.Outputs[i].data, toleranceOf(&TestConfig{}, x.dtype))
		if m.count > 0 {
			at, size := m.first[0], x.dtype.Bytes()
			return fmt.Sprintf("%d elements of %s differ: %s%s is %s instead of %s", m.count, x.Name, x.Name, position(x.shape, at),
				formatElem(x.dtype, x.data[at*size:]), formatElem(x.dtype, from.Outputs[i].data[at*size:]))
		}
	}
	return ""
}

// WriteTrace writes the run's events as JSON lines.
func (o *RunOutcome) WriteTrace(w io.Writer) error { return trace.WriteJSON(w, o.trace.All()) }

// WriteTasks describes the tasks, one line each.
func (o *RunOutcome) WriteTasks(w io.Writer) error { return writeTasks(w, o.trace, o.skipped) }

// PolicyNamed reads a task order.
func PolicyNamed(name string) (sim.Policy, error) {
	var names []string
	for i := range sim.Policies {
		p := sim.Policy(i)
		if p.String() == name {
			return p, nil
		}
		names = append(names, p.String())
	}
	return 0, diag.Errorf(CodeTestSetup, diag.Span{}, "unknown task order %q", name).WithHint("it is one of %s", strings.Join(names, ", "))
}

// RunOnce runs a target once, as compiled C++ when there is a toolchain.
func (t *Tester) RunOnce(ctx context.Context, target *Target, req *RunRequest) (*RunOutcome, diag.List) {
	built, ds := t.Builder.Build(ctx, target)
	if ds.HasErrors() {
		return nil, ds
	}
	test, err := t.runTest(target, built.Plan, req)
	if err != nil {
		return nil, append(ds, diag.AsList(err, CodeTestSetup)...)
	}
	tensors, scalars, more := t.Builder.entryData(test, built.Plan)
	if ds.Add(more...); ds.HasErrors() {
		return nil, ds
	}
	job := &exec.Job{Plan: built.Plan, Program: built.Program, Tensors: tensors, Scalars: scalars,
		Schedules: []exec.Schedule{{Policy: req.Policy, Seed: req.Seed}}, Machine: t.Builder.WS.Config.machine(), Timeout: t.Builder.WS.Config.timeout()}
	var engine exec.Engine = &exec.Plan{Ops: t.Builder.Ops}
	out := &RunOutcome{Target: target.Label.String(), Engine: "plan interpreted, " + job.Schedules[0].String()}
	if t.Toolchain != nil || target.Hand != nil {
		compiled, err := t.compiled(ctx, built)
		if err != nil {
			return nil, append(ds, diag.AsList(err, CodeReference)...)
		}
		compiled.Output = req.Output
		engine = compiled
		out.Engine = "compiled C++, " + job.Schedules[0].String()
	}
	if req.Artifacts.Dir != "" {
		if more := req.Artifacts.write(ctx, t, built, job, job.Schedules[0], req.Artifacts.Dir); more.HasErrors() {
			return nil, append(ds, more...)
		}
	}
	results, err := engine.Run(ctx, job)
	if err != nil {
		return nil, append(ds, diag.AsList(err, CodeReference)...)
	}
	r := &results[0]
	if ds.Add(r.Diags...); r.Failed() {
		return nil, ds
	}
	for _, d := range unwritten(test, built, job, r) {
		d.Severity = diag.Warning
		ds.Add(d)
	}
	out.Tasks, out.trace, out.skipped = r.Tasks, r.Trace, r.Stats.Skipped
	out.Times = timesOf(&r.Stats, rtClusters(job))
	for _, i := range outputsOf(job) {
		p := built.Plan.Tensors[i]
		a := &npy.Array{DType: p.DType, Data: r.Outputs[i]}
		for _, d := range tensors[i].Shape {
			a.Shape = append(a.Shape, int64(d))
		}
		b, err := npy.Marshal(a)
		if err != nil {
			return nil, append(ds, diag.AsList(err, CodeTestSetup)...)
		}
		out.Outputs = append(out.Outputs, RunOutput{Name: p.Param, Summary: summary(p.DType, tensors[i].Shape, r.Outputs[i]), Npy: b,
			dtype: p.DType, shape: tensors[i].Shape, data: r.Outputs[i]})
	}
	return out, ds
}

// runTest is the test whose inputs a run takes, with the request's scalars and dims over its own.
func (t *Tester) runTest(target *Target, f *plan.File, req *RunRequest) (*TestConfig, error) {
	test := TestConfig{Name: target.Label.Func}
	tests := t.Builder.TestsOf(target.Label)
	switch i := slices.IndexFunc(tests, func(c *TestConfig) bool { return c.Name == req.Test }); {
	case i >= 0:
		test = *tests[i]
	case req.Test != "":
		return nil, diag.Errorf(CodeNoMatch, diag.Span{File: ConfigName}, "%s has no test %q", target.Label, req.Test)
	case len(tests) > 0:
		test = *tests[0]
	}
	test.Scalars, test.Dims = maps.Clone(test.Scalars), maps.Clone(test.Dims)
	if test.Scalars == nil {
		test.Scalars = map[string]any{}
	}
	if test.Dims == nil {
		test.Dims = map[string]int64{}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Scalars)) {
		v := req.Scalars[name]
		if n, err := strconv.ParseInt(v, 0, 64); err == nil {
			test.Scalars[name] = n
		} else if x, err := strconv.ParseFloat(v, 64); err == nil {
			test.Scalars[name] = x
		} else if b, err := strconv.ParseBool(v); err == nil {
			test.Scalars[name] = b
		} else {
			return nil, diag.Errorf(CodeTestSetup, diag.Span{}, "scalar %s: %q is no number", name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Dims)) {
		n, err := strconv.ParseInt(req.Dims[name], 0, 64)
		if err != nil {
			return nil, diag.Errorf(CodeTestSetup, diag.Span{}, "dim %s: %q is no extent", name, req.Dims[name])
		}
		test.Dims[name] = n
	}
	return &test, nil
}

// writeTasks describes the tasks of a run in submit order, one line each.
func writeTasks(w io.Writer, log *trace.Log, skips int) error {
	skipped := map[int]bool{}
	if skips > 0 {
		for e := range log.All() {
			if r, ok := e.(*trace.Retire); ok && r.Skipped {
				skipped[r.N] = true
			}
		}
	}
	const enough = 32 << 10
	b := make([]byte, 0, 4<<10)
	pad := func(from, width int) {
		for len(b)-from < width {
			b = append(b, ' ')
		}
	}
	for e := range log.Calls() {
		s, ok := e.(*trace.Submit)
		if !ok {
			continue
		}
		b = append(b, "  task "...)
		at := len(b)
		b = strconv.AppendInt(b, int64(s.N), 10)
		pad(at, 3)
		b = append(b, ' ')
		at = len(b)
		b = append(b, s.Kind...)
		pad(at, 5)
		b = append(b, ' ')
		last := ""
		for _, k := range s.Kernels {
			if k == "" || k == last {
				continue
			}
			if last != "" {
				b = append(b, '+')
			}
			b = append(b, k...)
			last = k
		}
		for i, d := range s.Deps {
			if i == 0 {
				b = append(b, "  after "...)
			} else {
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(b, int64(d), 10)
		}
		if s.Site.IsValid() {
			b = append(s.Site.Append(append(b, "  ("...)), ')')
		}
		if skipped[s.N] {
			b = append(b, "  skipped: its predicate was false"...)
		}
		if b = append(b, '\n'); len(b) >= enough {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return err
}

// summary describes the content of a tensor in a line.
func summary(dt ir.DType, shape []uint32, data []byte) string {
	lo, hi, sum, nans := math.Inf(1), math.Inf(-1), 0.0, 0
	size := dt.Bytes()
	n := len(data) / size
	unwritten := 0
	for i := range n {
		if count, _ := sim.Unwritten(dt, data, i, 1, 1); count > 0 {
			unwritten++
			continue
		}
		v := kernels.Load(dt, data[i*size:])
		if math.IsNaN(v) {
			nans++
			continue
		}
		lo, hi, sum = min(lo, v), max(hi, v), sum+v
	}
	s := fmt.Sprintf("%s %v", dt, shape)
	if numbers := n - nans - unwritten; numbers > 0 {
		s += fmt.Sprintf("  min %.6g  max %.6g  mean %.6g", lo, hi, sum/float64(numbers))
	}
	if nans > 0 {
		s += fmt.Sprintf("  %d of %d elements are NaN", nans, n)
	}
	if unwritten > 0 {
		s += fmt.Sprintf("  %d of %d elements were never written", unwritten, n)
	}
	return s
}
