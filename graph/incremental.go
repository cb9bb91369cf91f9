package graph

import (
	"context"
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
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
	s.read(ps)
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
	_ = Each(b.workers(opt.Jobs), affected, func(_ int, i int) error { // reports carry the errors
		if ctx.Err() == nil {
			r.source(&r.sources[i], len(affected))
		}
		return nil
	})
	r.report.Targets = make([]Outcome, 0, len(affected)+len(rest))
	for i := range r.sources { // in order
		if src := &r.sources[i]; src.units != nil {
			r.report.Targets = append(r.report.Targets, src.outcomes...)
		} else if len(rest) > 0 && rest[0] == i {
			r.report.Hits += src.unchanged(ps, r.report)
			rest = rest[1:]
		}
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
	other    []bool                  // has other content, by index of the old files
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

	outcomes []Outcome // of the targets in them
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
				t.Behind = t.Key != r.targetKey(l, t).Hash
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
		u.targets, u.places, u.variant, u.ds = nil, nil, nil, nil // a large tree has many
	}
	if ds.HasErrors() && !r.opt.KeepGoing {
		r.stop(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	src.units, src.outcomes = units, outcomes
	r.report.Diagnostics.Add(ds...)
	if r.done++; r.opt.Progress != nil {
		r.opt.Progress(r.done, of, Label{File: trimPy(src.path)})
	}
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
