// Package sdktest tests plugins in the process of the test: no ptobuild, no second process, ops and passes as ptobuild would use them.
//
//	out := sdktest.Run(t, plugin, program, "main", map[string][]float32{"a": …})   numbers of a whole program on the simulator
//	out := sdktest.Job{Source: program, Function: "main", …}.Run(t, plugin)        the same for any dtype and for dynamic extents
//	sdktest.Near(t, out["o"], want, 1e-3)                                          numbers that are not exact
//	sdktest.Report(t, plugin, program, "ACME-001")                                 the report that a wrong program gets
//	sdktest.CPP(t, plugin, program, "main")                                        the C++ of an orchestration function
//	sdktest.After(t, plugin, program, "Tidy")                                      the program after a pass, printed
package sdktest

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/sdk"
	"github.com/ptobuild/ptobuild/plugins/sdk/internal/bridge"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
)

// core is a ptobuild with one plugin.
type core struct {
	ops      *ops.Registry
	pipeline []*passes.Pass
}

func coreWith(p sdk.Plugin) (*core, diag.List) {
	served := bridge.Served(&p)
	if ds := served.Check(); ds.HasErrors() {
		return nil, ds
	}
	if p.Configure != nil {
		if err := p.Configure(nil); err != nil {
			return nil, diag.AsList(err, plugins.CodeConfig)
		}
	}
	specs, ps := served.Local()
	pipeline, ds := plugins.Arrange(passes.Default(), ps)
	return &core{ops.Builtin().With(specs...), pipeline}, ds
}

// load takes the first program of a source through all passes up to one, "" for all.
func (c *core) load(source, until string) (*ir.Program, diag.List) {
	unit, ds := lang.Load("test.py", lang.Options{Ops: c.ops, ReadFile: func(string) ([]byte, error) { return []byte(source), nil }})
	if ds.HasErrors() || len(unit.Programs) == 0 {
		return nil, ds
	}
	ps := c.pipeline
	if until != "" {
		var err error
		if ps, err = passes.Until(ps, until); err != nil {
			return nil, diag.AsList(err, "")
		}
	}
	p, more := passes.Run(&passes.Context{Ops: c.ops}, unit.Programs[0], ps, passes.Hooks{})
	return p, append(ds, more...)
}

func (c *core) lower(source, function string) (*ir.Program, *plan.File, diag.List) {
	p, ds := c.load(source, "")
	if ds.HasErrors() || p == nil {
		return nil, nil, ds
	}
	f := p.Lookup(function)
	if f == nil {
		return nil, nil, append(ds, diag.Errorf("", diag.Span{}, "the program has no function %s", function))
	}
	file, more := lower.Lower(p, f, c.ops, lower.Options{})
	return p, file, append(ds, more...)
}

// Run runs an orchestration function on the simulator: see Job, for tensors of FP32 with known extents.
func Run(t testing.TB, p sdk.Plugin, source, function string, inputs map[string][]float32, scalars ...int64) map[string][]float32 {
	t.Helper()
	j := Job{Source: source, Function: function, Inputs: map[string][]float64{}}
	for name, values := range inputs {
		for _, v := range values {
			j.Inputs[name] = append(j.Inputs[name], float64(v))
		}
	}
	for _, s := range scalars {
		j.Scalars = append(j.Scalars, float64(s))
	}
	out := map[string][]float32{}
	for name, values := range j.Run(t, p) {
		for _, v := range values {
			out[name] = append(out[name], float32(v))
		}
	}
	return out
}

// Job is a run of an orchestration function on the simulator.
type Job struct {
	Source, Function string
	// Inputs are the elements that entry tensors start with, row by row, by the name of the parameter; zeros where there are none. They are rounded to the
	// tensor's dtype, whatever it is.
	Inputs map[string][]float64
	// Shapes are the extents of entry tensors; those whose declared extents are all known need none.
	Shapes  map[string][]int
	Scalars []float64 // in the order of the parameters
}

// Run gives the elements of all entry tensors afterwards. What goes wrong ends the test.
func (j Job) Run(t testing.TB, p sdk.Plugin) map[string][]float64 {
	t.Helper()
	out, ds := j.run(t, p)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return out
}

// Failure is what is reported about a run that must fail, such as the error of an Evaluate.
func (j Job) Failure(t testing.TB, p sdk.Plugin) string {
	t.Helper()
	if _, ds := j.run(t, p); ds.HasErrors() {
		return ds.Error()
	}
	t.Fatal("the run does not fail")
	return ""
}

func (j Job) run(t testing.TB, p sdk.Plugin) (map[string][]float64, diag.List) {
	t.Helper()
	c, ds := coreWith(p)
	if ds.HasErrors() {
		return nil, ds
	}
	prog, file, ds := c.lower(j.Source, j.Function)
	if ds.HasErrors() {
		return nil, ds
	}
	job := &exec.Job{Plan: file, Program: prog, Schedules: []exec.Schedule{{}}}
	for _, x := range file.Tensors {
		e := exec.Tensor{DType: x.DType, Shape: j.shape(t, x)}
		n := 1
		for _, d := range e.Shape {
			n *= int(d)
		}
		given := j.Inputs[x.Param]
		if given != nil && len(given) != n {
			t.Fatalf("%s has %d elements, %d are given", x.Param, n, len(given))
		}
		size := x.DType.Bytes()
		e.Data = make([]byte, size*n)
		for i, v := range given {
			kernels.Store(x.DType, e.Data[size*i:], v)
		}
		job.Tensors = append(job.Tensors, e)
	}
	if len(j.Scalars) != len(file.Scalars) {
		t.Fatalf("%s has %d scalars, %d are given", j.Function, len(file.Scalars), len(j.Scalars))
	}
	for i, x := range file.Scalars {
		bits := uint64(int64(j.Scalars[i]))
		if x.DType.IsFloat() {
			var b [8]byte
			kernels.Store(x.DType, b[:], j.Scalars[i])
			bits = binary.LittleEndian.Uint64(b[:])
		}
		job.Scalars = append(job.Scalars, bits)
	}
	results, err := (&exec.Plan{Ops: c.ops}).Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Failed() {
		return nil, results[0].Diags
	}
	out := map[string][]float64{}
	for i, x := range file.Tensors {
		data, size := results[0].Outputs[i], x.DType.Bytes()
		v := make([]float64, len(data)/size)
		for k := range v {
			v[k] = kernels.Load(x.DType, data[size*k:])
		}
		out[x.Param] = v
	}
	return out, nil
}

// shape is the extents of an entry tensor: those of the job, or the declared ones.
func (j Job) shape(t testing.TB, x plan.Tensor) []uint32 {
	t.Helper()
	given := j.Shapes[x.Param]
	if given != nil && len(given) != len(x.Shape) {
		t.Fatalf("%s has %d axes, Shapes says %v", x.Param, len(x.Shape), given)
	}
	out := make([]uint32, len(x.Shape))
	for i, d := range x.Shape {
		n, known := ir.IntValue(d)
		switch {
		case given != nil && known && int64(given[i]) != n:
			t.Fatalf("axis %d of %s has extent %d, Shapes says %d", i, x.Param, n, given[i])
		case given != nil:
			n = int64(given[i])
		case !known:
			t.Fatalf("axis %d of %s is dynamic: give its extents in Shapes", i, x.Param)
		}
		out[i] = uint32(n)
	}
	return out
}

// Near checks that got is want, to within tolerance times the larger of 1 and the wanted value.
func Near(t testing.TB, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d elements, want %d", len(got), len(want))
		return
	}
	wrong := 0
	for i := range got {
		if d := math.Abs(got[i] - want[i]); d <= tolerance*max(1, math.Abs(want[i])) || got[i] == want[i] || math.IsNaN(got[i]) && math.IsNaN(want[i]) {
			continue
		}
		if wrong++; wrong <= 3 {
			t.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	if wrong > 3 {
		t.Errorf("and %d more of %d elements", wrong-3, len(got))
	}
}

// Report checks that a program gets a report with a code, or with "" none that is an error. It returns the reports.
func Report(t testing.TB, p sdk.Plugin, source, code string) string {
	t.Helper()
	text := Reports(t, p, source)
	switch {
	case code == "" && strings.Contains(text, "error["):
		t.Errorf("got reports:\n%s", text)
	case code != "" && !strings.Contains(text, "["+code+"]"):
		t.Errorf("got %q, want a report with code %s", text, code)
	}
	return text
}

// Reports is all reports that a program gets, "" for none.
func Reports(t testing.TB, p sdk.Plugin, source string) string {
	t.Helper()
	c, ds := coreWith(p)
	if !ds.HasErrors() {
		_, ds = c.load(source, "")
	}
	return ds.Error()
}

// CPP is the C++ of an orchestration function.
func CPP(t testing.TB, p sdk.Plugin, source, function string) string {
	t.Helper()
	c, ds := coreWith(p)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	_, file, ds := c.lower(source, function)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	code, _ := orch.Print(file, orch.Default())
	return code
}

// After is the program after a pass of the plugin ("Tidy") or of the core, printed.
func After(t testing.TB, p sdk.Plugin, source, pass string) string {
	t.Helper()
	c, ds := coreWith(p)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	for _, x := range c.pipeline {
		if x.Name == p.Name+"."+pass {
			pass = x.Name
		}
	}
	prog, ds := c.load(source, pass)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return ir.Print(prog, ir.PrintOptions{})
}

// Fill is n elements of one value.
func Fill(n int, v float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// Replace is a program with a part replaced; it panics when the part is not there, so that a test cannot come to test nothing.
func Replace(source, old, new string) string {
	if !strings.Contains(source, old) {
		panic("sdktest.Replace: the program has no " + old)
	}
	return strings.ReplaceAll(source, old, new)
}
