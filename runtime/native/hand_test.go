package native

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	rt "github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// entry is a tensor of f(0), f(1), ….
func entry(d ir.DType, f func(i int) float64, shape ...uint32) rt.Tensor {
	n := 1
	for _, s := range shape {
		n *= int(s)
	}
	x := rt.Tensor{DType: d, Shape: shape, Data: make([]byte, n*d.Bytes())}
	for i := range n {
		kernels.Store(d, x.Data[i*d.Bytes():], f(i))
	}
	return x
}

func wave(i int) float64 { return float64(i*37%23) - 11 }

// Orchestrations written by hand, as those of the reference runtime are: each runs in several orders and gives what the mathematics say.
func TestHandwrittenOrchestrations(t *testing.T) {
	affine := func(id int) [2]any { k, o := cppKernel(t, id, "affine", plan.AIV, "affine.cpp"); return [2]any{k, o} }
	mul, mulObject := cppKernel(t, 1, "mul", plan.AIV, "mul.cpp")
	gemm, gemmObject := cppKernel(t, 0, "gemm", plan.AIC, "gemm.cpp")
	cube, cubeObject := cppKernel(t, 0, "cube", plan.AIC, "blocks.cpp")
	vector, vectorObject := cppKernel(t, 1, "vector", plan.AIV, "blocks.cpp")
	a0, a1 := affine(0), affine(1)
	zero := func(int) float64 { return 0 }
	table := []float64{4, -1, 0, 2, 2, 5, 1}
	for _, c := range []struct {
		file    string
		tensors []rt.Tensor
		scalars []uint64
		kernels []any
		want    func(i int) float64 // of the last tensor
	}{
		{"vector.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16), entry(ir.FP32, func(i int) float64 { return float64(i % 7) }, 16, 16), entry(ir.FP32, zero, 16, 16)},
			[]uint64{uint64(math.Float32bits(1))}, []any{a0[0], a0[1], mul, mulObject}, func(i int) float64 { c := wave(i) + float64(i%7); return (c+1)*(c+2) + c }},
		{"tiles.cpp", []rt.Tensor{entry(ir.FP32, wave, 8, 12), entry(ir.FP32, func(i int) float64 { return wave(i + 4) }, 12, 16), entry(ir.FP32, zero, 8, 16)},
			nil, []any{gemm, gemmObject, a1[0], a1[1]}, func(i int) float64 {
				s := 0.0
				for k := range 12 {
					s += wave(i/16*12+k) * wave(k*16+i%16+4)
				}
				return s
			}},
		{"pages.cpp", []rt.Tensor{entry(ir.FP32, wave, 24, 8), entry(ir.INT32, func(i int) float64 { return table[i] }, 7), entry(ir.FP32, zero, 4, 8)},
			[]uint64{7}, []any{a0[0], a0[1]}, func(i int) float64 {
				s := 0.0
				for _, block := range table {
					if block >= 0 {
						s += wave(int(block)*32 + i)
					}
				}
				return s
			}},
		{"scalars.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16), entry(ir.FP32, zero, 16, 16)}, nil, []any{a0[0], a0[1]}, func(i int) float64 {
			v, flag := wave(i)+2.5, 0.0
			if wave(3*16+5)+2.5 > 0 {
				flag = 1
			}
			if i == 3*16+5 {
				v *= 100
			}
			return v + flag
		}},
		{"gates.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16), entry(ir.FP32, func(int) float64 { return -7 }, 24, 16)}, nil, []any{a0[0], a0[1]}, func(i int) float64 {
			k, o := i/16/6, i/16%6
			// The value is -2; the target -2 for even k, -1 for odd: EQ NE GT LT GE LE.
			if [2][6]bool{{true, false, false, false, true, true}, {false, true, false, true, false, true}}[k%2][o] {
				return wave(i%16) + float64(10*k+o)
			}
			return -7
		}},
		{"lanes.cpp", []rt.Tensor{entry(ir.FP32, zero, 64, 4)}, nil, []any{cube, cubeObject, vector, vectorObject}, func(i int) float64 {
			row, col := i/4, i%4
			for task, t := range []struct{ blocks, lanes int }{{8, 7}, {16, 3}, {4, 2}, {16, 2}} { // lanes: a bit for the cube and each vector core
				if row < t.blocks {
					if t.lanes>>col&1 == 0 {
						return 0
					}
					return float64(1000*task + 100*t.blocks + 10*row + col)
				}
				row -= t.blocks
			}
			return 0
		}},
		{"older.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16), entry(ir.FP32, zero, 16, 16)}, nil, []any{a0[0], a0[1]}, func(i int) float64 { return 4 * wave(i) }},
		{"oldest.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16), entry(ir.FP32, zero, 16, 16)}, []uint64{16}, []any{a0[0], a0[1]}, func(i int) float64 {
			if i < 16 {
				return 8 * wave(i)
			}
			return 4 * wave(i)
		}},
		{"phases.cpp", []rt.Tensor{entry(ir.FP32, wave, 16, 16)}, []uint64{3}, []any{a0[0], a0[1]}, func(i int) float64 { return 8*wave(i) + 7*float64(i/64) }},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(filepath.Join("testdata/hand", c.file))
			if err != nil {
				t.Fatal(err)
			}
			e, table := external(t, string(src), c.kernels...)
			job := callsOnly(c.tensors, c.scalars)
			job.Plan.Kernels = table
			job.Schedules = []rt.Schedule{{Policy: sim.FIFO}, {Policy: sim.LIFO}, {Policy: sim.Sequential}, {Policy: sim.Newest}, {Policy: sim.Random, Seed: 1}, {Policy: sim.Random, Seed: 2}}
			for k, r := range runOK(t, e, job) {
				for i, got := range floats(r.Outputs[len(r.Outputs)-1]) {
					if got != c.want(i) {
						t.Fatalf("%s: element %d is %v, want %v", job.Schedules[k], i, got, c.want(i))
					}
				}
			}
		})
	}
}

// The hand-written files compile without a warning under each compiler that is there.
func TestHandwrittenWithoutWarnings(t *testing.T) {
	sources, err := filepath.Glob("testdata/hand/*.cpp")
	if err != nil || len(sources) < 7 {
		t.Fatal(sources, err)
	}
	dir := t.TempDir()
	for _, h := range headers() {
		if err := os.WriteFile(filepath.Join(dir, h.name), h.text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, cxx := range []string{"g++", "clang++"} {
		path, err := exec.LookPath(cxx)
		if err != nil {
			continue // TestHeaderAcceptsEveryGeneration asks for one of them
		}
		args := append([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", dir}, sources...)
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cxx, err, out)
		}
	}
}

// The entry function in the forms that it had over time, in any linkage; and what is said when there is none.
func TestEntryForms(t *testing.T) {
	const task, arrays = "Arg a; a.add_inout(t); rt_submit_aiv_task(0, a);", "uint32_t s[2] = {16, 16}; Tensor t = make_tensor_external((void*)args[0], s, 2); always_assert(args[1] == 7 && n == 2);"
	for _, c := range []struct{ source, fails string }{
		{source: "static void aicpu_orchestration_entry(ChipTaskArgs args, int threads, int i) { always_assert(threads == 1 && i == 0); const Tensor& t = args.tensor(0); " + task + " }"},
		{source: "extern \"C\" void aicpu_orchestration_entry(uint64_t* args, int n) { " + arrays + task + " }"},
		{source: "PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t*, int n) { return {n}; }\n" +
			"extern \"C\" void aicpu_orchestration_entry(uint64_t* args, int n, int threads, int i) { always_assert(threads == 1 && i == 0); " + arrays + task + " }"},
		{source: "void aicpu_orchestration_enter(const L2TaskArgs&) {}", fails: "the orchestration defines no aicpu_orchestration_entry that takes const ChipStorageTaskArgs&"},
	} {
		t.Run(c.source, func(t *testing.T) {
			t.Parallel()
			src := "#include \"pto_orchestration_api.h\"\n" + c.source + "\n"
			if c.fails == "" {
				if r := runOK(t, engineFor(t, "o.cpp", src), callsOnly(tiles(1), []uint64{7}, "k")); r[0].Tasks != 1 {
					t.Errorf("%d tasks", r[0].Tasks)
				}
				return
			}
			fails(t, src, c.fails)
		})
	}
	fails(t, "int x;\n", "does not include pto_orchestration_api.h")
}

// fails compiles an orchestration that each compiler is to refuse with one report, and nothing of the text that the tool adds.
func fails(t *testing.T, src, message string) {
	t.Helper()
	for _, cxx := range []string{"g++", "clang++"} {
		tc, err := FindToolchain(cxx, nil)
		if err != nil {
			continue
		}
		_, err = tc.Compile(context.Background(), "o.cpp", []byte(src))
		if ds := diag.AsList(err, "none"); err == nil || len(ds) != 1 || ds[0].Code != CodeCompile || !strings.Contains(ds[0].Message, message) || ds[0].Span.File != "o.cpp" {
			t.Errorf("%s: %v", cxx, err)
		}
	}
}

// The config function asks for a number of arguments: more than there are is an error, fewer are fine, and 0 asks for nothing.
func Test64ExpectedArguments(t *testing.T) {
	e := engineFor(t, "o.cpp", `#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const L2TaskArgs& args) { return {.expected_arg_count = (int32_t)args.scalar(0)}; }
void aicpu_orchestration_entry(const L2TaskArgs& args) { L0TaskArgs a; a.add_inout(args.tensor(0)); rt_submit_aiv_task(0, a); }
`)
	for want := range uint64(5) {
		results, err := e.Run(context.Background(), callsOnly(tiles(1), []uint64{want}, "k"))
		switch d := soleReport(t, results, err); {
		case want <= 2 && (d != nil || results[0].Tasks != 1):
			t.Errorf("%d of 2: %v", want, d)
		case want > 2 && (d == nil || d.Code != sim.CodeArity || d.Span.File != "o.cpp"):
			t.Errorf("%d of 2: %v", want, d)
		}
	}
}

// A stream in a header of the workspace brings its standard header with it, as one in the source does.
func TestStreamsInHeaders(t *testing.T) {
	tc, err := FindToolchain("", nil)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"util.h": "inline std::string name(uint32_t n) { std::ostringstream s; s << n; return s.str(); }\n",
		"o.cpp": `#include "pto_orchestration_api.h"
#include "util.h"
void aicpu_orchestration_entry(const L2TaskArgs& args) { rt_report_fatal(1, "%s", name(args.tensor_count()).c_str()); }
`,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, reads, err := tc.Preprocess(context.Background(), root, "o.cpp", "", nil)
	if err != nil || !slices.Equal(reads, []string{"o.cpp", "util.h"}) {
		t.Fatal(reads, err)
	}
	if _, err := tc.CompilePreprocessed(context.Background(), "o.cpp", text); err != nil {
		t.Error(err)
	}
}
