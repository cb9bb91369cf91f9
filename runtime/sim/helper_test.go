package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// kernels are fake kernels by id.
type kernels map[int32]func(m *Memory, c *KernelCall) error

func (k kernels) Run(m *Memory, c *KernelCall) error {
	if f := k[c.Kernel]; f != nil {
		return f(m, c)
	}
	return nil
}

// prog drives a Runtime with little text: at(line) sites, argument makers, edge sets.
type prog struct {
	*Runtime
	t    testing.TB
	line int32
	ran  []int // task ordinals in the order their kernels ran
}

func newProg(t testing.TB, cfg Config) *prog {
	t.Helper()
	p := &prog{t: t}
	inner := cfg.Kernels
	cfg.Kernels = runner(func(m *Memory, c *KernelCall) error {
		if c.Block == 0 && c.Lane <= 1 {
			p.ran = append(p.ran, c.Ordinal)
		}
		if inner != nil {
			return inner.Run(m, c)
		}
		return nil
	})
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	p.Runtime = r
	return p
}

type runner func(m *Memory, c *KernelCall) error

func (f runner) Run(m *Memory, c *KernelCall) error { return f(m, c) }

func (p *prog) site() Site {
	p.line++
	return Site{File: "prog.py", Line: p.line, Col: 1}
}

// ext makes and registers one more entry tensor.
func (p *prog) ext(d ir.DType, shape ...uint32) Tensor {
	p.t.Helper()
	t, err := p.NewTensor(d, shape...)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Entry(append(p.entries, t)); err != nil {
		p.t.Fatal(err)
	}
	return t
}

func in(t Tensor) Arg    { return Arg{Tag: Input, Tensor: t} }
func out(t Tensor) Arg   { return Arg{Tag: OutputExisting, Tensor: t} }
func inout(t Tensor) Arg { return Arg{Tag: InOut, Tensor: t} }
func nodep(t Tensor) Arg { return Arg{Tag: NoDep, Tensor: t} }
func create(shape ...uint32) Arg {
	return Arg{Tag: Output, Create: &CreateInfo{Shape: shape, DType: ir.FP32}}
}

// task submits an AIV task of kernel 0; an extra argument may be a TaskID (dependency), Scalar, *Predicate or func(*TaskArgs).
func (p *prog) task(args ...any) Outputs {
	a := TaskArgs{Kind: KindAIV, Kernels: [3]int32{-1, 0, -1}, TimingSlot: -1}
	for _, x := range args {
		switch x := x.(type) {
		case Arg:
			a.Args = append(a.Args, x)
		case Scalar:
			a.Scalars = append(a.Scalars, x)
		case TaskID:
			a.Deps = append(a.Deps, x)
		case *Predicate:
			a.Pred = x
		case func(*TaskArgs):
			x(&a)
		default:
			p.t.Fatalf("bad argument %T", x)
		}
	}
	return p.Submit(&a, p.site())
}

func dummy(a *TaskArgs)               { a.Kind, a.Kernels = KindDummy, [3]int32{-1, -1, -1} }
func kernel(id int32) func(*TaskArgs) { return func(a *TaskArgs) { a.Kernels[1] = id } }
func blocks(n int32) func(*TaskArgs)  { return func(a *TaskArgs) { a.Blocks = n } }
func aic(a *TaskArgs)                 { a.Kind, a.Kernels = KindAIC, [3]int32{0, -1, -1} }
func syncStart(a *TaskArgs)           { a.SyncStart = true }
func mixed(c, v0, v1 int32) func(*TaskArgs) {
	return func(a *TaskArgs) { a.Kind, a.Kernels = KindMixed, [3]int32{c, v0, v1} }
}

func (p *prog) alloc(shapes ...[]uint32) Outputs {
	infos := make([]CreateInfo, len(shapes))
	for i, s := range shapes {
		infos[i] = CreateInfo{Shape: s, DType: ir.FP32}
	}
	return p.Alloc(infos, p.site())
}

func (p *prog) auto(body func())   { p.scope(false, body) }
func (p *prog) manual(body func()) { p.scope(true, body) }
func (p *prog) scope(manual bool, body func()) {
	p.ScopeBegin(manual, p.site())
	body()
	p.ScopeEnd(p.site())
}

func (p *prog) view(t Tensor, shape, offsets []uint32) Tensor {
	p.t.Helper()
	v, err := t.View(shape, offsets, false)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *prog) finish() {
	p.t.Helper()
	if err := p.Finish(); err != nil {
		p.t.Fatalf("Finish: %v", err)
	}
}

// edgeText prints who waits for whom: "1<0 2<0,a0" means task 1 waits for task 0, task 2 for task 0 and allocation 0.
func edgeText(g *Graph) string {
	var parts []string
	allocs := map[int]int{}
	for i, n := range g.Nodes {
		if n.Kind == NodeAlloc {
			allocs[i] = len(allocs)
		}
	}
	for _, n := range g.Nodes {
		if n.Kind != NodeTask || len(n.Preds) == 0 {
			continue
		}
		from := []string{}
		preds := slices.Clone(n.Preds)
		slices.SortFunc(preds, func(a, b Edge) int { return int(a.From - b.From) })
		for _, e := range preds {
			if a, ok := allocs[int(e.From)]; ok {
				from = append(from, fmt.Sprintf("a%d", a))
			} else {
				from = append(from, fmt.Sprint(g.Nodes[e.From].Ordinal))
			}
		}
		parts = append(parts, fmt.Sprintf("%d<%s", n.Ordinal, strings.Join(from, ",")))
	}
	return strings.Join(parts, " ")
}

// wantFatal checks the latched error: its number, code and a part of its text.
func wantFatal(t *testing.T, r *Runtime, number int, code diag.Code, text string) {
	t.Helper()
	err := r.Finish()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Finish = %v, want a fatal error", err)
	}
	if e.Number != number || e.Diag.Code != code {
		t.Errorf("fatal %d %s, want %d %s: %v", e.Number, e.Diag.Code, number, code, err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("message %q does not contain %q", err, text)
	}
	if !e.Diag.Span.IsValid() {
		t.Errorf("no site in %v", err)
	}
}

// reported returns the codes of the reports, in order.
func reported(r *Runtime) []diag.Code {
	var codes []diag.Code
	for _, d := range r.Diagnostics() {
		codes = append(codes, d.Code)
	}
	return codes
}

// f32 gives the elements of a contiguous window.
func f32(m *Memory, t Tensor) []float32 {
	lo, hi := t.Bytes()
	b := m.Bytes(lo, hi-lo)
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func setF32(m *Memory, t Tensor, v ...float32) {
	lo, hi := t.Bytes()
	b := m.Bytes(lo, hi-lo)
	for i := range len(b) / 4 {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v[i%len(v)]))
	}
}
