package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
)

type emitResult struct {
	Functions    []string            `json:"functions"`
	Files        []string            `json:"files"`                  // below the output folder
	Dependencies []*graph.DepsReport `json:"dependencies,omitempty"` // with --explain-deps
	Diagnostics  diag.List           `json:"diagnostics"`
}

type emitFlags struct {
	out, cpp, profile, label string
	quiet, explainDeps       bool
	build                    graph.BuildConfig
	plugins                  string
	env                      []string
	roots, declared          []string
	load                     loadFlags
}

func (a *app) emitCommand() *cobra.Command {
	var f emitFlags
	worker := false
	cmd := &cobra.Command{
		Use:   "emit FILE --out DIR",
		Short: "Generate the C++ of one file, without a workspace",
		Long: "Writes the orchestration C++, kernels.json, kernel_config.py and source map of every orchestration function of FILE below DIR.\n" +
			"When several programs of FILE have some, each program has a folder DIR/<program>.\n" +
			"It needs no Pto.toml and keeps no state. An argument @ARGS stands for the lines of the file ARGS.",
		Args: func(cmd *cobra.Command, args []string) error {
			if worker {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if worker {
				return a.serveWorker(cmd.Context())
			}
			if f.out == "" {
				return errors.New(`required flag(s) "out" not set`)
			}
			return a.emit(cmd.Context(), args[0], &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "out", "o", "", "folder for the outputs")
	fs.StringVar(&f.cpp, "cpp", "", "a `DIR` of their own for the C++ files")
	fs.StringVar(&f.profile, "profile", "", "API `PROFILE` of the generated C++: "+strings.Join(orch.Names(), ", "))
	fs.StringVar(&f.build.Platform, "platform", "", "`PLATFORM`: a2a3 (default) or a5")
	fs.BoolVar(&f.build.AutoDeps, "auto-deps", false, "derive dependencies in automatic scopes (analyze_auto_scopes_for_deps)")
	fs.BoolVar(&f.build.PreciseBlockOutputs, "precise-block-outputs", false, "pass a tensor that a block only writes as Out (precise_block_outputs)")
	f.build.ManualAllocDeps = fs.Bool("manual-alloc-deps", true, "tasks of manual scopes depend on the allocation of their buffers (manual_alloc_deps)")
	fs.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` that os.environ shows to module code (may be repeated)")
	fs.StringArrayVar(&f.build.Argv, "argv", nil, "an `ARGUMENT` that sys.argv[1:] shows to module code (may be repeated)")
	fs.StringVar(&f.plugins, "plugins", "", "a TOML `FILE` with [plugins] tables as in Pto.toml")
	fs.BoolVar(&f.explainDeps, "explain-deps", false, "tell which dependency edges each task has, and why")
	fs.StringArrayVar(&f.roots, "path", nil, "look for imports in `DIR` too (may be repeated)")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "do not list the files that are written")
	fs.StringArrayVar(&f.declared, "declared", nil, "read no other files than `FILE` and those of other --declared flags: for build systems")
	fs.StringVar(&f.label, "label", "", "`LABEL` of the build system's target, for reports")
	fs.BoolVar(&worker, "persistent_worker", false, "serve requests of Bazel")
	_ = fs.MarkHidden("persistent_worker") // the flag was just defined
	f.load.register(cmd)
	f.load.registerRoot(cmd)
	a.sarifFlag(cmd)
	return cmd
}

func (a *app) emit(ctx context.Context, file string, f *emitFlags) error {
	ws := graph.Detached(a.dir, f.roots)
	env, err := pairs("env", f.env)
	if err != nil {
		return err
	}
	f.build.Env = env
	ws.Config.Build = f.build
	ws.Trees = a.trees
	if f.plugins != "" {
		if ds := ws.UsePlugins(f.plugins); ds.HasErrors() {
			return a.fail(ds, ws, exitUsage)
		}
	}
	if len(f.declared) > 0 {
		ws.Declare(f.declared)
	}
	b, err := a.builder(ctx, ws, f.profile, &f.load)
	if err != nil {
		return err
	}
	built, ds := b.File(file)
	if len(f.declared) > 0 {
		ds.Add(undeclared(ws, file, f.label, ds)...)
	}
	res := emitResult{Files: []string{}, Functions: []string{}, Diagnostics: ds.Sort()}
	a.note(ds)
	if !ds.HasErrors() {
		files := pack.Source(graph.Packages(built))
		for _, x := range files {
			dir := f.out
			if f.cpp != "" && path.Ext(x.Path) == ".cpp" {
				dir = f.cpp
			}
			name := filepath.Join(a.path(dir), filepath.FromSlash(x.Path))
			if err := writeFile(name, x.Content); err != nil {
				return a.fail(diag.List{diag.Errorf(graph.CodeOutput, diag.Span{File: name}, "cannot be written: %v", err)}, ws, exitInternal)
			}
			res.Files = append(res.Files, x.Path)
			if !f.quiet {
				a.ui.Textf("%s\n", filepath.ToSlash(filepath.Join(dir, x.Path)))
			}
		}
	}
	var targets []*graph.Target
	for _, x := range built {
		res.Functions = append(res.Functions, x.Plan.Func)
		targets = append(targets, x.Target)
	}
	if f.explainDeps {
		res.Dependencies = a.depsReports(b, targets)
	}
	if a.ui.JSON {
		if err := a.ui.Result(res); err != nil {
			return err
		}
	} else {
		a.ui.Report(res.Diagnostics, ws.Source)
		a.printDeps(res.Dependencies)
	}
	if ds.HasErrors() {
		return exitError{exitOf(ctx, ds)}
	}
	return nil
}

// undeclared reports the files that a source needs and its build target does not have, and adds to the reports about modules that were not found what to do
// about those.
func undeclared(ws *graph.Workspace, file, label string, found diag.List) diag.List {
	var ds diag.List
	if label == "" {
		label = "the target of " + file
	}
	for _, d := range found {
		if d.Code == eval.CodeNoModule {
			d.WithHint("%s does not depend on it: add its target to deps; `ptobuild bazel` keeps deps up to date", label)
		}
	}
	for _, f := range ws.Undeclared() {
		dir := path.Dir(f)
		if dir == "." {
			dir = ""
		}
		ds.Add(diag.Errorf(graph.CodeUndeclared, diag.Span{File: file}, "needs %s, which %s does not depend on", f, label).
			WithHint("add the target of that file to deps, by its usual name \"//%s:%s\"; `ptobuild bazel` keeps deps up to date", dir, strings.TrimSuffix(path.Base(f), ".py")))
	}
	return ds
}

// expandArgs replaces arguments @FILE by the lines of the file, as Bazel and other build systems pass long command lines.
func expandArgs(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "@") {
			out = append(out, arg)
			continue
		}
		text, err := os.ReadFile(arg[1:])
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for lines.Scan() {
			out = append(out, lines.Text())
		}
	}
	return out, nil
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
