package rules_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/bazelbuild/buildtools/warn"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// All Starlark is formatted as buildifier formats it and free of all its warnings; among them are those about what newer versions of Bazel dropped.
func TestBuildifier(t *testing.T) {
	files, err := filepath.Glob("*.bzl")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	parts, err := filepath.Glob("private/*.bzl")
	if err != nil || len(parts) < 5 {
		t.Fatalf("%v, %v", parts, err)
	}
	for _, name := range append(slices.Concat(files, parts), "BUILD.bazel", "private/BUILD.bazel", "MODULE.bazel", "WORKSPACE") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := build.Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		f.Pkg = ""
		for _, w := range warn.FileWarnings(f, warn.AllWarnings, nil, warn.ModeWarn, nil) {
			t.Errorf("%s:%d: [%s] %s", name, w.Start.Line, w.Category, w.Message)
		}
		if got := build.Format(f); !bytes.Equal(got, src) {
			t.Errorf("%s is not formatted; want\n%s", name, got)
		}
	}
}

func list(ss ...string) *starlark.List {
	l := starlark.NewList(nil)
	for _, s := range ss {
		_ = l.Append(starlark.String(s))
	}
	return l
}

func fileList(paths ...string) *starlark.List {
	l := starlark.NewList(nil)
	for _, p := range paths {
		_ = l.Append(file(p))
	}
	return l
}

func targets(ts ...target) *starlark.List {
	l := starlark.NewList(nil)
	for _, t := range ts {
		_ = l.Append(t)
	}
	return l
}

// toolchain is what a pto_toolchain gives the rules.
func toolchain(t *testing.T) starlark.Value {
	t.Helper()
	g := load(t, "toolchain.bzl")
	runfiles := starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"files": &depset{items: []starlark.Value{file("external/ptobuild/lib.so")}}})
	bin := target{starlarkstruct.FromStringDict(defaultInfo, starlark.StringDict{"default_runfiles": runfiles})}
	ps := implement(t, g["pto_toolchain"], &context{attr: starlark.StringDict{"ptobuild": bin}, files: starlark.StringDict{"tools": fileList("external/ptobuild/ptobuild-plugin-host")},
		executable: starlark.StringDict{"ptobuild": file("external/ptobuild/ptobuild")}})
	v, ok, _ := ps.Get(toolchainInfo)
	if !ok {
		t.Fatal("no ToolchainInfo")
	}
	return v
}

func library(t *testing.T, g starlark.StringDict, pkg string, imports []string, src string, deps ...target) target {
	t.Helper()
	return implement(t, g["pto_library"], &context{pkg: pkg, name: "lib", attr: starlark.StringDict{"imports": list(imports...), "deps": targets(deps...)},
		files: starlark.StringDict{"srcs": fileList(src), "data": list()}})
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %q\n  want %q", what, got, want)
	}
}

func dict(kv ...string) *starlark.Dict {
	d := starlark.NewDict(len(kv) / 2)
	for i := 0; i < len(kv); i += 2 {
		_ = d.SetKey(starlark.String(kv[i]), starlark.String(kv[i+1]))
	}
	return d
}

// orchestration gives the attributes of a pto_orchestration: defaults, changed by more.
func orchestration(functions []string, more starlark.StringDict, deps ...target) starlark.StringDict {
	attrs := starlark.StringDict{"functions": list(functions...), "profile": starlark.String(""), "platform": starlark.String(""), "factory": starlark.String(""),
		"auto_deps": starlark.False, "precise_block_outputs": starlark.False, "manual_alloc_deps": starlark.True, "env": dict(), "arguments": dict(), "argv": list(),
		"plugins": targets(), "imports": list(), "deps": targets(deps...)}
	maps.Copy(attrs, more)
	return attrs
}

func TestOrchestration(t *testing.T) {
	g := load(t, "defs.bzl")
	shapes := library(t, g, "common", []string{"py", ".", "//"}, "common/shapes.py")
	head := func(name string) []string {
		return []string{"external/ptobuild/ptobuild", "emit", "ex/a.py", "--quiet", "--label", "//ex:" + name}
	}
	tail := []string{"--path", "common/py", "--path", "common", "--path", ".", "--declared", "ex/a.py", "--declared", "common/shapes.py", "--declared", "ex/sizes.json"}
	for _, c := range []struct {
		name      string
		functions []string
		attrs     starlark.StringDict
		argv      []string
		outputs   []string
	}{
		{"one", []string{"f"}, nil, []string{"--out", binDir + "ex/one"},
			[]string{"ex/one/orchestration/f.cpp", "ex/one/kernels.json", "ex/one/kernel_config.py", "ex/one/f.map.json"}},
		{"two", []string{"f", "g"}, starlark.StringDict{"profile": starlark.String("simpler-next"), "auto_deps": starlark.True},
			[]string{"--out", binDir + "ex/two", "--profile", "simpler-next", "--auto-deps"},
			[]string{"ex/two/next_levels/f/orchestration/f.cpp", "ex/two/next_levels/g/orchestration/g.cpp", "ex/two/next_levels/f/kernels.json",
				"ex/two/next_levels/g/kernels.json", "ex/two/next_levels/f/kernel_config.py", "ex/two/next_levels/g/kernel_config.py",
				"ex/two/next_levels/f/f.map.json", "ex/two/next_levels/g/g.map.json"}},
		{"settings", []string{"f"}, starlark.StringDict{"platform": starlark.String("a5"), "precise_block_outputs": starlark.True, "manual_alloc_deps": starlark.False,
			"factory": starlark.String("make"), "arguments": dict("n", "16", "fast", "True"), "env": dict("M", "x y"), "argv": list("-v")},
			[]string{"--out", binDir + "ex/settings", "--platform", "a5", "--precise-block-outputs", "--manual-alloc-deps=false", "--factory", "make", "--arg", "fast=True",
				"--arg", "n=16", "--env", "M=x y", "--argv", "-v"},
			[]string{"ex/settings/orchestration/f.cpp", "ex/settings/kernels.json", "ex/settings/kernel_config.py", "ex/settings/f.map.json"}},
		{"whatever", nil, nil, []string{"--out", binDir + "ex/whatever", "--cpp", binDir + "ex/whatever.cpp"}, []string{"ex/whatever", "ex/whatever.cpp"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := &context{pkg: "ex", name: c.name, toolchain: toolchain(t), file: starlark.StringDict{"src": file("ex/a.py")}, files: starlark.StringDict{"data": fileList("ex/sizes.json")},
				attr: orchestration(c.functions, c.attrs, shapes)}
			ps := implement(t, g["pto_orchestration"], ctx)
			if len(ctx.actions) != 1 || ctx.actions[0].mnemonic != "PtoEmit" {
				t.Fatalf("actions %+v", ctx.actions)
			}
			a := ctx.actions[0]
			want := slices.Clone(c.outputs)
			for i := range want {
				want[i] = binDir + want[i]
			}
			equal(t, "argv", a.argv, slices.Concat(head(c.name), c.argv, tail))
			equal(t, "inputs", a.inputs, []string{"ex/a.py", "common/shapes.py", "ex/sizes.json"})
			equal(t, "outputs", a.outputs, want)
			equal(t, "tools", a.tools, []string{"external/ptobuild/ptobuild", "external/ptobuild/ptobuild-plugin-host", "external/ptobuild/lib.so"})
			equal(t, "PtoInfo.sources", texts(ps.field(t, g["PtoInfo"], "sources")), []string{"ex/a.py", "common/shapes.py"})
			files := texts(ps.field(t, defaultInfo, "files"))
			if c.functions == nil {
				equal(t, "DefaultInfo.files", files, want[1:])
				return
			}
			equal(t, "DefaultInfo.files", files, want)
			cpp, _, _ := ps.field(t, g["PtoOrchestrationInfo"], "cpp").(*starlark.Dict).Get(starlark.String("f"))
			equal(t, "cpp of f", texts(cpp), want[:1])
		})
	}
}

// Bazel 4 and 5 refuse workers that speak JSON unless a flag allows them; a definition says so to the rules.
func TestWorker(t *testing.T) {
	for _, c := range []struct {
		recent bool
		vars   map[string]string
		want   bool
	}{{true, nil, true}, {true, map[string]string{"pto_worker": "0"}, false}, {false, nil, false}, {false, map[string]string{"pto_worker": "1"}, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			if !c.recent {
				old := native
				native = starlark.StringDict{}
				defer func() { native = old }()
			}
			g := load(t, "defs.bzl")
			ctx := &context{pkg: "ex", name: "a", vars: c.vars, toolchain: toolchain(t), file: starlark.StringDict{"src": file("ex/a.py")}, files: starlark.StringDict{"data": list()},
				attr: orchestration([]string{"f"}, nil)}
			implement(t, g["pto_orchestration"], ctx)
			_, got, _ := ctx.actions[0].requirements.(*starlark.Dict).Get(starlark.String("supports-workers"))
			if got != c.want {
				t.Errorf("requirements %v", ctx.actions[0].requirements)
			}
		})
	}
}

// A generated source stands alone in its folder: imports of it are looked for where its package's sources are, too.
func TestGeneratedSource(t *testing.T) {
	g := load(t, "defs.bzl")
	ps := library(t, g, "ex", []string{"py"}, binDir+"ex/made.py")
	equal(t, "roots", texts(ps.field(t, g["PtoInfo"], "roots")), []string{"ex/py", "ex", ".", binDir + "ex/py", binDir + "ex", path.Clean(binDir)})
}

// A target of another repository looks imports up in that repository.
func TestExternalRepository(t *testing.T) {
	g := load(t, "defs.bzl")
	ps := implement(t, g["pto_library"], &context{workspace: "external/models", pkg: "", name: "lib", attr: starlark.StringDict{"imports": list("src", "//lib"), "deps": targets()},
		files: starlark.StringDict{"srcs": fileList("external/models/a.py"), "data": list()}})
	equal(t, "roots", texts(ps.field(t, g["PtoInfo"], "roots")), []string{"external/models/src", "external/models/lib", "external/models"})
}

// simTest gives the attributes of a pto_sim_test: defaults, changed by more.
func simTest(more starlark.StringDict, deps ...target) starlark.StringDict {
	attrs := starlark.StringDict{"schedules": starlark.MakeInt(0), "seed": starlark.MakeInt(0), "no_compile": starlark.False, "function": starlark.String(""),
		"atol": starlark.String(""), "rtol": starlark.String(""), "inputs": dict(), "input_files": dict(), "expected_files": dict(), "scalars": dict(), "dims": dict(),
		"reference": starlark.None, "targets": list(), "deps": targets(deps...)}
	maps.Copy(attrs, more)
	return attrs
}

func TestSimTest(t *testing.T) {
	g := load(t, "defs.bzl")
	dep := library(t, g, "ex", nil, "ex/a.py")
	for _, c := range []struct {
		name, config, line string
		attr               starlark.StringDict
	}{
		{"plain", "Pto.toml", `exec "$runfiles/"'../ptobuild/ptobuild' -C "$runfiles/"'.' 'test' '--rerun' '//ex/a:f' "$@"`, nil},
		{"options", "models/Pto.toml", `exec "$runfiles/"'../ptobuild/ptobuild' -C "$runfiles/"'models' 'test' '--schedules' '8' '--seed' '5' '--no-compile' '--rerun' '//ex/a:f' "$@"`,
			starlark.StringDict{"schedules": starlark.MakeInt(8), "seed": starlark.MakeInt(5), "no_compile": starlark.True}},
	} {
		t.Run(c.name, func(t *testing.T) {
			attr := simTest(c.attr, dep)
			attr["targets"] = list("//ex/a:f")
			ctx := &context{pkg: "ex", name: "a_test", toolchain: toolchain(t), attr: attr, file: starlark.StringDict{"config": file(c.config)},
				files: starlark.StringDict{"data": fileList("ex/d.npy")}}
			ps := implement(t, g["pto_sim_test"], ctx)
			if len(ctx.actions) != 1 || !strings.Contains(ctx.actions[0].content, c.line+"\n") {
				t.Errorf("actions %+v, want the line\n%s", ctx.actions, c.line)
			}
			equal(t, "executable", texts(ps.field(t, defaultInfo, "executable")), []string{binDir + "ex/a_test.sh"})
			files, err := ps.field(t, defaultInfo, "runfiles").(*starlarkstruct.Struct).Attr("files")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "runfiles", texts(files), []string{c.config, "ex/d.npy", "external/ptobuild/ptobuild", "external/ptobuild/ptobuild-plugin-host", "external/ptobuild/lib.so", "ex/a.py"})
		})
	}
}

// Without a config, the attributes make one.
func TestSimTestOwnConfig(t *testing.T) {
	g := load(t, "defs.bzl")
	orch := implement(t, g["pto_orchestration"], &context{pkg: "ex", name: "a", toolchain: toolchain(t), file: starlark.StringDict{"src": file("ex/a.py")},
		files: starlark.StringDict{"data": list()}, attr: orchestration([]string{"f", "g"}, starlark.StringDict{"auto_deps": starlark.True, "factory": starlark.String("make"),
			"arguments": dict("fast", "True"), "env": dict("M", `a"b`)})})
	ctx := &context{pkg: "ex", name: "a_test", toolchain: toolchain(t), file: starlark.StringDict{"config": starlark.None}, files: starlark.StringDict{"data": list()},
		attr: simTest(starlark.StringDict{"function": starlark.String("g"), "inputs": dict("x", "{ random = 1 }"), "scalars": dict("n", "3"), "atol": starlark.String("1e-4")}, orch)}
	implement(t, g["pto_sim_test"], ctx)
	const want = `[workspace]
name = "a_test"
sources = ["ex/a.py"]
roots = []

[build]
analyze_auto_scopes_for_deps = true
env = { "M" = "a\"b" }

[target."//ex/a:f"]
factory = "make"
args = { "fast" = true }

[target."//ex/a:g"]
factory = "make"
args = { "fast" = true }

[[test]]
target = "//ex/a:g"
inputs = { "x" = { random = 1 } }
scalars = { "n" = 3 }
atol = 1e-4
`
	if got := ctx.actions[0].content; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What does not go together is refused where the rule stands.
func TestSimTestMistakes(t *testing.T) {
	g := load(t, "defs.bzl")
	lib := library(t, g, "ex", nil, "ex/a.py")
	for _, c := range []struct {
		name   string
		config starlark.Value
		attr   starlark.StringDict
		want   string
	}{
		{"both", file("Pto.toml"), starlark.StringDict{"atol": starlark.String("1")}, "atol and config exclude each other"},
		{"no targets", file("Pto.toml"), nil, "config without targets"},
		{"no config", starlark.None, starlark.StringDict{"targets": list("//a:f")}, "targets without config"},
		{"only libraries", starlark.None, nil, "nothing to test: deps has no pto_orchestration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := &context{pkg: "ex", name: "a_test", toolchain: toolchain(t), file: starlark.StringDict{"config": c.config}, files: starlark.StringDict{"data": list()}, attr: simTest(c.attr, lib)}
			impl, err := g["pto_sim_test"].(*starlarkstruct.Struct).Attr("implementation")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = starlark.Call(&starlark.Thread{}, impl, starlark.Tuple{ctx.value()}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The installed ptobuild becomes a repository; without one the report says what to do.
func TestLocalRepository(t *testing.T) {
	g := load(t, "repositories.bzl")
	impl, err := g["ptobuild_local"].(*starlarkstruct.Struct).Attr("implementation")
	if err != nil {
		t.Fatal(err)
	}
	run := func(at string, which starlark.Value, header int) (string, error) {
		did := ""
		fn := func(name string, f func(args starlark.Tuple) starlark.Value) starlark.Value {
			return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				did += b.Name() + args.String() + "\n"
				return f(args), nil
			})
		}
		nothing := func(starlark.Tuple) starlark.Value { return starlark.None }
		str := func(d starlark.StringDict) starlark.Value {
			return starlarkstruct.FromStringDict(starlarkstruct.Default, d)
		}
		entry := func(name string) starlark.Value { return str(starlark.StringDict{"basename": starlark.String(name)}) }
		dir := str(starlark.StringDict{"readdir": fn("readdir", func(starlark.Tuple) starlark.Value {
			return starlark.NewList([]starlark.Value{entry("ls"), entry("ptobuild"), entry("ptobuild-plugin-host"), entry("ptobuild-orchestration-host")})
		})})
		ctx := str(starlark.StringDict{"name": starlark.String("ptobuild"), "which": fn("which", func(starlark.Tuple) starlark.Value { return which }),
			"path": fn("path", func(args starlark.Tuple) starlark.Value {
				return str(starlark.StringDict{"dirname": dir, "exists": starlark.Bool(args[0] != starlark.String("/nowhere"))})
			}),
			"execute": fn("execute", func(starlark.Tuple) starlark.Value {
				return str(starlark.StringDict{"return_code": starlark.MakeInt(header), "stderr": starlark.String("no such command")})
			}),
			"symlink": fn("symlink", nothing), "file": fn("file", nothing), "attr": str(starlark.StringDict{"path": starlark.String(at)})})
		_, err := starlark.Call(&starlark.Thread{}, impl, starlark.Tuple{ctx}, nil)
		return did, err
	}
	for _, c := range []struct {
		path  string
		which starlark.Value
	}{{"", starlark.String("/usr/bin/ptobuild")}, {"/opt/ptobuild", starlark.None}} {
		did, err := run(c.path, c.which, 0)
		if err != nil || !strings.Contains(did, `, "ptobuild")`) || !strings.Contains(did, "pto_toolchain(") || !strings.Contains(did, `"ptobuild-plugin-host")`) ||
			!strings.Contains(did, `"ptobuild-orchestration-host")`) ||
			!strings.Contains(did, `"header", "--out", "cc/include"`) || strings.Contains(did, `"ls")`) {
			t.Errorf("%s, %v", did, err)
		}
	}
	for _, c := range []struct {
		path   string
		header int
		want   string
	}{{"", 0, "ptobuild is not on the PATH: install it, or give its path"}, {"/nowhere", 0, "build ptobuild, or give another path"}, {"/bin/sh", 2, "no such command"}} {
		if _, err := run(c.path, starlark.None, c.header); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// The extension passes its tags on.
func TestExtension(t *testing.T) {
	load(t, "extensions.bzl")
}
