//go:build e2e

package reapiserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The workspace: a chain of actions, an executable input, a blob for streams, a folder as output and input, an action that reads what it did not declare,
// and one that fails.
const workspace = `
-- WORKSPACE --
-- .bazelrc --
build --nosandbox_debug --incompatible_strict_action_env
-- BUILD.bazel --
load(":tree.bzl", "tree")
genrule(name = "upper", srcs = ["in.txt"], outs = ["upper.txt"], tools = ["shout.sh"], cmd = "$(location shout.sh) $< > $@")
genrule(name = "twice", srcs = [":upper"], outs = ["twice.txt", "size.txt"], cmd = "cat $< $< > $(location twice.txt); wc -c < $< > $(location size.txt)")
genrule(name = "large", outs = ["large.bin"], cmd = "head -c 6000000 /dev/zero > $@; echo end >> $@")
tree(name = "tree", src = ":upper")
genrule(name = "of_tree", srcs = [":tree"], outs = ["listing.txt"], cmd = "(cd $<; find -L . -type f | sort | xargs cat) > $@")
genrule(name = "undeclared", outs = ["undeclared.txt"], cmd = "cat in.txt > $@", tags = ["manual"])
genrule(name = "fails", outs = ["fails.txt"], cmd = "echo it went wrong >&2; exit 3", tags = ["manual"])
filegroup(name = "all_good", srcs = [":twice", ":large", ":of_tree"])
-- tree.bzl --
def _tree(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(inputs = [ctx.file.src], outputs = [out], arguments = [ctx.file.src.path, out.path],
        command = "mkdir -p $2/a/b && cp $1 $2/a/b/deep.txt && ln -s b/deep.txt $2/a/link.txt && echo top > $2/top.txt")
    return [DefaultInfo(files = depset([out]))]

tree = rule(implementation = _tree, attrs = {"src": attr.label(allow_single_file = True)})
-- in.txt --
hello
-- shout.sh --
#!/bin/sh
tr a-z A-Z < "$1"
`

// bazel is a client with a workspace and a server of its own.
type bazel struct {
	*testing.T
	root, dir string
}

func newBazel(t *testing.T) *bazel {
	t.Helper()
	if _, err := exec.LookPath("bazel-4"); err != nil {
		t.Fatalf("%v: `sh .ci/tools.sh tests` installs Debian's bazel-bootstrap", err)
	}
	b := &bazel{t, t.TempDir(), t.TempDir()}
	if err := txtar.Write(txtar.Parse([]byte(workspace)), b.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(b.dir, "shout.sh"), 0o777); err != nil {
		t.Fatal(err)
	}
	// Bazel asks for these repositories whatever is built, and could only download them.
	stubs := map[string]string{
		"rules_cc":              "cc/defs.bzl:def _none(**kwargs): pass\ncc_library = _none\ncc_binary = _none\ncc_test = _none\ncc_import = _none\ncc_toolchain = _none\ncc_toolchain_suite = _none\nobjc_library = _none\n",
		"rules_java":            "java/defs.bzl:java_binary = native.java_binary\njava_import = native.java_import\njava_library = native.java_library\njava_runtime = native.java_runtime\njava_toolchain = native.java_toolchain\n",
		"remote_coverage_tools": "BUILD:filegroup(name = \"coverage_report_generator\", visibility = [\"//visibility:public\"])\n",
	}
	ws := ""
	for name, file := range stubs {
		path, content, _ := strings.Cut(file, ":")
		for p, text := range map[string]string{"WORKSPACE": "", "BUILD": "", filepath.Join(filepath.Dir(path), "BUILD"): "", path: content} {
			p = filepath.Join(b.dir, "stubs", name, p)
			if old, err := os.ReadFile(p); err == nil && len(old) > 0 {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		ws += `local_repository(name = "` + name + `", path = "stubs/` + name + `")` + "\n"
	}
	if err := os.WriteFile(filepath.Join(b.dir, "WORKSPACE"), []byte(ws), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, ".bazelignore"), []byte("stubs\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.try("shutdown")
		_ = filepath.WalkDir(b.root, func(p string, d os.DirEntry, err error) error { // Bazel protects what it writes
			if err == nil && d.IsDir() {
				_ = os.Chmod(p, 0o777)
			}
			return nil
		})
	})
	return b
}

func (b *bazel) try(args ...string) (string, error) {
	cmd := exec.Command("bazel-4", slices.Concat([]string{"--output_user_root=" + b.root}, args)...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// build builds a target, and returns how its actions were run: "2 remote cache hit", "3 linux-sandbox"...
func (b *bazel) build(target string, flags ...string) string {
	b.Helper()
	out, err := b.try(slices.Concat([]string{"build", target, "--color=no", "--curses=no"}, flags)...)
	if err != nil {
		b.Fatalf("bazel build %s %v: %v\n%s", target, flags, err, out)
	}
	m := regexp.MustCompile(`INFO: \d+ process(?:es)?: (.*)\.`).FindStringSubmatch(out)
	if m == nil {
		b.Fatalf("bazel said nothing of processes:\n%s", out)
	}
	return m[1]
}

// check reads the outputs.
func (b *bazel) check() {
	b.Helper()
	for name, want := range map[string]string{"twice.txt": "HELLO\nHELLO\n", "size.txt": "6\n", "listing.txt": "HELLO\nHELLO\ntop\n"} {
		got, err := os.ReadFile(filepath.Join(b.dir, "bazel-bin", name))
		if err != nil || string(got) != want {
			b.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(b.dir, "bazel-bin", "large.bin")); err != nil || info.Size() != 6_000_004 {
		b.Errorf("large.bin: %v, %v", info, err)
	}
}

// The real Bazel finds on the server what it put there, and lets the server run actions.
func TestBazel(t *testing.T) {
	b := newBazel(t)
	s, err := Start(Options{Instance: "main", ScratchDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	cache := []string{"--remote_cache=grpc://" + s.Addr(), "--remote_instance_name=main"}

	if how := b.build("//:all_good", cache...); strings.Contains(how, "remote cache hit") || !strings.Contains(how, "sandbox") {
		t.Errorf("first build: %s", how)
	}
	b.check()
	if s.Actions() != 5 {
		t.Errorf("%d results on the server", s.Actions())
	}
	if _, err := b.try("clean"); err != nil {
		t.Fatal(err)
	}
	if how := b.build("//:all_good", cache...); !strings.Contains(how, "5 remote cache hit") || strings.Contains(how, "sandbox") {
		t.Errorf("second build: %s", how)
	}
	b.check()

	// Execution on the server, nothing of it cached.
	exec := append(cache, "--remote_executor=grpc://"+s.Addr(), "--noremote_accept_cached", "--remote_local_fallback=false", "--spawn_strategy=remote", "--genrule_strategy=remote")
	if _, err := b.try("clean"); err != nil {
		t.Fatal(err)
	}
	s.Calls()
	if how := b.build("//:all_good", exec...); !strings.Contains(how, "5 remote") || strings.Contains(how, "hit") {
		t.Errorf("remote execution: %s", how)
	}
	b.check()
	if n := s.Calls()["Execute"]; n != 5 {
		t.Errorf("%d calls of Execute", n)
	}
	for target, want := range map[string]string{"//:undeclared": "in.txt: No such file", "//:fails": "it went wrong"} {
		if out, err := b.try(slices.Concat([]string{"build", target}, exec)...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", target, err, out)
		}
	}
}
