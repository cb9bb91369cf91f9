# Every production of the grammar at least once.
"""Docstring."""
from __future__ import annotations
import a, b.c as d  # trailing
from . import e
from ...f.g import (h, i as j,)
from k import *
x = y = 1; z: int = 2; w: list[int]
x += 1; x -= 1; x *= 1; x /= 1; x //= 1; x %= 1; x **= 1; x @= 1; x <<= 1; x >>= 1; x &= 1; x |= 1; x ^= 1
a, *b = [c, d] = 1, *e
(a), b.c, d[0] = e
x: tuple[int, ...] = 1, 2
x = yield_ = None, True, False, ..., 1, 1.5, 2j, "s", b"t", f"u{v}"
del a, b[0], (c, d)
pass
assert x, "message"
global_ = 1 if a else 2
lambda: 0
lambda a, /, b=1, *c, d, e=2, **f: a + b
lambda *, k: k
f(a, *b, c=d, **e)(g)[h].i
f(x for x in y)
f(
    a,
    b=(
        1
    ),
)
x[1], x[1:2], x[::], x[1:2:3, ..., *a], x[:, None], x[a:=1]
[], [a], [a, *b,], (), (a,), (a), {}, {a}, {a, *b}, {a: b, **c,}
[a for a in b if c if d for e, *f in g], {a for a in b}, {a: b for a, b in c}, (a async for a in b)
a < b == c != d <= e > f >= g in h not in i is j is not k
not a or b and c | d ^ e & f << g >> h + i - j * k / l // m % n @ o ** -+~p
(a := 1)
if (n := f(x)) > 1: pass
elif b:
    pass
else:
    pass
for a, (b, *c) in d, e:
    continue
else:
    pass
while a:
    break
else: pass
with a: pass
with a as b, c as (d, e):
    pass
with (a as b, c,):
    pass
with (a, b): pass
with (a, b) as c: pass
with (a).b as c, (yield): pass
try:
    pass
except:
    pass
try: pass
except A: pass
except (A, B) as c: raise
else: pass
finally: pass
try:
    pass
finally:
    raise A from b
try: pass
except* A as b: pass


@decorator
@decorator.call(a)[0]
class C(A, metaclass=B, *c, **d):
    x: int

    @property
    def f(self, a: int = 1, /, b: str = "x", *args: int, c, d: "y" = None, **kw) -> A[int]:
        "doc"
        global g, h
        nonlocal_ = 1
        return

    async def g(self):
        def inner():
            nonlocal self
            return 1, *a
        async with a as b: await c
        async for d in e:
            yield
        x = yield d, e
        await f((yield))
        return [await a for a in b]

    def h(self): yield from x


class D: pass
class E(): ...
match = case = _ = 1
match(x)
match[0] = 1
match -1, 2
match x:
    case 0 | -1 | "s" | None | a.b | 1 + 2j: pass
    case [a, _, *rest] | (b, c): pass
    case {"k": v, **rest} if v > 1: pass
    case Point(x=0, y=[1, z] as w) as p: pass
    case a, *b:
        match y, *z:
            case _: pass
    case str():
        pass
print(f"a{b!r:>{c}.{d}f}e{{f}}{g=}" "h" rf"\{i}", f'''{
    j
}''')
x = 'a' \
    "b" """c
d"""
if a:
	b  # tab

	# comment in a block
	c
é = "ü"; ñ = é  # wide
    # a comment does not indent
x = 0xFF, 0o17, 0b11, 1_000, 0_0, 1e-5, .5, 5., 1_0.0_1, 10J
type = 1; print = 2
