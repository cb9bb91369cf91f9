package eval

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ptobuild/ptobuild/ir/lang/syntax"
)

func expect(t *testing.T, l *Loader, m *Module, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if got := show(l, m, name); got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
	}
}

// Sibling modules: one object for each file, found beside the importing file, then in the roots; order of execution is textual.
func TestImports(t *testing.T) {
	l := loader(
		"k/main.py", `
import config
from config import FLASH as F, HIDDEN
import util.shapes as us
import util.deep.more
from util import shapes
from stars import *
config.EP = 16
from reader import SEEN
import numpy as np
from . import config as same
from .config import HIDDEN as H2
X = F.tile, HIDDEN, us.ROWS, util.deep.more.D, shapes is us, same is config, H2
`,
		"k/config.py", "class C:\n  tile = 64\nFLASH = C()\nHIDDEN = 4096\nEP = 8\n",
		"k/reader.py", "import config\nSEEN = config.EP\n",
		"lib/util/__init__.py", "",
		"lib/util/shapes.py", "ROWS = 7\n",
		"lib/util/deep/more.py", "D = 'deep'\n",
		"k/stars.py", "__all__ = ['A', '_b']\nA = 1\n_b = 2\nC = 3\n",
	)
	l.Roots = []string{"lib"}
	m, errs := l.Load("k/main.py")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	expect(t, l, m, map[string]string{"X": "(64, 4096, 7, 'deep', True, True, 4096)", "SEEN": "16", "A": "1", "_b": "2", "C": "unbound", "np": "numpy"})
	want := []string{"k/main.py", "k/config.py", "lib/util/__init__.py", "lib/util/shapes.py", "lib/util/deep/more.py", "k/stars.py", "k/reader.py"}
	if got := l.Files(); !slices.Equal(got, want) {
		t.Errorf("files read: %v, want %v", got, want)
	}
	if got := l.Missing(); !slices.Contains(got, "k/util.py") || slices.Contains(got, "k/config.py") {
		t.Errorf("files looked for: %v", got)
	}
}

// Files that a program reads are inputs like its modules; those that are not there can change the result too. Nothing is written.
func TestReadFiles(t *testing.T) {
	l, m := load(t, "k/main.py", `
import json, os
from pathlib import Path
HERE = Path(__file__).resolve().parent
with open(os.path.join(os.path.dirname(__file__), "model.json"), encoding="utf-8") as f:
    CFG = json.load(f)
TEXT = (HERE / "notes.txt").read_text().splitlines()
LINES = [l.strip() for l in open(HERE / "notes.txt")]
try:
    EXTRA = json.loads((HERE / "local.json").read_text())
except FileNotFoundError:
    EXTRA = {}
DOS = open(HERE / "dos.txt").read(), (HERE / "dos.txt").read_text(encoding="utf-8"), (HERE / "dos.txt").read_bytes()
X = CFG["hidden"] // CFG["tile"][0], TEXT, LINES, EXTRA
OUT = open("out.txt", "w")
`, "k/model.json", `{"hidden": 5120, "tile": [16, 64]}`, "k/notes.txt", "one\ntwo\n", "k/dos.txt", "a\r\nb\r")
	expect(t, l, m, map[string]string{"DOS": `('a\nb\n', 'a\nb\n', b'a\r\nb\r')`, "X": "(320, ['one', 'two'], ['one', 'two'], {})",
		"OUT": "poisoned: a file that is opened for writing: module code can only read files"})
	if got, want := l.Files(), []string{"k/main.py", "k/model.json", "k/notes.txt", "k/dos.txt"}; !slices.Equal(got, want) {
		t.Errorf("files read: %v, want %v", got, want)
	}
	if got := l.Missing(); !slices.Contains(got, "k/local.json") {
		t.Errorf("files looked for: %v", got)
	}
}

// Where Go's regular expressions find something else than Python's, nothing is found at all.
func TestRegexpsOfPythonAlone(t *testing.T) {
	l, m := load(t, "a.py", `
import re
A = re.findall(r"\w+", "größe")
B = re.findall(r"\d*", "1a")
C = re.match(r"(a*)+", "aa").groups()
D = re.compile(r"(?#words)a")
E = re.compile("a").match("ba", 1)
F = re.sub("(a)", r"\q", "a")
try:
    re.compile("(a")
except re.error:
    G = "bad"
`)
	expect(t, l, m, map[string]string{
		"A": "poisoned: a regular expression with classes of characters for a text that is not ASCII",
		"B": "poisoned: all matches of a regular expression that may match nothing",
		"C": "poisoned: a regular expression that repeats what may be empty",
		"D": "poisoned: the regular expression '(?#words)a'",
		"E": "poisoned: a part of a text for Pattern.match",
		"F": "poisoned: the escape \\q of a replacement",
		"G": "'bad'",
	})
}

// Imports in a circle see what is bound so far.
func TestImportCycle(t *testing.T) {
	l, m := load(t, "a.py", "X = 1\nimport b\nY = b.Z\n", "b.py", "import a\nZ = a.X + 1\nW = a.Y\n")
	expect(t, l, m, map[string]string{"Y": "2"})
	b, _ := m.Get("b")
	expect(t, l, b.(*Module), map[string]string{"W": "poisoned: AttributeError: module 'a' has no attribute 'Y'"})
}

// What cannot be computed poisons what depends on it and nothing else; the report names the chain and the cause.
func TestPoison(t *testing.T) {
	l, m := load(t, "kv.py", `
import torch
GOOD = 1
BOOK = torch.linspace(0, 1, 16)
N = BOOK.shape[0]
ALSO = N * 2
TABLE = {"a": 1}
TABLE["b"] = torch.rand(1)
LIST = []
LIST.append(torch.pi())
KEEP = [1]
print(KEEP, torch.rand(1))
for i in range(3):
    LAST = i
    if torch.cuda.is_available():
        MORE = i
def golden(x):
    return torch.matmul(x, x)
OK = GOOD + 1
class Net(torch.nn.Module):
    SIZE = 3
net = Net()
D = Net.SIZE
try:
    V = torch.version()
except Exception:
    V = 0
try:
    import torch_npu as NPU
    FAST = True
except ImportError:
    FAST = False
try:
    import re as RE
except ImportError:
    RE = None
import os, math
HAS = hasattr(torch, "compile")
SEND = hasattr(os, "sendfile")
PI = hasattr(math, "pi")
MU = "\\N{GREEK SMALL LETTER MU}"
def touch(c):
    c.append(1)
    torch.rand(1)
touch(KEEP)
`)
	expect(t, l, m, map[string]string{
		"GOOD": "1", "OK": "2", "D": "3",
		"BOOK":  "poisoned: call of torch.linspace",
		"ALSO":  "poisoned: call of torch.linspace",
		"TABLE": "poisoned: call of torch.rand", "LIST": "poisoned: call of torch.pi",
		"LAST": "poisoned: call of torch.cuda.is_available", "MORE": "poisoned: call of torch.cuda.is_available",
		"net":  "<Net object>",
		"V":    "poisoned: call of torch.version",
		"KEEP": "poisoned: call of torch.rand",
	})
	v, _ := m.Get("ALSO")
	x, _ := syntax.ParseExpr("kv.py", []byte("ALSO + 1"))
	_, d := l.Eval(m.Env(), x)
	if d == nil || d.Message != "constant ALSO cannot be evaluated statically: call of torch.linspace at kv.py:4" {
		t.Fatalf("got %v", d)
	}
	var chain []string
	for _, r := range d.Related {
		chain = append(chain, r.Span.String()+" "+r.Message)
	}
	if got, want := strings.Join(chain, "; "), "kv.py:6:1 ALSO needs N; kv.py:5:1 N needs BOOK; kv.py:4:8 call of torch.linspace"; got != want {
		t.Errorf("chain: %s, want %s", got, want)
	}
	if p := v.(*Poison); p.Name != "ALSO" || p.Span.Line != 6 {
		t.Errorf("poison %+v", p)
	}
}

// A poisoned name travels through imports and is reported with its own file.
func TestPoisonAcrossFiles(t *testing.T) {
	l, m := load(t, "a.py", "from b import N as M\nX = M + 1\n", "b.py", "\nimport torch\nN = torch.ones(1)\n")
	expect(t, l, m, map[string]string{"X": "poisoned: call of torch.ones", "M": "poisoned: call of torch.ones"})
	x, _ := syntax.ParseExpr("a.py", []byte("X"))
	if _, d := l.Eval(m.Env(), x); d == nil || !strings.HasSuffix(d.Message, "at b.py:3") || d.Span.File != "a.py" {
		t.Errorf("got %v", d)
	}
}

// Failing asserts and uncaught raises of executed code are errors, with their place; the rest of the file is still evaluated.
func TestReports(t *testing.T) {
	l := loader("a.py", `
import b
N = 3
assert N % 2 == 0, f"N is {N}"
assert N
def check(n):
    if n < 4:
        raise ValueError("too small")
check(N)
import torch
assert torch.cuda.is_available()
try:
    assert False
except AssertionError:
    LATER = 1
if __name__ == "__main__":
    assert False
import sys
def never():
    sys.exit(1)
never()
`, "b.py", "x = = 1\nassert 1 == 2\n")
	m, errs := l.Load("a.py")
	var got []string
	for _, d := range errs {
		got = append(got, d.Span.String()+" "+d.Message)
	}
	want := []string{
		"a.py:4:1 assertion 'N % 2 == 0' fails: N is 3",
		"a.py:8:9 module code raises ValueError: too small",
		"b.py:1:5 invalid syntax: unexpected '=', expected an expression",
		"b.py:2:1 assertion '1 == 2' fails",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	if show(l, m, "LATER") != "1" {
		t.Error("LATER is not bound")
	}
	if len(errs) > 1 && (len(errs[1].Related) == 0 || errs[1].Related[0].Span.Line != 9) {
		t.Errorf("the raise does not name the call: %+v", errs[1].Related)
	}
}

func TestLoadErrors(t *testing.T) {
	l := loader("a.py", "X = 1")
	if m, errs := l.Load("b.py"); m != nil || len(errs) != 1 || errs[0].Error() != "b.py: error[PTO-E007]: cannot read b.py: no such file" {
		t.Errorf("got %v, %v", m, errs)
	}
	a, _ := l.Load("a.py")
	if again, _ := l.Load("a.py"); again != a {
		t.Error("a second module for the same file")
	}
}

// The environment and the arguments come from the options alone, and what was asked for is known.
func TestEnvironment(t *testing.T) {
	l := loader("d/run.py", `
import os, sys
A = os.environ.get("EP", "8"), os.getenv("TP"), "EP" in os.environ, int(os.environ.get("N", 4))
try:
    B = os.environ["HOME"]
except KeyError:
    B = "no home"
os.environ["SET"] = "1"
C = os.environ["SET"], os.environ.setdefault("SET", "2")
def parse(argv):
    out = {}
    for a in argv[1:]:
        if a.startswith("--") and "=" in a:
            k, v = a[2:].split("=", 1)
            out[k] = int(v) if v.isdigit() else v
    return out
D = parse(sys.argv), sys.argv[0]
NAME = __name__
FILE = __file__
`)
	l.Environ = map[string]string{"EP": "16"}
	l.Argv = []string{"--batch=4", "--mode=x", "pos"}
	m, errs := l.Load("d/run.py")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	expect(t, l, m, map[string]string{
		"A": "('16', None, True, 4)", "B": "'no home'", "C": "('1', '1')",
		"D": "({'batch': 4, 'mode': 'x'}, 'run.py')", "NAME": "'run'", "FILE": "'d/run.py'",
	})
	if got, want := l.EnvRead(), []string{"EP", "HOME", "N", "SET", "TP"}; !slices.Equal(got, want) {
		t.Errorf("variables read: %v, want %v", got, want)
	}
}

// pathlib and os.path work on names; files are seen through ReadFile only.
func TestPaths(t *testing.T) {
	l := loader("proj/kernels/a.py", `
import os, sys
from pathlib import Path
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
A = str(HERE), HERE / "src" / "k.cpp", ("x" / Path("y")).name, Path("a/b.tar.gz").suffix, Path("a/b.py").stem, Path("a//./b/") == Path("a/b")
B = (HERE / "data.txt").exists(), (HERE / "none.txt").exists(), ROOT.is_dir(), (HERE / "data.txt").read_text().strip()
C = os.path.join(os.path.dirname(__file__), "x.cpp"), os.path.basename("/a/b"), os.path.splitext("a.b.c"), os.path.exists("proj")
sys.path.insert(0, str(ROOT / "lib"))
from helper import VALUE
D = Path("/a/b/c").relative_to("/a"), Path("a").with_suffix(".x"), Path("/a/b").parts, Path("a/b").parents[0]
`, "proj/kernels/data.txt", " hello\n", "proj/lib/helper.py", "VALUE = 5\n")
	read := l.ReadFile
	l.ReadFile = func(path string) ([]byte, error) {
		if path == "proj" {
			return nil, &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
		}
		return read(path)
	}
	m, errs := l.Load("proj/kernels/a.py")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	expect(t, l, m, map[string]string{
		"A":     "('proj/kernels', PosixPath('proj/kernels/src/k.cpp'), 'y', '.gz', 'b', True)",
		"B":     "(True, False, True, 'hello')",
		"C":     "('proj/kernels/x.cpp', 'b', ('a.b', '.c'), True)",
		"VALUE": "5",
		"D":     "(PosixPath('b/c'), PosixPath('a.x'), ('/', 'a', 'b'), PosixPath('a'))",
	})
}

// A library that the program does not find is a symbol, whatever is done with it in code that does not run.
func TestSymbols(t *testing.T) {
	l, m := load(t, "a.py", `
import argparse
import torch.nn as nn, golden
from typing import Optional, TYPE_CHECKING, List
import logging
log = logging.getLogger(__name__)
log.info("x %d", 3)
if TYPE_CHECKING:
    import never
DT = torch_dtype = nn.functional.float32
SAME = nn.functional.float32 is DT, DT == DT, DT is None, DT != None
ALIAS = List[int], Optional[str]
def helper(x: "Optional[int]" = None, *, dev: nn.Module = None) -> List[int]:
    log.warning("called")
    return [x]
H = helper(3)
MIXED = DT == nn.int8
BAD = [x for x in DT]
LEN = len(DT)
IDX = [1, 2][DT]
`)
	expect(t, l, m, map[string]string{
		"DT": "torch.nn.functional.float32", "SAME": "(True, True, False, True)", "H": "[3]",
		"MIXED": "poisoned: a comparison of torch.nn.functional.float32 with torch.nn.int8",
		"BAD":   "poisoned: iteration over torch.nn.functional.float32",
		"LEN":   "poisoned: the length of torch.nn.functional.float32",
		"IDX":   "poisoned: the value of torch.nn.functional.float32",
	})
}

// Eval words its reports for a user of the DSL.
func TestEvalReports(t *testing.T) {
	l, m := load(t, "a.py", "HIDDEN = 4\nimport torch\ndef f(n):\n    return 1 // n\n")
	for src, want := range map[string]string{
		"HIDEN * 2":       "a.py:1:1: error[PTO-E001]: Undefined variable 'HIDEN' (help: did you mean 'HIDDEN'?)",
		"zzz":             "a.py:1:1: error[PTO-E001]: Undefined variable 'zzz' (help: define it before this line, or import it)",
		"1 + HIDDEN // 0": "a.py:1:5: error[PTO-E005]: expression raises ZeroDivisionError: integer division or modulo by zero",
		"torch.ones(1)":   "a.py:1:1: error[PTO-E005]: expression cannot be evaluated statically: call of torch.ones",
		"1 << 10**9":      "a.py:1:1: error[PTO-E006]: evaluation goes beyond its limits: an integer of 1048577 bits (the limit is 1048576) (help: module code must be small enough to be evaluated for every build)",
		"HIDDEN.x":        "a.py:1:1: error[PTO-E005]: expression raises AttributeError: 'int' object has no attribute 'x'",
	} {
		x, errs := syntax.ParseExpr("a.py", []byte(src))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		v, d := l.Eval(m.Env(), x)
		if d == nil || d.Error() != want {
			t.Errorf("%s: got %v, %v\nwant %s", src, v, d, want)
		}
	}
}

// Call passes arguments by name, written as Python.
func TestCall(t *testing.T) {
	l, m := load(t, "a.py", "SIZES = [1, 2]\ndef build(batch, mode='x', *, tile=16):\n    return batch * tile, mode\ndef bad(): raise ValueError('no')\n")
	v, d := l.Call(m, "build", map[string]string{"batch": "SIZES[1] + 1", "mode": "'y'"})
	if d != nil || Repr(v) != "(48, 'y')" {
		t.Errorf("got %v, %v", v, d)
	}
	for _, c := range []struct {
		fn   string
		args map[string]string
		want string
	}{
		{"build", nil, "build() missing 1 required positional argument: 'batch'"},
		{"build", map[string]string{"batsh": "1"}, "function build has no parameter 'batsh' (help: its parameters are: batch, mode, tile)"},
		{"build", map[string]string{"batch": "1 +"}, "expected an expression"},
		{"nope", nil, "module a has no function 'nope'"},
		{"bad", nil, "ValueError: no"},
	} {
		if _, d := l.Call(m, c.fn, c.args); d == nil || !strings.Contains(d.Error(), c.want) {
			t.Errorf("%s%v: got %v, want %q", c.fn, c.args, d, c.want)
		}
	}
}

func TestEmptyEnv(t *testing.T) {
	x, _ := syntax.ParseExpr("a.py", []byte("1 + len('ab')"))
	var e Env
	if v, d := e.Eval(x); d != nil || Repr(v) != "3" {
		t.Errorf("got %v, %v", v, d)
	}
	if _, ok := e.Lookup("x"); ok || e.File() != "" {
		t.Error("the empty environment has names")
	}
}
