package graph

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/graph/state"
)

// files answers what one build asks about files: from the state where the stamps still hold, else from the disk. Each file has one digest throughout a
// build, that of its first reading; where it was read again with other content, it is looked at afresh in the next build, and so is what read it.
type files struct {
	s *Session

	changed map[int]bool // indexes into the state's files

	mu   sync.Mutex
	now  map[string]fileNow // what was looked at in this build
	dirs map[string]dirNow
}

type fileNow struct {
	state.File
	err error // it cannot be read
}

type dirNow struct {
	state.Dir
	err error
}

func newFiles(s *Session) *files {
	f := &files{s: s, changed: map[int]bool{}, now: map[string]fileNow{}, dirs: map[string]dirNow{}}
	for _, i := range s.changes.Files {
		f.changed[i] = true
	}
	return f
}

// look gives what is known of a file, reading it only when it changed.
func (f *files) look(name string) fileNow {
	f.mu.Lock()
	now, ok := f.now[name]
	f.mu.Unlock()
	if ok {
		return now
	}
	if i, ok := f.s.old.Find(name); ok && !f.changed[i] {
		return fileNow{File: f.s.old.Files[i]}
	}
	_, now = f.read(name)
	return now
}

// read reads a file. Its state says Unknown when it changed under the reading.
func (f *files) read(name string) ([]byte, fileNow) {
	text, now := readStamped(absolute(f.s.Root, name))
	now.Path = name
	f.mu.Lock()
	defer f.mu.Unlock()
	first, ok := f.now[name]
	if i, found := f.s.old.Find(name); !ok && found && !f.changed[i] { // another unit may have relied on what is remembered
		first, ok = fileNow{File: f.s.old.Files[i]}, true
	}
	if ok {
		if first.Digest != now.Digest || (first.err == nil) != (now.err == nil) {
			first.Stamp = state.Unknown
			f.now[name] = first
			now.Stamp = state.Unknown
		}
		return text, now
	}
	f.now[name] = now
	return text, now
}

// readStamped reads a file and looks at it before and after: one that changes meanwhile is read again, and in the end has no stamp.
func readStamped(abs string) (text []byte, now fileNow) {
	start := time.Now()
	file, err := os.Open(abs)
	if err != nil {
		return nil, fileNow{err: err}
	}
	defer file.Close()
	for range 3 {
		before := state.LookFile(file.Fd())
		b := bytes.NewBuffer(make([]byte, 0, before.Size+bytes.MinRead))
		if _, err := b.ReadFrom(file); err != nil {
			return nil, fileNow{err: err}
		}
		text = b.Bytes()
		now = fileNow{File: state.File{Digest: sha256.Sum256(text)}}
		now.DSL = strings.HasSuffix(abs, ".py") && usesDSL(text)
		if state.LookFile(file.Fd()).Stamp == before.Stamp {
			now.Stamp = before.Settled(start)
			break
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, fileNow{err: err}
		}
	}
	return text, now
}

// same reports whether a file of the state has the content it had.
func (f *files) same(i int) bool {
	if !f.changed[i] {
		return true
	}
	old := &f.s.old.Files[i]
	now := f.look(old.Path)
	return now.err == nil && now.Digest == old.Digest
}

// list gives the subfolders and Python files of a folder.
func (f *files) list(w *Workspace, dir string) ([]string, error) {
	f.mu.Lock()
	now, ok := f.dirs[dir]
	f.mu.Unlock()
	if ok {
		return now.Names, now.err
	}
	i, ok := f.s.old.FindDir(dir)
	if _, changed := slices.BinarySearch(f.s.changes.Dirs, i); ok && !changed && f.s.old.Dirs[i].Listed {
		now = dirNow{Dir: f.s.old.Dirs[i]}
	} else {
		start := time.Now()
		info := state.LookAt(w.Abs(dir))
		now.Names, now.err = w.list(dir)
		now.Path, now.Listed, now.Stamp = dir, true, info.Settled(start)
	}
	f.mu.Lock()
	f.dirs[dir] = now
	f.mu.Unlock()
	return now.Names, now.err
}

// isDSL reports whether a Python file uses the DSL.
func (f *files) isDSL(name string) (bool, error) {
	now := f.look(name)
	if errors.Is(now.err, fs.ErrNotExist) { // it went away meanwhile
		return false, nil
	}
	return now.DSL, now.err
}
