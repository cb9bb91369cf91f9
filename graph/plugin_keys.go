package graph

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins"
)

// A key names the plugins that have a hand in what it stands for, and no others: loading a source, those whose ops it has; the passes on a target, those with
// passes besides; printing it, those whose ops the passes left. Another file of a plugin, or another option, so runs again what used it.

// pluginKey is what answers of a plugin depend on besides the question, and where its passes stand.
func pluginKey(c *plugins.Config, passes map[string]PassConfig) string {
	at, _ := json.Marshal(passes) // plain data
	return c.Identity() + " " + string(at)
}

// addPlugins adds plugins to a key. Those whose passes run on what it stands for are among them if passes is set.
func (b *Builder) addPlugins(k *cache.KeyBuilder, names []string, passes bool) {
	if passes {
		for _, name := range b.passPlugins {
			k.Str("passes of", name).Str("plugin", b.pluginKeys[name])
		}
	}
	for _, name := range names {
		if !passes || !slices.Contains(b.passPlugins, name) {
			k.Str("ops of", name).Str("plugin", b.pluginKeys[name])
		}
	}
}

// PluginsOf names the plugins that have a hand in a target: those whose ops it has, and all that have passes.
func (b *Builder) PluginsOf(t *Target) []string {
	names := append(b.pluginsIn(t.Closure), b.passPlugins...)
	slices.Sort(names)
	return slices.Compact(names)
}

// pluginsIn lists the plugins whose ops programs have, by name.
func (b *Builder) pluginsIn(programs ...*ir.Program) []string {
	if len(b.pluginKeys) == 0 {
		return nil
	}
	var names []string
	for _, p := range programs {
		for _, f := range p.Funcs {
			for c := range OpCalls(f.Body) {
				ns, _, _ := strings.Cut(c.Op, ".")
				if _, ok := b.pluginKeys[ns]; ok && !slices.Contains(names, ns) {
					names = append(names, ns)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// OpCalls are all calls of ops in a block, in order.
func OpCalls(b ir.Block) iter.Seq[*ir.OpCall] {
	return func(yield func(*ir.OpCall) bool) {
		more := true
		ir.Inspect(b, func(s ir.Stmt) bool {
			ir.Exprs(s, func(e ir.Expr) bool {
				if c, ok := e.(*ir.OpCall); ok && more {
					more = yield(c)
				}
				return more
			})
			return more
		})
	}
}
