package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "List, pin, test and make plugins",
		Long:  "Plugins add ops and passes out of processes of their own; [plugins.NAME] in Pto.toml names them. docs/plugins.md tells how to write one.",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the plugins of the workspace", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.pluginList(cmd.Context()) }},
		&cobra.Command{Use: "info NAME|FILE", Short: "Tell what a plugin adds", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return a.pluginInfo(cmd.Context(), args[0]) }},
		&cobra.Command{Use: "lock [NAME…]", Short: "Pin the plugins' files in Pto.lock",
			Long: "Writes the version of each plugin and the SHA-256 of its file on this platform to Pto.lock, which is to be committed.\n" +
				"Digests of other platforms stay as long as the version does.",
			RunE: func(cmd *cobra.Command, args []string) error { return a.pluginLock(cmd.Context(), args) }},
		&cobra.Command{Use: "verify", Short: "Compare the plugins' files with Pto.lock", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.pluginVerify(cmd.Context()) }},
		&cobra.Command{Use: "test NAME|FILE", Short: "Test whether a plugin keeps the rules", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return a.pluginTest(cmd.Context(), args[0]) }},
		a.pluginNewCommand(),
	)
	return cmd
}

// pluginResult is one plugin of the list.
type pluginResult struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Path    string    `json:"path"`
	SHA256  string    `json:"sha256,omitempty"`
	Pinned  string    `json:"pinned"` // by what: Pto.lock, Pto.toml, its sources, --plugin-dev, or nothing
	Ops     int       `json:"ops"`
	Passes  int       `json:"passes"`
	Diags   diag.List `json:"diagnostics,omitempty"`
}

func (a *app) pluginList(ctx context.Context) error {
	ws, err := a.open()
	if err != nil {
		return err
	}
	a.ws = ws
	found, ds := graph.AskPlugins(ctx, ws)
	if ds.HasErrors() {
		return a.fail(ds, ws, startCode(ds))
	}
	a.report(ds, ws)
	var list []pluginResult
	for _, p := range found {
		r := pluginResult{Name: p.Config.Name, Path: relative(ws.Root, p.Config.Path), SHA256: p.Config.SHA256, Pinned: p.Pinned, Diags: p.Reports}
		if p.About != nil {
			r.Version, r.Ops, r.Passes = p.About.Version, len(p.About.Ops), len(p.About.Passes)
		}
		list = append(list, r)
	}
	if a.ui.JSON {
		return a.ui.Result(struct {
			Plugins []pluginResult `json:"plugins"`
		}{list})
	}
	if len(list) == 0 {
		a.ui.Printf("no plugins: name them in Pto.toml, [plugins.NAME]\n")
	}
	failed := diag.List{}
	for _, r := range list {
		state := fmt.Sprintf("%s, %s", ui.Plural(r.Ops, "op"), passCount(r.Passes))
		if r.Diags.HasErrors() {
			state = a.ui.Paint(ui.Red, "cannot be used")
			failed.Add(r.Diags...)
		}
		a.ui.Printf("%-12s %-9s %-22s pinned by %-12s %s\n", r.Name, r.Version, state, r.Pinned, r.Path)
	}
	if failed.HasErrors() {
		return a.fail(failed, ws, exitOf(ctx, failed))
	}
	return nil
}

func passCount(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// plugin finds a plugin by its name in the workspace or by its file.
func (a *app) plugin(ctx context.Context, arg string) (helper string, conf plugins.Config, err error) {
	if helper, err = client.Helper(); err != nil {
		return "", conf, err
	}
	if st, err := os.Stat(a.path(arg)); err == nil && st.Mode().IsRegular() {
		abs, err := filepath.Abs(a.path(arg))
		if err != nil {
			return "", conf, err
		}
		name, err := client.NameOf(ctx, helper, abs)
		return helper, plugins.Config{Name: name, Path: abs}, err
	}
	ws, err := a.open()
	if err != nil {
		return "", conf, err
	}
	a.ws = ws
	configs, lost, ds := ws.Plugins(ctx)
	if ds.HasErrors() {
		return "", conf, ds
	}
	a.report(ds, ws)
	var names []string
	for _, c := range configs {
		if c.Name == arg {
			if d := lost[arg]; d != nil {
				return "", conf, d
			}
			return helper, c, nil
		}
		names = append(names, c.Name)
	}
	d := diag.Errorf(plugins.CodeConfig, diag.Span{File: graph.ConfigName}, "there is no plugin and no file %q", arg)
	if near := diag.Nearest(arg, names); near != "" {
		return "", conf, d.WithHint("did you mean %q?", near)
	}
	return "", conf, d.WithHint("`ptobuild plugin list` lists the plugins")
}

// describe asks one plugin what it serves.
func describe(ctx context.Context, helper string, conf plugins.Config) (*plugins.Description, error) {
	c := client.New(ctx, helper, []plugins.Config{conf}, "")
	defer c.Close()
	l := c.Load()
	return l.About[conf.Name], l.Reports().Err()
}

func (a *app) pluginInfo(ctx context.Context, arg string) error {
	helper, conf, err := a.plugin(ctx, arg)
	if err != nil {
		return err
	}
	d, err := describe(ctx, helper, conf)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Result(infoOf(d))
	}
	a.ui.Printf("%s %s", a.ui.Paint(ui.Bold, d.Name), d.Version)
	if d.Doc != "" {
		a.ui.Printf(": %s", d.Doc)
	}
	a.ui.Printf("\nprotocol 1.%d\n", d.Minor)
	for i, s := range d.Ops {
		a.ui.Printf("\n%s\n", a.ui.Paint(ui.Bold, signature(s)))
		for _, line := range slices.Concat([]string{s.Doc, strings.Join(abilities(s, d.Can[i]), "; "), storage(s)}, keywords(s)) {
			if line != "" {
				a.ui.Printf("    %s\n", line)
			}
		}
	}
	for _, p := range d.Passes {
		a.ui.Printf("\npass %s\n", a.ui.Paint(ui.Bold, p.Name))
		if p.Doc != "" {
			a.ui.Printf("    %s\n", p.Doc)
		}
		a.ui.Printf("    stands %s; may change %s\n", place(p), granted(p.Grant))
	}
	for _, o := range d.Options {
		more := ""
		if len(o.Choices) > 0 {
			more = ": " + strings.Join(o.Choices, ", ")
		}
		if o.Min < o.Max {
			more = fmt.Sprintf(" between %v and %v", o.Min, o.Max)
		}
		if o.Required {
			more += ", required"
		}
		a.ui.Printf("\noption %s: %s%s\n", a.ui.Paint(ui.Bold, o.Name), o.Kind, more)
		if o.Doc != "" {
			a.ui.Printf("    %s\n", o.Doc)
		}
	}
	return nil
}

// opInfo and the like are the JSON of info.
type opInfo struct {
	Name      string   `json:"name"`
	Signature string   `json:"signature"`
	Doc       string   `json:"doc"`
	Can       []string `json:"can"`
	Storage   string   `json:"storage"`
	Keywords  []string `json:"keywords,omitempty"`
}

type pluginInfo struct {
	Name         string           `json:"name"`
	Version      string           `json:"version"`
	Doc          string           `json:"doc"`
	Minor        int              `json:"protocol_minor"`
	Capabilities []string         `json:"capabilities"`
	Ops          []opInfo         `json:"ops"`
	Passes       []string         `json:"passes"`
	Options      []plugins.Option `json:"options"`
}

func infoOf(d *plugins.Description) pluginInfo {
	r := pluginInfo{Name: d.Name, Version: d.Version, Doc: d.Doc, Minor: d.Minor, Capabilities: d.Capabilities, Options: d.Options}
	for i, s := range d.Ops {
		r.Ops = append(r.Ops, opInfo{s.Name, signature(s), s.Doc, abilities(s, d.Can[i]), storage(s), keywords(s)})
	}
	for _, p := range d.Passes {
		r.Passes = append(r.Passes, p.Name)
	}
	return r
}

// signature is how users write an op.
func signature(s *ops.Spec) string {
	var parts []string
	star := "*" // what follows is given by keyword
	for _, p := range s.Params {
		text := p.Name + ": " + p.Kind.String()
		if p.Optional {
			text += " = None"
		}
		if p.Variadic {
			text, star = "*"+text, ""
		}
		parts = append(parts, text)
	}
	for _, k := range s.Kwargs {
		if star != "" {
			parts, star = append(parts, star), ""
		}
		text := k.Name
		if int(k.Kind) < len(keywordTypes) {
			text += ": " + keywordTypes[k.Kind]
		}
		if k.Default != nil || !k.Required {
			text += " = " + literal(k.Default)
		}
		parts = append(parts, text)
	}
	return "pl." + s.Name + "(" + strings.Join(parts, ", ") + ")"
}

var keywordTypes = [...]string{ops.IntKw: "int", ops.BoolKw: "bool", ops.StrKw: "str", ops.FloatKw: "float", ops.DTypeKw: "dtype"}

// literal is a value as users write it.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case ir.DType:
		return "pl." + v.Name()
	case ir.Enum:
		return "pl." + v.Kind + "." + v.Name
	case string:
		return strconv.Quote(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
	}
	return fmt.Sprint(v)
}

// keywords are what the values of keyword arguments are bound to.
func keywords(s *ops.Spec) []string {
	var out []string
	for _, k := range s.Kwargs {
		switch {
		case k.Min < k.Max:
			out = append(out, fmt.Sprintf("%s is between %d and %d", k.Name, k.Min, k.Max))
		case len(k.Names) > 0:
			out = append(out, k.Name+" is one of "+strings.Join(k.Names, ", "))
		}
	}
	return out
}

// storage says what the result is and what happens to the operands.
func storage(s *ops.Spec) string {
	text := [...]string{ops.Value: "gives a number", ops.Fresh: "gives a new tensor or tile", ops.View: "gives a view of ", ops.InPlace: "gives the updated ", ops.None: "gives nothing"}[s.Result.Kind]
	if s.Result.Kind == ops.View || s.Result.Kind == ops.InPlace {
		text += s.Params[s.Result.Arg].Name
	}
	if s.ResultMem != "" {
		text += " in " + string(s.ResultMem)
	}
	for i, p := range s.Params {
		if p.Kind&(ops.TensorArg|ops.TileArg|ops.ArrayArg) != 0 {
			text += "; " + [...]string{ops.Read: "reads ", ops.Write: "writes ", ops.ReadWrite: "reads and writes ", ops.Untouched: "touches no element of "}[s.EffectOn(i)] + p.Name
		}
		if p.Window.At != "" {
			text += " in a window at " + p.Window.At
		}
	}
	if s.Pure {
		text += "; pure"
	}
	return text
}

func abilities(s *ops.Spec, can plugins.Can) []string {
	var out []string
	for _, x := range []struct {
		yes  bool
		text string
	}{{s.Where&ops.OnHost != 0, "in orchestration functions"}, {s.Where&ops.InCore != 0, "in kernels" + [...]string{ops.AnyCore: "", ops.VectorCore: " of vector cores", ops.CubeCore: " of cube cores"}[s.Core]}, {can.Infer, "has a type rule"}, {can.Verify, "has further checks"},
		{can.Emit, "emits C++"}, {can.Evaluate, "has numbers for tests"}} {
		if x.yes {
			out = append(out, x.text)
		}
	}
	return out
}

func place(p plugins.Pass) string {
	if p.Before != "" {
		return "before " + p.Before
	}
	return "after " + p.After
}

func granted(g *plugins.Grant) string {
	if g == nil {
		return "everything"
	}
	var kinds []string
	for _, t := range g.Functions {
		kinds = append(kinds, t.String())
	}
	text := "functions of type " + strings.Join(kinds, ", ")
	if g.Add {
		text += ", add functions"
	}
	if g.Remove {
		text += ", remove such functions"
	}
	return text
}

func (a *app) pluginLock(ctx context.Context, names []string) error {
	ws, err := a.open()
	if err != nil {
		return err
	}
	a.ws = ws
	pins, ds := graph.LockPlugins(ctx, ws, names)
	if ds.HasErrors() {
		return a.fail(ds, ws, exitOf(ctx, ds))
	}
	a.report(ds, ws)
	if a.ui.JSON {
		return a.ui.Result(pins)
	}
	for _, p := range pins.Pinned {
		a.ui.Printf("pinned %s %s for %s: %s\n", p.Name, p.Version, p.Platform, p.SHA256)
	}
	for _, name := range pins.Built {
		a.ui.Printf("%s is built in this workspace: its sources are what is versioned\n", name)
	}
	switch {
	case pins.Changed:
		a.ui.Printf("wrote Pto.lock: commit it\n")
	case len(pins.Pinned) > 0:
		a.ui.Printf("Pto.lock is up to date\n")
	default:
		a.ui.Printf("nothing to pin\n")
	}
	return nil
}

func (a *app) pluginVerify(ctx context.Context) error {
	ws, err := a.open()
	if err != nil {
		return err
	}
	a.ws = ws
	rep := graph.VerifyPlugins(ctx, ws)
	a.report(rep.Diagnostics, ws)
	if a.ui.JSON {
		if err := a.ui.Result(rep); err != nil {
			return err
		}
	} else {
		for _, name := range slices.Sorted(maps.Keys(rep.Plugins)) {
			a.ui.Printf("%-12s %s\n", name, rep.Plugins[name])
		}
	}
	if rep.Diagnostics.HasErrors() {
		return exitError{exitOf(ctx, rep.Diagnostics)}
	}
	return nil
}
