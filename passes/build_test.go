package passes

import (
	"github.com/ptobuild/ptobuild/ir"
)

// Small builders for programs in tests. Types: T is a 16x16 FP32 tensor.

var tensorT = &ir.TensorType{Shape: []ir.Expr{ir.Int(16), ir.Int(16)}, DType: ir.FP32}

func tvar(name string) *ir.Var { return &ir.Var{Hint: name, Typ: tensorT} }
func ivar(name string) *ir.Var { return &ir.Var{Hint: name, Typ: ir.IndexType} }
func idvar(name string) *ir.Var {
	return &ir.Var{Hint: name, Typ: ir.TaskIDType}
}

func set(v *ir.Var, e ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Value: e} }
func ret(es ...ir.Expr) ir.Stmt        { return &ir.Return{Values: es} }
func yield(es ...ir.Expr) ir.Stmt      { return &ir.Yield{Values: es} }

func call(name string, args ...ir.Expr) *ir.Call {
	return &ir.Call{Callee: name, Args: args, Typ: tensorT}
}

func submit(name string, deps []ir.Expr, args ...ir.Expr) *ir.Call {
	return &ir.Call{Callee: name, Args: args, Submit: true, Launch: ir.Launch{Deps: deps}, Typ: &ir.TupleType{Elems: []ir.Type{tensorT, ir.TaskIDType}}}
}

func get(x ir.Expr, i int) ir.Expr { return &ir.TupleGet{X: x, Index: i} }

func op(name string, t ir.Type, args ...ir.Expr) *ir.OpCall {
	return &ir.OpCall{Op: name, Args: args, Typ: t}
}

func create() ir.Expr {
	return op("tensor.create", tensorT, &ir.MakeTuple{Elems: []ir.Expr{ir.Int(16), ir.Int(16)}})
}
func none() ir.Expr { return op("system.task_invalid", ir.TaskIDType) }
func readElem(t ir.Expr, idx ...ir.Expr) ir.Expr {
	return op("tensor.read", ir.IndexType, t, &ir.MakeTuple{Elems: idx})
}

func bin(o ir.BinOp, x, y ir.Expr) *ir.Binary {
	d := ir.INDEX
	if o.IsCompare() || o.IsLogic() {
		d = ir.BOOL
	}
	return &ir.Binary{Op: o, X: x, Y: y, DType: d}
}

func forN(v *ir.Var, n int64, body ...ir.Stmt) *ir.For { return forTo(v, ir.Int(n), body...) }
func forTo(v *ir.Var, n ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Start: ir.Int(0), Stop: n, Step: ir.Int(1), Body: body}
}

func fn(name string, t ir.FuncType, params []ir.Param, body ...ir.Stmt) *ir.Function {
	return &ir.Function{Name: name, Type: t, Params: params, Body: body, AutoScope: true}
}
func in(v *ir.Var) ir.Param    { return ir.Param{Var: v} }
func out(v *ir.Var) ir.Param   { return ir.Param{Var: v, Dir: ir.Out} }
func inout(v *ir.Var) ir.Param { return ir.Param{Var: v, Dir: ir.InOut} }

func program(fs ...*ir.Function) *ir.Program { return &ir.Program{Name: "P", Funcs: fs} }
