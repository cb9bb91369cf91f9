package lang_test

import (
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
)

// Dumps spell ops whose names are Python keywords with a trailing underscore, and only those; either spelling is read.
func TestOpNamesWithUnderscore(t *testing.T) {
	const src = `import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[16, 16], pl.FP32], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 16])
        b = pl.tile.abs(a)
        y = pl.store(b, [0, 0], y)
        return y
`
	var texts []string
	for _, spelling := range []string{"pl.tile.abs(", "pl.tile.abs_("} {
		u, errs := loadFiles(map[string]string{"test.py": strings.Replace(src, "pl.tile.abs(", spelling, 1)}, lang.Options{})
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		checkRoundTrip(t, u.Programs[0])
		texts = append(texts, ir.Print(u.Programs[0], ir.PrintOptions{}))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "pl.tile.abs(a)") {
		t.Errorf("%s\nand\n%s", texts[0], texts[1])
	}
}
