package sim

import "math/rand/v2"

// fifo is a queue of tasks.
type fifo struct {
	q    []*task
	head int
}

func (q *fifo) len() int     { return len(q.q) - q.head }
func (q *fifo) push(t *task) { q.q = append(q.q, t) }

// first is the next task, nil when there is none.
func (q *fifo) first() *task {
	if q.head == len(q.q) {
		return nil
	}
	return q.q[q.head]
}

func (q *fifo) pop() *task {
	t := q.first()
	if t == nil {
		return nil
	}
	q.q[q.head] = nil
	q.head++
	if q.head == len(q.q) {
		q.q, q.head = q.q[:0], 0
	} else if q.head > 4096 && q.head > len(q.q)/2 {
		q.q = q.q[:copy(q.q, q.q[q.head:])]
		q.head = 0
	}
	return t
}

// readyQueue holds the ready tasks of a policy that runs one task at a time.
type readyQueue struct {
	policy Policy
	rng    *rand.Rand
	late   uint64 // the ordinal that Late holds back
	fifo
}

func (q *readyQueue) push(t *task) {
	q.fifo.push(t)
	if q.policy != Newest {
		return
	}
	for i := len(q.q) - 1; i > 0; { // a heap: the newest task is its root
		up := (i - 1) / 2
		if q.q[up].seq > q.q[i].seq {
			break
		}
		q.q[up], q.q[i] = q.q[i], q.q[up]
		i = up
	}
}

func (q *readyQueue) pop() *task {
	if q.len() == 0 {
		return nil
	}
	last := len(q.q) - 1
	switch q.policy {
	case LIFO:
		t := q.q[last]
		q.q = q.q[:last]
		return t
	case Random:
		i := q.rng.IntN(len(q.q))
		t := q.q[i]
		q.q[i] = q.q[last]
		q.q = q.q[:last]
		return t
	case Newest:
		t := q.q[0]
		q.q[0] = q.q[last]
		q.q = q.q[:last]
		q.sink()
		return t
	}
	if q.policy == Late && uint64(q.q[q.head].ordinal) == q.late && q.len() > 1 {
		q.q[q.head], q.q[q.head+1] = q.q[q.head+1], q.q[q.head]
	}
	return q.fifo.pop()
}

func (q *readyQueue) sink() {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(q.q) {
			return
		}
		if c+1 < len(q.q) && q.q[c+1].seq > q.q[c].seq {
			c++
		}
		if q.q[i].seq > q.q[c].seq {
			return
		}
		q.q[i], q.q[c] = q.q[c], q.q[i]
		i = c
	}
}

// arrivals are tasks that will be ready at a later virtual time: those that wait for nothing but were submitted then come in order and go through a
// queue, the others through a heap.
type arrivals struct {
	inOrder fifo
	latest  uint64 // readyAt of the last task in inOrder
	heap    []*task
}

func (a *arrivals) push(t *task) {
	if a.inOrder.len() == 0 || t.readyAt >= a.latest {
		a.latest = t.readyAt
		a.inOrder.push(t)
		return
	}
	a.heap = append(a.heap, t)
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !sooner(a.heap[i], a.heap[up]) {
			break
		}
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

func sooner(a, b *task) bool { return a.readyAt < b.readyAt || a.readyAt == b.readyAt && a.seq < b.seq }

// next is the task that is ready first, nil when there is none.
func (a *arrivals) next() *task {
	t := a.inOrder.first()
	if len(a.heap) > 0 && (t == nil || sooner(a.heap[0], t)) {
		return a.heap[0]
	}
	return t
}

// drop removes the task that next returned.
func (a *arrivals) drop(t *task) {
	if a.inOrder.first() == t {
		a.inOrder.pop()
		return
	}
	last := len(a.heap) - 1
	a.heap[0] = a.heap[last]
	a.heap[last] = nil
	a.heap = a.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return
		}
		if c+1 < last && sooner(a.heap[c+1], a.heap[c]) {
			c++
		}
		if !sooner(a.heap[c], a.heap[i]) {
			return
		}
		a.heap[i], a.heap[c] = a.heap[c], a.heap[i]
		i = c
	}
}
