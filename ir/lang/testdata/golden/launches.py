# Every way to launch a task.
import pypto.language as pl

T = pl.Tensor[[64, 16], pl.FP32]


@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def blk(self, a: T, o: pl.Out[T]) -> T:
        b = pl.tile.get_block_idx()
        v = pl.load(a, [b * 16, 0], [16, 16])
        o = pl.store(pl.add(v, 1.0), [b * 16, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def gate(self, x: T, rc: pl.Out[pl.Tensor[[8, 8], pl.INT32]]):
        rc = pl.store(pl.cast(pl.load(x, [0, 0], [8, 8]), pl.INT32), [0, 0], rc)
        return rc

    @pl.function(type=pl.FunctionType.InCore)
    def two(self, x: T, p: pl.Out[T], q: pl.Out[T]) -> tuple[T, T]:
        p = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], p)
        q = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], q)
        return p, q

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.InOut[T], n: pl.Scalar[pl.INDEX]) -> T:
        rc = pl.create_tensor([8, 8], dtype=pl.INT32)
        rc, g = pl.submit(self.gate, x, rc)
        # A runtime-allocated output.
        t, a = pl.submit(self.blk, x, deps=[g, None], timing_slot=3, allow_early_resolve=True)
        (p, q), b = pl.submit(self.two, t, dumps=[t])
        y, c = pl.spmd_submit(self.blk, p, y, core_num=n * 2, sync_start=True, deps=[a, b, g], predicate=(0 < rc[n, 0]))
        whole = pl.submit(self.blk, pl.no_dep(x), y)
        tids = pl.array.create(4, pl.TASK_ID)
        tids[0] = c
        tids[n] = whole[1]
        y, _ = pl.submit(self.blk, q, y, deps=[tids[0], c])
        y, _ = pl.submit(self.blk, q, y, deps=[tids[j * 2] for j in range(2)])
        with pl.spmd(4):
            y = self.blk(x, y)
        with pl.spmd(8, sync_start=True, name_hint="g") as tid:
            y = self.blk(x, y)
        with pl.spmd(4, deps=[tid, g], predicate=(rc[1, 0] != 2)):
            blk = pl.tile.get_block_idx()
            y = pl.store(pl.load(x, [blk * 16, 0], [16, 16]), [blk * 16, 0], y)
        for i in pl.spmd(n, deps=[tid], name_hint="rows"):
            y = pl.store(pl.load(x, [i * 16, 0], [16, 16]), [i * 16, 0], y)
        with pl.at(level=pl.Level.CORE_GROUP, deps=[tid], no_dep_args=[x], optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)]) as last:
            y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
        pl.dump_tag(x)
        with pl.cluster(name_hint="both"):
            with pl.spmd(4):
                y = self.blk(x, y)
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            y = pl.store(pl.load(x, [lane * 16, 0], [16, 16]), [lane * 16, 0], y)
        with pl.at(level=pl.Level.CHIP, role=pl.Role.Orchestrator):
            y = self.blk(x, y)
        done = pl.system.task_dummy(deps=[last, tid])
        pl.submit(self.blk, x, y, deps=[done])
        return y
