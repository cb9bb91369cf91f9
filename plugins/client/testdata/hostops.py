# Every op that has a form of its own in an orchestration function.
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]
R = pl.dynamic("R")


@pl.program
class HostOps:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.InOut[T]) -> T:
        x = pl.load(a, [0, 0], [16, 16])
        o = pl.store(x, [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def row(self, a: pl.Tensor[[4, 16], pl.FP32], o: pl.InOut[T]) -> T:
        x = pl.load(a, [0, 0], [4, 16])
        o = pl.store(x, [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def flat(self, a: pl.Tensor[[1, 256], pl.FP32], o: pl.InOut[T]) -> T:
        x = pl.load(a, [0, 0], [1, 16])
        o = pl.store(x, [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, d: pl.Tensor[[R, 16], pl.FP32], o: pl.InOut[T], n: pl.Scalar[pl.INDEX]) -> T:
        i = pl.read(o, [n, 3])
        pl.write(o, [0, n], i)
        w = pl.slice(d, [4, 16], [n * 4, 0])
        o = self.row(w, o)
        f = pl.reshape(a, [1, 256])
        o = self.flat(f, o)
        t = pl.transpose(a, 0, 1)
        o = self.k(t, o)
        v = pl.tensor.view(a, [16, 16])
        o = self.k(v, o)
        c = pl.system.available_cluster_count()
        b = pl.system.available_aiv_count()
        pl.write(o, [0, 1], pl.cast(c + b, pl.FP32))
        tids = pl.array.create(4, pl.TASK_ID)
        o, tid = pl.submit(self.k, v, o)
        tids[0] = tid
        if pl.task_is_valid(tids[0]):
            o = self.k(t, o)
        o, tid = pl.submit(self.k, a, o, deps=[None, tids])
        return o
