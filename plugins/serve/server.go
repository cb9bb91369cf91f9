package serve

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
	"github.com/ptobuild/ptobuild/plugins/template"
)

// server implements the three services for one plugin.
type server struct {
	plugin.NetRPCUnsupportedPlugin
	proto.UnimplementedPluginServer
	proto.UnimplementedOpsServer
	proto.UnimplementedPassesServer
	plugin Plugin
	byName map[string]*Op
	stderr *os.File // the process's own
	core   []string // what the core can do
}

func newServer(p Plugin) *server {
	s := &server{plugin: p, byName: map[string]*Op{}, stderr: os.Stderr}
	for i := range p.Ops {
		s.byName[p.Ops[i].Name] = &s.plugin.Ops[i]
	}
	return s
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
	p := &s.plugin
	out := &proto.ConfigureResponse{Name: p.Name, Version: p.Version, Doc: p.Doc, IrVersion: proto.IRVersion, Minor: plugins.Minor,
		Capabilities: plugins.Capabilities, Options: proto.FromOptionSchema(p.Options)}
	if r.IrVersion != proto.IRVersion {
		return out, nil // the core sees the difference and says so
	}
	if ds := p.Check(); ds.HasErrors() {
		out.Diagnostics = proto.FromDiags(ds)
		return out, nil
	}
	s.core = r.Capabilities
	m, err := plugins.DecodeOptions(r.OptionsJson)
	if err == nil {
		err = plugins.CheckOptions(p.Name, p.Options, m).Err()
	}
	if err == nil && p.Configure != nil {
		err = p.Configure(m)
	}
	out.Diagnostics = proto.FromDiags(diag.AsList(err, plugins.CodeConfig))
	return out, nil
}

func (s *server) Specs(context.Context, *proto.SpecsRequest) (*proto.SpecsResponse, error) {
	out := &proto.SpecsResponse{}
	for i := range s.plugin.Ops {
		op := &s.plugin.Ops[i]
		m, err := proto.FromSpec(op.Spec, op.can())
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		out.Ops = append(out.Ops, m)
	}
	return out, nil
}

// calls decodes the calls of a request and finds their ops.
func (s *server) calls(data []byte, what string, can func(plugins.Can) bool) ([]*ir.OpCall, []*Op, *ir.VarTable, error) {
	table := ir.NewVarTable()
	calls, err := plugins.DecodeCalls(data, table)
	if err != nil {
		return nil, nil, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	found := make([]*Op, len(calls))
	for i, c := range calls {
		if found[i] = s.byName[c.Op]; found[i] == nil || !can(found[i].can()) {
			return nil, nil, nil, status.Errorf(codes.NotFound, "no %s for op %q", what, c.Op)
		}
	}
	return calls, found, table, nil
}

func (s *server) InferTypes(_ context.Context, r *proto.InferTypesRequest) (*proto.InferTypesResponse, error) {
	calls, found, table, err := s.calls(r.Calls, "type rule", func(c plugins.Can) bool { return c.Infer })
	if err != nil {
		return nil, err
	}
	out := &proto.InferTypesResponse{}
	typed := make([]*ir.OpCall, len(calls))
	for i, c := range calls {
		typed[i] = c
		site := &ops.Site{Spec: found[i].Spec, Args: c.Args, Kwargs: c.Kwargs, Pos: c.Pos, Lenient: r.Lenient}
		t, d := found[i].Infer(site)
		switch {
		case d != nil:
			out.Errors = append(out.Errors, &proto.CallError{Call: uint32(i), Diagnostic: proto.FromDiag(d)})
		case t == nil:
			return nil, status.Errorf(codes.Internal, "the type rule of %s gave neither a type nor a report", c.Op)
		default:
			n := *c
			n.Args, n.Typ = site.Args, t
			typed[i] = &n
		}
	}
	if out.Calls, err = plugins.EncodeCalls(typed, table); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return out, nil
}

func (s *server) Verify(_ context.Context, r *proto.VerifyRequest) (*proto.VerifyResponse, error) {
	calls, found, _, err := s.calls(r.Calls, "check", func(c plugins.Can) bool { return c.Verify })
	if err != nil {
		return nil, err
	}
	out := &proto.VerifyResponse{}
	f := &ir.Function{Name: r.Function}
	for i, c := range calls {
		for _, d := range found[i].Verify(f, []*ir.OpCall{c}) {
			out.Reports = append(out.Reports, &proto.CallError{Call: uint32(i), Diagnostic: proto.FromDiag(d)})
		}
	}
	return out, nil
}

func (s *server) Emit(_ context.Context, r *proto.EmitRequest) (*proto.EmitResponse, error) {
	calls, found, _, err := s.calls(r.Calls, "emission", func(c plugins.Can) bool { return c.Emit })
	if err != nil {
		return nil, err
	}
	out := &proto.EmitResponse{}
	for i, c := range calls {
		t, d := found[i].emit(c, i < len(r.Bound) && r.Bound[i])
		if d != nil {
			out.Errors = append(out.Errors, &proto.CallError{Call: uint32(i), Diagnostic: proto.FromDiag(d)})
			t = &template.Template{}
		}
		out.Templates = append(out.Templates, proto.FromTemplate(t))
	}
	return out, nil
}

func (s *server) Evaluate(_ context.Context, r *proto.EvaluateRequest) (*proto.EvaluateResponse, error) {
	op := s.byName[r.Op]
	if op == nil || op.Spec.Evaluate == nil {
		return nil, status.Errorf(codes.NotFound, "no evaluation for op %q", r.Op)
	}
	if !slices.Contains(s.core, plugins.CanWindows) && slices.ContainsFunc(op.Params, func(p ops.Param) bool { return p.Window != (ops.Window{}) }) {
		d := diag.Errorf(plugins.CodeProtocol, diag.Span{}, "%s computes on windows of its operands, of which this version of ptobuild knows nothing", r.Op).WithHint("use a newer ptobuild")
		return &proto.EvaluateResponse{Error: proto.FromDiag(d)}, nil
	}
	e, offsets, err := r.Evaluation()
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	file, err := os.OpenFile(r.File, os.O_RDWR, 0)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	defer file.Close()
	if !slices.Equal(offsets, plugins.Offsets(e)) {
		return nil, status.Error(codes.InvalidArgument, "elements lie elsewhere than this version expects")
	}
	if err := plugins.ReadAll(file, e); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if d := op.Spec.Evaluate(e); d != nil {
		return &proto.EvaluateResponse{Error: proto.FromDiag(d)}, nil
	}
	if err := plugins.WriteBack(file, e); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	scalar, err := proto.FromScalar(e.Scalar)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &proto.EvaluateResponse{Scalar: scalar, Origin: e.Origin}, nil
}

func (s *server) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeResponse, error) {
	out := &proto.DescribeResponse{}
	for _, p := range s.plugin.Passes {
		out.Passes = append(out.Passes, proto.FromPass(p.Pass))
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
	var specs []*ops.Spec
	for i := range s.plugin.Ops {
		specs = append(specs, s.plugin.Ops[i].Spec)
	}
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
	pass := &s.plugin.Passes[i]
	var after *ir.Program
	var fusions []passes.Fusion
	if pass.Fuse != nil {
		after, fusions, err = pass.Fuse(ctx, before)
	} else {
		after, err = pass.Run(ctx, before)
	}
	out.Diagnostics = proto.FromDiags(append(ctx.Reports(), diag.AsList(err, plugins.CodeFailed)...))
	switch {
	case err != nil:
		return out, nil
	case after == nil:
		return nil, status.Errorf(codes.Internal, "pass %s returned neither a program nor an error", r.Pass)
	case after == before:
		out.Unchanged = true
		return out, nil
	}
	changed := after.Funcs
	if slices.Contains(s.core, plugins.CanParts) {
		same := map[*ir.Function]bool{}
		for _, f := range before.Funcs {
			same[f] = true
		}
		changed = nil
		for _, f := range after.Funcs {
			out.Order = append(out.Order, f.Name)
			if !same[f] {
				changed = append(changed, f)
			}
		}
	}
	out.Fusions = proto.FromFusions(fusions)
	if out.Functions, err = ir.MarshalFunctions(changed, table); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return out, nil
}

// recoverPanic turns a panic into an error of the call: the plugin goes on. The stack goes to standard error.
func recoverPanic(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if x := recover(); x != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", x, debug.Stack())
			err = status.Errorf(codes.Internal, "panic: %v%s", x, Place())
		}
	}()
	return handler(ctx, req)
}
