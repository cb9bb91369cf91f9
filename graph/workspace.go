package graph

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Workspace is a folder with a Pto.toml.
type Workspace struct {
	Root   string // absolute
	Config *Config
	// PluginDev names the executables that take the place of plugins in this run; set it before a Builder is made.
	PluginDev map[string]string
	// Running, when set, keeps plugins running beyond one Builder.
	Running  *RunningPlugins
	unlocked bool // Pto.lock is about to be written anew, or there is none
	detached bool // there is no Pto.toml, and nothing is written beside the sources
	// Trees, when not nil, keeps syntax trees beyond this workspace.
	Trees *Trees

	declared   map[string]bool // by path from the root; nil: every file may be read
	undeclared map[string]bool // those that were asked for and exist

	mu      sync.Mutex
	sources map[string][]byte // files read so far, for reports
}

// Open finds the workspace of a folder: the nearest Pto.toml in it or above.
func Open(dir string) (*Workspace, diag.List) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, diag.AsList(err, CodeRead)
	}
	for d := abs; ; d = filepath.Dir(d) {
		p := filepath.Join(d, ConfigName)
		src, err := os.ReadFile(p)
		if err == nil {
			w := &Workspace{Root: d, sources: map[string][]byte{ConfigName: src}}
			var ds diag.List
			w.Config, ds = parseConfig(ConfigName, src)
			return w, ds
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, diag.List{diag.Errorf(CodeRead, diag.Span{File: p}, "cannot be read: %v", unwrapPath(err))}
		}
		if d == filepath.Dir(d) {
			return nil, diag.List{diag.Errorf(CodeNoWorkspace, diag.Span{}, "no %s in %s or any folder above it", ConfigName, abs).
				WithHint("`ptobuild init` makes a workspace here")}
		}
	}
}

// ReadFile reads a file of the workspace by its slash-separated path from the root (or an absolute path) and keeps it for reports.
func (w *Workspace) ReadFile(name string) ([]byte, error) {
	if w.declared != nil && !w.declared[name] {
		if st, err := os.Stat(w.Abs(name)); err == nil && st.Mode().IsRegular() {
			w.mu.Lock()
			w.undeclared[name] = true
			w.mu.Unlock()
		}
		return nil, fs.ErrNotExist
	}
	b, err := os.ReadFile(w.Abs(name))
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.sources[name] = b
	w.mu.Unlock()
	return b, nil
}

// parser gives the parser of the front end.
func (w *Workspace) parser() func(string, []byte) (*syntax.File, diag.List) {
	if w.Trees == nil {
		return nil
	}
	return w.Trees.Parse
}

// Declare limits what may be read to these files, by their paths from the root. Another file is as if it did not exist.
func (w *Workspace) Declare(files []string) {
	w.declared, w.undeclared = make(map[string]bool, len(files)), map[string]bool{}
	for _, f := range files {
		w.declared[path.Clean(f)] = true
	}
}

// Undeclared are the files that were asked for and exist, but were not declared.
func (w *Workspace) Undeclared() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.undeclared))
}

// Source returns the text of a file that was read, for reports.
func (w *Workspace) Source(name string) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sources[name]
}

// Concerns reports whether a change of a path may change the build: a Python file, a file that was read, or a folder that holds one.
func (w *Workspace) Concerns(name string) bool {
	if name == ConfigName || strings.HasSuffix(name, ".py") {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, read := w.sources[name]; read {
		return true
	}
	for s := range w.sources {
		if strings.HasPrefix(s, name+"/") {
			return true
		}
	}
	return false
}

// Abs turns a path from the root into one that the operating system knows.
func (w *Workspace) Abs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.Root, filepath.FromSlash(name))
}

// Here is the folder dir relative to the root, slash-separated, "" for the root itself.
func (w *Workspace) Here(dir string) string {
	rel, err := filepath.Rel(w.Root, dir)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return ""
	}
	return filepath.ToSlash(rel)
}

// A DSL source imports the language; one that only uses its decorators forgot to.
var (
	dslMark      = []byte("pypto")
	decoratorUse = []byte("@pl.")
)

// SourceFiles lists the DSL sources by path from the root: those that the workspace's globs match, or by default every .py file that mentions pypto.
func (w *Workspace) SourceFiles() ([]string, diag.List) {
	if globs := w.Config.Workspace.Sources; len(globs) > 0 {
		var files []string
		var ds diag.List
		for _, g := range globs {
			found, err := globFiles(w.Root, g)
			if err != nil {
				ds.Add(diag.Errorf(CodeConfig, lineOf(ConfigName, strings.Split(string(w.Source(ConfigName)), "\n"), g), "sources pattern %q: %v", g, err))
				continue
			}
			files = append(files, found...)
		}
		slices.Sort(files)
		return slices.Compact(files), ds
	}
	var files []string
	err := filepath.WalkDir(w.Root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != w.Root && skipDir(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".py") {
			return nil
		}
		rel, err := filepath.Rel(w.Root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		b, err := w.ReadFile(rel)
		if err != nil {
			return err
		}
		if bytes.Contains(b, dslMark) || bytes.Contains(b, decoratorUse) {
			files = append(files, rel)
		}
		return nil
	})
	if err != nil {
		return nil, diag.List{diag.Errorf(CodeRead, diag.Span{File: w.Root}, "listing sources: %v", unwrapPath(err))}
	}
	slices.Sort(files)
	return files, nil
}

// globFiles lists the files that a pattern with ** matches, by path from the root.
func globFiles(root, pattern string) ([]string, error) {
	return doublestar.Glob(os.DirFS(root), pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
}

// unwrapPath takes the path out of a file error: the report names it already.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

const (
	// OutDir holds the outputs: build/<package>/<file>/<function>/.
	OutDir = "build"
	// StateDir holds state and logs of the tool.
	StateDir = ".ptobuild"
)
