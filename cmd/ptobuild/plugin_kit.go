package main

import (
	"context"
	"maps"
	"strings"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/plugins/kit"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

func (a *app) pluginTest(ctx context.Context, arg string) error {
	helper, conf, err := a.plugin(ctx, arg)
	if err != nil {
		return err
	}
	a.ui.Textf("testing %s (%s)\n", conf.Name, conf.Path)
	w, err := a.kitWorkspace(ctx, conf.Name)
	if err != nil {
		return err
	}
	if w != nil {
		defer w.close()
	}
	var checks []kit.Check
	failed, all := kit.Run(ctx, helper, conf, w.forKit(), func(c kit.Check) {
		checks = append(checks, c)
		word := a.ui.Paint(ui.Green, "ok  ")
		if !c.OK() {
			word = a.ui.Paint(ui.Red, "FAIL")
		}
		a.ui.Textf("%s  %-14s %s\n", word, c.Name, c.Detail)
		a.report(c.Diags, nil)
	})
	if a.ui.JSON {
		if err := a.ui.Result(struct {
			Plugin string      `json:"plugin"`
			Checks []kit.Check `json:"checks"`
			Failed int         `json:"failed"`
		}{conf.Name, checks, failed}); err != nil {
			return err
		}
	}
	if failed > 0 {
		a.ui.Textf("%s breaks the rules: %d of %d checks failed\n", conf.Name, failed, all)
		return exitError{exitTests}
	}
	a.ui.Textf("%s keeps the rules\n", conf.Name)
	return nil
}

// kitWorkspace is the workspace of the command as the conformance kit uses it, nil when the plugin is not one of it, or its programs cannot be read.
func (a *app) kitWorkspace(ctx context.Context, plugin string) (*kitWorkspace, error) {
	if a.ws == nil {
		return nil, nil // the plugin was given as a file
	}
	w := &kitWorkspace{app: a, ctx: ctx, plugin: plugin}
	var err error
	if w.builder, w.targets, err = w.load(""); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

type kitWorkspace struct {
	app     *app
	ctx     context.Context
	plugin  string
	builder *graph.Builder
	targets []*graph.Target
	with    map[string]*graph.RunOutcome // what the tests do with all passes; nil: not run yet
}

func (w *kitWorkspace) close() {
	if w.builder != nil {
		w.builder.Close()
	}
}

// load reads the programs of the workspace, with all passes of the plugin but one. What is wrong with programs is told by other commands.
func (w *kitWorkspace) load(without string) (*graph.Builder, []*graph.Target, error) {
	ws, err := w.app.open()
	if err != nil {
		return nil, nil, err
	}
	if without != "" {
		p := ws.Config.Plugins[w.plugin]
		p.Passes = maps.Clone(p.Passes)
		if p.Passes == nil {
			p.Passes = map[string]graph.PassConfig{}
		}
		p.Passes[without] = graph.PassConfig{Off: true}
		if ws.Config.Plugins == nil {
			ws.Config.Plugins = map[string]graph.PluginConfig{}
		}
		ws.Config.Plugins[w.plugin] = p
	}
	b, err := graph.NewBuilder(w.ctx, ws, "")
	if err != nil {
		return nil, nil, err
	}
	targets, _ := b.Targets(nil)
	return b, targets, nil
}

// forKit is what the kit is given.
func (w *kitWorkspace) forKit() *kit.Workspace {
	if w == nil {
		return nil
	}
	out := &kit.Workspace{Compare: w.compare}
	for _, t := range w.targets {
		if t.Closure == nil {
			continue
		}
		for _, f := range t.Closure.Funcs {
			for c := range graph.OpCalls(f.Body) {
				if strings.HasPrefix(c.Op, w.plugin+".") {
					out.Calls = append(out.Calls, c)
				}
			}
		}
	}
	return out
}

func (w *kitWorkspace) compare(pass string) (*kit.Comparison, error) {
	if w.with == nil {
		var err error
		if w.with, _, err = w.run(w.builder, w.targets); err != nil {
			return nil, err
		}
	}
	b, targets, err := w.load(pass)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	without, names, err := w.run(b, targets)
	if err != nil {
		return nil, err
	}
	out := &kit.Comparison{}
	for _, name := range names {
		switch x, y := w.with[name], without[name]; {
		case x == nil: // it does not run anyway
		case y == nil:
			out.Cannot = append(out.Cannot, name)
		default:
			if how := x.Differs(y); how != "" {
				out.Different = append(out.Different, "test "+name+": "+how)
			} else {
				out.Same++
			}
		}
	}
	return out, nil
}

// run runs the tests of the workspace in program order, on the simulator alone. A test that fails to run has no outcome.
func (w *kitWorkspace) run(b *graph.Builder, targets []*graph.Target) (map[string]*graph.RunOutcome, []string, error) {
	t, err := w.app.tester(b, nil, testFlags{noCompile: true})
	if err != nil {
		return nil, nil, diag.AsList(err, native.CodeToolchain)
	}
	tests, _ := b.Tests(targets, nil, nil)
	out := map[string]*graph.RunOutcome{}
	var names []string
	for _, x := range tests {
		if x.NeedsCompiler() {
			continue
		}
		name := x.Target.Label.String() + " " + x.Config.Name
		names = append(names, name)
		if o, ds := t.RunOnce(w.ctx, x.Target, &graph.RunRequest{Test: x.Config.Name, Policy: sim.Sequential}); !ds.HasErrors() {
			out[name] = o
		}
	}
	return out, names, nil
}
