package main

import (
	"context"
	"errors"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// openStore is the store of a command while it runs.
type openStore struct {
	local *cache.Disk // nil: results are not kept
	began time.Time
	limit int64
}

// openCache opens the store on first use; nil when there is none.
func (a *app) openCache() cache.Store {
	if a.store == nil {
		a.store = a.newStore(a.ws)
	}
	if a.store.local == nil {
		return nil
	}
	return a.store.local
}

func (a *app) newStore(ws *graph.Workspace) *openStore {
	s := &openStore{began: time.Now()}
	var err error
	if s.limit, err = cacheLimit(ws); err != nil {
		a.warnCache(err)
		s.limit = cache.DefaultMaxSize
	}
	s.local, err = localCache(func(err error) {
		a.warnCache(diag.Errorf(cache.CodeFolder, diag.Span{}, "%v", err).WithHint("`ptobuild cache stats` tells where the cache is"))
	})
	if err != nil {
		a.warnCache(err)
	}
	return s
}

// closeStore ends the use of the cache: what is too old goes.
func (a *app) closeStore() {
	s := a.store
	if s == nil || s.local == nil {
		return
	}
	a.store = nil
	if err := s.local.CollectIfDue(context.Background(), s.limit, s.began); err != nil {
		a.warnCache(diag.Errorf(cache.CodeFolder, diag.Span{}, "%v", err))
	}
}

// warnCache tells that a cache does not work; nothing else differs.
func (a *app) warnCache(err error) {
	d := diag.Warningf(cache.CodeFolder, diag.Span{}, "%v; results are not kept", err)
	var given *diag.Diagnostic
	if errors.As(err, &given) {
		warning := *given
		warning.Severity = diag.Warning
		d = &warning
	}
	if a.ui.JSON {
		a.ui.Notef("%v\n", d)
		return
	}
	a.ui.Report(diag.List{d}, sourceOf(a.ws))
}
