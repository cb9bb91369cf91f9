package check

import "github.com/ptobuild/ptobuild/runtime/sim"

// order answers which nodes of a graph come before others in every schedule: those that a chain of edges leads to, and, since the
// orchestration stops at an element access, everything that the accesses before a node waited for.
//
// A question is a search backwards along the edges. It is short because of three things: nodes are split into chains, and on a chain the earlier
// node comes first; a node knows on which chains it was found to come first before; and a node that is not deeper than what is looked for has none of it
// behind it.
type order struct {
	nodes     []sim.Node
	fence     []int32           // per node: the last element access before it, or -1
	consumers [][]int32         // per node: the tasks that wait for it while it is there, filled only when the orchestration writes elements
	chain     []int32           // per node; positions on a chain are node numbers
	depth     []int32           // per node: the most edges on a path that ends there
	known     [][]known         // per node: where it was found to come first
	blind     bool              // some edges do not exist on a device
	mended    map[int32][]int32 // per node: what it would wait for if the races found so far were mended
	seen      []uint32
	epoch     uint32
	stack     []int32
	want      []int32
	budget    int // edges that may still be looked at
}

// known says that a node comes before the node from and all those after it on its chain.
type known struct{ chain, from int32 }

// maxKnown bounds the list of a node.
const maxKnown = 8

// maxWork bounds the edges that one check looks at, a few seconds' worth.
const maxWork = 200_000_000

func newOrder(g *sim.Graph) *order {
	n := len(g.Nodes)
	o := &order{nodes: g.Nodes, fence: make([]int32, n), seen: make([]uint32, n), chain: make([]int32, n), depth: make([]int32, n), known: make([][]known, n), budget: maxWork}
	last, writes := int32(-1), false
	tail := make([]bool, n) // is the last of its chain so far
	chains := int32(0)
	for i := range g.Nodes {
		node := &g.Nodes[i]
		o.fence[i] = last
		if k := node.Kind; k == sim.NodeRead || k == sim.NodeWrite {
			writes = writes || k == sim.NodeWrite
			last = int32(i)
		}
		o.chain[i] = -1
		follow := func(p int32) {
			o.depth[i] = max(o.depth[i], o.depth[p]+1)
			if o.chain[i] < 0 && tail[p] {
				o.chain[i], tail[p] = o.chain[p], false
			}
		}
		for _, e := range node.Preds {
			if o.real(node, e) {
				follow(e.From)
			} else {
				o.blind = true
			}
		}
		if f := o.fence[i]; f >= 0 {
			follow(f)
		}
		if o.chain[i] < 0 {
			o.chain[i] = chains
			chains++
		}
		tail[i] = true
	}
	if writes {
		o.consumers = make([][]int32, n)
		for i := range g.Nodes {
			switch node := &g.Nodes[i]; node.Kind {
			case sim.NodeTask:
				for _, e := range node.Preds {
					if e.Held {
						o.consumers[e.From] = append(o.consumers[e.From], int32(i))
					}
				}
			case sim.NodeWrite: // it waits for more than its edges say: how deep it is cannot be told from them
				o.depth[i] = int32(i)
			}
			if f := o.fence[i]; f >= 0 {
				o.depth[i] = max(o.depth[i], o.depth[f]+1)
			}
			for _, e := range g.Nodes[i].Preds {
				o.depth[i] = max(o.depth[i], o.depth[e.From]+1)
			}
		}
	}
	return o
}

// real reports an edge that a device makes too. The simulator follows writers over the bytes of memory; the runtime of a device finds them under
// the base address of the handle only (spec runtime.md 0.6).
func (o *order) real(n *sim.Node, e sim.Edge) bool {
	if e.Kind != sim.EdgeOverlap || e.Arg < 0 || int(e.Arg) >= len(n.Args) {
		return true
	}
	addr := n.Args[e.Arg].Tensor.Addr
	from := &o.nodes[e.From]
	if n.Kind != sim.NodeTask || from.Kind != sim.NodeTask {
		return true
	}
	for k := range from.Args {
		if from.Args[k].Tensor.Addr == addr {
			return true
		}
	}
	return false
}

// before marks the ancestors of node n among want (all of them smaller than n) and calls found for each. It looks no further back than the
// smallest of them.
func (o *order) before(n int32, want []int32, found func(int32)) {
	if len(want) == 0 {
		return
	}
	least, shallow := want[0], o.depth[want[0]]
	// Marks: epoch = wanted, epoch+1 = seen. Both are set on the way, so a node is pushed once.
	o.epoch += 2
	o.want = o.want[:0]
	for _, w := range want {
		least, shallow = min(least, w), min(shallow, o.depth[w])
		if o.seen[w] != o.epoch {
			o.seen[w] = o.epoch
			o.want = append(o.want, w)
		}
	}
	left := len(o.want)
	hit := func(w int32) {
		left--
		o.seen[w] = o.epoch - 1 // wanted no more, and still to be pushed: its own ancestors count too
		o.learn(w, n)
		found(w)
	}
	push := func(i int32) {
		if i < least || o.seen[i] == o.epoch+1 {
			return
		}
		if o.seen[i] == o.epoch {
			hit(i)
		}
		if o.depth[i] < shallow {
			return
		}
		o.seen[i] = o.epoch + 1
		o.stack = append(o.stack, i)
	}
	o.stack = append(o.stack[:0], n)
	for len(o.stack) > 0 && left > 0 && o.budget > 0 {
		i := o.stack[len(o.stack)-1]
		o.stack = o.stack[:len(o.stack)-1]
		node := &o.nodes[i]
		o.budget -= 1 + len(node.Preds)
		if len(o.want) <= 4 || i == n {
			o.budget -= len(o.want)
			for _, w := range o.want {
				if o.seen[w] == o.epoch && o.isKnown(w, i) {
					hit(w)
				}
			}
		}
		for _, e := range node.Preds {
			if o.blind && !o.real(node, e) {
				continue
			}
			push(e.From)
			if node.Kind == sim.NodeWrite {
				for _, c := range o.consumers[e.From] {
					if c < i {
						push(c)
					}
				}
			}
		}
		if f := o.fence[i]; f >= 0 {
			push(f)
		}
		if len(o.mended) > 0 {
			for _, p := range o.mended[i] {
				push(p)
			}
		}
	}
}

// mend makes b wait for a from now on.
func (o *order) mend(a, b int32) {
	if o.mended == nil {
		o.mended = map[int32][]int32{}
	}
	o.mended[b] = append(o.mended[b], a)
	o.depth[b] = max(o.depth[b], o.depth[a]+1)
}

// isKnown reports that w comes before i without a search.
func (o *order) isKnown(w, i int32) bool {
	c := o.chain[i]
	if o.chain[w] == c {
		return w < i
	}
	for _, k := range o.known[w] {
		if k.chain == c {
			return k.from <= i
		}
	}
	return false
}

// learn notes that w comes before n.
func (o *order) learn(w, n int32) {
	c := o.chain[n]
	if c == o.chain[w] {
		return
	}
	for i := range o.known[w] {
		if k := &o.known[w][i]; k.chain == c {
			k.from = min(k.from, n)
			return
		}
	}
	if len(o.known[w]) == maxKnown { // the oldest knows least of what is to come
		copy(o.known[w], o.known[w][1:])
		o.known[w] = o.known[w][:maxKnown-1]
	}
	o.known[w] = append(o.known[w], known{c, n})
}
