package crosscheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/native"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

var registry = ops.Builtin()

// built is a program taken through all stages.
type built struct {
	front, final *ir.Program
	plan         *plan.File
	covered      bool // the derived dependencies cover the whole body of main
	warned       bool // a buffer may be used after its scope
}

// allowed are the rules that a valid program can break only in the flow as a whole.
var allowed = map[diag.Code]bool{
	lower.CodeClosedScope: true, lower.CodeTensorScope: true,
	"PTO-X531": true, // a placement that cannot become a window
	"PTO-V302": true, // a buffer that is read by a name it had before a task overwrote it
}

// problem is a check that failed. Kind stays the same while a program is shrunk.
type problem struct {
	kind, text string
	reports    diag.List // of the compiler
}

func (p *problem) Error() string { return p.kind + ": " + p.text }

func load(src string) (*ir.Program, diag.List) {
	unit, ds := lang.Load("random.py", lang.Options{Ops: registry, ReadFile: func(string) ([]byte, error) { return []byte(src), nil }})
	if ds.HasErrors() {
		return nil, ds
	}
	return unit.Programs[0], nil
}

// build takes a program through all stages. A nil result without problem was refused by a rule that is allowed to.
func build(src string, opt passes.Options) (*built, diag.Code, *problem) {
	front, ds := load(src)
	if front == nil {
		return nil, "", &problem{"front end " + string(firstError(ds).Code), ds.Error(), ds}
	}
	covered := false
	explain := func(_ string, _ diag.Span, what string) {
		covered = covered || strings.HasPrefix(what, "body of main: ") && strings.HasSuffix(what, ", covered")
	}
	final, ds := passes.Run(&passes.Context{Ops: registry, Options: opt, Explain: explain}, front, passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		return refused("passes", ds)
	}
	f, ds := lower.Lower(final, final.Lookup("main"), registry, lower.Options{NoManualAllocDeps: opt.NoManualAllocDeps})
	if ds.HasErrors() {
		return refused("lowering", ds)
	}
	warned := slices.ContainsFunc(ds, func(d *diag.Diagnostic) bool { return d.Code == lower.CodeTensorLifetime })
	return &built{front, final, f, covered, warned}, "", nil
}

func firstError(ds diag.List) *diag.Diagnostic {
	for _, d := range ds {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}

func refused(stage string, ds diag.List) (*built, diag.Code, *problem) {
	for _, d := range ds {
		if d.Severity == diag.Error && !allowed[d.Code] {
			return nil, "", &problem{stage + " " + string(d.Code), ds.Error(), ds}
		}
	}
	return nil, firstError(ds).Code, nil
}

// inputs are the scalar arguments of a run.
var inputs = [][2]int64{{-7, 3}, {0, 0}, {5, -2}, {12, 7}}

// entry is the data of a run: x, y, z, c.
func entry() []exec.Tensor {
	var ts []exec.Tensor
	for k := range 3 {
		t := exec.Tensor{DType: ir.FP32, Shape: []uint32{16, 16}}
		for i := range 256 {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(k*3+1)+float32(i)/128))
		}
		ts = append(ts, t)
	}
	c := exec.Tensor{DType: ir.INT32, Shape: []uint32{8, 8}}
	for i := range 64 {
		c.Data = binary.LittleEndian.AppendUint32(c.Data, uint32(i/8%3))
	}
	return append(ts, c)
}

func (b *built) job(in [2]int64, ss ...exec.Schedule) *exec.Job {
	return &exec.Job{Plan: b.plan, Program: b.final, Tensors: entry(), Scalars: []uint64{uint64(in[0]), uint64(in[1])}, Schedules: ss}
}

// checkResults compares the plan, run in program order, with the reference: memory and tasks.
func (b *built) checkResults(exactDeps bool) (diag.Code, *problem) {
	for _, in := range inputs {
		job := b.job(in, exec.Schedule{Policy: sim.Sequential})
		results, err := (&exec.Plan{Ops: registry}).Run(context.Background(), job)
		if err != nil {
			return "", &problem{kind: "run", text: err.Error()}
		}
		got := results[0]
		if got.Failed() {
			if d := firstError(got.Diags); d.Code == sim.CodeReclaimed && b.warned {
				return d.Code, nil
			}
			return "", &problem{kind: "run " + string(firstError(got.Diags).Code), text: fmt.Sprintf("n, m = %v: %v", in, got.Diags.Error())}
		}
		var memory [][]uint32
		var widths []int
		for _, t := range job.Tensors {
			words := make([]uint32, len(t.Data)/4)
			for i := range words {
				words[i] = binary.LittleEndian.Uint32(t.Data[4*i:])
			}
			memory, widths = append(memory, words), append(widths, int(t.Shape[1]))
		}
		want, err := runReference(b.front, memory, widths, in[:])
		if err != nil {
			return "", &problem{kind: "reference", text: fmt.Sprintf("n, m = %v: %v", in, err)}
		}
		for k, words := range memory {
			for i, w := range words {
				if g := binary.LittleEndian.Uint32(got.Outputs[k][4*i:]); g != w {
					return "", &problem{kind: "results", text: fmt.Sprintf("n, m = %v: %s[%d, %d] is %s, want %s", in, b.plan.Tensors[k].Param, i/widths[k], i%widths[k], show(g, k), show(w, k))}
				}
			}
		}
		if msg := compareTasks(tasksOf(got.Trace.Events()), want, exactDeps); msg != "" {
			return "", &problem{kind: "tasks", text: fmt.Sprintf("n, m = %v: %s", in, msg)}
		}
	}
	return "", nil
}

func show(w uint32, tensor int) string {
	if tensor == 3 {
		return fmt.Sprint(int32(w))
	}
	return fmt.Sprint(math.Float32frombits(w))
}

// tasksOf reads the tasks of a trace, with dummies dissolved.
func tasksOf(events []trace.Event) []task {
	var out []task
	waits := map[int][]int{} // ordinal in the trace → tasks it stands for
	for _, e := range events {
		s, ok := e.(*trace.Submit)
		if !ok {
			continue
		}
		var deps []int
		for _, d := range s.Deps {
			deps = union(deps, waits[d])
		}
		if s.Kind == "dummy" {
			waits[s.N] = deps
			continue
		}
		waits[s.N] = []int{len(out)}
		t := task{Kernel: s.Kernels[0], Deps: deps, Blocks: max(s.Blocks, 1), Early: s.Early}
		for _, x := range s.Scalars {
			t.Scalars = append(t.Scalars, x.Bits)
		}
		out = append(out, t)
	}
	return out
}

// compareTasks compares what was launched with what was asked for. With derived dependencies there may be more of them.
func compareTasks(got, want []task, exactDeps bool) string {
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if w.Kernel == "" && strings.HasPrefix(g.Kernel, "main_") {
			w.Kernel, w.Scalars = g.Kernel, g.Scalars // blocks are numbered, and captures in any order
		}
		same := g.Kernel == w.Kernel && slices.Equal(g.Scalars, w.Scalars) && g.Blocks == w.Blocks && g.Early == w.Early
		if exactDeps {
			same = same && slices.Equal(g.Deps, w.Deps)
		} else {
			same = same && len(union(g.Deps, w.Deps)) == len(g.Deps)
		}
		if !same {
			return fmt.Sprintf("task %d is %+v, want %+v", i, g, w)
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d tasks, want %d", len(got), len(want))
	}
	return ""
}

// checkOrders runs the plan in other orders than that of the program, which must not change the result.
func (b *built) checkOrders() *problem {
	orders := []exec.Schedule{{Policy: sim.Sequential}, {Policy: sim.FIFO}, {Policy: sim.LIFO}, {Policy: sim.Newest}, {Policy: sim.Random, Seed: 1}, {Policy: sim.Random, Seed: 2}}
	for _, in := range inputs {
		results, err := (&exec.Plan{Ops: registry}).Run(context.Background(), b.job(in, orders...))
		if err != nil {
			return &problem{kind: "run", text: err.Error()}
		}
		// Whether a buffer is gone depends on the order; the compiler said that it may be.
		if b.warned && slices.ContainsFunc(results, func(r exec.Result) bool {
			return slices.ContainsFunc(r.Diags, func(d *diag.Diagnostic) bool { return d.Code == sim.CodeOutlives || d.Code == sim.CodeReclaimed })
		}) {
			continue
		}
		for i, r := range results {
			if r.Failed() {
				return &problem{kind: "order", text: fmt.Sprintf("n, m = %v: %s: %v", in, orders[i], r.Diags.Error())}
			}
			for k := range r.Outputs {
				if !bytes.Equal(r.Outputs[k], results[0].Outputs[k]) {
					return &problem{kind: "order", text: fmt.Sprintf("n, m = %v: %s: %s differs from the sequential run", in, orders[i], b.plan.Tensors[k].Param)}
				}
			}
		}
	}
	return nil
}

// checkCompiled compares the compiled C++ with the plan.
func (b *built) checkCompiled(tools *native.Toolchain, exe string, profile *orch.Profile) *problem {
	code, lines := orch.Print(b.plan, profile)
	object, err := tools.Compile(context.Background(), "main.cpp", []byte(code))
	if err != nil {
		return &problem{kind: "compile", text: err.Error()}
	}
	compiled := &native.Engine{Children: native.NewChildren(exe), Object: object, Source: "main.cpp"}
	for _, l := range lines {
		compiled.Lines = append(compiled.Lines, native.LineSpan{First: int32(l.First), Last: int32(l.Last), Span: l.Span})
	}
	for _, in := range inputs[1:3] {
		job := b.job(in, exec.Schedule{Policy: sim.FIFO}, exec.Schedule{Policy: sim.Random, Seed: 1})
		want, err := (&exec.Plan{Ops: registry}).Run(context.Background(), job)
		if err != nil {
			return &problem{kind: "run", text: err.Error()}
		}
		got, err := compiled.Run(context.Background(), job)
		if err != nil {
			return &problem{kind: "compiled run", text: err.Error()}
		}
		for i := range want {
			if w, g := want[i].Diags.Error(), got[i].Diags.Error(); w != g {
				return &problem{kind: "reports", text: fmt.Sprintf("n, m = %v: compiled:\n%s\nplan:\n%s", in, g, w)}
			}
			if !trace.Equal(want[i].Trace.Events(), got[i].Trace.Events()) {
				return &problem{kind: "trace", text: fmt.Sprintf("n, m = %v: %s", in, trace.Diff(want[i].Trace.Events(), got[i].Trace.Events()))}
			}
			for k := range want[i].Outputs {
				if !bytes.Equal(want[i].Outputs[k], got[i].Outputs[k]) {
					return &problem{kind: "memory", text: fmt.Sprintf("n, m = %v: %s differs", in, b.plan.Tensors[k].Param)}
				}
			}
		}
	}
	return nil
}
