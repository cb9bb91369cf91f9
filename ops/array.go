package ops

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Fixed-size on-stack arrays of integers, booleans and task ids.
func arraySpecs() []*Spec {
	array := kindP("array", ArrayArg)
	index := scalarP("index")
	elem := kindP("value", ScalarArg|TaskArg)
	return []*Spec{
		{Name: "array.create", Doc: "an array of zeros, or of invalid task ids", Params: params(scalarP("extent")), Kwargs: []Kwarg{dtypeKw}, Where: OnHost | InCore,
			Result: fresh, Infer: arrayCreateRule, Emit: emitArrayCreate},
		{Name: "array.get_element", Doc: "one slot", Params: params(array, index), Where: OnHost | InCore, Result: value, Infer: arrayGetRule, Emit: emitArrayGet},
		{Name: "array.update_element", Doc: "the array with one slot set", Params: params(array, index, elem), Where: OnHost | InCore, Result: inPlace(0),
			Effects: []Effect{Write}, Infer: arrayUpdateRule, Emit: emitArrayUpdate},
	}
}

func arrayCreateRule(s *Site) (ir.Type, *diag.Diagnostic) {
	n, ok := ir.IntValue(s.Args[0])
	if !ok || n < 1 {
		return nil, s.argError(CodeShape, 0, "the length of an array must be a positive integer known at compile time, got %s", exprText(s.Args[0]))
	}
	d := s.dtypeKw("dtype", ir.NoDType)
	if !d.IsInt() && d != ir.BOOL && d != ir.TASK_ID {
		return nil, s.errorAt(CodeDType, s.Pos, "array.create: elements must be integers, BOOL or TASK_ID, got %s", d)
	}
	return &ir.ArrayType{Len: n, DType: d}, nil
}

// checkSlot checks a literal index against the array's length.
func (s *Site) checkSlot() *diag.Diagnostic {
	t, ok := s.Args[0].Type().(*ir.ArrayType)
	v, lit := ir.IntValue(s.Args[1])
	if ok && lit && (v < 0 || v >= t.Len) {
		return s.argError(CodeBounds, 1, "index %d is out of range for an array of %d", v, t.Len)
	}
	return nil
}

func arrayGetRule(s *Site) (ir.Type, *diag.Diagnostic) {
	return ir.Scalar(ir.ElemDType(s.Args[0].Type())), s.checkSlot()
}

func arrayUpdateRule(s *Site) (ir.Type, *diag.Diagnostic) {
	t, ok := s.Args[0].Type().(*ir.ArrayType)
	if !ok {
		return s.Args[0].Type(), nil
	}
	v := s.Args[2]
	if (t.DType == ir.TASK_ID) != ir.IsTaskID(v.Type()) {
		return nil, s.argError(CodeDType, 2, "a slot of %s cannot hold %s", typeText(t), typeText(v.Type()))
	}
	if c, ok := v.(*ir.ConstInt); ok && c.DType != t.DType { // a literal takes the element dtype
		s.Args[2] = &ir.ConstInt{Value: c.Value, DType: t.DType, Pos: c.Pos}
	} else if d := ir.ElemDType(v.Type()); t.DType.IsInt() && d.IsFloat() {
		return nil, s.argError(CodeDType, 2, "a slot of %s cannot hold %s", typeText(t), typeText(v.Type()))
	}
	return t, s.checkSlot()
}

func emitArrayCreate(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	t := e.Call.Typ.(*ir.ArrayType)
	d := &plan.DeclSlots{At: e.at(), Name: e.Result, Type: numberType(t.DType), N: t.Len}
	if t.DType == ir.TASK_ID {
		d.Fill = &plan.InvalidTask{}
	}
	return []plan.Stmt{d}, nil
}

func emitArrayGet(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	return []plan.Stmt{&plan.Decl{At: e.at(), Name: e.Result, Type: numberType(ir.ElemDType(e.Call.Typ)), Init: &plan.Elem{Array: e.name(0), I: e.Args[1]}}}, nil
}

func emitArrayUpdate(e *EmitSite) ([]plan.Stmt, *diag.Diagnostic) {
	return []plan.Stmt{&plan.SetElem{At: e.at(), Array: e.name(0), I: e.Args[1], Value: e.Args[2]}}, nil
}
