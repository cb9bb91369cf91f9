package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Windows, other shapes and layouts of the same storage; assembly and padding.
func viewSpecs() []*Spec {
	meta := []Effect{Untouched}
	tview := func(name, doc string, infer rule, emit emitter, ps ...Param) *Spec {
		return &Spec{Name: "tensor." + name, Doc: doc, Params: ps, Where: OnHost | InCore, Result: viewOf(0), Effects: meta, Pure: true, Infer: infer, Emit: emit}
	}
	kview := func(name, doc string, infer rule, ps ...Param) *Spec {
		return &Spec{Name: "tile." + name, Doc: doc, Params: ps, Where: InCore, Result: viewOf(0), Effects: meta, Pure: true, ResultMemFrom: MemInherit, Infer: infer}
	}
	windowParams := func(first Param) []Param {
		return params(first, listP("shape"), listP("offset"), optional(listP("valid_shape")), optional(listP("drop_dims")))
	}
	nullPad := padKw
	nullPad.Names = padNames // slices may name null: no padding

	slice := tview("slice", "a window", sliceRule, emitSlice, windowParams(tensorP("input"))...)
	slice.Kwargs = []Kwarg{nullPad, boolKw("clamp")}
	tslice := kview("slice", "a window sharing storage", sliceRule, windowParams(tileP("input"))...)
	tslice.Kwargs = []Kwarg{nullPad}
	view := tview("view", "another shape or layout of the same elements", viewRule, emitView, tensorP("input"), optional(listP("shape")), optional(listP("valid_shape")))
	view.Kwargs = []Kwarg{layoutKw}
	reinterpret := tview("reinterpret_view", "the same bytes as elements of another dtype", reinterpretRule, emitReinterpret, tensorP("data"), optional(listP("shape")))
	reinterpret.Kwargs = []Kwarg{dtypeKw}
	treinterpret := kview("reinterpret_view", "the same bytes as elements of another dtype", reinterpretRule, tileP("data"), optional(listP("shape")))
	treinterpret.Kwargs = reinterpret.Kwargs
	setValid := tview("set_validshape", "the same tensor with another valid region", setValidRule, nil, tensorP("tensor"), scalarP("valid_rows"), scalarP("valid_cols"))
	setValid.Where = InCore

	transpose := tview("transpose", "two axes swapped", transposeRule, emitTranspose, tensorP("input"), scalarP("axis1"), scalarP("axis2"), optional(listP("valid_shape")))
	ttranspose := kview("transpose", "two axes swapped", transposeRule, tileP("input"), scalarP("axis1"), scalarP("axis2"), optional(tileP("tmp")))
	ttranspose.Result, ttranspose.Effects, ttranspose.Core = fresh, nil, VectorCore

	assemble := Spec{Name: "tensor.assemble", Doc: "writes a tensor or tile into a window of the target", Params: params(tensorP("target"), kindP("source", TensorArg|TileArg), listP("offset")),
		Kwargs: []Kwarg{atomicKw}, Where: OnHost | InCore, Result: inPlace(0), Effects: []Effect{Write, Read}, Infer: assembleRule, Emit: emitAssemble}
	tassemble := Spec{Name: "tile.assemble", Doc: "writes a tile into a window of the target tile", Params: params(tileP("target"), tileP("source"), listP("offset")),
		Where: InCore, Result: inPlace(0), Effects: []Effect{Write, Read}, ResultMemFrom: MemInherit, Infer: assembleRule}

	concat := Spec{Name: "tensor.concat", Doc: "columns of the first, then of the second", Params: params(tensorP("src0"), tensorP("src1")), Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: concatRule}
	tconcat := concat
	tconcat.Name, tconcat.Params, tconcat.ResultMem = "tile.concat", params(tileP("src0", ir.Vec), tileP("src1", ir.Vec)), ir.Vec

	requiredPad := padKw
	requiredPad.Default = ir.Enum{Kind: "PadValue", Name: "zero"}
	fillpad := Spec{Name: "tensor.fillpad", Doc: "everything outside the valid region filled; all becomes valid", Params: params(tensorP("tensor")), Kwargs: []Kwarg{requiredPad},
		Where: InCore, Result: fresh, Core: VectorCore, Pure: true, Infer: fillpadRule}
	tfillpad := fillpad
	tfillpad.Name, tfillpad.Params, tfillpad.ResultMem = "tile.fillpad", params(tileP("tile", ir.Vec)), ir.Vec
	inplacePad := tfillpad
	inplacePad.Name, inplacePad.Doc = "tile.fillpad_inplace", "fillpad in the tile itself"
	inplacePad.Result, inplacePad.Effects, inplacePad.Pure = inPlace(0), []Effect{ReadWrite}, false
	expandPad := fillpad
	expandPad.Name, expandPad.Doc, expandPad.Params, expandPad.Infer = "tensor.fillpad_expand", "fillpad into a larger shape", params(tensorP("tensor"), listP("shape")), fillpadExpandRule
	texpandPad := expandPad
	texpandPad.Name, texpandPad.Params, texpandPad.ResultMem = "tile.fillpad_expand", params(tileP("tile", ir.Vec), listP("shape")), ir.Vec

	return []*Spec{
		slice, tslice, view, reinterpret, treinterpret, setValid, transpose, ttranspose, &assemble, &tassemble, &concat, &tconcat,
		tview("reshape", "the same elements in another shape", reshapeRule, emitReshape, tensorP("input"), listP("shape"), optional(listP("valid_shape"))),
		kview("reshape", "the same elements in another shape", reshapeRule, tileP("input"), listP("shape")),
		kview("set_validshape", "the same tile with another valid region", setValidRule, tileP("tile"), scalarP("valid_rows"), scalarP("valid_cols")),
		kview("transpose_view", "the tile seen transposed", transposeViewRule, tileP("input")),
		&fillpad, &tfillpad, &inplacePad, &expandPad, &texpandPad,
	}
}

// sliceRule: shape minus dropped axes.
func sliceRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t := s.Args[0].Type()
	if !isRegion(t) {
		return ir.Unknown, nil
	}
	shape := s.list(1)
	valid, d := s.window(t, s.list(2), shape, s.list(3), 2, 1, 3)
	if d != nil {
		return nil, d
	}
	if d := s.checkPackedWindow(ir.ElemDType(t), len(shape)); d != nil {
		return nil, d
	}
	drop, d := s.dropped(shape)
	if d != nil {
		return nil, d
	}
	var outShape, outValid []ir.Expr
	for k := range shape {
		if !drop[k] {
			outShape, outValid = append(outShape, shape[k]), append(outValid, valid[k])
		}
	}
	if tile, ok := t.(*ir.TileType); ok {
		return s.padded(newTile(outShape, tile.DType, tile.Mem, outValid)), nil
	}
	src := t.(*ir.TensorType)
	out := newTensor(outShape, src.DType, outValid)
	out.Distributed = src.Distributed
	return s.padded(out), nil
}

// dropped gives, per axis, whether drop_dims removes it; only unit axes may go.
func (s *Site) dropped(shape []ir.Expr) ([]bool, *diag.Diagnostic) {
	drop := make([]bool, len(shape))
	for _, e := range s.list(4) {
		v, ok := ir.IntValue(e)
		if !ok || v < -int64(len(shape)) || v >= int64(len(shape)) {
			return nil, s.errorAt(CodeBounds, e.Span(), "%s: drop_dims must name axes of the window, got %s", s.Spec.Name, exprText(e))
		}
		if v < 0 {
			v += int64(len(shape))
		}
		if dimsDiffer(shape[v], ir.Int(1)) {
			return nil, s.errorAt(CodeShape, e.Span(), "%s: axis %d cannot be dropped: its extent is %s, not 1", s.Spec.Name, v, exprText(shape[v]))
		}
		drop[v] = true
	}
	return drop, nil
}

// checkPackedWindow: a window of 4-bit elements must start at a whole byte (behaviour E-18).
func (s *Site) checkPackedWindow(d ir.DType, rank int) *diag.Diagnostic {
	offsets := s.list(2)
	if d.Bits() != 4 || rank == 0 || len(offsets) != rank {
		return nil
	}
	if v, ok := ir.IntValue(offsets[rank-1]); ok && v%2 != 0 {
		return s.errorAt(CodePacked, offsets[rank-1].Span(), "%s: the offset %d on the last axis of %s elements must be byte-aligned (even)", s.Spec.Name, v, d.Name())
	}
	return nil
}

// assembleRule: the type of the target; the source must fit.
func assembleRule(s *Site) (ir.Type, *diag.Diagnostic) {
	dst, src := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(dst) || !isRegion(src) {
		return dst, nil
	}
	offsets, shape, from := s.list(2), ir.ShapeOf(dst), validOf(src)
	if len(offsets) != len(shape) {
		return nil, s.argError(CodeRank, 2, "%d offsets but the %s is %dD", len(offsets), kindName(dst), len(shape))
	}
	if len(from) > len(shape) {
		return nil, s.argError(CodeRank, 1, "a source of %d axes does not fit a target of %d", len(from), len(shape))
	}
	if a, b := ir.ElemDType(dst), ir.ElemDType(src); a != b && !s.Lenient {
		return nil, s.argError(CodeDType, 1, "source elements are %s but the target has %s", b, a).WithHint("convert the source: pl.cast(…, pl.%s)", a.Name())
	}
	for k := range shape {
		if k < len(shape)-len(from) || s.Lenient {
			continue
		}
		off, okOff := ir.IntValue(offsets[k])
		n, okN := ir.IntValue(from[k-(len(shape)-len(from))])
		have, okHave := ir.IntValue(shape[k])
		if okOff && off < 0 || okOff && okN && okHave && off+n > have {
			return nil, s.errorAt(CodeBounds, offsets[k].Span(), "%s: [%d, %d) of axis %d is outside of %s", s.Spec.Name, off, off+n, k, typeText(dst))
		}
	}
	return dst, nil
}

func concatRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, b := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(b) {
		return ir.Unknown, nil
	}
	for i := range 2 {
		if d := s.wantRank(i, 2, 2); d != nil {
			return nil, d
		}
	}
	if x, y := ir.ElemDType(a), ir.ElemDType(b); x != y {
		return nil, s.argError(CodeDType, 1, "both operands must have one dtype, got %s and %s", x, y)
	}
	as, bs := ir.ShapeOf(a), ir.ShapeOf(b)
	if dimsDiffer(as[0], bs[0]) {
		return nil, s.argError(CodeShape, 1, "both operands must have the same rows, got %s and %s", shapeText(as), shapeText(bs))
	}
	va, vb := validOf(a), validOf(b)
	return s.like(a, []ir.Expr{as[0], addDim(as[1], bs[1])}, ir.ElemDType(a), []ir.Expr{va[0], addDim(va[1], vb[1])}), nil
}

func fillpadRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	return s.padded(s.like(a, ir.ShapeOf(a), ir.ElemDType(a), nil)), nil
}

// padded notes in the view of a new type what was filled in; zero is the rule when it is not said.
func (s *Site) padded(t ir.Type) ir.Type {
	v, _ := s.Kwargs.Get("pad_value")
	pad, _ := v.(ir.Enum)
	if pad.Name == "" || pad.Name == "null" {
		return t
	}
	switch t := t.(type) {
	case *ir.TileType:
		if t.View == nil {
			t.View = &ir.TileView{}
		}
		t.View.Pad = pad.Name
	case *ir.TensorType:
		if t.View == nil {
			t.View = &ir.TensorView{}
		}
		t.View.Pad = pad.Name
	}
	return t
}

func fillpadExpandRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	shape, from := s.list(1), ir.ShapeOf(a)
	if len(shape) != len(from) {
		return nil, s.argError(CodeRank, 1, "%d extents but the %s is %dD", len(shape), kindName(a), len(from))
	}
	for k := range shape {
		x, okX := ir.IntValue(shape[k])
		y, okY := ir.IntValue(validOf(a)[k])
		if okX && okY && x < y {
			return nil, s.argError(CodeShape, 1, "extent %d of axis %d is smaller than the %d of the operand", x, k, y)
		}
	}
	return s.padded(s.like(a, shape, ir.ElemDType(a), nil)), nil
}

func setValidRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	if d := s.wantRank(0, 2, 2); d != nil {
		return nil, d
	}
	shape := ir.ShapeOf(a)
	valid := []ir.Expr{s.Args[1], s.Args[2]}
	for k, e := range valid {
		v, ok := ir.IntValue(e)
		n, known := ir.IntValue(shape[k])
		if ok && (v < 0 || known && v > n) {
			return nil, s.argError(CodeBounds, k+1, "%d is outside of extent %s of axis %d", v, exprText(shape[k]), k)
		}
	}
	return s.like(a, shape, ir.ElemDType(a), valid), nil
}
