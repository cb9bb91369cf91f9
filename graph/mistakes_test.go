package graph

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/runtime/check"
	"github.com/ptobuild/ptobuild/runtime/exec"
	"github.com/ptobuild/ptobuild/runtime/kernels"
	"github.com/ptobuild/ptobuild/runtime/sim"
)

// pairFunction launches two tasks.
const pairFunction = `
@pl.function(type=pl.FunctionType.Inline)
def pair(self, a: T, o: T) -> T:
    u = pl.create_tensor([16, 16], dtype=pl.FP32)
    u, t1 = pl.submit(self.copy, a, u)
    o, t2 = pl.submit(self.copy, u, o, deps=[t1])
    return o`

// params are n parameters.
func params(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: T, ", i)
	}
	return b.String()
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
y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))`, "", sim.CodePredicateDep, "y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))", "the predicate of task 1 (copy) reads t[0, 0], which task 0 (gate) | random order, seed 1 shows it: the predicate reads -33686019, in program order 1",
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
		{"p1697 a buffer of a MANUAL scope, used after it", `
with pl.manual_scope():
    t = pl.create_tensor([16, 16], dtype=pl.FP32)
    t, a = pl.submit(self.copy, x, t)
y = self.copy(t, y)`, "", check.CodeRace, "y = self.copy(t, y)", "read-after-write race on t (made at p.py:", "    y, _ = pl.submit(self.copy, t, y, deps=[a])"},
		{"p1022 parallel trips share a buffer", `
t = pl.create_tensor([16, 16], dtype=pl.FP32)
for i in pl.parallel(4):
    t = self.copy(x, t)
    y = self.row(t, y, i)`, "", check.CodeRace, "t = self.copy(x, t)", "write-after-read race on t | trip i = 1", "t, _ = pl.submit(self.copy, x, t, deps=[row_tid])"},
		{"p1022 parallel trips with a buffer each", `
for i in pl.parallel(4):
    t = pl.create_tensor([16, 16], dtype=pl.FP32)
    t = self.copy(x, t)
    y = self.row(t, y, i)`, "", "", "", "", ""},
		{"a double buffer that does not wait for its reader", `
t = pl.create_tensor([16, 16], dtype=pl.FP32)
with pl.manual_scope():
    for i in pl.range(4):
        h = pl.slice(t, [8, 16], [(i % 2) * 8, 0])
        h, f = pl.submit(self.fill, x, h, i)
        y, d = pl.submit(self.use, h, y, i, deps=[f])`, `
@pl.function(type=pl.FunctionType.InCore)
def fill(self, a: T, o: pl.Out[pl.Tensor[[8, 16], pl.FP32]], r: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8, 16], pl.FP32]:
    o = pl.store(pl.load(a, [r, 0], [8, 16]), [0, 0], o)
    return o

@pl.function(type=pl.FunctionType.InCore)
def use(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.InOut[T], r: pl.Scalar[pl.INDEX]) -> T:
    o = pl.store(pl.load(a, [0, 0], [1, 16]), [r, 0], o)
    return o`, check.CodeRace, "h, f = pl.submit(self.fill, x, h, i)", "write-after-read race on t | trip i = 2", "    h, f = pl.submit(self.fill, x, h, i, deps=[ds[i % 2]])"},
		{"slices that overlap", `
v = pl.slice(y, [8, 16], [0, 0])
w = pl.slice(y, [8, 16], [7, 0])
with pl.manual_scope():
    v, a = pl.submit(self.top, x, v)
    w, b = pl.submit(self.top, z, w)`, `
@pl.function(type=pl.FunctionType.InCore)
def top(self, a: T, o: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
    o = pl.store(pl.load(a, [0, 0], [8, 16]), [0, 0], o)
    return o`, check.CodeRace, "w, b = pl.submit(self.top, z, w)", "task 0 (top) and task 1 (top) write y[7:8, 0:16] in no fixed order", "w, b = pl.submit(self.top, z, w, deps=[a])"},
		{"s1023 an empty view", `
v = pl.slice(y, [0, 16], [16, 0])
y = self.copy(x, y)`, "", "", "", "", ""},
		{"a task of an inline function", `
with pl.manual_scope():
    y = self.pair(x, y)
    z, _ = pl.submit(self.copy, y, z)`, pairFunction, check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "may read y[0:16, 0:16] before task 1 (copy) has written it", "    y, pair_tid = self.pair(x, y)"},
		{"a task of an inline function that has to wait", `
with pl.manual_scope():
    y, _ = pl.submit(self.copy, x, y)
    z = self.pair(y, z)`, pairFunction, check.CodeRace, "u, t1 = pl.submit(self.copy, a, u)", "may read y[0:16, 0:16] before task 0 (copy) has written it", "u, t1 = pl.submit(self.copy, a, u, deps=[after])"},
		{"two calls of an inline function", `
with pl.manual_scope():
    y = self.pair(x, y)
    z = self.pair(y, z)`, pairFunction, check.CodeRace, "u, t1 = pl.submit(self.copy, a, u)", "may read y[0:16, 0:16] before task 1 (copy) has written it", "    z, _ = self.pair(y, z, pair_tid)"},
		{"a grid loop", `
with pl.manual_scope():
    for b in pl.spmd(4):
        y = pl.store(pl.load(x, [b * 4, 0], [4, 16]), [b * 4, 0], y)
    z, _ = pl.submit(self.copy, y, z)`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z)", "read-after-write race on y", "    with pl.spmd(4) as tid:"},
		{"one task more than an array of TaskIds has", `
with pl.manual_scope():
    ids = pl.array.create(3, pl.TASK_ID)
    for i in pl.range(3):
        y, a = pl.submit(self.row, x, y, i)
        ids[i] = a
    y, b = pl.submit(self.row, x, y, 3)
    z, _ = pl.submit(self.copy, y, z, deps=[ids])`, "", check.CodeRace, "z, _ = pl.submit(self.copy, y, z, deps=[ids])", "may read y[3:4, 0:16] before task 3 (row)", "    z, _ = pl.submit(self.copy, y, z, deps=[all_tids, b])"},
		{"p2181 a TaskId of a loop, used after it", `
for i in pl.range(3):
    y, a = pl.submit(self.upd, y)
z, _ = pl.submit(self.copy, y, z, deps=[a])`, "", "PTO-D026", "z, _ = pl.submit(self.copy, y, z, deps=[a])", "TaskId 'a' is used outside its defining scope | 'a' is assigned here", "a = None"},
		{"p2181 a TaskId of a MANUAL scope, used after it", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
z, _ = pl.submit(self.copy, y, z, deps=[a])`, "", lower.CodeClosedScope, "z, _ = pl.submit(self.copy, y, z, deps=[a])", "deps=[a] cannot be honored", "    z, _ = pl.submit(self.copy, y, z, deps=[a])"},
		{"a tensor in deps", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    z, _ = pl.submit(self.copy, y, z, deps=[y])`, "", "PTO-D014", "z, _ = pl.submit(self.copy, y, z, deps=[y])", "'y' was written by the task 'a'", "z, _ = pl.submit(self.copy, y, z, deps=[a])"},
		{"deps that are no list", `
with pl.manual_scope():
    y, a = pl.submit(self.copy, x, y)
    z, _ = pl.submit(self.copy, y, z, deps=a)`, "", "PTO-D014", "z, _ = pl.submit(self.copy, y, z, deps=a)", "must be a list literal", "z, _ = pl.submit(self.copy, y, z, deps=[a])"},
		{"the operand of a predicate, seen by the front end", `
c, g = pl.submit(self.gate, c, c)
y, _ = pl.submit(self.copy, x, y, predicate=(c[0, 0] > 0))`, "", "PTO-D015", "y, _ = pl.submit(self.copy, x, y, predicate=(c[0, 0] > 0))", "produced by the task 'g', which is not in deps=",
			"y, _ = pl.submit(self.copy, x, y, deps=[g], predicate=(c[0, 0] > 0))"},
		{"the operand of a predicate, beside another dependency", `
y, a = pl.submit(self.copy, x, y)
c, g = pl.submit(self.gate, c, c)
y, _ = pl.submit(self.upd, y, deps=[a], predicate=(c[0, 0] > 0))`, "", "PTO-D015", "y, _ = pl.submit(self.upd, y, deps=[a], predicate=(c[0, 0] > 0))", "produced by the task 'g'",
			"y, _ = pl.submit(self.upd, y, deps=[a, g], predicate=(c[0, 0] > 0))"},
		{"p2496 an unsigned operand", `
t = pl.create_tensor([8, 8], dtype=pl.UINT8)
y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))`, "", "PTO-D015", "y, _ = pl.submit(self.copy, x, y, predicate=(t[0, 0] > 0))", "signed 8/16/32/64-bit integer tensor, got dtype uint8 | into a tensor of pl.INT32", ""},
		{"a float operand", `
y, _ = pl.submit(self.copy, x, y, predicate=(x[0, 0] > 0))`, "", "PTO-D015", "y, _ = pl.submit(self.copy, x, y, predicate=(x[0, 0] > 0))", "got dtype fp32", ""},
		{"an index of a predicate outside of the tensor", `
y, _ = pl.submit(self.copy, x, y, predicate=(c[8, 0] > 0))`, "", "PTO-T107", "y, _ = pl.submit(self.copy, x, y, predicate=(c[8, 0] > 0))", "index 8 is out of range for axis 0", ""},
		{"an index of a predicate that the run finds outside", `
for i in pl.range(7, 9):
    y, _ = pl.submit(self.upd, y, predicate=(c[i, 0] > -100))`, "", sim.CodePredicate, "y, _ = pl.submit(self.upd, y, predicate=(c[i, 0] > -100))", "predicate: ", ""},
		{"s412 more arguments than a task takes", `
y = self.k(` + strings.Repeat("x, ", 33) + `y)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, ` + params(33) + `o: pl.Out[T]) -> T:
    o = pl.store(pl.load(a0, [0, 0], [16, 16]), [0, 0], o)
    return o`, sim.CodeBuilder, "y = self.k(" + strings.Repeat("x, ", 33) + "y)", "34 tensor arguments: a task takes at most 32", ""},
		{"p1935 blocks that wait for each other", `
with pl.spmd(4):
    y = self.k(x, y)`, `
@pl.function(type=pl.FunctionType.InCore)
def k(self, a: T, o: pl.InOut[T]) -> T:
    b = pl.tile.get_block_idx()
    pl.system.syncall()
    o = pl.store(pl.load(a, [b * 4, 0], [4, 16]), [b * 4, 0], o)
    return o`, check.CodeBarrier, "with pl.spmd(4):", "the 4 blocks of task 0 (k) wait for each other", "with pl.spmd(4, sync_start=True):"},
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

// TestOneReportPerCause: what follows from a mistake is not told again.
func TestOneReportPerCause(t *testing.T) {
	for _, c := range []struct {
		name, body, kernels string
		want                []diag.Code
	}{
		{"the compiler foretells what the run shows", `
with pl.manual_scope():
    c, g = pl.submit(self.gate, c, c)
if pl.read(c, [0, 0]) > 1:
    y = self.copy(x, y)`, "", []diag.Code{check.CodeHostRace}},
		{"a missing edge of which much depends", `
with pl.manual_scope():
    y, _ = pl.submit(self.copy, x, y)
    z, a = pl.submit(self.copy, y, z)
    for i in pl.range(8):
        z, a = pl.submit(self.row, y, z, i, deps=[a])
    z, a = pl.submit(self.upd, z, deps=[a])`, "", []diag.Code{check.CodeRace}},
		{"a kernel that reads what nothing wrote, and stores it", `
t = pl.create_tensor([16, 16], dtype=pl.FP32)
t = self.same(t)
y = self.copy(x, y)`, `
@pl.function(type=pl.FunctionType.InCore)
def same(self, o: pl.InOut[T]) -> T:
    o = pl.store(pl.load(o, [0, 0], [16, 16]), [0, 0], o)
    return o`, []diag.Code{kernels.CodeUnwritten}},
	} {
		v := testProgram(t, checkedProgram(c.body, c.kernels), nil)
		var got []diag.Code
		for _, d := range v.Diags {
			got = append(got, d.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, v.Diags)
		}
	}
}

// TestMistakesPage: every mistake that docs/checks.md lists has its smallest program here.
func TestMistakesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("mistakes_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| mistake ")
	table, _, _ = strings.Cut(table, "\n\n")
	ids := regexp.MustCompile(`\b[sp]\d{3,4}\b`).FindAllString(table, -1)
	if len(ids) < 15 {
		t.Errorf("only %v", ids)
	}
	for _, id := range ids {
		if !regexp.MustCompile(`\{"[^"]*\b` + id + `\b`).Match(tests) {
			t.Errorf("%s has no program", id)
		}
	}
}

// A predicate that reads another value in some order is told even where no race is known to be the cause.
func TestStalePredicate(t *testing.T) {
	at := diag.Span{File: "p.py", Line: 7, Col: 1}
	run := func(v int64) exec.Result { return exec.Result{Operands: []sim.Operand{{Task: 2, Site: at, Value: v}}} }
	first, same, other := &checkedResult{Result: run(1), report: &check.Report{}}, run(1), run(0)
	order := exec.Schedule{Policy: sim.LIFO}
	if d := stale(first, &same, order, Label{File: "p", Func: "main"}); d != nil {
		t.Error(d)
	}
	d := stale(first, &other, order, Label{File: "p", Func: "main"})
	if d == nil || d.Code != sim.CodePredicateDep || d.Span != at || !strings.Contains(d.Message, "the predicate of task 2 reads 0 in lifo order, and 1 in program order; `ptobuild test --policy lifo //p:main` repeats it") {
		t.Error(d)
	}
}

// TestFullRings: programs for which a ring of the runtime is too small, and that they run with the settings that the report gives.
func TestFullRings(t *testing.T) {
	const one = `
@pl.function(type=pl.FunctionType.InCore)
def one(self, o: pl.InOut[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
    o = pl.store(pl.add(pl.load(o, [0, 0], [8, 16]), 1.0), [0, 0], o)
    return o`
	for _, c := range []struct {
		name, body, kernels string
		settings            string
		code                diag.Code
		line, want          string
	}{
		{"s277 s1086 a scope that holds more tasks than the window", `
with pl.manual_scope():
    for i in pl.range(16):
        y, _ = pl.submit(self.row, x, y, i)`, "", "task_window = 8", sim.CodeScopeTasks, "y, _ = pl.submit(self.row, x, y, i)", "the scope holds 7 tasks | split the scope, or write in [simulator] of Pto.toml: task_window = [8, 8, 32, 8]; on a device: PTO2_RING_TASK_WINDOW=8,8,32,8"},
		{"s1202 buffers that do not fit the heap", `
a = pl.create_tensor([64, 64], dtype=pl.FP32)
a = pl.create_tensor([64, 64], dtype=pl.FP32)
y = self.copy(x, y)`, "", "heap = 16384", sim.CodeHeap, "a = pl.create_tensor([64, 64], dtype=pl.FP32)", "heap = ["},
		{"s959 a task that waits for more than the pool holds", `
with pl.manual_scope():
    ids = pl.array.create(16, pl.TASK_ID)
    for i in pl.range(16):
        y, a = pl.submit(self.row, x, y, i)
        ids[i] = a
    z, _ = pl.submit(self.copy, y, z, deps=[ids])`, "", "dep_pool = 8", sim.CodeDepPool, "z, _ = pl.submit(self.copy, y, z, deps=[ids])", "the task needs 16 more | dep_pool = [8, 8, 16, 8]"},
		{"s2052 more live writers than the map holds", `
v = pl.slice(y, [8, 16], [0, 0])
v = self.one(v)
w = pl.slice(y, [8, 16], [8, 0])
w = self.one(w)`, one, "map_entries = 1", sim.CodeMap, "w = self.one(w)", "the overlap map holds no more | map_entries = 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := checkedProgram(c.body, c.kernels)
			v := testWith(t, "[simulator]\n"+c.settings+"\n", src, nil)
			if len(v.Diags) != 1 || v.Diags[0].Code != c.code {
				t.Fatalf("%v", v.Diags)
			}
			d := v.Diags[0]
			if got := strings.TrimSpace(strings.Split(src, "\n")[d.Span.Line-1]); got != c.line {
				t.Errorf("reported on %q, want %q", got, c.line)
			}
			for w := range strings.SplitSeq(c.want, " | ") {
				if !strings.Contains(d.Error(), w) {
					t.Errorf("%q does not say %q", d.Error(), w)
				}
			}
			m := regexp.MustCompile(`in \[simulator\] of Pto.toml: ([^;]*)`).FindStringSubmatch(d.Hint)
			if m == nil {
				t.Fatal(d.Hint)
			}
			settings := strings.ReplaceAll(m[1], " and ", "\n")
			if after := testWith(t, "[simulator]\n"+settings+"\n", src, nil); !after.Passed {
				t.Errorf("with %s: %v", settings, after.Diags)
			}
		})
	}
}
