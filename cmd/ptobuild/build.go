package main

import (
	"context"
	"path"
	"runtime/debug"
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

	count int // of the targets
}

type builtTarget struct {
	Label   string   `json:"label"`
	OK      bool     `json:"ok"`
	Outputs string   `json:"outputs"`           // folder from the root
	Written []string `json:"written,omitempty"` // files whose content changed
}

func (a *app) buildCommand() *cobra.Command {
	f := buildFlags{keepGoing: true}
	cmd := &cobra.Command{
		Use:   "build [PATTERN]...",
		Short: "Generate the C++ of targets",
		Long: "Generates the orchestration C++, kernel table and source map of every target that a pattern selects, below build/.\n" +
			"Patterns are //folder/file:function, //folder/file, //folder/... or paths; without one, every target of the workspace.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.build(cmd.Context(), args, &f)
		},
	}
	cmd.Flags().StringVar(&f.profile, "profile", "", "API `PROFILE` of the generated C++")
	cmd.Flags().IntVarP(&f.jobs, "jobs", "j", 0, "at most `N` sources at once (default: the number of cores)")
	cmd.Flags().BoolVarP(&f.keepGoing, "keep-going", "k", true, "build the rest after an error; --keep-going=false stops at the first")
	cmd.Flags().BoolVar(&f.explainDeps, "explain-deps", false, "tell which dependency edges each task has, and why")
	f.load.register(cmd)
	a.cacheFlags(cmd)
	a.sarifFlag(cmd)
	return cmd
}

type buildFlags struct {
	profile     string
	jobs        int
	keepGoing   bool
	explainDeps bool
	load        loadFlags
}

func (a *app) build(ctx context.Context, args []string, f *buildFlags) error {
	start := time.Now()
	s, err := a.session()
	if err != nil {
		return err
	}
	defer s.Close()
	ps, err := a.patterns(s.Root, args)
	if err != nil {
		return err
	}
	req, err := f.load.request(f.profile)
	if err != nil {
		return err
	}
	if rep := a.unchanged(s, req, ps); rep != nil && !f.explainDeps {
		return a.endBuild(ctx, resultOf(rep, a.ui.JSON), s.Source, time.Since(start))
	}
	ws, ds := s.Open()
	if ds.HasErrors() {
		return a.fail(ds, ws, exitUsage)
	}
	b, err := a.builder(ctx, ws, f.profile, &f.load)
	if err != nil {
		return err
	}
	rep := s.Build(ctx, b, ps, graph.BuildOptions{Request: req, Jobs: f.jobs, KeepGoing: f.keepGoing, Store: a.buildStore(s), Progress: func(done, of int, l graph.Label) {
		if done == 1 && of >= manySources {
			debug.SetGCPercent(50) // what is kept of each source adds up
		}
		a.ui.Status("[%d/%d] %s", done, of, l.File)
	}})
	took := time.Since(start)
	res := resultOf(rep, a.ui.JSON)
	if f.explainDeps {
		targets, _ := b.Targets(ps) // the build reported what is wrong
		res.Dependencies = a.depsReports(b, targets)
	}
	return a.endBuild(ctx, res, ws.Source, took)
}

// resultOf makes the result of a build of its report. Without all, targets for which nothing was done are only counted.
func resultOf(rep *graph.Report, all bool) *buildResult {
	res := &buildResult{Targets: []builtTarget{}, Diagnostics: rep.Diagnostics, count: len(rep.Targets)}
	for i := range rep.Targets {
		o := &rep.Targets[i]
		if all || !o.OK || len(o.Written) > 0 {
			res.Targets = append(res.Targets, builtTarget{Label: o.Label.String(), OK: o.OK, Outputs: o.Output(), Written: o.WrittenFiles()})
		}
	}
	return res
}

// manySources are so many that memory counts more than the time to collect it.
const manySources = 20000

// mostBuilt is how many targets that changed are named.
const mostBuilt = 20

// rounded is a time as people read it.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

func (a *app) endBuild(ctx context.Context, res *buildResult, source func(string) []byte, took time.Duration) error {
	a.ui.Status("")
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
		a.ui.Report(res.Diagnostics, source)
		changed := 0
		for _, t := range res.Targets {
			if len(t.Written) == 0 {
				continue
			}
			if changed++; changed <= mostBuilt {
				a.ui.Printf("%s %s → %s\n", a.ui.Paint(ui.Green, "built"), t.Label, path.Clean(t.Outputs)+"/")
			}
		}
		if changed > mostBuilt {
			a.ui.Printf("… and %d more\n", changed-mostBuilt)
		}
		a.printDeps(res.Dependencies)
		if res.count == 0 && !res.Diagnostics.HasErrors() {
			a.ui.Printf("no targets here: a .py file with an orchestration function makes one\n")
		} else if failed == 0 && !res.Diagnostics.HasErrors() {
			a.ui.Printf("%s built, %d changed (%s)\n", ui.Plural(res.count, "target"), changed, rounded(took))
		} else {
			a.ui.Printf("%s\n", a.ui.Paint(ui.Red, "build failed"))
		}
	}
	if failed > 0 || res.Diagnostics.HasErrors() {
		return exitError{exitOf(ctx, res.Diagnostics)}
	}
	return nil
}
