package lower

import (
	"cmp"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// bindParams gives each parameter its entry slot. Tensors and scalars count separately, in parameter order.
func (l *lowerer) bindParams() {
	for _, p := range l.fn.Params {
		v, base := p.Var, ir.BaseName(p.Var.Hint)
		s := &storage{kind: entryStore, typ: ctype(v.Typ), what: base}
		switch t := v.Typ.(type) {
		case *ir.TensorType:
			s.root, s.ordinal = s, len(l.file.Tensors)
			s.name = l.names.external(base, v.Pos)
			l.file.Tensors = append(l.file.Tensors, plan.Tensor{Name: s.name, Param: base, Dir: p.Dir, DType: t.DType, Shape: t.Shape})
		case *ir.ScalarType:
			if t.DType == ir.TASK_ID {
				l.badParam(p)
				continue
			}
			l.entryScalar(s, v, base, t.DType)
		case *ir.OpaqueType:
			l.entryScalar(s, v, base, ir.NoDType)
		default:
			l.badParam(p)
			continue
		}
		l.storages[v] = s
	}
}

func (l *lowerer) entryScalar(s *storage, v *ir.Var, base string, d ir.DType) {
	s.name = l.names.primary(v.Hint, v.Pos)
	l.file.Scalars = append(l.file.Scalars, plan.Scalar{Name: s.name, Union: l.names.derived(s.name, "", "_conv"), Param: base, DType: d})
	l.nonneg[v] = d.IsInt() && !d.IsSigned()
}

func (l *lowerer) badParam(p ir.Param) {
	what := "a value of this type"
	switch p.Var.Typ.(type) {
	case *ir.TupleType:
		what = "a tuple"
	case *ir.ArrayType:
		what = "an array"
	case *ir.ScalarType:
		what = "a TaskId"
	}
	l.errorf(CodeParam, p.Var.Pos, "parameter %q: an orchestration entry cannot take %s", ir.BaseName(p.Var.Hint), what).
		WithHint("entry functions take tensors and scalars")
}

// dim is the variable of a dynamic dimension: the extent of the first tensor parameter that declares it.
func (l *lowerer) dim(v *ir.Var) plan.Expr {
	if d, ok := l.dims[v]; ok {
		return &plan.Ref{Name: d.Name}
	}
	ordinal := 0
	for _, p := range l.fn.Params {
		t, ok := p.Var.Typ.(*ir.TensorType)
		if !ok {
			continue
		}
		for axis, e := range t.Shape {
			if e == ir.Expr(v) {
				d := &plan.Dim{Name: l.names.primary(v.Hint, v.Pos), Tensor: ordinal, Axis: axis}
				l.dims[v] = d
				return &plan.Ref{Name: d.Name}
			}
		}
		ordinal++
	}
	return nil
}

// finishDims lists the dynamic dimensions that the body uses in the order of the parameters that declare them.
func (l *lowerer) finishDims() {
	for _, d := range l.dims {
		l.file.Dims = append(l.file.Dims, *d)
	}
	slices.SortFunc(l.file.Dims, func(a, b plan.Dim) int { return cmp.Or(cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.Axis, b.Axis)) })
}
