package eval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Functions and calls.

// function makes the value of a def or lambda; its defaults are evaluated now.
func (l *Loader) function(fr *frame, name string, def *syntax.FunctionDef, lambda *syntax.Lambda) *Func {
	f := &Func{Name: name, Def: def, lambda: lambda, module: fr.module, scope: fr.scope, info: l.infoOf(def, lambda)}
	if def != nil {
		f.params = def.Params
	} else {
		f.params = lambda.Params
	}
	for p := range f.params.All() {
		if p.Default != nil {
			if f.values == nil {
				f.values = make(map[string]Value)
			}
			f.values[p.Name] = l.eval(fr, p.Default)
		}
	}
	return f
}

// define runs a def statement: decorators are evaluated first, then applied from the last to the first.
func (l *Loader) define(fr *frame, def *syntax.FunctionDef) {
	l.assignName(fr, def.Name, l.decorate(fr, def, def.Name, def.Decorators, func(k Kind, deco syntax.Expr) Value {
		return l.newDSL(fr, k, def.Name, deco, def, nil)
	}, func() Value {
		return l.function(fr, def.Name, def, nil)
	}))
}

// decorate applies decorators. If one is of the DSL, dsl makes the object, and the others (pytest marks and the like) do not change it;
// otherwise plain makes a function or class, and the decorators are applied to it. One whose effect is unknown (@pytest.mark.parametrize,
// @pytest.fixture) poisons what it decorates, and only that: the poison keeps what it would be without such decorators for Module.Run.
func (l *Loader) decorate(fr *frame, def syntax.Node, name string, decos []syntax.Expr, dsl func(Kind, syntax.Expr) Value, plain func() Value) Value {
	var v Value
	for _, x := range slices.Backward(decos) {
		if k, ok := l.dslDecorator(fr, x); ok {
			l.at(fr, x)
			v = dsl(k, x)
		}
	}
	if v != nil || len(decos) == 0 {
		if v == nil {
			v = plain()
		}
		return v
	}
	var unknown *fault
	step := func(f func()) {
		if flt := l.attempt(f); flt != nil {
			if flt.exc != nil || flt.limit {
				panic(flt)
			}
			unknown = cmp.Or(unknown, flt)
		}
	}
	fns := make([]Value, len(decos))
	for i, x := range decos {
		step(func() { fns[i] = l.eval(fr, x) })
	}
	v = plain()
	for i, fn := range slices.Backward(fns) {
		if fn != nil {
			step(func() { v = l.applyDecorator(fr, decos[i], fn, v) })
		}
	}
	if unknown != nil {
		at := def.At().Span(fr.module.Path)
		at.EndLine, at.EndCol = 0, 0
		p := unknown.poison(name, at)
		p.written = v
		return p
	}
	return v
}

// applyDecorator is the value that the decorator fn makes of v.
func (l *Loader) applyDecorator(fr *frame, x syntax.Expr, fn, v Value) Value {
	l.at(fr, x)
	switch d := fn.(type) {
	case *Symbol:
		if !benign(d.Path) {
			if strings.HasPrefix(d.Path, dslRoot+".language.") {
				l.unknownDecorator(fr, x, d.Path)
			}
			l.unknown("call of %s", d.Path)
		}
		return v
	case *Applied:
		if s, ok := d.Fun.(*Symbol); ok && d.Call {
			l.unknownDecorator(fr, x, s.Path)
		}
	}
	return l.call(fn, []Value{v}, nil)
}

// call calls a value.
func (l *Loader) call(fn Value, args []Value, kws []NamedValue) Value {
	l.charge(1)
	if l.depth++; l.depth > maxDepth {
		l.over("calls nested more than %d deep", maxDepth)
	}
	v := l.call1(fn, args, kws)
	l.depth--
	return v
}

func (l *Loader) call1(fn Value, args []Value, kws []NamedValue) Value {
	switch fn := fn.(type) {
	case *Func:
		return l.callFunc(fn, args, kws)
	case *Builtin:
		if fn.fn == nil {
			l.unknown("call of %s", fn.Name)
		}
		return fn.fn(l, args, kws)
	case *Bound:
		if d, ok := fn.Fn.(*descriptor); ok {
			return l.call(&Bound{fn.Self, d.fn}, args, kws)
		}
		return l.call(fn.Fn, append([]Value{fn.Self}, args...), kws)
	case *Class:
		return l.instantiate(fn, args, kws)
	case *Instance:
		if f, _, ok := fn.Class.find("__call__"); ok {
			return l.call(&Bound{fn, f}, args, kws)
		}
	case *Symbol:
		return l.callSymbol(nil, nil, fn, args, kws)
	case *Applied:
		return &Applied{Fun: fn, Call: true, Args: args, Keywords: kws, Span: l.span()}
	case *DSL:
		l.unknown("call of the DSL function %s", fn.Name)
	case *descriptor:
		return l.call(fn.fn, args, kws)
	case *Poison:
		l.readPoison(fn)
	}
	l.raise(excType, "'%s' object is not callable", typeName(fn))
	return nil
}

func (l *Loader) callFunc(f *Func, args []Value, kws []NamedValue) Value {
	if f.Def != nil && f.Def.Async {
		l.unknown("call of the coroutine %s", f.Name)
	}
	if l.frames >= maxFrames {
		l.raise(excRecursion, "maximum recursion depth exceeded")
	}
	s := newScope(f.scope, f.module)
	s.info = f.info
	l.bindArgs(f, s, args, kws)
	fr := &frame{scope: s, module: f.module, fn: f, lenient: f.Def != nil && f.Def == l.lenient}
	if len(args) > 0 {
		fr.self = args[0]
	}
	node, module := l.node, l.module
	l.frames++
	var result Value = None
	switch {
	case f.lambda != nil:
		result = l.eval(fr, f.lambda.Body)
	case f.info.generator:
		result = l.generator(fr, f)
	default:
		l.block(fr, f.Def.Body, &result)
	}
	l.frames--
	l.node, l.module = node, module
	return result
}

// generator runs the body of a generator function to its end and keeps what it yields. What ends it early is thrown where the consumer
// gets to it.
func (l *Loader) generator(fr *frame, f *Func) Value {
	var out []Value
	fr.yields = &out
	var result Value = None
	_, flt := l.protect(fr, f.Def.Body, &result)
	i := 0
	return &Iterator{name: "generator", next: func() (Value, bool) {
		if i < len(out) {
			l.charge(1)
			i++
			return out[i-1], true
		}
		if flt != nil {
			panic(flt)
		}
		return nil, false
	}}
}

func (l *Loader) yield(fr *frame, x *syntax.Yield) Value {
	if fr.yields == nil {
		l.at(fr, x)
		l.unknown("yield outside a function")
	}
	if x.From {
		v := l.eval(fr, x.X)
		l.at(fr, x)
		*fr.yields = append(*fr.yields, l.elems(v)...)
	} else if x.X == nil {
		*fr.yields = append(*fr.yields, None)
	} else {
		*fr.yields = append(*fr.yields, l.eval(fr, x.X))
	}
	l.size(len(*fr.yields))
	return None
}

// bindArgs binds parameters as Python does.
func (l *Loader) bindArgs(f *Func, s *scope, args []Value, kws []NamedValue) {
	ps := f.params
	positional := len(ps.PosOnly) + len(ps.Args)
	param := func(i int) *syntax.Param {
		if i < len(ps.PosOnly) {
			return &ps.PosOnly[i]
		}
		return &ps.Args[i-len(ps.PosOnly)]
	}
	for i := range min(len(args), positional) {
		s.bind(param(i).Name, args[i])
	}
	if ps.VarArg != nil {
		rest := []Value(nil)
		if len(args) > positional {
			rest = append(rest, args[positional:]...)
		}
		s.bind(ps.VarArg.Name, &Tuple{Elems: rest})
	} else if len(args) > positional {
		l.raise(excType, "%s() takes %s but %d %s given", f.qualified(), diag.Plural(positional, "positional argument"), len(args), wereWas(len(args)))
	}
	var extra *Dict
	if ps.KwArg != nil {
		extra = &Dict{}
		s.bind(ps.KwArg.Name, extra)
	}
	for _, k := range kws {
		named := false
		for i := range ps.Args {
			named = named || ps.Args[i].Name == k.Name
		}
		for i := range ps.KwOnly {
			named = named || ps.KwOnly[i].Name == k.Name
		}
		switch {
		case named:
			if _, dup := s.get(k.Name, 0); dup {
				l.raise(excType, "%s() got multiple values for argument '%s'", f.qualified(), k.Name)
			}
			s.bind(k.Name, k.Value)
		case extra != nil:
			extra.set(k.Name, Str(k.Name), k.Value)
		default:
			l.raise(excType, "%s() got an unexpected keyword argument '%s'", f.qualified(), k.Name)
		}
	}
	var missing []string
	fill := func(p *syntax.Param) {
		if _, ok := s.get(p.Name, 0); ok {
			return
		}
		if v, ok := f.values[p.Name]; ok {
			s.bind(p.Name, v)
			return
		}
		missing = append(missing, p.Name)
	}
	for i := range positional {
		fill(param(i))
	}
	kind := "positional"
	if len(missing) == 0 {
		kind = "keyword-only"
		for i := range ps.KwOnly {
			fill(&ps.KwOnly[i])
		}
	}
	if len(missing) > 0 {
		l.raise(excType, "%s", missingText(f.qualified(), kind, missing))
	}
}

// qualified is the name with that of the class, for messages.
func (f *Func) qualified() string {
	if f.class != nil {
		return f.class.Name + "." + f.Name
	}
	return f.Name
}

// missingText words a TypeError about arguments that are not given.
func missingText(fn, kind string, names []string) string {
	list := "'" + names[0] + "'"
	for i, n := range names[1:] {
		switch {
		case i < len(names)-2:
			list += ", "
		case len(names) > 2:
			list += ", and "
		default:
			list += " and "
		}
		list += "'" + n + "'"
	}
	return fn + "() missing " + diag.Plural(len(names), "required "+kind+" argument") + ": " + list
}

func wereWas(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// getattr is x.name.
func (l *Loader) getattr(x Value, name string) Value {
	v, ok := l.attribute(x, name)
	if !ok {
		l.noAttr(x, name)
	}
	return v
}

func (l *Loader) noAttr(x Value, name string) {
	switch x := x.(type) {
	case *Module:
		l.raise(excAttribute, "module '%s' has no attribute '%s'", x.Name, name)
	case *Class:
		l.raise(excAttribute, "type object '%s' has no attribute '%s'", x.Name, name)
	}
	l.raise(excAttribute, "'%s' object has no attribute '%s'", typeName(x), name)
}

// attribute looks an attribute up; ok is false when there is none.
func (l *Loader) attribute(x Value, name string) (Value, bool) {
	switch x := x.(type) {
	case *Instance:
		return l.instanceAttr(x, name)
	case *Symbol:
		if v, ok := dslConstant(x, name); ok {
			return v, true
		}
		return &Symbol{x.Path + "." + name}, true
	case *Module:
		if v, ok := x.scope.get(name, l.asOf); ok {
			if p, ok := v.(*Poison); ok {
				l.readPoison(p)
			}
			return v, true
		}
		if x.library {
			return &Symbol{x.Name + "." + name}, true
		}
		return nil, false
	case *Class:
		return l.classAttr(x, name)
	case *Applied:
		return &Applied{Fun: x, Attr: name, Span: l.span()}, true
	case *super:
		return l.superAttr(x, name)
	case *Func:
		if v, ok := x.attrs.get(name); ok {
			return v, true
		}
		switch name {
		case "__name__", "__qualname__":
			return Str(x.Name), true
		case "__module__":
			return Str(x.module.Name), true
		case "__doc__":
			return docstring(x.Def), true
		case "__wrapped__":
			return nil, false
		}
	case *Builtin:
		switch name {
		case "__name__", "__qualname__":
			return Str(x.Name), true
		case "cache_clear":
			return &Builtin{Name: name, fn: func(*Loader, []Value, []NamedValue) Value { return None }}, true
		case "__doc__":
			return None, true
		case "from_iterable":
			if x.Name == "chain" {
				return builtinFunc("from_iterable", chainFromIterable), true
			}
		case "fromkeys":
			return nil, false
		}
	case *Bound:
		if name == "__self__" {
			return x.Self, true
		}
		return l.attribute(x.Fn, name)
	case *DSL:
		switch name {
		case "__name__", "__qualname__":
			return Str(x.Name), true
		}
		l.unknown("attribute %s of the DSL function %s", name, x.Name)
	case *Tuple:
		if x.class != nil {
			if v, ok := l.namedTupleAttr(x, name); ok {
				return v, true
			}
		}
	case *Path:
		return l.pathAttr(x, name)
	case *DynVar:
		if name == "name" {
			return Str(x.Name), true
		}
	case *descriptor:
		if x.kind == "property" && name == "setter" {
			return &Builtin{Name: "setter", fn: func(l *Loader, args []Value, kws []NamedValue) Value {
				l.want("setter", args, kws, 1, 1)
				return &descriptor{"property", x.fn, args[0]}
			}}, true
		}
	case *Range:
		switch name {
		case "start":
			return x.Start, true
		case "stop":
			return x.Stop, true
		case "step":
			return x.Step, true
		}
	case *Poison:
		l.readPoison(x)
	}
	switch name {
	case "__class__":
		return classOf(x), true
	case "__doc__":
		return None, true
	}
	if m := methodOf(x, name); m != nil {
		return &Bound{x, m}, true
	}
	return nil, false
}

func docstring(def *syntax.FunctionDef) Value {
	if def != nil && len(def.Body) > 0 {
		if e, ok := def.Body[0].(*syntax.ExprStmt); ok {
			if c, ok := e.X.(*syntax.Constant); ok && c.Kind == syntax.Str {
				return Str(c.Str)
			}
		}
	}
	return None
}

// setattr is x.name = v.
func (l *Loader) setattr(x Value, name string, v Value) {
	switch x := x.(type) {
	case *Module:
		x.scope.bind(name, v)
		return
	case *Instance:
		if f, _, ok := x.Class.findKnown("__setattr__"); ok {
			l.call(&Bound{x, f}, []Value{Str(name), v}, nil)
			return
		}
		if d := x.Class.dataclass; d != nil && d.frozen {
			l.raise(excFrozen, "cannot assign to field '%s'", name)
		}
		if d, _, ok := x.Class.findKnown(name); ok {
			if d, ok := d.(*descriptor); ok && d.kind == "property" {
				if d.set == nil {
					l.raise(excAttribute, "can't set attribute '%s'", name)
				}
				l.call(d.set, []Value{x, v}, nil)
				return
			}
		}
		if x.Class.enum {
			l.raise(excAttribute, "cannot reassign member '%s'", name)
		}
		x.attrs.set(name, v)
		return
	case *Class:
		if x.create == nil || x.module != nil {
			x.attrs.set(name, v)
			return
		}
		l.raise(excType, "cannot set '%s' attribute of immutable type '%s'", name, x.Name)
	case *Func:
		x.attrs.set(name, v)
		return
	case *Symbol:
		l.unknown("assignment to %s.%s", x.Path, name)
	}
	l.notValue(x)
	l.raise(excAttribute, "'%s' object has no attribute '%s'", typeName(x), name)
}

func (l *Loader) delattr(x Value, name string) {
	switch x := x.(type) {
	case *Instance:
		if d := x.Class.dataclass; d != nil && d.frozen {
			l.raise(excFrozen, "cannot delete field '%s'", name)
		}
		if x.attrs.del(name) {
			return
		}
	case *Module:
		if _, ok := x.scope.get(name, 0); ok {
			x.scope.bind(name, nil)
			return
		}
	case *Class:
		if x.attrs.del(name) {
			return
		}
	}
	l.noAttr(x, name)
}
