// Package check looks at the graph of a simulated run for mistakes that one schedule shows only by luck: accesses that nothing orders, and buffers
// that nothing keeps alive. The runtime follows reads after writes of declared arguments; it does not follow writes after reads, and in
// MANUAL scopes, through NO_DEP and manual_dep it follows nothing (spec runtime.md 0.3, 2.2).
//
// A run keeps its graph only with sim.Config.Check. The graph, and so the reports, are the same for every schedule of a program. Where the kernels
// report what they touch (sim.KernelCall.Track), that is an access, and a race is an error. Elsewhere an access is what an argument
// declares: its whole window, read or written by direction. Kernels often use less, so a race is then a warning; and a NO_DEP argument, for
// which the author vouches, counts only where sim.Config.Dirs knows its direction.
package check

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/sim/interval"
)

// access is one use of memory by a node.
type access struct {
	node  int32
	arg   int16 // argument position; -1 for a predicate operand or an element access
	how   how
	noDep bool // passed as NO_DEP
	exact bool // really touched, not only declared
	// covered: about to leave the live set.
	covered bool
	tensor  sim.Tensor
}

type how uint8

const (
	reads  how = 1
	writes how = 2
)

// Races returns the pairs of conflicting accesses that no chain of waiting orders, in submit order, one report per pair of places in the source;
// nil without Config.Check.
func Races(rt *sim.Runtime) diag.List {
	g := rt.Graph()
	if g == nil {
		return nil
	}
	c := &checker{rt: rt, g: g, order: newOrder(g), live: interval.New[access](), after: map[int32]bool{}, pairs: map[pair]*report{}}
	for i := range g.Nodes {
		c.node(int32(i))
	}
	return c.reports()
}

type checker struct {
	rt    *sim.Runtime
	g     *sim.Graph
	order *order
	// live holds the accesses that a later one may still race with. One that is ordered before a later access which covers it drops out: whoever
	// is ordered after that one is ordered after both.
	live *interval.Map[access]

	mine  []access // of the node at hand
	met   []meeting
	want  []int32
	after map[int32]bool // nodes ordered before the one at hand

	pairs map[pair]*report
	list  []*report
}

// meeting is a live access that touches the memory of one of mine.
type meeting struct {
	mine int
	old  interval.Index
}

func (c *checker) node(i int32) {
	n := &c.g.Nodes[i]
	c.mine = c.accesses(c.mine[:0], i)
	c.forget(n)
	c.met, c.want = c.met[:0], c.want[:0]
	for k := range c.mine {
		m := &c.mine[k]
		for _, x := range c.live.Meet(m.tensor.Bytes()) {
			if old := c.live.At(x); sim.Overlap(&m.tensor, &old.tensor) {
				c.met = append(c.met, meeting{k, x})
				c.want = append(c.want, old.node)
			}
		}
	}
	clear(c.after)
	c.order.before(i, c.want, func(a int32) { c.after[a] = true })
	if c.order.budget <= 0 {
		return
	}
	var covered []interval.Index
	for _, x := range c.met {
		m, old := &c.mine[x.mine], c.live.At(x.old)
		conflict := (m.how|old.how)&writes != 0
		switch {
		case !c.after[old.node]:
			if conflict {
				c.race(old, m)
			}
		case !old.covered && (m.how&writes != 0 || old.how == reads) && (m.exact || !old.exact) && sim.Covers(&m.tensor, &old.tensor):
			old.covered = true
			covered = append(covered, x.old)
		}
	}
	for _, x := range covered {
		c.live.Remove(x)
	}
	for k := range c.mine {
		if lo, hi := c.mine[k].tensor.Bytes(); lo < hi {
			c.live.Insert(lo, hi, c.mine[k])
		}
	}
}

// accesses lists what node i touches. Dummies touch nothing; the fresh buffer of an allocation is nobody else's yet.
func (c *checker) accesses(list []access, i int32) []access {
	n := &c.g.Nodes[i]
	switch n.Kind {
	case sim.NodeRead:
		return append(list, access{node: i, arg: -1, how: reads, exact: true, tensor: element(&n.Access.Tensor, n.Access.Index)})
	case sim.NodeWrite:
		return append(list, access{node: i, arg: -1, how: writes, exact: true, tensor: element(&n.Access.Tensor, n.Access.Index)})
	case sim.NodeAlloc:
		return list
	}
	if n.Task == sim.KindDummy {
		return list
	}
	if n.Pred != nil {
		list = append(list, access{node: i, arg: -1, how: reads, exact: true, tensor: element(&n.Pred.Tensor, n.Pred.Index)})
	}
	if n.Exact {
		for k := range n.Touched {
			t := &n.Touched[k]
			a := access{node: i, arg: t.Arg, how: reads, exact: true, tensor: t.Window}
			if t.Write {
				a.how = writes
			}
			if k := int(t.Arg); k < len(n.Args) {
				a.noDep = n.Args[k].Tag == sim.NoDep
				a.tensor.ManualDep, a.tensor.Owner = n.Args[k].Tensor.ManualDep, n.Args[k].Tensor.Owner
			}
			list = append(list, a)
		}
		return list
	}
	for k := range n.Args {
		a := access{node: i, arg: int16(k), tensor: n.Args[k].Tensor}
		switch n.Args[k].Tag {
		case sim.Input:
			a.how = reads
		case sim.InOut:
			a.how = reads | writes
		case sim.NoDep:
			a.how, a.noDep = c.declared(n, k), true
		default:
			a.how = writes
		}
		if a.how != 0 {
			list = append(list, a)
		}
	}
	return list
}

// declared is what the kernels of a task do with a parameter, by their signatures; nothing when those are not known.
func (c *checker) declared(n *sim.Node, arg int) (h how) {
	dirs := c.rt.Config().Dirs
	for _, id := range n.Kernels {
		if id < 0 || int(id) >= len(dirs) || arg >= len(dirs[id]) {
			continue
		}
		switch dirs[id][arg] {
		case ir.In:
			h |= reads
		case ir.Out:
			h |= writes
		case ir.InOut:
			h |= reads | writes
		}
	}
	return h
}

// element is a handle on one element.
func element(t *sim.Tensor, idx []uint32) sim.Tensor {
	e := *t
	at, err := t.Flat(idx)
	if err != nil { // the runtime has checked it
		at = t.Start
	}
	e.Start, e.Shape, e.Strides = at, nil, nil
	return e
}

// forget drops the accesses to memory that is handed out anew: they were to a buffer that is gone.
func (c *checker) forget(n *sim.Node) {
	if n.Kind != sim.NodeTask && n.Kind != sim.NodeAlloc {
		return
	}
	for k := range n.Args {
		if t := &n.Args[k].Tensor; n.Args[k].Tag == sim.Output {
			for _, x := range c.live.Meet(t.Addr, t.Addr+t.Size) {
				c.live.Remove(x)
			}
		}
	}
}
