package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// AsDeclared ends the message of a race that is not exact.
const AsDeclared = "; as declared: what the kernels really touch is not known"

// describe writes the report of a race.
func (r *run) describe(x *Race) {
	old, m := &x.old, &x.new
	a, b := &r.graph.Nodes[old.node], &r.graph.Nodes[m.node]
	first, second := r.who(a), r.who(b)
	where := r.meet(&old.tensor, &m.tensor)
	whole := r.base(&m.tensor)
	var d *diag.Diagnostic
	switch {
	case b.Kind == sim.NodeRead:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration reads %s, which %s may not have written yet", where, first)
	case b.Kind == sim.NodeWrite && x.Kind == WriteAfterRead:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration overwrites %s, which %s may still read", where, first)
	case b.Kind == sim.NodeWrite:
		d = diag.Errorf(CodeHostRace, b.Site, "the orchestration writes %s, which %s may still write", where, first)
	case m.arg < 0:
		d = diag.Errorf(sim.CodePredicateDep, b.Site, "the predicate of %s reads %s, which %s may not have written yet", r.task(b), where, first)
	case x.Kind == WriteAfterRead:
		d = diag.Errorf(CodeRace, b.Site, "%s race on %s: %s may overwrite %s while %s still reads it", x.Kind, whole, second, where, first)
	case x.Kind == ReadAfterWrite:
		d = diag.Errorf(CodeRace, b.Site, "%s race on %s: %s may read %s before %s has written it", x.Kind, whole, second, where, first)
	default:
		d = diag.Errorf(CodeRace, b.Site, "%s race on %s: %s and %s write %s in no fixed order", x.Kind, whole, first, second, where)
	}
	if role := r.role(b, m); role != "" {
		d.Message += "; " + role
	}
	if x.Count > 1 {
		d.Message += fmt.Sprintf(" (%d such pairs of tasks; this is the first)", x.Count)
	}
	for _, p := range x.also {
		if also := r.meet(&p[0].tensor, &p[1].tensor); also != where {
			d.Message += "; they also meet in " + also
		}
	}
	if !x.Exact {
		d.Severity = diag.Warning
		d.Message += AsDeclared
	}
	verb := "reads"
	if old.how&writes != 0 {
		verb = "writes"
	}
	note := fmt.Sprintf("%s %s %s here", first, verb, r.box(&old.tensor))
	if role := r.role(a, old); role != "" {
		note += "; " + role
	}
	x.Diag = d.WithHint("%s", x.advice(&r.names)).WithRelated(a.Site, "%s", note)
}

// more notes another place in memory where the same two tasks meet.
func (r *Race) more(old, m *access) {
	if r.Exact = r.Exact || old.exact && m.exact; len(r.also) < 3 && (old.arg != r.old.arg || m.arg != r.new.arg) {
		for _, p := range r.also {
			if p[0].arg == old.arg && p[1].arg == m.arg {
				return
			}
		}
		r.also = append(r.also, [2]access{*old, *m})
	}
}

// advice says which edge is missing, and why.
func (x *Race) advice(n *Names) string {
	switch x.Cause {
	case CauseHostRead:
		return x.Why() + "; write it outside of MANUAL scopes and without " + n.say("no_dep", "add_no_dep") + " or manual_dep"
	case CauseHostWrite:
		return x.Why() + "; pass the tensor to that task " + n.say("as InOut", "with add_inout")
	case CauseDirection:
		return x.Why()
	}
	or := map[Cause]string{CauseNoDep: n.say(", or drop no_dep if the accesses can meet", ", or replace add_no_dep if the accesses can meet"),
		CauseReader: n.say(", or declare the argument of the reading task as InOut", ", or pass the argument of the reading task with add_inout"),
		CauseOut:    n.say(", or declare the argument of the later task as InOut", ", or pass the argument of the later task with add_inout")}
	return fmt.Sprintf(n.say("add the id of task %d to deps= of task %d%s: %s", "give the id of task %d to task %d, with set_dependencies or add_dep%s: %s"),
		x.First.Task, x.Second.Task, or[x.Cause], x.Why())
}

// Why says why the runtime does not order the two.
func (x *Race) Why() string {
	switch x.Cause {
	case CauseHostRead:
		return "an element access waits only for writers that the runtime tracks"
	case CauseHostWrite:
		return "an element write does not wait for tasks that only read"
	case CausePredicate:
		return "a predicate does not wait for the writer of its operand by itself"
	case CauseManual:
		return "tasks of a MANUAL scope wait for nothing else, and later tasks do not see what they wrote"
	case CauseNoDep:
		return "an argument passed as no_dep is not tracked"
	case CauseManualDep:
		return "a manual_dep tensor is not tracked"
	case CauseReader:
		return "a write does not wait for earlier reads"
	case CauseOut:
		return "an Out argument does not wait for earlier writers"
	case CauseBase:
		return "the runtime finds writers by the base address of the tensor, and these two have different ones"
	}
	return "the runtime orders a task by the directions of its parameters, and the kernel does something else"
}

// Carried reports that the two stand in different trips of a loop around both, as far as the names of loop variables tell.
func (x *Race) Carried() bool {
	for i := range min(len(x.First.Loops), len(x.Second.Loops)) {
		a, b := x.First.Loops[i], x.Second.Loops[i]
		if a.Var != b.Var {
			return false
		}
		if a.Value != b.Value {
			return true
		}
	}
	return false
}

// Apart is how many trips of the innermost loop around both lie between the two; 0 when they stand in the same trip, or in different trips of an outer loop.
func (x *Race) Apart() int {
	n := min(len(x.First.Loops), len(x.Second.Loops))
	for i := range n {
		a, b := x.First.Loops[i], x.Second.Loops[i]
		switch {
		case a.Var != b.Var:
			return 0
		case a.Value != b.Value && i == n-1:
			return int(b.Value - a.Value)
		case a.Value != b.Value:
			return 0
		}
	}
	return 0
}

// causeOf says why nothing orders two accesses.
func (r *run) causeOf(a, b *sim.Node, old, m *access) Cause {
	switch {
	case b.Kind != sim.NodeTask && old.how == reads:
		return CauseHostWrite
	case b.Kind != sim.NodeTask:
		return CauseHostRead
	case m.arg < 0:
		return CausePredicate
	case a.Manual || b.Manual:
		return CauseManual
	case old.noDep || m.noDep:
		return CauseNoDep
	case old.tensor.ManualDep || m.tensor.ManualDep:
		return CauseManualDep
	case r.lies(a, old) || r.lies(b, m):
		return CauseDirection
	case old.how == reads:
		return CauseReader
	case m.how == writes && tagOf(b, m) == sim.OutputExisting:
		return CauseOut
	case old.arg >= 0 && a.Kind == sim.NodeTask && a.Args[old.arg].Tensor.Addr != b.Args[m.arg].Tensor.Addr:
		return CauseBase
	case tagOf(b, m) == sim.OutputExisting:
		return CauseOut
	}
	return CauseManual
}

// tagOf is how the runtime was told that an access happens.
func tagOf(n *sim.Node, a *access) sim.ArgTag {
	if n.Kind == sim.NodeTask && a.arg >= 0 && int(a.arg) < len(n.Args) {
		return n.Args[a.arg].Tag
	}
	return sim.NoDep
}

// lies reports a write through an argument that is passed as an input.
func (r *run) lies(n *sim.Node, a *access) bool {
	return a.how&writes != 0 && n.Kind == sim.NodeTask && a.arg >= 0 && tagOf(n, a) == sim.Input
}

// who names a node.
func (r *run) who(n *sim.Node) string {
	if n.Kind != sim.NodeTask {
		return "the orchestration"
	}
	return r.task(n)
}

// task is "task 3 (add)".
func (r *run) task(n *sim.Node) string { return fmt.Sprintf("task %d (%s)", n.Ordinal, r.kernels(n)) }

func (r *run) kernels(n *sim.Node) string {
	var names []string
	for _, id := range n.Kernels {
		if id >= 0 && !slices.Contains(names, r.rt.KernelName(id)) {
			names = append(names, r.rt.KernelName(id))
		}
	}
	if len(names) == 0 {
		return "dummy"
	}
	return strings.Join(names, "+")
}

// role says which argument of which trip an access is: "argument a, trip i = 2".
func (r *run) role(n *sim.Node, a *access) string {
	var parts []string
	switch {
	case n.Kind != sim.NodeTask:
	case a.arg < 0:
		parts = append(parts, "predicate")
	default:
		parts = append(parts, "argument "+r.param(n, int(a.arg)))
	}
	if len(n.Loops) > 0 {
		parts = append(parts, "trip "+trips(n.Loops))
	}
	return strings.Join(parts, ", ")
}

func trips(loops []sim.Trip) string {
	s := make([]string, len(loops))
	for i, l := range loops {
		s[i] = fmt.Sprintf("%s = %d", ir.BaseName(l.Var), l.Value)
	}
	return strings.Join(s, ", ")
}

// param names a tensor argument: the parameter of the kernel, or its position.
func (r *run) param(n *sim.Node, arg int) string {
	for _, id := range n.Kernels {
		if id >= 0 && int(id) < len(r.names.Params) && arg < len(r.names.Params[id]) {
			return r.names.Params[id][arg].Name
		}
	}
	return fmt.Sprint(arg)
}

func (r *run) use(a *access) Use {
	n := &r.graph.Nodes[a.node]
	u := Use{Task: -1, Site: n.Site, Arg: int(a.arg), Loops: n.Loops}
	if n.Kind == sim.NodeTask {
		u.Task, u.Kernel = n.Ordinal, r.kernels(n)
		if a.arg >= 0 {
			u.Param = r.param(n, int(a.arg))
		}
	}
	return u
}
