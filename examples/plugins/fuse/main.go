// Command fuse is an example of a plugin: a pass that makes one task of two elementwise ones.
//
//	t = add(a, b, t)                          t, out = add_double(a, b, t, out)
//	out = double(t, out)            →
//
// A task costs some microseconds to submit and to schedule, which an elementwise kernel on a small tile does not earn back. What makes it legal is not
// left to this program: it claims each fusion (Context.Fused), and ptobuild takes every fused call apart again and compares with what was there.
package main

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "fuse", Version: "1.0.0", Doc: "fewer and larger tasks", Passes: []sdk.Pass{elementwise}})
}

var elementwise = sdk.Pass{
	Name:     "FuseElementwise",
	Doc:      "make one task of two elementwise ones, of which the second reads what the first wrote",
	After:    "NormalizeReturnOrder",
	Requires: []ir.Property{ir.SSAForm, ir.ReturnParamsExplicit},
	Grant:    &sdk.Grant{Functions: []ir.FuncType{ir.Orchestration, ir.AIV}, Add: true, Remove: true},
	Run: func(ctx *sdk.Context, p *ir.Program) (*ir.Program, error) {
		f := &fuser{ctx: ctx, p: p, fused: map[string]*fusion{}}
		out := &ir.Program{Name: p.Name, Pos: p.Pos}
		var orchestrations []*ir.Function
		for _, fn := range p.Funcs {
			if fn.Type == ir.Orchestration {
				g := *fn
				g.Body = f.block(fn.Body)
				fn = &g
			}
			orchestrations = append(orchestrations, fn)
		}
		if len(f.kernels) == 0 {
			return p, nil
		}
		// The new kernels, and what is still called or was never a part.
		out.Funcs = f.kernels
		for _, fn := range orchestrations {
			if !f.parts[fn.Name] || called(orchestrations, fn.Name) {
				out.Funcs = append(out.Funcs, fn)
			}
		}
		return out, nil
	},
}

type fuser struct {
	ctx     *sdk.Context
	p       *ir.Program
	kernels []*ir.Function
	fused   map[string]*fusion // by name of the new kernel
	parts   map[string]bool
}

// fusion is a new kernel, and which argument of the two calls becomes which of its own.
type fusion struct {
	kernel        *ir.Function
	first, second []int
}

// block fuses neighbours in a block and in those inside it.
func (f *fuser) block(b ir.Block) ir.Block {
	var out ir.Block
	for i := 0; i < len(b); i++ {
		if i+1 < len(b) {
			if s := f.pair(b[i], b[i+1]); s != nil {
				out = append(out, s...)
				i++
				continue
			}
		}
		switch s := b[i].(type) {
		case *ir.For:
			n := *s
			n.Body = f.block(s.Body)
			out = append(out, &n)
		case *ir.If:
			n := *s
			n.Then, n.Else = f.block(s.Then), f.block(s.Else)
			out = append(out, &n)
		default:
			out = append(out, s)
		}
	}
	return out
}

// pair gives the statements that take the place of two calls, nil when they stay.
func (f *fuser) pair(s1, s2 ir.Stmt) ir.Block {
	a1, c1, k1 := f.launch(s1)
	a2, c2, k2 := f.launch(s2)
	if k1 == nil || k2 == nil || k1.Type != k2.Type || !slices.Contains(c2.Args, ir.Expr(a1.Var)) {
		return nil
	}
	x := f.kernel(a1.Var, c1, c2, k1, k2)
	if x == nil {
		return nil
	}
	f.ctx.Note(c2.Pos, "fused with the call of "+c1.Callee+" before it")
	args := make([]ir.Expr, len(x.kernel.Params))
	for j, k := range x.second {
		args[k] = c2.Args[j]
	}
	for i, k := range x.first {
		args[k] = c1.Args[i]
	}
	call := &ir.Call{Callee: x.kernel.Name, Args: args, Typ: &ir.TupleType{Elems: x.kernel.Returns}, Pos: c2.Pos}
	results := &ir.Var{Hint: "fused", Typ: call.Typ, Pos: a2.Pos}
	return ir.Block{
		&ir.Assign{Var: results, Value: call, Pos: a2.Pos},
		&ir.Assign{Var: a1.Var, Value: &ir.TupleGet{X: results, Index: 0, Pos: a1.Pos}, Pos: a1.Pos},
		&ir.Assign{Var: a2.Var, Value: &ir.TupleGet{X: results, Index: 1, Pos: a2.Pos}, Pos: a2.Pos},
	}
}

// launch takes apart a statement that launches an elementwise kernel in the plain way.
func (f *fuser) launch(s ir.Stmt) (*ir.Assign, *ir.Call, *ir.Function) {
	a, ok := s.(*ir.Assign)
	if !ok {
		return nil, nil, nil
	}
	c, ok := a.Value.(*ir.Call)
	if !ok || c.Submit || !c.Launch.IsZero() || len(c.NoDep) > 0 || len(c.Attrs) > 0 || c.Device != nil {
		return nil, nil, nil
	}
	k := f.p.Lookup(c.Callee)
	if k == nil || k.Type != ir.AIV || k.External != nil || k.DualAIV || len(k.Attrs) > 0 || output(k) < 0 || len(c.Args) != len(k.Params) || !f.isElementwise(k) {
		return nil, nil, nil
	}
	return a, c, k
}

// output is the parameter that a kernel writes and returns, -1 when there is not exactly one.
func output(k *ir.Function) int {
	out := -1
	for i, p := range k.Params {
		if p.Dir != ir.In {
			if out >= 0 {
				return -1
			}
			out = i
		}
	}
	if out < 0 || len(k.Body) == 0 {
		return -1
	}
	r, ok := k.Body[len(k.Body)-1].(*ir.Return)
	if !ok || len(r.Values) != 1 || r.Values[0] != ir.Expr(k.Params[out].Var) {
		return -1
	}
	return out
}

// isElementwise reports a kernel in which every tile has the shape of the tiles that it is made of.
func (f *fuser) isElementwise(k *ir.Function) bool {
	for _, s := range k.Body[:len(k.Body)-1] {
		a, ok := s.(*ir.Assign)
		if !ok {
			return false
		}
		c, ok := a.Value.(*ir.OpCall)
		if !ok || f.ctx.Op(c.Op) == nil {
			return false
		}
		for _, x := range c.Args {
			if t, ok := x.Type().(*ir.TileType); ok && !sameShape(t.Shape, ir.ShapeOf(c.Typ)) {
				return false
			}
		}
	}
	return true
}

func sameShape(a, b []ir.Expr) bool { return slices.EqualFunc(a, b, ir.EqualExprs) }

// kernel makes the kernel that runs the bodies of two, or finds it; nil when their parameters do not fit together.
func (f *fuser) kernel(mid *ir.Var, c1, c2 *ir.Call, k1, k2 *ir.Function) *fusion {
	x := &fusion{kernel: &ir.Function{Name: k1.Name + "_" + k2.Name, Type: k1.Type, Level: k1.Level, Role: k1.Role, Split: k1.Split, Pos: k2.Pos}}
	add := func(p ir.Param) int {
		x.kernel.Params = append(x.kernel.Params, ir.Param{Var: &ir.Var{Hint: p.Var.Hint, Typ: p.Var.Typ, Pos: p.Var.Pos}, Dir: p.Dir})
		return len(x.kernel.Params) - 1
	}
	for _, p := range k1.Params {
		x.first = append(x.first, add(p))
	}
	out := output(k1)
	for j, p := range k2.Params {
		at := -1
		for i, arg := range c1.Args {
			if c2.Args[j] == ir.Expr(mid) && i == out || c2.Args[j] == arg && i != out {
				at = i
			}
		}
		switch {
		case c2.Args[j] == c1.Args[out]:
			return nil // the second kernel knows the buffer by its older name
		case at < 0:
			at = add(p)
		case !ir.EqualTypes(p.Var.Typ, x.kernel.Params[at].Var.Typ):
			return nil
		case p.Dir != x.kernel.Params[at].Dir:
			x.kernel.Params[at].Dir = ir.InOut
		}
		x.second = append(x.second, at)
	}
	if x.second[output(k2)] == x.first[out] {
		return nil // updates in place: nothing between the two to save
	}
	if old := f.fused[x.kernel.Name]; old != nil {
		if slices.Equal(old.first, x.first) && slices.Equal(old.second, x.second) {
			return old
		}
		return nil
	}
	if f.p.Lookup(x.kernel.Name) != nil {
		return nil
	}
	x.kernel.Body = append(inPlace(k1, x.kernel, x.first), inPlace(k2, x.kernel, x.second)...)
	first, second := x.kernel.Params[x.first[out]].Var, x.kernel.Params[x.second[output(k2)]].Var
	x.kernel.Returns = []ir.Type{first.Typ, second.Typ}
	x.kernel.Body = append(x.kernel.Body, &ir.Return{Values: []ir.Expr{first, second}})
	f.fused[x.kernel.Name] = x
	f.kernels = append(f.kernels, x.kernel)
	if f.parts == nil {
		f.parts = map[string]bool{}
	}
	f.parts[k1.Name], f.parts[k2.Name] = true, true
	f.ctx.Fused(sdk.Fusion{Kernel: x.kernel.Name, First: k1.Name, Second: k2.Name, FirstParams: x.first, SecondParams: x.second})
	return x
}

// inPlace is the body of a kernel over parameters of another and variables of its own.
func inPlace(k, into *ir.Function, to []int) ir.Block {
	vars := map[*ir.Var]*ir.Var{}
	for i, p := range k.Params {
		vars[p.Var] = into.Params[to[i]].Var
	}
	r := ir.Rewriter{Var: func(v *ir.Var) *ir.Var {
		if vars[v] == nil && !v.Dyn {
			vars[v] = &ir.Var{Hint: v.Hint, Typ: v.Typ, Pos: v.Pos}
		}
		return vars[v]
	}}
	return r.Block(k.Body[:len(k.Body)-1])
}

// called reports that some function calls one of this name.
func called(fs []*ir.Function, name string) bool {
	found := false
	for _, f := range fs {
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			ir.Exprs(s, func(e ir.Expr) bool {
				c, ok := e.(*ir.Call)
				found = found || ok && c.Callee == name
				return true
			})
			return !found
		})
	}
	return found
}
