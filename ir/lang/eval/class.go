package eval

import (
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Classes: definition, attributes, instances, enums, named tuples. Dataclasses are in dataclass.go.

// defineClass runs a class statement.
func (l *Loader) defineClass(fr *frame, def *syntax.ClassDef) {
	l.assignName(fr, def.Name, l.decorate(fr, def, def.Name, def.Decorators, func(k Kind, deco syntax.Expr) Value {
		return l.newDSL(fr, k, def.Name, deco, nil, def)
	}, func() Value {
		return l.class(fr, def)
	}))
}

func (l *Loader) class(fr *frame, def *syntax.ClassDef) Value {
	c := &Class{Name: def.Name, module: fr.module}
	named := false
	for _, b := range l.exprs(fr, def.Bases) {
		l.at(fr, def.Bases[0])
		switch b := b.(type) {
		case *Class:
			if b.opaque != "" {
				c.opaque = b.opaque
			}
			if c.foreign == "" {
				c.foreign = b.foreign
			}
			switch {
			case b == namedTupleBase:
				named = true
				continue
			case b.create != nil && b.module == nil && !b.is(excBase) && b != enumClass && !b.enum && b != intClass && b != strClass && b != objectClass:
				c.opaque = b.Name // a subclass of list, dict…
			}
			c.enum = c.enum || b.enum || b == enumClass
			c.bases = append(c.bases, b)
		case *Symbol:
			if !benign(b.Path) {
				if c.foreign == "" {
					c.foreign = b.Path
				}
				c.bases = append(c.bases, l.foreignClass(b.Path))
			}
		default:
			l.unknown("a class derived from %s", shortRepr(b))
		}
	}
	var kws []NamedValue
	for _, k := range def.Keywords {
		v := l.eval(fr, k.Value)
		if k.Name != "metaclass" {
			kws = append(kws, NamedValue{k.Name, v})
		}
		if s, ok := v.(*Symbol); k.Name == "metaclass" && (!ok || !benign(s.Path)) {
			l.at(fr, k)
			l.unknown("a metaclass")
		}
	}
	if len(c.bases) == 0 {
		c.bases = []*Class{objectClass}
	}
	mro, ok := linearize(c)
	if !ok {
		l.at(fr, def)
		l.raise(excType, "Cannot create a consistent method resolution order (MRO) for bases")
	}
	c.mro = mro

	body := &frame{scope: newScope(fr.scope, fr.module), module: fr.module, class: c, fn: fr.fn, self: fr.self}
	body.scope.class = true
	body.scope.bind("__module__", Str(fr.module.Name))
	body.scope.bind("__qualname__", Str(def.Name))
	var result Value
	l.block(body, def.Body, &result)
	for _, n := range body.scope.names {
		v, ok := body.scope.get(n, 0)
		if !ok || n == "__qualname__" {
			continue
		}
		plain := v
		if p, ok := v.(*Poison); ok && p.written != nil {
			plain = p.written
		}
		switch v := plain.(type) {
		case *Func:
			v.class = ownerOf(v.class, c)
		case *descriptor:
			if f, ok := v.fn.(*Func); ok {
				f.class = ownerOf(f.class, c)
			}
		}
		c.attrs.set(n, v)
	}
	c.annots = body.annots
	l.at(fr, def)
	switch {
	case named:
		l.makeNamedTuple(c)
	case c.enum:
		l.makeEnum(c)
	}
	for _, n := range c.attrs.names {
		if d, ok := c.attrs.m[n].(*Instance); ok {
			if f, _, ok := d.Class.findKnown("__set_name__"); ok {
				l.call(&Bound{d, f}, []Value{c, Str(n)}, nil)
			}
		}
	}
	l.initSubclass(c, kws)
	return c
}

// initSubclass tells the nearest base that wants to know of the new class.
func (l *Loader) initSubclass(c *Class, kws []NamedValue) {
	for _, k := range c.mro[1:] {
		v, ok := k.attrs.get("__init_subclass__")
		if !ok {
			continue
		}
		if d, isDescriptor := v.(*descriptor); isDescriptor {
			v = d.fn
		}
		l.call(&Bound{c, v}, nil, kws)
		return
	}
}

// foreignClass stands for a class of a package that is not evaluated. A class that derives from it works as far as its own code goes: what is
// found before the unknown base in the resolution order is taken as it is, the base's __init__ does nothing, and whatever else the base may have
// is unknown. (A base could also hide what the class defines, by setting instance attributes of the same names; no base in use does.)
func (l *Loader) foreignClass(path string) *Class {
	c := l.foreign[path]
	if c == nil {
		c = &Class{Name: path, foreign: path, standIn: true, bases: []*Class{objectClass}}
		c.mro = []*Class{c, objectClass}
		if l.foreign == nil {
			l.foreign = make(map[string]*Class)
		}
		l.foreign[path] = c
	}
	return c
}

// foreignInit is the __init__ of an unknown base.
var foreignInit = builtinFunc("__init__", func(*Loader, []Value, []NamedValue) Value { return None })

// ownerOf keeps the first class that a function was defined in.
func ownerOf(old, c *Class) *Class {
	if old != nil {
		return old
	}
	return c
}

// classAttr is C.name.
func (l *Loader) classAttr(c *Class, name string) (Value, bool) {
	if v, _, ok := c.findKnown(name); ok {
		return l.bindClass(v, c), true
	}
	switch name {
	case "__name__", "__qualname__":
		return Str(c.Name), true
	case "__module__":
		if c.module != nil {
			return Str(c.module.Name), true
		}
		return Str("builtins"), true
	case "__doc__":
		return None, true
	case "__mro__":
		if c.foreign != "" {
			break
		}
		t := &Tuple{}
		for _, k := range c.mro {
			t.Elems = append(t.Elems, k)
		}
		return t, true
	case "__members__":
		if c.enum {
			d := &Dict{}
			for _, n := range c.fields {
				m, _ := c.attrs.get(n)
				d.set(n, Str(n), m)
			}
			return d, true
		}
	case "__annotations__":
		d := &Dict{}
		for _, a := range c.annots {
			d.set(a.name, Str(a.name), Ellipsis)
		}
		return d, true
	case "__dataclass_fields__":
		if c.dataclass != nil {
			d := &Dict{}
			for _, f := range c.dataclass.fields {
				d.set(f.name, Str(f.name), l.fieldObject(f))
			}
			return d, true
		}
	case "_fields":
		if c.is(tupleClass) {
			return strTuple(c.fields), true
		}
	case "_make":
		if c.is(tupleClass) {
			return &Builtin{Name: "_make", fn: func(l *Loader, args []Value, kws []NamedValue) Value {
				l.want("_make", args, kws, 1, 1)
				return l.call(c, l.elems(args[0]), nil)
			}}, true
		}
	case "fromkeys":
		if c == dictClass {
			return builtinFunc("fromkeys", dictFromKeys), true
		}
	case "from_bytes":
		return nil, false
	}
	if c.foreign != "" {
		if name == "__init__" {
			return foreignInit, true
		}
		l.unknown("attribute %s of class %s, which derives from %s", name, c.Name, c.foreign)
	}
	if m := objectMethod(c, name); m != nil {
		return m, true
	}
	if m := methodOf(c, name); m != nil {
		return m, true
	}
	if c.opaque != "" {
		l.unknown("attribute %s of class %s, which derives from %s", name, c.Name, c.opaque)
	}
	return nil, false
}

// bindClass binds what is found in a class to the class.
func (l *Loader) bindClass(v Value, c *Class) Value {
	switch d := v.(type) {
	case *descriptor:
		switch d.kind {
		case "staticmethod":
			return d.fn
		case "classmethod":
			return &Bound{c, d.fn}
		}
	case *Poison:
		l.readPoison(d)
	}
	return v
}

// instanceAttr is x.name.
func (l *Loader) instanceAttr(x *Instance, name string) (Value, bool) {
	cv, _, inClass := x.Class.findKnown(name)
	if d, ok := cv.(*descriptor); ok && d.kind == "property" {
		return l.call(d.fn, []Value{x}, nil), true
	}
	if v, ok := x.attrs.get(name); ok {
		return v, true
	}
	if inClass {
		switch d := cv.(type) {
		case *Func, *Builtin:
			return &Bound{x, cv}, true
		case *descriptor:
			switch d.kind {
			case "cached_property":
				v := l.call(d.fn, []Value{x}, nil)
				x.attrs.set(name, v)
				return v, true
			}
			return l.bindClass(cv, x.Class), true
		case *Poison:
			l.readPoison(d)
		}
		return cv, true
	}
	switch name {
	case "__class__":
		return x.Class, true
	case "__dict__":
		if x.Class.foreign != "" {
			break
		}
		d := &Dict{}
		for _, n := range x.attrs.names {
			d.set(n, Str(n), x.attrs.m[n])
		}
		return d, true
	case "__doc__", "__traceback__", "__cause__", "__context__":
		return None, true
	}
	if x.Class.foreign != "" {
		l.unknown("attribute %s of class %s, which derives from %s", name, x.Class.Name, x.Class.foreign)
	}
	if f, _, ok := x.Class.find("__getattr__"); ok {
		return l.call(&Bound{x, f}, []Value{Str(name)}, nil), true
	}
	if m := objectMethod(x.Class, name); m != nil {
		return &Bound{x, m}, true
	}
	switch name {
	case "__dataclass_fields__", "__name__", "__module__":
		return l.classAttr(x.Class, name)
	}
	if x.payload != nil {
		if m := methodOf(x.payload, name); m != nil {
			return &Bound{x.payload, m}, true
		}
	}
	if x.Class.is(excBase) && name == "with_traceback" {
		return &Builtin{Name: name, fn: func(*Loader, []Value, []NamedValue) Value { return x }}, true
	}
	return nil, false
}

func (l *Loader) superAttr(x *super, name string) (Value, bool) {
	var mro []*Class
	switch self := x.self.(type) {
	case *Instance:
		mro = self.Class.mro
	case *Class:
		mro = self.mro
	}
	past := false
	for _, c := range mro {
		if past {
			if c.standIn {
				switch name {
				case "__init__", "__init_subclass__", "__post_init__":
					return foreignInit, true
				}
				l.unknown("super().%s of a class that derives from %s", name, c.Name)
			}
			if v, ok := c.attrs.get(name); ok {
				switch d := v.(type) {
				case *Func, *Builtin:
					return &Bound{x.self, v}, true
				case *descriptor:
					switch d.kind {
					case "staticmethod":
						return d.fn, true
					case "classmethod":
						if i, ok := x.self.(*Instance); ok {
							return &Bound{i.Class, d.fn}, true
						}
						return &Bound{x.self, d.fn}, true
					}
					return l.call(d.fn, []Value{x.self}, nil), true
				}
				return v, true
			}
			if d := c.dataclass; d != nil && name == "__init__" {
				if i, ok := x.self.(*Instance); ok {
					return &Builtin{Name: name, fn: func(l *Loader, args []Value, kws []NamedValue) Value {
						l.initDataclass(i, d, args, kws)
						return None
					}}, true
				}
			}
		}
		past = past || c == x.after
	}
	switch self := x.self.(type) {
	case *Instance:
		if m := objectMethod(self.Class, name); m != nil {
			return &Bound{self, m}, true
		}
	case *Class:
		if name == "__init_subclass__" {
			return foreignInit, true
		}
	}
	return nil, false
}

// objectMethod is a method that every class has.
func objectMethod(c *Class, name string) Value {
	switch name {
	case "__init__", "__init_subclass__", "__post_init__":
		if name == "__post_init__" && c.dataclass == nil {
			return nil
		}
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			if len(args) > 0 {
				if i, ok := args[0].(*Instance); ok && i.Class.is(excBase) {
					i.attrs.set("args", &Tuple{Elems: args[1:]})
				}
			}
			return None
		})
	case "__setattr__":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 3, 3)
			i, ok := args[0].(*Instance)
			s, ok2 := args[1].(Str)
			if !ok || !ok2 {
				l.raise(excType, "__setattr__ needs an object and a name")
			}
			i.attrs.set(string(s), args[2])
			return None
		})
	case "__getattribute__":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 2, 2)
			return l.getattr(args[0], l.argStr(args[1], name))
		})
	case "__repr__", "__str__":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 1, 1)
			return Str("<" + typeName(args[0]) + " object>")
		})
	case "__eq__":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 2, 2)
			return Bool(args[0] == args[1])
		})
	case "__new__":
		return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			if len(args) > 0 {
				if c, ok := args[0].(*Class); ok && (c.create == nil || c.is(excBase)) {
					return &Instance{Class: c}
				}
			}
			l.unknown("__new__ of a builtin type")
			return nil
		})
	}
	return nil
}

// instantiate is C(…).
func (l *Loader) instantiate(c *Class, args []Value, kws []NamedValue) Value {
	if c.opaque != "" {
		l.unknown("call of class %s, which derives from %s", c.Name, c.opaque)
	}
	if c.enum || c == enumClass {
		return l.enumByValue(c, args, kws)
	}
	if c.foreign != "" {
		if d, _ := c.nearestDataclass(); d != nil { // the fields of the base come first
			l.unknown("call of dataclass %s, which derives from %s", c.Name, c.foreign)
		}
	}
	if c.module == nil {
		if c.create != nil {
			return c.create(l, c, args, kws)
		}
		if c != objectClass && c != namespace {
			l.unknown("call of %s", c.Name)
		}
	}
	if c.fields != nil && c.is(tupleClass) {
		return l.newNamedTuple(c, args, kws)
	}
	i := &Instance{Class: c}
	if f, _, ok := c.findKnown("__new__"); ok {
		if d, ok := f.(*descriptor); ok {
			f = d.fn
		}
		v := l.call(f, append([]Value{c}, args...), kws)
		n, ok := v.(*Instance)
		if !ok || !n.Class.is(c) {
			return v
		}
		i = n
	}
	if c.is(excBase) {
		i.attrs.set("args", &Tuple{Elems: args})
	}
	init, owner, ok := c.findKnown("__init__")
	d, from := c.nearestDataclass()
	switch {
	case ok && (d == nil || !d.init || before(c, owner, from)):
		if r := l.call(&Bound{i, init}, args, kws); r != None {
			l.raise(excType, "__init__() should return None, not '%s'", typeName(r))
		}
	case d != nil && d.init:
		l.initDataclass(i, d, args, kws)
	case c.foreign != "": // the unknown base's
	case len(args)+len(kws) > 0 && !c.is(excBase):
		l.raise(excType, "%s() takes no arguments", c.Name)
	}
	return i
}

// before reports whether a comes no later than b in the resolution order of c.
func before(c, a, b *Class) bool {
	for _, k := range c.mro {
		if k == a {
			return true
		}
		if k == b {
			return false
		}
	}
	return false
}
