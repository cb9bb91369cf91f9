package graph

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/trace"
)

// Translation validation: the compiled C++ makes the calls that its plan says, with the same arguments, and leaves the same memory.

// agree compares the two runs of an order. A difference is a fault of the tool; its report says in the words of the program where the C++ first does
// something else.
func agree(built *Built, planned, compiled *exec.Result, s exec.Schedule) error {
	if compiled.Failed() {
		return compiled.Diags
	}
	if d := trace.First(compiled.Trace, planned.Trace); d != nil {
		return parted(built, d, s)
	}
	for k := range planned.Outputs {
		if !bytes.Equal(planned.Outputs[k], compiled.Outputs[k]) {
			return diag.Errorf(CodeTrace, built.Target.Pos, "the compiled C++ of %s made the calls of its plan (%s) and left another %s", built.Plan.Func, s,
				built.Plan.Tensors[k].Param).WithHint("this is a fault of ptobuild, not of the program; please report it with the source")
		}
	}
	return nil
}

// parted explains the first difference of two traces.
func parted(built *Built, d *trace.Difference, s exec.Schedule) error {
	var what string
	at := built.Target.Pos
	switch {
	case d.Got == nil:
		at = cmp.Or(trace.SiteOf(d.Want), at)
		what = "it ends before " + trace.Describe(d.Want)
	case d.Want == nil:
		at = cmp.Or(trace.SiteOf(d.Got), at)
		what = trace.Describe(d.Got) + ", which is too much"
	default:
		at = cmp.Or(trace.SiteOf(d.Want), trace.SiteOf(d.Got), at)
		what = fmt.Sprintf("%s: %s", trace.Describe(d.Got), inWords(built, d))
	}
	r := diag.Errorf(CodeTrace, at, "the compiled C++ of %s does something else than its plan (%s), first in call %d: %s", built.Plan.Func, s, d.At, what).
		WithHint("this is a fault of ptobuild, not of the program; please report it with the source")
	for _, l := range built.Lines {
		if l.Span == at {
			r.WithRelated(diag.Span{File: path.Join(built.Target.Output(), "orchestration", cppName(built)), Line: int32(l.First), Col: 1}, "the C++ of this statement")
			break
		}
	}
	return r
}

var argumentNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(scalar )?argument \d+`) })

// inWords says what differs, with the parameters of the kernel by name.
func inWords(built *Built, d *trace.Difference) string {
	t, ok := d.Want.(*trace.Submit)
	if !ok || len(t.Kernels) == 0 {
		return d.Text
	}
	var tensors, scalars []string
	if f := kernelFunction(built, t.Kernels[0]); f != nil {
		for _, p := range f.Params {
			if name := ir.BaseName(p.Var.Hint); ir.IsTensor(p.Var.Typ) {
				tensors = append(tensors, name)
			} else {
				scalars = append(scalars, name)
			}
		}
	}
	return argumentNumber().ReplaceAllStringFunc(d.Text, func(m string) string {
		kind, names := "argument ", tensors
		if strings.HasPrefix(m, "scalar ") {
			kind, names = "scalar argument ", scalars
		}
		if n, err := strconv.Atoi(m[len(kind):]); err == nil && n < len(names) {
			return kind + names[n]
		}
		return m
	})
}
