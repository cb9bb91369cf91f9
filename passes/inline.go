package passes

import (
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// InlineFunctions splices functions of type Inline into their callers (spec: passes-codegen 1.4 no. 1; behaviours P-INL-*).
//
//   - Sites are `lhs = f(…)`, `f(…)` and `return f(…)`; an inline call inside an expression is an error.
//   - Tensors, tiles and everything declared Out or InOut are passed by reference: where the callee assigns the parameter, the caller's
//     variable is assigned. Scalars and arrays are passed by value: a parameter that the callee assigns becomes a local. A computed argument is
//     bound to a local first, so that no call ends up as the target of an assignment.
//   - Locals of the callee become <name>_inline<N>; N counts the sites of the caller, so equal programs get equal names.
//   - A single result is assigned to the left-hand side. Several results make no tuple: readers of the left-hand side's items get the
//     values. Results of a call in statement position are still evaluated when they contain calls.
//   - Tensors marked for dumping at the inline call are marked at the calls and scopes inside that take them.
var inlineFunctions = &Pass{
	Name:     "InlineFunctions",
	Doc:      "splice inline functions into their callers",
	Produces: []ir.Property{ir.InlineFunctionsEliminated},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		in := &inliner{ctx: ctx, funcs: map[string]*ir.Function{}}
		for _, f := range p.Funcs {
			if f.Type == ir.Inline {
				in.funcs[f.Name] = f
			}
		}
		if len(in.funcs) == 0 || in.cycle(p) {
			return p, nil
		}
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type == ir.Inline {
				return nil
			}
			return in.function(f)
		}), nil
	},
}

type inliner struct {
	ctx   *Context
	funcs map[string]*ir.Function
}

// cycle reports inline functions that call each other in a circle.
func (in *inliner) cycle(p *ir.Program) bool {
	const (
		active = 1
		done   = 2
	)
	state := map[*ir.Function]int{}
	var path []*ir.Function
	var visit func(f *ir.Function) bool
	visit = func(f *ir.Function) bool {
		if state[f] == done {
			return false
		}
		path = append(path, f)
		if state[f] == active {
			i := 0
			for path[i] != f {
				i++
			}
			var names []string
			for _, g := range path[i:] {
				names = append(names, g.Name)
			}
			in.ctx.Report(diag.Errorf(codeInlineCycle, f.Pos, "Cycle detected in FunctionType::Inline call graph: %s", strings.Join(names, " -> ")).
				WithHint("make one of them a function of its own"))
			return true
		}
		state[f] = active
		found := false
		in.calls(f.Body, func(c *ir.Call) {
			found = found || visit(in.funcs[c.Callee])
		})
		path = path[:len(path)-1]
		state[f] = done
		return found
	}
	for _, f := range p.Funcs {
		if f.Type == ir.Inline && visit(f) {
			return true
		}
	}
	return false
}

// calls visits the calls of inline functions in b.
func (in *inliner) calls(b ir.Block, f func(*ir.Call)) {
	ir.Inspect(b, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			if c := in.inlineCall(e); c != nil {
				f(c)
			}
			return true
		})
		return true
	})
}

func (in *inliner) inlineCall(e ir.Expr) *ir.Call {
	if c, ok := e.(*ir.Call); ok && in.funcs[c.Callee] != nil {
		return c
	}
	return nil
}

func (in *inliner) function(f *ir.Function) *ir.Function {
	called := false
	in.calls(f.Body, func(*ir.Call) { called = true })
	if !called {
		return f
	}
	c := &caller{inliner: in, assigned: map[*ir.Var]int{}, reads: map[*ir.Var]int{}, tuples: map[*ir.Var][]ir.Expr{}}
	c.count(f.Body)
	out := *f
	out.Body = c.block(f.Body)
	if len(c.tuples) > 0 {
		r := ir.Rewriter{Expr: c.item}
		out.Body = dropSelfAssigns(r.Block(out.Body))
		out.Returns, out.Body = expandReturn(out.Returns, out.Body)
	}
	if c.returns {
		out.Returns = resultTypes(out.Returns)
	}
	return &out
}

// caller is a function that calls of inline functions are expanded in.
type caller struct {
	*inliner
	sites    int
	assigned map[*ir.Var]int       // number of definitions
	reads    map[*ir.Var]int       // number of reads of tuples
	tuples   map[*ir.Var][]ir.Expr // left-hand sides of calls with several results
	returns  bool                  // a return of a call with several results was expanded
}

// count adds the definitions and tuple reads of b.
func (c *caller) count(b ir.Block) {
	ir.Inspect(b, func(s ir.Stmt) bool {
		for _, v := range ir.Defs(s) {
			c.assigned[v]++
		}
		ir.Exprs(s, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && isTuple(v.Typ) {
				c.reads[v]++
			}
			return true
		})
		return true
	})
}

// item replaces the items of spliced tuples by their values.
func (c *caller) item(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Var:
		if vs, ok := c.tuples[e]; ok {
			return &ir.MakeTuple{Elems: vs, Pos: e.Pos}
		}
	case *ir.TupleGet:
		if t, ok := e.X.(*ir.MakeTuple); ok && e.Index < len(t.Elems) {
			return t.Elems[e.Index]
		}
	}
	return e
}

// dropSelfAssigns removes the assignments `y = y` that unpacking a spliced tuple leaves.
func dropSelfAssigns(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if a, ok := s.(*ir.Assign); ok && a.Value == ir.Expr(a.Var) {
			return nil, true
		}
		n := mapNested(s, dropSelfAssigns)
		return []ir.Stmt{n}, n != s
	})
}

// expandReturn turns the return of a spliced tuple into a return of its items.
func expandReturn(types []ir.Type, b ir.Block) ([]ir.Type, ir.Block) {
	n := len(b) - 1
	if n < 0 {
		return types, b
	}
	r, ok := b[n].(*ir.Return)
	if !ok || len(r.Values) != 1 {
		return types, b
	}
	t, ok := r.Values[0].(*ir.MakeTuple)
	if !ok {
		return types, b
	}
	c := *r
	c.Values = t.Elems
	return resultTypes(types), append(b[:n:n], &c)
}

// resultTypes are the declared results of a function one by one, where they were declared as one tuple.
func resultTypes(types []ir.Type) []ir.Type {
	if len(types) == 1 {
		if t, ok := types[0].(*ir.TupleType); ok {
			return t.Elems
		}
	}
	return types
}

func (c *caller) block(b ir.Block) ir.Block {
	var out ir.Block // nil: nothing changed so far
	for i, s := range b {
		n, spliced := c.stmt(s, b[i+1:])
		if out == nil && !spliced && n[0] == s {
			continue
		}
		if out == nil {
			out = append(make(ir.Block, 0, len(b)+len(n)), b[:i]...)
		}
		out = append(out, n...)
	}
	if out == nil {
		return b
	}
	return out
}

// stmt expands one statement; rest is what follows it in its block.
func (c *caller) stmt(s ir.Stmt, rest ir.Block) (_ ir.Block, spliced bool) {
	switch s := s.(type) {
	case *ir.Assign:
		if call := c.inlineCall(s.Value); call != nil {
			body, values := c.splice(call, s.Comments)
			return append(body, c.bind(s, values, rest)...), true
		}
	case *ir.Eval:
		if call := c.inlineCall(s.X); call != nil {
			body, values := c.splice(call, s.Comments)
			for _, v := range values {
				if hasCall(v) {
					n, _ := c.stmt(&ir.Eval{X: v, Pos: s.Pos}, nil)
					body = append(body, n...)
				}
			}
			return body, true
		}
	case *ir.Return:
		if len(s.Values) == 1 {
			if call := c.inlineCall(s.Values[0]); call != nil {
				body, values := c.splice(call, s.Comments)
				r := *s
				r.Values, r.Comments = values, nil
				if len(values) > 1 {
					c.returns = true
				}
				n, _ := c.stmt(&r, nil) // return f(…) of the callee
				return append(body, n...), true
			}
		}
	}
	c.nested(s)
	return ir.Block{mapNested(s, c.block)}, false
}

// nested reports inline calls inside the expressions of a statement.
func (c *caller) nested(s ir.Stmt) {
	ir.Exprs(s, func(e ir.Expr) bool {
		if call := c.inlineCall(e); call != nil {
			c.ctx.Report(diag.Errorf(codeInlineNested, call.Pos,
				"inline function '%s' is called inside an expression, where it cannot be spliced (InlineFunctionsEliminated)", call.Callee).
				WithHint("bind the result to a variable first: t = %s(…)", call.Callee))
		}
		return true
	})
}

// bind assigns the results of a spliced call to its left-hand side.
func (c *caller) bind(s *ir.Assign, values []ir.Expr, rest ir.Block) ir.Block {
	if len(values) == 1 {
		if values[0] == ir.Expr(s.Var) {
			return nil
		}
		n, _ := c.stmt(&ir.Assign{Var: s.Var, Value: values[0], Pos: s.Pos}, rest)
		return n
	}
	if len(values) == 0 {
		return nil
	}
	if c.assigned[s.Var] != 1 {
		return ir.Block{&ir.Assign{Var: s.Var, Value: &ir.MakeTuple{Elems: values, Pos: s.Pos}, Pos: s.Pos}}
	}
	var out ir.Block
	for i, v := range values {
		if x, ok := v.(*ir.Var); !ok || c.overwritten(x, s.Var, i, rest) {
			// Kept under a name of its own: the value is computed, or its variable changes before the item is read.
			t := &ir.Var{Hint: suffixed(s.Var.Hint, strconv.Itoa(i)), Typ: v.Type(), Pos: s.Pos}
			n, _ := c.stmt(&ir.Assign{Var: t, Value: v, Pos: s.Pos}, nil)
			out = append(out, n...)
			values[i] = t
		}
	}
	c.tuples[s.Var] = values
	return out
}

// overwritten reports that v may be assigned before the last read of item i of tuple. Items are nearly always unpacked by the
// statements that follow; everything else counts as a later read.
func (c *caller) overwritten(v, tuple *ir.Var, i int, rest ir.Block) bool {
	if c.assigned[v] == 0 {
		return false // a parameter that is never assigned
	}
	dirty := false
	unpacked := 0
	for _, s := range rest {
		a, ok := s.(*ir.Assign)
		if !ok {
			break
		}
		g, ok := a.Value.(*ir.TupleGet)
		if !ok || g.X != ir.Expr(tuple) {
			break
		}
		unpacked++
		if g.Index == i && dirty {
			return true
		}
		dirty = dirty || a.Var == v
	}
	return c.reads[tuple] > unpacked
}
