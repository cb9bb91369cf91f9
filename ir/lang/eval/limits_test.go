package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Code that would not end, or not fit, poisons its names in good time; the next statement is evaluated as if nothing had happened.
func TestLimits(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct{ name, src, want string }{
		{"loop", "while True: X = 1", "more than 5000000 steps"},
		{"long for", "for X in range(10**12): pass", "more than 5000000 steps"},
		{"sum", "X = sum(range(10**15))", "more than 5000000 steps"},
		{"all", "import itertools\nX = all(itertools.count(1))", "more than 5000000 steps"},
		{"zip", "import itertools\nX = list(zip(itertools.repeat(1)))", "a value of"},
		{"recursion", "def f(n): return f(n + 1)\nX = f(0)", "RecursionError: maximum recursion depth exceeded"},
		{"caught recursion", "def f(n):\n  try:\n    return f(n + 1)\n  except RecursionError:\n    return n\nX = f(0) > 100", "True"},
		{"lambda", "f = lambda: f()\nX = f()", "RecursionError: maximum recursion depth exceeded"},
		{"power", "X = 10 ** 10 ** 10", "an integer of"},
		{"shift", "X = 1 << (1 << 40)", "an integer of"},
		{"tower", "x = 2\nfor i in range(100): x = x ** x\nX = x", "an integer of"},
		{"string", "X = 'ab' * 10**10", "a value of"},
		{"list", "X = [0] * 10**9", "a value of"},
		{"doubling", "x = 'a'\nfor i in range(100): x = x + x\nX = x", "a value of"},
		{"format width", "X = '%999999999d' % 1", "a value of"},
		{"f-string width", "X = f'{1:9999999999}'", "a format width"},
		{"join", "X = ('x' * 1000000).join('abcdefgh')", "a value of"},
		{"replace", "X = ('a' * 1000000).replace('a', 'b' * 1000)", "a value of"},
		{"nested list", "x = []\nfor i in range(100000): x = [x]\nX = str(x)", "RecursionError"},
		{"nested tuple", "x = ()\nfor i in range(100000): x = (x,)\nX = hash(x)", "RecursionError"},
		{"nested compare", "x = []\ny = []\nfor i in range(100000): x, y = [x], [y]\nX = x == y", "RecursionError"},
		{"self", "x = []\nx.append(x)\nX = repr(x)", "RecursionError"},
		{"self equal", "x = []\nx.append(x)\ny = []\ny.append(y)\nX = x == y", "RecursionError"},
		{"partials", "from functools import partial\nf = len\nfor i in range(200000): f = partial(f)\nX = f([])", "calls nested"},
		{"iterators", "x = [1]\nfor i in range(200000): x = map(abs, x)\nX = list(x)", ""},
		{"depth", "X = " + rep("(", 900) + "1" + rep(")", 900), "1"},
		{"chain", "X = 1" + rep(" + 1", 15000), "15001"},
		{"chain in recursion", "def f(n): return f(n + 1)" + rep(" + 1", 15000) + "\nX = f(0)", "expressions and calls nested more than"},
		{"factorial", "import math\nX = math.factorial(10**9)", "a factorial"},
		{"digits", "X = int('9' * 5000)", "ValueError: invalid literal"},
		{"product", "import itertools\nX = len(list(itertools.product(range(1000), repeat=9)))", "more than 5000000 steps"},
		{"sort", "X = sorted(range(3000000), key=lambda v: -v)", "more than 5000000 steps"},
		{"generator", "def g():\n  while True: yield 1\nX = next(g())", ""},
		{"property", "class C:\n  @property\n  def p(self): return self.p\nX = C().p", "RecursionError: maximum recursion depth exceeded"},
		{"eq", "class C:\n  def __eq__(self, o): return self == o\nX = C() == 1", "RecursionError: maximum recursion depth exceeded"},
		{"getattr", "class C:\n  def __getattr__(self, n): return getattr(self, n + 'x')\nX = C().p", "RecursionError: maximum recursion depth exceeded"},
		{"strings", "x = ''\nfor i in range(20000): x += 'ab'\nX = len(x)", "40000"},
	} {
		l, m := load(t, "a.py", c.src+"\nAFTER = 1\n")
		got := strings.TrimPrefix(show(l, m, "X"), "poisoned: ")
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %.200s, want %s", c.name, got, c.want)
		}
		if a := show(l, m, "AFTER"); a != "1" {
			t.Errorf("%s: the next statement gives %s", c.name, a)
		}
	}
}

// All statements together have a limit as well, which is reported once.
func TestTotalLimit(t *testing.T) {
	l := loader("a.py", strings.Repeat("for i in range(10000): pass\n", 100))
	l.MaxSteps = 21000
	_, errs := l.Load("a.py")
	if len(errs) != 1 || errs[0].Code != CodeLimit || !strings.Contains(errs[0].Message, "all module code together") {
		t.Errorf("got %v", errs)
	}
}

func TestImportDepth(t *testing.T) {
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("m%d.py", i), fmt.Sprintf("import m%d\nX = 1\n", i+1))
	}
	l, m := load(t, files...)
	if got := show(l, m, "X"); got != "1" {
		t.Errorf("X: %s", got)
	}
}

// FuzzEval checks that no program crashes the evaluator or hangs it.
func FuzzEval(f *testing.F) {
	for _, s := range []string{
		"import pypto.language as pl\n@pl.jit\ndef f(x): pass\nX = pl.Tensor[[1], pl.FP32]\n",
		"from dataclasses import dataclass, field, replace\n@dataclass(frozen=True)\nclass C:\n  a: int = 1\n  b: list = field(default_factory=list)\nX = replace(C(), a=2).b\n",
		"class A:\n  def __init__(s, *a, **k): s.a = a\n  def __getattr__(s, n): return n\n  def __eq__(s, o): return True\nX = A(1, b=2).z == 3, {A(): 1}\n",
		"from enum import *\nclass E(IntEnum):\n  A = auto()\n  B = A + 1\nX = [e for e in E], E(1) + E.B\n",
		"try:\n  x = 1 // 0\nexcept ZeroDivisionError as e:\n  raise ValueError(str(e)) from e\nfinally:\n  y = 1\n",
		"a, *b = (x for x in range(5) if x % 2)\nprint(f'{a:>{b[0]}}', '%s %d' % (a, 1), '{:x} {k!r:>3}'.format(3, k=2))\nX = [*map(int, '12'.split('1'))]\n",
		"import math, os, sys, itertools, functools, collections, copy\nX = math.log(2**2000), os.path.join('a', 'b'), sys.argv[:1], collections.namedtuple('P', 'a b')(1, 2)._asdict()\n",
		"def g(n):\n  global Z\n  yield from range(n)\n  Z = n\nX = sum(g(3)), Z\nwhile Z: Z -= 1\nelse: W = 2\n",
		"x = {1: 2, **{3: 4}}\nx |= {5: 6}\ndel x[1]\ny = x.setdefault(7, []).append(8)\nz = [1, 2, 3][::-2] * 2\nz[0:1] = 'ab'\n",
		"X = 2 ** -1, -7 // 2, 1 << 3, ~1, not 1, 1 < 2 < 3, 'a' in 'abc', [] or None, (lambda *a, b=1: a)(*[1])\n",
		"from a import *\nimport a.b\nfrom .. import c\nfrom .a import X as Y\n",
		"import re, json\nwith open('b.py') as f:\n  y = [re.sub(r'(X) (=)', r'\\2\\g<1>', l) for l in f]\nX = json.loads('[{\"a\": [1.5, null]}]'), re.split('[^]a]+|$', 'x]y')\n",
		"with open('x') as f: y = 1\nassert y, 'no'\nmatch y:\n  case 1: pass\nasync def h(): await x\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		l := loader("a.py", src, "b.py", "X = 1\n")
		l.MaxSteps = 20000
		m, errs := l.Load("a.py")
		for _, d := range errs {
			if strings.Contains(d.Message, "internal error") {
				t.Error(d)
			}
		}
		for _, n := range m.Names() {
			v, _ := m.Get(n)
			if p, ok := v.(*Poison); ok {
				if strings.Contains(p.Reason, "internal error") {
					t.Errorf("%s: %s", n, p.Reason)
				}
				p.Diagnostic(p.Span)
			}
			Repr(v)
		}
		if x, errs := syntax.ParseExpr("a.py", []byte(src)); !errs.HasErrors() {
			if _, d := l.Eval(m.Env(), x); d != nil && strings.Contains(d.Message, "internal error") {
				t.Error(d)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	src := "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Cfg:\n  hidden: int = 4096\n  heads: int = 32\n  @property\n  def head_dim(self): return self.hidden // self.heads\nC = Cfg()\n" +
		strings.Repeat("TILE = C.head_dim // 4\nROWS = (C.hidden + TILE - 1) // TILE * TILE\nassert ROWS % TILE == 0, f'rows {ROWS}'\n", 300)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		l := loader("a.py", src)
		if _, errs := l.Load("a.py"); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	for b.Loop() {
		l, _ := loader("a.py", "def fib(n):\n  return n if n < 2 else fib(n - 1) + fib(n - 2)\nX = fib(18)\n"), 0
		if _, errs := l.Load("a.py"); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
