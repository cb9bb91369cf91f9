package eval

import (
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// A class of an unknown base works as far as its own code goes; what the base may have is unknown.
func TestUnknownBase(t *testing.T) {
	l, m := load(t, "a.py", `
from harness.core import Case, Mixin
class Plain:
    LATE = 3
    def late(self): return 4
class Add(Case):
    SIZE = 16
    def __init__(self, rows=4, **kw):
        super().__init__(rows, **kw)
        Case.__init__(self)
        self.rows = rows
    @property
    def area(self): return self.rows * self.SIZE
    @staticmethod
    def double(x): return 2 * x
    @classmethod
    def make(cls): return cls(rows=5)
    def total(self): return self.double(self.area)
    def inherited(self): return self.setup()
    def upward(self): return super().setup()
class More(Add):
    def total(self): return super().total() + 1
class Bare(Case): pass
class Before(Plain, Case): pass
class After(Case, Plain): pass
a = Add()
N = a.total()
R = Add.make().rows
S = Add.SIZE
M = More(rows=2).total()
B = Before().late()
INIT = Bare(1, two=2)
IS = isinstance(a, Add)
a.rows = 9
SET = a.rows
class Tagged(Case):
    def __str__(self): return "tag"
    def __eq__(self, o): return True
STR = str(Tagged())
EQ = Tagged() == 1
inherited = a.inherited()
upward = a.upward()
missing = a.config
of_class = Add.registry
hidden = After().late()
ask = hasattr(a, "setup")
truth = bool(a)
size = len(a)
item = a[0]
equal = a == 1
called = a(1)
what = isinstance(a, int)
names = a.__dict__
mro = Add.__mro__
text = str(a)
with a as entered: pass
`)
	expect(t, l, m, map[string]string{
		"N": "128", "R": "5", "S": "16", "M": "65", "B": "4", "INIT": "<Bare object>", "IS": "True", "SET": "9", "STR": "'tag'", "EQ": "True",
		"inherited": "poisoned: attribute setup of class Add, which derives from harness.core.Case",
		"upward":    "poisoned: super().setup of a class that derives from harness.core.Case",
		"missing":   "poisoned: attribute config of class Add, which derives from harness.core.Case",
		"of_class":  "poisoned: attribute registry of class Add, which derives from harness.core.Case",
		"hidden":    "poisoned: attribute late of class After, which derives from harness.core.Case",
		"ask":       "poisoned: attribute setup of class Add, which derives from harness.core.Case",
		"truth":     "poisoned: attribute __bool__ of class Add, which derives from harness.core.Case",
		"size":      "poisoned: attribute __len__ of class Add, which derives from harness.core.Case",
		"item":      "poisoned: attribute __getitem__ of class Add, which derives from harness.core.Case",
		"equal":     "poisoned: attribute __eq__ of class Add, which derives from harness.core.Case",
		"called":    "poisoned: attribute __call__ of class Add, which derives from harness.core.Case",
		"what":      "poisoned: the bases of Add",
		"names":     "poisoned: attribute __dict__ of class Add, which derives from harness.core.Case",
		"mro":       "poisoned: attribute __mro__ of class Add, which derives from harness.core.Case",
		"text":      "poisoned: attribute __str__ of class Add, which derives from harness.core.Case",
		"entered":   "poisoned: attribute __enter__ of class Add, which derives from harness.core.Case",
	})
	if p, _ := m.Get("size"); p.(*Poison).At.Line != 48 {
		t.Errorf("the cause is at %s", p.(*Poison).At)
	}
}

// An unknown decorator poisons what it decorates, and only that; Run calls it as it is written.
func TestUnknownDecoratorOfFunction(t *testing.T) {
	l, m := load(t, "a.py", `
import pytest, torch
LOG = []
@pytest.mark.parametrize("n", [1, 2])
def plain(n):
    LOG.append(n)
@pytest.fixture
@torch.no_grad()
def bare(): LOG.append("bare")
@pytest.mark.skipif(torch.cuda.is_available(), reason="slow")
class Box:
    SIZE = 3
    @pytest.fixture(autouse=True)
    def method(self, k): LOG.append(self.SIZE + k)
    @staticmethod
    @pytest.mark.slow
    def free(k): LOG.append(k)
    def good(self): return self.SIZE
class Open:
    @pytest.fixture
    def made(self): return 1
    def good(self): return 2
    def uses(self): return self.made()
G = Open().good()
def outer():
    @pytest.fixture
    def inner(): pass
    return 7
O = outer()
call = plain(1)
box = Box()
uses = Open().uses()
@undefined
def wrong(): pass
`)
	expect(t, l, m, map[string]string{
		"G": "2", "O": "7",
		"plain": "poisoned: call of pytest.mark.parametrize", "bare": "poisoned: call of torch.no_grad", "Box": "poisoned: call of pytest.mark.skipif",
		"call": "poisoned: call of pytest.mark.parametrize", "box": "poisoned: call of pytest.mark.skipif", "uses": "poisoned: call of pytest.fixture",
		"wrong": "poisoned: NameError: name 'undefined' is not defined",
	})
	for _, r := range []struct {
		class, fn string
		args      []NamedValue
	}{{"", "plain", []NamedValue{{"n", MakeInt(5)}}}, {"", "bare", nil}, {"Box", "method", []NamedValue{{"k", MakeInt(1)}}}, {"Box", "free", []NamedValue{{"k", MakeInt(8)}}}} {
		if d := m.Run(r.class, nil, definition(m.Tree.Body, r.fn), r.args); d != nil {
			t.Errorf("%s: %v", r.fn, d)
		}
	}
	if got := show(l, m, "LOG"); got != "[5, 'bare', 4, 8]" {
		t.Errorf("ran %s", got)
	}
	if d := m.Run("", nil, definition(m.Tree.Body, "wrong"), nil); d == nil {
		t.Error("a function with an undefined decorator ran")
	}
}

// definition finds a function or method of a file.
func definition(body []syntax.Stmt, name string) *syntax.FunctionDef {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.FunctionDef:
			if s.Name == name {
				return s
			}
		case *syntax.ClassDef:
			if f := definition(s.Body, name); f != nil {
				return f
			}
		}
	}
	return nil
}
