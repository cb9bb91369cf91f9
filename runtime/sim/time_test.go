package sim

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// On two clusters, where a block takes 10 and nothing else takes time.
func TestVirtualTimes(t *testing.T) {
	kernel2 := func(a *TaskArgs) { a.Kernels[1] = 2 }
	tests := []struct {
		name           string
		f              func(p *prog)
		makespan, path uint64
		alone          uint64 // makespan when tasks run one at a time
	}{
		{"four independent vector tasks on four cores", func(p *prog) {
			for range 4 {
				p.task()
			}
		}, 10, 10, 40},
		{"five", func(p *prog) {
			for range 5 {
				p.task()
			}
		}, 20, 10, 50},
		{"chain", func(p *prog) { a := p.task(); b := p.task(a.Task); p.task(b.Task) }, 30, 30, 30},
		{"blocks in waves", func(p *prog) { p.task(blocks(9)) }, 30, 10, 90},
		{"mixed tasks take a whole cluster", func(p *prog) {
			for range 3 {
				p.task(mixed(0, 1, 1))
			}
		}, 20, 10, 30},
		{"a mixed task lasts as long as its longest lane", func(p *prog) { p.task(mixed(0, 1, 2)) }, 35, 35, 35},
		{"a cohort waits for all its cores", func(p *prog) {
			p.task()
			p.task(blocks(4), syncStart)
		}, 20, 10, 50},
		{"a cohort that waits holds its cores back", func(p *prog) {
			p.task(kernel2)
			d := p.task()
			p.task(blocks(4), syncStart, d.Task)
			p.task(d.Task)
		}, 55, 35, 95},
		{"but not those of another kind", func(p *prog) {
			p.task(kernel2)
			d := p.task()
			p.task(blocks(4), syncStart, d.Task)
			p.task(aic, d.Task)
		}, 45, 35, 95},
		{"what waits does not keep others from a core", func(p *prog) { // three short tasks after a long one, then what waits for the long one
			long := p.task(kernel2)
			p.task(kernel2, long.Task)
			for range 6 {
				p.task()
			}
		}, 70, 70, 130},
		{"dummies and skipped tasks take no time", func(p *prog) {
			g := p.ext(ir.INT32, 1)
			a := p.task()
			d := p.task(dummy, a.Task)
			s := p.task(d.Task, &Predicate{g, u(0), ir.Gt, 0})
			p.task(s.Task)
		}, 20, 20, 20},
		{"the orchestration waits for what it reads", func(p *prog) {
			x := p.ext(ir.INT32, 1)
			p.task(inout(x))
			p.Read(x, nil, p.site())
			p.task()
		}, 20, 10, 20},
	}
	for _, tt := range tests {
		for policy, alone := range map[Policy]bool{FIFO: false, Parallel: false, OneCore: true, LIFO: true, Newest: true, Sequential: true, Random: true} {
			p := newProg(t, Config{Policy: policy, Clusters: 2, Costs: &Costs{Launch: 10}, Names: []string{"a", "b", "long"}, Times: map[string]uint64{"long": 35}})
			tt.f(p)
			p.finish()
			want := tt.makespan
			if alone {
				want = tt.alone
			}
			if s := p.Stats(); s.Makespan != want || s.CriticalPath != tt.path {
				t.Errorf("%s, %s: makespan %d, critical path %d, want %d, %d", tt.name, policy, s.Makespan, s.CriticalPath, want, tt.path)
			}
		}
	}
}

// A kernel's time is the sum of what its work costs; an orchestration that submits slowly is what bounds short tasks.
func TestCosts(t *testing.T) {
	work := runner(func(m *Memory, c *KernelCall) error {
		c.Work = Work{Ops: 3, Bytes: 640, Vector: 100, Multiply: 1000}
		return nil
	})
	costs := &Costs{Submit: 500, Access: 7, Launch: 100, Op: 10, Bytes: 64, Vector: 50, Multiply: 500}
	p := newProg(t, Config{Costs: costs, Kernels: work})
	x := p.ext(ir.FP32, 16)
	for range 4 {
		p.task()
	}
	p.Read(x, nil, p.site())
	p.finish()
	const kernel = 100 + 3*10 + 10 + 2 + 2
	if s := p.Stats(); s.Makespan != 4*500+kernel || s.Orchestration != 4*500+7 || s.BusyAIV != 4*kernel || s.BusyAIC != 0 || s.CriticalPath != kernel {
		t.Errorf("%+v", s)
	}
	// A kernel whose runner says nothing moves its arguments once: 64 bytes in, 32 in and out.
	p = newProg(t, Config{Costs: &Costs{Bytes: 1, Vector: 1, Op: 1000}})
	p.task(in(p.ext(ir.FP32, 16)), inout(p.ext(ir.INT8, 32)))
	p.finish()
	if s := p.Stats(); s.Makespan != 1000+64+32+32 {
		t.Errorf("%+v", s)
	}
	for platform, clusters := range map[string]int{"": 8, "a2a3": 8, "a5": 8} {
		p := newProg(t, Config{Platform: platform})
		if p.Config().Clusters != clusters || p.costs.Launch == 0 {
			t.Errorf("%s: %+v", platform, p.Config())
		}
	}
}

// A timing slot spans from the first start to the last end of its tasks.
func Test54TimingSlots(t *testing.T) {
	p := newProg(t, Config{Costs: &Costs{Launch: 10}})
	slot := func(n int32) func(*TaskArgs) { return func(a *TaskArgs) { a.TimingSlot = n } }
	a := p.task()
	b := p.task(a.Task, slot(15))
	c := p.task(b.Task, slot(0))
	p.task(c.Task, slot(15), blocks(17))
	p.finish()
	if s := p.Stats().Slots; s[15] != (Span{2, 10, 50}) || s[0] != (Span{1, 20, 30}) || s[1] != (Span{}) {
		t.Errorf("%+v", s)
	}
}

// The policy Parallel gives the trace of FIFO, virtual times included, whatever the host does.
func TestParallelIsFIFO(t *testing.T) {
	for seed := range uint64(20) {
		run := func(policy Policy) (string, []trace.Event) {
			p := newProg(t, Config{Policy: policy, Workers: 4, Kernels: forking{}, Record: true, Check: true})
			p.cfg.Kernels = forking{} // without newProg's list of what ran
			randomProgram(p, seed)
			p.finish()
			result := fmt.Sprint(edgeText(p.Graph()), p.Stats(), p.Diagnostics())
			for _, e := range p.entries {
				result += fmt.Sprint(f32(p.Memory(), e))
			}
			return result, p.Trace().Events()
		}
		want, events := run(FIFO)
		got, parallel := run(Parallel)
		if got != want {
			t.Errorf("program %d:\n got %s\nwant %s", seed, got, want)
		}
		if a, b := traceText(t, parallel), traceText(t, events); a != b {
			t.Errorf("program %d: another trace:\n%s\n%s", seed, a, b)
		}
	}
}

func traceText(t *testing.T, events []trace.Event) string {
	var b bytes.Buffer
	if err := trace.WriteJSON(&b, slices.Values(events)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// forking is mixKernel for many threads.
type forking struct{}

func (forking) Run(m *Memory, c *KernelCall) error {
	c.Work = Work{Ops: uint64(c.Ordinal % 3)}
	return mixKernel(m, c)
}
func (forking) Fork() KernelRunner { return forking{} }

// Blocks of one task run at the same time: each waits for the others here. A failure is that of the first block, whichever failed first.
func TestParallelBlocks(t *testing.T) {
	const n = 4
	m := &meeting{in: make(chan int, n), out: make(chan struct{})}
	p := newProg(t, Config{Policy: Parallel, Workers: n})
	p.cfg.Kernels = m
	p.task(blocks(n))
	p.finish()
	slices.Sort(m.seen)
	if !slices.Equal(m.seen, []int{0, 1, 2, 3}) {
		t.Errorf("blocks %v", m.seen)
	}

	p = newProg(t, Config{Policy: Parallel, Workers: n})
	p.cfg.Kernels = failingBlocks{}
	p.task(blocks(8))
	wantFatal(t, p.Runtime, KernelFailed, CodeKernelFailed, "block 3 of 8: bad block")
}

type meeting struct {
	in   chan int
	out  chan struct{}
	seen []int
}

func (m *meeting) Fork() KernelRunner { return m }
func (m *meeting) Run(_ *Memory, c *KernelCall) error {
	m.in <- c.Block
	if c.Block == 0 {
		for range cap(m.in) {
			m.seen = append(m.seen, <-m.in)
		}
		close(m.out)
	}
	<-m.out
	return nil
}

type failingBlocks struct{}

func (failingBlocks) Fork() KernelRunner { return failingBlocks{} }
func (failingBlocks) Run(_ *Memory, c *KernelCall) error {
	if c.Block >= 3 {
		return fmt.Errorf("bad block")
	}
	return nil
}
