package lower_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// forward makes a wrapper function: params, then what each of its launches passes on.
func forward(name string, t ir.FuncType, params []ir.Param, results []*ir.Var, calls ...*ir.Call) *ir.Function {
	f := &ir.Function{Name: name, Type: t, Params: params}
	for _, c := range calls {
		f.Body = append(f.Body, &ir.Eval{X: c})
	}
	r := &ir.Return{}
	for _, v := range results {
		r.Values = append(r.Values, v)
		f.Returns = append(f.Returns, v.Typ)
	}
	f.Body = append(f.Body, r)
	return f
}

func lines(t *testing.T, p *ir.Program, from, to string) []string {
	t.Helper()
	code := mustPrint(t, p)
	_, code, ok1 := strings.Cut(code, from)
	code, _, ok2 := strings.Cut(code, to)
	if !ok1 || !ok2 {
		t.Fatalf("no %q … %q in\n%s", from, to, mustPrint(t, p))
	}
	var out []string
	for l := range strings.Lines(code) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// C-GRP-03: arguments follow the inner call, constants are inlined; C-GRP-04: one buffer given twice reaches both slots.
func TestWrapperArguments(t *testing.T) {
	inner := kernel("inner", ir.AIV, param(tensor("a"), ir.In), param(tensor("b"), ir.In), param(tensor("o"), ir.Out), param(index("n"), ir.In), param(&ir.Var{Hint: "f", Typ: ir.Scalar(ir.FP32)}, ir.In))
	o, a := tensor("o"), tensor("a")
	group := forward("group", ir.Group, []ir.Param{param(o, ir.Out), param(a, ir.In)}, []*ir.Var{o},
		callOf(inner, a, a, o, ir.Int(3), &ir.ConstFloat{Value: 0.5, DType: ir.FP32}))
	o2, a2 := tensor("o"), tensor("a")
	spmd := forward("spmd", ir.Spmd, []ir.Param{param(a2, ir.In), param(o2, ir.Out)}, []*ir.Var{o2}, callOf(group, o2, a2))
	x, y := tensor("x"), tensor("y")
	c := callOf(spmd, x, y)
	c.Launch.CoreNum = ir.Int(2)
	p := orchestration([]*ir.Function{inner, group, spmd}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, &ir.Eval{X: c})
	expectLines(t, lines(t, p, "// Group group: AIV-only SPMD\n", "\n}"),
		"Arg params_t0;",
		"params_t0.add_input(ext_x);",
		"params_t0.add_input(ext_x);",
		"params_t0.add_output(ext_y);",
		"params_t0.add_scalar((uint64_t)3);",
		"params_t0.add_scalar(to_u64(0.5f));",
		"params_t0.launch_spec.set_block_num(2);",
		"rt_submit_aiv_task(0, params_t0);")
}

// C-GRP-01, C-GRP-02: which lanes a mixed task fills.
func TestMixedLanes(t *testing.T) {
	x, y := tensor("x"), tensor("y")
	for _, c := range []struct {
		name             string
		groupDual, cube  bool
		kernelDual       bool
		wantMixed, wants string
	}{
		{"pair", false, true, false, "MixedKernels mixed_0 = {0, 1, INVALID_KERNEL_ID};", "rt_submit_task(mixed_0, params_t0);"},
		{"pair, both lanes", true, true, false, "MixedKernels mixed_0 = {0, 1, 1};", "rt_submit_task(mixed_0, params_t0);"},
		{"vector, both lanes", false, false, true, "MixedKernels mixed_0 = {INVALID_KERNEL_ID, 0, 0};", "rt_submit_task(mixed_0, params_t0);"},
		{"vector", false, false, false, "", "rt_submit_aiv_task(0, params_t0);"},
	} {
		kv := kernel("kv", ir.AIV, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
		kv.DualAIV = c.kernelDual
		kc := kernel("kc", ir.AIC, param(tensor("a"), ir.In), param(tensor("o"), ir.Out))
		a, o := tensor("a"), tensor("o")
		calls := []*ir.Call{callOf(kv, a, o)}
		if c.cube {
			calls = []*ir.Call{callOf(kc, a, o), callOf(kv, a, o)}
		}
		g := forward("g", ir.Group, []ir.Param{param(a, ir.In), param(o, ir.Out)}, []*ir.Var{o}, calls...)
		g.DualAIV = c.groupDual
		code := mustPrint(t, orchestration([]*ir.Function{kv, kc, g}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, &ir.Eval{X: callOf(g, x, y)}))
		if !strings.Contains(code, c.wantMixed) || !strings.Contains(code, c.wants) {
			t.Errorf("%s:\n%s", c.name, code)
		}
	}
}

// C-ALC-03: at most 16 buffers in one allocation.
func TestBatchLimit(t *testing.T) {
	x, y := tensor("x"), tensor("y")
	fk := k()
	var body ir.Block
	for range 17 {
		v := tensor("t")
		body = append(body, create(v), &ir.Eval{X: callOf(fk, x, v)})
	}
	code := mustPrint(t, orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, body...))
	if n := strings.Count(code, "= alloc_tensors("); n != 2 {
		t.Errorf("%d allocations, want 2", n)
	}
	if !strings.Contains(code, "TaskOutputTensors alloc_1 = alloc_tensors(t_16_ci);") || strings.Index(code, "alloc_1") > strings.Index(code, "// Task 0") {
		t.Errorf("the second allocation is not at the head:\n%s", code)
	}
}

// C-DEP-10, X-08: a derived edge out of a closed scope gets its id declared in front of the scope; over a loop it is dropped and told.
func TestDerivedEdges(t *testing.T) {
	x, y := tensor("x"), tensor("y")
	fk := k()
	producer := func(id *ir.Var) ir.Block {
		c := submitOf(fk, nil, x, y)
		r := &ir.Var{Hint: "ret", Typ: c.Typ}
		return ir.Block{set(r, c), get(id, r, 1)}
	}
	consumer := func(id *ir.Var) ir.Stmt {
		c := callOf(fk, x, y)
		c.CompilerDeps = []*ir.Var{id}
		return &ir.Eval{X: c}
	}
	params := []ir.Param{param(x, ir.In), param(y, ir.Out)}
	id := taskID("t_tid")
	p := orchestration([]*ir.Function{fk}, params, &ir.Scope{Kind: ir.RuntimeScope, Body: producer(id)}, consumer(id))
	code := mustPrint(t, p)
	for _, want := range []string{
		"    PTO2TaskId t_tid = PTO2TaskId::invalid();\n    PTO2_SCOPE() {",
		"        t_tid = task_0_outs.task_id();",
		"if (t_tid.is_valid()) params_t1_deps[params_t1_deps_count++] = t_tid;",
	} {
		if !strings.Contains(code, want) {
			t.Errorf("no %q in\n%s", want, code)
		}
	}

	id = taskID("t_tid")
	loop := &ir.For{Var: index("i"), Start: ir.Int(0), Stop: ir.Int(4), Step: ir.Int(1), Body: ir.Block{&ir.Scope{Kind: ir.RuntimeScope, Body: producer(id)}}}
	var told []string
	f, ds := lowered(t, orchestration([]*ir.Function{fk}, params, loop, consumer(id)), lower.Options{Explain: func(_ diag.Span, what string) { told = append(told, what) }})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	code, _ = orch.Print(f, orch.Default())
	if strings.Contains(code, "params_t1_deps") || len(told) != 1 || !strings.Contains(told[0], "t_tid") {
		t.Errorf("told %q\n%s", told, code)
	}
}

// C-MAN-09: the option leaves the edges out.
func TestNoManualAllocDeps(t *testing.T) {
	x, y, b := tensor("x"), tensor("y"), tensor("b")
	fk := k()
	p := orchestration([]*ir.Function{fk}, []ir.Param{param(x, ir.In), param(y, ir.Out)}, manual(create(b), &ir.Eval{X: callOf(fk, x, b)}))
	with, _ := lowered(t, p, lower.Options{})
	without, _ := lowered(t, p, lower.Options{NoManualAllocDeps: true})
	a, _ := orch.Print(with, orch.Default())
	c, _ := orch.Print(without, orch.Default())
	if !strings.Contains(a, "= alloc_0.task_id();") || strings.Contains(c, "task_id") {
		t.Errorf("with:\n%s\nwithout:\n%s", a, c)
	}
}

// warnings.
func TestWarnings(t *testing.T) {
	rc := &ir.Var{Hint: "rc", Typ: &ir.TensorType{Shape: []ir.Expr{ir.Int(8)}, DType: ir.INT32}}
	w := kernel("w", ir.AIV, param(&ir.Var{Hint: "o", Typ: rc.Typ}, ir.Out))
	read := &ir.OpCall{Op: "tensor.read", Args: []ir.Expr{rc, &ir.MakeTuple{Elems: []ir.Expr{ir.Int(0)}}}, Typ: ir.Scalar(ir.INT32)}
	launch := at(&ir.Eval{X: callOf(w, rc)})
	_, ds := lowered(t, orchestration([]*ir.Function{w}, []ir.Param{param(rc, ir.Out)}, manual(launch), at(set(&ir.Var{Hint: "n", Typ: read.Typ}, read))), lower.Options{})
	if len(ds) != 1 || ds[0].Code != lower.CodeUnfencedRead || ds[0].Severity != diag.Warning || len(ds[0].Related) != 1 {
		t.Errorf("unfenced read: %v", ds)
	}
	deep := launch
	for range 5 {
		deep = at(&ir.Scope{Kind: ir.RuntimeScope, Body: ir.Block{deep}})
	}
	_, ds = lowered(t, orchestration([]*ir.Function{w}, []ir.Param{param(rc, ir.Out)}, deep), lower.Options{})
	if len(ds) != 1 || ds[0].Code != lower.CodeScopeDepth || !strings.Contains(ds[0].Message, "5 deep") {
		t.Errorf("depth: %v", ds)
	}
}
