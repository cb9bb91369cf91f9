package client

import (
	"slices"
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// canonical is a call without its places and names: calls that ask the same have the same canonical form, so that one answer serves them all. The k-th variable
// that is met is called "vk". An operand with storage that is a call itself is a variable of its type: what op made it is no part of the question.
type canonical struct {
	call *ir.OpCall
	vars []*ir.Var // the call's own variables, in the order in which they are met; nil for one that stands for a nested call
	mine []*ir.Var // those that stand for them
	at   map[*ir.Var]int
}

func canonicalOf(c *ir.OpCall) *canonical {
	k := &canonical{at: map[*ir.Var]int{}}
	c, nested := flat(c)
	r := ir.Rewriter{Expr: withoutPlace}
	r.Var = func(v *ir.Var) *ir.Var {
		i, ok := k.at[v]
		if !ok {
			n := &ir.Var{Dyn: v.Dyn, Typ: r.Type(v.Typ)} // before the number: its type may hold others
			if i, ok = k.at[v]; !ok {
				i = len(k.vars)
				n.Hint = "v" + strconv.Itoa(i)
				k.at[v] = i
				own := v
				if nested[v] {
					own = nil
				}
				k.vars, k.mine = append(k.vars, own), append(k.mine, n)
			}
		}
		return k.mine[i]
	}
	n := r.Rewrite(c).(*ir.OpCall)
	if n == c {
		copied := *c
		n = &copied
	}
	n.Pos, n.Attrs = diag.Span{}, nil
	k.call = n
	return k
}

// flat is a call with variables for operands that are calls, and these variables.
func flat(c *ir.OpCall) (*ir.OpCall, map[*ir.Var]bool) {
	n, nested := c, map[*ir.Var]bool(nil)
	for i, a := range c.Args {
		if !isNested(a) {
			continue
		}
		if nested == nil {
			copied := *c
			copied.Args = slices.Clone(c.Args)
			n, nested = &copied, map[*ir.Var]bool{}
		}
		v := &ir.Var{Typ: a.Type()}
		n.Args[i], nested[v] = v, true
	}
	return n, nested
}

// isNested reports an operand that is a call and has storage.
func isNested(e ir.Expr) bool {
	c, ok := e.(*ir.OpCall)
	if !ok {
		return false
	}
	switch c.Typ.(type) {
	case *ir.TileType, *ir.TensorType:
		return true
	}
	return false
}

func withoutPlace(e ir.Expr) ir.Expr {
	if e == nil || !e.Span().IsValid() && e.Span().File == "" {
		return e
	}
	var none diag.Span
	switch e := e.(type) {
	case *ir.ConstInt:
		return &ir.ConstInt{Value: e.Value, DType: e.DType}
	case *ir.ConstFloat:
		return &ir.ConstFloat{Value: e.Value, DType: e.DType}
	case *ir.ConstBool:
		return &ir.ConstBool{Value: e.Value}
	case *ir.MakeTuple:
		return &ir.MakeTuple{Elems: e.Elems}
	case *ir.Binary:
		n := *e
		n.Pos = none
		return &n
	case *ir.Unary:
		n := *e
		n.Pos = none
		return &n
	case *ir.Cast:
		n := *e
		n.Pos = none
		return &n
	case *ir.TupleGet:
		n := *e
		n.Pos = none
		return &n
	case *ir.OpCall:
		n := *e
		n.Pos = none
		return &n
	}
	return e
}

// back turns a type over the variables of one canonical form into the same over those of a call with an equal one.
func back(t ir.Type, from map[*ir.Var]int, vars []*ir.Var) ir.Type {
	r := ir.Rewriter{Var: func(v *ir.Var) *ir.Var {
		if i, ok := from[v]; ok && i < len(vars) {
			return vars[i]
		}
		return v
	}}
	return r.Type(t)
}
