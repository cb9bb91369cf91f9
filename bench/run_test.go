package bench

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// loops is a program of n·500 tasks, each in the scope of its trip, and a hand-written one of 100,000.
const (
	loops = `import pypto.language as pl

T = pl.Tensor[[16], pl.FP32]

@pl.program
class Loops:
    @pl.function(type=pl.FunctionType.InCore)
    def bump(self, a: T, x: pl.InOut[T]) -> T:
        return pl.store(pl.add(pl.load(a, [0], [16]), pl.load(x, [0], [16])), [0], x)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, x: pl.InOut[T], n: pl.Scalar[pl.INT64], m: pl.Scalar[pl.INT64]) -> T:
        for i in pl.range(0, n):
            for j in pl.range(0, m):
                x = self.bump(a, x)
        return x
`
	submits = `#include "pto_orchestration_api.h"
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    for (int i = 0; i < 100000; i += 500) {
        PTO2_SCOPE() for (int j = 0; j < 500; ++j) { Arg a; a.add_inout(args.tensor(0)); rt_submit_dummy_task(a); }
    }
}
`
)

// BenchmarkRun is `ptobuild run` as a whole process, its children included, with the C++ compiled before. cpu-ms counts processor time, so that
// other work on the machine does not matter much, peak-MB the memory of the biggest process.
func BenchmarkRun(b *testing.B) {
	exe, dir := tool(b), b.TempDir()
	for name, text := range map[string]string{"Pto.toml": "[workspace]\nname = \"bench\"\n\n[simulator]\ntimeout = \"10m\"\n", "loops.py": loops, "submits.cpp": submits} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	many := func(n, m int, more ...string) []string {
		return append([]string{"//loops:main", "--scalar", fmt.Sprint("n=", n), "--scalar", fmt.Sprint("m=", m)}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"5 tasks", many(1, 5)},
		{"5 tasks, plan", many(1, 5, "--no-compile")},
		{"100000 tasks", many(200, 500)},
		{"100000 tasks, plan", many(200, 500, "--no-compile")},
		{"100000 submits of C++", []string{"submits.cpp", "--signature", "inout a: FP32[16]"}},
		{"1000000 tasks", many(2000, 500)},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := func() (cpu time.Duration, peak int64) {
				cmd := osexec.Command(exe, append([]string{"run"}, c.args...)...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PTOBUILD_CACHE="+filepath.Join(dir, "cache"))
				var errs strings.Builder
				cmd.Stderr = &errs
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v\n%s", err, errs.String())
				}
				return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
			}
			run() // compiles
			var times []time.Duration
			var top int64
			for b.Loop() {
				cpu, peak := run()
				times = append(times, cpu)
				top = max(top, peak)
			}
			b.ReportMetric(float64(median(times))/1e6, "cpu-ms/op")
			b.ReportMetric(float64(top), "peak-MB")
		})
	}
}

// BenchmarkParallelKernels is a plan of 65 independent tasks under the policy parallel, beside the policy fifo, which evaluates the same
// kernels one by one: 64 vector ops on a tile of 64×64, and a matrix product of 128×128×128.
func BenchmarkParallelKernels(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
		body string
	}{
		{"vector", 64, `
        u = pl.add(t, t)
        for k in pl.range(0, 64):
            u = pl.exp(pl.add(u, u))`},
		{"matmul", 128, `
        u = pl.matmul(t, t)`},
	} {
		b.Run(c.name, func(b *testing.B) { parallelKernels(b, c.size, c.body) })
	}
}

func parallelKernels(b *testing.B, size int, body string) {
	src := strings.NewReplacer("SIZE", fmt.Sprint(size), "ROWS", fmt.Sprint(64*size), "BODY", body).Replace(`import pypto.language as pl

A = pl.Tensor[[ROWS, SIZE], pl.FP32]
T = pl.Tensor[[SIZE, SIZE], pl.FP32]

@pl.program
class Tiles:
    @pl.function(type=pl.FunctionType.InCore)
    def tile(self, a: A, out: pl.Out[T], i: pl.Scalar[pl.INDEX]) -> T:
        t = pl.load(a, [i, 0], [SIZE, SIZE])BODY
        return pl.store(u, [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: A, out: pl.Out[T]) -> T:
        for i in pl.parallel(0, ROWS, SIZE):
            t = pl.create_tensor([SIZE, SIZE], dtype=pl.FP32)
            t = self.tile(a, t, i)
        out = self.tile(a, out, 0)
        return out
`)
	f, p := planOf(b, []byte(src))
	run := func(policy sim.Policy) func() {
		job := &exec.Job{Plan: f, Program: p, Schedules: []exec.Schedule{{Policy: policy}}, Machine: sim.Config{Costs: &sim.Costs{Launch: 1_000_000}}}
		for _, rows := range []int{64 * size, size} {
			job.Tensors = append(job.Tensors, exec.Tensor{DType: ir.FP32, Shape: []uint32{uint32(rows), uint32(size)}, Data: make([]byte, 4*rows*size)})
		}
		return func() {
			results, err := (&exec.Plan{Ops: ops.Builtin()}).Run(context.Background(), job)
			if err != nil || results[0].Failed() || results[0].Tasks != 65 {
				b.Fatal(err, results)
			}
		}
	}
	against(b, run(sim.Parallel), side{"fifo", run(sim.FIFO)})
}
