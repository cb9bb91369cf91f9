package trace

import (
	"fmt"
	"iter"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Log is a sequence of events in a compact form, some 50 bytes for a task: big runs make millions of events, and most are read once or never. The
// zero Log is empty.
type Log struct {
	// Full, when set, is given each piece that is complete, for the time of the call, and the log forgets it.
	Full func(piece []byte)

	full [][]byte // pieces that are complete; an event lies in one piece
	w    wire     // writes the last piece
	n    int
}

// pieceSize is where a piece of a log ends. Without pieces a growing log would be copied again and again.
const pieceSize = 64 << 10

// Add appends an event and keeps nothing of it.
func (l *Log) Add(e Event) {
	if l.w.known == nil {
		l.w.known = &known{texts: map[string]int{}, sites: map[diag.Span]int{}}
	}
	switch {
	case len(l.w.b) < pieceSize:
	case l.Full != nil:
		l.Full(l.w.b)
		l.w.b, l.w.what = l.w.b[:0], nil
	default:
		l.full = append(l.full, l.w.b)
		l.w.b = make([]byte, 0, pieceSize+pieceSize/16)
	}
	kind := kindOf(e)
	l.w.b = append(l.w.b, kind)
	if kind != kindRetire {
		l.w.event(e)
	} else { // with its size, so that it can be passed over
		at := len(l.w.b)
		l.w.b = append(l.w.b, 0)
		l.w.event(e)
		if size := len(l.w.b) - at - 1; size < 256 {
			l.w.b[at] = byte(size)
		}
	}
	l.n++
}

// NewLog makes a log of events.
func NewLog(events ...Event) *Log {
	l := new(Log)
	for _, e := range events {
		l.Add(e)
	}
	return l
}

// Len is the number of events.
func (l *Log) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// Pieces is the log for another process, see Reading. It is valid until the next Add.
func (l *Log) Pieces() [][]byte { return append(slices.Clip(l.full), l.w.b) }

// Reading puts a log together from the pieces of another.
type Reading struct {
	log Log
	r   reader
}

// Add takes the next pieces, which it keeps. A damaged one is an error.
func (g *Reading) Add(pieces ...[]byte) error {
	g.log.full = append(g.log.full, pieces...)
	g.r.w.reading, g.r.rest = true, pieces
	for g.r.next() != nil {
		g.log.n++
	}
	if g.r.w.bad {
		return fmt.Errorf("the trace is damaged after %d events", g.log.n)
	}
	return nil
}

// Log is what was read. Nothing can be added to it.
func (g *Reading) Log() *Log { return &g.log }

// All gives the events in order. An event is valid until the next one.
func (l *Log) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		r := l.reader()
		for e := r.next(); e != nil && yield(e); e = r.next() {
		}
	}
}

// Calls is All without retirements.
func (l *Log) Calls() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		r := l.reader()
		for e := r.call(); e != nil && yield(e); e = r.call() {
		}
	}
}

// Events gives the events as a list, each for keeps.
func (l *Log) Events() []Event {
	events := make([]Event, 0, l.Len())
	r := l.reader()
	r.w.keep = true
	for e := r.next(); e != nil; e = r.next() {
		events = append(events, e)
	}
	return events
}

// reader reads the events of a log or a list one by one.
type reader struct {
	w    wire
	rest [][]byte // pieces after that of w
	list []Event
	made [len(newEvent)]Event // events that are read into again and again
	pass bool                 // over retirements, where that is cheap
}

func (l *Log) reader() *reader {
	r := &reader{w: wire{reading: true}}
	if l != nil {
		r.rest = l.Pieces()
	}
	return r
}

// passed stands for a retirement that was passed over.
var passed Event = new(Retire)

// call is the next event that is no retirement, nil after the last one.
func (r *reader) call() Event {
	r.pass = true
	for {
		e := r.next()
		if _, own := e.(*Retire); !own {
			return e
		}
	}
}

// next is the next event, nil after the last one. It is valid until the next call, unless the wire keeps.
func (r *reader) next() Event {
	if len(r.list) > 0 {
		e := r.list[0]
		r.list = r.list[1:]
		return e
	}
	w := &r.w
	for len(w.b) == 0 && len(r.rest) > 0 {
		w.b, r.rest = r.rest[0], r.rest[1:]
	}
	if len(w.b) == 0 || w.bad {
		return nil
	}
	kind := w.b[0]
	w.b = w.b[1:]
	if int(kind) >= len(newEvent) || kind == kindRetire && len(w.b) == 0 {
		w.bad = true
		return nil
	}
	if kind == kindRetire {
		size := int(w.b[0])
		w.b = w.b[1:]
		if r.pass && size > 0 && size <= len(w.b) {
			w.b = w.b[size:]
			return passed
		}
	}
	e := r.made[kind]
	switch {
	case w.keep && kind == kindSubmit:
		e = &w.submits.take(1)[0]
	case w.keep && kind == kindRetire:
		e = &w.retires.take(1)[0]
	case w.keep || e == nil:
		e = newEvent[kind]()
		r.made[kind] = e
	}
	if w.event(e); w.bad {
		return nil
	}
	return e
}
