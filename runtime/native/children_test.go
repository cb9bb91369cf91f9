package native

import (
	"errors"
	"os"
	"syscall"
	"testing"
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

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if child, err = startChild(exe); err != nil {
		t.Fatal(err)
	}
	defer child.close()
	child.request.Close() // as the end of the parent does
	if err := child.wait(); err != nil {
		t.Errorf("the child ended with %v", err)
	}
}

func TestChildThatCannotStart(t *testing.T) {
	c := NewChildren("/no/such/binary")
	c.Ahead()
	if _, err := c.next(); err == nil {
		t.Error("started ahead")
	}
	if _, err := c.next(); err == nil {
		t.Error("started")
	}
	c.Ahead()
	c.Close()
}
