package buildgen

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/rules"
)

// rule is a rule as it should be.
type rule struct {
	pkg      *pkg
	kind     string
	name     string
	existing *build.Rule // nil: to be added
	attrs    []attr
	sources  []*source
}

// attr is an attribute that is generated.
type attr struct {
	name string
	text string   // a string
	list []string // a list
	dict map[string]string
	flag string // True or False
	// extend: entries of the list that are not generated stay. initial: set in new rules only.
	extend, initial bool
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// plan decides the rules of all packages: first which rule each source belongs to, so that deps can name them, then the attributes.
func (g *generator) plan() {
	for _, s := range sorted(g.sources) {
		dir := path.Dir(s.file)
		if dir == "." {
			dir = ""
		}
		if g.packages[dir] == nil {
			g.addPackage(dir, "BUILD.bazel", nil)
		}
	}
	for _, s := range sorted(g.sources) {
		g.assign(s)
	}
	for _, dir := range sortedKeys(g.packages) {
		p := g.packages[dir]
		for _, r := range slices.Clone(p.want) {
			g.fill(r)
			g.tests(r)
		}
	}
	g.settings()
}

// assign finds the rule of a source, or plans a new one.
func (g *generator) assign(s *source) {
	p := g.packageOf(s.file)
	base := path.Base(s.file)
	r := &rule{pkg: p, kind: rules.Library, sources: []*source{s}}
	if len(s.functions) > 0 {
		r.kind = rules.Orchestration
	}
	kinds := []string{r.kind}
	if s.broken { // it has a rule of either kind, or gets none
		kinds = []string{rules.Orchestration, rules.Library}
	}
	for _, kind := range kinds {
		for _, x := range p.rules(kind) {
			if x.AttrString("src") == base || slices.Contains(x.AttrStrings("srcs"), base) {
				r.kind, r.existing, r.name = kind, x, x.Name()
				if i := slices.IndexFunc(p.want, func(w *rule) bool { return w.existing != nil && w.existing.Call == x.Call }); i >= 0 {
					p.want[i].sources = append(p.want[i].sources, s) // a library of several sources
					s.rule = p.want[i]
					return
				}
				s.rule = r
				p.want = append(p.want, r)
				return
			}
		}
	}
	stem := strings.TrimSuffix(base, ".py")
	if s.broken {
		s.rule = &rule{pkg: p, name: stem} // for deps; it is not written
		return
	}
	r.name = p.freeName(stem)
	s.rule = r
	p.want = append(p.want, r)
}

// freeName is name, or a name made from it that no rule has. A rule of ours whose source is gone does not count: it will be removed.
func (p *pkg) freeName(name string) string {
	for p.taken(name) {
		name += "_pto"
	}
	return name
}

func (p *pkg) taken(name string) bool {
	if slices.ContainsFunc(p.want, func(w *rule) bool { return w.name == name }) {
		return true
	}
	if p.tree == nil {
		return false
	}
	for _, r := range p.tree.Rules("") {
		if r.Name() == name && !slices.Contains([]string{rules.Library, rules.Orchestration, rules.SimTest}, p.kindOf(r)) {
			return true
		}
	}
	return false
}

// fill computes the attributes of a library or orchestration.
func (g *generator) fill(r *rule) {
	p := r.pkg
	if slices.ContainsFunc(r.sources, func(s *source) bool { return s.broken }) {
		r.attrs = nil
		return
	}
	var deps []string
	for _, s := range r.sources {
		for _, f := range s.imports {
			if other := g.sources[f]; other != nil && other.rule != nil && other.rule != r {
				deps = append(deps, ruleLabel(p, other.rule))
			}
		}
	}
	slices.Sort(deps)
	deps = slices.Compact(deps)
	var roots []string
	for _, root := range g.b.WS.Config.Workspace.Roots {
		if at := g.fromRoot(root); !strings.HasPrefix(at, "../") && len(deps) > 0 {
			roots = append(roots, "//"+strings.TrimPrefix(at, "."))
		}
	}
	if r.kind == rules.Library {
		var srcs []string
		for _, s := range r.sources {
			srcs = append(srcs, path.Base(s.file))
		}
		r.attrs = []attr{{name: "srcs", list: srcs}}
	} else {
		s := r.sources[0]
		r.attrs = []attr{{name: "src", text: path.Base(s.file)}, {name: "functions", list: s.functions}}
		r.attrs = append(r.attrs, g.settingsOf(s)...)
		r.attrs = append(r.attrs, attr{name: "plugins", list: g.pluginLabels(p, s.plugins), extend: true})
	}
	r.attrs = append(r.attrs, attr{name: "imports", list: roots}, attr{name: "deps", list: deps})
	if p.tree == nil || len(p.tree.Rules("package")) == 0 {
		r.attrs = append(r.attrs, attr{name: "visibility", list: []string{"//visibility:public"}, initial: true})
	}
}

// settingsOf are the attributes that say how an orchestration is built, as far as Pto.toml does.
func (g *generator) settingsOf(s *source) []attr {
	c := &g.b.WS.Config.Build
	attrs := []attr{{name: "profile", text: c.Profile}, {name: "platform", text: c.Platform}, {name: "env", dict: c.Env}, {name: "argv", list: c.Argv}}
	if g.autoDeps(s, s.functions[0]) {
		attrs = append(attrs, attr{name: "auto_deps", flag: "True"})
	}
	if c.PreciseBlockOutputs {
		attrs = append(attrs, attr{name: "precise_block_outputs", flag: "True"})
	}
	if c.ManualAllocDeps != nil && !*c.ManualAllocDeps {
		attrs = append(attrs, attr{name: "manual_alloc_deps", flag: "False"})
	}
	if t, ok := g.ownLoad(s); ok {
		args, _ := graph.Literals(t.Args) // Pto.toml was checked
		attrs = append(attrs, attr{name: "factory", text: t.Factory}, attr{name: "arguments", dict: args})
	}
	return attrs
}

// ownLoad is the [target] table that says how the whole source is loaded: its only function has it.
func (g *generator) ownLoad(s *source) (graph.TargetConfig, bool) {
	if len(s.functions) != 1 {
		return graph.TargetConfig{}, false
	}
	t, ok := g.b.WS.Config.Targets[graph.Label{File: s.label, Func: s.functions[0]}.String()]
	return t, ok
}

func (g *generator) autoDeps(s *source, fn string) bool {
	if t, ok := g.b.WS.Config.Targets[graph.Label{File: s.label, Func: fn}.String()]; ok && t.AutoDeps != nil {
		return *t.AutoDeps
	}
	return g.b.WS.Config.Build.AutoDeps
}

// tests plans a pto_sim_test for each function of an orchestration that has tests.
func (g *generator) tests(o *rule) {
	p, s := o.pkg, o.sources[0]
	for _, fn := range s.functions {
		l := graph.Label{File: s.label, Func: fn}
		configs := g.b.TestsOf(l)
		if len(configs) == 0 {
			continue
		}
		r := &rule{pkg: p, kind: rules.SimTest}
		covered := false
		for _, x := range p.rules(rules.SimTest) {
			targets := x.AttrStrings("targets")
			if slices.Equal(targets, []string{l.String()}) {
				r.existing, r.name = x, x.Name()
			}
			covered = covered || slices.ContainsFunc(targets, func(t string) bool { return covers(t, l) })
		}
		if r.existing == nil && covered {
			continue // by a rule that the user wrote for several targets
		}
		if r.existing == nil {
			stem := strings.TrimSuffix(path.Base(s.file), ".py")
			if stem != fn {
				stem += "_" + fn
			}
			r.name = p.freeName(stem + "_test")
		}
		var data []string
		var manual bool
		add := func(file string) {
			if at := g.fromRoot(file); file != "" && !strings.HasPrefix(at, "../") {
				data = append(data, g.fileLabel(p, at))
			}
		}
		for _, c := range configs {
			for _, name := range sortedKeys(c.Inputs) {
				add(c.Inputs[name].Npy)
			}
			for _, name := range sortedKeys(c.Expect.Npy) {
				add(c.Expect.Npy[name])
			}
			manual = manual || len(c.Expect.Reference) > 0
		}
		slices.Sort(data)
		config := g.fileLabel(p, path.Join(g.prefix, graph.ConfigName))
		r.attrs = []attr{{name: "config", text: config}, {name: "targets", list: []string{l.String()}}, {name: "deps", list: []string{ruleLabel(p, o)}},
			{name: "data", list: slices.Compact(data), extend: true}}
		if manual {
			// The reference command is a program that Bazel does not know: the user adds it to data and removes the tag.
			r.attrs = append(r.attrs, attr{name: "tags", list: []string{"manual"}, initial: true})
		}
		p.want = append(p.want, r)
	}
}

// covers reports whether a pattern of a test rule selects a label.
func covers(pattern string, l graph.Label) bool {
	p, err := graph.ParsePattern(pattern, "")
	return err == nil && strings.HasPrefix(pattern, "//") && p.Match(l)
}

// settings warns of what Pto.toml sets and the rules cannot.
func (g *generator) settings() {
	c := g.b.WS.Config
	var lost []string
	for _, s := range sorted(g.sources) {
		if _, own := g.ownLoad(s); own {
			continue
		}
		for _, fn := range s.functions {
			l := graph.Label{File: s.label, Func: fn}.String()
			if len(c.Targets[l].Args) > 0 {
				lost = append(lost, "target."+l+".args")
			}
			if c.Targets[l].Factory != "" {
				lost = append(lost, "target."+l+".factory")
			}
		}
	}
	for _, s := range sorted(g.sources) {
		for _, fn := range s.functions {
			if g.autoDeps(s, fn) != g.autoDeps(s, s.functions[0]) {
				lost = append(lost, "target.//"+s.label+":"+fn+".analyze_auto_scopes_for_deps")
			}
		}
	}
	slices.Sort(lost)
	for _, name := range lost {
		g.report(diag.Warningf(CodeSetting, diag.Span{File: graph.ConfigName}, "pto_orchestration does not honour %s", name).
			WithHint("the C++ that Bazel generates will differ from that of ptobuild build; the tests are not affected"))
	}
	used := map[string][]string{}
	for _, s := range sorted(g.sources) {
		if s.rule != nil && s.rule.kind == rules.Orchestration {
			for _, name := range s.plugins {
				used[name] = append(used[name], "//"+s.rule.pkg.dir+":"+s.rule.name)
			}
		}
	}
	for _, name := range sortedKeys(c.Plugins) {
		at, rule := g.pluginRule(name)
		if at != nil {
			g.pluginOptions(name, at, rule)
		} else {
			d := diag.Warningf(CodeSetting, g.b.WS.PluginAt(name), "no BUILD file has a pto_plugin for plugins.%s", name).
				WithHint("write one, with its program as executable; then `ptobuild bazel` names it in the rules that need it")
			if by := slices.Compact(slices.Sorted(slices.Values(used[name]))); len(by) > 0 {
				d.Message += ", which " + strings.Join(by[:min(len(by), 3)], ", ")
				if len(by) > 3 {
					d.Message += " and others"
				}
				d.Message += " cannot be built without"
			}
			g.report(d)
		}
	}
}

// pluginOptions tells of options of Pto.toml that the rule of a plugin does not give.
func (g *generator) pluginOptions(name string, p *pkg, rule string) {
	var has []string
	for _, r := range p.tree.Rules("pto_plugin") {
		if d, ok := r.Attr("options").(*build.DictExpr); ok && r.Name() == rule {
			for _, kv := range d.List {
				if key, ok := kv.Key.(*build.StringExpr); ok {
					has = append(has, key.Value)
				}
			}
		} else if r.Name() == rule && r.Attr("options") != nil {
			return // a select, or a name: nobody can tell
		}
	}
	for _, option := range sortedKeys(g.b.WS.Config.Plugins[name].Options) {
		if !slices.Contains(has, option) {
			g.report(diag.Warningf(CodeSetting, g.b.WS.PluginAt(name), "//%s:%s does not give option %s of plugins.%s", p.dir, rule, option, name).
				WithHint("write it into the rule's options: {%q: \"…\"}, the value as in Pto.toml", option))
		}
	}
}

// pluginLabels are the labels of the rules of plugins, as far as there are any.
func (g *generator) pluginLabels(p *pkg, names []string) []string {
	var labels []string
	for _, name := range names {
		switch at, r := g.pluginRule(name); at {
		case nil:
		case p:
			labels = append(labels, ":"+r)
		default:
			labels = append(labels, "//"+at.dir+":"+r)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// pluginRule finds the pto_plugin of a plugin, in the first package that has one.
func (g *generator) pluginRule(name string) (*pkg, string) {
	for _, p := range sorted(g.packages) {
		if p.tree == nil {
			continue
		}
		for _, r := range p.tree.Rules("pto_plugin") {
			if n := r.AttrString("plugin_name"); n == name || n == "" && r.Name() == name {
				return p, r.Name()
			}
		}
	}
	return nil, ""
}
