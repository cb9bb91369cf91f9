# Comments stay with the statement below them, those at the end of a block with nothing.
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]


# above the class
@pl.program
class Comments:
    # above the function
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self,
        a: T,  # the input
        o: pl.Out[T],
    ) -> T:
        # above the first statement
        # on two lines
        t = pl.load(a, [0, 0], [16, 16])  # beside a statement
        for i in pl.range(4):
            # inside
            t = pl.add(t, 1.0)
            # at the end of the loop
        # above the store
        o = pl.store(t, [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.InCore)
    def documented(self, a: T, o: pl.Out[T]) -> T:
        """What it does.

        And how.
        """
        # above the first statement
        t = pl.load(a, [0, 0], [16, 16])
        o = pl.store(t, [0, 0], o)
        return o
