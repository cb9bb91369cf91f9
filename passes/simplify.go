package passes

import (
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Simplify folds what is known (spec: passes-codegen 1.4 no. 5; behaviours P-SIM-*). It runs on SSA form, twice in the pipeline.
//
//   - Every scalar expression becomes its canonical form (ir.Simplify). A scalar that folds to a literal or to another Var disappears into its
//     uses, types included.
//   - An if with a known condition becomes the branch that is taken. A sequential loop without attributes that runs zero times or once
//     becomes nothing or its body. The results become what was yielded.
//   - A scalar that nothing reads is dropped, unless computing it calls something or it is a TaskId. Deps, predicates, core counts, dumps,
//     types and attributes count as reads.
//
// A predicate keeps the shape that the user wrote, since the generator decomposes it.
var simplify = &Pass{
	Name:     "Simplify",
	Doc:      "fold constants, known branches and short loops; drop unused scalars",
	Requires: []ir.Property{ir.SSAForm},
	Run:      runSimplify,
}

// runSimplify gives the results of branches and loops that are gone the names of what they are. A tensor may be read by such a name after a task was
// given it to write, which would look like a stale read of the user's (InOutUseValid): then tensors keep their names. So whether a program
// is accepted does not depend on what folds.
func runSimplify(ctx *Context, p *ir.Program) (*ir.Program, error) {
	calls := newCallTable(ctx, p)
	return mapFuncs(p, func(f *ir.Function) *ir.Function {
		quiet := *ctx
		quiet.Explain = nil
		g, renamed := simplifyFunc(&quiet, f, false)
		stale := len(renamed) > 0 && readsStale(calls, g.Body, renamed)
		if g == f || !stale && ctx.Explain == nil {
			return g
		}
		g, _ = simplifyFunc(ctx, f, stale)
		return g
	}), nil
}

func simplifyFunc(ctx *Context, f *ir.Function, keepTensors bool) (g *ir.Function, renamed map[*ir.Var]bool) {
	s := &simplifier{ctx: ctx, keepTensors: keepTensors, values: map[*ir.Var]ir.Expr{}, bounds: ir.Bounds{}, renamed: map[*ir.Var]bool{}}
	s.rw = ir.Rewriter{Var: s.standsFor, Expr: s.replace}
	body := s.block(f.Body)
	body = dropUnused(f, body)
	if sameBlock(body, f.Body) {
		return f, nil
	}
	out := *f
	out.Body = body
	return &out, s.renamed
}

// readsStale reports that one of vs is read, in the order of the text, after a call or op that was given it to write.
func readsStale(calls *callTable, b ir.Block, vs map[*ir.Var]bool) bool {
	written, stale := map[*ir.Var]bool{}, false
	ir.Inspect(b, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && written[v] {
				stale = true
			}
			return !stale
		})
		calls.accesses(s, func(v *ir.Var, e ops.Effect) {
			if e != ops.Read && e != ops.Untouched {
				written[v] = vs[v]
			}
		})
		return !stale
	})
	return stale
}

type simplifier struct {
	ctx         *Context
	keepTensors bool                // tensors of results that are gone stay Vars
	values      map[*ir.Var]ir.Expr // what a Var stands for: a literal, another Var, or itself with another type
	renamed     map[*ir.Var]bool    // tensors that took the place of results
	bounds      ir.Bounds           // of loop variables
	rw          ir.Rewriter
}

// standsFor serves the places that hold a Var and nothing else.
func (s *simplifier) standsFor(v *ir.Var) *ir.Var { n, _ := s.values[v].(*ir.Var); return n }

func (s *simplifier) replace(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Var:
		if x, ok := s.values[e]; ok {
			return x
		}
	case *ir.TupleGet:
		if t, ok := e.X.(*ir.MakeTuple); ok && e.Index < len(t.Elems) {
			return t.Elems[e.Index]
		}
	}
	return e
}

// expr substitutes in e and simplifies its scalar parts.
func (s *simplifier) expr(e ir.Expr) ir.Expr {
	if e == nil {
		return nil
	}
	return s.canonical(s.rw.Rewrite(e))
}

func (s *simplifier) canonical(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Binary, *ir.Unary, *ir.Cast:
		return ir.SimplifyWithin(e, s.bounds)
	}
	return withOperands(e, s.canonical)
}

// typ substitutes in a type and simplifies its extents.
func (s *simplifier) typ(t ir.Type) ir.Type {
	if len(s.values) == 0 {
		return t
	}
	if n := s.rw.Type(t); n != t {
		return ir.SimplifyType(n)
	}
	return t
}

// def returns the Var that is defined in place of v: another one when its type changed.
func (s *simplifier) def(v *ir.Var) *ir.Var {
	if v == nil {
		return nil
	}
	t := s.typ(v.Typ)
	if t == v.Typ {
		return v
	}
	n := *v
	n.Typ = t
	s.values[v] = &n
	return &n
}

func (s *simplifier) block(b ir.Block) ir.Block { return rewriteBlock(b, s.stmt) }

func (s *simplifier) stmt(st ir.Stmt) ([]ir.Stmt, bool) {
	switch st := st.(type) {
	case *ir.Assign:
		value := s.expr(st.Value)
		if x := forwarded(st.Var, value); x != nil {
			s.values[st.Var] = x
			return nil, true
		}
		if v := s.def(st.Var); v != st.Var || value != st.Value {
			c := *st
			c.Var, c.Value = v, value
			return []ir.Stmt{&c}, true
		}
	case *ir.Eval, *ir.Yield, *ir.Return:
		n := withExprs(st, s.expr)
		return []ir.Stmt{n}, n != st
	case *ir.If:
		return s.ifStmt(st)
	case *ir.For:
		return s.forStmt(st)
	case *ir.While:
		return s.whileStmt(st)
	case *ir.Scope:
		c := *st
		launch, c1 := s.rw.Launch(st.Launch)
		nodep, c2 := s.rw.List(st.NoDep)
		attrs, c3 := rewriteAttrs(&s.rw, st.Attrs)
		c.Launch, c.NoDep, c.Attrs = launch, nodep, attrs
		c.Launch.CoreNum = s.canonical(launch.CoreNum)
		c.Body = s.block(st.Body)
		c.TaskID = s.def(st.TaskID)
		if c1 || c2 || c3 || c.Launch.CoreNum != st.Launch.CoreNum || c.TaskID != st.TaskID || !sameBlock(c.Body, st.Body) {
			return []ir.Stmt{&c}, true
		}
	}
	return []ir.Stmt{st}, false
}

// forwarded returns what takes the place of a scalar everywhere: the literal or the Var that it is equal to. Nil: the assignment stays.
func forwarded(v *ir.Var, value ir.Expr) ir.Expr {
	t, ok := v.Typ.(*ir.ScalarType)
	if !ok {
		return nil
	}
	switch x := value.(type) {
	case *ir.Var:
		if u, ok := x.Typ.(*ir.ScalarType); ok && u.DType == t.DType {
			return x
		}
	case *ir.ConstInt:
		if x.DType == t.DType {
			return x
		}
		if t.DType.IsInt() {
			return &ir.ConstInt{Value: x.Value, DType: t.DType, Pos: x.Pos}
		}
	case *ir.ConstFloat:
		if x.DType == t.DType {
			return x
		}
	case *ir.ConstBool:
		if t.DType == ir.BOOL {
			return x
		}
	}
	return nil
}

// settle gives the results of a statement that is gone their values: Vars and literals take their place, anything else is assigned.
func (s *simplifier) settle(results []*ir.Var, values []ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for i, r := range results {
		if i >= len(values) {
			break
		}
		x := values[i]
		if v, ok := x.(*ir.Var); ok && !isScalar(v.Typ) && !(s.keepTensors && ir.IsTensor(v.Typ)) {
			s.values[r] = v
			s.renamed[v] = ir.IsTensor(v.Typ)
		} else if y := forwarded(r, x); y != nil {
			s.values[r] = y
		} else {
			out = append(out, &ir.Assign{Var: s.def(r), Value: x, Pos: x.Span()})
		}
	}
	return out
}

func (s *simplifier) ifStmt(st *ir.If) ([]ir.Stmt, bool) {
	cond := s.expr(st.Cond)
	if k, ok := cond.(*ir.ConstBool); ok {
		taken := st.Then
		if !k.Value {
			taken = st.Else
		}
		s.ctx.Note(st.Pos, fmt.Sprintf("the condition is always %v: the other branch is dropped", k.Value))
		return s.inlined(taken, st.Results), true
	}
	c := *st
	c.Cond, c.Then, c.Else = cond, s.block(st.Then), s.block(st.Else)
	changed := cond != st.Cond || !sameBlock(c.Then, st.Then) || !sameBlock(c.Else, st.Else)
	if rs, ok := mapList(st.Results, s.def); ok {
		c.Results, changed = rs, true
	}
	if !changed {
		return []ir.Stmt{st}, false
	}
	return []ir.Stmt{&c}, true
}

// inlined is a body that runs exactly once, without its yield, whose values become those of the results.
func (s *simplifier) inlined(b ir.Block, results []*ir.Var) []ir.Stmt {
	var values []ir.Expr
	out := editEnd(s.block(b), func(b ir.Block, y *ir.Yield) ir.Block {
		if y != nil {
			values = y.Values
		}
		return b
	})
	return append(out[:len(out):len(out)], s.settle(results, values)...)
}

func (s *simplifier) forStmt(st *ir.For) ([]ir.Stmt, bool) {
	c := *st
	c.Start, c.Stop, c.Step = s.expr(st.Start), s.expr(st.Stop), s.expr(st.Step)
	inits := make([]ir.Expr, len(st.Carries))
	for i, k := range st.Carries {
		inits[i] = s.expr(k.Init)
	}
	trips, known := constTrips(&c)
	if known && trips <= 1 && st.Kind == ir.Sequential && len(st.Attrs) == 0 && !hasBranch(st.Body) {
		results := ir.Defs(st)
		s.ctx.Note(st.Pos, fmt.Sprintf("the loop runs %d times: it is replaced by that many copies of its body", trips))
		if trips == 0 {
			return s.settle(results, inits), true
		}
		iters := []*ir.Var{st.Var}
		for _, k := range st.Carries {
			iters = append(iters, k.Iter)
		}
		pre := s.settle(iters, append([]ir.Expr{c.Start}, inits...))
		return append(pre, s.inlined(st.Body, results)...), true
	}

	changed := c.Start != st.Start || c.Stop != st.Stop || c.Step != st.Step
	c.Var = s.def(st.Var)
	if r, ok := ir.LoopInterval(&c); ok {
		s.bounds[c.Var] = r
	}
	attrs, c1 := rewriteAttrs(&s.rw, st.Attrs)
	c.Attrs = attrs
	body, carries, c2 := s.loop(st.Body, st.Carries, inits)
	c.Body, c.Carries = body, carries
	if !changed && !c1 && !c2 && c.Var == st.Var && sameBlock(c.Body, st.Body) {
		return []ir.Stmt{st}, false
	}
	return []ir.Stmt{&c}, true
}

func (s *simplifier) whileStmt(st *ir.While) ([]ir.Stmt, bool) {
	inits := make([]ir.Expr, len(st.Carries))
	for i, k := range st.Carries {
		inits[i] = s.expr(k.Init)
	}
	if k, ok := st.Cond.(*ir.ConstBool); ok && !k.Value {
		return s.settle(ir.Defs(st), inits), true
	}
	c := *st
	// The condition reads the Iter Vars, which may get new types: it comes after them.
	body, carries, changed := s.loopWith(st.Body, st.Carries, inits, func() { c.Cond = s.expr(st.Cond) })
	c.Body, c.Carries = body, carries
	if !changed && c.Cond == st.Cond && sameBlock(c.Body, st.Body) {
		return []ir.Stmt{st}, false
	}
	return []ir.Stmt{&c}, true
}

func (s *simplifier) loop(b ir.Block, cs []ir.Carry, inits []ir.Expr) (ir.Block, []ir.Carry, bool) {
	return s.loopWith(b, cs, inits, nil)
}

// loopWith simplifies the carries and the body of a loop that stays; inside runs once the Iter Vars are known.
func (s *simplifier) loopWith(b ir.Block, cs []ir.Carry, inits []ir.Expr, inside func()) (ir.Block, []ir.Carry, bool) {
	out, changed := cs, false
	set := func(i int, c ir.Carry) {
		if c != cs[i] {
			if !changed {
				out, changed = append([]ir.Carry(nil), cs...), true
			}
			out[i] = c
		}
	}
	for i, c := range cs {
		c.Init, c.Iter = inits[i], s.def(c.Iter)
		set(i, c)
	}
	if inside != nil {
		inside()
	}
	b = s.block(b)
	for i := range cs {
		if r := s.def(cs[i].Result); r != cs[i].Result {
			c := out[i]
			c.Result = r
			set(i, c)
		}
	}
	return b, out, changed
}

// hasBranch reports a break or continue of this loop.
func hasBranch(b ir.Block) bool {
	found := false
	ir.Inspect(b, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.Branch:
			found = true
		case *ir.For, *ir.While:
			return false
		}
		return !found
	})
	return found
}
