package crosscheck

import (
	"fmt"
	"strings"
)

// What only the tests of the checks write beyond generate: windows of columns, arguments and buffers that are not tracked, predicates on results of other
// tasks, inline functions that launch tasks, element accesses of results, and pipelines of a MANUAL scope. The reference does not know them.

const wideKernels = `    @pl.function(type=pl.FunctionType.InCore)
    def vupd(self, o: pl.InOut[V]) -> V:
        o = pl.store(pl.add(pl.mul(pl.load(o, [0, 0], [16, 4]), 0.5), 8.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def vcopy(self, a: V, o: pl.Out[V]) -> V:
        o = pl.store(pl.mul(pl.load(a, [0, 0], [16, 4]), 0.5), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def count(self, a: C, o: pl.Out[C]) -> C:
        o = pl.store(pl.add(pl.load(a, [0, 0], [8, 8]), 1), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def some(self, a: T, o: pl.Out[T], r: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.mul(pl.load(a, [r, 0], [4, 16]), 0.5), [r, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def part(self, a: T, o: pl.InOut[T], r: pl.Scalar[pl.INDEX]) -> T:
        v = pl.mul(pl.load(o, [r, 0], [4, 16]), 0.5)
        o = pl.store(pl.add(v, pl.mul(pl.load(a, [r, 0], [4, 16]), 0.25)), [r, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Inline)
    def chain(self, a: T, o: T) -> T:
        for k in pl.range(3):
            o = self.part(a, o, k)
        return o

    @pl.function(type=pl.FunctionType.Inline)
    def gated(self, a: T, o: T, k: C) -> T:
        g = pl.create_tensor([8, 8], dtype=pl.INT32)
        g, gt = pl.submit(self.count, k, g)
        o, _ = pl.submit(self.acc, a, o, deps=[gt], predicate=(g[0, 0] > 2))
        return o

`

// wideSource is source for programs of generateWide.
func wideSource(body []*node) string {
	const first = "    @pl.function(type=pl.FunctionType.Inline)\n"
	s := strings.Replace(source(body), first, wideKernels+first, 1)
	return strings.Replace(s, "C = pl.Tensor", "V = pl.Tensor[[16, 4], pl.FP32]\nC = pl.Tensor", 1)
}

// generateWide gives the body of main of a seed, of statements of stmt and of wideStmt.
func generateWide(seed uint64) []*node {
	g := newGenerator(seed, 12)
	g.wide = true
	return g.program()
}

func (g *generator) wideStmt() {
	o, a := g.target(), g.pick(g.whole)
	column := func() string {
		if len(g.loops) > 0 && g.coin() {
			return g.pick(g.loops) + " * 4"
		}
		return g.below(13)
	}
	switch k := g.IntN(16); {
	case k == 0:
		w := g.name("w")
		g.line("%s = pl.slice(%s, [16, 4], [0, %s])", w, o, column())
		g.line("%s = self.vupd(%s)", w, w)
	case k == 1:
		v, w := g.name("w"), g.name("w")
		g.line("%s = pl.slice(%s, [16, 4], [0, %s])", v, a, column())
		g.line("%s = pl.slice(%s, [16, 4], [0, %s])", w, o, column())
		g.line("%s = self.vcopy(%s, %s)", w, v, w)
	case k == 2: // x is never written
		g.line("%s = self.join(pl.no_dep(x), %s, %s)", o, a, o)
	case k == 3 && g.IntN(4) == 0:
		g.line("%s = self.acc(pl.no_dep(%s), %s)", o, a, o)
	case k == 4 && g.IntN(3) == 0:
		v := g.name("t")
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32, manual_dep=True)", v)
		g.line("%s = self.copy(%s, %s)", v, a, v)
		g.whole = append(g.whole, v)
	case k == 5:
		p, id := g.name("k"), g.name("id")
		g.line("%s = pl.create_tensor([8, 8], dtype=pl.INT32)", p)
		g.line("%s, %s = pl.submit(self.count, c, %s)", p, id, p)
		if g.coin() {
			g.stmt()
		}
		g.line("%s, _ = pl.submit(self.%s, %s, %s, deps=[%s], predicate=(%s[%s, %d] %s %d))", o, g.pick([]string{"copy", "acc"}), a, o, id, p, g.below(8), g.IntN(8),
			[]string{">", "<=", "==", "!="}[g.IntN(4)], g.IntN(5))
		g.ids = append(g.ids, id)
	case k < 8:
		g.line("%s = self.chain(%s, %s)", o, a, o)
	case k == 8:
		g.line("%s = self.gated(%s, %s, c)", o, a, o)
	case k == 9:
		g.line("%s = self.some(%s, %s, %s)", o, a, o, g.below(13))
	case k == 10:
		g.line("%s = self.part(%s, %s, %s)", o, a, o, g.below(13))
	case k == 11 && g.depth < 3:
		g.block(fmt.Sprintf("if pl.read(%s, [%s, %d]) > %d.5:", o, g.below(16), g.IntN(16), g.IntN(4)), func() { g.some(2) })
	case k == 12 && g.counting == 0:
		g.line("pl.write(%s, [%s, %d], %d.25)", o, g.below(16), g.IntN(16), g.IntN(9))
	case k > 12 && !g.manual && g.depth < 2:
		g.pipeline(o, a)
	default:
		g.line("%s = self.acc(%s, %s)", o, a, o)
	}
}

// pipeline fills the halves of a buffer in turn, in a MANUAL scope: a trip waits for the one that last read its half.
func (g *generator) pipeline(o, a string) {
	buf, free, i := g.name("t"), g.name("a"), g.name("i")
	fill, use := g.name("id"), g.name("id")
	g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", buf)
	outer := g.manual
	g.manual = true
	g.block("with pl.manual_scope():", func() {
		g.line("%s = pl.array.create(3, pl.TASK_ID)", free)
		last := g.name("id")
		g.line("%s = None", last)
		g.block(fmt.Sprintf("for %s in pl.range(%d):", i, g.IntN(3)+2), func() {
			h, s, d := g.name("w"), g.name("w"), g.name("w")
			g.line("%s = pl.slice(%s, [4, 16], [(%s %% 2) * 8, 0])", h, buf, i)
			g.line("%s = pl.slice(%s, [4, 16], [%s * 4, 0])", s, a, i)
			g.line("%s, %s = pl.submit(self.quarter, %s, %s, deps=[%s[%s %% 2]])", h, fill, s, h, free, i)
			g.line("%s = pl.slice(%s, [4, 16], [%s * 3, 0])", d, o, i)
			g.line("%s, %s = pl.submit(self.quarter, %s, %s, deps=[%s, %s])", d, use, h, d, fill, last)
			g.line("%s = %s", last, use)
			g.line("%s[%s %% 2] = %s", free, i, use)
		})
		g.ids, g.arrays = append(g.ids, last), append(g.arrays, free)
		if g.coin() {
			g.some(2)
		}
	})
	g.manual = outer
}
