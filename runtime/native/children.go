package native

import (
	"errors"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/native/protocol"
)

// HelperName is the program in which compiled orchestrations run; HelperEnv overrides where it is.
const (
	HelperName = "ptobuild-orchestration-host"
	HelperEnv  = "PTOBUILD_ORCHESTRATION_HOST"
)

// Helper is the path of that program: beside the running executable unless the environment says otherwise.
func Helper() (string, error) {
	if p := os.Getenv(HelperEnv); p != "" {
		return p, nil
	}
	exe, err := os.Executable()
	return filepath.Join(filepath.Dir(exe), HelperName), err
}

// Children starts the processes in which compiled orchestrations run. Each answers one request. One can be started before it is known what for: what a
// process does until it can read a request takes longer than most runs.
type Children struct {
	Helper string // path of the program

	mu    sync.Mutex
	ahead func() (*child, error) // gives the child that no run has yet, when it has started; nil: there is none
}

// NewChildren makes children of the program at a path, that of Helper.
func NewChildren(helper string) *Children { return &Children{Helper: helper} }

// Ahead starts a child for the next run in the background, unless one waits already.
func (c *Children) Ahead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ahead != nil {
		return
	}
	ahead := sync.OnceValues(func() (*child, error) { return startChild(c.Helper) })
	go ahead()
	c.ahead = ahead
}

// next is a child for a run.
func (c *Children) next() (*child, error) {
	if ahead := c.take(); ahead != nil {
		return ahead()
	}
	return startChild(c.Helper)
}

// Close ends the child that was started ahead, when no run took it.
func (c *Children) Close() {
	if ahead := c.take(); ahead != nil {
		if child, err := ahead(); err == nil {
			child.kill()
			_ = child.wait()
			child.close()
		}
	}
}

func (c *Children) take() (ahead func() (*child, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead, c.ahead = c.ahead, nil
	return ahead
}

// child is a process that answers one request, and the parent's ends of what connects them.
type child struct {
	cmd      *osexec.Cmd
	progress *progressFile
	output   printed
	request  *os.File // is written to
	response *os.File // is read
	ask      *os.File // is read: questions about ops
	answer   *os.File // is written to
	object   *os.File // the orchestration, for which no folder has to be made and removed

	answering sync.WaitGroup
}

func startChild(helper string) (_ *child, err error) {
	c := &child{cmd: osexec.Command(helper, protocol.Arg)}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			c.close()
			err = notStarted(helper, err)
		}
	}()
	for _, ours := range []struct { // in the order of the child's descriptors
		end    **os.File
		writes bool
	}{{&c.request, true}, {&c.response, false}, {&c.ask, false}, {&c.answer, true}} {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if ours.writes {
			*ours.end, theirs = w, append(theirs, r)
		} else {
			*ours.end, theirs = r, append(theirs, w)
		}
	}
	p, err := newProgress()
	if err != nil {
		return nil, err
	}
	c.progress = p
	if c.object, err = memoryFile("ptobuild-orchestration"); err != nil {
		return nil, err
	}
	c.cmd.ExtraFiles = append(theirs, p.file, c.object)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output // user code may print; it must not reach our own output
	c.cmd.Env = []string{"GOTRACEBACK=none", "PATH=" + os.Getenv("PATH")}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = time.Second // a process that user code started may keep the pipes open
	return c, c.cmd.Start()
}

// notStarted is the report that the program of the children cannot be started.
func notStarted(helper string, err error) *diag.Diagnostic {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return diag.Errorf(CodeHost, diag.Span{}, "%s, which runs compiled C++, cannot be started: %v", helper, err).
		WithHint("install it beside ptobuild (go install ./cmd/...), or set %s to its path", HelperEnv)
}

// ours reports that the child says that it is of the same version as this program. It waits for the child's start.
func (c *child) ours() bool {
	var hello protocol.Hello
	return protocol.Read(c.response, &hello) == nil && hello.Build == protocol.Build()
}

func otherVersion(helper string) *diag.Diagnostic {
	return diag.Errorf(CodeHost, diag.Span{}, "%s, which runs compiled C++, is not of the same version as this ptobuild", helper).
		WithHint("install both from one release: go install ./cmd/...")
}

// send sends the request in the background. What the child prints from now on goes to output.
func (c *child) send(req *protocol.Request, output io.Writer) {
	c.output.divert(output)
	go func() {
		defer c.request.Close()
		w := protocol.Writer{W: c.request}
		_ = w.Write(req) // a child that died reads nothing: its end tells
	}()
}

// evaluate answers the child's questions about ops in the background.
func (c *child) evaluate(reg *ops.Registry) {
	c.answering.Go(func() { answerChild(reg, c.ask, c.answer) })
}

// kill ends the child.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended
	c.response.SetReadDeadline(time.Now())
}

// wait waits for the end of the child and of what it printed.
func (c *child) wait() error {
	err := c.cmd.Wait()
	c.output.close()
	return err
}

// close frees what the parent has of a child that has ended.
func (c *child) close() {
	for _, f := range []*os.File{c.request, c.response, c.ask, c.answer, c.object} {
		if f != nil {
			f.Close()
		}
	}
	c.answering.Wait()
	if c.progress != nil {
		c.progress.Close()
	}
}
