package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// How AutoDeriveTaskDependencies names the task of another block: an id node says how an id travels, and rewrite makes the Vars for those that are
// needed.

type idKind uint8

const (
	idOfTask idKind = iota
	idOfBranch
	idOfLoop // after the loop
	idOfIter // inside, of the trips before
	idOfAll  // a dummy task that waits for an array of ids
)

// idNode is one way to name the id of a task. Nodes of loops and branches wrap the node that the inner block knows.
type idNode struct {
	kind   idKind
	task   *depTask
	inner  *idNode
	stmt   ir.Stmt // idOfBranch: the If; idOfLoop: the loop; idOfAll: the loop it follows
	branch int
	other  *idNode // idOfBranch: the id on the other path, nil for none
	before *idNode // idOfLoop with chain: the id when the loop does not run, nil for none
	chain  bool    // idOfLoop: one id is enough; else an array with a slot per trip
	trips  int64
	known  bool
	par    bool

	v, iter *ir.Var // idOfLoop: result and iteration Var
	wanted  bool
}

// lost says why an id cannot be named, "" when it can.
func (n *idNode) lost() string {
	switch n.kind {
	case idOfAll, idOfIter:
		return n.inner.lost()
	case idOfBranch:
		why := n.inner.lost()
		if why == "" && n.other != nil {
			why = n.other.lost()
		}
		return why
	case idOfLoop:
		why := n.inner.lost()
		if why == "" && n.before != nil {
			why = n.before.lost()
		}
		if why != "" || n.chain {
			return why
		}
		if n.gathers() {
			return ""
		}
		if !n.known {
			return "tasks of a loop with an unknown number of trips are not ordered"
		}
		if n.trips > maxSlots {
			return fmt.Sprintf("a loop of %d trips needs too many ids", n.trips)
		}
	}
	return ""
}

// steady reports an id that every trip of a surrounding loop really sets.
func (n *idNode) steady() bool {
	switch n.kind {
	case idOfTask:
		return true
	case idOfLoop:
		return n.known && n.trips > 0 && n.inner.steady()
	case idOfAll, idOfIter:
		return n.inner.steady()
	}
	return false
}

// many reports that the node names an array of ids.
func (n *idNode) many() bool {
	if n.kind == idOfIter {
		return n.inner.many()
	}
	return n.kind == idOfLoop && !n.chain && !n.gathers()
}

// gathers reports a parallel loop of unknown trip count: its ids are gathered while it runs, for a dummy task after it (ir.GatherSlots).
func (n *idNode) gathers() bool { return n.kind == idOfLoop && n.par && !n.known && !n.chain }

func (n *idNode) describe() string {
	switch n.kind {
	case idOfTask:
		return n.task.call.Callee
	case idOfBranch:
		return n.inner.describe() + " of a branch"
	case idOfLoop:
		if n.chain {
			return "the last " + n.inner.describe() + " of a loop"
		}
		return "every " + n.inner.describe() + " of a loop"
	case idOfIter:
		return n.inner.inner.describe() + " of earlier trips"
	}
	return n.inner.describe()
}

// idPlan holds the nodes of one region, by the statement that has to export them.
type idPlan struct {
	branches map[*ir.If][]*idNode
	loops    map[ir.Stmt][]*idNode
	alls     map[ir.Stmt][]*idNode // dummy tasks after a loop
	iters    map[*idNode]*idNode
	all      map[*idNode]*idNode
}

func newIDPlan() idPlan {
	return idPlan{branches: map[*ir.If][]*idNode{}, loops: map[ir.Stmt][]*idNode{}, alls: map[ir.Stmt][]*idNode{}, iters: map[*idNode]*idNode{}, all: map[*idNode]*idNode{}}
}

func (p *idPlan) branch(s *ir.If, branch int, inner, other *idNode) *idNode {
	n := &idNode{kind: idOfBranch, stmt: s, branch: branch, inner: p.single(inner)}
	if other != nil {
		n.other = p.single(other)
	}
	p.branches[s] = append(p.branches[s], n)
	return n
}

func (p *idPlan) loop(s ir.Stmt, inner *idNode, trips int64, known, parallel bool) *idNode {
	n := &idNode{kind: idOfLoop, stmt: s, inner: p.single(inner), trips: trips, known: known, par: parallel}
	p.loops[s] = append(p.loops[s], n)
	return n
}

// iter names the trips before, inside the loop.
func (p *idPlan) iter(loop *idNode) *idNode {
	n := p.iters[loop]
	if n == nil {
		n = &idNode{kind: idOfIter, inner: loop}
		p.iters[loop] = n
	}
	return n
}

// single turns the array of an inner loop into one id, by a dummy task after that loop.
func (p *idPlan) single(inner *idNode) *idNode {
	if inner.kind != idOfLoop {
		return inner
	}
	n := p.all[inner]
	if n == nil {
		n = &idNode{kind: idOfAll, inner: inner, stmt: inner.stmt}
		p.all[inner] = n
		p.alls[inner.stmt] = append(p.alls[inner.stmt], n)
	}
	return n
}

// want makes the Vars of a node and of what it wraps, and returns the Var that names it.
func (n *idNode) want() *ir.Var {
	switch n.kind {
	case idOfTask:
		t := n.task
		t.want = true
		if t.id == nil {
			t.id = &ir.Var{Hint: taskName(t) + "_tid", Typ: ir.TaskIDType, Pos: t.call.Pos}
		}
		return t.id
	case idOfIter:
		n.inner.want()
		return n.inner.iter
	case idOfAll:
		if !n.inner.many() {
			return n.inner.want()
		}
	}
	if n.wanted {
		return n.v
	}
	n.wanted = true
	in := n.inner.want()
	name := ir.BaseName(in.Hint)
	at := in.Pos
	switch n.kind {
	case idOfBranch:
		if n.other != nil {
			n.other.want()
		}
		n.v = &ir.Var{Hint: name + "__phi_v0", Typ: ir.TaskIDType, Pos: at}
	case idOfAll:
		n.v = &ir.Var{Hint: name + "__all_tmp_v0", Typ: ir.TaskIDType, Pos: at}
	case idOfLoop:
		if n.before != nil {
			n.before.want()
		}
		var t ir.Type = ir.TaskIDType
		if n.many() {
			t = &ir.ArrayType{Len: n.trips, DType: ir.TASK_ID}
		}
		n.iter = &ir.Var{Hint: name + "__iter_v0", Typ: t, Pos: at}
		n.v = &ir.Var{Hint: name + "__rv_v1", Typ: t, Pos: at}
	}
	return n.v
}

// taskName names a task after what it writes.
func taskName(t *depTask) string {
	if a, ok := t.stmt.(*ir.Assign); ok && !isTuple(a.Var.Typ) {
		return ir.BaseName(a.Var.Hint)
	}
	for i, d := range t.call.Dirs {
		if d == ir.DirInput || d == ir.DirScalar {
			continue
		}
		if v, ok := t.call.Args[i].(*ir.Var); ok {
			return ir.BaseName(v.Hint)
		}
	}
	return t.call.Callee
}

// rewrite builds the region with its edges; covered slots leave tracking when the region is covered.
func (r *depRegion) rewrite(b ir.Block, covered bool) ir.Block {
	// Walk edges in program order, so that names and Vars do not depend on chance.
	deps := map[*depTask][]*ir.Var{}
	for _, e := range r.edges {
		v := e.from.want()
		if !slices.Contains(deps[e.to], v) {
			deps[e.to] = append(deps[e.to], v)
		}
	}
	w := &depRewriter{r: r, covered: covered, deps: deps, tuples: map[*ir.Var]*ir.Var{}}
	out := w.block(b)
	if len(w.tuples) == 0 {
		return out
	}
	rw := &ir.Rewriter{Var: func(v *ir.Var) *ir.Var { return w.tuples[v] }}
	return rw.Block(out)
}

type depRewriter struct {
	r       *depRegion
	covered bool
	deps    map[*depTask][]*ir.Var
	tuples  map[*ir.Var]*ir.Var // results of calls that became submits
	temps   int
}

func (w *depRewriter) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if c := callOf(s); c != nil {
			return w.launch(s, c)
		}
		switch s := s.(type) {
		case *ir.If:
			return w.branches(s)
		case *ir.For:
			n := *s
			n.Body = w.block(s.Body)
			pre, carries, body := w.loop(s, n.Body, s.Pos)
			if sameBlock(body, s.Body) && len(carries) == 0 {
				return nil, false
			}
			n.Carries, n.Body = append(slices.Clip(s.Carries), carries...), body
			return append(append(pre, &n), w.dummies(s)...), true
		case *ir.While:
			n := *s
			n.Body = w.block(s.Body)
			pre, carries, body := w.loop(s, n.Body, s.Pos)
			if sameBlock(body, s.Body) && len(carries) == 0 {
				return nil, false
			}
			n.Carries, n.Body = append(slices.Clip(s.Carries), carries...), body
			return append(append(pre, &n), w.dummies(s)...), true
		case *ir.Scope:
			if s.Kind == ir.RuntimeScope {
				return nil, false
			}
			n := withBlocks(s, w.block)
			return []ir.Stmt{n}, n != ir.Stmt(s)
		}
		return nil, false
	})
}

// launch adds edges to a task, and makes its id.
func (w *depRewriter) launch(s ir.Stmt, c *ir.Call) ([]ir.Stmt, bool) {
	t := w.r.byCall[c]
	if t == nil {
		return nil, false
	}
	n := *c
	n.CompilerDeps = w.deps[t]
	if w.covered {
		for i, d := range c.Dirs {
			if !t.covered[i] || !w.r.leaves(t, i) {
				continue
			}
			if len(n.Dirs) > 0 && &n.Dirs[0] == &c.Dirs[0] {
				n.Dirs = slices.Clone(c.Dirs)
			}
			switch d {
			case ir.DirInput:
				n.Dirs[i] = ir.DirNoDep
			case ir.DirInOut:
				n.Dirs[i] = ir.DirOutputExisting
			}
		}
	}
	if !t.want {
		return []ir.Stmt{withValue(s, &n)}, true
	}
	return w.identify(s, &n, t), true
}

// identify turns a launch into a submit whose id is bound.
func (w *depRewriter) identify(s ir.Stmt, n *ir.Call, t *depTask) []ir.Stmt {
	a, assigned := s.(*ir.Assign)
	if n.Submit && assigned && w.r.userIDs[a.Var] == t.id {
		return []ir.Stmt{withValue(s, n)}
	}
	at := n.Pos
	getID := func(tuple *ir.Var) ir.Stmt {
		last := len(tuple.Typ.(*ir.TupleType).Elems) - 1
		return &ir.Assign{Var: t.id, Value: &ir.TupleGet{X: tuple, Index: last, Pos: at}, Pos: at}
	}
	if n.Submit && assigned { // an id that nobody bound
		return []ir.Stmt{withValue(s, n), getID(a.Var)}
	}
	var elems []ir.Type
	switch {
	case n.Submit:
		elems = n.Typ.(*ir.TupleType).Elems
	case assigned && isTuple(a.Var.Typ):
		elems = append(slices.Clip(a.Var.Typ.(*ir.TupleType).Elems), ir.TaskIDType)
	case assigned:
		elems = []ir.Type{a.Var.Typ, ir.TaskIDType}
	default:
		if f := w.r.calls.byName[n.Callee]; f != nil {
			elems = slices.Clone(f.Returns)
		}
		elems = append(elems, ir.TaskIDType)
	}
	n.Submit, n.Typ = true, &ir.TupleType{Elems: elems}
	if assigned && isTuple(a.Var.Typ) {
		v := *a.Var
		v.Typ = n.Typ
		w.tuples[a.Var] = &v
		c := *a
		c.Var, c.Value = &v, n
		return []ir.Stmt{&c, getID(&v)}
	}
	tuple := &ir.Var{Hint: fmt.Sprintf("task__tmp_v%d", w.temps), Typ: n.Typ, Pos: at}
	w.temps++
	first := &ir.Assign{Var: tuple, Value: n, Pos: at}
	out := []ir.Stmt{first}
	switch x := s.(type) {
	case *ir.Assign:
		first.Comments = x.Comments
		out = append(out, &ir.Assign{Var: x.Var, Value: &ir.TupleGet{X: tuple, Index: 0, Pos: at}, Pos: x.Pos})
	case *ir.Eval:
		first.Comments = x.Comments
	}
	return append(out, getID(tuple))
}

// noTask defines an id that names no task.
func (w *depRewriter) noTask(at diag.Span) (*ir.Assign, *ir.Var) {
	v := &ir.Var{Hint: fmt.Sprintf("no_task__tmp_v%d", w.temps), Typ: ir.TaskIDType, Pos: at}
	w.temps++
	return &ir.Assign{Var: v, Value: &ir.OpCall{Op: "system.task_invalid", Typ: ir.TaskIDType, Pos: at}, Pos: at}, v
}

func (w *depRewriter) branches(s *ir.If) ([]ir.Stmt, bool) {
	n := *s
	n.Then, n.Else = w.block(s.Then), w.block(s.Else)
	var results []*ir.Var
	values := [2][]ir.Expr{}
	var none [2]*ir.Assign
	for _, x := range w.r.ids.branches[s] {
		if !x.wanted {
			continue
		}
		results = append(results, x.v)
		other := 1 - x.branch
		values[x.branch] = append(values[x.branch], x.inner.want())
		if x.other != nil {
			values[other] = append(values[other], x.other.want())
			continue
		}
		if none[other] == nil {
			none[other], _ = w.noTask(s.Pos)
		}
		values[other] = append(values[other], none[other].Var)
	}
	if len(results) > 0 {
		n.Results = append(slices.Clip(s.Results), results...)
		n.Then = withIDs(n.Then, none[0], values[0], s.Pos)
		n.Else = withIDs(n.Else, none[1], values[1], s.Pos)
	}
	return []ir.Stmt{&n}, len(results) > 0 || !sameBlock(n.Then, s.Then) || !sameBlock(n.Else, s.Else)
}

// withIDs appends ids to what a branch yields.
func withIDs(b ir.Block, none *ir.Assign, values []ir.Expr, at diag.Span) ir.Block {
	if none != nil {
		b = append(ir.Block{none}, b...)
	}
	return addYield(b, values, at)
}

// loop gives the carries that export the ids of a loop: statements before it, carries, and the new body.
func (w *depRewriter) loop(s ir.Stmt, body ir.Block, at diag.Span) ([]ir.Stmt, []ir.Carry, ir.Block) {
	var pre []ir.Stmt
	var carries []ir.Carry
	var values []ir.Expr
	var updates []ir.Stmt
	for _, x := range w.r.ids.loops[s] {
		if !x.wanted {
			continue
		}
		c := ir.Carry{Iter: x.iter, Result: x.v}
		in := x.inner.want()
		if x.many() {
			init := &ir.Var{Hint: ir.BaseName(in.Hint) + "__tmp_v0", Typ: x.v.Typ, Pos: at}
			pre = append(pre, &ir.Assign{Var: init, Pos: at, Value: &ir.OpCall{Op: "array.create", Args: []ir.Expr{ir.Int(x.trips)},
				Kwargs: ir.Kwargs{{Name: "dtype", Value: ir.TASK_ID}}, Typ: x.v.Typ, Pos: at}})
			c.Init = init
			next := &ir.Var{Hint: ir.BaseName(in.Hint) + "__ssa_v2", Typ: x.v.Typ, Pos: at}
			updates = append(updates, &ir.Assign{Var: next, Pos: at, Value: &ir.OpCall{Op: "array.update_element",
				Args: []ir.Expr{x.iter, slotOf(s.(*ir.For)), in}, Typ: x.v.Typ, Pos: at}})
			values = append(values, next)
		} else {
			if x.before != nil {
				c.Init = x.before.want()
			} else {
				st, v := w.noTask(at)
				pre = append(pre, st)
				c.Init = v
			}
			values = append(values, in)
			if x.gathers() {
				c.Slots = ir.GatherSlots
			}
		}
		carries = append(carries, c)
	}
	if len(carries) == 0 {
		return nil, nil, body
	}
	if len(updates) > 0 {
		body = editEnd(body, func(stmts ir.Block, y *ir.Yield) ir.Block {
			out := append(slices.Clone(stmts), updates...)
			if y != nil {
				out = append(out, y)
			}
			return out
		})
	}
	return pre, carries, addYield(body, values, at)
}

// slotOf is the trip number of a loop as an expression.
func slotOf(f *ir.For) ir.Expr {
	start, _ := constInt(f.Start)
	step, _ := constInt(f.Step)
	var e ir.Expr = f.Var
	if start != 0 {
		e = &ir.Binary{Op: ir.Sub, X: e, Y: ir.Int(start), DType: ir.INDEX, Pos: f.Pos}
	}
	if step != 1 {
		e = &ir.Binary{Op: ir.FloorDiv, X: e, Y: ir.Int(step), DType: ir.INDEX, Pos: f.Pos}
	}
	return e
}

// dummies are the tasks after a loop that gather its ids.
func (w *depRewriter) dummies(s ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, x := range w.r.ids.alls[s] {
		if x.wanted && x.inner.many() {
			out = append(out, &ir.Assign{Var: x.v, Value: dummyTask([]ir.Expr{x.inner.v}, s.Span()), Pos: s.Span()})
		}
	}
	return out
}
