package passes

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

const (
	maxTrips      = 1024    // of one unrolled loop
	maxStatements = 1 << 20 // of one function after unrolling; nested loops multiply
)

// UnrollLoops replaces pl.unroll loops by one copy of the body for each trip (spec: passes-codegen 1.4 no. 2; behaviours P-UNR-*).
//
// Bounds are integer literals once outer loops are unrolled; a negative step counts down. The loop variable becomes a literal; variables that
// the body assigns keep their identity, ConvertToSSA tells the copies apart. Comments of the loop go to the first copy.
var unrollLoops = &Pass{
	Name:     "UnrollLoops",
	Doc:      "replace pl.unroll loops by copies of their bodies",
	Requires: []ir.Property{ir.InlineFunctionsEliminated},
	Produces: []ir.Property{ir.UnrollResolved},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			u := &unroller{ctx: ctx}
			body := u.block(f.Body)
			if sameBlock(body, f.Body) {
				return f
			}
			out := *f
			out.Body = body
			return &out
		}), nil
	},
}

type unroller struct {
	ctx  *Context
	made int // statements in copies
	full bool
}

func (u *unroller) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if l, ok := s.(*ir.For); ok && l.Kind == ir.Unroll {
			if copies, ok := u.loop(l); ok {
				return copies, true
			}
			return []ir.Stmt{s}, false
		}
		n := mapNested(s, u.block)
		return []ir.Stmt{n}, n != s
	})
}

// loop returns the copies of the body; ok is false when the loop was reported.
func (u *unroller) loop(l *ir.For) (_ ir.Block, ok bool) {
	if len(l.Carries) > 0 {
		u.ctx.Report(diag.Errorf(codeUnrollCarries, l.Pos, "pl.unroll() does not accept 'init_values='").
			WithHint("assign the variables directly in the body; each copy sees the values of the one before"))
		return nil, false
	}
	var bounds [3]int64
	for i, e := range []ir.Expr{l.Start, l.Stop, l.Step} {
		v, ok := constInt(ir.Simplify(e))
		if !ok {
			u.ctx.Report(diag.Errorf(codeUnrollBounds, at(e, l), "Unroll loop %s must be a compile-time integer constant", [...]string{"start", "stop", "step"}[i]).
				WithHint("use pl.range for bounds that are known only at run time"))
			return nil, false
		}
		bounds[i] = v
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		u.ctx.Report(diag.Errorf(codeUnrollBounds, at(l.Step, l), "Unroll loop step must not be zero").
			WithHint("a loop with step 0 never ends"))
		return nil, false
	}
	n, ok := ir.TripCount(start, stop, step)
	if !ok || n > maxTrips {
		u.ctx.Report(diag.Errorf(codeUnrollSize, l.Pos, "unrolling from %d to %d exceeds maximum allowed trips (%d)", start, stop, maxTrips).
			WithHint("use pl.range, or unroll a part of the loop"))
		return nil, false
	}
	dtype := ir.ElemDType(l.Var.Typ)
	if dtype == ir.NoDType {
		dtype = ir.INDEX
	}
	out := make(ir.Block, 0, int(n)*len(l.Body))
	for i := range n {
		value := &ir.ConstInt{Value: start + i*step, DType: dtype, Pos: l.Var.Pos}
		r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
			if e == ir.Expr(l.Var) {
				return value
			}
			return copyCall(e)
		}}
		trip := u.block(copyBlock(r.Block(l.Body))) // inner bounds may use the literal
		if u.made += len(trip); u.made > maxStatements {
			if !u.full {
				u.full = true
				u.ctx.Report(diag.Errorf(codeUnrollSize, l.Pos, "unrolling makes more than %d statements, which exceeds maximum allowed", maxStatements).
					WithHint("use pl.range for one of the nested loops"))
			}
			return nil, true
		}
		out = append(out, trip...)
	}
	u.ctx.Notef(l.Pos, "the loop is replaced by %d copies of its body", n)
	if len(l.Comments) > 0 && len(out) > 0 {
		out[0] = addComments(out[0], l.Comments)
	}
	return out, true
}

// at is the place of e, or of the statement that holds it when e has none.
func at(e ir.Expr, s ir.Stmt) diag.Span {
	if e != nil && e.Span().IsValid() {
		return e.Span()
	}
	return s.Span()
}
