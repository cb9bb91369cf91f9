# Values of module code. After "#>" stands the repr that Python gives.

# integers
A1 = 7 // 2, -7 // 2, 7 // -2, -7 // -2  #> (3, -4, -4, 3)
A2 = 7 % 3, -7 % 3, 7 % -3, -7 % -3, divmod(-7, 2)  #> (1, 2, -2, -1, (-4, 1))
A3 = 2**10, 2**100, (-3) ** 3, 2**-2, 0**0  #> (1024, 1267650600228229401496703205376, -27, 0.25, 1)
A4 = 9223372036854775807 + 1, -9223372036854775808 - 1, 2**62 * 4  #> (9223372036854775808, -9223372036854775809, 18446744073709551616)
A5 = 1 << 70, -5 >> 1, ~7, 6 & 3, 6 | 3, 6 ^ 3, True + True  #> (1180591620717411303424, -3, -8, 2, 7, 5, 2)
A6 = 0xFF, 0o17, 0b101, 1_000_000, int("ff", 16), int("-0b11", 0), int(" 42 ")  #> (255, 15, 5, 1000000, 255, -3, 42)
A7 = abs(-5), min(3, 1, 2), max([4, 9]), sum([1, 2, 3]), sum([1], 10), pow(3, 4, 5), round(25, -1), round(35, -1)  #> (5, 1, 9, 6, 11, 1, 20, 40)
A8 = (10**30 // 7, -(10**30) % 7, 10**30 / 3)  #> (142857142857142857142857142857, 6, 3.333333333333333e+29)
A9 = (1023).bit_length(), int(3.99), int(-3.99), True & False, 5 == 5.0, hash(7)  #> (10, 3, -3, False, True, 7)

# floats
B1 = 1 / 4, 10 / 4, 1e16, 1e15, 0.1 + 0.2, 1e-5, 123456789.0  #> (0.25, 2.5, 1e+16, 1000000000000000.0, 0.30000000000000004, 1e-05, 123456789.0)
B2 = 7.5 // 2, -7.5 // 2, 7.5 % -2, -0.0, 5.0 % 3  #> (3.0, -4.0, -0.5, -0.0, 2.0)
B3 = 128**-0.5, 2**0.5, 64**0.5, 10.0**-3, 96**-0.5, 1.1**10  #> (0.08838834764831845, 1.4142135623730951, 8.0, 0.001, 0.10206207261596575, 2.5937424601000023)
B4 = round(2.5), round(3.5), round(2.675, 2), round(-1.5), round(1234.567, -2)  #> (2, 4, 2.67, -2, 1200.0)
B5 = float("inf"), -float("inf"), float("1e3"), float("nan") == float("nan")  #> (inf, -inf, 1000.0, False)
import math
B6 = math.ceil(7 / 2), math.floor(-0.5), math.sqrt(2), math.log2(1024), math.log(10), math.exp(1), math.prod([2, 3, 4])  #> (4, -1, 1.4142135623730951, 10.0, 2.302585092994046, 2.718281828459045, 24)
B7 = math.gcd(12, 18), math.lcm(4, 6), math.isqrt(99), math.inf, math.pi, math.log(8, 2), math.log10(1000), math.pow(2, 3), math.factorial(10)  #> (6, 12, 9, inf, 3.141592653589793, 3.0, 3.0, 8.0, 3628800)
B8 = 2**53 == 2.0**53, 2**53 + 1 == 2.0**53, 10**400 > 1.0, 3 < 3.5 <= 4  #> (True, False, True, True)

# strings
C1 = "a" + "b" * 3, "abc"[1], "abc"[::-1], "abc"[-2:], "b" in "abc", len("日本")  #> ('abbb', 'b', 'cba', 'bc', True, 2)
C2 = "a,b,,c".split(","), " a  b ".split(), "a.b.c".rsplit(".", 1), "-".join(["x", "y"])  #> (['a', 'b', '', 'c'], ['a', 'b'], ['a.b', 'c'], 'x-y')
C3 = "Abc".upper(), "ABC".lower(), "x".zfill(3), "ab".center(5, "*"), "ab".ljust(4) + "|", " x ".strip()  #> ('ABC', 'abc', '00x', '**ab*', 'ab  |', 'x')
C4 = "abcabc".find("c"), "abc".find("z"), "abcabc".replace("b", "X", 1), "abc".startswith(("x", "ab")), "a=b".partition("=")  #> (2, -1, 'aXcabc', True, ('a', '=', 'b'))
N = 42
C5 = f"{N}|{N:5d}|{N:<5}|{N:05}|{N:x}|{N:#b}|{N:+}|{N:,}|{N!r}|{N=}|{'s':>3}|{{}}"  #> '42|   42|42   |00042|2a|0b101010|+42|42|42|N=42|  s|{}'
X = 3.14159
C6 = f"{X:.2f}|{X:8.3f}|{X:e}|{X:g}|{X:.0%}|{1e10:,.1f}|{X:{N}.1f}"  #> '3.14|   3.142|3.141590e+00|3.14159|314%|10,000,000,000.0|                                       3.1'
C7 = "%d %5.2f %s %r %x %%" % (3, 2.5, "a", "b", 255), "%(k)s" % {"k": 1}, "%05d" % -3  #> ("3  2.50 a 'b' ff %", '1', '-0003')
C8 = "{} {1} {0}".format if 0 else "{0}-{k:>4}-{v[1]}".format("a", k=3, v=[1, 2])  #> 'a-   3-2'
C9 = str(1.0), str(None), repr("it's"), repr('"'), str([1, "a"]), str((1,)), str({"a": 1}), ord("a"), chr(98), hex(255)  #> ('1.0', 'None', '"it\'s"', '\'"\'', "[1, 'a']", '(1,)', "{'a': 1}", 97, 'b', '0xff')

# containers
D1 = [1, 2] + [3], [0] * 3, (1, 2) + (3,), [1, 2, 3][1:], list(range(10))[::3], [3, 1, 2] == [3, 1, 2]  #> ([1, 2, 3], [0, 0, 0], (1, 2, 3), [2, 3], [0, 3, 6, 9], True)
D2 = {"b": 1, "a": 2, **{"c": 3, "b": 4}}  #> {'b': 4, 'a': 2, 'c': 3}
D3 = list(D2), list(D2.items()), D2.get("z"), D2.get("z", 0), "a" in D2, len(D2), list(D2.values())  #> (['b', 'a', 'c'], [('b', 4), ('a', 2), ('c', 3)], None, 0, True, 3, [4, 2, 3])
D4 = {1: "i", 1.0: "f", True: "b"}, {(1, 2): 3}[1, 2]  #> ({1: 'b'}, 3)
D5 = sorted({3, 1, 2}), {1, 2} | {3}, {1, 2} & {2}, {1, 2} - {2}, {1} <= {1, 2}, len({1, 1.0, True})  #> ([1, 2, 3], {1, 2, 3}, {2}, {1}, True, 1)
D6 = sorted(["b", "A", "c"], key=str.lower, reverse=True), sorted([(1, "b"), (1, "a"), (0, "z")]), [*reversed([1, 2])]  #> (['c', 'b', 'A'], [(0, 'z'), (1, 'a'), (1, 'b')], [2, 1])
D7 = [x * x for x in range(5) if x % 2], {k: v for k, v in zip("ab", [1, 2])}, [(i, j) for i in range(3) for j in range(i)]  #> ([1, 9], {'a': 1, 'b': 2}, [(1, 0), (2, 0), (2, 1)])
D8 = any(x > 2 for x in [1, 2, 3]), all([]), list(enumerate("ab", 1)), list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1, 2]))  #> (True, True, [(1, 'a'), (2, 'b')], [4, 6], [1, 2])
D9 = range(10)[2:8:2], len(range(0, 10, 3)), 6 in range(0, 10, 2), range(3) == range(0, 3), list(range(5, 0, -2))  #> (range(2, 8, 2), 4, True, True, [5, 3, 1])
a, (b, *c), d = 1, (2, 3, 4), 5
D10 = a, b, c, d  #> (1, 2, [3, 4], 5)
L = [1, 2, 3, 4]
L[1:3] = [9]; L.append(5); L.insert(0, 0); L += [7]; del L[1]
D11 = L, L.index(9), L.count(5), L.pop(), L.pop(0)  #> ([9, 4, 5], 1, 1, 7, 0)
D12 = [] or "x", 0 or None, 1 and 2, not [], 1 if [] else 2, (n := 5) + n  #> ('x', None, 2, True, 2, 10)
D13 = max("b", "a"), max([1, 5, 3], key=lambda v: -v), min([], default=7), max((1, 2), (1, 3)), sum([0.5, 1])  #> ('b', 1, 7, (1, 3), 1.5)
D14 = next(x for x in range(10) if x > 4), next(iter([]), "none"), dict(a=1, **{"b": 2}), tuple("ab"), bool("0")  #> (5, 'none', {'a': 1, 'b': 2}, ('a', 'b'), True)

# functions
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)

def args(a, b=2, /, *c, d, e=5, **f):
    return a, b, c, d, e, f

def counter():
    n = 0
    def step(by=1):
        nonlocal n
        n += by
        return n
    return step

def gen(n):
    i = 0
    while True:
        if i == n:
            return
        yield i
        i += 1

def loop():
    out = []
    for i in range(10):
        if i == 2:
            continue
        if i == 5:
            break
        out.append(i)
    else:
        out.append("never")
    for _ in ():
        pass
    else:
        out.append("else")
    return out

step = counter()
E1 = fact(20), args(1, d=4), args(1, 2, 3, 4, d=5, z=6), (step(), step(5), step())  #> (2432902008176640000, (1, 2, (), 4, 5, {}), (1, 2, (3, 4), 5, 5, {'z': 6}), (1, 6, 7))
E2 = list(gen(3)), sum(gen(4)), loop(), (lambda *a, k=1: (a, k))(1, 2, k=3)  #> ([0, 1, 2], 6, [0, 1, 3, 4, 'else'], ((1, 2), 3))
fns = [lambda: i for i in range(3)]
E3 = [f() for f in fns]  #> [2, 2, 2]
from functools import lru_cache, partial, reduce

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

E4 = fib(90), partial(args, 1, d=2)(3), reduce(lambda a, b: a * b, [1, 2, 3, 4])  #> (2880067194370816120, (1, 3, (), 2, 5, {}), 24)
from itertools import accumulate, chain, combinations, islice, permutations, product, count
E5 = list(chain([1], (2, 3))), list(product([1, 2], "ab")), list(combinations(range(4), 2)), list(islice(count(5), 3)), list(accumulate([1, 2, 3]))  #> ([1, 2, 3], [(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], [5, 6, 7], [1, 3, 6])
E6 = list(permutations([1, 2, 3], 2)), list(permutations("ab"))  #> ([(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)], [('a', 'b'), ('b', 'a')])

# exceptions
def attempt(f, *a):
    try:
        r = f(*a)
    except (KeyError, IndexError) as e:
        return type(e).__name__, e.args
    except ZeroDivisionError:
        return "zero"
    except Exception as e:
        return str(e)
    else:
        return "fine", r
    finally:
        seen.append(1)

class AppError(ValueError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code

def fail():
    raise AppError(3)

seen = []
F1 = attempt(lambda: {}["k"]), attempt(lambda: [][1]), attempt(lambda: 1 // 0), attempt(lambda: int("x")), attempt(fact, 3), attempt(fail), len(seen)  #> (('KeyError', ('k',)), ('IndexError', ('list index out of range',)), 'zero', "invalid literal for int() with base 10: 'x'", ('fine', 6), 'code 3', 6)
F2 = attempt(lambda: fact(1, 2)), attempt(lambda: None + 1), attempt(lambda: "a".nope)  #> ('fact() takes 1 positional argument but 2 were given', "unsupported operand type(s) for +: 'NoneType' and 'int'", "'str' object has no attribute 'nope'")
F3 = isinstance(AppError(1), ValueError), issubclass(AppError, Exception), AppError(7).code, repr(ValueError("a", 1))  #> (True, True, 7, "ValueError('a', 1)")

# classes
class Shape:
    count = 0
    def __init__(self, w, h=1):
        self.w, self.h = w, h
        Shape.count += 1
    @property
    def area(self):
        return self.w * self.h
    @classmethod
    def square(cls, n):
        return cls(n, n)
    @staticmethod
    def twice(x):
        return 2 * x
    def __eq__(self, other):
        return self.area == other.area
    def __add__(self, other):
        return Shape(self.w + other.w, self.h)
    def __repr__(self):
        return f"Shape({self.w}x{self.h})"
    def __len__(self):
        return self.area
    def __getitem__(self, i):
        return (self.w, self.h)[i]

class Box(Shape):
    def __init__(self, w, h, d):
        super().__init__(w, h)
        self.d = d
    @property
    def area(self):
        return super().area * 2

G1 = Shape(2, 3).area, Shape.square(4), Shape.twice(5), Shape(2, 3) == Shape(6), Shape(1) + Shape(2), len(Shape(3, 3)), Shape(7, 8)[1]  #> (6, Shape(4x4), 10, True, Shape(3x1), 9, 8)
G2 = Box(1, 2, 3).area, isinstance(Box(1, 1, 1), Shape), Box.__name__, hasattr(Box(1, 1, 1), "d"), getattr(Shape(1), "zz", None), Shape.count  #> (4, True, 'Box', True, None, 13)
from dataclasses import dataclass, field, replace, asdict, fields, FrozenInstanceError

@dataclass(frozen=True)
class Cfg:
    name: str
    hidden: int = 4096
    heads: int = 32
    tags: tuple = ()
    extra: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.hidden % self.heads:
            raise ValueError("heads")

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5

@dataclass(order=True)
class Sub(Cfg if False else object):
    x: int
    y: int = field(default=2, compare=False)

PRESETS = {p.name: p for p in (Cfg("small"), Cfg("large", 8192, heads=64))}
H1 = PRESETS["large"].head_dim, PRESETS["small"].scale, Cfg("a") == Cfg("a"), replace(Cfg("a"), heads=64).head_dim, Cfg(name="q")  #> (128, 0.08838834764831845, True, 64, Cfg(name='q', hidden=4096, heads=32, tags=(), extra={}))
H2 = [f.name for f in fields(Cfg)], asdict(Sub(1)), Sub(1, 5) < Sub(2, 0), Sub(1, 5) == Sub(1, 6), attempt(lambda: Cfg("a", 10, 3)), attempt(lambda: Cfg())  #> (['name', 'hidden', 'heads', 'tags', 'extra'], {'x': 1, 'y': 2}, True, True, 'heads', "Cfg.__init__() missing 1 required positional argument: 'name'")
H3 = attempt(lambda: setattr(Cfg("a"), "heads", 1)), attempt(lambda: Cfg("a", nope=1))  #> ("cannot assign to field 'heads'", "Cfg.__init__() got an unexpected keyword argument 'nope'")
from enum import Enum, IntEnum, auto

class Mode(Enum):
    FAST = "fast"
    SLOW = auto() if False else "slow"
    QUICK = "fast"
    @property
    def upper(self):
        return self.value.upper()

class Level(IntEnum):
    LOW = 1
    HIGH = auto()

I1 = Mode.FAST, Mode("slow").name, Mode["SLOW"].value, Mode.QUICK is Mode.FAST, [m.name for m in Mode], Mode.FAST.upper, Mode.FAST == Mode.SLOW  #> (<Mode.FAST: 'fast'>, 'SLOW', 'slow', True, ['FAST', 'SLOW'], 'FAST', False)
I2 = Level.HIGH + 1, Level.LOW < Level.HIGH, Level.HIGH == 2, [10, 20, 30][Level.LOW], {Level.LOW: 1}[Level.LOW]  #> (3, True, True, 20, 1)
from typing import NamedTuple
from collections import namedtuple, defaultdict, OrderedDict

class P(NamedTuple):
    x: int
    y: int = 2
    def total(self):
        return self.x + self.y

Q = namedtuple("Q", "a b", defaults=[9])
J1 = P(1), P(1, 3).y, P(1).total(), P(1)._replace(x=5), Q(1), tuple(P(1)), P(1) == (1, 2), P._fields  #> (P(x=1, y=2), 3, 3, P(x=5, y=2), Q(a=1, b=9), (1, 2), True, ('x', 'y'))
dd = defaultdict(list)
dd["a"].append(1)
J2 = dd["a"], dd["b"], sorted(dd), OrderedDict(a=1)["a"]  #> ([1], [], ['a', 'b'], 1)
import copy
src = [[1], {"a": [2]}]
sh, dp = copy.copy(src), copy.deepcopy(src)
src[0].append(9)
J3 = sh[0], dp[0]  #> ([1, 9], [1])

# Texts: regular expressions and JSON.
import re, json, struct, enum
re1 = re.findall(r"(\d+)x(\d+)", "16x32 64x128")  #> [('16', '32'), ('64', '128')]
re2 = re.match(r"v(?P<major>\d+)\.(\d+)(x)?", "v12.7rc").groupdict()  #> {'major': '12'}
re3 = re.match(r"v(?P<major>\d+)\.(\d+)(x)?", "v12.7rc").groups()  #> ('12', '7', None)
re4 = re.sub(r"([a-z])(\d)", r"\2\g<1>", "a1b2c3", count=2)  #> '1a2bc3'
re5 = re.compile("[,; ]+").split("a, b;c")  #> ['a', 'b', 'c']
re6 = [m.span() for m in re.finditer("ü+", "aüüb ü")]  #> [(1, 3), (5, 6)]
re7 = re.fullmatch("ab?", "abc"), bool(re.search("B", "abc", re.I)), re.match("b", "ab")  #> (None, True, None)
re8 = re.sub(r"\d+", lambda m: str(int(m[0]) * 2), "3 4"), re.subn("x", "", "axbx")  #> ('6 8', ('ab', 2))
re9 = re.split(r"([+-])", "1+2-3", maxsplit=1), re.findall("[]x[]+", "a[x]b")  #> (['1', '+', '2-3'], ['[x]'])
re10 = re.sub("a", r"\.\\", "a"), re.escape("a-b c.d"), re.sub("(a)", r"\1\n", "a"), re.split(",", "a,b", maxsplit=-1)  #> ('\\.\\', 'a\\-b\\ c\\.d', 'a\n', ['a,b'])
re11 = re.findall("a{,2}b", "aaab"), re.findall(r"\s", "a\x0b\x1c "), re.split(r"\b", "a b"), re.sub("^", "> ", "a\nb", flags=re.M)  #> (['aab'], ['\x0b', '\x1c', ' '], ['', 'a', ' ', 'b', ''], '> a\n> b')
re12 = re.match("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "abcdefghij").re.groups, re.sub("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", r"\10", "abcdefghij")  #> (10, 'j')
re13 = re.findall(r"[\u4e00-\u9fa5]", "a中"), re.match(r"[^\S,]+", " ,").end()  #> (['中'], 1)
js1 = json.loads('{"b": [1, 2.5, true, null], "a": {"n": 12345678901234567890, "s": "\\u00e9"}}')  #> {'b': [1, 2.5, True, None], 'a': {'n': 12345678901234567890, 's': 'é'}}
try:
    js2 = json.loads("[1,")
except json.JSONDecodeError:
    js2 = "bad"
js3 = js2, json.loads(" 3 ")  #> ('bad', 3)
st1 = struct.calcsize("<IHb4xq")  #> 19

# Enums whose members are computed from others, and those made by a call.
class Bits(enum.IntFlag):
    R = enum.auto()
    W = enum.auto()
    RW = R | W
    X = enum.auto()
bits = [int(b) for b in (Bits.R, Bits.W, Bits.RW, Bits.X)]  #> [1, 2, 3, 4]
Kinds = enum.Enum("Kinds", "A B")
kinds = [(k.name, k.value) for k in Kinds], Kinds(2).name, Kinds["A"].value  #> ([('A', 1), ('B', 2)], 'B', 1)
class Perms(enum.Flag):
    A = 4
    B = 1
    C = enum.auto()
class Names(enum.Enum):
    def _generate_next_value_(name, start, count, last_values):
        return name.title() + str(count)
    ONE = enum.auto()
    TWO = enum.auto()
class Low(enum.StrEnum):
    ONE = enum.auto()
autos = Perms.C.value, [n.value for n in Names], Low.ONE.value  #> (8, ['One0', 'Two1'], 'one')
States = enum.Enum("States", ["OFF", "ON"], start=0, module=__name__)
states = [s.value for s in States], [s.value for s in enum.StrEnum("Words", "Ab C")]  #> ([0, 1], ['ab', 'c'])
Sizes = enum.IntEnum("Sizes", {"S": 16, "L": 64})
sizes = Sizes.L + 1, [int(s) for s in Sizes]  #> (65, [16, 64])
