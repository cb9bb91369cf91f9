package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/graph/state"
)

// Step is one action of a target: whether it ran when the target was last brought up to date, and why.
type Step struct {
	Action string `json:"action"` // Load, Passes, Generate, "Test NAME"
	Ran    bool   `json:"ran"`    // else its result was known
	Why    string `json:"why"`
	Build  uint64 `json:"build"` // in which build
}

// Explanation tells how a target came to be what it is.
type Explanation struct {
	Target string   `json:"target"`
	Builds uint64   `json:"builds"` // of this workspace so far that had something to do
	Inputs []string `json:"inputs"` // files that loading it read
	Steps  []Step   `json:"steps"`
	Now    []string `json:"now"` // what changed since, so that the next build has something to do
}

// Explain tells of every target that patterns select what was done last and why, from what earlier builds left. It builds nothing.
func (s *Session) Explain(ps []Pattern) []Explanation {
	old := s.read(ps)
	changed := map[int]bool{}
	for _, i := range s.changes.Files {
		changed[i] = true
	}
	lost := map[state.TargetAt]bool{}
	for _, at := range s.changes.Outputs {
		lost[at] = true
	}
	out := []Explanation{}
	for si := range old.Sources {
		src := &old.Sources[si]
		for ui := range src.Units {
			u := &src.Units[ui]
			for ti := range u.Targets {
				t := &u.Targets[ti]
				l := Label{trimPy(src.Path), t.Func}
				if !selectsTarget(ps, l) {
					continue
				}
				e := Explanation{Target: l.String(), Builds: max(old.Builds, u.Build, t.Build), Now: []string{}}
				for _, i := range u.Inputs {
					f := &old.Files[i]
					e.Inputs = append(e.Inputs, f.Path)
					if !changed[int(i)] {
						continue
					}
					if text, now := readStamped(absolute(s.Root, f.Path)); now.err != nil {
						e.Now = append(e.Now, f.Path+" cannot be read any more")
					} else if now.Digest != f.Digest {
						e.Now = append(e.Now, fmt.Sprintf("%s changed: its SHA-256 was %.6x…, now it is %.6x… (%d bytes)", f.Path, f.Digest, now.Digest, len(text)))
					}
				}
				if u.Stale {
					e.Now = append(e.Now, "its source has to be loaded again: the last build of it did not end well, or was not asked for it")
				}
				if t.Behind {
					e.Now = append(e.Now, "it or a setting changed, and the last build was not asked for it")
				}
				if lost[state.TargetAt{Source: si, Unit: ui, Target: ti}] {
					e.Now = append(e.Now, "an output was changed or removed")
				}
				e.Steps = []Step{
					{"Load", u.Ran, u.Why, u.Build},
					{"Passes", t.Ran&state.Passes != 0, t.Why, t.Build},
					{"Generate", t.Ran&state.Generate != 0, generateWhy(t), t.Build},
				}
				s.explainTests(&e)
				out = append(out, e)
			}
		}
	}
	return out
}

// explainTests adds what is known of the tests of a target.
func (s *Session) explainTests(e *Explanation) {
	for i := range s.old.Tests {
		t := &s.old.Tests[i]
		if t.Target != e.Target {
			continue
		}
		action := "Test " + t.Name
		if !t.Compiled {
			action += " (plan)"
		}
		e.Steps = append(e.Steps, Step{action, t.Ran, t.Why, t.Build})
		for _, f := range t.Files {
			if now, err := s.dataFile(f.Path); err != nil {
				e.Now = append(e.Now, f.Path+" cannot be read any more")
			} else if now.Digest != f.Digest {
				e.Now = append(e.Now, fmt.Sprintf("%s changed: its SHA-256 was %.6x…, now it is %.6x…", f.Path, f.Digest, now.Digest))
			}
		}
	}
	slices.Sort(e.Now)
	e.Now = slices.Compact(e.Now)
}

// generateWhy says why C++ was generated, or was not.
func generateWhy(t *state.Target) string {
	switch {
	case t.Key == (state.Digest{}):
		return "the last build of it had errors"
	case t.Ran&state.Passes != 0 && t.Ran&state.Generate == 0:
		const same = "what the C++ depends on stayed the same"
		if strings.HasPrefix(t.Why, "changed: ") {
			return same + ": kernels changed only inside"
		}
		return same
	}
	return t.Why
}
