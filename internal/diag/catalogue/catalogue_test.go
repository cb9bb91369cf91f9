package catalogue

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

const root = "../../.."

// declared finds the constants of type diag.Code in the sources of the repository: code → place.
func declared(t *testing.T) map[diag.Code]string {
	t.Helper()
	codes := map[diag.Code]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if !isCode(v.Type) {
					continue
				}
				for i, x := range v.Values {
					lit, ok := x.(*ast.BasicLit)
					if !ok {
						t.Errorf("%s: a code is a literal", fset.Position(x.Pos()))
						continue
					}
					code, err := strconv.Unquote(lit.Value)
					if err != nil {
						return err
					}
					at := fmt.Sprintf("%s (%s)", fset.Position(x.Pos()), v.Names[i].Name)
					if first, dup := codes[diag.Code(code)]; dup {
						t.Errorf("%s is declared twice: %s and %s", code, first, at)
					}
					codes[diag.Code(code)] = at
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) < 200 {
		t.Fatalf("found only %d codes", len(codes))
	}
	return codes
}

func isCode(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && p.Name == "diag" && s.Sel.Name == "Code"
}

// Every code of the repository has an entry, every entry a code, and no two parts share one.
func TestComplete(t *testing.T) {
	c, err := Parse(readPage(t))
	if err != nil {
		t.Fatal(err)
	}
	codes := declared(t)
	for code, at := range codes {
		if c.Lookup(code) == nil {
			t.Errorf("docs/errors.md has no entry for %s, declared at %s", code, at)
		}
	}
	form := regexp.MustCompile(`^PTO-[A-Z]\d{3}$`)
	for _, e := range c.All() {
		if codes[e.Code] == "" {
			t.Errorf("docs/errors.md explains %s, which no part of ptobuild gives", e.Code)
		}
		if !form.MatchString(string(e.Code)) {
			t.Errorf("%s is not of the form PTO-X000", e.Code)
		}
		if strings.HasSuffix(e.Title, ".") || len(e.Title) > 90 {
			t.Errorf("%s: the title is a short line without full stop: %q", e.Code, e.Title)
		}
		switch e.Lang {
		case "python", "toml", "cpp", "console":
		default:
			t.Errorf("%s: example in %q", e.Code, e.Lang)
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs/errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A whole Python example gives the very report that it stands for.
func TestExamples(t *testing.T) {
	c := Load()
	checked := 0
	for _, e := range c.All() {
		if e.Lang != "python" || e.Fragment {
			continue
		}
		checked++
		t.Run(string(e.Code), func(t *testing.T) {
			ds := compile(c.Prelude + "\n" + e.Example)
			for _, d := range ds {
				if d.Code == e.Code {
					return
				}
			}
			t.Errorf("the example does not give %s but\n%v\n%s", e.Code, ds, e.Example)
		})
	}
	if checked < 70 {
		t.Errorf("only %d examples are whole programs", checked)
	}
	if ds := compile(c.Prelude + "\n@pl.jit\ndef main(x: T, y: pl.Out[T]):\n    y = k(x, y)\n    return y\n"); len(ds) > 0 {
		t.Errorf("the prelude itself has reports: %v", ds)
	}
}

// compile takes a source text through all stages and gives the reports of the first that has errors, and of those before it.
func compile(src string) diag.List {
	registry := ops.Builtin()
	unit, ds := lang.Load("example.py", lang.Options{Ops: registry, ReadFile: func(p string) ([]byte, error) {
		if p == "example.py" {
			return []byte(src), nil
		}
		return nil, fs.ErrNotExist
	}})
	ds = append(ds, unit.Warnings...)
	if ds.HasErrors() {
		return ds
	}
	for _, p := range unit.Programs {
		p, more := passes.Run(&passes.Context{Ops: registry}, p, passes.Default(), passes.Hooks{})
		if ds.Add(more...); more.HasErrors() {
			continue
		}
		for _, f := range p.Funcs {
			if f.Type == ir.Orchestration {
				_, more := lower.Lower(p, f, registry, lower.Options{})
				ds.Add(more...)
			}
		}
	}
	return ds
}

func TestParseRejects(t *testing.T) {
	for page, want := range map[string]string{
		"## D: Names\n### PTO-D001: A\ncause\n":                           "needs a cause",
		"### PTO-D001: A\n":                                               "below a group",
		"## D: Names\n### PTO-E001: A\n":                                  "group D",
		"## D: Names\n### PTO-D001: A\nc\n```python\nx\n":                 "not closed",
		"## D: Names\n### PTO-D001: A\nc\n```python half\nx\n```\nFix: y": "unknown mark",
		"```go\n```\n": "not the one example",
		"## D: N\n### PTO-D002: A\nc\n```toml\nx\n```\nFix: y\n### PTO-D001: B\n": "stands after",
	} {
		if _, err := Parse(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", page, err, want)
		}
	}
	c, err := Parse("intro\n## D: Names\nabout\n### PTO-D001: A\n\none\ntwo\n\nthree\n\n```python\nx = 1\n\ny\n```\n\nFix: do\nthis.\n")
	if err != nil {
		t.Fatal(err)
	}
	e := c.Lookup("PTO-D001")
	if e.Cause != "one two\nthree" || e.Example != "x = 1\n\ny\n" || e.Fix != "do this." {
		t.Errorf("%+v", e)
	}
}
