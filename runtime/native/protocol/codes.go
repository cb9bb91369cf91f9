package protocol

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports of the host and about its answers.
const (
	CodeLoad         diag.Code = "PTO-R103" // the shared object cannot be loaded or lacks its entry points
	CodeArgument     diag.Code = "PTO-R107" // an entry argument that was not given
	CodeProtocol     diag.Code = "PTO-R108" // the child process answered something unreadable
	CodeAssertion    diag.Code = "PTO-R109" // always_assert or debug_assert failed
	CodeException    diag.Code = "PTO-R110" // a C++ exception left the orchestration
	CodePointer      diag.Code = "PTO-R111" // a runtime call got a pointer to memory that is not there
	CodeInputWritten diag.Code = "PTO-R113" // a kernel written in C++ changed an input
	CodeStray        diag.Code = "PTO-R114" // a kernel written in C++ wrote outside of its arguments
	CodeElementType  diag.Code = "PTO-R115" // an element is accessed as another kind of number
)
