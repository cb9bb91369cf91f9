package syncer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/cache"
)

// linger is how long the first result in the queue waits for others, so that they go up in one batch.
const linger = 100 * time.Millisecond

// Upload queues results of the local cache for the remotes.
func (s *Syncer) Upload(keys []cache.Digest) {
	s.mu.Lock()
	s.queue = append(s.queue, keys...)
	s.busy += len(keys)
	full := len(s.queue) >= uploadKeys
	s.mu.Unlock()
	signal(s.wake)
	if full {
		signal(s.now)
	}
}

// signal wakes whoever waits for a channel with room for one element.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *Syncer) uploadLoop(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-s.now:
		case <-time.After(linger):
		case <-ctx.Done():
			return
		}
		for {
			s.mu.Lock()
			n := min(len(s.queue), uploadKeys)
			keys := s.queue[:n:n]
			s.queue = s.queue[n:]
			s.mu.Unlock()
			if n == 0 {
				break
			}
			for _, p := range s.peers {
				s.tryUpload(ctx, p, func() error { return s.upload(ctx, p, keys) })
			}
			s.mu.Lock()
			if s.busy -= n; s.busy == 0 {
				s.idle.Broadcast()
			}
			s.mu.Unlock()
		}
	}
}

// Drain returns when the queue is empty and the remotes know the index. used are the keys of all results that the build used, in order; those that a
// remote may lack, because they were found in the local cache, are uploaded too.
func (s *Syncer) Drain(ctx context.Context, used []cache.Digest) {
	s.Upload(used)
	signal(s.now)
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	for s.busy > 0 && ctx.Err() == nil {
		s.idle.Wait()
	}
	s.mu.Unlock()
	for _, p := range s.peers {
		s.tryUpload(ctx, p, func() error { return s.writeIndex(ctx, p, used) })
	}
}

// tryUpload does something to a remote that takes uploads; after an error it is only read.
func (s *Syncer) tryUpload(ctx context.Context, p *peer, do func() error) {
	p.mu.Lock()
	skip := p.full || time.Now().Before(p.offTill)
	p.mu.Unlock()
	if skip || ctx.Err() != nil {
		return
	}
	err := do()
	if err == nil || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	p.full = true
	p.mu.Unlock()
	w := warning(p, cache.CodeUpload, err)
	w.Message += "; nothing more is uploaded"
	s.warn(w)
}

// entriesOf reads the results of those keys that keep wants from the local cache, each once; those that are gone are left out.
func (s *Syncer) entriesOf(ctx context.Context, keys []cache.Digest, keep func(cache.Digest) bool) []Entry {
	var es []Entry
	seen := make(map[cache.Digest]bool, len(keys))
	for _, key := range keys {
		if seen[key] || !keep(key) {
			continue
		}
		seen[key] = true
		if r, err := s.disk.GetAction(ctx, key); err == nil {
			es = append(es, Entry{key, r})
		}
	}
	return es
}

func (s *Syncer) upload(ctx context.Context, p *peer, keys []cache.Digest) error {
	entries := s.entriesOf(ctx, keys, func(k cache.Digest) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.present[k]
	})
	if len(entries) == 0 {
		return nil
	}
	var ds []cache.Digest
	p.mu.Lock()
	for _, e := range entries {
		for _, o := range e.Result.Outputs {
			if !p.blobs[o.Digest] {
				p.blobs[o.Digest] = true
				ds = append(ds, o.Digest)
			}
		}
	}
	p.mu.Unlock()
	lost, err := s.uploadBlobs(ctx, p, ds)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		return slices.ContainsFunc(e.Result.Outputs, func(o cache.OutputFile) bool { return lost[o.Digest] })
	})
	call, cancel := p.within(ctx, int64(len(entries))<<10)
	defer cancel()
	if err := p.backend.PutActions(call, entries); err != nil {
		return err
	}
	p.mu.Lock()
	for _, e := range entries {
		p.present[e.Key] = true
	}
	p.mu.Unlock()
	return nil
}

// uploadBlobs uploads what the remote lacks of ds. Lost are those that the local cache had a moment ago and has no more.
func (s *Syncer) uploadBlobs(ctx context.Context, p *peer, ds []cache.Digest) (lost map[cache.Digest]bool, err error) {
	if len(ds) == 0 {
		return nil, nil
	}
	call, cancel := p.within(ctx, 0)
	missing, err := p.backend.Missing(call, ds)
	cancel()
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	var bytes int64
	for _, d := range missing {
		bytes += d.Size
	}
	call, cancel = p.within(ctx, bytes)
	defer cancel()
	lost = map[cache.Digest]bool{}
	var mu sync.Mutex
	err = p.backend.Upload(call, missing, func(d cache.Digest) ([]byte, error) {
		b, err := s.disk.Get(call, d)
		if err != nil {
			mu.Lock()
			lost[d] = true
			mu.Unlock()
			err = cache.ErrNotFound
		}
		return b, err
	})
	return lost, err
}

// writeIndex records what the build used, before what the remote's index had.
func (s *Syncer) writeIndex(ctx context.Context, p *peer, used []cache.Digest) error {
	if err := s.readIndex(ctx, p); err != nil {
		return err
	}
	entries := s.entriesOf(ctx, used, func(k cache.Digest) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.present[k]
	})
	p.mu.Lock()
	x := p.index.with(entries)
	p.mu.Unlock()
	if x == nil {
		return nil
	}
	d, err := s.disk.Put(ctx, x.marshal())
	if err != nil {
		return nil // the local cache has said so
	}
	if lost, err := s.uploadBlobs(ctx, p, []cache.Digest{d}); err != nil || len(lost) > 0 {
		return err
	}
	call, cancel := p.within(ctx, 0)
	defer cancel()
	r := &cache.ActionResult{Outputs: []cache.OutputFile{{Path: indexName, Digest: d}}}
	if err := p.backend.PutActions(call, []Entry{{indexKey(s.group), r}}); err != nil {
		return err
	}
	p.mu.Lock()
	p.index = x
	p.mu.Unlock()
	return nil
}
