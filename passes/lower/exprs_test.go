package lower_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// C-EXP-*: the declaration of a scalar that has this value.
func TestExpressions(t *testing.T) {
	s, u := index("s"), &ir.Var{Hint: "u", Typ: ir.Scalar(ir.UINT32)}
	f, h, d := &ir.Var{Hint: "f", Typ: ir.Scalar(ir.FP32)}, &ir.Var{Hint: "h", Typ: ir.Scalar(ir.FP16)}, &ir.Var{Hint: "d", Typ: ir.Scalar(ir.FP64)}
	b := &ir.Var{Hint: "b", Typ: ir.BoolType}
	bin := func(op ir.BinOp, x, y ir.Expr, t ir.DType) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, DType: t} }
	un := func(op ir.UnOp, x ir.Expr, t ir.DType) ir.Expr { return &ir.Unary{Op: op, X: x, DType: t} }
	flt := func(v float64, t ir.DType) ir.Expr { return &ir.ConstFloat{Value: v, DType: t} }
	i32 := func(v int64) ir.Expr { return &ir.ConstInt{Value: v, DType: ir.INT32} }
	for _, c := range []struct {
		e    ir.Expr
		want string
	}{
		{bin(ir.Add, s, bin(ir.Mul, s, ir.Int(2), ir.INDEX), ir.INDEX), "int64_t v = (s + (s * 2));"},
		{bin(ir.FloorDiv, u, i32(3), ir.UINT32), "uint32_t v = (u / 3);"},
		{bin(ir.FloorMod, s, ir.Int(3), ir.INDEX), "int64_t v = pto_floor_mod<int64_t>(s, 3);"},
		{bin(ir.FloorDiv, bin(ir.FloorMod, s, ir.Int(8), ir.INDEX), ir.Int(2), ir.INDEX), "int64_t v = (pto_floor_mod<int64_t>(s, 8) / 2);"},
		{bin(ir.FloorDiv, bin(ir.BitAnd, s, ir.Int(255), ir.INDEX), ir.Int(2), ir.INDEX), "int64_t v = ((s & 255) / 2);"},
		{bin(ir.FloorDiv, un(ir.Abs, s, ir.INDEX), ir.Int(2), ir.INDEX), "int64_t v = (pto_abs<int64_t>(s) / 2);"},
		{bin(ir.FloorDiv, &ir.Cast{X: b, DType: ir.INDEX}, ir.Int(2), ir.INDEX), "int64_t v = (static_cast<int64_t>(b) / 2);"},
		{bin(ir.FloorDiv, ir.Int(7), ir.Int(-2), ir.INDEX), "int64_t v = pto_floor_div<int64_t>(7, -2);"},
		{bin(ir.FloorDiv, f, flt(2, ir.FP32), ir.FP32), "float v = std::floor(f / 2.0f);"},
		{bin(ir.FloorMod, d, flt(2, ir.FP64), ir.FP64), "double v = (d - std::floor(d / 2.0) * 2.0);"},
		{bin(ir.FloatDiv, s, ir.Int(2), ir.FP32), "float v = (static_cast<float>(s) / static_cast<float>(2));"},
		{bin(ir.Pow, s, ir.Int(3), ir.INDEX), "int64_t v = pto_pow<int64_t>(s, 3);"},
		{bin(ir.Pow, f, flt(0.5, ir.FP32), ir.FP32), "float v = static_cast<float>(std::pow(f, 0.5f));"},
		{bin(ir.Add, h, flt(0.1, ir.FP16), ir.FP16), "half v = static_cast<half>((h + static_cast<half>(0.1f)));"},
		{un(ir.Neg, h, ir.FP16), "half v = static_cast<half>((-h));"},
		{un(ir.Neg, un(ir.Neg, ir.Int(4), ir.INDEX), ir.INDEX), "int64_t v = 4;"},
		{un(ir.Neg, flt(1e-8, ir.FP32), ir.FP32), "float v = -1e-08f;"},
		{un(ir.Neg, un(ir.BitNot, s, ir.INDEX), ir.INDEX), "int64_t v = (-(~s));"},
		{bin(ir.Sub, s, un(ir.Neg, ir.Int(3), ir.INDEX), ir.INDEX), "int64_t v = (s - -3);"},
		{flt(math.Inf(-1), ir.FP32), "float v = -__builtin_inff();"},
		{flt(math.NaN(), ir.FP64), `double v = __builtin_nan("");`},
		{flt(0.1, ir.FP64), "double v = 0.1;"},
		{ir.Int(math.MaxInt32 + 1), "int64_t v = 2147483648LL;"},
		{ir.Int(math.MinInt64), "int64_t v = (-9223372036854775807LL - 1);"},
		{&ir.ConstInt{Value: -1, DType: ir.UINT64}, "uint64_t v = 18446744073709551615ULL;"},
		{bin(ir.And, b, un(ir.Not, bin(ir.Le, s, ir.Int(2), ir.BOOL), ir.BOOL), ir.BOOL), "bool v = (b && (!(s <= 2)));"},
		{bin(ir.Xor, b, &ir.ConstBool{Value: true}, ir.BOOL), "bool v = (b != 1);"},
		{bin(ir.Shr, bin(ir.BitXor, s, ir.Int(1), ir.INDEX), ir.Int(2), ir.INDEX), "int64_t v = ((s ^ 1) >> 2);"},
		{bin(ir.Max, i32(3), &ir.Cast{X: s, DType: ir.INT32}, ir.INT32), "int32_t v = std::max<int32_t>(3, static_cast<int32_t>(s));"},
	} {
		v := &ir.Var{Hint: "v", Typ: c.e.Type()}
		x, y := tensor("x"), tensor("y")
		fk := kernel("k", ir.AIV, param(tensor("a"), ir.In), param(tensor("o"), ir.Out), param(&ir.Var{Hint: "p", Typ: v.Typ}, ir.In))
		params := []ir.Param{param(x, ir.In), param(y, ir.Out)}
		for _, q := range []*ir.Var{s, u, f, h, d, b} {
			params = append(params, param(q, ir.In))
		}
		code := mustPrint(t, orchestration([]*ir.Function{fk}, params, set(v, c.e), &ir.Eval{X: callOf(fk, x, y, v)}))
		if !strings.Contains(code, "\n    "+c.want+"\n") {
			_, got, _ := strings.Cut(code, " v = ")
			got, _, _ = strings.Cut(got, "\n")
			t.Errorf("got … v = %s, want %s", got, c.want)
		}
	}
}

// C-SCL-*: how scalar arguments reach a task.
func TestScalarArguments(t *testing.T) {
	s, i := index("s"), &ir.Var{Hint: "i", Typ: ir.Scalar(ir.INT32)}
	f := &ir.Var{Hint: "f", Typ: ir.Scalar(ir.FP32)}
	ctx := &ir.Var{Hint: "ctx", Typ: &ir.OpaqueType{Name: "CommCtx"}}
	for _, c := range []struct {
		e    ir.Expr
		want ir.Type
		text string
	}{
		{i, ir.Scalar(ir.INT32), "add_scalar(i);"},
		{i, ir.IndexType, "add_scalar(static_cast<int64_t>(i));"},
		{f, ir.Scalar(ir.FP32), "add_scalar(to_u64(f));"},
		{s, ir.Scalar(ir.FP32), "add_scalar(to_u64(static_cast<float>(s)));"},
		{ir.Int(7), ir.IndexType, "add_scalar((uint64_t)7);"},
		{&ir.ConstInt{Value: 7, DType: ir.INT32}, ir.Scalar(ir.INT32), "add_scalar((uint64_t)static_cast<int32_t>(7));"},
		{ir.Int(2), ir.Scalar(ir.FP32), "add_scalar(to_u64(2.0f));"},
		{&ir.ConstFloat{Value: 1e-8, DType: ir.FP32}, ir.Scalar(ir.FP32), "add_scalar(to_u64(1e-08f));"},
		{&ir.ConstFloat{Value: 0.5, DType: ir.FP32}, ir.Scalar(ir.BF16), "add_scalar(to_u64(static_cast<bfloat16_t>(0.5f)));"},
		{&ir.ConstFloat{Value: 0.5, DType: ir.FP16}, ir.Scalar(ir.FP16), "add_scalar(to_u64(static_cast<half>(0.5f)));"},
		{&ir.ConstBool{Value: true}, ir.BoolType, "add_scalar((uint64_t)1);"},
		{ctx, ctx.Typ, "add_scalar(ctx);"},
		{&ir.Binary{Op: ir.Mul, X: f, Y: f, DType: ir.FP32}, ir.Scalar(ir.FP32), "float params_t0_p = (f * f);"},
	} {
		x, y := tensor("x"), tensor("y")
		fk := kernel("k", ir.AIV, param(tensor("a"), ir.In), param(tensor("o"), ir.Out), param(&ir.Var{Hint: "p", Typ: c.want}, ir.In))
		code := mustPrint(t, orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out), param(s, ir.In), param(i, ir.In), param(f, ir.In), param(ctx, ir.In)},
			&ir.Eval{X: callOf(fk, x, y, c.e)}))
		if !strings.Contains(code, c.text) {
			t.Errorf("no %q in\n%s", c.text, code)
		}
	}
}

// A runtime-allocated output has the extents of the arguments that its type names.
func TestRuntimeOutputExtents(t *testing.T) {
	m, n := &ir.Var{Hint: "M", Typ: ir.IndexType, Dyn: true}, index("n")
	a := &ir.Var{Hint: "a", Typ: &ir.TensorType{Shape: []ir.Expr{m, ir.Int(4)}, DType: ir.FP32}}
	o := &ir.Var{Hint: "o", Typ: &ir.TensorType{Shape: []ir.Expr{&ir.Binary{Op: ir.Mul, X: m, Y: ir.Int(2), DType: ir.INDEX}, n}, DType: ir.FP32}}
	fk := kernel("k", ir.AIV, param(a, ir.In), param(n, ir.In), param(o, ir.Out))
	x, s, z := &ir.Var{Hint: "x", Typ: a.Typ}, index("s"), tensor("z")
	use := kernel("use", ir.AIV, param(tensor("a"), ir.In))
	c := submitOf(fk, nil, x, s)
	r, q := &ir.Var{Hint: "ret", Typ: c.Typ}, tensor("q")
	code := mustPrint(t, orchestration([]*ir.Function{fk, use}, []ir.Param{param(x, ir.In), param(s, ir.In), param(z, ir.Out)}, set(r, c), get(q, r, 0), &ir.Eval{X: callOf(use, q)}))
	for _, want := range []string{
		"_shapes[2] = {static_cast<uint32_t>(((int64_t)ext_x.shapes[0] * 2)), static_cast<uint32_t>(s)};",
		"const Tensor& q = task_0_outs.get_ref(0);",
		"params_t1.add_input(q);",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("no %q in\n%s", want, code)
		}
	}
}

// A statement that a program shares between places is lowered at each of them.
func TestSharedStatements(t *testing.T) {
	x, y, s := tensor("x"), tensor("y"), index("s")
	fk := k()
	launch := &ir.Eval{X: callOf(fk, x, y)}
	barrier := &ir.Eval{X: &ir.OpCall{Op: "system.task_dummy", Typ: ir.TaskIDType}}
	branch := &ir.If{Cond: &ir.Binary{Op: ir.Lt, X: s, Y: ir.Int(3), DType: ir.BOOL}, Then: ir.Block{launch, barrier}}
	code := mustPrint(t, orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out), param(s, ir.In)}, branch, branch, launch, launch, barrier, barrier))
	for text, want := range map[string]int{"if ((s < 3)) {": 2, "rt_submit_aiv_task(": 4, "rt_submit_dummy_task(": 4, "Arg params_t3;": 1, "barrier_3_outs =": 1} {
		if got := strings.Count(code, text); got != want {
			t.Errorf("%q occurs %d times, want %d\n%s", text, got, want, code)
		}
	}
}

// ops of a plugin take part through their specs alone.
func TestPluginOps(t *testing.T) {
	handle := plan.CType{Kind: plan.TensorT}
	reg := ops.Builtin().With(
		&ops.Spec{Name: "acme.rope", Where: ops.OnHost, Result: ops.Result{Kind: ops.View, Arg: 0}, Emit: func(e *ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
			return []plan.Stmt{&plan.Decl{Name: e.Result, Type: handle, Init: &plan.Transpose{Tensor: e.Args[0].(*plan.Ref).Name, A: 0, B: 1}}}, nil
		}},
		&ops.Spec{Name: "acme.pool", Where: ops.OnHost, Result: ops.Result{Kind: ops.Fresh}, Emit: func(e *ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
			return []plan.Stmt{&plan.Create{Info: e.Local("_ci"), Shapes: e.Local("_ci_shapes"), Dims: []plan.Expr{&plan.Int{Value: 16, DType: ir.INDEX}}, DType: ir.FP32}}, nil
		}},
		&ops.Spec{Name: "acme.lost", Where: ops.OnHost, Result: ops.Result{Kind: ops.View, Arg: 0}, Emit: func(*ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) { return nil, nil }},
		&ops.Spec{Name: "acme.no", Where: ops.OnHost, Result: ops.Result{Kind: ops.View, Arg: 0}, Emit: func(*ops.EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
			return nil, diag.Errorf("ACME-1", diag.Span{}, "not today")
		}},
	)
	x, y := tensor("x"), tensor("y")
	fk := k()
	run := func(name string, args ...ir.Expr) (string, diag.List) {
		v := tensor("v")
		p := orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, manual(at(set(v, &ir.OpCall{Op: name, Args: args, Typ: T})), &ir.Eval{X: callOf(fk, v, y)}))
		f, ds := lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
		if ds.HasErrors() {
			return "", ds
		}
		code, _ := orch.Print(f, orch.Default())
		return code, nil
	}
	if code, ds := run("acme.rope", x); ds != nil || !strings.Contains(code, "Tensor v = ext_x.transpose(0, 1);") {
		t.Errorf("view: %v\n%s", ds, code)
	}
	if code, ds := run("acme.pool"); ds != nil || !strings.Contains(code, "const Tensor& v = alloc_0.get_ref(0);\n    PTO2_SCOPE(") || !strings.Contains(code, "= alloc_0.task_id();") {
		t.Errorf("fresh: %v\n%s", ds, code)
	}
	if _, ds := run("acme.lost", x); !ds.HasErrors() || !strings.Contains(ds[0].Message, "acme.lost") {
		t.Errorf("no declaration: %v", ds)
	}
	if _, ds := run("acme.no", x); len(ds) != 1 || ds[0].Code != "ACME-1" || ds[0].Span != place {
		t.Errorf("diagnostic: %v", ds)
	}
}

// C-SUB-05: a query that stands in the launch itself is printed inline.
func TestInlineQuery(t *testing.T) {
	x, y := tensor("x"), tensor("y")
	fk := k()
	c := submitOf(fk, nil, x, y)
	c.Launch.CoreNum = &ir.OpCall{Op: "system.available_cluster_count", Typ: ir.Scalar(ir.INT32)}
	code := mustPrint(t, orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, &ir.Eval{X: c}))
	if !strings.Contains(code, "params_t0.launch_spec.set_block_num(rt_available_cluster_count());") {
		t.Error(code)
	}
}
