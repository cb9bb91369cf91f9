package ops

import "github.com/ptobuild/ptobuild/ir"

// Extents are index expressions. The helpers here fold constants and know equal things as equal; what they cannot decide they leave
// symbolic, and rules reject only what is provably wrong.

func sameDim(a, b ir.Expr) bool {
	if a == b {
		return true
	}
	x, okx := ir.IntValue(a)
	y, oky := ir.IntValue(b)
	if okx && oky {
		return x == y
	}
	if okx || oky { // a constant against something that did not fold
		return false
	}
	return ir.ProveEqual(a, b)
}

func sameDims(a, b []ir.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameDim(a[i], b[i]) {
			return false
		}
	}
	return true
}

// dimsDiffer reports extents that are certainly different.
func dimsDiffer(a, b ir.Expr) bool {
	x, okx := ir.IntValue(a)
	y, oky := ir.IntValue(b)
	return okx && oky && x != y
}

func isInt(e ir.Expr, v int64) bool { c, ok := ir.IntValue(e); return ok && c == v }

func binaryDim(op ir.BinOp, a, b ir.Expr) ir.Expr {
	return ir.Simplify(&ir.Binary{Op: op, X: a, Y: b, DType: ir.INDEX, Pos: a.Span()})
}

func addDim(a, b ir.Expr) ir.Expr { return binaryDim(ir.Add, a, b) }
func subDim(a, b ir.Expr) ir.Expr {
	if isInt(b, 0) {
		return a
	}
	return binaryDim(ir.Sub, a, b)
}
func mulDim(a, b ir.Expr) ir.Expr { return binaryDim(ir.Mul, a, b) }

func minDim(a, b ir.Expr) ir.Expr {
	if sameDim(a, b) {
		return a
	}
	return binaryDim(ir.Min, a, b)
}

// clampDim is max(min(a, b), 0): what of a wanted extent a is left of b.
func clampDim(a, b ir.Expr) ir.Expr {
	m := minDim(a, b)
	if v, ok := ir.IntValue(m); ok {
		return ir.Int(max(v, 0))
	}
	if sameDim(m, a) {
		return a
	}
	return binaryDim(ir.Max, m, ir.Int(0))
}

// product is the number of elements of a shape.
func product(shape []ir.Expr) ir.Expr {
	var p ir.Expr = ir.Int(1)
	for _, d := range shape {
		if isInt(p, 1) {
			p = d
		} else if !isInt(d, 1) {
			p = mulDim(p, d)
		}
	}
	return p
}

// validOf is the valid region of a tensor or tile: its shape when nothing else is said.
func validOf(t ir.Type) []ir.Expr {
	switch t := t.(type) {
	case *ir.TensorType:
		if t.View != nil && t.View.ValidShape != nil {
			return t.View.ValidShape
		}
		return t.Shape
	case *ir.TileType:
		if t.View != nil && t.View.ValidShape != nil {
			return t.View.ValidShape
		}
		return t.Shape
	}
	return nil
}

// isPartial reports a type whose valid region is not its whole shape.
func isPartial(t ir.Type) bool { return !sameDims(validOf(t), ir.ShapeOf(t)) }

// newTensor makes a packed tensor type; a valid region equal to the shape is not kept.
func newTensor(shape []ir.Expr, d ir.DType, valid []ir.Expr) *ir.TensorType {
	t := &ir.TensorType{Shape: shape, DType: d}
	if valid != nil && !sameDims(valid, shape) {
		t.View = &ir.TensorView{ValidShape: valid}
	}
	return t
}

// newTile makes a tile type with the implicit layout of its shape and memory space.
func newTile(shape []ir.Expr, d ir.DType, mem ir.Mem, valid []ir.Expr) *ir.TileType {
	t := &ir.TileType{Shape: shape, DType: d, Mem: mem}
	if valid != nil && !sameDims(valid, shape) {
		t.View = &ir.TileView{ValidShape: valid}
	}
	return t
}

// like makes a type of the same kind as t (tensor, or tile in the op's result memory) with another shape, dtype and valid region.
func (s *Site) like(t ir.Type, shape []ir.Expr, d ir.DType, valid []ir.Expr) ir.Type {
	if tile, ok := t.(*ir.TileType); ok {
		return newTile(shape, d, s.resultMem(tile), valid)
	}
	return newTensor(shape, d, valid)
}

// resultMem is the memory space of the op's tile result; first is the operand it may inherit from.
func (s *Site) resultMem(first *ir.TileType) ir.Mem {
	switch s.Spec.ResultMemFrom {
	case MemInherit:
		if first != nil {
			return first.Mem
		}
	case MemKwarg:
		if v, ok := s.Kwargs.Get("target_memory"); ok {
			if e, ok := v.(ir.Enum); ok {
				return ir.Mem(e.Name)
			}
		}
	}
	return s.Spec.ResultMem
}
