// Package sdk is what the author of a plugin imports. A plugin is a program whose main function calls Serve with its ops and passes, which are of the
// same types as the built-in ones:
//
//	func main() {
//		sdk.Serve(sdk.Plugin{
//			Name:    "acme",
//			Version: "1.0.0",
//			Ops:     []*ops.Spec{rope},
//			Passes:  []sdk.Pass{{Pass: lowerRope, After: "FlattenCallExpr"}},
//		})
//	}
//
// Ops and passes run in the plugin's own process: a crash or a hang there becomes a report of ptobuild. Both must be functions of what they are given:
// ptobuild keeps answers. What a plugin writes to standard error is shown when it fails; standard output belongs to the protocol until the
// handshake is done and is best left alone.
//
// An op that may stand in orchestration functions has no C++ of its own in this version: a pass of the plugin rewrites it into core ops
// before the program is lowered.
package sdk

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

// Plugin is what a plugin serves.
type Plugin struct {
	Name    string // the namespace: ops are named Name + ".something"
	Version string // what Pto.toml pins, such as 1.2.0
	Ops     []*ops.Spec
	Passes  []Pass
	// Configure, when set, is called once before anything else with the plugin's options of Pto.toml (numbers are float64). An error, best a
	// *diag.Diagnostic, ends the use of the plugin.
	Configure func(options map[string]any) error
}

// Pass is a pass of ptobuild with its place in the pipeline: right after or right before the first pass of a name (`ptobuild ir --stage list` names them).
type Pass = plugins.Pass

// Serve answers the requests of ptobuild until it is told to end, and does not return. A description that ptobuild would refuse ends the program
// with its faults on standard error.
func Serve(p Plugin) {
	if ds := p.check(); ds.HasErrors() {
		fmt.Fprintln(os.Stderr, ds.Error())
		os.Exit(2)
	}
	go endWithParent(os.Getppid())
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: proto.ProtocolVersion, MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		Plugins:         plugin.PluginSet{proto.PluginName: &server{plugin: p, stderr: os.Stderr}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			// The server's default limit is 4 MB, less than a large program.
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(proto.MaxMessage), grpc.MaxSendMsgSize(proto.MaxMessage), grpc.UnaryInterceptor(recoverPanic))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
	os.Exit(0)
}

// check gives the faults that the core would find, and what cannot be served.
func (p *Plugin) check() diag.List {
	d := plugins.Description{Name: p.Name, Version: p.Version, Ops: p.Ops, Passes: p.Passes}
	c := plugins.Config{Name: p.Name, Path: "."}
	if e := c.Check(); e != nil {
		return diag.List{e}
	}
	ds := d.Check()
	for _, s := range p.Ops {
		if s.Emit != nil {
			ds.Add(diag.Errorf(plugins.CodeDescription, diag.Span{}, "op %s: Emit is not served in this version", s.Name).
				WithHint("leave Emit nil and rewrite the op into core ops in a pass of the plugin"))
		}
		if _, err := proto.FromSpec(s, false); err != nil {
			ds.Add(diag.Errorf(plugins.CodeDescription, diag.Span{}, "%v", err))
		}
	}
	for _, x := range p.Passes {
		if x.Run == nil {
			ds.Add(diag.Errorf(plugins.CodeDescription, diag.Span{}, "pass %s has no Run", x.Name))
		}
	}
	return ds
}

// options decodes the JSON of the configuration.
func options(text string) (map[string]any, error) {
	var m map[string]any
	if text == "" {
		return m, nil
	}
	return m, json.Unmarshal([]byte(text), &m)
}

// endWithParent ends the plugin when the process that started it is gone. On Linux the kernel does it sooner; this is for other systems.
func endWithParent(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}
