package check

import "github.com/ptobuild/ptobuild/runtime/sim"

// order answers which nodes of a graph come before others in every schedule: those that a chain of edges leads to, and, since the
// orchestration stops at an element access, everything that the accesses before a node waited for.
type order struct {
	nodes     []sim.Node
	fence     []int32   // per node: the last element access before it, or -1
	consumers [][]int32 // per node: the tasks that wait for it, filled only when the orchestration writes elements
	seen      []uint32
	epoch     uint32
	stack     []int32
	budget    int // edges that may still be looked at
}

// maxWork bounds the edges that one check looks at, a few seconds' worth.
const maxWork = 200_000_000

func newOrder(g *sim.Graph) *order {
	o := &order{nodes: g.Nodes, fence: make([]int32, len(g.Nodes)), seen: make([]uint32, len(g.Nodes)), budget: maxWork}
	last, writes := int32(-1), false
	for i := range g.Nodes {
		o.fence[i] = last
		if k := g.Nodes[i].Kind; k == sim.NodeRead || k == sim.NodeWrite {
			last = int32(i)
			writes = writes || k == sim.NodeWrite
		}
	}
	if writes {
		o.consumers = make([][]int32, len(g.Nodes))
		for i := range g.Nodes {
			if g.Nodes[i].Kind == sim.NodeTask {
				for _, e := range g.Nodes[i].Preds {
					o.consumers[e.From] = append(o.consumers[e.From], int32(i))
				}
			}
		}
	}
	return o
}

// before marks the ancestors of node n among want (all of them smaller than n) and calls found for each. It looks no further back than the
// smallest of them.
func (o *order) before(n int32, want []int32, found func(int32)) {
	if len(want) == 0 {
		return
	}
	least := want[0]
	for _, w := range want {
		least = min(least, w)
	}
	// Marks: epoch = wanted, epoch+1 = seen. Both are set on the way, so a node is pushed once.
	o.epoch += 2
	left := 0
	for _, w := range want {
		if o.seen[w] != o.epoch {
			o.seen[w] = o.epoch
			left++
		}
	}
	push := func(i int32) {
		if i < least || o.seen[i] == o.epoch+1 {
			return
		}
		if o.seen[i] == o.epoch {
			left--
			found(i)
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
		for _, e := range node.Preds {
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
	}
}
