package trace

import (
	"bytes"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// filled is an event with every field set to something of its own, so that a forgotten field shows.
func filled(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), n)
		filled(v.Index(1), n)
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + "ä\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n) * 0x01010101 & 0xFFFFFFFF)
	default:
		v.SetInt(-*n)
	}
}

func everyEvent() []Event {
	var events []Event
	n := int64(0)
	for _, make := range newEvent {
		e := make()
		filled(reflect.ValueOf(e).Elem(), &n)
		if s, ok := e.(*Submit); ok { // an argument is either new or a handle
			s.Args[0].New, s.Args[1].T = nil, Tensor{}
		}
		events = append(events, e, make())
	}
	return events
}

func unpacked(pieces ...[]byte) ([]Event, error) {
	var g Reading
	if err := g.Add(pieces...); err != nil {
		return nil, err
	}
	return g.Log().Events(), nil
}

func TestEventsSurviveTheWire(t *testing.T) {
	want := everyEvent()
	got, err := unpacked(NewLog(want...).Pieces()...)
	if err != nil || !reflect.DeepEqual(got, want) {
		for i := range min(len(got), len(want)) {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%T: got %+v, want %+v", want[i], got[i], want[i])
			}
		}
		t.Fatalf("%d events, want %d: %v", len(got), len(want), err)
	}
	for i, e := range want {
		if kind := kindOf(e); reflect.TypeOf(newEvent[kind]()) != reflect.TypeOf(e) {
			t.Errorf("event %d: %T has kind %d", i, e, kind)
		}
	}
}

// A damaged answer is an error or another trace, never a panic or a huge allocation.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte{})
	f.Add(NewLog(everyEvent()...).Pieces()[0])
	f.Add(NewLog(&ScopeBegin{Manual: true, Site: diag.Span{File: "a.py", Line: 3}}, &End{Tasks: 1}).Pieces()[0])
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := unpacked(b)
		if err != nil {
			return
		}
		packed := NewLog(events...).Pieces()
		again, err := unpacked(packed...)
		if err != nil || !reflect.DeepEqual(NewLog(again...).Pieces(), packed) {
			t.Errorf("%d events became %d: %v", len(events), len(again), err)
		}
	})
}

// An event is read into the place of the one before: nothing of that may be left in it.
func TestLogReadsOver(t *testing.T) {
	events := everyEvent()
	var long Retire
	for i := range 40 {
		long.Blocks = append(long.Blocks, Block{Core: int32(i), Start: 1 << 40, Finish: 1 << 41})
	}
	events = append(events, &long)
	slices.Reverse(events) // what has everything comes before what has nothing, and the other way round
	events = append(events, everyEvent()...)
	text := func(events iter.Seq[Event]) string {
		var b bytes.Buffer
		if err := WriteJSON(&b, events); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	log := NewLog(events...)
	if got, want := text(log.All()), text(slices.Values(events)); got != want || log.Len() != len(events) {
		t.Errorf("%d events, got\n%s\nwant\n%s", log.Len(), got, want)
	}
	calls := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { _, own := e.(*Retire); return own })
	if got, want := text(log.Calls()), text(slices.Values(calls)); got != want {
		t.Errorf("calls: got\n%s\nwant\n%s", got, want)
	}
	if d := First(log, log); d != nil {
		t.Errorf("it differs from itself: %+v", d)
	}
}

// The trace of a big run is small: a loop's submits differ in their number.
func TestLogIsSmall(t *testing.T) {
	const tasks = 10000
	site := diag.Span{File: "dir/prog.py", Line: 3, Col: 5}
	args := []Arg{{Dir: "in", T: Tensor{Buf: "ext:0", Shape: []uint32{16, 16}, Strides: []uint32{16, 1}, DType: "FLOAT32"}}}
	var l Log
	for n := range tasks {
		at := uint64(900 * n)
		l.Add(&ScopeBegin{Site: site})
		l.Add(&Submit{N: n, Kind: "aiv", Kernels: []string{"k"}, Args: args, Scalars: []Scalar{{uint64(n), "i64"}}, TimingSlot: -1, Site: site})
		l.Add(&Retire{N: n, Submitted: at, Ready: at, Start: at + 100, Finish: at + 900, Blocks: []Block{{Core: 8, Start: at + 100, Finish: at + 900}}})
		l.Add(&ScopeEnd{Site: site})
	}
	pieces := l.Pieces()
	if n := len(slices.Concat(pieces...)) / tasks; n > 40 {
		t.Errorf("%d bytes for a task", n)
	}
	if len(pieces) < 3 {
		t.Fatalf("%d pieces", len(pieces))
	}
}

// A log that gives its pieces away while it grows is the same at the other end.
func TestLogInPieces(t *testing.T) {
	var whole, given Log
	var read Reading
	take := func(piece []byte) {
		if err := read.Add(slices.Clone(piece)); err != nil {
			t.Fatal(err)
		}
	}
	given.Full = take
	args := []Arg{{Dir: "in", T: Tensor{Buf: "ext:0", Shape: []uint32{16, 16}, Strides: []uint32{16, 1}, DType: "FLOAT32"}}}
	for n := range 10000 {
		s := &Submit{N: n, Kind: "aiv", Kernels: []string{"k"}, Args: args, TimingSlot: -1, Site: diag.Span{File: "p.py", Line: int32(n)}}
		whole.Add(s)
		given.Add(s)
	}
	rest := given.Pieces()
	if len(rest) != 1 || len(rest[0]) > pieceSize+1000 {
		t.Errorf("it kept %d pieces", len(rest))
	}
	take(rest[0])
	if d := First(&whole, read.Log()); d != nil || read.Log().Len() != whole.Len() {
		t.Errorf("%d events of %d: %+v", read.Log().Len(), whole.Len(), d)
	}
	for _, p := range [][]byte{rest[0][:len(rest[0])-1], rest[0]} { // cut short, and without what came before
		if err := new(Reading).Add(p); err == nil {
			t.Error("a damaged piece was read")
		}
	}
}
