package eval

import "testing"

const matchProgram = `
from dataclasses import dataclass
from enum import Enum

class Kind(Enum):
    DENSE = 1
    MOE = 2

@dataclass
class Layer:
    kind: Kind
    width: int = 8

def size(x):
    match x:
        case None:
            return "none"
        case True | False:
            return "bool"
        case -1 | 0:
            return "small"
        case int(n) if n > 100:
            return f"big {n}"
        case int() | float():
            return "number"
        case "a" | "b" as s:
            return s
        case []:
            return "empty"
        case [one]:
            return ("one", one)
        case [first, *rest, last]:
            return (first, rest, last)
        case {"kind": "moe", "experts": n, **more}:
            return (n, more)
        case {}:
            return "dict"
        case Layer(Kind.MOE, width=w):
            return ("moe", w)
        case Layer(kind, 8):
            return kind.name
        case _:
            return "other"

A = [size(x) for x in (None, True, -1, 7, 101, 1.5, "b", "abc")]
B = [size([]), size((3,)), size([1, 2, 3, 4])]
C = [size({"kind": "moe", "experts": 4, "top": 2}), size({"x": 1})]
D = [size(Layer(Kind.MOE, 3)), size(Layer(Kind.DENSE)), size(Layer(Kind.DENSE, 4))]

match A[3]:
    case "number":
        E = 1
    case other:
        E = other
match 5:
    case 1:
        F = 1
`

func TestMatch(t *testing.T) {
	l, m := load(t, "m.py", matchProgram)
	for name, want := range map[string]string{
		"A": "['none', 'bool', 'small', 'number', 'big 101', 'number', 'b', 'other']",
		"B": "['empty', ('one', 3), (1, [2, 3], 4)]",
		"C": "[(4, {'top': 2}), 'dict']",
		"D": "[('moe', 3), 'DENSE', 'other']",
		"E": "1",
		"F": "unbound",
	} {
		if got := show(l, m, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestDedent(t *testing.T) {
	l, m := load(t, "m.py", "import textwrap, inspect\nA = textwrap.dedent('''\n    a\n      b\n   \n    c''')\nB = inspect.cleandoc('''one\n    two\n      three\n    ''')\nC = textwrap.indent('a\\n\\nb', '> ')\n")
	for name, want := range map[string]string{"A": `'\na\n  b\n\nc'`, "B": `'one\ntwo\n  three'`, "C": `'> a\n\n> b'`} {
		if got := show(l, m, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestLibraryIdioms(t *testing.T) {
	l, m := load(t, "m.py", `
import contextlib, enum
class Registry:
    items = {}
    def __init_subclass__(cls, tag=None, **kw):
        super().__init_subclass__(**kw)
        Registry.items[tag or cls.__name__] = cls
class A(Registry): pass
class B(Registry, tag="b"): pass
NAMES = sorted(Registry.items)
class F(enum.Flag):
    X = enum.auto()
    Y = enum.auto()
    XY = 3
BOTH = (F.X | F.Y).name, (F.X & F.Y).value
with contextlib.suppress(KeyError, ValueError):
    C = 1
    {}["x"]
    C = 2
with contextlib.nullcontext(7) as d:
    D = d
E = __import__("math").floor(2.5)
`)
	for name, want := range map[string]string{"NAMES": "['A', 'b']", "BOTH": "('XY', 0)", "C": "1", "D": "7", "E": "2"} {
		if got := show(l, m, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
