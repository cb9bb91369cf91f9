package graph

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// A DSL source imports the language; one that only uses its decorators forgot to.
var (
	dslMark      = []byte("pypto")
	decoratorUse = []byte("@pl.")
)

// usesDSL reports whether a Python file is a source where Pto.toml does not say which ones are.
func usesDSL(text []byte) bool {
	return bytes.Contains(text, dslMark) || bytes.Contains(text, decoratorUse)
}

// SourceFiles lists the DSL sources by path from the root: those that the workspace's globs match, or by default every .py file that mentions pypto.
func (w *Workspace) SourceFiles() ([]string, diag.List) {
	return w.findSources(finder{list: w.list, isDSL: func(file string) (bool, error) {
		b, err := w.ReadFile(file)
		return usesDSL(b), err
	}})
}

// A finder gives what the search for sources asks of the file system.
type finder struct {
	list  func(dir string) ([]string, error) // subfolders, which end in a slash, Python files, and Pto.toml
	isDSL func(file string) (bool, error)
}

func (w *Workspace) findSources(f finder) ([]string, diag.List) {
	var files []string
	var ds diag.List
	globs := w.Config.Workspace.Sources
	if len(globs) == 0 {
		if err := walk(f, "", -1, func(file string) error {
			dsl, err := f.isDSL(file)
			if dsl {
				files = append(files, file)
			}
			return err
		}); err != nil {
			return nil, diag.List{diag.Errorf(CodeRead, diag.Span{File: w.Root}, "listing sources: %v", unwrapPath(err))}
		}
	}
	for _, g := range globs {
		base, rest := doublestar.SplitPattern(path.Clean(g))
		depth := strings.Count(rest, "/")
		if strings.Contains(rest, "**") {
			depth = -1
		}
		if base == "." {
			base = ""
		}
		if !doublestar.ValidatePattern(g) {
			ds.Add(diag.Errorf(CodeConfig, w.inConfig(g), "sources pattern %q: %v", g, doublestar.ErrBadPattern))
			continue
		}
		if err := walk(f, base, depth, func(file string) error {
			if doublestar.MatchUnvalidated(path.Clean(g), file) {
				files = append(files, file)
			}
			return nil
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			ds.Add(diag.Errorf(CodeConfig, w.inConfig(g), "sources pattern %q: %v", g, unwrapPath(err)))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), ds
}

// walk calls visit for the Python files in and below a folder, at most depth folders deep (-1: all). Folders below it that are workspaces of their own are
// left out.
func walk(f finder, dir string, depth int, visit func(file string) error) error {
	names, err := f.list(dir)
	if err != nil {
		return err
	}
	return walkNames(f, dir, names, depth, visit)
}

func walkNames(f finder, dir string, names []string, depth int, visit func(file string) error) error {
	for _, n := range names {
		sub, isDir := strings.CutSuffix(n, "/")
		var err error
		switch p := path.Join(dir, sub); {
		case n == ConfigName:
		case !isDir:
			err = visit(p)
		case depth != 0:
			below, failed := f.list(p)
			switch {
			case errors.Is(failed, fs.ErrNotExist): // it went away meanwhile
			case failed != nil:
				err = failed
			case !slices.Contains(below, ConfigName):
				err = walkNames(f, p, below, depth-1, visit)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads a folder. Links to files count as files, links to folders are not followed: they may lead back.
func (w *Workspace) list(dir string) ([]string, error) {
	entries, err := os.ReadDir(w.Abs(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		switch {
		case e.IsDir():
			if !skipDir(n) {
				names = append(names, n+"/")
			}
		case !strings.HasSuffix(n, ".py") && n != ConfigName:
		case e.Type().IsRegular():
			names = append(names, n)
		case e.Type()&fs.ModeSymlink != 0:
			if info, err := os.Stat(filepath.Join(w.Abs(dir), n)); err == nil && info.Mode().IsRegular() {
				names = append(names, n)
			}
		}
	}
	return names, nil
}

// inConfig is the place of a word in Pto.toml.
func (w *Workspace) inConfig(word string) diag.Span {
	return lineOf(ConfigName, strings.Split(string(w.Source(ConfigName)), "\n"), word)
}
