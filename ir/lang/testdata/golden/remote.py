# Windows, signals and collectives, and submits of a host program.
import pypto.language as pl
import pypto.language.distributed as pld
DT = pld.DistributedTensor[[64, 64], pl.FP32]
SG = pld.DistributedTensor[[4], pl.INT32]


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[64, 64], pl.FP32], w: pl.InOut[DT], s: pl.InOut[SG], peer: pl.Scalar[pl.INT32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        ctx = pld.get_comm_ctx(w)
        me = pld.rank(ctx)
        n = pld.nranks(ctx)
        nxt = (me + 1) % n
        t = pl.load(x, [0, 0], [64, 64])
        pld.tile.remote_store(t, w, nxt, [0, 0])
        pld.remote_store(t, w, peer, [0, 0], atomic=pl.AtomicType.Add)
        pld.remote_store(t, target=w, peer=peer, offsets=[0, 0])
        pld.system.notify(s, peer=nxt, offsets=[0], value=1, op=pld.NotifyOp.Set)
        pld.system.notify(target=s, peer=nxt, offsets=[0], value=1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(s, offsets=[0], expected=1, cmp=pld.WaitCmp.Eq)
        pld.system.wait(signal=s, offsets=[0], expected=n - 1, cmp=pld.WaitCmp.Ge)
        r = pld.remote_load(w, peer=nxt, offsets=[0, 0], shape=[64, 64])
        pld.tensor.put(w, nxt, x)
        pld.tensor.put(w, peer=nxt, src=x, dst_offsets=[0, 0], src_offsets=[0, 0], shape=[64, 64], atomic=pld.AtomicType.Add, chunk_rows=16, chunk_cols=64, pipeline=True)
        pld.tensor.get(o, nxt, w)
        own = pl.load(w, [0, 0], [64, 64])
        o = pl.store(pl.add(r, own), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, x: pl.Tensor[[64, 64], pl.FP32], w: pl.InOut[DT], s: pl.InOut[SG], peer: pl.Scalar[pl.INT32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        o = self.k(x, w, s, peer, o)
        return o

    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)
    def verify(x: pl.Tensor[[2, 64, 64], pl.FP32]):
        import torch
        print(x.shape, f"{x}")

    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)
    def cb(x: pl.Tensor[[2, 64, 64], pl.FP32]): ...

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def main(self, x: pl.Tensor[[2, 64, 64], pl.FP32], o: pl.Out[pl.Tensor[[2, 64, 64], pl.FP32]]):
        nr = pld.world_size()
        wb = pld.alloc_window_buffer([64, 64], dtype=pl.FP32)
        sb = pld.alloc_window_buffer(16)
        w = pld.window(wb, [64, 64], dtype=pl.FP32)
        s = pld.window(sb, [4], dtype=pl.INT32)
        t = pl.create_tensor([2, 64, 64], dtype=pl.FP32)
        for r in pl.range(nr):
            peer = 1 - r
            if r == 0:
                self.chip(x[r], w, s, peer, t[r], device=r)
            else:
                self.chip(x[r], w, s, 0, t[r], device=r)
        for r in pl.range(2):
            _o, tid = pl.submit(self.chip, t[r], w, s, 1 - r, o[r], device=r)
            _p, tid2 = pl.submit(self.chip, t[r], w, s, 1 - r, o[r], device=r, deps=[tid])
        w = pld.tensor.allreduce(w, s, op=pld.ReduceOp.Max)
        w = pld.tensor.allreduce(w, op=pld.ReduceOp.Sum, mode="mesh")
        pld.tensor.barrier(s)
        w = pld.tensor.broadcast(w, s, root=0)
        self.verify(o)
        return o
