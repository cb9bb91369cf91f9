package graph

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
)

// A site is a workspace on disk for tests.
type site struct {
	t     *testing.T
	root  string
	store cache.Store
}

const program = `import pypto.language as pl
from config import SIZE

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[SIZE, 16], pl.FP32], o: pl.Out[pl.Tensor[[SIZE, 16], pl.FP32]]) -> pl.Tensor[[SIZE, 16], pl.FP32]:
        v = pl.load(a, [0, 0], [SIZE, 16])
        o = pl.store(pl.add(v, 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def one(self, a: pl.Tensor[[SIZE, 16], pl.FP32], o: pl.Out[pl.Tensor[[SIZE, 16], pl.FP32]]) -> pl.Tensor[[SIZE, 16], pl.FP32]:
        o = self.k(a, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def two(self, b: pl.Tensor[[SIZE, 16], pl.FP32], o: pl.Out[pl.Tensor[[SIZE, 16], pl.FP32]]) -> pl.Tensor[[SIZE, 16], pl.FP32]:
        o = self.k(b, o)
        return o
`

// newSite makes a workspace with the targets //a:one, //a:two, //sub/b:one and //sub/b:two and a shared config module.
func newSite(t *testing.T) *site {
	s := &site{t, t.TempDir(), store(t)}
	s.write(ConfigName, "[workspace]\nname = \"site\"\nroots = [\".\"]\n")
	s.write("config.py", "SIZE = 16\n")
	s.write("a.py", program)
	s.write("sub/b.py", strings.Replace(program, "class P", "class Q", 1)) // else they would share results
	return s
}

func (s *site) abs(name string) string { return filepath.Join(s.root, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.abs(name)), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.abs(name), []byte(text), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(s.abs(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *site) remove(name string) {
	s.t.Helper()
	if err := os.RemoveAll(s.abs(name)); err != nil {
		s.t.Fatal(err)
	}
}

// build builds like a process of its own.
func (s *site) build(patterns ...string) *Report {
	s.t.Helper()
	rep, err := s.tryBuild(context.Background(), patterns...)
	if err != nil {
		s.t.Fatal(err)
	}
	return rep
}

func (s *site) tryBuild(ctx context.Context, patterns ...string) (*Report, error) {
	return s.tryBuildWith(ctx, BuildOptions{KeepGoing: true, Store: s.store}, patterns...)
}

func (s *site) tryBuildWith(ctx context.Context, opt BuildOptions, patterns ...string) (*Report, error) {
	session, err := OpenSession(s.root, os.Args[0], func(string) string { return "tool" })
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var ps []Pattern
	for _, p := range patterns {
		x, err := ParsePattern(p, "")
		if err != nil {
			return nil, err
		}
		ps = append(ps, x)
	}
	if rep := session.Unchanged(Request{}, ps); rep != nil {
		return rep, nil
	}
	ws, ds := session.Open()
	if ds.HasErrors() {
		return nil, ds
	}
	b, err := NewBuilder(ctx, ws, "")
	if err != nil {
		return nil, err
	}
	return session.Build(ctx, b, ps, opt), nil
}

// outputs reads all files below the output folder.
func (s *site) outputs() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.abs(OutDir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == s.abs(commandsFile) { // that has the path of the workspace in it
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(s.root, p)
		out[rel] = string(b)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return out
}

// clean gives the outputs of a build of the same sources without any state.
func (s *site) clean() map[string]string {
	s.t.Helper()
	c := &site{s.t, s.t.TempDir(), nil}
	if err := os.CopyFS(c.root, skipState{os.DirFS(s.root)}); err != nil {
		s.t.Fatal(err)
	}
	c.build()
	return c.outputs()
}

type skipState struct{ fs.FS }

func (f skipState) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	kept := entries[:0]
	for _, e := range entries {
		if e.Name() != OutDir && e.Name() != StateDir {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// ran counts the actions that ran, by their first letters.
func ran(r *Report) string {
	var parts []string
	for _, action := range slices.Sorted(maps.Keys(r.Ran)) {
		parts = append(parts, fmt.Sprint(action[:1], r.Ran[action]))
	}
	return strings.Join(parts, " ")
}

func written(r *Report) string {
	var names []string
	for _, o := range r.Targets {
		if len(o.Written) > 0 {
			names = append(names, o.Label.String())
		}
	}
	return strings.Join(names, " ")
}

// The correctness matrix: what is done after each kind of change, and that the outputs are those of a clean build.
func TestChanges(t *testing.T) {
	for _, x := range []struct {
		name    string
		change  func(s *site)
		ran     string // actions: Load, Passes, Generate
		written string
	}{
		{"nothing", func(s *site) {}, "", ""},
		{"touch", func(s *site) {
			now := time.Now()
			if err := os.Chtimes(s.abs("a.py"), now, now); err != nil {
				t.Fatal(err)
			}
		}, "", ""},
		{"edit", func(s *site) {
			s.write("a.py", strings.Replace(program, "self.k(a, o)", "self.k(a, o)\n        o = self.k(a, o)", 1))
		}, "G1 L1 P1", "//a:one //a:two"},
		{"edit of one function, no line moved", func(s *site) {
			s.write("a.py", strings.ReplaceAll(strings.ReplaceAll(program, "k(b, o)", "k(c, o)"), "b: pl", "c: pl"))
		}, "G1 L1 P1", "//a:two"},
		{"new content, old time", func(s *site) {
			info, err := os.Stat(s.abs("config.py"))
			if err != nil {
				t.Fatal(err)
			}
			s.write("config.py", "SIZE = 32\n")
			if err := os.Chtimes(s.abs("config.py"), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "G4 L2 P4", ""}, // the shape is part of the interface of a kernel
		{"deleted output", func(s *site) { s.remove("build/a/one/kernels.json") }, "", "//a:one"},
		{"deleted outputs", func(s *site) { s.remove("build") }, "", "//a:one //a:two //sub/b:one //sub/b:two"},
		{"hand-edited output", func(s *site) { s.write("build/sub/b/two/orchestration/two.cpp", "// mine") }, "", "//sub/b:two"},
		{"touched output", func(s *site) {
			name := "build/sub/b/two/orchestration/two.cpp"
			s.write(name, s.read(name))
		}, "", ""},
		{"edit and restore", func(s *site) { s.write("a.py", "x"); s.write("a.py", program) }, "", ""},
		{"replaced by a rename", func(s *site) {
			s.write("new", strings.Replace(program, "add(v, 1.0)", "add(v, 2.0)", 1))
			if err := os.Rename(s.abs("new"), s.abs("a.py")); err != nil {
				t.Fatal(err)
			}
		}, "L1 P2", ""},
		{"new source", func(s *site) { s.write("sub/c.py", program) }, "L1", "//sub/c:one //sub/c:two"},
		{"new source in a new folder", func(s *site) { s.write("x/y/c.py", program) }, "L1", "//x/y/c:one //x/y/c:two"},
		{"renamed source", func(s *site) {
			if err := os.Rename(s.abs("a.py"), s.abs("z.py")); err != nil {
				t.Fatal(err)
			}
		}, "L1", "//z:one //z:two"},
		{"deleted source", func(s *site) { s.remove("sub") }, "", ""},
		{"a function goes", func(s *site) { s.write("a.py", program[:strings.LastIndex(program, "    @pl")]) }, "L1", ""},
		{"an import that shadows another appears", func(s *site) { s.write("sub/config.py", "SIZE = 48\n") }, "G2 L1 P2", ""},
		{"the profile", func(s *site) {
			s.write(ConfigName, "[workspace]\nroots = [\".\"]\n[build]\nprofile = \"simpler-next\"\n")
		}, "G4 L2 P4", "//a:one //a:two //sub/b:one //sub/b:two"},
		{"a name in Pto.toml", func(s *site) { s.write(ConfigName, "[workspace]\nname = \"other\"\nroots = [\".\"]\n") }, "", ""},
		{"what is a source", func(s *site) { s.write(ConfigName, "[workspace]\nroots = [\".\"]\nsources = [\"sub/*.py\"]\n") }, "", ""},
		{"the state is gone", func(s *site) { s.remove(stateFile) }, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if r := s.build(); ran(r) != "G4 L2 P4" || r.Diagnostics.HasErrors() || len(r.Targets) != 4 {
				t.Fatalf("first build: %s, %v", ran(r), r.Diagnostics)
			}
			if r := s.build(); len(r.Ran) != 0 {
				t.Fatalf("second build: %v", r.Ran)
			}
			x.change(s)
			r := s.build()
			if r.Diagnostics.HasErrors() {
				t.Fatal(r.Diagnostics)
			}
			if ran(r) != x.ran || written(r) != x.written {
				t.Errorf("ran %q, want %q; wrote %q, want %q", ran(r), x.ran, written(r), x.written)
			}
			if got, want := s.outputs(), s.clean(); !maps.Equal(got, want) {
				t.Errorf("outputs differ from those of a clean build: %v, want %v", sortedKeys(got), sortedKeys(want))
			}
			if r := s.build(); len(r.Ran) != 0 || written(r) != "" {
				t.Errorf("the build after it: %v ran, wrote %q", r.Ran, written(r))
			}
		})
	}
}

// Errors come with every build until they are mended, and then are gone; what they hide is built again without being made anew.
func TestErrorsAreNotForgotten(t *testing.T) {
	s := newSite(t)
	s.build()
	before := s.outputs()
	s.write("a.py", strings.Replace(program, "return o", "return q", 1))
	for range 2 {
		if r := s.build(); !r.Diagnostics.HasErrors() || ran(r) != "L1" {
			t.Fatalf("%s, %v", ran(r), r.Diagnostics)
		}
	}
	if r := s.build("//sub/..."); r.Diagnostics.HasErrors() {
		t.Errorf("a target that has no part in it: %v", r.Diagnostics)
	}
	s.write("a.py", program)
	if r := s.build(); r.Diagnostics.HasErrors() || ran(r) != "" || !maps.Equal(before, s.outputs()) {
		t.Errorf("after mending: %s, %v", ran(r), r.Diagnostics)
	}
}

// A build of a part leaves the rest to the next build.
func TestPatternsBuildAPart(t *testing.T) {
	s := newSite(t)
	if r := s.build("//sub/b:one"); len(r.Targets) != 1 || ran(r) != "G1 L1 P1" {
		t.Errorf("%v, %s", r.Targets, ran(r))
	}
	if r := s.build("//sub/b:one"); len(r.Targets) != 1 || ran(r) != "" {
		t.Errorf("again: %v, %s", r.Targets, ran(r))
	}
	s.write("config.py", "SIZE = 32\n")
	s.build("//a")
	if r := s.build(); ran(r) != "G2 L1 P2" || !maps.Equal(s.outputs(), s.clean()) {
		t.Errorf("%s ran after a part was built", ran(r))
	}
	if r := s.build("//sub/b:three"); !r.Diagnostics.HasErrors() {
		t.Error("a pattern that selects nothing was accepted")
	}
}

// A folder of sources may go and come back.
func TestFoldersComeAndGo(t *testing.T) {
	s := newSite(t)
	s.write(ConfigName, "[workspace]\nroots = [\".\"]\nsources = [\"sub/*.py\", \"later/deep/*.py\"]\n")
	s.build()
	s.write("later/deep/c.py", program)
	if r := s.build(); len(r.Targets) != 4 {
		t.Errorf("after a folder appeared: %d targets", len(r.Targets))
	}
	for _, d := range [][2]string{{"sub", "away"}, {"away", "sub"}} {
		if err := os.Rename(s.abs(d[0]), s.abs(d[1])); err != nil {
			t.Fatal(err)
		}
		if r := s.build(); len(r.Targets) != 2 && d[0] == "sub" || len(r.Targets) != 4 && d[1] == "sub" || !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("after %s became %s: %d targets", d[0], d[1], len(r.Targets))
		}
	}
}

// compile_commands.json names every generated file, and is kept up.
func TestCompileCommands(t *testing.T) {
	s := newSite(t)
	files := func() string {
		var entries []struct {
			Directory, File string
			Arguments       []string
		}
		if err := json.Unmarshal([]byte(s.read(commandsFile)), &entries); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			if e.Directory != s.root || !slices.Contains(e.Arguments, e.File) {
				t.Errorf("%+v", e)
			}
			names = append(names, strings.TrimSuffix(filepath.Base(s.abs(e.File)), ".cpp"))
			s.read(e.File)
		}
		return strings.Join(names, " ")
	}
	s.build("//a:two")
	if got := files(); got != "two" {
		t.Errorf("after a part: %s", got)
	}
	s.build()
	s.read(headerDir + "/pto_orchestration_api.h")
	s.remove("sub")
	s.build()
	if got := files(); got != "one two" {
		t.Errorf("after a source went: %s", got)
	}
	s.remove(commandsFile)
	s.build()
	files()
}

// A damaged state is no state.
func TestDamagedState(t *testing.T) {
	s := newSite(t)
	s.build()
	good := s.read(stateFile)
	for i := range len(good) {
		bad := []byte(good)
		bad[i] ^= 0x41
		if i%97 == 0 { // the whole build for some
			s.write(stateFile, string(bad))
			s.write("a.py", strings.Replace(program, "1.0", fmt.Sprint(i, ".0"), 1))
			if r := s.build(); r.Diagnostics.HasErrors() || ran(r) != "G2 L1 P2" {
				t.Fatalf("byte %d: %s, %v", i, ran(r), r.Diagnostics)
			}
		}
	}
	for _, text := range []string{"", "ptostate", good[:len(good)/2], good + "x"} {
		s.write(stateFile, text)
		if r := s.build(); r.Hits == 0 || ran(r) != "" || !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("state of %d bytes: %s", len(text), ran(r))
		}
	}
}

// A query is answered from what the last build found; only what changed since is loaded.
func TestQueryLoadsWhatChanged(t *testing.T) {
	s := newSite(t)
	query := func(text string) (names, read string) {
		t.Helper()
		session, err := OpenSession(s.root, os.Args[0], func(string) string { return "tool" })
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		ws, _ := session.Open()
		b, err := NewBuilder(t.Context(), ws, "")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]bool{}
		b.read = func(name string) ([]byte, error) {
			text, err := ws.ReadFile(name)
			files[name] = files[name] || err == nil
			return text, err
		}
		d, ds := NewDeps(session, b, Request{}, "")
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		nodes, err := d.Query(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			names += n.Name + " "
		}
		maps.DeleteFunc(files, func(_ string, there bool) bool { return !there })
		return names, strings.Join(sortedKeys(files), " ")
	}
	const all = "deps(//a:one) + rdeps(config.py)"
	want, read := query(all)
	if want != "//a:k //a:one //a:two //sub/b:one //sub/b:two a.py config.py " || read != "a.py config.py sub/b.py" {
		t.Errorf("without a build: %q, read %q", want, read)
	}
	s.build()
	if got, read := query(all); got != want || read != "" {
		t.Errorf("after a build: %q, read %q", got, read)
	}
	s.write("a.py", strings.Replace(program, "def one", "def uno", 1))
	if got, read := query("rdeps(config.py)"); got != "//a:two //a:uno //sub/b:one //sub/b:two config.py " || read != "a.py config.py" {
		t.Errorf("after an edit: %q, read %q", got, read)
	}
	if err := os.Rename(s.abs("a.py"), s.abs("z.py")); err != nil {
		t.Fatal(err)
	}
	if got, _ := query("rdeps(config.py)"); got != "//sub/b:one //sub/b:two //z:two //z:uno config.py " {
		t.Errorf("after a renaming: %q", got)
	}
	s.write("c.py", program)
	if got, _ := query("//c/..."); got != "//c:k //c:one //c:two " && got != "//c:one //c:two " {
		t.Errorf("a new source: %q", got)
	}
}

// A file that a test reads is hashed again when it changed, and only then.
func TestDataFilesAreHashedOnce(t *testing.T) {
	s := newSite(t)
	s.write("x.npy", "one")
	session, err := OpenSession(s.root, os.Args[0], func(string) string { return "tool" })
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	remembered := state.Digest{1}
	session.read(nil).Tests = []state.Test{{Name: "x", Files: []state.File{{Path: "x.npy", Stamp: session.root.Look("x.npy").Stamp, Digest: remembered}}}}
	if f, err := session.dataFile("x.npy"); err != nil || f.Digest != remembered {
		t.Errorf("%x, %v: it was read although it is as it was", f.Digest, err)
	}
	for _, text := range []string{"two", "ONE"} {
		s.write("x.npy", text)
		if f, err := session.dataFile("x.npy"); err != nil || f.Digest != sha256.Sum256([]byte(text)) {
			t.Errorf("%x, %v: not the digest of %s", f.Digest, err, text)
		}
	}
	s.remove("x.npy")
	if _, err := session.dataFile("x.npy"); err == nil {
		t.Error("a file that is gone has a digest")
	}
}

// A build that is cancelled keeps what it finished.
func TestCancelledBuild(t *testing.T) {
	s := newSite(t)
	s.store = nil // what is kept is in the outputs and the state
	ctx, cancel := context.WithCancel(t.Context())
	first := func(done, _ int, _ Label) {
		if done == 1 {
			cancel()
		}
	}
	if r, err := s.tryBuildWith(ctx, BuildOptions{Jobs: 1, Progress: first}); err != nil || ran(r) != "G2 L1 P2" {
		t.Fatalf("%v, %v", r, err)
	}
	if r := s.build(); r.Diagnostics.HasErrors() || ran(r) != "G2 L1 P2" || !maps.Equal(s.outputs(), s.clean()) {
		t.Errorf("the build after it: %s, %v", ran(r), r.Diagnostics)
	}
}

// A file that changes while it is built from is seen by the next build, and what was made of its old content is not taken for what the new one gives.
func TestInputChangesDuringBuild(t *testing.T) {
	for _, settled := range []bool{false, true} {
		s := newSite(t)
		s.build()
		if settled {
			s.build()
		}
		s.write("a.py", version(1))
		s.write("sub/b.py", strings.Replace(version(1), "class P", "class Q", 1))
		between := func(done, _ int, _ Label) {
			if done == 1 {
				s.write("config.py", "SIZE = 32\n")
			}
		}
		if _, err := s.tryBuildWith(t.Context(), BuildOptions{Jobs: 1, KeepGoing: true, Store: s.store, Progress: between}); err != nil {
			t.Fatal(err)
		}
		if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("the build after it: %s, %v", ran(r), r.Diagnostics)
		}
		s.write("config.py", "SIZE = 16\n")
		if r := s.build(); r.Diagnostics.HasErrors() || !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("back again: %s, %v", ran(r), r.Diagnostics)
		}
	}
}

// Where a workspace lies, and what the environment says, is in no key: another checkout finds all results.
func TestKeysHaveNoPlace(t *testing.T) {
	s := newSite(t)
	s.build()
	for i := range 20 {
		other := newSite(t)
		other.store = s.store
		t.Setenv("PATH", fmt.Sprint("/nowhere/", i))
		t.Setenv("LANG", fmt.Sprint("x", i))
		if r := other.build(); len(r.Ran) > 0 || !maps.Equal(s.outputs(), other.outputs()) {
			t.Fatalf("checkout %d: %v ran", i, r.Ran)
		}
	}
}

// What a build of a part leaves out is not taken for built by the next one: neither another function of a source that it loaded, nor another source when a setting
// changed.
func TestPartsLeftOutAreBuiltLater(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(s *site)
		behind  string // a source that is left out, or with a function that is
		written string // by a build of everything
	}{
		{"another function", func(s *site) {
			s.write("a.py", strings.TrimSuffix(program, "        return o\n")+"        o = self.k(b, o)\n        return o\n")
		}, "a.py", "//a:two"},
		{"its place", func(s *site) { s.write("a.py", strings.Replace(program, "    def two", "\n    def two", 1)) }, "a.py", "//a:two"},
		{"a setting", func(s *site) { s.write(ConfigName, s.read(ConfigName)+"[build]\nprofile = \"simpler-next\"\n") }, "sub/b.py", "//a:two //sub/b:one //sub/b:two"},
	} {
		s := newSite(t)
		s.build()
		c.change(s)
		s.build("//a:one")
		session, err := OpenSession(s.root, os.Args[0], func(string) string { return "tool" })
		if err != nil {
			t.Fatal(err)
		}
		session.look(nil)
		if !slices.ContainsFunc(session.known, func(k state.Known) bool { return k.Source == c.behind && !k.Built }) {
			t.Errorf("%s: a glance shows all of %s as built", c.name, c.behind)
		}
		session.Close()
		if r := s.build(); written(r) != c.written || !maps.Equal(s.outputs(), s.clean()) {
			t.Errorf("%s: a build of everything wrote %q", c.name, written(r))
		}
	}
}
