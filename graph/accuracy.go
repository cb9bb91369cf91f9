package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/runtime/exec"
)

// Accuracy is what a test with expect.float64 tells of the precision that the program lost.
type Accuracy struct {
	Outputs []OutputAccuracy    `json:"outputs"`
	Tasks   []exec.TaskAccuracy `json:"tasks"`
}

// OutputAccuracy compares one output with its value in double precision.
type OutputAccuracy struct {
	Name     string  `json:"name"`
	DType    string  `json:"dtype"`
	Worst    float64 `json:"worst"`    // largest absolute error
	At       string  `json:"at"`       // the element that has it
	Relative float64 `json:"relative"` // Worst divided by the largest absolute value
	Lost     float64 `json:"lost"`     // bits of the dtype's precision, of Bits
	Bits     int     `json:"bits"`
}

// expectDouble evaluates the program in double precision: the outputs to expect, and how far the program is from them.
func (t *Tester) expectDouble(ctx context.Context, job *exec.Job, e *expectation, v *Verdict) error {
	acc, err := (&exec.Plan{Ops: t.Builder.Ops}).Accuracy(ctx, job)
	if err != nil {
		return err
	}
	for _, i := range outputsOf(job) {
		e.outputs[i] = acc.Values[i]
	}
	v.Accuracy = &Accuracy{Tasks: acc.Tasks}
	for _, o := range acc.Outputs {
		p := job.Plan.Tensors[o.Tensor]
		v.Accuracy.Outputs = append(v.Accuracy.Outputs, OutputAccuracy{Name: p.Param, DType: p.DType.String(), Worst: o.Worst,
			At: p.Param + position(job.Tensors[o.Tensor].Shape, o.At), Relative: o.Relative, Lost: exec.LostBits(p.DType, o.Relative), Bits: exec.Precision(p.DType)})
	}
	return nil
}

// worstTasks is how many tasks a report names.
const worstTasks = 3

// Lines tells the losses of the outputs, and the tasks that lost most.
func (a *Accuracy) Lines() []string {
	if a == nil {
		return nil
	}
	var lines []string
	for _, o := range a.Outputs {
		if o.Worst == 0 {
			lines = append(lines, fmt.Sprintf("%s  %s: nothing lost", o.Name, o.DType))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s  %s: relative error %.2g, %.1f of %d bits lost; largest error %.2g at %s", o.Name, o.DType, o.Relative, o.Lost, o.Bits, o.Worst, o.At))
	}
	tasks := slices.Clone(a.Tasks)
	slices.SortStableFunc(tasks, func(x, y exec.TaskAccuracy) int { return cmp.Compare(y.Out-y.In, x.Out-x.In) })
	for _, t := range tasks[:min(worstTasks, len(tasks))] {
		if t.Out > t.In {
			lines = append(lines, fmt.Sprintf("task %d (%s) at %s: relative error %.2g of what it reads, %.2g of what it writes", t.Task, t.Kernel, t.Site, t.In, t.Out))
		}
	}
	return lines
}
