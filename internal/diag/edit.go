package diag

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Edit replaces a range of a source file; an empty range inserts.
type Edit struct {
	Span Span   `json:"span"`
	Text string `json:"text"`
}

// Apply returns a file's text with the edits made, all of which are about it. They must not overlap; two at one place are made in the order of the list.
func Apply(src []byte, edits []Edit) []byte {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	offset := func(line, col int32) int {
		if line < 1 || int(line) > len(starts) {
			return len(src)
		}
		i := starts[line-1]
		for ; col > 1 && i < len(src) && src[i] != '\n'; col-- {
			_, n := utf8.DecodeRune(src[i:])
			i += n
		}
		return i
	}
	var out []byte
	at := 0
	for _, e := range sortEdits(edits) {
		from, to := offset(e.Span.Line, e.Span.Col), offset(e.Span.EndLine, e.Span.EndCol)
		from = max(from, at)
		out = append(append(out, src[at:from]...), e.Text...)
		at = max(from, to)
	}
	return append(out, src[at:]...)
}

func sortEdits(edits []Edit) []Edit {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.File, b.Span.File), cmp.Compare(a.Span.Line, b.Span.Line), cmp.Compare(a.Span.Col, b.Span.Col))
	})
	return edits
}

// Change is some lines of a file before and after.
type Change struct {
	File     string
	Line     int // of the first old one
	Old, New []string
}

// Changes lists the lines that edits touch; source gives the text of a file.
func Changes(edits []Edit, source func(file string) []byte) []Change {
	var out []Change
	edits = sortEdits(edits)
	for len(edits) > 0 {
		n, last := 1, edits[0].Span.EndLine // the edits of one run of lines
		for n < len(edits) && edits[n].Span.File == edits[0].Span.File && edits[n].Span.Line <= last+1 {
			last = max(last, edits[n].Span.EndLine)
			n++
		}
		first := edits[0].Span.Line
		lines := strings.Split(string(source(edits[0].Span.File)), "\n")
		if first < 1 || int(last) > len(lines) {
			return nil
		}
		c := Change{File: edits[0].Span.File, Line: int(first), Old: lines[first-1 : last]}
		group := slices.Clone(edits[:n])
		for i := range group {
			group[i].Span.Line -= first - 1
			group[i].Span.EndLine -= first - 1
		}
		c.New = strings.Split(string(Apply([]byte(strings.Join(c.Old, "\n")), group)), "\n")
		out = append(out, c)
		edits = edits[n:]
	}
	return out
}
