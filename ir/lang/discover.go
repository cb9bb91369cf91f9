package lang

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/lower"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Files of tests have few definitions at module level: every test function or method holds its own, and so do factories that only a command line or a
// framework calls. Those functions are called one by one (factories only when the file has no root of its own), and what they define before they
// return or fail counts. Required parameters get the first values of a pytest parametrize, or else a stand-in that cannot be computed with, as a fixture has.

// discover runs the functions of m that hold definitions, and its tests, and gives those definitions. With tests, only tests and methods are run.
func (l *loading) discover(m *eval.Module, tests bool) []*eval.DSL {
	d := &discovery{l: l, m: m, wanted: map[syntax.Node]bool{}, tests: tests}
	for _, s := range m.Tree.Body {
		switch s := s.(type) {
		case *syntax.FunctionDef:
			if !slices.Contains(l.opt.Skip, s.Name) {
				d.add(s, nil, s.Decorators)
			}
		case *syntax.ClassDef:
			for _, f := range s.Body {
				if f, ok := f.(*syntax.FunctionDef); ok && !d.isDSL(s.Decorators) {
					d.add(f, s, append(slices.Clone(s.Decorators), f.Decorators...))
				}
			}
		}
	}
	failing := mustFail(m.Tree.Body)
	d.runs = slices.DeleteFunc(d.runs, func(r run) bool { return !isTest(r.f) && r.class == nil && failing[r.f.Name] })
	if len(d.wanted) == 0 && !d.texts {
		return nil
	}
	// Tests call the factories with fitting arguments, so they come first.
	slices.SortStableFunc(d.runs, func(a, b run) int { return cmp.Compare(a.order(), b.order()) })
	faults := map[*syntax.FunctionDef]*diag.Diagnostic{}
	read := map[syntax.Node]bool{}
	for _, x := range m.DSLs() {
		read[node(x)] = true // the module itself called the factory
	}
	for _, r := range d.runs {
		if !isTest(r.f) && !slices.ContainsFunc(r.holds, func(n syntax.Node) bool { return !read[n] }) {
			continue // a test called it
		}
		before := len(m.DSLs())
		faults[r.f] = d.call(r)
		for _, x := range m.DSLs()[before:] {
			if n := node(x); d.wanted[n] && !standIn(x) {
				read[n] = true
				d.found = append(d.found, x)
			}
		}
	}
	for _, r := range d.runs {
		if !slices.ContainsFunc(r.holds, func(n syntax.Node) bool { return !read[n] }) {
			continue
		}
		why := "they use a parameter that has no value"
		if fault := faults[r.f]; fault != nil {
			why = fault.Message
		}
		l.unit.Warnings.Add(diag.Warningf(CodeUnread, r.f.NamePos.Span(m.Path), "the definitions in '%s' are not read: %s", r.f.Name, why).
			WithHint("give its parameters default values, or move the definitions to module level"))
	}
	return d.found
}

// node is the definition in the tree.
func node(x *eval.DSL) syntax.Node {
	if x.Class != nil {
		return x.Class
	}
	return x.Func
}

// standInPath begins the path of the symbol that a parameter without a value gets.
const standInPath = "parameter "

// standIn reports a definition that reads such a parameter, or what was computed from one.
func standIn(x *eval.DSL) bool {
	found := false
	var read func(n syntax.Node, local map[string]bool)
	read = func(n syntax.Node, local map[string]bool) {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.FunctionDef:
				if local == nil {
					for _, d := range n.Decorators {
						read(d, local)
					}
					for p := range n.Params.All() {
						if p.Annotation != nil {
							read(p.Annotation, local)
						}
					}
					inside := lower.Bound(n)
					for _, s := range n.Body {
						read(s, inside)
					}
					return false
				}
			case *syntax.Name:
				if local[n.ID] {
					break
				}
				switch v, _ := x.Env.Lookup(n.ID); v := v.(type) {
				case *eval.Symbol:
					found = found || strings.HasPrefix(v.Path, standInPath)
				case *eval.Poison:
					found = true
				}
			}
			return !found
		})
	}
	read(node(x), nil)
	return found
}

type discovery struct {
	l      *loading
	m      *eval.Module
	runs   []run
	tests  bool // leave factories out
	wanted map[syntax.Node]bool
	texts  bool            // some test parses a text
	local  map[string]bool // names of pl in the function that is looked at
	found  []*eval.DSL
}

// run is one function to call.
type run struct {
	f          *syntax.FunctionDef
	class      *syntax.ClassDef // that it is a method of, or nil
	decorators []syntax.Expr
	holds      []syntax.Node // the definitions in its body
}

func (r run) order() int {
	if isTest(r.f) {
		return 0
	}
	return 1
}

func isTest(f *syntax.FunctionDef) bool { return strings.HasPrefix(f.Name, "test") }

func (d *discovery) add(f *syntax.FunctionDef, class *syntax.ClassDef, decorators []syntax.Expr) {
	if d.isDSL(f.Decorators) || d.tests && class == nil && !isTest(f) {
		return
	}
	holds := d.definitions(f)
	for _, n := range holds {
		d.wanted[n] = true
	}
	if isTest(f) {
		d.texts = d.texts || parses(f)
	}
	if len(holds) > 0 || isTest(f) {
		d.runs = append(d.runs, run{f, class, decorators, holds})
	}
}

// parses reports a function that calls something like pl.parse or pl.loads.
func parses(f *syntax.FunctionDef) bool {
	found := false
	for _, s := range f.Body {
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.Call); ok {
				if a, ok := c.Fun.(*syntax.Attribute); ok && (strings.HasPrefix(a.Name, "parse") || strings.HasPrefix(a.Name, "loads")) {
					found = true
				}
			}
			return !found
		})
	}
	return found
}

// call runs one function; the report is nil when it came to its end.
func (d *discovery) call(r run) *diag.Diagnostic {
	static := slices.ContainsFunc(r.f.Decorators, func(x syntax.Expr) bool { n, ok := x.(*syntax.Name); return ok && n.ID == "staticmethod" })
	args := arguments(r.f, r.class != nil && !static, d.parametrized(r.decorators))
	if r.class == nil {
		return d.m.Run("", nil, r.f, args)
	}
	var made []eval.NamedValue
	for _, s := range r.class.Body {
		if init, ok := s.(*syntax.FunctionDef); ok && init.Name == "__init__" {
			made = arguments(init, true, nil)
		}
	}
	return d.m.Run(r.class.Name, made, r.f, args)
}

// arguments are those that a call of f must have; first says that its first parameter is self or cls.
func arguments(f *syntax.FunctionDef, first bool, values map[string]eval.Value) []eval.NamedValue {
	var args []eval.NamedValue
	for p := range f.Params.All() {
		v := values[p.Name]
		switch {
		case first:
			first = false
			continue
		case p == f.Params.VarArg || p == f.Params.KwArg || v == nil && p.Default != nil:
			continue
		case v == nil:
			v = &eval.Symbol{Path: standInPath + p.Name}
		}
		args = append(args, eval.NamedValue{Name: p.Name, Value: v})
	}
	return args
}

// definitions are the DSL definitions in the body of a function, without those that must fail: the ones in `with pytest.raises(…)`.
func (d *discovery) definitions(f *syntax.FunctionDef) []syntax.Node {
	var out []syntax.Node
	d.local = imported(f)
	defer func() { d.local = nil }()
	for _, s := range f.Body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.With:
				return !expectsFailure(n)
			case *syntax.FunctionDef:
				if d.isDSL(n.Decorators) {
					out = append(out, n)
					return false
				}
			case *syntax.ClassDef:
				if d.isDSL(n.Decorators) {
					out = append(out, n)
					return false
				}
			}
			return true
		})
	}
	return out
}

func expectsFailure(w *syntax.With) bool {
	return slices.ContainsFunc(w.Items, func(i syntax.WithItem) bool { return eval.ExpectsFailure(i.Context) })
}

// mustFail finds the names that are only used where something must fail.
func mustFail(file []syntax.Stmt) map[string]bool {
	failing := map[string]bool{}
	var visit func(s syntax.Stmt, inside bool)
	visit = func(s syntax.Stmt, inside bool) {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.With:
				if !inside && expectsFailure(n) {
					for _, s := range n.Body {
						visit(s, true)
					}
					return false
				}
			case *syntax.Name:
				old, known := failing[n.ID]
				failing[n.ID] = inside && (old || !known)
			}
			return true
		})
	}
	for _, s := range file {
		visit(s, false)
	}
	return failing
}

// imported are the names under which a function imports the language, or something of it.
func imported(f *syntax.FunctionDef) map[string]bool {
	var names map[string]bool
	add := func(module string, a syntax.Alias) {
		if strings.HasPrefix(module, "pypto") {
			if names == nil {
				names = map[string]bool{}
			}
			names[cmp.Or(a.As, a.Name)] = true
		}
	}
	for _, s := range f.Body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Import:
				for _, a := range n.Names {
					add(a.Name, a)
				}
			case *syntax.ImportFrom:
				for _, a := range n.Names {
					add(n.Module, a)
				}
			}
			return true
		})
	}
	return names
}

// isDSL reports decorators of pl.
func (d *discovery) isDSL(decorators []syntax.Expr) bool {
	return slices.ContainsFunc(decorators, func(x syntax.Expr) bool {
		if c, ok := x.(*syntax.Call); ok {
			x = c.Fun
		}
		for {
			a, ok := x.(*syntax.Attribute)
			if !ok {
				break
			}
			x = a.X
		}
		n, ok := x.(*syntax.Name)
		if !ok {
			return false
		}
		v, _ := d.m.Env().Lookup(n.ID)
		s, ok := v.(*eval.Symbol)
		return ok && s.IsDSL() || d.local[n.ID]
	})
}

// parametrized gives the first values of @pytest.mark.parametrize("a, b", [(1, 2), …]) decorators.
func (d *discovery) parametrized(decorators []syntax.Expr) map[string]eval.Value {
	out := map[string]eval.Value{}
	for _, x := range decorators {
		c, ok := x.(*syntax.Call)
		if !ok || len(c.Args) < 2 {
			continue
		}
		if a, ok := c.Fun.(*syntax.Attribute); !ok || a.Name != "parametrize" {
			continue
		}
		env := d.m.Env()
		names, bad1 := env.Eval(c.Args[0])
		first, bad2 := env.Eval(firstSet(c.Args[1]))
		if bad1 != nil || bad2 != nil {
			continue
		}
		list := elements(names)
		if s, ok := names.(eval.Str); ok {
			list = nil
			for _, n := range strings.Split(string(s), ",") {
				list = append(list, eval.Str(strings.TrimSpace(n)))
			}
		}
		values := elements(first)
		if len(list) == 1 {
			values = []eval.Value{first}
		}
		for i, n := range list {
			if n, ok := n.(eval.Str); ok && i < len(values) {
				out[string(n)] = values[i]
			}
		}
	}
	return out
}

// firstSet is the first element of a list; of pytest.param(a, b, id=…) the values, as a tuple when there are several.
func firstSet(list syntax.Expr) syntax.Expr {
	var elems []syntax.Expr
	switch l := list.(type) {
	case *syntax.List:
		elems = l.Elems
	case *syntax.Tuple:
		elems = l.Elems
	}
	if len(elems) > 0 {
		if c, ok := elems[0].(*syntax.Call); ok && len(c.Args) > 0 {
			if a, ok := c.Fun.(*syntax.Attribute); ok && a.Name == "param" {
				if len(c.Args) == 1 {
					return c.Args[0]
				}
				return &syntax.Tuple{Range: c.Range, Elems: c.Args}
			}
		}
	}
	r := list.At()
	return &syntax.Subscript{Range: r, X: list, Index: &syntax.Constant{Range: r, Kind: syntax.Int, Int: "0"}}
}

// elements are those of a tuple or list.
func elements(v eval.Value) []eval.Value {
	switch v := v.(type) {
	case *eval.Tuple:
		return v.Elems
	case *eval.List:
		return v.Elems
	}
	return nil
}
