# Leaving loops early, in all kinds of functions. Where an op may stand is not a matter of the front end.
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]) -> T:
        return pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)

    @pl.function
    def opq(self, x: T, n: pl.Scalar[pl.INDEX]) -> T:
        y = x
        for i in pl.range(n):
            if i > 4:
                break
            if i == 2:
                continue
            y = pl.add(y, x)
        z = pl.load(y, [0, 0], [16, 16])
        return y

    @pl.function(type=pl.FunctionType.Inline)
    def left(self, x: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]) -> T:
        for i in pl.range(n):
            if i > 4:
                break
            if i == 2:
                continue
            o = self.k(x, o, i)
        while n > 3:
            n = n - 1
            o = self.k(x, o, n)
            if n == 7:
                break
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, o: pl.Out[T]) -> T:
        z = pl.load(x, [0, 0], [16, 16])
        o = self.left(x, o, 9)
        return o
