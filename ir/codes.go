package ir

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the verifier. The property that a code belongs to is named first.
const (
	codeMalformed diag.Code = "PTO-V001" // every property: a node lacks a required part

	codeAssignedTwice diag.Code = "PTO-V101" // SSAForm: a Var has two definitions
	codeYieldMissing  diag.Code = "PTO-V103" // SSAForm: a branch or loop body with results does not end in a yield
	codeYieldCount    diag.Code = "PTO-V105" // SSAForm: a yield gives another number of values than are expected
	codeOutsideScope  diag.Code = "PTO-V106" // SSAForm: a Var is used outside the branch or loop that defines it
	codeYieldPosition diag.Code = "PTO-V107" // SSAForm: a yield is not the last statement of its body

	codeUseBeforeDef  diag.Code = "PTO-V110" // UseAfterDef: a Var is read before anything defines it, or nothing does
	codeNestedCall    diag.Code = "PTO-V111" // NoNestedCalls: a call stands inside another expression
	codeBranch        diag.Code = "PTO-V112" // BreakContinueValid: break or continue outside of a loop that allows it
	codeRedundant     diag.Code = "PTO-V113" // NoRedundantBlocks: an empty else, or statements after the end of a block
	codeNestedInCore  diag.Code = "PTO-V114" // NoNestedInCore: a kernel scope inside a kernel scope
	codePipelineLoop  diag.Code = "PTO-V115" // PipelineLoopValid: stages and the kind of loop do not fit
	codeInlineLeft    diag.Code = "PTO-V116" // InlineFunctionsEliminated: an inline function, or a call of one, is left
	codeUnrollLeft    diag.Code = "PTO-V117" // UnrollResolved: an unrolled loop is left
	codeScopeLeft     diag.Code = "PTO-V118" // HierarchyOutlined, ClusterOutlined: a scope of this kind is left
	codeReservedDelim diag.Code = "PTO-V119" // CheckUserName: a user's name contains the delimiter of generated names

	codeAssignType  diag.Code = "PTO-V201" // TypeChecked: a value has another type than the variable it is assigned to
	codeCondition   diag.Code = "PTO-V202" // TypeChecked: a condition is not a BOOL scalar
	codeBound       diag.Code = "PTO-V204" // TypeChecked: a loop bound is not an integer
	codeCarryType   diag.Code = "PTO-V205" // TypeChecked: a carried value changes its type
	codeYieldType   diag.Code = "PTO-V206" // TypeChecked: a yielded value has another type than the result
	codeOperand     diag.Code = "PTO-V207" // TypeChecked: operands do not fit the operator
	codeTupleIndex  diag.Code = "PTO-V208" // TypeChecked: an element that the tuple does not have
	codeArgument    diag.Code = "PTO-V209" // TypeChecked: arguments do not fit the parameters
	codeReturnType  diag.Code = "PTO-V210" // TypeChecked: a returned value does not fit the declared result
	codeCallResult  diag.Code = "PTO-V211" // TypeChecked: the type of a call is not that of the callee's results
	codeOutShadowed diag.Code = "PTO-V301" // OutParamNotShadowed: an output parameter is replaced by a fresh tensor
	codeStaleRead   diag.Code = "PTO-V302" // InOutUseValid: a Var is read after a call that was given it to write
	codeArrayEscape diag.Code = "PTO-V303" // ArrayNotEscaped: an array as parameter, result or argument
	codeManualDeps  diag.Code = "PTO-V304" // ManualDepsOnSubmitOnly: dependencies on a plain call
	codeSubmitAttr  diag.Code = "PTO-V305" // ManualDepsOnSubmitOnly: dependencies of a submit as an attribute
	codeNoReturn    diag.Code = "PTO-V306" // ReturnParamsExplicit: a kernel with results has no return
	codeReturnAlias diag.Code = "PTO-V307" // ReturnParamsExplicit: a result is a parameter under another name
	codeInCoreLeft  diag.Code = "PTO-V308" // SplitIncoreOrch: a kernel scope is left in an orchestration
	codeComputeOp   diag.Code = "PTO-V309" // SplitIncoreOrch: a compute op is left in an orchestration (warning)
	codeNoCallee    diag.Code = "PTO-V310" // OrchestrationReferencesResolved: the callee does not exist
	codeDirections  diag.Code = "PTO-V311" // CallDirectionsResolved: argument directions are missing or do not fit
	codeWrapperDirs diag.Code = "PTO-V312" // CallDirectionsResolved: a wrapper declares less than its kernels do
	codeAutoScope   diag.Code = "PTO-V313" // RuntimeScopesMaterialized: the pass did not run on an orchestration
	codeCarryClass  diag.Code = "PTO-V314" // IterArgCarryClassified: a carried value is not classified
)
