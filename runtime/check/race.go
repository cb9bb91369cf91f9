package check

import (
	"cmp"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// access is one use of memory by a node.
type access struct {
	node  int32
	arg   int16 // argument position; -1 for a predicate operand or an element access
	how   how
	noDep bool // passed as NO_DEP
	exact bool // really touched, not only declared
	// atomic: part of an atomic addition, which may meet another one.
	atomic bool
	// covered: about to leave the live set.
	covered bool
	tensor  sim.Tensor
}

type how uint8

const (
	reads  how = 1
	writes how = 2
)

// races finds the pairs of conflicting accesses that no chain of waiting orders, in submit order, one per pair of places in the source.
type races struct {
	*run
	order *order
	// The accesses that a later one may still race with: readers, and those that write. One that is ordered before a later access which covers
	// it drops out: whoever is ordered after that one is ordered after both.
	store            slab
	readers, writers *live

	mine  []access // of the node at hand
	met   []meeting
	want  []int32
	after []uint32 // per node: the epoch in which it was found to come before the node at hand
	epoch uint32
	loose []meeting // conflicts that nothing orders

	pairs map[pair]*Race
	list  []*Race
}

// pair is two places in the source with what runs there: loops make many races of one mistake.
type pair struct {
	first, second   sim.Site
	firstK, secondK [3]int32
}

// meeting is a live access that touches the memory of one of mine.
type meeting struct {
	mine int
	old  int32 // in store
}

func (r *run) races(o *order) []*Race {
	c := &races{run: r, order: o, after: make([]uint32, len(r.graph.Nodes)), pairs: map[pair]*Race{}}
	c.readers, c.writers = newLive(&c.store), newLive(&c.store)
	for i := range r.graph.Nodes {
		c.node(int32(i))
		if o.budget <= 0 {
			r.gaveUp = true
			break
		}
	}
	for _, x := range c.list {
		r.describe(x)
	}
	return c.list
}

func (c *races) at(m meeting) *access { return c.store.at(m.old) }

func (c *races) node(i int32) {
	n := &c.graph.Nodes[i]
	c.mine = c.accesses(c.mine[:0], i)
	c.forget(n)
	c.met, c.want = c.met[:0], c.want[:0]
	for k := range c.mine {
		m := &c.mine[k]
		meet := func(i int32) {
			if old := c.store.at(i); !(old.atomic && m.atomic) && sim.Overlap(&m.tensor, &old.tensor) {
				c.met = append(c.met, meeting{k, i})
				c.want = append(c.want, old.node)
			}
		}
		lo, hi := m.tensor.Bytes()
		c.writers.meet(lo, hi, meet)
		if m.how&writes != 0 {
			c.readers.meet(lo, hi, meet)
		}
	}
	c.order.budget -= len(c.met)
	c.epoch++
	c.order.before(i, c.want, func(a int32) { c.after[a] = c.epoch })
	if c.order.budget <= 0 {
		return
	}
	c.loose = c.loose[:0]
	for _, x := range c.met {
		if c.after[c.at(x).node] != c.epoch {
			c.loose = append(c.loose, x)
		}
	}
	if len(c.loose) > 0 {
		c.conflicts(i)
	}
	covers := false
	for _, x := range c.met {
		m, old := &c.mine[x.mine], c.at(x)
		if !old.covered && c.after[old.node] == c.epoch && m.how&writes != 0 && (m.exact || !old.exact) && sim.Covers(&m.tensor, &old.tensor) {
			old.covered, covers = true, true
		}
	}
	for k := range c.mine {
		lo, hi := c.mine[k].tensor.Bytes()
		if covers && c.mine[k].how&writes != 0 {
			covered := func(a *access) bool { return a.covered }
			c.writers.drop(lo, hi, covered)
			c.readers.drop(lo, hi, covered)
		}
	}
	for k := range c.mine {
		if lo, hi := c.mine[k].tensor.Bytes(); lo < hi {
			if c.mine[k].how&writes != 0 {
				c.writers.insert(&c.mine[k])
			} else {
				c.readers.insert(&c.mine[k])
			}
		}
	}
}

// conflicts reports what nothing orders before node i. One edge to the latest of those tasks may order the others too; from here on the checker goes by
// the order that the reported edges would give, so that a missing edge is one report and not one for every task behind it.
func (c *races) conflicts(i int32) {
	slices.SortStableFunc(c.loose, func(x, y meeting) int {
		return cmp.Or(cmp.Compare(c.at(y).node, c.at(x).node), cmp.Compare(x.mine, y.mine))
	})
	for k, x := range c.loose {
		old, m := c.at(x), &c.mine[x.mine]
		if c.after[old.node] == c.epoch {
			continue
		}
		n := c.race(old, m)
		if k+1 < len(c.loose) && c.at(c.loose[k+1]).node == old.node || (!old.exact || !m.exact) && n <= maxGuesses {
			continue // more of the same pair; or a guess that is not to hide what is certain
		}
		c.after[old.node] = c.epoch
		c.order.mend(old.node, i)
		c.want = c.want[:0]
		for _, y := range c.loose[k+1:] {
			c.want = append(c.want, c.at(y).node)
		}
		c.order.before(old.node, c.want, func(a int32) { c.after[a] = c.epoch })
	}
}

// maxGuesses bounds how often a race between declared accesses is counted.
const maxGuesses = 32

// maxExamples bounds the pairs of tasks that a Race keeps.
const maxExamples = 4

// race notes a pair and returns how many there are of its places.
func (c *races) race(old, m *access) int {
	a, b := &c.graph.Nodes[old.node], &c.graph.Nodes[m.node]
	key := pair{a.Site, b.Site, a.Kernels, b.Kernels}
	r := c.pairs[key]
	if r == nil {
		r = &Race{Kind: kindOf(old, m), Cause: c.causeOf(a, b, old, m), First: c.use(old), Second: c.use(m), Exact: old.exact && m.exact,
			FirstLies: c.lies(a, old), SecondLies: c.lies(b, m), old: *old, new: *m}
		if n := c.maker(&m.tensor); n != nil {
			r.Made = n.Site
		}
		c.pairs[key] = r
		c.list = append(c.list, r)
	}
	if n := len(r.Pairs); n > 0 && r.last == [2]int32{old.node, m.node} {
		r.more(old, m)
		return r.Count
	}
	r.last = [2]int32{old.node, m.node}
	r.Count++
	if len(r.Pairs) < maxExamples && a.Kind == sim.NodeTask && b.Kind == sim.NodeTask {
		r.Pairs = append(r.Pairs, [2]int{a.Ordinal, b.Ordinal})
	}
	return r.Count
}

func kindOf(old, m *access) Kind {
	switch {
	case old.how&writes == 0:
		return WriteAfterRead
	case m.how&writes == 0:
		return ReadAfterWrite
	}
	return WriteAfterWrite
}

// accesses lists what node i touches. Dummies touch nothing; the fresh buffer of an allocation is nobody else's yet.
func (r *run) accesses(list []access, i int32) []access {
	n := &r.graph.Nodes[i]
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
			a := access{node: i, arg: t.Arg, how: reads, exact: true, atomic: t.Atomic, tensor: t.Window}
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
			a.how, a.noDep = r.declared(n, k), true
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
func (r *run) declared(n *sim.Node, arg int) (h how) {
	dirs := r.rt.Config().Dirs
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
func (c *races) forget(n *sim.Node) {
	if n.Kind != sim.NodeTask && n.Kind != sim.NodeAlloc {
		return
	}
	for k := range n.Args {
		if t := &n.Args[k].Tensor; n.Args[k].Tag == sim.Output {
			all := func(*access) bool { return true }
			c.readers.drop(t.Addr, t.Addr+t.Size, all)
			c.writers.drop(t.Addr, t.Addr+t.Size, all)
		}
	}
}
