# Paged attention: bounds and offsets that are read from tensors.
import pypto.language as pl

BATCH = pl.dynamic("BATCH")
NB = pl.dynamic("NB")


@pl.program
class Paged:
    @pl.function(type=pl.FunctionType.AIC)
    def qk(self, qi: pl.Tensor[[16, 128], pl.BF16], kj: pl.Tensor[[128, 128], pl.BF16], sij: pl.Out[pl.Tensor[[16, 128], pl.FP32]]) -> pl.Tensor[[16, 128], pl.FP32]:
        l1q = pl.load(qi, [0, 0], [16, 128], target_memory=pl.Mem.Mat)
        l1k = pl.load(kj, [0, 0], [128, 128], target_memory=pl.Mem.Mat)
        q = pl.move(l1q, target_memory=pl.Mem.Left)
        k = pl.move(pl.tile.transpose_view(l1k), target_memory=pl.Mem.Right)
        s = pl.matmul(q, k)
        out = pl.store(s, [0, 0], sij)
        return out

    @pl.function(type=pl.FunctionType.AIV)
    def softmax(self, sij: pl.Tensor[[16, 128], pl.FP32], scale: pl.Scalar[pl.FP32], valid: pl.Scalar[pl.INDEX], p: pl.Out[pl.Tensor[[16, 128], pl.BF16]], m: pl.Out[pl.Tensor[[16, 1], pl.FP32]]) -> tuple[pl.Tensor[[16, 128], pl.BF16], pl.Tensor[[16, 1], pl.FP32]]:
        s = pl.load(sij, [0, 0], [16, 128], valid_shapes=[16, valid])
        f = pl.fillpad(s, pad_value=pl.PadValue.min)
        tmp = pl.create_tile([16, 128], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        sc = pl.mul(f, scale)
        mx = pl.row_max(sc, tmp)
        e = pl.exp(pl.row_expand_sub(sc, mx))
        p = pl.store(pl.cast(e, pl.BF16, mode="round"), [0, 0], p)
        m = pl.store(mx, [0, 0], m)
        return p, m

    @pl.function(type=pl.FunctionType.Orchestration)
    def paged(self, query: pl.Tensor[[BATCH * 16, 128], pl.BF16], kc: pl.Tensor[[NB * 128, 128], pl.BF16], bt: pl.Tensor[[BATCH * 8], pl.INT32], lens: pl.Tensor[[BATCH], pl.INT32], config: pl.Tensor[[8], pl.INT64], p: pl.Out[pl.Tensor[[BATCH * 16, 128], pl.BF16]]) -> pl.Tensor[[BATCH * 16, 128], pl.BF16]:
        batch: pl.Scalar[pl.INT64] = pl.tensor.read(config, [0])
        heads = pl.read(config, 1)
        for b in pl.range(batch):
            cur = pl.tensor.read(lens, [b])
            nb = (cur + 127) // 128
            oi: pl.Tensor[[16, 1], pl.FP32] = pl.create_tensor([16, 1], dtype=pl.FP32)
            for bn in pl.range(nb):
                q: pl.Tensor[[16, 128], pl.BF16] = pl.slice(query, [16, 128], [b * 16, 0])
                blk = pl.cast(pl.read(bt, [b * 8 + bn]), pl.INDEX)
                k: pl.Tensor[[128, 128], pl.BF16] = pl.slice(kc, [128, 128], [blk * 128, 0])
                s: pl.Tensor[[16, 128], pl.FP32] = pl.create_tensor([16, 128], dtype=pl.FP32)
                s = self.qk(q, k, s)
                v = pl.min(128, pl.cast(cur, pl.INDEX) - bn * 128)
                pb = pl.slice(p, [16, 128], [b * 16, 0])
                pb, oi = self.softmax(s, 0.088, v, pb, oi)
        return p
