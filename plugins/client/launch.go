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
	plugin string
	cmd    *exec.Cmd
	memory int64
	helper *exec.Cmd     // that takes it over
	pipes  []*os.File    // the helper's ends of its standard output and error, then the plugin's
	gone   chan struct{} // closed when the process is
}

// prepare makes ready what starts a plugin. It gives nil where that is the helper's business: when the connection is encrypted, since the helper's certificate comes
// first, and when anything is wrong, which the helper then finds and reports. The lock is held.
func (c *Client) prepare(name string) *launched {
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
	l := &launched{plugin: name, cmd: launch.Command(&conf, folder, launch.Handshake(folder)), memory: conf.Memory, pipes: []*os.File{stdout, stdoutEnd}, gone: make(chan struct{})}
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		l.handedOver()
		return nil
	}
	l.pipes = []*os.File{stdout, stderr, stdoutEnd, stderrEnd}
	l.cmd.Stdout, l.cmd.Stderr = stdoutEnd, stderrEnd
	return l
}

// start starts the plugin. When it cannot be, the helper tries and reports.
func (l *launched) start(c *Client) bool {
	if launch.Start(l.cmd, l.memory) != nil {
		return false
	}
	go func() {
		_ = l.cmd.Wait() // the state says how it ended
		close(l.gone)
		c.exited(l)
	}()
	return true
}

// handedOver closes what the processes have now, or never will.
func (l *launched) handedOver() {
	for _, f := range l.pipes {
		_ = f.Close()
	}
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
	l := c.prepare(first)
	defer func() {
		if failed != nil {
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
		cmd.ExtraFiles = l.pipes[:2] // LaunchedStdout, LaunchedStderr
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
	err = cmd.Start() // before the plugin: it takes longer to be ready
	_ = write.Close()
	if err != nil {
		_ = out.Close()
		return c.notStarted(err)
	}
	if l != nil && l.start(c) {
		hello.Launched = &plugins.Launched{Plugin: first, PID: l.cmd.Process.Pid}
	} else {
		l = nil
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
