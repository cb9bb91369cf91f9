"""Mixture of experts: every expert is submitted, and the scheduler drops those without rows at the dispatch point."""

import pypto.language as pl

EXPERTS = 4
ROWS = 16
WIDTH = 32


@pl.program
class Experts:
    @pl.function(type=pl.FunctionType.InCore)
    def gate(
        self,
        assignment: pl.Tensor[[1, EXPERTS * 8], pl.INT32],
        counts: pl.Out[pl.Tensor[[EXPERTS, 8], pl.INT32]],
    ) -> pl.Tensor[[EXPERTS, 8], pl.INT32]:
        # One row of eight lanes an expert; lane 0 is the number of rows assigned to it.
        v = pl.load(assignment, [0, 0], [1, EXPERTS * 8])
        counts = pl.store(pl.reshape(v, [EXPERTS, 8]), [0, 0], counts)
        return counts

    @pl.function(type=pl.FunctionType.InCore)
    def expert(
        self,
        x: pl.Tensor[[ROWS, WIDTH], pl.FP32],
        w: pl.Tensor[[EXPERTS, WIDTH], pl.FP32],
        out: pl.InOut[pl.Tensor[[EXPERTS * ROWS, WIDTH], pl.FP32]],
        e: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[EXPERTS * ROWS, WIDTH], pl.FP32]:
        v = pl.load(x, [0, 0], [ROWS, WIDTH])
        g = pl.load(w, [e, 0], [1, WIDTH])
        y = pl.maximum(pl.col_expand_mul(v, g), 0.0)
        out = pl.store(y, [e * ROWS, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def experts(
        self,
        x: pl.Tensor[[ROWS, WIDTH], pl.FP32],
        w: pl.Tensor[[EXPERTS, WIDTH], pl.FP32],
        assignment: pl.Tensor[[1, EXPERTS * 8], pl.INT32],
        out: pl.InOut[pl.Tensor[[EXPERTS * ROWS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[EXPERTS * ROWS, WIDTH], pl.FP32]:
        counts = pl.create_tensor([EXPERTS, 8], dtype=pl.INT32)
        with pl.manual_scope():
            counts, gate_tid = pl.submit(self.gate, assignment, counts)
            for e in pl.parallel(EXPERTS):
                out, _ = pl.submit(
                    self.expert, x, w, out, e, deps=[gate_tid], predicate=(counts[e, 0] > 0)
                )
        return out
