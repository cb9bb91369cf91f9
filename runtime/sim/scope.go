package sim

import "github.com/ptobuild/ptobuild/internal/diag"

type scope struct {
	site  Site
	first int // its first task in scopeTasks
}

// depth is the number of scopes that the program opened.
func (r *Runtime) depth() int { return len(r.scopes) - 1 }

// ringNumber is where tasks of the current scope go: deep scopes share the last ring.
func (r *Runtime) ringNumber() int { return min(r.depth(), numRings-1) }

func (r *Runtime) inManual() bool { return r.manualDepth >= 0 }

// ScopeBegin opens a scope. An AUTO scope inside a MANUAL one is refused (mission document 003); MANUAL inside MANUAL is allowed and changes
// nothing.
func (r *Runtime) ScopeBegin(manual bool, site Site) {
	if r.stopped() {
		return
	}
	if r.inManual() && !manual {
		r.Fail(InvalidArgs, "auto-scope-in-manual", diag.Errorf(CodeScopeNesting, site, "an AUTO scope inside a MANUAL scope").
			WithHint("open it as MANUAL, or close the MANUAL scope first; automatic tracking would miss what the MANUAL scope wrote").
			WithRelated(r.scopes[r.manualDepth].site, "the MANUAL scope begins here"))
		return
	}
	if r.depth() >= r.cfg.Limits.ScopeDepth {
		r.Fail(InvalidArgs, "scope-depth", diag.Errorf(CodeScopeDepth, site, "more than %d nested scopes", r.cfg.Limits.ScopeDepth).
			WithHint("every loop and branch body opens a scope in generated code: flatten nested loops or place scopes by hand"))
		return
	}
	r.scopes = append(r.scopes, scope{site, len(r.scopeTasks)})
	if manual && !r.inManual() {
		r.manualDepth = r.depth()
	}
	r.stats.MaxDepth = max(r.stats.MaxDepth, r.depth())
	r.markScope(site, false)
	if r.rec != nil {
		r.rec.beginScope(manual, site)
	}
}

// ScopeEnd closes the innermost scope. It does not wait: the scope's tasks only lose the reference that kept their buffers.
func (r *Runtime) ScopeEnd(site Site) {
	if r.stopped() {
		return
	}
	if r.depth() == 0 {
		r.Fail(InvalidArgs, "scope-end-unbalanced", diag.Errorf(CodeScopeBalance, site, "a scope end without a scope begin").
			WithHint("remove this end, or begin a scope before it on every path that leads here"))
		return
	}
	if r.manualDepth == r.depth() {
		r.manualDepth = -1
	}
	r.markScope(r.scopes[r.depth()].site, true)
	r.closeScope()
	if r.rec != nil {
		r.rec.endScope(site)
	}
	r.turn()
}

func (r *Runtime) closeScope() {
	s := r.scopes[len(r.scopes)-1]
	if p, n := &r.stats.Rings[r.ringNumber()], len(r.scopeTasks)-s.first; n > p.ScopeTasks {
		p.ScopeTasks, p.ScopeTasksAt = n, s.site
	}
	r.scopes = r.scopes[:len(r.scopes)-1]
	r.stats.MaxScopeTasks = max(r.stats.MaxScopeTasks, len(r.scopeTasks)-s.first)
	var touched [numRings]bool
	for _, t := range r.scopeTasks[s.first:] {
		t.inScope = false
		t.refs--
		touched[t.id>>32] = true
		if g := &r.rings[t.id>>32]; uint32(t.id) == g.oldestHeld {
			g.held = false
		}
	}
	clear(r.scopeTasks[s.first:])
	r.scopeTasks = r.scopeTasks[:s.first]
	for i, yes := range touched {
		if yes {
			r.reclaim(&r.rings[i])
		}
	}
}

// ScopeMark is the begin or end of a scope with the state of its ring. Counters are cumulative: what was given back so far, and what was handed out.
type ScopeMark struct {
	Site  Site // of the scope's begin; none for the root scope
	End   bool
	Depth int
	Ring  int
	Host  uint64 // virtual time
	Tasks [2]uint64
	Heap  [2]uint64
	Deps  [2]uint64
	Map   int // live writers in the overlap map
}

// ScopeMarks returns the scopes of the run in order, the root scope included; nil without Config.Check.
func (r *Runtime) ScopeMarks() []ScopeMark { return r.marks }

func (r *Runtime) markScope(site Site, end bool) {
	if r.graph == nil {
		return
	}
	g := &r.rings[r.ringNumber()]
	r.marks = append(r.marks, ScopeMark{
		Site: site, End: end, Depth: r.depth(), Ring: r.ringNumber(), Host: r.machine.host, Tasks: [2]uint64{uint64(g.tail), uint64(g.head)},
		Heap: [2]uint64{g.heapTail, g.heapHead}, Deps: [2]uint64{g.allDeps - uint64(g.deps), g.allDeps}, Map: r.omap.Len() - r.kept,
	})
}
