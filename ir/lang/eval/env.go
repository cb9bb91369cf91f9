package eval

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Env is an environment as the code of a definition sees it: the names of the functions around it, of its module, and the builtins.
// The environment of a @pl.program, @pl.function or @pl.inline shows module names as they were when the definition ran, as these decorators read their
// source at once; names bound only later are visible too. The other kinds see the last binding.
type Env struct {
	scope  *scope
	asOf   int // a time of the loader, 0 for now
	loader *Loader
}

// Lookup finds what a name is bound to. A name whose value could not be computed gives a *Poison.
func (e Env) Lookup(name string) (Value, bool) {
	if e.scope == nil {
		return nil, false
	}
	return e.scope.lookup(name, e.asOf)
}

// With returns an environment in which name is bound to v as well. It leaves e as it is.
func (e Env) With(name string, v Value) Env {
	s := newScope(e.scope, e.scope.module)
	s.bind(name, v)
	return Env{s, e.asOf, e.loader}
}

// Eval computes an expression in e, for its value alone.
func (e Env) Eval(x syntax.Expr) (Value, *diag.Diagnostic) {
	if e.loader == nil { // the empty environment
		e.loader = NewLoader(Options{})
	}
	return e.loader.Eval(e, x)
}

// File is the path of the file that the environment belongs to.
func (e Env) File() string {
	if e.scope == nil || e.scope.module == nil {
		return ""
	}
	return e.scope.module.Path
}

// scope holds the bindings of one module, class body or function call.
type scope struct {
	outer  *scope
	module *Module
	vars   map[string]*slot
	names  []string   // in binding order
	info   *scopeInfo // of a function; nil otherwise
	class  bool       // a class body: functions inside do not see it
	comp   bool       // of a comprehension
}

// slot is one binding. Bindings that some DSL definition may have seen are kept when the name is bound again.
type slot struct {
	v      Value // nil after del
	since  int
	before *slot
}

func newScope(outer *scope, m *Module) *scope {
	return &scope{outer: outer, module: m, vars: make(map[string]*slot)}
}

func (s *scope) bind(name string, v Value) {
	old := s.vars[name]
	if old == nil {
		s.names = append(s.names, name)
		old = &slot{}
		s.vars[name] = old
		if s.module != nil {
			old.since = s.module.loader.clock
		}
		old.v = v
		return
	}
	if s.module != nil {
		if l := s.module.loader; old.since < l.clock {
			old = &slot{since: l.clock, before: old}
			s.vars[name] = old
		}
	}
	old.v = v
}

// get is the binding of name in this scope alone, at a time.
func (s *scope) get(name string, asOf int) (Value, bool) {
	b := s.vars[name]
	for asOf > 0 && b != nil && b.since >= asOf && b.before != nil {
		b = b.before
	}
	if b == nil || b.v == nil {
		return nil, false
	}
	return b.v, true
}

// lookup follows the scopes outwards. A class body is seen from directly inside only.
func (s *scope) lookup(name string, asOf int) (Value, bool) {
	for at := s; at != nil; at = at.outer {
		if at.class && at != s {
			continue
		}
		if v, ok := at.get(name, asOf); ok {
			return v, true
		}
	}
	v, ok := builtins[name]
	return v, ok
}

// Diagnostic reports the use of a poisoned name at a place.
func (p *Poison) Diagnostic(use diag.Span) *diag.Diagnostic {
	d := diag.Errorf(CodePoisoned, use, "constant %s cannot be evaluated statically: %s at %s", p.Name, p.Reason, place(p.At))
	d.WithHint("DSL code can use what module code computes from literals, other constants and plain Python functions; pass a value that is known only at run time as a parameter")
	n := 0
	for at := p; at.From != nil && n < maxChainShown; at = at.From {
		d.WithRelated(at.Span, "%s needs %s", at.Name, at.From.Name)
		n++
	}
	d.WithRelated(p.At, "%s", p.Reason)
	return d
}

// maxChainShown bounds the related places of a report.
const maxChainShown = 8

// place renders file:line, the form in which messages name a second place.
func place(at diag.Span) string {
	if !at.IsValid() {
		return at.File
	}
	return base(at.File) + ":" + itoa(int(at.Line))
}
