package eval

import (
	"math"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// builtins are the names that are visible everywhere.
var builtins map[string]Value

func builtinFunc(name string, fn func(l *Loader, args []Value, kws []NamedValue) Value) *Builtin {
	return &Builtin{Name: name, fn: fn}
}

// want checks a call without keywords: between least and most positional arguments, most < 0 for any number.
func (l *Loader) want(name string, args []Value, kws []NamedValue, least, most int) {
	if len(kws) > 0 {
		l.raise(excType, "%s() got an unexpected keyword argument '%s'", name, kws[0].Name)
	}
	switch {
	case len(args) < least:
		l.raise(excType, "%s() takes at least %s (%d given)", name, diag.Plural(least, "argument"), len(args))
	case most >= 0 && len(args) > most:
		l.raise(excType, "%s() takes at most %s (%d given)", name, diag.Plural(most, "argument"), len(args))
	}
}

// named moves keyword arguments to the positions of their names; absent arguments are nil.
func (l *Loader) named(fn string, args []Value, kws []NamedValue, names ...string) []Value {
	if len(args) > len(names) {
		l.raise(excType, "%s() takes at most %s (%d given)", fn, diag.Plural(len(names), "argument"), len(args))
	}
	out := make([]Value, len(names))
	copy(out, args)
	for _, k := range kws {
		i := slices.Index(names, k.Name)
		if i < 0 {
			l.raise(excType, "%s() got an unexpected keyword argument '%s'", fn, k.Name)
		}
		if out[i] != nil {
			l.raise(excType, "%s() got multiple values for argument '%s'", fn, k.Name)
		}
		out[i] = k.Value
	}
	return out
}

func (l *Loader) argStr(v Value, fn string) string {
	s, ok := plain(v).(Str)
	if !ok {
		l.notValue(v)
		l.raise(excType, "%s() argument must be str, not %s", fn, typeName(v))
	}
	return string(s)
}

func init() {
	builtins = map[string]Value{
		"NotImplemented": notImplemented, "Ellipsis": Ellipsis, "__debug__": Bool(true),
		"object": objectClass, "type": typeClass, "int": intClass, "bool": boolClass, "float": floatClass, "str": strClass, "bytes": bytesClass,
		"list": listClass, "tuple": tupleClass, "dict": dictClass, "set": setClass, "frozenset": frozenClass, "range": rangeClass, "slice": sliceClass,
		"property": builtinFunc("property", func(l *Loader, args []Value, kws []NamedValue) Value {
			a := l.named("property", args, kws, "fget", "fset", "fdel", "doc")
			return &descriptor{"property", a[0], a[1]}
		}),
		"staticmethod": builtinFunc("staticmethod", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("staticmethod", args, kws, 1, 1)
			return &descriptor{"staticmethod", args[0], nil}
		}),
		"classmethod": builtinFunc("classmethod", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("classmethod", args, kws, 1, 1)
			return &descriptor{"classmethod", args[0], nil}
		}),
		"super": builtinFunc("super", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("super", args, kws, 2, 2)
			c, ok := args[0].(*Class)
			if !ok {
				l.raise(excType, "super() argument 1 must be a type")
			}
			return &super{c, args[1]}
		}),
	}
	for _, c := range exceptions {
		if c != excFrozen && c != excJSON && c != excRegexp { // not without their module
			builtins[c.Name] = c
		}
	}
	builtins["IOError"], builtins["EnvironmentError"] = excOS, excOS
	for name, fn := range functions {
		builtins[name] = builtinFunc(name, fn)
	}
	for _, name := range []string{"input", "eval", "exec", "compile", "memoryview", "bytearray", "complex", "breakpoint", "delattr"} {
		builtins[name] = &Builtin{Name: name}
	}
	builtins["open"] = builtinFunc("open", func(l *Loader, args []Value, kws []NamedValue) Value { return l.open(args, kws) })
	frames := map[string]func(l *Loader, fr *frame) Value{
		"globals": func(l *Loader, fr *frame) Value { return l.scopeDict(fr.module.scope) },
		"locals":  func(l *Loader, fr *frame) Value { return l.scopeDict(fr.scope) },
	}
	for name, fn := range frames {
		builtins[name] = &Builtin{Name: name, frame: func(l *Loader, fr *frame, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 0, 0)
			return fn(l, fr)
		}}
	}
}

// scopeDict copies the bindings of a scope; writing to the copy changes no variable.
func (l *Loader) scopeDict(s *scope) Value {
	d := &Dict{}
	for _, n := range s.names {
		if v, ok := s.get(n, 0); ok {
			d.set(n, Str(n), v)
		}
	}
	return d
}

func (l *Loader) inBase(name, spec string, args []Value, kws []NamedValue) Value {
	l.want(name, args, kws, 1, 1)
	return Str(l.format(l.toInt(args[0], "an integer is required"), spec))
}

func (l *Loader) zipStrict(its []*Iterator, ended int) {
	if ended > 0 {
		l.raise(excValue, "zip() argument %d is shorter than argument%s", ended+1, map[bool]string{true: " 1", false: "s 1-" + itoa(ended)}[ended == 1])
	}
	for i := 1; i < len(its); i++ {
		if _, ok := its[i].next(); ok {
			l.raise(excValue, "zip() argument %d is longer than argument%s", i+1, map[bool]string{true: " 1", false: "s 1-" + itoa(i)}[i == 1])
		}
	}
}

// maybeAttr is getattr for which an AttributeError is no error.
func (l *Loader) maybeAttr(x Value, name string) (v Value, ok bool) {
	saved := l.mark()
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if f, isFault := r.(*fault); !isFault || f.exc == nil || !f.exc.Class.is(excAttribute) {
			panic(r)
		}
		l.reset(saved)
		v, ok = nil, false
	}()
	if s, isSymbol := x.(*Symbol); isSymbol && !s.IsDSL() {
		l.unknown("whether %s has %s", s.Path, name)
	}
	if m, isModule := x.(*Module); isModule && m.library {
		if v, ok := m.scope.get(name, 0); ok {
			return v, true
		}
		l.unknown("whether module %s has %s", m.Name, name)
	}
	return l.attribute(x, name)
}

func (l *Loader) extreme(name, op string, args []Value, kws []NamedValue) Value {
	var key, otherwise Value
	for _, k := range kws {
		switch k.Name {
		case "key":
			if k.Value != None {
				key = k.Value
			}
		case "default":
			otherwise = k.Value
		default:
			l.raise(excType, "%s() got an unexpected keyword argument '%s'", name, k.Name)
		}
	}
	var it *Iterator
	switch len(args) {
	case 0:
		l.raise(excType, "%s expected at least 1 argument, got 0", name)
	case 1:
		it = l.iter(args[0])
	default:
		it = l.iter(&Tuple{Elems: args})
	}
	var best, bestKey Value
	for {
		v, ok := it.next()
		if !ok {
			break
		}
		k := v
		if key != nil {
			k = l.call(key, []Value{v}, nil)
		}
		if best == nil || l.truth(l.compare(op, k, bestKey)) {
			best, bestKey = v, k
		}
	}
	if best != nil {
		return best
	}
	if otherwise != nil {
		return otherwise
	}
	l.raise(excValue, "%s() arg is an empty sequence", name)
	return nil
}

func (l *Loader) anyAll(name string, stop bool, args []Value, kws []NamedValue) Value {
	l.want(name, args, kws, 1, 1)
	for it := l.iter(args[0]); ; {
		v, ok := it.next()
		if !ok {
			return Bool(!stop)
		}
		if l.truth(v) == stop {
			return Bool(stop)
		}
	}
}

// sort sorts a list in place, stably.
func (l *Loader) sort(list *List, name string, kws []NamedValue) {
	var key Value
	reverse := false
	for _, k := range kws {
		switch k.Name {
		case "key":
			if k.Value != None {
				key = k.Value
			}
		case "reverse":
			reverse = l.truth(k.Value)
		default:
			l.raise(excType, "%s() got an unexpected keyword argument '%s'", name, k.Name)
		}
	}
	type item struct{ key, v Value }
	items := make([]item, len(list.Elems))
	for i, v := range list.Elems {
		items[i] = item{v, v}
		if key != nil {
			items[i].key = l.call(key, []Value{v}, nil)
		}
	}
	less := func(a, b Value) bool { return l.truth(l.compare("<", a, b)) }
	slices.SortStableFunc(items, func(a, b item) int {
		x, y := a.key, b.key
		if reverse {
			x, y = y, x
		}
		switch {
		case less(x, y):
			return -1
		case less(y, x):
			return 1
		}
		return 0
	})
	for i := range items {
		list.Elems[i] = items[i].v
	}
}

func (l *Loader) isInstance(v, class Value, sub bool) bool {
	switch c := class.(type) {
	case *Tuple:
		for _, e := range c.Elems {
			if l.isInstance(v, e, sub) {
				return true
			}
		}
		return false
	case *Class:
		if sub {
			k, ok := v.(*Class)
			if !ok {
				l.raise(excType, "issubclass() arg 1 must be a class")
			}
			return k.is(c)
		}
		if s, ok := v.(*Symbol); ok && !s.IsDSL() {
			l.unknown("the type of %s", s.Path)
		}
		if i, ok := v.(*Instance); ok && (i.Class.opaque != "" || i.Class.foreign != "") && !i.Class.is(c) {
			l.unknown("the bases of %s", i.Class.Name)
		}
		if c == funcClass {
			switch v.(type) {
			case *Func, *Bound:
				return true
			}
		}
		return classOf(v).is(c)
	case *Symbol:
		switch v.(type) {
		case *Symbol, *Applied, *DynVar, *DSL:
			l.unknown("whether a value is a %s", c.Path)
		}
		return false // a value of ours is no object of a package that is not evaluated
	}
	l.raise(excType, "isinstance() arg 2 must be a type, a tuple of types, or a union")
	return false
}

func (l *Loader) round(x, digits Value) Value {
	if x == nil {
		l.raise(excType, "round() missing required argument 'number'")
	}
	i, f, isInt, isFloat := number(plain(x))
	switch {
	case isInt && (digits == nil || digits == None):
		return i
	case isInt:
		n := l.smallInt(digits, "an integer is required")
		if n >= 0 {
			return i
		}
		if -n > 400 {
			return Int{}
		}
		// Half to even at a power of ten.
		p := MakeInt(10).pow(MakeInt(int64(-n)))
		q, r := i.divMod(p)
		twice := r.mul(MakeInt(2)).Cmp(p)
		if odd := q.bitwise("&", MakeInt(1)).Sign() != 0; twice > 0 || twice == 0 && odd {
			q = q.add(MakeInt(1))
		}
		return q.mul(p)
	case isFloat && (digits == nil || digits == None):
		return l.floatToInt(math.RoundToEven(float64(f)))
	case isFloat:
		n := l.smallInt(digits, "an integer is required")
		return Float(roundDigits(float64(f), n))
	}
	l.notValue(x)
	l.raise(excType, "type %s doesn't define __round__ method", typeName(x))
	return nil
}

func (l *Loader) powMod(x, y, m Value) Value {
	const complaint = "pow() 3rd argument not allowed unless all arguments are integers"
	a, b, c := l.toInt(x, complaint), l.toInt(y, complaint), l.toInt(m, complaint)
	if c.Sign() == 0 {
		l.raise(excValue, "pow() 3rd argument cannot be 0")
	}
	l.charge(b.bits() * (c.bits()/64 + 1))
	if b.Sign() < 0 {
		inv := newBig().ModInverse(a.Big(), newBig().Abs(c.Big()))
		if inv == nil {
			l.raise(excValue, "base is not invertible for the given modulus")
		}
		a, b = BigInt(inv), b.neg()
	}
	r := BigInt(newBig().Exp(a.Big(), b.Big(), newBig().Abs(c.Big())))
	if c.Sign() < 0 && r.Sign() != 0 {
		r = r.add(c)
	}
	return r
}

// sliceArgs reads the arguments of range() and slice().
func sliceArgs(args []Value) (lo, hi, step Value) {
	switch len(args) {
	case 1:
		return nil, args[0], nil
	case 2:
		return args[0], args[1], nil
	}
	return args[0], args[1], args[2]
}

func trimLower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
