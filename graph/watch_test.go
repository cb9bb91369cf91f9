package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a.py", "1")
	write("build/x", "1")
	ctx, cancel := context.WithCancel(context.Background())
	changes, err := Watch(ctx, root, (&Workspace{Root: root, sources: map[string][]byte{"data.npy": nil}}).Concerns)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, change func()) {
		t.Helper()
		change()
		select {
		case <-changes:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not seen", what)
		}
	}
	expect("a write", func() { write("a.py", "2") })
	expect("an atomic replace", func() {
		write("a.py.tmp", "3")
		if err := os.Rename(filepath.Join(root, "a.py.tmp"), filepath.Join(root, "a.py")); err != nil {
			t.Fatal(err)
		}
	})
	expect("a file in a new folder", func() { write("new/deep/b.py", "1") })
	expect("a second file in the new folder", func() { write("new/deep/c.py", "1") })
	expect("a file that the build reads", func() { write("data.npy", "1") })
	expect("a removal", func() {
		if err := os.Remove(filepath.Join(root, "a.py")); err != nil {
			t.Fatal(err)
		}
	})
	expect("a storm", func() {
		for i := range 500 {
			write(fmt.Sprintf("s%d.py", i), "1")
		}
	})
	for { // the tail of the storm
		select {
		case <-changes:
			continue
		case <-time.After(patience):
		}
		break
	}
	write("build/x", "2")
	write(".git/index", "2")
	write("notes.txt", "2")
	write("log/out.txt", "2")
	select {
	case <-changes:
		t.Error("a change that does not concern the build was reported")
	case <-time.After(10 * quiet):
	}
	cancel()
	for range changes { // closed after cancel
	}
}
