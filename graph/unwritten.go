package graph

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// unwritten reports the pl.Out tensors that still hold the pattern they were filled with before the run: an error when nothing of one was written,
// a warning when a part was not. Tensors whose content the test gives are left out.
func unwritten(test *TestConfig, built *Built, job *exec.Job, r *exec.Result) diag.List {
	var ds diag.List
	all, rest := "%s is a pl.Out: give it to a kernel that stores its result into it, or take it out of the parameters", "write all of it; if the rest shall keep what it held before, declare it as pl.InOut"
	if built.Target.Hand != nil {
		if len(built.Plan.Kernels) == 0 { // only its calls are of interest
			return nil
		}
		all, rest = "the signature says out %[1]s: give it to a kernel that writes it, or say inout", "write all of it; if the rest shall keep what it held before, say inout in the signature"
	}
	// What was read unwritten and stored again looks the same, also after a sum: the pattern's huge floats swallow small terms.
	passedOn := ""
	if slices.ContainsFunc(r.Diags, func(d *diag.Diagnostic) bool { return d.Code == kernels.CodeUnwritten }) {
		passedOn = ", or only with what was read from memory that nothing has written"
	}
	for i := range built.Plan.Tensors {
		p := &built.Plan.Tensors[i]
		if _, given := test.Inputs[p.Param]; given || p.Dir != ir.Out || len(r.Outputs[i]) == 0 {
			continue
		}
		data := r.Outputs[i]
		if len(bytes.TrimLeft(data, string([]byte{sim.Poison}))) == 0 {
			ds.Add(diag.Errorf(CodeUnwritten, built.Target.Pos, "no element of %s was written%s", p.Param, passedOn).
				WithHint(all, p.Param))
			continue
		}
		n := len(data) / p.DType.Bytes()
		if count, first := sim.Unwritten(p.DType, data, 0, n, 1); count > 0 {
			ds.Add(diag.Warningf(CodeUnwritten, built.Target.Pos, "%d of %d elements of %s were never written%s; the first is %s%s", count, n, p.Param, passedOn, p.Param,
				indexOf(first, job.Tensors[i].Shape)).
				WithHint("%s", rest))
		}
	}
	return ds
}

// withoutIdle drops the reports about kernels that changed nothing, where what they read was never written: they did store it.
func withoutIdle(ds diag.List) diag.List {
	var submits []diag.Span
	for _, d := range ds {
		for _, r := range d.Related {
			if d.Code == kernels.CodeUnwritten {
				submits = append(submits, r.Span)
			}
		}
	}
	return slices.DeleteFunc(ds, func(d *diag.Diagnostic) bool { return d.Code == sim.CodeNoWrite && slices.Contains(submits, d.Span) })
}

// indexOf writes a flat row-major position as an index.
func indexOf(flat int, shape []uint32) string {
	index := make([]string, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		index[a] = fmt.Sprint(flat % int(shape[a]))
		flat /= int(shape[a])
	}
	return "[" + strings.Join(index, ", ") + "]"
}
