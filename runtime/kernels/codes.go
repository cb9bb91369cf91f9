package kernels

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports of this package.
const (
	CodeNoKernel   diag.Code = "PTO-K001" // no function for a kernel id, or one without a body
	CodeArgs       diag.Code = "PTO-K002" // a task's arguments do not fit the kernel's parameters
	CodeOp         diag.Code = "PTO-K003" // an op that the simulator does not evaluate
	CodeExpr       diag.Code = "PTO-K004" // a statement or expression that cannot stand in a kernel
	CodeBounds     diag.Code = "PTO-K005" // access outside of a tensor or tile
	CodeUndefined  diag.Code = "PTO-K006" // a tile element is read that was never written
	CodeShape      diag.Code = "PTO-K007" // extents that do not fit together at run time
	CodeArithmetic diag.Code = "PTO-K008" // integer division by zero
	CodeDType      diag.Code = "PTO-K009" // an element type that the simulator cannot compute with
	CodeLoop       diag.Code = "PTO-K010" // a loop with step 0
	CodePipe       diag.Code = "PTO-K011" // lanes that wait for each other
	CodeUnwritten  diag.Code = "PTO-K014" // a kernel reads elements of a tensor that nothing has written
	CodeInternal   diag.Code = "PTO-K013" // the evaluator broke
	CodeMemory     diag.Code = "PTO-K012" // a handle whose memory is not mapped
)
