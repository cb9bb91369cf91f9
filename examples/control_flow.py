"""A loop that carries two buffers which swap roles, and an if that merges a tensor and a scalar."""

import pypto.language as pl


@pl.program
class ControlFlow:
    @pl.function(type=pl.FunctionType.InCore)
    def double(
        self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        v = pl.load(x, [0, 0], [16, 16])
        out = pl.store(pl.add(v, v), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def accumulate(
        self, x: pl.Tensor[[16, 16], pl.FP32], acc: pl.InOut[pl.Tensor[[16, 16], pl.FP32]]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        v = pl.load(x, [0, 0], [16, 16])
        s = pl.load(acc, [0, 0], [16, 16])
        acc = pl.store(pl.add(v, s), [0, 0], acc)
        return acc

    @pl.function(type=pl.FunctionType.InCore)
    def scale_rows(
        self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]], rows: pl.Scalar[pl.INDEX]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        v = pl.load(x, [0, 0], [16, 16])
        w = pl.mul(v, 0.5)
        out = pl.store(v, [0, 0], out)
        for r, (o,) in pl.range(rows, init_values=(out,)):
            row = pl.slice(w, [1, 16], [r, 0])
            o = pl.store(row, [r, 0], o)
            done = pl.yield_(o)
        return done

    @pl.function(type=pl.FunctionType.Orchestration)
    def loop(
        self, x: pl.Tensor[[16, 16], pl.FP32], acc: pl.InOut[pl.Tensor[[16, 16], pl.FP32]], trips: pl.Scalar[pl.INDEX]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        spare = pl.create_tensor([16, 16], dtype=pl.FP32)
        cur = pl.create_tensor([16, 16], dtype=pl.FP32)
        cur = self.double(x, cur)
        read = None
        for i in pl.range(trips):
            # spare is what the trip before accumulated from: that task has to be done with it
            nxt, _ = pl.submit(self.double, cur, spare, deps=[read])
            acc, read = pl.submit(self.accumulate, cur, acc)
            spare = cur  # the two buffers swap roles from trip to trip
            cur = nxt
        return acc

    @pl.function(type=pl.FunctionType.Orchestration)
    def branch(
        self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        doubled = pl.create_tensor([16, 16], dtype=pl.FP32)
        if n > 3:
            doubled = self.double(x, doubled)
            src = doubled
            rows = n * 2
        else:
            src = x
            rows = n
        out = self.scale_rows(src, out, rows)
        return out
