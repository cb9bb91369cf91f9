package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// cppKernel is a kernel of a table written in C++: a file of testdata/kernels, or text, which goes to a file of its own.
func cppKernel(t testing.TB, id int, name string, core plan.Core, source string) (plan.Kernel, KernelObject) {
	t.Helper()
	tc, err := toolchain()
	if err != nil {
		t.Fatal(err)
	}
	root := "testdata"
	if strings.Contains(source, "\n") {
		root = t.TempDir()
		if err := os.WriteFile(filepath.Join(root, name+".cpp"), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		source = name + ".cpp"
	} else {
		source = "kernels/" + source
	}
	k := plan.Kernel{ID: id, Name: name, Core: core, External: &ir.External{Source: source, IncludeDirs: []string{"kernels/inc"}}}
	s, err := tc.Kernel(context.Background(), root, k)
	if err != nil {
		t.Fatal(err)
	}
	object, err := tc.CompileKernel(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return k, KernelObject{id, source, object}
}

const oneTask = `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {0}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    Arg a;
    for (uint32_t i = 0; i < args.tensor_count(); ++i)
        if (i + 1 < args.tensor_count()) a.add_input(args.tensor(i)); else a.add_inout(args.tensor(i));
    a.add_scalar(0.5f);
    a.launch_spec.set_block_num(BLOCKS);
    SUBMIT;
}
`

func external(t testing.TB, src string, ks ...any) (*Engine, []plan.Kernel) {
	e := engineFor(t, "o.cpp", src)
	var table []plan.Kernel
	for i := 0; i < len(ks); i += 2 {
		table = append(table, ks[i].(plan.Kernel))
		e.Kernels = append(e.Kernels, ks[i+1].(KernelObject))
	}
	return e, table
}

func oneSubmit(blocks, submit string) string {
	return strings.NewReplacer("BLOCKS", blocks, "SUBMIT", submit).Replace(oneTask)
}

func floats(b []byte) []float64 {
	v := make([]float64, len(b)/4)
	for i := range v {
		v[i] = kernels.Load(ir.FP32, b[4*i:])
	}
	return v
}

// A C++ kernel computes on handles, views included, and a run of the plan that repeats its effects gives the same.
func TestExternalKernel(t *testing.T) {
	k, o := cppKernel(t, 0, "add", plan.AIV, "add.cpp")
	e, table := external(t, `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {3}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    for (uint32_t half = 0; half < 2; ++half) {
        uint32_t shape[2] = {16, 8}, offset[2] = {0, 8 * half};
        Tensor a = args.tensor(0).view(shape, offset), b = args.tensor(1).view(shape, offset), c = args.tensor(2).view(shape, offset);
        Arg p;
        p.add_input(a, b);
        p.add_inout(c);
        rt_submit_aiv_task(0, p);
    }
}
`, k, o)
	job := callsOnly(tiles(3), nil)
	job.Plan.Kernels = table
	job.Schedules = append(job.Schedules, exec.Schedule{Policy: sim.LIFO}, exec.Schedule{Policy: sim.Random, Seed: 2})
	for _, r := range runOK(t, e, job) {
		a, b, c := floats(job.Tensors[0].Data), floats(job.Tensors[1].Data), floats(r.Outputs[2])
		for i := range c {
			if c[i] != a[i]+2*b[i] {
				t.Fatalf("element %d is %v", i, c[i])
			}
		}
		written := 0
		for _, call := range r.Effects {
			for _, w := range call {
				written += len(w.Data)
			}
		}
		if len(r.Effects) != 2 || written < 900 {
			t.Errorf("%d calls wrote %d bytes", len(r.Effects), written)
		}
	}
}

// Blocks and lanes know who they are, and each core gets its own half of a source.
func TestExternalBlocksAndLanes(t *testing.T) {
	aic, o0 := cppKernel(t, 0, "cube", plan.AIC, "blocks.cpp")
	aiv, o1 := cppKernel(t, 1, "vector", plan.AIV, "blocks.cpp")
	e, table := external(t, oneSubmit("3", "rt_submit_task(MixedKernels{0, 1, 1}, a)"), aic, o0, aiv, o1)
	job := callsOnly([]exec.Tensor{{DType: ir.FP32, Shape: []uint32{4, 4}, Data: make([]byte, 64)}}, nil)
	job.Plan.Kernels = table
	got := floats(runOK(t, e, job)[0].Outputs[0])
	want := []float64{300.5, 301.5, 302.5, 0, 310.5, 311.5, 312.5, 0, 320.5, 321.5, 322.5, 0, 0, 0, 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A C++ kernel that goes wrong is named with its task, at the line of the submit and at its own.
func TestExternalKernelFailures(t *testing.T) {
	cases := []struct {
		name    string
		body    string
		code    diag.Code
		message string
		inside  bool // the report names the line of the kernel that «» marks
	}{
		{"null pointer", "(void)p; p = nullptr;\n «» *(volatile float*)p = 1;", CodeCrash, "kernel 'bad' of task 0, block 0 of 1, died of SIGSEGV: it used a null pointer (address 0x0)", true},
		{"out of bounds", "for (int i = 0; i < 1 << 28; ++i)\n «» p[i] = 1;", CodeCrash, "kernel 'bad' of task 0, block 0 of 1, died of SIGSEGV: it used memory beyond the end of argument 0", true},
		{"division", "volatile int n = 0;\n «» p[0] = 7 / n;", CodeCrash, "died of SIGFPE: an integer division by zero", true},
		{"abort", "(void)p; abort();", CodeCrash, "kernel 'bad' of task 0, block 0 of 1, died of SIGABRT", false},
		{"exit", "(void)p; exit(0);", CodeCrash, "kernel 'bad' of task 0, block 0 of 1, ended the process: it called exit(0)", false},
		{"endless", "for (;;) *(volatile float*)p = 1;", CodeHang, "kernel 'bad' of task 0, block 0 of 1, did not end within 300ms", false},
		{"exception", "(void)p;\n «» throw std::runtime_error(\"odd shape\");", protocol.CodeException, "a C++ exception left it: odd shape", true},
		{"exception of the library", "std::vector<int> v(2);\n «» *p = float(v.at(2 + (p != nullptr)));", protocol.CodeException, "a C++ exception left it: vector::_M_range_check", true},
		{"exceptions of destructors", "(void)p; struct D { ~D() { try { throw 5; } catch (...) {} } } d;\n «» throw std::runtime_error(\"odd shape\");", protocol.CodeException, "a C++ exception left it: odd shape", true},
		{"other", "(void)p;\n «» throw 3;", protocol.CodeException, "a C++ exception left it", true},
	}
	src := "#include <stdexcept>\n#include <vector>\n#include <stdlib.h>\n#include \"tensor.h\"\n"
	lines := make([]int32, len(cases))
	for i, c := range cases { // one source, in which the scalar chooses
		src += fmt.Sprintf("static void case%d(float* p) {\n", i)
		before, after, _ := strings.Cut(c.body, "«»")
		lines[i] = int32(strings.Count(src+before, "\n") + 1)
		src += before + after + "\n}\n"
	}
	src += "extern \"C\" void kernel_entry(int64_t* args) {\n    float* p = tensor_arg(args, 0).data<float>();\n    switch (scalar_arg<int64_t>(args, 1)) {\n"
	for i := range cases {
		src += fmt.Sprintf("    case %d: return case%d(p);\n", i, i)
	}
	k, o := cppKernel(t, 0, "bad", plan.AIV, src+"    }\n}\n")
	e, table := external(t, strings.Replace(oneSubmit("1", "rt_submit_aiv_task(0, a);\n    rt_available_aiv_count()"), "0.5f", "args.scalar(0)", 1), k, o)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			job := callsOnly(tiles(1), []uint64{uint64(i)})
			job.Plan.Kernels = table
			if c.code == CodeHang {
				job.Timeout = 300 * time.Millisecond
			}
			results, err := e.Run(context.Background(), job)
			d := soleReport(t, results, err)
			if d == nil || d.Code != c.code || !strings.Contains(d.Message, c.message) || d.Span.Line != 9 || d.Hint == "" {
				t.Fatalf("reported %v", d)
			}
			if c.inside && !slices.ContainsFunc(d.Related, func(r diag.Related) bool { return r.Span.File == "bad.cpp" && r.Span.Line == lines[i] }) {
				t.Errorf("related %+v, want line %d", d.Related, lines[i])
			}
		})
	}
}

// An input that a kernel writes is a warning: it races with whoever else reads it.
func TestExternalKernelWritesInput(t *testing.T) {
	k, o := cppKernel(t, 0, "bad", plan.AIV, "#include \"tensor.h\"\nextern \"C\" void kernel_entry(int64_t* args) { tensor_arg(args, 0).at<float>(1, 2) = 3; }\n")
	e, table := external(t, oneSubmit("1", "rt_submit_aiv_task(0, a)"), k, o)
	job := callsOnly(tiles(2), nil)
	job.Plan.Kernels = table
	ds := runOK(t, e, job)[0].Diags
	if len(ds) != 1 || ds[0].Code != protocol.CodeInputWritten || !strings.Contains(ds[0].Message, "writes to argument 0") || !strings.Contains(ds[0].Message, "element 18") || ds[0].Span.Line != 9 {
		t.Errorf("%v", ds)
	}
}

// An argument of a kernel that the program declares has its name in reports, whatever the kernel did.
func TestArgumentNames(t *testing.T) {
	for body, want := range map[string]string{
		"tensor_arg(args, 0).at<float>(1, 2) = 3;":    "writes to argument 0 (a), which",
		"tensor_arg(args, 1).data<float>()[256] = 3;": "memory beyond the end of argument 1 (b)",
		"tensor_arg(args, 1).data<float>()[-5] = 3;":  "outside of its arguments, 20 bytes before the start of argument 1 (b)",
	} {
		k, o := cppKernel(t, 0, "bad", plan.AIV, "#include \"tensor.h\"\nextern \"C\" void kernel_entry(int64_t* args) { "+body+" }\n")
		k.Func = "kernel_add"
		e, table := external(t, oneSubmit("1", "rt_submit_aiv_task(0, a)"), k, o)
		job := callsOnly(tiles(2), nil)
		job.Plan.Kernels, job.Program = table, program(t, "kernels.py")
		results, err := e.Run(context.Background(), job)
		ds := diag.AsList(err, "none")
		if err == nil {
			ds = results[0].Diags
		}
		if len(ds) != 1 || !strings.Contains(ds[0].Message, want) {
			t.Errorf("%v, want %s", ds, want)
		}
	}
}

// What is wrong with a source is told with the kernel and the line.
func TestKernelCompilerReports(t *testing.T) {
	root := t.TempDir()
	for _, cxx := range []string{"g++", "clang++"} {
		tc, err := FindToolchain(cxx, nil)
		if err != nil {
			continue
		}
		for name, c := range map[string]struct {
			text, place, message string
			code                 diag.Code
		}{
			"no entry":    {"int x;\n", "k.cpp", "defines no kernel_entry", CodeKernelEntry},
			"C++ linkage": {"void kernel_entry(long* args) { (void)args; }\n", "k.cpp", "defines no kernel_entry", CodeKernelEntry},
			"syntax":      {"extern \"C\" void kernel_entry(long* args) {\n    int y = x;\n}\n", "k.cpp:2:", "kernel 'k': C++ compiler: ", CodeCompile},
			"no header":   {"#include \"nowhere.h\"\n", "k.cpp:1:", "nowhere.h", CodeCompile},
		} {
			if err := os.WriteFile(filepath.Join(root, "k.cpp"), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			k := plan.Kernel{Name: "k", Core: plan.AIV, External: &ir.External{Source: "k.cpp"}}
			s, err := tc.Kernel(context.Background(), root, k)
			if err == nil {
				_, err = tc.CompileKernel(context.Background(), s)
			}
			ds := diag.AsList(err, "")
			if err == nil || ds[0].Code != c.code || !strings.HasPrefix(ds[0].Span.String(), c.place) || !strings.Contains(ds[0].Message, c.message) || ds[0].Hint == "" {
				t.Errorf("%s, %s: %v", cxx, name, err)
			}
		}
	}
}

// The key of a kernel covers everything that it includes, and nothing of where the workspace lies.
func TestKernelKeys(t *testing.T) {
	tc, err := toolchain()
	if err != nil {
		t.Fatal(err)
	}
	make := func(header string) *KernelSource {
		root := t.TempDir()
		for name, text := range map[string]string{"k.cpp": "#include \"k.h\"\n#include \"tensor.h\"\nextern \"C\" void kernel_entry(long*) { f(); }\n", "k.h": header} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		s, err := tc.Kernel(context.Background(), root, plan.Kernel{Name: "k", External: &ir.External{Source: "k.cpp"}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, same, other := make("inline void f() {}\n"), make("inline void f() {}\n"), make("inline void f() { int x = 1; (void)x; }\n")
	if tc.KernelKey(one) != tc.KernelKey(same) {
		t.Error("the key depends on the folder")
	}
	if tc.KernelKey(one) == tc.KernelKey(other) {
		t.Error("the key does not cover an included header")
	}
	if !slices.Equal(one.Reads, []string{"k.cpp", "k.h"}) {
		t.Errorf("reads %v", one.Reads)
	}
}

// An object that is none.
func TestKernelLoadReports(t *testing.T) {
	e := engineFor(t, "o.cpp", oneSubmit("1", "rt_submit_aiv_task(0, a)"))
	e.Kernels = []KernelObject{{0, "k.cpp", []byte("no object")}}
	job := callsOnly(tiles(1), nil)
	job.Plan.Kernels = []plan.Kernel{{Name: "k", External: &ir.External{Source: "k.cpp"}}}
	_, err := e.Run(context.Background(), job)
	var d *diag.Diagnostic
	if !errors.As(err, &d) || d.Code != protocol.CodeLoad || d.Span.File != "k.cpp" || strings.Contains(d.Message, "/tmp") {
		t.Errorf("%v", err)
	}
}
