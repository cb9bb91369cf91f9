# Submits, an array of TaskIds and a barrier.
import pypto.language as pl

N = 4


@pl.program
class Axpy:
    @pl.function(type=pl.FunctionType.InCore)
    def step(self, x: pl.Tensor[[N * 16, 64], pl.FP32], y: pl.InOut[pl.Tensor[[N * 16, 64], pl.FP32]],
             r: pl.Scalar[pl.INDEX]) -> pl.Tensor[[N * 16, 64], pl.FP32]:
        a = pl.load(x, [r, 0], [16, 64])
        b = pl.load(y, [r, 0], [16, 64])
        y = pl.store(pl.add(a, b), [r, 0], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.manual_scope():
            tids = pl.array.create(N, pl.TASK_ID)
            for i in pl.range(N):
                y, t = pl.submit(self.step, x, y, i * 16)
                tids[i] = t
            done = pl.system.task_dummy(deps=[tids])
        return y
