# Functions of every type, attributes, comments, external sources.
import pypto.language as pl


class Config:
    pass


@pl.function(type=pl.FunctionType.AIV)
def shared(a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]) -> pl.Tensor[[16], pl.INT32]:
    o = pl.store(pl.load(a, [0], [16]), [0], o)
    return o


@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.AIV, external_source="k.cpp")
    def hand(self, a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]) -> pl.Tensor[[16], pl.INT32]: ...

    @pl.function(type=pl.FunctionType.Group)
    def group(self, a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]) -> pl.Tensor[[16], pl.INT32]:
        """Forwards to one kernel."""
        pl.func_attr({"split": pl.SplitMode.LEFT_RIGHT, "note": "x", "sizes": [1, 2]})
        o = self.hand(a, o)
        return o

    @pl.function
    def opaque(self, a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]):
        with pl.at(level=pl.Level.CORE_GROUP, windowize=True):
            # Copies a row,
            # all of it.
            o = pl.store(pl.load(a, [0], [16]), [0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)
    def main(self, a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]):
        with pl.scope():
            o = self.group(a, o)
        o = shared(a, o)
        o = self.later(a, o)
        return o

    @pl.function(type=pl.FunctionType.AIV)
    def later(self, a: pl.Tensor[[16], pl.INT32], o: pl.Out[pl.Tensor[[16], pl.INT32]]):
        v: pl.Tile[[16], pl.INT32, pl.Mem.Vec] = pl.load(a, [0], [16])
        o = pl.store(v, [0], o)
        return o
