package orch

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestEveryStatementInEveryProfile(t *testing.T) {
	for _, name := range Names() {
		f := everything()
		withoutMissing(f, Named(name))
		got, _ := Print(f, Named(name))
		golden(t, name+".cpp", got)
	}
}

// the golden files compile against the API header.
func TestGoldenFilesCompile(t *testing.T) {
	for _, name := range Names() {
		out, err := exec.Command("g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wno-narrowing", "-Wno-unused", "-Wno-unused-but-set-variable", "-Wno-class-memaccess", "-Werror",
			"-I", "../../runtime/include", filepath.Join("testdata", name+".cpp")).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// withoutMissing takes out what the profile has no call for.
func withoutMissing(f *plan.File, prof *Profile) {
	plan.Walk(f.Body, func(s plan.Stmt) bool {
		switch s := s.(type) {
		case *plan.Task:
			if prof.TimingSlot == "" {
				s.TimingSlot = nil
			}
		case *plan.Create:
			if prof.InitValue == "" {
				s.Init = nil
			}
		}
		return true
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept)\n%s", name, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "got:  " + a + "\nwant: " + b
		}
	}
	return ""
}

// C-HDR-07: the same plan gives the same bytes.
func TestDeterministic(t *testing.T) {
	f := everything()
	first, _ := Print(f, Default())
	for range 100 {
		if again, _ := Print(f, Default()); again != first {
			t.Fatal("two prints of one plan differ")
		}
	}
}

// Each entry of the source map names lines of its own, in order, and the lines of a statement are those of its text.
func TestLineSpans(t *testing.T) {
	code, spans := Print(everything(), Default())
	lines := strings.Split(code, "\n")
	last := 0
	for _, s := range spans {
		if s.First <= last || s.Last < s.First {
			t.Fatalf("lines %d-%d after line %d", s.First, s.Last, last)
		}
		last = s.Last
	}
	at := func(text string) int32 {
		for i, l := range lines {
			if strings.Contains(l, text) {
				for _, s := range spans {
					if s.First <= i+1 && i+1 <= s.Last {
						return s.Span.Line
					}
				}
			}
		}
		return 0
	}
	for text, want := range map[string]int32{
		"void aicpu_orchestration_entry": 10,
		"int64_t e6 =":                   40,
		"Tensor v = ":                    50,
		"params_t1.set_dependencies":     73,
		"rt_submit_aic_task(1":           76,
		"for (int64_t i = 0; i < n":      80,
		"    cur = v;":                   81,
		"if (flag) {":                    86,
		"bar2 = ":                        75,
		"const Tensor& b = ":             70,
	} {
		if got := at(text); got != want {
			t.Errorf("%q comes from line %d, want %d", text, got, want)
		}
	}
}

// A profile without a call for something says so.
func TestCheck(t *testing.T) {
	f := everything()
	for _, c := range []struct{ profile, want string }{
		{"pto2", ""},
		{"simpler-2026-08-04", "PTO-G060"},
		{"simpler-2026-08-21", ""},
		{"simpler-next", "PTO-G061"},
	} {
		var codes []string
		for _, d := range Check(f, Named(c.profile)) {
			codes = append(codes, string(d.Code))
			if !d.Span.IsValid() || d.Hint == "" {
				t.Errorf("%s: report without place or hint: %v", c.profile, d)
			}
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.profile, got, c.want)
		}
	}
}

func TestProfileNames(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "pto2 simpler-2026-08-04 simpler-2026-08-21 simpler-next" {
		t.Error(got)
	}
	if Default().Name != "pto2" || Named("nothing") != nil {
		t.Error("default or unknown profile")
	}
	code, _ := Print(everything(), Default().ForTarget("a5"))
	if !strings.Contains(code, ".launch_spec.set_core_num(") || strings.Contains(code, "set_block_num") {
		t.Error("C-SUB-04: a5 spells the block count set_core_num")
	}
}

// C-HDR-01 to C-HDR-05: the frame of a file, per profile.
func TestFrame(t *testing.T) {
	f := &plan.File{Func: "main", Tensors: []plan.Tensor{{Name: nm("ext_x"), Param: "x", DType: ir.FP32}, {Name: nm("ext_y"), Param: "y", DType: ir.FP32}},
		Scalars: []plan.Scalar{{Name: nm("n"), Union: nm("n_conv"), DType: ir.INDEX}}, Kernels: []plan.Kernel{{Name: "k", Signature: []plan.ArgTag{plan.Input}}}}
	for _, name := range Names() {
		code, _ := Print(f, Named(name))
		rest := code
		for _, part := range []string{"// Orchestration Function: main\n", "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n", "#include \"", "\n\nextern \"C\" {\n\n",
			"aicpu_orchestration_config(const ", "(void)orch_args;\n", ".expected_arg_count = 3", "\n}\n\n", "aicpu_orchestration_entry(const ", "\n}\n\n}  // extern \"C\"\n"} {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: no %q in\n%s", name, part, rest)
			}
			rest = after
		}
		if rest != "" {
			t.Errorf("%s: %q after the end", name, rest)
		}
		visible := strings.Count(code, `__attribute__((visibility("default")))`)
		if oneLine := strings.Contains(code, "{ .expected_arg_count = 3 };"); name == "pto2" && (visible != 0 || !oneLine) || name != "pto2" && (visible != 2 || oneLine) {
			t.Errorf("%s: C-HDR-03: the two functions look like\n%s", name, code)
		}
		if strings.Contains(code, "<vector>") || strings.Contains(code, "signature") {
			t.Errorf("%s: a vector or a signature that nothing asks for", name)
		}
		g := *f
		g.NeedsVector = true
		if code, _ := Print(&g, Named(name)); !strings.Contains(code, "#include <stdio.h>\n#include <vector>\n") {
			t.Errorf("%s: C-HDR-04: no <vector>", name)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	f := everything()
	inner := f.Body[0].(*plan.Scope).Body
	body := make([]plan.Stmt, 0, 100*len(inner))
	for range 100 {
		body = append(body, inner...)
	}
	f.Body = []plan.Stmt{&plan.Scope{Body: body}}
	code, _ := Print(f, Default())
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	for b.Loop() {
		Print(f, Default())
	}
}
