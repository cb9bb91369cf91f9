package crosscheck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// node is one statement of a generated program: a line, or a line with blocks.
type node struct {
	line string
	body []*node
	els  []*node // of an if
}

func (n *node) print(b *strings.Builder, indent int) {
	fmt.Fprintf(b, "%*s%s\n", 4*indent, "", n.line)
	printBlock(b, n.body, indent+1, strings.HasSuffix(n.line, ":"))
	if n.els != nil {
		fmt.Fprintf(b, "%*selse:\n", 4*indent, "")
		printBlock(b, n.els, indent+1, true)
	}
}

func printBlock(b *strings.Builder, ns []*node, indent int, needed bool) {
	for _, n := range ns {
		n.print(b, indent)
	}
	if len(ns) == 0 && needed {
		fmt.Fprintf(b, "%*spass\n", 4*indent, "")
	}
}

// source is the DSL text of a program with this body of main.
func source(body []*node) string {
	var b strings.Builder
	printBlock(&b, body, 2, false)
	head := kernels
	if strings.Contains(b.String(), "with pl.scope():") {
		const entry = "@pl.function(type=pl.FunctionType.Orchestration"
		head = strings.Replace(head, entry, entry+", auto_scope=False", 1)
	}
	return head + b.String() + "        return y, z, c\n"
}

// kernels contract their operands, so that values stay finite whatever is composed, and their order shows in the result.
const kernels = `import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]
Q = pl.Tensor[[4, 16], pl.FP32]
C = pl.Tensor[[8, 8], pl.INT32]


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [16, 16]), 0.5), 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def join(self, a: T, b: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [16, 16]), 0.25), pl.mul(pl.load(b, [0, 0], [16, 16]), 0.5)), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def acc(self, a: T, o: pl.InOut[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(o, [0, 0], [16, 16]), 0.5), pl.mul(pl.load(a, [0, 0], [16, 16]), 0.25)), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def upd(self, o: pl.InOut[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(o, [0, 0], [16, 16]), 0.5), 3.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def two(self, a: T, p: pl.Out[T], q: pl.Out[T]) -> tuple[T, T]:
        v = pl.load(a, [0, 0], [16, 16])
        q = pl.store(pl.add(pl.mul(v, 0.5), 2.0), [0, 0], q)
        p = pl.store(pl.mul(v, 0.25), [0, 0], p)
        return q, p

    @pl.function(type=pl.FunctionType.InCore)
    def row(self, a: T, o: pl.InOut[T], r: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.mul(pl.load(a, [r, 0], [1, 16]), 0.5), [r, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def scale(self, a: T, f: pl.Scalar[pl.FP32], o: pl.Out[T], s: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [16, 16]), 0.5), f), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def quarter(self, a: Q, o: pl.Out[Q]) -> Q:
        o = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [4, 16]), 0.5), 4.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def qupd(self, o: pl.InOut[Q]) -> Q:
        o = pl.store(pl.add(pl.mul(pl.load(o, [0, 0], [4, 16]), 0.5), 5.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def bump(self, o: pl.InOut[C]) -> C:
        o = pl.store(pl.add(pl.load(o, [0, 0], [8, 8]), 1), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def grid(self, a: T, o: pl.InOut[T]) -> T:
        b = pl.tile.get_block_idx()
        o = pl.store(pl.add(pl.mul(pl.load(a, [b * 4, 0], [4, 16]), 0.5), 6.0), [b * 4, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def step(self, a: T, o: pl.InOut[T], r: pl.Scalar[pl.INDEX]) -> tuple[T, pl.Scalar[pl.INDEX]]:
        o = pl.store(pl.mul(pl.load(a, [r, 0], [1, 16]), 0.5), [r, 0], o)
        return o, r * 3 - 2

    @pl.function(type=pl.FunctionType.InCore)
    def fresh(self, a: T) -> T:
        t = pl.create_tensor([16, 16], dtype=pl.FP32)
        t = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [16, 16]), 0.5), 7.0), [0, 0], t)
        return t

    @pl.function(type=pl.FunctionType.Inline)
    def pair(self, a: T, o: T) -> T:
        u = pl.create_tensor([16, 16], dtype=pl.FP32)
        u = self.copy(a, u)
        o = self.join(u, a, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T], z: pl.InOut[T], c: pl.InOut[C], n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]) -> tuple[T, T, C]:
`

// names are the variables that may be read, by kind. A nested block has its own copy.
type names struct {
	whole  []string // T that hold values
	locals []string // T that may be bound to another buffer
	quads  []string // Q that hold values
	nums   []string // INDEX scalars
	loops  []string // loop variables among them, of trips 0…3
	ids    []string // TaskIds, possibly invalid
	arrays []string // arrays of three TaskIds
	tables []string // arrays of three integers
}

func (v names) clone() names {
	return names{slices.Clone(v.whole), slices.Clone(v.locals), slices.Clone(v.quads), slices.Clone(v.nums), slices.Clone(v.loops), slices.Clone(v.ids), slices.Clone(v.arrays), slices.Clone(v.tables)}
}

// generator writes random programs that are valid by construction; only rules that need the whole flow (a buffer or TaskId used after its scope) can still
// refuse them.
type generator struct {
	*rand.Rand
	names
	out      []*node // the block being written
	next     int
	taken    map[string]bool // of the awkward names
	depth    int
	manual   bool
	hand     bool // scopes are placed by hand
	wide     bool // statements of wideStmt too
	parallel int  // open pl.parallel loops
	counting int  // open loops that end when tasks have raised an element of c
}

// generate gives the body of main of a seed.
func generate(seed uint64) []*node {
	return newGenerator(seed, 11).program()
}

func newGenerator(seed, stream uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, stream)), taken: map[string]bool{}, hand: seed%5 == 4}
}

func (g *generator) program() []*node {
	g.whole, g.nums = []string{"x", "y", "z"}, []string{"n", "m"}
	g.line("y = self.copy(x, y)") // Out: nothing may read it before
	for range g.IntN(10) + 3 {
		g.stmt()
	}
	return g.out
}

func (g *generator) line(format string, args ...any) {
	g.out = append(g.out, &node{line: fmt.Sprintf(format, args...)})
}

// block writes a line with a nested block; what is defined in it stays in it.
func (g *generator) block(head string, f func()) *node {
	outer, vars := g.out, g.names.clone()
	g.out = nil
	g.depth++
	f()
	g.depth--
	n := &node{line: head, body: g.out}
	g.out, g.names = append(outer, n), vars
	return n
}

func (g *generator) orElse(n *node, f func()) {
	m := g.block("", f)
	g.out = g.out[:len(g.out)-1]
	n.els = m.body
}

func (g *generator) some(most int) {
	for range g.IntN(most) + 1 {
		g.stmt()
	}
}

func (g *generator) pick(from []string) string { return from[g.IntN(len(from))] }
func (g *generator) coin() bool                { return g.IntN(2) == 0 }

// awkward are names that generated code could want for itself.
var awkward = []string{"ext_x", "ext_y", "ext_c", "alloc_0", "alloc_1", "params_t0", "params_t2", "params_t1_deps", "task_0_outs", "task_3_outs", "t1_ci", "int", "new", "Tensor",
	"Arg", "std", "orch_args", "n_conv", "y_tid", "i", "indices_r1", "phase_fence_barrier_0_outs", "PTO2TaskId", "rt_submit_aiv_task", "w3_shapes", "o", "a", "uint32_t"}

func (g *generator) name(base string) string {
	if g.IntN(8) == 0 && len(g.taken) < len(awkward) {
		if s := awkward[g.IntN(len(awkward))]; !g.taken[s] {
			g.taken[s] = true
			return s
		}
	}
	g.next++
	return fmt.Sprint(base, g.next)
}

// target is a T to write.
func (g *generator) target() string {
	for {
		if s := g.pick(g.whole); s != "x" {
			return s
		}
	}
}

// num is an INDEX expression of any sign.
func (g *generator) num(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		if g.IntN(3) == 0 {
			return fmt.Sprint(g.IntN(14) - 4)
		}
		return g.pick(g.nums)
	}
	divisor := g.IntN(9) - 4
	if divisor == 0 {
		divisor = 7
	}
	switch a := g.num(depth - 1); g.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s + %s)", a, g.num(depth-1))
	case 1, 2:
		return fmt.Sprintf("(%s - %s)", a, g.num(depth-1))
	case 3:
		return fmt.Sprintf("(%s * %d)", a, g.IntN(9)-4)
	case 4, 5:
		return fmt.Sprintf("(%s // %d)", a, divisor)
	case 6:
		return fmt.Sprintf("(%s %% %d)", a, divisor)
	case 7:
		return fmt.Sprintf("pl.%s(%s, %s)", []string{"min", "max"}[g.IntN(2)], a, g.num(depth-1))
	default:
		return fmt.Sprintf("(-%s)", a)
	}
}

// below is an INDEX expression of 0…n-1.
func (g *generator) below(n int) string {
	if g.IntN(3) == 0 {
		return fmt.Sprint(g.IntN(n))
	}
	return fmt.Sprintf("(%s) %% %d", g.num(2), n)
}

func (g *generator) cond(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return fmt.Sprintf("(%s) and (%s)", g.cond(depth-1), g.cond(depth-1))
		case 1:
			return fmt.Sprintf("(%s) or (%s)", g.cond(depth-1), g.cond(depth-1))
		case 2:
			return fmt.Sprintf("not (%s)", g.cond(depth-1))
		}
	}
	if len(g.ids) > 0 && g.IntN(8) == 0 {
		return fmt.Sprintf("pl.system.task_is_valid(%s)", g.pick(g.ids))
	}
	if g.IntN(6) == 0 {
		return fmt.Sprintf("pl.read(c, [%d, 0]) > %d", g.IntN(8), g.IntN(5))
	}
	return fmt.Sprintf("%s %s %s", g.num(2), []string{"<", "<=", ">", ">=", "==", "!="}[g.IntN(6)], g.num(1))
}

// offset is the first of four rows in a T.
func (g *generator) offset() string {
	if len(g.loops) > 0 && g.coin() {
		return g.pick(g.loops) + " * 4"
	}
	if g.coin() {
		return fmt.Sprint(4 * g.IntN(4))
	}
	return g.below(13)
}

// deps is a deps= list, or nothing.
func (g *generator) deps() string {
	switch {
	case len(g.arrays) > 0 && g.IntN(3) == 0:
		return fmt.Sprintf(", deps=[%s]", g.pick(g.arrays))
	case len(g.arrays) > 0 && g.IntN(3) == 0:
		return fmt.Sprintf(", deps=[%s[%s]]", g.pick(g.arrays), g.below(3))
	case len(g.ids) > 0 && g.IntN(4) > 0:
		d := []string{g.pick(g.ids)}
		for g.IntN(3) == 0 {
			d = append(d, g.pick(append(g.ids, "None")))
		}
		return fmt.Sprintf(", deps=[%s]", strings.Join(d, ", "))
	}
	return ""
}

// id is where the TaskId of a submit goes: a new name, one that has a value already, or nowhere.
func (g *generator) id() (name string, after func()) {
	switch k := g.IntN(5); {
	case k == 0:
		return "_", func() {}
	case k == 1 && len(g.ids) > 0:
		return g.pick(g.ids), func() {}
	}
	s := g.name("id")
	return s, func() {
		g.ids = append(g.ids, s)
		if len(g.arrays) > 0 && g.coin() {
			g.line("%s[%s] = %s", g.pick(g.arrays), g.below(3), s)
		}
	}
}

func (g *generator) stmt() {
	deep := g.depth >= 3
	if g.wide && g.IntN(3) == 0 {
		g.wideStmt()
		return
	}
	switch k := g.IntN(48); {
	case k < 3:
		g.create()
	case k == 3:
		o := g.target()
		g.line("%s = self.join(%s, %s, %s)", o, g.pick(g.whole), g.pick(g.whole), o)
	case k == 4:
		p, q := g.target(), g.target()
		for p == q {
			if len(g.whole) < 3 {
				return
			}
			q = g.target()
		}
		g.line("%s, %s = self.two(%s, %s, %s)", q, p, g.pick(g.whole), p, q)
	case k == 5:
		o := g.target()
		g.line("%s = self.acc(%s, %s)", o, g.pick(g.whole), o)
	case k == 6:
		o := g.target()
		g.line("%s = self.row(%s, %s, %s)", o, g.pick(g.whole), o, g.below(16))
	case k == 7:
		o := g.target()
		g.line("%s = self.scale(%s, pl.cast(%s, pl.FP32), %s, %s)", o, g.pick(g.whole), g.num(1), o, g.num(2))
	case k < 12:
		g.submit()
	case k == 12:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", w, g.target(), g.offset())
		g.line("%s = self.qupd(%s)", w, w)
		g.quads = append(g.quads, w)
	case k == 13 && len(g.quads) > 0:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", w, g.target(), g.offset())
		g.line("%s = self.quarter(%s, %s)", w, g.pick(g.quads), w)
		g.quads = append(g.quads, w)
	case k == 14 && len(g.quads) > 0:
		t, y := g.name("q"), g.target()
		g.line("%s = pl.create_tensor([4, 16], dtype=pl.FP32)", t)
		g.line("%s = self.quarter(%s, %s)", t, g.pick(g.quads), t)
		g.line("%s = pl.assemble(%s, %s, [%s, 0])", y, y, t, g.offset())
	case k == 15:
		v := g.name("s")
		if g.coin() && len(g.nums) > 4 {
			v = g.pick(g.nums[2:])
			if slices.Contains(g.loops, v) {
				return
			}
		}
		g.line("%s = (%s) %% 50 - 20", v, g.num(3))
		if !slices.Contains(g.nums, v) {
			g.nums = append(g.nums, v)
		}
	case k == 16 && len(g.locals) > 0 && g.parallel == 0:
		t, a := g.pick(g.locals), g.pick(g.whole)
		if a == t {
			a = "x"
		}
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", t)
		g.line("%s = self.copy(%s, %s)", t, a, t)
	case k == 17 && len(g.locals) > 1 && g.parallel == 0:
		g.line("%s = %s", g.pick(g.locals), g.pick(g.locals))
	case k == 18 && len(g.locals) > 1 && g.parallel == 0:
		a, b, t := g.pick(g.locals), g.pick(g.locals), g.name("h")
		g.line("%s = %s", t, a)
		g.line("%s = %s", a, b)
		g.line("%s = %s", b, t)
	case k == 19:
		g.at()
	case k == 20:
		g.spmd()
	case k == 21:
		o := g.target()
		g.line("%s = self.pair(%s, %s)", o, g.pick(g.whole), o)
	case k == 22:
		g.line("c = self.bump(c)")
	case k == 23:
		v := g.name("r")
		if g.coin() && g.counting == 0 {
			g.line("pl.write(c, [%s, 0], %d)", g.below(8), g.IntN(6))
		}
		g.line("%s = pl.cast(pl.read(c, [%s, 0]), pl.INDEX)", v, g.below(8))
		g.nums = append(g.nums, v)
	case k == 24 && len(g.ids) > 0:
		d := g.name("d")
		if len(g.arrays) > 0 && g.coin() {
			g.line("%s = pl.system.task_dummy(deps=[%s])", d, g.pick(g.arrays))
		} else {
			g.line("%s = pl.system.task_dummy(deps=[%s, %s])", d, g.pick(g.ids), g.pick(g.ids))
		}
		g.ids = append(g.ids, d)
	case k == 25:
		a := g.name("a")
		g.line("%s = pl.array.create(3, pl.TASK_ID)", a)
		g.arrays = append(g.arrays, a)
	case k == 26:
		s := g.name("id")
		g.line("%s = None", s)
		g.ids = append(g.ids, s)
	case k == 27 && !deep:
		outer := g.manual
		g.manual = true
		g.block("with pl.manual_scope():", func() { g.some(4) })
		g.manual = outer
	case k < 31 && !deep:
		n := g.block("if "+g.cond(1)+":", func() { g.some(3) })
		if g.coin() {
			g.orElse(n, func() { g.some(3) })
		}
	case k == 31:
		// A merge of values: in leaky form, or with yields.
		c, a, b, s, t := g.cond(1), g.pick(g.whole), g.pick(g.whole), g.name("v"), g.name("s")
		var n *node
		if g.coin() {
			n = g.block("if "+c+":", func() { g.line("%s = %s", s, a); g.line("%s = %s", t, g.num(2)) })
			g.orElse(n, func() { g.line("%s = %s", s, b); g.line("%s = %s", t, g.num(2)) })
		} else {
			n = g.block("if "+c+":", func() { g.line("%s, %s = pl.yield_(%s, %s)", s, t, a, g.num(2)) })
			g.orElse(n, func() { g.line("%s, %s = pl.yield_(%s, %s)", s, t, b, g.num(2)) })
		}
		if a != "x" && b != "x" {
			g.whole = append(g.whole, s)
		}
		g.nums = append(g.nums, t)
	case k == 32 && !deep:
		// A loop that carries two buffers and a number explicitly, swapping the buffers.
		i, a, b, s := g.name("i"), g.name("p"), g.name("p"), g.name("s")
		ra, rb, rs := g.name("t"), g.name("t"), g.name("s")
		p, q := g.target(), g.target()
		if p == q {
			return
		}
		g.block(fmt.Sprintf("for %s, (%s, %s, %s) in pl.range(%s, init_values=(%s, %s, %s)):", i, a, b, s, []string{"3", g.below(4), "1"}[g.IntN(3)], p, q, g.num(1)), func() {
			g.whole, g.nums = append(g.whole, a, b), append(g.nums, i, s)
			g.some(2)
			g.line("%s, %s, %s = pl.yield_(%s, %s, (%s) %% 50)", ra, rb, rs, []string{a, b}[g.IntN(2)], []string{a, b}[g.IntN(2)], g.num(2))
		})
		g.whole, g.nums = append(g.whole, ra, rb), append(g.nums, rs)
	case k == 33 && !deep:
		w := g.name("s")
		g.line("%s = %s", w, g.below(4))
		g.block(fmt.Sprintf("while %s > 0:", w), func() {
			g.some(2)
			g.line("%s = %s - 1", w, w)
		})
		g.nums = append(g.nums, w)
	case k == 34 && !deep && !g.manual: // nothing would order the reads after the tasks
		g.block(fmt.Sprintf("while pl.read(c, [%d, 0]) < %d:", g.IntN(8), g.IntN(6)+1), func() {
			g.counting++
			g.some(1)
			g.counting--
			g.line("c = self.bump(c)")
		})
	case k < 39 && !deep:
		g.loop()
	case k == 39:
		a, b := g.name("e"), g.name("w")
		g.line("%s = pl.slice(%s, [8, 16], [%s, 0])", a, g.target(), g.below(9))
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", b, a, g.below(5))
		g.line("%s = self.qupd(%s)", b, b)
		g.quads = append(g.quads, b)
	case k == 40:
		a := g.name("k")
		g.line("%s = pl.array.create(3, pl.INT64)", a)
		g.tables = append(g.tables, a)
	case k == 43:
		o, s := g.target(), g.name("s")
		g.line("%s, %s = self.step(%s, %s, %s)", o, s, g.pick(g.whole), o, g.below(16))
		g.nums = append(g.nums, s)
	case k == 44:
		v := g.name("t")
		g.line("%s = self.fresh(%s)", v, g.pick(g.whole))
		g.whole, g.locals = append(g.whole, v), append(g.locals, v)
	case k > 44 && k < 47 && g.hand && !g.manual && !deep:
		g.block("with pl.scope():", func() { g.some(4) })
	case k == 41 && len(g.tables) > 0:
		g.line("%s[%s] = (%s) %% 50", g.pick(g.tables), g.below(3), g.num(2))
	case k == 42 && len(g.tables) > 0:
		v := g.name("s")
		g.line("%s = pl.cast(%s[%s], pl.INDEX)", v, g.pick(g.tables), g.below(3))
		g.nums = append(g.nums, v)
	default:
		o := g.target()
		g.line("%s = self.copy(%s, %s)", o, g.pick(g.whole), o)
	}
}

func (g *generator) create() {
	v := g.name("t")
	g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", v)
	g.line("%s = self.copy(%s, %s)", v, g.pick(g.whole), v)
	g.whole, g.locals = append(g.whole, v), append(g.locals, v)
}

func (g *generator) submit() {
	o, a := g.target(), g.pick(g.whole)
	opts := g.deps()
	if g.IntN(5) == 0 {
		opts += ", allow_early_resolve=True"
	}
	id, after := g.id()
	switch g.IntN(7) {
	case 0:
		g.line("%s, %s = pl.submit(self.scale, %s, pl.cast(%s, pl.FP32), %s, %s%s)", o, id, a, g.num(1), o, g.num(2), opts)
	case 1:
		g.line("%s, %s = pl.submit(self.acc, %s, %s%s)", o, id, a, o, opts)
	case 2:
		g.line("%s, %s = pl.spmd_submit(self.grid, %s, %s, core_num=%d%s)", o, id, a, o, g.IntN(4)+1, opts)
	case 3:
		p := g.target()
		if p == o {
			return
		}
		g.line("(%s, %s), %s = pl.submit(self.two, %s, %s, %s%s)", p, o, id, a, o, p, opts)
	case 4:
		// A predicate waits for the task that makes its operand.
		c := g.name("id")
		g.line("c, %s = pl.submit(self.bump, c)", c)
		g.line("%s, %s = pl.submit(self.acc, %s, %s, deps=[%s], predicate=(c[%s, 0] %s %d))", o, id, a, o, c, g.below(8), []string{">", "<=", "==", "!="}[g.IntN(4)], g.IntN(5))
		g.ids = append(g.ids, c)
	case 5:
		v := g.name("t")
		g.line("%s, %s = pl.submit(self.copy, %s%s)", v, id, a, opts) // the runtime makes the output
		g.whole = append(g.whole, v)
	default:
		g.line("%s, %s = pl.submit(self.copy, %s, %s%s)", o, id, a, o, opts)
	}
	after()
}

func (g *generator) at() {
	o, as := g.target(), ""
	id := g.name("id")
	if g.coin() {
		as = " as " + id
	}
	opts := ""
	if as != "" {
		opts = g.deps()
		if strings.Contains(opts, "[") && strings.Count(opts, "[") > 1 {
			opts = ""
		}
	}
	g.block(fmt.Sprintf("with pl.at(level=pl.Level.CORE_GROUP%s)%s:", opts, as), func() {
		a := g.pick(g.whole)
		g.line("%s = pl.store(pl.mul(pl.load(%s, [%s, 0], [4, 16]), 0.5), [%s, 0], %s)", o, a, g.offset(), g.offset(), o)
		if g.coin() {
			p := g.target()
			g.line("%s = pl.store(pl.add(pl.mul(pl.load(%s, [0, 0], [16, 16]), 0.25), pl.load(%s, [0, 0], [16, 16])), [0, 0], %s)", p, g.pick(g.whole), "x", p)
		}
	})
	if as != "" {
		g.ids = append(g.ids, id)
	}
}

func (g *generator) spmd() {
	o, a := g.target(), g.pick(g.whole)
	switch g.IntN(3) {
	case 0:
		g.block(fmt.Sprintf("with pl.spmd(%d):", g.IntN(4)+1), func() { g.line("%s = self.grid(%s, %s)", o, a, o) })
	case 1:
		id := g.name("id")
		g.block(fmt.Sprintf("with pl.spmd(%s + 1) as %s:", g.below(3), id), func() { g.line("%s = self.grid(%s, %s)", o, a, o) })
		g.ids = append(g.ids, id)
	default:
		b := g.name("b")
		g.block(fmt.Sprintf("for %s in pl.spmd(4):", b), func() {
			g.line("%s = pl.store(pl.mul(pl.load(%s, [%s * 4, 0], [4, 16]), 0.5), [%s * 4, 0], %s)", o, a, b, b, o)
		})
	}
}

func (g *generator) loop() {
	i := g.name("i")
	var head string
	k := g.IntN(10)
	switch k {
	case 9:
		// Any bounds; the variable is no index.
		g.block(fmt.Sprintf("for %s in pl.range(%s, %s, %s):", i, g.below(5), []string{g.below(6), "(" + g.num(2) + ") % 9 - 2"}[g.IntN(2)],
			[]string{"1", "2", "-1", "-3", g.below(2) + " + 1", "1 - 2 * (" + g.below(2) + ")"}[g.IntN(6)]), func() {
			g.nums = append(g.nums, i)
			g.some(2)
		})
		return
	case 0, 1:
		head = fmt.Sprintf("pl.parallel(%d)", g.IntN(3)+2)
		if !g.manual && g.coin() { // the TaskIds of a MANUAL scope need a slot per trip
			head = fmt.Sprintf("pl.parallel(%s)", g.below(4))
		}
	case 2:
		head = "pl.unroll(3)"
	case 3:
		head = fmt.Sprintf("pl.range(%s)", g.below(4))
	case 4:
		head = "pl.range(3, -1, -1)"
	case 5:
		head = "pl.range(1)"
	case 6:
		if len(g.loops) > 0 {
			head = "pl.range(" + g.pick(g.loops) + ")"
			break
		}
		fallthrough
	default:
		head = "pl.range(4)"
	}
	if k < 2 {
		g.parallel++
		defer func() { g.parallel-- }()
	}
	if g.IntN(3) == 0 && k != 2 {
		// Phases: the TaskIds of a trip reach the next one.
		s := g.name("id")
		g.line("%s = None", s)
		g.ids = append(g.ids, s)
	}
	g.block(fmt.Sprintf("for %s in %s:", i, head), func() {
		g.loops, g.nums = append(g.loops, i), append(g.nums, i)
		g.some(3)
	})
}
