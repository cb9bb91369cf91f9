package rules_test

import (
	"bytes"
	"os"
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
	for _, name := range append(files, "BUILD.bazel", "MODULE.bazel", "WORKSPACE") {
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
	ps := implement(t, g["pto_toolchain"], &context{attr: starlark.StringDict{"ptobuild": bin}, executable: starlark.StringDict{"ptobuild": file("external/ptobuild/ptobuild")}})
	v, ok, _ := ps.Get(toolchainInfo)
	if !ok {
		t.Fatal("no ToolchainInfo")
	}
	return v
}

func library(t *testing.T, g starlark.StringDict, pkg string, imports []string, src string, deps ...target) target {
	t.Helper()
	return implement(t, g["pto_library"], &context{pkg: pkg, name: "lib", attr: starlark.StringDict{"imports": list(imports...), "deps": targets(deps...)},
		files: starlark.StringDict{"srcs": fileList(src)}})
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %q\n  want %q", what, got, want)
	}
}

func TestOrchestration(t *testing.T) {
	g := load(t, "defs.bzl")
	shapes := library(t, g, "common", []string{"py", ".", "//"}, "common/shapes.py")
	for _, c := range []struct {
		name      string
		functions []string
		profile   string
		autoDeps  bool
		argv      []string
		outputs   []string
	}{
		{"one", []string{"f"}, "", false,
			[]string{"external/ptobuild/ptobuild", "emit", "ex/a.py", "--out", binDir + "ex/one", "--path", "common/py", "--path", "common", "--path", "."},
			[]string{"ex/one/orchestration/f.cpp", "ex/one/kernels.json", "ex/one/kernel_config.py", "ex/one/f.map.json"}},
		{"two", []string{"f", "g"}, "simpler-next", true,
			[]string{"external/ptobuild/ptobuild", "emit", "ex/a.py", "--out", binDir + "ex/two", "--profile", "simpler-next", "--auto-deps", "--path", "common/py",
				"--path", "common", "--path", "."},
			[]string{"ex/two/next_levels/f/orchestration/f.cpp", "ex/two/next_levels/f/kernels.json", "ex/two/next_levels/f/kernel_config.py",
				"ex/two/next_levels/f/f.map.json", "ex/two/next_levels/g/orchestration/g.cpp", "ex/two/next_levels/g/kernels.json",
				"ex/two/next_levels/g/kernel_config.py", "ex/two/next_levels/g/g.map.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := &context{pkg: "ex", name: c.name, toolchain: toolchain(t), file: starlark.StringDict{"src": file("ex/a.py")}, attr: starlark.StringDict{
				"functions": list(c.functions...), "profile": starlark.String(c.profile), "auto_deps": starlark.Bool(c.autoDeps), "imports": list(), "deps": targets(shapes)}}
			ps := implement(t, g["pto_orchestration"], ctx)
			if len(ctx.actions) != 1 || ctx.actions[0].mnemonic != "PtoEmit" {
				t.Fatalf("actions %+v", ctx.actions)
			}
			a := ctx.actions[0]
			want := slices.Clone(c.outputs)
			for i := range want {
				want[i] = binDir + want[i]
			}
			equal(t, "argv", a.argv, c.argv)
			equal(t, "inputs", a.inputs, []string{"ex/a.py", "common/shapes.py"})
			equal(t, "outputs", a.outputs, want)
			equal(t, "tools", a.tools, []string{"external/ptobuild/ptobuild", "external/ptobuild/lib.so"})
			equal(t, "DefaultInfo.files", texts(ps.field(t, defaultInfo, "files")), want)
			equal(t, "PtoInfo.sources", texts(ps.field(t, g["PtoInfo"], "sources")), []string{"ex/a.py", "common/shapes.py"})
			cpp, _, _ := ps.field(t, g["PtoOrchestrationInfo"], "cpp").(*starlark.Dict).Get(starlark.String("f"))
			equal(t, "cpp of f", texts(cpp), want[:1])
		})
	}
}

// A target of another repository looks imports up in that repository.
func TestExternalRepository(t *testing.T) {
	g := load(t, "defs.bzl")
	ps := implement(t, g["pto_library"], &context{workspace: "external/models", pkg: "", name: "lib", attr: starlark.StringDict{"imports": list("src", "//lib"), "deps": targets()},
		files: starlark.StringDict{"srcs": fileList("external/models/a.py")}})
	equal(t, "roots", texts(ps.field(t, g["PtoInfo"], "roots")), []string{"external/models/src", "external/models/lib"})
}

func TestSimTest(t *testing.T) {
	g := load(t, "defs.bzl")
	dep := library(t, g, "ex", nil, "ex/a.py")
	for _, c := range []struct {
		name, config, line string
		attr               starlark.StringDict
	}{
		{"plain", "Pto.toml", `exec "$runfiles/"'../ptobuild/ptobuild' -C "$runfiles/"'.' 'test' '--rerun' '//ex/a:f' "$@"`,
			starlark.StringDict{"schedules": starlark.MakeInt(0), "seed": starlark.MakeInt(0), "no_compile": starlark.False}},
		{"options", "models/Pto.toml", `exec "$runfiles/"'../ptobuild/ptobuild' -C "$runfiles/"'models' 'test' '--schedules' '8' '--seed' '5' '--no-compile' '--rerun' '//ex/a:f' "$@"`,
			starlark.StringDict{"schedules": starlark.MakeInt(8), "seed": starlark.MakeInt(5), "no_compile": starlark.True}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.attr["targets"], c.attr["deps"] = list("//ex/a:f"), targets(dep)
			ctx := &context{pkg: "ex", name: "a_test", toolchain: toolchain(t), attr: c.attr, file: starlark.StringDict{"config": file(c.config)},
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
			equal(t, "runfiles", texts(files), []string{c.config, "ex/d.npy", "external/ptobuild/ptobuild", "external/ptobuild/lib.so", "ex/a.py"})
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
	run := func(path string, which starlark.Value) (string, error) {
		did := ""
		fn := func(name string, ret starlark.Value) starlark.Value {
			return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				did += b.Name() + args.String() + "\n"
				return ret, nil
			})
		}
		ctx := starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"name": starlark.String("ptobuild"), "which": fn("which", which),
			"symlink": fn("symlink", starlark.None), "file": fn("file", starlark.None),
			"attr": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"path": starlark.String(path)})})
		_, err := starlark.Call(&starlark.Thread{}, impl, starlark.Tuple{ctx}, nil)
		return did, err
	}
	if did, err := run("", starlark.String("/usr/bin/ptobuild")); err != nil || !strings.Contains(did, `symlink("/usr/bin/ptobuild", "ptobuild")`) || !strings.Contains(did, "pto_toolchain(") {
		t.Errorf("%s, %v", did, err)
	}
	if did, err := run("/opt/ptobuild", starlark.None); err != nil || !strings.Contains(did, `symlink("/opt/ptobuild", "ptobuild")`) {
		t.Errorf("%s, %v", did, err)
	}
	if _, err := run("", starlark.None); err == nil || !strings.Contains(err.Error(), "ptobuild is not on the PATH: install it, or give its path") {
		t.Errorf("got %v", err)
	}
}

// The extension passes its tags on.
func TestExtension(t *testing.T) {
	load(t, "extensions.bzl")
}
