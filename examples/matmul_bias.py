"""Tiled matrix multiplication on the cube core, followed by a bias add on the vector core."""

import pypto.language as pl

from shapes import K, M, N, TILE

K_TILES = K // TILE


@pl.program
class MatmulBias:
    @pl.function(type=pl.FunctionType.InCore)
    def matmul_tile(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        row: pl.Scalar[pl.INDEX],
        col: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        a0 = pl.load(a, [row, 0], [TILE, TILE], target_memory=pl.Mem.Mat)
        b0 = pl.load(b, [0, col], [TILE, TILE], target_memory=pl.Mem.Mat)
        first = pl.matmul(pl.move(a0, target_memory=pl.Mem.Left), pl.move(b0, target_memory=pl.Mem.Right))
        for k, (acc,) in pl.range(1, K_TILES, init_values=(first,)):
            ak = pl.load(a, [row, k * TILE], [TILE, TILE], target_memory=pl.Mem.Mat)
            bk = pl.load(b, [k * TILE, col], [TILE, TILE], target_memory=pl.Mem.Mat)
            nxt = pl.matmul_acc(acc, pl.move(ak, target_memory=pl.Mem.Left), pl.move(bk, target_memory=pl.Mem.Right))
            total = pl.yield_(nxt)
        c = pl.store(total, [row, col], c)
        return c

    @pl.function(type=pl.FunctionType.InCore)
    def bias_tile(
        self,
        c: pl.Tensor[[M, N], pl.FP32],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        row: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        v = pl.load(c, [row, 0], [TILE, N])
        b = pl.load(bias, [0, 0], [1, N])
        out = pl.store(pl.col_expand_add(v, b), [row, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def matmul_bias(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        c = pl.create_tensor([M, N], dtype=pl.FP32)
        for i in pl.parallel(0, M, TILE):
            for j in pl.parallel(0, N, TILE):
                c = self.matmul_tile(a, b, c, i, j)
        for i in pl.parallel(0, M, TILE):
            out = self.bias_tile(c, bias, out, i)
        return out
