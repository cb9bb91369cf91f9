package trace

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// The compact form of events. One description of each event serves both directions. Strings and sites are written once and numbered from then on,
// numbers that tend to grow are written as differences, and what an event does not have costs a bit.

// wire writes events to b, or reads them from it.
type wire struct {
	b       []byte
	reading bool
	bad     bool // the input ended early or makes no sense
	known   *known
	texts   []string    // strings read so far
	sites   []diag.Span // and sites

	last *Submit // read with arguments of its own
	what []byte  // what was written last of them

	task, retired int    // the last ordinals
	submitted     uint64 // of the last retirement

	keep bool // events read last; otherwise the next one of its kind takes its room
	chunks
}

// known is what has been written so far.
type known struct {
	texts map[string]int
	sites map[diag.Span]int
	// What was used last, by a few bits of the place of its bytes: most strings and sites are the same again and again.
	recentTexts [256]numbered[string]
	recentSites [64]numbered[diag.Span]
}

type numbered[T any] struct {
	v  T
	id uint64 // number + 1; 0: nothing
}

// chunks hold what is read, in bulk.
type chunks struct {
	submits chunk[Submit]
	retires chunk[Retire]
	args    chunk[Arg]
	scalars chunk[Scalar]
	news    chunk[NewTensor]
	blocks  chunk[Block]
	strings chunk[string]
	ints    chunk[int]
	u32s    chunk[uint32]
}

// chunk hands out slices of bigger ones.
type chunk[T any] []T

func (c *chunk[T]) take(n int) []T {
	if n > len(*c) {
		*c = make([]T, max(n, 1024))
	}
	s := (*c)[:n:n]
	*c = (*c)[n:]
	return s
}

var newEvent = [...]func() Event{
	func() Event { return new(Run) }, func() Event { return new(Config) }, func() Event { return new(ScopeBegin) },
	func() Event { return new(ScopeEnd) }, func() Event { return new(Alloc) }, func() Event { return new(Submit) },
	func() Event { return new(Read) }, func() Event { return new(Write) }, func() Event { return new(Query) },
	func() Event { return new(Note) }, func() Event { return new(Error) }, func() Event { return new(End) },
	func() Event { return new(Retire) },
}

// The positions in newEvent of the events that there are many of.
const (
	kindSubmit = 5
	kindRetire = 12
)

// kindOf is the position of an event's type in newEvent.
func kindOf(e Event) byte {
	switch e.(type) {
	case *Run:
		return 0
	case *Config:
		return 1
	case *ScopeBegin:
		return 2
	case *ScopeEnd:
		return 3
	case *Alloc:
		return 4
	case *Submit:
		return kindSubmit
	case *Read:
		return 6
	case *Write:
		return 7
	case *Query:
		return 8
	case *Note:
		return 9
	case *Error:
		return 10
	case *End:
		return 11
	}
	return kindRetire
}

func (w *wire) event(e Event) {
	switch e := e.(type) {
	case *Run:
		w.str(&e.Name)
	case *Config:
		w.int(&e.Args)
	case *ScopeBegin:
		w.bool(&e.Manual)
		w.span(&e.Site)
	case *ScopeEnd:
		w.span(&e.Site)
	case *Alloc:
		w.int(&e.Call)
		w.int(&e.First)
		if list(w, &e.Tensors, &w.news) {
			for i := range e.Tensors {
				w.newTensor(&e.Tensors[i])
			}
		}
		w.span(&e.Site)
	case *Submit:
		w.submit(e)
	case *Read:
		w.access(&e.T, &e.At, &e.Type, &e.Value, &e.Site)
	case *Write:
		w.access(&e.T, &e.At, &e.Type, &e.Value, &e.Site)
	case *Query:
		w.str(&e.What)
		w.span(&e.Site)
	case *Note:
		w.str(&e.What)
		w.str(&e.Buf)
	case *Error:
		w.str(&e.What)
		w.str(&e.Detail)
	case *End:
		w.int(&e.Tasks)
	case *Retire:
		w.retire(e)
	}
}

// What a submit has besides its arguments.
const (
	hasScalars = 1 << iota
	hasDeps
	hasAllocDeps
	hasDupDeps
	hasSync
	hasEarly
	hasDumpAll
	hasDump
	hasBlocks
	hasSlot
	hasPred
)

func (w *wire) submit(e *Submit) {
	w.next(&e.N, &w.task)
	has := bit(len(e.Scalars) > 0, hasScalars) | bit(len(e.Deps) > 0, hasDeps) | bit(len(e.AllocDeps) > 0, hasAllocDeps) | bit(e.DupDeps, hasDupDeps) |
		bit(e.SyncStart, hasSync) | bit(e.Early, hasEarly) | bit(e.DumpAll, hasDumpAll) | bit(len(e.Dump) > 0, hasDump) | bit(e.Blocks != 0, hasBlocks) |
		bit(e.TimingSlot != -1, hasSlot) | bit(e.Pred != nil, hasPred)
	w.u64(&has)
	if w.reading {
		e.DupDeps, e.SyncStart, e.Early, e.DumpAll = has&hasDupDeps != 0, has&hasSync != 0, has&hasEarly != 0, has&hasDumpAll != 0
		e.Scalars, e.Deps, e.AllocDeps, e.Dump, e.Blocks, e.TimingSlot = e.Scalars[:0], e.Deps[:0], e.AllocDeps[:0], e.Dump[:0], 0, -1
	}
	w.work(e)
	if has&hasScalars != 0 && list(w, &e.Scalars, &w.scalars) {
		for i := range e.Scalars {
			w.u64(&e.Scalars[i].Bits)
			w.str(&e.Scalars[i].Type)
		}
	}
	if has&hasDeps != 0 {
		w.ordinals(&e.Deps)
	}
	if has&hasAllocDeps != 0 {
		w.ordinals(&e.AllocDeps)
	}
	if has&hasDump != 0 {
		w.ordinals(&e.Dump)
	}
	if has&hasBlocks != 0 {
		w.int(&e.Blocks)
	}
	if has&hasSlot != 0 {
		w.int(&e.TimingSlot)
	}
	if has&hasPred == 0 {
		e.Pred = nil
	} else {
		if w.reading {
			e.Pred = new(Pred)
		}
		w.tensor(&e.Pred.T)
		w.u32s(&e.Pred.Idx)
		w.str(&e.Pred.Op)
		w.i64(&e.Pred.Target)
	}
	w.span(&e.Site)
}

// work is the kind, kernels and tensor arguments of a submit. They are often those of the submit before, which takes one byte.
func (w *wire) work(e *Submit) {
	at := len(w.b)
	anew := true
	w.bool(&anew)
	if !anew {
		if w.last == nil {
			w.bad = true
			return
		}
		e.Kind, e.Kernels, e.Args = w.last.Kind, w.last.Kernels, w.last.Args
		return
	}
	w.str(&e.Kind)
	w.strs(&e.Kernels)
	if list(w, &e.Args, &w.args) {
		for i := range e.Args {
			a := &e.Args[i]
			w.str(&a.Dir)
			if optional(w, a.New != nil, &a.New) {
				if w.reading && a.T.Buf != "" {
					a.T = Tensor{}
				}
				w.newTensor(a.New)
			} else {
				w.tensor(&a.T)
			}
		}
	}
	switch {
	case w.reading:
		w.last = e
	case bytes.Equal(w.b[at:], w.what):
		w.b = append(w.b[:at], 0)
	default:
		w.what = w.b[at:]
	}
}

func bit(yes bool, b uint64) uint64 {
	if yes {
		return b
	}
	return 0
}

// What a retirement has.
const (
	wasSkipped = 1 << iota
	oneBlock   // which ran on one core for all of the time, as most tasks do
	moreBlocks
)

func (w *wire) retire(e *Retire) {
	w.next(&e.N, &w.retired)
	w.after(&e.Submitted, w.submitted)
	w.submitted = e.Submitted
	w.after(&e.Ready, e.Submitted)
	w.after(&e.Start, e.Ready)
	w.after(&e.Finish, e.Start)
	one := len(e.Blocks) == 1
	if one {
		x := &e.Blocks[0]
		one = x.Core >= 0 && x.Block == 0 && x.Lane&^3 == 0 && x.Start == e.Start && x.Finish == e.Finish
	}
	has := bit(e.Skipped, wasSkipped) | bit(one, oneBlock) | bit(!one && len(e.Blocks) > 0, moreBlocks)
	w.u64(&has)
	if w.reading {
		e.Skipped, e.Blocks = has&wasSkipped != 0, e.Blocks[:0]
	}
	switch {
	case has&oneBlock != 0:
		if w.reading {
			room(w, &e.Blocks, 1, &w.blocks)
		}
		x := &e.Blocks[0]
		at := uint64(x.Core)<<2 | uint64(x.Lane)
		w.u64(&at)
		*x = Block{Core: int32(at >> 2), Lane: int8(at & 3), Start: e.Start, Finish: e.Finish}
		return
	case has&moreBlocks == 0 || !list(w, &e.Blocks, &w.blocks):
		return
	}
	for i := range e.Blocks {
		x := &e.Blocks[i]
		core, block, lane := int64(x.Core), int64(x.Block), int64(x.Lane)
		w.i64(&core)
		w.i64(&block)
		w.i64(&lane)
		x.Core, x.Block, x.Lane = int32(core), int32(block), int8(lane)
		w.after(&x.Start, e.Start)
		w.after(&x.Finish, e.Finish)
	}
}

func (w *wire) access(t *Tensor, at *uint64, typ *string, value *uint64, site *diag.Span) {
	w.tensor(t)
	w.u64(at)
	w.str(typ)
	w.u64(value)
	w.span(site)
}

func (w *wire) tensor(t *Tensor) {
	has := bit(t.Off != 0, 1) | bit(t.ManualDep, 2) | bit(len(t.Ops) > 0, 4)
	w.u64(&has)
	w.str(&t.Buf)
	if has&1 != 0 {
		w.u64(&t.Off)
	}
	w.u32s(&t.Shape)
	w.u32s(&t.Strides)
	w.str(&t.DType)
	if w.reading {
		t.ManualDep, t.Off, t.Ops = has&2 != 0, t.Off*(has&1), t.Ops[:0]
	}
	if has&4 != 0 {
		w.strs(&t.Ops)
	}
}

func (w *wire) newTensor(t *NewTensor) {
	w.str(&t.Buf)
	w.u32s(&t.Shape)
	w.str(&t.DType)
	w.bool(&t.ManualDep)
	w.str(&t.Init)
}

// list writes the length of a list, or makes room for as many elements; false when there is no more to do.
func list[T any](w *wire, s *[]T, from *chunk[T]) bool {
	n := uint64(len(*s))
	w.u64(&n)
	if !w.reading {
		return n > 0
	}
	if n > uint64(len(w.b)) { // an element takes a byte at least
		w.bad = true
		return false
	}
	room(w, s, int(n), from)
	return n > 0
}

// room makes a list that is read n elements long.
func room[T any](w *wire, s *[]T, n int, from *chunk[T]) {
	switch {
	case !w.keep && cap(*s) >= n:
		*s = (*s)[:n]
	case n > 0:
		*s = from.take(n)
	}
}

func (w *wire) u32s(s *[]uint32) {
	if list(w, s, &w.chunks.u32s) {
		for i, v := range *s {
			x := uint64(v)
			w.u64(&x)
			(*s)[i] = uint32(x)
		}
	}
}

func (w *wire) strs(s *[]string) {
	if list(w, s, &w.chunks.strings) {
		for i := range *s {
			w.str(&(*s)[i])
		}
	}
}

// ordinals are numbers of tasks, or small ones.
func (w *wire) ordinals(s *[]int) {
	if list(w, s, &w.chunks.ints) {
		for i := range *s {
			w.int(&(*s)[i])
		}
	}
}

// optional says whether *p is there, and makes it when it is read.
func optional[T any](w *wire, there bool, p **T) bool {
	w.bool(&there)
	switch {
	case !w.reading:
	case !there:
		*p = nil
	case w.keep || *p == nil:
		*p = new(T)
	}
	return there
}

func (w *wire) u64(p *uint64) {
	if !w.reading {
		if *p < 0x80 {
			w.b = append(w.b, byte(*p))
		} else {
			w.b = binary.AppendUvarint(w.b, *p)
		}
		return
	}
	if len(w.b) > 0 && w.b[0] < 0x80 {
		*p, w.b = uint64(w.b[0]), w.b[1:]
		return
	}
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		w.bad, w.b = true, nil
		*p = 0
		return
	}
	*p, w.b = v, w.b[n:]
}

func (w *wire) i64(p *int64) {
	v := uint64(*p)<<1 ^ uint64(*p>>63)
	w.u64(&v)
	*p = int64(v>>1) ^ -int64(v&1)
}

func (w *wire) int(p *int) {
	v := int64(*p)
	w.i64(&v)
	*p = int(v)
}

// next is an ordinal, which mostly follows the last one.
func (w *wire) next(p, last *int) {
	d := int64(*p - *last - 1)
	w.i64(&d)
	*p = *last + 1 + int(d)
	*last = *p
}

// after is a number near base.
func (w *wire) after(p *uint64, base uint64) {
	d := int64(*p - base)
	w.i64(&d)
	*p = base + uint64(d)
}

func (w *wire) bool(p *bool) {
	v := bit(*p, 1)
	w.u64(&v)
	*p = v != 0
}

// str writes a string once and then its number: number 0 announces a new one.
func (w *wire) str(p *string) {
	if !w.reading {
		slot := &w.known.recentTexts[uintptr(unsafe.Pointer(unsafe.StringData(*p)))>>3&255]
		if slot.id > 0 && len(slot.v) == len(*p) && unsafe.StringData(slot.v) == unsafe.StringData(*p) {
			w.u64(&slot.id)
			return
		}
		id, ok := w.known.texts[*p]
		if !ok {
			id = len(w.known.texts)
			w.known.texts[*p] = id
			w.b = append(w.b, 0)
			w.b = binary.AppendUvarint(w.b, uint64(len(*p)))
			w.b = append(w.b, *p...)
		} else {
			w.b = binary.AppendUvarint(w.b, uint64(id)+1)
		}
		*slot = numbered[string]{*p, uint64(id) + 1}
		return
	}
	var id, n uint64
	if w.u64(&id); id > 0 {
		if id > uint64(len(w.texts)) {
			w.bad = true
			return
		}
		*p = w.texts[id-1]
		return
	}
	if w.u64(&n); w.bad || n > uint64(len(w.b)) {
		w.bad = true
		return
	}
	*p = string(w.b[:n])
	w.b = w.b[n:]
	w.texts = append(w.texts, *p)
}

// span is written like a string.
func (w *wire) span(s *diag.Span) {
	var id uint64
	if !w.reading {
		slot := &w.known.recentSites[uint32(s.Line+s.Col)&63]
		if slot.id > 0 && slot.v == *s {
			w.u64(&slot.id)
			return
		}
		k, ok := w.known.sites[*s]
		if !ok {
			k = len(w.known.sites)
			w.known.sites[*s] = k
		}
		*slot = numbered[diag.Span]{*s, uint64(k) + 1}
		if ok {
			w.u64(&slot.id)
			return
		}
	}
	if w.u64(&id); id > 0 {
		if id > uint64(len(w.sites)) {
			w.bad = true
			return
		}
		*s = w.sites[id-1]
		return
	}
	w.str(&s.File)
	for _, p := range [...]*int32{&s.Line, &s.Col, &s.EndLine, &s.EndCol} {
		v := int64(*p)
		w.i64(&v)
		*p = int32(v)
	}
	if w.reading {
		w.sites = append(w.sites, *s)
	}
}
