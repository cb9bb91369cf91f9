package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ptobuild/ptobuild/runtime/native"
)

// The test binary is the tool: under the name ptobuild it is the command, and re-executed with ChildArg it is the child of a compiled run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == native.ChildArg {
		native.ChildMain()
	}
	testscript.Main(m, map[string]func(){"ptobuild": func() { os.Exit(Main()) }})
}

// TestScripts runs testdata/script/*.txtar. Update expected output with -update.
func TestScripts(t *testing.T) {
	cache := t.TempDir() // shared: a second script finds what the first compiled
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PTOBUILD_CACHE", cache)
			e.Setenv("EXAMPLES", examples)
			return nil
		},
	})
}
