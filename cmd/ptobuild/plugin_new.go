package main

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// pluginFiles is the plugin that `plugin new` makes.
//
//go:embed all:_plugin
var pluginFiles embed.FS

func (a *app) pluginNewCommand() *cobra.Command {
	var dir, sdk string
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
			return a.pluginNew(name, a.path(dir), sdk)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "make it in `DIR` (default ptobuild-plugin-NAME)")
	cmd.Flags().StringVar(&sdk, "sdk", "", "take the SDK from a checkout of ptobuild in `DIR`")
	return cmd
}

func (a *app) pluginNew(name, dir, sdk string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: dir}, "exists already").WithHint("plugin new makes a new folder; give another one with --dir")
	}
	if sdk == "" {
		sdk = checkout()
	} else {
		sdk = a.path(sdk)
	}
	abs, err := filepath.Abs(sdk)
	if err != nil {
		return err
	}
	version := "v0.0.0"
	if bi, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(bi.Main.Version, "v") {
		version = bi.Main.Version
	}
	data := map[string]string{"Name": name, "Version": version, "SDK": "", "Go": strings.TrimPrefix(runtime.Version(), "go")}
	if sdk != "" {
		data["SDK"] = abs
	}
	inModule := moduleAbove(dir)
	var made []string
	err = fs.WalkDir(pluginFiles, "_plugin", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := pluginFiles.ReadFile(p)
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(p[len("_plugin/"):], ".tmpl")
		if rel == "go.mod" && inModule {
			return nil
		}
		t, err := template.New(path.Base(p)).Delims("<<", ">>").Parse(string(b))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			return err
		}
		made = append(made, rel)
		return writeFile(filepath.Join(dir, filepath.FromSlash(rel)), out.Bytes())
	})
	if err != nil {
		return diag.Errorf(graph.CodeOutput, diag.Span{File: dir}, "cannot make the plugin: %v", err)
	}
	if a.ui.JSON {
		return a.ui.Result(struct {
			Directory string   `json:"directory"`
			Files     []string `json:"files"`
		}{dir, made})
	}
	for _, f := range made {
		a.ui.Printf("made %s\n", filepath.Join(dir, f))
	}
	a.ui.Printf("\nNow, in that folder:\n")
	if !inModule {
		a.ui.Printf("    go mod tidy                fetch the SDK\n")
	}
	a.ui.Printf("    go test                    try the op without ptobuild\n    ptobuild test              build the plugin and run the example that uses it\n    ptobuild plugin test %s    see whether it keeps the rules\n", name)
	return nil
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
