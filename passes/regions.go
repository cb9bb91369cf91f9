package passes

import (
	"github.com/ptobuild/ptobuild/ir"
)

// Regions: which part of a buffer a window covers, as far as known before running.

// An area is one interval per axis of the buffer; nil axes mean the whole buffer, or an unknown part of it when exact is false.
type area struct {
	axes  []interval
	exact bool // covers exactly these elements; else it is within them
}

// An interval is [sym+lo, sym+lo+size) of one axis; sym nil is 0. A negative size is unknown.
type interval struct {
	sym      ir.Expr
	lo, size int64
}

// constant reports that both ends are known numbers.
func (i interval) constant() bool { return i.sym == nil && i.size >= 0 }

// apart reports that two intervals of one axis certainly share no element.
func (i interval) apart(j interval) bool {
	if i.size < 0 || j.size < 0 || !sameSym(i.sym, j.sym) {
		return false
	}
	return i.lo+i.size <= j.lo || j.lo+j.size <= i.lo
}

func sameSym(a, b ir.Expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameExpr(a, b)
}

// overlaps reports that two regions of one buffer may share elements.
func (r area) overlaps(q area) bool {
	if r.axes == nil || q.axes == nil || len(r.axes) != len(q.axes) {
		return true
	}
	for k := range r.axes {
		if r.axes[k].apart(q.axes[k]) {
			return false
		}
	}
	return true
}

// covers reports that whatever may overlap q may overlap r as well.
func (r area) covers(q area) bool {
	if r.axes == nil {
		return true
	}
	if len(r.axes) != len(q.axes) {
		return false
	}
	for k, i := range r.axes {
		j := q.axes[k]
		if i.size < 0 || j.size < 0 || !sameSym(i.sym, j.sym) || j.lo < i.lo || j.lo+j.size > i.lo+i.size {
			return false
		}
	}
	return true
}

// precise reports a region of known numbers (or the whole buffer).
func (r area) precise() bool {
	if !r.exact {
		return false
	}
	for _, i := range r.axes {
		if !i.constant() {
			return false
		}
	}
	return true
}

// windows finds and remembers the regions of handles.
type windows struct {
	s    *storage
	seen map[*ir.Var]place
}

type place struct {
	base *ir.Var // nil: may be several buffers
	part area
}

func newWindows(s *storage) *windows { return &windows{s: s, seen: map[*ir.Var]place{}} }

// of gives the buffer behind a handle and the part of it; a nil buffer means that it is not one buffer.
func (w *windows) of(h *ir.Var) (*ir.Var, area) {
	if p, ok := w.seen[h]; ok {
		return p.base, p.part
	}
	w.seen[h] = place{} // stops a malformed cycle
	p := w.find(h)
	w.seen[h] = p
	return p.base, p.part
}

func (w *windows) find(h *ir.Var) place {
	o := w.s.origins[h]
	switch o.kind {
	case isMerge:
		return place{}
	case isView:
	default:
		return place{h, area{exact: true}}
	}
	if o.of == nil {
		return place{}
	}
	base, outer := w.of(w.s.handle(o.of))
	if base == nil {
		return place{}
	}
	inside := area{axes: outer.axes} // somewhere within what it looks into
	if o.op.Op != opSlice || len(o.op.Args) < 3 || len(ir.ShapeOf(o.of.Typ)) != len(ir.ShapeOf(base.Typ)) {
		return place{base, inside}
	}
	shape, ok1 := o.op.Args[1].(*ir.MakeTuple)
	offset, ok2 := o.op.Args[2].(*ir.MakeTuple)
	if !ok1 || !ok2 {
		return place{base, inside}
	}
	part, ok := window(base, outer, offset.Elems, shape.Elems)
	if !ok {
		return place{base, inside}
	}
	part.exact = part.exact && isPlainSlice(o.op)
	return place{base, part}
}

// window is the part of a buffer that a window covers which is cut out of another part of it.
func window(base *ir.Var, outer area, offset, shape []ir.Expr) (area, bool) {
	extents := ir.ShapeOf(base.Typ)
	if len(offset) != len(extents) || len(shape) != len(extents) {
		return area{}, false
	}
	part := area{axes: make([]interval, len(extents)), exact: outer.exact}
	for k := range part.axes {
		i := linear(offset[k])
		i.size = -1
		if n, ok := ir.IntValue(shape[k]); ok {
			i.size = n
		}
		if outer.axes != nil {
			var ok bool
			if i, ok = within(outer.axes[k], i); !ok {
				return area{}, false
			}
		}
		// The runtime clamps a window to its source: only one that certainly fits is exact.
		n, ok := ir.IntValue(extents[k])
		part.exact = part.exact && ok && i.constant() && i.lo+i.size <= n
		part.axes[k] = i
	}
	return part, true
}

// isPlainSlice reports a slice without a valid shape of its own and without dropped axes.
func isPlainSlice(c *ir.OpCall) bool {
	for _, a := range c.Args[3:] {
		if t, ok := a.(*ir.MakeTuple); !ok || len(t.Elems) > 0 {
			return false
		}
	}
	return true
}

// within shifts an interval of a window into the coordinates of its buffer.
func within(outer, in interval) (interval, bool) {
	switch {
	case outer.sym == nil:
		in.lo += outer.lo
		return in, true
	case in.sym == nil:
		return interval{outer.sym, outer.lo + in.lo, in.size}, true
	}
	return interval{}, false
}

// linear splits an offset into a symbolic part and a number.
func linear(e ir.Expr) interval {
	if v, ok := ir.IntValue(e); ok {
		return interval{lo: v}
	}
	if b, ok := e.(*ir.Binary); ok {
		if v, isInt := ir.IntValue(b.Y); isInt && (b.Op == ir.Add || b.Op == ir.Sub) {
			i := linear(b.X)
			if b.Op == ir.Sub {
				v = -v
			}
			i.lo += v
			return i
		}
		if v, isInt := ir.IntValue(b.X); isInt && b.Op == ir.Add {
			i := linear(b.Y)
			i.lo += v
			return i
		}
	}
	return interval{sym: e}
}

// A areaSet holds regions of one buffer and answers whether a further one may overlap any. Regions of known numbers lie in a grid, so that many
// disjoint windows stay cheap; beyond maxLoose others, the set counts as the whole buffer. A nil set is empty.
type areaSet struct {
	whole int
	loose []area
	cell  []int64 // grid pitch per axis: the first box's size
	grid  map[string][]area
	log   []pushed
}

type pushed struct {
	whole, loose bool
	cells        []string
}

const (
	maxLoose = 64
	maxCells = 64
)

// push adds a region and reports whether anything was added, for pop.
func (s *areaSet) push(r area) bool {
	if s.whole > 0 {
		return false
	}
	if r.axes == nil {
		s.whole++
		s.log = append(s.log, pushed{whole: true})
		return true
	}
	if cells := s.cells(r, true); cells != nil {
		if s.grid == nil {
			s.grid = map[string][]area{}
		}
		for _, c := range cells {
			s.grid[c] = append(s.grid[c], r)
		}
		s.log = append(s.log, pushed{cells: cells})
		return true
	}
	for _, q := range s.loose {
		if sameArea(q, r) {
			return false
		}
	}
	if len(s.loose) == maxLoose {
		s.whole++
		s.log = append(s.log, pushed{whole: true})
		return true
	}
	s.loose = append(s.loose, r)
	s.log = append(s.log, pushed{loose: true})
	return true
}

// pop takes back the last region added.
func (s *areaSet) pop() {
	p := s.log[len(s.log)-1]
	s.log = s.log[:len(s.log)-1]
	switch {
	case p.whole:
		s.whole--
	case p.loose:
		s.loose = s.loose[:len(s.loose)-1]
	}
	for _, c := range p.cells {
		s.grid[c] = s.grid[c][:len(s.grid[c])-1]
	}
}

func (s *areaSet) overlaps(r area) bool {
	if s == nil {
		return false
	}
	if s.whole > 0 || (r.axes == nil && len(s.log) > 0) {
		return true
	}
	for _, q := range s.loose {
		if q.overlaps(r) {
			return true
		}
	}
	if len(s.grid) == 0 {
		return false
	}
	cells := s.cells(r, false)
	if cells == nil {
		// Symbolic or very large: every box counts.
		for _, p := range s.log {
			for _, c := range p.cells {
				for _, q := range s.grid[c] {
					if q.overlaps(r) {
						return true
					}
				}
			}
		}
		return false
	}
	for _, c := range cells {
		for _, q := range s.grid[c] {
			if q.overlaps(r) {
				return true
			}
		}
	}
	return false
}

func sameArea(a, b area) bool {
	if len(a.axes) != len(b.axes) {
		return false
	}
	for k := range a.axes {
		if a.axes[k].lo != b.axes[k].lo || a.axes[k].size != b.axes[k].size || !sameSym(a.axes[k].sym, b.axes[k].sym) {
			return false
		}
	}
	return true
}

// cells lists the grid cells of a box, nil when it is no box of known numbers or covers too many.
func (s *areaSet) cells(r area, setPitch bool) []string {
	for _, i := range r.axes {
		if !i.constant() {
			return nil
		}
	}
	if s.cell == nil {
		if !setPitch {
			return nil
		}
		for _, i := range r.axes {
			s.cell = append(s.cell, max(i.size, 1))
		}
	}
	if len(s.cell) != len(r.axes) {
		return nil
	}
	total := int64(1)
	for k, i := range r.axes {
		total *= floorDiv(i.lo+max(i.size, 1)-1, s.cell[k]) - floorDiv(i.lo, s.cell[k]) + 1
		if total > maxCells {
			return nil
		}
	}
	keys := [][]byte{nil}
	for k, i := range r.axes {
		var next [][]byte
		for c := floorDiv(i.lo, s.cell[k]); c <= floorDiv(i.lo+max(i.size, 1)-1, s.cell[k]); c++ {
			for _, p := range keys {
				b := append(append(make([]byte, 0, len(p)+8), p...), byte(c), byte(c>>8), byte(c>>16), byte(c>>24), byte(c>>32), byte(c>>40), byte(c>>48), byte(c>>56))
				next = append(next, b)
			}
		}
		keys = next
	}
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = string(k)
	}
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
