package passes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// ConvertToSSA gives every assignment a Var of its own (spec: passes-codegen 1.3 and 1.4 no. 4; behaviours P-SSA-*).
//
//   - A parameter x becomes x__ssa_v0, the assignments of x become x__ssa_v1, …; one counter per source Var serves all roles.
//   - A loop carries what its body assigns, what had a value before it, and what is read in a later trip or after the loop
//     (acc__iter_v1 inside, acc__rv_v2 after). Carries are sorted by name and follow the explicit ones; their versions come before
//     those of the body.
//   - A variable that the body assigns first and that is read after the loop is carried too. Its start value is never seen unless the
//     loop runs zero times, so anything of the type will do: zero for a scalar, else an Out or InOut parameter of the identical
//     type, else the first variable of that type. A TaskId is not guessed: that would be a dependency on the wrong task.
//   - An if merges what its branches assign, if it is read afterwards (n__phi_v2). Results written by the user become x__rv_vK.
//   - Scopes leak what they assign. Their headers (deps, predicate, core_num, no_dep_args, dumps) are read before the body, and the TaskId of a
//     scope is assigned after it. A yield may stand at the end of a runtime scope that ends the body.
//
// break, continue and early returns are replaced first, see structure.
//
// A function that comes from a dump taken after this pass is left as it is; in all others "__" in a name is an error.
var toSSA = &Pass{
	Name:        "ConvertToSSA",
	Doc:         "give every assignment a variable of its own and make loops and ifs carry values",
	Requires:    []ir.Property{ir.InlineFunctionsEliminated, ir.UnrollResolved},
	Produces:    []ir.Property{ir.SSAForm},
	Invalidates: []ir.Property{ir.NormalizedStmtStructure},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		funcs := make(map[string]*ir.Function, len(p.Funcs))
		for _, f := range p.Funcs {
			funcs[f.Name] = f
		}
		return mapFuncs(p, func(f *ir.Function) *ir.Function { return convertToSSA(ctx, funcs, f) }), nil
	},
}

type ssa struct {
	*flow
	ctx    *Context
	f      *ir.Function
	at     ir.Stmt      // the statement being converted
	undo   []assignment // of the current versions, newest last
	rw     ir.Rewriter
	missed bool       // the rewriter met a variable without a value
	params []ir.Param // versions
	funcs  map[string]*ir.Function
	exits
	off  map[*ir.Var]bool // versions of flags that are false
	uses map[*ir.Var]int  // of tuples, see parallel
}

type assignment struct {
	v    *variable
	old  *ir.Var
	lost bool
}

func convertToSSA(ctx *Context, funcs map[string]*ir.Function, f *ir.Function) *ir.Function {
	if isVerbatim(f.Body) || isGeneratedSSA(f) {
		return f
	}
	f, left := structure(ctx, f)
	s := &ssa{flow: analyse(f), ctx: ctx, f: f, funcs: funcs, exits: left, off: map[*ir.Var]bool{}}
	s.rw.Var, s.rw.Expr = s.read, s.retype
	s.checkNames()

	out := *f
	out.Params = make([]ir.Param, len(f.Params))
	for i, p := range f.Params {
		v := s.vars[p.Var]
		n := s.version(v, "ssa", p.Var.Typ, p.Var.Pos)
		v.cur = n
		out.Params[i] = ir.Param{Var: n, Dir: p.Dir}
	}
	s.params = out.Params
	for i := range out.Params {
		out.Params[i].Var.Typ = s.typ(out.Params[i].Var.Typ)
	}
	out.Returns = types(&s.rw, f.Returns)
	out.Attrs, _ = rewriteAttrs(&s.rw, f.Attrs)
	s.missed = false
	out.Body = s.block(f.Body, false)
	return &out
}

// isVerbatim reports the body of a HOST SubWorker, which is Python text.
func isVerbatim(b ir.Block) bool {
	for _, s := range b {
		if _, ok := s.(*ir.Verbatim); ok {
			return true
		}
	}
	return false
}

// isGeneratedSSA reports a function that this pass made: versioned names, each assigned once.
func isGeneratedSSA(f *ir.Function) bool {
	versioned, once := false, true
	seen := map[*ir.Var]bool{}
	def := func(v *ir.Var) {
		if v == nil {
			return
		}
		if seen[v] {
			once = false
		}
		seen[v] = true
		if strings.Contains(v.Hint, "__") {
			n := ir.ParseName(v.Hint)
			versioned = versioned || n.Role != "" && n.Version >= 0
		}
	}
	for _, p := range f.Params {
		def(p.Var)
	}
	innerDefs(f.Body, def)
	return versioned && once
}

// version makes the next version of v.
func (s *ssa) version(v *variable, role string, t ir.Type, at diag.Span) *ir.Var {
	base := ir.BaseName(v.src.Hint)
	if base == "" {
		base = "v"
	}
	n := &ir.Var{Hint: base + "__" + role + "_v" + strconv.Itoa(v.next), Typ: t, Pos: at}
	v.next++
	return n
}

// assign makes n the current version of v.
func (s *ssa) assign(v *variable, n *ir.Var) {
	s.undo = append(s.undo, assignment{v, v.cur, v.lost})
	v.cur, v.lost = n, false
}

// lose leaves v without a version although some path to here assigned it, inside st.
func (s *ssa) lose(v *variable, place string, st ir.Stmt) {
	s.undo = append(s.undo, assignment{v, v.cur, v.lost})
	v.cur, v.lost, v.place, v.at = nil, true, place, st
}

// leave takes the versions back to those at mark. Variables without a version there remember how they got one.
func (s *ssa) leave(mark int, place string, at ir.Stmt) {
	for i := len(s.undo) - 1; i >= mark; i-- {
		u := s.undo[i]
		if u.old == nil && u.v.cur != nil && !u.lost {
			u.v.place, u.v.at = place, at
		}
		u.v.cur, u.v.lost = u.old, u.lost
	}
	s.undo = s.undo[:mark]
}

// read gives the current version of a Var in use; symbols and what the function never assigns stay as they are. It serves types as well, which may
// name scalars that are gone: only use tells whether a missing version matters.
func (s *ssa) read(src *ir.Var) *ir.Var {
	v := s.vars[src]
	if v == nil {
		return src
	}
	if v.cur == nil {
		s.missed = true
		return src
	}
	return v.cur
}

// retype gives a call the type that it has with the versions of its operands. An extent that is a scalar of the function is the one that a tensor was made
// with; the version of that scalar that is current here may be another one.
func (s *ssa) retype(e ir.Expr) ir.Expr {
	switch x := e.(type) {
	case *ir.OpCall:
		if !namesScalar(x.Typ) {
			return e
		}
		t, d := s.ctx.Ops.InferType(x)
		if d != nil {
			return e
		}
		c := *x
		c.Typ = t
		return &c
	case *ir.Call:
		f := s.funcs[x.Callee]
		if f == nil || !namesScalar(x.Typ) {
			return e
		}
		ts := f.ResultTypes(x.Args)
		if x.Submit {
			ts = append(ts, ir.TaskIDType)
		}
		c := *x
		if tuple, ok := x.Typ.(*ir.TupleType); ok && len(tuple.Elems) == len(ts) {
			c.Typ = &ir.TupleType{Elems: ts}
		} else if !ok && len(ts) == 1 {
			c.Typ = ts[0]
		}
		return &c
	}
	return e
}

// namesScalar reports a type with an extent that is a variable of the function.
func namesScalar(t ir.Type) bool {
	if tuple, ok := t.(*ir.TupleType); ok {
		return slices.ContainsFunc(tuple.Elems, namesScalar)
	}
	found := false
	for _, e := range ir.ShapeOf(t) {
		if _, isConst := e.(*ir.ConstInt); isConst {
			continue
		}
		ir.Walk(e, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && !v.Dyn {
				found = true
			}
			return !found
		})
	}
	return found
}

func (s *ssa) typ(t ir.Type) ir.Type {
	n := s.rw.Type(t)
	s.missed = false
	return n
}

// use puts the current versions into e.
func (s *ssa) use(e ir.Expr) ir.Expr {
	n := s.rw.Rewrite(e)
	if s.missed {
		s.missed = false
		ir.Walk(e, s.checkSet)
	}
	return n
}

// block converts the statements of b. yieldOK: a yield may end it.
func (s *ssa) block(b ir.Block, yieldOK bool) ir.Block {
	if b == nil {
		return nil
	}
	out := make(ir.Block, 0, len(b))
	for i := 0; i < len(b); i++ {
		st, last := b[i], i == len(b)-1
		if n := s.parallel(b[i:]); n > 0 {
			out = append(out, s.assignParallel(b[i:i+n+1])...)
			i += n
			continue
		}
		if y, ok := st.(*ir.Yield); ok && !(last && yieldOK) {
			s.ctx.Report(diag.Errorf(codeYieldPosition, y.Pos, "YieldStmt at position %d of %d: a yield must be the last statement of a loop body or branch", i, len(b)).
				WithHint("move pl.yield_ to the end"))
		}
		out = append(out, s.stmt(st, last && yieldOK))
	}
	return out
}

// parallel recognises `a, b = x, y`: a tuple that is only taken apart again, by the n statements after it.
func (s *ssa) parallel(b ir.Block) int {
	a, ok := b[0].(*ir.Assign)
	if !ok {
		return 0
	}
	t, ok := a.Value.(*ir.MakeTuple)
	n := 0
	if ok {
		n = len(t.Elems)
	}
	if n == 0 || len(b) <= n {
		return 0
	}
	for i := range n {
		part, _ := b[i+1].(*ir.Assign)
		if part == nil {
			return 0
		}
		if get, ok := part.Value.(*ir.TupleGet); !ok || get.X != ir.Expr(a.Var) || get.Index != i {
			return 0
		}
	}
	if s.uses == nil {
		s.uses = tupleUses(s.f.Body)
	}
	if s.uses[a.Var] != n+1 { // the definition and its parts
		return 0
	}
	return n
}

// tupleUses counts how often the Vars of tuples are defined or read.
func tupleUses(b ir.Block) map[*ir.Var]int {
	uses := map[*ir.Var]int{}
	note := func(v *ir.Var) {
		if v == nil {
			return
		}
		if _, ok := v.Typ.(*ir.TupleType); ok {
			uses[v]++
		}
	}
	ir.Inspect(b, func(st ir.Stmt) bool {
		for _, v := range ir.Defs(st) {
			note(v)
		}
		ir.Exprs(st, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok {
				note(v)
			}
			return true
		})
		return true
	})
	return uses
}

// assignParallel gives the names of `a, b = x, y` their values directly: all are read before any of the names gets its new version.
func (s *ssa) assignParallel(b ir.Block) ir.Block {
	tuple := b[0].(*ir.Assign)
	s.at = tuple
	var values []ir.Expr
	for _, e := range tuple.Value.(*ir.MakeTuple).Elems {
		values = append(values, s.use(e))
	}
	out := make(ir.Block, len(values))
	for i, value := range values {
		c := *b[i+1].(*ir.Assign)
		s.at = b[i+1]
		if c.Value, c.Comments = value, nil; i == 0 {
			c.Comments = tuple.Comments
		}
		v := s.vars[c.Var]
		c.Var = s.version(v, "ssa", s.assignedType(c.Var, value), c.Pos)
		s.assign(v, c.Var)
		out[i] = &c
	}
	return out
}

func (s *ssa) stmt(st ir.Stmt, yieldOK bool) ir.Stmt {
	s.at = st
	switch st := st.(type) {
	case *ir.Assign:
		c := *st
		c.Value = s.use(st.Value)
		v := s.vars[st.Var]
		c.Var = s.version(v, "ssa", s.assignedType(st.Var, c.Value), st.Pos)
		s.assign(v, c.Var)
		if k, ok := c.Value.(*ir.ConstBool); ok && !k.Value && s.flags != nil {
			s.off[c.Var] = true
		}
		return &c
	case *ir.If:
		return s.ifStmt(st)
	case *ir.For:
		return s.forStmt(st)
	case *ir.While:
		return s.whileStmt(st)
	case *ir.Scope:
		return s.scope(st, yieldOK)
	default: // Eval, Yield, Return, Branch, Verbatim: uses only
		n := s.rw.Stmt(st)
		s.checkHeader(st)
		return n
	}
}

// assignedType is the type of a new version: that of the value where it says more than the declaration.
func (s *ssa) assignedType(v *ir.Var, value ir.Expr) ir.Type {
	t := value.Type()
	switch t.(type) {
	case *ir.TensorType, *ir.TileType, *ir.TupleType:
		return t
	}
	if _, ok := value.(*ir.Var); ok {
		return t
	}
	return s.typ(v.Typ)
}

func (s *ssa) scope(st *ir.Scope, yieldOK bool) ir.Stmt {
	c := *st
	c.Launch, _ = s.rw.Launch(st.Launch)
	c.NoDep, _ = s.rw.List(st.NoDep)
	c.Attrs, _ = rewriteAttrs(&s.rw, st.Attrs)
	s.checkHeader(st)
	c.Body = s.block(st.Body, yieldOK && isTransparent(st))
	s.at = st
	if st.TaskID != nil {
		v := s.vars[st.TaskID]
		c.TaskID = s.version(v, "ssa", st.TaskID.Typ, st.TaskID.Pos)
		s.assign(v, c.TaskID)
	}
	return &c
}

// isTransparent reports a scope in which the yield of the enclosing loop or if may stand.
func isTransparent(st *ir.Scope) bool {
	return st.Kind == ir.RuntimeScope || st.Kind == ir.SplitAivScope
}

// ifStmt converts both branches from the same versions and merges those that differ.
func (s *ssa) ifStmt(st *ir.If) ir.Stmt {
	c := *st
	c.Cond = s.use(st.Cond)
	f := s.facts[st]
	want := len(st.Results)

	mark := len(s.undo)
	c.Then = s.block(st.Then, true)
	s.at = st
	s.checkYield(c.Then, want, st, "the branch")
	merged := s.mergeCandidates(f)
	then, thenOff := ends(merged), s.isOff(st)
	s.leave(mark, "one branch of the if", st)
	c.Else = s.block(st.Else, true)
	s.at = st
	if st.Else != nil || want > 0 {
		s.checkYield(c.Else, want, st, "the else branch")
	}
	els, elseOff := ends(merged), s.isOff(st) || s.flags[st].guards
	s.leave(mark, "one branch of the if", st)

	var yieldThen, yieldElse []ir.Expr
	var results []*ir.Var
	for i, v := range st.Results {
		x := s.vars[v]
		r := s.version(x, "rv", s.resultType(v, c.Then, i), v.Pos)
		results = append(results, r)
	}
	type join struct {
		v *variable
		n *ir.Var
	}
	joins := make([]join, 0, len(merged))
	for i, v := range merged {
		a, b := then[i], els[i]
		x, y := ir.Expr(a.cur), ir.Expr(b.cur)
		var t ir.Type
		switch {
		case a.cur == b.cur && !a.lost && !b.lost: // the same value whichever way, or none at all
			continue
		case a.cur != nil && b.cur != nil:
			s.checkSame(v, a.cur, b.cur, "in one branch", "in the other", st)
			t = a.cur.Typ
		default: // a path where it is not read may have anything
			z := s.standIn(v)
			okA := a.cur != nil || thenOff || s.isResult(v)
			okB := b.cur != nil || elseOff || s.isResult(v)
			if z == nil || !okA || !okB {
				s.lose(v, "one branch of the if", st)
				continue
			}
			t = s.typ(v.src.Typ)
			if a.cur == nil {
				x = z
			}
			if b.cur == nil {
				y = z
			}
		}
		n := s.version(v, "phi", t, st.Pos)
		if v.src == s.flags[st].on && thenOff && elseOff {
			s.off[n] = true
		}
		yieldThen, yieldElse, results = append(yieldThen, x), append(yieldElse, y), append(results, n)
		joins = append(joins, join{v, n})
	}
	if s.ctx.Explain != nil && len(joins) > 0 {
		vs := make([]*variable, len(joins))
		for i, j := range joins {
			vs[i] = j.v
		}
		s.ctx.Notef(st.Pos, "the branches merge %s", quoted(vs))
	}
	for i, v := range st.Results {
		s.assign(s.vars[v], results[i])
	}
	for _, j := range joins {
		s.assign(j.v, j.n)
	}
	if len(results) > 0 {
		c.Then, c.Else = addYield(c.Then, yieldThen, st.Pos), addYield(c.Else, yieldElse, st.Pos)
		c.Results = results
	}
	return &c
}

// isOff reports that the flag of an if is false here.
func (s *ssa) isOff(st *ir.If) bool {
	v := s.vars[s.flags[st].on]
	return v != nil && s.off[v.cur]
}

// isResult reports a variable that holds a result of an early return: it is assigned on every path, and read once, at the end.
func (s *ssa) isResult(v *variable) bool { return s.results[v.src] }

// resultType is the type of a result that the user named: that of the yielded value where it is known.
func (s *ssa) resultType(v *ir.Var, then ir.Block, i int) ir.Type {
	if y := ir.ClosingYield(then); y != nil && i < len(y.Values) {
		switch t := y.Values[i].Type().(type) {
		case *ir.TensorType, *ir.TileType:
			return t
		}
	}
	return s.typ(v.Typ)
}

// mergeCandidates are the variables assigned in an if and read after it, by name.
func (s *ssa) mergeCandidates(f *facts) []*variable {
	var vs []*variable
	for _, d := range f.defs {
		if d.live {
			vs = append(vs, d.variable)
		}
	}
	sortByName(vs)
	return vs
}

func sortByName(vs []*variable) {
	slices.SortFunc(vs, func(a, b *variable) int {
		return cmp.Or(strings.Compare(ir.BaseName(a.src.Hint), ir.BaseName(b.src.Hint)), cmp.Compare(a.order, b.order))
	})
}

// end is the state of a variable at the end of a branch.
type end struct {
	cur  *ir.Var
	lost bool
}

func ends(vs []*variable) []end {
	out := make([]end, len(vs))
	for i, v := range vs {
		out[i] = end{v.cur, v.lost}
	}
	return out
}
