package kernels

import (
	"math/bits"

	"github.com/ptobuild/ptobuild/ir"
)

// maxRank bounds the axes of a value: tensors of the runtime have five, tiles one more for reshapes.
const maxRank = 6

type dims [maxRank]int

// operand is how a loop nest steps through a region, in elements.
type operand struct {
	off    int
	stride dims
}

// region is a strided window: of global memory (a tensor argument), or of local storage (a tile, or a tensor made in the kernel).
type region struct {
	st   *store // local storage, nil for global memory
	mem  []byte // the whole buffer of a global tensor
	arg  int    // its argument position
	dt   ir.DType
	rank int
	operand
	shape dims
	valid dims // ops read and write only this part
}

// store holds local elements: float64 for floating dtypes, int64 for the rest. Stores are counted and go back to the pool with their last region.
type store struct {
	f    []float64
	i    []int64
	refs int

	// Which elements were ever written: all, none, a box (the first boxValid of boxShape, packed from element 0), or those with their bit set.
	def      definedness
	boxRank  int
	boxShape dims
	boxValid dims
	bits     []uint64
	unset    int // bits not set
}

type definedness uint8

const (
	defNone definedness = iota
	defAll
	defBox
	defBits
)

func isFloat(d ir.DType) bool { return d.IsFloat() }

// size is the number of elements.
func (s *store) size() int { return max(len(s.f), len(s.i)) }

// elems is the number of elements of the shape.
func (r *region) elems() int { return product(r.rank, &r.shape) }

func product(rank int, d *dims) int {
	n := 1
	for _, x := range d[:rank] {
		n *= x
	}
	return n
}

// pack sets row-major strides. It returns the number of elements.
func (r *region) pack() int {
	n := 1
	for k := r.rank - 1; k >= 0; k-- {
		r.stride[k] = n
		n *= r.shape[k]
	}
	return n
}

// isPacked reports row-major strides without gaps.
func (r *region) isPacked() bool {
	n := 1
	for k := r.rank - 1; k >= 0; k-- {
		if r.shape[k] != 1 && r.stride[k] != n {
			return false
		}
		n *= r.shape[k]
	}
	return true
}

// isWhole reports that all elements are valid.
func (r *region) isWhole() bool { return r.valid == r.shape || sameFront(r.rank, &r.valid, &r.shape) }

func sameFront(rank int, a, b *dims) bool {
	for k := range rank {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// last is extent or stride k counted from the last axis, d beyond the first.
func last(v *dims, rank, k, d int) int {
	if k >= rank {
		return d
	}
	return v[rank-1-k]
}

// dropAxis removes an axis of extent 1.
func (r *region) dropAxis(k int) {
	copy(r.shape[k:], r.shape[k+1:r.rank])
	copy(r.stride[k:], r.stride[k+1:r.rank])
	copy(r.valid[k:], r.valid[k+1:r.rank])
	r.rank--
}

// pool keeps free stores by the power of two of their capacity.
type pool struct{ f, i [40][]*store }

// get returns a store of n elements with unspecified contents, none of them defined.
func (p *pool) get(n int, float bool) *store {
	c := bits.Len(uint(max(n, 1) - 1))
	list := &p.i[c]
	if float {
		list = &p.f[c]
	}
	var s *store
	if k := len(*list) - 1; k >= 0 {
		s = (*list)[k]
		*list = (*list)[:k]
	} else {
		s = &store{}
		if float {
			s.f = make([]float64, 1<<c)
		} else {
			s.i = make([]int64, 1<<c)
		}
	}
	if float {
		s.f = s.f[:n]
	} else {
		s.i = s.i[:n]
	}
	s.refs, s.def = 0, defNone
	return s
}

func (p *pool) put(s *store) {
	if s.i == nil {
		c := bits.Len(uint(cap(s.f) - 1))
		p.f[c] = append(p.f[c], s)
		return
	}
	c := bits.Len(uint(cap(s.i) - 1))
	p.i[c] = append(p.i[c], s)
}

// define marks what a fresh, packed result wrote: its valid region.
func (s *store) define(r *region) {
	if r.isWhole() {
		s.def = defAll
		return
	}
	s.def, s.boxRank, s.boxShape, s.boxValid = defBox, r.rank, r.shape, r.valid
}

// toBits turns none or a box into single bits.
func (s *store) toBits() {
	if s.def == defBits {
		return
	}
	n := s.size()
	words := (n + 63) / 64
	if cap(s.bits) < words {
		s.bits = make([]uint64, words)
	}
	s.bits = s.bits[:words]
	clear(s.bits)
	s.unset = n
	box := s.def == defBox
	s.def = defBits
	if !box {
		return
	}
	r := region{st: s, rank: s.boxRank, shape: s.boxShape, valid: s.boxValid}
	r.pack()
	var it rows
	it.start(r.rank, &r.valid, true, &r.operand)
	for it.next() {
		s.setBits(it.off[0], it.n, it.in[0])
	}
}

func (s *store) setBits(off, n, stride int) {
	for range n {
		w, b := off>>6, uint64(1)<<(off&63)
		if s.bits[w]&b == 0 {
			s.bits[w] |= b
			s.unset--
		}
		off += stride
	}
	if s.unset == 0 {
		s.def = defAll
	}
}

// mark records that n elements were written.
func (s *store) mark(off, n, stride int) {
	if s.def == defAll {
		return
	}
	s.toBits()
	s.setBits(off, n, stride)
}

// undefined finds an element of the valid region of r that was never written: its index, or false.
func (r *region) undefined() (dims, bool) {
	s := r.st
	if s == nil || s.def == defAll || product(r.rank, &r.valid) == 0 {
		return dims{}, false
	}
	if s.def == defBox && r.off == 0 && r.rank == s.boxRank && sameFront(r.rank, &r.shape, &s.boxShape) && r.isPacked() {
		inside := true
		for k := range r.rank {
			inside = inside && r.valid[k] <= s.boxValid[k]
		}
		if inside {
			return dims{}, false
		}
	}
	s.toBits()
	if s.def == defAll {
		return dims{}, false
	}
	var it rows
	it.start(r.rank, &r.valid, false, &r.operand)
	for it.next() {
		off := it.off[0]
		for j := range it.n {
			if s.bits[off>>6]>>(off&63)&1 == 0 {
				at := it.idx
				at[r.rank-1] = j
				return at, true
			}
			off += it.in[0]
		}
	}
	return dims{}, false
}
