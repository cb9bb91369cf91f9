Names, assignments and statements that the DSL does not have.
--- main undefined
y = self.k(q, y)  ### "Undefined variable 'q'"
y = self.k(q, y)
z = q
y = self.k(z, y)
return y
--- main undefined_hint
first = self.k(x, y)
y = self.k(frist, y)  ### "Undefined variable 'frist'.*did you mean 'first'"
return y
--- main several_independent
a = missing1  ### "missing1"
y = self.nope(x, y)  ### "Undefined function 'self.nope'"
y = self.gat(x, y)  ### "did you mean 'self.gate'"
y = self.k(x, y, bogus=1)  ### "unexpected keyword argument 'bogus'"
return y
--- main poison_is_silent
a = pl.bogus(x)  ### "Unknown operation 'pl.bogus'"
b = self.k(a, y)
c2 = pl.slice(b, [4, 4], [0, 0])
y = self.k(c2, y)
return y
--- main augassign
i = 0
i += 1  ### "Unsupported statement type: AugAssign.*i = i \\+"
y = self.ks(x, y, i)
return y
--- main statements
del y  ### "Unsupported statement type: Delete"
assert n > 0  ### "Unsupported statement type: Assert.*static_assert"
raise ValueError  ### "Unsupported statement type: Raise"
global N  ### "Unsupported statement type: Global"
import math  ### "Unsupported statement type: Import"
def inner(a):  ### "Unsupported statement type: FunctionDef"
    return a
class Inner:  ### "Unsupported statement type: ClassDef"
    pass
try:  ### "Unsupported statement type: Try"
    y = self.k(x, y)
except ValueError:
    pass
match n:  ### "Unsupported statement type: Match"
    case 1:
        pass
a = b = 1  ### "Unsupported statement type: Assign with several targets"
d: pl.Scalar[pl.INDEX]  ### "a declaration without a value"
return y
--- main expressions
a = n if n > 0 else 1  ### "Unsupported expression: IfExp"
b = lambda v: v  ### "Unsupported expression: Lambda"
d = [v for v in x]  ### "Unsupported expression: ListComp"
e = f"{n}"  ### "Unsupported expression: JoinedStr"
g = (h := n)  ### "Unsupported expression: NamedExpr"
i = "text"  ### "bare string"
j = n & 1  ### "Unsupported operator '&'"
k = n is None  ### "Unsupported comparison 'is'.*task_is_valid"
l = {"a": n}  ### "Unsupported expression: Dict"
m = [*x]  ### "Unsupported expression: Starred"
return y
--- main reassign
t = pl.create_tensor([16, 16], dtype=pl.FP32)
t = pl.create_tensor([8, 16], dtype=pl.FP32)  ### "Cannot reassign 't' with a different type: was .*\\[\\[16, 16\\].* got .*\\[\\[8, 16\\]"
t = self.k(x, t)
return y
--- main reassign_in_loop
t = pl.create_tensor([16, 16], dtype=pl.FP32)
for i in pl.range(4):
    t = pl.create_tensor([16, 16], dtype=pl.FP16)  ### "Cannot reassign 't' with a different type"
return y
--- main reuse_in_later_region
for i in pl.range(4):
    s = pl.slice(y, [16, 1], [0, i])
for j in pl.range(4):
    s = pl.slice(y, [4, 1], [0, j])
return y
--- main branch_types
if n > 0:
    s = pl.slice(x, [4, 4], [0, 0])
    s = pl.slice(x, [4, 4], [1, 0])
else:
    s = pl.slice(x, [8, 4], [0, 0])
y = self.k(s, y)  ### "'s' is .*\\[\\[4, 4\\].* after one branch and .*\\[\\[8, 4\\].* after the other"
return y
--- main loop_variable_after_loop
for i in pl.range(4):
    y = self.ks(x, y, i)
y = self.ks(x, y, i)  ### "loop variable 'i' is not defined after its loop"
return y
--- main closed_loop_id
for i in pl.range(2):
    y, t = pl.submit(self.acc, x, y)
y, _ = pl.submit(self.acc, x, y, deps=[t])  ### "TaskId 't' is used outside its defining scope.*cannot be honored"
return y
--- main reassigned_id
for i in pl.range(2):
    y, t = pl.submit(self.acc, x, y)
for j in pl.range(2):
    y, t = pl.submit(self.acc, x, y)
    y, u = pl.submit(self.acc, x, y, deps=[t])
for i in pl.unroll(2):
    y, w = pl.submit(self.acc, x, y, timing_slot=N)
y, _ = pl.submit(self.acc, x, y, deps=[w])
if n > 0:
    y, v = pl.submit(self.acc, x, y)
else:
    y, v = pl.submit(self.k, x, y)
y, u = pl.submit(self.acc, x, y, deps=[v])
return y
--- main unpack
a, b = x  ### "cannot unpack .* into 2 names"
d, e, g = self.two(x, y, y)  ### "cannot unpack 2 values into 3 names"
h, (i, j) = self.two(x, y, y)  ### "only plain names can be unpacked"
return y
--- main unused
n + 1  ### "warning.*not used"
return y
--- main closure_values
a = NAMES  ### "Unsupported closure variable type"
b = self  ### "Undefined variable 'self'"
d = pl.FP32  ### "pl.FP32 is not a value here"
e = twice  ### "the function 'twice' is not a value"
g = 9223372036854775808  ### "does not fit 64 bits"
return y
--- file strict_ssa
@pl.program(strict_ssa=True)
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.Scalar[pl.INDEX], y: pl.Out[T]):
        a = n + 1
        a = n + 2  ### "'a' is assigned a second time, but the function is strict_ssa"
        return a
--- class duplicate_function
@pl.function(type=pl.FunctionType.InCore)
def again(self, a: T, o: pl.Out[T]) -> T:
    return o
@pl.function(type=pl.FunctionType.InCore)
def again(self, a: T, o: pl.Out[T]) -> T:  ### "Duplicate function name 'again'"
    return o
--- file no_methods
@pl.program
class Empty:  ### "Class 'Empty' contains no @pl.function decorated methods"
    def helper(self):
        pass
--- main macros
a = void(y)  ### "'void' has no return value"
b = twice(n, n)  ### "'twice' expects 1 argument\\(s\\), got 2"
d = twice(n) + twice(1)
while twice(d) < n:  ### "cannot be called in the condition of a while loop"
    d = d + 1
return y
--- main python_calls
a = min(n, 4)  ### "Unsupported function call: min.*pl.min"
b = int(n)  ### "Unsupported function call: int.*pl.cast"
d = x.sum()  ### "Unsupported function call: x.sum"
e = print(n)  ### "Unsupported function call: print"
g = x.shape[0]  ### "no attribute 'shape'.*pl.tensor.dim"
return y
--- class syntax_errors
@pl.function(type=pl.FunctionType.InCore)
def good(self, a: T, o: pl.Out[T]) -> T:
    o = pl.store(oops, [0, 0], o)  ### "Undefined variable 'oops'"
    return o
@pl.function(type=pl.FunctionType.InCore)
def bad(self, a: T, o: pl.Out[T]) -> T:
    v = pl.load(a, [0, 0], [16, 16]  ### "PTO-P"
    o = pl.store(v, [0, 0], o)
    w = undefined
    return o
--- file module_not_found
from shapes import ROWS, scale

COLS = ROWS * 2


@pl.program
class Program:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[ROWS, 16], pl.FP32], y: pl.Out[T]):  ### "'shapes.ROWS' is unknown: there is no module 'shapes'"
        a = scale(y)  ### "Unsupported function call: scale\\(...\\): there is no module 'shapes'"
        b = ROWS + 1
        return y
