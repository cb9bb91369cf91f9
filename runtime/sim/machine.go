package sim

import "math/bits"

// machine is the virtual hardware: the clock in nanoseconds, the cores that are idle, and what the others run.
type machine struct {
	now      uint64 // all events before it have happened
	host     uint64 // how far the orchestration has come; never behind now while it runs
	clusters int
	aic, aiv coreSet // idle cores: cluster c has aic c and aiv 2c and 2c+1
	running  eventHeap
	launched uint64 // blocks so far, to order events of one time
}

func newMachine(clusters int) machine {
	return machine{clusters: clusters, aic: newCoreSet(clusters), aiv: newCoreSet(2 * clusters)}
}

// event is the end of one lane of one block.
type event struct {
	at    uint64
	order uint64
	t     *task
	core  int32 // of its kind
	cube  bool
}

func (e *event) before(x *event) bool { return e.at < x.at || e.at == x.at && e.order < x.order }

// eventHeap holds what runs, the next to end first: as many entries as there are busy cores.
type eventHeap []event

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(&q[up]) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

func (h *eventHeap) pop() event {
	q := *h
	top, last := q[0], len(q)-1
	q[0] = q[last]
	q[last] = event{}
	q = q[:last]
	*h = q
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return top
		}
		if c+1 < last && q[c+1].before(&q[c]) {
			c++
		}
		if !q[c].before(&q[i]) {
			return top
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
}

// coreSet is a set of core numbers.
type coreSet struct {
	words []uint64
	n     int
}

func newCoreSet(n int) coreSet {
	s := coreSet{words: make([]uint64, (n+63)/64)}
	for i := range n {
		s.add(i)
	}
	return s
}

func (s *coreSet) has(i int) bool { return s.words[i/64]>>(i%64)&1 != 0 }
func (s *coreSet) add(i int)      { s.words[i/64] |= 1 << (i % 64); s.n++ }
func (s *coreSet) remove(i int)   { s.words[i/64] &^= 1 << (i % 64); s.n-- }

// first is the lowest member; -1 when there is none.
func (s *coreSet) first() int {
	for k, w := range s.words {
		if w != 0 {
			return 64*k + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// shape is the kind of core that a task needs.
type shape uint8

const (
	shapeMix shape = iota // several cores of one cluster
	shapeAIC
	shapeAIV
	numShapes
)

func shapeOf(k [3]int32) shape {
	switch {
	case k[1] < 0 && k[2] < 0:
		return shapeAIC
	case k[0] < 0 && k[2] < 0:
		return shapeAIV
	}
	return shapeMix
}

// reserve takes the cores of one block and returns the number of its first one, or of its cluster for a mixed task; -1 when they are not idle.
func (m *machine) reserve(t *task) int {
	switch shapeOf(t.kernels) {
	case shapeAIC:
		i := m.aic.first()
		if i >= 0 {
			m.aic.remove(i)
		}
		return i
	case shapeAIV:
		i := m.aiv.first()
		if i >= 0 {
			m.aiv.remove(i)
		}
		return i
	}
	for c := range m.clusters {
		if t.kernels[0] >= 0 && !m.aic.has(c) || t.kernels[1] >= 0 && !m.aiv.has(2*c) || t.kernels[2] >= 0 && !m.aiv.has(2*c+1) {
			continue
		}
		if t.kernels[0] >= 0 {
			m.aic.remove(c)
		}
		for v := range 2 {
			if t.kernels[1+v] >= 0 {
				m.aiv.remove(2*c + v)
			}
		}
		return c
	}
	return -1
}

// fits reports that all blocks of a task can start now.
func (m *machine) fits(t *task) bool {
	switch shapeOf(t.kernels) {
	case shapeAIC:
		return m.aic.n >= int(t.blocks)
	case shapeAIV:
		return m.aiv.n >= int(t.blocks)
	}
	free := 0
	for c := range m.clusters {
		if (t.kernels[0] < 0 || m.aic.has(c)) && (t.kernels[1] < 0 || m.aiv.has(2*c)) && (t.kernels[2] < 0 || m.aiv.has(2*c+1)) {
			free++
		}
	}
	return free >= int(t.blocks)
}

// free gives back the core of an event.
func (m *machine) free(e *event) {
	if e.cube {
		m.aic.add(int(e.core))
	} else {
		m.aiv.add(int(e.core))
	}
}

// coreNumber is a core as traces number it: the cube cores first, then the vector cores, cluster by cluster.
func (m *machine) coreNumber(cube bool, core int) int {
	if cube {
		return core
	}
	return m.clusters + core
}
