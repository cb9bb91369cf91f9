// Package ui is how the tool talks: reports with carets, a progress line on a terminal, plain lines elsewhere, JSON for tools.
package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// UI is one command's output. Results go to Out, reports and progress to Err.
type UI struct {
	Out, Err io.Writer
	JSON     bool // results as JSON on Out, reports inside them
	Color    bool
	Live     bool // Err is a terminal: a progress line may be redrawn

	mu     sync.Mutex
	status string // the progress line on the screen
}

// New makes the UI of the process. NO_COLOR and TERM=dumb turn colours off (no-color.org).
func New(asJSON bool) *UI {
	tty := term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb"
	return &UI{Out: os.Stdout, Err: os.Stderr, JSON: asJSON, Color: tty && os.Getenv("NO_COLOR") == "", Live: tty && !asJSON}
}

// Status replaces the progress line; "" removes it. Off a terminal it does nothing.
func (u *UI) Status(format string, args ...any) {
	if !u.Live {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	u.status = fmt.Sprintf(format, args...)
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && len(u.status) >= w {
		u.status = u.status[:max(w-1, 0)]
	}
	fmt.Fprint(u.Err, u.status)
}

func (u *UI) clear() {
	if u.status != "" {
		fmt.Fprint(u.Err, "\r\x1b[K")
		u.status = ""
	}
}

// Printf writes a line of results.
func (u *UI) Printf(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	fmt.Fprintf(u.Out, format, args...)
}

// Write writes results that are long.
func (u *UI) Write(write func(io.Writer) error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	return write(u.Out)
}

// Notef writes a line about the command itself, beside its reports.
func (u *UI) Notef(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	fmt.Fprintf(u.Err, format, args...)
}

// Textf writes a line of results for people; with JSON it writes nothing.
func (u *UI) Textf(format string, args ...any) {
	if !u.JSON {
		u.Printf(format, args...)
	}
}

// Event prints v as one line of JSON: an element of a stream.
func (u *UI) Event(v any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	enc := json.NewEncoder(u.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Report prints reports for people; with JSON they belong into the result instead.
func (u *UI) Report(ds diag.List, source func(string) []byte) {
	if len(ds) == 0 || u.JSON {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	r := diag.Renderer{Source: source, Color: u.Color}
	r.Render(u.Err, ds)
}

// Result prints v as indented JSON.
func (u *UI) Result(v any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	enc := json.NewEncoder(u.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Paint colours a word when colours are on.
func (u *UI) Paint(c Color, s string) string {
	if !u.Color {
		return s
	}
	return string(c) + s + "\x1b[0m"
}

// Color is an ANSI colour.
type Color string

const (
	Red    Color = "\x1b[1;31m"
	Green  Color = "\x1b[1;32m"
	Yellow Color = "\x1b[1;33m"
	Dim    Color = "\x1b[2m"
	Bold   Color = "\x1b[1m"
)

// Plural is "1 test", "2 tests".
var Plural = diag.Plural
