// Package diag holds the one kind of report that every part of ptobuild gives to a user: a coded message about a place in a
// source file, with its cause and the way out. It knows nothing of the rest of the project.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Span is a range in a source file. Lines and columns count from 1, columns count characters (not bytes); End* is the position
// just past the last character, 0 when unknown. The zero Span means "no place known".
type Span struct {
	File                       string
	Line, Col, EndLine, EndCol int32
}

// IsValid reports whether the span names a line.
func (s Span) IsValid() bool { return s.Line > 0 }

// String renders "file:line:col", or the parts that are known.
func (s Span) String() string {
	if !s.IsValid() {
		return s.File
	}
	return string(s.Append(make([]byte, 0, len(s.File)+16)))
}

// Append adds what String gives to b.
func (s Span) Append(b []byte) []byte {
	b = append(b, s.File...)
	if s.IsValid() {
		b = strconv.AppendInt(append(b, ':'), int64(s.Line), 10)
		b = strconv.AppendInt(append(b, ':'), int64(s.Col), 10)
	}
	return b
}

// To returns the span from the start of s to the end of e.
func (s Span) To(e Span) Span {
	s.EndLine, s.EndCol = e.EndLine, e.EndCol
	return s
}

// Severity orders reports by how much they matter.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Note
)

func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// Code is the stable name of a kind of report, "PTO-" + a letter for the part that gives it + three digits:
// P syntax, E static evaluation, D the DSL's statements and calls, T types, V the IR verifier, X passes, G lowering and code generation,
// R the simulated runtime, K kernels, W workspace and targets, C cache, L plugins.
type Code string

// Related points at a second place that explains the first.
type Related struct {
	Span    Span   `json:"span"`
	Message string `json:"message"`
}

// Diagnostic is one report. Message says what is wrong in one line; Hint says what to do about it.
type Diagnostic struct {
	Severity Severity
	Code     Code
	Span     Span
	Message  string
	Hint     string
	Related  []Related
	Edits    []Edit // a change of the source that was tried and mends it
	// Operand, when not nil, is the operand of the call at Span that the report is about: whoever has the source makes the place exact.
	Operand *Operand
}

// Operand is one of a call: by position from 0, or by keyword.
type Operand struct {
	Index int
	Name  string
}

// Errorf makes an error report.
func Errorf(code Code, at Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Severity: Error, Code: code, Span: at, Message: fmt.Sprintf(format, args...)}
}

// Warningf makes a warning.
func Warningf(code Code, at Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Severity: Warning, Code: code, Span: at, Message: fmt.Sprintf(format, args...)}
}

// WithHint sets the hint and returns d.
func (d *Diagnostic) WithHint(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// WithRelated adds a related place and returns d.
func (d *Diagnostic) WithRelated(at Span, format string, args ...any) *Diagnostic {
	d.Related = append(d.Related, Related{at, fmt.Sprintf(format, args...)})
	return d
}

// Error makes a Diagnostic usable as an error: "file:line:col: error[CODE]: message".
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if at := d.Span.String(); at != "" {
		b.WriteString(at + ": ")
	}
	fmt.Fprintf(&b, "%s[%s]: %s", d.Severity, d.Code, d.Message)
	if d.Hint != "" {
		b.WriteString(" (help: " + d.Hint + ")")
	}
	return b.String()
}

// List is a batch of reports. As an error it prints one line each.
type List []*Diagnostic

// Add appends reports.
func (l *List) Add(ds ...*Diagnostic) { *l = append(*l, ds...) }

// HasErrors reports whether any entry is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Err returns l as an error, or nil when it holds no error.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort orders reports by file and position, keeping the order of equal ones. The result lacks exact repeats; l keeps them.
func (l List) Sort() List {
	slices.SortStableFunc(l, func(a, b *Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Span.File, b.Span.File), cmp.Compare(a.Span.Line, b.Span.Line), cmp.Compare(a.Span.Col, b.Span.Col))
	})
	return slices.CompactFunc(slices.Clone(l), func(a, b *Diagnostic) bool {
		return a.Span == b.Span && a.Code == b.Code && a.Message == b.Message
	})
}

// AsList turns any error into reports: a List or Diagnostic anywhere in its chain as it is, anything else as one report under code.
func AsList(err error, code Code) List {
	var l List
	var d *Diagnostic
	switch {
	case err == nil:
		return nil
	case errors.As(err, &l):
		return l
	case errors.As(err, &d):
		return List{d}
	}
	return List{Errorf(code, Span{}, "%s", err)}
}
