# pypto.program: Demo
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class Demo:
    @pl.function(type=pl.FunctionType.AIC, external_source="kernels/ext.cpp", include_dirs=["inc"])
    def ext(a: pl.Tensor[[M, 64], pl.FP32], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]]) -> pl.Tensor[[M, 64], pl.FP32]:
        pl.func_attr({"acme.hint": ["a", "b"]})
        ...

    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)
    def host(a: pl.Tensor[[M, 64], pl.FP32]):
        if a:
            prepare(a)

    @pl.function(type=pl.FunctionType.AIV)
    def k(a: pl.Tensor[[M, 64], pl.FP32], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]]) -> pl.Tensor[[M, 64], pl.FP32]:
        pl.func_attr({"dual_aiv_dispatch": True})
        m0: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)
        t: pl.Tile[[32, 64], pl.FP32, pl.MemRef(m0, 0, 8192), pl.Mem.Vec] = pl.tile.load(a, [0, 0], [32, 64], [32, 64], target_memory=pl.Mem.Vec)
        u: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[16, 64], pad=pl.PadValue.zero)] = pl.tile.exp(t)
        o__ssa_v1: pl.Tensor[[M, 64], pl.FP32] = pl.tile.store(u, [0, 0], o)
        return o__ssa_v1

    # the entry
    @pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)
    def main(self, a: pl.Tensor[[M, 64], pl.FP32], o: pl.InOut[pl.Tensor[[M, 64], pl.FP32]], gate: pl.Tensor[[8], pl.INT32]) -> pl.Tensor[[M, 64], pl.FP32]:
        with pl.scope():
            n: pl.Scalar[pl.INDEX] = pl.tensor.dim(a, 0)
            # every other row
            for i, (acc, prev) in pl.range(0, n, 2, init_values=(o, pl.system.task_invalid()), attrs={"iter_arg_rebind_0": True, "iter_arg_rebind_1": True, "iter_arg_array_size_1": 4}):
                with pl.scope():
                    if i == 0:
                        acc1: pl.Tensor[[M, 64], pl.FP32] = self.k(a, acc, attrs={"arg_directions": [pl.adir.input, pl.adir.inout], "arg_direction_overrides": [0]})
                        p: pl.Tensor[[M, 64], pl.FP32] = pl.yield_(acc1)
                    else:
                        p: pl.Tensor[[M, 64], pl.FP32] = pl.yield_(acc)
                    acc__rv, prev__rv = pl.yield_(p, prev)
            with pl.scope(mode=pl.ScopeMode.MANUAL):
                r: pl.Tuple[pl.Tensor[[M, 64], pl.FP32], pl.Scalar[pl.TASK_ID]] = pl.spmd_submit(self.k, a, acc__rv, deps=[prev__rv], dumps=[a], core_num=4, sync_start=True, allow_early_resolve=True, predicate=(pl.tensor.read(gate, [0]) > pl.const(0, pl.INT32)), timing_slot=3, attrs={"compiler_manual_dep_edges": [prev__rv]})
                q: pl.Tensor[[M, 64], pl.FP32] = r[0]
                tid: pl.Scalar[pl.TASK_ID] = r[1]
                bar: pl.Scalar[pl.TASK_ID] = pl.system.task_dummy(deps=[tid])
            with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)], name_hint="tail", deps=[bar], no_dep_args=[a], allow_early_resolve=True, timing_slot=3, windowize=True, attrs={"acme.x": pl.const(5, pl.INDEX)}) as at_tid:
                pl.acme.rope(q)
            for b in pl.spmd(8):
                pl.acme.rope(q, b)
            for (w,) in pl.while_(init_values=(0,)):
                pl.cond(w < n)
                w__rv: pl.Scalar[pl.INDEX] = pl.yield_(w + 1)
            return q
