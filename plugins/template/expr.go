package template

import (
	"math"
	"strconv"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// Expressions, by falling precedence.
var levels = [][]struct {
	sign string
	op   ir.BinOp
}{
	{{"||", ir.Or}},
	{{"&&", ir.And}},
	{{"|", ir.BitOr}},
	{{"^", ir.BitXor}},
	{{"&", ir.BitAnd}},
	{{"==", ir.Eq}, {"!=", ir.Ne}},
	{{"<=", ir.Le}, {">=", ir.Ge}, {"<", ir.Lt}, {">", ir.Gt}},
	{{"<<", ir.Shl}, {">>", ir.Shr}},
	{{"+", ir.Add}, {"-", ir.Sub}},
	{{"*", ir.Mul}, {"/", ir.FloorDiv}, {"%", ir.FloorMod}},
}

func (p *parser) expr() value { return p.level(0) }

// num reads an expression that is a number.
func (p *parser) num() value {
	v := p.expr()
	if v.shape != number {
		p.failf("%s stands where a number is expected", v.shape)
	}
	return v
}

func (p *parser) level(k int) value {
	if k == len(levels) {
		return p.unary()
	}
	x := p.level(k + 1)
	for {
		found := false
		for _, l := range levels[k] {
			if p.got(l.sign) {
				x, found = p.binary(l.op, x, p.level(k+1)), true
				break
			}
		}
		if !found {
			return x
		}
	}
}

func (p *parser) binary(op ir.BinOp, x, y value) value {
	if x.shape != number || y.shape != number {
		p.failf("an operator needs numbers")
	}
	d := ir.INT64
	switch {
	case x.dtype == ir.FP64 || y.dtype == ir.FP64:
		d = ir.FP64
	case x.dtype.IsFloat() || y.dtype.IsFloat():
		d = ir.FP32
	}
	if d.IsFloat() {
		switch op {
		case ir.FloorDiv:
			op = ir.FloatDiv
		case ir.FloorMod, ir.BitAnd, ir.BitOr, ir.BitXor, ir.Shl, ir.Shr:
			p.failf("this operator needs integers")
		}
	}
	out := value{e: &plan.Binary{Op: op, X: x.e, Y: y.e, DType: d}, variable: variable{dtype: d, root: -1}}
	if op.IsCompare() || op.IsLogic() {
		out.e.(*plan.Binary).DType, out.dtype = ir.BOOL, ir.BOOL
	}
	return out
}

func (p *parser) unary() value {
	if p.depth++; p.depth > maxDepth {
		p.failf("expressions nest too deeply")
	}
	defer func() { p.depth-- }()
	var op ir.UnOp
	switch {
	case p.got("-"):
		op = ir.Neg
	case p.got("!"):
		op = ir.Not
	case p.got("~"):
		op = ir.BitNot
	default:
		return p.primary()
	}
	x := p.unary()
	if x.shape != number {
		p.failf("an operator needs numbers")
	}
	if op == ir.Neg {
		switch c := x.e.(type) {
		case *plan.Int:
			return value{e: &plan.Int{Value: -c.Value, DType: c.DType}, variable: x.variable}
		case *plan.Float:
			return value{e: &plan.Float{Value: -c.Value, DType: c.DType}, variable: x.variable}
		}
	}
	d := x.dtype
	if op == ir.Not {
		d = ir.BOOL
	}
	return value{e: &plan.Unary{Op: op, X: x.e, DType: d}, variable: variable{dtype: d, root: -1}}
}

// primary reads a number, a slot, a call, or a parenthesis, with what follows it.
func (p *parser) primary() value {
	l := p.next()
	var v value
	switch {
	case l.slot != nil:
		v = p.slot(l.slot)
	case l.text == "":
		p.failf("got the end, want an expression")
	case l.text == "(":
		v = p.expr()
		p.want(")")
		v.name = nil
	case l.text[0] >= '0' && l.text[0] <= '9':
		v = p.literal(l.text)
	default:
		v = p.call(l)
	}
	for {
		switch {
		case p.got("["):
			v = p.element(v)
		case p.got("."):
			v = p.member(v)
		default:
			return v
		}
	}
}

func (p *parser) literal(text string) value {
	if digits, float := strings.CutSuffix(text, "f"); (float && !strings.HasPrefix(text, "0x")) || strings.ContainsAny(text, ".") || !strings.HasPrefix(text, "0x") && strings.ContainsAny(text, "eE") {
		d := ir.FP64
		if float {
			d = ir.FP32
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil || math.IsInf(f, 0) {
			p.failf("%q is no number", text)
		}
		return value{e: &plan.Float{Value: f, DType: d}, variable: variable{dtype: d, root: -1}}
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
		p.failf("%q is no number", text)
	}
	return value{e: &plan.Int{Value: n, DType: ir.INT64}, variable: variable{dtype: ir.INT64, root: -1}}
}

func (p *parser) slot(t *Token) value {
	switch t.Kind {
	case Operand:
		if t.N < 0 || t.N >= len(p.site.Args) || p.site.Args[t.N] == nil {
			p.failf("operand %d is missing or a list", t.N)
		}
		v := value{e: p.site.Args[t.N], variable: p.operandVar(t.N)}
		if r, ok := v.e.(*plan.Ref); ok {
			v.name = r.Name
		}
		return v
	case Element:
		if t.N < 0 || t.N >= len(p.site.Lists) || t.K < 0 || t.K >= len(p.site.Lists[t.N]) {
			p.failf("operand %d has no element %d", t.N, t.K)
		}
		return value{e: p.site.Lists[t.N][t.K], variable: variable{dtype: ir.INT64, root: -1}}
	case Dim:
		return p.dim(t)
	case Result:
		return p.use(p.result(), "$result")
	}
	return p.use(p.local(t.N), p.nameOf(t))
}

func (p *parser) use(n *plan.Name, text string) value {
	v, ok := p.vars[n]
	if !ok {
		var near string
		if near = diag.Nearest(text, p.declared()); near != "" {
			near = "; did you mean " + near + "?"
		}
		p.failf("%s is used but not declared here%s", text, near)
	}
	return value{e: &plan.Ref{Name: n}, variable: v, name: n}
}

// declared are the names of the locals that may be used here.
func (p *parser) declared() []string {
	var names []string
	for i, n := range p.locals {
		if _, ok := p.vars[n]; ok {
			names = append(names, p.nameOf(&Token{Kind: Local, N: i}))
		}
	}
	return names
}

// dim is an extent of a tensor operand: a number when it is known, else read from the entry arguments or the handle.
func (p *parser) dim(t *Token) value {
	out := value{variable: variable{dtype: ir.INT64, root: -1}}
	if t.N < 0 || t.N >= len(p.site.Call.Args) {
		p.failf("there is no operand %d", t.N)
	}
	typ, ok := p.site.Call.Args[t.N].Type().(*ir.TensorType)
	if !ok || t.K < 0 || t.K >= len(typ.Shape) {
		p.failf("operand %q is no tensor with an axis %d", p.paramName(t.N), t.K)
	}
	if n, ok := ir.IntValue(typ.Shape[t.K]); ok {
		out.e = &plan.Int{Value: n, DType: ir.INT64}
	} else if k, ok := p.site.EntryTensor(t.N); ok {
		out.e = &plan.EntryExtent{Ordinal: k, Axis: t.K}
	} else {
		out.e = &plan.Extent{Tensor: p.slot(&Token{Kind: Operand, N: t.N}).name, Axis: t.K}
	}
	return out
}

func (p *parser) element(v value) value {
	if v.name == nil || v.shape < numbers {
		p.failf("only arrays have elements")
	}
	i := p.num()
	p.want("]")
	s := number
	if v.shape == tasks {
		s = task
	}
	return value{e: &plan.Elem{Array: v.name, I: i.e}, variable: variable{shape: s, dtype: v.dtype, root: -1}}
}

// tensorValue reads an expression that is a tensor variable.
func (p *parser) tensorValue() value {
	v := p.expr()
	if v.shape != tensor || v.name == nil {
		p.failf("a tensor is expected, by name")
	}
	return v
}

func (p *parser) arrayName() *plan.Name {
	v := p.expr()
	if v.shape != extents {
		p.failf("%s stands where an array of uint32_t is expected", v.shape)
	}
	return v.name
}

func (p *parser) integer() int {
	c, ok := p.num().e.(*plan.Int)
	if !ok || c.Value < 0 || c.Value > 16 {
		p.failf("a small number is expected here")
	}
	return int(c.Value)
}

func (p *parser) member(v value) value {
	l := p.next()
	if l.text == "is_valid" && v.shape == task {
		p.want("(", ")")
		return value{e: &plan.IsValid{X: v.e}, variable: variable{dtype: ir.BOOL, root: -1}}
	}
	if v.shape != tensor || v.name == nil {
		p.failf("%v is no member of %s", l, v.shape)
	}
	out := value{variable: variable{shape: tensor, dtype: v.dtype, root: v.root}}
	switch l.text {
	case "shapes":
		p.want("[")
		out = value{e: &plan.Extent{Tensor: v.name, Axis: p.integer()}, variable: variable{dtype: ir.INT64, root: -1}}
		p.want("]")
		return out
	case "view":
		p.want("(")
		e := &plan.View{Tensor: v.name, Shapes: p.arrayName()}
		out.dims = p.vars[e.Shapes].dims
		p.want(",")
		e.Offsets = p.arrayName()
		out.e = e
	case "reshape":
		p.want("(")
		e := &plan.Reshape{Tensor: v.name, Shapes: p.arrayName()}
		out.dims = p.vars[e.Shapes].dims
		p.want(",")
		e.N = p.integer()
		out.e = e
	case "transpose":
		p.want("(")
		e := &plan.Transpose{Tensor: v.name, A: p.integer()}
		p.want(",")
		e.B = p.integer()
		out.e = e
	default:
		p.failf("a tensor has view, reshape, transpose and shapes, not %s", l)
	}
	p.want(")")
	return out
}

// calls are the functions that a template may call.
const calls = "get_tensor_data, TaskId::invalid, rt_available_cluster_count, rt_available_aiv_count, static_cast, std::min, std::max, floor_div, floor_mod, clamp_extent, " +
	"of tensors $x.view, $x.reshape, $x.transpose and $x.shapes[0], of a TaskId $id.is_valid; Tensor $result = create({…}) and set_tensor_data<T>($x, {…}, e) are statements"

func (p *parser) call(l lexeme) value {
	name := l.text
	for name != "" && p.got("::") {
		name += "::" + p.next().text
	}
	num := func(e plan.Expr, d ir.DType) value { return value{e: e, variable: variable{dtype: d, root: -1}} }
	switch name {
	case "true", "false":
		return num(&plan.Bool{Value: name == "true"}, ir.BOOL)
	case "TaskId::invalid":
		p.want("(", ")")
		return value{e: &plan.InvalidTask{}, variable: variable{shape: task, dtype: ir.TASK_ID, root: -1}}
	case "rt_available_cluster_count", "rt_available_aiv_count":
		p.want("(", ")")
		return num(&plan.Query{AIV: name == "rt_available_aiv_count"}, ir.INT32)
	case "static_cast":
		p.want("<")
		t := p.typ()
		p.want(">", "(")
		x := p.num()
		p.want(")")
		if t.shape != number {
			p.failf("a cast gives a number")
		}
		if t.dtype == ir.UINT32 {
			return num(&plan.Uint32{X: x.e}, ir.UINT32)
		}
		return num(&plan.Cast{X: x.e, DType: t.dtype}, t.dtype)
	case "std::min", "std::max":
		p.want("<")
		t := p.typ()
		p.want(">")
		x, y := p.pair()
		op := ir.Min
		if name == "std::max" {
			op = ir.Max
		}
		return num(&plan.Binary{Op: op, X: x.e, Y: y.e, DType: t.dtype}, t.dtype)
	case "floor_div", "floor_mod":
		x, y := p.pair()
		v := p.binary(ir.FloorDiv, x, y)
		b := v.e.(*plan.Binary)
		b.Op, b.Floored = ir.FloorDiv, true
		if name == "floor_mod" {
			b.Op = ir.FloorMod
		}
		return v
	case "clamp_extent":
		p.want("(")
		c := &plan.Clamped{Size: asUint32s([]value{p.num()})[0]}
		p.want(",")
		c.Tensor = p.tensorValue().name
		p.want(",")
		c.Offsets = p.arrayName()
		p.want(",")
		c.Axis = p.integer()
		p.want(")")
		return num(c, ir.UINT32)
	case "get_tensor_data":
		return p.read()
	}
	p.failf("%q may not be called or used in a template; the calls are %s", name, calls)
	return value{}
}

func (p *parser) pair() (x, y value) {
	p.want("(")
	x = p.num()
	p.want(",")
	y = p.num()
	p.want(")")
	return x, y
}

// read reads get_tensor_data<T>($x, n, $index).
func (p *parser) read() value {
	p.want("<")
	t := p.typ()
	p.want(">", "(")
	x := p.tensorValue()
	if x.root >= 0 {
		if e := p.spec.EffectIn(p.site.Call, x.root); e != ops.Read && e != ops.ReadWrite {
			p.failf("it reads operand %q, which the spec does not say", p.paramName(x.root))
		}
	}
	p.elementType(t, x)
	p.want(",")
	r := &plan.Read{Tensor: x.name, DType: t.dtype, N: p.integer()}
	p.want(",")
	if r.N == 0 {
		p.want("nullptr")
	} else {
		r.Indices = p.arrayName()
	}
	p.want(")")
	return value{e: r, variable: variable{dtype: t.dtype, root: -1}}
}
