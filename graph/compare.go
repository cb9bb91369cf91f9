package graph

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// tolerance is how far a result may be from what is expected: |got - want| <= atol + rtol*|want|, NaN differs from everything; exact compares bits.
type tolerance struct {
	rtol, atol float64
	exact      bool
}

// toleranceOf gives the test's tolerance, by default that of the element type.
func toleranceOf(test *TestConfig, dt ir.DType) tolerance {
	t := tolerance{rtol: 1e-5, atol: 1e-5}
	switch {
	case dt == ir.FP16 || dt == ir.BF16:
		t = tolerance{rtol: 1e-2, atol: 1e-2}
	case !dt.IsFloat():
		t = tolerance{}
	}
	if test.RTol != nil {
		t.rtol = *test.RTol
	}
	if test.ATol != nil {
		t.atol = *test.ATol
	}
	return t
}

// firstShown is how many differing elements a report lists.
const firstShown = 3

// compare holds the outputs of a run against the expectation; there is nothing to compare when that is the run itself.
func (t *Tester) compare(ctx context.Context, test *TestConfig, built *Built, job *exec.Job, e *expectation, r *exec.Result, s exec.Schedule, v *Verdict) diag.List {
	var ds diag.List
	for i, want := range e.outputs {
		if want == nil || bytes.Equal(want, r.Outputs[i]) {
			continue
		}
		m := mismatch(built.Plan.Tensors[i].DType, r.Outputs[i], want, e.tolerances[i])
		v.Worst = max(v.Worst, m.worst)
		if m.count == 0 {
			continue
		}
		ds.Add(t.explain(ctx, test, built, job, e, i, m, r, s))
	}
	return ds
}

// diffs are the elements of one tensor that are out of tolerance.
type diffs struct {
	count   int
	first   []int // flat indices
	worst   float64
	worstAt int
}

func mismatch(dt ir.DType, got, want []byte, tol tolerance) diffs {
	size := dt.Bytes()
	m := diffs{worstAt: -1}
	for i := 0; (i+1)*size <= len(want); i++ {
		g, w := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if bytes.Equal(g, w) {
			continue
		}
		x, y := kernels.Load(dt, g), kernels.Load(dt, w)
		err := math.Abs(x - y)
		ok := !tol.exact && err <= tol.atol+tol.rtol*math.Abs(y)
		if !math.IsNaN(err) && !math.IsInf(err, 0) && err > m.worst {
			m.worst = err
			if !ok {
				m.worstAt = i
			}
		}
		if ok {
			continue
		}
		m.count++
		if len(m.first) < firstShown {
			m.first = append(m.first, i)
		}
	}
	if m.worstAt < 0 && m.count > 0 {
		m.worstAt = m.first[0]
	}
	return m
}

// explain reports a mismatch: how many elements, the first ones, the worst, and the task that wrote the first one.
func (t *Tester) explain(ctx context.Context, test *TestConfig, built *Built, job *exec.Job, e *expectation, tensor int, m diffs, r *exec.Result, s exec.Schedule) *diag.Diagnostic {
	p := built.Plan.Tensors[tensor]
	size := p.DType.Bytes()
	shape := job.Tensors[tensor].Shape
	total := len(r.Outputs[tensor]) / size
	value := func(b []byte, i int) string { return formatElem(p.DType, b[i*size:]) }
	var b strings.Builder
	fmt.Fprintf(&b, "test %q (%s): %d of %d elements of %s differ from the %s", test.Name, s, m.count, total, p.Param, e.kind)
	for _, i := range m.first {
		fmt.Fprintf(&b, "\n    %s%s = %s, expected %s", p.Param, position(shape, i), value(r.Outputs[tensor], i), value(e.outputs[tensor], i))
	}
	if m.count > len(m.first) {
		fmt.Fprintf(&b, "\n    worst: %s%s = %s, expected %s", p.Param, position(shape, m.worstAt), value(r.Outputs[tensor], m.worstAt), value(e.outputs[tensor], m.worstAt))
	}
	d := diag.Errorf(CodeMismatch, built.Target.Pos, "%s", b.String())
	at := m.first[0]
	if built.Target.Hand != nil { // only a run of a plan can be watched
		return d
	}
	writer, err := (&exec.Plan{Ops: t.Builder.Ops}).LastWriter(ctx, job, s, tensor, at*size, size)
	switch {
	case err != nil: // the run that just worked fails when watched: say nothing about the writer
	case writer == nil:
		d.WithRelated(built.Target.Pos, "no task changed %s%s", p.Param, position(shape, at))
	default:
		d.Span = writer.Site
		d.WithRelated(kernelPos(built, writer.Kernel), "%s%s was last changed by task %d (%s)", p.Param, position(shape, at), writer.Task, writer.Kernel)
	}
	if s.Policy != sim.Sequential {
		d.WithHint("the result depends on the order of the tasks, so a dependency is missing%s; `%s` repeats this order", t.orAnOp(built), replay(s, built.Target.Label))
	}
	return d
}

// orAnOp names the ops whose numbers come from plugins: one that computes something else each time looks like a missing dependency.
func (t *Tester) orAnOp(built *Built) string {
	var names, of []string
	for _, f := range built.Program.Funcs {
		for c := range OpCalls(f.Body) {
			if s := t.Builder.Ops.Lookup(c.Op); s != nil && s.Evaluate != nil && s.Plugin() != "" && !slices.Contains(names, c.Op) {
				names, of = append(names, c.Op), append(of, s.Plugin())
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; or %s computes something else each time, which `ptobuild plugin test %s` finds", strings.Join(names, " or "), of[0])
}

// kernelFunction is the function of a kernel by its name in the kernel table, nil when there is none.
func kernelFunction(built *Built, kernel string) *ir.Function {
	for _, k := range built.Plan.Kernels {
		if k.Name == kernel {
			return built.Program.Lookup(k.Func)
		}
	}
	return nil
}

// kernelPos is where a kernel is defined, the target's place when that is not known.
func kernelPos(built *Built, kernel string) diag.Span {
	if f := kernelFunction(built, kernel); f != nil && f.Pos.IsValid() {
		return f.Pos
	}
	return built.Target.Pos
}

// position renders a flat index as [i, j].
func position(shape []uint32, flat int) string {
	idx := make([]string, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		n := max(int(shape[i]), 1)
		idx[i] = fmt.Sprint(flat % n)
		flat /= n
	}
	return "[" + strings.Join(idx, ", ") + "]"
}

func formatElem(dt ir.DType, b []byte) string {
	v := kernels.Load(dt, b)
	if dt.IsFloat() {
		return fmt.Sprintf("%.7g", v)
	}
	return fmt.Sprintf("%.0f", v)
}
