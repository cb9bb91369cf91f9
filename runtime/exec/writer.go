package exec

import (
	"bytes"
	"context"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/interp"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Writer is the task that last changed a place in memory.
type Writer struct {
	Task   int // ordinal in submit order
	Kernel string
	Site   diag.Span
}

// LastWriter repeats one schedule and finds the task that last changed size bytes at offset of an entry tensor; nil when no task did. A write of
// the same bytes is no change; of a mixed task the first lane is named.
func (e *Plan) LastWriter(ctx context.Context, job *Job, s Schedule, tensor, offset, size int) (*Writer, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	names := KernelNames(job.Plan.Kernels)
	stop := func() error { return context.Cause(ctx) }
	w := &watcher{runner: runner(job, e.Ops, s, stop), names: names}
	rt, entry, err := Prepare(job, s, w, names)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	if tensor < 0 || tensor >= len(entry) || offset < 0 || size < 0 || uint64(offset)+uint64(size) > entry[tensor].Size {
		return nil, diag.Errorf(CodeData, diag.Span{}, "bytes %d to %d of entry tensor %d do not exist", offset, offset+size, tensor)
	}
	w.cell = rt.Memory().Bytes(entry[tensor].Addr+uint64(offset), uint64(size))
	if err := interp.Run(job.Plan, interp.Args{Tensors: entry, Scalars: job.Scalars, Stop: stop}, rt); err != nil {
		return nil, err
	}
	if err := rt.Finish(); err != nil {
		return nil, err
	}
	return w.last, nil
}

// watcher notes which kernel call changed a place in memory.
type watcher struct {
	runner sim.KernelRunner
	names  []string
	cell   []byte
	last   *Writer
}

func (w *watcher) Run(m *sim.Memory, c *sim.KernelCall) error {
	return w.watch(c, func() error { return w.runner.Run(m, c) })
}

// RunCluster keeps the lanes of a mixed task together for a runner that wants them so.
func (w *watcher) RunCluster(m *sim.Memory, calls []sim.KernelCall) error {
	if c, ok := w.runner.(sim.ClusterRunner); ok {
		return w.watch(&calls[0], func() error { return c.RunCluster(m, calls) })
	}
	for i := range calls {
		if err := w.Run(m, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) watch(c *sim.KernelCall, run func() error) error {
	before := bytes.Clone(w.cell)
	err := run()
	if !bytes.Equal(before, w.cell) {
		w.last = &Writer{Task: c.Ordinal, Site: c.Site}
		if int(c.Kernel) < len(w.names) {
			w.last.Kernel = w.names[c.Kernel]
		}
	}
	return err
}
