"""Elementwise add, written as a block that the compiler outlines into a vector kernel."""

import pypto.language as pl

ROWS = 128
COLS = 64
TILE = 32


@pl.program
class Add:
    @pl.function(type=pl.FunctionType.Orchestration)
    def add(
        self,
        a: pl.Tensor[[ROWS, COLS], pl.FP32],
        b: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        for i in pl.parallel(0, ROWS, TILE):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_rows"):
                va = pl.load(a, [i, 0], [TILE, COLS])
                vb = pl.load(b, [i, 0], [TILE, COLS])
                out = pl.store(pl.add(va, vb), [i, 0], out)
        return out
