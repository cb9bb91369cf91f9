package eval

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// functions are the builtin functions; the builtin types are classes.
var functions = map[string]func(l *Loader, args []Value, kws []NamedValue) Value{
	"print": func(*Loader, []Value, []NamedValue) Value { return None },
	"len": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("len", args, kws, 1, 1)
		return l.length(args[0])
	},
	"abs": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("abs", args, kws, 1, 1)
		if i, ok := args[0].(*Instance); ok {
			if f, _, ok := i.Class.find("__abs__"); ok {
				return l.call(&Bound{i, f}, nil, nil)
			}
		}
		i, f, isInt, isFloat := number(plain(args[0]))
		switch {
		case isInt && i.Sign() < 0:
			return i.neg()
		case isInt:
			return i
		case isFloat:
			return Float(math.Abs(float64(f)))
		}
		l.notValue(args[0])
		l.raise(excType, "bad operand type for abs(): '%s'", typeName(args[0]))
		return nil
	},
	"min": func(l *Loader, args []Value, kws []NamedValue) Value { return l.extreme("min", "<", args, kws) },
	"max": func(l *Loader, args []Value, kws []NamedValue) Value { return l.extreme("max", ">", args, kws) },
	"sum": func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("sum", args, kws, "iterable", "start")
		if a[0] == nil {
			l.raise(excType, "sum() takes at least 1 positional argument (0 given)")
		}
		total := a[1]
		if total == nil {
			total = MakeInt(0)
		}
		if _, ok := total.(Str); ok {
			l.raise(excType, "sum() can't sum strings [use ''.join(seq) instead]")
		}
		for it := l.iter(a[0]); ; {
			v, ok := it.next()
			if !ok {
				return total
			}
			total = l.binary("+", total, v)
		}
	},
	"any": func(l *Loader, args []Value, kws []NamedValue) Value { return l.anyAll("any", true, args, kws) },
	"all": func(l *Loader, args []Value, kws []NamedValue) Value { return l.anyAll("all", false, args, kws) },
	"sorted": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("sorted", args, nil, 1, 1)
		list := &List{l.elems(args[0])}
		l.sort(list, "sorted", kws)
		return list
	},
	"reversed": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("reversed", args, kws, 1, 1)
		e := l.elems(args[0])
		slices.Reverse(e)
		return l.iter(&List{e})
	},
	"enumerate": func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("enumerate", args, kws, "iterable", "start")
		if a[0] == nil {
			l.raise(excType, "enumerate() missing required argument 'iterable'")
		}
		n := Int{}
		if a[1] != nil {
			n = l.toInt(a[1], "enumerate() start must be an integer")
		}
		it := l.iter(a[0])
		return &Iterator{name: "enumerate", next: func() (Value, bool) {
			v, ok := it.next()
			if !ok {
				return nil, false
			}
			i := n
			n = n.add(MakeInt(1))
			return &Tuple{Elems: []Value{i, v}}, true
		}}
	},
	"zip": func(l *Loader, args []Value, kws []NamedValue) Value {
		strict := false
		for _, k := range kws {
			if k.Name != "strict" {
				l.raise(excType, "zip() got an unexpected keyword argument '%s'", k.Name)
			}
			strict = l.truth(k.Value)
		}
		its := make([]*Iterator, len(args))
		for i, a := range args {
			its[i] = l.iter(a)
		}
		return &Iterator{name: "zip", next: func() (Value, bool) {
			if len(its) == 0 {
				return nil, false
			}
			t := &Tuple{Elems: make([]Value, len(its))}
			for i, it := range its {
				v, ok := it.next()
				if !ok {
					if strict {
						l.zipStrict(its, i)
					}
					return nil, false
				}
				t.Elems[i] = v
			}
			return t, true
		}}
	},
	"map": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("map", args, kws, 2, -1)
		its := make([]*Iterator, len(args)-1)
		for i, a := range args[1:] {
			its[i] = l.iter(a)
		}
		return &Iterator{name: "map", next: func() (Value, bool) {
			in := make([]Value, len(its))
			for i, it := range its {
				v, ok := it.next()
				if !ok {
					return nil, false
				}
				in[i] = v
			}
			return l.call(args[0], in, nil), true
		}}
	},
	"filter": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("filter", args, kws, 2, 2)
		it := l.iter(args[1])
		return &Iterator{name: "filter", next: func() (Value, bool) {
			for {
				v, ok := it.next()
				if !ok {
					return nil, false
				}
				keep := v
				if args[0] != None {
					keep = l.call(args[0], []Value{v}, nil)
				}
				if l.truth(keep) {
					return v, true
				}
			}
		}}
	},
	"iter": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("iter", args, kws, 1, 1)
		return l.iter(args[0])
	},
	"next": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("next", args, kws, 1, 2)
		it, ok := args[0].(*Iterator)
		if !ok {
			if i, isObj := args[0].(*Instance); isObj {
				it = l.instanceIter(i)
			} else {
				l.notValue(args[0])
				l.raise(excType, "'%s' object is not an iterator", typeName(args[0]))
			}
		}
		if v, ok := it.next(); ok {
			return v
		}
		if len(args) == 2 {
			return args[1]
		}
		l.throw(newException(excStopIteration))
		return nil
	},
	"round": func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("round", args, kws, "number", "ndigits")
		return l.round(a[0], a[1])
	},
	"divmod": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("divmod", args, kws, 2, 2)
		return &Tuple{Elems: []Value{l.binary("//", args[0], args[1]), l.binary("%", args[0], args[1])}}
	},
	"pow": func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("pow", args, kws, "base", "exp", "mod")
		if a[0] == nil || a[1] == nil {
			l.raise(excType, "pow() missing required argument")
		}
		if a[2] == nil || a[2] == None {
			return l.binary("**", a[0], a[1])
		}
		return l.powMod(a[0], a[1], a[2])
	},
	"isinstance": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("isinstance", args, kws, 2, 2)
		return Bool(l.isInstance(args[0], args[1], false))
	},
	"issubclass": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("issubclass", args, kws, 2, 2)
		return Bool(l.isInstance(args[0], args[1], true))
	},
	"callable": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("callable", args, kws, 1, 1)
		switch v := args[0].(type) {
		case *Func, *Builtin, *Bound, *Class, *DSL:
			return Bool(true)
		case *Instance:
			_, _, ok := v.Class.find("__call__")
			return Bool(ok)
		case *Symbol:
			l.unknown("whether %s is callable", v.Path)
		}
		return Bool(false)
	},
	"getattr": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("getattr", args, kws, 2, 3)
		name := l.argStr(args[1], "getattr")
		if len(args) == 2 {
			return l.getattr(args[0], name)
		}
		if v, ok := l.maybeAttr(args[0], name); ok {
			return v
		}
		return args[2]
	},
	"hasattr": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("hasattr", args, kws, 2, 2)
		_, ok := l.maybeAttr(args[0], l.argStr(args[1], "hasattr"))
		return Bool(ok)
	},
	"setattr": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("setattr", args, kws, 3, 3)
		l.setattr(args[0], l.argStr(args[1], "setattr"), args[2])
		return None
	},
	"vars": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("vars", args, kws, 1, 1)
		switch v := args[0].(type) {
		case *Module:
			return l.scopeDict(v.scope)
		case *Instance:
			return l.getattr(v, "__dict__")
		}
		l.unknown("vars() of %s", typeName(args[0]))
		return nil
	},
	"dir": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("dir", args, kws, 1, 1)
		var names []string
		switch v := args[0].(type) {
		case *Module:
			names = append(names, v.Names()...)
		case *Instance:
			names = append(names, v.attrs.names...)
			for _, c := range v.Class.mro {
				names = append(names, c.attrs.names...)
			}
		case *Class:
			for _, c := range v.mro {
				names = append(names, c.attrs.names...)
			}
		default:
			l.unknown("dir() of %s", typeName(v))
		}
		slices.Sort(names)
		out := &List{}
		for _, n := range slices.Compact(names) {
			out.Elems = append(out.Elems, Str(n))
		}
		return out
	},
	"id": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.unknown("id()")
		return nil
	},
	"hash": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("hash", args, kws, 1, 1)
		if i, _, isInt, _ := number(args[0]); isInt {
			if n, ok := i.Int64(); ok && n >= 0 && n < 1<<60 {
				return i
			}
		}
		l.hash(args[0])
		l.unknown("hash()")
		return nil
	},
	"repr": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("repr", args, kws, 1, 1)
		return Str(l.repr(args[0]))
	},
	"ascii": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("ascii", args, kws, 1, 1)
		return Str(l.repr(args[0]))
	},
	"format": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("format", args, kws, 1, 2)
		spec := ""
		if len(args) == 2 {
			spec = l.argStr(args[1], "format")
		}
		return Str(l.format(args[0], spec))
	},
	"__import__": func(l *Loader, args []Value, kws []NamedValue) Value {
		a := l.named("__import__", args, kws, "name", "globals", "locals", "fromlist", "level")
		if a[0] == nil {
			l.raise(excType, "__import__() missing required argument 'name' (pos 1)")
		}
		name := l.argStr(a[0], "__import__")
		v := l.importModule(l.module, name)
		if strings.Contains(name, ".") && (a[3] == nil || !l.truth(a[3])) {
			return l.importModule(l.module, firstPart(name)) // the package, as import a.b binds it
		}
		return v
	},
	"chr": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("chr", args, kws, 1, 1)
		n := l.smallInt(args[0], "an integer is required")
		if n < 0 || n > utf8.MaxRune {
			l.raise(excValue, "chr() arg not in range(0x110000)")
		}
		return Str(string(rune(n)))
	},
	"ord": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("ord", args, kws, 1, 1)
		s := l.argStr(args[0], "ord")
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 || n < len(s) {
			l.raise(excType, "ord() expected a character, but string of length %d found", utf8.RuneCountInString(s))
		}
		return MakeInt(int64(r))
	},
	"hex": func(l *Loader, args []Value, kws []NamedValue) Value { return l.inBase("hex", "#x", args, kws) },
	"oct": func(l *Loader, args []Value, kws []NamedValue) Value { return l.inBase("oct", "#o", args, kws) },
	"bin": func(l *Loader, args []Value, kws []NamedValue) Value { return l.inBase("bin", "#b", args, kws) },
}
