package graph

import (
	"testing"

	"github.com/ptobuild/ptobuild/plugins"
)

// Under watch and in a worker the same plugins run on; another file or option starts them anew.
func TestRunningPlugins(t *testing.T) {
	r := KeepPlugins(t.Context())
	defer r.Close()
	rope := func(path, sha string) []plugins.Config {
		return []plugins.Config{{Name: "rope", Path: path, SHA256: sha}}
	}
	fuse := plugins.Config{Name: "fuse", Path: "/nowhere/fuse", SHA256: "3"}
	first := r.use("/nowhere/helper", rope("/nowhere/rope", "1"), "", nil)
	if r.use("/nowhere/helper", rope("/sandbox/2/rope", "1"), "", nil) != first {
		t.Error("the same file in another place, at the same time, was started anew")
	}
	r.rest(first)
	r.rest(first)
	if r.use("/nowhere/helper", rope("/nowhere/rope", "1"), "", nil) != first {
		t.Error("the same plugins were started anew")
	}
	both := r.use("/nowhere/helper", append(rope("/nowhere/rope", "1"), fuse), "", nil)
	if both == first || len(r.sets) != 2 {
		t.Error("two plugins are not one of them")
	}
	r.rest(both)
	r.rest(first)
	second := r.use("/nowhere/helper", rope("/nowhere/rope", "2"), "", nil)
	if second == first || len(r.sets) != 1 {
		t.Errorf("another file of the plugin: %d sets run on", len(r.sets))
	}
	second.Load() // fails
	third := r.use("/nowhere/helper", rope("/nowhere/rope", "2"), "", nil)
	if third == second {
		t.Error("a plugin that failed was not started anew")
	}
	r.rest(second)
	r.rest(third)
	if len(r.sets) != 1 {
		t.Errorf("%d sets run on", len(r.sets))
	}
}

func TestPluginSizes(t *testing.T) {
	for text, want := range map[string]int64{"512MB": 512 << 20, "2GB": 2 << 30, "64KB": 64 << 10, "": 0, "2": -1, "GB": -1, "-1GB": -1, "1.5GB": -1, "2 GB": 2 << 30, "2GBs": -1} {
		got, err := (&PluginConfig{Memory: text}).memory()
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
