# pypto.program: Late
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class Late:
    @pl.function(type=pl.FunctionType.AIV, level=pl.Level.AIV, role=pl.Role.SubWorker)
    def k(a: pl.Tensor[[M, 64], pl.FP32, pl.TensorView(stride=[64, 1], layout=pl.TensorLayout.ND), pl.MemRef("mem_ddr_0", 0, 16384)], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]], w: pl.Tensor[[8], pl.INT32]) -> pl.Tensor[[M, 64], pl.FP32]:
        pl.func_attr({"dual_aiv_dispatch": True, "split": pl.SplitMode.UP_DOWN, "split_aiv_region_validated": True, "some": [1, 2]})
        mem_vec_1: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192, pinned=True)
        mem_ddr_0: pl.Ptr = pl.tensor.alloc(pl.Mem.DDR, 16384)
        n__ssa_v0: pl.Scalar[pl.INDEX] = pl.tensor.dim(a, 0)
        e: pl.Scalar[pl.INDEX] = n__ssa_v0 ** 2 & 3 | 4 ^ 1
        e2: pl.Scalar[pl.INDEX] = abs(e - 3)
        e3: pl.Scalar[pl.BOOL] = e == e2 == n__ssa_v0
        x3: pl.Scalar[pl.BOOL] = e3 xor e3 or e3 and not e3
        f: pl.Scalar[pl.FP32] = inf
        f2: pl.Scalar[pl.FP32] = -inf
        f3: pl.Scalar[pl.FP32] = nan
        f4: pl.Scalar[pl.FP32] = pl.const(inf, pl.FP16)
        g: pl.Scalar[pl.INDEX] = pl.const(32, pl.INDEX) + pl.const(32, pl.INDEX)
        t: pl.Tile[[32, 64], pl.FP32, pl.MemRef(mem_vec_1, 0, 8192), pl.Mem.Vec, pl.TileView(valid_shape=[pl.min(32, n__ssa_v0), 64])] = pl.tile.load(a, [0, 0], [32, 64], [pl.min(32, n__ssa_v0), 64], target_memory=pl.Mem.Vec)
        t1: pl.Tile[[32, 64], pl.FP32, pl.MemRef("ring", slots=2)[e % 2], pl.Mem.Vec] = pl.tile.exp(t)
        t2: pl.Tile[[32, 64], pl.FP32, pl.MemRef(mem_vec_1, 4096 + e * 4, 8192, slots=2)[1], pl.Mem.Vec] = pl.tile.and_(t, t)
        pl.system.syncall(mode="soft", core_type="mix", gm_workspace=w, used_cores=4, scratch=t)
        pl.system.bar_all()
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
        q: pl.Tile[[1, 64], pl.FP32, pl.Mem.Vec] = pl.tile.gather_row(t, a, [0, 0], [1, 0], [1, 64], valid_shape=[1, 32])
        r: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pl.tile.mgather(a, t, coalesce=0, gather_oob=0, scratch=t2, valid_shape=[32, 64])
        z: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pl.tile.unknown_new_op(t, 3, flag=True, mode='x', dt=pl.FP16, attrs={"a": 1})
        i: pl.Tuple[()] = []
        tup: pl.Tuple[pl.Tensor[[M, 64], pl.FP32], pl.Scalar[pl.INDEX]] = [o, e]
        aa: pl.Scalar[pl.INDEX] = tup[1]
        rem: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pld.tile._remote_load_with_physical_tail_padding(o, 1, [0, 0], [32, 64], [32, 64])
        o__ssa_v1: pl.Tensor[[M, 64], pl.FP32] = pl.tile.store(t1, [0, 0], o)
        return o__ssa_v1

    @pl.function(type=pl.FunctionType.Spmd)
    def sp(self, a: pl.Tensor[[M, 64], pl.FP32], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]], w: pl.Tensor[[8], pl.INT32]) -> pl.Tensor[[M, 64], pl.FP32]:
        pl.func_attr({"core_num": nn__FREE_VAR * 2, "sync_start": True})
        r: pl.Tensor[[M, 64], pl.FP32] = self.k(a, o, w, attrs={"arg_directions": [pl.adir.input, pl.adir.inout, pl.adir.input]})
        return r

    @pl.function(type=pl.FunctionType.Orchestration, level=pl.Level.CHIP, role=pl.Role.Orchestrator, auto_scope=False)
    def main(self, a: pl.Tensor[[M, 64], pl.FP32], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]], w: pl.Tensor[[8], pl.INT32]) -> tuple[pl.Tensor[[M, 64], pl.FP32], pl.Scalar[pl.INDEX]]:
        # a comment
        with pl.scope():
            d: pld.DistributedTensor[[M, 64], pl.FP32, "window_buffer=buf"] = pld.tensor.window(buf__FREE_VAR, [M, 64], dtype=pl.FP32)
            for i, (x, y) in pl.parallel(
                0,
                8,
                init_values=(
                    o,
                    a,
                ),
                attrs={"iter_arg_rebind_0": True, "iter_arg_rebind_1": False},
            ):
                with pl.scope():
                    x1: pl.Tensor[[M, 64], pl.FP32] = self.sp(
                        y,
                        x,
                        w,
                        attrs={"arg_directions": [pl.adir.input, pl.adir.output_existing, pl.adir.no_dep]},
                    )
                    xr, yr = pl.yield_(x1, y)
            # pld.comm_domain: devices=all, slots=[buf]
            r: pl.Tuple[pl.Tensor[[M, 64], pl.FP32], pl.Scalar[pl.TASK_ID]] = pl.submit(self.k, a, xr, w, deps=[tid0__FREE_VAR], core_num=4, sync_start=True, allow_early_resolve=True, predicate=(pl.tensor.read(w, [0]) > 0), attrs={"compiler_manual_dep_edges": [tid1__FREE_VAR]})
            for (c,) in pl.while_(init_values=(pl.const(0, pl.INDEX),)):
                pl.cond(c < 4)
                cr: pl.Scalar[pl.INDEX] = pl.yield_(c + 1)
            if i__FREE_VAR == 0:
                p, q = pl.yield_(xr, cr)
            else:
                p, q = pl.yield_(yr, pl.const(0, pl.INDEX))
            pl.yield_()
            return p, q
