package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/runtime/native"
)

type testResult struct {
	Tests       []*graph.Verdict `json:"tests"`
	Diagnostics diag.List        `json:"diagnostics"`
}

type testFlags struct {
	schedules int
	seed      uint64
	policy    string
	jobs      int
	noCompile bool
	rerun     bool
	artifacts artifactFlags
	advice    bool
	load      loadFlags
	only      selection
}

func (f *testFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.schedules, "schedules", 0, "try `N` seeded task orders (default: the test's own, else 3)")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "first `SEED` of the task orders")
	cmd.Flags().StringVar(&f.policy, "policy", "", "only this task order: fifo, parallel, one-core, lifo, newest-first, random, sequential, or late (the task of --seed as late as it can)")
	cmd.Flags().IntVarP(&f.jobs, "jobs", "j", 0, "at most `N` tests at once (default: the number of cores)")
	cmd.Flags().BoolVar(&f.noCompile, "no-compile", false, "run only the plan, not the compiled C++")
	cmd.Flags().BoolVar(&f.rerun, "rerun", false, "run tests again whose result is cached")
	f.artifacts.register(cmd)
	cmd.Flags().BoolVar(&f.advice, "advice", false, "say what bounds the speed, and what of the rings the programs need")
	f.load.register(cmd)
}

func (a *app) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [PATTERN]...",
		Short: "Run tests on the simulated runtime",
		Long: "Runs the tests of Pto.toml whose target a pattern selects (all without one): the plan and the compiled C++ on the simulated runtime\n" +
			"under several task orders. Results must match the expectation, and both engines must do exactly the same.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.test(cmd.Context(), args, f)
		},
	}
	f.register(cmd)
	f.only.register(cmd)
	a.cacheFlags(cmd)
	a.sarifFlag(cmd)
	return cmd
}

// childProcesses starts the processes of compiled C++. One that was started ahead and never used ends with the command.
func (a *app) childProcesses() (*native.Children, error) {
	if a.children == nil {
		helper, err := native.Helper()
		if err != nil {
			return nil, err
		}
		a.children = native.NewChildren(helper)
	}
	return a.children, nil
}

func (a *app) closeChildren() {
	if a.children != nil {
		a.children.Close()
	}
}

// tester sets up test execution.
func (a *app) tester(b *graph.Builder, s *graph.Session, f testFlags) (*graph.Tester, error) {
	children, err := a.childProcesses()
	if err != nil {
		return nil, err
	}
	t := &graph.Tester{Builder: b, Session: s, Engine: a.engine(f.jobs), Children: children, Schedules: f.schedules, Seed: f.seed, Rerun: f.rerun, Advice: f.advice}
	if f.policy != "" {
		p, err := graph.PolicyNamed(f.policy)
		if err != nil {
			return nil, err
		}
		t.Policy = &p
	}
	if t.Artifacts, err = f.artifacts.get(a); err != nil {
		return nil, err
	}
	if s != nil { // verdicts are remembered
		exe, err := executable()
		if err != nil {
			return nil, err
		}
		if t.ToolID = toolID(exe); !f.noCompile {
			t.HostID = toolID(children.Helper)
		}
	}
	if !f.noCompile {
		if t.Toolchain, err = native.FindToolchain(b.WS.Config.Build.CXX, a.store.local); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (a *app) test(ctx context.Context, args []string, f testFlags) error {
	start := time.Now()
	if err := f.only.parse(); err != nil {
		return err
	}
	ws, err := a.open()
	if err != nil {
		return err
	}
	s, err := a.session()
	if err != nil {
		return err
	}
	defer s.Close()
	ps, err := a.patterns(ws.Root, args)
	if err != nil {
		return err
	}
	b, err := a.builder(ctx, ws, "", &f.load)
	if err != nil {
		return err
	}
	req, err := f.load.request("")
	if err != nil {
		return err
	}
	rep := a.unchanged(s, req, ps)
	if rep == nil {
		rep = s.Build(ctx, b, ps, graph.BuildOptions{Request: req, Jobs: f.jobs, KeepGoing: true, Store: a.buildStore(s)})
	}
	targets, ds := s.Targets(ps), rep.Diagnostics
	res := &testResult{Diagnostics: ds}
	if ds.HasErrors() && len(targets) == 0 {
		return a.fail(ds, ws, exitOf(ctx, ds))
	}
	tests, more := b.Tests(targets, ps, ds)
	res.Diagnostics.Add(more...)
	_, more = b.Allowances()
	res.Diagnostics.Add(more...)
	every := len(args) == 0
	if some := f.only.of(tests); len(some) < len(tests) {
		tests, every = some, false
	}
	t, err := a.tester(b, s, f)
	if err != nil {
		return a.fail(diag.AsList(err, native.CodeToolchain), ws, exitInternal)
	}
	// What a test may show is told when it did not.
	a.ui.Report(slices.DeleteFunc(slices.Clone(res.Diagnostics), graph.Foretells), ws.Source)
	res.Tests = make([]*graph.Verdict, len(tests))
	width := 0
	for _, x := range tests {
		width = max(width, len(x.Config.Name))
	}
	var mu sync.Mutex
	printed := 0 // verdicts appear in the order of Pto.toml, each as soon as those before it are there
	if err := graph.Each(f.jobs, tests, func(i int, x graph.Test) error {
		v := t.Run(ctx, x.Config, x.Target)
		if ctx.Err() != nil { // interrupted: the verdict says nothing about the program
			return context.Cause(ctx)
		}
		mu.Lock()
		defer mu.Unlock()
		res.Tests[i] = v
		for printed < len(tests) && res.Tests[printed] != nil {
			a.verdict(ws, res.Tests[printed], width, res.Diagnostics)
			printed++
		}
		if printed < len(tests) {
			a.ui.Status("[%d/%d] %s", printed, len(tests), tests[printed].Config.Name)
		}
		return nil
	}); err != nil {
		return err
	}
	a.ui.Status("")
	s.SaveTests()
	res.Diagnostics = slices.DeleteFunc(res.Diagnostics, func(d *diag.Diagnostic) bool { return graph.Shown(d, res.Tests) })
	a.ui.Report(slices.DeleteFunc(slices.Clone(res.Diagnostics), func(d *diag.Diagnostic) bool { return !graph.Foretells(d) }), ws.Source)
	if every && !slices.ContainsFunc(res.Tests, func(v *graph.Verdict) bool { return !v.Passed }) {
		unused := b.Unused(res.Tests)
		res.Diagnostics.Add(unused...)
		a.ui.Report(unused, ws.Source)
	}
	if err := a.writeJUnit(f.only.junit, res.Tests); err != nil {
		return a.fail(diag.AsList(err, graph.CodeOutput), ws, exitInternal)
	}
	return a.endTest(ctx, res, time.Since(start))
}

// verdict prints the line of one test and those of its reports that were not told before.
func (a *app) verdict(ws *graph.Workspace, v *graph.Verdict, width int, told diag.List) {
	if a.ui.JSON {
		return
	}
	word := a.ui.Paint(ui.Green, "PASS")
	if !v.Passed {
		word = a.ui.Paint(ui.Red, "FAIL")
	}
	var notes []string
	if v.Passed {
		engines := "plan"
		switch {
		case !v.Planned:
			engines = "C++"
		case v.Compiled:
			engines = "plan = C++"
		}
		notes = append(notes, ui.Plural(v.Tasks, "task"), fmt.Sprintf("%s × %s", ui.Plural(v.Runs, "order"), engines), "vs "+v.Expected)
		if v.Worst > 0 {
			notes = append(notes, fmt.Sprintf("worst error %.2g", v.Worst))
		}
		if len(v.Allowed) > 0 {
			notes = append(notes, ui.Plural(len(v.Allowed), "allowance"))
		}
		if v.Cached {
			notes = append(notes, "cached")
		} else {
			notes = append(notes, v.Took.Round(time.Millisecond).String())
		}
	}
	line := fmt.Sprintf("%s  %-*s  %s", word, width, v.Test, a.ui.Paint(ui.Dim, strings.Join(notes, ", ")))
	if len(notes) == 0 {
		line = word + "  " + v.Test
	}
	a.ui.Printf("%s\n", line)
	for _, l := range v.Accuracy.Lines() {
		a.ui.Printf("      %s\n", l)
	}
	a.ui.Report(without(v.Diags, told), ws.Source)
	if v.Advice != nil {
		for _, l := range v.Advice.Lines() {
			a.ui.Printf("      %s\n", l)
		}
		a.ui.Report(v.Advice.Notes, ws.Source)
	}
}

// without leaves out reports that were printed before.
func without(ds, told diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(ds), func(d *diag.Diagnostic) bool {
		return slices.ContainsFunc(told, func(t *diag.Diagnostic) bool { return t.Code == d.Code && t.Span == d.Span && t.Message == d.Message })
	})
}

func (a *app) endTest(ctx context.Context, res *testResult, took time.Duration) error {
	failed := 0
	a.note(res.Diagnostics)
	for _, v := range res.Tests {
		a.note(v.Diags)
		if v.Advice != nil {
			a.note(v.Advice.Notes)
		}
		if !v.Passed {
			failed++
		}
	}
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		switch {
		case failed > 0:
			a.ui.Printf("%s\n", a.ui.Paint(ui.Red, fmt.Sprintf("%d of %s failed", failed, ui.Plural(len(res.Tests), "test"))))
		case len(res.Tests) == 0 && !res.Diagnostics.HasErrors():
			a.ui.Printf("no tests here: a [[test]] in Pto.toml makes one, and --filter and --shard leave some out\n")
		case !res.Diagnostics.HasErrors():
			a.ui.Printf("%s passed (%s)\n", ui.Plural(len(res.Tests), "test"), took.Round(time.Millisecond))
		}
	}
	all := slices.Clone(res.Diagnostics)
	for _, v := range res.Tests {
		all.Add(v.Diags...)
	}
	if failed > 0 || all.HasErrors() {
		return exitError{exitOf(ctx, all)}
	}
	return nil
}
