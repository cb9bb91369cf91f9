package crosscheck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
)

// reference runs the front end's program as Python would: statement after statement, tensors by reference, each kernel at its call. It shares nothing with
// the passes, the lowering and the simulator, and knows only what generated programs use.
type reference struct {
	p      *ir.Program
	tasks  []task
	depth  int   // of kernel bodies
	manual bool  // inside a MANUAL scope
	block  int64 // index of the block that runs
	steps  int
}

// task is a launch, as it was asked for.
type task struct {
	Kernel  string // "" for a block of main
	Scalars []uint64
	Deps    []int // ordinals, with dummy tasks replaced by what they wait for
	Blocks  int
	Early   bool
}

// Values are int64, float32, bool, view, tile, ids, *[]any (an array) and []any (a tuple).
type (
	buffer struct {
		width int
		words []uint32
	}
	// view is a window of a buffer; column windows do not occur.
	view struct {
		*buffer
		row, rows int
	}
	tile struct {
		dtype ir.DType
		width int
		words []uint32
	}
	// ids are the tasks that a TaskId stands for: none, one, or those of all trips of a parallel loop.
	ids []int
)

type frame map[*ir.Var]any

type failure string

func fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// runReference runs main on entry data and gives the tensors afterwards and the tasks.
func runReference(p *ir.Program, tensors [][]uint32, widths []int, scalars []int64) (tasks []task, err error) {
	r := &reference{p: p}
	defer func() {
		if x := recover(); x != nil {
			f, ok := x.(failure)
			if !ok {
				panic(x)
			}
			err = fmt.Errorf("%s", string(f))
		}
	}()
	f := p.Lookup("main")
	fr := frame{}
	for _, q := range f.Params {
		if ir.IsTensor(q.Var.Typ) {
			fr[q.Var] = view{&buffer{widths[0], tensors[0]}, 0, len(tensors[0]) / widths[0]}
			tensors, widths = tensors[1:], widths[1:]
		} else {
			fr[q.Var], scalars = scalars[0], scalars[1:]
		}
	}
	r.run(fr, f.Body)
	return r.tasks, nil
}

// run executes a block and gives what its yield or return names.
func (r *reference) run(fr frame, b ir.Block) []any {
	for _, s := range b {
		if r.steps++; r.steps > 1_000_000 {
			fail("does not end")
		}
		switch s := s.(type) {
		case *ir.Assign:
			fr[s.Var] = r.eval(fr, s.Value)
		case *ir.Eval:
			r.eval(fr, s.X)
		case *ir.If:
			b := s.Else
			if r.eval(fr, s.Cond).(bool) {
				b = s.Then
			}
			out := r.run(fr, b)
			for i, v := range s.Results {
				fr[v] = out[i]
			}
		case *ir.For:
			r.forLoop(fr, s)
		case *ir.While:
			for r.eval(fr, s.Cond).(bool) {
				r.run(fr, s.Body)
			}
		case *ir.Scope:
			r.scope(fr, s)
		case *ir.Yield:
			return r.evals(fr, s.Values)
		case *ir.Return:
			return r.evals(fr, s.Values)
		default:
			fail("statement %T", s)
		}
	}
	return nil
}

func (r *reference) forLoop(fr frame, s *ir.For) {
	start, stop, step := r.int(fr, s.Start), r.int(fr, s.Stop), r.int(fr, s.Step)
	for _, c := range s.Carries {
		fr[c.Iter] = r.eval(fr, c.Init)
	}
	// In a MANUAL scope the trips of a parallel loop do not see each other's TaskIds, and who waits after it waits for all of them (mission document 004).
	before, after := frame{}, map[*ir.Var]ids{}
	if s.Kind == ir.Parallel && r.manual {
		ir.Inspect(s.Body, func(s ir.Stmt) bool {
			for _, v := range ir.Defs(s) {
				if old, ok := fr[v].(ids); ok {
					before[v] = old
				}
			}
			return true
		})
	}
	trips := 0
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		trips++
		fr[s.Var] = i
		for v, old := range before {
			fr[v] = old
		}
		for k, x := range r.run(fr, s.Body) {
			fr[s.Carries[k].Iter] = x
		}
		for v := range before {
			after[v] = union(after[v], fr[v].(ids))
		}
	}
	for v := range before {
		if trips > 0 {
			fr[v] = after[v]
		}
	}
	for _, c := range s.Carries {
		fr[c.Result] = fr[c.Iter]
	}
}

func union(a, b ids) ids {
	u := append(slices.Clone(a), b...)
	slices.Sort(u)
	return slices.Compact(u)
}

func (r *reference) scope(fr frame, s *ir.Scope) {
	if s.Kind == ir.RuntimeScope || r.depth > 0 {
		outer := r.manual
		r.manual = r.manual || s.Manual
		r.run(fr, s.Body)
		r.manual = outer
		return
	}
	blocks := int64(1)
	if s.Launch.CoreNum != nil {
		blocks = r.int(fr, s.Launch.CoreNum)
	}
	t := r.launch(fr, &s.Launch, "", nil)
	if len(s.Body) == 1 {
		if a, ok := s.Body[0].(*ir.Assign); ok {
			if c, ok := a.Value.(*ir.Call); ok {
				t.Kernel = c.Callee
			}
		}
	}
	r.tasks = append(r.tasks, t)
	me := ids{len(r.tasks) - 1}
	r.blocks(blocks, func() { r.run(fr, s.Body) })
	if s.TaskID != nil {
		fr[s.TaskID] = me
	}
}

func (r *reference) blocks(n int64, f func()) {
	r.depth++
	for r.block = range n {
		f()
	}
	r.depth--
}

func (r *reference) launch(fr frame, l *ir.Launch, kernel string, scalars []uint64) task {
	t := task{Kernel: kernel, Scalars: scalars, Deps: r.waits(fr, l.Deps), Early: l.EarlyResolve, Blocks: 1}
	if l.CoreNum != nil {
		t.Blocks = int(r.int(fr, l.CoreNum))
	}
	return t
}

// waits are the tasks that dependencies name.
func (r *reference) waits(fr frame, deps []ir.Expr) ids {
	var out ids
	for _, d := range deps {
		switch x := r.eval(fr, d).(type) {
		case ids:
			out = union(out, x)
		case *[]any:
			for _, y := range *x {
				out = union(out, y.(ids))
			}
		}
	}
	return out
}

func (r *reference) call(fr frame, c *ir.Call) any {
	f := r.p.Lookup(c.Callee)
	args := r.evals(fr, c.Args)
	in := frame{}
	var scalars []uint64
	for i, q := range f.Params {
		switch t := q.Var.Typ.(type) {
		case *ir.TensorType:
			if i < len(args) {
				in[q.Var] = args[i]
				break
			}
			rows, _ := ir.IntValue(t.Shape[0])
			width, _ := ir.IntValue(t.Shape[1])
			in[q.Var] = newView(int(rows), int(width))
		default:
			in[q.Var] = args[i]
			switch x := args[i].(type) {
			case int64:
				scalars = append(scalars, uint64(x))
			case float32:
				scalars = append(scalars, uint64(math.Float32bits(x)))
			}
		}
	}
	if f.Type == ir.Inline {
		return r.run(in, f.Body)[0]
	}
	results := func() []any { return r.run(in, f.Body) }
	if r.depth > 0 {
		return one(results())
	}
	t := r.launch(fr, &c.Launch, c.Callee, scalars)
	r.tasks = append(r.tasks, t)
	me := ids{len(r.tasks) - 1}
	var out []any
	if c.Launch.Predicate == nil || r.eval(fr, c.Launch.Predicate).(bool) {
		r.blocks(int64(t.Blocks), func() { out = results() })
	} else {
		out = r.skipped(in, f)
	}
	if c.Submit {
		return append(slices.Clip(out), me)
	}
	return one(out)
}

// skipped gives the results of a task that does not run: the buffers it would have written. Kernels return their parameters.
func (r *reference) skipped(in frame, f *ir.Function) []any {
	return r.evals(in, f.Body[len(f.Body)-1].(*ir.Return).Values)
}

func one(xs []any) any {
	if len(xs) == 1 {
		return xs[0]
	}
	return xs
}

// poison is what memory holds that was never written: a NaN that no kernel computes.
const poison = 0x7FABCDEF

func newView(rows, width int) view {
	return view{&buffer{width, slices.Repeat([]uint32{poison}, rows*width)}, 0, rows}
}

func (r *reference) int(fr frame, e ir.Expr) int64 { return r.eval(fr, e).(int64) }

func (r *reference) ints(fr frame, e ir.Expr) (out []int64) {
	for _, x := range r.eval(fr, e).([]any) {
		out = append(out, x.(int64))
	}
	return out
}

func (r *reference) evals(fr frame, es []ir.Expr) []any {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = r.eval(fr, e)
	}
	return out
}

func (r *reference) eval(fr frame, e ir.Expr) any {
	switch e := e.(type) {
	case *ir.Var:
		v, ok := fr[e]
		if !ok {
			fail("%s has no value", e.Hint)
		}
		return v
	case *ir.ConstInt:
		return e.Value
	case *ir.ConstFloat:
		return float32(e.Value)
	case *ir.ConstBool:
		return e.Value
	case *ir.MakeTuple:
		return r.evals(fr, e.Elems)
	case *ir.TupleGet:
		return r.eval(fr, e.X).([]any)[e.Index]
	case *ir.Cast:
		x := r.eval(fr, e.X)
		if i, ok := x.(int64); ok && e.DType == ir.FP32 {
			return float32(i)
		}
		return x
	case *ir.Unary:
		switch x := r.eval(fr, e.X).(type) {
		case bool:
			return !x
		case int64:
			return -x
		}
	case *ir.Binary:
		return r.binary(fr, e)
	case *ir.Call:
		return r.call(fr, e)
	case *ir.OpCall:
		return r.op(fr, e)
	}
	fail("expression %T", e)
	return nil
}

func (r *reference) binary(fr frame, e *ir.Binary) any {
	x := r.eval(fr, e.X)
	if b, ok := x.(bool); ok {
		if b == (e.Op == ir.Or) {
			return b
		}
		return r.eval(fr, e.Y)
	}
	a, b := x.(int64), r.eval(fr, e.Y).(int64)
	switch e.Op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.FloorDiv:
		return int64(math.Floor(float64(a) / float64(b))) // operands are far below 2^53
	case ir.FloorMod:
		return ((a % b) + b) % b
	case ir.Min:
		return min(a, b)
	case ir.Max:
		return max(a, b)
	case ir.Eq:
		return a == b
	case ir.Ne:
		return a != b
	case ir.Lt:
		return a < b
	case ir.Le:
		return a <= b
	case ir.Gt:
		return a > b
	case ir.Ge:
		return a >= b
	}
	fail("operator %s", e.Op)
	return nil
}

func (r *reference) op(fr frame, e *ir.OpCall) any {
	arg := func(i int) any { return r.eval(fr, e.Args[i]) }
	switch e.Op {
	case "tensor.create":
		s := r.ints(fr, e.Args[0])
		return newView(int(s[0]), int(s[1]))
	case "tensor.slice":
		t, n, at := arg(0).(view), r.ints(fr, e.Args[1]), r.ints(fr, e.Args[2])
		return view{t.buffer, t.row + int(at[0]), int(n[0])}
	case "tensor.assemble":
		t, src, at := arg(0).(view), arg(1).(view), r.ints(fr, e.Args[2])
		copy(t.at(int(at[0])), src.at(0)[:src.rows*src.width])
		return t
	case "tensor.read":
		t, at := arg(0).(view), r.ints(fr, e.Args[1])
		return int64(int32(t.at(int(at[0]))[at[1]]))
	case "tensor.write":
		t, at := arg(0).(view), r.ints(fr, e.Args[1])
		t.at(int(at[0]))[at[1]] = uint32(arg(2).(int64))
		return t
	case "tile.load":
		t, at, n := arg(0).(view), r.ints(fr, e.Args[1]), r.ints(fr, e.Args[2])
		words := slices.Clone(t.at(int(at[0]))[:int(n[0])*t.width])
		if slices.Contains(words, poison) {
			fail("line %d reads memory that was never written", e.Pos.Line)
		}
		return tile{ir.ElemDType(e.Typ), t.width, words}
	case "tile.store":
		src, at, t := arg(0).(tile), r.ints(fr, e.Args[1]), arg(2).(view)
		copy(t.at(int(at[0])), src.words)
		return t
	case "tile.get_block_idx":
		return r.block
	case "array.create":
		a := make([]any, r.int(fr, e.Args[0]))
		for i := range a {
			a[i] = int64(0)
			if ir.IsTaskIDArray(e.Typ) {
				a[i] = ids(nil)
			}
		}
		return &a
	case "array.update_element":
		a := arg(0).(*[]any)
		(*a)[r.int(fr, e.Args[1])] = arg(2)
		return a
	case "array.get_element":
		return (*arg(0).(*[]any))[r.int(fr, e.Args[1])]
	case "system.task_is_valid":
		return len(arg(0).(ids)) > 0
	case "system.task_invalid":
		return ids(nil)
	case "system.task_dummy":
		return r.waits(fr, e.Deps)
	}
	if name, ok := strings.CutPrefix(e.Op, "tile."); ok {
		return elementwise(strings.TrimSuffix(name, "s"), arg(0).(tile), arg(1))
	}
	fail("op %s", e.Op)
	return nil
}

// at is the memory from a row of the window on.
func (v view) at(row int) []uint32 {
	if row < 0 || row >= v.rows {
		fail("row %d of %d", row, v.rows)
	}
	return v.words[(v.row+row)*v.width : (v.row+v.rows)*v.width]
}

func elementwise(op string, a tile, y any) tile {
	out := tile{a.dtype, a.width, make([]uint32, len(a.words))}
	for i, x := range a.words {
		b := uint32(0)
		switch y := y.(type) {
		case tile:
			b = y.words[i]
		case float32:
			b = math.Float32bits(y)
		case int64:
			b = uint32(y)
		}
		switch {
		case a.dtype == ir.INT32 && op == "add":
			out.words[i] = x + b
		case a.dtype == ir.FP32 && op == "add":
			out.words[i] = math.Float32bits(math.Float32frombits(x) + math.Float32frombits(b))
		case a.dtype == ir.FP32 && op == "mul":
			out.words[i] = math.Float32bits(math.Float32frombits(x) * math.Float32frombits(b))
		default:
			fail("tile op %s on %s", op, a.dtype)
		}
	}
	return out
}
