// Package protocol is what ptobuild and ptobuild-orchestration-host, the process that runs compiled C++, say to each other: the messages, the ops that the host asks about, and
// the page on which it notes what it is doing. Both programs link it, and the host starts for every run, so it imports nothing heavy.
package protocol

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/artifact"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Arg is the first argument of a host, so that one that was started by hand says what it is.
const Arg = "__orchestration"

// File descriptors of the host besides the standard ones.
const (
	RequestFD  = 3 // one Request
	ResponseFD = 4 // a Hello at the start, then Messages
	AskFD      = 5 // questions about ops (see foreign.go)
	AnswerFD   = 6
	ProgressFD = 7 // see Progress
	ObjectFD   = 8 // the shared object of the orchestration
)

// Object is the path of the shared object of the orchestration, as the host sees it.
const Object = "/proc/self/fd/8"

// Hello is the first message of a host.
type Hello struct {
	Build string // see Build
}

// Build identifies the program that both sides were built from: its version, and the shape of the messages, which do not name their fields. A host that an upgrade left
// behind says another one.
func Build() string {
	version := ""
	if bi, ok := debug.ReadBuildInfo(); ok {
		version = bi.Main.Version
	}
	return version + " " + shape
}

// shape stands for the fields of all messages. A test says what it has to be; to find out at every start would take a part of the time of a run.
const shape = "2a8b3460b831dbce"

// Request is what the parent wants to have run.
type Request struct {
	Source    string // name of the C++ file, as it stands in call sites
	Lines     []LineSpan
	Program   []byte
	Kernels   []plan.Kernel
	External  []ExternalFile
	Tensors   []exec.Tensor
	Scalars   []uint64
	Schedules []exec.Schedule
	Machine   sim.Config
	Foreign   []ForeignOp // ops that the parent evaluates
	Inspect   *Inspection // of the first schedule; nil: none
	Forget    bool        // what C++ kernels wrote is not asked for
	Probe     bool        // in the first schedule, find out what C++ kernels do with their outputs
}

// ExternalFile is the shared object of a kernel written in C++.
type ExternalFile struct {
	ID           int
	Path, Source string
}

// Message is one part of the answer. A complete answer has a Result for every schedule, or ends with Err.
type Message struct {
	Fatal  *diag.Diagnostic // latched in the schedule that runs; its Result follows unless the host dies
	Trace  []byte           // a piece of the trace of the schedule that runs
	Result *Result
	Err    *diag.Diagnostic // the request cannot be served
}

// Result is that of one schedule.
type Result struct {
	Outputs [][]byte
	Trace   [][]byte // the pieces that were not sent before
	Diags   diag.List
	Tasks   int
	Stats   sim.Stats
	Effects [][]exec.Write
	Found   *Findings
}

// Inspection says what the host does with the runtime of the first schedule of a job after its end: the runtime cannot leave the process.
type Inspection struct {
	Names  check.Names
	Advise bool

	Dir           string // artefacts go here, "": there are none
	Orchestration string // the name of the entry function in them
	Args          artifact.Level
	Dirs          [][]ir.ParamDir // of kernel parameters, where they are known
}

// Findings are what an inspection gave.
type Findings struct {
	Report *check.Report
	Advice *check.Advice
	Failed string // why the artefacts could not be written
}

// LineSpan says which DSL place the lines First to Last of the C++ come from. Entries are in line order and do not overlap.
type LineSpan struct {
	First, Last int32
	Span        diag.Span
}

// Place finds the DSL place of a C++ line.
func Place(lines []LineSpan, line int32) (diag.Span, bool) {
	i, ok := slices.BinarySearchFunc(lines, line, func(l LineSpan, line int32) int {
		switch {
		case l.Last < line:
			return -1
		case l.First > line:
			return 1
		}
		return 0
	})
	if !ok {
		return diag.Span{}, false
	}
	return lines[i].Span, true
}

// KernelSymbol is the function of a compiled C++ kernel that the host calls.
const KernelSymbol = "pto_kernel"

// PointerMessage and PointerHint are the report of a call that got a bad pointer, whichever side finds it.
const (
	PointerMessage = "this call was given a pointer to memory that is not there"
	PointerHint    = "tensors, create-infos and dependency arrays must live until the submit; look for a null or dangling pointer"
)

// ArgNames are the names of the tensor parameters of each kernel that declares them.
type ArgNames [][]string

// Of is an argument in a report: "argument 1 (scale)", or "argument 1".
func (n ArgNames) Of(kernel, arg int) string {
	if kernel < len(n) && arg < len(n[kernel]) {
		return fmt.Sprintf("argument %d (%s)", arg, n[kernel][arg])
	}
	return fmt.Sprint("argument ", arg)
}
