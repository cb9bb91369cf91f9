// Package client gives the core the ops and passes of plugins as if they were built in. It starts nothing before a plugin is asked for something; then it
// starts one ptobuild-plugin-host, which runs all plugins (see package plugins), and beside it the first one. Everything that comes back is decoded strictly; what a pass makes of a
// program is verified by the pass manager like the work of any pass.
package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// HelperName is the program that runs plugins; HelperEnv overrides where it is.
const (
	HelperName = "ptobuild-plugin-host"
	HelperEnv  = "PTOBUILD_PLUGIN_HOST"
)

// Helper is the path of the program that runs plugins: beside the running executable unless the environment says otherwise.
func Helper() (string, error) {
	if p := os.Getenv(HelperEnv); p != "" {
		return p, nil
	}
	exe, err := os.Executable()
	return filepath.Join(filepath.Dir(exe), HelperName), err
}

// Client is the connection to the plugins of one workspace. It may be used from several goroutines.
type Client struct {
	// Slow, when set before the first call, is told of plugins that take their time to answer, once of each.
	Slow func(plugin string)

	ctx     context.Context
	helper  string
	configs []plugins.Config

	sending sync.Mutex // held while a request is written, which takes until the helper reads it

	mu        sync.Mutex // of what follows
	cmd       *exec.Cmd
	in        io.WriteCloser
	pipe      *plugins.Pipe
	out       io.Closer
	ended     chan struct{} // closed when the helper's output ended, and with it the plugin that was launched here
	next      uint64
	waiting   map[uint64]chan *plugins.Response
	restarted bool // the helper ended once
	broken    *diag.Diagnostic
	stderr    tail
	folder    string // of the plugins, see plugins.Hello
	shared    string // folder of files that hand data to plugins
	fileCount int

	noticed   sync.Map           // plugins that Slow was told of
	failed    atomic.Bool        // a call failed
	memories  map[string]*memory // by plugin
	specs     sync.Map           // name of an op → *ops.Spec
	types     desk[*inferred]
	templates desk[*template.Scanned]
	numbers   numbers
	files     sync.Pool // of *os.File

	knownTypes     known[inferred] // the same as types and templates, by short keys
	knownTemplates known[template.Scanned]
}

// New makes a client for plugins in the order of their names in ptobuild's pipeline; it starts nothing. When ctx ends, calls end with its error. Answers of
// plugins whose digest is known are kept in the folder memory, if it is not "", and nobody wants to see what they print when they are asked. Close the client when done.
func New(ctx context.Context, helper string, configs []plugins.Config, memoryDir string) *Client {
	c := &Client{ctx: ctx, helper: helper, configs: configs, waiting: map[uint64]chan *plugins.Response{}, memories: map[string]*memory{}}
	c.types = desk[*inferred]{recall: c.recallType, send: c.askTypes}
	c.templates = desk[*template.Scanned]{recall: c.recallTemplate, send: c.askTemplates, mixes: true}
	for i := range configs {
		if conf := &configs[i]; memoryDir != "" && conf.SHA256 != "" && os.Getenv(plugins.OutputEnv) == "" {
			c.memories[conf.Name] = &memory{path: memoryPath(memoryDir, conf)}
		}
	}
	return c
}

// Started reports that a plugin was really needed.
func (c *Client) Started() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next > 0
}

// Save writes down the answers that are new.
func (c *Client) Save() {
	for _, m := range c.memories {
		m.save()
	}
}

// Failed reports that some call failed.
func (c *Client) Failed() bool { return c.failed.Load() }

// Close ends the helper and with it all plugins.
func (c *Client) Close() error {
	c.Save()
	c.mu.Lock()
	if c.shared != "" {
		_ = os.RemoveAll(c.shared) // of no use to anybody
	}
	cmd, in, out, ended := c.cmd, c.in, c.out, c.ended
	c.cmd = nil
	if c.broken == nil {
		c.broken = diag.Errorf(plugins.CodeHelper, diag.Span{}, "the connection to the plugins is closed")
	}
	c.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = in.Close() // the helper ends when its input does; a helper that is gone is fine too
	done := make(chan struct{})
	go func() {
		<-ended
		_ = cmd.Wait() // how it ended matters no more
		_ = out.Close()
		_ = os.RemoveAll(c.folder) // a helper that was killed did not
		close(done)
	}()
	patience := 5 * time.Second // plugins get 2 s to end by themselves
	if c.ctx.Err() != nil {
		patience = 200 * time.Millisecond // whoever stopped the command does not wait for one that hangs
	}
	select {
	case <-done:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-done
	}
	return nil
}

// Ask asks a plugin anything, for the conformance kit.
func (c *Client) Ask(r *plugins.Request) (*plugins.Response, error) { return c.call(r) }

// NameOf asks an executable which plugin it is.
func NameOf(ctx context.Context, helper, path string) (string, error) {
	const any = "unknown"
	c := New(ctx, helper, []plugins.Config{{Name: any, Path: path, AnyName: true}}, "")
	defer c.Close()
	resp, err := c.call(&plugins.Request{Plugin: any})
	if err != nil {
		return "", err
	}
	if resp.Desc == nil {
		return "", answer(path, "describing itself", errors.New("parts are missing"))
	}
	return resp.Desc.Name, nil
}

// call sends a request and waits for its response. A helper that ends meanwhile is started once more.
func (c *Client) call(r *plugins.Request) (*plugins.Response, error) {
	for {
		if resp, again, err := c.try(r); !again {
			return resp, err
		}
	}
}

func (c *Client) try(r *plugins.Request) (resp *plugins.Response, again bool, err error) {
	if c.ctx.Err() != nil {
		return nil, false, c.stopped(r.Plugin)
	}
	answer := make(chan *plugins.Response, 1)
	c.mu.Lock()
	if c.broken == nil && c.cmd == nil {
		c.broken = c.start(r.Plugin)
	}
	if c.broken != nil {
		c.mu.Unlock()
		c.failed.Store(true)
		return nil, false, c.broken
	}
	c.next++
	r.ID = c.next
	c.waiting[r.ID] = answer
	ended, in, pipe := c.ended, c.in, c.pipe
	c.mu.Unlock()
	slow := time.AfterFunc(noticeAfter, func() { c.notice(r.Plugin) })
	defer slow.Stop()
	c.sending.Lock()
	sent := pipe.SendRequest(r)
	c.sending.Unlock()
	if sent != nil {
		_ = in.Close() // whoever sees the helper's end says why
	}
	select {
	case resp = <-answer:
	case <-c.ctx.Done():
	case <-ended:
		select {
		case resp = <-answer: // its last word
		default:
		}
	}
	switch {
	case resp != nil:
		if resp.Failure.HasErrors() {
			c.failed.Store(true)
		}
		return resp, false, resp.Failure.Err()
	case c.ctx.Err() != nil:
		return nil, false, c.stopped(r.Plugin)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended != ended: // another call gave it up, or started it again
		return nil, true, nil
	case c.broken == nil && !c.restarted:
		c.restarted = true
		c.abandon()
		return nil, true, nil
	case c.broken == nil:
		c.broken = c.lost("ended unexpectedly, and again after a restart")
	}
	c.failed.Store(true)
	return nil, false, c.broken
}

// stopped is the report about a call when ctx has ended.
func (c *Client) stopped(plugin string) *diag.Diagnostic {
	return diag.Errorf(plugins.CodeStopped, diag.Span{}, "plugin %s was not waited for: %v", plugin, context.Cause(c.ctx)).WithHint("the command was stopped")
}

// abandon forgets a helper that ended; the lock is held.
func (c *Client) abandon() {
	cmd, in, out, folder := c.cmd, c.in, c.out, c.folder
	c.cmd, c.ended, c.waiting = nil, nil, map[uint64]chan *plugins.Response{}
	_ = in.Close()
	_ = cmd.Wait() // how it ended matters no more
	_ = out.Close()
	_ = os.RemoveAll(folder)
}

// noticeAfter is how long an answer may take before somebody who watches is told what is waited for.
const noticeAfter = 2 * time.Second

func (c *Client) notice(plugin string) {
	if _, told := c.noticed.LoadOrStore(plugin, true); !told && c.Slow != nil {
		c.Slow(plugin)
	}
}

// lost is the report about a helper that does not do its work; the lock is held.
func (c *Client) lost(what string) *diag.Diagnostic {
	d := diag.Errorf(plugins.CodeHelper, diag.Span{}, "%s, which runs plugins, %s", c.helper, what).WithHint("run the command again")
	if last := c.stderr.last(); last != "" {
		d.Hint += "; it last wrote: " + last
	}
	return d
}

func (c *Client) notStarted(err error) *diag.Diagnostic {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return diag.Errorf(plugins.CodeHelper, diag.Span{}, "%s, which runs plugins, cannot be started: %v", c.helper, err).
		WithHint("install it beside ptobuild (go install ./cmd/...), or set %s to its path", HelperEnv)
}

// read hands out responses until the helper ends.
func (c *Client) read(pipe *plugins.Pipe) {
	var reply plugins.HelloReply
	switch err := pipe.Receive(&reply); {
	case err == io.EOF: // it ended, as it may later
		return
	case err != nil, reply.Version != plugins.PipeVersion:
		c.mu.Lock()
		if c.broken == nil {
			c.broken = c.lost("is not of the same version as this ptobuild").WithHint("install both from one release: go install ./cmd/...")
		}
		c.mu.Unlock()
		return
	}
	for {
		resp := new(plugins.Response)
		if pipe.ReceiveResponse(resp) != nil {
			return
		}
		c.mu.Lock()
		answer := c.waiting[resp.ID]
		delete(c.waiting, resp.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- resp
		}
	}
}

// tail keeps the end of what the helper wrote.
type tail struct {
	mu   sync.Mutex
	text string
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(b)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(b), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(t.text), " ")
}
