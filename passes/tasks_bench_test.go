package passes

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// Large programs for the task passes, each with about n statements in main.

func pair(a, b int64) ir.Expr { return &ir.MakeTuple{Elems: []ir.Expr{ir.Int(a), ir.Int(b)}} }

var tileT = &ir.TileType{Shape: tensorT.Shape, DType: ir.FP32, Mem: ir.Vec}

// plainKernel loads its inputs and stores to its output.
func plainKernel(name string, inputs int) *ir.Function {
	f := &ir.Function{Name: name, Type: ir.InCore, Returns: []ir.Type{tensorT}}
	var v *ir.Var
	for i := range inputs {
		a := tvar(fmt.Sprintf("a%d", i))
		f.Params = append(f.Params, ir.Param{Var: a})
		v = &ir.Var{Hint: "v", Typ: tileT}
		f.Body = append(f.Body, set(v, op("tile.load", tileT, a, pair(0, 0), pair(16, 16))))
	}
	o, o1 := tvar("o"), tvar("o__ssa_v1")
	f.Params = append(f.Params, ir.Param{Var: o, Dir: ir.Out})
	f.Body = append(f.Body, set(o1, op("tile.store", tensorT, v, pair(0, 0), o)), ret(o1))
	return f
}

func largeProgram(body func(x, y *ir.Var) (ir.Block, *ir.Var)) *ir.Program {
	big := &ir.TensorType{Shape: []ir.Expr{ir.Int(1 << 24), ir.Int(16)}, DType: ir.FP32}
	x, y := tvar("x__ssa_v0"), &ir.Var{Hint: "y__ssa_v0", Typ: big}
	b, last := body(x, y)
	return &ir.Program{Name: "P", Funcs: []*ir.Function{plainKernel("k", 1), plainKernel("k2", 2), {Name: "main", Type: ir.Orchestration, AutoScope: true,
		Params: []ir.Param{{Var: x}, {Var: y, Dir: ir.Out}}, Returns: []ir.Type{big}, Body: append(b, ret(last))}}}
}

var largePrograms = map[string]func(n int) *ir.Program{
	"chain": func(n int) *ir.Program {
		return largeProgram(func(x, y *ir.Var) (b ir.Block, _ *ir.Var) {
			prev := x
			for i := range n / 3 {
				c, c1, d := tvar(fmt.Sprintf("c%d", i)), tvar(fmt.Sprintf("c%d__ssa_v1", i)), tvar(fmt.Sprintf("d%d", i))
				b = append(b, set(c, create()), set(c1, call("k", prev, c)), set(d, call("k2", x, prev, c1)))
				prev = d
			}
			return b, y
		})
	},
	"windows": func(n int) *ir.Program {
		return largeProgram(func(x, y *ir.Var) (b ir.Block, _ *ir.Var) {
			for i := range n / 2 {
				w, w1 := tvar("w"), tvar("w__ssa_v1")
				b = append(b, set(w, op("tensor.slice", tensorT, y, pair(16, 16), pair(int64(i)*16, 0))), set(w1, call("k", x, w)))
			}
			return b, y
		})
	},
	"placements": func(n int) *ir.Program {
		return largeProgram(func(x, y *ir.Var) (b ir.Block, _ *ir.Var) {
			for i := range n / 3 {
				t, t1, y1 := tvar("t"), tvar("t__ssa_v1"), &ir.Var{Hint: "y", Typ: y.Typ}
				b = append(b, set(t, create()), set(t1, call("k", x, t)), set(y1, op("tensor.assemble", y.Typ, y, t1, pair(int64(i)*16, 0))))
				y = y1
			}
			return b, y
		})
	},
	"blocks": func(n int) *ir.Program {
		return largeProgram(func(x, y *ir.Var) (b ir.Block, _ *ir.Var) {
			prev := x
			for i := range n / 4 {
				c, v, c1 := tvar(fmt.Sprintf("c%d", i)), &ir.Var{Hint: "v", Typ: tileT}, tvar(fmt.Sprintf("c%d__ssa_v1", i))
				b = append(b, set(c, create()), &ir.Scope{Kind: ir.InCoreScope, Body: ir.Block{
					set(v, op("tile.load", tileT, prev, pair(0, 0), pair(16, 16))), set(c1, op("tile.store", tensorT, v, pair(0, 0), c))}})
				prev = c1
			}
			return b, y
		})
	},
	"branches": func(n int) *ir.Program {
		return largeProgram(func(x, y *ir.Var) (b ir.Block, _ *ir.Var) {
			c := tvar("c")
			b = append(b, set(c, create()))
			for range n / 5 {
				c1, c2 := tvar("c__ssa_v1"), tvar("c__phi_v2")
				b = append(b, &ir.If{Cond: &ir.ConstBool{Value: true}, Then: ir.Block{set(c1, call("k", x, c)), yield(c1)}, Else: ir.Block{yield(c)}, Results: []*ir.Var{c2}})
				c = c2
			}
			return b, y
		})
	},
}

var taskPasses = []*Pass{outlineIncore, outlineCluster, kernelABI, returnOrder, fuseSlice, callDirections, autoDeps, phaseFence, runtimeScopes, carryClass}

func runTaskPasses(t testing.TB, p *ir.Program) {
	ctx := &Context{Ops: ops.Builtin(), Options: Options{AutoDeps: true}}
	for _, pass := range taskPasses {
		q, err := pass.Run(ctx, p)
		if err != nil || ctx.diags.HasErrors() {
			t.Fatal(pass.Name, err, ctx.diags)
		}
		p = q
	}
}

// TestTaskPassesAreLinear guards against passes whose work grows faster than the program.
func TestTaskPassesAreLinear(t *testing.T) {
	bytes := func(p *ir.Program) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		runTaskPasses(t, p)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for name, make := range largePrograms {
		// Ten times the program takes about ten times the memory; a quadratic pass takes a hundred times.
		if small, large := bytes(make(2_000)), bytes(make(20_000)); large > 20*small {
			t.Errorf("%s: %d bytes for 2,000 statements, %d for 20,000", name, small, large)
		}
	}
}

func BenchmarkTaskPasses(b *testing.B) {
	for _, name := range []string{"chain", "windows", "placements", "blocks", "branches"} {
		for _, n := range []int{1_000, 50_000} {
			p := largePrograms[name](n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					runTaskPasses(b, p)
				}
			})
		}
	}
}
