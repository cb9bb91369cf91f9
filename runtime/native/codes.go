// Package native compiles orchestration C++ with the host compiler and runs it on the simulator in a child process: the tool re-executes itself, so a
// crash or a hang of user code is a report that names the last call it made, and nothing of the build is lost.
//
// compile.go makes the shared object, parent.go starts and watches the child, death.go says how a child died, child.go is the child, bridge.go its
// callbacks, progress.go what the two share besides the trace, abi.go mirrors the C structs of the header. Shared objects are loaded through purego: the tool needs no cgo.
package native

import "github.com/ptobuild/ptobuild/internal/diag"

const (
	CodeToolchain    diag.Code = "PTO-R101" // no usable C++ compiler
	CodeCompile      diag.Code = "PTO-R102" // the C++ compiler refused generated or hand-written code
	CodeLoad         diag.Code = "PTO-R103" // the shared object cannot be loaded or lacks its entry points
	CodeCrash        diag.Code = "PTO-R105" // the orchestration's process died
	CodeHang         diag.Code = "PTO-R106" // the orchestration did not end in time
	CodeArgument     diag.Code = "PTO-R107" // an entry argument that was not given
	CodeProtocol     diag.Code = "PTO-R108" // the child process answered something unreadable
	CodeAssertion    diag.Code = "PTO-R109" // always_assert or debug_assert failed
	CodeException    diag.Code = "PTO-R110" // a C++ exception left the orchestration
	CodePointer      diag.Code = "PTO-R111" // a runtime call got a pointer to memory that is not there
	CodeKernelEntry  diag.Code = "PTO-R112" // a kernel written in C++ without kernel_entry
	CodeInputWritten diag.Code = "PTO-R113" // a kernel written in C++ changed an input
	CodeStray        diag.Code = "PTO-R114" // a kernel written in C++ wrote outside of its arguments
	CodeElementType  diag.Code = "PTO-R115" // an element is accessed as another kind of number
)
