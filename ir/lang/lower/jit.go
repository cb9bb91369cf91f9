package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// What only @pl.jit functions have: x.shape, dynamic axes bound in the body, calls with keywords and defaults (spec: dsl-ir 1.9).

// boundDynamic collects `x.bind_dynamic(axis, M)` of a body: the axes of parameters that are dynamic although their annotation may say otherwise.
func (b *body) boundDynamic(list []syntax.Stmt) map[string]map[int]ir.Expr {
	if b.mode != JIT {
		return nil
	}
	out := map[string]map[int]ir.Expr{}
	locals := map[string]string{} // M = pl.dynamic("M") in the body
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Assign:
			if call, path := b.dslCall(s.Value); path == "pl.dynamic" && len(s.Targets) == 1 {
				if n, ok := s.Targets[0].(*syntax.Name); ok && len(call.Args) == 1 {
					if name, ok := b.staticString(call.Args[0]); ok {
						locals[n.ID] = name
					}
				}
			}
		case *syntax.ExprStmt:
			x, axis, sym := bindDynamicArgs(s.X)
			if x == "" {
				continue
			}
			c, ok := axis.(*syntax.Constant)
			n, isName := sym.(*syntax.Name)
			if !ok || c.Kind != syntax.Int || !isName {
				continue
			}
			e, good := b.expr(c)
			if !good {
				continue
			}
			i, _ := ir.IntValue(e)
			var v ir.Expr
			if name, local := locals[n.ID]; local {
				v = b.u.symbolNamed(name, b.at(n))
			} else if found, ok := b.env.Lookup(n.ID); ok {
				if d, isDyn := found.(*eval.DynVar); isDyn {
					v = b.u.symbolNamed(d.Name, d.Span)
				}
			}
			if v != nil && i >= 0 {
				if out[x] == nil {
					out[x] = map[int]ir.Expr{}
				}
				out[x][int(i)] = v
			}
		}
	}
	return out
}

// bindDynamicArgs takes `x.bind_dynamic(axis, M)` apart, with or without keywords.
func bindDynamicArgs(e syntax.Expr) (x string, axis, sym syntax.Expr) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return "", nil, nil
	}
	a, ok := call.Fun.(*syntax.Attribute)
	if !ok || a.Name != "bind_dynamic" {
		return "", nil, nil
	}
	n, ok := a.X.(*syntax.Name)
	if !ok {
		return "", nil, nil
	}
	args := slices.Clone(call.Args)
	for len(args) < 2 {
		args = append(args, nil)
	}
	axis, sym = args[0], args[1]
	for _, k := range call.Keywords {
		switch k.Name {
		case "dim", "axis":
			axis = k.Value
		case "var":
			sym = k.Value
		}
	}
	if axis == nil || sym == nil {
		return "", nil, nil
	}
	return n.ID, axis, sym
}

// bindDynamic recognises x.bind_dynamic(…), which signature already used; it emits nothing.
func (b *body) bindDynamic(call *syntax.Call) bool {
	a, ok := call.Fun.(*syntax.Attribute)
	if !ok || a.Name != "bind_dynamic" {
		return false
	}
	x, axis, sym := bindDynamicArgs(call)
	if b.mode != JIT || x == "" {
		b.errorf(CodeJIT, call, "bind_dynamic() takes an axis and a pl.dynamic symbol, in a @pl.jit function").WithHint("write x.bind_dynamic(0, M)")
		return true
	}
	if old := b.names.lookup(x); old == nil || old.expr == nil || !ir.IsTensor(old.expr.Type()) {
		b.errorf(CodeJIT, a.X, "bind_dynamic() is for tensor parameters")
		return true
	}
	c, isInt := axis.(*syntax.Constant)
	if !isInt || c.Kind != syntax.Int {
		b.errorf(CodeJIT, axis, "the axis of bind_dynamic() must be an integer literal")
		return true
	}
	if e, ok := b.expr(sym); ok {
		if v, isVar := e.(*ir.Var); (!isVar || !v.Dyn) && !isDimRead(e) {
			b.errorf(CodeJIT, sym, "bind_dynamic() needs a pl.dynamic symbol")
		}
	}
	return true
}

func isDimRead(e ir.Expr) bool {
	c, ok := e.(*ir.OpCall)
	return ok && c.Op == "tensor.dim"
}

// aliasAssign handles assignments that give a name to something the compiler already knows: no statement is emitted for them. A name that is
// assigned more than once is an ordinary variable.
func (b *body) aliasAssign(t *syntax.Name, value syntax.Expr) bool {
	if b.mode == Dump || t.ID == "_" {
		return false
	}
	if call, path := b.dslCall(value); path == "pl.dynamic" {
		name := ""
		if len(call.Args) == 1 {
			name, _ = b.staticString(call.Args[0])
		}
		if name == "" {
			b.errorf(CodeArguments, call, "pl.dynamic() takes the name of the symbol as a string literal")
			b.poison([]string{t.ID})
			return true
		}
		b.alias(t.ID, b.u.symbolNamed(name, b.at(t)), b.at(t))
		return true
	} else if (path == "pl.tensor.dim" || path == "pl.dim") && b.sites[t.ID] == 1 && b.fn.decl.typ == ir.Orchestration {
		e, ok := b.tensorDim(call, path)
		if !ok {
			b.poison([]string{t.ID})
			return true
		}
		if v, isVar := e.(*ir.Var); isVar && v.Dyn {
			b.alias(t.ID, v, b.at(t))
			return true
		}
		b.store(t, e, b.spanOf(t, value), b.take())
		return true
	}
	if b.mode != JIT {
		return false
	}
	if a, ok := value.(*syntax.Attribute); ok && a.Name == "dtype" {
		if d, ok := b.dtypeOf(value); ok && b.names.lookup(t.ID) == nil {
			b.env = b.env.With(t.ID, &eval.Symbol{Path: langPath + "." + d.Name()})
			return true
		}
	}
	isShape := false
	switch v := value.(type) {
	case *syntax.Attribute:
		isShape = v.Name == "shape"
	case *syntax.Subscript:
		a, ok := v.X.(*syntax.Attribute)
		isShape = ok && a.Name == "shape"
	}
	if !isShape || b.sites[t.ID] != 1 {
		return false
	}
	e, ok := b.expr(value)
	if !ok {
		b.poison([]string{t.ID})
		return true
	}
	if !b.isKnown(e) {
		b.store(t, e, b.spanOf(t, value), b.take())
		return true
	}
	b.alias(t.ID, e, b.at(t))
	return true
}

// isKnown reports an extent that needs no code: a literal, a dynamic symbol, or a list of them.
func (b *body) isKnown(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.ConstInt:
		return true
	case *ir.Var:
		return e.Dyn
	case *ir.MakeTuple:
		for _, x := range e.Elems {
			if !b.isKnown(x) {
				return false
			}
		}
		return true
	}
	return false
}

// aliasUnpack reads `M, N = x.shape` in jit functions.
func (b *body) aliasUnpack(names []*syntax.Name, value syntax.Expr) bool {
	a, ok := value.(*syntax.Attribute)
	if !ok || a.Name != "shape" || b.mode != JIT {
		return false
	}
	e, good := b.expr(value)
	t, isTuple := e.(*ir.MakeTuple)
	if !good || !isTuple {
		for _, n := range names {
			b.poison([]string{n.ID})
		}
		return true
	}
	if len(t.Elems) != len(names) {
		b.errorf(CodeUnpack, value, "cannot unpack %s into %s", diag.Plural(len(t.Elems), "extent"), diag.Plural(len(names), "name"))
		for _, n := range names {
			b.poison([]string{n.ID})
		}
		return true
	}
	comments := b.take()
	for i, n := range names {
		if n.ID != "_" && b.sites[n.ID] == 1 && b.isKnown(t.Elems[i]) {
			b.alias(n.ID, t.Elems[i], b.at(n))
			continue
		}
		if n.ID != "_" {
			b.store(n, t.Elems[i], b.spanOf(n, value), comments)
			comments = nil
		}
	}
	return true
}

// runtimeSymbol is the value of a dynamic symbol. In a jit function that is no entry the symbol is only a name in types; its value is read from the parameter that
// declares it.
func (b *body) runtimeSymbol(v *ir.Var, at diag.Span) ir.Expr {
	if b.mode != JIT || b.inType > 0 || b.fn.decl.typ == ir.Orchestration || b.fn.out == nil {
		return v
	}
	for _, p := range b.fn.out.Params {
		t, ok := p.Var.Typ.(*ir.TensorType)
		if !ok {
			continue
		}
		for i, d := range t.Shape {
			if d == ir.Expr(v) {
				axis := &ir.ConstInt{Value: int64(i), DType: ir.INDEX, Pos: at}
				if c, dg := b.u.opt.Ops.Call(at, "tensor.dim", []ir.Expr{p.Var, axis}, nil); dg == nil {
					b.readsExtent = true
					return c
				}
			}
		}
	}
	return v
}

// fillArgs brings the arguments of a call of a jit function into the order of its parameters and adds defaults.
func (b *body) fillArgs(x *syntax.Call, dsl *eval.DSL, args []ir.Expr, named map[string]ir.Expr, submit bool) ([]ir.Expr, bool) {
	all := params(dsl.Func, false)
	if len(args) > len(all) {
		b.errorf(CodeArguments, x, "'%s' expects %d argument(s), got %d", dsl.Name, len(all), len(args)).WithRelated(dsl.Func.NamePos.Span(dsl.File.Path), "defined here")
		return nil, false
	}
	for _, k := range x.Keywords {
		e, given := named[k.Name]
		if !given {
			continue
		}
		i := slices.IndexFunc(all, func(p syntax.Param) bool { return p.Name == k.Name })
		switch {
		case i < 0:
			var names []string
			for _, p := range all {
				names = append(names, p.Name)
			}
			b.unknownKeyword(dsl.Name, k, names)
			return nil, false
		case i < len(args) && args[i] != nil:
			b.u.errorf(CodeArguments, k.Span(b.file), "'%s' got multiple values for parameter '%s'", dsl.Name, k.Name)
			return nil, false
		}
		for len(args) <= i {
			args = append(args, nil)
		}
		args[i] = e
	}
	callee := &body{u: b.u, mode: JIT, file: dsl.File.Path, env: dsl.Env}
	callee.names.push()
	for i, p := range all {
		if i < len(args) && args[i] != nil {
			continue
		}
		if p.Default == nil || callee.symbol(p.Default) == "pl.RUNTIME" {
			if submit && i >= len(args) {
				return args, true // trailing outputs may be left out
			}
			b.errorf(CodeArguments, x, "'%s' expects %d argument(s), got %d: '%s' is missing", dsl.Name, len(all), len(args), p.Name).
				WithRelated(dsl.Func.NamePos.Span(dsl.File.Path), "defined here")
			return nil, false
		}
		e, ok := callee.expr(p.Default)
		if !ok {
			return nil, false
		}
		for len(args) <= i {
			args = append(args, nil)
		}
		args[i] = e
	}
	return args, true
}

// bindOpen gives the parameters of a jit function that are left open what the call passes.
func (b *body) bindOpen(dsl *eval.DSL, args []ir.Expr, call *syntax.Call) ([]bound, bool) {
	bare, consts, open := b.u.openParams(dsl)
	if !open {
		return nil, true
	}
	out := make([]bound, len(bare))
	extents := openExtents{u: b.u}
	all := params(dsl.Func, false)
	for i := range bare {
		if i >= len(args) {
			continue
		}
		switch {
		case bare[i]:
			if want := b.bareKind(dsl, &all[i]); want != "" && want != kindName(args[i].Type()) {
				b.errorf(CodeJIT, b.argumentOf(call, i, all[i].Name), "missing inferred tensor metadata for parameter '%s' of '%s': expected a %s, got a %s (%s)", all[i].Name, dsl.Name, want,
					kindName(args[i].Type()), typeText(args[i].Type())).WithRelated(all[i].Span(dsl.File.Path), "the parameter")
				return nil, false
			}
			out[i].typ = extents.of(args[i].Type(), all[i].Name)
		case consts[i]:
			switch c := args[i].(type) {
			case *ir.ConstInt, *ir.ConstFloat, *ir.ConstBool:
				out[i].value = c
			default:
				n, known := b.intValue(args[i])
				if !known {
					b.errorf(CodeConstant, b.argumentOf(call, i, all[i].Name), "argument %d of '%s' must be a compile-time constant", i+1, dsl.Name)
					return nil, false
				}
				out[i].value = &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: b.at(call)}
			}
		}
	}
	return out, true
}

// openExtents gives the parameters of one instance their types: those of the arguments, with a dynamic symbol for every extent that only the caller can
// compute. Equal extents of one call share their symbol.
type openExtents struct {
	u    *Unit
	done []openExtent
}

type openExtent struct{ extent, symbol ir.Expr }

func (o *openExtents) of(t ir.Type, param string) ir.Type {
	switch t := t.(type) {
	case *ir.TensorType:
		shape, changed := o.extents(t.Shape, param)
		c := *t
		c.Shape = shape
		if t.View != nil {
			view := *t.View
			valid, differ := o.extents(view.ValidShape, param)
			view.ValidShape, c.View, changed = valid, &view, changed || differ
		}
		if changed {
			return &c
		}
	case *ir.TileType:
		if t.View != nil {
			c, view := *t, *t.View
			valid, changed := o.extents(view.ValidShape, param)
			view.ValidShape, c.View = valid, &view
			if changed {
				return &c
			}
		}
	}
	return t
}

func (o *openExtents) extents(list []ir.Expr, param string) ([]ir.Expr, bool) {
	out, changed := list, false
	for i, e := range list {
		if everyoneKnows(e) {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = o.symbol(e, fmt.Sprintf("%s_dim%d", param, i))
	}
	return out, changed
}

func (o *openExtents) symbol(e ir.Expr, name string) ir.Expr {
	for _, d := range o.done {
		if ir.EqualExprs(d.extent, e) {
			return d.symbol
		}
	}
	v := o.u.symbolNamed(name, e.Span())
	o.done = append(o.done, openExtent{e, v})
	return v
}

// everyoneKnows reports an extent that means the same in every function: made of literals and dynamic symbols.
func everyoneKnows(e ir.Expr) bool {
	known := true
	ir.Walk(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Var:
			known = known && x.Dyn
		case *ir.OpCall, *ir.Call:
			known = false
		}
		return known
	})
	return known
}

// bareKind is the kind of value that the annotation of an open parameter names: "" when it takes any.
func (b *body) bareKind(dsl *eval.DSL, p *syntax.Param) string {
	callee := &body{u: b.u, mode: JIT, file: dsl.File.Path, env: dsl.Env}
	callee.names.push()
	x := p.Annotation
	if s, ok := x.(*syntax.Subscript); ok {
		x = s.Index
	}
	if x == nil {
		return ""
	}
	switch path := callee.symbol(x); path {
	case "pl.Tensor", "pl.Tile":
		return strings.TrimPrefix(path, "pl.")
	}
	return ""
}

// argumentOf is where a call gives parameter i, called name: by position, by name, or not at all (the whole call).
func (b *body) argumentOf(call *syntax.Call, i int, name string) syntax.Node {
	for _, k := range call.Keywords {
		if k.Name == name {
			return k.Value
		}
	}
	switch b.symbol(call.Fun) {
	case "pl.submit", "pl.spmd_submit":
		i++ // after the kernel
	}
	if i < len(call.Args) {
		return call.Args[i]
	}
	return call
}
