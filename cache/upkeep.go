package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// DefaultMaxSize is the size that automatic collection keeps a store below unless the user says otherwise.
	DefaultMaxSize = 10 << 30
	// collectEvery is how long a collection lasts: walking 100,000 entries takes about half a second.
	collectEvery = time.Hour
	// staleTemp is the age at which a temporary file was left by a killed process: writing takes seconds.
	staleTemp = time.Hour
	// collectTo is the part of the limit that a collection leaves, so that the next write does not start another one.
	collectTo = 0.9
	// stampFile has the time of the last collection as its time stamp; lockFile is locked by the process that collects.
	stampFile = "collected"
	lockFile  = "lock"
	// trashPrefix begins the names of folders that are being removed.
	trashPrefix = "trash-"
)

// Stats describes what a store holds.
type Stats struct {
	Dir         string    `json:"dir"`
	Blobs       int       `json:"blobs"`
	BlobBytes   int64     `json:"blob_bytes"`
	Actions     int       `json:"actions"`
	ActionBytes int64     `json:"action_bytes"`
	Temporary   int       `json:"temporary"` // files that a running or killed process left
	Oldest      time.Time `json:"oldest,omitzero"`
	Collected   time.Time `json:"collected,omitzero"` // the last time that old entries were removed
}

// Bytes is the size of all entries.
func (s *Stats) Bytes() int64 { return s.BlobBytes + s.ActionBytes }

// Removed says what a collection or a check took away.
type Removed struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

func (r *Removed) add(size int64) {
	r.Entries++
	r.Bytes += size
}

// Verified is what a check of a whole store found.
type Verified struct {
	Blobs    int     `json:"blobs"`
	Actions  int     `json:"actions"`
	Damaged  Removed `json:"damaged"`
	Dangling Removed `json:"dangling"` // results whose blobs are gone
}

type entry struct {
	path string
	kind string
	size int64
	used time.Time
}

// entries walks the files of one kind. Files that vanish meanwhile are no error: other processes collect too.
func (s *Disk) entries(kind string, visit func(entry)) error {
	return filepath.WalkDir(filepath.Join(s.dir, kind), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(entry{p, kind, info.Size(), info.ModTime()})
		return nil
	})
}

// Stats counts what the store holds.
func (s *Disk) Stats() (*Stats, error) {
	st := &Stats{Dir: s.dir}
	older := func(t time.Time) {
		if st.Oldest.IsZero() || t.Before(st.Oldest) {
			st.Oldest = t
		}
	}
	err := cmp.Or(
		s.entries(casDir, func(e entry) { st.Blobs++; st.BlobBytes += e.size; older(e.used) }),
		s.entries(acDir, func(e entry) { st.Actions++; st.ActionBytes += e.size; older(e.used) }),
		s.entries(tmpDir, func(entry) { st.Temporary++ }))
	if err != nil {
		return nil, s.listing(err)
	}
	if info, err := os.Stat(filepath.Join(s.dir, stampFile)); err == nil {
		st.Collected = info.ModTime()
	}
	return st, nil
}

func (s *Disk) listing(err error) error { return fmt.Errorf("listing the cache: %w", err) }

// Collect removes the least recently used entries until the store is well below maxSize bytes, when it is above it; entries used after spare stay
// whatever the size. It also removes temporary files of killed processes. One process at a time collects; others wait.
func (s *Disk) Collect(ctx context.Context, maxSize int64, spare time.Time) (*Removed, error) {
	unlock, err := s.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.collect(ctx, maxSize, spare)
}

// CollectIfDue collects, at most hourly, and not when another process does. It is for the end of a build that stored something; what was used since the
// build began stays.
func (s *Disk) CollectIfDue(ctx context.Context, maxSize int64, began time.Time) error {
	if info, err := os.Stat(filepath.Join(s.dir, stampFile)); err == nil {
		if age := time.Since(info.ModTime()); 0 <= age && age < collectEvery {
			return nil
		}
	}
	unlock, err := s.lock(false)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.collect(ctx, maxSize, began.Add(-2*touchEvery))
	return err
}

// lock takes the lock of collections.
func (s *Disk) lock(wait bool) (unlock func(), err error) {
	unlock, err = LockFile(filepath.Join(s.dir, lockFile), wait)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	return unlock, nil
}

// LockFile takes a lock that a file stands for, and makes the file if need be. The lock belongs to the open file, so it ends with the process. When another holds it,
// it waits, or fails with EWOULDBLOCK.
func LockFile(name string, wait bool) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func (s *Disk) collect(ctx context.Context, maxSize int64, spare time.Time) (*Removed, error) {
	gone := &Removed{}
	now := time.Now()
	err := s.entries(tmpDir, func(e entry) {
		if age := now.Sub(e.used); age > staleTemp || age < -staleTemp {
			os.Remove(e.path)
		}
	})
	var all []entry
	var total int64
	for _, kind := range []string{casDir, acDir} {
		err = cmp.Or(err, s.entries(kind, func(e entry) {
			all = append(all, e)
			total += e.size
		}))
	}
	if err != nil {
		return nil, s.listing(err)
	}
	if total > maxSize {
		goal := int64(float64(maxSize) * collectTo)
		slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
		for _, e := range all {
			if total <= goal || e.used.After(spare) {
				break
			}
			if err := context.Cause(ctx); err != nil {
				return gone, err
			}
			if err := os.Remove(e.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, fmt.Errorf("collecting the cache: %w", err)
			}
			total -= e.size
			gone.add(e.size)
		}
	}
	return gone, os.WriteFile(filepath.Join(s.dir, stampFile), nil, 0o666)
}

// Verify reads everything, removes what is damaged, and removes results whose blobs are gone.
func (s *Disk) Verify(ctx context.Context) (*Verified, error) {
	v := &Verified{}
	var mu sync.Mutex
	err := s.each(ctx, casDir, func(e entry) error {
		sum, err := hashFile(e.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		v.Blobs++
		if err != nil || hex.EncodeToString(sum[:]) != filepath.Base(e.path) {
			v.Damaged.add(e.size)
			return os.Remove(e.path)
		}
		return nil
	})
	if err != nil {
		return nil, s.listing(err)
	}
	err = s.each(ctx, acDir, func(e entry) error {
		b, err := os.ReadFile(e.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		key, keyErr := digestFrom(filepath.Base(e.path), 0)
		var r *ActionResult
		if err = cmp.Or(err, keyErr); err == nil {
			r, err = Unseal(key, b)
		}
		mu.Lock()
		defer mu.Unlock()
		v.Actions++
		if err != nil {
			v.Damaged.add(e.size)
			return os.Remove(e.path)
		}
		if slices.ContainsFunc(r.Outputs, func(o OutputFile) bool { return !s.Has(o.Digest) }) {
			v.Dangling.add(e.size)
			return os.Remove(e.path)
		}
		return nil
	})
	if err != nil {
		return nil, s.listing(err)
	}
	return v, nil
}

// each visits the entries of one kind on all cores.
func (s *Disk) each(ctx context.Context, kind string, f func(entry) error) error {
	ch := make(chan entry, 64)
	var wg sync.WaitGroup
	errs := make([]error, runtime.NumCPU())
	for i := range errs {
		wg.Go(func() {
			for e := range ch {
				if errs[i] == nil && ctx.Err() == nil {
					errs[i] = f(e)
				}
			}
		})
	}
	err := s.entries(kind, func(e entry) { ch <- e })
	close(ch)
	wg.Wait()
	return errors.Join(append(errs, err, context.Cause(ctx))...)
}

func hashFile(name string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Clean removes all entries. What stands in the folder beside them is left alone. Processes that use the store meanwhile find it empty.
func (s *Disk) Clean() (*Removed, error) {
	gone := &Removed{}
	for _, kind := range []string{casDir, acDir, tmpDir} {
		if err := s.entries(kind, func(e entry) { gone.add(e.size) }); err != nil {
			return nil, s.listing(err)
		}
		// Renamed first: a folder in which others make files cannot be removed.
		err := os.Rename(filepath.Join(s.dir, kind), filepath.Join(s.dir, fmt.Sprint(trashPrefix, kind, "-", os.Getpid())))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cleaning the cache: %w", err)
		}
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, s.listing(err)
	}
	for _, f := range files {
		if name := f.Name(); strings.HasPrefix(name, trashPrefix) || name == stampFile { // also the trash of a process that was killed here
			if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
				return nil, fmt.Errorf("cleaning the cache: %w", err)
			}
		}
	}
	return gone, nil
}
