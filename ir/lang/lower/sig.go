package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// signature reads the parameters and result types of a function, once.
func (u *Unit) signature(f *function) {
	if f.state != found {
		return
	}
	f.state = signing
	f.damaged = u.opt.Damaged != nil && u.opt.Damaged(f.file.Path, f.def.At())
	b := f.body
	d := &f.decl
	f.out = &ir.Function{Name: f.name, Type: d.typ, Level: d.level, Role: d.role, AutoScope: d.autoScope, External: d.external, DualAIV: d.dualAIV, Pos: f.span()}
	b.signature()
	f.broken = f.broken || f.damaged && !f.annotated
	f.state = signed
}

// params lists the parameters of a function in order, self left out.
func params(def *syntax.FunctionDef, method bool) []syntax.Param {
	if def.Params == nil {
		return nil
	}
	all := slices.Concat(def.Params.PosOnly, def.Params.Args, def.Params.KwOnly)
	if method && len(all) > 0 && all[0].Name == "self" && all[0].Annotation == nil {
		all = all[1:]
	}
	return all
}

func (b *body) signature() {
	f := b.fn
	def := f.def
	out := f.out
	if def.Async {
		b.errorf(CodeFunction, def, "a DSL function cannot be async")
	}
	if p := def.Params; p != nil && (p.VarArg != nil || p.KwArg != nil) {
		at := p.VarArg
		if at == nil {
			at = p.KwArg
		}
		b.errorf(CodeFunction, at, "a DSL function takes no *args or **kwargs")
		f.broken = true
		b.poison([]string{at.Name})
	}
	if all := params(def, false); f.dsl != nil && f.mode == Program && len(all) > 0 && all[0].Name == "self" && all[0].Annotation == nil {
		f.broken, f.damaged = true, true
		if !b.u.reported["self"] {
			b.u.reported["self"] = true
			b.u.errorf(CodeDecorator, f.span(), "'%s' takes self, but the class around it is not a program", f.name).
				WithHint("write @pl.program above the class, or leave self out if there is none")
		}
		return
	}
	dynamic := b.boundDynamic(def.Body)
	stripped := false
	for i, p := range params(def, f.dsl == nil || f.mode == Dump) {
		at := p.Range.Span(b.file)
		if b.names.lookup(p.Name) != nil {
			b.u.errorf(CodeFunction, at, "duplicate parameter '%s'", p.Name)
			f.broken = true
			continue
		}
		pa, ok := b.param(&p, i)
		if !ok {
			f.broken = true
			b.names.set(p.Name, &binding{broken: true, region: b.region, at: at})
			continue
		}
		if pa.value != nil {
			f.fixed = append(f.fixed, i)
			b.alias(p.Name, pa.value, at)
			continue
		}
		if t, isTensor := pa.typ.(*ir.TensorType); isTensor && len(dynamic[p.Name]) > 0 {
			c := *t
			c.Shape = slices.Clone(t.Shape)
			for axis, sym := range dynamic[p.Name] {
				if axis < len(c.Shape) {
					c.Shape[axis] = sym
				}
			}
			pa.typ = &c
		}
		if f.decl.stripDirs && pa.dir != ir.In {
			if !stripped {
				b.u.warnf(CodeJIT, at, "pl.%s on a parameter of a @pl.jit.inline function has no effect: the body is spliced into its callers", pa.dir)
				stripped = true
			}
			pa.dir = ir.In
		}
		v := b.variable(p.Name, pa.typ, at)
		if p.Name == "_" {
			b.names.set("_", &binding{expr: v, region: b.region, at: at})
		}
		out.Params = append(out.Params, ir.Param{Var: v, Dir: pa.dir})
	}
	if def.Returns != nil {
		f.annotated = true
		if !b.returns(def.Returns) {
			f.broken = true
		}
	}
}

// parameter is one parameter as read.
type parameter struct {
	typ   ir.Type
	dir   ir.ParamDir
	value ir.Expr // a parameter with a fixed value: it stands for it and is no parameter of the result
}

func (b *body) param(p *syntax.Param, index int) (parameter, bool) {
	var out parameter
	f := b.fn
	if p.Annotation == nil {
		if f.mode == JIT && index < len(f.bind) && f.bind[index].typ != nil {
			out.typ = f.bind[index].typ
			return out, true
		}
		b.errorf(CodeAnnotation, p, "Parameter '%s' missing type annotation", p.Name).WithHint("write %s: pl.Tensor[[…], pl.FP32] or %s: pl.Scalar[pl.INDEX]", p.Name, p.Name)
		return out, false
	}
	x := b.expand(p.Annotation)
	if x == nil {
		return out, false
	}
	if s, ok := x.(*syntax.Subscript); ok {
		switch b.symbol(s.X) {
		case "pl.Out":
			out.dir, x = ir.Out, b.expand(s.Index)
		case "pl.InOut":
			out.dir, x = ir.InOut, b.expand(s.Index)
		}
		if x == nil {
			return out, false
		}
	}
	if f.mode == JIT {
		if done, ok := b.jitParam(p, x, index, &out); done {
			return out, ok
		}
	}
	t, ok := b.annotation(x)
	if !ok {
		return out, false
	}
	if p.Default != nil && f.mode != JIT {
		b.u.warnf(CodeUnused, b.at(p.Default), "the default of parameter '%s' has no effect: calls of a @pl.function pass every argument", p.Name)
	}
	out.typ = t
	switch t := t.(type) {
	case *ir.ScalarType:
		if out.dir == ir.InOut || out.dir == ir.Out {
			b.errorf(CodeAnnotation, p, "pl.%s is not supported on a Scalar parameter", out.dir).WithHint("scalars are passed by value; return the new value instead")
			return out, false
		}
		if f.mode == JIT {
			return b.jitScalar(p, t, index, out)
		}
	case *ir.ArrayType:
		if f.mode != Dump && f.decl.typ != ir.Inline {
			b.errorf(CodeAnnotation, p, "parameter '%s' of '%s' is an array: arrays cannot leave the function that makes them", p.Name, f.name).
				WithHint("pass a tensor, or the elements one by one; only Inline functions take arrays")
			return out, false
		}
	case *ir.TupleType:
		if f.mode != Dump {
			b.errorf(CodeAnnotation, p, "a parameter cannot be a tuple").WithHint("take one parameter for each element")
			return out, false
		}
	}
	return out, true
}

// returns reads the annotation of the results: tuple[…] stands for several.
func (b *body) returns(x syntax.Expr) bool {
	out := b.fn.out
	out.Returns = []ir.Type{}
	if c, ok := x.(*syntax.Constant); ok && c.Kind == syntax.None {
		return true
	}
	y := b.expand(x)
	if y == nil {
		return false
	}
	if s, ok := y.(*syntax.Subscript); ok && b.symbol(s.X) == "tuple" {
		good := true
		for _, a := range indices(s) {
			t, ok := b.annotation(a)
			good = good && ok
			out.Returns = append(out.Returns, t)
		}
		return good
	}
	t, ok := b.annotation(y)
	if !ok {
		return false
	}
	out.Returns = append(out.Returns, t)
	return true
}
