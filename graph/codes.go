package graph

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports about the workspace and its targets.
const (
	CodeNoWorkspace diag.Code = "PTO-W001" // no Pto.toml above the folder
	CodeConfig      diag.Code = "PTO-W002" // Pto.toml is not valid
	CodeUnknownKey  diag.Code = "PTO-W003" // Pto.toml has a key that nothing reads
	CodePattern     diag.Code = "PTO-W004" // malformed pattern
	CodeNoMatch     diag.Code = "PTO-W005" // a pattern or label selects nothing
	CodeDuplicate   diag.Code = "PTO-W006" // two targets or tests of one name
	CodeTestSetup   diag.Code = "PTO-W007" // a test's inputs do not fit its target
	CodeMismatch    diag.Code = "PTO-W008" // a test's result differs from what was expected
	CodeReference   diag.Code = "PTO-W009" // a reference command failed
	CodeOutput      diag.Code = "PTO-W010" // an output could not be written
	CodeRead        diag.Code = "PTO-W011" // a file could not be read
	CodeTrace       diag.Code = "PTO-W012" // the compiled C++ did something else than its plan
	CodeUnwritten   diag.Code = "PTO-W014" // a run left elements of a pl.Out tensor unwritten
	CodeAllow       diag.Code = "PTO-W016" // an allowance of a report that says nothing, or that nothing needs
	CodeUndeclared  diag.Code = "PTO-W030" // a source needs a file that its build target does not declare
	CodeStage       diag.Code = "PTO-W015" // no stage of that name
)
