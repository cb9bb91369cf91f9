package kernels

import (
	"math"
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
)

// rows walks up to three operands in step, one innermost run at a time. Runs that follow each other without a gap in all operands become
// one when merge is set; without it each run is one line along the last axis, and idx names it.
//
//	for it.next() { … it.off[k], it.n, it.in[k] … }
type rows struct {
	n   int    // elements of a run
	in  [3]int // strides inside of a run
	off [3]int // first elements of the run
	idx dims   // index of the run on the outer axes

	outer   int // outer axes, innermost first
	ext     dims
	stride  [3]dims
	axis    dims // the original axis of an outer axis
	started bool
	empty   bool
}

// start begins a walk over the extents ext.
func (it *rows) start(rank int, ext *dims, merge bool, ops ...*operand) {
	it.n, it.in, it.idx, it.outer, it.started, it.empty = 1, [3]int{}, dims{}, 0, false, false
	for k := range ops {
		it.off[k] = ops[k].off
	}
	for k := range rank {
		if ext[k] <= 0 {
			it.empty = true
			return
		}
	}
	first := true
	for a := rank - 1; a >= 0; a-- {
		n := ext[a]
		if n == 1 && (merge || !first) {
			continue
		}
		if first {
			it.n = n
			for k := range ops {
				it.in[k] = ops[k].stride[a]
			}
			first = false
			continue
		}
		if merge && it.mergeable(a, n, ops) {
			continue
		}
		o := it.outer
		it.ext[o], it.axis[o] = n, a
		for k := range ops {
			it.stride[k][o] = ops[k].stride[a]
		}
		it.outer++
	}
}

// mergeable extends the run (or the last outer axis) by axis a when all operands go on without a gap.
func (it *rows) mergeable(a, n int, ops []*operand) bool {
	o := it.outer - 1
	for k := range ops {
		inner, ext := it.in[k], it.n
		if o >= 0 {
			inner, ext = it.stride[k][o], it.ext[o]
		}
		if ops[k].stride[a] != inner*ext {
			return false
		}
	}
	if o >= 0 {
		it.ext[o] *= n
	} else {
		it.n *= n
	}
	return true
}

// next goes to the next run.
func (it *rows) next() bool {
	if !it.started {
		it.started = true
		return !it.empty
	}
	for o := range it.outer {
		a := it.axis[o]
		it.idx[a]++
		if it.idx[a] < it.ext[o] {
			it.off[0] += it.stride[0][o]
			it.off[1] += it.stride[1][o]
			it.off[2] += it.stride[2][o]
			return true
		}
		back := it.ext[o] - 1
		it.idx[a] = 0
		it.off[0] -= it.stride[0][o] * back
		it.off[1] -= it.stride[1][o] * back
		it.off[2] -= it.stride[2][o] * back
	}
	return false
}

// The only places that touch elements of global memory are below: fetch and put of a run. They report to touch, so that accesses can be
// recorded.

// typed is a run of global memory as elements of T; the caller has checked that it is inside.
func typed[T any](mem []byte, off, n int) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	b := mem[off*size : (off+n)*size]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// span is the extent of a strided run of n elements in memory.
func span(n, stride int) int {
	if n == 0 {
		return 0
	}
	return (n-1)*stride + 1
}

// grow returns a buffer of n elements.
func grow[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, max(n, 2*cap(*buf)))
	}
	*buf = (*buf)[:n]
	return *buf
}

// fetchF reads n elements as float64: local ones in place where they lie side by side, others through buf.
func (m *machine) fetchF(r *region, off, n, stride int, buf *[]float64) []float64 {
	if r.st != nil && stride == 1 && r.st.f != nil {
		return r.st.f[off : off+n]
	}
	d := grow(buf, n)
	switch {
	case r.st != nil && r.st.f != nil:
		src := r.st.f
		for j := range d {
			d[j] = src[off]
			off += stride
		}
	case r.st != nil:
		src := r.st.i
		for j := range d {
			d[j] = m.intToFloat(src[off], r.dt, ir.FP32)
			off += stride
		}
	default:
		m.reads(r, off, n, stride)
		switch r.dt {
		case ir.FP32:
			src := typed[float32](r.mem, off, span(n, stride))
			if stride == 1 {
				for j, v := range src {
					d[j] = float64(v)
				}
				break
			}
			for j := range d {
				d[j] = float64(src[j*stride])
			}
		case ir.FP16:
			src := typed[uint16](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = float64(float16.FromHalf(src[j*stride]))
			}
		case ir.BF16:
			src := typed[uint16](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = float64(float16.FromBF16(src[j*stride]))
			}
		case ir.FP64:
			src := typed[float64](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = src[j*stride]
			}
		case ir.FP8E4M3FN, ir.FP8E5M2, ir.FP8E8M0, ir.HF8:
			src := typed[uint8](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = decode(uint32(src[j*stride]), r.dt)
			}
		case ir.FP4:
			for j := range d {
				d[j] = decode(nibble(r.mem, off+j*stride), r.dt)
			}
		default:
			for j := range d {
				d[j] = m.intToFloat(globalInt(r, off+j*stride), r.dt, ir.FP32)
			}
		}
		if m.double {
			m.shadow.refine(r, off, n, stride, d)
		}
	}
	return d
}

// fetchI reads n elements as int64; floats are truncated.
func (m *machine) fetchI(r *region, off, n, stride int, buf *[]int64) []int64 {
	if r.st != nil && stride == 1 && r.st.i != nil {
		return r.st.i[off : off+n]
	}
	d := grow(buf, n)
	switch {
	case r.st != nil && r.st.i != nil:
		src := r.st.i
		for j := range d {
			d[j] = src[off]
			off += stride
		}
	case r.st != nil:
		src := r.st.f
		for j := range d {
			d[j] = saturate(math.Trunc(src[off]), ir.INT64)
			off += stride
		}
	case isFloat(r.dt):
		f := m.fetchF(r, off, n, stride, &m.convF)
		for j := range d {
			d[j] = saturate(math.Trunc(f[j]), ir.INT64)
		}
	default:
		m.reads(r, off, n, stride)
		switch r.dt {
		case ir.INT32:
			src := typed[int32](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = int64(src[j*stride])
			}
		case ir.INT8:
			src := typed[int8](r.mem, off, span(n, stride))
			for j := range d {
				d[j] = int64(src[j*stride])
			}
		default:
			for j := range d {
				d[j] = globalInt(r, off+j*stride)
			}
		}
	}
	return d
}

// globalInt reads one integer element of global memory.
func globalInt(r *region, off int) int64 {
	switch r.dt {
	case ir.BOOL, ir.UINT8:
		return int64(r.mem[off])
	case ir.INT8:
		return int64(int8(r.mem[off]))
	case ir.INT16:
		return int64(typed[int16](r.mem, off, 1)[0])
	case ir.UINT16:
		return int64(typed[uint16](r.mem, off, 1)[0])
	case ir.INT32:
		return int64(typed[int32](r.mem, off, 1)[0])
	case ir.UINT32:
		return int64(typed[uint32](r.mem, off, 1)[0])
	case ir.INT4, ir.UINT4:
		return wrap(int64(nibble(r.mem, off)), r.dt)
	}
	return typed[int64](r.mem, off, 1)[0]
}

// putF writes a run of floats, rounded to the region's dtype.
func (m *machine) putF(r *region, off, stride int, x []float64) {
	n := len(x)
	switch {
	case r.st != nil && r.st.f != nil:
		d := r.st.f
		r.st.mark(off, n, stride)
		if stride == 1 {
			d = d[off : off+n]
			copy(d, x)
			m.roundRow(d, r.dt)
			return
		}
		for _, v := range x {
			d[off] = m.round(v, r.dt)
			off += stride
		}
	case r.st != nil:
		r.st.mark(off, n, stride)
		for _, v := range x {
			r.st.i[off] = saturate(math.Trunc(v), r.dt)
			off += stride
		}
	default:
		m.touched(r, off, n, stride, true)
		switch r.dt {
		case ir.FP32:
			d := typed[float32](r.mem, off, span(n, stride))
			if stride == 1 {
				for j, v := range x {
					d[j] = float32(v)
				}
				break
			}
			for j, v := range x {
				d[j*stride] = float32(v)
			}
		case ir.FP16:
			d := typed[uint16](r.mem, off, span(n, stride))
			for j, v := range x {
				d[j*stride] = float16.ToHalf(float32(v))
			}
		case ir.BF16:
			d := typed[uint16](r.mem, off, span(n, stride))
			for j, v := range x {
				d[j*stride] = float16.ToBF16(float32(v))
			}
		case ir.FP64:
			d := typed[float64](r.mem, off, span(n, stride))
			for j, v := range x {
				d[j*stride] = v
			}
		case ir.FP8E4M3FN, ir.FP8E5M2, ir.FP8E8M0, ir.HF8:
			d := typed[uint8](r.mem, off, span(n, stride))
			for j, v := range x {
				d[j*stride] = uint8(code(v, r.dt))
			}
		case ir.FP4:
			for j, v := range x {
				putNibble(r.mem, off+j*stride, code(v, r.dt))
			}
		default:
			for j, v := range x {
				putGlobalInt(r, off+j*stride, saturate(math.Trunc(v), r.dt))
			}
		}
		if m.double {
			m.shadow.keep(r, off, stride, x)
		}
	}
}

// Elements of four bits lie two in a byte, the first in the low half.
func nibble(mem []byte, i int) uint32 { return uint32(mem[i>>1]>>(i&1*4)) & 15 }

func putNibble(mem []byte, i int, v uint32) {
	at, shift := i>>1, i&1*4
	mem[at] = mem[at]&^(15<<shift) | byte(v&15)<<shift
}

// putI writes a run of integers, wrapped to the region's dtype.
func (m *machine) putI(r *region, off, stride int, x []int64) {
	n := len(x)
	switch {
	case r.st != nil && r.st.i != nil:
		d := r.st.i
		r.st.mark(off, n, stride)
		for _, v := range x {
			d[off] = wrap(v, r.dt)
			off += stride
		}
	case r.st != nil:
		r.st.mark(off, n, stride)
		for _, v := range x {
			r.st.f[off] = m.nearest(float64(v), r.dt)
			off += stride
		}
	case isFloat(r.dt):
		f := grow(&m.convF, n)
		for j, v := range x {
			f[j] = m.nearest(float64(v), r.dt)
		}
		m.putF(r, off, stride, f)
	default:
		m.touched(r, off, n, stride, true)
		if r.dt == ir.INT32 {
			d := typed[int32](r.mem, off, span(n, stride))
			for j, v := range x {
				d[j*stride] = int32(v)
			}
			return
		}
		for j, v := range x {
			putGlobalInt(r, off+j*stride, v)
		}
	}
}

func putGlobalInt(r *region, off int, v int64) {
	switch r.dt {
	case ir.BOOL:
		r.mem[off] = byte(wrap(v, ir.BOOL))
	case ir.UINT8, ir.INT8:
		r.mem[off] = byte(v)
	case ir.INT16, ir.UINT16:
		typed[int16](r.mem, off, 1)[0] = int16(v)
	case ir.INT32, ir.UINT32:
		typed[int32](r.mem, off, 1)[0] = int32(v)
	case ir.INT4, ir.UINT4:
		putNibble(r.mem, off, uint32(v))
	default:
		typed[int64](r.mem, off, 1)[0] = v
	}
}

// copyRegion writes the valid region of src to dst, whose extents are at least as large, converting elements. Both have the same rank.
func (m *machine) copyRegion(dst, src *region) {
	var it rows
	it.start(src.rank, &src.valid, true, &dst.operand, &src.operand)
	if isFloat(dst.dt) {
		for it.next() {
			m.putF(dst, it.off[0], it.in[0], m.fetchF(src, it.off[1], it.n, it.in[1], &m.f[0]))
		}
		return
	}
	for it.next() {
		m.putI(dst, it.off[0], it.in[0], m.fetchI(src, it.off[1], it.n, it.in[1], &m.i[0]))
	}
}

// elemF and elemI read one element; setF and setI write one.
func (m *machine) elemF(r *region, off int) float64 {
	return m.fetchF(r, off, 1, 1, &m.one)[0]
}

func (m *machine) elemI(r *region, off int) int64 {
	return m.fetchI(r, off, 1, 1, &m.oneI)[0]
}

func (m *machine) setF(r *region, off int, v float64) {
	m.oneOut[0] = v
	m.putF(r, off, 1, m.oneOut[:])
}

func (m *machine) setI(r *region, off int, v int64) {
	m.oneOutI[0] = v
	m.putI(r, off, 1, m.oneOutI[:])
}

// touched reports an access to a tensor argument to whoever records them.
func (m *machine) touched(r *region, off, n, stride int, write bool) {
	m.work.Bytes += uint64(n * r.dt.Bytes())
	if m.touch != nil {
		if r.dt.Bits() == 4 { // the runtime counts bytes
			off, n, stride = off/2, (off+span(n, stride)+1)/2-off/2, 1
		}
		m.touch(r.arg, off, n, stride, write)
	}
}
