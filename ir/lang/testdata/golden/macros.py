# Macros inside of expressions.
import pypto.language as pl


@pl.inline
def sq(t):
    u = pl.mul(t, t)
    return u


@pl.inline
def both(t, s):
    return pl.add(t, s), pl.sub(t, s)


@pl.inline
def idx(i):
    return i * 16


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[64, 64], pl.FP32]:
        t = pl.load(x, [idx(n), 0], [16, 64])
        v = pl.add(sq(t), sq(pl.exp(t)))
        a, b = both(v, 1.0)
        c = both(v, 2.0)[1]
        if idx(n) > 32:
            v = pl.add(v, c)
        for i in pl.range(idx(1)):
            v = pl.add(v, sq(a))
        return pl.store(sq(v), [idx(n), 0], o)
