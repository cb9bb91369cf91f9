package sdk

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// Param is a positional operand. TensorParam and the like make one; its further fields are set by name:
//
//	sdk.Param{Name: "x", Kind: sdk.TileKind | sdk.TensorKind}
type Param struct {
	Name     string
	Kind     Kind
	Mem      []ir.Mem // of a tile: the memory spaces it may live in; nil: any
	Optional bool     // may be left out, or be None: ask Has before anything else about it
	Variadic bool     // the last operand only: any number of operands, also none
	Integer  bool     // of a scalar: no floats. Needs an Infer
	Window   Window   // the part of a tensor or tile that the op touches; the zero Window: any
}

// Kind is what an operand may be. Kinds combine with |.
type Kind = ops.ParamKind

// Kinds of operands. A list is what users write as [i, j]; its elements are integers, known or not.
const (
	TensorKind = ops.TensorArg
	TileKind   = ops.TileArg
	ScalarKind = ops.ScalarArg
	ListKind   = ops.TupleArg
	ArrayKind  = ops.ArrayArg
	TaskKind   = ops.TaskArg
)

// Operands by kind.
func TensorParam(name string) Param { return Param{Name: name, Kind: TensorKind} }
func TileParam(name string) Param   { return Param{Name: name, Kind: TileKind} }
func ScalarParam(name string) Param { return Param{Name: name, Kind: ScalarKind} }
func IntParam(name string) Param    { return Param{Name: name, Kind: ScalarKind, Integer: true} }
func ListParam(name string) Param   { return Param{Name: name, Kind: ListKind} }
func ArrayParam(name string) Param  { return Param{Name: name, Kind: ArrayKind} }
func TaskParam(name string) Param   { return Param{Name: name, Kind: TaskKind} }

// WindowParam is a tensor of which a kernel op touches only the window that begins at list operand at and is as large as operand extents (a list, or a
// tensor or tile: its valid part), or as the result (ResultExtents). Evaluate sees the window alone.
func WindowParam(name, at, extents string) Param {
	return Param{Name: name, Kind: TensorKind, Window: Window{At: at, Extents: extents}}
}

// Optional is an operand that may be left out, Variadic the last one that may come any number of times.
func Optional(p Param) Param { p.Optional = true; return p }
func Variadic(p Param) Param { p.Variadic = true; return p }

func (p *Param) spec() ops.Param {
	return ops.Param{Name: p.Name, Kind: p.Kind, Mem: p.Mem, Optional: p.Optional, Variadic: p.Variadic, Window: ops.Window(p.Window)}
}

// Window is the part of an operand that begins at list operand At, one index per axis, and has the extents of operand Extents, or those of the result.
type Window struct {
	At      string // names a list operand
	Extents string // names a list, tensor or tile operand, or is ResultExtents
}

// ResultExtents: a window as large as the result.
const ResultExtents = ops.ResultExtents

// Keyword is a keyword argument. Its value is known at compile time.
type Keyword struct {
	Name string
	Kind KeywordKind
	// Default is an integer, a float64, a bool, a string or an ir.DType, as Kind says; nil: absent when it is not given.
	Default  any
	Required bool
	// Min and Max bound an integer or float when they differ, both included.
	Min, Max int64
	// Names are the strings that a StringKeyword accepts, nil for any; of an IntKeyword, the names of its values from 0.
	Names []string
}

// KeywordKind is the type of a keyword argument: IntKeyword, FloatKeyword, BoolKeyword, StringKeyword or DTypeKeyword.
type KeywordKind = ops.KwargKind

// Kinds of keyword arguments. Call.Keyword and Values.Keyword give an int64, bool, string, float64 or ir.DType.
const (
	IntKeyword    = ops.IntKw
	BoolKeyword   = ops.BoolKw
	StringKeyword = ops.StrKw
	FloatKeyword  = ops.FloatKw
	DTypeKeyword  = ops.DTypeKw
)

func (k *Keyword) spec() ops.Kwarg {
	out := ops.Kwarg{Name: k.Name, Kind: k.Kind, Default: k.Default, Required: k.Required, Min: k.Min, Max: k.Max, Names: k.Names}
	if n, ok := k.Default.(int); ok { // what Default: 16 is
		out.Default = int64(n)
	}
	if n, ok := out.Default.(int64); ok && k.Kind == FloatKeyword {
		out.Default = float64(n)
	}
	return out
}

// Where says in which functions an op may stand: OnHost | InCore is both.
type Where = ops.Where

const (
	OnHost = ops.OnHost // orchestration functions
	InCore = ops.InCore // kernels
)

// Result says how the result of an op relates to storage: Scalar, Fresh, None, ViewOf(i), Updated(i).
type Result = ops.Result

// Results: a number, new storage, nothing.
var (
	Scalar = Result{Kind: ops.Value}
	Fresh  = Result{Kind: ops.Fresh}
	None   = Result{Kind: ops.None}
)

// ViewOf is a window of operand i: the same storage. Updated is operand i itself after the op wrote it, which Effects has to say too.
func ViewOf(i int) Result  { return Result{Kind: ops.View, Arg: i} }
func Updated(i int) Result { return Result{Kind: ops.InPlace, Arg: i} }

// Effect is what an op does to the storage of an operand. Dependencies, directions and fences are derived from it.
type Effect = ops.Effect

const (
	Read      = ops.Read
	Write     = ops.Write
	ReadWrite = ops.ReadWrite
	Untouched = ops.Untouched // only its shape matters
)

// Core is the kind of core that a kernel op needs: it may not stand in a kernel of the other kind.
type Core = ops.Core

const (
	AnyCore    = ops.AnyCore
	VectorCore = ops.VectorCore
	CubeCore   = ops.CubeCore
)

// Template is the C++ of a call: see Call.Lines.
type Template = template.Template

// Option is one option of [plugins.NAME.options].
type Option struct {
	Name     string
	Kind     OptionKind
	Doc      string // one line
	Required bool
	Choices  []string // of strings; nil: any
	Min, Max float64  // bounds of a number when they differ, both included
}

// OptionKind is the type of an option's value.
type OptionKind = plugins.OptionKind

// Kinds of options. Configure gets a string, float64 (for both numbers), bool or []any of strings.
const (
	StringOption  = plugins.StringOption
	IntOption     = plugins.IntOption
	FloatOption   = plugins.FloatOption
	BoolOption    = plugins.BoolOption
	StringsOption = plugins.StringsOption
)

// Grant is what a pass may do to a program.
type Grant struct {
	Functions []ir.FuncType // kinds of functions that it may change
	Add       bool          // it may add functions
	Remove    bool          // it may remove functions of these kinds
}

// Fusion claims that a kernel does what two others did one right after the other; ptobuild proves it again. See Context.Fused.
type Fusion struct {
	Kernel        string // the new kernel
	First, Second string // what it replaces
	// By parameter of First and Second: the parameter of Kernel that takes its place.
	FirstParams, SecondParams []int
}
