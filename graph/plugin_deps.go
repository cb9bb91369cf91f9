package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ptobuild/ptobuild/graph/state"
)

// pluginDeps is what decided which plugins there are and what is in them. A build remembers it, so that the next one knows that they are the same without asking.
type pluginDeps struct {
	root   string
	files  map[string]string      // SHA-256 of each by path from the root, or absolute; "": it is not there
	dirs   map[string]state.Stamp // folders in which patterns looked for sources
	always bool                   // nothing tells when a plugin has to be built again
}

// name is how the state names a path.
func (d *pluginDeps) name(abs string) string {
	if rel, err := filepath.Rel(d.root, abs); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return abs
}

// add notes a file with its digest in hex, "" when it cannot be read.
func (d *pluginDeps) add(abs, sum string) { d.files[d.name(abs)] = sum }

// addText notes a file by what was read of it.
func (d *pluginDeps) addText(abs string, text []byte, err error) {
	if err != nil {
		d.add(abs, "")
		return
	}
	sum := sha256.Sum256(text)
	d.add(abs, hex.EncodeToString(sum[:]))
}

// addPattern notes the folders in which a pattern looks for files, before it does.
func (d *pluginDeps) addPattern(pattern string) {
	base, rest := doublestar.SplitPattern(path.Clean(pattern))
	deep := strings.ContainsAny(rest, "/{") || strings.Contains(rest, "**")
	_ = filepath.WalkDir(filepath.Join(d.root, filepath.FromSlash(base)), func(p string, e fs.DirEntry, err error) error { // the pattern is tried next
		name := d.name(p)
		switch {
		case err != nil || !e.IsDir():
			return nil
		case name == OutDir || name == StateDir:
			return fs.SkipDir
		}
		if name == "." {
			name = ""
		}
		start := time.Now()
		d.dirs[name] = state.LookAt(p).Settled(start)
		if !deep {
			return fs.SkipDir
		}
		return nil
	})
}
