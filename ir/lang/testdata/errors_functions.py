Functions that call each other, host functions, outputs.
--- class recursion
@pl.function(type=pl.FunctionType.Orchestration)
def loop(self, x: T, y: pl.Out[T]):
    y = self.loop(x, y)  ### "'loop' calls itself"
    return y
@pl.function(type=pl.FunctionType.Orchestration)
def ping(self, x: T, y: pl.Out[T]):
    y = self.pong(x, y)
    return y
@pl.function(type=pl.FunctionType.Orchestration)
def pong(self, x: T, y: pl.Out[T]):
    y = self.ping(x, y)  ### "'ping' calls itself"
    return y
--- class kernel_calls_orchestration
@pl.function(type=pl.FunctionType.Orchestration)
def top(self, x: T, y: pl.Out[T]) -> T:
    y = self.k(x, y)
    return y
@pl.function(type=pl.FunctionType.InCore)
def kern(self, x: T, y: pl.Out[T]) -> T:
    y = self.top(x, y)  ### "a kernel cannot call 'top': it is a Orchestration function"
    return y
--- class inline_calls
@pl.function(type=pl.FunctionType.Inline)
def count(self, n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    return n + 1
@pl.function(type=pl.FunctionType.Orchestration)
def main(self, x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    y = self.ks(x, y, self.count(n))
    while self.count(n) > 4:  ### "cannot be called in a while condition"
        y = self.k(x, y)
    return y
--- class host
@pl.function(type=pl.FunctionType.Orchestration)
def chip(self, x: T, y: pl.Out[T]) -> T:
    y = self.k(x, y)
    return y
@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
def host(self, x: T, y: pl.Out[T]):
    y = self.chip(x, y, device=0)
    y, t = pl.submit(self.chip, x, y)
    y, u = pl.submit(self.chip, x, y, deps=[t])
    y, v = pl.submit(self.chip, x)  ### "passes all of them"
    y, w = pl.submit(self.chip, x, y, predicate=(x[0, 0] > 0))  ### "'predicate=' is not supported on a submit of a HOST" ### "signed 8/16/32/64"
    y, z = pl.spmd_submit(self.chip, x, y, core_num=4)  ### "not available in a HOST orchestrator"
    a = pl.distributed.alloc_window_buffer(1024)
    pl.distributed.alloc_window_buffer(1024)  ### "must be the right side of an assignment"
    y = self.k(x, y, device=1)  ### "device= is only accepted on calls of orchestrators"
    return y
--- file dropped_write
@pl.jit
def main(x: T, y: pl.Out[T]):
    y = pl.create_tensor([16, 16], dtype=pl.FP32)  ### "warning.*the new value of 'y' is dropped.*y\\[:\\]"
    return y
--- file inlined_recursion
@pl.inline
def again(a):
    b = again(a)  ### "calls itself"
    return b
@pl.jit
def main(x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX]):
    b = again(n)
    return y
--- class arrays_escape
@pl.function(type=pl.FunctionType.InCore)
def takes(self, a: pl.Array[4, pl.INT32], o: pl.Out[T]):  ### "parameter 'a' of 'takes' is an array"
    return o
@pl.function(type=pl.FunctionType.Orchestration)
def gives(self, x: T, y: pl.Out[T]):
    arr = pl.array.create(4, pl.INT32)
    return arr  ### "an array cannot be returned"
@pl.function(type=pl.FunctionType.Inline)
def fine(self, a: pl.Array[4, pl.INT32]):
    a[0] = 1
    return a
@pl.function(type=pl.FunctionType.InCore)
def default(self, a: T, n: pl.Scalar[pl.INDEX] = 4):  ### "warning.*default of parameter 'n' has no effect"
    return a
--- main host_ops
n = pl.distributed.world_size()  ### "pld.world_size is only available in a HOST function"
return y
--- main branch_names
if n > 0:
    a = n + 1
    b = pl.yield_(a)
else:
    b = pl.yield_(n)
y = self.ks(x, y, b)
y = self.ks(x, y, a)  ### "'a' is only defined inside the branch"
return y
--- file no_program_around
class P:  # no @pl.program
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:  ### "'k' takes self, but the class around it is not a program.*@pl.program"
        o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, o: pl.Out[T]):
        o = self.k(a, o)
        return o
--- class bare_directions
@pl.function(type=pl.FunctionType.InCore)
def f(self, a: T, o: pl.Out) -> T:  ### "bare 'pl.Out' has no type.*pl.Out\\[pl.Tensor\\[\\[rows, cols\\], pl.FP32\\]\\]"
    return a
@pl.function(type="InCore")  ### "expected a pl.FunctionType.*write pl.FunctionType.InCore"
def g(self, a: T, o: pl.Out[T]) -> T:
    return a
--- class written_inputs
@pl.function(type=pl.FunctionType.InCore)
def plain(self, a: T, o: T) -> T:
    b = pl.load(a, [0, 0], [16, 16])
    o = pl.store(b, [0, 0], o)  ### "warning.*'o' is written, but the parameter is not pl.Out or pl.InOut"
    o = pl.store(b, [0, 0], o)
    return o
--- file conflicting
def make(n):
    @pl.function(type=pl.FunctionType.InCore)
    def kern(a: T, o: pl.Out[T]) -> T:
        o = pl.store(pl.add(pl.load(a, [0, 0], [16, 16]), n), [0, 0], o)
        return o
    return kern
one = make(1.0)
two = make(2.0)
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T]):
        y = one(x, y)
        y = two(x, y)  ### "Conflicting external functions.*'kern'"
        return y
--- class pipes
@pl.function(type=pl.FunctionType.AIC)
def cube(self, a: T, o: pl.Out[T]):
    p = pl.import_peer_buffer(name="fifi", peer_func="vec")  ### "warning.*'vec' reserves no buffer named 'fifi'.*did you mean 'fifo'"
    q = pl.import_peer_buffer(name="fifo", peer_func="elsewhere")
    return o
@pl.function(type=pl.FunctionType.AIV)
def vec(self, a: T, o: pl.Out[T]):
    p = pl.reserve_buffer(name="fifo", size=4096)
    return o
--- class two_buffers
@pl.function(type=pl.FunctionType.AIV)
def vec(self, a: T, o: pl.Out[T]):
    p = pl.reserve_buffer(name="fifo", size=4096)
    q = pl.reserve_buffer(name="fifo", size=4096)  ### "'vec' reserves a buffer named 'fifo' twice"
    return o
--- class nothing_returned
@pl.function(type=pl.FunctionType.InCore)
def quiet(self, a: T, o: pl.Out[T]):
    pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
@pl.function(type=pl.FunctionType.Orchestration)
def main(self, a: T, o: pl.Out[T]):
    o = self.quiet(a, o)  ### "'quiet' returns nothing that could be assigned to 'o'.*return the outputs"
    self.quiet(a, o)
    return o
--- class attributes_of_self
N = 4
@pl.function(type=pl.FunctionType.Orchestration)
def main(self, a: T, o: pl.Out[T]):
    for i in pl.range(self.N):  ### "the program has no function 'N', and self has nothing else.*module level"
        o = self.k(a, o)
    for i in pl.range(self.k):  ### "self.k is a function, not a value"
        o = self.k(a, o)
    return o
