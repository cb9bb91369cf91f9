package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// A child that was started ahead serves the next run, which is otherwise like any other.
func TestAhead(t *testing.T) {
	e := engineOf(t, "doc000_complete.cpp")
	e.Children.Ahead()
	first, err := e.Children.ahead()
	if err != nil {
		t.Fatal(err)
	}
	e.Children.Ahead() // one is enough
	if again, _ := e.Children.ahead(); again != first {
		t.Error("a second child was started")
	}
	for range 2 {
		runOK(t, e, callsOnly(tiles(3), nil, "a", "b"))
	}
	if first.cmd.ProcessState == nil {
		t.Error("no run used the child")
	}
}

// A child that no run needs ends with Close and leaves nothing behind, nor does one whose parent is gone.
func TestUnusedChildEnds(t *testing.T) {
	c := children(t)
	c.Close() // there is none
	c.Ahead()
	c.Close() // perhaps before it has started
	c.Ahead()
	child, err := c.ahead()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := syscall.Kill(child.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is still there: %v", err)
	}
	c.Close()

	if child, err = startChild(c.Helper); err != nil {
		t.Fatal(err)
	}
	defer child.close()
	child.request.Close() // as the end of the parent does
	if err := child.wait(); err != nil {
		t.Errorf("the child ended with %v", err)
	}
}

// A program that is not there, or is not the one that belongs to this ptobuild, is a report that says how to get the right one.
func TestOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ helper, message, hint string }{
		{filepath.Join(dir, "gone"), "gone, which runs compiled C++, cannot be started: no such file or directory", HelperEnv},
		{dir, ", which runs compiled C++, cannot be started: permission denied", HelperEnv},
		{script("silent", "exit 0\n"), "silent, which runs compiled C++, is not of the same version as this ptobuild", "go install ./cmd/..."},
		{script("older", `printf '\005\000\000\000\000\000\000\000\004v0.1' >&4; exec sleep 60`), "older, which runs compiled C++, is not of the same version as this ptobuild", "go install ./cmd/..."},
	} {
		e := engineOf(t, "doc000_complete.cpp")
		e.Children = NewChildren(c.helper)
		for range 2 { // started ahead, and when it is needed
			e.Children.Ahead()
			_, err := e.Run(context.Background(), callsOnly(tiles(3), nil, "a", "b"))
			ds := diag.AsList(err, "")
			if len(ds) != 1 || ds[0].Code != CodeHost || !strings.HasSuffix(ds[0].Message, c.message) || !strings.Contains(ds[0].Hint, c.hint) {
				t.Errorf("%s: %v", c.helper, err)
			}
		}
		e.Children.Ahead()
		e.Children.Close()
	}
}
