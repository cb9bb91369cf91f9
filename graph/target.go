package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// The actions Passes and Generate: the outputs of a target, from the state, the cache, or its source.

// target brings the outputs of one target up to date.
func (r *round) target(src *sourceNow, u *unitNow, i int) (Outcome, diag.List) {
	t := &u.Targets[i]
	out := Outcome{Label: Label{trimPy(src.path), t.Func}}
	dir := outputDir{root: r.s.root, abs: r.s.Root, rel: out.Output()}
	key := r.targetKey(out.Label, t)
	t.Behind = false
	why := "it is new"
	switch {
	case t.Build == 0:
	case t.Key == (state.Digest{}):
		why = "its last build failed"
	case t.Key != key.Hash && t.Changed != "":
		why = "changed: " + t.Changed
	case t.Key != key.Hash:
		why = beyondSources(slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Plugins, r.b.passPlugins)))))
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
	files, ds := r.makeOutputs(src, u, i, &before)
	if files == nil || ds.HasErrors() || r.ctx.Err() != nil { // another build is about to come: leave the outputs as they are
		return out, ds
	}
	outs, written, err := dir.write(files, t.Outputs)
	t.Outputs, out.Written = outs, written
	if err != nil {
		return out, append(ds, diag.AsList(err, CodeOutput)...)
	}
	t.Key, t.Moved, t.Changed, t.Warnings = r.targetKey(out.Label, t).Hash, false, "", encodeReports(ds)
	out.OK = true
	return out, ds
}

// makeOutputs gives the files that a target should have, with the reports about it; nil when it has errors.
func (r *round) makeOutputs(src *sourceNow, u *unitNow, i int, before *state.Target) ([]pack.File, diag.List) {
	t := &u.Targets[i]
	l := Label{trimPy(src.path), t.Func}
	if b, ok := r.recall(r.ctx, r.targetKey(l, t)); ok {
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
	closureAt := r.places(src, u, i)
	if closureAt == nil || i >= len(u.targets) || u.targets[i].Label != l {
		u.Stale = true
		return nil, diag.List{diag.Errorf(CodeRead, targetSpan(t, src.path), "%s changed while it was built", src.path).WithHint("build again")}
	}
	target := u.targets[i]
	r.count("Passes", true)
	t.Ran = state.Passes
	prog, ds := r.b.runPasses(&passes.Context{Ops: r.b.Ops, Options: r.b.options(l)}, target.Closure, r.b.pipeline, nil)
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
	printed := r.b.pluginsIn(face)
	t.Plugins = r.b.pluginsIn(target.Closure, prog) // passes may leave ops of plugins that were not there before, also in kernels: tests run these
	t.Interface = r.settings(cache.NewKey("Interface"), l, printed, false).Digest("interface", cache.Digest{Hash: digest}).Sum().Hash
	m := r.sameInterface(t, before)
	r.count("Generate", m == nil)
	if m == nil {
		t.Ran |= state.Generate
		built, more := r.b.print(target, prog, face)
		if ds = joined(ds, more); built == nil || ds.HasErrors() {
			return nil, ds
		}
		m = newMade(built, t.Interface, interfaceAt)
	}
	placed, _ := m.placed(interfaceAt)
	files := m.files(placed)
	m.bind(interfaceAt, closureAt, ds)
	r.store(r.ctx, r.targetKey(l, t), m.encode())
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
	return r.settings(cache.NewKey("Generate"), l, t.Plugins, true).Digest("closure", cache.Digest{Hash: t.Closure}).Sum()
}

// settings adds to a key how a target is built, and with which plugins.
func (r *round) settings(k *cache.KeyBuilder, l Label, plugins []string, passes bool) *cache.KeyBuilder {
	k.Str("tool", r.s.tool).Str("function", l.Func).Str("options", fmt.Sprint(r.b.options(l))).Str("profile", r.b.Profile.Name).
		Str("platform", r.b.WS.Config.Build.Platform)
	r.b.addPlugins(k, plugins, passes)
	return k
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

// targetSpan gives the place of a target.
func targetSpan(t *state.Target, source string) diag.Span {
	if t.File != "" {
		source = t.File
	}
	return diag.Span{File: source, Line: t.Span[0], Col: t.Span[1], EndLine: t.Span[2], EndCol: t.Span[3]}
}
