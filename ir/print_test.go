package ir_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	. "github.com/ptobuild/ptobuild/ir/irtest"
)

// demo has most forms of the printed language (spec: dsl-ir 3.1), and those that the older dump language lacks.
func demo() *ir.Program {
	m := Dyn("M")
	dynT := func() *ir.TensorType { return &ir.TensorType{Shape: []ir.Expr{m, ir.Int(64)}, DType: ir.FP32} }
	tensor := dynT()

	// A kernel after allocation.
	a, o := Var("a", tensor), Var("o", tensor)
	m0 := Var("m0", &ir.OpaqueType{Name: "Ptr"})
	t := Var("t", &ir.TileType{Shape: Dims(32, 64), DType: ir.FP32, Mem: ir.Vec, MemRef: &ir.MemRef{Base: m0, ByteOffset: ir.Int(0), Size: 8192}})
	u := Var("u", &ir.TileType{Shape: Dims(32, 64), DType: ir.FP32, Mem: ir.Vec, View: &ir.TileView{ValidShape: Dims(16, 64), Pad: "zero"}})
	o1 := Var("o__ssa_v1", tensor)
	vec := ir.Enum{Kind: "Mem", Name: "Vec"}
	load := Op("tile.load", t.Typ, a, List(ir.Int(0), ir.Int(0)), List(ir.Int(32), ir.Int(64)), List(ir.Int(32), ir.Int(64)))
	load.Kwargs = ir.Kwargs{{Name: "target_memory", Value: vec}}
	alloc := Op("tile.alloc", m0.Typ, ir.Int(8192))
	alloc.Kwargs = ir.Kwargs{{Name: "memory_space", Value: vec}}
	k := Func("k", ir.AIV, []ir.Param{In(a), Out(o)},
		Set(m0, alloc), Set(t, load), Set(u, Op("tile.exp", u.Typ, t)), Set(o1, Op("tile.store", tensor, u, List(ir.Int(0), ir.Int(0)), o)), Return(o1))
	k.DualAIV = true

	ext := Func("ext", ir.AIC, []ir.Param{In(Var("a", tensor)), Out(Var("o", tensor))})
	ext.Returns = []ir.Type{tensor}
	ext.External = &ir.External{Source: "kernels/ext.cpp", IncludeDirs: []string{"inc"}}
	ext.Attrs = ir.Attrs{{Key: "acme.hint", Value: []string{"a", "b"}}}

	// An orchestration after the passes.
	a2, o2, flag := Var("a", tensor), Var("o", tensor), Var("gate", Tensor(ir.INT32, 8))
	n, i := Index("n"), Index("i")
	acc, accRV, acc1, p := Var("acc", tensor), Var("acc__rv", tensor), Var("acc1", tensor), Var("p", tensor)
	prev, prevRV := Var("prev", ir.TaskIDType), Var("prev__rv", ir.TaskIDType)
	call := Call("k", tensor, a2, acc)
	call.Dirs = []ir.ArgDir{ir.DirInput, ir.DirInOut}
	call.NoDep = []int{0}
	branch := &ir.If{Cond: Bin(ir.Eq, i, ir.Int(0)), Results: []*ir.Var{p},
		Then: ir.Block{Set(acc1, call), Yield(acc1)}, Else: ir.Block{Yield(acc)}}
	loop := &ir.For{Var: i, Start: ir.Int(0), Stop: n, Step: ir.Int(2),
		Carries: []ir.Carry{
			{Iter: acc, Init: o2, Result: accRV, Class: ir.CarryRebind},
			{Iter: prev, Init: Op("system.task_invalid", ir.TaskIDType), Result: prevRV, Class: ir.CarryRebind, Slots: 4},
		},
		Body:     ir.Block{&ir.Scope{Kind: ir.RuntimeScope, Body: ir.Block{branch, Yield(p, prev)}}},
		Comments: []string{"every other row"}}
	sub := Submit("k", []ir.Type{tensor}, a2, accRV)
	slot := int64(3)
	read := Op("tensor.read", ir.Scalar(ir.INT32), flag, List(ir.Int(0)))
	sub.Launch = ir.Launch{Deps: []ir.Expr{prevRV}, CoreNum: ir.Int(4), SyncStart: true, EarlyResolve: true, TimingSlot: &slot,
		Predicate: Bin(ir.Gt, read, &ir.ConstInt{Value: 0, DType: ir.INT32}), Dumps: []ir.Expr{a2}}
	sub.CompilerDeps = []*ir.Var{prevRV}
	r, q, tid := Var("r", sub.Typ), Var("q", tensor), Var("tid", ir.TaskIDType)
	bar := Var("bar", ir.TaskIDType)
	dummy := Op("system.task_dummy", ir.TaskIDType)
	dummy.Deps = []ir.Expr{tid}
	at := &ir.Scope{Kind: ir.InCoreScope, NameHint: "tail", Split: ir.SplitUpDown, TaskID: Var("at_tid", ir.TaskIDType), NoDep: []ir.Expr{a2},
		Launch: ir.Launch{Deps: []ir.Expr{bar}, EarlyResolve: true, TimingSlot: &slot},
		Attrs:  ir.Attrs{{Key: "slot_num", Value: int64(2)}, {Key: "windowize", Value: true}, {Key: "acme.x", Value: ir.Int(5)}},
		Body:   ir.Block{&ir.Eval{X: Op("acme.rope", ir.Unknown, q)}}}
	b := Index("b")
	spmd := &ir.Scope{Kind: ir.SpmdScope, Launch: ir.Launch{CoreNum: ir.Int(8)}, Body: ir.Block{&ir.Scope{Kind: ir.InCoreScope,
		Body: ir.Block{Set(b, Op("tile.get_block_idx", ir.IndexType)), &ir.Eval{X: Op("acme.rope", ir.Unknown, q, b)}}}}}
	wx, wrv := Index("w"), Index("w__rv")
	while := &ir.While{Cond: Bin(ir.Lt, wx, n), Carries: []ir.Carry{{Iter: wx, Init: ir.Int(0), Result: wrv}}, Body: ir.Block{Yield(Bin(ir.Add, wx, ir.Int(1)))}}
	main := Func("main", ir.Orchestration, []ir.Param{In(a2), InOut(o2), In(flag)},
		&ir.Scope{Kind: ir.RuntimeScope, Owner: ir.CompilerScope, Body: ir.Block{
			Set(n, Op("tensor.dim", ir.IndexType, a2, ir.Int(0))), loop,
			&ir.Scope{Kind: ir.RuntimeScope, Manual: true, Body: ir.Block{Set(r, sub), Set(q, Get(r, 0)), Set(tid, Get(r, 1)), Set(bar, dummy)}},
			at, spmd, while, Return(q),
		}})
	main.AutoScope = false
	main.Returns = []ir.Type{tensor}
	main.Comments = []string{"the entry"}

	// Python text that is only carried.
	host := Func("host", ir.Opaque, []ir.Param{In(Var("a", tensor))}, &ir.Verbatim{Text: "if a:\n    prepare(a)\n"})
	host.Level, host.Role = "HOST", "SubWorker"
	return &ir.Program{Name: "Demo", Funcs: []*ir.Function{k, ext, host, main}}
}

func TestPrintGolden(t *testing.T) {
	golden(t, "demo.py", ir.Print(demo(), ir.PrintOptions{}))
	golden(t, "demo_concise.py", ir.Print(demo(), ir.PrintOptions{Concise: true}))
	golden(t, "demo_main.py", ir.PrintFunction(demo().Lookup("main"), ir.PrintOptions{}))
}

func TestPrintExpr(t *testing.T) {
	a, b, c := Index("a"), Index("b"), Index("c")
	w := Var("w", ir.Scalar(ir.INT32))
	f := Var("f", ir.BoolType)
	i := ir.Int
	i32 := func(v int64) ir.Expr { return &ir.ConstInt{Value: v, DType: ir.INT32} }
	fl := func(v float64) ir.Expr { return &ir.ConstFloat{Value: v, DType: ir.FP32} }
	un := func(op ir.UnOp, x ir.Expr) ir.Expr { return &ir.Unary{Op: op, X: x, DType: ir.INDEX} }
	not := func(x ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Not, X: x, DType: ir.BOOL} }
	op := func(name string, kw ir.Kwargs, args ...ir.Expr) ir.Expr {
		return &ir.OpCall{Op: name, Args: args, Kwargs: kw, Typ: ir.Unknown}
	}
	for _, tt := range []struct {
		e    ir.Expr
		want string
	}{
		// Precedence and association.
		{Bin(ir.Mul, Bin(ir.Add, a, b), c), "(a + b) * c"},
		{Bin(ir.Add, a, Bin(ir.Mul, b, c)), "a + b * c"},
		{Bin(ir.Sub, Bin(ir.Sub, a, b), c), "a - b - c"},
		{Bin(ir.Sub, a, Bin(ir.Sub, b, c)), "a - (b - c)"},
		{Bin(ir.FloorDiv, a, Bin(ir.FloorMod, b, c)), "a // (b % c)"},
		{Bin(ir.Pow, Bin(ir.Pow, a, b), c), "(a ** b) ** c"},
		{Bin(ir.Pow, a, Bin(ir.Pow, b, c)), "a ** b ** c"},
		{Bin(ir.Pow, un(ir.Neg, a), b), "(-a) ** b"},
		{un(ir.Neg, Bin(ir.Pow, a, b)), "-a ** b"},
		{Bin(ir.Pow, a, un(ir.Neg, b)), "a ** -b"},
		{Bin(ir.Pow, i(-2), a), "(-2) ** a"},
		{Bin(ir.Pow, fl(-2), a), "(-2.0) ** a"},
		{un(ir.Neg, un(ir.Neg, a)), "--a"},
		{un(ir.BitNot, Bin(ir.Add, a, b)), "~(a + b)"},
		{Bin(ir.BitOr, a, Bin(ir.BitAnd, b, c)), "a | b & c"},
		{Bin(ir.BitAnd, Bin(ir.BitOr, a, b), c), "(a | b) & c"},
		{Bin(ir.Shl, a, Bin(ir.Add, b, c)), "a << b + c"},
		{Bin(ir.And, Bin(ir.Or, f, f), f), "(f or f) and f"},
		{Bin(ir.And, f, Bin(ir.And, f, f)), "f and (f and f)"},
		{not(Bin(ir.Eq, a, b)), "not a == b"},
		{Bin(ir.Eq, not(f), f), "(not f) == f"},
		{Bin(ir.And, not(f), f), "not f and f"},
		{Get(List(a, b), 1), "[a, b][1]"},
		{Get(Bin(ir.Add, a, b), 0), "(a + b)[0]"},
		// The holes of the older printer (3.7).
		{Bin(ir.Eq, Bin(ir.Eq, a, b), f), "(a == b) == f"},
		{Bin(ir.Lt, a, Bin(ir.Eq, b, c)), "a < (b == c)"},
		{un(ir.Neg, i(5)), "-pl.const(5, pl.INDEX)"},
		{Bin(ir.Add, i(2), i(3)), "pl.const(2, pl.INDEX) + pl.const(3, pl.INDEX)"},
		{Bin(ir.Add, a, Bin(ir.Mul, i(2), i(3))), "a + pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)"},
		{Bin(ir.Mul, fl(2), fl(3)), "pl.const(2.0, pl.FP32) * pl.const(3.0, pl.FP32)"},
		{not(&ir.ConstBool{Value: true}), "not pl.const(True, pl.BOOL)"},
		{Bin(ir.Add, w, i(1)), "w + pl.const(1, pl.INDEX)"},
		{Bin(ir.Xor, f, f), "pl.xor(f, f)"},
		{un(ir.Abs, a), "abs(a)"},
		// Literals.
		{i(-5), "-5"}, {i32(5), "pl.const(5, pl.INT32)"}, {Bin(ir.Sub, a, i(-5)), "a - -5"},
		{fl(1), "1.0"}, {fl(0.1), "0.1"}, {fl(1e16), "1e+16"}, {fl(1e15), "1000000000000000.0"}, {fl(1e-5), "1e-05"}, {fl(math.Inf(1)), "inf"}, {fl(math.Inf(-1)), "-inf"},
		{fl(math.Copysign(0, -1)), "-0.0"},
		{&ir.ConstFloat{Value: 2, DType: ir.BF16}, "pl.const(2.0, pl.BF16)"},
		{&ir.ConstBool{}, "False"},
		// Calls and their special forms (3.4).
		{Bin(ir.Min, a, i(4)), "pl.min(a, 4)"},
		{&ir.Cast{X: a, DType: ir.FP32}, "pl.cast(a, pl.FP32)"},
		{op("tile.and", nil, a, b), "pl.tile.and_(a, b)"},
		{op("tile.not", nil, a), "pl.tile.not_(a)"}, {op("tensor.abs", nil, a), "pl.tensor.abs(a)"}, {op("x.tuple", nil, a), "pl.x.tuple(a)"},
		{op("pld.tensor.put", nil, a), "pld.tensor.put(a)"},
		{op("tensor.full", ir.Kwargs{{Name: "dtype", Value: ir.FP32}}, List(i(4)), fl(0)), "pl.tensor.full([4], dtype=pl.FP32, value=0.0)"},
		{op("tensor.reinterpret_view", ir.Kwargs{{Name: "dtype", Value: ir.BF16}}, a, List(i(4))), "pl.tensor.reinterpret_view(a, dtype=pl.BF16, shape=[4])"},
		{op("tile.cast", ir.Kwargs{{Name: "target_type", Value: ir.BF16}, {Name: "mode", Value: int64(1)}}, a), "pl.tile.cast(a, target_type=pl.BF16, mode='rint')"},
		{op("tile.alloc", ir.Kwargs{{Name: "memory_space", Value: ir.Enum{Kind: "Mem", Name: "Vec"}}, {Name: "pinned", Value: true}}, i(64)), "pl.tile.alloc(pl.Mem.Vec, 64, pinned=True)"},
		{op("system.task_dummy", nil), "pl.system.task_dummy(deps=[])"},
		{op("system.sync_set", ir.Kwargs{{Name: "core_type", Value: "it's"}}), `pl.system.sync_set(core_type='it\'s')`},
		{&ir.OpCall{Op: "a.b", Attrs: ir.Attrs{{Key: "k", Value: i(5)}, {Key: "n", Value: int64(5)}, {Key: "s", Value: "x\n"}}}, `pl.a.b(attrs={"k": pl.const(5, pl.INDEX), "n": 5, "s": "x\n"})`},
		{&ir.Call{Callee: "k", Args: []ir.Expr{a}, Launch: ir.Launch{CoreNum: i(4), SyncStart: true}}, `k(a, attrs={"core_num": pl.const(4, pl.INDEX), "sync_start": True})`},
		{&ir.Call{Callee: "k", Submit: true}, "pl.submit(k)"},
		// Two variables of one name stay apart.
		{Bin(ir.Add, Index("x"), Index("x")), "x + x_1"},
		{Bin(ir.Add, Index("for"), Index("2 x")), "for_ + v2_x"},
		{Bin(ir.Add, Index("größe"), Index("a – b")), "größe + a_b"},
		{Bin(ir.Add, Index(""), Index("\u00ff-\xff")), "v + ÿ"},
	} {
		if got := ir.PrintExpr(tt.e); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestPrintType(t *testing.T) {
	m := Dyn("M")
	for _, tt := range []struct {
		t    ir.Type
		want string
	}{
		{ir.IndexType, "pl.Scalar[pl.INDEX]"},
		{&ir.TensorType{Shape: []ir.Expr{Bin(ir.Mul, m, ir.Int(2)), ir.Int(4)}, DType: ir.BF16}, "pl.Tensor[[M * 2, 4], pl.BF16]"},
		{&ir.TensorType{Shape: []ir.Expr{&ir.ConstInt{Value: 4, DType: ir.INT32}}, DType: ir.FP32, Distributed: true}, "pld.DistributedTensor[[4], pl.FP32]"},
		{&ir.TensorType{Shape: Dims(4, 8), DType: ir.FP32, View: &ir.TensorView{Stride: Dims(1, 4), Layout: "DN"}}, "pl.Tensor[[4, 8], pl.FP32, pl.TensorView(stride=[1, 4], layout=pl.TensorLayout.DN)]"},
		{&ir.TensorType{Shape: Dims(4), DType: ir.FP32, View: &ir.TensorView{}}, "pl.Tensor[[4], pl.FP32, pl.TensorView()]"},
		{&ir.TileType{Shape: Dims(4, 8), DType: ir.FP32, Mem: ir.Vec, MemRef: &ir.MemRef{Name: "buf", Slots: 2, Slot: ir.Int(1)}}, `pl.Tile[[4, 8], pl.FP32, pl.MemRef("buf", slots=2)[1], pl.Mem.Vec]`},
		{&ir.TileType{Shape: Dims(4, 8), DType: ir.FP32, MemRef: &ir.MemRef{Base: Var("m0", nil), Size: 128}}, `pl.Tile[[4, 8], pl.FP32, pl.MemRef("m0", 0, 128)]`},
		{&ir.ArrayType{Len: 4, DType: ir.TASK_ID}, "pl.Array[4, pl.TASK_ID]"},
		{&ir.TupleType{}, "pl.Tuple[()]"},
		{&ir.TupleType{Elems: []ir.Type{ir.BoolType, ir.Unknown}}, "pl.Tuple[pl.Scalar[pl.BOOL], pl.UnknownType]"},
		{&ir.OpaqueType{Name: "Ptr"}, "pl.Ptr"},
		{&ir.OpaqueType{Name: "CommCtxType"}, "pld.CommCtxType"},
	} {
		if got := ir.PrintType(tt.t); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestPrintNames: one name per Var and function; parameters first, then definitions in textual order; symbols are program-wide; undefined Vars are marked.
func TestPrintNames(t *testing.T) {
	m1, m2 := Dyn("M"), Dyn("M") // two symbols of one name (reported against the reference as 618)
	tensor := func(d *ir.Var) ir.Type { return &ir.TensorType{Shape: []ir.Expr{d}, DType: ir.FP32} }
	x1, x2, x3 := Index("x"), Index("x"), Index("x_1")
	f := Func("f", ir.Orchestration, []ir.Param{In(Var("p", tensor(m1))), In(Var("q", tensor(m2)))},
		Set(x1, ir.Int(1)), Set(x2, Bin(ir.Add, x1, Index("lost"))), Set(x3, Bin(ir.Add, x2, x1)))
	g := Func("g", ir.Orchestration, []ir.Param{In(Var("p", tensor(m2))), In(Index("M"))})
	want := `# pypto.program: Program
import pypto.language as pl

M = pl.dynamic("M")
M_1 = pl.dynamic("M_1")

@pl.program
class Program:
    @pl.function(type=pl.FunctionType.Orchestration)
    def f(self, p: pl.Tensor[[M], pl.FP32], q: pl.Tensor[[M_1], pl.FP32]):
        x: pl.Scalar[pl.INDEX] = 1
        x_1: pl.Scalar[pl.INDEX] = x + lost__FREE_VAR
        x_1_1: pl.Scalar[pl.INDEX] = x_1 + x

    @pl.function(type=pl.FunctionType.Orchestration)
    def g(self, p: pl.Tensor[[M_1], pl.FP32], M: pl.Scalar[pl.INDEX]):
        pass

# pypto.names f: x_1=x, x_1_1=x_1
`
	if got := ir.Print(Program(f, g), ir.PrintOptions{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	// A scalar parameter in a valid_shape is declared like a symbol (reported against the reference as 854).
	n := Index("n")
	h := Func("h", ir.InCore, []ir.Param{In(n), In(Var("p", &ir.TensorType{Shape: Dims(8), DType: ir.FP32, View: &ir.TensorView{ValidShape: []ir.Expr{n}}}))})
	if got := ir.Print(Program(h), ir.PrintOptions{}); !strings.Contains(got, `n = pl.dynamic("n")`) || !strings.Contains(got, "def h(n: pl.Scalar[pl.INDEX], p: ") {
		t.Errorf("got:\n%s", got)
	}
}

func TestPrintStmt(t *testing.T) {
	x, y := Index("x"), Index("y")
	yields := func(s ir.Stmt) ir.Block { return ir.Block{s} }
	small := Tensor(ir.FP32, 4)
	viewed := &ir.TensorType{Shape: Dims(4), DType: ir.FP32, View: &ir.TensorView{ValidShape: Dims(2)}}
	a, b := Var("a", small), Var("b", small)
	for _, tt := range []struct {
		s    ir.Stmt
		want string
	}{
		{&ir.If{Cond: Bin(ir.Lt, x, y), Then: ir.Block{}, Else: ir.Block{&ir.If{Cond: Bin(ir.Lt, y, x), Then: ir.Block{&ir.Branch{}}, Else: ir.Block{&ir.Branch{Continue: true}}}}},
			"if x < y:\n    pass\nelif y < x:\n    break\nelse:\n    continue\n"},
		{Range(x, ir.Int(4)), "for x in pl.range(4):\n    pass\n"},
		{&ir.For{Var: x, Start: ir.Int(1), Stop: y, Step: ir.Int(1), Kind: ir.Parallel}, "for x in pl.parallel(1, y):\n    pass\n"},
		{&ir.For{Var: x, Start: ir.Int(0), Stop: y, Step: ir.Int(2), Kind: ir.Pipeline, Stages: 3}, "for x in pl.pipeline(0, y, 2, stage=3):\n    pass\n"},
		// The types of several results survive when they differ from the yielded ones.
		{&ir.If{Cond: Bin(ir.Lt, x, y), Results: []*ir.Var{Var("r", viewed), Var("s", small)}, Then: yields(Yield(a, b)), Else: yields(Yield(b, a))},
			"if x < y:\n    r, s = pl.yield_(a, b, types=[pl.Tensor[[4], pl.FP32, pl.TensorView(valid_shape=[2])], pl.Tensor[[4], pl.FP32]])\n" +
				"else:\n    r, s = pl.yield_(b, a, types=[pl.Tensor[[4], pl.FP32, pl.TensorView(valid_shape=[2])], pl.Tensor[[4], pl.FP32]])\n"},
		{&ir.For{Var: x, Start: ir.Int(0), Stop: y, Step: ir.Int(1), Carries: []ir.Carry{{Iter: Var("i", viewed), Init: a, Result: Var("r", small)}},
			Body: ir.Block{&ir.Scope{Kind: ir.RuntimeScope, Manual: true, Body: ir.Block{Yield(b)}}}},
			"for x, (i,) in pl.range(y, init_values=(a,), types=[pl.Tensor[[4], pl.FP32, pl.TensorView(valid_shape=[2])]]):\n" +
				"    with pl.scope(mode=pl.ScopeMode.MANUAL):\n        r: pl.Tensor[[4], pl.FP32] = pl.yield_(b)\n"},
		{&ir.While{Cond: Bin(ir.Lt, x, y)}, "while x < y:\n    pass\n"},
		{Return(x, y), "return x, y\n"},
		{Return(), "return\n"},
		{&ir.Assign{Var: x, Value: y, Comments: []string{"one", "", "two\nthree"}}, "# one\n#\n# two\n# three\nx: pl.Scalar[pl.INDEX] = y\n"},
		{&ir.Scope{Kind: ir.ClusterScope, NameHint: "c"}, "with pl.cluster(name_hint=\"c\"):\n    pass\n"},
		{&ir.Scope{Kind: ir.HierarchyScope, Level: "HOST", Role: "SubWorker"}, "with pl.at(level=pl.Level.HOST, role=pl.Role.SubWorker):\n    pass\n"},
		{&ir.Scope{Kind: ir.SpmdScope, Launch: ir.Launch{CoreNum: x, SyncStart: true, EarlyResolve: true}, TaskID: Var("g", ir.TaskIDType), NameHint: "g"},
			"with pl.spmd(x, sync_start=True, name_hint=\"g\", allow_early_resolve=True) as g:\n    pass\n"},
		{&ir.Scope{Kind: ir.SplitAivScope, Split: ir.SplitUpDown, Body: ir.Block{Set(x, Op("tile.get_subblock_idx", ir.IndexType))}}, "for x in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    pass\n"},
		{&ir.Scope{Kind: ir.SplitAivScope, Split: ir.SplitUpDown}, "for _ in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    pass\n"},
		{&ir.Verbatim{Text: "if a:\n    b()\n\nc()\n"}, "if a:\n    b()\n\nc()\n"},
	} {
		if got := ir.PrintStmt(tt.s); got != tt.want {
			t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
		}
	}
}

func TestPrintIsDeterministic(t *testing.T) {
	programs(func(name string, p *ir.Program) {
		want := ir.Print(p, ir.PrintOptions{})
		if got := ir.Print(unmarshal(t, marshal(t, p)), ir.PrintOptions{}); got != want {
			t.Fatalf("%s prints differently after a round trip", name)
		}
	})
}
