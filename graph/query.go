package graph

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Queries ask what depends on what: targets on the sources and other files that they were loaded from, tests on their target and the files that Pto.toml names.

// NodeKind is what a node of the graph is.
type NodeKind string

// The kinds.
const (
	TargetNode NodeKind = "target"
	SourceNode NodeKind = "source" // a Python file
	FileNode   NodeKind = "file"
	TestNode   NodeKind = "test"
)

// Node is one node of the graph. Tests are called test:NAME, targets by their label, files by their path from the root.
type Node struct {
	Name string   `json:"name"`
	Kind NodeKind `json:"kind"`
	Deps []string `json:"deps"` // sorted
}

// Graph is the nodes by name.
type Graph struct {
	Nodes map[string]*Node
	users map[string][]string // the other way round, sorted
	here  string
}

// NewGraph makes the graph of a workspace. Relative patterns of queries start from the folder here, by path from the root.
func (b *Builder) NewGraph(targets []*Target, here string) *Graph {
	g := &Graph{Nodes: map[string]*Node{}, users: map[string][]string{}, here: here}
	for _, t := range targets {
		n := g.node(t.Label.String(), TargetNode)
		for _, f := range t.Unit.Files {
			n.Deps = append(n.Deps, g.file(f))
		}
	}
	for i := range b.WS.Config.Tests {
		c := &b.WS.Config.Tests[i]
		n := g.node("test:"+c.Name, TestNode)
		if isHandwritten(c.Target) {
			n.Deps = append(n.Deps, g.file(strings.TrimPrefix(c.Target, "//")))
		} else if g.Nodes[c.Target] != nil {
			n.Deps = append(n.Deps, c.Target)
		}
		for _, in := range c.Inputs {
			if in.Npy != "" {
				n.Deps = append(n.Deps, g.file(in.Npy))
			}
		}
		for _, f := range c.Expect.Npy {
			n.Deps = append(n.Deps, g.file(f))
		}
		for _, glob := range c.Expect.Files {
			files, _ := globFiles(b.WS.Root, glob) // the test reports a pattern that is wrong
			for _, f := range files {
				n.Deps = append(n.Deps, g.file(f))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		n := g.Nodes[name]
		slices.Sort(n.Deps)
		n.Deps = slices.Compact(n.Deps)
		for _, d := range n.Deps {
			g.users[d] = append(g.users[d], name)
		}
	}
	return g
}

func (g *Graph) node(name string, kind NodeKind) *Node {
	n := g.Nodes[name]
	if n == nil {
		n = &Node{Name: name, Kind: kind, Deps: []string{}}
		g.Nodes[name] = n
	}
	return n
}

func (g *Graph) file(name string) string {
	kind := FileNode
	if strings.HasSuffix(name, ".py") {
		kind = SourceNode
	}
	return g.node(name, kind).Name
}

// Query evaluates an expression and gives names in order: of a path along the path, else sorted.
//
//	//a/...  a/b.py  test:NAME     what a pattern, path or name selects
//	deps(X)                        X and all that it depends on
//	rdeps(X)                       X and all that depends on it
//	somepath(X, Y)                 a shortest path from one of X to one of Y, empty if there is none
//	kind(K, X)                     those of X of a kind: target, source, file or test
//	X + Y, X - Y                   union and difference
func (g *Graph) Query(expr string) ([]string, error) {
	p := &queryParser{g: g, rest: expr, text: expr}
	names, err := p.sum()
	if err == nil && p.rest != "" {
		err = p.wrong("unexpected %q", p.rest)
	}
	return names, err
}

type queryParser struct {
	g          *Graph
	text, rest string
}

func (p *queryParser) wrong(format string, args ...any) error {
	return diag.Errorf(CodePattern, diag.Span{}, "query %q: "+format, append([]any{p.text}, args...)...).
		WithHint("write a pattern, a file, test:NAME, deps(X), rdeps(X), somepath(X, Y), kind(target|source|file|test, X), X + Y or X - Y")
}

func (p *queryParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

func (p *queryParser) eat(c string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, c)
	if ok {
		p.rest = rest
		p.space()
	}
	return ok
}

func (p *queryParser) sum() ([]string, error) {
	xs, err := p.term()
	for err == nil {
		add, sub := p.eat("+ "), false
		if !add {
			sub = p.eat("- ")
		}
		if !add && !sub {
			break
		}
		var ys []string
		if ys, err = p.term(); err != nil {
			break
		}
		if add {
			xs = set(append(xs, ys...))
		} else {
			xs = slices.DeleteFunc(xs, func(x string) bool { return slices.Contains(ys, x) })
		}
	}
	return xs, err
}

// word reads up to a character that ends a name.
func (p *queryParser) word() string {
	p.space()
	i := strings.IndexAny(p.rest, "(), \t\n")
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	p.space()
	return w
}

func (p *queryParser) term() ([]string, error) {
	if p.eat("(") {
		xs, err := p.sum()
		if err == nil && !p.eat(")") {
			err = p.wrong("')' is missing")
		}
		return xs, err
	}
	w := p.word()
	if w == "" {
		return nil, p.wrong("something to look for is missing")
	}
	if !p.eat("(") {
		return p.g.find(w)
	}
	var kind string
	if w == "kind" {
		kind = p.word()
		if !slices.Contains([]NodeKind{TargetNode, SourceNode, FileNode, TestNode}, NodeKind(kind)) {
			return nil, p.wrong("there is no kind %q", kind)
		}
		if !p.eat(",") {
			return nil, p.wrong("kind takes a kind and a set")
		}
	}
	var args [][]string
	for {
		xs, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, xs)
		if !p.eat(",") {
			break
		}
	}
	if !p.eat(")") {
		return nil, p.wrong("')' is missing")
	}
	want := map[string]int{"deps": 1, "rdeps": 1, "somepath": 2, "kind": 1}[w]
	switch {
	case want == 0:
		return nil, p.wrong("there is no function %q", w)
	case len(args) != want:
		return nil, p.wrong("%s takes %d sets, not %d", w, want, len(args))
	}
	switch w {
	case "deps":
		return p.g.reach(args[0], func(n string) []string { return p.g.Nodes[n].Deps }), nil
	case "rdeps":
		return p.g.reach(args[0], func(n string) []string { return p.g.users[n] }), nil
	case "somepath":
		return p.g.somePath(args[0], args[1]), nil
	}
	return slices.DeleteFunc(args[0], func(n string) bool { return p.g.Nodes[n].Kind != NodeKind(kind) }), nil
}

// find gives the nodes that a word selects.
func (g *Graph) find(word string) ([]string, error) {
	for _, name := range []string{word, path.Join(g.here, word), strings.TrimPrefix(word, "//")} {
		if g.Nodes[name] != nil {
			return []string{name}, nil
		}
	}
	p, err := ParsePattern(word, g.here)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, n := range g.Nodes {
		if l, ok := ParseLabel(name); ok && n.Kind == TargetNode && p.Match(l) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		d := diag.Errorf(CodeNoMatch, diag.Span{}, "nothing matches %s", word)
		if near := diag.Nearest(word, slices.Sorted(maps.Keys(g.Nodes))); near != "" {
			return nil, d.WithHint("did you mean %s?", near)
		}
		return nil, d.WithHint("`ptobuild query //...` lists the targets")
	}
	return set(names), nil
}

func set(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (g *Graph) reach(from []string, next func(string) []string) []string {
	seen := map[string]bool{}
	queue := slices.Clone(from)
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !seen[n] {
			seen[n] = true
			queue = append(queue, next(n)...)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// somePath is the first of the shortest paths in the order of names.
func (g *Graph) somePath(from, to []string) []string {
	before := map[string]string{}
	queue := set(slices.Clone(from))
	for _, n := range queue {
		before[n] = ""
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if slices.Contains(to, n) {
			var way []string
			for ; n != ""; n = before[n] {
				way = append(way, n)
			}
			slices.Reverse(way)
			return way
		}
		for _, d := range g.Nodes[n].Deps {
			if _, seen := before[d]; !seen {
				before[d] = n
				queue = append(queue, d)
			}
		}
	}
	return nil
}

// Dot draws the part of the graph between these nodes.
func (g *Graph) Dot(names []string) string {
	shape := map[NodeKind]string{TargetNode: "box", SourceNode: "note", FileNode: "note", TestNode: "ellipse"}
	var b strings.Builder
	b.WriteString("digraph query {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	in := map[string]bool{}
	for _, n := range names {
		in[n] = true
		fmt.Fprintf(&b, "  %q [shape=%s];\n", n, shape[g.Nodes[n].Kind])
	}
	for _, n := range names {
		for _, d := range g.Nodes[n].Deps {
			if in[d] {
				fmt.Fprintf(&b, "  %q -> %q;\n", n, d)
			}
		}
	}
	b.WriteString("}\n")
	return b.String()
}
