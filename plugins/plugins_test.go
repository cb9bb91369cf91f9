package plugins

import (
	"strings"
	"testing"

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
