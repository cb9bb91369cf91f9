package kernels

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// warnings runs a kernel twice on a fresh 8×8 buffer of which the first rows are written, and another for the result.
func warnings(t *testing.T, d ir.DType, rows int, b *builder) diag.List {
	t.Helper()
	p := New(&ir.Program{Name: "P", Funcs: []*ir.Function{b.f}}, ops.Builtin())
	rt, err := sim.New(sim.Config{Kernels: p.Runner([]plan.Kernel{{ID: 0, Name: b.f.Name, Func: b.f.Name}}), Names: []string{b.f.Name}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	at := func(line int32) diag.Span { return diag.Span{File: "main.py", Line: line, Col: 1} }
	info := sim.CreateInfo{Shape: []uint32{8, 8}, DType: d}
	out := rt.Alloc([]sim.CreateInfo{info, info}, at(1))
	for i := range uint32(8 * rows) {
		rt.Write(out.Tensors[0], []uint32{i / 8, i % 8}, 1, at(2))
	}
	for range 2 {
		rt.Submit(&sim.TaskArgs{Kind: sim.KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1,
			Args: []sim.Arg{{Tag: sim.Input, Tensor: out.Tensors[0]}, {Tag: sim.InOut, Tensor: out.Tensors[1]}}}, at(3))
	}
	if err := rt.Finish(); err != nil {
		t.Fatal(err)
	}
	return rt.Diagnostics()
}

func TestReadsOfUnwrittenElements(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     ir.DType
		rows  int // written before
		body  func(b *builder, p, o *ir.Var)
		first string // "": no warning
	}{
		{"a whole load", ir.FP32, 0, func(b *builder, p, o *ir.Var) { b.store(b.load(p), o) }, "argument p that nothing has written; the first is p[0, 0]"},
		{"a load of a part that was written", ir.FP32, 4, func(b *builder, p, o *ir.Var) {
			b.store(b.op("load", p, list(0, 0), list(4, 8)), o)
		}, ""},
		{"a load of more than was written", ir.FP32, 4, func(b *builder, p, o *ir.Var) {
			b.store(b.op("load", p, list(1, 2), list(4, 4)), o)
		}, "the first is p[4, 2]"},
		{"what lies outside of the valid region", ir.FP32, 4, func(b *builder, p, o *ir.Var) {
			b.store(b.op("load", p, list(0, 0), list(8, 8), list(4, 8)), o)
		}, ""},
		{"all of it written", ir.FP32, 8, func(b *builder, p, o *ir.Var) { b.store(b.load(p), o) }, ""},
		{"halves", ir.FP16, 6, func(b *builder, p, o *ir.Var) { b.store(b.load(p), o) }, "the first is p[6, 0]"},
		{"16-bit integers", ir.INT16, 7, func(b *builder, p, o *ir.Var) { b.store(b.load(p), o) }, "the first is p[7, 0]"},
		{"bytes are not watched", ir.INT8, 0, func(b *builder, p, o *ir.Var) { b.store(b.load(p), o) }, ""},
		{"a kernel's own output", ir.FP32, 8, func(b *builder, p, o *ir.Var) { b.store(b.op("add", b.load(p), b.load(o)), o) }, "argument o that nothing has written; the first is o[0, 0]"},
		{"a scalar read", ir.FP32, 3, func(b *builder, p, o *ir.Var) {
			b.add(&ir.Eval{X: b.call("write", o, list(0, 0), b.op("read", p, list(3, 5)))})
		}, "the first is p[3, 5]"},
		{"a scalar read of what was written", ir.INT32, 3, func(b *builder, p, o *ir.Var) {
			b.add(&ir.Eval{X: b.call("write", o, list(0, 0), b.op("read", p, list(2, 5)))})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := kernelOf(t, "k")
			p, o := b.in("p", c.d, 8, 8), b.out("o", c.d, 8, 8)
			c.body(b, p, o)
			ds := warnings(t, c.d, c.rows, b)
			if c.first == "" {
				if len(ds) > 0 {
					t.Errorf("%v", ds)
				}
				return
			}
			// Two tasks read it, but it is reported once, at the op.
			if len(ds) != 1 || ds[0].Code != CodeUnwritten || ds[0].Severity != diag.Warning || !strings.HasPrefix(ds[0].Message, "kernel k reads elements of ") ||
				!strings.HasSuffix(ds[0].Message, c.first) || ds[0].Span.File != "k.py" || ds[0].Span.Line < 2 {
				t.Fatalf("%v", ds)
			}
			if r := ds[0].Related; len(r) != 2 || r[0].Span.Line != 3 || !strings.HasPrefix(r[0].Message, "task 0") || r[1].Span.Line != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}
