package lower_test

import (
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// Small constructors for IR in the form that lowering takes.

var T = &ir.TensorType{Shape: []ir.Expr{ir.Int(16), ir.Int(16)}, DType: ir.FP32}

func tensor(hint string) *ir.Var { return &ir.Var{Hint: hint, Typ: T} }
func index(hint string) *ir.Var  { return &ir.Var{Hint: hint, Typ: ir.IndexType} }
func taskID(hint string) *ir.Var { return &ir.Var{Hint: hint, Typ: ir.TaskIDType} }

func param(v *ir.Var, d ir.ParamDir) ir.Param { return ir.Param{Var: v, Dir: d} }

// kernel makes a kernel whose results are its Out and InOut parameters.
func kernel(name string, t ir.FuncType, params ...ir.Param) *ir.Function {
	f := &ir.Function{Name: name, Type: t, Params: params}
	r := &ir.Return{}
	for _, p := range params {
		if p.Dir != ir.In {
			r.Values = append(r.Values, p.Var)
			f.Returns = append(f.Returns, p.Var.Typ)
		}
	}
	f.Body = ir.Block{r}
	return f
}

func k() *ir.Function {
	return kernel("k", ir.AIV, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
}

func set(v *ir.Var, e ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Value: e} }

var dirOf = [...]ir.ArgDir{ir.In: ir.DirInput, ir.Out: ir.DirOutputExisting, ir.InOut: ir.DirInOut}

// callOf calls f with the directions of its parameters.
func callOf(f *ir.Function, args ...ir.Expr) *ir.Call {
	c := &ir.Call{Callee: f.Name, Args: args, Typ: ir.Unknown}
	if len(f.Returns) == 1 {
		c.Typ = f.Returns[0]
	} else if len(f.Returns) > 1 {
		c.Typ = &ir.TupleType{Elems: f.Returns}
	}
	for i := range args {
		d := ir.DirScalar
		if ir.IsTensor(f.Params[i].Var.Typ) {
			d = dirOf[f.Params[i].Dir]
		}
		c.Dirs = append(c.Dirs, d)
	}
	return c
}

func submitOf(f *ir.Function, deps []ir.Expr, args ...ir.Expr) *ir.Call {
	c := callOf(f, args...)
	c.Submit = true
	c.Launch.Deps = deps
	c.Typ = &ir.TupleType{Elems: append(append([]ir.Type{}, f.Returns...), ir.TaskIDType)}
	return c
}

func create(v *ir.Var) ir.Stmt {
	t := v.Typ.(*ir.TensorType)
	return set(v, &ir.OpCall{Op: "tensor.create", Args: []ir.Expr{&ir.MakeTuple{Elems: t.Shape}}, Kwargs: ir.Kwargs{{Name: "dtype", Value: t.DType}}, Typ: t})
}

func auto(b ...ir.Stmt) ir.Stmt {
	return &ir.Scope{Kind: ir.RuntimeScope, Owner: ir.CompilerScope, Body: b}
}
func manual(b ...ir.Stmt) ir.Stmt { return &ir.Scope{Kind: ir.RuntimeScope, Manual: true, Body: b} }

func get(v *ir.Var, tuple *ir.Var, i int) ir.Stmt { return set(v, &ir.TupleGet{X: tuple, Index: i}) }

// orchestration makes a program with one orchestration function main.
func orchestration(kernels []*ir.Function, params []ir.Param, body ...ir.Stmt) *ir.Program {
	f := &ir.Function{Name: "main", Type: ir.Orchestration, Params: params, Body: body}
	return &ir.Program{Name: "P", Funcs: append(kernels, f)}
}

func lowered(t *testing.T, p *ir.Program, opt lower.Options) (*plan.File, diag.List) {
	t.Helper()
	return lower.Lower(p, p.Lookup("main"), ops.Builtin(), opt)
}

func mustPrint(t *testing.T, p *ir.Program) string {
	t.Helper()
	f, ds := lowered(t, p, lower.Options{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	code, _ := orch.Print(f, orch.Default())
	return code
}
