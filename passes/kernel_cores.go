package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// The half of KernelABI that decides cores and splits mixed kernels.

func (k *abiPass) setCore(f *ir.Function, t ir.FuncType) {
	g := *f
	g.Type, g.Level, g.Role = t, "", ""
	k.calls.set(&g)
	k.ctx.Note(f.Pos, fmt.Sprintf("kernel %s runs on %s", f.Name, t))
}

// coreNeed says which cores a kernel body needs, and how many bytes one tile takes that goes from one core to the other.
type coreNeed struct {
	cube, vector bool
	pipe         int64
	crosses      bool
}

// need reads cores off op specs and memory spaces.
func (k *abiPass) need(f *ir.Function) coreNeed {
	var n coreNeed
	made := map[*ir.Var]ops.Core{} // which core made a value
	ir.Inspect(f.Body, func(s ir.Stmt) bool {
		var def *ir.Var
		if a, ok := s.(*ir.Assign); ok {
			def = a.Var
			if src, ok := a.Value.(*ir.Var); ok {
				made[def] = made[src]
			}
		}
		if sc, ok := s.(*ir.Scope); ok && sc.Kind == ir.SplitAivScope {
			n.vector = true
		}
		ir.Exprs(s, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.OpCall:
				k.opNeed(&n, e, def, made)
			case *ir.Call:
				if g := k.calls.byName[e.Callee]; g != nil {
					n.cube = n.cube || g.Type == ir.AIC || g.Type == ir.Group
					n.vector = n.vector || g.Type == ir.AIV || g.Type == ir.Group
				}
			}
			return true
		})
		return true
	})
	return n
}

func (k *abiPass) opNeed(n *coreNeed, c *ir.OpCall, def *ir.Var, made map[*ir.Var]ops.Core) {
	spec := k.ctx.Ops.Lookup(c.Op)
	core := ops.AnyCore
	if spec != nil {
		core = spec.Core
	}
	result := memCore(c.Typ)
	switch {
	case core == ops.AnyCore && result != ops.AnyCore:
		core = result
	case core == ops.AnyCore:
		// A store runs where its tile is.
		for _, a := range c.Args {
			if m := memCore(a.Type()); m != ops.AnyCore {
				core = m
				break
			}
		}
	}
	n.cube = n.cube || core == ops.CubeCore
	n.vector = n.vector || core == ops.VectorCore
	for _, a := range c.Args {
		from := memCore(a.Type())
		if v, ok := a.(*ir.Var); ok && from == ops.AnyCore {
			from = made[v]
		}
		if core != ops.AnyCore && from != ops.AnyCore && from != core {
			n.crosses = true
			n.pipe = max(n.pipe, byteSize(a.Type()))
		}
		n.cube = n.cube || from == ops.CubeCore
		n.vector = n.vector || from == ops.VectorCore
		if core == ops.AnyCore && def != nil && made[def] == ops.AnyCore {
			made[def] = from // windows and reshapes stay where their source is
		}
	}
	if core != ops.AnyCore && def != nil && isStorage(def.Typ) {
		made[def] = core
	}
}

// memCore is the core that a tile's memory space belongs to.
func memCore(t ir.Type) ops.Core {
	tt, ok := t.(*ir.TileType)
	switch {
	case !ok:
		return ops.AnyCore
	case tt.Mem.IsCube():
		return ops.CubeCore
	case tt.Mem == ir.Vec:
		return ops.VectorCore
	}
	return ops.AnyCore
}

// byteSize is the size of a tile or tensor with literal extents, 0 when unknown.
func byteSize(t ir.Type) int64 {
	n := int64(ir.ElemDType(t).Bytes())
	for _, d := range ir.ShapeOf(t) {
		v, ok := ir.IntValue(d)
		if !ok {
			return 0
		}
		n *= v
	}
	return n
}

// split makes the two parts of a mixed kernel and the group that stands for it.
func (k *abiPass) split(f *ir.Function, tile int64) {
	n := k.need(f)
	if n.crosses {
		slots := int64(pipeSlots)
		if v, ok := f.Attrs.Get("slot_num"); ok {
			if s, ok := v.(int64); ok && s > 0 {
				slots = s
			}
		}
		size := max(tile*slots/4, 1)
		g := *f
		g.Params = append(slices.Clip(f.Params), ir.Param{Dir: ir.Out,
			Var: &ir.Var{Hint: pipeParam, Typ: pipeType(f.Pos), Pos: f.Pos}})
		f = &g
		k.added[f.Name] = append(k.added[f.Name], addedParam{hint: pipeParam, typ: pipeType(f.Pos), pipe: size})
	}
	aic := cloneFunction(f, k.names.fresh(f.Name+"_aic"))
	aic.Type, aic.Level, aic.Role = ir.AIC, "", ""
	aic.Attrs = append(slices.Clip(f.Attrs), ir.Attr{Key: mixedOf, Value: f.Name})

	outline := *f
	outline.Body = nil
	back := k.calls.returned(f.Name)
	ret := &ir.Return{Pos: f.Pos}
	for _, i := range back {
		if i >= 0 {
			ret.Values = append(ret.Values, f.Params[i].Var)
		}
	}
	if len(ret.Values) > 0 {
		outline.Body = ir.Block{ret}
	}
	aiv := cloneFunction(&outline, k.names.fresh(f.Name+"_aiv"))
	aiv.Type, aiv.Level, aiv.Role, aiv.DualAIV = ir.AIV, "", "", true
	aiv.Attrs = append(slices.Clip(f.Attrs), ir.Attr{Key: mixedOf, Value: f.Name})

	group := cloneFunction(&outline, f.Name)
	group.Type, group.Level, group.Role, group.DualAIV, group.Split = ir.Group, "", "", true, ir.SplitNone
	args := make([]ir.Expr, len(group.Params))
	for i, p := range group.Params {
		args[i] = p.Var
	}
	var typ ir.Type = &ir.TupleType{}
	switch len(f.Returns) {
	case 0:
	case 1:
		typ = f.Returns[0]
	default:
		typ = &ir.TupleType{Elems: f.Returns}
	}
	body := ir.Block{
		&ir.Eval{X: &ir.Call{Callee: aic.Name, Args: args, Typ: typ, Pos: f.Pos}, Pos: f.Pos},
		&ir.Eval{X: &ir.Call{Callee: aiv.Name, Args: args, Typ: typ, Pos: f.Pos}, Pos: f.Pos},
	}
	group.Body = append(body, group.Body...)
	k.calls.set(aic)
	k.calls.set(aiv)
	k.calls.set(group)
	k.parts[f.Name] = []*ir.Function{aic, aiv}
	k.ctx.Note(f.Pos, fmt.Sprintf("kernel %s uses both kinds of cores: split into %s and %s", f.Name, aic.Name, aiv.Name))
}

// pipeType is the type of a pipe buffer parameter: its size differs from launch to launch.
func pipeType(at diag.Span) *ir.TensorType {
	return &ir.TensorType{Shape: []ir.Expr{&ir.Var{Hint: "gm_pipe_size", Typ: ir.IndexType, Pos: at, Dyn: true}}, DType: ir.FP32}
}

// cloneFunction copies a function under a new name with Vars of its own.
func cloneFunction(f *ir.Function, name string) *ir.Function {
	subst := map[*ir.Var]*ir.Var{}
	rw := &ir.Rewriter{}
	own := map[*ir.Var]bool{}
	for _, p := range f.Params {
		own[p.Var] = true
	}
	innerDefs(f.Body, func(v *ir.Var) { own[v] = true })
	rw.Var = func(v *ir.Var) *ir.Var {
		if !own[v] {
			return nil
		}
		n := subst[v]
		if n == nil {
			n = &ir.Var{Hint: v.Hint, Pos: v.Pos, Dyn: v.Dyn}
			subst[v] = n
			n.Typ = rw.Type(v.Typ)
		}
		return n
	}
	g := *f
	g.Name = name
	g.Params = make([]ir.Param, len(f.Params))
	for i, p := range f.Params {
		g.Params[i] = ir.Param{Var: rw.NewVar(p.Var), Dir: p.Dir}
	}
	g.Returns = make([]ir.Type, len(f.Returns))
	for i, t := range f.Returns {
		g.Returns[i] = rw.Type(t)
	}
	if f.Returns == nil {
		g.Returns = nil
	}
	g.Body = rw.Block(f.Body)
	return &g
}

// flattenGroup replaces launches of groups inside a group by the kernels of those groups.
func (k *abiPass) flattenGroup(name string) {
	f := k.calls.byName[name]
	changed := false
	g := *f
	g.Body = rewriteBlock(f.Body, func(s ir.Stmt) ([]ir.Stmt, bool) {
		call := callOf(s)
		if call == nil || call.Submit {
			return nil, false
		}
		in := k.calls.byName[call.Callee]
		if in == nil || in.Type != ir.Group || in.Name == name || len(call.Args) != len(in.Params) {
			return nil, false
		}
		changed = true
		g.DualAIV = g.DualAIV || in.DualAIV
		c := cloneFunction(in, in.Name)
		actual := map[*ir.Var]ir.Expr{}
		for i, p := range c.Params {
			actual[p.Var] = call.Args[i]
		}
		rw := &ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
			if v, ok := e.(*ir.Var); ok {
				if a := actual[v]; a != nil {
					return a
				}
			}
			return e
		}}
		body := rw.Block(c.Body)
		out := slices.Clone(body)
		if ret := trailingReturn(body); ret != nil {
			out = out[:len(out)-1]
			if a, ok := s.(*ir.Assign); ok {
				var v ir.Expr = &ir.MakeTuple{Elems: ret.Values, Pos: a.Pos}
				if !isTuple(a.Var.Typ) && len(ret.Values) == 1 {
					v = ret.Values[0]
				}
				out = append(out, withValue(a, v))
			}
		}
		return out, true
	})
	if changed {
		k.calls.set(&g)
	}
}
