package graph

import (
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
	// SlowPlugin, when set, is told of plugins that take their time to answer.
	SlowPlugin func(name string)
	// Running, when set, keeps plugins running beyond one Builder.
	Running  *RunningPlugins
	unlocked bool // Pto.lock is about to be written anew, or there is none
	detached bool // there is no Pto.toml, and nothing is written beside the sources

	pluginFile string      // has the [plugins] tables; "": Pto.toml
	pluginDeps *pluginDeps // what Plugins looked at; nil: it was not called

	// Trees, when not nil, keeps syntax trees beyond this workspace.
	Trees *Trees

	declared   map[string]bool // by path from the root; nil: every file may be read
	undeclared map[string]bool // those that were asked for and exist

	mu      sync.Mutex
	sources map[string][]byte // files read so far, for reports
}

// Open finds the workspace of a folder, the nearest Pto.toml in it or above, and reads that.
func Open(dir string) (*Workspace, diag.List) {
	root, err := findRoot(dir)
	if err != nil {
		return nil, diag.AsList(err, CodeRead)
	}
	src, err := os.ReadFile(filepath.Join(root, ConfigName))
	if err != nil {
		return nil, diag.List{diag.Errorf(CodeRead, diag.Span{File: filepath.Join(root, ConfigName)}, "cannot be read: %v", unwrapPath(err))}
	}
	w := &Workspace{Root: root, sources: map[string][]byte{ConfigName: src}}
	var ds diag.List
	w.Config, ds = parseConfig(ConfigName, src)
	return w, ds
}

// exists reports whether a source of a kernel is there, by its path from the root. Where only declared files may be read, others count as there: Bazel gives
// the sources of kernels to the actions that compile them.
func (w *Workspace) exists(name string) bool {
	if w.declared != nil {
		return true
	}
	_, err := os.Stat(w.Abs(name))
	return !errors.Is(err, fs.ErrNotExist)
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

// Source returns the text of a file, for reports.
func (w *Workspace) Source(name string) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b, ok := w.sources[name]; ok {
		return b
	}
	b, _ := os.ReadFile(w.Abs(name)) // a report without the text is still one
	return b
}

// DataFiles are the files that tests read, by path from the root.
func (w *Workspace) DataFiles() map[string]bool {
	files := map[string]bool{}
	for i := range w.Config.Tests {
		t := &w.Config.Tests[i]
		for _, in := range t.Inputs {
			files[in.Npy] = true
		}
		for _, f := range t.Expect.Npy {
			files[f] = true
		}
		for _, f := range t.Expect.Reference {
			files[f] = true
		}
		for _, g := range t.Expect.Files {
			found, _ := globFiles(w.Root, g) // running the test reports what is wrong with it
			for _, f := range found {
				files[f] = true
			}
		}
	}
	return files
}

// Abs turns a path from the root into one that the operating system knows.
func (w *Workspace) Abs(name string) string { return absolute(w.Root, name) }

// Here is the folder dir relative to a workspace's root, slash-separated, "" for the root itself.
func Here(root, dir string) string {
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return ""
	}
	return filepath.ToSlash(rel)
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
