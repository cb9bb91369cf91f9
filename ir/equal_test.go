package ir_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	. "github.com/ptobuild/ptobuild/ir/irtest"
)

// sample is a program with its parts at hand, so that a test can change one.
type sample struct {
	p       *ir.Program
	k, main *ir.Function
	assign  *ir.Assign
	eval    *ir.Eval
	branch  *ir.If
	loop    *ir.For
	while   *ir.While
	yield   *ir.Yield
	ret     *ir.Return
	scope   *ir.Scope
	submit  *ir.Call
	op      *ir.OpCall
	bin     *ir.Binary
	cast    *ir.Cast
	tensor  *ir.TensorType
	tile    *ir.TileType
	acc     *ir.Var
}

func newSample() *sample {
	s := &sample{}
	m := Dyn("M")
	s.tensor = &ir.TensorType{Shape: []ir.Expr{m, ir.Int(64)}, DType: ir.FP32}
	s.tile = &ir.TileType{Shape: Dims(32, 64), DType: ir.FP32, Mem: ir.Vec, MemRef: &ir.MemRef{Name: "buf"}}
	s.k = Func("k", ir.AIV, []ir.Param{In(Var("a", s.tensor)), Out(Var("o", s.tensor))})
	s.k.External = &ir.External{Source: "k.cpp"}
	x, y, i, n := Var("x", s.tensor), Var("y", s.tensor), Index("i"), Index("n")
	s.submit = Submit("k", []ir.Type{s.tensor}, x, y)
	s.submit.Dirs = []ir.ArgDir{ir.DirInput, ir.DirInOut}
	tmp, tid, t := Var("tmp", s.submit.Typ), Var("tid", ir.TaskIDType), Var("t", s.tile)
	s.assign = Set(tmp, s.submit)
	s.op = Op("tile.load", s.tile, x, List(i, ir.Int(0)))
	s.op.Kwargs = ir.Kwargs{{Name: "mode", Value: "rint"}}
	s.op.Attrs = ir.Attrs{{Key: "acme.k", Value: []int64{1, 2}}}
	s.eval = &ir.Eval{X: Op("acme.rope", ir.Unknown, t)}
	s.bin = Bin(ir.Lt, i, n)
	s.cast = &ir.Cast{X: i, DType: ir.INT32}
	w := Var("w", ir.Scalar(ir.INT32))
	s.acc = Index("acc")
	phi, accR := Index("phi"), Index("acc_r")
	s.branch = &ir.If{Cond: s.bin, Then: ir.Block{Yield(i)}, Else: ir.Block{Yield(n)}, Results: []*ir.Var{phi}}
	s.yield = Yield(phi)
	s.loop = &ir.For{Var: i, Start: ir.Int(0), Stop: n, Step: ir.Int(1), Carries: []ir.Carry{{Iter: s.acc, Init: ir.Int(0), Result: accR}},
		Body: ir.Block{Set(t, s.op), s.branch, Set(w, s.cast), s.yield}}
	s.while = &ir.While{Cond: Bin(ir.Lt, n, accR), Body: ir.Block{&ir.Branch{}}}
	s.scope = &ir.Scope{Kind: ir.RuntimeScope, Body: ir.Block{s.assign, Set(tid, Get(tmp, 1)), s.eval}}
	s.ret = Return(y)
	s.main = Func("main", ir.Orchestration, []ir.Param{In(x), InOut(y), In(n)}, s.loop, s.while, s.scope, s.ret)
	s.p = Program(s.k, s.main)
	return s
}

func TestEqualSeesEveryField(t *testing.T) {
	slot := int64(1)
	for _, tt := range []struct {
		name   string
		change func(s *sample)
		words  string // expected in Diff
	}{
		{"program name", func(s *sample) { s.p.Name = "Other" }, "program name"},
		{"missing function", func(s *sample) { s.p.Funcs = s.p.Funcs[1:] }, `function "k" only in the first`},
		{"extra function", func(s *sample) { s.p.Funcs = append(s.p.Funcs, &ir.Function{Name: "z"}) }, `function "z" only in the second`},
		{"function type", func(s *sample) { s.k.Type = ir.AIC }, `function "k": type AIV vs AIC`},
		{"direction", func(s *sample) { s.k.Params[1].Dir = ir.InOut }, "parameter 2: direction Out vs InOut"},
		{"parameter type", func(s *sample) { s.main.Params[2].Var.Typ = ir.BoolType }, "variable n: scalar index vs bool"},
		{"results", func(s *sample) { s.main.Returns = nil }, "1 results vs 0"},
		{"level", func(s *sample) { s.main.Level = "CHIP" }, "level"},
		{"role", func(s *sample) { s.main.Role = "X" }, "role"},
		{"auto scope", func(s *sample) { s.main.AutoScope = false }, "auto_scope true vs false"},
		{"external", func(s *sample) { s.k.External.Source = "l.cpp" }, "external source"},
		{"no external", func(s *sample) { s.k.External = nil }, "external source only on one side"},
		{"split", func(s *sample) { s.main.Split = ir.SplitUpDown }, "split"},
		{"dual", func(s *sample) { s.main.DualAIV = true }, "dual"},
		{"function attribute", func(s *sample) { s.main.Attrs = ir.Attrs{{Key: "a", Value: true}} }, "0 attributes vs 1"},
		{"statement count", func(s *sample) { s.main.Body = s.main.Body[:3] }, "4 statements vs 3"},
		{"statement kind", func(s *sample) { s.main.Body[3] = s.eval }, "statement 4 (return): return vs expression"},
		{"value", func(s *sample) { s.cast.X = ir.Int(3) }, "i vs 3"},
		{"target", func(s *sample) { s.assign.Var = s.acc }, "counterpart"},
		{"condition", func(s *sample) { s.bin.Op = ir.Le }, "condition: i < n vs i <= n"},
		{"operand order", func(s *sample) { s.bin.X, s.bin.Y = s.bin.Y, s.bin.X }, "counterpart"},
		{"dtype", func(s *sample) { s.cast.DType = ir.INT64 }, "cast to int32 vs int64"},
		{"else", func(s *sample) { s.branch.Else = nil }, "else: 1 statements vs 0"},
		{"if results", func(s *sample) { s.branch.Results = nil }, "1 results vs 0"},
		{"bound", func(s *sample) { s.loop.Stop = ir.Int(4) }, "bounds"},
		{"step", func(s *sample) { s.loop.Step = ir.Int(2) }, "bounds: 1 vs 2"},
		{"loop kind", func(s *sample) { s.loop.Kind = ir.Parallel }, "kind range vs parallel"},
		{"stages", func(s *sample) { s.loop.Stages = 2 }, "stages"},
		{"carry init", func(s *sample) { s.loop.Carries[0].Init = ir.Int(1) }, "initial value 1: 0 vs 1"},
		{"carry class", func(s *sample) { s.loop.Carries[0].Class = ir.CarryAlias }, "carry class"},
		{"carry slots", func(s *sample) { s.loop.Carries[0].Slots = 4 }, "carry slots 0 vs 4"},
		{"no carry", func(s *sample) { s.loop.Carries = nil }, "1 carried values vs 0"},
		{"loop attribute", func(s *sample) { s.loop.Attrs = ir.Attrs{{Key: "a", Value: int64(1)}} }, "attributes"},
		{"yield", func(s *sample) { s.yield.Values[0] = ir.Int(0) }, "value 1"},
		{"return", func(s *sample) { s.ret.Values = nil }, "value"},
		{"break", func(s *sample) { s.while.Body[0] = &ir.Branch{Continue: true} }, "continue false vs true"},
		{"scope kind", func(s *sample) { s.scope.Kind = ir.ClusterScope }, "scope kind"},
		{"manual", func(s *sample) { s.scope.Manual = true }, "manual"},
		{"name hint", func(s *sample) { s.scope.NameHint = "x" }, "name_hint"},
		{"task id", func(s *sample) { s.scope.TaskID = Var("t", ir.TaskIDType) }, "task id"},
		{"no_dep_args", func(s *sample) { s.scope.NoDep = []ir.Expr{ir.Int(1)} }, "no_dep_args"},
		{"callee", func(s *sample) { s.submit.Callee = "q" }, "k"},
		{"submit", func(s *sample) { s.submit.Submit = false }, "submit true vs false"},
		{"argument", func(s *sample) { s.submit.Args = s.submit.Args[:1] }, "call of k: 2 vs 1 (argument)"},
		{"deps", func(s *sample) { s.submit.Launch.Deps = []ir.Expr{s.acc} }, "deps entry"},
		{"core_num", func(s *sample) { s.submit.Launch.CoreNum = ir.Int(2) }, "core_num: nothing vs 2"},
		{"sync_start", func(s *sample) { s.submit.Launch.SyncStart = true }, "sync_start"},
		{"early", func(s *sample) { s.submit.Launch.EarlyResolve = true }, "allow_early_resolve"},
		{"predicate", func(s *sample) { s.submit.Launch.Predicate = s.bin }, "predicate"},
		{"timing slot", func(s *sample) { s.submit.Launch.TimingSlot = &slot }, "timing_slot -1 vs 1"},
		{"dumps", func(s *sample) { s.submit.Launch.Dumps = []ir.Expr{s.acc} }, "dumps"},
		{"no_dep", func(s *sample) { s.submit.NoDep = []int{1} }, "no_dep"},
		{"directions", func(s *sample) { s.submit.Dirs[1] = ir.DirOutputExisting }, "directions [input inout] vs [input output_existing]"},
		{"compiler edges", func(s *sample) { s.submit.CompilerDeps = []*ir.Var{s.acc} }, "compiler edges"},
		{"device", func(s *sample) { s.submit.Device = ir.Int(0) }, "device"},
		{"call type", func(s *sample) { s.submit.Typ = ir.Unknown }, "type"},
		{"op", func(s *sample) { s.op.Op = "tile.move" }, "pl.tile.load"},
		{"operand", func(s *sample) { s.op.Args[1] = List(ir.Int(0), ir.Int(0)) }, "tile.load: operand 2: element 1"},
		{"keyword", func(s *sample) { s.op.Kwargs[0].Value = "floor" }, "keyword mode: rint vs floor"},
		{"keyword kind", func(s *sample) { s.op.Kwargs[0].Value = int64(1) }, "keyword mode"},
		{"attribute", func(s *sample) { s.op.Attrs[0].Value = []int64{1, 3} }, "attribute acme.k: [1 2] vs [1 3]"},
		{"attribute key", func(s *sample) { s.op.Attrs[0].Key = "acme.l" }, "attribute acme.k vs acme.l"},
		{"op deps", func(s *sample) { s.op.Deps = []ir.Expr{s.acc} }, "deps"},
		{"shape", func(s *sample) { s.tensor.Shape[1] = ir.Int(32) }, "shape: axis 1: 64 vs 32"},
		{"rank", func(s *sample) { s.tensor.Shape = s.tensor.Shape[:1] }, "2 axes vs 1"},
		{"tensor dtype", func(s *sample) { s.tensor.DType = ir.BF16 }, "dtype fp32 vs bfloat16"},
		{"distributed", func(s *sample) { s.tensor.Distributed = true }, "DistributedTensor"},
		{"tensor view", func(s *sample) { s.tensor.View = &ir.TensorView{Layout: "DN"} }, "layout ND vs DN"},
		{"memory", func(s *sample) { s.tile.Mem = ir.Mat }, "memory Vec vs Mat"},
		{"tile view", func(s *sample) { s.tile.View = &ir.TileView{Fractal: 32} }, "fractal 512 vs 32"},
		{"storage", func(s *sample) { s.tile.MemRef.Slots = 2 }, "storage: slots 1 vs 2"},
		{"symbol", func(s *sample) { s.tensor.Shape[0].(*ir.Var).Dyn = false }, "dynamic"},
	} {
		a, b := newSample(), newSample()
		if !ir.Equal(a.p, b.p) {
			t.Fatal("the samples differ")
		}
		tt.change(b)
		if ir.Equal(a.p, b.p) {
			t.Errorf("%s: Equal does not see it", tt.name)
		}
		if d := ir.Diff(a.p, b.p); !strings.Contains(d, tt.words) {
			t.Errorf("%s: Diff says %q, want %q in it", tt.name, d, tt.words)
		}
		if ir.HashProgram(a.p) == ir.HashProgram(b.p) {
			t.Errorf("%s: HashProgram does not see it", tt.name)
		}
	}
}

func TestEqualIgnores(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *sample)
	}{
		{"places", func(s *sample) { s.assign.Pos = diag.Span{File: "x", Line: 3}; s.main.Pos = s.assign.Pos }},
		{"comments", func(s *sample) { s.assign.Comments = []string{"c"}; s.main.Comments = []string{"d"} }},
		{"local names", func(s *sample) { s.acc.Hint = "other" }},
		{"who placed a scope", func(s *sample) { s.scope.Owner = ir.CompilerScope }},
		{"order of functions", func(s *sample) { s.p.Funcs = []*ir.Function{s.main, s.k} }},
		{"auto scope of kernels", func(s *sample) { s.k.AutoScope = !s.k.AutoScope }},
		{"dtype of an extent", func(s *sample) { s.tensor.Shape[1] = &ir.ConstInt{Value: 64, DType: ir.INT32} }},
		{"a view of defaults", func(s *sample) { s.tensor.View = &ir.TensorView{Layout: "ND", ValidShape: s.tensor.Shape} }},
		{"the strides of a packed tensor", func(s *sample) { s.tensor.View = &ir.TensorView{Stride: []ir.Expr{ir.Int(64), ir.Int(1)}} }},
		{"a tile view of defaults", func(s *sample) { s.tile.View = &ir.TileView{BLayout: "row_major", Fractal: 512} }},
		{"one slot", func(s *sample) { s.tile.MemRef.Slots = 1 }},
		{"empty lists", func(s *sample) { s.op.Deps = []ir.Expr{}; s.submit.NoDep = []int{}; s.loop.Attrs = ir.Attrs{} }},
		{"sharing", func(s *sample) { s.cast.X = s.bin.X }},
	} {
		a, b := newSample(), newSample()
		tt.change(b)
		if d := ir.Diff(a.p, b.p); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if ir.HashProgram(a.p) != ir.HashProgram(b.p) {
			t.Errorf("%s changes the hash", tt.name)
		}
	}
}

func TestHashNames(t *testing.T) {
	a, b := newSample(), newSample()
	b.acc.Hint = "other"
	if ir.HashWithNames(a.main) == ir.HashWithNames(b.main) || ir.HashProgramWithNames(a.p) == ir.HashProgramWithNames(b.p) {
		t.Error("a local name does not count in the hash with names")
	}
	if ir.Hash(a.main) != ir.Hash(b.main) {
		t.Error("a local name counts in Hash")
	}
	b.main.Params[0].Var.Hint = "renamed"
	if ir.Hash(a.main) == ir.Hash(b.main) {
		t.Error("a parameter name does not count")
	}
	if ir.Hash(a.main) == ir.Hash(a.k) {
		t.Error("two functions have one hash")
	}
}

// TestEqualPairsVariables: the same tree over variables that are connected in another way is another program.
func TestEqualPairsVariables(t *testing.T) {
	two := func(swap bool) *ir.Program {
		x, y := Index("x"), Index("x")
		use := ir.Expr(x)
		if swap {
			use = y
		}
		return Program(Func("f", ir.Opaque, nil, Set(x, ir.Int(1)), Set(y, ir.Int(2)), &ir.Eval{X: use}))
	}
	if ir.Equal(two(false), two(true)) {
		t.Error("a use of the other variable is not seen")
	}
	// One variable assigned twice against two variables.
	x := Index("x")
	one := Program(Func("f", ir.Opaque, nil, Set(x, ir.Int(1)), Set(x, ir.Int(2))))
	if ir.Equal(one, Program(Func("f", ir.Opaque, nil, Set(Index("x"), ir.Int(1)), Set(Index("x"), ir.Int(2))))) {
		t.Error("reassignment is not seen")
	}
	// A symbol shared by two functions against two symbols.
	shared := func(same bool) *ir.Program {
		m, n := Dyn("M"), Dyn("M")
		if same {
			n = m
		}
		tensor := func(d *ir.Var) *ir.Var { return Var("x", &ir.TensorType{Shape: []ir.Expr{d}, DType: ir.FP32}) }
		return Program(Func("f", ir.AIV, []ir.Param{In(tensor(m))}), Func("g", ir.AIV, []ir.Param{In(tensor(n))}))
	}
	if ir.Equal(shared(true), shared(false)) || ir.HashProgram(shared(true)) == ir.HashProgram(shared(false)) {
		t.Error("the identity of a symbol across functions is not seen")
	}
}

func TestEqualTypes(t *testing.T) {
	a, b := Index("a"), Index("b")
	tensor := func(e ir.Expr) ir.Type { return &ir.TensorType{Shape: []ir.Expr{e}, DType: ir.FP32} }
	stored := &ir.TensorType{Shape: []ir.Expr{a}, DType: ir.FP32, MemRef: &ir.MemRef{Name: "m"}}
	for _, tt := range []struct {
		x, y        ir.Type
		equal, same bool
	}{
		{tensor(a), tensor(a), true, true},
		{tensor(a), tensor(b), false, false},
		{tensor(Bin(ir.Add, a, b)), tensor(Bin(ir.Add, b, a)), false, true},
		{tensor(a), stored, false, true},
		{ir.IndexType, ir.Scalar(ir.INT64), false, false},
		{nil, ir.Unknown, true, true},
		{tensor(a), nil, false, false},
		{&ir.ArrayType{Len: 4, DType: ir.INT32}, &ir.ArrayType{Len: 4, DType: ir.INT32}, true, true},
		{&ir.OpaqueType{Name: "Ptr"}, &ir.OpaqueType{Name: "Ptr"}, true, true},
	} {
		if got := ir.EqualTypes(tt.x, tt.y); got != tt.equal {
			t.Errorf("EqualTypes(%s, %s) = %v", ir.PrintType(tt.x), ir.PrintType(tt.y), got)
		}
		if got := ir.SameTypes(tt.x, tt.y); got != tt.same {
			t.Errorf("SameTypes(%s, %s) = %v", ir.PrintType(tt.x), ir.PrintType(tt.y), got)
		}
	}
}

func TestAllProgramsDiffer(t *testing.T) {
	hashes := map[[32]byte]string{}
	programs(func(name string, p *ir.Program) {
		h := ir.HashProgram(p)
		if other, ok := hashes[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		hashes[h] = name
	})
}
