package passes

import (
	"fmt"
	"slices"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

// machine runs programs at any stage of the pipeline, tasks at once and in program order. Memory is kept row by row as hashes of how its contents came
// about, so that two programs with the same meaning leave the same memory. It also records the tasks with what they access and wait for.
//
// Tensors have rows along their first axis and are as wide as all others; that is what the generator makes.
type machine struct {
	p       *ir.Program
	reg     *ops.Registry
	tasks   []*taskRecord
	inTask  int // depth of kernel and wrapper bodies
	manual  int
	trips   []trip // open parallel loops
	steps   int
	buffers int
}

type buffer struct {
	id   int
	rows []uint64
	own  bool // made by the program
}

// tensor is a window of rows.
type tensor struct {
	b      *buffer
	at, n  int
	parent *tensor
}

type tileValue []uint64

// ids is a TaskId: the tasks it stands for.
type ids []int

type trip struct {
	loop *ir.For
	n    int64
}

type rowAccess struct {
	b           *buffer
	at, n       int
	read, write bool
	dir         ir.ArgDir
}

type taskRecord struct {
	name   string
	access []rowAccess
	waits  []int
	trips  []trip
	manual bool
	line   int32
}

type scopeValues map[*ir.Var]any

type stop string

func (m *machine) fail(format string, args ...any) { panic(stop(fmt.Sprintf(format, args...))) }

// runMachine runs function main; scalars are given, tensors have 16 rows. It returns the memory of the entry tensors.
func runMachine(p *ir.Program, reg *ops.Registry, scalars ...int64) (mem [][]uint64, tasks []*taskRecord, err error) {
	m := &machine{p: p, reg: reg}
	defer func() {
		if x := recover(); x != nil {
			s, ok := x.(stop)
			if !ok {
				panic(x)
			}
			err = fmt.Errorf("%s", string(s))
		}
	}()
	f := p.Lookup("main")
	v := scopeValues{}
	var entries []*buffer
	for _, q := range f.Params {
		if isScalar(q.Var.Typ) {
			v[q.Var], scalars = scalars[0], scalars[1:]
			continue
		}
		b := m.buffer(16)
		for i := range b.rows {
			b.rows[i] = mix(1, uint64(b.id), uint64(i))
		}
		b.own = false
		entries = append(entries, b)
		v[q.Var] = &tensor{b: b, n: 16}
	}
	m.block(v, f.Body)
	for _, b := range entries {
		mem = append(mem, b.rows)
	}
	return mem, m.tasks, nil
}

func (m *machine) buffer(rows int) *buffer {
	b := &buffer{id: m.buffers, rows: make([]uint64, rows), own: true}
	m.buffers++
	return b
}

// mix folds values into one hash.
func mix(h uint64, parts ...uint64) uint64 {
	for _, x := range parts {
		h = (h ^ x) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return h
}

func mixText(h uint64, s string) uint64 {
	for _, c := range []byte(s) {
		h = mix(h, uint64(c))
	}
	return h
}

// block runs statements; a non-nil result is what a yield or return gave.
func (m *machine) block(v scopeValues, b ir.Block) []any {
	for _, s := range b {
		if m.steps++; m.steps > 200000 {
			m.fail("too many steps")
		}
		switch s := s.(type) {
		case *ir.Assign:
			v[s.Var] = m.value(v, s.Value)
		case *ir.Eval:
			m.value(v, s.X)
		case *ir.If:
			branch := s.Else
			if m.value(v, s.Cond).(bool) {
				branch = s.Then
			}
			out := m.block(v, branch)
			for i, r := range s.Results {
				v[r] = out[i]
			}
		case *ir.For:
			m.forLoop(v, s)
		case *ir.While:
			cur := m.inits(v, s.Carries)
			for {
				for i, c := range s.Carries {
					v[c.Iter] = cur[i]
				}
				if !m.value(v, s.Cond).(bool) {
					break
				}
				if out := m.block(v, s.Body); len(s.Carries) > 0 {
					cur = out
				}
			}
			for i, c := range s.Carries {
				v[c.Result] = cur[i]
			}
		case *ir.Scope:
			if s.Kind == ir.RuntimeScope && s.Manual {
				m.manual++
			}
			out := m.block(v, s.Body)
			if s.Kind == ir.RuntimeScope && s.Manual {
				m.manual--
			}
			if s.TaskID != nil {
				v[s.TaskID] = ids(nil)
			}
			if out != nil {
				return out
			}
		case *ir.Yield:
			return m.values(v, s.Values)
		case *ir.Return:
			return append(m.values(v, s.Values), nil)[:len(s.Values):len(s.Values)]
		default:
			m.fail("statement %T", s)
		}
	}
	return nil
}

func (m *machine) inits(v scopeValues, cs []ir.Carry) []any {
	out := make([]any, len(cs))
	for i, c := range cs {
		out[i] = m.value(v, c.Init)
	}
	return out
}

func (m *machine) forLoop(v scopeValues, s *ir.For) {
	start, stop, step := m.value(v, s.Start).(int64), m.value(v, s.Stop).(int64), m.value(v, s.Step).(int64)
	init := m.inits(v, s.Carries)
	cur := slices.Clone(init)
	arrays := make([][]any, len(cur)) // TaskId carries kept as arrays, under construction
	n := int64(0)
	for i := start; (step > 0 && i < stop) || (step < 0 && i > stop); i += step {
		v[s.Var] = i
		for k, c := range s.Carries {
			v[c.Iter] = cur[k]
			if c.Slots > 0 && s.Kind == ir.Parallel {
				v[c.Iter] = init[k]
			}
		}
		if s.Kind == ir.Parallel {
			m.trips = append(m.trips, trip{s, n})
		}
		out := m.block(v, s.Body)
		if s.Kind == ir.Parallel {
			m.trips = m.trips[:len(m.trips)-1]
		}
		for k := range s.Carries {
			cur[k] = out[k]
			if s.Carries[k].Slots > 0 && s.Kind == ir.Parallel {
				arrays[k] = append(arrays[k], out[k])
			}
		}
		n++
	}
	for k, c := range s.Carries {
		v[c.Result] = cur[k]
		if arrays[k] != nil {
			var all ids
			for _, x := range arrays[k] {
				all = append(all, x.(ids)...)
			}
			v[c.Result] = all
		}
	}
}

func (m *machine) values(v scopeValues, es []ir.Expr) []any {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = m.value(v, e)
	}
	return out
}

func (m *machine) ints(v scopeValues, e ir.Expr) []int64 {
	var out []int64
	for _, x := range m.value(v, e).([]any) {
		out = append(out, x.(int64))
	}
	return out
}

func (m *machine) value(v scopeValues, e ir.Expr) any {
	switch e := e.(type) {
	case *ir.Var:
		x, ok := v[e]
		if !ok {
			m.fail("%s has no value", e.Hint)
		}
		return x
	case *ir.ConstInt:
		return e.Value
	case *ir.ConstBool:
		return e.Value
	case *ir.ConstFloat:
		return e.Value
	case *ir.MakeTuple:
		return m.values(v, e.Elems)
	case *ir.TupleGet:
		return m.value(v, e.X).([]any)[e.Index]
	case *ir.Cast:
		return m.value(v, e.X)
	case *ir.Unary:
		switch x := m.value(v, e.X).(type) {
		case bool:
			return !x
		case int64:
			return -x
		}
	case *ir.Binary:
		return m.binary(e.Op, m.value(v, e.X), m.value(v, e.Y))
	case *ir.OpCall:
		return m.op(v, e)
	case *ir.Call:
		return m.call(v, e)
	}
	m.fail("expression %T", e)
	return nil
}

func (m *machine) binary(op ir.BinOp, x, y any) any {
	if a, ok := x.(bool); ok {
		b := y.(bool)
		if op == ir.And {
			return a && b
		}
		return a || b
	}
	a, b := x.(int64), y.(int64)
	switch op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.FloorDiv:
		return floorDiv(a, b)
	case ir.FloorMod:
		return a - b*floorDiv(a, b)
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
	m.fail("operator %s", op)
	return nil
}

// op knows the ops that the generator uses; element-wise ones are hashes of their operands.
func (m *machine) op(v scopeValues, c *ir.OpCall) any {
	arg := func(i int) any { return m.value(v, c.Args[i]) }
	switch c.Op {
	case "tensor.create":
		return &tensor{b: m.buffer(int(m.ints(v, c.Args[0])[0])), n: int(m.ints(v, c.Args[0])[0])}
	case "tensor.slice":
		t := arg(0).(*tensor)
		at := int(m.ints(v, c.Args[2])[0])
		n := min(int(m.ints(v, c.Args[1])[0]), t.n-at)
		if at < 0 || n < 0 {
			m.fail("window outside its tensor")
		}
		return &tensor{b: t.b, at: t.at + at, n: n, parent: t}
	case "tensor.assemble":
		t := arg(0).(*tensor)
		at := int(m.ints(v, c.Args[2])[0])
		var rows []uint64
		switch src := arg(1).(type) {
		case *tensor:
			rows = slices.Clone(src.b.rows[src.at : src.at+src.n])
		case tileValue:
			rows = src
		}
		copy(t.b.rows[t.at+at:t.at+t.n], rows)
		return t
	case "tile.load":
		t := arg(0).(*tensor)
		at := int(m.ints(v, c.Args[1])[0])
		n := int(m.ints(v, c.Args[2])[0])
		out := make(tileValue, n)
		for i := range out {
			if j := t.at + at + i; j >= t.at && j < t.at+t.n {
				out[i] = t.b.rows[j]
			}
		}
		return out
	case "tile.store":
		t, at := arg(2).(*tensor), int(m.ints(v, c.Args[1])[0])
		for i, x := range arg(0).(tileValue) {
			if j := t.at + at + i; j >= t.at && j < t.at+t.n {
				t.b.rows[j] = x
			}
		}
		return t
	case "array.create":
		return make([]any, arg(0).(int64))
	case "array.update_element":
		a := slices.Clone(arg(0).([]any))
		a[arg(1).(int64)] = arg(2)
		return a
	case "array.get_element":
		x := arg(0).([]any)[arg(1).(int64)]
		if x == nil {
			return ids(nil)
		}
		return x
	case "system.task_invalid":
		return ids(nil)
	case "system.task_dummy":
		return m.waits(v, c.Deps)
	}
	// Anything else makes new rows out of its operands, row by row.
	rows := 0
	var parts [][]uint64
	sum := mixText(2, c.Op)
	for i := range c.Args {
		switch x := arg(i).(type) {
		case *tensor:
			parts = append(parts, x.b.rows[x.at:x.at+x.n])
		case tileValue:
			parts = append(parts, x)
		default:
			sum = mixText(sum, fmt.Sprint(x))
		}
	}
	for _, p := range parts {
		rows = max(rows, len(p))
	}
	out := make([]uint64, rows)
	for i := range out {
		out[i] = sum
		for _, p := range parts {
			if i < len(p) {
				out[i] = mix(out[i], p[i])
			}
		}
	}
	if ir.IsTensor(c.Typ) {
		b := m.buffer(rows)
		copy(b.rows, out)
		return &tensor{b: b, n: rows}
	}
	return tileValue(out)
}

// waits collects the tasks that dependencies name.
func (m *machine) waits(v scopeValues, deps []ir.Expr) ids {
	var out ids
	var add func(x any)
	add = func(x any) {
		switch x := x.(type) {
		case ids:
			out = append(out, x...)
		case []any:
			for _, y := range x {
				add(y)
			}
		}
	}
	for _, e := range deps {
		add(m.value(v, e))
	}
	return out
}

func (m *machine) call(v scopeValues, c *ir.Call) any {
	f := m.p.Lookup(c.Callee)
	if f == nil {
		m.fail("no function %s", c.Callee)
	}
	args := m.values(v, c.Args)
	inner := scopeValues{}
	for i, p := range f.Params {
		if i < len(args) {
			inner[p.Var] = args[i]
			continue
		}
		n, _ := ir.IntValue(ir.ShapeOf(p.Var.Typ)[0])
		inner[p.Var] = &tensor{b: m.buffer(int(n)), n: int(n)}
	}
	var me ids
	if m.inTask == 0 {
		t := &taskRecord{name: c.Callee, manual: m.manual > 0, trips: slices.Clone(m.trips), line: c.Pos.Line, waits: m.waits(v, c.Launch.Deps)}
		for _, d := range c.CompilerDeps {
			t.waits = append(t.waits, m.waits(v, []ir.Expr{d})...)
		}
		for i, p := range f.Params {
			x, ok := inner[p.Var].(*tensor)
			if !ok {
				continue
			}
			a := rowAccess{b: x.b, at: x.at, n: x.n, read: p.Dir != ir.Out, write: p.Dir != ir.In, dir: ir.DirOutput}
			if i < len(c.Dirs) {
				a.dir = c.Dirs[i]
			}
			t.access = append(t.access, a)
		}
		me = ids{len(m.tasks)}
		m.tasks = append(m.tasks, t)
	}
	m.inTask++
	out := m.block(inner, f.Body)
	m.inTask--
	if c.Submit {
		return append(slices.Clip(out), me)
	}
	if isTuple(c.Typ) || len(out) == 0 {
		return out
	}
	return out[0]
}
