package client

import (
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// canonical is a call without its places and names: calls that ask the same have the same canonical form, so that one answer serves them all. The k-th variable
// that is met is called "vk".
type canonical struct {
	call *ir.OpCall
	vars []*ir.Var // the call's own variables, in the order in which they are met
	mine []*ir.Var // those that stand for them
	at   map[*ir.Var]int
}

func canonicalOf(c *ir.OpCall) *canonical {
	k := &canonical{at: map[*ir.Var]int{}}
	r := ir.Rewriter{Expr: withoutPlace}
	r.Var = func(v *ir.Var) *ir.Var {
		i, ok := k.at[v]
		if !ok {
			n := &ir.Var{Dyn: v.Dyn, Typ: r.Type(v.Typ)} // before the number: its type may hold others
			if i, ok = k.at[v]; !ok {
				i = len(k.vars)
				n.Hint = "v" + strconv.Itoa(i)
				k.at[v] = i
				k.vars, k.mine = append(k.vars, v), append(k.mine, n)
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
