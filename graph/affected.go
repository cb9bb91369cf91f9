package graph

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Which sources a build has to look into: those that something touches that changed since the last one.

// compare finds out which of the old sources may be affected by what changed.
func (r *round) compare() {
	old, changes := r.s.old, r.s.changes
	r.affected, r.dirs, r.touched = make([]bool, len(old.Sources)), map[string]bool{}, map[state.TargetAt]bool{}
	config, ok := old.Find(ConfigName)
	r.same = ok && r.files.same(config) && !r.b.pluginsLost && old.Exe == r.s.stamp && old.Tool == r.s.tool && old.Request == r.request()
	if deps := r.b.WS.pluginDeps; deps != nil {
		for name, sum := range deps.files {
			i, was := old.Find(name)
			same := was == (sum != "") && (!was || fmt.Sprintf("%x", old.Files[i].Digest) == sum)
			if was && !same {
				r.files.changed[i] = true // it may have been built after the look at files
			}
			r.same = r.same && same
		}
	}
	r.other = make([]bool, len(old.Files))
	for _, i := range changes.Files {
		r.other[i] = !r.files.same(i)
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
			if r.loadAgain(u) ||
				slices.ContainsFunc(u.Targets, func(t state.Target) bool { return !t.Built() }) {
				r.affected[si] = true
			}
		}
	}
}

// request covers what the command line says, and the plugins that it brings: Pto.toml knows nothing of these.
func (r *round) request() state.Digest {
	digest := r.opt.Request.digest()
	if dev := r.b.WS.PluginDev; len(dev) > 0 {
		b, _ := json.Marshal(dev) // cannot fail: strings; maps are sorted
		return sha256.Sum256(append(b, digest[:]...))
	}
	return digest
}

// loadAgain reports that what loading a unit read is not what it was.
func (r *round) loadAgain(u *state.Unit) bool {
	return u.Stale || slices.ContainsFunc(u.Inputs, func(i int32) bool { return r.other[i] }) || len(r.dirs) > 0 && slices.ContainsFunc(u.Missing, r.appeared)
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

// findSources lists the sources, as they were when nothing that decides it changed.
func (r *round) findSources() ([]string, diag.List) {
	old, changes := r.s.old, r.s.changes
	if r.same && !old.Partial && !slices.ContainsFunc(changes.Dirs, r.relisted) && !slices.ContainsFunc(changes.Files, func(i int) bool {
		now := r.files.look(old.Files[i].Path)
		return now.err != nil || now.DSL != old.Files[i].DSL
	}) {
		sources := make([]string, len(old.Sources))
		for i := range old.Sources {
			sources[i] = old.Sources[i].Path
		}
		for i := range old.Dirs {
			if d := &old.Dirs[i]; d.Listed {
				if _, ok := r.files.dirs[d.Path]; !ok {
					r.files.dirs[d.Path] = dirNow{Dir: *d}
				}
			}
		}
		return sources, nil
	}
	return r.b.WS.findSources(finder{list: func(dir string) ([]string, error) { return r.files.list(r.b.WS, dir) }, isDSL: r.files.isDSL})
}

// relisted reports whether a folder that changed has other subfolders or Python files than before.
func (r *round) relisted(i int) bool {
	d := &r.s.old.Dirs[i]
	if !d.Listed { // something in it was looked for in vain: a file to import, or the folder of a pattern
		return len(r.b.WS.Config.Workspace.Sources) > 0
	}
	now, err := r.files.list(r.b.WS, d.Path)
	return err != nil || !slices.Equal(now, d.Names)
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

// unchanged adds the targets of a source for which nothing is to be done to a report, and counts the actions that this saves.
func (src *sourceNow) unchanged(ps []Pattern, rep *Report) int {
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
