package sim

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim/interval"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// task is a slot of a ring. Slots are reused in place, with the capacity of their slices, so a submit makes no garbage of its own.
type task struct {
	id      TaskID
	ordinal int32 // in submit order, allocations excluded
	node    int32 // position in the graph record
	pending int32 // producers that have not finished
	refs    int32 // consumers that have not finished, + 1 while the scope it was submitted in is open
	mark    uint32
	fanout  edgeIndex      // consumers to tell when it finishes
	entries interval.Index // its regions in the overlap map
	kind    TaskKind
	done    bool
	inScope bool // its scope is open
	sync    bool
	pred    predicate
	operand int32 // what it read, in Runtime.operands; counted from 1

	heapStart, heapEnd uint64 // its part of the ring's heap, as cumulative byte counts
	submitted          uint64 // virtual times
	readyAt, start     uint64
	finish, readBy     uint64 // readBy: when its last consumer so far finished
	depth              uint64 // virtual length of the longest chain that ends here

	times     []uint64      // ns, lane by lane of block by block; set when its kernels run
	ran       []trace.Block // for the trace
	placed    int32         // blocks that have got cores
	running   int32         // lanes that run
	slot      int8          // timing slot, -1: none
	blocks    int32
	kernels   [3]int32
	seq       uint64 // submit order, allocations included
	args      []Arg
	scalars   []Scalar
	producers []*task
	site      Site

	// Room for what most tasks have in these lists, so that the first round through a ring does not allocate each.
	oneTime [1]uint64
	oneRan  [1]trace.Block
	few     [2]*task
}

// reset empties a slot for its next task but keeps the capacity of its lists. The mark stays: it is compared with a number that only grows.
func (t *task) reset() {
	t.ordinal, t.node, t.pending, t.fanout, t.entries = 0, -1, 0, 0, 0
	t.done, t.pred.on, t.operand = false, false, 0
	t.readyAt, t.start, t.finish, t.readBy, t.depth = 0, 0, 0, 0, 0
	t.placed, t.running = 0, 0
	t.times, t.ran, t.args, t.scalars, t.producers = t.times[:0], t.ran[:0], t.args[:0], t.scalars[:0], t.producers[:0]
}

// lanes is how many kernels a block of the task runs.
func (t *task) lanes() int {
	n := 0
	for _, id := range t.kernels {
		if id >= 0 {
			n++
		}
	}
	return n
}

// predicate is a dispatch predicate resolved to an address.
type predicate struct {
	on     bool
	dtype  ir.DType
	op     ir.BinOp
	addr   uint64
	target int64
}

type edgeIndex int32 // 0: none

// edge is one entry of a producer's list of waiting consumers.
type edge struct {
	consumer *task
	next     edgeIndex
}

type edgePool struct {
	edges []edge
	free  edgeIndex
}

func (p *edgePool) add(consumer *task, next edgeIndex) edgeIndex {
	i := p.free
	if i != 0 {
		p.free = p.edges[i].next
	} else {
		p.edges = append(p.edges, edge{})
		i = edgeIndex(len(p.edges) - 1)
	}
	p.edges[i] = edge{consumer, next}
	return i
}

func (p *edgePool) drop(i edgeIndex) {
	p.edges[i] = edge{next: p.free}
	p.free = i
}

const chunkSize = 64 // slots are made in chunks of this many, so a small run touches little memory

// numRings is how many rings there are; the task's scope depth picks one.
const numRings = 4

// ring is one task window with its heap. Tasks are numbered from 0; [tail, head) are in the window. Slots and heap are given back strictly
// in submit order.
type ring struct {
	chunks     [][]task
	mask       uint32
	head, tail uint32

	base               uint64 // address of the heap, 0 before the first use
	size               uint64
	heapHead, heapTail uint64 // cumulative bytes handed out and given back
	virgin             uint64 // heap offset from which memory was never handed out
	depPool            int
	deps               int    // dependency entries of the tasks in the window
	allDeps            uint64 // ever taken
	nodeOf             []int32
	held               bool   // a scope is open that holds a task of this ring
	oldestHeld         uint32 // the oldest such task
}

func (g *ring) slot(local uint32) *task {
	i := local & g.mask
	c := i / chunkSize
	for uint32(len(g.chunks)) <= c {
		g.chunks = append(g.chunks, nil)
	}
	if g.chunks[c] == nil {
		g.chunks[c] = make([]task, chunkSize)
		for k := range g.chunks[c] {
			t := &g.chunks[c][k]
			t.times, t.ran, t.producers = t.oneTime[:0], t.oneRan[:0], t.few[:0]
		}
	}
	return &g.chunks[c][i%chunkSize]
}

func (g *ring) oldest() *task { return g.slot(g.tail) }

// reserve finds n contiguous heap bytes. ok is false when they are not free now.
func (g *ring) reserve(n uint64) (start uint64, ok bool) {
	if g.head == g.tail { // empty: start over, or a request of the whole heap could never be met
		g.heapHead = (g.heapHead + g.size - 1) / g.size * g.size
		g.heapTail = g.heapHead
	}
	start = g.heapHead
	if at := start % g.size; at+n > g.size {
		start += g.size - at
	}
	return start, start+n-g.heapTail <= g.size
}

// arena hands out small slices from big blocks: shapes and result lists live as long as somebody holds them, at one allocation per block.
type arena[T any] struct{ block []T }

func (a *arena[T]) take(n int) []T {
	if len(a.block) < n {
		a.block = make([]T, max(n, 1024))
	}
	s := a.block[:n:n]
	a.block = a.block[n:]
	return s
}

// copy keeps a copy of v.
func (a *arena[T]) copy(v []T) []T {
	s := a.take(len(v))
	copy(s, v)
	return s
}
