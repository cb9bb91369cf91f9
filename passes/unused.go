package passes

import (
	"slices"

	"github.com/ptobuild/ptobuild/ir"
)

// dropUnused removes the scalars of a body in SSA form that nothing reads, and ifs that do nothing. One backward pass is enough, since in
// SSA form every read comes after its definition.
func dropUnused(f *ir.Function, b ir.Block) ir.Block {
	u := &unused{used: make(map[*ir.Var]bool, 2*len(b))}
	for _, p := range f.Params {
		u.typ(p.Var.Typ)
	}
	for _, t := range f.Returns {
		u.typ(t)
	}
	for _, a := range f.Attrs {
		u.value(a.Value)
	}
	return u.block(b)
}

type unused struct {
	used map[*ir.Var]bool
}

func (u *unused) block(b ir.Block) ir.Block {
	var out ir.Block // reversed; nil: nothing changed so far
	for i := len(b) - 1; i >= 0; i-- {
		s := u.stmt(b[i])
		if s == b[i] && out == nil {
			continue
		}
		if out == nil {
			out = slices.Clone(b[i+1:])
			slices.Reverse(out)
			if out == nil {
				out = ir.Block{}
			}
		}
		if s != nil {
			out = append(out, s)
		}
	}
	if out == nil {
		return b
	}
	slices.Reverse(out)
	return out
}

// stmt marks what s reads and returns it without unused parts, nil when nothing is left.
func (u *unused) stmt(s ir.Stmt) ir.Stmt {
	if a, ok := s.(*ir.Assign); ok && !u.used[a.Var] && isScalar(a.Var.Typ) && !ir.IsTaskID(a.Var.Typ) && !hasCall(a.Value) {
		return nil
	}
	s = mapNested(s, u.block)
	if c, ok := s.(*ir.If); ok && len(c.Results) == 0 && len(c.Then) == 0 && len(c.Else) == 0 && !hasCall(c.Cond) {
		return nil
	}
	for _, v := range ir.Defs(s) {
		u.typ(v.Typ)
	}
	ir.Exprs(s, u.visit)
	return s
}

func (u *unused) visit(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Var:
		u.used[e] = true
	case *ir.OpCall:
		u.typ(e.Typ)
	case *ir.Call:
		u.typ(e.Typ)
	}
	return true
}

func (u *unused) value(v any) {
	switch v := v.(type) {
	case ir.Expr:
		ir.Walk(v, u.visit)
	case []ir.Expr:
		for _, e := range v {
			ir.Walk(e, u.visit)
		}
	}
}

// typ marks what the extents of a type read.
func (u *unused) typ(t ir.Type) {
	switch t := t.(type) {
	case *ir.TensorType:
		u.value(t.Shape)
		if t.View != nil {
			u.value(t.View.ValidShape)
			u.value(t.View.Stride)
		}
		u.memRef(t.MemRef)
	case *ir.TileType:
		u.value(t.Shape)
		if t.View != nil {
			u.value(t.View.ValidShape)
			u.value(t.View.Stride)
			if t.View.StartOffset != nil {
				u.value(t.View.StartOffset)
			}
		}
		u.memRef(t.MemRef)
	case *ir.TupleType:
		for _, e := range t.Elems {
			u.typ(e)
		}
	}
}

func (u *unused) memRef(m *ir.MemRef) {
	if m == nil {
		return
	}
	if m.Base != nil {
		u.used[m.Base] = true
	}
	if m.ByteOffset != nil {
		u.value(m.ByteOffset)
	}
	if m.Slot != nil {
		u.value(m.Slot)
	}
}
