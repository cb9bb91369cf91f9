package passes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

func unroll(v *ir.Var, start, stop, step ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Start: start, Stop: stop, Step: step, Kind: ir.Unroll, Body: body}
}

// What the front end refuses reaches the passes from plugins and dumps; they refuse it too.
func TestRejects(t *testing.T) {
	x, y, i, s := tvar("x"), tvar("y"), ivar("i"), ivar("s")
	step := set(y, call("k", x, y, i))
	carried := unroll(i, ir.Int(0), ir.Int(4), ir.Int(1), yield(x))
	carried.Carries = []ir.Carry{{Iter: tvar("a"), Init: x, Result: tvar("r")}}
	id, tmp := idvar("t"), &ir.Var{Hint: "_submit_tmp", Typ: submit("k", nil).Typ}
	ab := tvar("a__b")
	f := fn("f", ir.Inline, []ir.Param{in(tvar("a"))}, ret(x))
	for name, c := range map[string]struct {
		body ir.Block
		code diag.Code
		want string
	}{
		"P-UNR-03 stop":  {ir.Block{unroll(i, ir.Int(0), s, ir.Int(1), step)}, codeUnrollBounds, "Unroll loop stop must be a compile-time integer constant"},
		"P-UNR-03 start": {ir.Block{unroll(i, s, ir.Int(4), ir.Int(1), step)}, codeUnrollBounds, "Unroll loop start must be a compile-time integer constant"},
		"P-UNR-04":       {ir.Block{unroll(i, ir.Int(0), ir.Int(1025), ir.Int(1), step)}, codeUnrollSize, "exceeds maximum allowed"},
		"P-UNR-05":       {ir.Block{unroll(i, ir.Int(0), ir.Int(4), ir.Int(0), step)}, codeUnrollBounds, "step must not be zero"},
		"unroll carries": {ir.Block{carried}, codeUnrollCarries, "does not accept 'init_values='"},
		"P-SSA-11":       {ir.Block{set(ab, x)}, "PTO-V", "reserved delimiter"},
		"P-SSA-14": {ir.Block{forN(i, 4, set(tmp, submit("k", nil, x)), set(id, get(tmp, 1))), set(y, get(submit("k", []ir.Expr{id}, x), 0))},
			codeNeverSeeded, "'t' is first assigned inside this loop and read after it: it would be used outside its defining scope"},
		"inline arguments": {ir.Block{&ir.Eval{X: call("f")}}, codeInlineArgs, "f() expects 1 argument(s), got 0"},
		"inline submit":    {ir.Block{set(tmp, submit("f", nil, x))}, codeInlineLaunch, "not launched as a task"},
		"return count": {ir.Block{&ir.If{Cond: bin(ir.Gt, s, ir.Int(0)), Then: ir.Block{ret(x, x)}, Else: ir.Block{ret(x)}}},
			codeReturn, "another number of values"},
		"return sometimes": {ir.Block{&ir.If{Cond: bin(ir.Gt, s, ir.Int(0)), Then: ir.Block{ret(x)}}, set(y, x)}, codeReturn, "not on every path"},
		"break in a branch that yields": {ir.Block{forN(i, 4, &ir.If{Cond: bin(ir.Gt, s, ir.Int(0)),
			Then: ir.Block{&ir.Branch{}}, Else: ir.Block{yield(x)}, Results: []*ir.Var{tvar("r")}})}, codeBranch, "cannot leave"},
	} {
		body := c.body
		if !strings.HasPrefix(name, "return") {
			body = append(body, ret(y))
		}
		p := program(f, fn("main", ir.Orchestration, []ir.Param{in(x), inout(y), in(s)}, body...))
		ctx := &Context{}
		for _, pass := range front(t)[:3] {
			if p, _ = pass.Run(ctx, p); ctx.diags.HasErrors() {
				break
			}
		}
		ds := ctx.diags
		if len(ds) == 0 || !strings.HasPrefix(string(ds[0].Code), string(c.code)) || !strings.Contains(ds[0].Message, c.want) {
			t.Errorf("%s: %v, want %s %q", name, ds, c.code, c.want)
		}
		for _, d := range ds {
			if d.Hint == "" {
				t.Errorf("%s: no hint: %v", name, d)
			}
		}
	}
}

// Bounds of inner loops may use outer variables, and a literal may be negated.
func TestUnrollNested(t *testing.T) {
	x, y, i, j := tvar("x"), tvar("y"), ivar("i"), ivar("j")
	inner := unroll(j, ir.Int(0), i, ir.Int(1), set(y, call("k", x, bin(ir.Add, i, j))))
	outer := unroll(i, ir.Int(2), &ir.Unary{Op: ir.Neg, X: ir.Int(1), DType: ir.INDEX}, &ir.Unary{Op: ir.Neg, X: ir.Int(1), DType: ir.INDEX}, inner)
	p, err := unrollLoops.Run(&Context{}, program(fn("main", ir.Orchestration, []ir.Param{in(x), out(y)}, outer, ret(y))))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Lookup("main").Body[:len(p.Lookup("main").Body)-1] {
		got = append(got, ir.PrintExpr(ir.Simplify(s.(*ir.Assign).Value.(*ir.Call).Args[1])))
	}
	if s := fmt.Sprint(got); s != "[2 3 1]" {
		t.Error(s)
	}
}

// Copies of a body share no statement and no call: analyses use them as keys.
func TestCopiesAreDistinct(t *testing.T) {
	x, y, i, s := tvar("x"), tvar("y"), ivar("i"), ivar("s")
	f := fn("f", ir.Inline, nil, &ir.Eval{X: op("test.emit", ir.Unknown, ir.Int(1))},
		forN(ivar("j"), 2, &ir.Eval{X: op("test.emit", ir.Unknown, op("test.f", ir.IndexType, ir.Int(1)))}), ret())
	p := program(f, fn("main", ir.Orchestration, []ir.Param{in(x), out(y), in(s)},
		unroll(i, ir.Int(0), ir.Int(3), ir.Int(1),
			&ir.If{Cond: bin(ir.Gt, s, ir.Int(0)), Then: ir.Block{&ir.Eval{X: op("test.emit", ir.Unknown, ir.Int(2))}}},
			&ir.Eval{X: call("f")}, &ir.Eval{X: call("f")}),
		&ir.While{Cond: bin(ir.Gt, op("test.f", ir.IndexType, ir.Int(0)), ir.Int(3)), Body: ir.Block{&ir.Eval{X: op("test.emit", ir.Unknown, ir.Int(3))}}},
		ret(x)))
	for _, pass := range front(t) {
		var err error
		if p, err = pass.Run(&Context{}, p); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[any]bool{}
	ir.Inspect(p.Lookup("main").Body, func(s ir.Stmt) bool {
		if seen[s] {
			t.Errorf("statement %s stands twice", ir.PrintStmt(s))
		}
		seen[s] = true
		ir.Exprs(s, func(e ir.Expr) bool {
			switch e.(type) {
			case *ir.OpCall, *ir.Call:
				if seen[e] {
					t.Errorf("call %s stands twice", ir.PrintExpr(e))
				}
				seen[e] = true
			}
			return true
		})
		return true
	})
}
