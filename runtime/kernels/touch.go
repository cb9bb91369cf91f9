package kernels

import (
	"slices"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// What a call touches of its tensor arguments. Ops report runs of elements; a load of a tile is one run per row. The runs are put together to strided
// boxes on the way, so that a tile is one window, and a loop over tiles often is one too.

// box is a strided box of elements of a tensor argument. Dimension 0 is the innermost one; offsets and strides count elements from the buffer's
// start.
type box struct {
	arg    int
	write  bool
	first  bool // a read of elements of an Out parameter that the call had not written before
	atomic bool // part of an atomic addition
	rank   int
	off    int
	n      [sim.MaxDims]int
	stride [sim.MaxDims]int
}

// boxes are the boxes of a call. Those at the end may still grow.
type boxes struct {
	list   []box
	out    []bool // by argument: declared as Out
	atomic bool   // an atomic addition is going on
}

// maxBoxes bounds what one call keeps: beyond, sim.KernelCall.Touch gives up anyway.
const maxBoxes = 4096

// add notes a run.
func (b *boxes) add(arg, off, n, stride int, write bool) {
	if arg < 0 || n <= 0 || len(b.list) > maxBoxes {
		return
	}
	x := box{arg: arg, write: write, off: off, atomic: b.atomic}
	if !write && arg < len(b.out) && b.out[arg] {
		x.first = !b.wrote(arg, off, n, stride)
	}
	if n > 1 {
		x.rank, x.n[0], x.stride[0] = 1, n, stride
	}
	b.list = append(b.list, x)
	for b.join() {
	}
}

// join merges the last box into an earlier one of the same argument and direction: as its next slice, or as the second of two like it.
func (b *boxes) join() bool {
	last := len(b.list) - 1
	if last < 1 {
		return false
	}
	x := &b.list[last]
	for k := last - 1; k >= max(0, last-4); k-- { // a few back: ops alternate between their operands
		a := &b.list[k]
		if a.arg != x.arg || a.write != x.write || a.first != x.first || a.atomic != x.atomic {
			continue
		}
		delta := x.off - a.off
		switch {
		case a.rank == x.rank && a.sameDims(x, a.rank):
			if delta == 0 {
				b.list = b.list[:last]
				return true
			}
			if delta > 0 && a.rank < sim.MaxDims {
				a.n[a.rank], a.stride[a.rank] = 2, delta
				a.rank++
				b.take(k, last)
				return true
			}
		case a.rank == x.rank+1 && a.sameDims(x, x.rank):
			r := x.rank
			if delta == a.n[r]*a.stride[r] {
				a.n[r]++
				b.take(k, last)
				return true
			}
			if delta >= 0 && delta%a.stride[r] == 0 && delta/a.stride[r] < a.n[r] { // touched before
				b.list = b.list[:last]
				return true
			}
		}
	}
	return false
}

// take removes the last box and makes the one it went into the last.
func (b *boxes) take(k, last int) {
	b.list = b.list[:last]
	if k != last-1 {
		x := b.list[k]
		b.list = append(slices.Delete(b.list, k, k+1), x)
	}
}

func (a *box) sameDims(x *box, rank int) bool {
	return slices.Equal(a.n[:rank], x.n[:rank]) && slices.Equal(a.stride[:rank], x.stride[:rank])
}

// wrote reports that the call has written every element of a run.
func (b *boxes) wrote(arg, off, n, stride int) bool {
	for i := range n {
		if !slices.ContainsFunc(b.list, func(x box) bool { return x.arg == arg && x.write && x.has(off+i*stride) }) {
			return false
		}
	}
	return true
}

// has reports an element of the box. Boxes are built from nested slices, so the strides grow; where inner ones reach over an outer one, all digits are
// tried.
func (x *box) has(off int) bool {
	return x.reaches(x.rank-1, off-x.off)
}

func (x *box) reaches(k, rest int) bool {
	if k < 0 {
		return rest == 0
	}
	inner := 0 // the farthest that the dimensions below k reach
	for j := range k {
		inner += (x.n[j] - 1) * x.stride[j]
	}
	s := x.stride[k]
	for d := min(rest/s, x.n[k]-1); d >= 0 && rest-d*s <= inner; d-- {
		if rest >= d*s && x.reaches(k-1, rest-d*s) {
			return true
		}
	}
	return false
}

// tell reports the boxes of a call to the runtime.
func (b *boxes) tell(c *sim.KernelCall) {
	for i := range b.list {
		x := &b.list[i]
		if x.arg >= len(c.Args) {
			continue
		}
		w := c.Args[x.arg].Tensor
		w.Start, w.Ops = uint64(x.off), nil
		dims := make([]uint32, 2*x.rank)
		w.Shape, w.Strides = dims[:x.rank:x.rank], dims[x.rank:]
		for k := range x.rank {
			w.Shape[x.rank-1-k], w.Strides[x.rank-1-k] = uint32(x.n[k]), uint32(x.stride[k])
		}
		c.Touch(sim.Touch{Arg: int16(x.arg), Write: x.write, First: x.first, Atomic: x.atomic, Window: w})
	}
}
