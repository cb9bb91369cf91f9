package pack

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func name(s string) *plan.Name { return &plan.Name{Hint: s, Text: s} }

func at(line int32) plan.At {
	return plan.At{Pos: diag.Span{File: "examples/soft \"max\".py", Line: line, Col: 5, EndLine: line, EndCol: 30}}
}

// sample is a plan with kernels of every sort.
func sample(fn string) *plan.File {
	return &plan.File{
		Func: fn, Pos: at(1).Pos,
		Tensors: []plan.Tensor{{Name: name("ext_x"), Param: "x"}, {Name: name("ext_s"), Param: "s", Dir: ir.InOut}, {Name: name("ext_y"), Param: "y", Dir: ir.Out}},
		Kernels: []plan.Kernel{
			{ID: 0, Name: "k", Func: "k", Core: plan.AIV, Signature: []plan.ArgTag{plan.Input, plan.OutputExisting}},
			{ID: 1, Name: "mix_aic", Func: "mix", Core: plan.AIC, Signature: []plan.ArgTag{plan.Input, plan.InOut, plan.NoDep, plan.Output}},
			{ID: 2, Name: "ext", Func: "ext", Core: plan.AIV, External: &ir.External{Source: "kernels/src/ext.cpp", IncludeDirs: []string{"include", "third party"}}},
		},
		Body: []plan.Stmt{
			&plan.Task{At: at(7), Ordinal: 0, Comment: "Task 0: k", Kind: plan.SubmitAIV, Kernels: [3]int{0, -1, -1}, Params: name("params_t0"), Label: "k"},
			&plan.Scope{At: at(8), Body: []plan.Stmt{
				&plan.Dummy{At: at(9), Params: name("params_phase_fence_barrier_0"), Outs: name("phase_fence_barrier_0_outs"), ID: name("b")},
				&plan.Task{At: at(10), Ordinal: 1, Comment: "Group mix", Kind: plan.SubmitMixed, Kernels: [3]int{1, 0, 0}, Mixed: name("mixed_1"), Params: name("params_t1"), Label: "mix"},
			}},
		},
	}
}

func files(f *plan.File) []File {
	code, lines := orch.Print(f, orch.Default())
	return Files(f, code, lines)
}

// C-PKG-01 to C-PKG-04, C-PKG-07: the files of one function.
func TestFiles(t *testing.T) {
	var paths []string
	for _, f := range files(sample("main")) {
		paths = append(paths, f.Path)
		golden := filepath.Join("testdata", strings.ReplaceAll(f.Path, "/", "_"))
		if *update {
			if err := os.WriteFile(golden, f.Content, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(f.Content) != string(want) {
			t.Errorf("%s differs (run with -update to accept)\n%s", f.Path, f.Content)
		}
		if strings.HasSuffix(f.Path, ".json") && !json.Valid(f.Content) {
			t.Errorf("%s is not JSON", f.Path)
		}
	}
	if got := strings.Join(paths, " "); got != "orchestration/main.cpp kernels.json kernel_config.py main.map.json" {
		t.Error(got)
	}
}

// C-HDR-06.
func TestFirstLine(t *testing.T) {
	if c := string(files(sample("main"))[0].Content); !strings.HasPrefix(c, "// Orchestration Function: main\n") {
		t.Errorf("starts with %.60q", c)
	}
}

// C-PKG-05: several functions get a folder each.
func TestSource(t *testing.T) {
	var units []Unit
	for _, fn := range []string{"second", "first"} {
		f := sample(fn)
		code, lines := orch.Print(f, orch.Default())
		units = append(units, Unit{nil, f, code, lines})
	}
	var paths []string
	for _, f := range Source(units) {
		paths = append(paths, f.Path)
	}
	want := "next_levels/second/orchestration/second.cpp next_levels/second/kernels.json next_levels/second/kernel_config.py next_levels/second/second.map.json " +
		"next_levels/first/orchestration/first.cpp next_levels/first/kernels.json next_levels/first/kernel_config.py next_levels/first/first.map.json"
	if got := strings.Join(paths, " "); got != want {
		t.Error(got)
	}
	if one := Source(units[:1]); one[0].Path != "orchestration/second.cpp" {
		t.Errorf("one function: %s", one[0].Path)
	}
}

// The configuration is Python, and says what the plan says.
func TestConfigRuns(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the test needs python3: ", err)
	}
	f := sample("main")
	f.Kernels[2].Name = "odd \"name\"\n"
	script := strings.Replace(string(kernelConfig(f)), "from simpler.task_interface import ArgDirection as _D", "class _D:\n    IN, OUT, INOUT = 'IN', 'OUT', 'INOUT'", 1)
	script = strings.Replace(script, "Path(__file__).parent", "Path('/root')", 1)
	out, err := exec.Command(python, "-c", script+`
print(ORCHESTRATION["source"], ORCHESTRATION["signature"], [(k["func_id"], k["name"], k["core_type"], k.get("signature"), k["source"], k.get("external")) for k in KERNELS])
`).CombinedOutput()
	want := `/root/orchestration/main.cpp ['IN', 'INOUT', 'OUT'] [(0, 'k', 'aiv', ['IN', 'OUT'], '/root/kernels/aiv/k.cpp', None), ` +
		`(1, 'mix_aic', 'aic', ['IN', 'INOUT', 'INOUT', 'OUT'], '/root/kernels/aic/mix_aic.cpp', None), ` +
		`(2, 'odd "name"\n', 'aiv', None, '/root/kernels/src/ext.cpp', True)]`
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

// C-PKG-04: a function without kernels and tensors still gets its configuration.
func TestEmpty(t *testing.T) {
	f := &plan.File{Func: "main"}
	c := string(kernelConfig(f))
	if strings.Contains(c, "ArgDirection") || strings.Contains(c, "signature") || !strings.Contains(c, "KERNELS = [\n]") {
		t.Error(c)
	}
	if got := string(kernelsJSON(f)); got != "{\n  \"kernels\": []\n}\n" {
		t.Error(got)
	}
}

// Programs of one file keep apart, whatever their functions are called; programs of one name too.
func TestSourceOfSeveralPrograms(t *testing.T) {
	a, b, c := &ir.Program{Name: "A"}, &ir.Program{Name: "B"}, &ir.Program{Name: "A"}
	var units []Unit
	for _, x := range []struct {
		p  *ir.Program
		fn string
	}{{a, "main"}, {b, "main"}, {c, "main"}, {b, "other"}} {
		f := sample(x.fn)
		code, lines := orch.Print(f, orch.Default())
		units = append(units, Unit{x.p, f, code, lines})
	}
	var paths []string
	for _, f := range Source(units) {
		if strings.HasSuffix(f.Path, ".cpp") {
			paths = append(paths, f.Path)
		}
	}
	want := "A/orchestration/main.cpp B/next_levels/main/orchestration/main.cpp B/next_levels/other/orchestration/other.cpp A_2/orchestration/main.cpp"
	if got := strings.Join(paths, " "); got != want {
		t.Error(got)
	}
}
