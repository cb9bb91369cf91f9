package syntax

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports that the parser gives.
const (
	CodeSyntax    diag.Code = "PTO-P001" // a token where the grammar has no place for it
	CodeSource    diag.Code = "PTO-P002" // a character or an encoding that source text cannot have
	CodeString    diag.Code = "PTO-P003" // a string that does not end, or whose contents are malformed
	CodeBracket   diag.Code = "PTO-P004" // a bracket that is never closed, never opened, or closed by another kind
	CodeIndent    diag.Code = "PTO-P005" // indentation that fits no block, or mixes tabs and blanks
	CodeBlock     diag.Code = "PTO-P006" // a statement that needs an indented block and has none
	CodeColon     diag.Code = "PTO-P007" // a missing ':'
	CodeTarget    diag.Code = "PTO-P008" // assignment to, or deletion of, what is not a target
	CodeArguments diag.Code = "PTO-P009" // malformed arguments of a call
	CodeParams    diag.Code = "PTO-P010" // a malformed parameter list
	CodeNumber    diag.Code = "PTO-P011" // a malformed number
	CodeNesting   diag.Code = "PTO-P012" // source nested deeper than the limits
	CodeTooMany   diag.Code = "PTO-P013" // more errors than are worth showing
)
