// Package serve is the plugin's side of the protocol: it answers the core's questions out of specs and passes of the core's own types. plugins/sdk is the
// friendlier face of it that authors import; the tests serve the built-in ops and passes with it.
package serve

import (
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/launch"
	"github.com/ptobuild/ptobuild/plugins/proto"
	"github.com/ptobuild/ptobuild/plugins/template"
)

// Plugin is what a plugin serves.
type Plugin struct {
	Name, Version, Doc string
	Options            []plugins.Option // what Configure accepts; nil: anything
	Configure          func(options map[string]any) error
	Ops                []Op
	Passes             []Pass
}

// Op is a spec, and what it emits: Template, or the statements of its Emit written as one.
type Op struct {
	*ops.Spec
	Template func(*ir.OpCall, bool) (*template.Template, *diag.Diagnostic)
}

func (o *Op) can() plugins.Can {
	return plugins.Can{Infer: o.Infer != nil, Verify: o.Verify != nil, Emit: o.Template != nil || o.Emit != nil, Evaluate: o.Evaluate != nil}
}

// Pass is a pass, and for one that claims fusions its function.
type Pass struct {
	plugins.Pass
	Fuse func(*passes.Context, *ir.Program) (*ir.Program, []passes.Fusion, error)
}

// Serve answers the requests of ptobuild until it is told to end, and does not return. A description that ptobuild would refuse is served as its faults.
func Serve(p Plugin) {
	go endWithParent(os.Getppid())
	handshake := plugin.HandshakeConfig{ProtocolVersion: launch.ProtocolVersion, MagicCookieKey: launch.CookieKey, MagicCookieValue: launch.CookieValue}
	if os.Getenv(launch.CookieKey) != launch.CookieValue {
		if ds := p.Check(); ds.HasErrors() {
			fmt.Fprintln(os.Stderr, ds.Error())
			os.Exit(2)
		}
		fmt.Fprintf(os.Stderr, "%s is a plugin of ptobuild, version %s of %s: name it in Pto.toml, or try `ptobuild plugin info %s`.\n", os.Args[0], p.Version, p.Name, os.Args[0])
		os.Exit(1)
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{proto.PluginName: newServer(p)},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			// The server's default limit is 4 MB, less than a large program.
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(proto.MaxMessage), grpc.MaxSendMsgSize(proto.MaxMessage), grpc.UnaryInterceptor(recoverPanic))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
	os.Exit(0)
}

// Description is what the core will be told.
func (p *Plugin) Description() *plugins.Description {
	d := &plugins.Description{Name: p.Name, Version: p.Version, Doc: p.Doc, Minor: plugins.Minor, Capabilities: plugins.Capabilities, Options: p.Options}
	for i := range p.Ops {
		d.Ops, d.Can = append(d.Ops, p.Ops[i].Spec), append(d.Can, p.Ops[i].can())
	}
	for _, x := range p.Passes {
		d.Passes = append(d.Passes, x.Pass)
	}
	return d
}

// Check gives the faults that the core would find, and what cannot be served.
func (p *Plugin) Check() diag.List {
	c := plugins.Config{Name: p.Name, Path: "."}
	if e := c.Check(); e != nil {
		return diag.List{diag.Errorf(plugins.CodeDescription, diag.Span{}, "%s", e.Message).WithHint("%s", e.Hint)}
	}
	ds := p.Description().Check()
	for i := range p.Ops {
		if _, err := proto.FromSpec(p.Ops[i].Spec, plugins.Can{}); err != nil {
			ds.Add(diag.Errorf(plugins.CodeDescription, diag.Span{}, "%v", err))
		}
	}
	for _, x := range p.Passes {
		if x.Run == nil && x.Fuse == nil {
			ds.Add(diag.Errorf(plugins.CodeDescription, diag.Span{}, "pass %s has no Run", x.Name))
		}
	}
	return ds
}

// endWithParent ends the plugin when the process that started it is gone. On Linux the kernel does it sooner; this is for other systems.
func endWithParent(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}
