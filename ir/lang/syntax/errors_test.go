package syntax

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestErrors parses the chunks of testdata/errors.py. A comment ### "regexp" on a line expects a report there; every report must be
// expected. ### "related" marks a line for the reader only.
func TestErrors(t *testing.T) {
	data, err := os.ReadFile("testdata/errors.py")
	if err != nil {
		t.Fatal(err)
	}
	expectation := regexp.MustCompile(`[ \t]*### (".*")[ \t]*$`)
	base := 0
	for chunk := range strings.SplitSeq(string(data), "---\n") {
		lines := strings.Split(chunk, "\n")
		want := make(map[int32]*regexp.Regexp)
		for i, line := range lines {
			m := expectation.FindStringSubmatchIndex(line)
			if m == nil {
				continue
			}
			text, err := strconv.Unquote(line[m[2]:m[3]])
			if err != nil {
				t.Fatalf("testdata/errors.py:%d: %v", base+i+1, err)
			}
			lines[i] = line[:m[0]]
			if strings.HasSuffix(line[:m[0]], "+") || strings.HasSuffix(line[:m[0]], "as") || strings.HasSuffix(line[:m[0]], "case") || strings.HasSuffix(line[:m[0]], ",") {
				lines[i] += " " // the column of a missing operand is that of the line end
			}
			if text != "related" {
				want[int32(i+1)] = regexp.MustCompile(text)
			}
		}
		_, errs := Parse("errors.py", []byte(strings.Join(lines, "\n")))
		for _, d := range errs {
			place := fmt.Sprintf("testdata/errors.py:%d:%d", base+int(d.Span.Line), d.Span.Col)
			re := want[d.Span.Line]
			if re == nil {
				t.Errorf("%s: unexpected report: %s", place, d.Message)
				continue
			}
			delete(want, d.Span.Line)
			if got := fmt.Sprintf("col %d: %s", d.Span.Col, d.Message); !matches(re, d.Span.Col, d.Message) {
				t.Errorf("%s: got %q, want %s", place, got, re)
			}
			if d.Code == "" || d.Span.File != "errors.py" || d.Span.EndLine < d.Span.Line {
				t.Errorf("%s: incomplete report %+v", place, d)
			}
		}
		for line, re := range want {
			t.Errorf("testdata/errors.py:%d: no report, want %s", base+int(line), re)
		}
		base += len(lines)
	}
}

// matches checks a message against an expectation with an optional "col N: " in front.
func matches(re *regexp.Regexp, col int32, msg string) bool {
	s := re.String()
	if rest, ok := strings.CutPrefix(s, "col "); ok {
		n, pattern, _ := strings.Cut(rest, ": ")
		return n == strconv.Itoa(int(col)) && regexp.MustCompile(pattern).MatchString(msg)
	}
	return re.MatchString(msg)
}

// Every error that a newcomer makes often comes with a way out.
func TestHints(t *testing.T) {
	for src, hint := range map[string]string{
		"if x\n  y = 1\n":             "put ':' at the end",
		"whlie x:\n  y\n":             "did you mean 'while'",
		"if x = 1:\n  y\n":            "'==' compares",
		"x = (1, 2\ny = 3":            "add ')'",
		"if x:\ny = 1":                "'pass'",
		"f(a=1, 2)":                   "positional arguments first",
		"x = “a”":                     `'"'`,
		"a && b":                      "'and'",
		"x++":                         "x += 1",
		"if a:\n p\nelse if b:\n p\n": "elif",
	} {
		_, errs := Parse("a.py", []byte(src))
		if len(errs) != 1 || !strings.Contains(errs[0].Hint, hint) {
			t.Errorf("%q: got %v, want one report with the hint %q", src, errs, hint)
		}
	}
}

// Source that is not text is refused with a place.
func TestSourceText(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = 1\ny = \x00", "a.py:2:5: error[PTO-P002]: source code cannot contain null bytes"},
		{"# hi\nx = '\xff'", "a.py:2:6: error[PTO-P002]: source is not valid UTF-8: byte 0xff (help: save the file as UTF-8)"},
		{"# coding: koi8-r\nx = '\xff'", `a.py:2:6: error[PTO-P002]: source encoding "koi8-r" is not supported: byte 0xff (help: save the file as UTF-8)`},
	} {
		f, errs := Parse("a.py", []byte(c.src))
		if f == nil || len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.src, errs, c.want)
		}
	}
	for _, src := range []string{"\xef\xbb\xbfx = 1\r\ny = 2\r\n", "# -*- coding: latin-1 -*-\nx = '\xe9'\ny = 2", "x = 1\ry = 2"} {
		f, errs := Parse("a.py", []byte(src))
		if len(errs) != 0 || len(f.Body) != 2 {
			t.Errorf("%q: got %d statements, %v", src, len(f.Body), errs)
		}
	}
}

// After errors the File holds everything else.
func TestPartialFile(t *testing.T) {
	f, errs := Parse("a.py", []byte("a = 1\nb = = 2\ndef f():\n    c = 3\n    d e\n    return c\ng = (1,\nh = 4\n"))
	if len(errs) != 3 {
		t.Fatalf("got %v, want 3 reports", errs)
	}
	var names []string
	Walk(f, func(n Node) bool {
		if n, ok := n.(*Name); ok {
			names = append(names, n.ID)
		}
		return true
	})
	if got, want := strings.Join(names, " "), "a c c h"; got != want {
		t.Errorf("names left: %q, want %q", got, want)
	}
}

func TestTooManyErrors(t *testing.T) {
	_, errs := Parse("a.py", []byte(strings.Repeat("a b\n", 5000)))
	if len(errs) != maxErrors+1 || errs[maxErrors].Code != CodeTooMany {
		t.Errorf("got %d reports, the last %v", len(errs), errs[len(errs)-1])
	}
}
