package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// Conflicts between the trips of a loop.

// loop runs a loop body once, then adds what one trip has to wait for of the trips before.
func (r *depRegion) loop(s ir.Stmt, v *ir.Var, body ir.Block, trips int64, known, parallel bool) {
	from := len(r.trace)
	alive, killed := r.inner(body)
	defs := loopDefs{order: r.order, v: v}
	if f, ok := s.(*ir.For); ok {
		defs.step, _ = constInt(f.Step)
	}
	defs.span(s)

	nodes := map[*idNode]*idNode{}
	for _, a := range alive {
		if nodes[a.node] == nil {
			nodes[a.node] = r.ids.loop(s, a.node, trips, known, parallel)
		}
	}
	if !known || trips > 1 {
		// Tasks that conflict with themselves from trip to trip are ordered: one id stands for all.
		for _, a := range alive {
			if a.write && !parallel && r.meet(a, a, defs) && a.node.steady() {
				nodes[a.node].chain = true
			}
		}
		r.betweenTrips(alive, nodes, r.trace[from:], defs, parallel)
	} else {
		for _, n := range nodes {
			n.chain = true // a single trip
		}
	}
	sure := known && trips > 0
	if sure {
		for _, p := range killed {
			r.retire(p)
		}
	}
	for _, a := range alive {
		c := *a
		c.node, c.depth, c.over = nodes[a.node], r.depth, nil
		for _, p := range a.over {
			// A loop that may not run stands for what it retired only when it hands on the id from before it.
			if !sure {
				if !p.write || !c.node.chain || c.node.before != nil || !slices.Contains(r.outside(a), p) {
					continue
				}
				c.node.before = r.ids.single(p.node)
				r.retire(p)
			}
			if p.depth < r.depth {
				c.over = append(c.over, p)
			}
			c.over = append(c.over, p.over...)
		}
		r.add(&c)
	}
}

// betweenTrips makes every access of a body wait for what the trips before left alive.
func (r *depRegion) betweenTrips(alive []*access, nodes map[*idNode]*idNode, body []*access, defs loopDefs, parallel bool) {
	left := map[*ir.Var][]*access{}
	for _, p := range alive {
		left[p.base] = append(left[p.base], p)
	}
	for _, q := range body {
		prev := left[q.base]
		kept := prev[:0]
		for _, p := range prev {
			covered := false
			if (p.write || q.write) && r.meet(p, q, defs) {
				switch {
				case parallel && (p.update || q.update):
					r.fail(q.task.call.Pos, "parallel trips update '%s'", ir.BaseName(q.base.Hint))
				case parallel:
					// Trips of a parallel loop are independent by declaration.
				default:
					covered = r.edge(r.ids.iter(nodes[p.node]), q, hazard(p, q)) && q.write && q.depth == r.depth+1 && q.part.covers(p.part) && !defs.has(p.part)
				}
			}
			if !covered {
				kept = append(kept, p)
			}
		}
		left[q.base] = kept
	}
}

// loopDefs knows which Vars a loop defines.
type loopDefs struct {
	order    map[*ir.Var]int
	v        *ir.Var
	step     int64
	low, top int
}

func (d *loopDefs) span(s ir.Stmt) {
	d.low, d.top = 1<<62, 0
	innerDefs(ir.Block{s}, func(v *ir.Var) {
		d.low, d.top = min(d.low, d.order[v]), max(d.top, d.order[v])
	})
}

func (d *loopDefs) defines(v *ir.Var) bool { n := d.order[v]; return n > 0 && n >= d.low && n <= d.top }

// has reports that a region depends on what the loop defines.
func (d *loopDefs) has(a area) bool {
	for _, i := range a.axes {
		found := false
		if i.sym != nil {
			ir.Walk(i.sym, func(e ir.Expr) bool {
				if v, ok := e.(*ir.Var); ok && d.defines(v) {
					found = true
				}
				return !found
			})
		}
		if found {
			return true
		}
	}
	return false
}

// meet reports that p in one trip and q in another may overlap.
func (r *depRegion) meet(p, q *access, d loopDefs) bool {
	a, b := p.part, q.part
	if a.axes == nil || b.axes == nil || len(a.axes) != len(b.axes) {
		return true
	}
	for k := range a.axes {
		i, j := a.axes[k], b.axes[k]
		moving := d.has(area{axes: a.axes[k : k+1]}) || d.has(area{axes: b.axes[k : k+1]})
		if !moving && i.apart(j) {
			return false
		}
		// Windows that move with the loop variable by at least their size do not meet.
		if moving && i.size >= 0 && j.size >= 0 && sameSym(i.sym, j.sym) {
			if c, ok := r.pitch(i.sym, d.v); ok {
				c *= d.step
				if c < 0 {
					c = -c
				}
				if c > 0 && i.lo >= 0 && j.lo >= 0 && i.lo+i.size <= c && j.lo+j.size <= c {
					return false
				}
			}
		}
	}
	return true
}

// pitch gives c when e is v*c.
func (r *depRegion) pitch(e ir.Expr, v *ir.Var) (int64, bool) {
	for range 8 {
		x, ok := e.(*ir.Var)
		if !ok || x == v || r.scalars[x] == nil {
			break
		}
		e = r.scalars[x]
	}
	if v == nil {
		return 0, false
	}
	if e == ir.Expr(v) {
		return 1, true
	}
	b, ok := e.(*ir.Binary)
	if !ok || b.Op != ir.Mul {
		return 0, false
	}
	if c, isInt := ir.IntValue(b.Y); isInt {
		n, ok := r.pitch(b.X, v)
		return n * c, ok
	}
	return 0, false
}
