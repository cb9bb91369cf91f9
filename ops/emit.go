package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Plan statements of the tensor ops that may stand in an orchestration (spec: passes-codegen section 4, behaviours C-OPS-*).
type emitter = func(*EmitSite) ([]plan.Stmt, *diag.Diagnostic)

func (e *EmitSite) at() plan.At { return plan.At{Pos: e.Call.Pos} }

// name is the variable of a tensor or array operand.
func (e *EmitSite) name(i int) *plan.Name {
	if r, ok := e.Args[i].(*plan.Ref); ok {
		return r.Name
	}
	return nil
}

func (e *EmitSite) errorf(code diag.Code, format string, args ...any) *diag.Diagnostic {
	return diag.Errorf(code, e.Call.Pos, e.Call.Op+": "+format, args...)
}

func (e *EmitSite) typeOf(i int) ir.Type { return e.Call.Args[i].Type() }

func numberType(d ir.DType) plan.CType {
	if d == ir.TASK_ID {
		return plan.CType{Kind: plan.TaskT}
	}
	return plan.CType{Kind: plan.Number, DType: d}
}

var (
	tensorType = plan.CType{Kind: plan.TensorT}
	uint32Type = plan.CType{Kind: plan.Uint32T}
)

// declare is the declaration of the result, nothing when the result is not bound.
func (e *EmitSite) declare(d ir.DType, init plan.Expr) []plan.Stmt {
	if e.Result == nil {
		return nil
	}
	return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: numberType(d), Init: init}}
}

// asUint32 is an extent, offset or index: a literal as it is, anything else converted.
func asUint32(x plan.Expr) plan.Expr {
	if c, ok := x.(*plan.Int); ok && c.Value >= 0 {
		return c
	}
	return &plan.Uint32{X: x}
}

func asUint32s(xs []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(xs))
	for i, x := range xs {
		out[i] = asUint32(x)
	}
	return out
}

// packedDims are extents as the runtime counts them: of 4-bit elements two share a byte, so the last axis is halved.
func packedDims(c *ir.OpCall, dims []plan.Expr, d ir.DType) ([]plan.Expr, *diag.Diagnostic) {
	out := asUint32s(dims)
	if d.Bits() != 4 || len(dims) == 0 {
		return out, nil
	}
	last, ok := halved(dims[len(dims)-1])
	if !ok {
		return nil, diag.Errorf(CodePacked, c.Pos, "%s: the last axis of %s elements must be byte-aligned (even)", c.Op, d.Name())
	}
	out[len(out)-1] = asUint32(last)
	return out, nil
}

// halved is x / 2; a literal must be even.
func halved(x plan.Expr) (plan.Expr, bool) {
	if c, ok := x.(*plan.Int); ok {
		return &plan.Int{Value: c.Value / 2, DType: c.DType}, c.Value%2 == 0
	}
	return &plan.Binary{Op: ir.FloorDiv, X: x, Y: &plan.Int{Value: 2, DType: ir.INT64}, DType: ir.INT64}, true
}

func emitRead(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	if e.Result == nil {
		return nil, e.errorf(CodePlace, "the element is read but not used").WithHint("assign it to a name or remove the statement")
	}
	d := ir.ElemDType(e.typeOf(0))
	read := &plan.Read{Tensor: e.name(0), DType: d, N: len(e.Lists[1])}
	decl := &plan.Decl{At: e.at(), Name: e.Result, Type: numberType(d), Init: read}
	if read.N == 0 {
		return []plan.Stmt{decl}, nil
	}
	read.Indices = e.Local("indices_")
	return []plan.Stmt{&plan.DeclArray{At: e.at(), Name: read.Indices, Type: uint32Type, Elems: asUint32s(e.Lists[1])}, decl}, nil
}

func emitWrite(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	w := &plan.Write{At: e.at(), Tensor: e.name(0), DType: ir.ElemDType(e.typeOf(0)), Index: asUint32s(e.Lists[1]), Value: e.Args[2]}
	if len(w.Index) > 0 {
		w.Indices = e.Local("indices_")
	}
	return []plan.Stmt{w}, nil
}

func emitDim(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	t := e.typeOf(0)
	shape := ir.ShapeOf(t)
	axis, ok := ir.IntValue(e.Call.Args[1])
	if !ok || axis < -int64(len(shape)) || axis >= int64(len(shape)) {
		return nil, e.errorf(CodeBounds, "axis must be a literal between %d and %d", -len(shape), len(shape)-1)
	}
	if axis < 0 {
		axis += int64(len(shape))
	}
	if n, ok := ir.IntValue(shape[axis]); ok {
		return e.declare(ir.INDEX, &plan.Int{Value: n, DType: ir.INT64}), nil
	}
	var x plan.Expr = &plan.Extent{Tensor: e.name(0), Axis: int(axis)}
	if k, ok := e.EntryTensor(0); ok {
		x = &plan.EntryExtent{Ordinal: k, Axis: int(axis)}
	}
	if ir.ElemDType(t).Bits() == 4 && int(axis) == len(shape)-1 { // the runtime counts bytes
		x = &plan.Binary{Op: ir.Mul, X: x, Y: &plan.Int{Value: 2, DType: ir.INT64}, DType: ir.INT64}
	}
	return e.declare(ir.INDEX, x), nil
}

// emitSlice clamps the window to its source; valid_shape has no effect on the text. Dropped axes are removed by a reshape when the window
// is packed; where it is not, the handle keeps its unit axes.
func emitSlice(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	d := ir.ElemDType(e.typeOf(0))
	sizes, diagnostic := packedDims(e.Call, e.Lists[1], d)
	if diagnostic != nil {
		return nil, diagnostic
	}
	origin, diagnostic := packedDims(e.Call, e.Lists[2], d)
	if diagnostic != nil {
		return nil, diagnostic
	}
	offsets, shapes := e.Local("_offsets"), e.Local("_shapes")
	clamped := make([]plan.Expr, len(sizes))
	for k, x := range sizes {
		clamped[k] = &plan.Clamped{Size: x, Tensor: e.name(0), Offsets: offsets, Axis: k}
	}
	drop := e.packedDrop()
	window := e.Result
	if drop {
		window = e.Local("_window")
	}
	out := []plan.Stmt{
		&plan.DeclArray{At: e.at(), Name: offsets, Type: uint32Type, Elems: origin},
		&plan.DeclArray{At: e.at(), Name: shapes, Type: uint32Type, Elems: clamped},
		&plan.Decl{At: e.at(), Name: window, Type: tensorType, Init: &plan.View{Tensor: e.name(0), Shapes: shapes, Offsets: offsets}},
	}
	if !drop {
		return out, nil
	}
	kept := e.Local("_kept")
	var elems []plan.Expr
	for k := range sizes {
		if !e.isDropped(k) {
			elems = append(elems, asUint32(&plan.Extent{Tensor: window, Axis: k}))
		}
	}
	return append(out,
		&plan.DeclArray{At: e.at(), Name: kept, Type: uint32Type, Elems: elems},
		&plan.Decl{At: e.at(), Name: e.Result, Type: tensorType, Init: &plan.Reshape{Tensor: window, Shapes: kept, N: len(elems)}}), nil
}

// isDropped reports an axis named by drop_dims of a slice.
func (e *EmitSite) isDropped(axis int) bool {
	if len(e.Call.Args) < 5 {
		return false
	}
	t, ok := e.Call.Args[4].(*ir.MakeTuple)
	if !ok {
		return false
	}
	for _, x := range t.Elems {
		if v, ok := ir.IntValue(x); ok && (v == int64(axis) || v+int64(len(e.Lists[1])) == int64(axis)) {
			return true
		}
	}
	return false
}

// packedDrop reports a slice that drops axes, keeps at least one, and is not known to be strided: behind its first axis longer than 1 every axis
// must be whole.
func (e *EmitSite) packedDrop() bool {
	t, ok := e.typeOf(0).(*ir.TensorType)
	if !ok || !isPacked(t) || len(e.Call.Args) < 5 {
		return false
	}
	shape := e.Call.Args[1].(*ir.MakeTuple).Elems
	dropped := 0
	inside := false
	for k := range shape {
		if e.isDropped(k) {
			dropped++
		}
		if inside && dimsDiffer(shape[k], t.Shape[k]) {
			return false
		}
		inside = inside || !isInt(shape[k], 1)
	}
	return dropped > 0 && dropped < len(shape)
}

func emitReshape(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	dims, d := packedDims(e.Call, e.Lists[1], ir.ElemDType(e.typeOf(0)))
	if d != nil {
		return nil, d
	}
	shapes := e.Local("_shapes")
	return []plan.Stmt{
		&plan.DeclArray{At: e.at(), Name: shapes, Type: uint32Type, Elems: dims},
		&plan.Decl{At: e.at(), Name: e.Result, Type: tensorType, Init: &plan.Reshape{Tensor: e.name(0), Shapes: shapes, N: len(dims)}},
	}, nil
}

func emitTranspose(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	s := &Site{Spec: &Spec{Name: e.Call.Op, Params: params(tensorP("input"), scalarP("axis1"), scalarP("axis2"))}, Args: e.Call.Args, Pos: e.Call.Pos}
	var axes [2]int
	for i := range axes {
		a, d := s.axisOf(i+1, len(ir.ShapeOf(e.typeOf(0))), [...]string{"axis1", "axis2"}[i])
		if d != nil {
			return nil, d
		}
		axes[i] = a
	}
	if axes[0] == axes[1] {
		return nil, e.errorf(CodeBounds, "axis1 and axis2 must be different, both are %d", axes[0])
	}
	return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: tensorType, Init: &plan.Transpose{Tensor: e.name(0), A: axes[0], B: axes[1]}}}, nil
}

func emitView(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	t := e.typeOf(0).(*ir.TensorType)
	if len(e.Call.Args) > 1 && len(e.Lists[1]) > 0 {
		return emitReshape(e)
	}
	layout := layoutOf(t)
	if v, ok := e.Call.Kwargs.Get("layout"); ok {
		layout = v.(ir.Enum).Name
	}
	if layout == layoutOf(t) {
		return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: tensorType, Init: e.Args[0]}}, nil
	}
	n := len(t.Shape)
	return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: tensorType, Init: &plan.Transpose{Tensor: e.name(0), A: n - 2, B: n - 1}}}, nil
}

func emitReinterpret(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	return nil, e.errorf(CodeReinterpret, "a runtime tensor cannot change the element dtype in an Orchestration function").
		WithHint("reinterpret inside a kernel, on the tile or tensor there")
}

// emitAssemble prints nothing: the result is the target. (Folding create + assemble to a slice is a pass.)
func emitAssemble(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	if IsAtomic(e.Call) {
		return nil, e.errorf(CodePlace, "pl.assemble(…, atomic=pl.AtomicType.Add) is only supported inside an InCore function").
			WithHint("put it in a kernel or a `with pl.at(level=pl.Level.CORE_GROUP):` block")
	}
	return nil, nil
}
