package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// BenchmarkSubmits is what a submit costs inside the child: the call out of C++, its conversion, the simulator, the trace and its encoding.
func BenchmarkSubmits(b *testing.B) {
	const tasks = 50000
	tools, err := native.FindToolchain("", nil)
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := tools.Compile(context.Background(), "main.cpp", []byte(`#include "pto_orchestration_api.h"
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {2}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs& args) {
    for (int i = 0; i < 50000; i += 500)
        PTO2_SCOPE() for (int j = 0; j < 500; ++j) { Arg a; a.add_input(args.tensor(0)); a.add_inout(args.tensor(1)); a.add_scalar(i); rt_submit_aiv_task(0, a); }
}
`))
	if err != nil {
		b.Fatal(err)
	}
	object := filepath.Join(b.TempDir(), "o.so")
	if err := os.WriteFile(object, compiled, 0o777); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tensor := exec.Tensor{DType: ir.FP32, Shape: []uint32{16}, Data: make([]byte, 64)}
	br := newBridge(&protocol.Request{Source: "main.cpp", Kernels: []plan.Kernel{{Name: "k", Core: plan.AIV}}, Tensors: []exec.Tensor{tensor, tensor}}, new(protocol.Progress), nil)
	o, d := load(object)
	if d != nil {
		b.Fatal(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		r, d := br.run(o, exec.Schedule{Policy: sim.FIFO})
		if d != nil || r.Tasks != tasks || r.Diags.HasErrors() {
			b.Fatal(d, r)
		}
	}
	b.ReportMetric(float64(b.N)*tasks/b.Elapsed().Seconds(), "submits/s")
}
