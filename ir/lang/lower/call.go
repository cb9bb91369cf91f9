package lower

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/eval"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// calleeOf gives the method, or the DSL function, that x names.
func (b *body) calleeOf(x syntax.Expr) (*function, *eval.DSL, bool) {
	if a, ok := x.(*syntax.Attribute); ok {
		if n, ok := a.X.(*syntax.Name); ok && n.ID == "self" && b.names.lookup("self") == nil {
			f := b.u.methods[a.Name]
			if f == nil {
				d := b.u.errorf(CodeUnknownFunc, a.NamePos.Span(b.file), "Undefined function 'self.%s' in program '%s'", a.Name, b.u.prog.Name)
				if best := diag.Nearest(a.Name, b.u.functionNames()); best != "" {
					d.WithHint("did you mean 'self.%s'?", best)
				} else {
					d.WithHint("define it in the class with @pl.function")
				}
				return nil, nil, false
			}
			b.u.signature(f)
			return f, nil, !f.broken
		}
	}
	if n, ok := x.(*syntax.Name); ok && b.names.lookup(n.ID) != nil {
		b.errorf(CodeUnknownFunc, x, "'%s' is a value, not a function", n.ID)
		return nil, nil, false
	}
	v, ok := b.eval(x)
	if !ok {
		return nil, nil, false
	}
	dsl, isDSL := v.(*eval.DSL)
	if !isDSL || dsl.Func == nil || dsl.Kind == eval.Program {
		b.errorf(CodeUnknownFunc, x, "'%s' is not a DSL function", dotted(x)).
			WithHint("kernels are methods of the program (self.f), or functions decorated with @pl.function or @pl.jit.…")
		return nil, nil, false
	}
	return nil, dsl, true
}

// instance is the function for the bare-name callee x of a call, with given argument types.
func (b *body) instance(dsl *eval.DSL, args []ir.Expr, call *syntax.Call, x syntax.Node) (*function, bool) {
	if m := b.u.methods[dsl.Func.Name]; m != nil {
		b.errorf(CodeUnknownFunc, x, "external function '%s' conflicts with program function of the same name", dsl.Func.Name).
			WithRelated(m.span(), "the program's function").WithHint("rename one of them")
		return nil, false
	}
	if dsl.Kind == eval.Function {
		for _, other := range b.u.used {
			if other != dsl && other.Kind == eval.Function && other.Func.Name == dsl.Func.Name && b.mode != Dump {
				b.errorf(CodeUnknownFunc, x, "Conflicting external functions: two different functions named '%s' are called", dsl.Func.Name).
					WithRelated(other.Func.NamePos.Span(other.File.Path), "the other one").
					WithHint("functions of one program have unique names: rename one, or make them @pl.jit functions, which get names of their own")
				return nil, false
			}
		}
	}
	var bind []bound
	if isJIT(dsl.Kind) {
		var ok bool
		if bind, ok = b.bindOpen(dsl, args, call); !ok {
			return nil, false
		}
	}
	f := b.u.require(dsl, bind)
	b.u.lower(f)
	return f, !f.broken
}

// dropFixed removes the arguments of compile-time parameters, which the instance has taken in.
func dropFixed(f *function, args []ir.Expr, noDep []int) ([]ir.Expr, []int) {
	if len(f.fixed) == 0 {
		return args, noDep
	}
	var outArgs []ir.Expr
	var outNoDep []int
	for i, a := range args {
		if slices.Contains(f.fixed, i) {
			continue
		}
		if slices.Contains(noDep, i) {
			outNoDep = append(outNoDep, len(outArgs))
		}
		outArgs = append(outArgs, a)
	}
	return outArgs, outNoDep
}

// callArgs reads positional arguments; pl.no_dep(x) is unwrapped and its index noted.
func (b *body) callArgs(list []syntax.Expr) (args []ir.Expr, noDep []int, ok bool) {
	ok = true
	args = make([]ir.Expr, 0, len(list))
	for i, a := range list {
		if call, path := b.dslCall(a); path == "pl.no_dep" {
			if len(call.Args) != 1 || len(call.Keywords) > 0 {
				b.errorf(CodeArguments, a, "pl.no_dep() takes exactly one tensor")
				ok = false
				continue
			}
			noDep = append(noDep, i)
			a = call.Args[0]
		}
		if _, isStar := a.(*syntax.Starred); isStar {
			b.errorf(CodeExpression, a, "Unsupported expression: Starred argument").WithHint("pass the arguments one by one")
			ok = false
			continue
		}
		e, good := b.expr(a)
		if !good {
			ok = false
			continue
		}
		if g, isElem := e.(*ir.TupleGet); isElem && b.mode != Dump && !b.inWhile { // self.k(r[0]): arguments are names
			v := b.temp("_tuple_tmp", g.Type(), g.Pos)
			b.emit(&ir.Assign{Var: v, Value: g, Comments: b.take(), Pos: g.Pos})
			e = v
		}
		args = append(args, e)
	}
	return args, noDep, ok
}

// call reads a plain call of a program function.
func (b *body) call(x *syntax.Call) (ir.Expr, bool) {
	f, dsl, ok := b.calleeOf(x.Fun)
	args, noDep, good := b.callArgs(x.Args)
	jit := dsl != nil && isJIT(dsl.Kind)
	var attrs ir.Attrs
	var device ir.Expr
	var deviceNode syntax.Expr
	named := map[string]ir.Expr{}
	for _, k := range x.Keywords {
		switch {
		case k.Name == "attrs":
			var fine bool
			attrs, fine = b.attrsDict(k.Value)
			good = good && fine
		case k.Name == "device":
			var fine bool
			deviceNode = k.Value
			device, fine = b.expr(k.Value)
			good = good && fine
		case launchKeyword(k.Name):
			b.errorf(CodeKeyword, k.Value, "a plain call of '%s' does not accept '%s='; use pl.submit", calleeName(x.Fun), k.Name).
				WithHint("write `out, tid = pl.submit(%s, …, %s=…)`", dotted(x.Fun), k.Name)
			good = false
		case jit && k.Name != "":
			e, fine := b.expr(k.Value)
			good = good && fine
			named[k.Name] = e
		case f != nil && slices.ContainsFunc(f.out.Params, func(p ir.Param) bool { return p.Var.Hint == k.Name }):
			b.errorf(CodeKeyword, k.Value, "the arguments of '%s' are positional: '%s=' cannot be given by name", f.name, k.Name).
				WithHint("its parameters are (%s)", paramList(f.out))
			good = false
		default:
			b.unknownKeyword(dotted(x.Fun), k, []string{"attrs", "device"})
			good = false
		}
	}
	if !ok || !good {
		return nil, false
	}
	if jit {
		if args, ok = b.fillArgs(x, dsl, args, named, false); !ok {
			return nil, false
		}
	}
	if f == nil {
		if f, ok = b.instance(dsl, args, x, x.Fun); !ok {
			return nil, false
		}
		args, noDep = dropFixed(f, args, noDep)
	}
	if !b.callable(f, x) {
		return nil, false
	}
	c := &ir.Call{Callee: f.name, Args: args, NoDep: noDep, Device: device, Pos: b.at(x)}
	if device != nil && f.decl.role != "Orchestrator" && f.decl.typ != ir.Orchestration && b.mode != Dump {
		b.errorf(CodeKeyword, deviceNode, "device= is only accepted on calls of orchestrators, and '%s' is a %s function", f.name, f.decl.typ)
		return nil, false
	}
	if !b.bindArgs(f, c, x, false) {
		return nil, false
	}
	b.takeCallAttrs(c, attrs)
	b.stickyDumps(c)
	switch r := b.results(f, c); len(r) {
	case 1:
		c.Typ = r[0]
	default:
		c.Typ = &ir.TupleType{Elems: r}
	}
	return c, true
}

// callable checks that a function may be called from here.
func (b *body) callable(f *function, x syntax.Node) bool {
	if b.mode == Dump {
		return true
	}
	switch t := f.decl.typ; {
	case f.state == lowering && t != ir.Inline: // a circle of Inline functions is reported by the pass that expands them
		b.errorf(CodeRecursion, x, "'%s' calls itself", f.name).WithHint("write a loop")
		return false
	case !b.host && (t == ir.Orchestration || t == ir.Graph || t.IsWrapper()):
		b.errorf(CodeMisplaced, x, "a kernel cannot call '%s': it is a %s function", f.name, t).WithHint("call it from an Orchestration function")
		return false
	}
	return true
}

func launchKeyword(name string) bool {
	switch name {
	case "deps", "dumps", "core_num", "sync_start", "allow_early_resolve", "predicate", "timing_slot":
		return true
	}
	return false
}

func calleeName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Attribute:
		return x.Name
	case *syntax.Name:
		return x.ID
	}
	return "function"
}

// bindArgs checks the arguments of a call against the parameters of its callee. Literals take the dtype of their parameter.
func (b *body) bindArgs(f *function, c *ir.Call, call *syntax.Call, submit bool) bool {
	formal := f.out.Params
	if !submit && len(c.Args) != len(formal) || len(c.Args) > len(formal) {
		b.errorf(CodeArguments, call, "'%s' expects %d argument(s), got %d", f.name, len(formal), len(c.Args)).
			WithRelated(f.span(), "defined here").WithHint("its parameters are (%s)", paramList(f.out))
		return false
	}
	for _, p := range formal[len(c.Args):] {
		if p.Dir != ir.Out && b.mode != Dump {
			b.errorf(CodeArguments, call, "'%s' is missing argument '%s': only Out params may be runtime-allocated, and '%s' is %s", f.name, p.Var.Hint, p.Var.Hint, p.Dir).
				WithRelated(p.Var.Pos, "the parameter").WithHint("its parameters are (%s)", paramList(f.out))
			return false
		}
	}
	if b.mode == Dump {
		return true // passes may leave what no user could write
	}
	ok := true
	place := func(i int) diag.Span {
		name := formal[i].Var.Hint
		if isJIT(f.kind()) { // the compile-time parameters are gone from formal
			if j := slices.IndexFunc(params(f.def, false), func(p syntax.Param) bool { return p.Name == name }); j >= 0 {
				i = j
			}
		}
		return b.at(b.argumentOf(call, i, name))
	}
	for i, a := range c.Args {
		p := formal[i].Var
		if s, isScalar := p.Typ.(*ir.ScalarType); isScalar {
			a = b.toParam(a, s.DType)
			c.Args[i] = a
		}
		got := a.Type()
		if isUnknown(got) || isUnknown(p.Typ) {
			continue
		}
		if _, isArray := got.(*ir.ArrayType); isArray && f.decl.typ != ir.Inline {
			b.u.errorf(CodeArgType, place(i), "argument '%s' of '%s': an array cannot be passed to a kernel (%s), the parameter is %s", p.Hint, f.name, typeText(got), typeText(p.Typ)).
				WithHint("arrays live in the orchestration function; pass an element, or use a tensor")
			ok = false
			continue
		}
		if d := argMismatch(got, p.Typ); d != "" {
			b.u.errorf(CodeArgType, place(i), "argument '%s' of '%s': %s", p.Hint, f.name, d).WithRelated(p.Pos, "the parameter is %s", typeText(p.Typ))
			ok = false
			continue
		}
		if f.decl.typ != ir.Inline {
			if axis, x, y, differ := staticDims(got, p.Typ); differ {
				b.u.warnf(CodeArgType, place(i), "argument '%s' of '%s': shape dimension %d = %d, but the parameter has %d", p.Hint, f.name, axis, x, y).
					WithRelated(p.Pos, "the parameter is %s", typeText(p.Typ))
			}
		}
	}
	return ok
}

func paramList(f *ir.Function) string {
	text := ""
	for i, p := range f.Params {
		if i > 0 {
			text += ", "
		}
		text += p.Var.Hint
		if p.Dir != ir.In {
			text += ": " + p.Dir.String()
		}
	}
	return text
}

// argMismatch says why a value of type got cannot be passed as want; "" when it can.
func argMismatch(got, want ir.Type) string {
	if gk, wk := kindName(got), kindName(want); gk != wk {
		return fmt.Sprintf("expected a %s, got a %s (%s)", wk, gk, typeText(got))
	}
	g, w := ir.ElemDType(got), ir.ElemDType(want)
	switch want := want.(type) {
	case *ir.ScalarType:
		if category(g) != category(w) {
			return fmt.Sprintf("expected dtype %s, got dtype %s", w, g)
		}
	case *ir.TensorType, *ir.TileType:
		if g != w {
			return fmt.Sprintf("expected dtype %s, got dtype %s", w, g)
		}
		if x, y := len(ir.ShapeOf(got)), len(ir.ShapeOf(want)); x != y {
			return fmt.Sprintf("expected rank %d, got rank %d (%s)", y, x, typeText(got))
		}
	case *ir.ArrayType:
		if !ir.SameTypes(got, want) {
			return fmt.Sprintf("expected %s, got %s", typeText(want), typeText(got))
		}
	}
	return ""
}

// category groups the dtypes that convert into each other when a scalar is passed.
func category(d ir.DType) int {
	switch {
	case d.IsInt():
		return 1
	case d.IsFloat():
		return 2
	case d == ir.BOOL:
		return 3
	}
	return 4 + int(d)
}

// staticDims finds the first axis on which two shapes of equal rank provably differ.
func staticDims(a, b ir.Type) (axis int, x, y int64, differ bool) {
	as, bs := ir.ShapeOf(a), ir.ShapeOf(b)
	for i := range min(len(as), len(bs)) {
		x, ok1 := ir.IntValue(ir.Simplify(as[i]))
		y, ok2 := ir.IntValue(ir.Simplify(bs[i]))
		if ok1 && ok2 && x != y {
			return i, x, y, true
		}
	}
	return 0, 0, 0, false
}

// results gives the result types of a call: the callee's, with its parameters and dynamic symbols replaced by what the caller passes.
func (b *body) results(f *function, c *ir.Call) []ir.Type {
	if !f.annotated {
		b.u.lower(f)
		if f.state != lowered {
			return []ir.Type{ir.Unknown} // it calls itself, directly or not
		}
	}
	return f.out.ResultTypes(c.Args)
}

// stickyDumps adds the arguments that pl.dump_tag named.
func (b *body) stickyDumps(c *ir.Call) {
	for _, v := range b.dumpTags {
		if slices.Contains(c.Args, ir.Expr(v)) {
			c.Launch.Dumps = appendDump(c.Launch.Dumps, v)
		}
	}
}

// dumpTag reads pl.dump_tag(x): later launches that take x dump it.
func (b *body) dumpTag(call *syntax.Call) {
	if t := b.fn.decl.typ; b.mode != Dump && t != ir.Orchestration && t != ir.Inline && t != ir.Opaque {
		b.errorf(CodeDump, call, "pl.dump_tag is only valid inside an Orchestration or Inline function, not in a %s function", t)
		return
	}
	if len(call.Args) != 1 || len(call.Keywords) > 0 {
		b.errorf(CodeDump, call, "pl.dump_tag() takes exactly one tensor")
		return
	}
	n, ok := call.Args[0].(*syntax.Name)
	if !ok {
		b.errorf(CodeDump, call.Args[0], "pl.dump_tag() takes a bare variable name").WithHint("bind the tensor to a name first")
		return
	}
	e, ok := b.read(n)
	if !ok {
		return
	}
	v, isVar := e.(*ir.Var)
	if !isVar || !ir.IsTensor(v.Typ) {
		b.errorf(CodeDump, n, "pl.dump_tag() takes a tensor; '%s' is not a tensor but %s", n.ID, typeText(e.Type()))
		return
	}
	if !slices.Contains(b.dumpTags, v) {
		b.dumpTags = append(b.dumpTags, v)
	}
}

// takeCallAttrs moves the attributes that have a field of their own into it.
func (b *body) takeCallAttrs(c *ir.Call, attrs ir.Attrs) {
	for _, a := range attrs {
		switch v := a.Value.(type) {
		case []ir.Enum: // arg_directions, nothing else
			for _, e := range v {
				c.Dirs = append(c.Dirs, argDirs[e.Name])
			}
			continue
		case []int64:
			if a.Key == "arg_direction_overrides" {
				for _, i := range v {
					if !slices.Contains(c.NoDep, int(i)) {
						c.NoDep = append(c.NoDep, int(i))
					}
				}
				continue
			}
			if len(v) == 0 {
				switch a.Key { // an empty list has no kind
				case "arg_directions":
					c.Dirs = []ir.ArgDir{}
					continue
				case "dump_vars", "manual_dep_edges", "compiler_manual_dep_edges":
					continue
				}
			}
		case []ir.Expr:
			switch a.Key {
			case "dump_vars":
				c.Launch.Dumps = append(c.Launch.Dumps, v...)
				continue
			case "manual_dep_edges":
				c.Launch.Deps = append(c.Launch.Deps, v...)
				continue
			case "compiler_manual_dep_edges":
				for _, e := range v {
					if vr, ok := e.(*ir.Var); ok {
						c.CompilerDeps = append(c.CompilerDeps, vr)
					}
				}
				continue
			}
		case ir.Expr:
			switch a.Key {
			case "core_num":
				c.Launch.CoreNum = v
				continue
			case "predicate":
				c.Launch.Predicate = v
				continue
			case "device":
				c.Device = v
				continue
			}
		case bool:
			switch a.Key {
			case "sync_start":
				c.Launch.SyncStart = v
				continue
			case "allow_early_resolve":
				c.Launch.EarlyResolve = v
				continue
			}
		case int64:
			switch a.Key {
			case "timing_slot":
				c.Launch.TimingSlot = &v
				continue
			case "core_num":
				c.Launch.CoreNum = &ir.ConstInt{Value: v, DType: ir.INDEX, Pos: c.Pos}
				continue
			}
		}
		c.Attrs = append(c.Attrs, a)
	}
	slices.Sort(c.NoDep)
}

var argDirs = map[string]ir.ArgDir{"input": ir.DirInput, "output": ir.DirOutput, "inout": ir.DirInOut, "output_existing": ir.DirOutputExisting, "no_dep": ir.DirNoDep, "scalar": ir.DirScalar}

// unknownKeyword reports a keyword argument that a construct does not have.
func (b *body) unknownKeyword(path string, k syntax.Keyword, known []string) {
	if k.Name == "" {
		b.errorf(CodeKeyword, k.Value, "Unsupported expression: **kwargs").WithHint("write the keyword arguments one by one")
		return
	}
	d := b.u.errorf(CodeKeyword, k.Span(b.file), "%s() got an unexpected keyword argument '%s'", path, k.Name)
	if best := diag.Nearest(k.Name, known); best != "" {
		d.WithHint("did you mean '%s'?", best)
	} else if len(known) > 0 {
		d.WithHint("it takes %s", listText(known))
	}
}

func listText(words []string) string {
	text := ""
	for i, w := range words {
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text
}
