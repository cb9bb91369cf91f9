package lower

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// pl.spmd has three spellings: `with pl.spmd(n):`, the same with `as tid`, and `for i in pl.spmd(n):`. Its body either launches one kernel, or is
// itself the kernel: then it reads the block index, carries a split, or is a single pl.at.

var spmdKeywords = []string{"core_num", "sync_start", "name_hint", "optimizations", "deps", "dumps", "allow_early_resolve", "predicate"}

// spmdHeader reads the arguments of pl.spmd into a scope.
func (b *body) spmdHeader(call *syntax.Call, sc *ir.Scope) (*launch, bool) {
	ok := true
	l := b.launch("pl.spmd")
	if len(call.Args) > 1 {
		b.errorf(CodeSpmd, call.Args[1], "pl.spmd() takes one positional argument, core_num")
		ok = false
	}
	if len(call.Args) > 0 {
		l.coreNum(call.Args[0])
	}
	for _, k := range call.Keywords {
		switch k.Name {
		case "core_num":
			if len(call.Args) > 0 {
				b.errorf(CodeSpmd, k.Value, "pl.spmd() got multiple values for argument 'core_num'")
				ok = false
				break
			}
			l.keyword(k)
		case "name_hint":
			ok = b.nameHint(k.Value, sc) && ok
		case "optimizations":
			ok = b.optimizations(k.Value, sc) && ok
		case "sync_start", "deps", "dumps", "allow_early_resolve", "predicate":
			l.keyword(k)
		default:
			if b.dumpKeyword(l, sc, k) {
				break
			}
			b.unknownKeyword("pl.spmd", k, spmdKeywords)
			ok = false
		}
	}
	ok = l.finish() && ok
	if l.out.CoreNum == nil && !l.failed {
		b.errorf(CodeSpmd, call, "pl.spmd() requires the core_num argument").WithHint("write pl.spmd(N) with the number of blocks")
		ok = false
	}
	sc.Launch = l.out
	return l, ok
}

// spmdNesting checks where a pl.spmd may stand.
func (b *body) spmdNesting(at syntax.Node, tid *syntax.Name, l *launch) bool {
	if b.mode == Dump {
		return true
	}
	if b.inside(ir.SpmdScope) != nil {
		b.errorf(CodeSpmd, at, "pl.spmd() cannot be nested inside another pl.spmd()")
		return false
	}
	if b.inside(ir.ClusterScope) == nil {
		return true
	}
	switch {
	case tid != nil:
		b.errorf(CodeSpmd, tid, "pl.spmd() cannot capture a TaskId when nested inside pl.cluster(): the cluster is what gets dispatched")
	case l.predicateNode != nil:
		b.errorf(CodeSpmd, l.predicateNode, "pl.spmd() inside pl.cluster() cannot carry per-task dispatch metadata such as predicate=")
	case l.depsNode != nil:
		b.errorf(CodeSpmd, l.depsNode, "pl.spmd() inside pl.cluster() cannot carry per-task dispatch metadata such as deps=")
	case l.out.EarlyResolve:
		b.errorf(CodeSpmd, at, "pl.spmd() inside pl.cluster() cannot carry per-task dispatch metadata such as allow_early_resolve=")
	default:
		return true
	}
	return false
}

func (b *body) spmdWith(s *syntax.With, call *syntax.Call) {
	sc := &ir.Scope{Kind: ir.SpmdScope, Comments: b.take(), Pos: b.header(s)}
	tid, ok := b.tidTarget(s)
	l, good := b.spmdHeader(call, sc)
	ok = good && ok
	ok = ok && b.spmdNesting(s.Items[0].Context, tid, l)
	if !ok {
		b.recoverWith(s)
		return
	}
	w := &with{name: "pl.spmd", kind: ir.SpmdScope}
	if sc.Split != ir.SplitNone || b.mode != Dump && len(sc.Attrs) > 0 || b.readsBlockIndex(s.Body) {
		// The body is the kernel.
		inner := &ir.Scope{Kind: ir.InCoreScope, Split: sc.Split, Attrs: sc.Attrs, NameHint: sc.NameHint, Pos: sc.Pos}
		sc.Split, sc.Attrs = ir.SplitNone, nil
		sc.Body = b.scoped(w, s, b.host, func() {
			inner.Body = b.scoped(&with{name: "pl.spmd", kind: ir.InCoreScope, split: inner.Split != ir.SplitNone}, s, false, func() { b.stmts(s.Body) })
			b.emit(inner)
		})
		b.finishScope(s, sc, tid)
		return
	}
	before := len(b.u.diags)
	sc.Body = b.scoped(w, s, b.host, func() { b.stmts(s.Body) })
	if len(b.u.diags) == before && b.mode != Dump && !b.spmdCarrier(s, sc) {
		if tid != nil {
			b.poison([]string{tid.ID})
		}
		return
	}
	b.finishScope(s, sc, tid)
}

// spmdCarrier checks that the body of a with-form launches exactly one kernel, or is a single pl.at.
func (b *body) spmdCarrier(s *syntax.With, sc *ir.Scope) bool {
	var launches []diag.Span
	cores := 0
	ir.Inspect(sc.Body, func(st ir.Stmt) bool {
		if in, ok := st.(*ir.Scope); ok && in.Kind == ir.InCoreScope {
			cores++
			return false
		}
		ir.Exprs(st, func(e ir.Expr) bool {
			if c, ok := e.(*ir.Call); ok {
				launches = append(launches, c.Pos)
			}
			return true
		})
		return true
	})
	switch {
	case len(launches)+cores > 1:
		d := b.errorf(CodeSpmd, s.Items[0].Context, "the body of pl.spmd() launches %d kernels; it must launch exactly one", len(launches)+cores).
			WithHint("give each kernel its own pl.spmd()")
		for _, at := range launches {
			d.WithRelated(at, "a launch")
		}
		return false
	case len(launches)+cores == 0:
		b.errorf(CodeSpmd, s.Items[0].Context, "pl.spmd() body neither reads the per-block index nor launches a kernel: every block would do the same work").
			WithHint("read the block index with `i = pl.tile.get_block_idx()`, or call a kernel")
		return false
	}
	return true
}

// readsBlockIndex reports whether statements of a block (not those of nested with-scopes) read the block index.
func (b *body) readsBlockIndex(list []syntax.Stmt) bool {
	found := false
	for _, s := range list {
		if found {
			return true
		}
		syntax.Walk(s, func(n syntax.Node) bool {
			if found {
				return false
			}
			switch n := n.(type) {
			case *syntax.With:
				for _, it := range n.Items {
					if _, path := b.dslCall(it.Context); path == "pl.at" {
						return false
					}
				}
			case *syntax.Call:
				switch _, path := b.dslCall(n); path {
				case "pl.tile.get_block_idx", "pl.tensor.get_block_idx", "pl.get_block_idx":
					found = true
				}
			}
			return !found
		})
	}
	return found
}

// spmdFor reads `for i in pl.spmd(n):`. The body is the kernel and i its block index.
func (b *body) spmdFor(s *syntax.For, call *syntax.Call) {
	comments := b.take()
	sc := &ir.Scope{Kind: ir.SpmdScope, Comments: comments, Pos: b.forHeader(s)}
	l, ok := b.spmdHeader(call, sc)
	for _, k := range call.Keywords {
		if k.Name == "init_values" {
			ok = false
		}
	}
	name, isName := s.Target.(*syntax.Name)
	if !isName {
		b.errorf(CodeSpmd, s.Target, "pl.spmd() has a single loop variable: the block index")
		ok = false
	}
	ok = ok && b.spmdNesting(s.Iter, nil, l)
	if !ok {
		b.recoverLoop(s, "pl.spmd")
		return
	}
	inner := &ir.Scope{Kind: ir.InCoreScope, Split: sc.Split, Attrs: sc.Attrs, NameHint: sc.NameHint, Pos: sc.Pos}
	sc.Split, sc.Attrs = ir.SplitNone, nil
	w := &with{name: "pl.spmd", kind: ir.SpmdScope}
	b.loops = append(b.loops, loop{name: "pl.spmd"})
	sc.Body = b.scoped(w, s, b.host, func() {
		inner.Body = b.scoped(&with{name: "pl.spmd", kind: ir.InCoreScope, split: inner.Split != ir.SplitNone}, s, false, func() {
			b.index(name, "tile.get_block_idx")
			b.stmts(s.Body)
		})
		b.emit(inner)
	})
	b.loops = b.loops[:len(b.loops)-1]
	b.gone(name.ID, s, "this loop", "loop variable '%s' is not defined after its loop", "use another name for the loop variable")
	for _, v := range b.dumpTags {
		if readsVar(sc.Body, v) {
			sc.Launch.Dumps = appendDump(sc.Launch.Dumps, v)
		}
	}
	b.emit(sc)
}

// index emits `name = op()` for the index that a for-form reads.
func (b *body) index(name *syntax.Name, op string) {
	at := b.at(name)
	v := b.variable(name.ID, ir.IndexType, at)
	b.emit(&ir.Assign{Var: v, Value: &ir.OpCall{Op: op, Typ: ir.IndexType, Pos: at}, Pos: at})
}

func (b *body) forHeader(s *syntax.For) diag.Span {
	at := b.at(s)
	end := s.Iter.At().End
	at.EndLine, at.EndCol = end.Line, end.Col
	return at
}

func readsVar(block ir.Block, v *ir.Var) bool {
	found := false
	ir.Inspect(block, func(s ir.Stmt) bool {
		ir.Exprs(s, func(e ir.Expr) bool {
			found = found || e == ir.Expr(v)
			return !found
		})
		return !found
	})
	return found
}

// splitAiv reads `for a in pl.split_aiv(2, mode=pl.SplitMode.X):`, a region that runs on both vector lanes of a cluster.
func (b *body) splitAiv(s *syntax.For, call *syntax.Call) {
	sc := &ir.Scope{Kind: ir.SplitAivScope, Comments: b.take(), Pos: b.forHeader(s)}
	ok := true
	l := b.launch("pl.split_aiv")
	n := int64(-1)
	if len(call.Args) == 1 {
		if e, good := b.expr(call.Args[0]); good {
			if v, known := b.intValue(e); known {
				n = v
			}
		}
	}
	if n != 2 {
		b.errorf(CodeSpmd, call, "pl.split_aiv() requires n == 2: a cluster has two vector lanes")
		ok = false
	}
	mode := false
	for _, k := range call.Keywords {
		if k.Name != "mode" {
			if b.dumpKeyword(l, sc, k) {
				continue
			}
			b.unknownKeyword("pl.split_aiv", k, []string{"mode"})
			ok = false
			continue
		}
		mode = true
		m, good := b.splitMode(k.Value)
		sc.Split, ok = m, ok && good
	}
	if !mode {
		b.errorf(CodeSpmd, call, "pl.split_aiv() requires mode=").WithHint("write mode=pl.SplitMode.UP_DOWN or LEFT_RIGHT")
		ok = false
	}
	ok = l.finish() && ok
	sc.Launch = l.out
	name, isName := s.Target.(*syntax.Name)
	if !isName {
		b.errorf(CodeSpmd, s.Target, "pl.split_aiv() has a single loop variable: the lane")
		ok = false
	}
	core := b.inside(ir.InCoreScope)
	switch {
	case b.inside(ir.SplitAivScope) != nil:
		b.errorf(CodeSpmd, s.Iter, "pl.split_aiv() cannot be nested inside another pl.split_aiv()")
		ok = false
	case core != nil && core.split:
		b.errorf(CodeSpmd, s.Iter, "pl.split_aiv() conflicts with pl.split() on the same region").WithHint("keep one of them")
		ok = false
	}
	if !ok {
		b.recoverLoop(s, "pl.split_aiv")
		return
	}
	read := func() {
		b.loops = append(b.loops, loop{name: "pl.split_aiv"})
		sc.Body = b.scoped(&with{name: "pl.split_aiv", kind: ir.SplitAivScope, lanes: sc.Split}, s, false, func() {
			if b.mode != Dump || name.ID != "_" {
				b.index(name, "tile.get_subblock_idx")
			}
			b.stmts(s.Body)
		})
		b.loops = b.loops[:len(b.loops)-1]
		b.gone(name.ID, s, "this loop", "loop variable '%s' is not defined after its loop", "use another name for the loop variable")
		b.emit(sc)
	}
	if core != nil || b.fn.decl.typ.IsKernel() || b.mode == Dump {
		read()
		return
	}
	outer := &ir.Scope{Kind: ir.InCoreScope, Pos: sc.Pos}
	outer.Body = b.scoped(&with{name: "pl.split_aiv", kind: ir.InCoreScope}, s, false, read)
	b.emit(outer)
}
