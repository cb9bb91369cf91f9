package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// The machinery that OutlineIncoreScopes and OutlineClusterScopes share: it moves the scopes of a kind out of an orchestration into functions.

// An outlineKind is what distinguishes the outlining passes.
type outlineKind struct {
	target func(*ir.Scope) bool
	base   func(*ir.Scope) string // the middle of the generated name
	hint   func(*ir.Scope) string
	typ    func(*ir.Scope) ir.FuncType
	what   string // in messages
	device bool   // the body runs on a core
	// prepare gives the body and launch of the new function, and false when it reported an error; nil: the scope's own.
	prepare func(o *outliner, s *ir.Scope) (ir.Block, ir.Launch, bool)
}

func runOutline(ctx *Context, p *ir.Program, kind outlineKind) (*ir.Program, error) {
	calls := newCallTable(ctx, p)
	names := &funcNames{taken: map[string]bool{}}
	for _, f := range p.Funcs {
		names.taken[f.Name] = true
	}
	counts := map[string]int{}
	return replaceFuncs(p, func(f *ir.Function) []*ir.Function {
		if f.Type != ir.Opaque && f.Type != ir.Orchestration {
			return []*ir.Function{f}
		}
		o := &outliner{ctx: ctx, kind: kind, calls: calls, parent: f, names: names, counts: counts, local: map[string]int{}}
		if !o.scan() {
			return []*ir.Function{f}
		}
		body := o.block(f.Body)
		g := *f
		g.Body = body
		if g.Type == ir.Opaque && g.Level == "" {
			g.Type = ir.Orchestration
		}
		calls.set(&g)
		return append(o.made, &g)
	}), nil
}

// funcNames hands out function names.
type funcNames struct{ taken map[string]bool }

// pick takes hint when it is free, {hint}_0, {hint}_1, … when this parent already used it, and {parent}_{hint} when another function has it. local counts the
// parent's own uses.
func (n *funcNames) pick(parent, hint string, local map[string]int) string {
	name := hint
	if k, used := local[hint]; used {
		name = fmt.Sprintf("%s_%d", hint, k)
		local[hint] = k + 1
	} else {
		local[hint] = 0
		if n.taken[name] {
			name = parent + "_" + hint
		}
	}
	for base, k := name, 0; n.taken[name]; k++ {
		name = fmt.Sprintf("%s_%d", base, k)
	}
	n.taken[name] = true
	return name
}

// fresh is name, or name_0, name_1, … when it is taken.
func (n *funcNames) fresh(name string) string { return n.pick("", name, map[string]int{}) }

// An outliner moves the target scopes of one parent function into functions of their own.
type outliner struct {
	ctx    *Context
	kind   outlineKind
	calls  *callTable
	parent *ir.Function
	names  *funcNames
	counts map[string]int // blocks seen, by kind of generated name
	local  map[string]int
	made   []*ir.Function
	temps  int

	// From scan: the target scope that defines a Var, the Vars used outside it, and where Vars are used last.
	home     map[*ir.Var]*ir.Scope
	exported map[*ir.Var]bool
	lastUse  map[*ir.Var]int
	end      map[*ir.Scope]int
	defs     map[*ir.Var]*ir.Assign // scalar definitions inside target scopes
	carried  map[*ir.Var]bool       // iteration Vars of loops

	// rename maps a captured tensor to the version that a block left behind; restored at the end of each block of statements.
	rename map[*ir.Var]*ir.Var
}

// scan collects where Vars are defined and used, and reports whether there is any target scope.
func (o *outliner) scan() bool {
	found := false
	ir.Inspect(o.parent.Body, func(s ir.Stmt) bool {
		if sc, ok := s.(*ir.Scope); ok && (o.kind.target(sc) || sc.Kind == ir.HierarchyScope) {
			found = true
		}
		return !found
	})
	if !found {
		return false
	}
	o.home, o.exported, o.lastUse = map[*ir.Var]*ir.Scope{}, map[*ir.Var]bool{}, map[*ir.Var]int{}
	o.end, o.defs, o.carried = map[*ir.Scope]int{}, map[*ir.Var]*ir.Assign{}, map[*ir.Var]bool{}
	o.rename = map[*ir.Var]*ir.Var{}
	clock := 0
	var walk func(b ir.Block, in *ir.Scope)
	walk = func(b ir.Block, in *ir.Scope) {
		for _, s := range b {
			clock++
			ir.Exprs(s, func(e ir.Expr) bool {
				if v, ok := e.(*ir.Var); ok {
					o.lastUse[v] = clock
					if h := o.home[v]; h != nil && h != in {
						o.exported[v] = true
					}
				}
				return true
			})
			inner := in
			if sc, ok := s.(*ir.Scope); ok && in == nil && o.kind.target(sc) {
				inner = sc
			}
			switch s := s.(type) {
			case *ir.For:
				o.define(s.Var, inner)
				o.defineCarries(s.Carries, inner)
			case *ir.While:
				o.defineCarries(s.Carries, inner)
			}
			for _, n := range ir.Blocks(s) {
				walk(n, inner)
			}
			for _, v := range ir.Defs(s) {
				o.define(v, in)
			}
			if a, ok := s.(*ir.Assign); ok && in != nil && isScalar(a.Var.Typ) {
				o.defs[a.Var] = a
			}
			if inner != in {
				o.end[inner] = clock
			}
		}
	}
	walk(o.parent.Body, nil)
	return true
}

func (o *outliner) define(v *ir.Var, in *ir.Scope) {
	if in != nil {
		o.home[v] = in
	}
}

func (o *outliner) defineCarries(cs []ir.Carry, in *ir.Scope) {
	for _, c := range cs {
		o.define(c.Iter, in)
		o.carried[c.Iter] = true
	}
}

// block outlines the target scopes of one block of the parent.
func (o *outliner) block(b ir.Block) ir.Block {
	var renamed []*ir.Var
	rw := &ir.Rewriter{Var: func(v *ir.Var) *ir.Var { return o.rename[v] }}
	out := rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		orig := s
		if len(o.rename) > 0 {
			s = rw.Stmt(s)
		}
		sc, ok := s.(*ir.Scope)
		switch {
		case ok && o.kind.target(sc):
			return o.outline(sc, orig.(*ir.Scope), &renamed), true
		case ok && sc.Kind == ir.HierarchyScope && o.kind.device:
			// A region at another level is no task: inside a chip's orchestration it only groups statements.
			return o.block(sc.Body), true
		}
		n := mapNested(s, o.block)
		return []ir.Stmt{n}, n != orig
	})
	for _, v := range renamed {
		delete(o.rename, v)
	}
	return o.dropPlaceholders(out)
}

// dropPlaceholders removes `tid = system.task_invalid()` in front of a launch that binds tid, as dumps of the reference hold it.
func (o *outliner) dropPlaceholders(b ir.Block) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		a, ok := s.(*ir.Assign)
		if !ok || !ir.IsTaskID(a.Var.Typ) || o.lastUse[a.Var] > 0 {
			return nil, false
		}
		c, ok := a.Value.(*ir.OpCall)
		if !ok || len(c.Args) > 0 || len(c.Deps) > 0 {
			return nil, false
		}
		spec := o.ctx.Ops.Lookup(c.Op)
		return nil, spec != nil && spec.Pure && spec.Result.Kind == ops.Value
	})
}

// A result is one value that an outlined function returns.
type result struct {
	inner *ir.Var   // as the scope calls it
	outer []*ir.Var // the parent's Vars that stand for it
}

// outline replaces one target scope by a launch. orig is the scope before renaming, the key of what scan found.
func (o *outliner) outline(sc, orig *ir.Scope, renamed *[]*ir.Var) []ir.Stmt {
	base := o.kind.base(sc)
	n := o.counts[o.parent.Name+" "+base]
	o.counts[o.parent.Name+" "+base] = n + 1
	hint := o.kind.hint(sc)
	if hint == "" {
		hint = fmt.Sprintf("%s_%s_%d", o.parent.Name, base, n)
	}
	name := o.names.pick(o.parent.Name, hint, o.local)

	body, launch := sc.Body, sc.Launch
	if o.kind.prepare != nil {
		var ok bool
		if body, launch, ok = o.kind.prepare(o, sc); !ok {
			return nil
		}
	}
	body = spliceScopes(body, o.kind.device)

	use, ok := o.capture(body, sc)
	if !ok {
		return nil
	}
	captured, inner := use.captured, use.inner

	// Dimension symbols that no captured tensor declares are passed as scalars, and so are scalars that only appear in types of the body.
	subst := map[*ir.Var]*ir.Var{}
	captured = append(captured, o.typeScalars(use, subst)...)

	rw := &ir.Rewriter{}
	rw.Var = func(v *ir.Var) *ir.Var {
		if n, ok := subst[v]; ok {
			return n
		}
		if inner[v] {
			n := &ir.Var{Hint: v.Hint, Pos: v.Pos, Dyn: v.Dyn}
			subst[v] = n
			n.Typ = rw.Type(v.Typ)
			return n
		}
		return nil
	}
	f := &ir.Function{Name: name, Type: o.kind.typ(sc), Split: sc.Split, Attrs: sc.Attrs, Comments: sc.Comments, Pos: sc.Pos}
	for _, v := range captured {
		if _, done := subst[v]; !done {
			subst[v] = &ir.Var{Hint: v.Hint, Pos: v.Pos}
		}
	}
	for _, v := range captured {
		p := subst[v]
		p.Typ = rw.Type(v.Typ)
		f.Params = append(f.Params, ir.Param{Var: p})
	}
	f.Body = rw.Block(body)
	o.calls.byName[name] = f
	uses := o.calls.paramUses(f)
	for i := range f.Params {
		if isStorage(f.Params[i].Var.Typ) {
			f.Params[i].Dir = uses[i].dir()
			switch {
			case f.Type.IsWrapper() && f.Params[i].Dir == ir.InOut && !uses[i].readFirst:
				f.Params[i].Dir = ir.Out // a task of the wrapper writes it before another one reads it
			case f.Type == ir.InCore && f.Params[i].Dir == ir.Out && o.ctx.Options.StoreTargetInOut && !o.carried[captured[i]]:
				f.Params[i].Dir = ir.InOut
			}
		}
	}

	results, pre, ok := o.results(sc, orig, f, captured, use, subst, uses, renamed)
	if !ok {
		return nil
	}
	ret := &ir.Return{Pos: sc.Pos}
	types := make([]ir.Type, 0, len(results)+1)
	for _, r := range results {
		ret.Values = append(ret.Values, rw.NewVar(r.inner))
		f.Returns = append(f.Returns, ret.Values[len(ret.Values)-1].Type())
		types = append(types, r.outer[0].Typ)
	}
	if len(results) > 0 {
		f.Body = append(slices.Clone(f.Body), ret)
	}
	o.made = append(o.made, f)
	o.ctx.Note(sc.Pos, fmt.Sprintf("%s block became function %s with %d parameter(s) and %d result(s)", o.kind.what, name, len(f.Params), len(results)))

	call := &ir.Call{Callee: name, Launch: launch, Pos: sc.Pos, Submit: needsSubmit(sc, &launch)}
	for _, v := range captured {
		call.Args = append(call.Args, v)
	}
	o.launchArgs(call, sc, captured)
	return append(pre, o.bind(call, sc, types, results)...)
}

// needsSubmit: what only a submit can carry (mission document 004).
func needsSubmit(sc *ir.Scope, l *ir.Launch) bool {
	return sc.TaskID != nil || len(l.Deps) > 0 || l.EarlyResolve || l.Predicate != nil || l.TimingSlot != nil
}

// results decides what the function returns. It also gives statements to put in front of the launch: scalars that later code reads and that
// the orchestration can compute itself.
func (o *outliner) results(sc, orig *ir.Scope, f *ir.Function, captured []*ir.Var, use bodyUse, subst map[*ir.Var]*ir.Var,
	uses []paramUse, renamed *[]*ir.Var) (rs []result, pre []ir.Stmt, ok bool) {
	s := newStorage(o.calls, f)
	outerOf := map[*ir.Var]*ir.Var{}
	for i, v := range captured {
		outerOf[f.Params[i].Var] = v
	}
	byHandle := map[*ir.Var]int{} // captured parameter → its result
	done := map[*ir.Var]bool{}
	ok = true
	for _, v := range use.defined {
		if !o.exported[v] {
			continue
		}
		switch v.Typ.(type) {
		case *ir.ScalarType:
			if stmts, can := o.recompute(v, use.inner, done); can {
				pre = append(pre, stmts...)
				continue
			}
			o.ctx.Report(diag.Errorf(codeScalarExport, sc.Pos, "scalar '%s' is computed by device code in this %s block but used after it", ir.BaseName(v.Hint), o.kind.what).
				WithRelated(v.Pos, "'%s' is computed here", ir.BaseName(v.Hint)).
				WithHint("a kernel returns no scalars: compute it before the block, or store it to a tensor and use pl.read"))
			ok = false
		case *ir.TileType:
			o.ctx.Report(diag.Errorf(codeTileEscapes, sc.Pos, "tile '%s' is used after the %s block that makes it", ir.BaseName(v.Hint), o.kind.what).
				WithRelated(v.Pos, "'%s' is made here", ir.BaseName(v.Hint)).
				WithHint("tiles live on one core: store it to a tensor with pl.store and load it again"))
			ok = false
		case *ir.TensorType:
			h := s.handle(subst[v])
			if i, dup := byHandle[h]; dup && outerOf[h] != nil {
				rs[i].outer = append(rs[i].outer, v)
				continue
			}
			byHandle[h] = len(rs)
			rs = append(rs, result{v, []*ir.Var{v}})
		default:
			o.ctx.Report(diag.Errorf(codeBadCapture, sc.Pos, "'%s' is set in this %s block and used after it, but cannot be returned by a kernel", ir.BaseName(v.Hint), o.kind.what))
			ok = false
		}
	}
	// Captured tensors written without a version that anybody reads: later reads of the old version get a new one.
	for i, v := range captured {
		p := f.Params[i].Var
		if _, has := byHandle[p]; has || !uses[i].writes || o.lastUse[v] <= o.end[orig] {
			continue
		}
		if _, isTensor := v.Typ.(*ir.TensorType); !isTensor {
			continue
		}
		n := &ir.Var{Hint: nextVersion(v.Hint), Typ: v.Typ, Pos: v.Pos}
		// The parameter itself is the result; captured Vars map to it.
		rs = append(rs, result{v, []*ir.Var{n}})
		*renamed = append(*renamed, v)
		o.lastUse[n] = o.lastUse[v]
		o.rename[v] = n
	}
	return rs, pre, ok
}

// nextVersion is the hint of a further version of a Var.
func nextVersion(hint string) string {
	n := ir.ParseName(hint)
	if n.Role == "" {
		n.Role = "ssa"
	}
	n.Version++
	return n.String()
}

// launchArgs turns no_dep_args and dumps, which name captured tensors, into argument positions and arguments.
func (o *outliner) launchArgs(call *ir.Call, sc *ir.Scope, captured []*ir.Var) {
	for _, e := range sc.NoDep {
		v, _ := e.(*ir.Var)
		i := slices.Index(captured, v)
		if v == nil || i < 0 {
			name := "?"
			if v != nil {
				name = ir.BaseName(v.Hint)
			}
			at := e.Span()
			if !at.IsValid() || v != nil && at == v.Pos {
				at = sc.Pos // a Var carries the place of its definition
			}
			o.ctx.Report(diag.Errorf(codeNotCaptured, at, "%s(no_dep_args=[...]) references tensor '%s', which is not captured by the scope body", o.kind.what, name).
				WithHint("list only tensors that the block itself uses"))
			continue
		}
		if !slices.Contains(call.NoDep, i) {
			call.NoDep = append(call.NoDep, i)
		}
	}
	slices.Sort(call.NoDep)
	if len(call.Launch.Dumps) == 0 {
		return
	}
	var dumps []ir.Expr
	for _, v := range captured {
		for _, d := range call.Launch.Dumps {
			if d == ir.Expr(v) {
				dumps = append(dumps, v)
				break
			}
		}
	}
	call.Launch.Dumps = dumps
}

// bind makes the statements that launch and bind the results.
func (o *outliner) bind(call *ir.Call, sc *ir.Scope, types []ir.Type, results []result) []ir.Stmt {
	var out []ir.Stmt
	comments := sc.Comments
	get := func(v *ir.Var, t *ir.Var, i int) {
		out = append(out, &ir.Assign{Var: v, Value: &ir.TupleGet{X: t, Index: i, Pos: sc.Pos}, Pos: sc.Pos})
	}
	aliases := func() {
		for _, r := range results {
			for _, v := range r.outer[1:] {
				out = append(out, &ir.Assign{Var: v, Value: r.outer[0], Pos: sc.Pos})
			}
		}
	}
	switch {
	case call.Submit:
		types = append(types, ir.TaskIDType)
		call.Typ = &ir.TupleType{Elems: types}
		t := o.temp(call.Typ, sc.Pos)
		out = append(out, &ir.Assign{Var: t, Value: call, Comments: comments, Pos: sc.Pos})
		for i, r := range results {
			get(r.outer[0], t, i)
		}
		if sc.TaskID != nil {
			get(sc.TaskID, t, len(results))
		}
	case len(results) == 0:
		call.Typ = &ir.TupleType{}
		out = append(out, &ir.Eval{X: call, Comments: comments, Pos: sc.Pos})
	case len(results) == 1:
		call.Typ = types[0]
		out = append(out, &ir.Assign{Var: results[0].outer[0], Value: call, Comments: comments, Pos: sc.Pos})
	default:
		call.Typ = &ir.TupleType{Elems: types}
		t := o.temp(call.Typ, sc.Pos)
		out = append(out, &ir.Assign{Var: t, Value: call, Comments: comments, Pos: sc.Pos})
		for i, r := range results {
			get(r.outer[0], t, i)
		}
	}
	aliases()
	return out
}

func (o *outliner) temp(t ir.Type, at diag.Span) *ir.Var {
	v := &ir.Var{Hint: fmt.Sprintf("ret__tmp_v%d", o.temps), Typ: t, Pos: at}
	o.temps++
	return v
}

// spliceScopes dissolves regions that mean nothing inside a function of their own: nested blocks of the same kind, hierarchy and runtime scopes.
// Split regions stay.
func spliceScopes(b ir.Block, device bool) ir.Block {
	return rewriteBlock(b, func(s ir.Stmt) ([]ir.Stmt, bool) {
		if sc, ok := s.(*ir.Scope); ok {
			switch sc.Kind {
			case ir.InCoreScope, ir.HierarchyScope, ir.RuntimeScope:
				if device || sc.Kind != ir.RuntimeScope {
					return spliceScopes(sc.Body, device), true
				}
			}
		}
		n := withBlocks(s, func(b ir.Block) ir.Block { return spliceScopes(b, device) })
		return []ir.Stmt{n}, n != s
	})
}
