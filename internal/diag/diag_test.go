package diag

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	src := "x = 1\n\ty = größe + wrng\n"
	d := Errorf("PTO-D001", Span{File: "a.py", Line: 2, Col: 14, EndLine: 2, EndCol: 18}, "Undefined variable 'wrng'").
		WithHint("did you mean %q?", "wrong").WithRelated(Span{File: "a.py", Line: 1, Col: 1}, "defined here")
	var b strings.Builder
	(&Renderer{Source: func(string) []byte { return []byte(src) }}).Render(&b, List{d})
	want := strings.Join([]string{
		"a.py:2:14: error[PTO-D001]: Undefined variable 'wrng'",
		" 2 | \ty = größe + wrng",
		"   | \t            ^^^^",
		"a.py:1:1: note: defined here",
		" 1 | x = 1",
		"   | ^",
		`  = help: did you mean "wrong"?`, "",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Of C++ calls only the line is known.
func TestRenderWholeLine(t *testing.T) {
	var b strings.Builder
	(&Renderer{Source: func(string) []byte { return []byte("f();\n\tgé(1);  \n") }}).Render(&b, List{Warningf("PTO-R080", Span{File: "a.cpp", Line: 2, Col: 1}, "message")})
	if want := "a.cpp:2:1: warning[PTO-R080]: message\n 2 | \tgé(1);  \n   | \t^^^^^^\n"; b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

// Places outside the file, absurd columns and huge lines must not break the renderer.
func TestRenderOddPlaces(t *testing.T) {
	long := strings.Repeat("é", 100000)
	for _, s := range []Span{{}, {File: "a.py"}, {File: "a.py", Line: 99, Col: 1}, {File: "a.py", Line: 1, Col: 999999}, {File: "a.py", Line: 1, Col: 50000, EndLine: 1, EndCol: 50005},
		{File: "a.py", Line: 1, Col: 5, EndLine: 1, EndCol: 2}, {File: "gone.py", Line: 1, Col: 1}} {
		var b strings.Builder
		(&Renderer{Color: true, Source: func(f string) []byte {
			if f == "gone.py" {
				return nil
			}
			return []byte(long)
		}}).Render(&b, List{Errorf("PTO-P001", s, "message")})
		if !strings.Contains(b.String(), "message") || len(b.String()) > 2000 {
			t.Errorf("%v: %d bytes", s, b.Len())
		}
	}
}

func TestSortDropsRepeats(t *testing.T) {
	a := Errorf("PTO-P001", Span{File: "b.py", Line: 1, Col: 1}, "one")
	b := Errorf("PTO-P001", Span{File: "a.py", Line: 2, Col: 1}, "two")
	c := Errorf("PTO-P001", Span{File: "a.py", Line: 2, Col: 1}, "two")
	all := List{a, b, c}
	if l := all.Sort(); len(l) != 2 || l[0] != b || l[1] != a || slices.Contains(all, nil) {
		t.Errorf("got %v", l)
	}
}

func TestAsList(t *testing.T) {
	d := Errorf("PTO-P001", Span{}, "one")
	for name, c := range map[string]struct {
		err  error
		want Code
		n    int
	}{
		"nil":        {nil, "", 0},
		"diagnostic": {fmt.Errorf("wrapped: %w", d), "PTO-P001", 1},
		"list":       {List{d, d}, "PTO-P001", 2},
		"other":      {errors.New("disk full"), "PTO-X000", 1},
	} {
		l := AsList(c.err, "PTO-X000")
		if len(l) != c.n || c.n > 0 && l[0].Code != c.want {
			t.Errorf("%s: %v", name, l)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(Warningf("PTO-R001", Span{File: "a.py", Line: 3, Col: 2}, "m").WithHint("h"))
	want := `{"severity":"warning","code":"PTO-R001","span":{"file":"a.py","line":3,"column":2},"message":"m","hint":"h"}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"kernel_add", "kernel_mul", "softmax_rows", "FP32", "sources", "and", "add"}
	for word, want := range map[string]string{"kernel_ad": "kernel_add", "kernle_mul": "kernel_mul", "softmaxrows": "softmax_rows", "FP23": "FP32", "souces": "sources",
		"banana": "", "ad": "add", "a": "", "": "", "FP32": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
