package sim

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func TestScopes(t *testing.T) {
	t.Run("11 AUTO in MANUAL", func(t *testing.T) {
		p := newProg(t, Config{})
		p.manual(func() { p.auto(func() {}) })
		wantFatal(t, p.Runtime, InvalidArgs, CodeScopeNesting, "AUTO scope inside a MANUAL scope")
	})
	t.Run("11 AUTO in MANUAL in MANUAL", func(t *testing.T) {
		p := newProg(t, Config{})
		p.manual(func() { p.manual(func() { p.auto(func() {}) }) })
		wantFatal(t, p.Runtime, InvalidArgs, CodeScopeNesting, "AUTO scope")
	})
	t.Run("AUTO after MANUAL", func(t *testing.T) {
		p := newProg(t, Config{})
		p.auto(func() { p.manual(func() {}); p.auto(func() {}) })
		p.finish()
	})
	for _, depth := range []int{1, 64} {
		t.Run("33 depth", func(t *testing.T) {
			p := newProg(t, Config{})
			for range depth {
				p.ScopeBegin(false, p.site())
				p.task()
			}
			for range depth {
				p.ScopeEnd(p.site())
			}
			p.finish()
			if s := p.Stats(); s.MaxDepth != depth {
				t.Errorf("MaxDepth = %d", s.MaxDepth)
			}
		})
	}
	t.Run("33 depth 65", func(t *testing.T) {
		p := newProg(t, Config{})
		for range 65 {
			p.ScopeBegin(false, p.site())
		}
		wantFatal(t, p.Runtime, InvalidArgs, CodeScopeDepth, "64 nested scopes")
	})
	t.Run("extra scope end", func(t *testing.T) {
		p := newProg(t, Config{})
		p.ScopeEnd(p.site())
		wantFatal(t, p.Runtime, InvalidArgs, CodeScopeBalance, "without a scope begin")
	})
	t.Run("scope left open", func(t *testing.T) {
		p := newProg(t, Config{})
		p.ScopeBegin(true, p.site())
		wantFatal(t, p.Runtime, InvalidArgs, CodeScopeBalance, "still open")
	})
}

func Test38TaskIDsAndRings(t *testing.T) {
	p := newProg(t, Config{})
	var ids []string
	note := func() { ids = append(ids, p.task().Task.String()) }
	note()
	p.auto(func() {
		note()
		p.auto(func() {
			note()
			p.auto(func() { // depth 3 and deeper share ring 3
				note()
				p.auto(func() { note(); p.auto(note) })
			})
		})
		note()
	})
	p.finish()
	if got := strings.Join(ids, " "); got != "0:0 1:0 2:0 3:0 3:1 3:2 1:1" {
		t.Errorf("ids %s", got)
	}
}

func TestTaskWindow(t *testing.T) {
	limits := Limits{TaskWindow: 16}
	for policy := FIFO; int(policy) < Policies; policy++ {
		cfg := Config{Limits: limits, Policy: policy, Check: true}
		for n, name := range map[int]string{14: "35 window - 2 tasks", 15: "34 window - 1 tasks", 16: "34 one more"} {
			t.Run(name+" "+policy.String(), func(t *testing.T) {
				p := newProg(t, cfg)
				p.auto(func() {
					for range n {
						p.task()
					}
				})
				if n < 16 {
					p.finish()
				} else {
					wantFatal(t, p.Runtime, ScopeDeadlock, CodeScopeTasks, "the scope holds 15 tasks")
				}
			})
		}

		p := newProg(t, cfg) // many small scopes go through a small window
		x := p.ext(ir.FP32, 4)
		for range 50 {
			p.auto(func() {
				for range 10 {
					p.task(inout(x))
				}
			})
		}
		p.finish()
		if len(p.ran) != 500 {
			t.Errorf("ran %d tasks", len(p.ran))
		}

		t.Run("37 the oldest task of the ring is in an open scope, "+policy.String(), func(t *testing.T) {
			p := newProg(t, cfg)
			p.auto(func() {
				p.auto(func() {
					p.auto(func() {
						p.task()
						for range 3 {
							p.auto(func() {
								for range 7 {
									p.task()
								}
							})
						}
					})
				})
			})
			wantFatal(t, p.Runtime, FlowControlDeadlock, CodeWindow, "ring 3 is full")
		})
	}
}

func TestHeap(t *testing.T) {
	cfg := Config{Limits: Limits{Heap: 64 << 10}}
	elems := func(bytes int) []uint32 { return u(uint32(bytes / 4)) }
	t.Run("36 exactly full, drained, full again", func(t *testing.T) {
		p := newProg(t, cfg)
		for range 3 {
			p.auto(func() { p.alloc(elems(64 << 10)) })
			p.auto(func() { p.alloc(elems(1 << 10)) }) // parks the cursor off zero
		}
		p.finish()
	})
	t.Run("36 a scope too big for the heap", func(t *testing.T) {
		p := newProg(t, cfg)
		p.auto(func() {
			p.alloc(elems(40 << 10))
			p.alloc(elems(40 << 10))
		})
		wantFatal(t, p.Runtime, HeapRingDeadlock, CodeHeap, "the heap of ring 1 is full")
	})
	t.Run("36 one buffer too big", func(t *testing.T) {
		p := newProg(t, cfg)
		p.alloc(elems(65 << 10))
		wantFatal(t, p.Runtime, HeapRingDeadlock, CodeHeap, "take 66560 bytes")
	})
	t.Run("back-pressure runs tasks", func(t *testing.T) {
		p := newProg(t, cfg)
		for range 20 {
			p.auto(func() {
				o := p.task(create(8 << 10 / 4))
				p.task(in(o.Tensors[0]))
			})
		}
		p.finish()
	})
	t.Run("outputs are 1024 apart and as big as their allocation", func(t *testing.T) {
		p := newProg(t, Config{})
		o := p.task(create(16), create(16)).Tensors
		if o[1].Addr-o[0].Addr != 1024 || o[0].Size != 1024 {
			t.Errorf("outputs at distance %d, size %d", o[1].Addr-o[0].Addr, o[0].Size)
		}
	})
	t.Run("unwritten buffers hold poison, initial values fill", func(t *testing.T) {
		p := newProg(t, cfg)
		for range 4 { // memory is poisoned again when it is reused
			p.auto(func() {
				o := p.Alloc([]CreateInfo{{Shape: u(8), DType: ir.FP32}, {Shape: u(3), DType: ir.INT16, HasInit: true, Init: 0xFFF9}}, p.site()).Tensors
				b := p.Memory().Bytes(o[0].Addr, o[0].Size)
				for i, v := range b {
					if v != Poison {
						t.Fatalf("byte %d of a fresh buffer is %#x", i, v)
					}
				}
				clear(b)
				for i := range uint32(3) {
					if v := p.Read(o[1], u(i), p.site()); v != 0xFFF9 {
						t.Errorf("element %d of an initialised buffer is %#x", i, v)
					}
				}
			})
		}
		p.finish()
	})
}

func TestPools(t *testing.T) {
	t.Run("dependency pool", func(t *testing.T) {
		p := newProg(t, Config{Limits: Limits{DepPool: 64}})
		p.auto(func() {
			var ids []any
			for range 8 {
				ids = append(ids, p.task().Task)
			}
			for range 9 {
				p.task(ids...)
			}
		})
		wantFatal(t, p.Runtime, DepPoolOverflow, CodeDepPool, "ring 1 has 64 dependency entries in use of 64")
	})
	t.Run("dependency pool drains between scopes", func(t *testing.T) {
		p := newProg(t, Config{Limits: Limits{DepPool: 16}})
		x := p.ext(ir.FP32, 4)
		for range 20 {
			p.auto(func() {
				for range 8 {
					p.task(inout(x))
				}
			})
		}
		p.finish()
	})
	t.Run("overlap map", func(t *testing.T) {
		p := newProg(t, Config{Limits: Limits{MapEntries: 8}})
		x := p.ext(ir.FP32, 16)
		p.auto(func() {
			for i := range uint32(9) {
				p.task(out(p.view(x, u(1), u(i))))
			}
		})
		wantFatal(t, p.Runtime, MapOverflow, CodeMap, "overlap map")
	})
	t.Run("overlap map drains between scopes", func(t *testing.T) {
		for _, check := range []bool{false, true} {
			p := newProg(t, Config{Limits: Limits{MapEntries: 8}, Check: check})
			x := p.ext(ir.FP32, 16)
			for range 4 {
				p.auto(func() {
					for i := range uint32(8) {
						p.task(out(p.view(x, u(1), u(i))))
					}
				})
			}
			p.finish()
		}
	})
}

func TestUseAfterScope(t *testing.T) {
	for _, operand := range []bool{false, true} {
		use := func(cfg Config) *prog {
			p := newProg(t, cfg)
			x := p.ext(ir.INT32, 4)
			p.auto(func() {
				var b Tensor
				p.auto(func() {
					b = p.Alloc([]CreateInfo{{Shape: u(4), DType: ir.INT32}}, Site{}).Tensors[0]
					p.task(out(b))
				})
				if operand {
					p.task(in(x), &Predicate{b, u(0), ir.Ge, math.MinInt32})
				} else {
					p.task(in(b))
				}
			})
			return p
		}
		t.Run("39 while its writer still keeps it", func(t *testing.T) {
			p := use(Config{})
			p.finish()
			if c := reported(p.Runtime); len(c) != 1 || c[0] != CodeOutlives {
				t.Errorf("reports %v", p.Diagnostics())
			}
		})
		t.Run("39 after it was given back", func(t *testing.T) {
			p := use(Config{Policy: Sequential})
			if err := p.Finish(); err == nil || !strings.Contains(err.Error(), "given back") {
				t.Errorf("Finish = %v", err)
			}
			if p.Fatal() != nil || len(p.ran) != 2 {
				t.Error("the run must go on")
			}
		})
	}
}

// Tasks and buffers of closed scopes leave nothing behind.
func Test40ConstantMemory(t *testing.T) {
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x, err := r.NewTensor(ir.FP32, 16)
	if err != nil {
		t.Fatal(err)
	}
	info := CreateInfo{Shape: u(16), DType: ir.FP32}
	write := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1, Args: []Arg{inout(x), {Tag: Output, Create: &info}}}
	read := write
	scopes := func(n int) {
		for range n {
			r.ScopeBegin(false, Site{})
			for range 500 {
				read.Args = []Arg{in(r.Submit(&write, Site{}).Tensors[0])}
				r.Submit(&read, Site{})
			}
			r.ScopeEnd(Site{})
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	scopes(100)
	before := heap()
	scopes(900)
	if after := heap(); after > before+1<<20 {
		t.Errorf("900 000 tasks later the heap has grown from %d to %d bytes", before, after)
	}
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(); s.Tasks != 1000000 || s.Edges[EdgeCreator] != 500000 || s.Edges[EdgeOverlap] < 490000 {
		t.Errorf("stats %+v", s)
	}
}
