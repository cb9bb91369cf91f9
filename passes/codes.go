package passes

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports of the manager and of the passes up to flattening.
const (
	CodeInternal      diag.Code = "PTO-X001" // a pass broke an invariant: a defect of ptobuild or of a plugin
	codeMissing       diag.Code = "PTO-X002" // the program lacks what the first pass needs
	codeNoSuchPass    diag.Code = "PTO-X003" // no pass of that name
	codeInlineCycle   diag.Code = "PTO-X010" // inline functions that call each other in a circle
	codeInlineReturn  diag.Code = "PTO-X011" // an inline function that returns before its end
	codeInlineNested  diag.Code = "PTO-X012" // a call of an inline function inside an expression
	codeInlineArgs    diag.Code = "PTO-X013" // wrong number of arguments or results at an inline call
	codeInlineLaunch  diag.Code = "PTO-X014" // launch options on a call of an inline function
	codeUnrollBounds  diag.Code = "PTO-X020" // unroll bounds that are not literals, or a zero step
	codeUnrollSize    diag.Code = "PTO-X021" // an unrolled loop with too many trips
	codeUnrollCarries diag.Code = "PTO-X022" // an unrolled loop with init_values
	codeReturn        diag.Code = "PTO-X025" // a return that cannot be moved to the end
	codeBranch        diag.Code = "PTO-X026" // a break or continue that cannot be replaced
	codeYieldPosition diag.Code = "PTO-X031" // a yield that is not the last statement of its block
	codeYieldCount    diag.Code = "PTO-X032" // a yield that does not fit its loop or if
	codeMaybeUnset    diag.Code = "PTO-X033" // a variable read where it may have no value
	codeNeverSeeded   diag.Code = "PTO-X034" // a value first set in a loop, read after it, with nothing to start from
	codeSeeded        diag.Code = "PTO-X035" // warning: a value that another variable stands in for when a loop does not set it
	codeCarryType     diag.Code = "PTO-X036" // a variable whose type changes around a loop or between branches
)
