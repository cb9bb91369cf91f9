# pypto.program: Demo
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class Demo:
    @pl.function(type=pl.FunctionType.AIV, level=pl.Level.AIV, role=pl.Role.SubWorker)
    def k(a: pl.Tensor[[M, 64], pl.FP32], o: pl.Out[pl.Tensor[[M, 64], pl.FP32]]) -> pl.Tensor[[M, 64], pl.FP32]:
        pl.func_attr({"dual_aiv_dispatch": True})
        m0: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)
        t: pl.Tile[[32, 64], pl.FP32, pl.MemRef(m0, 0, 8192), pl.Mem.Vec] = pl.tile.load(a, [0, 0], [32, 64], [32, 64], target_memory=pl.Mem.Vec)
        u: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[16, 64], pad=pl.PadValue.zero)] = pl.tile.exp(t)
        o__ssa_v1: pl.Tensor[[M, 64], pl.FP32] = pl.tile.store(u, [0, 0], o)
        return o__ssa_v1

    @pl.function(type=pl.FunctionType.Orchestration, level=pl.Level.CHIP, role=pl.Role.Orchestrator, auto_scope=False)
    def main(self, a: pl.Tensor[[M, 64], pl.FP32], o: pl.InOut[pl.Tensor[[M, 64], pl.FP32]]) -> pl.Tensor[[M, 64], pl.FP32]:
        with pl.scope():
            n: pl.Scalar[pl.INDEX] = pl.tensor.dim(a, 0)
            for i, (acc,) in pl.range(0, n, 2, init_values=(o,), attrs={"iter_arg_rebind_0": True}):
                with pl.scope():
                    if i == 0:
                        acc1: pl.Tensor[[M, 64], pl.FP32] = self.k(a, acc, attrs={"arg_directions": [pl.adir.input, pl.adir.inout]})
                        p: pl.Tensor[[M, 64], pl.FP32] = pl.yield_(acc1)
                    else:
                        p: pl.Tensor[[M, 64], pl.FP32] = pl.yield_(acc)
                    acc__rv: pl.Tensor[[M, 64], pl.FP32] = pl.yield_(p)
            with pl.scope(mode=pl.ScopeMode.MANUAL):
                r: pl.Tuple[pl.Tensor[[M, 64], pl.FP32], pl.Scalar[pl.TASK_ID]] = pl.submit(self.k, a, acc__rv, deps=[tid0__FREE_VAR])
                q: pl.Tensor[[M, 64], pl.FP32] = r[0]
                tid: pl.Scalar[pl.TASK_ID] = r[1]
            return q
