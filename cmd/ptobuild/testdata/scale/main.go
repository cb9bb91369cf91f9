// Command scale is the plugin of script/plugins.txtar: the op scale.up multiplies a tile by the option factor, or the plugin crashes when that is 0.
package main

import (
	"errors"
	"os"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

var factor = 2.0

func main() {
	sdk.Serve(sdk.Plugin{Name: "scale", Version: "1.0.0", Configure: configure, Ops: []*ops.Spec{up}, Passes: []sdk.Pass{{Pass: lower, After: "FlattenCallExpr"}}})
}

func configure(options map[string]any) error {
	if f, given := options["factor"]; given {
		n, ok := f.(float64)
		if !ok {
			return errors.New("factor must be a number")
		}
		factor = n
	}
	return nil
}

var up = &ops.Spec{
	Name:      "scale.up",
	Doc:       "multiply by the factor of the workspace",
	Params:    []ops.Param{{Name: "x", Kind: ops.TileArg, Mem: []ir.Mem{ir.Vec}}},
	Where:     ops.InCore,
	Result:    ops.Result{Kind: ops.Fresh},
	Core:      ops.VectorCore,
	Pure:      true,
	ResultMem: ir.Vec,
	Infer:     func(s *ops.Site) (ir.Type, *diag.Diagnostic) { return s.Args[0].Type(), nil },
}

// lower replaces scale.up(x) by x * factor.
var lower = &passes.Pass{
	Name: "LowerScale",
	Run: func(_ *passes.Context, p *ir.Program) (*ir.Program, error) {
		if factor == 0 {
			os.Exit(3)
		}
		out := &ir.Program{Name: p.Name, Pos: p.Pos}
		for _, f := range p.Funcs {
			r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
				c, ok := e.(*ir.OpCall)
				if !ok || c.Op != up.Name {
					return e
				}
				n := *c
				n.Op, n.Args = "tile.muls", append(n.Args[:1:1], &ir.ConstFloat{Value: factor, DType: ir.FP32})
				return &n
			}}
			g := *f
			g.Body = r.Block(f.Body)
			out.Funcs = append(out.Funcs, &g)
		}
		return out, nil
	},
}
