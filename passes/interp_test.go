package passes

import (
	"fmt"
	"hash/fnv"

	"github.com/ptobuild/ptobuild/ir"
)

// interp runs a function over integers and records what its ops see, in order: the reference for "this pass does not change the meaning".
// Before SSA and after it, with inline functions or without. Tensors are numbers here as well, passed by reference to inline functions; an op gives
// a number made of its name and operands, so that different values stay different.
type interp struct {
	p     *ir.Program
	trace []string
	steps int
}

// cell is the storage of one variable.
type cell struct {
	value any // int64, bool, []any
	set   bool
}

type frame map[*ir.Var]*cell

type exit int

const (
	normal exit = iota
	yielded_
	returned
	broke
	continued
)

type failure string

func (in *interp) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// run executes the function of a name on numbers.
func run(p *ir.Program, name string, args ...int64) (trace []string, err error) {
	in := &interp{p: p}
	defer func() {
		if x := recover(); x != nil {
			f, ok := x.(failure)
			if !ok {
				panic(x)
			}
			err = fmt.Errorf("%s", string(f))
		}
	}()
	f := p.Lookup(name)
	fr := frame{}
	for i, q := range f.Params {
		fr[q.Var] = &cell{args[i], true}
	}
	how, values := in.block(fr, f.Body)
	if how != returned {
		values = nil
	}
	in.trace = append(in.trace, fmt.Sprint("return ", flat(values)))
	return in.trace, nil
}

func flat(vs []any) []any {
	if len(vs) == 1 {
		if t, ok := vs[0].([]any); ok {
			return t
		}
	}
	return vs
}

func (in *interp) get(fr frame, v *ir.Var) any {
	c := fr[v]
	if c == nil || !c.set {
		in.fail("%s has no value", v.Hint)
	}
	return c.value
}

func (in *interp) set(fr frame, v *ir.Var, x any) {
	if c := fr[v]; c != nil {
		c.value, c.set = x, true
		return
	}
	fr[v] = &cell{x, true}
}

func (in *interp) block(fr frame, b ir.Block) (exit, []any) {
	for _, s := range b {
		if how, vs := in.stmt(fr, s); how != normal {
			return how, vs
		}
	}
	return normal, nil
}

func (in *interp) stmt(fr frame, s ir.Stmt) (exit, []any) {
	if in.steps++; in.steps > 100000 {
		in.fail("does not end")
	}
	switch s := s.(type) {
	case *ir.Assign:
		in.set(fr, s.Var, in.eval(fr, s.Value))
	case *ir.Eval:
		in.eval(fr, s.X)
	case *ir.If:
		b := s.Else
		if in.eval(fr, s.Cond).(bool) {
			b = s.Then
		}
		how, vs := in.block(fr, b)
		if how != yielded_ {
			if how == normal && len(s.Results) > 0 {
				in.fail("an if with results does not yield")
			}
			return how, vs
		}
		if len(vs) != len(s.Results) {
			in.fail("an if yields %d values for %d", len(vs), len(s.Results))
		}
		for i, r := range s.Results {
			in.set(fr, r, vs[i])
		}
	case *ir.For:
		start, stop, step := in.eval(fr, s.Start).(int64), in.eval(fr, s.Stop).(int64), in.eval(fr, s.Step).(int64)
		i := start
		return in.loop(fr, s.Carries, s.Body, func() bool {
			if step > 0 && i >= stop || step < 0 && i <= stop {
				return false
			}
			in.set(fr, s.Var, i)
			i += step
			return true
		})
	case *ir.While:
		return in.loop(fr, s.Carries, s.Body, func() bool { return in.eval(fr, s.Cond).(bool) })
	case *ir.Scope:
		for _, d := range s.Launch.Deps {
			in.trace = append(in.trace, fmt.Sprint("dep ", in.eval(fr, d)))
		}
		how, vs := in.block(fr, s.Body)
		if s.TaskID != nil {
			in.set(fr, s.TaskID, in.number("task", []any{int64(len(in.trace))}))
		}
		return how, vs
	case *ir.Yield:
		return yielded_, in.list(fr, s.Values)
	case *ir.Return:
		return returned, in.list(fr, s.Values)
	case *ir.Branch:
		if s.Continue {
			return continued, nil
		}
		return broke, nil
	}
	return normal, nil
}

func (in *interp) loop(fr frame, cs []ir.Carry, body ir.Block, next func() bool) (exit, []any) {
	values := make([]any, len(cs))
	for i, c := range cs {
		values[i] = in.eval(fr, c.Init)
	}
	for {
		for i, c := range cs {
			in.set(fr, c.Iter, values[i])
		}
		if !next() {
			break
		}
		how, vs := in.block(fr, body)
		if how == returned {
			return how, vs
		}
		if how == broke {
			break
		}
		if how == yielded_ || len(cs) > 0 {
			if len(vs) != len(cs) {
				in.fail("a loop yields %d values for %d", len(vs), len(cs))
			}
			values = vs
		}
	}
	for i, c := range cs {
		in.set(fr, c.Result, values[i])
	}
	return normal, nil
}

func (in *interp) list(fr frame, es []ir.Expr) []any {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = in.eval(fr, e)
	}
	return out
}

func (in *interp) number(name string, args []any) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, name, args)
	return int64(h.Sum32() % 1000)
}

func (in *interp) eval(fr frame, e ir.Expr) any {
	switch e := e.(type) {
	case *ir.Var:
		return in.get(fr, e)
	case *ir.ConstInt:
		return e.Value
	case *ir.ConstBool:
		return e.Value
	case *ir.Unary:
		switch x := in.eval(fr, e.X).(type) {
		case bool:
			return !x
		case int64:
			return -x
		}
	case *ir.Cast:
		return in.eval(fr, e.X)
	case *ir.MakeTuple:
		return in.list(fr, e.Elems)
	case *ir.TupleGet:
		return in.eval(fr, e.X).([]any)[e.Index]
	case *ir.Binary:
		x := in.eval(fr, e.X)
		if b, ok := x.(bool); ok {
			switch {
			case e.Op == ir.And && !b, e.Op == ir.Or && b:
				return b
			}
			return in.eval(fr, e.Y)
		}
		return arith(e.Op, x.(int64), in.eval(fr, e.Y).(int64))
	case *ir.OpCall:
		args := in.list(fr, e.Args)
		v := in.number(e.Op, args)
		in.trace = append(in.trace, fmt.Sprint(e.Op, args))
		return v
	case *ir.Call:
		if f := in.p.Lookup(e.Callee); f != nil && f.Type == ir.Inline {
			return in.inline(fr, f, e)
		}
		args := in.list(fr, e.Args)
		for _, d := range e.Launch.Deps {
			in.trace = append(in.trace, fmt.Sprint("dep ", in.eval(fr, d)))
		}
		in.trace = append(in.trace, fmt.Sprint(e.Callee, args))
		v := in.number(e.Callee, args)
		if t, ok := e.Typ.(*ir.TupleType); ok {
			out := make([]any, len(t.Elems))
			for i := range out {
				out[i] = v + int64(i)
			}
			return out
		}
		return v
	}
	in.fail("no rule for %T", e)
	return nil
}

// inline calls an inline function: scalars by value, the rest by reference.
func (in *interp) inline(fr frame, f *ir.Function, c *ir.Call) any {
	callee := frame{}
	for i, p := range f.Params {
		if v, ok := c.Args[i].(*ir.Var); ok && byReference(p) {
			if fr[v] == nil {
				fr[v] = &cell{}
			}
			callee[p.Var] = fr[v]
			continue
		}
		callee[p.Var] = &cell{in.eval(fr, c.Args[i]), true}
	}
	_, vs := in.block(callee, f.Body)
	switch len(vs) {
	case 0:
		return nil
	case 1:
		return vs[0]
	}
	return vs
}

func arith(o ir.BinOp, x, y int64) any {
	switch o {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	case ir.FloorDiv, ir.FloorMod:
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		if o == ir.FloorMod {
			return x - q*y
		}
		return q
	case ir.Min:
		return min(x, y)
	case ir.Max:
		return max(x, y)
	case ir.Eq:
		return x == y
	case ir.Ne:
		return x != y
	case ir.Lt:
		return x < y
	case ir.Le:
		return x <= y
	case ir.Gt:
		return x > y
	case ir.Ge:
		return x >= y
	}
	panic(failure("no rule for operator " + o.String()))
}
