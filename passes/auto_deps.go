package passes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// AutoDeriveTaskDependencies finds the dependencies between the tasks of AUTO regions at compile time (mission document 000, the
// analyze_auto_scopes_for_deps switch; off by default). A region is the body of an orchestration that leaves scopes to the compiler, or a hand-placed
// pl.scope(). MANUAL scopes of the user are never looked into.
//
// Two tasks conflict when they access overlapping parts of one buffer and one of them writes: the later one gets the earlier one's TaskId in
// CompilerDeps. Every entry is a TaskId value like the user's own: calls whose id is needed become submits, an id that leaves a branch is merged
// with what the other path has, one that leaves a loop is carried: as one id when the loop's trips are ordered among themselves anyway, else as an array with a slot
// per trip, or gathered for a dummy task when a parallel loop has an unknown number of trips. So no later stage has to find, hoist or guess an id.
//
// A region is covered when every conflict has its edge. Then the runtime's own tracking is not needed: a covered whole body becomes a MANUAL scope
// owned by the compiler, and slots with known regions leave tracking (input → no_dep, inout → output_existing). Otherwise the body stays AUTO
// with the edges on top; a hand-placed scope loses them, and never becomes MANUAL. Reasons go to --explain:
// a location that is not known; a loop of unknown trip count whose tasks are not ordered; an element access by the host; a nested runtime scope; parallel
// trips that update one buffer.
//
// Edges that the user wrote are not repeated. Buffers with manual_dep and arguments under pl.no_dep are the user's business.
var autoDeps = &Pass{
	Name:     "AutoDeriveTaskDependencies",
	Doc:      "derive dependencies of automatic regions at compile time (switch)",
	Requires: []ir.Property{ir.SplitIncoreOrch, ir.CallDirectionsResolved},
	Produces: []ir.Property{ir.CallDirectionsResolved},
	Run: func(ctx *Context, p *ir.Program) (*ir.Program, error) {
		if !ctx.Options.AutoDeps {
			return p, nil
		}
		calls := newCallTable(ctx, p)
		return mapFuncs(p, func(f *ir.Function) *ir.Function {
			if f.Type != ir.Orchestration {
				return f
			}
			return deriveDeps(ctx, calls, f)
		}), nil
	},
}

// maxLive bounds the windows of one buffer that are compared with each other, so that the pass stays fast on unrolled programs.
const maxLive = 512

// maxSlots bounds the id array of a loop.
const maxSlots = 4096

func deriveDeps(ctx *Context, calls *callTable, f *ir.Function) *ir.Function {
	d := &depPass{ctx: ctx, calls: calls, f: f}
	if f.AutoScope {
		return d.wholeBody()
	}
	body := d.handScopes(f.Body)
	if sameBlock(body, f.Body) {
		return f
	}
	g := *f
	g.Body = body
	return &g
}

// depPass analyses one function.
type depPass struct {
	ctx   *Context
	calls *callTable
	f     *ir.Function
}

func (d *depPass) wholeBody() *ir.Function {
	r := d.analyse(d.f.Body)
	if r.tasks == 0 {
		return d.f
	}
	covered := len(r.reasons) == 0
	r.report(d.f.Pos, "body of "+d.f.Name, covered)
	g := *d.f
	g.Body = r.rewrite(d.f.Body, covered)
	if covered {
		g.Body = ir.Block{&ir.Scope{Kind: ir.RuntimeScope, Manual: true, Owner: ir.CompilerScope, Body: g.Body, Pos: d.f.Pos}}
		g.AutoScope = false
	}
	return &g
}

// handScopes treats every pl.scope() as a region of its own.
func (d *depPass) handScopes(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		sc, ok := s.(*ir.Scope)
		if ok && isUserManual(sc) {
			return nil, false
		}
		n := withBlocks(s, d.handScopes)
		if ok && sc.Kind == ir.RuntimeScope {
			in := n.(*ir.Scope)
			r := d.analyse(in.Body)
			covered := len(r.reasons) == 0
			if r.tasks > 0 {
				r.report(sc.Pos, "pl.scope()", covered)
				if covered && len(r.edges) > 0 {
					c := *in
					c.Body = r.rewrite(in.Body, true)
					n = &c
				}
			}
		}
		return []ir.Stmt{n}, n != s
	})
}

// depTask is one launch.
type depTask struct {
	call *ir.Call
	stmt ir.Stmt
	id   *ir.Var // the user's, or made when wanted
	want bool
	// edges are the ids to wait for.
	edges []*idNode
	// covered slots have at least one edge and a precise region.
	covered map[int]bool
}

// access is one argument of a task that touches memory.
type access struct {
	task   *depTask
	slot   int // -1: the predicate
	node   *idNode
	base   *ir.Var
	part   area
	write  bool
	update bool // reads and writes
	depth  int  // branches and loops around
	dead   bool // a later task that covers it waits for it
	// maker: the task made the buffer, which the runtime gives back when all who wait for that task are done. No later task stands for it.
	maker bool
	// over are the accesses from outside the innermost branch or loop that this one retired.
	over []*access
}

// depEdge is one derived dependency, for the report.
type depEdge struct {
	from   *idNode
	to     *depTask
	base   *ir.Var
	hazard string
}

// depRegion is the analysis of one region.
type depRegion struct {
	*depPass
	s        *storage
	win      *windows
	live     map[*ir.Var]*liveSet
	written  map[*ir.Var]bool // buffers that any task of the region writes
	inside   map[*ir.Var]bool // buffers made in the region
	order    map[*ir.Var]int  // definition order of Vars
	scalars  map[*ir.Var]ir.Expr
	byCall   map[*ir.Call]*depTask
	launches []*depTask            // in program order
	userIDs  map[*ir.Var]*ir.Var   // tuple of a submit → its TaskId
	made     map[*ir.Var][]*ir.Var // tuple of a submit → the buffers that the runtime makes for it
	dummies  map[*ir.Var][]ir.Expr
	journal  []journalEntry
	added    []*access // in order of addition, for branches and loops
	trace    []*access // all accesses in program order
	depth    int
	tasks    int
	edges    []depEdge
	reasons  []string

	ids idPlan
}

func (d *depPass) analyse(b ir.Block) *depRegion {
	r := &depRegion{depPass: d, s: newStorage(d.calls, d.f), live: map[*ir.Var]*liveSet{}, written: map[*ir.Var]bool{}, inside: map[*ir.Var]bool{},
		order: map[*ir.Var]int{}, scalars: map[*ir.Var]ir.Expr{}, byCall: map[*ir.Call]*depTask{}, userIDs: map[*ir.Var]*ir.Var{}, made: map[*ir.Var][]*ir.Var{}, dummies: map[*ir.Var][]ir.Expr{}}
	r.win = newWindows(r.s)
	r.ids = newIDPlan()
	innerDefs(b, func(v *ir.Var) {
		r.order[v] = len(r.order) + 1
		if isStorage(v.Typ) {
			r.inside[v] = true
		}
	})
	r.prepare(b)
	if r.tasks > 0 {
		r.block(b)
	}
	return r
}

// prepare finds ids that the user bound, scalar definitions, and the buffers that tasks write.
func (r *depRegion) prepare(b ir.Block) {
	ir.Inspect(b, func(s ir.Stmt) bool {
		if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.RuntimeScope {
			return false
		}
		if c := callOf(s); c != nil {
			r.tasks++
			for i, a := range c.Args {
				if v, ok := a.(*ir.Var); ok && i < len(c.Dirs) && c.Dirs[i] != ir.DirInput && c.Dirs[i] != ir.DirScalar {
					bases, _ := r.s.bases(v)
					for _, x := range bases {
						r.written[x] = true
					}
				}
			}
		}
		a, ok := s.(*ir.Assign)
		if !ok {
			return true
		}
		switch e := a.Value.(type) {
		case *ir.TupleGet:
			t, ok := e.X.(*ir.Var)
			switch {
			case !ok:
			case ir.IsTaskID(a.Var.Typ):
				r.userIDs[t] = a.Var
			case r.s.origins[a.Var].kind == isFresh: // the runtime makes it, and the task writes it
				r.made[t] = append(r.made[t], a.Var)
				r.written[a.Var] = true
			}
		case *ir.OpCall:
			if len(e.Deps) > 0 {
				r.dummies[a.Var] = e.Deps
			}
			if isScalar(a.Var.Typ) {
				break
			}
		default:
			if isScalar(a.Var.Typ) {
				r.scalars[a.Var] = e
			}
		}
		return true
	})
}

func (r *depRegion) fail(at diag.Span, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if at.IsValid() {
		why += fmt.Sprintf(" (line %d)", at.Line)
	}
	if !slices.Contains(r.reasons, why) {
		r.reasons = append(r.reasons, why)
	}
}

func (r *depRegion) block(b ir.Block) {
	for _, s := range b {
		r.stmt(s)
	}
}

func (r *depRegion) stmt(s ir.Stmt) {
	if c := callOf(s); c != nil {
		r.task(s, c)
		return
	}
	switch s := s.(type) {
	case *ir.Assign, *ir.Eval:
		r.hostOp(s)
	case *ir.If:
		r.branches(s)
	case *ir.For:
		trips, known := constTrips(s)
		if known && trips == 0 {
			return
		}
		r.loop(s, s.Var, s.Body, trips, known, s.Kind == ir.Parallel)
	case *ir.While:
		r.loop(s, nil, s.Body, 0, false, false)
	case *ir.Scope:
		if s.Kind != ir.RuntimeScope {
			r.block(s.Body)
			return
		}
		r.fail(s.Pos, "a runtime scope inside the region")
	}
}

// hostOp: element accesses by the host wait through the runtime's tracking, which only AUTO regions have.
func (r *depRegion) hostOp(s ir.Stmt) {
	r.calls.accesses(s, func(v *ir.Var, e ops.Effect) {
		if _, tensor := v.Typ.(*ir.TensorType); !tensor {
			return
		}
		bases, many := r.s.bases(v)
		if many || slices.ContainsFunc(bases, func(b *ir.Var) bool { return r.written[b] }) || e != ops.Read {
			r.fail(s.Span(), "the orchestration itself accesses elements of '%s'", ir.BaseName(v.Hint))
		}
	})
}

// task records one launch and its conflicts with earlier ones.
func (r *depRegion) task(s ir.Stmt, c *ir.Call) {
	t := &depTask{call: c, stmt: s, covered: map[int]bool{}}
	r.byCall[c], r.launches = t, append(r.launches, t)
	if a, ok := s.(*ir.Assign); ok && c.Submit {
		t.id = r.userIDs[a.Var]
	}
	node := &idNode{kind: idOfTask, task: t}
	first := len(r.trace)
	callee := r.calls.byName[c.Callee]
	for i, a := range c.Args {
		v, ok := a.(*ir.Var)
		p := paramOf(callee, len(c.Args), i)
		if !ok || !ir.IsTensor(v.Typ) || p == nil || slices.Contains(c.NoDep, i) {
			continue
		}
		r.argument(t, node, i, v, p.Dir)
	}
	if a, ok := s.(*ir.Assign); ok {
		for _, v := range r.made[a.Var] {
			n := len(r.trace)
			r.argument(t, node, -1, v, ir.Out)
			for _, x := range r.trace[n:] {
				x.maker = true
			}
		}
	}
	if p := c.Launch.Predicate; p != nil {
		ir.Walk(p, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok && ir.IsTensor(v.Typ) {
				r.argument(t, node, -1, v, ir.In)
			}
			return true
		})
	}
	// All slots of a task see the tasks before it; then they become visible themselves.
	for _, a := range r.trace[first:] {
		r.conflicts(a)
	}
	for _, a := range r.trace[first:] {
		r.add(a)
	}
}

func (r *depRegion) argument(t *depTask, node *idNode, slot int, v *ir.Var, dir ir.ParamDir) {
	roots, many := r.s.roots(v)
	if many {
		r.fail(t.call.Pos, "the buffer of '%s' is not known", ir.BaseName(v.Hint))
		return
	}
	for _, h := range roots {
		base, part := r.win.of(h)
		if base == nil {
			r.fail(t.call.Pos, "the buffer of '%s' is not known", ir.BaseName(v.Hint))
			continue
		}
		if len(roots) > 1 {
			part.exact = false // only one of the alternatives is touched
		}
		if !r.written[base] || optsOut(r.s.origins[base]) {
			continue
		}
		r.trace = append(r.trace, &access{task: t, slot: slot, node: node, base: base, part: part, write: dir != ir.In, update: dir == ir.InOut, depth: r.depth})
	}
}

// optsOut reports a buffer made with manual_dep=True.
func optsOut(o origin) bool {
	if o.op == nil {
		return false
	}
	m, _ := o.op.Kwargs.Get("manual_dep")
	return m == true
}

// report tells what was found.
func (r *depRegion) report(at diag.Span, what string, covered bool) {
	if r.ctx.Explain == nil {
		return
	}
	for _, e := range r.edges {
		r.ctx.Note(e.to.call.Pos, fmt.Sprintf("%s waits for %s: %s of '%s'", e.to.call.Callee, e.from.describe(), e.hazard, ir.BaseName(e.base.Hint)))
	}
	state := "covered"
	if !covered {
		state = "not covered: " + strings.Join(r.reasons, "; ")
	}
	slots := 0
	for _, t := range r.launches {
		for i, dir := range t.call.Dirs {
			if !covered || !t.covered[i] || !r.leaves(t, i) {
				continue
			}
			slots++
			to := map[ir.ArgDir]string{ir.DirInput: "no_dep", ir.DirInOut: "output_existing"}[dir]
			if v, ok := t.call.Args[i].(*ir.Var); ok && to != "" {
				r.ctx.Notef(t.call.Pos, "%s takes '%s' as %s: its edges order all conflicts there", t.call.Callee, ir.BaseName(v.Hint), to)
			}
		}
	}
	r.ctx.Note(at, fmt.Sprintf("%s: %d task launches, %d edges, %d slots out of tracking, %s", what, r.tasks, len(r.edges), slots, state))
}

// leaves reports that a covered slot may leave the runtime's tracking: in a whole body always, in a hand-placed scope when its buffer lives in the
// scope, so that nobody outside is concerned.
func (r *depRegion) leaves(t *depTask, slot int) bool {
	if slot < 0 {
		return false
	}
	if r.f.AutoScope {
		return true
	}
	v, ok := t.call.Args[slot].(*ir.Var)
	if !ok {
		return false
	}
	bases, many := r.s.bases(v)
	return !many && !slices.ContainsFunc(bases, func(b *ir.Var) bool { return !r.inside[b] || r.s.origins[b].kind != isFresh })
}
