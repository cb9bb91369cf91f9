package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// ready is an operand that was read to find out what the call is, and is going to be read again as part of the call.
type ready struct {
	node  syntax.Expr
	value ir.Expr
}

// expr reads an expression. A false result means that a report was made, or that the expression depends on something that was reported.
func (b *body) expr(x syntax.Expr) (ir.Expr, bool) {
	if r := b.ready; r.node == x && x != nil {
		b.ready = ready{}
		return r.value, true
	}
	b.depth++
	whole := b.whole
	b.whole = false
	defer func() { b.depth-- }()
	if b.depth > maxDepth {
		b.errorf(CodeNesting, x, "the expression is nested too deep")
		return nil, false
	}
	switch x := x.(type) {
	case *valueExpr:
		return b.fromValue(x.v, x)
	case *syntax.Name:
		return b.read(x)
	case *syntax.Constant:
		return b.constant(x)
	case *syntax.BinOp, *syntax.UnaryOp, *syntax.BoolOp, *syntax.Compare:
		if b.closed(x) {
			v, ok := b.eval(x)
			if !ok {
				return nil, false
			}
			return b.fromValue(v, x)
		}
		return b.operation(x)
	case *syntax.Call:
		e, ok := b.callExpr(x)
		if c, isCall := e.(*ir.Call); ok && isCall && !whole {
			return b.bindInline(c, x)
		}
		return e, ok
	case *syntax.Attribute:
		return b.attribute(x)
	case *syntax.Subscript:
		return b.subscript(x)
	case *syntax.Tuple:
		return b.tuple(x.Elems, x)
	case *syntax.List:
		return b.tuple(x.Elems, x)
	}
	// The rest has no form in the IR; over names of the module it may still be computed.
	if b.closed(x) {
		if v, ok := b.eval(x); !ok {
			return nil, false
		} else if e, ok := b.fromValue(v, x); ok {
			return e, true
		}
		return nil, false
	}
	kind, hint := "", ""
	switch x := x.(type) {
	case *syntax.IfExp:
		kind, hint = "IfExp", "use an if statement, or pl.min/pl.max"
	case *syntax.Lambda:
		kind, hint = "Lambda", "write a @pl.inline function"
	case *syntax.Comprehension:
		kind = [...]string{"ListComp", "SetComp", "DictComp", "GeneratorExp"}[x.Kind]
		hint = "write the elements out, or use a pl.unroll loop"
	case *syntax.FString:
		kind, hint = "JoinedStr", "f-strings are only allowed in pl.static_print"
	case *syntax.Starred:
		kind, hint = "Starred", "write the elements out"
	case *syntax.NamedExpr:
		kind, hint = "NamedExpr", "assign in a statement of its own"
	case *syntax.Dict:
		kind = "Dict"
	case *syntax.Set:
		kind = "Set"
	case *syntax.Await:
		kind = "Await"
	case *syntax.Yield:
		kind, hint = "Yield", "loops and branches give values with pl.yield_(…)"
	case *syntax.Slice:
		kind, hint = "Slice", "slices belong inside a subscript"
	default:
		kind = "this one"
	}
	d := b.errorf(CodeExpression, x, "Unsupported expression: %s", kind)
	if hint != "" {
		d.WithHint("%s", hint)
	}
	return nil, false
}

// wholeValue reads the expression that is all of a statement's value: only there may a call of an Inline function stand.
func (b *body) wholeValue(x syntax.Expr) (ir.Expr, bool) {
	b.whole = true
	return b.expr(x)
}

// bindInline gives the result of a nested call of an Inline function a name: the function is spliced in where it is called, which takes a statement.
func (b *body) bindInline(c *ir.Call, x syntax.Node) (ir.Expr, bool) {
	f := b.u.byFunc[c.Callee]
	if b.mode == Dump || f == nil || f.decl.typ != ir.Inline {
		return c, true
	}
	if b.inWhile {
		b.errorf(CodeMisplaced, x, "the Inline function '%s' cannot be called in a while condition", f.name).WithHint("compute the condition in the body")
		return nil, false
	}
	v := b.temp("_call_tmp", c.Typ, c.Pos)
	b.emit(&ir.Assign{Var: v, Value: c, Pos: c.Pos})
	return v, true
}

func (b *body) tuple(elems []syntax.Expr, x syntax.Node) (ir.Expr, bool) {
	t := &ir.MakeTuple{Elems: make([]ir.Expr, 0, len(elems)), Pos: b.at(x)}
	ok := true
	for _, e := range elems {
		v, good := b.expr(e)
		if !good {
			ok = false
			continue
		}
		t.Elems = append(t.Elems, v)
	}
	return t, ok
}

func (b *body) constant(x *syntax.Constant) (ir.Expr, bool) {
	at := b.at(x)
	switch x.Kind {
	case syntax.True, syntax.False:
		return &ir.ConstBool{Value: x.Kind == syntax.True, Pos: at}, true
	case syntax.Int:
		v, ok := b.eval(x)
		if !ok {
			return nil, false
		}
		return b.fromValue(v, x)
	case syntax.Float:
		return &ir.ConstFloat{Value: x.Float, DType: ir.FP32, Pos: at}, true
	case syntax.None:
		return &ir.OpCall{Op: "system.task_invalid", Typ: ir.TaskIDType, Pos: at}, true
	case syntax.Str:
		b.errorf(CodeExpression, x, "a bare string is not a value of the DSL")
	default:
		b.errorf(CodeExpression, x, "this constant is not a value of the DSL")
	}
	return nil, false
}

// attribute reads x.name outside of a call: a constant of the module, or x.shape in jit functions.
func (b *body) attribute(x *syntax.Attribute) (ir.Expr, bool) {
	if n, ok := x.X.(*syntax.Name); ok && b.names.lookup(n.ID) != nil {
		base, good := b.read(n)
		if !good {
			return nil, false
		}
		if b.mode == JIT && x.Name == "shape" && len(ir.ShapeOf(base.Type())) > 0 {
			return b.shapeOf(base, x), true
		}
		d := b.errorf(CodeExpression, x, "values of the DSL have no attribute '%s'", x.Name)
		if x.Name == "shape" {
			d.WithHint("use pl.tensor.dim(%s, i); .shape is for @pl.jit functions", n.ID)
		}
		return nil, false
	}
	if n, ok := x.X.(*syntax.Name); ok && n.ID == "self" && b.mode == Program {
		if m := b.u.methods[x.Name]; m != nil {
			b.errorf(CodeExpression, x, "self.%s is a function, not a value", x.Name).WithHint("call it: self.%s(…)", x.Name)
		} else {
			b.errorf(CodeExpression, x, "the program has no function '%s', and self has nothing else", x.Name).WithHint("define constants at module level, or in the function around the class")
		}
		return nil, false
	}
	if path := b.symbol(x); path != "" {
		if path == "pl.AUTO" { // an address that the compiler chooses
			return &ir.ConstInt{Value: -1, DType: ir.INDEX, Pos: b.at(x)}, true
		}
		if path == "pl.RUNTIME" {
			b.errorf(CodeExpression, x, "pl.RUNTIME is only a default value of jit parameters")
			return nil, false
		}
		b.errorf(CodeExpression, x, "%s is not a value here", path)
		return nil, false
	}
	v, ok := b.eval(x)
	if !ok {
		return nil, false
	}
	return b.fromValue(v, x)
}

// shapeOf gives x.shape: the extents, dynamic ones as symbols or reads.
func (b *body) shapeOf(base ir.Expr, x syntax.Node) ir.Expr {
	at := b.at(x)
	shape := ir.ShapeOf(base.Type())
	t := &ir.MakeTuple{Elems: make([]ir.Expr, len(shape)), Pos: at}
	for i := range shape {
		t.Elems[i] = b.dimOf(base, int64(i), at)
	}
	return t
}

// dimOf gives one extent of a tensor as a value.
func (b *body) dimOf(base ir.Expr, i int64, at diag.Span) ir.Expr {
	d := ir.ShapeOf(base.Type())[i]
	if n, ok := ir.IntValue(ir.Simplify(d)); ok {
		return &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: at}
	}
	axis := &ir.ConstInt{Value: i, DType: ir.INDEX, Pos: at}
	if b.fn.decl.typ == ir.Orchestration {
		if e := b.foldDim(base, axis); e != nil {
			return e
		}
	}
	if c, dg := b.u.opt.Ops.Call(at, "tensor.dim", []ir.Expr{base, axis}, nil); dg == nil {
		b.readsExtent = true
		return c
	}
	return d
}

// closed reports that an expression names nothing of the function: only literals and names of the module that are plain values.
func (b *body) closed(x syntax.Expr) bool {
	closed, tests := true, false
	switch x.(type) {
	case *syntax.Compare, *syntax.BoolOp, *syntax.UnaryOp, *syntax.IfExp:
		tests = true
	}
	var locals []string // names bound by comprehensions and lambdas inside x
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comprehension:
			for _, c := range n.Clauses {
				locals = append(locals, targetNames(c.Target)...)
			}
		case *syntax.Name:
			if slices.Contains(locals, n.ID) {
				break
			}
			if old := b.names.lookup(n.ID); old != nil {
				closed = false
				break
			}
			switch v, found := b.env.Lookup(n.ID); v.(type) {
			case *eval.DynVar, *eval.Symbol, *eval.DSL, *eval.Applied:
				closed = false
			default:
				closed = closed && found
			}
		case *valueExpr:
			closed = false
		case *syntax.Constant:
			if n.Kind == syntax.None && !tests {
				closed = false // the TaskId of no task
			}
		}
		return closed
	})
	return closed
}
