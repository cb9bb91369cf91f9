package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/runtime/native"
)

type runFlags struct {
	request   graph.RunRequest
	out       string
	artifacts artifactFlags
	trace     string
	noCompile bool
	scalars   []string
	dims      []string
	policy    string
	load      loadFlags
	hand      graph.Handwritten
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run LABEL|FILE.cpp",
		Short: "Run one target, or a hand-written orchestration, on the simulated runtime",
		Long: "Runs a target once and prints what its tasks did. Inputs are those of its first test in Pto.toml, or of --test; without a test they are\n" +
			"random. --out keeps the outputs as .npy files, --trace the events as JSON lines.\n\n" +
			"A C++ file is run as it is. Its test in Pto.toml, or the flags, say what the file cannot: --signature its arguments in order, --kernel its\n" +
			"kernels by id. Without kernels only the calls of the orchestration are carried out.",
		Example: "  ptobuild run //examples/softmax:softmax_rows --dim B=64\n" +
			"  ptobuild run vector.cpp --signature \"a: FP32[16, 16], out b: FP32[16, 16], n: INT64\" --scalar n=3 --kernel \"aiv kernels/add.cpp\"",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), args[0], &f)
		},
	}
	cmd.Flags().StringVar(&f.request.Test, "test", "", "take inputs from the test of this `NAME`")
	cmd.Flags().StringArrayVar(&f.scalars, "scalar", nil, "`NAME=VALUE` of a scalar parameter (may be repeated)")
	cmd.Flags().StringArrayVar(&f.dims, "dim", nil, "`NAME=EXTENT` of a dynamic dimension (may be repeated)")
	cmd.Flags().StringVar(&f.policy, "policy", "fifo", "task `ORDER`: fifo, parallel, one-core, lifo, newest-first, random, sequential or late")
	cmd.Flags().Uint64Var(&f.request.Seed, "seed", 1, "seed of the random order; of late: the task that runs as late as it can")
	cmd.Flags().BoolVar(&f.noCompile, "no-compile", false, "interpret the plan instead of running the compiled C++")
	cmd.Flags().StringVar(&f.out, "out", "", "write every output as `DIR`/<parameter>.npy")
	cmd.Flags().StringVar(&f.trace, "trace", "", "write the trace to `FILE`")
	f.artifacts.register(cmd)
	cmd.Flags().StringVar(&f.hand.Signature, "signature", "", "of a C++ file: its arguments, such as \"a: FP32[16, 16], n: INT64\"")
	cmd.Flags().StringArrayVar(&f.hand.Kernels, "kernel", nil, "of a C++ file: `\"CORE FILE\"` of the next kernel id, with CORE aic or aiv (may be repeated)")
	cmd.Flags().StringArrayVar(&f.hand.Includes, "include", nil, "of a C++ file: a `FOLDER` of headers for it and its kernels (may be repeated)")
	cmd.Flags().StringVar(&f.hand.Entry, "entry", "", "of a C++ file: the `NAME` of its entry function, when it is not aicpu_orchestration_entry")
	f.load.register(cmd)
	a.cacheFlags(cmd)
	return cmd
}

func (a *app) run(ctx context.Context, what string, f *runFlags) error {
	if !f.noCompile {
		children, err := a.childProcesses()
		if err != nil {
			return err
		}
		children.Ahead() // while the sources are read
	}
	b, target, err := a.runTarget(ctx, what, f)
	if err != nil {
		return err
	}
	if f.request.Scalars, err = pairs("scalar", f.scalars); err != nil {
		return err
	}
	if f.request.Dims, err = pairs("dim", f.dims); err != nil {
		return err
	}
	if f.request.Policy, err = graph.PolicyNamed(f.policy); err != nil {
		return err
	}
	if f.request.Artifacts, err = f.artifacts.get(a); err != nil {
		return err
	}
	f.request.Output = os.Stderr
	t, err := a.tester(b, nil, testFlags{noCompile: f.noCompile})
	if err != nil {
		return a.fail(diag.AsList(err, native.CodeToolchain), b.WS, exitInternal)
	}
	out, ds := t.RunOnce(ctx, target, &f.request)
	if ds.HasErrors() {
		return a.fail(ds, b.WS, exitOf(ctx, ds))
	}
	a.ui.Report(ds, b.WS.Source)
	if f.out != "" {
		for _, o := range out.Outputs {
			if err := writeFile(filepath.Join(a.path(f.out), o.Name+".npy"), o.Npy); err != nil {
				return a.fail(diag.List{diag.Errorf(graph.CodeOutput, diag.Span{File: f.out}, "cannot be written: %v", err)}, b.WS, exitInternal)
			}
		}
	}
	if f.trace != "" {
		w, err := os.Create(a.path(f.trace))
		if err != nil {
			return err
		}
		err = out.WriteTrace(w)
		if e := w.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	if a.ui.JSON {
		out.Diagnostics = ds
		return a.ui.Result(out)
	}
	a.ui.Printf("%s  %s, %s\n", out.Target, ui.Plural(out.Tasks, "task"), out.Engine)
	if err := a.ui.Write(out.WriteTasks); err != nil {
		return err
	}
	for _, line := range out.Times.Lines() {
		a.ui.Printf("  %s\n", line)
	}
	for _, o := range out.Outputs {
		a.ui.Printf("%s  %s\n", o.Name, o.Summary)
	}
	return nil
}

// runTarget is the one target that is to run.
func (a *app) runTarget(ctx context.Context, what string, f *runFlags) (*graph.Builder, *graph.Target, error) {
	if ext := filepath.Ext(what); ext == ".cpp" || ext == ".cc" {
		return a.handTarget(ctx, what, f)
	}
	b, targets, err := a.find(ctx, what, &f.load)
	if err == nil && len(targets) > 1 {
		var names []string
		for _, t := range targets {
			names = append(names, t.Label.String())
		}
		err = fmt.Errorf("%s names %s; pick one of %s", what, ui.Plural(len(targets), "target"), strings.Join(names, ", "))
	}
	if err != nil {
		return nil, nil, err
	}
	return b, targets[0], nil
}

// handTarget is a C++ file with the interface of its test, of which flags change parts.
func (a *app) handTarget(ctx context.Context, what string, f *runFlags) (*graph.Builder, *graph.Target, error) {
	ws, err := a.workspaceOrNone()
	if err != nil {
		return nil, nil, err
	}
	b, err := a.builder(ctx, ws, "", &f.load)
	if err != nil {
		return nil, nil, err
	}
	h := f.hand
	h.Source = strings.TrimPrefix(what, "//")
	if h.Source == what {
		h.Source = a.inWorkspace(ws, what)
	}
	for i, k := range h.Kernels { // paths of flags are seen from here
		if core, source, ok := strings.Cut(k, " "); ok {
			h.Kernels[i] = core + " " + a.inWorkspace(ws, source)
		}
	}
	for i, d := range h.Includes {
		if !filepath.IsAbs(d) {
			h.Includes[i] = a.inWorkspace(ws, d)
		}
	}
	if t := b.HandwrittenTest(h.Source, f.request.Test); t != nil {
		if h.Signature == "" {
			h.Signature = t.Signature
		}
		if h.Kernels == nil {
			h.Kernels = t.Kernels
		}
		if h.Entry == "" {
			h.Entry = t.Entry
		}
		if h.Includes == nil {
			h.Includes = t.Includes
		}
	}
	return b, graph.HandwrittenTarget(&h), nil
}

// workspaceOrNone is the workspace of the command's folder, or one of nothing when there is none.
func (a *app) workspaceOrNone() (*graph.Workspace, error) {
	switch ws, ds := graph.Open(a.dir); {
	case ws == nil:
		return graph.Detached(a.dir, nil), nil
	case ds.HasErrors():
		return nil, a.fail(ds, ws, exitUsage)
	default:
		return ws, nil
	}
}

// pairs splits NAME=VALUE flags.
func pairs(flag string, given []string) (map[string]string, error) {
	m := map[string]string{}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok {
			return nil, fmt.Errorf("--%s %s: write NAME=VALUE", flag, g)
		}
		m[name] = value
	}
	return m, nil
}
