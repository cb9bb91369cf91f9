// Package plan is the second, small IR between the passes and C++: each Stmt is one C++ statement (or one fixed group of lines), every decision
// is already made, and every identifier is a *Name. codegen/orch prints a plan under an API profile; runtime/interp executes it. Neither asks a
// question about the program.
//
// The mission (document 000, design principle) demands a strict 1-to-1 mapping: what is not a Stmt here cannot appear in the C++.
package plan

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Name is one C++ identifier. Identity is the pointer; Text is chosen by the last lowering step (AssignNames), which sees all Names
// of a function at once.
type Name struct {
	Hint string    // what the text should be when it is free
	Text string    // the identifier, set by AssignNames
	Pos  diag.Span // the DSL variable it stands for, when there is one
}

// File is the plan of one orchestration function.
type File struct {
	Func    string
	Tensors []Tensor // entry tensors in ordinal order
	Scalars []Scalar // entry scalars in ordinal order
	Dims    []Dim    // dynamic-dim symbols that the body uses
	Body    []Stmt
	Kernels []Kernel // by func id
	// NeedsVector: a dynamic dependency vector is used (#include <vector>).
	NeedsVector bool
	Helpers     Helper // small functions that expressions of the body call
	Pos         diag.Span
}

// Helper is a set of small functions that C++ has no operator for; the printer defines those of a file ahead of it.
type Helper uint8

const (
	FloorDivHelper Helper = 1 << iota // integer division that rounds down
	FloorModHelper                    // its remainder, which has the sign of the divisor
	PowHelper                         // integer power
	AbsHelper                         // absolute value
	MathHelper                        // the C++ math functions (floor and power of floats)
)

// Tensor is one entry tensor: ordinal k is orch_args.tensor(k).
type Tensor struct {
	Name  *Name
	Param string      // DSL parameter name
	Dir   ir.ParamDir // declared direction
	DType ir.DType
	Shape []ir.Expr // declared extents, for the host side and the interpreter's checks
}

// Scalar is one entry scalar: ordinal i is orch_args.scalar(i).
type Scalar struct {
	Name  *Name
	Union *Name // the union that reinterprets the 64 bits, in profiles that unpack this way
	Param string
	DType ir.DType // NoDType: the 64 bits as they are (a communication context)
}

// Dim defines a dynamic-dim symbol from the first entry tensor that declares it.
type Dim struct {
	Name   *Name
	Tensor int // ordinal
	Axis   int
}

// Core is the kind of core a kernel runs on.
type Core uint8

const (
	AIC Core = iota // cube
	AIV             // vector
)

// String is the spelling in kernel tables.
func (c Core) String() string { return [...]string{"aic", "aiv"}[c] }

// Kernel is one entry of the function-id table.
type Kernel struct {
	ID        int
	Name      string // the function name in the kernel table
	Func      string // the IR function that holds the body (differs from Name for the parts of a mixed kernel)
	Core      Core
	Signature []ArgTag // tensors only, of the first call
	External  *ir.External
}

// ArgTag is how a tensor argument takes part in dependency tracking.
type ArgTag uint8

const (
	Input          ArgTag = iota
	OutputExisting        // add_output(Tensor)
	InOut
	NoDep
	Output // add_output(TensorCreateInfo): made by the runtime
)

// Expressions. All are pure except Read, Query and the view calls, which stand alone as the Init of a Decl or the Value of an Assign.
type Expr interface{ expr() }

type (
	// Ref is a variable.
	Ref struct{ Name *Name }
	// Int is an integer literal.
	Int struct {
		Value int64
		DType ir.DType
	}
	// Float is a float literal; it prints with the shortest text that reads back to the same value.
	Float struct {
		Value float64
		DType ir.DType
	}
	// Bool is a literal, printed 1 or 0.
	Bool struct{ Value bool }
	// Binary is (X op Y). FloorDiv and FloorMod on operands that may be negative are Floored.
	Binary struct {
		Op      ir.BinOp
		X, Y    Expr
		DType   ir.DType
		Floored bool
	}
	// Unary is (op X).
	Unary struct {
		Op    ir.UnOp
		X     Expr
		DType ir.DType
	}
	// Cast is static_cast<T>(X).
	Cast struct {
		X     Expr
		DType ir.DType
	}
	// Uint32 is static_cast<uint32_t>(X): an extent, offset or index.
	Uint32 struct{ X Expr }
	// Bits is the 64-bit pattern of a float scalar: to_u64(X).
	Bits struct{ X Expr }
	// Elem is Array[I].
	Elem struct {
		Array *Name
		I     Expr
	}
	// Extent is (int64_t)T.shapes[Axis] of a tensor variable.
	Extent struct {
		Tensor *Name
		Axis   int
	}
	// EntryExtent is (int64_t)orch_args.tensor(Ordinal).ref().shapes[Axis].
	EntryExtent struct{ Ordinal, Axis int }
	// InvalidTask is the task id that names no task.
	InvalidTask struct{}
	// IsValid is X.is_valid() of a task id.
	IsValid struct{ X Expr }
	// TaskIDOf is Outs.task_id() of a submit or alloc result.
	TaskIDOf struct{ Outs *Name }
	// OutRef is Outs.get_ref(I).
	OutRef struct {
		Outs *Name
		I    int
	}
	// Clamped is the extent of a window clamped to its source: offset >= extent → 0, else min(Size, extent − offset), where the offset is
	// Offsets[Axis] and the extent is that of Tensor.
	Clamped struct {
		Size    Expr
		Tensor  *Name
		Offsets *Name
		Axis    int
	}
	// View is Tensor.view(Shapes, Offsets).
	View struct{ Tensor, Shapes, Offsets *Name }
	// Reshape is Tensor.reshape(Shapes, N).
	Reshape struct {
		Tensor, Shapes *Name
		N              int
	}
	// Transpose is Tensor.transpose(A, B).
	Transpose struct {
		Tensor *Name
		A, B   int
	}
	// Read is get_tensor_data<T>(Tensor, N, Indices); Indices is nil for rank 0. It waits for the producers.
	Read struct {
		Tensor  *Name
		DType   ir.DType
		N       int
		Indices *Name
	}
	// Query is rt_available_cluster_count() or rt_available_aiv_count().
	Query struct{ AIV bool }
)

// CType is the type of a declared variable.
type CType struct {
	Kind  CKind
	DType ir.DType // Number
	Ref   bool     // const T&
}

// CKind tells the C++ types apart.
type CKind uint8

const (
	Number   CKind = iota // int64_t, float, …
	TensorT               // a tensor handle
	TaskT                 // a task id
	Uint32T               // uint32_t, for extent, offset and index arrays
	Int32T                // int32_t, for the counts that Query gives
	OutputsT              // the result of a submit or alloc
)

// Stmt is one statement. Span is the DSL place it comes from; it feeds the source map.
type Stmt interface {
	Span() diag.Span
	stmt()
}

// At is embedded by every statement.
type At struct{ Pos diag.Span }

// Span returns the DSL place.
func (a At) Span() diag.Span { return a.Pos }

func (At) stmt() {}

type (
	// Scope is PTO2_SCOPE() { … } or its MANUAL form.
	Scope struct {
		At
		Manual bool
		Body   []Stmt
	}
	// Braces is a bare { … } that bounds names.
	Braces struct {
		At
		Body []Stmt
	}
	// For is for (int64_t Var = Start; test; Var += Step). Down: the test is Var > Stop. A Step whose sign is not known at compile time gets
	// a two-sided test (Signed).
	For struct {
		At
		Var               *Name
		Start, Stop, Step Expr
		Down, Signed      bool
		Never             bool // Step is the literal 0: the test is false
		Parallel          bool // the trips are independent (for reports; prints alike)
		Body              []Stmt
	}
	// While is while (Cond) { … }.
	While struct {
		At
		Cond Expr
		Body []Stmt
	}
	// If is if (Cond) { … } [else { … }].
	If struct {
		At
		Cond       Expr
		Then, Else []Stmt
	}
	// Decl declares and initialises a variable.
	Decl struct {
		At
		Name *Name
		Type CType
		Init Expr
	}
	// Assign is Dst = Value.
	Assign struct {
		At
		Dst   *Name
		Value Expr
	}
	// DeclArray is T Name[len(Elems)] = {Elems…}.
	DeclArray struct {
		At
		Name  *Name
		Type  CType
		Elems []Expr
	}
	// DeclSlots is T Name[N] filled with Fill (one line), or zero-initialised when Fill is nil.
	DeclSlots struct {
		At
		Name *Name
		Type CType
		N    int64
		Fill Expr
	}
	// CopySlots is the slot-by-slot copy Dst[i] = Src[i] for i < N.
	CopySlots struct {
		At
		Dst, Src *Name
		N        int64
	}
	// DeclIDs declares a growing list of task ids.
	DeclIDs struct {
		At
		Name *Name
	}
	// AppendID adds ID to a list. Guarded: only when it is valid.
	AppendID struct {
		At
		IDs     *Name
		ID      Expr
		Guarded bool
	}
	// SetElem is Array[I] = Value.
	SetElem struct {
		At
		Array *Name
		I     Expr
		Value Expr
	}
	// Create declares a TensorCreateInfo: its shape array, the info, and the initial value.
	Create struct {
		At
		First        bool // the first one of an alloc batch
		Outlives     bool // First: the batch stands outside of the scope that the program makes the buffers in
		Info, Shapes *Name
		Dims         []Expr
		DType        ir.DType
		ManualDep    bool
		Init         Expr // nil: uninitialised
	}
	// Alloc is TaskOutputTensors Outs = alloc_tensors(Infos…); and a const Tensor& per info.
	Alloc struct {
		At
		Outs  *Name
		Infos []*Name
		Refs  []*Name
	}
	// Write is { uint32_t Indices[n] = {Index…}; set_tensor_data<T>(Tensor, n, Indices, Value); }.
	Write struct {
		At
		Tensor  *Name
		DType   ir.DType
		Indices *Name
		Index   []Expr
		Value   Expr
	}
	// Task builds the arguments of one task and submits it.
	Task struct {
		At
		Ordinal int // N of params_tN, in print order, dummies excluded
		Comment string
		Kind    TaskKind
		Kernels [3]int // func ids: direct tasks use [0]; mixed ones AIC, AIV0, AIV1 with -1 for none
		Mixed   *Name  // the MixedKernels variable of a mixed task
		Params  *Name
		Args    []Arg
		Scalars []Expr
		Dump    []Expr // tensor Refs
		Deps    *Deps  // nil: none
		// DepsLast: the dependency block comes after launch spec, early and predicate (wrappers), not before (direct kernels).
		DepsLast     bool
		BlockNum     Expr // nil: one block
		SyncStart    bool
		EarlyResolve bool
		TimingSlot   *int64
		Pred         *Predicate
		Outs         *Name // nil: the result is not bound
		// Name of the kernel as the user knows it, for reports.
		Label string
	}
	// Dummy submits a dependency-only task and binds its id. Guarded: only when a dependency is valid, else the id stays invalid. Gathered, when set, is the
	// list of ids that it waits for, in place of Deps.
	Dummy struct {
		At
		Ordinal  int // K of params_phase_fence_barrier_K
		Params   *Name
		Deps     *Deps
		Gathered *Name
		Guarded  bool
		Outs     *Name
		ID       *Name
	}
)

// TaskKind is how a task is submitted.
type TaskKind uint8

const (
	SubmitAIC TaskKind = iota
	SubmitAIV
	SubmitMixed
)

// Arg is one tensor argument: Tensor, or for Output the create-info Info.
type Arg struct {
	Tag    ArgTag
	Tensor *Name
	Info   *Name
}

// Deps is the dependency array of a task: exactly len(Entries) slots and one set_dependencies.
type Deps struct {
	Array, Count *Name
	Entries      []Dep
}

// Dep is one entry; Guarded entries are added only when valid (document 000, "TaskId sourcing").
type Dep struct {
	ID       Expr
	Guarded  bool
	Compiler bool  // derived by AutoDeriveTaskDependencies
	Alloc    bool  // keeps a buffer of a MANUAL scope alive
	Keeps    *Name // Alloc: a tensor in that buffer
	Pos      diag.Span
}

// Predicate is the dispatch predicate Tensor[Index] Op Target.
type Predicate struct {
	Name   *Name
	Tensor *Name
	Index  []Expr
	Op     ir.BinOp
	Target int64
}

func (*Ref) expr()         {}
func (*Int) expr()         {}
func (*Float) expr()       {}
func (*Bool) expr()        {}
func (*Binary) expr()      {}
func (*Unary) expr()       {}
func (*Cast) expr()        {}
func (*Uint32) expr()      {}
func (*Bits) expr()        {}
func (*Elem) expr()        {}
func (*Extent) expr()      {}
func (*EntryExtent) expr() {}
func (*InvalidTask) expr() {}
func (*IsValid) expr()     {}
func (*TaskIDOf) expr()    {}
func (*OutRef) expr()      {}
func (*Clamped) expr()     {}
func (*View) expr()        {}
func (*Reshape) expr()     {}
func (*Transpose) expr()   {}
func (*Read) expr()        {}
func (*Query) expr()       {}
