package kernels

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Calls of any op with operands that are missing, too many or of another kind are reports: a pass of a plugin or a dump may hold them.
func TestMalformedCalls(t *testing.T) {
	tile := &ir.TileType{Shape: []ir.Expr{ir.Int(16), ir.Int(16)}, DType: ir.FP32, Mem: ir.Vec}
	tensor := &ir.TensorType{Shape: tile.Shape, DType: ir.FP32}
	x, a := &ir.Var{Hint: "x", Typ: tile}, &ir.Var{Hint: "a", Typ: tensor}
	list := &ir.MakeTuple{Elems: []ir.Expr{ir.Int(0), ir.Int(0)}}
	operands := []ir.Expr{x, a, ir.Int(3), list, &ir.MakeTuple{}, &ir.ConstFloat{Value: 1, DType: ir.FP32}}
	types := []ir.Type{tile, tensor, ir.IndexType, ir.Scalar(ir.FP32), ir.Unknown, &ir.ArrayType{Len: 4, DType: ir.INT32}}
	refused := 0
	for _, s := range ops.Builtin().All() {
		for n := range len(s.Params) + 2 {
			for k := range operands {
				args := make([]ir.Expr, n)
				for i := range args {
					args[i] = operands[(k+i*(k+1))%len(operands)]
				}
				for _, typ := range types {
					v := &ir.Var{Hint: "v", Typ: typ}
					f := &ir.Function{Name: "k", Type: ir.AIV, Params: []ir.Param{{Var: a}}, Body: ir.Block{
						&ir.Assign{Var: x, Value: &ir.OpCall{Op: "tile.load", Args: []ir.Expr{a, list, &ir.MakeTuple{Elems: tile.Shape}}, Typ: tile}},
						&ir.Assign{Var: v, Value: &ir.OpCall{Op: s.Name, Args: args, Typ: typ}},
					}}
					p := New(&ir.Program{Name: "P", Funcs: []*ir.Function{f}}, ops.Builtin())
					if k := p.compile("k"); k.err != nil {
						refused++
						if strings.Contains(k.err.Error(), "internal error") || !strings.Contains(k.err.Error(), "kernel 'k'") {
							t.Errorf("%s: %v", s.Name, k.err)
						}
					}
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
