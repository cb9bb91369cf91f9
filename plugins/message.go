package plugins

import (
	"errors"
	"os"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// The messages between client and ptobuild-plugin-host (see Pipe). The client begins with a Hello, the helper answers with a HelloReply; then come Requests and, in
// any order, one Response each. The helper ends when its input ends.

// PipeVersion is the version of these messages. Both programs are built together; a helper that was left behind by an upgrade says so.
const PipeVersion = 5

// OutputEnv names the environment variable that, when it is set, has everything that plugins print shown at once, on standard error. Otherwise it is shown when they fail.
const OutputEnv = "PTOBUILD_PLUGIN_OUTPUT"

// Hello is the first message to the helper.
type Hello struct {
	Version int
	Plugins []Config
	// Folder holds sockets and the plugins' temporary files. The helper removes it when it ends.
	Folder string
	// Shared is the folder of the files that hand data to plugins, if there comes to be one. The client removes it, and the helper, for a client that was killed.
	Shared   string
	Launched *Launched
}

// FolderPattern names this folder. It is short: the path of a socket in it may have no more than 100 characters or so.
const FolderPattern = "pto-"

// MakeFolder makes this folder: where temporary files belong, unless that path leaves too little of such a path.
func MakeFolder() (string, error) {
	const longest = 50
	dir := os.TempDir()
	if st, err := os.Stat("/tmp"); len(dir) > longest && err == nil && st.IsDir() {
		dir = "/tmp"
	}
	return os.MkdirTemp(dir, FolderPattern)
}

// Launched is a plugin that the client started together with the helper, which takes it over: the files LaunchedStdout and LaunchedStderr of the helper are the ends
// of its pipes. The client tells when it is gone (Exit), being its parent.
type Launched struct {
	Plugin string
	PID    int
}

const (
	LaunchedStdout = 3
	LaunchedStderr = 4
)

// HelloReply answers it.
type HelloReply struct {
	Version int
}

// Request is one call of a plugin: the field that is set, or a Description when none is.
type Request struct {
	ID       uint64
	Plugin   string
	Exit     *Exit // no call: the launched plugin is gone; without a response
	Infer    *InferRequest
	Verify   *VerifyRequest
	Emit     *EmitRequest
	Evaluate *EvaluateRequest
	Run      *RunRequest
}

// Exit says how a process ended, as os.ProcessState puts it.
type Exit struct{ State string }

// Response answers the request of the same ID. With an error in Failure the rest is nil.
type Response struct {
	ID       uint64
	Failure  diag.List
	Desc     *Description
	Infer    *InferResponse
	Verify   *VerifyResponse
	Emit     *EmitResponse
	Evaluate *EvaluateResponse
	Run      *RunResponse
}

// InferRequest asks for the result types of op calls: see EncodeCalls.
type InferRequest struct {
	Ops     []string // the names of the ops, each once
	Calls   []byte
	Lenient bool
	Attempt Attempt
}

// Attempt says what becomes of a question at which the plugin ends or hangs.
type Attempt uint8

const (
	Single   Attempt = iota // the plugin is started and asked once more
	Together                // it is about several calls, which the client then asks about one by one
	Apart                   // it is one of those, so this is the second time that the plugin is asked
)

// InferResponse holds the same calls with their types, and reports about some.
type InferResponse struct {
	Calls  []byte
	Errors []CallError
}

// CallError is a report about one of several calls.
type CallError struct {
	Call int
	Diag *diag.Diagnostic
}

// VerifyRequest asks for reports about the calls of one function.
type VerifyRequest struct {
	Function string
	Calls    []byte
}

// VerifyResponse holds reports of any severity.
type VerifyResponse struct {
	Reports []CallError
}

// EmitRequest asks what calls in orchestration functions become. Bound says by call whether its result has a name.
type EmitRequest struct {
	Ops   []string
	Calls []byte
	Bound []bool

	Attempt Attempt
}

// EmitResponse has a template per call, and reports about some.
type EmitResponse struct {
	Templates []*template.Template
	Errors    []CallError
}

// EvaluateRequest asks for the numbers of one call; the Data of its elements is in a file (see EvaluationFile).
type EvaluateRequest struct {
	Evaluation *ops.Evaluation
	File       string
}

// EvaluateResponse is what does not travel in the file.
type EvaluateResponse struct {
	Error  *diag.Diagnostic
	Scalar any
	Origin []int64
}

// RunRequest runs a pass over the functions of a program.
type RunRequest struct {
	Pass      string
	Program   string
	Functions []byte
	Options   passes.Options
	Explain   bool
	Foreign   []*ops.Spec // ops that are neither built in nor the plugin's own
}

// RunResponse is what the pass made of them.
type RunResponse struct {
	Unchanged bool
	Functions []byte   // all functions, or with Order those that changed or are new
	Order     []string // the names of all functions of the new program
	Diags     diag.List
	Notes     []Note
	Fusions   []passes.Fusion
}

// Note is a decision told to --explain.
type Note struct {
	At   diag.Span
	Text string
}

// callsName is the function that carries calls.
const callsName = "calls"

// EncodeCalls encodes op calls as the protocol carries them: a function whose statements are the calls.
func EncodeCalls(calls []*ir.OpCall, t *ir.VarTable) ([]byte, error) {
	body := make(ir.Block, len(calls))
	for i, c := range calls {
		body[i] = &ir.Eval{X: c}
	}
	return ir.MarshalFunctions([]*ir.Function{{Name: callsName, Body: body}}, t)
}

// DecodeCalls is the inverse of EncodeCalls.
func DecodeCalls(data []byte, t *ir.VarTable) ([]*ir.OpCall, error) {
	fs, err := ir.UnmarshalFunctions(data, t)
	if err != nil {
		return nil, err
	}
	if len(fs) != 1 {
		return nil, errNotCalls
	}
	calls := make([]*ir.OpCall, len(fs[0].Body))
	for i, s := range fs[0].Body {
		e, ok := s.(*ir.Eval)
		if ok {
			calls[i], ok = e.X.(*ir.OpCall)
		}
		if !ok || calls[i].Typ == nil {
			return nil, errNotCalls
		}
	}
	return calls, nil
}

var errNotCalls = errors.New("not a list of op calls")
