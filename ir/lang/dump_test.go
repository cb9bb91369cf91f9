package lang_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
)

// TestDumps reads printed IR of late stages, as the reference compiler writes it: it must be understood, and printing and reading it again must give an
// Equal program.
func TestDumps(t *testing.T) {
	files, err := filepath.Glob("testdata/dumps/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no dumps", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, p := range loadGolden(t, file).Programs {
				checkRoundTrip(t, p)
			}
		})
	}
}

// TestDumpFields checks that what dumps spell as attributes ends up in the typed fields.
func TestDumpFields(t *testing.T) {
	load := func(file string) *ir.Program {
		src, err := os.ReadFile("testdata/dumps/" + file)
		if err != nil {
			t.Fatal(err)
		}
		unit, errs := loadFiles(map[string]string{"test.py": string(src)}, lang.Options{})
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		return unit.Programs[0]
	}
	p := load("formatted.py")
	if f := p.Lookup("cube"); f.Level != "" || f.Role != "" || len(f.Comments) != 1 {
		t.Errorf("level %q, role %q, comments %q of an AIC function: the first two are derived from its type", f.Level, f.Role, f.Comments)
	}
	var loop *ir.For
	var submit, call *ir.Call
	ir.Inspect(p.Lookup("main").Body, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok {
			loop = f
		}
		ir.Exprs(s, func(e ir.Expr) bool {
			if c, ok := e.(*ir.Call); ok && c.Submit {
				submit = c
			} else if ok {
				call = c
			}
			return true
		})
		return true
	})
	if c := loop.Carries; len(c) != 2 || c[0].Class != ir.CarryAlias || c[1].Class != ir.CarryRebind || c[1].Slots != 4 || len(loop.Attrs) != 0 {
		t.Errorf("carries %+v, attrs %v", c, loop.Attrs)
	}
	if d := submit.Dirs; len(d) != 4 || d[1] != ir.DirInOut || d[2] != ir.DirScalar || d[3] != ir.DirNoDep {
		t.Errorf("directions %v", d)
	}
	if l := submit.Launch; !l.SyncStart || !l.EarlyResolve || l.Predicate == nil || l.CoreNum == nil || len(l.Deps) != 1 || len(l.Dumps) != 1 || len(submit.CompilerDeps) != 1 || len(submit.Attrs) != 0 {
		t.Errorf("launch %+v, compiler deps %v, attrs %v", l, submit.CompilerDeps, submit.Attrs)
	}
	if len(call.Launch.Dumps) != 1 || len(call.Attrs) != 0 {
		t.Errorf("dumps of the plain call: %+v, attrs %v", call.Launch, call.Attrs)
	}
	if f := load("skeleton.py").Lookup("k"); !f.DualAIV || len(f.Attrs) != 0 {
		t.Errorf("dual_aiv_dispatch is %v, attrs %v", f.DualAIV, f.Attrs)
	}
}
