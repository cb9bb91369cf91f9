package bench

import (
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/ptobuild/ptobuild/codegen/orch"
	"github.com/ptobuild/ptobuild/graph"
	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ir/lang"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/passes/lower"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
	"github.com/ptobuild/ptobuild/plugins/echo"
	"github.com/ptobuild/ptobuild/plugins/host"
)

// pluginBinaries builds the plugin of the tests, a go-plugin process that does nothing, and the program that runs plugins.
func pluginBinaries(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	cmd := osexec.Command("go", "build", "-o", dir+"/", "../plugins/testdata/acme", "../examples/plugins/rope", "./testdata/bareplugin", "../cmd/"+client.HelperName)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	return dir
}

func acme(dir string) plugins.Config {
	return plugins.Config{Name: "acme", Path: filepath.Join(dir, "acme")}
}

// BenchmarkPluginStart is the start of a plugin until its description is there, beside that of a go-plugin process that does nothing until it answers a ping:
// "process" as the program that runs plugins starts one, "command" as a command does, which needs this program too.
func BenchmarkPluginStart(b *testing.B) {
	dir := pluginBinaries(b)
	rope := []plugins.Config{{Name: "rope", Path: filepath.Join(dir, "rope")}}
	bare := func() func() {
		c := plugin.NewClient(&plugin.ClientConfig{HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE", MagicCookieValue: "bare"},
			Plugins: plugin.PluginSet{}, AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Cmd: osexec.Command(filepath.Join(dir, "bareplugin")), Logger: hclog.NewNullLogger()})
		rpc, err := c.Client()
		if err == nil {
			err = rpc.Ping()
		}
		if err != nil {
			b.Fatal(err)
		}
		return c.Kill
	}
	process := func() func() {
		h, err := host.New(rope)
		if err == nil {
			_, err = h.Plugin("rope").Describe(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		return func() { closed(b, h) }
	}
	command := func() func() {
		c := client.New(b.Context(), filepath.Join(dir, client.HelperName), rope, "")
		if ds := c.Load().Reports(); ds.HasErrors() {
			b.Fatal(ds)
		}
		return func() { closed(b, c) }
	}
	b.Run("process", func(b *testing.B) { starts(b, process, bare) })
	b.Run("command", func(b *testing.B) { starts(b, command, bare) })
}

func closed(b *testing.B, c io.Closer) {
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}

// starts measures two ways of starting something in turn, without the ends that they return.
func starts(b *testing.B, ours, bare func() (end func())) {
	b.Helper()
	once := func(start func() func()) time.Duration {
		began := time.Now()
		end := start()
		took := time.Since(began)
		end()
		return took
	}
	once(ours) // both warm
	once(bare)
	var a, p []time.Duration
	for b.Loop() {
		a, p = append(a, once(ours)), append(p, once(bare))
	}
	b.ReportMetric(float64(median(a)), "start-ns/op")
	b.ReportMetric(float64(median(p)), "peer-ns/op")
	b.ReportMetric(float64(median(p))/float64(median(a)), "x-vs-bare-go-plugin")
	b.ReportMetric(float64(p[0])/float64(a[0]), "best-x")
}

// BenchmarkPluginTypes asks for the types of 10,000 calls at once, as a tool would that has them all.
func BenchmarkPluginTypes(b *testing.B) {
	dir := pluginBinaries(b)
	c := client.New(b.Context(), filepath.Join(dir, client.HelperName), []plugins.Config{acme(dir)}, "")
	defer c.Close()
	if ds := c.Load().Reports(); ds.HasErrors() {
		b.Fatal(ds)
	}
	const n = 10000
	calls := make([]*ir.OpCall, n)
	for i := range calls {
		x := &ir.Var{Hint: "x", Typ: &ir.TileType{Shape: []ir.Expr{ir.Int(int64(i%64 + 1)), ir.Int(16)}, DType: ir.FP32, Mem: ir.Vec}}
		calls[i] = &ir.OpCall{Op: "acme.rope", Args: []ir.Expr{x, ir.Int(int64(i))}, Typ: ir.Unknown}
	}
	for b.Loop() {
		if _, errs, err := c.InferTypes("acme", calls); err != nil || len(errs) > 0 {
			b.Fatal(errs, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// tree is the source of a thousand functions: 250 programs of three kernels and an orchestration.
func tree() []string {
	var files []string
	for i := range 250 {
		files = append(files, fmt.Sprintf(`import pypto.language as pl
T = pl.Tensor[[64, %[1]d], pl.FP32]
@pl.program
class P%[2]d:
    @pl.function(type=pl.FunctionType.InCore)
    def add(self, x: T, y: T, out: pl.Out[T]) -> T:
        out = pl.store(pl.add(pl.load(x, [0, 0], [64, %[1]d]), pl.load(y, [0, 0], [64, %[1]d])), [0, 0], out)
        return out
    @pl.function(type=pl.FunctionType.InCore)
    def gate(self, x: T, out: pl.Out[T]) -> T:
        a = pl.load(x, [0, 0], [64, %[1]d])
        out = pl.store(pl.mul(a, pl.recip(pl.add(pl.exp(pl.neg(a)), 1.0))), [0, 0], out)
        return out
    @pl.function(type=pl.FunctionType.InCore)
    def rows(self, x: pl.Tensor[[16, %[1]d], pl.FP32], at: pl.Scalar[pl.INDEX], out: pl.InOut[T]) -> T:
        out = pl.store(pl.load(x, [0, 0], [16, %[1]d]), [at, 0], out)
        return out
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, n: pl.Scalar[pl.INDEX], out: pl.InOut[T]) -> T:
        t = pl.create_tensor([64, %[1]d], dtype=pl.FP32)
        t = self.add(a, b, t)
        out = self.gate(t, out)
        for i in pl.range(4):
            w = pl.slice(t, [16, %[1]d], [i * 16, 0])
            out = self.rows(w, i * 16, out)
        if n > 2:
            out = self.add(out, b, out)
        return out
`, 16+i%8*16, i))
	}
	return files
}

// build takes all files to C++, several at a time.
func build(b *testing.B, reg *ops.Registry, files []string, jobs int) int {
	var size atomic.Int64
	err := graph.Each(jobs, files, func(i int, src string) error {
		u, ds := lang.Load(fmt.Sprintf("f%d.py", i), lang.Options{Ops: reg, ReadFile: func(string) ([]byte, error) { return []byte(src), nil }})
		if ds.HasErrors() {
			return ds
		}
		p, ds := passes.Run(&passes.Context{Ops: reg}, u.Programs[0], passes.Default(), passes.Hooks{})
		if ds.HasErrors() {
			return ds
		}
		f, ds := lower.Lower(p, p.Lookup("main"), reg, lower.Options{})
		if ds.HasErrors() {
			return ds
		}
		code, _ := orch.Print(f, orch.Default())
		size.Add(int64(len(code)))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return int(size.Load())
}

// BenchmarkPluginBuild takes a thousand functions to C++, as many files at a time as a build with plugins does, with all types and all C++ of ops from a plugin that is
// started for it, beside the same with the built-in ops: x-vs-in-process of 0.77 is 1.3 times the time.
func BenchmarkPluginBuild(b *testing.B) {
	jobs := graph.PluginWorkers * runtime.NumCPU()
	dir, files := pluginBinaries(b), tree()
	want := build(b, ops.Builtin(), files, jobs)
	against(b, func() {
		c := client.New(b.Context(), filepath.Join(dir, client.HelperName), []plugins.Config{acme(dir)}, "")
		defer c.Close()
		l := c.Load()
		if ds := l.Reports(); ds.HasErrors() {
			b.Fatal(ds)
		}
		if got := build(b, echo.Registry("acme", l.Ops, nil), files, jobs); got != want {
			b.Fatalf("%d bytes of C++, in process %d", got, want)
		}
	}, side{"in-process", func() { build(b, ops.Builtin(), files, jobs) }})
}
