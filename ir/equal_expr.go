package ir

import (
	"math"
	"slices"
)

func (d *differ) exprs(what string, a, b []Expr) bool {
	for i := range min(len(a), len(b)) {
		if !d.expr(a[i], b[i]) {
			return d.at("%s %d", what, i+1)
		}
	}
	return len(a) == len(b) || d.fail("%d vs %d (%s)", len(a), len(b), what)
}

func (d *differ) expr(a, b Expr) bool {
	if a == b && (d.same || a == nil) {
		return true
	}
	if a == nil || b == nil {
		return d.fail("%s vs %s", exprText(a), exprText(b))
	}
	switch a := a.(type) {
	case *Var:
		if b, ok := b.(*Var); ok {
			return d.bind(a, b)
		}
	case *ConstInt:
		if b, ok := b.(*ConstInt); ok && a.Value == b.Value && a.DType == b.DType {
			return true
		}
	case *ConstFloat:
		// By bits: NaN equals itself, 0.0 is not -0.0.
		if b, ok := b.(*ConstFloat); ok && a.DType == b.DType && math.Float64bits(a.Value) == math.Float64bits(b.Value) {
			return true
		}
	case *ConstBool:
		if b, ok := b.(*ConstBool); ok && a.Value == b.Value {
			return true
		}
	case *Binary:
		if b, ok := b.(*Binary); ok && a.Op == b.Op {
			return diffValue(d, "dtype", a.DType, b.DType) && d.expr(a.X, b.X) && d.expr(a.Y, b.Y)
		}
	case *Unary:
		if b, ok := b.(*Unary); ok && a.Op == b.Op {
			return diffValue(d, "dtype", a.DType, b.DType) && d.expr(a.X, b.X)
		}
	case *Cast:
		if b, ok := b.(*Cast); ok {
			return diffValue(d, "cast to", a.DType, b.DType) && d.expr(a.X, b.X)
		}
	case *MakeTuple:
		if b, ok := b.(*MakeTuple); ok {
			return d.exprs("element", a.Elems, b.Elems)
		}
	case *TupleGet:
		if b, ok := b.(*TupleGet); ok {
			return diffValue(d, "element", a.Index, b.Index) && d.expr(a.X, b.X)
		}
	case *OpCall:
		if b, ok := b.(*OpCall); ok && a.Op == b.Op {
			return d.exprs("operand", a.Args, b.Args) && d.kwargs(a.Kwargs, b.Kwargs) && d.exprs("deps entry", a.Deps, b.Deps) &&
				d.attrs(a.Attrs, b.Attrs) && d.typ(a.Typ, b.Typ) || d.at("%s", a.Op)
		}
	case *Call:
		if b, ok := b.(*Call); ok && a.Callee == b.Callee {
			return d.call(a, b) || d.at("call of %s", a.Callee)
		}
	}
	return d.fail("%s vs %s", d.short(a), d.short(b))
}

func (d *differ) call(a, b *Call) bool {
	return diffValue(d, "submit", a.Submit, b.Submit) && d.exprs("argument", a.Args, b.Args) && d.launch(&a.Launch, &b.Launch) &&
		(slices.Equal(a.NoDep, b.NoDep) || d.fail("no_dep arguments %v vs %v", a.NoDep, b.NoDep)) &&
		(slices.Equal(a.Dirs, b.Dirs) || d.fail("argument directions %v vs %v", a.Dirs, b.Dirs)) &&
		d.vars("compiler edges", a.CompilerDeps, b.CompilerDeps) && (d.expr(a.Device, b.Device) || d.at("device")) &&
		d.attrs(a.Attrs, b.Attrs) && d.typ(a.Typ, b.Typ)
}

// short is the text of one side of a difference.
func (d *differ) short(e Expr) string {
	if d.quiet {
		return ""
	}
	return exprText(e)
}

func exprText(e Expr) string {
	if e == nil {
		return "nothing"
	}
	s := PrintExpr(e)
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

func (d *differ) kwargs(a, b Kwargs) bool {
	for i := range min(len(a), len(b)) {
		if !diffValue(d, "keyword", a[i].Name, b[i].Name) {
			return false
		}
		if !d.value(a[i].Value, b[i].Value) {
			return d.at("keyword %s", a[i].Name)
		}
	}
	return d.count("keywords", len(a), len(b))
}

func (d *differ) attrs(a, b Attrs) bool {
	for i := range min(len(a), len(b)) {
		if !diffValue(d, "attribute", a[i].Key, b[i].Key) {
			return false
		}
		if !d.value(a[i].Value, b[i].Value) {
			return d.at("attribute %s", a[i].Key)
		}
	}
	return d.count("attributes", len(a), len(b))
}

// value compares the values of keywords and attributes. Empty lists of any kind are equal: text does not tell them apart.
func (d *differ) value(a, b any) bool {
	switch a := a.(type) {
	case Expr:
		if b, ok := b.(Expr); ok {
			return d.expr(a, b)
		}
	case []Expr:
		if b, ok := b.([]Expr); ok {
			return d.exprs("entry", a, b)
		}
	case []int64:
		if b, ok := b.([]int64); ok {
			return slices.Equal(a, b) || d.fail("%v vs %v", a, b)
		}
	case []string:
		if b, ok := b.([]string); ok {
			return slices.Equal(a, b) || d.fail("%q vs %q", a, b)
		}
	case float64:
		if b, ok := b.(float64); ok {
			return math.Float64bits(a) == math.Float64bits(b) || d.fail("%v vs %v", a, b)
		}
	default:
		return isPlain(a) && a == b || d.fail("%v vs %v", a, b)
	}
	return isEmptyList(a) && isEmptyList(b) || d.fail("%v vs %v", a, b)
}

// isPlain reports a value that == may compare.
func isPlain(v any) bool {
	switch v.(type) {
	case nil, int64, bool, string, DType, Enum:
		return true
	}
	return false
}

func isEmptyList(v any) bool {
	switch v := v.(type) {
	case []Expr:
		return len(v) == 0
	case []int64:
		return len(v) == 0
	case []string:
		return len(v) == 0
	}
	return false
}

func (d *differ) typ(a, b Type) bool {
	if a == b && d.same {
		return true
	}
	switch a := a.(type) {
	case *ScalarType:
		if b, ok := b.(*ScalarType); ok {
			return diffValue(d, "scalar", a.DType, b.DType)
		}
	case *TensorType:
		if b, ok := b.(*TensorType); ok && a.Distributed == b.Distributed {
			return diffValue(d, "dtype", a.DType, b.DType) && (d.dims(a.Shape, b.Shape) || d.at("shape")) && d.tensorView(a, b) && d.memRef(a.MemRef, b.MemRef)
		}
	case *TileType:
		if b, ok := b.(*TileType); ok {
			return diffValue(d, "dtype", a.DType, b.DType) && (d.dims(a.Shape, b.Shape) || d.at("shape")) && diffValue(d, "memory", a.Mem, b.Mem) &&
				d.tileView(a, b) && d.memRef(a.MemRef, b.MemRef)
		}
	case *ArrayType:
		if b, ok := b.(*ArrayType); ok {
			return *a == *b || d.fail("type %s vs %s", PrintType(a), PrintType(b))
		}
	case *TupleType:
		if b, ok := b.(*TupleType); ok {
			if !d.count("tuple elements", len(a.Elems), len(b.Elems)) {
				return false
			}
			for i := range a.Elems {
				if !d.typ(a.Elems[i], b.Elems[i]) {
					return d.at("element %d", i)
				}
			}
			return true
		}
	case *OpaqueType:
		if b, ok := b.(*OpaqueType); ok {
			return diffValue(d, "type", a.Name, b.Name)
		}
	case *UnknownType, nil:
		switch b.(type) {
		case *UnknownType, nil:
			return true
		}
	}
	if d.quiet {
		return false
	}
	return d.fail("type %s vs %s", PrintType(a), PrintType(b))
}

func (d *differ) dims(a, b []Expr) bool {
	if !d.count("axes", len(a), len(b)) {
		return false
	}
	for i := range a {
		if !d.dim(a[i], b[i]) {
			return d.at("axis %d", i)
		}
	}
	return true
}

// dim compares extents, offsets and strides. Literals count by value only.
func (d *differ) dim(a, b Expr) bool {
	if va, ok := IntValue(a); ok {
		if vb, ok := IntValue(b); ok {
			return va == vb || d.fail("%d vs %d", va, vb)
		}
	}
	if d.noMemRef {
		return ProveEqual(a, b) || d.fail("%s vs %s", d.short(a), d.short(b))
	}
	return d.expr(a, b)
}

func (d *differ) tensorView(a, b *TensorType) bool {
	va, vb := EffectiveTensorView(a), EffectiveTensorView(b)
	return (d.dims(va.ValidShape, vb.ValidShape) || d.at("valid_shape")) && (d.dims(va.Stride, vb.Stride) || d.at("stride")) &&
		diffValue(d, "layout", va.Layout, vb.Layout) && diffValue(d, "pad", va.Pad, vb.Pad)
}

func (d *differ) tileView(a, b *TileType) bool {
	va, vb := EffectiveTileView(a), EffectiveTileView(b)
	return (d.dims(va.ValidShape, vb.ValidShape) || d.at("valid_shape")) && (d.dims(va.Stride, vb.Stride) || d.at("stride")) &&
		(d.dim(va.StartOffset, vb.StartOffset) || d.at("start_offset")) && diffValue(d, "blayout", va.BLayout, vb.BLayout) &&
		diffValue(d, "slayout", va.SLayout, vb.SLayout) && diffValue(d, "fractal", va.Fractal, vb.Fractal) && diffValue(d, "pad", va.Pad, vb.Pad) &&
		diffValue(d, "compact", va.Compact, vb.Compact)
}

func (d *differ) memRef(a, b *MemRef) bool {
	if d.noMemRef {
		return true
	}
	if (a == nil) != (b == nil) {
		return d.fail("storage only on one side")
	}
	if a == nil {
		return true
	}
	return (diffValue(d, "name", a.Name, b.Name) && d.bind(a.Base, b.Base) && d.dim(offset(a.ByteOffset), offset(b.ByteOffset)) &&
		diffValue(d, "size", a.Size, b.Size) && diffValue(d, "slots", max(a.Slots, 1), max(b.Slots, 1)) && d.dim(a.Slot, b.Slot)) || d.at("storage")
}

// offset is a byte offset, 0 when absent.
func offset(e Expr) Expr {
	if e == nil {
		return Int(0)
	}
	return e
}
