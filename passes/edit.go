package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// Small tools to find ends of blocks and to rebuild them.

// trailingYield is the yield at the end of a loop body or branch, also inside a scope around it.
func trailingYield(b ir.Block) *ir.Yield {
	if len(b) == 0 {
		return nil
	}
	switch s := b[len(b)-1].(type) {
	case *ir.Yield:
		return s
	case *ir.Scope:
		return trailingYield(s.Body)
	}
	return nil
}

// yielded is value i of the yield at the end of a block, nil when there is none.
func yielded(b ir.Block, i int) ir.Expr {
	if y := trailingYield(b); y != nil && i < len(y.Values) {
		return y.Values[i]
	}
	return nil
}

// sameExpr compares two scalar expressions structurally.
func sameExpr(a, b ir.Expr) bool {
	switch a := a.(type) {
	case *ir.Var:
		return a == b
	case *ir.ConstInt:
		y, ok := b.(*ir.ConstInt)
		return ok && a.Value == y.Value
	case *ir.ConstFloat:
		y, ok := b.(*ir.ConstFloat)
		return ok && a.Value == y.Value && a.DType == y.DType
	case *ir.ConstBool:
		y, ok := b.(*ir.ConstBool)
		return ok && a.Value == y.Value
	case *ir.Binary:
		y, ok := b.(*ir.Binary)
		return ok && a.Op == y.Op && a.DType == y.DType && sameExpr(a.X, y.X) && sameExpr(a.Y, y.Y)
	case *ir.Unary:
		y, ok := b.(*ir.Unary)
		return ok && a.Op == y.Op && sameExpr(a.X, y.X)
	case *ir.Cast:
		y, ok := b.(*ir.Cast)
		return ok && a.DType == y.DType && sameExpr(a.X, y.X)
	}
	return false
}

// innerDefs calls f for every Var that a block defines, in order: results of statements, loop variables and iteration Vars.
func innerDefs(b ir.Block, f func(*ir.Var)) {
	for _, s := range b {
		switch s := s.(type) {
		case *ir.For:
			f(s.Var)
			for _, c := range s.Carries {
				f(c.Iter)
			}
		case *ir.While:
			for _, c := range s.Carries {
				f(c.Iter)
			}
		}
		for _, n := range ir.Blocks(s) {
			innerDefs(n, f)
		}
		for _, v := range ir.Defs(s) {
			f(v)
		}
	}
}

// withValue returns a copy of an Assign or Eval that evaluates e instead.
func withValue(s ir.Stmt, e ir.Expr) ir.Stmt {
	switch s := s.(type) {
	case *ir.Assign:
		c := *s
		c.Value = e
		return &c
	case *ir.Eval:
		c := *s
		c.X = e
		return &c
	}
	return s
}

// mapList applies f to every element. The list is copied only when one changes.
func mapList[T comparable](xs []T, f func(T) T) ([]T, bool) {
	out, changed := xs, false
	for i, x := range xs {
		if n := f(x); n != x {
			if !changed {
				out, changed = slices.Clone(xs), true
			}
			out[i] = n
		}
	}
	return out, changed
}

// withOperands returns e with f applied to its operands, in the order of evaluation, or e itself when none changed. Deps, predicates and dumps are no
// operands: nothing computes them.
func withOperands(e ir.Expr, f func(ir.Expr) ir.Expr) ir.Expr {
	operand := func(e ir.Expr) ir.Expr {
		if e == nil {
			return nil
		}
		return f(e)
	}
	switch e := e.(type) {
	case *ir.Binary:
		x := f(e.X)
		if y := f(e.Y); x != e.X || y != e.Y {
			c := *e
			c.X, c.Y = x, y
			return &c
		}
	case *ir.Unary:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *ir.Cast:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *ir.MakeTuple:
		if es, ok := mapList(e.Elems, f); ok {
			c := *e
			c.Elems = es
			return &c
		}
	case *ir.TupleGet:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *ir.OpCall:
		args, c1 := mapList(e.Args, f)
		kwargs, c2 := mapKwargs(e.Kwargs, f)
		if c1 || c2 {
			c := *e
			c.Args, c.Kwargs = args, kwargs
			return &c
		}
	case *ir.Call:
		args, c1 := mapList(e.Args, f)
		cores, device := operand(e.Launch.CoreNum), operand(e.Device)
		if c1 || cores != e.Launch.CoreNum || device != e.Device {
			c := *e
			c.Args, c.Launch.CoreNum, c.Device = args, cores, device
			return &c
		}
	}
	return e
}

// mapKwargs applies f to the expressions among keyword arguments.
func mapKwargs(ks ir.Kwargs, f func(ir.Expr) ir.Expr) (ir.Kwargs, bool) {
	out, changed := ks, false
	for i, k := range ks {
		if n := mapValue(k.Value, f); n != nil {
			if !changed {
				out, changed = slices.Clone(ks), true
			}
			out[i].Value = n
		}
	}
	return out, changed
}

// mapAttrs applies f to the expressions in attributes.
func mapAttrs(as ir.Attrs, f func(ir.Expr) ir.Expr) (ir.Attrs, bool) {
	out, changed := as, false
	for i, a := range as {
		if n := mapValue(a.Value, f); n != nil {
			if !changed {
				out, changed = slices.Clone(as), true
			}
			out[i].Value = n
		}
	}
	return out, changed
}

// mapValue applies f to a value that is an expression or a list of them; nil when nothing changed.
func mapValue(v any, f func(ir.Expr) ir.Expr) any {
	switch v := v.(type) {
	case ir.Expr:
		if x := f(v); x != v {
			return x
		}
	case []ir.Expr:
		if xs, ok := mapList(v, f); ok {
			return xs
		}
	}
	return nil
}

// withExprs returns a copy of a simple statement with f applied to its expressions, or the statement itself when none changed. Statements with
// blocks stay as they are.
func withExprs(s ir.Stmt, f func(ir.Expr) ir.Expr) ir.Stmt {
	switch s := s.(type) {
	case *ir.Assign:
		if x := f(s.Value); x != s.Value {
			return withValue(s, x)
		}
	case *ir.Eval:
		if x := f(s.X); x != s.X {
			return withValue(s, x)
		}
	case *ir.Return:
		if xs, ok := mapList(s.Values, f); ok {
			c := *s
			c.Values = xs
			return &c
		}
	case *ir.Yield:
		if xs, ok := mapList(s.Values, f); ok {
			c := *s
			c.Values = xs
			return &c
		}
	}
	return s
}

// withBlocks returns a copy of a statement with its nested blocks mapped by f, or the statement itself when none changed.
func withBlocks(s ir.Stmt, f func(ir.Block) ir.Block) ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		then, els := f(s.Then), f(s.Else)
		if !sameBlock(then, s.Then) || !sameBlock(els, s.Else) {
			c := *s
			c.Then, c.Else = then, els
			return &c
		}
	case *ir.For:
		if b := f(s.Body); !sameBlock(b, s.Body) {
			c := *s
			c.Body = b
			return &c
		}
	case *ir.While:
		if b := f(s.Body); !sameBlock(b, s.Body) {
			c := *s
			c.Body = b
			return &c
		}
	case *ir.Scope:
		if b := f(s.Body); !sameBlock(b, s.Body) {
			c := *s
			c.Body = b
			return &c
		}
	}
	return s
}

// sameBlock reports that two blocks are the same slice.
func sameBlock(a, b ir.Block) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// rewriteBlock rebuilds a block statement by statement: f returns the statements that take the place of s, and whether they differ from it.
// Unchanged blocks are returned as they are.
func rewriteBlock(b ir.Block, f func(s ir.Stmt) ([]ir.Stmt, bool)) ir.Block {
	var out ir.Block
	changed := false
	for i, s := range b {
		n, ok := f(s)
		if ok && !changed {
			changed = true
			out = make(ir.Block, i, len(b)+len(n))
			copy(out, b[:i])
		}
		switch {
		case ok:
			out = append(out, n...)
		case changed:
			out = append(out, s)
		}
	}
	if !changed {
		return b
	}
	return out
}

// replaceFuncs returns p with functions replaced through f; f may return several functions for one (in order) and reports a change.
func replaceFuncs(p *ir.Program, f func(*ir.Function) []*ir.Function) *ir.Program {
	out := make([]*ir.Function, 0, len(p.Funcs))
	changed := false
	for _, fn := range p.Funcs {
		n := f(fn)
		changed = changed || len(n) != 1 || n[0] != fn
		out = append(out, n...)
	}
	if !changed {
		return p
	}
	q := *p
	q.Funcs = out
	return &q
}
