package ir

import (
	"cmp"
	"strconv"
	"strings"
)

func (p *printer) types(ts []Type) {
	for i, t := range ts {
		if i > 0 {
			p.w(", ")
		}
		p.typ(t)
	}
}

// typ writes a type annotation.
func (p *printer) typ(t Type) {
	switch t := t.(type) {
	case *ScalarType:
		p.w("pl.Scalar[", dtypeText(t.DType), "]")
	case *TensorType:
		if t.Distributed {
			p.w("pld.DistributedTensor[")
		} else {
			p.w("pl.Tensor[")
		}
		p.dims(t.Shape)
		p.w(", ", dtypeText(t.DType))
		if t.View != nil {
			p.w(", ")
			p.tensorView(t.View)
		}
		if t.MemRef != nil {
			p.w(", ")
			p.memRef(t.MemRef)
		}
		p.w("]")
	case *TileType:
		p.w("pl.Tile[")
		p.dims(t.Shape)
		p.w(", ", dtypeText(t.DType))
		if t.MemRef != nil {
			p.w(", ")
			p.memRef(t.MemRef)
		}
		if t.Mem != MemUnset {
			p.w(", pl.Mem.", string(t.Mem))
		}
		if t.View != nil {
			p.w(", ")
			p.tileView(t.View)
		}
		p.w("]")
	case *ArrayType:
		p.w("pl.Array[", strconv.FormatInt(t.Len, 10), ", ", dtypeText(t.DType), "]")
	case *TupleType:
		if len(t.Elems) == 0 {
			p.w("pl.Tuple[()]")
			return
		}
		p.w("pl.Tuple[")
		p.types(t.Elems)
		p.w("]")
	case *OpaqueType:
		p.w(opaqueText(t.Name))
	default:
		p.w("pl.UnknownType")
	}
}

// distributedTypes are the opaque types that live in the pld namespace.
var distributedTypes = map[string]bool{"WindowBufferType": true, "CommCtxType": true}

// opaqueText is the spelling of an opaque type.
func opaqueText(name string) string {
	switch {
	case name == "CommCtx":
		return "pld.CommCtxType"
	case strings.Contains(name, "."):
		return name
	case distributedTypes[name]:
		return "pld." + name
	}
	return "pl." + name
}

func dtypeText(d DType) string {
	if !d.IsValid() {
		return "pl.NO_DTYPE"
	}
	return "pl." + d.Name()
}

// dims writes a list of extents: integer literals stand bare whatever their dtype.
func (p *printer) dims(es []Expr) {
	p.w("[")
	for i, e := range es {
		if i > 0 {
			p.w(", ")
		}
		p.dim(e)
	}
	p.w("]")
}

func (p *printer) dim(e Expr) {
	if c, ok := e.(*ConstInt); ok {
		p.w(strconv.FormatInt(c.Value, 10))
		return
	}
	p.expr(e, precLowest, false)
}

func (p *printer) tensorView(v *TensorView) {
	p.w("pl.TensorView(")
	it := items{p: p}
	p.dimsArg(&it, "valid_shape", v.ValidShape)
	stride, layout := v.Stride, v.Layout
	if p.opt.Derived {
		stride, layout = append([]Expr{}, stride...), cmp.Or(layout, "ND")
	}
	p.dimsArg(&it, "stride", stride)
	enumArg(&it, "layout", "pl.TensorLayout.", layout)
	enumArg(&it, "pad", "pl.PadValue.", v.Pad)
	p.w(")")
}

func (p *printer) tileView(v *TileView) {
	p.w("pl.TileView(")
	it := items{p: p}
	p.dimsArg(&it, "valid_shape", v.ValidShape)
	p.dimsArg(&it, "stride", v.Stride)
	if v.StartOffset != nil {
		it.next("start_offset=")
		p.dim(v.StartOffset)
	}
	enumArg(&it, "blayout", "pl.TileLayout.", v.BLayout)
	enumArg(&it, "slayout", "pl.TileLayout.", v.SLayout)
	if v.Fractal != 0 {
		it.next("fractal=", strconv.FormatInt(v.Fractal, 10))
	}
	enumArg(&it, "pad", "pl.PadValue.", v.Pad)
	enumArg(&it, "compact", "pl.CompactMode.", v.Compact)
	p.w(")")
}

func (p *printer) dimsArg(it *items, name string, es []Expr) {
	if es != nil {
		it.next(name, "=")
		p.dims(es)
	}
}

func enumArg(it *items, name, prefix, value string) {
	if value != "" {
		it.next(name, "=", prefix, value)
	}
}

// memRef writes a declared allocation by its name, a resolved one by its base: a bare name when the body of this function defines it.
func (p *printer) memRef(m *MemRef) {
	p.w("pl.MemRef(")
	it := items{p: p}
	switch {
	case m.Base == nil:
		it.next(quote(m.Name, '"'))
	case p.defined[m.Base] && !p.sig:
		it.next(p.name(m.Base))
	default:
		it.next(quote(strings.TrimSuffix(p.name(m.Base), freeSuffix), '"'))
	}
	if m.Base != nil || m.ByteOffset != nil || m.Size != 0 {
		it.next()
		if m.ByteOffset != nil {
			p.dim(m.ByteOffset)
		} else {
			p.w("0")
		}
		it.next(strconv.FormatInt(m.Size, 10))
	}
	if m.Slots > 1 {
		it.next("slots=", strconv.FormatInt(m.Slots, 10))
	}
	p.w(")")
	if m.Slot != nil {
		p.w("[")
		p.dim(m.Slot)
		p.w("]")
	}
}
