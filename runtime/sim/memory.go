package sim

import (
	"fmt"
	"sort"
	"syscall"
	"unsafe"
)

// Memory is the simulated global memory: regions outside the Go heap whose addresses are real pointers, so that compiled orchestrations and
// kernels can use them too.
type Memory struct {
	regions []span // by address
	last    span   // where has looked last
}

type span struct {
	addr  uint64
	bytes []byte
	made  int // regions made before it
	whole []byte
}

const (
	page = 4096
	// regionAlign is how regions are aligned: a cache line, which is what kernels may count on.
	regionAlign = 64
)

// Map adds a zeroed region of size bytes (rounded up to regionAlign; untouched pages cost nothing) and returns its address. The region ends where a page ends, and
// before and after its pages lies one that cannot be used: C++ code that runs over the end dies where it does.
func (m *Memory) Map(size uint64) (uint64, error) {
	size = max((size+regionAlign-1)/regionAlign*regionAlign, regionAlign)
	pages := (size + page - 1) / page * page
	whole, err := syscall.Mmap(-1, 0, int(pages+2*page), syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err == nil {
		if err = syscall.Mprotect(whole[page:page+pages], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			_ = syscall.Munmap(whole) // just mapped
		}
	}
	if err != nil {
		return 0, fmt.Errorf("mapping %d bytes of simulated memory: %w", size, err)
	}
	b := whole[page+pages-size : page+pages : page+pages]
	addr := uint64(uintptr(unsafe.Pointer(&b[0])))
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > addr })
	m.regions = append(m.regions, span{})
	copy(m.regions[i+1:], m.regions[i:])
	m.regions[i] = span{addr, b, len(m.regions) - 1, whole}
	return addr, nil
}

// Bytes returns the size bytes at addr, or nil when they are not all inside one region.
func (m *Memory) Bytes(addr, size uint64) []byte {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > addr }) - 1
	if i < 0 {
		return nil
	}
	r := m.regions[i]
	off := addr - r.addr
	if off > uint64(len(r.bytes)) || size > uint64(len(r.bytes))-off {
		return nil
	}
	return r.bytes[off : off+size : off+size]
}

// Pages is the memory around an address that can be used: the pages of the region that holds it, which begin at lo; nil when there is none. What lies before the region
// belongs to nobody.
func (m *Memory) Pages(addr uint64) (lo uint64, mem []byte) {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > addr }) - 1
	if i < 0 || addr-m.regions[i].addr >= uint64(len(m.regions[i].bytes)) {
		return 0, nil
	}
	whole := m.regions[i].whole
	mem = whole[page : len(whole)-page]
	return uint64(uintptr(unsafe.Pointer(&mem[0]))), mem
}

// Stable turns an address into one that is the same in every run of a program: regions are numbered in the order in which they were made, entry
// tensors first, and lie 1 TiB apart. Addresses of other memory give 0.
func (m *Memory) Stable(addr uint64) uint64 {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > addr }) - 1
	if i < 0 || addr-m.regions[i].addr > uint64(len(m.regions[i].bytes)) {
		return 0
	}
	return uint64(m.regions[i].made+1)<<40 + addr - m.regions[i].addr
}

// has reports that the size bytes at addr are inside one region.
func (m *Memory) has(addr, size uint64) bool {
	if r := &m.last; addr-r.addr < uint64(len(r.bytes)) && size <= uint64(len(r.bytes))-(addr-r.addr) {
		return true
	}
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].addr > addr }) - 1
	if i < 0 {
		return false
	}
	m.last = m.regions[i]
	off := addr - m.last.addr
	return off <= uint64(len(m.last.bytes)) && size <= uint64(len(m.last.bytes))-off
}

// Close unmaps everything. No slice from Bytes may be used afterwards.
func (m *Memory) Close() {
	for _, r := range m.regions {
		_ = syscall.Munmap(r.whole) // only fails on a region that is not mapped
	}
	m.regions, m.last = nil, span{}
}
