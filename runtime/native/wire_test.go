package native

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/trace"
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

func everyEvent() []trace.Event {
	var events []trace.Event
	n := int64(0)
	for _, make := range newEvent {
		e := make()
		filled(reflect.ValueOf(e).Elem(), &n)
		if s, ok := e.(*trace.Submit); ok { // an argument is either new or a handle
			s.Args[0].New, s.Args[1].T = nil, trace.Tensor{}
		}
		events = append(events, e, make())
	}
	return events
}

func TestEventsSurviveTheWire(t *testing.T) {
	want := everyEvent()
	got, err := unpackEvents(packEvents(want))
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
func FuzzUnpackEvents(f *testing.F) {
	f.Add([]byte{})
	f.Add(packEvents(everyEvent()))
	f.Add(packEvents([]trace.Event{&trace.ScopeBegin{Manual: true, Site: diag.Span{File: "a.py", Line: 3}}, &trace.End{Tasks: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := unpackEvents(b)
		if err != nil {
			return
		}
		packed := packEvents(events)
		again, err := unpackEvents(packed)
		if err != nil || !bytes.Equal(packEvents(again), packed) {
			t.Errorf("%d events became %d: %v", len(events), len(again), err)
		}
	})
}
