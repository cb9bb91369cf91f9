package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// children lists the processes that a process started, from /proc.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range tasks {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that ended
		}
		for _, w := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(w)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
	}
	return out
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// running lists the processes of an executable that this process and its children started.
func running(t *testing.T, exe string) []int {
	t.Helper()
	near := children(t, os.Getpid())
	all := slices.Clone(near)
	for _, p := range near {
		all = append(all, children(t, p)...)
	}
	return slices.DeleteFunc(all, func(p int) bool {
		at, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p))
		return err != nil || at != exe
	})
}

// state is the state of a process as in /proc, "" when it is gone.
func state(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

func signal(t *testing.T, pid int, s os.Signal) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(s); err != nil {
		t.Error(err)
	}
}
