package orch

import (
	"math"
	"strconv"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// operators are the C++ spellings; the rest of the binary operators print as calls.
var operators = [...]string{
	ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.FloorDiv: "/", ir.FloorMod: "%", ir.FloatDiv: "/",
	ir.Eq: "==", ir.Ne: "!=", ir.Lt: "<", ir.Le: "<=", ir.Gt: ">", ir.Ge: ">=",
	ir.And: "&&", ir.Or: "||", ir.Xor: "!=", ir.BitAnd: "&", ir.BitOr: "|", ir.BitXor: "^", ir.Shl: "<<", ir.Shr: ">>",
}

func (p *printer) list(es []plan.Expr) *printer {
	for i, e := range es {
		p.sep(i).expr(e)
	}
	return p
}

// expr prints an expression, fully parenthesised.
func (p *printer) expr(e plan.Expr) *printer {
	prof := p.prof
	switch e := e.(type) {
	case *plan.Ref:
		p.s(e.Name.Text)
	case *plan.Int:
		p.intLit(e.Value, e.DType)
	case *plan.Float:
		p.s(floatLit(e.Value, e.DType))
	case *plan.Bool:
		p.s(pick(e.Value, "1", "0"))
	case *plan.Binary:
		p.binary(e)
	case *plan.Unary:
		switch e.Op {
		case ir.Abs:
			p.s("pto_abs<", CTypes[e.DType], ">(").expr(e.X).s(")")
		default:
			p.s("(", [...]string{ir.Neg: "-", ir.Not: "!", ir.BitNot: "~"}[e.Op]).expr(e.X).s(")")
		}
	case *plan.Cast:
		p.s("static_cast<", CTypes[e.DType], ">(").expr(e.X).s(")")
	case *plan.Uint32:
		p.s("static_cast<uint32_t>(").expr(e.X).s(")")
	case *plan.Bits:
		p.s(prof.ToBits, "(").expr(e.X).s(")")
	case *plan.Elem:
		p.s(e.Array.Text, "[").expr(e.I).s("]")
	case *plan.Extent:
		p.s("(int64_t)", e.Tensor.Text, ".", prof.Extent, "[").int(int64(e.Axis)).s("]")
	case *plan.EntryExtent:
		p.s("(int64_t)").entryTensor(e.Ordinal).s(prof.EntryRef, ".", prof.Extent, "[").int(int64(e.Axis)).s("]")
	case *plan.InvalidTask:
		p.s(prof.TaskID, "::", prof.InvalidID)
	case *plan.IsValid:
		p.expr(e.X).s(".", prof.IsValid)
	case *plan.TaskIDOf:
		p.s(e.Outs.Text, ".", prof.GetID)
	case *plan.OutRef:
		p.s(e.Outs.Text, ".", prof.GetRef, "(").int(int64(e.I)).s(")")
	case *plan.Clamped:
		off, ext := e.Offsets.Text+"["+strconv.Itoa(e.Axis)+"]", e.Tensor.Text+"."+prof.Extent+"["+strconv.Itoa(e.Axis)+"]"
		p.s("(", off, " >= ", ext, " ? 0u : std::min<uint32_t>(").expr(e.Size).s(", ", ext, " - ", off, "))")
	case *plan.View:
		p.s(e.Tensor.Text, ".", prof.View, "(", e.Shapes.Text, ", ", e.Offsets.Text, ")")
	case *plan.Reshape:
		p.s(e.Tensor.Text, ".", prof.Reshape, "(", e.Shapes.Text, ", ").int(int64(e.N)).s(")")
	case *plan.Transpose:
		p.s(e.Tensor.Text, ".", prof.Transpose, "(").int(int64(e.A)).s(", ").int(int64(e.B)).s(")")
	case *plan.Read:
		indices := "nullptr"
		if e.Indices != nil {
			indices = e.Indices.Text
		}
		p.s(prof.Read, "<", CTypes[e.DType], ">(", e.Tensor.Text, ", ").int(int64(e.N)).s(", ", indices, ")")
	case *plan.Query:
		p.s(prof.Queries[btoi(e.AIV)])
	}
	return p
}

func (p *printer) binary(e *plan.Binary) {
	t := CTypes[e.DType]
	call := func(f string) { p.s(f, "<", t, ">(").expr(e.X).s(", ").expr(e.Y).s(")") }
	switch {
	case e.Op == ir.Min:
		call("std::min")
	case e.Op == ir.Max:
		call("std::max")
	case e.Op == ir.Pow && e.DType.IsFloat():
		p.s("static_cast<", t, ">(std::pow(").expr(e.X).s(", ").expr(e.Y).s("))")
	case e.Op == ir.Pow:
		call("pto_pow")
	case e.Floored && e.DType.IsFloat() && e.Op == ir.FloorDiv:
		p.s("std::floor(").expr(e.X).s(" / ").expr(e.Y).s(")")
	case e.Floored && e.DType.IsFloat():
		p.s("(").expr(e.X).s(" - std::floor(").expr(e.X).s(" / ").expr(e.Y).s(") * ").expr(e.Y).s(")")
	case e.Floored && e.Op == ir.FloorDiv:
		call("pto_floor_div")
	case e.Floored:
		call("pto_floor_mod")
	default:
		p.s("(").expr(e.X).s(" ", operators[e.Op], " ").expr(e.Y).s(")")
	}
}

// intLit prints an integer with the suffix that its size needs. The smallest int64 has no literal of its own.
func (p *printer) intLit(v int64, d ir.DType) *printer {
	switch {
	case d == ir.UINT64 && (v < 0 || v > math.MaxInt32):
		return p.s(strconv.FormatUint(uint64(v), 10), "ULL")
	case v == math.MinInt64:
		return p.s("(-9223372036854775807LL - 1)")
	case v > math.MaxInt32 || v < math.MinInt32:
		return p.int(v).s("LL")
	}
	return p.int(v)
}

func floatLit(v float64, d ir.DType) string {
	double := d == ir.FP64
	switch {
	case math.IsNaN(v):
		return pick(double, `__builtin_nan("")`, `__builtin_nanf("")`)
	case math.IsInf(v, 1):
		return pick(double, "__builtin_inf()", "__builtin_inff()")
	case math.IsInf(v, -1):
		return pick(double, "-__builtin_inf()", "-__builtin_inff()")
	}
	return plan.FloatText(v, d) + pick(double, "", "f")
}

// ctype prints the type of a declared variable.
func (p *printer) ctype(t plan.CType) *printer {
	name := ""
	switch t.Kind {
	case plan.Number:
		name = CTypes[t.DType]
	case plan.TensorT:
		name = p.prof.Tensor
	case plan.TaskT:
		name = p.prof.TaskID
	case plan.Uint32T:
		name = "uint32_t"
	case plan.Int32T:
		name = "int32_t"
	case plan.OutputsT:
		name = p.prof.Outputs
	}
	if t.Ref {
		return p.s("const ", name, "&")
	}
	return p.s(name)
}

// helpers are the functions of the file, in this order.
var helpers = []struct {
	flag plan.Helper
	text []string
}{
	{plan.FloorDivHelper, []string{
		"template <typename T>",
		"static inline T pto_floor_div(T a, T b) {",
		"    T q = a / b;",
		"    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;",
		"}",
	}},
	{plan.FloorModHelper, []string{
		"template <typename T>",
		"static inline T pto_floor_mod(T a, T b) {",
		"    T r = a % b;",
		"    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;",
		"}",
	}},
	{plan.PowHelper, []string{
		"template <typename T>",
		"static inline T pto_pow(T base, T exponent) {",
		"    T r = 1;",
		"    for (; exponent > 0; --exponent) r *= base;",
		"    return r;",
		"}",
	}},
	{plan.AbsHelper, []string{
		"template <typename T>",
		"static inline T pto_abs(T x) {",
		"    return x < 0 ? -x : x;",
		"}",
	}},
}

func (p *printer) helpers(set plan.Helper) {
	for _, h := range helpers {
		if set&h.flag == 0 {
			continue
		}
		for _, l := range h.text {
			p.ln(l)
		}
		p.ln()
	}
}

func pick(c bool, yes, no string) string {
	if c {
		return yes
	}
	return no
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
