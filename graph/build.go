package graph

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/graph/state"
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
	Label  Label
	Source string // path of the .py file from the root
	Pos    diag.Span

	// What follows is there when the target is loaded. Those of Session.Targets are not until something asks for it.
	Program *ir.Program  // as the front end gave it; shared by the targets of one program
	Closure *ir.Program  // the part of it that the function needs
	Unit    *lang.Unit   // what its source was loaded as
	Hand    *Handwritten // a C++ file; Program and Unit are nil then

	built *state.Target // as the last build found it; nil for targets that did not come from a session
}

// Identity tells what decides the outputs of a target, and where it stands: equal ones are equal in all that a test can see. It is "" when that is not known.
func (t *Target) Identity() string {
	if t.built == nil || t.built.Key == (state.Digest{}) {
		return ""
	}
	return fmt.Sprintf("%x-%x", t.built.Key, t.built.Places)
}

// loaded gives a target with its program.
func (b *Builder) loaded(t *Target) (*Target, diag.List) {
	if t.Program != nil || t.Hand != nil {
		return t, nil
	}
	all, ds := b.FileTargets(t.Source)
	for _, x := range all {
		if x.Label == t.Label {
			x := *x
			if t.built != nil {
				x.built = t.built
				if digest, _, err := ir.Fingerprint(x.Closure); err != nil || digest != t.built.Closure {
					x.built = nil // its source has changed since
				}
			}
			return &x, nil // what else is wrong with the source is nothing to do with this target
		}
	}
	if ds.HasErrors() {
		return nil, ds
	}
	return nil, diag.List{diag.Errorf(CodeNoMatch, t.Pos, "%s is gone", t.Label).WithHint("build again")}
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

	configured  map[string][]Label // see configuredBySource
	pipeline    []*passes.Pass
	plugins     []plugins.Config
	pluginsLost bool              // some cannot be used
	pluginKeys  map[string]string // by name: what keys say of them
	passPlugins []string          // those with passes in the pipeline
	client      *client.Client    // nil: no plugins

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
	b := &Builder{WS: ws, Ops: ops.Builtin(), Profile: prof, configured: configuredBySource(ws.Config), pipeline: passes.Default(), pluginKeys: map[string]string{},
		units:   map[string]func() (*lang.Unit, diag.List){},
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
	_ = Each(b.workers(0), sources, func(i int, source string) error { // reports carry the errors
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
		var names []string
		first := len(ts)
		for _, f := range p.Funcs {
			if f.IsEntry() {
				names = append(names, f.Name)
				ts = append(ts, &Target{Label: Label{trimPy(source), f.Name}, Source: source, Program: p, Unit: unit, Pos: f.Pos})
			}
		}
		// What no target needs goes with the first, so that mistakes in it are reported.
		used := map[*ir.Function]bool{}
		for i, t := range ts[first:] {
			t.Closure = ir.Closure(p, names[i])
			for _, f := range t.Closure.Funcs {
				used[f] = true
			}
		}
		if len(names) > 0 && len(used) < len(p.Funcs) {
			roots := names[:1:1]
			for _, f := range p.Funcs {
				if !used[f] {
					roots = append(roots, f.Name)
				}
			}
			ts[first].Closure = ir.Closure(p, roots...)
		}
	}
	return ts
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

// Passes runs the pipeline on what a target needs of its program, once per options.
func (b *Builder) Passes(t *Target) (*ir.Program, diag.List) {
	key := loweredKey{t.Closure, b.options(t.Label)}
	b.mu.Lock()
	f, ok := b.lowered[key]
	if !ok {
		f = sync.OnceValues(func() (*ir.Program, diag.List) {
			ctx := &passes.Context{Ops: b.Ops, Options: key.options}
			return b.runPasses(ctx, key.program, b.pipeline, nil)
		})
		b.lowered[key] = f
	}
	b.mu.Unlock()
	return f()
}

// seedPasses keeps the result of passes that ran elsewhere.
func (b *Builder) seedPasses(t *Target, prog *ir.Program, ds diag.List) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lowered[loweredKey{t.Closure, b.options(t.Label)}] = func() (*ir.Program, diag.List) { return prog, ds }
}

// Build takes a target to C++ in memory.
func (b *Builder) Build(ctx context.Context, t *Target) (*Built, diag.List) {
	if err := context.Cause(ctx); err != nil {
		return nil, diag.AsList(err, CodeOutput)
	}
	if t.Hand != nil {
		return b.handwritten(t)
	}
	t, ds := b.loaded(t)
	if t == nil {
		return nil, ds
	}
	prog, ds := b.Passes(t)
	if prog == nil || ds.HasErrors() {
		return nil, ds
	}
	built, more := b.generate(t, prog)
	return built, joined(ds, more)
}

// joined puts the reports of two stages together. What the first one warned of and the second cannot accept is told once.
func joined(ds, more diag.List) diag.List {
	ds = slices.DeleteFunc(slices.Clone(ds), func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Warning && slices.ContainsFunc(more, func(e *diag.Diagnostic) bool { return e.Severity == diag.Error && e.Span == d.Span })
	})
	return append(ds, more...)
}

// generate takes a target from its program after the passes to C++.
func (b *Builder) generate(t *Target, prog *ir.Program) (*Built, diag.List) {
	if prog.Lookup(t.Label.Func) == nil {
		return nil, diag.List{diag.Errorf(CodeNoMatch, t.Pos, "function %s is gone after the passes", t.Label.Func)}
	}
	return b.print(t, prog, lower.Interface(prog, t.Label.Func))
}

// print takes a target from its interface to C++.
func (b *Builder) print(t *Target, prog, face *ir.Program) (*Built, diag.List) {
	f, ds := b.lower(t, face)
	if f == nil || ds.HasErrors() {
		ds = b.blamePlugins(t, ds)
		b.mendBuild(t, ds)
		return nil, ds
	}
	code, lines := orch.Print(f, b.Profile)
	return &Built{Target: t, Program: prog, Plan: f, Code: code, Lines: lines}, ds
}

// lower takes a target from its interface to its plan.
func (b *Builder) lower(t *Target, face *ir.Program) (*plan.File, diag.List) {
	f, ds := lower.Lower(face, face.Lookup(t.Label.Func), b.Ops, lower.Options{NoManualAllocDeps: b.options(t.Label).NoManualAllocDeps})
	if f != nil && !ds.HasErrors() {
		ds.Add(orch.Check(f, b.Profile)...)
	}
	return f, b.atOperands(ds)
}
