# Blocks: every form of pl.spmd and pl.split_aiv.
import pypto.language as pl

B, H, S, D = 4, 8, 256, 64
BLOCKS = 24
TILE_N = 64
DEPS = 4
M_DYN = pl.dynamic("M")


@pl.jit.inline
def proj(x: pl.Tensor[[M_DYN, D], pl.BF16], w: pl.Tensor[[D, H * D], pl.BF16], o: pl.Tensor[[M_DYN, H * D], pl.FP32]):
    with pl.spmd(H, name_hint="proj", sync_start=False) as tid:
        blk = pl.tile.get_block_idx()
        n0 = blk * TILE_N
        o[0:16, n0 : n0 + TILE_N] = pl.matmul(x[0:16, :], w[:, n0 : n0 + TILE_N], out_dtype=pl.FP32)
    return o, tid


@pl.jit(auto_scope=False)
def kernel(x: pl.Tensor[[M_DYN, D], pl.BF16], w: pl.Tensor[[D, H * D], pl.BF16], flag: pl.Tensor[[8], pl.INT32],
           o: pl.Out[pl.Tensor[[M_DYN, H * D], pl.FP32]], p: pl.Out[pl.Tensor[[M_DYN, H * D], pl.FP32]]):
    m = pl.tensor.dim(x, 0)
    with pl.scope():
        o, t0 = proj(x, w, o)
        tids = pl.array.create(DEPS, pl.TASK_ID)
        for i in pl.range(DEPS):
            with pl.spmd(4, name_hint="part", deps=[t0]) as t:
                b = pl.tile.get_block_idx()
                r0 = (i * 4 + b) * 16
                p[r0 : r0 + 16, 0:64] = pl.add(o[r0 : r0 + 16, 0:64], 1.0)
            tids[i] = t
        with pl.spmd(core_num=2, deps=[tids[j] for j in range(DEPS)], allow_early_resolve=True) as t2:
            b = pl.tile.get_block_idx()
            p[b * 16 : (b + 1) * 16, 64:128] = pl.mul(o[b * 16 : (b + 1) * 16, 64:128], 2.0)
        last = pl.system.task_dummy(deps=[t2, tids[DEPS - 1]])
    with pl.scope(mode=pl.ScopeMode.MANUAL):
        for i in pl.spmd(m // 16, name_hint="rows"):
            p[i * 16 : (i + 1) * 16, 128:192] = pl.exp(o[i * 16 : (i + 1) * 16, 128:192])
        with pl.spmd(8):
            with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT)]):
                b = pl.tile.get_block_idx()
                p[b * 16 : (b + 1) * 16, 192:256] = pl.sub(o[b * 16 : (b + 1) * 16, 192:256], 1.0)
        with pl.spmd(pl.system.available_cluster_count(), optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for r in pl.range(pl.tile.get_block_idx(), m // 16, pl.tile.get_block_num()):
                p[r * 16 : r * 16 + 16, 256:320] = pl.abs(o[r * 16 : r * 16 + 16, 256:320])
    with pl.scope():
        for a in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            p[a * 8 : a * 8 + 8, 320:384] = pl.neg(o[a * 8 : a * 8 + 8, 320:384])
        with pl.at(level=pl.Level.CORE_GROUP):
            q = pl.matmul(x[0:16, :], w[:, 0:64], out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                h = pl.aiv_shard(q)
                p[lane * 8 : lane * 8 + 8, 384:448] = pl.mul(h, 3.0)
    return o, p
