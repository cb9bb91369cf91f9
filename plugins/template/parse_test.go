package template

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
)

// Elements are accessed as what they are, also through a view; the report names the right type.
func TestElementTypes(t *testing.T) {
	spec := &ops.Spec{Name: "acme.set", Params: []ops.Param{{Name: "x", Kind: ops.TensorArg}}, Result: ops.Result{Kind: ops.InPlace}, Effects: []ops.Effect{ops.ReadWrite}, Where: ops.OnHost}
	const (
		write = "set_tensor_data<%>($x, {0, 0}, 1);"
		read  = "uint32_t $i[] = {0, 0}; double $v = get_tensor_data<%>($x, 2, $i);"
		view  = "uint32_t $o[] = {0, 0}; uint32_t $s[] = {1, 1}; Tensor $w = $x.view($s, $o); set_tensor_data<%>($w, {0, 0}, 1);"
	)
	for _, tt := range []struct {
		d        ir.DType
		typ, use string
		ok       bool
	}{
		{ir.FP32, "float", write, true}, {ir.FP16, "half", write, true}, {ir.FP16, "half", read, true}, {ir.BF16, "bfloat16_t", view, true},
		{ir.INDEX, "int64_t", write, true}, {ir.UINT8, "uint8_t", read, true}, {ir.BOOL, "bool", write, true},
		{ir.FP16, "float", write, false}, {ir.INT32, "float", write, false}, {ir.FP16, "float", read, false}, {ir.FP16, "float", view, false},
		{ir.INT32, "Tensor", write, false}, {ir.FP64, "TaskId", read, false},
	} {
		x := &ir.Var{Hint: "x", Typ: &ir.TensorType{Shape: []ir.Expr{ir.Int(4), ir.Int(4)}, DType: tt.d}}
		call := &ir.OpCall{Op: spec.Name, Args: []ir.Expr{x}, Typ: x.Typ}
		p, err := Parse(Operands{Names: []string{"x"}}, strings.ReplaceAll(tt.use, "%", tt.typ))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Plan(spec, &ops.EmitSite{Call: call, Args: []plan.Expr{&plan.Ref{Name: &plan.Name{Hint: "x"}}}, Lists: make([][]plan.Expr, 1), Result: &plan.Name{Hint: "x"},
			Local: func(affix string) *plan.Name { return &plan.Name{Hint: affix} }, EntryTensor: func(int) (int, bool) { return 0, false }})
		want := "elements of " + tt.d.String() + " are accessed as " + CType(tt.d) + ", not as " + tt.typ
		if tt.ok && err != nil || !tt.ok && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s as %s: %v", tt.d, tt.typ, err)
		}
	}
}
