package client

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/launch"
)

// launched is the plugin that a command asks first. It is started at the same moment as the helper, which takes it over: one after the other, they would take twice as
// long to be ready.
type launched struct {
	plugin         string
	cmd            *exec.Cmd
	helper         *exec.Cmd     // that takes it over
	stdout, stderr *os.File      // the helper's ends
	gone           chan struct{} // closed when the process is
}

// launch starts a plugin. It gives nil where that is the helper's business: when the connection is encrypted, since the helper's certificate comes first, and when
// anything is wrong, which the helper then finds and reports. The lock is held.
func (c *Client) launch(name string) *launched {
	var conf plugins.Config
	for _, x := range c.configs {
		if x.Name == name {
			conf = x.WithDefaults()
		}
	}
	if !launch.Early || conf.MTLS || conf.Check() != nil || launch.CheckFile(&conf) != nil || conf.Pinned && launch.CheckDigest(&conf) != nil {
		return nil
	}
	folder := filepath.Join(c.folder, "1")
	if os.Mkdir(folder, 0o700) != nil {
		return nil
	}
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer stdoutEnd.Close()
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		_ = stdout.Close()
		return nil
	}
	defer stderrEnd.Close()
	l := &launched{plugin: name, cmd: launch.Command(&conf, folder, launch.Handshake(folder)), stdout: stdout, stderr: stderr, gone: make(chan struct{})}
	l.cmd.Stdout, l.cmd.Stderr = stdoutEnd, stderrEnd
	if launch.Start(l.cmd, conf.Memory) != nil {
		l.handedOver()
		return nil
	}
	go func() {
		_ = l.cmd.Wait() // the state says how it ended
		close(l.gone)
		c.exited(l)
	}()
	return l
}

// handedOver closes what the helper has now, or never will.
func (l *launched) handedOver() {
	_ = l.stdout.Close()
	_ = l.stderr.Close()
}

// end ends a process that outlived the helper.
func (l *launched) end() {
	_ = launch.Kill(l.cmd.Process) // what cannot be killed ends with this program
	<-l.gone
}

// exited tells the helper that has it how it ended. Without that helper nobody needs to know.
func (c *Client) exited(l *launched) {
	c.mu.Lock()
	pipe := c.pipe
	has := c.cmd != nil && c.cmd == l.helper && c.broken == nil
	c.mu.Unlock()
	if has {
		c.sending.Lock()
		defer c.sending.Unlock()
		_ = pipe.SendRequest(&plugins.Request{Exit: &plugins.Exit{State: l.cmd.ProcessState.String()}}) // a helper that is gone is noticed by the next call
	}
}

// start starts the helper and the plugin that is asked first, and greets the helper; the lock is held.
func (c *Client) start(first string) (failed *diag.Diagnostic) {
	var err error
	if c.folder, err = plugins.MakeFolder(); err != nil {
		return c.notStarted(err)
	}
	hello := plugins.Hello{Version: plugins.PipeVersion, Plugins: c.configs, Folder: c.folder, Shared: c.sharedFolder()}
	l := c.launch(first)
	defer func() {
		if failed != nil {
			if l != nil {
				l.end()
			}
			_ = os.RemoveAll(c.folder)
		}
	}()
	cmd := exec.Command(c.helper)
	cmd.SysProcAttr = ownGroup() // Ctrl-C is for us to handle
	cmd.Stderr = &c.stderr
	if os.Getenv(plugins.OutputEnv) != "" {
		cmd.Stderr = io.MultiWriter(&c.stderr, os.Stderr)
	}
	if l != nil {
		l.helper = cmd
		hello.Launched = &plugins.Launched{Plugin: first, PID: l.cmd.Process.Pid}
		cmd.ExtraFiles = []*os.File{l.stdout, l.stderr} // LaunchedStdout, LaunchedStderr
		defer l.handedOver()
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return c.notStarted(err)
	}
	// A pipe of our own: Wait would close StdoutPipe under the reader.
	out, write, err := os.Pipe()
	if err != nil {
		return c.notStarted(err)
	}
	cmd.Stdout = write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		_ = out.Close()
		return c.notStarted(err)
	}
	// The answer to the greeting is read when the first request is on its way already.
	pipe, ended := plugins.NewPipe(out, in), make(chan struct{})
	c.cmd, c.in, c.out, c.pipe, c.ended = cmd, in, out, pipe, ended
	unhook := context.AfterFunc(c.ctx, func() { _ = in.Close() }) // nobody waits any more for a helper that does not read
	_ = pipe.Send(hello)                                          // an error will come back with the first request
	go func() {
		c.read(pipe)
		unhook()
		_ = cmd.Process.Kill() // it may have sent what it must not
		if l != nil {
			l.end()
		}
		close(ended)
	}()
	return nil
}
