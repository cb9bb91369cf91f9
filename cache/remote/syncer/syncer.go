// Package syncer moves results between the local cache and remote ones. It runs in ptobuild-remote-cache (see package remote), which the main program asks
// for results and tells of new ones.
//
// Contract: nothing reaches the local cache but blobs that have their digest and results whose blobs are there. A remote that fails, lies or is too slow is
// left alone, for a while, after one warning; one that takes no uploads is only read.
package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/internal/diag"
)

const (
	// fewKeys is the number of keys that are looked up singly before the index is read: a build after an edit needs none.
	fewKeys = 4
	// patience is after how many lookups in a row that found nothing only every sampleth key is looked up, until one is found: the first build of all
	// would ask for each of its actions in vain.
	patience = 16
	sample   = 16
	// aheadMost and aheadBytes bound what is fetched ahead at once.
	aheadMost  = 1024
	aheadBytes = 4 << 20
	// uploadKeys is how many results go up at once: enough for full batches, few enough to lose little when time runs out.
	uploadKeys = 512
	// offTime is how long a remote that failed is left alone. Only a watch runs that long.
	offTime = 5 * time.Minute
	// perByte is the time that a transfer may take beyond the timeout: 1 MiB a second.
	perByte = time.Second / (1 << 20)
	// slowRounds is the number of timeouts that may be waited in all for a remote that gives less than a result a second.
	slowRounds = 3
)

// Syncer serves one local cache.
type Syncer struct {
	disk  *cache.Disk
	group string
	peers []*peer
	warn  func(remote.Warning)

	mu     sync.Mutex // guards what follows
	queue  []cache.Digest
	wake   chan struct{} // has an element when the queue may have some
	now    chan struct{} // has an element when it is not to be waited for more
	busy   int           // results in the queue or under way
	idle   *sync.Cond    // busy became 0
	closed context.CancelFunc
}

// peer is one remote.
type peer struct {
	*remote.Remote
	backend Backend

	indexing sync.Mutex // held while the index is read
	indexed  bool       // that was tried

	mu      sync.Mutex // guards what follows
	offTill time.Time
	full    bool   // it takes no uploads
	index   *index // nil: none known
	asked   int    // keys that it was asked for
	missed  int    // lookups in a row that found nothing
	skipped int    // keys that were not looked up since the last one
	window  int    // entries fetched ahead last time
	waited  time.Duration
	found   int
	present map[cache.Digest]bool // keys whose results it has
	blobs   map[cache.Digest]bool // blobs that it has
}

// New makes a syncer; backends[i] talks to remotes[i]. Warn may be called from any goroutine. Close it when done.
func New(disk *cache.Disk, group string, remotes []*remote.Remote, backends []Backend, warn func(remote.Warning)) *Syncer {
	s := &Syncer{disk: disk, group: group, warn: warn, wake: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	s.idle = sync.NewCond(&s.mu)
	for i, r := range remotes {
		s.peers = append(s.peers, &peer{Remote: r, backend: backends[i], full: !r.Write, present: map[cache.Digest]bool{}, blobs: map[cache.Digest]bool{}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.closed = cancel
	go s.uploadLoop(ctx)
	return s
}

// Close ends uploads, whether or not they are done.
func (s *Syncer) Close() { s.closed() }

// Probe asks every remote for a result.
func (s *Syncer) Probe(ctx context.Context) []remote.Health {
	hs := make([]remote.Health, len(s.peers))
	var wg sync.WaitGroup
	for i, p := range s.peers {
		wg.Go(func() {
			call, cancel := p.within(ctx, 0)
			defer cancel()
			start := time.Now()
			_, err := p.backend.Actions(call, []cache.Digest{indexKey(s.group)})
			hs[i] = remote.Health{URL: p.URL, Write: p.Write, Took: time.Since(start)}
			if err != nil {
				w := warning(p, cache.CodeRemote, err)
				hs[i].Error, hs[i].Hint = err.Error(), w.Hint
			}
		})
	}
	wg.Wait()
	return hs
}

// Fetch brings results into the local cache and tells how many it brought.
func (s *Syncer) Fetch(ctx context.Context, keys []cache.Digest) int {
	left := slices.Clone(keys)
	for _, p := range s.peers {
		if len(left) == 0 {
			break
		}
		if p.off() {
			continue
		}
		start := time.Now()
		got, err := s.fetch(ctx, p, left)
		left = slices.DeleteFunc(left, func(k cache.Digest) bool { return got[k] })
		if err == nil {
			err = p.paid(time.Since(start), len(got))
		}
		if err != nil && ctx.Err() == nil {
			s.fail(p, err)
		}
	}
	return len(keys) - len(left)
}

// fetch brings what one remote has of keys; got may be non-empty beside an error.
func (s *Syncer) fetch(ctx context.Context, p *peer, keys []cache.Digest) (got map[cache.Digest]bool, err error) {
	p.mu.Lock()
	p.asked += len(keys)
	many := p.asked > fewKeys
	p.mu.Unlock()
	if many {
		if err := s.readIndex(ctx, p); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	x := p.index
	p.mu.Unlock()
	var known []Entry
	var unknown []cache.Digest
	last := -1
	for _, key := range keys {
		if i, ok := x.lookup(key); ok {
			known = append(known, x.entries[i])
			last = max(last, i)
		} else {
			unknown = append(unknown, key)
		}
	}
	if last >= 0 && len(keys) <= fewKeys {
		known = append(known, s.ahead(p, x, last+1)...)
	}
	got, err = s.bring(ctx, p, known)
	if err != nil {
		return got, err
	}
	for _, key := range keys { // an index may name blobs that are gone, while the action was done again since
		if _, ok := x.lookup(key); ok && !got[key] {
			unknown = append(unknown, key)
		}
	}
	if unknown = p.worthAsking(unknown); len(unknown) == 0 {
		return got, nil
	}
	call, cancel := p.within(ctx, 0)
	results, err := p.backend.Actions(call, unknown)
	cancel()
	if err != nil {
		return got, err
	}
	p.learn(results)
	var more []Entry
	for i, r := range results {
		if r != nil && len(r.Outputs) > 0 && r.ExitCode == 0 { // nothing else is ever recorded
			more = append(more, Entry{unknown[i], r})
		}
	}
	also, err := s.bring(ctx, p, more)
	for key := range also {
		got[key] = true
	}
	return got, err
}

// worthAsking leaves out keys that will hardly be found.
func (p *peer) worthAsking(keys []cache.Digest) []cache.Digest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(keys, func(cache.Digest) bool {
		skip := p.missed >= patience && p.skipped < sample-1
		if p.skipped++; !skip {
			p.skipped = 0
		}
		return skip
	})
}

// learn counts lookups that found nothing.
func (p *peer) learn(results []*cache.ActionResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range results {
		if p.missed++; r != nil {
			p.missed = 0
		}
	}
}

// ahead gives the entries from i on that will probably be asked for next: twice as many as last time.
func (s *Syncer) ahead(p *peer, x *index, i int) []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window = min(max(1, 2*p.window), aheadMost)
	var es []Entry
	var bytes int64
	for ; i < len(x.entries) && len(es) < p.window; i++ {
		e := x.entries[i]
		if p.present[e.Key] {
			continue // was brought
		}
		for _, o := range e.Result.Outputs {
			bytes += o.Digest.Size
		}
		if bytes > aheadBytes {
			break
		}
		es = append(es, e)
	}
	return es
}

var empty = cache.Of(nil)

// bring fetches the blobs of results that the local cache does not have, and records those results that are whole then.
func (s *Syncer) bring(ctx context.Context, p *peer, entries []Entry) (map[cache.Digest]bool, error) {
	got := map[cache.Digest]bool{}
	if len(entries) == 0 {
		return got, nil
	}
	var missing []cache.Digest
	var bytes int64
	seen := map[cache.Digest]bool{}
	for _, e := range entries {
		for _, o := range e.Result.Outputs {
			if o.Digest == empty {
				_, _ = s.disk.Put(ctx, nil) // remotes need not have it; a local cache that cannot be written has said so
			}
			if !seen[o.Digest] && !s.disk.Has(o.Digest) {
				missing = append(missing, o.Digest)
				bytes += o.Digest.Size
			}
			seen[o.Digest] = true
		}
	}
	err := s.blobs(ctx, p, missing, bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range entries { // also after an error: what came is good
		if slices.ContainsFunc(e.Result.Outputs, func(o cache.OutputFile) bool { return !s.disk.Has(o.Digest) }) {
			continue
		}
		if s.disk.PutAction(ctx, e.Key, e.Result) == nil {
			got[e.Key], p.present[e.Key] = true, true
		}
	}
	return got, err
}

// ErrLied marks content that is not what was asked for.
var ErrLied = errors.New("wrong content")

// blobs fetches blobs into the local cache; those that the remote does not have are no error.
func (s *Syncer) blobs(ctx context.Context, p *peer, ds []cache.Digest, bytes int64) error {
	if len(ds) == 0 {
		return nil
	}
	call, cancel := p.within(ctx, bytes)
	defer cancel()
	return p.backend.Blobs(call, ds, func(d cache.Digest, b []byte) error {
		if cache.Of(b) != d {
			return fmt.Errorf("%w for blob %s", ErrLied, d)
		}
		_, _ = s.disk.Put(ctx, b) // a local cache that cannot be written has said so
		p.mu.Lock()
		p.blobs[d] = true
		p.mu.Unlock()
		return nil
	})
}

// readIndex reads the remote's index, once.
func (s *Syncer) readIndex(ctx context.Context, p *peer) error {
	p.indexing.Lock()
	defer p.indexing.Unlock()
	if p.indexed {
		return nil
	}
	call, cancel := p.within(ctx, 0)
	defer cancel()
	rs, err := p.backend.Actions(call, []cache.Digest{indexKey(s.group)})
	if err != nil {
		return err
	}
	p.indexed = true
	if rs[0] == nil {
		return nil
	}
	d, ok := rs[0].Output(indexName)
	if !ok || d.Size > indexBytes {
		return nil
	}
	if !s.disk.Has(d) {
		if err := s.blobs(ctx, p, []cache.Digest{d}, d.Size); err != nil {
			return err
		}
	}
	b, err := s.disk.Get(ctx, d)
	if err != nil {
		return nil // it is gone; there will be another
	}
	x, err := unmarshalIndex(b)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	p.index = x
	p.mu.Unlock()
	return nil
}

// within is a context for a round of calls that moves so many bytes.
func (p *peer) within(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.Timeout+time.Duration(bytes)*perByte, errTimeout)
}

var errTimeout = errors.New("no answer in time")

func (p *peer) off() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.offTill)
}

// paid counts the time that a remote cost and what it gave; one that costs more than it gives is an error.
func (p *peer) paid(took time.Duration, found int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += took
	p.found += found
	if p.waited > slowRounds*p.Timeout && p.waited.Seconds() > float64(p.found) {
		return fmt.Errorf("is too slow: %s for %d results", p.waited.Round(time.Millisecond), p.found)
	}
	return nil
}

// fail leaves a remote alone and says so.
func (s *Syncer) fail(p *peer, err error) {
	p.mu.Lock()
	p.offTill = time.Now().Add(offTime)
	p.waited, p.found = 0, 0
	p.mu.Unlock()
	w := warning(p, cache.CodeRemote, err)
	if errors.Is(err, ErrLied) {
		w.Code = cache.CodeLied
	}
	w.Message += "; building without it"
	s.warn(w)
}

func warning(p *peer, code diag.Code, err error) remote.Warning {
	w := remote.Warning{Code: code, Message: fmt.Sprintf("remote cache %s: %v", p.URL, err)}
	var h *Hinted
	if errors.As(err, &h) {
		w.Hint = h.Hint
	}
	return w
}
