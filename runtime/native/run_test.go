package native

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native/host"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

var update = flag.Bool("update", false, "rewrite the expected traces")

// The test binary is its own child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == protocol.Arg {
		host.Main()
	}
	flag.Parse()
	os.Exit(m.Run())
}

var toolchain = sync.OnceValues(func() (*Toolchain, error) { return FindToolchain("", nil) })

var objects sync.Map // compiled sources: several tests run the same one

func engineFor(t testing.TB, name, src string) *Engine {
	t.Helper()
	compile, _ := objects.LoadOrStore(name+"\n"+src, sync.OnceValues(func() ([]byte, error) {
		tc, err := toolchain()
		if err != nil {
			return nil, err
		}
		return tc.Compile(context.Background(), name, []byte(src))
	}))
	object, err := compile.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{Children: children(t), Object: object, Source: name}
}

func children(t testing.TB) *Children {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewChildren(exe)
}

func engineOf(t testing.TB, file string) *Engine {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return engineFor(t, file, string(src))
}

// tiles are n entry tensors of 16×16 floats; element i of tensor k is k+1 + i/256.
func tiles(n int) []exec.Tensor {
	ts := make([]exec.Tensor, n)
	for k := range ts {
		ts[k] = exec.Tensor{DType: ir.FP32, Shape: []uint32{16, 16}, Data: make([]byte, 4*256)}
		for i := range 256 {
			bits := math.Float32bits(float32(k+1) + float32(i)/256)
			for b := range 4 {
				ts[k].Data[4*i+b] = byte(bits >> (8 * b))
			}
		}
	}
	return ts
}

func kernelTable(names ...string) []plan.Kernel {
	ks := make([]plan.Kernel, len(names))
	for i, n := range names {
		ks[i] = plan.Kernel{ID: i, Name: n, Core: plan.AIV}
	}
	return ks
}

// callsOnly is a job that runs no kernels.
func callsOnly(tensors []exec.Tensor, scalars []uint64, kernels ...string) *exec.Job {
	return &exec.Job{Plan: &plan.File{Kernels: kernelTable(kernels...)}, Program: &ir.Program{}, Tensors: tensors, Scalars: scalars,
		Schedules: []exec.Schedule{{Policy: sim.FIFO}}}
}

// program is the DSL file in testdata after the passes.
func program(t testing.TB, file string) *ir.Program {
	t.Helper()
	unit, ds := lang.Load(file, lang.Options{Ops: ops.Builtin(), ReadFile: func(p string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", p)) }})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	p, ds := passes.Run(&passes.Context{Ops: ops.Builtin()}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return p
}

func runOK(t testing.TB, e *Engine, job *exec.Job) []exec.Result {
	t.Helper()
	results, err := e.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(job.Schedules) {
		t.Fatalf("%d results of %d schedules", len(results), len(job.Schedules))
	}
	for i := range results {
		if results[i].Failed() {
			t.Fatalf("%s: %v", job.Schedules[i], results[i].Diags)
		}
	}
	return results
}

// The code of the mission documents and the file with every naming generation run, and make exactly the calls that stand there.
func Test66MissionSnippetsRun(t *testing.T) {
	five := math.Float32bits(0.5)
	for _, c := range []struct {
		file    string
		tensors int
		scalars []uint64
		kernels []string
	}{
		{"doc000_complete.cpp", 3, nil, []string{"kernel_add", "kernel_add_again"}},
		{"doc000_fragments.cpp", 2, []uint64{uint64(five)}, []string{"vector", "cube"}},
		{"doc003.cpp", 4, nil, []string{"qk", "sf", "pv", "up"}},
		{"names.cpp", 2, []uint64{7}, []string{"k"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			job := callsOnly(tiles(c.tensors), c.scalars, c.kernels...)
			job.Schedules = append(job.Schedules, exec.Schedule{Policy: sim.Random, Seed: 3}, exec.Schedule{Policy: sim.LIFO})
			results := runOK(t, engineOf(t, c.file), job)
			for i := range results[1:] {
				if d := trace.Diff(results[1+i].Trace.Events(), results[0].Trace.Events()); d != "" {
					t.Errorf("%s: %s", job.Schedules[1+i], d)
				}
			}
			var got bytes.Buffer
			if err := trace.WriteJSON(&got, slices.Values(trace.Orchestration(results[0].Trace.Events()))); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", strings.TrimSuffix(c.file, ".cpp")+".trace.jsonl")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// The complete example with its kernel: d = a + b + b, under every policy, with the same calls as its plan makes.
func TestCompleteExampleComputes(t *testing.T) {
	prog := program(t, "kernels.py")
	job := &exec.Job{Plan: &plan.File{Kernels: []plan.Kernel{{ID: 0, Name: "kernel_add", Core: plan.AIV}, {ID: 1, Name: "kernel_add", Core: plan.AIV}}}, Program: prog,
		Tensors: tiles(3), Schedules: []exec.Schedule{{Policy: sim.FIFO}, {Policy: sim.LIFO}, {Policy: sim.Random, Seed: 1}, {Policy: sim.Sequential}, {Policy: sim.Newest}}}
	for _, r := range runOK(t, engineOf(t, "doc000_complete.cpp"), job) {
		if r.Tasks != 2 {
			t.Errorf("%d tasks", r.Tasks)
		}
		for i := range 256 {
			bits := uint32(0)
			for b := range 4 {
				bits |= uint32(r.Outputs[2][4*i+b]) << (8 * b)
			}
			if got, want := math.Float32frombits(bits), 5+3*float32(i)/256; got != want {
				t.Fatalf("element %d is %v, want %v", i, got, want)
			}
		}
	}
}

// Several objects one after the other, and several schedules of one: nothing of a run is left for the next, not even static variables.
func TestRunsAreIndependent(t *testing.T) {
	const src = `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {1}; }
static int64_t count = NUMBER;
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    static std::vector<int64_t> more(100, 1);
    uint32_t idx[2] = {0, 0};
    set_tensor_data(args.tensor(0), 2, idx, static_cast<float>(count++) + static_cast<float>(more.size()));
    more.push_back(1);
    Arg a;
    rt_submit_dummy_task(a);
}
`
	for _, n := range []string{"3", "4", "3"} {
		job := callsOnly(tiles(1), nil)
		for seed := range uint64(5) {
			job.Schedules = append(job.Schedules, exec.Schedule{Policy: sim.Random, Seed: seed})
		}
		want := map[string]float32{"3": 103, "4": 104}[n]
		for i, r := range runOK(t, engineFor(t, "static.cpp", strings.Replace(src, "NUMBER", n, 1)), job) {
			got := math.Float32frombits(uint32(r.Outputs[0][0]) | uint32(r.Outputs[0][1])<<8 | uint32(r.Outputs[0][2])<<16 | uint32(r.Outputs[0][3])<<24)
			if got != want {
				t.Errorf("object %s, %s: wrote %v, want %v", n, job.Schedules[i], got, want)
			}
		}
	}
}

// Sites are DSL lines where the source map knows the C++ line, for calls and for mistakes recorded while arguments are built.
func TestSitesAreDSLLines(t *testing.T) {
	const src = `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {1}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    Arg a;
    a.add_inout(args.tensor(0));
    rt_submit_aiv_task(0, a);
    Arg b;
    b.set_task_timing_slot(16);
    rt_submit_aiv_task(0, b);
}
`
	e := engineFor(t, "o.cpp", src)
	e.Lines = []LineSpan{{First: 4, Last: 6, Span: diag.Span{File: "p.py", Line: 40, Col: 9}}, {First: 7, Last: 8, Span: diag.Span{File: "p.py", Line: 41, Col: 9}}}
	results, err := e.Run(context.Background(), callsOnly(tiles(1), nil, "k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range results[0].Trace.Events() {
		if s, ok := ev.(*trace.Submit); ok && s.Site.String() != "p.py:40:9" {
			t.Errorf("submit at %s", s.Site)
		}
	}
	if ds := results[0].Diags; len(ds) != 1 || ds[0].Span.String() != "p.py:41:9" {
		t.Errorf("reports %v", ds)
	}
}

func TestCompilerReports(t *testing.T) {
	for _, cxx := range []string{"g++", "clang++"} {
		tc, err := FindToolchain(cxx, nil)
		if err != nil {
			continue // TestHeaderAcceptsEveryGeneration asks for one of them
		}
		for name, c := range map[string]struct{ body, place, message string }{
			"undeclared":       {"int x = y;", "o.cpp:3:", "'y'"},
			"no such overload": {"Arg a; rt_submit_task(0, a);", "o.cpp:3:", "rt_submit_task"},
			"mixed outputs":    {"uint32_t s[1] = {4}; TensorCreateInfo ci(s, 1); Arg a; Tensor t; a.add_output(ci, t);", "o.cpp:3:", "add_output takes either tensors or create-infos"},
			"pointer scalar":   {"Arg a; int x = 0; a.add_scalar(&x);", "o.cpp:3:", "a scalar argument is a number or an enum"},
			"temporary tensor": {"Arg a; a.add_input(Tensor());", "o.cpp:3:", "call to 'add_input'|to an rvalue"},
			"dead reference":   {"uint32_t s[1] = {4}; TensorCreateInfo ci(s, 1); const Tensor& t = alloc_tensors(ci).get_ref(0); (void)t;", "o.cpp:3:", "get_ref"},
			"not defined":      {"extern void nowhere(); nowhere();", "o.cpp", "nowhere() is used but not defined"},
		} {
			src := "#include \"pto_orchestration_api.h\"\nPTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {0}; }\n" +
				"void aicpu_orchestration_entry(const ChipStorageTaskArgs&) { " + c.body + " }\n"
			_, err := tc.Compile(context.Background(), "o.cpp", []byte(src))
			var ds diag.List
			if !errors.As(err, &ds) || ds[0].Code != CodeCompile || !strings.HasPrefix(ds[0].Span.String(), c.place) || !anyOf(ds[0].Message, c.message) {
				t.Errorf("%s, %s: %v", cxx, name, err)
			}
		}
	}
	if _, err := FindToolchain("no-such-compiler", nil); diag.AsList(err, "")[0].Code != CodeToolchain {
		t.Errorf("missing compiler: %v", err)
	}
}

// Objects that are none, or not ours.
func TestLoadReports(t *testing.T) {
	e := &Engine{Children: children(t), Object: []byte("no object"), Source: "o.cpp"}
	if _, err := e.Run(context.Background(), callsOnly(nil, nil)); diag.AsList(err, "")[0].Code != protocol.CodeLoad || strings.Contains(err.Error(), "/tmp") {
		t.Errorf("no object: %v", err)
	}
	tc, err := toolchain()
	if err != nil {
		t.Fatal(err)
	}
	object, err := tc.object(context.Background(), "o.cpp", []byte("extern \"C\" int f() { return 1; }\n"), "c++", nil)
	if err != nil {
		t.Fatal(err)
	}
	e = &Engine{Children: children(t), Object: object, Source: "o.cpp"}
	if _, err := e.Run(context.Background(), callsOnly(nil, nil)); diag.AsList(err, "")[0].Code != protocol.CodeLoad || !strings.Contains(err.Error(), "pto_bind") {
		t.Errorf("without the header: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := engineOf(t, "doc000_complete.cpp").Run(ctx, callsOnly(tiles(3), nil, "a", "b")); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// What the C++ writes to descriptors of the tool is no answer, and ends the run at once.
func TestStrangeWrites(t *testing.T) {
	e := engineFor(t, "o.cpp", `#include "pto_orchestration_api.h"
#include <unistd.h>
void aicpu_orchestration_entry(const L2TaskArgs&) {
    for (int fd = 3; fd < 10; ++fd) (void)!write(fd, "not for you, not for you", 24);
    for (;;) pause();
}
`)
	_, err := e.Run(t.Context(), callsOnly(tiles(1), nil))
	if d := diag.AsList(err, "no code")[0]; d.Code != protocol.CodeProtocol || !strings.Contains(d.Hint, "descriptor") {
		t.Errorf("reported %v", d)
	}
}
