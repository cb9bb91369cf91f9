# What only jit functions have: shapes, bound axes, keywords and defaults, instances.
import pypto.language as pl

M = pl.dynamic("M")
SCALES = [0.5, 2.0]
CHUNK = 8 * 2


@pl.inline
def doubled(a):
    b = a * 2
    return b


@pl.jit.incore
def scale(x: pl.Tensor, o: pl.Out[pl.Tensor], factor: float = 2.0, row: pl.Scalar[pl.INDEX] = 0):
    rows, cols = x.shape
    v = pl.load(x, [row, 0], [rows, cols])
    o = pl.store(pl.mul(v, factor), [row, 0], o)
    return o


@pl.jit.inline(auto_scope=False)
def body(x: pl.Tensor[[M, 32], pl.FP32], o: pl.Tensor[[M, 32], pl.FP32]):
    t = pl.create_tensor([M, 32], dtype=x.dtype)
    for i in pl.parallel(0, M, CHUNK):
        with pl.at(level=pl.Level.CORE_GROUP):
            t[i : i + CHUNK, :] = pl.mul(x[i : i + CHUNK, :], SCALES[1])
        with pl.at(level=pl.Level.CORE_GROUP):
            o[i : i + CHUNK, :] = pl.add(t[i : i + CHUNK, :], 1.0)
    return o


@pl.jit
def run(x: pl.Tensor[[64, 32], pl.FP32], w: pl.Tensor[[16, 16], pl.FP16], o: pl.Out[pl.Tensor[[M, 32], pl.FP32]], n: pl.Scalar[pl.INDEX],
        limit: int = 4, top: pl.Scalar[pl.INDEX] = pl.RUNTIME):
    x.bind_dynamic(0, M)
    rows = x.shape[0]
    cols = x.shape[1]
    d = doubled(n)
    pl.static_assert(cols == 32, "two tiles")
    t = pl.create_tensor([rows, cols], dtype=pl.FP32)
    t = body(x, t)
    u = pl.create_tensor(w.shape, dtype=w.dtype)
    u = scale(w, u)
    u = scale(w, o=u, factor=SCALES[0], row=d)
    for i in pl.range(limit):
        o = pl.assemble(o, t, [i * cols, 0])
    y = u
    y = t
    if top > rows:
        rows = rows + 1
    return o
