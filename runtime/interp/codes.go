package interp

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports of a direct run of a plan.
const (
	CodeArgs     diag.Code = "PTO-R060" // entry arguments that do not fit the declared ones
	CodeSteps    diag.Code = "PTO-R061" // the step limit was reached, or will be
	CodeEndless  diag.Code = "PTO-R067" // a loop that certainly never ends
	CodeDivide   diag.Code = "PTO-R062" // integer division by zero, or one whose result does not fit
	CodeShift    diag.Code = "PTO-R063" // a shift by a negative number or by the width of the type or more
	CodeIndex    diag.Code = "PTO-R064" // an index outside an array
	CodeBadPlan  diag.Code = "PTO-R065" // a plan that is no program: an undeclared name, an operand of the wrong kind
	CodeBlockNum diag.Code = "PTO-R066" // a block count below 1
)
