# Loops that carry values, branches that yield, and both kinds of while.
import pypto.language as pl


@pl.program
class Phi:
    @pl.function(type=pl.FunctionType.InCore)
    def sum(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        seed = pl.load(x, [0, 0], [16, 64])
        step = pl.load(x, [0, 0], [16, 64])
        for i, (acc,) in pl.range(8, init_values=(seed,)):
            if i == 0:
                nxt: pl.Tile[[16, 64], pl.FP32] = pl.yield_(pl.mul(acc, 1.0))
            else:
                nxt: pl.Tile[[16, 64], pl.FP32] = pl.yield_(pl.add(acc, step))
            total = pl.yield_(nxt)
        y = pl.store(total, [0, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, c: pl.Tensor[[8], pl.INT32], x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        i = 0
        while i < n:
            y = self.sum(x, y)
            i = i + 1
        for (j, k) in pl.while_(init_values=(0, n)):
            pl.cond(j < k)
            y = self.sum(x, y)
            j1, k1 = pl.yield_(j + 1, k)
        if j1 > 2:
            m = n
        elif j1 == 1:
            m = n + 1
        else:
            m = 0
        for p in pl.pipeline(0, m, 2, stage=2):
            y = self.sum(x, y)
        a, b = m, n
        a, b = b, a
        for q in pl.range(a, b):
            v = c[q]
            if v > 3:
                y = self.sum(x, y)
        return y
