package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// maxDepth bounds the nesting of statements and of expressions.
const maxDepth = 1000

// stmts reads a list of statements into the current block.
func (b *body) stmts(list []syntax.Stmt) {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > maxDepth {
		if len(list) > 0 {
			b.errorf(CodeNesting, list[0], "statements are nested too deep")
		}
		return
	}
	for i, s := range list {
		b.stmt(s, i == len(list)-1)
	}
	b.strings = nil
}

// stmt reads one statement; last tells that nothing follows it in its block.
func (b *body) stmt(s syntax.Stmt, last bool) {
	b.pending = append(b.strings, b.commentsAbove(s)...)
	b.strings = nil
	b.current = s
	switch s := s.(type) {
	case *syntax.Assign:
		if len(s.Targets) != 1 {
			b.unsupported(s, "Assign with several targets", "write one assignment a line")
			b.poison(targetNames(&syntax.Tuple{Elems: s.Targets}))
			return
		}
		b.assignment(s, s.Targets[0], nil, s.Value, last)
	case *syntax.AnnAssign:
		if s.Value == nil {
			b.errorf(CodeStatement, s, "Unsupported statement type: a declaration without a value").WithHint("assign a value, or remove the line")
			b.poison(targetNames(s.Target))
			return
		}
		b.assignment(s, s.Target, s.Annotation, s.Value, last)
	case *syntax.ExprStmt:
		b.exprStmt(s, last)
	case *syntax.If:
		b.ifStmt(s)
	case *syntax.For:
		b.forStmt(s)
	case *syntax.While:
		b.whileStmt(s)
	case *syntax.With:
		b.withStmt(s, last)
	case *syntax.Return:
		b.returnStmt(s)
	case *syntax.Simple:
		b.simple(s)
	case *syntax.AugAssign:
		target := "x"
		if n, ok := s.Target.(*syntax.Name); ok {
			target = n.ID
		}
		b.unsupported(s, "AugAssign", "write `%s = %s %s …`", target, target, strings.TrimSuffix(s.Op, "="))
	case *syntax.Delete:
		b.unsupported(s, "Delete", "remove the line; a name that is not used costs nothing")
	case *syntax.Assert:
		b.unsupported(s, "Assert", "use pl.static_assert(condition, \"message\") for what is known at compile time")
	case *syntax.Raise:
		b.unsupported(s, "Raise", "use pl.static_assert(condition, \"message\") for what is known at compile time")
	case *syntax.Try:
		b.unsupported(s, "Try", "a DSL body is never executed by Python, so nothing can be caught")
	case *syntax.FunctionDef:
		b.unsupported(s, "FunctionDef", "define functions outside of DSL bodies; decorate a macro with @pl.inline")
		b.poison([]string{s.Name})
	case *syntax.ClassDef:
		b.unsupported(s, "ClassDef", "define classes outside of DSL bodies")
		b.poison([]string{s.Name})
	case *syntax.Import, *syntax.ImportFrom:
		b.unsupported(s, "Import", "import at the top of the file")
	case *syntax.Scoped:
		name := strings.ToUpper(s.Keyword[:1]) + s.Keyword[1:]
		b.unsupported(s, name, "a DSL body can read module-level constants, but not change them")
	case *syntax.Match:
		b.unsupported(s, "Match", "use if and elif")
	default:
		b.unsupported(s, fmt.Sprintf("%T", s), "")
	}
}

func (b *body) unsupported(n syntax.Node, kind, hint string, args ...any) {
	d := b.errorf(CodeStatement, n, "Unsupported statement type: %s", kind)
	if hint != "" {
		d.WithHint(hint, args...)
	}
}

// targetNames lists the names that an assignment target binds.
func targetNames(t syntax.Expr) []string {
	switch t := t.(type) {
	case *syntax.Name:
		return []string{t.ID}
	case *syntax.Tuple:
		var out []string
		for _, e := range t.Elems {
			out = append(out, targetNames(e)...)
		}
		return out
	case *syntax.List:
		var out []string
		for _, e := range t.Elems {
			out = append(out, targetNames(e)...)
		}
		return out
	case *syntax.Starred:
		return targetNames(t.X)
	}
	return nil
}

// take gives the comments that stand above the current statement.
func (b *body) take() []string {
	c := b.pending
	b.pending = nil
	return c
}

// commentsAbove collects the # lines directly before a statement, without those at the end of a block that closes there. Comments are consumed in source
// order.
func (b *body) commentsAbove(s syntax.Stmt) []string {
	line, col := s.At().Start.Line, s.At().Start.Col
	var text []string
	for len(b.comments) > 0 && b.comments[0].Start.Line < line {
		c := b.comments[0]
		b.comments = b.comments[1:]
		if !c.Own || c.Start.Col > col {
			continue
		}
		text = append(text, c.Text)
	}
	return text
}

func (b *body) assignment(s syntax.Stmt, target, annotation syntax.Expr, value syntax.Expr, last bool) {
	switch t := target.(type) {
	case *syntax.Name:
		if call, path := b.dslCall(value); path != "" {
			switch path {
			case "pl.yield_":
				b.yieldStmt(s, []syntax.Expr{t}, annotation, call, last)
				return
			case "pl.submit", "pl.spmd_submit":
				b.submitWhole(t, annotation, call, path)
				return
			case "pl.MemRef": // a declaration for the types below it
				if v, ok := b.eval(call); ok {
					b.env = b.env.With(t.ID, v)
				} else {
					b.poison([]string{t.ID})
				}
				return
			}
		}
		if b.macroAssign(s, []syntax.Expr{t}, annotation, value) {
			return
		}
		b.assignName(t, annotation, value)
	case *syntax.Tuple:
		b.unpack(s, t.Elems, annotation, value, last)
	case *syntax.List:
		b.unpack(s, t.Elems, annotation, value, last)
	case *syntax.Subscript:
		if annotation != nil {
			b.errorf(CodeAnnotation, annotation, "a subscript target takes no annotation")
			return
		}
		b.subscriptWrite(t, value)
	case *syntax.Attribute:
		b.errorf(CodeStatement, t, "Unsupported statement type: assignment to an attribute").WithHint("assign to a plain name")
	default:
		b.errorf(CodeStatement, target, "Unsupported assignment target").WithHint("assign to a plain name")
	}
}

// assignName reads `name = value` and `name: T = value`.
func (b *body) assignName(t *syntax.Name, annotation, value syntax.Expr) {
	if c, ok := value.(*syntax.Constant); ok && c.Kind == syntax.Str {
		b.errorf(CodeExpression, value, "a bare string is not a value of the DSL")
		b.poison([]string{t.ID})
		return
	}
	if annotation == nil && b.aliasAssign(t, value) {
		return
	}
	var want ir.Type
	if annotation != nil {
		var ok bool
		if want, ok = b.annotation(annotation); !ok {
			// The value may still have mistakes of its own.
			b.expr(value)
			b.poison([]string{t.ID})
			return
		}
	}
	comments := b.take()
	e, ok := b.windowBuffer(t, value)
	if !ok {
		b.poison([]string{t.ID})
		return
	}
	if c, isCall := e.(*ir.Call); isCall && b.mode != Dump && !c.Submit {
		if tt, isTuple := c.Typ.(*ir.TupleType); isTuple && len(tt.Elems) == 0 {
			d := b.errorf(CodeFunction, value, "'%s' returns nothing that could be assigned to '%s'", c.Callee, t.ID)
			if f := b.u.byFunc[c.Callee]; f != nil {
				d.WithRelated(f.span(), "it has no return statement")
			}
			d.WithHint("return the outputs from '%s', or call it as a statement of its own", c.Callee)
			b.poison([]string{t.ID})
			return
		}
	}
	if want != nil && b.mode == Dump {
		// The annotation of a dump is the type, whatever the value says.
		switch e.(type) {
		case *ir.OpCall, *ir.Call: // only these hold a type of their own
			e = retype(e, want)
		}
		b.storeAs(t, e, want, b.spanOf(t, value), comments)
		return
	}
	if want != nil {
		if e, ok = b.annotate(e, want, annotation); !ok {
			b.poison([]string{t.ID})
			return
		}
		if s, isScalar := want.(*ir.ScalarType); isScalar && s.DType == ir.INT64 {
			b.storeAs(t, e, merged(e.Type(), want), b.spanOf(t, value), comments) // INDEX and INT64 need no conversion
			return
		}
	}
	b.store(t, e, b.spanOf(t, value), comments)
}

// windowBuffer reads a value; the window buffer that pld.alloc_window_buffer makes gets its name from the variable.
func (b *body) windowBuffer(t *syntax.Name, value syntax.Expr) (ir.Expr, bool) {
	call, path := b.dslCall(value)
	if path != "pld.alloc_window_buffer" && path != "pld.tensor.alloc_window_buffer" {
		return b.wholeValue(value)
	}
	args, kwargs, ok := b.opArgs(call, path)
	if !ok {
		return nil, false
	}
	if _, named := kwargs.Get("name"); !named {
		if b.mode != Dump && b.u.reported["window "+t.ID] {
			b.errorf(CodeFunction, t, "a second window buffer named '%s'", t.ID).WithHint("peers find a window buffer by its name; use another one")
			return nil, false
		}
		b.u.reported["window "+t.ID] = true
		kwargs = append(kwargs, ir.Kwarg{Name: "name", Value: t.ID})
	}
	return b.finishOp(call, path, b.windowSize(args, &kwargs, call), kwargs)
}

// windowSize turns the shape and dtype of a window buffer into its size in bytes.
func (b *body) windowSize(args []ir.Expr, kwargs *ir.Kwargs, call syntax.Node) []ir.Expr {
	v, given := kwargs.Get("dtype")
	sym, ok := v.(*ops.Symbol)
	if !given || !ok || len(args) != 1 {
		return args
	}
	d, isDType := sym.Value.(ir.DType)
	shape, isShape := args[0].(*ir.MakeTuple)
	if !isDType || !isShape {
		return args
	}
	var size ir.Expr = &ir.ConstInt{Value: int64(d.Bytes()), DType: ir.INDEX, Pos: b.at(call)}
	for _, e := range shape.Elems {
		if t, isScalar := e.Type().(*ir.ScalarType); !isScalar || !t.DType.IsInt() {
			return args
		}
		size = ir.Simplify(&ir.Binary{Op: ir.Mul, X: e, Y: size, DType: ir.INDEX, Pos: b.at(call)})
	}
	*kwargs = slices.DeleteFunc(slices.Clone(*kwargs), func(k ir.Kwarg) bool { return k.Name == "dtype" })
	return []ir.Expr{size}
}

// store emits `name = e`; at is the place of the statement.
func (b *body) store(t *syntax.Name, e ir.Expr, at diag.Span, comments []string) (*ir.Var, bool) {
	return b.storeAs(t, e, e.Type(), at, comments)
}

// storeAs is store for a variable of a given type.
func (b *body) storeAs(t *syntax.Name, e ir.Expr, typ ir.Type, at diag.Span, comments []string) (*ir.Var, bool) {
	v, ok := b.assign(t.ID, typ, b.at(t))
	if !ok {
		return nil, false
	}
	if v.Typ != typ && !isUnknown(typ) && b.mode != Dump && !b.sameTypes(v.Typ, typ) {
		e = retype(e, v.Typ) // another valid region
	}
	if n, ok := ir.IntValue(e); ok && b.sites[t.ID] == 1 {
		if old := b.names.lookup(t.ID); old != nil {
			old.value = &n
		}
	}
	b.emit(&ir.Assign{Var: v, Value: e, Comments: comments, Pos: at})
	return v, true
}

// unpack reads `a, b = value`.
func (b *body) unpack(s syntax.Stmt, targets []syntax.Expr, annotation, value syntax.Expr, last bool) {
	if annotation != nil {
		b.errorf(CodeAnnotation, annotation, "only a single name can be annotated")
		return
	}
	call, path := b.dslCall(value)
	switch path {
	case "pl.yield_":
		b.yieldStmt(s, targets, nil, call, last)
		return
	case "pl.submit", "pl.spmd_submit":
		b.submitUnpack(targets, call, path)
		return
	}
	names := make([]*syntax.Name, len(targets))
	for i, t := range targets {
		n, ok := t.(*syntax.Name)
		if !ok {
			b.errorf(CodeUnpack, t, "only plain names can be unpacked into").WithHint("unpack into names first, then use them")
			b.poison(targetNames(&syntax.Tuple{Elems: targets}))
			return
		}
		names[i] = n
	}
	if b.macroAssign(s, targets, nil, value) {
		return
	}
	fail := func() {
		for _, n := range names {
			b.poison([]string{n.ID})
		}
	}
	if b.aliasUnpack(names, value) {
		return
	}
	if t, ok := value.(*syntax.Tuple); ok {
		b.unpackParallel(s, names, t)
		return
	}
	comments := b.take()
	e, ok := b.wholeValue(value)
	if !ok {
		fail()
		return
	}
	if mt, ok := e.(*ir.MakeTuple); ok && len(mt.Elems) == len(names) {
		b.storeAll(names, mt.Elems, b.at(s), comments)
		return
	}
	if isUnknown(e.Type()) {
		types := make([]ir.Type, len(names))
		for i := range types {
			types[i] = ir.Unknown
		}
		b.unpackValue(names, e, types, "_tuple_tmp", b.at(s), comments)
		return
	}
	tt, ok := e.Type().(*ir.TupleType)
	if !ok {
		b.errorf(CodeUnpack, value, "cannot unpack %s into %d names: it is one value", typeText(e.Type()), len(names))
		fail()
		return
	}
	if len(tt.Elems) != len(names) {
		b.errorf(CodeUnpack, value, "cannot unpack %s into %s", diag.Plural(len(tt.Elems), "value"), diag.Plural(len(names), "name"))
		fail()
		return
	}
	b.unpackValue(names, e, tt.Elems, "_tuple_tmp", b.at(s), comments)
}

// unpackValue emits `tmp = e` and one element read a name.
func (b *body) unpackValue(names []*syntax.Name, e ir.Expr, types []ir.Type, hint string, at diag.Span, comments []string) {
	tmp := b.temp(hint, e.Type(), at)
	b.emit(&ir.Assign{Var: tmp, Value: e, Comments: comments, Pos: at})
	for i, n := range names {
		b.element(n, tmp, i, types[i])
	}
}

// element emits `name = tmp[i]`.
func (b *body) element(n *syntax.Name, tmp *ir.Var, i int, t ir.Type) *ir.Var {
	at := b.at(n)
	v, ok := b.assign(n.ID, t, at)
	if !ok {
		return nil
	}
	b.emit(&ir.Assign{Var: v, Value: &ir.TupleGet{X: tmp, Index: i, Pos: at}, Pos: at})
	return v
}

// unpackParallel reads `a, b = x, y`: all values are taken before any name changes.
func (b *body) unpackParallel(s syntax.Stmt, names []*syntax.Name, t *syntax.Tuple) {
	comments := b.take()
	fail := func() {
		for _, n := range names {
			b.poison([]string{n.ID})
		}
	}
	if len(t.Elems) != len(names) {
		b.errorf(CodeUnpack, t, "cannot unpack %s into %s", diag.Plural(len(t.Elems), "value"), diag.Plural(len(names), "name"))
		fail()
		return
	}
	values := make([]ir.Expr, len(names))
	all := true
	for i, x := range t.Elems {
		e, ok := b.expr(x)
		all = all && ok
		values[i] = e
	}
	if !all {
		fail()
		return
	}
	b.storeAll(names, values, b.at(s), comments)
}

// storeAll assigns all values at once, through a tuple.
func (b *body) storeAll(names []*syntax.Name, values []ir.Expr, at diag.Span, comments []string) {
	if len(values) == 1 {
		b.store(names[0], values[0], at, comments)
		return
	}
	t := &ir.MakeTuple{Elems: values, Pos: at}
	b.unpackValue(names, t, t.Type().(*ir.TupleType).Elems, "_tuple_tmp", at, comments)
}

func (b *body) exprStmt(s *syntax.ExprStmt, last bool) {
	switch x := s.X.(type) {
	case *syntax.Constant:
		if x.Kind == syntax.Ellipsis {
			return
		}
		if x.Kind == syntax.Str { // a string on its own is a comment
			b.strings = append(b.take(), stringLines(x.Str)...)
			return
		}
		b.u.warnf(CodeUnused, b.at(x), "this value is not used")
		return
	case *syntax.Call:
		call, path := b.dslCall(x)
		switch path {
		case "pl.yield_":
			b.yieldStmt(s, nil, nil, call, last)
			return
		case "pl.static_assert":
			b.staticAssert(call)
			return
		case "pl.static_print":
			b.staticPrint(call)
			return
		case "pl.dump_tag":
			b.dumpTag(call)
			return
		case "pl.func_attr":
			b.errorf(CodeDecorator, s, "pl.func_attr must appear before every other statement").WithHint("move it right below the docstring")
			return
		case "pl.cond":
			b.errorf(CodeLoop, s, "pl.cond must be the first statement of a `for … in pl.while_(…)` loop")
			return
		case "pl.submit", "pl.spmd_submit":
			comments := b.take()
			if e, ok := b.submit(call, path); ok {
				b.emit(&ir.Eval{X: e, Comments: comments, Pos: b.at(s)})
			}
			return
		}
		if b.bindDynamic(x) {
			return
		}
		if b.macroAssign(s, nil, nil, x) {
			return
		}
		comments := b.take()
		if e, ok := b.wholeValue(x); ok {
			b.emit(&ir.Eval{X: e, Comments: comments, Pos: b.at(s)})
		}
		return
	}
	if _, ok := b.expr(s.X); ok {
		b.u.warnf(CodeUnused, b.at(s), "this value is not used").WithHint("assign it to a name, or remove the line")
	}
}

func (b *body) returnStmt(s *syntax.Return) {
	comments := b.take()
	r := &ir.Return{Comments: comments, Pos: b.at(s)}
	if s.Value == nil {
		b.emit(r)
		if b.returned == nil {
			b.returned = r
		}
		return
	}
	elems := []syntax.Expr{s.Value}
	if t, ok := s.Value.(*syntax.Tuple); ok {
		elems = t.Elems
	}
	all := true
	for _, x := range elems {
		b.whole = len(elems) == 1
		e, ok := b.expr(x)
		if !ok {
			all = false
			continue
		}
		r.Values = append(r.Values, e)
	}
	if !all {
		b.fn.broken = b.fn.broken || !b.fn.annotated
		return
	}
	for i, v := range r.Values {
		if _, isArray := v.Type().(*ir.ArrayType); isArray && b.mode != Dump && b.fn.decl.typ != ir.Inline && i < len(elems) {
			b.errorf(CodeArgType, elems[i], "an array cannot be returned: arrays cannot leave the function that makes them").WithHint("return a tensor or an element")
			b.fn.broken = b.fn.broken || !b.fn.annotated
			return
		}
	}
	if b.fn.annotated && !b.fn.broken && b.mode != Dump {
		b.checkReturn(s, r)
	}
	if b.returned == nil {
		b.returned = r
	}
	b.emit(r)
}

// checkReturn compares a return with the annotation of the function.
func (b *body) checkReturn(s *syntax.Return, r *ir.Return) {
	want := b.fn.out.Returns
	if len(r.Values) == 1 && len(want) > 1 {
		if t, ok := r.Values[0].Type().(*ir.TupleType); ok && len(t.Elems) == len(want) {
			return // the tuple of a call is passed on
		}
	}
	if len(want) == 1 && len(r.Values) > 1 {
		if t, ok := want[0].(*ir.TupleType); ok && len(t.Elems) == len(r.Values) {
			return
		}
	}
	if len(r.Values) != len(want) {
		b.errorf(CodeAnnotated, s, "%s returns %s, but is annotated with %d", b.fn.name, diag.Plural(len(r.Values), "value"), len(want)).
			WithHint("several results are annotated as tuple[T1, T2, …]")
		return
	}
	elems := []syntax.Expr{s.Value}
	if t, ok := s.Value.(*syntax.Tuple); ok {
		elems = t.Elems
	}
	for i, v := range r.Values {
		if d := b.mismatch(v.Type(), want[i]); d != "" {
			b.errorf(CodeAnnotated, elems[i], "returned value does not match the annotation of %s: %s", b.fn.name, d).
				WithRelated(b.at(b.fn.def.Returns), "annotated here")
		}
	}
}

func (b *body) simple(s *syntax.Simple) {
	if s.Keyword == "pass" {
		return
	}
	if len(b.loops) == 0 {
		b.errorf(CodeBranch, s, "'%s' outside of a loop", s.Keyword)
		return
	}
	l := b.loops[len(b.loops)-1]
	switch {
	case !l.breaks:
		b.errorf(CodeBranch, s, "'%s' not supported inside %s loop", s.Keyword, l.name).
			WithHint("the trips of this loop do not run one after the other; use pl.range if they have to")
	case b.host && b.fn.decl.typ == ir.Orchestration && b.mode != Dump: // behaviour E-27; other functions that run on the host are lowered
		b.errorf(CodeBranch, s, "'%s' is not supported in an orchestration loop", s.Keyword).
			WithHint("guard the rest of the body with an if, or move the loop into a kernel")
	default:
		b.emit(&ir.Branch{Continue: s.Keyword == "continue", Pos: b.at(s)})
	}
}

// spanOf is the place of several nodes together.
func (b *body) spanOf(first, last syntax.Node) diag.Span { return b.at(first).To(b.at(last)) }
