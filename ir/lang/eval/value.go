package eval

import (
	"math/big"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Value is a Python value. The types below are all there are:
// Int, Float, Bool, Str, Bytes, None, Ellipsis, *List, *Tuple, *Dict, *Set, *Range, *Slice, *Iterator, *Func, *Builtin, *Bound, *Class,
// *Instance, *Module, *Symbol, *Applied, *DynVar, *DSL, *Path and *Poison.
type Value interface{ value() }

type (
	// Int is an integer of any size.
	Int struct {
		small int64
		big   *big.Int // when not nil, the value, which does not fit small
	}
	// Float is a float.
	Float float64
	// Bool is True or False.
	Bool bool
	// Str is a string.
	Str string
	// Bytes is a byte string.
	Bytes string
	// NoneType is the type of None.
	NoneType struct{}
	// EllipsisType is the type of "...".
	EllipsisType struct{}
	// List is a list.
	List struct{ Elems []Value }
	// Tuple is a tuple. Names is set for named tuples.
	Tuple struct {
		Elems []Value
		class *Class
	}
	// Set is a set or frozenset, in insertion order.
	Set struct {
		table
		Frozen bool
	}
	// Dict is a dict, in insertion order.
	Dict struct {
		table
		factory Value // of a defaultdict
	}
	// Range is range(Start, Stop, Step).
	Range struct{ Start, Stop, Step Int }
	// Slice is the value of lo:hi:step in a subscript; absent parts are None.
	Slice struct{ Lo, Hi, Step Value }
	// Symbol is a name of a package that is not evaluated: Path is the dotted path from the package's own name, whatever the file calls
	// it: "pypto.language.FP32", "torch.float32".
	Symbol struct{ Path string }
	// Applied is a call or a subscript of a DSL symbol that stands for itself, such as pl.Tensor[[16, 16], pl.FP32] or pl.MemRef("m").
	Applied struct {
		Fun      Value  // *Symbol or *Applied
		Call     bool   // a call; else a subscript, whose index is Args[0] (a *Tuple when there are several)
		Attr     string // for an attribute of an Applied: its name, with Fun the object
		Args     []Value
		Keywords []NamedValue
		Span     diag.Span
	}
	// NamedValue is a keyword argument.
	NamedValue struct {
		Name  string
		Value Value
	}
	// DynVar is pl.dynamic(Name). Identity is the pointer: two calls make two variables.
	DynVar struct {
		Name string
		Span diag.Span
	}
	// DSL is a function or class with a DSL decorator.
	DSL struct {
		Kind      Kind
		Name      string
		Func      *syntax.FunctionDef // the definition: Func or Class, the other is nil
		Class     *syntax.ClassDef
		Decorator syntax.Expr // as written, without the '@': a *syntax.Call when it has arguments
		Env       Env         // where the names of the definition are looked up
		Module    *Module     // whose file holds the definition
		File      *syntax.File
	}
	// Func is a Python function or lambda.
	Func struct {
		Name   string
		Def    *syntax.FunctionDef // nil for a lambda
		lambda *syntax.Lambda
		info   *scopeInfo
		scope  *scope // the closure
		module *Module
		params *syntax.Params
		values map[string]Value // defaults of parameters
		class  *Class           // that the function is a method of, for super()
		attrs  attrs
	}
	// Poison stands for a value that could not be computed.
	Poison struct {
		Name   string    // the name that holds it
		Span   diag.Span // of the statement that should have bound it
		Reason string    // why, in words that follow "cannot be evaluated statically: "
		At     diag.Span // of the cause
		From   *Poison   // the poisoned name that this one depends on, if any
		// written is the function or class without the decorators whose effect is unknown, when nothing else is.
		written Value
	}
)

// Kind is the decorator of a DSL object.
type Kind string

const (
	Program   Kind = "program"
	Function  Kind = "function"
	Inline    Kind = "inline"
	Jit       Kind = "jit"
	JitInCore Kind = "jit.incore"
	JitInline Kind = "jit.inline"
	JitOpaque Kind = "jit.opaque"
	JitHost   Kind = "jit.host"
	JitExtern Kind = "jit.extern"
)

// None and Ellipsis are the only values of their types.
var (
	None     = NoneType{}
	Ellipsis = EllipsisType{}
)

func (Int) value()          {}
func (Float) value()        {}
func (Bool) value()         {}
func (Str) value()          {}
func (Bytes) value()        {}
func (NoneType) value()     {}
func (EllipsisType) value() {}
func (*List) value()        {}
func (*Tuple) value()       {}
func (*Set) value()         {}
func (*Dict) value()        {}
func (*Range) value()       {}
func (*Slice) value()       {}
func (*Symbol) value()      {}
func (*Applied) value()     {}
func (*DynVar) value()      {}
func (*DSL) value()         {}
func (*Func) value()        {}
func (*Builtin) value()     {}
func (*Bound) value()       {}
func (*Class) value()       {}
func (*Instance) value()    {}
func (*Module) value()      {}
func (*Iterator) value()    {}
func (*Path) value()        {}
func (*Poison) value()      {}
