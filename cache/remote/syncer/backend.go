package syncer

import (
	"context"

	"github.com/ptobuild/ptobuild/cache"
)

// Backend is a cache on another machine. Each method takes a whole batch and makes as few calls of it as the protocol allows; one error ends the batch. What
// comes back is not trusted: the syncer compares it with its digest. Methods may be called from several goroutines.
type Backend interface {
	// Actions returns the results of keys, nil for those that are not there.
	Actions(ctx context.Context, keys []cache.Digest) ([]*cache.ActionResult, error)
	// Blobs hands over those blobs that are there, one call of got at a time, in any order. A blob longer than its digest says may be cut.
	Blobs(ctx context.Context, ds []cache.Digest, got func(d cache.Digest, b []byte) error) error
	// Missing returns those of the digests that are not there.
	Missing(ctx context.Context, ds []cache.Digest) ([]cache.Digest, error)
	// Upload stores blobs; read gives their content. A blob that read does not find is left out.
	Upload(ctx context.Context, ds []cache.Digest, read func(cache.Digest) ([]byte, error)) error
	// PutActions records results, whose blobs are there.
	PutActions(ctx context.Context, entries []Entry) error
}

// Entry is a result and its key.
type Entry struct {
	Key    cache.Digest
	Result *cache.ActionResult
}

// Hinted is an error that knows what to do about it.
type Hinted struct {
	Err  error
	Hint string
}

func (h *Hinted) Error() string { return h.Err.Error() }
func (h *Hinted) Unwrap() error { return h.Err }
