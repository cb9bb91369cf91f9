package lang

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports of this package.
const (
	CodeEntry   diag.Code = "PTO-D101" // no program or entry of the wanted name
	CodeNothing diag.Code = "PTO-D102" // a text given to pl.parse without a program
	CodeSeveral diag.Code = "PTO-D103" // a text given to pl.parse with several
	CodeFactory diag.Code = "PTO-D104" // a factory that gives no program
	CodeArgs    diag.Code = "PTO-D105" // a parameter value that no entry takes
	CodeUnread  diag.Code = "PTO-D106" // definitions in a function that cannot be called without arguments (warning)
	CodeImport  diag.Code = "PTO-D107" // the DSL is used but not imported
)
