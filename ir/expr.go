package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Expr is a value. Expressions are immutable after construction; a pass that changes one builds a new one.
type Expr interface {
	Type() Type
	Span() diag.Span
	expr()
}

// Var is a named value. Its identity is the pointer: two Vars may share a Hint, and before SSA one Var may be assigned many times.
// Every map in passes and lowering is keyed by *Var, never by name.
type Var struct {
	Hint string // the user's name or a generated one (base__role_vN, see names.go); only printers look at it
	Typ  Type
	Pos  diag.Span
	Dyn  bool // a pl.dynamic symbol: the runtime extent of a tensor axis that declares it
}

type (
	// ConstInt is an integer literal of a scalar dtype (INDEX by default).
	ConstInt struct {
		Value int64
		DType DType
		Pos   diag.Span
	}
	// ConstFloat is a float literal (FP32 by default).
	ConstFloat struct {
		Value float64
		DType DType
		Pos   diag.Span
	}
	// ConstBool is True or False.
	ConstBool struct {
		Value bool
		Pos   diag.Span
	}
	// Binary is X Op Y. DType is the result's: BOOL for comparisons and logic.
	Binary struct {
		Op    BinOp
		X, Y  Expr
		DType DType
		Pos   diag.Span
	}
	// Unary is Op X.
	Unary struct {
		Op    UnOp
		X     Expr
		DType DType
		Pos   diag.Span
	}
	// Cast converts a scalar.
	Cast struct {
		X     Expr
		DType DType
		Pos   diag.Span
	}
	// MakeTuple builds a tuple; it is also the form of list operands ([i, j]) of ops.
	MakeTuple struct {
		Elems []Expr
		Pos   diag.Span
	}
	// TupleGet is element Index of a tuple value.
	TupleGet struct {
		X     Expr
		Index int
		Pos   diag.Span
	}
	// OpCall applies an op of the registry ("tensor.create", "tile.add", "system.task_dummy", "acme.rope").
	OpCall struct {
		Op     string
		Args   []Expr
		Kwargs Kwargs
		Deps   []Expr // system.task_dummy only: its fan-in (TaskId scalars or arrays)
		Typ    Type
		Attrs  Attrs
		Pos    diag.Span
	}
	// Call launches or calls a function of the program. With Submit set its type is the flat tuple [results…, TASK_ID]
	// (mission document 004) and Args may be a prefix of the callee's parameters: the missing ones are Out and runtime-allocated.
	Call struct {
		Callee string
		Args   []Expr
		Submit bool
		Launch Launch
		NoDep  []int    // argument indices wrapped in pl.no_dep
		Dirs   []ArgDir // per argument, nil until DeriveCallDirections
		// CompilerDeps are dependency edges derived by AutoDeriveTaskDependencies; the user's are in Launch.Deps.
		CompilerDeps []*Var
		Device       Expr // host → chip dispatch
		Typ          Type
		Attrs        Attrs
		Pos          diag.Span
	}
)

// Launch is how a task is launched: written on a submit, or on the scope that will become one.
type Launch struct {
	Deps         []Expr // TaskId scalars, TaskId arrays; a literal None is not kept
	CoreNum      Expr   // nil: a single block
	SyncStart    bool
	EarlyResolve bool
	Predicate    Expr   // Binary comparison of a tensor.read with an integer literal; never executed in statement position
	TimingSlot   *int64 // 0..15
	Dumps        []Expr // argument Vars whose contents are dumped
}

// IsZero reports that nothing was asked for.
func (l *Launch) IsZero() bool {
	return len(l.Deps) == 0 && l.CoreNum == nil && !l.SyncStart && !l.EarlyResolve && l.Predicate == nil && l.TimingSlot == nil && len(l.Dumps) == 0
}

// ArgDir is the direction of one argument at a call site.
type ArgDir uint8

const (
	DirInput ArgDir = iota
	DirOutput
	DirInOut
	DirOutputExisting
	DirNoDep
	DirScalar
)

// String is the DSL spelling after pl.adir.
func (d ArgDir) String() string {
	return [...]string{"input", "output", "inout", "output_existing", "no_dep", "scalar"}[d]
}

// BinOp is a binary operator.
type BinOp uint8

const (
	Add BinOp = iota
	Sub
	Mul
	FloorDiv
	FloorMod
	FloatDiv
	Min
	Max
	Pow
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	And
	Or
	Xor
	BitAnd
	BitOr
	BitXor
	Shl
	Shr
)

// String is the Python spelling; Min and Max are calls, Xor has none.
func (o BinOp) String() string {
	return [...]string{"+", "-", "*", "//", "%", "/", "min", "max", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or", "xor", "&", "|", "^", "<<", ">>"}[o]
}

// IsCompare reports == != < <= > >=.
func (o BinOp) IsCompare() bool { return o >= Eq && o <= Ge }

// IsLogic reports and, or, xor.
func (o BinOp) IsLogic() bool { return o >= And && o <= Xor }

// UnOp is a unary operator.
type UnOp uint8

const (
	Neg UnOp = iota
	Not
	BitNot
	Abs
)

// String is the Python spelling.
func (o UnOp) String() string { return [...]string{"-", "not", "~", "abs"}[o] }

// Kwarg is a keyword argument of an op. Value is one of int64, bool, string, float64, DType, Enum, Expr, []Expr.
type Kwarg struct {
	Name  string
	Value any
}

// Kwargs keeps keyword arguments in their canonical order.
type Kwargs []Kwarg

// Get returns the value of a keyword argument.
func (k Kwargs) Get(name string) (any, bool) {
	for _, a := range k {
		if a.Name == name {
			return a.Value, true
		}
	}
	return nil, false
}

// Enum is a symbolic constant of the DSL: {"Mem", "Vec"} is pl.Mem.Vec.
type Enum struct{ Kind, Name string }

// Attr is an attribute that the core only carries. Value is one of int64, bool, string, float64, DType, Enum, Expr, []Expr, []int64, []string.
type Attr struct {
	Key   string
	Value any
}

// Attrs keeps attributes in the order they were written.
type Attrs []Attr

// Get returns the value of an attribute.
func (a Attrs) Get(key string) (any, bool) {
	for _, x := range a {
		if x.Key == key {
			return x.Value, true
		}
	}
	return nil, false
}

func (v *Var) Type() Type        { return v.Typ }
func (e *ConstInt) Type() Type   { return Scalar(e.DType) }
func (e *ConstFloat) Type() Type { return Scalar(e.DType) }
func (e *ConstBool) Type() Type  { return BoolType }
func (e *Binary) Type() Type     { return Scalar(e.DType) }
func (e *Unary) Type() Type      { return Scalar(e.DType) }
func (e *Cast) Type() Type       { return Scalar(e.DType) }
func (e *OpCall) Type() Type     { return e.Typ }
func (e *Call) Type() Type       { return e.Typ }
func (e *MakeTuple) Type() Type {
	t := &TupleType{Elems: make([]Type, len(e.Elems))}
	for i, x := range e.Elems {
		t.Elems[i] = x.Type()
	}
	return t
}
func (e *TupleGet) Type() Type {
	if t, ok := e.X.Type().(*TupleType); ok && e.Index >= 0 && e.Index < len(t.Elems) {
		return t.Elems[e.Index]
	}
	return Unknown
}

func (v *Var) Span() diag.Span        { return v.Pos }
func (e *ConstInt) Span() diag.Span   { return e.Pos }
func (e *ConstFloat) Span() diag.Span { return e.Pos }
func (e *ConstBool) Span() diag.Span  { return e.Pos }
func (e *Binary) Span() diag.Span     { return e.Pos }
func (e *Unary) Span() diag.Span      { return e.Pos }
func (e *Cast) Span() diag.Span       { return e.Pos }
func (e *MakeTuple) Span() diag.Span  { return e.Pos }
func (e *TupleGet) Span() diag.Span   { return e.Pos }
func (e *OpCall) Span() diag.Span     { return e.Pos }
func (e *Call) Span() diag.Span       { return e.Pos }

func (*Var) expr()        {}
func (*ConstInt) expr()   {}
func (*ConstFloat) expr() {}
func (*ConstBool) expr()  {}
func (*Binary) expr()     {}
func (*Unary) expr()      {}
func (*Cast) expr()       {}
func (*MakeTuple) expr()  {}
func (*TupleGet) expr()   {}
func (*OpCall) expr()     {}
func (*Call) expr()       {}

// Int returns an INDEX literal.
func Int(v int64) *ConstInt { return &ConstInt{Value: v, DType: INDEX} }

// IntValue returns the value of an integer literal.
func IntValue(e Expr) (int64, bool) {
	if c, ok := e.(*ConstInt); ok {
		return c.Value, true
	}
	return 0, false
}
