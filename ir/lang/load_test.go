package lang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
)

const twoRoots = `import pypto.language as pl
from shapes import T, ROWS as R
from lib.kernels import copy as dup, LIMIT

def build(rows, name="x"):
    S = pl.Tensor[[rows, 16], pl.FP32]
    @pl.program
    class Built:
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, x: S, y: pl.Out[S]):
            y = dup16(x, y)
            return y
    return Built

@pl.jit.incore
def dup16(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
    return y

@pl.jit
def first(x: T, y: pl.Out[T]):
    for i in pl.range(LIMIT):
        y = dup(x, y)
    return y

@pl.jit
def second(x: T, y: pl.Out[T], n: pl.Scalar[pl.INDEX] = 3):
    pl.static_assert(n == 3 or n == 5, "three or five")
    y = dup16(x, y)
    return y
`

var libFiles = map[string]string{
	"test.py":        twoRoots,
	"shapes.py":      "import pypto.language as pl\nROWS = 16\nT = pl.Tensor[[ROWS, 16], pl.FP32]\n",
	"lib/kernels.py": "import pypto.language as pl\nfrom shapes import T\nLIMIT = 2\n@pl.function(type=pl.FunctionType.InCore)\ndef copy(a: T, o: pl.Out[T]) -> T:\n    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)\n    return o\n",
}

func programNames(u *lang.Unit) string {
	var names []string
	for _, p := range u.Programs {
		fs := []string{}
		for _, f := range p.Funcs {
			fs = append(fs, f.Name)
		}
		names = append(names, p.Name+"("+strings.Join(fs, " ")+")")
	}
	return strings.Join(names, " ")
}

func TestLoadRoots(t *testing.T) {
	for _, c := range []struct {
		name, want string
		opt        lang.Options
	}{
		{"all", "first(copy first) second(dup16 second)", lang.Options{}},
		{"entry", "second(dup16 second)", lang.Options{Entry: "second"}},
		{"argument", "second(dup16 second)", lang.Options{Entry: "second", Args: map[string]string{"n": "5"}}},
		{"factory", "Built(dup16 main)", lang.Options{Factory: "build", Args: map[string]string{"rows": "64"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, errs := loadFiles(libFiles, c.opt)
			if errs.HasErrors() {
				t.Fatal(errs)
			}
			if got := programNames(u); got != c.want {
				t.Errorf("programs %s, want %s", got, c.want)
			}
			if !slices.Contains(u.Files, "shapes.py") || u.Files[0] != "test.py" {
				t.Errorf("files %v", u.Files)
			}
		})
	}
}

// The files of tests hold their programs in functions and methods, some of which only other tests call with fitting arguments.
const tests = `import pypto.language as pl
import pytest
from pypto import backend, passes

def make(rows, dtype=pl.FP32):
    S = pl.Tensor[[rows * 2, 16], dtype]
    @pl.function(type=pl.FunctionType.InCore)
    def made(x: S, y: pl.Out[S]) -> S:
        y = pl.store(pl.load(x, [0, 0], [16, 16]), [0, 0], y)
        return y
    return made

class TestIt:
    def test_shapes(self, runner, rows=32, cols=16):
        @pl.program
        class Shapes:
            @pl.function(type=pl.FunctionType.InCore)
            def k(self, x: pl.Tensor[[rows, cols], pl.FP32], y: pl.Out[pl.Tensor[[rows, cols], pl.FP32]]):
                y = pl.store(pl.load(x, [0, 0], [rows, cols]), [0, 0], y)
                return y
        runner.run(Shapes)

def test_make():
    f = make(8)

def test_wrong():
    with pytest.raises(ValueError):
        @pl.function
        def wrong(x):
            return x

def test_local_import():
    import pypto.language as P
    from pypto.language import function as fun
    @fun
    def g(x: P.Tensor[[4], P.FP32]):
        return x

@pytest.mark.parametrize(("rows", "dt"), [pytest.param(8, pl.FP16, id="small"), (16, pl.BF16)])
class TestSets:
    def test_set(self, rows, dt):
        @pl.function
        def h(x: pl.Tensor[[rows], dt]):
            return x

def helper_fails():
    @pl.function
    def bad(x):
        return x

class TestMore:
    def test_several(self, tmp_path):
        backend.reset(tmp_path)
        x = torch.randn(4)
        with backend.context(level=2) as ctx:
            @pl.function
            def f(x: pl.Tensor[[4], pl.FP32]):
                return x
        check(passes.run()(f))
        with pytest.raises(ValueError):
            helper_fails()
        for rows in [8, 16]:
            @pl.function
            def f(x: pl.Tensor[[rows], pl.FP32]):
                return x

def unknown(n):
    @pl.function
    def never(x: pl.Tensor[[n * 2], pl.FP32]):
        return x
    return never

def size(n):
    m = n * 2
    @pl.function
    def sized(x: pl.Tensor[[m], pl.FP32]):
        return x
`

func TestLoadTests(t *testing.T) {
	u, errs := loadFiles(map[string]string{"test.py": tests}, lang.Options{})
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(u), "Shapes(k) made(made) g(g) h(h) f(f) f(f) f(f)"; got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
	if got := u.Warnings.Error(); !strings.Contains(got, "the definitions in 'unknown' are not read: they use a parameter that has no value") || !strings.Contains(got, "the definitions in 'size' are not read: ") || strings.Contains(got, "'make'") {
		t.Errorf("warnings: %v", got)
	}
	if f := u.Programs[0].Lookup("k"); ir.PrintType(f.Params[0].Var.Typ) != "pl.Tensor[[32, 16], pl.FP32]" {
		t.Errorf("parameter %s", ir.PrintType(f.Params[0].Var.Typ))
	}
}

func TestLoadFactoryShapes(t *testing.T) {
	u, errs := loadFiles(libFiles, lang.Options{Factory: "build", Args: map[string]string{"rows": "64"}})
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	f := u.Programs[0].Lookup("main")
	if got := ir.PrintType(f.Params[0].Var.Typ); got != "pl.Tensor[[64, 16], pl.FP32]" {
		t.Errorf("parameter %s", got)
	}
	// The dependency was instantiated for the type of its argument.
	if got := ir.PrintType(u.Programs[0].Lookup("dup16").Params[1].Var.Typ); got != "pl.Tensor[[64, 16], pl.FP32]" {
		t.Errorf("parameter of the dependency %s", got)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		files      map[string]string
		opt        lang.Options
	}{
		{"missing entry", "no program or entry function 'frist' (help: did you mean 'first'?)", libFiles, lang.Options{Entry: "frist"}},
		{"failing assertion with an argument", "static_assert failed: three or five", libFiles, lang.Options{Entry: "second", Args: map[string]string{"n": "4"}}},
		{"bad argument", "is not an int, float or bool", libFiles, lang.Options{Entry: "second", Args: map[string]string{"n": "x y"}}},
		{"no file", "nothere.py", map[string]string{}, lang.Options{}},
		{"parse nothing", "No @pl.function or @pl.program found", map[string]string{"test.py": "import pypto.language as pl\np = pl.parse('x = 1')\n"}, lang.Options{}},
		{"parse several", "Multiple functions/programs found", map[string]string{"test.py": "import pypto.language as pl\np = pl.parse('''\nimport pypto.language as pl\n@pl.function\ndef a(x: pl.Scalar[pl.INDEX]):\n    return x\n@pl.function\ndef b(x: pl.Scalar[pl.INDEX]):\n    return x\n''')\n"}, lang.Options{}},
		{"program on a function", "pl.program decorates a class", map[string]string{"test.py": "import pypto.language as pl\n@pl.program\ndef f():\n    pass\n"}, lang.Options{}},
		{"function on a class", "pl.jit decorates a function", map[string]string{"test.py": "import pypto.language as pl\n@pl.jit\nclass F:\n    pass\n"}, lang.Options{}},
		{"poison is reported with its chain", "constant WIDTH cannot be evaluated statically", map[string]string{"test.py": "import pypto.language as pl\nimport torch\nBASE = torch.cuda.count()\nWIDTH = BASE * 2\n@pl.jit\ndef f(x: pl.Tensor[[16], pl.FP32]):\n    for i in pl.range(WIDTH):\n        pass\n    return x\n"}, lang.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no file" {
				c.files = map[string]string{}
			}
			_, errs := loadFiles(c.files, c.opt)
			if !errs.HasErrors() || c.name != "no file" && !strings.Contains(errs.Error(), c.want) {
				t.Errorf("errors: %v\nwant %q", errs, c.want)
			}
		})
	}
}

// Inline functions assign names of their callers. Arguments are what they were at the call all the same, also when a function that is called there assigns what
// they read.
func TestInlineArguments(t *testing.T) {
	u, ds := load(`import pypto.language as pl

@pl.inline
def inner(a):
    t = a * 2
    return t

@pl.inline
def outer(a, b):
    u = inner(b)
    return u + a

@pl.function(type=pl.FunctionType.InCore)
def k(n: pl.Scalar[pl.INDEX], x: pl.Tensor[[64], pl.INT32], y: pl.Out[pl.Tensor[[64], pl.INT32]]):
    t = n + 1
    r = outer(t + 5, n)
    t = n + 1
    s = outer(t, n)
    y = pl.store(pl.load(x, [r], [16]), [s], y)
    return y
`)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	text := ir.Print(u.Programs[0], ir.PrintOptions{Concise: true})
	for _, want := range []string{"a = t + 5\n", "r = u + a\n", "a_1 = t\n", "s = u + a_1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A standalone function that a program calls belongs to that program; the others make one of their own.
func TestStandaloneFunctions(t *testing.T) {
	u, errs := load(`import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.function(type=pl.FunctionType.InCore)
def used(a: T, o: pl.Out[T]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o
@pl.function(type=pl.FunctionType.InCore)
def free(a: T, o: pl.Out[T]) -> T:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, y: pl.Out[T]):
        y = used(x, y)
        return y
`)
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(u), "P(used main) free(free)"; got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
}

func TestParseText(t *testing.T) {
	u, errs := load(`import pypto.language as pl
ROWS = 16
text = pl.parse('''
@pl.function(type=pl.FunctionType.InCore)
def k(a: pl.Tensor[[ROWS, 16], pl.FP32], o: pl.Out[pl.Tensor[[ROWS, 16], pl.FP32]]) -> pl.Tensor[[ROWS, 16], pl.FP32]:
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o
''')
`)
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got := programNames(u); got != "k(k)" {
		t.Fatalf("programs %s", got)
	}
	f := u.Programs[0].Funcs[0]
	if v, ok := ir.ShapeOf(f.Params[0].Var.Typ)[0].(*ir.Var); !ok || !v.Dyn || v.Hint != "ROWS" {
		t.Errorf("an unknown name in a text is a dynamic extent, got %s", ir.PrintType(f.Params[0].Var.Typ))
	}
	if len(u.Files) != 1 {
		t.Errorf("files %v: the text is no file", u.Files)
	}
}

// External sources are looked for beside the file that names them.
func TestExternalSources(t *testing.T) {
	src := `import pypto.language as pl
T = pl.Tensor[[16, 16], pl.FP32]
@pl.jit.extern(core_type="mixed", aic_source="cube.cpp", aiv_source="vec.cpp", include_dirs=["inc"], dual_aiv_dispatch=True)
def both(a: T, o: pl.Out[T]): ...
@pl.jit.extern(core_type="aiv", source="one.cpp")
def one(a: T, o: pl.Out[T]): ...
@pl.jit
def main(x: T, y: pl.Out[T]):
    y = both(x, y)
    y = one(y, y)
    return y
`
	var asked []string
	_, errs := loadFiles(map[string]string{"test.py": src}, lang.Options{Exists: func(p string) bool { asked = append(asked, p); return p != "one.cpp" }})
	if !strings.Contains(errs.Error(), "source file not found: one.cpp") {
		t.Errorf("errors: %v", errs)
	}
	if !slices.Contains(asked, "cube.cpp") {
		t.Errorf("asked for %v", asked)
	}
	u, errs := loadFiles(map[string]string{"test.py": src}, lang.Options{})
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(u), "main(both_aic both_aiv both one main)"; got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
	p := u.Programs[0]
	if f := p.Lookup("both_aiv"); f.Type != ir.AIV || f.External == nil || f.External.Source != "vec.cpp" || f.External.IncludeDirs[0] != "inc" {
		t.Errorf("the vector part is %+v", f)
	}
	if f := p.Lookup("both"); f.Type != ir.Group || !f.DualAIV || len(f.Body) != 3 {
		t.Errorf("the wrapper is %+v", f)
	}
}

// Reports of functions in other files name those files.
func TestErrorsInImports(t *testing.T) {
	_, errs := loadFiles(map[string]string{
		"test.py": "import pypto.language as pl\nfrom k import bad\n@pl.jit\ndef f(x: pl.Tensor[[16], pl.FP32], y: pl.Out[pl.Tensor[[16], pl.FP32]]):\n    y = bad(x, y)\n    y = bad(x)\n    return y\n",
		"k.py":    "import pypto.language as pl\n@pl.jit.incore\ndef bad(x: pl.Tensor[[16], pl.FP32], y: pl.Out[pl.Tensor[[16], pl.FP32]]):\n    y = pl.store(oops, [0], y)\n    return y\n",
	}, lang.Options{})
	if len(errs) != 2 || errs[0].Span.String() != "k.py:4:18" || errs[1].Span.String() != "test.py:6:9" {
		t.Errorf("errors: %v", errs)
	}
}

// The form of system tests: classes of a test framework that is not there, each with a method that returns its program, and functions with the framework's marks.
func TestLoadSystemTests(t *testing.T) {
	u, errs := loadFiles(map[string]string{"test.py": `import pypto.language as pl
import pytest
from harness.core.harness import DataType, PTOTestCase, TensorSpec

class TestAdd(PTOTestCase):
    __test__ = False
    def __init__(self, *, rows=16, config=None):
        super().__init__(config)
        self.rows = rows
    def get_name(self):
        return f"add_{self.rows}"
    def define_tensors(self):
        return [TensorSpec("a", [16, 16], DataType.FP32)]
    def get_program(self):
        R = self.rows
        @pl.program
        class Add:
            @pl.function(type=pl.FunctionType.InCore)
            def k(self, x: pl.Tensor[[R, 16], pl.FP32], y: pl.Out[pl.Tensor[[R, 16], pl.FP32]]):
                y = pl.store(pl.load(x, [0, 0], [R, 16]), [0, 0], y)
                return y
        return Add

class TestSized(PTOTestCase):
    def __init__(self, m, n=8):
        super().__init__()
        self.m = m
    @pytest.mark.slow
    def get_program(self):
        @pl.program
        class Sized:
            @pl.function(type=pl.FunctionType.InCore)
            def k(self, x: pl.Tensor[[8, 16], pl.FP32], y: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
                y = pl.store(pl.load(x, [0, 0], [8, 16]), [0, 0], y)
                return y
        return Sized

@pytest.mark.parametrize("rows", [32, 64])
def test_marked(rows, runner):
    @pl.program
    class Marked:
        @pl.function(type=pl.FunctionType.InCore)
        def k(self, x: pl.Tensor[[rows, 16], pl.FP32], y: pl.Out[pl.Tensor[[rows, 16], pl.FP32]]):
            y = pl.store(pl.load(x, [0, 0], [rows, 16]), [0, 0], y)
            return y
    runner.run(Marked)

@pytest.fixture
def fixture():
    @pl.program
    class Fixed:
        @pl.function(type=pl.FunctionType.InCore)
        def k(self, x: pl.Tensor[[4, 16], pl.FP32], y: pl.Out[pl.Tensor[[4, 16], pl.FP32]]):
            y = pl.store(pl.load(x, [0, 0], [4, 16]), [0, 0], y)
            return y
    return Fixed
`}, lang.Options{})
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(u), "Marked(k) Add(k) Sized(k) Fixed(k)"; got != want {
		t.Errorf("programs %s, want %s; %v", got, want, u.Warnings)
	}
	if len(u.Warnings) > 0 {
		t.Errorf("warnings: %v", u.Warnings)
	}
}

// Tests may parse texts instead of defining functions, and stand beside definitions of the module.
func TestLoadTextsOfTests(t *testing.T) {
	u, errs := load(`import pypto.language as pl
import pytest
import textwrap

@pl.program
class Shared:
    @pl.function
    def f(self, x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:
        return x

def build(n):  # not called: the file has a program of its own
    @pl.function
    def built(x: pl.Tensor[[n], pl.FP32]):
        return x
    return built

class TestParse:
    def test_function(self):
        func = pl.parse('''
@pl.function
def g(x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:
    return x
''')
        assert func.name == "g"

    def test_program(self):
        text = textwrap.dedent("""
            @pl.program
            class P:
                @pl.function
                def h(self, x: pl.Tensor[[N], pl.FP32]) -> pl.Tensor[[N], pl.FP32]:
                    return x
        """)
        assert pl.parse_program(text).name == "P"

    def test_wrong(self):
        with pytest.raises(Exception):
            pl.parse("x = 1")

def test_own():
    @pl.program
    class Own:
        @pl.function
        def i(self, x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:
            return x
`)
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	if got, want := programNames(u), "Shared(f) Own(i) g(g) P(h)"; got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
	if len(u.Warnings) > 0 {
		t.Errorf("warnings: %v", u.Warnings)
	}
}
