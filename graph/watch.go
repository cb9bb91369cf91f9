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

// Watch sends a value after every completed change below root, outside of the output, state and hidden folders, until ctx ends. Folders are watched, not
// files: editors replace files. Changes while the receiver is busy are sent as one.
func Watch(ctx context.Context, root string) (<-chan struct{}, error) {
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
				if ignored(root, e.Name) || e.Op == fsnotify.Chmod {
					continue
				}
				if e.Op.Has(fsnotify.Create) {
					if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
						_ = addTree(w, e.Name) // a folder that vanished again needs no watch
					}
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

func ignored(root, name string) bool {
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return true
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if skipDir(part) {
			return true
		}
	}
	return false
}

func watchError(root string, err error) error {
	d := diag.Errorf(CodeWatch, diag.Span{File: root}, "cannot be watched: %v", err)
	if strings.Contains(err.Error(), "no space left") {
		d.Message = "cannot be watched: the limit of inotify watches is reached"
		d.WithHint("raise it with `sysctl fs.inotify.max_user_watches=524288`, or watch a smaller workspace")
	}
	return d
}
