package host

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// execRunner runs a plugin as a process. Unlike go-plugin's own runner it gives the plugin /dev/null as standard input, and starts it from a thread that
// never ends: the kernel kills the plugin when the thread that started it ends, not the process (PR_SET_PDEATHSIG).
type execRunner struct {
	cmd            *exec.Cmd
	stdout, stderr io.ReadCloser

	mu    sync.Mutex
	state string // how it ended
}

func newRunner(cmd *exec.Cmd) (*execRunner, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	return &execRunner{cmd: cmd, stdout: stdout, stderr: stderr}, nil
}

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

func (r *execRunner) Start(context.Context) error { return onStarter()(r.cmd.Start) }

func (r *execRunner) Wait(context.Context) error {
	err := r.cmd.Wait()
	r.mu.Lock()
	r.state = r.cmd.ProcessState.String()
	r.mu.Unlock()
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
