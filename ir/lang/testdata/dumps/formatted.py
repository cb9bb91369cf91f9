# pypto.program: Formatted
import pypto.language as pl

K = pl.dynamic("K")


@pl.program
class Formatted:
    # Two lanes.
    @pl.function(
        type=pl.FunctionType.AIC,
        level=pl.Level.AIC,
        role=pl.Role.SubWorker,
    )
    def cube(
        lhs: pl.Tensor[[64, 64], pl.BF16, pl.TensorView(stride=[1, 64], layout=pl.TensorLayout.DN)],
        acc: pl.InOut[pl.Tensor[[64, 64], pl.FP32, pl.MemRef("acc_0", 0, 16384)]],
        n: pl.Scalar[pl.INT32],
        peer: pld.DistributedTensor[[64, 64], pl.FP32, "window_buffer=w0"],
    ) -> tuple[pl.Tensor[[64, 64], pl.FP32], pl.Scalar[pl.INT32]]:
        buf: pl.Tile[[64, 64], pl.BF16, pl.MemRef("a", slots=2)[n % 2], pl.Mem.Left] = pl.tile.load(
            lhs,
            [0, 0],
            [64, 64],
            [64, 64],
            target_memory=pl.Mem.Left,
        )
        m: pl.Scalar[pl.INT32] = n ** pl.const(2, pl.INT32) & pl.const(7, pl.INT32) | pl.const(1, pl.INT32) ^ n
        low: pl.Scalar[pl.FP32] = -inf
        big: pl.Scalar[pl.FP32] = inf
        bad: pl.Scalar[pl.FP32] = nan
        same: pl.Scalar[pl.BOOL] = (n == m) == (m > n)
        dist: pl.Scalar[pl.INT32] = abs(n - m)
        bits: pl.Scalar[pl.INT32] = ~n << pl.const(2, pl.INT32)
        fixed: pl.Scalar[pl.INDEX] = pl.const(32, pl.INDEX) + pl.const(32, pl.INDEX)
        odd: pl.Tile[[64, 64], pl.UINT8, pl.Mem.Vec] = pl.tile.and_(buf, buf)
        other: pl.Tensor[[64, 64], pl.FP32] = pl.acme.rope(acc, [1, 2], theta=10000.0, mode="half", attrs={"tag": "x"})
        return acc, m

    @pl.function(
        type=pl.FunctionType.Orchestration,
        level=pl.Level.CHIP,
        role=pl.Role.Orchestrator,
        auto_scope=False,
    )
    def main(
        self,
        lhs: pl.Tensor[[64, 64], pl.BF16],
        acc__ssa_v0: pl.Tensor[[64, 64], pl.FP32],
        seed: pl.Scalar[pl.INT32],
        peer: pld.DistributedTensor[[64, 64], pl.FP32],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.scope():
            alloc: pl.Tensor[[K, 64], pl.FP32] = pl.tensor.create(
                [K, 64], dtype=pl.FP32, layout=pl.TensorLayout.ND, manual_dep=True
            )
            for i, (a__iter_v1, t__iter_v1) in pl.parallel(
                4,
                init_values=(acc__ssa_v0, None),
                attrs={"iter_arg_rebind_0": False, "iter_arg_rebind_1": True, "iter_arg_array_size_1": 4},
            ):
                ret: pl.Tuple[
                    pl.Tensor[[64, 64], pl.FP32], pl.Scalar[pl.INT32], pl.Scalar[pl.TASK_ID]
                ] = pl.spmd_submit(
                    self.cube,
                    lhs,
                    a__iter_v1,
                    seed,
                    peer,
                    deps=[t__iter_v1],
                    dumps=[a__iter_v1],
                    core_num=pl.system.available_cluster_count(),
                    sync_start=True,
                    allow_early_resolve=True,
                    predicate=(pl.cast(pl.tensor.read(acc__ssa_v0, [i, 0]), pl.INT32) > pl.const(0, pl.INT32)),
                    attrs={
                        "arg_directions": [pl.adir.input, pl.adir.inout, pl.adir.scalar, pl.adir.no_dep],
                        "compiler_manual_dep_edges": [t__iter_v1],
                    },
                )
                a__ssa_v2: pl.Tensor[[64, 64], pl.FP32] = ret[0]
                t__ssa_v2: pl.Scalar[pl.TASK_ID] = ret[2]
                a__rv_v3, t__rv_v3 = pl.yield_(a__ssa_v2, t__ssa_v2)
            for (j,) in pl.while_(init_values=(0,)):
                pl.cond(j < 4)
                j__rv: pl.Scalar[pl.INDEX] = pl.yield_(j + 1)
            self.cube(lhs, a__rv_v3, seed, peer, attrs={"dump_vars": [lhs]})
            # Whole devices.
            with pl.at(level=pl.Level.HOST, role=pl.Role.Orchestrator, name_hint="top"):
                for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                    pl.tile.write(buf__FREE_VAR, [lane], seed)
        return a__rv_v3
