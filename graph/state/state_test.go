package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
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
		t := Target{Func: f, Span: [4]int32{1, 2, 3, 4}, Key: Digest{1, byte(i)}, Calls: []string{"scale" + f}, Why: "it is new", Build: 1}
		for _, o := range []string{"orchestration/" + f + ".cpp", "kernels.json", "kernel_config.py", f + ".map.json"} {
			t.Outputs = append(t.Outputs, Output{Path: o, Stamp: 99, Digest: Digest{2, byte(i)}})
		}
		s.Sources = append(s.Sources, Source{Path: path, Units: []Unit{{Inputs: []int32{int32(i)}, Funcs: []Func{{f, 5}, {"scale" + f, 6}}, Targets: []Target{t}}}})
	}
	for i := range 3 {
		s.Tests = append(s.Tests, Test{Name: fmt.Sprint("t", i/2), Compiled: i%2 == 1, Target: "//a:b", Key: Digest{1}, Files: []File{{Path: "x.npy", Stamp: 7}}, Why: "it is new", Ran: true})
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

// Whatever is behind right checksums, reading ends with a state or an error.
func FuzzDecode(f *testing.F) {
	s := many(2)
	text := s.Encode()
	f.Add(s.glance(), text[header+len(s.glance())+4:])
	root, err := OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	f.Fuzz(func(t *testing.T, glance, rest []byte) {
		b := binary.LittleEndian.AppendUint32([]byte(magic), version)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(glance)))
		b = append(binary.LittleEndian.AppendUint32(b, sum(b, glance)), glance...)
		b = append(binary.LittleEndian.AppendUint32(b, sum(nil, rest)), rest...)
		if s, err := Decode(b); err == nil {
			s.Encode()
		}
		if g, ok := readGlance(glance); ok {
			_, _, _ = g.Check(root, "build", func(string) bool { return true })
		}
	})
}

// A glance tells the same as the state: which files, folders and outputs are not as they were, and which targets there are.
func TestGlance(t *testing.T) {
	dir := t.TempDir()
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s := many(1000)
	stamp := func(name string) Stamp {
		abs := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(abs, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return LookAt(abs).Stamp
	}
	for i := range s.Files {
		s.Files[i].Stamp = stamp(s.Files[i].Path)
		src := &s.Sources[i]
		for j := range src.Units[0].Targets[0].Outputs {
			o := &src.Units[0].Targets[0].Outputs[j]
			o.Stamp = stamp("build/" + src.Path[:len(src.Path)-3] + "/" + src.Units[0].Targets[0].Func + "/" + o.Path)
		}
	}
	for i := range s.Dirs {
		s.Dirs[i].Stamp = LookAt(filepath.Join(dir, s.Dirs[i].Path)).Stamp
	}
	s.Sources[3].Units[0].Stale = true
	s.Sources[4].Units[0].Targets[0].Key = Digest{}
	s.Sources[5].Units[0].Targets[0].Warnings = []byte("w")
	s.Sources[6].Units = nil
	if err := s.Write(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	check := func() (*Changes, []Known) {
		t.Helper()
		r := Open(filepath.Join(dir, "state"))
		defer r.Close()
		changes, known, err := r.Check(root, "build", func(source string) bool { return source != s.Sources[7].Path })
		if err != nil {
			t.Fatal(err)
		}
		if again, err := r.State(); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("the rest does not read back: %v", err)
		}
		return changes, known
	}
	changes, known := check()
	if !changes.None() {
		t.Errorf("nothing changed, but %+v", changes)
	}
	var told []string
	for _, k := range known {
		if k.Func == "" || !k.Built || len(k.Warnings) > 0 {
			told = append(told, fmt.Sprint(k.Source, " ", k.Func, k.Built, string(k.Warnings)))
		}
	}
	want := []string{"p0000/m000003.py false", "p0000/m000004.py f4false", "p0000/m000005.py f5truew", "p0000/m000006.py false"}
	if !reflect.DeepEqual(told, want) || len(known) != 1000 { // without the source that was not asked for, and with one that is stale
		t.Errorf("%q of %d", told, len(known))
	}
	for _, name := range []string{"p0000/m000007.py", "p0009/m000999.py", "build/p0000/m000007/f7/kernels.json", "build/p0001/m000100/f100/f100.map.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stamp("p0002/new")
	if changes, _ := check(); !reflect.DeepEqual(changes, &Changes{Files: []int{7, 999}, Dirs: []int{2}, Outputs: []TargetAt{{100, 0, 0}}}) {
		t.Errorf("%+v", changes)
	}
	if changes := s.Check(root, "build", func(string) bool { return true }); len(changes.Outputs) != 2 {
		t.Errorf("%+v", changes)
	}
}

// What a cache keeps of one source takes no more memory than that source: a build reads thousands of them.
func TestLoadedIsSmall(t *testing.T) {
	s := many(1)
	l := Loaded{Unit: s.Sources[0].Units[0], Places: make([][]diag.Span, 1)}
	l.Unit.Inputs = nil
	text := l.Encode()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const n = 100
	for range n {
		if _, err := DecodeLoaded(text); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	size := (after.TotalAlloc - before.TotalAlloc) / n
	if size > 8<<10 {
		t.Errorf("%d bytes for a source with one target", size)
	}
}

func TestFindTest(t *testing.T) {
	s := many(1)
	for want, x := range s.Tests {
		if i, ok := s.FindTest(x.Name, x.Compiled); i != want || !ok {
			t.Errorf("%s, %v: at %d, %v", x.Name, x.Compiled, i, ok)
		}
	}
	for name, want := range map[string]int{"": 0, "t": 0, "t0a": 2, "t2": 3} {
		if i, ok := s.FindTest(name, true); i != want || ok {
			t.Errorf("%s: at %d, %v", name, i, ok)
		}
	}
	if i, ok := s.FindTest("t1", true); i != 3 || ok {
		t.Errorf("t1 compiled: at %d, %v", i, ok)
	}
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
