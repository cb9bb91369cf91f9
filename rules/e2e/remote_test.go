//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ptobuild/ptobuild/internal/davserver"
	"github.com/ptobuild/ptobuild/internal/reapiserver"
)

// `bazel clean` with a remote cache rebuilds nothing: no output holds a path, a time or anything else of the machine it was made on.
func TestRemoteCache(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(t *testing.T) string
	}{
		{"http", func(t *testing.T) string {
			s, err := davserver.Start(t.TempDir(), davserver.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			return s.URL
		}},
		{"grpc", func(t *testing.T) string {
			s, err := reapiserver.Start(reapiserver.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			return s.URL()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := c.start(t)
			w := open(t, "workspace.txtar", "--remote_cache="+url)
			w.zeros("models/zeros.npy", 64, 32)
			w.bazel("test", "//...")
			want := w.read("bazel-bin/models/scale/orchestration/scale.cpp")
			w.bazel("clean")
			again := func(w *workspace) {
				t.Helper()
				out := w.bazel("test", "//...")
				for how, n := range ran(out) {
					if how != "internal" && how != "remote cache hit" {
						t.Errorf("%s %s:\n%s", n, how, out)
					}
				}
				if got := w.read("bazel-bin/models/scale/orchestration/scale.cpp"); got != want {
					t.Errorf("the cache gave\n%s\nwant\n%s", got, want)
				}
			}
			again(w)

			// The same sources in another folder are the same actions.
			other := open(t, "workspace.txtar", "--remote_cache="+url)
			other.zeros("models/zeros.npy", 64, 32)
			again(other)
		})
	}
}

// Everything may run elsewhere, with nothing but its declared inputs.
func TestRemoteExecution(t *testing.T) {
	scratch, err := os.MkdirTemp("", "exec-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	s, err := reapiserver.Start(reapiserver.Options{ScratchDir: scratch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	w := open(t, "workspace.txtar", "--remote_executor="+s.URL(), "--remote_local_fallback=false", "--spawn_strategy=remote", "--strategy=PtoEmit=remote")
	out := w.bazel("test", "//...")
	r := ran(out)
	for how, n := range r {
		if how != "internal" && how != "remote" {
			t.Errorf("%s %s:\n%s", n, how, out)
		}
	}
	if r["remote"] == "" {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "bazel-bin/models/scale/kernels.json")); err != nil {
		t.Error(err)
	}
}
