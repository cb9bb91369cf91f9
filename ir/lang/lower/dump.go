package lower

import (
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
)

// What only the printed form of IR has (spec: dsl-ir 3).

// dumpOp makes an op call of a dump: operands are taken as they are, an op that is not known is kept.
func (b *body) dumpOp(at diag.Span, name string, args []ir.Expr, kwargs ir.Kwargs) (*ir.OpCall, *diag.Diagnostic) {
	spec, a, k, d := b.u.opt.Ops.Resolve(name, args, kwargs)
	if d == nil {
		var c *ir.OpCall
		if c, d = ops.Check(&ops.Site{Spec: spec, Args: a, Kwargs: k, Pos: at, Lenient: true}); d == nil {
			return c, nil
		}
	}
	// Nothing is known about it: the annotation of its variable gives the type.
	c := &ir.OpCall{Op: strings.TrimSuffix(name, "_"), Typ: ir.Unknown, Pos: at}
	if !strings.Contains(c.Op, ".") {
		return nil, d
	}
	for _, a := range args {
		if s, ok := a.(*ops.Symbol); ok {
			kwargs = append(ir.Kwargs{{Name: "value", Value: s}}, kwargs...)
			continue
		}
		c.Args = append(c.Args, a)
	}
	for _, k := range kwargs {
		switch v := k.Value.(type) {
		case *ops.Symbol:
			k.Value = v.Value
		case *ir.ConstInt:
			if v.DType == ir.INDEX {
				k.Value = v.Value
			}
		case *ir.ConstFloat:
			k.Value = v.Value
		case *ir.ConstBool:
			k.Value = v.Value
		case *ir.MakeTuple:
			k.Value = v.Elems
		}
		c.Kwargs = append(c.Kwargs, k)
	}
	return c, nil
}

// symbolsToKwargs moves symbolic operands, such as the memory space of an allocation, to the keyword arguments: the IR has no expression for them.
func (u *Unit) symbolsToKwargs(c *ir.OpCall) {
	spec := u.opt.Ops.Lookup(c.Op)
	if spec == nil || !slices.ContainsFunc(c.Args, func(a ir.Expr) bool { _, ok := a.(*ops.Symbol); return ok }) {
		return
	}
	var args []ir.Expr
	for i, a := range c.Args {
		if s, ok := a.(*ops.Symbol); ok && i < len(spec.Params) {
			c.Kwargs = slices.Concat(ir.Kwargs{{Name: spec.Params[i].Name, Value: s.Value}}, c.Kwargs)
			continue
		}
		args = append(args, a)
	}
	c.Args = args
}

// freeSuffix marks what a printed function reads but does not define.
const freeSuffix = "__FREE_VAR"

// freeName reads a name that the function does not define: the printer marks those with freeSuffix.
func (b *body) freeName(n *syntax.Name) ir.Expr {
	v := &ir.Var{Hint: strings.TrimSuffix(n.ID, freeSuffix), Typ: ir.Unknown, Pos: b.at(n)}
	b.names.frames[0][n.ID] = &binding{expr: v, region: b.region, at: v.Pos}
	return v
}

// loopAttrs moves the carry attributes of a dump into the carries.
func (b *body) loopAttrs(f *ir.For) { f.Attrs = carryAttrs(f.Attrs, f.Carries) }

func carryAttrs(attrs ir.Attrs, carries []ir.Carry) ir.Attrs {
	var rest ir.Attrs
	for _, a := range attrs {
		if i, ok := carryIndex(a.Key, "iter_arg_rebind_", carries); ok {
			if v, isBool := a.Value.(bool); isBool {
				carries[i].Class = ir.CarryAlias
				if v {
					carries[i].Class = ir.CarryRebind
				}
				continue
			}
		}
		if i, ok := carryIndex(a.Key, "iter_arg_array_size_", carries); ok {
			if v, isInt := a.Value.(int64); isInt {
				carries[i].Slots = v
				continue
			}
		}
		rest = append(rest, a)
	}
	return rest
}

func carryIndex(key, prefix string, carries []ir.Carry) (int, bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return 0, false
	}
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' || n > len(carries) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, rest != "" && n < len(carries)
}

// typeList reads types=[T, …].
func (b *body) typeList(x syntax.Expr) ([]ir.Type, bool) {
	elems, ok := listElems(x)
	if !ok {
		b.errorf(CodeAnnotation, x, "types= must be a list of types")
		return nil, false
	}
	var out []ir.Type
	for _, e := range elems {
		t, good := b.annotation(e)
		ok = ok && good
		out = append(out, t)
	}
	return out, ok
}

// commDomain reads `with pld.comm_domain(attrs={…}):`.
func (b *body) commDomain(s *syntax.With, call *syntax.Call) {
	sc := &ir.Scope{Kind: ir.CommDomainScope, Comments: b.take(), Pos: b.header(s)}
	for _, k := range call.Keywords {
		if k.Name == "attrs" {
			attrs, ok := b.attrsDict(k.Value)
			if !ok {
				return
			}
			sc.Attrs = attrs
		}
	}
	sc.Body = b.scoped(&with{name: "pld.comm_domain", kind: ir.CommDomainScope}, s, b.host, func() { b.stmts(s.Body) })
	b.finishScope(s, sc, nil)
}

// dumpKeyword reads the keywords that only printed scopes have.
func (b *body) dumpKeyword(l *launch, sc *ir.Scope, k syntax.Keyword) bool {
	if b.mode != Dump {
		return false
	}
	ok := true
	switch k.Name {
	case "attrs":
		var attrs ir.Attrs
		attrs, ok = b.attrsDict(k.Value)
		sc.Attrs = slices.Concat(sc.Attrs, attrs)
	case "name_hint":
		ok = b.nameHint(k.Value, sc)
	case "no_dep_args":
		sc.NoDep, ok = b.tensorNames(k.Value, "no_dep_args")
	case "windowize":
		sc.Attrs = append(sc.Attrs, ir.Attr{Key: "windowize", Value: true})
	case "deps", "dumps", "core_num", "sync_start", "allow_early_resolve", "predicate", "timing_slot":
		l.keyword(k)
	default:
		return false
	}
	l.failed = l.failed || !ok
	return true
}
