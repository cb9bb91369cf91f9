package ops

import "github.com/ptobuild/ptobuild/ir"

// Types, shapes and expressions in messages.

func typeText(t ir.Type) string {
	if _, ok := t.(*ir.UnknownType); ok || t == nil {
		return "a value of unknown type"
	}
	return ir.PrintType(t)
}

func shapeText(shape []ir.Expr) string { return ir.PrintExpr(&ir.MakeTuple{Elems: shape}) }

func exprText(e ir.Expr) string {
	if s, ok := e.(*Symbol); ok {
		return symbolText(s.Value)
	}
	return ir.PrintExpr(e)
}
