package rules_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	starlarkjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// As much of Bazel as the rules use. Where Bazel would refuse something that these fakes accept, the buildifier test or Bazel itself has to say so.

// load executes a .bzl file of this folder and returns its globals.
func load(t *testing.T, name string) starlark.StringDict {
	t.Helper()
	key := t.Name() + " " + name // each file once, so that a provider is one value
	if g, ok := loaded.Load(key); ok {
		return g.(starlark.StringDict)
	}
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	thread := &starlark.Thread{Name: name, Load: func(_ *starlark.Thread, module string) (starlark.StringDict, error) {
		// Starlark sees one file for each label, and so does a load from the file's own package.
		if base, ok := strings.CutPrefix(module, ":"); ok {
			return load(t, path.Join(path.Dir(name), base)), nil
		}
		pkg, base, _ := strings.Cut(strings.TrimPrefix(module, "//"), ":")
		return load(t, path.Join(pkg, base)), nil
	}}
	g, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, name, src, predeclared())
	if err != nil {
		t.Fatal(err)
	}
	loaded.Store(key, g)
	return g
}

var loaded sync.Map

func predeclared() starlark.StringDict {
	attrs := starlark.StringDict{}
	for _, kind := range []string{"label", "label_list", "string", "string_list", "string_dict", "label_keyed_string_dict", "bool", "int"} {
		attrs[kind] = record("attr." + kind)
	}
	return starlark.StringDict{
		"attr":             starlarkstruct.FromStringDict(starlarkstruct.Default, attrs),
		"rule":             record("rule"),
		"json":             starlarkjson.Module,
		"struct":           starlark.NewBuiltin("struct", starlarkstruct.Make),
		"fail":             starlark.NewBuiltin("fail", fail),
		"native":           starlarkstruct.FromStringDict(starlarkstruct.Default, native),
		"repository_rule":  record("repository_rule"),
		"module_extension": record("module_extension"),
		"tag_class":        record("tag_class"),
		"provider": starlark.NewBuiltin("provider", func(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			return newProvider("", kw), nil
		}),
		"DefaultInfo":     defaultInfo,
		"OutputGroupInfo": newProvider("OutputGroupInfo", nil),
		"platform_common": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"ToolchainInfo": toolchainInfo}),
		"depset":          starlark.NewBuiltin("depset", newDepset),
		"Label": starlark.NewBuiltin("Label", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			var s string
			err := starlark.UnpackPositionalArgs("Label", args, kw, 1, &s)
			return starlark.String("@rules_ptobuild" + s), err
		}),
	}
}

func fail(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return nil, fmt.Errorf("fail: %s", string(args[0].(starlark.String)))
}

// native is what newer Bazel has, and what the rules ask for to know it.
var native = starlark.StringDict{"module_name": starlark.None}

// record is a function whose result is a struct of its keyword arguments.
func record(name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 0 {
			return nil, fmt.Errorf("%s: positional arguments", name)
		}
		return starlarkstruct.FromKeywords(starlark.String(name), kw), nil
	})
}

// provider makes instances, which have exactly its fields, and finds them in targets.
type provider struct {
	name   string
	fields []string // nil: any
}

func newProvider(name string, kw []starlark.Tuple) *provider {
	p := &provider{name: name}
	for _, k := range kw {
		if d, ok := k[1].(*starlark.Dict); ok {
			for _, f := range d.Keys() {
				p.fields = append(p.fields, string(f.(starlark.String)))
			}
		}
	}
	return p
}

var (
	defaultInfo   = newProvider("DefaultInfo", nil)
	toolchainInfo = newProvider("ToolchainInfo", nil)
)

func (p *provider) String() string        { return "provider " + p.name }
func (p *provider) Type() string          { return "provider" }
func (p *provider) Freeze()               {}
func (p *provider) Truth() starlark.Bool  { return true }
func (p *provider) Hash() (uint32, error) { return starlark.String(fmt.Sprintf("%p", p)).Hash() }
func (p *provider) Name() string          { return p.name }

func (p *provider) CallInternal(_ *starlark.Thread, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("%s: positional arguments", p)
	}
	for _, k := range kw {
		if name := string(k[0].(starlark.String)); p.fields != nil && !slices.Contains(p.fields, name) {
			return nil, fmt.Errorf("%s has no field %s", p, name)
		}
	}
	return starlarkstruct.FromKeywords(p, kw), nil
}

// target is what an attribute of a label holds: providers by kind.
type target []*starlarkstruct.Struct

func (t target) String() string        { return "target" }
func (t target) Type() string          { return "Target" }
func (t target) Freeze()               {}
func (t target) Truth() starlark.Bool  { return true }
func (t target) Hash() (uint32, error) { return 0, fmt.Errorf("target is unhashable") }

func (t target) Get(key starlark.Value) (starlark.Value, bool, error) {
	for _, s := range t {
		if s.Constructor() == key {
			return s, true, nil
		}
	}
	return nil, false, nil
}

// attr reads a field of the instance of a provider.
func (t target) field(test *testing.T, p starlark.Value, name string) starlark.Value {
	test.Helper()
	v, ok, _ := t.Get(p)
	if !ok {
		test.Fatalf("no %v in %v", p, t)
	}
	x, err := v.(*starlarkstruct.Struct).Attr(name)
	if err != nil {
		test.Fatal(err)
	}
	return x
}

// depset flattens in preorder and drops repeats.
type depset struct{ items []starlark.Value }

func newDepset(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	direct, transitive, order := &starlark.List{}, &starlark.List{}, ""
	if err := starlark.UnpackArgs("depset", args, kw, "direct?", &direct, "order?", &order, "transitive?", &transitive); err != nil {
		return nil, err
	}
	d := &depset{}
	add := func(v starlark.Value) {
		if !slices.ContainsFunc(d.items, func(x starlark.Value) bool { eq, _ := starlark.Equal(x, v); return eq }) {
			d.items = append(d.items, v)
		}
	}
	for v := range direct.Elements() {
		add(v)
	}
	for v := range transitive.Elements() {
		t, ok := v.(*depset)
		if !ok {
			return nil, fmt.Errorf("depset: transitive has a %s", v.Type())
		}
		for _, x := range t.items {
			add(x)
		}
	}
	return d, nil
}

func (d *depset) String() string        { return fmt.Sprint(texts(d)) }
func (d *depset) Type() string          { return "depset" }
func (d *depset) Freeze()               {}
func (d *depset) Truth() starlark.Bool  { return len(d.items) > 0 }
func (d *depset) Hash() (uint32, error) { return 0, fmt.Errorf("depset is unhashable") }

func (d *depset) AttrNames() []string { return []string{"to_list"} }

func (d *depset) Attr(name string) (starlark.Value, error) {
	if name != "to_list" {
		return nil, nil
	}
	return starlark.NewBuiltin("to_list", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.NewList(slices.Clone(d.items)), nil
	}), nil
}

// texts are the strings or file paths of a depset, list or dict (its values).
func texts(v starlark.Value) []string {
	var items []starlark.Value
	switch v := v.(type) {
	case *depset:
		items = v.items
	case *starlark.List:
		items = slices.Collect(v.Elements())
	case *starlark.Dict:
		for _, kv := range v.Items() {
			items = append(items, kv[1])
		}
	default:
		items = []starlark.Value{v}
	}
	var out []string
	for _, x := range items {
		switch x := x.(type) {
		case starlark.String:
			out = append(out, string(x))
		case *starlarkstruct.Struct:
			if p, err := x.Attr("path"); err == nil {
				out = append(out, string(p.(starlark.String)))
			}
		default:
			out = append(out, x.String())
		}
	}
	return out
}

const binDir = "bazel-out/k8-fastbuild/bin/"

// file is a source file; outputs are below binDir.
func file(p string) *starlarkstruct.Struct {
	short := strings.TrimPrefix(p, binDir)
	if rest, ok := strings.CutPrefix(short, "external/"); ok {
		short = "../" + rest
	}
	return starlarkstruct.FromStringDict(starlark.String("File"), starlark.StringDict{"path": starlark.String(p), "short_path": starlark.String(short),
		"dirname": starlark.String(path.Dir(p)), "basename": starlark.String(path.Base(p)),
		"is_source": starlark.Bool(short == p || strings.HasPrefix(p, "external/"))})
}

// action is what a rule registered.
type action struct {
	kind, mnemonic, content string
	argv                    []string
	inputs, outputs, tools  []string
	requirements            starlark.Value
}

// context is a ctx for the implementation of a rule of package pkg.
type context struct {
	workspace, pkg, name string
	attr                 starlark.StringDict
	file, files          starlark.StringDict
	executable           starlark.StringDict
	toolchain            starlark.Value
	vars                 map[string]string // of --define
	actions              []action
}

func (c *context) value() starlark.Value {
	str := func(d starlark.StringDict) starlark.Value {
		return starlarkstruct.FromStringDict(starlarkstruct.Default, d)
	}
	fn := func(name string, f func(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error)) starlark.Value {
		return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			return f(args, kw)
		})
	}
	actions := str(starlark.StringDict{
		"declare_file": fn("declare_file", func(args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return file(binDir + path.Join(c.pkg, string(args[0].(starlark.String)))), nil
		}),
		"declare_directory": fn("declare_directory", func(args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return file(binDir + path.Join(c.pkg, string(args[0].(starlark.String)))), nil
		}),
		"args": fn("args", func(starlark.Tuple, []starlark.Tuple) (starlark.Value, error) { return newArgs(), nil }),
		"run": fn("run", func(_ starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			s := starlarkstruct.FromKeywords(starlarkstruct.Default, kw)
			get := func(name string) starlark.Value { v, _ := s.Attr(name); return v }
			a := action{kind: "run", mnemonic: texts(get("mnemonic"))[0], argv: texts(get("executable")), inputs: texts(get("inputs")), outputs: texts(get("outputs")),
				tools: texts(get("tools")), requirements: get("execution_requirements")}
			for x := range get("arguments").(*starlark.List).Elements() {
				l, _ := x.(*starlarkstruct.Struct).Attr("list")
				a.argv = append(a.argv, texts(l)...)
			}
			c.actions = append(c.actions, a)
			return starlark.None, nil
		}),
		"write": fn("write", func(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			var output *starlarkstruct.Struct
			var content string
			var exec bool
			err := starlark.UnpackArgs("write", args, kw, "output", &output, "content", &content, "is_executable?", &exec)
			if exec != strings.HasPrefix(content, "#!") {
				err = fmt.Errorf("a script must be executable, and nothing else")
			}
			c.actions = append(c.actions, action{kind: "write", content: content, outputs: texts(output)})
			return starlark.None, err
		}),
	})
	vars := starlark.NewDict(1)
	for k, v := range c.vars {
		_ = vars.SetKey(starlark.String(k), starlark.String(v))
	}
	toolchains := starlark.NewDict(1)
	_ = toolchains.SetKey(starlark.String("@rules_ptobuild//:toolchain_type"), c.toolchain)
	return str(starlark.StringDict{
		"actions": actions, "attr": str(c.attr), "file": str(c.file), "files": str(c.files), "executable": str(c.executable), "toolchains": toolchains,
		"workspace_name": starlark.String("ws"), "var": vars, "bin_dir": str(starlark.StringDict{"path": starlark.String(path.Clean(binDir))}),
		"label": str(starlark.StringDict{"name": starlark.String(c.name), "package": starlark.String(c.pkg), "workspace_root": starlark.String(c.workspace)}),
		"runfiles": fn("runfiles", func(args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			files, more, links := &starlark.List{}, &depset{}, &starlark.Dict{}
			err := starlark.UnpackArgs("runfiles", args, kw, "files?", &files, "transitive_files?", &more, "symlinks?", &links)
			all := &depset{items: slices.Concat(slices.Collect(files.Elements()), more.items)}
			return str(starlark.StringDict{"files": all}), err
		}),
	})
}

func ignore(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, nil
}

// newArgs is the object of ctx.actions.args(); its field list is the command line so far.
func newArgs() starlark.Value {
	list := starlark.NewList(nil)
	put := func(vs ...starlark.Value) error {
		for _, v := range vs {
			for _, s := range texts(v) {
				if err := list.Append(starlark.String(s)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return starlarkstruct.FromStringDict(starlark.String("Args"), starlark.StringDict{
		"list":                  list,
		"use_param_file":        starlark.NewBuiltin("use_param_file", ignore),
		"set_param_file_format": starlark.NewBuiltin("set_param_file_format", ignore),
		"add": starlark.NewBuiltin("add", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return starlark.None, put(args...)
		}),
		"add_all": starlark.NewBuiltin("add_all", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			var values starlark.Value
			var before string
			var expand bool
			var each starlark.Callable
			if err := starlark.UnpackArgs("add_all", args, kw, "values", &values, "before_each?", &before, "expand_directories?", &expand, "map_each?", &each); err != nil {
				return nil, err
			}
			if each != nil {
				mapped := starlark.NewList(nil)
				for v := range values.(*starlark.List).Elements() {
					x, err := starlark.Call(thread, each, starlark.Tuple{v}, nil)
					if err != nil {
						return nil, err
					}
					_ = mapped.Append(x)
				}
				values = mapped
			}
			for _, s := range texts(values) {
				if err := put(starlark.String(before), starlark.String(s)); err != nil {
					return nil, err
				}
			}
			return starlark.None, nil
		}),
	})
}

// implement runs the implementation of a rule and returns its providers.
func implement(t *testing.T, rule starlark.Value, c *context) target {
	t.Helper()
	f, err := rule.(*starlarkstruct.Struct).Attr("implementation")
	if err != nil {
		t.Fatal(err)
	}
	v, err := starlark.Call(&starlark.Thread{}, f, starlark.Tuple{c.value()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out target
	for x := range v.(*starlark.List).Elements() {
		out = append(out, x.(*starlarkstruct.Struct))
	}
	return out
}
