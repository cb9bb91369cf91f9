package main

import (
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/rules/buildgen"
)

type bazelResult struct {
	Files       []bazelFile `json:"files"` // BUILD files that change
	Diagnostics diag.List   `json:"diagnostics"`
}

type bazelFile struct {
	Path    string `json:"path"` // from the root of the Bazel workspace
	New     bool   `json:"new"`
	Content string `json:"content"`
}

func (a *app) bazelCommand() *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "bazel",
		Short: "Write the BUILD files of a Bazel workspace",
		Long: "Creates and updates BUILD files with pto_library, pto_orchestration and pto_sim_test rules for the sources and tests of the workspace.\n" +
			"Comments, order, other rules and attributes stay; \"# keep\" protects an entry, an attribute or a rule, \"# ptobuild:ignore\" a file.\n" +
			"--mode=diff shows what would change, and exits with 1 when anything would; --mode=print shows the files in full.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bazel(cmd.Context(), mode)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "fix", "fix, diff or print")
	return cmd
}

func (a *app) bazel(ctx context.Context, mode string) error {
	if mode != "fix" && mode != "diff" && mode != "print" {
		return fmt.Errorf("unknown mode %q: fix, diff or print", mode)
	}
	ws, err := a.open()
	if err != nil {
		return err
	}
	exe, err := executable()
	if err != nil {
		return err
	}
	memo := buildgen.NewMemo(ws, toolID(exe))
	if n, ok := memo.Fresh(); ok && mode != "print" {
		if a.ui.JSON {
			return a.ui.Result(bazelResult{Files: []bazelFile{}, Diagnostics: diag.List{}})
		}
		if mode == "fix" {
			a.ui.Printf("%s, 0 changed\n", ui.Plural(n, "BUILD file"))
		}
		return nil
	}
	b, err := a.builder(ctx, ws, "", &loadFlags{})
	if err != nil {
		return err
	}
	files, ds := buildgen.Generate(b)
	res := bazelResult{Files: []bazelFile{}, Diagnostics: ds}
	root := buildgen.Root(ws.Root)
	for _, f := range files {
		if f.Changed() {
			res.Files = append(res.Files, bazelFile{f.Path, f.Old == nil, string(f.New)})
			if mode == "fix" {
				res.Diagnostics.Add(diag.AsList(f.Write(root), graph.CodeOutput)...)
			}
		}
		if a.ui.JSON {
			continue
		}
		switch {
		case mode == "print":
			a.ui.Printf("# %s\n%s", f.Path, f.New)
		case mode == "diff" && f.Changed():
			a.ui.Printf("%s", diff.Diff("a/"+f.Path, f.Old, "b/"+f.Path, f.New))
		case f.Changed() && f.Old == nil:
			a.ui.Printf("%s %s\n", a.ui.Paint(ui.Green, "created"), f.Path)
		case f.Changed():
			a.ui.Printf("%s %s\n", a.ui.Paint(ui.Green, "updated"), f.Path)
		}
	}
	if len(res.Diagnostics) == 0 && (mode == "fix" || len(res.Files) == 0) {
		memo.Keep(len(files), b)
	}
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		a.ui.Report(res.Diagnostics, ws.Source)
		if mode == "fix" {
			a.ui.Printf("%s, %d changed\n", ui.Plural(len(files), "BUILD file"), len(res.Files))
		}
	}
	if res.Diagnostics.HasErrors() || mode == "diff" && len(res.Files) > 0 {
		return exitError{exitSources}
	}
	return nil
}
