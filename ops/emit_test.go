package ops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Plan statements are shown as one line each, in the manner of the C++ that they print as.
func showStmt(s plan.Stmt) string {
	switch s := s.(type) {
	case *plan.DeclArray:
		return fmt.Sprintf("%s %s[%d] = {%s}", showType(s.Type), s.Name.Hint, len(s.Elems), showAll(s.Elems))
	case *plan.Decl:
		return fmt.Sprintf("%s %s = %s", showType(s.Type), s.Name.Hint, show(s.Init))
	case *plan.DeclSlots:
		fill := "0"
		if s.Fill != nil {
			fill = show(s.Fill)
		}
		return fmt.Sprintf("%s %s[%d] = %s", showType(s.Type), s.Name.Hint, s.N, fill)
	case *plan.SetElem:
		return fmt.Sprintf("%s[%s] = %s", s.Array.Hint, show(s.I), show(s.Value))
	case *plan.Write:
		idx := "-"
		if s.Indices != nil {
			idx = s.Indices.Hint
		}
		return fmt.Sprintf("write<%s> %s %s{%s} = %s", s.DType, s.Tensor.Hint, idx, showAll(s.Index), show(s.Value))
	case *plan.Create:
		init := ""
		if s.Init != nil {
			init = " init " + show(s.Init)
		}
		return fmt.Sprintf("create %s %s{%s} %s manual=%v%s", s.Info.Hint, s.Shapes.Hint, showAll(s.Dims), s.DType, s.ManualDep, init)
	}
	return fmt.Sprintf("%T", s)
}

func showType(t plan.CType) string {
	switch t.Kind {
	case plan.TensorT:
		return "Tensor"
	case plan.TaskT:
		return "TaskId"
	case plan.Uint32T:
		return "u32"
	case plan.Int32T:
		return "i32"
	}
	return t.DType.String()
}

func showAll(xs []plan.Expr) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = show(x)
	}
	return strings.Join(parts, ", ")
}

func show(x plan.Expr) string {
	switch x := x.(type) {
	case *plan.Ref:
		return x.Name.Hint
	case *plan.Int:
		return fmt.Sprint(x.Value)
	case *plan.Float:
		return fmt.Sprint(x.Value)
	case *plan.Uint32:
		return "u32(" + show(x.X) + ")"
	case *plan.Cast:
		return x.DType.String() + "(" + show(x.X) + ")"
	case *plan.Binary:
		return "(" + show(x.X) + " " + x.Op.String() + " " + show(x.Y) + ")"
	case *plan.Elem:
		return x.Array.Hint + "[" + show(x.I) + "]"
	case *plan.Extent:
		return fmt.Sprintf("%s.shapes[%d]", x.Tensor.Hint, x.Axis)
	case *plan.EntryExtent:
		return fmt.Sprintf("entry(%d).shapes[%d]", x.Ordinal, x.Axis)
	case *plan.InvalidTask:
		return "invalid"
	case *plan.IsValid:
		return show(x.X) + ".is_valid"
	case *plan.Clamped:
		return fmt.Sprintf("clamp(%s, %s.%s, %d)", show(x.Size), x.Tensor.Hint, x.Offsets.Hint, x.Axis)
	case *plan.View:
		return fmt.Sprintf("%s.view(%s, %s)", x.Tensor.Hint, x.Shapes.Hint, x.Offsets.Hint)
	case *plan.Reshape:
		return fmt.Sprintf("%s.reshape(%s, %d)", x.Tensor.Hint, x.Shapes.Hint, x.N)
	case *plan.Transpose:
		return fmt.Sprintf("%s.transpose(%d, %d)", x.Tensor.Hint, x.A, x.B)
	case *plan.Read:
		idx := "null"
		if x.Indices != nil {
			idx = x.Indices.Hint
		}
		return fmt.Sprintf("read<%s>(%s, %d, %s)", x.DType, x.Tensor.Hint, x.N, idx)
	case *plan.Query:
		return fmt.Sprintf("available(aiv=%v)", x.AIV)
	}
	return fmt.Sprintf("%T", x)
}

// site makes the operands of an emission as lowering would: variables by name, literals as they are. Operand "x" of the call is entry tensor 3 when
// entry is set.
func site(c *ir.OpCall, entry bool) *EmitSite {
	e := &EmitSite{Call: c, Result: &plan.Name{Hint: "r"}, Args: make([]plan.Expr, len(c.Args)), Lists: make([][]plan.Expr, len(c.Args))}
	value := func(x ir.Expr) plan.Expr {
		switch x := x.(type) {
		case *ir.ConstInt:
			return &plan.Int{Value: x.Value, DType: ir.INT64}
		case *ir.ConstFloat:
			return &plan.Float{Value: x.Value, DType: x.DType}
		case *ir.Var:
			return &plan.Ref{Name: &plan.Name{Hint: x.Hint}}
		}
		return nil
	}
	for k, a := range c.Args {
		if t, ok := a.(*ir.MakeTuple); ok {
			for _, x := range t.Elems {
				e.Lists[k] = append(e.Lists[k], value(x))
			}
			continue
		}
		e.Args[k] = value(a)
	}
	e.Local = func(affix string) *plan.Name {
		if strings.HasSuffix(affix, "_") {
			return &plan.Name{Hint: affix + "r"}
		}
		return &plan.Name{Hint: "r" + affix}
	}
	e.EntryTensor = func(k int) (int, bool) { return 3, entry && k == 0 }
	return e
}

func TestEmit(t *testing.T) {
	x := tensor(ir.FP32, 32, 64)
	dyn := tensor(ir.FP32, dynN, 64)
	n := scalar(ir.INDEX)
	for _, c := range []struct {
		id    string // behaviour
		name  string
		args  []ir.Expr
		kws   ir.Kwargs
		entry bool
		want  string
	}{
		{"C-OPS-01", "slice", args(x, list(8, 8), list(i, 16)), nil, false,
			"u32 r_offsets[2] = {u32(i), 16}; u32 r_shapes[2] = {clamp(8, x.r_offsets, 0), clamp(8, x.r_offsets, 1)}; Tensor r = x.view(r_shapes, r_offsets)"},
		{"C-OPS-02", "slice", args(x, list(8, 8), list(0, 16), list(4, 4)), nil, false,
			"u32 r_offsets[2] = {0, 16}; u32 r_shapes[2] = {clamp(8, x.r_offsets, 0), clamp(8, x.r_offsets, 1)}; Tensor r = x.view(r_shapes, r_offsets)"},
		{"slice of a row", "slice", args(x, list(1, 64), list(i, 0), list(), list(0)), nil, false,
			"u32 r_offsets[2] = {u32(i), 0}; u32 r_shapes[2] = {clamp(1, x.r_offsets, 0), clamp(64, x.r_offsets, 1)}; Tensor r_window = x.view(r_shapes, r_offsets); " +
				"u32 r_kept[1] = {u32(r_window.shapes[1])}; Tensor r = r_window.reshape(r_kept, 1)"},
		{"slice of a column", "slice", args(x, list(32, 1), list(0, i), list(), list(1)), nil, false,
			"u32 r_offsets[2] = {0, u32(i)}; u32 r_shapes[2] = {clamp(32, x.r_offsets, 0), clamp(1, x.r_offsets, 1)}; Tensor r = x.view(r_shapes, r_offsets)"},
		{"C-OPS-03", "reshape", args(dyn, list(n, 128)), nil, false, "u32 r_shapes[2] = {u32(x), 128}; Tensor r = x.reshape(r_shapes, 2)"},
		{"C-OPS-04", "transpose", args(tensor(ir.FP32, 4, 8, 16), num(-2), num(-3)), nil, false, "Tensor r = x.transpose(1, 0)"},
		{"C-OPS-05 copy", "tensor.view", args(x), kws("layout", ir.Enum{Kind: "TensorLayout", Name: "ND"}), false, "Tensor r = x"},
		{"C-OPS-05 flip", "tensor.view", args(x), kws("layout", ir.Enum{Kind: "TensorLayout", Name: "DN"}), false, "Tensor r = x.transpose(0, 1)"},
		{"C-OPS-05 shape", "tensor.view", args(x, list(16, 128)), nil, false, "u32 r_shapes[2] = {16, 128}; Tensor r = x.reshape(r_shapes, 2)"},
		{"C-OPS-06", "assemble", args(x, tensor(ir.FP32, 8, 8), list(0, 0)), nil, false, ""},
		{"C-OPS-08", "read", args(x, list(2, i)), nil, false, "u32 indices_r[2] = {2, u32(i)}; fp32 r = read<fp32>(x, 2, indices_r)"},
		{"C-OPS-08 rank 0", "read", args(tensor(ir.INT32), list()), nil, false, "int32 r = read<int32>(x, 0, null)"},
		{"C-OPS-09", "write", args(x, list(2, i), flt(1.5)), nil, false, "write<fp32> x indices_r{2, u32(i)} = 1.5"},
		{"C-OPS-09 rank 0", "write", args(tensor(ir.INT32), list(), num(3)), nil, false, "write<int32> x -{} = 3"},
		{"C-OPS-10 static", "tensor.dim", args(dyn, num(1)), nil, true, "index r = 64"},
		{"C-OPS-10 param", "tensor.dim", args(dyn, num(-2)), nil, true, "index r = entry(3).shapes[0]"},
		{"C-OPS-10 local", "tensor.dim", args(dyn, num(0)), nil, false, "index r = x.shapes[0]"},
		{"C-OPS-11", "slice", args(tensor(ir.FP4, 8, 64), list(8, 32), list(0, n)), nil, false,
			"u32 r_offsets[2] = {0, u32((x // 2))}; u32 r_shapes[2] = {clamp(8, x.r_offsets, 0), clamp(16, x.r_offsets, 1)}; Tensor r = x.view(r_shapes, r_offsets)"},
		{"C-ARR-01 ids", "array.create", args(num(4), sym(ir.TASK_ID)), nil, false, "TaskId r[4] = invalid"},
		{"C-ARR-01 ints", "array.create", args(num(4), sym(ir.INT32)), nil, false, "int32 r[4] = 0"},
		{"C-ARR-02", "array.update_element", args(ints(4), i, num(7)), nil, false, "x[i] = 7"},
		{"C-ARR-04", "array.get_element", args(tasks(4), i), nil, false, "TaskId r = x[i]"},
		{"C-ARR-05", "task_is_valid", args(task()), nil, false, "bool r = x.is_valid"},
		{"none", "system.task_invalid", nil, nil, false, "TaskId r = invalid"},
		{"counts", "system.available_aiv_count", nil, nil, false, "i32 r = available(aiv=true)"},
	} {
		call, d := Builtin().Call(here, c.name, c.args, c.kws)
		if d != nil {
			t.Errorf("%s: %v", c.id, d)
			continue
		}
		stmts, d := Builtin().Lookup(call.Op).Emit(site(call, c.entry))
		if d != nil {
			t.Errorf("%s: %v", c.id, d)
			continue
		}
		var lines []string
		for _, s := range stmts {
			lines = append(lines, showStmt(s))
			if s.Span() != here {
				t.Errorf("%s: statement without the place of its call", c.id)
			}
		}
		if got := strings.Join(lines, "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.id, got, c.want)
		}
	}
}

// C-ALC-01, -07, -08, -12: what alloc batching needs of a create.
func TestEmitCreate(t *testing.T) {
	for _, c := range []struct {
		shape ir.Expr
		kws   ir.Kwargs
		want  string
	}{
		{list(16, 16), kws("dtype", ir.FP32), "create r_ci r_ci_shapes{16, 16} fp32 manual=false"},
		{list(i, 8), kws("dtype", ir.BF16, "manual_dep", true), "create r_ci r_ci_shapes{u32(i), 8} bfloat16 manual=true"},
		{list(8), kws("dtype", ir.BF16, "init_value", 0), "create r_ci r_ci_shapes{8} bfloat16 manual=false init 0"},
		{list(8), kws("dtype", ir.FP32, "init_value", 2.5), "create r_ci r_ci_shapes{8} fp32 manual=false init fp32(2.5)"},
		{list(8), kws("dtype", ir.INT32, "init_value", -7), "create r_ci r_ci_shapes{8} int32 manual=false init int32(-7)"},
		{list(8, 64), kws("dtype", ir.FP4) /* C-ALC-12: two elements a byte */, "create r_ci r_ci_shapes{8, 32} fp4 manual=false"},
	} {
		call, d := Builtin().Call(here, "create_tensor", args(c.shape), c.kws)
		if d != nil {
			t.Error(d)
			continue
		}
		got, d := EmitCreate(site(call, false))
		if d != nil {
			t.Error(d)
		} else if showStmt(got) != c.want {
			t.Errorf("got %s, want %s", showStmt(got), c.want)
		}
	}
	call, _ := Builtin().Call(here, "create_tensor", args(list(8, 63)), kws("dtype", ir.FP4))
	if _, d := EmitCreate(site(call, false)); d == nil || d.Code != CodePacked {
		t.Errorf("an odd number of 4-bit elements is accepted: %v", d)
	}
}

func TestEmitErrors(t *testing.T) {
	x := tensor(ir.FP32, 32, 64)
	for _, c := range []struct {
		id   string
		name string
		args []ir.Expr
		kws  ir.Kwargs
		want string
	}{
		{"E-17", "reinterpret_view", args(x), kws("dtype", ir.INT32), "cannot change the element dtype"},
		{"E-20", "assemble", args(x, tensor(ir.FP32, 8, 8), list(0, 0)), kws("atomic", ir.Enum{Kind: "AtomicType", Name: "Add"}), "only supported inside an InCore function"},
	} {
		call, d := Builtin().Call(here, c.name, c.args, c.kws)
		if d != nil {
			t.Errorf("%s: %v", c.id, d)
			continue
		}
		_, d = Builtin().Lookup(call.Op).Emit(site(call, false))
		if d == nil || !strings.Contains(d.Message, c.want) || d.Span != here {
			t.Errorf("%s: got %v, want …%s…", c.id, d, c.want)
		}
	}
	// E-03, E-04: an op where it may not stand.
	for op, want := range map[string]string{"tensor.add": "Misplaced tensor op 'tensor.add' in Orchestration function", "tile.load": "Misplaced builtin op 'tile.load'"} {
		if d := Misplaced(Builtin().Lookup(op), here, false); !strings.Contains(d.Message, want) {
			t.Errorf("got %q, want …%s…", d.Message, want)
		}
	}
	// An atomic write also reads, so its operand is no pure output.
	atomic, _ := Builtin().Call(here, "assemble", args(x, tensor(ir.FP32, 8, 8), list(0, 0)), kws("atomic", ir.Enum{Kind: "AtomicType", Name: "Add"}))
	if e := Builtin().Lookup("tensor.assemble").EffectIn(atomic, 0); e != ReadWrite {
		t.Errorf("atomic assemble has effect %d on its target", e)
	}
}
