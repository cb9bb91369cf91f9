package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// A buffer lives until the runtime scope that allocated it has closed and all tasks with an edge to it are done (mission document 003; runtime facts
// 2.5). The C++ scopes of loop bodies and branches are the compiler's, so it is the compiler that must not let one close too early:
//
//   - A buffer that is used after its scope, directly or through a carry or merge, is allocated in front of the scopes in between. Out of a branch this
//     always works; out of the scope of a loop body it moves in front of that scope but stays in the loop, since each trip has a buffer of its own, and
//     all of them live to the end of the outer scope. That is done for loops of few trips; other loops get a warning that says what to write instead.
//   - A buffer sized by a value that is computed inside cannot move out.
//   - Tasks of MANUAL scopes name the allocation of each buffer that they use. One that a branch makes moves out so that it can be named; one that
//     each trip of a loop makes has its id carried beside it.

// maxKept is the number of trips up to which the buffers of all trips are kept.
const maxKept = 64

// A use of a tensor by a task or an element access. A carry or merge uses what flows into it too, where it stands itself: it holds the value of a trip
// or branch that is over.
type use struct {
	storage *storage
	block   *block
	at      diag.Span
	holder  *storage // the carry or merge
}

// use notes a use of s in blk, unless its buffer is in reach anyway.
func (l *lowerer) use(s *storage, blk *block) {
	if r := s.root; r != nil && s.kind != mutableStore && (r.block == nil || r.block.encloses(blk)) {
		return
	}
	l.uses = append(l.uses, use{storage: s, block: blk, at: l.at})
}

// A flow is what a tensor may be.
type flow struct {
	buffers []*storage // that the program allocates
	holders []*storage // carries and merges on the way
}

func (l *lowerer) flowOf(s *storage) *flow {
	if f := l.flows[s]; f != nil {
		return f
	}
	f := &flow{}
	seen := map[*storage]bool{}
	var visit func(*storage)
	visit = func(s *storage) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		switch s.kind {
		case bufferStore, outputStore:
			f.buffers = append(f.buffers, s)
		case mutableStore:
			f.holders = append(f.holders, s)
		}
		for _, t := range s.from {
			visit(t)
		}
	}
	visit(s)
	l.flows[s] = f
	return f
}

// planLifetimes places all buffers, now that their uses are known.
func (l *lowerer) planLifetimes() {
	wanted := map[*storage]*block{}
	held := map[*storage]bool{}
	for i := 0; i < len(l.uses); i++ {
		u := l.uses[i]
		f := l.flowOf(u.storage)
		for _, m := range f.holders {
			if held[m] {
				continue
			}
			held[m] = true
			for _, s := range m.from {
				l.uses = append(l.uses, use{s, m.home, u.at, m})
			}
		}
		for _, b := range f.buffers {
			named := u.storage == b && u.holder == nil || u.block.inManual()
			if b.block.encloses(u.block) || !named && b.block.scope().encloses(u.block) {
				continue
			}
			if wanted[b] == nil {
				wanted[b] = b.block
			}
			wanted[b] = common(wanted[b], u.block)
		}
	}
	l.placeCreates(wanted)
	unnamed := map[*storage]bool{} // carries and merges whose allocation has no name where they stand
	for _, u := range l.uses {
		for _, b := range l.flowOf(u.storage).buffers {
			if l.checkLifetime(b, u) && u.holder != nil {
				unnamed[u.holder] = true
			}
		}
	}
	if l.opt.NoManualAllocDeps {
		return
	}
	for _, u := range l.uses {
		if u.holder == nil && u.block.inManual() {
			if slices.ContainsFunc(l.flowOf(u.storage).holders, func(m *storage) bool { return unnamed[m] }) {
				l.carryMaker(u.storage)
			}
		}
	}
}

// scope is the runtime scope around b.
func (b *block) scope() *block {
	for b.kind == loopBlock || b.kind == branchBlock {
		b = b.parent
	}
	return b
}

// mayLeave reports that the allocation of a buffer may stand in front of b's statement, on its way out to wanted.
func (l *lowerer) mayLeave(b, wanted *block) bool {
	if b.kind == loopBlock {
		return false
	}
	if b.parent.kind == loopBlock && b.kind == autoBlock {
		// Out of the scope of a loop body: only when that is enough, for a bounded number of buffers.
		trips, known := loopTrips(b.parent.stmt)
		return known && trips <= maxKept && b.parent.scope().encloses(wanted)
	}
	return true
}

func loopTrips(s ir.Stmt) (int64, bool) {
	f, ok := s.(*ir.For)
	if !ok {
		return 0, false
	}
	var bounds [3]int64
	for i, e := range []ir.Expr{f.Start, f.Stop, f.Step} {
		c, ok := foldNeg(e).(*ir.ConstInt)
		if !ok {
			return 0, false
		}
		bounds[i] = c.Value
	}
	return ir.TripCount(bounds[0], bounds[1], bounds[2])
}

// checkLifetime reports a use of b that its place does not allow. The result tells that the allocation of b has no name there.
func (l *lowerer) checkLifetime(b *storage, u use) (unnamed bool) {
	named := b.block.encloses(u.block)
	direct := u.storage == b && u.holder == nil && !named
	if direct || !b.block.scope().encloses(u.block) {
		l.reportLifetime(b, u, direct)
		return false
	}
	return !named && b.kind == bufferStore
}

func (l *lowerer) reportLifetime(b *storage, u use, direct bool) {
	if b.complained {
		return
	}
	b.complained = true
	var d *diag.Diagnostic
	switch {
	case direct:
		d = l.errorf(CodeTensorScope, u.at, "tensor %q is made inside a scope that has already closed where it is used", b.what)
	default:
		d = diag.Warningf(CodeTensorLifetime, u.at, "tensor %q is used here after the scope that made it has closed, so the runtime may have given its memory to another buffer", b.what)
		l.diags.Add(d)
	}
	switch loop := loopAround(b.block, u.block); {
	case b.kind == outputStore:
		d.WithHint("create the tensor before the scope and pass it to the submit")
	case direct || loop == nil:
		d.WithHint("create the tensor before the scope")
	default:
		d.WithHint("create the tensor before the loop; when a trip reads what the trip before made, create two and swap them: a, b = b, a")
	}
	if b.name.Pos.IsValid() {
		d.WithRelated(b.name.Pos, "%s is made here", b.what)
	}
}

// loopAround is the body of a loop that has closed between the place b and a use of what is made there.
func loopAround(b, use *block) *block {
	for ; !b.encloses(use); b = b.parent {
		if b.kind == loopBlock {
			return b
		}
	}
	return nil
}

// carryMaker keeps the TaskId of the allocation behind a carry or merge beside it, and behind all that flow into it.
func (l *lowerer) carryMaker(s *storage) {
	switch {
	case s == nil || s.maker != nil:
	case s.kind == mutableStore:
		s.maker = &storage{kind: mutableStore, name: l.names.derived(s.name, "", "_alloc"), typ: plan.CType{Kind: plan.TaskT}, block: s.block, home: s.block, what: s.what}
		for _, f := range s.from {
			l.carryMaker(f)
		}
	case s.isWindow():
		l.carryMaker(s.from[0])
	}
}

// isWindow reports a view of one other tensor.
func (s *storage) isWindow() bool { return s.kind == localStore && len(s.from) == 1 }

// carried is the carry or merge whose value s is, or is a window of.
func (s *storage) carried() *storage {
	for s.isWindow() {
		s = s.from[0]
	}
	return s
}

// makerOf is the TaskId of the allocation that s lies in; an invalid one when the runtime keeps its memory anyway.
func (l *lowerer) makerOf(s *storage, blk *block) plan.Expr {
	if s != nil {
		switch s = s.carried(); {
		case s.maker != nil:
			return s.maker.ref()
		case s.root != nil && s.root.alloc != nil && s.root.block.encloses(blk):
			return &plan.TaskIDOf{Outs: s.root.alloc}
		}
	}
	return &plan.InvalidTask{}
}
