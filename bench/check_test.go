package bench

import (
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// checkTasks is the size of the graphs.
const checkTasks = 100_000

// BenchmarkRaceCheck runs graphs of 100,000 tasks with the graph kept and searches them for races; the peer is the same run without. tasks/cpu-s is the run with
// the check, tasks/check-cpu-s what the check adds to it.
func BenchmarkRaceCheck(b *testing.B) {
	for _, shape := range []string{"chain", "fan-out", "independent", "tiles", "layers", "readers"} {
		b.Run(shape, func(b *testing.B) {
			var with, without []time.Duration // of processors, the garbage collector's too: other work on the machine does not matter
			timed := func(checked bool, used *[]time.Duration) func() {
				return func() {
					from := processCPU(b)
					runShape(b, shape, checked)
					*used = append(*used, processCPU(b)-from)
				}
			}
			against(b, timed(true, &with), side{"unchecked", timed(false, &without)})
			run, plain := median(with), median(without)
			b.ReportMetric(checkTasks/run.Seconds(), "tasks/cpu-s")
			b.ReportMetric(checkTasks/max(run-plain, time.Microsecond).Seconds(), "tasks/check-cpu-s")
		})
	}
}

// processCPU is the processor time of this process.
func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// runShape runs a graph in scopes of 512 tasks: an InOut chain, readers of one result, tasks with buffers of their own, writers of tiles with a reader of
// all, layers of 16 tasks with all edges between in a MANUAL scope, and readers of one entry tensor.
func runShape(b *testing.B, shape string, checked bool) {
	rt, err := sim.New(sim.Config{Check: checked})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	x, err := rt.NewTensor(ir.FP32, 64, 16)
	if err != nil {
		b.Fatal(err)
	}
	if err := rt.Entry([]sim.Tensor{x}); err != nil {
		b.Fatal(err)
	}
	fresh := sim.Arg{Tag: sim.Output, Create: &sim.CreateInfo{Shape: []uint32{16}, DType: ir.FP32}}
	var last, layer []sim.TaskID
	for n := 0; n < checkTasks; {
		rt.ScopeBegin(shape == "layers", sim.Site{Line: 1})
		for j := 0; j < 512 && n < checkTasks; j++ {
			a := sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1}
			row, err := x.View([]uint32{1, 16}, []uint32{uint32(j % 64), 0}, false)
			if err != nil {
				b.Fatal(err)
			}
			switch shape {
			case "chain":
				a.Args = []sim.Arg{{Tag: sim.InOut, Tensor: x}}
			case "fan-out":
				a.Args = []sim.Arg{{Tag: sim.Input, Tensor: x}, fresh}
				if n == 0 {
					a.Args[0].Tag = sim.InOut
				}
			case "independent":
				a.Args = []sim.Arg{fresh}
			case "tiles":
				a.Args = []sim.Arg{{Tag: sim.InOut, Tensor: row}}
				if j%65 == 64 {
					a.Args = []sim.Arg{{Tag: sim.InOut, Tensor: x}}
				}
			case "layers":
				a.Args, a.Deps = []sim.Arg{{Tag: sim.InOut, Tensor: row}}, last
			case "readers":
				a.Args = []sim.Arg{{Tag: sim.Input, Tensor: x}, fresh}
			}
			layer = append(layer, rt.Submit(&a, sim.Site{Line: int32(j + 2)}).Task)
			if len(layer) == 16 {
				last, layer = layer, nil
			}
			n++
		}
		rt.ScopeEnd(sim.Site{Line: 1})
	}
	if err := rt.Finish(); err != nil {
		b.Fatal(err)
	}
	if checked {
		if r := check.Run(rt, check.Names{}); shape != "layers" && len(r.Races) > 0 {
			b.Fatal(r.Diags()[0])
		}
	}
}
