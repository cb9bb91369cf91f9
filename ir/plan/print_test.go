package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
)

func nm(s string) *Name { return &Name{Hint: s, Text: s} }
func ref(s string) Expr { return &Ref{nm(s)} }
func num(v int64) Expr  { return &Int{v, ir.INDEX} }

func sample() *File {
	slot := int64(2)
	task := &Task{Kind: SubmitMixed, Kernels: [3]int{0, 1, 1}, Mixed: nm("mixed_0"), Params: nm("params_t0"), Label: "mix",
		Args:    []Arg{{Tag: Input, Tensor: nm("ext_x")}, {Tag: Output, Info: nm("o_ci")}},
		Scalars: []Expr{&Bits{&Float{1e-8, ir.FP32}}}, Outs: nm("task_0_outs"), Dump: []Expr{ref("ext_x")}, BlockNum: num(4), SyncStart: true, EarlyResolve: true,
		TimingSlot: &slot, Pred: &Predicate{Name: nm("params_t0_pred"), Tensor: nm("ext_x"), Index: []Expr{num(0)}, Op: ir.Gt, Target: -1},
		Deps: &Deps{Array: nm("d"), Count: nm("n"), Entries: []Dep{{ID: ref("t")}, {ID: &Elem{nm("ids"), num(1)}, Guarded: true, Compiler: true}, {ID: &TaskIDOf{nm("alloc_0")}, Alloc: true}}}}
	return &File{
		Func: "main", Tensors: []Tensor{{Name: nm("ext_x"), Param: "x", Dir: ir.InOut, DType: ir.FP32}}, Scalars: []Scalar{{Name: nm("s"), Param: "s", DType: ir.INDEX}, {Name: nm("c"), Param: "c", DType: ir.NoDType}},
		Dims:    []Dim{{Name: nm("M"), Axis: 1}},
		Kernels: []Kernel{{ID: 0, Name: "mix_aic", Func: "mix", Core: AIC, Signature: []ArgTag{Input, Output}, External: &ir.External{Source: "m.cpp"}}, {ID: 1, Name: "mix_aiv", Func: "mix_aiv", Core: AIV}},
		Body: []Stmt{
			&Scope{Body: []Stmt{
				&Create{Info: nm("a_ci"), Shapes: nm("a_ci_shapes"), Dims: []Expr{num(16)}, DType: ir.BF16, ManualDep: true, Init: num(0)},
				&Alloc{Outs: nm("alloc_0"), Infos: []*Name{nm("a_ci")}, Refs: []*Name{nm("a")}},
				&For{Var: nm("i"), Start: num(8), Stop: num(0), Step: num(-1), Down: true, Parallel: true, Body: []Stmt{
					&Scope{Manual: true, Body: []Stmt{task}},
					&SetElem{Array: nm("ids"), I: ref("i"), Value: &InvalidTask{}},
				}},
				&If{Cond: &Binary{Op: ir.Lt, X: ref("s"), Y: num(3), DType: ir.BOOL}, Then: []Stmt{&Assign{Dst: nm("s"), Value: &Binary{Op: ir.FloorDiv, X: ref("s"), Y: num(2), DType: ir.INDEX, Floored: true}}},
					Else: []Stmt{&Braces{Body: []Stmt{&Write{Tensor: nm("ext_x"), DType: ir.FP32, Indices: nm("ix"), Index: []Expr{num(1)}, Value: &Float{2, ir.FP32}}}}}},
				&While{Cond: &Bool{true}},
				&DeclIDs{Name: nm("trips")},
				&AppendID{IDs: nm("trips"), ID: ref("t"), Guarded: true},
				&Dummy{Params: nm("params_phase_fence_barrier_1"), ID: nm("all"), Outs: nm("o"), Guarded: true, Gathered: nm("trips")},
				&Dummy{Params: nm("params_phase_fence_barrier_0"), ID: nm("b"), Outs: nm("o"), Guarded: true, Deps: &Deps{Array: nm("e"), Count: nm("m"), Entries: []Dep{{ID: ref("t"), Guarded: true}}}},
				&Decl{Name: nm("v"), Type: CType{Kind: TensorT}, Init: &View{nm("ext_x"), nm("sh"), nm("off")}},
			}},
		},
	}
}

func TestPrint(t *testing.T) {
	want := `plan main
tensor ext_x = entry 0: InOut FP32 (x)
scalar s = entry 0: index (s)
scalar c = entry 1: bits (c)
dim M = ext_x.shape[1]
kernel 0 = mix_aic: aic (in, new) of mix from "m.cpp"
kernel 1 = mix_aiv: aiv ()
scope auto {
  create a_ci = BF16 [16] manual_dep init 0
  alloc alloc_0 = a: a_ci
  for i = 8 down to 0 by -1 parallel {
    scope manual {
      task params_t0 = mixed mix [0 1 1] (in ext_x, new o_ci, bits(1e-08)) -> task_0_outs dump [ext_x] blocks 4 sync_start early slot 2 when ext_x[0] > -1 after [t, ids[1]? (derived), id(alloc_0) (buffer)]
    }
    ids[i] = none
  }
  if (s < 3) {
    s = (s // 2)'
  } else {
    block {
      ext_x[1] := 2.0
    }
  }
  while true {
  }
  ids trips
  trips += t?
  dummy params_phase_fence_barrier_1 -> all if any after all of trips
  dummy params_phase_fence_barrier_0 -> b if any after [t?]
  tensor v = view(ext_x, sh, off)
}
`
	if got := Print(sample()); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// Walk, Tasks, Exprs and Declares see what a file holds, in print order.
func TestWalk(t *testing.T) {
	f := sample()
	var declared []string
	refs := map[string]bool{}
	count := 0
	Walk(f.Body, func(s Stmt) bool {
		count++
		for _, n := range Declares(s) {
			declared = append(declared, n.Text)
		}
		Exprs(s, func(e Expr) {
			WalkExpr(e, func(e Expr) {
				if r, ok := e.(*Ref); ok {
					refs[r.Name.Text] = true
				}
			})
		})
		return true
	})
	if count != 17 {
		t.Errorf("%d statements", count)
	}
	want := "a_ci_shapes a_ci alloc_0 a params_t0 mixed_0 d n params_t0_pred task_0_outs trips params_phase_fence_barrier_1 all o params_phase_fence_barrier_0 e m b o v"
	if got := strings.Join(declared, " "); got != want {
		t.Errorf("declared %s", got)
	}
	for _, n := range []string{"t", "i", "s", "ext_x"} {
		if !refs[n] {
			t.Errorf("%s is not seen", n)
		}
	}
	if tasks := slices.Collect(f.Tasks()); len(tasks) != 1 || tasks[0].Label != "mix" {
		t.Errorf("tasks: %v", tasks)
	}
	for range f.Tasks() {
		break // stopping early is fine
	}
}

func TestFloatText(t *testing.T) {
	for _, c := range []struct {
		v    float64
		d    ir.DType
		want string
	}{
		{1, ir.FP32, "1.0"}, {1e-8, ir.FP32, "1e-08"}, {0.1, ir.FP32, "0.1"}, {0.1, ir.FP64, "0.1"}, {float64(float32(0.1)), ir.FP64, "0.10000000149011612"},
		{math.Inf(1), ir.FP32, "+Inf"}, {-2.5e30, ir.FP32, "-2.5e+30"}, {16777216, ir.FP32, "1.6777216e+07"},
	} {
		if got := FloatText(c.v, c.d); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}
