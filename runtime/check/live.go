package check

import "github.com/ptobuild/ptobuild/runtime/sim/interval"

// slab keeps accesses in place, in chunks: they are too big to be moved about.
type slab struct {
	chunks [][]access
	n      int32
	free   []int32
}

const slabSize = 1024

func (s *slab) at(i int32) *access { return &s.chunks[i/slabSize][i%slabSize] }

func (s *slab) add(a *access) int32 {
	var i int32
	if k := len(s.free) - 1; k >= 0 {
		i, s.free = s.free[k], s.free[:k]
	} else {
		i = s.n
		if s.n++; i%slabSize == 0 {
			s.chunks = append(s.chunks, make([]access, slabSize))
		}
	}
	*s.at(i) = *a
	return i
}

// live is a set of accesses by the bytes that they touch. Those of one range are one entry of the interval map: programs use the same windows again and
// again, and the map stays small.
type live struct {
	*slab
	ranges *interval.Map[int32] // of groups
	groups []group
	free   []int32
	index  map[[2]uint64]int32
}

type group struct {
	at      interval.Index
	members []int32 // of the slab, in submit order
}

func newLive(s *slab) *live {
	return &live{slab: s, ranges: interval.New[int32](), index: map[[2]uint64]int32{}}
}

// insert adds an access; it must touch something.
func (l *live) insert(a *access) {
	lo, hi := a.tensor.Bytes()
	key := [2]uint64{lo, hi}
	g, ok := l.index[key]
	if !ok {
		if k := len(l.free) - 1; k >= 0 {
			g, l.free = l.free[k], l.free[:k]
		} else {
			g = int32(len(l.groups))
			l.groups = append(l.groups, group{})
		}
		l.groups[g] = group{at: l.ranges.Insert(lo, hi, g), members: l.groups[g].members[:0]}
		l.index[key] = g
	}
	l.groups[g].members = append(l.groups[g].members, l.add(a))
}

// meet calls f for the accesses that share a byte of [lo, hi).
func (l *live) meet(lo, hi uint64, f func(i int32)) {
	for _, x := range l.ranges.Meet(lo, hi) {
		for _, i := range l.groups[*l.ranges.At(x)].members {
			f(i)
		}
	}
}

// drop takes out the accesses of [lo, hi) for which gone holds.
func (l *live) drop(lo, hi uint64, gone func(a *access) bool) {
	for _, x := range l.ranges.Meet(lo, hi) {
		g := *l.ranges.At(x)
		kept := l.groups[g].members[:0]
		for _, i := range l.groups[g].members {
			if gone(l.slab.at(i)) {
				l.slab.free = append(l.slab.free, i)
			} else {
				kept = append(kept, i)
			}
		}
		l.groups[g].members = kept
		if len(kept) == 0 {
			lo, hi := l.ranges.Bounds(x)
			delete(l.index, [2]uint64{lo, hi})
			l.free = append(l.free, g)
			l.ranges.Remove(x)
		}
	}
}
