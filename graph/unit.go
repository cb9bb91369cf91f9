package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// The action Load: what a source holds, from the state, the cache, or the front end.

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
			} else {
				t.Plugins = o.Plugins
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

// stale says why a unit has to be loaded again, "" when it has not.
func (r *round) stale(u *state.Unit, v *variant) string {
	if u.Stale {
		return "its last build did not end well, or was not asked for it"
	}
	if u.Key != r.unitKey(v, u.Env, u.Plugins) {
		return beyondSources(u.Plugins)
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

// beyondSources says what else may have changed for something that uses plugins.
func beyondSources(plugins []string) string {
	switch len(plugins) {
	case 0:
		return "ptobuild itself or a setting changed"
	case 1:
		return "plugin " + plugins[0] + ", ptobuild itself or a setting changed"
	}
	return "one of the plugins " + strings.Join(plugins, ", ") + ", ptobuild itself or a setting changed"
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
	if err != nil || l.Unit.Key != r.unitKey(v, l.Unit.Env, l.Unit.Plugins) {
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
	u.Env = unit.EnvRead
	u.Plugins = r.b.pluginsIn(unit.Programs...)
	u.Key = r.unitKey(u.variant, u.Env, u.Plugins)
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
	own := ownNames{}
	u.Env, u.Missing, u.Params = own.all(unit.EnvRead), own.all(unit.Missing), own.all(unit.Params)
	for i, t := range targets {
		digest, places, err := ir.Fingerprint(t.Closure)
		if err != nil {
			u.ds.Add(diag.AsList(err, CodeOutput)...)
			u.Stale = true
		}
		u.places[i] = places
		st := &u.Targets[i]
		st.Func, st.Closure, st.Places, st.Plugins = own.name(t.Label.Func), digest, hashPlaces(places), r.b.pluginsIn(t.Closure)
		st.Span = [4]int32{t.Pos.Line, t.Pos.Col, t.Pos.EndLine, t.Pos.EndCol}
		if t.Pos.File != src.path {
			st.File = t.Pos.File
		}
		for _, f := range t.Closure.Funcs {
			if f.Name != t.Label.Func {
				st.Calls = append(st.Calls, own.name(f.Name))
			}
			if f.External != nil {
				st.External = append(st.External, own.name(f.External.Source))
			}
			if !known[f.Name] {
				known[own.name(f.Name)] = true
				h := ir.HashWithNames(f)
				u.Funcs = append(u.Funcs, state.Func{Name: own.name(f.Name), Hash: binary.LittleEndian.Uint64(h[:])})
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

// loadKey is the key of loading a unit. What else it read is in the result, which is good as long as that is unchanged.
func (r *round) loadKey(v *variant, source state.Digest) cache.Digest {
	names := slices.Sorted(maps.Keys(r.b.WS.Config.Build.Env))
	return cache.NewKey("Load").Str("source", v.source).Digest("text", cache.Digest{Hash: source}).Digest("settings", cache.Digest{Hash: r.unitKey(v, names, nil)}).Sum()
}

// unitKey covers all but files that decides how a source is loaded.
func (r *round) unitKey(v *variant, env, plugins []string) state.Digest {
	c := r.b.WS.Config
	k := cache.NewKey("Load").Str("tool", r.s.tool).Str("variant", v.key()).Str("roots", strings.Join(c.Workspace.Roots, "\x00")).
		Str("argv", strings.Join(c.Build.Argv, "\x00"))
	for _, name := range env {
		value, set := c.Build.Env[name]
		k.Str("env", fmt.Sprint(name, "=", value, set))
	}
	r.b.addPlugins(k, plugins, false)
	return k.Sum().Hash
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

// ownNames gives names that are no part of the text that they were read from, which would be kept for their sake.
type ownNames map[string]string

func (o ownNames) name(s string) string {
	own, ok := o[s]
	if !ok {
		own = strings.Clone(s)
		o[own] = own
	}
	return own
}

func (o ownNames) all(names []string) []string {
	var out []string
	for _, s := range names {
		out = append(out, o.name(s))
	}
	return out
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
