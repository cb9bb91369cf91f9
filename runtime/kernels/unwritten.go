package kernels

import (
	"fmt"
	"strings"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Reads of memory that nothing has written. On a device they give whatever was there before; here they find the runtime's poison. That is worth a
// warning and no error: a kernel may load a window of which it uses only the part that was written.

// reads notes that a run of elements of a tensor argument is read.
func (m *machine) reads(r *region, off, n, stride int) {
	m.touched(r, off, n, stride, false)
	if m.at == nil || m.at == m.warned {
		return
	}
	if count, first := sim.Unwritten(r.dt, r.mem, off, n, stride); count > 0 {
		m.warnUnwritten(r.arg, off+first*stride)
	}
}

// warnUnwritten reports that the running op reads element off of the buffer of an argument.
func (m *machine) warnUnwritten(arg, off int) {
	m.warned = m.at
	if m.call == nil || arg < 0 || arg >= len(m.call.Args) {
		return
	}
	name := m.tensorName(arg)
	d := diag.Warningf(CodeUnwritten, m.at.pos, "kernel %s reads elements of argument %s that nothing has written; the first is %s%s", m.k.name, name, name,
		place(&m.call.Args[arg].Tensor, off)).
		WithHint("write %s before this task runs, or load only the part that was written", name)
	if at := m.call.Site; at.IsValid() {
		d.WithRelated(at, "task %d, which runs the kernel, was submitted here", m.call.Ordinal)
	}
	if at := m.call.MadeAt(arg); at.IsValid() && at != m.call.Site {
		d.WithRelated(at, "the buffer was made here")
	}
	m.call.Warn(d)
}

// tensorName is the parameter that tensor argument arg belongs to.
func (m *machine) tensorName(arg int) string {
	for i := range m.k.params {
		if m.k.params[i].tensor == nil {
			continue
		}
		if arg == 0 {
			return m.k.params[i].name
		}
		arg--
	}
	return "?"
}

// place is the index of an element of the buffer in the window t, as far as falling strides tell it.
func place(t *sim.Tensor, off int) string {
	rest := off - int(t.Start)
	index := make([]string, len(t.Strides))
	for a, s := range t.Strides {
		if a > 0 && s > t.Strides[a-1] || s == 0 || rest < 0 {
			return fmt.Sprintf(", element %d of its buffer", off)
		}
		index[a] = fmt.Sprint(rest / int(s))
		rest %= int(s)
	}
	return "[" + strings.Join(index, ", ") + "]"
}
