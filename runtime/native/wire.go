package native

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// The trace travels from child to parent in a compact form: JSON would cost more than the run. One description of each event serves both directions.

// wire writes to b, or reads from it.
type wire struct {
	b       []byte
	reading bool
	bad     bool           // the input ended early or makes no sense
	known   map[string]int // strings written so far
	texts   []string       // strings read so far
	room
	recent [256]numbered // of those written, by the place of their bytes: most are the same again and again
}

// room holds what is read, in bulk.
type room struct {
	submits chunk[trace.Submit]
	retires chunk[trace.Retire]
	args    chunk[trace.Arg]
	scalars chunk[trace.Scalar]
	news    chunk[trace.NewTensor]
	blocks  chunk[trace.Block]
	strings chunk[string]
	ints    chunk[int]
	u32s    chunk[uint32]
}

type numbered struct {
	s  string
	id int // number + 1
}

// packEvents encodes a trace.
func packEvents(events []trace.Event) []byte {
	w := wire{known: map[string]int{}, b: make([]byte, 0, 64*len(events))}
	for _, e := range events {
		kind := kindOf(e)
		w.b = append(w.b, kind)
		w.event(e)
	}
	return w.b
}

// unpackEvents decodes a trace.
func unpackEvents(b []byte) ([]trace.Event, error) {
	w := wire{b: b, reading: true}
	var events []trace.Event
	for len(w.b) > 0 && !w.bad {
		kind := w.b[0]
		w.b = w.b[1:]
		if int(kind) >= len(newEvent) {
			w.bad = true
			break
		}
		var e trace.Event
		switch kind {
		case kindSubmit:
			e = &w.submits.take(1)[0]
		case kindRetire:
			e = &w.retires.take(1)[0]
		default:
			e = newEvent[kind]()
		}
		w.event(e)
		events = append(events, e)
	}
	if w.bad {
		return nil, errors.New("the trace is damaged")
	}
	return events, nil
}

var newEvent = [...]func() trace.Event{
	func() trace.Event { return new(trace.Run) }, func() trace.Event { return new(trace.Config) }, func() trace.Event { return new(trace.ScopeBegin) },
	func() trace.Event { return new(trace.ScopeEnd) }, func() trace.Event { return new(trace.Alloc) }, func() trace.Event { return new(trace.Submit) },
	func() trace.Event { return new(trace.Read) }, func() trace.Event { return new(trace.Write) }, func() trace.Event { return new(trace.Query) },
	func() trace.Event { return new(trace.Note) }, func() trace.Event { return new(trace.Error) }, func() trace.Event { return new(trace.End) },
	func() trace.Event { return new(trace.Retire) },
}

// The positions in newEvent of the events that there are many of.
const (
	kindSubmit = 5
	kindRetire = 12
)

// kindOf is the position of an event's type in newEvent.
func kindOf(e trace.Event) byte {
	switch e.(type) {
	case *trace.Run:
		return 0
	case *trace.Config:
		return 1
	case *trace.ScopeBegin:
		return 2
	case *trace.ScopeEnd:
		return 3
	case *trace.Alloc:
		return 4
	case *trace.Submit:
		return 5
	case *trace.Read:
		return 6
	case *trace.Write:
		return 7
	case *trace.Query:
		return 8
	case *trace.Note:
		return 9
	case *trace.Error:
		return 10
	case *trace.End:
		return 11
	}
	return 12
}

func (w *wire) event(e trace.Event) {
	switch e := e.(type) {
	case *trace.Run:
		w.str(&e.Name)
	case *trace.Config:
		w.int(&e.Args)
	case *trace.ScopeBegin:
		w.bool(&e.Manual)
		w.span(&e.Site)
	case *trace.ScopeEnd:
		w.span(&e.Site)
	case *trace.Alloc:
		w.int(&e.Call)
		w.int(&e.First)
		list(w, &e.Tensors, &w.news, w.newTensor)
		w.span(&e.Site)
	case *trace.Submit:
		w.submit(e)
	case *trace.Read:
		w.access(&e.T, &e.At, &e.Type, &e.Value, &e.Site)
	case *trace.Write:
		w.access(&e.T, &e.At, &e.Type, &e.Value, &e.Site)
	case *trace.Query:
		w.str(&e.What)
		w.span(&e.Site)
	case *trace.Note:
		w.str(&e.What)
		w.str(&e.Buf)
	case *trace.Error:
		w.str(&e.What)
		w.str(&e.Detail)
	case *trace.End:
		w.int(&e.Tasks)
	case *trace.Retire:
		w.int(&e.N)
		for _, t := range []*uint64{&e.Submitted, &e.Ready, &e.Start, &e.Finish} {
			w.u64(t)
		}
		w.bool(&e.Skipped)
		list(w, &e.Blocks, &w.blocks, w.block)
	}
}

func (w *wire) submit(e *trace.Submit) {
	w.int(&e.N)
	w.str(&e.Kind)
	list(w, &e.Kernels, &w.strings, w.str)
	list(w, &e.Args, &w.args, func(a *trace.Arg) {
		w.str(&a.Dir)
		if optional(w, &a.New) {
			w.newTensor(a.New)
		} else {
			w.tensor(&a.T)
		}
	})
	list(w, &e.Scalars, &w.scalars, func(s *trace.Scalar) {
		w.u64(&s.Bits)
		w.str(&s.Type)
	})
	list(w, &e.Deps, &w.ints, w.int)
	list(w, &e.AllocDeps, &w.ints, w.int)
	for _, b := range []*bool{&e.DupDeps, &e.SyncStart, &e.Early, &e.DumpAll} {
		w.bool(b)
	}
	w.int(&e.Blocks)
	w.int(&e.TimingSlot)
	if optional(w, &e.Pred) {
		w.tensor(&e.Pred.T)
		list(w, &e.Pred.Idx, &w.u32s, w.u32)
		w.str(&e.Pred.Op)
		w.i64(&e.Pred.Target)
	}
	list(w, &e.Dump, &w.ints, w.int)
	w.span(&e.Site)
}

func (w *wire) access(t *trace.Tensor, at *uint64, typ *string, value *uint64, site *diag.Span) {
	w.tensor(t)
	w.u64(at)
	w.str(typ)
	w.u64(value)
	w.span(site)
}

func (w *wire) tensor(t *trace.Tensor) {
	w.str(&t.Buf)
	w.u64(&t.Off)
	list(w, &t.Shape, &w.u32s, w.u32)
	list(w, &t.Strides, &w.u32s, w.u32)
	w.str(&t.DType)
	w.bool(&t.ManualDep)
	list(w, &t.Ops, &w.strings, w.str)
}

func (w *wire) newTensor(t *trace.NewTensor) {
	w.str(&t.Buf)
	list(w, &t.Shape, &w.u32s, w.u32)
	w.str(&t.DType)
	w.bool(&t.ManualDep)
	w.str(&t.Init)
}

func (w *wire) block(x *trace.Block) {
	lane := int64(x.Lane)
	core, block := int64(x.Core), int64(x.Block)
	for _, p := range []*int64{&core, &block, &lane} {
		w.i64(p)
	}
	w.u64(&x.Start)
	w.u64(&x.Finish)
	x.Core, x.Block, x.Lane = int32(core), int32(block), int8(lane)
}

func (w *wire) span(s *diag.Span) {
	w.str(&s.File)
	for _, p := range []*int32{&s.Line, &s.Col, &s.EndLine, &s.EndCol} {
		v := int64(*p)
		w.i64(&v)
		*p = int32(v)
	}
}

func list[T any](w *wire, s *[]T, from *chunk[T], each func(*T)) {
	n := len(*s)
	w.int(&n)
	if w.reading {
		if n < 0 || n > len(w.b) { // an element takes a byte at least
			w.bad = true
			return
		}
		if n > 0 {
			*s = from.take(n)
		}
	}
	for i := range *s {
		each(&(*s)[i])
	}
}

// optional reports whether *p is there, and makes it when it is read.
func optional[T any](w *wire, p **T) bool {
	there := *p != nil
	w.bool(&there)
	if w.reading && there {
		*p = new(T)
	}
	return there
}

func (w *wire) u64(p *uint64) {
	if !w.reading {
		w.b = binary.AppendUvarint(w.b, *p)
		return
	}
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		w.bad, w.b = true, nil
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

func (w *wire) u32(p *uint32) {
	v := uint64(*p)
	w.u64(&v)
	*p = uint32(v)
}

func (w *wire) bool(p *bool) {
	v := uint64(0)
	if *p {
		v = 1
	}
	w.u64(&v)
	*p = v != 0
}

// str writes a string once and then its number: number 0 announces a new one.
func (w *wire) str(p *string) {
	if !w.reading {
		slot := &w.recent[uintptr(unsafe.Pointer(unsafe.StringData(*p)))>>3&255]
		if slot.id > 0 && len(slot.s) == len(*p) && unsafe.StringData(slot.s) == unsafe.StringData(*p) {
			w.b = binary.AppendUvarint(w.b, uint64(slot.id))
			return
		}
		id, ok := w.known[*p]
		if !ok {
			id = len(w.known)
			w.known[*p] = id
			w.b = append(w.b, 0)
			w.b = binary.AppendUvarint(w.b, uint64(len(*p)))
			w.b = append(w.b, *p...)
		} else {
			w.b = binary.AppendUvarint(w.b, uint64(id)+1)
		}
		*slot = numbered{*p, id + 1}
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
