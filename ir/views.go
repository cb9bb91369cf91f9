package ir

// Default views (spec: dsl-ir 2.4). A type without a view and a type whose view states the defaults describe the same thing; what a field left empty
// means is decided here alone.

// EffectiveTensorView returns the view of t with all defaults filled in except strides, which are nil for a packed tensor, whether its view states them or not.
func EffectiveTensorView(t *TensorType) TensorView {
	var v TensorView
	if t.View != nil {
		v = *t.View
	}
	if len(v.ValidShape) == 0 {
		v.ValidShape = t.Shape
	}
	if v.Layout == "" {
		v.Layout = "ND"
	}
	if v.Pad == "" {
		v.Pad = "null"
	}
	if v.Layout == "ND" && packed(t.Shape, v.Stride) {
		v.Stride = nil
	}
	return v
}

// packed reports literal strides that are those of a row-major tensor without gaps; the first extent may be anything.
func packed(shape, stride []Expr) bool {
	if len(stride) == 0 || len(stride) != len(shape) {
		return false
	}
	want := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if s, ok := IntValue(stride[i]); !ok || s != want {
			return false
		}
		if i == 0 {
			break
		}
		extent, ok := IntValue(shape[i])
		if !ok {
			return false
		}
		want *= extent
	}
	return true
}

// EffectiveTileView returns the view of t with all defaults of (shape, memory) filled in except strides and start offset.
func EffectiveTileView(t *TileType) TileView {
	var v TileView
	if t.View != nil {
		v = *t.View
	}
	if len(v.ValidShape) == 0 {
		v.ValidShape = t.Shape
	}
	b, s, fractal := implicitLayout(t)
	if v.BLayout == "" {
		v.BLayout = b
	}
	if v.SLayout == "" {
		v.SLayout = s
	}
	if v.Fractal == 0 {
		v.Fractal = fractal
	}
	if v.Pad == "" {
		v.Pad = "null"
	}
	if v.Compact == "" {
		v.Compact = "null"
	}
	return v
}

func implicitLayout(t *TileType) (blayout, slayout string, fractal int64) {
	switch t.Mem {
	case Mat, Left:
		return "col_major", "row_major", 512
	case Right:
		return "row_major", "col_major", 512
	case Acc:
		return "col_major", "row_major", 1024
	case LeftScale:
		return "row_major", "row_major", 32
	case RightScale:
		return "col_major", "col_major", 32
	}
	if len(t.Shape) == 2 {
		rows, ok := IntValue(t.Shape[0])
		cols, _ := IntValue(t.Shape[1])
		if ok && rows > 1 && cols == 1 {
			return "col_major", "none_box", 512
		}
	}
	return "row_major", "none_box", 512
}
