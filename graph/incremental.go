package graph

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// BuildOptions say how Build goes about it.
type BuildOptions struct {
	Request   Request
	Jobs      int                         // sources at once; 0: one per core
	KeepGoing bool                        // build the rest after an error
	Store     cache.Store                 // of results of earlier builds; nil: none
	Progress  func(done, of int, l Label) // is told of every source that is looked into, when set
	// Warm is for callers that go on with what was loaded, and will Save the state: the builder keeps what was loaded and lowered.
	Warm bool
}

// Build brings the outputs of the targets that patterns select up to date and remembers what it found. It does the least that can be right:
//
//   - A source is loaded again when a file that its loading read has other content, one that it looked for has appeared, or a setting that it
//     depends on is another.
//   - Passes run when the fingerprint of a function with all it calls, or a setting that they depend on, is another.
//   - C++ is generated when the fingerprint of what it is printed from is another, in which kernels have no bodies.
//   - An output is written when it does not hold what it should.
//
// The first three take their result from the store when it was made before.
//
// Sources are taken one after the other by each job, and nothing of one is kept but its record, so memory does not grow with their number.
func (s *Session) Build(ctx context.Context, b *Builder, ps []Pattern, opt BuildOptions) *Report {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.look(ps)
	r := &round{ctx: ctx, s: s, b: b, ps: ps, opt: opt, files: newFiles(s), report: &Report{Ran: map[string]int{}}, stop: stop, build: s.old.Builds + 1}
	r.compare()
	sources, ds := r.findSources()
	if len(ps) == 0 {
		ds.Add(b.strayTargets(sources)...)
	}
	r.sources = make([]sourceNow, len(sources))
	var affected, rest []int
	for i, path := range sources {
		src := &r.sources[i]
		src.path = path
		src.old, src.at = r.oldSource(i, path)
		switch {
		case !selects(ps, path):
		case r.unaffected(src):
			rest = append(rest, i)
		default:
			affected = append(affected, i)
		}
	}
	_ = Each(opt.Jobs, affected, func(_ int, i int) error { // reports carry the errors
		if ctx.Err() == nil {
			r.source(&r.sources[i], len(affected))
		}
		return nil
	})
	for _, i := range rest {
		r.report.Hits += r.sources[i].outcomes(ps, r.report)
	}
	r.removeGone(len(ps) == 0)
	ds.Add(r.checkArgs()...)
	ds.Add(r.checkPatterns(sources)...)
	r.report.Diagnostics.Add(ds...)
	r.remember(len(ds) > 0)
	r.report.sort()
	if !opt.Warm {
		s.Save()
	}
	return r.report
}

// round is one Build.
type round struct {
	ctx   context.Context
	s     *Session
	b     *Builder
	ps    []Pattern
	opt   BuildOptions
	files *files
	stop  context.CancelCauseFunc
	build uint64 // its number

	sources []sourceNow

	// What compare found.
	same     bool                    // nothing that sources are built with changed
	affected []bool                  // by index of the old sources
	dirs     map[string]bool         // folders that changed
	touched  map[state.TargetAt]bool // targets whose outputs changed

	mu         sync.Mutex
	retargeted bool // a target came or went
	report     *Report
	done       int
}

// sourceNow is a source as this build finds it.
type sourceNow struct {
	path  string
	old   *state.Source // nil: it was not there
	at    int           // its index
	units []*unitNow    // nil: not looked at in this build
}

// unitNow is a unit as this build finds it.
type unitNow struct {
	state.Unit
	variant *variant
	at      int            // index in the old source, when it is that unit as it was
	inputs  []string       // paths of what was read
	lost    []state.Target // of the old unit, hidden by errors
	ds      diag.List

	places  [][]diag.Span // of the targets' closures, when it is not as the state has it
	targets []*Target     // when it was loaded
	loaded  bool
}

// oldSource finds a source in the state; it is likely to be at the same place.
func (r *round) oldSource(guess int, path string) (*state.Source, int) {
	old := r.s.old.Sources
	if guess < len(old) && old[guess].Path == path {
		return &old[guess], guess
	}
	i, ok := slices.BinarySearchFunc(old, path, func(s state.Source, p string) int { return strings.Compare(s.Path, p) })
	if !ok {
		return nil, -1
	}
	return &old[i], i
}

// findSources lists the sources, as they were when nothing that decides it changed.
func (r *round) findSources() ([]string, diag.List) {
	old, changes := r.s.old, r.s.changes
	if r.same && !old.Partial && len(changes.Dirs) == 0 && !slices.ContainsFunc(changes.Files, func(i int) bool {
		now := r.files.look(old.Files[i].Path)
		return now.err != nil || now.DSL != old.Files[i].DSL
	}) {
		sources := make([]string, len(old.Sources))
		for i := range old.Sources {
			sources[i] = old.Sources[i].Path
		}
		for _, d := range old.Dirs {
			if d.Listed {
				r.files.dirs[d.Path] = dirNow{Dir: d}
			}
		}
		return sources, nil
	}
	return r.b.WS.findSources(finder{list: func(dir string) ([]string, error) { return r.files.list(r.b.WS, dir) }, isDSL: r.files.isDSL})
}

// compare finds out which of the old sources may be affected by what changed.
func (r *round) compare() {
	old, changes := r.s.old, r.s.changes
	r.affected, r.dirs, r.touched = make([]bool, len(old.Sources)), map[string]bool{}, map[state.TargetAt]bool{}
	config, ok := old.Find(ConfigName)
	r.same = ok && r.files.same(config) && old.Exe == r.s.stamp && old.Tool == r.s.tool && old.Request == r.opt.Request.digest() && len(r.b.plugins) == 0
	for _, p := range r.b.plugins {
		i, ok := old.Find(p.Path)
		r.same = r.same && ok && r.files.same(i)
	}
	other := make([]bool, len(old.Files)) // content
	for _, i := range changes.Files {
		other[i] = !r.files.same(i)
	}
	for _, i := range changes.Dirs {
		r.dirs[old.Dirs[i].Path] = true
	}
	for _, at := range changes.Outputs {
		r.touched[at] = true
		r.affected[at.Source] = true
	}
	for si := range old.Sources {
		units := old.Sources[si].Units
		if len(units) == 0 {
			r.affected[si] = true
		}
		for ui := range units {
			u := &units[ui]
			if u.Stale || slices.ContainsFunc(u.Inputs, func(i int32) bool { return other[i] }) || len(r.dirs) > 0 && slices.ContainsFunc(u.Missing, r.appeared) ||
				slices.ContainsFunc(u.Targets, func(t state.Target) bool { return t.Key == (state.Digest{}) || t.Moved }) {
				r.affected[si] = true
			}
		}
	}
}

// appeared reports whether a file that was missing is there now.
func (r *round) appeared(name string) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if dir == "." {
			dir = ""
		}
		if r.dirs[dir] {
			return r.s.root.Look(name).Stamp != state.Absent
		}
		if dir == "" || dir == "/" {
			return false
		}
	}
}

// unaffected reports that a source and its outputs are as the state has them.
func (r *round) unaffected(src *sourceNow) bool {
	return r.same && src.old != nil && !r.affected[src.at]
}

// found are the units of a source, as this build found them or the last one.
func (src *sourceNow) found() []state.Unit {
	if src.units == nil && src.old != nil {
		return src.old.Units
	}
	units := make([]state.Unit, len(src.units))
	for i, u := range src.units {
		units[i] = u.Unit
	}
	return units
}

// outcomes adds the targets of a source for which nothing is to be done to a report, and counts the actions that this saves.
func (src *sourceNow) outcomes(ps []Pattern, rep *Report) int {
	n := 0
	for ui := range src.old.Units {
		u := &src.old.Units[ui]
		n++
		rep.Diagnostics.Add(decodeReports(u.Warnings)...)
		for ti := range u.Targets {
			t := &u.Targets[ti]
			if l := (Label{trimPy(src.path), t.Func}); selectsTarget(ps, l) {
				n++
				rep.Targets = append(rep.Targets, Outcome{Label: l, OK: true})
				rep.Diagnostics.Add(decodeReports(t.Warnings)...)
			}
		}
	}
	return n
}

// source brings one source up to date.
func (r *round) source(src *sourceNow, of int) {
	var ds diag.List
	var outcomes []Outcome
	seen := map[string]*state.Target{}
	units := make([]*unitNow, 0, 1)
	for _, v := range r.b.variants(src.path) {
		u := r.unit(src, v)
		units = append(units, u)
		ds.Add(u.ds...)
		for i := range u.Targets {
			t := &u.Targets[i]
			l := Label{trimPy(src.path), t.Func}
			if !selectsTarget(r.ps, l) {
				continue
			}
			if first := seen[t.Func]; first != nil {
				d := diag.Errorf(CodeDuplicate, targetSpan(t, src.path), "two orchestration functions are named %s", t.Func).
					WithHint("the label %s must name one function; rename one of them", l).WithRelated(targetSpan(first, src.path), "the other one")
				ds.Add(d)
				u.Stale = true
				continue
			}
			seen[t.Func] = t
			if r.ctx.Err() != nil {
				u.Stale = true
				continue
			}
			out, more := r.target(src, u, i)
			outcomes = append(outcomes, out)
			ds.Add(more...)
			if !out.OK && !r.opt.KeepGoing {
				r.stop(nil)
			}
		}
		u.targets, u.places = nil, nil
	}
	if ds.HasErrors() && !r.opt.KeepGoing {
		r.stop(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	src.units = units
	r.report.Targets = append(r.report.Targets, outcomes...)
	r.report.Diagnostics.Add(ds...)
	if r.done++; r.opt.Progress != nil {
		r.opt.Progress(r.done, of, Label{File: trimPy(src.path)})
	}
}

// unit gives what a source holds when it is loaded in one way, from the state when nothing of that changed.
func (r *round) unit(src *sourceNow, v *variant) *unitNow {
	var old *state.Unit
	at := -1
	if src.old != nil {
		if i := slices.IndexFunc(src.old.Units, func(u state.Unit) bool { return u.Variant == v.label.Func }); i >= 0 {
			old, at = &src.old.Units[i], i
		}
	}
	why := "it is new"
	if old != nil {
		why = r.stale(old, v)
	}
	if why == "" {
		u := &unitNow{Unit: *old, variant: v, at: at, inputs: make([]string, len(old.Inputs)), ds: decodeReports(old.Warnings)}
		u.Targets = slices.Clone(old.Targets)
		for i, n := range old.Inputs {
			u.inputs[i] = r.s.old.Files[n].Path
		}
		r.count("Load", false)
		return u
	}
	u := r.recallUnit(src, v)
	if u == nil {
		u = &unitNow{variant: v}
		r.load(src, u)
	}
	u.at = -1
	r.count("Load", u.loaded)
	u.Why, u.Ran, u.Build = why, u.loaded, r.build
	if old == nil {
		return u
	}
	for i := range u.Targets {
		t := &u.Targets[i]
		if j := slices.IndexFunc(old.Targets, func(o state.Target) bool { return o.Func == t.Func }); j >= 0 {
			o := &old.Targets[j]
			t.Key, t.Interface, t.Warnings, t.Outputs, t.Why, t.Ran, t.Build = o.Key, o.Interface, o.Warnings, o.Outputs, o.Why, o.Ran, o.Build
			t.Moved = o.Moved || t.Places != o.Places
			if t.Closure != o.Closure {
				t.Changed = changedFuncs(t, old.Funcs, u.Funcs)
			}
		}
	}
	if u.ds.HasErrors() { // what it had may come back
		for _, o := range old.Targets {
			if !slices.ContainsFunc(u.Targets, func(t state.Target) bool { return t.Func == o.Func }) {
				u.lost = append(u.lost, o)
			}
		}
	}
	return u
}

// changedFuncs names the functions of a target's closure that are not what they were.
func changedFuncs(t *state.Target, before, now []state.Func) string {
	var names []string
	for _, f := range now {
		if (f.Name == t.Func || slices.Contains(t.Calls, f.Name)) && !slices.Contains(before, f) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (r *round) count(action string, ran bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ran {
		r.report.Ran[action]++
	} else {
		r.report.Hits++
	}
}

// recall gives the one output of an action that ran before.
func (r *round) recall(ctx context.Context, key cache.Digest) ([]byte, bool) {
	if r.opt.Store == nil {
		return nil, false
	}
	ar, err := r.opt.Store.GetAction(ctx, key)
	if err != nil || len(ar.Outputs) != 1 {
		return nil, false
	}
	b, err := r.opt.Store.Get(ctx, ar.Outputs[0].Digest)
	return b, err == nil
}

// store keeps the one output of an action. What cannot be kept is made again next time.
func (r *round) store(ctx context.Context, key cache.Digest, b []byte) {
	if r.opt.Store == nil {
		return
	}
	if d, err := r.opt.Store.Put(ctx, b); err == nil {
		_ = r.opt.Store.PutAction(ctx, key, &cache.ActionResult{Outputs: []cache.OutputFile{{Path: "result", Digest: d}}})
	}
}

// loadKey is the key of loading a unit. What else it read is in the result, which is good as long as that is unchanged.
func (r *round) loadKey(v *variant, source state.Digest) cache.Digest {
	names := slices.Sorted(maps.Keys(r.b.WS.Config.Build.Env))
	return cache.NewKey("Load").Str("source", v.source).Digest("text", cache.Digest{Hash: source}).Digest("settings", cache.Digest{Hash: r.unitKey(v, names)}).Sum()
}

// recallUnit gives a unit as it was loaded before from the same files, nil when it never was.
func (r *round) recallUnit(src *sourceNow, v *variant) *unitNow {
	source := r.files.look(src.path)
	if source.err != nil || r.opt.Store == nil {
		return nil
	}
	b, ok := r.recall(r.ctx, r.loadKey(v, source.Digest))
	if !ok {
		return nil
	}
	l, err := state.DecodeLoaded(b)
	if err != nil || l.Unit.Key != r.unitKey(v, l.Unit.Env) {
		return nil
	}
	u := &unitNow{Unit: l.Unit, variant: v, places: l.Places, ds: decodeReports(l.Unit.Warnings)}
	for _, f := range l.Inputs {
		if now := r.files.look(f.Path); now.err != nil || now.Digest != f.Digest {
			return nil
		}
		u.inputs = append(u.inputs, f.Path)
	}
	for _, m := range l.Unit.Missing {
		if r.s.root.Look(m).Stamp != state.Absent {
			return nil
		}
	}
	return u
}

// stale says why a unit has to be loaded again, "" when it has not.
func (r *round) stale(u *state.Unit, v *variant) string {
	if u.Stale {
		return "its last build did not end well"
	}
	if u.Key != r.unitKey(v, u.Env) {
		return "ptobuild itself, a plugin or a setting changed"
	}
	for _, i := range u.Inputs {
		if !r.files.same(int(i)) {
			return r.s.old.Files[i].Path + " changed"
		}
	}
	for _, m := range u.Missing {
		if r.appeared(m) {
			return m + " appeared"
		}
	}
	return ""
}

// unitKey covers all but files that decides how a source is loaded.
func (r *round) unitKey(v *variant, env []string) state.Digest {
	c := r.b.WS.Config
	k := cache.NewKey("Load").Str("tool", r.s.tool).Str("variant", v.key()).Str("roots", strings.Join(c.Workspace.Roots, "\x00")).
		Str("argv", strings.Join(c.Build.Argv, "\x00"))
	for _, name := range env {
		value, set := c.Build.Env[name]
		k.Str("env", fmt.Sprint(name, "=", value, set))
	}
	r.b.addPlugins(k)
	return k.Sum().Hash
}

// load loads a unit.
func (r *round) load(src *sourceNow, u *unitNow) {
	unstable := false
	unit, ds := r.b.loadWith(u.variant, func(name string) ([]byte, error) {
		text, now := r.files.read(name)
		unstable = unstable || now.err == nil && now.Stamp == state.Unknown && r.files.look(name).Digest != now.Digest
		return text, now.err
	})
	if r.opt.Warm {
		r.b.seed(u.variant, unit, ds)
	}
	targets, ds := r.b.pick(u.variant, unit, ds)
	u.ds = ds
	u.Variant = u.variant.label.Func
	u.Stale = ds.HasErrors() || unstable
	u.Env, u.Missing, u.Params = unit.EnvRead, unit.Missing, unit.Params
	u.Key = r.unitKey(u.variant, u.Env)
	u.inputs = slices.Clone(unit.Files)
	if !slices.Contains(u.inputs, src.path) {
		u.inputs = slices.Insert(u.inputs, 0, src.path)
	}
	if !u.Stale {
		u.Warnings = encodeReports(ds)
	}
	u.targets, u.loaded = targets, true
	u.Targets, u.places = make([]state.Target, len(targets)), make([][]diag.Span, len(targets))
	known := map[string]bool{}
	for i, t := range targets {
		digest, places, err := ir.Fingerprint(t.Closure)
		if err != nil {
			u.ds.Add(diag.AsList(err, CodeOutput)...)
			u.Stale = true
		}
		u.places[i] = places
		st := &u.Targets[i]
		st.Func, st.Closure, st.Places = t.Label.Func, digest, hashPlaces(places)
		st.Span = [4]int32{t.Pos.Line, t.Pos.Col, t.Pos.EndLine, t.Pos.EndCol}
		if t.Pos.File != src.path {
			st.File = t.Pos.File
		}
		for _, f := range t.Closure.Funcs {
			if f.Name != t.Label.Func {
				st.Calls = append(st.Calls, f.Name)
			}
			if f.External != nil {
				st.External = append(st.External, f.External.Source)
			}
			if !known[f.Name] {
				known[f.Name] = true
				h := ir.HashWithNames(f)
				u.Funcs = append(u.Funcs, state.Func{Name: f.Name, Hash: binary.LittleEndian.Uint64(h[:])})
			}
		}
	}
	if u.Stale || r.opt.Store == nil {
		return
	}
	l := state.Loaded{Unit: u.Unit, Places: u.places}
	for _, name := range u.inputs {
		now := r.files.look(name)
		if now.err != nil {
			return
		}
		now.Path = name
		l.Inputs = append(l.Inputs, now.File)
	}
	r.store(r.ctx, r.loadKey(u.variant, r.files.look(src.path).Digest), l.Encode())
}

func hashPlaces(places []diag.Span) uint64 {
	b := make([]byte, 0, 16*len(places))
	file := ""
	for _, p := range places {
		if p.File != file {
			file = p.File
			b = append(append(b, file...), 0)
		}
		for _, n := range [...]int32{p.Line, p.Col, p.EndLine, p.EndCol} {
			b = binary.AppendVarint(b, int64(n))
		}
	}
	h := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(h[:])
}

// target brings the outputs of one target up to date.
func (r *round) target(src *sourceNow, u *unitNow, i int) (Outcome, diag.List) {
	t := &u.Targets[i]
	out := Outcome{Label: Label{trimPy(src.path), t.Func}}
	dir := outputDir{root: r.s.root, abs: r.s.Root, rel: out.Output()}
	key := r.targetKey(out.Label, t)
	why := "it is new"
	switch {
	case t.Build == 0:
	case t.Key == (state.Digest{}):
		why = "its last build failed"
	case t.Key != key.Hash && t.Changed != "":
		why = "changed: " + t.Changed
	case t.Key != key.Hash:
		why = "ptobuild itself, a plugin or a setting changed"
	case t.Moved:
		why = "it moved in its source"
	default:
		now, ok := t.Outputs, true
		if u.at < 0 || r.touched[state.TargetAt{Source: src.at, Unit: u.at, Target: i}] {
			now, ok = dir.check(t.Outputs)
		}
		if ok {
			t.Outputs = now
			r.count("Generate", false)
			out.OK = true
			return out, decodeReports(t.Warnings)
		}
		why = "an output was changed or removed"
	}
	if t.Build == 0 {
		r.mu.Lock()
		r.retargeted = true
		r.mu.Unlock()
	}
	before := *t
	t.Key, t.Warnings, t.Why, t.Ran, t.Build = state.Digest{}, nil, why, 0, r.build
	files, ds := r.makeOutputs(src, u, i, key, &before)
	if files == nil || ds.HasErrors() || r.ctx.Err() != nil { // another build is about to come: leave the outputs as they are
		return out, ds
	}
	outs, written, err := dir.write(files, t.Outputs)
	t.Outputs, out.Written = outs, written
	if err != nil {
		return out, append(ds, diag.AsList(err, CodeOutput)...)
	}
	t.Key, t.Moved, t.Changed, t.Warnings = key.Hash, false, "", encodeReports(ds)
	out.OK = true
	return out, ds
}

// makeOutputs gives the files that a target should have, with the reports about it; nil when it has errors.
func (r *round) makeOutputs(src *sourceNow, u *unitNow, i int, key cache.Digest, before *state.Target) ([]pack.File, diag.List) {
	t := &u.Targets[i]
	if b, ok := r.recall(r.ctx, key); ok {
		if m, err := decodeMade(b); err == nil {
			if files, ds, ok := m.outputs(r.places(src, u, i)); ok {
				t.Interface = m.Interface
				r.count("Generate", false)
				return files, ds
			}
		}
	}
	if !u.loaded {
		again := &unitNow{variant: u.variant}
		r.load(src, again)
		r.count("Load", true)
		u.targets, u.places, u.loaded = again.targets, again.places, true
		for n := range again.Targets {
			if n < len(u.Targets) && again.Targets[n].Closure != u.Targets[n].Closure {
				u.targets = nil
			}
		}
	}
	l := Label{trimPy(src.path), t.Func}
	closureAt := r.places(src, u, i)
	if closureAt == nil || i >= len(u.targets) || u.targets[i].Label != l {
		u.Stale = true
		return nil, diag.List{diag.Errorf(CodeRead, targetSpan(t, src.path), "%s changed while it was built", src.path).WithHint("build again")}
	}
	target := u.targets[i]
	r.count("Passes", true)
	t.Ran = state.Passes
	prog, ds := passes.Run(&passes.Context{Ops: r.b.Ops, Options: r.b.options(l)}, target.Closure, r.b.pipeline, passes.Hooks{})
	if r.opt.Warm {
		r.b.seedPasses(target, prog, ds)
	}
	if prog == nil || ds.HasErrors() {
		return nil, ds
	}
	if prog.Lookup(t.Func) == nil {
		return nil, diag.List{diag.Errorf(CodeNoMatch, target.Pos, "function %s is gone after the passes", t.Func)}
	}
	face := lower.Interface(prog, t.Func)
	digest, interfaceAt, err := ir.Fingerprint(face)
	if err != nil {
		return nil, append(ds, diag.AsList(err, CodeOutput)...)
	}
	t.Interface = r.settings(cache.NewKey("Interface"), l).Digest("interface", cache.Digest{Hash: digest}).Sum().Hash
	m := r.sameInterface(t, before)
	r.count("Generate", m == nil)
	if m == nil {
		t.Ran |= state.Generate
		built, more := r.b.print(target, prog, face)
		if ds = append(ds, more...); built == nil || ds.HasErrors() {
			return nil, ds
		}
		m = newMade(built, t.Interface, interfaceAt)
	}
	placed, _ := m.placed(interfaceAt)
	files := m.files(placed)
	m.bind(interfaceAt, closureAt, ds)
	r.store(r.ctx, key, m.encode())
	return files, ds
}

// sameInterface gives what was made of a target before, when its C++ cannot be another now.
func (r *round) sameInterface(t, before *state.Target) *made {
	if t.Interface != before.Interface || before.Key == (state.Digest{}) {
		return nil
	}
	b, ok := r.recall(r.ctx, cache.Digest{Hash: before.Key})
	if !ok {
		return nil
	}
	if m, err := decodeMade(b); err == nil && m.MapAt != nil && len(m.Reports) == 0 {
		return m
	}
	return nil
}

// places gives where the closure of a target stands.
func (r *round) places(src *sourceNow, u *unitNow, i int) []diag.Span {
	if u.places == nil {
		again := r.recallUnit(src, u.variant)
		if again == nil || len(again.Targets) != len(u.Targets) {
			again = &unitNow{variant: u.variant}
			r.load(src, again)
			r.count("Load", true)
		}
		u.places, u.targets, u.loaded = again.places, again.targets, again.loaded
	}
	if i < len(u.places) && hashPlaces(u.places[i]) == u.Targets[i].Places {
		return u.places[i]
	}
	return nil // its source changed since it was looked at: nothing fits
}

// targetKey covers everything that decides the outputs of a target but where it stands.
func (r *round) targetKey(l Label, t *state.Target) cache.Digest {
	return r.settings(cache.NewKey("Generate"), l).Digest("closure", cache.Digest{Hash: t.Closure}).Sum()
}

// settings adds to a key how a target is built.
func (r *round) settings(k *cache.KeyBuilder, l Label) *cache.KeyBuilder {
	k.Str("tool", r.s.tool).Str("function", l.Func).Str("options", fmt.Sprint(r.b.options(l))).Str("profile", r.b.Profile.Name).
		Str("platform", r.b.WS.Config.Build.Platform)
	r.b.addPlugins(k)
	return k
}

// removeGone removes the outputs of targets that are no more. all says that every source was looked at.
func (r *round) removeGone(all bool) {
	same := 0
	for i := range r.sources {
		src := &r.sources[i]
		if src.old != nil {
			same++
		}
		if src.old == nil || src.units == nil || slices.ContainsFunc(src.units, func(u *unitNow) bool { return u.Stale }) {
			continue
		}
		var funcs []string
		for _, u := range src.units {
			for _, t := range u.Targets {
				funcs = append(funcs, t.Func)
			}
		}
		r.removeTargets(src.old, funcs)
	}
	if !all || same == len(r.s.old.Sources) {
		return
	}
	now := map[string]bool{}
	for i := range r.sources {
		now[r.sources[i].path] = true
	}
	for i := range r.s.old.Sources {
		if src := &r.s.old.Sources[i]; !now[src.Path] {
			r.removeTargets(src, nil)
		}
	}
}

func (r *round) removeTargets(src *state.Source, but []string) {
	for _, u := range src.Units {
		for _, t := range u.Targets {
			if !slices.Contains(but, t.Func) {
				r.retargeted = true
				o := Outcome{Label: Label{trimPy(src.Path), t.Func}}
				outputDir{root: r.s.root, abs: r.s.Root, rel: o.Output()}.remove(t.Outputs)
			}
		}
	}
}

// checkArgs reports arguments of the command line that no entry of the sources looked at takes.
func (r *round) checkArgs() diag.List {
	if len(r.b.Args) == 0 {
		return nil
	}
	var params, sources []string
	for i := range r.sources {
		src := &r.sources[i]
		if !selects(r.ps, src.path) {
			continue
		}
		sources = append(sources, src.path)
		for _, u := range src.found() {
			l := Label{trimPy(src.path), u.Variant}
			if u.Stale || r.b.Factory != "" || u.Variant != "" && r.b.WS.Config.Targets[l.String()].Factory != "" {
				return nil // some parameters are not known
			}
			params = append(params, u.Params...)
		}
	}
	return unknownArgs(r.b.Args, params, sources)
}

// checkPatterns reports patterns that select nothing.
func (r *round) checkPatterns(sources []string) diag.List {
	var ds diag.List
	if len(r.ps) == 0 || r.report.Diagnostics.HasErrors() {
		return nil
	}
	for _, p := range r.ps {
		if slices.ContainsFunc(r.report.Targets, func(o Outcome) bool { return p.Match(o.Label) }) || r.b.matchesHandwritten(p) {
			continue
		}
		var all []*Target
		for i := range r.sources {
			src := &r.sources[i]
			for _, u := range src.found() {
				for _, t := range u.Targets {
					all = append(all, &Target{Label: Label{trimPy(src.path), t.Func}})
				}
			}
		}
		ds.Add(noMatch(p, all, sources))
	}
	return ds
}

// remember makes the state of what the build found. partial says that there were reports that belong to no source.
func (r *round) remember(partial bool) {
	old := r.s.old
	st := &state.State{Tool: r.s.tool, Exe: r.s.stamp, Request: r.opt.Request.digest(), Builds: old.Builds,
		Partial: partial || len(r.b.plugins) > 0} // plugins may have to be built first
	if len(r.report.Ran) > 0 {
		st.Builds = r.build
	}
	table := newFileTable(r)
	table.use(ConfigName)
	for _, p := range r.b.plugins {
		table.use(p.Path)
	}
	dirs := map[string]state.Dir{}
	for name, d := range r.files.dirs {
		if d.err != nil {
			r.watchFor(dirs, name)
		} else {
			dirs[name] = d.Dir
			if len(r.b.WS.Config.Workspace.Sources) == 0 && (!table.kept || r.dirs[name]) {
				for _, n := range d.Names { // all are read to see whether they are sources
					if !strings.HasSuffix(n, "/") {
						table.use(path.Join(name, n))
					}
				}
			}
		}
	}
	st.Sources = make([]state.Source, len(r.sources))
	for i := range r.sources {
		st.Sources[i] = r.sourceState(&r.sources[i], table)
		for _, u := range st.Sources[i].Units {
			for _, m := range u.Missing {
				r.watchFor(dirs, m)
			}
		}
	}
	if ds := r.writeCommands(st.Sources); ds != nil {
		r.report.Diagnostics.Add(ds...)
		st.Partial = true
	} else if i, ok := table.use(commandsFile); ok && table.kept {
		table.files[i] = r.files.look(commandsFile).File
		table.files[i].Path = commandsFile
	}
	st.Files = table.files
	if !table.kept {
		sortFiles(st)
	}
	for _, name := range sortedKeys(dirs) {
		st.Dirs = append(st.Dirs, dirs[name])
	}
	r.s.old, r.s.changes = st, &state.Changes{}
}

// sourceState is what is remembered of a source.
func (r *round) sourceState(src *sourceNow, table *fileTable) state.Source {
	now := state.Source{Path: src.path}
	old := r.s.old
	switch {
	case src.units != nil:
		for _, u := range src.units {
			u.Inputs = make([]int32, 0, len(u.inputs))
			for _, name := range u.inputs {
				if n, ok := table.use(name); ok {
					u.Inputs = append(u.Inputs, n)
				} else {
					u.Stale = true
				}
			}
			u.Targets = append(u.Targets, u.lost...)
			now.Units = append(now.Units, u.Unit)
		}
	case src.old != nil && table.kept && !r.affected[src.at]:
		now.Units = src.old.Units
	case src.old != nil: // it was not asked for
		now.Units = slices.Clone(src.old.Units)
		for ui := range now.Units {
			u := &now.Units[ui]
			inputs := u.Inputs
			u.Inputs = make([]int32, 0, len(inputs))
			for _, n := range inputs {
				at, ok := table.use(old.Files[n].Path)
				if !ok || r.affected[src.at] || table.files[at].Digest != old.Files[n].Digest {
					u.Stale = true
				}
				if ok {
					u.Inputs = append(u.Inputs, at)
				}
			}
		}
	}
	return now
}

// A fileTable collects the files of a new state. As long as none goes and none comes it is the old one's, with the same indexes.
type fileTable struct {
	r     *round
	files []state.File
	kept  bool
	index map[string]int32 // when it is not kept
}

func newFileTable(r *round) *fileTable {
	old := r.s.old
	t := &fileTable{r: r, kept: len(old.Files) > 0, index: map[string]int32{}}
	for name, now := range r.files.now {
		if _, ok := old.Find(name); ok == (now.err != nil) {
			t.kept = false
		}
	}
	if _, ok := old.Find(commandsFile); !ok {
		t.kept = false
	}
	if t.kept {
		t.files = slices.Clone(old.Files)
		for name, now := range r.files.now {
			i, ok := old.Find(name)
			if ok {
				t.files[i] = now.File
				t.files[i].Path = name
			}
		}
	}
	return t
}

// use gives the index of a file; none when it cannot be read.
func (t *fileTable) use(name string) (int32, bool) {
	if t.kept {
		i, ok := t.r.s.old.Find(name)
		return int32(i), ok
	}
	if i, ok := t.index[name]; ok {
		return i, true
	}
	now := t.r.files.look(name)
	if now.err != nil {
		return 0, false
	}
	now.Path = name
	i := int32(len(t.files))
	t.index[name] = i
	t.files = append(t.files, now.File)
	return i, true
}

// watchFor adds the folder in whose listing a missing file would appear: the nearest one that is there.
func (r *round) watchFor(dirs map[string]state.Dir, missing string) {
	for dir := path.Dir(missing); ; dir = path.Dir(dir) {
		name := dir
		if name == "." {
			name = ""
		}
		if _, ok := dirs[name]; ok {
			return
		}
		start := time.Now()
		if info := r.s.root.Look(dir); info.Stamp != state.Absent || dir == "." || dir == "/" {
			dirs[name] = state.Dir{Path: name, Stamp: info.Settled(start)}
			return
		}
	}
}

// sortFiles puts the files of a state in order of their paths.
func sortFiles(st *state.State) {
	if slices.IsSortedFunc(st.Files, compareFiles) {
		return
	}
	order := make([]int32, len(st.Files))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareFiles(st.Files[a], st.Files[b]) })
	files, at := make([]state.File, len(order)), make([]int32, len(order))
	for i, n := range order {
		files[i], at[n] = st.Files[n], int32(i)
	}
	st.Files = files
	for _, src := range st.Sources {
		for _, u := range src.Units {
			for i, n := range u.Inputs {
				u.Inputs[i] = at[n]
			}
		}
	}
}

func compareFiles(a, b state.File) int { return strings.Compare(a.Path, b.Path) }

// targetSpan gives the place of a target.
func targetSpan(t *state.Target, source string) diag.Span {
	if t.File != "" {
		source = t.File
	}
	return diag.Span{File: source, Line: t.Span[0], Col: t.Span[1], EndLine: t.Span[2], EndCol: t.Span[3]}
}
