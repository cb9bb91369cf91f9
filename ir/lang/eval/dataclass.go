package eval

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// dataclass is what @dataclass adds to a class.
type dataclass struct {
	fields                  []*field // in order, inherited ones first
	frozen, eq, order, init bool
	kwOnly                  bool
}

// field is one dataclass field.
type field struct {
	name                         string
	def                          Value // nil without default
	factory                      Value
	init, repr, compare, initVar bool
	kwOnly                       bool
}

// fieldSpec is what dataclasses.field(…) returns.
type fieldSpec struct{ field }

func (*fieldSpec) value() {}

func (c *Class) nearestDataclass() (*dataclass, *Class) {
	for _, k := range c.mro {
		if k.dataclass != nil {
			return k.dataclass, k
		}
	}
	return nil, nil
}

// dataclassDecorator is dataclasses.dataclass, with or without arguments.
func dataclassDecorator(l *Loader, args []Value, kws []NamedValue) Value {
	opts := &dataclass{eq: true, init: true}
	for _, k := range kws {
		b := l.truth(k.Value)
		switch k.Name {
		case "frozen":
			opts.frozen = b
		case "eq":
			opts.eq = b
		case "order":
			opts.order = b
		case "init":
			opts.init = b
		case "kw_only":
			opts.kwOnly = b
		case "repr", "unsafe_hash", "slots", "match_args", "weakref_slot":
		default:
			l.raise(excType, "dataclass() got an unexpected keyword argument '%s'", k.Name)
		}
	}
	apply := func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("dataclass", args, kws, 1, 1)
		c, ok := args[0].(*Class)
		if !ok {
			l.notValue(args[0])
			l.raise(excType, "dataclass() should be used on a class")
		}
		l.makeDataclass(c, *opts)
		return c
	}
	if len(args) > 0 {
		return apply(l, args, nil)
	}
	return &Builtin{Name: "dataclass", fn: apply}
}

func (l *Loader) makeDataclass(c *Class, d dataclass) {
	put := func(f *field) {
		for i, old := range d.fields {
			if old.name == f.name {
				d.fields[i] = f
				return
			}
		}
		d.fields = append(d.fields, f)
	}
	for i := len(c.mro) - 1; i > 0; i-- {
		if b := c.mro[i].dataclass; b != nil {
			for _, f := range b.fields {
				put(f)
			}
			if b.frozen != d.frozen {
				if d.frozen {
					l.raise(excType, "cannot inherit frozen dataclass from a non-frozen one")
				}
				l.raise(excType, "cannot inherit non-frozen dataclass from a frozen one")
			}
		}
	}
	kwOnly := d.kwOnly
	for _, a := range c.annots {
		switch annotationName(a.expr) {
		case "ClassVar":
			continue
		case "KW_ONLY":
			kwOnly = true
			continue
		}
		f := &field{name: a.name, init: true, repr: true, compare: true, kwOnly: kwOnly}
		f.initVar = annotationName(a.expr) == "InitVar"
		if v, ok := c.attrs.get(a.name); ok {
			if s, ok := v.(*fieldSpec); ok {
				spec := s.field
				spec.name, spec.initVar, spec.kwOnly = f.name, f.initVar, spec.kwOnly || kwOnly
				f = &spec
				if f.def != nil {
					c.attrs.set(a.name, f.def)
				} else {
					c.attrs.del(a.name)
				}
			} else {
				f.def = v
			}
			switch f.def.(type) {
			case *List, *Dict, *Set:
				l.raise(excValue, "mutable default %s for field %s is not allowed: use default_factory", typeName(f.def), f.name)
			}
		}
		put(f)
	}
	seen := ""
	for _, f := range d.fields {
		if !f.init || f.kwOnly {
			continue
		}
		if f.def != nil || f.factory != nil {
			seen = f.name
		} else if seen != "" {
			l.raise(excType, "non-default argument '%s' follows default argument", f.name)
		}
	}
	c.dataclass = &d
}

// annotationName is the last word of an annotation: ClassVar for typing.ClassVar[int] and for the string "ClassVar[int]".
func annotationName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.ID
	case *syntax.Attribute:
		return x.Name
	case *syntax.Subscript:
		return annotationName(x.X)
	case *syntax.Constant:
		if x.Kind == syntax.Str {
			if y, errs := syntax.ParseExpr("", []byte(x.Str)); !errs.HasErrors() {
				if _, again := y.(*syntax.Constant); !again {
					return annotationName(y)
				}
			}
		}
	}
	return ""
}

// initDataclass is the generated __init__.
func (l *Loader) initDataclass(i *Instance, d *dataclass, args []Value, kws []NamedValue) {
	given := make(map[string]Value, len(d.fields))
	at := 0
	for _, f := range d.fields {
		if f.init && !f.kwOnly && at < len(args) {
			given[f.name] = args[at]
			at++
		}
	}
	if at < len(args) {
		l.raise(excType, "%s.__init__() takes %s but %d were given", i.Class.Name, diag.Plural(at+1, "positional argument"), len(args)+1)
	}
	for _, k := range kws {
		n := slices.IndexFunc(d.fields, func(f *field) bool { return f.name == k.Name && f.init })
		if n < 0 {
			l.raise(excType, "%s.__init__() got an unexpected keyword argument '%s'", i.Class.Name, k.Name)
		}
		if given[k.Name] != nil {
			l.raise(excType, "%s.__init__() got multiple values for argument '%s'", i.Class.Name, k.Name)
		}
		given[k.Name] = k.Value
	}
	var post []Value
	var missing []string
	for _, f := range d.fields {
		v := given[f.name]
		switch {
		case v != nil:
		case f.def != nil:
			v = f.def
		case f.factory != nil:
			v = l.call(f.factory, nil, nil)
		case f.init:
			missing = append(missing, f.name)
			continue
		default:
			continue
		}
		if f.initVar {
			post = append(post, v)
			continue
		}
		i.attrs.set(f.name, v)
	}
	if len(missing) > 0 {
		l.raise(excType, "%s", missingText(i.Class.Name+".__init__", "positional", missing))
	}
	if f, _, ok := i.Class.find("__post_init__"); ok {
		l.call(&Bound{i, f}, post, nil)
	}
}

// fieldValues are the fields that take part in comparisons.
func (l *Loader) fieldValues(i *Instance) []Value {
	d, _ := i.Class.nearestDataclass()
	out := make([]Value, 0, len(d.fields))
	for _, f := range d.fields {
		if !f.compare || f.initVar {
			continue
		}
		v, ok := i.attrs.get(f.name)
		if !ok {
			if v, _, ok = i.Class.find(f.name); !ok {
				l.noAttr(i, f.name)
			}
		}
		out = append(out, v)
	}
	return out
}

func (l *Loader) fieldObject(f *field) Value {
	o := &Instance{Class: namespace}
	o.attrs.set("name", Str(f.name))
	if f.def != nil {
		o.attrs.set("default", f.def)
	}
	return o
}

// dataclassOf is the dataclass of an instance or class, for the functions of the module.
func (l *Loader) dataclassOf(v Value, what string) *dataclass {
	var d *dataclass
	switch v := v.(type) {
	case *Instance:
		d, _ = v.Class.nearestDataclass()
	case *Class:
		d, _ = v.nearestDataclass()
	}
	if d == nil {
		l.notValue(v)
		l.raise(excType, "%s() should be called on dataclass instances", what)
	}
	return d
}

// dataclassesModule is the module dataclasses.
func dataclassesModule() map[string]Value {
	return map[string]Value{
		"dataclass":           builtinFunc("dataclass", dataclassDecorator),
		"FrozenInstanceError": excFrozen,
		"MISSING":             &Symbol{"dataclasses.MISSING"},
		"KW_ONLY":             &Symbol{"typing.KW_ONLY"},
		"InitVar":             &Symbol{"typing.InitVar"},
		"field": builtinFunc("field", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("field", args, nil, 0, 0)
			s := &fieldSpec{field{init: true, repr: true, compare: true}}
			for _, k := range kws {
				switch k.Name {
				case "default":
					s.def = k.Value
				case "default_factory":
					s.factory = k.Value
				case "init":
					s.init = l.truth(k.Value)
				case "repr":
					s.repr = l.truth(k.Value)
				case "compare":
					s.compare = l.truth(k.Value)
				case "kw_only":
					s.kwOnly = l.truth(k.Value)
				case "hash", "metadata":
				default:
					l.raise(excType, "field() got an unexpected keyword argument '%s'", k.Name)
				}
			}
			return s
		}),
		"replace": builtinFunc("replace", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("replace", args, nil, 1, 1)
			d := l.dataclassOf(args[0], "replace")
			i, ok := args[0].(*Instance)
			if !ok {
				l.raise(excType, "replace() should be called on dataclass instances")
			}
			all := slices.Clone(kws)
			for _, f := range d.fields {
				if !f.init || f.initVar || slices.ContainsFunc(kws, func(k NamedValue) bool { return k.Name == f.name }) {
					continue
				}
				all = append(all, NamedValue{f.name, l.getattr(i, f.name)})
			}
			return l.instantiate(i.Class, nil, all)
		}),
		"fields": builtinFunc("fields", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("fields", args, kws, 1, 1)
			t := &Tuple{}
			for _, f := range l.dataclassOf(args[0], "fields").fields {
				t.Elems = append(t.Elems, l.fieldObject(f))
			}
			return t
		}),
		"is_dataclass": builtinFunc("is_dataclass", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("is_dataclass", args, kws, 1, 1)
			switch v := args[0].(type) {
			case *Instance:
				d, _ := v.Class.nearestDataclass()
				return Bool(d != nil)
			case *Class:
				d, _ := v.nearestDataclass()
				return Bool(d != nil)
			}
			return Bool(false)
		}),
		"asdict": builtinFunc("asdict", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("asdict", args, kws, 1, 1)
			l.dataclassOf(args[0], "asdict")
			return l.asDict(args[0], false)
		}),
		"astuple": builtinFunc("astuple", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("astuple", args, kws, 1, 1)
			l.dataclassOf(args[0], "astuple")
			return l.asDict(args[0], true)
		}),
	}
}

// asDict converts a dataclass instance, and those inside it, to dicts or tuples.
func (l *Loader) asDict(v Value, tuple bool) Value {
	l.charge(1)
	l.nest()
	defer l.unnest()
	all := func(vs []Value) []Value {
		out := make([]Value, len(vs))
		for i, e := range vs {
			out[i] = l.asDict(e, tuple)
		}
		return out
	}
	switch v := v.(type) {
	case *Instance:
		dc, _ := v.Class.nearestDataclass()
		if dc == nil {
			return v
		}
		d, t := &Dict{}, &Tuple{}
		for _, f := range dc.fields {
			if f.initVar {
				continue
			}
			e := l.asDict(l.getattr(v, f.name), tuple)
			d.set(f.name, Str(f.name), e)
			t.Elems = append(t.Elems, e)
		}
		if tuple {
			return t
		}
		return d
	case *List:
		return &List{all(v.Elems)}
	case *Tuple:
		return &Tuple{Elems: all(v.Elems), class: v.class}
	case *Dict:
		d := &Dict{}
		for k, e := range v.All() {
			d.set(l.hash(k), k, l.asDict(e, tuple))
		}
		return d
	}
	return v
}
