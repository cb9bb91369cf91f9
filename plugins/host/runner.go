package host

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/launch"
)

// execRunner holds the process of a plugin. Unlike go-plugin's own runner it starts it as package launch says, or holds one that the client launched, and it does not
// wait for the output of a process that is gone: what that started may hold it open for good.
type execRunner struct {
	name   string
	start  func() (pid int, err error)
	wait   func() string // until it is gone; gives how it ended
	kill   func() error
	pipes  [2]*os.File // the ends of its stdout and stderr
	stdout io.ReadCloser
	silent <-chan struct{} // closed at the end of its standard output
	pid    int             // 0 before the start
	ended  chan struct{}   // closed when the process is gone

	mu    sync.Mutex
	state string // how it ended
}

// newRunner makes a runner that starts a process.
func newRunner(cmd *exec.Cmd, memory int64, said io.Writer) (*execRunner, error) {
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		_, _ = stdout.Close(), stdoutEnd.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = stdoutEnd, stderrEnd
	shaken, silent := quiet(stdout, said)
	return &execRunner{
		name: cmd.Path, pipes: [2]*os.File{stdout, stderr}, stdout: shaken, silent: silent, ended: make(chan struct{}),
		start: func() (int, error) {
			err := launch.Start(cmd, memory)
			_, _ = stdoutEnd.Close(), stderrEnd.Close() // the process has them
			if err != nil {
				_, _ = stdout.Close(), stderr.Close()
				return 0, err
			}
			return cmd.Process.Pid, nil
		},
		kill: func() error { return launch.Kill(cmd.Process) },
		wait: func() string {
			_ = cmd.Wait() // the state says how
			return cmd.ProcessState.String()
		},
	}, nil
}

// launched is a plugin that the client launched together with this program.
type launched struct {
	plugins.Launched
	stdout, stderr *os.File
	ended          chan string // how, from the client, whose child it is; closed when the client is gone
}

// runner holds it.
func (l *launched) runner(c *plugins.Config, said io.Writer) *execRunner {
	shaken, silent := quiet(l.stdout, said)
	return &execRunner{
		name: c.Path, pipes: [2]*os.File{l.stdout, l.stderr}, stdout: shaken, silent: silent, ended: make(chan struct{}),
		start: func() (int, error) { return l.PID, nil },
		wait:  func() string { return <-l.ended },
		kill: func() error {
			p, err := os.FindProcess(l.PID) // only now: the first handle of a process costs half a millisecond
			if err != nil {
				return err
			}
			return launch.Kill(p)
		},
	}
}

// handshake is the line by which a plugin says where it listens.
var handshake = regexp.MustCompile(`^\d+\|\d+\|(unix|tcp)\|`)

// quiet passes on the handshake and keeps everything else away from it: what a library prints while it is loaded is no reason to fail. The rest counts as
// said. silent is closed at its end.
func quiet(stdout io.ReadCloser, said io.Writer) (passed io.ReadCloser, silent <-chan struct{}) {
	r, w := io.Pipe()
	end := make(chan struct{})
	go func() {
		in := bufio.NewReaderSize(stdout, maxLine)
		shaken := false
		for {
			line, err := in.ReadSlice('\n') // a longer line comes in pieces
			if !shaken && handshake.Match(line) {
				shaken = true
				_, _ = w.Write(line) // nobody reads any more when the start was given up
			} else {
				_, _ = said.Write(line)
			}
			if err != nil && err != bufio.ErrBufferFull {
				close(end)
				_ = w.CloseWithError(io.EOF)
				return
			}
		}
	}()
	return r, end
}

// maxLine is more than a handshake with a certificate.
const maxLine = 64 << 10

// lastWords is how long after its end it is waited for what a plugin wrote.
const lastWords = 200 * time.Millisecond

func (r *execRunner) Start(context.Context) (err error) {
	if r.pid, err = r.start(); err != nil {
		return err
	}
	go func() {
		state := r.wait()
		r.mu.Lock()
		r.state = state
		r.mu.Unlock()
		for _, f := range r.pipes {
			_ = f.SetReadDeadline(time.Now().Add(lastWords)) // a pipe has deadlines
		}
		close(r.ended)
	}()
	return nil
}

// Wait is called when all output was read.
func (r *execRunner) Wait(context.Context) error {
	<-r.ended
	for _, f := range r.pipes {
		_ = f.Close()
	}
	return nil
}

// exit says how the process ended.
func (r *execRunner) exit() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *execRunner) Kill(context.Context) error {
	select {
	case <-r.ended:
		return nil
	default:
	}
	if r.pid == 0 {
		return nil
	}
	select {
	case <-r.silent: // most programs that close their output are about to end, and how they do says more than a kill
		select {
		case <-r.ended:
			return nil
		case <-time.After(lastWords):
		}
	default:
	}
	return r.kill()
}

func (r *execRunner) Stdout() io.ReadCloser           { return r.stdout }
func (r *execRunner) Stderr() io.ReadCloser           { return r.pipes[1] }
func (r *execRunner) Name() string                    { return r.name }
func (r *execRunner) Diagnose(context.Context) string { return "" }

func (r *execRunner) ID() string {
	if r.pid == 0 {
		return ""
	}
	return strconv.Itoa(r.pid)
}

func (r *execRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (r *execRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
