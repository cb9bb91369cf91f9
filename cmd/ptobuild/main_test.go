package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/native/host"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// asTool makes the test binary the tool under its own name.
const asTool = "PTOBUILD_TEST_AS_TOOL"

// The test binary is the tool: under the name ptobuild it is the command, and with protocol.Arg it runs compiled C++.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == protocol.Arg {
		host.Main()
	}
	if os.Getenv(asTool) != "" {
		os.Unsetenv(asTool)
		os.Exit(Main())
	}
	testscript.Main(m, map[string]func(){"ptobuild": func() { os.Exit(Main()) }})
}

// buildPlugin is the script command `plugin DIR [EXAMPLE…]`: it builds the plugin of testdata/scale, or plugins of examples/plugins, and the program that runs
// plugins into a folder.
func buildPlugin(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	build := func(out string, pkgs ...string) {
		if b, err := exec.Command("go", append([]string{"build", "-ldflags=-s -w", "-o", out}, pkgs...)...).CombinedOutput(); err != nil {
			ts.Fatalf("%v\n%s", err, b)
		}
	}
	if len(args) == 1 {
		build(dir+"/", "./testdata/scale", "../"+client.HelperName)
	} else {
		build(dir+"/", "../"+client.HelperName)
	}
	for _, name := range args[1:] {
		pkg := "./testdata/" + name
		if _, err := os.Stat(pkg); err != nil {
			pkg = "../../examples/plugins/" + name
		}
		build(filepath.Join(dir, graph.PluginPrefix+name), pkg)
	}
	ts.Setenv(client.HelperEnv, filepath.Join(dir, client.HelperName))
	ts.Setenv("TMPDIR", "/tmp") // the script's own is too long for the path of a socket
}

// TestScripts runs testdata/script/*.txtar. Update expected output with -update.
func TestScripts(t *testing.T) {
	cache := t.TempDir() // shared: a second script finds what the first compiled
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"plugin": buildPlugin},
		Setup: func(e *testscript.Env) error {
			e.Setenv("PTOBUILD_CACHE", cache)
			e.Setenv("EXAMPLES", examples)
			e.Setenv(native.HelperEnv, exe)
			return nil
		},
	})
}
