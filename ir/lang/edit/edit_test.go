package edit

import (
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// at is the place of the n-th line that holds a text.
func at(src, text string) diag.Span {
	for i, l := range strings.Split(src, "\n") {
		if k := strings.Index(l, text); k >= 0 {
			return diag.Span{File: "p.py", Line: int32(i + 1), Col: int32(len(l)-len(strings.TrimLeft(l, " "))) + 1}
		}
	}
	return diag.Span{}
}

// TestOrder: what it takes to make one launch wait for another, by the form of both and by what they stand in.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name, body    string
		first, second string
		carried       bool
		want          string // "": there is no way
	}{
		{"plain calls", "y = self.a(x, y)\nz = self.b(y, z)", "self.a", "self.b", false,
			"y, a_tid = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.b, y, z, deps=[a_tid])"},
		{"names that are taken", "a_tid = 1\ny = self.a(x, y)\nz = self.b(y, z)", "self.a(", "self.b", false,
			"a_tid = 1\ny, a_tid2 = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.b, y, z, deps=[a_tid2])"},
		{"results that are dropped, and several", "self.a(x, y)\np, q = b()", "self.a", "b()", false,
			"_, a_tid = pl.submit(self.a, x, y)\np, q, _ = pl.submit(b, deps=[a_tid])"},
		{"submits", "y, _ = pl.submit(self.a, x, y)\nz, t = pl.submit(self.b, y, z, deps=[u])", "self.a", "self.b", false,
			"y, a_tid = pl.submit(self.a, x, y)\nz, t = pl.submit(self.b, y, z, deps=[u, a_tid])"},
		{"an id that has a name, empty and other deps", "(y, w), t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.b, deps=[])\nz, _ = pl.submit(self.c, deps=ids)", "self.a", "self.b", false,
			"(y, w), t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.b, deps=[t])\nz, _ = pl.submit(self.c, deps=ids)"},
		{"an array of ids", "ids = pl.array.create(4, pl.TASK_ID)\ny, t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.c, deps=[ids])", "self.a", "self.c", false,
			"ids = pl.array.create(4, pl.TASK_ID)\ny, t = pl.submit(self.a, x, y)\nall_tids = pl.system.task_dummy(deps=[ids])\nz, _ = pl.submit(self.c, deps=[all_tids, t])"},
		{"slots of an array", "y, t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.c, deps=[ids[j] for j in range(2)])", "self.a", "self.c", false,
			"y, t = pl.submit(self.a, x, y)\nall_tids = pl.system.task_dummy(deps=[ids[j] for j in range(2)])\nz, _ = pl.submit(self.c, deps=[all_tids, t])"},
		{"deps that are no list", "y, t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.c, deps=ids)", "self.a", "self.c", false, ""},
		{"over several lines, with comments", "y, _ = pl.submit(\n    self.a, x, y,  # reads x\n)\nz = self.b(\n    y,\n    z,\n)", "y, _", "self.b", false,
			"y, a_tid = pl.submit(\n    self.a, x, y,  # reads x\n)\nz, _ = pl.submit(self.b, y,\n    z, deps=[a_tid],\n)"},
		{"blocks", "with pl.at(level=L):\n    y = pl.store(v, [0], y)\nwith pl.spmd(4) as s:\n    z = self.b(z)", "pl.at", "pl.spmd", false,
			"with pl.at(level=L) as tid:\n    y = pl.store(v, [0], y)\nwith pl.spmd(4, deps=[tid]) as s:\n    z = self.b(z)"},
		{"a place inside of a block", "with pl.at(level=L):\n    y = pl.store(v, [0], y)\nz = self.b(z)", "pl.store", "self.b", false,
			"with pl.at(level=L) as tid:\n    y = pl.store(v, [0], y)\nz, _ = pl.submit(self.b, z, deps=[tid])"},
		{"a grid loop can wait", "y = self.a(y)\nfor i in pl.spmd(4):\n    z = pl.store(v, [i], z)", "self.a", "pl.spmd", false,
			"y, a_tid = pl.submit(self.a, y)\nfor i in pl.spmd(4, deps=[a_tid]):\n    z = pl.store(v, [i], z)"},
		{"and has an id as a with statement", "for i in pl.spmd(4):\n    z = pl.store(v, [i], z)\ny = self.a(y)", "pl.spmd", "self.a", false,
			"with pl.spmd(4) as tid:\n    i = pl.tile.get_block_idx()\n    z = pl.store(v, [i], z)\ny, _ = pl.submit(self.a, y, deps=[tid])"},
		{"a grid loop without an index", "for _ in pl.spmd(4):\n    z = pl.store(v, [0], z)\ny = self.a(y)", "pl.spmd", "self.a", false, ""},
		{"a branch", "if n > 0:\n    y = self.a(y)\nz = self.b(y, z)", "self.a", "self.b", false,
			"a_tid = None\nif n > 0:\n    y, a_tid = pl.submit(self.a, y)\nz, _ = pl.submit(self.b, y, z, deps=[a_tid])"},
		{"the last trip", "for i in pl.range(4):\n    y = self.a(y)", "self.a", "self.a", true,
			"a_tid = None\nfor i in pl.range(4):\n    y, a_tid = pl.submit(self.a, y, deps=[a_tid])"},
		{"an id that has a value before the loop", "y, t = pl.submit(self.a, y)\nfor i in pl.range(4):\n    y, t = pl.submit(self.b, y)\nz = self.c(z)", "self.b", "self.c", false,
			"y, t = pl.submit(self.a, y)\nfor i in pl.range(4):\n    y, t = pl.submit(self.b, y)\nz, _ = pl.submit(self.c, z, deps=[t])"},
		{"keywords take the place of their parameters", "y = self.k(x, o=y)\nz = self.k(o=z, a=y)", "self.k(x", "self.k(o", false,
			"y, k_tid = pl.submit(self.k, x, y)\nz, _ = pl.submit(self.k, y, z, deps=[k_tid])"},
		{"a function that is not known here", "y = self.a(x, o=y)\nz = self.b(z)", "self.a", "self.b", false, ""},
		{"a parameter between is left out", "y = self.k(o=y)\nz = self.b(z)", "self.k", "self.b", false, ""},
		{"no parameter of this name", "y = self.k(x, q=y)\nz = self.b(z)", "self.k", "self.b", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			indent := func(s string) string {
				return "def k(self, a, o):\n    return o\ndef main(x, y):\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n"
			}
			src := indent(c.body)
			f, ds := syntax.Parse("p.py", []byte(src))
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			got := Order(f, at(src, c.first), at(src, c.second), c.carried)
			if c.want == "" || len(got) == 0 {
				if (c.want == "") != (len(got) == 0) {
					t.Errorf("%v, want %q", got, c.want)
				}
				return
			}
			if text := string(diag.Apply([]byte(src), got[0])); text != indent(c.want) {
				t.Errorf("got\n%swant\n%s", text, indent(c.want))
			}
		})
	}
}

func TestRing(t *testing.T) {
	for _, c := range []struct{ body, first, second, want string }{
		{"for i in pl.range(8):\n    b = self.fill(b)\n    y = self.use(b, y)", "self.use", "self.fill",
			"use_tids = pl.array.create(2, pl.TASK_ID)\nfor i in pl.range(8):\n    b, _ = pl.submit(self.fill, b, deps=[use_tids[i % 2]])\n    y, use_tid = pl.submit(self.use, b, y)\n    use_tids[i % 2] = use_tid"},
		{"for j in pl.range(2):\n    for i in pl.range(n, 8):\n        y, t = pl.submit(self.use, b, y, deps=[u])\n        b = self.fill(b)", "pl.submit", "self.fill",
			"ts = pl.array.create(3, pl.TASK_ID)\nfor j in pl.range(2):\n    for i in pl.range(n, 8):\n        y, t = pl.submit(self.use, b, y, deps=[u])\n        ts[i % 3] = t\n        b, _ = pl.submit(self.fill, b, deps=[ts[(i + 1) % 3]])"},
		{"for i in pl.range(8):\n    y = self.use(y)", "self.use", "self.use",
			"use_tids = pl.array.create(2, pl.TASK_ID)\nfor i in pl.range(8):\n    y, use_tid = pl.submit(self.use, y, deps=[use_tids[i % 2]])\n    use_tids[i % 2] = use_tid"},
		{"for i in pl.range(0, 8, 2):\n    y = self.use(y)", "self.use", "self.use", ""},
		{"while n > 0:\n    y = self.use(y)", "self.use", "self.use", ""},
	} {
		indent := func(s string) string { return "def main(x, y):\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n" }
		src := indent(c.body)
		f, ds := syntax.Parse("p.py", []byte(src))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		es := Ring(f, at(src, c.first), at(src, c.second), 2)
		if c.want == "" || len(es) == 0 {
			if c.want != "" || len(es) > 0 {
				t.Errorf("%q: %v", c.body, es)
			}
			continue
		}
		if got := string(diag.Apply([]byte(src), es)); got != indent(c.want) {
			t.Errorf("got\n%swant\n%s", got, indent(c.want))
		}
	}
}

// TestThrough: TaskIds that enter and leave inline functions.
func TestThrough(t *testing.T) {
	const functions = `def one(self, a, o: T) -> T:
    o = self.k(a, o)
    return o

def many(self, a, o: T) -> T:
    for k in pl.range(3):
        o = self.m(a, o)
    return o

def two(self, a: T) -> tuple[T, T]:
    if n > 0:
        a, b = pl.submit(self.k, a)
    p = self.m(a)
    return a, p

`
	for _, c := range []struct {
		name, body    string
		first, second string
		carried       bool
		want          []string // lines after the change that were not there before; none: there is no way
	}{
		{"out of a function", "y = self.one(x, y)\nz = self.b(y, z)\nz = self.one(y, z)", "o = self.k", "self.b", false, []string{
			"def one(self, a, o: T) -> tuple[T, pl.TaskId]:", "o, k_tid = pl.submit(self.k, a, o)", "return o, k_tid",
			"y, one_tid = self.one(x, y)", "z, _ = pl.submit(self.b, y, z, deps=[one_tid])", "z, _ = self.one(y, z)"}},
		{"into a function", "y = self.b(x, y)\nz = self.one(y, z)\ny = self.one(x, y)", "self.b", "o = self.k", false, []string{
			"def one(self, a, o: T, after: pl.TaskId) -> T:", "o, _ = pl.submit(self.k, a, o, deps=[after])",
			"y, b_tid = pl.submit(self.b, x, y)", "z = self.one(y, z, b_tid)", "y = self.one(x, y, None)"}},
		{"from one call to the next", "y = self.one(x, y)\nz = self.one(y, z)", "o = self.k", "o = self.k", false, []string{
			"def one(self, a, o: T, after: pl.TaskId) -> tuple[T, pl.TaskId]:", "o, k_tid = pl.submit(self.k, a, o, deps=[after])", "return o, k_tid",
			"y, one_tid = self.one(x, y, None)", "z, _ = self.one(y, z, one_tid)"}},
		{"from trip to trip", "for i in pl.range(4):\n    y = self.one(x, y)", "o = self.k", "o = self.k", true, []string{
			"def one(self, a, o: T, after: pl.TaskId) -> tuple[T, pl.TaskId]:", "o, k_tid = pl.submit(self.k, a, o, deps=[after])", "return o, k_tid",
			"one_tid = None", "y, one_tid = self.one(x, y, one_tid)"}},
		{"from trip to trip, and from call to call", "for i in pl.range(4):\n    y = self.many(x, y)", "o = self.m", "o = self.m", true, []string{
			"def many(self, a, o: T, after: pl.TaskId) -> tuple[T, pl.TaskId]:", "m_tid = after", "o, m_tid = pl.submit(self.m, a, o, deps=[m_tid])", "return o, m_tid",
			"many_tid = None", "y, many_tid = self.many(x, y, many_tid)"}},
		{"between two functions, out of a branch", "y, z = self.two(y)\ny = self.one(z, y)", "a, b = pl.submit", "o = self.k", false, []string{
			"def one(self, a, o: T, after: pl.TaskId) -> T:", "o, _ = pl.submit(self.k, a, o, deps=[after])",
			"def two(self, a: T) -> tuple[T, T, pl.TaskId]:", "b = None", "return a, p, b", "y, z, two_tid = self.two(y)", "y = self.one(z, y, two_tid)"}},
		{"a call inside of an expression", "y = self.one(x, y)\nz = self.b(self.one(y, z))", "o = self.k", "self.b", false, nil},
		{"a function that nobody calls", "z = self.b(y, z)", "o = self.k", "self.b", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := functions + "def main(self, x, y, z):\n    " + strings.ReplaceAll(c.body, "\n", "\n    ") + "\n"
			f, ds := syntax.Parse("p.py", []byte(src))
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			all := Through(f, at(src, c.first), at(src, c.second), c.carried)
			if len(c.want) == 0 || len(all) == 0 {
				if len(c.want) > 0 || len(all) > 0 {
					t.Errorf("%v, want %q", all, c.want)
				}
				return
			}
			// The calls are candidates in turn; one of them is meant.
			before := strings.Split(src, "\n")
			var texts []string
			for _, es := range all {
				text := string(diag.Apply([]byte(src), es))
				texts = append(texts, text)
				var got []string
				for l := range strings.SplitSeq(text, "\n") {
					if !slices.Contains(before, l) {
						got = append(got, strings.TrimSpace(l))
					}
				}
				slices.Sort(got)
				want := slices.Sorted(slices.Values(c.want))
				if slices.Equal(got, want) {
					return
				}
			}
			t.Errorf("got\n%s", strings.Join(texts, "\n-----\n"))
		})
	}
}

func TestAuto(t *testing.T) {
	src := `def main(x, y):
    with pl.manual_scope():
        y = self.a(x, y)

        with pl.manual_scope():
            for i in pl.range(3):
                y = self.b(x,
                           y)
            x = 1
        y = self.c(x, y)
    return y
`
	want := `def main(x, y):
    y = self.a(x, y)

    for i in pl.range(3):
        y = self.b(x,
                   y)
    x = 1
    y = self.c(x, y)
    return y
`
	f, ds := syntax.Parse("p.py", []byte(src))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if got := string(diag.Apply([]byte(src), Auto(f, at(src, "y = self.b"))[0])); got != want {
		t.Errorf("got\n%s", got)
	}
}

// The MANUAL scope stands around the calls of the function.
func TestAutoOfCaller(t *testing.T) {
	src := `def one(a):
    a = self.k(a)
    return a
def main(x, y):
    with pl.manual_scope():
        y = self.one(x)
        x = self.one(y)
    with pl.manual_scope():
        y = self.one(x)
    return y
`
	f, ds := syntax.Parse("p.py", []byte(src))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	got := Auto(f, at(src, "a = self.k"))
	if len(got) != 2 || !strings.Contains(string(diag.Apply([]byte(src), got[0])), "def main(x, y):\n    y = self.one(x)\n    x = self.one(y)\n    with") {
		t.Errorf("%v", got)
	}
}

func TestDirectionAndTracking(t *testing.T) {
	src := `class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T], p: pl.InOut[pl.Tensor[[4], pl.FP32]]) -> T:
        return o

    def main(self, a: T):
        t = pl.create_tensor([4], dtype=pl.FP32, manual_dep=True)
        y = self.k(pl.no_dep(a), t, pl.no_dep(t))
        with pl.at(level=L, no_dep_args=[a]):
            y = pl.store(a, [0], y)
`
	f, ds := syntax.Parse("p.py", []byte(src))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	for _, c := range []struct {
		edits    Edits
		old, new string
	}{
		{Direction(f, at(src, "def k"), "a", "InOut"), "a: T, o", "a: pl.InOut[T], o"},
		{Direction(f, at(src, "def k"), "o", "InOut"), "o: pl.Out[T]", "o: pl.InOut[T]"},
		{Direction(f, at(src, "def k"), "p", "Out"), "pl.InOut[pl.Tensor", "pl.Out[pl.Tensor"},
		{Direction(f, at(src, "def k"), "q", "Out"), "", ""},
		{Track(f, at(src, "self.k")), "self.k(pl.no_dep(a), t, pl.no_dep(t))", "self.k(a, t, t)"},
		{Track(f, at(src, "pl.at")), ", no_dep_args=[a]", ""},
		{Untrack(f, at(src, "self.k"), "o"), "self.k(pl.no_dep(a), t, ", "self.k(pl.no_dep(a), pl.no_dep(t), "},
		{Untrack(f, at(src, "self.k"), "a"), "", ""},
		{Managed(f, at(src, "create_tensor")), "manual_dep=True", "manual_dep=False"},
	} {
		if got, want := string(diag.Apply([]byte(src), c.edits)), strings.Replace(src, c.old, c.new, 1); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
