package passes

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
)

const randomKernels = `import pypto.language as pl

T = None

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T16, o: pl.Out[T16]) -> T16:
        o = pl.store(pl.mul(pl.load(a, [0, 0], [16, 16]), 2.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def k2(self, a: T16, b: T16, o: pl.Out[T16]) -> T16:
        o = pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), pl.load(b, [0, 0], [16, 16])), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def swp(self, a: T16, p: pl.Out[T16], q: pl.Out[T16]) -> tuple[T16, T16]:
        v = pl.load(a, [0, 0], [16, 16])
        q = pl.store(pl.add(v, 1.0), [0, 0], q)
        p = pl.store(pl.mul(v, 3.0), [0, 0], p)
        return q, p

    @pl.function(type=pl.FunctionType.InCore)
    def upd(self, x: pl.InOut[T16]) -> T16:
        x = pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), 1.0), [0, 0], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def fresh(self, a: T16) -> T16:
        return pl.mul(a, 5.0)

    @pl.function(type=pl.FunctionType.InCore)
    def ks(self, a: T16, o: pl.Out[T16], n: pl.Scalar[pl.INDEX]) -> T16:
        o = pl.store(pl.load(a, [n, 0], [1, 16]), [n, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def kt(self, a: T4, o: pl.Out[T4]) -> T4:
        o = pl.store(pl.mul(pl.load(a, [0, 0], [4, 16]), 2.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def ut(self, x: pl.InOut[T4]) -> T4:
        x = pl.store(pl.add(pl.load(x, [0, 0], [4, 16]), 1.0), [0, 0], x)
        return x

`

// taskGen writes random orchestrations.
type taskGen struct {
	*rand.Rand
	out    strings.Builder
	indent int
	whole  []string // 16-row tensors in scope
	fours  []string // 4-row windows and tensors
	eights []string // 8-row windows
	locals []string // 16-row tensors that may be given another buffer
	loops  []string // loop variables of loops of four trips
	nextID int
	depth  int
}

func (g *taskGen) line(format string, args ...any) {
	fmt.Fprintf(&g.out, "%s%s\n", strings.Repeat("    ", g.indent), fmt.Sprintf(format, args...))
}

func (g *taskGen) pick(from []string) string { return from[g.IntN(len(from))] }

func (g *taskGen) name(base string) string {
	g.nextID++
	return fmt.Sprintf("%s%d", base, g.nextID)
}

// writable is any 16-row tensor but x.
func (g *taskGen) writable() string {
	for {
		if s := g.pick(g.whole); s != "x" {
			return s
		}
	}
}

func (g *taskGen) offset() string {
	if len(g.loops) > 0 && g.IntN(2) == 0 {
		return g.pick(g.loops) + []string{" * 4", " * 4", " * 4 + 4", " * 2"}[g.IntN(4)]
	}
	return []string{"0", "4", "2", "8", "n"}[g.IntN(5)]
}

func (g *taskGen) stmt() {
	switch k := g.IntN(21); {
	case k < 2:
		v := g.name("t")
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", v)
		g.line("%s = self.k(%s, %s)", v, g.pick(g.whole), v)
		g.whole, g.locals = append(g.whole, v), append(g.locals, v)
	case k == 2:
		o := g.writable()
		g.line("%s = self.k2(%s, %s, %s)", o, g.pick(g.whole), g.pick(g.whole), o)
	case k == 3:
		p, q := g.writable(), g.writable()
		for p == q {
			q = g.writable()
		}
		g.line("%s, %s = self.swp(%s, %s, %s)", q, p, g.pick(g.whole), p, q)
	case k == 4:
		o := g.writable()
		g.line("%s = self.upd(%s)", o, o)
	case k == 5:
		o := g.writable()
		a := g.pick(g.whole)
		if g.IntN(2) == 0 {
			id := g.name("id")
			g.line("%s, %s = pl.submit(self.k, %s, %s)", o, id, a, o)
			g.line("%s, _ = pl.submit(self.upd, %s, deps=[%s])", o, o, id)
		} else {
			g.line("%s = self.ks(%s, %s, n)", o, a, o)
		}
	case k == 6:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", w, g.writable(), g.offset())
		g.line("%s = self.ut(%s)", w, w)
		g.fours = append(g.fours, w)
	case k == 7 && len(g.fours) > 0:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", w, g.writable(), g.offset())
		g.line("%s = self.kt(%s, %s)", w, g.pick(g.fours), w)
		g.fours = append(g.fours, w)
	case k == 8 && len(g.fours) > 0:
		t, y := g.name("f"), g.writable()
		g.line("%s = pl.create_tensor([4, 16], dtype=pl.FP32)", t)
		g.line("%s = self.kt(%s, %s)", t, g.pick(g.fours), t)
		off := g.offset()
		switch g.IntN(6) {
		case 0:
			g.stmt()
		case 1:
			off = g.name("o")
			g.line("%s = n * 2", off)
			g.line("%s = self.ks(%s, %s, %s)", y, g.pick(g.whole), y, off)
		}
		g.line("%s = pl.assemble(%s, %s, [%s, 0])", y, y, t, off)
		if g.IntN(4) == 0 {
			g.fours = append(g.fours, t)
		}
	case k == 16:
		w := g.name("v")
		g.line("%s = pl.slice(%s, [8, 16], [%s, 0])", w, g.writable(), []string{"0", "4", "8", "n"}[g.IntN(4)])
		g.eights = append(g.eights, w)
	case k == 17 && len(g.eights) > 0:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [4, 16], [%s, 0])", w, g.pick(g.eights), []string{"0", "2", "4", "n"}[g.IntN(4)])
		g.line("%s = self.ut(%s)", w, w)
		g.fours = append(g.fours, w)
	case k == 18 && len(g.locals) > 0:
		t := g.pick(g.locals)
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", t)
		g.line("%s = self.k(%s, %s)", t, g.pick(g.whole), t)
	case k == 19 && len(g.locals) > 1:
		g.line("%s = %s", g.pick(g.locals), g.pick(g.locals))
	case k == 20:
		o := g.writable()
		g.line("with pl.at(level=pl.Level.CORE_GROUP):")
		g.line("    %s = pl.store(pl.load(%s, [0, 0], [8, 16]), [0, 0], %s)", o, g.pick(g.whole), o)
		if g.IntN(2) == 0 {
			g.line("    pl.store(pl.load(%s, [2, 0], [4, 16]), [n, 0], %s)", g.pick(g.whole), o)
		} else {
			g.line("    %s = pl.store(pl.load(%s, [2, 0], [4, 16]), [n, 0], %s)", o, g.pick(g.whole), o)
		}
	case k == 9:
		o := g.writable()
		g.line("with pl.at(level=pl.Level.CORE_GROUP):")
		g.line("    %s = pl.store(pl.add(pl.load(%s, [0, 0], [16, 16]), pl.load(%s, [0, 0], [16, 16])), [0, 0], %s)", o, g.pick(g.whole), g.pick(g.whole), o)
	case k == 10:
		v := g.name("t")
		g.line("%s = self.fresh(%s)", v, g.pick(g.whole))
		g.whole = append(g.whole, v)
	case k == 11 && g.depth < 3:
		c := g.name("c")
		a, b := g.pick(g.whole), g.pick(g.whole)
		g.line("if n > %d:", g.IntN(4))
		g.line("    %s = %s", c, a)
		g.line("else:")
		g.line("    %s = %s", c, b)
		if a != "x" && b != "x" {
			g.whole = append(g.whole, c)
		}
	case k == 12 && g.depth < 3:
		if len(g.loops) > 0 && g.IntN(2) == 0 {
			g.line("if %s < %d:", g.pick(g.loops), g.IntN(3)+1)
		} else {
			g.line("if n > %d:", g.IntN(4))
		}
		g.nested(func() {})
		if g.IntN(2) == 0 {
			g.line("else:")
			g.nested(func() {})
		}
	case k >= 13 && k < 16 && g.depth < 3:
		i := g.name("i")
		kind := []string{"range(4)", "parallel(4)", "range(n)", "range(1)"}[g.IntN(4)]
		if len(g.loops) > 0 && g.IntN(4) == 0 {
			kind = "range(3 - " + g.pick(g.loops) + ")"
		}
		g.line("for %s in pl.%s:", i, kind)
		g.nested(func() { g.loops = append(g.loops, i) })
	default:
		o := g.writable()
		g.line("%s = self.k(%s, %s)", o, g.pick(g.whole), o)
	}
}

// nested writes a block; what it defines stays in it.
func (g *taskGen) nested(before func()) {
	whole, fours, loops := slices.Clone(g.whole), slices.Clone(g.fours), slices.Clone(g.loops)
	eights, locals := slices.Clone(g.eights), slices.Clone(g.locals)
	g.indent++
	g.depth++
	before()
	for range g.IntN(3) + 1 {
		g.stmt()
	}
	g.depth--
	g.indent--
	g.whole, g.fours, g.loops, g.eights, g.locals = whole, fours, loops, eights, locals
}

func randomTasks(seed uint64) string {
	g := &taskGen{Rand: rand.New(rand.NewPCG(seed, 7)), indent: 2, whole: []string{"x", "y", "z"}}
	g.line("w0 = pl.slice(y, [4, 16], [0, 0])")
	g.fours = []string{"w0"}
	for range g.IntN(8) + 3 {
		g.stmt()
	}
	src := randomKernels + "    @pl.function(type=pl.FunctionType.Orchestration)\n    def main(self, x: T16, y: pl.Out[T16], z: pl.InOut[T16], n: pl.Scalar[pl.INDEX]) -> tuple[T16, T16]:\n" +
		g.out.String() + "        return y, z\n"
	return strings.NewReplacer("T16", "pl.Tensor[[16, 16], pl.FP32]", "T4", "pl.Tensor[[4, 16], pl.FP32]", "T = None\n", "").Replace(src)
}

// TestRandomTasks checks on random orchestrations that no pass breaks an invariant (the manager verifies after each), that memory ends up the same
// before and after every pass (assembles copy before fusion and are nothing after it), that the directions order every pair of writers, and that the
// derived dependencies of a covered body order every conflict.
func TestRandomTasks(t *testing.T) {
	reg := ops.Builtin()
	n := 120
	if testing.Short() {
		n = 40
	}
	ran, refused, covered := 0, 0, 0
	for seed := range uint64(n) {
		src := randomTasks(seed)
		for _, auto := range []bool{false, true} {
			var before, last *ir.Program
			complain := func(format string, args ...any) {
				t.Fatalf("seed %d, auto_deps %v: %s\n%s", seed, auto, fmt.Sprintf(format, args...), src[strings.Index(src, "    def main"):])
			}
			var want [3][][]uint64
			final, ds := pipeline(t, src, Options{AutoDeps: auto}, "", func(p *Pass, prog *ir.Program) {
				if before == nil && p == toSSA {
					before = prog
					for n := range want {
						mem, _, err := runMachine(prog, reg, int64(n)*2)
						if err != nil {
							complain("before outlining: %v", err)
						}
						want[n] = mem
					}
					return
				}
				if before == nil || prog == last {
					return
				}
				last = prog
				for n := range want {
					mem, _, err := runMachine(prog, reg, int64(n)*2)
					if err != nil {
						complain("after %s: %v\n%s", p.Name, err, ir.PrintFunction(prog.Lookup("main"), ir.PrintOptions{}))
					}
					if !reflect.DeepEqual(mem, want[n]) {
						complain("after %s memory differs (n = %d)\n%s", p.Name, n*2, ir.PrintFunction(prog.Lookup("main"), ir.PrintOptions{}))
					}
				}
			}, nil)
			if ds.HasErrors() {
				for _, d := range ds {
					if d.Severity == diag.Error && d.Code != codeLostAssemble {
						complain("%v", d)
					}
				}
				refused++
				continue
			}
			ran++
			for n := range want {
				_, tasks, err := runMachine(final, reg, int64(n)*2)
				if err != nil {
					complain("%v", err)
				}
				isCovered, msg := checkOrder(tasks)
				if msg != "" {
					complain("n = %d: %s\n%s", n*2, msg, ir.PrintFunction(final.Lookup("main"), ir.PrintOptions{}))
				}
				if isCovered {
					covered++
				}
			}
		}
	}
	t.Logf("%d ran, %d refused, %d covered runs", ran, refused, covered)
	if ran < n || covered < n/8 {
		t.Errorf("the generator is too timid: %d ran, %d covered of %d", ran, covered, n)
	}
}

// checkOrder checks that conflicting tasks are ordered: by explicit dependencies in MANUAL code, and else also by the runtime's tracking, where
// inputs and updates wait for every earlier writer of what they touch.
func checkOrder(tasks []*taskRecord) (covered bool, msg string) {
	reach := make([]map[int]bool, len(tasks))
	for i, b := range tasks {
		reach[i] = map[int]bool{}
		link := func(j int) {
			reach[i][j] = true
			for k := range reach[j] {
				reach[i][k] = true
			}
		}
		for _, j := range b.waits {
			if j >= i {
				return false, fmt.Sprintf("task %d (%s) waits for the later task %d", i, b.name, j)
			}
			link(j)
		}
		if !b.manual {
			for j, a := range tasks[:i] {
				for _, p := range a.access {
					for _, q := range b.access {
						if p.write && p.dir != ir.DirNoDep && (q.dir == ir.DirInput || q.dir == ir.DirInOut) && meet(p, q) {
							link(j)
						}
					}
				}
			}
		}
		covered = covered || b.manual
		for j, a := range tasks[:i] {
			if reach[i][j] || apart(a, b) {
				continue
			}
			for _, p := range a.access {
				for _, q := range b.access {
					// The runtime leaves write after read to the program; a covered body does not.
					if meet(p, q) && q.write && (p.write || b.manual) || meet(p, q) && p.write && q.read {
						return false, fmt.Sprintf("task %d (%s, line %d) is not ordered after task %d (%s, line %d)", i, b.name, b.line, j, a.name, a.line)
					}
				}
			}
		}
	}
	return covered, ""
}

func meet(p, q rowAccess) bool { return p.b == q.b && p.at < q.at+q.n && q.at < p.at+p.n }

// apart reports tasks of different trips of one parallel loop: the program declares them independent.
func apart(a, b *taskRecord) bool {
	for i := range min(len(a.trips), len(b.trips)) {
		if a.trips[i].loop != b.trips[i].loop {
			return false
		}
		if a.trips[i].n != b.trips[i].n {
			return true
		}
	}
	return false
}
