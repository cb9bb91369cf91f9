package syntax

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks on any input: no crash; a file in any case; reports with places inside the source; nodes inside the nodes that hold
// them; the text of a node is there.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/grammar.py", "testdata/errors.py"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for chunk := range strings.SplitSeq(string(data), "---\n") {
			f.Add([]byte(chunk))
		}
		for line := range strings.Lines(string(data)) {
			f.Add([]byte(line))
		}
	}
	for _, s := range []string{"f\"{f'{x:{y}}'}\"", "if x:\n\ty\n  z", "(\n[\n{\n", "match x:\n case\n", "\\\n", "x = \\\n", "é𝔘 = '\\N{x}'", "a\x0cb", "\xef\xbb\xbf", "0x", "\"\"\"\\", "f'{", "f'{x!", "f'{x:{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, errs := Parse("a.py", src)
		if file == nil {
			t.Fatal("no file")
		}
		lines := int32(strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(src)), "\n") + 1)
		for _, d := range errs {
			if d.Span.Line < 1 || d.Span.Line > lines+1 || d.Span.Col < 1 || d.Message == "" || d.Code == "" {
				t.Errorf("report %+v of a source of %d lines", d, lines)
			}
		}
		if len(errs) > 0 {
			return // trees of broken statements are dropped; the rest is checked by valid inputs
		}
		var open []Node
		var check func(n Node)
		check = func(n Node) {
			r := n.At()
			if n != Node(file) && (r.Start.Line < 1 || before(r.End, r.Start)) {
				t.Errorf("%T at %v", n, r)
			}
			if k := len(open); k > 1 && !decorator(open[k-1], n) {
				if o := open[k-1].At(); before(r.Start, o.Start) || before(o.End, r.End) {
					t.Errorf("%T at %v is not inside %T at %v", n, r, open[k-1], o)
				}
			}
			open = append(open, n)
			Walk(n, func(m Node) bool {
				if m == n {
					return true
				}
				check(m)
				return false
			})
			open = open[:len(open)-1]
		}
		check(file)
		for _, s := range file.Body {
			if text := file.Text(s.At()); text == "" || !utf8.ValidString(text) {
				t.Errorf("%T at %v has the text %q", s, s.At(), text)
			}
		}
	})
}

func before(a, b Pos) bool { return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col }

// decorator reports whether n decorates the definition outer, which begins after its decorators, or is part of such a definition.
func decorator(outer, n Node) bool {
	var list []Expr
	switch d := outer.(type) {
	case *FunctionDef:
		list = d.Decorators
	case *ClassDef:
		list = d.Decorators
	default:
		return false
	}
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}
