// Package cache keeps the results of actions: a content-addressed store of blobs (CAS), and an action cache that maps the key of an action to the
// digests of its outputs. Keys and digests are SHA-256 as in the Remote Execution API; the disk layout is that of Bazel's disk cache
// (cas/ab/abcd…, ac/ab/abcd…) and action results are its ActionResult messages, so one store can serve both tools.
//
// Contract of every Store: what is written is whole or absent, whatever is killed when; what is read is verified against its digest, and damage reads
// as ErrNotFound after the damaged entry was removed. All methods may be called from many goroutines and many processes at once.
package cache

import (
	"context"
	"errors"
)

// ErrNotFound says that a store does not hold what was asked for.
var ErrNotFound = errors.New("not in the cache")

// Store holds blobs and action results. Disk keeps them in a folder; remote.Store adds caches on other machines to a Disk.
type Store interface {
	// Get returns the blob of a digest.
	Get(ctx context.Context, d Digest) ([]byte, error)
	// Put stores a blob and returns its digest.
	Put(ctx context.Context, b []byte) (Digest, error)
	// GetAction returns the result recorded for an action key. A result whose blobs are not all present is ErrNotFound.
	GetAction(ctx context.Context, key Digest) (*ActionResult, error)
	// PutAction records a result; its blobs must be in the store already.
	PutAction(ctx context.Context, key Digest, r *ActionResult) error
}
