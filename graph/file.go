package graph

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes"
)

// Detached makes a workspace without a Pto.toml around a folder: every setting has its default.
func Detached(dir string, roots []string) *Workspace {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return &Workspace{Root: abs, Config: &Config{Workspace: WorkspaceConfig{Roots: roots}}, sources: map[string][]byte{}}
}

// File takes every orchestration function of one source file to C++. Reports of a program that several functions share come once.
func (b *Builder) File(source string) ([]*Built, diag.List) {
	targets, ds := b.FileTargets(source)
	ds.Add(b.CheckArgs([]string{source})...)
	if ds.HasErrors() {
		return nil, ds
	}
	if len(targets) == 0 {
		return nil, append(ds, diag.Errorf(CodeNoMatch, diag.Span{File: source}, "no orchestration function in %s", source).
			WithHint("decorate one with @pl.jit, or with @pl.function(type=pl.FunctionType.Orchestration) inside a @pl.program class"))
	}
	var built []*Built
	for _, t := range targets {
		x, more := b.Build(context.Background(), t)
		ds.Add(more...)
		if x != nil {
			built = append(built, x)
		}
	}
	return built, ds
}

// Packages are the inputs of packaging several targets together.
func Packages(built []*Built) []pack.Unit {
	units := make([]pack.Unit, len(built))
	for i, x := range built {
		units[i] = pack.Unit{Plan: x.Plan, Code: x.Code, Lines: x.Lines}
	}
	return units
}

// After runs the pipeline on the program of a target up to and including the pass of a name ("canonical": all of it).
func (b *Builder) After(t *Target, stage string) (*ir.Program, diag.List, error) {
	all := passes.Default()
	last := len(all)
	if stage != "canonical" {
		names := []string{"frontend"}
		last = 0
		for i, p := range all {
			names = append(names, p.Name)
			if p.Name == stage {
				last = i + 1
				break
			}
		}
		if last == 0 {
			d := diag.Errorf(CodeNoMatch, diag.Span{}, "no stage %q", stage).WithHint("the stages are %s, canonical, plan", strings.Join(names, ", "))
			return nil, nil, d
		}
	}
	p, ds := passes.Run(&passes.Context{Ops: b.Ops, Options: b.options(t.Label)}, t.Program, all[:last], passes.Hooks{})
	return p, ds, nil
}
