package graph

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ptobuild/ptobuild/internal/diag"
)

const (
	// settleFew is how long nothing must change before a change of a few files counts as complete: an editor saves in several steps (write, rename,
	// chmod) within a millisecond.
	settleFew = 3 * time.Millisecond
	// settleMany is the same once more than few paths changed: a tool is at work.
	settleMany = 50 * time.Millisecond
	few        = 8
	// patience bounds the wait, so that a file that changes all the time does not hold everything up.
	patience = 500 * time.Millisecond
	// lockPatience bounds the wait for git, which holds .git/index.lock while it changes the working tree.
	lockPatience = 10 * time.Second
	// pollEvery is the time between two looks at what cannot be watched.
	pollEvery = 500 * time.Millisecond

	// CodeWatch reports that a folder cannot be watched.
	CodeWatch diag.Code = "PTO-W013"
)

// Batch is a set of changes that belong together.
type Batch struct {
	Paths []string // that may have changed, from the root, sorted
	All   bool     // anything may have: events were lost, or there are none
}

// With is the batch of all changes of both.
func (b Batch) With(c Batch) Batch {
	paths := slices.Concat(b.Paths, c.Paths) // the others may be in use
	slices.Sort(paths)
	return Batch{Paths: slices.Compact(paths), All: b.All || c.All}
}

// Watcher tells of changes below a folder, outside of the output, state and hidden folders. Folders are watched, not files: editors replace files. Where
// nothing can be watched it polls, and its batches say that anything may have changed.
type Watcher struct {
	C <-chan Batch // closed when the context ends

	root     string
	concerns func(path string) bool
	notify   *fsnotify.Watcher
	batches  chan Batch

	mu      sync.Mutex
	polling bool
	advice  *diag.Diagnostic
	outside map[string]bool // folders that do not lie below the root
}

// WatchOptions say how to watch.
type WatchOptions struct {
	Poll bool // do not use events of the file system
	// Concerns says which paths matter, from the root; folders that matter hold such files.
	Concerns func(path string) bool
	// limit makes watching fail after so many folders (tests).
	limit int
}

// Watch watches a folder until ctx ends.
func Watch(ctx context.Context, root string, opt WatchOptions) *Watcher {
	w := &Watcher{root: root, concerns: opt.Concerns, batches: make(chan Batch), outside: map[string]bool{}}
	w.C = w.batches
	var events chan fsnotify.Event
	var faults chan error
	if opt.Poll {
		w.polling = true
	} else {
		var err error
		if w.notify, err = fsnotify.NewBufferedWatcher(4096); err != nil {
			w.poll(err)
		} else {
			events, faults = w.notify.Events, w.notify.Errors
			w.addTree(root, opt.limit)
		}
	}
	raw := make(chan Batch, 1)
	go w.drain(ctx, events, faults, raw, opt.limit)
	go w.settle(ctx, raw)
	return w
}

// Also watches the folders of files that do not lie below the root.
func (w *Watcher) Also(dirs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range dirs {
		if w.notify != nil && !w.outside[d] {
			w.outside[d] = true
			_ = w.notify.Add(d) // what cannot be watched is seen with the next change
		}
	}
}

// Polls reports whether a part is polled.
func (w *Watcher) Polls() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.polling
}

// Advice says why a part is polled, nil when nothing has to be.
func (w *Watcher) Advice() *diag.Diagnostic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.advice
}

// poll begins to poll because of err.
func (w *Watcher) poll(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.polling {
		return
	}
	w.polling = true
	d := diag.Warningf(CodeWatch, diag.Span{File: w.root}, "a part cannot be watched: %v", err).WithHint("it is looked at every %v instead", pollEvery)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		d.Message = "the limit of inotify watches is reached"
		d.WithHint("raise it with `sysctl fs.inotify.max_user_watches=524288`; until then everything is looked at every %v", pollEvery)
	case errors.Is(err, syscall.EMFILE):
		d.Message = "the limit of inotify instances is reached"
		d.WithHint("raise it with `sysctl fs.inotify.max_user_instances=512`; until then everything is looked at every %v", pollEvery)
	}
	w.advice = d
}

// drain takes events as they come, so that none is lost, and passes on what they add up to whenever somebody has time for it.
func (w *Watcher) drain(ctx context.Context, events chan fsnotify.Event, faults chan error, out chan<- Batch, limit int) {
	if w.notify != nil {
		defer w.notify.Close()
	}
	defer close(out)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	paths := map[string]bool{}
	all := false
	for {
		var send chan<- Batch
		var batch Batch
		if all || len(paths) > 0 {
			send = out
			batch = Batch{All: all, Paths: sortedKeys(paths)}
		}
		select {
		case <-ctx.Done():
			return
		case send <- batch:
			paths, all = map[string]bool{}, false
		case e := <-events:
			w.event(e, paths, limit)
		case err := <-faults: // events were lost
			all = true
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.poll(err)
			}
		case <-ticker.C:
			all = all || w.Polls()
			if w.notify != nil && !w.alive() { // the root was removed and made again
				w.addTree(w.root, limit)
				all = true
			}
		}
		for more := true; more && len(events) > 0; {
			select {
			case e := <-events:
				w.event(e, paths, limit)
			default:
				more = false
			}
		}
	}
}

// alive reports whether the root is watched, or is not there.
func (w *Watcher) alive() bool {
	if _, err := os.Stat(w.root); err != nil {
		return true
	}
	return slices.Contains(w.notify.WatchList(), w.root)
}

// event adds what an event says to the paths.
func (w *Watcher) event(e fsnotify.Event, paths map[string]bool, limit int) {
	if e.Op == fsnotify.Chmod {
		return
	}
	rel, ok := w.relevant(e.Name)
	if !ok {
		return
	}
	if e.Op.Has(fsnotify.Create) {
		if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
			for _, f := range w.addTree(e.Name, limit) { // what was written before the folder was watched gave no event
				paths[f] = true
			}
			if w.concerns(rel) {
				paths[rel] = true
			}
			return
		}
	}
	if w.concerns(rel) {
		paths[rel] = true
	}
}

// relevant is a path from the root; false for what lies in a folder that never holds sources.
func (w *Watcher) relevant(name string) (string, bool) {
	rel, err := filepath.Rel(w.root, name)
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	if strings.HasPrefix(rel, "../") {
		return rel, true
	}
	for part := range strings.SplitSeq(rel, "/") {
		if skipDir(part) {
			return "", false
		}
	}
	return rel, true
}

// addTree watches a folder and all below it, and lists the files that concern the build.
func (w *Watcher) addTree(dir string, limit int) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // what vanished again needs no watch
		switch {
		case err != nil:
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.IsDir():
			if rel, ok := w.relevant(p); ok && w.concerns(rel) {
				found = append(found, rel)
			}
			return nil
		case p != w.root && skipDir(d.Name()):
			return fs.SkipDir
		}
		err = w.notify.Add(p)
		if err == nil && limit > 0 && len(w.notify.WatchList()) > limit {
			err = syscall.ENOSPC
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.poll(err)
		}
		return nil
	})
	return found
}

// settle passes changes on once they are complete.
func (w *Watcher) settle(ctx context.Context, raw <-chan Batch) {
	defer close(w.batches)
	for {
		batch, ok := <-raw
		if !ok {
			return
		}
		first := time.Now()
		paths := map[string]bool{}
		add := func(b Batch) {
			batch.All = batch.All || b.All
			for _, p := range b.Paths {
				paths[p] = true
			}
		}
		add(batch)
		for quiet := false; !quiet; {
			wait := settleFew
			if len(paths) > few || w.halfWritten(paths) {
				wait = settleMany
			}
			limit := patience
			if w.locked() {
				wait, limit = settleMany, lockPatience
			}
			if time.Since(first) > limit {
				break
			}
			select {
			case more, ok := <-raw:
				if !ok {
					return
				}
				add(more)
			case <-time.After(wait):
				quiet = !w.locked() || time.Since(first) > lockPatience
			}
		}
		batch.Paths = sortedKeys(paths)
		for sent := false; !sent; {
			select {
			case w.batches <- batch:
				sent = true
			case more, ok := <-raw: // the receiver is busy: what comes meanwhile goes along
				if !ok {
					return
				}
				add(more)
				batch.Paths = sortedKeys(paths)
			case <-ctx.Done():
				return
			}
		}
	}
}

// halfWritten reports whether one of a few files is empty: an editor that truncates before it writes may be in between.
func (w *Watcher) halfWritten(paths map[string]bool) bool {
	for p := range paths {
		if info, err := os.Stat(absolute(w.root, p)); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			return true
		}
	}
	return false
}

// locked reports whether git is changing the working tree.
func (w *Watcher) locked() bool {
	_, err := os.Lstat(filepath.Join(w.root, ".git", "index.lock"))
	return err == nil
}

// skipDir says which folders never hold sources.
func skipDir(name string) bool {
	return strings.HasPrefix(name, ".") || name == OutDir || name == "node_modules" || name == "__pycache__"
}
