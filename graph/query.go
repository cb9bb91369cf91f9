package graph

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/graph/state"
	"github.com/ptobuild/ptobuild/internal/diag"
)

// Kind is what a node of the dependency graph is.
type Kind string

const (
	TargetNode   Kind = "target"
	FunctionNode Kind = "function" // that a target calls: a kernel or an inlined function
	SourceNode   Kind = "source"   // a Python file
	DataNode     Kind = "data"     // another file that a test reads
	TestNode     Kind = "test"
	PluginNode   Kind = "plugin"
)

// Node is one node of the dependency graph. Targets and functions are named by labels, files by path from the root, tests as test:NAME,
// plugins as plugin:NAME.
type Node struct {
	Name string   `json:"name"`
	Kind Kind     `json:"kind"`
	Deps []string `json:"deps"` // what it needs itself, sorted
}

// Deps is the graph of what needs what in a workspace: tests need targets and data, targets need functions, sources and plugins, and plugins that the
// workspace builds need their sources.
type Deps struct {
	nodes map[string]*Node
	here  string
}

// NewDeps makes the graph of a workspace, from what the last build found where that still holds, with the reports about the sources. here is the folder that
// paths in queries start from.
func NewDeps(s *Session, b *Builder, req Request, here string) (*Deps, diag.List) {
	targets, ds := s.needs(b, req)
	d := &Deps{map[string]*Node{}, here}
	for _, t := range targets {
		n := d.add(t.label.String(), TargetNode)
		for _, f := range t.files {
			d.add(f, SourceNode)
			n.Deps = append(n.Deps, f)
		}
		for _, f := range t.calls {
			l := Label{t.label.File, f}.String()
			d.add(l, FunctionNode)
			n.Deps = append(n.Deps, l)
		}
		for _, name := range slices.Concat(b.passPlugins, t.plugins) {
			n.Deps = append(n.Deps, d.plugin(b.WS, name))
		}
	}
	for i := range b.WS.Config.Tests {
		c := &b.WS.Config.Tests[i]
		if d.nodes[c.Target] == nil {
			continue
		}
		n := d.add("test:"+c.Name, TestNode)
		n.Deps = append(n.Deps, c.Target)
		t := &Tester{Builder: b}
		files, _ := t.filesOf(c) // running the test reports what is wrong with it
		for _, f := range files {
			d.add(f, DataNode)
			n.Deps = append(n.Deps, f)
		}
	}
	for _, n := range d.nodes {
		slices.Sort(n.Deps)
		n.Deps = slices.Compact(n.Deps)
	}
	return d, ds
}

// plugin adds the node of a plugin.
func (d *Deps) plugin(w *Workspace, name string) string {
	node := "plugin:" + name
	if d.nodes[node] != nil {
		return node
	}
	n := d.add(node, PluginNode)
	p := w.Config.Plugins[name]
	files, _ := w.pluginSources(&p) // the build reports a bad pattern
	for _, f := range files {
		d.add(f, DataNode)
		n.Deps = append(n.Deps, f)
	}
	return node
}

// targetNeeds is what a target needs: files, functions of its own, and plugins whose ops it has.
type targetNeeds struct {
	label                 Label
	files, calls, plugins []string
}

func needsOf(b *Builder, targets []*Target) []targetNeeds {
	out := make([]targetNeeds, len(targets))
	for i, t := range targets {
		out[i] = targetNeeds{label: t.Label, files: t.Unit.Files, plugins: b.pluginsIn(t.Closure)}
		for _, f := range t.Closure.Funcs {
			if f.Name != t.Label.Func {
				out[i].calls = append(out[i].calls, f.Name)
			}
		}
	}
	return out
}

// needs lists what each target needs. Only sources that changed since the last build are loaded; all of them when it cannot be known that no others came.
func (s *Session) needs(b *Builder, req Request) ([]targetNeeds, diag.List) {
	old := s.read(nil)
	r := &round{s: s, b: b, opt: BuildOptions{Request: req}, files: newFiles(s)}
	r.compare()
	sources, ds := r.findSources()
	if !r.same || len(ds) > 0 || !slices.EqualFunc(sources, old.Sources, func(path string, s state.Source) bool { return path == s.Path }) {
		targets, ds := b.Targets(nil)
		return needsOf(b, targets), ds
	}
	var out []targetNeeds
	for si := range old.Sources {
		src := &old.Sources[si]
		if slices.ContainsFunc(src.Units, func(u state.Unit) bool { return r.loadAgain(&u) }) || len(src.Units) == 0 {
			targets, more := b.FileTargets(src.Path)
			out = append(out, needsOf(b, targets)...)
			ds.Add(more...)
			continue
		}
		for ui := range src.Units {
			u := &src.Units[ui]
			ds.Add(decodeReports(u.Warnings)...)
			files := make([]string, len(u.Inputs))
			for i, n := range u.Inputs {
				files[i] = old.Files[n].Path
			}
			for ti := range u.Targets {
				t := &u.Targets[ti]
				out = append(out, targetNeeds{Label{trimPy(src.Path), t.Func}, files, t.Calls, t.Plugins})
			}
		}
	}
	return out, ds
}

func (d *Deps) add(name string, kind Kind) *Node {
	if d.nodes[name] == nil {
		d.nodes[name] = &Node{Name: name, Kind: kind, Deps: []string{}}
	}
	return d.nodes[name]
}

// Query evaluates an expression: a label, pattern, path or test:NAME; deps(X), deps(X, DEPTH), rdeps(X), rdeps(UNIVERSE, X), somepath(X, Y), kind(RE, X);
// and X + Y, X - Y, X ^ Y for union, difference and intersection. Nodes come by name, those of a path in its order.
func (d *Deps) Query(text string) ([]*Node, error) {
	p := &queryParser{d: d, rest: text}
	names, err := p.expr()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = p.fail("%q stands where the query should end", strings.TrimSpace(p.rest))
	}
	if err != nil {
		return nil, err
	}
	if !p.ordered {
		slices.Sort(names)
	}
	out := make([]*Node, len(names))
	for i, n := range names {
		out[i] = d.nodes[n]
	}
	return out, nil
}

// closure is the set of names with everything that next leads to, in at most depth steps (-1: any number).
func closure(names []string, depth int, next func(string) []string) []string {
	seen := map[string]bool{}
	var out []string
	for level := 0; len(names) > 0; level++ {
		var more []string
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
				if level != depth {
					more = append(more, next(n)...)
				}
			}
		}
		names = more
	}
	return out
}

func (d *Deps) deps(name string) []string { return d.nodes[name].Deps }

// reverse gives who needs a node.
func (d *Deps) reverse() func(string) []string {
	users := map[string][]string{}
	for _, name := range sortedKeys(d.nodes) {
		for _, dep := range d.nodes[name].Deps {
			users[dep] = append(users[dep], name)
		}
	}
	return func(name string) []string { return users[name] }
}

// somePath gives a shortest way from one of some nodes to one of others, nothing when there is none.
func (d *Deps) somePath(from, to []string) []string {
	came := map[string]string{}
	todo := slices.Sorted(slices.Values(from))
	for _, n := range todo {
		came[n] = ""
	}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		if slices.Contains(to, n) {
			var way []string
			for ; n != ""; n = came[n] {
				way = append(way, n)
			}
			slices.Reverse(way)
			return way
		}
		for _, dep := range d.nodes[n].Deps {
			if _, seen := came[dep]; !seen {
				came[dep] = n
				todo = append(todo, dep)
			}
		}
	}
	return nil
}

// A queryParser evaluates a query as it reads it.
type queryParser struct {
	d       *Deps
	rest    string
	ordered bool // the outermost function gave a path
}

func (p *queryParser) fail(format string, args ...any) error {
	return diag.Errorf(CodePattern, diag.Span{}, format, args...).WithHint("for example: deps(//folder/file:function), rdeps(path.py), somepath(test:name, path.py), kind(test, rdeps(path.py))")
}

var (
	queryWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s(),+^]+`) })
	queryOp   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+^]|^- `) })
)

func (p *queryParser) expr() ([]string, error) {
	left, err := p.operand()
	for err == nil {
		p.rest = strings.TrimSpace(p.rest)
		op := queryOp().FindString(p.rest)
		if op == "" {
			return left, nil
		}
		p.rest = p.rest[len(op):]
		var right []string
		if right, err = p.operand(); err != nil {
			break
		}
		p.ordered = false
		in := func(n string) bool { return slices.Contains(right, n) }
		switch op[0] {
		case '+':
			left = closure(append(left, right...), 0, p.d.deps)
		case '-':
			left = slices.DeleteFunc(left, in)
		default:
			left = slices.DeleteFunc(left, func(n string) bool { return !in(n) })
		}
	}
	return nil, err
}

func (p *queryParser) operand() ([]string, error) {
	p.rest = strings.TrimSpace(p.rest)
	if rest, ok := strings.CutPrefix(p.rest, "("); ok {
		p.rest = rest
		names, err := p.expr()
		if err == nil {
			err = p.close()
		}
		return names, err
	}
	word := queryWord().FindString(p.rest)
	p.rest = p.rest[len(word):]
	switch {
	case word == "":
		return nil, p.fail("the query ends, or has a sign, where a label, path or function should be")
	case !strings.HasPrefix(p.rest, "("):
		return p.atom(word)
	}
	p.rest = p.rest[1:]
	return p.call(word)
}

func (p *queryParser) close() error {
	p.rest = strings.TrimSpace(p.rest)
	if !strings.HasPrefix(p.rest, ")") {
		return p.fail("a ')' is missing")
	}
	p.rest = p.rest[1:]
	return nil
}

// call evaluates a function.
func (p *queryParser) call(name string) (out []string, err error) {
	var re *regexp.Regexp
	if name == "kind" {
		word := queryWord().FindString(strings.TrimSpace(p.rest))
		p.rest = strings.TrimSpace(p.rest)[len(word):]
		if re, err = regexp.Compile("^(?:" + strings.Trim(word, `"'`) + ")$"); err != nil {
			return nil, p.fail("kind: %v", err)
		}
		p.rest = strings.TrimPrefix(strings.TrimSpace(p.rest), ",")
	}
	depth := -1
	var args [][]string
	for {
		var n int
		if _, err := fmt.Sscanf(strings.TrimSpace(p.rest), "%d", &n); name == "deps" && len(args) == 1 && err == nil {
			depth = n
			p.rest = strings.TrimLeft(strings.TrimSpace(p.rest), "0123456789")
		} else {
			x, err := p.expr()
			if err != nil {
				return nil, err
			}
			args = append(args, x)
		}
		p.rest = strings.TrimSpace(p.rest)
		if !strings.HasPrefix(p.rest, ",") {
			break
		}
		p.rest = p.rest[1:]
	}
	if err := p.close(); err != nil {
		return nil, err
	}
	p.ordered = false
	switch {
	case name == "deps" && len(args) == 1:
		return closure(args[0], depth, p.d.deps), nil
	case name == "rdeps" && len(args) == 1:
		return closure(args[0], -1, p.d.reverse()), nil
	case name == "rdeps" && len(args) == 2:
		universe := closure(args[0], -1, p.d.deps)
		return slices.DeleteFunc(closure(args[1], -1, p.d.reverse()), func(n string) bool { return !slices.Contains(universe, n) }), nil
	case name == "somepath" && len(args) == 2:
		p.ordered = true
		return p.d.somePath(args[0], args[1]), nil
	case name == "kind" && len(args) == 1:
		return slices.DeleteFunc(args[0], func(n string) bool { return !re.MatchString(string(p.d.nodes[n].Kind)) }), nil
	}
	return nil, p.fail("there is no function %s of %d arguments: deps(X), deps(X, DEPTH), rdeps(X), rdeps(UNIVERSE, X), somepath(X, Y), kind(RE, X)", name, len(args))
}

// atom gives the nodes of a name or pattern.
func (p *queryParser) atom(word string) ([]string, error) {
	for _, name := range []string{word, path.Join(p.d.here, word)} {
		if n := p.d.nodes[name]; n != nil {
			return []string{n.Name}, nil
		}
	}
	var out []string
	pattern, err := ParsePattern(word, p.d.here)
	if err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(p.d.nodes) {
		if l, ok := ParseLabel(name); ok && p.d.nodes[name].Kind == TargetNode && pattern.Match(l) {
			out = append(out, name)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	d := diag.Errorf(CodeNoMatch, diag.Span{}, "nothing is named %s", word)
	if near := diag.Nearest(word, sortedKeys(p.d.nodes)); near != "" {
		return nil, d.WithHint("did you mean %s?", near)
	}
	return nil, d.WithHint("`ptobuild query //...` lists the targets, `ptobuild query 'deps(//...)'` all they need")
}
