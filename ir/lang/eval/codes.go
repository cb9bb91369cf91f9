package eval

import "github.com/ptobuild/ptobuild/internal/diag"

// Codes of the reports that the evaluator gives.
const (
	CodeUndefined diag.Code = "PTO-E001" // a name that nothing binds
	CodePoisoned  diag.Code = "PTO-E002" // a name whose value cannot be computed before the program runs
	CodeRaised    diag.Code = "PTO-E003" // module code that raises an exception
	CodeAssert    diag.Code = "PTO-E004" // a module assertion that fails
	CodeStatic    diag.Code = "PTO-E005" // an expression that cannot be computed before the program runs
	CodeLimit     diag.Code = "PTO-E006" // evaluation beyond the limits of steps, depth or size
	CodeImport    diag.Code = "PTO-E007" // a module that cannot be read
	CodeNoModule  diag.Code = "PTO-E010" // a value of a module that was not found
	CodeDecorator diag.Code = "PTO-E009" // a decorator of the DSL package that does not exist
	CodeArgument  diag.Code = "PTO-E008" // an argument given on the command line that fits no parameter
)
