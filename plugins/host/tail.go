package host

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
)

// tail keeps the end of what a plugin wrote, and shows all of it to out, if that is not nil.
type tail struct {
	name string
	out  io.Writer

	mu    sync.Mutex
	text  []byte
	line  []byte // the beginning of one that is not complete
	fatal string // the line of the last panic: the stacks that follow are long
	place string // where it was, as " (main.go:31)"
	own   bool   // the line before was a function of package main
}

const tailSize = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = append(t.line, b...)
	for {
		i := bytes.IndexByte(t.line, '\n')
		if i < 0 && len(t.line) < maxLine {
			break
		}
		if i < 0 {
			i = len(t.line) - 1
		}
		t.heard(string(t.line[:i+1]))
		t.line = append(t.line[:0], t.line[i+1:]...)
	}
	t.text = append(t.text, b...)
	if n := len(t.text) - tailSize; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(b), nil
}

// heard takes one line. After a panic of Go come the functions of its stack, the innermost first, each with its place on the next line.
func (t *tail) heard(l string) {
	switch {
	case strings.HasPrefix(l, "panic: "), strings.HasPrefix(l, "fatal error: "):
		t.fatal, t.place = fmt.Sprintf("%.200s", strings.TrimSpace(l)), ""
	case t.fatal != "" && t.place == "" && t.own && strings.HasPrefix(l, "\t"):
		file, _, _ := strings.Cut(strings.TrimSpace(l), " ")
		t.place = " (" + path.Base(file) + ")"
	}
	t.own = strings.HasPrefix(l, "main.")
	if t.out != nil {
		fmt.Fprintf(t.out, "%s: %s", t.name, l)
		if !strings.HasSuffix(l, "\n") {
			fmt.Fprintln(t.out)
		}
	}
}

// last is the line of the last panic, else the last three lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fatal != "" {
		return t.fatal + t.place
	}
	var lines []string
	for l := range strings.Lines(string(t.text)) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, fmt.Sprintf("%.200s", l))
		}
	}
	return strings.Join(lines[max(len(lines)-3, 0):], " / ")
}

// outOfMemory reports the last words of a program that was refused memory.
func outOfMemory(last string) bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "MemoryError", "bad_alloc", "failed to reserve page summary memory"},
		func(s string) bool { return strings.Contains(last, s) })
}
