package passes

import "github.com/ptobuild/ptobuild/ir"

// NormalizeStmtStructure brings blocks into the one form that later passes expect (spec: passes-codegen 1.4 no. 6): no empty else branch
// without results, no expression statement without effect, nothing after a return.
var normalizeStmts = &Pass{
	Name:     "NormalizeStmtStructure",
	Doc:      "drop empty branches, expressions without effect and statements after a return",
	Produces: []ir.Property{ir.NormalizedStmtStructure},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			body := normalize(ctx, f.Body)
			if sameBlock(body, f.Body) {
				return f
			}
			out := *f
			out.Body = body
			return &out
		}), nil
	},
}

func normalize(ctx *Context, b ir.Block) ir.Block {
	for i, s := range b {
		if _, ok := s.(*ir.Return); ok && i+1 < len(b) {
			ctx.Note(b[i+1].Span(), "statements after a return are dropped")
			b = b[: i+1 : i+1]
			break
		}
	}
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if e, ok := s.(*ir.Eval); ok && !hasCall(e.X) {
			return nil, true
		}
		n := mapNested(s, func(b ir.Block) ir.Block { return normalize(ctx, b) })
		return []ir.Stmt{n}, n != s
	})
}
