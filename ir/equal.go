package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Structural equality (spec: dsl-ir 2). Compared: everything that has a meaning. Ignored: spans, comments, the names of Vars, Scope.Owner, AutoScope
// of kernels and wrappers, the order of functions. Vars are paired by position: the first time a Var is met, in definition or use, it is bound to its
// counterpart, and the binding has to hold in both directions ever after, across functions too (dynamic symbols).
// Forms that say the same are equal: extents by value whatever the dtype of the literal, an absent view and a view that states the defaults,
// a nil and an empty list, no else and an empty one.

// Equal reports structural equality of two programs.
func Equal(a, b *Program) bool {
	d := differ{quiet: true}
	return d.program(a, b)
}

// EqualFunctions reports structural equality of two functions.
func EqualFunctions(a, b *Function) bool {
	d := differ{quiet: true}
	return d.function(a, b)
}

// IdenticalFunctions is EqualFunctions for which the names of Vars count as well.
func IdenticalFunctions(a, b *Function) bool {
	d := differ{quiet: true, names: true}
	return d.function(a, b)
}

// Diff says in words where two programs first differ, outermost place first, and "" when they are Equal.
func Diff(a, b *Program) string {
	var d differ
	if d.program(a, b) {
		return ""
	}
	return d.text()
}

// DiffFunctions is Diff for two functions.
func DiffFunctions(a, b *Function) string {
	var d differ
	if d.function(a, b) {
		return ""
	}
	return d.text()
}

// EqualExprs reports that two expressions of one function are the same: equal in structure, over the very same Vars.
func EqualExprs(a, b Expr) bool {
	d := differ{quiet: true, same: true}
	return d.expr(a, b)
}

// EqualTypes reports that two types of one function are the same, storage included.
func EqualTypes(a, b Type) bool {
	d := differ{quiet: true, same: true}
	return d.typ(a, b)
}

// SameTypes is EqualTypes without regard to storage (MemRef), and with extents compared after simplification: the rule for assigning to a variable
// again (spec: dsl-ir 1.4).
func SameTypes(a, b Type) bool {
	d := differ{quiet: true, same: true, noMemRef: true}
	return d.typ(a, b)
}

// typeOf is the type of e, nil for no expression.
func typeOf(e Expr) Type {
	if e == nil {
		return nil
	}
	return e.Type()
}

type differ struct {
	quiet    bool // nobody reads the words
	same     bool // Vars are equal only to themselves
	noMemRef bool
	names    bool // paired Vars have one name
	ab, ba   map[*Var]*Var
	todo     []*Var // Vars of a whose types are still to be compared: comparing them at once would go as deep as Vars lead to Vars
	why      string
	path     []string // innermost first
}

func (d *differ) text() string {
	slices.Reverse(d.path)
	return strings.Join(append(d.path, d.why), ": ")
}

// fail records the first difference.
func (d *differ) fail(format string, args ...any) bool {
	if !d.quiet {
		d.why = fmt.Sprintf(format, args...)
	}
	return false
}

// at records the place on the way out of a difference.
func (d *differ) at(format string, args ...any) bool {
	if !d.quiet {
		d.path = append(d.path, fmt.Sprintf(format, args...))
	}
	return false
}

func diffValue[T comparable](d *differ, what string, a, b T) bool {
	return a == b || d.fail("%s %v vs %v", what, a, b)
}

func (d *differ) count(what string, a, b int) bool {
	return a == b || d.fail("%d %s vs %d", a, what, b)
}

func (d *differ) program(a, b *Program) bool {
	if a == b {
		return true
	}
	if !diffValue(d, "program name", programName(a), programName(b)) {
		return false
	}
	fa, fb := byName(a.Funcs), byName(b.Funcs)
	for i := range min(len(fa), len(fb)) {
		switch na, nb := fa[i].Name, fb[i].Name; {
		case na < nb:
			return d.fail("function %q only in the first program", na)
		case na > nb:
			return d.fail("function %q only in the second program", nb)
		}
	}
	switch {
	case len(fa) > len(fb):
		return d.fail("function %q only in the first program", fa[len(fb)].Name)
	case len(fa) < len(fb):
		return d.fail("function %q only in the second program", fb[len(fa)].Name)
	}
	for i := range fa {
		if !d.function(fa[i], fb[i]) {
			return false
		}
	}
	return true
}

// byName returns the functions in name order.
func byName(fs []*Function) []*Function {
	fs = slices.Clone(fs)
	slices.SortStableFunc(fs, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
	return fs
}

func (d *differ) function(a, b *Function) bool {
	return d.signature(a, b) && d.attrs(a.Attrs, b.Attrs) && d.block(a.Body, b.Body) && d.types() || d.at("function %q", a.Name)
}

// types compares the types of the Vars paired since the last time.
func (d *differ) types() bool {
	for i := 0; i < len(d.todo); i++ {
		a := d.todo[i]
		if !d.typ(a.Typ, d.ab[a].Typ) {
			return d.at("variable %s", a.Hint)
		}
	}
	d.todo = d.todo[:0]
	return true
}

func (d *differ) signature(a, b *Function) bool {
	if !diffValue(d, "name", a.Name, b.Name) || !diffValue(d, "type", a.Type, b.Type) || !d.count("parameters", len(a.Params), len(b.Params)) {
		return false
	}
	for i, pa := range a.Params {
		pb := b.Params[i]
		if !diffValue(d, "direction", pa.Dir, pb.Dir) || !d.bind(pa.Var, pb.Var) {
			return d.at("parameter %d", i+1)
		}
	}
	if !d.count("results", len(a.Returns), len(b.Returns)) {
		return false
	}
	for i := range a.Returns {
		if !d.typ(a.Returns[i], b.Returns[i]) {
			return d.at("result %d", i+1)
		}
	}
	return diffValue(d, "level", a.Level, b.Level) && diffValue(d, "role", a.Role, b.Role) && diffValue(d, "split", a.Split, b.Split) &&
		diffValue(d, "dual_aiv_dispatch", a.DualAIV, b.DualAIV) && diffValue(d, "auto_scope", a.AutoScope || !hasAutoScope(a), b.AutoScope || !hasAutoScope(b)) &&
		d.external(a.External, b.External)
}

func (d *differ) external(a, b *External) bool {
	if (a == nil) != (b == nil) {
		return d.fail("external source only on one side")
	}
	return a == nil || diffValue(d, "external source", a.Source, b.Source) &&
		(slices.Equal(a.IncludeDirs, b.IncludeDirs) || d.fail("include directories %v vs %v", a.IncludeDirs, b.IncludeDirs))
}

// bind pairs two Vars, or checks that they are paired with each other.
func (d *differ) bind(a, b *Var) bool {
	if a == nil || b == nil {
		return a == b || d.fail("a variable only on one side")
	}
	if d.same {
		return a == b || d.fail("variable %s vs %s", a.Hint, b.Hint)
	}
	pa, okA := d.ab[a]
	pb, okB := d.ba[b]
	if okA || okB {
		return pa == b && pb == a || d.fail("variable %s vs %s, which are not each other's counterpart", a.Hint, b.Hint)
	}
	if d.ab == nil {
		d.ab, d.ba = map[*Var]*Var{}, map[*Var]*Var{}
	}
	d.ab[a], d.ba[b] = b, a
	d.todo = append(d.todo, a)
	if d.names && a.Hint != b.Hint {
		return d.fail("variable %s vs %s", a.Hint, b.Hint)
	}
	return diffValue(d, "dynamic", a.Dyn, b.Dyn) || d.at("variable %s", a.Hint)
}

func (d *differ) vars(what string, a, b []*Var) bool {
	if !d.count(what, len(a), len(b)) {
		return false
	}
	for i := range a {
		if !d.bind(a[i], b[i]) {
			return d.at("%s %d", what, i+1)
		}
	}
	return true
}

func (d *differ) block(a, b Block) bool {
	for i := range min(len(a), len(b)) {
		if !d.stmt(a[i], b[i]) {
			return d.place(a[i], i)
		}
	}
	return d.count("statements", len(a), len(b))
}

func (d *differ) place(s Stmt, i int) bool {
	if d.quiet || s == nil || !s.Span().IsValid() {
		return d.at("statement %d (%s)", i+1, stmtKind(s))
	}
	return d.at("statement %d (%s, line %d)", i+1, stmtKind(s), s.Span().Line)
}

func stmtKind(s Stmt) string {
	switch s.(type) {
	case *Assign:
		return "assignment"
	case *Eval:
		return "expression"
	case *If:
		return "if"
	case *For:
		return "for"
	case *While:
		return "while"
	case *Yield:
		return "yield"
	case *Return:
		return "return"
	case *Branch:
		return "break or continue"
	case *Scope:
		return "scope"
	case *Verbatim:
		return "verbatim text"
	}
	return "nothing"
}

func (d *differ) stmt(a, b Stmt) bool {
	switch a := a.(type) {
	case *Assign:
		if b, ok := b.(*Assign); ok {
			return d.expr(a.Value, b.Value) && d.bind(a.Var, b.Var)
		}
	case *Eval:
		if b, ok := b.(*Eval); ok {
			return d.expr(a.X, b.X)
		}
	case *If:
		if b, ok := b.(*If); ok {
			if !d.expr(a.Cond, b.Cond) {
				return d.at("condition")
			}
			return (d.block(a.Then, b.Then) || d.at("then")) && (d.block(a.Else, b.Else) || d.at("else")) && d.vars("results", a.Results, b.Results)
		}
	case *For:
		if b, ok := b.(*For); ok {
			if !d.expr(a.Start, b.Start) || !d.expr(a.Stop, b.Stop) || !d.expr(a.Step, b.Step) {
				return d.at("bounds")
			}
			return diffValue(d, "kind", a.Kind, b.Kind) && diffValue(d, "stages", a.Stages, b.Stages) && d.inits(a.Carries, b.Carries) &&
				d.bind(a.Var, b.Var) && d.iters(a.Carries, b.Carries) && d.block(a.Body, b.Body) && d.results(a.Carries, b.Carries) && d.attrs(a.Attrs, b.Attrs)
		}
	case *While:
		if b, ok := b.(*While); ok {
			if !d.inits(a.Carries, b.Carries) || !d.iters(a.Carries, b.Carries) {
				return false
			}
			return (d.expr(a.Cond, b.Cond) || d.at("condition")) && d.block(a.Body, b.Body) && d.results(a.Carries, b.Carries)
		}
	case *Yield:
		if b, ok := b.(*Yield); ok {
			return d.exprs("value", a.Values, b.Values)
		}
	case *Return:
		if b, ok := b.(*Return); ok {
			return d.exprs("value", a.Values, b.Values)
		}
	case *Branch:
		if b, ok := b.(*Branch); ok {
			return diffValue(d, "continue", a.Continue, b.Continue)
		}
	case *Scope:
		if b, ok := b.(*Scope); ok {
			return d.scope(a, b)
		}
	case *Verbatim:
		if b, ok := b.(*Verbatim); ok {
			return diffValue(d, "text", strings.TrimSuffix(a.Text, "\n"), strings.TrimSuffix(b.Text, "\n"))
		}
	case nil:
		if b == nil {
			return true
		}
	}
	return d.fail("%s vs %s", stmtKind(a), stmtKind(b))
}

func (d *differ) inits(a, b []Carry) bool {
	if !d.count("carried values", len(a), len(b)) {
		return false
	}
	for i := range a {
		if !d.expr(a[i].Init, b[i].Init) {
			return d.at("initial value %d", i+1)
		}
	}
	return true
}

func (d *differ) iters(a, b []Carry) bool {
	for i := range a {
		if !d.bind(a[i].Iter, b[i].Iter) || !diffValue(d, "carry class", a[i].Class, b[i].Class) || !diffValue(d, "carry slots", a[i].Slots, b[i].Slots) {
			return d.at("carried value %d", i+1)
		}
	}
	return true
}

func (d *differ) results(a, b []Carry) bool {
	return d.vars("results", carryResults(a), carryResults(b))
}

func (d *differ) scope(a, b *Scope) bool {
	return diffValue(d, "scope kind", a.Kind, b.Kind) && diffValue(d, "name_hint", a.NameHint, b.NameHint) && diffValue(d, "manual", a.Manual, b.Manual) &&
		diffValue(d, "level", a.Level, b.Level) && diffValue(d, "role", a.Role, b.Role) && diffValue(d, "split", a.Split, b.Split) &&
		d.launch(&a.Launch, &b.Launch) && (d.exprs("no_dep_args entry", a.NoDep, b.NoDep)) && d.attrs(a.Attrs, b.Attrs) &&
		(d.bind(a.TaskID, b.TaskID) || d.at("task id")) && d.block(a.Body, b.Body)
}

func (d *differ) launch(a, b *Launch) bool {
	if !d.exprs("deps entry", a.Deps, b.Deps) {
		return false
	}
	if !d.expr(a.CoreNum, b.CoreNum) {
		return d.at("core_num")
	}
	if !diffValue(d, "sync_start", a.SyncStart, b.SyncStart) || !diffValue(d, "allow_early_resolve", a.EarlyResolve, b.EarlyResolve) {
		return false
	}
	if !d.expr(a.Predicate, b.Predicate) {
		return d.at("predicate")
	}
	if sa, sb := timingSlot(a), timingSlot(b); sa != sb {
		return d.fail("timing_slot %d vs %d", sa, sb)
	}
	return d.exprs("dumps entry", a.Dumps, b.Dumps)
}

// timingSlot is the slot, -1 for none.
func timingSlot(l *Launch) int64 {
	if l.TimingSlot == nil {
		return -1
	}
	return *l.TimingSlot
}
