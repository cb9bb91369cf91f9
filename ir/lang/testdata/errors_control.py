Loops, branches, yields and with-scopes.
--- main iterators
for i in range(4):  ### "For loop must use pl.range\\(\\), pl.parallel\\(\\).*pl.range\\(…\\) instead"
    y = self.ks(x, y, i)
for j in pl.rnage(4):  ### "For loop must use.*did you mean 'pl.range'"
    y = self.ks(x, y, undefined)  ### "Undefined variable 'undefined'"
for p in x:  ### "For loop must use"
    pass
return y
--- main loop_arguments
for i in pl.range():  ### "takes 1 to 3 positional arguments"
    pass
for i in pl.range(f):  ### "a bound of pl.range\\(\\) must be an integer"
    pass
for i in pl.range(0, 4, 0):  ### "step of pl.range\\(\\) must not be zero"
    pass
for i in pl.range(4, chunk=2):  ### "does not accept 'chunk='"
    pass
for i in pl.range(4, stage=2):  ### "stage= is only supported on pl.pipeline"
    pass
for i in pl.pipeline(4):  ### "pl.pipeline\\(\\) requires stage="
    pass
for i in pl.pipeline(4, stage=0):  ### "stage must be >= 1"
    pass
for i in pl.unroll(n):  ### "Unroll loop stop must be a compile-time integer constant"
    pass
for i in pl.unroll(0, 4, 0):  ### "step of pl.unroll\\(\\) must not be zero"
    pass
for i in pl.unroll(4, init_values=(n,)):  ### "does not accept 'init_values='"
    pass
for i in pl.range(4):  ### "has no else"
    pass
else:
    pass
return y
--- main carried_loops
for i in pl.range(4, init_values=(n,)):  ### "must have 1 iteration variables"
    pass
for i, (a, b) in pl.range(4, init_values=(n,)):  ### "2 iteration variables for 1 init_values: their length must match"
    r1 = pl.yield_(a)
for i, (a,) in pl.range(4, init_values=(n,)):  ### "Loop with init_values requires an assignment-form pl.yield_"
    b = a + 1
for i, (a,) in pl.range(4, init_values=(n,)):
    pl.yield_(a + 1)  ### "requires an assignment-form pl.yield_"
for i, (a,) in pl.range(4, init_values=(n,)):
    r2 = pl.yield_(a + 1, a)  ### "needs 1 yielded value, got 2"
for i, (a,) in pl.range(4, init_values=(n,)):
    r3 = pl.yield_(a)  ### "must be the last statement of its block"
    b = a
for i, (a,) in pl.range(4, init_values=(n,)):
    r4 = pl.yield_(x)  ### "another type than its init value"
for i, (a,) in pl.range(4, init_values=(n,)):
    r5 = pl.yield_(a + i)
y = self.ks(x, y, r5)
y = self.ks(x, y, a)  ### "'a' is only defined inside the loop"
z = pl.yield_(n)  ### "no loop with init_values and no if"
for i, j in pl.range(4):  ### "without init_values has a single loop variable"
    pass
return y
--- main whiles
while n:  ### "while condition must be a Bool-typed scalar expression"
    y = self.ks(x, y, n)
for (a,) in pl.while_(init_values=(n,)):  ### "first statement of a pl.while_ loop must be pl.cond"
    r = pl.yield_(a + 1)
for a in pl.while_():  ### "takes init_values="
    pl.cond(n > 0)
for (a,) in pl.while_(init_values=(n,)):
    pl.cond(a < 8)
    s = pl.yield_(a + 1)
pl.cond(n > 0)  ### "must be the first statement"
return y
--- main conditions
if n:  ### "if condition must be a Bool-typed scalar expression, got .*INDEX.*!= 0"
    y = self.ks(x, y, n)
if 0 < n < 4:  ### "Only simple comparisons supported"
    y = self.ks(x, y, n)
if n > 0 and f:  ### "an operand of 'and' must be a Bool-typed scalar"
    y = self.ks(x, y, n)
if not f:  ### "'not' needs a Bool-typed scalar"
    y = self.ks(x, y, n)
if x:  ### "if condition must be a Bool-typed scalar expression, got .*Tensor"
    y = self.ks(x, y, n)
return y
--- main yields
if n > 0:  ### "both branches of an if must end in pl.yield_, or neither"
    a = pl.yield_(n)
else:
    b = n
if n > 0:
    d = pl.yield_(n)
else:
    e = pl.yield_(n)  ### "the branches yield to different names: 'd' and 'e'"
if n > 0:
    g = pl.yield_(n)
else:
    g = pl.yield_(x)  ### "'g' is yielded with different types"
if n > 0:
    h, i = pl.yield_(n, n)
else:
    h = pl.yield_(n)  ### "the branches yield 2 and 1 values"
return y
--- main break_in_loops
for i in pl.range(4):
    if i > 1:
        break  ### "'break' is not supported in an orchestration loop"
for i in pl.parallel(4):
    continue  ### "'continue' not supported inside pl.parallel loop"
for i in pl.unroll(4):
    break  ### "'break' not supported inside pl.unroll loop"
break  ### "'break' outside of a loop"
return y
--- kernel break_in_kernels
for i in pl.range(4):
    if i > 1:
        break
    y = pl.store(pl.load(x, [i, 0], [1, 16]), [i, 0], y)
for i in pl.parallel(4):
    break  ### "'break' not supported inside pl.parallel loop"
return y
--- main withs
with pl.incore():  ### "Unsupported with statement.*pl.incore is gone: write pl.at"
    pass
with open("f"):  ### "Unsupported with statement: expected pl.at"
    pass
with pl.att(level=pl.Level.CORE_GROUP):  ### "Unsupported with statement.*did you mean 'pl.at'"
    pass
with pl.manual_scope(), pl.cluster():  ### "exactly one context"
    pass
with pl.manual_scope() as t:  ### "does not accept 'as'"
    pass
with pl.manual_scope(1):  ### "takes no positional arguments"
    pass
return y
--- main runtime_scopes
with pl.scope():  ### "pl.scope\\(\\) needs auto_scope=False"
    y = self.k(x, y)
with pl.manual_scope():
    with pl.manual_scope():
        y = self.k(x, y)
    with pl.scope(mode=pl.ScopeMode.MANUAL):
        y = self.k(x, y)
    with pl.scope():  ### "an AUTO scope may not be nested inside a manual scope"
        y = self.k(x, y)
with pl.scope(mode=pl.ScopeMode.MANUEL):  ### "Unknown pl.ScopeMode 'MANUEL'.*did you mean 'pl.ScopeMode.MANUAL'"
    pass
return y
--- user user_scopes
with pl.scope():
    y = self.k(x, y)
    with pl.scope(mode=pl.ScopeMode.AUTO):
        y = self.k(x, y)
return y
--- main at_options
with pl.at():  ### "pl.at\\(\\) requires level="
    pass
with pl.at(pl.Level.CORE_GROUP):  ### "keyword arguments only" ### "requires level="
    pass
with pl.at(level=pl.Level.CORE_GRUOP):  ### "Unknown pl.Level 'CORE_GRUOP'.*did you mean"
    pass
with pl.at(level=pl.Level.CORE_GROUP, role=pl.Role.SubWorker):  ### "does not accept 'role='"
    pass
with pl.at(level=pl.Level.CORE_GROUP, name_hint="not an id"):  ### "is not an identifier"
    pass
with pl.at(level=pl.Level.CORE_GROUP, name_hint="for"):  ### "is not an identifier"
    pass
with pl.at(level=pl.Level.CORE_GROUP, deps=[x]):  ### "bare tensor names"
    pass
with pl.at(level=pl.Level.CORE_GROUP, no_dep_args=[n]):  ### "'n' is not a tensor"
    pass
with pl.at(level=pl.Level.CORE_GROUP, no_dep_args=[c]):  ### "'c' is not captured by the scope body"
    y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.NONE), pl.split(pl.SplitMode.UP_DOWN)]):  ### "duplicate entry pl.split"
    pass
with pl.at(level=pl.Level.CORE_GROUP, optimizations=[1]):  ### "must be pl.split"
    pass
with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.auto_chunk]):  ### "must be pl.split.*pl.auto_chunk no longer exists"
    pass
with pl.at(level=pl.Level.CORE_GROUP, name_hnt="a"):  ### "unexpected keyword argument 'name_hnt'.*did you mean 'name_hint'"
    pass
with pl.at(level=pl.Level.CHIP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):  ### "only supported on pl.at\\(level=pl.Level.CORE_GROUP\\)"
    pass
with pl.at(level=pl.Level.CHIP, predicate=(c[0] > 0)):  ### "predicate= is only supported on pl.at\\(level=pl.Level.CORE_GROUP"
    pass
with pl.at(level=pl.Level.CORE_GROUP) as x[0]:  ### "must be followed by one name"
    pass
return y
--- main task_nesting
with pl.cluster():
    with pl.at(level=pl.Level.CORE_GROUP, predicate=(c[0] > 0)):  ### "pl.at cannot carry predicate= when nested inside pl.cluster"
        y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
with pl.at(level=pl.Level.CORE_GROUP):
    with pl.at(level=pl.Level.CORE_GROUP) as t:  ### "pl.at cannot capture a TaskId when nested inside another CORE_GROUP pl.at"
        y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
with pl.at(level=pl.Level.CHIP):
    with pl.at(level=pl.Level.CORE_GROUP, predicate=(c[0] > 0)) as u:
        y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
return y
--- kernel task_in_kernel
with pl.at(level=pl.Level.CORE_GROUP) as t:  ### "cannot capture a TaskId in a InCore function"
    y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
return y
--- main spmd
with pl.spmd():  ### "requires the core_num argument"
    y = self.k(x, y)
with pl.spmd(0):  ### "core_num must be positive"
    y = self.k(x, y)
with pl.spmd(4, core_num=4):  ### "multiple values for argument 'core_num'"
    y = self.k(x, y)
with pl.spmd(4, sync_start=1):  ### "sync_start must be a boolean literal"
    y = self.k(x, y)
with pl.spmd(4):  ### "launches 2 kernels"
    y = self.k(x, y)
    y = self.k(x, y)
with pl.spmd(4):  ### "neither reads the per-block index nor"
    i = n + 1
with pl.spmd(4):
    with pl.spmd(2):  ### "cannot be nested inside another pl.spmd"
        y = self.k(x, y)
with pl.cluster():
    with pl.spmd(4) as t:  ### "cannot capture a TaskId when nested inside pl.cluster"
        y = self.k(x, y)
with pl.cluster():
    with pl.spmd(4, predicate=(c[0] > 0)):  ### "cannot carry per-task dispatch metadata"
        y = self.k(x, y)
for i, (a,) in pl.spmd(4):  ### "single loop variable"
    y = self.k(x, y)
for i in pl.spmd(4, init_values=(n,)):  ### "unexpected keyword argument 'init_values'"
    y = self.k(x, y)
with pl.cluster():
    with pl.cluster():  ### "may not be nested inside another pl.cluster"
        y = self.k(x, y)
return y
--- main split_aiv
for a in pl.split_aiv(3, mode=pl.SplitMode.UP_DOWN):  ### "requires n == 2"
    pass
for a in pl.split_aiv(2):  ### "requires mode="
    pass
for a, b in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):  ### "single loop variable"
    pass
for a in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
    for b in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):  ### "cannot be nested inside another pl.split_aiv"
        pass
with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
    for a in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):  ### "conflicts with pl.split"
        pass
return y
