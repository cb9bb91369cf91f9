// Command every is the plugin of script/plugin_features.txtar: an op of every kind, for kernels and for orchestration functions.
package main

import (
	"fmt"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "every", Version: "1.0.0", Doc: "an op of every kind", Ops: []sdk.Op{half, plus, gather, spread, most, part, rows, room, set, get, twice}})
}

// half is new storage in a kernel.
var half = sdk.Op{
	Name: "half", Doc: "x / by", Params: []sdk.Param{sdk.TileParam("x")}, Keywords: []sdk.Keyword{{Name: "by", Kind: sdk.FloatKeyword, Default: 2.0}},
	Where: sdk.InCore, Result: sdk.Fresh, Core: sdk.VectorCore, Pure: true, Mem: ir.Vec,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		if !c.Tile(0).DType.IsFloat() {
			return nil, c.Errorf(0, "EVERY-001", "whole numbers have no half")
		}
		return c.Tile(0), nil
	},
	Evaluate: func(v *sdk.Values) error {
		x, out, by := v.Float64(0), v.ResultFloat64(), v.Keyword("by").(float64)
		for i := range out {
			out[i] = x[i] / by
		}
		return nil
	},
}

// plus updates global memory.
var plus = sdk.Op{
	Name: "plus", Doc: "add a tile to rows of a tensor", Params: []sdk.Param{sdk.TileParam("x"), sdk.TensorParam("into"), sdk.ScalarParam("row")},
	Where: sdk.InCore, Result: sdk.Updated(1), Effects: []sdk.Effect{sdk.Read, sdk.ReadWrite}, Core: sdk.VectorCore,
	Infer: func(c *sdk.Call) (ir.Type, error) { return c.Args[1].Type(), nil },
	Evaluate: func(v *sdk.Values) error {
		x, into, row := v.Float64(0), v.Float64(1), int(v.Int(2))
		n := v.Shape(1)[1]
		if (row+v.Shape(0)[0])*n > len(into) {
			return sdk.Errorf("EVERY-002", sdk.Span{}, "row %d is beyond the end", row)
		}
		for i := range x {
			into[row*n+i] += x[i]
		}
		return nil
	},
}

// gather and spread touch windows of global memory and nothing else of it.
var gather = sdk.Op{
	Name: "gather", Doc: "a tile out of a tensor", Params: []sdk.Param{sdk.WindowParam("from", "at", sdk.ResultExtents), sdk.ListParam("at"), sdk.ListParam("shape")},
	Where: sdk.InCore, Result: sdk.Fresh, Core: sdk.VectorCore, Mem: ir.Vec,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		return &ir.TileType{Shape: c.List(2), DType: c.Tensor(0).DType, Mem: ir.Vec}, nil
	},
	Evaluate: func(v *sdk.Values) error {
		copy(v.ResultFloat64(), v.Float64(0))
		return nil
	},
}

var spread = sdk.Op{
	Name: "spread", Doc: "add a tile to a window of a tensor", Params: []sdk.Param{sdk.TileParam("x"), sdk.WindowParam("into", "at", "x"), sdk.ListParam("at")},
	Where: sdk.InCore, Result: sdk.Updated(1), Effects: []sdk.Effect{sdk.Read, sdk.ReadWrite}, Core: sdk.VectorCore,
	Infer: func(c *sdk.Call) (ir.Type, error) { return c.Args[1].Type(), nil },
	Evaluate: func(v *sdk.Values) error {
		into := v.Float64(1)
		for i, x := range v.Float64(0) {
			into[i] += x
		}
		return nil
	},
}

// most is a number in a kernel.
var most = sdk.Op{
	Name: "most", Doc: "the largest element", Params: []sdk.Param{sdk.TileParam("x")}, Where: sdk.InCore, Result: sdk.Scalar, Core: sdk.VectorCore,
	Infer: func(*sdk.Call) (ir.Type, error) { return ir.Scalar(ir.FP32), nil },
	Evaluate: func(v *sdk.Values) error {
		most := v.Float64(0)[0]
		for _, x := range v.Float64(0) {
			most = max(most, x)
		}
		v.Return(most)
		return nil
	},
}

// part is a window of a tile.
var part = sdk.Op{
	Name: "part", Doc: "n rows of a tile", Params: []sdk.Param{sdk.TileParam("x"), sdk.ScalarParam("row")},
	Keywords: []sdk.Keyword{{Name: "n", Kind: sdk.IntKeyword, Required: true, Min: 1, Max: 64}},
	Where:    sdk.InCore, Result: sdk.ViewOf(0), Effects: []sdk.Effect{sdk.Untouched}, Core: sdk.VectorCore, Mem: ir.Vec,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		t := c.Tile(0)
		return &ir.TileType{Shape: []ir.Expr{ir.Int(c.KeywordInt("n")), t.Shape[1]}, DType: t.DType, Mem: t.Mem}, nil
	},
	Evaluate: func(v *sdk.Values) error {
		v.Window(v.Int(1), 0)
		return nil
	},
}

// rows is a window of a tensor.
var rows = sdk.Op{
	Name: "rows", Doc: "n rows of a tensor", Params: []sdk.Param{sdk.TensorParam("x"), sdk.ScalarParam("row")},
	Keywords: []sdk.Keyword{{Name: "n", Kind: sdk.IntKeyword, Required: true, Min: 1, Max: 64}},
	Where:    sdk.OnHost, Result: sdk.ViewOf(0), Effects: []sdk.Effect{sdk.Untouched}, Pure: true,
	Infer: func(c *sdk.Call) (ir.Type, error) {
		t := c.Tensor(0)
		return &ir.TensorType{Shape: []ir.Expr{ir.Int(c.KeywordInt("n")), t.Shape[1]}, DType: t.DType}, nil
	},
	Emit: func(c *sdk.Call) (*sdk.Template, error) {
		return c.Lines("uint32_t $offset[] = {$row, 0};", fmt.Sprintf("uint32_t $shape[] = {%d, $x.dim(1)};", c.KeywordInt("n")), "Tensor $result = $x.view($shape, $offset);")
	},
}

// room is a new tensor.
var room = sdk.Op{
	Name: "room", Doc: "a new tensor of n rows", Params: []sdk.Param{sdk.TensorParam("like")},
	Keywords: []sdk.Keyword{{Name: "n", Kind: sdk.IntKeyword, Required: true, Min: 1, Max: 64}},
	Where:    sdk.OnHost, Result: sdk.Fresh, Effects: []sdk.Effect{sdk.Untouched},
	Infer: func(c *sdk.Call) (ir.Type, error) {
		t := c.Tensor(0)
		return &ir.TensorType{Shape: []ir.Expr{ir.Int(c.KeywordInt("n")), t.Shape[1]}, DType: t.DType}, nil
	},
	Emit: func(c *sdk.Call) (*sdk.Template, error) {
		return c.Lines(fmt.Sprintf("Tensor $result = create({%d, $like.dim(1)});", c.KeywordInt("n")))
	},
}

// set and get access an element of a tensor from an orchestration function.
var (
	set = sdk.Op{
		Name: "set", Doc: "write an element", Params: []sdk.Param{sdk.TensorParam("x"), sdk.ListParam("at"), sdk.ScalarParam("value")},
		Where: sdk.OnHost, Result: sdk.Updated(0), Effects: []sdk.Effect{sdk.ReadWrite},
		Infer: func(c *sdk.Call) (ir.Type, error) { return c.Tensor(0), nil },
		Emit: func(c *sdk.Call) (*sdk.Template, error) {
			return c.Lines("set_tensor_data<int32_t>($x, {$at[0], $at[1]}, $value);")
		},
	}
	get = sdk.Op{
		Name: "get", Doc: "read an element", Params: []sdk.Param{sdk.TensorParam("x"), sdk.ListParam("at")}, Where: sdk.OnHost, Result: sdk.Scalar,
		Infer: func(c *sdk.Call) (ir.Type, error) { return ir.Scalar(ir.INT32), nil },
		Emit: func(c *sdk.Call) (*sdk.Template, error) {
			return c.Lines("uint32_t $index[] = {$at[0], $at[1]};", "int32_t $result = get_tensor_data<int32_t>($x, 2, $index);")
		},
	}
)

// twice is a number.
var twice = sdk.Op{
	Name: "twice", Doc: "2 * n", Params: []sdk.Param{sdk.ScalarParam("n")}, Where: sdk.OnHost, Result: sdk.Scalar, Pure: true,
	Infer: func(*sdk.Call) (ir.Type, error) { return ir.IndexType, nil },
	Emit:  func(c *sdk.Call) (*sdk.Template, error) { return c.Lines("int64_t $result = $n * 2;") },
}
