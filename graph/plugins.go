package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

// loadPlugins starts the plugins that the workspace names and adds their ops and passes to the builder's. Without plugins it starts nothing.
func (b *Builder) loadPlugins(ctx context.Context) diag.List {
	if len(b.WS.Config.Plugins) == 0 {
		return nil
	}
	helper, err := client.Helper()
	if err != nil {
		return diag.AsList(err, plugins.CodeHelper)
	}
	b.plugins = pluginConfigs(b.WS)
	b.client = client.New(ctx, helper, b.plugins)
	specs, ps, ds := b.client.Load()
	if ds.HasErrors() {
		return ds
	}
	b.Ops = b.Ops.With(specs...)
	b.pipeline, ds = plugins.Arrange(b.pipeline, ps)
	return ds
}

// Close ends the plugins; the builder is of no use after it.
func (b *Builder) Close() {
	if b.client != nil {
		_ = b.client.Close() // how they ended matters no more
	}
}

// addPlugins adds to a key which plugins had a hand in a program.
func (b *Builder) addPlugins(k *cache.KeyBuilder) {
	for _, c := range b.plugins {
		k.Str("plugin", c.Name).Str("sha256", c.SHA256).Str("options", c.Options)
	}
}

// pluginConfigs lists the plugins by name. Each is pinned, if not by Pto.toml then to the content that its file has now: what runs is what keys name.
func pluginConfigs(w *Workspace) []plugins.Config {
	lines := strings.Split(string(w.Source(ConfigName)), "\n")
	var out []plugins.Config
	for _, name := range slices.Sorted(maps.Keys(w.Config.Plugins)) {
		p := w.Config.Plugins[name]
		c := plugins.Config{Name: name, Path: w.Abs(p.Path), Version: p.Version, SHA256: strings.ToLower(p.SHA256), Pos: pluginAt(ConfigName, lines, name)}
		c.Options, _ = p.options() // checked when Pto.toml was read
		if c.SHA256 == "" {
			c.SHA256, _ = fileSHA256(c.Path) // starting a file that cannot be read fails, with a report
		}
		out = append(out, c)
	}
	return out
}

// checkPlugins reports what is wrong with the [plugins] tables.
func (c *Config) checkPlugins(path string, lines []string) diag.List {
	var ds diag.List
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		at := pluginAt(path, lines, name)
		if d := (&plugins.Config{Name: name, Path: p.Path}).Check(); d != nil {
			d.Span = at
			ds.Add(d)
		}
		if _, err := p.options(); err != nil {
			ds.Add(diag.Errorf(plugins.CodeConfig, at, "options of plugin %s cannot be handed over: %v", name, err).WithHint("they travel as JSON, which has no inf and nan"))
		}
	}
	return ds
}

// options gives the options as a JSON object, "" without any.
func (p *PluginConfig) options() (string, error) {
	if len(p.Options) == 0 {
		return "", nil
	}
	b, err := json.Marshal(p.Options)
	return string(b), err
}

// pluginAt is the place of a plugin's table.
func pluginAt(path string, lines []string, name string) diag.Span {
	for _, form := range []string{"[plugins." + name + "]", "plugins." + name, name} {
		if at := lineOf(path, lines, form); at.IsValid() {
			return at
		}
	}
	return diag.Span{File: path}
}

func fileSHA256(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
