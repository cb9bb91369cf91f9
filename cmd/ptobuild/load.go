package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// loadFlags say how source files are loaded.
type loadFlags struct {
	args           []string
	entry, factory string
}

func (f *loadFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.args, "arg", nil, "`NAME=VALUE` of a parameter of a jit entry or factory, as a Python literal (may be repeated)")
}

// registerRoot adds the flags that select what of a file is loaded.
func (f *loadFlags) registerRoot(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.entry, "entry", "", "take only the program or entry function `NAME` of the file")
	cmd.Flags().StringVar(&f.factory, "factory", "", "take the program that the function `NAME` of the file returns")
}

// request is what the flags say, as part of what a build depends on.
func (f *loadFlags) request(profile string) (graph.Request, error) {
	args, err := pairs("arg", f.args)
	return graph.Request{Profile: profile, Args: args, Entry: f.entry, Factory: f.factory}, err
}

// builder makes the builder of a command, which loads files as f says. It ends with the command, or when closeBuilder is called.
func (a *app) builder(ctx context.Context, ws *graph.Workspace, profile string, f *loadFlags) (*graph.Builder, error) {
	a.ws = ws
	if err := a.replacePlugins(ws); err != nil {
		return nil, err
	}
	ws.Running = a.running
	ws.SlowPlugin = func(name string) { a.ui.Notef("waiting for plugin %s\n", name) }
	args, err := pairs("arg", f.args)
	if err != nil {
		return nil, err
	}
	b, err := graph.NewBuilder(ctx, ws, profile)
	if err != nil {
		return nil, err
	}
	a.report(b.PluginNotes, ws)
	b.Args, b.Entry, b.Factory = args, f.entry, f.factory
	a.current = b
	return b, nil
}

func (a *app) closeBuilder() {
	if a.current != nil {
		a.current.Close()
	}
}

// pluginFaults are the reports about plugins that nothing in Pto.toml is to blame for.
var pluginFaults = []diag.Code{plugins.CodeProtocol, plugins.CodeCrash, plugins.CodeHang, plugins.CodeAnswer, plugins.CodeFailed, plugins.CodeHelper,
	plugins.CodeDescription, plugins.CodeHandshake, plugins.CodeMemory, plugins.CodeTemplate, plugins.CodeGrant, plugins.CodeProof}

// startCode is the exit code of a command that could not start.
func startCode(ds diag.List) int {
	if slices.ContainsFunc(ds, func(d *diag.Diagnostic) bool {
		return d.Code == cache.CodeFolder || slices.Contains(pluginFaults, d.Code)
	}) {
		return exitInternal
	}
	return exitUsage
}

// replacePlugins takes in --plugin-dev.
func (a *app) replacePlugins(ws *graph.Workspace) error {
	for _, x := range a.dev {
		name, file, ok := strings.Cut(x, "=")
		if !ok || name == "" || file == "" {
			return diag.Errorf(plugins.CodeConfig, diag.Span{}, "--plugin-dev %s is not NAME=FILE", x)
		}
		abs, err := filepath.Abs(a.path(file))
		if err != nil {
			return err
		}
		if ws.PluginDev == nil {
			ws.PluginDev = map[string]string{}
		}
		ws.PluginDev[name] = abs
	}
	return nil
}
