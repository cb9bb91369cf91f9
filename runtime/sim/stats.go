package sim

// Stats counts what a run did. Times are virtual: one block of a kernel takes 1.
type Stats struct {
	Tasks, Allocs, Skipped int
	Edges                  [3]int // distinct producers by EdgeKind
	MaxDepth               int    // deepest scope
	MaxScopeTasks          int    // most tasks in one scope, without those of scopes inside it
	PeakMap                int    // most live writers in the overlap map
	Rings                  [numRings]RingStats
	Makespan               uint64 // when the last kernel finished
	CriticalPath           uint64 // length of the longest dependency chain
}

// RingStats are the peaks of one ring. Under the Sequential policy, where tasks finish as early as they can, they are the smallest limits with
// which the program runs at all; under the others they say with which limits it never waits.
type RingStats struct {
	Tasks int
	Heap  uint64
	Deps  int
}

// Stats returns the counts so far.
func (r *Runtime) Stats() Stats { return r.stats }

func (s *Stats) ring(id TaskID) *RingStats { return &s.Rings[id>>32] }

func (p *RingStats) peaks(g *ring) {
	p.Tasks = max(p.Tasks, int(g.head-g.tail))
	p.Heap = max(p.Heap, g.heapHead-g.heapTail)
}
