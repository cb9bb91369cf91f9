package exec

import (
	"context"
	"math"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/interp"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Accuracy is what a program loses by computing in its own dtypes instead of double precision.
type Accuracy struct {
	Outputs []TensorAccuracy `json:"outputs"` // of the entry tensors with floating elements that are no pure inputs
	Tasks   []TaskAccuracy   `json:"tasks"`   // in program order, as far as both evaluations ran the same tasks
	// Values are the entry tensors as double precision gives them, rounded once to their dtype.
	Values [][]byte `json:"-"`
}

// TensorAccuracy compares one tensor with its value in double precision.
type TensorAccuracy struct {
	Tensor   int     `json:"tensor"`   // position among the entry tensors
	Worst    float64 `json:"worst"`    // largest absolute error
	At       int     `json:"at"`       // the element that has it
	Relative float64 `json:"relative"` // Worst divided by the largest absolute value
}

// TaskAccuracy is the relative error of what a task read and of what it wrote: the largest among its floating tensor arguments.
type TaskAccuracy struct {
	Task   int       `json:"task"`
	Kernel string    `json:"kernel"`
	Site   diag.Span `json:"site"`
	In     float64   `json:"in"`
	Out    float64   `json:"out"`
}

// Precision is how many bits of a number a floating dtype holds.
func Precision(d ir.DType) int {
	return map[ir.DType]int{ir.FP32: 24, ir.FP16: 11, ir.BF16: 8, ir.FP64: 53, ir.FP8E4M3FN: 4, ir.FP8E5M2: 3, ir.HF8: 4, ir.FP4: 2, ir.FP8E8M0: 1}[d]
}

// LostBits is how many of them a relative error takes away: 0 for an error of half a unit in the last place or less.
func LostBits(d ir.DType, relative float64) float64 {
	if relative == 0 {
		return 0
	}
	bits := float64(Precision(d))
	return min(max(0, math.Log2(relative)+bits), bits)
}

// Accuracy runs the plan in program order twice, side by side: as it is, and in double precision.
func (e *Plan) Accuracy(ctx context.Context, job *Job) (*Accuracy, error) {
	if job.HasExternal() {
		return nil, diag.Errorf(CodeExternal, diag.Span{}, "the program has kernels written in C++, which cannot be evaluated in double precision").
			WithHint("compare with a reference command instead")
	}
	program, names := kernels.New(job.Program, e.Ops), KernelNames(job.Plan.Kernels)
	shadow := kernels.NewShadow()
	acc := &Accuracy{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	steps := make(chan *step) // what each task of the run in its own dtypes wrote
	send := func(s *step) {
		select {
		case steps <- s:
		case <-ctx.Done():
		}
	}
	type end struct {
		outputs [][]float64
		err     error
	}
	own := make(chan end, 1)
	go func() {
		defer close(steps)
		o := &observer{runner: program.Runner(job.Plan.Kernels), load: kernels.Load}
		o.done = func(s *step) { send(s) }
		outputs, err := e.observe(ctx, job, o, names, nil)
		own <- end{outputs, err}
	}()
	same := true
	o := &observer{runner: program.DoubleRunner(job.Plan.Kernels, shadow), load: shadow.Value}
	o.done = func(double *step) {
		s, ok := <-steps
		if same = same && ok && s.task == double.task && s.kernel == double.kernel; !same {
			return // data decided what runs, and decided differently
		}
		t := TaskAccuracy{Task: s.task, Site: s.site}
		if int(s.kernel) < len(names) {
			t.Kernel = names[s.kernel]
		}
		t.In, t.Out = worst(s.in, double.in), worst(s.out, double.out)
		acc.Tasks = append(acc.Tasks, t)
	}
	want, err := e.observe(ctx, job, o, names, func(b [][]byte) { acc.Values = b })
	if err != nil {
		return nil, err
	}
	go func() {
		for range steps { // tasks that only one of the two ran
		}
	}()
	got := <-own
	if got.err != nil {
		return nil, got.err
	}
	for i, x := range job.Plan.Tensors {
		if x.Dir == ir.In || !x.DType.IsFloat() {
			continue
		}
		a := TensorAccuracy{Tensor: i}
		a.Worst, a.Relative, a.At = difference(got.outputs[i], want[i])
		acc.Outputs = append(acc.Outputs, a)
	}
	return acc, nil
}

// observe runs the plan under an observer and gives the values of the floating entry tensors.
func (e *Plan) observe(ctx context.Context, job *Job, o *observer, names []string, bytes func([][]byte)) ([][]float64, error) {
	plain := *job
	plain.Inspect = nil
	rt, entry, err := Prepare(&plain, Schedule{Policy: sim.Sequential}, o, names)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	if err := interp.Run(job.Plan, interp.Args{Tensors: entry, Scalars: job.Scalars, Stop: func() error { return context.Cause(ctx) }}, rt); err != nil {
		return nil, err
	}
	if err := rt.Finish(); err != nil {
		return nil, err
	}
	values := make([][]float64, len(entry))
	raw := make([][]byte, len(entry))
	for i := range entry {
		raw[i] = append([]byte(nil), rt.Memory().Bytes(entry[i].Addr, entry[i].Size)...)
		if entry[i].DType.IsFloat() {
			values[i] = valuesOf(rt.Memory(), &entry[i], o.load)
		}
	}
	if bytes != nil {
		bytes(raw)
	}
	return values, nil
}

// step is what a task read and wrote: a row of values for each floating tensor argument.
type step struct {
	task    int
	kernel  int32
	site    diag.Span
	in, out [][]float64
}

// observer looks at the arguments of each task before its first block and after its last one.
type observer struct {
	runner sim.KernelRunner
	load   func(ir.DType, []byte) float64 // the value of an element
	done   func(*step)
	step   *step
}

// Run implements sim.KernelRunner.
func (o *observer) Run(m *sim.Memory, c *sim.KernelCall) error {
	o.begin(m, c)
	err := o.runner.Run(m, c)
	o.end(m, c)
	return err
}

// RunCluster implements sim.ClusterRunner: the evaluator wants the lanes of a mixed task together.
func (o *observer) RunCluster(m *sim.Memory, calls []sim.KernelCall) error {
	o.begin(m, &calls[0])
	err := o.runner.(sim.ClusterRunner).RunCluster(m, calls)
	o.end(m, &calls[0])
	return err
}

func (o *observer) begin(m *sim.Memory, c *sim.KernelCall) {
	if c.Block != 0 {
		return
	}
	o.step = &step{task: c.Ordinal, kernel: c.Kernel, site: c.Site}
	o.look(m, c, &o.step.in, func(t sim.ArgTag) bool { return t == sim.Input || t == sim.InOut || t == sim.NoDep })
}

func (o *observer) end(m *sim.Memory, c *sim.KernelCall) {
	if c.Block != c.BlockCount-1 || o.step == nil {
		return
	}
	o.look(m, c, &o.step.out, func(t sim.ArgTag) bool { return t != sim.Input })
	o.done(o.step)
	o.step = nil
}

func (o *observer) look(m *sim.Memory, c *sim.KernelCall, to *[][]float64, takes func(sim.ArgTag) bool) {
	for i := range c.Args {
		if a := &c.Args[i]; takes(a.Tag) && a.Tensor.DType.IsFloat() && a.Tensor.DType.Bits() >= 8 {
			*to = append(*to, valuesOf(m, &a.Tensor, o.load))
		}
	}
}

// elements walks over the elements of a window.
func elements(m *sim.Memory, t *sim.Tensor, each func(b []byte)) {
	n, size := int(t.NumElems()), uint64(t.DType.Bytes())
	index := make([]uint32, len(t.Shape))
	for range n {
		at := t.Start
		for a, k := range index {
			at += uint64(k) * uint64(t.Strides[a])
		}
		each(m.Bytes(t.Addr+at*size, size))
		for a := len(index) - 1; a >= 0; a-- {
			if index[a]++; index[a] < t.Shape[a] {
				break
			}
			index[a] = 0
		}
	}
}

// valuesOf reads the elements of a window; what nothing has written is no number.
func valuesOf(m *sim.Memory, t *sim.Tensor, value func(ir.DType, []byte) float64) []float64 {
	v := make([]float64, 0, t.NumElems())
	elements(m, t, func(b []byte) {
		x := value(t.DType, b)
		if n, _ := sim.Unwritten(t.DType, b, 0, 1, 1); n > 0 {
			x = math.NaN()
		}
		v = append(v, x)
	})
	return v
}

// difference is the largest error, the same divided by the largest value, and where it is. What is no number in both counts as equal.
func difference(got, want []float64) (absolute, relative float64, at int) {
	largest := 0.0
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if !math.IsInf(w, 0) && w == w {
			largest = max(largest, math.Abs(w))
		}
		if g == w || g != g && w != w {
			continue
		}
		e := math.Abs(g - w)
		if e != e || math.IsInf(e, 0) { // one of them is no number
			e = math.MaxFloat64
		}
		if e > absolute {
			absolute, at = e, i
		}
	}
	if absolute > 0 {
		relative = min(absolute/max(largest, math.SmallestNonzeroFloat64), math.MaxFloat64)
	}
	return absolute, relative, at
}

// worst is the largest relative error of several tensors.
func worst(got, want [][]float64) float64 {
	w := 0.0
	for i := range min(len(got), len(want)) {
		_, r, _ := difference(got[i], want[i])
		w = max(w, r)
	}
	return w
}
