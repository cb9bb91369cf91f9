package eval

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Enums.

// autoValue is what enum.auto() gives; makeEnum replaces it.
var autoValue = &Symbol{"enum.auto()"}

// makeEnum turns the plain attributes of a class body into members.
func (l *Loader) makeEnum(c *Class) {
	last := Value(nil)
	for _, n := range c.attrs.names {
		v := c.attrs.m[n]
		switch v.(type) {
		case *Func, *descriptor, *Builtin, *Class:
			continue
		}
		if strings.HasPrefix(n, "_") {
			continue
		}
		if v == Value(autoValue) {
			v = l.nextAuto(c, n, last)
		}
		last = v
		for _, m := range c.fields { // an equal value makes an alias
			o := c.attrs.m[m].(*Instance)
			if val, _ := o.attrs.get("value"); l.equal(val, v) {
				c.attrs.m[n] = o
			}
		}
		if c.attrs.m[n] != v && c.attrs.m[n] != Value(autoValue) {
			continue
		}
		m := &Instance{Class: c}
		if f, _, ok := c.find("__new__"); ok {
			_ = f
			l.unknown("an enum with __new__")
		}
		if f, _, ok := c.find("__init__"); ok {
			args := []Value{v}
			if t, ok := v.(*Tuple); ok {
				args = t.Elems
			}
			m.attrs.set("name", Str(n))
			m.attrs.set("value", v)
			l.call(&Bound{m, f}, args, nil)
		}
		m.attrs.set("name", Str(n))
		m.attrs.set("value", v)
		m.attrs.set("_name_", Str(n))
		m.attrs.set("_value_", v)
		if c.is(intClass) || c.is(strClass) {
			m.payload = v
		}
		c.attrs.m[n] = m
		c.fields = append(c.fields, n)
	}
}

func (l *Loader) nextAuto(c *Class, name string, last Value) Value {
	switch {
	case c.is(strClass):
		return Str(strings.ToLower(name))
	case last == nil:
		return MakeInt(1)
	}
	i, _, isInt, _ := number(last)
	if !isInt {
		l.unknown("enum.auto() after a value that is no integer")
	}
	if c.isFlag() {
		return MakeInt(1).shift(i.bits())
	}
	return i.add(MakeInt(1))
}

// flagOp is x op y of two members of a Flag: a member, or a combination that has no name.
func (l *Loader) flagOp(op string, x, y Value) Value {
	a, ok1 := x.(*Instance)
	b, ok2 := y.(*Instance)
	if !ok1 || !ok2 || a.Class != b.Class || !a.Class.isFlag() || op != "|" && op != "&" && op != "^" {
		return nil
	}
	va, _ := a.attrs.get("value")
	vb, _ := b.attrs.get("value")
	v := l.binary(op, va, vb)
	for _, m := range l.enumMembers(a.Class) {
		if mv, _ := m.(*Instance).attrs.get("value"); l.equal(mv, v) {
			return m
		}
	}
	m := &Instance{Class: a.Class}
	for _, n := range [...]string{"name", "_name_"} {
		m.attrs.set(n, None)
	}
	for _, n := range [...]string{"value", "_value_"} {
		m.attrs.set(n, v)
	}
	if a.payload != nil {
		m.payload = v
	}
	return m
}

func (c *Class) isFlag() bool {
	return slices.ContainsFunc(c.mro, func(k *Class) bool { return k.Name == "Flag" || k.Name == "IntFlag" })
}

func (l *Loader) enumMembers(c *Class) []Value {
	out := make([]Value, len(c.fields))
	for i, n := range c.fields {
		out[i] = c.attrs.m[n]
	}
	return out
}

func (l *Loader) enumByValue(c *Class, args []Value, kws []NamedValue) Value {
	l.want(c.Name, args, kws, 1, 1)
	if m, ok := args[0].(*Instance); ok && m.Class == c {
		return m
	}
	for _, m := range l.enumMembers(c) {
		if v, _ := m.(*Instance).attrs.get("value"); l.equal(v, args[0]) {
			return m
		}
	}
	l.raise(excValue, "%s is not a valid %s", l.repr(args[0]), c.Name)
	return nil
}

// Named tuples.

var namedTupleBase = builtinClass("NamedTuple", objectClass, nil)

func (l *Loader) makeNamedTuple(c *Class) {
	c.fields = []string{}
	for _, a := range c.annots {
		c.fields = append(c.fields, a.name)
	}
	c.bases = []*Class{tupleClass}
	c.mro = []*Class{c, tupleClass, objectClass}
	d := attrs{}
	for _, f := range c.fields {
		if v, ok := c.attrs.get(f); ok {
			d.set(f, v)
			c.attrs.del(f)
		}
	}
	c.dataclass = nil
	c.defaults = d
}

func (l *Loader) newNamedTuple(c *Class, args []Value, kws []NamedValue) Value {
	if len(args) > len(c.fields) {
		l.raise(excType, "%s() takes %s but %d were given", c.Name, diag.Plural(len(c.fields), "positional argument"), len(args))
	}
	t := &Tuple{Elems: make([]Value, len(c.fields)), class: c}
	copy(t.Elems, args)
	for _, k := range kws {
		i := indexOf(c.fields, k.Name)
		if i < 0 {
			l.raise(excType, "%s() got an unexpected keyword argument '%s'", c.Name, k.Name)
		}
		if t.Elems[i] != nil {
			l.raise(excType, "%s() got multiple values for argument '%s'", c.Name, k.Name)
		}
		t.Elems[i] = k.Value
	}
	for i, f := range c.fields {
		if t.Elems[i] == nil {
			v, ok := c.defaults.get(f)
			if !ok {
				l.raise(excType, "%s() missing 1 required argument: '%s'", c.Name, f)
			}
			t.Elems[i] = v
		}
	}
	return t
}

func indexOf(names []string, n string) int {
	for i, s := range names {
		if s == n {
			return i
		}
	}
	return -1
}

func (l *Loader) namedTupleAttr(t *Tuple, name string) (Value, bool) {
	if i := indexOf(t.class.fields, name); i >= 0 {
		return t.Elems[i], true
	}
	switch name {
	case "_replace":
		return &Builtin{Name: name, fn: func(l *Loader, args []Value, kws []NamedValue) Value {
			out := &Tuple{Elems: append([]Value(nil), t.Elems...), class: t.class}
			for _, k := range kws {
				i := indexOf(t.class.fields, k.Name)
				if i < 0 {
					l.raise(excValue, "Got unexpected field names: ['%s']", k.Name)
				}
				out.Elems[i] = k.Value
			}
			return out
		}}, true
	case "_asdict":
		return &Builtin{Name: name, fn: func(l *Loader, args []Value, kws []NamedValue) Value {
			d := &Dict{}
			for i, f := range t.class.fields {
				d.set(f, Str(f), t.Elems[i])
			}
			return d
		}}, true
	case "_fields":
		return strTuple(t.class.fields), true
	}
	if v, _, ok := t.class.find(name); ok {
		switch v := v.(type) {
		case *Func:
			return &Bound{t, v}, true
		case *descriptor:
			if v.kind == "property" {
				return l.call(v.fn, []Value{t}, nil), true
			}
			return l.bindClass(v, t.class), true
		}
		return v, true
	}
	return nil, false
}

func strTuple(names []string) *Tuple {
	t := &Tuple{}
	for _, n := range names {
		t.Elems = append(t.Elems, Str(n))
	}
	return t
}
