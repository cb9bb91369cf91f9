package sdk

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

// server implements the three services for one plugin.
type server struct {
	plugin.NetRPCUnsupportedPlugin
	proto.UnimplementedPluginServer
	proto.UnimplementedOpsServer
	proto.UnimplementedPassesServer
	plugin Plugin
	stderr *os.File // the process's own
}

// GRPCServer registers the services.
func (s *server) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	proto.RegisterPluginServer(g, s)
	proto.RegisterOpsServer(g, s)
	proto.RegisterPassesServer(g, s)
	return nil
}

// GRPCClient is the other side's business.
func (s *server) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("this is the plugin's side")
}

func (s *server) Configure(_ context.Context, r *proto.ConfigureRequest) (*proto.ConfigureResponse, error) {
	// go-plugin carries both streams over gRPC, where a process that ends loses its last words. The pipe of the process does not.
	os.Stdout, os.Stderr = s.stderr, s.stderr
	out := &proto.ConfigureResponse{Name: s.plugin.Name, Version: s.plugin.Version, IrVersion: proto.IRVersion}
	if r.IrVersion != proto.IRVersion {
		return out, nil // the core sees the difference and says so
	}
	m, err := options(r.OptionsJson)
	if err == nil && s.plugin.Configure != nil {
		err = s.plugin.Configure(m)
	}
	out.Diagnostics = proto.FromDiags(diag.AsList(err, plugins.CodeConfig))
	return out, nil
}

func (s *server) Specs(context.Context, *proto.SpecsRequest) (*proto.SpecsResponse, error) {
	out := &proto.SpecsResponse{}
	for _, spec := range s.plugin.Ops {
		m, err := proto.FromSpec(spec, spec.Infer != nil)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		out.Ops = append(out.Ops, m)
	}
	return out, nil
}

func (s *server) InferTypes(_ context.Context, r *proto.InferTypesRequest) (*proto.InferTypesResponse, error) {
	table := ir.NewVarTable()
	calls, err := plugins.DecodeCalls(r.Calls, table)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	out := &proto.InferTypesResponse{}
	typed := make([]*ir.OpCall, len(calls))
	for i, c := range calls {
		typed[i] = c
		spec := s.spec(c.Op)
		if spec == nil || spec.Infer == nil {
			return nil, status.Errorf(codes.NotFound, "no type rule for op %q", c.Op)
		}
		t, d := spec.Infer(&ops.Site{Spec: spec, Args: c.Args, Kwargs: c.Kwargs, Pos: c.Pos, Lenient: r.Lenient})
		switch {
		case d != nil:
			out.Errors = append(out.Errors, &proto.CallError{Call: uint32(i), Diagnostic: proto.FromDiag(d)})
		case t == nil:
			return nil, status.Errorf(codes.Internal, "the type rule of %s gave neither a type nor a report", c.Op)
		default:
			n := *c
			n.Typ = t
			typed[i] = &n
		}
	}
	if out.Calls, err = plugins.EncodeCalls(typed, table); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return out, nil
}

func (s *server) spec(name string) *ops.Spec {
	if i := slices.IndexFunc(s.plugin.Ops, func(x *ops.Spec) bool { return x.Name == name }); i >= 0 {
		return s.plugin.Ops[i]
	}
	return nil
}

func (s *server) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeResponse, error) {
	out := &proto.DescribeResponse{}
	for _, p := range s.plugin.Passes {
		out.Passes = append(out.Passes, proto.FromPass(p))
	}
	return out, nil
}

func (s *server) Run(_ context.Context, r *proto.RunRequest) (*proto.RunResponse, error) {
	i := slices.IndexFunc(s.plugin.Passes, func(p Pass) bool { return p.Name == r.Pass })
	if i < 0 {
		return nil, status.Errorf(codes.NotFound, "no pass %q", r.Pass)
	}
	table := ir.NewVarTable()
	fs, err := ir.UnmarshalFunctions(r.Functions, table)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	specs := slices.Clone(s.plugin.Ops)
	for _, m := range r.ForeignOps {
		spec, err := m.Spec()
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		specs = append(specs, spec)
	}
	out := &proto.RunResponse{}
	ctx := &passes.Context{Ops: ops.Builtin().With(specs...), Options: r.Options.Options()}
	if r.Explain {
		ctx.Explain = func(_ string, at diag.Span, what string) {
			out.Notes = append(out.Notes, &proto.ExplainNote{Span: proto.FromSpan(at), Text: what})
		}
	}
	before := &ir.Program{Name: r.Program, Funcs: fs}
	after, err := s.plugin.Passes[i].Run(ctx, before)
	out.Diagnostics = proto.FromDiags(append(ctx.Reports(), diag.AsList(err, plugins.CodeFailed)...))
	switch {
	case err != nil:
	case after == nil:
		return nil, status.Errorf(codes.Internal, "pass %s returned neither a program nor an error", r.Pass)
	case after == before:
		out.Unchanged = true
	default:
		if out.Functions, err = ir.MarshalFunctions(after.Funcs, table); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return out, nil
}

// recoverPanic turns a panic into an error of the call: the plugin goes on. The stack goes to standard error.
func recoverPanic(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if x := recover(); x != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", x, debug.Stack())
			err = status.Errorf(codes.Internal, "panic: %v", x)
		}
	}()
	return handler(ctx, req)
}
