package sim

import "slices"

// Overlap reports whether two handles share a byte. Unlike the runtime's own test it is exact for any strides: it looks for an element of each that
// meet. Should the search take too long, which takes contrived strides, the answer is yes.
func Overlap(a, b *Tensor) bool {
	alo, ahi := a.Bytes()
	blo, bhi := b.Bytes()
	if alo == ahi || blo == bhi || alo >= bhi || blo >= ahi {
		return false
	}
	var g, e region
	g.set(a)
	e.set(b)
	return g.meets(&e)
}

// meets is Overlap for regions whose byte intervals meet.
func (g *region) meets(e *region) bool {
	// Elements at alo + Σ i·s and blo + Σ j·s meet when their distance d = (alo - blo) + Σ i·s - Σ j·s is in (-size of a, size of b).
	ea, eb := int64(g.es), int64(e.es)
	q := search{lo: -(ea - 1), hi: eb - 1, budget: 1 << 16}
	q.add(g, ea)
	q.add(e, -eb)
	slices.SortFunc(q.terms[:q.n], func(x, y term) int { return int(abs(y.c) - abs(x.c)) })
	return q.reach(0, int64(g.lo-e.lo))
}

// term is c·x with 0 ≤ x < n.
type term struct{ c, n int64 }

// search asks whether a sum of terms can fall into [lo, hi].
type search struct {
	terms  [2 * MaxDims]term
	n      int
	lo, hi int64
	budget int
}

func (q *search) add(g *region, size int64) {
	for i, s := range g.shape[:g.nd] {
		if s > 1 {
			q.terms[q.n] = term{size * int64(g.strides[i]), int64(s)}
			q.n++
		}
	}
}

func (q *search) reach(k int, sum int64) bool {
	if q.budget--; q.budget < 0 {
		return true
	}
	if k == q.n {
		return sum >= q.lo && sum <= q.hi
	}
	var least, most int64 // what the terms after k can add
	for _, t := range q.terms[k+1 : q.n] {
		if t.c < 0 {
			least += t.c * (t.n - 1)
		} else {
			most += t.c * (t.n - 1)
		}
	}
	c := q.terms[k].c
	if c == 0 { // a stride of 0 moves nothing
		return q.reach(k+1, sum)
	}
	// sum + c·x must be in [lo - most, hi - least].
	from, to := q.lo-most-sum, q.hi-least-sum
	if c < 0 {
		from, to, c = -to, -from, -c
	}
	first, last := max(ceilDiv(from, c), 0), min(floorDiv(to, c), q.terms[k].n-1)
	for x := first; x <= last; x++ {
		if q.reach(k+1, sum+q.terms[k].c*x) {
			return true
		}
	}
	return false
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

func abs(x int64) int64 { return max(x, -x) }

// Covers reports that a contains every byte of b, as far as boxes of one layout and packed windows tell.
func Covers(a, b *Tensor) bool {
	var g, e region
	g.set(a)
	e.set(b)
	if a.IsContiguous() && g.lo <= e.lo && e.hi <= g.hi {
		return true
	}
	return g.relate(&e) == covers
}
