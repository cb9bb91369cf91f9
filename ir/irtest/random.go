package irtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
)

// RandomProgram returns a valid program in front-end form: a handful of kernels and an orchestration function "main" that launches them from loops,
// branches and scopes. Variables are assigned again where a user would do so, what a call writes is read through its result, TaskIds do not leave the
// block that defines them, and every structural property holds. Equal seeds give equal programs.
func RandomProgram(seed uint64) *ir.Program {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), tile: Tensor(ir.FP32, 16, 16)}
	p := &ir.Program{Name: fmt.Sprintf("Random%d", seed), Pos: Line("random.py", 1)}
	p.Funcs = append(p.Funcs, g.kernels()...)
	p.Funcs = append(p.Funcs, g.main())
	return p
}

type gen struct {
	r    *rand.Rand
	tile *ir.TensorType
	line int
	n    int // names given
	env  env
	deep int
	// manual: inside a MANUAL scope; parallel trip counts are literal there anyway.
	manual bool
}

// env is what a statement may use. Blocks work on a copy and drop it.
type env struct {
	tensors []*ir.Var // readable and writable
	inputs  []*ir.Var // readable only
	ints    []ir.Expr
	ids     []*ir.Var
	arrays  []*ir.Var
}

func (e env) clone() env {
	return env{
		append([]*ir.Var(nil), e.tensors...), append([]*ir.Var(nil), e.inputs...), append([]ir.Expr(nil), e.ints...),
		append([]*ir.Var(nil), e.ids...), append([]*ir.Var(nil), e.arrays...),
	}
}

func pick[T any](g *gen, xs []T) T { return xs[g.r.IntN(len(xs))] }

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *gen) name(base string) string {
	g.n++
	return fmt.Sprintf("%s%d", base, g.n)
}

// kernels returns k (one input), k2 (two), upd (in place), ks (with a scalar), two (two results).
func (g *gen) kernels() []*ir.Function {
	t := g.tile
	kernel := func(name string, ins int, outs []ir.ParamDir, scalar bool) *ir.Function {
		var params []ir.Param
		var body ir.Block
		var values []ir.Expr
		tl := Tile(ir.FP32, 16, 16)
		var offset ir.Expr = ir.Int(0)
		var loaded []*ir.Var
		load := func(v *ir.Var) {
			l := Var("v"+v.Hint, tl)
			c := Op("tile.load", tl, v, List(ir.Int(0), ir.Int(0)), List(ir.Int(16), ir.Int(16)), List(ir.Int(16), ir.Int(16)))
			c.Kwargs = ir.Kwargs{{Name: "target_memory", Value: ir.Enum{Kind: "Mem", Name: "Vec"}}}
			body = append(body, Set(l, c))
			loaded = append(loaded, l)
		}
		for i := range ins {
			v := Var(string(rune('a'+i)), t)
			params = append(params, In(v))
			load(v)
		}
		var written []*ir.Var
		for i, d := range outs {
			v := Var(string(rune('o'+i)), t)
			params = append(params, ir.Param{Var: v, Dir: d})
			if d == ir.InOut {
				load(v)
			}
			written = append(written, v)
		}
		if scalar {
			n := Index("n")
			params = append(params, In(n))
			offset = n
		}
		sum := loaded[0]
		for _, l := range loaded[1:] {
			s := Var("s"+l.Hint, tl)
			body = append(body, Set(s, Op("tile.add", tl, sum, l)))
			sum = s
		}
		for _, v := range written {
			body = append(body, Set(v, Op("tile.store", t, sum, List(offset, ir.Int(0)), v)))
			values = append(values, v)
		}
		body = append(body, Return(values...))
		f := Func(name, ir.AIV, params, body...)
		f.AutoScope = false
		return f
	}
	return []*ir.Function{
		kernel("k", 1, []ir.ParamDir{ir.Out}, false),
		kernel("k2", 2, []ir.ParamDir{ir.Out}, false),
		kernel("upd", 0, []ir.ParamDir{ir.InOut}, false),
		kernel("ks", 1, []ir.ParamDir{ir.Out}, true),
		kernel("two", 1, []ir.ParamDir{ir.Out, ir.Out}, false),
	}
}

func (g *gen) main() *ir.Function {
	x, w, y := Var("x", g.tile), Var("w", g.tile), Var("y", g.tile)
	n, c := Index("n"), Var("c", Tensor(ir.INT32, 8))
	g.line = 10
	g.env = env{tensors: []*ir.Var{y}, inputs: []*ir.Var{x, w}, ints: []ir.Expr{n}}
	body := g.block(6+g.r.IntN(8), c)
	body = append(body, &ir.Return{Values: []ir.Expr{y}, Pos: g.pos()})
	f := Func("main", ir.Orchestration, []ir.Param{In(x), In(w), InOut(y), In(n), In(c)}, body...)
	f.Pos = Line("random.py", 9)
	return f
}

func (g *gen) pos() diag.Span {
	g.line++
	return Line("random.py", g.line)
}

func (g *gen) block(size int, c *ir.Var) ir.Block {
	var b ir.Block
	for range size {
		b = append(b, g.stmt(c)...)
	}
	return b
}

// inner makes a nested block of its own environment.
func (g *gen) inner(c *ir.Var, prepare func()) ir.Block {
	outer := g.env
	g.env = outer.clone()
	if prepare != nil {
		prepare()
	}
	g.deep++
	b := g.block(1+g.r.IntN(4), c)
	g.deep--
	g.env = outer
	return b
}

func (g *gen) stmt(c *ir.Var) ir.Block {
	switch k := g.r.IntN(20); {
	case k < 4:
		t := Var(g.name("t"), g.tile)
		s := &ir.Assign{Var: t, Value: &ir.OpCall{Op: "tensor.create", Args: []ir.Expr{List(ir.Int(16), ir.Int(16))},
			Kwargs: ir.Kwargs{{Name: "dtype", Value: ir.FP32}}, Typ: g.tile}, Pos: g.pos()}
		b := append(ir.Block{s}, g.launch(t)...) // a fresh tensor is written before anybody reads it
		g.env.tensors = append(g.env.tensors, t)
		return b
	case k < 9:
		return g.launch(pick(g, g.env.tensors))
	case k < 10:
		v := Index(g.name("n"))
		s := &ir.Assign{Var: v, Value: g.int(2), Pos: g.pos()}
		g.env.ints = append(g.env.ints, v)
		return ir.Block{s}
	case k < 11:
		v := Var(g.name("r"), ir.Scalar(ir.INT32))
		m := Index(g.name("m"))
		b := ir.Block{
			&ir.Assign{Var: v, Value: Op("tensor.read", ir.Scalar(ir.INT32), c, List(ir.Int(int64(g.r.IntN(8))))), Pos: g.pos()},
			&ir.Assign{Var: m, Value: &ir.Cast{X: v, DType: ir.INDEX}, Pos: g.pos()},
		}
		g.env.ints = append(g.env.ints, m)
		return b
	case k < 12:
		a := Var(g.name("ids"), &ir.ArrayType{Len: 4, DType: ir.TASK_ID})
		s := &ir.Assign{Var: a, Value: &ir.OpCall{Op: "array.create", Args: []ir.Expr{ir.Int(4)}, Kwargs: ir.Kwargs{{Name: "dtype", Value: ir.TASK_ID}}, Typ: a.Typ}, Pos: g.pos()}
		g.env.arrays = append(g.env.arrays, a)
		return ir.Block{s}
	case k < 13 && len(g.env.ids)+len(g.env.arrays) > 0:
		v := Var(g.name("bar"), ir.TaskIDType)
		s := &ir.Assign{Var: v, Value: &ir.OpCall{Op: "system.task_dummy", Deps: g.deps(), Typ: ir.TaskIDType}, Pos: g.pos()}
		g.env.ids = append(g.env.ids, v)
		return ir.Block{s}
	case g.deep >= 3:
		return g.launch(pick(g, g.env.tensors))
	case k < 16:
		s := &ir.For{Var: Index(g.name("i")), Start: ir.Int(0), Stop: ir.Int(int64(1 + g.r.IntN(4))), Step: ir.Int(1), Pos: g.pos()}
		switch {
		case g.chance(30):
			s.Kind = ir.Parallel
		case g.chance(30):
			s.Stop = g.int(1)
		case g.chance(20):
			s.Start, s.Step = ir.Int(6), ir.Int(-2)
		}
		s.Body = g.inner(c, func() { g.env.ints = append(g.env.ints, s.Var) })
		return ir.Block{s}
	case k < 18:
		s := &ir.If{Cond: Bin(ir.Eq+ir.BinOp(g.r.IntN(6)), g.int(1), g.int(1)), Pos: g.pos()}
		s.Then = g.inner(c, nil)
		if g.chance(50) {
			s.Else = g.inner(c, nil)
		}
		return ir.Block{s}
	case g.manual:
		return g.launch(pick(g, g.env.tensors))
	}
	s := &ir.Scope{Kind: ir.RuntimeScope, Manual: true, Pos: g.pos()}
	g.manual = true
	s.Body = g.inner(c, nil)
	g.manual = false
	return ir.Block{s}
}

// launch writes t by a kernel: a call or a submit, its result assigned to t again.
func (g *gen) launch(t *ir.Var) ir.Block {
	var callee string
	var args []ir.Expr
	results := []*ir.Var{t}
	in := func() ir.Expr {
		for {
			if v := pick(g, append(append([]*ir.Var(nil), g.env.inputs...), g.env.tensors...)); v != t {
				return v
			}
		}
	}
	fresh := true
	for _, v := range g.env.tensors {
		fresh = fresh && v != t
	}
	switch k := g.r.IntN(8); {
	case k < 3:
		callee, args = "k", []ir.Expr{in(), t}
	case k < 4:
		callee, args = "k2", []ir.Expr{in(), in(), t}
	case k < 5 && !fresh:
		callee, args = "upd", []ir.Expr{t}
	case k < 6:
		u := pick(g, g.env.tensors)
		if u == t {
			callee, args = "k", []ir.Expr{in(), t}
			break
		}
		callee, args, results = "two", []ir.Expr{pick(g, g.env.inputs), t, u}, []*ir.Var{t, u}
	default:
		callee, args = "ks", []ir.Expr{in(), t, g.int(1)}
	}
	types := make([]ir.Type, len(results))
	for i, v := range results {
		types[i] = v.Typ
	}
	submit := g.chance(50)
	if !submit && len(results) == 1 {
		c := Call(callee, types[0], args...)
		c.Pos = g.pos()
		if g.chance(10) {
			c.NoDep = []int{0}
		}
		return ir.Block{&ir.Assign{Var: t, Value: c, Pos: c.Pos}}
	}
	c := Call(callee, &ir.TupleType{Elems: types}, args...)
	tmp := "_tuple_tmp"
	if submit {
		c = Submit(callee, types, args...)
		c.Launch = g.options()
		tmp = "_submit_tmp"
	}
	c.Pos = g.pos()
	v := Var(tmp, c.Typ)
	b := ir.Block{&ir.Assign{Var: v, Value: c, Pos: c.Pos}}
	for i, r := range results {
		b = append(b, &ir.Assign{Var: r, Value: Get(v, i), Pos: c.Pos})
	}
	if submit {
		id := Var(g.name("tid"), ir.TaskIDType)
		b = append(b, &ir.Assign{Var: id, Value: Get(v, len(results)), Pos: c.Pos})
		g.env.ids = append(g.env.ids, id)
		if len(g.env.arrays) > 0 && g.chance(40) {
			a := pick(g, g.env.arrays)
			b = append(b, &ir.Assign{Var: a, Value: Op("array.update_element", a.Typ, a, ir.Int(int64(g.r.IntN(4))), id), Pos: g.pos()})
		}
	}
	return b
}

func (g *gen) options() ir.Launch {
	var l ir.Launch
	if g.chance(60) {
		l.Deps = g.deps()
	}
	if g.chance(10) {
		l.CoreNum = ir.Int(int64(1 + g.r.IntN(8)))
		l.SyncStart = g.chance(50)
	}
	l.EarlyResolve = g.chance(10)
	if g.chance(10) {
		slot := int64(g.r.IntN(16))
		l.TimingSlot = &slot
	}
	return l
}

// deps are one array, or some ids, or nothing.
func (g *gen) deps() []ir.Expr {
	if len(g.env.arrays) > 0 && g.chance(30) {
		return []ir.Expr{pick(g, g.env.arrays)}
	}
	var deps []ir.Expr
	for range g.r.IntN(3) {
		if len(g.env.ids) > 0 {
			deps = append(deps, pick(g, g.env.ids))
		}
	}
	return deps
}

// int is an INDEX expression.
func (g *gen) int(depth int) ir.Expr {
	if depth == 0 || g.chance(40) {
		if g.chance(30) {
			return ir.Int(int64(g.r.IntN(9)))
		}
		return pick(g, g.env.ints)
	}
	op := []ir.BinOp{ir.Add, ir.Sub, ir.Mul, ir.Min, ir.Max}[g.r.IntN(5)]
	if g.chance(20) {
		return Bin([]ir.BinOp{ir.FloorDiv, ir.FloorMod}[g.r.IntN(2)], pick(g, g.env.ints[:1]), ir.Int(int64(1+g.r.IntN(5))))
	}
	x, y := g.int(depth-1), g.int(depth-1)
	if _, ok := x.(*ir.ConstInt); ok { // a front end folds literals
		return y
	}
	return Bin(op, x, y)
}
