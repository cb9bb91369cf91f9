package sim

import (
	"fmt"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// View is Tensor.View as a call of the orchestration: a mistake is fatal, and a lost manual_dep is worth a warning.
func (r *Runtime) View(t *Tensor, shape, offsets []uint32, site Site) Tensor {
	return r.derive(t, site,
		func() (Tensor, error) { return t.View(shape, offsets, false) },
		func() string { return "view(" + list(shape) + "," + list(offsets) + ")" })
}

// Reshape is Tensor.Reshape as a call of the orchestration.
func (r *Runtime) Reshape(t *Tensor, shape []uint32, site Site) Tensor {
	return r.derive(t, site,
		func() (Tensor, error) { return t.Reshape(shape, false) },
		func() string { return "reshape(" + list(shape) + ")" })
}

// Transpose is Tensor.Transpose as a call of the orchestration.
func (r *Runtime) Transpose(t *Tensor, a, b int, site Site) Tensor {
	return r.derive(t, site,
		func() (Tensor, error) { return t.Transpose(a, b, false) },
		func() string { return fmt.Sprintf("transpose(%d,%d)", min(a, b), max(a, b)) })
}

func (r *Runtime) derive(from *Tensor, site Site, op func() (Tensor, error), text func() string) Tensor {
	none := Tensor{Owner: InvalidTask}
	if r.stopped() {
		return none
	}
	d := r.checkHandle(from)
	v := none
	if d == nil {
		var err error
		if v, err = op(); err != nil {
			d = err.(*diag.Diagnostic)
		}
	}
	if d != nil {
		d.Span = site
		r.Fail(InvalidArgs, "view-out-of-bounds", d)
		return none
	}
	if from.ManualDep {
		r.warn(diag.Warningf(CodeManualDepLost, site, "a view of a manual_dep tensor is tracked automatically: the runtime keeps the flag for the tensor itself only").
			WithHint("pass the view as pl.no_dep(...), or submit in a manual scope"))
	}
	if r.rec != nil {
		v.Ops = append(from.Ops[:len(from.Ops):len(from.Ops)], text())
	}
	return v
}

func list(v []uint32) string {
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") + "]"
}
