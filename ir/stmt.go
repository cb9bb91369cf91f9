package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Stmt is a statement. Like expressions, statements are immutable after construction.
type Stmt interface {
	Span() diag.Span
	stmt()
}

// Block is a sequence of statements.
type Block []Stmt

type (
	// Assign defines Var. Before SSA a Var may be assigned again.
	Assign struct {
		Var      *Var
		Value    Expr
		Comments []string // the # lines above it
		Pos      diag.Span
	}
	// Eval evaluates X for its effect.
	Eval struct {
		X        Expr
		Comments []string
		Pos      diag.Span
	}
	// If branches on a BOOL scalar. With Results, both branches end in a Yield of as many values (in SSA; Else is then never nil).
	If struct {
		Cond       Expr
		Then, Else Block // Else nil: no else branch
		Results    []*Var
		Comments   []string
		Pos        diag.Span
	}
	// For counts Var from Start to Stop by Step. With Carries its body ends in a Yield of as many values.
	For struct {
		Var               *Var
		Start, Stop, Step Expr
		Kind              ForKind
		Carries           []Carry
		Body              Block
		Stages            int64 // pipeline only
		Attrs             Attrs
		Comments          []string
		Pos               diag.Span
	}
	// While loops on a BOOL scalar over Carries, like For.
	While struct {
		Cond     Expr
		Carries  []Carry
		Body     Block
		Comments []string
		Pos      diag.Span
	}
	// Yield gives the values of the enclosing If, For or While.
	Yield struct {
		Values []Expr
		Pos    diag.Span
	}
	// Return ends the function.
	Return struct {
		Values   []Expr
		Comments []string
		Pos      diag.Span
	}
	// Branch is break or continue.
	Branch struct {
		Continue bool
		Pos      diag.Span
	}
	// Scope is a with-region.
	Scope struct {
		Kind     ScopeKind
		Body     Block
		NameHint string
		Manual   bool       // Runtime: MANUAL
		Owner    ScopeOwner // Runtime: who placed it
		Level    string     // Hierarchy: pl.Level.X
		Role     string     // Hierarchy: pl.Role.X
		Split    SplitMode  // InCore, SplitAiv
		TaskID   *Var       // "as tid"
		Launch   Launch
		NoDep    []Expr // no_dep_args=
		Attrs    Attrs  // slot_num, windowize, …
		Comments []string
		Pos      diag.Span
	}
	// Verbatim is the Python text of a HOST SubWorker body.
	Verbatim struct {
		Text string
		Pos  diag.Span
	}
)

// Carry is one value carried around a loop: Iter inside the body starts as Init and becomes the yielded value; Result is it afterwards.
type Carry struct {
	Iter   *Var
	Init   Expr
	Result *Var
	Class  CarryClass
	Slots  int64 // > 0: a TaskId carry kept as an array of so many slots (mission document 004, array-carry fence); or GatherSlots
}

// GatherSlots in Carry.Slots marks a TaskId carry of a parallel loop whose number of trips is not known: the ids of all trips are gathered, and the
// result is a dependency-only task that waits for them. Only AutoDeriveTaskDependencies makes such carries.
const GatherSlots = -1

// CarryClass says whether a carry needs storage of its own; set by ClassifyIterArgCarry.
type CarryClass uint8

const (
	CarryUnclassified CarryClass = iota
	CarryAlias                   // the yielded value is the same buffer: nothing to do
	CarryRebind                  // a variable is assigned at the end of each trip
)

// ForKind is how the trips of a For relate.
type ForKind uint8

const (
	Sequential ForKind = iota
	Parallel
	Unroll
	Pipeline
)

// String is the DSL spelling after "pl.".
func (k ForKind) String() string { return [...]string{"range", "parallel", "unroll", "pipeline"}[k] }

// ScopeKind tells the scopes apart.
type ScopeKind uint8

const (
	InCoreScope     ScopeKind = iota // pl.at(level=CORE_GROUP): becomes a kernel
	HierarchyScope                   // pl.at(level=other)
	ClusterScope                     // pl.cluster(): becomes a Group function
	SpmdScope                        // pl.spmd(): becomes an Spmd function
	SplitAivScope                    // pl.split_aiv()
	RuntimeScope                     // pl.scope(), pl.manual_scope(): a PTO2_SCOPE
	CommDomainScope                  // distributed
)

// ScopeOwner says who placed a runtime scope.
type ScopeOwner uint8

const (
	UserScope     ScopeOwner = iota
	CompilerScope            // MaterializeRuntimeScopes
)

// SplitMode is pl.SplitMode.
type SplitMode uint8

const (
	SplitNone SplitMode = iota
	SplitUpDown
	SplitLeftRight
)

// String is the DSL spelling.
func (m SplitMode) String() string { return [...]string{"NONE", "UP_DOWN", "LEFT_RIGHT"}[m] }

func (s *Assign) Span() diag.Span   { return s.Pos }
func (s *Eval) Span() diag.Span     { return s.Pos }
func (s *If) Span() diag.Span       { return s.Pos }
func (s *For) Span() diag.Span      { return s.Pos }
func (s *While) Span() diag.Span    { return s.Pos }
func (s *Yield) Span() diag.Span    { return s.Pos }
func (s *Return) Span() diag.Span   { return s.Pos }
func (s *Branch) Span() diag.Span   { return s.Pos }
func (s *Scope) Span() diag.Span    { return s.Pos }
func (s *Verbatim) Span() diag.Span { return s.Pos }

func (*Assign) stmt()   {}
func (*Eval) stmt()     {}
func (*If) stmt()       {}
func (*For) stmt()      {}
func (*While) stmt()    {}
func (*Yield) stmt()    {}
func (*Return) stmt()   {}
func (*Branch) stmt()   {}
func (*Scope) stmt()    {}
func (*Verbatim) stmt() {}
