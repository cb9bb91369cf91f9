# Chains of TaskIds through inline functions, arrays and branches.
import pypto.language as pl

L = 3
T, D = 16, 128
NB = 4
X = pl.Tensor[[T, D], pl.BF16]
F = pl.Tensor[[T, D], pl.FP32]


@pl.jit.inline(auto_scope=False)
def stage(x: X, o: F, dep: pl.Scalar[pl.TASK_ID]):
    with pl.scope(mode=pl.ScopeMode.MANUAL):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="stage_a", deps=[dep], allow_early_resolve=True) as a_tid:
            o[:, 0:64] = pl.cast(x[:, 0:64], pl.FP32)
        with pl.spmd(NB, name_hint="stage_b", deps=[dep, a_tid], allow_early_resolve=True) as b_tid:
            b = pl.tile.get_block_idx()
            o[b * 4 : b * 4 + 4, 64:128] = pl.cast(x[b * 4 : b * 4 + 4, 64:128], pl.FP32)
        fence = pl.system.task_dummy(deps=[a_tid, b_tid])
    return o, fence


@pl.jit.inline(auto_scope=False)
def many(x: X, o: F, tids: pl.Array[NB, pl.TASK_ID]):
    for i in pl.range(NB):
        with pl.at(level=pl.Level.CORE_GROUP, deps=[tids[i]]) as t:
            o[i * 4 : i * 4 + 4, :] = pl.cast(x[i * 4 : i * 4 + 4, :], pl.FP32)
        tids[i] = t
    return tids


@pl.jit(auto_scope=False)
def layers(x: X, o: pl.Out[F], w: pl.Tensor[[L, T, D], pl.BF16], g: pl.Tensor[[8], pl.INT32]):
    seed = pl.system.task_invalid()
    tid = seed
    for l in pl.range(L):
        o, tid = stage(w[l], o, tid)
    tids = pl.array.create(NB, pl.TASK_ID)
    for i in pl.range(NB):
        tids[i] = tid
    tids = many(x, o, tids)
    with pl.scope(mode=pl.ScopeMode.MANUAL):
        with pl.at(level=pl.Level.CORE_GROUP, deps=[tids[j] for j in range(NB)]) as last:
            o[:, :] = pl.add(o, 1.0)
        with pl.at(level=pl.Level.CORE_GROUP, deps=[last, tids[0], tids[NB - 1]]) as last2:
            o[:, :] = pl.add(o, 1.0)
        if g[0] > 0:
            with pl.spmd(NB, deps=[last2]) as t3:
                b = pl.tile.get_block_idx()
                o[b * 4 : b * 4 + 4, :] = pl.mul(o[b * 4 : b * 4 + 4, :], 2.0)
        else:
            t3 = pl.system.task_dummy(deps=[last2])
        bar = pl.system.task_dummy(deps=[t3])
    return o
