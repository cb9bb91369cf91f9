package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

func TestAlloc(t *testing.T) {
	for _, n := range []int{0, 1, 16, 32, 33} {
		t.Run(fmt.Sprintf("41 %d infos", n), func(t *testing.T) {
			p := newProg(t, Config{})
			o := p.alloc(slices.Repeat([][]uint32{{4, 4}}, n)...)
			if n == 0 || n == 33 {
				wantFatal(t, p.Runtime, InvalidArgs, CodeAlloc, fmt.Sprintf("an allocation of %d buffers", n))
				return
			}
			if len(o.Tensors) != n || o.Task == InvalidTask {
				t.Errorf("alloc of %d gave %d", n, len(o.Tensors))
			}
			for _, x := range o.Tensors {
				if x.Owner != o.Task || !x.IsContiguous() || x.NumElems() != 16 {
					t.Errorf("buffer %+v", x)
				}
			}
			p.finish()
		})
	}
	for name, a := range map[string]TaskArgs{ // 42
		"scalar": {Args: []Arg{create(4)}, Scalars: []Scalar{{1, "i64"}}},
		"empty":  {},
		"input":  {Args: []Arg{create(4), {Tag: Input}}},
	} {
		t.Run("42 "+name, func(t *testing.T) {
			p := newProg(t, Config{})
			a.TimingSlot = -1
			p.AllocArgs(&a, p.site())
			wantFatal(t, p.Runtime, InvalidArgs, CodeAlloc, "create-infos only")
		})
	}
	t.Run("get_ref after a failed allocation", func(t *testing.T) {
		p := newProg(t, Config{})
		o := p.alloc(u(1 << 31))
		if x := p.Output(o, 0, p.site()); x.Addr != 0 {
			t.Errorf("output %+v", x)
		}
		wantFatal(t, p.Runtime, HeapRingDeadlock, CodeHeap, "bytes")
	})
	t.Run("output index out of range", func(t *testing.T) {
		p := newProg(t, Config{})
		p.Output(p.task(create(4)), 1, p.site())
		wantFatal(t, p.Runtime, InvalidArgs, CodeOutputIndex, "output 1 of a task that made 1")
	})
}

// Every operator, true and false, for the signed widths and a negative target.
func Test45Predicates(t *testing.T) {
	holds := func(op ir.BinOp, a, b int64) bool {
		switch op {
		case ir.Eq:
			return a == b
		case ir.Ne:
			return a != b
		case ir.Gt:
			return a > b
		case ir.Lt:
			return a < b
		case ir.Ge:
			return a >= b
		}
		return a <= b
	}
	for _, d := range []ir.DType{ir.INT8, ir.INT16, ir.INT32, ir.INT64} {
		for _, op := range []ir.BinOp{ir.Eq, ir.Ne, ir.Gt, ir.Lt, ir.Ge, ir.Le} {
			for _, v := range []int64{-3, -2, 0, 5} {
				for _, target := range []int64{-2, 0} {
					p := newProg(t, Config{Record: true})
					gate, x := p.ext(d, 2, 2), p.ext(ir.FP32, 4)
					p.Write(gate, u(1, 0), uint64(v), p.site())
					p.task(inout(x), &Predicate{gate, u(1, 0), op, target})
					p.task(in(x)) // unlocked either way
					p.finish()
					want := []int{1}
					if holds(op, v, target) {
						want = []int{0, 1}
					}
					if !slices.Equal(p.ran, want) {
						t.Errorf("%s %d %s %d: ran %v, want %v", d, v, op, target, p.ran, want)
					}
				}
			}
		}
	}
}

func Test45PredicateTiming(t *testing.T) {
	for policy := FIFO; int(policy) < Policies; policy++ {
		p := newProg(t, Config{Policy: policy, Kernels: kernels{1: func(m *Memory, c *KernelCall) error {
			m.Bytes(c.Args[0].Tensor.Addr, 4)[0] = 1
			return nil
		}}})
		gate, x := p.ext(ir.INT32, 4), p.ext(ir.FP32, 4)
		g := p.task(kernel(1), out(gate))
		p.task(inout(x), g.Task, &Predicate{gate, u(0), ir.Gt, 0})
		p.finish()
		if len(p.ran) != 2 {
			t.Errorf("policy %d: the predicate read its operand before the producer ran", policy)
		}
	}
}

func TestPredicateMisuse(t *testing.T) {
	tests := []struct {
		name string
		d    ir.DType
		idx  []uint32
		op   ir.BinOp
		text string
	}{
		{"rank", ir.INT32, u(0), ir.Gt, "1 indices for a tensor of 2"},
		{"bounds", ir.INT32, u(0, 4), ir.Gt, "out of bounds"},
		{"operator", ir.INT32, u(0, 0), ir.Add, "is not a comparison"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProg(t, Config{})
			p.task(&Predicate{p.ext(tt.d, 4, 4), tt.idx, tt.op, 0})
			wantFatal(t, p.Runtime, InvalidArgs, CodePredicate, tt.text)
		})
	}
}

// Allowed by the runtime, and surprising.
func Test46PredicateOnUnsignedAndFloat(t *testing.T) {
	for _, d := range []ir.DType{ir.UINT8, ir.FP32, ir.BOOL} {
		p := newProg(t, Config{})
		x := p.ext(d, 4)
		p.Memory().Bytes(x.Addr, 4)[0] = 200
		p.task(&Predicate{x, u(0), ir.Gt, 0})
		p.finish()
		if c := reported(p.Runtime); !slices.Equal(c, []diag.Code{CodePredicate}) {
			t.Errorf("%s: reports %v", d, c)
		}
		if ran := len(p.ran) == 1; ran != (d == ir.FP32) { // 200 as a signed byte is negative
			t.Errorf("%s: ran %v", d, ran)
		}
	}
}

func Test48Blocks(t *testing.T) {
	for _, n := range []int32{1, 8, 16, 17, 100} {
		for policy := FIFO; int(policy) < Policies; policy++ {
			var seen []int
			p := newProg(t, Config{Policy: policy, Kernels: runner(func(m *Memory, c *KernelCall) error {
				if c.BlockCount != int(n) {
					t.Errorf("block count %d", c.BlockCount)
				}
				seen = append(seen, c.Block)
				return nil
			})})
			p.task(blocks(n))
			p.finish()
			slices.Sort(seen)
			if len(seen) != int(n) || seen[0] != 0 || seen[n-1] != int(n)-1 {
				t.Errorf("%d blocks ran as %v", n, seen)
			}
		}
	}
}

func TestLaunch(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []any
		ok   bool
	}{
		{"16 AIV blocks", []any{blocks(16), syncStart}, true},
		{"17 AIV blocks", []any{blocks(17), syncStart}, false},
		{"8 AIC blocks", []any{aic, blocks(8), syncStart}, true},
		{"9 AIC blocks", []any{aic, blocks(9), syncStart}, false},
		{"9 mixed blocks", []any{mixed(0, 1, -1), blocks(9), syncStart}, false},
		{"9 blocks of two vector lanes", []any{mixed(-1, 1, 1), blocks(9), syncStart}, false},
		{"17 blocks without sync_start", []any{blocks(17)}, true},
	} {
		t.Run("49 "+tt.name, func(t *testing.T) {
			p := newProg(t, Config{})
			p.task(tt.args...)
			if tt.ok {
				p.finish()
			} else {
				wantFatal(t, p.Runtime, SyncStartInvalid, CodeSyncStart, "sync_start")
			}
		})
	}
	for _, n := range []int32{-1, 32768} { // 0 is "not set" here; builders report it
		t.Run(fmt.Sprintf("53 %d blocks", n), func(t *testing.T) {
			p := newProg(t, Config{})
			p.task(blocks(n))
			wantFatal(t, p.Runtime, InvalidArgs, CodeBlocks, fmt.Sprintf("%d blocks", n))
		})
	}
	for _, slot := range []int32{0, 15, 16, -2} {
		t.Run(fmt.Sprintf("54 timing slot %d", slot), func(t *testing.T) {
			p := newProg(t, Config{})
			p.task(func(a *TaskArgs) { a.TimingSlot = slot })
			if slot >= 0 && slot <= 15 {
				p.finish()
			} else {
				wantFatal(t, p.Runtime, InvalidArgs, CodeTimingSlot, fmt.Sprint(slot))
			}
		})
	}
}

func Test50Mixed(t *testing.T) {
	lanes := func(cluster bool, kernels [3]int32) string {
		var s []string
		one := func(c *KernelCall) {
			s = append(s, fmt.Sprintf("lane %d kernel %d sub %d mixed %v block %d", c.Lane, c.Kernel, c.SubBlock, c.Mixed, c.Block))
		}
		var k KernelRunner = runner(func(m *Memory, c *KernelCall) error { one(c); return nil })
		if cluster {
			k = clusterRunner(func(calls []KernelCall) {
				s = append(s, fmt.Sprint(len(calls)))
				for i := range calls {
					one(&calls[i])
				}
			})
		}
		r, err := New(Config{Kernels: k})
		if err != nil {
			t.Fatal(err)
		}
		r.Submit(&TaskArgs{Kind: KindMixed, Kernels: kernels, TimingSlot: -1, Blocks: 2}, Site{})
		if err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(s, "; ")
	}
	tests := []struct {
		cluster bool
		kernels [3]int32
		want    string
	}{
		{false, [3]int32{3, 4, -1}, "lane 0 kernel 3 sub 0 mixed true block 0; lane 1 kernel 4 sub 0 mixed true block 0; lane 0 kernel 3 sub 0 mixed true block 1; lane 1 kernel 4 sub 0 mixed true block 1"},
		{true, [3]int32{3, 4, 4}, "3; lane 0 kernel 3 sub 0 mixed true block 0; lane 1 kernel 4 sub 0 mixed true block 0; lane 2 kernel 4 sub 1 mixed true block 0; 3; lane 0 kernel 3 sub 0 mixed true block 1; lane 1 kernel 4 sub 0 mixed true block 1; lane 2 kernel 4 sub 1 mixed true block 1"},
		{false, [3]int32{-1, -1, 4}, "lane 1 kernel 4 sub 0 mixed false block 0; lane 1 kernel 4 sub 0 mixed false block 1"}, // 51
	}
	for _, tt := range tests {
		if got := lanes(tt.cluster, tt.kernels); got != tt.want {
			t.Errorf("%v: %s\nwant %s", tt.kernels, got, tt.want)
		}
	}
}

func Test52NoSlot(t *testing.T) {
	for _, launch := range []func(*TaskArgs){mixed(-1, -1, -1), kernel(-1), func(a *TaskArgs) { a.Kind = KindAIC }} {
		p := newProg(t, Config{})
		p.task(launch)
		wantFatal(t, p.Runtime, InvalidArgs, CodeKernel, "without a kernel")
	}
}

type clusterRunner func(calls []KernelCall)

func (f clusterRunner) Run(m *Memory, c *KernelCall) error             { return errors.New("not together") }
func (f clusterRunner) RunCluster(m *Memory, calls []KernelCall) error { f(calls); return nil }

// Element accesses wait for the writers that the runtime knows.
func Test56ElementAccess(t *testing.T) {
	add := kernels{1: func(m *Memory, c *KernelCall) error {
		x := c.Args[0].Tensor
		setF32(m, x, f32(m, x)[0]+1)
		return nil
	}, 2: func(m *Memory, c *KernelCall) error { // copies
		setF32(m, c.Args[1].Tensor, f32(m, c.Args[0].Tensor)...)
		return nil
	}}
	const one, two, nine = 0x3f800000, 0x40000000, 0x41100000
	for policy := FIFO; int(policy) < Policies; policy++ {
		p := newProg(t, Config{Policy: policy, Kernels: add})
		x, y := p.ext(ir.FP32, 4), p.ext(ir.FP32, 4)
		p.task(kernel(1), inout(x))
		p.task(kernel(1), inout(x))
		if v := p.Read(x, u(3), p.site()); v != two {
			t.Errorf("read %#x after two increments", v)
		}
		p.task(kernel(2), in(x), out(y)) // a reader of a task's result: the write below waits for it
		p.Write(x, u(0), nine, p.site())
		if v := p.Read(x, nil, p.site()); v != nine {
			t.Errorf("read back %#x", v)
		}
		if v := p.Read(y, u(0), p.site()); v != two {
			t.Errorf("policy %d: the reader saw the later write: %#x", policy, v)
		}
		p.finish()
	}
	t.Run("a manual writer is not waited for", func(t *testing.T) {
		p := newProg(t, Config{Kernels: add})
		x := p.ext(ir.FP32, 4)
		p.manual(func() { p.task(kernel(1), inout(x)) })
		if v := p.Read(x, u(0), p.site()); v != 0 {
			t.Errorf("read %#x", v)
		}
	})
	for name, f := range map[string]func(p *prog, x Tensor){
		"out of range":  func(p *prog, x Tensor) { p.Read(x, u(4), p.site()) },
		"rank":          func(p *prog, x Tensor) { p.Write(x, u(0, 0), 1, p.site()) },
		"negative":      func(p *prog, x Tensor) { p.Write(x, u(1<<32-1), 1, p.site()) },
		"empty, rank 0": func(p *prog, x Tensor) { p.Read(p.view(x, u(0), u(0)), nil, p.site()) },
	} {
		t.Run("56 "+name, func(t *testing.T) {
			p := newProg(t, Config{})
			f(p, p.ext(ir.FP32, 4))
			wantFatal(t, p.Runtime, InvalidArgs, CodeElement, "")
		})
	}
	t.Run("never initialised", func(t *testing.T) {
		p := newProg(t, Config{})
		p.Read(Tensor{Owner: InvalidTask}, nil, p.site())
		wantFatal(t, p.Runtime, InvalidArgs, CodeTensor, "never initialised")
	})
}

func Test58ArgumentLimits(t *testing.T) {
	for _, n := range []int{32, 33} {
		p := newProg(t, Config{})
		x := p.ext(ir.FP32, 4)
		p.task(func(a *TaskArgs) { a.Args = slices.Repeat([]Arg{in(x)}, n) })
		if n == 32 {
			p.finish()
		} else {
			wantFatal(t, p.Runtime, InvalidArgs, CodeBuilder, "33 tensor arguments")
		}
	}
	for _, n := range []int{16, 17} {
		p := newProg(t, Config{})
		p.task(func(a *TaskArgs) { a.Scalars = make([]Scalar, n) })
		if n == 16 {
			p.finish()
		} else {
			wantFatal(t, p.Runtime, InvalidArgs, CodeBuilder, "17 scalar arguments")
		}
	}
}

func TestBadHandles(t *testing.T) {
	for name, f := range map[string]func(x *Tensor){
		"never initialised":   func(x *Tensor) { *x = Tensor{Owner: InvalidTask} },
		"no element type":     func(x *Tensor) { x.DType = ir.TASK_ID },
		"past its buffer":     func(x *Tensor) { x.Start = 1 },
		"device memory":       func(x *Tensor) { x.Addr = 64 },
		"dimensions with":     func(x *Tensor) { x.Strides = nil },
		"no task of this run": func(x *Tensor) { x.Owner = 77 },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProg(t, Config{})
			x := p.ext(ir.FP32, 4)
			f(&x)
			p.task(in(x))
			wantFatal(t, p.Runtime, InvalidArgs, CodeTensor, name)
		})
	}
}

func TestKernelErrors(t *testing.T) {
	t.Run("60 unknown id", func(t *testing.T) {
		p := newProg(t, Config{Names: []string{"add"}})
		p.task(kernel(1))
		wantFatal(t, p.Runtime, InvalidArgs, CodeKernel, "kernel id 1 is not registered")
	})
	t.Run("62 kernel fails", func(t *testing.T) {
		p := newProg(t, Config{Names: []string{"add"}, Kernels: kernels{0: func(*Memory, *KernelCall) error { return errors.New("division by zero") }}})
		p.task()
		wantFatal(t, p.Runtime, KernelFailed, CodeKernelFailed, "kernel add failed in task 0, block 0 of 1: division by zero")
	})
	t.Run("62 kernel fails with a place", func(t *testing.T) {
		at := Site{File: "k.py", Line: 3, Col: 5}
		p := newProg(t, Config{Kernels: kernels{0: func(*Memory, *KernelCall) error { return diag.Errorf("PTO-K001", at, "bad tile") }}})
		p.task()
		p.drain()
		d := p.Fatal().Diag
		if d.Code != "PTO-K001" || d.Span.File != "prog.py" || len(d.Related) != 1 || d.Related[0].Span != at {
			t.Errorf("report %+v", d)
		}
	})
	t.Run("rt_report_fatal", func(t *testing.T) {
		p := newProg(t, Config{})
		p.ReportFatal(ExplicitFatal, "bad sequence length", p.site())
		wantFatal(t, p.Runtime, ExplicitFatal, CodeReported, "bad sequence length")
	})
}

func TestEntry(t *testing.T) {
	t.Run("59 no task at all", func(t *testing.T) {
		p := newProg(t, Config{Record: true})
		p.finish()
		if n := len(p.Trace().Events()); n != 1 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("64 arity", func(t *testing.T) {
		for expected, want := range map[int]string{0: "", 2: "warning", 3: "", 4: "error"} {
			p := newProg(t, Config{})
			_ = p.ExpectArgs(expected, 3, p.site())
			got := ""
			if l := p.Diagnostics(); len(l) > 0 {
				got = l[0].Severity.String()
			}
			if got != want {
				t.Errorf("expected %d, got 3 arguments: %q, want %q", expected, got, want)
			}
		}
	})
	t.Run("bad settings", func(t *testing.T) {
		for _, c := range []Config{{Limits: Limits{TaskWindow: 5}}, {Limits: Limits{Heap: 100}}, {Platform: "a9"}, {Clusters: -1}, {Policy: 9}, {Limits: Limits{DepPool: -1}}} {
			if _, err := New(c); err == nil {
				t.Errorf("%+v was accepted", c)
			}
		}
	})
	t.Run("calls after Finish", func(t *testing.T) {
		p := newProg(t, Config{})
		p.finish()
		p.auto(func() { p.task(); p.alloc(u(4)) })
		p.finish()
	})
}

func TestVersions(t *testing.T) {
	p := newProg(t, Config{Check: true})
	x := p.ext(ir.FP32, 4)
	p.task(inout(x))
	x.Version = 1
	p.task(inout(x)) // a newer version never replaces the old writer
	p.task(in(x))
	p.finish()
	if got := edgeText(p.Graph()); got != "1<0 2<0,1" {
		t.Errorf("edges %s", got)
	}
	p = newProg(t, Config{})
	x = p.ext(ir.FP32, 4)
	old := x
	x.Version = 1
	p.task(inout(x))
	p.task(in(old))
	wantFatal(t, p.Runtime, InvalidArgs, CodeVersion, "version 0 of a tensor that was written as version 1")
}

// A kernel that writes nothing is reported once, at its first task.
func Test61IdleKernels(t *testing.T) {
	run := func(check bool, f func(m *Memory, c *KernelCall) error) []diag.Code {
		p := newProg(t, Config{Check: check, Kernels: kernels{0: f}})
		x := p.ext(ir.FP32, 4)
		p.task(out(x))
		p.task(inout(x))
		p.finish()
		return reported(p.Runtime)
	}
	idle := func(*Memory, *KernelCall) error { return nil }
	second := func(m *Memory, c *KernelCall) error { setF32(m, c.Args[0].Tensor, float32(c.Ordinal)); return nil }
	if c := run(true, idle); !slices.Equal(c, []diag.Code{CodeNoWrite}) {
		t.Errorf("reports %v", c)
	}
	if c := run(true, second); len(c) != 0 { // the first run writes the zeros that were there
		t.Errorf("reports %v", c)
	}
	if c := run(false, idle); len(c) != 0 {
		t.Errorf("reports %v without Check", c)
	}
	p := newProg(t, Config{Check: true, Kernels: kernels{}}) // a kernel without outputs
	p.task(in(p.ext(ir.FP32, 4)))
	p.finish()
	if c := reported(p.Runtime); len(c) != 0 {
		t.Errorf("reports %v", c)
	}
}

// A lone second lane keeps its place in the trace.
func Test51KernelsAreRecordedAsGiven(t *testing.T) {
	p := newProg(t, Config{Record: true, Names: []string{"k"}})
	a := TaskArgs{Kind: KindMixed, Kernels: [3]int32{-1, -1, 0}, TimingSlot: -1}
	p.Submit(&a, p.site())
	p.finish()
	if s := p.Trace().Events()[0].(*trace.Submit); !slices.Equal(s.Kernels, []string{"", "", "k"}) || a.Kernels != [3]int32{-1, -1, 0} {
		t.Errorf("recorded %q, arguments %v", s.Kernels, a.Kernels)
	}
}
