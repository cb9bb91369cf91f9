package ir_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	. "github.com/ptobuild/ptobuild/ir/irtest"
)

// Fixtures of the acceptance list: k(a, o Out), upd(x InOut), two(a, p Out, q Out), gate(x, rc Out) without result, mix = a Group around k.

var T = Tensor(ir.FP32, 16, 16)

func kernelK() *ir.Function {
	a, o := Var("a", T), Var("o", T)
	return Func("k", ir.AIV, []ir.Param{In(a), Out(o)}, Return(o))
}

func kernelUpd() *ir.Function {
	x := Var("x", T)
	return Func("upd", ir.AIV, []ir.Param{InOut(x)}, Return(x))
}

func kernelTwo() *ir.Function {
	a, p, q := Var("a", T), Var("p", T), Var("q", T)
	return Func("two", ir.AIV, []ir.Param{In(a), Out(p), Out(q)}, Return(p, q))
}

func kernelGate() *ir.Function {
	return Func("gate", ir.AIV, []ir.Param{In(Var("x", T)), Out(Var("rc", Tensor(ir.INT32, 8, 1)))})
}

func groupMix(dirs ...ir.ParamDir) *ir.Function {
	a, o := Var("a", T), Var("o", T)
	c := Call("k", T, a, o)
	c.Dirs = []ir.ArgDir{ir.DirInput, ir.DirInOut}
	r := Var("r", T)
	return Func("mix", ir.Group, []ir.Param{{Var: a, Dir: dirs[0]}, {Var: o, Dir: dirs[1]}}, Set(r, c), Return(o))
}

// orch wraps statements into main(x, y Out) -> T behind the kernels.
func orch(body func(x, y *ir.Var) []ir.Stmt) *ir.Program {
	x, y := Var("x", T), Var("y", T)
	main := Func("main", ir.Orchestration, []ir.Param{In(x), Out(y)}, body(x, y)...)
	for i, s := range main.Body {
		at(s, 10+i)
	}
	return Program(kernelK(), kernelUpd(), kernelTwo(), kernelGate(), main)
}

// at puts a statement on a line.
func at(s ir.Stmt, line int) {
	pos := Line("main.py", line)
	switch s := s.(type) {
	case *ir.Assign:
		s.Pos = pos
	case *ir.Eval:
		s.Pos = pos
	case *ir.For:
		s.Pos = pos
	case *ir.While:
		s.Pos = pos
	case *ir.If:
		s.Pos = pos
	case *ir.Scope:
		s.Pos = pos
	case *ir.Return:
		s.Pos = pos
	case *ir.Yield:
		s.Pos = pos
	case *ir.Branch:
		s.Pos = pos
	}
}

func carry(iter, init, result *ir.Var) ir.Carry {
	return ir.Carry{Iter: iter, Init: init, Result: result}
}

// TestVerify: each entry names the property, the program and a fragment of the report; an empty fragment means that the program is fine.
func TestVerify(t *testing.T) {
	i := ir.Int
	n := func() *ir.Var { return Index("n") }
	create := func() *ir.OpCall { return Op("tensor.create", T, List(i(16), i(16))) }
	dirs := func(c *ir.Call, ds ...ir.ArgDir) *ir.Call { c.Dirs = ds; return c }
	for _, tt := range []struct {
		id   string
		prop ir.Property
		p    *ir.Program
		want string
	}{
		// SSAForm
		{"SSA 1", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, x, y)), Return(y)} }),
			"10:5: error[PTO-V101]: 'y' is assigned more than once"},
		{"SSA 1", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			v := Var("v__ssa_v1", T)
			return []ir.Stmt{Set(v, x), Set(v, y)}
		}), "'v' (v__ssa_v1) is assigned more than once"},
		{"SSA 3", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.For{Var: n(), Start: i(0), Stop: i(4), Step: i(1), Carries: []ir.Carry{carry(Var("a", T), x, Var("b", T))}}}
		}), "PTO-V103]: the loop body does not end in a yield, but 1 results"},
		{"SSA 3", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.If{Cond: Bin(ir.Eq, i(1), i(1)), Then: ir.Block{Yield(x)}, Results: []*ir.Var{Var("a", T)}}}
		}), "the else branch does not end in a yield"},
		{"SSA 5", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.While{Cond: Bin(ir.Eq, i(1), i(1)), Body: ir.Block{Yield(x, y)}, Carries: []ir.Carry{carry(Var("a", T), x, Var("b", T))}}}
		}), "PTO-V105]: the loop body yields 2 values, 1 are expected"},
		{"SSA 6", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			v := Var("v", T)
			return []ir.Stmt{Range(n(), i(4), Set(v, x)), Return(v)}
		}), "11:5: error[PTO-V106]: 'v' is used outside its defining scope"},
		{"SSA 6, the other branch", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			v := Var("v", T)
			return []ir.Stmt{&ir.If{Cond: Bin(ir.Eq, i(1), i(1)), Then: ir.Block{Set(v, x)}, Else: ir.Block{&ir.Eval{X: v}}}}
		}), "'v' is used outside"},
		{"SSA 6, edges of the compiler may", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			v := Var("v", T)
			c := Call("k", T, x, y)
			c.CompilerDeps = []*ir.Var{v}
			return []ir.Stmt{Range(n(), i(4), Set(v, x)), &ir.Eval{X: c}}
		}), ""},
		{"P-SSA-14", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			it, tid, rv, tmp := Var("prev__iter_v1", ir.TaskIDType), Var("prev__ssa_v0", ir.TaskIDType), Var("prev__rv_v2", ir.TaskIDType), Var("tmp", nil)
			s := Submit("k", []ir.Type{T}, x, y)
			tmp.Typ = s.Typ
			loop := Range(n(), i(4), Set(tmp, s), Set(tid, Get(tmp, 1)), Yield(tid))
			loop.Carries = []ir.Carry{carry(it, tid, rv)}
			return []ir.Stmt{loop}
		}), "'prev' (prev__ssa_v0) is used outside its defining scope (help: seed 'prev' with None before the loop, or collect the ids in pl.array.create"},
		{"P-SSA-12", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Range(n(), i(4), Yield(), &ir.Eval{X: x})}
		}), "YieldStmt at position 1"},
		{"P-SSA-12", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Yield(x)} }), "YieldStmt at position 1"},
		{"P-SSA-13", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			a, b := Var("a", T), Var("b", T)
			loop := Range(n(), i(4), &ir.Scope{Kind: ir.RuntimeScope, Manual: true, Body: ir.Block{Yield(a)}})
			loop.Carries = []ir.Carry{carry(a, x, b)}
			return []ir.Stmt{&ir.Scope{Kind: ir.RuntimeScope, Manual: true, Body: ir.Block{loop}}, Return(b)}
		}), ""},
		{"a yield cannot leave a kernel scope", ir.SSAForm, orch(func(x, y *ir.Var) []ir.Stmt {
			a := Var("a", T)
			loop := Range(n(), i(4), &ir.Scope{Kind: ir.InCoreScope, Body: ir.Block{Yield(a)}}, Yield(a))
			loop.Carries = []ir.Carry{carry(a, x, Var("b", T))}
			return []ir.Stmt{loop}
		}), "YieldStmt at position 1"},

		// UseAfterDef
		{"401", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("v", T), Var("w", T))} }),
			"10:5: error[PTO-V110]: 'w' is read here, but nothing above defines it"},
		{"401, later", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt {
			w := Var("w", T)
			return []ir.Stmt{Set(Var("v", T), w), Set(w, x)}
		}), "'w' is read here"},
		{"401, deps", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt {
			s := Submit("k", nil, x, y)
			s.Launch.Deps = []ir.Expr{Var("t", ir.TaskIDType)}
			return []ir.Stmt{&ir.Eval{X: s}}
		}), "'t' is read here"},
		{"leaky form", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt {
			v := Var("v", T)
			return []ir.Stmt{&ir.If{Cond: Bin(ir.Eq, i(1), i(1)), Then: ir.Block{Set(v, x)}}, Return(v)}
		}), ""},
		{"loop variables", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt {
			v, a := n(), n()
			loop := Range(v, i(4), &ir.Eval{X: Bin(ir.Add, v, a)}, Yield(a))
			loop.Carries = []ir.Carry{{Iter: a, Init: i(0), Result: n()}}
			return []ir.Stmt{loop}
		}), ""},
		{"symbols", ir.UseAfterDef, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Dyn("M")}} }), ""},

		// NoNestedCalls
		{"argument", ir.NoNestedCalls, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, create(), y))} }),
			"PTO-V111]: the call of tensor.create is nested in the arguments of k"},
		{"operand", ir.NoNestedCalls, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(n(), Bin(ir.Add, Op("tensor.dim", ir.IndexType, x, i(0)), i(1)))}
		}), "nested in an expression"},
		{"condition", ir.NoNestedCalls, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.If{Cond: Bin(ir.Eq, Op("tensor.dim", ir.IndexType, x, i(0)), i(1))}}
		}), "nested in the operands of the if"},
		{"return", ir.NoNestedCalls, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Return(create())} }), "nested in the operands of the return"},
		{"P-FLT-04", ir.NoNestedCalls, orch(func(x, y *ir.Var) []ir.Stmt {
			s := Submit("k", []ir.Type{T}, x, y)
			s.Launch.Predicate = Bin(ir.Gt, Op("tensor.read", ir.Scalar(ir.INT32), x, List(i(0))), i(0))
			s.Launch.CoreNum = Op("system.available_cluster_count", ir.IndexType)
			return []ir.Stmt{Set(Var("r", s.Typ), s)}
		}), ""},

		// TypeChecked
		{"assign", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("v", Tensor(ir.FP16, 16, 16)), x)} }),
			"PTO-V201]: the value does not have the type of 'v': dtype fp32 vs fp16"},
		{"assign", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("v", Tensor(ir.FP32, 16, 32)), x)} }), "shape dimension 1 = 16 ≠ 32"},
		{"assign", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("v", Tensor(ir.FP32, 16)), x)} }), "rank 2 vs rank 1"},
		{"assign", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(n(), x)} }), "tensor vs index scalar"},
		{"condition", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.If{Cond: i(1)}} }), "if condition must be a Bool-typed scalar expression"},
		{"condition", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.While{Cond: x}} }), "while condition must be a Bool-typed scalar expression"},
		{"bound", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Range(n(), x)} }), "a loop bound must be an integer, not tensor"},
		{"operands", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.Eval{X: Bin(ir.Add, i(1), &ir.ConstFloat{DType: ir.FP32})}}
		}), "requires same numeric dtype category: index and fp32"},
		{"operands", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Bin(ir.Add, x, x)}} }), "operand of + must be a scalar"},
		{"operands", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.Eval{X: &ir.Binary{Op: ir.Lt, X: i(1), Y: i(2), DType: ir.INDEX}}}
		}), "the result of < cannot be index"},
		{"tuple", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Get(List(x), 1)}} }), "element 1 of a tuple with 1 elements"},
		{"arguments", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, x))} }), "k expects 2 argument(s), got 1"},
		{"arguments", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, i(1), y))} }), "argument 1 of k does not fit parameter 'a': index scalar vs tensor"},
		{"submit of a prefix", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Submit("two", []ir.Type{T, T}, x)}} }), ""},
		{"submit of a prefix", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Submit("upd", []ir.Type{T})}} }), "only Out params may be runtime-allocated"},
		{"call result", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Call("two", T, x, y, y)}} }), "the results of two: tensor vs tuple"},
		{"submit result", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt {
			s := Submit("k", []ir.Type{T}, x, y)
			s.Typ = T
			return []ir.Stmt{&ir.Eval{X: s}}
		}), "must give its 1 result(s) and a TaskId"},
		{"carried", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4), Yield(i(3)))
			loop.Carries = []ir.Carry{carry(Var("a", T), x, Var("b", T))}
			return []ir.Stmt{loop}
		}), "PTO-V206]: the yielded value does not have the type of the carried 'a': index scalar vs tensor"},
		{"returned", ir.TypeChecked, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.If{Cond: &ir.ConstBool{}, Then: ir.Block{Return(x, y)}}, Return(y)}
		}), "main returns 2 values, but declares 1 results"},

		// Structure
		{"C-WHL-02", ir.BreakContinueValid, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Branch{}} }), "'break' outside of a loop"},
		{"parallel", ir.BreakContinueValid, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4), &ir.If{Cond: &ir.ConstBool{}, Then: ir.Block{&ir.Branch{Continue: true}}})
			loop.Kind = ir.Parallel
			return []ir.Stmt{loop}
		}), "'continue' not supported inside pl.parallel loops"},
		{"range", ir.BreakContinueValid, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Range(n(), i(4), &ir.Branch{})} }), ""},
		{"kernel scope", ir.BreakContinueValid, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Range(n(), i(4), &ir.Scope{Kind: ir.InCoreScope, Body: ir.Block{&ir.Branch{}}})}
		}), "'break' outside of a loop"},
		{"empty else", ir.NoRedundantBlocks, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.If{Cond: &ir.ConstBool{}, Else: ir.Block{}}} }), "empty else"},
		{"after return", ir.NoRedundantBlocks, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Return(y), Return(y)} }), "11:5: error[PTO-V113]: statements after the return never run"},
		{"nested kernel scopes", ir.NoNestedInCore, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.Scope{Kind: ir.InCoreScope, Body: ir.Block{&ir.Scope{Kind: ir.InCoreScope}}}}
		}), "inside another one"},
		{"pipeline", ir.PipelineLoopValid, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4))
			loop.Kind = ir.Pipeline
			return []ir.Stmt{loop}
		}), "stage must be >= 1"},
		{"pipeline", ir.PipelineLoopValid, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4))
			loop.Stages = 2
			return []ir.Stmt{loop}
		}), "only supported on pl.pipeline"},
		{"unroll", ir.UnrollResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4))
			loop.Kind = ir.Unroll
			return []ir.Stmt{loop}
		}), "pl.unroll loop is left"},
		{"P-INL-09", ir.InlineFunctionsEliminated, func() *ir.Program {
			p := orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, Call("f", T, x), y))} })
			p.Funcs = append(p.Funcs, Func("f", ir.Inline, []ir.Param{In(Var("a", T))}))
			return p
		}(), "the call of the inline function f is left"},
		{"cluster", ir.ClusterOutlined, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.Scope{Kind: ir.SpmdScope, Launch: ir.Launch{CoreNum: i(4)}}}
		}), "pl.spmd scope is left in main"},

		// Parameters, results, calls
		{"P-VER-01", ir.ManualDepsOnSubmitOnly, orch(func(x, y *ir.Var) []ir.Stmt {
			c := Call("k", T, x, y)
			c.Attrs = ir.Attrs{{Key: "manual_dep_edges", Value: []ir.Expr{Var("t", ir.TaskIDType)}}}
			return []ir.Stmt{Set(y, c)}
		}), "PTO-V304]: the plain call of k has dependencies"},
		{"P-VER-01", ir.ManualDepsOnSubmitOnly, orch(func(x, y *ir.Var) []ir.Stmt {
			c := Submit("k", []ir.Type{T}, x, y)
			c.Attrs = ir.Attrs{{Key: "manual_dep_edges", Value: []ir.Expr{}}}
			return []ir.Stmt{Set(Var("r", c.Typ), c)}
		}), "PTO-V305]: the submit of k"},
		{"P-VER-01", ir.ManualDepsOnSubmitOnly, orch(func(x, y *ir.Var) []ir.Stmt {
			c := Op("system.task_dummy", ir.TaskIDType)
			c.Deps = []ir.Expr{Var("t", ir.TaskIDType)}
			return []ir.Stmt{Set(Var("b", ir.TaskIDType), c)}
		}), ""},
		{"P-VER-02", ir.OutParamNotShadowed, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, create()), Return(y)} }),
			"10:5: error[PTO-V301]: the output parameter 'y' is rebound to a fresh tensor by tensor.create"},
		{"P-VER-02, a local of the name of a version", ir.OutParamNotShadowed, orch(func(x, y *ir.Var) []ir.Stmt {
			y.Hint = "y__ssa_v0"
			return []ir.Stmt{Set(Var("y__ssa_v1", T), create())}
		}), ""},
		{"P-VER-02, a local", ir.OutParamNotShadowed, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("y_inline0", T), create())} }), ""},
		{"P-VER-03", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			a, b := Var("a", T), Var("b", T)
			return []ir.Stmt{Set(a, Call("upd", T, x)), Set(b, Call("k", T, x, y))}
		}), "11:5: error[PTO-V302]: 'x' is read after upd was given it to write"},
		{"P-VER-03, rebound", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(x, Call("upd", T, x)), Set(y, Call("k", T, x, y)), Return(y)}
		}), ""},
		{"P-VER-03, no result to read", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			rc := Var("rc", Tensor(ir.INT32, 8, 1))
			return []ir.Stmt{&ir.Eval{X: Call("gate", ir.Unknown, x, rc)}, &ir.Eval{X: rc}}
		}), ""},
		{"P-VER-03, overwritten again", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			t := Var("t", T)
			return []ir.Stmt{Set(Var("a", T), Call("k", T, x, t)), Set(Var("b", T), Call("k", T, x, t))}
		}), ""},
		{"P-VER-03, another branch", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.If{Cond: &ir.ConstBool{}, Then: ir.Block{Set(Var("a", T), Call("upd", T, x))}, Else: ir.Block{Set(y, Call("k", T, x, y))}}}
		}), ""},
		{"P-VER-03, after the branch", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{&ir.If{Cond: &ir.ConstBool{}, Then: ir.Block{Set(Var("a", T), Call("upd", T, x))}}, Set(y, Call("k", T, x, y))}
		}), "'x' is read after upd"},
		{"P-VER-03, submit", ir.InOutUseValid, orch(func(x, y *ir.Var) []ir.Stmt {
			s := Submit("upd", []ir.Type{T}, x)
			return []ir.Stmt{Set(Var("r", s.Typ), s), &ir.Eval{X: x}}
		}), "'x' is read after upd"},
		{"P-VER-04", ir.ArrayNotEscaped, orch(func(x, y *ir.Var) []ir.Stmt {
			a := Var("a", &ir.ArrayType{Len: 4, DType: ir.INT32})
			return []ir.Stmt{Set(y, Call("k", T, a, y))}
		}), "argument 1 of k is an array"},
		{"P-VER-04", ir.ArrayNotEscaped, Program(Func("f", ir.AIV, []ir.Param{In(Var("a", &ir.ArrayType{Len: 4, DType: ir.INT32}))})), "parameter 'a' of f is an array"},
		{"P-VER-04", ir.ArrayNotEscaped, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Return(Var("a", &ir.ArrayType{Len: 4, DType: ir.INT32}))}
		}), "main returns an array"},
		{"P-VER-05", ir.SplitIncoreOrch, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Op("tensor.add", T, x, x))} }),
			"10:5: warning[PTO-V309]: Misplaced tensor op 'tensor.add' in Orchestration function main"},
		{"P-VER-05", ir.SplitIncoreOrch, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Scope{Kind: ir.InCoreScope}} }), "error[PTO-V308]: a kernel scope is left"},
		{"P-VER-05", ir.SplitIncoreOrch, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(Var("t", T), create())} }), ""},
		{"P-VER-06", ir.OrchestrationReferencesResolved, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{&ir.Eval{X: Submit("kk", nil, x)}} }),
			"PTO-V310]: submit of 'kk', which is not a function of program Program (help: the program defines gate, k, main, two, upd)"},
		{"P-RET-08", ir.ReturnParamsExplicit, func() *ir.Program {
			f := Func("f", ir.InCore, []ir.Param{Out(Var("o", T))})
			f.Returns = []ir.Type{T}
			return Program(f)
		}(), "f has no ReturnStmt"},
		{"return alias", ir.ReturnParamsExplicit, func() *ir.Program {
			a, o, v, w := Var("a", T), Var("o", T), Var("v", Tile(ir.FP32, 16, 16)), Var("w", T)
			return Program(Func("f", ir.AIV, []ir.Param{In(a), Out(o)}, Set(w, Op("tile.store", T, v, List(i(0), i(0)), o)), Return(w)))
		}(), "return position 0 of f aliases parameter 1 ('o'), must reference the param directly"},
		{"return alias through a loop", ir.ReturnParamsExplicit, func() *ir.Program {
			a, o, v := Var("a", T), Var("o", T), Var("v", Tile(ir.FP32, 16, 16))
			it, w, r := Var("it", T), Var("w", T), Var("r", T)
			loop := Range(n(), i(4), Set(w, Op("tile.store", T, v, List(i(0), i(0)), it)), Yield(w))
			loop.Carries = []ir.Carry{carry(it, o, r)}
			return Program(Func("f", ir.AIV, []ir.Param{In(a), Out(o)}, loop, Return(r)))
		}(), "aliases parameter 1"},
		{"return alias through a call", ir.ReturnParamsExplicit, func() *ir.Program {
			a, o, r := Var("a", T), Var("o", T), Var("r", T)
			return Program(kernelK(), Func("g", ir.Group, []ir.Param{In(a), Out(o)}, Set(r, Call("k", T, a, o)), Return(r)))
		}(), "aliases parameter 1"},
		{"fresh result", ir.ReturnParamsExplicit, func() *ir.Program {
			w := Var("w", T)
			return Program(Func("f", ir.AIV, []ir.Param{In(Var("a", T))}, Set(w, create()), Return(w)))
		}(), ""},

		{"P-DIR-13 missing", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, Call("k", T, x, y))} }), "the call of k has no argument directions"},
		{"P-DIR-13 length", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt { return []ir.Stmt{Set(y, dirs(Call("k", T, x, y), ir.DirInput))} }), "1 argument directions for 2 arguments"},
		{"P-DIR-13 Input on Out", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(y, dirs(Call("k", T, x, y), ir.DirInput, ir.DirInput))}
		}), "argument 2 of k has direction input, but parameter 'o' is Out"},
		{"P-DIR-13 OutputExisting on In", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(y, dirs(Call("k", T, x, y), ir.DirOutputExisting, ir.DirInOut))}
		}), "argument 1 of k has direction output_existing, but parameter 'a' is In"},
		{"P-DIR-13 Output on InOut", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(x, dirs(Call("upd", T, x), ir.DirOutput))}
		}), "parameter 'x' is InOut"},
		{"P-DIR-13 scalar", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(y, dirs(Call("k", T, x, y), ir.DirScalar, ir.DirInOut))}
		}), "argument 1 of k is a tensor, its direction is scalar"},
		{"P-DIR-10", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			return []ir.Stmt{Set(y, dirs(Call("k", T, x, y), ir.DirNoDep, ir.DirNoDep))}
		}), ""},
		{"P-DIR-11 prefix", ir.CallDirectionsResolved, orch(func(x, y *ir.Var) []ir.Stmt {
			s := dirs(Submit("two", []ir.Type{T, T}, x), ir.DirInput)
			return []ir.Stmt{Set(Var("r", s.Typ), s)}
		}), ""},
		{"P-DIR-13 stale wrapper", ir.CallDirectionsResolved, Program(kernelK(), groupMix(ir.In, ir.In)), "mix declares parameter 'o' as In, but the kernels it forwards to make it Out"},
		{"P-DIR-12", ir.CallDirectionsResolved, Program(kernelK(), groupMix(ir.In, ir.Out)), ""},
		{"P-DIR-13 effective", ir.CallDirectionsResolved, func() *ir.Program {
			p := orch(func(x, y *ir.Var) []ir.Stmt {
				return []ir.Stmt{Set(y, dirs(Call("mix", T, x, y), ir.DirInput, ir.DirInput))}
			})
			p.Funcs = append(p.Funcs, groupMix(ir.In, ir.Out))
			return p
		}(), "argument 2 of mix has direction input"},

		{"P-SCO-01", ir.RuntimeScopesMaterialized, orch(func(x, y *ir.Var) []ir.Stmt { return nil }), "runtime scopes of main are not materialized"},
		{"P-CAR-01", ir.IterArgCarryClassified, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4), Yield(x))
			loop.Carries = []ir.Carry{carry(Var("a", T), x, Var("b", T))}
			return []ir.Stmt{loop}
		}), "iter_arg 0 'a' has no iter_arg_rebind_0"},
		{"P-CAR-03", ir.IterArgCarryClassified, orch(func(x, y *ir.Var) []ir.Stmt {
			loop := Range(n(), i(4), Yield(x))
			loop.Carries = []ir.Carry{{Iter: Var("a", T), Init: x, Result: Var("b", T), Class: ir.CarryAlias, Slots: 4}}
			return []ir.Stmt{loop}
		}), "has 4 slots, but is not a rebind"},
	} {
		got := ir.Verify(tt.p, Ops{}, tt.prop)
		switch {
		case tt.want == "" && len(got) > 0:
			t.Errorf("%s %s: unexpected report:\n%s", tt.prop, tt.id, got.Error())
		case !strings.Contains(got.Error(), tt.want):
			t.Errorf("%s %s: got\n%s\nwant %q", tt.prop, tt.id, got.Error(), tt.want)
		case tt.want != "" && len(got) > 1 && tt.id != "P-INL-09": // there the function is left, too
			t.Errorf("%s %s: more than one report:\n%s", tt.prop, tt.id, got.Error())
		}
	}
}

func TestVerifyMalformed(t *testing.T) {
	x := Var("x", T)
	for _, tt := range []struct {
		s    ir.Stmt
		want string
	}{
		{nil, "a nil statement in f"},
		{&ir.Assign{Var: x}, "an assignment without value"},
		{&ir.Assign{Value: x}, "an assignment without variable"},
		{&ir.Eval{X: &ir.Binary{Op: ir.Add, X: x}}, "an operator without operand"},
		{&ir.Eval{X: Op("a.b", T, nil)}, "a.b with a missing operand"},
		{&ir.Eval{X: &ir.Call{Callee: "k", CompilerDeps: []*ir.Var{nil}}}, "a call of k with a missing argument"},
		{&ir.For{Var: Index("i"), Start: ir.Int(0), Stop: ir.Int(1)}, "a loop without bound"},
		{&ir.If{}, "an if without condition"},
		{&ir.Scope{Kind: ir.SpmdScope}, "an spmd scope without core_num"},
		{&ir.Scope{Attrs: ir.Attrs{{Key: "k", Value: 3}}}, `attribute "k" has a value of Go type int`},
		{&ir.While{Cond: &ir.ConstBool{}, Carries: []ir.Carry{{}}}, "a carried value without variable"},
	} {
		got := ir.Verify(Program(Func("f", ir.Opaque, nil, tt.s)), nil, allProperties()...)
		if !strings.Contains(got.Error(), "PTO-V001]: malformed program: "+tt.want) {
			t.Errorf("got %s\nwant %s", got.Error(), tt.want)
		}
	}
	if got := ir.Verify(Program(kernelK(), kernelK()), nil); !strings.Contains(got.Error(), `duplicate function name "k"`) {
		t.Error(got)
	}
}

// TestRandomProgramsAreValid: what irtest promises to other tests.
func TestRandomProgramsAreValid(t *testing.T) {
	for seed := range uint64(200) {
		if got := ir.Verify(RandomProgram(seed), Ops{}, append(ir.StructuralProperties(), ir.SplitIncoreOrch, ir.OrchestrationReferencesResolved)...); len(got) > 0 {
			t.Fatalf("seed %d:\n%s", seed, got.Error())
		}
	}
}

func TestVerifyKnowsItsProperties(t *testing.T) {
	for _, p := range allProperties() {
		if !ir.IsVerifiable(p) {
			t.Errorf("no verifier for %s", p)
		}
	}
	if ir.IsVerifiable("acme.Foo") {
		t.Error("a plugin's property has a verifier")
	}
	if got := ir.Verify(Program(kernelK()), nil, "acme.Foo"); len(got) > 0 {
		t.Error(got)
	}
}

func TestCheckUserName(t *testing.T) {
	v := &ir.Var{Hint: "a__b", Pos: diag.Span{File: "f.py", Line: 3, Col: 1}}
	if d := ir.CheckUserName(v); d == nil || !strings.Contains(d.Error(), "reserved delimiter '__'") || !strings.Contains(d.Hint, "'a_b'") { // P-SSA-11
		t.Errorf("got %v", d)
	}
	if d := ir.CheckUserName(Index("a_b")); d != nil {
		t.Error(d)
	}
}

func TestParamOfArg(t *testing.T) {
	ctx := &ir.OpaqueType{Name: "pld.CommCtxType"}
	f := Func("f", ir.AIV, []ir.Param{In(Var("a", T)), Out(Var("o", T)), Out(Var("p", T)), In(Var("c", ctx))})
	for _, tt := range []struct {
		nargs int
		want  []int
	}{
		{4, []int{0, 1, 2, 3}}, {3, []int{0, 1, 3}}, {2, []int{0, 3}}, {5, []int{-1}},
	} {
		for i, want := range tt.want {
			if got := f.ParamOfArg(tt.nargs, i); got != want {
				t.Errorf("argument %d of %d binds parameter %d, want %d", i, tt.nargs, got, want)
			}
		}
	}
}

func TestReturnedParams(t *testing.T) {
	ext := Func("e", ir.AIC, []ir.Param{In(Var("a", T)), Out(Var("o", T)), InOut(Var("p", T))})
	ext.External, ext.Returns = &ir.External{}, []ir.Type{T, ir.IndexType, T}
	for _, tt := range []struct {
		f    *ir.Function
		want string
	}{
		{kernelTwo(), "[1 2]"}, {kernelGate(), "[]"}, {ext, "[1 -1 2]"},
	} {
		if got := fmt.Sprint(tt.f.ReturnedParams()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.f.Name, got, tt.want)
		}
	}
}
