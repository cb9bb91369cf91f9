package main

import (
	"context"
	"fmt"
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
	b, targets, programs, err := a.resolve(ctx, what, lf)
	if err == nil && stage != "frontend" && len(targets) == 0 {
		err = noTarget(what)
	}
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
	if stage == "frontend" {
		for _, p := range programs {
			if !seen[p] {
				out.WriteString(ir.Print(p, printOptions))
			}
		}
	}
	a.note(all)
	if a.ui.JSON {
		if err := a.ui.Result(irResult{stage, out.String(), all}); err != nil {
			return err
		}
	} else {
		a.ui.Report(all, b.WS.Source)
		a.ui.Printf("%s", out.String())
	}
	if all.HasErrors() {
		return exitError{exitOf(ctx, all)}
	}
	return nil
}

// find resolves a label, pattern or source file to at least one target. A file outside a workspace works too.
func (a *app) find(ctx context.Context, what string, lf *loadFlags) (*graph.Builder, []*graph.Target, error) {
	b, targets, _, err := a.resolve(ctx, what, lf)
	if err == nil && len(targets) == 0 {
		err = noTarget(what)
	}
	return b, targets, err
}

func noTarget(what string) error { return fmt.Errorf("no target in %s", what) }

// resolve is find for what may have no target; it also gives the programs of a file.
func (a *app) resolve(ctx context.Context, what string, lf *loadFlags) (*graph.Builder, []*graph.Target, []*ir.Program, error) {
	ws, ds := graph.Open(a.dir)
	isFile := strings.HasSuffix(what, ".py")
	if ws == nil || ds.HasErrors() {
		if !isFile {
			return nil, nil, nil, a.fail(ds, ws, exitUsage)
		}
		ws = graph.Detached(a.dir, nil)
	}
	b, err := a.builder(ctx, ws, "", lf)
	if err != nil {
		return nil, nil, nil, err
	}
	var targets []*graph.Target
	var programs []*ir.Program
	if isFile {
		what = a.inWorkspace(ws, what)
		targets, ds = b.FileTargets(what)
		ds.Add(b.CheckArgs([]string{what})...)
		if unit, more := b.Load(what); unit != nil && !more.HasErrors() {
			programs = unit.Programs
		}
	} else {
		ps, err := a.patterns(ws.Root, []string{what})
		if err != nil {
			return nil, nil, nil, err
		}
		targets, ds = b.Targets(ps)
	}
	if ds.HasErrors() {
		return nil, nil, nil, a.fail(ds, ws, exitOf(ctx, ds))
	}
	a.ui.Report(ds, ws.Source)
	if len(targets)+len(programs) == 0 {
		if isFile {
			return nil, nil, nil, fmt.Errorf("no program in %s: nothing in it is decorated with @pl.program, @pl.jit or @pl.function", what)
		}
		return nil, nil, nil, noTarget(what)
	}
	return b, targets, programs, nil
}
