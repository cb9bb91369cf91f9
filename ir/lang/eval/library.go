package eval

import (
	"math"
	"slices"
	"strings"
)

// Modules of the standard library that have values here. Names that a module does not list are symbols, as are all other modules.

// library makes a module on first import.
func (l *Loader) library(name string) *Module {
	if m := l.libs[name]; m != nil {
		return m
	}
	var names map[string]Value
	switch name {
	case "math":
		names = mathModule()
	case "os":
		names = l.osModule()
	case "os.path":
		names = pathFunctions()
	case "sys":
		names = l.sysModule()
	case "dataclasses":
		names = dataclassesModule()
	case "functools":
		names = functoolsModule()
	case "itertools":
		names = itertoolsModule()
	case "collections":
		names = collectionsModule()
	case "copy":
		names = copyModule()
	case "enum":
		names = enumModule()
	case "operator":
		names = operatorModule()
	case "pathlib":
		names = map[string]Value{"Path": pathClass, "PurePath": pathClass, "PosixPath": pathClass, "PurePosixPath": pathClass}
	case "types":
		names = map[string]Value{"SimpleNamespace": namespace, "FunctionType": funcClass, "ModuleType": moduleClass, "NoneType": noneClass,
			"MappingProxyType": builtinFunc("MappingProxyType", func(l *Loader, args []Value, kws []NamedValue) Value {
				l.want("MappingProxyType", args, kws, 1, 1)
				return args[0]
			})}
	case "typing", "typing_extensions":
		names = map[string]Value{"NamedTuple": namedTupleBase, "TYPE_CHECKING": Bool(false)}
	case "contextlib":
		names = contextlibModule()
	case "textwrap":
		names = textwrapModule()
	case "json":
		names = jsonModule()
	case "re":
		names = reModule()
	case "struct":
		names = map[string]Value{"calcsize": builtinFunc("calcsize", structSize)}
	case "inspect":
		names = inspectModule()
	case "numbers":
		names = map[string]Value{"Integral": intClass}
	case "importlib":
		names = map[string]Value{"import_module": builtinFunc("import_module", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("import_module", args, kws, 1, 1)
			return l.importModule(l.module, l.argStr(args[0], "import_module"))
		})}
	default:
		return nil
	}
	m := &Module{Path: name, Name: name, loader: l, library: true}
	m.scope = newScope(nil, m)
	keys := make([]string, 0, len(names))
	for n := range names {
		keys = append(keys, n)
	}
	slices.Sort(keys)
	for _, n := range keys {
		m.scope.bind(n, names[n])
	}
	l.libs[name] = m
	return m
}

func (l *Loader) sysModule() map[string]Value {
	argv := &List{Elems: []Value{Str(base(l.entry))}}
	for _, a := range l.Argv {
		argv.Elems = append(argv.Elems, Str(a))
	}
	l.sysPath = &List{Elems: []Value{Str(dirOf(l.entry))}}
	for _, r := range l.Roots {
		l.sysPath.Elems = append(l.sysPath.Elems, Str(r))
	}
	version := &Tuple{Elems: []Value{MakeInt(3), MakeInt(10), MakeInt(0), Str("final"), MakeInt(0)}}
	exit := builtinFunc("exit", func(l *Loader, args []Value, kws []NamedValue) Value {
		l.throwStmt(newException(excSystemExit, args...))
		return nil
	})
	return map[string]Value{"argv": argv, "path": l.sysPath, "version_info": version, "maxsize": MakeInt(math.MaxInt64), "exit": exit,
		"byteorder": Str("little"), "setrecursionlimit": builtins["print"]}
}

func functoolsModule() map[string]Value {
	cache := func(l *Loader, fn Value) Value {
		memo := make(map[any]Value)
		return builtinFunc("cached", func(l *Loader, args []Value, kws []NamedValue) Value {
			parts := append([]Value(nil), args...)
			for _, k := range kws {
				parts = append(parts, Str(k.Name), k.Value)
			}
			key := l.hash(&Tuple{Elems: parts})
			if v, ok := memo[key]; ok {
				return v
			}
			v := l.call(fn, args, kws)
			memo[key] = v
			return v
		})
	}
	wrap := builtinFunc("wraps", func(l *Loader, args []Value, kws []NamedValue) Value {
		return builtinFunc("wraps", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("wraps", args, kws, 1, 1)
			return args[0]
		})
	})
	return map[string]Value{
		"cache": builtinFunc("cache", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("cache", args, kws, 1, 1)
			return cache(l, args[0])
		}),
		"lru_cache": builtinFunc("lru_cache", func(l *Loader, args []Value, kws []NamedValue) Value {
			if len(args) == 1 && len(kws) == 0 {
				if f, ok := args[0].(*Func); ok {
					return cache(l, f)
				}
			}
			return builtinFunc("lru_cache", func(l *Loader, args []Value, kws []NamedValue) Value {
				l.want("lru_cache", args, kws, 1, 1)
				return cache(l, args[0])
			})
		}),
		"cached_property": builtinFunc("cached_property", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("cached_property", args, kws, 1, 1)
			return &descriptor{"cached_property", args[0], nil}
		}),
		"wraps": wrap,
		"update_wrapper": builtinFunc("update_wrapper", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("update_wrapper", args, nil, 1, -1)
			return args[0]
		}),
		"partial": builtinFunc("partial", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("partial", args, nil, 1, -1)
			return builtinFunc("partial", func(l *Loader, more []Value, named []NamedValue) Value {
				all := slices.Clone(named)
				for _, k := range kws {
					if !slices.ContainsFunc(named, func(n NamedValue) bool { return n.Name == k.Name }) {
						all = append(all, k)
					}
				}
				return l.call(args[0], concat(args[1:], more), all)
			})
		}),
		"reduce": builtinFunc("reduce", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("reduce", args, kws, 2, 3)
			it := l.iter(args[1])
			var acc Value
			if len(args) == 3 {
				acc = args[2]
			} else {
				var ok bool
				if acc, ok = it.next(); !ok {
					l.raise(excType, "reduce() of empty iterable with no initial value")
				}
			}
			for {
				v, ok := it.next()
				if !ok {
					return acc
				}
				acc = l.call(args[0], []Value{acc, v}, nil)
			}
		}),
	}
}

func collectionsModule() map[string]Value {
	return map[string]Value{
		"OrderedDict": dictClass,
		"abc":         &Symbol{"collections.abc"},
		"defaultdict": builtinFunc("defaultdict", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("defaultdict", args, nil, 0, 2)
			d := &Dict{}
			if len(args) > 0 && args[0] != None {
				d.factory = args[0]
			}
			if len(args) > 1 {
				l.update(d, args[1])
			}
			for _, k := range kws {
				d.set(k.Name, Str(k.Name), k.Value)
			}
			return d
		}),
		"namedtuple": builtinFunc("namedtuple", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("namedtuple", args, nil, 2, 2)
			c := &Class{Name: l.argStr(args[0], "namedtuple"), bases: []*Class{tupleClass}, module: l.module}
			c.mro = []*Class{c, tupleClass, objectClass}
			c.fields = []string{}
			if s, ok := args[1].(Str); ok {
				c.fields = append(c.fields, strings.Fields(strings.ReplaceAll(string(s), ",", " "))...)
			} else {
				for _, v := range l.elems(args[1]) {
					c.fields = append(c.fields, l.argStr(v, "namedtuple"))
				}
			}
			for _, k := range kws {
				if k.Name != "defaults" {
					l.raise(excType, "namedtuple() got an unexpected keyword argument '%s'", k.Name)
				}
				d := l.elems(k.Value)
				if len(d) > len(c.fields) {
					l.raise(excType, "Got more default values than field names")
				}
				for i, v := range d {
					c.defaults.set(c.fields[len(c.fields)-len(d)+i], v)
				}
			}
			return c
		}),
		"Counter": builtinFunc("Counter", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("Counter", args, kws, 0, 1)
			d := &Dict{factory: intClass}
			if len(args) == 1 {
				if m, ok := args[0].(*Dict); ok {
					l.update(d, m)
				} else {
					for _, v := range l.elems(args[0]) {
						n := Value(MakeInt(0))
						h := l.hash(v)
						if e := d.find(h); e != nil {
							n = e.val
						}
						d.set(h, v, l.binary("+", n, MakeInt(1)))
					}
				}
			}
			return d
		}),
	}
}

// contextlibModule has the context managers that hide exceptions or do nothing.
func contextlibModule() map[string]Value {
	manager := func(name string, enter func(args Value) Value, exit func(l *Loader, args, exc Value) Value) *Class {
		c := builtinClass(name, objectClass, func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
			i := &Instance{Class: c}
			i.attrs.set("args", &Tuple{Elems: args})
			return i
		})
		given := func(self Value) Value { v, _ := self.(*Instance).attrs.get("args"); return v }
		c.attrs.set("__enter__", builtinFunc("__enter__", func(l *Loader, args []Value, kws []NamedValue) Value { return enter(given(args[0])) }))
		c.attrs.set("__exit__", builtinFunc("__exit__", func(l *Loader, args []Value, kws []NamedValue) Value { return exit(l, given(args[0]), args[2]) }))
		return c
	}
	return map[string]Value{
		"suppress": manager("suppress", func(Value) Value { return None }, func(l *Loader, args, exc Value) Value {
			e, ok := exc.(*Instance)
			return Bool(ok && l.catches(args, e))
		}),
		"nullcontext": manager("nullcontext", func(args Value) Value {
			if t := args.(*Tuple); len(t.Elems) > 0 {
				return t.Elems[0]
			}
			return None
		}, func(*Loader, Value, Value) Value { return None }),
	}
}

func copyModule() map[string]Value {
	return map[string]Value{
		"copy": builtinFunc("copy", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("copy", args, kws, 1, 1)
			return l.copyValue(args[0], nil)
		}),
		"deepcopy": builtinFunc("deepcopy", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("deepcopy", args, kws, 1, 2)
			return l.copyValue(args[0], make(map[Value]Value))
		}),
		"replace": builtinFunc("replace", func(l *Loader, args []Value, kws []NamedValue) Value {
			return l.call(l.library("dataclasses").scope.vars["replace"].v, args, kws)
		}),
	}
}

// copyValue copies containers and instances; seen is nil for a shallow copy.
func (l *Loader) copyValue(v Value, seen map[Value]Value) Value {
	l.nest()
	defer l.unnest()
	l.charge(1)
	if c, ok := seen[v]; ok {
		return c
	}
	part := func(v Value) Value {
		if seen == nil {
			return v
		}
		return l.copyValue(v, seen)
	}
	note := func(c Value) {
		if seen != nil {
			seen[v] = c
		}
	}
	parts := func(vs []Value) []Value {
		l.size(len(vs))
		out := make([]Value, len(vs))
		for i, e := range vs {
			out[i] = part(e)
		}
		return out
	}
	switch v := v.(type) {
	case *List:
		c := &List{}
		note(c)
		c.Elems = parts(v.Elems)
		return c
	case *Tuple:
		if seen == nil {
			return v
		}
		return &Tuple{Elems: parts(v.Elems), class: v.class}
	case *Dict:
		c := &Dict{factory: v.factory}
		note(c)
		for k, e := range v.All() {
			k = part(k)
			c.set(l.hash(k), k, part(e))
		}
		return c
	case *Set:
		return &Set{table: v.copy(), Frozen: v.Frozen}
	case *Instance:
		if v.Class.enum {
			return v
		}
		name := "__copy__"
		if seen != nil {
			name = "__deepcopy__"
		}
		if _, _, ok := v.Class.find(name); ok {
			l.unknown("a copy by %s", name)
		}
		c := &Instance{Class: v.Class, payload: v.payload}
		note(c)
		for _, n := range v.attrs.names {
			c.attrs.set(n, part(v.attrs.m[n]))
		}
		return c
	}
	return v
}

func enumModule() map[string]Value {
	mixed := func(name string, base *Class) *Class {
		c := &Class{Name: name, bases: []*Class{base, enumClass}, enum: true}
		c.mro, _ = linearize(c)
		return c
	}
	flag := &Class{Name: "Flag", bases: []*Class{enumClass}, enum: true}
	flag.mro, _ = linearize(flag)
	return map[string]Value{
		"Enum": enumClass, "IntEnum": mixed("IntEnum", intClass), "StrEnum": mixed("StrEnum", strClass), "Flag": flag, "IntFlag": mixed("IntFlag", intClass),
		"auto": builtinFunc("auto", func(l *Loader, args []Value, kws []NamedValue) Value { return autoValue }),
		"unique": builtinFunc("unique", func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want("unique", args, kws, 1, 1)
			return args[0]
		}),
	}
}

// structSize is struct.calcsize of the fixed-size formats, which have no padding.
func structSize(l *Loader, args []Value, kws []NamedValue) Value {
	l.want("calcsize", args, kws, 1, 1)
	format := l.argStr(args[0], "calcsize")
	rest, ok := strings.CutPrefix(format, "<")
	if !ok {
		if rest, ok = strings.CutPrefix(format, ">"); !ok {
			if rest, ok = strings.CutPrefix(format, "="); !ok {
				l.unknown("struct.calcsize with the sizes of the host; formats that start with '<' are the same everywhere")
			}
		}
	}
	total, count := int64(0), ""
	for _, c := range rest {
		if c >= '0' && c <= '9' {
			count += string(c)
			continue
		}
		size := int64(0)
		switch {
		case strings.ContainsRune("xcbB?sp", c):
			size = 1
		case strings.ContainsRune("hHe", c):
			size = 2
		case strings.ContainsRune("iIlLf", c):
			size = 4
		case strings.ContainsRune("qQd", c):
			size = 8
		case c == ' ':
			continue
		default:
			l.raise(excValue, "bad char in struct format")
		}
		n := int64(1)
		if count != "" {
			i, _ := parseInt(count, 10)
			n = int64(l.smallInt(i, ""))
		}
		total, count = total+n*size, ""
	}
	return MakeInt(total)
}

func operatorModule() map[string]Value {
	m := make(map[string]Value)
	for name, op := range map[string]string{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and_": "&", "or_": "|", "xor": "^",
		"lshift": "<<", "rshift": ">>"} {
		m[name] = builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 2, 2)
			return l.binary(op, args[0], args[1])
		})
	}
	for name, op := range map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="} {
		m[name] = builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
			l.want(name, args, kws, 2, 2)
			return l.compare(op, args[0], args[1])
		})
	}
	getter := func(name string, get func(l *Loader, x, key Value) Value) {
		m[name] = builtinFunc(name, func(l *Loader, keys []Value, kws []NamedValue) Value {
			l.want(name, keys, kws, 1, -1)
			return builtinFunc(name, func(l *Loader, args []Value, kws []NamedValue) Value {
				l.want(name, args, kws, 1, 1)
				t := &Tuple{}
				for _, k := range keys {
					t.Elems = append(t.Elems, get(l, args[0], k))
				}
				if len(keys) == 1 {
					return t.Elems[0]
				}
				return t
			})
		})
	}
	getter("itemgetter", func(l *Loader, x, key Value) Value { return l.subscript(x, key) })
	getter("attrgetter", func(l *Loader, x, key Value) Value {
		for _, part := range strings.Split(l.argStr(key, "attrgetter"), ".") {
			x = l.getattr(x, part)
		}
		return x
	})
	return m
}
