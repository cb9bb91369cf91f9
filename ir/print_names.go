package ir

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names in printed text. A name stands for one Var: parameters take theirs first, then the definitions of the body in textual order; a hint that
// is in use gets _1, _2, …. Dynamic symbols are named once per program, because one symbol may appear in several functions.

// freeSuffix marks a Var that a function uses and nobody defines.
const freeSuffix = "__FREE_VAR"

// keywords are Python's, which may be neither names nor attributes.
var keywords = wordSet(
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
	"with", "yield",
)

// unqualified words may not be names either: printed text uses them unqualified.
var unqualified = wordSet("pl", "pld", "self", "abs", "inf", "nan", "tuple")

func wordSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// reserved reports a word that may not be a name.
func reserved(w string) bool { return keywords[w] || unqualified[w] }

func (p *printer) startNames() {
	p.names = make(map[*Var]string)
	p.taken = make(map[string]int)
	p.defined = make(map[*Var]bool)
}

// identifier turns any hint into a Python identifier. A run of characters that names cannot have becomes one underscore.
func identifier(hint string) string {
	plain := hint != ""
	for i := 0; plain && i < len(hint); i++ {
		c := hint[i]
		plain = c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9'
	}
	if !plain {
		hint = cleanName(hint)
	}
	if reserved(hint) {
		return hint + "_"
	}
	return hint
}

func cleanName(hint string) string {
	var b strings.Builder
	gap := false
	for _, r := range hint {
		switch {
		case r != '_' && !unicode.IsLetter(r) && !(r < utf8.RuneSelf && unicode.IsDigit(r)):
			gap = true
			continue
		case gap && b.Len() > 0 && r != '_' && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	switch name := b.String(); {
	case name == "":
		return "v"
	case unicode.IsDigit(rune(name[0])):
		return "v" + name
	default:
		return name
	}
}

// fresh returns the first free name that starts with base, and takes it.
func fresh(taken map[string]int, base string) string {
	n, used := taken[base]
	if !used {
		taken[base] = 0
		return base
	}
	for {
		n++
		name := base + "_" + strconv.Itoa(n)
		if _, used := taken[name]; !used {
			taken[base], taken[name] = n, 0
			return name
		}
	}
}

// symbols names the dynamic symbols of fs and notes which function mentions which.
func (p *printer) symbols(fs []*Function) {
	p.dyn = make(map[*Var]string)
	p.dynOf = make(map[*Function][]*Var)
	taken := make(map[string]int)
	for _, f := range fs {
		seen := make(map[*Var]bool)
		types := make(map[Type]bool) // types are shared: look into each once
		expr := func(e Expr) bool {
			if v, ok := e.(*Var); ok && v.Dyn && !seen[v] {
				seen[v] = true
				p.dynOf[f] = append(p.dynOf[f], v)
				if p.dyn[v] == "" {
					p.dyn[v] = fresh(taken, identifier(v.Hint))
				}
			}
			return true
		}
		typ := func(t Type) {
			if t != nil && !types[t] {
				types[t] = true
				WalkType(t, expr)
			}
		}
		for _, a := range f.Params {
			typ(a.Var.Typ)
		}
		for _, t := range f.Returns {
			typ(t)
		}
		Inspect(f.Body, func(s Stmt) bool {
			for _, v := range Defs(s) {
				typ(v.Typ)
			}
			for _, c := range carriesOf(s) {
				typ(c.Iter.Typ)
			}
			Exprs(s, expr)
			return true
		})
	}
	for _, f := range fs {
		p.validShapeParams(f, taken)
	}
}

// validShapeParams declares scalar parameters that a parameter's valid_shape mentions: Python evaluates the annotation before it knows them.
func (p *printer) validShapeParams(f *Function, taken map[string]int) {
	for _, a := range f.Params {
		t, ok := a.Var.Typ.(*TensorType)
		if !ok || t.View == nil {
			continue
		}
		walkAll(t.View.ValidShape, func(e Expr) bool {
			if v, ok := e.(*Var); ok && !v.Dyn && p.dyn[v] == "" && f.Param(v) >= 0 {
				name := identifier(v.Hint)
				if _, used := taken[name]; !used {
					p.dyn[v] = fresh(taken, name)
				}
			}
			return true
		})
	}
}

func carriesOf(s Stmt) []Carry {
	switch s := s.(type) {
	case *For:
		return s.Carries
	case *While:
		return s.Carries
	}
	return nil
}

// reserve keeps the names of the symbols and callees that f mentions from its own variables.
func (p *printer) reserve(f *Function) {
	for _, v := range p.dynOf[f] {
		name := p.dyn[v]
		p.taken[name] = 0
		p.names[v] = name
	}
	if p.method {
		return
	}
	Inspect(f.Body, func(s Stmt) bool {
		Exprs(s, func(e Expr) bool {
			if c, ok := e.(*Call); ok {
				p.taken[c.Callee] = 0
			}
			return true
		})
		return true
	})
}

// define names a Var at its definition.
func (p *printer) define(v *Var) {
	if v == nil {
		return
	}
	p.defined[v] = true
	if p.names[v] == "" {
		p.names[v] = fresh(p.taken, identifier(v.Hint))
	}
}

// nameDefs names all Vars that b and its nested blocks define, in the order in which the text defines them.
func (p *printer) nameDefs(b Block) {
	for _, s := range b {
		switch s := s.(type) {
		case *For:
			p.define(s.Var)
			p.nameCarried(s.Carries, s.Body)
		case *While:
			p.nameCarried(s.Carries, s.Body)
		default:
			if sc, ok := s.(*Scope); ok {
				p.define(sc.TaskID)
			}
			for _, n := range Blocks(s) {
				p.nameDefs(n)
			}
			for _, v := range Defs(s) {
				p.define(v)
			}
		}
	}
}

func (p *printer) nameCarried(cs []Carry, body Block) {
	for _, c := range cs {
		p.define(c.Iter)
	}
	p.nameDefs(body)
	for _, c := range cs {
		p.define(c.Result)
	}
}

// name is the printed name of a Var.
func (p *printer) name(v *Var) string {
	if v == nil {
		return "_"
	}
	if n := p.names[v]; n != "" {
		return n
	}
	base := identifier(v.Hint)
	if !p.loose && !v.Dyn {
		base += freeSuffix
	}
	n := fresh(p.taken, base)
	p.names[v] = n
	return n
}
