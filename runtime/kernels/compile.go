package kernels

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// slotKind is the kind of value that a variable holds.
type slotKind uint8

const (
	noSlot slotKind = iota // nothing that the evaluator needs: task ids, contexts
	intSlot
	floatSlot
	regionSlot
	arraySlot
	tupleSlot
)

// slot is where a variable lives.
type slot struct {
	kind  slotKind
	i     int
	elems []slot // tupleSlot
}

// compiler turns one function into steps. Calls are compiled in place, each with variables of its own.
type compiler struct {
	p      *Program
	k      *kernel
	fn     *ir.Function
	env    map[*ir.Var]slot
	code   *[]step
	yields []slot // where the innermost Yield puts its values
	rets   []slot // where Return of an inlined callee puts its values; nil in the kernel itself
	inline bool
	stack  []string // functions being compiled, against recursion
	life   *lifetimes
	here   diag.Span // the statement
	err    *diag.Diagnostic
}

// compile makes the kernel of a function. The error, if any, is kept in the kernel. A panic is a mistake of the evaluator, as in exec.
func (p *Program) compile(name string) (k *kernel) {
	k = &kernel{name: name}
	defer func() {
		if x := recover(); x != nil {
			k.err = diag.Errorf(CodeInternal, k.pos, "kernel '%s': internal error of the evaluator: %v", name, x)
		}
	}()
	f := p.funcs[name]
	switch {
	case f == nil:
		k.err = diag.Errorf(CodeNoKernel, diag.Span{}, "the program has no function '%s'", name)
		return k
	case f.External != nil:
		k.err = diag.Errorf(CodeNoKernel, f.Pos, "kernel '%s' is C++ (%s): it has to be compiled, there is no body to evaluate", name, f.External.Source)
		return k
	}
	k.pos = f.Pos
	c := &compiler{p: p, k: k, fn: f, env: map[*ir.Var]slot{}, code: &k.body, stack: []string{name}, life: lifetimesOf(f), here: f.Pos}
	c.parameters()
	c.block(f.Body)
	if c.err != nil {
		c.err.Message = "kernel '" + name + "': " + c.err.Message
		k.err = c.err
	}
	return k
}

// parameters gives the parameters and dynamic dimensions of a kernel their slots.
func (c *compiler) parameters() {
	for _, p := range c.fn.Params {
		s := c.define(p.Var)
		x := param{name: ir.BaseName(p.Var.Hint), pos: p.Var.Pos, slot: s, dtype: ir.ElemDType(p.Var.Typ)}
		if !x.pos.IsValid() {
			x.pos = c.fn.Pos
		}
		if x.tensor, _ = p.Var.Typ.(*ir.TensorType); x.tensor != nil {
			c.k.outs = append(c.k.outs, p.Dir == ir.Out)
		}
		c.k.params = append(c.k.params, x)
	}
	c.dimensions()
}

// dimensions binds symbols that name an extent of a tensor parameter: the first parameter that has it as a bare axis.
func (c *compiler) dimensions() {
	for _, p := range c.fn.Params {
		t, ok := p.Var.Typ.(*ir.TensorType)
		if !ok {
			continue
		}
		for a, d := range t.Shape {
			v, ok := d.(*ir.Var)
			if !ok {
				continue
			}
			if _, known := c.env[v]; known {
				continue
			}
			b := dimBinding{c.define(v).i, c.env[p.Var].i, a}
			if c.inline {
				c.emit(func(m *machine) { m.ints[b.slot] = int64(m.regs[b.reg].shape[b.axis]) })
			} else {
				c.k.dims = append(c.k.dims, b)
			}
		}
	}
	for _, p := range c.fn.Params {
		t, ok := p.Var.Typ.(*ir.TensorType)
		if !ok || t.View == nil || t.View.ValidShape == nil || c.inline {
			continue
		}
		v := validBinding{reg: c.env[p.Var].i}
		for _, d := range t.View.ValidShape {
			v.dims = append(v.dims, c.intExpr(d))
		}
		c.k.valids = append(c.k.valids, v)
	}
}

// errorf records the first mistake of the function.
func (c *compiler) errorf(code diag.Code, at diag.Span, format string, args ...any) {
	if c.err == nil {
		c.err = diag.Errorf(code, c.site("", at).pos, format, args...)
	}
}

// site is a place for reports; an expression without one stands for its statement.
func (c *compiler) site(op string, at diag.Span) *site {
	if !at.IsValid() {
		at = c.here
	}
	return &site{op, at}
}

func (c *compiler) emit(s step) { *c.code = append(*c.code, s) }

// nested compiles f into a list of its own.
func (c *compiler) nested(f func()) []step {
	var list []step
	old := c.code
	c.code = &list
	f()
	c.code = old
	return list
}

// newSlot makes room for a value of a type.
func (c *compiler) newSlot(t ir.Type) slot {
	next := func(n *int) int { *n++; return *n - 1 }
	switch t := t.(type) {
	case *ir.ScalarType:
		switch {
		case t.DType == ir.TASK_ID:
			return slot{}
		case isFloat(t.DType):
			return slot{kind: floatSlot, i: next(&c.k.floats)}
		}
		return slot{kind: intSlot, i: next(&c.k.ints)}
	case *ir.TensorType, *ir.TileType:
		return slot{kind: regionSlot, i: next(&c.k.regs)}
	case *ir.ArrayType:
		return slot{kind: arraySlot, i: next(&c.k.arrays)}
	case *ir.TupleType:
		s := slot{kind: tupleSlot}
		for _, e := range t.Elems {
			s.elems = append(s.elems, c.newSlot(e))
		}
		return s
	}
	return slot{}
}

// define gives a variable its slot; a variable assigned again keeps it.
func (c *compiler) define(v *ir.Var) slot {
	s, ok := c.env[v]
	if !ok {
		s = c.newSlot(v.Typ)
		c.env[v] = s
	}
	return s
}

// block compiles statements and forgets tiles after their last use.
func (c *compiler) block(b ir.Block) {
	for k, s := range b {
		if c.err != nil {
			return
		}
		c.stmt(s)
		for _, v := range c.life.ending(b, k) {
			if s, ok := c.env[v]; ok && s.kind == regionSlot {
				c.emit(func(m *machine) { m.drop(s.i) })
			}
		}
	}
}

func (c *compiler) stmt(s ir.Stmt) {
	if s.Span().IsValid() {
		c.here = s.Span()
	}
	switch s := s.(type) {
	case *ir.Assign:
		c.value(s.Value, c.define(s.Var))
	case *ir.Eval:
		c.value(s.X, c.newSlot(s.X.Type()))
	case *ir.If:
		c.ifStmt(s)
	case *ir.For:
		c.forStmt(s)
	case *ir.While:
		c.whileStmt(s)
	case *ir.Yield:
		c.assignAll(s.Values, c.yields, s.Pos)
	case *ir.Return:
		if c.inline {
			c.assignAll(s.Values, c.rets, s.Pos)
		}
		c.emit(func(m *machine) { m.stop = stopReturn })
	case *ir.Branch:
		why := stopBreak
		if s.Continue {
			why = stopContinue
		}
		c.emit(func(m *machine) { m.stop = why })
	case *ir.Scope:
		c.scope(s)
	default:
		c.errorf(CodeExpr, s.Span(), "a %T cannot stand in a kernel", s)
	}
}

// scope: regions are transparent to a kernel, except that split_aiv runs once for each lane when the kernel has both.
func (c *compiler) scope(s *ir.Scope) {
	if s.Kind != ir.SplitAivScope || c.fn.Type == ir.AIV {
		c.block(s.Body)
		return
	}
	body := c.nested(func() { c.block(s.Body) })
	c.emit(func(m *machine) {
		old := m.sub
		for lane := range 2 {
			m.sub = lane
			m.run(body)
			if m.err != nil || m.stop != goOn {
				break
			}
		}
		m.sub = old
	})
}

// assignAll sets several targets at once: all values are taken before any target changes.
func (c *compiler) assignAll(values []ir.Expr, to []slot, at diag.Span) {
	if len(values) == 1 && len(to) == 1 && to[0].kind == tupleSlot && len(to[0].elems) > 0 {
		if _, tuple := values[0].Type().(*ir.TupleType); tuple {
			c.value(values[0], to[0])
			return
		}
	}
	if len(values) < len(to) {
		c.errorf(CodeExpr, at, "%d values for %d results", len(values), len(to))
		return
	}
	values = values[:len(to)]
	if len(values) == 1 {
		c.value(values[0], to[0])
		return
	}
	temps := make([]slot, len(values))
	for i, v := range values {
		temps[i] = c.newSlot(v.Type())
		if temps[i].kind != to[i].kind {
			temps[i] = c.likeSlot(to[i])
		}
		c.value(v, temps[i])
	}
	for i := range temps {
		c.move(to[i], temps[i])
		if temps[i].kind == regionSlot {
			r := temps[i].i
			c.emit(func(m *machine) { m.drop(r) })
		}
	}
}

// likeSlot is a new slot of the kind of another.
func (c *compiler) likeSlot(s slot) slot {
	switch s.kind {
	case intSlot:
		return c.newSlot(ir.IndexType)
	case floatSlot:
		return c.newSlot(ir.Scalar(ir.FP32))
	case regionSlot:
		return c.newSlot(&ir.TileType{})
	case arraySlot:
		return c.newSlot(&ir.ArrayType{})
	case tupleSlot:
		t := slot{kind: tupleSlot}
		for _, e := range s.elems {
			t.elems = append(t.elems, c.likeSlot(e))
		}
		return t
	}
	return slot{}
}

// move copies one slot to another of the same kind. Tiles are shared, not copied.
func (c *compiler) move(to, from slot) {
	if to.kind == from.kind && to.i == from.i && to.kind != tupleSlot {
		return
	}
	d, s := to.i, from.i
	switch {
	case to.kind == noSlot:
	case to.kind == intSlot && from.kind == intSlot:
		c.emit(func(m *machine) { m.ints[d] = m.ints[s] })
	case to.kind == floatSlot && from.kind == floatSlot:
		c.emit(func(m *machine) { m.floats[d] = m.floats[s] })
	case to.kind == floatSlot && from.kind == intSlot:
		c.emit(func(m *machine) { m.floats[d] = float64(m.ints[s]) })
	case to.kind == regionSlot && from.kind == regionSlot:
		c.emit(func(m *machine) { m.set(d, &m.regs[s]) })
	case to.kind == arraySlot && from.kind == arraySlot:
		c.emit(func(m *machine) { m.arrays[d] = m.arrays[s] })
	case to.kind == tupleSlot && from.kind == tupleSlot:
		for i := range min(len(to.elems), len(from.elems)) {
			c.move(to.elems[i], from.elems[i])
		}
	case from.kind == noSlot:
	default:
		c.errorf(CodeExpr, c.fn.Pos, "internal: values of different kinds are mixed")
	}
}

// value evaluates e into a slot.
func (c *compiler) value(e ir.Expr, to slot) {
	if c.err != nil {
		return
	}
	switch e := e.(type) {
	case *ir.OpCall:
		if _, scalar := e.Typ.(*ir.ScalarType); !scalar {
			c.opCall(e, to)
			return
		}
	case *ir.Call:
		c.call(e, to)
		return
	case *ir.Var, *ir.TupleGet:
		c.move(to, c.lookup(e))
		return
	case *ir.MakeTuple:
		if to.kind == tupleSlot {
			c.assignAll(e.Elems, to.elems, e.Pos)
		}
		return
	}
	switch to.kind {
	case intSlot:
		x, d := c.intExpr(e), to.i
		if x.f == nil {
			c.emit(func(m *machine) { m.ints[d] = x.c })
		} else {
			c.emit(func(m *machine) { m.ints[d] = x.f(m) })
		}
	case floatSlot:
		x, d := c.floatExpr(e), to.i
		c.emit(func(m *machine) { m.floats[d] = x.eval(m) })
	case noSlot:
	default:
		c.errorf(CodeExpr, e.Span(), "%s cannot stand here in a kernel", ir.PrintExpr(e))
	}
}

// lookup finds the slot of a variable or of an element of a tuple variable.
func (c *compiler) lookup(e ir.Expr) slot {
	switch e := e.(type) {
	case *ir.Var:
		if s, ok := c.env[e]; ok {
			return s
		}
		c.errorf(CodeExpr, e.Pos, "'%s' has no value here", ir.BaseName(e.Hint))
		return c.newSlot(e.Typ)
	case *ir.TupleGet:
		t := c.lookup(e.X)
		if t.kind == tupleSlot && e.Index >= 0 && e.Index < len(t.elems) {
			return t.elems[e.Index]
		}
		if e.Index == 0 && t.kind != tupleSlot { // a single result
			return t
		}
		c.errorf(CodeExpr, e.Pos, "element %d of %s does not exist", e.Index, ir.PrintExpr(e.X))
		return slot{}
	}
	s := c.newSlot(e.Type())
	c.value(e, s)
	return s
}

func (c *compiler) ifStmt(s *ir.If) {
	cond := c.intExpr(s.Cond)
	results := make([]slot, len(s.Results))
	for i, v := range s.Results {
		results[i] = c.define(v)
	}
	branch := func(b ir.Block) []step {
		old := c.yields
		if len(results) > 0 {
			c.yields = results
		}
		steps := c.nested(func() { c.block(b) })
		c.yields = old
		return steps
	}
	then, els := branch(s.Then), branch(s.Else)
	c.emit(func(m *machine) {
		if cond.eval(m) != 0 {
			m.run(then)
		} else if m.err == nil {
			m.run(els)
		}
	})
}

// carries sets up the carried values of a loop: slots of the values inside, and of the results.
func (c *compiler) carries(cs []ir.Carry) (iters, results []slot) {
	for _, x := range cs {
		init := c.newSlot(x.Iter.Typ)
		c.value(x.Init, init)
		iters = append(iters, init)
	}
	for i, x := range cs {
		s := c.define(x.Iter)
		c.move(s, iters[i])
		if iters[i].kind == regionSlot {
			r := iters[i].i
			c.emit(func(m *machine) { m.drop(r) })
		}
		iters[i] = s
		results = append(results, c.define(x.Result))
	}
	return iters, results
}

// loopBody compiles the body of a loop, whose Yield sets the carried values.
func (c *compiler) loopBody(b ir.Block, iters []slot) []step {
	old := c.yields
	c.yields = iters
	body := c.nested(func() { c.block(b) })
	c.yields = old
	return body
}

func (c *compiler) forStmt(s *ir.For) {
	start, stop, by := c.intExpr(s.Start), c.intExpr(s.Stop), c.intExpr(s.Step)
	iters, results := c.carries(s.Carries)
	i := c.define(s.Var).i
	body := c.loopBody(s.Body, iters)
	at := c.site("", s.Pos)
	c.emit(func(m *machine) {
		from, to, step := start.eval(m), stop.eval(m), by.eval(m)
		if step == 0 {
			m.fail(at, CodeLoop, "the step of this loop is 0")
			return
		}
		for v := from; m.err == nil && (step > 0 && v < to || step < 0 && v > to); v += step {
			m.ints[i] = v
			m.run(body)
			if m.endTrip() || m.tick(at) {
				break
			}
		}
	})
	for k := range results {
		c.move(results[k], iters[k])
	}
}

func (c *compiler) whileStmt(s *ir.While) {
	iters, results := c.carries(s.Carries)
	var cond intExpr
	before := c.nested(func() { cond = c.intExpr(s.Cond) })
	body := c.loopBody(s.Body, iters)
	at := c.site("", s.Pos)
	c.emit(func(m *machine) {
		for {
			m.run(before)
			if m.err != nil || cond.eval(m) == 0 || m.err != nil {
				return
			}
			m.run(body)
			if m.err != nil || m.endTrip() || m.tick(at) {
				return
			}
		}
	})
	for k := range results {
		c.move(results[k], iters[k])
	}
}

// endTrip handles what a trip left in stop; true leaves the loop.
func (m *machine) endTrip() bool {
	switch m.stop {
	case stopBreak:
		m.stop = goOn
		return true
	case stopContinue:
		m.stop = goOn
	case stopReturn:
		return true
	}
	return false
}

// call compiles a call of another function in place.
func (c *compiler) call(e *ir.Call, to slot) {
	f := c.p.funcs[e.Callee]
	switch {
	case f == nil:
		c.errorf(CodeNoKernel, e.Pos, "the program has no function '%s'", e.Callee)
		return
	case slices.Contains(c.stack, e.Callee):
		c.errorf(CodeExpr, e.Pos, "'%s' calls itself", e.Callee)
		return
	case f.External != nil:
		c.errorf(CodeNoKernel, e.Pos, "'%s' is C++ and cannot be called from an evaluated kernel", e.Callee)
		return
	case len(e.Args) < len(f.Params):
		c.errorf(CodeArgs, e.Pos, "'%s' takes %d arguments, got %d", e.Callee, len(f.Params), len(e.Args))
		return
	}
	n := &compiler{p: c.p, k: c.k, fn: f, env: map[*ir.Var]slot{}, code: c.code, inline: true, stack: append(slices.Clip(c.stack), f.Name), life: lifetimesOf(f), here: c.here}
	for i, p := range f.Params {
		s := n.define(p.Var)
		c.value(e.Args[i], s)
	}
	n.dimensions()
	n.rets = []slot{to}
	if to.kind == tupleSlot {
		n.rets = to.elems
	} else if to.kind == noSlot {
		n.rets = nil
	}
	body := n.nested(func() { n.block(f.Body) })
	if c.err == nil {
		c.err = n.err
	}
	c.emit(func(m *machine) {
		m.run(body)
		if m.stop == stopReturn {
			m.stop = goOn
		}
	})
}
