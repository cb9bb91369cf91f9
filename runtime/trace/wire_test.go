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

func unpacked(b []byte) ([]Event, error) {
	l, err := ReadLog(b)
	if err != nil {
		return nil, err
	}
	return l.Events(), nil
}

func TestEventsSurviveTheWire(t *testing.T) {
	want := everyEvent()
	got, err := unpacked(NewLog(want...).Bytes())
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
	f.Add(NewLog(everyEvent()...).Bytes())
	f.Add(NewLog(&ScopeBegin{Manual: true, Site: diag.Span{File: "a.py", Line: 3}}, &End{Tasks: 1}).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := unpacked(b)
		if err != nil {
			return
		}
		packed := NewLog(events...).Bytes()
		again, err := unpacked(packed)
		if err != nil || !bytes.Equal(NewLog(again...).Bytes(), packed) {
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
	if n := len(l.Bytes()) / tasks; n > 40 {
		t.Errorf("%d bytes for a task", n)
	}
}
