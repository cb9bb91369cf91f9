package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// A submit that can never go on says who waits for whom.
func TestDeadlocksAreExplained(t *testing.T) {
	related := func(p *prog) string {
		var b strings.Builder
		for _, r := range p.Fatal().Diag.Related {
			fmt.Fprintf(&b, "%d %s\n", r.Span.Line, r.Message)
		}
		return b.String()
	}
	p := newProg(t, Config{Limits: Limits{TaskWindow: 8}, Names: []string{"fill"}})
	p.auto(func() {
		p.auto(func() {
			p.ScopeBegin(false, p.site()) // line 3: its task is the oldest of ring 3
			p.task()
			for range 2 {
				p.auto(func() {
					for range 4 {
						p.task()
					}
				})
			}
		})
	})
	wantFatal(t, p.Runtime, FlowControlDeadlock, CodeWindow, "ring 3 is full")
	want := "4 it waits for the oldest task of the ring, task 0 of kernel fill, submitted here\n3 which keeps its place until this scope ends, and that comes after the submit\n"
	if got := related(p); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}

	p = newProg(t, Config{Limits: Limits{Heap: 4096}})
	p.alloc(u(512))
	p.alloc(u(1024))
	wantFatal(t, p.Runtime, HeapRingDeadlock, CodeHeap, "the heap of ring 0 is full")
	if got := related(p); !strings.Contains(got, "1 it waits for the oldest task of the ring, an allocation") || !strings.Contains(got, "outside of all scopes") {
		t.Errorf("got:\n%s", got)
	}

	p = newProg(t, Config{Limits: Limits{DepPool: 2}}) // nobody is to blame but the submit
	p.task(p.task().Task, p.task().Task, p.task().Task)
	wantFatal(t, p.Runtime, DepPoolOverflow, CodeDepPool, "needs 3 more")
}

// Rings may differ; a zero takes the value for all.
func TestLimitsOfSingleRings(t *testing.T) {
	l := Limits{TaskWindow: 64}
	l.Rings[1].TaskWindow, l.Rings[2].Heap = 8, 1024
	p := newProg(t, Config{Limits: l})
	for range 20 {
		p.task()
	}
	p.auto(func() {
		p.auto(func() { p.alloc(u(256)) })
		for range 8 {
			p.task()
		}
	})
	wantFatal(t, p.Runtime, ScopeDeadlock, CodeScopeTasks, "a window of 8")
	p = newProg(t, Config{Limits: l})
	p.auto(func() { p.auto(func() { p.alloc(u(257)) }) })
	wantFatal(t, p.Runtime, HeapRingDeadlock, CodeHeap, "the heap of ring 2 has 1024")
	p = newProg(t, Config{Limits: Limits{ScopeTasks: 5}})
	for range 6 {
		p.task()
	}
	wantFatal(t, p.Runtime, ScopeTasksOverflow, CodeScopeTasks, "all open scopes together hold 5 tasks")
	for _, bad := range []Rings{{TaskWindow: 12}, {Heap: 1000}, {DepPool: -1}} {
		var l Limits
		l.Rings[3] = bad
		if _, err := New(Config{Limits: l}); err == nil {
			t.Errorf("%+v accepted", bad)
		}
	}
}

// Even and odd columns share no byte. The runtime cannot see that and orders them; asked for the exact answer it does not.
func Test26ExactOverlap(t *testing.T) {
	for exact, want := range map[bool]string{false: "1<0 2<0,1 3<0,1,2", true: "2<1 3<0,1,2"} {
		p := newProg(t, Config{Check: true, ExactOverlap: exact})
		x := p.ext(ir.FP32, 8, 8)
		even, odd := must(x.Slice(1, 0, 8, 2, false)), must(x.Slice(1, 1, 8, 2, false))
		p.task(inout(even))
		p.task(inout(odd))
		p.task(inout(odd))
		p.task(in(x))
		p.finish()
		if got := edgeText(p.Graph()); got != want {
			t.Errorf("exact %v: %s, want %s", exact, got, want)
		}
	}
}
