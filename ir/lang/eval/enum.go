package eval

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Enums.

// autoValue is what enum.auto() gives; the assignment in the class body replaces it.
var autoValue = &Symbol{"enum.auto()"}

// makeEnum turns the plain attributes of a class body into members.
func (l *Loader) makeEnum(c *Class) {
	for _, n := range c.attrs.names {
		v := c.attrs.m[n]
		switch v.(type) {
		case *Func, *descriptor, *Builtin, *Class:
			continue
		}
		if strings.HasPrefix(n, "_") {
			continue
		}
		for _, m := range c.fields { // an equal value makes an alias
			o := c.attrs.m[m].(*Instance)
			if val, _ := o.attrs.get("value"); l.equal(val, v) {
				c.attrs.m[n] = o
			}
		}
		if c.attrs.m[n] != v {
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

// nextAuto is the value of enum.auto() for a member that comes next in a class body: it follows that of the member before.
func (l *Loader) nextAuto(fr *frame, name string) Value {
	var values []Value
	for _, n := range fr.scope.names {
		switch v, _ := fr.scope.get(n, 0); v.(type) {
		case nil, *Func, *descriptor, *Builtin, *Class:
		default:
			if !strings.HasPrefix(n, "_") {
				values = append(values, v)
			}
		}
	}
	own, ok := fr.scope.get("_generate_next_value_", 0)
	if !ok {
		own, _, ok = fr.class.find("_generate_next_value_")
	}
	if d, isStatic := own.(*descriptor); isStatic {
		own = d.fn
	}
	switch {
	case ok:
		return l.call(own, []Value{Str(name), MakeInt(1), MakeInt(int64(len(values))), &List{slices.Clone(values)}}, nil)
	case fr.class.isStrEnum():
		return Str(strings.ToLower(name))
	case len(values) == 0:
		return MakeInt(1)
	}
	var last, most Int
	for k, v := range values {
		i, _, isInt, _ := number(v)
		if !isInt {
			l.unknown("enum.auto() after a value that is no integer")
		}
		if last = i; k == 0 || most.Cmp(i) < 0 {
			most = i
		}
	}
	switch {
	case fr.class.isFlag():
		return MakeInt(1).shift(most.bits())
	case last.Cmp(most) != 0: // the last one counts before Python 3.13, the greatest one from then on
		l.unknown("enum.auto() after a value that is smaller than another")
	}
	return last.add(MakeInt(1))
}

func (c *Class) isStrEnum() bool {
	return slices.ContainsFunc(c.mro, func(k *Class) bool { return k.Name == "StrEnum" })
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
	if len(c.fields) == 0 && len(args)+len(kws) >= 2 {
		return l.enumOf(c, l.named(c.Name, args, kws, "value", "names", "module", "qualname", "type", "start", "boundary"))
	}
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

// enumOf is Enum("Name", "A B C"): a new class with these members.
func (l *Loader) enumOf(base *Class, args []Value) Value {
	if args[0] == nil || args[1] == nil {
		l.raise(excType, "missing required argument 'names'")
	}
	if args[4] != nil || args[6] != nil {
		l.unknown("the arguments 'type' and 'boundary' of an Enum made by a call")
	}
	c := &Class{Name: l.argStr(args[0], "Enum"), bases: []*Class{base}, enum: true, module: l.module}
	c.mro, _ = linearize(c)
	next, step := MakeInt(1), func(i Int) Int { return i.add(MakeInt(1)) }
	if args[5] != nil {
		next = l.toInt(args[5], "start must be an integer")
	}
	if c.isFlag() {
		step = func(i Int) Int { return MakeInt(1).shift(i.bits()) }
	}
	add := func(name, v Value) { c.attrs.set(l.argStr(name, "Enum"), v) }
	auto := func(name Value) {
		if c.isStrEnum() { // as enum.auto() has it
			add(name, Str(strings.ToLower(l.argStr(name, "Enum"))))
			return
		}
		add(name, next)
		next = step(next)
	}
	switch v := args[1].(type) {
	case Str:
		for _, n := range strings.Fields(strings.ReplaceAll(string(v), ",", " ")) {
			auto(Str(n))
		}
	case *Dict:
		for k, e := range v.All() {
			add(k, e)
		}
	default:
		for _, e := range l.elems(v) {
			if t, ok := e.(*Tuple); ok && len(t.Elems) == 2 {
				add(t.Elems[0], t.Elems[1])
				continue
			}
			auto(e)
		}
	}
	l.makeEnum(c)
	return c
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
