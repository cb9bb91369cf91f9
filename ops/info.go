package ops

import "github.com/ptobuild/ptobuild/ir"

// The registry tells the verifier (ir.OpInfo) what it needs to know of ops. An op without a spec has none of the properties.
var _ ir.OpInfo = (*Registry)(nil)

// IsHostOp reports an op that may stand in an orchestration body.
func (r *Registry) IsHostOp(op string) bool {
	s := r.Lookup(op)
	return s != nil && s.IsHost()
}

// Allocates reports an op that makes a tensor from nothing.
func (r *Registry) Allocates(op string) bool {
	s := r.Lookup(op)
	if s == nil || s.Result.Kind != Fresh {
		return false
	}
	if ns, _ := splitName(op); ns != "tensor" {
		return false
	}
	for i := range s.Params {
		if s.Params[i].Kind&(TensorArg|TileArg) != 0 {
			return false
		}
	}
	return true
}

// WritesThrough returns the tensor operand that the op writes and returns, -1 when there is none.
func (r *Registry) WritesThrough(op string) int {
	s := r.Lookup(op)
	if s == nil || s.Result.Kind != InPlace || s.Params[s.Result.Arg].Kind&TensorArg == 0 {
		return -1
	}
	return s.Result.Arg
}
