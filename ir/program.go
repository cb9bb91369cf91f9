// Package ir is the typed intermediate representation of PyPTO programs: nodes, types, spans, and what every stage needs of them (walking,
// rewriting, printing, structural equality and hash, verification, the wire form).
//
// A Program holds functions; a Function holds a Block of statements over expressions. Nodes are immutable after construction, so programs
// share unchanged parts and stages may run side by side. A Var is identified by its pointer. What the core understands is a typed field;
// what it does not understand rides along in Attrs.
package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Program is a set of functions that call each other by unique name, in definition order (callee before caller where it was so).
type Program struct {
	Name  string
	Funcs []*Function
	Pos   diag.Span
}

// Lookup returns the function of a name, nil when there is none.
func (p *Program) Lookup(name string) *Function {
	for _, f := range p.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// FuncType is what a function is for.
type FuncType uint8

const (
	Opaque        FuncType = iota // not decided: becomes Orchestration when a kernel is outlined of it
	Orchestration                 // host program that submits kernels
	InCore                        // kernel, core not decided
	AIC                           // cube kernel
	AIV                           // vector kernel
	Group                         // wrapper: kernels of one cluster together
	Spmd                          // wrapper: one kernel over many blocks
	Inline                        // spliced into its callers
	Graph                         // orchestration fragment
)

// String is the DSL spelling after pl.FunctionType.
func (t FuncType) String() string {
	return [...]string{"Opaque", "Orchestration", "InCore", "AIC", "AIV", "Group", "Spmd", "Inline", "Graph"}[t]
}

// IsKernel reports a function that runs on a core.
func (t FuncType) IsKernel() bool { return t == InCore || t == AIC || t == AIV }

// IsWrapper reports a function that only forwards to kernels.
func (t FuncType) IsWrapper() bool { return t == Group || t == Spmd }

// Defaults returns the level and the role of a function whose decorator says neither (spec: dsl-ir 1.2), "" where there is none.
func (t FuncType) Defaults() (level, role string) {
	switch t {
	case Orchestration:
		return "CHIP", "Orchestrator"
	case InCore:
		return "CHIP_DIE", "SubWorker"
	case AIC:
		return "AIC", "SubWorker"
	case AIV:
		return "AIV", "SubWorker"
	case Group:
		return "CORE_GROUP", "SubWorker"
	}
	return "", ""
}

// ParamDir is the declared direction of a parameter.
type ParamDir uint8

const (
	In ParamDir = iota
	Out
	InOut
)

// String is "In", "Out" or "InOut".
func (d ParamDir) String() string { return [...]string{"In", "Out", "InOut"}[d] }

// Param is one parameter.
type Param struct {
	Var *Var
	Dir ParamDir
}

// Function is one function.
type Function struct {
	Name    string
	Type    FuncType
	Params  []Param
	Returns []Type // nil: not annotated and not yet derived
	Body    Block
	Level   string // pl.Level.X, "" when derived from Type
	Role    string // pl.Role.X
	// AutoScope: MaterializeRuntimeScopes still has to place AUTO scopes. False when the user places them or the pass ran.
	AutoScope bool
	External  *External // hand-written kernel source instead of a body
	Split     SplitMode
	// DualAIV: both vector lanes of a cluster run the AIV part.
	DualAIV  bool
	Attrs    Attrs
	Comments []string
	Pos      diag.Span
}

// External names the C++ source of a hand-written kernel.
type External struct {
	Source      string // path as the build sees it
	IncludeDirs []string
}

// Param returns the position of v among the parameters, or -1.
func (f *Function) Param(v *Var) int {
	for i := range f.Params {
		if f.Params[i].Var == v {
			return i
		}
	}
	return -1
}

// IsEntry reports a function that is a program's face: an orchestration, or an opaque function that becomes one because it has a block of device code.
func (f *Function) IsEntry() bool {
	found := f.Type == Orchestration
	if f.Type == Opaque {
		Inspect(f.Body, func(s Stmt) bool {
			sc, ok := s.(*Scope)
			found = found || ok && sc.Kind == InCoreScope
			return !found
		})
	}
	return found
}
