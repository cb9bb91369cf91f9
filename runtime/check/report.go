package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// pair is two places in the source with what they touch: loops make many races of one mistake.
type pair struct {
	first, second       diag.Span
	firstArg, secondArg int16
	firstK, secondK     [3]int32
}

type report struct {
	d     *diag.Diagnostic
	count int
}

func (c *checker) race(old, m *access) {
	a, b := &c.g.Nodes[old.node], &c.g.Nodes[m.node]
	key := pair{a.Site, b.Site, old.arg, m.arg, a.Kernels, b.Kernels}
	if r := c.pairs[key]; r != nil {
		r.count++
		return
	}
	r := &report{d: c.describe(a, b, old, m), count: 1}
	if !old.exact || !m.exact {
		r.d.Severity = diag.Warning
		r.d.Message += ", as declared"
	}
	c.pairs[key] = r
	c.list = append(c.list, r)
}

func (c *checker) reports() diag.List {
	var l diag.List
	for _, r := range c.list {
		if r.count > 1 {
			r.d.Message += fmt.Sprintf(" (%d such pairs)", r.count)
		}
		l.Add(r.d)
	}
	if c.order.budget <= 0 {
		l.Add(diag.Warningf(CodeTooMuch, diag.Span{}, "the race check was given up: the graph is too big").WithHint("check a smaller input of the same program"))
	}
	return l
}

func (c *checker) describe(a, b *sim.Node, old, m *access) *diag.Diagnostic {
	buf, first, second := buffer(c.rt, &old.tensor), c.who(a, old), c.who(b, m)
	reading, writing := old.how&writes == 0, old.how&writes != 0
	var d *diag.Diagnostic
	switch {
	case b.Kind == sim.NodeRead:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration reads an element of %s that %s may not have written yet", buf, first)
	case b.Kind == sim.NodeWrite && reading:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration overwrites an element of %s that %s may still read", buf, first)
	case b.Kind == sim.NodeWrite:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration writes an element of %s that %s may still write", buf, first)
	case m.arg < 0:
		d = diag.Errorf(sim.CodePredicateDep, b.Site, "the predicate of %s may be decided before %s has written its operand, in %s", c.task(b), first, buf)
	case reading:
		d = diag.Errorf(CodeRace, b.Site, "%s may overwrite %s while %s still reads it", second, buf, first)
	case m.how&writes == 0:
		d = diag.Errorf(CodeRace, b.Site, "%s may read %s before %s has written it", second, buf, first)
	default:
		d = diag.Errorf(CodeRace, b.Site, "%s and %s write %s in no fixed order", first, second, buf)
	}
	verb := "reads"
	if writing {
		verb = "writes"
	}
	return d.WithHint("%s", c.fix(a, b, old, m)).WithRelated(a.Site, "%s %s it here", first, verb)
}

// fix says why nothing orders the two and which edge would.
func (c *checker) fix(a, b *sim.Node, old, m *access) string {
	edge := fmt.Sprintf("add the id of task %d to deps= of task %d", a.Ordinal, b.Ordinal)
	switch {
	case b.Kind != sim.NodeTask && old.how == reads:
		return "an element write does not wait for tasks that only read; pass the tensor to that task as InOut"
	case b.Kind != sim.NodeTask:
		return "an element access waits only for writers that the runtime tracks: write it outside MANUAL scopes and without no_dep or manual_dep"
	case m.arg < 0:
		return edge + ": a predicate does not wait for the writer of its operand by itself"
	case a.Manual || b.Manual:
		return edge + ": tasks of a MANUAL scope wait for nothing else, and later tasks do not see what they wrote"
	case old.noDep || m.noDep:
		return edge + ", or drop no_dep if the accesses can meet"
	case old.tensor.ManualDep || m.tensor.ManualDep:
		return edge + ": a manual_dep tensor is not tracked"
	case old.how == reads:
		return edge + ", or declare the argument of the reading task as InOut: a write does not wait for earlier reads"
	case m.how == writes:
		return edge + ", or declare the argument of the later task as InOut: an Out argument does not wait for earlier writers"
	}
	return edge
}

// who names a node and the argument in question.
func (c *checker) who(n *sim.Node, a *access) string {
	if n.Kind != sim.NodeTask {
		return "the orchestration"
	}
	if a.arg < 0 {
		return "the predicate of " + c.task(n)
	}
	return fmt.Sprintf("%s (argument %d)", c.task(n), a.arg)
}

func (c *checker) task(n *sim.Node) string { return taskName(c.rt, n) }

// taskName is "task 3 of kernel add".
func taskName(rt *sim.Runtime, n *sim.Node) string {
	var names []string
	for _, id := range n.Kernels {
		if id >= 0 && !slices.Contains(names, rt.KernelName(id)) {
			names = append(names, rt.KernelName(id))
		}
	}
	return fmt.Sprintf("task %d of kernel %s", n.Ordinal, strings.Join(names, "+"))
}

// buffer names the memory of a handle.
func buffer(rt *sim.Runtime, t *sim.Tensor) string {
	if t.Owner != sim.InvalidTask {
		if n := rt.NodeOf(t.Owner); n != nil && n.Site.IsValid() {
			return fmt.Sprintf("the buffer made at %s", n.Site)
		}
		return "a buffer of task " + t.Owner.String()
	}
	for i, e := range rt.Entries() {
		if t.Addr >= e.Addr && t.Addr < e.Addr+max(e.Size, 1) {
			return fmt.Sprintf("entry tensor %d", i)
		}
	}
	return "memory"
}
