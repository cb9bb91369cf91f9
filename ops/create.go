package ops

import (
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Tensors and tiles made from nothing: create, full, ci, random, tri, alloc.
func createSpecs() []*Spec {
	newTensorOp := Spec{Params: params(listP("shape")), Kwargs: []Kwarg{dtypeKw}, Where: InCore, Result: fresh, Infer: shapeRule(0)}
	newTileOp := Spec{Params: params(listP("shape")), Kwargs: []Kwarg{dtypeKw}, Where: InCore, Result: fresh, ResultMem: ir.Vec, Core: VectorCore, Infer: shapeRule(0)}

	create := newTensorOp
	create.Name, create.Doc = "tensor.create", "a new tensor; uninitialised without init_value"
	create.Where = OnHost | InCore
	create.Kwargs = []Kwarg{dtypeKw, layoutKw, boolKw("manual_dep"), {Name: "init_value", Kind: FloatKw}}
	create.Infer = createRule

	createL1 := newTensorOp
	createL1.Name, createL1.Doc = "tensor.create_l1", "a new tensor kept in L1 (Mat) memory"
	createL1.Kwargs = []Kwarg{dtypeKw, boolKw("transpose")}
	createL1.Core = CubeCore

	createTile := newTileOp
	createTile.Name, createTile.Doc = "tile.create", "a new uninitialised tile"
	createTile.Kwargs = []Kwarg{dtypeKw, targetMemKw(ir.Vec), boolKw("transpose"), boolKw("flat_layout")}
	createTile.ResultMem, createTile.ResultMemFrom, createTile.Core = ir.MemUnset, MemKwarg, AnyCore

	full := Spec{Params: params(listP("shape"), scalarP("value")), Kwargs: []Kwarg{dtypeKw}, Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: shapeRule(0)}
	fullTile := full
	fullTile.ResultMem = ir.Vec

	ci := Spec{Params: params(scalarP("start"), listP("shape")), Kwargs: []Kwarg{dtypeKw, boolKw("descending")}, Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: shapeRule(1)}
	ciTile := ci
	ciTile.ResultMem = ir.Vec

	keys := params(scalarP("key0"), scalarP("key1"), scalarP("counter0"), scalarP("counter1"), scalarP("counter2"), scalarP("counter3"), listP("shape"))
	rounds := Kwarg{Name: "rounds", Kind: IntKw, Min: 7, Max: 10, Default: int64(10)}
	random := Spec{Params: keys, Kwargs: []Kwarg{dtypeKw, rounds}, Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: shapeRule(6)}
	randomTile := random
	randomTile.Params, randomTile.ResultMem = append(params(keys...), optional(listP("valid_shape"))), ir.Vec

	tri := Spec{Params: params(scalarP("diagonal"), listP("shape"), optional(listP("valid_shape"))), Kwargs: []Kwarg{dtypeKw, boolKw("upper")},
		Where: InCore, Result: fresh, ResultMem: ir.Vec, Core: VectorCore, Pure: true, Infer: shapeRule(1)}

	alloc := Spec{Params: params(kindP("memory_space", EnumArg|ScalarArg), scalarP("size")), Where: InCore, Result: fresh, Infer: constant(&ir.OpaqueType{Name: "Ptr"})}
	allocTile := alloc
	allocTile.Kwargs = []Kwarg{boolKw("pinned")}

	specs := []*Spec{&create, &createL1, &createTile}
	specs = append(specs, each("tensor", full, "full", "a tensor filled with one value")...)
	specs = append(specs, each("tile", fullTile, "full", "a tile filled with one value")...)
	specs = append(specs, each("tensor", ci, "ci", "start, start+1, … along each row")...)
	specs = append(specs, each("tile", ciTile, "ci", "start, start+1, … along each row")...)
	specs = append(specs, each("tensor", random, "random", "Philox 4x32 random words")...)
	specs = append(specs, each("tile", randomTile, "random", "Philox 4x32 random words")...)
	specs = append(specs, each("tile", tri, "tri", "a triangular matrix of ones")...)
	specs = append(specs, each("tensor", alloc, "alloc", "an allocation (dump form)")...)
	return append(specs, each("tile", allocTile, "alloc", "an allocation (dump form)")...)
}

// shapeRule: list operand i is the shape of the result, keyword dtype its dtype; a list operand valid_shape after it is its valid region.
func shapeRule(i int) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		shape := s.list(i)
		if d := s.checkShape(i, shape); d != nil {
			return nil, d
		}
		var valid []ir.Expr
		if s.given(i+1) && i+1 < len(s.Spec.Params) && s.Spec.Params[i+1].Name == "valid_shape" {
			valid = s.list(i + 1)
			if d := s.checkValid(i+1, valid, shape); d != nil {
				return nil, d
			}
		}
		d := s.dtypeKw("dtype", ir.FP32)
		if ns, _ := splitName(s.Spec.Name); ns == "tile" {
			return newTile(shape, d, s.resultMem(nil), valid), nil
		}
		return newTensor(shape, d, valid), nil
	}
}

// checkShape checks a list of extents: at least one unless a rank-0 tensor makes sense, none negative.
func (s *Site) checkShape(i int, shape []ir.Expr) *diag.Diagnostic {
	if ns, _ := splitName(s.Spec.Name); len(shape) == 0 && ns == "tile" {
		return s.argError(CodeRank, i, "'%s' must not be empty", s.param(i).Name)
	}
	for k, e := range shape {
		if v, ok := ir.IntValue(e); ok && (v < 0 || v > math.MaxUint32) && !s.Lenient {
			return s.errorAt(CodeShape, e.Span(), "%s: extent %d of '%s' is %d, which is not an extent", s.Spec.Name, k, s.param(i).Name, v)
		}
	}
	return nil
}

// checkValid checks a valid region against its shape.
func (s *Site) checkValid(i int, valid, shape []ir.Expr) *diag.Diagnostic {
	if len(valid) != len(shape) {
		return s.argError(CodeRank, i, "'%s' has %d entries but the shape has %d", s.param(i).Name, len(valid), len(shape))
	}
	for k, e := range valid {
		v, ok := ir.IntValue(e)
		n, known := ir.IntValue(shape[k])
		if ok && (v < 0 || known && v > n) && !s.Lenient {
			return s.errorAt(CodeBounds, e.Span(), "%s: %s[%d] = %d is outside of extent %s", s.Spec.Name, s.param(i).Name, k, v, exprText(shape[k]))
		}
	}
	return nil
}

func createRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, d := shapeRule(0)(s)
	if d != nil {
		return nil, d
	}
	if d := s.checkInit(ir.ElemDType(t)); d != nil {
		return nil, d
	}
	v, _ := s.Kwargs.Get("layout")
	if e, ok := v.(ir.Enum); ok && e.Name != "ND" {
		n := *t.(*ir.TensorType)
		n.View = &ir.TensorView{Layout: e.Name}
		return &n, nil
	}
	return t, nil
}

// maxExact is the first integer that a double does not tell from its neighbour: init_value comes as a double.
const maxExact = 1 << 53

// checkInit checks init_value: the runtime fills a buffer with the bit pattern of one element, which must be exactly what was written
// (behaviour E-13).
func (s *Site) checkInit(d ir.DType) *diag.Diagnostic {
	k, ok := s.Kwargs.Get("init_value")
	if !ok || s.Lenient {
		return nil
	}
	v, _ := k.(float64)
	bad := func(format string, args ...any) *diag.Diagnostic {
		return s.errorAt(CodeInit, s.Pos, s.Spec.Name+": init_value "+format, args...)
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return bad("must be finite, got %v", v)
	case v == 0:
		return nil
	case d.IsFloat() && d.Bits() < 32:
		return bad("%v: only 0 is supported for the sub-32-bit float %s", v, d.Name()).
			WithHint("create the tensor without init_value and fill it in a kernel with pl.full")
	case d.IsFloat():
		return nil
	case v != math.Trunc(v):
		return bad("%v is not an integer, but the elements are %s", v, d)
	case math.Abs(v) >= maxExact:
		return bad("%.0f exceeds the exactly-representable range, below ±2^53", v)
	case !fitsInt(v, d):
		return bad("%.0f is outside of the range of %s", v, d)
	}
	return nil
}

func fitsInt(v float64, d ir.DType) bool {
	bits := d.Bits()
	switch {
	case d == ir.BOOL:
		return v == 1
	case !d.IsInt():
		return false
	case bits > 53:
		return d.IsSigned() || v >= 0
	case d.IsSigned():
		return v >= -math.Ldexp(1, bits-1) && v < math.Ldexp(1, bits-1)
	}
	return v >= 0 && v < math.Ldexp(1, bits)
}

// EmitCreate is the TensorCreateInfo of one tensor.create. The core batches the allocations, so the op has no Emit of its own.
func EmitCreate(e *EmitSite) (*plan.Create, *diag.Diagnostic) {
	t, ok := e.Call.Typ.(*ir.TensorType)
	if !ok {
		return nil, diag.Errorf(CodeOperand, e.Call.Pos, "tensor.create without a tensor type")
	}
	manual, _ := e.Call.Kwargs.Get("manual_dep")
	dims, d := packedDims(e.Call, e.Lists[0], t.DType)
	if d != nil {
		return nil, d
	}
	c := &plan.Create{At: plan.At{Pos: e.Call.Pos}, Info: e.Local("_ci"), Shapes: e.Local("_ci_shapes"), Dims: dims, DType: t.DType, ManualDep: manual == true}
	if v, ok := e.Call.Kwargs.Get("init_value"); ok {
		c.Init = initValue(v.(float64), t.DType)
	}
	return c, nil
}

func initValue(v float64, d ir.DType) plan.Expr {
	switch {
	case v == 0:
		return &plan.Int{DType: ir.INT64}
	case d.IsFloat():
		return &plan.Cast{X: &plan.Float{Value: v, DType: ir.FP64}, DType: d}
	}
	return &plan.Cast{X: &plan.Int{Value: int64(v), DType: ir.INT64}, DType: d}
}
