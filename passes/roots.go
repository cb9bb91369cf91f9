package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// The storage analysis that outlining, return order, fusion, directions, dependencies and carry classes share. It rests on op specs (ops.Spec Result
// and Effects) and on return maps, never on names.

// isStorage reports a type whose values lie in memory: tensors, tiles, arrays.
func isStorage(t ir.Type) bool {
	switch t.(type) {
	case *ir.TensorType, *ir.TileType, *ir.ArrayType:
		return true
	}
	return false
}

func isTuple(t ir.Type) bool { _, ok := t.(*ir.TupleType); return ok }

func isScalar(t ir.Type) bool { _, ok := t.(*ir.ScalarType); return ok }

// originKind says what a handle is.
type originKind uint8

const (
	isUnknown originKind = iota // result of something without a spec or return map: a buffer of its own, as far as known
	isParam
	isFresh // new storage of an op, or of a task (an Out argument that was not passed)
	isView  // a window of another tensor
	isMerge // one of several tensors: a loop carry or a branch result
)

type origin struct {
	kind originKind
	op   *ir.OpCall // isFresh of an op, isView
	of   *ir.Var    // isView: the tensor behind the window
	set  rootSet    // isMerge: the handles it may be
}

// maxRoots bounds the alternatives kept for one Var; more count as "any buffer".
const maxRoots = 4

// A rootSet is a small set of handles in first-seen order. Loop variables of loops that were open when the set was made may stand in it; expand
// resolves them.
type rootSet struct {
	vars []*ir.Var
	many bool
}

func (s *rootSet) add(v *ir.Var) {
	if slices.Contains(s.vars, v) {
		return
	}
	if len(s.vars) == maxRoots {
		s.many = true
		return
	}
	s.vars = append(s.vars, v)
}

// A storage says for every tensor, tile and array Var of one function in SSA form which buffer it stands for. Two facts are kept apart: handle(v) is
// the Var that v always equals (same buffer, same window), and roots(v) are the handles it may be where loops or branches merge several.
type storage struct {
	calls   *callTable
	link    map[*ir.Var]*ir.Var // v is link[v], the version before it
	top     map[*ir.Var]*ir.Var // shortcut along link
	origins map[*ir.Var]origin  // of Vars without a link
	tuples  map[*ir.Var]ir.Expr // Call or MakeTuple that made a tuple
}

func newStorage(t *callTable, f *ir.Function) *storage {
	s := &storage{calls: t, link: map[*ir.Var]*ir.Var{}, top: map[*ir.Var]*ir.Var{}, origins: map[*ir.Var]origin{}, tuples: map[*ir.Var]ir.Expr{}}
	for _, p := range f.Params {
		if isStorage(p.Var.Typ) {
			s.origins[p.Var] = origin{kind: isParam}
		}
	}
	s.block(f.Body)
	return s
}

func (s *storage) block(b ir.Block) {
	for _, st := range b {
		s.stmt(st)
	}
}

func (s *storage) stmt(st ir.Stmt) {
	switch st := st.(type) {
	case *ir.Assign:
		s.assign(st.Var, st.Value)
	case *ir.If:
		s.block(st.Then)
		s.block(st.Else)
		for i, r := range st.Results {
			if isStorage(r.Typ) {
				s.merge(r, yielded(st.Then, i), yielded(st.Else, i))
			}
		}
	case *ir.For:
		s.loop(st.Carries, st.Body)
	case *ir.While:
		s.loop(st.Carries, st.Body)
	case *ir.Scope:
		s.block(st.Body)
	}
}

// loop treats each carry as a tensor of its own while the body is read. A carry whose yielded value turns out to be the carry itself, or its
// initial value, is that initial value throughout.
func (s *storage) loop(cs []ir.Carry, body ir.Block) {
	for _, c := range cs {
		if isStorage(c.Iter.Typ) {
			s.origins[c.Iter] = origin{kind: isMerge}
		}
	}
	s.block(body)
	for i, c := range cs {
		if !isStorage(c.Iter.Typ) {
			continue
		}
		init, _ := c.Init.(*ir.Var)
		y, _ := yielded(body, i).(*ir.Var)
		if init != nil && y != nil {
			if h := s.handle(y); h == c.Iter || h == s.handle(init) {
				delete(s.origins, c.Iter)
				s.link[c.Iter], s.link[c.Result] = init, init
				continue
			}
		}
		var set rootSet
		s.addRoots(&set, init, c.Iter)
		s.addRoots(&set, y, c.Iter)
		s.origins[c.Iter] = origin{kind: isMerge, set: set}
		s.origins[c.Result] = origin{kind: isMerge, set: set}
	}
}

func (s *storage) merge(r *ir.Var, a, b ir.Expr) {
	x, _ := a.(*ir.Var)
	y, _ := b.(*ir.Var)
	if x != nil && y != nil && s.handle(x) == s.handle(y) {
		s.link[r] = x
		return
	}
	var set rootSet
	s.addRoots(&set, x, nil)
	s.addRoots(&set, y, nil)
	s.origins[r] = origin{kind: isMerge, set: set}
}

// addRoots adds what v may be, leaving out self. A nil v (not a Var) makes the set unknown.
func (s *storage) addRoots(set *rootSet, v, self *ir.Var) {
	if v == nil {
		set.many = true
		return
	}
	h := s.handle(v)
	if h == self {
		return
	}
	if o := s.origins[h]; o.kind == isMerge && (len(o.set.vars) > 0 || o.set.many) {
		set.many = set.many || o.set.many
		for _, r := range o.set.vars {
			if r != self {
				set.add(r)
			}
		}
		return
	}
	set.add(h)
}

func (s *storage) assign(v *ir.Var, value ir.Expr) {
	switch e := value.(type) {
	case *ir.Var:
		if t, ok := s.tuples[e]; ok {
			s.tuples[v] = t
		} else if isStorage(v.Typ) {
			s.link[v] = e
		}
	case *ir.Call:
		if isTuple(e.Typ) {
			s.tuples[v] = e
		} else if isStorage(v.Typ) {
			s.result(v, e, 0)
		}
	case *ir.MakeTuple:
		s.tuples[v] = e
	case *ir.TupleGet:
		t, _ := e.X.(*ir.Var)
		switch src := s.tuples[t].(type) {
		case *ir.Call:
			if isStorage(v.Typ) {
				s.result(v, src, e.Index)
			}
		case *ir.MakeTuple:
			if e.Index < len(src.Elems) {
				s.assign(v, src.Elems[e.Index])
			}
		default:
			if isStorage(v.Typ) {
				s.origins[v] = origin{}
			}
		}
	case *ir.OpCall:
		if isTuple(e.Typ) {
			s.tuples[v] = e
		}
		if !isStorage(v.Typ) {
			return
		}
		spec := s.calls.ops.Lookup(e.Op)
		if spec == nil {
			s.origins[v] = origin{}
			return
		}
		switch spec.Result.Kind {
		case ops.InPlace:
			if a := argVar(e, spec.Result.Arg); a != nil {
				s.link[v] = a
				return
			}
			s.origins[v] = origin{}
		case ops.View:
			s.origins[v] = origin{kind: isView, op: e, of: argVar(e, spec.Result.Arg)}
		case ops.Fresh:
			s.origins[v] = origin{kind: isFresh, op: e}
		default:
			s.origins[v] = origin{}
		}
	default:
		if isStorage(v.Typ) {
			s.origins[v] = origin{}
		}
	}
}

func (s *storage) result(v *ir.Var, c *ir.Call, i int) {
	if a := s.calls.result(c, i); a != nil {
		s.link[v] = a
		return
	}
	if m := s.calls.returned(c.Callee); i < len(m) && m[i] >= 0 && argOf(s.calls.byName[c.Callee], len(c.Args), m[i]) < 0 {
		s.origins[v] = origin{kind: isFresh} // an Out parameter that the submit leaves to the runtime
		return
	}
	s.origins[v] = origin{}
}

func argVar(c *ir.OpCall, i int) *ir.Var {
	if i < len(c.Args) {
		v, _ := c.Args[i].(*ir.Var)
		return v
	}
	return nil
}

// tupleElems gives the values of a tuple Var where they are known: nil entries are buffers of their own.
func (s *storage) tupleElems(v *ir.Var) []ir.Expr {
	switch t := s.tuples[v].(type) {
	case *ir.MakeTuple:
		return t.Elems
	case *ir.Call:
		n := len(v.Typ.(*ir.TupleType).Elems)
		out := make([]ir.Expr, n)
		for i := range out {
			if a := s.calls.result(t, i); a != nil {
				out[i] = a
			}
		}
		return out
	}
	return nil
}

// handle is the Var that v always equals.
func (s *storage) handle(v *ir.Var) *ir.Var {
	root := v
	for {
		n, ok := s.top[root]
		if !ok {
			if n, ok = s.link[root]; !ok {
				break
			}
		}
		root = n
	}
	for v != root {
		n, ok := s.top[v]
		if !ok {
			n = s.link[v]
		}
		s.top[v] = root
		v = n
	}
	return root
}

// roots is what v may be: parameters, fresh buffers and windows. many reports that it may be anything.
func (s *storage) roots(v *ir.Var) (vars []*ir.Var, many bool) {
	h := s.handle(v)
	o := s.origins[h]
	if o.kind != isMerge {
		return []*ir.Var{h}, false
	}
	var set rootSet
	var seen []*ir.Var
	s.expand(h, &set, &seen)
	return set.vars, set.many || len(set.vars) == 0
}

func (s *storage) expand(h *ir.Var, set *rootSet, seen *[]*ir.Var) {
	h = s.handle(h)
	o := s.origins[h]
	if o.kind != isMerge {
		set.add(h)
		return
	}
	if slices.Contains(*seen, h) {
		return
	}
	*seen = append(*seen, h)
	set.many = set.many || o.set.many
	for _, r := range o.set.vars {
		s.expand(r, set, seen)
	}
}

// bases is like roots, with windows replaced by the buffers behind them.
func (s *storage) bases(v *ir.Var) (vars []*ir.Var, many bool) {
	roots, many := s.roots(v)
	if len(roots) == 1 && s.origins[roots[0]].kind != isView {
		return roots, many
	}
	set := rootSet{many: many}
	for _, r := range roots {
		for range 1 << 10 { // windows of windows; the bound only stops a malformed program
			o := s.origins[r]
			if o.kind != isView {
				break
			}
			if o.of == nil {
				set.many = true
				break
			}
			r = s.handle(o.of)
		}
		if o := s.origins[r]; o.kind == isMerge {
			vs, m := s.bases(r)
			set.many = set.many || m
			for _, b := range vs {
				set.add(b)
			}
			continue
		}
		set.add(r)
	}
	return set.vars, set.many
}
