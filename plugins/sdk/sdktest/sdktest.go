// Package sdktest tests plugins in the process of the test: no ptobuild, no second process, ops and passes as ptobuild would use them.
//
//	out := sdktest.Run(t, plugin, program, "main", map[string][]float32{"a": …})   numbers of a whole program on the simulator
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

// Run runs an orchestration function on the simulator. Entry tensors (FP32 with known extents) start with the given elements, or zeros; the result is all of
// them afterwards. scalars, in order, are integers.
func Run(t testing.TB, p sdk.Plugin, source, function string, inputs map[string][]float32, scalars ...int64) map[string][]float32 {
	t.Helper()
	c, ds := coreWith(p)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	prog, file, ds := c.lower(source, function)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	job := &exec.Job{Plan: file, Program: prog, Schedules: []exec.Schedule{{}}}
	for _, x := range file.Tensors {
		e := exec.Tensor{DType: x.DType}
		n := 1
		for _, d := range x.Shape {
			v, known := ir.IntValue(d)
			if !known || x.DType != ir.FP32 {
				t.Fatalf("sdktest.Run needs FP32 tensors with known extents, %s is another", x.Param)
			}
			e.Shape = append(e.Shape, uint32(v))
			n *= int(v)
		}
		given := inputs[x.Param]
		if given != nil && len(given) != n {
			t.Fatalf("%s has %d elements, %d are given", x.Param, n, len(given))
		}
		e.Data = make([]byte, 4*n)
		for i, v := range given {
			binary.LittleEndian.PutUint32(e.Data[4*i:], math.Float32bits(v))
		}
		job.Tensors = append(job.Tensors, e)
	}
	for _, s := range scalars {
		job.Scalars = append(job.Scalars, uint64(s))
	}
	results, err := (&exec.Plan{Ops: c.ops}).Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Failed() {
		t.Fatal(results[0].Diags)
	}
	out := map[string][]float32{}
	for i, x := range file.Tensors {
		data := results[0].Outputs[i]
		v := make([]float32, len(data)/4)
		for k := range v {
			v[k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*k:]))
		}
		out[x.Param] = v
	}
	return out
}

// Report checks that a program gets a report with a code, or with "" none that is an error. It returns the reports.
func Report(t testing.TB, p sdk.Plugin, source, code string) string {
	t.Helper()
	c, ds := coreWith(p)
	if !ds.HasErrors() {
		_, ds = c.load(source, "")
	}
	switch {
	case code == "" && ds.HasErrors():
		t.Errorf("got reports:\n%v", ds)
	case code != "" && !strings.Contains(ds.Error(), "["+code+"]"):
		t.Errorf("got %v, want a report with code %s", ds, code)
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
