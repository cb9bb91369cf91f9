// Command rope is an example of a plugin: rotary embedding as two ops.
//
//	pl.rope.table(table, position, rows=16)   in orchestration functions: the rows of a table for positions from position on, without copying them
//	pl.rope.apply(x, angles)                  in kernels: x with its pairs of columns turned
//
// A row of the table holds the cosines of the angles of one position and then their sines; columns k and k + n/2 of x are a pair.
package main

import (
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "rope", Version: "1.0.0", Doc: "rotary embedding", Ops: []sdk.Op{table, apply}})
}

// table is a view: its result shows storage of operand 0, of which it touches no element. From that ptobuild knows that a task that reads the
// result depends on whoever wrote the table.
var table = sdk.Op{
	Name:     "table",
	Doc:      "the rows of a table for some positions",
	Params:   []sdk.Param{sdk.TensorParam("table"), sdk.IntParam("position")},
	Keywords: []sdk.Keyword{{Name: "rows", Kind: sdk.IntKeyword, Required: true, Min: 1, Max: 1 << 20}},
	Where:    sdk.OnHost,
	Result:   sdk.ViewOf(0),
	Effects:  []sdk.Effect{sdk.Untouched},
	Pure:     true,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		t, rows := c.Tensor(0), c.KeywordInt("rows")
		if c.Rank(0) != 2 {
			return nil, c.Errorf(0, "ROPE-001", "the table has %d axes, it must have 2", c.Rank(0)).WithHint("a row for each position")
		}
		if n, known := c.Extent(0, 0); known && rows > n {
			return nil, c.Errorf(0, "ROPE-002", "%d rows of a table that has %d", rows, n)
		}
		return &ir.TensorType{Shape: []ir.Expr{ir.Int(rows), t.Shape[1]}, DType: t.DType}, nil
	},
	Emit: func(c *sdk.Call) (*sdk.Template, error) {
		return c.Lines(
			"uint32_t $offset[] = {$position, 0};",
			fmt.Sprintf("uint32_t $shape[] = {%d, $table.dim(1)};", c.KeywordInt("rows")),
			"Tensor $result = $table.view($shape, $offset);",
		)
	},
}

// apply gives a new tile. Evaluate is what it computes on the simulator.
var apply = sdk.Op{
	Name:   "apply",
	Doc:    "turn the pairs of columns of a tile",
	Params: []sdk.Param{sdk.TileParam("x"), sdk.TileParam("angles")},
	Where:  sdk.InCore,
	Result: sdk.Fresh,
	Core:   sdk.VectorCore,
	Pure:   true,
	Mem:    ir.Vec,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		x, angles := c.Tile(0), c.Tile(1)
		if n, known := c.Extent(0, -1); known && n%2 != 0 {
			return nil, c.Errorf(0, "ROPE-003", "a tile of %d columns has no pairs", n).WithHint("pad it to an even number")
		}
		if !x.DType.IsFloat() {
			return nil, c.Errorf(0, "ROPE-005", "only floats can be turned")
		}
		if !c.SameShape(0, 1) || x.DType != angles.DType {
			return nil, c.Errorf(1, "ROPE-004", "the angles must have the shape and dtype of x")
		}
		return x, nil
	},
	Evaluate: func(v *sdk.Values) error {
		x, angles, out := v.Float32(0), v.Float32(1), v.ResultFloat32()
		n := v.Shape(0)[1]
		for row := 0; row < len(x); row += n {
			for k, half := row, n/2; k < row+half; k++ {
				cos, sin := angles[k], angles[k+half]
				out[k] = x[k]*cos - x[k+half]*sin
				out[k+half] = x[k+half]*cos + x[k]*sin
			}
		}
		return nil
	},
}
