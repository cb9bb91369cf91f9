package kernels

import (
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/float16"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

func index(hint string) *ir.Var { return &ir.Var{Hint: hint, Typ: ir.IndexType} }
func bin(op ir.BinOp, x, y ir.Expr) ir.Expr {
	d := ir.ElemDType(x.Type())
	if op.IsCompare() || op.IsLogic() {
		d = ir.BOOL
	}
	return &ir.Binary{Op: op, X: x, Y: y, DType: d}
}

// A loop that carries a tile and a scalar, and swaps two tiles each trip.
func TestLoopCarries(t *testing.T) {
	b := kernelOf(t, "k")
	p, q, o := b.in("p", ir.FP32, 2, 2), b.in("q", ir.FP32, 2, 2), b.out("o", ir.FP32, 2, 2)
	n := b.scalar("n", ir.INDEX)
	x, y := b.load(p), b.load(q)
	i := index("i")
	xi, yi, ci := &ir.Var{Hint: "xi", Typ: x.Typ}, &ir.Var{Hint: "yi", Typ: x.Typ}, index("c")
	xr, yr, cr := &ir.Var{Hint: "xr", Typ: x.Typ}, &ir.Var{Hint: "yr", Typ: x.Typ}, index("cr")
	body := b.within(func() {
		s := b.op("add", xi, flt(1))
		b.add(&ir.Yield{Values: []ir.Expr{yi, s, bin(ir.Add, ci, i)}})
	})
	b.add(&ir.For{Var: i, Start: num(0), Stop: n, Step: num(1), Carries: []ir.Carry{{Iter: xi, Init: x, Result: xr}, {Iter: yi, Init: y, Result: yr}, {Iter: ci, Init: num(100), Result: cr}}, Body: body})
	scaled := b.op("mul", b.op("sub", xr, yr), &ir.Cast{X: cr, DType: ir.FP32})
	b.store(scaled, o)
	for trips, want := range map[uint64]float64{0: 100 * (1 - 10), 1: 100 * (10 - 2), 2: 101 * (2 - 11), 5: 110 * (12 - 4)} {
		s := newBench(t, b.f)
		s.tensor(fromValues(ir.FP32, []int{2, 2}, 1, 1, 1, 1))
		s.tensor(fromValues(ir.FP32, []int{2, 2}, 10, 10, 10, 10))
		s.tensor(zeros(ir.FP32, 2, 2))
		s.scalar(trips, "i64")
		for range 2 { // a machine that is used again starts afresh
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			same(t, "carries", s.read(2), []float64{want, want, want, want})
		}
	}
}

// Branches with results, loops that count down, while, break and continue, arrays.
func TestControlFlow(t *testing.T) {
	b := kernelOf(t, "k")
	o := b.out("o", ir.INT32, 6)
	n := b.scalar("n", ir.INT32)
	put := func(at int64, v ir.Expr) {
		b.add(&ir.Eval{X: b.call("write", o, list(int(at)), &ir.Cast{X: v, DType: ir.INT32})})
	}
	r := &ir.Var{Hint: "r", Typ: ir.Scalar(ir.INT32)}
	then := b.within(func() { b.add(&ir.Yield{Values: []ir.Expr{&ir.ConstInt{Value: 1, DType: ir.INT32}}}) })
	els := b.within(func() { b.add(&ir.Yield{Values: []ir.Expr{bin(ir.Mul, n, &ir.ConstInt{Value: 2, DType: ir.INT32})}}) })
	b.add(&ir.If{Cond: bin(ir.Lt, n, num(3)), Then: then, Else: els, Results: []*ir.Var{r}})
	put(0, r)
	// Counting down, in a variable that is assigned again (not SSA).
	i, acc := index("i"), index("acc")
	b.add(&ir.Assign{Var: acc, Value: num(0)})
	b.add(&ir.For{Var: i, Start: num(9), Stop: num(0), Step: num(-3), Body: b.within(func() {
		b.add(&ir.Assign{Var: acc, Value: bin(ir.Add, bin(ir.Mul, acc, num(10)), i)})
	})})
	put(1, acc)
	w := index("w")
	wr := index("wr")
	b.add(&ir.While{Cond: bin(ir.Lt, w, num(50)), Carries: []ir.Carry{{Iter: w, Init: num(3), Result: wr}}, Body: b.within(func() {
		b.add(&ir.Yield{Values: []ir.Expr{bin(ir.Mul, w, w)}})
	})})
	put(2, wr)
	j, sum := index("j"), index("sum")
	b.add(&ir.Assign{Var: sum, Value: num(0)})
	b.add(&ir.For{Var: j, Start: num(0), Stop: num(100), Step: num(1), Body: b.within(func() {
		b.add(&ir.If{Cond: bin(ir.Eq, bin(ir.FloorMod, j, num(2)), num(1)), Then: ir.Block{&ir.Branch{Continue: true}}})
		b.add(&ir.If{Cond: bin(ir.Gt, j, num(6)), Then: ir.Block{&ir.Branch{}}})
		b.add(&ir.Assign{Var: sum, Value: bin(ir.Add, sum, j)})
	})})
	put(3, sum)
	a := b.let(b.call("array.create", num(4), sym(ir.INT32)))
	a2 := b.let(b.call("array.update_element", a, num(2), num(42)))
	put(4, bin(ir.Add, b.call("array.get_element", a2, num(2)), b.call("array.get_element", a2, num(1))))
	put(5, bin(ir.FloorDiv, &ir.Cast{X: n, DType: ir.INDEX}, num(-2)))
	s := newBench(t, b.f)
	s.tensor(zeros(ir.INT32, 6))
	s.scalar(7, "i32")
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	same(t, "control flow", s.read(0), []float64{14, 963, 81, 12, 42, -4})
}

// A call runs the callee with its own variables; a dynamic dimension follows the argument.
func TestCall(t *testing.T) {
	n := &ir.Var{Hint: "N", Typ: ir.IndexType, Dyn: true}
	h := kernelOf(t, "helper")
	x, s := h.in("x", ir.FP32, n, 4), h.scalar("s", ir.FP32)
	rows := h.call("tensor.dim", x, num(0))
	i := index("i")
	h.add(&ir.For{Var: i, Start: num(0), Stop: rows, Step: num(1), Body: h.within(func() {
		u := h.op("load", x, list(i, 0), list(1, 4))
		h.op("store", h.op("mul", u, s), list(i, 0), x)
	})})
	h.add(&ir.Return{Values: []ir.Expr{x}})
	b := kernelOf(t, "k")
	o, f := b.out("o", ir.FP32, n, 4), b.scalar("f", ir.FP32)
	call := func(arg ir.Expr, by ir.Expr) *ir.Var {
		return b.let(&ir.Call{Callee: "helper", Args: []ir.Expr{arg, by}, Typ: arg.Type()})
	}
	half := b.op("slice", o, list(2, 4), list(1, 0))
	got := call(half, f)
	call(got, bin(ir.Add, f, flt(1)))
	st := newBench(t, h.f, b.f)
	st.tensor(seq(ir.FP32, []int{4, 4}, func(i int) float64 { return float64(i) }))
	st.scalar(uint64(math.Float32bits(2)), "f32")
	if err := st.run(); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 16)
	for i := range want {
		if want[i] = float64(i); i/4 == 1 || i/4 == 2 {
			want[i] *= 6
		}
	}
	same(t, "call", st.read(0), want)
}

// Scalars of every C type that a task may give.
func TestScalarArguments(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		bits uint64
		typ  string
		want float64
	}{
		{ir.INT32, 0xffffffff, "i32", -1}, {ir.INT32, math.MaxUint64, "i64", -1}, {ir.INDEX, 1 << 40, "i64", 1 << 40}, {ir.UINT8, 300, "u64", 44},
		{ir.FP32, uint64(math.Float32bits(1.5)), "f32", 1.5}, {ir.FP32, math.Float64bits(-2.25), "f64", -2.25}, {ir.FP16, uint64(float16.ToHalf(0.5)), "f16", 0.5},
		{ir.BF16, uint64(float16.ToBF16(3)), "bf16", 3}, {ir.BOOL, 1, "b8", 1},
		{ir.FP16, uint64(math.Float32bits(1.5)), "f32", 1.5}, {ir.BF16, math.Float64bits(2.5), "f64", 2.5}, {ir.BF16, uint64(float16.ToHalf(0.5)), "f16", 0.5},
		{ir.FP32, uint64(float16.ToBF16(3)), "bf16", 3}, {ir.INT32, uint64(math.Float32bits(-7.75)), "f32", -7}, {ir.INT8, math.Float64bits(1e9), "f64", 127},
		{ir.FP16, uint64(float16.ToHalf(0.5)), "u16", 0.5}, {ir.FP32, uint64(math.Float32bits(1.5)), "u64", 1.5},
	} {
		b := kernelOf(t, "k")
		o, s := b.out("o", ir.FP32, 1), b.scalar("s", c.d)
		var v ir.Expr = s
		if !c.d.IsFloat() {
			v = &ir.Cast{X: s, DType: ir.FP32}
		}
		b.add(&ir.Eval{X: b.call("write", o, list(0), v)})
		st := newBench(t, b.f)
		st.tensor(zeros(ir.FP32, 1))
		st.scalar(c.bits, c.typ)
		if err := st.run(); err != nil {
			t.Fatal(err)
		}
		same(t, c.d.String()+" as "+c.typ, st.read(0), []float64{c.want})
	}
}

// Blocks of an SPMD launch see their index; split_aiv runs its region once a lane.
func TestBlocksAndLanes(t *testing.T) {
	b := kernelOf(t, "k")
	o := b.out("o", ir.INT32, 4, 2)
	blk := b.let(b.call("get_block_idx"))
	all := b.let(b.call("get_block_num"))
	b.add(&ir.Scope{Kind: ir.SplitAivScope, Split: ir.SplitUpDown, Body: b.within(func() {
		lane := b.let(b.call("tile.get_subblock_idx"))
		b.add(&ir.Eval{X: b.call("write", o, list(blk, lane), &ir.Cast{X: bin(ir.Add, bin(ir.Mul, all, num(100)), bin(ir.Add, bin(ir.Mul, blk, num(10)), lane)), DType: ir.INT32})})
	})})
	s := newBench(t, b.f)
	s.tensor(zeros(ir.INT32, 4, 2))
	s.c.BlockCount = 4
	for i := range 4 {
		s.c.Block = i
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "blocks", s.read(0), []float64{400, 401, 410, 411, 420, 421, 430, 431})
}

// The parts of a mixed kernel that share a body run once a task; separate parts run each on its lane.
func TestMixedKernels(t *testing.T) {
	b := kernelOf(t, "mix")
	o := b.out("o", ir.FP32, 1, 1)
	b.store(b.op("adds", b.load(o), flt(1)), o)
	p := New(&ir.Program{Funcs: []*ir.Function{b.f}}, ops.Builtin())
	shared := []plan.Kernel{{ID: 0, Name: "mix_aic", Func: "mix", Core: plan.AIC}, {ID: 1, Name: "mix_aiv", Func: "mix", Core: plan.AIV}}
	alone := []plan.Kernel{{ID: 0, Name: "mix", Func: "mix", Core: plan.AIV}}
	for _, c := range []struct {
		table []plan.Kernel
		calls []sim.KernelCall
		want  float64
	}{
		{shared, []sim.KernelCall{{Kernel: 0, Lane: 0, Mixed: true}, {Kernel: 1, Lane: 1, Mixed: true}, {Kernel: 1, Lane: 2, Mixed: true}}, 1},
		{alone, []sim.KernelCall{{Kernel: 0, Lane: 1, Mixed: true}, {Kernel: 0, Lane: 2, Mixed: true, SubBlock: 1}}, 2},
		{alone, []sim.KernelCall{{Kernel: 0, Lane: 1}}, 1},
	} {
		for _, together := range []bool{false, true} {
			s := newBench(t, b.f)
			s.tensor(zeros(ir.FP32, 1, 1))
			r := p.Runner(c.table)
			for i := range c.calls {
				c.calls[i].Args = s.c.Args
			}
			var err error
			if together {
				err = r.(sim.ClusterRunner).RunCluster(&s.mem, c.calls)
			} else {
				for i := range c.calls {
					if err == nil {
						err = r.Run(&s.mem, &c.calls[i])
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			same(t, "mixed", s.read(0), []float64{c.want})
		}
	}
}

// Tiles through the pipes between a cube and two vector lanes, both ways, with rows split between the lanes.
func TestPipes(t *testing.T) {
	tile := func(rows int) ir.Type {
		return &ir.TileType{Shape: dimsOf([]any{rows, 4}), DType: ir.FP32, Mem: ir.Vec}
	}
	pop := func(b *builder, op string, typ ir.Type, split int) *ir.Var {
		c := *b.call(op, kw("split", split))
		c.Typ = typ
		return b.let(&c)
	}
	cube := kernelOf(t, "cube")
	x, o := cube.in("x", ir.FP32, 4, 4), cube.out("o", ir.FP32, 4, 4)
	cube.add(&ir.Eval{X: cube.call("tile.tpush_to_aiv", cube.load(x), kw("split", 1))})
	back := pop(cube, "tile.tpop_from_aiv", tile(4), 1)
	cube.store(cube.op("adds", back, flt(1000)), o)
	vec := kernelOf(t, "vec")
	vec.f.Type = ir.AIV
	vec.in("x", ir.FP32, 4, 4)
	vec.out("o", ir.FP32, 4, 4)
	part := pop(vec, "tile.tpop_from_aic", tile(2), 1)
	lane := vec.let(vec.call("tile.get_subblock_idx"))
	vec.add(&ir.Eval{X: vec.call("tile.tpush_to_aic", vec.op("add", part, &ir.Cast{X: bin(ir.Mul, lane, num(100)), DType: ir.FP32}), kw("split", 1))})
	p := New(&ir.Program{Funcs: []*ir.Function{cube.f, vec.f}}, ops.Builtin())
	r := p.Runner([]plan.Kernel{{ID: 0, Name: "cube", Func: "cube", Core: plan.AIC}, {ID: 1, Name: "vec", Func: "vec", Core: plan.AIV}}).(*Runner)
	s := newBench(t, cube.f)
	s.tensor(seq(ir.FP32, []int{4, 4}, func(i int) float64 { return float64(i) }))
	s.tensor(zeros(ir.FP32, 4, 4))
	calls := []sim.KernelCall{{Kernel: 0, Lane: 0, Mixed: true}, {Kernel: 1, Lane: 1, Mixed: true}, {Kernel: 1, Lane: 2, Mixed: true, SubBlock: 1}}
	for i := range calls {
		calls[i].Args = s.c.Args
	}
	for range 2 {
		if err := r.RunCluster(&s.mem, calls); err != nil {
			t.Fatal(err)
		}
		want := make([]float64, 16)
		for i := range want {
			want[i] = float64(i) + 1000 + 100*float64(i/8)
		}
		same(t, "pipes", s.read(1), want)
	}
	// Without the vector lanes nobody sends back; alone the pipe has no other end.
	err := r.RunCluster(&s.mem, calls[1:])
	if d, ok := err.(*diag.Diagnostic); !ok || d.Code != CodePipe || !strings.Contains(d.Message, "wait for a tile that no lane sends") {
		t.Errorf("vector lanes alone: %v", err)
	} else if len(d.Related) != 2 || d.Related[1].Message != "the second vector core waits here, in tile.tpop_from_aic" || !d.Related[1].Span.IsValid() {
		t.Errorf("who waits where: %v", d.Related)
	}
	err = r.Run(&s.mem, &calls[0])
	if d, ok := err.(*diag.Diagnostic); !ok || d.Code != CodePipe || !strings.Contains(d.Message, "launched as a mixed task") {
		t.Errorf("cube alone: %v", err)
	}
	if err := r.RunCluster(&s.mem, calls); err != nil {
		t.Errorf("after a deadlock: %v", err)
	}
}

// What a kernel does wrong is reported with kernel, op and place.
func TestKernelErrors(t *testing.T) {
	x44 := zeros(ir.FP32, 4, 4)
	for _, c := range []struct {
		what string
		code diag.Code
		want string
		make func(b *builder, p *ir.Var)
		arg  *data
	}{
		{"undefined element", CodeUndefined, "tile.add: reads element [0 0] of a tile, which was never written", func(b *builder, p *ir.Var) {
			b.store(b.op("add", b.op("create_tile", list(4, 4), sym(ir.FP32)), b.load(p)), p)
		}, x44},
		{"partly undefined", CodeUndefined, "reads element [2 0]", func(b *builder, p *ir.Var) {
			u := b.op("create_tile", list(4, 4), sym(ir.FP32))
			u = b.op("assemble", u, b.op("slice", b.load(p), list(2, 4), list(0, 0)), list(0, 0))
			b.store(b.op("exp", u), p)
		}, x44},
		{"outside of the valid region", CodeUndefined, "reads element [0 2]", func(b *builder, p *ir.Var) {
			u := b.op("exp", b.op("set_validshape", b.load(p), num(4), num(2)))
			b.store(b.op("set_validshape", u, num(4), num(4)), p)
		}, x44},
		{"load out of bounds", CodeBounds, "tile.load: [4, 6) of axis 0 is outside of extent 4", func(b *builder, p *ir.Var) {
			i := b.let(bin(ir.Add, b.call("tensor.dim", p, num(0)), num(0)))
			b.op("load", p, list(i, 0), list(2, 4))
		}, x44},
		{"load far out of bounds", CodeBounds, "of axis 0 is outside of extent 4", func(b *builder, p *ir.Var) {
			i := b.let(bin(ir.Add, b.call("tensor.dim", p, num(0)), num(math.MaxInt64-4)))
			b.op("load", p, list(i, 0), list(2, 4))
		}, x44},
		{"store out of bounds", CodeBounds, "tile.store: [-1, 3) of axis 1", func(b *builder, p *ir.Var) {
			i := b.let(bin(ir.Sub, b.call("tensor.dim", p, num(0)), num(5)))
			b.op("store", b.load(p), list(0, i), p)
		}, x44},
		{"read out of bounds", CodeBounds, "tensor.read: index 4 of axis 0", func(b *builder, p *ir.Var) {
			v := b.let(b.call("read", p, list(b.let(b.call("tensor.dim", p, num(0))), 0)))
			b.add(&ir.Eval{X: b.call("write", p, list(0, 0), v)})
		}, x44},
		{"division by zero", CodeArithmetic, "tile.div: integer division by zero", func(b *builder, p *ir.Var) {
			b.store(b.op("div", b.load(p), b.load(p)), p)
		}, zeros(ir.INT32, 4, 4)},
		{"scalar division by zero", CodeArithmetic, "division by zero: 4 / 0", func(b *builder, p *ir.Var) {
			n := b.call("tensor.dim", p, num(0))
			b.let(bin(ir.FloorDiv, n, bin(ir.Sub, n, num(4))))
		}, x44},
		{"step 0", CodeLoop, "the step of this loop is 0", func(b *builder, p *ir.Var) {
			b.add(&ir.For{Var: index("i"), Start: num(0), Stop: num(4), Step: bin(ir.Sub, b.call("tensor.dim", p, num(0)), num(4)), Pos: diag.Span{File: "k.py", Line: 3, Col: 5}})
		}, x44},
		{"shape mismatch", CodeShape, "do not broadcast", func(b *builder, p *ir.Var) {
			n := b.let(bin(ir.Sub, b.call("tensor.dim", p, num(0)), num(1)))
			b.op("add", b.op("slice", p, list(n, 4), list(0, 0)), p)
		}, x44},
		{"wrong dtype of the argument", CodeArgs, "parameter 'p' has fp32 elements, but the argument has int32", func(b *builder, p *ir.Var) {}, fromValues(ir.INT32, []int{4, 4}, make([]float64, 16)...)},
		{"wrong rank of the argument", CodeArgs, "parameter 'p' has 2 axes, but the argument has shape [2 4 2]", func(b *builder, p *ir.Var) {}, zeros(ir.FP32, 2, 4, 2)},
		{"not evaluated", CodeOp, "pld.tile.remote_load: the simulator does not evaluate this op", func(b *builder, p *ir.Var) {
			b.op("pld.remote_load", p, num(0), list(0, 0), list(4, 4))
		}, x44},
	} {
		b := kernelOf(t, "broken")
		d := ir.FP32
		if c.arg.d == ir.INT32 && c.code == CodeArithmetic {
			d = ir.INT32
		}
		p := b.out("p", d, 4, 4)
		c.make(b, p)
		got := fails(t, b, c.arg)
		if got.Code != c.code || !strings.Contains(got.Message, c.want) || !strings.Contains(got.Message, "kernel 'broken'") || !got.Span.IsValid() || got.Span.File != "k.py" {
			t.Errorf("%s: got %v (at %v), want [%s] …%s…", c.what, got, got.Span, c.code, c.want)
		}
	}
}

func TestMissingKernels(t *testing.T) {
	ext := &ir.Function{Name: "ext", Type: ir.AIV, External: &ir.External{Source: "k.cpp"}, Pos: diag.Span{File: "k.py", Line: 3, Col: 1}}
	p := New(&ir.Program{Funcs: []*ir.Function{ext}}, ops.Builtin())
	r := p.Runner([]plan.Kernel{{ID: 0, Name: "ext", Func: "ext"}, {ID: 1, Name: "gone", Func: "gone"}})
	for id, want := range map[int32]string{0: "kernel 'ext' is C++ (k.cpp)", 1: "no function 'gone'", 7: "no kernel has the id 7"} {
		err := r.Run(&sim.Memory{}, &sim.KernelCall{Kernel: id, Site: diag.Span{File: "main.py", Line: 9}})
		if d, ok := err.(*diag.Diagnostic); !ok || d.Code != CodeNoKernel || !strings.Contains(d.Message, want) {
			t.Errorf("kernel %d: %v, want …%s…", id, err, want)
		}
	}
	if err := p.Check("ext"); err == nil {
		t.Error("Check accepts a kernel without a body")
	}
	// Too few and too many arguments, unmapped memory.
	b := kernelOf(t, "k")
	b.in("p", ir.FP32, 4)
	s := newBench(t, b.f)
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "no argument for tensor parameter 'p'") {
		t.Errorf("no argument: %v", err)
	}
	s.tensor(zeros(ir.FP32, 4))
	s.tensor(zeros(ir.FP32, 4))
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "takes 1 tensors, but the task has 2") {
		t.Errorf("two arguments: %v", err)
	}
	s.c.Args = s.c.Args[:1]
	s.c.Args[0].Tensor.Addr = 4096
	if err := s.run(); err == nil || !strings.Contains(err.Error(), "not mapped") {
		t.Errorf("unmapped memory: %v", err)
	}
}
