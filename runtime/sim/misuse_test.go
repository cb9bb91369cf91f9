package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// Whatever an orchestration does, the run ends with a report or without, never with a panic.
func TestGarbageNeverPanics(t *testing.T) {
	outcomes := map[bool]int{}
	for seed := range uint64(2400) {
		rng := rand.New(rand.NewPCG(seed, 77))
		p := newProg(t, Config{
			Record: true, Check: seed%2 == 0, Policy: Policy(seed % uint64(Policies)), Names: []string{"k"},
			Limits: Limits{TaskWindow: 8, Heap: 8 << 10, DepPool: 16, MapEntries: 6, ScopeDepth: 5},
		})
		handles := []Tensor{p.ext(ir.FP32, 4, 4), p.ext(ir.INT8, 64)}
		var ids []TaskID
		odd := false // this call is wild
		pick := func() Tensor {
			x := handles[rng.IntN(len(handles))]
			if !odd {
				return x
			}
			switch rng.IntN(12) {
			case 7:
				return Tensor{}
			case 0:
				x.Addr += rng.Uint64N(1 << 20)
			case 1:
				x.Start = rng.Uint64()
			case 2:
				x.Strides = x.Strides[:len(x.Strides)/2]
			case 3:
				x.Shape = append([]uint32{rng.Uint32()}, x.Shape...)
				x.Strides = append([]uint32{rng.Uint32()}, x.Strides...)
			case 4:
				x.DType = ir.DType(rng.IntN(256))
			case 5:
				x.Owner = TaskID(rng.Uint64N(5)<<32 | rng.Uint64N(6))
			case 6:
				x.Version = int32(rng.IntN(3)) - 1
			}
			return x
		}
		index := func(x Tensor) []uint32 {
			v := make([]uint32, len(x.Shape))
			for i, n := range x.Shape {
				v[i] = rng.Uint32N(max(n, 1))
			}
			if odd || slices.Contains(x.Shape, 0) {
				return append(v, rng.Uint32())[rng.IntN(2):]
			}
			return v
		}
		few := func(n uint32) []uint32 {
			v := make([]uint32, rng.IntN(4))
			for i := range v {
				v[i] = rng.Uint32N(n)
			}
			return v
		}
		for range rng.IntN(60) {
			odd = rng.IntN(80) == 0
			switch rng.IntN(12) {
			case 0:
				p.ScopeBegin(p.inManual() && !odd || rng.IntN(3) == 0, p.site())
			case 1:
				if p.depth() > 0 || odd {
					p.ScopeEnd(p.site())
				}
			case 2:
				x := pick()
				off := index(x)
				shape := make([]uint32, len(off))
				for i := range min(len(shape), len(x.Shape)) {
					shape[i] = min(1, x.Shape[i])
				}
				handles = append(handles, p.View(&x, shape, off, p.site()))
			case 3:
				x := pick()
				if odd {
					p.Reshape(&x, few(9), p.site())
				} else if len(x.Shape) > 0 {
					handles = append(handles, p.Transpose(&x, rng.IntN(len(x.Shape)), 0, p.site()))
				}
			case 4:
				x := pick()
				p.Read(x, index(x), p.site())
			case 5:
				x := pick()
				p.Write(x, index(x), rng.Uint64(), p.site())
			case 6:
				infos := make([]CreateInfo, 1+rng.IntN(2))
				if odd {
					infos = nil
				}
				for i := range infos {
					infos[i] = CreateInfo{Shape: few(10), DType: ir.FP32, HasInit: odd, Init: rng.Uint64()}
				}
				o := p.Alloc(infos, p.site())
				ids = append(ids, o.Task)
				handles = append(handles, o.Tensors...)
				handles = append(handles, p.Output(Outputs{Tensors: handles[:1]}, 0, p.site()))
			default:
				a := TaskArgs{Kind: TaskKind(rng.IntN(4)), Kernels: [3]int32{0, 0, -1}, TimingSlot: -1, Blocks: int32(rng.IntN(8)), SyncStart: rng.IntN(9) == 0}
				if odd {
					a = TaskArgs{Kind: TaskKind(rng.IntN(9)), Kernels: [3]int32{rng.Int32N(4) - 2, rng.Int32N(4) - 2, rng.Int32N(4) - 2}, Blocks: rng.Int32() - 1<<30, TimingSlot: rng.Int32N(20) - 3}
				}
				for range rng.IntN(4) {
					x := Arg{Tag: ArgTag(rng.IntN(5)), Tensor: pick()}
					if x.Tag == Output && !odd {
						x.Create = &CreateInfo{Shape: few(5), DType: ir.FP16}
					}
					if odd {
						x.Tag = ArgTag(rng.IntN(256))
					}
					a.Args = append(a.Args, x)
				}
				for range rng.IntN(3) {
					if odd {
						a.Deps = append(a.Deps, TaskID(rng.Uint64()))
					} else if len(ids) > 0 {
						a.Deps = append(a.Deps, ids[rng.IntN(len(ids))])
					}
				}
				if rng.IntN(8) == 0 {
					x := pick()
					a.Pred = &Predicate{Tensor: x, Index: index(x), Op: ir.Lt}
					if odd {
						a.Pred.Op = ir.BinOp(rng.IntN(20))
					}
				}
				o := p.Submit(&a, p.site())
				ids = append(ids, o.Task)
				handles = append(handles, o.Tensors...)
			}
			if p.Fatal() != nil && rng.IntN(4) > 0 {
				break
			}
		}
		for p.depth() > 0 && p.Fatal() == nil {
			p.ScopeEnd(p.site())
		}
		err := p.Finish()
		outcomes[err == nil]++
		if err != nil && len(p.Diagnostics()) == 0 {
			t.Errorf("seed %d: %v is not among the reports", seed, err)
		}
		for _, d := range p.Diagnostics() {
			if d.Hint == "" {
				t.Errorf("seed %d: no hint: %v", seed, d)
			}
		}
		p.Close()
	}
	if outcomes[true] < 300 {
		t.Errorf("only %d programs of 3000 end well: the generator is too wild", outcomes[true])
	}
}

// Every report says what to do.
func TestReportsHaveHints(t *testing.T) {
	for _, c := range []struct {
		want string
		run  func(p *prog)
	}{
		{"PTO-R014: a scope end without a scope begin (help: remove this end", func(p *prog) { p.ScopeEnd(p.site()) }},
		{"PTO-R018: an allocation of 33 buffers: give 1 to 32 (help: split", func(p *prog) { p.Alloc(make([]CreateInfo, 33), p.site()) }},
		{"PTO-R002: a tensor after a scalar (help: add all tensors before", func(p *prog) {
			p.Submit(&TaskArgs{Kernels: [3]int32{0, -1, -1}, TimingSlot: -1, Blocks: 1, BuilderError: "a tensor after a scalar"}, p.site())
		}},
		{"PTO-R020: timing slot 16: the slots are 0 to 15 (help: use a slot", func(p *prog) {
			p.Submit(&TaskArgs{Kernels: [3]int32{0, -1, -1}, TimingSlot: 16, Blocks: 1}, p.site())
		}},
		{"PTO-R019: 40000 blocks: a task runs 1 to 32767 (help: launch no task", func(p *prog) {
			p.Submit(&TaskArgs{Kernels: [3]int32{0, -1, -1}, TimingSlot: -1, Blocks: 40000}, p.site())
		}},
	} {
		p := newProg(t, Config{Names: []string{"k"}})
		c.run(p)
		p.Finish()
		got := ""
		if l := p.Diagnostics(); len(l) > 0 {
			got = string(l[0].Code) + ": " + l[0].Message + " (help: " + l[0].Hint
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("got %s\nwant %s…", got, c.want)
		}
	}
}
