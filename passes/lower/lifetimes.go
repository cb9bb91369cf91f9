package lower

import (
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

// A use of a tensor by a task or an element access.
type use struct {
	storage *storage
	block   *block
	at      diag.Span
}

// use notes a use of s in blk, unless its buffer is in reach anyway.
func (l *lowerer) use(s *storage, blk *block) {
	if r := s.root; r != nil && (r.block == nil || r.block.encloses(blk)) {
		return
	}
	l.uses = append(l.uses, use{s, blk, l.at})
}

// A demand is what the uses of a tensor ask of the buffers that it may be. Blocks are joined: the innermost one around all.
type demand struct {
	life   *block // where the buffer is needed
	named  *block // where its allocation must have a name; nil: nowhere
	direct *block // where the buffer is used by its own name
	at     diag.Span

	// Of the buffers behind the tensor:
	inner   *block // the block of the innermost one
	apart   bool   // they are in blocks of which none is around the other
	unnamed bool   // a carry or merge on the way stands where the allocation behind it has no name
}

func join(a, b *block) *block {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return common(a, b)
}

// planLifetimes places all buffers, now that their uses are known. What a carry or merge needs, each tensor that flows into it needs as well, and where the
// carry or merge stands: it holds the value of a trip or branch that is over. Both walks below go over a tensor once for each level of nesting at most.
func (l *lowerer) planLifetimes() {
	demands := map[*storage]*demand{}
	var order, work []*storage
	ask := func(s *storage, d demand) {
		old := demands[s]
		if old == nil {
			old = &demand{at: d.at}
			demands[s], order = old, append(order, s)
		}
		life, named, direct := join(old.life, d.life), join(old.named, d.named), join(old.direct, d.direct)
		if life != old.life || named != old.named || direct != old.direct {
			old.life, old.named, old.direct = life, named, direct
			work = append(work, s)
		}
	}
	manual := func(b *block) *block {
		if b.inManual() {
			return b
		}
		return nil
	}
	for _, u := range l.uses {
		d := demand{life: u.block, named: manual(u.block), at: u.at}
		if u.storage.ownsBuffer() {
			d.direct, d.named = u.block, u.block
		}
		ask(u.storage, d)
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		d := demand{life: demands[s].life, named: demands[s].named, at: demands[s].at}
		if s.kind == mutableStore {
			d.life, d.named = join(d.life, s.home), join(d.named, manual(s.home))
		}
		for _, f := range s.from {
			if f != nil {
				ask(f, d)
			}
		}
	}

	wanted := map[*storage]*block{}
	for _, b := range order {
		d := demands[b]
		if !b.ownsBuffer() {
			continue
		}
		w := b.block
		if !b.block.scope().encloses(d.life) {
			w = join(w, d.life)
		}
		if wanted[b] = join(w, d.named); wanted[b] == b.block {
			delete(wanted, b)
		}
	}
	l.placeCreates(wanted)
	for _, b := range order {
		if b.ownsBuffer() {
			l.checkLifetime(b, demands[b])
		}
	}
	if !l.opt.NoManualAllocDeps {
		l.nameAllocations(demands, order)
	}
}

// nameAllocations lets carries and merges keep the TaskId of the allocation behind them, where a task of a MANUAL scope could not name it otherwise.
func (l *lowerer) nameAllocations(demands map[*storage]*demand, order []*storage) {
	into := map[*storage][]*storage{}
	var work []*storage
	for _, s := range order {
		for _, f := range s.from {
			into[f] = append(into[f], s)
		}
		if s.kind == bufferStore {
			demands[s].inner = s.block
			work = append(work, s)
		}
	}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		d := demands[s]
		for _, t := range into[s] {
			e := demands[t]
			was := *e
			switch {
			case e.inner == nil || e.inner.encloses(d.inner):
				e.inner = d.inner
			case !d.inner.encloses(e.inner):
				e.apart = true
			}
			e.apart = e.apart || d.apart
			e.unnamed = e.unnamed || d.unnamed || t.kind == mutableStore && e.hides(t.home)
			if *e != was {
				work = append(work, t)
			}
		}
	}
	for _, u := range l.uses {
		if d := demands[u.storage]; u.block.inManual() && (d.unnamed || d.hides(u.block)) {
			l.carryMaker(u.storage)
		}
	}
}

// hides reports that an allocation behind a tensor has no name in blk.
func (d *demand) hides(blk *block) bool {
	return d.apart || d.inner != nil && !d.inner.encloses(blk)
}

// ownsBuffer reports a tensor that is made here, and not a handle of another one.
func (s *storage) ownsBuffer() bool { return s.kind == bufferStore || s.kind == outputStore }

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

// checkLifetime reports uses of b that its place does not allow.
func (l *lowerer) checkLifetime(b *storage, u *demand) {
	direct := u.direct != nil && !b.block.encloses(u.direct)
	if !direct && b.block.scope().encloses(u.life) {
		return
	}
	var d *diag.Diagnostic
	switch {
	case direct:
		d = l.errorf(CodeTensorScope, u.at, "tensor %q is made inside a scope that has already closed where it is used", b.what)
	default:
		d = diag.Warningf(CodeTensorLifetime, u.at, "tensor %q is used here after the scope that made it has closed, so the runtime may have given its memory to another buffer", b.what)
		l.diags.Add(d)
	}
	switch loop := loopAround(b.block, u.life); {
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
