package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The test catalogue of spec runtime.md section 8 has 66 cases. Each is a test or a subtest below runtime whose name begins with its number, so that
// `go test ./runtime/... -run '(^Test|/)37'` runs case 37.
func TestCatalogueIsComplete(t *testing.T) {
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	function, subtest := regexp.MustCompile(`^Test(\d\d)[A-Z]`), regexp.MustCompile(`^"(\d\d) `)
	found := map[int]bool{}
	note := func(m []string) {
		if m != nil {
			n, _ := strconv.Atoi(m[1]) // digits, by the pattern
			found[n] = true
		}
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(function.FindStringSubmatch(n.Name.Name))
			case *ast.CompositeLit: // a case of a table begins with its name
				if len(n.Elts) > 0 {
					e := n.Elts[0]
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					if s, ok := e.(*ast.BasicLit); ok {
						note(subtest.FindStringSubmatch(s.Value))
					}
				}
			case *ast.CallExpr: // t.Run("…", func…) or t.Run(fmt.Sprintf("…", …), func…)
				if len(n.Args) > 0 {
					if s, ok := n.Args[0].(*ast.BasicLit); ok {
						note(subtest.FindStringSubmatch(s.Value))
					}
				}
			case *ast.BinaryExpr:
				if s, ok := n.X.(*ast.BasicLit); ok {
					note(subtest.FindStringSubmatch(s.Value))
				}
			case *ast.KeyValueExpr: // a table by name, or a list of names
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if s, ok := e.(*ast.BasicLit); ok {
						note(subtest.FindStringSubmatch(s.Value))
					}
				}
			}
			return true
		})
	}
	for n := 1; n <= 66; n++ {
		if !found[n] {
			t.Errorf("case %d has no test", n)
		}
	}
}
