package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Rules of the views that renumber elements: reshape, transpose, view, reinterpret_view.

func layoutOf(t *ir.TensorType) string {
	if t.View != nil && t.View.Layout != "" {
		return t.View.Layout
	}
	return "ND"
}

// isPacked reports a tensor type without strides of its own.
func isPacked(t *ir.TensorType) bool { return t.View == nil || t.View.Stride == nil }

func reshapeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t := s.Args[0].Type()
	if !isRegion(t) {
		return ir.Unknown, nil
	}
	shape := s.list(1)
	if d := s.checkShape(1, shape); d != nil {
		return nil, d
	}
	if a, b := product(ir.ShapeOf(t)), product(shape); dimsDiffer(a, b) {
		return nil, s.argError(CodeShape, 1, "cannot reshape %s into %s: %s elements against %s", typeText(t), shapeText(shape), exprText(a), exprText(b))
	}
	if n, ok := t.(*ir.TensorType); ok && (layoutOf(n) != "ND" || !isPacked(n)) {
		return nil, s.argError(CodeView, 0, "a reshape needs a packed row-major (ND) tensor; %s has another layout or strides of its own", exprText(s.Args[0])).
			WithHint("reshape before the transpose or view, or copy the data in a kernel")
	}
	valid, d := s.reshapedValid(t, shape)
	if d != nil {
		return nil, d
	}
	if tile, ok := t.(*ir.TileType); ok {
		return newTile(shape, tile.DType, tile.Mem, valid), nil
	}
	out := newTensor(shape, ir.ElemDType(t), valid)
	out.Distributed = t.(*ir.TensorType).Distributed
	return out, nil
}

// reshapedValid maps a valid region into a new shape: as a whole, or as a flat prefix of whole rows. An explicit valid_shape wins.
func (s *Site) reshapedValid(t ir.Type, shape []ir.Expr) ([]ir.Expr, *diag.Diagnostic) {
	if s.given(2) && s.Spec.Params[2].Name == "valid_shape" {
		valid := s.list(2)
		return valid, s.checkValid(2, valid, shape)
	}
	from, valid := ir.ShapeOf(t), validOf(t)
	if sameDims(from, valid) {
		return nil, nil
	}
	if len(shape) > 0 && len(from) > 0 && len(valid) == len(from) {
		if sameDims(from, shape) {
			return valid, nil
		}
		// The axis at which the region becomes partial must be the first that is not 1, the rest whole: then it is a prefix.
		lead := 0
		for lead < len(from)-1 && isInt(from[lead], 1) {
			lead++
		}
		if sameDims(from[lead+1:], valid[lead+1:]) {
			to := 0
			for to < len(shape)-1 && isInt(shape[to], 1) {
				to++
			}
			count := mulDim(valid[lead], product(from[lead+1:]))
			row := product(shape[to+1:])
			c, okC := ir.IntValue(count)
			r, okR := ir.IntValue(row)
			out := append([]ir.Expr(nil), shape...)
			switch {
			case sameDim(row, product(from[lead+1:])):
				out[to] = valid[lead]
				return out, nil
			case okC && okR && r > 0 && c%r == 0:
				out[to] = ir.Int(c / r)
				return out, nil
			}
		}
	}
	return nil, s.argError(CodeView, 0, "the valid region %s of %s cannot be expressed in the shape %s", shapeText(valid), typeText(t), shapeText(shape)).
		WithHint("give the new valid region explicitly, or fill the rest first with pl.fillpad")
}

func transposeRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t := s.Args[0].Type()
	if !isRegion(t) {
		return ir.Unknown, nil
	}
	rank := len(ir.ShapeOf(t))
	a, b, d := s.axes(rank)
	if d != nil {
		return nil, d
	}
	shape, valid := swapped(ir.ShapeOf(t), a, b), swapped(validOf(t), a, b)
	if s.given(3) && s.Spec.Params[3].Name == "valid_shape" {
		valid = s.list(3)
		if d := s.checkValid(3, valid, shape); d != nil {
			return nil, d
		}
	}
	tensor, ok := t.(*ir.TensorType)
	if !ok {
		tile := t.(*ir.TileType)
		return newTile(shape, tile.DType, tile.Mem, valid), nil
	}
	if tensor.DType.Bits() == 4 && (a == rank-1 || b == rank-1) {
		return nil, s.argError(CodePacked, 0, "the last axis of %s elements cannot be moved: two of them share a byte", tensor.DType.Name())
	}
	out := newTensor(shape, tensor.DType, valid)
	out.Distributed = tensor.Distributed
	trailing := a+b == 2*rank-3 // the last two axes
	switch {
	case trailing && isPacked(tensor) && layoutOf(tensor) == "ND":
		out.View = withLayout(out.View, "DN", nil)
	case trailing && isPacked(tensor) && layoutOf(tensor) == "DN":
		// packed again
	default:
		strides := swapped(stridesOf(tensor), a, b)
		if !sameDims(strides, packedStrides(shape)) {
			out.View = withLayout(out.View, "", strides)
		}
	}
	return out, nil
}

// axes gives the two normalised axes of a transpose, operands 1 and 2.
func (s *Site) axes(rank int) (a, b int, d *diag.Diagnostic) {
	if a, d = s.axisOf(1, rank, "axis1"); d != nil {
		return 0, 0, d
	}
	if b, d = s.axisOf(2, rank, "axis2"); d != nil {
		return 0, 0, d
	}
	if a == b {
		return 0, 0, s.argError(CodeBounds, 2, "axis1 and axis2 must be different, both are %d", a)
	}
	return min(a, b), max(a, b), nil
}

func swapped(es []ir.Expr, a, b int) []ir.Expr {
	out := append([]ir.Expr(nil), es...)
	out[a], out[b] = out[b], out[a]
	return out
}

func withLayout(v *ir.TensorView, layout string, strides []ir.Expr) *ir.TensorView {
	n := ir.TensorView{}
	if v != nil {
		n = *v
	}
	n.Layout, n.Stride = layout, strides
	return &n
}

// packedStrides are the row-major strides of a shape.
func packedStrides(shape []ir.Expr) []ir.Expr {
	out := make([]ir.Expr, len(shape))
	var step ir.Expr = ir.Int(1)
	for k := len(shape) - 1; k >= 0; k-- {
		out[k] = step
		if isInt(step, 1) {
			step = shape[k]
		} else {
			step = mulDim(step, shape[k])
		}
	}
	return out
}

// stridesOf gives the strides of a tensor: its own, or those that its layout implies.
func stridesOf(t *ir.TensorType) []ir.Expr {
	if !isPacked(t) {
		return t.View.Stride
	}
	n := len(t.Shape)
	if layoutOf(t) == "DN" && n >= 2 {
		return swapped(packedStrides(swapped(t.Shape, n-2, n-1)), n-2, n-1)
	}
	return packedStrides(t.Shape)
}

// viewRule: a shape view renumbers a packed tensor; a layout flip swaps the last two axes and toggles ND and DN.
func viewRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, ok := s.Args[0].Type().(*ir.TensorType)
	if !ok {
		return ir.Unknown, nil
	}
	layout := layoutOf(t)
	if v, ok := s.Kwargs.Get("layout"); ok {
		layout = v.(ir.Enum).Name
	}
	if layout == "NZ" {
		return nil, s.errorAt(CodeView, s.Pos, "tensor.view: a tensor cannot be viewed as NZ, which is a tile layout").WithHint("load it with target_memory=pl.Mem.Mat")
	}
	if !isPacked(t) {
		return nil, s.argError(CodeView, 0, "a view needs a packed tensor; %s has strides of its own", exprText(s.Args[0]))
	}
	flip := layout != layoutOf(t)
	if s.given(1) {
		if flip {
			return nil, s.argError(CodeView, 1, "cannot combine a new shape with a new layout (%s to %s)", layoutOf(t), layout).
				WithHint("take two steps: pl.tensor.view(x, shape) and then layout=")
		}
		if layout != "ND" {
			return nil, s.argError(CodeView, 1, "only supports shape reinterpret for ND layout, the tensor has %s", layout)
		}
		if isPartial(t) && !s.given(2) {
			return nil, s.argError(CodeView, 1, "%s is only valid in part: give valid_shape for the new shape", exprText(s.Args[0]))
		}
		return reshapeRule(s)
	}
	if !flip {
		return t, nil
	}
	n := len(t.Shape)
	if n < 2 {
		return nil, s.argError(CodeRank, 0, "a layout change needs at least 2 axes, got %s", typeText(t))
	}
	out := newTensor(swapped(t.Shape, n-2, n-1), t.DType, swapped(validOf(t), n-2, n-1))
	out.Distributed = t.Distributed
	if layout != "ND" {
		out.View = withLayout(out.View, layout, nil)
	}
	return out, nil
}

func transposeViewRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, ok := s.Args[0].Type().(*ir.TileType)
	if !ok {
		return ir.Unknown, nil
	}
	if d := s.wantRank(0, 2, 2); d != nil {
		return nil, d
	}
	return newTile(swapped(t.Shape, 0, 1), t.DType, t.Mem, swapped(validOf(t), 0, 1)), nil
}

// reinterpretRule: the last axis scales with the element width unless a shape is given.
func reinterpretRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t := s.Args[0].Type()
	if !isRegion(t) {
		return ir.Unknown, nil
	}
	from, to := ir.ElemDType(t), s.dtypeKw("dtype", ir.NoDType)
	shape := append([]ir.Expr(nil), ir.ShapeOf(t)...)
	scale := func(e ir.Expr) (ir.Expr, bool) {
		if v, ok := ir.IntValue(e); ok {
			bits := v * int64(from.Bits())
			return ir.Int(bits / int64(to.Bits())), bits%int64(to.Bits()) == 0
		}
		switch a, b := from.Bits(), to.Bits(); {
		case a == b:
			return e, true
		case a > b:
			return mulDim(e, ir.Int(int64(a/b))), true
		default:
			return binaryDim(ir.FloorDiv, e, ir.Int(int64(b/a))), true
		}
	}
	valid := append([]ir.Expr(nil), validOf(t)...)
	if n := len(shape) - 1; n >= 0 {
		var okShape, okValid bool
		shape[n], okShape = scale(shape[n])
		valid[n], okValid = scale(valid[n])
		if !okShape || !okValid {
			return nil, s.argError(CodeShape, 0, "the last axis of %s is no whole number of %s elements", typeText(t), to)
		}
	}
	if s.given(1) {
		want := s.list(1)
		if a, b := product(shape), product(want); dimsDiffer(a, b) {
			return nil, s.argError(CodeShape, 1, "%s as %s has %s elements, not %s", typeText(t), to, exprText(a), exprText(b))
		}
		if !sameDims(want, shape) {
			if isPartial(t) {
				return nil, s.argError(CodeView, 0, "%s is only valid in part and cannot take another shape", exprText(s.Args[0]))
			}
			shape, valid = want, nil
		}
	}
	if tile, ok := t.(*ir.TileType); ok {
		return newTile(shape, to, tile.Mem, valid), nil
	}
	return newTensor(shape, to, valid), nil
}
