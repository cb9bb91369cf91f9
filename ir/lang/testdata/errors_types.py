Annotations, subscripts, operators, constants, functions.
--- class annotations
@pl.function(type=pl.FunctionType.InCore)
def a1(self, a) -> T:  ### "Parameter 'a' missing type annotation"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a2(self, a: pl.Tensor) -> T:  ### "bare 'pl.Tensor' has no shape and dtype"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a3(self, a: pl.Tensor[[16, 16], pl.FP33]) -> T:  ### "Unknown dtype 'pl.FP33'.*did you mean 'pl.FP32'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a4(self, a: pl.Tensor[[16, K], pl.FP32]):  ### "Unknown shape variable 'K'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a5(self, a: pl.Tensor[[16, 1.5], pl.FP32]):  ### "must be int or pl.dynamic"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a6(self, a: pl.Tensor[[16, 16], pl.FP32, pl.DN]):  ### "pl.Tensor\\[..., pl.DN\\] is not supported.*TensorView\\(stride"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a7(self, a: pl.Tensor[[16, 16], pl.FP32, pl.NX]):  ### "Unknown layout 'pl.NX'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a8(self, a: pl.Tensor[[16, 16], pl.FP32, pl.TensorView(strides=[1, 1])]):  ### "Unknown TensorView keyword 'strides'.*did you mean 'stride'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def a9(self, a: pl.InOut[pl.Scalar[pl.INDEX]]):  ### "pl.InOut is not supported on a Scalar"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b1(self, a: pl.Tuple[T, T]):  ### "a parameter cannot be a tuple"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b2(self, a: int):  ### "'int' is not a type of the DSL"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b3(self, a: pl.Tensr[[16], pl.FP32]):  ### "Unknown type 'pl.Tensr'.*did you mean 'pl.Tensor'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b4(self, *args: T):  ### "takes no \\*args"
    return args
@pl.function(type=pl.FunctionType.InCore)
def b5(self, a: pl.Tile[[16, 16], pl.FP32, pl.NZ]):  ### "Tile does not accept layouts like pl.NZ"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b6(self, a: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vek]):  ### "Unknown pl.Mem 'Vek'.*pl.Mem.Vec"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b7(self, a: pl.Array[4, pl.FP32]):  ### "elements of a pl.Array are integers"
    return a
@pl.function(type=pl.FunctionType.InCore)
def b8(self, a: T) -> tuple[T, T]:
    return a  ### "returns 1 value, but is annotated with 2"
@pl.function(type=pl.FunctionType.InCore)
def b9(self, a: T) -> pl.Tensor[[16, 8], pl.FP32]:
    return a  ### "returned value does not match.*shape dimension 1 = 16 ≠ 8"
--- main annotated_assignments
a: pl.Tensor[[64, 16], pl.FP32] = pl.create_tensor([128, 16], dtype=pl.FP32)  ### "shape dimension 0 = 128 ≠ 64"
b: pl.Tensor[[16, 16], pl.FP32] = pl.create_tensor([16, 16], dtype=pl.FP16)  ### "dtype fp16 vs fp32"
d: pl.Tensor[[16], pl.FP32] = pl.create_tensor([16, 16], dtype=pl.FP32)  ### "rank 2 vs rank 1"
e: pl.Scalar[pl.INDEX] = pl.create_tensor([16, 16], dtype=pl.FP32)  ### "Tensor .* vs Scalar"
g: pl.Scalar[pl.INT32] = 4
h: pl.Scalar[pl.INT64] = n
return y
--- main subscripts
a = x[0, 0, 0]  ### "3 indices but the tensor is 2D"
b = x[0:8:2, :]  ### "slice step is not supported"
d = n[0]  ### "Subscript requires Tuple, Tensor, Tile, or Array"
e = x[f, 0]  ### "an index must be an integer scalar"
x[0, 0] = 1.0  ### "Element-write to a tensor.*pl.write"
y[0:8, :] = x  ### "shape mismatch on source axis 0: the subscript selects 8 elements, the source has 16"
y[0:8, :] = x[0:8, 0:8]  ### "shape mismatch on source axis 1"
y[0:16, :] = c  ### "must be 2D to match"
y[0][1] = x  ### "must be a plain name"
g = x[16, 0]  ### "index 16 is out of range for axis 0"
h = x[8:8, :]  ### "the slice of axis 0 is empty"
i, j = self.two(x, y, y)
t = self.two(x, y, y)
k = t[2]  ### "index 2 is out of range for a tuple of 2"
l = t[n]  ### "must be a compile-time integer"
arr = pl.array.create(4, pl.INT32)
m = arr[4]  ### "index 4 is out of range for an array of 4"
arr[0] = f  ### "an element of 'arr' is int32"
return y
--- kernel tile_subscripts
v = pl.load(x, [0, 0], [16, 16])
a = v[n:n + n, :]  ### "Dynamic lower bounds"
b = v[0:n, :]
d = v[0:8, 0:8]
return y
--- main operators
a = n + f  ### "operator '\\+' requires same numeric dtype category, got index and fp32"
b = x + y  ### "operator '\\+' needs scalars, got .*pl.add"
d = n / 2  ### "warning.*'/' of two integers .index. drops the fraction.*//"
e = (n > 0) + 1  ### "requires same numeric dtype category"
g = -x  ### "operator '-' needs a scalar"
h = n // 0  ### "division by zero"
i = x > 0  ### "operator '>' needs scalars.*pl.cmp"
t = None
j = t + 1  ### "operator '\\+' needs scalars"
k = pl.cast(f, pl.INT32, mode="rint")  ### "Scalar inputs do not support non-default mode"
l = pl.const(n, pl.INT32)  ### "needs a literal"
m = n ** 2  ### "Unsupported operator '\\*\\*'"
o = pl.min(n, f)  ### "requires same numeric dtype category"
return y
--- main constants
a = pl.array.create(n, pl.INT32)  ### "known at compile time"
pl.static_assert(N == 4, "N is four")
pl.static_assert(N == 5, "N is five")  ### "static_assert failed: N is five"
pl.static_assert(n > 0, "n")  ### "compile-time evaluable"
pl.static_assert(N == 4, n)  ### "must be a string literal"
pl.static_print("n is", n, f"{N}")
pl.static_print(f"{n:4}")  ### "format specs"
return y
--- class decorators
@pl.function(type=pl.FunctionType.Incore)  ### "Unknown pl.FunctionType 'Incore'.*did you mean 'pl.FunctionType.InCore'"
def d1(self, a: T):
    return a
@pl.function(type="InCore")  ### "expected a pl.FunctionType"
def d2(self, a: T):
    return a
@pl.function(typ=pl.FunctionType.InCore)  ### "unexpected keyword argument 'typ'.*did you mean 'type'"
def d3(self, a: T):
    return a
@pl.function(type=pl.FunctionType.AIV, level=pl.Level.AIC)  ### "level=pl.Level.AIC contradicts type=pl.FunctionType.AIV"
def d4(self, a: T):
    return a
@pl.function(type=pl.FunctionType.AIV, role=pl.Role.Orchestrator)  ### "role=pl.Role.Orchestrator contradicts"
def d5(self, a: T):
    return a
@pl.function(type=pl.FunctionType.AIV, external_source="k.cpp")
def d6(self, a: T, o: pl.Out[T]) -> T:
    return o  ### "the body of an external kernel must be"
@pl.function(type=pl.FunctionType.InCore, external_source="k.cpp")  ### "external_source= needs type=pl.FunctionType.AIC or AIV"
def d7(self, a: T, o: pl.Out[T]) -> T: ...
@pl.function(attrs={"a": 1})  ### "warning.*deprecated"
def d8(self, a: T):
    return a
--- class func_attr
@pl.function(type=pl.FunctionType.InCore)
def f1(self, a: T):
    b = a
    pl.func_attr({"a": 1})  ### "must appear before every other statement"
    return b
@pl.function(type=pl.FunctionType.InCore)
def f2(self, a: T):
    pl.func_attr(1)  ### "exactly one positional dict"
    return a
@pl.function(type=pl.FunctionType.InCore)
def f3(self, a: T):
    pl.func_attr({1: 2, "auto_scope": False, "x": 1, "x": 2})  ### "keys must be strings" ### "'auto_scope' cannot be set with pl.func_attr" ### "duplicate function attribute 'x'"
    return a
@pl.function(type=pl.FunctionType.InCore)
def f4(self, a: T):
    """Says what it does."""
    pl.func_attr({"split": pl.SplitMode.UP_DOWN, "weights": [1, 2]})
    return a
--- file plain_output
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: T):
        y = self.k(x, y)  ### "warning.*'y' is assigned, but the parameter is not pl.Out"
        return y
--- file jit
@pl.jit.incore(auto_scope=False)  ### "pl.jit.incore does not accept a auto_scope= argument"
def a(x: T, o: pl.Out[T]):
    return o
@pl.jit.inline
def b(x: T, o: pl.Out[T]):  ### "warning.*pl.Out on a parameter of a @pl.jit.inline function"
    return o
@pl.jit.incore
def bare(x: pl.Tensor, o: pl.Out[pl.Tensor], s: int = 2):
    o[0:16, :] = pl.mul(x, s)
    return o
@pl.jit
def main(x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    y = a(x, y)
    y = b(x, y)
    y = bare(x, y)
    y = bare(x, o=y, s=3)
    y = bare(x, y, n)  ### "argument 3 of 'bare' must be a compile-time constant"
    y = bare(x)  ### "'bare' expects 3 argument\\(s\\), got 1: 'o' is missing"
    y = bare(x, y, t=1)  ### "unexpected keyword argument 't'"
    return y
--- file jit_entry
@pl.jit
def main(x: pl.Tensor, y: pl.Out[T], n: pl.Scalar, m: int):  ### "bare 'pl.Tensor'" ### "scalar parameter 'n'" ### "scalar parameter 'm' needs a value"
    return y
--- file extern
@pl.jit.extern(core_type="mixed", source="k.cpp")  ### "requires both aic_source= and aiv_source="
def e1(x: T, o: pl.Out[T]): ...
@pl.jit.extern(core_type="aiv")  ### "requires source="
def e2(x: T, o: pl.Out[T]): ...
@pl.jit.extern(core_type="gpu", source="k.cpp")  ### "must be \"aic\", \"aiv\" or \"mixed\""
def e3(x: T, o: pl.Out[T]): ...
@pl.jit
def main(x: T, y: pl.Out[T]):
    y = e1(x, y)
    y = e2(x, y)
    y = e3(x, y)
    return y
