package sim

// Stats counts what a run did. Times are virtual nanoseconds.
type Stats struct {
	Tasks, Allocs, Skipped int
	Reads, Writes          int    // element accesses of the orchestration
	Edges                  [3]int // distinct producers by EdgeKind
	MaxDepth               int    // deepest scope
	MaxScopeTasks          int    // most tasks in one scope, without those of scopes inside it
	PeakMap                int    // most live writers in the overlap map
	Rings                  [numRings]RingStats
	Makespan               uint64 // when the last task finished
	Orchestration          uint64 // when the orchestration ended
	CriticalPath           uint64 // length of the longest dependency chain: the makespan on endlessly many cores, with an orchestration that takes no time
	BusyAIC, BusyAIV       uint64 // how long cores of the two kinds worked, in sum
	Slots                  [MaxTimingSlot + 1]Span
}

// Span is from the first start to the last finish of the tasks of a timing slot.
type Span struct {
	Tasks         int
	Start, Finish uint64
}

// RingStats are the peaks of one ring. Under the Sequential policy, where tasks finish as early as they can, they are the smallest limits with
// which the program runs at all; under the others they say with which limits it never waits.
type RingStats struct {
	Tasks int
	Heap  uint64
	Deps  int
	// ScopeTasks is the most tasks of one scope, without those of scopes inside it; a window must be bigger.
	ScopeTasks int
	// Where the peaks were reached: the scopes that were open then.
	TasksAt, HeapAt, DepsAt, ScopeTasksAt Site
}

// Stats returns the counts so far.
func (r *Runtime) Stats() Stats {
	s := r.stats
	s.Orchestration = r.machine.host
	return s
}

func (s *Stats) ring(id TaskID) *RingStats { return &s.Rings[id>>32] }

func (p *RingStats) peaks(g *ring, scope Site) {
	if n := int(g.head - g.tail); n > p.Tasks {
		p.Tasks, p.TasksAt = n, scope
	}
	if n := g.heapHead - g.heapTail; n > p.Heap {
		p.Heap, p.HeapAt = n, scope
	}
}

// finished takes note of a task that has ended.
func (s *Stats) finished(t *task, skipped bool) {
	s.Makespan = max(s.Makespan, t.finish)
	if t.slot < 0 || skipped || t.kind == KindDummy {
		return
	}
	x := &s.Slots[t.slot]
	if x.Tasks++; x.Tasks == 1 {
		x.Start = t.start
	}
	x.Start, x.Finish = min(x.Start, t.start), max(x.Finish, t.finish)
}
