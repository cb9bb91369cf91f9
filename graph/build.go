package graph

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

// Target is one orchestration function.
type Target struct {
	Label   Label
	Source  string      // path of the .py file from the root
	Program *ir.Program // as the front end gave it; shared by the targets of one program
	Unit    *lang.Unit  // what its source was loaded as
	Pos     diag.Span
	Hand    *Handwritten // a C++ file; Program and Unit are nil then
}

// Output is the folder of the target's outputs, from the root: build/<package>/<file>/<function>.
func (t *Target) Output() string { return path.Join(OutDir, t.Label.File, t.Label.Func) }

// Built is a target taken to C++.
type Built struct {
	Target  *Target
	Program *ir.Program // after the passes; holds the kernel bodies
	Plan    *plan.File
	Code    string
	Lines   []orch.LineSpan
	Files   []pack.File
}

// Builder takes the targets of a workspace through the stages. It keeps what it computed, so one Builder serves one consistent state of the
// sources.
type Builder struct {
	WS      *Workspace
	Ops     *ops.Registry
	Profile *orch.Profile
	// Args, Entry and Factory come from the command line and are set before anything is loaded: values of parameters, which go before those of
	// Pto.toml, the one root to load of a file, and the function that makes it.
	Args           map[string]string
	Entry, Factory string
	PluginNotes    diag.List // what is to be told about the plugins

	pipeline []*passes.Pass
	plugins  []plugins.Config
	client   *client.Client // nil: no plugins

	allowed *allowed                          // set by Allowances
	read    func(name string) ([]byte, error) // source files; nil: those of the workspace

	mu      sync.Mutex
	units   map[string]func() (*lang.Unit, diag.List) // by variant
	lowered map[loweredKey]func() (*ir.Program, diag.List)
}

type loweredKey struct {
	program *ir.Program
	options passes.Options
}

// NewBuilder makes a builder for an API profile ("" for the workspace's), with the plugins that the workspace names; when ctx ends, calls of them end.
// Close it when done.
func NewBuilder(ctx context.Context, ws *Workspace, profile string) (*Builder, error) {
	if profile == "" {
		profile = ws.Config.Build.Profile
	}
	prof := orch.Default()
	if profile != "" {
		if prof = orch.Named(profile); prof == nil {
			return nil, diag.Errorf(CodeConfig, diag.Span{}, "unknown API profile %q", profile).WithHint("the profiles are %s", strings.Join(orch.Names(), ", "))
		}
	}
	if p := ws.Config.Build.Platform; p != "" && p != "a2a3" && p != "a5" {
		return nil, diag.Errorf(CodeConfig, diag.Span{}, "unknown platform %q", p).WithHint("the platforms are a2a3, a5")
	}
	prof = prof.ForTarget(ws.Config.Build.Platform)
	b := &Builder{WS: ws, Ops: ops.Builtin(), Profile: prof, pipeline: passes.Default(), units: map[string]func() (*lang.Unit, diag.List){},
		lowered: map[loweredKey]func() (*ir.Program, diag.List){}}
	if err := b.loadPlugins(ctx).Err(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Targets lists the targets that any of the patterns selects (all without patterns), by label, together with the front end's reports about the
// files that were looked at. A pattern that selects nothing is an error.
func (b *Builder) Targets(patterns []Pattern) ([]*Target, diag.List) {
	files, ds := b.WS.SourceFiles()
	var sources []string
	for _, f := range files {
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p Pattern) bool { return p.MatchFile(trimPy(f)) }) {
			sources = append(sources, f)
		}
	}
	lists := make([][]*Target, len(sources))
	reports := make([]diag.List, len(sources))
	_ = Each(0, sources, func(i int, source string) error { // reports carry the errors
		lists[i], reports[i] = b.FileTargets(source)
		return nil
	})
	var all []*Target
	for i := range sources {
		ds.Add(reports[i]...)
		all = append(all, lists[i]...)
	}
	ds.Add(b.CheckArgs(sources)...)
	if len(patterns) == 0 {
		ds.Add(b.strayTargets(files)...)
	}
	slices.SortStableFunc(all, func(x, y *Target) int { return x.Label.Compare(y.Label) })
	for i := 1; i < len(all); i++ {
		if all[i].Label == all[i-1].Label {
			ds.Add(diag.Errorf(CodeDuplicate, all[i].Pos, "two orchestration functions are named %s", all[i].Label.Func).
				WithHint("the label %s must name one function; rename one of them", all[i].Label).WithRelated(all[i-1].Pos, "the other one"))
		}
	}
	if len(patterns) == 0 {
		return all, ds
	}
	var out []*Target
	used := make([]bool, len(patterns))
	for _, t := range all {
		for i, p := range patterns {
			if p.Match(t.Label) {
				if !used[i] {
					used[i] = true
				}
				if len(out) == 0 || out[len(out)-1] != t {
					out = append(out, t)
				}
			}
		}
	}
	for i, p := range patterns {
		if !used[i] && !ds.HasErrors() && !b.matchesHandwritten(p) {
			ds.Add(noMatch(p, all, files))
		}
	}
	return out, ds
}

func noMatch(p Pattern, all []*Target, files []string) *diag.Diagnostic {
	d := diag.Errorf(CodeNoMatch, diag.Span{}, "no target matches %s", p)
	var names []string
	for _, t := range all {
		names = append(names, t.Label.String())
	}
	for _, f := range files {
		names = append(names, "//"+trimPy(f))
	}
	if near := diag.Nearest(p.String(), names); near != "" {
		return d.WithHint("did you mean %s?", near)
	}
	return d.WithHint("`ptobuild graph` lists the targets")
}

func trimPy(f string) string { return f[:len(f)-len(".py")] }

// targetsOf lists the orchestration functions of a unit: those declared so, and opaque functions that a block will turn into one.
func targetsOf(source string, unit *lang.Unit) []*Target {
	var ts []*Target
	for _, p := range unit.Programs {
		for _, f := range p.Funcs {
			if isOrchestration(f) {
				ts = append(ts, &Target{Label: Label{trimPy(source), f.Name}, Source: source, Program: p, Unit: unit, Pos: f.Pos})
			}
		}
	}
	return ts
}

func isOrchestration(f *ir.Function) bool {
	if f.Type == ir.Orchestration {
		return true
	}
	if f.Type != ir.Opaque {
		return false
	}
	found := false
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.InCoreScope {
			found = true
		}
		return !found
	})
	return found
}

// options are the pass options of a target.
func (b *Builder) options(l Label) passes.Options {
	c := &b.WS.Config.Build
	o := passes.Options{AutoDeps: c.AutoDeps, NoManualAllocDeps: c.ManualAllocDeps != nil && !*c.ManualAllocDeps,
		StoreTargetInOut: !c.PreciseBlockOutputs}
	if t, ok := b.WS.Config.Targets[l.String()]; ok && t.AutoDeps != nil {
		o.AutoDeps = *t.AutoDeps
	}
	return o
}

// Passes runs the pipeline on the program of a target, once per program and options.
func (b *Builder) Passes(t *Target) (*ir.Program, diag.List) {
	key := loweredKey{t.Program, b.options(t.Label)}
	b.mu.Lock()
	f, ok := b.lowered[key]
	if !ok {
		f = sync.OnceValues(func() (*ir.Program, diag.List) {
			ctx := &passes.Context{Ops: b.Ops, Options: key.options}
			return passes.Run(ctx, key.program, b.pipeline, passes.Hooks{Broken: b.dumpBroken})
		})
		b.lowered[key] = f
	}
	b.mu.Unlock()
	return f()
}

// Build takes a target to C++ in memory.
func (b *Builder) Build(ctx context.Context, t *Target) (*Built, diag.List) {
	if err := context.Cause(ctx); err != nil {
		return nil, diag.AsList(err, CodeOutput)
	}
	if t.Hand != nil {
		return b.handwritten(t)
	}
	prog, ds := b.Passes(t)
	if prog == nil || ds.HasErrors() {
		return nil, ds
	}
	fn := prog.Lookup(t.Label.Func)
	if fn == nil {
		return nil, append(ds, diag.Errorf(CodeNoMatch, t.Pos, "function %s is gone after the passes", t.Label.Func))
	}
	f, more := lower.Lower(prog, fn, b.Ops, lower.Options{NoManualAllocDeps: b.options(t.Label).NoManualAllocDeps})
	ds = append(slices.Clone(ds), more...)
	if f == nil || ds.HasErrors() {
		return nil, ds
	}
	if ds.Add(orch.Check(f, b.Profile)...); ds.HasErrors() {
		return nil, ds
	}
	code, lines := orch.Print(f, b.Profile)
	return &Built{Target: t, Program: prog, Plan: f, Code: code, Lines: lines, Files: pack.Files(f, code, lines)}, ds
}

// Write puts the outputs of a built target below its output folder and removes files of an earlier build that are no longer made. A file whose content
// did not change is not touched. It returns the paths written, from the root.
func (b *Builder) Write(built *Built) ([]string, error) {
	dir := built.Target.Output()
	var written []string
	keep := map[string]bool{}
	for _, f := range built.Files {
		name := path.Join(dir, f.Path)
		keep[name] = true
		changed, err := writeIfChanged(b.WS.Abs(name), f.Content)
		if err != nil {
			return written, diag.Errorf(CodeOutput, diag.Span{File: name}, "cannot be written: %v", unwrapPath(err))
		}
		if changed {
			written = append(written, name)
		}
	}
	err := filepath.WalkDir(b.WS.Abs(dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(b.WS.Root, p)
		if err == nil && !keep[filepath.ToSlash(rel)] {
			err = os.Remove(p)
		}
		return err
	})
	if err != nil {
		return written, diag.Errorf(CodeOutput, diag.Span{File: dir}, "cannot be cleaned: %v", unwrapPath(err))
	}
	return written, nil
}

// writeIfChanged replaces a file atomically when its content differs.
func writeIfChanged(name string, content []byte) (bool, error) {
	if old, err := os.ReadFile(name); err == nil && string(old) == string(content) {
		return false, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return false, err
	}
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		tmp.Close()
		return false, err
	}
	if err := tmp.Chmod(0o666 &^ umask); err != nil {
		tmp.Close()
		return false, err
	}
	if err := tmp.Close(); err != nil {
		return false, err
	}
	return true, os.Rename(tmp.Name(), name)
}
