package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Renderer prints reports for people: the place, the source line, a caret under the right columns, related places and the hint.
type Renderer struct {
	// Source returns the text of a file; nil, or a nil result, leaves out source lines.
	Source func(file string) []byte
	Color  bool
}

const (
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	green  = "\x1b[1;32m"
	blue   = "\x1b[1;34m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (r *Renderer) paint(color, s string) string {
	if !r.Color {
		return s
	}
	return color + s + reset
}

// Render writes the reports, separated by blank lines.
func (r *Renderer) Render(w io.Writer, l List) {
	lines := map[string][]string{}
	for i, d := range l {
		if i > 0 {
			fmt.Fprintln(w)
		}
		color := map[Severity]string{Error: red, Warning: yellow, Note: blue}[d.Severity]
		head := d.Severity.String()
		if d.Code != "" {
			head += "[" + string(d.Code) + "]"
		}
		if at := d.Span.String(); at != "" {
			fmt.Fprintf(w, "%s: ", at)
		}
		fmt.Fprintf(w, "%s: %s\n", r.paint(color, head), r.paint(bold, d.Message))
		r.snippet(w, lines, d.Span, color)
		for _, rel := range d.Related {
			if rel.Span != d.Span {
				fmt.Fprintf(w, "%s: %s: %s\n", rel.Span, r.paint(blue, "note"), rel.Message)
				r.snippet(w, lines, rel.Span, blue)
			}
		}
		for _, rel := range d.Related {
			if rel.Span == d.Span { // the line is shown already
				fmt.Fprintf(w, "  %s %s\n", r.paint(blue, "= note:"), rel.Message)
			}
		}
		if d.Hint != "" {
			fmt.Fprintf(w, "  %s %s\n", r.paint(blue, "= help:"), d.Hint)
		}
		if r.Source != nil {
			r.changes(w, d.Edits)
		}
	}
}

// changes shows the lines that a suggested change touches, before and after.
func (r *Renderer) changes(w io.Writer, edits []Edit) {
	for _, c := range Changes(edits, r.Source) {
		for i, l := range c.Old {
			fmt.Fprintf(w, " %4d %s %s\n", c.Line+i, r.paint(red, "-"), l)
		}
		for i, l := range c.New {
			fmt.Fprintf(w, " %4d %s %s\n", c.Line+i, r.paint(green, "+"), l)
		}
	}
}

func (r *Renderer) snippet(w io.Writer, cache map[string][]string, s Span, color string) {
	if r.Source == nil || !s.IsValid() {
		return
	}
	lines, ok := cache[s.File]
	if !ok {
		if src := r.Source(s.File); src != nil {
			lines = strings.Split(string(src), "\n")
		}
		cache[s.File] = lines
	}
	if int(s.Line) > len(lines) {
		return
	}
	text := strings.TrimRight(lines[s.Line-1], "\r")
	no := strconv.Itoa(int(s.Line))
	runes := []rune(text)
	start := min(max(int(s.Col)-1, 0), len(runes))
	end := len(runes)
	if s.EndLine == s.Line || s.EndLine == 0 {
		end = min(max(int(s.EndCol)-1, start+1), max(len(runes), start+1))
	}
	if s.EndLine == 0 && s.Col <= 1 { // only the line is known
		line := strings.TrimRightFunc(text, unicode.IsSpace)
		if code := strings.TrimLeftFunc(line, unicode.IsSpace); code != "" && len(code) < len(line) {
			start, end = utf8.RuneCountInString(line)-utf8.RuneCountInString(code), utf8.RuneCountInString(line)
		}
	}
	const limit = 160 // a line longer than this is shown around the caret only
	lead := ""
	if len(runes) > limit {
		from := max(start-limit/4, 0)
		to := min(from+limit, len(runes))
		if from > 0 {
			lead = "… "
		}
		runes, start, end = runes[from:to], start-from, min(end, to)-from
		text = lead + string(runes)
		start, end = start+utf8.RuneCountInString(lead), end+utf8.RuneCountInString(lead)
		runes = []rune(text)
	}
	pad := make([]rune, start)
	for i := range pad {
		pad[i] = ' '
		if i < len(runes) && runes[i] == '\t' {
			pad[i] = '\t'
		}
	}
	gutter := strings.Repeat(" ", len(no))
	fmt.Fprintf(w, " %s | %s\n %s | %s%s\n", no, text, gutter, string(pad), r.paint(color, strings.Repeat("^", max(end-start, 1))))
}

type jsonSpan struct {
	File    string `json:"file,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Col     int32  `json:"column,omitempty"`
	EndLine int32  `json:"endLine,omitempty"`
	EndCol  int32  `json:"endColumn,omitempty"`
}

// MarshalJSON gives a span as an object whose absent parts are left out.
func (s Span) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonSpan(s))
}

// MarshalJSON gives a list as an array, also when it is empty.
func (l List) MarshalJSON() ([]byte, error) {
	if len(l) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal([]*Diagnostic(l))
}

// MarshalJSON gives a report as an object for tools.
func (d *Diagnostic) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Severity string    `json:"severity"`
		Code     Code      `json:"code,omitempty"`
		Span     Span      `json:"span"`
		Message  string    `json:"message"`
		Hint     string    `json:"hint,omitempty"`
		Related  []Related `json:"related,omitempty"`
		Edits    []Edit    `json:"edits,omitempty"`
	}{d.Severity.String(), d.Code, d.Span, d.Message, d.Hint, d.Related, d.Edits})
}
