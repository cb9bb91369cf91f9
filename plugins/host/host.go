// Package host starts plugin processes and calls them: hashicorp/go-plugin over gRPC. One process per plugin, started at the first call. A plugin that
// ends or hangs during a call is started once more and asked again; when that fails too, see strike. Every failure is a report that
// names the plugin, what it was asked for, and the way out, with the end of what it wrote to standard error.
//
// Only cmd/ptobuild-plugin-host imports this package; the core uses plugins/client.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

// Host runs the plugins of one workspace.
type Host struct {
	temp    string // holds sockets and the plugins' temporary files
	shared  string // see plugins.Hello; "": none
	plugins map[string]*Plugin
}

// New makes a host; it starts no process. Close it when done.
func New(configs []plugins.Config) (*Host, error) {
	temp, err := plugins.MakeFolder()
	if err != nil {
		return nil, err
	}
	return newIn(temp, configs), nil
}

func newIn(temp string, configs []plugins.Config) *Host {
	h := &Host{temp: temp, plugins: map[string]*Plugin{}}
	for _, c := range configs {
		h.plugins[c.Name] = &Plugin{config: c.WithDefaults(), temp: temp}
	}
	return h
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
	err := os.RemoveAll(h.temp)
	if h.shared != "" {
		err = cmp.Or(err, os.RemoveAll(h.shared))
	}
	return err
}

// Plugin calls one plugin. Its methods may be used from several goroutines.
type Plugin struct {
	config plugins.Config
	temp   string

	mu       sync.Mutex
	launched *launched // by the client, until it is taken over
	proc     *process
	broken   *diag.Diagnostic // why it is not used any more
	passes   *diag.Diagnostic // why its passes are not
	strikes  int              // see strike

	calls sync.RWMutex // see try
}

// Describe asks what the plugin serves.
func (p *Plugin) Describe(ctx context.Context) (*plugins.Description, error) {
	const what = "describing itself"
	d := &plugins.Description{}
	err := p.call(ctx, what, func(ctx context.Context, c *process) error {
		*d = c.about
		d.PID = c.runner.pid
		var described *proto.DescribeResponse
		var failed error
		both := make(chan struct{})
		go func() { // at the same time: a start waits for both
			defer close(both)
			described, failed = c.passes.Describe(ctx, &proto.DescribeRequest{})
		}()
		specs, err := c.ops.Specs(ctx, &proto.SpecsRequest{})
		<-both
		if err = cmp.Or(err, failed); err != nil {
			return err
		}
		for _, m := range specs.Ops {
			s, err := m.Spec()
			if err != nil {
				return p.answer(what, err)
			}
			can := m.Can()
			can.Verify, can.Emit, can.Evaluate = can.Verify && c.can(plugins.CanVerify), can.Emit && c.can(plugins.CanEmit), can.Evaluate && c.can(plugins.CanEvaluate)
			d.Ops, d.Can = append(d.Ops, s), append(d.Can, can)
		}
		for _, m := range described.Passes {
			x, err := m.Pass()
			if err != nil {
				return p.answer(what, err)
			}
			d.Passes = append(d.Passes, x)
		}
		return nil
	})
	return d, err
}

// Infer asks for result types. The answer is not decoded here: the client knows the variables.
func (p *Plugin) Infer(ctx context.Context, r *plugins.InferRequest) (*plugins.InferResponse, error) {
	out := &plugins.InferResponse{}
	err := p.ask(ctx, question{what: asking("inferring types", r.Ops), attempt: r.Attempt}, func(ctx context.Context, c *process) error {
		resp, err := c.ops.InferTypes(ctx, &proto.InferTypesRequest{Calls: r.Calls, Lenient: r.Lenient})
		if err != nil {
			return err
		}
		*out = plugins.InferResponse{Calls: resp.Calls, Errors: proto.CallErrors(resp.Errors)}
		return nil
	})
	return out, err
}

// asking says what a question is about: the ops, as far as they are few.
func asking(what string, ops []string) string {
	if n := len(ops); n > 3 {
		return fmt.Sprintf("%s of %s and %d more ops", what, ops[0], n-1)
	}
	return what + " of " + strings.Join(ops, ", ")
}

// Verify asks for reports about the calls of a function.
func (p *Plugin) Verify(ctx context.Context, r *plugins.VerifyRequest) (*plugins.VerifyResponse, error) {
	out := &plugins.VerifyResponse{}
	err := p.call(ctx, "verifying function "+r.Function, func(ctx context.Context, c *process) error {
		resp, err := c.ops.Verify(ctx, &proto.VerifyRequest{Function: r.Function, Calls: r.Calls})
		if err == nil {
			*out = plugins.VerifyResponse{Reports: proto.CallErrors(resp.Reports)}
		}
		return err
	})
	return out, err
}

// Emit asks for templates.
func (p *Plugin) Emit(ctx context.Context, r *plugins.EmitRequest) (*plugins.EmitResponse, error) {
	out := &plugins.EmitResponse{}
	what := asking("emitting C++", r.Ops)
	err := p.ask(ctx, question{what: what, attempt: r.Attempt}, func(ctx context.Context, c *process) error {
		resp, err := c.ops.Emit(ctx, &proto.EmitRequest{Calls: r.Calls, Bound: r.Bound})
		if err != nil {
			return err
		}
		*out = plugins.EmitResponse{Errors: proto.CallErrors(resp.Errors)}
		for _, m := range resp.Templates {
			t, err := m.Template()
			if err != nil {
				return p.answer(what, err)
			}
			out.Templates = append(out.Templates, t)
		}
		return nil
	})
	return out, err
}

// Evaluate asks for the numbers of a call; elements are in a file.
func (p *Plugin) Evaluate(ctx context.Context, r *plugins.EvaluateRequest) (*plugins.EvaluateResponse, error) {
	out := &plugins.EvaluateResponse{}
	what := "evaluating " + r.Evaluation.Op
	m, err := proto.FromEvaluation(r.Evaluation, r.File)
	if err != nil {
		return nil, p.answer(what, err)
	}
	err = p.call(ctx, what, func(ctx context.Context, c *process) error {
		resp, err := c.ops.Evaluate(ctx, m)
		if err != nil {
			return err
		}
		*out = plugins.EvaluateResponse{Origin: resp.Origin}
		if resp.Error != nil {
			out.Error = resp.Error.Diag()
		}
		if out.Scalar, err = proto.ScalarOf(resp.Scalar); err != nil {
			return p.answer(what, err)
		}
		return nil
	})
	return out, err
}

// Run runs a pass.
func (p *Plugin) Run(ctx context.Context, r *plugins.RunRequest) (*plugins.RunResponse, error) {
	out := &plugins.RunResponse{}
	what := "running pass " + r.Pass + " on program " + r.Program
	err := p.ask(ctx, question{what: what, pass: true}, func(ctx context.Context, c *process) error {
		foreign, err := fromSpecs(r.Foreign)
		if err != nil {
			return p.answer(what, err)
		}
		resp, err := c.passes.Run(ctx, &proto.RunRequest{Pass: r.Pass, Program: r.Program, Functions: r.Functions, Options: proto.FromOptions(r.Options),
			Explain: r.Explain, ForeignOps: foreign})
		if err != nil {
			return err
		}
		*out = plugins.RunResponse{Unchanged: resp.Unchanged, Functions: resp.Functions, Order: resp.Order, Diags: proto.Diags(resp.Diagnostics), Fusions: proto.Fusions(resp.Fusions)}
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
		m, err := proto.FromSpec(s, plugins.Can{})
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// question is what a call is about.
type question struct {
	what    string // in reports
	attempt plugins.Attempt
	pass    bool // it runs a pass
}

// call does one call, starting the plugin if need be, and once more after a crash or a hang.
func (p *Plugin) call(ctx context.Context, what string, f func(context.Context, *process) error) error {
	return p.ask(ctx, question{what: what}, f)
}

// ask is call for a question that may be one of several, or runs a pass.
func (p *Plugin) ask(ctx context.Context, q question, f func(context.Context, *process) error) error {
	lost, err := p.try(ctx, q, q.attempt == plugins.Apart, f)
	if lost != nil && q.attempt == plugins.Single {
		lost, err = p.try(ctx, q, true, f)
	}
	if lost != nil {
		return lost
	}
	return err
}

// try does a call once; lost is the report when the plugin ended or hung. What is tried again is tried with no other call at the same time: a process that ends takes all
// calls with it, and only one of them is to blame. It is judged before the next one begins, which may then not be asked any more.
func (p *Plugin) try(ctx context.Context, q question, again bool, f func(context.Context, *process) error) (lost *diag.Diagnostic, err error) {
	if again {
		p.calls.Lock()
		defer p.calls.Unlock()
	} else {
		p.calls.RLock()
		defer p.calls.RUnlock()
	}
	c, broken := p.running(q.pass)
	if broken != nil {
		return nil, broken
	}
	within, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	err = f(within, c)
	var d *diag.Diagnostic
	var invalid *invalidAnswer
	switch code := status.Code(err); {
	case err == nil, errors.As(err, &d):
		return nil, err
	case errors.As(err, &invalid):
		return nil, p.answer(q.what, err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case code == codes.Unavailable, code == codes.Internal && !c.alive():
		how, last := p.discard(c)
		lost = p.ended(q.what, how, last)
	case code == codes.DeadlineExceeded:
		_, last := p.discard(c)
		lost = diag.Errorf(plugins.CodeHang, diag.Span{}, "plugin %s did not answer within %s while %s, and again after a restart", p.config.Name, p.config.Timeout, q.what).
			WithHint("this is a defect of the plugin; report it to its author, or set a longer timeout in [plugins.%s]%s", p.config.Name, said(last))
	case code == codes.Unimplemented:
		return nil, diag.Errorf(plugins.CodeProtocol, diag.Span{}, "plugin %s cannot answer while %s: %s", p.config.Name, q.what, status.Convert(err).Message()).
			WithHint("build the plugin with the SDK of this version of ptobuild")
	case code == codes.ResourceExhausted:
		p.discard(c) // what it would still send is of no use
		return nil, diag.Errorf(plugins.CodeAnswer, diag.Span{}, "plugin %s gave an answer that is too large while %s: the limit is %d MB", p.config.Name, q.what, proto.MaxMessage>>20).
			WithHint("this is a defect of the plugin; report it to its author")
	default:
		message, last := status.Convert(err).Message(), c.said.last()
		if text, _, _ := strings.Cut(last, " ("); strings.HasPrefix(message, text) {
			last = "" // the panic that it says already
		}
		return nil, diag.Errorf(plugins.CodeFailed, diag.Span{}, "plugin %s failed while %s: %s", p.config.Name, q.what, message).
			WithHint("this is a defect of the plugin; report it to its author%s", said(last))
	}
	if again {
		p.strike(q, lost)
	}
	return lost, nil
}

// strike counts a call at which the plugin failed twice. One such call says nothing about others; after some the plugin is not used any more, since each of
// them takes time. A pass runs on every program, so that its plugin's passes are given up at once: what they do not do now they would not do for the next one.
func (p *Plugin) strike(q question, d *diag.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.pass {
		p.passes = d
		return
	}
	p.strikes++
	if d.Code == plugins.CodeHang {
		p.strikes++
	}
	if p.strikes >= maxStrikes {
		p.broken = d
	}
}

// maxStrikes is how many calls may end the plugin; one at which it hangs counts twice.
const maxStrikes = 4

// ended is the report about a plugin that is gone, and was after a restart.
func (p *Plugin) ended(what, how, last string) *diag.Diagnostic {
	if outOfMemory(last) {
		return diag.Errorf(plugins.CodeMemory, diag.Span{}, "plugin %s wanted more than its %d MB of memory while %s, and again after a restart", p.config.Name, p.config.Memory>>20, what).
			WithHint("raise memory in [plugins.%s], or report it to the plugin's author%s", p.config.Name, said(last))
	}
	return diag.Errorf(plugins.CodeCrash, diag.Span{}, "plugin %s ended while %s (%s), and again after a restart", p.config.Name, what, how).
		WithHint("this is a defect of the plugin; report it to its author%s", said(last))
}

// running is the process, started if there is none, or why it is not used any more, for passes or at all.
func (p *Plugin) running(pass bool) (*process, *diag.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pass && p.passes != nil {
		return nil, p.passes
	}
	if p.broken == nil && p.proc == nil {
		p.proc, p.broken = start(&p.config, p.temp, p.launched)
		p.launched = nil
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
	if c.alive() {
		how = "it broke the connection" // and goes on: what it sent was not the protocol
	}
	c.kill()
	if how == "" {
		how = c.runner.exit()
	}
	return how, c.said.last()
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
