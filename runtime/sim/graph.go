package sim

import "slices"

// Graph is what a run did, in a form that does not depend on the order in which tasks ran: who waits for whom and who touches what. It exists only
// with Config.Check, and runtime/check reads it.
type Graph struct {
	Nodes []Node // tasks and allocations in submit order, element accesses of the orchestration between them

	bySeq []int32 // node of each task and allocation, in submit order
	mark  []uint32
	preds []Edge // producers of the task that is being submitted
	// ordered: one of them is OrderOnly.
	ordered bool
	args    arena[Arg]
	edges   arena[Edge]
	trips   arena[Trip]
	loops   *[]Trip // of the orchestration at this moment
}

// Node is one task, allocation or element access.
type Node struct {
	Kind    NodeKind
	ID      TaskID // tasks and allocations
	Ordinal int    // task ordinal; -1 for the others
	Task    TaskKind
	Kernels [3]int32
	Blocks  int32
	Sync    bool // the blocks start together
	Manual  bool // submitted in a MANUAL scope
	Early   bool // early resolve was allowed
	DumpAll bool // all arguments are marked for a dump
	Dump    []int
	Args    []Arg
	Scalars []Scalar
	Pred    *Predicate
	Preds   []Edge
	Site    Site
	Access  *Element // element accesses
	Loops   []Trip   // the loops around it, outermost first, where the engine tells
	Time    uint64   // virtual time of its longest block
	// Exact: Touched is all that the task did to its tensor arguments; else only their declarations are known.
	Exact   bool
	Touched []Touch
}

// Trip is one loop of the orchestration and the value of its variable.
type Trip struct {
	Var   string
	Value int64
}

// Loops tells a run whose graph is kept where to find the loops that the orchestration is in; loops changes under the runtime's eyes.
func (r *Runtime) Loops(loops *[]Trip) {
	if r.graph != nil {
		r.graph.loops = loops
	}
}

// Touch is one window that a kernel read or wrote through a tensor argument.
type Touch struct {
	Arg    int16
	Write  bool
	First  bool  // a read of elements that the call had not written before, where the runner tells: of Out parameters
	Atomic bool  // part of an atomic addition
	Block  int32 // set by KernelCall.Touch
	Window Tensor
}

// Element is the element of a tensor that the orchestration read or wrote; no indices name the first one.
type Element struct {
	Tensor Tensor
	Index  []uint32
}

// NodeKind tells the nodes apart. Everything submitted after an element access comes after the access, and so after what it waited for: its Preds
// and, for a write, the earlier tasks that wait for one of those by a Held edge.
type NodeKind uint8

const (
	NodeTask NodeKind = iota
	NodeAlloc
	NodeRead
	NodeWrite
)

// Edge is one reason to wait: Node waits for the node at position From, because of argument Arg (-1 for an explicit dependency).
type Edge struct {
	From int32
	Kind EdgeKind
	Arg  int16
	// Held: an open scope keeps From until Node is submitted, so that From always learns of it. Otherwise From may be finished and gone by then: Node still
	// comes after it, but who waits for all that wait for From may not wait for Node.
	Held bool
	// OrderOnly: the edge does not keep the buffers of From alive.
	OrderOnly bool
}

// NodeOf finds the node of a task or allocation of this run, nil when the id is none.
func (r *Runtime) NodeOf(id TaskID) *Node {
	if r.graph == nil || id>>32 >= numRings || int(uint32(id)) >= len(r.rings[id>>32].nodeOf) {
		return nil
	}
	return &r.graph.Nodes[r.graph.bySeq[r.rings[id>>32].nodeOf[uint32(id)]]]
}

// Graph returns the graph of the run, nil without Config.Check.
func (r *Runtime) Graph() *Graph { return r.graph }

// edge notes that the task being submitted waits for id, once per producer.
func (g *Graph) edge(r *Runtime, id TaskID, kind EdgeKind, arg int) {
	ring := &r.rings[id>>32]
	from := g.bySeq[ring.nodeOf[uint32(id)]]
	if g.mark[from] == r.epoch {
		for i := 0; g.ordered && i < len(g.preds); i++ { // this is another reason, and it keeps them
			if g.preds[i].From == from {
				g.preds[i].OrderOnly = false
			}
		}
		return
	}
	g.mark[from] = r.epoch
	g.preds = append(g.preds, Edge{From: from, Kind: kind, Arg: int16(arg), Held: ring.held && uint32(id) >= ring.oldestHeld})
}

// orderOnly says that the edge made last is for the order only, unless there were no more than n edges: then it had another reason before.
func (g *Graph) orderOnly(n int) {
	if len(g.preds) > n {
		g.preds[n].OrderOnly, g.ordered = true, true
	}
}

func (g *Graph) add(r *Runtime, a *TaskArgs, t *task) {
	n := Node{
		Kind: NodeTask, ID: t.id, Ordinal: int(t.ordinal), Task: t.kind, Kernels: t.kernels, Blocks: t.blocks, Manual: r.inManual(),
		Args: g.args.copy(t.args), Preds: g.edges.copy(g.preds), Site: t.site,
	}
	n.Sync = a.SyncStart
	n.Early, n.DumpAll, n.Dump, n.Scalars = a.EarlyResolve, a.DumpAll, slices.Clone(a.Dump), slices.Clone(a.Scalars)
	if t.kind == KindAlloc {
		n.Kind, n.Ordinal = NodeAlloc, -1
	}
	for i := range n.Args {
		n.Args[i].Create = nil // the caller's, and its contents are in Tensor
	}
	if p := a.Pred; p != nil {
		c := *p
		c.Index = slices.Clone(p.Index)
		n.Pred = &c
	}
	g.preds, g.ordered = g.preds[:0], false
	g.bySeq = append(g.bySeq, int32(len(g.Nodes)))
	g.push(n)
}

func (g *Graph) nodeOf(t *task) *Node { return &g.Nodes[g.bySeq[t.seq]] }

func (g *Graph) push(n Node) {
	if g.loops != nil {
		n.Loops = g.trips.copy(*g.loops)
	}
	if len(g.Nodes) == cap(g.Nodes) { // nodes are big: copy them as rarely as may be
		g.Nodes = slices.Grow(g.Nodes, max(len(g.Nodes), 256))
	}
	g.Nodes = append(g.Nodes, n)
	g.mark = append(g.mark, 0)
}

// access adds an element access that waits for writers.
func (g *Graph) access(r *Runtime, t *Tensor, idx []uint32, writers []TaskID, write bool, site Site) {
	n := Node{Kind: NodeRead, ID: InvalidTask, Ordinal: -1, Access: &Element{*t, slices.Clone(idx)}, Site: site}
	if write {
		n.Kind = NodeWrite
	}
	for _, id := range writers {
		n.Preds = append(n.Preds, Edge{From: g.bySeq[r.rings[id>>32].nodeOf[uint32(id)]], Kind: EdgeOverlap, Arg: -1})
	}
	g.push(n)
}
