package interp

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

var update = flag.Bool("update", false, "compute testdata/cpp_values.golden anew with the host's C++ compiler")

// The expressions of TestExpressionsAgainstCpp compute with these variables; their values are what the C++ side declares too.
var exprVars = []struct {
	d    ir.DType
	bits []uint64
}{
	{ir.INT64, []uint64{7, ^uint64(6), 1 << 40, 0, math.MaxInt64}},
	{ir.INT64, []uint64{3, ^uint64(2), 1, 1 << 33, ^uint64(0)}},
	{ir.INT32, []uint64{5, 0xFFFFFFF4, 2147483647, 1, 0x80000001}},
	{ir.INT8, []uint64{100, 0x81, 3, 0xFF, 1}},
	{ir.UINT8, []uint64{200, 255, 7, 1, 2}},
	{ir.UINT32, []uint64{4294967295, 10, 3, 1 << 31, 6}},
	{ir.UINT64, []uint64{1 << 63, 12, math.MaxUint64, 5, 1}},
	{ir.BOOL, []uint64{1, 0, 1, 1, 0}},
	{ir.FP32, []uint64{0x40490fdb, 0xc0200000, 0x4f000000, 0x3dcccccd, 0x7f7fffff}},
	{ir.FP64, []uint64{0x400921fb54442d18, 0xbff8000000000000, 0x41e0000000000000, 0x3fb999999999999a, 0x3ff0000000000000}},
	{ir.FP16, []uint64{0x4248, 0xc100, 0x7bff, 0x2e66, 0x0001}},
	{ir.BF16, []uint64{0x4049, 0xc020, 0x7f7f, 0x3dcd, 0x0001}},
}

var cppTypes = map[ir.DType]string{ir.INT64: "int64_t", ir.INT32: "int32_t", ir.INT8: "int8_t", ir.UINT8: "uint8_t", ir.UINT32: "uint32_t", ir.UINT64: "uint64_t",
	ir.BOOL: "bool", ir.FP32: "float", ir.FP64: "double", ir.FP16: "half", ir.BF16: "bfloat16_t"}

// randomExpr makes an expression and its C++ text, as the printer of plans writes it.
func randomExpr(rng *rand.Rand, names []*plan.Name, depth int) (plan.Expr, string) {
	if depth == 0 || rng.IntN(6) == 0 {
		switch rng.IntN(5) {
		case 0:
			v := []int64{0, 1, -1, 2, 3, 16, 100, 1 << 35, -2147483648}[rng.IntN(9)]
			suffix := ""
			if v > math.MaxInt32 {
				suffix = "LL"
			}
			return &plan.Int{Value: v, DType: ir.INDEX}, fmt.Sprint("L(", v, suffix, ")")
		case 1:
			v := []float64{0.5, 2, -1.25, 0.1, 1000000}[rng.IntN(5)]
			return &plan.Float{Value: v, DType: ir.FP32}, "L(" + plan.FloatText(v, ir.FP32) + "f)"
		}
		k := rng.IntN(len(names))
		return &plan.Ref{Name: names[k]}, names[k].Text
	}
	dtypes := []ir.DType{ir.INT64, ir.INT32, ir.INT8, ir.UINT8, ir.UINT32, ir.UINT64, ir.FP32, ir.FP64}
	d := dtypes[rng.IntN(len(dtypes))]
	x, xs := randomExpr(rng, names, depth-1)
	y, ys := randomExpr(rng, names, depth-1)
	call := func(op ir.BinOp, f string, floored bool) (plan.Expr, string) {
		return &plan.Binary{Op: op, X: x, Y: y, DType: d, Floored: floored}, fmt.Sprintf("%s<%s>(%s, %s)", f, cppTypes[d], xs, ys)
	}
	infix := func(op ir.BinOp, s string) (plan.Expr, string) {
		return &plan.Binary{Op: op, X: x, Y: y, DType: d}, fmt.Sprintf("(%s %s %s)", xs, s, ys)
	}
	whole := func(e *plan.Expr, s *string) { // integer operands only
		*e, *s = &plan.Cast{X: *e, DType: ir.INT64}, "static_cast<int64_t>("+*s+")"
	}
	switch rng.IntN(24) {
	case 0, 1:
		return infix(ir.Add, "+")
	case 2:
		return infix(ir.Sub, "-")
	case 3, 4:
		return infix(ir.Mul, "*")
	case 5:
		return infix(ir.FloorDiv, "/")
	case 6:
		whole(&x, &xs)
		whole(&y, &ys)
		return infix(ir.FloorMod, "%")
	case 7:
		return call(ir.Min, "std::min", false)
	case 8:
		return call(ir.Max, "std::max", false)
	case 9:
		k := rng.IntN(2)
		return infix([]ir.BinOp{ir.Eq, ir.Ne}[k], []string{"==", "!="}[k])
	case 10:
		k := rng.IntN(4)
		return infix([]ir.BinOp{ir.Lt, ir.Le, ir.Gt, ir.Ge}[k], []string{"<", "<=", ">", ">="}[k])
	case 11:
		k := rng.IntN(3)
		return infix([]ir.BinOp{ir.And, ir.Or, ir.Xor}[k], []string{"&&", "||", "!="}[k])
	case 12:
		whole(&x, &xs)
		whole(&y, &ys)
		k := rng.IntN(3)
		return infix([]ir.BinOp{ir.BitAnd, ir.BitOr, ir.BitXor}[k], []string{"&", "|", "^"}[k])
	case 13:
		whole(&x, &xs)
		n := rng.Int64N(31)
		k := rng.IntN(2)
		return &plan.Binary{Op: []ir.BinOp{ir.Shl, ir.Shr}[k], X: x, Y: &plan.Int{Value: n, DType: ir.INT64}, DType: ir.INT64}, fmt.Sprintf("(%s %s %d)", xs, []string{"<<", ">>"}[k], n)
	case 14, 15:
		if d.IsFloat() {
			if rng.IntN(2) == 0 {
				return &plan.Binary{Op: ir.FloorDiv, X: x, Y: y, DType: d, Floored: true}, fmt.Sprintf("std::floor(%s / %s)", xs, ys)
			}
			return &plan.Binary{Op: ir.FloorMod, X: x, Y: y, DType: d, Floored: true}, fmt.Sprintf("(%s - std::floor(%s / %s) * %s)", xs, xs, ys, ys)
		}
		if rng.IntN(2) == 0 {
			return call(ir.FloorDiv, "pto_floor_div", true)
		}
		return call(ir.FloorMod, "pto_floor_mod", true)
	case 16:
		if d.IsFloat() {
			d = ir.INT64
		}
		y, ys = &plan.Int{Value: 3, DType: ir.INT64}, "3"
		return call(ir.Pow, "pto_pow", false)
	case 17:
		return &plan.Unary{Op: ir.Neg, X: x, DType: d}, "(- " + xs + ")"
	case 18:
		return &plan.Unary{Op: ir.Not, X: x, DType: ir.BOOL}, "(!" + xs + ")"
	case 19:
		whole(&x, &xs)
		return &plan.Unary{Op: ir.BitNot, X: x, DType: ir.INT64}, "(~" + xs + ")"
	case 20:
		return &plan.Unary{Op: ir.Abs, X: x, DType: d}, fmt.Sprintf("pto_abs<%s>(%s)", cppTypes[d], xs)
	case 21:
		return &plan.Uint32{X: x}, "static_cast<uint32_t>(" + xs + ")"
	}
	all := append(dtypes, ir.BOOL)
	d = all[rng.IntN(len(all))]
	return &plan.Cast{X: x, DType: d}, fmt.Sprintf("static_cast<%s>(%s)", cppTypes[d], xs)
}

const cppHead = `#include <cmath>
#include <cstdio>
#include "pto_orchestration_api.h"
template <typename T> static inline T pto_floor_div(T a, T b) { T q = a / b; return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q; }
template <typename T> static inline T pto_floor_mod(T a, T b) { T r = a % b; return (r != 0 && (r < 0) != (b < 0)) ? r + b : r; }
template <typename T> static inline T pto_pow(T base, T exponent) { T r = 1; for (; exponent > 0; --exponent) r *= base; return r; }
template <typename T> static inline T pto_abs(T x) { return x < 0 ? -x : x; }
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs&) { return {0}; }
void aicpu_orchestration_entry(const ChipStorageTaskArgs&) {}
template <typename T> static inline T L(T v) { volatile T x = v; return x; } // a literal that is not folded: folding differs where a conversion is undefined
template <typename T> void show(T v) { setbuf(stdout, 0); printf("%llx/%d\n", (unsigned long long)to_u64(v), (int)sizeof(T)); }
`

// Every expression gives the bits and the width that C++ gives. The C++ results are in testdata/cpp_values.golden, one line an expression; with
// -update they are computed anew (g++ -O0 -fwrapv on x86-64).
func TestExpressionsAgainstCpp(t *testing.T) {
	rng := rand.New(rand.NewPCG(2024, 9))
	var cpp, got strings.Builder
	cpp.WriteString(cppHead)
	var texts []string
	f := &plan.File{Func: "expr"}
	for i, v := range exprVars {
		f.Scalars = append(f.Scalars, plan.Scalar{Name: &plan.Name{Text: fmt.Sprintf("v%d", i)}, DType: v.d})
	}
	names := make([]*plan.Name, len(f.Scalars))
	for i := range names {
		names[i] = f.Scalars[i].Name
	}
	cpp.WriteString("int main() {\n")
	for set := range 5 {
		cpp.WriteString("  {\n")
		args := Args{}
		for i, v := range exprVars {
			args.Scalars = append(args.Scalars, v.bits[set])
			fmt.Fprintf(&cpp, "    volatile uint64_t b%d = %dULL; %s v%d = from_u64<%s>(b%d);\n", i, v.bits[set], cppTypes[v.d], i, cppTypes[v.d], i)
		}
		for range 300 {
			e, text := randomExpr(rng, names, 1+rng.IntN(4))
			line := evaluate(t, f, args, e)
			if line == "" { // a division by zero: C++ would trap
				continue
			}
			got.WriteString(line + "\n")
			texts = append(texts, text)
			fmt.Fprintf(&cpp, "    show(%s);\n", text)
		}
		cpp.WriteString("  }\n")
	}
	cpp.WriteString("}\n")
	golden := filepath.Join("testdata", "cpp_values.golden")
	if *update {
		if err := os.WriteFile(golden, runCpp(t, cpp.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(g) != len(w) {
		t.Fatalf("%d values, the golden file has %d; run with -update", len(g)-1, len(w)-1)
	}
	bad := 0
	for i := range texts {
		if g[i] != w[i] && bad < 20 {
			bad++
			t.Errorf("%s = %s, C++ gives %s", texts[i], g[i], w[i])
		}
	}
}

// evaluate gives bits and width of an expression, "" when it traps.
func evaluate(t *testing.T, f *plan.File, args Args, e plan.Expr) (line string) {
	t.Helper()
	rt, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if s, ok := recover().(stopped); ok {
			if !strings.Contains(s.err.Error(), string(CodeDivide)) {
				t.Fatal(s.err)
			}
			line = ""
		}
	}()
	c := &compiler{file: f, vars: map[*plan.Name]variable{}}
	setup := c.entry()
	x := c.num(e)
	bits := c.bits(x)
	fr := c.frame(rt, args)
	setup(fr)
	return fmt.Sprintf("%x/%d", bits(fr), x.t.size())
}

func runCpp(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "values.cpp"), filepath.Join(dir, "values")
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-std=c++17", "-O0", "-fwrapv", "-w", "-I../include", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatalf("%v after %d values", err, strings.Count(string(out), "\n"))
	}
	return out
}
