package main

import (
	"context"
	"errors"
	"os"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// defaultUploadWait is how long a command that is not at a terminal waits for uploads after everything else is done.
const defaultUploadWait = 5 * time.Second

// collectAfter is how often a watch looks after the size of the cache.
const collectAfter = time.Hour

// openStore is what a command keeps results in while it runs.
type openStore struct {
	config graph.CacheConfig // it was opened with
	local  *cache.Disk       // nil: results are not kept
	remote *remote.Store     // nil: only here
	temp   string            // the folder of local when it is not to stay
	began  time.Time
	limit  int64
	wait   time.Duration // for uploads
}

// cacheFlags adds the flags about remote caches. A mistake in them ends the command, unlike one in the environment, which may only lack a secret.
func (a *app) cacheFlags(cmd *cobra.Command) {
	set := func(field *string) func(string) error {
		return func(v string) error {
			*field = v
			return a.remotes.Check()
		}
	}
	cmd.Flags().Func("remote-cache", "use the cache at `URL` instead of those of Pto.toml; \"off\" for none", set(&a.remotes.URL))
	cmd.Flags().Func("remote-cache-mode", "`MODE` of remote caches: read or read-write", set(&a.remotes.Mode))
	cmd.Flags().Func("remote-cache-header", "send `NAME=VALUE` to remote caches (may be repeated)", func(v string) error {
		a.remotes.Headers = append(a.remotes.Headers, v)
		return a.remotes.Check()
	})
}

// openCache opens the store on first use, and again when Pto.toml says something else of it; nil when there is none.
func (a *app) openCache() cache.Store {
	var config graph.CacheConfig
	if a.ws != nil {
		config = a.ws.Config.Cache
	}
	if a.store != nil && !reflect.DeepEqual(a.store.config, config) {
		a.closeStore(context.Background())
	}
	switch s := a.store; {
	case s == nil:
		a.store = a.newStore(config)
	case s.local != nil && time.Since(s.began) > collectAfter: // a watch runs for days
		s.began = time.Now()
		go a.collect(s, s.began)
	}
	switch s := a.store; {
	case s.remote != nil:
		return s.remote
	case s.local != nil:
		return s.local
	}
	return nil
}

// buildStore is where a build finds what loading and generating gave before. They take less time than asking another machine for one result, so after an edit
// only this machine is asked; a new checkout, which lacks all of them, gets them in bulk.
func (a *app) buildStore(s *graph.Session) cache.Store {
	store := a.openCache()
	if a.store.remote != nil && !s.New() {
		return a.store.local
	}
	return store
}

func (a *app) newStore(config graph.CacheConfig) *openStore {
	s := &openStore{config: config, began: time.Now(), wait: defaultUploadWait}
	if config.UploadWait != "" {
		s.wait, _ = time.ParseDuration(config.UploadWait) // checked when Pto.toml was read
	}
	var err error
	if s.limit, err = cacheLimit(a.ws); err != nil {
		a.warnCache(err)
		s.limit = cache.DefaultMaxSize
	}
	s.local, err = localCache(a.warnFolder)
	if err != nil {
		a.warnCache(err)
	}
	remotes, err := remote.Choose(config.Remotes, a.remotes, a.inRoot)
	if err != nil {
		a.warnCache(err)
	}
	if len(remotes) == 0 {
		return s
	}
	helper, err := remote.Helper()
	if err != nil {
		a.warnCache(diag.Errorf(cache.CodeHelper, diag.Span{}, "%v", err))
		return s
	}
	if s.local == nil { // what comes from remotes needs a place for as long as this runs
		if s.temp, err = os.MkdirTemp("", "ptobuild-cache-"); err == nil {
			s.local, err = cache.NewDisk(s.temp, a.warnFolder)
		}
		if err != nil {
			s.local = nil
			return s
		}
	}
	group := ""
	if a.ws != nil {
		group = a.ws.Config.Workspace.Name
	}
	s.remote = remote.Open(s.local, helper, group, remotes, func(d *diag.Diagnostic) { a.warnCache(d) })
	return s
}

// inRoot is a path of Pto.toml as the operating system knows it.
func (a *app) inRoot(p string) string {
	if a.ws == nil {
		return a.path(p)
	}
	return a.ws.Abs(p)
}

// closeStore ends the use of the cache: what was made is uploaded unless ctx has ended, and what is too old goes.
func (a *app) closeStore(ctx context.Context) {
	s := a.store
	if s == nil || s.local == nil {
		return
	}
	a.store = nil
	if s.remote != nil {
		switch {
		case ctx.Err() != nil:
			s.remote.Close(0)
		case a.ui.Live && s.temp == "": // somebody waits for the prompt
			s.remote.Leave()
		default:
			s.remote.Close(s.wait)
		}
	}
	if s.temp != "" {
		_ = os.RemoveAll(s.temp) // in the folder for temporary files
		return
	}
	a.collect(s, s.began)
}

// collect removes what is too old from the local cache when it has grown, now and then.
func (a *app) collect(s *openStore, began time.Time) {
	if s.local.Written() == 0 && (s.remote == nil || !s.remote.Grown()) {
		return
	}
	if err := s.local.CollectIfDue(context.Background(), s.limit, began); err != nil {
		a.warnFolder(err)
	}
}

// warnFolder tells that the local cache does not work.
func (a *app) warnFolder(err error) {
	a.warnCache(diag.Errorf(cache.CodeFolder, diag.Span{}, "%v", err).WithHint("results are not kept; `ptobuild cache stats` tells where the cache is"))
}

// warnCache tells that something about caches does not work. Nothing else differs for it, so it is a warning.
func (a *app) warnCache(err error) {
	d := diag.Warningf(cache.CodeFolder, diag.Span{}, "%v", err)
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
