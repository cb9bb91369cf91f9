package lower

import (
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// yield collects the pl.yield_ of an open loop or branch.
type yield struct {
	what    string // for messages: who needs it
	count   int    // values wanted; -1: not known
	done    bool
	failed  bool
	targets []*syntax.Name
	types   []ir.Type // annotated types, nil entries where there is none
	values  []ir.Expr
	nodes   []syntax.Expr // where the values stand
	at      diag.Span
}

// condition reads the condition of an if or while: a BOOL scalar.
func (b *body) condition(x syntax.Expr, stmt string) (ir.Expr, bool) {
	b.inWhile = stmt == "while"
	e, ok := b.expr(x)
	b.inWhile = false
	if !ok {
		return nil, false
	}
	t := e.Type()
	if s, isScalar := t.(*ir.ScalarType); isScalar && s.DType == ir.BOOL || isUnknown(t) {
		return e, true
	}
	d := b.errorf(CodeCondition, x, "%s condition must be a Bool-typed scalar expression, got %s", stmt, typeText(t))
	if s, isScalar := t.(*ir.ScalarType); isScalar && s.DType.IsInt() {
		d.WithHint("compare it: `%s … != 0`", stmt)
	}
	return nil, false
}

func (b *body) ifStmt(s *syntax.If) {
	comments := b.take()
	cond, ok := b.condition(s.Cond, "if")
	thenPhi, elsePhi := b.endsInYield(s.Body), b.endsInYield(s.Else)
	if thenPhi || elsePhi {
		b.phiIf(s, cond, ok, thenPhi && elsePhi, comments)
		return
	}
	n := &ir.If{Cond: cond, Comments: comments, Pos: b.at(s)}
	outer := b.yield
	b.yield = nil
	mark := len(b.names.log)
	n.Then = b.block(inBranch, s, func() { b.stmts(s.Body) })
	if len(s.Else) > 0 {
		thenMade := b.names.undo(mark)
		b.names.reuse = append(b.names.reuse, thenMade)
		n.Else = b.block(inBranch, s, func() { b.stmts(s.Else) })
		b.names.reuse = b.names.reuse[:len(b.names.reuse)-1]
		b.mergeBranches(thenMade, b.names.since(mark), s)
		if len(n.Else) == 0 { // nothing but pass, static checks and comments
			n.Else = nil
		}
	}
	b.yield = outer
	if ok {
		b.emit(n)
	}
}

// mergeBranches makes visible after an if what its branches defined.
func (b *body) mergeBranches(thenMade, elseMade frame, s *syntax.If) {
	for _, name := range slices.Sorted(maps.Keys(thenMade)) {
		t, e := thenMade[name], elseMade[name]
		switch {
		case e == nil:
			b.names.set(name, t)
		case t.expr == nil || e.expr == nil || t.expr == e.expr:
			// One of them failed or is out of scope, or both are one variable: what stands is right.
		default:
			d := diag.Errorf(CodeMerge, diag.Span{}, "'%s' is %s after one branch and %s after the other", name, typeText(t.expr.Type()), typeText(e.expr.Type())).
				WithRelated(t.at, "assigned here").WithRelated(e.at, "and here").WithHint("use two names, or give both branches the same type")
			b.names.set(name, &binding{gone: d, region: b.region, at: e.at})
		}
	}
}

// endsInYield reports whether a branch ends in a pl.yield_, directly or inside a runtime scope.
func (b *body) endsInYield(list []syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	var value syntax.Expr
	switch s := list[len(list)-1].(type) {
	case *syntax.Assign:
		value = s.Value
	case *syntax.AnnAssign:
		value = s.Value
	case *syntax.ExprStmt:
		value = s.X
	case *syntax.With:
		if len(s.Items) == 1 {
			if _, path := b.dslCall(s.Items[0].Context); path == "pl.scope" || path == "pl.manual_scope" {
				return b.endsInYield(s.Body)
			}
		}
		return false
	}
	_, path := b.dslCall(value)
	return path == "pl.yield_"
}

// phiIf reads an if whose branches end in pl.yield_.
func (b *body) phiIf(s *syntax.If, cond ir.Expr, ok, both bool, comments []string) {
	n := &ir.If{Cond: cond, Comments: comments, Pos: b.at(s)}
	outer := b.yield
	branch := func(list []syntax.Stmt) (ir.Block, *yield) {
		y := &yield{what: "if", count: -1}
		b.yield = y
		b.names.push()
		block := b.block(inBranch, s, func() { b.stmts(list) })
		for n := range b.names.pop() {
			if b.names.lookup(n) == nil {
				b.gone(n, s, "this if", "'%s' is only defined inside the branch", "yield it with pl.yield_, or read the name on the left of the yield")
			}
		}
		return block, y
	}
	var thenY, elseY *yield
	n.Then, thenY = branch(s.Body)
	n.Else, elseY = branch(s.Else)
	b.yield = outer
	fail := func() {
		for _, y := range []*yield{thenY, elseY} {
			for _, t := range y.targets {
				b.poison([]string{t.ID})
			}
		}
	}
	if !both {
		b.errorf(CodeYield, s, "both branches of an if must end in pl.yield_, or neither").
			WithHint("end the other branch with pl.yield_ of the same names, or assign the names without it")
		fail()
		return
	}
	if !ok || thenY.failed || elseY.failed || !thenY.done || !elseY.done {
		fail()
		return
	}
	if len(thenY.values) != len(elseY.values) {
		b.u.errorf(CodeYield, elseY.at, "the branches yield %d and %d values", len(thenY.values), len(elseY.values)).WithRelated(thenY.at, "the other yield")
		fail()
		return
	}
	for i, t := range thenY.targets {
		if i < len(elseY.targets) && elseY.targets[i].ID != t.ID {
			b.errorf(CodeYield, elseY.targets[i], "the branches yield to different names: '%s' and '%s'", t.ID, elseY.targets[i].ID).
				WithRelated(b.at(t), "the other yield").WithHint("both branches name the same results")
			fail()
			return
		}
	}
	for i, t := range thenY.targets {
		typ, other := thenY.values[i].Type(), elseY.values[i].Type()
		if thenY.types[i] != nil {
			typ = thenY.types[i]
		} else if isUnknown(typ) {
			typ = other
		}
		if d := b.mismatch(other, typ); d != "" {
			b.errorf(CodeMerge, elseY.nodes[i], "'%s' is yielded with different types: %s", t.ID, d).WithRelated(b.at(thenY.nodes[i]), "the other value")
			b.poison([]string{t.ID})
			ok = false
			continue
		}
		v, good := b.assign(t.ID, typ, b.at(t))
		if !good {
			ok = false
			continue
		}
		n.Results = append(n.Results, v)
	}
	if ok {
		b.emit(n)
	}
}

// yieldStmt reads pl.yield_(…), with the names it is assigned to.
func (b *body) yieldStmt(s syntax.Stmt, targets []syntax.Expr, annotation syntax.Expr, call *syntax.Call, last bool) {
	y := b.yield
	poison := func() {
		for _, t := range targets {
			b.poison(targetNames(t))
		}
	}
	if y == nil && b.mode == Dump && len(call.Args) == 0 {
		return
	}
	if y == nil {
		b.errorf(CodeYield, s, "pl.yield_ has no loop with init_values and no if to give its values to")
		poison()
		return
	}
	if !last {
		b.errorf(CodeYield, s, "pl.yield_ must be the last statement of its block")
		y.failed, y.done = true, true
		poison()
		return
	}
	y.done = true
	y.at = b.at(s)
	var types []ir.Type
	for _, k := range call.Keywords {
		if k.Name == "types" && b.mode == Dump {
			t, ok := b.typeList(k.Value)
			types, y.failed = t, y.failed || !ok
			continue
		}
		b.unknownKeyword("pl.yield_", k, nil)
		y.failed = true
	}
	for _, t := range targets {
		n, ok := t.(*syntax.Name)
		if !ok {
			b.errorf(CodeYield, t, "pl.yield_ is assigned to plain names")
			y.failed = true
			continue
		}
		y.targets = append(y.targets, n)
	}
	y.nodes = call.Args
	y.types = make([]ir.Type, len(call.Args))
	copy(y.types, types)
	for _, a := range call.Args {
		e, ok := b.expr(a)
		if !ok {
			y.failed = true
			continue
		}
		y.values = append(y.values, e)
	}
	if annotation != nil {
		t, ok := b.annotation(annotation)
		switch {
		case !ok:
			y.failed = true
		case len(call.Args) == 1:
			y.types[0] = t
			if !y.failed {
				y.values[0], ok = b.annotate(y.values[0], t, annotation)
				y.failed = !ok
				if ok {
					// What annotate settled on also holds for the result.
					y.types[0] = merged(y.values[0].Type(), t)
				}
			}
		}
	}
	if y.failed {
		return
	}
	switch {
	case y.count >= 0 && len(y.values) != y.count:
		b.errorf(CodeYield, call, "%s needs %s, got %d", y.what, diag.Plural(y.count, "yielded value"), len(y.values))
		y.failed = true
	case len(targets) == 0 && b.mode != Dump && y.count >= 0:
		b.errorf(CodeYield, s, "%s requires an assignment-form pl.yield_", y.what).WithHint("write `result = pl.yield_(…)`; result is then readable after the loop")
		y.failed = true
	case len(targets) != 0 && len(targets) != len(y.values):
		b.errorf(CodeYield, s, "pl.yield_ gives %s to %s", diag.Plural(len(y.values), "value"), diag.Plural(len(targets), "name"))
		y.failed = true
	}
	if !y.failed {
		b.emit(&ir.Yield{Values: y.values, Pos: y.at})
	}
}
