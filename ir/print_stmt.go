package ir

import (
	"strconv"
	"strings"
)

// block writes a nested block one level deeper. results are the Vars that its closing yield gives values to.
func (p *printer) block(b Block, results []*Var) {
	p.indent++
	if len(b) == 0 {
		p.line("pass")
	} else {
		p.stmts(b, results)
	}
	p.indent--
}

func (p *printer) stmts(b Block, results []*Var) {
	for i, s := range b {
		if i == len(b)-1 {
			p.stmt(s, results)
		} else {
			p.stmt(s, nil)
		}
	}
}

// stmt writes one statement; results is not nil only for the last one of a block.
func (p *printer) stmt(s Stmt, results []*Var) {
	switch s := s.(type) {
	case *Assign:
		p.comments(s.Comments)
		p.start()
		p.target(s.Var)
		p.w(" = ")
		p.assigned = s.Var
		p.expr(s.Value, precLowest, false)
		p.assigned = nil
		p.nl()
	case *Eval:
		p.comments(s.Comments)
		p.start()
		p.expr(s.X, precLowest, false)
		p.nl()
	case *If:
		p.comments(s.Comments)
		p.ifStmt(s, "if ")
	case *For:
		p.comments(s.Comments)
		p.forStmt(s)
	case *While:
		p.comments(s.Comments)
		p.whileStmt(s)
	case *Yield:
		p.yield(s, results)
	case *Return:
		p.comments(s.Comments)
		p.start()
		p.w("return")
		for i, v := range s.Values {
			if i > 0 {
				p.w(",")
			}
			p.w(" ")
			p.expr(v, precLowest, false)
		}
		p.nl()
	case *Branch:
		if s.Continue {
			p.line("continue")
		} else {
			p.line("break")
		}
	case *Scope:
		p.comments(s.Comments)
		p.scope(s, results)
	case *Verbatim:
		for l := range strings.SplitSeq(strings.TrimSuffix(s.Text, "\n"), "\n") {
			if l == "" {
				p.nl()
			} else {
				p.line(l)
			}
		}
	default:
		p.line("pass")
	}
}

// target writes the left side of an assignment.
func (p *printer) target(v *Var) {
	p.w(p.name(v))
	if !p.opt.Concise && v != nil {
		p.w(": ")
		p.typ(v.Typ)
	}
}

func (p *printer) ifStmt(s *If, keyword string) {
	p.start()
	p.w(keyword)
	p.expr(s.Cond, precLowest, false)
	p.w(":")
	p.nl()
	p.block(s.Then, s.Results)
	if s.Else == nil {
		return
	}
	// An else that is one if without comments of its own is an elif; with results the else ends in a yield and is more than that. The reference has none.
	if len(s.Else) == 1 && len(s.Results) == 0 && !p.opt.Derived {
		if inner, ok := s.Else[0].(*If); ok && len(inner.Comments) == 0 {
			p.ifStmt(inner, "elif ")
			return
		}
	}
	p.line("else:")
	p.block(s.Else, s.Results)
}

func isIndex(e Expr, v int64) bool {
	c, ok := e.(*ConstInt)
	return ok && c.DType == INDEX && c.Value == v
}

func (p *printer) forStmt(s *For) {
	p.start()
	p.w("for ", p.name(s.Var))
	if len(s.Carries) > 0 {
		p.w(", ")
		p.carryNames(s.Carries)
	}
	p.w(" in pl.", s.Kind.String(), "(")
	it := items{p: p}
	step := !isIndex(s.Step, 1)
	if step || !isIndex(s.Start, 0) {
		it.next()
		p.expr(s.Start, precLowest, false)
	}
	it.next()
	p.expr(s.Stop, precLowest, false)
	if step {
		it.next()
		p.expr(s.Step, precLowest, false)
	}
	if s.Kind == Pipeline {
		it.next("stage=", strconv.FormatInt(s.Stages, 10))
	}
	p.carries(&it, s.Carries, s.Attrs)
	p.w("):")
	p.nl()
	p.block(s.Body, carryResults(s.Carries))
}

func (p *printer) whileStmt(s *While) {
	p.start()
	if len(s.Carries) == 0 {
		p.w("while ")
		p.expr(s.Cond, precLowest, false)
		p.w(":")
		p.nl()
		p.block(s.Body, nil)
		return
	}
	p.w("for ")
	p.carryNames(s.Carries)
	p.w(" in pl.while_(")
	it := items{p: p}
	p.carries(&it, s.Carries, nil)
	p.w("):")
	p.nl()
	p.indent++
	p.start()
	p.w("pl.cond(")
	p.expr(s.Cond, precLowest, false)
	p.w(")")
	p.nl()
	p.stmts(s.Body, carryResults(s.Carries))
	p.indent--
}

func (p *printer) carryNames(cs []Carry) {
	p.w("(")
	for i, c := range cs {
		if i > 0 {
			p.w(", ")
		}
		p.w(p.name(c.Iter))
	}
	if len(cs) == 1 {
		p.w(",")
	}
	p.w(")")
}

// carries writes init_values=, types= and attrs= of a loop.
func (p *printer) carries(it *items, cs []Carry, attrs Attrs) {
	if len(cs) > 0 {
		it.next("init_values=(")
		for i, c := range cs {
			if i > 0 {
				p.w(", ")
			}
			p.expr(c.Init, precLowest, false)
		}
		if len(cs) == 1 {
			p.w(",")
		}
		p.w(")")
	}
	iters, inits := make([]Type, len(cs)), make([]Type, len(cs))
	var all Attrs
	for i, c := range cs {
		iters[i], inits[i] = c.Iter.Typ, typeOf(c.Init)
		n := strconv.Itoa(i)
		if c.Class != CarryUnclassified {
			all = append(all, Attr{"iter_arg_rebind_" + n, c.Class == CarryRebind})
		}
		if c.Slots != 0 {
			all = append(all, Attr{"iter_arg_array_size_" + n, c.Slots})
		}
	}
	p.typesArg(it, iters, inits)
	if all = append(all, attrs...); len(all) > 0 {
		it.next("attrs=")
		p.attrs(all)
	}
}

// typesArg writes types=[…] when the types differ from those a reader would infer.
func (p *printer) typesArg(it *items, ts, inferred []Type) {
	if p.opt.Concise {
		return
	}
	for i := range ts {
		if !EqualTypes(ts[i], inferred[i]) {
			it.next("types=[")
			p.types(ts)
			p.w("]")
			return
		}
	}
}

// yield writes the assignment form when the yield ends a block with results.
func (p *printer) yield(s *Yield, results []*Var) {
	p.start()
	switch {
	case len(results) == 1:
		p.target(results[0])
		p.w(" = ")
	case len(results) > 1:
		for i, v := range results {
			if i > 0 {
				p.w(", ")
			}
			p.w(p.name(v))
		}
		p.w(" = ")
	}
	p.w("pl.yield_(")
	it := items{p: p}
	p.args(&it, s.Values)
	if len(results) > 1 && len(results) == len(s.Values) {
		ts, vs := make([]Type, len(results)), make([]Type, len(results))
		for i := range results {
			ts[i], vs[i] = results[i].Typ, typeOf(s.Values[i])
		}
		p.typesArg(&it, ts, vs)
	}
	p.w(")")
	p.nl()
}

// scope writes a with-region. results pass through the scopes that a closing yield may stand in.
func (p *printer) scope(s *Scope, results []*Var) {
	if p.forScope(s, results) {
		return
	}
	p.start()
	p.w("with ")
	it := items{p: p}
	var kernel *Scope
	switch s.Kind {
	case InCoreScope:
		p.w("pl.at(")
		it.next("level=pl.Level.CORE_GROUP")
		kernel = s
	case HierarchyScope:
		p.w("pl.at(")
		it.next("level=pl.Level.", s.Level)
		if s.Role != "" {
			it.next("role=pl.Role.", s.Role)
		}
	case ClusterScope:
		p.w("pl.cluster(")
	case SpmdScope:
		p.w("pl.spmd(")
		p.coreNum(&it, s)
	case RuntimeScope:
		p.w("pl.scope(")
		if s.Manual {
			it.next("mode=pl.ScopeMode.MANUAL")
		}
	case CommDomainScope:
		p.w("pld.comm_domain(")
	default:
		p.w("pl.scope(")
	}
	p.scopeOptions(&it, s, kernel)
	p.w(")")
	if s.TaskID != nil {
		p.w(" as ", p.name(s.TaskID))
	}
	p.w(":")
	p.nl()
	if !isTransparent(s) {
		results = nil
	}
	p.block(s.Body, results)
}

// isTransparent reports a scope through which the closing yield of a loop or branch passes.
func isTransparent(s *Scope) bool { return s.Kind == RuntimeScope || s.Kind == SplitAivScope }

func (p *printer) coreNum(it *items, s *Scope) {
	if s.Launch.CoreNum != nil {
		it.next()
		p.expr(s.Launch.CoreNum, precLowest, false)
	}
}

// optimizations writes the kernel options of an InCore scope and returns the attributes that remain.
func (p *printer) optimizations(it *items, s *Scope) Attrs {
	var opts []string
	attrs := s.Attrs
	if s.Split != SplitNone {
		opts = append(opts, "pl.split(pl.SplitMode."+s.Split.String()+")")
	}
	rest := attrs
	for i, a := range attrs {
		if n, ok := a.Value.(int64); ok && a.Key == "slot_num" {
			opts = append(opts, "pl.cross_core_slot(slot_num="+strconv.FormatInt(n, 10)+")")
			rest = append(append(Attrs(nil), attrs[:i]...), attrs[i+1:]...)
			break
		}
	}
	if len(opts) > 0 {
		it.next("optimizations=[", strings.Join(opts, ", "), "]")
	}
	return rest
}

// scopeOptions writes what every scope may carry, in the order of spec dsl-ir 3.3. kernel is the InCore scope whose options are written with it: s itself,
// or the one that an spmd scope stands for.
func (p *printer) scopeOptions(it *items, s, kernel *Scope) {
	l, attrs := s.Launch, s.Attrs
	if s.Kind == RuntimeScope && s.Manual && s.Owner == CompilerScope && !p.opt.Concise {
		attrs = append(attrs[:len(attrs):len(attrs)], Attr{"compiler_owned", true})
	}
	if kernel == s {
		attrs = p.optimizations(it, kernel)
	}
	if s.Kind == SpmdScope && l.SyncStart {
		it.next("sync_start=True")
		l.SyncStart = false
	}
	if s.NameHint != "" {
		it.next("name_hint=", quote(s.NameHint, '"'))
	}
	if kernel != nil && kernel != s {
		p.optimizations(it, kernel)
	}
	if len(l.Deps) > 0 {
		it.next("deps=")
		p.exprList(l.Deps)
	}
	if len(s.NoDep) > 0 {
		it.next("no_dep_args=")
		p.exprList(s.NoDep)
	}
	if len(l.Dumps) > 0 {
		it.next("dumps=")
		p.exprList(l.Dumps)
	}
	if s.Kind != SpmdScope && l.CoreNum != nil {
		it.next("core_num=")
		p.expr(l.CoreNum, precLowest, false)
	}
	p.launch(it, &l)
	rest := attrs
	for i, a := range attrs {
		if a.Key == "windowize" && a.Value == true {
			it.next("windowize=True")
			rest = append(append(Attrs(nil), attrs[:i]...), attrs[i+1:]...)
			break
		}
	}
	if len(rest) > 0 {
		it.next("attrs=")
		p.attrs(rest)
	}
}

// forScope writes the scopes that read as loops, and pl.spmd whose body is the kernel itself.
func (p *printer) forScope(s *Scope, results []*Var) bool {
	switch {
	case s.Kind == SplitAivScope:
		name, body := "_", s.Body
		if v, ok := boundIndex(body, "tile.get_subblock_idx"); ok {
			name, body = p.name(v), body[1:]
		}
		p.start()
		p.w("for ", name, " in pl.split_aiv(2, mode=pl.SplitMode.", s.Split.String())
		p.scopeOptions(&items{p: p, n: 1}, s, nil)
		p.w("):")
		p.nl()
		p.block(body, results)
		return true
	case s.Kind == SpmdScope:
		return p.spmdKernel(s)
	}
	return false
}

// spmdKernel writes an spmd scope around one kernel that a reader makes again by itself, because it carries a split or reads the block index: its
// statements stand right in the spmd scope, which is a loop over the blocks when they begin with the index and nothing needs `as`.
func (p *printer) spmdKernel(s *Scope) bool {
	if len(s.Body) != 1 || len(s.Attrs) > 0 {
		return false
	}
	in, ok := s.Body[0].(*Scope)
	if !ok || in.Kind != InCoreScope || in.NameHint != s.NameHint || in.TaskID != nil || !in.Launch.IsZero() || len(in.NoDep) > 0 || len(in.Comments) > 0 {
		return false
	}
	for _, a := range in.Attrs {
		if _, ok := a.Value.(int64); !ok || a.Key != "slot_num" {
			return false
		}
	}
	v, loop := boundIndex(in.Body, "tile.get_block_idx")
	if loop = loop && s.TaskID == nil; !loop && in.Split == SplitNone && !readsBlockIndex(in.Body) {
		return false
	}
	body := in.Body
	p.start()
	if loop {
		body = body[1:]
		p.w("for ", p.name(v), " in pl.spmd(")
	} else {
		p.w("with pl.spmd(")
	}
	it := items{p: p}
	p.coreNum(&it, s)
	p.scopeOptions(&it, s, in)
	p.w(")")
	if s.TaskID != nil {
		p.w(" as ", p.name(s.TaskID))
	}
	p.w(":")
	p.nl()
	p.block(body, nil)
	return true
}

// readsBlockIndex reports whether a block reads the block index outside of the kernels nested in it.
func readsBlockIndex(b Block) bool {
	found := false
	Inspect(b, func(s Stmt) bool {
		if sc, ok := s.(*Scope); ok && (sc.Kind == InCoreScope || sc.Kind == HierarchyScope) {
			return false
		}
		Exprs(s, func(e Expr) bool {
			if c, ok := e.(*OpCall); ok && (c.Op == "tile.get_block_idx" || c.Op == "tensor.get_block_idx") {
				found = true
			}
			return !found
		})
		return !found
	})
	return found
}

// boundIndex returns the INDEX Var that the first statement of b binds to op().
func boundIndex(b Block, op string) (*Var, bool) {
	if len(b) == 0 {
		return nil, false
	}
	a, ok := b[0].(*Assign)
	if !ok || len(a.Comments) > 0 || a.Var == nil || ElemDType(a.Var.Typ) != INDEX {
		return nil, false
	}
	c, ok := a.Value.(*OpCall)
	return a.Var, ok && c.Op == op && len(c.Args)+len(c.Kwargs)+len(c.Attrs) == 0
}
