package kernels

import (
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// machine is the state of one lane while it runs a kernel. Code that fails sets err and returns; every block stops at the first error.
type machine struct {
	ints   []int64
	floats []float64
	regs   []region
	arrays [][]int64

	at     *site    // the op that runs
	work   sim.Work // done so far
	trips  uint32   // of loops, to ask now and then whether to stop
	asks   func() error
	warned *site // the last op that was found to read what nothing has written

	err  error
	stop stopKind
	pool *pool
	k    *kernel
	call *sim.KernelCall
	sub  int // vector lane, also inside of split_aiv

	out      region // the result being made
	dst, tmp region // parts of it
	it       rows
	f        [4][]float64
	i        [4][]int64
	d        [3][]float64
	convF    []float64
	one      []float64
	oneI     []int64
	oneOut   [1]float64
	oneOutI  [1]int64
	scalar   region // a scalar operand as a region of rank 0
	scalarF  store
	scalarI  store
	double   bool // nothing is rounded: the evaluation in double precision
	shadow   *Shadow
	touch    func(arg, off, n, stride int, write bool) // nil: nobody wants to know
	boxes    boxes
	pipes    *pipes
	waitPipe func() bool // gives way to the other lanes; false when none can go on
}

// stopKind is why a block ends early.
type stopKind uint8

const (
	goOn stopKind = iota
	stopBreak
	stopContinue
	stopReturn
)

// step is one action of a kernel.
type step = func(m *machine)

// site is a place in the kernel's source, for reports.
type site struct {
	op  string
	pos diag.Span
}

// fail records the first failure: a report that names op, place and kernel.
func (m *machine) fail(s *site, c diag.Code, format string, args ...any) {
	if m.err != nil {
		return
	}
	d := diag.Errorf(c, s.pos, format, args...)
	if s.op != "" {
		d.Message = s.op + ": " + d.Message
	}
	d.Message = "kernel '" + m.k.name + "': " + d.Message
	if m.call != nil && m.call.Site.IsValid() && m.call.Site != s.pos {
		d = d.WithRelated(m.call.Site, "the task was submitted here")
	}
	m.err = d
}

// askEvery is how many loop trips pass between two questions whether to stop.
const askEvery = 1024

// tick counts a loop trip; true ends the loop, because the kernel is to stop.
func (m *machine) tick(at *site) bool {
	if m.trips++; m.trips%askEvery != 0 || m.asks == nil {
		return false
	}
	err := m.asks()
	if d, ok := err.(*diag.Diagnostic); ok {
		m.fail(at, d.Code, "%s", d.Message)
		if x, ok := m.err.(*diag.Diagnostic); ok {
			m.err = x.WithHint("%s", d.Hint)
		}
	} else if err != nil {
		m.err = err
	}
	return err != nil
}

// run runs a block.
func (m *machine) run(b []step) {
	for _, f := range b {
		f(m)
		if m.err != nil || m.stop != goOn {
			return
		}
	}
}

// set stores a region in a variable.
func (m *machine) set(i int, r *region) {
	old := m.regs[i].st
	if r.st != nil {
		r.st.refs++
	}
	m.regs[i] = *r
	m.release(old)
}

// drop forgets a variable.
func (m *machine) drop(i int) {
	old := m.regs[i].st
	m.regs[i].st = nil
	m.regs[i].mem = nil
	m.release(old)
}

func (m *machine) release(s *store) {
	if s == nil {
		return
	}
	if s.refs--; s.refs <= 0 {
		m.pool.put(s)
	}
}

// fresh makes r a packed, undefined result. shape and valid may be r's own.
func (m *machine) fresh(r *region, d ir.DType, rank int, shape, valid *dims) {
	r.shape, r.valid = *shape, *valid
	r.mem, r.arg, r.dt, r.rank, r.off = nil, -1, d, rank, 0
	r.st = m.pool.get(r.pack(), isFloat(d))
}

// discard gives back the store of a result that no variable holds.
func (m *machine) discard(r *region) {
	if r.st != nil && r.st.refs == 0 {
		m.pool.put(r.st)
		r.st = nil
	}
}

// need checks that the valid region of an operand was written.
func (m *machine) need(s *site, r *region) bool {
	if m.err != nil {
		return false
	}
	if r.st == nil && r.mem == nil && product(r.rank, &r.valid) > 0 {
		m.fail(s, CodeExpr, "an operand has no value here")
		return false
	}
	if r.st == nil || r.st.def == defAll {
		return true
	}
	if at, bad := r.undefined(); bad {
		m.fail(s, CodeUndefined, "reads element %v of a tile, which was never written", show(at, r.rank))
		return false
	}
	return true
}

// float makes a scalar an operand of dtype d.
func (m *machine) floatOperand(x float64, d ir.DType) *region {
	if m.scalarF.f == nil {
		m.scalarF = store{f: make([]float64, 1), def: defAll, refs: 1}
	}
	m.scalarF.f[0] = m.nearest(x, d)
	m.scalar = region{st: &m.scalarF, dt: d, arg: -1}
	return &m.scalar
}

func (m *machine) intOperand(x int64, d ir.DType) *region {
	if m.scalarI.i == nil {
		m.scalarI = store{i: make([]int64, 1), def: defAll, refs: 1}
	}
	m.scalarI.i[0] = wrap(x, d)
	m.scalar = region{st: &m.scalarI, dt: d, arg: -1}
	return &m.scalar
}
