package sim

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func TestTouches(t *testing.T) {
	run := func(check bool, f func(c *KernelCall)) *Node {
		p := newProg(t, Config{Check: check, Kernels: runner(func(_ *Memory, c *KernelCall) error { f(c); return nil })})
		x := p.ext(ir.FP32, 16, 16)
		p.task(out(x), mixed(0, 1, -1), blocks(2))
		p.finish()
		if !check {
			return nil
		}
		return &p.Graph().Nodes[0]
	}
	row := func(c *KernelCall, n uint32) Tensor {
		return must(c.Args[0].Tensor.View(u(1, 16), u(n%16, 0), false))
	}
	n := run(true, func(c *KernelCall) {
		if !c.Track() {
			t.Error("nobody listens")
		}
		for range 3 {
			c.Touch(Touch{Write: c.Lane == 1, Window: row(c, uint32(2*c.Block+c.Lane))})
		}
	})
	if !n.Exact || len(n.Touched) != 4 || n.Touched[3].Block != 1 || !n.Touched[3].Write || n.Touched[3].Window.Start != 48 {
		t.Errorf("touched %+v", n.Touched)
	}
	n = run(true, func(c *KernelCall) { // one lane does not tell
		if c.Lane == 0 {
			c.Track()
		}
		c.Touch(Touch{Write: true, Window: row(c, 0)})
	})
	if n.Exact {
		t.Error("accesses of an untracked lane count as known")
	}
	n = run(true, func(c *KernelCall) { // too many to keep
		c.Track()
		for i := range uint32(maxTouches) {
			c.Touch(Touch{Write: true, Window: must(c.Args[0].Tensor.View(u(1, 1), u(i/16%16, i%16), false))})
		}
	})
	if n.Exact || n.Touched != nil {
		t.Errorf("%d windows kept", len(n.Touched))
	}
	run(false, func(c *KernelCall) {
		if c.Track() {
			t.Error("somebody listens without Check")
		}
		c.Touch(Touch{Write: true, Window: row(c, 0)})
	})
}
