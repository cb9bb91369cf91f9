// Command wrong is a plugin that breaks the rules: an op that computes something else each time, one that trips, one that asks for what an operand is not, one that adds to
// what it says it only writes, and a pass that changes what is computed. Two ops are right: head writes a part, and no call of fussy is made up at random.
package main

import (
	"time"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "wrong", Version: "1.0.0", Ops: []sdk.Op{fussy, dice, trip, mistaken, bare, tally, head}, Passes: []sdk.Pass{triple}})
}

func op(name string, evaluate func(*sdk.Values) error) sdk.Op {
	return sdk.Op{Name: name, Doc: name, Params: []sdk.Param{sdk.TileParam("x")}, Where: sdk.InCore, Result: sdk.Fresh, Core: sdk.VectorCore, Mem: ir.Vec,
		Infer:    func(c *sdk.Call) (ir.Type, error) { return c.Tile(0), nil },
		Evaluate: evaluate,
	}
}

// written is an op that says that it only writes its operand out.
func written(name string, write func(out []float64)) sdk.Op {
	return sdk.Op{Name: name, Doc: name, Params: []sdk.Param{sdk.TileParam("out")}, Where: sdk.InCore, Result: sdk.Updated(0), Effects: []sdk.Effect{sdk.Write}, Core: sdk.VectorCore,
		Infer: func(c *sdk.Call) (ir.Type, error) { return c.Tile(0), nil },
		Evaluate: func(v *sdk.Values) error {
			if v.DType(0).IsFloat() {
				write(v.Float64(0))
			}
			return nil
		},
	}
}

var (
	fussy = sdk.Op{Name: "fussy", Doc: "fussy", Params: []sdk.Param{sdk.TileParam("x"), sdk.TileParam("y")}, Where: sdk.InCore, Result: sdk.Fresh, Core: sdk.VectorCore, Mem: ir.Vec,
		Infer: func(c *sdk.Call) (ir.Type, error) {
			n, _ := c.Extent(0, 1)
			if m, _ := c.Extent(1, 0); n != 3*m || c.DType(0) != ir.FP32 {
				return nil, c.Errorf(1, "WRONG-001", "y must have a third of the columns of x as rows")
			}
			return c.Tile(0), nil
		},
		Evaluate: func(v *sdk.Values) error { copy(v.ResultFloat64(), v.Float64(0)); return nil },
	}
	dice = op("dice", func(v *sdk.Values) error {
		if v.DType(0).IsFloat() {
			v.ResultFloat64()[0] = float64(time.Now().UnixNano() % 1e6)
		}
		return nil
	})
	trip = op("trip", func(v *sdk.Values) error {
		var none []float64
		v.ResultFloat64()[0] = none[len(v.Shape(0))]
		return nil
	})
	mistaken = op("mistaken", func(v *sdk.Values) error {
		copy(v.ResultInt64(), v.Int64(0))
		return nil
	})
	bare  = op("bare", nil)
	tally = written("tally", func(out []float64) {
		for i := range out {
			out[i]++
		}
	})
	head = written("head", func(out []float64) { out[0] = 1 }) // right: it writes a part
)

// triple makes 3 * x of 2 * x.
var triple = sdk.Pass{Name: "Triple", Doc: "3 * x for 2 * x", After: "Simplify", Grant: &sdk.Grant{Functions: []ir.FuncType{ir.AIV}},
	Run: func(_ *sdk.Context, p *ir.Program) (*ir.Program, error) {
		out := &ir.Program{Name: p.Name, Pos: p.Pos}
		r := ir.Rewriter{Expr: func(e ir.Expr) ir.Expr {
			if c, ok := e.(*ir.ConstFloat); ok && c.Value == 2 {
				return &ir.ConstFloat{Value: 3, DType: c.DType, Pos: c.Pos}
			}
			return e
		}}
		for _, f := range p.Funcs {
			g := *f
			if f.Type == ir.AIV {
				g.Body = r.Block(f.Body)
			}
			out.Funcs = append(out.Funcs, &g)
		}
		return out, nil
	}}
