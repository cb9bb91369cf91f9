package eval

import (
	"slices"
)

// Methods of the builtin types, but for those of strings, which are in method_str.go.

type methods = map[string]func(l *Loader, args []Value, kws []NamedValue) Value

// methodOf finds a method of a builtin type; the object is its first argument.
func methodOf(x Value, name string) Value {
	table := ""
	switch x := x.(type) {
	case Str:
		table = "str"
	case Bytes:
		table = "bytes"
	case *List:
		table = "list"
	case *Tuple:
		table = "tuple"
	case *Dict:
		table = "dict"
	case *Set:
		table = "set"
	case Int, Bool:
		table = "int"
	case Float:
		table = "float"
	case *Range:
		table = "range"
	case *Class:
		// str.join, dict.get: the methods of a builtin type as functions.
		switch x {
		case strClass, listClass, tupleClass, dictClass, setClass, intClass, floatClass:
			table = x.Name
		}
		if m := methodTables[table][name]; m != nil {
			return m
		}
		return nil
	}
	if m := methodTables[table][name]; m != nil {
		return m
	}
	return nil
}

var methodTables map[string]map[string]*Builtin

func init() {
	methodTables = make(map[string]map[string]*Builtin)
	for typ, ms := range map[string]methods{"str": strMethods, "bytes": bytesMethods, "list": listMethods, "tuple": tupleMethods, "dict": dictMethods, "set": setMethods,
		"int": intMethods, "float": floatMethods, "range": tupleMethods} {
		t := make(map[string]*Builtin, len(ms))
		for name, fn := range ms {
			t[name] = builtinFunc(name, fn)
		}
		methodTables[typ] = t
	}
}

var intMethods = methods{
	"bit_length": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("bit_length", args, kws, 1, 1)
		return MakeInt(int64(l.toInt(args[0], "").bits()))
	},
	"bit_count": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("bit_count", args, kws, 1, 1)
		n := 0
		b := newBig().Abs(l.toInt(args[0], "").Big())
		for i := range b.BitLen() {
			n += int(b.Bit(i))
		}
		return MakeInt(int64(n))
	},
	"is_integer": func(l *Loader, args []Value, kws []NamedValue) Value { return Bool(true) },
	"conjugate":  func(l *Loader, args []Value, kws []NamedValue) Value { return args[0] },
}

var floatMethods = methods{
	"is_integer": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("is_integer", args, kws, 1, 1)
		f := float64(args[0].(Float))
		return Bool(f == float64(int64(f)) || f > 1<<53 || f < -(1<<53))
	},
}

// self is the object of a method, which may be called as a function of the type too.
func self[T Value](l *Loader, args []Value, name string) T {
	if len(args) > 0 {
		if x, ok := args[0].(T); ok {
			return x
		}
		l.notValue(args[0])
	}
	l.raise(excType, "%s() called on a wrong object", name)
	panic("unreachable")
}

var listMethods = methods{
	"append": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("append", args, kws, 2, 2)
		x := self[*List](l, args, "append")
		l.checkSize(len(x.Elems) + 1)
		x.Elems = append(x.Elems, args[1])
		return None
	},
	"extend": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("extend", args, kws, 2, 2)
		x := self[*List](l, args, "extend")
		add := l.elems(args[1])
		l.checkSize(len(x.Elems) + len(add))
		x.Elems = append(x.Elems, add...)
		return None
	},
	"insert": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("insert", args, kws, 3, 3)
		x := self[*List](l, args, "insert")
		i := l.smallInt(args[1], "list indices must be integers")
		if i < 0 {
			i += len(x.Elems)
		}
		l.size(len(x.Elems) + 1)
		x.Elems = slices.Insert(x.Elems, max(0, min(i, len(x.Elems))), args[2])
		return None
	},
	"pop": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("pop", args, kws, 1, 2)
		x := self[*List](l, args, "pop")
		if len(x.Elems) == 0 {
			l.raise(excIndex, "pop from empty list")
		}
		i := len(x.Elems) - 1
		if len(args) == 2 {
			i = l.index(args[1], len(x.Elems), "pop index out of range", "list")
		}
		v := x.Elems[i]
		l.charge((len(x.Elems) - i) / 8)
		x.Elems = slices.Delete(x.Elems, i, i+1)
		return v
	},
	"remove": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("remove", args, kws, 2, 2)
		x := self[*List](l, args, "remove")
		for i, e := range x.Elems {
			if l.equal(e, args[1]) {
				x.Elems = slices.Delete(x.Elems, i, i+1)
				return None
			}
		}
		l.raise(excValue, "list.remove(x): x not in list")
		return nil
	},
	"clear": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("clear", args, kws, 1, 1)
		self[*List](l, args, "clear").Elems = nil
		return None
	},
	"copy": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("copy", args, kws, 1, 1)
		return &List{l.elems(self[*List](l, args, "copy"))}
	},
	"reverse": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("reverse", args, kws, 1, 1)
		x := self[*List](l, args, "reverse")
		l.size(len(x.Elems))
		slices.Reverse(x.Elems)
		return None
	},
	"sort": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("sort", args, nil, 1, 1)
		l.sort(self[*List](l, args, "sort"), "sort", kws)
		return None
	},
	"index": seqIndex,
	"count": seqCount,
}

var tupleMethods = methods{"index": seqIndex, "count": seqCount}

func seqIndex(l *Loader, args []Value, kws []NamedValue) Value {
	l.want("index", args, kws, 2, 4)
	e := l.elems(args[0])
	lo, hi := 0, len(e)
	clamp := func(v Value) int {
		k := l.smallInt(v, "slice indices must be integers")
		if k < 0 {
			k += len(e)
		}
		return max(0, min(k, len(e)))
	}
	if len(args) > 2 {
		lo = clamp(args[2])
	}
	if len(args) > 3 {
		hi = clamp(args[3])
	}
	for i := lo; i < hi; i++ {
		if l.equal(e[i], args[1]) {
			return MakeInt(int64(i))
		}
	}
	l.raise(excValue, "%s is not in list", clip(l.repr(args[1])))
	return nil
}

func seqCount(l *Loader, args []Value, kws []NamedValue) Value {
	l.want("count", args, kws, 2, 2)
	n := int64(0)
	for _, e := range l.elems(args[0]) {
		if l.equal(e, args[1]) {
			n++
		}
	}
	return MakeInt(n)
}

var dictMethods = methods{
	"get": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("get", args, kws, 2, 3)
		d := self[*Dict](l, args, "get")
		if e := d.find(l.hash(args[1])); e != nil {
			return e.val
		}
		if len(args) == 3 {
			return args[2]
		}
		return None
	},
	"keys": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("keys", args, kws, 1, 1)
		// A set in insertion order serves for a view: it iterates, has a length, and intersects.
		d := self[*Dict](l, args, "keys")
		l.size(d.live)
		s := &Set{Frozen: true}
		for _, e := range d.entries {
			if e.key != nil {
				s.set(e.hash, e.key, nil)
			}
		}
		return s
	},
	"values": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("values", args, kws, 1, 1)
		d := self[*Dict](l, args, "values")
		l.size(d.live)
		out := &List{}
		for _, v := range d.All() {
			out.Elems = append(out.Elems, v)
		}
		return out
	},
	"items": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("items", args, kws, 1, 1)
		d := self[*Dict](l, args, "items")
		l.size(d.live)
		out := &List{}
		for k, v := range d.All() {
			out.Elems = append(out.Elems, &Tuple{Elems: []Value{k, v}})
		}
		return out
	},
	"pop": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("pop", args, kws, 2, 3)
		d := self[*Dict](l, args, "pop")
		h := l.hash(args[1])
		if e := d.find(h); e != nil {
			v := e.val
			d.del(h)
			return v
		}
		if len(args) == 3 {
			return args[2]
		}
		l.throw(newException(excKey, args[1]))
		return nil
	},
	"popitem": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("popitem", args, kws, 1, 1)
		d := self[*Dict](l, args, "popitem")
		for i := len(d.entries) - 1; i >= 0; i-- {
			if e := d.entries[i]; e.key != nil {
				d.del(e.hash)
				return &Tuple{Elems: []Value{e.key, e.val}}
			}
		}
		l.throw(newException(excKey, Str("popitem(): dictionary is empty")))
		return nil
	},
	"setdefault": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("setdefault", args, kws, 2, 3)
		d := self[*Dict](l, args, "setdefault")
		h := l.hash(args[1])
		if e := d.find(h); e != nil {
			return e.val
		}
		v := Value(None)
		if len(args) == 3 {
			v = args[2]
		}
		d.set(h, args[1], v)
		return v
	},
	"update": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("update", args, nil, 1, 2)
		d := self[*Dict](l, args, "update")
		if len(args) == 2 {
			l.update(d, args[1])
		}
		for _, k := range kws {
			d.set(k.Name, Str(k.Name), k.Value)
		}
		return None
	},
	"copy": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("copy", args, kws, 1, 1)
		d := self[*Dict](l, args, "copy")
		l.size(d.live)
		return &Dict{table: d.copy(), factory: d.factory}
	},
	"clear": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("clear", args, kws, 1, 1)
		self[*Dict](l, args, "clear").clear()
		return None
	},
}

func dictFromKeys(l *Loader, args []Value, kws []NamedValue) Value {
	l.want("fromkeys", args, kws, 1, 2)
	v := Value(None)
	if len(args) == 2 {
		v = args[1]
	}
	d := &Dict{}
	for _, k := range l.elems(args[0]) {
		d.set(l.hash(k), k, v)
	}
	return d
}

// asSet makes a set of any iterable.
func (l *Loader) asSet(v Value) *Set {
	if s, ok := v.(*Set); ok {
		return s
	}
	s := &Set{}
	l.addAll(s, v)
	return s
}

// setMethod is a method that is an operator on any number of iterables.
func setMethod(name, op string) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, 1, -1)
		s := self[*Set](l, args, name)
		out := &Set{table: s.copy(), Frozen: s.Frozen}
		for _, a := range args[1:] {
			out = l.setOp(op, out, l.asSet(a)).(*Set)
		}
		return out
	}
}

// setUpdate is the same in place.
func setUpdate(name, op string) func(l *Loader, args []Value, kws []NamedValue) Value {
	return func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want(name, args, kws, 1, -1)
		s := mutableSet(l, args, name)
		for _, a := range args[1:] {
			s.table = l.setOp(op, s, l.asSet(a)).(*Set).table
		}
		return None
	}
}

func mutableSet(l *Loader, args []Value, name string) *Set {
	s := self[*Set](l, args, name)
	if s.Frozen {
		l.raise(excAttribute, "'frozenset' object has no attribute '%s'", name)
	}
	return s
}

var setMethods = methods{
	"add": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("add", args, kws, 2, 2)
		s := mutableSet(l, args, "add")
		l.checkSize(s.live + 1)
		s.set(l.hash(args[1]), args[1], nil)
		return None
	},
	"discard": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("discard", args, kws, 2, 2)
		mutableSet(l, args, "discard").del(l.hash(args[1]))
		return None
	},
	"remove": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("remove", args, kws, 2, 2)
		if !mutableSet(l, args, "remove").del(l.hash(args[1])) {
			l.throw(newException(excKey, args[1]))
		}
		return None
	},
	"clear": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("clear", args, kws, 1, 1)
		mutableSet(l, args, "clear").clear()
		return None
	},
	"copy":                        setMethod("copy", "|"),
	"union":                       setMethod("union", "|"),
	"intersection":                setMethod("intersection", "&"),
	"difference":                  setMethod("difference", "-"),
	"symmetric_difference":        setMethod("symmetric_difference", "^"),
	"update":                      setUpdate("update", "|"),
	"intersection_update":         setUpdate("intersection_update", "&"),
	"difference_update":           setUpdate("difference_update", "-"),
	"symmetric_difference_update": setUpdate("symmetric_difference_update", "^"),
	"issubset": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("issubset", args, kws, 2, 2)
		return Bool(subset(self[*Set](l, args, "issubset"), l.asSet(args[1])))
	},
	"issuperset": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("issuperset", args, kws, 2, 2)
		return Bool(subset(l.asSet(args[1]), self[*Set](l, args, "issuperset")))
	},
	"isdisjoint": func(l *Loader, args []Value, kws []NamedValue) Value {
		l.want("isdisjoint", args, kws, 2, 2)
		return Bool(l.setOp("&", self[*Set](l, args, "isdisjoint"), l.asSet(args[1])).(*Set).live == 0)
	},
}
