package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Conflicts in straight-line code and branches: what later tasks may have to wait for, and when one task stands for earlier ones.

// liveSet holds the accesses of one buffer that later tasks may have to wait for.
type liveSet struct {
	writes, reads []*access
	full          bool // given up
}

type journalEntry struct {
	list   *[]*access
	before []*access
	killed []*access
}

func (r *depRegion) set(base *ir.Var) *liveSet {
	s := r.live[base]
	if s == nil {
		s = &liveSet{}
		r.live[base] = s
	}
	return s
}

// conflicts adds edges from earlier accesses to a, and retires those that a covers: whoever conflicts with them conflicts with a, which waits for them.
func (r *depRegion) conflicts(a *access) {
	s := r.set(a.base)
	if s.full {
		return
	}
	r.against(a, &s.writes)
	if a.write {
		r.against(a, &s.reads)
	}
}

func (r *depRegion) against(a *access, list *[]*access) {
	var killed []*access
	for _, p := range *list {
		if p.task == a.task || !p.part.overlaps(a.part) {
			continue
		}
		if r.edge(p.node, a, hazard(p, a)) && a.write && a.part.covers(p.part) && !p.maker {
			killed = append(killed, p)
			switch {
			case p.depth < a.depth:
				a.over = append(a.over, p)
			case a.over == nil:
				a.over = slices.Clip(p.over)
			default:
				a.over = append(a.over, p.over...)
			}
		}
	}
	if len(killed) == 0 {
		return
	}
	kept := make([]*access, 0, len(*list)-len(killed))
	for _, p := range killed {
		p.dead = true
	}
	for _, p := range *list {
		if !p.dead {
			kept = append(kept, p)
		}
	}
	r.journal = append(r.journal, journalEntry{list, *list, killed})
	*list = kept
}

func hazard(p, a *access) string {
	switch {
	case p.write && !a.write:
		return "read after write"
	case p.write:
		return "write after write"
	}
	return "write after read"
}

// edge makes task a.task wait for an id, and reports whether it could.
func (r *depRegion) edge(from *idNode, a *access, hazard string) bool {
	if why := from.lost(); why != "" {
		r.fail(a.task.call.Pos, "%s", why)
		return false
	}
	if a.slot >= 0 && a.part.precise() {
		if _, known := a.task.covered[a.slot]; !known {
			a.task.covered[a.slot] = true
		}
	} else {
		a.task.covered[a.slot] = false
	}
	if slices.Contains(a.task.edges, from) || r.userWaits(a.task.call.Launch.Deps, from, 0) {
		return true
	}
	a.task.edges = append(a.task.edges, from)
	r.edges = append(r.edges, depEdge{from, a.task, a.base, hazard})
	return true
}

// userWaits reports that the user's deps already name the id, directly or through a dummy task.
func (r *depRegion) userWaits(deps []ir.Expr, from *idNode, level int) bool {
	if from.kind != idOfTask || from.task.id == nil || level > 8 {
		return false
	}
	for _, e := range deps {
		v, ok := e.(*ir.Var)
		if !ok {
			continue
		}
		if v == from.task.id || r.userWaits(r.dummies[v], from, level+1) {
			return true
		}
	}
	return false
}

func (r *depRegion) add(a *access) {
	s := r.set(a.base)
	list := &s.reads
	if a.write {
		list = &s.writes
	}
	if s.full || len(*list) == maxLive {
		s.full = true
		r.fail(diag.Span{}, "more than %d windows of '%s' are in use at once", maxLive, ir.BaseName(a.base.Hint))
		return
	}
	r.journal = append(r.journal, journalEntry{list: list, before: *list})
	*list = append(*list, a)
	r.added = append(r.added, a)
}

// mark and undo bracket code whose effects on the live sets hold only conditionally.
func (r *depRegion) undo(mark int) (killed []*access) {
	for _, e := range slices.Backward(r.journal[mark:]) {
		*e.list = e.before
		for _, p := range e.killed {
			p.dead = false
		}
		killed = append(killed, e.killed...)
	}
	r.journal = r.journal[:mark]
	return killed
}

// inner runs a nested block and gives the accesses that are live at its end, with the live sets as they were before.
func (r *depRegion) inner(b ir.Block) (alive, killed []*access) {
	mark, from := len(r.journal), len(r.added)
	r.depth++
	r.block(b)
	r.depth--
	for _, a := range r.added[from:] {
		if !a.dead {
			alive = append(alive, a)
		}
	}
	r.added = r.added[:from]
	return alive, r.undo(mark)
}

// branches merges what the branches leave. Where the task of a branch retired an earlier one, the merged id is that of the earlier one on the other
// path, so that later tasks have one id to wait for.
func (r *depRegion) branches(s *ir.If) {
	then, _ := r.inner(s.Then)
	els, _ := r.inner(s.Else)
	type key struct{ node, other *idNode }
	merged := map[key]*idNode{}
	phi := func(branch int, node, other *idNode) *idNode {
		n := merged[key{node, other}]
		if n == nil {
			n = r.ids.branch(s, branch, node, other)
			merged[key{node, other}] = n
		}
		return n
	}
	export := func(alive []*access, branch int) {
		for _, a := range alive {
			over := r.outside(a)
			c := *a
			c.depth, c.over = r.depth, nil
			var joined *idNode
			for _, p := range over {
				if p.depth < r.depth {
					c.over = append(c.over, p)
				}
				c.over = append(c.over, p.over...)
				if p.write && joined == nil {
					joined = p.node
					continue
				}
				q := *p
				q.node, q.depth, q.over = phi(branch, a.node, p.node), r.depth, nil
				r.retire(p)
				r.add(&q)
			}
			c.node = phi(branch, a.node, joined)
			for _, p := range over {
				if p.node == joined {
					r.retire(p)
				}
			}
			r.add(&c)
		}
	}
	export(then, 0)
	export(els, 1)
}

// outside gives the live accesses from around a branch or loop that an access in it retired.
func (r *depRegion) outside(a *access) []*access {
	var out []*access
	for _, p := range a.over {
		if s := r.live[p.base]; !p.dead && (slices.Contains(s.writes, p) || slices.Contains(s.reads, p)) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// retire removes a live access.
func (r *depRegion) retire(p *access) {
	s := r.live[p.base]
	for _, list := range [...]*[]*access{&s.writes, &s.reads} {
		if i := slices.Index(*list, p); i >= 0 {
			r.journal = append(r.journal, journalEntry{list, *list, []*access{p}})
			p.dead = true
			*list = slices.Delete(slices.Clone(*list), i, i+1)
		}
	}
}
