package graph

import (
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph/state"
)

// What is remembered of tests: which content the files that they read had, so that large ones are not hashed each time, and what decided each verdict, so that
// explain can tell why a test ran.

// tested is the part of a session about tests.
type tested struct {
	mu      sync.Mutex
	files   map[string]state.File // by path; nil: not looked at yet
	changed bool                  // since the state was written
}

// dataFile gives the content of a file that a test reads, as a digest.
func (s *Session) dataFile(name string) (state.File, error) {
	old := s.read(nil)
	s.tested.mu.Lock()
	if s.tested.files == nil {
		s.tested.files = map[string]state.File{}
		for i := range old.Tests {
			for _, f := range old.Tests[i].Files {
				s.tested.files[f.Path] = f
			}
		}
	}
	f, ok := s.tested.files[name]
	s.tested.mu.Unlock()
	if ok && f.Stamp == s.root.Look(name).Stamp {
		return f, nil
	}
	_, now := readStamped(absolute(s.Root, name))
	if now.err != nil {
		return now.File, now.err
	}
	now.Path = name
	s.tested.mu.Lock()
	defer s.tested.mu.Unlock()
	s.tested.files[name] = now.File
	return now.File, nil
}

// testInputs is what decides the verdict of a test.
type testInputs struct {
	target, settings state.Digest
	files            []state.File
	build            uint64 // the number of that which made the target
}

func (in *testInputs) key() cache.Digest {
	k := cache.NewKey("Verdict").Digest("target", cache.Digest{Hash: in.target}).Digest("settings", cache.Digest{Hash: in.settings})
	for i := range in.files {
		k.Str("file", in.files[i].Path).Digest("content", cache.Digest{Hash: in.files[i].Digest})
	}
	return k.Sum()
}

// sameFiles reports whether two lists of files have the same content.
func sameFiles(a, b []state.File) bool {
	return slices.EqualFunc(a, b, func(x, y state.File) bool { return x.Path == y.Path && x.Digest == y.Digest })
}

// noteTest remembers how a test came to its verdict. in is all that decides it, nil when that is not known.
func (s *Session) noteTest(v *Verdict, in *testInputs, rerun bool) {
	old := s.read(nil)
	now := state.Test{Name: v.Test, Compiled: v.Compiled, Target: v.Target, Passed: v.Passed, Ran: !v.Cached}
	build := old.Builds
	if in != nil {
		now.Key, now.Settings, now.Files = in.target, in.settings, in.files
		build = max(build, in.build)
	}
	s.tested.mu.Lock()
	defer s.tested.mu.Unlock()
	i, ok := old.FindTest(v.Test, v.Compiled)
	var was *state.Test
	if ok {
		was = &old.Tests[i]
	}
	now.Why, now.Build = testWhy(was, &now, rerun), build
	if now.Why == "" { // its verdict was the last one's
		if slices.Equal(was.Files, now.Files) {
			return
		}
		now.Why, now.Ran, now.Build = was.Why, was.Ran, was.Build
	}
	tests := slices.Clone(old.Tests)
	if ok {
		tests[i] = now
	} else {
		tests = slices.Insert(tests, i, now)
	}
	old.Tests, s.tested.changed = tests, true
}

// testWhy says why the verdict of a test had to be found again, "" when it had not.
func testWhy(was, now *state.Test, rerun bool) string {
	switch {
	case was == nil || was.Target != now.Target:
		return "it is new"
	case rerun:
		return "it was asked for with --rerun"
	case !was.Passed:
		return "it failed the last time"
	case was.Key != now.Key:
		return "its target changed"
	case was.Settings != now.Settings:
		return "ptobuild itself, the compiler, or a setting changed"
	case !sameFiles(was.Files, now.Files):
		for _, f := range now.Files {
			if i := slices.IndexFunc(was.Files, func(o state.File) bool { return o.Path == f.Path }); i < 0 || was.Files[i].Digest != f.Digest {
				return f.Path + " changed"
			}
		}
		return "it reads other files"
	case now.Ran && now.Key == (state.Digest{}):
		return "what decides its verdict is not known without a build"
	case now.Ran:
		return "its verdict was no longer in the cache"
	}
	return ""
}

// SaveTests writes the state when tests came to other verdicts, or read other files, than it says.
func (s *Session) SaveTests() {
	if s.tested.changed {
		s.Save()
	}
}
