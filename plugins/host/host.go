// Package host starts plugin processes and calls them: hashicorp/go-plugin over gRPC. One process per plugin, started at the first call. A plugin that
// ends or hangs during a call is started once more and asked again; when that fails too it is not used any more. Every failure is a report that
// names the plugin, what it was asked for, and the way out, with the end of what it wrote to standard error.
//
// Only cmd/ptobuild-plugin-host imports this package; the core uses plugins/client.
package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

const (
	defaultTimeout = 30 * time.Second
	startTimeout   = 10 * time.Second
)

// Host runs the plugins of one workspace.
type Host struct {
	temp    string // holds sockets and the plugins' temporary files
	plugins map[string]*Plugin
}

// New makes a host; it starts no process. Close it when done.
func New(configs []plugins.Config) (*Host, error) {
	temp, err := os.MkdirTemp("", "pto-") // short: the path of a socket in it may have no more than 100 characters or so
	if err != nil {
		return nil, err
	}
	h := &Host{temp: temp, plugins: map[string]*Plugin{}}
	for _, c := range configs {
		if c.Timeout == 0 {
			c.Timeout = defaultTimeout
		}
		h.plugins[c.Name] = &Plugin{config: c, temp: temp}
	}
	return h, nil
}

// Plugin returns the plugin of a name, nil when it is not configured.
func (h *Host) Plugin(name string) *Plugin { return h.plugins[name] }

// Close ends all plugins and removes their files.
func (h *Host) Close() error {
	var wg sync.WaitGroup
	for _, p := range h.plugins {
		wg.Go(p.close)
	}
	wg.Wait()
	return os.RemoveAll(h.temp)
}

// Plugin calls one plugin. Its methods may be used from several goroutines.
type Plugin struct {
	config plugins.Config
	temp   string

	mu     sync.Mutex
	proc   *process
	broken *diag.Diagnostic // why it is not used any more
}

// Describe asks what the plugin serves.
func (p *Plugin) Describe(ctx context.Context) (*plugins.Description, error) {
	d := &plugins.Description{}
	err := p.call(ctx, "describing itself", func(ctx context.Context, c *process) error {
		*d = plugins.Description{Name: c.name, Version: c.version}
		specs, err := c.ops.Specs(ctx, &proto.SpecsRequest{})
		if err != nil {
			return err
		}
		for _, m := range specs.Ops {
			s, err := m.Spec()
			if err != nil {
				return p.answer("describing itself", err)
			}
			d.Ops, d.Infers = append(d.Ops, s), append(d.Infers, m.Infers)
		}
		described, err := c.passes.Describe(ctx, &proto.DescribeRequest{})
		if err != nil {
			return err
		}
		for _, m := range described.Passes {
			d.Passes = append(d.Passes, m.Pass())
		}
		return nil
	})
	return d, err
}

// Infer asks for result types. The answer is not decoded here: the client knows the variables.
func (p *Plugin) Infer(ctx context.Context, r *plugins.InferRequest) (*plugins.InferResponse, error) {
	out := &plugins.InferResponse{}
	err := p.call(ctx, "inferring types", func(ctx context.Context, c *process) error {
		resp, err := c.ops.InferTypes(ctx, &proto.InferTypesRequest{Calls: r.Calls, Lenient: r.Lenient})
		if err != nil {
			return err
		}
		*out = plugins.InferResponse{Calls: resp.Calls}
		for _, e := range resp.Errors {
			out.Errors = append(out.Errors, plugins.CallError{Call: int(e.Call), Diag: e.Diagnostic.Diag()})
		}
		return nil
	})
	return out, err
}

// Run runs a pass.
func (p *Plugin) Run(ctx context.Context, r *plugins.RunRequest) (*plugins.RunResponse, error) {
	out := &plugins.RunResponse{}
	what := "running pass " + r.Pass
	err := p.call(ctx, what, func(ctx context.Context, c *process) error {
		foreign, err := fromSpecs(r.Foreign)
		if err != nil {
			return p.answer(what, err)
		}
		resp, err := c.passes.Run(ctx, &proto.RunRequest{Pass: r.Pass, Program: r.Program, Functions: r.Functions, Options: proto.FromOptions(r.Options),
			Explain: r.Explain, ForeignOps: foreign})
		if err != nil {
			return err
		}
		*out = plugins.RunResponse{Unchanged: resp.Unchanged, Functions: resp.Functions, Diags: proto.Diags(resp.Diagnostics)}
		for _, n := range resp.Notes {
			out.Notes = append(out.Notes, plugins.Note{At: n.Span.Span(), Text: n.Text})
		}
		return nil
	})
	return out, err
}

func fromSpecs(specs []*ops.Spec) ([]*proto.OpSpec, error) {
	var out []*proto.OpSpec
	for _, s := range specs {
		m, err := proto.FromSpec(s, false)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// call does one call, starting the plugin if need be, and once more after a crash or a hang.
func (p *Plugin) call(ctx context.Context, what string, f func(context.Context, *process) error) error {
	for again := false; ; again = true {
		c, broken := p.running()
		if broken != nil {
			return broken
		}
		within, cancel := context.WithTimeout(ctx, p.config.Timeout)
		err := f(within, c)
		cancel()
		var d *diag.Diagnostic
		switch code := status.Code(err); {
		case err == nil, errors.As(err, &d):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case code == codes.Unavailable:
			how, last := p.discard(c)
			d = diag.Errorf(plugins.CodeCrash, diag.Span{}, "plugin %s ended while %s (%s), and again after a restart", p.config.Name, what, how).
				WithHint("this is a defect of the plugin; report it to its author%s", said(last))
		case code == codes.DeadlineExceeded:
			_, last := p.discard(c)
			d = diag.Errorf(plugins.CodeHang, diag.Span{}, "plugin %s did not answer within %s while %s, and again after a restart", p.config.Name, p.config.Timeout, what).
				WithHint("this is a defect of the plugin; report it to its author%s", said(last))
		case code == codes.Unimplemented:
			return diag.Errorf(plugins.CodeProtocol, diag.Span{}, "plugin %s cannot answer while %s: %s", p.config.Name, what, status.Convert(err).Message()).
				WithHint("build the plugin with the SDK of this version of ptobuild")
		default:
			return diag.Errorf(plugins.CodeFailed, diag.Span{}, "plugin %s failed while %s: %s", p.config.Name, what, status.Convert(err).Message()).
				WithHint("this is a defect of the plugin; report it to its author%s", said(c.said.last()))
		}
		if again {
			p.mu.Lock()
			p.broken = d
			p.mu.Unlock()
			return d
		}
	}
}

// running is the process, started if there is none.
func (p *Plugin) running() (*process, *diag.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil && p.proc == nil {
		p.proc, p.broken = start(&p.config, p.temp)
	}
	return p.proc, p.broken
}

// discard ends a process that crashed or hangs, and says how it ended and what it wrote last. A process that another call already replaced stays.
func (p *Plugin) discard(c *process) (how, last string) {
	p.mu.Lock()
	if p.proc == c {
		p.proc = nil
	}
	p.mu.Unlock()
	c.kill()
	return c.runner.exit(), c.said.last()
}

func (p *Plugin) close() {
	p.mu.Lock()
	c := p.proc
	p.proc = nil
	p.broken = diag.Errorf(plugins.CodeFailed, diag.Span{}, "plugin %s is closed", p.config.Name)
	p.mu.Unlock()
	if c != nil {
		c.client.Kill()
	}
}

// answer is the report about an answer that breaks the protocol.
func (p *Plugin) answer(what string, err error) error {
	return diag.Errorf(plugins.CodeAnswer, diag.Span{}, "plugin %s gave an invalid answer while %s: %v", p.config.Name, what, err).
		WithHint("this is a defect of the plugin; report it to its author")
}

// said is the part of a hint that quotes the plugin.
func said(last string) string {
	if last == "" {
		return ""
	}
	return "; it last wrote: " + last
}
