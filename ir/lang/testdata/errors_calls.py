Calls, submits, dependencies and predicates.
--- main argument_count
y = self.k(x)  ### "'k' expects 2 argument\\(s\\), got 1.*a, o: Out"
y = self.k(x, y, y)  ### "'k' expects 2 argument\\(s\\), got 3"
return y
--- main plain_call_keywords
y, t = pl.submit(self.k, x, y)
y = self.k(x, y, deps=[t])  ### "does not accept 'deps='; use pl.submit"
y = self.k(x, y, core_num=4)  ### "does not accept 'core_num='; use pl.submit"
y = self.k(x, y, allow_early_resolve=True)  ### "does not accept 'allow_early_resolve='"
y = self.k(x, y, timing_slot=1)  ### "does not accept 'timing_slot='"
y = self.k(x, y, **n)  ### "\\*\\*kwargs"
return y
--- main arguments_by_name
y = self.ks(x, y, n=0)  ### "the arguments of 'ks' are positional: 'n=' cannot be given by name.*a, o: Out, n"
return y
--- main argument_types
arr = pl.array.create(4, pl.INT32)
y = self.k(arr, y)  ### "argument 'a' of 'k': an array cannot be passed to a kernel"
y = self.k(n, y)  ### "argument 'a' of 'k': expected a Tensor, got a Scalar"
y = self.ks(x, y, x)  ### "argument 'n' of 'ks': expected a Scalar, got a Tensor"
y = self.ks(x, y, f)  ### "argument 'n' of 'ks': expected dtype index, got dtype fp32"
h = pl.create_tensor([16, 16], dtype=pl.FP16)
y = self.k(h, y)  ### "argument 'a' of 'k': expected dtype fp32, got dtype fp16"
v = pl.create_tensor([16], dtype=pl.FP32)
y = self.k(v, y)  ### "argument 'a' of 'k': expected rank 2, got rank 1"
w = pl.create_tensor([8, 16], dtype=pl.FP32)
y = self.k(w, y)  ### "warning.*shape dimension 0 = 8, but the parameter has 16"
return y
--- main submit_forms
y = self.k(pl.submit(self.k, x, y), y)  ### "must be unpacked"
a, b, d = pl.submit(self.k, x, y)  ### "must be unpacked into as many names"
e, g = pl.submit(self.two, x, y, y)  ### "gives 2 results and a TaskId.*\\(a, b\\), tid"
h, i = pl.submit()  ### "needs the kernel as its first argument"
j, l = pl.submit(self.nope, x, y)  ### "Undefined function 'self.nope'"
y = pl.submit(self.acc, x, y)  ### "pl.submit gives a tuple.*must be unpacked: 'y' is.*y, tid = pl.submit"
m, o = pl.submit(x, y)  ### "'x' is a value, not a function"
p, q = pl.submit(self.k, x, y, dep=[h])  ### "unexpected keyword argument .dep..*did you mean .deps."
return y
--- main submit_missing_input
a, t = pl.submit(self.acc, x)  ### "missing argument 'o': only Out params may be runtime-allocated, and 'o' is InOut"
b, u = pl.submit(self.ks, x)  ### "missing argument 'n': only Out params may be runtime-allocated"
return y
--- main deps
y, t = pl.submit(self.acc, x, y)
tids = pl.array.create(4, pl.TASK_ID)
y, _ = pl.submit(self.acc, x, y, deps=[x])  ### "bare tensor names are not allowed in deps=; use the TaskId"
y, _ = pl.submit(self.acc, x, y, deps=[y])  ### "bare tensor names.*written by the task '_'|bare tensor names"
y, _ = pl.submit(self.acc, x, y, deps=t)  ### "deps= must be a list literal"
y, _ = pl.submit(self.acc, x, y, deps=nobody)  ### "Undefined variable 'nobody'"
y, _ = pl.submit(self.acc, x, y, deps=[n])  ### "must be a TaskId, got .*INDEX"
y, _ = pl.submit(self.acc, x, y, deps=[tids, t])  ### "cannot mix"
y, _ = pl.submit(self.acc, x, y, deps=[self.k(x, y)])  ### "must be a TaskId: a name"
y, _ = pl.submit(self.acc, x, y, deps=[tids[j] for j in range(n)])  ### "known at compile time"
y, _ = pl.submit(self.acc, x, y, deps=[tids[7]])  ### "index 7 is out of range for an array of 4"
y, _ = pl.submit(self.acc, x, y, deps=[tids[j] for j in range(2) if j])  ### "one comprehension"
return y
--- main dumps
y, _ = pl.submit(self.acc, x, y, dumps=[c])  ### "'c' is not an argument of this submit"
y, _ = pl.submit(self.acc, x, y, dumps=[n])  ### "'n' is not a tensor"
y, _ = pl.submit(self.acc, x, y, dumps=x)  ### "dumps= must be a list literal"
pl.dump_tag(x[0:4, :])  ### "bare variable name"
pl.dump_tag(n)  ### "not a tensor"
pl.dump_tag(x, y)  ### "exactly one tensor"
return y
--- kernel dump_tag_in_kernel
pl.dump_tag(x)  ### "only valid inside an Orchestration"
return y
--- main launch_options
y, _ = pl.submit(self.acc, x, y, timing_slot=16)  ### "timing_slot must be an integer literal from 0 to 15"
y, _ = pl.submit(self.acc, x, y, timing_slot=n)  ### "timing_slot must be an integer literal from 0 to 15"
y, _ = pl.submit(self.acc, x, y, allow_early_resolve=1)  ### "allow_early_resolve must be a boolean literal"
y, _ = pl.submit(self.acc, x, y, core_num=4)  ### "pl.submit\\(\\) does not accept 'core_num='.*pl.spmd_submit"
y, _ = pl.spmd_submit(self.acc, x, y)  ### "requires the core_num"
y, _ = pl.spmd_submit(self.acc, x, y, core_num=0)  ### "core_num must be positive"
y, _ = pl.spmd_submit(self.acc, x, y, core_num=f)  ### "core_num must be an integer expression"
y, _ = pl.spmd_submit(self.acc, x, y, core_num=4, sync_start=n)  ### "sync_start must be a boolean literal"
y, _ = pl.submit(self.acc, x, y, attrs={"manual_dep_edges": [n]})  ### "cannot hold 'manual_dep_edges'"
return y
--- main predicate_shape
rc = pl.create_tensor([8], dtype=pl.INT32)
rc, g = pl.submit(self.gate, x, rc)
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(rc[0] % 2 == 0))  ### "must compare one tensor element"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(rc[0] > 0 and rc[1] > 0))  ### "must be a single comparison"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(0 < rc[0] < 8))  ### "chained comparisons"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(rc[0] > c[0]))  ### "target of predicate= must be an integer literal"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(x[0, 0] > 0))  ### "signed 8/16/32/64-bit integer tensor, got dtype fp32"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(n > 0))  ### "must compare one tensor element"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=rc)  ### "must be a single comparison"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(rc[0, 1] > 0))  ### "2 indices but the tensor is 1D"
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(0 < rc[0]))
y, _ = pl.submit(self.acc, x, y, deps=[g], predicate=(rc[n] >= -3))
return y
--- main predicate_producer
rc = pl.create_tensor([8], dtype=pl.INT32)
rc, g = pl.submit(self.gate, x, rc)
y, h = pl.submit(self.acc, x, y)
y, _ = pl.submit(self.acc, x, y, predicate=(rc[0] > 0))  ### "'rc' is produced by the task 'g', which is not in deps="
y, _ = pl.submit(self.acc, x, y, deps=[h], predicate=(rc[0] > 0))  ### "not in deps=.*deps=\\[g\\]"
rc2 = rc
y, _ = pl.submit(self.acc, x, y, predicate=(rc2[0] > 0))
rc = self.gate(x, rc)
y, _ = pl.submit(self.acc, x, y, predicate=(rc[0] > 0))
return y
--- main predicate_scope_producer
rc = pl.create_tensor([8], dtype=pl.INT32)
with pl.spmd(1) as g:
    rc = self.gate(x, rc)
with pl.spmd(4, predicate=(rc[0] > 0)):  ### "'rc' is produced by the task 'g'"
    y = self.k(x, y)
tids = pl.array.create(2, pl.TASK_ID)
tids[0] = g
with pl.spmd(4, deps=[tids], predicate=(rc[0] > 0)):
    y = self.k(x, y)
return y
--- main dummies
b = pl.system.task_dummy()  ### "requires keyword argument 'deps'"
d = pl.system.task_dummy([b])  ### "takes no positional arguments"
e = pl.system.task_dummy(deps=[x])  ### "bare tensor names"
return y
--- kernel launches_in_kernels
z, t = pl.submit(self.body, x, y)  ### "belongs in orchestration code"
b = pl.system.task_dummy(deps=[])  ### "belongs in orchestration code"
with pl.manual_scope():  ### "belongs in orchestration code"
    pass
return y
--- main op_errors
a = pl.bogus(x)  ### "Unknown operation 'pl.bogus'"
b = pl.crate_tensor([4], dtype=pl.FP32)  ### "Unknown operation.*did you mean.*create_tensor"
d = pl.transpose(x, 0, 2)  ### "axis|axes|out of range"
e = pl.slice(x, [4, 4])  ### "operand|argument"
g = pl.slice(x, [4, 4], [0, 0], typo=1)  ### "unexpected keyword argument 'typo'"
h = pl.slice(n, [4, 4], [0, 0])  ### "got Scalar"
return y
--- file external
@pl.function(type=pl.FunctionType.InCore)
def k(a: T, o: pl.Out[T]) -> T:
    return o
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: T, o: pl.Out[T]) -> T:
        return o
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T]):
        y = k(x, y)  ### "external function 'k' conflicts with program function"
        return y

--- main op of kernels on the host
y = pl.tile.muls(x, 2.0)  ### "Misplaced builtin op 'tile.muls' in Orchestration function"
