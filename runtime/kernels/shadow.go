package kernels

import (
	"unsafe"

	"github.com/ptobuild/ptobuild/ir"
)

// Shadow holds what floating elements of global memory would be in double precision. The memory itself holds the same values rounded to its
// dtype; where it does not, something else has written it (the orchestration, an initial value), and the memory is right.
type Shadow struct {
	pages map[uintptr]*[shadowPage]float64 // one value for each byte at which an element may start
}

const shadowPage = 4096

// NewShadow makes a shadow that knows of nothing yet.
func NewShadow() *Shadow { return &Shadow{pages: map[uintptr]*[shadowPage]float64{}} }

// slot is where the value of the element at an address is kept; nil when nothing near it is, and make is not set.
func (s *Shadow) slot(addr uintptr, make bool) *float64 {
	p := s.pages[addr/shadowPage]
	if p == nil {
		if !make {
			return nil
		}
		p = new([shadowPage]float64)
		s.pages[addr/shadowPage] = p
	}
	return &p[addr%shadowPage]
}

// Value is the double-precision value of an element whose bytes are b.
func (s *Shadow) Value(d ir.DType, b []byte) float64 {
	v := Load(d, b)
	if x := s.slot(uintptr(unsafe.Pointer(&b[0])), false); x != nil && d.IsFloat() && d.Bits() >= 8 && nearest(*x, d) == v {
		return *x
	}
	return v
}

// refine replaces values read from memory by those that they were rounded from.
func (s *Shadow) refine(r *region, off, n, stride int, d []float64) {
	if s == nil || n == 0 || r.dt.Bits() < 8 {
		return
	}
	base, size := uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))), uintptr(r.dt.Bytes())
	for j := range d[:n] {
		if x := s.slot(base+uintptr(off+j*stride)*size, false); x != nil && nearest(*x, r.dt) == d[j] {
			d[j] = *x
		}
	}
}

// keep notes what is written to memory.
func (s *Shadow) keep(r *region, off, stride int, x []float64) {
	if s == nil || r.dt.Bits() < 8 {
		return
	}
	base, size := uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))), uintptr(r.dt.Bytes())
	for j, v := range x {
		*s.slot(base+uintptr(off+j*stride)*size, true) = v
	}
}
