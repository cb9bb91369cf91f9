package client_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// killPlugins kills what helpers run of an executable.
func killPlugins(t *testing.T, exe string, helpers []int) int {
	t.Helper()
	n := 0
	for _, h := range helpers {
		for _, p := range children(t, h) {
			if at, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p)); err == nil && at == exe {
				kill(t, p)
				n++
			}
		}
	}
	return n
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
