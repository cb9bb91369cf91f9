package interp

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Endless loops are found as soon as it is certain, and loops that end are left alone, however they do it.
func TestEndlessLoops(t *testing.T) {
	x, idx := name("ext_x"), name("idx")
	positive := func(n *plan.Name) plan.Expr { return &plan.Binary{Op: ir.Gt, X: ref(n), Y: num(0), DType: ir.BOOL} }
	n := name("n")
	declare := func(b *b, v int64) *plan.Decl {
		return &plan.Decl{At: b.at(), Name: n, Type: numberOf(ir.INT64), Init: num(v)}
	}
	set := func(b *b, e plan.Expr) plan.Stmt { return &plan.Assign{At: b.at(), Dst: n, Value: e} }
	read := &plan.Read{Tensor: x, DType: ir.INT64, N: 1, Indices: idx}
	index := func(b *b) plan.Stmt {
		return &plan.DeclArray{At: b.at(), Name: idx, Type: plan.CType{Kind: plan.Uint32T}, Elems: []plan.Expr{num(0)}}
	}
	loop := func(b *b, from, to, step int64, body ...plan.Stmt) *plan.For {
		return &plan.For{At: b.at(), Var: name("i"), Start: num(from), Stop: num(to), Step: num(step), Body: body}
	}
	tests := []struct {
		name    string
		body    func(b *b) []plan.Stmt
		code    diag.Code // none: it ends
		message string
	}{
		{"nothing happens", func(b *b) []plan.Stmt { return []plan.Stmt{declare(b, 3), &plan.While{At: b.at(), Cond: positive(n)}} },
			CodeEndless, "a trip changes nothing that its condition depends on"},
		{"tasks are submitted", func(b *b) []plan.Stmt {
			return []plan.Stmt{declare(b, 3), &plan.While{At: b.at(), Cond: positive(n), Body: []plan.Stmt{b.task(inout(x))}}}
		}, CodeEndless, "a trip changes nothing"},
		{"a cycle of three", func(b *b) []plan.Stmt { // n = n % 3 + 1
			return []plan.Stmt{declare(b, 1), &plan.While{At: b.at(), Cond: positive(n), Body: []plan.Stmt{set(b, bin(ir.Add, bin(ir.FloorMod, ref(n), num(3)), num(1)))}}}
		}, CodeEndless, "is as it was 3 trips before"},
		{"a tensor that nobody changes", func(b *b) []plan.Stmt {
			return []plan.Stmt{index(b), declare(b, 1), &plan.While{At: b.at(), Cond: positive(n), Body: []plan.Stmt{set(b, bin(ir.Add, read, num(1)))}}}
		}, CodeEndless, "a trip changes nothing"},
		{"a loop around one that ends", func(b *b) []plan.Stmt {
			return []plan.Stmt{declare(b, 1), &plan.While{At: b.at(), Cond: num(1), Body: []plan.Stmt{set(b, num(5)), &plan.While{At: b.at(), Cond: positive(n), Body: []plan.Stmt{set(b, bin(ir.Sub, ref(n), num(1)))}}}}}
		}, CodeEndless, "a trip changes nothing"},
		{"a step of 0", func(b *b) []plan.Stmt { return []plan.Stmt{loop(b, 0, 4, 0)} }, CodeEndless, "its step is 0"},
		{"too many trips", func(b *b) []plan.Stmt { return []plan.Stmt{loop(b, 0, 1<<40, 2)} }, CodeSteps, "this loop from 0 to 1099511627776 makes 549755813888 trips: the limit of a run is 2000000"},
		{"too many trips by one", func(b *b) []plan.Stmt { return []plan.Stmt{loop(b, 0, 100, 1), loop(b, 0, DefaultSteps-99, 1)} }, CodeSteps, "makes 1999901 trips"},
		{"too many trips together", func(b *b) []plan.Stmt { return []plan.Stmt{loop(b, 0, 2000, 1, loop(b, 0, 2000, 1))} }, CodeSteps, "makes 2000 trips"},
		{"the whole range", func(b *b) []plan.Stmt { return []plan.Stmt{loop(b, math.MinInt64, math.MaxInt64, 1)} }, CodeSteps, "makes 18446744073709551615 trips"},

		{"a number counts down", func(b *b) []plan.Stmt {
			return []plan.Stmt{declare(b, 1000), &plan.While{At: b.at(), Cond: positive(n), Body: []plan.Stmt{set(b, bin(ir.Sub, ref(n), num(1)))}}}
		}, "", ""},
		{"a task changes the tensor that is read", func(b *b) []plan.Stmt { // kernel 0 adds 1 to x[0]
			below := &plan.Binary{Op: ir.Lt, X: read, Y: num(40), DType: ir.BOOL}
			return []plan.Stmt{index(b), &plan.While{At: b.at(), Cond: below, Body: []plan.Stmt{b.task(inout(x))}}}
		}, "", ""},
		{"the orchestration changes it", func(b *b) []plan.Stmt {
			below := &plan.Binary{Op: ir.Lt, X: read, Y: num(40), DType: ir.BOOL}
			return []plan.Stmt{index(b), &plan.While{At: b.at(), Cond: below, Body: []plan.Stmt{
				&plan.Write{At: b.at(), Tensor: x, DType: ir.INT64, Indices: name("wi"), Index: []plan.Expr{num(0)}, Value: bin(ir.Add, read, num(1))}}}}
		}, "", ""},
		{"an array counts", func(b *b) []plan.Stmt {
			a := name("a")
			below := &plan.Binary{Op: ir.Lt, X: &plan.Elem{Array: a, I: num(0)}, Y: num(9), DType: ir.BOOL}
			return []plan.Stmt{&plan.DeclSlots{At: b.at(), Name: a, Type: numberOf(ir.INT64), N: 1}, &plan.SetElem{At: b.at(), Array: a, I: num(0), Value: num(0)},
				&plan.While{At: b.at(), Cond: below, Body: []plan.Stmt{&plan.SetElem{At: b.at(), Array: a, I: num(0), Value: bin(ir.Add, &plan.Elem{Array: a, I: num(0)}, num(1))}}}}
		}, "", ""},
		{"no trip", func(b *b) []plan.Stmt {
			return []plan.Stmt{loop(b, 4, 4, 0), loop(b, 1<<40, 0, 1), &plan.While{At: b.at(), Cond: num(0)}}
		}, "", ""},
	}
	for _, tt := range tests {
		for _, policy := range []sim.Policy{sim.FIFO, sim.Random, sim.Sequential} {
			t.Run(tt.name+" "+policy.String(), func(t *testing.T) {
				shape := []ir.Expr{&ir.ConstInt{Value: 4}}
				f := &plan.File{Func: "f", Tensors: []plan.Tensor{{Name: x, Param: "x", DType: ir.INT64, Shape: shape}}, Body: tt.body(&b{})}
				rt, err := sim.New(sim.Config{Policy: policy, Kernels: counting{}})
				if err != nil {
					t.Fatal(err)
				}
				defer rt.Close()
				entry, err := rt.NewTensor(ir.INT64, 4)
				if err != nil {
					t.Fatal(err)
				}
				err = Run(f, Args{Tensors: []sim.Tensor{entry}}, rt)
				var d *diag.Diagnostic
				switch {
				case tt.code == "" && err != nil:
					t.Error(err)
				case tt.code != "" && (!errors.As(err, &d) || d.Code != tt.code || !strings.Contains(d.Message, tt.message) || !d.Span.IsValid()):
					t.Errorf("got %v, want %s %s", err, tt.code, tt.message)
				}
			})
		}
	}
}

// counting is a kernel that adds 1 to the first byte of its first argument.
type counting struct{}

func (counting) Run(m *sim.Memory, c *sim.KernelCall) error {
	m.Bytes(c.Args[0].Tensor.Addr, 1)[0]++
	return nil
}
