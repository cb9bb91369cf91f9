package passes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// splice instantiates the body of the callee at one site and returns it with the values of its return.
func (c *caller) splice(call *ir.Call, comments []string) (ir.Block, []ir.Expr) {
	f := c.funcs[call.Callee]
	if len(call.Args) != len(f.Params) {
		c.ctx.Report(diag.Errorf(codeInlineArgs, call.Pos, "%s() expects %d argument(s), got %d", f.Name, len(f.Params), len(call.Args)).
			WithHint("an inline function takes exactly one argument for each parameter").WithRelated(f.Pos, "'%s' is defined here", f.Name))
		return nil, nil
	}
	if l := call.Launch; call.Submit || len(call.NoDep) > 0 || len(l.Deps) > 0 || l.CoreNum != nil || l.Predicate != nil || l.EarlyResolve || l.SyncStart || l.TimingSlot != nil {
		c.ctx.Report(diag.Errorf(codeInlineLaunch, call.Pos, "'%s' is an inline function: its body is part of the caller and is not launched as a task", f.Name).
			WithHint("put the launch options on the kernel calls or scopes inside '%s'", f.Name))
	}
	if len(call.Attrs) > 0 {
		c.ctx.Note(call.Pos, fmt.Sprintf("the attributes of the call of inline function '%s' are dropped", f.Name))
	}
	c.ctx.Notef(call.Pos, "the body of inline function '%s' takes the place of its call", f.Name)
	site := strconv.Itoa(c.sites)
	c.sites++

	locals := definedVars(f.Body)
	local := func(v *ir.Var) *ir.Var {
		return &ir.Var{Hint: suffixed(v.Hint, "inline"+site), Typ: v.Typ, Pos: v.Pos}
	}
	var body ir.Block
	vars := map[*ir.Var]*ir.Var{}  // in use and definition position
	exprs := map[*ir.Var]ir.Expr{} // in use position: literals
	r := ir.Rewriter{
		Var: func(v *ir.Var) *ir.Var { return vars[v] },
		Expr: func(e ir.Expr) ir.Expr {
			if v, ok := e.(*ir.Var); ok {
				if x, ok := exprs[v]; ok {
					return x
				}
			}
			return copyCall(e)
		},
	}
	for i, p := range f.Params {
		arg := call.Args[i]
		bindSymbols(p.Var.Typ, arg.Type(), exprs)
		if v, ok := arg.(*ir.Var); ok && (!slices.Contains(locals, p.Var) || byReference(p)) {
			vars[p.Var] = v
			continue
		}
		if isLiteral(arg) && !slices.Contains(locals, p.Var) {
			exprs[p.Var] = arg
			continue
		}
		v := local(p.Var)
		v.Typ = arg.Type()
		vars[p.Var] = v
		body = append(body, &ir.Assign{Var: v, Value: arg, Pos: call.Pos})
	}
	var fresh []*ir.Var
	for _, v := range locals {
		if vars[v] == nil {
			vars[v] = local(v)
			fresh = append(fresh, vars[v])
		}
	}
	for _, v := range fresh {
		v.Typ = r.Type(v.Typ)
	}

	spliced, values := c.takeReturn(f, copyBlock(r.Block(f.Body)))
	if len(call.Launch.Dumps) > 0 {
		spliced = markDumps(spliced, call.Launch.Dumps)
	}
	c.count(spliced)
	body = append(body, c.block(spliced)...)
	if len(comments) > 0 && len(body) > 0 {
		body[0] = addComments(body[0], comments)
	}
	return body, values
}

// suffixed appends to a name without making "__", which is reserved.
func suffixed(name, suffix string) string {
	if strings.HasSuffix(name, "_") {
		return name + suffix
	}
	return name + "_" + suffix
}

func byReference(p ir.Param) bool {
	switch p.Var.Typ.(type) {
	case *ir.ScalarType, *ir.ArrayType:
		return p.Dir != ir.In
	}
	return true
}

func isLiteral(e ir.Expr) bool {
	switch e.(type) {
	case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool:
		return true
	}
	return false
}

// bindSymbols maps the dynamic extents of a parameter to the extents of its argument.
func bindSymbols(param, arg ir.Type, exprs map[*ir.Var]ir.Expr) {
	ps, as := ir.ShapeOf(param), ir.ShapeOf(arg)
	if len(ps) != len(as) {
		return
	}
	for i, d := range ps {
		if v, ok := d.(*ir.Var); ok && v.Dyn && as[i] != ir.Expr(v) && exprs[v] == nil {
			exprs[v] = as[i]
		}
	}
}

// definedVars returns every Var that b defines, loop variables and Iter Vars included, in order.
func definedVars(b ir.Block) []*ir.Var {
	var out []*ir.Var
	seen := map[*ir.Var]bool{}
	innerDefs(b, func(v *ir.Var) {
		if v != nil && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	})
	return out
}

// takeReturn removes the return that ends b, also at the end of scopes that end it, and reports any other.
func (c *caller) takeReturn(f *ir.Function, b ir.Block) (ir.Block, []ir.Expr) {
	var values []ir.Expr
	var strip func(b ir.Block) ir.Block
	strip = func(b ir.Block) ir.Block {
		if len(b) == 0 {
			return b
		}
		n := len(b) - 1
		switch s := b[n].(type) {
		case *ir.Return:
			values = s.Values
			return b[:n:n]
		case *ir.Scope:
			if body := strip(s.Body); !sameBlock(body, s.Body) {
				o := *s
				o.Body = body
				return append(b[:n:n], &o)
			}
		}
		return b
	}
	b = strip(b)
	ir.Inspect(b, func(s ir.Stmt) bool {
		if r, ok := s.(*ir.Return); ok {
			c.ctx.Report(diag.Errorf(codeInlineReturn, r.Pos, "inline function '%s' returns before its end: a non-trailing return cannot be spliced", f.Name).
				WithHint("assign the result in the branches and return once, at the end"))
		}
		return true
	})
	return b, append([]ir.Expr(nil), values...)
}

// markDumps marks the tensors at every call and scope in b that takes them.
func markDumps(b ir.Block, marks []ir.Expr) ir.Block {
	marked := func(have []ir.Expr, takes func(ir.Expr) bool) []ir.Expr {
		for _, m := range marks {
			if takes(m) && !slices.Contains(have, m) {
				have = append(have[:len(have):len(have)], m)
			}
		}
		return have
	}
	r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		if call, ok := e.(*ir.Call); ok {
			if d := marked(call.Launch.Dumps, func(m ir.Expr) bool { return slices.Contains(call.Args, m) }); len(d) != len(call.Launch.Dumps) {
				n := *call
				n.Launch.Dumps = d
				return &n
			}
		}
		return e
	}}
	return mapBlocks(r.Block(b), func(s ir.Stmt) ir.Stmt {
		if sc, ok := s.(*ir.Scope); ok && isTask(sc) {
			used := map[ir.Expr]bool{}
			ir.Inspect(sc.Body, func(s ir.Stmt) bool {
				ir.Exprs(s, func(e ir.Expr) bool {
					if v, ok := e.(*ir.Var); ok {
						used[v] = true
					}
					return true
				})
				return true
			})
			if d := marked(sc.Launch.Dumps, func(m ir.Expr) bool { return used[m] }); len(d) != len(sc.Launch.Dumps) {
				n := *sc
				n.Launch.Dumps = d
				return &n
			}
		}
		return s
	})
}

// isTask reports a scope that becomes a task.
func isTask(s *ir.Scope) bool {
	return s.Kind == ir.InCoreScope || s.Kind == ir.SpmdScope || s.Kind == ir.HierarchyScope || s.Kind == ir.ClusterScope
}
