package lower

import "github.com/ptobuild/ptobuild/ir"

// Interface is the part of a program in canonical form that Lower reads for the function of a name: what that calls, directly or not, with nothing left of
// the bodies of kernels but which results are parameters. Programs of one interface have one plan, whatever their kernels compute.
func Interface(p *ir.Program, name string) *ir.Program {
	out := &ir.Program{Name: p.Name, Pos: p.Pos, Funcs: make([]*ir.Function, len(p.Funcs))}
	for i, f := range p.Funcs {
		out.Funcs[i] = f
		if f.Type.IsKernel() && len(f.Body) > 0 {
			g := *f
			g.Body = results(f)
			out.Funcs[i] = &g
		}
	}
	return ir.Closure(out, name)
}

// results is a body that returns what f returns, as far as that is a parameter.
func results(f *ir.Function) ir.Block {
	r := f.FinalReturn()
	if r == nil {
		return nil
	}
	values := make([]ir.Expr, len(r.Values))
	for i, e := range r.Values {
		values[i] = ir.Int(0)
		if v, ok := e.(*ir.Var); ok && f.Param(v) >= 0 {
			values[i] = v
		}
	}
	return ir.Block{&ir.Return{Values: values}}
}
