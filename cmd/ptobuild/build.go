package main

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
)

type buildResult struct {
	Targets      []builtTarget       `json:"targets"`
	Dependencies []*graph.DepsReport `json:"dependencies,omitempty"` // with --explain-deps
	Diagnostics  diag.List           `json:"diagnostics"`
}

type builtTarget struct {
	Label   string   `json:"label"`
	OK      bool     `json:"ok"`
	Outputs string   `json:"outputs"`           // folder from the root
	Written []string `json:"written,omitempty"` // files whose content changed
	Tasks   int      `json:"-"`
}

func (a *app) buildCommand() *cobra.Command {
	var profile string
	var jobs int
	var explainDeps bool
	var lf loadFlags
	cmd := &cobra.Command{
		Use:   "build [PATTERN]...",
		Short: "Generate the C++ of targets",
		Long: "Generates the orchestration C++, kernel table and source map of every target that a pattern selects, below build/.\n" +
			"Patterns are //folder/file:function, //folder/file, //folder/... or paths; without one, every target of the workspace.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.build(cmd.Context(), args, profile, jobs, explainDeps, &lf)
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "API `PROFILE` of the generated C++")
	cmd.Flags().IntVarP(&jobs, "jobs", "j", 0, "at most `N` targets at once (default: the number of cores)")
	cmd.Flags().BoolVar(&explainDeps, "explain-deps", false, "tell which dependency edges each task has, and why")
	lf.register(cmd)
	a.cacheFlags(cmd)
	a.sarifFlag(cmd)
	return cmd
}

func (a *app) build(ctx context.Context, args []string, profile string, jobs int, explainDeps bool, lf *loadFlags) error {
	start := time.Now()
	ws, err := a.open()
	if err != nil {
		return err
	}
	ps, err := a.patterns(ws, args)
	if err != nil {
		return err
	}
	b, err := a.builder(ctx, ws, profile, lf)
	if err != nil {
		return err
	}
	targets, ds := b.Targets(ps)
	res := buildResult{Targets: make([]builtTarget, len(targets)), Diagnostics: ds}
	lists := make([]diag.List, len(targets))
	var mu sync.Mutex
	done := 0
	if err := graph.Each(jobs, targets, func(i int, t *graph.Target) error {
		r := &res.Targets[i]
		r.Label, r.Outputs = t.Label.String(), t.Output()
		built, ds := b.Build(ctx, t)
		if built != nil && !ds.HasErrors() {
			written, err := b.Write(built)
			r.Written, r.OK = written, err == nil
			ds = append(ds, diag.AsList(err, graph.CodeOutput)...)
		}
		lists[i] = ds
		mu.Lock()
		done++
		a.ui.Status("[%d/%d] %s", done, len(targets), t.Label)
		mu.Unlock()
		return nil
	}); err != nil {
		return err
	}
	for _, l := range lists {
		res.Diagnostics.Add(l...)
	}
	took := time.Since(start)
	if explainDeps {
		res.Dependencies = a.depsReports(b, targets)
	}
	return a.endBuild(ctx, ws, &res, took)
}

func (a *app) endBuild(ctx context.Context, ws *graph.Workspace, res *buildResult, took time.Duration) error {
	a.ui.Status("")
	res.Diagnostics = res.Diagnostics.Sort()
	a.note(res.Diagnostics)
	failed := 0
	for _, t := range res.Targets {
		if !t.OK {
			failed++
		}
	}
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		a.ui.Report(res.Diagnostics, ws.Source)
		changed := 0
		for _, t := range res.Targets {
			if len(t.Written) > 0 {
				changed++
				a.ui.Printf("%s %s → %s\n", a.ui.Paint(ui.Green, "built"), t.Label, path.Clean(t.Outputs)+"/")
			}
		}
		a.printDeps(res.Dependencies)
		if len(res.Targets) == 0 && !res.Diagnostics.HasErrors() {
			a.ui.Printf("no targets here: a .py file with an orchestration function makes one\n")
		} else if failed == 0 && !res.Diagnostics.HasErrors() {
			a.ui.Printf("%s built, %d changed (%s)\n", ui.Plural(len(res.Targets), "target"), changed, took.Round(time.Millisecond))
		} else {
			a.ui.Printf("%s\n", a.ui.Paint(ui.Red, "build failed"))
		}
	}
	if failed > 0 || res.Diagnostics.HasErrors() {
		return exitError{exitOf(ctx, res.Diagnostics)}
	}
	return nil
}
