package lower

import (
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Types of values compared with what was written.

func typeText(t ir.Type) string {
	if isUnknown(t) {
		return "a value of unknown type"
	}
	return ir.PrintType(t)
}

func kindName(t ir.Type) string {
	switch t := t.(type) {
	case *ir.ScalarType:
		if t.DType == ir.TASK_ID {
			return "TaskId"
		}
		return "Scalar"
	case *ir.TensorType:
		return "Tensor"
	case *ir.TileType:
		return "Tile"
	case *ir.ArrayType:
		return "Array"
	case *ir.TupleType:
		return "Tuple"
	case *ir.OpaqueType:
		return t.Name
	}
	return "value of unknown type"
}

// mismatch says in words how got differs from want; "" when a value of got may be called want.
func (b *body) mismatch(got, want ir.Type) string {
	if isUnknown(got) || isUnknown(want) || got == nil || want == nil {
		return ""
	}
	if g, w := kindName(got), kindName(want); g != w {
		return fmt.Sprintf("%s (%s) vs %s (%s)", g, typeText(got), w, typeText(want))
	}
	switch w := want.(type) {
	case *ir.TupleType:
		g := got.(*ir.TupleType)
		if len(g.Elems) != len(w.Elems) {
			return fmt.Sprintf("%d elements vs %d", len(g.Elems), len(w.Elems))
		}
		for i := range w.Elems {
			if d := b.mismatch(g.Elems[i], w.Elems[i]); d != "" {
				return fmt.Sprintf("element %d: %s", i, d)
			}
		}
		return ""
	case *ir.ArrayType:
		if g := got.(*ir.ArrayType); g.Len != w.Len {
			return fmt.Sprintf("length %d vs %d", g.Len, w.Len)
		}
	case *ir.OpaqueType:
		return ""
	}
	if g, w := ir.ElemDType(got), ir.ElemDType(want); g != w {
		_, scalar := got.(*ir.ScalarType)
		if !(scalar && (g == ir.INDEX && w.IsInt() || g == ir.INT64 && w == ir.INDEX)) {
			return fmt.Sprintf("dtype %s vs %s", g, w)
		}
	}
	gs, ws := ir.ShapeOf(got), ir.ShapeOf(want)
	if len(gs) != len(ws) {
		return fmt.Sprintf("rank %d vs rank %d", len(gs), len(ws))
	}
	if axis, x, y, differ := staticDims(got, want); differ {
		return fmt.Sprintf("shape dimension %d = %d ≠ %d", axis, x, y)
	}
	return ""
}

// annotate checks a value against the annotation of its variable and gives it the type that results (spec: dsl-ir 1.3).
func (b *body) annotate(e ir.Expr, want ir.Type, at syntax.Node) (ir.Expr, bool) {
	got := e.Type()
	if s, ok := want.(*ir.ScalarType); ok {
		switch c := e.(type) {
		case *ir.ConstInt:
			if b.isUntyped(c) && (s.DType.IsInt() || s.DType.IsFloat()) {
				return b.toDType(c, s.DType, c.Pos), true
			}
		case *ir.ConstFloat:
			if b.isUntyped(c) && s.DType.IsFloat() {
				return b.toDType(c, s.DType, c.Pos), true
			}
		}
	}
	if d := b.mismatch(got, want); d != "" {
		if _, isArray := want.(*ir.ArrayType); !isArray || b.mode != Dump {
			b.errorf(CodeAnnotated, at, "the annotation does not match the value: %s", d).
				WithHint("the value is %s", typeText(got))
			return nil, false
		}
	}
	return retype(e, merged(got, want)), true
}

// merged is the type of a value of type got under the annotation want.
func merged(got, want ir.Type) ir.Type {
	switch w := want.(type) {
	case *ir.TensorType:
		if g, ok := got.(*ir.TensorType); !ok || w.View != nil || w.MemRef != nil || g.MemRef != nil || g.View != nil && w.View == nil {
			if ok && w.View == nil && w.MemRef == nil {
				return got
			}
			return want
		}
		return got
	case *ir.TileType:
		g, ok := got.(*ir.TileType)
		if !ok {
			return want
		}
		if w.Mem == ir.MemUnset && w.View == nil && w.MemRef == nil {
			return got
		}
		c := *g
		if w.Mem != ir.MemUnset {
			c.Mem = w.Mem
		}
		if w.View != nil {
			c.View = w.View
		}
		if w.MemRef != nil {
			c.MemRef = w.MemRef
		}
		return &c
	case *ir.ScalarType:
		if g, ok := got.(*ir.ScalarType); ok && (g.DType == w.DType || g.DType != ir.INDEX) {
			return got
		}
		return want
	}
	if isUnknown(want) {
		return got
	}
	return want
}

// retype gives an expression another type where the node has room for one.
func retype(e ir.Expr, t ir.Type) ir.Expr {
	if e.Type() == t {
		return e
	}
	switch e := e.(type) {
	case *ir.OpCall:
		c := *e
		c.Typ = t
		return &c
	case *ir.Call:
		c := *e
		c.Typ = t
		return &c
	case *ir.ConstInt:
		if s, ok := t.(*ir.ScalarType); ok {
			return &ir.ConstInt{Value: e.Value, DType: s.DType, Pos: e.Pos}
		}
	default:
		if s, ok := t.(*ir.ScalarType); ok && s.DType.Bits() < 64 {
			return &ir.Cast{X: e, DType: s.DType, Pos: e.Span()}
		}
	}
	return e
}
