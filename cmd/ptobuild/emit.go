package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

type emitResult struct {
	Functions    []string            `json:"functions"`
	Files        []string            `json:"files"`                  // below the output folder
	Dependencies []*graph.DepsReport `json:"dependencies,omitempty"` // with --explain-deps
	Diagnostics  diag.List           `json:"diagnostics"`
}

func (a *app) emitCommand() *cobra.Command {
	var out, profile string
	var autoDeps, explainDeps bool
	var roots []string
	var lf loadFlags
	cmd := &cobra.Command{
		Use:   "emit FILE --out DIR",
		Short: "Generate the C++ of one file, without a workspace",
		Long: "Writes the orchestration C++, kernels.json, kernel_config.py and source map of every orchestration function of FILE below DIR.\n" +
			"When several programs of FILE have some, each program has a folder DIR/<program>.\n" +
			"It needs no Pto.toml and keeps no state.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.emit(cmd.Context(), args[0], out, profile, roots, autoDeps, explainDeps, &lf)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the outputs")
	cmd.Flags().StringVar(&profile, "profile", "", "API `PROFILE` of the generated C++: "+strings.Join(orch.Names(), ", "))
	cmd.Flags().BoolVar(&autoDeps, "auto-deps", false, "derive dependencies in automatic scopes (analyze_auto_scopes_for_deps)")
	cmd.Flags().BoolVar(&explainDeps, "explain-deps", false, "tell which dependency edges each task has, and why")
	cmd.Flags().StringArrayVar(&roots, "path", nil, "look for imports in `DIR` too (may be repeated)")
	lf.register(cmd)
	lf.registerRoot(cmd)
	a.sarifFlag(cmd)
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag was just defined
	}
	return cmd
}

func (a *app) emit(ctx context.Context, file, out, profile string, roots []string, autoDeps, explainDeps bool, lf *loadFlags) error {
	ws := graph.Detached(a.dir, roots)
	ws.Config.Build.AutoDeps = autoDeps
	b, err := a.builder(ctx, ws, profile, lf)
	if err != nil {
		return err
	}
	built, ds := b.File(file)
	res := emitResult{Files: []string{}, Functions: []string{}, Diagnostics: ds.Sort()}
	a.note(ds)
	if !ds.HasErrors() {
		files := pack.Source(graph.Packages(built))
		for _, f := range files {
			name := filepath.Join(a.path(out), filepath.FromSlash(f.Path))
			if err := writeFile(name, f.Content); err != nil {
				return a.fail(diag.List{diag.Errorf(graph.CodeOutput, diag.Span{File: name}, "cannot be written: %v", err)}, ws, exitInternal)
			}
			res.Files = append(res.Files, f.Path)
		}
	}
	var targets []*graph.Target
	for _, x := range built {
		res.Functions = append(res.Functions, x.Plan.Func)
		targets = append(targets, x.Target)
	}
	if explainDeps {
		res.Dependencies = a.depsReports(b, targets)
	}
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		a.ui.Report(res.Diagnostics, ws.Source)
		for _, f := range res.Files {
			a.ui.Printf("%s\n", filepath.ToSlash(filepath.Join(out, f)))
		}
		a.printDeps(res.Dependencies)
	}
	if ds.HasErrors() {
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}

// writeFile writes one file and its folders; the report names the path, so the error need not.
func writeFile(name string, content []byte) error {
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = os.WriteFile(name, content, 0o666)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
