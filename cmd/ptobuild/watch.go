package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/runtime/native"
)

func (a *app) watchCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "watch [PATTERN]...",
		Short: "Build and test on every save",
		Long: "Builds the targets that a pattern selects and runs their tests, now and whenever a file of the workspace changes. Each test is answered\n" +
			"first from the plan, then confirmed with the compiled C++. Ctrl-C ends it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), args, f)
		},
	}
	f.register(cmd)
	a.cacheFlags(cmd)
	return cmd
}

func (a *app) watch(ctx context.Context, args []string, f testFlags) error {
	ws, ds := graph.Open(a.dir)
	if ws == nil {
		return a.fail(ds, ws, exitUsage)
	}
	// What concerns the build is known after each round: its files change which ones do.
	var latest atomic.Pointer[graph.Workspace]
	latest.Store(ws)
	changes, err := graph.Watch(ctx, ws.Root, func(path string) bool { return latest.Load().Concerns(path) })
	if err != nil {
		return err
	}
	a.running = graph.KeepPlugins(ctx)
	defer a.running.Close()
	for {
		a.seen = roundResult{Tests: []*graph.Verdict{}}
		start := time.Now()
		if ws := a.round(ctx, args, f); ws != nil {
			latest.Store(ws)
		}
		if a.ui.JSON && ctx.Err() == nil {
			a.seen.Took = time.Since(start)
			if err := a.ui.Event(a.seen); err != nil {
				return err
			}
		}
		a.ui.Status("watching %s: save a file to run again, Ctrl-C to stop", ws.Root)
		if _, ok := <-changes; !ok {
			a.ui.Status("")
			return nil
		}
		a.ui.Textf("%s\n", a.ui.Paint(ui.Dim, "── "+time.Now().Format("15:04:05")+" ──"))
	}
}

// roundResult is one round of watch --json: a line of JSON on standard output.
type roundResult struct {
	Targets     int              `json:"targets"`
	Tests       []*graph.Verdict `json:"tests"` // from the compiled C++ when the plans passed, else from the plans
	Diagnostics diag.List        `json:"diagnostics"`
	Took        time.Duration    `json:"took_ns"`
}

// round builds and tests once and returns the workspace it saw, nil when there is none. Whatever goes wrong is reported and the watch goes on.
func (a *app) round(ctx context.Context, args []string, f testFlags) *graph.Workspace {
	start := time.Now()
	ws, ds := graph.Open(a.dir)
	if ds.HasErrors() {
		a.report(ds, ws)
		return ws
	}
	ps, err := a.patterns(ws, args)
	if err != nil {
		a.report(diag.AsList(err, ""), ws)
		return ws
	}
	b, err := a.builder(ctx, ws, "", &f.load)
	if err != nil {
		a.report(diag.AsList(err, ""), ws)
		return ws
	}
	defer a.closeBuilder()
	targets, ds := b.Targets(ps)
	a.seen.Targets = len(targets)
	failed := 0
	for _, t := range targets {
		built, more := b.Build(ctx, t)
		if built != nil && !more.HasErrors() {
			_, err := b.Write(built)
			more = append(more, diag.AsList(err, graph.CodeOutput)...)
		}
		if more.HasErrors() {
			failed++
		}
		ds.Add(more...)
	}
	if ds = ds.Sort(); ds.HasErrors() {
		a.report(ds, ws)
		a.ui.Textf("%s (%s)\n", a.ui.Paint(ui.Red, "build failed"), time.Since(start).Round(time.Millisecond))
		if failed == len(targets) {
			return ws
		}
	} else {
		a.report(ds, ws)
		a.ui.Textf("%s built (%s)\n", ui.Plural(len(targets), "target"), time.Since(start).Round(time.Millisecond))
	}
	tests, more := b.Tests(targets, ps)
	a.report(more, ws)
	quick := f
	quick.noCompile = true
	plans := slices.DeleteFunc(slices.Clone(tests), func(t graph.Test) bool { return t.NeedsCompiler() })
	if a.testRound(ctx, b, plans, quick, "plan") && !f.noCompile {
		a.testRound(ctx, b, tests, f, "compiled C++")
	}
	return ws
}

// testRound runs all tests with one set of flags, prints the failures and a summary line, and reports whether all passed.
func (a *app) testRound(ctx context.Context, b *graph.Builder, tests []graph.Test, f testFlags, engine string) bool {
	if len(tests) == 0 {
		return false
	}
	start := time.Now()
	t, err := a.tester(b, f)
	if err != nil {
		a.report(diag.AsList(err, native.CodeToolchain), b.WS)
		return false
	}
	verdicts := make([]*graph.Verdict, len(tests))
	if err := graph.Each(f.jobs, tests, func(i int, x graph.Test) error {
		a.ui.Status("testing %s (%s)", x.Config.Name, engine)
		verdicts[i] = t.Run(ctx, x.Config, x.Target)
		return nil
	}); err != nil || ctx.Err() != nil {
		return false
	}
	a.seen.Tests = verdicts
	failed := 0
	for _, v := range verdicts {
		if !v.Passed {
			failed++
			a.ui.Textf("%s  %s\n", a.ui.Paint(ui.Red, "FAIL"), v.Test)
			a.report(v.Diags, b.WS)
		}
	}
	took := time.Since(start).Round(time.Millisecond)
	if failed > 0 {
		a.ui.Textf("%s of %s failed (%s, %s)\n", ui.Plural(failed, "test"), ui.Plural(len(tests), "test"), engine, took)
		return false
	}
	a.ui.Textf("%s %s passed (%s, %s)\n", a.ui.Paint(ui.Green, "ok"), ui.Plural(len(tests), "test"), engine, took)
	return true
}

func (a *app) report(ds diag.List, ws *graph.Workspace) {
	a.seen.Diagnostics.Add(ds...)
	a.ui.Report(ds, sourceOf(ws))
}
