package diag

import (
	"fmt"
	"strings"
	"testing"
)

func edit(line, col, endLine, endCol int32, text string) Edit {
	return Edit{Span{File: "a.py", Line: line, Col: col, EndLine: endLine, EndCol: endCol}, text}
}

func TestApply(t *testing.T) {
	src := "größe = 1\nb = f(größe)\n    c\n"
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string
	}{
		{"none", nil, src},
		{"columns count characters", []Edit{edit(2, 12, 2, 12, ", 2")}, "größe = 1\nb = f(größe, 2)\n    c\n"},
		{"in any order, two at one place in theirs", []Edit{edit(2, 1, 2, 2, "d"), edit(1, 1, 1, 1, "x"), edit(1, 1, 1, 1, "y")}, "xygröße = 1\nd = f(größe)\n    c\n"},
		{"a line goes", []Edit{edit(2, 1, 3, 1, ""), edit(3, 1, 3, 5, "")}, "größe = 1\nc\n"},
		{"past the end", []Edit{edit(9, 1, 9, 1, "z")}, src + "z"},
	} {
		if got := string(Apply([]byte(src), c.edits)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRenderShowsChanges(t *testing.T) {
	src := "a = 1\nb = 2\nc = 3\n"
	d := Errorf("PTO-R080", Span{File: "a.py", Line: 2, Col: 1, EndLine: 2, EndCol: 2}, "m").WithHint("h")
	d.Edits = []Edit{edit(3, 5, 3, 6, "4"), edit(1, 1, 1, 1, "z = 0\n")}
	var b strings.Builder
	(&Renderer{Source: func(string) []byte { return []byte(src) }}).Render(&b, List{d})
	want := "  = help: h\n    1 - a = 1\n    1 + z = 0\n    2 + a = 1\n    3 - c = 3\n    3 + c = 4\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant the end\n%s", b.String(), want)
	}
	if got := fmt.Sprint(Changes([]Edit{edit(7, 1, 7, 2, "x")}, func(string) []byte { return []byte(src) })); got != "[]" {
		t.Errorf("an edit outside of the file: %s", got)
	}
}
