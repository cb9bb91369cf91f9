package lower

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports about DSL statements, calls and scopes.
const (
	CodeUndefined   diag.Code = "PTO-D001" // a name that nothing defines
	CodeStatement   diag.Code = "PTO-D002" // a Python statement that the DSL does not have
	CodeExpression  diag.Code = "PTO-D003" // a Python expression that the DSL does not have
	CodeAnnotation  diag.Code = "PTO-D004" // a missing or malformed annotation
	CodeLoop        diag.Code = "PTO-D005" // a malformed for or while
	CodeYield       diag.Code = "PTO-D006" // a pl.yield_ in the wrong place or of the wrong shape
	CodeBranch      diag.Code = "PTO-D007" // break or continue where there is none
	CodeUnknownFunc diag.Code = "PTO-D010" // a callee that does not exist
	CodeArguments   diag.Code = "PTO-D011" // wrong arguments of a call
	CodeKeyword     diag.Code = "PTO-D012" // a keyword argument that is unknown or malformed
	CodeSubmit      diag.Code = "PTO-D013" // a submit where none can stand
	CodeDeps        diag.Code = "PTO-D014" // a malformed deps=
	CodePredicate   diag.Code = "PTO-D015" // a malformed predicate=
	CodeScope       diag.Code = "PTO-D016" // a malformed with-scope, or one that may not nest here
	CodeSpmd        diag.Code = "PTO-D017" // a malformed pl.spmd or pl.split_aiv
	CodeDecorator   diag.Code = "PTO-D018" // a malformed decorator or function attribute
	CodeFunction    diag.Code = "PTO-D019" // a malformed function or program
	CodeMisplaced   diag.Code = "PTO-D020" // an operation in a function that cannot have it
	CodeSSA         diag.Code = "PTO-D021" // a second assignment under strict_ssa
	CodeStatic      diag.Code = "PTO-D022" // static_assert, static_print
	CodeDump        diag.Code = "PTO-D023" // dump_tag, dumps=
	CodeUnpack      diag.Code = "PTO-D024" // an unpacking that does not fit
	CodeRecursion   diag.Code = "PTO-D025" // functions that call each other in a circle
	CodeOutOfScope  diag.Code = "PTO-D026" // a name that is read outside the region that defines it
	CodeJIT         diag.Code = "PTO-D027" // a malformed pl.jit function
	CodeNesting     diag.Code = "PTO-D028" // expressions or statements nested too deep
	CodePipe        diag.Code = "PTO-D029" // the two ends of a pipe that do not find each other (warning)
	CodeUnused      diag.Code = "PTO-D030" // something written that has no effect (warning)
	CodeNotWritten  diag.Code = "PTO-D031" // an output that the caller will not see (warning)
	CodeComment     diag.Code = "PTO-D032" // a comment that is not kept (warning)
)

// Codes of the reports about types.
const (
	CodeReassign  diag.Code = "PTO-T101" // a name assigned again with another type
	CodeAnnotated diag.Code = "PTO-T102" // an annotation that contradicts the value
	CodeCondition diag.Code = "PTO-T103" // a condition that is not a BOOL scalar
	CodeOperand   diag.Code = "PTO-T104" // operands of an operator that do not fit
	CodeArgType   diag.Code = "PTO-T105" // an argument whose type does not fit the parameter
	CodeShape     diag.Code = "PTO-T106" // a shape that is no shape
	CodeSubscript diag.Code = "PTO-T107" // a subscript that does not fit
	CodeConstant  diag.Code = "PTO-T108" // a value that must be known at compile time
	CodeMerge     diag.Code = "PTO-T109" // a name with another type in each branch
)
