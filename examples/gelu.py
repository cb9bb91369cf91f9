"""A kernel written in C++ between two in the DSL: out = gelu(x + bias), the rows split over four blocks."""

import pypto.language as pl

ROWS, COLS, BLOCKS = 64, 128, 4

X = pl.Tensor[[ROWS, COLS], pl.FP32]


@pl.program
class Gelu:
    @pl.function(type=pl.FunctionType.InCore)
    def add_bias(self, x: X, bias: pl.Tensor[[1, COLS], pl.FP32], y: pl.Out[X]) -> X:
        v = pl.col_expand_add(pl.load(x, [0, 0], [ROWS, COLS]), pl.load(bias, [0, 0], [1, COLS]))
        return pl.store(v, [0, 0], y)

    @pl.function(type=pl.FunctionType.AIV, external_source="kernels/gelu.cpp")
    def gelu_rows(self, y: X, out: pl.Out[X], factor: pl.Scalar[pl.FP32]) -> X: ...

    @pl.function(type=pl.FunctionType.Orchestration)
    def gelu(self, x: X, bias: pl.Tensor[[1, COLS], pl.FP32], out: pl.Out[X]) -> X:
        y = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
        y = self.add_bias(x, bias, y)
        with pl.spmd(BLOCKS):
            out = self.gelu_rows(y, out, 0.044715)
        return out
