package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// TestAgreeExplains: where the compiled C++ parts from its plan is told in the words of the program.
func TestAgreeExplains(t *testing.T) {
	src := checkedProgram("y, a = pl.submit(self.copy, x, y)\nz, _ = pl.submit(self.row, y, z, 3, deps=[a])", "")
	submit := func(change func(s *trace.Submit)) func([]trace.Event) []trace.Event {
		return func(events []trace.Event) []trace.Event {
			for i, e := range events {
				if s, ok := e.(*trace.Submit); ok && s.N == 1 {
					c := *s
					c.Args = append([]trace.Arg(nil), s.Args...)
					change(&c)
					events[i] = &c
				}
			}
			return events
		}
	}
	for _, c := range []struct {
		name   string
		change func([]trace.Event) []trace.Event
		want   string
	}{
		{"the same", func(e []trace.Event) []trace.Event { return e }, ""},
		{"a direction", submit(func(s *trace.Submit) { s.Args[1].Dir = "in" }), "p.py:42:9: error[PTO-W012]: | does something else than its plan (fifo order), first in call 3: task 1 of kernel row | argument o is passed as in, expected inout | build/p/main/orchestration/main.cpp | the C++ of this statement"},
		{"a scalar", submit(func(s *trace.Submit) { s.Scalars = []trace.Scalar{{Bits: 4, Type: "i64"}} }), "scalar argument r is 4, expected 3"},
		{"a dependency", submit(func(s *trace.Submit) { s.Deps = nil }), "waits for tasks [], expected [0]"},
		{"a call too few", func(e []trace.Event) []trace.Event { return e[:3] }, "p.py:42:9: | it ends before task 1 of kernel row"},
		{"a call too many", func(e []trace.Event) []trace.Event { return append(e, e[3]) }, "task 1 of kernel row at p.py:42:9, which is too much"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testProgram(t, src, func(x *Tester) {
				targets, _ := x.Builder.Targets(nil)
				built, ds := x.Builder.Build(context.Background(), targets[0])
				if ds.HasErrors() {
					t.Fatal(ds)
				}
				tensors, _, _ := x.Builder.entryData(&TestConfig{}, built.Plan)
				order := exec.Schedule{Policy: sim.FIFO}
				job := &exec.Job{Plan: built.Plan, Program: built.Program, Tensors: tensors, Schedules: []exec.Schedule{order, order}}
				r, err := (&exec.Plan{Ops: x.Builder.Ops}).Run(context.Background(), job)
				if err != nil {
					t.Fatal(err)
				}
				planned := r[0].Trace.Events()
				events := c.change(trace.Orchestration(planned))
				for i, e := range events { // with places again, as the engine gives them
					if s, ok := e.(*trace.Submit); ok && s.N == 1 {
						n := *s
						n.Site = trace.SiteOf(planned[slot(planned, 1)])
						events[i] = &n
					}
				}
				r[1].Trace = trace.NewLog(events...)
				err = agree(built, &r[0], &r[1], order)
				if (err == nil) != (c.want == "") {
					t.Fatal(err)
				}
				if err == nil {
					return
				}
				d := diag.AsList(err, "")[0]
				text := fmt.Sprint(d.Error(), d.Related)
				for w := range strings.SplitSeq(c.want, " | ") {
					if !strings.Contains(text, w) {
						t.Errorf("%q does not say %q", text, w)
					}
				}
			})
		})
	}
}

// slot finds the submit of a task.
func slot(events []trace.Event, task int) int {
	for i, e := range events {
		if s, ok := e.(*trace.Submit); ok && s.N == task {
			return i
		}
	}
	return -1
}
