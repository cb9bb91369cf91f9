package cache

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// touchEvery bounds how often a hit renews an entry's time stamp: often enough for least-recently-used eviction, rare enough to cost nothing.
const touchEvery = time.Hour

type disk struct{ dir string }

// NewDisk opens (and makes) a store in a directory. Blobs are written to a temporary file in the same directory and renamed into place,
// so readers see whole blobs or none.
func NewDisk(dir string) (Store, error) {
	for _, sub := range []string{"cas", "ac", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("opening the cache: %w", err)
		}
	}
	return &disk{dir}, nil
}

func (s *disk) path(kind string, d Digest) string {
	h := d.Hex()
	return filepath.Join(s.dir, kind, h[:2], h)
}

func (s *disk) Get(_ context.Context, d Digest) ([]byte, error) {
	p := s.path("cas", d)
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

func (s *disk) Put(_ context.Context, b []byte) (Digest, error) {
	d := Of(b)
	p := s.path("cas", d)
	if info, err := os.Stat(p); err == nil && info.Size() == d.Size {
		return d, nil
	}
	return d, s.write(p, b)
}

func (s *disk) GetAction(_ context.Context, key Digest) (*ActionResult, error) {
	p := s.path("ac", key)
	b, err := s.read(p)
	if err != nil {
		return nil, err
	}
	r, err := UnmarshalActionResult(b)
	if err != nil {
		os.Remove(p)
		return nil, ErrNotFound
	}
	for _, o := range r.Outputs {
		if info, err := os.Stat(s.path("cas", o.Digest)); err != nil || info.Size() != o.Digest.Size {
			return nil, ErrNotFound
		}
	}
	return r, nil
}

func (s *disk) PutAction(_ context.Context, key Digest, r *ActionResult) error {
	return s.write(s.path("ac", key), r.Marshal())
}

func (s *disk) read(p string) ([]byte, error) {
	b, err := os.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cache: %w", err)
	}
	if info, err := os.Stat(p); err == nil && time.Since(info.ModTime()) > touchEvery {
		now := time.Now()
		_ = os.Chtimes(p, now, now) // only eviction order depends on it
	}
	return b, nil
}

func (s *disk) write(p string, b []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the cache: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "put-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), p)
}

func digestFrom(hexHash string, size int64) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(hexHash)
	if err != nil || len(b) != len(d.Hash) || size < 0 {
		return d, errMalformed
	}
	copy(d.Hash[:], b)
	d.Size = size
	return d, nil
}
