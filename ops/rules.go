package ops

import (
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// The result-type rules that several families share (spec: dsl-ir 4.4). A rule is a function for Spec.Infer, or makes one.
type rule = func(*Site) (ir.Type, *diag.Diagnostic)

// promote is the dtype of an operation on two dtypes: float beats int, wider wins, of equal width signed beats unsigned, else the left.
func promote(a, b ir.DType) ir.DType {
	switch {
	case a == b:
		return a
	case a.IsFloat() != b.IsFloat():
		if a.IsFloat() {
			return a
		}
		return b
	case a.Bits() != b.Bits():
		if a.Bits() > b.Bits() {
			return a
		}
		return b
	case !a.IsFloat() && a.IsSigned() != b.IsSigned():
		if a.IsSigned() {
			return a
		}
		return b
	}
	return a
}

// scalarDType is the dtype that a scalar operand brings into a promotion with elements of dtype d. An integer literal has no dtype of its own.
func scalarDType(e ir.Expr, d ir.DType) ir.DType {
	if _, ok := e.(*ir.ConstInt); ok && ir.ElemDType(e.Type()) == ir.INDEX {
		return d
	}
	return ir.ElemDType(e.Type())
}

// broadcastDims combines two shapes as numpy does: right-aligned, extents equal or 1.
func (s *Site) broadcastDims(a, b []ir.Expr) ([]ir.Expr, *diag.Diagnostic) {
	n := max(len(a), len(b))
	out := make([]ir.Expr, n)
	for i := range n {
		x, y := fromRight(a, n-1-i), fromRight(b, n-1-i)
		switch {
		case isInt(y, 1):
			out[i] = x
		case isInt(x, 1):
			out[i] = y
		case dimsDiffer(x, y):
			return nil, s.argError(CodeShape, 1, "shapes %s and %s do not broadcast: axis %d is %s and %s", shapeText(a), shapeText(b), i, exprText(x), exprText(y)).
				WithHint("extents must be equal or 1, counted from the last axis")
		default:
			out[i] = x
		}
	}
	return out, nil
}

// fromRight is extent i counted from the last axis; 1 beyond the first.
func fromRight(shape []ir.Expr, i int) ir.Expr {
	if i >= len(shape) {
		return ir.Int(1)
	}
	return shape[len(shape)-1-i]
}

// broadcastValid combines valid regions along with broadcastDims: per axis the extent of the operand that is not broadcast.
func broadcastValid(shape []ir.Expr, types ...ir.Type) []ir.Expr {
	n := len(shape)
	out := make([]ir.Expr, n)
	for i := range n {
		out[i] = shape[i]
		seen := false
		for _, t := range types {
			dim, valid := fromRight(ir.ShapeOf(t), n-1-i), fromRight(validOf(t), n-1-i)
			if isInt(dim, 1) && !isInt(shape[i], 1) {
				continue
			}
			if !seen {
				out[i], seen = valid, true
			} else {
				out[i] = minDim(out[i], valid)
			}
		}
	}
	return out
}

// dtypeSet limits operands to a set of dtypes.
func (s *Site) dtypeIn(i int, set ...ir.DType) *diag.Diagnostic {
	d := ir.ElemDType(s.Args[i].Type())
	if slices.Contains(set, d) || d == ir.NoDType {
		return nil
	}
	names := ""
	for j, x := range set {
		if j > 0 {
			names += ", "
		}
		names += x.Name()
	}
	return s.argError(CodeDType, i, "elements of '%s' must be one of %s, got %s", s.param(i).Name, names, d)
}

// wantInt limits an operand to integer elements.
func (s *Site) wantInt(i int) *diag.Diagnostic {
	if d := ir.ElemDType(s.Args[i].Type()); !d.IsInt() && d != ir.NoDType {
		return s.argError(CodeDType, i, "'%s' must have integer elements, got %s", s.param(i).Name, d)
	}
	return nil
}

// broadcastRule: elementwise over two tensors or tiles: shapes broadcast, dtypes promote.
func broadcastRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a, b := s.Args[0].Type(), s.Args[1].Type()
	if !isRegion(a) || !isRegion(b) {
		return scalarRule(s)
	}
	shape, d := s.broadcastDims(ir.ShapeOf(a), ir.ShapeOf(b))
	if d != nil {
		return nil, d
	}
	return s.like(a, shape, promote(ir.ElemDType(a), ir.ElemDType(b)), broadcastValid(shape, a, b)), nil
}

func isRegion(t ir.Type) bool {
	switch t.(type) {
	case *ir.TensorType, *ir.TileType:
		return true
	}
	return false
}

// scalarRule: a tensor and a scalar promote; a tile keeps its dtype.
func scalarRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	d := ir.ElemDType(a)
	if _, ok := a.(*ir.TensorType); ok {
		if sd := scalarDType(s.Args[1], d); sd != ir.NoDType {
			d = promote(d, sd)
		}
	}
	return s.like(a, ir.ShapeOf(a), d, validOf(a)), nil
}

// keepRule: the type of operand 0, in the op's result memory.
func keepRule(s *Site) (ir.Type, *diag.Diagnostic) {
	a := s.Args[0].Type()
	if !isRegion(a) {
		return ir.Unknown, nil
	}
	return s.like(a, ir.ShapeOf(a), ir.ElemDType(a), validOf(a)), nil
}

// sameAs gives exactly the type of operand i: the rule of in-place ops.
func sameAs(i int) rule {
	return func(s *Site) (ir.Type, *diag.Diagnostic) { return s.Args[i].Type(), nil }
}

// constant gives a fixed type.
func constant(t ir.Type) rule {
	return func(*Site) (ir.Type, *diag.Diagnostic) { return t, nil }
}

// noResult is the rule of ops that only act.
var noResult = constant(ir.Unknown)

// elementRule: the scalar of operand 0's dtype at a full index.
func elementRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t := s.Args[0].Type()
	if d := s.indexRank(0, 1); d != nil {
		return nil, d
	}
	return ir.Scalar(ir.ElemDType(t)), nil
}

// indexRank checks that list operand j has one index per axis of operand i, and that literal indices are inside.
func (s *Site) indexRank(i, j int) *diag.Diagnostic {
	shape := ir.ShapeOf(s.Args[i].Type())
	index := s.list(j)
	if shape == nil && len(index) == 0 || index == nil {
		return nil
	}
	if len(index) != len(shape) {
		return s.argError(CodeRank, j, "%d indices but the %s is %dD", len(index), kindName(s.Args[i].Type()), len(shape))
	}
	for k, e := range index {
		v, ok := ir.IntValue(e)
		n, known := ir.IntValue(shape[k])
		if ok && (v < 0 || known && v >= n) && !s.Lenient {
			return s.errorAt(CodeBounds, e.Span(), "%s: index %d is out of range for axis %d of extent %s", s.Spec.Name, v, k, exprText(shape[k]))
		}
	}
	return nil
}

func kindName(t ir.Type) string {
	switch t.(type) {
	case *ir.TileType:
		return "tile"
	}
	return "tensor"
}

// list is the elements of a list operand; nil when it is left out or not written as a list.
func (s *Site) list(i int) []ir.Expr {
	if i >= len(s.Args) {
		return nil
	}
	if t, ok := s.Args[i].(*ir.MakeTuple); ok {
		return t.Elems
	}
	return nil
}

// given reports an optional operand that is really there.
func (s *Site) given(i int) bool {
	if i >= len(s.Args) || s.Args[i] == nil {
		return false
	}
	t, ok := s.Args[i].(*ir.MakeTuple)
	return !ok || len(t.Elems) > 0
}

// intKw is an integer keyword argument, d when absent.
func (s *Site) intKw(name string, d int64) int64 {
	if v, ok := s.Kwargs.Get(name); ok {
		if i, ok := v.(int64); ok {
			return i
		}
	}
	return d
}

func (s *Site) boolKw(name string) bool {
	v, _ := s.Kwargs.Get(name)
	b, _ := v.(bool)
	return b
}

func (s *Site) dtypeKw(name string, d ir.DType) ir.DType {
	if v, ok := s.Kwargs.Get(name); ok {
		if t, ok := v.(ir.DType); ok {
			return t
		}
	}
	return d
}

// wantRank checks the rank of operand i.
func (s *Site) wantRank(i int, least, most int) *diag.Diagnostic {
	t := s.Args[i].Type()
	if !isRegion(t) {
		return nil
	}
	switch n := len(ir.ShapeOf(t)); {
	case n >= least && n <= most:
		return nil
	case least == most:
		return s.argError(CodeRank, i, "'%s' must be %dD, got %s", s.param(i).Name, least, typeText(t))
	case n < least:
		return s.argError(CodeRank, i, "'%s' must have at least %d axes, got %s", s.param(i).Name, least, typeText(t))
	default:
		return s.argError(CodeRank, i, "'%s' may have at most %d axes, got %s", s.param(i).Name, most, typeText(t))
	}
}

// axisOf normalises an axis literal in operand i that may count from the end; what names it in messages.
func (s *Site) axisOf(i, rank int, what string) (int, *diag.Diagnostic) {
	v, ok := ir.IntValue(s.Args[i])
	if !ok {
		return 0, s.argError(CodeBounds, i, "%s must be an integer literal", what)
	}
	if v < -int64(rank) || v >= int64(rank) {
		return 0, s.argError(CodeBounds, i, "%s out of range: %d for a tensor of rank %d", what, v, rank)
	}
	if v < 0 {
		v += int64(rank)
	}
	return int(v), nil
}
