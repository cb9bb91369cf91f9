package edit

import (
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
		{"an array of ids", "y, t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.c, deps=ids)", "self.a", "self.c", false,
			"y, t = pl.submit(self.a, x, y)\nz, _ = pl.submit(self.c, deps=[ids, t])"},
		{"over several lines, with comments", "y, _ = pl.submit(\n    self.a, x, y,  # reads x\n)\nz = self.b(\n    y,\n    z,\n)", "y, _", "self.b", false,
			"y, a_tid = pl.submit(\n    self.a, x, y,  # reads x\n)\nz, _ = pl.submit(self.b, y,\n    z, deps=[a_tid],\n)"},
		{"blocks", "with pl.at(level=L):\n    y = pl.store(v, [0], y)\nwith pl.spmd(4) as s:\n    z = self.b(z)", "pl.at", "pl.spmd", false,
			"with pl.at(level=L) as tid:\n    y = pl.store(v, [0], y)\nwith pl.spmd(4, deps=[tid]) as s:\n    z = self.b(z)"},
		{"a place inside of a block", "with pl.at(level=L):\n    y = pl.store(v, [0], y)\nz = self.b(z)", "pl.store", "self.b", false,
			"with pl.at(level=L) as tid:\n    y = pl.store(v, [0], y)\nz, _ = pl.submit(self.b, z, deps=[tid])"},
		{"a grid loop can wait", "y = self.a(y)\nfor i in pl.spmd(4):\n    z = pl.store(v, [i], z)", "self.a", "pl.spmd", false,
			"y, a_tid = pl.submit(self.a, y)\nfor i in pl.spmd(4, deps=[a_tid]):\n    z = pl.store(v, [i], z)"},
		{"but has no id", "for i in pl.spmd(4):\n    z = pl.store(v, [i], z)\ny = self.a(y)", "pl.spmd", "self.a", false, ""},
		{"a branch", "if n > 0:\n    y = self.a(y)\nz = self.b(y, z)", "self.a", "self.b", false,
			"a_tid = None\nif n > 0:\n    y, a_tid = pl.submit(self.a, y)\nz, _ = pl.submit(self.b, y, z, deps=[a_tid])"},
		{"the last trip", "for i in pl.range(4):\n    y = self.a(y)", "self.a", "self.a", true,
			"a_tid = None\nfor i in pl.range(4):\n    y, a_tid = pl.submit(self.a, y, deps=[a_tid])"},
		{"an id that has a value before the loop", "y, t = pl.submit(self.a, y)\nfor i in pl.range(4):\n    y, t = pl.submit(self.b, y)\nz = self.c(z)", "self.b", "self.c", false,
			"y, t = pl.submit(self.a, y)\nfor i in pl.range(4):\n    y, t = pl.submit(self.b, y)\nz, _ = pl.submit(self.c, z, deps=[t])"},
		{"keywords cannot be passed on", "y = self.a(x, o=y)\nz = self.b(z)", "self.a", "self.b", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			indent := func(s string) string { return "def main(x, y):\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n" }
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
		{Managed(f, at(src, "create_tensor")), "manual_dep=True", "manual_dep=False"},
	} {
		if got, want := string(diag.Apply([]byte(src), c.edits)), strings.Replace(src, c.old, c.new, 1); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
