package host

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"sync"
)

// execRunner runs a plugin as a process. Unlike go-plugin's own runner it gives the plugin /dev/null as standard input, and starts it from a thread that
// never ends: the kernel kills the plugin when the thread that started it ends, not the process (PR_SET_PDEATHSIG).
type execRunner struct {
	cmd            *exec.Cmd
	stdout, stderr io.ReadCloser
	memory         int64
	ended          chan struct{} // closed when the process is gone

	mu    sync.Mutex
	state string // how it ended
}

func newRunner(cmd *exec.Cmd, said io.Writer, memory int64) (*execRunner, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	return &execRunner{cmd: cmd, stdout: quiet(stdout, said), stderr: stderr, memory: memory, ended: make(chan struct{})}, nil
}

// handshake is the line by which a plugin says where it listens.
var handshake = regexp.MustCompile(`^\d+\|\d+\|(unix|tcp)\|`)

// quiet passes on the handshake and keeps everything else away from it: what a library prints while it is loaded is no reason to fail. The rest counts as
// said.
func quiet(stdout io.ReadCloser, said io.Writer) io.ReadCloser {
	r, w := io.Pipe()
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
				_ = w.CloseWithError(io.EOF)
				return
			}
		}
	}()
	return r
}

// maxLine is more than a handshake with a certificate.
const maxLine = 64 << 10

// onStarter runs f on the thread that starts processes.
var onStarter = sync.OnceValue(func() func(f func() error) error {
	work, done := make(chan func() error), make(chan error)
	go func() {
		runtime.LockOSThread()
		for f := range work {
			done <- f()
		}
	}()
	var mu sync.Mutex
	return func(f func() error) error {
		mu.Lock()
		defer mu.Unlock()
		work <- f
		return <-done
	}
})

func (r *execRunner) Start(context.Context) error {
	return onStarter()(func() error {
		err := r.cmd.Start()
		if err == nil {
			limitMemory(r.cmd.Process.Pid, r.memory)
		}
		return err
	})
}

func (r *execRunner) Wait(context.Context) error {
	err := r.cmd.Wait()
	r.mu.Lock()
	r.state = r.cmd.ProcessState.String()
	r.mu.Unlock()
	close(r.ended)
	return err
}

// exit says how the process ended.
func (r *execRunner) exit() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

func (r *execRunner) Kill(context.Context) error {
	if r.cmd.Process == nil {
		return nil
	}
	if err := kill(r.cmd.Process); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (r *execRunner) Stdout() io.ReadCloser           { return r.stdout }
func (r *execRunner) Stderr() io.ReadCloser           { return r.stderr }
func (r *execRunner) Name() string                    { return r.cmd.Path }
func (r *execRunner) Diagnose(context.Context) string { return "" }

func (r *execRunner) ID() string {
	if r.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(r.cmd.Process.Pid)
}

func (r *execRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (r *execRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
