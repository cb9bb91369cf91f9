# Two elementwise kernels, one after the other: plugin fuse makes one task of them.
import pypto.language as pl

T = pl.Tensor[[64, 64], pl.FP32]


@pl.program
class Chain:
    @pl.function(type=pl.FunctionType.AIV)
    def add(self, x: T, y: T, out: pl.Out[T]) -> T:
        a = pl.load(x, [0, 0], [64, 64])
        b = pl.load(y, [0, 0], [64, 64])
        out = pl.store(pl.add(a, b), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.AIV)
    def double(self, x: T, out: pl.Out[T]) -> T:
        a = pl.load(x, [0, 0], [64, 64])
        out = pl.store(pl.mul(a, 2.0), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chain(self, a: T, b: T, out: pl.Out[T]) -> T:
        t = pl.create_tensor([64, 64], dtype=pl.FP32)
        t = self.add(a, b, t)
        out = self.double(t, out)
        return out
