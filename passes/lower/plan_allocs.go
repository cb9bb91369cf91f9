package lower

import (
	"slices"
	"strconv"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// PlanAllocs decides where buffers are allocated. The rules (mission document 000, "External vs Internal Tensors"; passes-codegen 2.5):
//
//   - The creates of one statement sequence share one allocation at the head of the sequence, at most 16 in each.
//   - A create whose shape uses a value defined in the same sequence stays where it is, with an allocation of its own. Any definition counts: an
//     assignment, a merge of an if, a result of a loop.
//   - Creates directly in the body of a MANUAL scope move in front of it, since a buffer outlives the scheduling region; a chain of MANUAL
//     scopes directly inside each other is left altogether. Creates of loops and ifs inside stay in their loop or if.
//   - A buffer that is used where its scope has closed, or where its allocation cannot be named, moves out as far as that needs (lifetimes.go).

// maxBatch is the largest number of buffers in one allocation.
const maxBatch = 16

// A create makes one buffer.
type create struct {
	op      *ir.OpCall
	storage *storage
	span    diag.Span
	block   *block // where the program makes it
}

// A batch is one allocation.
type batch struct {
	target  *block // where it stands
	creates []create
	moved   bool // some buffer outlives its scope
}

// planCreate notes the create of a buffer; where it stands is decided when all uses are known.
func (l *lowerer) planCreate(s *storage, x *ir.OpCall, at diag.Span, blk *block) {
	s.kind, s.root = bufferStore, s
	s.typ.Ref = true
	l.creates = append(l.creates, create{x, s, at, blk})
}

// placeCreates decides where each buffer is allocated.
func (l *lowerer) placeCreates(wanted map[*storage]*block) {
	for _, c := range l.creates {
		target, before, moved := c.block, ir.Stmt(nil), false
		for l.movesOut(c, target, wanted[c.storage]) {
			moved = moved || target.kind == autoBlock || target.kind == branchBlock
			target, before = target.parent, target.stmt
		}
		c.storage.block, c.storage.home = target, target
		switch {
		case before != nil:
			l.ahead[before] = addToBatch(l.ahead[before], target, c, moved)
		case l.definedIn(c.op, target):
			continue // in place
		default:
			target.batches = addToBatch(target.batches, target, c, false)
		}
		c.storage.batched = true
	}
}

func addToBatch(bs []*batch, target *block, c create, moved bool) []*batch {
	i := slices.IndexFunc(bs, func(b *batch) bool { return b.target == target && len(b.creates) < maxBatch })
	if i < 0 {
		bs = append(bs, &batch{target: target})
		i = len(bs) - 1
	}
	bs[i].creates = append(bs[i].creates, c)
	bs[i].moved = bs[i].moved || moved
	return bs
}

// movesOut reports that a create which could stand in b belongs in front of the statement whose body b is.
func (l *lowerer) movesOut(c create, b, wanted *block) bool {
	if b.parent == nil || l.definedIn(c.op, b) {
		return false
	}
	if b.kind == manualBlock {
		return true
	}
	return wanted != nil && !b.encloses(wanted) && l.mayLeave(b, wanted)
}

// definedIn reports that an operand of x gets its value in b itself.
func (l *lowerer) definedIn(x *ir.OpCall, b *block) bool {
	found := false
	ir.Walk(x, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok {
			if s := l.storages[v]; s != nil && s.home == b && s.kind != entryStore {
				found = true
			}
		}
		return !found
	})
	return found
}

// emitBatches prints allocations.
func (l *lowerer) emitBatches(bs []*batch) {
	for _, b := range bs {
		l.emitAlloc(b.target, b.creates, b.moved)
	}
}

func (l *lowerer) emitAlloc(to *block, creates []create, moved bool) {
	a := &plan.Alloc{At: plan.At{Pos: creates[0].span}, Outs: l.names.fixed("alloc_" + strconv.Itoa(l.allocs))}
	l.allocs++
	for i, c := range creates {
		info := l.emitCreate(c, to)
		if info == nil {
			return
		}
		info.First, info.Outlives = i == 0, i == 0 && moved
		a.Infos = append(a.Infos, info.Info)
		a.Refs = append(a.Refs, c.storage.name)
		c.storage.alloc = a.Outs
	}
	to.out = append(to.out, a)
}

// emitCreate prints the create-info of one buffer. An op that makes new tensors may have its own; the common one is that of tensor.create.
func (l *lowerer) emitCreate(c create, to *block) *plan.Create {
	if spec := l.reg.Lookup(c.op.Op); spec.Emit != nil {
		var info *plan.Create
		stmts, ok := l.emitOp(c.op, c.storage.name, c.span, to)
		for _, s := range stmts {
			if cr, ok := s.(*plan.Create); ok {
				info = cr
			}
			to.out = append(to.out, s)
		}
		if info == nil && ok {
			l.internal(c.span, "op "+c.op.Op+" makes a new tensor but emits no create")
		}
		return info
	}
	at := c.span
	if c.op.Pos.IsValid() {
		at = c.op.Pos
	}
	info, d := ops.EmitCreate(l.site(c.op, c.storage.name, to))
	if d != nil {
		l.emitFailed(d, at)
		return nil
	}
	l.finishOp(info, at)
	to.out = append(to.out, info)
	return info
}
