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
	"slices"
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
	data := map[string]string{"Name": name, "Version": version, "SDK": ""}
	if sdk != "" {
		abs, err := filepath.Abs(sdk)
		if err != nil {
			return err
		}
		data["SDK"] = abs
	}
	s := skeleton{dir: dir, data: data}
	names := []string{"Pto.toml", "example.py", "go.mod", "main.go", "main_test.go"}
	steps := "    go mod tidy                fetch the SDK\n"
	if moduleAbove(dir) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "go.mod" })
		steps = ""
	}
	for _, n := range names {
		s.add(n, "_plugin/"+n+".tmpl")
	}
	return a.madePlugin(&s, steps+"    go test                    try the op without ptobuild\n", name)
}

func (a *app) newPythonPlugin(name, dir string) error {
	s := skeleton{dir: dir, data: map[string]string{"Name": name}}
	s.add("Pto.toml", "_plugin_python/Pto.toml.tmpl")
	s.add("example.py", "_plugin/example.py.tmpl")
	s.add("src/__main__.py", "_plugin_python/__main__.py.tmpl")
	for _, n := range []string{"ptobuild_plugin.py", "ptobuild_grpc.py"} {
		text, err := python.Files.ReadFile(n)
		s.write("src/"+n, text, err)
	}
	return a.madePlugin(&s, "", name)
}

func (a *app) madePlugin(s *skeleton, steps, name string) error {
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
	a.ui.Printf("\nNow, in that folder:\n%s    ptobuild test              build the plugin and run the example that uses it\n"+
		"    ptobuild plugin test %s    see whether it keeps the rules\n", steps, name)
	return nil
}

// skeleton writes the files of a new plugin.
type skeleton struct {
	dir  string
	data map[string]string
	made []string
	err  error // the first
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
	if _, err := os.Stat(filepath.Join(root, "plugins", "sdk", "sdk.go")); err != nil {
		return ""
	}
	return root
}

// moduleAbove reports that a folder will lie in a Go module. The Go tool knows: not every go.mod above counts.
func moduleAbove(dir string) bool {
	cmd := osexec.Command("go", "env", "GOMOD")
	cmd.Dir = filepath.Dir(dir)
	out, err := cmd.Output()
	file := strings.TrimSpace(string(out))
	return err == nil && file != "" && file != os.DevNull
}
