package graph

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// stateFile is where a workspace keeps its state.
const stateFile = StateDir + "/state"

// Session is a workspace together with what is remembered of earlier builds. What Unchanged can answer needs neither Pto.toml nor any source, nor more than a
// glance at what is remembered.
type Session struct {
	Root string // of the workspace

	root   *state.Root
	exe    string
	toolID func(exe string) string

	// What look found.
	stamp   state.Stamp // of exe
	tool    string      // identity of exe: what another binary built is not trusted
	file    *state.Reader
	known   []state.Known // targets that the patterns may concern
	changes *state.Changes

	old *state.State // nil: not read yet, or not looked yet

	tested tested
}

// OpenSession finds the workspace of a folder. exe is the binary that runs, toolID computes its identity.
func OpenSession(dir, exe string, toolID func(exe string) string) (*Session, error) {
	root, err := findRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Session{Root: root, exe: exe, toolID: toolID}
	if s.root, err = state.OpenRoot(root); err != nil {
		return nil, diag.Errorf(CodeRead, diag.Span{File: root}, "cannot be opened: %v", err)
	}
	return s, nil
}

// look looks at everything that concerns the patterns and that the last build read or wrote, the first time it is called.
func (s *Session) look(ps []Pattern) {
	if s.changes != nil {
		return
	}
	var old state.Glance
	if s.file = state.Open(filepath.Join(s.Root, filepath.FromSlash(stateFile))); s.file != nil {
		changes, known, err := s.file.Check(s.root, OutDir, func(source string) bool { return selects(ps, source) })
		if err == nil {
			s.changes, s.known, old = changes, known, *s.file.Glance
		}
	}
	if s.changes == nil {
		s.forget()
	}
	s.stamp = state.LookAt(s.exe).Stamp
	if s.tool = old.Tool; old.Exe != s.stamp {
		s.tool = s.toolID(s.exe)
	}
}

// read gives all that is remembered of earlier builds.
func (s *Session) read(ps []Pattern) *state.State {
	if s.look(ps); s.old == nil {
		var err error
		if s.old, err = s.file.State(); err != nil {
			s.forget()
		}
	}
	return s.old
}

// forget goes on as if there had been no build.
func (s *Session) forget() {
	s.old, s.known, s.changes = &state.State{Partial: true}, nil, &state.Changes{}
}

// New reports whether nothing is remembered of earlier builds, as in a new checkout.
func (s *Session) New() bool {
	_, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(stateFile)))
	return errors.Is(err, fs.ErrNotExist)
}

// Close frees what the session holds.
func (s *Session) Close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	if s.root != nil {
		s.root.Close()
		s.root = nil
	}
}

// Touch tells a session that was used before that these paths, from the root, may have changed. Everything else is taken to be as the last build left it.
func (s *Session) Touch(paths []string) {
	old := s.read(nil)
	for _, p := range paths {
		if i, ok := old.Find(p); ok && !slices.Contains(s.changes.Files, i) {
			s.changes.Files = append(s.changes.Files, i)
		}
		s.touchDir(p)
		for dir := path.Dir(p); ; dir = path.Dir(dir) { // in a new folder: the nearest that was there
			if s.touchDir(dir) || dir == "." || dir == "/" || dir == ".." {
				break
			}
		}
	}
	slices.Sort(s.changes.Files)
	slices.Sort(s.changes.Dirs)
}

// touchDir notes that a folder may have changed. It reports whether the last build knew it.
func (s *Session) touchDir(dir string) bool {
	if dir == "." {
		dir = ""
	}
	i, ok := s.old.FindDir(dir)
	if ok && !slices.Contains(s.changes.Dirs, i) {
		s.changes.Dirs = append(s.changes.Dirs, i)
	}
	return ok
}

// Rescan tells a session that anything may have changed: the next build looks at every file.
func (s *Session) Rescan() {
	if s.changes != nil {
		s.changes = s.read(nil).Check(s.root, OutDir, func(string) bool { return true })
	}
}

// Concerns gives a function that reports whether a change of a path, from the root, may change a build: a Python file, a file that was read, or a folder with
// one. It goes by the last build.
func (s *Session) Concerns() func(name string) bool {
	st := s.read(nil)
	return func(name string) bool {
		if name == ConfigName || strings.HasSuffix(name, ".py") {
			return true
		}
		if _, ok := st.FindDir(name); ok {
			return true
		}
		i, ok := st.Find(name)
		return ok || i < len(st.Files) && strings.HasPrefix(st.Files[i].Path, name+"/")
	}
}

// Outside lists the folders that hold files that were read but do not lie below the root.
func (s *Session) Outside() []string {
	var dirs []string
	for _, f := range s.read(nil).Files {
		if strings.HasPrefix(f.Path, "../") {
			if d := absolute(s.Root, path.Dir(f.Path)); !slices.Contains(dirs, d) {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// Save writes the state, when a build was told not to.
func (s *Session) Save() {
	if s.old != nil {
		s.tested.changed = false
		_ = s.old.Write(filepath.Join(s.Root, filepath.FromSlash(stateFile))) // without it the next build does more
	}
}

// Request is what a command line says about how sources are loaded and built.
type Request struct {
	Profile        string
	Args           map[string]string
	Entry, Factory string
}

// digest covers the request, and the variables that say where plugins without a path are.
func (r *Request) digest() state.Digest {
	b, _ := json.Marshal([]any{r, os.Getenv(PluginPathEnv), os.Getenv("XDG_DATA_HOME"), os.Getenv("HOME")}) // cannot fail: strings; maps are sorted
	return sha256.Sum256(b)
}

// selects reports whether patterns may select targets of a source.
func selects(ps []Pattern, source string) bool {
	for _, p := range ps {
		if p.MatchFile(trimPy(source)) {
			return true
		}
	}
	return len(ps) == 0
}

// selectsTarget reports whether patterns select a target.
func selectsTarget(ps []Pattern, l Label) bool {
	for _, p := range ps {
		if p.Match(l) {
			return true
		}
	}
	return len(ps) == 0
}

// Unchanged answers a build for which there is nothing to do: nothing that it reads changed since the last one, which had no errors, and all outputs
// are in place. Otherwise it gives nil.
func (s *Session) Unchanged(req Request, ps []Pattern) *Report {
	s.look(ps)
	if s.old != nil || s.file.Partial || s.file.Exe != s.stamp || s.file.Request != req.digest() || !s.changes.None() {
		return nil
	}
	rep := &Report{Targets: make([]Outcome, 0, len(s.known))}
	used := make([]bool, len(ps))
	for i := range s.known {
		k := &s.known[i]
		l := Label{trimPy(k.Source), k.Func}
		if k.Func != "" && !selectsTarget(ps, l) {
			continue
		}
		if !k.Built {
			return nil
		}
		if len(k.Warnings) > 0 {
			rep.Diagnostics.Add(decodeReports(k.Warnings)...)
		}
		if k.Func == "" {
			continue
		}
		for i, p := range ps {
			used[i] = used[i] || p.Match(l)
		}
		rep.Targets = append(rep.Targets, Outcome{Label: l, OK: true})
	}
	if slices.Contains(used, false) {
		return nil // a pattern that selects nothing is an error
	}
	rep.sort()
	return rep
}

// Targets lists the targets that patterns select, as the last build found them, by label. They are loaded when something asks for what is in them.
func (s *Session) Targets(ps []Pattern) []*Target {
	var out []*Target
	old := s.read(ps)
	for si := range old.Sources {
		src := &old.Sources[si]
		if !selects(ps, src.Path) {
			continue
		}
		for ui := range src.Units {
			for ti := range src.Units[ui].Targets {
				t := &src.Units[ui].Targets[ti]
				if l := (Label{trimPy(src.Path), t.Func}); selectsTarget(ps, l) {
					x := &Target{Label: l, Source: src.Path, Pos: targetSpan(t, src.Path), built: t}
					if src.Units[ui].Stale { // its source has errors: what it was before says nothing
						x.built = nil
					}
					out = append(out, x)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *Target) int { return a.Label.Compare(b.Label) })
	return out
}

// inputsOf lists the files that loading a source read the last time.
func (s *Session) inputsOf(source string) (files []string) {
	old := s.read(nil)
	i, ok := slices.BinarySearchFunc(old.Sources, source, func(x state.Source, path string) int { return strings.Compare(x.Path, path) })
	if !ok {
		return nil
	}
	for _, u := range old.Sources[i].Units {
		for _, n := range u.Inputs {
			files = append(files, old.Files[n].Path)
		}
	}
	return files
}

// Source reads a file for reports.
func (s *Session) Source(name string) []byte {
	b, _ := os.ReadFile(absolute(s.Root, name)) // a report without the text is still one
	return b
}

// Open reads Pto.toml.
func (s *Session) Open() (*Workspace, diag.List) { return Open(s.Root) }

// encodeReports writes reports for the state, nothing for none.
func encodeReports(ds diag.List) []byte {
	if len(ds) == 0 {
		return nil
	}
	b, _ := json.Marshal(ds) // cannot fail: texts and numbers
	return b
}

func decodeReports(b []byte) diag.List {
	var ds diag.List
	if len(b) > 0 {
		_ = json.Unmarshal(b, &ds) // encodeReports wrote it
	}
	return ds
}

// findRoot finds the nearest folder with a Pto.toml, from dir upwards.
func findRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", diag.AsList(err, CodeRead)
	}
	for d := abs; ; d = filepath.Dir(d) {
		_, err := os.Stat(filepath.Join(d, ConfigName))
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", diag.Errorf(CodeRead, diag.Span{File: filepath.Join(d, ConfigName)}, "cannot be read: %v", unwrapPath(err))
		}
		if d == filepath.Dir(d) {
			return "", diag.Errorf(CodeNoWorkspace, diag.Span{}, "no %s in %s or any folder above it", ConfigName, abs).
				WithHint("`ptobuild init` makes a workspace here")
		}
	}
}

func absolute(root, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return filepath.Join(root, filepath.FromSlash(name))
}
