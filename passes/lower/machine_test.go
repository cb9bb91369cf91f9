package lower_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/plan"
)

// Two small machines that run canonical IR and plans and record the launches. They share the values and the form of the record, and nothing
// else: the IR machine follows Vars, the plan machine follows C++ names and scopes.

// A handle is a tensor value: a buffer, and the windows taken of it.
type handle struct {
	buffer int
	path   string
	shape  []int64
}

// ids is a TaskId value: the ordinals of its tasks, -1 for no task.
type ids []int

type recorder struct {
	lines []string
	seen  map[int]int
	fresh int
	tasks int
	reads int64
}

func (r *recorder) buffer() int { r.fresh++; return r.fresh }

// text names buffers by first use, so that neither batching nor the place of a create matters.
func (r *recorder) text(h handle) string {
	n, ok := r.seen[h.buffer]
	if !ok {
		n = len(r.seen)
		r.seen[h.buffer] = n
	}
	return fmt.Sprintf("b%d%s%v", n, h.path, h.shape)
}

func (r *recorder) launch(what string, args, scalars []string, deps ids) int {
	slices.Sort(deps)
	r.lines = append(r.lines, fmt.Sprintf("%d: %s(%s) %v after %v", r.tasks, what, strings.Join(args, ", "), scalars, slices.Compact(deps)))
	r.tasks++
	return r.tasks - 1
}

func (r *recorder) read() int64 { r.reads++; return r.reads % 4 }

func window(h handle, shape, offsets []int64) handle {
	out := handle{buffer: h.buffer}
	for i := range shape {
		if offsets[i] >= h.shape[i] {
			shape[i] = 0
		} else {
			shape[i] = min(shape[i], h.shape[i]-offsets[i])
		}
	}
	out.shape = shape
	out.path = fmt.Sprintf("%s%v", h.path, offsets)
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func binary(op ir.BinOp, x, y int64) int64 {
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	case ir.FloorDiv:
		return floorDiv(x, y)
	case ir.FloorMod:
		return x - y*floorDiv(x, y)
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	case ir.Eq:
		return truth(x == y)
	case ir.Ne:
		return truth(x != y)
	case ir.Lt:
		return truth(x < y)
	case ir.Le:
		return truth(x <= y)
	case ir.Gt:
		return truth(x > y)
	case ir.Ge:
		return truth(x >= y)
	case ir.And:
		return truth(x != 0 && y != 0)
	case ir.Or:
		return truth(x != 0 || y != 0)
	}
	panic("operator " + op.String())
}

// The IR machine.

type irMachine struct {
	recorder
	prog *ir.Program
	vals map[*ir.Var]any // int64, handle, ids, []any (tuples), *[]ids (arrays of TaskIds), *[]int64
}

func runIR(p *ir.Program, inputs map[string]int64) []string {
	m := &irMachine{recorder: recorder{seen: map[int]int{}}, prog: p, vals: map[*ir.Var]any{}}
	f := p.Lookup("main")
	for _, q := range f.Params {
		if t, ok := q.Var.Typ.(*ir.TensorType); ok {
			h := handle{buffer: m.buffer()}
			for _, e := range t.Shape {
				n, _ := ir.IntValue(e)
				h.shape = append(h.shape, n)
			}
			m.vals[q.Var] = h
			m.text(h)
		} else {
			m.vals[q.Var] = inputs[ir.BaseName(q.Var.Hint)]
		}
	}
	m.block(f.Body)
	return m.lines
}

// block runs statements and returns what its trailing yield gives.
func (m *irMachine) block(b ir.Block) []any {
	var out []any
	for _, s := range b {
		switch s := s.(type) {
		case *ir.Assign:
			m.vals[s.Var] = m.eval(s.Value)
		case *ir.Eval:
			m.eval(s.X)
		case *ir.Scope:
			out = m.block(s.Body)
		case *ir.Yield:
			out = m.evals(s.Values)
		case *ir.If:
			branch := s.Else
			if m.int(s.Cond) != 0 {
				branch = s.Then
			}
			for i, v := range m.block(branch) {
				m.vals[s.Results[i]] = v
			}
		case *ir.For:
			m.loop(s)
		case *ir.While:
			m.carry(s.Carries, nil)
			for m.int(s.Cond) != 0 {
				for i, v := range m.block(s.Body) {
					m.vals[s.Carries[i].Iter] = copied(v)
				}
			}
			for _, c := range s.Carries {
				m.vals[c.Result] = m.vals[c.Iter]
			}
		}
	}
	return out
}

// copied is the value of a carry of its own: arrays that are not updated in place are copied.
func copied(v any) any {
	switch v := v.(type) {
	case *[]ids:
		c := slices.Clone(*v)
		return &c
	case *[]int64:
		c := slices.Clone(*v)
		return &c
	}
	return v
}

func (m *irMachine) carry(cs []ir.Carry, own []bool) {
	for i, c := range cs {
		v := m.eval(c.Init)
		if own != nil && own[i] {
			v = copied(v)
		}
		m.vals[c.Iter] = v
	}
}

func (m *irMachine) loop(s *ir.For) {
	start, stop, step := m.int(s.Start), m.int(s.Stop), m.int(s.Step)
	m.carry(s.Carries, nil)
	gathered := make([]ids, len(s.Carries))
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		m.vals[s.Var] = i
		for k, v := range m.block(s.Body) {
			c := s.Carries[k]
			if s.Kind == ir.Parallel && c.Slots > 0 {
				gathered[k] = append(gathered[k], v.(ids)...)
				continue
			}
			m.vals[c.Iter] = v
		}
	}
	for k, c := range s.Carries {
		m.vals[c.Result] = m.vals[c.Iter]
		if s.Kind == ir.Parallel && c.Slots > 0 {
			m.vals[c.Result] = gathered[k]
		}
	}
}

func (m *irMachine) int(e ir.Expr) int64 { return m.eval(e).(int64) }

func (m *irMachine) evals(es []ir.Expr) []any {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = m.eval(e)
	}
	return out
}

func (m *irMachine) eval(e ir.Expr) any {
	switch e := e.(type) {
	case *ir.Var:
		v, ok := m.vals[e]
		if !ok {
			panic("undefined " + e.Hint)
		}
		return v
	case *ir.ConstInt:
		return e.Value
	case *ir.ConstBool:
		if e.Value {
			return int64(1)
		}
		return int64(0)
	case *ir.Cast:
		return m.eval(e.X)
	case *ir.Binary:
		return binary(e.Op, m.int(e.X), m.int(e.Y))
	case *ir.Unary:
		x := m.int(e.X)
		switch e.Op {
		case ir.Neg:
			return -x
		case ir.Not:
			return 1 - x
		}
	case *ir.TupleGet:
		return m.eval(e.X).([]any)[e.Index]
	case *ir.MakeTuple:
		return m.evals(e.Elems)
	case *ir.OpCall:
		return m.op(e)
	case *ir.Call:
		return m.call(e)
	}
	panic(fmt.Sprintf("expression %T", e))
}

func (m *irMachine) ints(e ir.Expr) []int64 {
	var out []int64
	for _, x := range e.(*ir.MakeTuple).Elems {
		out = append(out, m.int(x))
	}
	return out
}

func (m *irMachine) deps(es []ir.Expr) ids {
	var out ids
	for _, e := range es {
		switch v := m.eval(e).(type) {
		case ids:
			out = append(out, v...)
		case *[]ids:
			for _, x := range *v {
				out = append(out, x...)
			}
		}
	}
	return slices.DeleteFunc(out, func(i int) bool { return i < 0 })
}

func (m *irMachine) op(e *ir.OpCall) any {
	switch e.Op {
	case "tensor.create":
		return handle{buffer: m.buffer(), shape: m.ints(e.Args[0])}
	case "tensor.slice":
		return window(m.eval(e.Args[0]).(handle), m.ints(e.Args[1]), m.ints(e.Args[2]))
	case "tensor.read":
		return m.read()
	case "tensor.assemble":
		return m.eval(e.Args[0])
	case "system.task_invalid":
		return ids{-1}
	case "system.task_is_valid":
		if m.eval(e.Args[0]).(ids)[0] >= 0 {
			return int64(1)
		}
		return int64(0)
	case "system.task_dummy":
		deps := m.deps(e.Deps)
		if len(e.Deps) > 0 && len(deps) == 0 {
			return ids{-1}
		}
		return ids{m.launch("dummy", nil, nil, deps)}
	case "array.create":
		if ir.IsTaskIDArray(e.Typ) {
			a := make([]ids, m.int(e.Args[0]))
			for i := range a {
				a[i] = ids{-1}
			}
			return &a
		}
		a := make([]int64, m.int(e.Args[0]))
		return &a
	case "array.get_element":
		switch a := m.eval(e.Args[0]).(type) {
		case *[]ids:
			return (*a)[m.int(e.Args[1])]
		case *[]int64:
			return (*a)[m.int(e.Args[1])]
		}
	case "array.update_element":
		a := m.eval(e.Args[0])
		switch a := a.(type) {
		case *[]ids:
			(*a)[m.int(e.Args[1])] = m.eval(e.Args[2]).(ids)
		case *[]int64:
			(*a)[m.int(e.Args[1])] = m.int(e.Args[2])
		}
		return a
	}
	panic("op " + e.Op)
}

func (m *irMachine) call(c *ir.Call) any {
	f := m.prog.Lookup(c.Callee)
	var args, scalars []string
	vals := make([]any, len(f.Params))
	for i, p := range f.Params {
		if i >= len(c.Args) {
			h := handle{buffer: m.buffer()}
			for _, e := range p.Var.Typ.(*ir.TensorType).Shape {
				n, _ := ir.IntValue(e)
				h.shape = append(h.shape, n)
			}
			vals[i] = h
			args = append(args, "new "+m.text(h))
			continue
		}
		vals[i] = m.eval(c.Args[i])
		switch v := vals[i].(type) {
		case handle:
			args = append(args, tag(c.Dirs[i])+" "+m.text(v))
		case int64:
			scalars = append(scalars, fmt.Sprint(v))
		}
	}
	deps := slices.Clone(c.Launch.Deps)
	for _, v := range c.CompilerDeps {
		deps = append(deps, v)
	}
	id := m.launch(f.Name, args, scalars, m.deps(deps))
	var results []any
	for _, v := range f.Body[len(f.Body)-1].(*ir.Return).Values {
		results = append(results, vals[f.Param(v.(*ir.Var))])
	}
	if c.Submit {
		return append(results, ids{id})
	}
	if len(results) == 1 {
		return results[0]
	}
	return results
}

func tag(d ir.ArgDir) string {
	return map[ir.ArgDir]string{ir.DirInput: "in", ir.DirInOut: "inout", ir.DirOutputExisting: "out", ir.DirOutput: "out", ir.DirNoDep: "no_dep"}[d]
}

// The plan machine.

type planMachine struct {
	recorder
	scopes []map[string]any // *any cells: int64, handle, int (task id), []int, []int64, []handle (outputs), *outs
	file   *plan.File
}

type outs struct {
	id      int
	tensors []handle
}

type info struct{ shape []int64 }

func runPlan(f *plan.File, inputs map[string]int64) []string {
	m := &planMachine{recorder: recorder{seen: map[int]int{}}, file: f}
	m.push()
	for _, t := range f.Tensors {
		h := handle{buffer: m.buffer()}
		for _, e := range t.Shape {
			n, _ := ir.IntValue(e)
			h.shape = append(h.shape, n)
		}
		m.declare(t.Name, h)
		m.text(h)
	}
	for _, s := range f.Scalars {
		m.declare(s.Name, inputs[s.Param])
	}
	m.block(f.Body)
	return m.lines
}

func (m *planMachine) push() { m.scopes = append(m.scopes, map[string]any{}) }
func (m *planMachine) pop()  { m.scopes = m.scopes[:len(m.scopes)-1] }

// declare adds a name to the innermost scope; shadowing and redeclaration are errors.
func (m *planMachine) declare(n *plan.Name, v any) {
	for _, s := range m.scopes {
		if _, ok := s[n.Text]; ok {
			panic("redeclared or shadowed: " + n.Text)
		}
	}
	m.scopes[len(m.scopes)-1][n.Text] = v
}

func (m *planMachine) get(n *plan.Name) any {
	for i := len(m.scopes) - 1; i >= 0; i-- {
		if v, ok := m.scopes[i][n.Text]; ok {
			return v
		}
	}
	panic("undeclared: " + n.Text)
}

func (m *planMachine) set(n *plan.Name, v any) {
	for i := len(m.scopes) - 1; i >= 0; i-- {
		if _, ok := m.scopes[i][n.Text]; ok {
			m.scopes[i][n.Text] = v
			return
		}
	}
	panic("undeclared: " + n.Text)
}

func (m *planMachine) nested(b []plan.Stmt) {
	m.push()
	m.block(b)
	m.pop()
}

func (m *planMachine) block(b []plan.Stmt) {
	for _, s := range b {
		m.stmt(s)
	}
}

func (m *planMachine) stmt(s plan.Stmt) {
	switch s := s.(type) {
	case *plan.Scope:
		m.nested(s.Body)
	case *plan.Braces:
		m.nested(s.Body)
	case *plan.For:
		start := m.int(s.Start)
		m.push()
		m.declare(s.Var, start)
		for {
			i, stop, step := m.get(s.Var).(int64), m.int(s.Stop), m.int(s.Step)
			var more bool
			switch {
			case s.Never:
			case s.Signed:
				more = step > 0 && i < stop || step < 0 && i > stop
			case s.Down:
				more = i > stop
			default:
				more = i < stop
			}
			if !more {
				break
			}
			m.nested(s.Body)
			m.set(s.Var, i+step)
		}
		m.pop()
	case *plan.While:
		for m.int(s.Cond) != 0 {
			m.nested(s.Body)
		}
	case *plan.If:
		if m.int(s.Cond) != 0 {
			m.nested(s.Then)
		} else {
			m.nested(s.Else)
		}
	case *plan.Decl:
		m.declare(s.Name, m.eval(s.Init))
	case *plan.Assign:
		m.set(s.Dst, m.eval(s.Value))
	case *plan.DeclArray:
		var vs []int64
		for _, e := range s.Elems {
			vs = append(vs, m.int(e))
		}
		m.declare(s.Name, vs)
	case *plan.DeclSlots:
		if s.Type.Kind == plan.TaskT {
			a := make([]int, s.N)
			for i := range a {
				a[i] = -7 // never assigned
				if s.Fill != nil {
					a[i] = m.eval(s.Fill).(int)
				}
			}
			m.declare(s.Name, a)
		} else {
			m.declare(s.Name, make([]int64, s.N))
		}
	case *plan.CopySlots:
		switch dst := m.get(s.Dst).(type) {
		case []int:
			copy(dst, m.get(s.Src).([]int))
		case []int64:
			copy(dst, m.get(s.Src).([]int64))
		}
	case *plan.SetElem:
		switch a := m.get(s.Array).(type) {
		case []int:
			a[m.int(s.I)] = m.eval(s.Value).(int)
		case []int64:
			a[m.int(s.I)] = m.int(s.Value)
		}
	case *plan.Create:
		var c info
		for _, e := range s.Dims {
			c.shape = append(c.shape, m.int(e))
		}
		m.declare(s.Shapes, c.shape)
		m.declare(s.Info, c)
	case *plan.Alloc:
		o := &outs{id: -5}
		for _, n := range s.Infos {
			o.tensors = append(o.tensors, handle{buffer: m.buffer(), shape: m.get(n).(info).shape})
		}
		m.declare(s.Outs, o)
		for i, n := range s.Refs {
			m.declare(n, o.tensors[i])
		}
	case *plan.Task:
		m.task(s)
	case *plan.Dummy:
		m.declare(s.Params, nil)
		deps := m.deps(s.Deps)
		id := -1
		if !s.Guarded || len(deps) > 0 {
			id = m.launch("dummy", nil, nil, deps)
		}
		m.declare(s.ID, id)
	default:
		panic(fmt.Sprintf("statement %T", s))
	}
}

func (m *planMachine) task(t *plan.Task) {
	m.declare(t.Params, nil)
	o := &outs{}
	var args, scalars []string
	for _, a := range t.Args {
		if a.Info != nil {
			h := handle{buffer: m.buffer(), shape: m.get(a.Info).(info).shape}
			o.tensors = append(o.tensors, h)
			args = append(args, "new "+m.text(h))
			continue
		}
		args = append(args, a.Tag.String()+" "+m.text(m.get(a.Tensor).(handle)))
	}
	for _, s := range t.Scalars {
		scalars = append(scalars, fmt.Sprint(m.int(s)))
	}
	o.id = m.launch(m.file.Kernels[t.Kernels[0]].Name, args, scalars, m.deps(t.Deps))
	if t.Outs != nil {
		m.declare(t.Outs, o)
	}
}

func (m *planMachine) deps(d *plan.Deps) ids {
	var out ids
	if d == nil {
		return nil
	}
	for _, e := range d.Entries {
		id := m.eval(e.ID).(int)
		switch {
		case id == -7:
			panic("an id that was never assigned")
		case id == -1 && !e.Guarded:
			panic("an invalid id reaches the dependencies")
		case id >= 0:
			out = append(out, id)
		}
	}
	return out
}

func (m *planMachine) int(e plan.Expr) int64 { return m.eval(e).(int64) }

func (m *planMachine) eval(e plan.Expr) any {
	switch e := e.(type) {
	case *plan.Ref:
		return m.get(e.Name)
	case *plan.Int:
		return e.Value
	case *plan.Bool:
		if e.Value {
			return int64(1)
		}
		return int64(0)
	case *plan.Binary:
		x, y := m.int(e.X), m.int(e.Y)
		if !e.Floored && (e.Op == ir.FloorDiv || e.Op == ir.FloorMod) {
			if x < 0 || y < 0 {
				panic("a plain division of a negative number")
			}
		}
		return binary(e.Op, x, y)
	case *plan.Unary:
		if e.Op == ir.Neg {
			return -m.int(e.X)
		}
		return 1 - m.int(e.X)
	case *plan.Cast:
		return m.eval(e.X)
	case *plan.Uint32:
		return m.eval(e.X)
	case *plan.Elem:
		switch a := m.get(e.Array).(type) {
		case []int:
			return a[m.int(e.I)]
		case []int64:
			return a[m.int(e.I)]
		}
	case *plan.InvalidTask:
		return -1
	case *plan.IsValid:
		if m.eval(e.X).(int) >= 0 {
			return int64(1)
		}
		return int64(0)
	case *plan.TaskIDOf:
		return m.get(e.Outs).(*outs).id
	case *plan.OutRef:
		return m.get(e.Outs).(*outs).tensors[e.I]
	case *plan.Clamped:
		off, ext := m.get(e.Offsets).([]int64)[e.Axis], m.get(e.Tensor).(handle).shape[e.Axis]
		if off >= ext {
			return int64(0)
		}
		return min(m.int(e.Size), ext-off)
	case *plan.View:
		return window(m.get(e.Tensor).(handle), slices.Clone(m.get(e.Shapes).([]int64)), m.get(e.Offsets).([]int64))
	case *plan.Read:
		m.get(e.Tensor)
		return m.read()
	}
	panic(fmt.Sprintf("expression %T", e))
}
