package lower

import (
	"maps"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// macroAssign expands a call of a @pl.inline function whose result goes to targets (none: an expression statement). It reports whether value is such a
// call. The body is read again at each call, with the parameters standing for the arguments; its local names stay visible after it.
func (b *body) macroAssign(s syntax.Stmt, targets []syntax.Expr, annotation, value syntax.Expr) bool {
	call, ok := value.(*syntax.Call)
	if !ok {
		return false
	}
	n, isName := root(call.Fun)
	if !isName || b.names.lookup(n.ID) != nil || b.symbol(call.Fun) != "" {
		return false
	}
	v, ok := b.tryEval(call.Fun)
	if !ok {
		return false
	}
	dsl, ok := v.(*eval.DSL)
	if !ok || dsl.Kind != eval.Inline || dsl.Func == nil {
		return false
	}
	at := b.at(s)
	values, ok := b.expandMacro(call, dsl, len(targets) > 0)
	if !ok {
		for _, t := range targets {
			b.poison(targetNames(t))
		}
		return true
	}
	if len(targets) == 0 {
		return true
	}
	names := make([]*syntax.Name, len(targets))
	for i, t := range targets {
		name, isName := t.(*syntax.Name)
		if !isName {
			b.errorf(CodeUnpack, t, "only plain names can be assigned here")
			return true
		}
		names[i] = name
	}
	switch {
	case len(names) == len(values):
		if annotation != nil && len(values) == 1 {
			want, ok := b.annotation(annotation)
			if ok {
				values[0], ok = b.annotate(values[0], want, annotation)
			}
			if !ok {
				b.poison([]string{names[0].ID})
				return true
			}
		}
		b.storeAll(names, values, at, b.take())
	case len(names) == 1:
		b.store(names[0], &ir.MakeTuple{Elems: values, Pos: at}, at, b.take())
	case len(values) == 1:
		if t, isTuple := values[0].Type().(*ir.TupleType); isTuple && len(t.Elems) == len(names) {
			b.unpackValue(names, values[0], t.Elems, "_tuple_tmp", at, b.take())
			return true
		}
		fallthrough
	default:
		b.errorf(CodeUnpack, call, "cannot unpack %s of '%s' into %s", diag.Plural(len(values), "value"), dsl.Name, diag.Plural(len(names), "name"))
		for _, n := range names {
			b.poison([]string{n.ID})
		}
	}
	return true
}

// macroValue expands a call of a @pl.inline function inside an expression: its statements come before the statement that holds the expression.
func (b *body) macroValue(call *syntax.Call, dsl *eval.DSL) (ir.Expr, bool) {
	if b.inWhile {
		b.errorf(CodeUnknownFunc, call, "the @pl.inline function '%s' cannot be called in the condition of a while loop, which is computed for every trip", dsl.Name).
			WithHint("carry the condition in a name: compute it before the loop and at the end of its body")
		return nil, false
	}
	locals := b.macroLocals(b.current)
	values, ok := b.expandMacro(call, dsl, true)
	if !ok {
		return nil, false
	}
	for i, v := range values {
		if b.readsAny(v, locals) { // which the next call in this statement assigns again
			t := b.temp(dsl.Name, v.Type(), b.at(call))
			b.emit(&ir.Assign{Var: t, Value: v, Comments: b.take(), Pos: b.at(call)})
			values[i] = t
		}
	}
	if len(values) == 1 {
		return values[0], true
	}
	return &ir.MakeTuple{Elems: values, Pos: b.at(call)}, true
}

// macroLocals are the names that the @pl.inline functions called in a statement assign; nil when it calls fewer than two.
func (b *body) macroLocals(s syntax.Stmt) map[string]bool {
	names, seen, n := map[string]bool{}, map[*eval.DSL]bool{}, 0
	syntax.Walk(s, func(x syntax.Node) bool {
		if x, nested := x.(syntax.Stmt); nested && x != s {
			return false
		}
		if c, ok := x.(*syntax.Call); ok {
			if name, isName := root(c.Fun); isName && b.names.lookup(name.ID) == nil && b.symbol(c.Fun) == "" {
				v, _ := b.tryEval(c.Fun)
				if dsl, ok := v.(*eval.DSL); ok && dsl.Kind == eval.Inline && dsl.Func != nil {
					n++
					assignedByMacro(dsl, names, seen)
				}
			}
		}
		return true
	})
	if n < 2 {
		return nil
	}
	return names
}

// assignedByMacro adds the names that an @pl.inline function and those that it calls assign, with true for those of parameters.
func assignedByMacro(dsl *eval.DSL, names map[string]bool, seen map[*eval.DSL]bool) {
	if seen[dsl] {
		return
	}
	seen[dsl] = true
	own := map[string]bool{}
	for _, p := range params(dsl.Func, false) {
		own[p.Name] = true
	}
	for name := range assigned(dsl.Func.Body) {
		if old, ok := names[name]; !ok || old {
			names[name] = own[name]
		}
	}
	for _, s := range dsl.Func.Body {
		syntax.Walk(s, func(x syntax.Node) bool {
			if c, ok := x.(*syntax.Call); ok {
				if v, d := dsl.Env.Eval(c.Fun); d == nil {
					if inner, ok := v.(*eval.DSL); ok && inner.Kind == eval.Inline && inner.Func != nil {
						assignedByMacro(inner, names, seen)
					}
				}
			}
			return true
		})
	}
}

// readsAny reports that an expression reads what one of these names means now.
func (b *body) readsAny(e ir.Expr, names map[string]bool) bool {
	found := false
	if len(names) == 0 {
		return false
	}
	ir.Walk(e, func(e ir.Expr) bool {
		if v, ok := e.(*ir.Var); ok && !found {
			for n := range names {
				if old := b.names.lookup(n); old != nil && old.expr == ir.Expr(v) {
					found = true
				}
			}
		}
		return !found
	})
	return found
}

// isPure reports an expression that may be computed wherever and as often as it is read.
func (b *body) isPure(e ir.Expr) bool {
	pure := true
	ir.Walk(e, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Call:
			pure = false
		case *ir.OpCall:
			spec := b.u.opt.Ops.Lookup(e.Op)
			pure = pure && spec != nil && spec.Pure
		}
		return pure
	})
	return pure
}

// expandMacro reads the body of a macro and gives the values that it returns.
func (b *body) expandMacro(call *syntax.Call, dsl *eval.DSL, used bool) ([]ir.Expr, bool) {
	name := dsl.Name
	if m := b.u.methods[name]; m != nil {
		b.errorf(CodeUnknownFunc, call, "external function '%s' conflicts with program function of the same name", name).WithRelated(m.span(), "the program's function")
		return nil, false
	}
	if slices.Contains(b.macros, dsl) {
		b.errorf(CodeRecursion, call, "the @pl.inline function '%s' calls itself", name)
		return nil, false
	}
	if len(call.Keywords) > 0 {
		b.u.errorf(CodeArguments, call.Keywords[0].Span(b.file), "the @pl.inline function '%s' takes positional arguments only", name)
		return nil, false
	}
	formal := params(dsl.Func, false)
	if len(call.Args) != len(formal) {
		b.errorf(CodeArguments, call, "'%s' expects %d argument(s), got %d", name, len(formal), len(call.Args)).WithRelated(dsl.Func.NamePos.Span(dsl.File.Path), "defined here")
		return nil, false
	}
	args := make([]ir.Expr, len(call.Args))
	inside := map[string]bool{}
	assignedByMacro(dsl, inside, map[*eval.DSL]bool{})
	locals := maps.Clone(inside)
	maps.DeleteFunc(locals, func(_ string, param bool) bool { return param }) // parameters have their own variables
	ok := true
	for i, a := range call.Args {
		e, good := b.expr(a)
		if !good {
			ok = false
			continue
		}
		_, isVar := e.(*ir.Var)
		if isVar && b.readsAny(e, locals) || !isVar && (b.readsAny(e, inside) || !b.isPure(e)) { // computed once, before the body
			v := b.temp(formal[i].Name, e.Type(), b.at(a))
			b.emit(&ir.Assign{Var: v, Value: e, Pos: b.at(a)})
			e = v
		}
		args[i] = e
	}
	if !ok {
		return nil, false
	}
	env, file, comments, pending, current := b.env, b.file, b.comments, b.pending, b.current
	sites := b.sites
	saved := make([]*binding, len(formal))
	for i, p := range formal {
		saved[i] = b.names.lookup(p.Name)
	}
	b.env, b.file, b.comments, b.sites = dsl.Env, dsl.File.Path, nil, assigned(dsl.Func.Body)
	for i, p := range formal {
		b.alias(p.Name, args[i], p.Range.Span(b.file))
	}
	b.macros = append(b.macros, dsl)

	_, list := docstring(dsl.Func.Body)
	var values []ir.Expr
	returned := false
	if n := len(list); n > 0 {
		if r, isReturn := list[n-1].(*syntax.Return); isReturn {
			list = list[:n-1]
			b.stmts(list)
			if r.Value != nil {
				returned = true
				elems := []syntax.Expr{r.Value}
				if t, isTuple := r.Value.(*syntax.Tuple); isTuple {
					elems = t.Elems
				}
				for _, x := range elems {
					e, good := b.expr(x)
					ok = ok && good
					values = append(values, e)
				}
			}
		} else {
			b.stmts(list)
		}
	}
	b.macros = b.macros[:len(b.macros)-1]
	b.env, b.file, b.comments, b.pending, b.sites, b.current = env, file, comments, pending, sites, current
	for i, p := range formal {
		b.names.restore(p.Name, saved[i])
	}
	if used && !returned {
		b.errorf(CodeUnknownFunc, call, "the @pl.inline function '%s' has no return value", name).WithRelated(dsl.Func.NamePos.Span(dsl.File.Path), "defined here")
		return nil, false
	}
	return values, ok
}
