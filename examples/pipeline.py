"""A double-buffered pipeline: load into one buffer while the other is consumed, ordered by TaskIds kept in two arrays."""

import pypto.language as pl

TILES = 6
ROWS = 16
WIDTH = 32


@pl.program
class Pipeline:
    @pl.function(type=pl.FunctionType.InCore)
    def fetch(
        self,
        x: pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32],
        row: pl.Scalar[pl.INDEX],
        buf: pl.Out[pl.Tensor[[2 * ROWS, WIDTH], pl.FP32]],
        slot: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[2 * ROWS, WIDTH], pl.FP32]:
        v = pl.load(x, [row, 0], [ROWS, WIDTH])
        buf = pl.store(pl.mul(v, 2.0), [slot * ROWS, 0], buf)
        return buf

    @pl.function(type=pl.FunctionType.InCore)
    def consume(
        self,
        buf: pl.Tensor[[2 * ROWS, WIDTH], pl.FP32],
        slot: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32]],
        row: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32]:
        v = pl.load(buf, [slot * ROWS, 0], [ROWS, WIDTH])
        out = pl.store(pl.add(v, 1.0), [row, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def pipeline(
        self,
        x: pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32],
        out: pl.Out[pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[TILES * ROWS, WIDTH], pl.FP32]:
        buf = pl.create_tensor([2 * ROWS, WIDTH], dtype=pl.FP32)
        with pl.manual_scope():
            used = pl.array.create(2, pl.TASK_ID)  # the task that last read each half of buf
            for t in pl.range(TILES):
                slot = t % 2
                free = used[slot]
                buf, filled = pl.submit(self.fetch, x, t * ROWS, buf, slot, deps=[free])
                out, done = pl.submit(self.consume, buf, slot, out, t * ROWS, deps=[filled])
                used[slot] = done
        return out
