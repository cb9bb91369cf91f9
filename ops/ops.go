// Package ops is the registry of operations: for each op a Spec, which says what its operands and result are, how they share storage, where the op may
// stand, what type it gives and, for host ops, which plan statements it becomes. Passes, checks and the simulator read specs; none of
// them knows an op by name where a spec can tell. Plugins add specs through the same type.
//
// One file per family holds the built-in specs of tensors and tiles (create.go, elementwise.go, reduce.go, …) and their result rules; rules.go has the shared
// ones. names.go maps what users write (pl.add) to ops (tile.adds), call.go checks and builds a call, emit.go makes plan statements.
package ops

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Spec describes one op.
type Spec struct {
	Name   string // "tensor.create"; the part before the first dot is the namespace
	Doc    string // one line
	Params []Param
	Kwargs []Kwarg
	Where  Where
	Result Result
	// Effects says per operand what happens to its storage; missing entries are Read.
	Effects []Effect
	Core    Core
	// Pure ops may be folded, moved and removed when unused.
	Pure bool
	// ResultMem is the memory space of a tile result: a fixed space, or "" (see ResultMemFrom).
	ResultMem ir.Mem
	// ResultMemFrom: where a tile result's memory space comes from when it is not fixed.
	ResultMemFrom MemFrom

	// Infer gives the result type from operands and keyword arguments that already passed the checks of Params and Kwargs.
	Infer func(*Site) (ir.Type, *diag.Diagnostic)
	// Emit gives the plan statements of a host op; nil for ops that may not stand in an orchestration function.
	Emit func(*EmitSite) ([]plan.Stmt, *diag.Diagnostic)
	// EmitAhead is told of calls that Emit will be asked for, and whether their result has a name, before the first of a function is: a plugin is then asked about all
	// in one message. nil: there is nothing to gain.
	EmitAhead func(call *ir.OpCall, bound bool)
	// Verify reports about the calls of one function once all types are known; nil: nothing to check beyond Infer.
	Verify func(f *ir.Function, calls []*ir.OpCall) diag.List
	// Evaluate computes a call in a kernel on the simulator, for ops that the evaluator does not know itself. It may be called from several goroutines.
	Evaluate func(*Evaluation) *diag.Diagnostic
}

// Where says in which functions an op may stand.
type Where uint8

const (
	OnHost Where = 1 << iota // orchestration bodies
	InCore                   // kernels and in-core scopes
)

// Param is one positional operand.
type Param struct {
	Name     string
	Kind     ParamKind
	Mem      []ir.Mem // tile operands: the memory spaces it may live in; nil: any
	Optional bool
	Variadic bool
	// Window says which part of a tensor or tile the op touches; the zero Window: any of it. Other elements count as neither read nor written, whatever
	// Effects says.
	Window Window
}

// Window is the part of an operand that begins at a list operand, one index per axis. Its extents are those of a list operand, the valid extents of a
// tensor or tile operand, or those of the result; it may have fewer axes than the operand, then it has one element along the first ones.
type Window struct {
	At      string // names a list operand
	Extents string // names an operand, or ResultExtents
}

// ResultExtents: a window as large as the result.
const ResultExtents = "$result"

// Param gives the index of an operand by name, -1 when there is none.
func (s *Spec) Param(name string) int {
	return slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
}

// ParamKind is what an operand may be. Kinds combine.
type ParamKind uint16

const (
	TensorArg ParamKind = 1 << iota
	TileArg
	ScalarArg
	ArrayArg
	TupleArg // a list of index expressions: [i, j]
	TaskArg  // a TaskId
	EnumArg  // a symbolic constant (pl.Mem.Vec)
	OtherArg // anything else that the core only carries
)

// Kwarg is one keyword argument.
type Kwarg struct {
	Name     string
	Kind     KwargKind
	Enum     string   // EnumKw: the Enum kind, e.g. "Mem"
	Names    []string // EnumKw and ModeKw: the accepted names; IntKw: the names of its values from 0; StrKw: the accepted strings, nil for any
	Default  any      // nil: absent when not given
	Required bool
	// Min and Max bound an IntKw or FloatKw when they differ.
	Min, Max int64
}

// KwargKind is the type of a keyword argument.
type KwargKind uint8

const (
	IntKw KwargKind = iota
	BoolKw
	StrKw
	FloatKw
	DTypeKw
	EnumKw
	ModeKw // a string out of Names, or an int index into them
	ExprKw
	PadKw  // a pl.PadValue, or 0, inf, -inf for zero, max, min
	DepsKw // a list of TaskIds or TaskId arrays; it becomes OpCall.Deps
)

// Effect is what an op does to an operand's storage.
type Effect uint8

const (
	Read Effect = iota
	Write
	ReadWrite
	Untouched // shape or metadata only
)

// Result says how the result relates to storage.
type Result struct {
	Kind ResultKind
	Arg  int // View, InPlace: the operand
}

// ResultKind tells the results apart.
type ResultKind uint8

const (
	Value   ResultKind = iota // a scalar, id, array element: no storage
	Fresh                     // new storage
	View                      // a window of operand Arg: same storage, its own region
	InPlace                   // operand Arg itself, updated
	None                      // no result
)

// Core is the kind of core that an in-core op needs.
type Core uint8

const (
	AnyCore Core = iota
	VectorCore
	CubeCore
)

// MemFrom says where a tile result's memory space comes from.
type MemFrom uint8

const (
	MemFixed   MemFrom = iota // ResultMem
	MemInherit                // operand 0
	MemKwarg                  // keyword target_memory
)

// Site is one use of an op, given to Infer.
type Site struct {
	Spec   *Spec
	Args   []ir.Expr
	Kwargs ir.Kwargs
	Pos    diag.Span
	// Lenient accepts what cannot be checked statically (dump reading).
	Lenient bool
}

// EmitSite is one use of a host op, given to Emit. Operands are already plan values; the core owns all names.
type EmitSite struct {
	Call   *ir.OpCall
	Args   []plan.Expr   // scalars as values, tensors and arrays as *plan.Ref, lists as nil (see Lists)
	Lists  [][]plan.Expr // the elements of list operands, by operand
	Result *plan.Name    // nil for an op without result
	// Local makes a helper variable named after the result (or the first operand) with an affix: Local("_shapes") is a suffix, Local("indices_")
	// a prefix.
	Local func(suffix string) *plan.Name
	// EntryTensor gives the ordinal when operand i is an entry tensor.
	EntryTensor func(i int) (int, bool)
}

// Registry is an immutable set of specs.
type Registry struct {
	byName   map[string]*Spec
	sorted   []*Spec
	verifies bool
	ahead    bool
	missing  map[string]*diag.Diagnostic // namespaces that cannot be used, and why
}

// NewRegistry makes a registry; of two specs of one name the later one counts.
func NewRegistry(specs ...*Spec) *Registry {
	r := &Registry{byName: make(map[string]*Spec, len(specs))}
	for _, s := range specs {
		r.byName[s.Name] = s
	}
	for _, s := range r.byName {
		r.sorted = append(r.sorted, s)
		r.verifies = r.verifies || s.Verify != nil
		r.ahead = r.ahead || s.EmitAhead != nil
	}
	slices.SortFunc(r.sorted, func(a, b *Spec) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// Lookup returns the spec of an op, nil when unknown.
func (r *Registry) Lookup(name string) *Spec { return r.byName[name] }

// All returns every spec by name.
func (r *Registry) All() []*Spec { return r.sorted }

// Verifies reports that some op has a Verify.
func (r *Registry) Verifies() bool { return r.verifies }

// EmitsAhead reports that some op has an EmitAhead.
func (r *Registry) EmitsAhead() bool { return r.ahead }

// With returns r extended by more specs.
func (r *Registry) With(specs ...*Spec) *Registry {
	n := NewRegistry(append(slices.Clone(r.sorted), specs...)...)
	n.missing = r.missing
	return n
}

// Without returns r with a namespace whose ops cannot be used: uses are reported with the reason, at its place when it has one.
func (r *Registry) Without(namespace string, why *diag.Diagnostic) *Registry {
	n := *r
	n.missing = maps.Clone(r.missing)
	if n.missing == nil {
		n.missing = map[string]*diag.Diagnostic{}
	}
	n.missing[namespace] = why
	return &n
}

// EffectOn is the effect on operand i.
func (s *Spec) EffectOn(i int) Effect {
	if i < len(s.Effects) {
		return s.Effects[i]
	}
	return Read
}

// EffectIn is the effect on operand i in one call: an atomic write also reads.
func (s *Spec) EffectIn(c *ir.OpCall, i int) Effect {
	e := s.EffectOn(i)
	if e == Write && IsAtomic(c) {
		return ReadWrite
	}
	return e
}

// IsAtomic reports a store or assemble that adds to what is there.
func IsAtomic(c *ir.OpCall) bool {
	v, _ := c.Kwargs.Get("atomic")
	e, _ := v.(ir.Enum)
	return e.Name == "Add"
}

// Plugin is the plugin that an op is one of, "" for a built-in op.
func (s *Spec) Plugin() string {
	if Builtin().Lookup(s.Name) != nil {
		return ""
	}
	ns, _ := splitName(s.Name)
	return ns
}

// IsHost reports an op that may stand in an orchestration body.
func (s *Spec) IsHost() bool { return s.Where&OnHost != 0 }
