package host

import (
	"slices"
	"syscall"
	"unsafe"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// guarded are the buffers of a call of a C++ kernel that the runtime made, as the kernel sees them. In the heap of a ring buffers lie side by side, so a kernel that
// runs over the end of one would read the next. It gets copies instead, which end where a page ends that an unusable one follows: it dies at the line that runs over, as
// with an entry tensor.
type guarded struct {
	areas []area // the first n are of the call, the others are kept for later ones
	n     int
	moved [sim.MaxTensors]uint64 // what is added to the address of each argument
	stray []strayByte            // bytes before a buffer that the kernel changed
}

type strayByte struct {
	*area
	at int
}

// area is the place of one copy.
type area struct {
	lo, hi uint64 // the elements of the buffer, in the ring
	used   uint64 // bytes that the arguments of the call cover
	before int    // bytes of ring before the buffer
	ring   []byte // in the ring: up to slack bytes before the buffer, the buffer, and what follows in its last cache line
	copy   []byte // of ring, up to the end of a page
	pages  []byte // an unusable page, those of copy, an unusable page
}

const (
	pageSize  = 4096
	cacheLine = 64
	// A bigger buffer is copied when the kernel sees a good part of it: otherwise the copy would cost more than the kernel.
	alwaysCopied = 64 << 10
	goodPart     = 4
)

// place decides which buffers of a call are copied. A buffer that cannot be copied stays where it is.
func (g *guarded) place(m *sim.Memory, c *sim.KernelCall) {
	g.n = 0
	for i := range c.Args {
		lo, hi := c.Buffer(i)
		first, last := c.Args[i].Tensor.Bytes()
		if first == last || first < lo || last > hi {
			continue
		}
		k := slices.IndexFunc(g.areas[:g.n], func(a area) bool { return a.lo == lo })
		if k < 0 {
			if k = g.n; k == len(g.areas) {
				g.areas = append(g.areas, area{})
			}
			g.areas[k].lo, g.areas[k].hi, g.areas[k].used = lo, hi, 0
			g.n++
		}
		g.areas[k].used += last - first
	}
	for k := 0; k < g.n; {
		if a := &g.areas[k]; a.worth(c) && a.take(m) {
			k++
		} else {
			g.n--
			g.areas[k], g.areas[g.n] = g.areas[g.n], g.areas[k]
		}
	}
	for i := range c.Args {
		g.moved[i] = 0
		for k := range g.areas[:g.n] {
			if a := &g.areas[k]; a.lo == c.Args[i].Tensor.Addr {
				g.moved[i] = addressOf(a.copy) + uint64(len(a.copy)) - addressOf(a.ring) - uint64(len(a.ring))
			}
		}
	}
}

// worth reports that a copy is cheap enough, and that the kernel can reach the buffer in no other way.
func (a *area) worth(c *sim.KernelCall) bool {
	return (a.hi-a.lo <= alwaysCopied || a.used >= (a.hi-a.lo)/goodPart) && !slices.ContainsFunc(c.Args, func(x sim.Arg) bool {
		lo, hi := x.Tensor.Bytes()
		return lo < a.hi && a.lo < hi && (x.Tensor.Addr != a.lo || lo < a.lo || hi > a.hi)
	})
}

// take finds room for the copy.
func (a *area) take(m *sim.Memory) bool {
	first, mem := m.Pages(a.lo)
	lo, hi := max(first, a.lo-min(a.lo, slack)), (a.hi+cacheLine-1)&^(cacheLine-1)
	if hi > first+uint64(len(mem)) {
		return false
	}
	a.ring, a.before = mem[lo-first:hi-first], int(a.lo-lo)
	n := (len(a.ring) + pageSize - 1) &^ (pageSize - 1)
	if n+2*pageSize > len(a.pages) {
		pages, err := syscall.Mmap(-1, 0, n+2*pageSize, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			return false
		}
		if syscall.Mprotect(pages[pageSize:pageSize+n], syscall.PROT_READ|syscall.PROT_WRITE) != nil {
			_ = syscall.Munmap(pages) // just mapped
			return false
		}
		if a.pages != nil {
			_ = syscall.Munmap(a.pages) // mapped here
		}
		a.pages = pages
	}
	end := len(a.pages) - pageSize
	a.copy = a.pages[end-len(a.ring) : end : end]
	return true
}

// enter fills the copies.
func (g *guarded) enter() {
	for k := range g.areas[:g.n] {
		copy(g.areas[k].copy, g.areas[k].ring)
	}
}

// leave puts into the ring what the kernel made of the copies. What it changed before the start of a buffer may be another one, so that comes last.
func (g *guarded) leave() {
	g.stray = g.stray[:0]
	for k := range g.areas[:g.n] {
		a := &g.areas[k]
		for i := differ(a.copy[:a.before], a.ring[:a.before]); i < a.before; i++ {
			if a.copy[i] != a.ring[i] {
				g.stray = append(g.stray, strayByte{a, i})
			}
		}
	}
	for k := range g.areas[:g.n] {
		a := &g.areas[k]
		copy(a.ring[a.before:], a.copy[a.before:])
	}
	for _, s := range g.stray {
		s.ring[s.at] = s.copy[s.at]
	}
}

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
