package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Property is a statement about a program that can be checked (spec: passes-codegen 1.2). Plugins have their own ("acme.Foo"); the core cannot verify those.
type Property string

const (
	TypeChecked                     Property = "TypeChecked"
	BreakContinueValid              Property = "BreakContinueValid"
	NoRedundantBlocks               Property = "NoRedundantBlocks"
	UseAfterDef                     Property = "UseAfterDef"
	OutParamNotShadowed             Property = "OutParamNotShadowed"
	NoNestedInCore                  Property = "NoNestedInCore"
	InOutUseValid                   Property = "InOutUseValid"
	PipelineLoopValid               Property = "PipelineLoopValid"
	ArrayNotEscaped                 Property = "ArrayNotEscaped"
	ManualDepsOnSubmitOnly          Property = "ManualDepsOnSubmitOnly"
	SSAForm                         Property = "SSAForm"
	NoNestedCalls                   Property = "NoNestedCalls"
	NormalizedStmtStructure         Property = "NormalizedStmtStructure"
	InlineFunctionsEliminated       Property = "InlineFunctionsEliminated"
	UnrollResolved                  Property = "UnrollResolved"
	HierarchyOutlined               Property = "HierarchyOutlined"
	ClusterOutlined                 Property = "ClusterOutlined"
	ReturnParamsExplicit            Property = "ReturnParamsExplicit"
	SplitIncoreOrch                 Property = "SplitIncoreOrch"
	OrchestrationReferencesResolved Property = "OrchestrationReferencesResolved"
	CallDirectionsResolved          Property = "CallDirectionsResolved"
	RuntimeScopesMaterialized       Property = "RuntimeScopesMaterialized"
	IterArgCarryClassified          Property = "IterArgCarryClassified"
)

// OpInfo is what the verifier asks of the specs of ops. Ops it does not know answer like an op without any property.
type OpInfo interface {
	// IsHostOp reports an op that may stand in an orchestration body.
	IsHostOp(op string) bool
	// Allocates reports an op whose result is a fresh buffer (tensor.create, tensor.full).
	Allocates(op string) bool
	// WritesThrough returns the operand whose buffer the op writes and returns (2 for tile.store, 0 for tensor.assemble), -1 for all others.
	WritesThrough(op string) int
}

var verifiers = map[Property]func(*verifier){
	TypeChecked:                     (*verifier).typeChecked,
	BreakContinueValid:              (*verifier).breakContinue,
	NoRedundantBlocks:               (*verifier).noRedundantBlocks,
	NormalizedStmtStructure:         (*verifier).noRedundantBlocks,
	UseAfterDef:                     (*verifier).useAfterDef,
	OutParamNotShadowed:             (*verifier).outParamNotShadowed,
	NoNestedInCore:                  (*verifier).noNestedInCore,
	InOutUseValid:                   (*verifier).inOutUse,
	PipelineLoopValid:               (*verifier).pipelineLoop,
	ArrayNotEscaped:                 (*verifier).arrayNotEscaped,
	ManualDepsOnSubmitOnly:          (*verifier).manualDeps,
	SSAForm:                         (*verifier).ssaForm,
	NoNestedCalls:                   (*verifier).noNestedCalls,
	InlineFunctionsEliminated:       (*verifier).inlineEliminated,
	UnrollResolved:                  (*verifier).unrollResolved,
	HierarchyOutlined:               func(v *verifier) { v.noScope(HierarchyScope) },
	ClusterOutlined:                 func(v *verifier) { v.noScope(ClusterScope, SpmdScope) },
	ReturnParamsExplicit:            (*verifier).returnParams,
	SplitIncoreOrch:                 (*verifier).splitIncoreOrch,
	OrchestrationReferencesResolved: (*verifier).references,
	CallDirectionsResolved:          (*verifier).callDirections,
	RuntimeScopesMaterialized:       (*verifier).runtimeScopes,
	IterArgCarryClassified:          (*verifier).carryClassified,
}

// StructuralProperties hold for every program at every time.
func StructuralProperties() []Property {
	return []Property{
		TypeChecked, BreakContinueValid, NoRedundantBlocks, UseAfterDef, OutParamNotShadowed, NoNestedInCore, InOutUseValid, PipelineLoopValid,
		ArrayNotEscaped, ManualDepsOnSubmitOnly,
	}
}

// IsVerifiable reports whether Verify can check a property.
func IsVerifiable(p Property) bool { return verifiers[p] != nil }

// Verify checks properties of a program and reports every violation in source order. Properties without a verifier are taken on trust. Without ops (nil)
// nothing is known about ops: rules that need it find nothing. A program whose nodes lack required parts is reported as such, and nothing else.
func Verify(p *Program, ops OpInfo, props ...Property) diag.List {
	v := &verifier{p: p, ops: ops, funcs: make(map[string]*Function, len(p.Funcs))}
	if v.ops == nil {
		v.ops = noOpInfo{}
	}
	for _, f := range p.Funcs {
		if f == nil {
			v.report(codeMalformed, p.Pos, "program %s holds a nil function", programName(p))
			continue
		}
		v.f = f
		v.wellFormed(f)
		if v.funcs[f.Name] != nil {
			v.report(codeMalformed, f.Pos, "duplicate function name %q", f.Name)
		}
		v.funcs[f.Name] = f
	}
	if len(v.out) > 0 {
		return v.out.Sort()
	}
	done := make(map[Property]bool)
	for _, prop := range props {
		if check := verifiers[prop]; check != nil && !done[prop] {
			done[prop] = true
			check(v)
		}
	}
	return v.out.Sort()
}

type noOpInfo struct{}

func (noOpInfo) IsHostOp(string) bool     { return true }
func (noOpInfo) Allocates(string) bool    { return false }
func (noOpInfo) WritesThrough(string) int { return -1 }

type verifier struct {
	p     *Program
	ops   OpInfo
	funcs map[string]*Function
	f     *Function // the one being checked
	out   diag.List

	returns map[*Function][]int // what returned remembers
}

// report adds an error; a place that is not known becomes that of the function.
func (v *verifier) report(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	if !at.IsValid() && v.f != nil {
		at = v.f.Pos
	}
	d := diag.Errorf(code, at, format, args...)
	v.out.Add(d)
	return d
}

// each runs check on every function that accept admits (nil: all).
func (v *verifier) each(accept func(*Function) bool, check func(*Function)) {
	for _, f := range v.p.Funcs {
		if accept == nil || accept(f) {
			v.f = f
			check(f)
		}
	}
	v.f = nil
}

func isOrchestration(f *Function) bool { return f.Type == Orchestration || f.Type == Graph }

// varText names a Var in a message: by the user's name, with the generated one when that differs.
func varText(v *Var) string {
	if base := BaseName(v.Hint); base != v.Hint && base != "" {
		return fmt.Sprintf("'%s' (%s)", base, v.Hint)
	}
	return "'" + v.Hint + "'"
}

// place is the most precise known place of e inside s.
func place(e Expr, s Stmt) diag.Span {
	if e != nil && e.Span().IsValid() {
		if _, isVar := e.(*Var); !isVar { // a Var has the place of its definition
			return e.Span()
		}
	}
	return s.Span()
}

// callsIn calls f for every Call of the function and the statement that holds it.
func callsIn(fn *Function, f func(*Call, Stmt)) {
	Inspect(fn.Body, func(s Stmt) bool {
		Exprs(s, func(e Expr) bool {
			if c, ok := e.(*Call); ok {
				f(c, s)
			}
			return true
		})
		return true
	})
}

// CheckUserName reports a name that the user may not give to a variable: "__" separates the parts of generated names. It returns nil for all others.
func CheckUserName(v *Var) *diag.Diagnostic {
	i := strings.Index(v.Hint, "__")
	if i < 0 {
		return nil
	}
	return diag.Errorf(codeReservedDelim, v.Pos, "the name '%s' contains the reserved delimiter '__'", v.Hint).
		WithHint("ptobuild separates the parts of generated names by two underscores; write '%s'", strings.ReplaceAll(v.Hint, "__", "_"))
}

// wellFormed checks that no required part is missing, so that every other check may rely on it.
func (v *verifier) wellFormed(f *Function) {
	bad := func(at diag.Span, what string) { v.report(codeMalformed, at, "malformed program: %s", what) }
	for i, p := range f.Params {
		if p.Var == nil {
			bad(f.Pos, fmt.Sprintf("parameter %d of %s has no variable", i+1, f.Name))
		}
	}
	need := func(s Stmt, what string, es ...Expr) {
		for _, e := range es {
			if e == nil {
				bad(s.Span(), what)
			}
			Walk(e, func(e Expr) bool {
				if hole := missingOperand(e); hole != "" {
					bad(place(e, s), hole)
				}
				return true
			})
		}
	}
	needVar := func(s Stmt, what string, vs ...*Var) {
		if slices.Contains(vs, nil) {
			bad(s.Span(), what)
		}
	}
	var block func(Block)
	block = func(b Block) {
		for _, s := range b {
			switch s := s.(type) {
			case nil:
				bad(f.Pos, "a nil statement in "+f.Name)
				continue
			case *Assign:
				needVar(s, "an assignment without variable", s.Var)
				need(s, "an assignment without value", s.Value)
			case *Eval:
				need(s, "an expression statement without expression", s.X)
			case *If:
				need(s, "an if without condition", s.Cond)
				needVar(s, "an if result without variable", s.Results...)
			case *For:
				needVar(s, "a loop without variable", s.Var)
				need(s, "a loop without bound", s.Start, s.Stop, s.Step)
				if hole := badAttr(s.Attrs); hole != "" {
					bad(s.Pos, hole)
				}
				v.carriesFormed(s, s.Carries, need, needVar)
			case *While:
				need(s, "a while without condition", s.Cond)
				v.carriesFormed(s, s.Carries, need, needVar)
			case *Yield:
				need(s, "a yield without value", s.Values...)
			case *Return:
				need(s, "a return without value", s.Values...)
			case *Scope:
				need(s, "a scope option without value", s.Launch.Deps...)
				need(s, "a scope option without value", s.Launch.Dumps...)
				need(s, "a scope option without value", s.NoDep...)
				if hole := badAttr(s.Attrs); hole != "" {
					bad(s.Pos, hole)
				}
				if s.Kind == SpmdScope && s.Launch.CoreNum == nil {
					bad(s.Pos, "an spmd scope without core_num")
				}
			}
			for _, n := range Blocks(s) {
				block(n)
			}
		}
	}
	block(f.Body)
	if hole := badAttr(f.Attrs); hole != "" {
		bad(f.Pos, hole)
	}
}

func (v *verifier) carriesFormed(s Stmt, cs []Carry, need func(Stmt, string, ...Expr), needVar func(Stmt, string, ...*Var)) {
	for _, c := range cs {
		needVar(s, "a carried value without variable", c.Iter, c.Result)
		need(s, "a carried value without initial value", c.Init)
	}
}

// missingOperand names the part that an expression node lacks, "" when it is complete.
func missingOperand(e Expr) string {
	switch e := e.(type) {
	case *Binary:
		if e.X == nil || e.Y == nil {
			return "an operator without operand"
		}
	case *Unary:
		if e.X == nil {
			return "an operator without operand"
		}
	case *Cast:
		if e.X == nil {
			return "a cast without operand"
		}
	case *TupleGet:
		if e.X == nil {
			return "an element of nothing"
		}
	case *MakeTuple:
		if slices.Contains(e.Elems, nil) {
			return "a list with a missing element"
		}
	case *OpCall:
		if slices.Contains(e.Args, nil) || slices.Contains(e.Deps, nil) {
			return fmt.Sprintf("%s with a missing operand", e.Op)
		}
		for _, k := range e.Kwargs {
			if !isAttrValue(k.Value) {
				return fmt.Sprintf("keyword %s of %s has a value of Go type %T", k.Name, e.Op, k.Value)
			}
		}
		return badAttr(e.Attrs)
	case *Call:
		if slices.Contains(e.Args, nil) || slices.Contains(e.Launch.Deps, nil) || slices.Contains(e.CompilerDeps, nil) {
			return fmt.Sprintf("a call of %s with a missing argument", e.Callee)
		}
		return badAttr(e.Attrs)
	}
	return ""
}

// badAttr names the first attribute whose value is of a kind that the IR does not carry, "" when there is none.
func badAttr(as Attrs) string {
	for _, a := range as {
		if !isAttrValue(a.Value) {
			return fmt.Sprintf("attribute %q has a value of Go type %T", a.Key, a.Value)
		}
	}
	return ""
}

func isAttrValue(v any) bool {
	switch v := v.(type) {
	case int64, bool, string, float64, DType, Enum, Expr, []int64, []string:
		return true
	case []Expr:
		return !slices.Contains(v, nil)
	}
	return false
}
