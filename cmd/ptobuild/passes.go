package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes"
)

// passResult is one pass of the list.
type passResult struct {
	Name        string        `json:"name"`
	Dump        string        `json:"dump"`
	Doc         string        `json:"doc"`
	Plugin      string        `json:"plugin,omitempty"`
	Requires    []ir.Property `json:"requires"`
	Produces    []ir.Property `json:"produces"`
	Invalidates []ir.Property `json:"invalidates"`
}

type passesResult struct {
	Passes []passResult `json:"passes"`
}

type explainedProgram struct {
	Program string             `json:"program"`
	Passes  []graph.PassReport `json:"passes"`
}

type explainPassesResult struct {
	Programs    []explainedProgram `json:"programs"`
	Diagnostics diag.List          `json:"diagnostics"`
}

func (a *app) passesCommand() *cobra.Command {
	var explain string
	var lf loadFlags
	cmd := &cobra.Command{
		Use:   "passes",
		Short: "List the passes, or tell what each did to a program",
		Long: "Lists the passes in the order in which they run, with what each requires, produces and invalidates.\n" +
			"With --explain, tells what each pass changed in the program of a target, and the decisions that it made, by DSL line.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if explain != "" {
				return a.explainPasses(cmd.Context(), explain, &lf)
			}
			return a.passes(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&explain, "explain", "", "tell what the passes do to `LABEL|FILE`")
	lf.register(cmd)
	lf.registerRoot(cmd)
	return cmd
}

// passes lists the pipeline: with the plugins of the workspace, or the built-in passes outside of one.
func (a *app) passes(ctx context.Context) error {
	ws, err := a.workspaceOrNone()
	if err != nil {
		return err
	}
	b, err := a.builder(ctx, ws, "", &loadFlags{})
	if err != nil {
		return err
	}
	res := passesResult{}
	for i, p := range b.Pipeline() {
		res.Passes = append(res.Passes, passResult{p.Name, passes.DumpName(i, p), p.Doc, p.Plugin, list(p.Requires), list(p.Produces), list(p.Invalidates)})
	}
	if a.ui.JSON {
		return a.ui.Result(res)
	}
	for i, p := range res.Passes {
		a.ui.Printf("%2d %s\n", i+1, a.ui.Paint(ui.Bold, p.Name))
		if p.Plugin != "" {
			a.ui.Printf("   of plugin %s\n", p.Plugin)
		}
		a.ui.Printf("   %s\n", p.Doc)
		for _, x := range []struct {
			what  string
			names []ir.Property
		}{{"requires", p.Requires}, {"produces", p.Produces}, {"invalidates", p.Invalidates}} {
			if len(x.names) > 0 {
				a.ui.Printf("   %s %s\n", x.what, join(x.names))
			}
		}
	}
	return nil
}

func list(ps []ir.Property) []ir.Property { return append([]ir.Property{}, ps...) }

func join(ps []ir.Property) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

func (a *app) explainPasses(ctx context.Context, what string, lf *loadFlags) error {
	b, targets, err := a.find(ctx, what, lf)
	if err != nil {
		return err
	}
	res := explainPassesResult{Programs: []explainedProgram{}}
	seen := map[*ir.Program]bool{}
	for _, t := range targets {
		if seen[t.Program] {
			continue
		}
		seen[t.Program] = true
		reports, ds := b.ExplainPasses(t)
		res.Programs = append(res.Programs, explainedProgram{t.Program.Name, reports})
		res.Diagnostics.Add(ds...)
	}
	a.note(res.Diagnostics)
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		for _, p := range res.Programs {
			a.ui.Printf("%s\n", a.ui.Paint(ui.Bold, p.Program))
			for _, r := range p.Passes {
				a.printPass(r)
			}
		}
		a.ui.Report(res.Diagnostics, b.WS.Source)
	}
	if res.Diagnostics.HasErrors() {
		return exitError{exitOf(ctx, res.Diagnostics)}
	}
	return nil
}

func (a *app) printPass(r graph.PassReport) {
	if len(r.Changed) == 0 && len(r.Notes) == 0 {
		a.ui.Printf("  %s: no change\n", r.Dump)
		return
	}
	a.ui.Printf("  %s\n", r.Dump)
	for _, c := range r.Changed {
		switch {
		case c.Before < 0:
			a.ui.Printf("    %s: new, %s\n", c.Function, ui.Plural(c.After, "statement"))
		case c.After < 0:
			a.ui.Printf("    %s: gone\n", c.Function)
		case c.Renamed:
			a.ui.Printf("    %s: variables have other names\n", c.Function)
		case c.Before == c.After:
			a.ui.Printf("    %s: %s, as many as before\n", c.Function, ui.Plural(c.After, "statement"))
		default:
			a.ui.Printf("    %s: %s, before %d\n", c.Function, ui.Plural(c.After, "statement"), c.Before)
		}
	}
	for _, n := range r.Notes {
		a.ui.Printf("    %s\n", noteText(n))
	}
}

func noteText(n graph.Note) string {
	if !n.At.IsValid() {
		return n.Text
	}
	return fmt.Sprintf("%s: %s", n.At, n.Text)
}

// depsReports explains the dependency edges of targets (behaviour X-08). Reports about the targets themselves come from the build.
func (a *app) depsReports(b *graph.Builder, targets []*graph.Target) []*graph.DepsReport {
	reports := []*graph.DepsReport{}
	for _, t := range targets {
		if r, _ := b.ExplainDeps(t); r != nil {
			reports = append(reports, r)
		}
	}
	return reports
}

// printDeps prints the edges of each task, and what the passes say about them.
func (a *app) printDeps(reports []*graph.DepsReport) {
	for _, r := range reports {
		a.ui.Printf("dependencies of %s\n", a.ui.Paint(ui.Bold, r.Target))
		notes := r.Notes
		for _, t := range r.Tasks {
			name := t.Kernel
			if name == "" {
				name = "dummy task"
			}
			a.ui.Printf("  %s: %s (%s)\n", t.At, name, t.Task)
			if len(t.Edges) == 0 {
				a.ui.Printf("    no explicit dependency\n")
			}
			for _, e := range t.Edges {
				a.ui.Printf("    after %s: %s\n", e.ID, edgeText(e))
			}
			var mine []graph.Note
			mine, notes = graph.NotesAt(notes, t)
			for _, n := range mine {
				a.ui.Printf("    derived: %s\n", n.Text)
			}
		}
		for _, n := range notes {
			a.ui.Printf("  %s\n", noteText(n))
		}
	}
}

func edgeText(e graph.Edge) string {
	text := map[string]string{"user": "asked for by the program", "derived": "derived from a conflict", "allocation": "keeps the buffer alive"}[e.Kind]
	if e.Guarded {
		text += ", when the id is valid"
	}
	return text
}
