package passes

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
)

// A launch without results reads back from the dump as it was.
func TestDumpOfLaunchWithoutResults(t *testing.T) {
	p, ds := pipeline(t, `import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[16, 16], pl.FP32], y: pl.InOut[pl.Tensor[[16, 16], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="look"):
            v = pl.load(x, [0, 0], [16, 16])
        return y
`, Options{}, "OutlineIncoreScopes", nil, nil)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	text := ir.Print(p, ir.PrintOptions{})
	unit, ds := lang.Load("dump.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if ds.HasErrors() {
		t.Fatalf("%v\n%s", ds, text)
	}
	if back := unit.Programs[0]; !ir.Equal(p, back) {
		t.Errorf("%s\nof\n%s", ir.Diff(p, back), text)
	}
}
