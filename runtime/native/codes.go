// Package native compiles orchestration C++ with the host compiler and runs it on the simulator in a process of its own, ptobuild-orchestration-host: a crash or a hang of
// user code is a report that names the last call it made, and nothing of the build is lost.
//
// compile.go makes the shared object, children.go starts the processes, parent.go asks one and watches it, death.go says how it died. What runs in it is package host, which
// loads the objects through purego: neither program needs cgo, and only that one links purego, which makes every start dearer by a dynamic linker. Package protocol is
// what the two say to each other.
package native

import "github.com/ptobuild/ptobuild/internal/diag"

const (
	CodeToolchain   diag.Code = "PTO-R101" // no usable C++ compiler
	CodeCompile     diag.Code = "PTO-R102" // the C++ compiler refused generated or hand-written code
	CodeCrash       diag.Code = "PTO-R105" // the orchestration's process died
	CodeHang        diag.Code = "PTO-R106" // the orchestration did not end in time
	CodeKernelEntry diag.Code = "PTO-R112" // a kernel written in C++ without kernel_entry
	CodeHost        diag.Code = "PTO-R116" // ptobuild-orchestration-host is missing or of another version
)
