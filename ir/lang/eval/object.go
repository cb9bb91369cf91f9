package eval

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

type (
	// Class is a Python class, defined by the program or built in.
	Class struct {
		Name      string
		bases     []*Class
		mro       []*Class
		attrs     attrs
		module    *Module
		create    func(l *Loader, c *Class, args []Value, kws []NamedValue) Value // of a builtin type
		annots    []annotation                                                    // annotated names of the body, in order
		dataclass *dataclass
		fields    []string // of a named tuple; the members of an enum
		defaults  attrs    // of a named tuple
		enum      bool
		opaque    string // the builtin base class whose objects have no model, if any: such a class cannot be used
		foreign   string // the nearest base class of a package that is not evaluated, if any
		standIn   bool   // the class stands for such a base, in the resolution order of others
	}
	annotation struct {
		name string
		expr syntax.Expr
	}
	// Instance is an object of a class that the program defines, or an exception.
	Instance struct {
		Class   *Class
		attrs   attrs
		payload Value // the plain value of an enum member that is also an int or a str
	}
	// Builtin is a function of the language or of a known library.
	Builtin struct {
		Name string
		fn   func(l *Loader, args []Value, kws []NamedValue) Value
		// frame replaces fn for the few functions that depend on their caller.
		frame func(l *Loader, fr *frame, args []Value, kws []NamedValue) Value
	}
	// Bound is a method with its object.
	Bound struct {
		Self Value
		Fn   Value
	}
	// Iterator yields values one by one.
	Iterator struct {
		name string
		next func() (Value, bool)
	}
	// descriptor is a property, staticmethod or classmethod.
	descriptor struct {
		kind string // "property", "cached_property", "staticmethod" or "classmethod"
		fn   Value
		set  Value
	}
	// super is super() inside a method.
	super struct {
		after *Class
		self  Value
	}
)

func (*descriptor) value() {}
func (*super) value()      {}

// Attr is a field of an instance.
func (i *Instance) Attr(name string) (Value, bool) { return i.attrs.get(name) }

// find looks a name up in a class and its bases, in resolution order. It throws where an unknown base may have the name.
func (c *Class) find(name string) (Value, *Class, bool) {
	v, k, ok := c.findKnown(name)
	if !ok && c.foreign != "" {
		panic(&fault{reason: fmt.Sprintf("attribute %s of class %s, which derives from %s", name, c.Name, c.foreign)})
	}
	return v, k, ok
}

// findKnown is find for names that an unknown base is taken not to have: it looks no further than to the first such base.
func (c *Class) findKnown(name string) (Value, *Class, bool) {
	for _, k := range c.mro {
		if k.standIn {
			break
		}
		if v, ok := k.attrs.get(name); ok {
			return v, k, true
		}
	}
	return nil, nil, false
}

// is reports whether c is k or derives from it.
func (c *Class) is(k *Class) bool { return slices.Contains(c.mro, k) }

// linearize computes the resolution order (C3); ok is false when there is none.
func linearize(c *Class) (mro []*Class, ok bool) {
	var seqs [][]*Class
	for _, b := range c.bases {
		seqs = append(seqs, slices.Clone(b.mro))
	}
	seqs = append(seqs, slices.Clone(c.bases))
	mro = []*Class{c}
	for {
		seqs = slices.DeleteFunc(seqs, func(s []*Class) bool { return len(s) == 0 })
		if len(seqs) == 0 {
			return mro, true
		}
		var next *Class
		for _, s := range seqs {
			if !slices.ContainsFunc(seqs, func(t []*Class) bool { return slices.Contains(t[1:], s[0]) }) {
				next = s[0]
				break
			}
		}
		if next == nil {
			return nil, false
		}
		mro = append(mro, next)
		for i := range seqs {
			if seqs[i][0] == next {
				seqs[i] = seqs[i][1:]
			}
		}
	}
}

func builtinClass(name string, base *Class, create func(l *Loader, c *Class, args []Value, kws []NamedValue) Value) *Class {
	c := &Class{Name: name, create: create}
	if base != nil {
		c.bases = []*Class{base}
	}
	c.mro, _ = linearize(c)
	return c
}

var objectClass = builtinClass("object", nil, nil)

// The builtin types. Their constructors are in convert.go.
var (
	typeClass     = builtinClass("type", objectClass, nil)
	intClass      = builtinClass("int", objectClass, nil)
	boolClass     = builtinClass("bool", intClass, nil)
	floatClass    = builtinClass("float", objectClass, nil)
	strClass      = builtinClass("str", objectClass, nil)
	bytesClass    = builtinClass("bytes", objectClass, nil)
	listClass     = builtinClass("list", objectClass, nil)
	tupleClass    = builtinClass("tuple", objectClass, nil)
	dictClass     = builtinClass("dict", objectClass, nil)
	setClass      = builtinClass("set", objectClass, nil)
	frozenClass   = builtinClass("frozenset", objectClass, nil)
	rangeClass    = builtinClass("range", objectClass, nil)
	sliceClass    = builtinClass("slice", objectClass, nil)
	noneClass     = builtinClass("NoneType", objectClass, nil)
	ellipsisClass = builtinClass("ellipsis", objectClass, nil)
	funcClass     = builtinClass("function", objectClass, nil)
	builtinFn     = builtinClass("builtin_function_or_method", objectClass, nil)
	methodClass   = builtinClass("method", objectClass, nil)
	moduleClass   = builtinClass("module", objectClass, nil)
	iteratorClass = builtinClass("iterator", objectClass, nil)
	pathClass     = builtinClass("PosixPath", objectClass, nil)
	propertyClass = builtinClass("property", objectClass, nil)
	symbolClass   = builtinClass("symbol", objectClass, nil)
	dynVarClass   = builtinClass("DynVar", objectClass, nil)
	dslClass      = builtinClass("DSL function", objectClass, nil)
	enumClass     = builtinClass("Enum", objectClass, nil)
	superClass    = builtinClass("super", objectClass, nil)
	namespace     = builtinClass("SimpleNamespace", objectClass, nil)
)

// classOf is type(v).
func classOf(v Value) *Class {
	switch v := v.(type) {
	case Int:
		return intClass
	case Float:
		return floatClass
	case Bool:
		return boolClass
	case Str:
		return strClass
	case Bytes:
		return bytesClass
	case NoneType:
		return noneClass
	case EllipsisType:
		return ellipsisClass
	case *List:
		return listClass
	case *Tuple:
		if v.class != nil {
			return v.class
		}
		return tupleClass
	case *Dict:
		return dictClass
	case *Set:
		if v.Frozen {
			return frozenClass
		}
		return setClass
	case *Range:
		return rangeClass
	case *Slice:
		return sliceClass
	case *Func:
		return funcClass
	case *Builtin:
		return builtinFn
	case *Bound:
		return methodClass
	case *Class:
		return typeClass
	case *Instance:
		return v.Class
	case *Module:
		return moduleClass
	case *Iterator:
		return iteratorClass
	case *Path:
		return pathClass
	case *descriptor:
		return propertyClass
	case *DynVar:
		return dynVarClass
	case *DSL:
		return dslClass
	case *super:
		return superClass
	}
	return symbolClass
}

func typeName(v Value) string { return classOf(v).Name }

// plain gives the value behind an enum member that is also an int or a str, and v itself for all others.
func plain(v Value) Value {
	if i, ok := v.(*Instance); ok && i.payload != nil {
		return i.payload
	}
	return v
}

// Exceptions.
var (
	excBase          = excClass("BaseException", objectClass)
	excException     = excClass("Exception", excBase)
	excSystemExit    = excClass("SystemExit", excBase)
	_                = excClass("KeyboardInterrupt", excBase)
	excArithmetic    = excClass("ArithmeticError", excException)
	excZeroDivision  = excClass("ZeroDivisionError", excArithmetic)
	excOverflow      = excClass("OverflowError", excArithmetic)
	excAssertion     = excClass("AssertionError", excException)
	excAttribute     = excClass("AttributeError", excException)
	excImport        = excClass("ImportError", excException)
	excNotFound      = excClass("ModuleNotFoundError", excImport)
	excLookup        = excClass("LookupError", excException)
	excIndex         = excClass("IndexError", excLookup)
	excKey           = excClass("KeyError", excLookup)
	excName          = excClass("NameError", excException)
	excUnbound       = excClass("UnboundLocalError", excName)
	excOS            = excClass("OSError", excException)
	excFileNotFound  = excClass("FileNotFoundError", excOS)
	excRuntime       = excClass("RuntimeError", excException)
	excRecursion     = excClass("RecursionError", excRuntime)
	_                = excClass("NotImplementedError", excRuntime)
	excStopIteration = excClass("StopIteration", excException)
	excType          = excClass("TypeError", excException)
	excValue         = excClass("ValueError", excException)
	_                = excClass("UnicodeError", excValue)
	_                = excClass("EOFError", excException)
	_                = excClass("MemoryError", excException)
	_                = excClass("PermissionError", excOS)
	_                = excClass("TimeoutError", excOS)
	excWarning       = excClass("Warning", excException)
	_                = excClass("UserWarning", excWarning)
	_                = excClass("DeprecationWarning", excWarning)
	_                = excClass("RuntimeWarning", excWarning)
	_                = excClass("FutureWarning", excWarning)
	excFrozen        = excClass("FrozenInstanceError", excAttribute)
)

// excClass makes an exception class and, but for one that lives in dataclasses, a builtin name for it.
func excClass(name string, base *Class) *Class {
	c := builtinClass(name, base, nil)
	exceptions = append(exceptions, c)
	return c
}

var exceptions []*Class

func init() {
	for _, c := range exceptions {
		c.create = func(l *Loader, c *Class, args []Value, kws []NamedValue) Value {
			if len(kws) > 0 {
				l.raise(excType, "%s() takes no keyword arguments", c.Name)
			}
			return newException(c, args...)
		}
	}
}

func newException(c *Class, args ...Value) *Instance {
	i := &Instance{Class: c}
	i.attrs.set("args", &Tuple{Elems: args})
	return i
}

// exceptionText is "ValueError: message", in one short line.
func exceptionText(i *Instance) string {
	msg := exceptionMessage(i)
	if msg == "" {
		return i.Class.Name
	}
	return i.Class.Name + ": " + clip(msg)
}

func exceptionMessage(i *Instance) string {
	args, _ := i.attrs.get("args")
	t, ok := args.(*Tuple)
	if !ok || len(t.Elems) == 0 {
		return ""
	}
	if len(t.Elems) == 1 {
		if s, ok := t.Elems[0].(Str); ok && i.Class != excKey {
			return string(s)
		}
		return shortRepr(t.Elems[0])
	}
	return shortRepr(t)
}
