package ops

import (
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Matrix products.
func matmulSpecs() []*Spec {
	acc := Kwarg{Name: "init_cond", Kind: ExprKw} // newer surface: true steps overwrite the accumulator
	mm := Spec{Params: params(tensorP("lhs"), tensorP("rhs")), Kwargs: []Kwarg{{Name: "out_dtype", Kind: DTypeKw}, boolKw("a_trans"), boolKw("b_trans"), boolKw("c_matrix_nz")},
		Where: InCore, Result: fresh, Core: CubeCore, Pure: true, Infer: matmulRule(0)}
	mmAcc := Spec{Params: params(tensorP("acc"), tensorP("lhs"), tensorP("rhs")), Kwargs: []Kwarg{boolKw("a_trans"), boolKw("b_trans"), acc},
		Where: InCore, Result: inPlace(0), Effects: []Effect{ReadWrite}, Core: CubeCore, Infer: matmulAccRule(1)}
	specs := each("tensor", mm, "matmul", "matrix product")
	specs = append(specs, each("tensor", mmAcc, "matmul_acc", "matrix product added to an accumulator")...)

	lhs, rhs, accP, bias := tileP("lhs", ir.Left), tileP("rhs", ir.Right), tileP("acc", ir.Acc), tileP("bias", ir.Bias)
	ls, rs := tileP("lhs_scale", ir.LeftScale), tileP("rhs_scale", ir.RightScale)
	tile := func(kws []Kwarg, infer rule, ps ...Param) Spec {
		return Spec{Params: ps, Kwargs: kws, Where: InCore, Result: fresh, Core: CubeCore, Pure: true, ResultMem: ir.Acc, Infer: infer}
	}
	accum := func(kws []Kwarg, infer rule, ps ...Param) Spec {
		s := tile(kws, infer, ps...)
		s.Result, s.Effects, s.Pure = inPlace(0), []Effect{ReadWrite}, false
		return s
	}
	phase := []Kwarg{strKw("acc_phase")}
	specs = append(specs, each("tile", tile(nil, matmulRule(0), lhs, rhs), "matmul", "matrix product", "batch_matmul", "matrix products over leading axes")...)
	specs = append(specs, each("tile", accum([]Kwarg{acc}, matmulAccRule(1), accP, lhs, rhs), "matmul_acc", "matrix product added to an accumulator",
		"batch_matmul_acc", "matrix products added to accumulators")...)
	specs = append(specs, each("tile", tile(nil, biasRule(2), lhs, rhs, bias), "matmul_bias", "matrix product plus a bias row")...)
	specs = append(specs, each("tile", tile(phase, gemvRule, lhs, rhs), "gemv", "vector-matrix product")...)
	specs = append(specs, each("tile", accum(phase, sameAs(0), accP, lhs, rhs), "gemv_acc", "vector-matrix product added to an accumulator")...)
	specs = append(specs, each("tile", tile(phase, gemvRule, lhs, rhs, bias), "gemv_bias", "vector-matrix product plus a bias row")...)
	specs = append(specs, each("tile", tile(nil, mxRule(0), lhs, ls, rhs, rs), "matmul_mx", "block-scaled matrix product")...)
	specs = append(specs, each("tile", accum(nil, sameAs(0), accP, lhs, ls, rhs, rs), "matmul_mx_acc", "block-scaled matrix product added to an accumulator")...)
	return append(specs, each("tile", tile(nil, mxRule(0), lhs, ls, rhs, rs, bias), "matmul_mx_bias", "block-scaled matrix product plus a bias row")...)
}

// accDType is the dtype in which products are summed.
func accDType(d ir.DType) ir.DType {
	if d.IsFloat() {
		return ir.FP32
	}
	return ir.INT32
}

// products gives rows, depth and columns of operands a and b as the op's transpositions read them.
func (s *Site) products(i, j int) (m, k1, k2, n []ir.Expr, d *diag.Diagnostic) {
	a, b := ir.ShapeOf(s.Args[i].Type()), ir.ShapeOf(s.Args[j].Type())
	va, vb := validOf(s.Args[i].Type()), validOf(s.Args[j].Type())
	pick := func(shape, valid []ir.Expr, fromRightIndex int) []ir.Expr {
		return []ir.Expr{fromRight(shape, fromRightIndex), fromRight(valid, fromRightIndex)}
	}
	at, bt := s.boolKw("a_trans"), s.boolKw("b_trans")
	if at && len(a) < 2 {
		return nil, nil, nil, nil, s.argError(CodeRank, i, "a_trans needs at least 2 axes, got %s", typeText(s.Args[i].Type()))
	}
	if bt && len(b) < 2 {
		return nil, nil, nil, nil, s.argError(CodeRank, j, "b_trans needs at least 2 axes, got %s", typeText(s.Args[j].Type()))
	}
	m, k1 = pick(a, va, 1), pick(a, va, 0)
	if at {
		m, k1 = k1, m
	}
	k2, n = pick(b, vb, 1), pick(b, vb, 0)
	if bt {
		k2, n = n, k2
	}
	if len(b) == 1 { // a vector on the right: K values, one column
		k2, n = pick(b, vb, 0), []ir.Expr{ir.Int(1), ir.Int(1)}
	}
	// The depth is that of the valid regions: physical extents may be padded.
	if dimsDiffer(k1[0], k2[0]) && dimsDiffer(k1[1], k2[1]) {
		return nil, nil, nil, nil, s.argError(CodeShape, j, "inner extents differ: %s is multiplied with %s (K = %s against %s)",
			typeText(s.Args[i].Type()), typeText(s.Args[j].Type()), exprText(k1[0]), exprText(k2[0]))
	}
	return m, k1, k2, n, nil
}

// matmulRule: [.., M, K] times [.., K, N] of operands i and i+1; leading axes broadcast.
func matmulRule(i int) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		a, b := s.Args[i].Type(), s.Args[i+1].Type()
		if !isRegion(a) || !isRegion(b) {
			return ir.Unknown, nil
		}
		m, _, _, n, d := s.products(i, i+1)
		if d != nil {
			return nil, d
		}
		as, bs := ir.ShapeOf(a), ir.ShapeOf(b)
		da, db := ir.ElemDType(a), ir.ElemDType(b)
		if _, tile := a.(*ir.TileType); tile {
			if da != db {
				return nil, s.argError(CodeDType, i+1, "both operands must have one dtype, got %s and %s", da, db)
			}
			if strings.Contains(s.Spec.Name, "batch") {
				if d := s.wantRank(i, 2, 5); d != nil {
					return nil, d
				}
			} else {
				for j := i; j <= i+1; j++ {
					if d := s.wantRank(j, 2, 2); d != nil {
						return nil, d
					}
				}
			}
		} else if da.IsFloat() != db.IsFloat() {
			return nil, s.argError(CodeDType, i+1, "requires same numeric dtype category, got %s and %s", da, db)
		}
		batch := func(shape []ir.Expr) []ir.Expr { return shape[:max(len(shape)-2, 0)] }
		lead, d := s.broadcastDims(batch(as), batch(bs))
		if d != nil {
			return nil, d
		}
		var shape, valid []ir.Expr
		shape = append(shape, lead...)
		valid = append(valid, lead...)
		if len(as) >= 2 {
			shape, valid = append(shape, m[0]), append(valid, m[1])
		}
		if len(bs) >= 2 {
			shape, valid = append(shape, n[0]), append(valid, n[1])
		}
		if _, tile := a.(*ir.TileType); tile {
			return newTile(shape, accDType(da), s.Spec.ResultMem, valid), nil
		}
		return newTensor(shape, s.dtypeKw("out_dtype", promote(da, db)), valid), nil
	}
}

// matmulAccRule: operand 0 accumulates the product of operands i and i+1 and keeps its type.
func matmulAccRule(i int) rule {
	product := matmulRule(i)
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		acc := s.Args[0].Type()
		p, d := product(s)
		if d != nil || !isRegion(p) || !isRegion(acc) {
			return acc, d
		}
		if want := accDType(ir.ElemDType(p)); ir.ElemDType(acc) != want && !s.Lenient {
			return nil, s.argError(CodeDType, 0, "the accumulator must be %s, got %s", want, ir.ElemDType(acc)).
				WithHint("start it with pl.matmul, whose result has that dtype")
		}
		as, ps := ir.ShapeOf(acc), ir.ShapeOf(p)
		if len(as) != len(ps) {
			return nil, s.argError(CodeRank, 0, "the accumulator %s does not fit the product %s", typeText(acc), shapeText(ps))
		}
		for k := range as {
			if dimsDiffer(as[k], ps[k]) {
				return nil, s.argError(CodeShape, 0, "the accumulator %s does not fit the product %s", typeText(acc), shapeText(ps))
			}
		}
		return acc, nil
	}
}

// biasRule is matmulRule plus a bias row [1, N] in operand i.
func biasRule(i int) rule {
	product := matmulRule(0)
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		p, d := product(s)
		if d != nil || !isRegion(p) || !isRegion(s.Args[i].Type()) {
			return p, d
		}
		bias := ir.ShapeOf(s.Args[i].Type())
		if n := fromRight(ir.ShapeOf(p), 0); len(bias) != 2 || dimsDiffer(bias[0], ir.Int(1)) || dimsDiffer(bias[1], n) {
			return nil, s.argError(CodeShape, i, "the bias must be [1, %s], got %s", exprText(n), typeText(s.Args[i].Type()))
		}
		return p, nil
	}
}

// gemvRows is the number of rows that the result of a vector-matrix product occupies.
const gemvRows = 16

func gemvRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, d := matmulRule(0)(s)
	if d != nil {
		return nil, d
	}
	if tile, ok := t.(*ir.TileType); ok {
		valid := validOf(tile)
		if n, ok := ir.IntValue(valid[0]); ok && n > gemvRows {
			return nil, s.argError(CodeShape, 0, "a vector-matrix product takes one row (at most %d), got %d", gemvRows, n)
		}
		return newTile([]ir.Expr{ir.Int(gemvRows), tile.Shape[1]}, tile.DType, tile.Mem, []ir.Expr{valid[0], valid[1]}), nil
	}
	return t, nil
}

// mxRule: operands i and i+2 with a power-of-two scale for each block of 32 along K.
func mxRule(i int) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) {
		a, b := s.Args[i].Type(), s.Args[i+2].Type()
		if !isRegion(a) || !isRegion(b) {
			return ir.Unknown, nil
		}
		m, k, _, n, d := s.products(i, i+2)
		if d != nil {
			return nil, d
		}
		if v, ok := ir.IntValue(k[0]); ok && v%64 != 0 {
			return nil, s.argError(CodeShape, i, "K must be a multiple of 64, got %d", v)
		}
		return newTile([]ir.Expr{m[0], n[0]}, ir.FP32, s.Spec.ResultMem, []ir.Expr{m[1], n[1]}), nil
	}
}
