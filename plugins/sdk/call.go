package sdk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
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

// Has reports that operand i was given.
func (c *Call) Has(i int) bool { return i < len(c.Args) && c.Args[i] != nil }

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
func (c *Call) Keyword(name string) any {
	v, _ := c.Keywords.Get(name)
	return v
}

func (c *Call) KeywordInt(name string) int64 {
	n, _ := c.Keyword(name).(int64)
	return n
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

// Errorf reports about operand i.
func (c *Call) Errorf(i int, code, format string, args ...any) *Report {
	at := c.Pos
	if c.Has(i) {
		if s := c.Args[i].Span(); s.IsValid() && (c.Type == nil || within(s, c.Pos)) {
			at = s
		}
	}
	return Errorf(code, at, c.spec.Name+": "+format, args...)
}

// within reports that a place lies inside of another one. That of a variable is where it is defined, which only in Infer is taken for the operand's.
func within(s, in Span) bool {
	return s.File == in.File && cmp.Or(cmp.Compare(in.Line, s.Line), cmp.Compare(in.Col, s.Col)) <= 0 &&
		cmp.Or(cmp.Compare(s.EndLine, in.EndLine), cmp.Compare(s.EndCol, in.EndCol)) <= 0
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

// Values is one call of an op in a kernel: the numbers of its operands, and room for those of its result.
type Values struct {
	e       *ops.Evaluation
	floats  map[*ops.Elements][]float32
	doubles map[*ops.Elements][]float64
	ints    map[*ops.Elements][]int64
}

// Float32 is the elements of tensor or tile operand i, row-major, when its dtype is floating. What is written to them goes back when the op writes the operand
// by its effects.
func (v *Values) Float32(i int) []float32 { return v.f32(v.operand(i)) }

// Float64 is the same in float64, for all that FP64 has; other dtypes have no more than Float32 gives. Use one of the two for an operand.
func (v *Values) Float64(i int) []float64 { return v.f64(v.operand(i)) }

// Int64 is the elements of operand i of any other dtype.
func (v *Values) Int64(i int) []int64 { return v.i64(v.operand(i)) }

// ResultFloat32, ResultFloat64 and ResultInt64 are the elements of a new result, all zero. ptobuild rounds them to the result's dtype.
func (v *Values) ResultFloat32() []float32 { return v.f32(v.e.Result) }
func (v *Values) ResultFloat64() []float64 { return v.f64(v.e.Result) }
func (v *Values) ResultInt64() []int64     { return v.i64(v.e.Result) }

// Shape is the extents of operand i, ResultShape those of the result. Valid is the extents of the part of operand i that counts; elements outside
// of it are zero.
func (v *Values) Shape(i int) []int {
	if x := v.operand(i); x != nil {
		return x.Shape
	}
	return nil
}

func (v *Values) Valid(i int) []int {
	if x := v.operand(i); x != nil {
		return x.Valid
	}
	return nil
}

func (v *Values) ResultShape() []int {
	if v.e.Result == nil {
		return nil
	}
	return v.e.Result.Shape
}

// Scalar is scalar operand i as a float64, Int as an integer, List the elements of list operand i.
func (v *Values) Scalar(i int) float64 {
	switch x := v.scalar(i).(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

func (v *Values) Int(i int) int64 {
	if x, ok := v.scalar(i).(int64); ok {
		return x
	}
	return int64(v.Scalar(i))
}

func (v *Values) List(i int) []int64 {
	if i >= len(v.e.Operands) {
		return nil
	}
	return v.e.Operands[i].List
}

// Keyword is a keyword argument: int64, bool, string, float64, ir.DType or ir.Enum; nil when absent.
func (v *Values) Keyword(name string) any {
	x, _ := v.e.Kwargs.Get(name)
	return x
}

// Window says where in its operand the result of an op with Result: ViewOf(i) begins, one index per axis of the operand.
func (v *Values) Window(origin ...int64) { v.e.Origin = origin }

// Return sets the result of an op that gives a scalar: an int64, float64 or bool.
func (v *Values) Return(x any) { v.e.Scalar = x }

func (v *Values) operand(i int) *ops.Elements {
	if i >= len(v.e.Operands) {
		return nil
	}
	return v.e.Operands[i].Elements
}

func (v *Values) scalar(i int) any {
	if i >= len(v.e.Operands) {
		return nil
	}
	return v.e.Operands[i].Scalar
}

func (v *Values) f32(x *ops.Elements) []float32 {
	if x == nil || !x.DType.IsFloat() {
		return nil
	}
	if f, ok := v.floats[x]; ok {
		return f
	}
	f := make([]float32, x.Len())
	for k := range f {
		f[k] = float32(get(x, k))
	}
	if v.floats == nil {
		v.floats = map[*ops.Elements][]float32{}
	}
	v.floats[x] = f
	return f
}

func (v *Values) f64(x *ops.Elements) []float64 {
	if x == nil || !x.DType.IsFloat() {
		return nil
	}
	if f, ok := v.doubles[x]; ok {
		return f
	}
	f := make([]float64, x.Len())
	for k := range f {
		f[k] = get(x, k)
	}
	if v.doubles == nil {
		v.doubles = map[*ops.Elements][]float64{}
	}
	v.doubles[x] = f
	return f
}

// get and put access element k, which travels in float32 or float64.
func get(x *ops.Elements, k int) float64 {
	if x.Size() == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(x.Data[4*k:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(x.Data[8*k:]))
}

func put(x *ops.Elements, k int, f float64) {
	if x.Size() == 4 {
		binary.LittleEndian.PutUint32(x.Data[4*k:], math.Float32bits(float32(f)))
		return
	}
	binary.LittleEndian.PutUint64(x.Data[8*k:], math.Float64bits(f))
}

func (v *Values) i64(x *ops.Elements) []int64 {
	if x == nil || x.DType.IsFloat() {
		return nil
	}
	if n, ok := v.ints[x]; ok {
		return n
	}
	n := make([]int64, x.Len())
	for k := range n {
		n[k] = int64(binary.LittleEndian.Uint64(x.Data[8*k:]))
	}
	if v.ints == nil {
		v.ints = map[*ops.Elements][]int64{}
	}
	v.ints[x] = n
	return n
}

// store puts what was computed into the evaluation.
func (v *Values) store() {
	for x, f := range v.floats {
		for k, y := range f {
			put(x, k, float64(y))
		}
	}
	for x, f := range v.doubles {
		for k, y := range f {
			put(x, k, y)
		}
	}
	for x, n := range v.ints {
		for k, y := range n {
			binary.LittleEndian.PutUint64(x.Data[8*k:], uint64(y))
		}
	}
}
