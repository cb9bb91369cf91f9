package lang_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares the printed frontend IR of testdata/golden/*.py with the .ir files beside them.
func TestGolden(t *testing.T) {
	for _, file := range goldenSources(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			unit := loadGolden(t, file)
			var text strings.Builder
			for _, w := range unit.Warnings {
				text.WriteString("# " + w.Error() + "\n")
			}
			for _, p := range unit.Programs {
				text.WriteString(ir.Print(p, ir.PrintOptions{Derived: true}))
			}
			golden := strings.TrimSuffix(file, ".py") + ".ir"
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() != string(want) {
				t.Errorf("the IR differs from %s; run with -update and look at the difference.\n%s", golden, text.String())
			}
		})
	}
}

// TestRoundTrip reads the printed IR of the golden programs back: the result must be an Equal program.
func TestRoundTrip(t *testing.T) {
	for _, file := range goldenSources(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, p := range loadGolden(t, file).Programs {
				checkRoundTrip(t, p)
			}
		})
	}
}

func checkRoundTrip(t *testing.T, p *ir.Program) {
	t.Helper()
	text := ir.Print(p, ir.PrintOptions{Derived: true})
	unit, errs := load(text)
	if errs.HasErrors() || len(unit.Programs) != 1 {
		t.Fatalf("%d programs, errors: %v\n%s", len(unit.Programs), errs, text)
	}
	if d := ir.Diff(p, unit.Programs[0]); d != "" {
		t.Errorf("reading back differs: %s\n%s", d, text)
	}
	if again := ir.Print(unit.Programs[0], ir.PrintOptions{Derived: true}); again != text {
		t.Errorf("printing what was read back gives another text:\n%s\n-- was:\n%s", again, text)
	}
}

// TestSpans checks that every statement and expression knows its place, inside the file.
func TestSpans(t *testing.T) {
	for _, file := range goldenSources(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(src), "\n")
		check := func(what any, at diag.Span) {
			if at.File != "test.py" || at.Line < 1 || int(at.Line) > len(lines) || at.Col < 1 || at.EndLine < at.Line || at.EndLine == at.Line && at.EndCol <= at.Col {
				t.Errorf("%s: %T has the place %+v", file, what, at)
				return
			}
			if int(at.EndLine) > len(lines) || int(at.EndCol) > len(lines[at.EndLine-1])+1 {
				t.Errorf("%s: %T ends outside of the file: %+v", file, what, at)
			}
		}
		for _, p := range loadGolden(t, file).Programs {
			for _, f := range p.Funcs {
				check(f, f.Pos)
				ir.Inspect(f.Body, func(s ir.Stmt) bool {
					check(s, s.Span())
					ir.Exprs(s, func(e ir.Expr) bool { check(e, e.Span()); return true })
					for _, v := range ir.Defs(s) {
						check(v, v.Pos)
					}
					return true
				})
			}
		}
	}
}

func goldenSources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden sources", err)
	}
	return files
}

func loadGolden(t *testing.T, file string) *lang.Unit {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unit, errs := load(string(src))
	for _, d := range errs {
		t.Error(d)
	}
	return unit
}
