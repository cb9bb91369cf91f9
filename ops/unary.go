package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Functions of one tensor or tile, and casts.
func unarySpecs() []*Spec {
	one := Spec{Params: params(tensorP("input")), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: keepRule}
	with := func(infer rule, kws ...Kwarg) Spec { s := one; s.Infer, s.Kwargs = infer, kws; return s }
	hp := boolKw("high_precision")
	castKws := []Kwarg{{Name: "target_type", Kind: DTypeKw, Required: true}, {Name: "mode", Kind: ModeKw, Names: castModes, Default: "round"}}

	specs := each("tensor", one, "abs", "absolute value", "neg", "negation")
	specs = append(specs, each("tensor", with(floatResultRule), "exp", "exponential", "sqrt", "square root")...)
	specs = append(specs, each("tensor", with(floatResultRule, hp), "recip", "reciprocal", "rsqrt", "reciprocal square root")...)
	specs = append(specs, each("tensor", with(keepOf(ir.FP16, ir.BF16, ir.FP32), hp), "log", "natural logarithm")...)
	specs = append(specs, each("tensor", with(keepOf(ir.FP32)), "sin", "sine", "cos", "cosine")...)
	specs = append(specs, each("tensor", with(keepOf(ir.INT16, ir.UINT16)), "not", "bitwise complement")...)
	specs = append(specs, each("tensor", with(castRule, castKws...), "cast", "conversion to another dtype")...)

	tile := one
	tile.Params, tile.ResultMem = params(tileP("tile", ir.Vec)), ir.Vec
	twith := func(infer rule, kws ...Kwarg) Spec { s := tile; s.Infer, s.Kwargs = infer, kws; return s }
	rsqrt := twith(floatResultRule)
	rsqrt.Params = params(tileP("tile", ir.Vec), optional(tileP("tmp", ir.Vec)))
	lrelu := tile
	lrelu.Params = params(tileP("tile", ir.Vec), scalarP("slope"))
	prelu := tile
	prelu.Infer = broadcastRule
	prelu.Params = params(tileP("tile", ir.Vec), tileP("slope", ir.Vec), optional(tileP("tmp", ir.Vec)))

	specs = append(specs, each("tile", tile, "abs", "absolute value", "neg", "negation", "exp", "exponential", "sqrt", "square root", "relu", "max(x, 0)")...)
	specs = append(specs, each("tile", twith(keepRule, hp), "recip", "reciprocal")...)
	specs = append(specs, each("tile", rsqrt, "rsqrt", "reciprocal square root")...)
	specs = append(specs, each("tile", twith(keepOf(ir.FP16, ir.BF16, ir.FP32), hp), "log", "natural logarithm")...)
	specs = append(specs, each("tile", twith(keepOf(ir.FP32)), "sin", "sine", "cos", "cosine")...)
	specs = append(specs, each("tile", twith(keepOf(ir.INT16, ir.UINT16)), "not", "bitwise complement")...)
	specs = append(specs, each("tile", twith(castRule, castKws...), "cast", "conversion to another dtype")...)
	specs = append(specs, each("tile", lrelu, "lrelu", "x > 0 ? x : x * slope, scalar slope")...)
	return append(specs, each("tile", prelu, "prelu", "x > 0 ? x : x * slope, elementwise slope")...)
}

// floatResultRule: integers become FP32 at tensor level; tiles keep their dtype.
func floatResultRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if t, ok := a.(*ir.TensorType); ok && !t.DType.IsFloat() {
		return newTensor(t.Shape, ir.FP32, validOf(t)), nil
	}
	return keepRule(s)
}

// keepOf is keepRule for a set of dtypes.
func keepOf(set ...ir.DType) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		if d := s.dtypeIn(0, set...); d != nil {
			return nil, d
		}
		return keepRule(s)
	}
}

func castRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	to := s.dtypeKw("target_type", ir.NoDType)
	if to == ir.ElemDType(a) && !s.Lenient {
		return nil, s.argError(CodeDType, 0, "the operand already has dtype %s", to).WithHint("drop the cast")
	}
	return s.like(a, ir.ShapeOf(a), to, validOf(a)), nil
}
