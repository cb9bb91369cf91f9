package check

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// lifetimes reports tasks of MANUAL scopes that use a buffer which nothing keeps alive for them. A buffer is given back when its scope has ended
// and the tasks with an edge to the task that made it have finished; in a MANUAL scope a user has such an edge only when it names that task
// in its dependencies (mission document 003), or when somebody who comes after it does. Buffers whose ring hands out no memory later on
// are safe and not reported.
func (r *run) lifetimes(o *order) diag.List {
	g := r.graph
	var l diag.List
	lastMade := map[uint64]int{} // ring → last node that took memory from it
	manual := false
	for i := range g.Nodes {
		n := &g.Nodes[i]
		manual = manual || n.Manual
		for k := range n.Args {
			if n.Args[k].Tag == sim.Output {
				lastMade[uint64(n.ID>>32)] = i
			}
		}
	}
	if !manual {
		return nil
	}
	users := map[sim.TaskID][]int32{}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == sim.NodeTask {
			for _, e := range n.Preds {
				users[g.Nodes[e.From].ID] = append(users[g.Nodes[e.From].ID], int32(i))
			}
		}
	}
	type place struct {
		at  diag.Span
		arg int
	}
	seen := map[place]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind != sim.NodeTask || !n.Manual || n.Task == sim.KindDummy {
			continue
		}
		for k := range n.Args {
			owner := n.Args[k].Tensor.Owner
			if n.Args[k].Tag == sim.Output || owner == sim.InvalidTask || lastMade[uint64(owner>>32)] <= i || seen[place{n.Site, k}] || keeps(o, users[owner], int32(i)) {
				continue
			}
			seen[place{n.Site, k}] = true
			made := r.rt.NodeOf(owner)
			d := diag.Warningf(CodeLifetime, n.Site, "%s uses %s (argument %s), which may be given back before it runs", r.task(n), r.base(&n.Args[k].Tensor), r.param(n, k)).
				WithHint("add the id of the task that made the buffer to deps=: in a MANUAL scope using a buffer does not keep it alive")
			if made != nil {
				d.WithRelated(made.Site, "the buffer is made here")
			}
			l.Add(d)
		}
	}
	return l
}

// keeps reports that one of the tasks with an edge to a buffer's maker (in submit order) is node i or comes after it.
func keeps(o *order, users []int32, i int32) bool {
	first, found := slices.BinarySearch(users, i)
	for ; !found && first < len(users); first++ {
		o.before(users[first], []int32{i}, func(int32) { found = true })
	}
	return found
}
