package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// builder writes a kernel statement by statement, with the ops as users call them.
type builder struct {
	t    testing.TB
	f    *ir.Function
	body *ir.Block
	line int32
	n    int
}

func kernelOf(t testing.TB, name string) *builder {
	b := &builder{t: t, f: &ir.Function{Name: name, Type: ir.InCore, Pos: diag.Span{File: "k.py", Line: 1, Col: 1}}, line: 1}
	b.body = &b.f.Body
	return b
}

func dimsOf(ds []any) []ir.Expr {
	out := make([]ir.Expr, len(ds))
	for i, d := range ds {
		switch d := d.(type) {
		case int:
			out[i] = ir.Int(int64(d))
		case ir.Expr:
			out[i] = d
		}
	}
	return out
}

func list(ds ...any) ir.Expr  { return &ir.MakeTuple{Elems: dimsOf(ds)} }
func num(v int64) ir.Expr     { return ir.Int(v) }
func flt(v float64) ir.Expr   { return &ir.ConstFloat{Value: v, DType: ir.FP32} }
func sym(v any) ir.Expr       { return ops.NewSymbol(v, diag.Span{}) }
func mem(name string) ir.Expr { return sym(ir.Enum{Kind: "Mem", Name: name}) }
func kw(name string, v any) ir.Kwarg {
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	return ir.Kwarg{Name: name, Value: v}
}

func (b *builder) param(name string, dir ir.ParamDir, t ir.Type) *ir.Var {
	v := &ir.Var{Hint: name, Typ: t, Pos: diag.Span{File: "k.py", Line: 1, Col: 10}}
	b.f.Params = append(b.f.Params, ir.Param{Var: v, Dir: dir})
	return v
}

func (b *builder) in(name string, d ir.DType, shape ...any) *ir.Var {
	return b.param(name, ir.In, &ir.TensorType{Shape: dimsOf(shape), DType: d})
}

func (b *builder) out(name string, d ir.DType, shape ...any) *ir.Var {
	return b.param(name, ir.InOut, &ir.TensorType{Shape: dimsOf(shape), DType: d})
}

func (b *builder) scalar(name string, d ir.DType) *ir.Var { return b.param(name, ir.In, ir.Scalar(d)) }

// op adds `v = pl.name(args…)` and returns v. Kwargs may stand among the arguments.
func (b *builder) op(name string, args ...any) *ir.Var {
	b.t.Helper()
	c := b.call(name, args...)
	return b.let(c)
}

func (b *builder) call(name string, args ...any) *ir.OpCall {
	b.t.Helper()
	b.line++
	var es []ir.Expr
	var ks ir.Kwargs
	for _, a := range args {
		switch a := a.(type) {
		case ir.Kwarg:
			ks = append(ks, a)
		case ir.Expr:
			es = append(es, a)
		}
	}
	c, d := ops.Builtin().Call(diag.Span{File: "k.py", Line: b.line, Col: 5}, name, es, ks)
	if d != nil {
		b.t.Fatalf("pl.%s: %v", name, d)
	}
	return c
}

// let binds an expression to a new variable.
func (b *builder) let(e ir.Expr) *ir.Var {
	b.n++
	v := &ir.Var{Hint: fmt.Sprintf("v%d", b.n), Typ: e.Type()}
	*b.body = append(*b.body, &ir.Assign{Var: v, Value: e, Pos: e.Span()})
	return v
}

func (b *builder) add(s ir.Stmt) { *b.body = append(*b.body, s) }

// within writes the statements of f into a block of its own.
func (b *builder) within(f func()) ir.Block {
	var block ir.Block
	old := b.body
	b.body = &block
	f()
	b.body = old
	return block
}

// load is a whole tensor as a tile.
func (b *builder) load(x *ir.Var) *ir.Var {
	b.t.Helper()
	shape := x.Typ.(*ir.TensorType).Shape
	zero := make([]any, len(shape))
	full := make([]any, len(shape))
	for i := range shape {
		zero[i], full[i] = 0, shape[i]
	}
	return b.op("load", x, list(zero...), list(full...))
}

func (b *builder) store(tile ir.Expr, to *ir.Var) {
	b.t.Helper()
	zero := make([]any, len(to.Typ.(*ir.TensorType).Shape))
	for i := range zero {
		zero[i] = 0
	}
	b.op("store", tile, list(zero...), to)
}

// data is the contents of one tensor argument.
type data struct {
	d     ir.DType
	shape []int
	x     []float64
}

func fromValues(d ir.DType, shape []int, x ...float64) *data { return &data{d, shape, x} }

// seq is a tensor of values f(0), f(1), …, rounded to the dtype.
func seq(d ir.DType, shape []int, f func(i int) float64) *data {
	n := 1
	for _, s := range shape {
		n *= s
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = f(i)
		if d.IsFloat() {
			x[i] = float64(nearest(x[i], d))
		} else {
			x[i] = float64(wrap(int64(x[i]), d))
		}
	}
	return &data{d, shape, x}
}

func (x *data) at(r, c int) float64 { return x.x[r*x.shape[len(x.shape)-1]+c] }

// bench is a runtime's memory with tensors in it.
type bench struct {
	t   testing.TB
	mem sim.Memory
	r   *Runner
	c   sim.KernelCall
}

func newBench(t testing.TB, fs ...*ir.Function) *bench {
	p := New(&ir.Program{Name: "P", Funcs: fs}, ops.Builtin())
	s := &bench{t: t, r: p.Runner([]plan.Kernel{{ID: 0, Name: fs[len(fs)-1].Name, Func: fs[len(fs)-1].Name}}).(*Runner)}
	s.c = sim.KernelCall{BlockCount: 1, Site: diag.Span{File: "main.py", Line: 9, Col: 5}}
	t.Cleanup(s.mem.Close)
	return s
}

// tensor maps a tensor; its contents are packed.
func (s *bench) tensor(x *data) *sim.Tensor {
	n := len(x.x)
	addr, err := s.mem.Map(uint64(n*8 + 64))
	if err != nil {
		s.t.Fatal(err)
	}
	t := sim.Tensor{Addr: addr, Size: uint64(n * x.d.Bytes()), DType: x.d}
	step := uint32(1)
	t.Strides = make([]uint32, len(x.shape))
	for i := len(x.shape) - 1; i >= 0; i-- {
		t.Strides[i] = step
		step *= uint32(x.shape[i])
	}
	for _, e := range x.shape {
		t.Shape = append(t.Shape, uint32(e))
	}
	r := s.region(&t)
	var m machine
	m.pool = &pool{}
	for i, v := range x.x {
		if x.d.IsFloat() {
			m.setF(r, i, v)
		} else {
			m.setI(r, i, int64(v))
		}
	}
	s.c.Args = append(s.c.Args, sim.Arg{Tensor: t})
	return &s.c.Args[len(s.c.Args)-1].Tensor
}

func (s *bench) region(t *sim.Tensor) *region {
	return &region{mem: s.mem.Bytes(t.Addr, max(t.Size, 8)), dt: t.DType}
}

// read gives the elements of argument i in buffer order.
func (s *bench) read(i int) []float64 {
	t := &s.c.Args[i].Tensor
	r := s.region(t)
	var m machine
	out := make([]float64, t.Size/uint64(t.DType.Bytes()))
	for j := range out {
		if t.DType.IsFloat() {
			out[j] = float64(m.elemF(r, j))
		} else {
			out[j] = asFloat(m.elemI(r, j), t.DType)
		}
	}
	return out
}

func (s *bench) tableOf(name string) []plan.Kernel {
	return []plan.Kernel{{ID: 0, Name: name, Func: name}}
}

func (s *bench) scalar(bits uint64, typ string) {
	s.c.Scalars = append(s.c.Scalars, sim.Scalar{Bits: bits, Type: typ})
}

func (s *bench) run() error { return s.r.Run(&s.mem, &s.c) }

// eval runs a kernel on tensors and returns the contents of the last one.
func eval(t testing.TB, b *builder, xs ...*data) []float64 {
	t.Helper()
	s := newBench(t, b.f)
	for _, x := range xs {
		s.tensor(x)
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	return s.read(len(xs) - 1)
}

// fails runs a kernel and returns its error.
func fails(t testing.TB, b *builder, xs ...*data) *diag.Diagnostic {
	t.Helper()
	s := newBench(t, b.f)
	for _, x := range xs {
		s.tensor(x)
	}
	err := s.run()
	d, ok := err.(*diag.Diagnostic)
	if !ok {
		t.Fatalf("got %v, want a diagnostic", err)
	}
	return d
}

func same(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func zeros(d ir.DType, shape ...int) *data {
	return seq(d, shape, func(int) float64 { return 0 })
}
