package ir

// Type is the type of a value. Types are immutable; compare with EqualTypes, not with ==.
type Type interface{ typ() }

type (
	// ScalarType is one element of a dtype.
	ScalarType struct{ DType DType }
	// TensorType is a region of global memory. Shape entries are index expressions: ConstInt, a dynamic Var, or arithmetic over them.
	TensorType struct {
		Shape  []Expr
		DType  DType
		View   *TensorView // nil: packed row-major (ND)
		MemRef *MemRef     // nil before allocation
		// Distributed marks a tensor of a communication window (pld.DistributedTensor): a kind of its own for type checks.
		Distributed bool
	}
	// TileType is a region of core-local memory.
	TileType struct {
		Shape  []Expr
		DType  DType
		Mem    Mem       // MemUnset before memory inference
		View   *TileView // nil: the implicit view of (shape, mem)
		MemRef *MemRef
	}
	// ArrayType is a fixed-size on-stack array of an orchestration or kernel function.
	ArrayType struct {
		Len   int64
		DType DType
	}
	// TupleType is the result of a call with several results.
	TupleType struct{ Elems []Type }
	// UnknownType is the type of a call whose callee's results are not known.
	UnknownType struct{}
	// OpaqueType is a type that the core only carries: Ptr, MemRefType, pld.WindowBufferType, pld.CommCtxType, pl.PrefetchAsyncContext… A name without
	// a namespace means the one it is printed with.
	OpaqueType struct{ Name string }
)

func (*ScalarType) typ()  {}
func (*TensorType) typ()  {}
func (*TileType) typ()    {}
func (*ArrayType) typ()   {}
func (*TupleType) typ()   {}
func (*UnknownType) typ() {}
func (*OpaqueType) typ()  {}

// TensorView describes a tensor that is not packed row-major over its whole shape. Nil slices mean the default.
type TensorView struct {
	ValidShape []Expr
	Stride     []Expr
	Layout     string // "" or ND, DN, NZ, MX_A_ZZ, MX_B_NN
	Pad        string // "" or null, zero, max, min
}

// TileView describes the valid region and layout of a tile.
type TileView struct {
	ValidShape  []Expr
	Stride      []Expr
	StartOffset Expr
	BLayout     string // "" or none_box, row_major, col_major
	SLayout     string
	Fractal     int64
	Pad         string
	Compact     string
}

// MemRef is the storage of a tile or tensor after allocation: slot Slot of Base at ByteOffset, Size bytes. Name is set for a
// declared (pinned) allocation instead of Base.
type MemRef struct {
	Name       string
	Base       *Var
	ByteOffset Expr
	Size       int64
	Slots      int64
	Slot       Expr
}

// Mem is a memory space. MemUnset prints as nothing.
type Mem string

const (
	MemUnset   Mem = ""
	DDR        Mem = "DDR"
	Vec        Mem = "Vec"
	Mat        Mem = "Mat"
	Left       Mem = "Left"
	Right      Mem = "Right"
	Acc        Mem = "Acc"
	Bias       Mem = "Bias"
	LeftScale  Mem = "LeftScale"
	RightScale Mem = "RightScale"
	ScalarMem  Mem = "ScalarLocal"
)

// IsCube reports a memory space of the cube (AIC) core.
func (m Mem) IsCube() bool {
	switch m {
	case Mat, Left, Right, Acc, Bias, LeftScale, RightScale:
		return true
	}
	return false
}

// Shared scalar types.
var (
	Unknown    = &UnknownType{}
	IndexType  = Scalar(INDEX)
	BoolType   = Scalar(BOOL)
	TaskIDType = Scalar(TASK_ID)
)

// scalarTypes has one type per dtype, so that asking an expression for its type allocates nothing.
var scalarTypes = func() (ts [256]ScalarType) {
	for d := range ts {
		ts[d].DType = DType(d)
	}
	return ts
}()

// Scalar returns the scalar type of d, always the same pointer.
func Scalar(d DType) *ScalarType { return &scalarTypes[d] }

// IsTaskID reports a TaskId scalar.
func IsTaskID(t Type) bool { s, ok := t.(*ScalarType); return ok && s.DType == TASK_ID }

// IsTaskIDArray reports an array of TaskIds.
func IsTaskIDArray(t Type) bool { a, ok := t.(*ArrayType); return ok && a.DType == TASK_ID }

// IsTensor reports a tensor (distributed ones included).
func IsTensor(t Type) bool { _, ok := t.(*TensorType); return ok }

// ElemDType returns the dtype of a scalar, tensor, tile or array, and NoDType for the rest.
func ElemDType(t Type) DType {
	switch t := t.(type) {
	case *ScalarType:
		return t.DType
	case *TensorType:
		return t.DType
	case *TileType:
		return t.DType
	case *ArrayType:
		return t.DType
	}
	return NoDType
}

// ShapeOf returns the shape of a tensor or tile, and nil for the rest.
func ShapeOf(t Type) []Expr {
	switch t := t.(type) {
	case *TensorType:
		return t.Shape
	case *TileType:
		return t.Shape
	}
	return nil
}
