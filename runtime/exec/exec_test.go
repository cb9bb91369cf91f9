package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/sim"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

const source = `import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def add(self, a: T, b: T, c: pl.Out[T]) -> T:
        return pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), pl.load(b, [0, 0], [16, 16])), [0, 0], c)

    @pl.function(type=pl.FunctionType.InCore)
    def top(self, a: T, c: pl.InOut[T]) -> T:
        return pl.store(pl.load(a, [0, 0], [8, 16]), [0, 0], c)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, d: pl.Out[T]) -> T:
        d = self.add(a, b, d)
        d = self.top(a, d)
        return d
`

// job is the program with a = 1, b = 2, 3, 4…, d = 0.
func job(t *testing.T, schedules ...Schedule) *Job { return jobOf(t, source, schedules...) }

func jobOf(t *testing.T, source string, schedules ...Schedule) *Job {
	t.Helper()
	reg := ops.Builtin()
	unit, ds := lang.Load("p.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return []byte(source), nil }})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	p, ds := passes.Run(&passes.Context{Ops: reg}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	f, ds := lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	j := &Job{Plan: f, Program: p, Schedules: schedules}
	for _, value := range []func(i int) float32{func(int) float32 { return 1 }, func(i int) float32 { return float32(i + 2) }, func(int) float32 { return 0 }} {
		x := Tensor{DType: ir.FP32, Shape: []uint32{16, 16}}
		for i := range 256 {
			x.Data = binary.LittleEndian.AppendUint32(x.Data, math.Float32bits(value(i)))
		}
		j.Tensors = append(j.Tensors, x)
	}
	return j
}

func element(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

func TestPlanRunsEverySchedule(t *testing.T) {
	j := job(t, Schedule{Policy: sim.FIFO}, Schedule{Policy: sim.LIFO}, Schedule{Policy: sim.Random, Seed: 5}, Schedule{Policy: sim.Sequential})
	results, err := (&Plan{Ops: ops.Builtin()}).Run(context.Background(), j)
	if err != nil || len(results) != 4 {
		t.Fatal(results, err)
	}
	for k, r := range results {
		if r.Failed() || r.Tasks != 2 || len(r.Outputs) != 3 {
			t.Fatalf("%s: %+v", j.Schedules[k], r)
		}
		for i := range 256 {
			want := float32(1)
			if i >= 128 {
				want = float32(i + 3)
			}
			if got := element(r.Outputs[2], i); got != want {
				t.Fatalf("%s: element %d is %v, want %v", j.Schedules[k], i, got, want)
			}
		}
		if d := trace.Diff(r.Trace.Events(), results[0].Trace.Events()); d != "" {
			t.Errorf("%s: %s", j.Schedules[k], d)
		}
		if !slices.Equal(r.Outputs[1], j.Tensors[1].Data) {
			t.Errorf("%s: an input changed", j.Schedules[k])
		}
	}
}

func TestPlanStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := (&Plan{Ops: ops.Builtin()}).Run(ctx, job(t, Schedule{})); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// What never ends is stopped, in a kernel or in the orchestration, and the report says where.
func Test63PlanStopsWhatNeverEnds(t *testing.T) {
	kernel := strings.Replace(source, "        return pl.store(pl.load(a, [0, 0], [8, 16]), [0, 0], c)", `        n: pl.Scalar[pl.INT64] = 4
        while n > 0:
            c = pl.store(pl.load(a, [0, 0], [8, 16]), [0, 0], c)
        return c`, 1)
	orchestration := strings.Replace(source, "        d = self.add(a, b, d)\n", `        n: pl.Scalar[pl.INT64] = 4
        while n > 0:
            n = n + 1
            d = self.add(a, b, d)
`, 1)
	for name, c := range map[string]struct {
		source, message string
		line, related   int32
	}{
		"kernel":        {kernel, "kernel top failed in task 1, block 0 of 1: kernel 'top': it did not end within 20ms", 22, 15},
		"orchestration": {orchestration, "it did not end within 20ms", 0, 0},
	} {
		if c.source == source {
			t.Fatal("the program is not as expected")
		}
		j := jobOf(t, c.source, Schedule{Policy: sim.FIFO})
		j.Timeout = 20 * time.Millisecond
		results, err := (&Plan{Ops: ops.Builtin()}).Run(context.Background(), j)
		if err != nil || len(results) != 1 || len(results[0].Diags) == 0 {
			t.Errorf("%s: %v, %v", name, results, err)
			continue
		}
		d := results[0].Diags[0]
		if d.Code != CodeTimeout || !strings.Contains(d.Message, c.message) || !d.Span.IsValid() || c.line > 0 && (d.Span.Line != c.line || len(d.Related) == 0 || d.Related[0].Span.Line != c.related) {
			t.Errorf("%s: %v, %v", name, d, d.Related)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Job)
		part   string
	}{
		"a platform that does not exist": {func(j *Job) { j.Machine.Platform = "a9" }, "unknown platform"},
		"too little data":                {func(j *Job) { j.Tensors[1].Data = j.Tensors[1].Data[:1000] }, "entry tensor 1 holds 1000 bytes"},
		"too much data":                  {func(j *Job) { j.Tensors[0].Data = make([]byte, 1028) }, "has 1024"},
		"257 tensors":                    {func(j *Job) { j.Tensors = slices.Repeat(j.Tensors[:1], 257) }, "257 entry tensors"},
		"129 scalars":                    {func(j *Job) { j.Scalars = make([]uint64, 129) }, "129 entry scalars"},
		"six dimensions":                 {func(j *Job) { j.Tensors[0].Shape = []uint32{1, 1, 1, 1, 16, 16} }, "6 dimensions"},
		"an element type without a name": {func(j *Job) { j.Tensors[0].DType = ir.FP64 }, "no element type"},
	} {
		j := job(t, Schedule{})
		c.change(j)
		rt, _, err := Prepare(j, Schedule{}, nil, nil)
		if err == nil {
			rt.Close()
			t.Errorf("%s: accepted", name)
		} else if d := diag.AsList(err, "none")[0]; d.Code == "none" || !strings.Contains(d.Message, c.part) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The outputs are copies, the run's error is among the reports, and finishing twice changes nothing.
func TestFinish(t *testing.T) {
	j := job(t)
	rt, entry, err := Prepare(j, Schedule{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	rt.ReportFatal(9, "given up", diag.Span{})
	r := Finish(rt, entry, func() diag.Span { return diag.Span{} })
	again := Finish(rt, entry, func() diag.Span { return diag.Span{} })
	rt.Close()
	if !r.Failed() || !strings.Contains(r.Diags.Error(), "given up") || !slices.Equal(r.Outputs[1], j.Tensors[1].Data) {
		t.Errorf("%+v", r)
	}
	if len(again.Trace.Events()) != len(r.Trace.Events()) || len(again.Diags) != len(r.Diags) {
		t.Errorf("again: %+v", again)
	}
}

func TestLastWriter(t *testing.T) {
	for _, c := range []struct {
		tensor, element int
		kernel          string
		task            int
	}{{2, 0, "top", 1}, {2, 127, "top", 1}, {2, 128, "add", 0}, {2, 255, "add", 0}, {0, 3, "", 0}} {
		j := job(t)
		w, err := (&Plan{Ops: ops.Builtin()}).LastWriter(context.Background(), j, Schedule{Policy: sim.Random, Seed: 2}, c.tensor, 4*c.element, 4)
		switch {
		case err != nil:
			t.Error(err)
		case c.kernel == "":
			if w != nil {
				t.Errorf("tensor %d, element %d: %+v", c.tensor, c.element, w)
			}
		case w == nil || w.Kernel != c.kernel || w.Task != c.task || w.Site.File != "p.py" || w.Site.Line != 18+int32(c.task):
			t.Errorf("tensor %d, element %d: %+v", c.tensor, c.element, w)
		}
	}
	for _, c := range [][3]int{{3, 0, 4}, {0, 1022, 4}, {0, -1, 4}} {
		if _, err := (&Plan{Ops: ops.Builtin()}).LastWriter(context.Background(), job(t), Schedule{}, c[0], c[1], c[2]); err == nil || diag.AsList(err, "")[0].Code != CodeData {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestScheduleString(t *testing.T) {
	if s := (Schedule{Policy: sim.Random, Seed: 7}).String(); s != "random order, seed 7" {
		t.Error(s)
	}
}

const lossy = `import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def third(self, a: T, c: pl.Out[T]) -> T:
        return pl.store(pl.muls(pl.load(a, [0, 0], [16, 16]), 0.333333333333), [0, 0], c)

    @pl.function(type=pl.FunctionType.InCore)
    def cancel(self, a: T, b: T, c: pl.Out[T]) -> T:
        va = pl.load(a, [0, 0], [16, 16])
        return pl.store(pl.sub(pl.muls(pl.load(b, [0, 0], [16, 16]), 3.0), va), [0, 0], c)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: pl.Out[T], d: pl.Out[T]) -> T:
        b = self.third(a, b)
        d = self.cancel(a, b, d)
        return d
`

// d = 3 · (a · 0.333333333333) - a, whose value in double precision is known, and single precision has nothing left of it.
func TestAccuracy(t *testing.T) {
	j := jobOf(t, lossy)
	acc, err := (&Plan{Ops: ops.Builtin()}).Accuracy(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	if len(acc.Outputs) != 2 || len(acc.Tasks) != 2 || acc.Tasks[0].Kernel != "third" || acc.Tasks[1].Kernel != "cancel" || !acc.Tasks[1].Site.IsValid() {
		t.Fatalf("%+v", acc)
	}
	for i := range 256 {
		a := float64(element(j.Tensors[0].Data, i))
		b, d := a*0.333333333333, a*0.333333333333*3-a
		if got := element(acc.Values[1], i); got != float32(b) {
			t.Fatalf("b[%d] is %v, want %v", i, got, b)
		}
		if got := element(acc.Values[2], i); got != float32(d) {
			t.Fatalf("d[%d] is %v, want %v", i, got, d)
		}
	}
	if b := acc.Outputs[0]; b.Relative == 0 || b.Relative > 0x1p-23 || LostBits(ir.FP32, b.Relative) > 1 {
		t.Errorf("b: %+v", b)
	}
	if d := acc.Outputs[1]; d.Relative < 1 || LostBits(ir.FP32, d.Relative) < 20 {
		t.Errorf("d: %+v", d)
	}
	if c := acc.Tasks[1]; c.In == 0 || c.In > 0x1p-23 || c.Out < 1 {
		t.Errorf("%+v", c)
	}
}
