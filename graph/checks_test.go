package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/runtime/sim"
)

// checkedKernels are the kernels of the programs below.
const checkedKernels = `import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]
C = pl.Tensor[[8, 8], pl.INT32]


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(a, [0, 0], [16, 16]), 0.5), 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def upd(self, o: pl.InOut[T]) -> T:
        o = pl.store(pl.add(pl.mul(pl.load(o, [0, 0], [16, 16]), 0.5), 3.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def row(self, a: T, o: pl.Out[T], r: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.mul(pl.load(a, [r, 0], [1, 16]), 0.5), [r, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def half(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.load(a, [0, 0], [8, 16]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def gate(self, a: C, o: pl.Out[C]) -> C:
        o = pl.store(pl.add(pl.load(a, [0, 0], [8, 8]), 1), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def split(self, a: T, o: pl.InOut[T], r: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.load(a, [r, 0], [1, 16]), [0, 0], o, atomic=pl.AtomicType.Add)
        return o
EXTRA
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.InOut[T], z: pl.InOut[T], c: pl.InOut[C]) -> tuple[T, T, C]:
`

// checkedProgram is a program with this body of main, and with more kernels.
func checkedProgram(body, kernels string) string {
	indented := func(text string, by int) string {
		var b strings.Builder
		for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
			fmt.Fprintf(&b, "%*s%s\n", by, "", l)
		}
		return b.String()
	}
	if kernels != "" {
		kernels = "\n" + indented(kernels, 4)
	}
	return strings.Replace(checkedKernels, "EXTRA\n", kernels+"\n", 1) + indented(body, 8) + "        return y, z, c\n"
}

// testProgram runs the one test of a program.
func testProgram(t testing.TB, source string, change func(*Tester)) *Verdict {
	t.Helper()
	return testWith(t, "", source, change)
}

// testWith is testProgram with settings in Pto.toml. What the front end refuses is a verdict too.
func testWith(t testing.TB, settings, source string, change func(*Tester)) *Verdict {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{ConfigName: settings + "[[test]]\ntarget = \"//p:main\"\n", "p.py": source} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ws, ds := Open(root)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	b, err := NewBuilder(context.Background(), ws, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	targets, ds := b.Targets(nil)
	if ds.HasErrors() {
		return &Verdict{Diags: ds}
	}
	tests, ds := b.Tests(targets, nil, nil)
	if ds.HasErrors() || len(tests) != 1 {
		t.Fatal(tests, ds)
	}
	x := &Tester{Builder: b, Engine: NewEngine(nil, 1)}
	if change != nil {
		change(x)
	}
	return x.Run(context.Background(), tests[0].Config, tests[0].Target)
}

// Races are shown by an order of the tasks, and the order can be repeated.
func TestOrderShowsRace(t *testing.T) {
	src := checkedProgram("y = self.copy(x, y)\nz = self.copy(y, z)\ny = self.upd(y)", "")
	v := testProgram(t, src, func(x *Tester) { x.Schedules, x.Seed = 1, 1 })
	text := fmt.Sprint(v.Diags[0].Related)
	if !strings.Contains(text, "shows it: z[0, 0] = ") || !strings.Contains(text, "`ptobuild test --seed 1 --schedules 1 //p:main` repeats it") {
		t.Errorf("%s", text)
	}
	late := sim.Late
	v = testProgram(t, src, func(x *Tester) { x.Policy, x.Seed = &late, 1 })
	if text := fmt.Sprint(v.Diags[0].Related); !strings.Contains(text, "`ptobuild test --policy late --seed 1 //p:main` repeats it") {
		t.Errorf("%s", text)
	}
}
