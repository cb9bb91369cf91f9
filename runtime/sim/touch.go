package sim

// What kernels really touch. A kernel often gets a whole tensor and writes one tile of it, so the declared windows alone make parallel writers of
// disjoint tiles look like a race. A runner that knows better says so while a call runs: Track once, then Touch for every window.

// maxTouches bounds the windows kept per task; a task with more counts by its declarations.
const maxTouches = 4096

// accessWatch collects what the calls of one task touch.
type accessWatch struct {
	touched []Touch
	calls   int // finished calls
	tracked int // calls that were tracked
	full    bool
}

// Track says that the runner will report every access of this call to a tensor argument. It returns false when nobody wants to know.
func (c *KernelCall) Track() bool {
	if c.watch == nil {
		return false
	}
	c.watch.tracked++
	return true
}

// Touch reports that the call read or wrote a window of a tensor argument. It keeps the window's shape and strides.
func (c *KernelCall) Touch(x Touch) {
	w := c.watch
	if w == nil || w.full {
		return
	}
	x.Block = int32(c.Block)
	n := len(w.touched)
	for _, t := range w.touched[max(0, n-4):] { // loops touch a window again and again
		if t.Arg == x.Arg && t.Write == x.Write && t.First == x.First && t.Atomic == x.Atomic && t.Block == x.Block && sameWindow(&t.Window, &x.Window) {
			return
		}
	}
	if len(w.touched) == maxTouches {
		w.full = true
		return
	}
	w.touched = append(w.touched, x)
}

func sameWindow(a, b *Tensor) bool {
	if a.Addr != b.Addr || a.Start != b.Start || a.DType != b.DType || len(a.Shape) != len(b.Shape) {
		return false
	}
	for i := range a.Shape {
		if a.Shape[i] != b.Shape[i] || a.Strides[i] != b.Strides[i] {
			return false
		}
	}
	return true
}

// watchAccesses starts watching a task; nil when nobody wants to know.
func (r *Runtime) watchAccesses() *accessWatch {
	if r.graph == nil {
		return nil
	}
	return &accessWatch{}
}

// prepend puts what another part of the task touched before.
func (w *accessWatch) prepend(before *accessWatch) {
	if w == nil {
		return
	}
	w.touched = append(before.touched, w.touched...)
	w.calls += before.calls
	w.tracked += before.tracked
	w.full = w.full || before.full || len(w.touched) > maxTouches
}

// keep stores what was seen at the task's node.
func (w *accessWatch) keep(r *Runtime, t *task) {
	if w == nil || w.calls == 0 || w.tracked != w.calls || w.full {
		return
	}
	n := r.graph.nodeOf(t)
	n.Exact, n.Touched = true, w.touched
}
