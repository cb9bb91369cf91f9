package plugins

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
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
		spec := &ops.Spec{Name: "acme.op", Params: c.params, Where: ops.InCore, Result: ops.Result{Kind: c.result}}
		if c.result == ops.InPlace {
			spec.Effects = []ops.Effect{ops.ReadWrite}
		}
		got := faultsOf(spec)
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
		{ops.Kwarg{Kind: ops.FloatKw, Default: 1.5, Min: 0, Max: 1}, "has the default 1.5, which is not between 0 and 1"},
		{ops.Kwarg{Kind: ops.StrKw, Min: 1, Max: 3}, "has bounds, but is no number"},
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

func faultsOf(s *ops.Spec) string {
	d := Description{Name: "acme", Ops: []*ops.Spec{s}, Can: []Can{{}}}
	if err := d.Check().Err(); err != nil {
		return err.Error()
	}
	return ""
}

// What an op says about its result, its effects and its purity fits together; a write that one of them hides would be lost.
func TestCheckStorage(t *testing.T) {
	params := []ops.Param{{Name: "x", Kind: ops.TensorArg}, {Name: "n", Kind: ops.ScalarArg}, {Name: "rest", Kind: ops.TileArg, Variadic: true}}
	for _, c := range []struct {
		result  ops.Result
		effects []ops.Effect
		pure    bool
		want    string
	}{
		{ops.Result{Kind: ops.InPlace}, nil, false, `its result is operand "x" updated, but by its effects it does not write it`},
		{ops.Result{Kind: ops.InPlace}, []ops.Effect{ops.Untouched}, false, `does not write it`},
		{ops.Result{Kind: ops.InPlace}, []ops.Effect{ops.Write}, false, ""},
		{ops.Result{Kind: ops.InPlace}, []ops.Effect{ops.ReadWrite}, true, `is pure, but writes operand "x"`},
		{ops.Result{Kind: ops.Fresh}, []ops.Effect{ops.Write}, true, `is pure, but writes operand "x"`},
		{ops.Result{Kind: ops.Fresh}, nil, true, ""},
		{ops.Result{Kind: ops.View}, []ops.Effect{ops.Untouched}, true, ""},
		{ops.Result{Kind: ops.View, Arg: 1}, nil, false, `shares the storage of operand "n", but a Scalar has none`},
		{ops.Result{Kind: ops.View, Arg: 2}, nil, false, `shares the storage of operand "rest", which may be left out`},
		{ops.Result{Kind: ops.Fresh}, []ops.Effect{ops.Read, ops.Write}, false, `writes operand "n" by its effects, but a Scalar has no storage`},
		{ops.Result{Kind: ops.None}, nil, true, "is pure and has no result"},
	} {
		got := faultsOf(&ops.Spec{Name: "acme.op", Params: params, Where: ops.InCore, Result: c.result, Effects: c.effects, Pure: c.pure})
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c, got, c.want)
		}
	}
}

// A plugin reports with codes of its own.
func TestReportCode(t *testing.T) {
	for code, want := range map[string]diag.Code{"ACME-001": "ACME-001", "acme-1": "acme-1", "my_plugin-D014": "my_plugin-D014", "": CodeReport, "PTO-R080": CodeReport, "pto-r080": CodeReport,
		"PTO-L016": "PTO-L016", "bad code!": CodeReport, "ACME": CodeReport} {
		if got := ReportCode(code); got != want {
			t.Errorf("%q became %q, want %q", code, got, want)
		}
	}
}

// What a plugin was not waited for when the command was stopped is told once, and only when there is no other error.
func TestWithoutStopped(t *testing.T) {
	wrong, warning := diag.Errorf("PTO-T001", diag.Span{}, "wrong"), diag.Warningf("PTO-V001", diag.Span{}, "odd")
	stopped := func(line int32) *diag.Diagnostic {
		return diag.Errorf(CodeStopped, diag.Span{File: "a.py", Line: line}, "stopped")
	}
	for _, c := range []struct{ ds, want diag.List }{
		{nil, nil},
		{diag.List{warning, wrong}, diag.List{warning, wrong}},
		{diag.List{stopped(1), wrong, warning, stopped(2)}, diag.List{wrong, warning}},
		{diag.List{warning, stopped(1), stopped(2)}, diag.List{warning, stopped(1)}},
	} {
		if got := WithoutStopped(c.ds); got.Error() != c.want.Error() {
			t.Errorf("%v became %v", c.ds, got)
		}
	}
}
