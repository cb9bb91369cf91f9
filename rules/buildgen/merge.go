package buildgen

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"github.com/bazelbuild/buildtools/labels"

	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/rules"
)

var kinds = []string{rules.Library, rules.Orchestration, rules.SimTest}

// kindOf is the rule of ours that a call is of, under whatever name it was loaded, "" for others.
func (p *pkg) kindOf(r *build.Rule) string {
	for _, s := range p.tree.Stmt {
		if l, ok := s.(*build.LoadStmt); ok {
			for i, to := range l.To {
				if to.Name == r.Kind() {
					if slices.Contains(kinds, l.From[i].Name) {
						return l.From[i].Name
					}
					return ""
				}
			}
		}
	}
	if slices.Contains(kinds, r.Kind()) {
		return r.Kind()
	}
	return ""
}

// rules are the rules of one kind.
func (p *pkg) rules(kind string) []*build.Rule {
	if p.tree == nil {
		return nil
	}
	return slices.DeleteFunc(p.tree.Rules(""), func(r *build.Rule) bool { return p.kindOf(r) != kind })
}

// merge brings the tree into the planned state. It returns nil when there is nothing to say about the package.
func (p *pkg) merge(g *generator) *File {
	if p.tree == nil || p.old == nil && len(p.want) == 0 && len(p.exports) == 0 {
		return nil
	}
	out := &File{Path: path.Join(p.dir, p.file), Old: p.old, New: p.old}
	if p.ignore {
		return out
	}
	before := build.Format(mustParse(out.Path, p.old))
	removed := p.removeStale(g)
	for _, w := range p.want {
		switch {
		case w.existing == nil:
			p.add(w)
		case !kept(w.existing.Call):
			for _, a := range w.attrs {
				p.update(w.existing, a)
			}
		}
	}
	p.export()
	p.load()
	if removed {
		p.unload()
	}
	if after := build.Format(p.tree); string(after) != string(before) {
		out.New = after
	}
	return out
}

// mustParse parses what was parsed before.
func mustParse(name string, src []byte) *build.File {
	f, err := build.ParseBuild(name, src)
	if err != nil {
		return &build.File{Path: name, Type: build.TypeBuild}
	}
	return f
}

// kept reports a comment "# keep" at an expression.
func kept(x build.Expr) bool {
	c := x.Comment()
	for _, c := range slices.Concat(c.Before, c.Suffix) {
		if text := strings.TrimSpace(strings.TrimPrefix(c.Token, "#")); text == "keep" || strings.HasPrefix(text, "keep:") || strings.HasPrefix(text, "keep ") {
			return true
		}
	}
	return false
}

// removeStale removes rules whose source is gone.
func (p *pkg) removeStale(g *generator) bool {
	before := len(p.tree.Stmt)
	p.tree.Stmt = slices.DeleteFunc(p.tree.Stmt, func(s build.Expr) bool {
		call, ok := s.(*build.CallExpr)
		if !ok || kept(call) || slices.ContainsFunc(p.want, func(w *rule) bool { return w.existing != nil && w.existing.Call == call }) {
			return false
		}
		r := build.NewRule(call)
		switch p.kindOf(r) {
		case rules.Library:
			srcs := r.AttrStrings("srcs")
			return len(srcs) > 0 && !slices.ContainsFunc(srcs, func(f string) bool { return !p.gone(g, f, false) })
		case rules.Orchestration:
			return p.gone(g, r.AttrString("src"), true)
		case rules.SimTest:
			targets := r.AttrStrings("targets")
			return len(targets) > 0 && !slices.ContainsFunc(targets, func(t string) bool { return !g.untested(t) })
		}
		return false
	})
	return len(p.tree.Stmt) < before
}

// gone reports a source file of a rule that does not exist, or has become one for the other kind of rule.
func (p *pkg) gone(g *generator, file string, orchestration bool) bool {
	if file == "" || strings.ContainsAny(file, ":") || strings.HasPrefix(file, "//") || strings.HasPrefix(file, "@") {
		return false // another rule makes it
	}
	at := path.Join(p.dir, file)
	if s := g.sources[at]; s != nil {
		return !s.broken && (len(s.functions) > 0) != orchestration
	}
	_, err := os.Stat(filepath.Join(g.root, filepath.FromSlash(at)))
	return os.IsNotExist(err)
}

// untested reports the label of a function that does not exist or has no test.
func (g *generator) untested(target string) bool {
	file, fn, ok := strings.Cut(strings.TrimPrefix(target, "//"), ":")
	if !ok || fn == "all" || !strings.HasPrefix(target, "//") {
		return false
	}
	at := path.Join(g.prefix, file+".py")
	s := g.sources[at]
	if s == nil {
		_, err := os.Stat(filepath.Join(g.root, filepath.FromSlash(at)))
		return os.IsNotExist(err)
	}
	return !s.broken && (!slices.Contains(s.functions, fn) || len(g.b.TestsOf(graph.Label{File: file, Func: fn})) == 0)
}

// add appends a new rule.
func (p *pkg) add(w *rule) {
	call := &build.CallExpr{X: &build.Ident{Name: p.loadedAs(w.kind)}, ForceCompact: false}
	r := build.NewRule(call)
	r.SetAttr("name", &build.StringExpr{Value: w.name})
	for _, a := range w.attrs {
		if v := a.value(); v != nil {
			r.SetAttr(a.name, v)
		}
	}
	call.ForceMultiLine = true
	p.tree.Stmt = append(p.tree.Stmt, call)
}

// loadedAs is the name under which a kind is loaded.
func (p *pkg) loadedAs(kind string) string {
	for _, s := range p.tree.Stmt {
		if l, ok := s.(*build.LoadStmt); ok {
			if i := slices.IndexFunc(l.From, func(x *build.Ident) bool { return x.Name == kind }); i >= 0 {
				return l.To[i].Name
			}
		}
	}
	return kind
}

// value is the expression of an attribute, nil for none.
func (a *attr) value() build.Expr {
	switch {
	case a.text != "":
		return &build.StringExpr{Value: a.text}
	case a.flag != "":
		return &build.Ident{Name: a.flag}
	case len(a.dict) > 0:
		d := &build.DictExpr{}
		for _, k := range sortedKeys(a.dict) {
			d.List = append(d.List, &build.KeyValueExpr{Key: &build.StringExpr{Value: k}, Value: &build.StringExpr{Value: a.dict[k]}})
		}
		return d
	case len(a.list) > 0:
		return listOf(a.list)
	}
	return nil
}

func listOf(items []string) *build.ListExpr {
	l := &build.ListExpr{}
	for _, s := range items {
		l.List = append(l.List, &build.StringExpr{Value: s})
	}
	return l
}

// update sets an attribute of an existing rule unless the user protects it.
func (p *pkg) update(r *build.Rule, a attr) {
	def := r.AttrDefn(a.name)
	switch {
	case a.initial:
	case def == nil:
		if v := a.value(); v != nil {
			r.SetAttr(a.name, v)
		}
	case kept(def) || kept(def.RHS):
	case a.text != "":
		if old, ok := def.RHS.(*build.StringExpr); ok && !labels.Equal(old.Value, a.text, p.dir) {
			old.Value = a.text
		}
	case a.flag != "":
		if id, ok := def.RHS.(*build.Ident); ok && (id.Name == "False" || id.Name == "True") {
			id.Name = a.flag
		}
	case len(a.dict) > 0:
		if d, ok := def.RHS.(*build.DictExpr); ok {
			updateDict(d, a.dict)
		}
	default:
		list, ok := def.RHS.(*build.ListExpr)
		if !ok {
			return // a glob, select or sum is the user's
		}
		if p.updateList(list, a); len(list.List) == 0 {
			r.DelAttr(a.name)
		}
	}
}

// updateDict is updateList for a dict of strings.
func updateDict(d *build.DictExpr, want map[string]string) {
	have := map[string]bool{}
	d.List = slices.DeleteFunc(d.List, func(kv *build.KeyValueExpr) bool {
		key, plain := kv.Key.(*build.StringExpr)
		if !plain {
			return false
		}
		have[key.Value] = true
		value, wanted := want[key.Value]
		if old, ok := kv.Value.(*build.StringExpr); ok && wanted && !kept(kv) {
			old.Value = value
		}
		return !wanted && !kept(kv)
	})
	for _, k := range sortedKeys(want) {
		if !have[k] {
			d.List = append(d.List, &build.KeyValueExpr{Key: &build.StringExpr{Value: k}, Value: &build.StringExpr{Value: want[k]}})
		}
	}
}

// updateList adds what is missing and removes what is not generated.
func (p *pkg) updateList(list *build.ListExpr, a attr) {
	same := func(x build.Expr, s string) bool {
		t, ok := x.(*build.StringExpr)
		return ok && (t.Value == s || a.name != "functions" && a.name != "targets" && a.name != "imports" && labels.Equal(t.Value, s, p.dir))
	}
	list.List = slices.DeleteFunc(list.List, func(x build.Expr) bool {
		_, text := x.(*build.StringExpr)
		return text && !a.extend && !kept(x) && !slices.ContainsFunc(a.list, func(s string) bool { return same(x, s) })
	})
	for _, s := range a.list {
		if !slices.ContainsFunc(list.List, func(x build.Expr) bool { return same(x, s) }) {
			list.List = append(list.List, &build.StringExpr{Value: s})
		}
	}
}

// export lets other packages refer to files of this one.
func (p *pkg) export() {
	missing := slices.DeleteFunc(slices.Clone(p.exports), func(f string) bool {
		return slices.ContainsFunc(p.tree.Rules("exports_files"), func(r *build.Rule) bool {
			return len(r.Call.List) > 0 && slices.Contains(build.Strings(r.Call.List[0]), f)
		})
	})
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	for _, r := range p.tree.Rules("exports_files") {
		if l, ok := first(r.Call.List).(*build.ListExpr); ok {
			l.List = append(l.List, listOf(missing).List...)
			return
		}
	}
	call := &build.CallExpr{X: &build.Ident{Name: "exports_files"}, List: []build.Expr{listOf(missing)}}
	p.tree.Stmt = slices.Insert(p.tree.Stmt, p.afterLoads(), build.Expr(call))
}

func first(xs []build.Expr) build.Expr {
	if len(xs) == 0 {
		return nil
	}
	return xs[0]
}

// afterLoads is where the first statement that is no comment, docstring, load, package or licence declaration stands.
func (p *pkg) afterLoads() int {
	for i, s := range p.tree.Stmt {
		switch s := s.(type) {
		case *build.LoadStmt, *build.CommentBlock, *build.StringExpr:
			continue
		case *build.CallExpr:
			if id, ok := s.X.(*build.Ident); ok && (id.Name == "package" || id.Name == "licenses") {
				continue
			}
		}
		return i
	}
	return len(p.tree.Stmt)
}

// load makes sure that the rules in use are loaded.
func (p *pkg) load() {
	var missing []*build.Ident
	var ours *build.LoadStmt
	loaded := map[string]bool{}
	for _, s := range p.tree.Stmt {
		if l, ok := s.(*build.LoadStmt); ok {
			if l.Module.Value == rules.Defs {
				ours = l
			}
			for _, to := range l.To {
				loaded[to.Name] = true
			}
		}
	}
	for _, kind := range kinds {
		if len(p.tree.Rules(kind)) > 0 && !loaded[kind] {
			missing = append(missing, &build.Ident{Name: kind})
		}
	}
	if len(missing) == 0 {
		return
	}
	if ours == nil {
		ours = &build.LoadStmt{Module: &build.StringExpr{Value: rules.Defs}, ForceCompact: true}
		p.tree.Stmt = slices.Insert(p.tree.Stmt, p.afterComments(), build.Expr(ours))
	}
	for _, id := range missing {
		ours.From, ours.To = append(ours.From, id), append(ours.To, &build.Ident{Name: id.Name})
	}
	build.SortLoadArgs(ours)
}

// afterComments is the place for a load: behind the last one, else behind the comments and the docstring at the top.
func (p *pkg) afterComments() int {
	at, last := 0, -1
	top := true
	for i, s := range p.tree.Stmt {
		switch s.(type) {
		case *build.LoadStmt:
			last, top = i+1, false
		case *build.CommentBlock, *build.StringExpr:
			if top {
				at = i + 1
			}
		default:
			top = false
		}
	}
	if last >= 0 {
		return last
	}
	return at
}

// unload drops symbols of ours that a removed rule was the last to use.
func (p *pkg) unload() {
	p.tree.Stmt = slices.DeleteFunc(p.tree.Stmt, func(s build.Expr) bool {
		l, ok := s.(*build.LoadStmt)
		if !ok || l.Module.Value != rules.Defs {
			return false
		}
		var from, to []*build.Ident
		for i, id := range l.To {
			if !slices.Contains(kinds, l.From[i].Name) || len(p.tree.Rules(id.Name)) > 0 {
				from, to = append(from, l.From[i]), append(to, id)
			}
		}
		l.From, l.To = from, to
		return len(to) == 0
	})
}
