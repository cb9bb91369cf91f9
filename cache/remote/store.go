// Package remote adds caches on other machines to a local one. A Store answers from the local cache; what is missing there it asks for from
// ptobuild-remote-cache, a program of its own (because linking gRPC costs every start of a program milliseconds), which brings it into the local cache. The program
// is started by the first question that the local cache cannot answer, so a build without changes never starts it.
//
// Contract: whatever remotes do, a build gives the same outputs. One that is slow, fails, lies or is full costs one warning and is left alone from then on.
// Nothing waits for uploads but Close, and that for a bounded time.
package remote

import (
	"context"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Store is a local cache with remotes behind it.
type Store struct {
	*cache.Disk
	helper helper

	mu    sync.Mutex              // guards what follows
	asked map[cache.Digest]bool   // keys that the remotes were asked for
	used  []cache.Digest          // keys of results that were found or made, in order
	seen  map[cache.Digest]bool   // those in used
	wrote bool                    // something was uploaded
	grown bool                    // something came
	told  map[diag.Code]time.Time // when a kind of warning was given
	warn  func(*diag.Diagnostic)
}

// Open adds remotes to a local cache. Helper is the path of ptobuild-remote-cache; group names the results that belong together, those of one workspace.
// Warn is told, from any goroutine, of what goes wrong. Close the store when done.
func Open(disk *cache.Disk, helperPath, group string, remotes []*Remote, warn func(*diag.Diagnostic)) *Store {
	s := &Store{Disk: disk, asked: map[cache.Digest]bool{}, seen: map[cache.Digest]bool{}, told: map[diag.Code]time.Time{}, warn: warn}
	s.helper = helper{path: helperPath, hello: Hello{Version: Version, Dir: disk.Dir(), Group: group, Remotes: remotes}, warn: s.tell}
	return s
}

// writable reports whether any remote takes uploads.
func (s *Store) writable() bool {
	for _, r := range s.helper.hello.Remotes {
		if r.Write {
			return true
		}
	}
	return false
}

// GetAction returns a result from the local cache or from a remote.
func (s *Store) GetAction(ctx context.Context, key cache.Digest) (*cache.ActionResult, error) {
	r, err := s.Disk.GetAction(ctx, key)
	if err != nil && s.fetch(ctx, key) {
		r, err = s.Disk.GetAction(ctx, key)
	}
	if err == nil {
		s.use(key)
	}
	return r, err
}

// Health asks every remote whether it answers.
func (s *Store) Health(ctx context.Context) ([]Health, error) {
	resp, err := s.helper.call(ctx, &Request{Op: Probe})
	if err != nil {
		return nil, err
	}
	return resp.Health, nil
}

// fetch asks the remotes for a result, once, and reports whether it came.
func (s *Store) fetch(ctx context.Context, key cache.Digest) bool {
	s.mu.Lock()
	asked := s.asked[key]
	s.asked[key] = true
	s.mu.Unlock()
	if asked {
		return false
	}
	resp, err := s.helper.call(ctx, &Request{Op: Fetch, Keys: []cache.Digest{key}})
	if err != nil || resp.Found == 0 {
		return false
	}
	s.mu.Lock()
	s.grown = true
	s.mu.Unlock()
	return true
}

// Grown reports whether anything was put into the local cache.
func (s *Store) Grown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown || s.Written() > 0
}

// PutAction records a result here and, later, on the remotes.
func (s *Store) PutAction(ctx context.Context, key cache.Digest, r *cache.ActionResult) error {
	if err := s.Disk.PutAction(ctx, key, r); err != nil {
		return err
	}
	s.use(key)
	if !s.writable() {
		return nil
	}
	s.mu.Lock()
	s.wrote = true
	s.mu.Unlock()
	s.helper.send(&Request{Op: Upload, Keys: []cache.Digest{key}})
	return nil
}

func (s *Store) use(key cache.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen[key] {
		s.seen[key] = true
		s.used = append(s.used, key)
	}
}

// Close ends the use of the store. What was stored is uploaded, for which it waits, but no longer than wait.
func (s *Store) Close(wait time.Duration) {
	if used, wrote := s.results(); wrote && wait > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		if _, err := s.helper.call(ctx, &Request{Op: Drain, Keys: used}); err != nil && ctx.Err() != nil {
			s.tell(&Warning{Code: cache.CodeUpload, Message: "not everything could be uploaded within " + wait.String(),
				Hint: "what is missing is uploaded when it is made again; upload_wait in [cache] allows more time"})
		}
		cancel()
	}
	s.helper.close()
}

// Leave ends the use of the store without waiting: the helper goes on by itself until everything is uploaded, for a minute at most, and tells nothing more.
func (s *Store) Leave() {
	used, wrote := s.results()
	if !wrote {
		s.helper.close()
		return
	}
	s.helper.send(&Request{Op: Drain, Keys: used})
	s.helper.leave()
}

func (s *Store) results() (used []cache.Digest, wrote bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.wrote
}

// tellAgain is how long a kind of warning is not repeated: a watch runs for days.
const tellAgain = time.Hour

func (s *Store) tell(w *Warning) {
	s.mu.Lock()
	last, told := s.told[w.Code]
	again := !told || time.Since(last) > tellAgain
	if again {
		s.told[w.Code] = time.Now()
	}
	s.mu.Unlock()
	if again {
		s.warn(w.Diagnostic())
	}
}
