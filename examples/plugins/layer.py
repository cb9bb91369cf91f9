# Root mean square normalisation with the plugin norm: norm.rows picks a block of rows in the orchestration, norm.rms normalises it in the kernel, and its pass
# makes a gain of the factor behind it.
import pypto.language as pl

X = pl.Tensor[[64, 64], pl.FP32]
Rows = pl.Tensor[[16, 64], pl.FP32]


@pl.program
class Layer:
    @pl.function(type=pl.FunctionType.AIV)
    def normalise(self, x: Rows, row: pl.Scalar[pl.INDEX], out: pl.InOut[X]) -> X:
        tile = pl.load(x, [0, 0], [16, 64])
        out = pl.store(pl.mul(pl.norm.rms(tile), 0.5), [row, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def layer(self, x: X, out: pl.Out[X]) -> X:
        for i in pl.range(4):
            rows = pl.norm.rows(x, i * 16)
            out = self.normalise(rows, i * 16, out)
        return out
