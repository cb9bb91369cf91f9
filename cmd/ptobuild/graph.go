package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

type graphResult struct {
	Targets     []graphTarget `json:"targets"`
	Diagnostics diag.List     `json:"diagnostics"`
}

type graphTarget struct {
	Label   string   `json:"label"`
	Source  string   `json:"source"`
	Files   []string `json:"files"`   // the source and what it imports, from the root
	Calls   []string `json:"calls"`   // functions of the program that it launches or calls, directly or not
	Tests   []string `json:"tests"`   // names of its tests
	Outputs string   `json:"outputs"` // folder from the root
}

func (a *app) graphCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "graph [PATTERN]...",
		Short: "List targets with their sources, kernels and tests",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.graph(cmd.Context(), args, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or dot")
	return cmd
}

func (a *app) graph(ctx context.Context, args []string, format string) error {
	switch format {
	case "text", "dot":
	case "json":
		a.ui.JSON = true
	default:
		return fmt.Errorf("unknown format %q: text, json or dot", format)
	}
	ws, err := a.open()
	if err != nil {
		return err
	}
	ps, err := a.patterns(ws.Root, args)
	if err != nil {
		return err
	}
	b, err := a.builder(ctx, ws, "", &loadFlags{})
	if err != nil {
		return err
	}
	targets, ds := b.Targets(ps)
	res := graphResult{Targets: []graphTarget{}, Diagnostics: ds}
	for _, t := range targets {
		g := graphTarget{Label: t.Label.String(), Source: t.Source, Files: t.Unit.Files, Calls: calls(t), Tests: []string{}, Outputs: t.Output()}
		for _, c := range b.TestsOf(t.Label) {
			g.Tests = append(g.Tests, c.Name)
		}
		res.Targets = append(res.Targets, g)
	}
	switch {
	case a.ui.JSON:
		if err := a.ui.Result(res); err != nil {
			return err
		}
	case format == "dot":
		a.ui.Report(ds, ws.Source)
		a.ui.Printf("%s", dot(res.Targets))
	default:
		a.ui.Report(ds, ws.Source)
		for _, t := range res.Targets {
			a.ui.Printf("%s\n", t.Label)
			a.ui.Printf("    files:   %s\n", strings.Join(t.Files, " "))
			a.ui.Printf("    kernels: %s\n", strings.Join(t.Calls, " "))
			if len(t.Tests) > 0 {
				a.ui.Printf("    tests:   %s\n", strings.Join(t.Tests, " "))
			}
		}
	}
	if ds.HasErrors() {
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}

// calls lists the functions that a target reaches, in order of first use. Blocks that become kernels are named by their hint.
func calls(t *graph.Target) []string {
	out := []string{}
	seen := map[string]bool{}
	add := func(n string) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		out = append(out, n)
		return true
	}
	var visit func(f *ir.Function)
	visit = func(f *ir.Function) {
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.InCoreScope && sc.NameHint != "" {
				add(sc.NameHint)
			}
			ir.Exprs(s, func(e ir.Expr) bool {
				if c, ok := e.(*ir.Call); ok && add(c.Callee) {
					if g := t.Program.Lookup(c.Callee); g != nil {
						visit(g)
					}
				}
				return true
			})
			return true
		})
	}
	if f := t.Program.Lookup(t.Label.Func); f != nil {
		visit(f)
	}
	return out
}

func dot(ts []graphTarget) string {
	var b strings.Builder
	b.WriteString("digraph targets {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for _, t := range ts {
		fmt.Fprintf(&b, "  %q [style=bold];\n", t.Label)
		for _, f := range t.Files {
			fmt.Fprintf(&b, "  %q [shape=note];\n  %q -> %q;\n", f, f, t.Label)
		}
		for _, k := range t.Calls {
			id := t.Label + " " + k
			fmt.Fprintf(&b, "  %q [label=%q, shape=ellipse];\n  %q -> %q;\n", id, k, t.Label, id)
		}
		for _, x := range t.Tests {
			id := "test " + x
			fmt.Fprintf(&b, "  %q [style=dashed];\n  %q -> %q;\n", id, t.Label, id)
		}
	}
	b.WriteString("}\n")
	return b.String()
}
