package orch

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

func nm(s string) *plan.Name { return &plan.Name{Hint: s, Text: s} }
func ref(s string) plan.Expr { return &plan.Ref{Name: nm(s)} }
func num(v int64) plan.Expr  { return &plan.Int{Value: v, DType: ir.INDEX} }
func f32(v float64) plan.Expr {
	return &plan.Float{Value: v, DType: ir.FP32}
}
func bin(op ir.BinOp, x, y plan.Expr) *plan.Binary {
	d := ir.INDEX
	if op.IsCompare() || op.IsLogic() {
		d = ir.BOOL
	}
	return &plan.Binary{Op: op, X: x, Y: y, DType: d}
}

func at(line int32) plan.At {
	return plan.At{Pos: diag.Span{File: "every.py", Line: line, Col: 5, EndLine: line, EndCol: 20}}
}

var (
	number = plan.CType{Kind: plan.Number, DType: ir.INDEX}
	handle = plan.CType{Kind: plan.TensorT}
	taskT  = plan.CType{Kind: plan.TaskT}
	u32    = plan.CType{Kind: plan.Uint32T}
)

func let(line int32, name string, x plan.Expr) plan.Stmt {
	return &plan.Decl{At: at(line), Name: nm(name), Type: number, Init: x}
}

// everything is a plan with every statement and expression.
func everything() *plan.File {
	slot := int64(3)
	deps := func(prefix string, es ...plan.Dep) *plan.Deps {
		return &plan.Deps{Array: nm(prefix + "_deps"), Count: nm(prefix + "_deps_count"), Entries: es}
	}
	floored := func(op ir.BinOp, d ir.DType, x, y plan.Expr) plan.Expr {
		return &plan.Binary{Op: op, X: x, Y: y, DType: d, Floored: true}
	}
	exprs := []plan.Stmt{
		let(40, "e0", bin(ir.Add, ref("n"), bin(ir.Mul, ref("M"), num(-3)))),
		let(40, "e1", floored(ir.FloorDiv, ir.INDEX, bin(ir.Sub, ref("n"), num(7)), num(3))),
		let(40, "e2", floored(ir.FloorMod, ir.INDEX, ref("n"), num(3))),
		let(40, "e3", bin(ir.FloorDiv, ref("M"), num(3))),
		let(40, "e4", bin(ir.Min, ref("n"), num(4))),
		let(40, "e5", bin(ir.Max, ref("n"), num(1<<40))),
		let(40, "e6", bin(ir.Pow, ref("n"), num(2))),
		let(40, "e7", &plan.Unary{Op: ir.Abs, X: ref("n"), DType: ir.INDEX}),
		let(40, "e8", &plan.Unary{Op: ir.Neg, X: &plan.Unary{Op: ir.BitNot, X: ref("n"), DType: ir.INDEX}, DType: ir.INDEX}),
		let(40, "e9", bin(ir.Shl, bin(ir.BitAnd, ref("n"), num(255)), bin(ir.BitOr, num(1), bin(ir.BitXor, num(2), bin(ir.Shr, ref("n"), num(2)))))),
		let(40, "e10", num(math.MinInt64)),
		let(40, "e11", &plan.Extent{Tensor: nm("ext_x"), Axis: 1}),
		let(40, "e12", &plan.EntryExtent{Ordinal: 0, Axis: 1}),
		&plan.Decl{At: at(41), Name: nm("f0"), Type: plan.CType{Kind: plan.Number, DType: ir.FP32}, Init: &plan.Binary{Op: ir.FloatDiv, X: &plan.Cast{X: ref("n"), DType: ir.FP32}, Y: f32(1e-8), DType: ir.FP32}},
		&plan.Decl{At: at(41), Name: nm("f1"), Type: plan.CType{Kind: plan.Number, DType: ir.FP32}, Init: floored(ir.FloorDiv, ir.FP32, ref("s"), f32(3))},
		&plan.Decl{At: at(41), Name: nm("f2"), Type: plan.CType{Kind: plan.Number, DType: ir.FP32}, Init: floored(ir.FloorMod, ir.FP32, ref("s"), f32(-0.5))},
		&plan.Decl{At: at(41), Name: nm("f3"), Type: plan.CType{Kind: plan.Number, DType: ir.FP64}, Init: &plan.Binary{Op: ir.Pow, X: &plan.Float{Value: 2, DType: ir.FP64}, Y: &plan.Float{Value: math.Inf(-1), DType: ir.FP64}, DType: ir.FP64}},
		&plan.Decl{At: at(41), Name: nm("f4"), Type: plan.CType{Kind: plan.Number, DType: ir.FP16}, Init: &plan.Cast{X: f32(0.1), DType: ir.FP16}},
		&plan.Decl{At: at(42), Name: nm("b0"), Type: plan.CType{Kind: plan.Number, DType: ir.BOOL}, Init: bin(ir.And, bin(ir.Lt, ref("n"), num(4)), bin(ir.Or, &plan.Unary{Op: ir.Not, X: ref("flag"), DType: ir.BOOL}, &plan.Bool{Value: true}))},
		&plan.Decl{At: at(42), Name: nm("b1"), Type: plan.CType{Kind: plan.Number, DType: ir.BOOL}, Init: bin(ir.Xor, bin(ir.Ne, ref("n"), num(4)), &plan.Bool{})},
		&plan.Decl{At: at(43), Name: nm("q0"), Type: plan.CType{Kind: plan.Int32T}, Init: &plan.Query{}},
		&plan.Decl{At: at(43), Name: nm("q1"), Type: plan.CType{Kind: plan.Int32T}, Init: &plan.Query{AIV: true}},
	}
	views := []plan.Stmt{
		&plan.DeclArray{At: at(50), Name: nm("v_offsets"), Type: u32, Elems: []plan.Expr{&plan.Uint32{X: ref("n")}, num(0)}},
		&plan.DeclArray{At: at(50), Name: nm("v_shapes"), Type: u32, Elems: []plan.Expr{&plan.Clamped{Size: num(8), Tensor: nm("ext_x"), Offsets: nm("v_offsets")}, &plan.Clamped{Size: &plan.Uint32{X: ref("M")}, Tensor: nm("ext_x"), Offsets: nm("v_offsets"), Axis: 1}}},
		&plan.Decl{At: at(50), Name: nm("v"), Type: handle, Init: &plan.View{Tensor: nm("ext_x"), Shapes: nm("v_shapes"), Offsets: nm("v_offsets")}},
		&plan.DeclArray{At: at(51), Name: nm("r_shapes"), Type: u32, Elems: []plan.Expr{num(256)}},
		&plan.Decl{At: at(51), Name: nm("r"), Type: handle, Init: &plan.Reshape{Tensor: nm("ext_x"), Shapes: nm("r_shapes"), N: 1}},
		&plan.Decl{At: at(52), Name: nm("w"), Type: handle, Init: &plan.Transpose{Tensor: nm("v"), A: 0, B: 1}},
		&plan.DeclArray{At: at(53), Name: nm("indices_g"), Type: u32, Elems: []plan.Expr{num(0), &plan.Uint32{X: ref("n")}}},
		&plan.Decl{At: at(53), Name: nm("g"), Type: plan.CType{Kind: plan.Number, DType: ir.INT32}, Init: &plan.Read{Tensor: nm("ext_x"), DType: ir.INT32, N: 2, Indices: nm("indices_g")}},
		&plan.Decl{At: at(54), Name: nm("h"), Type: plan.CType{Kind: plan.Number, DType: ir.FP32}, Init: &plan.Read{Tensor: nm("ext_x"), DType: ir.FP32}},
		&plan.Write{At: at(55), Tensor: nm("ext_x"), DType: ir.FP32, Indices: nm("indices_x"), Index: []plan.Expr{num(1), num(2)}, Value: f32(1)},
		&plan.Write{At: at(56), Tensor: nm("ext_x"), DType: ir.INT32, Value: ref("g")},
	}
	arrays := []plan.Stmt{
		&plan.DeclSlots{At: at(60), Name: nm("ids"), Type: taskT, N: 3, Fill: &plan.InvalidTask{}},
		&plan.DeclSlots{At: at(61), Name: nm("kept"), Type: taskT, N: 3},
		&plan.CopySlots{At: at(61), Dst: nm("kept"), Src: nm("ids"), N: 3},
		&plan.DeclSlots{At: at(62), Name: nm("counts"), Type: plan.CType{Kind: plan.Number, DType: ir.INT32}, N: 2},
		&plan.SetElem{At: at(62), Array: nm("counts"), I: num(1), Value: num(5)},
		&plan.Decl{At: at(63), Name: nm("id0"), Type: taskT, Init: &plan.Elem{Array: nm("ids"), I: num(0)}},
		&plan.Decl{At: at(63), Name: nm("ok"), Type: plan.CType{Kind: plan.Number, DType: ir.BOOL}, Init: &plan.IsValid{X: ref("id0")}},
	}
	tasks := []plan.Stmt{
		&plan.Create{At: at(70), First: true, Info: nm("a_ci"), Shapes: nm("a_ci_shapes"), Dims: []plan.Expr{num(16), &plan.Uint32{X: ref("M")}}, DType: ir.FP32, Init: &plan.Int{DType: ir.INT64}},
		&plan.Create{At: at(71), Info: nm("b_ci"), Shapes: nm("b_ci_shapes"), Dims: []plan.Expr{num(4)}, DType: ir.BF16, ManualDep: true},
		&plan.Alloc{At: at(70), Outs: nm("alloc_0"), Infos: []*plan.Name{nm("a_ci"), nm("b_ci")}, Refs: []*plan.Name{nm("a"), nm("b")}},
		&plan.Create{At: at(72), Info: nm("params_t0_synth_out_1"), Shapes: nm("params_t0_synth_out_1_shapes"), Dims: []plan.Expr{num(16)}, DType: ir.INT8},
		&plan.Task{At: at(72), Ordinal: 0, Comment: "Task 0: k", Kind: plan.SubmitAIV, Kernels: [3]int{0, -1, -1}, Params: nm("params_t0"),
			Args:    []plan.Arg{{Tag: plan.Input, Tensor: nm("ext_x")}, {Tag: plan.Output, Info: nm("params_t0_synth_out_1")}, {Tag: plan.OutputExisting, Tensor: nm("a")}, {Tag: plan.InOut, Tensor: nm("b")}, {Tag: plan.NoDep, Tensor: nm("w")}},
			Scalars: []plan.Expr{ref("n"), num(7), &plan.Int{Value: 7, DType: ir.INT32}, &plan.Bool{Value: true}, &plan.Bits{X: ref("s")}, &plan.Bits{X: f32(1)}, &plan.Bits{X: &plan.Cast{X: f32(0.5), DType: ir.FP16}}},
			Dump:    []plan.Expr{ref("ext_x"), ref("a")}, Outs: nm("task_0_outs"), Label: "k"},
		&plan.Decl{At: at(72), Name: nm("t0"), Type: taskT, Init: &plan.TaskIDOf{Outs: nm("task_0_outs")}},
		&plan.Decl{At: at(72), Name: nm("o"), Type: plan.CType{Kind: plan.TensorT, Ref: true}, Init: &plan.OutRef{Outs: nm("task_0_outs")}},
		&plan.Task{At: at(73), Ordinal: 1, Comment: "Group mix: MixedKernels (AIC + AIV lanes)", Kind: plan.SubmitMixed, Kernels: [3]int{1, 2, -1}, Mixed: nm("mixed_1"), Params: nm("params_t1"),
			Args: []plan.Arg{{Tag: plan.Input, Tensor: nm("o")}}, DepsLast: true, BlockNum: bin(ir.Mul, ref("n"), num(2)), SyncStart: true, EarlyResolve: true, TimingSlot: &slot,
			Pred:  &plan.Predicate{Name: nm("params_t1_pred"), Tensor: nm("ext_x"), Index: []plan.Expr{ref("n"), num(0)}, Op: ir.Gt, Target: -2},
			Deps:  deps("params_t1", plan.Dep{ID: ref("t0")}, plan.Dep{ID: &plan.Elem{Array: nm("ids"), I: num(1)}, Guarded: true}, plan.Dep{ID: &plan.TaskIDOf{Outs: nm("alloc_0")}, Alloc: true, Keeps: nm("a")}, plan.Dep{ID: ref("id0"), Guarded: true, Compiler: true}),
			Label: "mix"},
		&plan.Dummy{At: at(74), Ordinal: 0, Params: nm("params_phase_fence_barrier_0"), Outs: nm("phase_fence_barrier_0_outs"), ID: nm("bar"), Guarded: true, Deps: deps("params_phase_fence_barrier_0", plan.Dep{ID: ref("id0"), Guarded: true})},
		&plan.DeclIDs{At: at(73), Name: nm("trips")},
		&plan.AppendID{At: at(73), IDs: nm("trips"), ID: ref("t0")},
		&plan.AppendID{At: at(73), IDs: nm("trips"), ID: ref("id0"), Guarded: true},
		&plan.Dummy{At: at(75), Ordinal: 2, Params: nm("params_phase_fence_barrier_2"), Outs: nm("phase_fence_barrier_2_outs"), ID: nm("bar3"), Guarded: true, Gathered: nm("trips")},
		&plan.Dummy{At: at(75), Ordinal: 1, Params: nm("params_phase_fence_barrier_1"), Outs: nm("phase_fence_barrier_1_outs"), ID: nm("bar2")},
		&plan.Task{At: at(76), Ordinal: 2, Comment: "Task 2: c", Kind: plan.SubmitAIC, Kernels: [3]int{1, -1, -1}, Params: nm("params_t2"), Args: []plan.Arg{{Tag: plan.InOut, Tensor: nm("a")}},
			Deps: deps("params_t2", plan.Dep{ID: ref("bar"), Guarded: true}, plan.Dep{ID: ref("bar2")}), Label: "c"},
	}
	loops := []plan.Stmt{
		&plan.Decl{At: at(80), Name: nm("cur"), Type: handle, Init: ref("ext_x")},
		&plan.For{At: at(80), Var: nm("i"), Start: num(0), Stop: ref("n"), Step: num(1), Body: []plan.Stmt{&plan.Scope{Body: []plan.Stmt{&plan.Assign{At: at(81), Dst: nm("cur"), Value: ref("v")}}}}},
		&plan.For{At: at(82), Var: nm("i"), Start: num(8), Stop: num(0), Step: num(-2), Down: true},
		&plan.For{At: at(83), Var: nm("i"), Start: num(8), Stop: num(0), Step: ref("n"), Signed: true},
		&plan.For{At: at(84), Var: nm("i"), Start: num(8), Stop: num(0), Step: num(0), Never: true},
		&plan.While{At: at(85), Cond: bin(ir.Lt, ref("n"), num(0)), Body: []plan.Stmt{&plan.Scope{Manual: true}}},
		&plan.If{At: at(86), Cond: ref("flag"), Then: []plan.Stmt{&plan.Braces{Body: []plan.Stmt{let(87, "inner", num(1))}}}, Else: []plan.Stmt{&plan.Assign{At: at(88), Dst: nm("cur"), Value: ref("ext_x")}}},
	}
	f := &plan.File{NeedsVector: true,
		Func: "every", Pos: at(10).Pos, Helpers: plan.FloorDivHelper | plan.FloorModHelper | plan.PowHelper | plan.AbsHelper | plan.MathHelper,
		Tensors: []plan.Tensor{{Name: nm("ext_x"), Param: "x", DType: ir.FP32}},
		Scalars: []plan.Scalar{{Name: nm("n"), Union: nm("n_conv"), DType: ir.INDEX}, {Name: nm("s"), Union: nm("s_conv"), DType: ir.FP32},
			{Name: nm("flag"), Union: nm("flag_conv"), DType: ir.BOOL}, {Name: nm("hs"), Union: nm("hs_conv"), DType: ir.FP16}, {Name: nm("ctx"), Union: nm("ctx_conv"), DType: ir.NoDType}},
		Dims: []plan.Dim{{Name: nm("M"), Axis: 1}},
	}
	body := append(append(append(append(exprs, views...), arrays...), tasks...), loops...)
	f.Body = []plan.Stmt{&plan.Scope{At: at(11), Body: body}}
	return f
}
