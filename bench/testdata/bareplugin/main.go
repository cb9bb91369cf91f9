// Command bareplugin is the least that a go-plugin process over gRPC can be: what starting one costs at best.
package main

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE", MagicCookieValue: "bare"},
		Plugins:         plugin.PluginSet{"bare": bare{}},
		GRPCServer:      plugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
	})
}

type bare struct{ plugin.NetRPCUnsupportedPlugin }

func (bare) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

func (bare) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}
