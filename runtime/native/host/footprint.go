package host

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// footprint is the memory in and around the tensor arguments of a call of a C++ kernel, as it was before the call: the comparison tells what the call
// wrote, and whether it wrote beside its arguments.
type footprint struct {
	call   *sim.KernelCall
	spans  []span // by address; they do not overlap
	before []byte
}

// span is a range of memory; its old content starts at position at of before.
type span struct {
	lo, hi uint64
	mem    []byte
	at     int
	first  uint64 // address of pages, which it is a part of
	pages  []byte
}

// slack is how far around an argument writes are looked for.
const slack = 4096

// take looks at the memory before a call.
func (f *footprint) take(m *sim.Memory, c *sim.KernelCall) {
	f.call, f.spans, f.before = c, f.spans[:0], f.before[:0]
	for i := range c.Args {
		if lo, hi := c.Args[i].Tensor.Bytes(); hi > lo {
			if first, pages := m.Pages(lo); pages != nil {
				f.spans = append(f.spans, span{lo: max(first, lo-min(lo, slack)), hi: min(first+uint64(len(pages)), hi+slack), first: first, pages: pages})
			}
		}
	}
	slices.SortFunc(f.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	n := 0
	for _, s := range f.spans {
		if n > 0 && s.lo <= f.spans[n-1].hi && s.first == f.spans[n-1].first {
			f.spans[n-1].hi = max(f.spans[n-1].hi, s.hi)
			continue
		}
		f.spans[n] = s
		n++
	}
	f.spans = f.spans[:n]
	for i := range f.spans {
		s := &f.spans[i]
		s.mem, s.at = s.pages[s.lo-s.first:s.hi-s.first], len(f.before)
		f.before = append(f.before, s.mem...)
	}
}

// window is the memory of an argument now, and as it was.
func (f *footprint) window(arg int) (now, old []byte) {
	lo, hi := f.call.Args[arg].Tensor.Bytes()
	for i := range f.spans {
		if s := &f.spans[i]; s.lo <= lo && hi <= s.hi && lo < hi {
			return s.mem[lo-s.lo : hi-s.lo], f.of(f.before, lo, int(hi-lo))
		}
	}
	return nil, nil
}

// of is what a copy holds of n bytes at an address.
func (f *footprint) of(copied []byte, addr uint64, n int) []byte {
	for i := range f.spans {
		if s := &f.spans[i]; s.lo <= addr && addr < s.hi {
			at := s.at + int(addr-s.lo)
			return copied[at : at+n]
		}
	}
	return nil
}

// copy is the memory as it is now; restore puts it back. Both have the layout of before.
func (f *footprint) copy(to []byte) []byte {
	to = to[:0]
	for i := range f.spans {
		to = append(to, f.spans[i].mem...)
	}
	return to
}

func (f *footprint) restore(from []byte) {
	for i := range f.spans {
		copy(f.spans[i].mem, from[f.spans[i].at:])
	}
}

// writes lists what changed between the first and the last element of each argument. Arguments may overlap: then a change is told for each, which does no harm.
func (f *footprint) writes() []exec.Write {
	var ws []exec.Write
	for arg := range f.call.Args {
		b, old := f.window(arg)
		for i := 0; ; {
			if i += differ(b[i:], old[i:]); i == len(b) {
				break
			}
			first, last := i, i
			for ; i < len(b) && i-last <= mergeGap; i++ {
				if b[i] != old[i] {
					last = i
				}
			}
			ws = append(ws, exec.Write{Arg: arg, Offset: first, Data: bytes.Clone(b[first : last+1])})
		}
	}
	return ws
}

// differ is the position of the first byte in which the two differ, their length when none does.
func differ(a, b []byte) int {
	i := 0
	for i+8 <= len(a) && *(*uint64)(unsafe.Pointer(&a[i])) == *(*uint64)(unsafe.Pointer(&b[i])) {
		i += 8
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

// stray is a write that no argument allows.
type stray struct {
	arg  int    // the argument next to it, or that is an input
	text string // where it is
}

// strays looks for a change outside of the elements of all arguments, and for one in an input that is in no other argument.
func (f *footprint) strays(name func(arg int) string) (outside, input *stray) {
	for i := range f.spans {
		s := &f.spans[i]
		old := f.before[s.at : s.at+len(s.mem)]
		for at := 0; at < len(s.mem); {
			if at += differ(s.mem[at:], old[at:]); at == len(s.mem) {
				break
			}
			addr := s.lo + uint64(at)
			end, in := uint64(0), -1
			for k := range f.call.Args {
				x := &f.call.Args[k]
				if e := runEnd(&x.Tensor, addr); e != 0 && (end == 0 || x.Tag != sim.Input) {
					if end, in = e, k; x.Tag != sim.Input {
						break
					}
				}
			}
			switch {
			case end == 0:
				outside = f.beside(addr, name)
				return outside, input
			case f.call.Args[in].Tag == sim.Input:
				if t := &f.call.Args[in].Tensor; input == nil {
					lo, _ := t.Bytes()
					input = &stray{in, fmt.Sprintf("element %d after its first", (addr-lo)/uint64(max(t.DType.Bytes(), 1)))}
				}
				at++ // another argument may hold the next byte
			default:
				at = int(min(end, s.hi) - s.lo)
			}
		}
	}
	return nil, input
}

// beside says where an address lies that is in no argument.
func (f *footprint) beside(addr uint64, name func(arg int) string) *stray {
	best, distance := &stray{arg: -1}, ^uint64(0)
	for k := range f.call.Args {
		t := &f.call.Args[k].Tensor
		lo, hi := t.Bytes()
		es := uint64(max(t.DType.Bytes(), 1))
		var d uint64
		var text string
		switch {
		case lo == hi:
			continue
		case addr >= hi:
			d = (addr - hi) / es * es
			text = fmt.Sprintf("%d bytes after the end of %s", d, name(k))
			if d == 0 {
				text = "right after the end of " + name(k)
			}
		case addr < lo:
			d = (lo - addr + es - 1) / es * es
			text = fmt.Sprintf("%d bytes before the start of %s", d, name(k))
		default:
			text = fmt.Sprintf("between the rows of %s, %d bytes after its start", name(k), (addr-lo)/es*es)
		}
		if d < distance {
			best, distance = &stray{k, fmt.Sprintf("%s (%s of %v)", text, t.DType, t.Shape)}, d
		}
	}
	return best
}

// runEnd is the end of the run of neighbouring elements of a window that holds an address, 0 when it holds no element.
func runEnd(t *sim.Tensor, addr uint64) uint64 {
	lo, hi := t.Bytes()
	if addr < lo || addr >= hi {
		return 0
	}
	es := uint64(t.DType.Bytes())
	run, inner := uint64(1), len(t.Shape) // the dimensions from inner on are packed
	for inner > 0 && (t.Shape[inner-1] == 1 || uint64(t.Strides[inner-1]) == run) {
		inner--
		run *= uint64(t.Shape[inner])
	}
	rest := (addr - lo) / es
	if inner == 0 {
		return hi
	}
	dims := make([]int, 0, 5)
	for d := range inner {
		dims = append(dims, d)
	}
	slices.SortFunc(dims, func(a, b int) int { return cmp.Compare(t.Strides[b], t.Strides[a]) })
	for _, d := range dims {
		s := uint64(max(t.Strides[d], 1))
		n := min(rest/s, uint64(t.Shape[d])-1)
		rest -= n * s
	}
	if rest >= run {
		return 0
	}
	return addr - (addr-lo)%es + (run-rest)*es
}
