package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// PlanCarries gives loop carries and if results their variables. The rules (mission document 000, "ForStmt", "Array carry"; passes-codegen 2.5):
//
//   - A carry of class Alias is its initial value and prints nothing. Every other one is a variable declared before the loop and assigned at the
//     end of each trip; inside and after the loop its Vars are that variable.
//   - A TaskId carry with Slots is an array of ids. A parallel loop writes the slot of its trip and reads the initial value, so that all trips see
//     the same; a sequential loop reads and copies the whole array.
//   - A TaskId carry that gathers is a list that each trip adds its id to; after the loop, a dependency-only task waits for all of them.
//   - An array that is only updated in place stays where it is; a carry that yields another array has storage of its own.
//   - An if result is a variable declared before the if. Tensors start from a value that both paths know, else from the first tensor parameter:
//     the runtime has no empty tensor, and both branches assign.
//   - A tensor variable directly in a MANUAL scope is declared in front of the scope, like a buffer, so that code after the scope can read it.
//   - The yields of one point are one parallel copy: a variable is overwritten only after every copy that reads it, and a cycle goes through a
//     temporary.
//   - Results that nobody reads are not kept.

// variable makes the mutable storage of a carry or merge that stands in blk.
func (l *lowerer) variable(name *plan.Name, t ir.Type, what string, blk *block) *storage {
	s := &storage{kind: mutableStore, name: name, typ: ctype(t), block: blk, home: blk, what: what}
	if a, ok := t.(*ir.ArrayType); ok {
		s.slots = a.Len
	}
	if s.typ.Kind == plan.TensorT {
		for s.block.kind == manualBlock {
			s.block = s.block.parent
		}
	}
	return s
}

func (l *lowerer) bindIf(s *ir.If, blk *block) {
	l.useAll(s.Cond, blk)
	then, els := blk.nested(branchBlock, s), blk.nested(branchBlock, s)
	l.blocks[s] = [2]*block{then, els}
	ty := l.bindYielding(s.Then, then)
	ey := l.bindYielding(s.Else, els)
	if len(s.Results) == 0 {
		return
	}
	if len(ty.values) != len(s.Results) || len(ey.values) != len(s.Results) {
		l.internal(s.Pos, "an if with results whose branches do not yield as many values")
		return
	}
	merged := make([]*storage, len(s.Results))
	for i, v := range s.Results {
		l.feed(v, ty.values[i])
		l.feed(v, ey.values[i])
		a, b := l.storageOf(ty.values[i], then), l.storageOf(ey.values[i], els)
		l.nonneg[v] = l.isNonneg(ty.values[i]) && l.isNonneg(ey.values[i])
		if _, ok := v.Typ.(*ir.ArrayType); ok && a == b && a != nil {
			l.storages[v] = a
			continue
		}
		m := l.variable(l.names.primary(v.Hint, v.Pos), v.Typ, ir.BaseName(v.Hint), blk)
		if a != nil && b != nil {
			m.slots = max(m.slots, a.slots, b.slots)
			m.from = []*storage{a, b}
			if a.root == b.root {
				m.root = a.root
			}
		}
		merged[i] = m
		l.storages[v] = m
	}
	l.merges[s] = merged
}

// bindYielding binds a block that ends in a yield and returns what it yields.
func (l *lowerer) bindYielding(b ir.Block, blk *block) yieldFrame {
	l.yields = append(l.yields, yieldFrame{})
	l.bindBlock(b, blk)
	n := len(l.yields) - 1
	y := l.yields[n]
	l.yields = l.yields[:n]
	return y
}

func (l *lowerer) bindFor(s *ir.For, blk *block) {
	if s.Kind == ir.Unroll || s.Kind == ir.Pipeline {
		l.errorf(CodeLoop, s.Pos, "a pl.%s loop reached codegen", s.Kind).WithHint("pl.%s belongs into kernels, or must be expanded by an earlier pass", s.Kind)
		return
	}
	for _, e := range []ir.Expr{s.Start, s.Stop, s.Step} {
		l.useAll(e, blk)
	}
	body := blk.nested(loopBlock, s)
	l.blocks[s] = [2]*block{body}
	hint := s.Var.Hint
	if base := ir.BaseName(hint); base == "" || base == "_" {
		hint = "i"
	}
	l.storages[s.Var] = &storage{kind: localStore, name: l.names.primary(hint, s.Var.Pos), typ: ctype(ir.IndexType), block: body, home: body, what: hint}
	l.nonneg[s.Var] = l.loopNonneg(s)
	l.merges[s] = l.bindCarries(s, s.Carries, s.Body, blk, body, s.Kind == ir.Parallel)
}

func (l *lowerer) bindWhile(s *ir.While, blk *block) {
	body := blk.nested(loopBlock, s)
	l.blocks[s] = [2]*block{body}
	cond := func() { l.useAll(s.Cond, body) }
	l.merges[s] = l.bindCarries(s, s.Carries, s.Body, blk, body, false, cond)
}

func (l *lowerer) bindCarries(loop ir.Stmt, carries []ir.Carry, body ir.Block, blk, inner *block, parallel bool, before ...func()) []*storage {
	vars := make([]*storage, len(carries))
	for i := range carries {
		vars[i] = l.bindCarry(loop, &carries[i], blk, parallel)
	}
	for _, f := range before {
		f()
	}
	y := l.bindYielding(body, inner)
	if len(y.values) != len(carries) {
		l.internal(loop.Span(), "a loop whose body does not yield a value per carry")
		return vars
	}
	for i, c := range carries {
		if vars[i] == nil || vars[i].gathered != nil {
			if vars[i] != nil {
				l.feed(c.Result, y.values[i])
			}
			continue
		}
		l.feed(c.Result, y.values[i])
		s := l.storageOf(y.values[i], inner)
		if s != nil {
			vars[i].from = append(vars[i].from, s)
		}
		if s != nil && s.slots > 0 && vars[i].slots == 0 {
			l.errorf(CodeTripCount, loop.Span(), "carry %q collects the task ids of all trips of a parallel loop, but this loop keeps only one id (statically-known trip count)",
				ir.BaseName(c.Result.Hint))
		}
	}
	return vars
}

// bindCarry binds the Vars of one carry; the result is its variable, nil when it needs none.
func (l *lowerer) bindCarry(loop ir.Stmt, c *ir.Carry, blk *block, parallel bool) *storage {
	l.see(c.Init, blk)
	init := l.storageOf(c.Init, blk)
	if c.Slots == ir.GatherSlots {
		s := l.local(c.Result, blk)
		s.gathered = l.names.derived(s.name, "", "_of_trips")
		l.storages[c.Iter], l.storages[c.Result] = init, s
		return s
	}
	l.feed(c.Result, c.Init)
	l.feed(c.Iter, c.Result)
	alias := c.Class == ir.CarryAlias
	switch c.Result.Typ.(type) {
	case *ir.ArrayType:
		alias = l.inPlace(c)
	default:
		if _, isFor := loop.(*ir.For); isFor && c.Class == ir.CarryUnclassified {
			l.errorf(CodeProperty, loop.Span(), "carry %q is not classified (property IterArgCarryClassified)", ir.BaseName(c.Result.Hint)).
				WithHint("run the pass ClassifyIterArgCarry before lowering")
		}
	}
	if alias {
		if init == nil {
			l.internal(loop.Span(), "an aliasing carry whose initial value has no storage")
			init = l.local(c.Iter, blk)
		}
		l.storages[c.Iter], l.storages[c.Result] = init, init
		return nil
	}
	s := l.variable(l.names.raw(c.Result.Hint, c.Result.Pos), c.Result.Typ, ir.BaseName(c.Result.Hint), blk)
	if c.Slots > 0 {
		s.slots = c.Slots
	}
	if init != nil {
		s.from = []*storage{init}
	}
	l.storages[c.Iter], l.storages[c.Result] = s, s
	if parallel && c.Slots > 0 {
		if init == nil {
			init = l.local(c.Iter, blk)
		}
		l.storages[c.Iter] = init
	}
	return s
}

// Emission.

// A yieldTarget says what the yields of a body assign.
type yieldTarget struct {
	vars []*storage // nil entries: nothing
	// slot is set for a parallel loop: the index of the trip, for carries kept as arrays.
	slot func() plan.Expr
	kept []int64 // Slots of each carry
	live []bool
}

// declareCarries prints the variables of a loop, initialised.
func (l *lowerer) declareCarries(loop ir.Stmt, carries []ir.Carry, blk *block, at diag.Span) yieldTarget {
	t := yieldTarget{vars: l.merges[loop]}
	for i, s := range t.vars {
		c := &carries[i]
		t.kept = append(t.kept, c.Slots)
		t.live = append(t.live, l.live[c.Result])
		if s == nil || !l.live[c.Result] {
			continue
		}
		if s.gathered != nil {
			blk.out = append(blk.out, &plan.DeclIDs{At: plan.At{Pos: at}, Name: s.gathered})
			l.file.NeedsVector = true
			continue
		}
		l.declare(s, c.Init, l.storageOf(c.Init, blk), blk, at)
	}
	return t
}

// declare prints the declaration of a mutable variable that starts as init, whose storage is from when it has one.
func (l *lowerer) declare(s *storage, init ir.Expr, from *storage, blk *block, at diag.Span) {
	pos := plan.At{Pos: at}
	early := !s.lifted() || from != nil && (from.home == nil || from.home.encloses(s.block))
	if s.slots > 0 {
		d := &plan.DeclSlots{At: pos, Name: s.name, Type: s.typ, N: s.slots}
		s.block.out = append(s.block.out, d)
		if from != nil && from.slots > 0 {
			if from.slots != s.slots {
				l.errorf(CodeTripCount, at, "carry %q keeps %d task ids but starts from %d; parallel loops that hand ids on must have the same statically-known trip count",
					s.what, s.slots, from.slots)
			}
			blk.out = append(blk.out, &plan.CopySlots{At: pos, Dst: s.name, Src: from.name, N: s.slots})
		} else if s.typ.Kind == plan.TaskT {
			d.Fill = l.expr(init)
		}
		return
	}
	start := func(s *storage, value, placeholder plan.Expr) {
		if early {
			s.block.out = append(s.block.out, &plan.Decl{At: pos, Name: s.name, Type: s.typ, Init: value})
			return
		}
		s.block.out = append(s.block.out, &plan.Decl{At: pos, Name: s.name, Type: s.typ, Init: placeholder})
		blk.out = append(blk.out, &plan.Assign{At: pos, Dst: s.name, Value: value})
	}
	start(s, l.expr(init), l.placeholder(s, at))
	if s.maker != nil {
		start(s.maker, l.makerOf(from, blk), &plan.InvalidTask{})
	}
}

// gather prints the tasks after a loop that wait for what its trips gathered.
func (l *lowerer) gather(t yieldTarget, blk *block, at diag.Span) {
	for i, s := range t.vars {
		if s != nil && s.gathered != nil && t.live[i] {
			d := l.dummy(s, at)
			d.Gathered, d.Guarded = s.gathered, true
			l.bindDummy(d, s, blk)
		}
	}
}

// declareMerges prints the variables of an if.
func (l *lowerer) declareMerges(s *ir.If, at diag.Span) yieldTarget {
	t := yieldTarget{vars: l.merges[s]}
	pos := plan.At{Pos: at}
	for i, m := range t.vars {
		t.live = append(t.live, l.live[s.Results[i]])
		t.kept = append(t.kept, 0)
		switch {
		case m == nil || !t.live[i]:
		case m.slots > 0:
			d := &plan.DeclSlots{At: pos, Name: m.name, Type: m.typ, N: m.slots}
			if m.typ.Kind == plan.TaskT {
				d.Fill = &plan.InvalidTask{}
			}
			m.block.out = append(m.block.out, d)
		default:
			init := l.placeholder(m, at)
			if m.typ.Kind == plan.TensorT {
				init = l.fallThrough(s, i, m, init)
			}
			if init != nil {
				m.block.out = append(m.block.out, &plan.Decl{At: pos, Name: m.name, Type: m.typ, Init: init})
				if m.maker != nil {
					m.block.out = append(m.block.out, &plan.Decl{At: pos, Name: m.maker.name, Type: m.maker.typ, Init: &plan.InvalidTask{}})
				}
			} else {
				l.errorf(CodePlaceholder, at, "the merge of %q has nothing to start from: no in-scope Tensor was found", m.what).
					WithHint("pass a tensor to the function or create one before the if")
			}
		}
	}
	return t
}

// fallThrough is the value that a merge has when a branch leaves it alone.
func (l *lowerer) fallThrough(s *ir.If, i int, m *storage, otherwise plan.Expr) plan.Expr {
	for _, b := range []ir.Block{s.Else, s.Then} {
		if y := trailingYield(b); y != nil {
			if f := l.storageOf(y.Values[i], m.block); f != nil && f != m && (f.home == nil || f.home.encloses(m.block)) {
				return f.ref()
			}
		}
	}
	return otherwise
}

// trailingYield is the yield at the end of a block; runtime scopes are transparent.
func trailingYield(b ir.Block) *ir.Yield {
	for len(b) > 0 {
		switch s := b[len(b)-1].(type) {
		case *ir.Yield:
			return s
		case *ir.Scope:
			b = s.Body
		default:
			return nil
		}
	}
	return nil
}

// placeholder is a value for a variable that is assigned later; nil when there is none.
func (l *lowerer) placeholder(s *storage, at diag.Span) plan.Expr {
	switch s.typ.Kind {
	case plan.TaskT:
		return &plan.InvalidTask{}
	case plan.TensorT:
		if len(l.file.Tensors) > 0 {
			return &plan.Ref{Name: l.file.Tensors[0].Name}
		}
		return nil
	}
	return zero(s.typ.DType)
}

func zero(d ir.DType) plan.Expr {
	switch {
	case d == ir.BOOL:
		return &plan.Bool{}
	case d == ir.FP32 || d == ir.FP64:
		return &plan.Float{DType: d}
	case d.IsFloat():
		return &plan.Cast{X: &plan.Float{DType: ir.FP32}, DType: d}
	}
	return &plan.Int{DType: d}
}

// A move is one assignment of a parallel copy.
type move struct {
	dst   *storage
	index plan.Expr // the slot to write; nil: the whole variable
	value plan.Expr // nil: the slots of src
	src   *storage
}

// buildYield prints the copies of a yield.
func (l *lowerer) buildYield(y *ir.Yield, blk *block) {
	if len(l.targets) == 0 {
		return
	}
	t := &l.targets[len(l.targets)-1]
	var moves []move
	for i, s := range t.vars {
		if s == nil || !t.live[i] || i >= len(y.Values) {
			continue
		}
		v := y.Values[i]
		from := l.storageOf(v, blk)
		if s.gathered != nil {
			blk.out = append(blk.out, &plan.AppendID{At: plan.At{Pos: y.Pos}, IDs: s.gathered, ID: l.expr(v), Guarded: !from.validIn(blk)})
			continue
		}
		switch {
		case from == s:
		case t.slot != nil && t.kept[i] > 0:
			if from != nil && from.slots > 0 {
				l.errorf(CodeTripCount, y.Pos, "carry %q takes one task id per trip of this parallel loop, but the body gives %d", s.what, from.slots)
				continue
			}
			moves = append(moves, move{dst: s, index: t.slot(), value: l.expr(v)})
		case s.slots > 0 && from != nil && from.slots > 0:
			if from.slots != s.slots {
				l.errorf(CodeTripCount, y.Pos, "%q keeps %d task ids, but %d are yielded; parallel loops that hand ids on must have the same statically-known trip count",
					s.what, s.slots, from.slots)
				continue
			}
			moves = append(moves, move{dst: s, src: from})
		case s.slots > 0: // one id into an array: the other slots stay invalid
			moves = append(moves, move{dst: s, index: &plan.Int{DType: ir.INDEX}, value: l.expr(v)})
		default:
			moves = append(moves, move{dst: s, value: l.expr(v)})
			if s.maker != nil {
				moves = append(moves, move{dst: s.maker, value: l.makerOf(from, blk)})
			}
		}
	}
	l.parallelCopy(moves, blk, y.Pos)
}

// parallelCopy orders moves so that no variable is overwritten before it was read.
func (l *lowerer) parallelCopy(moves []move, blk *block, at diag.Span) {
	pos := plan.At{Pos: at}
	emit := func(m *move) {
		switch {
		case m.src != nil:
			blk.out = append(blk.out, &plan.CopySlots{At: pos, Dst: m.dst.name, Src: m.src.name, N: m.dst.slots})
		case m.index != nil:
			blk.out = append(blk.out, &plan.SetElem{At: pos, Array: m.dst.name, I: m.index, Value: m.value})
		default:
			blk.out = append(blk.out, &plan.Assign{At: pos, Dst: m.dst.name, Value: m.value})
		}
	}
	// readers counts, per variable, the pending moves (other than its own) that read it.
	readers := map[*plan.Name]int{}
	dsts := map[*plan.Name]bool{}
	for i := range moves {
		dsts[moves[i].dst.name] = true
	}
	reads := make([][]*plan.Name, len(moves))
	for i := range moves {
		for _, n := range moves[i].reads() {
			if dsts[n] && n != moves[i].dst.name && !slices.Contains(reads[i], n) {
				reads[i] = append(reads[i], n)
				readers[n]++
			}
		}
	}
	pending := make([]int, len(moves))
	for i := range pending {
		pending[i] = i
	}
	for len(pending) > 0 {
		k := slices.IndexFunc(pending, func(i int) bool { return readers[moves[i].dst.name] == 0 })
		if k < 0 {
			// A cycle: keep the old value of the first variable aside, and let its readers use that.
			old := moves[pending[0]].dst
			kept := &storage{name: l.names.derived(old.name, "", "_prev"), typ: old.typ, slots: old.slots}
			if old.slots > 0 {
				blk.out = append(blk.out, &plan.DeclSlots{At: pos, Name: kept.name, Type: old.typ, N: old.slots},
					&plan.CopySlots{At: pos, Dst: kept.name, Src: old.name, N: old.slots})
			} else {
				blk.out = append(blk.out, &plan.Decl{At: pos, Name: kept.name, Type: old.typ, Init: &plan.Ref{Name: old.name}})
			}
			for _, i := range pending {
				if slices.Contains(reads[i], old.name) {
					moves[i].redirect(old, kept)
				}
			}
			readers[old.name] = 0
			k = 0
		}
		i := pending[k]
		emit(&moves[i])
		for _, n := range reads[i] {
			readers[n]--
		}
		pending = slices.Delete(pending, k, k+1)
	}
}

// reads lists the variables that a move reads.
func (m *move) reads() []*plan.Name {
	if m.src != nil {
		return []*plan.Name{m.src.name}
	}
	var ns []*plan.Name
	collect := func(e plan.Expr) {
		switch e := e.(type) {
		case *plan.Ref:
			ns = append(ns, e.Name)
		case *plan.Elem:
			ns = append(ns, e.Array)
		}
	}
	plan.WalkExpr(m.value, collect)
	plan.WalkExpr(m.index, collect)
	return ns
}

// redirect lets a move read another variable.
func (m *move) redirect(from, to *storage) {
	if m.src != nil {
		m.src = to
		return
	}
	m.value = rename(m.value, from.name, to.name)
}

// rename returns e with one variable replaced.
func rename(e plan.Expr, from, to *plan.Name) plan.Expr {
	switch e := e.(type) {
	case *plan.Ref:
		if e.Name == from {
			return &plan.Ref{Name: to}
		}
	case *plan.Elem:
		c := *e
		c.I = rename(e.I, from, to)
		if e.Array == from {
			c.Array = to
		}
		return &c
	case *plan.Binary:
		c := *e
		c.X, c.Y = rename(e.X, from, to), rename(e.Y, from, to)
		return &c
	case *plan.Unary:
		c := *e
		c.X = rename(e.X, from, to)
		return &c
	case *plan.Cast:
		c := *e
		c.X = rename(e.X, from, to)
		return &c
	case *plan.IsValid:
		return &plan.IsValid{X: rename(e.X, from, to)}
	}
	return e
}
