package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/runtime/check"
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
	root := t.TempDir()
	for name, text := range map[string]string{ConfigName: "[[test]]\ntarget = \"//p:main\"\n", "p.py": source} {
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
		t.Fatalf("%v\n%s", ds, source)
	}
	tests, ds := b.Tests(targets, nil)
	if ds.HasErrors() || len(tests) != 1 {
		t.Fatal(tests, ds)
	}
	x := &Tester{Builder: b, Engine: NewEngine(nil, 1)}
	if change != nil {
		change(x)
	}
	return x.Run(context.Background(), tests[0].Config, tests[0].Target)
}

// TestMistakes: the smallest program for each mistake that users of the runtime made (spec runtime.md section 7), what is said about it, and that the
// suggested change makes it pass.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, body, kernels string
		code                diag.Code
		line                string // on which it is reported
		want                string // fragments of the report
		fix                 string // a line after the change; "": none is suggested
	}{
		{"s1306 a write does not wait for earlier reads", `
y = self.copy(x, y)
z = self.copy(y, z)
y = self.upd(y)`, "", check.CodeRace, "y = self.upd(y)",
			"write-after-read race on y: task 2 (upd) may overwrite y[0:16, 0:16] while task 1 (copy) still reads it; argument o | task 1 (copy) reads y[0:16, 0:16] here; argument a",
			"y, _ = pl.submit(self.upd, y, deps=[copy_tid])"},
		{"p2058 a loop overwrites what its last trip reads", `
t = pl.create_tensor([16, 16], dtype=pl.FP32)
for i in pl.range(4):
    t = self.copy(x, t)
    y = self.row(t, y, i)`, "", check.CodeRace, "t = self.copy(x, t)",
			"write-after-read race on t (made at p.py: | may overwrite t[0:1, 0:16] while task 1 (row) | trip i = 1 (3 such pairs | reads t[0:1, 0:16] here; argument a, trip i = 0",
			"t, _ = pl.submit(self.copy, x, t, deps=[row_tid])"},
		{"s1185 two writers, one after the other", `
y, _ = pl.submit(self.copy, x, y)
y, _ = pl.submit(self.half, z, y)`, "", "", "", "", ""}, // the compiler passes the second Out as InOut
		{"s1185 two writers in a MANUAL scope", `
with pl.manual_scope():
    y, _ = pl.submit(self.copy, x, y)
    y, _ = pl.submit(self.half, z, y)`, "", check.CodeRace, "y, _ = pl.submit(self.half, z, y)",
			"write-after-write race on y: task 0 (copy) and task 1 (half) write y[0:8, 0:16] in no fixed order", "y, _ = pl.submit(self.half, z, y, deps=[copy_tid])"},
		{"s2084 the orchestration reads what a MANUAL scope writes", `
with pl.manual_scope():
    c, g = pl.submit(self.gate, c, c)
if pl.read(c, [0, 0]) > 1:
    y = self.copy(x, y)`, "", check.CodeHostRace, "if pl.read(c, [0, 0]) > 1:", "the orchestration reads c[0, 0], which task 0 (gate) may not have written yet", "c, g = pl.submit(self.gate, c, c)"},
		{"the orchestration overwrites what a task reads", `
t = pl.create_tensor([8, 8], dtype=pl.INT32)
t = self.gate(c, t)
pl.write(c, [0, 0], 5)`, "", check.CodeHostRace, "pl.write(c, [0, 0], 5)", "the orchestration overwrites c[0, 0], which task 0 (gate) may still read", "def gate(self, a: pl.InOut[C], o: pl.Out[C]) -> C:"},
		{"the same in a MANUAL scope", `
t = pl.create_tensor([8, 8], dtype=pl.INT32)
with pl.manual_scope():
    t, a = pl.submit(self.gate, c, t)
pl.write(c, [0, 0], 5)`, "", check.CodeHostRace, "pl.write(c, [0, 0], 5)", "the orchestration overwrites c[0, 0]", "t, a = pl.submit(self.gate, c, t)"},
		{"p1976 a barrier without dependencies", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    b = pl.system.task_dummy(deps=[])
    z, _ = pl.submit(self.copy, y, z, deps=[b])`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z, deps=[b])", "read-after-write", "z, _ = pl.submit(self.copy, y, z, deps=[b, a])"},
		{"p1939 a later AUTO task misses a MANUAL write", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
z = self.copy(y, z)`, "", check.CodeRace, "z = self.copy(y, z)", "read-after-write race on y | MANUAL", "    z, _ = pl.submit(self.copy, y, z, deps=[a])"},
		{"a dependency left out in a MANUAL scope", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    z, _ = pl.submit(self.copy, y, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "may read y[0:16, 0:16] before task 0 (copy) has written it", "z, _ = pl.submit(self.copy, y, z, deps=[a])"},
		{"a plain call in a MANUAL scope", `
with pl.manual_scope():
    y = self.copy(x, y)
    z = self.copy(y, z)`, "", check.CodeRace, "z = self.copy(y, z)", "read-after-write", "z, _ = pl.submit(self.copy, y, z, deps=[copy_tid])"},
		{"a chain of a MANUAL scope", `
with pl.manual_scope():
    for i in pl.range(4):
        y, _ = pl.submit(self.upd, y)`, "", check.CodeRace, "y, _ = pl.submit(self.upd, y)", "trip i = 1 (3 such pairs", "y, upd_tid = pl.submit(self.upd, y, deps=[upd_tid])"},
		{"a reader of what a loop wrote", `
with pl.manual_scope():
    for i in pl.range(4):
        y, _ = pl.submit(self.row, x, y, i)
    z, _ = pl.submit(self.copy, y, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "may read y[3:4, 0:16] before task 3 (row)", "z, _ = pl.submit(self.copy, y, z, deps=[row_tid])"},
		{"a reader of what parallel trips wrote", `
with pl.manual_scope():
    for i in pl.parallel(4):
        y, _ = pl.submit(self.row, x, y, i)
    z, _ = pl.submit(self.copy, y, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "(4 such pairs", "    y, row_tid = pl.submit(self.row, x, y, i)"},
		{"a branch that may have written", `
with pl.manual_scope():
    if pl.read(c, [0, 0]) > -1:
        y, _ = pl.submit(self.copy, x, y)
    z, _ = pl.submit(self.copy, y, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "read-after-write", "copy_tid = None"},
		{"blocks in a MANUAL scope", `
with pl.manual_scope():
    with pl.at(level=pl.Level.CORE_GROUP):
        y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
    with pl.at(level=pl.Level.CORE_GROUP):
        z = pl.store(pl.load(y, [0, 0], [16, 16]), [0, 0], z)`, "", check.CodeRace, "with pl.at(level=pl.Level.CORE_GROUP):", "may read y[0:16, 0:16]", "with pl.at(level=pl.Level.CORE_GROUP, deps=[tid]):"},
		{"p1978 a view that was reshaped", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    v = pl.reshape(y, [16, 16])
    z, _ = pl.submit(self.copy, v, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, v, z)", "may read y[0:16, 0:16]", "z, _ = pl.submit(self.copy, v, z, deps=[a])"},
		{"an argument that is no_dep and does depend", `
y = self.copy(x, y)
z = self.copy(pl.no_dep(y), z)`, "", check.CodeRace, "z = self.copy(pl.no_dep(y), z)", "no_dep", "z = self.copy(y, z)"},
		{"a manual_dep tensor without edges", `
t = pl.create_tensor([16, 16], dtype=pl.FP32, manual_dep=True)
t = self.copy(x, t)
y = self.copy(t, y)`, "", check.CodeRace, "y = self.copy(t, y)", "manual_dep", "y, _ = pl.submit(self.copy, t, y, deps=[copy_tid])"},
		{"the operand of a predicate, by an alias", `
t = pl.create_tensor([8, 8], dtype=pl.INT32)
t = self.gate(c, t)
y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))`, "", sim.CodePredicateDep, "y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))", "the predicate of task 1 (copy) reads t[0, 0], which task 0 (gate)",
			"y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0), deps=[gate_tid])"},
		{"a buffer that nothing keeps alive", `
with pl.manual_scope():
    t, a = pl.submit(self.copy, x)
    y, b = pl.submit(self.copy, t, y, deps=[a])
    z, _ = pl.submit(self.copy, t, z, deps=[b])`, "", check.CodeLifetime, "z, _ = pl.submit(self.copy, t, z, deps=[b])", "task 2 (copy) uses the buffer made at p.py:42:13 (argument a), which may be given back before it runs",
			"z, _ = pl.submit(self.copy, t, z, deps=[b, a])"},
		{"an input that is written", `
y = self.k(x, y)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.Out[T]) -> T:
    v = pl.load(a, [0, 0], [16, 16])
    a = pl.store(pl.add(v, 1.0), [0, 0], a)
    o = pl.store(v, [0, 0], o)
    return o`, check.CodeDirection, "def k(self, a: T, o: pl.Out[T]) -> T:", "kernel k writes a, which it declares as an input", "def k(self, a: pl.InOut[T], o: pl.Out[T]) -> T:"},
		{"an output that is read first", `
y = self.copy(x, y)
y = self.k(x, y)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.Out[T]) -> T:
    v = pl.load(o, [0, 0], [16, 16])
    o = pl.store(pl.add(v, pl.load(a, [0, 0], [16, 16])), [0, 0], o)
    return o`, check.CodeDirection, "def k(self, a: T, o: pl.Out[T]) -> T:", "kernel k reads o before it has written it | task 1 (k), for one", "def k(self, a: T, o: pl.InOut[T]) -> T:"},
		{"an output that is never written", `
y = self.k(x, y, z)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.Out[T], p: pl.Out[T]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o`, check.CodeDirection, "def k(self, a: T, o: pl.Out[T], p: pl.Out[T]) -> T:", "kernel k never wrote p", ""},
		{"s899 blocks that write the same rows", `
y, _ = pl.spmd_submit(self.k, x, y, core_num=3)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.InOut[T]) -> T:
    b = pl.tile.get_block_idx()
    o = pl.store(pl.load(a, [b * 4, 0], [8, 16]), [b * 4, 0], o)
    return o`, check.CodeRace, "y, _ = pl.spmd_submit(self.k, x, y, core_num=3)", "race between the blocks of task 0 (k): blocks 0 and 1 both write y[4:8, 0:16]; argument o", ""},
		{"s405 a kernel that does nothing", `
y = self.k(x, y)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.Out[T]) -> T:
    return o`, sim.CodeNoWrite, "y = self.k(x, y)", "changed none of its outputs", ""},
		{"atomic additions may meet", `
with pl.manual_scope():
    for i in pl.parallel(4):
        y, _ = pl.submit(self.split, x, y, i)`, "", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := checkedProgram(c.body, c.kernels)
			v := testProgram(t, src, nil)
			if c.code == "" {
				if len(v.Diags) > 0 {
					t.Fatalf("%v\n%s", v.Diags, src)
				}
				return
			}
			i := slices.IndexFunc(v.Diags, func(d *diag.Diagnostic) bool { return d.Code == c.code })
			if i < 0 {
				t.Fatalf("not found: %v", v.Diags)
			}
			d := v.Diags[i]
			if n := slices.IndexFunc(v.Diags, func(x *diag.Diagnostic) bool { return x != d && x.Severity == diag.Error }); n >= 0 {
				t.Errorf("one mistake, and also: %v", v.Diags[n])
			}
			if got := strings.TrimSpace(strings.Split(src, "\n")[d.Span.Line-1]); got != c.line {
				t.Errorf("reported on %q, want %q", got, c.line)
			}
			text := fmt.Sprint(d.Error(), d.Related)
			for w := range strings.SplitSeq(c.want, " | ") {
				if !strings.Contains(text, w) {
					t.Errorf("%q does not say %q", text, w)
				}
			}
			fixed := string(diag.Apply([]byte(src), d.Edits))
			if len(d.Edits) == 0 || c.fix == "" {
				if c.fix != "" || len(d.Edits) > 0 {
					t.Errorf("edits %v, want %q", d.Edits, c.fix)
				}
				return
			}
			if !strings.Contains(fixed, "\n        "+c.fix+"\n") && !strings.Contains(fixed, "    "+c.fix+"\n") {
				t.Errorf("no line %q in\n%s", c.fix, fixed)
			}
			if after := testProgram(t, fixed, nil); !after.Passed || slices.ContainsFunc(after.Diags, func(d *diag.Diagnostic) bool { return d.Code == c.code }) {
				t.Errorf("after the change: %v\n%s", after.Diags, fixed)
			}
		})
	}
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
