package kernels

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// What a kernel costs: bytes moved, bytes computed, multiply-accumulates, and instructions, whichever way its loops went.
func TestWork(t *testing.T) {
	add := func() *builder {
		b := kernelOf(t, "add")
		x, y := b.in("x", ir.FP32, 8, 16), b.out("y", ir.FP32, 8, 16)
		b.store(b.op("add", b.load(x), b.load(y)), y)
		return b
	}
	loop := func() *builder {
		b := kernelOf(t, "loop")
		x, y, n := b.in("x", ir.INT8, 4, 32), b.out("y", ir.INT8, 4, 32), b.scalar("n", ir.INDEX)
		i := index("i")
		b.add(&ir.For{Var: i, Start: num(0), Stop: n, Step: num(1), Body: b.within(func() { b.store(b.load(x), y) })})
		return b
	}
	for _, c := range []struct {
		name    string
		b       *builder
		args    []*data
		scalars []uint64
		want    sim.Work
	}{
		{"add", add(), []*data{zeros(ir.FP32, 8, 16), zeros(ir.FP32, 8, 16)}, nil, sim.Work{Ops: 4, Bytes: 3 * 512, Vector: 512}},
		{"no trip", loop(), []*data{zeros(ir.INT8, 4, 32), zeros(ir.INT8, 4, 32)}, []uint64{0}, sim.Work{}},
		{"five trips", loop(), []*data{zeros(ir.INT8, 4, 32), zeros(ir.INT8, 4, 32)}, []uint64{5}, sim.Work{Ops: 10, Bytes: 5 * 256}},
		{"matmul", matmulKernel(t, 16, 16, 64, 16), []*data{zeros(ir.FP16, 16, 64), zeros(ir.FP16, 64, 16), zeros(ir.FP32, 16, 16)}, []uint64{0, 0},
			sim.Work{Ops: 4*5 + 1, Bytes: 4*2*512 + 1024, Multiply: 16 * 16 * 64}},
	} {
		s := newBench(t, c.b.f)
		for _, x := range c.args {
			s.tensor(x)
		}
		for _, x := range c.scalars {
			s.scalar(x, "i64")
		}
		r := s.r.Fork()
		for range 2 { // counted anew in every call
			if err := r.Run(&s.mem, &s.c); err != nil {
				t.Fatal(err)
			}
		}
		if s.c.Work != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, s.c.Work, c.want)
		}
	}
}
