package ops

import (
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// Builders for the tables. Dimensions are ints or expressions.

var (
	here = diag.Span{File: "p.py", Line: 7, Col: 5}
	dynN = &ir.Var{Hint: "N", Typ: ir.IndexType, Dyn: true}
	i    = &ir.Var{Hint: "i", Typ: ir.IndexType}
)

func dims(ds []any) []ir.Expr {
	out := make([]ir.Expr, len(ds))
	for k, d := range ds {
		switch d := d.(type) {
		case int:
			out[k] = ir.Int(int64(d))
		case ir.Expr:
			out[k] = d
		}
	}
	return out
}

func v(t ir.Type) ir.Expr { return &ir.Var{Hint: "x", Typ: t, Pos: here} }
func tensor(d ir.DType, ds ...any) ir.Expr {
	return v(&ir.TensorType{Shape: dims(ds), DType: d})
}
func tile(d ir.DType, ds ...any) ir.Expr {
	return v(&ir.TileType{Shape: dims(ds), DType: d, Mem: ir.Vec})
}
func tileIn(m ir.Mem, d ir.DType, ds ...any) ir.Expr {
	return v(&ir.TileType{Shape: dims(ds), DType: d, Mem: m})
}

// valid narrows the valid region of a tensor or tile.
func valid(e ir.Expr, ds ...any) ir.Expr {
	switch t := e.Type().(type) {
	case *ir.TensorType:
		return v(newTensor(t.Shape, t.DType, dims(ds)))
	case *ir.TileType:
		return v(newTile(t.Shape, t.DType, t.Mem, dims(ds)))
	}
	panic("no region")
}
func scalar(d ir.DType) ir.Expr    { return v(ir.Scalar(d)) }
func num(x int64) ir.Expr          { return &ir.ConstInt{Value: x, DType: ir.INDEX, Pos: here} }
func flt(x float64) ir.Expr        { return &ir.ConstFloat{Value: x, DType: ir.FP32, Pos: here} }
func list(ds ...any) ir.Expr       { return &ir.MakeTuple{Elems: dims(ds), Pos: here} }
func sym(x any) ir.Expr            { return NewSymbol(x, here) }
func args(es ...ir.Expr) []ir.Expr { return es }
func mem(name string) ir.Enum      { return ir.Enum{Kind: "Mem", Name: name} }
func task() ir.Expr                { return v(ir.TaskIDType) }
func tasks(n int64) ir.Expr        { return v(&ir.ArrayType{Len: n, DType: ir.TASK_ID}) }
func ints(n int64) ir.Expr         { return v(&ir.ArrayType{Len: n, DType: ir.INT32}) }
func kws(pairs ...any) (k ir.Kwargs) {
	for j := 0; j < len(pairs); j += 2 {
		x := pairs[j+1]
		if n, ok := x.(int); ok {
			x = int64(n)
		}
		k = append(k, ir.Kwarg{Name: pairs[j].(string), Value: x})
	}
	return k
}

type okCase struct {
	name string
	args []ir.Expr
	kws  ir.Kwargs
	op   string // resolved op
	typ  string // printed result type
}

func runOK(t *testing.T, cases []okCase) {
	t.Helper()
	for _, c := range cases {
		call, d := Builtin().Call(here, c.name, c.args, c.kws)
		if d != nil {
			t.Errorf("pl.%s: %v", c.name, d)
			continue
		}
		if call.Op != c.op {
			t.Errorf("pl.%s resolved to %s, want %s", c.name, call.Op, c.op)
		}
		got := strings.ReplaceAll(ir.PrintType(call.Typ), "pl.", "")
		if got != c.typ {
			t.Errorf("pl.%s: type %s, want %s", c.name, got, c.typ)
		}
		// What was canonical once stays so: passes infer types again.
		if again, d := Builtin().InferType(call); d != nil || !ir.EqualTypes(again, call.Typ) {
			t.Errorf("pl.%s: inferring again gives %v, %v", c.name, again, d)
		}
	}
}

type badCase struct {
	name string
	args []ir.Expr
	kws  ir.Kwargs
	code diag.Code
	want string // in message or hint
}

func runBad(t *testing.T, cases []badCase) {
	t.Helper()
	for _, c := range cases {
		call, d := Builtin().Call(here, c.name, c.args, c.kws)
		if d == nil {
			t.Errorf("pl.%s accepted as %s", c.name, ir.PrintExpr(call))
			continue
		}
		if d.Code != c.code || !strings.Contains(d.Message+" | "+d.Hint, c.want) {
			t.Errorf("pl.%s: got [%s] %s (help: %s), want [%s] …%s…", c.name, d.Code, d.Message, d.Hint, c.code, c.want)
		}
		if !d.Span.IsValid() {
			t.Errorf("pl.%s: report without a place: %s", c.name, d.Message)
		}
	}
}

func TestCreate(t *testing.T) {
	runOK(t, []okCase{
		{"create_tensor", args(list(16, dynN)), kws("dtype", ir.FP32), "tensor.create", "Tensor[[16, N], FP32]"},
		{"create_tensor", args(list(8), sym(ir.BF16)), kws("manual_dep", true), "tensor.create", "Tensor[[8], BF16]"},
		{"create_tensor", args(list(8)), kws("dtype", ir.INT32, "init_value", num(-7)), "tensor.create", "Tensor[[8], INT32]"},
		{"create_tensor", args(list(8)), kws("dtype", ir.FP16, "init_value", 0), "tensor.create", "Tensor[[8], FP16]"},
		{"create_tile", args(list(16, 64)), kws("dtype", ir.FP16), "tile.create", "Tile[[16, 64], FP16, Mem.Vec]"},
		{"create_tile", args(list(16, 64)), kws("dtype", ir.FP16, "target_memory", mem("Mat")), "tile.create", "Tile[[16, 64], FP16, Mem.Mat]"},
		{"full", args(list(4, 4)), kws("dtype", ir.FP32, "value", flt(1)), "tensor.full", "Tensor[[4, 4], FP32]"},
		{"tile.full", args(list(4, 4), flt(1)), kws("dtype", ir.FP32), "tile.full", "Tile[[4, 4], FP32, Mem.Vec]"},
		{"arange", args(num(0), list(1, 32)), kws("dtype", ir.INT32), "tensor.ci", "Tensor[[1, 32], INT32]"},
		{"array.create", args(num(4), sym(ir.TASK_ID)), nil, "array.create", "Array[4, TASK_ID]"},
	})
	// E-13: an initial value that the elements cannot hold exactly.
	create := func(d ir.DType, x any) badCase {
		return badCase{"create_tensor", args(list(8)), kws("dtype", d, "init_value", x), CodeInit, ""}
	}
	for want, c := range map[string]badCase{
		"must be finite":               create(ir.FP32, math.NaN()),
		"is not an integer":            create(ir.INT32, 1.5),
		"exceeds the exactly-represen": create(ir.INT64, math.Ldexp(1, 60)),
		"sub-32-bit float":             create(ir.BF16, 1.0),
		"outside of the range of int8": create(ir.INT8, 128),
	} {
		c.want = want
		runBad(t, []badCase{c})
	}
	runBad(t, []badCase{
		{"create_tensor", args(list(8)), nil, CodeMissingKw, "requires keyword argument 'dtype'"},
		{"create_tensor", args(list(8, -1)), kws("dtype", ir.FP32), CodeShape, "extent 1 of 'shape' is -1"},
		{"create_tensor", args(list(8, flt(2))), kws("dtype", ir.FP32), CodeOperand, "must be integer scalars"},
		{"create_tensor", args(list(8)), kws("dtype", ir.FP32, "manuel_dep", true), CodeUnknownKw, "did you mean 'manual_dep'"},
		{"create_tensor", args(list(8)), kws("dtype", ir.FP32, "manual_dep", 1), CodeKwValue, "must be a boolean literal"},
		{"array.create", args(i, sym(ir.TASK_ID)), nil, CodeShape, "positive integer known at compile time"},
		{"array.create", args(num(4), sym(ir.FP32)), nil, CodeDType, "must be integers, BOOL or TASK_ID"},
	})
}

func TestElementwise(t *testing.T) {
	runOK(t, []okCase{
		{"add", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 16, 64)), nil, "tile.add", "Tile[[16, 64], FP32, Mem.Vec]"},
		{"add", args(tensor(ir.FP32, 16, dynN), tensor(ir.FP32, 1, dynN)), nil, "tensor.add", "Tensor[[16, N], FP32]"},
		{"add", args(tensor(ir.BF16, 16, 8), tensor(ir.FP32, 8)), nil, "tensor.add", "Tensor[[16, 8], FP32]"},
		{"mul", args(tile(ir.FP16, 16, 64), flt(2)), nil, "tile.muls", "Tile[[16, 64], FP16, Mem.Vec]"},
		{"mul", args(tensor(ir.FP32, 16), flt(0.5)), nil, "tensor.muls", "Tensor[[16], FP32]"},
		{"add", args(tensor(ir.INT32, 16), num(1)), nil, "tensor.adds", "Tensor[[16], INT32]"},
		{"tensor.add", args(tensor(ir.INT32, 16), flt(1)), nil, "tensor.adds", "Tensor[[16], FP32]"},
		{"sub", args(tensor(ir.FP16, 16), flt(1)), nil, "tensor.subs", "Tensor[[16], FP16]"},
		{"maximum", args(tile(ir.FP32, 8, 8), flt(0)), nil, "tile.maximums", "Tile[[8, 8], FP32, Mem.Vec]"},
		{"maximum", args(tensor(ir.FP32, 8, 8), flt(0)), nil, "tensor.maximum", "Tensor[[8, 8], FP32]"},
		{"add", args(valid(tile(ir.FP32, 16, 64), 10, 64), valid(tile(ir.FP32, 16, 64), 10, 64)), nil, "tile.add",
			"Tile[[16, 64], FP32, Mem.Vec, TileView(valid_shape=[10, 64])]"},
		{"and_", args(tile(ir.INT16, 8, 8), tile(ir.INT16, 8, 8)), nil, "tile.and", "Tile[[8, 8], INT16, Mem.Vec]"},
		{"shl", args(tensor(ir.UINT32, 8), num(3)), nil, "tensor.shls", "Tensor[[8], UINT32]"},
		{"xor", args(tile(ir.INT32, 8, 8), tile(ir.INT32, 8, 8)), nil, "tile.xor", "Tile[[8, 8], INT32, Mem.Vec]"},
		{"rem", args(tile(ir.FP32, 8, 8), flt(3)), nil, "tile.rems", "Tile[[8, 8], FP32, Mem.Vec]"},
		{"cmp", args(tile(ir.FP32, 8, 300), tile(ir.FP32, 8, 300)), kws("cmp_type", 5), "tile.cmp", "Tile[[8, 64], UINT8, Mem.Vec, TileView(valid_shape=[8, 38])]"},
		{"cmp", args(tile(ir.FP32, 8, 64), flt(0)), kws("cmp_type", 2), "tile.cmps", "Tile[[8, 32], UINT8, Mem.Vec, TileView(valid_shape=[8, 8])]"},
		{"sel", args(tile(ir.UINT8, 8, 32), tile(ir.FP32, 8, 64), tile(ir.FP32, 8, 64)), nil, "tile.sel", "Tile[[8, 64], FP32, Mem.Vec]"},
		{"addsc", args(tile(ir.FP32, 8, 64), flt(1), tile(ir.FP32, 8, 64)), nil, "tile.addsc", "Tile[[8, 64], FP32, Mem.Vec]"},
	})
	runBad(t, []badCase{
		{"add", args(tile(ir.FP32, 16, 64), tensor(ir.FP32, 16, 64)), nil, CodeMixed, "cannot mix Tensor and Tile"},
		{"add", args(tensor(ir.FP32, 16, 64), tile(ir.FP32, 16, 64)), nil, CodeMixed, "cannot mix Tensor and Tile"},
		{"add", args(num(1), num(2)), nil, CodeOperand, "expected Tensor or Tile operands, got Scalar"},
		{"relu", args(flt(1)), nil, CodeOperand, "expected Tensor or Tile operands, got Scalar"},
		{"add", args(tile(ir.FP32, 16, 64)), nil, CodeCount, "missing operand 'rhs'"},
		{"add", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 16, 64), tile(ir.FP32, 16, 64)), nil, CodeCount, "takes 2 operands, got 3"},
		{"add", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 16, 32)), nil, CodeShape, "do not broadcast"},
		{"div", args(tile(ir.FP32, 16, 64), tile(ir.FP16, 16, 64)), nil, CodeDType, "one dtype"},
		{"div", args(tensor(ir.INT64, 16), tensor(ir.INT64, 16)), nil, CodeDType, "INT16, INT32"},
		{"and_", args(tile(ir.FP32, 8, 8), tile(ir.FP32, 8, 8)), nil, CodeDType, "integer elements"},
		{"shl", args(tile(ir.INT32, 8, 8), num(-1)), nil, CodeBounds, "must not be negative"},
		{"cmp", args(tile(ir.FP32, 8, 64), tile(ir.FP32, 8, 64)), kws("cmp_type", 9), CodeKwValue, "between 0 and 5"},
		{"ad", args(tile(ir.FP32, 8, 8), tile(ir.FP32, 8, 8)), nil, CodeUnknownOp, "Unknown operation 'pl.ad'"},
		{"row_sun", args(tile(ir.FP32, 8, 8)), nil, CodeUnknownOp, "did you mean 'pl.row_sum'"},
		{"tile.ad", args(tile(ir.FP32, 8, 8)), nil, CodeUnknownOp, "did you mean 'pl.tile.add'"},
		{"max", args(tile(ir.FP32, 8, 8), tile(ir.FP32, 8, 8)), nil, CodeUnknownOp, "pl.maximum"},
	})
}

func TestUnaryAndCast(t *testing.T) {
	runOK(t, []okCase{
		{"exp", args(tile(ir.FP32, 8, 8)), nil, "tile.exp", "Tile[[8, 8], FP32, Mem.Vec]"},
		{"exp", args(tensor(ir.INT32, 8)), nil, "tensor.exp", "Tensor[[8], FP32]"},
		{"neg", args(tensor(ir.INT32, 8)), nil, "tensor.neg", "Tensor[[8], INT32]"},
		{"not_", args(tile(ir.UINT16, 8, 8)), nil, "tile.not", "Tile[[8, 8], UINT16, Mem.Vec]"},
		{"cast", args(tile(ir.FP32, 8, 8), sym(ir.FP16)), nil, "tile.cast", "Tile[[8, 8], FP16, Mem.Vec]"},
		{"cast", args(tensor(ir.FP32, 8, 8), sym(ir.BF16), sym("rint")), nil, "tensor.cast", "Tensor[[8, 8], BF16]"},
		{"cast", args(tensor(ir.FP32, 8, 8)), kws("target_type", ir.INT8, "mode", 5), "tensor.cast", "Tensor[[8, 8], INT8]"},
	})
	runBad(t, []badCase{
		{"cast", args(tile(ir.FP32, 8, 8), sym(ir.FP32)), nil, CodeDType, "already has dtype fp32"},
		{"cast", args(tile(ir.FP32, 8, 8), sym(ir.FP16)), kws("mode", "nearest"), CodeKwValue, "Invalid rounding mode"},
		{"cast", args(tile(ir.FP32, 8, 8), sym(ir.FP16)), kws("mode", "rount"), CodeKwValue, `did you mean "round"`},
		{"cast", args(tile(ir.FP32, 8, 8)), nil, CodeMissingKw, "'target_type'"},
		{"sin", args(tile(ir.FP16, 8, 8)), nil, CodeDType, "must be one of FP32"},
		{"exp", args(tile(ir.FP32, 8, 8), sym(ir.FP32)), nil, CodeOperand, "does not take pl.FP32"},
	})
	c, d := Builtin().Call(here, "cast", args(tile(ir.FP32, 8, 8), sym(ir.FP16)), nil)
	if d != nil || ir.PrintExpr(c) != "pl.tile.cast(x, target_type=pl.FP16, mode='round')" {
		t.Errorf("cast is %s, %v", ir.PrintExpr(c), d)
	}
}

func TestReduceAndExpand(t *testing.T) {
	runOK(t, []okCase{
		{"row_max", args(tensor(ir.FP32, 16, 64)), nil, "tensor.row_max", "Tensor[[16, 1], FP32]"},
		{"row_sum", args(tensor(ir.FP32, 4, 16, 64)), kws("keep_dim", false), "tensor.row_sum", "Tensor[[4, 16], FP32]"},
		{"col_sum", args(tensor(ir.FP32, 16, 64)), nil, "tensor.col_sum", "Tensor[[1, 64], FP32]"},
		{"row_argmax", args(tensor(ir.FP32, 16, 64)), nil, "tensor.row_argmax", "Tensor[[16, 1], INT32]"},
		{"row_sum", args(tile(ir.FP32, 16, 64)), kws("tmp_tile", tile(ir.FP32, 16, 64)), "tile.row_sum", "Tile[[16, 1], FP32, Mem.Vec]"},
		{"row_sum", args(valid(tile(ir.FP32, 16, 64), 10, 50), tile(ir.FP32, 16, 64)), nil, "tile.row_sum", "Tile[[16, 1], FP32, Mem.Vec, TileView(valid_shape=[10, 1])]"},
		{"col_max", args(tile(ir.FP32, 16, 64)), nil, "tile.col_max", "Tile[[1, 64], FP32, Mem.Vec]"},
		{"col_sum", args(tile(ir.FP32, 16, 64)), nil, "tile.col_sum", "Tile[[1, 64], FP32, Mem.Vec]"},
		{"row_expand_sub", args(tensor(ir.FP32, 16, 64), tensor(ir.FP32, 16, 1)), nil, "tensor.row_expand_sub", "Tensor[[16, 64], FP32]"},
		{"row_expand_add", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 16, 1)), nil, "tile.row_expand_add", "Tile[[16, 64], FP32, Mem.Vec]"},
		{"col_expand_mul", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 1, 64)), nil, "tile.col_expand_mul", "Tile[[16, 64], FP32, Mem.Vec]"},
		{"col_expand", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 1, 64)), nil, "tile.col_expand", "Tile[[16, 64], FP32, Mem.Vec]"},
		{"expands", args(tile(ir.FP32, 16, 64), flt(1)), nil, "tile.expands", "Tile[[16, 64], FP32, Mem.Vec]"},
	})
	runBad(t, []badCase{
		{"row_sum", args(tile(ir.FP32, 16, 64)), nil, CodeTmp, "Tile inputs require tmp_tile"},
		{"row_sum", args(tensor(ir.FP32, 16, 64)), kws("tmp_tile", tile(ir.FP32, 16, 64)), CodeTmp, "Tensor inputs must not pass tmp"},
		{"row_sum", args(tensor(ir.FP32, 16, 64), tensor(ir.FP32, 16, 64)), nil, CodeTmp, "Tensor inputs must not pass tmp"},
		{"row_sum", args(tensor(ir.FP32, 16, 64)), kws("axis", -2), CodeBounds, "axis must be -1"},
		{"col_sum", args(tensor(ir.FP32, 16)), nil, CodeRank, "at least 2 axes"},
		{"row_min", args(tensor(ir.INT8, 16, 16)), nil, CodeDType, "INT16, INT32, FP16"},
		{"row_max", args(valid(tensor(ir.FP32, 16, 64), 16, 0)), nil, CodeShape, "empty region"},
		{"row_expand_mul", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 1, 64)), nil, CodeShape, "column vector"},
		{"col_expand_mul", args(tile(ir.FP32, 16, 64), tile(ir.FP32, 1, 32)), nil, CodeShape, "does not fit"},
		{"row_expand_add", args(tile(ir.FP32, 16, 64), tile(ir.FP16, 16, 1)), nil, CodeDType, "one dtype"},
	})
}

func TestMatmul(t *testing.T) {
	l, r := tileIn(ir.Left, ir.BF16, 16, 64), tileIn(ir.Right, ir.BF16, 64, 32)
	runOK(t, []okCase{
		{"matmul", args(l, r), nil, "tile.matmul", "Tile[[16, 32], FP32, Mem.Acc]"},
		{"matmul", args(tileIn(ir.Left, ir.INT8, 16, 64), tileIn(ir.Right, ir.INT8, 64, 32)), nil, "tile.matmul", "Tile[[16, 32], INT32, Mem.Acc]"},
		{"matmul_acc", args(tileIn(ir.Acc, ir.FP32, 16, 32), l, r), nil, "tile.matmul_acc", "Tile[[16, 32], FP32, Mem.Acc]"},
		{"matmul_bias", args(l, r, tileIn(ir.Bias, ir.FP32, 1, 32)), nil, "tile.matmul_bias", "Tile[[16, 32], FP32, Mem.Acc]"},
		{"gemv", args(tileIn(ir.Left, ir.BF16, 1, 64), r), nil, "tile.gemv", "Tile[[16, 32], FP32, Mem.Acc, TileView(valid_shape=[1, 32])]"},
		{"matmul", args(tensor(ir.BF16, 16, dynN), tensor(ir.BF16, dynN, 32)), kws("out_dtype", ir.FP32), "tensor.matmul", "Tensor[[16, 32], FP32]"},
		{"matmul", args(tensor(ir.BF16, 16, 64), tensor(ir.BF16, 32, 64)), kws("b_trans", true), "tensor.matmul", "Tensor[[16, 32], BF16]"},
		{"matmul", args(tensor(ir.FP32, 8, 16, 64), tensor(ir.FP32, 64, 32)), nil, "tensor.matmul", "Tensor[[8, 16, 32], FP32]"},
		{"batch_matmul", args(tileIn(ir.Left, ir.FP16, 4, 16, 64), tileIn(ir.Right, ir.FP16, 4, 64, 32)), nil, "tile.batch_matmul", "Tile[[4, 16, 32], FP32, Mem.Acc]"},
	})
	runBad(t, []badCase{
		{"matmul", args(l, tileIn(ir.Right, ir.BF16, 32, 32)), nil, CodeShape, "K = 64 against 32"},
		{"matmul", args(l, tileIn(ir.Right, ir.FP16, 64, 32)), nil, CodeDType, "one dtype"},
		{"matmul", args(r, r), nil, CodeMem, "tile in Right"},
		{"matmul_acc", args(tileIn(ir.Acc, ir.BF16, 16, 32), l, r), nil, CodeDType, "accumulator must be fp32"},
		{"matmul_acc", args(tileIn(ir.Acc, ir.FP32, 16, 16), l, r), nil, CodeShape, "does not fit the product"},
		{"matmul", args(tensor(ir.FP32, 64), tensor(ir.FP32, 64, 32)), kws("a_trans", true), CodeRank, "a_trans needs at least 2 axes"},
		{"matmul", args(tensor(ir.FP32, 4, 64), tensor(ir.INT32, 64, 32)), nil, CodeDType, "same numeric dtype category"},
	})
}

func TestMemory(t *testing.T) {
	x := tensor(ir.FP32, dynN, 64)
	runOK(t, []okCase{
		{"load", args(x, list(i, 0), list(16, 64)), nil, "tile.load", "Tile[[16, 64], FP32, Mem.Vec]"},
		{"load", args(x, list(i, 0), list(16, 64)), kws("target_memory", mem("Mat")), "tile.load", "Tile[[16, 64], FP32, Mem.Mat]"},
		{"load", args(x, list(i, 0), list(16, 64)), kws("valid_shape", list(dynN, 64)), "tile.load", "Tile[[16, 64], FP32, Mem.Vec, TileView(valid_shape=[N, 64])]"},
		{"load", args(tensor(ir.FP32, 20, 64), list(16, 0), list(16, 64)), kws("clamp", true), "tile.load", "Tile[[16, 64], FP32, Mem.Vec, TileView(valid_shape=[4, 64])]"},
		{"load", args(valid(tensor(ir.FP32, 32, 64), 20, 64), list(16, 0), list(16, 64)), nil, "tile.load", "Tile[[16, 64], FP32, Mem.Vec, TileView(valid_shape=[4, 64])]"},
		{"store", args(tile(ir.FP32, 16, 64), list(0, 0), x), nil, "tile.store", "Tensor[[N, 64], FP32]"},
		{"store", args(tileIn(ir.Acc, ir.FP32, 16, 64), list(0, 0), x), kws("atomic", ir.Enum{Kind: "AtomicType", Name: "Add"}), "tile.store", "Tensor[[N, 64], FP32]"},
		{"move", args(tileIn(ir.Mat, ir.BF16, 16, 64)), kws("target_memory", mem("Left")), "tile.move", "Tile[[16, 64], BF16, Mem.Left]"},
		{"move", args(tileIn(ir.Mat, ir.BF16, 16, 64), sym(mem("Left"))), nil, "tile.move", "Tile[[16, 64], BF16, Mem.Left]"},
		{"read", args(x, list(i, 0)), nil, "tensor.read", "Scalar[FP32]"},
		{"read", args(tensor(ir.INT32, 8), num(3)), nil, "tensor.read", "Scalar[INT32]"},
		{"read", args(tile(ir.INT32, 8, 8), list(0, 3)), nil, "tile.read", "Scalar[INT32]"},
		{"write", args(x, list(i, 0), flt(1)), nil, "tensor.write", "Tensor[[N, 64], FP32]"},
		{"tensor.dim", args(x, num(-2)), nil, "tensor.dim", "Scalar[INDEX]"},
		{"tile.get_block_idx", nil, nil, "tile.get_block_idx", "Scalar[INDEX]"},
		{"get_block_num", nil, nil, "tensor.get_block_num", "Scalar[INDEX]"},
	})
	c, d := Builtin().Call(here, "load", args(x, list(i, 0), list(16, 64)), nil)
	if want := "pl.tile.load(x, [i, 0], [16, 64], [16, 64], target_memory=pl.Mem.Vec)"; d != nil || ir.PrintExpr(c) != want {
		t.Errorf("load is %s, want %s", ir.PrintExpr(c), want)
	}
	runBad(t, []badCase{
		{"load", args(x, list(0), list(16, 64)), nil, CodeRank, "1 offsets but the tensor is 2D"},
		{"load", args(x, list(0, 0), list(16, 64, 1)), nil, CodeRank, "3 extents but the tensor is 2D"},
		{"load", args(x, list(0, 32), list(16, 64)), nil, CodeBounds, "[32, 96) of axis 1"},
		{"load", args(x, list(0, -1), list(16, 32)), nil, CodeBounds, "negative"},
		{"load", args(x, list(0, 0), list(16, 64)), kws("valid_shape", list(17, 64)), CodeBounds, "valid_shape[0] = 17"},
		{"load", args(x, list(0, 0), list(16, 64)), kws("target_memory", mem("Vek")), CodeKwValue, `did you mean "Vec"`},
		{"load", args(tile(ir.FP32, 16, 64), list(0, 0), list(16, 64)), nil, CodeOperand, "'tensor' must be a Tensor, got Tile"},
		{"store", args(tileIn(ir.Left, ir.FP32, 16, 64), list(0, 0), x), nil, CodeMem, "nothing can be moved out"},
		{"store", args(tile(ir.FP32, 16, 64), list(0, 1), x), nil, CodeBounds, "[1, 65) of axis 1"},
		{"move", args(tile(ir.FP32, 16, 64)), nil, CodeMissingKw, "'target_memory'"},
		{"read", args(x, list(0, 0, 0)), nil, CodeRank, "3 indices but the tensor is 2D"},
		{"read", args(x, list(0, 64)), nil, CodeBounds, "index 64 is out of range"},
		{"write", args(tensor(ir.INT32, 8), list(0), flt(1)), nil, CodeDType, "cannot write a fp32 value"},
		{"tensor.dim", args(x, num(2)), nil, CodeBounds, "axis out of range"},
		{"tensor.dim", args(x, i), nil, CodeBounds, "integer literal"},
	})
}

func TestViews(t *testing.T) {
	x := tensor(ir.FP32, 32, 64)
	layout := func(name string) ir.Kwargs { return kws("layout", ir.Enum{Kind: "TensorLayout", Name: name}) }
	dn := v(&ir.TensorType{Shape: dims([]any{64, 32}), DType: ir.FP32, View: &ir.TensorView{Layout: "DN"}})
	runOK(t, []okCase{
		{"slice", args(x, list(8, 8), list(i, 16)), nil, "tensor.slice", "Tensor[[8, 8], FP32]"},
		{"slice", args(x), kws("shape", list(8, 8), "offset", list(8, 16)), "tensor.slice", "Tensor[[8, 8], FP32]"},
		{"slice", args(x, list(1, 8), list(3, 0), list(), list(0)), nil, "tensor.slice", "Tensor[[8], FP32]"},
		{"slice", args(x, list(8, 8), list(0, 0)), kws("drop_dims", list(), "pad_value", math.Inf(-1)), "tensor.slice", "Tensor[[8, 8], FP32, TensorView(pad=PadValue.min)]"},
		{"slice", args(tileIn(ir.Mat, ir.FP16, 32, 64), list(16, 16), list(0, 0)), nil, "tile.slice", "Tile[[16, 16], FP16, Mem.Mat]"},
		{"assemble", args(x, tensor(ir.FP32, 8, 8), list(24, 0)), nil, "tensor.assemble", "Tensor[[32, 64], FP32]"},
		{"assemble", args(tile(ir.FP32, 32, 64), tile(ir.FP32, 8, 8), list(24, 0)), nil, "tile.assemble", "Tile[[32, 64], FP32, Mem.Vec]"},
		{"reshape", args(x, list(16, 128)), nil, "tensor.reshape", "Tensor[[16, 128], FP32]"},
		{"reshape", args(tile(ir.FP32, 16, 1), list(1, 16)), nil, "tile.reshape", "Tile[[1, 16], FP32, Mem.Vec]"},
		{"reshape", args(valid(tile(ir.FP32, 16, 64), 10, 64), list(8, 128)), nil, "tile.reshape", "Tile[[8, 128], FP32, Mem.Vec, TileView(valid_shape=[5, 128])]"},
		{"reshape", args(valid(tile(ir.FP32, 1, 16), 1, i), list(16, 1)), nil, "tile.reshape", "Tile[[16, 1], FP32, Mem.Vec, TileView(valid_shape=[i, 1])]"},
		{"transpose", args(x, num(0), num(1)), nil, "tensor.transpose", "Tensor[[64, 32], FP32, TensorView(layout=TensorLayout.DN)]"},
		{"transpose", args(dn, num(0), num(-1)), nil, "tensor.transpose", "Tensor[[32, 64], FP32]"},
		{"transpose", args(tile(ir.FP32, 16, 64), num(0), num(1)), nil, "tile.transpose", "Tile[[64, 16], FP32, Mem.Vec]"},
		{"tensor.view", args(x), layout("DN"), "tensor.view", "Tensor[[64, 32], FP32, TensorView(layout=TensorLayout.DN)]"},
		{"tensor.view", args(dn), layout("ND"), "tensor.view", "Tensor[[32, 64], FP32]"},
		{"tensor.view", args(x, list(2048)), nil, "tensor.view", "Tensor[[2048], FP32]"},
		{"reinterpret_view", args(tile(ir.FP32, 8, 8)), kws("dtype", ir.FP16), "tile.reinterpret_view", "Tile[[8, 16], FP16, Mem.Vec]"},
		{"set_validshape", args(tile(ir.FP32, 16, 64), i, num(64)), nil, "tile.set_validshape", "Tile[[16, 64], FP32, Mem.Vec, TileView(valid_shape=[i, 64])]"},
		{"fillpad", args(valid(tile(ir.FP32, 16, 64), 10, 64)), kws("pad_value", math.Inf(1)), "tile.fillpad", "Tile[[16, 64], FP32, Mem.Vec, TileView(pad=PadValue.max)]"},
		{"fillpad", args(tensor(ir.FP32, 16, 64), num(0)), nil, "tensor.fillpad", "Tensor[[16, 64], FP32, TensorView(pad=PadValue.zero)]"},
		{"fillpad_expand", args(tile(ir.FP32, 10, 64), list(16, 64)), nil, "tile.fillpad_expand", "Tile[[16, 64], FP32, Mem.Vec, TileView(pad=PadValue.zero)]"},
		{"concat", args(tile(ir.FP32, 8, 8), tile(ir.FP32, 8, 24)), nil, "tile.concat", "Tile[[8, 32], FP32, Mem.Vec]"},
	})
	runBad(t, []badCase{
		{"slice", args(x, list(8, 8), list(30, 0)), nil, CodeBounds, "[30, 38) of axis 0"},
		{"slice", args(x, list(8), list(0)), nil, CodeRank, "1 offsets but the tensor is 2D"},
		{"slice", args(x, list(2, 8), list(3, 0), list(), list(0)), nil, CodeShape, "cannot be dropped"},
		{"slice", args(x, list(2, 8), list(3, 0)), kws("pad_value", 3), CodeKwValue, "pl.PadValue.zero"},
		{"slice", args(tensor(ir.FP4, 8, 64), list(8, 8), list(0, 3)), nil, CodePacked, "byte-aligned (even)"}, // E-18
		{"assemble", args(x, tensor(ir.FP16, 8, 8), list(0, 0)), nil, CodeDType, "pl.cast"},
		{"assemble", args(x, tensor(ir.FP32, 8, 8), list(0)), nil, CodeRank, "1 offsets"},
		{"assemble", args(x, tensor(ir.FP32, 8, 8), list(0, 60)), nil, CodeBounds, "[60, 68) of axis 1"},
		{"reshape", args(x, list(16, 64)), nil, CodeShape, "2048 elements against 1024"},
		{"reshape", args(dn, list(2048)), nil, CodeView, "packed row-major"},
		{"reshape", args(valid(tile(ir.FP32, 16, 64), 10, 60), list(8, 128)), nil, CodeView, "cannot be expressed"},
		{"transpose", args(x, num(0), num(2)), nil, CodeBounds, "axis2 out of range"}, // E-14
		{"transpose", args(x, num(1), num(-1)), nil, CodeBounds, "must be different"},
		{"transpose", args(x, i, num(1)), nil, CodeBounds, "integer literal"},
		{"transpose", args(tensor(ir.FP4, 8, 64), num(0), num(1)), nil, CodePacked, "cannot be moved"},
		{"tensor.view", args(x, list(2048)), layout("DN"), CodeView, "cannot combine"},                        // E-15
		{"tensor.view", args(dn, list(2048)), nil, CodeView, "only supports shape reinterpret for ND layout"}, // E-16
		{"tensor.view", args(x), layout("NZ"), CodeView, "NZ"},
		{"reinterpret_view", args(tile(ir.INT8, 8, 3)), kws("dtype", ir.FP32), CodeShape, "no whole number"},
		{"set_validshape", args(tile(ir.FP32, 16, 64), num(17), num(64)), nil, CodeBounds, "17 is outside"},
		{"fillpad", args(tile(ir.FP32, 16, 64)), kws("pad_value", ir.Enum{Kind: "PadValue", Name: "null"}), CodeKwValue, "fillpad pad_value"},
		{"concat", args(tile(ir.FP32, 8, 8), tile(ir.FP32, 4, 8)), nil, CodeShape, "same rows"},
	})
}

func TestGatherAndSort(t *testing.T) {
	x, idx := tensor(ir.FP32, 16, 64), tensor(ir.INT32, 16, 8)
	runOK(t, []okCase{
		{"gather", args(x), kws("dim", -1, "index", idx), "tensor.gather", "Tensor[[16, 8], FP32]"},
		{"gather", args(x, num(-1), idx), nil, "tensor.gather", "Tensor[[16, 8], FP32]"},
		{"gather", args(x), kws("mask_pattern", 3), "tensor.gather_mask", "Tensor[[16, 16], FP32]"},
		{"gather", args(x), kws("kvalue", flt(0), "cmp_mode", 4, "out_cols", 8), "tensor.gather_compare", "Tuple[Tensor[[16, 8], INT32], Tensor[[16, 1], INT32]]"},
		{"gather", args(x), kws("mask_pattern", ir.Enum{Kind: "MaskPattern", Name: "P0010"}), "tensor.gather_mask", "Tensor[[16, 16], FP32]"},
		{"gather", args(tile(ir.FP32, 16, 64), tile(ir.INT32, 16, 8)), nil, "tile.gather", "Tile[[16, 8], FP32, Mem.Vec]"},
		{"scatter", args(x), kws("dim", -1, "index", idx, "src", tensor(ir.FP32, 16, 8)), "tensor.scatter", "Tensor[[16, 64], FP32]"},
		{"scatter", args(tile(ir.FP32, 16, 8)), kws("mask_pattern", 3, "dst", tile(ir.FP32, 16, 32)), "tile.scatter_mask", "Tile[[16, 32], FP32, Mem.Vec]"},
		{"sort32", args(tile(ir.FP32, 1, 64), tile(ir.UINT32, 1, 64)), nil, "tile.sort32", "Tile[[1, 128], FP32, Mem.Vec]"},
		{"mrgsort", args(tensor(ir.FP32, 1, 256)), kws("block_len", num(64)), "tensor.mrgsort_format1", "Tensor[[1, 256], FP32]"},
		{"mrgsort", args(tile(ir.FP32, 1, 64), tile(ir.FP32, 1, 64)), kws("tmp", tile(ir.FP32, 1, 128)), "tile.mrgsort_format2", "Tile[[1, 128], FP32, Mem.Vec]"},
		{"mrgsort", args(tensor(ir.FP32, 1, 64), tensor(ir.FP32, 1, 64)), nil, "tensor.mrgsort_format2", "Tensor[[1, 128], FP32]"},
	})
	runBad(t, []badCase{
		{"gather", args(x), kws("dim", 2, "index", idx), CodeBounds, "dim out of range"},
		{"gather", args(x, x), nil, CodeDType, "integer elements"},
		{"gather", args(x), kws("mask_pattern", 8), CodeKwValue, "between 1 and 7"},
	})
}

func TestArraysAndTasks(t *testing.T) {
	runOK(t, []okCase{
		{"array.get_element", args(tasks(4), i), nil, "array.get_element", "Scalar[TASK_ID]"},
		{"array.update_element", args(tasks(4), i, task()), nil, "array.update_element", "Array[4, TASK_ID]"},
		{"array.update_element", args(ints(4), num(3), num(5)), nil, "array.update_element", "Array[4, INT32]"},
		{"system.task_invalid", nil, nil, "system.task_invalid", "Scalar[TASK_ID]"},
		{"task_is_valid", args(task()), nil, "system.task_is_valid", "Scalar[BOOL]"},
		{"system.available_cluster_count", nil, nil, "system.available_cluster_count", "Scalar[INT32]"},
		{"system.task_dummy", nil, kws("deps", []ir.Expr{task(), tasks(3)}), "system.task_dummy", "Scalar[TASK_ID]"},
		{"system.task_dummy", nil, kws("deps", list()), "system.task_dummy", "Scalar[TASK_ID]"},
	})
	c, _ := Builtin().Call(here, "system.task_dummy", nil, kws("deps", []ir.Expr{task(), tasks(3)}))
	if len(c.Deps) != 2 || len(c.Kwargs) != 0 {
		t.Errorf("deps= must become OpCall.Deps, got %d deps and kwargs %v", len(c.Deps), c.Kwargs)
	}
	runBad(t, []badCase{
		{"system.task_dummy", nil, nil, CodeMissingKw, "requires keyword argument 'deps'"},
		{"system.task_dummy", nil, kws("deps", []ir.Expr{tensor(ir.FP32, 8)}), CodeKwValue, "bare tensor names are not allowed"}, // E-29
		{"array.get_element", args(tasks(4), num(4)), nil, CodeBounds, "out of range for an array of 4"},
		{"array.update_element", args(tasks(4), num(0), num(1)), nil, CodeDType, "cannot hold"},
		{"array.update_element", args(ints(4), num(0), task()), nil, CodeDType, "cannot hold"},
		{"array.create_element", args(ints(4)), nil, CodeUnknownOp, "Unknown operation 'pl.array.create_element'"},
		{"task_is_valid", args(num(1)), nil, CodeOperand, "'task_id' must be a TaskId, got Scalar"},
		{"pld.tensor.windw", args(num(1)), nil, CodeUnknownOp, "did you mean 'pld.tensor.window'"},
	})
}

func TestDistributed(t *testing.T) {
	dist := v(&ir.TensorType{Shape: dims([]any{8, 64}), DType: ir.FP32, Distributed: true})
	runOK(t, []okCase{
		{"pld.world_size", nil, nil, "pld.system.world_size", "Scalar[INDEX]"},
		{"pld.remote_load", args(dist, num(1), list(0, 0), list(8, 64)), nil, "pld.tile.remote_load", "Tile[[8, 64], FP32, Mem.Vec]"},
		{"pld.remote_store", args(tile(ir.FP32, 8, 64), dist, num(1), list(0, 0)), nil, "pld.tile.remote_store", "pld.DistributedTensor[[8, 64], FP32]"},
		{"pld.tensor.allreduce", args(dist, dist), kws("op", 0), "pld.tensor.allreduce", "pld.DistributedTensor[[8, 64], FP32]"},
	})
}

// min, max, cast and abs of scalars are expressions; of regions they are ops or mistakes.
func TestScalarOp(t *testing.T) {
	for _, c := range []struct {
		name string
		arg  ir.Expr
		want ScalarForm
	}{
		{"min", i, ScalarMin}, {"max", num(3), ScalarMax}, {"cast", scalar(ir.FP32), ScalarCast}, {"abs", i, ScalarAbs},
		{"cast", tile(ir.FP32, 8, 8), NoScalar}, {"add", i, NoScalar}, {"cast", task(), NoScalar},
	} {
		if got := ScalarOp(c.name, args(c.arg)); got != c.want {
			t.Errorf("pl.%s(%s): %d, want %d", c.name, ir.PrintExpr(c.arg), got, c.want)
		}
	}
}

// Whatever the operands, Call gives a call or a report, never a panic.
func FuzzCall(f *testing.F) {
	specs := Builtin().All()
	f.Add(uint16(0), []byte{1, 2, 3})
	f.Add(uint16(77), []byte{0, 9, 5, 4, 4})
	pool := []ir.Expr{
		tensor(ir.FP32, 16, 64), tile(ir.FP32, 16, 64), tensor(ir.INT32, dynN), tile(ir.INT8), i, num(-3), flt(math.NaN()), list(), list(1, 2), list(16, 64), list(flt(1)),
		task(), tasks(2), sym(ir.BF16), sym("rint"), sym(mem("Mat")), v(ir.Unknown), v(&ir.TupleType{}), v(&ir.OpaqueType{Name: "pl.Ptr"}), tensor(ir.FP4), tileIn(ir.Left, ir.FP16, 1),
	}
	f.Fuzz(func(t *testing.T, op uint16, picks []byte) {
		s := specs[int(op)%len(specs)]
		var as []ir.Expr
		var ks ir.Kwargs
		for j, b := range picks {
			e := pool[int(b)%len(pool)]
			if b >= 128 && j < len(s.Kwargs) {
				ks = append(ks, ir.Kwarg{Name: s.Kwargs[j].Name, Value: e})
			} else {
				as = append(as, e)
			}
		}
		c, d := Builtin().Call(here, s.Name, as, ks)
		if (c == nil) == (d == nil) {
			t.Fatalf("%s: call %v and report %v", s.Name, c, d)
		}
		if c != nil && c.Typ == nil {
			t.Fatalf("%s: no type", s.Name)
		}
	})
}
