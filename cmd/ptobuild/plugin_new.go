package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/python"
)

// pluginFiles are the plugins that `plugin new` makes.
//
//go:embed all:_plugin all:_plugin_python
var pluginFiles embed.FS

func (a *app) pluginNewCommand() *cobra.Command {
	var dir, sdk, language string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a plugin: an op with its test, ready to build",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if d := (&plugins.Config{Name: name, Path: "."}).Check(); d != nil {
				return d
			}
			if dir == "" {
				dir = graph.PluginPrefix + name
			}
			if _, err := os.Stat(a.path(dir)); !errors.Is(err, fs.ErrNotExist) {
				return diag.Errorf(graph.CodeOutput, diag.Span{File: a.path(dir)}, "exists already").WithHint("plugin new makes a new folder; give another one with --dir")
			}
			if sdk != "" {
				sdk = a.path(sdk)
			}
			switch language {
			case "go":
				return a.newGoPlugin(name, a.path(dir), sdk)
			case "python":
				return a.newPythonPlugin(name, a.path(dir))
			}
			return fmt.Errorf("--lang %s: plugins are made in go or python", language)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "make it in `DIR` (default ptobuild-plugin-NAME)")
	cmd.Flags().StringVar(&language, "lang", "go", "in which `LANGUAGE`: go or python")
	cmd.Flags().StringVar(&sdk, "sdk", "", "take the SDK from a checkout of ptobuild in `DIR`")
	return cmd
}

func (a *app) newGoPlugin(name, dir, sdk string) error {
	if sdk == "" {
		sdk = checkout()
	}
	version := "v0.0.0"
	if bi, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(bi.Main.Version, "v") {
		version = bi.Main.Version
	}
	data := map[string]string{"Name": name, "Version": version, "SDK": "", "Mod": ""}
	if sdk != "" {
		abs, err := filepath.Abs(sdk)
		if err != nil {
			return err
		}
		if !isCheckout(abs) {
			return diag.Errorf(graph.CodeConfig, diag.Span{File: sdk}, "is no checkout of ptobuild: it has no plugins/sdk").WithHint("--sdk is for plugins that use an SDK which is not published")
		}
		data["SDK"] = abs
	}
	s := skeleton{dir: dir, data: data, outer: func(in, file string) (build, files []string) {
		return []string{"go", "build", "-C", in, "-trimpath", "-buildvcs=false", "-ldflags=-buildid=", "-o", file, "."}, []string{in + "/*.go"}
	}}
	names := []string{"Pto.toml", "example.py", "main.go", "main_test.go"}
	var steps []step
	if !moduleAbove(dir) { // otherwise it is a package of that module
		data["Mod"] = "go.mod"
		names = append(names, "go.mod")
		steps = append(steps, step{"go mod tidy", "fetch the SDK"})
	}
	for _, n := range names {
		s.add(n, "_plugin/"+n+".tmpl")
	}
	return a.madePlugin(&s, append(steps, step{"go test", "try the op without ptobuild"}), name)
}

func (a *app) newPythonPlugin(name, dir string) error {
	s := skeleton{dir: dir, data: map[string]string{"Name": name}, outer: func(in, file string) (build, files []string) {
		return []string{"python3", in + "/src/ptobuild_plugin.py", "pack", in + "/src", in + "/" + file}, []string{in + "/src/**/*.py"}
	}}
	s.add("Pto.toml", "_plugin_python/Pto.toml.tmpl")
	s.add("example.py", "_plugin/example.py.tmpl")
	s.add("test_blend.py", "_plugin_python/test_blend.py.tmpl")
	s.add("src/__main__.py", "_plugin_python/__main__.py.tmpl")
	s.add("src/blend.py", "_plugin_python/blend.py.tmpl")
	for _, n := range []string{"ptobuild_plugin.py", "ptobuild_grpc.py"} {
		text, err := python.Files.ReadFile(n)
		s.write("src/"+n, text, err)
	}
	s.ignored = "__pycache__/\n"
	return a.madePlugin(&s, []step{{"python3 -m unittest", "try the op without ptobuild"}}, name)
}

// step is a command to go on with, and what it does.
type step struct{ command, does string }

func (a *app) madePlugin(s *skeleton, steps []step, name string) error {
	s.write(".gitignore", []byte("/.ptobuild/\n/build/\n"+s.ignored), nil)
	if s.err != nil {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: s.dir}, "cannot make the plugin: %v", s.err)
	}
	if a.ui.JSON {
		return a.ui.Result(struct {
			Directory string   `json:"directory"`
			Files     []string `json:"files"`
		}{s.dir, s.made})
	}
	for _, f := range s.made {
		a.ui.Printf("made %s\n", filepath.Join(s.dir, f))
	}
	steps = append(steps, step{"ptobuild test", "build the plugin and run the example that uses it"}, step{"ptobuild plugin test " + name, "see whether it keeps the rules"})
	width := 0
	for _, x := range steps {
		width = max(width, len(x.command))
	}
	a.ui.Printf("\nNow, in that folder:\n")
	for _, x := range steps {
		a.ui.Printf("    %-*s  %s\n", width, x.command, x.does)
	}
	return a.tellOuter(s, name)
}

// tellOuter says how the workspace around a new plugin, if there is one, takes it.
func (a *app) tellOuter(s *skeleton, name string) error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	outer, ds := graph.Open(filepath.Dir(dir))
	if ds.HasErrors() {
		return nil
	}
	rel, err := filepath.Rel(outer.Root, dir)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	file := ".ptobuild/plugins/" + graph.PluginPrefix + name
	build, files := s.outer(rel, file)
	a.ui.Printf("\nThe folder is a workspace of its own. To use the plugin in the one around it, add to %s:\n    [plugins.%s]\n    path = %q\n    build = [%s]\n    files = [%s]\n",
		filepath.Join(outer.Root, graph.ConfigName), name, rel+"/"+file, quotedList(build), quotedList(files))
	return nil
}

func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}

// skeleton writes the files of a new plugin.
type skeleton struct {
	dir     string
	data    map[string]string
	ignored string // what git shall ignore beside what ptobuild makes
	made    []string
	err     error // the first
	// outer gives the build command and the files of the plugin for the workspace around it: in is its folder there, file what the command makes, from in.
	outer func(in, file string) (build, files []string)
}

// add makes a file of a template.
func (s *skeleton) add(name, from string) {
	text, err := pluginFiles.ReadFile(from)
	var t *template.Template
	if err == nil {
		t, err = template.New(name).Delims("<<", ">>").Parse(string(text))
	}
	var out bytes.Buffer
	if err == nil {
		err = t.Execute(&out, s.data)
	}
	s.write(name, out.Bytes(), err)
}

func (s *skeleton) write(name string, text []byte, err error) {
	if err == nil && s.err == nil {
		err = writeFile(filepath.Join(s.dir, filepath.FromSlash(name)), text)
	}
	s.made = append(s.made, name)
	if s.err == nil {
		s.err = err
	}
}

// checkout is the source tree that this binary was built from, when it is still there: then the SDK is taken from it.
func checkout() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if !isCheckout(root) {
		return ""
	}
	return root
}

func isCheckout(root string) bool {
	_, err := os.Stat(filepath.Join(root, "plugins", "sdk", "sdk.go"))
	return err == nil
}

// moduleAbove reports that a folder will lie in a Go module. The Go tool knows: not every go.mod above counts.
func moduleAbove(dir string) bool {
	cmd := osexec.Command("go", "env", "GOMOD")
	cmd.Dir = filepath.Dir(dir)
	out, err := cmd.Output()
	file := strings.TrimSpace(string(out))
	return err == nil && file != "" && file != os.DevNull
}
