// Package kernels evaluates the kernels of a program on the memory of the simulated runtime: the bodies of InCore, AIC and AIV functions, with their tile
// and tensor ops, dtype by dtype and valid region by valid region (spec: dsl-ir 4.5).
//
// A function is compiled once, to a list of steps that work on numbered slots. What a kernel does wrong (access out of bounds, a tile element
// that was never written, extents that do not fit) is a diag.Diagnostic that names kernel, op and place.
package kernels

import (
	"slices"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Program holds the compiled kernels of one program. It may be shared; its Runners may not.
type Program struct {
	// Stop, when set, is asked now and then in loops; its error ends the kernel. Set it before the first run.
	Stop func() error

	ir    *ir.Program
	reg   *ops.Registry
	funcs map[string]*ir.Function

	mu      sync.Mutex
	kernels map[string]*kernel // guarded by mu
}

// New prepares the kernels of p. They are compiled when they first run.
func New(p *ir.Program, reg *ops.Registry) *Program {
	n := &Program{ir: p, reg: reg, funcs: make(map[string]*ir.Function, len(p.Funcs)), kernels: map[string]*kernel{}}
	for _, f := range p.Funcs {
		n.funcs[f.Name] = f
	}
	return n
}

// Check compiles a kernel and reports what cannot be evaluated in it.
func (p *Program) Check(function string) error { return p.kernel(function).err }

// kernel returns the compiled form of a function.
func (p *Program) kernel(name string) *kernel {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kernels[name]
	if k == nil {
		k = p.compile(name)
		p.kernels[name] = k
	}
	return k
}

// kernel is a compiled function.
type kernel struct {
	name   string
	pos    diag.Span
	params []param
	body   []step
	ints   int // slots of each kind
	floats int
	regs   int
	arrays int
	outs   []bool // by tensor argument: declared as Out
	dims   []dimBinding
	valids []validBinding
	err    error
}

// Runner runs the kernels of a table. It reports what they touch of their tensor arguments (sim.KernelCall.Track).
type Runner struct {
	p      *Program
	table  []entry
	pool   pool
	shadow *Shadow // not nil: evaluate in double precision
	lanes  [3]machine
}

type entry struct {
	plan.Kernel
	k *kernel
}

// Runner returns a runner for the kernels of a plan's table, which has kernel ids as indices or in Kernel.ID.
func (p *Program) Runner(table []plan.Kernel) sim.KernelRunner {
	r := &Runner{p: p}
	for i, k := range table {
		id := max(k.ID, 0)
		if id == 0 && i > 0 && table[0].ID == 0 {
			id = i
		}
		for len(r.table) <= id {
			r.table = append(r.table, entry{})
		}
		r.table[id] = entry{Kernel: k}
	}
	return r
}

// Fork returns a runner of the same kernels for another thread; nil in double precision, where all share one shadow.
func (r *Runner) Fork() sim.KernelRunner {
	if r.shadow != nil {
		return nil
	}
	return &Runner{p: r.p, table: slices.Clone(r.table)}
}

// DoubleRunner is Runner for the evaluation in double precision: no floating result is rounded, neither between ops nor, through the shadow, between
// tasks.
func (p *Program) DoubleRunner(table []plan.Kernel, shadow *Shadow) sim.KernelRunner {
	r := p.Runner(table).(*Runner)
	r.shadow = shadow
	return r
}

// lookup finds and compiles the kernel of a call.
func (r *Runner) lookup(c *sim.KernelCall) (*entry, error) {
	if c.Kernel < 0 || int(c.Kernel) >= len(r.table) || r.table[c.Kernel].Name == "" && r.table[c.Kernel].Func == "" {
		return nil, diag.Errorf(CodeNoKernel, c.Site, "no kernel has the id %d", c.Kernel)
	}
	e := &r.table[c.Kernel]
	if e.k == nil {
		name := e.Func
		if name == "" {
			name = e.Name
		}
		e.k = r.p.kernel(name)
	}
	return e, e.k.err
}

// Run runs one lane of one block. A body shared by the lanes of a mixed task runs once, on the first.
func (r *Runner) Run(mem *sim.Memory, c *sim.KernelCall) error {
	e, err := r.lookup(c)
	if err != nil {
		return err
	}
	if c.Mixed && c.Lane > 0 && r.hasOtherHalf(e) {
		c.Track() // it touches nothing that the first lane does not report
		c.Work = sim.Work{Ops: 1}
		return nil
	}
	return r.exec(e.k, mem, c, nil)
}

// hasOtherHalf reports a vector part whose body is also that of a cube part.
func (r *Runner) hasOtherHalf(e *entry) bool {
	if e.Core != plan.AIV || e.Func == "" {
		return false
	}
	for i := range r.table {
		if x := &r.table[i]; x.Core == plan.AIC && x.Func == e.Func {
			return true
		}
	}
	return false
}

// exec runs a kernel on the machine of its lane. A panic is a mistake of the evaluator; it becomes a report about the kernel.
func (r *Runner) exec(k *kernel, mem *sim.Memory, c *sim.KernelCall, p *pipes) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = diag.Errorf(CodeInternal, k.pos, "kernel '%s': internal error of the evaluator: %v", k.name, x)
		}
	}()
	m := &r.lanes[min(max(c.Lane, 0), 2)]
	m.pool, m.k, m.call, m.sub, m.err, m.stop, m.pipes = &r.pool, k, c, c.SubBlock, nil, goOn, p
	m.at, m.warned, m.touch = nil, nil, nil
	m.double, m.shadow = r.shadow != nil, r.shadow
	if c.Track() {
		m.boxes.list, m.boxes.out = m.boxes.list[:0], k.outs
		m.touch = m.boxes.add
		defer m.boxes.tell(c)
	}
	m.ints, m.floats = sized(m.ints, k.ints), sized(m.floats, k.floats)
	m.regs, m.arrays = sized(m.regs, k.regs), sized(m.arrays, k.arrays)
	m.bind(mem, c)
	m.work, m.asks = sim.Work{}, r.p.Stop
	if m.err == nil {
		m.run(k.body)
	}
	c.Work = m.work
	for i := range m.regs {
		m.drop(i)
	}
	return m.err
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
