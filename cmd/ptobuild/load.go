package main

import (
	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
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

// builder makes a builder that loads files so.
func (f *loadFlags) builder(ws *graph.Workspace, profile string) (*graph.Builder, error) {
	args, err := pairs("arg", f.args)
	if err != nil {
		return nil, err
	}
	b, err := graph.NewBuilder(ws, profile)
	if err != nil {
		return nil, err
	}
	b.Args, b.Entry, b.Factory = args, f.entry, f.factory
	return b, nil
}
