package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func many(n int) *State {
	s := &State{Tool: "tool", Builds: 3}
	for i := range n {
		path := fmt.Sprintf("p%04d/m%06d.py", i/100, i)
		s.Files = append(s.Files, File{Path: path, Stamp: 1234, Digest: Digest{1, byte(i)}, DSL: true})
		if i%100 == 0 {
			s.Dirs = append(s.Dirs, Dir{Path: path[:5], Stamp: 4, Listed: true, Names: []string{"x.py"}})
		}
		f := fmt.Sprint("f", i)
		t := Target{Func: f, Span: [4]int32{1, 2, 3, 4}, Key: Digest{byte(i)}, Calls: []string{"scale" + f}, Why: "it is new", Build: 1}
		for _, o := range []string{"orchestration/" + f + ".cpp", "kernels.json", "kernel_config.py", f + ".map.json"} {
			t.Outputs = append(t.Outputs, Output{Path: o, Stamp: 99, Digest: Digest{2, byte(i)}})
		}
		s.Sources = append(s.Sources, Source{Path: path, Units: []Unit{{Inputs: []int32{int32(i)}, Funcs: []Func{{f, 5}, {"scale" + f, 6}}, Targets: []Target{t}}}})
	}
	return s
}

func BenchmarkDecode(b *testing.B) {
	text := many(10000).Encode()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	s := many(10000)
	b.ReportAllocs()
	for b.Loop() {
		s.Encode()
	}
}

func TestRoundTrip(t *testing.T) {
	s := many(500)
	text := s.Encode()
	again, err := Decode(text)
	if err != nil || !reflect.DeepEqual(s, again) {
		t.Fatalf("it does not read back: %v", err)
	}
	for i := 0; i < len(text); i += 1 + len(text)/5000 {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if _, err := Decode(bad); err == nil {
			t.Fatalf("a wrong bit in byte %d was not noticed", i)
		}
		if _, err := Decode(text[:i]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", i, len(text))
		}
	}
}

// Whatever is behind a right checksum, decoding ends with a state or an error.
func FuzzDecode(f *testing.F) {
	f.Add(many(2).Encode()[header:])
	f.Fuzz(func(t *testing.T, b []byte) {
		text := append(append([]byte(magic), 1, 0, 0, 0, 0, 0, 0, 0), b...)
		binary.LittleEndian.PutUint32(text[header-4:], crc32.Checksum(b, castagnoli()))
		if s, err := Decode(text); err == nil {
			s.Encode()
		}
	})
}

func TestRacy(t *testing.T) {
	now := time.Unix(1000, 500)
	for _, x := range []struct {
		changed time.Time
		racy    bool
	}{
		{now.Add(-time.Minute), false},
		{now.Add(-time.Millisecond), true},
		{now.Add(time.Hour), true}, // the clock was set back
		{time.Unix(999, 0), true},  // whole seconds only
		{time.Unix(996, 0), false}, {time.Unix(999, 1), false},
	} {
		if got := Racy(x.changed, now); got != x.racy {
			t.Errorf("a file of %v at %v: racy %v", x.changed, now, got)
		}
	}
}

func TestReplaceLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tempPrefix+"999999999-1"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := many(1).Write(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	if _, err := Replace(filepath.Join(dir, "state", "below"), nil); err == nil {
		t.Error("a file was written below a file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
