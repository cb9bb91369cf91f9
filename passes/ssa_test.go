package passes

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

// ssaOf converts a program and prints its function main.
func ssaOf(t *testing.T, p *ir.Program) (string, string) {
	t.Helper()
	ps, _ := Until(Default(), "ConvertToSSA")
	// The passes alone: some of these programs are wrong in ways that the verifier reports first.
	ctx := &Context{}
	for _, pass := range ps {
		var err error
		if p, err = pass.Run(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	ds := ctx.diags
	if !ds.HasErrors() {
		if bad := ir.Verify(p, nil, append(ir.StructuralProperties(), ir.SSAForm)...); bad.HasErrors() {
			t.Errorf("not in SSA form: %v", bad)
		}
	}
	text := ""
	if ds != nil {
		text = ds.Error()
	}
	return ir.PrintFunction(p.Lookup("main"), ir.PrintOptions{Concise: true}), text
}

func body(text string) string {
	_, b, _ := strings.Cut(text, ":\n")
	return b
}

func runtimeScope(manual bool, b ...ir.Stmt) *ir.Scope {
	return &ir.Scope{Kind: ir.RuntimeScope, Manual: manual, Body: b}
}

// P-SSA-13: a scope around the whole body of a loop is transparent, and the yield may stand in it.
func TestYieldInScope(t *testing.T) {
	x, y, a, r, i, n := tvar("x"), tvar("y"), tvar("a"), tvar("r"), ivar("i"), tvar("n")
	l := forN(i, 4, runtimeScope(true, set(n, call("k", x, a)), set(y, call("k", a, y)), yield(n)))
	l.Carries = []ir.Carry{{Iter: a, Init: x, Result: r}}
	got, ds := ssaOf(t, program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y)}, l, ret(r, y))))
	want := `    for i__idx_v0, (a__iter_v0, y__iter_v1) in pl.range(4, init_values=(x__ssa_v0, y__ssa_v0)):
        with pl.scope(mode=pl.ScopeMode.MANUAL):
            n__ssa_v0 = self.k(x__ssa_v0, a__iter_v0)
            y__ssa_v3 = self.k(a__iter_v0, y__iter_v1)
            r__rv_v0, y__rv_v2 = pl.yield_(n__ssa_v0, y__ssa_v3)
    return r__rv_v0, y__rv_v2
`
	if ds != "" || !sameText(got, want) {
		t.Errorf("%s\n%s", ds, got)
	}
}

// `a, b = b, a + b` reads the old values of both, and leaves no tuple; a tuple that is read elsewhere stays.
func TestParallelAssignment(t *testing.T) {
	a, b, n := ivar("a"), ivar("b"), ivar("n")
	tuple := func(hint string, es ...ir.Expr) *ir.Assign {
		v := ir.MakeTuple{Elems: es}
		return set(&ir.Var{Hint: hint, Typ: v.Type()}, &v).(*ir.Assign)
	}
	swap := tuple("_tuple_tmp", b, &ir.Binary{Op: ir.Add, X: a, Y: b, DType: ir.INDEX})
	kept := tuple("kept", b, a)
	get := func(v *ir.Var, from *ir.Assign, i int) ir.Stmt { return set(v, &ir.TupleGet{X: from.Var, Index: i}) }
	got, ds := ssaOf(t, program(fn("main", ir.Orchestration, []ir.Param{in(a), in(b)},
		swap, get(a, swap, 0), get(b, swap, 1), kept, get(a, kept, 0), get(b, kept, 1), get(n, kept, 0), ret(a, b, n))))
	want := `    a__ssa_v1 = b__ssa_v0
    b__ssa_v1 = a__ssa_v0 + b__ssa_v0
    kept__ssa_v0 = [b__ssa_v1, a__ssa_v1]
    a__ssa_v2 = kept__ssa_v0[0]
    b__ssa_v2 = kept__ssa_v0[1]
    n__ssa_v0 = kept__ssa_v0[0]
    return a__ssa_v2, b__ssa_v2, n__ssa_v0
`
	if ds != "" || !sameText(got, want) {
		t.Errorf("%s\n%s", ds, got)
	}
}

// sameText compares the body of a printed function, whatever the print of calls of functions that are not there.
func sameText(got, want string) bool {
	clean := func(s string) string {
		var b strings.Builder
		for l := range strings.Lines(s) {
			b.WriteString(strings.TrimSpace(strings.ReplaceAll(l, "self.", "")) + "\n")
		}
		return b.String()
	}
	return strings.HasSuffix(clean(body(got)), clean(want))
}

func TestYields(t *testing.T) {
	x, y, a, r, i, c := tvar("x"), tvar("y"), tvar("a"), tvar("r"), ivar("i"), ivar("c")
	carried := func(b ...ir.Stmt) *ir.For {
		l := forN(i, 4, b...)
		l.Carries = []ir.Carry{{Iter: a, Init: x, Result: r}}
		return l
	}
	for name, test := range map[string]struct {
		s    ir.Stmt
		want string
	}{
		"P-SSA-12":        {carried(yield(a), set(y, x)), "YieldStmt at position 0"},
		"in kernel scope": {carried(&ir.Scope{Kind: ir.InCoreScope, Body: ir.Block{yield(a)}}), "YieldStmt at position 0"},
		"missing":         {carried(set(y, x)), "must end in a yield of 1 value"},
		"too many":        {carried(yield(a, a)), "yields 2 value(s), 1 expected"},
		"no carry":        {forN(i, 4, yield(x)), "yields 1 value(s), 0 expected"},
		"one branch": {&ir.If{Cond: bin(ir.Gt, c, ir.Int(0)), Then: ir.Block{yield(x)}, Results: []*ir.Var{r}},
			"the else branch must end in a yield of 1 value"},
	} {
		_, ds := ssaOf(t, program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y), in(c)}, test.s, ret(y))))
		if !strings.Contains(ds, test.want) {
			t.Errorf("%s: %q lacks %q", name, ds, test.want)
		}
	}
}

// P-SSA-08, #642: the same Var with another shape in a later loop has no link to the first value; where it has one, that is an error.
func TestShapeChange(t *testing.T) {
	x, s, i := tvar("x"), tvar("s"), ivar("i")
	small := &ir.TensorType{Shape: []ir.Expr{ir.Int(4), ir.Int(1)}, DType: ir.FP32}
	fresh := op("tensor.create", small, &ir.MakeTuple{Elems: []ir.Expr{ir.Int(4), ir.Int(1)}})
	p := func(b ...ir.Stmt) *ir.Program {
		return program(fn("main", ir.Orchestration, []ir.Param{in(x)}, append(b, ret(x))...))
	}

	got, ds := ssaOf(t, p(set(s, create()), set(x, call("k", s, x)), forN(i, 4, set(s, fresh), set(x, call("k", s, x)))))
	if ds != "" || !strings.Contains(got, "(x__iter_v2,) in") {
		t.Errorf("%s\n%s", ds, got)
	}
	_, ds = ssaOf(t, p(set(s, create()), forN(i, 4, set(x, call("k", s, x)), set(s, fresh))))
	if !strings.Contains(ds, "'s' has another type at the end of its body (fp32[4, 1]) than before the loop (fp32[16, 16])") {
		t.Error(ds)
	}
}

// Only read before: what comes from nowhere is the verifier's business, and a loop variable has no value after its loop.
func TestLoopVariable(t *testing.T) {
	x, y, i := tvar("x"), tvar("y"), ivar("i")
	_, ds := ssaOf(t, program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y)},
		forN(i, 4, set(y, call("k", x, y))), set(y, call("k", x, i)), ret(y))))
	if !strings.Contains(ds, "'i' is read here but may have no value: it is set only inside a loop") {
		t.Error(ds)
	}
}

// Arrays of ids and tiles have no stand-in either.
func TestNoStandIn(t *testing.T) {
	x, y, i := tvar("x"), tvar("y"), ivar("i")
	ids := &ir.Var{Hint: "ids", Typ: &ir.ArrayType{Len: 4, DType: ir.TASK_ID}}
	tile := &ir.Var{Hint: "tile", Typ: &ir.TileType{Shape: []ir.Expr{ir.Int(16)}, DType: ir.FP32}}
	for _, v := range []*ir.Var{ids, tile} {
		_, ds := ssaOf(t, program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y)},
			forN(i, 4, set(v, op("make", v.Typ))), set(y, call("k", x, v)), ret(y))))
		if !strings.Contains(ds, "'"+v.Hint+"' is first assigned inside this loop and read after it: it would be used outside its defining scope") {
			t.Error(v.Hint, ds)
		}
	}
}

// A function without a return may have breaks as well.
func TestBreakWithoutReturn(t *testing.T) {
	x, y, i := tvar("x"), inout(tvar("y")), ivar("i")
	got, ds := ssaOf(t, program(fn("main", ir.InCore, []ir.Param{in(x), y},
		forN(i, 4,
			&ir.If{Cond: bin(ir.Gt, i, ir.Int(2)), Then: ir.Block{&ir.Branch{}}},
			set(y.Var, call("k", x, y.Var))))))
	want := `for i__idx_v0, (stop__iter_v1, y__iter_v1) in pl.range(4, init_values=(stop__ssa_v0, y__ssa_v0)):
		if not stop__iter_v1:
		if i__idx_v0 > 2:
		stop__ssa_v3 = True
		stop__phi_v4, y__phi_v4 = pl.yield_(stop__ssa_v3, y__iter_v1)
		else:
		y__ssa_v3 = k(x__ssa_v0, y__iter_v1)
		stop__phi_v4, y__phi_v4 = pl.yield_(stop__iter_v1, y__ssa_v3)
		stop__phi_v5, y__phi_v5 = pl.yield_(stop__phi_v4, y__phi_v4)
		else:
		stop__phi_v5, y__phi_v5 = pl.yield_(stop__iter_v1, y__iter_v1)
		stop__rv_v2, y__rv_v2 = pl.yield_(stop__phi_v5, y__phi_v5)
`
	if ds != "" || !sameText(got, want) {
		t.Errorf("%s\n%s", ds, got)
	}
}
