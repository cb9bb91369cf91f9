package client

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// keyer writes the key of a call: what its canonical form says, without making one. Most calls of a program ask what was asked before, and this is all that
// they cost. A call that holds anything unusual has no key and goes the long way.
type keyer struct {
	b     []byte
	vars  []*ir.Var
	plain bool // nothing unusual was met
}

// key appends the key of a call to b. Variables are numbered in the order in which canonicalOf meets them.
func (k *keyer) key(c *ir.OpCall, extra byte) bool {
	k.b, k.vars, k.plain = append(k.b[:0], extra), k.vars[:0], true
	k.text(c.Op)
	k.int(int64(len(c.Args)))
	for _, a := range c.Args {
		if isNested(a) { // as flat has it
			k.tag('v')
			k.int(-1)
			k.typ(a.Type())
			k.vars = append(k.vars, nil)
			continue
		}
		k.expr(a)
	}
	k.int(int64(len(c.Kwargs)))
	for _, x := range c.Kwargs {
		k.text(x.Name)
		k.value(x.Value)
	}
	k.typ(c.Typ)
	return k.plain && len(c.Deps) == 0
}

func (k *keyer) tag(t byte)  { k.b = append(k.b, t) }
func (k *keyer) int(n int64) { k.b = binary.AppendVarint(k.b, n) }

func (k *keyer) text(s string) {
	k.int(int64(len(s)))
	k.b = append(k.b, s...)
}

func (k *keyer) value(v any) {
	switch v := v.(type) {
	case int64:
		k.tag('i')
		k.int(v)
	case bool:
		k.tag('b')
		if v {
			k.tag(1)
		} else {
			k.tag(0)
		}
	case string:
		k.tag('s')
		k.text(v)
	case float64:
		k.tag('f')
		k.b = binary.LittleEndian.AppendUint64(k.b, math.Float64bits(v))
	case ir.DType:
		k.tag('d')
		k.tag(byte(v))
	case ir.Enum:
		k.tag('e')
		k.text(v.Kind)
		k.text(v.Name)
	default:
		k.plain = false
	}
}

func (k *keyer) exprs(es []ir.Expr) {
	if es == nil {
		k.int(-1)
		return
	}
	k.int(int64(len(es)))
	for _, e := range es {
		k.expr(e)
	}
}

func (k *keyer) expr(e ir.Expr) {
	switch e := e.(type) {
	case nil:
		k.tag('0')
	case *ir.Var:
		k.tag('v')
		i := slices.Index(k.vars, e)
		if i >= 0 {
			k.int(int64(i))
			return
		}
		k.int(-1)
		k.typ(e.Typ) // before the number: its type may hold others
		k.vars = append(k.vars, e)
		if e.Dyn {
			k.tag('D')
		}
	case *ir.ConstInt:
		k.tag('i')
		k.int(e.Value)
		k.tag(byte(e.DType))
	case *ir.ConstFloat:
		k.tag('f')
		k.b = binary.LittleEndian.AppendUint64(k.b, math.Float64bits(e.Value))
		k.tag(byte(e.DType))
	case *ir.ConstBool:
		k.value(e.Value)
	case *ir.Binary:
		k.tag('B')
		k.tag(byte(e.Op))
		k.tag(byte(e.DType))
		k.expr(e.X)
		k.expr(e.Y)
	case *ir.Unary:
		k.tag('U')
		k.tag(byte(e.Op))
		k.tag(byte(e.DType))
		k.expr(e.X)
	case *ir.Cast:
		k.tag('C')
		k.tag(byte(e.DType))
		k.expr(e.X)
	case *ir.MakeTuple:
		k.tag('T')
		k.exprs(e.Elems)
	default:
		k.plain = false
	}
}

func (k *keyer) typ(t ir.Type) {
	switch t := t.(type) {
	case *ir.ScalarType:
		k.tag('S')
		k.tag(byte(t.DType))
	case *ir.TensorType:
		k.tag('G')
		k.tag(byte(t.DType))
		k.exprs(t.Shape)
		k.plain = k.plain && t.MemRef == nil && !t.Distributed
		if v := t.View; v != nil {
			k.tag('V')
			k.exprs(v.ValidShape)
			k.exprs(v.Stride)
			k.text(v.Layout)
			k.text(v.Pad)
		}
	case *ir.TileType:
		k.tag('L')
		k.tag(byte(t.DType))
		k.text(string(t.Mem))
		k.exprs(t.Shape)
		k.plain = k.plain && t.MemRef == nil
		if v := t.View; v != nil {
			k.tag('V')
			k.exprs(v.ValidShape)
			k.exprs(v.Stride)
			k.expr(v.StartOffset)
			k.text(v.BLayout)
			k.text(v.SLayout)
			k.int(v.Fractal)
			k.text(v.Pad)
			k.text(v.Compact)
		}
	case *ir.ArrayType:
		k.tag('A')
		k.int(t.Len)
		k.tag(byte(t.DType))
	case *ir.UnknownType:
		k.tag('?')
	default:
		k.plain = false
	}
}
