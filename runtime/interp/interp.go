// Package interp runs a plan directly on the simulated runtime. It gives the trace that the compiled C++ of the same plan gives, in milliseconds and
// with DSL places in every report: each node computes with the C++ types and conversions of what it prints as, and calls the runtime in the
// same order.
//
// A plan is compiled to closures first, with every name resolved to a slot, and then run.
package interp

import (
	"fmt"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// Args are the entry arguments of a run, in ordinal order.
type Args struct {
	Tensors []sim.Tensor // handles over the runtime's Memory
	Scalars []uint64     // bit patterns
	// MaxSteps bounds the loop trips of a run; 0 means DefaultSteps.
	MaxSteps int64
	// Stop, when set, is asked now and then; its error ends the run and is what Run returns.
	Stop func() error
}

// DefaultSteps is how many loop trips a run may make before it counts as endless: some seconds' worth when each submits a task.
const DefaultSteps = 2_000_000

const maxArray = 1 << 24

// Run executes the orchestration and finishes the run. The error holds diagnostics: of the arguments, of the program (division by zero, endless
// loops), of its use of the runtime, or of its kernels.
func Run(f *plan.File, args Args, rt *sim.Runtime) (err error) {
	if err := checkArgs(f, args); err != nil {
		return err
	}
	defer func() {
		switch x := recover().(type) {
		case nil:
		case stopped: // the package's own way out of a closure
			err = x.err
		default:
			panic(x)
		}
	}()
	c := &compiler{file: f, vars: map[*plan.Name]variable{}, at: f.Pos}
	setup := c.entry()
	body := c.block(f.Body)
	fr := c.frame(rt, args)
	if err := rt.Entry(args.Tensors); err != nil {
		return err
	}
	n := len(f.Tensors) + len(f.Scalars)
	if err := rt.ExpectArgs(n, n, f.Pos); err != nil {
		return err
	}
	rt.Loops(&fr.loops)
	setup(fr)
	body(fr)
	return rt.Finish()
}

// stopped ends a run from inside a closure.
type stopped struct{ err error }

// checkArgs compares the arguments with the declared ones: how many, dtypes, ranks, fixed extents, and equal extents for equal symbols.
func checkArgs(f *plan.File, args Args) error {
	var l diag.List
	if len(args.Tensors) != len(f.Tensors) || len(args.Scalars) != len(f.Scalars) {
		return diag.Errorf(CodeArgs, f.Pos, "%s takes %d tensors and %d scalars and got %d and %d", f.Func, len(f.Tensors), len(f.Scalars), len(args.Tensors), len(args.Scalars))
	}
	symbols := map[*ir.Var]int64{}
	for i := range f.Tensors {
		want, got := &f.Tensors[i], &args.Tensors[i]
		if !sameStorage(want.DType, got.DType) {
			l.Add(diag.Errorf(CodeArgs, want.Name.Pos, "argument %s is declared as %s and got %s", want.Param, want.DType, got.DType))
		}
		if len(want.Shape) != len(got.Shape) {
			l.Add(diag.Errorf(CodeArgs, want.Name.Pos, "argument %s is declared with %d dimensions and got shape %v", want.Param, len(want.Shape), got.Shape))
			continue
		}
		for k, e := range want.Shape {
			extent := int64(got.Shape[k])
			switch e := e.(type) {
			case *ir.ConstInt:
				if e.Value != extent {
					l.Add(diag.Errorf(CodeArgs, want.Name.Pos, "argument %s is declared with extent %d in dimension %d and got %d", want.Param, e.Value, k, extent))
				}
			case *ir.Var:
				if old, ok := symbols[e]; ok && old != extent {
					l.Add(diag.Errorf(CodeArgs, want.Name.Pos, "argument %s has extent %d in dimension %d, where %s is already %d", want.Param, extent, k, e.Hint, old).
						WithHint("one pl.dynamic symbol names one extent"))
				} else {
					symbols[e] = extent
				}
			}
		}
	}
	return l.Err()
}

// sameStorage: INDEX is stored as INT64.
func sameStorage(a, b ir.DType) bool {
	if a == ir.INDEX {
		a = ir.INT64
	}
	if b == ir.INDEX {
		b = ir.INT64
	}
	return a == b
}

// frame holds the variables of a run, by slot.
type frame struct {
	rt         *sim.Runtime
	stmt       plan.Stmt
	steps      int64
	limit      int64
	stop       func() error
	entries    []sim.Tensor
	scalars    []uint64
	ints       []int64
	floats     []float64
	ids        []sim.TaskID
	tensors    []sim.Tensor
	outs       []sim.Outputs
	infos      []sim.CreateInfo
	uintArrays [][]uint32
	idArrays   [][]sim.TaskID
	numArrays  [][]slotValue
	block      []uint32
	loops      []sim.Trip // the loops that are open, for reports
}

// slotValue is an element of an array of numbers: the one of its type is used.
type slotValue struct {
	i int64
	f float64
}

func (x number) store(fr *frame) slotValue {
	if x.f != nil {
		return slotValue{f: x.f(fr)}
	}
	return slotValue{i: x.i(fr)}
}

func (fr *frame) site() sim.Site {
	if fr.stmt == nil {
		return sim.Site{}
	}
	return fr.stmt.Span()
}

// check stops the run once the runtime has latched a fatal error.
func (fr *frame) check() {
	if fr.rt.Fatal() != nil {
		panic(stopped{fr.rt.Finish()})
	}
}

// fail stops the run with a report at the current statement.
func (fr *frame) fail(code diag.Code, format string, args ...any) {
	d := diag.Errorf(code, fr.site(), format, args...)
	fr.rt.Fail(sim.ExplicitFatal, "orchestration-failed", d)
	fr.check()
}

// stopEvery is how many loop trips pass between two questions whether to stop.
const stopEvery = 256

func (fr *frame) step() {
	if fr.stop != nil && fr.steps%stopEvery == 0 {
		if err := fr.stop(); err != nil {
			if d, ok := err.(*diag.Diagnostic); ok {
				d.Span = fr.site()
				fr.endless(d)
			}
			panic(stopped{err})
		}
	}
	if fr.steps++; fr.steps > fr.limit {
		d := diag.Errorf(CodeSteps, fr.site(), "the orchestration made more than %d loop trips", fr.limit).
			WithHint("does this loop end? A condition that reads a tensor needs a task that changes it")
		fr.rt.Fail(sim.ExplicitFatal, "event-limit", d)
		fr.check()
	}
}

// fresh gives a new array that handles may keep, out of a bigger block.
func (fr *frame) fresh(n int) []uint32 {
	if len(fr.block) < n {
		fr.block = make([]uint32, max(n, 1024))
	}
	a := fr.block[:n:n]
	fr.block = fr.block[n:]
	return a
}

func (fr *frame) idArray(k, n int) []sim.TaskID {
	if fr.idArrays[k] == nil {
		fr.idArrays[k] = make([]sim.TaskID, n)
	}
	return fr.idArrays[k]
}

func (fr *frame) numArray(k, n int) []slotValue {
	if fr.numArrays[k] == nil {
		fr.numArrays[k] = make([]slotValue, n)
	}
	return fr.numArrays[k]
}

func (fr *frame) index(i int64, n int) int {
	if i < 0 || i >= int64(n) {
		fr.fail(CodeIndex, "index %d of an array of %d", i, n)
	}
	return int(i)
}

func (fr *frame) extent(t *sim.Tensor, axis int) int64 {
	if axis < 0 || axis >= len(t.Shape) {
		fr.fail(CodeIndex, "axis %d of a tensor of %d dimensions", axis, len(t.Shape))
	}
	return int64(t.Shape[axis])
}

func (fr *frame) uintAt(array, i int) uint32 {
	a := fr.uintArrays[array]
	return a[fr.index(int64(i), len(a))]
}

func (fr *frame) uints(array, n int) []uint32 {
	a := fr.uintArrays[array]
	if n > len(a) {
		fr.fail(CodeIndex, "%d elements of an array of %d", n, len(a))
	}
	return a[:n:n]
}

// bad reports a node that cannot be executed; it never comes from a lowered program.
func (c *compiler) bad(format string, args ...any) {
	panic(stopped{diag.Errorf(CodeBadPlan, c.at, "the plan of %s cannot be run: %s", c.file.Func, fmt.Sprintf(format, args...)).
		WithHint("this is a defect of the lowering, not of the program")})
}
