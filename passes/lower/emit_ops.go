package lower

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// runtimeDTypes are the element types that the runtime can store (runtime facts 1.6).
var runtimeDTypes = map[ir.DType]bool{
	ir.FP32: true, ir.FP16: true, ir.BF16: true, ir.INT8: true, ir.INT16: true, ir.INT32: true, ir.INT64: true, ir.INDEX: true, ir.UINT8: true,
	ir.UINT16: true, ir.UINT32: true, ir.UINT64: true, ir.BOOL: true, ir.FP8E4M3FN: true, ir.FP8E8M0: true, ir.FP4: true,
}

// buildOp prints the statements of an op.
func (l *lowerer) buildOp(x *ir.OpCall, v *ir.Var, at diag.Span, blk *block) {
	if x.Op == opDummy {
		l.buildDummy(x, at, blk)
		return
	}
	spec := l.reg.Lookup(x.Op)
	if v == nil {
		stmts, _ := l.emitOp(x, nil, at, blk)
		blk.out = append(blk.out, stmts...)
		return
	}
	s := l.storages[v]
	switch {
	case spec.Pure && !l.live[v] && spec.Result.Kind != ops.Fresh:
		return
	case s.kind == bufferStore && spec.Result.Kind == ops.Fresh:
		if !s.batched {
			l.emitAlloc(blk, []create{{x, s, at, blk}}, false)
		}
		return
	}
	stmts, ok := l.emitOp(x, s.name, at, blk)
	if !ok {
		return
	}
	if spec.Result.Kind == ops.InPlace {
		blk.out = append(blk.out, stmts...)
		return
	}
	found := false
	for _, st := range stmts {
		switch d := st.(type) {
		case *plan.Decl:
			if d.Name == s.name {
				found = true
				s.typ = d.Type
				l.define(s, d.Init, at, blk)
				continue
			}
		case *plan.DeclSlots:
			if d.Name == s.name {
				found = true
				s.block.out = append(s.block.out, d)
				continue
			}
		}
		blk.out = append(blk.out, st)
	}
	if !found && spec.Result.Kind != ops.None {
		l.internal(at, "op "+x.Op+" emits no declaration of its result")
	}
}

// emitAhead tells ops of the calls that emitOp will ask about, but for those that stand inside of expressions.
func (l *lowerer) emitAhead() {
	if !l.reg.EmitsAhead() {
		return
	}
	ir.Inspect(l.body, func(s ir.Stmt) bool {
		var v *ir.Var
		var value ir.Expr
		switch s := s.(type) {
		case *ir.Assign:
			v, value = s.Var, s.Value
		case *ir.Eval:
			value = s.X
		}
		x, ok := value.(*ir.OpCall)
		if !ok {
			return true
		}
		spec := l.reg.Lookup(x.Op)
		if spec == nil || spec.EmitAhead == nil || v != nil && spec.Pure && !l.live[v] && spec.Result.Kind != ops.Fresh {
			return true
		}
		spec.EmitAhead(x, v != nil)
		return true
	})
}

// emitOp asks the op for its statements; what it reports is kept.
func (l *lowerer) emitOp(x *ir.OpCall, result *plan.Name, at diag.Span, blk *block) (stmts []plan.Stmt, ok bool) {
	if x.Pos.IsValid() {
		at = x.Pos
	}
	stmts, d := l.reg.Lookup(x.Op).Emit(l.site(x, result, blk))
	if d != nil {
		l.emitFailed(d, at)
		return nil, false
	}
	for _, s := range stmts {
		l.finishOp(s, at)
	}
	return stmts, true
}

func (l *lowerer) emitFailed(d *diag.Diagnostic, at diag.Span) {
	if !d.Span.IsValid() {
		d.Span = at
	}
	l.diags.Add(d)
}

// finishOp checks a statement that an op emitted, and gives it its place.
func (l *lowerer) finishOp(s plan.Stmt, at diag.Span) {
	setPos(s, at)
	if c, ok := s.(*plan.Create); ok && !runtimeDTypes[c.DType] {
		l.errorf(CodeDType, at, "the runtime cannot store tensors of type %s", c.DType).WithHint("create the tensor with another dtype")
	}
}

// site is one use of an op: its operands as plan values, and what it may ask of the core.
func (l *lowerer) site(x *ir.OpCall, result *plan.Name, blk *block) *ops.EmitSite {
	site := &ops.EmitSite{Call: x, Args: make([]plan.Expr, len(x.Args)), Lists: make([][]plan.Expr, len(x.Args)), Result: result}
	base := result
	for i, a := range x.Args {
		if t, ok := a.(*ir.MakeTuple); ok {
			site.Lists[i] = make([]plan.Expr, len(t.Elems))
			for k, e := range t.Elems {
				site.Lists[i][k] = l.expr(e)
			}
			continue
		}
		site.Args[i] = l.expr(a)
		if r, ok := site.Args[i].(*plan.Ref); ok && base == nil {
			base = r.Name
		}
	}
	site.Local = func(suffix string) *plan.Name {
		if strings.HasSuffix(suffix, "_") {
			return l.names.derived(base, suffix, "")
		}
		return l.names.derived(base, "", suffix)
	}
	site.EntryTensor = func(i int) (int, bool) {
		if i < len(x.Args) {
			if s := l.storageOf(x.Args[i], blk); s != nil && s.kind == entryStore && s.root != nil {
				return s.ordinal, true
			}
		}
		return 0, false
	}
	return site
}

// setPos gives a statement that an op emitted its place.
func setPos(s plan.Stmt, at diag.Span) {
	if s.Span().IsValid() {
		return
	}
	switch s := s.(type) {
	case *plan.Decl:
		s.Pos = at
	case *plan.Assign:
		s.Pos = at
	case *plan.DeclArray:
		s.Pos = at
	case *plan.DeclSlots:
		s.Pos = at
	case *plan.SetElem:
		s.Pos = at
	case *plan.Create:
		s.Pos = at
	case *plan.Write:
		s.Pos = at
	case *plan.CopySlots:
		s.Pos = at
	}
}

// inline is the value of an op that stands inside an expression: the statements before the value go to blk.
func (l *lowerer) inline(x *ir.OpCall, at diag.Span, blk *block) plan.Expr {
	if l.hostOp(x, at) == nil {
		return nil
	}
	result := l.names.primary("value", at)
	stmts, _ := l.emitOp(x, result, at, blk)
	for i, s := range stmts {
		if d, ok := s.(*plan.Decl); ok && d.Name == result && i == len(stmts)-1 {
			return d.Init
		}
		blk.out = append(blk.out, s)
	}
	return nil
}
