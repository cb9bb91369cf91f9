# Scopes and subscript sugar in a jit pair.
import pypto.language as pl

B = pl.dynamic("B")
TILE = 16


@pl.jit.inline
def half(x: pl.Tensor[[B, 128], pl.BF16], o: pl.Tensor[[B, 128], pl.BF16]):
    rows = pl.tensor.dim(x, 0)
    for i in pl.parallel(0, rows, TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="half"):
            v = pl.cast(x[i : i + TILE, :], pl.FP32)
            o[i : i + TILE, :] = pl.cast(pl.mul(v, 0.5), pl.BF16, mode="rint")
    return o


@pl.jit
def run(x: pl.Tensor[[B, 128], pl.BF16], o: pl.Out[pl.Tensor[[B, 128], pl.BF16]]):
    half(x, o)
    return o
