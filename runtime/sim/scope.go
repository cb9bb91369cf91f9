package sim

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

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
	if r.rec != nil {
		r.rec.add(&trace.ScopeBegin{Manual: manual, Site: site})
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
	r.closeScope()
	if r.rec != nil {
		r.rec.add(&trace.ScopeEnd{Site: site})
	}
	r.turn()
}

func (r *Runtime) closeScope() {
	s := r.scopes[len(r.scopes)-1]
	r.scopes = r.scopes[:len(r.scopes)-1]
	r.stats.MaxScopeTasks = max(r.stats.MaxScopeTasks, len(r.scopeTasks)-s.first)
	var touched [numRings]bool
	for _, t := range r.scopeTasks[s.first:] {
		t.inScope = false
		t.refs--
		touched[t.id>>32] = true
	}
	clear(r.scopeTasks[s.first:])
	r.scopeTasks = r.scopeTasks[:s.first]
	for i, yes := range touched {
		if yes {
			r.reclaim(&r.rings[i])
		}
	}
}
