package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// touchedBy runs a kernel as the one task of a checked run and lists the windows that it touched.
func touchedBy(t *testing.T, f *ir.Function, shape ...uint32) []sim.Touch {
	t.Helper()
	table := []plan.Kernel{{Name: f.Name, Func: f.Name, Core: plan.AIV}}
	rt, err := sim.New(sim.Config{Check: true, Kernels: New(&ir.Program{Funcs: []*ir.Function{f}}, ops.Builtin()).Runner(table), Names: []string{f.Name}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	a := sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1}
	for _, p := range f.Params {
		x, err := rt.NewTensor(ir.FP32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		a.Args = append(a.Args, sim.Arg{Tag: [...]sim.ArgTag{ir.In: sim.Input, ir.Out: sim.OutputExisting, ir.InOut: sim.InOut}[p.Dir], Tensor: x})
	}
	rt.Submit(&a, sim.Site{})
	if err := rt.Finish(); err != nil {
		t.Fatal(err)
	}
	n := &rt.Graph().Nodes[0]
	if !n.Exact {
		t.Fatal("not tracked")
	}
	return n.Touched
}

// A kernel touches exactly what it loads and stores, a tile as one window; a read of an Out parameter before its write is told apart.
func TestTouch(t *testing.T) {
	b := kernelOf(t, "k")
	p, o := b.in("p", ir.FP32, 6, 8), b.param("o", ir.Out, &ir.TensorType{Shape: dimsOf([]any{6, 8}), DType: ir.FP32})
	b.op("store", b.op("load", p, list(1, 2), list(2, 3)), list(3, 4), o)
	b.op("load", o, list(3, 4), list(2, 3))
	b.op("load", o, list(3, 4), list(2, 4))
	got := ""
	for _, x := range touchedBy(t, b.f, 6, 8) {
		got += fmt.Sprintln(x.Arg, x.Write, x.First, x.Window.Start, x.Window.Shape, x.Window.Strides)
	}
	want := "0 false false 10 [2 3] [8 1]\n1 true false 28 [2 3] [8 1]\n1 false false 28 [2 3] [8 1]\n1 false true 28 [2 4] [8 1]\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Whatever the order of the runs, the boxes hold the elements of the runs and no others.
func TestBoxesHoldTheRuns(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var b boxes
		want := map[int]bool{}
		rows, cols, stride := 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(3)
		for range 1 + rng.IntN(4) { // some strided tiles, and runs between them
			at := rng.IntN(60)
			for r := range rows {
				off := at + r*16
				b.add(0, off, cols, stride, true)
				for c := range cols {
					want[off+c*stride] = true
				}
				if rng.IntN(6) == 0 {
					n := 1 + rng.IntN(4)
					at := rng.IntN(200)
					b.add(0, at, n, 1, true)
					for c := range n {
						want[at+c] = true
					}
				}
			}
		}
		for off := range 300 {
			if got := b.wrote(0, off, 1, 1); got != want[off] {
				t.Fatalf("seed %d: element %d: %v in %+v", seed, off, got, b.list)
			}
		}
	}
}
