package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Movement between tensors and tiles, and between the memory spaces of tiles.
func memorySpecs() []*Spec {
	load := Spec{Name: "tile.load", Doc: "a window of a tensor as a tile",
		Params: params(tensorP("tensor"), listP("offsets"), listP("shapes"), optional(listP("valid_shape"))),
		Kwargs: []Kwarg{targetMemKw(ir.Vec), boolKw("clamp")}, Where: InCore, Result: fresh, ResultMemFrom: MemKwarg, Infer: loadRule}
	store := Spec{Name: "tile.store", Doc: "writes the valid region of a tile into a tensor",
		Params: params(tileP("tile", ir.Vec, ir.Acc), listP("offsets"), tensorP("output_tensor"), optional(listP("shapes"))),
		Kwargs: []Kwarg{atomicKw}, Where: InCore, Result: inPlace(2), Effects: []Effect{Read, Read, Write}, Infer: storeRule}
	tlayout := func(name string) Kwarg {
		return Kwarg{Name: name, Kind: EnumKw, Enum: "TileLayout", Names: []string{"none_box", "row_major", "col_major"}}
	}
	move := Spec{Name: "tile.move", Doc: "a copy of a tile in another memory space", Params: params(tileP("tile")),
		Kwargs: []Kwarg{targetMemKw(ir.MemUnset), tlayout("blayout"), tlayout("slayout")}, Where: InCore, Result: fresh, Pure: true, ResultMemFrom: MemKwarg, Infer: moveRule}
	move.Kwargs[0].Required = true
	extract := Spec{Name: "tile.extract", Doc: "a window of a tile, copied to another memory space",
		Params: params(tileP("src"), scalarP("index_row"), scalarP("index_col"), listP("shape")), Kwargs: []Kwarg{targetMemKw(ir.MemUnset)},
		Where: InCore, Result: fresh, Pure: true, ResultMemFrom: MemKwarg, Infer: extractRule}
	mgather := Spec{Name: "tile.mgather", Doc: "elements or rows of a tensor picked by an index tile",
		Params: params(tensorP("mem"), tileP("idx"), optional(tileP("scratch")), optional(listP("valid_shape"))),
		Kwargs: []Kwarg{intKw("coalesce"), intKw("gather_oob"), targetMemKw(ir.Vec)}, Where: InCore, Result: fresh, ResultMemFrom: MemKwarg, Infer: mgatherRule}
	mscatter := Spec{Name: "tile.mscatter", Doc: "writes the elements of a tile to places of a tensor picked by an index tile",
		Params: params(tileP("src", ir.Vec), tileP("idx", ir.Vec), tensorP("output_tensor")), Where: InCore, Core: VectorCore,
		Result: inPlace(2), Effects: []Effect{Read, Read, Write}, Infer: sameAs(2)}
	return []*Spec{&load, &store, &move, &extract, &mgather, &mscatter}
}

// loadRule: shapes is the tile, offsets the window's origin; the valid region is what the tensor has there.
func loadRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, ok := s.Args[0].Type().(*ir.TensorType)
	if !ok {
		return ir.Unknown, nil
	}
	shapes := s.list(2)
	if len(s.Args) == 3 || !s.given(3) { // the canonical form names the valid region
		s.Args = append(s.Args[:3:3], &ir.MakeTuple{Elems: shapes, Pos: s.Args[2].Span()})
	}
	valid, d := s.window(t, s.list(1), shapes, s.list(3), 1, 2, 3)
	if d != nil {
		return nil, d
	}
	return newTile(shapes, t.DType, s.resultMem(nil), valid), nil
}

// window checks a window of t and gives its valid region: min(requested, valid of the source − offset) per axis. io, is and iv are the operands of
// offsets, shape and valid_shape (for places in messages). Without clamp the window must lie inside the source.
func (s *Site) window(t ir.Type, offsets, shape, valid []ir.Expr, io, is, iv int) ([]ir.Expr, *diag.Diagnostic) {
	src, srcValid := ir.ShapeOf(t), validOf(t)
	if len(offsets) != len(src) {
		return nil, s.argError(CodeRank, io, "%d offsets but the %s is %dD", len(offsets), kindName(t), len(src))
	}
	if len(shape) != len(src) {
		return nil, s.argError(CodeRank, is, "%d extents but the %s is %dD", len(shape), kindName(t), len(src))
	}
	if d := s.checkShape(is, shape); d != nil {
		return nil, d
	}
	if len(valid) > 0 {
		if d := s.checkValid(iv, valid, shape); d != nil {
			return nil, d
		}
	} else {
		valid = shape
	}
	clamp, partial := s.boolKw("clamp"), isPartial(t)
	out := make([]ir.Expr, len(shape))
	for k := range shape {
		off, okOff := ir.IntValue(offsets[k])
		want, okWant := ir.IntValue(valid[k])
		have, okHave := ir.IntValue(src[k])
		if !s.Lenient && okOff && off < 0 {
			return nil, s.errorAt(CodeBounds, offsets[k].Span(), "%s: offset %d of axis %d is negative", s.Spec.Name, off, k)
		}
		if !clamp && !s.Lenient && okOff && okWant && okHave && off+want > have {
			return nil, s.errorAt(CodeBounds, offsets[k].Span(), "%s: the window [%d, %d) of axis %d is outside of %s", s.Spec.Name, off, off+want, k, typeText(t))
		}
		out[k] = valid[k]
		if clamp || partial && !sameDim(srcValid[k], src[k]) {
			out[k] = clampDim(valid[k], subDim(srcValid[k], offsets[k]))
		}
	}
	return out, nil
}

func storeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	dst := s.Args[2].Type()
	t, ok := dst.(*ir.TensorType)
	if !ok {
		return dst, nil
	}
	offsets := s.list(1)
	if len(offsets) != len(t.Shape) {
		return nil, s.argError(CodeRank, 1, "%d offsets but the tensor is %dD", len(offsets), len(t.Shape))
	}
	if !s.Lenient {
		valid := validOf(s.Args[0].Type())
		for k := range offsets {
			off, okOff := ir.IntValue(offsets[k])
			have, okHave := ir.IntValue(t.Shape[k])
			want, okWant := ir.IntValue(fromRight(valid, len(offsets)-1-k))
			if okOff && off < 0 || okOff && okHave && okWant && len(valid) <= len(offsets) && off+want > have {
				return nil, s.errorAt(CodeBounds, offsets[k].Span(), "%s: [%d, %d) of axis %d is outside of %s", s.Spec.Name, off, off+want, k, typeText(t))
			}
		}
	}
	return dst, nil
}

func moveRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, ok := s.Args[0].Type().(*ir.TileType)
	if !ok {
		return ir.Unknown, nil
	}
	t := newTile(a.Shape, a.DType, s.resultMem(nil), validOf(a))
	for _, k := range [...]string{"blayout", "slayout"} {
		v, _ := s.Kwargs.Get(k)
		e, ok := v.(ir.Enum)
		if !ok {
			continue
		}
		if t.View == nil {
			t.View = &ir.TileView{}
		}
		if k == "blayout" {
			t.View.BLayout = e.Name
		} else {
			t.View.SLayout = e.Name
		}
	}
	return t, nil
}

func extractRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, ok := s.Args[0].Type().(*ir.TileType)
	if !ok {
		return ir.Unknown, nil
	}
	if d := s.wantRank(0, 2, 2); d != nil {
		return nil, d
	}
	valid, d := s.window(a, []ir.Expr{s.Args[1], s.Args[2]}, s.list(3), nil, 1, 3, 3)
	if d != nil {
		return nil, d
	}
	mem := s.resultMem(nil)
	if mem == ir.MemUnset {
		mem = a.Mem
	}
	return newTile(s.list(3), a.DType, mem, valid), nil
}

func mgatherRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, idx := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(t) || !isRegion(idx) {
		return ir.Unknown, nil
	}
	if d := s.wantInt(1); d != nil {
		return nil, d
	}
	shape, valid := ir.ShapeOf(idx), validOf(idx)
	if s.intKw("coalesce", 0) == 1 && len(ir.ShapeOf(t)) > 0 { // one row of the tensor per index
		n := product(shape)
		cols := fromRight(ir.ShapeOf(t), 0)
		shape, valid = []ir.Expr{n, cols}, []ir.Expr{product(valid), cols}
	}
	if s.given(3) {
		valid = s.list(3)
		if d := s.checkValid(3, valid, shape); d != nil {
			return nil, d
		}
	}
	return newTile(shape, ir.ElemDType(t), s.resultMem(nil), valid), nil
}
