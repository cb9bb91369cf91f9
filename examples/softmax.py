"""Row softmax over a dynamic number of rows, in the style of model code: one jit entry and an inline helper."""

import pypto.language as pl

B = pl.dynamic("B")
WIDTH = 128
TILE = 16


@pl.jit.inline
def softmax_block(x: pl.Tensor[[B, WIDTH], pl.FP32], out: pl.Tensor[[B, WIDTH], pl.FP32], row: pl.Scalar[pl.INDEX]):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="softmax_block"):
        v = x[row : row + TILE, :]
        e = pl.exp(pl.row_expand_sub(v, pl.row_max(v)))
        out[row : row + TILE, :] = pl.row_expand_div(e, pl.row_sum(e))
    return out


@pl.jit
def softmax_rows(x: pl.Tensor[[B, WIDTH], pl.FP32], out: pl.Out[pl.Tensor[[B, WIDTH], pl.FP32]]):
    rows = pl.tensor.dim(x, 0)
    for row in pl.parallel(0, rows, TILE):
        out = softmax_block(x, out, row)
    return out
