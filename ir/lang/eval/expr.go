package eval

import (
	"strings"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// frame is one activation: of a module, a class body, a function, or an expression evaluated for others.
type frame struct {
	scope    *scope
	module   *Module
	fn       *Func
	self     Value    // first argument, for super()
	handling []*fault // exceptions whose handlers run, innermost last
	yields   *[]Value // of a generator
	class    *Class   // of a class body
	annots   []annotation
	lenient  bool // of a function that Module.Run calls: a statement that fails does not end it
}

// eval computes an expression.
func (l *Loader) eval(fr *frame, x syntax.Expr) Value {
	if l.depth++; l.depth > maxDepth {
		l.over("expressions and calls nested more than %d deep", maxDepth)
	}
	l.steps++
	if l.steps&63 == 0 {
		l.charge(0)
	}
	v := l.eval1(fr, x)
	l.depth--
	return v
}

func (l *Loader) eval1(fr *frame, x syntax.Expr) Value {
	switch x := x.(type) {
	case *syntax.Name:
		return l.name(fr, x)
	case *syntax.Constant:
		if x.Named {
			l.at(fr, x)
			l.unknown("a character by name, \\N{…}")
		}
		return l.constant(x)
	case *syntax.Attribute:
		v := l.eval(fr, x.X)
		l.at(fr, x)
		return l.getattr(v, x.Name)
	case *syntax.Call:
		return l.callExpr(fr, x)
	case *syntax.BinOp:
		a := l.eval(fr, x.X)
		b := l.eval(fr, x.Y)
		l.at(fr, x)
		return l.binary(x.Op, a, b)
	case *syntax.UnaryOp:
		v := l.eval(fr, x.X)
		l.at(fr, x)
		return l.unary(x.Op, v)
	case *syntax.BoolOp:
		var v Value
		for i, e := range x.Values {
			v = l.eval(fr, e)
			if i == len(x.Values)-1 {
				break
			}
			l.at(fr, e)
			if l.truth(v) == (x.Op == "or") {
				break
			}
		}
		return v
	case *syntax.Compare:
		a := l.eval(fr, x.X)
		var v Value
		for i, y := range x.Ys {
			b := l.eval(fr, y)
			l.at(fr, x)
			v = l.compare(x.Ops[i], a, b)
			if i < len(x.Ys)-1 && !l.truth(v) {
				break
			}
			a = b
		}
		return v
	case *syntax.IfExp:
		c := l.eval(fr, x.Cond)
		l.at(fr, x.Cond)
		if l.truth(c) {
			return l.eval(fr, x.Body)
		}
		return l.eval(fr, x.Else)
	case *syntax.Subscript:
		v := l.eval(fr, x.X)
		i := l.eval(fr, x.Index)
		l.at(fr, x)
		return l.subscript(v, i)
	case *syntax.Slice:
		s := &Slice{None, None, None}
		for _, p := range [3]struct {
			to *Value
			x  syntax.Expr
		}{{&s.Lo, x.Lo}, {&s.Hi, x.Hi}, {&s.Step, x.Step}} {
			if p.x != nil {
				*p.to = l.eval(fr, p.x)
			}
		}
		return s
	case *syntax.Tuple:
		return &Tuple{Elems: l.exprs(fr, x.Elems)}
	case *syntax.List:
		return &List{l.exprs(fr, x.Elems)}
	case *syntax.Set:
		s := &Set{}
		for _, v := range l.exprs(fr, x.Elems) {
			l.at(fr, x)
			s.set(l.hash(v), v, nil)
		}
		return s
	case *syntax.Dict:
		return l.dict(fr, x)
	case *syntax.FString:
		var b strings.Builder
		l.fstring(fr, x, &b)
		return Str(b.String())
	case *syntax.Comprehension:
		return l.comprehension(fr, x)
	case *syntax.Lambda:
		return l.function(fr, "<lambda>", nil, x)
	case *syntax.NamedExpr:
		v := l.eval(fr, x.Value)
		l.assignName(walrusFrame(fr), x.Target.ID, v)
		return v
	case *syntax.Starred:
		l.at(fr, x)
		l.raise(excType, "starred expression outside of a list")
	case *syntax.Yield:
		return l.yield(fr, x)
	case *syntax.Await:
		l.at(fr, x)
		l.unknown("await")
	}
	l.at(fr, x)
	l.unknown("an expression of this kind")
	return nil
}

// at notes the operation that runs, for the place of a fault.
func (l *Loader) at(fr *frame, n syntax.Node) { l.node, l.module = n, fr.module }

// name reads a variable.
func (l *Loader) name(fr *frame, x *syntax.Name) Value {
	id := x.ID
	for s := fr.scope; s != nil; s = s.outer {
		if s.class && s != fr.scope {
			continue
		}
		if s.info != nil {
			if s.info.globals[id] {
				s = s.module.scope
			} else if s.info.locals[id] {
				if v, ok := s.get(id, l.asOf); ok {
					return l.read(fr, x, v)
				}
				l.at(fr, x)
				if s == fr.scope {
					l.raise(excUnbound, "local variable '%s' referenced before assignment", id)
				}
				l.raise(excName, "free variable '%s' referenced before assignment in enclosing scope", id)
			} else {
				continue
			}
		}
		if v, ok := s.get(id, l.asOf); ok {
			return l.read(fr, x, v)
		}
	}
	if v, ok := builtins[id]; ok {
		return v
	}
	l.at(fr, x)
	e := newException(excName, Str("name '"+id+"' is not defined"))
	e.attrs.set("name", Str(id))
	if near := nearName(fr.scope, id); near != "" {
		e.attrs.set("near", Str(near))
	}
	l.throw(e)
	return nil
}

func (l *Loader) read(fr *frame, x *syntax.Name, v Value) Value {
	if p, ok := v.(*Poison); ok {
		l.at(fr, x)
		l.readPoison(p)
	}
	return v
}

// readPoison throws for the use of a poisoned name.
func (l *Loader) readPoison(p *Poison) {
	panic(&fault{reason: p.Reason, at: p.At, from: p, node: l.node})
}

// nearName finds a visible name that is one edit from id.
func nearName(s *scope, id string) string {
	if len(id) < 3 {
		return ""
	}
	for ; s != nil; s = s.outer {
		for _, n := range s.names {
			if syntax.OneEdit(n, id) {
				return n
			}
		}
	}
	return ""
}

func (l *Loader) constant(x *syntax.Constant) Value {
	switch x.Kind {
	case syntax.Int:
		return l.intLiteral(x.Int)
	case syntax.Float:
		return Float(x.Float)
	case syntax.Str:
		return Str(x.Str)
	case syntax.Bytes:
		return Bytes(x.Str)
	case syntax.True:
		return Bool(true)
	case syntax.False:
		return Bool(false)
	case syntax.None:
		return None
	case syntax.Ellipsis:
		return Ellipsis
	}
	l.unknown("a complex number")
	return nil
}

// exprs evaluates a list of expressions, spreading starred ones.
func (l *Loader) exprs(fr *frame, xs []syntax.Expr) []Value {
	if len(xs) == 0 {
		return nil
	}
	out := make([]Value, 0, len(xs))
	for _, x := range xs {
		if s, ok := x.(*syntax.Starred); ok {
			v := l.eval(fr, s.X)
			l.at(fr, s)
			out = append(out, l.elems(v)...)
			l.size(len(out))
			continue
		}
		out = append(out, l.eval(fr, x))
	}
	return out
}

func (l *Loader) dict(fr *frame, x *syntax.Dict) Value {
	d := &Dict{}
	for i, k := range x.Keys {
		if k == nil {
			v := l.eval(fr, x.Values[i])
			l.at(fr, x.Values[i])
			l.update(d, v)
			continue
		}
		key := l.eval(fr, k)
		v := l.eval(fr, x.Values[i])
		l.at(fr, k)
		d.set(l.hash(key), key, v)
	}
	return d
}

// update adds the entries of a dict, or of pairs, to d.
func (l *Loader) update(d *Dict, v Value) {
	if o, ok := v.(*Dict); ok {
		l.size(d.live + o.live)
		for _, e := range o.entries {
			if e.key != nil {
				d.set(e.hash, e.key, e.val)
			}
		}
		return
	}
	for it := l.iter(v); ; {
		p, ok := it.next()
		if !ok {
			return
		}
		kv := l.elems(p)
		if len(kv) != 2 {
			l.raise(excValue, "dictionary update sequence element has length %d; 2 is required", len(kv))
		}
		l.size(d.live + 1)
		d.set(l.hash(kv[0]), kv[0], kv[1])
	}
}

// fstring appends the value of an f-string.
func (l *Loader) fstring(fr *frame, x *syntax.FString, b *strings.Builder) {
	for _, part := range x.Parts {
		switch part := part.(type) {
		case *syntax.Constant:
			if part.Named {
				l.at(fr, part)
				l.unknown("a character by name, \\N{…}")
			}
			b.WriteString(part.Str)
		case *syntax.FValue:
			v := l.eval(fr, part.X)
			spec := ""
			if part.Format != nil {
				var f strings.Builder
				l.fstring(fr, part.Format, &f)
				spec = f.String()
			}
			l.at(fr, part)
			conv := part.Conv
			if part.Debug && conv == 0 && part.Format == nil {
				conv = 'r'
			}
			switch conv {
			case 'r', 'a':
				v = Str(l.repr(v))
			case 's':
				v = Str(l.str(v))
			}
			b.WriteString(l.format(v, spec))
		}
		l.text(b.Len())
	}
}

// comprehension runs the clauses in a scope of their own.
func (l *Loader) comprehension(fr *frame, x *syntax.Comprehension) Value {
	in := *fr
	in.scope = newScope(fr.scope, fr.module)
	in.scope.comp = true
	in.class = nil
	inner := &in
	// The first iterable is evaluated outside, at once.
	first := l.eval(fr, x.Clauses[0].Iter)
	l.at(fr, x.Clauses[0].Iter)
	advance := l.clauses(inner, x.Clauses, l.iter(first))
	switch x.Kind {
	case syntax.GeneratorExp:
		return &Iterator{name: "generator", next: func() (Value, bool) {
			if !advance() {
				return nil, false
			}
			return l.eval(inner, x.Elem), true
		}}
	case syntax.DictComp:
		d := &Dict{}
		for advance() {
			k := l.eval(inner, x.Key)
			v := l.eval(inner, x.Elem)
			l.at(fr, x)
			l.size(d.live + 1)
			d.set(l.hash(k), k, v)
		}
		return d
	case syntax.SetComp:
		s := &Set{}
		for advance() {
			v := l.eval(inner, x.Elem)
			l.at(fr, x)
			l.size(s.live + 1)
			s.set(l.hash(v), v, nil)
		}
		return s
	}
	var out []Value
	for advance() {
		l.checkSize(len(out) + 1)
		out = append(out, l.eval(inner, x.Elem))
	}
	return &List{out}
}

// clauses gives a function that binds the next combination of the targets, until there is none.
func (l *Loader) clauses(fr *frame, cs []syntax.CompClause, first *Iterator) func() bool {
	its := make([]*Iterator, len(cs))
	its[0] = first
	var advance func(i int) bool
	advance = func(i int) bool {
		for {
			if its[i] == nil {
				if !advance(i - 1) {
					return false
				}
				v := l.eval(fr, cs[i].Iter)
				l.at(fr, cs[i].Iter)
				its[i] = l.iter(v)
			}
			v, ok := its[i].next()
			if !ok {
				if i == 0 {
					return false
				}
				its[i] = nil
				continue
			}
			l.assign(fr, cs[i].Target, v)
			keep := true
			for _, c := range cs[i].Ifs {
				v := l.eval(fr, c)
				l.at(fr, c)
				if keep = l.truth(v); !keep {
					break
				}
			}
			if keep {
				return true
			}
		}
	}
	return func() bool { return advance(len(cs) - 1) }
}

// walrusFrame is the frame in which ":=" binds: that around comprehensions.
func walrusFrame(fr *frame) *frame {
	if !fr.scope.comp {
		return fr
	}
	out := *fr
	for out.scope.comp {
		out.scope = out.scope.outer
	}
	return &out
}

// callExpr evaluates a call.
func (l *Loader) callExpr(fr *frame, x *syntax.Call) Value {
	if n, ok := x.Fun.(*syntax.Name); ok && n.ID == "super" && len(x.Args) == 0 && fr.fn != nil && fr.fn.class != nil && fr.self != nil {
		return &super{fr.fn.class, fr.self}
	}
	fn := l.eval(fr, x.Fun)
	if s, ok := fn.(*Symbol); ok && !s.IsDSL() && !benign(s.Path) && s.Name() != "__init__" {
		// The arguments cannot matter; do not let them be the reason.
		l.at(fr, x)
		l.unknown("call of %s", s.Path)
	}
	args := l.exprs(fr, x.Args)
	var kws []NamedValue
	if len(x.Keywords) > 0 {
		kws = make([]NamedValue, 0, len(x.Keywords))
		for _, k := range x.Keywords {
			v := l.eval(fr, k.Value)
			if k.Name != "" {
				kws = append(kws, NamedValue{k.Name, v})
				continue
			}
			l.at(fr, k)
			d, ok := v.(*Dict)
			if !ok {
				l.notValue(v)
				l.raise(excType, "argument after ** must be a mapping, not %s", typeName(v))
			}
			for key, val := range d.All() {
				s, ok := key.(Str)
				if !ok {
					l.raise(excType, "keywords must be strings")
				}
				kws = append(kws, NamedValue{string(s), val})
			}
		}
	}
	l.at(fr, x)
	if s, ok := fn.(*Symbol); ok {
		return l.callSymbol(fr, x, s, args, kws)
	}
	if b, ok := fn.(*Builtin); ok && b.frame != nil {
		return b.frame(l, fr, args, kws)
	}
	return l.call(fn, args, kws)
}
