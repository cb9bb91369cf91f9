package check

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Lifetime is a task that uses a buffer which nothing keeps alive for it.
type Lifetime struct {
	Maker, User Use // Maker.Task is -1 for an allocation, which has no TaskId in a program
	Diag        *diag.Diagnostic
}

// lifetimes reports tasks that use a buffer which nothing keeps alive for them. A buffer is given back when its scope has ended and the tasks with an edge
// to the task that made it have finished. In a MANUAL scope a user has such an edge only when it names that task in its dependencies (mission document 003), or
// when somebody who comes after it does; and nowhere does the operand of a predicate make one. What is made outside of all scopes stays to the end.
func (r *run) lifetimes(o *order) (l []*Lifetime) {
	g := r.graph
	users := map[sim.TaskID][]int32{} // of the makers in question
	ask := func(t *sim.Tensor) {
		if t.Owner != sim.InvalidTask && t.Owner>>32 != 0 {
			users[t.Owner] = nil
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Pred != nil {
			ask(&n.Pred.Tensor)
		}
		for k := range n.Args {
			if n.Manual && n.Args[k].Tag != sim.Output {
				ask(&n.Args[k].Tensor)
			}
		}
	}
	if len(users) == 0 {
		return nil
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == sim.NodeTask {
			for _, e := range n.Preds {
				if list, asked := users[g.Nodes[e.From].ID]; asked && !e.OrderOnly {
					users[g.Nodes[e.From].ID] = append(list, int32(i))
				}
			}
		}
	}
	type place struct {
		at  diag.Span
		arg int
	}
	seen := map[place]bool{}
	use := func(i int32, t *sim.Tensor, arg int) {
		n := &g.Nodes[i]
		if t.Owner == sim.InvalidTask || t.Owner>>32 == 0 || seen[place{n.Site, arg}] || keeps(o, users[t.Owner], i) {
			return
		}
		seen[place{n.Site, arg}] = true
		add := r.names.say("add the id of the task that made the buffer to deps=: ", "give the task the id of the one that made the buffer, with set_dependencies or add_dep: ")
		x := &Lifetime{User: r.use(&access{node: i, arg: int16(arg)})}
		if arg < 0 {
			x.Diag = diag.Warningf(CodeLifetime, n.Site, "the predicate of %s reads %s, which may be given back before", r.task(n), r.base(t)).
				WithHint("%s", add+"the operand of a predicate does not keep it alive")
		} else {
			x.Diag = diag.Warningf(CodeLifetime, n.Site, "%s uses %s (argument %s), which may be given back before it runs", r.task(n), r.base(t), r.param(n, arg)).
				WithHint("%s", add+"in a MANUAL scope using a buffer does not keep it alive")
		}
		if made := r.rt.NodeOf(t.Owner); made != nil {
			x.Maker = Use{Task: made.Ordinal, Site: made.Site, Kernel: r.kernels(made), Arg: -1, Loops: made.Loops}
			x.Diag.WithRelated(made.Site, "the buffer is made here")
		}
		l = append(l, x)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind != sim.NodeTask || n.Task == sim.KindDummy {
			continue
		}
		if n.Pred != nil {
			use(int32(i), &n.Pred.Tensor, -1)
		}
		if !n.Manual {
			continue
		}
		for k := range n.Args {
			if n.Args[k].Tag != sim.Output {
				use(int32(i), &n.Args[k].Tensor, k)
			}
		}
	}
	return l
}

// keeps reports that one of the tasks with an edge to a buffer's maker (in submit order) is node i or comes after it.
func keeps(o *order, users []int32, i int32) bool {
	first, found := slices.BinarySearch(users, i)
	if o.budget <= 0 { // nothing is known
		return true
	}
	for ; !found && first < len(users); first++ {
		o.before(users[first], []int32{i}, func(int32) { found = true })
	}
	return found
}
