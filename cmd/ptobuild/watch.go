package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/plugins/lock"
	"github.com/ptobuild/ptobuild/runtime/native"
)

type watchFlags struct {
	test  testFlags
	tests bool // are run
	poll  bool
	bell  bool
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [PATTERN]...",
		Short: "Build and test on every save",
		Long: "Builds the targets that a pattern selects and runs their tests, now and whenever a file of the workspace changes. Each test is answered\n" +
			"first from the plan, then confirmed with the compiled C++. A change during a round ends it and starts the next.\n" +
			"Keys: r runs everything again, f the failed tests, q quits. With --json, each event is a line of JSON, and the keys are read from standard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), args, f)
		},
	}
	f.test.register(cmd)
	cmd.Flags().BoolVar(&f.tests, "test", true, "run the tests; --test=false builds only")
	cmd.Flags().BoolVar(&f.poll, "poll", false, "look at the files every half second instead of waiting for events (network file systems)")
	cmd.Flags().BoolVar(&f.bell, "bell", false, "ring the bell when a round fails")
	a.cacheFlags(cmd)
	return cmd
}

// saveAfter is how long a watch is idle before it writes the state.
const saveAfter = 500 * time.Millisecond

// watching is a running watch.
type watching struct {
	a    *app
	args []string
	f    watchFlags

	session  *graph.Session
	ws       *graph.Workspace // nil: Pto.toml could not be read
	watcher  *graph.Watcher
	concerns atomic.Pointer[func(string) bool]

	verdicts map[string]seenVerdict // by test
	failing  bool                   // the last round that ended had errors or failed tests
	summary  string
}

// seenVerdict is the last verdict of a test and what it was about.
type seenVerdict struct {
	identity string
	verdict  *graph.Verdict
}

// job is what a round has to do.
type job struct {
	batch  graph.Batch
	rerun  bool // all tests, cached or not
	failed bool // the failed tests, cached or not
}

// add makes j do what k does, too.
func (j *job) add(k job) {
	j.batch = j.batch.With(k.batch)
	j.rerun, j.failed = j.rerun || k.rerun, j.failed || k.failed
}

func (a *app) watch(ctx context.Context, args []string, f watchFlags) error {
	if err := f.test.only.parse(); err != nil {
		return err
	}
	s, err := a.session()
	if err != nil {
		return a.fail(diag.AsList(err, ""), nil, exitUsage)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a.running = graph.KeepPlugins(ctx)
	defer a.running.Close()
	w := &watching{a: a, args: args, f: f, session: s, verdicts: map[string]seenVerdict{}}
	w.see()
	w.watcher = graph.Watch(ctx, s.Root, graph.WatchOptions{Poll: f.poll, Concerns: func(p string) bool { return (*w.concerns.Load())(p) }})
	if d := w.watcher.Advice(); d != nil {
		a.ui.Report(diag.List{d}, nil)
	}
	keys, restore := a.keys()
	defer restore()

	var cancel context.CancelFunc
	var done chan bool // tells whether the round came to its end
	var now job
	start := func(j job) {
		if cancel != nil { // what the running round was to do, the next one does
			cancel()
			if !<-done {
				j.add(now)
			}
		}
		var round context.Context
		round, cancel = context.WithCancel(ctx)
		done, now = make(chan bool, 1), j
		go func(done chan<- bool) { done <- w.round(round, j) }(done)
	}
	// The state is only for the next command: it is written when nothing else is to do.
	idle := time.NewTimer(saveAfter)
	defer s.Save()
	defer func() { // the running round has ended before
		if cancel != nil {
			cancel()
			<-done
		}
	}()
	start(job{batch: graph.Batch{All: true}})
	for {
		select {
		case batch, ok := <-w.watcher.C:
			if !ok {
				a.ui.Status("")
				return nil
			}
			if batch.All && len(batch.Paths) == 0 && cancel != nil && w.watcher.Polls() {
				continue // polling: the round that runs looks soon enough
			}
			start(job{batch: batch})
		case <-done:
			cancel()
			cancel, done = nil, nil
			idle.Reset(saveAfter)
			a.ui.Status("%s", w.status())
		case <-idle.C:
			if cancel == nil {
				s.Save()
			}
		case k := <-keys:
			switch k {
			case 'r':
				start(job{batch: graph.Batch{All: true}, rerun: true})
			case 'f':
				start(job{failed: true})
			case 'q', 3, 4: // ^C and ^D
				stop()
			}
		}
	}
}

func (w *watching) status() string {
	keys := ""
	if w.a.ui.Live {
		keys = "  (r run again, f failed only, q quit)"
	}
	return "watching " + w.session.Root + w.summary + keys
}

// see keeps up which changes matter.
func (w *watching) see() {
	of := w.session.Concerns()
	data := map[string]bool{}
	if w.ws != nil {
		data = w.ws.DataFiles()
		for _, f := range w.ws.PluginFiles() {
			data[f] = true
		}
		for _, p := range w.ws.Config.Plugins {
			if p.Path != "" {
				data[p.Path] = true
			}
		}
		data[lock.Name] = true
	}
	f := func(name string) bool { return data[name] || of(name) }
	w.concerns.Store(&f)
}

// watchEvent is one line of watch --json.
type watchEvent struct {
	Event string `json:"event"` // start, build, test, done
	// Of start: what changed; nothing means everything was looked at.
	Changed []string `json:"changed,omitempty"`
	// Of build and done.
	Targets     int       `json:"targets,omitempty"`
	Written     []string  `json:"written,omitempty"` // files whose content changed
	Diagnostics diag.List `json:"diagnostics,omitempty"`
	// Of test: a verdict from the plan, or from the compiled C++.
	Engine string         `json:"engine,omitempty"`
	Test   *graph.Verdict `json:"test,omitempty"`
	// Of done: the last verdict of every test.
	Tests []*graph.Verdict `json:"tests,omitempty"`
	Took  time.Duration    `json:"took_ns,omitempty"`
}

func (w *watching) event(e watchEvent) {
	if w.a.ui.JSON {
		_ = w.a.ui.Event(e) // nobody listens any more: the next key or signal ends the watch
	}
}

// round builds and tests once. Whatever goes wrong is reported, and the watch goes on. It reports whether it came to its end.
func (w *watching) round(ctx context.Context, j job) bool {
	a := w.a
	start := time.Now()
	changed := j.batch.Paths
	if j.batch.All {
		changed = nil
	}
	quiet := j.batch.All && w.watcher != nil && w.watcher.Polls() && !j.rerun // polling: there is something to say only when something changed
	if !quiet {
		w.event(watchEvent{Event: "start", Changed: changed})
	}
	ds, ok := w.prepare(j)
	if !ok {
		return w.cannot(start, ds)
	}
	b, err := a.builder(ctx, w.ws, "", &w.f.test.load)
	if err != nil {
		return w.cannot(start, diag.AsList(err, ""))
	}
	defer a.closeBuilder()
	req, err := w.f.test.load.request("")
	if err != nil {
		return w.cannot(start, diag.AsList(err, ""))
	}
	ps, err := a.patterns(w.session.Root, w.args)
	if err != nil {
		return w.cannot(start, diag.AsList(err, ""))
	}
	rep := w.session.Build(ctx, b, ps, graph.BuildOptions{Request: req, Jobs: w.f.test.jobs, KeepGoing: true, Store: a.buildStore(w.session), Warm: true})
	w.see()
	w.watcher.Also(w.session.Outside())
	if ctx.Err() != nil {
		return false
	}
	var written []string
	for _, o := range rep.Targets {
		written = append(written, o.WrittenFiles()...)
	}
	if quiet && len(rep.Ran) == 0 && len(written) == 0 && len(w.verdicts) > 0 && rep.Diagnostics.HasErrors() == w.failing {
		return true
	}
	w.event(watchEvent{Event: "build", Targets: len(rep.Targets), Written: written, Diagnostics: rep.Diagnostics, Took: time.Since(start)})
	a.ui.Textf("%s\n", a.ui.Paint(ui.Dim, "── "+start.Format("15:04:05")+" "+changedText(changed)+"──"))
	a.ui.Report(rep.Diagnostics, w.session.Source)
	if rep.Diagnostics.HasErrors() {
		a.ui.Textf("%s (%s)\n", a.ui.Paint(ui.Red, "build failed"), rounded(time.Since(start)))
	} else {
		a.ui.Textf("%s built, %s written (%s)\n", ui.Plural(len(rep.Targets), "target"), ui.Plural(len(written), "file"), rounded(time.Since(start)))
	}
	if !w.f.tests {
		return w.end(start, len(rep.Targets), rep.Diagnostics, nil)
	}
	tests, more := b.Tests(w.session.Targets(ps), ps, rep.Diagnostics)
	rep.Diagnostics.Add(more...)
	a.ui.Report(more, w.session.Source)
	verdicts, ended := w.test(ctx, b, w.f.test.only.of(tests), j, rep.Diagnostics)
	if !ended {
		return false
	}
	return w.end(start, len(rep.Targets), rep.Diagnostics, verdicts)
}

// prepare reads Pto.toml when it may have changed, and tells the session what did.
func (w *watching) prepare(j job) (diag.List, bool) {
	if w.ws == nil || j.batch.All || slices.Contains(j.batch.Paths, graph.ConfigName) {
		w.ws = nil
		ws, ds := w.session.Open()
		if ds.HasErrors() {
			return ds, false
		}
		w.ws = ws
		w.session.Touch([]string{graph.ConfigName})
	}
	if j.batch.All {
		w.session.Rescan()
	} else {
		w.session.Touch(j.batch.Paths)
	}
	return nil, true
}

// changedText names what changed.
func changedText(paths []string) string {
	switch {
	case len(paths) == 0:
		return ""
	case len(paths) > 3:
		return fmt.Sprintf("%s and %d more changed ", paths[0], len(paths)-1)
	}
	return strings.Join(paths, ", ") + " changed "
}

// cannot ends a round that could not build anything.
func (w *watching) cannot(start time.Time, ds diag.List) bool {
	w.a.ui.Report(ds, w.session.Source)
	return w.end(start, 0, ds, nil)
}

// end tells how a round ended.
func (w *watching) end(start time.Time, targets int, ds diag.List, verdicts []*graph.Verdict) bool {
	a := w.a
	failed := 0
	for _, v := range verdicts {
		if !v.Passed {
			failed++
		}
	}
	now := failed > 0 || ds.HasErrors()
	switch {
	case w.failing && !now:
		a.ui.Textf("%s\n", a.ui.Paint(ui.Green, "fixed: no errors, no failed tests"))
	case now && w.f.bell:
		a.ui.Notef("\a")
	}
	w.failing = now
	w.summary = ""
	if len(verdicts) > 0 {
		w.summary = fmt.Sprintf(": %d passed, %d failed", len(verdicts)-failed, failed)
	}
	if ds.HasErrors() {
		w.summary += ", errors"
	}
	w.event(watchEvent{Event: "done", Targets: targets, Diagnostics: ds, Tests: verdicts, Took: time.Since(start)})
	return true
}

// test runs the tests whose targets or files changed, first on the plans, then, when all of those pass, on the compiled C++. It gives the last verdict of
// every test; it ends early when ctx does.
func (w *watching) test(ctx context.Context, b *graph.Builder, tests []graph.Test, j job, told diag.List) ([]*graph.Verdict, bool) {
	last := map[string]seenVerdict{}
	data := j.batch.All || slices.ContainsFunc(j.batch.Paths, func(p string) bool { return !strings.HasSuffix(p, ".py") || w.ws.DataFiles()[p] })
	var todo []graph.Test
	for _, x := range tests {
		seen, ok := w.verdicts[x.Config.Name]
		id := x.Target.Identity()
		switch {
		case !ok, id == "", seen.identity != id, data, j.rerun, j.failed && !seen.verdict.Passed:
			todo = append(todo, x)
		default:
			last[x.Config.Name] = seen
		}
	}
	w.verdicts = last
	flags := w.f.test
	flags.rerun = j.rerun || j.failed
	plan := flags
	plan.noCompile = true
	plans := slices.DeleteFunc(slices.Clone(todo), func(t graph.Test) bool { return t.NeedsCompiler() })
	if ok, ended := w.testWith(ctx, b, plans, plan, "plan", told); !ended {
		return nil, false
	} else if ok && !flags.noCompile {
		if _, ended := w.testWith(ctx, b, todo, flags, "compiled C++", told); !ended {
			return nil, false
		}
	}
	verdicts := make([]*graph.Verdict, 0, len(tests))
	for _, x := range tests {
		if seen, ok := w.verdicts[x.Config.Name]; ok {
			verdicts = append(verdicts, seen.verdict)
		}
	}
	return verdicts, true
}

// testWith runs tests in one way, tells the outcome, and reports whether all passed.
func (w *watching) testWith(ctx context.Context, b *graph.Builder, tests []graph.Test, f testFlags, engine string, told diag.List) (passed, ended bool) {
	a := w.a
	if len(tests) == 0 {
		return true, true
	}
	start := time.Now()
	t, err := a.tester(b, w.session, f)
	if err != nil {
		a.ui.Report(diag.AsList(err, native.CodeToolchain), w.session.Source)
		return false, true
	}
	verdicts := make([]*graph.Verdict, len(tests))
	_ = graph.Each(f.jobs, tests, func(i int, x graph.Test) error { // verdicts carry the errors
		if ctx.Err() == nil {
			a.ui.Status("testing %s (%s)", x.Config.Name, engine)
			verdicts[i] = t.Run(ctx, x.Config, x.Target)
		}
		return nil
	})
	if ctx.Err() != nil {
		return false, false
	}
	failed := 0
	for i, v := range verdicts {
		w.verdicts[v.Test] = seenVerdict{tests[i].Target.Identity(), v}
		w.event(watchEvent{Event: "test", Engine: engine, Test: v})
		if !v.Passed {
			failed++
			a.ui.Textf("%s  %s\n", a.ui.Paint(ui.Red, "FAIL"), v.Test)
			a.ui.Report(without(v.Diags, told), w.session.Source)
		}
	}
	took := rounded(time.Since(start))
	if failed > 0 {
		a.ui.Textf("%d of %s failed (%s, %s)\n", failed, ui.Plural(len(tests), "test"), engine, took)
		return false, true
	}
	a.ui.Textf("%s %s passed (%s, %s)\n", a.ui.Paint(ui.Green, "ok"), ui.Plural(len(tests), "test"), engine, took)
	return true, true
}
