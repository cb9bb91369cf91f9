package lower

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Parameters of @pl.jit functions: left open by their annotation, or fixed at compile time.

// jitParam handles the annotations that only jit functions have: bare pl.Tensor and pl.Scalar, Python types, pl.constexpr.
func (b *body) jitParam(p *syntax.Param, x syntax.Expr, index int, out *parameter) (done, ok bool) {
	var given *bound
	if index < len(b.fn.bind) {
		given = &b.fn.bind[index]
	}
	path := b.symbol(x)
	switch path {
	case "pl.Tensor", "pl.Tile", "pld.DistributedTensor":
		if given == nil || given.typ == nil {
			b.errorf(CodeJIT, p, "parameter '%s' is annotated with a bare '%s': without concrete tensors its shape and dtype must be written", p.Name, path).
				WithHint("write %s: %s[[rows, cols], pl.FP32]", p.Name, path)
			return true, false
		}
		out.typ = given.typ
		return true, true
	case "pl.Scalar":
		if given != nil && given.typ != nil {
			out.typ = given.typ
			return true, true
		}
		if v, fixed := b.fixedValue(p, index); fixed {
			out.value = v
			return true, v != nil
		}
		b.errorf(CodeJIT, p, "scalar parameter '%s' has a bare 'pl.Scalar' and no value", p.Name).WithHint("write pl.Scalar[pl.INDEX], or give it a default value")
		return true, false
	case "pl.constexpr":
		return true, b.constParam(p, index, out)
	}
	if s, isSub := x.(*syntax.Subscript); isSub && b.symbol(s.X) == "pl.constexpr" {
		return true, b.constParam(p, index, out)
	}
	if path == "" {
		if n, isName := x.(*syntax.Name); isName {
			switch n.ID {
			case "int", "float", "bool":
				return true, b.constParam(p, index, out)
			}
		}
	}
	return false, false
}

// constParam reads a parameter whose value must be known at compile time.
func (b *body) constParam(p *syntax.Param, index int, out *parameter) bool {
	v, fixed := b.fixedValue(p, index)
	if fixed {
		out.value = v
		return v != nil
	}
	if b.fn.entry || index >= len(b.fn.bind) {
		b.errorf(CodeJIT, p, "scalar parameter '%s' needs a value at compile time", p.Name).
			WithHint("give it a default, pass --arg %s=VALUE, or annotate it pl.Scalar[pl.INDEX] to make it a run-time value", p.Name)
	} else {
		b.errorf(CodeJIT, p, "parameter '%s' must be a compile-time constant at every call", p.Name)
	}
	return false
}

// fixedValue gives the value of a parameter that is known at compile time: bound at the call, given for the entry, or the default. A nil
// value means that it was wrong (reported).
func (b *body) fixedValue(p *syntax.Param, index int) (ir.Expr, bool) {
	f := b.fn
	if index < len(f.bind) && f.bind[index].value != nil {
		return f.bind[index].value, true
	}
	if f.entry {
		if !slices.Contains(b.u.args, p.Name) {
			b.u.args = append(b.u.args, p.Name)
		}
		if text, given := b.u.opt.Args[p.Name]; given {
			return b.argument(p, text), true
		}
	}
	if p.Default != nil && b.symbol(p.Default) != "pl.RUNTIME" && (f.entry || f.bind == nil) {
		e, ok := b.expr(p.Default)
		if !ok {
			return nil, true
		}
		return e, true
	}
	return nil, false
}

// argument reads the text of a parameter value given from outside.
func (b *body) argument(p *syntax.Param, text string) ir.Expr {
	at := p.Range.Span(b.file)
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64); err == nil {
		return &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: at}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return &ir.ConstFloat{Value: v, DType: ir.FP32, Pos: at}
	}
	switch text {
	case "True", "true":
		return &ir.ConstBool{Value: true, Pos: at}
	case "False", "false":
		return &ir.ConstBool{Value: false, Pos: at}
	}
	b.u.errorf(CodeJIT, at, "the value %q given for parameter '%s' is not an int, float or bool", text, p.Name)
	return nil
}

// jitScalar decides whether a scalar parameter of a jit function is fixed or a run-time value.
func (b *body) jitScalar(p *syntax.Param, t *ir.ScalarType, index int, out parameter) (parameter, bool) {
	if !b.fn.entry {
		return out, true
	}
	v, fixed := b.fixedValue(p, index)
	if !fixed {
		return out, true
	}
	if v == nil {
		return out, false
	}
	v = b.toParam(v, t.DType)
	if ir.ElemDType(v.Type()) != t.DType && category(ir.ElemDType(v.Type())) != category(t.DType) {
		b.errorf(CodeJIT, p, "scalar parameter '%s' is %s, but its value is %s", p.Name, t.DType, ir.ElemDType(v.Type()))
		return out, false
	}
	out.value = v
	return out, true
}

// instanceKey tells instances of one function apart.
func instanceKey(bind []bound) string {
	var b strings.Builder
	for _, t := range bind {
		switch {
		case t.value != nil:
			fmt.Fprintf(&b, "=%s;", ir.PrintExpr(t.value))
		case t.typ != nil:
			fmt.Fprintf(&b, "%s;", ir.PrintType(t.typ))
		default:
			b.WriteByte(';')
		}
	}
	return b.String()
}

// bound is what a call gives to a parameter of a jit function that its annotation leaves open.
type bound struct {
	typ   ir.Type
	value ir.Expr // for compile-time parameters
}

// openParams reports which parameters of a jit function are left open by their annotation: bare ones get the type of the argument, compile-time ones
// its value.
func (u *Unit) openParams(dsl *eval.DSL) (bare, consts []bool, anyOpen bool) {
	b := &body{u: u, mode: JIT, file: dsl.File.Path, env: dsl.Env}
	b.names.push()
	all := params(dsl.Func, false)
	bare, consts = make([]bool, len(all)), make([]bool, len(all))
	for i, p := range all {
		x := p.Annotation
		if s, ok := x.(*syntax.Subscript); ok {
			switch b.symbol(s.X) {
			case "pl.Out", "pl.InOut":
				x = s.Index
			case "pl.constexpr":
				consts[i], anyOpen = true, true
				continue
			}
		}
		if x == nil {
			bare[i], anyOpen = true, true
			continue
		}
		switch b.symbol(x) {
		case "pl.Tensor", "pl.Scalar", "pl.Tile", "pld.DistributedTensor":
			bare[i], anyOpen = true, true
		case "pl.constexpr":
			consts[i], anyOpen = true, true
		default:
			if n, ok := x.(*syntax.Name); ok && (n.ID == "int" || n.ID == "float" || n.ID == "bool") {
				consts[i], anyOpen = true, true
			}
		}
	}
	return bare, consts, anyOpen
}
