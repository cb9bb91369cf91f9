package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

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
		Use:   "query EXPRESSION",
		Short: "Ask what depends on what",
		Long: "Evaluates an expression over targets, the functions they call, sources, tests, and plugins:\n" +
			"  //folder/file:function, //folder/..., path.py,\n" +
			"  test:NAME, plugin:NAME                                      nodes\n" +
			"  deps(X), deps(X, DEPTH)                                     what X needs\n" +
			"  rdeps(X), rdeps(UNIVERSE, X)                                who needs X\n" +
			"  somepath(X, Y)                                              a way from X to Y\n" +
			"  kind(RE, X)                                                 those of a kind: target, function, source, data, test, plugin\n" +
			"  X + Y, X - Y, X ^ Y                                         union, difference, intersection",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.query(cmd.Context(), args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or dot")
	return cmd
}

func (a *app) query(ctx context.Context, text, format string) error {
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
	abs, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	s, err := a.session()
	if err != nil {
		return err
	}
	defer s.Close()
	deps, ds := graph.NewDeps(s, b, graph.Request{}, graph.Here(ws.Root, abs))
	nodes, err := deps.Query(text)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		if err := a.ui.Result(queryResult{nodes, ds}); err != nil {
			return err
		}
	} else {
		a.ui.Report(ds, ws.Source)
		if format == "dot" {
			a.ui.Printf("%s", nodesDot(nodes))
		} else {
			for _, n := range nodes {
				a.ui.Printf("%s\n", n.Name)
			}
		}
	}
	if ds.HasErrors() {
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}

// nodesDot draws nodes and the edges between them.
func nodesDot(nodes []*graph.Node) string {
	in := map[string]bool{}
	for _, n := range nodes {
		in[n.Name] = true
	}
	shapes := map[graph.Kind]string{graph.TargetNode: "box", graph.FunctionNode: "ellipse", graph.SourceNode: "note", graph.DataNode: "note", graph.TestNode: "hexagon"}
	var b strings.Builder
	b.WriteString("digraph deps {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "  %q [shape=%s];\n", n.Name, shapes[n.Kind])
		for _, d := range n.Deps {
			if in[d] {
				fmt.Fprintf(&b, "  %q -> %q;\n", n.Name, d)
			}
		}
	}
	b.WriteString("}\n")
	return b.String()
}
