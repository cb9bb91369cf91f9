# Newer surface of the language: graphs, constexpr parameters, literals stamped by annotations, soft barriers, steps that start anew.
import pypto.language as pl
import pypto.language.distributed as pld

B = pl.dynamic("B")

@pl.program
class Graphs:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        o = pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Graph)
    def layer(self, x: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        t = pl.create_tensor([64, 64], dtype=pl.FP32)
        t = self.k(x, t)
        o = self.k(t, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        acc: pl.Scalar[pl.INT64] = 0
        f: pl.Scalar[pl.FP16] = 1.0
        u8: pl.Scalar[pl.UINT8] = 7
        for i in pl.range(4):
            acc = acc + 1
        o = self.layer(x, o)
        return o


@pl.program
class Lanes:
    @pl.function(type=pl.FunctionType.InCore)
    def mixed(self, a: pl.Tensor[[64, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        l = pl.move(pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
        r = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
        acc = pl.matmul(l, r)
        for kk in pl.range(4):
            acc = pl.matmul_acc(acc, l, r, init_cond=kk == 0)
        acc = pl.matmul_acc(acc, l, r, init_cond=True)
        for aiv in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            v = pl.aiv_shard(acc)
            v = pl.recip(v, high_precision=True)
            v = pl.sin(v)
            o = pl.store(v, [aiv * 32, 0], o)
        return o

    @pl.function(type=pl.FunctionType.AIV)
    def soft(self, a: pl.Tensor[[64, 64], pl.FP32], gm: pl.Tensor[[256], pl.INT32], sig: pld.DistributedTensor[[4, 1], pl.INT32], ctx: pld.CommCtx, o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        pl.system.syncall(gm, mode="soft", core_type="aiv", used_cores=4)
        pl.system.syncall(mode="hard", core_type="mix")
        t = pl.load(a, [0, 0], [64, 64])
        s = pl.tile.assemble(t, pl.load(a, [0, 0], [16, 64]), [0, 0])
        s = pl.assemble(t, pl.load(a, [0, 0], [16, 64]), [16, 0])
        o = pl.store(s, [0, 0], o)
        return o


@pl.jit.inline
def pick(x: pl.Tensor[[B, 64], pl.FP32], o: pl.Tensor[[B, 64], pl.FP32], k: pl.constexpr, mode: pl.constexpr[int] = 1, flag: pl.constexpr[bool] = False):
    with pl.at(level=pl.Level.CORE_GROUP):
        if mode == 1:
            o[0:16, :] = pl.add(x[0:16, :], 1.0)
        for i in pl.range(k):
            o[i * 16 : i * 16 + 16, :] = x[i * 16 : i * 16 + 16, :]
    return o


@pl.jit
def run(x: pl.Tensor[[B, 64], pl.FP32], o: pl.Out[pl.Tensor[[B, 64], pl.FP32]], n: pl.Scalar = 3, m: pl.Scalar[pl.INT32] = 2, r: pl.INDEX = pl.RUNTIME):
    o = pick(x, o, 2)
    o = pick(x, o, k=4, mode=2)
    for i in pl.range(r):
        o = pick(x, o, 2)
    return o


ir1 = run.specialize()
