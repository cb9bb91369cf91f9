package syntax

import (
	"os"
	"strings"
	"testing"
)

// kernel is DSL code as users write it.
const kernel = `
@pl.jit.inline
def attention(q: pl.Tensor[[B, HEADS * HEAD_DIM], pl.BF16], k: pl.Tensor[[B, 128], pl.BF16], out: pl.Out[pl.Tensor[[B, 128], pl.BF16]]):
    """Scores and weights of one block."""
    rows = pl.tensor.dim(q, 0)
    for i in pl.parallel(0, rows, TILE):  # one block of rows
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="scores") as tid:
            tile = pl.cast(q[i : i + TILE, 0 : HEAD_DIM], target_type=pl.FP32)
            scores = pl.mul(pl.matmul(tile, k[i : i + TILE, :], b_trans=True), SCALE)
            row_max = pl.maximum(pl.row_max(scores), pl.full([TILE, 1], dtype=pl.FP32, value=-1.0e30))
            if i * TILE + 16 < rows and HEADS // 2 > 0:
                scores = pl.exp(pl.row_expand_sub(scores, row_max))
            out[i : i + TILE, :] = pl.cast(pl.div(scores, pl.row_sum(scores)), pl.BF16, mode="rint")
        tids[i // TILE] = tid
    return out
`

func BenchmarkParse(b *testing.B) {
	grammar, err := os.ReadFile("testdata/grammar.py")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		src  []byte
	}{
		{"kernels", []byte(strings.Repeat(kernel, 200))},
		{"grammar", grammar},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := Parse("a.py", c.src); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	text, _ := sourceText("a.py", []byte(strings.Repeat(kernel, 200)))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := newScanner("a.py", text)
		for s.next(); s.tok != tEOF; s.next() {
		}
	}
}
