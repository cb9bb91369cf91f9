package sdk

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Values is one call of an op in a kernel: the numbers of its operands, and room for those of its result.
type Values struct {
	e       *ops.Evaluation
	spec    *ops.Spec
	floats  map[*ops.Elements][]float32
	doubles map[*ops.Elements][]float64
	ints    map[*ops.Elements][]int64
}

// Has reports that operand i was given: optional ones may be left out, or be None.
func (v *Values) Has(i int) bool {
	if i >= len(v.e.Operands) {
		return false
	}
	o := &v.e.Operands[i]
	return o.Elements != nil || o.Scalar != nil || len(o.List) > 0 || !v.param(i).Optional
}

// Float32 is the elements of tensor or tile operand i, row-major, when its dtype is floating. What is written to them goes back when the op writes the operand
// by its effects. An optional operand that was left out has none (nil). Asking for what an operand is not ends the call with a report of that.
func (v *Values) Float32(i int) []float32 { return v.f32(v.elements(i), v.operand(i)) }

// Float64 is the same in float64, for all that FP64 has; other dtypes have no more than Float32 gives. Use one of the two for an operand.
func (v *Values) Float64(i int) []float64 { return v.f64(v.elements(i), v.operand(i)) }

// Int64 is the elements of operand i of any other dtype.
func (v *Values) Int64(i int) []int64 { return v.i64(v.elements(i), v.operand(i)) }

// ResultFloat32, ResultFloat64 and ResultInt64 are the elements of a new result, all zero. ptobuild rounds them to the result's dtype.
func (v *Values) ResultFloat32() []float32 { return v.f32(v.result(), "the result") }
func (v *Values) ResultFloat64() []float64 { return v.f64(v.result(), "the result") }
func (v *Values) ResultInt64() []int64     { return v.i64(v.result(), "the result") }

// DType is that of the elements of operand i, ResultDType that of the result.
func (v *Values) DType(i int) ir.DType  { return v.orNone(i).DType }
func (v *Values) ResultDType() ir.DType { return v.result().DType }

// Shape is the extents of operand i, ResultShape those of the result. Valid is the extents of the part of operand i that counts; elements outside
// of it are zero.
func (v *Values) Shape(i int) []int  { return v.orNone(i).Shape }
func (v *Values) Valid(i int) []int  { return v.orNone(i).Valid }
func (v *Values) ResultShape() []int { return v.result().Shape }

// Scalar is scalar operand i as a float64, Int as an integer, List the elements of list operand i, nil when it was left out.
func (v *Values) Scalar(i int) float64 {
	switch x := v.scalar(i).(type) {
	case int64:
		return float64(x)
	case bool:
		if x {
			return 1
		}
		return 0
	default:
		return x.(float64)
	}
}

func (v *Values) Int(i int) int64 {
	if x, ok := v.scalar(i).(int64); ok {
		return x
	}
	return int64(v.Scalar(i))
}

func (v *Values) List(i int) []int64 {
	if !v.Has(i) {
		return nil
	}
	if o := v.given(i); o.Elements != nil || o.Scalar != nil {
		v.wrong(i)
	}
	return v.e.Operands[i].List
}

// Keyword is a keyword argument: int64, bool, string, float64, ir.DType or ir.Enum; nil when absent.
func (v *Values) Keyword(name string) any { return keyword(v.spec, v.e.Kwargs, name) }

// Window says where in its operand the result of an op with Result: ViewOf(i) begins, one index per axis of the operand.
func (v *Values) Window(origin ...int64) { v.e.Origin = origin }

// Return sets the result of an op that gives a scalar: an int64, float64 or bool.
func (v *Values) Return(x any) { v.e.Scalar = x }

func (v *Values) param(i int) *ops.Param { return &v.spec.Params[min(i, len(v.spec.Params)-1)] }

// operand is operand i in messages.
func (v *Values) operand(i int) string { return "operand " + v.param(i).Name }

// given is operand i, which must be there.
func (v *Values) given(i int) *ops.Operand {
	n := len(v.spec.Params)
	if i < 0 || n == 0 || i >= n && !v.spec.Params[n-1].Variadic {
		panic(misuse(fmt.Sprintf("it has no operand %d", i)))
	}
	if i >= len(v.e.Operands) || !v.Has(i) {
		panic(misuse(fmt.Sprintf("%s was left out: ask Has(%d) before", v.operand(i), i)))
	}
	return &v.e.Operands[i]
}

// wrong ends the call because of a question about operand i that does not fit it.
func (v *Values) wrong(i int) {
	o := &v.e.Operands[i]
	what, use := "a list", "List"
	switch {
	case o.Elements != nil && o.Elements.DType.IsFloat():
		what, use = "a tensor or tile of "+o.Elements.DType.Name(), "Float64 or Float32"
	case o.Elements != nil:
		what, use = "a tensor or tile of "+o.Elements.DType.Name(), "Int64"
	case o.Scalar != nil:
		what, use = "a number", "Scalar or Int"
	}
	panic(misuse(fmt.Sprintf("%s is %s: use %s", v.operand(i), what, use)))
}

// elements are those of operand i, nil when it is optional and was left out.
func (v *Values) elements(i int) *ops.Elements {
	if i >= 0 && i < len(v.spec.Params) && v.spec.Params[i].Optional && !v.Has(i) {
		return nil
	}
	if o := v.given(i); o.Elements != nil {
		return o.Elements
	}
	v.wrong(i)
	return nil
}

func (v *Values) orNone(i int) *ops.Elements {
	if x := v.elements(i); x != nil {
		return x
	}
	return &ops.Elements{}
}

func (v *Values) scalar(i int) any {
	if o := v.given(i); o.Scalar != nil {
		return o.Scalar
	}
	v.wrong(i)
	return nil
}

func (v *Values) result() *ops.Elements {
	if v.e.Result != nil {
		return v.e.Result
	}
	use := "its Result is None"
	switch k := v.spec.Result; k.Kind {
	case ops.Value:
		use = "its Result is Scalar: use Return"
	case ops.View:
		use = "its Result is ViewOf: use Window"
	case ops.InPlace:
		use = fmt.Sprintf("its Result is Updated(%d): write to the elements of that operand", k.Arg)
	}
	panic(misuse("it has no new result; " + use))
}

// want ends the call when elements are not of the asked kind, or were already handed out as another one.
func (v *Values) want(x *ops.Elements, what string, float, other bool) {
	switch {
	case x.DType.IsFloat() && !float:
		panic(misuse(fmt.Sprintf("%s is %s: use Float64 or Float32", what, x.DType.Name())))
	case !x.DType.IsFloat() && float:
		panic(misuse(fmt.Sprintf("%s is %s: use Int64", what, x.DType.Name())))
	case other:
		panic(misuse(fmt.Sprintf("%s is read as Float32 and as Float64: use one of the two", what)))
	}
}

func (v *Values) f32(x *ops.Elements, what string) []float32 {
	if x == nil {
		return nil
	}
	v.want(x, what, true, v.doubles[x] != nil)
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

func (v *Values) f64(x *ops.Elements, what string) []float64 {
	if x == nil {
		return nil
	}
	v.want(x, what, true, v.floats[x] != nil)
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

func (v *Values) i64(x *ops.Elements, what string) []int64 {
	if x == nil {
		return nil
	}
	v.want(x, what, false, false)
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
