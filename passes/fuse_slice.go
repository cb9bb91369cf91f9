package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// FuseCreateAssembleToSlice lets kernels write straight into the window that a temporary is placed into afterwards:
//
//	t = create; t = k(x, t); y = assemble(y, t, offset)   →   t = slice(y, shape, offset); k(x, t)
//
// An orchestration cannot copy, so this is the only meaning that placing a temporary has there. The create becomes a window of the target, padded on
// the left with extents of 1 up to the target's rank; the assemble's result is its target; carries that only passed the target through are
// removed from for and while loops.
//
// Not fused: a temporary placed more than once or read after its placement; one that is itself a window; a target that may be several buffers; an
// offset or target made after the temporary; a placement under another condition or loop than the temporary; a destination that is accessed
// between, except by the task itself in that very window; an atomic placement. What is left then would lose data, so a left-over placement is an error, unless its source already is
// that window of the target.
var fuseSlice = &Pass{
	Name:     "FuseCreateAssembleToSlice",
	Doc:      "let kernels write into the window that their output is placed into",
	Requires: []ir.Property{ir.SplitIncoreOrch, ir.ReturnParamsExplicit},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		calls := newCallTable(ctx, p)
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type != ir.Orchestration {
				return f
			}
			return fuseFunction(ctx, calls, f)
		}), nil
	},
}

// The two host ops of the pattern.
const (
	opCreate   = "tensor.create"
	opAssemble = "tensor.assemble"
	opSlice    = "tensor.slice"
)

// A placement is one orchestration-level assemble.
type placement struct {
	at     *ir.Assign
	call   *ir.OpCall
	target *ir.Var
	source *ir.Var
	buffer *ir.Var // handle of the source
	region int     // the conditional region it stands in
	clock  int
	// The part of a buffer that it writes, set by disturbed.
	base *ir.Var
	dest area
}

// bufferUse is one access of a buffer.
type bufferUse struct {
	clock int
	part  area
	write bool
}

type pathStep struct{ region, clock int }

// fuser holds what one walk over a function found. Positions are statement numbers in walk order.
type fuser struct {
	ctx   *Context
	calls *callTable
	s     *storage
	win   *windows

	clock   int
	defined map[*ir.Var]int
	creates map[*ir.Var]*ir.Assign // by handle
	region  map[*ir.Var]int        // region of each create
	placed  map[*ir.Var][]*placement
	order   []*placement
	unused  []*ir.OpCall // placements whose result has no name
	// firstWrite and lastUse of a temporary, by handle; the placement itself does not count as a use.
	firstWrite, lastUse map[*ir.Var]int
	// accesses of each buffer, in order.
	accesses map[*ir.Var][]bufferUse
	// fused placements of each buffer, in order.
	fused map[*ir.Var][]*placement
	// path is the statement that the walk is at, in each open region.
	path []pathStep

	window map[*ir.Assign]*placement // create → the placement that it takes in
	gone   map[*ir.Assign]bool       // assembles that disappear
	subst  map[*ir.Var]ir.Expr
}

func fuseFunction(ctx *Context, calls *callTable, f *ir.Function) *ir.Function {
	has := false
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		has = has || isOp(s, opAssemble)
		return !has
	})
	if !has {
		return f
	}
	u := &fuser{ctx: ctx, calls: calls, s: newStorage(calls, f), defined: map[*ir.Var]int{}, creates: map[*ir.Var]*ir.Assign{}, region: map[*ir.Var]int{},
		placed: map[*ir.Var][]*placement{}, firstWrite: map[*ir.Var]int{}, lastUse: map[*ir.Var]int{}, accesses: map[*ir.Var][]bufferUse{}, fused: map[*ir.Var][]*placement{},
		window: map[*ir.Assign]*placement{}, gone: map[*ir.Assign]bool{}, subst: map[*ir.Var]ir.Expr{}}
	u.win = newWindows(u.s)
	u.collect(f.Body, 0)
	for _, p := range u.order {
		u.decide(p)
	}
	g := f
	if len(u.window) > 0 {
		c := *f
		c.Body = u.rewrite(f.Body)
		g = &c
	}
	u.checkLost(g)
	return g
}

func isOp(s ir.Stmt, op string) bool {
	switch s := s.(type) {
	case *ir.Assign:
		c, ok := s.Value.(*ir.OpCall)
		return ok && c.Op == op
	case *ir.Eval:
		c, ok := s.X.(*ir.OpCall)
		return ok && c.Op == op
	}
	return false
}

// collect numbers statements and records creates, placements and uses. region counts branches and loops; runtime scopes are transparent.
func (u *fuser) collect(b ir.Block, region int) {
	u.path = append(u.path, pathStep{region: region})
	defer func() { u.path = u.path[:len(u.path)-1] }()
	for _, st := range b {
		u.clock++
		u.path[len(u.path)-1].clock = u.clock
		u.uses(st)
		switch st := st.(type) {
		case *ir.Assign:
			u.defined[st.Var] = u.clock
			if c, ok := st.Value.(*ir.OpCall); ok {
				u.opAt(st, c, region)
			}
		case *ir.Eval:
			if c, ok := st.X.(*ir.OpCall); ok && c.Op == opAssemble {
				u.unused = append(u.unused, c)
			}
		case *ir.For:
			u.defined[st.Var] = u.clock
			u.carries(st.Carries)
		case *ir.While:
			u.carries(st.Carries)
		}
		inner := region
		if _, scope := st.(*ir.Scope); !scope {
			inner = u.clock
		}
		for i, n := range ir.Blocks(st) {
			if i > 0 {
				u.clock++
				inner = u.clock // the else branch
			}
			u.collect(n, inner)
		}
		for _, v := range ir.Defs(st) {
			if _, ok := u.defined[v]; !ok {
				u.clock++
				u.defined[v] = u.clock
			}
		}
	}
}

func (u *fuser) carries(cs []ir.Carry) {
	for _, c := range cs {
		u.defined[c.Iter] = u.clock
	}
}

func (u *fuser) opAt(st *ir.Assign, c *ir.OpCall, region int) {
	switch c.Op {
	case opCreate:
		u.creates[st.Var], u.region[st.Var] = st, region
	case opAssemble:
		p := &placement{at: st, call: c, target: argVar(c, 0), source: argVar(c, 1), region: region, clock: u.clock}
		if p.source != nil {
			p.buffer = u.s.handle(p.source)
			u.placed[p.buffer] = append(u.placed[p.buffer], p)
		}
		u.order = append(u.order, p)
	}
}

// uses records reads and writes of temporaries and whole-buffer reads.
func (u *fuser) uses(st ir.Stmt) {
	switch st := st.(type) {
	case *ir.Yield:
		u.escapes(st.Values)
	case *ir.Return:
		u.escapes(st.Values)
	}
	if isOp(st, opAssemble) {
		return
	}
	u.calls.accesses(st, func(v *ir.Var, e ops.Effect) {
		roots, _ := u.s.roots(v)
		for _, r := range roots {
			base, part := u.win.of(r)
			if base != nil {
				u.touch(base, e)
				u.accesses[base] = append(u.accesses[base], bufferUse{u.clock, part, e != ops.Read})
				continue
			}
			bases, _ := u.s.bases(r)
			for _, b := range bases {
				u.touch(b, e)
				u.accesses[b] = append(u.accesses[b], bufferUse{u.clock, area{}, e != ops.Read})
			}
		}
	})
}

// escapes counts values that leave their block as read.
func (u *fuser) escapes(values []ir.Expr) {
	for _, e := range values {
		if v, ok := e.(*ir.Var); ok && isStorage(v.Typ) {
			u.touch(u.s.handle(v), ops.Read)
		}
	}
}

// touch records the first write and the last use of a buffer. A write inside a loop or branch that the buffer was made outside of counts from
// the start of that.
func (u *fuser) touch(h *ir.Var, e ops.Effect) {
	if e != ops.Read && u.firstWrite[h] == 0 {
		u.firstWrite[h] = u.clock
		for _, p := range u.path {
			if r, made := u.region[h]; made && p.region == r {
				u.firstWrite[h] = p.clock
			}
		}
	}
	u.lastUse[h] = u.clock
}

// decide fuses one placement when that is sound, and tells why not otherwise.
func (u *fuser) decide(p *placement) {
	if why := u.obstacle(p); why != "" {
		u.ctx.Note(p.at.Pos, "placement not fused: "+why)
		return
	}
	create := u.creates[p.buffer]
	u.window[create] = p
	u.gone[p.at] = true
	u.fused[p.base] = append(u.fused[p.base], p)
	if made, temporary := u.creates[p.base]; temporary {
		u.firstWrite[p.base] = u.defined[made.Var] // its contents come together from here on
	}
	u.ctx.Note(p.at.Pos, fmt.Sprintf("'%s' is made as a window of '%s'", ir.BaseName(create.Var.Hint), ir.BaseName(p.target.Hint)))
}

func (u *fuser) obstacle(p *placement) string {
	if ops.IsAtomic(p.call) {
		return "it is atomic"
	}
	if p.target == nil || p.source == nil {
		return "its operands are not variables"
	}
	create := u.creates[p.buffer]
	switch {
	case create == nil:
		return "its source is not a tensor made in this function"
	case len(u.placed[p.buffer]) > 1:
		return "its source is placed more than once"
	case u.region[p.buffer] != p.region:
		return "the source is made under another condition or loop"
	case u.lastUse[p.buffer] > p.clock:
		return "the source is used after it"
	}
	if kw := create.Value.(*ir.OpCall).Kwargs; kw != nil {
		if _, ok := kw.Get("init_value"); ok {
			return "the source has an initial value"
		}
		if m, _ := kw.Get("manual_dep"); m == true {
			return "the source opts out of dependency tracking"
		}
	}
	roots, many := u.s.roots(p.target)
	if many || len(roots) != 1 || roots[0] == p.buffer {
		return "the target may be one of several buffers"
	}
	made := u.defined[create.Var]
	if u.anchor(p, made) == nil {
		return "the target is made after the source"
	}
	tt, _ := p.target.Typ.(*ir.TensorType)
	st, _ := create.Var.Typ.(*ir.TensorType)
	off, _ := p.call.Args[2].(*ir.MakeTuple)
	if tt == nil || st == nil || off == nil || len(off.Elems) != len(tt.Shape) || len(st.Shape) > len(tt.Shape) {
		return "its ranks do not fit"
	}
	if tt.DType != st.DType {
		return "its dtypes differ"
	}
	for _, e := range off.Elems {
		late := false
		ir.Walk(e, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && u.defined[v] > made {
				late = true
			}
			return !late
		})
		if late {
			return "its offset is computed after the source is made"
		}
	}
	return u.disturbed(p, roots[0], off.Elems, st.Shape)
}

// disturbed looks for accesses of the destination between the first write of the temporary, which fusion turns into a write of the destination, and
// the placement. A task that reads the very window that it writes may stay.
func (u *fuser) disturbed(p *placement, target *ir.Var, off, shape []ir.Expr) string {
	base, outer := u.win.of(target)
	if base == nil {
		return "the target may be one of several buffers"
	}
	for len(shape) < len(off) {
		shape = append([]ir.Expr{ir.Int(1)}, shape...)
	}
	dest, ok := window(base, outer, off, shape)
	p.base, p.dest = base, dest
	first := u.firstWrite[p.buffer]
	if first == 0 {
		return ""
	}
	uses := u.accesses[base]
	from, _ := slices.BinarySearchFunc(uses, first, func(x bufferUse, at int) int { return x.clock - at })
	for _, x := range uses[from:] {
		if x.clock >= p.clock {
			break
		}
		switch {
		case !x.part.overlaps(dest), ok && !x.write && x.clock == first && sameArea(x.part, dest):
		case x.write:
			return "its destination is written between"
		default:
			return "its destination is read between"
		}
	}
	// Temporaries that were fused into the same place are written there when their tasks run.
	for _, q := range slices.Backward(u.fused[base]) {
		if q.clock <= first {
			break
		}
		if u.lastUse[q.buffer] >= first && q.dest.overlaps(dest) {
			return "its destination is written between"
		}
	}
	return ""
}

// anchor is the newest version of the target that is defined before the temporary.
func (u *fuser) anchor(p *placement, made int) *ir.Var {
	v := p.target
	for {
		if u.defined[v] < made {
			return v
		}
		if v = u.s.link[v]; v == nil {
			return nil
		}
	}
}

// rewrite builds the fused body.
func (u *fuser) rewrite(b ir.Block) ir.Block {
	rw := &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
		if v, ok := e.(*ir.Var); ok {
			return u.resolve(v)
		}
		return e
	}}
	return u.block(b, rw)
}

func (u *fuser) resolve(v *ir.Var) ir.Expr {
	var e ir.Expr = v
	for {
		x, ok := e.(*ir.Var)
		if !ok {
			return e
		}
		n := u.subst[x]
		if n == nil {
			return e
		}
		e = n
	}
}

func (u *fuser) block(b ir.Block, rw *ir.Rewriter) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if a, ok := s.(*ir.Assign); ok {
			if u.gone[a] {
				u.subst[a.Var] = rw.Rewrite(a.Value.(*ir.OpCall).Args[0])
				return nil, true
			}
			if p := u.window[a]; p != nil {
				return []ir.Stmt{u.slice(a, p, rw)}, true
			}
		}
		switch s := s.(type) {
		case *ir.For:
			n := *s
			n.Start, n.Stop, n.Step = rw.Rewrite(s.Start), rw.Rewrite(s.Stop), rw.Rewrite(s.Step)
			n.Carries, n.Body = u.loop(s.Carries, s.Body, rw)
			return []ir.Stmt{&n}, true
		case *ir.While:
			n := *s
			n.Carries, n.Body = u.loop(s.Carries, s.Body, rw)
			n.Cond = rw.Rewrite(s.Cond)
			return []ir.Stmt{&n}, true
		case *ir.If:
			n := *s
			n.Cond = rw.Rewrite(s.Cond)
			n.Then, n.Else = u.block(s.Then, rw), u.block(s.Else, rw)
			return []ir.Stmt{&n}, true
		case *ir.Scope:
			n := *s
			n.Launch, _ = rw.Launch(s.Launch)
			n.Body = u.block(s.Body, rw)
			return []ir.Stmt{&n}, true
		}
		n := rw.Stmt(s)
		return []ir.Stmt{n}, n != s
	})
}

// loop rewrites a loop body and drops the carries that only passed their value through since an assemble is gone.
func (u *fuser) loop(cs []ir.Carry, body ir.Block, rw *ir.Rewriter) ([]ir.Carry, ir.Block) {
	carries, _ := rw.Carries(cs)
	before := trailingYield(body)
	out := u.block(body, rw)
	y := trailingYield(out)
	if y == nil || len(y.Values) != len(carries) {
		return carries, out
	}
	var kept []ir.Carry
	var values []ir.Expr
	for i, c := range carries {
		if y.Values[i] == ir.Expr(c.Iter) && before.Values[i] != ir.Expr(c.Iter) {
			u.subst[c.Iter], u.subst[c.Result] = c.Init, c.Init
			continue
		}
		kept, values = append(kept, c), append(values, y.Values[i])
	}
	if len(kept) == len(carries) {
		return carries, out
	}
	if len(kept) == 0 {
		out = replaceYield(out, nil)
	} else {
		out = replaceYield(out, &ir.Yield{Values: values, Pos: y.Pos})
	}
	return kept, rw.Block(out) // the dropped iteration Vars are their initial values
}

// replaceYield replaces the trailing yield, or removes it.
func replaceYield(b ir.Block, y *ir.Yield) ir.Block {
	out := append(ir.Block(nil), b[:len(b)-1]...)
	if sc, ok := b[len(b)-1].(*ir.Scope); ok {
		c := *sc
		c.Body = replaceYield(sc.Body, y)
		return append(out, &c)
	}
	if y != nil {
		out = append(out, y)
	}
	return out
}

// slice makes the window that takes the place of a create.
func (u *fuser) slice(a *ir.Assign, p *placement, rw *ir.Rewriter) ir.Stmt {
	target := rw.Rewrite(u.anchor(p, u.defined[a.Var]))
	tt, st := p.target.Typ.(*ir.TensorType), a.Var.Typ.(*ir.TensorType)
	shape := make([]ir.Expr, 0, len(tt.Shape))
	for range len(tt.Shape) - len(st.Shape) {
		shape = append(shape, ir.Int(1))
	}
	shape = append(shape, st.Shape...)
	v := a.Var
	if len(shape) != len(st.Shape) {
		v = &ir.Var{Hint: a.Var.Hint, Typ: &ir.TensorType{Shape: shape, DType: st.DType}, Pos: a.Var.Pos}
		u.subst[a.Var] = v
	}
	off := p.call.Args[2].(*ir.MakeTuple)
	return &ir.Assign{Var: v, Comments: a.Comments, Pos: a.Pos, Value: &ir.OpCall{Op: opSlice, Typ: v.Typ, Pos: p.call.Pos,
		Args: []ir.Expr{target, &ir.MakeTuple{Elems: shape, Pos: p.call.Pos}, rw.Rewrite(off)}}}
}

// checkLost reports placements that are left over and would silently lose data.
func (u *fuser) checkLost(f *ir.Function) {
	var left []*placement
	for _, p := range u.order {
		if !u.gone[p.at] {
			left = append(left, p)
		}
	}
	for _, c := range u.unused {
		target := "y"
		if v := argVar(c, 0); v != nil {
			target = ir.BaseName(v.Hint)
		}
		u.ctx.Report(diag.Errorf(codeLostAssemble, c.Pos, "nothing would be written: the result of this placement has no name").
			WithHint("write %s = pl.assemble(%s, …)", target, target))
	}
	for _, p := range left {
		switch {
		case ops.IsAtomic(p.call):
			u.ctx.Report(diag.Errorf(codeAtomicAssemble, p.call.Pos, "tensor.assemble with atomic= is only supported inside an InCore function").
				WithHint("accumulate inside a kernel: pl.store(..., atomic=pl.AtomicType.Add) or an InOut parameter"))
		case p.source == nil || p.target == nil || u.isPlaced(p):
		case u.s.origins[p.buffer].kind == isFresh:
			d := diag.Errorf(codeLostAssemble, p.call.Pos, "the contents of '%s' would be lost: an orchestration cannot copy it into '%s'", ir.BaseName(p.source.Hint), ir.BaseName(p.target.Hint))
			if why := u.obstacle(p); why != "" {
				d.Message += " (" + why + ")"
			}
			if a := u.creates[p.buffer]; a != nil {
				d.WithRelated(a.Pos, "'%s' is made here", ir.BaseName(p.source.Hint))
			}
			u.ctx.Report(d.WithHint("let the kernel write into a window: t = pl.slice(%s, shape, offset), and pass t as its output; or copy inside a pl.at block", ir.BaseName(p.target.Hint)))
		default: // a parameter, a window of another buffer or of another place, or one of several
			from := "'" + ir.BaseName(p.source.Hint) + "'"
			if o := u.s.origins[p.buffer]; o.kind == isView && o.of != nil {
				from = "a window of '" + ir.BaseName(o.of.Hint) + "'"
			}
			u.ctx.Report(diag.Errorf(codeLostAssemble, p.call.Pos, "nothing would be written: an orchestration cannot copy %s into '%s'", from, ir.BaseName(p.target.Hint)).
				WithHint("copy inside a pl.at(level=pl.Level.CORE_GROUP) block, or let a kernel read the source and write into pl.slice(%s, shape, offset)", ir.BaseName(p.target.Hint)))
		}
	}
}

// isPlaced reports that the source lies in the target already, just where it is placed.
func (u *fuser) isPlaced(p *placement) bool {
	o := u.s.origins[p.buffer]
	if o.kind != isMerge {
		return u.isWindow(p, p.buffer)
	}
	return !o.set.many && len(o.set.vars) > 0 && !slices.ContainsFunc(o.set.vars, func(v *ir.Var) bool { return !u.isWindow(p, u.s.handle(v)) })
}

// isWindow reports that a handle is the very window of the target that p places into, perhaps in another shape; the whole target is one.
func (u *fuser) isWindow(p *placement, h *ir.Var) bool {
	to, ok := p.call.Args[2].(*ir.MakeTuple)
	if !ok {
		return false
	}
	target := u.s.handle(p.target)
	for h != target {
		o := u.s.origins[h]
		if o.kind != isView || o.of == nil {
			return false
		}
		of := u.s.handle(o.of)
		if o.op.Op == opSlice && len(o.op.Args) > 2 {
			if from, ok := o.op.Args[2].(*ir.MakeTuple); ok && of == target {
				return slices.EqualFunc(from.Elems, to.Elems, sameExpr)
			}
			return u.isArea(p, h, to.Elems)
		}
		h = of
	}
	return !slices.ContainsFunc(to.Elems, func(e ir.Expr) bool { n, ok := ir.IntValue(e); return !ok || n != 0 })
}

// isArea is isWindow for a window of a window.
func (u *fuser) isArea(p *placement, h *ir.Var, to []ir.Expr) bool {
	base, part := u.win.of(h)
	whole, outer := u.win.of(u.s.handle(p.target))
	if base == nil || base != whole {
		return false
	}
	shape := slices.Clone(ir.ShapeOf(h.Typ))
	for len(shape) < len(to) {
		shape = append([]ir.Expr{ir.Int(1)}, shape...)
	}
	dest, ok := window(base, outer, to, shape)
	return ok && sameArea(part, dest)
}
