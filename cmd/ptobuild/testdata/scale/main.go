// Command scale is the plugin of script/plugins.txtar: the op scale.up multiplies a tile by the option factor, or the plugin crashes when that is 0.
package main

import (
	"os"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

var factor = 2.0

func main() {
	sdk.Serve(sdk.Plugin{
		Name: "scale", Version: "1.0.0", Doc: "multiplies tiles by a factor",
		Options: []sdk.Option{{Name: "factor", Kind: sdk.FloatOption, Doc: "what scale.up multiplies by"}},
		Configure: func(options map[string]any) error {
			if f, given := options["factor"]; given {
				factor = f.(float64)
			}
			return nil
		},
		Ops:    []sdk.Op{up},
		Passes: []sdk.Pass{lower},
	})
}

var up = sdk.Op{
	Name:   "up",
	Doc:    "multiply by the factor of the workspace",
	Params: []sdk.Param{{Name: "x", Kind: sdk.TileParam("").Kind, Mem: []ir.Mem{ir.Vec}}},
	Where:  sdk.InCore,
	Result: sdk.Fresh,
	Core:   sdk.VectorCore,
	Pure:   true,
	Mem:    ir.Vec,
	Infer:  func(c *sdk.Call) (ir.Type, error) { return c.Tile(0), nil },
}

// lower replaces scale.up(x) by x * factor.
var lower = sdk.Pass{
	Name:  "LowerScale",
	Doc:   "replace scale.up by core ops",
	After: "FlattenCallExpr",
	Run: func(_ *sdk.Context, p *ir.Program) (*ir.Program, error) {
		if factor == 0 {
			os.Exit(3)
		}
		out := &ir.Program{Name: p.Name, Pos: p.Pos}
		for _, f := range p.Funcs {
			r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
				c, ok := e.(*ir.OpCall)
				if !ok || c.Op != "scale.up" {
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
