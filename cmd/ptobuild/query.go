package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

type queryResult struct {
	Nodes       []*graph.Node `json:"nodes"`
	Diagnostics diag.List     `json:"diagnostics"`
}

func (a *app) queryCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "query EXPR",
		Short: "Tell what depends on what",
		Long: "EXPR is a pattern, a file or test:NAME, or made of such:\n" +
			"  deps(X)         X and all that it depends on\n" +
			"  rdeps(X)        X and all that depends on it\n" +
			"  somepath(X, Y)  a shortest path from X to Y\n" +
			"  kind(K, X)      those of X that are a target, source, file or test\n" +
			"  X + Y, X - Y    union and difference",
		Example: "  ptobuild query 'kind(test, rdeps(examples/shapes.py))'   # the tests that an edit may break",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or dot")
	return cmd
}

func (a *app) query(ctx context.Context, expr, format string) error {
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
	b, err := a.builder(ctx, ws, "", &loadFlags{})
	if err != nil {
		return err
	}
	targets, ds := b.Targets(nil)
	abs, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	g := b.NewGraph(targets, graph.Here(ws.Root, abs))
	names, err := g.Query(expr)
	if err != nil {
		return err
	}
	res := queryResult{Nodes: []*graph.Node{}, Diagnostics: ds}
	for _, n := range names {
		res.Nodes = append(res.Nodes, g.Nodes[n])
	}
	switch {
	case a.ui.JSON:
		if err := a.ui.Result(res); err != nil {
			return err
		}
	case format == "dot":
		a.ui.Printf("%s", g.Dot(names))
	default:
		for _, n := range names {
			a.ui.Printf("%s\n", n)
		}
	}
	a.ui.Report(ds, ws.Source)
	if ds.HasErrors() { // there may be more than is told
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}
