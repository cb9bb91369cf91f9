package main

import (
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/include"
)

func (a *app) headerCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "header --out DIR",
		Short: "Write the C++ header that orchestration code compiles against",
		Long: "Writes the API header of the simulated runtime, for compilers and editors that do not run under ptobuild.\n" +
			"It accepts every API profile, and code that uses it links against nothing.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return fs.WalkDir(include.Files, ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := include.Files.ReadFile(name)
				if err != nil {
					return err
				}
				at := filepath.Join(out, filepath.FromSlash(name))
				if err := writeFile(a.path(at), text); err != nil {
					return a.fail(diag.List{diag.Errorf(graph.CodeOutput, diag.Span{File: at}, "cannot be written: %v", err)}, nil, exitInternal)
				}
				a.ui.Textf("%s\n", filepath.ToSlash(at))
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the header")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag was just defined
	}
	return cmd
}
