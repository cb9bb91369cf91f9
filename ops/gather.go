package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Picking and placing by index or mask, and sorting.
func gatherSpecs() []*Spec {
	tensor := func(name, doc string, infer rule, kws []Kwarg, ps ...Param) *Spec {
		return &Spec{Name: "tensor." + name, Doc: doc, Params: ps, Kwargs: kws, Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: infer}
	}
	tile := func(name, doc string, infer rule, kws []Kwarg, ps ...Param) *Spec {
		return &Spec{Name: "tile." + name, Doc: doc, Params: ps, Kwargs: kws, Where: InCore, Result: fresh, Core: VectorCore, Pure: true, ResultMem: ir.Vec, Infer: infer}
	}
	update := func(s *Spec) *Spec {
		s.Result, s.Effects, s.Pure = inPlace(0), []Effect{ReadWrite}, false
		return s
	}
	vec := func(name string) Param { return tileP(name, ir.Vec) }
	dim := []Kwarg{{Name: "dim", Kind: IntKw, Default: int64(-1)}}
	mask := Kwarg{Name: "mask_pattern", Kind: IntKw, Names: []string{"", "P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"}, Min: 1, Max: 7, Required: true}
	outDType := Kwarg{Name: "output_dtype", Kind: DTypeKw}
	compare := []Kwarg{cmpKw("cmp_mode"), intKw("offset"), {Name: "out_cols", Kind: IntKw, Required: true}, {Name: "count_dtype", Kind: DTypeKw, Default: ir.INT32}}
	paged := []Kwarg{{Name: "block_size", Kind: IntKw, Required: true}, {Name: "size", Kind: IntKw, Required: true}, intKw("col_off"), intKw("max_indices"),
		boolKw("is_trans"), boolKw("is_b_matrix"), {Name: "space", Kind: EnumKw, Enum: "Mem", Names: memNames}}
	rowKws := []Kwarg{boolKw("transpose")}
	exhausted := []Kwarg{boolKw("exhausted")}

	return []*Spec{
		tensor("gather", "elements picked along one axis", gatherRule, dim, tensorP("input"), tensorP("index")),
		tensor("gather_mask", "columns picked by a pattern", gatherMaskRule, []Kwarg{mask, outDType}, tensorP("input")),
		tensor("gather_compare", "columns whose elements satisfy a comparison, and their count", gatherCompareRule, compare, tensorP("input"), kindP("kvalue", TensorArg|ScalarArg)),
		update(tensor("gather_row", "rows copied into a window of the accumulator", sameAs(0), rowKws, tensorP("acc"), tensorP("src"), listP("dst_offset"), listP("src_offset"), listP("shapes"), optional(listP("valid_shape")))),
		tensor("paged_gather", "rows fetched through a block table", pagedGatherRule, paged, tensorP("src"), tensorP("indices"), tensorP("block_table")),
		tensor("scatter", "a copy with elements placed along one axis", keepRule, dim, tensorP("input"), tensorP("index"), tensorP("src")),
		update(tensor("scatter_update", "rows replaced by index", sameAs(0), []Kwarg{{Name: "dim", Kind: IntKw, Default: int64(-2)}}, tensorP("input"), tensorP("index"), tensorP("src"))),
		tensor("scatter_mask", "columns spread by a pattern, the rest 0", sameTypeAs(1), []Kwarg{mask}, tensorP("input"), tensorP("dst")),
		tensor("sort32", "each 32 columns sorted descending, with their indices", sortRule, nil, tensorP("src"), tensorP("idx")),
		tensor("mrgsort_format1", "groups of four sorted runs merged", keepRule, nil, tensorP("src"), scalarP("block_len")),
		tensor("mrgsort_format2", "two to four sorted lists merged", mergeRule, exhausted, tensorP("src0"), tensorP("src1"), optional(tensorP("src2")), optional(tensorP("src3"))),

		tile("gather", "elements picked by flat index", gatherTileRule, nil, vec("src"), vec("indices"), optional(vec("tmp"))),
		tile("gather_mask", "columns picked by a pattern", gatherMaskRule, []Kwarg{mask, outDType}, vec("src")),
		tile("gather_compare", "columns whose elements satisfy a comparison, and their count", gatherCompareRule, compare, vec("src"), kindP("kvalue", TileArg|ScalarArg), optional(vec("tmp"))),
		update(tile("gather_row", "rows copied into a window of the tile", sameAs(0), rowKws, tileP("dst"), kindP("src", TensorArg|TileArg), listP("dst_offset"), listP("src_offset"), listP("shapes"), optional(listP("valid_shape")))),
		tile("gatherb", "32-byte blocks picked by byte offset", gatherbRule, []Kwarg{outDType}, vec("src"), vec("offset")),
		update(tile("scatter", "elements placed by flat index", sameAs(0), nil, vec("dst"), vec("src"), vec("indexes"))),
		update(tile("scatter_mask", "columns spread by a pattern, the rest 0", sameAs(0), []Kwarg{mask}, vec("dst"), vec("src"))),
		update(tile("scatter_update", "rows replaced by index", sameAs(0), []Kwarg{{Name: "dim", Kind: IntKw, Default: int64(-2)}}, vec("input"), vec("index"), vec("src"))),
		tile("sort32", "each 32 columns sorted descending, with their indices", sortRule, nil, vec("src"), vec("idx")),
		tile("mrgsort_format1", "groups of four sorted runs merged", keepRule, nil, vec("src"), scalarP("block_len")),
		tile("mrgsort_format2", "two to four sorted lists merged", mergeRule, exhausted, vec("src0"), vec("src1"), vec("tmp_or_src2"), optional(vec("tmp_or_src3")), optional(vec("tmp"))),
	}
}

// sameTypeAs is keepRule for another operand than the first.
func sameTypeAs(i int) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		a := s.Args[i].Type()
		if !isRegion(a) {
			return ir.Unknown, nil
		}
		return s.like(a, ir.ShapeOf(a), ir.ElemDType(a), validOf(a)), nil
	}
}

// gatherRule: the shape of the index, the dtype of the input.
func gatherRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, idx := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(idx) {
		return ir.Unknown, nil
	}
	if d := s.wantInt(1); d != nil {
		return nil, d
	}
	rank, dim := len(ir.ShapeOf(a)), 0
	if len(ir.ShapeOf(idx)) != rank {
		return nil, s.argError(CodeRank, 1, "the index must have as many axes as the input, got %s for %s", typeText(idx), typeText(a))
	}
	if v := s.intKw("dim", -1); v < -int64(rank) || v >= int64(rank) {
		return nil, s.errorAt(CodeBounds, s.Pos, "%s: dim out of range: %d for a tensor of rank %d", s.Spec.Name, v, rank)
	} else if v < 0 {
		dim = int(v) + rank
	} else {
		dim = int(v)
	}
	for k := range rank {
		n, okN := ir.IntValue(validOf(idx)[k])
		have, okHave := ir.IntValue(ir.ShapeOf(a)[k])
		if k != dim && okN && okHave && n > have {
			return nil, s.argError(CodeShape, 1, "an index of shape %s reaches over axis %d of %s", shapeText(ir.ShapeOf(idx)), k, typeText(a))
		}
	}
	return s.like(a, ir.ShapeOf(idx), ir.ElemDType(a), validOf(idx)), nil
}

func gatherTileRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, idx := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(idx) {
		return ir.Unknown, nil
	}
	if d := s.wantInt(1); d != nil {
		return nil, d
	}
	return s.like(a, ir.ShapeOf(idx), ir.ElemDType(a), validOf(idx)), nil
}

// maskDivisor is how many columns of the source each column of a mask gather stands for.
func maskDivisor(pattern int64) int64 {
	switch {
	case pattern <= 2:
		return 2
	case pattern <= 6:
		return 4
	}
	return 1
}

func gatherMaskRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	from := ir.ElemDType(a)
	to := s.dtypeKw("output_dtype", from)
	if from.Bits() != to.Bits() {
		return nil, s.argError(CodeDType, 0, "output_dtype %s must be as wide as the %s elements", to, from)
	}
	div := ir.Int(maskDivisor(s.intKw("mask_pattern", 7)))
	shape, valid := append([]ir.Expr(nil), ir.ShapeOf(a)...), append([]ir.Expr(nil), validOf(a)...)
	n := len(shape) - 1
	if n < 0 {
		return nil, s.argError(CodeRank, 0, "needs at least one axis")
	}
	if div.Value > 1 {
		shape[n], valid[n] = binaryDim(ir.FloorDiv, shape[n], div), binaryDim(ir.FloorDiv, valid[n], div)
	}
	return s.like(a, shape, to, valid), nil
}

// gatherCompareRule gives (indices [R, out_cols], count [R, 1]).
func gatherCompareRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	if d := s.wantRank(0, 2, 2); d != nil {
		return nil, d
	}
	rows := ir.ShapeOf(a)[0]
	index := s.like(a, []ir.Expr{rows, ir.Int(s.intKw("out_cols", 1))}, ir.INT32, nil)
	count := s.like(a, []ir.Expr{rows, ir.Int(1)}, s.dtypeKw("count_dtype", ir.INT32), nil)
	return &ir.TupleType{Elems: []ir.Type{index, count}}, nil
}

func pagedGatherRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	shape := ir.ShapeOf(a)
	if len(shape) < 2 {
		return nil, s.argError(CodeRank, 0, "'src' must have at least 2 axes, got %s", typeText(a))
	}
	rows, cols := ir.Expr(ir.Int(s.intKw("max_indices", 0))), ir.Expr(ir.Int(s.intKw("size", 0)))
	if isInt(rows, 0) {
		rows = product(ir.ShapeOf(s.Args[1].Type()))
	}
	if s.boolKw("is_trans") {
		rows, cols = cols, rows
	}
	return newTensor([]ir.Expr{rows, cols}, ir.ElemDType(a), nil), nil
}

func gatherbRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, off := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(off) {
		return ir.Unknown, nil
	}
	d := s.dtypeKw("output_dtype", ir.ElemDType(a))
	shape, valid := append([]ir.Expr(nil), ir.ShapeOf(off)...), append([]ir.Expr(nil), validOf(off)...)
	if n := len(shape) - 1; n >= 0 && d.Bytes() > 0 {
		per := ir.Int(int64(32 / d.Bytes()))
		shape[n], valid[n] = mulDim(shape[n], per), mulDim(valid[n], per)
	}
	return s.like(a, shape, d, valid), nil
}

// sortRule: (value, index) pairs, so the last axis doubles.
func sortRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	shape, valid := append([]ir.Expr(nil), ir.ShapeOf(a)...), append([]ir.Expr(nil), validOf(a)...)
	n := len(shape) - 1
	if n < 0 {
		return nil, s.argError(CodeRank, 0, "needs at least one axis")
	}
	shape[n], valid[n] = mulDim(shape[n], ir.Int(2)), mulDim(valid[n], ir.Int(2))
	return s.like(a, shape, ir.ElemDType(a), valid), nil
}

// mergeRule: the columns of all sources one after the other. The tile form has its scratch tile last, which counts as no source.
func mergeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	sources := s.Args
	if _, tile := a.(*ir.TileType); tile {
		sources = sources[:len(sources)-1]
	}
	shape, valid := append([]ir.Expr(nil), ir.ShapeOf(a)...), append([]ir.Expr(nil), validOf(a)...)
	n := len(shape) - 1
	if n < 0 {
		return nil, s.argError(CodeRank, 0, "needs at least one axis")
	}
	for _, x := range sources[1:] {
		t := x.Type()
		if !isRegion(t) || len(ir.ShapeOf(t)) != n+1 {
			continue
		}
		shape[n], valid[n] = addDim(shape[n], ir.ShapeOf(t)[n]), addDim(valid[n], validOf(t)[n])
	}
	return s.like(a, shape, ir.ElemDType(a), valid), nil
}
