# The kernels of the acceptance list.
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]
RC = pl.Tensor[[8, 1], pl.INT32]
M = pl.dynamic("M")


@pl.program
class Program:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def k2(self, a: T, b: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), pl.load(b, [0, 0], [16, 16])), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def km(self, a: T, o: pl.Out[T]) -> T:
        la = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
        lb = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
        o = pl.store(pl.matmul(la, lb), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def upd(self, x: pl.InOut[T]) -> T:
        x = pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), 1.0), [0, 0], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def two(self, a: T, p: pl.Out[T], q: pl.Out[T]) -> tuple[T, T]:
        v = pl.load(a, [0, 0], [16, 16])
        p = pl.store(pl.add(v, 1.0), [0, 0], p)
        q = pl.store(pl.add(v, 2.0), [0, 0], q)
        return p, q

    @pl.function(type=pl.FunctionType.InCore)
    def ks(self, a: T, o: pl.Out[T], n: pl.Scalar[pl.INDEX]) -> T:
        o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def kf(self, a: T, o: pl.Out[T], f: pl.Scalar[pl.FP32]) -> T:
        o = pl.store(pl.muls(pl.load(a, [0, 0], [16, 16]), f), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def gate(self, x: T, rc: pl.Out[RC]) -> RC:
        rc = pl.write(rc, [0, 0], 1)
        return rc

    @pl.function(type=pl.FunctionType.InCore)
    def mix(self, a: T, o: pl.Out[T]) -> T:
        la = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
        lb = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
        v = pl.move(pl.matmul(la, lb), target_memory=pl.Mem.Vec)
        o = pl.store(pl.add(v, 1.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def stretch(self, a: T, o: pl.InOut[pl.Tensor[[M, 16], pl.FP32]]) -> pl.Tensor[[M, 16], pl.FP32]:
        o = pl.store(pl.load(a, [0, 0], [1, 16]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def dup(self, a: pl.Tensor[[M, 16], pl.FP32]) -> pl.Tensor[[M, 16], pl.FP32]:
        o = pl.create_tensor([M, 16], dtype=pl.FP32)
        o = pl.store(pl.load(a, [0, 0], [1, 16]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def shrink(self, a: pl.Tensor[[M, 16], pl.FP32], o: pl.InOut[T]) -> T:
        o = pl.store(pl.load(a, [0, 0], [1, 16]), [0, 0], o)
        return o

