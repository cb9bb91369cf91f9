// Package irtest makes programs for tests: short constructors, and random programs from a seed.
package irtest

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Tensor is a packed tensor with literal extents.
func Tensor(d ir.DType, dims ...int64) *ir.TensorType {
	return &ir.TensorType{Shape: Dims(dims...), DType: d}
}

// Tile is a tile with literal extents and no memory space yet.
func Tile(d ir.DType, dims ...int64) *ir.TileType {
	return &ir.TileType{Shape: Dims(dims...), DType: d}
}

// Dims is a list of INDEX literals.
func Dims(dims ...int64) []ir.Expr {
	es := make([]ir.Expr, len(dims))
	for i, n := range dims {
		es[i] = ir.Int(n)
	}
	return es
}

// Var is a new variable.
func Var(hint string, t ir.Type) *ir.Var { return &ir.Var{Hint: hint, Typ: t} }

// Index is a new INDEX scalar.
func Index(hint string) *ir.Var { return Var(hint, ir.IndexType) }

// Dyn is a new dynamic symbol.
func Dyn(hint string) *ir.Var { return &ir.Var{Hint: hint, Typ: ir.IndexType, Dyn: true} }

// List is a list operand.
func List(es ...ir.Expr) *ir.MakeTuple { return &ir.MakeTuple{Elems: es} }

// Op is an op call of type t.
func Op(name string, t ir.Type, args ...ir.Expr) *ir.OpCall {
	return &ir.OpCall{Op: name, Args: args, Typ: t}
}

// Call is a plain call of a function of the program.
func Call(callee string, t ir.Type, args ...ir.Expr) *ir.Call {
	return &ir.Call{Callee: callee, Args: args, Typ: t}
}

// Submit is a submit with results of the given types and a TaskId.
func Submit(callee string, results []ir.Type, args ...ir.Expr) *ir.Call {
	elems := append(append([]ir.Type(nil), results...), ir.TaskIDType)
	return &ir.Call{Callee: callee, Args: args, Submit: true, Typ: &ir.TupleType{Elems: elems}}
}

// Bin is x op y with the dtype that the operator gives.
func Bin(op ir.BinOp, x, y ir.Expr) *ir.Binary {
	d := ir.ElemDType(x.Type())
	if op.IsCompare() || op.IsLogic() {
		d = ir.BOOL
	}
	return &ir.Binary{Op: op, X: x, Y: y, DType: d}
}

// Set is v = e.
func Set(v *ir.Var, e ir.Expr) *ir.Assign { return &ir.Assign{Var: v, Value: e} }

// Get is element i of a tuple.
func Get(x ir.Expr, i int) *ir.TupleGet { return &ir.TupleGet{X: x, Index: i} }

// Range is a sequential loop from 0 to stop.
func Range(v *ir.Var, stop ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Start: ir.Int(0), Stop: stop, Step: ir.Int(1), Body: body}
}

// Return is a return of values.
func Return(values ...ir.Expr) *ir.Return { return &ir.Return{Values: values} }

// Yield is a yield of values.
func Yield(values ...ir.Expr) *ir.Yield { return &ir.Yield{Values: values} }

// In, Out and InOut are parameters.
func In(v *ir.Var) ir.Param    { return ir.Param{Var: v, Dir: ir.In} }
func Out(v *ir.Var) ir.Param   { return ir.Param{Var: v, Dir: ir.Out} }
func InOut(v *ir.Var) ir.Param { return ir.Param{Var: v, Dir: ir.InOut} }

// Func is a function with runtime scopes still to be placed, results those of its last statement when that is a return.
func Func(name string, t ir.FuncType, params []ir.Param, body ...ir.Stmt) *ir.Function {
	f := &ir.Function{Name: name, Type: t, Params: params, Body: body, AutoScope: true}
	if len(body) > 0 {
		if r, ok := body[len(body)-1].(*ir.Return); ok {
			for _, v := range r.Values {
				f.Returns = append(f.Returns, v.Type())
			}
		}
	}
	return f
}

// Program is a program of functions.
func Program(fs ...*ir.Function) *ir.Program { return &ir.Program{Name: "Program", Funcs: fs} }

// Line is a place in a file.
func Line(file string, line int) diag.Span {
	return diag.Span{File: file, Line: int32(line), Col: 5, EndLine: int32(line), EndCol: 20}
}

// Ops tells the verifier about the ops that the programs of this package use.
type Ops struct{}

func (Ops) IsHostOp(op string) bool {
	switch op {
	case "tensor.create", "tensor.read", "tensor.write", "tensor.slice", "tensor.assemble", "tensor.dim", "tensor.reshape", "tensor.view", "tensor.transpose",
		"array.create", "array.get_element", "array.update_element", "system.task_invalid", "system.task_dummy", "system.task_is_valid":
		return true
	}
	return false
}

func (Ops) Allocates(op string) bool { return op == "tensor.create" || op == "tensor.full" }

func (Ops) WritesThrough(op string) int {
	switch op {
	case "tile.store":
		return 2
	case "tensor.assemble":
		return 0
	}
	return -1
}
