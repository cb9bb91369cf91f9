package main

import (
	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
)

// artifactFlags ask for files about runs.
type artifactFlags struct {
	dir  string
	args int
}

func (f *artifactFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "artifacts", "", "write dependencies, timeline, scope statistics and trace into `DIR`")
	cmd.Flags().IntVar(&f.args, "dump-args", 0, "with --artifacts, dump arguments of tasks: `LEVEL` 1 those marked with dump(), 2 all, 3 all without contents")
}

func (f *artifactFlags) get(a *app) (graph.Artifacts, error) {
	level, err := graph.ArgsLevel(f.args)
	if err != nil || f.dir == "" {
		return graph.Artifacts{}, err
	}
	return graph.Artifacts{Dir: a.path(f.dir), Args: level}, nil
}
