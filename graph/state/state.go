// Package state remembers between builds what a workspace was built from: one file with the stamps and digests of everything that was read and written, and
// with what each source was found to hold. A build that finds nothing changed reads the first part of that file, the Glance, looks at the files it names, and is
// done.
//
// Contract: the file is replaced atomically and carries checksums, so it is the old one or the new one; one that is damaged, cut short, or of another
// version reads as none at all. It is never trusted further than the stamps in it: files that changed since are hashed again, and everything that is
// remembered here can be made again. So two builds at once, or a build that was killed, cost work but no truth.
package state

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Digest is a SHA-256.
type Digest = [sha256.Size]byte

// State is everything that is remembered. Paths are slash-separated from the workspace root, or absolute.
type State struct {
	Tool    string // identity of the binary that wrote it
	Exe     Stamp  // of that binary
	Request Digest // of what the command line said about how sources are loaded and built
	Builds  uint64 // builds so far that ran an action
	// Partial is set when there is more to tell than the sources have, such as a target that is configured but has no source.
	Partial bool

	Files   []File   // that were read, by path
	Dirs    []Dir    // whose listings decided what was read, by path
	Sources []Source // in order
	Tests   []Test   // by name and engine
}

// File is a file that was read.
type File struct {
	Path   string
	Stamp  Stamp // Unknown: look at its content
	Digest Digest
	DSL    bool // a Python file that uses the DSL
}

// Dir is a folder that was listed, or in which a file was looked for in vain.
type Dir struct {
	Path   string // "" is the root
	Stamp  Stamp
	Listed bool
	Names  []string // when listed: subfolders, which end in a slash, and Python files
}

// Source is a source file of the workspace.
type Source struct {
	Path  string
	Units []Unit // one for each way to load it; none when it was not built, or in vain
}

// Unit is a source as it was loaded in one way.
type Unit struct {
	Variant  string
	Stale    bool     // it has to be loaded again: its sources have errors, or they or a setting changed without it being asked for
	Key      Digest   // of everything but files that decided what was loaded
	Env      []string // variables that it asked for; their values are in Key
	Plugins  []string // whose ops it has; what they are is in Key
	Inputs   []int32  // indexes of Files: the source first, then its imports
	Missing  []string // paths that imports looked for in vain
	Params   []string // of entries
	Funcs    []Func
	Warnings []byte // reports, as JSON
	Targets  []Target
	Why      string // it was loaded last
	Ran      bool   // then; else it came from the cache
	Build    uint64 // number of that build
}

// Func is a function of a unit, for telling which one changed.
type Func struct {
	Name string
	Hash uint64
}

// Target is an orchestration function and what was made of it.
type Target struct {
	Func    string
	File    string // it stands in; "" for the source itself
	Span    [4]int32
	Closure Digest // fingerprint of the function with all it calls
	Places  uint64 // hash of where that stands
	// Since the outputs were made: does it stand elsewhere, and which functions of the closure changed.
	Moved   bool
	Changed string
	Behind  bool   // it, or how it is built, changed without it being asked for
	Key     Digest // of the action that made the outputs; zero: none did
	// Interface covers what the C++ was printed from: equal ones have equal C++.
	Interface Digest
	Calls     []string // functions that it calls, directly or not
	External  []string // C++ sources of kernels among them
	Plugins   []string // whose ops it has, before the passes or after them; what they are is in Key
	Warnings  []byte
	Outputs   []Output
	Why       string // the outputs were made last
	Ran       Steps  // what ran then; the rest came from the cache
	Build     uint64 // number of that build
}

// Built reports that the outputs are those of what the source was when it was looked at last.
func (t *Target) Built() bool { return t.Key != Digest{} && !t.Moved && !t.Behind }

// Steps are the parts of making the outputs of a target.
type Steps uint8

const (
	Passes   Steps = 1 << iota // on the target's closure
	Generate                   // plan and C++, from the interface of what passes gave
)

// Output is a file that was written, by path from the target's output folder.
type Output struct {
	Path   string
	Stamp  Stamp
	Digest Digest
}

// Test is what decided the last verdict of a test.
type Test struct {
	Name     string
	Compiled bool   // C++ was compiled and run; else only the plan
	Target   string // label
	Key      Digest // of the target; zero: it was not known
	Settings Digest // of everything but target and files
	Files    []File // that it reads
	Passed   bool
	Why      string // it ran last, or its verdict was looked for
	Ran      bool   // then; else the verdict came from the cache
	Build    uint64 // number of the build before it
}

// Find returns the index of the file of a path.
func (s *State) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(s.Files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
}

// FindTest returns where the record of a test is, or has to be.
func (s *State) FindTest(name string, compiled bool) (int, bool) {
	return slices.BinarySearchFunc(s.Tests, name, func(t Test, name string) int {
		switch c := strings.Compare(t.Name, name); {
		case c != 0 || t.Compiled == compiled:
			return c
		case compiled:
			return -1
		}
		return 1
	})
}

// FindDir returns the index of the folder of a path.
func (s *State) FindDir(path string) (int, bool) {
	return slices.BinarySearchFunc(s.Dirs, path, func(d Dir, p string) int { return strings.Compare(d.Path, p) })
}
