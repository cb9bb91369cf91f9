# Rotary embedding with the ops of plugin rope. rope.table picks the rows of the table for the positions of a block, in the orchestration; rope.apply turns
# the pairs of columns of a tile, in the kernel.
import pypto.language as pl

BLOCK = 16

X = pl.Tensor[[64, 64], pl.FP32]
Table = pl.Tensor[[1024, 64], pl.FP32]
Rows = pl.Tensor[[BLOCK, 64], pl.FP32]


@pl.program
class Rotary:
    @pl.function(type=pl.FunctionType.AIV)
    def rotate(self, x: X, angles: Rows, row: pl.Scalar[pl.INDEX], out: pl.InOut[X]) -> X:
        tile = pl.load(x, [row, 0], [BLOCK, 64])
        turn = pl.load(angles, [0, 0], [BLOCK, 64])
        out = pl.store(pl.rope.apply(tile, turn), [row, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def rotary(self, x: X, table: Table, start: pl.Scalar[pl.INDEX], out: pl.Out[X]) -> X:
        for i in pl.range(4):
            angles = pl.rope.table(table, start + i * BLOCK, rows=BLOCK)
            out = self.rotate(x, angles, i * BLOCK, out)
        return out
