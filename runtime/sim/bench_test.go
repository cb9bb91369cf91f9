package sim

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
)

// The workloads of spec runtime.md 6.3: submit, dependency resolution, dispatch and retirement, in scopes of 512 tasks, without kernels.

func benchRuntime(b *testing.B, entries ...[]uint32) (*Runtime, []Tensor) {
	r, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	ts := make([]Tensor, len(entries))
	for i, shape := range entries {
		if ts[i], err = r.NewTensor(ir.FP32, shape...); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Entry(ts); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return r, ts
}

// cpu is the processor time of this thread: other work on the machine does not count.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const rusageThread = 1

func benchLoop(b *testing.B, r *Runtime, manual bool, body func(i int)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := cpu(b)
	for i := 0; i < b.N; {
		r.ScopeBegin(manual, Site{})
		for j := 0; j < 512 && i < b.N; j++ {
			body(i)
			i++
		}
		r.ScopeEnd(Site{})
	}
	if err := r.Finish(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/(cpu(b)-start).Seconds(), "tasks/cpu-s")
}

func BenchmarkInOutChain(b *testing.B) {
	r, t := benchRuntime(b, []uint32{16})
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: InOut, Tensor: t[0]}}}
	benchLoop(b, r, false, func(int) { r.Submit(&a, Site{}) })
}

func BenchmarkCreatedChain(b *testing.B) {
	r, t := benchRuntime(b, []uint32{16})
	info := CreateInfo{Shape: []uint32{16}, DType: ir.FP32}
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: Input, Tensor: t[0]}, {Tag: Output, Create: &info}}}
	benchLoop(b, r, false, func(i int) {
		if i%512 == 0 {
			a.Args[0].Tensor = t[0]
		}
		a.Args[0].Tensor = r.Submit(&a, Site{}).Tensors[0]
	})
}

func BenchmarkIndependent(b *testing.B) {
	r, _ := benchRuntime(b)
	info := CreateInfo{Shape: []uint32{16}, DType: ir.FP32}
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: Output, Create: &info}}}
	benchLoop(b, r, false, func(int) { r.Submit(&a, Site{}) })
}

func BenchmarkFanOut(b *testing.B) {
	r, t := benchRuntime(b, []uint32{16})
	info := CreateInfo{Shape: []uint32{16}, DType: ir.FP32}
	w := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: InOut, Tensor: t[0]}}}
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: Input, Tensor: t[0]}, {Tag: Output, Create: &info}}}
	benchLoop(b, r, false, func(i int) {
		if i%512 == 0 {
			r.Submit(&w, Site{})
			return
		}
		r.Submit(&a, Site{})
	})
}

// The tiles are INOUT: OUTPUT_EXISTING writers would stay in the map until the scope ends, and every reader would depend on all of them.
func BenchmarkTilesAndReader(b *testing.B) {
	r, t := benchRuntime(b, []uint32{64, 16})
	var tiles [64]TaskArgs
	for k := range tiles {
		v, err := t[0].View([]uint32{1, 16}, []uint32{uint32(k), 0}, false)
		if err != nil {
			b.Fatal(err)
		}
		tiles[k] = TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: InOut, Tensor: v}}}
	}
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: Input, Tensor: t[0]}}}
	benchLoop(b, r, false, func(i int) {
		if i%65 == 64 {
			r.Submit(&a, Site{})
			return
		}
		r.Submit(&tiles[i%65], Site{})
	})
}

func BenchmarkExplicitChain(b *testing.B) {
	r, t := benchRuntime(b, []uint32{16})
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: InOut, Tensor: t[0]}}}
	deps := make([]TaskID, 1)
	benchLoop(b, r, true, func(i int) {
		a.Deps = deps[:min(i, 1)]
		deps[0] = r.Submit(&a, Site{}).Task
	})
}

func BenchmarkLayers(b *testing.B) {
	r, t := benchRuntime(b, []uint32{16})
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{{Tag: InOut, Tensor: t[0]}}}
	var prev, next [16]TaskID
	benchLoop(b, r, true, func(i int) {
		if i%16 == 0 {
			prev = next
		}
		a.Deps = prev[:]
		if i < 16 {
			a.Deps = nil
		}
		next[i%16] = r.Submit(&a, Site{}).Task
	})
}
