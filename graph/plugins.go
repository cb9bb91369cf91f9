package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/plugins/lock"
)

// pluginDir holds what the tool keeps about plugins, and is the first place where those without a path are looked for.
func (w *Workspace) pluginDir() string {
	if w.detached {
		return filepath.Join(os.TempDir(), "ptobuild-plugins") // only to save time
	}
	return w.Abs(StateDir + "/plugins")
}

// UsePlugins adds the [plugins] tables of a file, for a workspace without a Pto.toml. Nothing pins them but what the tables say.
func (w *Workspace) UsePlugins(file string) diag.List {
	src, err := w.ReadFile(file)
	if err != nil {
		return diag.List{diag.Errorf(CodeRead, diag.Span{File: file}, "cannot be read: %v", unwrapPath(err))}
	}
	c, ds := parseConfig(file, src)
	if c != nil {
		w.Config.Plugins, w.pluginFile = c.Plugins, file
	}
	return ds
}

// loadPlugins adds the ops and passes of the plugins that the workspace names. Without plugins it starts nothing, and none that an earlier command already
// asked the same. A plugin that cannot be used fails the targets that need it, and only those.
func (b *Builder) loadPlugins(ctx context.Context) diag.List {
	ws := b.WS
	if len(ws.Config.Plugins) == 0 && len(ws.PluginDev) == 0 {
		return nil
	}
	helper, err := client.Helper()
	if err != nil {
		return diag.AsList(err, plugins.CodeHelper)
	}
	configs, lost, ds := ws.Plugins(ctx)
	if ds.HasErrors() {
		return ds
	}
	b.plugins, b.PluginNotes = configs, ds
	for i := range configs {
		b.pluginKeys[configs[i].Name] = pluginKey(&configs[i], ws.Config.Plugins[configs[i].Name].Passes)
	}
	usable := usable(configs, lost)
	if ws.Running != nil {
		b.client = ws.Running.use(helper, usable, ws.pluginDir(), ws.SlowPlugin)
	} else {
		b.client = client.New(ctx, helper, usable, ws.pluginDir())
		b.client.Slow = ws.SlowPlugin
	}
	loaded := b.client.LoadAs(usable)
	for name, ds := range loaded.Failed {
		lost[name] = ws.atOption(name, ds[0])
	}
	var ps []plugins.Pass
	for _, p := range loaded.Passes {
		if at, ok := ws.Config.Plugins[p.Plugin].position(p); ok {
			ps = append(ps, at)
		}
	}
	if d := ws.checkPositions(b.pipeline, loaded); d != nil {
		return diag.List{d}
	}
	b.Ops = b.Ops.With(loaded.Ops...)
	var more diag.List
	b.pipeline, more = plugins.Arrange(b.pipeline, ps)
	if more.HasErrors() {
		return more
	}
	for name, about := range loaded.About {
		ws.rememberPlugin(name, len(about.Passes))
	}
	for _, c := range configs {
		if d := lost[c.Name]; d != nil {
			b.pluginsLost, b.pluginKeys[c.Name] = true, "lost"
			b.Ops = b.Ops.Without(c.Name, d)
			if ws.mayHavePasses(c.Name) {
				b.pipeline = append([]*passes.Pass{missing(c.Name, d)}, b.pipeline...)
			}
		}
	}
	for _, p := range b.pipeline {
		if p.Plugin != "" && !slices.Contains(b.passPlugins, p.Plugin) {
			b.passPlugins = append(b.passPlugins, p.Plugin)
		}
	}
	slices.Sort(b.passPlugins)
	return nil
}

// atOption moves a report about an option to its line.
func (w *Workspace) atOption(plugin string, d *diag.Diagnostic) *diag.Diagnostic {
	lines := strings.Split(string(w.Source(ConfigName)), "\n")
	for _, name := range slices.Sorted(maps.Keys(w.Config.Plugins[plugin].Options)) {
		if d.Code != plugins.CodeOption || !strings.Contains(d.Message, name) || !d.Span.IsValid() {
			continue
		}
		n := *d
		rest := lines[d.Span.Line-1:]
		if at := lineOf(ConfigName, rest, name); at.IsValid() {
			at.Line, at.EndLine = at.Line+d.Span.Line-1, at.EndLine+d.Span.Line-1
			n.Span = at
		}
		return &n
	}
	return d
}

// usable are the configurations of plugins that are not lost already.
func usable(configs []plugins.Config, lost map[string]*diag.Diagnostic) []plugins.Config {
	return slices.DeleteFunc(slices.Clone(configs), func(c plugins.Config) bool { return lost[c.Name] != nil })
}

// missing stands in the pipeline for the passes of a plugin that cannot be used: without them the result would be another one.
func missing(name string, d *diag.Diagnostic) *passes.Pass {
	return &passes.Pass{Name: name + ".unavailable", Doc: "the passes of a plugin that cannot be used", Plugin: name,
		Run: func(*passes.Context, *ir.Program) (*ir.Program, error) { return nil, d }}
}

// position is where the workspace wants a pass; false: nowhere.
func (p PluginConfig) position(x plugins.Pass) (plugins.Pass, bool) {
	leaf := strings.TrimPrefix(x.Name, x.Plugin+".")
	pos, ok := p.Passes[leaf]
	switch {
	case !ok:
	case pos.After != "" || pos.Before != "":
		x.After, x.Before = pos.After, pos.Before
	}
	return x, !pos.Off
}

// checkPositions reports a place in Pto.toml for a pass that its plugin does not have, or beside one that nobody has.
func (w *Workspace) checkPositions(pipeline []*passes.Pass, loaded *client.Loaded) *diag.Diagnostic {
	var all []string
	for _, p := range pipeline {
		all = append(all, p.Name)
	}
	for _, p := range loaded.Passes {
		all = append(all, p.Name, strings.TrimPrefix(p.Name, p.Plugin+"."))
	}
	unknown := func(what, name string, known []string) *diag.Diagnostic {
		if slices.Contains(known, name) {
			return nil
		}
		d := diag.Errorf(CodeConfig, w.inConfig(name), what, name)
		switch near := diag.Nearest(name, known); {
		case near != "":
			return d.WithHint("did you mean %q?", near)
		case len(known) == 0:
			return d.WithHint("it has no passes")
		}
		return d.WithHint("there are %s", strings.Join(known, ", "))
	}
	for _, plugin := range slices.Sorted(maps.Keys(loaded.About)) {
		var own []string
		for _, p := range loaded.About[plugin].Passes {
			own = append(own, p.Name)
		}
		for _, pass := range slices.Sorted(maps.Keys(w.Config.Plugins[plugin].Passes)) {
			if d := unknown("plugin "+plugin+" has no pass %q", pass, own); d != nil {
				return d
			}
			at := w.Config.Plugins[plugin].Passes[pass]
			if beside := at.After + at.Before; beside != "" {
				if d := unknown("pass "+plugin+"."+pass+" cannot stand beside %q, which is no pass", beside, all); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

// Close ends the plugins, unless they run on for the next round; the builder is of no use after it.
func (b *Builder) Close() {
	switch {
	case b.client == nil:
	case b.WS.Running != nil:
		b.WS.Running.rest(b.client)
	default:
		_ = b.client.Close() // how they ended matters no more
	}
}

// RunningPlugins keeps plugins running from one builder to the next, as long as they stay the same and do not fail: over the rounds of a watch and over the
// requests to a worker, which may overlap.
type RunningPlugins struct {
	ctx  context.Context
	mu   sync.Mutex
	sets []*runningSet // those used last come last
}

type runningSet struct {
	client  *client.Client
	configs []plugins.Config
	users   int
}

// keepIdle is how many sets of plugins that nobody uses run on.
const keepIdle = 4

// KeepPlugins makes one, for Workspace.Running. When ctx ends, so do calls of plugins.
func KeepPlugins(ctx context.Context) *RunningPlugins { return &RunningPlugins{ctx: ctx} }

// use gives running plugins, or others when none are as configured. rest gives them back.
func (r *RunningPlugins) use(helper string, configs []plugins.Config, memory string, slow func(plugin string)) *client.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.sets, func(s *runningSet) bool {
		return !s.client.Failed() && slices.EqualFunc(s.configs, configs, sameProcess)
	})
	var set *runningSet
	if i >= 0 {
		set = r.sets[i]
		r.sets = slices.Delete(r.sets, i, i+1)
	} else {
		set = &runningSet{client: client.New(r.ctx, helper, configs, memory), configs: configs}
		set.client.Slow = slow
	}
	set.users++
	r.sets = append(r.sets, set)
	r.end(func(idle int, s *runningSet) bool { return idle > keepIdle || outdated(s.configs, configs) })
	return set.client
}

// sameProcess reports that a process of one configuration serves the other: the same file, wherever it lies.
func sameProcess(a, b plugins.Config) bool {
	if a.SHA256 != "" {
		a.Path, b.Path = "", ""
	}
	a.Pos, b.Pos = diag.Span{}, diag.Span{}
	return a == b
}

// outdated reports that one of the old plugins is another one now.
func outdated(old, now []plugins.Config) bool {
	return slices.ContainsFunc(old, func(o plugins.Config) bool {
		return slices.ContainsFunc(now, func(n plugins.Config) bool { return n.Name == o.Name && !sameProcess(o, n) })
	})
}

// rest ends the use of plugins. Those that failed get a new start the next time.
func (r *RunningPlugins) rest(c *client.Client) {
	c.Save()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sets {
		if s.client == c {
			s.users--
		}
	}
	r.end(func(_ int, s *runningSet) bool { return s.client.Failed() })
}

// Close ends the plugins.
func (r *RunningPlugins) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(func(int, *runningSet) bool { return true })
}

// end ends idle sets; idle counts them from the one used last.
func (r *RunningPlugins) end(which func(idle int, s *runningSet) bool) {
	idle := 0
	for i := len(r.sets) - 1; i >= 0; i-- {
		s := r.sets[i]
		if s.users > 0 {
			continue
		}
		if idle++; which(idle, s) {
			_ = s.client.Close() // how they ended matters no more
			r.sets = slices.Delete(r.sets, i, i+1)
		}
	}
}

// runPasses runs passes on a program. What one of them breaks is dumped.
func (b *Builder) runPasses(ctx *passes.Context, p *ir.Program, ps []*passes.Pass, after func(int, *passes.Pass, *ir.Program)) (*ir.Program, diag.List) {
	out, ds := passes.Run(ctx, p, ps, passes.Hooks{After: after, Broken: b.dumpBroken})
	return out, b.atOperands(ds)
}

// atOperands gives reports about operands of calls their places.
func (b *Builder) atOperands(ds diag.List) diag.List {
	for _, d := range ds {
		if d.Operand == nil {
			continue
		}
		if src := b.parsed(d.Span.File); src != nil {
			if at, ok := syntax.OperandAt(src, d.Span, *d.Operand); ok {
				d.Span = at
			}
		}
		d.Operand = nil
	}
	return ds.Sort()
}

// blamePlugins finds out whether errors after the passes are the work of a plugin's pass.
func (b *Builder) blamePlugins(t *Target, ds diag.List) diag.List {
	ctx := &passes.Context{Ops: b.Ops, Options: b.options(t.Label)}
	return passes.Blame(ctx, t.Closure, b.pipeline, passes.Hooks{Broken: b.dumpBroken}, ds, func(p *ir.Program) diag.List {
		_, ds := b.lower(t, lower.Interface(p, t.Label.Func))
		return ds
	})
}

// dumpBroken writes the programs before and after a pass that broke something, for whoever has to mend it, and returns the names of the files.
func (b *Builder) dumpBroken(pass *passes.Pass, before, after *ir.Program) (files []string) {
	for i, p := range []*ir.Program{before, after} {
		if p == nil {
			continue
		}
		file := path.Join(brokenDir, p.Name+"."+pass.Name+"."+[]string{"before", "after"}[i]+".py")
		if b.WS.detached { // nothing is written beside the sources
			file = filepath.ToSlash(filepath.Join(os.TempDir(), "ptobuild-broken", path.Base(file)))
		}
		if state.Update(b.WS.Abs(file), []byte(ir.Print(p, ir.PrintOptions{}))) == nil { // the report tells what is wrong without them
			files = append(files, file)
		}
	}
	return files
}

// brokenDir holds the dumps.
const brokenDir = StateDir + "/broken"

// Plugins lists the plugins of the workspace by name, with their files found, built where the workspace builds them, and pinned: if neither by Pto.lock nor by
// Pto.toml, to the content that the file has now, so that what runs is what keys name. lost are those that cannot be used and why; the reports are about
// the workspace as a whole, and notes.
func (w *Workspace) Plugins(ctx context.Context) (configs []plugins.Config, lost map[string]*diag.Diagnostic, ds diag.List) {
	lost = map[string]*diag.Diagnostic{}
	deps := &pluginDeps{root: w.Root, files: map[string]string{}, dirs: map[string]state.Stamp{}}
	w.pluginDeps = deps
	text, err := os.ReadFile(w.Abs(lock.Name))
	deps.addText(w.Abs(lock.Name), text, err)
	locked, d := lock.Read(w.Root)
	if d != nil && !w.unlocked {
		return nil, nil, diag.List{d}
	}
	names := slices.Collect(maps.Keys(w.Config.Plugins))
	for name := range w.PluginDev {
		if _, ok := w.Config.Plugins[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := w.Config.Plugins[name]
		c := plugins.Config{Name: name, Version: p.Version, SHA256: strings.ToLower(p.SHA256), MTLS: p.MTLS, Pos: w.PluginAt(name)}
		c.Options, _ = p.options() // checked when Pto.toml was read, as are these
		c.Timeout, _ = p.timeout()
		c.Memory, _ = p.memory()
		dev := w.PluginDev[name]
		switch {
		case dev != "":
			c.Path, c.SHA256, c.Version = dev, "", ""
			ds.Add(diag.Warningf(plugins.CodeDev, c.Pos, "plugin %s is replaced by %s (--plugin-dev): neither %s nor sha256 and version of Pto.toml are looked at", name, dev, lock.Name))
		case p.Path != "":
			c.Path = w.Abs(p.Path)
		default:
			c.Path, lost[name] = w.findPlugin(&c)
		}
		if len(p.Build) > 0 && dev == "" && lost[name] == nil {
			lost[name] = w.buildPlugin(ctx, &c, &p)
		}
		if locked != nil && !w.unlocked && dev == "" && len(p.Build) == 0 && lost[name] == nil {
			lost[name] = locked.Apply(&c)
		}
		if lost[name] == nil {
			// Starting a file that cannot be read fails, with a report.
			c.Pinned = c.SHA256 != "" && len(p.Build) == 0
			now, err := w.digest(c.Path)
			if deps.add(c.Path, now); c.SHA256 == "" {
				c.SHA256 = now
			} else if err == nil && now != c.SHA256 {
				lost[name] = c.WrongFile(now)
			}
		}
		if lost[name] == nil {
			delete(lost, name)
		}
		configs = append(configs, c)
	}
	return configs, lost, ds
}

// Names of where plugins without a path are looked for.
const (
	PluginPrefix  = "ptobuild-plugin-"
	PluginPathEnv = "PTOBUILD_PLUGIN_PATH"
)

// PluginFolders are the folders in which plugins without a path are looked for, in this order.
func (w *Workspace) PluginFolders() []string {
	folders := []string{w.pluginDir()}
	folders = append(folders, filepath.SplitList(os.Getenv(PluginPathEnv))...)
	data := os.Getenv("XDG_DATA_HOME")
	if home, err := os.UserHomeDir(); data == "" && err == nil {
		data = filepath.Join(home, ".local", "share")
	}
	if data != "" {
		folders = append(folders, filepath.Join(data, "ptobuild", "plugins"))
	}
	return folders
}

func (w *Workspace) findPlugin(c *plugins.Config) (string, *diag.Diagnostic) {
	if d := (&plugins.Config{Name: c.Name, Path: "."}).Check(); d != nil {
		d.Span = c.Pos
		return "", d
	}
	for _, dir := range w.PluginFolders() {
		name := filepath.Join(dir, PluginPrefix+c.Name)
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			return name, nil
		}
		w.pluginDeps.add(name, "")
	}
	return "", diag.Errorf(plugins.CodeStart, c.Pos, "plugin %s is not found: there is no %s in %s", c.Name, PluginPrefix+c.Name, strings.Join(w.PluginFolders(), ", ")).
		WithHint("put it there, name another folder in %s, or give its path in [plugins.%s]", PluginPathEnv, c.Name)
}

// pluginKnown is what the tool remembers of a plugin: whether it had passes when it was last used.
type pluginKnown struct {
	Passes int `json:"passes"`
}

func (w *Workspace) pluginNote(name string) string {
	return filepath.Join(w.pluginDir(), name+".json")
}

func (w *Workspace) rememberPlugin(name string, passes int) {
	b, err := json.Marshal(pluginKnown{passes})
	if err == nil {
		_ = state.Update(w.pluginNote(name), b) // without it a plugin that fails later only fails more targets
	}
}

// mayHavePasses reports that a plugin that cannot be asked had passes when it was last used, or that nobody knows.
func (w *Workspace) mayHavePasses(name string) bool {
	k := pluginKnown{1}
	if b, err := os.ReadFile(w.pluginNote(name)); err == nil {
		_ = json.Unmarshal(b, &k) // a damaged note says nothing
	}
	return k.Passes > 0
}

// checkPlugins reports what is wrong with the [plugins] tables.
func (c *Config) checkPlugins(path string, lines []string) diag.List {
	var ds diag.List
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		at := pluginAt(path, lines, name)
		bad := func(format string, args ...any) *diag.Diagnostic {
			d := diag.Errorf(plugins.CodeConfig, at, "plugin "+name+": "+format, args...)
			ds.Add(d)
			return d
		}
		if d := (&plugins.Config{Name: name, Path: ".", Version: p.Version}).Check(); d != nil {
			d.Span = at
			ds.Add(d)
		}
		if _, err := p.options(); err != nil {
			ds.Add(diag.Errorf(plugins.CodeConfig, at, "options of plugin %s cannot be handed over: %v", name, err).WithHint("they travel as JSON, which has no inf and nan"))
		}
		if _, err := p.timeout(); err != nil {
			bad("timeout = %q is no duration", p.Timeout).WithHint(`write timeout = "10s" or "2m"`)
		}
		if n, err := p.memory(); err != nil {
			bad("memory = %q is no size", p.Memory).WithHint(`write memory = "512MB" or "2GB"`)
		} else if d := (&plugins.Config{Name: "any", Path: ".", Memory: n}).Check(); d != nil {
			bad("memory = %q is not enough: it needs at least %d MB to start", p.Memory, plugins.MinMemory>>20)
		}
		if len(p.Build) > 0 && p.Path == "" {
			bad("it has a build command, but no path").WithHint("give the file that the command makes: path = \".ptobuild/plugins/%s%s\"", PluginPrefix, name)
		}
		switch sum, err := hex.DecodeString(p.SHA256); {
		case p.SHA256 == "":
		case len(p.Build) > 0:
			bad("sha256 pins a file that is built here").WithHint("leave one of sha256 and build away: what is built here changes with its sources")
		case err != nil || len(sum) != sha256.Size:
			bad("sha256 = %q is no SHA-256: it has 64 hexadecimal digits", p.SHA256)
		}
		for _, pass := range slices.Sorted(maps.Keys(p.Passes)) {
			if x := p.Passes[pass]; x.After != "" && x.Before != "" {
				bad("pass %s cannot stand both after %s and before %s", pass, x.After, x.Before).WithHint("keep one of the two")
			}
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

func (p *PluginConfig) timeout() (time.Duration, error) {
	if p.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.Timeout)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not positive", p.Timeout)
	}
	return d, err
}

func (p *PluginConfig) memory() (int64, error) {
	if p.Memory == "" {
		return 0, nil
	}
	for unit, bytes := range map[string]int64{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		if number, ok := strings.CutSuffix(p.Memory, unit); ok {
			var n int64
			if _, err := fmt.Sscanf(strings.TrimSpace(number)+"\n", "%d\n", &n); err != nil || n <= 0 || n > 1<<20 {
				break
			}
			return n * bytes, nil
		}
	}
	return 0, fmt.Errorf("%q is no size", p.Memory)
}

// pluginAt is the place of a plugin's table.
// PluginAt is the place of a plugin in Pto.toml, or in the file that takes its place.
func (w *Workspace) PluginAt(name string) diag.Span {
	file := cmp.Or(w.pluginFile, ConfigName)
	return pluginAt(file, strings.Split(string(w.Source(file)), "\n"), name)
}

func pluginAt(path string, lines []string, name string) diag.Span {
	for _, form := range []string{"[plugins." + name + "]", "plugins." + name, name} {
		if at := lineOf(path, lines, form); at.IsValid() {
			return at
		}
	}
	return diag.Span{File: path}
}
