package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T) (*Disk, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := NewDisk(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func blobPath(dir, kind string, d Digest) string {
	return filepath.Join(dir, kind, d.Hex()[:2], d.Hex())
}

func TestBlobRoundTrip(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	for _, b := range [][]byte{nil, []byte("hello"), bytes.Repeat([]byte{7}, 1<<20)} {
		d, err := s.Put(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, d)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes came back as %d, %v", len(b), len(got), err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("temporary files were left: %v", left)
	}
	if _, err := s.Get(ctx, Of([]byte("never stored"))); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing blob: %v", err)
	}
}

// A damaged entry reads as missing, is removed, and can be stored again.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func(string) error{
		"truncated":  func(p string) error { return os.Truncate(p, 3) },
		"bit flip":   func(p string) error { return os.WriteFile(p, []byte("jello"), 0o666) },
		"emptied":    func(p string) error { return os.Truncate(p, 0) },
		"overlong":   func(p string) error { return os.WriteFile(p, []byte("hello, world"), 0o666) },
		"wrong size": func(p string) error { return os.WriteFile(p, []byte("h"), 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := open(t)
			d, err := s.Put(ctx, []byte("hello"))
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(blobPath(dir, "cas", d)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(ctx, d); !errors.Is(err, ErrNotFound) {
				t.Fatalf("damaged blob: %v", err)
			}
			if _, err := os.Stat(blobPath(dir, "cas", d)); err == nil {
				t.Error("the damaged file is still there")
			}
			if _, err := s.Put(ctx, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if b, err := s.Get(ctx, d); err != nil || string(b) != "hello" {
				t.Errorf("after storing again: %q, %v", b, err)
			}
		})
	}
}

func TestActionResults(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	d, err := s.Put(ctx, []byte("output"))
	if err != nil {
		t.Fatal(err)
	}
	key := NewKey("Test").Str("a", "b").Sum()
	if _, err := s.GetAction(ctx, key); !errors.Is(err, ErrNotFound) {
		t.Errorf("before it is recorded: %v", err)
	}
	want := &ActionResult{ExitCode: 3, Outputs: []OutputFile{{Path: "b", Digest: d, Executable: true}, {Path: "a", Digest: d}}}
	if err := s.PutAction(ctx, key, want); err != nil {
		t.Fatal(err)
	}
	got, err := s.GetAction(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if got.ExitCode != 3 || len(got.Outputs) != 2 || got.Outputs[0] != want.Outputs[1] || got.Outputs[1] != want.Outputs[0] {
		t.Errorf("got %+v", got)
	}
	if x, ok := got.Output("a"); !ok || x != d {
		t.Errorf("output a: %v %v", x, ok)
	}
	// A result whose blobs are gone is no hit.
	if err := os.Remove(blobPath(dir, "cas", d)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetAction(ctx, key); !errors.Is(err, ErrNotFound) {
		t.Errorf("without its blob: %v", err)
	}
}

func TestKeysDoNotRunTogether(t *testing.T) {
	keys := map[Digest]string{}
	for _, f := range [][]string{{"ab", "c"}, {"a", "bc"}, {"a", "b", "c"}, {"abc"}, {"", "abc"}, {"abc", ""}} {
		k := NewKey("m")
		for _, x := range f {
			k.Str(x, x)
		}
		d := k.Sum()
		if other, dup := keys[d]; dup {
			t.Errorf("%v and %s have one key", f, other)
		}
		keys[d] = fmt.Sprint(f)
	}
}

func TestParallelWriters(t *testing.T) {
	s, dir := open(t)
	other, err := NewDisk(dir, nil) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			store := s
			if i%2 == 1 {
				store = other
			}
			b := []byte(strings.Repeat(fmt.Sprint(i%4), 10000))
			for range 20 {
				d, err := store.Put(ctx, b)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := store.Get(ctx, d); err != nil || !bytes.Equal(got, b) {
					t.Errorf("read %d bytes, %v", len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDisk(filepath.Join(file, "cache"), nil); err == nil {
		t.Error("a cache below a file was opened")
	}
}

func FuzzActionResult(f *testing.F) {
	f.Add((&ActionResult{ExitCode: 1, Outputs: []OutputFile{{Path: "x", Digest: Of(nil)}}}).Marshal())
	f.Add([]byte{0x12, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := UnmarshalActionResult(b)
		if err != nil {
			return
		}
		again, err := UnmarshalActionResult(r.Marshal())
		if err != nil || !bytes.Equal(again.Marshal(), r.Marshal()) {
			t.Errorf("%v does not round-trip: %v", r, err)
		}
	})
}

func TestDigestText(t *testing.T) {
	d := Of([]byte("x"))
	if got, err := ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "abc/3", d.Hex(), d.Hex() + "/-1", d.Hex() + "/x", "zz" + d.Hex()[2:] + "/1"} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
