# Lanes of a split region, pipes and other system operations.
import pypto.language as pl

V = pl.dynamic("V")
SPLIT = pl.SplitMode.UP_DOWN


@pl.program
class Mixed:
    @pl.function(type=pl.FunctionType.AIC)
    def cube(self, a: pl.Tensor[[64, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        pl.func_attr({"split": pl.SplitMode.UP_DOWN})
        peer: pl.Scalar[pl.INT32] = pl.import_peer_buffer(name="c2v", peer_func="vec")
        pl.aic_initialize_pipe(dir_mask=1, slot_size=8192, c2v_consumer_buf=peer)
        ta = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        tb = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        la = pl.move(ta, target_memory=pl.Mem.Left)
        rb = pl.move(tb, target_memory=pl.Mem.Right)
        c = pl.matmul(la, rb)
        pl.tpush_to_aiv(c, split=1)
        return o

    @pl.function(type=pl.FunctionType.AIV)
    def vec(self, a: pl.Tensor[[64, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        pl.func_attr({"split": pl.SplitMode.UP_DOWN})
        buf = pl.reserve_buffer(name="c2v", size=8192, base=pl.AUTO)
        pl.aiv_initialize_pipe(dir_mask=1, slot_size=8192, c2v_consumer_buf=buf)
        c: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pl.tpop_from_aic(split=1)
        d = pl.exp(c)
        pl.tfree_to_aic(c)
        lane = pl.tile.get_subblock_idx()
        o = pl.store(d, [lane * 32, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Group)
    def group(self, a: pl.Tensor[[64, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        self.cube(a, b, o)
        o = self.vec(a, b, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[64, 64], pl.BF16], b: pl.Tensor[[64, 64], pl.BF16], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        out = self.group(a, b, o)
        return out


@pl.program
class SysOps:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: pl.Tensor[[V, 64], pl.FP32], ws: pl.Tensor[[1024], pl.INT32], o: pl.Out[pl.Tensor[[V, 64], pl.FP32]], ev: pl.Scalar[pl.INT32]):
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        pl.system.bar_v()
        pl.system.bar_m()
        pl.system.bar_all()
        pl.system.fence()
        pl.system.set_ffts(ws)
        pl.system.sync_set(pipe=pl.PipeType.MTE3, event_id=3)
        pl.system.sync_set(ev, pipe=pl.PipeType.MTE3, ffts_mode=2)
        pl.system.sync_wait(pipe=pl.PipeType.MTE2, event_id=3)
        pl.system.syncall(mode="hard", core_type="aiv_only")
        pl.system.syncall(core_type="mix")
        pl.system.cacheinvalid(a, [16, 64], [0, 0])
        t = pl.load(a, [0, 0], [16, 64])
        o = pl.store(t, [0, 0], o)
        return o
