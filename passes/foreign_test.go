package passes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
)

// The passes of the core keep the rules that those of plugins are held to, on all examples.
func TestCorePassesLeaveNoLooseEnds(t *testing.T) {
	files, err := filepath.Glob("../examples/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		u, ds := lang.Load(file, lang.Options{Ops: ops.Builtin(), ReadFile: os.ReadFile})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, p := range u.Programs {
			for _, o := range []Options{{}, {AutoDeps: true, StoreTargetInOut: true}} {
				ctx := &Context{Ops: ops.Builtin(), Options: o}
				before := p
				Run(ctx, p, Default(), Hooks{After: func(_ int, pass *Pass, after *ir.Program) {
					if ds := foreignWork(ctx, before, after); len(ds) > 0 {
						t.Errorf("%s after %s: %v", file, pass.Name, ds)
					}
					before = after
				}})
			}
		}
	}
}

// When the core trips over what a plugin's pass made, in a way that no check sees, that pass is named, out of several; a mistake of the user's stays one.
func TestBlame(t *testing.T) {
	x := tvar("x")
	good := func() *ir.Program { return program(fn("main", ir.Orchestration, []ir.Param{in(x)}, ret(x))) }
	mark := func(name, attr string) *Pass {
		return &Pass{Name: "acme." + name, Plugin: "acme", Run: func(_ *Context, p *ir.Program) (*ir.Program, error) {
			f := *p.Funcs[0]
			f.Attrs = append(slices.Clone(f.Attrs), ir.Attr{Key: attr, Value: true})
			return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&f}, p.Funcs[1:]...)}, nil
		}}
	}
	here := diag.Span{File: "f.py", Line: 3, Col: 1}
	trips := func(attr string) func(p *ir.Program) diag.List {
		return func(p *ir.Program) diag.List {
			if _, ok := p.Funcs[0].Attrs.Get(attr); ok || attr == "" {
				return diag.List{diag.Errorf("PTO-X999", here, "not like this"), diag.Errorf("PTO-X998", here, "and not like that")}
			}
			return nil
		}
	}
	core := func(attr string) *Pass {
		return &Pass{Name: "Core", Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
			for _, d := range trips(attr)(p) {
				ctx.Report(d)
			}
			return p, nil
		}}
	}
	foreign := []*Pass{mark("One", "one"), mark("Two", "two"), mark("Three", "three")}
	var dumped []string
	hooks := Hooks{Broken: func(p *Pass, before, after *ir.Program) []string {
		dumped = append(dumped, p.Name)
		if _, ok := before.Funcs[0].Attrs.Get("two"); ok || len(after.Funcs[0].Attrs) == len(before.Funcs[0].Attrs) {
			t.Error("the dumps are not those around the pass")
		}
		return []string{"d.py"}
	}}
	_, ds := Run(&Context{}, good(), append(slices.Clone(foreign), core("two")), hooks)
	const want = "pass acme.Two of plugin acme broke the program, which is sound without it: [PTO-X999] not like this"
	if len(ds) != 1 || ds[0].Code != CodeInternal || ds[0].Message != want || ds[0].Span != here || len(ds[0].Related) != 1 || !strings.HasSuffix(ds[0].Hint, "dumps: d.py") {
		t.Errorf("a pass of the core: %v", ds)
	}
	p, ds := Run(&Context{}, good(), foreign, hooks)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if ds := Blame(&Context{}, good(), foreign, hooks, trips("two")(p), trips("two")); len(ds) != 1 || ds[0].Message != want {
		t.Errorf("after the passes: %v", ds)
	}
	if !slices.Equal(dumped, []string{"acme.Two", "acme.Two"}) {
		t.Errorf("dumped %v", dumped)
	}
	if _, ds := Run(&Context{}, good(), append(slices.Clone(foreign), core("")), hooks); len(ds) != 2 || ds[0].Code == CodeInternal {
		t.Errorf("the user's own mistake: %v", ds)
	}
}
