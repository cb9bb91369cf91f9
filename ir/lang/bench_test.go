package lang_test

import (
	"fmt"
	"strings"
	"testing"
)

// bigProgram has one orchestration function of about 4n statements.
func bigProgram(n int) string {
	var b strings.Builder
	b.WriteString(header + "\n@pl.program\nclass Program:" + kernels)
	b.WriteString("    @pl.function(type=pl.FunctionType.Orchestration)\n    def main(self, x: T, y: pl.InOut[T], n: pl.Scalar[pl.INDEX]):\n        t0 = None\n")
	for i := range n {
		fmt.Fprintf(&b, "        b%d = pl.create_tensor([16, 16], dtype=pl.FP32)\n", i)
		fmt.Fprintf(&b, "        b%d, t%d = pl.submit(self.k, x, b%d, deps=[t%d])\n", i, i+1, i, i)
		fmt.Fprintf(&b, "        if n > %d:\n            y = self.ks(b%d, y, n * 2 + %d)\n", i, i, i)
	}
	b.WriteString("        return y\n")
	return b.String()
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		src := bigProgram(n)
		b.Run(fmt.Sprintf("%d lines", strings.Count(src, "\n")), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := load(src); errs.HasErrors() {
					b.Fatal(errs)
				}
			}
		})
	}
}
