package sdk

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// Call is one use of an op.
type Call struct {
	Args     []ir.Expr
	Keywords ir.Kwargs
	Type     ir.Type // of the result; nil in Infer
	Pos      Span
	Lenient  bool // a dump is being read: accept what cannot be checked statically
	Bound    bool // Emit: the result has a name

	spec *ops.Spec
}

func callOf(spec *ops.Spec, c *ir.OpCall) *Call {
	return &Call{Args: c.Args, Keywords: c.Kwargs, Type: c.Typ, Pos: c.Pos, spec: spec}
}

// Has reports that operand i was given: optional ones may be left out, or be None.
func (c *Call) Has(i int) bool {
	if i >= len(c.Args) || c.Args[i] == nil {
		return false
	}
	t, list := c.Args[i].(*ir.MakeTuple)
	return !(list && len(t.Elems) == 0 && i < len(c.spec.Params) && c.spec.Params[i].Optional)
}

// Tile and Tensor are the type of operand i, nil when it is none.
func (c *Call) Tile(i int) *ir.TileType {
	t, _ := c.typeOf(i).(*ir.TileType)
	return t
}

func (c *Call) Tensor(i int) *ir.TensorType {
	t, _ := c.typeOf(i).(*ir.TensorType)
	return t
}

func (c *Call) typeOf(i int) ir.Type {
	if !c.Has(i) {
		return nil
	}
	return c.Args[i].Type()
}

// DType is that of the elements of operand i, or of a scalar.
func (c *Call) DType(i int) ir.DType { return ir.ElemDType(c.typeOf(i)) }

// Rank is the number of axes of operand i.
func (c *Call) Rank(i int) int { return len(ir.ShapeOf(c.typeOf(i))) }

// Extent is an extent of operand i when it is known; axes count from the end when negative.
func (c *Call) Extent(i, axis int) (int64, bool) {
	shape := ir.ShapeOf(c.typeOf(i))
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return 0, false
	}
	return ir.IntValue(shape[axis])
}

// Int is operand i when it is an integer literal.
func (c *Call) Int(i int) (int64, bool) {
	if !c.Has(i) {
		return 0, false
	}
	return ir.IntValue(c.Args[i])
}

// SameShape reports that operands i and j have equal extents.
func (c *Call) SameShape(i, j int) bool {
	return slices.EqualFunc(ir.ShapeOf(c.typeOf(i)), ir.ShapeOf(c.typeOf(j)), ir.EqualExprs)
}

// Keyword is a keyword argument: int64, bool, string, float64, ir.DType or ir.Enum; nil when it is absent and has no default. KeywordInt is an integer one.
func (c *Call) Keyword(name string) any { return keyword(c.spec, c.Keywords, name) }

func (c *Call) KeywordInt(name string) int64 {
	n, ok := c.Keyword(name).(int64)
	if x := c.Keyword(name); !ok && x != nil {
		panic(misuse(fmt.Sprintf("keyword argument %s is no integer, but a %T", name, x)))
	}
	return n
}

// keyword is the value of a keyword argument that the op has.
func keyword(spec *ops.Spec, given ir.Kwargs, name string) any {
	v, ok := given.Get(name)
	if !ok && !slices.ContainsFunc(spec.Kwargs, func(k ops.Kwarg) bool { return k.Name == name }) {
		panic(misuse(fmt.Sprintf("it has no keyword argument %q", name)))
	}
	return v
}

// List is the elements of list operand i.
func (c *Call) List(i int) []ir.Expr {
	if !c.Has(i) {
		return nil
	}
	t, _ := c.Args[i].(*ir.MakeTuple)
	if t == nil {
		return nil
	}
	return t.Elems
}

// CType is the type T by which a template accesses elements of operand i, as in set_tensor_data<T>, or its number: "float" for FP32, "half" for FP16; "" when
// it has no dtype. ResultCType is that of the result.
func (c *Call) CType(i int) string { return template.CType(ir.ElemDType(c.typeOf(i))) }

func (c *Call) ResultCType() string { return template.CType(ir.ElemDType(c.Type)) }

// Errorf reports about operand i. The place of a variable is where it is defined; ptobuild finds that of the operand in the call.
func (c *Call) Errorf(i int, code, format string, args ...any) *Report {
	at := c.Pos
	if c.Has(i) && c.Args[i].Span().IsValid() {
		at = c.Args[i].Span()
	}
	return Errorf(code, at, c.spec.Name+": "+format, args...)
}

// Lines is the template of a call: statements of C++ in which $result is the result, $NAME an operand, $NAME[0] an element of a list operand,
// $NAME.dim(0) an extent of a tensor operand at run time, and any other $name a helper variable. Package template lists what it may contain.
func (c *Call) Lines(lines ...string) (*Template, error) {
	var o template.Operands
	for _, p := range c.spec.Params {
		o.Names, o.List = append(o.Names, p.Name), append(o.List, p.Kind == ops.TupleArg)
	}
	t, err := template.Parse(o, lines...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.spec.Name, err)
	}
	return t, nil
}
