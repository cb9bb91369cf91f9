"""Phases times branches under explicit dependencies: every task of a phase waits for all tasks of the phase before it."""

import pypto.language as pl

N_PHASES = 3
N_BRANCHES = 4
TILE_M = 8
WIDTH = 32
STRIPES = N_BRANCHES * TILE_M


@pl.program
class Phases:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel_stripe(
        self,
        data: pl.Tensor[[N_PHASES * STRIPES, WIDTH], pl.FP32],
        row: pl.Scalar[pl.INDEX],
        bias: pl.Scalar[pl.FP32],
        out: pl.InOut[pl.Tensor[[STRIPES, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[STRIPES, WIDTH], pl.FP32]:
        # out = (out + bias) * data on the stripe of this branch: the order of the phases shows in the result.
        stripe = row % STRIPES
        d = pl.load(data, [row, 0], [TILE_M, WIDTH])
        o = pl.load(out, [stripe, 0], [TILE_M, WIDTH])
        out = pl.store(pl.mul(pl.add(o, bias), d), [stripe, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def case1(
        self,
        data: pl.Tensor[[N_PHASES * STRIPES, WIDTH], pl.FP32],
        out: pl.InOut[pl.Tensor[[STRIPES, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[STRIPES, WIDTH], pl.FP32]:
        with pl.manual_scope():
            prev_tid = None
            for phase in pl.range(N_PHASES):
                for branch in pl.parallel(N_BRANCHES):
                    row = (phase * N_BRANCHES + branch) * TILE_M
                    out, prev_tid = pl.submit(self.kernel_stripe, data, row, 1.0, out, deps=[prev_tid])
        return out
