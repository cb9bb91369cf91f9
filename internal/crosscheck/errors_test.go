package crosscheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/passes"
)

// what a user can do wrong, by entry of the acceptance list, with the words that the report must have; it must stand at the line marked "# here".
// The entries E-01, E-02, E-05, E-06, E-21 to E-23 are about broken invariants; passes/lower tests them.
func TestErrorList(t *testing.T) {
	const params = "self, x: T, y: pl.InOut[T], c: pl.InOut[C], n: pl.Scalar[pl.INDEX]"
	for _, tt := range []struct {
		id, want, body string
	}{
		{"E-03", "Misplaced tensor op", `
            z = pl.add(x, y) # here
            y = self.copy(z, y)`},
		{"E-04", "Misplaced", `
            v = pl.load(x, [0, 0], [16, 16]) # here`},
		{"E-07 C-SUB-03", "only Out params may be runtime-allocated", `
            y, t = pl.submit(self.acc, x) # here`},
		{"E-08 C-DEP-08 loop body", "cannot be honored", `
            with pl.manual_scope():
                for i in pl.range(2):
                    y, t = pl.submit(self.acc, x, y) # made
                y, _ = pl.submit(self.acc, x, y, deps=[t]) # here or made`},
		{"E-08 C-DEP-08 branch", "cannot be honored", `
            if n > 1:
                y, t = pl.submit(self.acc, x, y)
            y, _ = pl.submit(self.acc, x, y, deps=[t]) # here or made`},
		{"E-09", "statically-known trip count", `
            with pl.manual_scope():
                t = None
                for i in pl.parallel(n): # here
                    y, t = pl.submit(self.acc, x, y, deps=[t])
                y, _ = pl.submit(self.acc, x, y, deps=[t])`},
		{"E-10 not a comparison", "comparison", `
            y, t = pl.submit(self.acc, x, y, predicate=c[0, 0]) # here`},
		{"E-10 not a literal", "literal", `
            y, t = pl.submit(self.acc, x, y, predicate=(c[0, 0] > n)) # here`},
		{"E-10 dtype", "signed 8/16/32/64-bit", `
            y, t = pl.submit(self.acc, x, y, predicate=(x[0, 0] > 0)) # here`},
		{"E-10 negative index", "negative", `
            y, t = pl.submit(self.acc, x, y, predicate=(c[-1, 0] > 0)) # here`},
		{"E-11 level", "CORE_GROUP", `
            with pl.at(level=pl.Level.CHIP, predicate=(c[0, 0] > 0)): # here
                y = self.acc(x, y)`},
		{"E-12 chained", "comparison", `
            y, t = pl.submit(self.acc, x, y, predicate=(0 < c[0, 0] < 3)) # here`},
		{"E-12 arithmetic", "", `
            y, t = pl.submit(self.acc, x, y, predicate=(c[0, 0] + 1 > 0)) # here`},
		{"E-12 boolean", "comparison", `
            y, t = pl.submit(self.acc, x, y, predicate=(c[0, 0] > 0 and c[1, 0] > 0)) # here`},
		{"E-13 fraction", "is not an integer", `
            t = pl.create_tensor([8, 8], dtype=pl.INT32, init_value=1.5) # here
            t = self.bump(t)`},
		{"E-13 NaN", "must be finite", `
            t = pl.create_tensor([16, 16], dtype=pl.FP32, init_value=float("nan")) # here
            y = self.acc(t, y)`},
		{"E-13 half", "sub-32-bit float", `
            t = pl.create_tensor([16, 16], dtype=pl.FP16, init_value=1.0) # here
            pl.write(t, [0, 0], 1.0)`},
		{"E-13 large", "exactly-representable", `
            t = pl.create_tensor([8, 8], dtype=pl.INT64, init_value=9007199254740993) # here
            pl.write(t, [0, 0], 1)`},
		{"E-14", "must be different", `
            t = pl.transpose(x, 0, 0) # here
            y = self.acc(t, y)`},
		{"E-14 range", "out of range", `
            t = pl.transpose(x, 0, 2) # here
            y = self.acc(t, y)`},
		{"E-15 C-OPS-05", "cannot combine", `
            t = pl.tensor.view(x, [16, 16], layout=pl.TensorLayout.DN) # here
            y = self.acc(t, y)`},
		{"E-17 C-OPS-07", "cannot change the element dtype", `
            t = pl.tensor.reinterpret_view(x, pl.INT32) # here
            pl.write(c, [0, 0], pl.read(t, [0, 0]))`},
		{"E-19", "core_num", `
            y, t = pl.spmd_submit(self.acc, x, y, core_num=1.5) # here`},
		{"E-20 P-FUS-07", "only supported inside an InCore function", `
            t = pl.create_tensor([4, 16], dtype=pl.FP32)
            t = self.qupd(t)
            y = pl.assemble(y, t, [0, 0], atomic=pl.AtomicType.Add) # here`},
		{"E-27 break", "break", `
            for i in pl.range(4):
                if i > n:
                    break # here
                y = self.acc(x, y)`},
		{"E-28 C-DEP-12", "pl.submit", `
            y, t = pl.submit(self.acc, x, y)
            y = self.acc(x, y, deps=[t]) # here`},
		{"E-29 C-DEP-13", "bare tensor names", `
            y, t = pl.submit(self.acc, x, y, deps=[x]) # here`},
		{"E-26 P-SCO-04", "auto_scope=False", `
            with pl.scope(): # here
                y = self.acc(x, y)`},
		{"E-30 P-OUT-12", "is not captured by the scope body", `
            with pl.at(level=pl.Level.CORE_GROUP, no_dep_args=[x]): # here
                y = pl.store(pl.add(pl.load(y, [0, 0], [16, 16]), 1.0), [0, 0], y)`},
	} {
		t.Run(tt.id, func(t *testing.T) {
			head, _, _ := strings.Cut(kernels, "    @pl.function(type=pl.FunctionType.Orchestration)")
			src := head + "    @pl.function(type=pl.FunctionType.Orchestration)\n    def main(" + params + ") -> T:" +
				strings.ReplaceAll(tt.body, "\n            ", "\n        ") + "\n        return y\n"
			_, _, p := build(src, passes.Options{})
			if p == nil {
				t.Fatal("no error")
			}
			var lines []int
			for i, l := range strings.Split(src, "\n") {
				if strings.Contains(l, "# here") || strings.Contains(tt.body, "here or made") && strings.Contains(l, "# made") {
					lines = append(lines, i+1)
				}
			}
			ok := slices.ContainsFunc(p.reports, func(d *diag.Diagnostic) bool {
				return d.Severity == diag.Error && d.Span.File == "random.py" && slices.Contains(lines, int(d.Span.Line)) && d.Span.Col > 0 &&
					strings.Contains(d.Message+d.Hint, tt.want)
			})
			if !ok {
				t.Errorf("want %q at line %v, got:\n%s", tt.want, lines, p.reports.Error())
			}
		})
	}
}
