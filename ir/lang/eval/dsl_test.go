package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

// Every DSL decorator makes a DSL object, under any spelling of the package; nothing of the definition is executed.
func TestDecorators(t *testing.T) {
	l, m := load(t, "a.py", `
import pypto.language as pl
from pypto import language as X
from pypto.language import jit as J, program
import pypto.language
import torch

@pl.program
class P:
    boom = 1 // 0
    @pl.function(type=pl.FunctionType.InCore)
    def f(self): pass

@program(strict_ssa=True)
class Q: pass

@pl.function
def f(x: torch.whatever() = 1 // 0): pass
@pl.inline
def g(x): pass
@pl.jit
def h(x): pass
@J(auto_scope=False)
def i(x): pass
@X.jit.inline
def j(x): pass
@J.incore(level=1 // 0)
def k(x): pass
@pypto.language.jit.host
def l(x): pass
@pl.jit.opaque
def m(x): pass
@pl.jit.extern(core_type="aic", source="a.cpp")
def n(x): pass
o = pl.jit(lambda: 0)
def plain(x): return x
p = pl.jit(plain)
deco = pl.jit(auto_scope=False)
@deco
def q(x): pass
RESULT = h(1)
NAME = h.__name__
`)
	var got []string
	for _, d := range m.DSLs() {
		if (d.Func == nil) == (d.Class == nil) || d.File != m.Tree || d.Module != m || d.Decorator == nil {
			t.Errorf("incomplete %+v", d)
		}
		_, call := d.Decorator.(*syntax.Call)
		got = append(got, fmt.Sprintf("%s:%s:%v", d.Kind, d.Name, call))
	}
	want := "program:P:false program:Q:true function:f:false inline:g:false jit:h:false jit:i:true jit.inline:j:false jit.incore:k:true " +
		"jit.host:l:false jit.opaque:m:false jit.extern:n:true jit:plain:true jit:q:true"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	expect(t, l, m, map[string]string{
		"RESULT": "poisoned: call of the DSL function h", "NAME": "'h'", "p": "<jit plain>",
	})
}

// A factory makes a new DSL object for each call, which sees the locals of that call.
func TestFactories(t *testing.T) {
	_, m := load(t, "a.py", `
import pypto.language as pl
from dataclasses import dataclass
BASE = 8
def make(rows, cols=16):
    TILE = rows * BASE
    @pl.jit.inline
    def k(x: pl.Tensor[[TILE, cols], pl.FP32]): return x
    def outer():
        @pl.program
        class Prog: pass
        return Prog
    return k, outer()
k2, prog2 = make(2)
k4, prog4 = make(4, cols=32)
`)
	ds := m.DSLs()
	if len(ds) != 4 {
		t.Fatalf("got %d definitions", len(ds))
	}
	for _, c := range []struct{ name, x, want string }{
		{"k2", "[TILE, cols]", "[16, 16]"}, {"k4", "[TILE, cols, BASE]", "[32, 32, 8]"}, {"prog4", "rows + TILE", "36"},
	} {
		v, _ := m.Get(c.name)
		x, _ := syntax.ParseExpr("a.py", []byte(c.x))
		got, d := v.(*DSL).Env.Eval(x)
		if d != nil || Repr(got) != c.want {
			t.Errorf("%s in %s: got %v, %v, want %s", c.x, c.name, got, d, c.want)
		}
	}
}

// @pl.program reads its source when it runs, so that a constant bound again later does not change it; @pl.jit reads it when it is used. Both see
// names that are bound only later.
func TestDefinitionTime(t *testing.T) {
	_, m := load(t, "a.py", `
import pypto.language as pl
import config
N = 64
def twice(): return 2 * N + config.EP
@pl.program
class A: pass
config.EP = 2
@pl.jit
def a(x): pass
N = 128
@pl.program
class B: pass
LATE = 1
N = 256
PROGS = []
for i in range(3):
    @pl.program
    class C: pass
    PROGS.append(C)
`, "config.py", "EP = 1\n")
	get := func(v Value, name string) string {
		got, ok := v.(*DSL).Env.Lookup(name)
		if !ok {
			return "unbound"
		}
		return Repr(got)
	}
	for _, c := range []struct{ dsl, name, want string }{
		{"A", "N", "64"}, {"B", "N", "128"}, {"a", "N", "256"}, {"A", "LATE", "1"}, {"a", "LATE", "1"}, {"A", "nope", "unbound"}, {"A", "len", "<built-in function len>"},
	} {
		v, _ := m.Get(c.dsl)
		if got := get(v, c.name); got != c.want {
			t.Errorf("%s in %s: got %s, want %s", c.name, c.dsl, got, c.want)
		}
	}
	for name, want := range map[string]string{"A": "(1, 129)", "B": "(2, 258)", "a": "(2, 514)"} {
		v, _ := m.Get(name)
		x, _ := syntax.ParseExpr("a.py", []byte("(config.EP, twice())"))
		if got, d := v.(*DSL).Env.Eval(x); d != nil || Repr(got) != want {
			t.Errorf("in %s: got %v, %v, want %s", name, got, d, want)
		}
	}
	progs, _ := m.Get("PROGS")
	for i, p := range progs.(*List).Elems {
		if got := get(p, "i"); got != fmt.Sprint(i) {
			t.Errorf("i in program %d: got %s", i, got)
		}
	}
}

// Symbols and definitions of the DSL package as values.
func TestDSLValues(t *testing.T) {
	l, m := load(t, "a.py", `
import pypto.language as pl
M = pl.dynamic("M")
SAME = M
OTHER = pl.dynamic("M")
ID = M is SAME, M == OTHER, M is OTHER
DT = pl.BF16
SIZE = DT.get_byte(), pl.INT4.get_byte(), pl.FP32 == pl.FP32, DT == pl.FP32, {pl.FP32: 4}[pl.FP32]
PICK = pl.FP16 if DT == pl.BF16 else pl.FP32
T = pl.Tensor[[M, 16], DT]
MEM = pl.MemRef("buf", slots=2)
SLOT = MEM[1]
VIEW = pl.TensorView(stride=[1, 2]).stride
BAD = M * 2
WORSE = pl.dynamic(3)
SHAPE = [M, 16]
`)
	expect(t, l, m, map[string]string{
		"ID": "(True, False, False)", "SIZE": "(2, 1, True, False, 4)", "PICK": "pypto.language.FP16",
		"T":     "pypto.language.Tensor[([DynVar('M'), 16], pypto.language.BF16)]",
		"MEM":   "pypto.language.MemRef('buf', slots=2)",
		"SLOT":  "pypto.language.MemRef('buf', slots=2)[1]",
		"VIEW":  "pypto.language.TensorView(stride=[1, 2]).stride",
		"BAD":   "poisoned: '*' on the dynamic dimension M",
		"WORSE": "poisoned: TypeError: pl.dynamic() takes the name of the dimension, a string",
		"SHAPE": "[DynVar('M'), 16]",
	})
}

// With adds a binding without changing the environment.
func TestWith(t *testing.T) {
	_, m := load(t, "a.py", "N = 2\n")
	e := m.Env().With("j", MakeInt(5)).With("N", MakeInt(7))
	x, _ := syntax.ParseExpr("a.py", []byte("[N + j + k for k in range(2)]"))
	if v, d := e.Eval(x); d != nil || Repr(v) != "[12, 13]" {
		t.Errorf("got %v, %v", v, d)
	}
	if v, _ := m.Env().Lookup("N"); Repr(v) != "2" {
		t.Error("the module has changed")
	}
}

// A misspelt decorator of the DSL is an error at once.
func TestUnknownDecorator(t *testing.T) {
	l := loader("a.py", "import pypto.language as pl\n@pl.jitt\ndef f(x): pass\n@pl.incore(level=1)\ndef g(x): pass\n@pl.jit.fast\ndef h(x): pass\n")
	m, errs := l.Load("a.py")
	want := []string{
		"a.py:2:2: error[PTO-E009]: unknown decorator 'pl.jitt' (help: did you mean 'pl.jit'?)",
		"a.py:4:2: error[PTO-E009]: unknown decorator 'pl.incore' (help: did you mean 'pl.jit.incore'?)",
		"a.py:6:2: error[PTO-E009]: unknown decorator 'pl.jit.fast' (help: the decorators are pl.program, pl.function, pl.inline, pl.jit, and pl.jit.incore, .inline, .opaque, .host and .extern)",
	}
	if got := strings.Split(errs.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", errs, strings.Join(want, "\n"))
	}
	if len(m.DSLs()) != 0 {
		t.Error("they made DSL objects")
	}
}
