package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// TestAdvice: what is said of programs that are right, but slower than they have to be.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name, body string
		lines      string // fragments of the summary, in order
		notes      string // fragments of the notes, in order; "": none
	}{
		{"p1072 trips that write different rows of one tensor", `
for i in pl.range(4):
    y = self.row(x, y, i)`, "4 | critical path without edges between tasks that touch different elements",
			"the trips of this loop run one after the other because of argument o, but they touch different elements: task 1 (row) waits for task 0 (row) (3 such pairs)"},
		{"the same with no_dep", `
for i in pl.range(4):
    y = self.row(x, pl.no_dep(y), i)`, "4.0 tasks at a time | row × 1 at p.py: | width over time: 4 4 4 4 4 4 4 4 4 4", ""},
		{"a chain", `
for i in pl.range(4):
    y = self.upd(y)`, "1.0 tasks at a time | upd × 4 at p.py:", ""},
		{"a dependency that another one implies", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    z, b = pl.submit(self.copy, y, z, deps=[a])
    z, _ = pl.submit(self.upd, z, deps=[a, b])`, "upd × 1", "task 2 (upd) need not name task 0 (copy) in deps=: it waits for task 1 (copy), which comes after that"},
		{"scopes that are nested deep", `
for i in pl.range(2):
    for j in pl.range(2):
        for k in pl.range(2):
            t = pl.create_tensor([16, 16], dtype=pl.FP32)
            t = self.copy(x, t)
            y = self.copy(t, y)`, "ring 3: ", "scopes are nested 4 deep, and all from depth 3 on share ring 3"},
		{"buffers that outlive their need", `
a = pl.create_tensor([128, 256], dtype=pl.FP32)
y = self.first(a, y)
b = pl.create_tensor([128, 256], dtype=pl.FP32)
z = self.first(b, z)`, "ring 1: task_window 4", "buffers of ring 1 take up to 262144 bytes, but no more than 131072 of them are in use at a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kernels := ""
			if strings.Contains(c.body, "self.first") {
				kernels = "@pl.function(type=pl.FunctionType.InCore)\ndef first(self, a: pl.Out[pl.Tensor[[128, 256], pl.FP32]], o: pl.Out[T]) -> T:\n    a = pl.store(pl.tile.full([128, 256], dtype=pl.FP32, value=1.0), [0, 0], a)\n" +
					"    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)\n    return o"
			}
			v := testProgram(t, checkedProgram(c.body, kernels), func(x *Tester) { x.Advice = true })
			if !v.Passed {
				t.Fatal(v.Diags)
			}
			inOrder(t, strings.Join(v.Advice.Lines(), "\n"), c.lines)
			var notes []string
			for _, d := range v.Advice.Notes {
				if d.Code != check.CodeAdvice || d.Severity != diag.Note || !d.Span.IsValid() || d.Hint == "" {
					t.Errorf("%v", d)
				}
				notes = append(notes, d.Message)
			}
			if (len(notes) == 0) != (c.notes == "") {
				t.Errorf("notes: %v", notes)
			}
			inOrder(t, strings.Join(notes, "\n"), c.notes)
			var back Verdict
			if b, err := json.Marshal(v); err != nil || json.Unmarshal(b, &back) != nil || fmt.Sprint(back.Advice.Lines()) != fmt.Sprint(v.Advice.Lines()) {
				t.Errorf("the advice does not survive the cache: %v, %v", err, back.Advice)
			}
		})
	}
}

func inOrder(t *testing.T, text, fragments string) {
	t.Helper()
	rest := text
	for w := range strings.SplitSeq(fragments, " | ") {
		i := strings.Index(rest, w)
		if i < 0 {
			t.Fatalf("no %q in\n%s", w, text)
		}
		rest = rest[i+len(w):]
	}
}

// TestNeeds: the settings that are printed are enough, and one step less is not (s1029, p1008).
func TestNeeds(t *testing.T) {
	body := `
with pl.manual_scope():
    prev = None
    for i in pl.range(20):
        t, a = pl.submit(self.copy, x, deps=[prev])
        y, prev = pl.submit(self.row, t, y, i % 16, deps=[a, prev])`
	src := checkedProgram(body, "")
	small := func(window, heap, deps uint64) func(*Tester) {
		return func(x *Tester) {
			s := &x.Builder.WS.Config.Simulator
			s.TaskWindow, s.Heap, s.DepPool = perRing{window, window, window, window}, perRing{heap, heap, heap, heap}, perRing{deps, deps, deps, deps}
			x.Advice = true
		}
	}
	v := testProgram(t, src, small(0, 0, 0))
	if !v.Passed || v.Advice.Needs.Dies != "" {
		t.Fatal(v.Diags, v.Advice)
	}
	r := v.Advice.Needs.Rings[len(v.Advice.Needs.Rings)-1]
	if r.TaskWindow != 64 || r.Heap != 20<<10 || r.DepPool < 40 || !strings.Contains(fmt.Sprint(v.Advice.Lines()), "ring 2: task_window 64 (scope at p.py:") {
		t.Errorf("%v", v.Advice.Lines())
	}
	if v := testProgram(t, src, small(uint64(r.TaskWindow), r.Heap, uint64(r.DepPool))); !v.Passed {
		t.Errorf("with its needs: %v", v.Diags)
	}
	for what, change := range map[string]func(*Tester){
		string(sim.CodeScopeTasks): small(uint64(r.TaskWindow/2), 0, 0), string(sim.CodeHeap): small(0, r.Heap-1024, 0), string(sim.CodeDepPool): small(0, 0, uint64(r.DepPool-1)),
	} {
		v := testProgram(t, src, change)
		if v.Passed || !strings.Contains(v.Diags.Error(), what) || !strings.Contains(v.Diags.Error(), "write in [simulator] of Pto.toml: ") {
			t.Errorf("%s: %v", what, v.Diags)
		}
	}
}
