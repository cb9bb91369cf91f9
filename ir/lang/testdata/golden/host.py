# A host program: its workers are Python and stay as they are.
import pypto.language as pl
import pypto.language.distributed as pld

T = pl.Tensor[[16, 16], pl.FP32]


@pl.program
class Host:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Inline)
    def twice(self, a: T, o: T) -> T:
        t = pl.create_tensor([16, 16], dtype=pl.FP32)
        t = self.k(a, t)
        o = self.k(t, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, a: T, o: pl.Out[T]) -> T:
        o = self.k(self.twice(a, o), o)
        return o

    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)
    def check(x: T):
        import numpy as np

        for row in x:
            assert np.isfinite(row).all(), f"{row}"

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def main(self, a: T, o: pl.Out[T]):
        buf = pld.alloc_window_buffer(1024)
        for r in pl.range(pld.world_size()):
            o = self.chip(a, o, device=r)
        return o
