"""out = alpha * x + y, in two tasks: edit it, and watch what `ptobuild watch` says."""

import pypto.language as pl

ROWS = 64
COLS = 32


@pl.program
class Hello:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        alpha: pl.Scalar[pl.FP32],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        v = pl.load(x, [0, 0], [ROWS, COLS])
        out = pl.store(pl.mul(v, alpha), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        y: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        a = pl.load(x, [0, 0], [ROWS, COLS])
        b = pl.load(y, [0, 0], [ROWS, COLS])
        out = pl.store(pl.add(a, b), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def scale_add(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        y: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        alpha: pl.Scalar[pl.FP32],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        scaled = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
        scaled = self.scale(x, scaled, alpha)
        out = self.add(scaled, y, out)
        return out
