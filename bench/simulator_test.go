package bench

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// The simulator alone: submit, dependency resolution, dispatch and retirement, in scopes of 512 tasks, without kernels, on one thread. An operation is
// a task; tasks/cpu-s counts the processor time of the thread, so that other work on the machine does not matter.
//
// For comparison, the core of the reference alone, without virtual time, submits and completes on one thread of such a machine with nothing else to do (millions
// of tasks a second of processor time): inout chain 3.2, created-output chain 2.5, independent 4.4, fan-out 3.2, 64 tiles and reader 1.4, explicit chain
// 3.5, explicit layers 1.2. Its whole simulator runs 6 to 65 thousand a second.

// simulation drives a runtime with prepared submits, so that only the runtime's work is measured.
type simulation struct {
	b *testing.B
	*sim.Runtime
	x sim.Tensor // 1024 rows of 16 elements
}

func newSimulation(b *testing.B) *simulation {
	rt, err := sim.New(sim.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(rt.Close)
	x, err := rt.NewTensor(ir.FP32, 1024, 16)
	if err == nil {
		err = rt.Entry([]sim.Tensor{x})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	return &simulation{b, rt, x}
}

func (s *simulation) rows(first, n int) sim.Tensor {
	v, err := s.x.View([]uint32{uint32(n), 16}, []uint32{uint32(first), 0}, false)
	if err != nil {
		s.b.Fatal(err)
	}
	return v
}

func vectorTask(args ...sim.Arg) *sim.TaskArgs {
	return &sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: args}
}

func (s *simulation) submit(a *sim.TaskArgs) sim.Outputs { return s.Submit(a, sim.Site{}) }

// threadCPU is the processor time of this thread.
func threadCPU(b *testing.B) time.Duration {
	const thisThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// run submits b.N tasks, warm after the first scopes.
func (s *simulation) run(manual bool, body func(i int)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tasks := func(n int) {
		for i := 0; i < n; {
			s.ScopeBegin(manual, sim.Site{})
			for j := 0; j < 512 && i < n; j++ {
				body(i)
				i++
			}
			s.ScopeEnd(sim.Site{})
		}
	}
	tasks(64 << 9)
	start := threadCPU(s.b)
	s.b.ResetTimer()
	tasks(s.b.N)
	if err := s.Finish(); err != nil {
		s.b.Fatal(err)
	}
	s.b.ReportMetric(float64(s.b.N)/max(threadCPU(s.b)-start, 1).Seconds(), "tasks/cpu-s")
}

func BenchmarkSimulator(b *testing.B) {
	fresh := sim.Arg{Tag: sim.Output, Create: &sim.CreateInfo{Shape: []uint32{16}, DType: ir.FP32}}
	b.Run("inout chain", func(b *testing.B) {
		s := newSimulation(b)
		a := vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.x})
		s.run(false, func(int) { s.submit(a) })
	})
	b.Run("created-output chain", func(b *testing.B) {
		s := newSimulation(b)
		a := vectorTask(sim.Arg{Tag: sim.Input, Tensor: s.x}, fresh)
		s.run(false, func(i int) {
			if i%512 == 0 {
				a.Args[0].Tensor = s.x
			}
			a.Args[0].Tensor = s.submit(a).Tensors[0]
		})
	})
	b.Run("independent", func(b *testing.B) {
		s := newSimulation(b)
		a := vectorTask(fresh)
		s.run(false, func(int) { s.submit(a) })
	})
	b.Run("fan-out", func(b *testing.B) {
		s := newSimulation(b)
		w, a := vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.x}), vectorTask(sim.Arg{Tag: sim.Input, Tensor: s.x}, fresh)
		s.run(false, func(i int) {
			if i%512 == 0 {
				s.submit(w)
				return
			}
			s.submit(a)
		})
	})
	// One reader of the whole tensor after the writers of its tiles: the time for a task must not grow with the number of tiles. The tiles are INOUT;
	// OUTPUT_EXISTING writers stay in the map until their scope ends, and every reader depends on all of them.
	for _, n := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("%d tiles and reader", n), func(b *testing.B) {
			s := newSimulation(b)
			tiles := make([]*sim.TaskArgs, n)
			for k := range tiles {
				tiles[k] = vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.rows(k, 1)})
			}
			a := vectorTask(sim.Arg{Tag: sim.Input, Tensor: s.rows(0, n)})
			s.run(false, func(i int) {
				if i%(n+1) == n {
					s.submit(a)
					return
				}
				s.submit(tiles[i%(n+1)])
			})
		})
	}
	b.Run("explicit chain", func(b *testing.B) {
		s := newSimulation(b)
		a := vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.x})
		deps := make([]sim.TaskID, 1)
		s.run(true, func(i int) {
			a.Deps = deps[:min(i, 1)]
			deps[0] = s.submit(a).Task
		})
	})
	b.Run("explicit layers 16x16", func(b *testing.B) {
		s := newSimulation(b)
		a := vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.x})
		var prev, next [16]sim.TaskID
		s.run(true, func(i int) {
			if i%16 == 0 {
				prev = next
			}
			a.Deps = prev[:]
			if i < 16 {
				a.Deps = nil
			}
			next[i%16] = s.submit(a).Task
		})
	})
	// The shape of a big model: 779 allocations for 3096 submits.
	b.Run("allocations", func(b *testing.B) {
		s := newSimulation(b)
		infos := []sim.CreateInfo{{Shape: []uint32{64, 64}, DType: ir.FP32}, {Shape: []uint32{64, 64}, DType: ir.FP32}}
		a := vectorTask(sim.Arg{Tag: sim.Input, Tensor: s.x}, sim.Arg{Tag: sim.InOut}, sim.Arg{Tag: sim.InOut})
		s.run(false, func(i int) {
			if i%4 == 0 || i%512 == 0 {
				o := s.Alloc(infos, sim.Site{})
				a.Args[1].Tensor, a.Args[2].Tensor = o.Tensors[0], o.Tensors[1]
			}
			s.submit(a)
		})
	})
	b.Run("start without tasks", func(b *testing.B) {
		for range b.N {
			rt, err := sim.New(sim.Config{})
			if err != nil {
				b.Fatal(err)
			}
			if err := rt.Finish(); err != nil {
				b.Fatal(err)
			}
			rt.Close()
		}
	})
}

// BenchmarkSimulatorMemory is the heap that a million tasks leave behind, in scopes of 1000, with the buffers that they make.
func BenchmarkSimulatorMemory(b *testing.B) {
	fresh := sim.Arg{Tag: sim.Output, Create: &sim.CreateInfo{Shape: []uint32{16}, DType: ir.FP32}}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range b.N {
		before := heap()
		s := newSimulation(b)
		a := vectorTask(sim.Arg{Tag: sim.InOut, Tensor: s.x}, fresh)
		for range 1000 {
			s.ScopeBegin(false, sim.Site{})
			for range 1000 {
				s.submit(a)
			}
			s.ScopeEnd(sim.Site{})
		}
		if err := s.Finish(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MB")
		runtime.KeepAlive(s)
	}
}
