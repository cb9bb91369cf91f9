package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

type irResult struct {
	Stage       string    `json:"stage"`
	Text        string    `json:"text"`
	Diagnostics diag.List `json:"diagnostics"`
}

// printOptions make the dumps of this command the text that the reference prints.
var printOptions = ir.PrintOptions{Derived: true}

func (a *app) irCommand() *cobra.Command {
	var stage string
	var lf loadFlags
	cmd := &cobra.Command{
		Use:   "ir LABEL|FILE",
		Short: "Print the IR of a target after a pass, or its plan",
		Long: "Prints the program that holds a target after the pass named by --stage: frontend (as parsed), any pass that `ptobuild passes` lists,\n" +
			"canonical (after the last pass), or plan (what the C++ is printed from). The dump reads back as a source file.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ir(cmd.Context(), args[0], stage, &lf)
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "canonical", "`STAGE` to stop after")
	lf.register(cmd)
	lf.registerRoot(cmd)
	return cmd
}

func (a *app) ir(ctx context.Context, what, stage string, lf *loadFlags) error {
	if stage == "frontend" && strings.HasSuffix(what, ".py") {
		return a.irFile(ctx, what, lf)
	}
	b, targets, err := a.find(ctx, what, lf)
	if err != nil {
		return err
	}
	var out strings.Builder
	var all diag.List
	seen := map[*ir.Program]bool{}
	for _, t := range targets {
		switch stage {
		case "plan":
			built, ds := b.Build(ctx, t)
			all.Add(ds...)
			if built != nil {
				out.WriteString(plan.Print(built.Plan))
			}
			continue
		case "frontend":
			if !seen[t.Program] {
				out.WriteString(ir.Print(t.Program, printOptions))
			}
		default:
			if !seen[t.Program] {
				p, ds, err := b.After(t, stage)
				if err != nil {
					return err
				}
				all.Add(ds...)
				if p != nil {
					out.WriteString(ir.Print(p, printOptions))
				}
			}
		}
		seen[t.Program] = true
	}
	return a.printIR(ctx, b, stage, out.String(), all)
}

// irFile prints all programs of a file as parsed, in the order of the file. Mistakes in some of them do not keep back the others.
func (a *app) irFile(ctx context.Context, what string, lf *loadFlags) error {
	b, err := a.builderFor(ctx, true, lf)
	if err != nil {
		return err
	}
	what = a.inWorkspace(b.WS, what)
	targets, all := b.FileTargets(what)
	all.Add(b.CheckArgs([]string{what})...)
	unit, _ := b.Load(what)
	programs := slices.Clone(unit.Programs)
	for _, t := range targets {
		if !slices.Contains(programs, t.Program) {
			programs = append(programs, t.Program)
		}
	}
	if len(programs) == 0 && !all.HasErrors() {
		return noProgram(what)
	}
	var out strings.Builder
	for _, p := range programs {
		out.WriteString(ir.Print(p, printOptions))
	}
	return a.printIR(ctx, b, "frontend", out.String(), all)
}

func (a *app) printIR(ctx context.Context, b *graph.Builder, stage, text string, ds diag.List) error {
	a.note(ds)
	if a.ui.JSON {
		if err := a.ui.Result(irResult{stage, text, ds}); err != nil {
			return err
		}
	} else {
		a.ui.Report(ds, b.WS.Source)
		a.ui.Printf("%s", text)
	}
	if ds.HasErrors() {
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}

// find resolves a label, pattern or source file to at least one target. A file outside a workspace works too.
func (a *app) find(ctx context.Context, what string, lf *loadFlags) (*graph.Builder, []*graph.Target, error) {
	isFile := strings.HasSuffix(what, ".py")
	b, err := a.builderFor(ctx, isFile, lf)
	if err != nil {
		return nil, nil, err
	}
	ws := b.WS
	var targets []*graph.Target
	var ds diag.List
	if isFile {
		what = a.inWorkspace(ws, what)
		targets, ds = b.FileTargets(what)
		ds.Add(b.CheckArgs([]string{what})...)
	} else {
		ps, err := a.patterns(ws.Root, []string{what})
		if err != nil {
			return nil, nil, err
		}
		targets, ds = b.Targets(ps)
	}
	if ds.HasErrors() {
		return nil, nil, a.fail(ds, ws, exitOf(ctx, ds))
	}
	a.ui.Report(ds, ws.Source)
	if len(targets) == 0 {
		if unit, _ := b.Load(what); isFile && len(unit.Programs) == 0 {
			return nil, nil, noProgram(what)
		}
		return nil, nil, fmt.Errorf("no target in %s", what)
	}
	return b, targets, nil
}

func noProgram(file string) error {
	return fmt.Errorf("no program in %s: nothing in it is decorated with @pl.program, @pl.jit or @pl.function", file)
}

// builderFor makes the builder of the workspace, or, for a file, of none.
func (a *app) builderFor(ctx context.Context, isFile bool, lf *loadFlags) (*graph.Builder, error) {
	ws, ds := graph.Open(a.dir)
	switch {
	case ws == nil && isFile:
		ws = graph.Detached(a.dir, nil)
	case ws == nil || ds.HasErrors():
		return nil, a.fail(ds, ws, exitUsage)
	}
	return a.builder(ctx, ws, "", lf)
}
