package graph

import (
	"testing"

	"github.com/ptobuild/ptobuild/plugins"
)

// Under watch the same plugins run on; another file or option starts them anew.
func TestRunningPlugins(t *testing.T) {
	r := KeepPlugins(t.Context())
	defer r.Close()
	one := []plugins.Config{{Name: "rope", Path: "/nowhere/rope", SHA256: "1"}}
	first := r.use("/nowhere/helper", one, "")
	r.rest()
	if r.use("/nowhere/helper", one, "") != first {
		t.Error("the same plugins were started anew")
	}
	if r.use("/nowhere/helper", []plugins.Config{{Name: "rope", Path: "/nowhere/rope", SHA256: "2"}}, "") == first {
		t.Error("another file of the plugin runs on")
	}
	second := r.client
	second.Load() // fails
	r.rest()
	if r.use("/nowhere/helper", r.configs, "") == second {
		t.Error("a plugin that failed was not started anew")
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
