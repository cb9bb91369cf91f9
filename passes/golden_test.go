package passes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
)

// prelude stands before the functions of a case, fixtures after them.
const (
	prelude = `import pypto.language as pl
B = pl.dynamic("B")
T = pl.Tensor[[16, 16], pl.FP32]
W = pl.Tensor[[128, 16], pl.FP32]
R = pl.Tensor[[8, 1], pl.INT32]
@pl.program
class P:
`
	fixtures = `
@pl.function(type=pl.FunctionType.AIV)
def k(self, a: T, o: pl.InOut[T]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o

@pl.function(type=pl.FunctionType.AIV)
def k2(self, a: T, b: T, o: pl.InOut[T]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o

@pl.function(type=pl.FunctionType.AIV)
def ks(self, a: T, o: pl.InOut[T], n: pl.Scalar[pl.INDEX]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o

@pl.function(type=pl.FunctionType.AIV)
def gate(self, x: T, rc: pl.InOut[R]) -> R:
    return rc
`
)

func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}

// load reads the functions of a case.
func load(t *testing.T, text string) *ir.Program {
	t.Helper()
	src := prelude + indent(text) + indent(fixtures)
	u, ds := lang.Load("in.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return []byte(src), nil }})
	if ds.HasErrors() {
		t.Fatalf("front end: %v", ds)
	}
	if len(u.Programs) != 1 {
		t.Fatalf("%d programs", len(u.Programs))
	}
	return u.Programs[0]
}

// report writes a diagnostic with its line in the case.
func report(d *diag.Diagnostic) string {
	line := int(d.Span.Line) - strings.Count(prelude, "\n")
	s := fmt.Sprintf("line %d: %s[%s]: %s\n", line, d.Severity, d.Code, d.Message)
	if d.Hint != "" {
		s += "  help: " + d.Hint + "\n"
	}
	return s
}

// Each case is a program, the pass up to which it goes, and what becomes of its function main: printed, or the errors. Warnings come first.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/front/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, until, _ := strings.Cut(string(a.Comment), "until: ")
			ps, err := Until(Default(), strings.TrimSpace(until))
			if err != nil {
				t.Fatal(err)
			}
			p := load(t, string(a.Files[0].Data))
			q, ds := Run(&Context{Ops: ops.Builtin()}, p, ps, Hooks{})
			var got strings.Builder
			for _, d := range ds {
				got.WriteString(report(d))
			}
			if !ds.HasErrors() {
				got.WriteString(ir.PrintFunction(q.Lookup("main"), ir.PrintOptions{Concise: true}))
				if again, _ := Run(&Context{Ops: ops.Builtin()}, load(t, string(a.Files[0].Data)), ps, Hooks{}); ir.Print(again, ir.PrintOptions{}) != ir.Print(q, ir.PrintOptions{}) {
					t.Error("P-INL-10: a second run gives other names")
				}
			}
			if *update {
				a.Files[1].Data = []byte(got.String())
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[1].Data); got.String() != want {
				t.Errorf("%sgot:\n%s\nwant:\n%s", a.Comment, got.String(), want)
			}
		})
	}
}
