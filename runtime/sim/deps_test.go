package sim

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// Edge sets of small programs; the numbers are those of the test catalogue (spec runtime.md section 8).
func TestEdges(t *testing.T) {
	tests := []struct {
		name string
		run  func(p *prog, x, y Tensor)
		want string
	}{
		{"01 chain INPUT to created OUTPUT", func(p *prog, x, y Tensor) {
			o := p.task(in(x), create(16))
			o = p.task(in(o.Tensors[0]), create(16))
			p.task(in(o.Tensors[0]), out(y))
		}, "1<0 2<1"},
		{"02 INOUT chain", func(p *prog, x, y Tensor) {
			p.task(inout(x))
			p.task(inout(x))
			p.task(inout(x))
		}, "1<0 2<1"},
		{"03 diamond", func(p *prog, x, y Tensor) {
			o := p.task(create(16))
			a := p.task(in(o.Tensors[0]), create(16))
			b := p.task(in(o.Tensors[0]), create(16))
			p.task(in(a.Tensors[0]), in(b.Tensors[0]))
		}, "1<0 2<0 3<1,2"},
		{"04 two readers", func(p *prog, x, y Tensor) {
			p.task(out(x))
			p.task(in(x))
			p.task(in(x))
		}, "1<0 2<0"},
		{"05 reader then INOUT writer: no edge", func(p *prog, x, y Tensor) {
			p.task(in(x))
			p.task(inout(x))
		}, ""},
		{"06 OUTPUT_EXISTING twice then reader", func(p *prog, x, y Tensor) {
			p.task(out(x))
			p.task(out(x))
			p.task(in(x))
		}, "2<0,1"},
		{"06 OUTPUT_EXISTING of one allocation", func(p *prog, x, y Tensor) {
			b := p.alloc([]uint32{16})
			p.task(out(b.Tensors[0]))
			p.task(out(b.Tensors[0]))
		}, "0<a0 1<a0"},
		{"07 NO_DEP reader keeps the creator edge", func(p *prog, x, y Tensor) {
			b := p.alloc([]uint32{16})
			p.task(out(b.Tensors[0]))
			p.task(nodep(b.Tensors[0]))
			p.task(out(x))
			p.task(nodep(x))
		}, "0<a0 1<a0"},
		{"08 manual_dep tensor and its view", func(p *prog, x, y Tensor) {
			x.ManualDep = true
			p.task(out(x))
			p.task(in(x))
			v := p.View(&x, []uint32{8, 16}, []uint32{0, 0}, p.site())
			p.task(out(v)) // tracked again
			p.task(in(v))
		}, "3<2"},
		{"08 manual_dep keeps the creator edge", func(p *prog, x, y Tensor) {
			b := p.Alloc([]CreateInfo{{Shape: []uint32{4}, DType: ir.FP32, ManualDep: true}}, p.site()).Tensors[0]
			p.task(inout(b))
			p.task(inout(b))
		}, "0<a0 1<a0"},
		{"09 manual scope makes no edges of its own", func(p *prog, x, y Tensor) {
			p.manual(func() {
				b := p.alloc([]uint32{16})
				p.task(out(b.Tensors[0]))
				p.task(in(b.Tensors[0]), b.Task)
			})
			p.task(out(x))
			p.manual(func() { p.task(in(x)); p.task(inout(x)) })
			p.task(in(x)) // does not see the INOUT of the manual scope
		}, "1<a0 5<2"},
		{"10 nested MANUAL ends with the outermost", func(p *prog, x, y Tensor) {
			p.manual(func() {
				p.manual(func() { p.task(inout(x)) })
				p.task(inout(x))
			})
			p.task(inout(x))
			p.task(inout(x))
		}, "3<2"},
		{"12 duplicate dependencies merge", func(p *prog, x, y Tensor) {
			a := p.task(out(x))
			p.task(in(x), a.Task, a.Task)
		}, "1<0"},
		{"13 retired dependency", func(p *prog, x, y Tensor) {
			var a Outputs
			p.auto(func() { a = p.task(out(x)) })
			_ = p.Read(x, []uint32{0, 0}, p.site()) // runs and retires task 0
			p.task(in(y), a.Task)
		}, "1<0"},
		{"18 dependency array reused", func(p *prog, x, y Tensor) {
			deps := []TaskID{p.task(in(x)).Task}
			a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Deps: deps}
			deps[0] = p.Submit(&a, p.site()).Task
			p.Submit(&a, p.site())
		}, "1<0 2<1"},
		{"19 one tensor twice in a task", func(p *prog, x, y Tensor) {
			p.task(in(x), inout(x), out(x))
			p.task(in(x), in(x))
		}, "1<0"},
		{"20 a covering INOUT replaces what it covers", func(p *prog, x, y Tensor) {
			top := p.view(x, []uint32{8, 16}, []uint32{0, 0})
			p.task(out(top))
			p.task(out(top))
			p.task(inout(x))
			p.task(in(x))
		}, "2<0,1 3<2"},
		{"21 a partial cover keeps both", func(p *prog, x, y Tensor) {
			top := p.view(x, []uint32{8, 16}, []uint32{0, 0})
			p.task(out(x))
			p.task(inout(top))
			p.task(in(x))
		}, "1<0 2<0,1"},
		{"22 disjoint halves", func(p *prog, x, y Tensor) {
			p.task(out(p.view(x, []uint32{8, 16}, []uint32{0, 0})))
			p.task(inout(p.view(x, []uint32{8, 16}, []uint32{8, 0})))
			p.task(inout(p.view(y, []uint32{16, 8}, []uint32{0, 0})))
			p.task(inout(p.view(y, []uint32{16, 8}, []uint32{0, 8})))
		}, ""},
		{"43 dummy with outputs and dependencies", func(p *prog, x, y Tensor) {
			a := p.task(out(x))
			d := p.task(dummy, a.Task, create(4))
			p.task(in(d.Tensors[0]))
		}, "1<0 2<1"},
		{"44 dummy without dependencies", func(p *prog, x, y Tensor) {
			d := p.task(dummy)
			p.task(in(x), d.Task)
		}, "1<0"},
		{"30 empty view at an out-of-range offset", func(p *prog, x, y Tensor) {
			v := p.View(&x, []uint32{0, 16}, []uint32{99, 0}, p.site())
			p.task(inout(x))
			p.task(inout(v))
			p.task(in(x))
		}, "2<0"},
		{"27 reshape", func(p *prog, x, y Tensor) {
			v := p.Reshape(&x, []uint32{256}, p.site())
			p.task(out(p.view(v, []uint32{8}, []uint32{8})))
			p.task(in(p.view(x, []uint32{1, 8}, []uint32{0, 0})))  // bytes before it
			p.task(in(p.view(x, []uint32{16, 8}, []uint32{0, 0}))) // a box around it: conservative
		}, "2<0"},
		{"31 views of views of views", func(p *prog, x, y Tensor) {
			a := p.view(x, []uint32{8, 8}, []uint32{4, 4})
			b := p.view(a, []uint32{4, 4}, []uint32{2, 2})
			c := p.view(b, []uint32{1, 1}, []uint32{3, 3}) // element 9,9
			p.task(out(p.view(x, []uint32{9, 16}, []uint32{0, 0})))
			p.task(out(p.view(x, []uint32{1, 1}, []uint32{9, 9})))
			p.task(in(c))
		}, "2<1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for policy := FIFO; int(policy) < Policies; policy++ {
				p := newProg(t, Config{Check: true, Policy: policy, Seed: 7})
				x, y := p.ext(ir.FP32, 16, 16), p.ext(ir.FP32, 16, 16)
				p.auto(func() { tt.run(p, x, y) })
				p.finish()
				if got := edgeText(p.Graph()); got != tt.want {
					t.Errorf("policy %d: edges %q, want %q", policy, got, tt.want)
				}
			}
		})
	}
}

func TestDependencyErrors(t *testing.T) {
	t.Run("14 invalid id", func(t *testing.T) {
		p := newProg(t, Config{})
		p.task(InvalidTask)
		wantFatal(t, p.Runtime, InvalidArgs, CodeDepInvalid, "set_dependencies")
	})
	for name, id := range map[string]TaskID{"15 future id": 5, "15 other ring": 2 << 32, "15 forged": 0xBADBADBADBADBAD, "15 itself": 1} {
		t.Run(name, func(t *testing.T) {
			p := newProg(t, Config{})
			p.task()
			p.task(id)
			wantFatal(t, p.Runtime, InvalidArgs, CodeDepUnknown, "is no task of this run")
		})
	}
	t.Run("17 builder error", func(t *testing.T) {
		p := newProg(t, Config{})
		o := p.task(func(a *TaskArgs) { a.BuilderError = "set_dependencies was called twice" }, create(4))
		if o.Task != InvalidTask || len(o.Tensors) != 0 {
			t.Errorf("result %v after a fatal error", o)
		}
		wantFatal(t, p.Runtime, InvalidArgs, CodeBuilder, "called twice")
	})
	t.Run("after a fatal error nothing happens", func(t *testing.T) {
		p := newProg(t, Config{Record: true})
		x := p.ext(ir.FP32, 4)
		p.task(InvalidTask)
		first := p.Fatal()
		p.ScopeEnd(p.site())
		p.ScopeBegin(true, p.site())
		p.Write(x, []uint32{9}, 0, p.site())
		if o := p.task(InvalidTask); o.Task != InvalidTask {
			t.Error("a submit went through")
		}
		if p.Read(x, []uint32{0}, p.site()) != 0 || p.Fatal() != first || len(p.ran) != 0 {
			t.Error("calls after a fatal error must do nothing")
		}
	})
}
