package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// DeriveCallDirections says for every argument of every launch how the runtime is to treat it (mission document 000, "Parameter Direction").
//
// First the wrappers: a Group or Spmd parameter takes the direction that the kernels behind it give it, In < Out < InOut, to a fixpoint over wrappers of
// wrappers; a buffer that one kernel of a wrapper reads before any of them writes it is InOut.
//
// Then, per tensor argument: In → input, InOut → inout. Out → output_existing, but inout when an earlier contents may matter to the order of
// tasks: the buffer is an InOut parameter of the caller; it may be one of several buffers; a sequential loop is around the launch; or an earlier statement
// wrote the buffer or an overlapping window of it. What the user took out of tracking (pl.no_dep) is no_dep. Directions that are already
// there stay. "output" is left to outputs that a submit does not pass.
var callDirections = &Pass{
	Name:     "DeriveCallDirections",
	Doc:      "derive the direction of every launch argument",
	Requires: []ir.Property{ir.SplitIncoreOrch},
	Produces: []ir.Property{ir.CallDirectionsResolved},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		calls := newCallTable(ctx, p)
		p = wrapperDirections(calls, p)
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			d := &dirPass{ctx: ctx, calls: calls, f: f}
			return d.function()
		}), nil
	},
}

// wrapperDirections raises the directions of wrapper parameters to what their kernels do.
func wrapperDirections(calls *callTable, p *ir.Program) *ir.Program {
	var wrappers []*ir.Function
	for _, f := range calleeFirst(p, calls) {
		if f.Type.IsWrapper() {
			wrappers = append(wrappers, f)
		}
	}
	for changed := true; changed; { // callees first: one round more than the longest cycle
		changed = false
		for _, w := range wrappers {
			f := calls.byName[w.Name]
			uses := calls.paramUses(f)
			var g *ir.Function
			for i, p := range f.Params {
				if !ir.IsTensor(p.Var.Typ) {
					continue
				}
				dir := uses[i].dir()
				if dir == ir.InOut && !uses[i].readFirst {
					dir = ir.Out
				}
				if dir = max(dir, p.Dir); dir == p.Dir { // In < Out < InOut
					continue
				}
				if g == nil {
					c := *f
					c.Params = slices.Clone(f.Params)
					g = &c
				}
				g.Params[i].Dir = dir
			}
			if g != nil {
				calls.set(g)
				changed = true
			}
		}
	}
	return mapFuncs(p, func(f *ir.Function) *ir.Function { return calls.byName[f.Name] })
}

type dirPass struct {
	ctx   *Context
	calls *callTable
	f     *ir.Function
	s     *storage
	win   *windows
	seq   int // sequential loops around

	// written holds the parts of each buffer that earlier statements wrote; log allows to take a branch's writes back.
	written map[*ir.Var]*areaSet
	log     []write
}

// write is one entry of the log of writes.
type write struct {
	base *ir.Var
	part area
}

func (d *dirPass) function() *ir.Function {
	has := false
	eachCall(d.f.Body, func(c *ir.Call) { has = has || len(c.Dirs) != len(c.Args) || c.Dirs == nil })
	if !has {
		return d.f
	}
	d.s = newStorage(d.calls, d.f)
	d.win = newWindows(d.s)
	d.written = map[*ir.Var]*areaSet{}
	body := d.block(d.f.Body)
	if sameBlock(body, d.f.Body) {
		return d.f
	}
	g := *d.f
	g.Body = body
	return &g
}

func (d *dirPass) block(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		n := d.stmt(s)
		return []ir.Stmt{n}, n != s
	})
}

func (d *dirPass) stmt(s ir.Stmt) ir.Stmt {
	if c := callOf(s); c != nil {
		if n := d.call(c); n != c {
			return withValue(s, n)
		}
		return s
	}
	switch s := s.(type) {
	case *ir.If:
		// Each branch starts from what was written before; both count afterwards.
		mark := len(d.log)
		then := d.block(s.Then)
		undone := d.undo(mark)
		els := d.block(s.Else)
		for _, w := range undone {
			d.record(w.base, w.part)
		}
		if sameBlock(then, s.Then) && sameBlock(els, s.Else) {
			return s
		}
		n := *s
		n.Then, n.Else = then, els
		return &n
	case *ir.For:
		if s.Kind != ir.Parallel {
			d.seq++
			defer func() { d.seq-- }()
		}
	case *ir.While:
		d.seq++
		defer func() { d.seq-- }()
	}
	return withBlocks(s, d.block)
}

func (d *dirPass) undo(mark int) []write {
	undone := slices.Clone(d.log[mark:])
	for _, w := range slices.Backward(undone) {
		d.written[w.base].pop()
	}
	d.log = d.log[:mark]
	return undone
}

func (d *dirPass) record(base *ir.Var, part area) {
	set := d.written[base]
	if set == nil {
		set = &areaSet{}
		d.written[base] = set
	}
	if set.push(part) {
		d.log = append(d.log, write{base, part})
	}
}

// call derives the directions of one launch and records what it writes.
func (d *dirPass) call(c *ir.Call) *ir.Call {
	callee := d.calls.byName[c.Callee]
	if callee == nil {
		return c
	}
	dirs := c.Dirs
	if dirs != nil && len(dirs) != len(c.Args) {
		d.ctx.Report(diag.Errorf(codeDirsLength, c.Pos, "arg_directions lists %d direction(s) for %d argument(s) of '%s'", len(dirs), len(c.Args), c.Callee).
			WithHint("give one pl.adir per argument, or leave them to the compiler"))
		return c
	}
	if dirs == nil {
		dirs = make([]ir.ArgDir, len(c.Args))
		for i, a := range c.Args {
			var why string
			dirs[i], why = d.dir(paramOf(callee, len(c.Args), i), a)
			if why != "" && d.ctx.Explain != nil {
				d.ctx.Notef(c.Pos, "%s updates '%s': %s", c.Callee, ir.BaseName(a.(*ir.Var).Hint), why)
			}
			if dirs[i] != ir.DirScalar && slices.Contains(c.NoDep, i) {
				dirs[i] = ir.DirNoDep
			}
		}
	}
	for i, a := range c.Args {
		v, ok := a.(*ir.Var)
		p := paramOf(callee, len(c.Args), i)
		if !ok || p == nil || p.Dir == ir.In || !ir.IsTensor(v.Typ) {
			continue
		}
		roots, _ := d.s.roots(v)
		for _, r := range roots {
			if base, part := d.win.of(r); base != nil {
				d.record(base, part)
			}
		}
	}
	if c.Dirs != nil {
		return c
	}
	n := *c
	n.Dirs = dirs
	return &n
}

// dir is the direction of one argument. why tells what makes an output an update.
func (d *dirPass) dir(p *ir.Param, a ir.Expr) (dir ir.ArgDir, why string) {
	v, ok := a.(*ir.Var)
	if !ok || !ir.IsTensor(v.Typ) || p == nil {
		return ir.DirScalar, ""
	}
	switch p.Dir {
	case ir.In:
		return ir.DirInput, ""
	case ir.InOut:
		return ir.DirInOut, ""
	}
	roots, many := d.s.roots(v)
	switch {
	case many || len(roots) != 1:
		return ir.DirInOut, "it may be one of several buffers"
	case d.seq > 0:
		return ir.DirInOut, "a sequential loop is around"
	}
	r := roots[0]
	if p := d.f.Param(r); p >= 0 && d.f.Params[p].Dir == ir.InOut {
		return ir.DirInOut, "it is an InOut parameter"
	}
	if base, part := d.win.of(r); base == nil || d.written[base].overlaps(part) {
		return ir.DirInOut, "an earlier task wrote it"
	}
	return ir.DirOutputExisting, ""
}
