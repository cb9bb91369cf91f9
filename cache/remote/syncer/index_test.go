package syncer

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/ptobuild/ptobuild/cache"
)

func entry(name string) Entry {
	return Entry{cache.NewKey(name).Sum(), &cache.ActionResult{Outputs: []cache.OutputFile{{Path: "out", Digest: cache.Of([]byte(name))}}}}
}

func entries(names ...string) []Entry {
	var es []Entry
	for _, n := range names {
		es = append(es, entry(n))
	}
	return es
}

func TestIndexRoundTrip(t *testing.T) {
	for _, x := range []*index{newIndex(nil), newIndex(entries("a")), newIndex(entries("a", "b", "c"))} {
		b := x.marshal()
		y, err := unmarshalIndex(b)
		if err != nil || !bytes.Equal(y.marshal(), b) {
			t.Errorf("%d entries: %v", len(x.entries), err)
		}
		for n := range b { // one that was cut is an error, or a shorter one
			if y, err := unmarshalIndex(b[:n]); err == nil && len(y.entries) >= len(x.entries) && len(x.entries) > 0 {
				t.Errorf("cut to %d of %d bytes: %d entries", n, len(b), len(y.entries))
			}
		}
	}
}

// What a build used comes first, what others used stays, and the oldest go when there are too many.
func TestIndexWith(t *testing.T) {
	var none *index
	x := none.with(entries("a", "b"))
	if x == nil || len(x.entries) != 2 {
		t.Fatalf("%+v", x)
	}
	if y := x.with(entries("b")); y != nil {
		t.Error("nothing new, and yet another index")
	}
	x = x.with(entries("c", "b"))
	for i, name := range []string{"c", "b", "a"} {
		if n, ok := x.lookup(cache.NewKey(name).Sum()); !ok || n != i {
			t.Errorf("%s is number %d", name, n)
		}
	}
	var many []Entry
	for i := range indexEntries - 1 {
		many = append(many, entry(fmt.Sprint(i)))
	}
	x = x.with(many)
	if _, ok := x.lookup(cache.NewKey("c").Sum()); !ok || len(x.entries) != indexEntries || len(x.at) != indexEntries {
		t.Errorf("%d entries, %d known", len(x.entries), len(x.at))
	}
	if _, ok := x.lookup(cache.NewKey("a").Sum()); ok {
		t.Error("the oldest stayed")
	}
}

func FuzzIndex(f *testing.F) {
	f.Add(newIndex(entries("a", "b")).marshal())
	f.Add([]byte{0x0a, 0x02, 0x0a, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := unmarshalIndex(b)
		if err != nil {
			return
		}
		again, err := unmarshalIndex(x.marshal())
		if err != nil || !bytes.Equal(again.marshal(), x.marshal()) {
			t.Errorf("%d entries do not round-trip: %v", len(x.entries), err)
		}
	})
}
