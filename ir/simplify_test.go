package ir_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func index(name string) *ir.Var { return &ir.Var{Hint: name, Typ: ir.IndexType} }

func bin(op ir.BinOp, x, y ir.Expr) *ir.Binary {
	d := ir.ElemDType(x.Type())
	if op.IsCompare() || op.IsLogic() {
		d = ir.BOOL
	}
	return &ir.Binary{Op: op, X: x, Y: y, DType: d}
}

// text prints like the generator does: every operation in parentheses.
func text(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Binary:
		if e.Op == ir.Min || e.Op == ir.Max {
			return fmt.Sprintf("%s(%s, %s)", e.Op, text(e.X), text(e.Y))
		}
		return fmt.Sprintf("(%s %s %s)", text(e.X), e.Op, text(e.Y))
	}
	return ir.PrintExpr(e)
}

func TestSimplify(t *testing.T) {
	s, u, m := index("s"), index("u"), &ir.Var{Hint: "M", Typ: ir.IndexType, Dyn: true}
	flag := &ir.Var{Hint: "f", Typ: ir.BoolType}
	n := ir.Int
	add := func(x, y ir.Expr) ir.Expr { return bin(ir.Add, x, y) }
	sub := func(x, y ir.Expr) ir.Expr { return bin(ir.Sub, x, y) }
	mul := func(x, y ir.Expr) ir.Expr { return bin(ir.Mul, x, y) }
	div := func(x, y ir.Expr) ir.Expr { return bin(ir.FloorDiv, x, y) }
	mod := func(x, y ir.Expr) ir.Expr { return bin(ir.FloorMod, x, y) }
	neg := func(x ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Neg, X: x, DType: ir.INDEX} }
	not := func(x ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Not, X: x, DType: ir.BOOL} }
	read := func() ir.Expr { return &ir.OpCall{Op: "tensor.dim", Args: []ir.Expr{s, n(0)}, Typ: ir.IndexType} }
	i32 := &ir.Var{Hint: "w", Typ: ir.Scalar(ir.INT32)}
	u32 := &ir.Var{Hint: "q", Typ: ir.Scalar(ir.UINT32)}
	c := func(v int64, d ir.DType) ir.Expr { return &ir.ConstInt{Value: v, DType: d} }
	for _, tt := range []struct {
		id   string
		in   ir.Expr
		want string
	}{
		// The list of P-SIM-06.
		{"P-SIM-06", bin(ir.Gt, s, n(3)), "(3 < s)"},
		{"P-SIM-06", bin(ir.Gt, n(3), s), "(s < 3)"},
		{"P-SIM-06", bin(ir.Ge, s, u), "(u <= s)"},
		{"P-SIM-06", add(n(1), s), "(s + 1)"},
		{"P-SIM-06", mul(n(2), s), "(s * 2)"},
		{"P-SIM-06", add(mul(s, n(2)), s), "(s * 3)"},
		{"P-SIM-06", mul(add(s, n(3)), n(2)), "((s * 2) + 6)"},
		{"P-SIM-06", add(add(s, n(1)), n(2)), "(s + 3)"},
		{"P-SIM-06", sub(add(s, n(4)), s), "4"},
		{"P-SIM-06", bin(ir.Gt, sub(s, n(3)), n(0)), "(3 < s)"},
		{"P-SIM-06", bin(ir.Max, n(4), s), "max(s, 4)"},
		{"P-SIM-06", div(mul(s, n(8)), n(8)), "s"},
		{"P-SIM-06", mod(mul(s, n(8)), n(8)), "0"},
		{"P-SIM-06", div(s, n(1)), "s"},
		{"P-SIM-06", mul(s, n(1)), "s"},
		{"P-SIM-06", sub(s, n(0)), "s"},
		{"P-SIM-06", mul(s, n(0)), "0"},
		{"P-SIM-01", bin(ir.Lt, n(1), n(2)), "True"},

		{"slice extent", sub(add(s, n(16)), s), "16"},
		{"literal", add(n(2), mul(n(3), n(4))), "14"},
		{"floor", div(n(-7), n(2)), "-4"},
		{"floor", mod(n(-7), n(2)), "1"},
		{"floor", mod(n(7), n(-2)), "-1"},
		{"by zero", div(n(7), n(0)), "(7 // 0)"},
		{"ceil div", div(add(s, n(15)), n(16)), "((s + 15) // 16)"},
		{"ceil div", div(sub(add(s, n(16)), n(1)), n(16)), "((s + 15) // 16)"},
		{"common divisor", div(mul(s, n(4)), n(8)), "(s // 2)"},
		{"split", div(add(mul(s, n(8)), u), n(8)), "(s + (u // 8))"},
		{"nested", div(div(s, n(4)), n(8)), "(s // 32)"},
		{"nested", mod(mod(s, n(16)), n(4)), "(s % 4)"},
		{"wrap", mod(sub(s, n(1)), n(2)), "((s + 1) % 2)"},
		{"negative", sub(u, mul(s, n(1))), "(u - s)"},
		{"negative", add(neg(s), u), "(u - s)"},
		{"negative", neg(add(s, n(3))), "(-s - 3)"},
		{"negative", sub(n(3), s), "(3 - s)"},
		{"order kept", add(mul(s, n(4)), u), "((s * 4) + u)"},
		{"order kept", bin(ir.Lt, s, sub(u, n(1))), "(s < (u - 1))"},
		{"both sides", bin(ir.Lt, add(s, u), add(s, n(2))), "(u < 2)"},
		{"both sides", bin(ir.Le, mul(s, n(2)), add(s, u)), "(s <= u)"},
		{"one constant", bin(ir.Lt, add(s, n(1)), add(u, n(2))), "(s < (u + 1))"},
		{"divisor", bin(ir.Lt, mul(s, n(2)), n(5)), "(s < 3)"},
		{"divisor", bin(ir.Le, n(5), mul(s, n(2))), "(3 <= s)"},
		{"divisor", bin(ir.Eq, mul(s, n(2)), n(5)), "False"},
		{"divisor", bin(ir.Lt, mul(s, n(-2)), n(5)), "(-3 < s)"},
		{"equation", bin(ir.Eq, n(4), add(s, n(1))), "(s == 3)"},
		{"always", bin(ir.Lt, s, add(s, n(1))), "True"},
		{"symbols are sizes", bin(ir.Le, n(0), m), "True"},
		{"symbols are sizes", bin(ir.Max, m, n(0)), "M"},
		{"min", bin(ir.Min, bin(ir.Min, s, n(5)), n(3)), "min(s, 3)"},
		{"min", bin(ir.Min, add(s, n(1)), s), "s"},
		{"products", sub(mul(s, u), mul(u, s)), "0"},
		{"logic", bin(ir.And, flag, &ir.ConstBool{Value: true}), "f"},
		{"logic", bin(ir.Or, flag, &ir.ConstBool{Value: true}), "True"},
		{"logic", not(not(flag)), "f"},
		{"logic", not(bin(ir.Lt, s, u)), "(u <= s)"},
		{"calls stay", mul(read(), n(0)), "(pl.tensor.dim(s, 0) * 0)"},
		{"calls stay", sub(read(), read()), "(pl.tensor.dim(s, 0) - pl.tensor.dim(s, 0))"},
		{"overflow", add(n(math.MaxInt64), n(1)), "(9223372036854775807 + 1)"},
		{"overflow", mul(n(math.MinInt64), n(-1)), "(-9223372036854775808 * -1)"},
		{"overflow", div(n(math.MinInt64), n(-1)), "(-9223372036854775808 // -1)"},
		{"narrow", mul(c(1<<20, ir.INT32), c(1<<20, ir.INT32)), "(pl.const(1048576, pl.INT32) * pl.const(1048576, pl.INT32))"},
		{"narrow", add(add(i32, c(1, ir.INT32)), c(2, ir.INT32)), "(w + pl.const(3, pl.INT32))"},
		{"unsigned", bin(ir.Gt, sub(u32, c(3, ir.UINT32)), c(0, ir.UINT32)), "(pl.const(0, pl.UINT32) < (q - pl.const(3, pl.UINT32)))"},
		{"unsigned", sub(c(1, ir.UINT32), c(3, ir.UINT32)), "(pl.const(1, pl.UINT32) - pl.const(3, pl.UINT32))"},
		{"cast", &ir.Cast{X: s, DType: ir.INDEX}, "s"},
	} {
		got := ir.Simplify(tt.in)
		if text(got) != tt.want && ir.PrintExpr(got) != tt.want {
			t.Errorf("%s: %s → %s, want %s", tt.id, text(tt.in), text(got), tt.want)
		}
		if again := ir.Simplify(got); again != got {
			t.Errorf("%s: %s is not stable: %s", tt.id, text(got), text(again))
		}
	}
}

func TestSimplifyKeepsPointers(t *testing.T) {
	s := index("s")
	for _, e := range []ir.Expr{
		bin(ir.Add, bin(ir.Mul, s, ir.Int(4)), ir.Int(3)),
		bin(ir.Lt, s, ir.Int(3)),
		&ir.MakeTuple{Elems: []ir.Expr{s, bin(ir.FloorDiv, s, ir.Int(2))}},
	} {
		if got := ir.Simplify(e); got != e {
			t.Errorf("%s was rebuilt although nothing changed", text(e))
		}
	}
}

func TestSimplifyWithin(t *testing.T) {
	i := index("i")
	known := ir.Bounds{i: {Lo: 0, Hi: 7}}
	for _, tt := range []struct {
		in   ir.Expr
		want string
	}{
		{bin(ir.FloorDiv, i, ir.Int(8)), "0"},
		{bin(ir.FloorMod, i, ir.Int(8)), "i"},
		{bin(ir.FloorMod, bin(ir.Add, bin(ir.Mul, i, ir.Int(2)), ir.Int(1)), ir.Int(16)), "((i * 2) + 1)"},
		{bin(ir.Lt, i, ir.Int(8)), "True"},
		{bin(ir.Eq, i, ir.Int(8)), "False"},
		{bin(ir.Min, i, ir.Int(7)), "i"},
		{bin(ir.Lt, i, ir.Int(7)), "(i < 7)"},
	} {
		if got := ir.SimplifyWithin(tt.in, known); text(got) != tt.want {
			t.Errorf("%s → %s, want %s", text(tt.in), text(got), tt.want)
		}
	}
}

func TestProveEqual(t *testing.T) {
	a, b := index("a"), &ir.Var{Hint: "b", Typ: ir.Scalar(ir.INT64)}
	n := ir.Int
	for _, tt := range []struct {
		x, y ir.Expr
		want bool
	}{
		{n(4), &ir.ConstInt{Value: 4, DType: ir.INT32}, true},
		{bin(ir.Add, a, b), bin(ir.Add, b, a), true},
		{bin(ir.Mul, bin(ir.Add, a, n(1)), b), bin(ir.Add, b, bin(ir.Mul, b, a)), true},
		{bin(ir.Min, a, b), bin(ir.Min, b, a), true},
		{&ir.Cast{X: b, DType: ir.INDEX}, b, true},
		{bin(ir.FloorDiv, bin(ir.Mul, a, n(16)), n(4)), bin(ir.Mul, n(4), a), true},
		{a, b, false},
		{a, bin(ir.Add, a, n(1)), false},
		{nil, nil, true},
		{a, nil, false},
	} {
		if got := ir.ProveEqual(tt.x, tt.y); got != tt.want {
			t.Errorf("ProveEqual(%s, %s) = %v", ir.PrintExpr(tt.x), ir.PrintExpr(tt.y), got)
		}
	}
}

func TestSubstitute(t *testing.T) {
	a, b := index("a"), index("b")
	e := &ir.OpCall{Op: "tensor.create", Args: []ir.Expr{bin(ir.Add, a, b)}, Typ: &ir.TensorType{Shape: []ir.Expr{a}, DType: ir.FP32}}
	got := ir.Substitute(e, map[*ir.Var]ir.Expr{a: ir.Int(3)}).(*ir.OpCall)
	if s := ir.PrintExpr(got); s != "pl.tensor.create(3 + b)" {
		t.Errorf("got %s", s)
	}
	if s := ir.PrintType(got.Typ); s != "pl.Tensor[[3], pl.FP32]" {
		t.Errorf("type not substituted: %s", s)
	}
	if same := ir.Substitute(e, map[*ir.Var]ir.Expr{index("a"): ir.Int(3)}); same != ir.Expr(e) {
		t.Error("another variable of the same name was replaced")
	}
}

// exprGen makes random integer and boolean expressions over a few Vars.
type exprGen struct {
	r    *rand.Rand
	vars []*ir.Var
	flag []*ir.Var
	edge bool // literals at the limits of int64
}

func (g *exprGen) int(depth int) ir.Expr {
	if depth == 0 || g.r.IntN(5) == 0 {
		switch g.r.IntN(5) {
		case 0, 1:
			return ir.Int(int64(g.r.IntN(25) - 9))
		case 2:
			if !g.edge {
				return ir.Int(int64(g.r.IntN(5)))
			}
			edge := []int64{math.MaxInt64, math.MinInt64, 1 << 40, -1 << 40, 64, 16, 8, 4}
			return ir.Int(edge[g.r.IntN(len(edge))])
		}
		return g.vars[g.r.IntN(len(g.vars))]
	}
	if g.r.IntN(12) == 0 {
		op := []ir.UnOp{ir.Neg, ir.Abs, ir.BitNot}[g.r.IntN(3)]
		return &ir.Unary{Op: op, X: g.int(depth - 1), DType: ir.INDEX}
	}
	ops := []ir.BinOp{ir.Add, ir.Add, ir.Sub, ir.Sub, ir.Mul, ir.FloorDiv, ir.FloorMod, ir.Min, ir.Max, ir.Shl, ir.Shr, ir.BitAnd}
	op := ops[g.r.IntN(len(ops))]
	y := g.int(depth - 1)
	if g.r.IntN(2) == 0 && (op == ir.Mul || op == ir.FloorDiv || op == ir.FloorMod) {
		y = ir.Int([]int64{1, 2, 3, 4, 6, 8, 16, -1, -3, -8}[g.r.IntN(10)])
	}
	return bin(op, g.int(depth-1), y)
}

func (g *exprGen) bool(depth int) ir.Expr {
	if depth == 0 {
		return g.flag[g.r.IntN(len(g.flag))]
	}
	switch g.r.IntN(6) {
	case 0:
		return &ir.Unary{Op: ir.Not, X: g.bool(depth - 1), DType: ir.BOOL}
	case 1:
		return bin([]ir.BinOp{ir.And, ir.Or, ir.Xor}[g.r.IntN(3)], g.bool(depth-1), g.bool(depth-1))
	}
	return bin(ir.Eq+ir.BinOp(g.r.IntN(6)), g.int(depth-1), g.int(depth-1))
}

// eval computes with unbounded integers; false when the value is undefined (division by zero, a shift out of range).
func eval(e ir.Expr, env map[*ir.Var]*big.Int) (*big.Int, bool) {
	truth := func(b bool) (*big.Int, bool) {
		if b {
			return big.NewInt(1), true
		}
		return big.NewInt(0), true
	}
	switch e := e.(type) {
	case *ir.Var:
		return env[e], true
	case *ir.ConstInt:
		return big.NewInt(e.Value), true
	case *ir.ConstBool:
		return truth(e.Value)
	case *ir.Unary:
		x, ok := eval(e.X, env)
		if !ok {
			return nil, false
		}
		switch e.Op {
		case ir.Neg:
			return new(big.Int).Neg(x), true
		case ir.Abs:
			return new(big.Int).Abs(x), true
		case ir.BitNot:
			return new(big.Int).Not(x), true
		}
		return truth(x.Sign() == 0)
	case *ir.Binary:
		x, ok1 := eval(e.X, env)
		y, ok2 := eval(e.Y, env)
		if !ok1 || !ok2 {
			return nil, false
		}
		z := new(big.Int)
		switch e.Op {
		case ir.Add:
			return z.Add(x, y), true
		case ir.Sub:
			return z.Sub(x, y), true
		case ir.Mul:
			return z.Mul(x, y), true
		case ir.FloorDiv, ir.FloorMod:
			if y.Sign() == 0 {
				return nil, false
			}
			q, m := z.DivMod(x, y, new(big.Int)) // Euclidean
			if m.Sign() != 0 && y.Sign() < 0 {   // to floor
				q.Sub(q, big.NewInt(1))
				m.Add(m, y)
			}
			if e.Op == ir.FloorDiv {
				return q, true
			}
			return m, true
		case ir.Min, ir.Max:
			if (x.Cmp(y) <= 0) == (e.Op == ir.Min) {
				return x, true
			}
			return y, true
		case ir.BitAnd:
			return z.And(x, y), true
		case ir.Shl, ir.Shr:
			if y.Sign() < 0 || y.Cmp(big.NewInt(200)) > 0 {
				return nil, false
			}
			if e.Op == ir.Shl {
				return z.Lsh(x, uint(y.Int64())), true
			}
			return z.Rsh(x, uint(y.Int64())), true
		case ir.Eq:
			return truth(x.Cmp(y) == 0)
		case ir.Ne:
			return truth(x.Cmp(y) != 0)
		case ir.Lt:
			return truth(x.Cmp(y) < 0)
		case ir.Le:
			return truth(x.Cmp(y) <= 0)
		case ir.Gt:
			return truth(x.Cmp(y) > 0)
		case ir.Ge:
			return truth(x.Cmp(y) >= 0)
		case ir.And:
			return z.And(x, y), true
		case ir.Or:
			return z.Or(x, y), true
		case ir.Xor:
			return z.Xor(x, y), true
		}
	}
	panic(fmt.Sprintf("no rule for %T", e))
}

// TestSimplifyMeansTheSame: the simplified expression has the value of the original on random assignments, negative ones included.
func TestSimplifyMeansTheSame(t *testing.T) {
	g := &exprGen{r: rand.New(rand.NewPCG(1, 2)), vars: []*ir.Var{index("a"), index("b"), index("c")},
		flag: []*ir.Var{{Hint: "p", Typ: ir.BoolType}, {Hint: "q", Typ: ir.BoolType}}}
	g.vars = append(g.vars, &ir.Var{Hint: "M", Typ: ir.IndexType, Dyn: true})
	known := ir.Bounds{g.vars[0]: {Lo: -3, Hi: 12}}
	rounds := 25000
	if testing.Short() {
		rounds = 5000
	}
	for round := range rounds {
		var e ir.Expr
		g.edge = round%3 == 0
		if round%2 == 0 {
			e = g.int(1 + round%5)
		} else {
			e = g.bool(1 + round%4)
		}
		forms := []ir.Expr{ir.Simplify(e), ir.SimplifyWithin(e, known)}
		if again := ir.Simplify(forms[0]); again != forms[0] && !g.edge { // a fold that overflowed may succeed in smaller steps
			t.Fatalf("not stable:\n  %s\n→ %s\n→ %s", text(e), text(forms[0]), text(again))
		}
		bounds := ir.IntervalOf(e, known)
		for range 6 {
			env := map[*ir.Var]*big.Int{}
			for _, v := range g.vars {
				env[v] = big.NewInt(int64(g.r.IntN(41) - 20))
				if g.r.IntN(6) == 0 {
					env[v] = big.NewInt(g.r.Int64() - g.r.Int64())
				}
			}
			env[g.vars[0]] = big.NewInt(int64(g.r.IntN(16) - 3))
			env[g.vars[3]].Abs(env[g.vars[3]])
			for _, v := range g.flag {
				env[v] = big.NewInt(int64(g.r.IntN(2)))
			}
			want, ok := eval(e, env)
			if !ok {
				continue
			}
			for _, s := range forms {
				if got, ok := eval(s, env); !ok || got.Cmp(want) != 0 {
					t.Fatalf("%s\n→ %s\nwith %v: got %v, want %v", text(e), text(s), values(g, env), got, want)
				}
			}
			if bounds.Lo != math.MinInt64 && want.Cmp(big.NewInt(bounds.Lo)) < 0 || bounds.Hi != math.MaxInt64 && want.Cmp(big.NewInt(bounds.Hi)) > 0 {
				t.Fatalf("%s with %v is %v, outside of %v", text(e), values(g, env), want, bounds)
			}
		}
		if round%2 == 0 {
			other := g.int(1 + round%3)
			d, ok := ir.ProveDifference(e, other)
			env := map[*ir.Var]*big.Int{}
			for _, v := range g.vars {
				env[v] = big.NewInt(int64(g.r.IntN(9)))
			}
			x, ok1 := eval(e, env)
			y, ok2 := eval(other, env)
			if ok && ok1 && ok2 && new(big.Int).Sub(x, y).Cmp(big.NewInt(d)) != 0 {
				t.Fatalf("difference of %s and %s is not %d", text(e), text(other), d)
			}
		}
	}
}

func values(g *exprGen, env map[*ir.Var]*big.Int) (s []string) {
	for _, v := range append(g.vars[:len(g.vars):len(g.vars)], g.flag...) {
		s = append(s, fmt.Sprintf("%s=%v", v.Hint, env[v]))
	}
	return s
}

func TestTripCount(t *testing.T) {
	for _, tt := range []struct {
		start, stop, step, want int64
		ok                      bool
	}{
		{0, 4, 1, 4, true}, {0, 5, 2, 3, true}, {4, 0, -2, 2, true}, {4, 4, 1, 0, true}, {0, 4, -1, 0, true}, {0, 4, 0, 0, false},
		{math.MinInt64, math.MaxInt64, 1, 0, false}, {math.MinInt64, math.MaxInt64, math.MaxInt64, 3, true}, {0, math.MinInt64, math.MinInt64, 1, true},
	} {
		if n, ok := ir.TripCount(tt.start, tt.stop, tt.step); ok != tt.ok || ok && n != tt.want {
			t.Errorf("TripCount(%d, %d, %d) = %d, %v", tt.start, tt.stop, tt.step, n, ok)
		}
	}
	loop := &ir.For{Start: ir.Int(4), Stop: ir.Int(0), Step: ir.Int(-2)}
	if i, ok := ir.LoopInterval(loop); !ok || i != (ir.Interval{Lo: 2, Hi: 4}) {
		t.Errorf("LoopInterval = %v, %v", i, ok)
	}
}

func BenchmarkSimplifyLongSum(b *testing.B) {
	var e ir.Expr = ir.Int(1)
	for i := range 2000 {
		e = bin(ir.Add, e, bin(ir.Mul, index(fmt.Sprint("v", i)), ir.Int(3)))
	}
	for b.Loop() {
		ir.Simplify(e)
	}
}
