package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// tempPrefix starts the names of files that are being written; the process id and a number follow.
const tempPrefix = ".tmp-"

var temps atomic.Uint64

// Replace writes a file beside its place and renames it there, with the mode that a new file has: readers, and later builds, see the old content or the
// new. It returns the new file's stamp. Missing folders are made.
func Replace(name string, content []byte) (Stamp, error) {
	return ReplaceFrom(filepath.Dir(name), name, content)
}

// ReplaceFrom is Replace with another folder for the file that is being written, so that a process that is killed leaves nothing beside the file's place. When
// that folder is on another file system, or cannot be used, the file's own is taken.
func ReplaceFrom(dir, name string, content []byte) (Stamp, error) {
	s, err := replaceFrom(dir, name, content)
	if err != nil && dir != filepath.Dir(name) {
		return replaceFrom(filepath.Dir(name), name, content)
	}
	return s, err
}

func replaceFrom(dir, name string, content []byte) (Stamp, error) {
	tmp := filepath.Join(dir, tempPrefix+strconv.Itoa(os.Getpid())+"-"+strconv.FormatUint(temps.Add(1), 10))
	f, err := withFolder(dir, func() (*os.File, error) { return os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) })
	if err != nil {
		return Unknown, err
	}
	defer f.Close()
	if _, err = f.Write(content); err == nil {
		_, err = withFolder(filepath.Dir(name), func() (*os.File, error) { return nil, os.Rename(tmp, name) })
	}
	if err != nil {
		os.Remove(tmp)
		return Unknown, err
	}
	return LookFile(f.Fd()).Stamp, nil // renaming changed its times
}

// Update is Replace for a file that is likely to hold the content already: then it is left alone.
func Update(name string, content []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	_, err := Replace(name, content)
	return err
}

// withFolder does something in a folder, which is made if it is missing.
func withFolder(dir string, do func() (*os.File, error)) (*os.File, error) {
	f, err := do()
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		return do()
	}
	return f, err
}

// sweep removes what processes left that were killed while they wrote into a folder.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), tempPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		n, err := strconv.Atoi(pid)
		if ok && err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
