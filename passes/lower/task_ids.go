package lower

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// BindTaskIds resolves dependency entries. The rules (mission document 000, "TaskId sourcing" and "Unresolvable dep edges"; passes-codegen 2.9):
//
//   - An entry is a TaskId variable, each slot of an array of ids, or nothing for None. The same operand counts once. The user's edges come first,
//     then derived ones, then those that keep a buffer alive.
//   - An entry is guarded unless its id is valid whenever it is read: the id of a submit in the same C++ scope, of a barrier without fan-in, of an
//     allocation.
//   - An id lives until the C++ scope of its task closes. The user's edge to a closed scope is an error: dropping it would leave the consumer
//     unordered. An edge that the compiler derived gets an id declared in front of the scopes in between, invalid until the task exists; if a
//     loop lies in between, one id cannot stand for all trips, and the edge is dropped and told (--explain).
//   - In a MANUAL scope nothing but explicit edges keeps a buffer alive while tasks use it (mission document 003, "Allocation task ids"), so tasks
//     there depend on the allocation of each buffer that they use; of all candidates, where a handle is carried or merged. An automatically
//     tracked task that uses the buffer too does not help: it may end before them. The operand of a predicate is read at the dispatch without
//     being an argument, so that no scope gives the task an edge that keeps it alive: it gets one here.

// useDep checks a dependency that the user wrote.
func (l *lowerer) useDep(e ir.Expr, blk *block) {
	ir.Walk(e, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok {
			l.markLive(v)
		}
		return true
	})
	s := l.storageOf(e, blk)
	if s == nil || s.home == nil || s.home.encloses(blk) {
		return
	}
	at := e.Span()
	if _, isVar := e.(*ir.Var); isVar || !at.IsValid() {
		at = l.at
	}
	d := l.errorf(CodeClosedScope, at, "Task dependency deps=[%s] cannot be honored: its TaskId is produced inside a scope that has already closed", s.what)
	switch closed := closedScope(s.home, blk); closed.kind {
	case loopBlock, branchBlock:
		d.WithHint("each loop body and branch is a scope of its own; keep the consumer in it, or carry the id out of it (start it with None before the loop)")
	default:
		d.WithHint("keep the consumer in the producer's scope, or move the producer out of it")
	}
	if s.name != nil && s.name.Pos.IsValid() {
		d.WithRelated(s.name.Pos, "%s is produced here", s.what)
	}
}

// closedScope is the outermost block around home that has closed at use. An automatic scope that only wraps a loop body or branch counts as that.
func closedScope(home, use *block) *block {
	b := home
	for b.parent != nil && !b.parent.encloses(use) {
		b = b.parent
	}
	return b
}

// useDerived makes a derived dependency reachable from its consumer: the declaration of the id moves in front of the scopes in between, unless one of
// them is a loop.
func (l *lowerer) useDerived(c *call, v *ir.Var) {
	l.markLive(v)
	s := l.storages[v]
	if s == nil || s.block == nil || s.block.encloses(c.block) {
		return
	}
	if to := common(s.block, c.block); !crossesLoop(s.home, to) {
		s.block = to
	}
}

func crossesLoop(b, to *block) bool {
	for ; b != to; b = b.parent {
		if b.kind == loopBlock {
			return true
		}
	}
	return false
}

// derived is the id of a derived dependency as seen from blk; nil when it cannot be expressed.
func (l *lowerer) derived(v *ir.Var, blk *block) *storage {
	s := l.storages[v]
	if !ir.IsTaskID(v.Typ) && !ir.IsTaskIDArray(v.Typ) || s == nil || s.block != nil && !s.block.encloses(blk) {
		return nil
	}
	return s
}

type depKey struct {
	name *plan.Name
	slot int64
}

type depList struct {
	entries []plan.Dep
	seen    map[depKey]bool
}

func (d *depList) add(key depKey, e plan.Dep) {
	if d.seen[key] {
		return
	}
	if d.seen == nil {
		d.seen = map[depKey]bool{}
	}
	d.seen[key] = true
	d.entries = append(d.entries, e)
}

// addStorage adds the id, or all ids, of s as seen from blk.
func (d *depList) addStorage(s *storage, blk *block, e plan.Dep) {
	switch {
	case s.kind == literal: // None
	case s.slots > 0:
		for i := range s.slots {
			e.ID = &plan.Elem{Array: s.name, I: &plan.Int{Value: i, DType: ir.INDEX}}
			e.Guarded = true
			d.add(depKey{s.name, i}, e)
		}
	default:
		e.ID = s.ref()
		e.Guarded = !s.validIn(blk)
		d.add(depKey{s.name, -1}, e)
	}
}

// validIn reports a task id that is never invalid where it is read.
func (s *storage) validIn(blk *block) bool { return s != nil && s.valid && s.home.encloses(blk) }

// addUser adds the dependencies that the user wrote.
func (l *lowerer) addUser(d *depList, deps []ir.Expr, blk *block, at diag.Span) {
	for _, e := range deps {
		pos := e.Span()
		if _, isVar := e.(*ir.Var); isVar || !pos.IsValid() {
			pos = at
		}
		if s := l.storageOf(e, blk); s != nil {
			d.addStorage(s, blk, plan.Dep{Pos: pos})
			continue
		}
		if x, ok := e.(*ir.OpCall); ok {
			if id := l.inline(x, pos, blk); id != nil {
				if _, none := id.(*plan.InvalidTask); !none {
					d.entries = append(d.entries, plan.Dep{ID: id, Guarded: true, Pos: pos})
				}
			}
			continue
		}
		l.internal(pos, "a dependency that is no TaskId")
	}
}

// taskDeps builds the dependency array of a task.
func (l *lowerer) taskDeps(c *call, tensors []*storage, blk *block, params *plan.Name) *plan.Deps {
	var d depList
	l.addUser(&d, c.node.Launch.Deps, blk, c.span)
	for _, v := range c.node.CompilerDeps {
		s := l.derived(v, blk)
		if s == nil {
			l.note(c.span, fmt.Sprintf("the derived dependency of %s on %q is dropped: no TaskId of it can be named here", c.node.Callee, ir.BaseName(v.Hint)))
			continue
		}
		d.addStorage(s, blk, plan.Dep{Compiler: true, Pos: c.span})
	}
	if !l.opt.NoManualAllocDeps {
		passed := map[*storage]bool{}
		for _, t := range tensors {
			t.buffers(func(b *storage) { passed[b] = true })
			if blk.inManual() {
				d.addMakers(t, blk, c.span)
			}
		}
		if t := l.predicateTensor(c.node.Launch.Predicate); t != nil {
			t.buffers(func(b *storage) {
				if !passed[b] {
					d.addAlloc(b, blk, c.span)
				}
			})
		}
	}
	return l.depArray(&d, params)
}

// addMakers adds dependencies on the allocations that a tensor may lie in.
func (d *depList) addMakers(t *storage, blk *block, at diag.Span) {
	if m := t.carried().maker; m != nil {
		d.add(depKey{m.name, -1}, plan.Dep{ID: m.ref(), Guarded: true, Alloc: true, Keeps: t.name, Pos: at})
		return
	}
	t.buffers(func(b *storage) { d.addAlloc(b, blk, at) })
}

// addAlloc adds a dependency on the allocation of a buffer, when it has one of its own that can be named.
func (d *depList) addAlloc(b *storage, blk *block, at diag.Span) {
	if b.alloc != nil && b.block.encloses(blk) {
		d.add(depKey{b.alloc, -1}, plan.Dep{ID: &plan.TaskIDOf{Outs: b.alloc}, Alloc: true, Keeps: b.name, Pos: at})
	}
}

// predicateTensor is the tensor that a predicate reads, nil when it reads none.
func (l *lowerer) predicateTensor(pred ir.Expr) *storage {
	var tensor *storage
	ir.Walk(pred, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok && ir.IsTensor(v.Typ) && tensor == nil {
			tensor = l.storages[v]
		}
		return true
	})
	return tensor
}

func (l *lowerer) depArray(d *depList, params *plan.Name) *plan.Deps {
	if len(d.entries) == 0 {
		return nil
	}
	return &plan.Deps{Array: l.names.derived(params, "", "_deps"), Count: l.names.derived(params, "", "_deps_count"), Entries: d.entries}
}

// buildDummy prints a dependency-only task.
func (l *lowerer) buildDummy(x *ir.OpCall, at diag.Span, blk *block) {
	s := l.dummies[x]
	d := l.dummy(s, at)
	var deps depList
	l.addUser(&deps, x.Deps, blk, at)
	d.Deps = l.depArray(&deps, d.Params)
	d.Guarded = d.Deps != nil
	l.bindDummy(d, s, blk)
}

// dummy makes the next dependency-only task, whose id is s.
func (l *lowerer) dummy(s *storage, at diag.Span) *plan.Dummy {
	prefix := fmt.Sprintf("phase_fence_barrier_%d", l.barriers)
	d := &plan.Dummy{At: plan.At{Pos: at}, Ordinal: l.barriers, Params: l.names.fixed("params_" + prefix), Outs: l.names.fixed(prefix + "_outs"), ID: s.name}
	l.barriers++
	return d
}

// bindDummy prints d with its id s.
func (l *lowerer) bindDummy(d *plan.Dummy, s *storage, blk *block) {
	if s.lifted() {
		// The id is declared in front of the scope; the barrier's own stays inside.
		own := &storage{kind: localStore, name: l.names.derived(s.name, "", "_inner"), typ: s.typ, block: blk, home: blk}
		d.ID = own.name
		s.block.out = append(s.block.out, &plan.Decl{At: d.At, Name: s.name, Type: s.typ, Init: &plan.InvalidTask{}})
		blk.out = append(blk.out, d, &plan.Assign{At: d.At, Dst: s.name, Value: own.ref()})
		return
	}
	blk.out = append(blk.out, d)
}
