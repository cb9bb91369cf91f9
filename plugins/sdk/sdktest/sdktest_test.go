package sdktest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/plugins/sdk"
	"github.com/ptobuild/ptobuild/plugins/sdk/sdktest"
)

// with is a plugin with one op, acme.op(x, n, bias=None, scale=2.0), which a test changes.
func with(change func(*sdk.Op)) sdk.Plugin {
	op := sdk.Op{
		Name:     "op",
		Params:   []sdk.Param{sdk.TileParam("x"), sdk.IntParam("n"), sdk.Optional(sdk.TileParam("bias"))},
		Keywords: []sdk.Keyword{{Name: "scale", Kind: sdk.FloatKeyword, Default: 2, Max: 10}},
		Where:    sdk.InCore,
		Result:   sdk.Fresh,
		Mem:      ir.Vec,
		Infer:    func(c *sdk.Call) (ir.Type, error) { return c.Tile(0), nil },
		Evaluate: func(v *sdk.Values) error {
			x, out := v.Float64(0), v.ResultFloat64()
			for i := range out {
				out[i] = v.Keyword("scale").(float64)*x[i] + float64(v.Int(1))
				if bias := v.Float64(2); bias != nil {
					out[i] += bias[i]
				}
			}
			return nil
		},
	}
	if change != nil {
		change(&op)
	}
	return sdk.Plugin{Name: "acme", Version: "1.0.0", Ops: []sdk.Op{op}}
}

const program = `
import pypto.language as pl

T = pl.Tensor[[4, 4], pl.FP32]

@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: T, out: pl.Out[T]) -> T:
        x = pl.load(a, [0, 0], [4, 4])
        out = pl.store(pl.acme.op(x, 1), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, out: pl.Out[T]) -> T:
        out = self.k(a, out)
        return out
`

func call(args string) string { return sdktest.Replace(program, "x, 1", args) }

// Optional operands may be left out or be None, by position or by name; an integer is a fine default of a float.
func TestOptional(t *testing.T) {
	for args, want := range map[string]float32{"x, 1": 7, "x, 1, None": 7, "x, 1, bias=None": 7, "x, 1, x": 10, "x, 1, bias=x, scale=0": 4, "x, 1, scale=None": 7} {
		if args == "x, 1, scale=None" {
			sdktest.Report(t, with(nil), call(args), "PTO-T006")
			continue
		}
		if got := sdktest.Run(t, with(nil), call(args), "main", map[string][]float32{"a": sdktest.Fill(16, 3)})["out"][5]; got != want {
			t.Errorf("%s: got %v, want %v", args, got, want)
		}
	}
}

// What users give is held against the description.
func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"x, 1.5":            "n must be an integer, got fp32",
		"x, 1, scale=11.0":  "'scale' must be between 0 and 10, got 11.0",
		"x, 1, scale=-1":    "'scale' must be between 0 and 10, got -1",
		"x, 1, scale=True":  "'scale' must be a number, got True",
		"x, 1, scale=\"a\"": "'scale' must be a number",
	} {
		if got := sdktest.Reports(t, with(nil), call(args)); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// A question that does not fit the call is answered with what would, and where it was asked; nothing is computed silently.
func TestMisuse(t *testing.T) {
	for want, evaluate := range map[string]func(*sdk.Values){
		"operand x is FP32: use Float64 or Float32":    func(v *sdk.Values) { v.Int64(0) },
		"operand n is a number: use Scalar or Int":     func(v *sdk.Values) { v.Float64(1) },
		"operand x is a tensor or tile of FP32: use":   func(v *sdk.Values) { v.Scalar(0) },
		"operand bias was left out: ask Has(2) before": func(v *sdk.Values) { v.Scalar(2) },
		"it has no operand 7":                          func(v *sdk.Values) { v.Float64(7) },
		"the result is FP32: use Float64 or Float32":   func(v *sdk.Values) { v.ResultInt64() },
		"operand x is read as Float32 and as Float64":  func(v *sdk.Values) { v.Float64(0); v.Float32(0) },
		"it has no keyword argument \"scael\"":         func(v *sdk.Values) { v.Keyword("scael") },
	} {
		p := with(func(o *sdk.Op) {
			o.Evaluate = func(v *sdk.Values) error { evaluate(v); return nil }
		})
		if got := (sdktest.Job{Source: program, Function: "main"}).Failure(t, p); !strings.Contains(got, "'k': acme.op: "+want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p := with(func(o *sdk.Op) {
		o.Infer = func(c *sdk.Call) (ir.Type, error) { return c.Tile(0), errors.New("not today") }
	})
	if got := sdktest.Reports(t, p, program); !strings.Contains(got, "acme.op: not today") {
		t.Errorf("got %q", got)
	}
	p = with(func(o *sdk.Op) {
		o.Infer = func(c *sdk.Call) (ir.Type, error) { return c.Tensor(0), nil }
	})
	if got := sdktest.Reports(t, p, program); !strings.Contains(got, "acme.op: its type rule (Infer) gave neither a type nor an error") {
		t.Errorf("got %q", got)
	}
}

// Jobs take every dtype and dynamic extents.
func TestJob(t *testing.T) {
	dynamic := sdktest.Replace(sdktest.Replace(program, "T = pl.Tensor[[4, 4], pl.FP32]", "N = pl.dynamic(\"N\")\nT = pl.Tensor[[N, 4], pl.FP16]"), "self, a: T, out: pl.Out[T])", "self, a: T, out: pl.Out[T])")
	j := sdktest.Job{Source: dynamic, Function: "main", Shapes: map[string][]int{"a": {4, 4}, "out": {4, 4}}, Inputs: map[string][]float64{"a": make([]float64, 16)}}
	for i := range j.Inputs["a"] {
		j.Inputs["a"][i] = 0.1 * float64(i)
	}
	out := j.Run(t, with(nil))["out"]
	var want []float64
	for i := range out {
		want = append(want, 0.2*float64(i)+1)
	}
	sdktest.Near(t, out, want, 1e-3)
	if out[1] == want[1] {
		t.Error("1.2 has been rounded to no float16")
	}
	whole := sdktest.Job{Source: sdktest.Replace(program, "pl.FP32", "pl.INT32"), Function: "main"}
	if got := whole.Failure(t, with(nil)); !strings.Contains(got, "operand x is INT32: use Int64") {
		t.Error(got)
	}
}

// An op of one kind of core cannot stand in a kernel of the other.
func TestCore(t *testing.T) {
	cube := with(func(o *sdk.Op) { o.Core = sdk.CubeCore })
	if got := sdktest.Report(t, cube, program, "PTO-T018"); !strings.Contains(got, "acme.op works on a cube core, and this kernel runs on the other kind (AIV)") {
		t.Error(got)
	}
	sdktest.Report(t, with(func(o *sdk.Op) { o.Core = sdk.VectorCore }), program, "")
}
