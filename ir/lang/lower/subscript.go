package lower

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Subscripts: t[i, j] reads an element, t[a:b, :] is a window; on the left of an assignment they write.

// indices takes the index of a subscript apart.
func indices(x *syntax.Subscript) []syntax.Expr {
	if t, ok := x.Index.(*syntax.Tuple); ok && !t.Paren {
		return t.Elems
	}
	if t, ok := x.Index.(*syntax.Tuple); ok {
		return t.Elems
	}
	return []syntax.Expr{x.Index}
}

// subscript reads x[index].
func (b *body) subscript(x *syntax.Subscript) (ir.Expr, bool) {
	if e, ok, done := b.shapeSubscript(x); done {
		return e, ok
	}
	if b.closed(x) {
		v, ok := b.eval(x)
		if !ok {
			return nil, false
		}
		return b.fromValue(v, x)
	}
	if path := b.symbol(x.X); path != "" {
		b.errorf(CodeExpression, x, "%s[…] is a type, not a value", path).WithHint("types belong in annotations")
		return nil, false
	}
	base, ok := b.expr(x.X)
	if !ok {
		// Indices may have mistakes of their own.
		for _, i := range indices(x) {
			if _, isSlice := i.(*syntax.Slice); !isSlice {
				b.expr(i)
			}
		}
		return nil, false
	}
	switch t := base.Type().(type) {
	case *ir.TensorType:
		return b.window(x, base, t.Shape, true)
	case *ir.TileType:
		return b.window(x, base, t.Shape, false)
	case *ir.ArrayType:
		i, ok := b.arrayIndex(x, t)
		if !ok {
			return nil, false
		}
		return &ir.OpCall{Op: "array.get_element", Args: []ir.Expr{base, i}, Typ: ir.Scalar(t.DType), Pos: b.at(x)}, true
	case *ir.TupleType:
		idx := indices(x)
		if len(idx) != 1 {
			b.errorf(CodeSubscript, x, "a tuple takes one index")
			return nil, false
		}
		i, ok := b.expr(idx[0])
		if !ok {
			return nil, false
		}
		n, known := b.intValue(i)
		switch {
		case !known:
			b.errorf(CodeSubscript, idx[0], "the index of a tuple must be a compile-time integer")
		case n < 0 || n >= int64(len(t.Elems)):
			b.errorf(CodeSubscript, idx[0], "index %d is out of range for a tuple of %d", n, len(t.Elems))
		default:
			if mt, isMake := base.(*ir.MakeTuple); isMake {
				return mt.Elems[n], true
			}
			return &ir.TupleGet{X: base, Index: int(n), Pos: b.at(x)}, true
		}
		return nil, false
	case *ir.UnknownType:
		idx := indices(x)
		if len(idx) == 1 {
			if c, isConst := idx[0].(*syntax.Constant); isConst && c.Kind == syntax.Int {
				if i, ok := b.expr(c); ok {
					if n, known := ir.IntValue(i); known {
						return &ir.TupleGet{X: base, Index: int(n), Pos: b.at(x)}, true
					}
				}
			}
		}
		b.errorf(CodeSubscript, x, "the type of the subscripted value is not known").WithHint("annotate the assignment that defines it")
		return nil, false
	}
	b.errorf(CodeSubscript, x, "Subscript requires Tuple, Tensor, Tile, or Array, got %s", typeText(base.Type()))
	return nil, false
}

// shapeSubscript reads x.shape[i] of jit functions.
func (b *body) shapeSubscript(x *syntax.Subscript) (e ir.Expr, ok, done bool) {
	a, isAttr := x.X.(*syntax.Attribute)
	if !isAttr || a.Name != "shape" || b.mode != JIT {
		return nil, false, false
	}
	n, isName := a.X.(*syntax.Name)
	if !isName || b.names.lookup(n.ID) == nil {
		return nil, false, false
	}
	base, good := b.read(n)
	if !good {
		return nil, false, true
	}
	shape := ir.ShapeOf(base.Type())
	if len(shape) == 0 {
		return nil, false, false
	}
	i, good := b.expr(x.Index)
	if !good {
		return nil, false, true
	}
	v, known := b.intValue(i)
	if v < 0 {
		v += int64(len(shape))
	}
	if !known || v < 0 || v >= int64(len(shape)) {
		b.errorf(CodeSubscript, x, "%s.shape has %d extents; the index must be a compile-time integer below that", n.ID, len(shape))
		return nil, false, true
	}
	return b.dimOf(base, v, b.at(x)), true, true
}

func (b *body) arrayIndex(x *syntax.Subscript, t *ir.ArrayType) (ir.Expr, bool) {
	idx := indices(x)
	if len(idx) != 1 {
		b.errorf(CodeSubscript, x, "an array takes one index, got %d", len(idx))
		return nil, false
	}
	if _, isSlice := idx[0].(*syntax.Slice); isSlice {
		b.errorf(CodeSubscript, idx[0], "an array cannot be sliced").WithHint("read its elements one by one")
		return nil, false
	}
	i, ok := b.indexExpr(idx[0])
	if !ok {
		return nil, false
	}
	if n, known := b.intValue(i); known && (n < 0 || n >= t.Len) {
		b.errorf(CodeSubscript, idx[0], "index %d is out of range for an array of %d", n, t.Len)
		return nil, false
	}
	return i, true
}

// indexExpr reads an index: an integer scalar.
func (b *body) indexExpr(x syntax.Expr) (ir.Expr, bool) {
	e, ok := b.expr(x)
	if !ok {
		return nil, false
	}
	if t, isScalar := e.Type().(*ir.ScalarType); isUnknown(e.Type()) || isScalar && t.DType.IsInt() {
		return e, true
	}
	b.errorf(CodeSubscript, x, "an index must be an integer scalar, got %s", typeText(e.Type()))
	return nil, false
}

// region of a subscript: for each axis the offset and extent, and which axes a scalar index drops.
type slab struct {
	offsets, extents []ir.Expr
	dropped          []int64
	element          bool // every axis has a scalar index
}

// slab reads the indices of a subscript over a shape.
func (b *body) slab(x *syntax.Subscript, shape []ir.Expr, kind string) (slab, bool) {
	var s slab
	idx := indices(x)
	if len(idx) > len(shape) {
		b.errorf(CodeSubscript, x, "%d indices but the %s is %dD", len(idx), kind, len(shape))
		return s, false
	}
	ok := true
	s.element = len(idx) == len(shape)
	at := b.at(x)
	zero := func() ir.Expr { return &ir.ConstInt{Value: 0, DType: ir.INDEX, Pos: at} }
	for axis := range shape {
		if axis >= len(idx) {
			s.element = false
			s.offsets = append(s.offsets, zero())
			s.extents = append(s.extents, shape[axis])
			continue
		}
		switch i := idx[axis].(type) {
		case *syntax.Slice:
			s.element = false
			if i.Step != nil {
				b.errorf(CodeSubscript, i.Step, "a slice step is not supported")
				ok = false
				continue
			}
			lo, hi := zero(), shape[axis]
			good := true
			if i.Lo != nil {
				lo, good = b.indexExpr(i.Lo)
				ok = ok && good
			}
			if i.Hi != nil {
				var fine bool
				hi, fine = b.indexExpr(i.Hi)
				good = good && fine
				ok = ok && fine
			}
			if !good {
				continue
			}
			extent := hi
			if n, isLit := ir.IntValue(lo); !isLit || n != 0 {
				hn, ln := syntax.Node(i), syntax.Node(i)
				if i.Hi != nil {
					hn = i.Hi
				}
				if i.Lo != nil {
					ln = i.Lo
				}
				d, fine := b.binary(ir.Sub, hi, lo, hn, ln, i)
				if !fine {
					ok = false
					continue
				}
				extent = ir.Simplify(d)
			}
			if i.Lo == nil && i.Hi == nil {
				extent = shape[axis]
			}
			if n, known := ir.IntValue(extent); known {
				if n <= 0 {
					b.errorf(CodeSubscript, i, "the slice of axis %d is empty (%s)", axis, diag.Plural(int(n), "element"))
					ok = false
					continue
				}
				extent = &ir.ConstInt{Value: n, DType: ir.INDEX, Pos: b.at(i)}
			}
			s.offsets, s.extents = append(s.offsets, lo), append(s.extents, extent)
		default:
			e, good := b.indexExpr(i)
			if !good {
				ok = false
				continue
			}
			if n, known := b.intValue(e); known {
				if d, static := ir.IntValue(ir.Simplify(shape[axis])); n < 0 || static && n >= d {
					b.errorf(CodeSubscript, i, "index %d is out of range for axis %d of the %s", n, axis, kind).WithHint("negative indices are not supported")
					ok = false
					continue
				}
			}
			s.dropped = append(s.dropped, int64(axis))
			s.offsets = append(s.offsets, e)
			s.extents = append(s.extents, &ir.ConstInt{Value: 1, DType: ir.INDEX, Pos: at})
		}
	}
	return s, ok
}

// list makes a list operand.
func list(at diag.Span, elems ...ir.Expr) *ir.MakeTuple { return &ir.MakeTuple{Elems: elems, Pos: at} }

func intList(at diag.Span, values []int64) *ir.MakeTuple {
	t := &ir.MakeTuple{Pos: at}
	for _, v := range values {
		t.Elems = append(t.Elems, &ir.ConstInt{Value: v, DType: ir.INDEX, Pos: at})
	}
	return t
}

// window reads t[…] of a tensor or tile.
func (b *body) window(x *syntax.Subscript, base ir.Expr, shape []ir.Expr, tensor bool) (ir.Expr, bool) {
	kind := "tile"
	if tensor {
		kind = "tensor"
	}
	s, ok := b.slab(x, shape, kind)
	if !ok {
		return nil, false
	}
	at := b.at(x)
	if s.element {
		return b.makeOp(at, kind+".read", base, list(at, s.offsets...))
	}
	extents, valid := s.extents, []ir.Expr(nil)
	if !tensor {
		// A tile is allocated: its extents are static, what is not becomes the valid region.
		extents = slices.Clone(extents)
		dynamic := false
		for i, e := range extents {
			if _, static := ir.IntValue(e); static {
				continue
			}
			bound, static := ir.IntValue(ir.Simplify(shape[i]))
			if _, fixed := ir.IntValue(s.offsets[i]); !fixed || !static {
				b.errorf(CodeSubscript, x, "Dynamic lower bounds of a tile slice need a constant extent on axis %d", i).
					WithHint("write t[i : i + 16]")
				return nil, false
			}
			lo, _ := ir.IntValue(s.offsets[i])
			extents[i] = &ir.ConstInt{Value: bound - lo, DType: ir.INDEX, Pos: at}
			dynamic = true
		}
		if dynamic {
			valid = s.extents
		}
	}
	if !tensor && len(extents)-len(s.dropped) < 2 {
		// Tiles have at least two axes: keep as many of the dropped ones as that takes.
		keep := 2 - (len(extents) - len(s.dropped))
		if keep > len(s.dropped) {
			keep = len(s.dropped)
		}
		s.dropped = s.dropped[:len(s.dropped)-keep]
		b.u.warnf(CodeSubscript, at, "a tile has at least two axes: the slice keeps %d axis of extent 1", keep)
	}
	return b.makeOp(at, kind+".slice", base, list(at, extents...), list(at, s.offsets...), list(at, valid...), intList(at, s.dropped))
}

// makeOp builds an op call for sugar.
func (b *body) makeOp(at diag.Span, op string, args ...ir.Expr) (ir.Expr, bool) {
	c, d := b.u.opt.Ops.Call(at, op, args, nil)
	if d != nil {
		if !d.Span.IsValid() {
			d.Span = at
		}
		b.u.report(d)
		return nil, false
	}
	return c, b.placed(c)
}

// subscriptWrite reads `dst[index] = src`.
func (b *body) subscriptWrite(t *syntax.Subscript, value syntax.Expr) {
	comments := b.take()
	n, ok := t.X.(*syntax.Name)
	if !ok {
		d := b.errorf(CodeSubscript, t.X, "the target of a subscript assignment must be a plain name")
		if _, chained := t.X.(*syntax.Subscript); chained {
			d.WithHint("write all indices in one subscript: a[i, j] = …")
		}
		b.expr(value)
		return
	}
	if b.fn.decl.strictSSA || b.u.strictSSA {
		b.errorf(CodeSSA, t, "a subscript assignment assigns '%s' again, but the function is strict_ssa", n.ID)
		return
	}
	base, ok := b.read(n)
	src, good := b.expr(value)
	if !ok {
		return
	}
	dst, isVar := base.(*ir.Var)
	if !isVar {
		b.errorf(CodeSubscript, n, "'%s' is a constant and cannot be written to", n.ID)
		return
	}
	set := func(e ir.Expr) {
		if b.names.lookup(n.ID).expr == ir.Expr(dst) {
			delete(b.producers, dst)
		}
		b.emit(&ir.Assign{Var: dst, Value: e, Comments: comments, Pos: b.spanOf(t, value)})
	}
	switch dt := dst.Typ.(type) {
	case *ir.ArrayType:
		i, fine := b.arrayIndex(t, dt)
		if !fine || !good {
			return
		}
		src = b.toParam(src, dt.DType)
		if s, isScalar := src.Type().(*ir.ScalarType); !isUnknown(src.Type()) && (!isScalar || category(s.DType) != category(dt.DType)) {
			b.errorf(CodeSubscript, value, "an element of '%s' is %s, got %s", n.ID, dt.DType, typeText(src.Type()))
			return
		}
		if c, lit := src.(*ir.ConstInt); lit && c.DType != dt.DType { // also one that a name stands for
			src = &ir.ConstInt{Value: c.Value, DType: dt.DType, Pos: c.Pos}
		}
		set(&ir.OpCall{Op: "array.update_element", Args: []ir.Expr{dst, i, src}, Typ: dt, Pos: b.spanOf(t, value)})
	case *ir.TensorType:
		if e, fine := b.assembled(t, dst, dt.Shape, src, value, good, "tensor"); fine {
			set(e)
		}
	case *ir.TileType:
		if e, fine := b.assembled(t, dst, dt.Shape, src, value, good, "tile"); fine {
			set(e)
		}
	default:
		b.errorf(CodeSubscript, t, "Subscript requires Tuple, Tensor, Tile, or Array, got %s", typeText(dst.Typ))
	}
}

// assembled gives the op that writes src into a window of dst.
func (b *body) assembled(t *syntax.Subscript, dst *ir.Var, shape []ir.Expr, src ir.Expr, value syntax.Expr, good bool, kind string) (ir.Expr, bool) {
	s, ok := b.slab(t, shape, kind)
	if !ok || !good {
		return nil, false
	}
	at := b.spanOf(t, value)
	if s.element {
		d := b.errorf(CodeSubscript, t, "Element-write to a %s is not an assignment", kind)
		if kind == "tensor" {
			d.WithHint("use pl.write(%s, [i, …], value)", dst.Hint)
		} else {
			d.WithHint("use pl.tile.write(%s, [i, …], value)", dst.Hint)
		}
		return nil, false
	}
	if isUnknown(src.Type()) {
		return b.makeOp(at, kind+".assemble", dst, src, list(at, s.offsets...))
	}
	got := ir.ShapeOf(src.Type())
	if got == nil {
		b.errorf(CodeSubscript, value, "the source of a subscript assignment must be a Tensor or Tile, got %s", typeText(src.Type()))
		return nil, false
	}
	// The source has the axes that the index does not drop.
	var want []ir.Expr
	for i, e := range s.extents {
		if !slices.Contains(s.dropped, int64(i)) {
			want = append(want, e)
		}
	}
	if len(got) != len(want) && len(got) != len(s.extents) {
		b.errorf(CodeSubscript, value, "the source must be %dD to match the subscript, got %s", len(want), typeText(src.Type()))
		return nil, false
	}
	if len(got) == len(s.extents) {
		want = s.extents
	}
	for i := range want {
		x, k1 := ir.IntValue(ir.Simplify(want[i]))
		y, k2 := ir.IntValue(ir.Simplify(got[i]))
		if k1 && k2 && x != y {
			b.errorf(CodeSubscript, value, "shape mismatch on source axis %d: the subscript selects %d elements, the source has %d", i, x, y)
			return nil, false
		}
	}
	if len(got) != len(s.extents) {
		_, fromTile := src.Type().(*ir.TileType)
		op := "tensor.reshape"
		if fromTile {
			op = "tile.reshape"
		}
		r, ok := b.makeOp(at, op, src, list(at, s.extents...))
		if !ok {
			return nil, false
		}
		src = r
	}
	if _, fromTile := src.Type().(*ir.TileType); fromTile && kind == "tensor" {
		return b.makeOp(at, "tile.store", src, list(at, s.offsets...), dst)
	}
	return b.makeOp(at, kind+".assemble", dst, src, list(at, s.offsets...))
}
