package lower

import (
	"fmt"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// body reads one function: its signature, then its statements.
type body struct {
	u    *Unit
	fn   *function
	mode Mode

	// Where the text being read comes from; a pl.inline macro switches them for its own statements.
	file     string
	comments []syntax.Comment
	env      eval.Env

	names  scope
	region *region
	out    ir.Block
	// sites counts the assignments of each name: a name with a single one may become an alias.
	sites map[string]int

	host    bool // orchestration code: ops must have a host form, launches are tasks
	scopes  []*with
	loops   []loop
	yield   *yield
	depth   int
	inType  int         // inside a type: dynamic symbols stand for themselves
	whole   bool        // the expression to be read next is all of a statement's value
	inWhile bool        // reading the condition of a while loop
	macros  []*eval.DSL // pl.inline functions being expanded

	// producers remembers which TaskId belongs to the tensor that a task returned (mission document 004: best-effort check of predicates).
	producers map[*ir.Var]*ir.Var
	dumpTags  []*ir.Var
	typed     map[*ir.ConstInt]bool // INDEX constants written pl.const(…, pl.INDEX): they do not take another operand's dtype
	mems      map[string]*ir.Var    // allocations that types name by a string
	printed   map[string]*ir.Var    // in printed IR: the Var of each name
	returned  *ir.Return
	versions  map[string]int // how often a name of a jit function got another type
	blank     *ir.Var        // the last one named _
	// readsExtent: some type may hold a tensor.dim.
	readsExtent bool
	pending     []string // comments for the next statement
	strings     []string // lines of the strings that stand above it
	ready       ready    // see there
	current     syntax.Stmt
}

// loop is an open loop, for break and continue.
type loop struct {
	name   string // as in messages: "pl.range"
	breaks bool   // break and continue are allowed
}

func newBody(u *Unit, f *function) *body {
	b := &body{u: u, fn: f, mode: f.mode, file: f.file.Path, comments: f.file.Comments, env: f.env}
	b.region = &region{kind: inBody, at: f.span()}
	b.names.push()
	b.producers = map[*ir.Var]*ir.Var{}
	return b
}

func (b *body) at(n syntax.Node) diag.Span { return n.At().Span(b.file) }

func (b *body) errorf(code diag.Code, n syntax.Node, format string, args ...any) *diag.Diagnostic {
	return b.u.errorf(code, b.at(n), format, args...)
}

func (b *body) emit(s ir.Stmt) { b.out = append(b.out, s) }

// block reads statements into a block of their own.
func (b *body) block(kind regionKind, at syntax.Node, read func()) ir.Block {
	out, reg := b.out, b.region
	b.out, b.region = nil, &region{parent: reg, kind: kind, at: b.at(at)}
	read()
	made := b.out
	b.out, b.region = out, reg
	if made == nil {
		made = ir.Block{}
	}
	return made
}

// variable makes a Var and binds its name in the innermost frame.
func (b *body) variable(name string, t ir.Type, at diag.Span) *ir.Var {
	v := &ir.Var{Hint: name, Typ: t, Pos: at}
	if b.mode == Dump {
		// In printed IR a name is one Var, wherever it is defined again.
		if old := b.printed[name]; old != nil && b.sameTypes(old.Typ, t) {
			v = old
		} else {
			if b.printed == nil {
				b.printed = map[string]*ir.Var{}
			}
			b.printed[name] = v
		}
	}
	if name != "_" || b.mode == Dump {
		b.names.set(name, &binding{expr: v, region: b.region, at: at})
	}
	return v
}

// temp makes a Var that no name can reach.
func (b *body) temp(hint string, t ir.Type, at diag.Span) *ir.Var {
	return &ir.Var{Hint: hint, Typ: t, Pos: at}
}

// alias binds a name to an expression.
func (b *body) alias(name string, e ir.Expr, at diag.Span) {
	b.names.set(name, &binding{expr: e, alias: true, region: b.region, at: at})
}

// assign gives the Var that an assignment of a value of type t to name defines: the one it already names when the types agree, else
// a new one. A changed type is an error, unless the name was used in another region that is over.
func (b *body) assign(name string, t ir.Type, at diag.Span) (*ir.Var, bool) {
	if name == "_" && b.mode != Dump { // never read, so one Var serves all values of a type
		if b.blank == nil || !b.sameTypes(b.blank.Typ, t) {
			b.blank = b.temp("_", t, at)
		}
		return b.blank, true
	}
	old := b.names.lookup(name)
	if v := b.mems[name]; v != nil && old == nil && b.sameTypes(v.Typ, t) {
		b.names.set(name, &binding{expr: v, region: b.region, at: at})
		return v, true
	}
	if old == nil || old.expr == nil || old.alias {
		if v := b.reusable(name, t); v != nil {
			b.names.set(name, &binding{expr: v, region: b.region, at: at})
			return v, true
		}
		return b.variable(name, t, at), true
	}
	v, ok := old.expr.(*ir.Var)
	if !ok {
		return b.variable(name, t, at), true
	}
	if b.mode == Dump && b.sameTypes(v.Typ, t) {
		return v, true
	} else if b.mode == Dump {
		return b.variable(name, t, at), true
	}
	if strict := b.fn.decl.strictSSA || b.u.strictSSA; strict && !old.region.holds(b.region) {
		return b.variable(name, t, at), true // of a block that is over
	} else if strict {
		b.u.errorf(CodeSSA, at, "'%s' is assigned a second time, but the function is strict_ssa", name).
			WithRelated(old.at, "first assigned here").WithHint("use a new name, or drop strict_ssa=True")
		return nil, false
	}
	delete(b.producers, v)
	if ir.IsTaskID(v.Typ) {
		for k, tid := range b.producers {
			if tid == v {
				delete(b.producers, k)
			}
		}
	}
	switch {
	case b.assignable(v.Typ, t):
		old.value = nil
		if !old.region.holds(b.region) {
			// The region that made it is over: from here on this one does.
			b.names.set(name, &binding{expr: v, region: b.region, at: at})
		}
		return v, true
	case isUnknown(v.Typ), !old.region.holds(b.region):
		return b.variable(name, t, at), true
	case b.mode == JIT && old.region == b.region:
		if b.versions == nil {
			b.versions = map[string]int{}
		}
		b.versions[name]++
		v := b.variable(name, t, at)
		v.Hint = fmt.Sprintf("%s_v%d", name, b.versions[name])
		return v, true
	}
	b.u.errorf(CodeReassign, at, "Cannot reassign '%s' with a different type: was %s, got %s", name, typeText(v.Typ), typeText(t)).
		WithRelated(old.at, "'%s' gets its type here", name).WithHint("use a new name for the new value")
	b.names.set(name, &binding{broken: true, region: old.region, at: at})
	return nil, false
}

// wholeRegion is a type without its valid region and padding: how much of a tensor or tile counts may change from one assignment to the next, as in
// `s = pl.add(s, t)` of a full s and a t that is partly valid.
func wholeRegion(t ir.Type) ir.Type {
	switch t := t.(type) {
	case *ir.TensorType:
		if t.View != nil {
			c, v := *t, *t.View
			v.ValidShape, v.Pad = nil, ""
			c.View = &v
			return &c
		}
	case *ir.TileType:
		if t.View != nil {
			c, v := *t, *t.View
			v.ValidShape, v.Pad = nil, ""
			c.View = &v
			return &c
		}
	}
	return t
}

// assignable reports that a variable of type v may take a value of type t.
func (b *body) assignable(v, t ir.Type) bool {
	return isUnknown(t) || b.sameTypes(v, t) || b.sameTypes(wholeRegion(v), wholeRegion(t))
}

// sameTypes is the rule for assigning again. Unlike other calls, reads of one extent of one tensor are equal wherever they stand.
func (b *body) sameTypes(x, y ir.Type) bool {
	if ir.SameTypes(x, y) {
		return true
	}
	if !b.readsExtent {
		return false
	}
	type extent struct {
		tensor *ir.Var
		axis   int64
	}
	known := map[extent]*ir.Var{}
	r := &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		c, ok := e.(*ir.OpCall)
		if !ok || c.Op != "tensor.dim" || len(c.Args) != 2 {
			return e
		}
		v, isVar := c.Args[0].(*ir.Var)
		axis, isLit := ir.IntValue(c.Args[1])
		if !isVar || !isLit {
			return e
		}
		k := extent{v, axis}
		if known[k] == nil {
			known[k] = &ir.Var{Typ: ir.IndexType}
		}
		return known[k]
	}}
	return ir.SameTypes(r.Type(x), r.Type(y))
}

// reusable finds the Var that the then branch gave to a name which this else branch assigns.
func (b *body) reusable(name string, t ir.Type) *ir.Var {
	for i := len(b.names.reuse) - 1; i >= 0; i-- {
		if old := b.names.reuse[i][name]; old != nil && !old.alias && old.expr != nil {
			if v, ok := old.expr.(*ir.Var); ok && b.assignable(v.Typ, t) {
				return v
			}
			return nil
		}
	}
	return nil
}

// poison marks names as defined by a statement that failed. A name that already has a value keeps it: its type would have had to stay the same.
func (b *body) poison(names []string) {
	for _, n := range names {
		if n == "_" {
			continue
		}
		if old := b.names.lookup(n); old == nil || old.expr == nil {
			b.names.set(n, &binding{broken: true, region: b.region})
		}
	}
}

func isUnknown(t ir.Type) bool { _, ok := t.(*ir.UnknownType); return ok }

// read gives the value of a name.
func (b *body) read(n *syntax.Name) (ir.Expr, bool) {
	old := b.names.lookup(n.ID)
	if old == nil {
		return b.closureName(n)
	}
	return b.value(n.ID, old, n)
}

func (b *body) value(name string, old *binding, n syntax.Node) (ir.Expr, bool) {
	switch {
	case old.broken:
		return nil, false
	case old.gone != nil:
		d := *old.gone
		d.Span = b.at(n)
		b.u.report(&d)
		return nil, false
	}
	if v, ok := old.expr.(*ir.Var); ok && !old.alias && ir.IsTaskID(v.Typ) {
		if l := old.region.loopOutside(b.region); l != nil && b.mode != Dump {
			d := b.errorf(CodeOutOfScope, n, "TaskId '%s' is used outside its defining scope: it is first assigned in a loop that has ended, so an edge to it cannot be honored", name).
				WithRelated(old.at, "'%s' is assigned here", name).
				WithHint("assign `%s = None` before the loop to wait for its last trip, or collect the ids in pl.array.create(N, pl.TASK_ID)", name)
			if at := l.at; at.Col > 0 {
				at.EndLine, at.EndCol = at.Line, at.Col
				d.Edits = []diag.Edit{{Span: at, Text: name + " = None\n" + strings.Repeat(" ", int(at.Col)-1)}}
			}
			return nil, false
		}
	}
	return old.expr, true
}

// intValue is the value of an integer expression that is known at compile time.
func (b *body) intValue(e ir.Expr) (int64, bool) {
	switch x := ir.Simplify(e).(type) {
	case *ir.ConstInt:
		return x.Value, true
	case *ir.Var:
		for _, f := range b.names.frames {
			if old := f[x.Hint]; old != nil && old.expr == ir.Expr(x) && old.value != nil {
				return *old.value, true
			}
		}
	}
	return 0, false
}
