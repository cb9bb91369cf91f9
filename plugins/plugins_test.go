package plugins

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// A window is made of operands that every call has.
func TestCheckWindows(t *testing.T) {
	tensor := func(at, extents string) ops.Param {
		return ops.Param{Name: "x", Kind: ops.TensorArg, Window: ops.Window{At: at, Extents: extents}}
	}
	at := ops.Param{Name: "at", Kind: ops.TupleArg}
	tile := ops.Param{Name: "tile", Kind: ops.TileArg}
	maybe := ops.Param{Name: "maybe", Kind: ops.TupleArg, Optional: true}
	for _, c := range []struct {
		params []ops.Param
		result ops.ResultKind
		want   string // "": accepted
	}{
		{[]ops.Param{tensor("at", "tile"), at, tile}, ops.InPlace, ""},
		{[]ops.Param{tensor("at", "at"), at}, ops.InPlace, ""},
		{[]ops.Param{tensor("at", ops.ResultExtents), at}, ops.Fresh, ""},
		{[]ops.Param{tensor("at", ops.ResultExtents), at}, ops.InPlace, "as large as the result, which is no new tensor or tile"},
		{[]ops.Param{tensor("tile", "tile"), at, tile}, ops.InPlace, `begins at "tile", which is no list operand`},
		{[]ops.Param{tensor("", "tile"), at, tile}, ops.InPlace, `begins at "", which is no list operand`},
		{[]ops.Param{tensor("maybe", "tile"), tile, maybe}, ops.InPlace, `begins at "maybe", which is no list operand`},
		{[]ops.Param{tensor("at", "size"), at}, ops.InPlace, `as large as "size", which is no other tensor, tile or list operand`},
		{[]ops.Param{tensor("at", "x"), at}, ops.InPlace, `as large as "x", which is no other tensor, tile or list operand`},
		{[]ops.Param{{Name: "n", Kind: ops.ScalarArg, Window: ops.Window{At: "at", Extents: "at"}}, at}, ops.Value, `"n" has a window, but is no tensor or tile`},
	} {
		d := Description{Name: "acme", Ops: []*ops.Spec{{Name: "acme.op", Params: c.params, Where: ops.InCore, Result: ops.Result{Kind: c.result}}}, Can: []Can{{}}}
		got := ""
		if err := d.Check().Err(); err != nil {
			got = err.Error()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.params, got, c.want)
		}
	}
}

// A default is a value that a user may write.
func TestCheckKeywords(t *testing.T) {
	for _, c := range []struct {
		keyword ops.Kwarg
		want    string // "": accepted
	}{
		{ops.Kwarg{Kind: ops.IntKw, Default: int64(3), Min: 1, Max: 4}, ""},
		{ops.Kwarg{Kind: ops.IntKw, Default: int64(0), Min: 1, Max: 4}, `"k" has the default 0, which is not between 1 and 4`},
		{ops.Kwarg{Kind: ops.IntKw, Min: 4, Max: 1}, "has the bounds 4 and 1, the larger one first"},
		{ops.Kwarg{Kind: ops.IntKw, Default: int64(2), Names: []string{"a", "b"}}, "has the default 2, but 2 names"},
		{ops.Kwarg{Kind: ops.IntKw, Default: "a", Names: []string{"a", "b"}}, "has the default a, which is no whole number"},
		{ops.Kwarg{Kind: ops.FloatKw, Default: 1.5}, ""},
		{ops.Kwarg{Kind: ops.FloatKw, Default: true}, "which is no float"},
		{ops.Kwarg{Kind: ops.BoolKw, Default: "no"}, "has the default no, which is no boolean"},
		{ops.Kwarg{Kind: ops.StrKw, Default: "zz", Names: []string{"aa", "bb"}}, `has the default "zz", which is none of aa, bb`},
		{ops.Kwarg{Kind: ops.StrKw, Default: "zz"}, ""},
		{ops.Kwarg{Kind: ops.DTypeKw, Default: ir.FP16}, ""},
		{ops.Kwarg{Kind: ops.DTypeKw, Default: "FP16"}, "which is no dtype"},
		{ops.Kwarg{Kind: ops.IntKw, Default: int64(3), Required: true}, "is required, and has a default that nothing would use"},
		{ops.Kwarg{Kind: ops.IntKw, Default: 3}, "which is no whole number"}, // a Go int: the SDK makes an int64 of it
	} {
		c.keyword.Name = "k"
		d := Description{Name: "acme", Ops: []*ops.Spec{{Name: "acme.op", Kwargs: []ops.Kwarg{c.keyword}, Where: ops.InCore}}, Can: []Can{{}}}
		got := ""
		if err := d.Check().Err(); err != nil {
			got = err.Error()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.keyword, got, c.want)
		}
	}
}
