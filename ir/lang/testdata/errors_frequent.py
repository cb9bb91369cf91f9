The frequent mistakes of users that no other file has, with the text that each report marks.
--- kernel operands
t = pl.load(x, [0, 0], [16, 16])
a1 = pl.cast(t, pl.FP16, mode="nearest")  ### "Invalid rounding mode .nearest.*none, rint, round" at "\"nearest\""
a2 = pl.add(t, x)  ### "cannot mix Tensor and Tile operands: 'rhs' is a Tensor.*pl.load" at "x"
a3 = pl.add(x, t)  ### "cannot mix Tensor and Tile operands" at "t"
a4 = pl.add(f, 1.0)  ### "expected Tensor or Tile operands, got Scalar.*Python's operators" at "f"
a5 = pl.row_sum(t)  ### "Tile inputs require tmp_tile.*pl.create_tile" at "pl.row_sum(t)"
a6 = pl.row_sum(x, tmp_tile=t)  ### "Tensor inputs must not pass tmp"
a7 = pl.fillpad(t, pad_value=pl.PadValue.null)  ### "fillpad pad_value must be 0" at "pl.PadValue.null"
a8 = pl.fillpad(t, pad_value=2)  ### "fillpad pad_value must be 0" at "2"
a9 = pl.add(t, t, 1)  ### "takes 2 operands, got 3.*lhs, rhs" at "1"
b1 = pl.tile.ad(t, t)  ### "Unknown operation 'pl.tile.ad'.*did you mean 'pl.tile.add'" at "pl.tile.ad"
b2 = pl.tile.add(x, x)  ### "operand 'lhs' must be a Tile, got Tensor" at "x"
b3 = pl.tensor.add(t, t)  ### "operand 'lhs' must be a Tensor, got Tile" at "t"
b4 = pl.add(t, t, typo=1)  ### "unexpected keyword argument 'typo'"
return y
--- class extents
@pl.function(type=pl.FunctionType.InCore)
def e1(self, a: pl.Tensor[[[1, 2][7], 16], pl.FP32]):  ### "IndexError: list index out of range" at "[1, 2][7]"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e2(self, a: pl.Tensor[[NAMES["b"], 16], pl.FP32]):  ### "KeyError" at "NAMES[\"b\"]"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e3(self, a: pl.Tensor[[16 // 0, 16], pl.FP32]):  ### "ZeroDivisionError" at "16 // 0"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e4(self, a: pl.Tensor[[-4, 16], pl.FP32]):  ### "an extent must not be negative" at "-4"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e5(self, a: pl.Tensor[[16, True], pl.FP32]):  ### "an extent must be int or pl.dynamic, got pl.Scalar.pl.BOOL." at "True"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e6(self, a: pl.Tensor[[len(lost), 16], pl.FP32]):  ### "Undefined variable 'lost'" at "lost"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e7(self, a: pl.Tensor[[16, 16]]):  ### "pl.Tensor needs a shape and a dtype" at "pl.Tensor[[16, 16]]"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e8(self, a: pl.Tensor([16, 16], pl.FP32)):  ### "'pl.Tensor' is a type, and types are not called.*brackets: pl.Tensor\\[\\[rows, cols\\], pl.FP32\\]" at "pl.Tensor([16, 16], pl.FP32)"
    return a
@pl.function(type=pl.FunctionType.InCore)
def e9(self, a: pl.Tile[[16, 16], pl.FP32, pl.TileView(valid=[1, 1])]):  ### "Unknown TileView keyword 'valid'" at "valid=[1, 1]"
    return a
--- main undefined_anywhere
a = len(u1)  ### "Undefined variable 'u1'" at "u1"
b = helper(x)  ### "Undefined variable 'helper'.*define the function at module level.*or import it" at "helper"
with pl.at(level=u2):  ### "Undefined variable 'u2'" at "u2"
    pass
with pl.spmd(u3):  ### "Undefined variable 'u3'" at "u3"
    pass
pl.static_assert(u4 == 4)  ### "Undefined variable 'u4'" at "u4"
d: pl.Tensor[[16, 16], u5] = x  ### "Undefined variable 'u5'" at "u5"
e = pl.create_tensor([u6, 16], dtype=u7)  ### "Undefined variable 'u6'" at "u6" ### "Undefined variable 'u7'" at "u7"
y, t = pl.submit(self.acc, x, y, deps=[u8])  ### "Undefined variable 'u8'" at "u8"
y, t = pl.submit(u9, x, y)  ### "Undefined variable 'u9'" at "u9"
return y
--- file jit_arguments
@pl.jit.inline
def dep(x: pl.Tensor, o: pl.Tensor, s: pl.constexpr = 2):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[:, :] = pl.mul(x, s)
    return o
@pl.jit.inline(level=pl.Level.CHIP)  ### "pl.jit.inline does not accept a level= argument.*pl.jit.incore" at "level=pl.Level.CHIP"
def leveled(x: T):
    return x
@pl.jit.inline
def fixed(x: T, o: T, s: T, k: pl.constexpr = 2):
    return o
@pl.jit
def main(x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    y = dep(n, y)  ### "missing inferred tensor metadata for parameter 'x' of 'dep': expected a Tensor, got a Scalar" at "n"
    y = dep(x, o=n + 1)  ### "missing inferred tensor metadata for parameter 'o' of 'dep'" at "n + 1"
    y = dep(x, y, n)  ### "argument 3 of 'dep' must be a compile-time constant" at "n"
    y = dep(x, y)
    y = fixed(x, y, n, 2)  ### "argument 's' of 'fixed': expected a Tensor, got a Scalar" at "n"
    y = fixed(x, k=2, o=y, s=n)  ### "argument 's' of 'fixed': expected a Tensor, got a Scalar" at "n"
    leveled(x)
    return y
--- main columns_count_characters
pl.static_assert(N == 4, "größer ✓"); y = self.k(q, y)  ### "Undefined variable 'q'" at "q"
return y
