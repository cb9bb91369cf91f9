package protocol

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
)

// Kernels in the host may use ops whose Evaluate is code of the parent's (a plugin's). The host asks for each call over two more descriptors, so that one
// process of a plugin serves both engines.

// ForeignOp is what the evaluator has to know of such an op.
type ForeignOp struct {
	Name    string
	Params  []ops.Param
	Result  ops.Result
	Effects []ops.Effect
}

// Evaluated is what an evaluation changed.
type Evaluated struct {
	Failure  *diag.Diagnostic
	Result   []byte
	Scalar   any
	Origin   []int64
	Operands [][]byte // of writable operands
}
