import pypto.language as pl

T = pl.Tensor[[64, 64], pl.FP32]


@pl.program
class Sample:
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

    @pl.function(type=pl.FunctionType.AIV)
    def rows(self, x: pl.Tensor[[16, 64], pl.FP32], at: pl.Scalar[pl.INDEX], out: pl.InOut[T]) -> T:
        a = pl.load(x, [0, 0], [16, 64])
        out = pl.store(a, [at, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, n: pl.Scalar[pl.INDEX], out: pl.InOut[T]) -> T:
        t = pl.create_tensor([64, 64], dtype=pl.FP32)
        t = self.add(a, b, t)
        out = self.double(t, out)
        for i in pl.range(4):
            w = pl.slice(t, [16, 64], [i * 16, 0])
            out = self.rows(w, i * 16, out)
        if n > 2:
            out = self.add(out, b, out)
        with pl.manual_scope():
            u = pl.create_tensor([64, 64], dtype=pl.FP32)
            u, tid = pl.submit(self.double, a, u)
            out, _ = pl.submit(self.add, u, b, out, deps=[tid])
        return out
