package graph

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ptobuild/ptobuild/graph/state"
)

// What the next build will know of this one.

// remember makes the state of what the build found. partial says that there were reports that belong to no source.
func (r *round) remember(partial bool) {
	old := r.s.old
	st := &state.State{Tool: r.s.tool, Exe: r.s.stamp, Request: r.request(), Builds: old.Builds, Tests: old.Tests,
		Partial: partial || r.b.pluginsLost || len(r.b.PluginNotes) > 0}
	if len(r.report.Ran) > 0 {
		st.Builds = r.build
	}
	table := newFileTable(r)
	table.use(ConfigName)
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
	if deps := r.b.WS.pluginDeps; deps != nil && !r.rememberPlugins(deps, table, dirs) {
		st.Partial = true
	}
	st.Sources = make([]state.Source, len(r.sources))
	for i := range r.sources {
		st.Sources[i] = r.sourceState(&r.sources[i], table)
		for ui := range st.Sources[i].Units {
			for _, m := range st.Sources[i].Units[ui].Missing {
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

// rememberPlugins adds what decided which plugins there are. It reports whether the next build will see when that changes.
func (r *round) rememberPlugins(deps *pluginDeps, table *fileTable, dirs map[string]state.Dir) bool {
	known := !deps.always
	for _, name := range sortedKeys(deps.files) {
		if sum := deps.files[name]; sum == "" {
			r.watchFor(dirs, name)
		} else if i, ok := table.use(name); !ok || fmt.Sprintf("%x", table.files[i].Digest) != sum {
			known = false // it changed since it was looked at
		}
	}
	for name, stamp := range deps.dirs {
		if d, ok := dirs[name]; !ok {
			dirs[name] = state.Dir{Path: name, Stamp: stamp}
		} else if d.Stamp != stamp {
			d.Stamp = state.Unknown
			dirs[name] = d
		}
	}
	return known
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
	case src.old != nil && table.kept && r.same && !r.affected[src.at]:
		now.Units = src.old.Units
	case src.old != nil: // it was not asked for, or the build ended before
		now.Units = slices.Clone(src.old.Units)
		for ui := range now.Units {
			u := &now.Units[ui]
			inputs := u.Inputs
			u.Inputs = make([]int32, 0, len(inputs))
			for _, n := range inputs {
				at, ok := table.use(old.Files[n].Path)
				if !ok || !r.same || r.affected[src.at] || table.files[at].Digest != old.Files[n].Digest {
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
	if deps := r.b.WS.pluginDeps; deps != nil {
		for name, sum := range deps.files {
			if sum != "" {
				r.files.look(name) // one that is new makes another table
			}
		}
	}
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
