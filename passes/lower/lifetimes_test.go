package lower_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// C-ALC-04, X-11: a buffer that outlives its scope moves out, or the user is told.
func TestTensorLifetime(t *testing.T) {
	const head = "def main(self, x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX]) -> T:\n    cur = x\n"
	const tail = "\n    y = self.k(cur, y)\n    return y\n"
	carried := func(loops string) string {
		indent := strings.Repeat("    ", strings.Count(loops, "\n")+2)
		return head + loops + "\n" + indent + "nxt = pl.create_tensor([16, 16], dtype=pl.FP32)\n" +
			indent + "nxt = self.k(cur, nxt)\n" + indent + "cur = nxt" + tail
	}
	for _, c := range []struct {
		name, src, hint string
		code            diag.Code // "": it is made right
	}{
		{"few trips", carried("    for i in pl.range(64):"), "", ""},
		{"branch", carried("    if n > 2:"), "", ""},
		{"branches", carried("    if n > 2:\n        if n > 3:"), "", ""},
		{"many trips", carried("    for i in pl.range(65):"), "swap them", lower.CodeTensorLifetime},
		{"unknown trips", carried("    for i in pl.range(n):"), "swap them", lower.CodeTensorLifetime},
		{"two loops", carried("    for i in pl.range(2):\n        for j in pl.range(2):"), "swap them", lower.CodeTensorLifetime},
		{"while", carried("    while n > 0:\n        n = n - 1\n        if n > 1:"), "swap them", lower.CodeTensorLifetime},
		{"within a trip", head + `    for i in pl.range(n):
        if i > 1:
            t = pl.create_tensor([16, 16], dtype=pl.FP32)
            t = self.k(x, t)
        else:
            t = y
        y = self.k(t, y)` + tail, "", ""},
		{"made by a submit", head + `    if n > 2:
        cur, made = pl.submit(self.k, x)` + tail, "pass it to the submit", lower.CodeTensorLifetime},
		{"made by a submit, used directly", "@pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)\n" + head + `    with pl.scope():
        cur, made = pl.submit(self.k, x)` + tail, "pass it to the submit", lower.CodeTensorScope},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, ds := compile(source(t, c.src), passes.Options{})
			if c.code == "" {
				if len(ds) > 0 {
					t.Errorf("got %v", ds)
				}
				return
			}
			if len(ds) != 1 || ds[0].Code != c.code || !strings.Contains(ds[0].Hint, c.hint) || len(ds[0].Related) != 1 {
				t.Errorf("got %v", ds)
			}
		})
	}
}

// 2087: columns of a tensor whose row length only the run knows.
func TestUnknownPitch(t *testing.T) {
	const head = "def main(self, a: pl.Tensor[[16, M], pl.FP32], b: pl.Tensor[[M, 16], pl.FP32], x: T, y: pl.Out[T]) -> T:\n"
	for _, c := range []struct {
		name, body string
		warnings   int
	}{
		{"columns", "    w = pl.slice(a, [16, 16], [0, 16])\n    y = self.k(w, y)\n    y = self.k(w, y)\n", 1},
		{"columns of a window", "    v = pl.slice(a, [16, 32], [0, 16])\n    w = pl.slice(v, [16, 16], [0, 0])\n    y = self.k(w, y)\n", 1},
		{"rows", "    w = pl.slice(b, [16, 16], [16, 0])\n    y = self.k(w, y)\n", 0},
		{"columns of known rows", "    w = pl.slice(x, [16, 16], [0, 0])\n    y = self.k(w, y)\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, ds := compile(source(t, head+c.body+"    return y\n"), passes.Options{})
			if len(ds) != c.warnings || len(ds) > 0 && (ds[0].Code != lower.CodePitch || !strings.Contains(ds[0].Message, `columns of "a"`)) {
				t.Errorf("got %v", ds)
			}
		})
	}
}
