"""pl.norm.rms(x, gain=1.0, eps=1e-6) for kernels, pl.norm.rows(x, at, n=16) for orchestration functions."""
import ptobuild_plugin as pto


class Rms(pto.Op):
    "each row over its root mean square, times gain"
    name = "rms"
    params = [pto.tile("x", mem="Vec")]
    keywords = [pto.keyword("gain", float, 1.0), pto.keyword("eps", float, 1e-6)]
    where, result, core, pure, mem = pto.IN_CORE, pto.FRESH, pto.VECTOR_CORE, True, "Vec"

    def infer(self, c):
        if not c.dtype("x").is_float():
            raise c.error("x", "NORM-001", "only floats can be normalised, not %s" % c.dtype("x"), "convert it with pl.cast")
        if c.keyword("eps") < 0:
            raise pto.Report("NORM-002", "norm.rms: eps is negative", "it keeps a row of zeros from a division by zero: 1e-6")
        return c.type("x")

    def evaluate(self, v):
        x, columns = v.numbers("x"), v.shape("x")[-1]
        valid = v.valid("x")[-1]  # the rest of a row is padding
        for at in range(0, len(x), columns):
            row = x[at:at + columns]
            scale = v.keyword("gain") / (sum(e * e for e in row) / max(valid, 1) + v.keyword("eps")) ** 0.5
            v.result[at:at + columns] = [scale * e for e in row]


class Rows(pto.Op):
    "n rows of a tensor, from row at on"
    name = "rows"
    params = [pto.tensor("x"), pto.scalar("at")]
    keywords = [pto.keyword("n", int, 16, min=1, max=256)]
    where, result, effects, pure = pto.ON_HOST, pto.view_of(0), [pto.UNTOUCHED], True

    def infer(self, c):
        n, rows = c.keyword("n"), c.extent("x", 0)
        if rows is not None and rows % n:
            raise c.error("x", "NORM-003", "blocks of %d rows do not divide %d" % (n, rows), "take a divisor")
        return pto.tensor_type([n] + c.shape("x")[1:], c.dtype("x"))

    def emit(self, c):
        return ["uint32_t $offset[] = {$at, 0};",
                "uint32_t $shape[] = {%d, $x.dim(1)};" % c.keyword("n"),
                "Tensor $result = $x.view($shape, $offset);"]
