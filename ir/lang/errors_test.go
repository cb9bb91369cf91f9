package lang_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
)

// Files testdata/errors_*.py hold chunks, each a small program with mistakes. A chunk starts with a line "--- KIND name", where KIND says what
// surrounds it (see frames). A comment `### "regexp"` stands on each line that must give a report whose message, code or hint matches; `at "text"` after it
// says what text the report must mark. Nothing else may be reported: follow-up errors and repeats fail the test.

// frames surround the text of a chunk: what comes before it, its indentation, and what comes after it.
var frames = map[string]struct{ before, indent, after string }{
	// main: statements of an orchestration function.
	"main": {header + `
@pl.program
class Program:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, c: I, y: pl.InOut[T], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32]):
`, "        ", kernels},
	// user: the same with auto_scope=False.
	"user": {header + `
@pl.program
class Program:
    @pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)
    def main(self, x: T, c: I, y: pl.InOut[T], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32]):
`, "        ", kernels},
	// kernel: statements of a kernel.
	"kernel": {header + `
@pl.program
class Program:
    @pl.function(type=pl.FunctionType.InCore)
    def body(self, x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32]):
`, "        ", ""},
	// class: methods of a program.
	"class": {header + `
@pl.program
class Program:
`, "    ", kernels},
	// file: a whole file after its imports.
	"file": {header, "", ""},
}

const header = `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
I = pl.Tensor[[8], pl.INT32]
N = 4
NAMES = {"a": 1}
M = pl.dynamic("M")
@pl.inline
def void(a):
    pl.write(a, [0, 0], 1.0)
@pl.inline
def twice(a):
    return a * 2
`

const kernels = `
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.InCore)
    def acc(self, a: T, o: pl.InOut[T]) -> T:
        o = pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), pl.load(o, [0, 0], [16, 16])), [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.InCore)
    def ks(self, a: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.load(a, [n, 0], [1, 16]), [n, 0], o)
        return o
    @pl.function(type=pl.FunctionType.InCore)
    def two(self, a: T, p: pl.Out[T], q: pl.Out[T]) -> tuple[T, T]:
        p = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], p)
        q = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], q)
        return p, q
    @pl.function(type=pl.FunctionType.InCore)
    def gate(self, a: T, rc: pl.Out[I]) -> I:
        return rc
`

type chunk struct {
	kind, name string
	line       int // of the first line of text in the file
	text       string
}

func readChunks(t *testing.T, file string) []chunk {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []chunk
	for i, l := range strings.Split(string(data), "\n") {
		if head, ok := strings.CutPrefix(l, "--- "); ok {
			kind, name, _ := strings.Cut(head, " ")
			out = append(out, chunk{kind: kind, name: name, line: i + 2})
			continue
		}
		if len(out) == 0 {
			continue // the head of the file
		}
		out[len(out)-1].text += l + "\n"
	}
	return out
}

var expectation = regexp.MustCompile(`### ("(?:[^"\\]|\\.)*")(?: at ("(?:[^"\\]|\\.)*"))?`)

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors_*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		for _, c := range readChunks(t, file) {
			t.Run(filepath.Base(file)+"/"+c.name, func(t *testing.T) { checkChunk(t, file, c) })
		}
	}
}

func checkChunk(t *testing.T, file string, c chunk) {
	frame, ok := frames[c.kind]
	if !ok {
		t.Fatalf("%s:%d: unknown kind %q", file, c.line-1, c.kind)
	}
	type want struct {
		re   *regexp.Regexp
		line int
		at   string
		met  bool
	}
	var wants []*want
	var body strings.Builder
	for i, l := range strings.Split(c.text, "\n") {
		for _, m := range expectation.FindAllStringSubmatch(l, -1) {
			pattern, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s:%d: %v", file, c.line+i, err)
			}
			w := &want{re: regexp.MustCompile(pattern), line: c.line + i}
			if m[2] != "" {
				if w.at, err = strconv.Unquote(m[2]); err != nil {
					t.Fatalf("%s:%d: %v", file, c.line+i, err)
				}
			}
			wants = append(wants, w)
		}
		if l = expectation.ReplaceAllString(l, ""); strings.TrimSpace(l) != "" {
			body.WriteString(frame.indent)
		}
		body.WriteString(l + "\n")
	}
	shift := c.line - 1 - strings.Count(frame.before, "\n")
	src := frame.before + body.String() + frame.after
	unit, errs := load(src)
	for _, d := range append(errs, unit.Warnings...) {
		if d.Severity == diag.Note {
			continue
		}
		text := fmt.Sprintf("%s[%s]: %s (%s)", d.Severity, d.Code, d.Message, d.Hint)
		line := int(d.Span.Line) + shift
		met := false
		for _, w := range wants {
			if w.line == line && !w.met && w.re.MatchString(text) {
				w.met, met = true, true
				if got := marked(src, d.Span); w.at != "" && got != w.at {
					t.Errorf("%s:%d: %s: marks %q, want %q", file, line, text, got, w.at)
				}
				break
			}
		}
		if !met {
			t.Errorf("%s:%d:%d: unexpected %s", file, line, d.Span.Col, text)
		}
		if d.Span.EndLine < d.Span.Line || d.Span.EndLine == d.Span.Line && d.Span.EndCol <= d.Span.Col {
			t.Errorf("%s:%d: the report has an empty span %+v: %s", file, line, d.Span, text)
		}
	}
	for _, w := range wants {
		if !w.met {
			t.Errorf("%s:%d: no report matches %q", file, w.line, w.re)
		}
	}
	if len(wants) > 0 && !errs.HasErrors() && len(unit.Programs) == 0 {
		t.Errorf("%s:%d: only warnings, but no program", file, c.line)
	}
}

// marked is the text that a span within one line covers; columns count characters.
func marked(src string, s diag.Span) string {
	line := []rune(strings.Split(src, "\n")[s.Line-1])
	if s.EndLine != s.Line {
		return string(line[s.Col-1:])
	}
	return string(line[s.Col-1 : s.EndCol-1])
}

// load loads source text as test.py.
func load(src string) (*lang.Unit, diag.List) {
	return loadFiles(map[string]string{"test.py": src}, lang.Options{})
}

func loadFiles(files map[string]string, opt lang.Options) (*lang.Unit, diag.List) {
	opt.Ops = registry
	opt.ReadFile = func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("%s: %w", path, errNotExist)
	}
	return lang.Load("test.py", opt)
}

var errNotExist = errors.Join(os.ErrNotExist)

var registry = ops.Builtin()
