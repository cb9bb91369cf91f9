package bench

import (
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ir/lang/syntax"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
)

// pythonParse times CPython's parser on files, in one process without its start: best of five, per round over all files.
const pythonParse = `
import ast, sys, time
src = [open(f).read() for f in sys.argv[1:]]
best = 1e9
for _ in range(5):
    t = time.perf_counter()
    for _ in range(20):
        for s in src:
            ast.parse(s)
    best = min(best, (time.perf_counter() - t) / 20)
print(int(best * 1e9))
`

// BenchmarkParse is source text to syntax tree for all examples, beside CPython's ast.parse on the same files.
func BenchmarkParse(b *testing.B) {
	files := examples(b)
	var sources [][]byte
	size := 0
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, src)
		size += len(src)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for i, src := range sources {
			if _, ds := syntax.Parse(files[i], src); ds.HasErrors() {
				b.Fatal(ds)
			}
		}
	}
	b.StopTimer()
	python, err := osexec.LookPath("python3")
	if err != nil {
		b.Log("python3 is not installed: no ratio")
		return
	}
	out, err := osexec.Command(python, append([]string{"-c", pythonParse}, files...)...).Output()
	if err != nil {
		b.Fatal(err)
	}
	peer, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(peer, "peer-ns/op")
	b.ReportMetric(peer/(float64(b.Elapsed().Nanoseconds())/float64(b.N)), "x-vs-cpython")
}

// toCPP takes a source through every stage to C++ text.
func toCPP(b *testing.B, src []byte, function string) string {
	reg := ops.Builtin()
	unit, ds := lang.Load("bench.py", lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return src, nil }})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	p, ds := passes.Run(&passes.Context{Ops: reg}, unit.Programs[0], passes.Default(), passes.Hooks{})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	f, ds := lower.Lower(p, p.Lookup(function), reg, lower.Options{})
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	code, _ := orch.Print(f, orch.Default())
	return code
}

// small is a program of 18 lines.
const small = `import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]

@pl.program
class Small:
    @pl.function(type=pl.FunctionType.InCore)
    def add(self, a: T, b: T, c: pl.Out[T]) -> T:
        va = pl.load(a, [0, 0], [16, 16])
        vb = pl.load(b, [0, 0], [16, 16])
        return pl.store(pl.add(va, vb), [0, 0], c)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, d: pl.Out[T]) -> T:
        c = pl.create_tensor([16, 16], dtype=pl.FP32)
        c = self.add(a, b, c)
        d = self.add(c, b, d)
        return d
`

// long is a program whose orchestration has n statements: buffers, tasks, branches and short loops.
func long(n int) []byte {
	var s strings.Builder
	s.WriteString(small[:strings.Index(small, "    @pl.function(type=pl.FunctionType.Orchestration)")])
	s.WriteString("    @pl.function(type=pl.FunctionType.Orchestration)\n    def main(self, a: T, b: T, d: pl.InOut[T], s: pl.Scalar[pl.INDEX]) -> T:\n")
	for i := 0; 8*i < n; i++ {
		fmt.Fprintf(&s, `        t%[1]d = pl.create_tensor([16, 16], dtype=pl.FP32)
        t%[1]d = self.add(a, b, t%[1]d)
        if s > %[1]d:
            d = self.add(a, t%[1]d, d)
        n%[1]d = s * 2 + %[1]d
        for i%[1]d in pl.range(n%[1]d):
            t%[1]d = self.add(t%[1]d, b, t%[1]d)
        d = self.add(t%[1]d, b, d)
`, i)
	}
	s.WriteString("        return d\n")
	return []byte(s.String())
}

// BenchmarkFrontEnd is source text to front-end IR in this process, on one core.
func BenchmarkFrontEnd(b *testing.B) {
	src := long(10000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		_, ds := lang.Load("a.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return src, nil }})
		if ds.HasErrors() {
			b.Fatal(ds)
		}
	}
}

// BenchmarkFrontEndShapes is the same for sources that are long in one direction: the MB/s stay level where nothing grows faster than the text.
func BenchmarkFrontEndShapes(b *testing.B) {
	const head = "import pypto.language as pl\nT = pl.Tensor[[16, 16], pl.FP32]\n@pl.function\ndef f(x: T, n: pl.Scalar[pl.INDEX]) -> T:\n"
	chain := func(n int) string {
		var s strings.Builder
		s.WriteString(head + "    v0 = x\n")
		for i := range n {
			fmt.Fprintf(&s, "    v%d = pl.add(v%d, %d.0)\n", i+1, i, i)
		}
		fmt.Fprintf(&s, "    return v%d\n", n)
		return s.String()
	}
	nested := func(n int) string {
		var s strings.Builder
		s.WriteString(head + "    y = x\n")
		for i := range n {
			kind := "for i in pl.range(n):"
			if i%2 == 0 {
				kind = "if n > 3:"
			}
			s.WriteString(strings.Repeat(" ", 4+i) + kind + "\n")
		}
		s.WriteString(strings.Repeat(" ", 4+n) + "y = pl.add(y, 1.0)\n    return y\n")
		return s.String()
	}
	line := head + "    y = pl.create_tensor([" + strings.Repeat("16, ", 250_000) + "16], dtype=pl.FP32)\n    return x\n"
	for _, c := range []struct{ name, src string }{
		{"5,000 statements", chain(5_000)}, {"20,000 statements", chain(20_000)}, {"80,000 statements", chain(80_000)},
		{"125 levels", nested(125)}, {"500 levels", nested(500)}, {"a line of 1 MB", line},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := []byte(c.src)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				_, ds := lang.Load("a.py", lang.Options{Ops: ops.Builtin(), ReadFile: func(string) ([]byte, error) { return src, nil }})
				if ds.HasErrors() {
					b.Fatal(ds)
				}
			}
		})
	}
}

// BenchmarkToCPP is source text to C++ text in this process. ns/statement stays level when the stages are linear.
func BenchmarkToCPP(b *testing.B) {
	b.Run("18 lines", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			toCPP(b, []byte(small), "main")
		}
	})
	for _, n := range []int{1000, 10000, 50000} {
		b.Run(fmt.Sprintf("%d statements", n), func(b *testing.B) {
			src := long(n)
			b.ReportAllocs()
			for b.Loop() {
				toCPP(b, src, "main")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/statement")
		})
	}
}
