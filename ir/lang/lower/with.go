package lower

import (
	"go/token"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// with is an open with-scope.
type with struct {
	name   string // as in messages: "pl.at"
	kind   ir.ScopeKind
	manual bool
	split  bool         // it carries pl.split
	lanes  ir.SplitMode // of a pl.split_aiv: how it splits
}

func (b *body) inside(kind ir.ScopeKind) *with {
	for i := len(b.scopes) - 1; i >= 0; i-- {
		if b.scopes[i].kind == kind {
			return b.scopes[i]
		}
	}
	return nil
}

// scoped reads the body of a with-scope.
func (b *body) scoped(w *with, at syntax.Node, host bool, read func()) ir.Block {
	outer, y := b.host, b.yield
	b.host = host
	if w.kind != ir.RuntimeScope {
		b.yield = nil // only runtime scopes are transparent for the yield of a loop or branch
	}
	b.scopes = append(b.scopes, w)
	block := b.block(inScope, at, read)
	b.scopes = b.scopes[:len(b.scopes)-1]
	b.host, b.yield = outer, y
	return block
}

const withForms = "Unsupported with statement: expected pl.at(), pl.spmd(), pl.cluster(), pl.scope() or pl.manual_scope()"

func (b *body) withStmt(s *syntax.With, last bool) {
	if len(s.Items) != 1 || s.Async {
		b.errorf(CodeScope, s, "a with statement of the DSL has exactly one context").WithHint("nest one with statement in the other")
		b.poisonAll(s.Body)
		return
	}
	item := s.Items[0]
	call, path := b.dslCall(item.Context)
	switch path {
	case "pl.at":
		b.atScope(s, call)
	case "pl.spmd":
		b.spmdWith(s, call)
	case "pl.cluster":
		b.clusterScope(s, call)
	case "pl.scope", "pl.manual_scope":
		b.runtimeScope(s, call, path, last)
	case "pld.comm_domain":
		b.commDomain(s, call)
	default:
		d := b.errorf(CodeScope, item.Context, withForms)
		if c, ok := item.Context.(*syntax.Call); ok {
			if name := dotted(c.Fun); name == "pl.incore" || name == "pl.auto_incore" {
				d.WithHint("%s is gone: write pl.at(level=pl.Level.CORE_GROUP)", name)
			} else if best := diag.Nearest(dotted(c.Fun), []string{"pl.at", "pl.spmd", "pl.cluster", "pl.scope", "pl.manual_scope"}); best != "" {
				d.WithHint("did you mean '%s'?", best)
			}
		}
		b.recoverWith(s)
	}
}

// recoverWith reads the body of a scope whose header is wrong, for its own mistakes.
func (b *body) recoverWith(s *syntax.With) {
	host := b.host
	b.host = false
	b.block(inScope, s, func() { b.stmts(s.Body) })
	b.host = host
	if t := s.Items[0].Target; t != nil {
		b.poison(targetNames(t))
	}
}

// tidTarget checks `as tid`.
func (b *body) tidTarget(s *syntax.With) (*syntax.Name, bool) {
	t := s.Items[0].Target
	if t == nil {
		return nil, true
	}
	n, ok := t.(*syntax.Name)
	if !ok {
		b.errorf(CodeScope, t, "`as` must be followed by one name, which becomes the TaskId of the block")
	}
	return n, ok
}

// noTarget rejects `as name` on scopes that are no task.
func (b *body) noTarget(s *syntax.With, path string) bool {
	if t := s.Items[0].Target; t != nil {
		b.errorf(CodeScope, t, "%s does not accept 'as': it is no task of its own", path).WithHint("only pl.at and pl.spmd give a TaskId")
		b.poison(targetNames(t))
		return false
	}
	return true
}

func (b *body) atScope(s *syntax.With, call *syntax.Call) {
	sc := &ir.Scope{Kind: ir.InCoreScope, Comments: b.take(), Pos: b.header(s)}
	tid, ok := b.tidTarget(s)
	allowed := []string{"level", "role", "optimizations", "name_hint", "deps", "no_dep_args", "dumps", "allow_early_resolve", "windowize", "predicate"}
	level := ""
	var levelNode, roleNode syntax.Expr
	if len(call.Args) > 0 {
		b.errorf(CodeScope, call.Args[0], "pl.at() takes keyword arguments only").WithHint("write level=pl.Level.CORE_GROUP")
		ok = false
	}
	for _, k := range call.Keywords {
		switch k.Name {
		case "level":
			levelNode = k.Value
			name, good := b.enum(k.Value, "Level", levels)
			level, ok = canonicalLevel(name), ok && good
		case "role":
			roleNode = k.Value
			name, good := b.enum(k.Value, "Role", []string{"Orchestrator", "SubWorker"})
			sc.Role, ok = name, ok && good
		}
	}
	if levelNode == nil {
		b.errorf(CodeScope, call, "pl.at() requires level=").WithHint("write pl.at(level=pl.Level.CORE_GROUP)")
		ok = false
	}
	core := level == "CORE_GROUP" || levelNode == nil || level == ""
	if !core {
		sc.Kind, sc.Level = ir.HierarchyScope, level
	} else if roleNode != nil {
		b.errorf(CodeScope, roleNode, "pl.at(level=pl.Level.CORE_GROUP) does not accept 'role='")
		ok = false
	}
	w := &with{name: "pl.at", kind: sc.Kind}
	l := b.launch("pl.at")
	for _, k := range call.Keywords {
		switch k.Name {
		case "level", "role":
		case "optimizations":
			if !core {
				b.errorf(CodeScope, k.Value, "optimizations= is only supported on pl.at(level=pl.Level.CORE_GROUP)")
				ok = false
				break
			}
			ok = b.optimizations(k.Value, sc) && ok
			w.split = sc.Split != ir.SplitNone
		case "name_hint":
			ok = b.nameHint(k.Value, sc) && ok
		case "no_dep_args":
			good := true
			sc.NoDep, good = b.tensorNames(k.Value, "no_dep_args")
			ok = ok && good
		case "windowize":
			v, good := b.boolLiteral(k, "pl.at")
			if good && v {
				sc.Attrs = append(sc.Attrs, ir.Attr{Key: "windowize", Value: true})
			}
			ok = ok && good
		case "predicate":
			if !core {
				b.errorf(CodePredicate, k.Value, "predicate= is only supported on pl.at(level=pl.Level.CORE_GROUP, …): a block of another level is not dispatched as a task").
					WithHint("use level=pl.Level.CORE_GROUP, or put the predicate on the submit inside the block")
				ok = false
				break
			}
			l.keyword(k)
		case "deps", "dumps", "allow_early_resolve":
			l.keyword(k)
		default:
			if b.dumpKeyword(l, sc, k) {
				break
			}
			b.unknownKeyword("pl.at", k, allowed)
			ok = false
		}
	}
	ok = l.finish() && ok
	sc.Launch = l.out
	if ok && core {
		ok = b.taskNesting(s, "pl.at", tid, l)
	}
	if !ok {
		b.recoverWith(s)
		return
	}
	sc.Body = b.scoped(w, s, b.host && !core, func() { b.stmts(s.Body) })
	b.finishScope(s, sc, tid)
}

// header is the place of a with statement without its body.
func (b *body) header(s *syntax.With) diag.Span {
	at := b.at(s)
	end := s.Items[0].Context.At().End
	if t := s.Items[0].Target; t != nil {
		end = t.At().End
	}
	at.EndLine, at.EndCol = end.Line, end.Col
	return at
}

// taskNesting checks that a scope with task options really becomes a task of its own (mission document 004, pl.at scope form).
func (b *body) taskNesting(s *syntax.With, path string, tid *syntax.Name, l *launch) bool {
	what := ""
	var at syntax.Node = s.Items[0].Context
	switch {
	case tid != nil:
		what, at = "capture a TaskId", tid
	case l.predicateNode != nil:
		what, at = "carry predicate=", l.predicateNode
	case l.depsNode != nil:
		what, at = "carry deps=", l.depsNode
	case l.out.EarlyResolve:
		what = "carry allow_early_resolve="
	}
	if what == "" || b.mode == Dump {
		return true
	}
	outer := ""
	switch {
	case b.inside(ir.ClusterScope) != nil:
		outer = "pl.cluster()"
	case b.inside(ir.SpmdScope) != nil:
		outer = "pl.spmd()"
	case b.inside(ir.InCoreScope) != nil:
		outer = "another CORE_GROUP pl.at"
	}
	if outer != "" {
		b.errorf(CodeScope, at, "%s cannot %s when nested inside %s: it cannot carry per-task dispatch metadata there", path, what, outer).
			WithHint("put the option on the outer scope, which is what gets dispatched")
		return false
	}
	if t := b.fn.decl.typ; t.IsKernel() || t.IsWrapper() {
		b.errorf(CodeScope, at, "%s cannot %s in a %s function: nothing is dispatched from there", path, what, t).
			WithHint("write the block in an Orchestration or Opaque function")
		return false
	}
	return true
}

// finishScope binds the TaskId of a scope, checks what it captures, and emits it.
func (b *body) finishScope(s *syntax.With, sc *ir.Scope, tid *syntax.Name) {
	captured := map[*ir.Var]bool{}
	ir.Inspect(sc.Body, func(st ir.Stmt) bool {
		ir.Exprs(st, func(e ir.Expr) bool {
			if v, ok := e.(*ir.Var); ok {
				captured[v] = true
			}
			return true
		})
		return true
	})
	if b.mode != Dump {
		for _, e := range sc.NoDep {
			if v := e.(*ir.Var); !captured[v] {
				b.u.errorf(CodeScope, b.argPlace(s, "no_dep_args", v), "no_dep_args entry '%s' is not captured by the scope body", v.Hint).
					WithHint("list only tensors that the block uses")
			}
		}
	}
	for _, v := range b.dumpTags {
		if captured[v] && (sc.Kind == ir.InCoreScope || sc.Kind == ir.SpmdScope || sc.Kind == ir.ClusterScope) {
			sc.Launch.Dumps = appendDump(sc.Launch.Dumps, v)
		}
	}
	if tid != nil {
		v, ok := b.assign(tid.ID, ir.TaskIDType, b.at(tid))
		if !ok {
			return
		}
		sc.TaskID = v
		ir.Inspect(sc.Body, func(st ir.Stmt) bool {
			if a, ok := st.(*ir.Assign); ok && ir.IsTensor(a.Var.Typ) {
				b.producers[a.Var] = v
			}
			return true
		})
	}
	b.emit(sc)
}

// argPlace finds the list entry that names v.
func (b *body) argPlace(s *syntax.With, keyword string, v *ir.Var) diag.Span {
	call, _ := s.Items[0].Context.(*syntax.Call)
	for _, k := range call.Keywords {
		if k.Name == keyword {
			elems, _ := listElems(k.Value)
			for _, e := range elems {
				if n, ok := e.(*syntax.Name); ok && n.ID == v.Hint {
					return b.at(n)
				}
			}
		}
	}
	return b.header(s)
}

func appendDump(list []ir.Expr, v *ir.Var) []ir.Expr {
	for _, e := range list {
		if e == ir.Expr(v) {
			return list
		}
	}
	return append(list, v)
}

// nameHint reads name_hint=.
func (b *body) nameHint(x syntax.Expr, sc *ir.Scope) bool {
	c, ok := x.(*syntax.Constant)
	if !ok || c.Kind != syntax.Str {
		v, known := b.staticString(x)
		if !known {
			b.errorf(CodeScope, x, "name_hint must be a string literal")
			return false
		}
		c = &syntax.Constant{Str: v}
	}
	if c.Str == "" {
		return true
	}
	if !isIdentifier(c.Str) {
		b.errorf(CodeScope, x, "name_hint %q is not an identifier", c.Str).WithHint("the block's kernel gets this name: use letters, digits and '_'")
		return false
	}
	sc.NameHint = c.Str
	return true
}

var pythonKeywords = map[string]bool{"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true, "async": true, "await": true,
	"break": true, "class": true, "continue": true, "def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true, "for": true,
	"from": true, "global": true, "if": true, "import": true, "in": true, "is": true, "lambda": true, "nonlocal": true, "not": true, "or": true,
	"pass": true, "raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true}

func isIdentifier(s string) bool {
	return !pythonKeywords[s] && (token.IsIdentifier(s) || token.IsKeyword(s))
}

// optimizations reads [pl.split(mode), pl.cross_core_slot(slot_num=N)].
func (b *body) optimizations(x syntax.Expr, sc *ir.Scope) bool {
	elems, ok := listElems(x)
	if !ok {
		b.errorf(CodeScope, x, "optimizations= must be a list literal such as [pl.split(pl.SplitMode.UP_DOWN)]")
		return false
	}
	seen := map[string]bool{}
	for _, e := range elems {
		call, path := b.dslCall(e)
		if path != "pl.split" && path != "pl.cross_core_slot" {
			d := b.errorf(CodeScope, e, "an entry of optimizations= must be pl.split(…) or pl.cross_core_slot(slot_num=N)")
			if b.symbol(e) == "pl.auto_chunk" || path == "pl.auto_chunk" {
				d.WithHint("pl.auto_chunk no longer exists: remove it, and write the tiling as two nested loops")
			}
			ok = false
			continue
		}
		if seen[path] {
			b.errorf(CodeScope, e, "duplicate entry %s in optimizations=", path)
			ok = false
			continue
		}
		seen[path] = true
		if path == "pl.split" {
			if len(call.Args) != 1 {
				b.errorf(CodeScope, e, "pl.split() takes one pl.SplitMode")
				ok = false
				continue
			}
			m, good := b.splitMode(call.Args[0])
			sc.Split, ok = m, ok && good
		}
		for _, k := range call.Keywords {
			if k.Name != "slot_num" {
				b.unknownKeyword(path, k, []string{"slot_num"})
				ok = false
				continue
			}
			v, good := b.expr(k.Value)
			if !good {
				ok = false
				continue
			}
			n, known := b.intValue(v)
			if !known || n < 1 {
				b.errorf(CodeScope, k.Value, "slot_num must be a positive compile-time integer")
				ok = false
				continue
			}
			sc.Attrs = append(sc.Attrs, ir.Attr{Key: "slot_num", Value: n})
		}
	}
	return ok
}

var splitModes = map[string]ir.SplitMode{"NONE": ir.SplitNone, "UP_DOWN": ir.SplitUpDown, "LEFT_RIGHT": ir.SplitLeftRight}

func (b *body) splitMode(x syntax.Expr) (ir.SplitMode, bool) {
	name, ok := b.enum(x, "SplitMode", []string{"NONE", "UP_DOWN", "LEFT_RIGHT"})
	return splitModes[name], ok
}

func (b *body) clusterScope(s *syntax.With, call *syntax.Call) {
	sc := &ir.Scope{Kind: ir.ClusterScope, Comments: b.take(), Pos: b.header(s)}
	ok := b.mode == Dump || b.noTarget(s, "pl.cluster()")
	l := b.launch("pl.cluster")
	if len(call.Args) > 0 {
		b.errorf(CodeScope, call.Args[0], "pl.cluster() takes no positional arguments")
		ok = false
	}
	for _, k := range call.Keywords {
		if k.Name != "name_hint" {
			if b.dumpKeyword(l, sc, k) {
				continue
			}
			b.unknownKeyword("pl.cluster", k, []string{"name_hint"})
			ok = false
			continue
		}
		ok = b.nameHint(k.Value, sc) && ok
	}
	ok = l.finish() && ok
	sc.Launch = l.out
	if ok && b.inside(ir.ClusterScope) != nil {
		b.errorf(CodeScope, s.Items[0].Context, "pl.cluster() may not be nested inside another pl.cluster()")
		ok = false
	}
	if !ok {
		b.recoverWith(s)
		return
	}
	sc.Body = b.scoped(&with{name: "pl.cluster", kind: ir.ClusterScope}, s, b.host, func() { b.stmts(s.Body) })
	b.finishScope(s, sc, nil)
}

func (b *body) runtimeScope(s *syntax.With, call *syntax.Call, path string, last bool) {
	sc := &ir.Scope{Kind: ir.RuntimeScope, Manual: path == "pl.manual_scope", Comments: b.take(), Pos: b.header(s)}
	ok := b.mode == Dump || b.noTarget(s, path+"()")
	l := b.launch(path)
	if len(call.Args) > 0 || (sc.Manual && len(call.Keywords) > 0) {
		b.errorf(CodeScope, call, "%s() takes no positional arguments", path)
		ok = false
	}
	if !sc.Manual {
		for _, k := range call.Keywords {
			if k.Name != "mode" {
				if b.dumpKeyword(l, sc, k) {
					continue
				}
				b.unknownKeyword(path, k, []string{"mode"})
				ok = false
				continue
			}
			m, good := b.enum(k.Value, "ScopeMode", []string{"AUTO", "MANUAL"})
			sc.Manual, ok = m == "MANUAL", ok && good
		}
	}
	if v, is := sc.Attrs.Get("compiler_owned"); is && v == true {
		sc.Owner = ir.CompilerScope
		sc.Attrs = slices.DeleteFunc(sc.Attrs, func(a ir.Attr) bool { return a.Key == "compiler_owned" })
	}
	ok = l.finish() && ok
	sc.Launch = l.out
	outer := b.inside(ir.RuntimeScope)
	switch {
	case !ok || b.mode == Dump:
	case !b.host:
		b.errorf(CodeScope, s.Items[0].Context, "%s() belongs in orchestration code, not inside a kernel", path)
		ok = false
	case !sc.Manual && outer != nil && outer.manual:
		b.errorf(CodeScope, s.Items[0].Context, "an AUTO scope may not be nested inside a manual scope").
			WithHint("the runtime does no dependency tracking inside a manual scope; close it first, or use pl.manual_scope()")
		ok = false
	case !sc.Manual && b.fn.decl.autoScope:
		b.errorf(CodeScope, s.Items[0].Context, "pl.scope() needs auto_scope=False on the function '%s': else the compiler places AUTO scopes itself", b.fn.name).
			WithHint("add auto_scope=False to the decorator, or remove the scope")
		ok = false
	}
	if !ok {
		host := b.host
		b.block(inScope, s, func() { b.stmts(s.Body) })
		b.host = host
		return
	}
	// A runtime scope that ends a loop body or a branch is transparent for its yield.
	y := b.yield
	if !last {
		b.yield = nil
	}
	sc.Body = b.scoped(&with{name: path, kind: ir.RuntimeScope, manual: sc.Manual || (outer != nil && outer.manual)}, s, b.host, func() { b.stmts(s.Body) })
	b.yield = y
	b.finishScope(s, sc, nil)
}

// tensorNames reads a list of bare names of tensors.
func (b *body) tensorNames(x syntax.Expr, keyword string) ([]ir.Expr, bool) {
	elems, ok := listElems(x)
	if !ok {
		b.errorf(CodeKeyword, x, "%s= must be a list literal of tensor names", keyword)
		return nil, false
	}
	var out []ir.Expr
	for _, e := range elems {
		n, isName := e.(*syntax.Name)
		if !isName {
			b.errorf(CodeKeyword, e, "an entry of %s= must be a bare variable name", keyword)
			ok = false
			continue
		}
		v, good := b.read(n)
		if !good {
			ok = false
			continue
		}
		if vr, isVar := v.(*ir.Var); isVar && ir.IsTensor(vr.Typ) {
			out = append(out, vr)
			continue
		}
		b.errorf(CodeKeyword, e, "%s= entry '%s' is not a tensor: it is %s", keyword, n.ID, typeText(v.Type()))
		ok = false
	}
	return out, ok
}
