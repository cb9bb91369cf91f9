package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/ui"
)

// cacheDirEnv and cacheSizeEnv override where the cache is and how large it may get.
const (
	cacheDirEnv  = "PTOBUILD_CACHE"
	cacheSizeEnv = "PTOBUILD_CACHE_SIZE"
)

func (a *app) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look at the local cache, shrink it, check it, empty it",
		Long: "The results of actions are kept in a folder of the user, $" + cacheDirEnv + " or ptobuild in the user's cache folder, for all workspaces.\n" +
			"docs/caching.md tells what is kept, for how long, and how caches are shared.",
	}
	var maxSize string
	gc := &cobra.Command{
		Use: "gc", Short: "Remove the least recently used entries above the size limit", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.cacheGC(cmd.Context(), maxSize) },
	}
	gc.Flags().StringVar(&maxSize, "max-size", "", "the limit as `SIZE`, like 2GiB (default: that of Pto.toml, else "+cache.FormatSize(cache.DefaultMaxSize)+")")
	stats := &cobra.Command{
		Use: "stats", Short: "Tell where the cache is, what it holds, and whether remote caches answer", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.cacheStats(cmd.Context()) },
	}
	a.cacheFlags(stats)
	cmd.AddCommand(stats, gc,
		&cobra.Command{Use: "verify", Short: "Read every entry and remove what is damaged", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.cacheVerify(cmd.Context()) }},
		&cobra.Command{Use: "clean", Short: "Remove all entries", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.cacheClean() }})
	return cmd
}

// cacheDir is $PTOBUILD_CACHE, else ptobuild in the user's cache folder.
func cacheDir() (string, error) {
	if dir := os.Getenv(cacheDirEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "ptobuild"), err
}

// localCache opens the cache of the user. warn is told once when it turns out not to work.
func localCache(warn func(error)) (*cache.Disk, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, diag.Errorf(cache.CodeFolder, diag.Span{}, "no cache folder: %v", err).WithHint("set %s to one", cacheDirEnv)
	}
	d, err := cache.NewDisk(dir, warn)
	if err != nil {
		return nil, diag.Errorf(cache.CodeFolder, diag.Span{}, "%v", err).WithHint("set %s to a folder that can be written", cacheDirEnv)
	}
	return d, nil
}

// cacheLimit is the size that the cache may have: that of the environment, of Pto.toml when ws is not nil, or the default.
func cacheLimit(ws *graph.Workspace) (int64, error) {
	if s := os.Getenv(cacheSizeEnv); s != "" {
		n, err := cache.ParseSize(s)
		if err != nil {
			return 0, diag.Errorf(cache.CodeConfig, diag.Span{}, "%s: %v", cacheSizeEnv, err)
		}
		return n, nil
	}
	if ws != nil && ws.Config.Cache.MaxSize != "" {
		return cache.ParseSize(ws.Config.Cache.MaxSize)
	}
	return cache.DefaultMaxSize, nil
}

// nearWorkspace is the workspace of the command's folder, nil when there is none or it cannot be used: the cache belongs to the user.
func (a *app) nearWorkspace() *graph.Workspace {
	if ws, ds := graph.Open(a.dir); !ds.HasErrors() {
		return ws
	}
	return nil
}

func (a *app) cacheStats(ctx context.Context) error {
	d, err := localCache(nil)
	if err != nil {
		return err
	}
	st, err := d.Stats()
	if err != nil {
		return err
	}
	a.ws = a.nearWorkspace()
	limit, err := cacheLimit(a.ws)
	if err != nil {
		return err
	}
	var remotes []remote.Health
	if a.openCache(); a.store.remote != nil {
		if remotes, err = a.store.remote.Health(ctx); err != nil {
			return a.fail(nil, a.ws, exitInternal) // the reason was told
		}
	}
	if a.ui.JSON {
		return a.ui.Result(struct {
			*cache.Stats
			MaxSize int64           `json:"max_size"`
			Remotes []remote.Health `json:"remotes,omitempty"`
		}{st, limit, remotes})
	}
	a.ui.Printf("%s\n", st.Dir)
	a.ui.Printf("  results  %8d  %10s\n", st.Actions, cache.FormatSize(st.ActionBytes))
	a.ui.Printf("  blobs    %8d  %10s\n", st.Blobs, cache.FormatSize(st.BlobBytes))
	a.ui.Printf("  in all             %10s of %s\n", cache.FormatSize(st.Bytes()), cache.FormatSize(limit))
	if !st.Oldest.IsZero() {
		a.ui.Printf("  oldest entry used %s\n", st.Oldest.Format(time.DateTime))
	}
	for _, r := range remotes {
		mode := remote.ModeRead
		if r.Write {
			mode = remote.ModeReadWrite
		}
		if r.Error == "" {
			a.ui.Printf("%s (%s) %s in %s\n", r.URL, mode, a.ui.Paint(ui.Green, "answers"), r.Took.Round(time.Millisecond/10))
			continue
		}
		a.ui.Printf("%s (%s) %s: %s\n", r.URL, mode, a.ui.Paint(ui.Red, "does not work"), r.Error)
		if r.Hint != "" {
			a.ui.Printf("  help: %s\n", r.Hint)
		}
	}
	return nil
}

func (a *app) cacheGC(ctx context.Context, maxSize string) error {
	d, err := localCache(nil)
	if err != nil {
		return err
	}
	limit, err := cacheLimit(a.nearWorkspace())
	if maxSize != "" {
		if limit, err = cache.ParseSize(maxSize); err != nil {
			return diag.Errorf(cache.CodeConfig, diag.Span{}, "--max-size: %v", err)
		}
	}
	if err != nil {
		return err
	}
	gone, err := d.Collect(ctx, limit, time.Now())
	if err != nil {
		return err
	}
	return a.removed(gone)
}

func (a *app) cacheVerify(ctx context.Context) error {
	d, err := localCache(nil)
	if err != nil {
		return err
	}
	v, err := d.Verify(ctx)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Result(v)
	}
	a.ui.Printf("%s and %s read\n", ui.Plural(v.Actions, "result"), ui.Plural(v.Blobs, "blob"))
	for _, x := range []struct {
		n    int
		what string
	}{{v.Damaged.Entries, "damaged"}, {v.Dangling.Entries, "without its blobs"}} {
		if x.n > 0 {
			a.ui.Printf("%s %s %s, removed: the actions run again\n", a.ui.Paint(ui.Yellow, "mended"), entries(x.n), x.what)
		}
	}
	return nil
}

func (a *app) cacheClean() error {
	d, err := localCache(nil)
	if err != nil {
		return err
	}
	gone, err := d.Clean()
	if err != nil {
		return err
	}
	return a.removed(gone)
}

func (a *app) removed(gone *cache.Removed) error {
	if a.ui.JSON {
		return a.ui.Result(gone)
	}
	a.ui.Printf("%s removed (%s)\n", entries(gone.Entries), cache.FormatSize(gone.Bytes))
	return nil
}

func entries(n int) string { return ui.Plural(n, "entry") }
