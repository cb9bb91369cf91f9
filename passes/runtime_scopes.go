package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// MaterializeRuntimeScopes places the AUTO scopes of orchestration functions that leave them to the compiler: around the function body, every loop
// body (while loops too) and every branch, and nothing inside a MANUAL scope, where the runtime rejects them (mission documents 000 and 003). The
// trailing yield stands inside the scope. AutoScope becomes false, so a second run does nothing.
//
// The runtime has one ring of task slots per scope level up to ringLevels; deeper scopes share the last ring. That is legal but may stall, so
// it is reported.
var runtimeScopes = &Pass{
	Name:     "MaterializeRuntimeScopes",
	Doc:      "place the AUTO scopes",
	Requires: []ir.Property{ir.SplitIncoreOrch, ir.CallDirectionsResolved},
	Produces: []ir.Property{ir.RuntimeScopesMaterialized},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type != ir.Orchestration || !f.AutoScope {
				return f
			}
			g := *f
			g.AutoScope = false
			w := &scopePass{ctx: ctx}
			g.Body = w.wrap(f.Body, f.Pos)
			ctx.Notef(f.Pos, "%d AUTO scope(s), at most %d deep, around the body of %s, its loops and branches", w.placed, w.deepest, f.Name)
			if w.deepest > ringLevels {
				ctx.Report(diag.Warningf(codeScopeDepth, w.at, "scopes of '%s' nest %d deep; the runtime has %d rings of task slots and deeper scopes share the last one", f.Name, w.deepest, ringLevels).
					WithHint("set auto_scope=False on the function and place pl.scope() where task slots should be freed"))
			}
			return &g
		}), nil
	},
}

// ringLevels is the number of scope levels with a ring of their own (ring = min(depth, 3), rings 0 to 3).
const ringLevels = 4

type scopePass struct {
	ctx     *Context
	placed  int
	depth   int
	deepest int
	at      diag.Span
}

func (w *scopePass) wrap(b ir.Block, at diag.Span) ir.Block {
	if len(b) == 0 {
		return b
	}
	w.placed++
	w.depth++
	if w.depth > w.deepest {
		w.deepest, w.at = w.depth, at
	}
	body := w.block(b)
	w.depth--
	return ir.Block{&ir.Scope{Kind: ir.RuntimeScope, Owner: ir.CompilerScope, Body: body, Pos: at}}
}

func (w *scopePass) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.RuntimeScope && sc.Manual {
			return nil, false
		}
		if sc, ok := s.(*ir.Scope); ok {
			n := withBlocks(sc, w.block)
			return []ir.Stmt{n}, n != s
		}
		at := s.Span()
		n := withBlocks(s, func(b ir.Block) ir.Block { return w.wrap(b, at) })
		return []ir.Stmt{n}, n != s
	})
}
