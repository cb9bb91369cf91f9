package sim

import "github.com/ptobuild/ptobuild/ir"

// region is the memory that a handle touches: a byte interval and the strided box inside it. It holds no pointers, so that the overlap map is
// nothing for the garbage collector to look at.
type region struct {
	lo, hi  uint64 // bytes; lo == hi: empty
	base    uint64 // base address of the handle, where the rows of its layout start
	es      uint32 // bytes of an element
	dtype   ir.DType
	nd      uint8
	shape   [MaxDims]uint32
	strides [MaxDims]uint32
}

func (g *region) set(t *Tensor) {
	g.base, g.es, g.dtype, g.nd = t.Addr, uint32(t.DType.Bytes()), t.DType, uint8(len(t.Shape))
	g.lo, g.hi = t.Bytes()
	g.shape, g.strides = [MaxDims]uint32{}, [MaxDims]uint32{}
	copy(g.shape[:], t.Shape)
	copy(g.strides[:], t.Strides)
}

// relation is how the region of a new access stands to that of an earlier writer.
type relation uint8

const (
	disjoint relation = iota
	overlaps          // shares bytes, or cannot be shown not to
	covers            // contains every byte of the earlier one
)

// relate decides as the runtime does (spec runtime.md 2.3), but over bytes and whatever the base addresses are: byte intervals first, then
// boxes dimension by dimension when both are cut from one row-major layout, else the safe answer.
func (g *region) relate(e *region) relation {
	if g.lo >= e.hi || e.lo >= g.hi || g.lo == g.hi || e.lo == e.hi {
		return disjoint
	}
	n := int(g.nd)
	if g.dtype != e.dtype || g.nd != e.nd || n == 0 || g.strides != e.strides || g.strides[n-1] != 1 {
		return overlaps
	}
	es := int64(g.es)
	a := int64(g.lo-g.base) / es
	b := int64(e.lo - g.base)
	if b%es != 0 {
		return overlaps
	}
	b /= es
	// Coordinates of both corners in the layout that the strides imply, counted from g's base. A window that runs over the end of a row
	// of that layout is not a box of it.
	result := covers
	for k := range n {
		s := int64(g.strides[k])
		if s == 0 {
			return overlaps
		}
		ca, cb := a/s, floorDiv(b, s)
		a, b = a-ca*s, b-cb*s
		if k > 0 {
			outer := int64(g.strides[k-1])
			if outer%s != 0 || ca+int64(g.shape[k]) > outer/s || cb+int64(e.shape[k]) > outer/s {
				return overlaps
			}
		}
		switch {
		case result == disjoint: // only the checks above are left
		case ca+int64(g.shape[k]) <= cb || cb+int64(e.shape[k]) <= ca:
			result = disjoint
		case ca > cb || ca+int64(g.shape[k]) < cb+int64(e.shape[k]):
			result = overlaps
		}
	}
	return result
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
