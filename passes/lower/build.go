package lower

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// buildBlock prints a block's allocations and then its statements in order. While a block is being built, declarations that belong in front of it go
// to the end of the enclosing block's statements, which is where the block itself will follow.
func (l *lowerer) buildBlock(b ir.Block, blk *block) {
	l.emitBatches(blk.batches)
	l.buildStmts(b, blk)
}

func (l *lowerer) buildStmts(b ir.Block, blk *block) {
	for _, s := range b {
		l.buildStmt(s, blk)
	}
}

func (l *lowerer) buildStmt(s ir.Stmt, blk *block) {
	l.emitBatches(l.ahead[s])
	switch s := s.(type) {
	case *ir.Assign:
		l.buildAssign(s, blk)
	case *ir.Eval:
		switch x := s.X.(type) {
		case *ir.Call:
			l.buildTask(l.calls[x], s.Pos, blk)
		case *ir.OpCall:
			l.buildOp(x, nil, s.Pos, blk)
		}
	case *ir.If:
		l.buildIf(s, blk)
	case *ir.For:
		l.buildFor(s, blk)
	case *ir.While:
		l.buildWhile(s, blk)
	case *ir.Yield:
		l.buildYield(s, blk)
	case *ir.Scope:
		if s.Kind != ir.RuntimeScope {
			l.buildStmts(s.Body, blk)
			return
		}
		body := l.blocks[s][0]
		l.buildBlock(s.Body, body)
		blk.out = append(blk.out, &plan.Scope{At: plan.At{Pos: s.Pos}, Manual: s.Manual, Body: body.out})
	}
}

func (l *lowerer) buildAssign(s *ir.Assign, blk *block) {
	switch x := s.Value.(type) {
	case *ir.Call:
		l.buildTask(l.calls[x], s.Pos, blk)
		if _, ok := x.Type().(*ir.TupleType); !ok {
			l.buildResult(l.calls[x], s.Var, s.Pos, blk)
		}
	case *ir.OpCall:
		l.buildOp(x, s.Var, s.Pos, blk)
	case *ir.TupleGet:
		if t := l.tupleOf(x.X); t != nil && t.call != nil {
			l.buildResult(t.call, s.Var, s.Pos, blk)
		}
	case *ir.Var, *ir.MakeTuple:
	default:
		if l.live[s.Var] {
			l.define(l.storages[s.Var], l.expr(x), s.Pos, blk)
		}
	}
}

// buildResult prints what a result of a call needs: the id of a submit, a tensor that the runtime made.
func (l *lowerer) buildResult(c *call, v *ir.Var, at diag.Span, blk *block) {
	s := l.storages[v]
	if s == nil || s.declared || !l.live[v] {
		return
	}
	switch {
	case s == c.id:
		l.define(s, &plan.TaskIDOf{Outs: l.outsOf(c)}, at, blk)
	case s.kind == outputStore:
		l.define(s, &plan.OutRef{Outs: l.outsOf(c), I: s.ordinal}, at, blk)
	case s.kind == localStore && s.typ.Kind == plan.Number:
		l.errorf(CodeScalarResult, at, "kernel %q returns a scalar, which the orchestration cannot read: tasks run later", c.node.Callee).
			WithHint("let the kernel write a one-element tensor and read that with pl.read")
	}
}

// define prints a variable and its value.
func (l *lowerer) define(s *storage, value plan.Expr, at diag.Span, blk *block) {
	if s.declared {
		return
	}
	s.declared = true
	pos := plan.At{Pos: at}
	if !s.lifted() {
		blk.out = append(blk.out, &plan.Decl{At: pos, Name: s.name, Type: s.typ, Init: value})
		return
	}
	l.declareAhead(s, at)
	blk.out = append(blk.out, &plan.Assign{At: pos, Dst: s.name, Value: value})
}

// declareAhead declares a lifted variable in front of the scopes around its definition.
func (l *lowerer) declareAhead(s *storage, at diag.Span) {
	init := l.placeholder(s, at)
	if init == nil {
		l.errorf(CodePlaceholder, at, "tensor %q is read after the scope that makes it, and no in-scope Tensor was found to declare it with", s.what).
			WithHint("pass a tensor to the function or make %s before the scope", s.what)
		return
	}
	s.block.out = append(s.block.out, &plan.Decl{At: plan.At{Pos: at}, Name: s.name, Type: s.typ, Init: init})
}

func (l *lowerer) buildIf(s *ir.If, blk *block) {
	n := &plan.If{At: plan.At{Pos: s.Pos}}
	t := l.declareMerges(s, s.Pos)
	n.Cond = l.expr(s.Cond)
	branch := func(b ir.Block, blk *block) []plan.Stmt {
		l.targets = append(l.targets, t)
		l.buildBlock(b, blk)
		l.targets = l.targets[:len(l.targets)-1]
		return blk.out
	}
	n.Then = branch(s.Then, l.blocks[s][0])
	if s.Else != nil {
		n.Else = dropEmpty(branch(s.Else, l.blocks[s][1]))
	}
	blk.out = append(blk.out, n)
}

// dropEmpty gives nil for an else branch in which nothing happens.
func dropEmpty(b []plan.Stmt) []plan.Stmt {
	for _, s := range b {
		if sc, ok := s.(*plan.Scope); !ok || dropEmpty(sc.Body) != nil {
			return b
		}
	}
	return nil
}

func (l *lowerer) buildFor(s *ir.For, blk *block) {
	body := l.blocks[s][0]
	t := l.declareCarries(s, s.Carries, blk, s.Pos)
	n := &plan.For{At: plan.At{Pos: s.Pos}, Var: l.storages[s.Var].name, Start: l.expr(s.Start), Stop: l.expr(s.Stop), Step: l.expr(s.Step), Parallel: s.Kind == ir.Parallel}
	switch step := n.Step.(type) {
	case *plan.Int:
		n.Down, n.Never = step.Value < 0, step.Value == 0
	default:
		n.Signed = true
	}
	if s.Kind == ir.Parallel {
		t.slot = func() plan.Expr { return slotOf(n) }
	}
	l.targets = append(l.targets, t)
	l.buildBlock(s.Body, body)
	l.targets = l.targets[:len(l.targets)-1]
	n.Body = body.out
	blk.out = append(blk.out, n)
	l.gather(t, blk, s.Pos)
}

// slotOf is the index of the current trip: the loop variable, shifted and divided when the loop does not count 0, 1, 2…
func slotOf(n *plan.For) plan.Expr {
	start, ok1 := n.Start.(*plan.Int)
	step, ok2 := n.Step.(*plan.Int)
	var e plan.Expr = &plan.Ref{Name: n.Var}
	if !ok1 || start.Value != 0 {
		e = &plan.Binary{Op: ir.Sub, X: e, Y: n.Start, DType: ir.INDEX}
	}
	if !ok2 || step.Value != 1 {
		e = &plan.Binary{Op: ir.FloorDiv, X: e, Y: n.Step, DType: ir.INDEX}
	}
	return e
}

func (l *lowerer) buildWhile(s *ir.While, blk *block) {
	body := l.blocks[s][0]
	t := l.declareCarries(s, s.Carries, blk, s.Pos)
	n := &plan.While{At: plan.At{Pos: s.Pos}, Cond: l.expr(s.Cond)}
	l.targets = append(l.targets, t)
	l.buildBlock(s.Body, body)
	l.targets = l.targets[:len(l.targets)-1]
	n.Body = body.out
	blk.out = append(blk.out, n)
}
