package lower_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const header = "    @pl.function(type=pl.FunctionType.Orchestration)\n"

// source makes a file of the fixtures and one orchestration function, whose text stands at column 1.
func source(t testing.TB, main string) []byte {
	t.Helper()
	fixtures, err := os.ReadFile("testdata/fixtures.py")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.Write(fixtures)
	if !strings.HasPrefix(main, "@") {
		b.WriteString(header)
	}
	for line := range strings.Lines(main) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

// compile takes the function main of a source text to a plan.
func compile(text []byte, opt passes.Options) (*plan.File, diag.List) {
	reg := ops.Builtin()
	unit, ds := lang.Load("case.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return text, nil }})
	if ds.HasErrors() || len(unit.Programs) == 0 {
		return nil, ds
	}
	p, ds := passes.Run(&passes.Context{Ops: reg, Options: opt}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		return nil, ds
	}
	return lowerMain(p, reg)
}

func lowerMain(p *ir.Program, reg *ops.Registry) (*plan.File, diag.List) {
	return lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
}

// TestGolden compares the C++ of each case with its golden text: the body of the entry function. The archives hold pairs NAME.py and NAME.cpp;
// the name starts with the behaviour ids, "+auto_deps" in it turns the switch on.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, f := range a.Files {
				want[f.Name] = string(f.Data)
			}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				id, ok := strings.CutSuffix(f.Name, ".py")
				if !ok {
					continue
				}
				out.Files = append(out.Files, f)
				plan, ds := compile(source(t, string(f.Data)), passes.Options{AutoDeps: strings.Contains(id, "+auto_deps")})
				if ds.HasErrors() {
					t.Errorf("%s: %v", id, ds)
					continue
				}
				code, _ := orch.Print(plan, orch.Default())
				got := body(code)
				out.Files = append(out.Files, txtar.File{Name: id + ".cpp", Data: []byte(got)})
				if !*update && got != want[id+".cpp"] {
					t.Errorf("%s differs (run with -update to accept)\n%s", id, got)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// body is the text of the entry function after the external tensors, without the common indent.
func body(code string) string {
	_, code, _ = strings.Cut(code, "\nvoid ")
	_, code, _ = strings.Cut(code, "{\n")
	code, _, _ = strings.Cut(code, "\n}\n")
	var b strings.Builder
	for line := range strings.Lines(code + "\n") {
		b.WriteString(strings.TrimPrefix(line, "    "))
	}
	return b.String()
}

// every case compiles against the API header, under every profile that has the calls that it uses.
func TestCompiles(t *testing.T) {
	cxx, err := exec.LookPath("g++")
	if err != nil {
		t.Fatal("the tests need a C++ compiler: ", err)
	}
	include, err := filepath.Abs("../../runtime/include")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range orch.Names() {
		prof := orch.Named(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One translation unit for all cases of a profile: a header costs far more than the cases.
			var unit strings.Builder
			unit.WriteString("#include <cmath>\n#include \"" + prof.Header + "\"\n")
			for _, file := range files {
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for i, f := range a.Files {
					if !strings.HasSuffix(f.Name, ".py") {
						continue
					}
					p, ds := compile(source(t, string(f.Data)), passes.Options{AutoDeps: strings.Contains(f.Name, "+auto_deps")})
					if ds.HasErrors() || len(orch.Check(p, prof)) > 0 {
						continue
					}
					code, _ := orch.Print(p, prof)
					_, code, _ = strings.Cut(code, prof.Header+"\"\n")
					ns := strings.TrimSuffix(filepath.Base(file), ".txtar")
					unit.WriteString("namespace " + ns + "_" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + " {\n")
					unit.WriteString(strings.ReplaceAll(code, `extern "C" {`, "namespace {"))
					unit.WriteString("}\n")
				}
			}
			path := filepath.Join(t.TempDir(), "all.cpp")
			if err := os.WriteFile(path, []byte(unit.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(cxx, "-std=c++17", "-fsyntax-only", "-Wall", "-Wno-narrowing", "-Wno-unused", "-Wno-unused-but-set-variable", "-Werror", "-I", include, path).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// C-HDR-07: the same source gives the same bytes, 100 times over.
func TestDeterministic(t *testing.T) {
	a, err := txtar.ParseFile("testdata/manual.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if !strings.HasSuffix(f.Name, ".py") {
			continue
		}
		text := source(t, string(f.Data))
		first := ""
		for range 100 {
			p, ds := compile(text, passes.Options{})
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			code, lines := orch.Print(p, orch.Default())
			if len(lines) == 0 {
				t.Fatal("no source map")
			}
			if first == "" {
				first = code + plan.Print(p)
			} else if code+plan.Print(p) != first {
				t.Fatalf("%s: two runs differ", f.Name)
			}
		}
	}
}
