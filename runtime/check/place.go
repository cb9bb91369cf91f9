package check

import (
	"fmt"
	"strings"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Where memory lies, in the words of the program: a buffer by the name of its entry tensor or the line that made it, a window as a box of its elements.

// buffer is the tensor of which t is a window, as it was made, and its name.
func (r *run) buffer(t *sim.Tensor) (whole *sim.Tensor, name string) {
	if t.Owner != sim.InvalidTask {
		if n := r.rt.NodeOf(t.Owner); n != nil {
			for k := range n.Args {
				x := &n.Args[k].Tensor
				if n.Args[k].Tag == sim.Output && t.Addr >= x.Addr && t.Addr < x.Addr+max(x.Size, 1) {
					whole = x
					if made := r.names.Made[n.Site]; k < len(made) && made[k] != "" {
						return whole, made[k]
					}
				}
			}
			if n.Site.IsValid() {
				return whole, fmt.Sprintf("the buffer made at %s", n.Site)
			}
		}
		return whole, "a buffer of task " + t.Owner.String()
	}
	entries := r.rt.Entries()
	for i := range entries {
		if e := &entries[i]; t.Addr >= e.Addr && t.Addr < e.Addr+max(e.Size, 1) {
			if i < len(r.names.Entries) {
				return e, r.names.Entries[i]
			}
			return e, fmt.Sprintf("entry tensor %d", i)
		}
	}
	return nil, "memory"
}

// maker is the node that made the buffer of a window, nil for entry tensors.
func (r *run) maker(t *sim.Tensor) *sim.Node {
	if t.Owner == sim.InvalidTask {
		return nil
	}
	return r.rt.NodeOf(t.Owner)
}

// base names the buffer of a window, and the line that made it.
func (r *run) base(t *sim.Tensor) string {
	_, name := r.buffer(t)
	if t.Owner != sim.InvalidTask {
		if n := r.rt.NodeOf(t.Owner); n != nil && len(r.names.Made[n.Site]) > 0 {
			name += fmt.Sprintf(" (made at %s)", n.Site)
		}
	}
	return name
}

// box is the window t in its buffer: "y[4:8, 0:16]".
func (r *run) box(t *sim.Tensor) string {
	whole, name := r.buffer(t)
	if whole == nil {
		return name
	}
	lo, hi, ok := bounds(whole, t)
	if !ok {
		return name
	}
	return name + ranges(lo, hi)
}

// meet is the part of its buffer that two windows share, as far as boxes tell.
func (r *run) meet(a, b *sim.Tensor) string {
	whole, name := r.buffer(b)
	if whole == nil {
		return name
	}
	alo, ahi, ok := bounds(whole, a)
	blo, bhi, ok2 := bounds(whole, b)
	if !ok || !ok2 {
		return name
	}
	for k := range alo {
		alo[k], ahi[k] = max(alo[k], blo[k]), min(ahi[k], bhi[k])
		if alo[k] >= ahi[k] {
			return name
		}
	}
	return name + ranges(alo, ahi)
}

// ranges writes a box: "[4:8, 0:16]", or "[4, 0]" for one element.
func ranges(lo, hi []uint64) string {
	if len(lo) == 0 {
		return ""
	}
	one := true
	for k := range lo {
		one = one && hi[k] == lo[k]+1
	}
	s := make([]string, len(lo))
	for k := range lo {
		if s[k] = fmt.Sprintf("%d:%d", lo[k], hi[k]); one {
			s[k] = fmt.Sprint(lo[k])
		}
	}
	return "[" + strings.Join(s, ", ") + "]"
}

// bounds is the smallest box of whole that holds the window t.
func bounds(whole, t *sim.Tensor) (lo, hi []uint64, ok bool) {
	es := uint64(t.DType.Bytes())
	if whole.DType.Bytes() != t.DType.Bytes() || t.Addr < whole.Addr || (t.Addr-whole.Addr)%es != 0 || t.Extent() == 0 {
		return nil, nil, false
	}
	first := (t.Addr-whole.Addr)/es + t.Start - whole.Start
	last := first + t.Extent() - 1
	lo, hi = make([]uint64, len(whole.Shape)), make([]uint64, len(whole.Shape))
	volume := uint64(1)
	for k, s := range whole.Strides {
		if s == 0 {
			return nil, nil, false
		}
		lo[k], hi[k] = first/uint64(s), last/uint64(s)
		first, last = first%uint64(s), last%uint64(s)
		if k > 0 && hi[k] < lo[k] { // it runs over the end of a row
			return inFull(lo, hi, whole, k)
		}
		hi[k]++
		if hi[k] > uint64(whole.Shape[k]) {
			return nil, nil, false
		}
		volume *= hi[k] - lo[k]
	}
	if volume < t.NumElems() { // rows in between are longer than the box is wide
		for k := range lo {
			if hi[k]-lo[k] > 1 {
				return inFull(lo, hi, whole, k+1)
			}
		}
	}
	return lo, hi, true
}

// inFull takes the dimensions from k on in full.
func inFull(lo, hi []uint64, whole *sim.Tensor, k int) ([]uint64, []uint64, bool) {
	for ; k < len(lo); k++ {
		lo[k], hi[k] = 0, uint64(whole.Shape[k])
	}
	return lo, hi, true
}
