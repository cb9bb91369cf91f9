//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ptobuild/ptobuild/internal/npy"
	"github.com/ptobuild/ptobuild/ir"
)

// bazel is Bazel with its wrapper script left out, which costs 70 ms and looks for other versions.
const bazel = "bazel-4"

var (
	ptobuild string // the binary under test
	rope     string // the plugin of examples/plugins
	userRoot string // where Bazel keeps all it writes; shared, since a server of its own for each workspace takes seconds to start
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ptobuild-e2e-*")
	if err != nil {
		panic(err)
	}
	defer func() {
		_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error { // Bazel protects what it writes
			if err == nil && d.IsDir() {
				_ = os.Chmod(p, 0o777)
			}
			return nil
		})
		_ = os.RemoveAll(dir)
	}()
	userRoot = filepath.Join(dir, "bazel")
	ptobuild = filepath.Join(dir, "bin", "ptobuild")
	build := exec.Command("go", "build", "-o", filepath.Dir(ptobuild)+"/", "../../cmd/...")
	build.Stderr = os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if err := build.Run(); err != nil {
		panic(err)
	}
	plugins := exec.Command("go", "build", "-o", filepath.Join(dir, "plugins")+"/", "../../examples/plugins/rope")
	plugins.Stderr = os.Stderr
	plugins.Env = build.Env
	if err := plugins.Run(); err != nil {
		panic(err)
	}
	rope = filepath.Join(dir, "plugins", "rope")
	return m.Run()
}

// workspace is a Bazel workspace with a server of its own.
type workspace struct {
	*testing.T
	dir  string
	args []string // of every command
}

// open writes the files of an archive of testdata, with the paths of the rules and of ptobuild filled in.
func open(t *testing.T, archive string, args ...string) *workspace {
	t.Helper()
	if _, err := exec.LookPath(bazel); err != nil {
		t.Fatalf("%v: install it with apt-get install bazel-bootstrap, or leave this package out", err)
	}
	rules, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	ar, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t, t.TempDir(), args}
	for i := range ar.Files {
		f := &ar.Files[i]
		f.Data = bytes.ReplaceAll(bytes.ReplaceAll(f.Data, []byte(`"RULES"`), []byte(`"`+rules+`"`)), []byte(`"PTOBUILD"`), []byte(`"`+ptobuild+`"`))
	}
	if err := txtar.Write(ar, w.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := exec.Command(bazel, "--output_user_root="+userRoot, "shutdown")
		cmd.Dir = w.dir
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// try runs Bazel and gives all that it printed, and whether it succeeded.
func (w *workspace) try(command string, args ...string) (string, bool) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), bazel, slices.Concat([]string{"--output_user_root=" + userRoot, command, "--color=no", "--curses=no", "--show_progress_rate_limit=60"}, w.args, args)...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && (!failed || context.Cause(w.Context()) != nil) {
		w.Fatal(err)
	}
	return string(out), err == nil
}

// bazel runs a command that must succeed.
func (w *workspace) bazel(command string, args ...string) string {
	w.Helper()
	out, ok := w.try(command, args...)
	if !ok {
		w.Fatalf("bazel %s %s failed:\n%s", command, strings.Join(args, " "), out)
	}
	return out
}

// fails runs a command that must fail, and wants all of these texts in what it prints.
func (w *workspace) fails(want []string, command string, args ...string) {
	w.Helper()
	out, ok := w.try(command, args...)
	if ok {
		w.Errorf("bazel %s %s succeeded", command, strings.Join(args, " "))
	}
	for _, x := range want {
		if !strings.Contains(out, x) {
			w.Errorf("bazel %s %s does not say %q:\n%s", command, strings.Join(args, " "), x, out)
		}
	}
}

// ran gives the actions that Bazel ran, by how: "2 internal", "1 linux-sandbox"...
func ran(out string) map[string]string {
	m := map[string]string{}
	line := regexp.MustCompile(`INFO: \d+ process(?:es)?: (.*)\.`).FindStringSubmatch(out)
	if line != nil {
		for _, part := range strings.Split(line[1], ", ") {
			n, how, _ := strings.Cut(part, " ")
			m[how] = n
		}
	}
	return m
}

// onlyInternal fails when the command did anything.
func (w *workspace) onlyInternal(out string) {
	w.Helper()
	if r := ran(out); len(r) != 1 || r["internal"] != "1" {
		w.Errorf("something was done:\n%s", out)
	}
}

func (w *workspace) read(name string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *workspace) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o666); err != nil {
		w.Fatal(err)
	}
}

// edit replaces a text in a file.
func (w *workspace) edit(name, old, new string) {
	w.Helper()
	text := w.read(name)
	if !strings.Contains(text, old) {
		w.Fatalf("%s has no %q", name, old)
	}
	w.write(name, strings.Replace(text, old, new, 1))
}

// ptobuild runs the tool itself.
func (w *workspace) ptobuild(args ...string) string {
	w.Helper()
	cmd := exec.Command(ptobuild, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PTOBUILD_CACHE="+filepath.Join(w.dir, ".cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("ptobuild %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// step is a subtest.
func (w *workspace) step(name string, f func(*workspace)) {
	w.Run(name, func(t *testing.T) { f(&workspace{t, w.dir, w.args}) })
}

// zeros writes an array of zeros.
func (w *workspace) zeros(name string, shape ...int64) {
	w.Helper()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	b, err := npy.Marshal(&npy.Array{DType: ir.FP32, Shape: shape, Data: make([]byte, 4*n)})
	if err != nil {
		w.Fatal(err)
	}
	w.write(name, string(b))
}

// One workspace from nothing to green, then what happens to it in daily life.
func TestMonorepo(t *testing.T) {
	w := open(t, "workspace.txtar")
	w.zeros("models/zeros.npy", 64, 32)

	w.step("build and test", func(w *workspace) {
		out := w.bazel("test", "//...")
		if !strings.Contains(out, "Executed 2 out of 2 tests: 2 tests pass") {
			w.Error(out)
		}
		w.onlyInternal(w.bazel("test", "//..."))
	})

	w.step("same bytes as ptobuild", func(w *workspace) {
		w.ptobuild("build")
		const cpp = "orchestration/scale.cpp"
		if got, want := w.read("bazel-bin/models/scale/"+cpp), w.read("build/models/scale/scale/"+cpp); got != want {
			w.Errorf("Bazel made\n%s\nptobuild\n%s", got, want)
		}
	})

	w.step("verdicts as XML", func(w *workspace) {
		out := w.bazel("test", "//models:scale_test", "--nocache_test_results", "--test_filter=wide")
		if !strings.Contains(out, "1 test passes") {
			w.Error(out)
		}
		var names []string
		for _, shard := range []string{"1", "2"} {
			var x struct {
				Cases []struct {
					Name string `xml:"name,attr"`
				} `xml:"testsuite>testcase"`
			}
			if err := xml.Unmarshal([]byte(w.read("bazel-testlogs/models/scale_test/shard_"+shard+"_of_2/test.xml")), &x); err != nil {
				w.Fatal(err)
			}
			for _, c := range x.Cases {
				names = append(names, c.Name)
			}
		}
		if !slices.Equal(names, []string{"scale_wide"}) {
			w.Errorf("ran %q", names)
		}
		w.fails([]string{"models/scale.py:18:9", "out[0, 0] = 3, expected 0", "Executed 1 out of 1 test: 1 fails locally"}, "test", "//models:wrong_test", "--test_output=errors")
		if x := w.read("bazel-testlogs/models/wrong_test/test.xml"); !strings.Contains(x, `failures="1"`) {
			w.Error(x)
		}
		out = w.bazel("test", "//models:own_test", "--runs_per_test=2")
		if !strings.Contains(out, "PASSED in 2 out of 2") && !strings.Contains(out, "Stats over 2 runs") {
			w.Error(out)
		}
	})

	w.step("an edit", func(w *workspace) {
		w.bazel("test", "//...")
		w.edit("models/scale.py", "pl.mul(v", "pl.add(v")
		out := w.bazel("test", "//...")
		if r := ran(out); !strings.Contains(out, "Executed 2 out of 2 tests") || r["linux-sandbox"] == "" {
			w.Error(out)
		}
		w.edit("common/sizes.py", "COLS", "# the same\nCOLS")
		if out := w.bazel("build", "//models:scale_cc"); !strings.Contains(out, "successfully") || ran(out)["linux-sandbox"] != "1" {
			w.Errorf("a comment makes Bazel do more than generate the same C++ again:\n%s", out)
		}
	})

	w.step("worker", func(w *workspace) {
		want := w.read("bazel-bin/models/scale/orchestration/scale.cpp")
		out := w.bazel("build", "--config=worker", "//models:scale", "//models:both")
		if ran(out)["worker"] != "2" {
			w.Errorf("no worker:\n%s", out)
		}
		if got := w.read("bazel-bin/models/scale/orchestration/scale.cpp"); got != want {
			w.Errorf("the worker made\n%s\nwant\n%s", got, want)
		}
		w.edit("models/scale.py", "self.double(x", "self.duble(x")
		w.fails([]string{"models/BUILD.bazel:4:18: Generating orchestration C++ of models/scale.py failed", "models/scale.py:18:20: error[PTO-", "did you mean"},
			"build", "--config=worker", "//models:scale")
		w.edit("models/scale.py", "self.duble(x", "self.double(x")
		w.bazel("build", "--config=worker", "//models:scale")
	})

	w.step("undeclared import", func(w *workspace) {
		w.edit("models/BUILD.bazel", `        ":factor",`, "")
		const rule = "models/BUILD.bazel:4:18: Generating orchestration C++ of models/scale.py failed"
		undeclared := []string{rule, "needs models/factor.py, which //models:scale does not depend on", `"//models:factor"`}
		w.fails(undeclared, "build", "//models:scale", "--strategy=PtoEmit=local") // sees the whole source tree
		w.fails(undeclared, "build", "//models:scale", "--config=worker")
		w.fails([]string{rule, "there is no module 'factor'", "//models:scale does not depend on it: add its target to deps"}, "build", "//models:scale", "--strategy=PtoEmit=sandboxed")
		w.edit("models/BUILD.bazel", `    deps = [`, "    deps = [\n"+`        ":factor",`)
		w.bazel("build", "//models:scale")
	})

	w.step("mistakes in BUILD files", func(w *workspace) {
		good := w.read("models/BUILD.bazel")
		for _, c := range []struct {
			old, new string
			want     []string
		}{
			{`"//common:sizes"`, `"//common:szes"`, []string{"models/BUILD.bazel:4:18", "no such target '//common:szes'"}},
			{`"//common:sizes"`, `"@ptobuild//cc:api"`, []string{"models/BUILD.bazel:4:18", "does not have mandatory providers"}},
			{`"//common:sizes"`, `":scale"`, []string{"models/BUILD.bazel:4:18", "cycle in dependency graph"}},
			{`name = "both"`, `name = "scale"`, []string{"line 21, column 18", "conflicts with existing pto_orchestration rule"}},
			{`functions = ["scale"]`, `functions = ["scole"]`, []string{"models/BUILD.bazel:4:18", "scole.cpp"}},
		} {
			w.edit("models/BUILD.bazel", c.old, c.new)
			w.fails(c.want, "build", "//models:scale")
			w.write("models/BUILD.bazel", good)
		}
		w.bazel("build", "//models:scale")
	})
}

// BUILD files write themselves: a workspace of sources and a Pto.toml goes green without a line of Starlark.
func TestBuildGeneration(t *testing.T) {
	w := open(t, "workspace.txtar")
	for _, name := range []string{"BUILD.bazel", "common/BUILD.bazel", "models/BUILD.bazel"} {
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	out := w.ptobuild("bazel")
	if !strings.Contains(out, "created models/BUILD.bazel") {
		t.Error(out)
	}
	if out := w.bazel("test", "//models/...", "//common/..."); !strings.Contains(out, "1 test passes") {
		t.Errorf("%s\n%s", out, w.read("models/BUILD.bazel"))
	}
	if out := w.ptobuild("bazel", "--mode=diff"); out != "" {
		t.Errorf("a second run changes\n%s", out)
	}
}

// A plugin is a target: its ops work in the C++ and in tests, what it is belongs to the action's key, and one that is not what it should be is refused.
func TestPlugin(t *testing.T) {
	w := open(t, "workspace.txtar")
	program, err := os.ReadFile(rope)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "models/rope_bin"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../examples/plugins/rotary.py")
	if err != nil {
		t.Fatal(err)
	}
	w.write("models/rotary.py", string(source))
	w.write("models/BUILD.bazel", `load("@rules_ptobuild//:defs.bzl", "pto_orchestration", "pto_plugin", "pto_sim_test")

pto_plugin(
    name = "rope",
    executable = "rope_bin",
)

pto_orchestration(
    name = "rotary",
    src = "rotary.py",
    functions = ["rotary"],
    plugins = [":rope"],
)

pto_sim_test(
    name = "rotary_test",
    size = "small",
    scalars = {"start": "100"},
    deps = [":rotary"],
)
`)
	if out := w.bazel("test", "//models/..."); !strings.Contains(out, "1 test passes") {
		t.Error(out)
	}
	w.onlyInternal(w.bazel("test", "//models/..."))

	// With a Pto.toml, which says where the plugin is built in the workspace: the generator names the rule's plugin, and the test takes its program.
	w.write("models/Pto.toml", "[plugins.rope]\npath = \"nowhere/rope\"\nbuild = [\"false\"]\n\n[[test]]\ntarget = \"//rotary:rotary\"\nscalars.start = 3\n")
	w.edit("models/BUILD.bazel", `pto_sim_test(
    name = "rotary_test",
    size = "small",
    scalars = {"start": "100"},
`, `pto_sim_test(
    name = "rotary_test",
    size = "small",
    config = "Pto.toml",
    targets = ["//rotary:rotary"],
`)
	if out := w.bazel("test", "//models/..."); !strings.Contains(out, "1 test passes") {
		t.Error(out)
	}
	w.edit("models/BUILD.bazel", `executable = "rope_bin",`, "executable = \"rope_bin\",\n    sha256 = \""+strings.Repeat("0", 64)+`",`)
	w.fails([]string{"models/BUILD.bazel:9:18: Generating orchestration C++ of models/rotary.py failed", "error[PTO-L003]", "SHA-256"}, "build", "//models:rotary")
}
