// Package lower turns one canonical orchestration function into its plan. It decides everything that the reference generator decided while printing, one
// subject per file:
//
//	bind_results.go  BindResults: which C++ variable each Var is
//	plan_allocs.go   PlanAllocs: which creates share an allocation, and where it stands
//	lifetimes.go     how far a buffer must move out to live as long as it is used
//	task_ids.go      BindTaskIds: where the entries of a dependency array come from
//	carries.go       PlanCarries: loop carries, merges, and the order of their copies
//	wrappers.go      what a call of a Spmd or Group function launches
//	build.go         the statements, in order, from those decisions
//	names.go         AssignNames: the C++ identifiers
//
// The input is the program after the pass pipeline: SSA, flattened, runtime scopes placed, directions and carry classes set, returned parameters
// explicit. Lower checks what it relies on and reports everything that it finds wrong in one go; a plan is returned only without errors.
package lower

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// Options change the lowering. They are part of every action key.
type Options struct {
	// NoManualAllocDeps leaves out the dependencies that keep a buffer alive while tasks of MANUAL scopes use it (mission document 003).
	NoManualAllocDeps bool
	// Explain, when set, receives one line for each decision worth telling.
	Explain func(at diag.Span, what string)
}

// Lower makes the plan of fn, an orchestration function of p.
func Lower(p *ir.Program, fn *ir.Function, reg *ops.Registry, opt Options) (file *plan.File, ds diag.List) {
	l := &lowerer{
		prog: p, fn: fn, reg: reg, opt: opt,
		storages: map[*ir.Var]*storage{}, tuples: map[*ir.Var]*tuple{}, calls: map[*ir.Call]*call{}, dummies: map[*ir.OpCall]*storage{},
		feeds: map[*ir.Var][]*ir.Var{}, live: map[*ir.Var]bool{}, nonneg: map[*ir.Var]bool{}, blocks: map[ir.Stmt][2]*block{},
		merges: map[ir.Stmt][]*storage{}, ahead: map[ir.Stmt][]*batch{}, dims: map[*ir.Var]*plan.Dim{},
		kernelIDs: map[string]int{}, names: newNamer(), returns: map[*ir.Function][]int{}, funcs: map[string]*ir.Function{},
	}
	if !l.checkEntry() {
		return nil, l.diags.Sort()
	}
	defer func() {
		if x := recover(); x != nil {
			l.internal(l.at, fmt.Sprint(x))
			file, ds = nil, l.diags.Sort()
		}
	}()
	for _, f := range p.Funcs {
		l.funcs[f.Name] = f
	}
	l.file = &plan.File{Func: fn.Name, Pos: fn.Pos}
	top := &block{kind: funcBlock}
	l.body = unshare(fn.Body, map[ir.Stmt]bool{})
	l.bindParams()
	l.bindBlock(l.body, top)
	l.planLifetimes()
	if l.diags.HasErrors() {
		return nil, l.diags.Sort()
	}
	l.emitAhead()
	l.buildBlock(l.body, top)
	if l.diags.HasErrors() {
		return nil, l.diags.Sort()
	}
	l.file.Body, l.file.Helpers = top.out, helpersOf(top.out)
	l.finishDims()
	l.names.assign(l.file)
	return l.file, l.diags.Sort()
}

type lowerer struct {
	prog  *ir.Program
	funcs map[string]*ir.Function
	fn    *ir.Function
	body  ir.Block // of fn; every statement occurs once
	reg   *ops.Registry
	opt   Options
	file  *plan.File
	diags diag.List
	names *namer

	// Found by the bind walk.
	storages map[*ir.Var]*storage
	tuples   map[*ir.Var]*tuple
	calls    map[*ir.Call]*call
	dummies  map[*ir.OpCall]*storage
	feeds    map[*ir.Var][]*ir.Var
	live     map[*ir.Var]bool
	nonneg   map[*ir.Var]bool
	blocks   map[ir.Stmt][2]*block
	merges   map[ir.Stmt][]*storage // results of an If, per carry of a loop
	creates  []create
	uses     []use
	ahead    map[ir.Stmt][]*batch // allocations in front of a statement
	yields   []yieldFrame
	arrays   *arrayFlow
	returns  map[*ir.Function][]int
	deepest  int
	at       diag.Span // the statement being bound

	// Counters and tables of the build walk.
	dims      map[*ir.Var]*plan.Dim
	kernelIDs map[string]int
	tasks     int
	allocs    int
	barriers  int
	targets   []yieldTarget
}

func (l *lowerer) errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(code, at, format, args...)
	l.diags.Add(d)
	return d
}

func (l *lowerer) note(at diag.Span, what string) {
	if l.opt.Explain != nil {
		l.opt.Explain(at, what)
	}
}

// checkEntry checks the function handle and the properties that hold for whole functions.
func (l *lowerer) checkEntry() bool {
	if l.fn == nil {
		l.errorf(CodeHandle, diag.Span{}, "no orchestration function was given")
		return false
	}
	switch f := l.prog.Lookup(l.fn.Name); {
	case f == nil:
		l.errorf(CodeHandle, l.fn.Pos, "function %q is not present in the supplied program", l.fn.Name)
		return false
	case f != l.fn:
		l.errorf(CodeHandle, l.fn.Pos, "stale handle: the program holds another version of function %q", l.fn.Name)
		return false
	}
	switch {
	case l.fn.Type == ir.Graph:
		l.errorf(CodeHandle, l.fn.Pos, "function %q is a Graph function; only Orchestration functions become C++", l.fn.Name)
		return false
	case l.fn.Type != ir.Orchestration:
		l.errorf(CodeHandle, l.fn.Pos, "function %q has type %s; only Orchestration functions become C++", l.fn.Name, l.fn.Type)
		return false
	case l.fn.AutoScope:
		l.errorf(CodeProperty, l.fn.Pos, "function %q lacks property RuntimeScopesMaterialized", l.fn.Name).
			WithHint("run the pass MaterializeRuntimeScopes before lowering")
		return false
	}
	return true
}

// unshare copies statements that occur more than once (programs share what passes left alone), so that a statement identifies a place.
func unshare(b ir.Block, seen map[ir.Stmt]bool) ir.Block {
	out := make(ir.Block, len(b))
	for i, s := range b {
		again := seen[s]
		seen[s] = true
		switch x := s.(type) {
		case *ir.Assign:
			if again {
				c := *x
				s = &c
			}
		case *ir.Eval:
			if again {
				c := *x
				switch e := x.X.(type) {
				case *ir.Call:
					d := *e
					c.X = &d
				case *ir.OpCall:
					d := *e
					c.X = &d
				}
				s = &c
			}
		case *ir.If:
			c := *x
			c.Then = unshare(x.Then, seen)
			if x.Else != nil {
				c.Else = unshare(x.Else, seen)
			}
			s = &c
		case *ir.For:
			c := *x
			c.Body = unshare(x.Body, seen)
			s = &c
		case *ir.While:
			c := *x
			c.Body = unshare(x.Body, seen)
			s = &c
		case *ir.Scope:
			c := *x
			c.Body = unshare(x.Body, seen)
			s = &c
		}
		out[i] = s
	}
	return out
}
