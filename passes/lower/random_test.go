package lower_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// A generator writes random orchestration functions in the DSL.
type generator struct {
	*rand.Rand
	b       strings.Builder
	depth   int
	scalars []string // defined on every path here
	tensors []string
	ids     []string
	arrays  []string
	names   int
	manual  bool
	budget  int
}

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("    ", g.depth+1))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) pick(vs []string) string { return vs[g.IntN(len(vs))] }

func (g *generator) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) scalar(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		if g.IntN(3) == 0 {
			return fmt.Sprint(g.IntN(6))
		}
		return g.pick(g.scalars)
	}
	x, y := g.scalar(depth-1), g.scalar(depth-1)
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s - %s)", x, y)
	case 1:
		return fmt.Sprintf("(%s // %d)", x, 2+g.IntN(3))
	case 2:
		return fmt.Sprintf("(%s %% %d)", x, 2+g.IntN(3))
	case 3:
		return fmt.Sprintf("pl.max(%s, %s)", x, y)
	}
	return fmt.Sprintf("(%s + %s)", x, y)
}

func (g *generator) condition() string {
	op := g.pick([]string{"<", "<=", ">", "==", "!="})
	return fmt.Sprintf("%s %s %s", g.scalar(1), op, g.scalar(1))
}

// deps lists ids that are visible here.
func (g *generator) deps() string {
	if len(g.ids) == 0 {
		return "None"
	}
	var ds []string
	for range g.IntN(3) {
		ds = append(ds, g.pick(g.ids))
	}
	if len(ds) == 0 {
		return "None"
	}
	return strings.Join(ds, ", ")
}

// inner writes a nested block; names that it defines are unknown after it.
func (g *generator) inner(body func()) {
	scalars, tensors, ids, arrays := slices.Clone(g.scalars), slices.Clone(g.tensors), slices.Clone(g.ids), slices.Clone(g.arrays)
	g.depth++
	start := g.b.Len()
	body()
	if g.b.Len() == start {
		g.line("pass")
	}
	g.depth--
	g.scalars, g.tensors, g.ids, g.arrays = scalars, tensors, ids, arrays
}

// transparent writes a scope whose values, but not its ids, are known after it.
func (g *generator) transparent(body func()) {
	var scalars, tensors []string
	g.inner(func() {
		body()
		scalars, tensors = g.scalars, g.tensors
	})
	g.scalars, g.tensors = scalars, tensors
}

func (g *generator) block(n int) {
	for range n {
		if g.budget == 0 {
			return
		}
		g.budget--
		g.stmt()
	}
}

func (g *generator) stmt() {
	switch k := g.IntN(24); {
	case k < 2: // new scalar
		n := g.fresh("n")
		g.line("%s = %s", n, g.scalar(2))
		g.scalars = append(g.scalars, n)
	case k < 4: // old scalar
		n := g.pick(g.scalars[1:]) // not the parameter s
		g.line("%s = %s", n, g.scalar(2))
	case k < 5: // swap
		a, b := g.pick(g.scalars[1:]), g.pick(g.scalars[1:])
		g.line("%s, %s = %s, %s", a, b, b, a)
	case k < 7: // new tensor
		t := g.fresh("t")
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", t)
		g.line("%s = self.k(%s, %s)", t, g.pick(g.tensors), t)
		g.tensors = append(g.tensors, t)
	case k < 8: // rebinding
		t := g.pick(g.tensors[2:])
		g.line("%s = pl.create_tensor([16, 16], dtype=pl.FP32)", t)
		g.line("%s = self.k(%s, %s)", t, g.pick(g.tensors[:2]), t)
	case k < 9: // window
		t := g.fresh("w")
		g.line("%s = pl.slice(big, [16, 16], [%s, 0])", t, g.pick(g.scalars))
		g.line("%s = self.upd(%s)", t, t)
		g.tensors = append(g.tensors, t)
	case k < 11: // launch with scalar
		t := g.pick(g.tensors[1:])
		g.line("%s = self.ks(%s, %s, %s)", t, g.pick(g.tensors), t, g.scalar(1))
	case k < 13: // submit
		t, id := g.pick(g.tensors[1:]), g.fresh("p")
		g.line("%s, %s = pl.submit(self.k, %s, %s, deps=[%s])", t, id, g.pick(g.tensors), t, g.deps())
		g.ids = append(g.ids, id)
	case k < 14 && len(g.ids) > 0: // submit into an old id
		t, id := g.pick(g.tensors[1:]), g.pick(g.ids)
		g.line("%s, %s = pl.submit(self.upd, %s, deps=[%s])", t, id, t, g.deps())
	case k < 15: // seed or barrier
		id := g.fresh("p")
		if g.IntN(2) == 0 {
			g.line("%s = None", id)
		} else {
			g.line("%s = pl.system.task_dummy(deps=[%s])", id, g.deps())
		}
		g.ids = append(g.ids, id)
	case k < 16: // read
		n := g.fresh("n")
		g.line("%s = pl.cast(pl.read(rc, [0, 0]), pl.INDEX)", n)
		g.scalars = append(g.scalars, n)
	case k < 18 && g.depth < 4:
		g.line("if %s:", g.condition())
		g.inner(func() { g.block(1 + g.IntN(3)) })
		if g.IntN(2) == 0 {
			g.line("else:")
			g.inner(func() { g.block(1 + g.IntN(3)) })
		}
	case k < 19 && g.depth < 4:
		g.loop()
	case k < 20 && !g.manual && g.depth < 3:
		g.line("with pl.manual_scope():")
		g.manual = true
		g.transparent(func() { g.block(2 + g.IntN(4)) })
		g.manual = false
	case k < 21 && !g.manual: // an output of the runtime
		t, id := g.fresh("t"), g.fresh("p")
		g.line("%s, %s = pl.submit(self.k, %s, deps=[%s])", t, id, g.pick(g.tensors), g.deps())
		g.tensors, g.ids = append(g.tensors, t), append(g.ids, id)
	case k < 22: // a new array, or two arrays swapped
		if len(g.arrays) > 1 && g.IntN(2) == 0 {
			g.line("%[1]s, %[2]s = %[2]s, %[1]s", g.arrays[0], g.arrays[1])
			return
		}
		a := g.fresh("a")
		g.line("%s = pl.array.create(3, pl.TASK_ID)", a)
		g.arrays = append(g.arrays, a)
	case len(g.arrays) > 0:
		a, t, id := g.pick(g.arrays), g.pick(g.tensors[1:]), g.fresh("p")
		switch g.IntN(3) {
		case 0:
			g.line("%s, %s = pl.submit(self.upd, %s, deps=[%s])", t, id, t, a)
		case 1:
			g.line("%s = %s[%d]", id, a, g.IntN(3))
		default:
			g.line("%s = None", id)
		}
		g.ids = append(g.ids, id)
		g.line("%s[%s %% 3] = %s", a, g.pick(g.scalars), g.pick(g.ids))
	}
}

func (g *generator) loop() {
	i := g.fresh("i")
	switch g.IntN(5) {
	case 0:
		g.line("for %s in pl.parallel(%d):", i, 1+g.IntN(3))
	case 1:
		g.line("for %s in pl.range(%d, %d, -1):", i, g.IntN(4), g.IntN(3)-1)
	case 2:
		n := g.fresh("n")
		g.line("%s = %d", n, g.IntN(3))
		g.line("while %s > 0:", n)
		g.inner(func() {
			g.block(1 + g.IntN(3))
			g.line("%s = %s - 1", n, n)
		})
		return
	default:
		g.line("for %s in pl.range(pl.min(%s, 3)):", i, g.scalar(1))
	}
	g.inner(func() {
		g.scalars = append(g.scalars, i)
		g.block(1 + g.IntN(4))
		g.scalars = slices.DeleteFunc(g.scalars, func(s string) bool { return s == i })
	})
}

func (g *generator) program() string {
	g.scalars = []string{"s", "n0"}
	g.tensors = []string{"x", "y", "z"}
	g.budget = 24
	g.line("n0 = s + 1")
	g.line("z = pl.create_tensor([16, 16], dtype=pl.FP32)")
	g.line("z = self.k(x, z)")
	g.block(4 + g.IntN(8))
	g.line("y = self.k2(%s, %s, y)", g.pick(g.tensors), g.pick(g.tensors))
	g.line("y = self.ks(y, y, %s)", g.scalar(2))
	return "def main(self, x: T, y: pl.Out[T], big: pl.InOut[pl.Tensor[[64, 16], pl.FP32]], rc: RC, s: pl.Scalar[pl.INDEX]) -> T:\n" + g.b.String() + "    return y\n"
}

// a plan launches the same tasks with the same arguments and dependencies as the IR that it was made of, uses only names that are
// declared where it reads them, never passes an invalid id on, and never divides a negative number with the plain operator.
func TestRandomPrograms(t *testing.T) {
	ran, refused := 0, map[string]int{}
	for seed := range uint64(800) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
		text := g.program()
		reg := ops.Builtin()
		src := source(t, text)
		unit, ds := lang.Load("case.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return src, nil }})
		if ds.HasErrors() {
			refused[string(ds[0].Code)]++
			continue
		}
		p, ds := passes.Run(&passes.Context{Ops: reg, Options: passes.Options{AutoDeps: seed%5 == 0}}, unit.Programs[0], passes.Default(), passes.Hooks{})
		if ds.HasErrors() {
			refused[string(ds[0].Code)]++
			continue
		}
		f, ds := lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
		if ds.HasErrors() {
			if ds[0].Code == lower.CodeClosedScope || ds[0].Code == lower.CodeTensorScope {
				refused[string(ds[0].Code)]++
				continue
			}
			t.Fatalf("seed %d: %v\n%s", seed, ds, text)
		}
		ran++
		for _, s := range []int64{-3, 0, 2, 5} {
			inputs := map[string]int64{"s": s}
			want := guarded(func() []string { return runIR(p, inputs) })
			got := guarded(func() []string { return runPlan(f, inputs) })
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, s = %d\n%s\ngot:\n%s\nwant:\n%s", seed, s, text, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if ran < 400 {
		t.Errorf("only %d programs ran; refused: %v", ran, refused)
	}
	t.Logf("%d programs ran; refused: %v", ran, refused)
}

func guarded(f func() []string) (lines []string) {
	defer func() {
		if x := recover(); x != nil {
			lines = append(lines, fmt.Sprint("panic: ", x))
		}
	}()
	return f()
}
