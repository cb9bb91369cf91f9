package host

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/plugins/irjson"
	"github.com/ptobuild/ptobuild/plugins/proto"
)

// A plugin with capability "json" reads and writes the IR as JSON (package irjson). The core does not see the difference: calls are translated here.

// jsonOps and jsonPasses translate for such a plugin.
type (
	jsonOps    struct{ proto.OpsClient }
	jsonPasses struct{ proto.PassesClient }
)

// invalidAnswer is an answer that cannot be translated: the plugin's fault.
type invalidAnswer struct{ err error }

func (e *invalidAnswer) Error() string { return e.err.Error() }

// exchange is one question and its answer.
type exchange struct {
	functions []*ir.Function
	table     *ir.VarTable
	vars      *irjson.Vars
}

func toJSON(wire []byte) (data []byte, x *exchange, err error) {
	x = &exchange{table: ir.NewVarTable()}
	if x.functions, err = ir.UnmarshalFunctions(wire, x.table); err == nil {
		data, x.vars, err = irjson.Marshal(x.functions)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("translating to JSON: %w", err)
	}
	return data, x, nil
}

func (x *exchange) toWire(data []byte) ([]byte, error) {
	fs, err := x.vars.Unmarshal(data)
	if err != nil {
		return nil, &invalidAnswer{err}
	}
	wire, err := ir.MarshalFunctions(fs, x.table)
	if err != nil {
		return nil, &invalidAnswer{err}
	}
	return wire, nil
}

func (c jsonOps) InferTypes(ctx context.Context, r *proto.InferTypesRequest, o ...grpc.CallOption) (*proto.InferTypesResponse, error) {
	data, x, err := toJSON(r.Calls)
	if err != nil {
		return nil, err
	}
	resp, err := c.OpsClient.InferTypes(ctx, &proto.InferTypesRequest{Calls: data, Lenient: r.Lenient}, o...)
	if err == nil {
		resp.Calls, err = x.toWire(resp.Calls)
	}
	return resp, err
}

func (c jsonOps) Verify(ctx context.Context, r *proto.VerifyRequest, o ...grpc.CallOption) (*proto.VerifyResponse, error) {
	data, _, err := toJSON(r.Calls)
	if err != nil {
		return nil, err
	}
	return c.OpsClient.Verify(ctx, &proto.VerifyRequest{Function: r.Function, Calls: data}, o...)
}

func (c jsonOps) Emit(ctx context.Context, r *proto.EmitRequest, o ...grpc.CallOption) (*proto.EmitResponse, error) {
	data, _, err := toJSON(r.Calls)
	if err != nil {
		return nil, err
	}
	return c.OpsClient.Emit(ctx, &proto.EmitRequest{Calls: data, Bound: r.Bound}, o...)
}

func (c jsonPasses) Run(ctx context.Context, r *proto.RunRequest, o ...grpc.CallOption) (*proto.RunResponse, error) {
	data, x, err := toJSON(r.Functions)
	if err != nil {
		return nil, err
	}
	builtin, err := fromSpecs(x.builtin())
	if err != nil {
		return nil, err
	}
	resp, err := c.PassesClient.Run(ctx, &proto.RunRequest{Pass: r.Pass, Program: r.Program, Functions: data, Options: r.Options, Explain: r.Explain,
		ForeignOps: append(builtin, r.ForeignOps...)}, o...)
	if err == nil && !resp.Unchanged && len(resp.Functions) > 0 {
		resp.Functions, err = x.toWire(resp.Functions)
	}
	return resp, err
}

// builtin are the built-in ops that the functions use: such a plugin has no list of them.
func (x *exchange) builtin() []*ops.Spec {
	used := map[string]*ops.Spec{}
	note := func(e ir.Expr) bool {
		if c, ok := e.(*ir.OpCall); ok {
			if s := ops.Builtin().Lookup(c.Op); s != nil {
				used[c.Op] = s
			}
		}
		return true
	}
	for _, f := range x.functions {
		ir.Inspect(f.Body, func(s ir.Stmt) bool {
			ir.Exprs(s, note)
			return true
		})
	}
	var out []*ops.Spec
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, used[name])
	}
	return out
}
