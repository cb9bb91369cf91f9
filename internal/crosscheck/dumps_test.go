package crosscheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/irtest"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// TestDumpsContinue checks for every pass that its dump, read back and taken through the passes that follow, gives the same program and the same C++
//
func TestDumpsContinue(t *testing.T) {
	t.Parallel()
	sources := map[string]func(t *testing.T) []*ir.Program{}
	var names []string
	add := func(name string, programs func(t *testing.T) []*ir.Program) {
		names = append(names, name)
		sources[name] = programs
	}
	text := func(name, text string) {
		add(name, func(t *testing.T) []*ir.Program { return loadAll(text) })
	}
	examples := glob(t, "../../examples/*.py")
	if more := os.Getenv("CROSSCHECK_PROGRAMS"); more != "" { // a pattern of program files
		examples = append(examples, glob(t, more)...)
	}
	for _, file := range examples {
		text(filepath.Base(file), read(t, file))
	}
	for _, file := range glob(t, "../../passes/testdata/tasks/*.txtar") {
		for _, f := range txtar.Parse([]byte(read(t, file))).Files {
			if strings.HasSuffix(f.Name, ".py") {
				text(filepath.Base(file), string(f.Data))
			}
		}
	}
	fixtures := read(t, "../../passes/lower/testdata/fixtures.py")
	for _, file := range glob(t, "../../passes/lower/testdata/*.txtar") {
		for _, f := range txtar.Parse([]byte(read(t, file))).Files {
			if name, ok := strings.CutSuffix(f.Name, ".py"); ok {
				head := "@pl.function(type=pl.FunctionType.Orchestration)\n"
				if strings.HasPrefix(string(f.Data), "@") {
					head = ""
				}
				text(filepath.Base(file)+" "+name, fixtures+indented(head+string(f.Data)))
			}
		}
	}
	n := number(t, "CROSSCHECK_DUMPS", 100)
	for seed := range n / 4 {
		text(fmt.Sprint("orchestration ", seed), source(generate(seed)))
	}
	for seed := range n {
		add(fmt.Sprint("random ", seed), func(*testing.T) []*ir.Program { return []*ir.Program{irtest.RandomProgram(seed)} })
	}
	checked := 0
	for i, name := range names {
		for _, p := range sources[name](t) {
			opt := passes.Options{AutoDeps: i%2 == 1 || strings.HasPrefix(name, "dep_")}
			checked += continueDumps(t, name, p, opt)
		}
		if t.Failed() && os.Getenv("CROSSCHECK_DUMPS") == "" {
			return
		}
	}
	t.Logf("%d dumps of %d sources", checked, len(names))
	if checked < 5*len(names) {
		t.Error("too many programs do not compile")
	}
}

// continueDumps checks one program and returns how many dumps there were.
func continueDumps(t *testing.T, name string, p *ir.Program, opt passes.Options) int {
	var last *ir.Program
	dumps := map[int]*ir.Program{}
	final, ds := passes.Run(&passes.Context{Ops: registry, Options: opt}, p, passes.Default(), passes.Hooks{After: func(i int, _ *passes.Pass, p *ir.Program) {
		if p != last {
			dumps[i], last = p, p
		}
	}})
	if ds.HasErrors() {
		return 0
	}
	want := codeOf(final, opt)
	all := passes.Default()
	for i, pass := range all {
		if dumps[i] == nil {
			continue
		}
		stage := passes.DumpName(i, pass)
		text := ir.Print(dumps[i], ir.PrintOptions{})
		unit, ds := lang.Load(stage+".py", lang.Options{Ops: registry, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
		if ds.HasErrors() || len(unit.Programs) != 1 {
			t.Errorf("%s: the dump %s is not read back: %d programs, %v\n%s", name, stage, len(unit.Programs), ds, text)
			return 0
		}
		rest, err := passes.From(all, stage)
		if err != nil {
			t.Fatal(err)
		}
		again, ds := passes.Run(&passes.Context{Ops: registry, Options: opt}, unit.Programs[0], rest, passes.Hooks{})
		if ds.HasErrors() {
			t.Errorf("%s: the dump %s does not go on: %v\n%s", name, stage, ds, text)
			return 0
		}
		if d := ir.Diff(final, again); d != "" {
			t.Errorf("%s: the dump %s gives another program: %s\n%s", name, stage, d, text)
			return 0
		}
		if got := codeOf(again, opt); got != want {
			t.Errorf("%s: the dump %s gives another C++: %s\n%s", name, stage, firstDiff(got, want), text)
			return 0
		}
	}
	return len(dumps)
}

// codeOf is the C++ of all orchestrations of a program, or the errors.
func codeOf(p *ir.Program, opt passes.Options) string {
	var out strings.Builder
	// The order of functions means nothing: dumps have theirs by name.
	for _, f := range slices.SortedFunc(slices.Values(p.Funcs), func(a, b *ir.Function) int { return strings.Compare(a.Name, b.Name) }) {
		if f.Type != ir.Orchestration {
			continue
		}
		file, ds := lower.Lower(p, f, registry, lower.Options{NoManualAllocDeps: opt.NoManualAllocDeps})
		if ds.HasErrors() {
			for _, d := range ds {
				if d.Severity == diag.Error {
					fmt.Fprintln(&out, d.Code, d.Message)
				}
			}
			continue
		}
		code, _ := orch.Print(file, orch.Default())
		out.WriteString(code)
	}
	return out.String()
}

func firstDiff(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func loadAll(text string) []*ir.Program {
	unit, _ := lang.Load("case.py", lang.Options{Ops: registry, ReadFile: func(p string) ([]byte, error) {
		if p != "case.py" {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}})
	return unit.Programs
}

func glob(t *testing.T, pattern string) []string {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing matches %s: %v", pattern, err)
	}
	return files
}

func read(t *testing.T, file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
