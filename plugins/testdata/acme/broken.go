package main

import (
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes"
)

// broken are passes that spoil a program with a kernel k, whose first statement is a load, and an orchestration main. Each result can be read; what is wrong
// with it is more than its form.
var broken = map[string]run{
	"FewOperands": inKernel(func(k *ir.Function) { k.Body[0] = load(k, func(c *ir.OpCall) { c.Args = c.Args[:1] }) }),
	"UnknownOp":   inKernel(func(k *ir.Function) { k.Body[0] = load(k, func(c *ir.OpCall) { c.Op = "tile.lode" }) }),
	"UnknownKeyword": inKernel(func(k *ir.Function) {
		k.Body[0] = load(k, func(c *ir.OpCall) { c.Kwargs = append(ir.Kwargs{{Name: "zzz", Value: int64(1)}}, c.Kwargs...) })
	}),
	"WrongKind": inKernel(func(k *ir.Function) { k.Body[0] = load(k, func(c *ir.OpCall) { c.Args[1] = ir.Int(3) }) }),
	"HostOp": inKernel(func(k *ir.Function) {
		k.Body[0] = load(k, func(c *ir.OpCall) { c.Op, c.Args, c.Kwargs = "acme.row", []ir.Expr{c.Args[0], ir.Int(0)}, nil })
	}),
	"Twice":      inKernel(func(k *ir.Function) { k.Body = append(k.Body[:1:1], k.Body...) }),
	"NoReturn":   inKernel(func(k *ir.Function) { k.Body = k.Body[:len(k.Body)-1] }),
	"OtherCore":  inKernel(func(k *ir.Function) { k.Type = ir.AIC }),
	"Renamed":    inKernel(func(k *ir.Function) { k.Name = "kk" }),
	"NoFunction": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) { return &ir.Program{Name: p.Name}, nil },
	"NoKernel": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		return &ir.Program{Name: p.Name, Funcs: p.Funcs[1:]}, nil
	},
	"KernelTwice": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		k := *p.Funcs[0]
		return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&k}, p.Funcs...)}, nil
	},
	"OtherParameter": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		return rename(p, func(f *ir.Function) *ir.Var { return f.Params[0].Var }, "zed"), nil
	},
	"NameOfVersion": func(_ *passes.Context, p *ir.Program) (*ir.Program, error) { // breaks nothing: a name means nothing
		return rename(p, func(f *ir.Function) *ir.Var { return f.Body[0].(*ir.Assign).Var }, "o__ssa_v9"), nil
	},
}

// inKernel makes a pass that changes a copy of the kernel.
func inKernel(change func(k *ir.Function)) run {
	return func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		k := *p.Funcs[0]
		k.Body = append(ir.Block{}, k.Body...)
		change(&k)
		return &ir.Program{Name: p.Name, Funcs: append([]*ir.Function{&k}, p.Funcs[1:]...)}, nil
	}
}

// load is the first statement of the kernel, changed.
func load(k *ir.Function, change func(*ir.OpCall)) ir.Stmt {
	s := *k.Body[0].(*ir.Assign)
	c := *s.Value.(*ir.OpCall)
	c.Args = append([]ir.Expr{}, c.Args...)
	change(&c)
	s.Value = &c
	return &s
}

// rename gives a variable of the orchestration another name.
func rename(p *ir.Program, which func(*ir.Function) *ir.Var, to string) *ir.Program {
	f := *p.Funcs[len(p.Funcs)-1]
	old := which(&f)
	fresh := &ir.Var{Hint: to, Typ: old.Typ, Pos: old.Pos}
	r := ir.Rewriter{Var: func(v *ir.Var) *ir.Var {
		if v == old {
			return fresh
		}
		return v
	}}
	f.Params = append([]ir.Param{}, f.Params...)
	for i := range f.Params {
		f.Params[i].Var = r.Var(f.Params[i].Var)
	}
	f.Body = r.Block(f.Body)
	return &ir.Program{Name: p.Name, Funcs: append(append([]*ir.Function{}, p.Funcs[:len(p.Funcs)-1]...), &f)}
}
