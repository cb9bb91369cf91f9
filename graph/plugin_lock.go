package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/plugins/lock"
)

// AskedPlugin is a plugin of a workspace and what it says of itself.
type AskedPlugin struct {
	Config  plugins.Config
	Pinned  string               // by what
	About   *plugins.Description // nil when it cannot be used
	Reports diag.List            // why not
}

// AskPlugins asks all plugins of a workspace what they serve. The reports are about the workspace; those about one plugin are with it.
func AskPlugins(ctx context.Context, w *Workspace) ([]AskedPlugin, diag.List) {
	configs, lost, ds := w.Plugins(ctx)
	if ds.HasErrors() || len(configs) == 0 {
		return nil, ds
	}
	helper, err := client.Helper()
	if err != nil {
		return nil, diag.AsList(err, plugins.CodeHelper)
	}
	locked, _ := lock.Read(w.Root) // Plugins reported what is wrong with it
	c := client.New(ctx, helper, usable(configs, lost), w.pluginDir())
	defer c.Close()
	loaded := c.Load()
	var out []AskedPlugin
	for _, conf := range configs {
		p := AskedPlugin{Config: conf, Pinned: w.pinnedBy(conf.Name, locked), About: loaded.About[conf.Name], Reports: loaded.Failed[conf.Name]}
		if d := lost[conf.Name]; d != nil {
			p.Reports.Add(d)
		}
		out = append(out, p)
	}
	return out, ds
}

// pinnedBy says what fixes the content of a plugin's file.
func (w *Workspace) pinnedBy(name string, locked *lock.File) string {
	p := w.Config.Plugins[name]
	switch {
	case w.PluginDev[name] != "":
		return "--plugin-dev"
	case len(p.Build) > 0:
		return "its sources"
	case locked != nil:
		return lock.Name
	case p.SHA256 != "":
		return ConfigName
	}
	return "nothing"
}

// Pin is one line of what LockPlugins did.
type Pin struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	SHA256   string `json:"sha256"`
}

// Pins is what LockPlugins did.
type Pins struct {
	Pinned  []Pin    `json:"pinned"`
	Built   []string `json:"built"` // plugins that the workspace builds: not pinned
	Changed bool     `json:"changed"`
}

// LockPlugins pins plugins (all without names) to the files that they have now, and forgets those that the workspace no longer names.
func LockPlugins(ctx context.Context, w *Workspace, names []string) (*Pins, diag.List) {
	w.PluginDev = nil // what takes a plugin's place for a run is not what is pinned
	f, d := lock.Read(w.Root)
	if d != nil && len(names) > 0 {
		return nil, diag.List{d} // a lock file that cannot be read is written anew only as a whole
	}
	had := f
	if f == nil {
		f = &lock.File{}
	}
	for _, name := range names {
		if _, ok := w.Config.Plugins[name]; !ok {
			return nil, diag.List{diag.Errorf(plugins.CodeConfig, diag.Span{File: ConfigName}, "there is no plugin %q", name).WithHint("`ptobuild plugin list` lists the plugins")}
		}
	}
	w.unlocked = true
	configs, lost, ds := w.Plugins(ctx)
	if ds.HasErrors() {
		return nil, ds
	}
	helper, err := client.Helper()
	if err != nil {
		return nil, diag.AsList(err, plugins.CodeHelper)
	}
	pins := &Pins{}
	var ask []plugins.Config
	for _, c := range configs {
		switch {
		case len(names) > 0 && !slices.Contains(names, c.Name):
		case len(w.Config.Plugins[c.Name].Build) > 0:
			pins.Built = append(pins.Built, c.Name)
		case lost[c.Name] != nil:
			ds.Add(lost[c.Name])
		default:
			ask = append(ask, c)
		}
	}
	c := client.New(ctx, helper, ask, "")
	defer c.Close()
	loaded := c.Load()
	if ds.Add(loaded.Reports()...); ds.HasErrors() {
		return nil, ds
	}
	for _, c := range ask {
		version := loaded.About[c.Name].Version
		f.Pin(c.Name, version, c.SHA256)
		pins.Pinned = append(pins.Pinned, Pin{c.Name, version, lock.Platform(), c.SHA256})
	}
	for name := range f.Plugins {
		if p, ok := w.Config.Plugins[name]; !ok || len(p.Build) > 0 {
			delete(f.Plugins, name)
		}
	}
	if had == nil && len(f.Plugins) == 0 {
		return pins, ds // there is nothing to pin
	}
	if pins.Changed, err = f.Write(w.Root); err != nil {
		return nil, diag.List{diag.Errorf(plugins.CodeLock, diag.Span{File: lock.Name}, "cannot be written: %v", unwrapPath(err))}
	}
	return pins, ds
}

// Verified is what VerifyPlugins found, by plugin.
type Verified struct {
	Plugins     map[string]string `json:"plugins"`
	Diagnostics diag.List         `json:"diagnostics"`
}

// VerifyPlugins compares the files of all plugins with what pins them. It starts none.
func VerifyPlugins(ctx context.Context, w *Workspace) *Verified {
	v := &Verified{Plugins: map[string]string{}}
	locked, d := lock.Read(w.Root)
	if d != nil {
		v.Diagnostics.Add(d)
		return v
	}
	configs, lost, ds := w.Plugins(ctx)
	v.Diagnostics.Add(ds...)
	for _, c := range configs {
		pinned := w.pinnedBy(c.Name, locked)
		got, err := fileSHA256(c.Path) // not what is remembered of the file
		switch {
		case lost[c.Name] != nil:
			v.Diagnostics.Add(lost[c.Name])
			v.Plugins[c.Name] = "FAIL"
		case err != nil:
			v.Diagnostics.Add(diag.Errorf(plugins.CodeStart, c.Pos, "plugin %s: %s cannot be read: %v", c.Name, c.Path, unwrapPath(err)))
			v.Plugins[c.Name] = "FAIL"
		case !strings.EqualFold(got, c.SHA256):
			v.Diagnostics.Add(c.WrongFile(got))
			v.Plugins[c.Name] = "FAIL"
		case pinned == "nothing":
			v.Plugins[c.Name] = "not pinned: ptobuild plugin lock"
		default:
			v.Plugins[c.Name] = fmt.Sprintf("ok, pinned by %s", pinned)
		}
	}
	if locked == nil {
		return v
	}
	for name := range locked.Plugins {
		if _, ok := w.Config.Plugins[name]; !ok {
			v.Diagnostics.Add(diag.Warningf(plugins.CodeLock, diag.Span{File: lock.Name}, "plugin %s is pinned, but Pto.toml does not name it", name).
				WithHint("ptobuild plugin lock removes it"))
		}
	}
	v.Diagnostics = v.Diagnostics.Sort()
	return v
}
