package lower

import (
	"math"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// The module around a DSL function: symbols of pl, constants, dynamic symbols.

// valueExpr is a value of the module in the place of a piece of source text: what an alias such as `T = pl.Tensor[[16], pl.FP32]` stands for.
type valueExpr struct {
	*syntax.Constant // the place of its use
	v                eval.Value
}

func isJIT(k eval.Kind) bool { return strings.HasPrefix(string(k), "jit") }

// eval computes an expression over the module, with a report when that fails.
func (b *body) eval(x syntax.Expr) (eval.Value, bool) {
	if ve, ok := x.(*valueExpr); ok {
		return ve.v, true
	}
	if n, ok := x.(*syntax.Name); ok {
		if _, found := b.env.Lookup(n.ID); !found {
			b.undefined(n)
			return nil, false
		}
	}
	v, d := b.env.Eval(x)
	if d == nil {
		if p, ok := v.(*eval.Poison); ok {
			d = p.Diagnostic(b.at(x))
		}
	}
	if d != nil {
		if !d.Span.IsValid() {
			d.Span = b.at(x)
		}
		b.u.report(d)
		return nil, false
	}
	return v, true
}

// unbound reports the name that x starts with when nothing binds it: then it is the mistake, whatever else x is asked to be.
func (b *body) unbound(x syntax.Expr) bool {
	n, ok := root(x)
	if !ok || b.mode == Dump || b.names.lookup(n.ID) != nil {
		return false
	}
	if _, found := b.env.Lookup(n.ID); found {
		return false
	}
	b.undefined(n)
	return true
}

// tryEval is eval without a report.
func (b *body) tryEval(x syntax.Expr) (eval.Value, bool) {
	if ve, ok := x.(*valueExpr); ok {
		return ve.v, true
	}
	if n, ok := root(x); ok {
		if b.names.lookup(n.ID) != nil {
			return nil, false
		}
		v, found := b.env.Lookup(n.ID)
		if !found {
			return nil, false
		}
		if _, isName := x.(*syntax.Name); isName {
			_, poisoned := v.(*eval.Poison)
			return v, !poisoned
		}
	}
	v, d := b.env.Eval(x)
	if d != nil {
		return nil, false
	}
	if _, ok := v.(*eval.Poison); ok {
		return nil, false
	}
	return v, true
}

// closureName reads a name that the function does not define itself.
func (b *body) closureName(n *syntax.Name) (ir.Expr, bool) {
	v, found := b.env.Lookup(n.ID)
	if !found {
		if b.mode == Dump {
			switch n.ID {
			case "inf":
				return &ir.ConstFloat{Value: math.Inf(1), DType: ir.FP32, Pos: b.at(n)}, true
			case "nan":
				return &ir.ConstFloat{Value: math.NaN(), DType: ir.FP32, Pos: b.at(n)}, true
			}
			return b.freeName(n), true
		}
		b.undefined(n)
		return nil, false
	}
	if p, ok := v.(*eval.Poison); ok {
		b.u.report(p.Diagnostic(b.at(n)))
		return nil, false
	}
	return b.fromValue(v, n)
}

// undefined reports a name that nothing binds, with the nearest one that exists.
func (b *body) undefined(n *syntax.Name) {
	b.undefinedAs(n, "assign it before this line, or make it a parameter")
}

// undefinedAs is undefined with the hint for a name that resembles no other.
func (b *body) undefinedAs(n *syntax.Name, hint string) {
	if b.names.lookup(n.ID) != nil {
		return
	}
	d := b.errorf(CodeUndefined, n, "Undefined variable '%s'", n.ID)
	if best := diag.Nearest(n.ID, b.visible()); best != "" {
		d.WithHint("did you mean '%s'?", best)
	} else {
		d.WithHint("%s", hint)
	}
	// One report for each name: later uses are consequences.
	b.names.frames[0][n.ID] = &binding{broken: true, region: b.region}
}

// visible lists the names that could have been meant.
func (b *body) visible() []string { return b.names.names() }

const noModule = "modules are looked up beside the file that is built, beside the importing one, in the roots of Pto.toml, and at the root of the workspace; " +
	"those of the installed Python are not read"

// absent reports a value of a module that was not found; false: it is none. All uses of the module have one cause.
func (b *body) absent(s *eval.Symbol, x syntax.Node) bool {
	module, at, ok := b.env.Absent(s)
	if !ok {
		return false
	}
	b.u.report(diag.Errorf(eval.CodeNoModule, b.at(x), "'%s' is unknown: there is no module '%s'", s.Path, module).
		WithHint(noModule).
		WithRelated(at, "imported here"))
	return true
}

// fromValue turns a value of the module into an expression.
func (b *body) fromValue(v eval.Value, x syntax.Node) (ir.Expr, bool) {
	at := b.at(x)
	switch v := v.(type) {
	case eval.Bool:
		return &ir.ConstBool{Value: bool(v), Pos: at}, true
	case eval.Int:
		n, ok := v.Int64()
		if !ok {
			b.errorf(CodeConstant, x, "the integer does not fit 64 bits")
			return nil, false
		}
		return &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: at}, true
	case eval.Float:
		return &ir.ConstFloat{Value: float64(v), DType: ir.FP32, Pos: at}, true
	case eval.NoneType:
		return &ir.OpCall{Op: "system.task_invalid", Typ: ir.TaskIDType, Pos: at}, true
	case *eval.DynVar:
		return b.dynamic(v, at), true
	case *eval.Poison:
		b.u.report(v.Diagnostic(at))
		return nil, false
	case *eval.Symbol:
		if !b.absent(v, x) {
			b.errorf(CodeExpression, x, "'%s' is not a value of the DSL", canonical(v.Path))
		}
		return nil, false
	case *eval.DSL:
		b.errorf(CodeExpression, x, "the function '%s' is not a value; call it", v.Name)
		return nil, false
	case *eval.Applied:
		if call, ok := b.unapply(v, x).(*syntax.Call); ok {
			return b.expr(call)
		}
	}
	if elems, ok := sequence(v); ok {
		t := &ir.MakeTuple{Pos: at}
		for _, e := range elems {
			c, ok := b.fromValue(e, x)
			if !ok {
				return nil, false
			}
			t.Elems = append(t.Elems, c)
		}
		return t, true
	}
	b.errorf(CodeExpression, x, "Unsupported closure variable type: '%s' is %s", nodeText(x), valueKind(v)).
		WithHint("a DSL body can use int, float, bool, lists of them, pl.dynamic symbols and dtypes")
	return nil, false
}

func nodeText(x syntax.Node) string {
	if e, ok := x.(syntax.Expr); ok {
		return dotted(e)
	}
	return "it"
}

func valueKind(v eval.Value) string {
	switch v.(type) {
	case eval.Str:
		return "a string"
	case *eval.Dict:
		return "a dict"
	case *eval.Set:
		return "a set"
	case *eval.Func, *eval.Builtin, *eval.Bound:
		return "a Python function"
	case *eval.Class:
		return "a class"
	case *eval.Module:
		return "a module"
	case *eval.Instance:
		return "an object"
	}
	return "no number"
}

// dynamic is the Var of a pl.dynamic symbol: one for each name in a program. An INDEX parameter of the same name stands for the symbol.
func (b *body) dynamic(v *eval.DynVar, at diag.Span) ir.Expr {
	if old := b.names.lookup(v.Name); old != nil && old.expr != nil {
		if p, ok := old.expr.(*ir.Var); ok && b.fn.out.Param(p) >= 0 && ir.ElemDType(p.Typ) == ir.INDEX {
			return p
		}
	}
	return b.runtimeSymbol(b.u.symbolNamed(v.Name, v.Span), at)
}

// sequence gives the elements of a list, tuple or range.
func sequence(v eval.Value) ([]eval.Value, bool) {
	switch v := v.(type) {
	case *eval.List:
		return v.Elems, true
	case *eval.Tuple:
		return v.Elems, true
	case *eval.Range:
		ints, ok := rangeInts(v)
		if !ok {
			return nil, false
		}
		out := make([]eval.Value, len(ints))
		for i, n := range ints {
			out[i] = eval.MakeInt(n)
		}
		return out, true
	}
	return nil, false
}

const maxRange = 1 << 20

func rangeInts(r *eval.Range) ([]int64, bool) {
	lo, ok1 := r.Start.Int64()
	hi, ok2 := r.Stop.Int64()
	step, ok3 := r.Step.Int64()
	if !ok1 || !ok2 || !ok3 || step == 0 {
		return nil, false
	}
	n, ok := ir.TripCount(lo, hi, step)
	if !ok || n > maxRange {
		return nil, false
	}
	out := make([]int64, 0, n)
	for i := range n {
		out = append(out, lo+i*step)
	}
	return out, true
}

// staticInts computes a list of integers, with a report when that fails.
func (b *body) staticInts(x syntax.Expr) ([]int64, bool) {
	// Compile-time values of the function itself (constants of a jit body) count as well.
	env := b.env
	closed := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if name, ok := n.(*syntax.Name); ok {
			if old := b.names.lookup(name.ID); old != nil {
				var v int64
				known := false
				if old.expr != nil {
					v, known = b.intValue(old.expr)
				}
				if !known {
					closed = false
				} else {
					env = env.With(name.ID, eval.MakeInt(v))
				}
			}
		}
		return closed
	})
	if !closed {
		b.errorf(CodeConstant, x, "the range must be known at compile time")
		return nil, false
	}
	v, d := env.Eval(x)
	if d != nil {
		if !d.Span.IsValid() {
			d.Span = b.at(x)
		}
		b.u.report(d)
		return nil, false
	}
	elems, ok := sequence(v)
	if !ok {
		b.errorf(CodeConstant, x, "this must be a range or list of integers, known at compile time")
		return nil, false
	}
	out := make([]int64, 0, len(elems))
	for _, e := range elems {
		i, isInt := e.(eval.Int)
		n, fits := i.Int64()
		if !isInt || !fits {
			b.errorf(CodeConstant, x, "this must be a range or list of integers, known at compile time")
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// staticString is the value of a string expression of the module.
func (b *body) staticString(x syntax.Expr) (string, bool) {
	if c, ok := x.(*syntax.Constant); ok && c.Kind == syntax.Str {
		return c.Str, true
	}
	if v, ok := x.(*valueExpr); ok {
		s, ok := v.v.(eval.Str)
		return string(s), ok
	}
	if !b.closed(x) {
		return "", false
	}
	v, ok := b.tryEval(x)
	if !ok {
		return "", false
	}
	s, ok := v.(eval.Str)
	return string(s), ok
}

// staticBool is the value of a bool constant of the module.
func (b *body) staticBool(x syntax.Expr) (bool, bool) {
	if !b.closed(x) {
		return false, false
	}
	v, ok := b.tryEval(x)
	if !ok {
		return false, false
	}
	t, ok := v.(eval.Bool)
	return bool(t), ok
}

// expand replaces a name of the module that stands for a type or view by what it stands for. nil: it could not be computed (reported).
func (b *body) expand(x syntax.Expr) syntax.Expr {
	switch y := x.(type) {
	case *valueExpr:
		if a, ok := y.v.(*eval.Applied); ok {
			return b.unapply(a, x)
		}
		return x
	case *syntax.Name:
		if b.names.lookup(y.ID) != nil {
			return x
		}
		if _, found := b.env.Lookup(y.ID); !found {
			if b.mode != Dump {
				b.undefined(y)
				return nil
			}
			return x
		}
	case *syntax.Attribute:
		if n, ok := root(y); !ok || b.names.lookup(n.ID) != nil || b.symbol(x) != "" {
			return x
		}
	default:
		return x
	}
	if b.symbol(x) != "" {
		return x
	}
	v, ok := b.eval(x)
	if !ok {
		return nil
	}
	switch v := v.(type) {
	case *eval.Applied:
		return b.unapply(v, x)
	case *eval.Symbol:
		return &valueExpr{Constant: &syntax.Constant{Range: x.At()}, v: v}
	}
	return x
}

// unapply writes a kept call or subscript of a DSL symbol as the tree it came from, at the place of its use.
func (b *body) unapply(a *eval.Applied, at syntax.Node) syntax.Expr {
	r := at.At()
	leaf := func(v eval.Value) syntax.Expr { return b.valueTree(v, at) }
	fun := leaf(a.Fun)
	switch {
	case a.Attr != "":
		return &syntax.Attribute{Range: r, X: fun, Name: a.Attr, NamePos: r}
	case a.Call:
		c := &syntax.Call{Range: r, Fun: fun}
		for _, v := range a.Args {
			c.Args = append(c.Args, leaf(v))
		}
		for _, k := range a.Keywords {
			c.Keywords = append(c.Keywords, syntax.Keyword{Range: r, Name: k.Name, Value: leaf(k.Value)})
		}
		return c
	}
	s := &syntax.Subscript{Range: r, X: fun}
	if len(a.Args) == 1 {
		s.Index = leaf(a.Args[0])
	}
	return s
}

func (b *body) valueTree(v eval.Value, at syntax.Node) syntax.Expr {
	r := at.At()
	switch v := v.(type) {
	case *eval.Applied:
		return b.unapply(v, at)
	case *eval.Tuple:
		t := &syntax.Tuple{Range: r}
		for _, e := range v.Elems {
			t.Elems = append(t.Elems, b.valueTree(e, at))
		}
		return t
	case *eval.List:
		t := &syntax.List{Range: r}
		for _, e := range v.Elems {
			t.Elems = append(t.Elems, b.valueTree(e, at))
		}
		return t
	}
	return &valueExpr{Constant: &syntax.Constant{Range: r}, v: v}
}
