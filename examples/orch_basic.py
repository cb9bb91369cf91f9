"""Two kernels through one local buffer: the complete example of the orchestration mission document."""

import pypto.language as pl


@pl.program
class Basic:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel_add(
        self,
        a: pl.Tensor[[16, 16], pl.FP32],
        b: pl.Tensor[[16, 16], pl.FP32],
        c: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        va = pl.load(a, [0, 0], [16, 16])
        vb = pl.load(b, [0, 0], [16, 16])
        c = pl.store(pl.add(va, vb), [0, 0], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def orch_basic(
        self,
        a: pl.Tensor[[16, 16], pl.FP32],
        b: pl.Tensor[[16, 16], pl.FP32],
        d: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        c: pl.Tensor[[16, 16], pl.FP32] = pl.create_tensor([16, 16], dtype=pl.FP32)
        c = self.kernel_add(a, b, c)  # c is internal (intermediate)
        d = self.kernel_add(c, b, d)  # d is external (Out param)
        return d
