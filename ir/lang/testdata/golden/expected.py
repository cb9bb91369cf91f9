# What tests of the reference write as the outcome of passes: versioned names, declared buffers, strict SSA.
import pypto.language as pl


@pl.program
class Expected:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a__ssa_v0: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INT64], ret0__out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        """One tile at a time."""
        buf = pl.MemRef("buf", slots=2)
        t0: pl.Tile[[64, 64], pl.FP32, buf[0], pl.Mem.Vec] = pl.load(a__ssa_v0, [0, 0], [64, 64], valid_shapes=[n, 64])
        # of the second slot
        t1: pl.Tile[[64, 64], pl.FP32, buf[1], pl.Mem.Vec] = pl.exp(t0)
        "a string on its own"
        s = pl.tile.full([64, 64], dtype=pl.FP32, value=0.0)
        s = pl.add(s, t1)
        if n > 0:
            s = pl.add(s, 1.0)
        elif n == -1:
            s = pl.add(s, 2.0)
        ret0__store: pl.Tensor[[64, 64], pl.FP32] = pl.store(s, [0, 0], ret0__out)
        return ret0__store

    @pl.function(strict_ssa=True)
    def main(self, a__ssa_v0: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INT64]) -> pl.Tensor[[64, 64], pl.FP32]:
        acc__ssa_v0: pl.Tensor[[64, 64], pl.FP32] = pl.create_tensor([64, 64], dtype=pl.FP32)
        for i__idx_v0, (acc__iter_v1,) in pl.range(n, init_values=(acc__ssa_v0,)):
            acc__ssa_v3: pl.Tensor[[64, 64], pl.FP32] = self.kernel(a__ssa_v0, n, acc__iter_v1)
            acc__rv_v2: pl.Tensor[[64, 64], pl.FP32] = pl.yield_(acc__ssa_v3)
        return acc__rv_v2
