package ops

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Reductions along rows and columns.
func reduceSpecs() []*Spec {
	tensor := Spec{Params: params(tensorP("input")), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: reduceRule}
	kws := func(axis int64) []Kwarg {
		return []Kwarg{{Name: "axis", Kind: IntKw, Default: axis}, {Name: "keep_dim", Kind: BoolKw, Default: true}}
	}
	row, col := tensor, tensor
	row.Kwargs, col.Kwargs = kws(-1), kws(-2)
	specs := each("tensor", row, rowReductions...)
	specs = append(specs, each("tensor", col, colReductions...)...)

	tile := tensor
	tile.ResultMem = ir.Vec
	tile.Params = params(tileP("tile", ir.Vec), tileP("tmp_tile", ir.Vec))
	specs = append(specs, each("tile", tile, rowReductions...)...)
	specs = append(specs, each("tile", tile, "col_argmax", "row of the column maximum", "col_argmin", "row of the column minimum")...)
	plain := tile
	plain.Params = params(tileP("tile", ir.Vec))
	specs = append(specs, each("tile", plain, "col_max", "maximum of each column", "col_min", "minimum of each column", "col_prod", "product of each column")...)
	sum := tile
	sum.Params = params(tileP("tile", ir.Vec), optional(tileP("tmp_tile", ir.Vec)))
	return append(specs, each("tile", sum, "col_sum", "sum of each column")...)
}

var (
	rowReductions = []string{"row_sum", "sum of each row", "row_max", "maximum of each row", "row_min", "minimum of each row", "row_prod", "product of each row",
		"row_argmax", "column of the row maximum", "row_argmin", "column of the row minimum"}
	colReductions = []string{"col_sum", "sum of each column", "col_max", "maximum of each column", "col_min", "minimum of each column", "col_prod", "product of each column",
		"col_argmax", "row of the column maximum", "col_argmin", "row of the column minimum"}
)

// reduceRule: rows give [.., R, 1], columns [.., 1, C]; arg reductions INT32.
func reduceRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	_, leaf := splitName(s.Spec.Name)
	rows := strings.HasPrefix(leaf, "row_")
	least := 1
	if !rows {
		least = 2
	}
	if d := s.wantRank(0, least, 8); d != nil {
		return nil, d
	}
	shape := append([]ir.Expr(nil), ir.ShapeOf(a)...)
	valid := append([]ir.Expr(nil), validOf(a)...)
	axis, want := len(shape)-1, int64(-1)
	if !rows {
		axis, want = len(shape)-2, -2
	}
	if v := s.intKw("axis", want); v != want && v != int64(axis) {
		return nil, s.errorAt(CodeBounds, s.Pos, "%s: axis must be %d, got %d", s.Spec.Name, want, v)
	}
	if isInt(valid[axis], 0) {
		return nil, s.argError(CodeShape, 0, "cannot reduce an empty region: axis %d of %s has no valid elements", axis, typeText(a))
	}
	if leaf == "row_min" || strings.Contains(leaf, "arg") {
		if d := s.dtypeIn(0, ir.INT16, ir.INT32, ir.FP16, ir.BF16, ir.FP32); d != nil {
			return nil, d
		}
	}
	d := ir.ElemDType(a)
	if strings.Contains(leaf, "arg") {
		d = ir.INT32
	}
	shape[axis], valid[axis] = ir.Int(1), ir.Int(1)
	if keep, ok := s.Kwargs.Get("keep_dim"); ok && keep == false {
		shape = append(shape[:axis], shape[axis+1:]...)
		valid = append(valid[:axis], valid[axis+1:]...)
	}
	return s.like(a, shape, d, valid), nil
}
