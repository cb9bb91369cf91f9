package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// touchEvery bounds how often a hit renews an entry's time stamp: often enough for least-recently-used eviction, rare enough to cost nothing.
	touchEvery = 5 * time.Minute
	// writeRest is how long nothing is written after a write failed: a full disk is not asked again for every action.
	writeRest = 30 * time.Second
)

// Folders of a store. The first two are those of Bazel's disk cache.
const (
	casDir = "cas"
	acDir  = "ac"
	tmpDir = "tmp"
)

// Disk is a store in a folder.
type Disk struct {
	dir  string
	warn func(error)

	warned     sync.Once
	restUntil  atomic.Int64 // Unix nanoseconds until which nothing is written
	written    atomic.Int64 // bytes stored by this process
	createTemp func(dir, pattern string) (*os.File, error)
}

// NewDisk opens (and makes) a store in a folder. Blobs are written to a temporary file in it and renamed into place, so readers see whole blobs or none.
// When an entry cannot be read or written for another reason than being absent, warn (which may be nil) is told, once.
func NewDisk(dir string, warn func(error)) (*Disk, error) {
	if warn == nil {
		warn = func(error) {}
	}
	s := &Disk{dir: dir, warn: warn, createTemp: os.CreateTemp}
	for _, sub := range []string{casDir, acDir, tmpDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("opening the cache: %w", err)
		}
	}
	return s, nil
}

// Dir is the folder of the store.
func (s *Disk) Dir() string { return s.dir }

// Written is how many bytes were stored through s.
func (s *Disk) Written() int64 { return s.written.Load() }

func (s *Disk) path(kind string, d Digest) string {
	h := d.Hex()
	return filepath.Join(s.dir, kind, h[:2], h)
}

// Get returns a blob after comparing it with its digest.
func (s *Disk) Get(_ context.Context, d Digest) ([]byte, error) {
	p := s.path(casDir, d)
	b, err := s.read(p)
	if err != nil {
		return nil, err
	}
	if Of(b) != d {
		os.Remove(p) // damaged: drop it, the action runs again
		return nil, ErrNotFound
	}
	return b, nil
}

// Put stores a blob.
func (s *Disk) Put(_ context.Context, b []byte) (Digest, error) {
	d := Of(b)
	p := s.path(casDir, d)
	if info, err := os.Stat(p); err == nil && info.Size() == d.Size {
		touch(p, info)
		return d, nil
	}
	return d, s.write(p, b)
}

// Has reports whether a blob seems to be there: a file of the right size. Get may still find it damaged.
func (s *Disk) Has(d Digest) bool {
	info, err := os.Stat(s.path(casDir, d))
	return err == nil && info.Size() == d.Size
}

// File is the file of a blob for another program to read; ok is false when it is not there. It must not be changed, may go when the store is cleaned,
// and is not compared with its digest.
func (s *Disk) File(d Digest) (path string, ok bool) {
	p := s.path(casDir, d)
	info, err := os.Stat(p)
	if err != nil || info.Size() != d.Size {
		return "", false
	}
	touch(p, info)
	return p, true
}

// GetAction returns a recorded result when all its blobs seem to be there.
func (s *Disk) GetAction(_ context.Context, key Digest) (*ActionResult, error) {
	p := s.path(acDir, key)
	b, err := s.read(p)
	if err != nil {
		return nil, err
	}
	r, err := Unseal(key, b)
	if err != nil {
		os.Remove(p)
		return nil, ErrNotFound
	}
	for _, o := range r.Outputs {
		if !s.Has(o.Digest) {
			return nil, ErrNotFound
		}
	}
	return r, nil
}

// PutAction records a result.
func (s *Disk) PutAction(_ context.Context, key Digest, r *ActionResult) error {
	return s.write(s.path(acDir, key), Seal(key, r))
}

func (s *Disk) read(p string) ([]byte, error) {
	b, err := os.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, s.fault("reading", err)
	}
	if info, err := os.Stat(p); err == nil {
		touch(p, info)
	}
	return b, nil
}

// touch renews the time stamp that eviction goes by; one from the future (the clock was set back) would never age.
func touch(p string, info fs.FileInfo) {
	if age := time.Since(info.ModTime()); age > touchEvery || age < -touchEvery {
		now := time.Now()
		_ = os.Chtimes(p, now, now) // only eviction order depends on it
	}
}

func (s *Disk) write(p string, b []byte) error {
	if time.Now().UnixNano() < s.restUntil.Load() {
		return errResting
	}
	err := s.tryWrite(p, b)
	if errors.Is(err, fs.ErrNotExist) { // the folders are made when needed, and again when somebody removed them
		for _, dir := range []string{filepath.Dir(p), filepath.Join(s.dir, tmpDir)} {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return s.writeFault(err)
			}
		}
		err = s.tryWrite(p, b)
	}
	if err != nil {
		return s.writeFault(err)
	}
	s.written.Add(int64(len(b)))
	return nil
}

func (s *Disk) tryWrite(p string, b []byte) error {
	f, err := s.createTemp(filepath.Join(s.dir, tmpDir), "put-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), p)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

var errResting = errors.New("the cache could not be written a moment ago")

func (s *Disk) writeFault(err error) error {
	s.restUntil.Store(time.Now().Add(writeRest).UnixNano())
	return s.fault("writing", err)
}

func (s *Disk) fault(doing string, err error) error {
	err = fmt.Errorf("%s the cache: %w", doing, err)
	s.warned.Do(func() { s.warn(err) })
	return err
}
