// Package interval is a set of half-open intervals of uint64 with a value each, for the question "which of them meet this one?": a treap ordered
// by lower end in which every node knows the highest upper end below it. Insert and Remove take O(log n), Meet O(log n) plus the number of
// answers. Nodes live in one slice and are recycled; the shape depends only on the sequence of calls.
package interval

// Index names an interval of a Map until it is removed; 0 names none.
type Index int32

// Map is a set of intervals. Equal intervals may be in it more than once. Use New.
type Map[V any] struct {
	nodes  []node
	values []V // by node, apart: a search looks at many nodes and few values
	root   Index
	free   Index // recycled nodes, chained by left
	n      int
	rng    uint32
	path   []Index
	hits   []Index
}

type node struct {
	lo, hi      uint64
	maxHi       uint64 // highest hi in this subtree
	left, right Index
	prio        uint32
}

// New returns an empty Map.
func New[V any]() *Map[V] {
	return &Map[V]{nodes: make([]node, 1, 64), values: make([]V, 1, 64), rng: 2463534242}
}

// Len is the number of intervals.
func (m *Map[V]) Len() int { return m.n }

// At is the value of an interval. The pointer is valid until the next Insert.
func (m *Map[V]) At(i Index) *V { return &m.values[i] }

// Bounds is the interval itself.
func (m *Map[V]) Bounds(i Index) (lo, hi uint64) { return m.nodes[i].lo, m.nodes[i].hi }

// Meet returns the intervals that share a point with [lo, hi), by lower end. The slice is valid until the next call.
func (m *Map[V]) Meet(lo, hi uint64) []Index {
	m.hits = m.hits[:0]
	if lo < hi {
		m.visit(m.root, lo, hi)
	}
	return m.hits
}

func (m *Map[V]) visit(i Index, lo, hi uint64) {
	for i != 0 {
		n := &m.nodes[i]
		if n.maxHi <= lo {
			return
		}
		if n.left != 0 {
			m.visit(n.left, lo, hi)
		}
		if n.lo >= hi {
			return
		}
		if n.hi > lo {
			m.hits = append(m.hits, i)
		}
		i = n.right
	}
}

// Insert adds [lo, hi), which must not be empty.
func (m *Map[V]) Insert(lo, hi uint64, v V) Index {
	i := m.free
	if i != 0 {
		m.free = m.nodes[i].left
	} else {
		m.nodes = append(m.nodes, node{})
		var none V
		m.values = append(m.values, none)
		i = Index(len(m.nodes) - 1)
	}
	m.rng ^= m.rng << 13
	m.rng ^= m.rng >> 17
	m.rng ^= m.rng << 5
	m.nodes[i] = node{lo: lo, hi: hi, maxHi: hi, prio: m.rng}
	m.values[i] = v
	m.root = m.insertAt(m.root, i)
	m.n++
	return i
}

func (m *Map[V]) less(a, b Index) bool {
	x, y := m.nodes[a].lo, m.nodes[b].lo
	return x < y || x == y && a < b
}

func (m *Map[V]) insertAt(t, i Index) Index {
	if t == 0 {
		return i
	}
	if m.nodes[i].prio > m.nodes[t].prio {
		l, r := m.split(t, i)
		m.nodes[i].left, m.nodes[i].right = l, r
		m.pull(i)
		return i
	}
	if m.less(i, t) {
		m.nodes[t].left = m.insertAt(m.nodes[t].left, i)
	} else {
		m.nodes[t].right = m.insertAt(m.nodes[t].right, i)
	}
	m.nodes[t].maxHi = max(m.nodes[t].maxHi, m.nodes[i].hi)
	return t
}

// split parts the subtree t into the nodes before i and those after it.
func (m *Map[V]) split(t, i Index) (l, r Index) {
	if t == 0 {
		return 0, 0
	}
	if m.less(t, i) {
		m.nodes[t].right, r = m.split(m.nodes[t].right, i)
		l = t
	} else {
		l, m.nodes[t].left = m.split(m.nodes[t].left, i)
		r = t
	}
	m.pull(t)
	return l, r
}

func (m *Map[V]) pull(t Index) {
	n := &m.nodes[t]
	n.maxHi = max(n.hi, m.nodes[n.left].maxHi, m.nodes[n.right].maxHi)
}

// Remove takes an interval out.
func (m *Map[V]) Remove(i Index) {
	m.path = m.path[:0]
	t := m.root
	for t != i {
		m.path = append(m.path, t)
		if m.less(i, t) {
			t = m.nodes[t].left
		} else {
			t = m.nodes[t].right
		}
	}
	joined := m.join(m.nodes[i].left, m.nodes[i].right)
	if len(m.path) == 0 {
		m.root = joined
	} else if p := &m.nodes[m.path[len(m.path)-1]]; p.left == i {
		p.left = joined
	} else {
		p.right = joined
	}
	for k := len(m.path) - 1; k >= 0; k-- {
		m.pull(m.path[k])
	}
	m.nodes[i] = node{left: m.free}
	m.free = i
	m.n--
}

func (m *Map[V]) join(l, r Index) Index {
	switch {
	case l == 0:
		return r
	case r == 0:
		return l
	case m.nodes[l].prio > m.nodes[r].prio:
		m.nodes[l].right = m.join(m.nodes[l].right, r)
		m.pull(l)
		return l
	default:
		m.nodes[r].left = m.join(l, m.nodes[r].left)
		m.pull(r)
		return r
	}
}
