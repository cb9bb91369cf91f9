package graph

import (
	"context"
	"path/filepath"
	"slices"
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
	return &Workspace{Root: abs, Config: &Config{Workspace: WorkspaceConfig{Roots: roots}}, sources: map[string][]byte{}, unlocked: true, detached: true}
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
		units[i] = pack.Unit{Program: x.Target.Program, Plan: x.Plan, Code: x.Code, Lines: x.Lines}
	}
	return units
}

// After runs the pipeline on the program of a target up to and including the pass of a name ("canonical": all of it).
func (b *Builder) After(t *Target, stage string) (*ir.Program, diag.List, error) {
	run := b.pipeline
	if stage != "canonical" {
		var err error
		if run, err = passes.Until(run, stage); err != nil {
			return nil, nil, noStage(stage, b.pipeline)
		}
	}
	p, ds := b.runPasses(&passes.Context{Ops: b.Ops, Options: b.options(t.Label)}, t.Program, run, nil)
	return p, ds, nil
}

// noStage says which stages there are.
func noStage(stage string, pipeline []*passes.Pass) *diag.Diagnostic {
	names := []string{"frontend"}
	for i, p := range pipeline {
		name := p.Name
		if slices.Contains(names, name) { // the second run of a pass goes by the name of its dump
			name = passes.DumpName(i, p)
		}
		names = append(names, name)
	}
	names = append(names, "canonical", "plan")
	d := diag.Errorf(CodeStage, diag.Span{}, "no stage %q", stage)
	if near := diag.Nearest(stage, names); near != "" {
		return d.WithHint("did you mean %s?", near)
	}
	return d.WithHint("the stages are %s", strings.Join(names, ", "))
}
