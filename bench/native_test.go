package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

func toolchain(b *testing.B) *native.Toolchain {
	tc, err := native.FindToolchain("", nil)
	if err != nil {
		b.Fatal(err)
	}
	return tc
}

// BenchmarkCompileOrchestration is one orchestration to a shared object, beside the same compiler on a file that only includes three standard headers.
func BenchmarkCompileOrchestration(b *testing.B) {
	src := []byte(toCPP(b, []byte(small), "main"))
	tc, dir := toolchain(b), b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "peer.cpp"), []byte("#include <vector>\n#include <algorithm>\n#include <string>\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	against(b, func() {
		if _, err := tc.Compile(context.Background(), "main.cpp", src); err != nil {
			b.Fatal(err)
		}
	}, command(b, "three-headers", dir, tc.CXX, "-std=c++17", "-O1", "-g1", "-fPIC", "-shared", "peer.cpp", "-o", "peer.so"))
}

// planOf is the plan of main of a source, and its program.
func planOf(b *testing.B, src []byte) (*plan.File, *ir.Program) {
	b.Helper()
	reg := ops.Builtin()
	unit, ds := lang.Load("bench.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return src, nil }})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	p, ds := passes.Run(&passes.Context{Ops: reg}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	f, ds := lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	return f, p
}

// fiveTasks is an orchestration of five tasks on 16×16 floats, in both forms.
func fiveTasks(b *testing.B) (*plan.File, *ir.Program, []byte) {
	src := []byte(small[:len(small)-len("        return d\n")] + "        d = self.add(d, b, d)\n        d = self.add(d, b, d)\n        d = self.add(d, b, d)\n        return d\n")
	f, p := planOf(b, src)
	code, _ := orch.Print(f, orch.Default())
	return f, p, []byte(code)
}

// BenchmarkChildRun is a compiled run of five tasks in a child process, from start to result, beside a process that only starts and ends.
func BenchmarkChildRun(b *testing.B) {
	f, p, code := fiveTasks(b)
	object, err := toolchain(b).Compile(context.Background(), "main.cpp", code)
	if err != nil {
		b.Fatal(err)
	}
	e := &native.Engine{Children: native.NewChildren(orchestrationHost(b)), Object: object, Source: "main.cpp"}
	job := &exec.Job{Plan: f, Program: p, Schedules: []exec.Schedule{{Policy: sim.FIFO}}}
	for range f.Tensors {
		job.Tensors = append(job.Tensors, exec.Tensor{DType: ir.FP32, Shape: []uint32{16, 16}, Data: make([]byte, 1024)})
	}
	against(b, func() {
		results, err := e.Run(context.Background(), job)
		if err != nil || results[0].Failed() || results[0].Tasks != 5 {
			b.Fatal(err, results)
		}
	}, command(b, "true", ".", "true"))
}

// BenchmarkPlanRun is the same run by the plan interpreter in this process.
func BenchmarkPlanRun(b *testing.B) {
	f, p, _ := fiveTasks(b)
	job := &exec.Job{Plan: f, Program: p, Schedules: []exec.Schedule{{Policy: sim.FIFO}}}
	for range f.Tensors {
		job.Tensors = append(job.Tensors, exec.Tensor{DType: ir.FP32, Shape: []uint32{16, 16}, Data: make([]byte, 1024)})
	}
	engine := &exec.Plan{Ops: ops.Builtin()}
	b.ReportAllocs()
	for b.Loop() {
		if results, err := engine.Run(context.Background(), job); err != nil || results[0].Failed() {
			b.Fatal(err, results)
		}
	}
}

// processesCPU is the processor time of this process and of its children that have ended.
func processesCPU(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// BenchmarkCompiledSubmits is one child run of 200,000 submits from compiled C++, trace included.
func BenchmarkCompiledSubmits(b *testing.B) {
	const tasks = 200000
	src := fmt.Sprintf(`#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {1}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    for (int i = 0; i < %d; i += 500) {
        PTO2_SCOPE() for (int j = 0; j < 500; ++j) { Arg a; a.add_inout(args.tensor(0)); rt_submit_dummy_task(a); }
    }
}
`, tasks)
	object, err := toolchain(b).Compile(context.Background(), "main.cpp", []byte(src))
	if err != nil {
		b.Fatal(err)
	}
	e := &native.Engine{Children: native.NewChildren(orchestrationHost(b)), Object: object, Source: "main.cpp"}
	job := &exec.Job{Plan: &plan.File{}, Program: &ir.Program{}, Schedules: []exec.Schedule{{Policy: sim.FIFO}},
		Tensors: []exec.Tensor{{DType: ir.FP32, Shape: []uint32{16}, Data: make([]byte, 64)}}}
	start := processesCPU(b)
	for b.Loop() {
		results, err := e.Run(context.Background(), job)
		if err != nil || results[0].Failed() || results[0].Tasks != tasks {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*tasks/(processesCPU(b)-start).Seconds(), "tasks/cpu-s")
}
