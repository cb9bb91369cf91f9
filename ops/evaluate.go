package ops

import (
	"github.com/ptobuild/ptobuild/ir"
)

// Evaluation is one call of an op in a kernel on the simulator, given to Spec.Evaluate. It holds values only, so it can cross processes.
type Evaluation struct {
	Op       string
	Kwargs   ir.Kwargs // int64, bool, string, float64, DType and Enum values
	Operands []Operand // as the call has them
	Result   *Elements // of a tensor or tile result; its Data is zero and is filled in. Nil for other results
	Scalar   any       // int64, float64 or bool: filled in by an op that gives a scalar
	// Origin is filled in by an op whose result is a view: the element of the operand at which its window begins, one index per axis; nil is the first.
	Origin []int64
}

// Operand is the value of one operand: exactly one field is set, none for what an evaluation does not need (task ids).
type Operand struct {
	Elements *Elements
	Scalar   any // int64, float64 or bool
	List     []int64
}

// Elements are the elements of a tensor or tile, or of the window of it that its Param.Window says, row-major without gaps: float64 for FP64, float32 for the other floating dtypes, int64 for the rest,
// little-endian. The core rounds what it takes back to DType. Elements outside of the valid part are zero.
type Elements struct {
	DType        ir.DType
	Shape, Valid []int
	Data         []byte
	Writable     bool // what is written here goes back to the operand
}

// Len is the number of elements.
func (e *Elements) Len() int {
	n := 1
	for _, x := range e.Shape {
		n *= x
	}
	return n
}

// Size is the number of bytes of one element in Data.
func (e *Elements) Size() int {
	if e.DType.IsFloat() && e.DType != ir.FP64 {
		return 4
	}
	return 8
}
