package ops

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Row and column vectors spread over a matrix.
func expandSpecs() []*Spec {
	tensor := Spec{Params: params(tensorP("tensor"), tensorP("row_vec")), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: expandRule}
	col := tensor
	col.Params = params(tensorP("tensor"), tensorP("col_vec"))
	rowOnly, clone, scalar := tensor, tensor, tensor
	rowOnly.Params = params(tensorP("target"), tensorP("row_vec"))
	clone.Params, clone.Infer = params(tensorP("input"), tensorP("target")), expandCloneRule
	scalar.Params, scalar.Infer = params(tensorP("target"), scalarP("scalar")), keepRule

	specs := each("tensor", tensor, expandNames("row")...)
	specs = append(specs, each("tensor", rowOnly, "row_expand", "a column vector [R, 1] repeated along rows")...)
	specs = append(specs, each("tensor", col, append(expandNames("col"), "col_expand", "a row vector [1, C] repeated along columns")...)...)
	specs = append(specs, each("tensor", clone, "expand_clone", "a tensor broadcast to the shape of another")...)
	specs = append(specs, each("tensor", scalar, "expands", "a scalar broadcast to the shape of a tensor")...)

	tile := tensor
	tile.ResultMem = ir.Vec
	tile.Params = params(tileP("tile", ir.Vec), tileP("row_vec", ir.Vec))
	tcol, trow, tadd, tscalar := tile, tile, tile, tile
	tcol.Params = params(tileP("target", ir.Vec), tileP("col_tile", ir.Vec))
	trow.Params = params(tileP("target", ir.Vec), tileP("row_vec", ir.Vec))
	tadd.Params = params(tileP("tile", ir.Vec), tileP("row_vec", ir.Vec), optional(tileP("tmp", ir.Vec)))
	tscalar.Params, tscalar.Infer = params(tileP("target", ir.Vec), scalarP("scalar")), keepRule
	specs = append(specs, each("tile", tile, expandNames("row")[2:]...)...) // all but row_expand_add
	specs = append(specs, each("tile", tadd, expandNames("row")[:2]...)...)
	specs = append(specs, each("tile", trow, "row_expand", "a column vector [R, 1] repeated along rows")...)
	specs = append(specs, each("tile", tcol, append(expandNames("col"), "col_expand", "a row vector [1, C] repeated along columns")...)...)
	return append(specs, each("tile", tscalar, "expands", "a scalar broadcast to the shape of a tile")...)
}

func expandNames(axis string) []string {
	return []string{axis + "_expand_add", "sum with a " + axis + " vector", axis + "_expand_sub", "difference to a " + axis + " vector",
		axis + "_expand_mul", "product with a " + axis + " vector", axis + "_expand_div", "quotient by a " + axis + " vector",
		axis + "_expand_max", "maximum with a " + axis + " vector", axis + "_expand_min", "minimum with a " + axis + " vector",
		axis + "_expand_expdif", "exp of the difference to a " + axis + " vector"}
}

// expandRule: main operand [.., R, C], vector [.., R, 1] for rows and [.., 1, C] for columns; the result has the main shape.
func expandRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, v := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(v) {
		return ir.Unknown, nil
	}
	for i := range 2 {
		if d := s.wantRank(i, 2, 8); d != nil {
			return nil, d
		}
	}
	_, leaf := splitName(s.Spec.Name)
	rows := strings.HasPrefix(leaf, "row_")
	shape, vec := ir.ShapeOf(a), ir.ShapeOf(v)
	one, same := 0, 1 // counted from the right: the unit axis and the shared one
	if !rows {
		one, same = 1, 0
	}
	if e := fromRight(vec, one); dimsDiffer(e, ir.Int(1)) {
		return nil, s.argError(CodeShape, 1, "'%s' must be %s, got %s", s.param(1).Name, map[bool]string{true: "a column vector [.., R, 1]", false: "a row vector [.., 1, C]"}[rows], typeText(v))
	}
	if x, y := fromRight(shape, same), fromRight(vec, same); dimsDiffer(x, y) {
		return nil, s.argError(CodeShape, 1, "'%s' %s does not fit %s: %s against %s", s.param(1).Name, typeText(v), typeText(a), exprText(y), exprText(x))
	}
	if leaf == "row_expand_add" && !s.Lenient {
		if x, y := ir.ElemDType(a), ir.ElemDType(v); x != y {
			return nil, s.argError(CodeDType, 1, "both operands must have one dtype, got %s and %s", x, y)
		}
		if d := s.dtypeIn(0, ir.INT8, ir.INT16, ir.INT32, ir.FP16, ir.BF16, ir.FP32); d != nil {
			return nil, d
		}
	}
	return s.like(a, shape, promote(ir.ElemDType(a), ir.ElemDType(v)), validOf(a)), nil
}

func expandCloneRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, t := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(t) {
		return ir.Unknown, nil
	}
	from, to := ir.ShapeOf(a), ir.ShapeOf(t)
	for k := range from {
		x, y := fromRight(from, k), fromRight(to, k)
		if !isInt(x, 1) && (k >= len(to) || dimsDiffer(x, y)) {
			return nil, s.argError(CodeShape, 0, "%s does not broadcast to %s", typeText(a), shapeText(to))
		}
	}
	return s.like(a, to, ir.ElemDType(a), validOf(t)), nil
}
