package graph

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ptobuild/ptobuild/internal/diag"
)

const (
	// quiet is how long nothing must change before a change counts as complete: editors save in several steps (write, rename, chmod).
	quiet = 20 * time.Millisecond
	// patience bounds the wait for quiet, so that a file that changes all the time does not hold everything up.
	patience = 500 * time.Millisecond
	// CodeWatch reports that a folder cannot be watched.
	CodeWatch diag.Code = "PTO-W013"
)

// Watch sends a value after every completed change below root that concerns the build, until ctx ends: a path (from the root, slash-separated) for which
// concerns is true, outside of the output, state and hidden folders. Folders are watched, not files: editors replace files. Changes while the
// receiver is busy are sent as one.
func Watch(ctx context.Context, root string, concerns func(path string) bool) (<-chan struct{}, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, diag.Errorf(CodeWatch, diag.Span{File: root}, "cannot be watched: %v", err)
	}
	if err := addTree(w, root); err != nil {
		w.Close()
		return nil, watchError(root, err)
	}
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		defer w.Close()
		var settle, latest <-chan time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				rel, ok := relevantPath(root, e.Name)
				if !ok || e.Op == fsnotify.Chmod {
					continue
				}
				hit := concerns(rel)
				if e.Op.Has(fsnotify.Create) {
					if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
						_ = addTree(w, e.Name) // a folder that vanished again needs no watch
						hit = hit || holds(root, e.Name, concerns)
					}
				}
				if !hit {
					continue
				}
				settle = time.After(quiet)
				if latest == nil {
					latest = time.After(patience)
				}
			case <-w.Errors: // an overflow: something changed
				settle = time.After(quiet)
			case <-settle:
				settle, latest = nil, nil
				notify(out)
			case <-latest:
				settle, latest = nil, nil
				notify(out)
			}
		}
	}()
	return out, nil
}

func notify(out chan<- struct{}) {
	select {
	case out <- struct{}{}:
	default: // one is waiting already
	}
}

// addTree watches a folder and all below it.
func addTree(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case p != dir && skipDir(d.Name()):
			return fs.SkipDir
		}
		return w.Add(p)
	})
}

// skipDir says which folders never hold sources.
func skipDir(name string) bool {
	return strings.HasPrefix(name, ".") || name == OutDir || name == "node_modules" || name == "__pycache__"
}

// relevantPath is a path from the root; false for what lies in a folder that never holds sources.
func relevantPath(root, name string) (string, bool) {
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	for part := range strings.SplitSeq(rel, "/") {
		if skipDir(part) {
			return "", false
		}
	}
	return rel, true
}

// holds reports whether a folder has a file that concerns the build: one that was written before the folder was watched gives no event.
func holds(root, dir string, concerns func(string) bool) bool {
	found := false
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // what cannot be read concerns nobody
		if err == nil && !d.IsDir() {
			if rel, ok := relevantPath(root, p); ok && concerns(rel) {
				found = true
				return fs.SkipAll
			}
		}
		return nil
	})
	return found
}

func watchError(root string, err error) error {
	d := diag.Errorf(CodeWatch, diag.Span{File: root}, "cannot be watched: %v", err)
	if strings.Contains(err.Error(), "no space left") {
		d.Message = "cannot be watched: the limit of inotify watches is reached"
		d.WithHint("raise it with `sysctl fs.inotify.max_user_watches=524288`, or watch a smaller workspace")
	}
	return d
}
