package ops

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Elementwise arithmetic, bit operations, comparisons and selection, on tensors and tiles.
func elementwiseSpecs() []*Spec {
	two := Spec{Params: params(tensorP("lhs"), kindP("rhs", TensorArg|ScalarArg)), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: broadcastRule}
	scalar := two
	scalar.Params, scalar.Infer = params(tensorP("lhs"), scalarP("rhs")), scalarRule
	keep := scalar
	keep.Infer = keepRule
	bits := two
	bits.Infer = bitsRule
	bitsScalar := scalar
	bitsScalar.Infer = bitsScalarRule
	div := two
	div.Kwargs, div.Infer = []Kwarg{boolKw("high_precision")}, tensorDivRule
	cmp := two
	cmp.Kwargs, cmp.Infer = []Kwarg{cmpKw("cmp_type")}, cmpRule
	part := two
	part.Params, part.Infer = params(tensorP("src0"), tensorP("src1")), partRule

	specs := each("tensor", two, "add", "elementwise sum", "sub", "elementwise difference", "mul", "elementwise product",
		"maximum", "elementwise maximum", "minimum", "elementwise minimum", "fmod", "remainder with the dividend's sign")
	specs = append(specs, each("tensor", scalar, "adds", "sum with a scalar", "muls", "product with a scalar", "divs", "quotient by a scalar",
		"fmods", "remainder by a scalar, dividend's sign")...)
	specs = append(specs, each("tensor", keep, "subs", "difference to a scalar")...)
	specs = append(specs, each("tensor", div, "div", "elementwise quotient")...)
	specs = append(specs, each("tensor", bits, "and", "bitwise and", "or", "bitwise or", "xor", "bitwise exclusive or", "shl", "shift left", "shr", "shift right (arithmetic for signed)")...)
	specs = append(specs, each("tensor", bitsScalar, "ands", "bitwise and with a scalar", "ors", "bitwise or with a scalar",
		"xors", "bitwise exclusive or with a scalar", "shls", "shift left by a scalar", "shrs", "shift right by a scalar")...)
	specs = append(specs, each("tensor", cmp, "cmp", "comparison into a packed bit mask")...)
	specs = append(specs, each("tensor", part, "part_add", "sum where both are valid, else the valid one", "part_mul", "product where both are valid",
		"part_max", "maximum where both are valid", "part_min", "minimum where both are valid")...)
	return append(specs, tileElementwiseSpecs()...)
}

func tileElementwiseSpecs() []*Spec {
	lhs, rhs, tmp := tileP("lhs", ir.Vec), tileP("rhs", ir.Vec), optional(tileP("tmp", ir.Vec))
	two := Spec{Params: params(lhs, rhs), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, ResultMem: ir.Vec, Infer: broadcastRule}
	with := func(infer rule, ps ...Param) Spec { s := two; s.Params, s.Infer = ps, infer; return s }
	scalar := with(scalarRule, lhs, scalarP("rhs"))
	div := with(tileDivRule, lhs, rhs)
	div.Kwargs = []Kwarg{boolKw("high_precision")}
	cmp := with(cmpRule, lhs, rhs)
	cmp.Kwargs = []Kwarg{cmpKw("cmp_type")}
	cmps := with(cmpRule, lhs, scalarP("rhs"))
	cmps.Kwargs = cmp.Kwargs

	specs := each("tile", two, "add", "elementwise sum", "sub", "elementwise difference", "mul", "elementwise product",
		"maximum", "elementwise maximum", "minimum", "elementwise minimum", "fmod", "remainder with the dividend's sign")
	specs = append(specs, each("tile", div, "div", "elementwise quotient")...)
	specs = append(specs, each("tile", scalar, "adds", "sum with a scalar", "subs", "difference to a scalar", "muls", "product with a scalar",
		"divs", "quotient by a scalar", "maximums", "maximum with a scalar", "minimums", "minimum with a scalar", "fmods", "remainder by a scalar, dividend's sign")...)
	specs = append(specs, each("tile", with(bitsRule, lhs, rhs), "and", "bitwise and", "or", "bitwise or", "shl", "shift left", "shr", "shift right (arithmetic for signed)")...)
	specs = append(specs, each("tile", with(bitsScalarRule, lhs, scalarP("rhs")), "ands", "bitwise and with a scalar", "ors", "bitwise or with a scalar",
		"shls", "shift left by a scalar", "shrs", "shift right by a scalar")...)
	specs = append(specs, each("tile", with(bitsRule, lhs, rhs, tmp), "xor", "bitwise exclusive or")...)
	specs = append(specs, each("tile", with(bitsScalarRule, lhs, scalarP("rhs"), tmp), "xors", "bitwise exclusive or with a scalar")...)
	specs = append(specs, each("tile", with(broadcastRule, lhs, rhs, tmp), "rem", "remainder with the divisor's sign")...)
	specs = append(specs, each("tile", with(scalarRule, lhs, scalarP("rhs"), tmp), "rems", "remainder by a scalar, divisor's sign")...)
	specs = append(specs, each("tile", with(threeRule, lhs, rhs, tileP("rhs2", ir.Vec)), "addc", "a + b + c", "subc", "a - b + c")...)
	specs = append(specs, each("tile", with(threeRule, lhs, scalarP("rhs"), tileP("rhs2", ir.Vec)), "addsc", "a + scalar + c", "subsc", "a - scalar + c")...)
	specs = append(specs, each("tile", cmp, "cmp", "comparison into a packed bit mask")...)
	specs = append(specs, each("tile", cmps, "cmps", "comparison with a scalar into a packed bit mask")...)
	specs = append(specs, each("tile", with(partRule, tileP("src0", ir.Vec), tileP("src1", ir.Vec)), "part_add", "sum where both are valid, else the valid one",
		"part_mul", "product where both are valid", "part_max", "maximum where both are valid", "part_min", "minimum where both are valid")...)
	specs = append(specs, each("tile", with(selRule, tileP("mask", ir.Vec), lhs, rhs, tmp), "sel", "lhs where the mask bit is set, else rhs")...)
	return append(specs, each("tile", with(selRule, tileP("mask", ir.Vec), tileP("src", ir.Vec), tileP("tmp", ir.Vec), scalarP("scalar")), "sels",
		"src where the mask bit is set, else the scalar")...)
}

// threeRule: operands 0, 1 (perhaps a scalar) and 2 broadcast and promote.
func threeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, d := broadcastRule(s)
	c := s.Args[2].Type()
	if d != nil || !isRegion(t) || !isRegion(c) {
		return t, d
	}
	shape, d := s.broadcastDims(ir.ShapeOf(t), ir.ShapeOf(c))
	if d != nil {
		return nil, d
	}
	return s.like(t, shape, promote(ir.ElemDType(t), ir.ElemDType(c)), broadcastValid(shape, t, c)), nil
}

// CmpModes are the comparisons of cmp_type, by number.
var CmpModes = []string{"eq", "ne", "lt", "le", "gt", "ge"}

func cmpKw(name string) Kwarg {
	return Kwarg{Name: name, Kind: IntKw, Names: CmpModes, Min: 0, Max: 5, Default: int64(0)}
}

func tensorDivRule(s *Site) (ir.Type, *diag.Diagnostic) {
	for i := range s.Args {
		if isRegion(s.Args[i].Type()) {
			if d := s.dtypeIn(i, ir.INT16, ir.INT32, ir.FP16, ir.BF16, ir.FP32); d != nil {
				return nil, d
			}
		}
	}
	return broadcastRule(s)
}

func tileDivRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, b := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(b) {
		return ir.Unknown, nil
	}
	if x, y := ir.ElemDType(a), ir.ElemDType(b); x != y {
		return nil, s.argError(CodeDType, 1, "both operands must have one dtype, got %s and %s", x, y)
	}
	if d := s.equalShapes(); d != nil {
		return nil, d
	}
	va, vb := validOf(a), validOf(b)
	for k := range va {
		if dimsDiffer(va[k], vb[k]) {
			return nil, s.argError(CodeShape, 1, "both operands must be valid in one region, got %s and %s", shapeText(va), shapeText(vb))
		}
	}
	return s.like(a, ir.ShapeOf(a), ir.ElemDType(a), broadcastValid(ir.ShapeOf(a), a, b)), nil
}

// equalShapes: operands 0 and 1 must agree in every extent that is known.
func (s *Site) equalShapes() *diag.Diagnostic {
	a, b := ir.ShapeOf(s.Args[0].Type()), ir.ShapeOf(s.Args[1].Type())
	if len(a) != len(b) {
		return s.argError(CodeRank, 1, "both operands must have one shape, got %s and %s", shapeText(a), shapeText(b))
	}
	for i := range a {
		if dimsDiffer(a[i], b[i]) {
			return s.argError(CodeShape, 1, "both operands must have one shape, got %s and %s", shapeText(a), shapeText(b))
		}
	}
	return nil
}

// bitsRule: integers of equal shape; shifts keep the left dtype, the rest promote.
func bitsRule(s *Site) (ir.Type, *diag.Diagnostic) {
	for i := range 2 {
		if d := s.wantInt(i); d != nil {
			return nil, d
		}
	}
	a, b := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(b) {
		return bitsScalarRule(s)
	}
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	if d := s.equalShapes(); d != nil {
		return nil, d
	}
	d := promote(ir.ElemDType(a), ir.ElemDType(b))
	if _, leaf := splitName(s.Spec.Name); leaf == "shl" || leaf == "shr" {
		d = ir.ElemDType(a)
	}
	return s.like(a, ir.ShapeOf(a), d, broadcastValid(ir.ShapeOf(a), a, b)), nil
}

func bitsScalarRule(s *Site) (ir.Type, *diag.Diagnostic) {
	for i := range 2 {
		if d := s.wantInt(i); d != nil {
			return nil, d
		}
	}
	if _, leaf := splitName(s.Spec.Name); leaf[:2] == "sh" {
		if v, ok := ir.IntValue(s.Args[1]); ok && v < 0 {
			return nil, s.argError(CodeBounds, 1, "a shift count must not be negative, got %d", v)
		}
		return keepRule(s)
	}
	return scalarRule(s)
}

// maskBytes is the width of a packed mask of n columns: 8 columns a byte, rows of whole 32-byte blocks.
func maskBytes(n ir.Expr) (physical, valid ir.Expr) {
	if c, ok := ir.IntValue(n); ok {
		v := (c + 7) / 8
		return ir.Int((v + 31) / 32 * 32), ir.Int(v)
	}
	v := binaryDim(ir.FloorDiv, addDim(n, ir.Int(7)), ir.Int(8))
	return mulDim(binaryDim(ir.FloorDiv, addDim(v, ir.Int(31)), ir.Int(32)), ir.Int(32)), v
}

// cmpRule: a UINT8 mask, one bit a column.
func cmpRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	shape, region := ir.ShapeOf(a), validOf(a)
	if b := s.Args[1].Type(); isRegion(b) {
		var d *diag.Diagnostic
		if shape, d = s.broadcastDims(shape, ir.ShapeOf(b)); d != nil {
			return nil, d
		}
		region = broadcastValid(shape, a, b)
	}
	if len(shape) == 0 {
		return nil, s.argError(CodeRank, 0, "a comparison needs at least one axis")
	}
	n := len(shape) - 1
	mask, valid := slices.Clone(shape), slices.Clone(region)
	mask[n], _ = maskBytes(shape[n])
	_, valid[n] = maskBytes(region[n])
	return s.like(a, mask, ir.UINT8, valid), nil
}

// selRule: operand 0 is the mask, 1 the first choice; the second, when a tile, has its shape and dtype.
func selRule(s *Site) (ir.Type, *diag.Diagnostic) {
	if d := s.dtypeIn(0, ir.UINT8, ir.INT8, ir.BOOL); d != nil {
		return nil, d
	}
	mask, a := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(mask) || !isRegion(a) {
		return ir.Unknown, nil
	}
	shape := ir.ShapeOf(a)
	if len(shape) == 0 || len(ir.ShapeOf(mask)) != len(shape) {
		return nil, s.argError(CodeRank, 0, "a mask %s does not fit %s", typeText(mask), typeText(a))
	}
	if s.param(2).Name == "rhs" {
		b := s.Args[2].Type()
		if x, y := ir.ElemDType(a), ir.ElemDType(b); isRegion(b) && x != y {
			return nil, s.argError(CodeDType, 2, "both choices must have one dtype, got %s and %s", x, y)
		}
		if isRegion(b) {
			for k := range shape {
				if other := ir.ShapeOf(b); len(other) != len(shape) || dimsDiffer(shape[k], other[k]) {
					return nil, s.argError(CodeShape, 2, "both choices must have one shape, got %s and %s", shapeText(shape), shapeText(other))
				}
			}
		}
	}
	return s.like(a, shape, ir.ElemDType(a), validOf(a)), nil
}

// partRule: the valid region is the union, taken as the larger of the two.
func partRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, b := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(b) {
		return ir.Unknown, nil
	}
	if d := s.equalShapes(); d != nil {
		return nil, d
	}
	va, vb := validOf(a), validOf(b)
	valid := make([]ir.Expr, len(va))
	for i := range va {
		if valid[i] = va[i]; !sameDim(va[i], vb[i]) {
			valid[i] = binaryDim(ir.Max, va[i], vb[i])
		}
	}
	return s.like(a, ir.ShapeOf(a), promote(ir.ElemDType(a), ir.ElemDType(b)), valid), nil
}
