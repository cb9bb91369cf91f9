package proto

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
)

const (
	PluginName = "ptobuild" // under which go-plugin knows the services

	// IRVersion is the version of the wire form of the IR.
	IRVersion = 1
	// MaxMessage bounds messages: the wire form allows 64 MB.
	MaxMessage = 80 << 20
)

var (
	kinds = []ops.ParamKind{Param_TENSOR: ops.TensorArg, Param_TILE: ops.TileArg, Param_SCALAR: ops.ScalarArg, Param_ARRAY: ops.ArrayArg, Param_TUPLE: ops.TupleArg,
		Param_TASK: ops.TaskArg, Param_OTHER: ops.OtherArg}
	keywords = []ops.KwargKind{Keyword_INT: ops.IntKw, Keyword_BOOL: ops.BoolKw, Keyword_STRING: ops.StrKw, Keyword_FLOAT: ops.FloatKw, Keyword_DTYPE: ops.DTypeKw,
		Keyword_ENUM: ops.EnumKw, Keyword_MODE: ops.ModeKw, Keyword_EXPR: ops.ExprKw, Keyword_PAD: ops.PadKw, Keyword_DEPS: ops.DepsKw}
	effects = []ops.Effect{OpSpec_READ: ops.Read, OpSpec_WRITE: ops.Write, OpSpec_READ_WRITE: ops.ReadWrite, OpSpec_UNTOUCHED: ops.Untouched}
	results = []ops.ResultKind{OpSpec_VALUE: ops.Value, OpSpec_FRESH: ops.Fresh, OpSpec_VIEW: ops.View, OpSpec_IN_PLACE: ops.InPlace, OpSpec_NONE: ops.None}
	cores   = []ops.Core{OpSpec_ANY: ops.AnyCore, OpSpec_VECTOR: ops.VectorCore, OpSpec_CUBE: ops.CubeCore}
	memFrom = []ops.MemFrom{OpSpec_FIXED: ops.MemFixed, OpSpec_INHERIT: ops.MemInherit, OpSpec_KEYWORD: ops.MemKwarg}
	mems    = []ir.Mem{ir.DDR, ir.Vec, ir.Mat, ir.Left, ir.Right, ir.Acc, ir.Bias, ir.LeftScale, ir.RightScale, ir.ScalarMem}

	severities = []diag.Severity{Diagnostic_ERROR: diag.Error, Diagnostic_WARNING: diag.Warning, Diagnostic_NOTE: diag.Note}
)

// to finds the protocol's number of a core value; from is the inverse and refuses numbers that it does not know.
func to[E ~int32, T comparable](table []T, v T) E { return E(slices.Index(table, v)) }

func from[T any, E ~int32](what string, table []T, e E, err *error) T {
	if e < 0 || int(e) >= len(table) {
		if *err == nil {
			*err = fmt.Errorf("%s %d is not known to this version", what, e)
		}
		var zero T
		return zero
	}
	return table[e]
}

// FromSpec turns a spec into its message. can says which questions about it the plugin answers.
func FromSpec(s *ops.Spec, can plugins.Can) (*OpSpec, error) {
	m := &OpSpec{Name: s.Name, Doc: s.Doc, OnHost: s.Where&ops.OnHost != 0, InCore: s.Where&ops.InCore != 0, Result: to[OpSpec_Result](results, s.Result.Kind),
		ResultOperand: uint32(s.Result.Arg), Core: to[OpSpec_Core](cores, s.Core), Pure: s.Pure, ResultMem: string(s.ResultMem),
		ResultMemFrom: to[OpSpec_ResultMemFrom](memFrom, s.ResultMemFrom),
		Infers:        can.Infer, Verifies: can.Verify, Emits: can.Emit, Evaluates: can.Evaluate}
	for _, e := range s.Effects {
		m.Effects = append(m.Effects, to[OpSpec_Effect](effects, e))
	}
	for _, p := range s.Params {
		x := &Param{Name: p.Name, Optional: p.Optional, Variadic: p.Variadic, WindowAt: p.Window.At, WindowExtents: p.Window.Extents}
		for i, k := range kinds {
			if p.Kind&k != 0 {
				x.Kinds = append(x.Kinds, Param_Kind(i))
			}
		}
		for _, mem := range p.Mem {
			x.Mem = append(x.Mem, string(mem))
		}
		m.Params = append(m.Params, x)
	}
	for _, k := range s.Kwargs {
		def, err := fromValue(k.Default)
		if err != nil {
			return nil, fmt.Errorf("op %s: keyword argument %q: %w", s.Name, k.Name, err)
		}
		m.Keywords = append(m.Keywords, &Keyword{Name: k.Name, Kind: to[Keyword_Kind](keywords, k.Kind), EnumKind: k.Enum, Names: k.Names, Default: def,
			Required: k.Required, Min: k.Min, Max: k.Max})
	}
	return m, nil
}

// Spec is the spec that a message describes, without functions.
func (m *OpSpec) Spec() (*ops.Spec, error) {
	var err error
	s := &ops.Spec{Name: m.Name, Doc: m.Doc, Result: ops.Result{Kind: from("result", results, m.Result, &err), Arg: int(m.ResultOperand)},
		Core: from("core", cores, m.Core, &err), Pure: m.Pure, ResultMem: mem(m.ResultMem, &err),
		ResultMemFrom: from("result_mem_from", memFrom, m.ResultMemFrom, &err)}
	if m.OnHost {
		s.Where |= ops.OnHost
	}
	if m.InCore {
		s.Where |= ops.InCore
	}
	for _, e := range m.Effects {
		s.Effects = append(s.Effects, from("effect", effects, e, &err))
	}
	for _, p := range m.Params {
		x := ops.Param{Name: p.Name, Optional: p.Optional, Variadic: p.Variadic, Window: ops.Window{At: p.WindowAt, Extents: p.WindowExtents}}
		for _, k := range p.Kinds {
			x.Kind |= from("kind of operand", kinds, k, &err)
		}
		for _, name := range p.Mem {
			x.Mem = append(x.Mem, mem(name, &err))
		}
		s.Params = append(s.Params, x)
	}
	for _, k := range m.Keywords {
		x := ops.Kwarg{Name: k.Name, Kind: from("kind of keyword argument", keywords, k.Kind, &err), Enum: k.EnumKind, Names: k.Names,
			Default: k.Default.value(&err), Required: k.Required, Min: k.Min, Max: k.Max}
		if n, ok := x.Default.(int64); ok && x.Kind == ops.FloatKw {
			x.Default = float64(n)
		}
		s.Kwargs = append(s.Kwargs, x)
	}
	if err != nil {
		return nil, fmt.Errorf("op %q: %w", m.Name, err)
	}
	return s, nil
}

// Can says which questions about the op the plugin answers.
func (m *OpSpec) Can() plugins.Can {
	return plugins.Can{Infer: m.Infers, Verify: m.Verifies, Emit: m.Emits, Evaluate: m.Evaluates}
}

func mem(name string, err *error) ir.Mem {
	m := ir.Mem(name)
	if name != "" && !slices.Contains(mems, m) && *err == nil {
		*err = fmt.Errorf("%q is no memory space", name)
	}
	return m
}

func fromValue(v any) (*Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case int64:
		return &Value{Value: &Value_Int{v}}, nil
	case bool:
		return &Value{Value: &Value_Bool{v}}, nil
	case string:
		return &Value{Value: &Value_String_{v}}, nil
	case float64:
		return &Value{Value: &Value_Float{v}}, nil
	case ir.DType:
		return &Value{Value: &Value_Dtype{v.Name()}}, nil
	case ir.Enum:
		return &Value{Value: &Value_Enum_{&Value_Enum{Kind: v.Kind, Name: v.Name}}}, nil
	}
	return nil, fmt.Errorf("a default cannot be a %T: use int64, bool, string, float64, ir.DType or ir.Enum", v)
}

func (m *Value) value(err *error) any {
	if m == nil {
		return nil
	}
	switch v := m.Value.(type) {
	case *Value_Int:
		return v.Int
	case *Value_Bool:
		return v.Bool
	case *Value_String_:
		return v.String_
	case *Value_Float:
		return v.Float
	case *Value_Dtype:
		if d, ok := ir.DTypeNamed(v.Dtype); ok {
			return d
		}
		if *err == nil {
			*err = fmt.Errorf("%q is no dtype", v.Dtype)
		}
		return nil
	case *Value_Enum_:
		return ir.Enum{Kind: v.Enum.GetKind(), Name: v.Enum.GetName()}
	}
	if *err == nil {
		*err = fmt.Errorf("a default of a kind that is not known to this version")
	}
	return nil
}

// FromPass turns the data of a pass into its message.
func FromPass(p plugins.Pass) *PassDesc {
	return &PassDesc{Grant: fromGrant(p.Grant), Name: p.Name, Doc: p.Doc, Requires: names(p.Requires), Produces: names(p.Produces), Invalidates: names(p.Invalidates), After: p.After, Before: p.Before}
}

// Pass is the pass that a message describes, without its function.
func (m *PassDesc) Pass() (plugins.Pass, error) {
	g, err := m.Grant.grant()
	return plugins.Pass{After: m.After, Before: m.Before, Grant: g, Pass: &passes.Pass{Name: m.Name, Doc: m.Doc, Requires: properties(m.Requires),
		Produces: properties(m.Produces), Invalidates: properties(m.Invalidates)}}, err
}

// functionTypes are all, by their names.
var functionTypes = func() map[string]ir.FuncType {
	m := map[string]ir.FuncType{}
	for t := ir.Opaque; t <= ir.Graph; t++ {
		m[t.String()] = t
	}
	return m
}()

func fromGrant(g *plugins.Grant) *Grant {
	if g == nil {
		return nil
	}
	m := &Grant{Add: g.Add, Remove: g.Remove}
	for _, t := range g.Functions {
		m.Functions = append(m.Functions, t.String())
	}
	return m
}

func (m *Grant) grant() (*plugins.Grant, error) {
	if m == nil {
		return nil, nil
	}
	g := &plugins.Grant{Add: m.Add, Remove: m.Remove}
	for _, name := range m.Functions {
		t, ok := functionTypes[name]
		if !ok {
			return nil, fmt.Errorf("%q is no type of function", name)
		}
		g.Functions = append(g.Functions, t)
	}
	return g, nil
}

// FromFusions and Fusions convert the claims of a pass.
func FromFusions(fs []passes.Fusion) []*Fusion {
	var out []*Fusion
	for _, f := range fs {
		out = append(out, &Fusion{Kernel: f.Kernel, First: f.First, Second: f.Second, FirstParams: numbers[uint32](f.FirstParams), SecondParams: numbers[uint32](f.SecondParams)})
	}
	return out
}

func Fusions(ms []*Fusion) []passes.Fusion {
	var out []passes.Fusion
	for _, m := range ms {
		out = append(out, passes.Fusion{Kernel: m.Kernel, First: m.First, Second: m.Second, FirstParams: numbers[int](m.FirstParams), SecondParams: numbers[int](m.SecondParams)})
	}
	return out
}

func numbers[T, F int | int64 | uint32](list []F) []T {
	var out []T
	for _, x := range list {
		out = append(out, T(x))
	}
	return out
}

func names(ps []ir.Property) []string {
	var out []string
	for _, p := range ps {
		out = append(out, string(p))
	}
	return out
}

func properties(names []string) []ir.Property {
	var out []ir.Property
	for _, n := range names {
		out = append(out, ir.Property(n))
	}
	return out
}

// FromOptions and PassOptions.Options convert the options of passes.
func FromOptions(o passes.Options) *PassOptions {
	return &PassOptions{AutoDeps: o.AutoDeps, NoManualAllocDeps: o.NoManualAllocDeps, StoreTargetInOut: o.StoreTargetInOut}
}

func (m *PassOptions) Options() passes.Options {
	return passes.Options{AutoDeps: m.GetAutoDeps(), NoManualAllocDeps: m.GetNoManualAllocDeps(), StoreTargetInOut: m.GetStoreTargetInOut()}
}

// FromSpan and Span.Span convert places.
func FromSpan(s diag.Span) *Span {
	if s == (diag.Span{}) {
		return nil
	}
	return &Span{File: s.File, Line: s.Line, Column: s.Col, EndLine: s.EndLine, EndColumn: s.EndCol}
}

func (m *Span) Span() diag.Span {
	return diag.Span{File: m.GetFile(), Line: m.GetLine(), Col: m.GetColumn(), EndLine: m.GetEndLine(), EndCol: m.GetEndColumn()}
}

// FromDiag turns a report into its message.
func FromDiag(d *diag.Diagnostic) *Diagnostic {
	m := &Diagnostic{Severity: to[Diagnostic_Severity](severities, d.Severity), Code: string(d.Code), Span: FromSpan(d.Span), Message: d.Message, Hint: d.Hint}
	for _, r := range d.Related {
		m.Related = append(m.Related, &Diagnostic_Related{Span: FromSpan(r.Span), Message: r.Message})
	}
	return m
}

// FromDiags turns reports into messages.
func FromDiags(ds diag.List) []*Diagnostic {
	var out []*Diagnostic
	for _, d := range ds {
		out = append(out, FromDiag(d))
	}
	return out
}

// Diag is the report of a message. An unknown severity counts as an error; a report without a code gets CodeReport.
func (m *Diagnostic) Diag() *diag.Diagnostic {
	var ignored error
	d := &diag.Diagnostic{Severity: from("severity", severities, m.GetSeverity(), &ignored), Code: plugins.ReportCode(m.GetCode()), Span: m.GetSpan().Span(),
		Message: m.GetMessage(), Hint: m.GetHint()}
	for _, r := range m.GetRelated() {
		d.WithRelated(r.GetSpan().Span(), "%s", r.GetMessage())
	}
	return d
}

// Diags are the reports of messages.
func Diags(ms []*Diagnostic) diag.List {
	var out diag.List
	for _, m := range ms {
		out.Add(m.Diag())
	}
	return out
}
