package passes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// pipeline loads DSL text and runs the passes up to and with the named one ("" for all); each is called after every pass.
func pipeline(t testing.TB, src string, opt Options, until string, each func(*Pass, *ir.Program), explain func(string, diag.Span, string)) (*ir.Program, diag.List) {
	t.Helper()
	reg := ops.Builtin()
	unit, ds := lang.Load("prog.py", lang.Options{Ops: reg, ReadFile: func(p string) ([]byte, error) {
		if p == "prog.py" {
			return []byte(src), nil
		}
		return nil, os.ErrNotExist
	}})
	if ds.HasErrors() {
		return nil, ds
	}
	if len(unit.Programs) != 1 {
		t.Fatalf("%d programs in the text", len(unit.Programs))
	}
	ps := Default()
	if until != "" {
		var err error
		if ps, err = Until(ps, until); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &Context{Ops: reg, Options: opt, Explain: explain}
	return Run(ctx, unit.Programs[0], ps, Hooks{After: func(i int, p *Pass, prog *ir.Program) {
		if each != nil {
			each(p, prog)
		}
	}})
}

func showDiags(ds diag.List) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%d: %s %s: %s\n", d.Span.Line, d.Severity, d.Code, d.Message)
		if d.Hint != "" {
			fmt.Fprintf(&b, "   help: %s\n", d.Hint)
		}
	}
	return b.String()
}

// TestTasks runs the programs in testdata/tasks. A file holds a description with behaviour ids, flags on a line "flags:", the program, and what is
// expected: sections "PassName function…" (those functions as printed after the pass), "errors" and "notes PassName". Without a section for
// errors there may be none.
func TestTasks(t *testing.T) {
	files, err := filepath.Glob("testdata/tasks/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var opt Options
			for line := range strings.Lines(string(a.Comment)) {
				if f, ok := strings.CutPrefix(line, "flags:"); ok {
					opt.AutoDeps = strings.Contains(f, "auto_deps")
				}
			}
			src := string(a.Files[0].Data)
			after := map[string]*ir.Program{}
			notes := map[string]string{}
			_, ds := pipeline(t, src, opt, "", func(p *Pass, prog *ir.Program) { after[p.Name] = prog }, func(pass string, at diag.Span, what string) {
				notes[pass] += fmt.Sprintf("%d: %s\n", at.Line, what)
			})
			wantsErrors := false
			for i := 1; i < len(a.Files); i++ {
				f := &a.Files[i]
				var got string
				words := strings.Fields(f.Name)
				switch words[0] {
				case "errors":
					got, wantsErrors = showDiags(ds), true
				case "notes":
					got = notes[words[1]]
				default:
					prog := after[words[0]]
					if prog == nil {
						got = "did not run\n"
						break
					}
					for _, name := range words[1:] {
						fn := prog.Lookup(name)
						if fn == nil {
							got += "no function " + name + "\n"
							continue
						}
						got += ir.PrintFunction(fn, ir.PrintOptions{}) + "\n"
					}
					if len(words) == 1 {
						var names []string
						for _, fn := range prog.Funcs {
							names = append(names, fn.Name)
						}
						got = strings.Join(names, " ") + "\n"
					}
				}
				if *update {
					f.Data = []byte(got)
				} else if got != string(f.Data) {
					t.Errorf("%s:\n--- got\n%s--- want\n%s", f.Name, got, f.Data)
				}
			}
			if !wantsErrors && len(ds) > 0 {
				t.Errorf("unexpected reports:\n%s", showDiags(ds))
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestTaskPassesTwice: the passes that promise it change nothing the second time, and two runs give the same program (X-05, C-HDR-07).
func TestTaskPassesTwice(t *testing.T) {
	files, _ := filepath.Glob("testdata/tasks/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := string(a.Files[0].Data)
		for _, opt := range []Options{{}, {AutoDeps: true}} {
			first, ds := pipeline(t, src, opt, "", nil, nil)
			if ds.HasErrors() {
				continue
			}
			text := ir.Print(first, ir.PrintOptions{})
			second, _ := pipeline(t, src, opt, "", nil, nil)
			if got := ir.Print(second, ir.PrintOptions{}); got != text {
				t.Errorf("%s: two runs differ:\n%s\n%s", file, text, got)
			}
			again, ds := Run(&Context{Ops: ops.Builtin(), Options: opt}, first, []*Pass{returnOrder, callDirections, runtimeScopes, carryClass}, Hooks{})
			if got := ir.Print(again, ir.PrintOptions{}); got != text || ds.HasErrors() {
				t.Errorf("%s: the second run of a pass changed something: %v\n%s\n%s", file, ds, text, got)
			}
		}
	}
}
