package sim

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ptobuild/ptobuild/internal/diag"
)

// Forker is implemented by a KernelRunner that can make more of its kind, one for each thread that runs kernels at the same time; Fork gives nil
// when it cannot. Without it the policy Parallel runs kernels one after the other.
type Forker interface {
	Fork() KernelRunner
}

// part is some blocks of a task, run by one worker, with what came of them.
type part struct {
	t        *task
	from, to int32
	watch    *accessWatch
	warnings *diag.List // nil: warnings go to the run at once
	err      error      // of kernel and block
	kernel   int32
	block    int
}

// worker runs kernels on one thread.
type worker struct {
	runner KernelRunner
	calls  [3]KernelCall
}

// runAll runs the kernels of tasks that start at the same time.
func (r *Runtime) runAll(tasks []*task) bool {
	if r.cfg.Policy != Parallel || r.cfg.Kernels == nil || r.cfg.Observe != nil || len(tasks) == 0 || len(tasks) == 1 && tasks[0].blocks == 1 || !r.hire() {
		for _, t := range tasks {
			if !r.runKernels(t) {
				return false
			}
		}
		return true
	}
	var parts []part
	for _, t := range tasks {
		if w := r.watchOutputs(t); w.k != nil { // looks at memory that others may write: alone
			if !r.runKernels(t) {
				return false
			}
			continue
		}
		t.times = sizedTimes(t)
		n := min(int(t.blocks), len(r.workers))
		for i := range n {
			parts = append(parts, part{t: t, from: t.blocks * int32(i) / int32(n), to: t.blocks * int32(i+1) / int32(n), watch: r.watchAccesses(), warnings: new(diag.List)})
		}
	}
	var next atomic.Int32
	var wg sync.WaitGroup
	for i := range min(len(r.workers), len(parts)) {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(parts) {
					return
				}
				r.workers[i].run(r, &parts[k], false)
			}
		})
	}
	wg.Wait()
	for i := range parts { // in submit order, whoever was first
		p := &parts[i]
		for _, d := range *p.warnings {
			r.warn(d)
		}
		if p.err != nil {
			r.kernelFailed(p.t, p.kernel, p.block, p.err)
			return false
		}
		if i+1 < len(parts) && parts[i+1].t == p.t {
			parts[i+1].watch.prepend(p.watch)
			continue
		}
		p.watch.keep(r, p.t)
		r.timed(p.t)
	}
	return true
}

// hire makes the workers of the policy Parallel; false when kernels cannot run at the same time.
func (r *Runtime) hire() bool {
	if r.workers != nil {
		return len(r.workers) > 1
	}
	r.workers = []worker{{runner: r.cfg.Kernels}}
	if f, ok := r.cfg.Kernels.(Forker); ok {
		n := r.cfg.Workers
		if n == 0 {
			n = runtime.GOMAXPROCS(0)
		}
		for len(r.workers) < n {
			k := f.Fork()
			if k == nil {
				break
			}
			r.workers = append(r.workers, worker{runner: k})
		}
	}
	return len(r.workers) > 1
}

// runKernels runs all blocks of all lanes of a task.
func (r *Runtime) runKernels(t *task) bool {
	t.times = sizedTimes(t)
	if r.cfg.Kernels == nil {
		c := KernelCall{}
		for i, k := 0, 0; i < len(t.times); i++ {
			for t.kernels[k] < 0 {
				k = (k + 1) % 3
			}
			c.Kernel = t.kernels[k]
			t.times[i] = r.callTime(&c)
			k = (k + 1) % 3
		}
		r.timed(t)
		return true
	}
	written := r.watchOutputs(t)
	r.observe(t, false)
	p := part{t: t, to: t.blocks, watch: r.watchAccesses()}
	r.self.runner = r.cfg.Kernels
	r.self.run(r, &p, t.blocks > 1 && r.backwards())
	if p.err != nil {
		r.kernelFailed(t, p.kernel, p.block, p.err)
		return false
	}
	r.observe(t, true)
	p.watch.keep(r, t)
	written.done(r, t)
	r.timed(t)
	return true
}

func (r *Runtime) observe(t *task, done bool) {
	if r.cfg.Observe != nil && r.graph != nil {
		r.cfg.Observe(&r.mem, r.graph.nodeOf(t), done)
	}
}

func sizedTimes(t *task) []uint64 {
	n := int(t.blocks) * t.lanes()
	if cap(t.times) < n {
		return make([]uint64, n)
	}
	return t.times[:n]
}

// timed accounts for the times of a task whose kernels have run.
func (r *Runtime) timed(t *task) {
	longest := uint64(0)
	lanes := t.lanes()
	for i, d := range t.times {
		longest = max(longest, d)
		if i%lanes == 0 && t.kernels[0] >= 0 {
			r.stats.BusyAIC += d
		} else {
			r.stats.BusyAIV += d
		}
	}
	t.depth += longest
	if r.graph != nil {
		r.graph.nodeOf(t).Time = longest
	}
	r.stats.CriticalPath = max(r.stats.CriticalPath, t.depth)
}

// run runs the blocks of a part.
func (w *worker) run(r *Runtime, p *part, backwards bool) {
	t := p.t
	mixed := t.kernels[0] >= 0 && t.kernels[1] >= 0 || t.kernels[2] >= 0
	cluster, together := w.runner.(ClusterRunner)
	lanes := t.lanes()
	for b := int(p.from); b < int(p.to); b++ {
		block := b
		if backwards { // blocks do not know each other, so their order must not matter either
			block = int(t.blocks) - 1 - b
		}
		n := 0
		for lane, id := range t.kernels {
			if id < 0 {
				continue
			}
			c := &w.calls[n]
			*c = KernelCall{
				Task: t.id, Ordinal: int(t.ordinal), Kernel: id, Lane: lane, Mixed: mixed, Args: t.args, Scalars: t.scalars,
				Block: block, BlockCount: int(t.blocks), SubBlock: max(lane-1, 0), Site: t.site, watch: p.watch, warnings: p.warnings, rt: r,
			}
			if p.watch != nil {
				p.watch.calls++
			}
			if !together || !mixed {
				if p.err = w.runner.Run(&r.mem, c); p.err != nil {
					p.kernel, p.block = id, block
					return
				}
			}
			n++
		}
		if together && mixed {
			if p.err = cluster.RunCluster(&r.mem, w.calls[:n]); p.err != nil {
				p.kernel, p.block = w.calls[0].Kernel, block
				return
			}
		}
		for i := range n {
			t.times[block*lanes+i] = r.callTime(&w.calls[i])
		}
	}
}

func (r *Runtime) backwards() bool {
	return r.cfg.Policy == LIFO || r.cfg.Policy == Newest || r.cfg.Policy == Random && r.rng.IntN(2) == 0
}

func (r *Runtime) kernelFailed(t *task, id int32, block int, err error) {
	l := diag.AsList(err, CodeKernelFailed)
	d := diag.Errorf(l[0].Code, t.site, "kernel %s failed in task %d, block %d of %d: %s", r.kernelName(id), t.ordinal, block, t.blocks, l[0].Message).WithHint("%s", l[0].Hint)
	if d.Hint == "" {
		d.WithHint("check the arguments that the task gives to the kernel")
	}
	if l[0].Span.IsValid() {
		d.WithRelated(l[0].Span, "in the kernel")
	}
	d.Related = append(d.Related, l[0].Related...)
	r.Fail(KernelFailed, "kernel-failed", d)
}
