package passes

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// What passes ask about callees: return maps, how arguments bind, and what a call or op does to the memory of its operands.

// A callTable answers questions about the functions of a program by name.
type callTable struct {
	ops    *ops.Registry
	byName map[string]*ir.Function
	// returns caches returned; a nil entry is a function whose map is being computed (a cycle of wrappers).
	returns map[string][]int
}

func newCallTable(ctx *Context, p *ir.Program) *callTable {
	t := &callTable{ops: ctx.Ops, byName: make(map[string]*ir.Function, len(p.Funcs)), returns: map[string][]int{}}
	for _, f := range p.Funcs {
		t.byName[f.Name] = f
	}
	return t
}

// set replaces a function and forgets what was known of it.
func (t *callTable) set(f *ir.Function) {
	t.byName[f.Name] = f
	delete(t.returns, f.Name)
}

// returned is the return map of a function: result position → index of the parameter that the result is, or -1. After NormalizeReturnOrder the
// returned value is the parameter itself; before, it is traced through copies, in-place ops, calls, loops and branches.
func (t *callTable) returned(name string) []int {
	if m, ok := t.returns[name]; ok {
		return m
	}
	f := t.byName[name]
	if f == nil {
		return nil
	}
	if f.External != nil {
		m := f.ReturnedParams()
		t.returns[name] = m
		return m
	}
	ret := trailingReturn(f.Body)
	if ret == nil {
		t.returns[name] = nil
		return nil
	}
	m := make([]int, len(ret.Values))
	explicit := true
	for i, v := range ret.Values {
		x, ok := v.(*ir.Var)
		if m[i] = -1; ok {
			m[i] = f.Param(x)
		}
		if m[i] < 0 {
			explicit = false
		}
	}
	if explicit {
		t.returns[name] = m
		return m
	}
	t.returns[name] = nil
	s := newStorage(t, f)
	values := ret.Values
	if len(values) == 1 {
		if x, ok := values[0].(*ir.Var); ok && isTuple(x.Typ) {
			// A forwarded tuple counts position by position, but only when the function returns as many values.
			values = s.tupleElems(x)
			if len(f.Returns) > 0 && len(f.Returns) != len(values) {
				values = nil
			}
		}
	}
	m = make([]int, len(values))
	for i, v := range values {
		m[i] = -1
		if x, ok := v.(*ir.Var); ok && isStorage(x.Typ) {
			m[i] = f.Param(s.handle(x))
		}
	}
	t.returns[name] = m
	return m
}

// result resolves result position i of a call: the argument that it is, or nil when it is a buffer of its own.
func (t *callTable) result(c *ir.Call, i int) *ir.Var {
	m := t.returned(c.Callee)
	if i >= len(m) || m[i] < 0 {
		return nil
	}
	a := argOf(t.byName[c.Callee], len(c.Args), m[i])
	if a < 0 {
		return nil
	}
	v, _ := c.Args[a].(*ir.Var)
	return v
}

// argOf is the argument that binds to parameter p of a callee, -1 when the call leaves it out.
func argOf(callee *ir.Function, nargs, p int) int {
	gap := len(callee.Params) - nargs
	switch {
	case callee.ParamOfArg(nargs, p) == p:
		return p
	case gap > 0 && p >= gap && callee.ParamOfArg(nargs, p-gap) == p:
		return p - gap
	}
	return -1
}

// paramOf is the parameter that an argument binds to, nil when the call does not fit its callee.
func paramOf(callee *ir.Function, nargs, i int) *ir.Param {
	if callee == nil {
		return nil
	}
	if p := callee.ParamOfArg(nargs, i); p >= 0 {
		return &callee.Params[p]
	}
	return nil
}

// trailingReturn finds the return at the end of a body, also inside a runtime scope around the whole body.
func trailingReturn(b ir.Block) *ir.Return {
	if len(b) == 0 {
		return nil
	}
	switch s := b[len(b)-1].(type) {
	case *ir.Return:
		return s
	case *ir.Scope:
		return trailingReturn(s.Body)
	}
	return nil
}

// effectOf is what an op does to operand i. A window by itself touches nothing; an in-place update whose spec gives no effect counts as read
// and written.
func effectOf(spec *ops.Spec, c *ir.OpCall, i int) ops.Effect {
	e := spec.EffectIn(c, i)
	switch {
	case spec.Result.Kind == ops.View && spec.Result.Arg == i && e == ops.Read:
		return ops.Untouched
	case spec.Result.Kind == ops.InPlace && spec.Result.Arg == i && (e == ops.Read || e == ops.Untouched):
		return ops.ReadWrite
	}
	return e
}

// accesses calls f for every access that a statement itself makes to a tensor Var: operands of ops by their spec, arguments of calls by the callee's
// declared directions. Predicates count as reads.
func (t *callTable) accesses(st ir.Stmt, f func(v *ir.Var, e ops.Effect)) {
	ir.Exprs(st, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.OpCall:
			var spec *ops.Spec
			if t.ops != nil {
				spec = t.ops.Lookup(x.Op)
			}
			for i, a := range x.Args {
				v, ok := a.(*ir.Var)
				if !ok || !isStorage(v.Typ) {
					continue
				}
				e := ops.ReadWrite
				if spec != nil {
					e = effectOf(spec, x, i)
				}
				if e != ops.Untouched {
					f(v, e)
				}
			}
		case *ir.Call:
			callee := t.byName[x.Callee]
			for i, a := range x.Args {
				v, ok := a.(*ir.Var)
				if !ok || !isStorage(v.Typ) {
					continue
				}
				e := ops.ReadWrite
				if p := paramOf(callee, len(x.Args), i); p != nil {
					e = [...]ops.Effect{ir.In: ops.Read, ir.Out: ops.Write, ir.InOut: ops.ReadWrite}[p.Dir]
				}
				f(v, e)
			}
		}
		return true
	})
}

// A paramUse says how a body uses one of its parameters.
type paramUse struct {
	reads, writes bool
	readFirst     bool // a read comes before every write, in program order
}

// dir is the direction that follows from the use alone.
func (u paramUse) dir() ir.ParamDir {
	switch {
	case u.reads && u.writes:
		return ir.InOut
	case u.writes:
		return ir.Out
	}
	return ir.In
}

// paramUses gives the use of every parameter, through windows and merges.
func (t *callTable) paramUses(f *ir.Function) []paramUse {
	uses := make([]paramUse, len(f.Params))
	index := make(map[*ir.Var]int, len(f.Params))
	for i, p := range f.Params {
		index[p.Var] = i
	}
	s := newStorage(t, f)
	ir.Inspect(f.Body, func(st ir.Stmt) bool {
		type touch struct {
			p int
			e ops.Effect
		}
		var touches []touch
		t.accesses(st, func(v *ir.Var, e ops.Effect) {
			bases, _ := s.bases(v)
			for _, b := range bases {
				if p, ok := index[b]; ok {
					touches = append(touches, touch{p, e})
				}
			}
		})
		// Reads of a statement come before its writes.
		for _, x := range touches {
			if u := &uses[x.p]; x.e != ops.Write {
				u.readFirst = u.readFirst || !u.writes
				u.reads = true
			}
		}
		for _, x := range touches {
			if x.e != ops.Read {
				uses[x.p].writes = true
			}
		}
		return true
	})
	return uses
}

// calleeFirst orders the functions of a program so that callees come before their callers where there is no cycle.
func calleeFirst(p *ir.Program, t *callTable) []*ir.Function {
	out := make([]*ir.Function, 0, len(p.Funcs))
	state := make(map[string]bool, len(p.Funcs))
	var visit func(f *ir.Function)
	visit = func(f *ir.Function) {
		if state[f.Name] {
			return
		}
		state[f.Name] = true
		eachCall(f.Body, func(c *ir.Call) {
			if g := t.byName[c.Callee]; g != nil {
				visit(g)
			}
		})
		out = append(out, f)
	}
	for _, f := range p.Funcs {
		visit(f)
	}
	return out
}

// eachCall calls f for every function call of a block, in order.
func eachCall(b ir.Block, f func(*ir.Call)) {
	ir.Inspect(b, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			if c, ok := e.(*ir.Call); ok {
				f(c)
			}
			return true
		})
		return true
	})
}

// callOf is the function call that a statement makes, nil when it makes none.
func callOf(s ir.Stmt) *ir.Call {
	var e ir.Expr
	switch s := s.(type) {
	case *ir.Assign:
		e = s.Value
	case *ir.Eval:
		e = s.X
	}
	c, _ := e.(*ir.Call)
	return c
}
