package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// mapFuncs applies f to every function and returns p itself when none changed. A nil result drops the function.
func mapFuncs(p *ir.Program, f func(*ir.Function) *ir.Function) *ir.Program {
	return replaceFuncs(p, func(old *ir.Function) []*ir.Function {
		if n := f(old); n != nil {
			return []*ir.Function{n}
		}
		return nil
	})
}

func types(r *ir.Rewriter, ts []ir.Type) []ir.Type {
	out, _ := mapList(ts, r.Type)
	return out
}

// rewriteAttrs rewrites the expressions in attributes.
func rewriteAttrs(r *ir.Rewriter, as ir.Attrs) (ir.Attrs, bool) { return mapAttrs(as, r.Rewrite) }

// mapNested applies f to the nested blocks of s and drops an else branch that is left empty. It shares s when nothing changed.
func mapNested(s ir.Stmt, f func(ir.Block) ir.Block) ir.Stmt {
	n := withBlocks(s, f)
	if x, ok := n.(*ir.If); ok && x.Else != nil && len(x.Else) == 0 {
		c := *x
		c.Else = nil
		return &c
	}
	return n
}

// editEnd calls f with the block in which the trailing yield of b stands (b itself when there is none) and the yield, and puts the result in its
// place.
func editEnd(b ir.Block, f func(stmts ir.Block, y *ir.Yield) ir.Block) ir.Block {
	if len(b) == 0 || ir.ClosingYield(b) == nil {
		return f(b, nil)
	}
	last := len(b) - 1
	switch s := b[last].(type) {
	case *ir.Yield:
		return f(b[:last:last], s)
	case *ir.Scope:
		c := *s
		c.Body = editEnd(s.Body, f)
		return append(b[:last:last], &c)
	}
	return b
}

// addYield appends values to the trailing yield of b, which is made when there is none.
func addYield(b ir.Block, values []ir.Expr, at diag.Span) ir.Block {
	return editEnd(b, func(stmts ir.Block, y *ir.Yield) ir.Block {
		n := &ir.Yield{Pos: at}
		if y != nil {
			n.Pos, n.Values = y.Pos, y.Values[:len(y.Values):len(y.Values)]
		}
		n.Values = append(n.Values, values...)
		return append(stmts[:len(stmts):len(stmts)], n)
	})
}

// mapBlocks applies f to every statement of b and of its nested blocks, inner ones first, and shares what did not change.
func mapBlocks(b ir.Block, f func(ir.Stmt) ir.Stmt) ir.Block {
	var out ir.Block
	for i, s := range b {
		n := f(mapNested(s, func(b ir.Block) ir.Block { return mapBlocks(b, f) }))
		if n != s && out == nil {
			out = append(make(ir.Block, 0, len(b)), b...)
		}
		if out != nil {
			out[i] = n
		}
	}
	if out == nil {
		return b
	}
	return out
}

// addComments puts comments before those that s has.
func addComments(s ir.Stmt, comments []string) ir.Stmt {
	join := func(have []string) []string { return append(append([]string(nil), comments...), have...) }
	switch s := s.(type) {
	case *ir.Assign:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.Eval:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.If:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.For:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.While:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.Scope:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	case *ir.Return:
		n := *s
		n.Comments = join(s.Comments)
		return &n
	}
	return s
}

// copyBlock returns b with every statement copied, nested ones included. A body that is instantiated more than once needs it: statements and calls
// serve as keys in analyses, so none may stand at two places of a function.
func copyBlock(b ir.Block) ir.Block {
	if b == nil {
		return nil
	}
	out := make(ir.Block, len(b))
	for i, s := range b {
		out[i] = copyStmt(s)
	}
	return out
}

func copyStmt(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.Assign:
		c := *s
		return &c
	case *ir.Eval:
		c := *s
		return &c
	case *ir.If:
		c := *s
		c.Then, c.Else = copyBlock(s.Then), copyBlock(s.Else)
		return &c
	case *ir.For:
		c := *s
		c.Body = copyBlock(s.Body)
		return &c
	case *ir.While:
		c := *s
		c.Body = copyBlock(s.Body)
		return &c
	case *ir.Yield:
		c := *s
		return &c
	case *ir.Return:
		c := *s
		return &c
	case *ir.Branch:
		c := *s
		return &c
	case *ir.Scope:
		c := *s
		c.Body = copyBlock(s.Body)
		return &c
	}
	return s
}

// copyCall returns a call as a new node and anything else as it is; see copyBlock.
func copyCall(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Call:
		c := *e
		return &c
	case *ir.OpCall:
		c := *e
		return &c
	}
	return e
}
