package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/launch"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

// process is one running plugin.
type process struct {
	client *plugin.Client
	runner *execRunner
	said   *tail
	about  plugins.Description // without ops and passes
	ops    proto.OpsClient
	passes proto.PassesClient
}

// can reports a capability that the plugin has.
func (p *process) can(capability string) bool {
	return slices.Contains(p.about.Capabilities, capability)
}

// alive reports that the process goes on; it waits a moment for one that is ending.
func (p *process) alive() bool {
	select {
	case <-p.runner.ended:
		return false
	case <-time.After(200 * time.Millisecond):
		return true
	}
}

// start starts a plugin, or takes over one that the client launched, and checks that it is the one that was configured.
func start(c *plugins.Config, temp string, launched *launched) (*process, *diag.Diagnostic) {
	if d := c.Check(); d != nil {
		return nil, d
	}
	if d := launch.CheckFile(c); d != nil {
		return nil, d
	}
	digested := make(chan *diag.Diagnostic, 1)
	switch {
	case c.Pinned && launched != nil: // the client saw to it
		digested <- nil
	case c.Pinned:
		if d := launch.CheckDigest(c); d != nil {
			return nil, d
		}
		digested <- nil
	default:
		go func() { digested <- launch.CheckDigest(c) }()
	}
	p := &process{said: &tail{name: c.Name}}
	if os.Getenv(plugins.OutputEnv) != "" {
		p.said.out = os.Stderr
	}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: launch.ProtocolVersion, MagicCookieKey: launch.CookieKey, MagicCookieValue: launch.CookieValue},
		Plugins:          plugin.PluginSet{proto.PluginName: services{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true, // see launch.Command
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, dir string) (runner.Runner, error) {
			if launched != nil {
				p.runner = launched.runner(c, p.said)
				return p.runner, nil
			}
			var err error
			p.runner, err = newRunner(launch.Command(c, dir, spec.Env), c.Memory, p.said)
			return p.runner, err
		},
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: temp},
		StartTimeout:     c.Timeout,
		Stderr:           p.said,
		SyncStdout:       p.said,
		SyncStderr:       p.said,
		Logger:           hclog.NewNullLogger(),
		AutoMTLS:         c.MTLS,
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(proto.MaxMessage), grpc.MaxCallRecvMsgSize(proto.MaxMessage))},
	})
	d := p.connect(c)
	if wrong := <-digested; d == nil {
		d = wrong
	}
	if d != nil {
		p.kill()
		last := p.said.last()
		if d.Code == plugins.CodeHandshake && outOfMemory(last) {
			d = diag.Errorf(plugins.CodeMemory, diag.Span{}, "plugin %s wanted more than its %d MB of memory before it was ready", c.Name, c.Memory>>20).
				WithHint("raise memory in [plugins.%s]", c.Name)
		}
		if last != "" && d.Code != plugins.CodeDescription {
			d.Hint += said(last)
		}
		return nil, d
	}
	return p, nil
}

// connect does the handshake and the first call.
func (p *process) connect(c *plugins.Config) *diag.Diagnostic {
	rpc, err := p.client.Client()
	if err != nil {
		return p.startError(c, err)
	}
	raw, err := rpc.Dispense(proto.PluginName)
	if err != nil {
		return p.startError(c, err)
	}
	conn := raw.(*grpc.ClientConn)
	p.ops, p.passes = proto.NewOpsClient(conn), proto.NewPassesClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	req := &proto.ConfigureRequest{IrVersion: proto.IRVersion, OptionsJson: c.Options, Minor: plugins.Minor, Capabilities: plugins.CoreCapabilities}
	if c.OldCore {
		req.Minor, req.Capabilities = 0, nil
	}
	if c.OtherIR {
		req.IrVersion++
	}
	r, err := proto.NewPluginClient(conn).Configure(ctx, req)
	if err != nil {
		return p.unconfigured(c, err)
	}
	p.about = plugins.Description{Name: r.Name, Version: r.Version, Doc: r.Doc, Minor: int(r.Minor), Capabilities: r.Capabilities, Options: proto.OptionSchema(r.Options)}
	reports := proto.Diags(r.Diagnostics)
	if d := faults(c, reports); d != nil {
		return d
	}
	if d := identity(c, r); d != nil {
		return d
	}
	if p.can(plugins.CanJSON) {
		p.ops, p.passes = jsonOps{p.ops}, jsonPasses{p.passes}
	}
	values, err := plugins.DecodeOptions(c.Options)
	if err != nil {
		return diag.Errorf(plugins.CodeConfig, diag.Span{}, "the options of plugin %s are not JSON: %v", c.Name, err)
	}
	if ds := plugins.CheckOptions(c.Name, p.about.Options, values); ds.HasErrors() {
		return ds[0]
	}
	for _, d := range reports {
		if d.Severity == diag.Error {
			d.Message = fmt.Sprintf("plugin %s cannot use its options: %s", c.Name, d.Message)
			if d.Hint == "" {
				d.Hint = "look at [plugins." + c.Name + ".options]"
			}
			return d
		}
	}
	return nil
}

// faults is the report about a description that the plugin itself finds wrong.
func faults(c *plugins.Config, ds diag.List) *diag.Diagnostic {
	var first *diag.Diagnostic
	for _, d := range ds {
		switch {
		case d.Code != plugins.CodeDescription:
		case first == nil:
			first = d
		default:
			first.Message += "; " + strings.TrimPrefix(d.Message, "plugin "+c.Name+": ")
		}
	}
	return first
}

// identity checks that the plugin is the one that was configured.
func identity(c *plugins.Config, r *proto.ConfigureResponse) *diag.Diagnostic {
	switch {
	case c.OtherIR && r.IrVersion == proto.IRVersion:
		return diag.Errorf(plugins.CodeProtocol, diag.Span{}, "plugin %s speaks version %d of the IR", c.Name, r.IrVersion)
	case r.IrVersion != proto.IRVersion:
		return diag.Errorf(plugins.CodeProtocol, diag.Span{}, "plugin %s speaks version %d of the IR, this ptobuild version %d", c.Name, r.IrVersion, proto.IRVersion).
			WithHint("build the plugin with the SDK of this version of ptobuild, or use a release of it that fits")
	case r.Name != c.Name && !c.AnyName:
		return diag.Errorf(plugins.CodeIdentity, diag.Span{}, "%s is plugin %q, not %q", c.Path, r.Name, c.Name).
			WithHint("write [plugins.%s], or give the path of the right file", r.Name)
	case !plugins.VersionFits(c.Version, r.Version):
		return diag.Errorf(plugins.CodeIdentity, diag.Span{}, "plugin %s has version %s, but version %s is configured", c.Name, r.Version, c.Version).
			WithHint("install a version that fits, or set version = %q", r.Version)
	}
	return nil
}

// kill ends the process without asking it and waits until all it wrote was read.
func (p *process) kill() {
	if p.runner != nil {
		_ = p.runner.Kill(context.Background()) // what cannot be killed ends with this program
	}
	p.client.Kill()
}

// unconfigured is the report about a plugin that failed in its first call.
func (p *process) unconfigured(c *plugins.Config, err error) *diag.Diagnostic {
	var d *diag.Diagnostic
	switch code := status.Code(err); {
	case code == codes.DeadlineExceeded:
		d = diag.Errorf(plugins.CodeHang, diag.Span{}, "plugin %s started but did not take its configuration within %s", c.Name, c.Timeout)
	case code == codes.Unavailable && !p.alive():
		d = diag.Errorf(plugins.CodeCrash, diag.Span{}, "plugin %s ended while it took its configuration (%s)", c.Name, p.runner.exit())
	case code == codes.Unavailable: // it does not even speak the protocol
		d = diag.Errorf(plugins.CodeHandshake, diag.Span{}, "plugin %s started but broke the connection: %v", c.Name, status.Convert(err).Message())
	default:
		d = diag.Errorf(plugins.CodeFailed, diag.Span{}, "plugin %s started but did not take its configuration: %v", c.Name, status.Convert(err).Message())
	}
	return d.WithHint("this is a defect of the plugin; report it to its author")
}

// startError turns an error of go-plugin into a report.
func (p *process) startError(c *plugins.Config, err error) *diag.Diagnostic {
	text := err.Error()
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.Contains(strings.ToLower(text), "incompatible"):
		return diag.Errorf(plugins.CodeProtocol, diag.Span{}, "plugin %s speaks another version of the plugin protocol: %s", c.Name, first).
			WithHint("build the plugin with the SDK of this version of ptobuild, or use a release of it that fits")
	case strings.Contains(text, "timeout while waiting"):
		return diag.Errorf(plugins.CodeHandshake, diag.Span{}, "plugin %s was not ready within %s", c.Name, c.Timeout).
			WithHint("is %s a ptobuild plugin? its main program has to call %s at once", c.Path, serveCalls)
	case strings.Contains(text, "Unrecognized remote plugin message"), strings.Contains(text, "exited before"):
		_, line, _ := strings.Cut(first, ": ")
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(text, "exited before") {
			return diag.Errorf(plugins.CodeHandshake, diag.Span{}, "%s, configured as plugin %s, is not a ptobuild plugin; it wrote %.100q", c.Path, c.Name, line).
				WithHint("the main program of a plugin calls %s", serveCalls)
		}
		how, is := "", ""
		if p.runner != nil && !p.alive() {
			if how = " (" + p.runner.exit() + ")"; strings.Contains(how, "status 0") { // nothing went wrong, but nothing was served
				is = "is not a ptobuild plugin: it "
			}
		}
		return diag.Errorf(plugins.CodeHandshake, diag.Span{}, "%s, configured as plugin %s, %sended before it was ready%s", c.Path, c.Name, is, how).
			WithHint("the main program of a plugin calls %s", serveCalls)
	}
	return diag.Errorf(plugins.CodeStart, diag.Span{}, "plugin %s cannot be started: %s", c.Name, first).
		WithHint("is %s built for this machine?", c.Path)
}

// serveCalls are what makes a program a plugin.
const serveCalls = "sdk.Serve (in Python pto.serve)"

// services hands out the connection: the generated clients are made from it.
type services struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is the other side's business.
func (services) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the host's side")
}

// GRPCClient gives the connection.
func (services) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}
