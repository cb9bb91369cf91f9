package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/graph"
)

// sizes are the numbers of targets. 100,000 takes minutes to lay out: -short leaves it away.
func sizes() []int {
	if testing.Short() {
		return []int{1000, 10000}
	}
	return []int{1000, 10000, 100000}
}

// outputNames are the four outputs of a target, by its function.
func outputNames(f string) []string {
	return []string{"orchestration/" + f + ".cpp", "kernels.json", "kernel_config.py", f + ".map.json"}
}

const synthetic = `import pypto.language as pl

@pl.program
class P%[1]d:
    @pl.function(type=pl.FunctionType.InCore)
    def scale%[1]d(self, a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        v = pl.load(a, [0, 0], [16, 16])
        o = pl.store(pl.add(v, %[1]d.0), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def f%[1]d(self, a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        o = self.scale%[1]d(a, o)
        return o
`

// synthTree is a workspace of n targets, one a file.
func synthTree(b *testing.B, n int) string {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "Pto.toml"), "[workspace]\nname = \"synthetic\"\n")
	for i := range n {
		write(b, filepath.Join(dir, source(i)), fmt.Sprintf(synthetic, i))
	}
	return dir
}

func source(i int) string { return fmt.Sprintf("p%04d/m%d.py", i/100, i) }

func write(b *testing.B, name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		b.Fatal(err)
	}
}

// peers lays the same tree out for ninja and make: as many sources, and as many outputs made of each, all up to date.
func peers(b *testing.B, n int) string {
	dir := b.TempDir()
	var ninja, makefile strings.Builder
	// As a generator, the rule is not run for outputs that ninja did not make itself.
	ninja.WriteString("rule gen\n  command = cp $in $out\n  generator = 1\n")
	makefile.WriteString("all:\n")
	for i := range n {
		write(b, filepath.Join(dir, source(i)), fmt.Sprintf(synthetic, i))
		var outs []string
		for _, o := range outputNames(fmt.Sprint("f", i)) {
			outs = append(outs, fmt.Sprintf("build/p%04d/m%d/f%d/%s", i/100, i, i, o))
			write(b, filepath.Join(dir, outs[len(outs)-1]), "x")
		}
		fmt.Fprintf(&ninja, "build %s: gen %s\n", strings.Join(outs, " "), source(i))
		fmt.Fprintf(&makefile, "all: %s\n%s &: %s\n\t@true\n", outs[0], strings.Join(outs, " "), source(i))
	}
	write(b, filepath.Join(dir, "build.ninja"), ninja.String())
	write(b, filepath.Join(dir, "Makefile"), makefile.String())
	return dir
}

// bazel is a no-op of Bazel 4 on the same tree; its server runs. The outputs are copies that it makes in its own process.
func bazel(b *testing.B, n int) side {
	const exe = "bazel-4" // of Debian's bazel-bootstrap
	path, err := osexec.LookPath(exe)
	if err != nil {
		return side{name: "bazel"}
	}
	dir, root := b.TempDir(), b.TempDir()
	write(b, filepath.Join(dir, "WORKSPACE"), "")
	write(b, filepath.Join(dir, "BUILD"), "")
	write(b, filepath.Join(dir, "gen.bzl"), `
def _impl(ctx):
    outs = [ctx.actions.declare_file(ctx.label.name + "/" + o) for o in ctx.attr.names]
    for o in outs:
        ctx.actions.expand_template(template = ctx.file.src, output = o, substitutions = {})
    return [DefaultInfo(files = depset(outs))]

gen = rule(implementation = _impl, attrs = {"src": attr.label(allow_single_file = True), "names": attr.string_list()})
`)
	builds := map[string]string{}
	for i := range n {
		write(b, filepath.Join(dir, source(i)), fmt.Sprintf(synthetic, i))
		folder, file := filepath.Split(source(i))
		builds[folder] += fmt.Sprintf("gen(name = \"m%d\", src = %q, names = [\"%s\"])\n", i, file, strings.Join(outputNames(fmt.Sprint("f", i)), `", "`))
	}
	for folder, text := range builds {
		write(b, filepath.Join(dir, folder, "BUILD"), "load(\"//:gen.bzl\", \"gen\")\n"+text)
	}
	b.Cleanup(func() {
		runCommand(b, dir, path, "--output_user_root="+root, "shutdown")
		_ = filepath.WalkDir(root, func(p string, _ fs.DirEntry, _ error) error { return os.Chmod(p, 0o777) }) // Bazel leaves read-only folders
	})
	return side{"bazel", func() { runCommand(b, dir, path, "--output_user_root="+root, "build", "//...") }}
}

// BenchmarkNoop is `ptobuild build` with nothing to do, a whole process, beside ninja, make and Bazel on the same tree.
func BenchmarkNoop(b *testing.B) {
	exe := tool(b)
	for _, n := range sizes() {
		dir, other := synthTree(b, n), peers(b, n)
		b.Setenv("PTOBUILD_CACHE", b.TempDir())
		runCommand(b, dir, exe, "build")
		time.Sleep(100 * time.Millisecond) // past the granularity of the clock
		runCommand(b, dir, exe, "build")
		b.Run(fmt.Sprintf("ninja/%d", n), func(b *testing.B) {
			against(b, func() { runCommand(b, dir, exe, "build") }, command(b, "ninja", other, "ninja"))
		})
		if n > 10000 {
			continue // make takes a minute, and the first build of Bazel many
		}
		b.Run(fmt.Sprintf("make/%d", n), func(b *testing.B) {
			against(b, func() { runCommand(b, dir, exe, "build") }, command(b, "make", other, "make"))
		})
		b.Run(fmt.Sprintf("bazel/%d", n), func(b *testing.B) {
			against(b, func() { runCommand(b, dir, exe, "build") }, bazel(b, n))
		})
	}
}

// BenchmarkOneChanged is `ptobuild build` after one kernel changed.
func BenchmarkOneChanged(b *testing.B) {
	exe := tool(b)
	for _, n := range sizes() {
		dir := synthTree(b, n)
		b.Setenv("PTOBUILD_CACHE", b.TempDir())
		runCommand(b, dir, exe, "build")
		i := 0
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				i++
				write(b, filepath.Join(dir, source(7)), strings.Replace(fmt.Sprintf(synthetic, 7), "7.0", fmt.Sprint(i, ".5"), 1))
				b.StartTimer()
				runCommand(b, dir, exe, "build")
			}
		})
	}
}

// processorTime is what the process used so far. On a machine that others use too it tells more than the clock.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWatchEdit is what watch does between the event of a saved file and the C++ on disk.
func BenchmarkWatchEdit(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command has it
	const n = 10000
	dir := synthTree(b, n)
	store, err := cache.NewDisk(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := graph.OpenSession(dir, os.Args[0], func(string) string { return "bench" })
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ws, ds := s.Open()
	if ds.HasErrors() {
		b.Fatal(ds)
	}
	build := func() {
		builder, err := graph.NewBuilder(context.Background(), ws, "")
		if err != nil {
			b.Fatal(err)
		}
		if r := s.Build(context.Background(), builder, nil, graph.BuildOptions{KeepGoing: true, Store: store, Warm: true}); r.Diagnostics.HasErrors() {
			b.Fatal(r.Diagnostics)
		}
	}
	build()
	var took, cpu []time.Duration
	i := 0
	for b.Loop() {
		b.StopTimer()
		i++ // the orchestration changes: there is C++ to write
		write(b, filepath.Join(dir, source(7)), strings.Replace(fmt.Sprintf(synthetic, 7), "o = self.scale7(a, o)",
			strings.Repeat("o = self.scale7(a, o)\n        ", i%5+1)+"o = self.scale7(a, o)", 1))
		b.StartTimer()
		start, before := time.Now(), processorTime(b)
		s.Touch([]string{source(7)})
		build()
		took, cpu = append(took, time.Since(start)), append(cpu, processorTime(b)-before)
	}
	slices.Sort(took)
	slices.Sort(cpu)
	b.ReportMetric(float64(cpu[len(cpu)/2].Microseconds())/1000, "median-cpu-ms")
	b.ReportMetric(float64(cpu[len(cpu)*99/100].Microseconds())/1000, "p99-cpu-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
