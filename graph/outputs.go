package graph

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ptobuild/ptobuild/codegen/pack"
	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// outputDir is where outputs of one target go.
type outputDir struct {
	root *state.Root
	abs  string // of the workspace
	rel  string // from its root
}

// write puts files below the folder and removes what else is there: files of an earlier build that are no longer made, and what a killed build left. A file
// whose content is right is not touched. old is what the folder was last known to hold. It returns what it holds now, and the paths written, from it.
func (d outputDir) write(files []pack.File, old []state.Output) (now []state.Output, written []string, err error) {
	fresh := d.root.Look(d.rel).Stamp == state.Absent
	now = make([]state.Output, 0, len(files))
	for _, f := range files {
		name := path.Join(d.rel, f.Path)
		o := state.Output{Path: f.Path, Digest: sha256.Sum256(f.Content)}
		if i := d.root.Look(name); i.Stamp != state.Absent {
			for _, was := range old {
				if was.Path == o.Path && was.Digest == o.Digest && was.Stamp == i.Stamp {
					o.Stamp = i.Stamp
				}
			}
			if o.Stamp == state.Unknown {
				o.Stamp = d.holds(name, f.Content)
			}
		}
		if o.Stamp == state.Unknown {
			if o.Stamp, err = state.ReplaceFrom(filepath.Join(d.abs, StateDir), filepath.Join(d.abs, filepath.FromSlash(name)), f.Content); err != nil {
				return now, written, diag.Errorf(CodeOutput, diag.Span{File: name}, "cannot be written: %v", unwrapPath(err))
			}
			written = append(written, f.Path)
		}
		now = append(now, o)
	}
	if !fresh {
		if err := d.clean(now); err != nil {
			return now, written, diag.Errorf(CodeOutput, diag.Span{File: d.rel}, "cannot be cleaned: %v", unwrapPath(err))
		}
	}
	return now, written, nil
}

// holds gives the stamp of a file that has the content already, else Unknown.
func (d outputDir) holds(name string, content []byte) state.Stamp {
	f, err := os.Open(filepath.Join(d.abs, filepath.FromSlash(name)))
	if err != nil {
		return state.Unknown
	}
	defer f.Close()
	info := state.LookFile(f.Fd())
	if info.Size != int64(len(content)) {
		return state.Unknown
	}
	b, err := os.ReadFile(f.Name())
	if err != nil || !bytes.Equal(b, content) {
		return state.Unknown
	}
	return info.Stamp
}

// check looks at outputs whose stamps are not the recorded ones. It reports whether all of them hold what they should after all, with their new stamps.
func (d outputDir) check(outs []state.Output) ([]state.Output, bool) {
	now := make([]state.Output, len(outs))
	for i, o := range outs {
		now[i] = o
		name := path.Join(d.rel, o.Path)
		info := d.root.Look(name)
		if info.Stamp == o.Stamp {
			continue
		}
		b, err := os.ReadFile(filepath.Join(d.abs, filepath.FromSlash(name)))
		if err != nil || sha256.Sum256(b) != o.Digest {
			return outs, false
		}
		now[i].Stamp = info.Stamp
	}
	return now, true
}

// clean removes the files below the folder that are no outputs.
func (d outputDir) clean(outs []state.Output) error {
	keep := map[string]bool{}
	for _, o := range outs {
		keep[filepath.Join(d.abs, filepath.FromSlash(path.Join(d.rel, o.Path)))] = true
	}
	return filepath.WalkDir(filepath.Join(d.abs, filepath.FromSlash(d.rel)), func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || e.IsDir() || keep[p]:
			return err
		}
		return os.Remove(p)
	})
}

// remove takes away the outputs of a target that is no more, and the folders that are empty then.
func (d outputDir) remove(outs []state.Output) {
	for _, o := range outs {
		name := path.Join(d.rel, o.Path)
		_ = os.Remove(filepath.Join(d.abs, filepath.FromSlash(name))) // what cannot be removed stays
		for dir := path.Dir(name); dir != OutDir && dir != "."; dir = path.Dir(dir) {
			if os.Remove(filepath.Join(d.abs, filepath.FromSlash(dir))) != nil {
				break
			}
		}
	}
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
