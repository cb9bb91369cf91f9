package main

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// initFiles is the workspace that init makes. The leading underscore keeps the Go tool away from it.
//
//go:embed all:_init
var initFiles embed.FS

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a workspace with one program and its test",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) > 0 {
				dir = a.path(args[0])
			}
			return a.init(dir)
		},
	}
}

func (a *app) init(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, graph.ConfigName)); !errors.Is(err, fs.ErrNotExist) {
		return diag.Errorf(graph.CodeConfig, diag.Span{File: filepath.Join(dir, graph.ConfigName)}, "exists already").
			WithHint("init does not overwrite a workspace")
	}
	var made, kept []string
	_, statErr := os.Stat(filepath.Join(dir, "hello.py"))
	own := statErr == nil // a hello.py of the user's has no scale_add to test
	err := fs.WalkDir(initFiles, "_init", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := initFiles.ReadFile(p)
		if err != nil {
			return err
		}
		rel := p[len("_init/"):]
		name := filepath.Join(dir, filepath.FromSlash(rel))
		if _, err := os.Stat(name); err == nil {
			kept = append(kept, rel)
			return nil
		}
		if rel == graph.ConfigName && own {
			b, _, _ = bytes.Cut(b, []byte("\n# One test:"))
		}
		made = append(made, rel)
		return writeFile(name, b)
	})
	if err != nil {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: dir}, "cannot make the workspace: %v", err)
	}
	if a.ui.JSON {
		return a.ui.Result(struct {
			Directory string   `json:"directory"`
			Files     []string `json:"files"`
		}{dir, made})
	}
	for _, f := range made {
		a.ui.Printf("made %s\n", f)
	}
	for _, f := range kept {
		a.ui.Printf("kept %s, which was here already\n", f)
	}
	a.ui.Printf("\nNow try:\n    ptobuild test      run its test on the simulated runtime\n    ptobuild build     generate its C++ below build/\n    ptobuild watch     do both on every save\n")
	return nil
}
