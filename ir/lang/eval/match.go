package eval

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// match statements. The parser keeps patterns as the expressions that they look like: a name captures, Class(…) is a class pattern, | joins alternatives.

func (l *Loader) match(fr *frame, s *syntax.Match, result *Value) flow {
	v := l.eval(fr, s.Subject)
	for i := range s.Cases {
		c := &s.Cases[i]
		l.charge(1)
		if !l.matches(fr, c.Pattern, v) {
			continue
		}
		if c.Guard != nil {
			g := l.eval(fr, c.Guard)
			l.at(fr, c.Guard)
			if !l.truth(g) {
				continue
			}
		}
		return l.block(fr, c.Body, result)
	}
	return next
}

// matches tests a value against a pattern and binds what the pattern captures.
func (l *Loader) matches(fr *frame, p syntax.Expr, v Value) bool {
	l.charge(1)
	switch p := p.(type) {
	case *syntax.Name:
		if p.ID != "_" {
			l.assignName(fr, p.ID, v)
		}
		return true
	case *syntax.NamedExpr: // pattern as name
		if !l.matches(fr, p.Value, v) {
			return false
		}
		l.assignName(fr, p.Target.ID, v)
		return true
	case *syntax.BinOp:
		if p.Op == "|" {
			return l.matches(fr, p.X, v) || l.matches(fr, p.Y, v)
		}
	case *syntax.Tuple:
		return l.matchSequence(fr, p.Elems, v)
	case *syntax.List:
		return l.matchSequence(fr, p.Elems, v)
	case *syntax.Dict:
		return l.matchMapping(fr, p, v)
	case *syntax.Call:
		return l.matchClass(fr, p, v)
	case *syntax.Constant:
		switch p.Kind {
		case syntax.None, syntax.True, syntax.False:
			return same(v, l.eval(fr, p))
		}
	}
	want := l.eval(fr, p) // a literal, or a dotted name
	l.at(fr, p)
	return l.truth(l.equalValue(v, want))
}

func (l *Loader) matchSequence(fr *frame, patterns []syntax.Expr, v Value) bool {
	var elems []Value
	switch v := v.(type) {
	case *List:
		elems = v.Elems
	case *Tuple:
		elems = v.Elems
	default:
		l.notValue(v)
		return false
	}
	star := slices.IndexFunc(patterns, func(p syntax.Expr) bool { _, ok := p.(*syntax.Starred); return ok })
	if star < 0 && len(elems) != len(patterns) || len(elems) < len(patterns)-1 {
		return false
	}
	for i, p := range patterns {
		switch {
		case star < 0 || i < star:
			if !l.matches(fr, p, elems[i]) {
				return false
			}
		case i == star:
			rest := &List{slices.Clone(elems[star : len(elems)-(len(patterns)-1-star)])}
			if !l.matches(fr, p.(*syntax.Starred).X, rest) {
				return false
			}
		default:
			if !l.matches(fr, p, elems[len(elems)-len(patterns)+i]) {
				return false
			}
		}
	}
	return true
}

func (l *Loader) matchMapping(fr *frame, p *syntax.Dict, v Value) bool {
	d, ok := v.(*Dict)
	if !ok {
		l.notValue(v)
		return false
	}
	rest := &Dict{table: d.copy()}
	for i, k := range p.Keys {
		if k == nil { // **rest
			l.assign(fr, p.Values[i], rest)
			continue
		}
		h := l.hash(l.eval(fr, k))
		e := d.find(h)
		if e == nil || !l.matches(fr, p.Values[i], e.val) {
			return false
		}
		rest.del(h)
	}
	return true
}

// matchClass tests Class(p, …, attr=q): positional patterns stand for the fields of a dataclass or named tuple, and for the value itself of a builtin type.
func (l *Loader) matchClass(fr *frame, p *syntax.Call, v Value) bool {
	c := l.eval(fr, p.Fun)
	l.at(fr, p)
	if !l.isInstance(v, c, false) {
		return false
	}
	class, _ := c.(*Class)
	var fields []string
	if class != nil {
		switch args, _, ok := class.find("__match_args__"); {
		case ok:
			for _, a := range l.elems(args) {
				fields = append(fields, l.argStr(a, "__match_args__"))
			}
		case class.dataclass != nil:
			for _, f := range class.dataclass.fields {
				if f.init && !f.kwOnly {
					fields = append(fields, f.name)
				}
			}
		case class.create != nil && len(p.Args) == 1:
			return l.matches(fr, p.Args[0], v)
		default:
			fields = class.fields
		}
	}
	if len(p.Args) > len(fields) {
		l.raise(excType, "%s() accepts %d positional sub-patterns (%d given)", typeName(c), len(fields), len(p.Args))
	}
	attr := func(name string, pattern syntax.Expr) bool {
		a, ok := l.attribute(v, name)
		return ok && l.matches(fr, pattern, a)
	}
	for i, a := range p.Args {
		if !attr(fields[i], a) {
			return false
		}
	}
	for _, k := range p.Keywords {
		if !attr(k.Name, k.Value) {
			return false
		}
	}
	return true
}

// captures calls bind for the names that a pattern gives values to.
func captures(p syntax.Expr, bind func(string)) {
	all := func(list []syntax.Expr) {
		for _, e := range list {
			captures(e, bind)
		}
	}
	switch p := p.(type) {
	case *syntax.Name:
		if p.ID != "_" {
			bind(p.ID)
		}
	case *syntax.NamedExpr:
		bind(p.Target.ID)
		captures(p.Value, bind)
	case *syntax.Starred:
		captures(p.X, bind)
	case *syntax.BinOp:
		if p.Op == "|" {
			captures(p.X, bind)
			captures(p.Y, bind)
		}
	case *syntax.Tuple:
		all(p.Elems)
	case *syntax.List:
		all(p.Elems)
	case *syntax.Dict:
		all(p.Values)
	case *syntax.Call:
		all(p.Args)
		for _, k := range p.Keywords {
			captures(k.Value, bind)
		}
	}
}
