package lower

import "github.com/ptobuild/ptobuild/internal/diag"

const (
	// CodeHandle: the function given is not an orchestration function of the program.
	CodeHandle diag.Code = "PTO-G001"
	// CodeProperty: a property that an earlier pass establishes does not hold.
	CodeProperty diag.Code = "PTO-G002"
	// CodeInternal: an invariant of the lowering broke.
	CodeInternal diag.Code = "PTO-G003"
	// CodeParam: a parameter of a type that an entry function cannot take.
	CodeParam diag.Code = "PTO-G004"
	// CodeMisplaced: an op or statement that may not stand in an orchestration body.
	CodeMisplaced diag.Code = "PTO-G005"
	// CodeUndefined: a variable is read that nothing defines.
	CodeUndefined diag.Code = "PTO-G006"
	// CodeDim: a dynamic dimension that no tensor parameter declares.
	CodeDim diag.Code = "PTO-G007"
	// CodeDirections: argument directions do not fit the call.
	CodeDirections diag.Code = "PTO-G010"
	// CodeScalarArg: a scalar argument that is neither a variable nor a literal.
	CodeScalarArg diag.Code = "PTO-G011"
	// CodeMissingArg: a submit leaves out a parameter that is not Out.
	CodeMissingArg diag.Code = "PTO-G012"
	// CodeReturnMap: the result of a call cannot be mapped to a parameter of the callee.
	CodeReturnMap diag.Code = "PTO-G013"
	// CodeScalarResult: a kernel returns a scalar that is used.
	CodeScalarResult diag.Code = "PTO-G014"
	// CodeCallee: a callee that cannot be launched.
	CodeCallee diag.Code = "PTO-G015"
	// CodeWrapper: a Group or Spmd function of a form that cannot be launched.
	CodeWrapper diag.Code = "PTO-G016"
	// CodeCoreNum: a block count of an unsupported form.
	CodeCoreNum diag.Code = "PTO-G017"
	// CodePredicate: a dispatch predicate that the runtime cannot evaluate.
	CodePredicate diag.Code = "PTO-G018"
	// CodeClosedScope: a dependency on a task of a scope that has closed.
	CodeClosedScope diag.Code = "PTO-G020"
	// CodeTensorScope: a tensor is used after the scope that owns it.
	CodeTensorScope diag.Code = "PTO-G021"
	// CodeTensorLifetime: a tensor is used where the runtime may have reused its memory (a warning).
	CodeTensorLifetime diag.Code = "PTO-G032"
	// CodeTripCount: a loop that carries task ids per trip has no constant trip count.
	CodeTripCount diag.Code = "PTO-G022"
	// CodeEdgeDropped: a derived dependency could not be expressed (a note).
	CodeEdgeDropped diag.Code = "PTO-G023"
	// CodePlaceholder: a merged tensor has no value to start from.
	CodePlaceholder diag.Code = "PTO-G024"
	// CodeDType: an element type that the runtime does not have.
	CodeDType diag.Code = "PTO-G025"
	// CodeLoop: a loop of a kind that must be gone by now.
	CodeLoop diag.Code = "PTO-G026"
	// CodeExpr: an expression that has no C++ form.
	CodeExpr diag.Code = "PTO-G027"
	// CodePitch: a kernel gets columns of a tensor whose rows have a length that is known only at run time (a warning).
	CodePitch diag.Code = "PTO-G033"
	// CodeUnfencedRead: the orchestration reads elements that a task of a MANUAL scope wrote, without waiting for it (a warning).
	CodeUnfencedRead diag.Code = "PTO-G031"
	// CodeScopeDepth: scopes are nested deeper than the runtime has rings (a warning).
	CodeScopeDepth diag.Code = "PTO-G030"
)
