package ops

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports of this package.
const (
	CodeUnknownOp   diag.Code = "PTO-T001" // no op of that name
	CodeCount       diag.Code = "PTO-T002" // too few or too many operands
	CodeOperand     diag.Code = "PTO-T003" // an operand of the wrong kind
	CodeMixed       diag.Code = "PTO-T004" // tensors and tiles in one op
	CodeUnknownKw   diag.Code = "PTO-T005" // no keyword argument of that name
	CodeKwValue     diag.Code = "PTO-T006" // a keyword argument with a value it cannot have
	CodeMissingKw   diag.Code = "PTO-T007" // a required keyword argument is missing
	CodeDType       diag.Code = "PTO-T008" // an element type that the op does not take
	CodeRank        diag.Code = "PTO-T009" // wrong number of axes
	CodeShape       diag.Code = "PTO-T010" // extents that do not fit together
	CodeBounds      diag.Code = "PTO-T011" // an axis, index or window outside of its tensor
	CodeMem         diag.Code = "PTO-T012" // a tile in a memory space that the op cannot use
	CodeTmp         diag.Code = "PTO-T013" // tmp_tile missing for tiles or given for tensors
	CodeInit        diag.Code = "PTO-T014" // an init_value that the elements cannot hold exactly
	CodeView        diag.Code = "PTO-T015" // a tensor view that cannot be expressed
	CodeReinterpret diag.Code = "PTO-T016" // reinterpret_view in an orchestration function
	CodePacked      diag.Code = "PTO-T017" // an operation on 4-bit elements that splits a byte
	CodePlace       diag.Code = "PTO-T018" // an op in a function where it may not stand
)
